"""Selections and rearrangements by order: greatest elements, different elements, rows put in another order.

In: tensors and positions. Out: expressions of `sort` and `argsort`. NaN comes last, ties stay in their order.
"""

from __future__ import annotations

from consilience.errors import DtypeError, OutOfBoundsError, ShapeError
from consilience.ir import Node
from consilience.ir import dimension as dims
from consilience.ir.side_tables import describe
from consilience.ir.types import FLOATS, INTEGERS
from consilience.ops.arrangement import flatten, full_like, take_along_axis
from consilience.ops.axes import integers, one_axis
from consilience.ops.elementwise import TensorLike, apply, as_tensor, broadcast_shape
from consilience.ops.index import flatnonzero, getitem, index_set
from consilience.ops.order import argsort, sort
from consilience.ops.reduce import cumulative
from consilience.ops.shape import arange, broadcast_to, concatenate, expand_dims, full, length_of, reshape
from consilience.tensor.loops import scan


def partition(a: TensorLike, kth: int | list[int] | tuple[int, ...], axis: int | None = -1) -> Node:
    """The elements along `axis` so that those at the positions `kth` are where sorting puts them: all are sorted.

    None flattens first. A single position of the result, as in `partition(a, k)[..., k]`, is found without sorting.

    a : ...
    kth: Place or number of elements that the order is known of.
    axis (int or None): Axis to work along, counted from the end if negative; None for the flattened tensor.
    Returns: Of the shape of `a`; a vector for None.
    See argtopk: The positions (int64) of the elements that `topk` gives.
    See argpartition: Positions (int64) that make `partition` of the elements along `axis`.
    >>> pt.partition([3.0, 5.0, 1.0], 0)[0].eval().item()
    1.0
    """
    node = flatten(a) if axis is None else as_tensor(a)
    place = one_axis(-1 if axis is None else axis, node)
    _check_positions(node, kth, place)
    return sort(node, place)


def argpartition(a: TensorLike, kth: int | list[int] | tuple[int, ...], axis: int | None = -1) -> Node:
    """Positions (int64) that make `partition` of the elements along `axis`: those of `argsort`.

    a : ...
    kth: Place or number of elements that the order is known of.
    axis (int or None): Axis to work along, counted from the end if negative; None for the flattened tensor.
    Returns: Positions (int64), of the shape of `a`; a vector for `axis=None`.
    See partition: Some elements where sorting puts them.
    See argtopk: The positions (int64) of the elements that `topk` gives.
    >>> pt.argpartition([3.0, 5.0, 1.0], 0)[0].eval().item()
    2
    """
    node = flatten(a) if axis is None else as_tensor(a)
    place = one_axis(-1 if axis is None else axis, node)
    _check_positions(node, kth, place)
    return argsort(node, place)


def _check_positions(node: Node, kth: int | list[int] | tuple[int, ...], axis: int) -> None:
    length = node.static_shape[axis]
    for position in integers(kth):
        if isinstance(length, int) and not -length <= position < length:
            raise OutOfBoundsError(f"kth={position} is outside axis {axis} of length {length}: {describe(node)}.")


def topk_and_argtopk(x: TensorLike, kth: int, axis: int = -1) -> tuple[Node, Node]:
    """The |kth| greatest elements along `axis` (least for kth < 0) and their positions (int64), most extreme first.

    Of equal elements the earlier ones come first; NaN is greater than all numbers.

    x : ...
    kth: Place or number of elements that the order is known of.
    axis (one) : ...
    Returns: The elements and their positions, of length |kth| along `axis`.
    See argtopk: The positions (int64) of the elements that `topk` gives.
    See topk: The |kth| greatest elements along `axis`.
    >>> [x.eval().tolist() for x in pt.topk_and_argtopk([3.0, 5.0, 1.0], 2)]
    [[5.0, 3.0], [1, 0]]
    """
    node = as_tensor(x)
    place = one_axis(axis, node)
    length = node.static_shape[place]
    if not kth or (isinstance(length, int) and abs(kth) > length):
        raise ShapeError(f"kth must be from 1 to {length}, or negative for the least; got {kth} for {describe(node)}.")
    order = argsort(node, place, descending=kth > 0)
    chosen = getitem(order, (*[slice(None)] * place, arange(abs(kth))))
    return take_along_axis(node, chosen, place), chosen


def topk(x: TensorLike, kth: int, axis: int = -1) -> Node:
    """The |kth| greatest elements along `axis`, the greatest first; for kth < 0 the least, the least first.

    x : ...
    kth: Place or number of elements that the order is known of.
    axis (one) : ...
    Returns: Of length |kth| along `axis`.
    See topk_and_argtopk: The greatest elements and their positions.
    See argtopk: The positions (int64) of the elements that `topk` gives.
    >>> pt.topk([3.0, 5.0, 1.0], 2).eval().tolist()
    [5.0, 3.0]
    """
    return topk_and_argtopk(x, kth, axis)[0]


