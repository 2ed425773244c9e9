"""Ops as the documentation writes them: properties, output types from inputs, older names of the derivative."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor import as_tensor_variable


class DoubleOp(Op):
    __props__ = ()

    def make_node(self, x):
        x = as_tensor_variable(x)
        if not (x.type.ndim == 2 and x.type.dtype == "float64"):
            raise TypeError("x must be a float64 matrix")
        return Apply(self, [x], [pt.TensorType(dtype=x.type.dtype, shape=x.type.shape)()])

    def perform(self, node, inputs, output_storage):
        z = output_storage[0]
        z[0] = inputs[0] * 2

    def infer_shape(self, node, input_shapes):
        return input_shapes

    def L_op(self, inputs, outputs, output_grads):
        return [output_grads[0] * 2]


class AXPBOp(Op):
    """a x + b and x + y, with two outputs of different kinds."""

    __props__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b
        super().__init__()

    def make_node(self, x, y):
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        return Apply(self, [x, y], [x.type(), y.type()])

    def perform(self, node, inputs, output_storage):
        x, y = inputs
        output_storage[0][0] = self.a * x + self.b
        output_storage[1][0] = np.asarray(y + x.sum())

    def grad(self, inputs, output_grads):
        first, second = output_grads
        return [self.a * first + second, second]


with pm.Model() as model:
    x = pm.Normal("x", 0.0, 1.0, shape=(2, 3))
    y = pm.Normal("y", 0.0, 1.0)
    scaled, total = AXPBOp(0.5, -1.0)(DoubleOp()(x), y)
    assert AXPBOp(0.5, -1.0) == AXPBOp(0.5, -1.0)
    assert scaled.owner.op == AXPBOp(0.5, -1.0)
    assert isinstance(scaled.owner.inputs[0].owner.op, DoubleOp)
    pm.Normal("z", mu=scaled, sigma=1.0, observed=np.arange(6.0).reshape(2, 3))
    pm.Potential("sum", -((total - 1.0) ** 2))
