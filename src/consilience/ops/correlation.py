"""Sums of products of a small tensor with the parts of a large one that it may lie on.

In: float64 tensors whose leading axes are a batch. Out: one sum per place. Modes and dtypes are what the functions of
`pt.signal` make around it.
"""

from __future__ import annotations

from consilience.errors import ShapeError
from consilience.ir import Dim, Node, Op, ShapeConstraint, TensorType
from consilience.ir.dimension import product
from consilience.ir.side_tables import describe
from consilience.ops.shape import at_least_zero


class Correlate(Op):
    """`y[..., i, j]` = sum over k, l of x[..., i + k, j + l] h[..., k, l], where all of h lies on x.

    Shapes (..., H, W) and (..., h, w) of one batch, with 1 <= h <= H and 1 <= w <= W; the result is
    (..., H - h + 1, W - w + 1).
    """

    flops = 2.0
    core = 2
    linear = ((0,), (1,))

    def result_type(self, *inputs: Node) -> TensorType:
        x, h = inputs
        if x.dtype != "float64" or h.dtype != "float64" or x.ndim < 2 or x.ndim != h.ndim:
            raise ShapeError(f"`Correlate` needs float64 tensors of one rank, got {describe(x)} and {describe(h)}.")
        lengths = zip(x.static_shape[-2:], h.static_shape[-2:], strict=True)
        return TensorType("float64", (*x.static_shape[:-2], *(n - m + 1 for n, m in lengths)))

    def volume(self, *inputs: Node) -> Dim:
        return self.result_type(*inputs).size * product(inputs[1].static_shape[-2:])

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        x, h = inputs
        batch = zip(x.static_shape[:-2], h.static_shape[:-2], strict=True)
        equal = (ShapeConstraint(a, b, "batches have one shape") for a, b in batch if not (a is b or a == b))
        room = at_least_zero(tuple(n - m for n, m in zip(x.static_shape[-2:], h.static_shape[-2:], strict=True)))
        return (*equal, *room, *at_least_zero(tuple(m - 1 for m in h.static_shape[-2:])))
