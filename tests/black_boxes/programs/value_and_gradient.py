"""One op for value and gradient, as functions of JAX are wrapped: the derivative is the second output."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

rng = np.random.default_rng(3)
X = rng.normal(size=(20, 3))
Y = (X @ [1.0, -1.0, 0.5] + rng.logistic(size=20) > 0).astype(float)


def value_and_grad(beta):
    """Stands for `jax.jit(jax.value_and_grad(f))`."""
    eta = X @ beta
    return np.sum(Y * eta - np.logaddexp(0, eta)), X.T @ (Y - 1 / (1 + np.exp(-eta)))


class ValueAndGrad(Op):
    default_output = 0

    def make_node(self, *inputs):
        inputs = [pt.as_tensor_variable(x) for x in inputs]
        return Apply(self, inputs, [pt.dscalar()] + [x.type() for x in inputs])

    def perform(self, node, inputs, outputs):
        value, *slopes = value_and_grad(*inputs)
        outputs[0][0] = np.asarray(value, dtype=node.outputs[0].dtype)
        for k, slope in enumerate(slopes):
            outputs[k + 1][0] = np.asarray(slope, dtype=node.outputs[k + 1].dtype)

    def pullback(self, inputs, outputs, cotangents):
        return [cotangents[0] * slope for slope in outputs[1:]]


with pm.Model() as model:
    tau = pm.HalfNormal("tau", 1.0)
    beta = pm.Normal("beta", 0.0, 1.0, shape=3)
    pm.Potential("likelihood", ValueAndGrad()(tau * beta))
