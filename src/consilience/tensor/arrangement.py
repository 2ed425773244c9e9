"""Axes in another order, added, split, joined, promised: PyTensor's and NumPy's names for ops on shapes."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from consilience.errors import ShapeError
from consilience.ir import Dim, Dimension, Node
from consilience.ir.dimension import maximum, minimum, multiply, product
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops import shape
from consilience.ops.arrangement import (
    flatten,
)
from consilience.ops.assertion import Require
from consilience.ops.axes import integers, is_integer, normalised_axes, one_axis
from consilience.ops.elementwise import TensorLike, apply, as_tensor
from consilience.ops.elementwise import broadcast_shape as common_shape
from consilience.ops.index import getitem
from consilience.ops.shape import (
    arange,
    as_length,
    broadcast_to,
    expand_dims,
    full,
    length_of,
    lengths_listed,
    reshape,
)


def transpose(x: TensorLike, axes: Sequence[int] | None = None) -> Node:
    """Axes in the given order, reversed for None.

    x : ...
    axes: All axes in their new order; reversed by default.
    Returns: The same elements, with the axes so.
    See expand_dims: New axes of length 1 at the given positions of the result.
    See squeeze: Drop axes of length 1.
    See dimshuffle: Axes in the order of `pattern`.
    >>> pt.permute_dims(pt.as_tensor([[1.0, 2.0]]), (1, 0)).eval().tolist()
    [[1.0], [2.0]]
    """
    return shape.transpose(x, axes)


permute_dims = transpose


def ravel(x: TensorLike) -> Node:
    """All elements along one axis, the last axis running fastest.

    x : ...
    Returns: The same elements in another shape.
    See reshape: Another shape for the same elements.
    See flatten: The same elements with rank `ndim`.
    >>> pt.ravel([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return flatten(x)


def atleast_Nd(arry: TensorLike, *, n: int = 1, left: bool = True) -> Node:
    """Axes of length 1, in front or (unless `left`) behind, until the rank is n.

    arry : ...
    n: Rank that is reached at least.
    left : ...
    Returns: The same elements, of at least that rank.
    See atleast_1d: A number as a vector of length 1.
    See atleast_2d: Leading axes of length 1 until the rank is 2.
    See atleast_3d: At least three axes.
    >>> pt.atleast_Nd([1.0, 2.0], n=2).eval().tolist()
    [[1.0, 2.0]]
    """
    node = as_tensor(arry)
    added = range(n - node.ndim) if left else range(node.ndim, n)
    return expand_dims(node, tuple(added)) if node.ndim < n else node


def atleast_1d(arry: TensorLike, *, n: int = 1, left: bool = True) -> Node:
    """A number as a vector of length 1; other tensors as they are.

    arry : ...
    n: Rank that is reached at least.
    left : ...
    Returns: The same elements, of at least that rank.
    See atleast_2d: Leading axes of length 1 until the rank is 2.
    See atleast_3d: At least three axes.
    See atleast_Nd: Axes of length 1 until the rank is n.
    >>> pt.atleast_1d(3.0).eval().tolist()
    [3.0]
    """
    return atleast_Nd(arry, n=n, left=left)


def atleast_2d(arry: TensorLike, *, n: int = 2, left: bool = True) -> Node:
    """Leading axes of length 1 until the rank is 2.

    arry : ...
    n: Rank that is reached at least.
    left : ...
    Returns: The same elements, of at least that rank.
    See atleast_3d: At least three axes.
    See atleast_Nd: Axes of length 1 until the rank is n.
    See atleast_1d: A number as a vector of length 1.
    >>> pt.atleast_2d([1.0, 2.0]).eval().tolist()
    [[1.0, 2.0]]
    """
    return atleast_Nd(arry, n=n, left=left)


def atleast_3d(arry: TensorLike, *, n: int = 3, left: bool = True) -> Node:
    """Leading axes of length 1 until the rank is 3 (NumPy puts a vector in the middle).

    arry : ...
    n: Rank that is reached at least.
    left : ...
    Returns: The same elements, of at least that rank.
    See atleast_Nd: Axes of length 1 until the rank is n.
    See atleast_1d: A number as a vector of length 1.
    See atleast_2d: Leading axes of length 1 until the rank is 2.
    >>> pt.atleast_3d([1.0, 2.0]).eval().tolist()
    [[[1.0, 2.0]]]
    """
    return atleast_Nd(arry, n=n, left=left)


def shape_padleft(t: TensorLike, n_ones: int = 1) -> Node:
    """New axes of length 1 in front.

    t : ...
    n_ones: Number of new axes of length 1.
    Returns: The same elements, with the axes so.
    See shape_padright: New axes of length 1 behind.
    See expand_dims: New axes of length 1 at the given positions of the result.
    See shape_padaxis: A new axis of length 1 at a position of the result.
    >>> pt.shape_padleft(pt.as_tensor([1.0, 2.0])).eval().tolist()
    [[1.0, 2.0]]
    """
    return expand_dims(t, tuple(range(n_ones)))


def shape_padright(t: TensorLike, n_ones: int = 1) -> Node:
    """New axes of length 1 behind.

    t : ...
    n_ones: Number of new axes of length 1.
    Returns: The same elements, with the axes so.
    See expand_dims: New axes of length 1 at the given positions of the result.
    See shape_padaxis: A new axis of length 1 at a position of the result.
    See shape_padleft: New axes of length 1 in front.
    >>> pt.shape_padright(pt.as_tensor([1.0, 2.0])).eval().tolist()
    [[1.0], [2.0]]
    """
    return expand_dims(t, tuple(range(-n_ones, 0)))


def shape_padaxis(t: TensorLike, axis: int) -> Node:
    """A new axis of length 1 at a position of the result.

    t, axis (new) : ...
    Returns: The same elements, with the axes so.
    See shape_padleft: New axes of length 1 in front.
    See shape_padright: New axes of length 1 behind.
    See expand_dims: New axes of length 1 at the given positions of the result.
    >>> pt.shape_padaxis(pt.as_tensor([1.0, 2.0]), 1).eval().tolist()
    [[1.0], [2.0]]
    """
    return expand_dims(t, axis)


def flip(arr: TensorLike, axis: int | Sequence[int] | None = None) -> Node:
    """The order of elements reversed along `axis` (all axes for None).

    arr: Tensor, or what becomes one: an array, a number, nested lists.
    axis : ...
    Returns: Of the shape of the argument, in another order.
    See roll: Elements moved on by `shift` places along `axis`.
    >>> pt.flip([1.0, 2.0, 3.0]).eval().tolist()
    [3.0, 2.0, 1.0]
    """
    node = as_tensor(arr)
    axes = normalised_axes(axis, node.ndim)
    return getitem(node, tuple(slice(None, None, -1 if i in axes else None) for i in range(node.ndim)))


def roll(x: TensorLike, shift: Any, axis: int | Sequence[int] | None = None) -> Node:
    """Elements moved on by `shift` places along `axis`, from the end to the beginning; None rolls all as one axis.

    x : ...
    shift: Number of places; elements that leave at one end come in at the other.
    axis: Axis or axes to work along, counted from the end if negative; None for the flattened tensor.
    Returns: Of the shape of the argument, in another order.
    See flip: The order of elements reversed along `axis` (all axes for None).
    >>> pt.roll([1.0, 2.0, 3.0], 1).eval().tolist()
    [3.0, 1.0, 2.0]
    """
    node = as_tensor(x)
    if axis is None:
        return reshape(roll(flatten(node), shift, 0), node.static_shape)
    axes = integers(axis)
    shifts: list[Any] = [shift] * len(axes) if isinstance(shift, Node) or is_integer(shift) else list(shift)
    for place, by in zip((one_axis(a, node) for a in axes), shifts, strict=True):
        length = length_of(node.static_shape[place])
        positions = apply("mod", apply("sub", arange(length_of(node.static_shape[place])), by), length)
        node = getitem(node, (*[slice(None)] * place, positions))
    return node


def join_dims(x: TensorLike, start_axis: int = 0, n_axes: int | None = None) -> Node:
    """`n_axes` neighbouring axes (all that follow for None) as one; 0 axes become a new one of length 1.

    x : ...
    start_axis: First of the axes to join.
    n_axes: How many are joined; all behind it by default.
    Returns: The same elements in another shape.
    See split_dims: One axis as several.
    See reshape: Another shape for the same elements.
    >>> pt.join_dims(pt.zeros((2, 3)), 0, 2).eval().tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    node = as_tensor(x)
    start = start_axis % max(node.ndim, 1)
    stop = node.ndim if n_axes is None else start + n_axes
    if not start <= stop <= node.ndim:
        raise ShapeError(f"{n_axes} axes from axis {start_axis} on do not exist in {describe(node)}.")
    lengths = node.static_shape
    return reshape(node, (*lengths[:start], product(lengths[start:stop]), *lengths[stop:]))


def split_dims(x: TensorLike, shape: object, axis: int = 0) -> Node:
    """One axis as several, of the lengths `shape`; one of them may be -1.

    x, shape : ...
    axis: Axis that is split, counted from the end if negative.
    Returns: The same elements in another shape.
    See reshape: Another shape for the same elements.
    See join_dims: `n_axes` neighbouring axes (all that follow for None) as one.
    >>> pt.split_dims(pt.arange(6), axis=0, shape=(2, 3)).eval().tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    node = as_tensor(x)
    place, given = one_axis(axis, node), list(shape) if isinstance(shape, list | tuple) else [shape]
    inner = reshape(arange(length_of(node.static_shape[place])), given).static_shape
    return reshape(node, (*node.static_shape[:place], *inner, *node.static_shape[place + 1 :]))


def specify_shape(x: TensorLike, shape: Sequence[object] | object) -> Node:
    """`x` with lengths that are promised: a length per axis, None where nothing is said, `...` for axes between.

    Lengths known to be others are a ShapeError at once, those that turn out others when the function is called.

    x : ...
    shape (sequence or object): Lengths of the axes.
    Returns: The same tensor with what is promised of its lengths.
    See shape: Lengths of all axes.
    >>> pt.specify_shape(pt.as_tensor([1.0, 2.0]), (2,)).eval().tolist()
    [1.0, 2.0]
    """
    node = as_tensor(x)
    given = [shape] if shape is None or shape is Ellipsis else lengths_listed(shape)
    if any(length is Ellipsis for length in given):
        place = next(i for i, length in enumerate(given) if length is Ellipsis)
        given[place : place + 1] = [None] * (node.ndim - len(given) + 1)
    if len(given) != node.ndim:
        raise ShapeError(f"{node.ndim} lengths were needed, got {tuple(given)} for {describe(node)}.")
    wanted: list[Dim] = [
        have if want is None else as_length(want) for have, want in zip(node.static_shape, given, strict=True)
    ]
    later = []
    for axis, (have, want) in enumerate(zip(node.static_shape, wanted, strict=True)):
        if isinstance(have, int) and isinstance(want, int) and have != want:
            raise ShapeError(f"axis {axis} has length {have}, not {want!r}: {describe(node)}.")
        if isinstance(have, int) and have != want:
            later.append(ShapeConstraint(have, want, "`specify_shape` promises equal lengths"))
            wanted[axis] = have
    made = broadcast_to(node, wanted)
    return Node(Require(tuple(later)), made) if later else made


def specify_broadcastable(x: TensorLike, *axes: int) -> Node:
    """`x` with length 1 promised on the given axes, which then stretch in broadcasting.

    x : ...
    *axes: Axes of length 1.
    Returns: The same tensor with what is promised of its lengths.
    See specify_shape: `x` with lengths that are promised.
    >>> pt.specify_broadcastable(pt.as_tensor([[1.0, 2.0]]), 0).eval().tolist()
    [[1.0, 2.0]]
    """
    node = as_tensor(x)
    ones = normalised_axes(axes, node.ndim)
    return specify_shape(node, [1 if i in ones else None for i in range(node.ndim)])


def broadcast_dynamic(x: TensorLike, axes: Mapping[int, object]) -> Node:
    """`x` with axes broadcast whose length, 1 or that of the result, is known at run time only.

    x : ...
    axes (mapping): Axis of x -> its length in the result: an integer, a symbolic length or an integer scalar, such as
        `y.shape[0]`. Where x has length 1 its elements are repeated, and derivatives sum over the axis.
    Returns: A tensor whose axes broadcast.
    Raises ShapeError: For any other length, at run time where it is not known before.
    See broadcast_to: To a known shape.
    >>> x = pt.dvector("x")
    >>> pt.broadcast_dynamic(x, {0: 3}).eval({x: [2.0]}).tolist()
    [2.0, 2.0, 2.0]
    """
    node = as_tensor(x)
    if not isinstance(axes, Mapping):
        raise TypeError(
            f"`axes` is a dict from an axis to its length in the result, such as {{0: y.shape[0]}}, got {axes!r}."
        )
    for axis, wanted in axes.items():
        place, length = one_axis(axis, node), as_length(wanted)
        own = node.static_shape[place]
        if isinstance(own, int) or own is length:
            node = broadcast_to(node, (*node.static_shape[:place], length, *node.static_shape[place + 1 :]))
            continue
        several = minimum(maximum(own - 1, 1 - own), 1)  # 0 for one element, which is read at every place; else 1
        read = getitem(node, (slice(None),) * place + (arange(length_of(length)) * length_of(several),))
        needed = multiply(length - 1, several) + 1
        fits = ShapeConstraint(own, needed, f"axis {axis} must have length 1 or {length}", describe(node))
        node = Node(Require((fits,)), read)
    return node


def broadcast_shape(*arrays: Any, arrays_are_shapes: bool = False) -> tuple[Node | int, ...]:
    """The common shape to which tensors broadcast: integers where static, else int64 scalars.

    *arrays (TensorLike): The arrays, in order.
    arrays_are_shapes: Whether shapes are given in place of tensors.
    Returns: A length per axis.
    See broadcast_to: `x` repeated to a shape.
    See broadcast_arrays: All values at their common broadcast shape.
    >>> pt.broadcast_shape(pt.zeros((2, 1)), pt.zeros((3,)))
    (2, 3)
    """
    nodes = [full(a, 0, "bool") if arrays_are_shapes else as_tensor(a) for a in arrays]
    lengths = common_shape(nodes)[0]
    return tuple(n if isinstance(n, int) else length_of(n) for n in lengths)


def is_flat(var: Node, ndim: int = 1) -> bool:
    """Whether a tensor has rank `ndim`.

    var: The expression.
    ndim : ...
    Returns: Whether it has.
    See get_vector_length: The static length of a vector.
    >>> pt.is_flat(pt.dvector("x"))
    True
    """
    return as_tensor(var).ndim == operator.index(ndim)


def get_vector_length(v: TensorLike) -> int:
    """The static length of a vector.

    v : ...
    Returns: The length; ShapeError where it is not known.
    See is_flat: Whether a tensor has rank `ndim`.
    >>> pt.get_vector_length(pt.zeros((3,)))
    3
    """
    node = as_tensor(v)
    if node.ndim != 1 or isinstance(node.static_shape[0], Dimension):
        raise ShapeError(f"a vector of static length was needed, got {describe(node)}.")
    return node.static_shape[0]