def argtopk(x: TensorLike, kth: int, axis: int = -1) -> Node:
    """The positions (int64) of the elements that `topk` gives.

    x : ...
    kth: Place or number of elements that the order is known of.
    axis (one) : ...
    Returns: Positions (int64), as many as |kth| along `axis`.
    See argpartition: Positions (int64) that make `partition` of the elements along `axis`.
    See partition: Some elements where sorting puts them.
    >>> pt.argtopk([3.0, 5.0, 1.0], 1).eval().tolist()
    [1]
    """
    return topk_and_argtopk(x, kth, axis)[1]


def unique(
    ar: TensorLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Node | tuple[Node, ...]:
    """The different elements in ascending order; their number is known when the function runs.

    ar: Tensor.
    return_index: Also where each occurs first.
    return_inverse: Also the places in the result that make up the tensor again, in its shape.
    return_counts: Also how often each occurs.
    axis: Compare the parts along an axis in place of elements, in the order of their elements; a vector of places then
        makes up the axis again.
    Returns: The elements, and what is asked for besides: positions, the inverse, counts.
    See bincount: How often each integer occurs.
    See histogram: How many elements lie in each interval (int64).
    >>> pt.unique([3, 1, 3]).eval().tolist()
    [1, 3]
    """
    node = as_tensor(ar)
    if axis is None:
        flat = flatten(node)
        order = argsort(flat) if return_index or return_inverse else None
        ordered = sort(flat) if order is None else getitem(flat, order)
        lines, differ, whole = flat, _neighbours_differ(ordered), node.static_shape
        place = 0
    else:
        place = one_axis(axis, node)
        lines, whole = node, (node.static_shape[place],)
        order = _lexicographic(node, place)
        ordered = getitem(node, (*[slice(None)] * place, order))
        differ = _parts_differ(ordered, place)
    # The first element is different from any before it.
    begins = concatenate([full((dims.minimum(lines.static_shape[place], 1),), True), differ])
    starts = flatnonzero(begins)
    results = [getitem(ordered, (*[slice(None)] * place, starts))]
    if return_index:
        assert order is not None
        results.append(getitem(order, starts))
    if return_inverse:
        assert order is not None
        numbers = apply("sub", cumulative("sum", begins), 1)
        results.append(reshape(index_set(getitem(full_like(order, 0), order), numbers), whole))
    if return_counts:
        ends = concatenate([getitem(starts, slice(1, None)), full((1,), length_of(lines.static_shape[place]))])
        results.append(apply("sub", getitem(ends, slice(None, starts.static_shape[0])), starts))
    return results[0] if len(results) == 1 else tuple(results)


def _neighbours_differ(ordered: Node) -> Node:
    """Of an ascending vector, whether each element but the first differs from the one before; of floats NaN is one."""
    after, before = getitem(ordered, slice(1, None)), getitem(ordered, slice(None, -1))
    changes = apply("neq", after, before)
    if ordered.dtype in FLOATS:
        changes = apply("logical_and", changes, apply("logical_not", apply("isnan", before)))
    return changes


def _lexicographic(node: Node, axis: int) -> Node:
    """Positions that put the parts along an axis in the order of their first elements, then of their second ones, …"""
    others = [i for i in range(node.ndim) if i != axis]
    size = dims.product(tuple(node.static_shape[i] for i in others))
    columns = reshape(node.transpose(*others, axis), (size, node.static_shape[axis]))
    # Sorting keeps the order of what is equal, so the last elements sort first.
    found: Node = scan(
        lambda column, order: getitem(order, argsort(getitem(column, order))),
        sequences=[getitem(columns, slice(None, None, -1))],
        outputs_info=[arange(length_of(node.static_shape[axis]))],
        return_updates=False,
    )
    start = expand_dims(arange(length_of(node.static_shape[axis])), 0)
    return getitem(concatenate([start, found]), -1)


def _parts_differ(ordered: Node, axis: int) -> Node:
    """Whether each part along an axis but the first differs from the one before; NaN differs from NaN."""
    lead = (slice(None),) * axis
    changes = apply("neq", getitem(ordered, (*lead, slice(1, None))), getitem(ordered, (*lead, slice(None, -1))))
    others = tuple(i for i in range(ordered.ndim) if i != axis)
    return changes.any(others) if others else changes


def permute_row_elements(x: TensorLike, y: TensorLike, inverse: bool = False) -> Node:
    """The elements of the last axis of x in the orders that the rows of y name; leading axes broadcast.

    x : ...
    y: Permutations of 0, 1, …, as many as a row has elements.
    inverse: Undo these permutations instead.
    Returns: Of the shape of the argument, in another order.
    See inverse_permutation: The permutation that undoes another.
    >>> pt.permute_row_elements([[1.0, 2.0, 3.0]], [[2, 0, 1]]).eval().tolist()
    [[3.0, 1.0, 2.0]]
    """
    rows, orders = as_tensor(x), as_tensor(y)
    if orders.dtype not in INTEGERS or not rows.ndim or not orders.ndim:
        raise DtypeError(f"rows and integer positions were needed, got {describe(rows)} and {describe(orders)}.")
    lead, _ = broadcast_shape([rows.sum(-1), orders.sum(-1)])
    length = rows.static_shape[-1]
    orders = broadcast_to(orders, (*lead, length))
    return take_along_axis(broadcast_to(rows, (*lead, length)), argsort(orders) if inverse else orders, -1)
