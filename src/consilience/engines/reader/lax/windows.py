"""lax's reductions of axes and windows by bodies of their own, and convolutions: operands and numbers in, tensors out.

A body of two values is given as a function of whole arrays, and is associative, as JAX and StableHLO say of theirs.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.axes import at, backwards
from consilience.engines.reader.lax.table import LAX, lax
from consilience.engines.reader.rules import Tensors
from consilience.ir import constant_value

Body = Callable[[Tensors, Tensors], Tensors]
Layout = Sequence[tuple[int, int, Sequence[int]]]

# StableHLO's operation -> JAX's primitive of a whole axis, primitive of all beginnings of an axis.
_KNOWN: Final = {
    "add": ("reduce_sum", "cumsum"), "multiply": ("reduce_prod", "cumprod"), "maximum": ("reduce_max", "cummax"),
    "minimum": ("reduce_min", "cummin"),
}  # fmt: skip
_OF_BOOLS: Final = {
    "add": "reduce_or", "or": "reduce_or", "maximum": "reduce_or", "and": "reduce_and", "multiply": "reduce_and",
    "minimum": "reduce_and",
}  # fmt: skip


def _neutral(name: str, dtype: str) -> Any:
    """What changes nothing under an operation."""
    kind = np.dtype(dtype).kind
    if name in ("maximum", "minimum"):
        if kind == "b":
            return name == "minimum"
        low, high = (-np.inf, np.inf) if kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return low if name == "maximum" else high
    return {"add": 0, "multiply": 1, "or": 0, "and": 1}[name]


def _is_neutral(value: Any, name: str) -> bool:
    known = constant_value(value)
    return known is not None and bool(np.all(known == _neutral(name, value.dtype)))


def taken_together(name: str | None, body: Body, values: Tensors, starts: Tensors, axes: Sequence[int]) -> Tensors:
    """Values along axes taken together with an initial one.

    `name`: of the operation that the body consists of, where it is one.
    """
    lengths = [values[0].static_shape[a] for a in axes]
    shape = [n for a, n in enumerate(values[0].static_shape) if a not in axes]
    if 0 in lengths:
        return [pt.broadcast_to(start, shape) for start in starts]
    primitive = None
    if len(values) == 1 and name is not None:
        primitive = _OF_BOOLS.get(name) if values[0].dtype == "bool" else _KNOWN.get(name, (None, None))[0]
    if name is not None and primitive is not None and axes:
        found = lax(primitive, values[0], axes=axes).astype(values[0].dtype)
        return [found] if _is_neutral(starts[0], name) else body(starts, [found])
    rest = [a for a in range(values[0].ndim) if a not in axes]  # without axes to reduce there is one element each
    front = [pt.reshape(pt.transpose(v, (*axes, *rest)), (int(np.prod(lengths)), *shape)) for v in values]
    return body([pt.broadcast_to(s, shape) for s in starts], _by_pairs(body, front))


def _by_pairs(body: Body, values: Tensors) -> Tensors:
    """Elements along the first axis taken together, neighbours first: bodies are associative."""
    while (n := values[0].static_shape[0]) > 1:
        even = n // 2 * 2
        left, right = [v[0:even:2] for v in values], [v[1:even:2] for v in values]
        found = body(left, right)
        values = [pt.concatenate([f, v[even:]], axis=0) for f, v in zip(found, values, strict=True)] if n % 2 else found
    return [v[0] for v in values]


def taken_by_windows(
    name: str | None,
    body: Body,
    values: Tensors,
    starts: Tensors,
    sizes: Sequence[int],
    strides: Sequence[int],
    spread: Sequence[int],
    inner: Sequence[int],
    padding: Any,
) -> Tensors:
    """Windows taken together, one axis after the other; those that hold all that comes before are cumulative sums.

    `sizes`, `strides`, `spread`: of windows: their lengths, the steps between them and between their elements. `inner`:
    of operands: the steps between their elements, and what comes before and behind. `padding`: of operands: the steps
    between their elements, and what comes before and behind.
    """
    rank = values[0].ndim
    wide = [a for a in range(rank) if sizes[a] > 1]
    if len(wide) == 1 and all(n == 1 for n in (*strides, *spread, *inner)):
        found = _beginnings(name, body, values, starts, wide[0], sizes[wide[0]], np.asarray(padding))
        if found is not None:
            return found
    config = [(int(low), int(high), inner[a] - 1) for a, (low, high) in enumerate(padding)]
    values = [lax("pad", v, s, padding_config=config) for v, s in zip(values, starts, strict=True)]
    for axis in range(rank):
        reach = (sizes[axis] - 1) * spread[axis]
        count = max(0, (values[0].static_shape[axis] - reach - 1) // strides[axis] + 1)

        def window(k: int, a: int = axis, n: int = count, whole: Tensors = values) -> Tensors:
            first = k * spread[a]
            part = at(a, slice(first, first + (n - 1) * strides[a] + 1 if n else first, strides[a]))
            return [v[part] for v in whole]

        parts = [window(k) for k in range(sizes[axis])]
        while len(parts) > 1:
            pairs = [body(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = [*pairs, parts[-1]] if len(parts) % 2 else pairs
        values = parts[0]
    if name is not None and name in _OF_BOOLS and all(_is_neutral(s, name) for s in starts):
        return values
    return body([pt.broadcast_to(s, v.static_shape) for s, v in zip(starts, values, strict=True)], values)


def _beginnings(
    name: str | None, body: Body, values: Tensors, starts: Tensors, axis: int, size: int, padding: Any
) -> Tensors | None:
    """All beginnings of an axis, or all ends of it, taken together; None for other windows."""
    length = values[0].static_shape[axis]
    others = np.delete(padding, axis, 0)
    if size != length or others.any() or sorted(padding[axis]) != [0, length - 1]:
        return None
    reverse = bool(padding[axis][1])
    if name in _KNOWN and values[0].dtype != "bool" and _is_neutral(starts[0], name):
        return [lax(_KNOWN[name][1], values[0], axis=axis, reverse=reverse).astype(values[0].dtype)]
    front = [pt.moveaxis(v, axis, 0) for v in values]
    front = [v[::-1] for v in front] if reverse else front
    step = 1
    while step < length:
        early, late = [v[:-step] for v in front], [v[step:] for v in front]
        moved = body(late, early) if reverse else body(early, late)
        front = [pt.concatenate([v[:step], m], axis=0) for v, m in zip(front, moved, strict=True)]
        step *= 2
    front = body([pt.broadcast_to(s, v.static_shape) for s, v in zip(starts, front, strict=True)], front)
    return [pt.moveaxis(v[::-1] if reverse else v, 0, axis) for v in front]


# ---- convolutions


def convolved(
    x: Any,
    kernel: Any,
    layout: Layout,
    strides: Sequence[int],
    padding: Any,
    inner: Sequence[int],
    spread: Sequence[int],
    turned: Any,
    groups: int,
    batches: int,
) -> Any:
    """Sums of products of a kernel with windows: these are read by index arrays, and one product does the rest.

    `layout`: of operand, kernel and result: which axis is the batch (or output feature), the feature, and the places.
    `inner`: steps between the elements of the operand, with zeros between them.
    `spread`: the same of the kernel.
    `turned`: whether the kernel is read backwards, by axis.
    `groups`: of features, or `batches` groups of the batch.
    """
    (batch, feature, places), (out, within, own), (out_batch, out_feature, out_places) = layout
    rank = len(places)
    x, kernel = pt.transpose(x, (batch, feature, *places)), pt.transpose(kernel, (out, within, *own))
    kernel = backwards(kernel, [axis for axis, turn in enumerate(turned, 2) if turn]) if any(turned) else kernel
    config = [(0, 0, 0), (0, 0, 0), *((int(a), int(b), n - 1) for (a, b), n in zip(padding, inner, strict=True))]
    x = lax("pad", x, pt.zeros((), dtype=x.dtype), padding_config=config)
    found: list[Any] = []
    for axis in range(rank):
        size, length = kernel.static_shape[2 + axis], x.static_shape[2 + axis]
        count = max(0, (length - (size - 1) * spread[axis] - 1) // strides[axis] + 1)
        own_places = np.arange(count)[:, None] * strides[axis] + np.arange(size) * spread[axis]
        found.append(own_places.reshape([*([1] * 2 * axis), count, size, *([1] * 2 * (rank - 1 - axis))]))
    patches = x[(slice(None), slice(None), *found)]  # batch, feature, then place and kernel place per axis
    n, features = patches.static_shape[:2]
    if batches > 1:  # the batch holds the groups
        n, groups = n // batches, batches
        patches = pt.moveaxis(pt.reshape(patches, (groups, n, *patches.static_shape[1:])), 0, 1)
    else:
        patches = pt.reshape(patches, (n, groups, features // groups, *patches.static_shape[2:]))
    outs = kernel.static_shape[0]
    kernel = pt.reshape(kernel, (groups, outs // groups, *kernel.static_shape[1:]))
    letters = iter(string.ascii_lowercase)
    b, g, f, o = (next(letters) for _ in range(4))
    pairs = [(next(letters), next(letters)) for _ in range(rank)]
    left = b + g + f + "".join(a + k for a, k in pairs)
    made = pt.einsum(
        f"{left},{g}{o}{f}{''.join(k for _, k in pairs)}->{b}{g}{o}{''.join(a for a, _ in pairs)}", patches, kernel
    )
    made = pt.reshape(made, (n, outs, *made.static_shape[3:]))
    order = [out_batch, out_feature, *out_places]
    return pt.transpose(made, tuple(order.index(i) for i in range(rank + 2)))


# ---- rules


@LAX("conv_general_dilated")
def _convolution(
    x: Any,
    kernel: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any = None,
    **_: Any,
) -> Any:
    if preferred_element_type is not None:
        x, kernel = (v.astype(str(np.dtype(preferred_element_type))) for v in (x, kernel))
    layout = [(first, second, places) for first, second, *places in dimension_numbers]
    return convolved(
        x, kernel, layout, window_strides, padding, lhs_dilation, rhs_dilation, (), feature_group_count,
        batch_group_count,
    )  # fmt: skip


@LAX("reduce")
def _reduce(*operands: Any, dimensions: Any, body: Body, name: str | None = None, **_: Any) -> Tensors:
    half = len(operands) // 2
    return taken_together(name, body, list(operands[:half]), list(operands[half:]), [int(a) for a in dimensions])


@LAX("reduce_window")
def _reduce_window(
    *operands: Any,
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
    base_dilation: Any,
    window_dilation: Any,
    body: Body,
    name: str | None = None,
    **_: Any,
) -> Tensors:
    half = len(operands) // 2
    return taken_by_windows(
        name, body, list(operands[:half]), list(operands[half:]), window_dimensions, window_strides, window_dilation,
        base_dilation, padding,
    )  # fmt: skip


@LAX("reduce_window_sum", "reduce_window_max", "reduce_window_min")
def _known_window(x: Any, *, primitive: str, **parameters: Any) -> Tensors:
    name, function = {
        "reduce_window_sum": ("add", pt.add),
        "reduce_window_max": ("maximum", pt.maximum),
        "reduce_window_min": ("minimum", pt.minimum),
    }[primitive]
    start = pt.constant(np.asarray(_neutral(name, x.dtype), x.dtype))
    found: Tensors = _reduce_window(x, start, body=lambda a, b: [function(a[0], b[0])], name=name, **parameters)
    return found
