"""Discrete Fourier transforms of vectors on the last axes, unscaled; complex numbers are pairs on an axis of their own.

In: float64 tensors whose leading axes are a batch. Out: the same. Scales, other axes and complex dtypes are what the
functions of `pt.fft` make around them.
"""

from __future__ import annotations

from consilience.errors import ShapeError
from consilience.ir import Dim, Node, Op, ShapeConstraint, TensorType
from consilience.ir.side_tables import describe


def _pairs(x: Node, name: str) -> None:
    if x.dtype != "float64" or x.ndim < 2 or x.static_shape[-1] != 2:
        raise ShapeError(f"`{name}` needs a float64 tensor (..., n, 2) of complex numbers as pairs, got {describe(x)}.")


class FourierTransform(Op):
    """Sums over j of x_j exp(-2 pi i j k / n) of n pairs, (..., n, 2); with `inverse` of exp(2 pi i j k / n)."""

    flops = 20.0
    core = 2
    linear = ((0,),)
    inverse: bool = False

    def result_type(self, *inputs: Node) -> TensorType:
        _pairs(inputs[0], "FourierTransform")
        return inputs[0].tensor_type


class RealFourier(Op):
    """The transform of n real numbers, (..., n), at k = 0, ..., n // 2, as pairs (..., n // 2 + 1, 2)."""

    flops = 20.0
    core = 1
    linear = ((0,),)

    def result_type(self, *inputs: Node) -> TensorType:
        (x,) = inputs
        if x.dtype != "float64" or not x.ndim:
            raise ShapeError(f"`RealFourier` needs a float64 vector, got {describe(x)}.")
        *batch, n = x.static_shape
        return TensorType("float64", (*batch, n // 2 + 1, 2))


class InverseRealFourier(Op):
    """The `length` real numbers whose inverse transform has the given pairs at k = 0, ..., length // 2.

    Imaginary parts at 0 and, for even lengths, at length // 2 do not count.
    """

    flops = 20.0
    core = 2
    linear = ((0,),)
    length: Dim

    def result_type(self, *inputs: Node) -> TensorType:
        _pairs(inputs[0], "InverseRealFourier")
        return TensorType("float64", (*inputs[0].static_shape[:-2], self.length))

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        count, wanted = inputs[0].static_shape[-2], self.length // 2 + 1
        if count is wanted or count == wanted:
            return ()
        return (ShapeConstraint(count, wanted, "an inverse transform of n real numbers takes n // 2 + 1 pairs"),)
