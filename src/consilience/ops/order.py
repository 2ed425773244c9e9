"""Order along an axis: elements in ascending order, the positions that put them so, places in what is ordered.

NaN comes last, equal elements stay in order of their positions. Complex numbers and random keys have no order.
"""

from __future__ import annotations

from consilience.errors import DtypeError, ShapeError
from consilience.ir import COMPLEXES, KeptAxes, Node, Op, TensorType
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops.axes import all_but, one_axis
from consilience.ops.elementwise import TensorLike, apply, as_tensor, promote
from consilience.ops.index import getitem
from consilience.ops.shape import length_of, reshape


class Sort(Op):
    """The elements along `axis` in ascending order."""

    picks = (0,)
    axis: int

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (all_but((self.axis,), inputs[0].ndim),)

    def __repr__(self) -> str:
        return f"sort(axis={self.axis})"


class ArgSort(Op):
    """Positions (int64) that put the elements along `axis` in ascending order."""

    axis: int

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type.with_dtype("int64")

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (all_but((self.axis,), inputs[0].ndim),)

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

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return all_but((), self.batch), all_but((), inputs[1].ndim)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        pairs = zip(*(x.static_shape[: self.batch] for x in inputs), strict=True)
        return tuple(ShapeConstraint(a, b, "batches have equal lengths") for a, b in pairs if a != b)

    def __repr__(self) -> str:
        return f"searchsorted({self.side})"


def sort(
    a: TensorLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Node:
    """The elements along `axis` in ascending order, of the flattened tensor for None; equal ones in their order.

    a : ...
    axis (int or None): Axis to sort along; None sorts all elements as one vector.
    kind: Change nothing: sorting is stable.
    order: Fields of structured arrays, which tensors are not: None.
    stable: Change nothing: sorting is stable.
    descending: The greatest first, NaN before it.
    Returns: Of the shape of `a`; a vector for None.
    See argpartition: Positions (int64) that make `partition` of the elements along `axis`.
    See argsort: Positions (int64) that put the elements along `axis` in ascending order.
    >>> pt.sort([3.0, 5.0, 1.0]).eval().tolist()
    [1.0, 3.0, 5.0]
    """
    x, place = _ordered(a, axis, kind)
    return _flipped(Node(Sort(place), _flipped(x, place)), place) if descending else Node(Sort(place), x)


def argsort(
    a: TensorLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    stable: bool | None = None,
    *,
    descending: bool = False,
) -> Node:
    """Positions (int64) that put the elements along `axis` in ascending order; the parameters are those of `sort`.

    a : ...
    axis (int or None): Axis to sort along; None sorts all elements as one vector.
    kind: Taken for NumPy's sake: sorting is stable.
    order: Fields of structured arrays, which tensors are not: None.
    stable: Taken for NumPy's sake: sorting is stable.
    descending: Whether the greatest comes first.
    Returns: Positions (int64), of the shape of `a`; a vector for `axis=None`.
    See argmax: Position of the first greatest element (int64).
    See argmin: Position of the first least element (int64).
    See max_and_argmax: Greatest element over `axis` and the position of the first such.
    >>> pt.argsort([3.0, 5.0, 1.0]).eval().tolist()
    [2, 0, 1]
    """
    x, place = _ordered(a, axis if as_tensor(a).ndim else None, kind)
    if not descending:
        return Node(ArgSort(place), x)
    from_end = _flipped(Node(ArgSort(place), _flipped(x, place)), place)
    return apply("sub", apply("sub", length_of(x.static_shape[place]), 1), from_end)


def searchsorted(x: TensorLike, v: TensorLike, side: str = "left", sorter: TensorLike | None = None) -> Node:
    """Where to put the elements of v into an ascending vector x so that it stays ascending (int64, v's shape).

    x, v : ...
    side: Before ("left") or behind ("right") equal elements; NaN is behind all numbers.
    sorter: Positions that sort x, where it is not ascending itself.
    Returns: Positions (int64), of the shape of `v`.
    See histogram_bin_edges: The ends of the intervals in which `histogram` counts.
    See histogram: How many elements lie in each interval (int64).
    See digitize: The number of the interval in which each element lies (int64).
    >>> pt.searchsorted([1.0, 2.0, 3.0], 2.5).eval().item()
    2
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', got {side!r}.")
    (vector, values), dtype = promote([as_tensor(x), v])
    if dtype in COMPLEXES:
        raise DtypeError(f"complex numbers have no order: {describe(vector)} and {describe(values)}.")
    if vector.ndim != 1:
        raise ShapeError(f"`searchsorted` needs a vector, got {describe(vector)}.")
    return Node(SearchSorted(side), vector if sorter is None else getitem(vector, sorter), values)


def _ordered(value: TensorLike, axis: int | None, kind: str | None) -> tuple[Node, int]:
    """A tensor that has an order, and one of its axes."""
    x = as_tensor(value)
    if kind not in (None, "quicksort", "mergesort", "heapsort", "stable"):
        raise ValueError(f"kind must be 'quicksort', 'mergesort', 'heapsort', 'stable' or None, got {kind!r}.")
    if x.dtype == "key":
        raise DtypeError("random keys have no order.")
    if x.dtype in COMPLEXES:
        raise DtypeError(f"complex numbers have no order: {describe(x)}; take real parts or sizes first.")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return x, one_axis(axis, x)


def _flipped(x: Node, axis: int) -> Node:
    return getitem(x, (*[slice(None)] * axis, slice(None, None, -1)))
