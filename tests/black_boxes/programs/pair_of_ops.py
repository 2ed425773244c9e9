"""The classic pair: a log density of a vector of parameters, and an op with its gradient."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.op import Op

COUNTS = np.array([2.0, 0.0, 3.0, 5.0, 4.0, 9.0])
DOSE = np.arange(6.0)


class LogLike(Op):
    itypes = [pt.dvector]
    otypes = [pt.dscalar]

    def __init__(self, loglike, counts, dose):
        self.likelihood = loglike
        self.counts = counts
        self.dose = dose
        self.logpgrad = LogLikeGrad(counts, dose)

    def perform(self, node, inputs, outputs):
        (theta,) = inputs
        outputs[0][0] = np.array(self.likelihood(theta, self.counts, self.dose))

    def grad(self, inputs, g):
        (theta,) = inputs
        return [g[0] * self.logpgrad(theta)]


class LogLikeGrad(Op):
    itypes = [pt.dvector]
    otypes = [pt.dvector]

    def __init__(self, counts, dose):
        self.counts, self.dose = counts, dose

    def perform(self, node, inputs, outputs):
        (theta,) = inputs
        excess = self.counts - np.exp(theta[0] + theta[1] * self.dose)
        outputs[0][0] = np.array([excess.sum(), excess @ self.dose])


def poisson(theta, counts, dose):
    rate = theta[0] + theta[1] * dose
    return np.sum(counts * rate - np.exp(rate))


logl = LogLike(poisson, COUNTS, DOSE)

with pm.Model() as model:
    a = pm.Normal("a", 0.0, 1.0)
    b = pm.Normal("b", 0.0, 1.0)
    theta = pt.as_tensor_variable([a, b])
    pm.Potential("likelihood", logl(theta))
