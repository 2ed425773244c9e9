"""Elements put elsewhere, joined, cut or replaced: PyTensor's and NumPy's names for combinations of ops on shapes."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from consilience.errors import DtypeError, ShapeError
from consilience.ir import Dim, Dimension, Node
from consilience.ir.arithmetic import means
from consilience.ir.dimension import maximum, minimum, multiply, product
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ir.types import INTEGERS
from consilience.ops import index, shape
from consilience.ops.arrangement import (
    diagonal,
    diagonal_positions,
    flatten,
    full_like,
    take,
    take_along_axis,
)
from consilience.ops.assertion import Require
from consilience.ops.axes import integers, is_integer, normalised_axes, one_axis
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.elementwise import broadcast_shape as common_shape
from consilience.ops.index import getitem, index_inc, index_set
from consilience.ops.parameter_check import Asserted
from consilience.ops.reduce import reduce
from consilience.ops.shape import (
    arange,
    as_length,
    as_shape,
    broadcast_to,
    concatenate,
    expand_dims,
    full,
    length_of,
    lengths_listed,
    reshape,
    stack,
)
from consilience.ops.structured import DiagonalMatrix
from consilience.tensor.keywords import export


def transpose(x: TensorLike, axes: Sequence[int] | None = None) -> Node:
    """Axes in the given order, reversed for None.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    axes : sequence of int, optional
        All axes in their new order; reversed by default.

    Returns
    -------
    TensorVariable
        The same elements, with the axes so.

    See Also
    --------
    expand_dims : New axes of length 1 at the given positions of the result.
    squeeze : Drop axes of length 1.
    dimshuffle : Axes in the order of `pattern`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.permute_dims(pt.as_tensor([[1.0, 2.0]]), (1, 0)).eval().tolist()
    [[1.0], [2.0]]
    """
    return shape.transpose(x, axes)


permute_dims = transpose


def ravel(x: TensorLike) -> Node:
    """All elements along one axis, the last axis running fastest.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
        The same elements in another shape.

    See Also
    --------
    reshape : Another shape for the same elements.
    flatten : The same elements with rank `ndim`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.ravel([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return flatten(x)


def atleast_Nd(arry: TensorLike, *, n: int = 1, left: bool = True) -> Node:
    """Axes of length 1, in front or (unless `left`) behind, until the rank is n.

    Parameters
    ----------
    arry : TensorLike
        The arrays or tensors.
    n : int, default 1
        Rank that is reached at least.
    left : bool, default True
        Whether new axes come in front.

    Returns
    -------
    TensorVariable
        The same elements, of at least that rank.

    See Also
    --------
    atleast_1d : A number as a vector of length 1.
    atleast_2d : Leading axes of length 1 until the rank is 2.
    atleast_3d : At least three axes.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.atleast_Nd([1.0, 2.0], n=2).eval().tolist()
    [[1.0, 2.0]]
    """
    node = as_tensor(arry)
    added = range(n - node.ndim) if left else range(node.ndim, n)
    return expand_dims(node, tuple(added)) if node.ndim < n else node


def atleast_1d(arry: TensorLike, *, n: int = 1, left: bool = True) -> Node:
    """A number as a vector of length 1; other tensors as they are.

    Parameters
    ----------
    arry : TensorLike
        The arrays or tensors.
    n : int, default 1
        Rank that is reached at least.
    left : bool, default True
        Whether new axes come in front.

    Returns
    -------
    TensorVariable
        The same elements, of at least that rank.

    See Also
    --------
    atleast_2d : Leading axes of length 1 until the rank is 2.
    atleast_3d : At least three axes.
    atleast_Nd : Axes of length 1 until the rank is n.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.atleast_1d(3.0).eval().tolist()
    [3.0]
    """
    return atleast_Nd(arry, n=n, left=left)


def atleast_2d(arry: TensorLike, *, n: int = 2, left: bool = True) -> Node:
    """Leading axes of length 1 until the rank is 2.

    Parameters
    ----------
    arry : TensorLike
        The arrays or tensors.
    n : int, default 2
        Rank that is reached at least.
    left : bool, default True
        Whether new axes come in front.

    Returns
    -------
    TensorVariable
        The same elements, of at least that rank.

    See Also
    --------
    atleast_3d : At least three axes.
    atleast_Nd : Axes of length 1 until the rank is n.
    atleast_1d : A number as a vector of length 1.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.atleast_2d([1.0, 2.0]).eval().tolist()
    [[1.0, 2.0]]
    """
    return atleast_Nd(arry, n=n, left=left)


def atleast_3d(arry: TensorLike, *, n: int = 3, left: bool = True) -> Node:
    """Leading axes of length 1 until the rank is 3 (NumPy puts a vector in the middle).

    Parameters
    ----------
    arry : TensorLike
        The arrays or tensors.
    n : int, default 3
        Rank that is reached at least.
    left : bool, default True
        Whether new axes come in front.

    Returns
    -------
    TensorVariable
        The same elements, of at least that rank.

    See Also
    --------
    atleast_Nd : Axes of length 1 until the rank is n.
    atleast_1d : A number as a vector of length 1.
    atleast_2d : Leading axes of length 1 until the rank is 2.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.atleast_3d([1.0, 2.0]).eval().tolist()
    [[[1.0, 2.0]]]
    """
    return atleast_Nd(arry, n=n, left=left)


def shape_padleft(t: TensorLike, n_ones: int = 1) -> Node:
    """New axes of length 1 in front.

    Parameters
    ----------
    t : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    n_ones : int, default 1
        Number of new axes of length 1.

    Returns
    -------
    TensorVariable
        The same elements, with the axes so.

    See Also
    --------
    shape_padright : New axes of length 1 behind.
    expand_dims : New axes of length 1 at the given positions of the result.
    shape_padaxis : A new axis of length 1 at a position of the result.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.shape_padleft(pt.as_tensor([1.0, 2.0])).eval().tolist()
    [[1.0, 2.0]]
    """
    return expand_dims(t, tuple(range(n_ones)))


def shape_padright(t: TensorLike, n_ones: int = 1) -> Node:
    """New axes of length 1 behind.

    Parameters
    ----------
    t : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    n_ones : int, default 1
        Number of new axes of length 1.

    Returns
    -------
    TensorVariable
        The same elements, with the axes so.

    See Also
    --------
    expand_dims : New axes of length 1 at the given positions of the result.
    shape_padaxis : A new axis of length 1 at a position of the result.
    shape_padleft : New axes of length 1 in front.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.shape_padright(pt.as_tensor([1.0, 2.0])).eval().tolist()
    [[1.0], [2.0]]
    """
    return expand_dims(t, tuple(range(-n_ones, 0)))


def shape_padaxis(t: TensorLike, axis: int) -> Node:
    """A new axis of length 1 at a position of the result.

    Parameters
    ----------
    t : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    axis : int
        Place of the new axis in the result.

    Returns
    -------
    TensorVariable
        The same elements, with the axes so.

    See Also
    --------
    shape_padleft : New axes of length 1 in front.
    shape_padright : New axes of length 1 behind.
    expand_dims : New axes of length 1 at the given positions of the result.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.shape_padaxis(pt.as_tensor([1.0, 2.0]), 1).eval().tolist()
    [[1.0], [2.0]]
    """
    return expand_dims(t, axis)


def join(axis: int, *tensors_list: TensorLike) -> Node:
    """Tensors joined along an existing axis.

    Parameters
    ----------
    axis : int
        Axis to work along, counted from the end if negative.
    *tensors_list : TensorLike
        The tensors to join.

    Returns
    -------
    TensorVariable
        The joined tensor, of the common dtype.

    See Also
    --------
    stack : Join tensors of equal shape along a new axis.
    split : Parts along an axis.
    concat : Join tensors along an existing axis.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.join(0, [1.0, 2.0], [3.0]).eval().tolist()
    [1.0, 2.0, 3.0]
    """
    return concatenate(tensors_list, axis)


def hstack(tensor_list: Sequence[TensorLike]) -> Node:
    """Joined along the second axis, vectors along their only one.

    Parameters
    ----------
    tensor_list : sequence of TensorLike
        The tensors to join.

    Returns
    -------
    TensorVariable
        The joined tensor, of the common dtype.

    See Also
    --------
    vstack : Joined along the first axis.
    dstack : Joined along the third axis.
    column_stack : Joined along the second axis.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.hstack([[1.0, 2.0], [3.0]]).eval().tolist()
    [1.0, 2.0, 3.0]
    """
    nodes = [atleast_1d(value) for value in tensor_list]
    return concatenate(nodes, 0 if nodes and nodes[0].ndim == 1 else 1)


def vstack(tensor_list: Sequence[TensorLike]) -> Node:
    """Joined along the first axis; vectors are rows.

    Parameters
    ----------
    tensor_list : sequence of TensorLike
        The tensors to join.

    Returns
    -------
    TensorVariable
        The joined tensor, of the common dtype.

    See Also
    --------
    dstack : Joined along the third axis.
    column_stack : Joined along the second axis.
    hstack : Joined along the second axis.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.vstack([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return concatenate([atleast_2d(value) for value in tensor_list], 0)


def dstack(tensor_list: Sequence[TensorLike]) -> Node:
    """Joined along the third axis; matrices are slices, vectors rows of slices.

    Parameters
    ----------
    tensor_list : sequence of TensorLike
        The tensors to join.

    Returns
    -------
    TensorVariable
        The joined tensor, of the common dtype.

    See Also
    --------
    column_stack : Joined along the second axis.
    hstack : Joined along the second axis.
    vstack : Joined along the first axis.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.dstack([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[[1.0, 3.0], [2.0, 4.0]]]
    """
    nodes = [atleast_2d(value) for value in tensor_list]
    return concatenate([node if node.ndim > 2 else expand_dims(node, 2) for node in nodes], 2)


def column_stack(tensor_list: Sequence[TensorLike]) -> Node:
    """Joined along the second axis; vectors are columns.

    Parameters
    ----------
    tensor_list : sequence of TensorLike
        The tensors to join.

    Returns
    -------
    TensorVariable
        The joined tensor, of the common dtype.

    See Also
    --------
    hstack : Joined along the second axis.
    vstack : Joined along the first axis.
    dstack : Joined along the third axis.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.column_stack([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    nodes = [atleast_1d(value) for value in tensor_list]
    return concatenate([node if node.ndim > 1 else expand_dims(node, 1) for node in nodes], 1)


def horizontal_stack(*args: TensorLike) -> Node:
    """Matrices joined along the second axis.

    Parameters
    ----------
    *args : TensorLike
        The tensors, in order.

    Returns
    -------
    TensorVariable
        The joined tensor, of the common dtype.

    See Also
    --------
    vertical_stack : Matrices joined along the first axis.
    concat : Join tensors along an existing axis.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.horizontal_stack([[1.0], [2.0]], [[3.0], [4.0]]).eval().tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    return concatenate(args, 1)


def vertical_stack(*args: TensorLike) -> Node:
    """Matrices joined along the first axis.

    Parameters
    ----------
    *args : TensorLike
        The tensors, in order.

    Returns
    -------
    TensorVariable
        The joined tensor, of the common dtype.

    See Also
    --------
    concat : Join tensors along an existing axis.
    horizontal_stack : Matrices joined along the second axis.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.vertical_stack([[1.0, 2.0]], [[3.0, 4.0]]).eval().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return concatenate(args, 0)


def stacklists(arg: Any) -> Node:
    """Nested lists of tensors as one tensor, an axis per level.

    Parameters
    ----------
    arg : object
        Nested lists of tensors.

    Returns
    -------
    TensorVariable
        Of one more axis per stacking.

    See Also
    --------
    stack : Join tensors of equal shape along a new axis.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.stacklists([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return stack([stacklists(part) for part in arg]) if isinstance(arg, list | tuple) else as_tensor(arg)


def concat_with_broadcast(tensor_list: Sequence[TensorLike], axis: int = 0) -> Node:
    """Joined along an axis, the other axes broadcast before.

    Parameters
    ----------
    tensor_list : sequence of TensorLike
        The tensors to join.
    axis : int, default 0
        Axis to work along, counted from the end if negative.

    Returns
    -------
    TensorVariable
        The joined tensor, of the common dtype.

    See Also
    --------
    concat : Join tensors along an existing axis.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.concat_with_broadcast([[[1.0]], [[2.0], [3.0]]], axis=1).eval().tolist()
    [[1.0, 2.0], [1.0, 3.0]]
    """
    nodes = [as_tensor(value) for value in tensor_list]
    if not nodes or len({node.ndim for node in nodes}) > 1:
        raise ShapeError(f"tensors of one rank were needed, got {', '.join(map(describe, nodes)) or 'none'}.")
    place = one_axis(axis, nodes[0])
    common = common_shape([node.sum(place, keepdims=True) for node in nodes])[0]
    return concatenate(
        [broadcast_to(n, (*common[:place], n.static_shape[place], *common[place + 1 :])) for n in nodes], place
    )


def split(
    x: TensorLike,
    splits_size: Any = None,
    n_splits: int | None = None,
    axis: int = 0,
    *,
    indices_or_sections: Sequence[int] | int | None = None,
) -> list[Node]:
    """Parts along an axis.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    splits_size : object, optional
        Lengths of the parts, as in PyTensor, which may be a vector known at run time; an integer is a number of equal
        parts.
    n_splits : int, optional
        The number of parts, which must agree and be known; alone, so many equal parts.
    axis : int, default 0
        Axis to work along, counted from the end if negative.
    indices_or_sections : sequence of int or int, optional
        Positions before which to cut, as in NumPy, or a number of equal parts.

    Returns
    -------
    list of TensorVariable
        The parts, in order.

    See Also
    --------
    concat : Join tensors along an existing axis.
    join : Tensors joined along an existing axis.
    stack : Join tensors of equal shape along a new axis.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> [x.eval().tolist() for x in pt.split(pt.arange(4), [1, 3], n_splits=2)]
    [[0], [1, 2, 3]]
    """
    node = as_tensor(x)
    if (splits_size is None and n_splits is None) == (indices_or_sections is None):
        raise TypeError("`split` needs lengths (`splits_size`) or positions (`indices_or_sections`), and not both.")
    if splits_size is None:
        return index.split(node, n_splits if indices_or_sections is None else indices_or_sections, axis)  # type: ignore[arg-type]  # one of them is there
    sizes = as_tensor(splits_size)
    if not sizes.ndim:
        return index.split(node, int(splits_size), axis)
    if n_splits is not None and sizes.ndim == 1 and isinstance(sizes.static_shape[0], Dimension):
        sizes = broadcast_to(sizes, (n_splits,))
    lengths, place = as_shape(sizes), one_axis(axis, node)
    total: Dim = sum(lengths, start=0)
    if n_splits is not None and n_splits != len(lengths):
        raise ShapeError(f"`n_splits` is {n_splits}, but there are {len(lengths)} lengths.")
    if isinstance(node.static_shape[place], int) and isinstance(total, int) and total != node.static_shape[place]:
        raise ShapeError(
            f"parts of lengths {lengths} do not make up axis {axis} of length {node.static_shape[place]}: "
            f"{describe(node)}. To cut before positions, as NumPy does, give them as `indices_or_sections`."
        )
    node = broadcast_to(node, [total if i == place else n for i, n in enumerate(node.static_shape)])
    return index.split(node, list(itertools.accumulate(lengths))[:-1], axis)  # type: ignore[arg-type]  # lengths


def tile(A: TensorLike, reps: TensorLike | Sequence[TensorLike]) -> Node:
    """The whole tensor `reps` times along each axis; axes are added in front where needed.

    Parameters
    ----------
    A : TensorLike
        Tensor that is repeated.
    reps : TensorLike or sequence of TensorLike
        Number of repetitions for each axis.

    Returns
    -------
    TensorVariable
        The longer tensor.

    See Also
    --------
    repeat : Every element `repeats` times in a row along `axis`.
    pad : `x` with elements added at both ends of its axes.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.tile([1.0, 2.0], 2).eval().tolist()
    [1.0, 2.0, 1.0, 2.0]
    """
    node = as_tensor(A)
    counts: list[Dim] = list(as_shape(reps))
    counts = [*[1] * (node.ndim - len(counts)), *counts]
    if len(counts) > node.ndim:
        node = expand_dims(node, tuple(range(len(counts) - node.ndim)))
    lengths = node.static_shape
    apart = reshape(node, tuple(n for length in lengths for n in (1, length)))
    wider = broadcast_to(apart, tuple(n for pair in zip(counts, lengths, strict=True) for n in pair))
    return reshape(wider, tuple(count * length for count, length in zip(counts, lengths, strict=True)))


def flip(arr: TensorLike, axis: int | Sequence[int] | None = None) -> Node:
    """The order of elements reversed along `axis` (all axes for None).

    Parameters
    ----------
    arr : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    axis : int or sequence of int, optional
        Axis or axes to work along, negative ones counted from the end; None for all.

    Returns
    -------
    TensorVariable
        Of the shape of the argument, in another order.

    See Also
    --------
    roll : Elements moved on by `shift` places along `axis`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.flip([1.0, 2.0, 3.0]).eval().tolist()
    [3.0, 2.0, 1.0]
    """
    node = as_tensor(arr)
    axes = normalised_axes(axis, node.ndim)
    return getitem(node, tuple(slice(None, None, -1 if i in axes else None) for i in range(node.ndim)))


def roll(x: TensorLike, shift: Any, axis: int | Sequence[int] | None = None) -> Node:
    """Elements moved on by `shift` places along `axis`, from the end to the beginning; None rolls all as one axis.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    shift : object
        Number of places; elements that leave at one end come in at the other.
    axis : int or sequence of int, optional
        Axis or axes to work along, counted from the end if negative; None for the flattened tensor.

    Returns
    -------
    TensorVariable
        Of the shape of the argument, in another order.

    See Also
    --------
    flip : The order of elements reversed along `axis` (all axes for None).

    Examples
    --------
    >>> import consilience.tensor as pt
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


@means("choose")
def choose(a: TensorLike, choices: Any, mode: str = "raise") -> Node:
    """For each element of a the element of the choice of that number; all broadcast. `mode` as in `take`.

    Parameters
    ----------
    a : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    choices : object
        Tensors to choose from.
    mode : str, default 'raise'
        What indices out of range do: "raise", "wrap" or "clip".

    Returns
    -------
    TensorVariable
        Of the common broadcast shape.

    See Also
    --------
    switch : `ift` where `cond` holds (is not zero).
    take : The elements at `indices` along `axis`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.choose([0, 1], [[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [1.0, 4.0]
    """
    number, options = _options(as_tensor(a), choices)
    count = length_of(options.static_shape[0])
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"mode must be 'raise', 'clip' or 'wrap', got {mode!r}.")
    if number.dtype not in ("bool", *INTEGERS):
        raise DtypeError(f"`choose` needs numbers of choices, integers, got {describe(number)}.")
    number = cast(number, "int64")
    if mode == "clip":
        number = apply("minimum", apply("maximum", number, 0), apply("sub", count, 1))
    elif mode == "wrap":
        number = apply("mod", number, count)
    else:  # NumPy counts none from the end; behind the end an index is refused
        number = apply("where", apply("lt", number, 0), count, number)
    return getitem(take_along_axis(options, expand_dims(number, 0), 0), 0)


def _options(number: Node, choices: Any) -> tuple[Node, Node]:
    """Numbers of choices and the choices along a first axis, all of the common shape."""
    if isinstance(choices, list | tuple):
        first, *others = shape.broadcast_arrays(number, *choices)
        return first, stack(others)
    node = as_tensor(choices)
    if not node.ndim:
        raise ShapeError(f"`choose` needs choices along the first axis, got {describe(node)}.")
    common = common_shape([number, node.sum(0)])[0]
    aligned = expand_dims(node, tuple(range(1, 2 + len(common) - node.ndim)))
    return broadcast_to(number, common), broadcast_to(aligned, (node.static_shape[0], *common))


@means("compress")
def compress(condition: TensorLike, x: TensorLike, axis: int | None = None) -> Node:
    """The parts along `axis` (of the flattened tensor for None) where a vector is true.

    Parameters
    ----------
    condition : TensorLike
        Vector that says which parts stay; a number other than 0 counts as true.
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    axis : int, optional
        Axis to work along, counted from the end if negative; None for the flattened tensor.

    Returns
    -------
    TensorVariable
        As many parts along `axis` as are true, a number known when the function runs.

    See Also
    --------
    take : The elements at `indices` along `axis`.
    take_along_axis : Elements at positions along an axis.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.compress([True, False, True], [1.0, 2.0, 3.0]).eval().tolist()
    [1.0, 3.0]
    """
    node, mask = flatten(x) if axis is None else as_tensor(x), as_tensor(condition)
    place = one_axis(0 if axis is None else axis, node)
    return take(node, index.flatnonzero(mask), place)


def nonzero(a: TensorLike, return_matrix: bool = False) -> tuple[Node, ...] | Node:
    """Positions of the elements that are not zero (or True): int64, a vector per axis or, if asked, a row of a matrix.

    Their number is known when the function runs.

    Parameters
    ----------
    a : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    return_matrix : bool, default False
        Whether the places come as rows of one matrix.

    Returns
    -------
    tuple of TensorVariable or TensorVariable
        A vector of int64 per axis, or a matrix of them.

    See Also
    --------
    flatnonzero : Positions in the flattened tensor.
    nonzero_values : The elements that are not zero.
    argwhere : Positions of the elements that are not zero (or True).

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> [x.eval().tolist() for x in pt.nonzero([0.0, 3.0, 4.0])]
    [[1, 2]]
    """
    positions = index.nonzero(a)
    return stack(positions) if return_matrix else positions


@means("nonzero_values")
def nonzero_values(a: TensorLike) -> Node:
    """The elements that are not zero, in row-major order.

    Parameters
    ----------
    a : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
        A vector whose length is known when the function runs.

    See Also
    --------
    argwhere : Positions of the elements that are not zero (or True).
    nonzero : Positions of the elements that are not zero (or True).
    flatnonzero : Positions in the flattened tensor.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.nonzero_values([0.0, 3.0, 4.0]).eval().tolist()
    [3.0, 4.0]
    """
    node = flatten(a)
    return getitem(node, index.flatnonzero(node))


def unravel_index(indices: TensorLike, dims: object, order: str = "C") -> tuple[Node, ...]:
    """Positions in a flattened tensor of lengths `dims` as positions on its axes; others fail, as an AssertionError.

    Parameters
    ----------
    indices : TensorLike
        Places, counted from 0.
    dims : object
        Lengths of the axes.
    order : str, default 'C'
        "C": the last index runs fastest; "F": the first.

    Returns
    -------
    tuple of TensorVariable
        Positions (int64), one tensor per axis.

    See Also
    --------
    ravel_multi_index : The other way.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> [x.eval().item() for x in pt.unravel_index(5, (2, 3))]
    [1, 2]
    """
    lengths = as_shape(dims)
    position = _inside(as_tensor(indices), length_of(product(lengths)), "unravel_index")
    found: list[Node] = []
    for length in reversed(lengths) if _row_major(order) else lengths:
        found.append(apply("mod", position, length_of(length)))
        position = apply("floor_div", position, length_of(length))
    return tuple(reversed(found)) if _row_major(order) else tuple(found)


def ravel_multi_index(multi_index: Sequence[TensorLike], dims: object, mode: str = "raise", order: str = "C") -> Node:
    """Positions on the axes of a tensor of lengths `dims` as positions in it when flattened.

    Parameters
    ----------
    multi_index : sequence of TensorLike
        Places, one tensor for each axis.
    dims : object
        Lengths of the axes.
    mode : str, default 'raise'
        Beyond the ends: "raise" an AssertionError in the call, "clip" to the nearest end, "wrap" around.
    order : str, default 'C'
        "C": the last index runs fastest; "F": the first.

    Returns
    -------
    TensorVariable
        Positions (int64), of the common shape of those given.

    See Also
    --------
    unravel_index : Positions in a flattened tensor of lengths `dims` as positions on its axes.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.ravel_multi_index((1, 2), (2, 3)).eval().item()
    5
    """
    result: Node | None = None
    pairs = list(zip(multi_index, as_shape(dims), strict=True))
    for given, length in pairs if _row_major(order) else reversed(pairs):
        position, size = as_tensor(given), length_of(length)
        if mode == "clip":
            position = apply("minimum", apply("maximum", position, 0), apply("sub", size, 1))
        elif mode == "wrap":
            position = apply("mod", position, size)
        elif mode == "raise":
            position = _inside(position, size, "ravel_multi_index")
        else:
            raise ValueError(f"mode must be 'raise', 'clip' or 'wrap', got {mode!r}.")
        result = position if result is None else apply("add", apply("mul", result, size), position)
    if result is None:
        raise ShapeError("`ravel_multi_index` needs positions on at least one axis.")
    return result


def _inside(position: Node, size: TensorLike, name: str) -> Node:
    """Positions from 0 on; the computation fails where one is not below `size`."""
    if position.dtype not in ("bool", *INTEGERS):
        raise DtypeError(f"positions are integers, got {describe(position)}.")
    inside = apply("logical_and", apply("ge", position, 0), apply("lt", position, size))
    return Node(Asserted(f"`{name}`: a position is outside the lengths."), position, reduce("all", inside))


def _row_major(order: str) -> bool:
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', got {order!r}.")
    return order == "C"


def inverse_permutation(perm: TensorLike) -> Node:
    """The permutation of 0, 1, … that undoes a permutation; of a matrix, those of its rows, and so on.

    Parameters
    ----------
    perm : TensorLike
        Permutation of 0, ..., n - 1.

    Returns
    -------
    TensorVariable
        Integers (int64), of the shape of `perm`.

    See Also
    --------
    permute_row_elements : The elements of the last axis of x in the orders that the rows of y name.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.inverse_permutation([2, 0, 1]).eval().tolist()
    [1, 2, 0]
    """
    node = as_tensor(perm)
    if not node.ndim:
        raise ShapeError(f"a permutation is a vector of integers, got {describe(node)}.")
    positions = cast(arange(length_of(node.static_shape[-1])), node.dtype)
    before = [
        expand_dims(arange(length_of(n)), tuple(range(1, node.ndim - i))) for i, n in enumerate(node.static_shape[:-1])
    ]
    return index_set(getitem(full_like(node, 0), (*before, node) if before else node), positions)


def join_dims(x: TensorLike, start_axis: int = 0, n_axes: int | None = None) -> Node:
    """`n_axes` neighbouring axes (all that follow for None) as one; 0 axes become a new one of length 1.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    start_axis : int, default 0
        First of the axes to join.
    n_axes : int, optional
        How many are joined; all behind it by default.

    Returns
    -------
    TensorVariable
        The same elements in another shape.

    See Also
    --------
    split_dims : One axis as several.
    reshape : Another shape for the same elements.

    Examples
    --------
    >>> import consilience.tensor as pt
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

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    shape : int or sequence of int
        Lengths of the axes.
    axis : int, default 0
        Axis that is split, counted from the end if negative.

    Returns
    -------
    TensorVariable
        The same elements in another shape.

    See Also
    --------
    reshape : Another shape for the same elements.
    join_dims : `n_axes` neighbouring axes (all that follow for None) as one.

    Examples
    --------
    >>> import consilience.tensor as pt
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

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    shape : sequence or object
        Lengths of the axes.

    Returns
    -------
    TensorVariable
        The same tensor with what is promised of its lengths.

    See Also
    --------
    shape : Lengths of all axes.

    Examples
    --------
    >>> import consilience.tensor as pt
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
    for axis, (have, want) in enumerate(zip(node.static_shape, wanted, strict=True)):
        if isinstance(have, int) and have != want:
            raise ShapeError(f"axis {axis} has length {have}, not {want!r}: {describe(node)}.")
    return broadcast_to(node, wanted)


def specify_broadcastable(x: TensorLike, *axes: int) -> Node:
    """`x` with length 1 promised on the given axes, which then stretch in broadcasting.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    *axes : int
        Axes of length 1.

    Returns
    -------
    TensorVariable
        The same tensor with what is promised of its lengths.

    See Also
    --------
    specify_shape : `x` with lengths that are promised.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.specify_broadcastable(pt.as_tensor([[1.0, 2.0]]), 0).eval().tolist()
    [[1.0, 2.0]]
    """
    node = as_tensor(x)
    ones = normalised_axes(axes, node.ndim)
    return specify_shape(node, [1 if i in ones else None for i in range(node.ndim)])


def broadcast_dynamic(x: TensorLike, axes: Mapping[int, object]) -> Node:
    """`x` with axes broadcast whose length, 1 or that of the result, is known at run time only.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    axes : mapping
        Axis of x -> its length in the result: an integer, a symbolic length or an integer scalar, such as `y.shape[0]`.
        Where x has length 1 its elements are repeated, and derivatives sum over the axis.

    Returns
    -------
    TensorVariable
        A tensor whose axes broadcast.

    Raises
    ------
    ShapeError
        For any other length, at run time where it is not known before.

    See Also
    --------
    broadcast_to : To a known shape.

    Examples
    --------
    >>> import consilience.tensor as pt
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

    Parameters
    ----------
    *arrays : TensorLike
        The arrays, in order.
    arrays_are_shapes : bool, default False
        Whether shapes are given in place of tensors.

    Returns
    -------
    tuple of TensorVariable or int
        A length per axis.

    See Also
    --------
    broadcast_to : `x` repeated to a shape.
    broadcast_arrays : All values at their common broadcast shape.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.broadcast_shape(pt.zeros((2, 1)), pt.zeros((3,)))
    (2, 3)
    """
    nodes = [full(a, 0, "bool") if arrays_are_shapes else as_tensor(a) for a in arrays]
    lengths = common_shape(nodes)[0]
    return tuple(n if isinstance(n, int) else length_of(n) for n in lengths)


def is_flat(var: Node, ndim: int = 1) -> bool:
    """Whether a tensor has rank `ndim`.

    Parameters
    ----------
    var : TensorVariable
        The expression.
    ndim : int, default 1
        Rank.

    Returns
    -------
    bool
        Whether it has.

    See Also
    --------
    get_vector_length : The static length of a vector.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.is_flat(pt.dvector("x"))
    True
    """
    return var.ndim == ndim


def get_vector_length(v: TensorLike) -> int:
    """The static length of a vector.

    Parameters
    ----------
    v : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    int
        The length; ShapeError where it is not known.

    See Also
    --------
    is_flat : Whether a tensor has rank `ndim`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.get_vector_length(pt.zeros((3,)))
    3
    """
    node = as_tensor(v)
    if node.ndim != 1 or isinstance(node.static_shape[0], Dimension):
        raise ShapeError(f"a vector of static length was needed, got {describe(node)}.")
    return node.static_shape[0]


def slice_at_axis(sl: slice, axis: int) -> tuple[object, ...]:
    """An index that takes a slice of one axis and all of the others.

    Parameters
    ----------
    sl : slice
        Slice.
    axis : int
        Axis that is cut, counted from the end if negative.

    Returns
    -------
    tuple
        For `x[...]`.

    See Also
    --------
    take : The elements at `indices` along `axis`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> x = pt.as_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x[pt.slice_at_axis(slice(1, None), axis=-1)].eval().tolist()
    [[2.0, 3.0], [5.0, 6.0]]
    """
    return (slice(None),) * axis + (sl, ...) if axis >= 0 else (..., sl) + (slice(None),) * (-1 - axis)


def diag(v: TensorLike, k: int = 0) -> Node:
    """A square matrix with vector v on diagonal `k` (above the main one if positive), or that diagonal of matrix v.

    Parameters
    ----------
    v : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    k : int, default 0
        Offset of the diagonal; 0 is the main one, positive ones lie above it.

    Returns
    -------
    TensorVariable
        A matrix of a vector, a vector of a matrix.

    See Also
    --------
    block_diag : Matrices along the diagonal of one.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.diag([1.0, 2.0]).eval().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    node = as_tensor(v)
    if node.ndim == 2:
        return diagonal(node, k)
    if node.ndim != 1:
        raise ShapeError(f"`diag` needs a vector or a matrix, got {describe(node)}.")
    if not k:
        return Node(DiagonalMatrix(), node)
    size = node.static_shape[0] + abs(k)
    return index_set(getitem(full((size, size), 0, node.dtype), diagonal_positions(size, size, k)), node)


def extract_diag(x: TensorLike) -> Node:
    """The main diagonals of the matrices over the first two axes.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
        Without the two axes, and with one for the diagonals.

    See Also
    --------
    diag : A diagonal matrix, or the diagonal of one.
    diagonal : Diagonal `offset` of the matrices over two axes.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.extract_diag([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [1.0, 4.0]
    """
    return diagonal(x)


def fill_diagonal(a: TensorLike, val: TensorLike) -> Node:
    """A matrix with one number all along its main diagonal; of higher rank, where all positions are equal.

    Parameters
    ----------
    a : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    val : TensorLike
        Value of the diagonal.

    Returns
    -------
    TensorVariable
        Of the shape of `a`.

    See Also
    --------
    fill_diagonal_offset : Another diagonal than the main one.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.fill_diagonal(pt.zeros((2, 2)), 3.0).eval().tolist()
    [[3.0, 0.0], [0.0, 3.0]]
    """
    return fill_diagonal_offset(a, val, 0)


def fill_diagonal_offset(a: TensorLike, val: TensorLike, offset: Any) -> Node:
    """A matrix with one number all along diagonal `offset` (above the main one if positive), which may be symbolic.

    Parameters
    ----------
    a : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    val : TensorLike
        Value of the diagonal.
    offset : object
        Offset of the diagonal; 0 is the main one, positive ones lie above it.

    Returns
    -------
    TensorVariable
        Of the shape of `a`.

    See Also
    --------
    fill_diagonal : A matrix with one number all along its main diagonal.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.fill_diagonal_offset(pt.zeros((2, 2)), 3.0, 1).eval().tolist()
    [[0.0, 3.0], [0.0, 0.0]]
    """
    node = as_tensor(a)
    offset = offset if isinstance(offset, Node) else operator.index(offset)
    if node.ndim > 2 and isinstance(offset, int) and not offset:
        node = _of_equal_lengths(node)
    if node.ndim != 2 and (node.ndim < 2 or not isinstance(offset, int) or offset):
        raise ShapeError(f"a matrix was needed, or equal lengths for the main diagonal, got {describe(node)}.")
    if not isinstance(offset, int):
        rows, columns = (arange(length_of(n)) for n in node.static_shape)
        on = apply("eq", apply("add", expand_dims(rows, 1), offset), columns)
        return apply("where", on, cast(val, node.dtype), node)
    rows, columns = diagonal_positions(node.static_shape[0], node.static_shape[1], offset)
    return index_set(getitem(node, (rows, columns) + (rows,) * (node.ndim - 2)), val)


def _of_equal_lengths(node: Node) -> Node:
    """A tensor whose lengths are required to be equal, where it is not known that they are."""
    first, *others = node.static_shape
    if len({n for n in node.static_shape if isinstance(n, int)}) > 1:
        raise ShapeError(f"a matrix was needed, or equal lengths for the main diagonal, got {describe(node)}.")
    pairs = tuple(ShapeConstraint(first, n, "the main diagonal has equal lengths") for n in others if n != first)
    return Node(Require(pairs), node) if pairs else node


def tril(m: TensorLike, k: int = 0) -> Node:
    """The matrices of the last two axes on and below diagonal `k`, zeros above it.

    Parameters
    ----------
    m : TensorLike
        Matrix, or a batch of them.
    k : int, default 0
        Offset of the diagonal; 0 is the main one, positive ones lie above it.

    Returns
    -------
    TensorVariable
        Of the shape of `m`.

    See Also
    --------
    triu : The matrices of the last two axes on and above diagonal `k`.
    tri : Ones on and below diagonal `k`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.tril([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """
    node = _matrix(m, "tril")
    return apply("where", _below(node, k), node, as_tensor(0, node.dtype))


def triu(m: TensorLike, k: int = 0) -> Node:
    """The matrices of the last two axes on and above diagonal `k`, zeros below it.

    Parameters
    ----------
    m : TensorLike
        Matrix, or a batch of them.
    k : int, default 0
        Offset of the diagonal; 0 is the main one, positive ones lie above it.

    Returns
    -------
    TensorVariable
        Of the shape of `m`.

    See Also
    --------
    tri : Ones on and below diagonal `k`.
    tril : The matrices of the last two axes on and below diagonal `k`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.triu([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    node = _matrix(m, "triu")
    return apply("where", _below(node, k - 1), as_tensor(0, node.dtype), node)


def _below(node: Node, k: int) -> Node:
    rows, columns = (arange(length_of(n)) for n in node.static_shape[-2:])
    return apply("ge", apply("add", expand_dims(rows, 1), k), columns)


def _matrix(x: TensorLike, name: str) -> Node:
    node = as_tensor(x)
    if node.ndim < 2:
        raise ShapeError(f"`{name}` needs a matrix, got {describe(node)}.")
    return node


def set_subtensor(x: Node, y: TensorLike, inplace: bool = False, tolerate_inplace_aliasing: bool = False) -> Node:
    """PyTensor's name for `a[i].set(y)`; x is `a[i]`. Memory is the compiler's matter: the other two change nothing.

    Parameters
    ----------
    x : TensorVariable
        Tensor, or what becomes one: an array, a number, nested lists.
    y : TensorLike
        What takes the place; it broadcasts to the shape of the part.
    inplace : bool, default False
        Taken for PyTensor's sake and without effect: expressions are never changed.
    tolerate_inplace_aliasing : bool, default False
        Taken for PyTensor's sake and without effect.

    Returns
    -------
    TensorVariable
        The whole tensor with that part changed.

    See Also
    --------
    inc_subtensor : PyTensor's name for `a[i].inc(y)`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.set_subtensor(pt.as_tensor([1.0, 2.0])[0], 5.0).eval().tolist()
    [5.0, 2.0]
    """
    return index_set(x, y)


def inc_subtensor(
    x: Node,
    y: TensorLike,
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    tolerate_inplace_aliasing: bool = False,
    ignore_duplicates: bool = False,
) -> Node:
    """PyTensor's name for `a[i].inc(y)`; x is `a[i]`. With `ignore_duplicates` the last repetition counts.

    Parameters
    ----------
    x : TensorVariable
        Tensor, or what becomes one: an array, a number, nested lists.
    y : TensorLike
        What is added; it broadcasts to the shape of the part.
    inplace : bool, default False
        Taken for PyTensor's sake and without effect: expressions are never changed.
    set_instead_of_inc : bool, default False
        Whether the elements are replaced.
    tolerate_inplace_aliasing : bool, default False
        Taken for PyTensor's sake and without effect.
    ignore_duplicates : bool, default False
        Whether a place that stands twice counts once.

    Returns
    -------
    TensorVariable
        The whole tensor with that part changed.

    See Also
    --------
    set_subtensor : PyTensor's name for `a[i].set(y)`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.inc_subtensor(pt.as_tensor([1.0, 2.0])[0], 5.0).eval().tolist()
    [6.0, 2.0]
    """
    return index_set(x, y) if set_instead_of_inc else index_inc(x, y, ignore_duplicates)


export(globals())
