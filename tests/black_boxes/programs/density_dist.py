"""A DensityDist whose logp is a NumPy function of data and parameters, with a derivative by the parameters alone."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.gradient import grad_undefined
from pytensor.graph import Apply, Op


class GumbelTerms(Op):
    __props__ = ()

    def make_node(self, value, mu, scale):
        value, mu, scale = (pt.as_tensor_variable(x) for x in (value, mu, scale))
        return Apply(self, [value, mu, scale], [value.type()])

    def perform(self, node, inputs, outputs):
        value, mu, scale = inputs
        z = (value - mu) / scale
        outputs[0][0] = -z - np.exp(-z) - np.log(scale)

    def grad(self, inputs, output_grads):
        value, mu, scale = inputs
        (g,) = output_grads
        z = (value - mu) / scale
        by_mu = g * (1 - pt.exp(-z)) / scale
        by_scale = g * (z * (1 - pt.exp(-z)) - 1) / scale
        summed = [
            d if x.type.ndim == d.type.ndim and x.type.shape != (1,) else pt.sum(d, keepdims=x.type.ndim == 1)
            for d, x in ((by_mu, mu), (by_scale, scale))
        ]
        return [grad_undefined(self, 0, value), *summed]


terms = GumbelTerms()
FLOODS = np.array([4.1, 3.0, 5.2, 7.7, 2.9, 4.4, 3.8, 6.1])

with pm.Model() as model:
    mu = pm.Normal("mu", 4.0, 2.0)
    scale = pm.HalfNormal("scale", 2.0)
    pm.DensityDist("floods", mu, scale, logp=lambda value, mu, scale: terms(value, mu, scale), observed=FLOODS)
