"""A straight line whose pointwise log density is a NumPy function, as the logp of a CustomDist."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph import Apply, Op

x = np.linspace(0.0, 9.0, 10)
y = 3.0 + 0.4 * x + np.array([0.3, -0.6, 0.1, 0.9, -0.2, -0.4, 0.5, 0.0, -0.8, 0.2])


def line_terms(slope, start, noise, x, y):
    for value in (slope, start, noise, x, y):
        if not isinstance(value, (float, np.ndarray)):
            raise TypeError(f"numbers were needed, got {type(value)}")
    return -0.5 * ((y - start - slope * x) / noise) ** 2 - np.log(noise) - 0.5 * np.log(2 * np.pi)


class Terms(Op):
    def make_node(self, slope, start, noise, x, y) -> Apply:
        inputs = [pt.as_tensor(value) for value in (slope, start, noise, x, y)]
        return Apply(self, inputs, [inputs[-1].type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.asarray(line_terms(*inputs))


terms = Terms()


def logp(value, slope, start, noise, x):
    return terms(slope, start, noise, x, value)


with pm.Model() as model:
    slope = pm.Uniform("slope", -10.0, 10.0, initval=0.4)
    start = pm.Uniform("start", -10.0, 10.0, initval=3.0)
    pm.CustomDist("likelihood", slope, start, 1.0, x, observed=y, logp=logp)
