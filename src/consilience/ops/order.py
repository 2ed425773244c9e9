"""Order along an axis: elements in ascending order, the positions that put them so, places in what is ordered.

NaN comes last, equal elements stay in order of their positions. Complex numbers and random keys have no order.
"""

from __future__ import annotations

from consilience.errors import DtypeError, ShapeError
from consilience.ir import COMPLEXES, Node, Op, TensorType
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.reduce import normalised_axes
from consilience.ops.shape import reshape


class Sort(Op):
    """The elements along `axis` in ascending order."""

    axis: int

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type

    def __repr__(self) -> str:
        return f"sort(axis={self.axis})"


class ArgSort(Op):
    """Positions (int64) that put the elements along `axis` in ascending order."""

    axis: int

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type.with_dtype("int64")

    def __repr__(self) -> str:
        return f"argsort(axis={self.axis})"


class SearchSorted(Op):
    """How many elements of ascending vectors are less than given values, or not greater (side "right"): int64.

    Inputs: the vectors, of rank batch + 1, and the values, both of one dtype. The first `batch` axes are common.
    """

    side: str
    batch: int = 0

    def result_type(self, *inputs: Node) -> TensorType:
        vectors, values = inputs
        if vectors.ndim != self.batch + 1 or values.ndim < self.batch:
            raise ShapeError(f"places of {describe(values)} in {describe(vectors)}: {self.batch} common axes needed.")
        return values.tensor_type.with_dtype("int64")

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        pairs = zip(*(x.static_shape[: self.batch] for x in inputs), strict=True)
        return tuple(ShapeConstraint(a, b, "batches have equal lengths") for a, b in pairs if a != b)

    def __repr__(self) -> str:
        return f"searchsorted({self.side})"


def sort(value: TensorLike, axis: int | None = -1) -> Node:
    """The elements in ascending order along an axis; None flattens first."""
    x, place = _ordered(value, axis)
    return Node(Sort(place), x)


def argsort(value: TensorLike, axis: int | None = -1) -> Node:
    """Positions that put the elements in ascending order along an axis, int64; None flattens first."""
    x, place = _ordered(value, axis)
    return Node(ArgSort(place), x)


def _ordered(value: TensorLike, axis: int | None) -> tuple[Node, int]:
    """A tensor that has an order, and one of its axes."""
    x = as_tensor(value)
    if x.dtype == "key":
        raise DtypeError("random keys have no order.")
    if x.dtype in COMPLEXES:
        raise DtypeError(f"complex numbers have no order: {describe(x)}; take real parts or sizes first.")
    if axis is None or x.ndim == 0:
        x, axis = reshape(x, (-1,)), 0
    return x, normalised_axes(axis, x.ndim)[0]
