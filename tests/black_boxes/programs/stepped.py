"""A black-box step inside a loop: a population whose growth is a NumPy function."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.graph import Apply, Op


class Growth(Op):
    __props__ = ()

    def make_node(self, size, rate):
        size, rate = pt.as_tensor_variable(size), pt.as_tensor_variable(rate)
        return Apply(self, [size, rate], [pt.dscalar()])

    def perform(self, node, inputs, outputs):
        size, rate = inputs
        outputs[0][0] = np.asarray(size * np.exp(rate * (1 - size / 10.0)))

    def pullback(self, inputs, outputs, cotangents):
        (size, rate), (after,), (g,) = inputs, outputs, cotangents
        return [g * (after / size - after * rate / 10.0), g * after * (1 - size / 10.0)]


growth = Growth()
SIZES = np.array([2.1, 3.6, 5.5, 7.6, 8.9, 9.7])

with pm.Model() as model:
    rate = pm.HalfNormal("rate", 1.0)
    first = pm.LogNormal("first", 0.3, 0.3)
    path = pytensor.scan(
        lambda size, rate: growth(size, rate),
        outputs_info=[first],
        non_sequences=[rate],
        n_steps=6,
        return_updates=False,
    )
    pm.LogNormal("sizes", mu=pt.log(path), sigma=0.2, observed=SIZES)
