"""Lotka-Volterra by SciPy's odeint behind `as_op`, whose matrix has a shape that only the call tells."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.ops import as_op
from scipy.integrate import odeint

YEARS = np.arange(1900.0, 1911.0)
HARE = np.array([30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1])
LYNX = np.array([4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4])


def rhs(state, t, theta):
    hare, lynx = state
    alpha, beta, gamma, delta = theta[:4]
    return [alpha * hare - beta * hare * lynx, -gamma * lynx + delta * hare * lynx]


@as_op(itypes=[pt.dvector], otypes=[pt.dmatrix])
def solution(theta):
    return odeint(rhs, theta[-2:], YEARS, args=(theta,), rtol=1e-10, atol=1e-10)


with pm.Model() as model:
    alpha = pm.LogNormal("alpha", np.log(0.5), 0.2)
    beta = pm.LogNormal("beta", np.log(0.026), 0.2)
    gamma = pm.LogNormal("gamma", np.log(0.8), 0.2)
    delta = pm.LogNormal("delta", np.log(0.026), 0.2)
    first = pm.Normal("first", [34.0, 5.9], 1.0, shape=2)
    sigma = pm.HalfNormal("sigma", 10.0)
    path = solution(pm.math.concatenate([pm.math.stack([alpha, beta, gamma, delta]), first]))
    pm.Normal("counts", mu=path, sigma=sigma, observed=np.column_stack([HARE, LYNX]))
TOLERANCE = 1e-6
