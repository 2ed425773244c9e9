"""Tensors with elements added at both ends of their axes, in NumPy's modes: constants, copies, ramps, statistics.

In: a tensor and numbers of elements. Out: joined or gathered parts, axis by axis.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from consilience.errors import ShapeError
from consilience.ir import Dim, Node, constant_value
from consilience.ir.side_tables import describe
from consilience.ir.types import FLOATS, INTEGERS
from consilience.ops import reductions
from consilience.ops.arrangement import take
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.index import getitem
from consilience.ops.shape import arange, as_length, broadcast_to, concatenate, expand_dims, full, length_of
from consilience.tensor.grids import linspace
from consilience.tensor.quantiles import median

_STATISTICS: Final[dict[str, Callable[..., Node]]] = {
    "maximum": reductions.max, "minimum": reductions.min, "mean": reductions.mean, "median": median,
}  # fmt: skip
_COPIES: Final = ("edge", "wrap", "reflect", "symmetric")
_MODES: Final = ("constant", "empty", "linear_ramp", *_COPIES, *_STATISTICS)


def pad(
    x: TensorLike,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Node:
    """`x` with elements added at both ends of its axes.

    x : ...
    pad_width: How many: a number, (before, after), or such a pair per axis.
    mode: "constant" and "linear_ramp", which ends in `end_values`; copies of elements: "edge", "wrap" around, "reflect"
        at the end element or "symmetric" beside it; "maximum", "minimum", "mean" and "median" of an axis; "empty" for
        zeros.
    constant_values, end_values: In the forms of `pad_width`.
    stat_length: How many elements at each end are looked at for a statistic, in the forms of `pad_width`; None all.
    reflect_type: "even", or "odd" for twice the end element minus the copies.
    Returns: Longer along the axes that are padded.
    See tile: The whole tensor `reps` times along each axis.
    See repeat: Every element `repeats` times in a row along `axis`.
    >>> pt.pad([1.0, 2.0], 1).eval().tolist()
    [0.0, 1.0, 2.0, 0.0]
    """
    node = as_tensor(x)
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(_MODES)}; got {mode!r}.")
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"reflect_type must be 'even' or 'odd', got {reflect_type!r}.")
    widths = _per_axis(pad_width, node.ndim, "pad_width", 0)
    constants, ends = (_per_axis(v, node.ndim) for v in (constant_values, end_values))
    lengths = None if stat_length is None else _per_axis(stat_length, node.ndim, "stat_length", 1)
    for axis, (before, after) in enumerate(tuple(map(as_length, pair)) for pair in widths):
        if (before, after) == (0, 0):
            continue
        if node.static_shape[axis] == 0 and mode not in ("constant", "empty"):
            raise ShapeError(f"the empty axis {axis} of {describe(node)} has no elements for mode {mode!r}.")
        if mode in _COPIES:
            node = _with_copies(node, axis, before, after, mode, odd=reflect_type == "odd")
        elif mode == "linear_ramp":
            node = _joined(node, axis, (before, after), functools.partial(_ramp, ends=ends[axis]))
        elif mode in _STATISTICS:
            own = None if lengths is None else lengths[axis]
            node = _joined(node, axis, (before, after), functools.partial(_statistic, kind=mode, lengths=own))
        else:
            values: Sequence[TensorLike] = (0, 0) if mode == "empty" else constants[axis]
            node = _joined(node, axis, (before, after), functools.partial(_constant, values=values))
    return node


def _per_axis(value: Any, rank: int, name: str = "", least: int | None = None) -> list[list[Any]]:
    """A pair per axis: of numbers where they are known, else of tensors. Known ones below `least` are refused."""
    node = as_tensor(value)
    known = constant_value(node)
    if known is None:
        pairs = broadcast_to(node, (rank, 2))
        return [[getitem(pairs, (axis, end)) for end in (0, 1)] for axis in range(rank)]
    if least is not None and (known < least).any():
        raise ValueError(f"{name} must be >= {least}, got {known.tolist()}.")
    result: list[list[Any]] = np.broadcast_to(known, (rank, 2)).tolist()
    return result


def _joined(node: Node, axis: int, widths: tuple[Dim, Dim], part: Callable[[Node, int, int, Dim], Node]) -> Node:
    """The tensor between two parts; `part` takes it, the axis, the end (0 or 1) and a width."""
    before, after = (part(node, axis, end, width) for end, width in enumerate(widths))
    return concatenate([before, node, after], axis)


def _constant(node: Node, axis: int, end: int, width: Dim, values: Sequence[TensorLike]) -> Node:
    return full((*node.static_shape[:axis], width, *node.static_shape[axis + 1 :]), values[end], node.dtype)


def _ramp(node: Node, axis: int, end: int, width: Dim, ends: list[Any]) -> Node:
    """Evenly spaced numbers from the end value to the element at the end, without that element."""
    edge = getitem(node, (*[slice(None)] * axis, -1 if end else 0))
    numbers = linspace(ends[end], edge, length_of(width), endpoint=False, dtype=node.dtype, axis=axis)
    assert isinstance(numbers, Node)
    return getitem(numbers, (*[slice(None)] * axis, slice(None, None, -1 if end else 1)))


def _statistic(node: Node, axis: int, end: int, width: Dim, kind: str, lengths: list[Any] | None) -> Node:
    """A statistic of the elements at an end, as often as asked; integers are rounded."""
    part = node
    if lengths is not None:
        length = length_of(node.static_shape[axis])
        chosen = apply("minimum", lengths[end], length)
        bounds = slice(apply("sub", length, chosen), None) if end else slice(None, chosen)
        part = getitem(node, (*[slice(None)] * axis, bounds))
    value = _STATISTICS[kind](part, axis, keepdims=True)
    if node.dtype in INTEGERS and value.dtype in FLOATS:
        value = apply("round", value)
    return broadcast_to(cast(value, node.dtype), (*node.static_shape[:axis], width, *node.static_shape[axis + 1 :]))


def _with_copies(node: Node, axis: int, before: Dim, after: Dim, mode: str, *, odd: bool) -> Node:
    """Elements at places outside the axis are those at places inside, again and again."""
    count = length_of(node.static_shape[axis])
    last = apply("sub", count, 1)
    places = apply("sub", arange(length_of(before + node.static_shape[axis] + after)), length_of(before))
    if mode == "edge":
        return take(node, apply("minimum", apply("maximum", places, 0), last), axis)
    if mode == "wrap":
        return take(node, apply("mod", places, count), axis)
    turn = last if mode == "reflect" else count  # places from one reflection to the next
    period = apply("maximum", apply("mul", turn, 2), 1)
    within = apply("mod", places, period)
    mirrored = apply("sub", apply("sub", period, within), 0 if mode == "reflect" else 1)
    back = apply("gt", within, last)
    read = take(node, apply("minimum", apply("where", back, mirrored, within), last), axis)
    if not odd:
        return read
    first, end = (expand_dims(getitem(node, (*[slice(None)] * axis, i)), axis) for i in (0, -1))
    aligned = tuple(range(1, node.ndim - axis))
    back = expand_dims(back, aligned)
    # Each full turn adds twice the way from the first to the last element.
    turns = cast(expand_dims(apply("floor_div", places, period), aligned), node.dtype)
    drift = apply("mul", apply("mul", turns, 2), apply("sub", end, first))
    return cast(apply("add", apply("where", back, apply("sub", apply("mul", end, 2), read), read), drift), node.dtype)
