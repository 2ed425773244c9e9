"""The same line with a gradient by differences, which a second op computes; constants have no derivative."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from scipy.optimize import approx_fprime

x = np.linspace(0.0, 4.0, 8)
y = 1.0 + 2.0 * np.sin(x) + np.array([0.1, -0.2, 0.3, 0.0, -0.1, 0.2, -0.3, 0.1])


def terms(height, start, x, y):
    return -2.0 * (y - start - height * np.sin(x)) ** 2


class Terms(Op):
    def make_node(self, height, start, x, y):
        inputs = [pt.as_tensor_variable(value) for value in (height, start, x, y)]
        return Apply(self, inputs, [pt.vector(shape=(len(y),))])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.asarray(terms(*inputs), dtype=node.outputs[0].dtype)

    def grad(self, inputs, g):
        height, start, x, y = inputs
        if height.type.ndim or start.type.ndim:
            raise NotImplementedError("scalars only")
        by_height, by_start = slopes(height, start, x, y)
        return [
            pt.sum(g[0] * by_height),
            pt.sum(g[0] * by_start),
            pytensor.gradient.grad_not_implemented(self, 2, x),
            pytensor.gradient.grad_not_implemented(self, 3, y),
        ]


class Slopes(Op):
    def make_node(self, *values):
        inputs = [pt.as_tensor_variable(value) for value in values]
        return Apply(self, inputs, [inputs[-1].type(), inputs[-1].type()])

    def perform(self, node, inputs, outputs):
        height, start, x, y = inputs
        found = approx_fprime([height, start], lambda both: terms(*both, x, y), 1e-7)
        outputs[0][0], outputs[1][0] = found[:, 0].copy(), found[:, 1].copy()


value, slopes = Terms(), Slopes()

with pm.Model() as model:
    height = pm.Normal("height", 0.0, 3.0)
    start = pm.Normal("start", 0.0, 3.0)
    pm.Potential("likelihood", value(height, start, x, y))
TOLERANCE = 1e-5
