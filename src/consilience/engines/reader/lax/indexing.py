"""lax's gathers, scatters and dynamic slices as indexing with arrays: operands and axes in, tensors out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.lax.table import LAX
from consilience.engines.reader.rules import Rule
from consilience.ir import constant_value

Join = Callable[[Any, Any], Any]

CLIP, FILL = "CLIP", "FILL_OR_DROP"


@LAX("dynamic_slice")
def _dynamic_slice(x: Any, *starts: Any, slice_sizes: Any, **_: Any) -> Any:
    """A window of fixed lengths, moved inside where it would reach beyond the end."""
    for axis, (start, size) in enumerate(zip(starts, slice_sizes, strict=True)):
        length = x.static_shape[axis]
        if size < length:
            x = pt.take(x, _inside(start, length - size) + np.arange(size), axis=axis)
    return x


@LAX("dynamic_update_slice")
def _dynamic_update_slice(x: Any, update: Any, *starts: Any, **_: Any) -> Any:
    """The same window with other values in it."""
    places = []
    for axis, (start, size) in enumerate(zip(starts, update.static_shape, strict=True)):
        own = _inside(start, x.static_shape[axis] - size) + np.arange(size)
        places.append(pt.reshape(own, [-1 if i == axis else 1 for i in range(x.ndim)]))
    return pt.set_subtensor(x[tuple(places)], update) if places else update


def _inside(start: Any, last: int) -> Any:
    return pt.clip(start.astype("int64"), 0, max(last, 0))


@LAX("gather")
def _gather(
    x: Any, starts: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any, fill_value: Any = None, **_: Any
) -> Any:
    """Windows of an array at places that are told by another."""
    numbers = dimension_numbers
    windowed = [
        d for d in range(x.ndim) if d not in numbers.collapsed_slice_dims and d not in numbers.operand_batching_dims
    ]
    rank = starts.ndim - 1 + len(windowed)
    offsets = list(numbers.offset_dims)
    batch = [d for d in range(rank) if d not in offsets]
    places, valid = _places(
        x.static_shape,
        starts,
        rank,
        batch,
        dict(zip(windowed, offsets, strict=True)),
        list(numbers.start_index_map),
        dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)),
        list(slice_sizes),
        _mode(mode),
    )
    found = x[tuple(places)]
    if valid is None:
        return found
    if fill_value is None:
        kind = np.dtype(x.dtype).kind
        info = np.iinfo(x.dtype) if kind in "iu" else None
        fill_value = np.nan if kind in "fc" else True if info is None else info.min if kind == "i" else info.max
    return pt.where(valid, found, pt.constant(np.asarray(fill_value, x.dtype)))


@LAX("scatter", "scatter-add", "scatter_add", "scatter-sub", "scatter_sub")
def _scatter(
    x: Any,
    starts: Any,
    updates: Any,
    *,
    dimension_numbers: Any,
    mode: Any,
    primitive: str,
    body: Any = None,
    unique_indices: bool = False,
    **_: Any,
) -> Any:
    """An array with windows that are replaced, or added to; those that reach beyond its ends are left out.

    `body`: what stands there and an update in, a new value out, as lists of one (`.at[…].apply`).
    """
    numbers = dimension_numbers
    if body is not None:
        return joined(x, starts, updates, numbers, lambda a, b: body([a], [b])[0], unique_indices, mode)
    inserted = [*numbers.inserted_window_dims, *numbers.operand_batching_dims]
    windowed = [d for d in range(x.ndim) if d not in inserted]
    offsets = list(numbers.update_window_dims)
    batch = [d for d in range(updates.ndim) if d not in offsets]
    places_of = dict(zip(windowed, offsets, strict=True))
    sizes = [updates.static_shape[places_of[d]] if d in places_of else 1 for d in range(x.ndim)]
    places, valid = _places(
        x.static_shape,
        starts,
        updates.ndim,
        batch,
        places_of,
        list(numbers.scatter_dims_to_operand_dims),
        dict(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)),
        sizes,
        _mode(mode),
    )
    replaces = primitive == "scatter"
    if valid is not None and replaces:  # what is left out goes to one place too many, which is cut off again
        axis, length = numbers.scatter_dims_to_operand_dims[0], x.static_shape
        more = [1 if i == axis else n for i, n in enumerate(length)]
        x = pt.concatenate([x, pt.zeros(more, dtype=x.dtype)], axis=axis)
        places[axis] = pt.where(valid, places[axis], length[axis])
        found = pt.set_subtensor(x[tuple(places)], updates)
        return found[tuple(slice(0, n) for n in length)]
    if valid is not None:
        updates = pt.where(valid, updates, pt.zeros_like(updates))
    target = x[tuple(places)]
    if primitive.endswith("sub"):
        updates = -updates
    return pt.set_subtensor(target, updates) if replaces else pt.inc_subtensor(target, updates)


def _joining(function: Rule) -> Rule:
    return lambda x, starts, updates, *, dimension_numbers, mode, unique_indices, **_: joined(
        x, starts, updates, dimension_numbers, function, unique_indices, mode
    )


for _mark in "-_":  # JAX has had both
    _names = {"mul": "mul", "min": "minimum", "max": "maximum"}
    LAX.rows({f"scatter{_mark}{name}": own for name, own in _names.items()}, _joining)


def joined(x: Any, starts: Any, updates: Any, numbers: Any, body: Join, unique: bool, mode: Any) -> Any:
    """An array with windows that are joined with others by a function; one after the other where they may overlap."""
    batching = [int(i) for i in numbers.scatter_indices_batching_dims]
    together = sorted(batching)
    after = [i for i in range(starts.ndim - 1) if i not in together]
    count = int(np.prod([starts.static_shape[i] for i in after], dtype="int64"))
    inside = [int(i) for i in numbers.update_window_dims]
    windows = [updates.static_shape[i] for i in inside]
    if unique or count <= 1 or _apart(x, starts, numbers, windows):
        return _joined(x, starts, updates, numbers, body, mode)
    outside = [i for i in range(updates.ndim) if i not in inside]
    lengths = [starts.static_shape[i] for i in together]
    starts = pt.reshape(
        pt.transpose(starts, (*after, *together, starts.ndim - 1)), (count, *lengths, starts.static_shape[-1])
    )
    order = [*(outside[i] for i in after), *(outside[i] for i in together), *inside]
    updates = pt.reshape(pt.transpose(updates, order), (count, *lengths, *windows))
    one = SimpleNamespace(
        update_window_dims=list(range(len(lengths), len(lengths) + len(windows))),
        inserted_window_dims=numbers.inserted_window_dims, operand_batching_dims=numbers.operand_batching_dims,
        scatter_dims_to_operand_dims=numbers.scatter_dims_to_operand_dims,
        scatter_indices_batching_dims=[together.index(i) for i in batching],
    )  # fmt: skip
    steps = pt.scan(
        lambda start, update, last: _joined(last, start, update, one, body, mode), [starts, updates], [x],
        return_updates=False,
    )  # fmt: skip
    return steps[-1]


def _apart(x: Any, starts: Any, numbers: Any, windows: Sequence[int]) -> bool:
    """Whether windows are known to stand at different places, and are single elements where places are counted."""
    known = constant_value(starts)
    if known is None or numbers.operand_batching_dims:
        return False
    windowed = [d for d in range(x.ndim) if d not in numbers.inserted_window_dims]
    counted = numbers.scatter_dims_to_operand_dims
    if any(n > 1 and d in counted for d, n in zip(windowed, windows, strict=True)):
        return False
    rows = np.reshape(known, (-1, known.shape[-1]))
    lengths = [x.static_shape[d] for d in counted]
    rows = np.clip(rows, 0, np.array(lengths) - 1)  # as some modes do
    return len(np.unique(rows, axis=0)) == len(rows)


def _joined(x: Any, starts: Any, updates: Any, numbers: Any, body: Join, mode: Any) -> Any:
    """Windows at places that differ from each other: what stands there is read, joined and put back."""
    sizes = [1] * x.ndim
    inserted = [*numbers.inserted_window_dims, *numbers.operand_batching_dims]
    windowed = [d for d in range(x.ndim) if d not in inserted]
    for axis, place in zip(windowed, numbers.update_window_dims, strict=True):
        sizes[axis] = updates.static_shape[place]
    reading = SimpleNamespace(
        offset_dims=numbers.update_window_dims, collapsed_slice_dims=numbers.inserted_window_dims,
        operand_batching_dims=numbers.operand_batching_dims,
        start_indices_batching_dims=numbers.scatter_indices_batching_dims,
        start_index_map=numbers.scatter_dims_to_operand_dims,
    )  # fmt: skip
    there = _gather(x, starts, dimension_numbers=reading, slice_sizes=sizes, mode=CLIP)
    return _scatter(x, starts, body(there, updates), dimension_numbers=numbers, mode=mode, primitive="scatter")


def _mode(mode: Any) -> str:
    return str(getattr(mode, "name", mode))


def _places(
    shape: Sequence[int],
    starts: Any,
    rank: int,
    batch: Sequence[int],
    offsets: dict[int, int],
    mapped: Sequence[int],
    batching: dict[int, int],
    sizes: Sequence[int],
    mode: str,
) -> tuple[list[Any], Any]:
    """One index array per axis of the operand, all of one rank, and where all of them are valid (None: everywhere).

    `shape`: of the operand.
    `starts`: int[batch axes …, number of mapped axes].
    `rank`: of the result, or of the updates.
    `batch`: its axes that are those of `starts`, in order.
    `offsets`: axis of the operand -> axis of the result that its window runs along.
    `mapped`: axes of the operand that the last axis of `starts` counts.
    `batching`: axis of the operand -> axis of `starts` that it runs together with.
    """
    lead = starts.static_shape[:-1]
    starts = starts.astype("int64")

    def spread(values: Any, axes: Sequence[int]) -> Any:
        """An array whose axes become some of the result's."""
        full = [1] * rank
        for n, axis in zip(values.static_shape if hasattr(values, "static_shape") else values.shape, axes, strict=True):
            full[axis] = n
        return pt.reshape(values, tuple(full)) if hasattr(values, "static_shape") else values.reshape(full)

    places: list[Any] = []
    valid: Any = None
    for axis, length in enumerate(shape):
        place: Any = np.zeros((1,) * rank, "int64")
        if axis in mapped:
            start = spread(starts[..., mapped.index(axis)], batch)
            last = length - sizes[axis]
            if mode == FILL:
                inside = pt.and_(pt.ge(start, 0), pt.le(start, last))
                valid = inside if valid is None else pt.and_(valid, inside)
            place = pt.clip(start, 0, max(last, 0))
        if axis in batching:
            place = place + spread(np.arange(lead[batching[axis]]), [batch[batching[axis]]])
        if axis in offsets and sizes[axis] > 1:
            place = place + spread(np.arange(sizes[axis]), [offsets[axis]])
        places.append(place)
    return places, valid
