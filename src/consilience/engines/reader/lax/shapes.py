"""lax's operations on shapes: operands and parameters in, tensors out."""

from __future__ import annotations

from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader import axes
from consilience.engines.reader.lax.table import LAX
from consilience.engines.reader.rules import taking
from consilience.errors import MissingRuleError


@LAX("broadcast_in_dim")
def _broadcast_in_dim(x: Any, *lengths: Any, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    """Axes of the operand at some places of a longer shape."""
    _no_dynamic(lengths)
    places = {int(place): axis for axis, place in enumerate(broadcast_dimensions)}
    own = tuple(x.static_shape[places[i]] if i in places else 1 for i in range(len(shape)))
    return pt.broadcast_to(pt.reshape(x, own), tuple(shape))


@LAX("reshape")
def _reshape(x: Any, *lengths: Any, new_sizes: Any, dimensions: Any, **_: Any) -> Any:
    _no_dynamic(lengths)
    moved = x if dimensions is None else pt.transpose(x, tuple(dimensions))
    return pt.reshape(moved, tuple(new_sizes))


LAX.rows("transpose", taking("permutation"))
LAX.rows("squeeze expand_dims", taking("dimensions"))
LAX.rows("tile", taking("reps"))
LAX.rows("stack", lambda own: lambda *parts, axis, **_: own(parts, axis))
LAX.rows("concatenate", lambda own: lambda *parts, dimension, **_: own(parts, dimension))
LAX("rev")(taking("dimensions")(axes.backwards))
LAX("split")(taking("sizes", "axis")(axes.parts))
LAX("unstack")(taking("axis")(axes.entries))


@LAX("slice")
def _slice(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> Any:
    steps = strides or (1,) * x.ndim
    return x[tuple(slice(*part) for part in zip(start_indices, limit_indices, steps, strict=True))]


@LAX("pad")
def _pad(x: Any, value: Any, *, padding_config: Any, **_: Any) -> Any:
    """Values before, behind and between; negative numbers cut off."""
    shape = x.static_shape
    cut = tuple(slice(max(-low, 0), n - max(-high, 0)) for n, (low, high, _) in zip(shape, padding_config, strict=True))
    if any(inner and (low < 0 or high < 0) for low, high, inner in padding_config):
        raise MissingRuleError("padding with both values in between and elements cut off has no translation.")
    x = x[cut]
    full, places = [], []
    for n, (low, high, inner) in zip(x.static_shape, padding_config, strict=True):
        spread = n + max(n - 1, 0) * inner
        full.append(max(low, 0) + spread + max(high, 0))
        places.append(slice(max(low, 0), max(low, 0) + spread, inner + 1))
    return pt.set_subtensor(pt.broadcast_to(value, tuple(full))[tuple(places)], x)


@LAX("empty", "empty2")
def _empty(*, shape: Any, dtype: Any, **_: Any) -> Any:
    """What may hold anything."""
    return pt.zeros(tuple(shape), dtype=str(np.dtype(dtype)))


@LAX("iota")
def _iota(*lengths: Any, dtype: Any, shape: Any, dimension: int, **_: Any) -> Any:
    """Whole numbers along one axis."""
    _no_dynamic(lengths)
    own = np.arange(shape[dimension]).astype(np.dtype(dtype))
    return pt.constant(np.broadcast_to(own.reshape([-1 if i == dimension else 1 for i in range(len(shape))]), shape))


def _no_dynamic(lengths: tuple[Any, ...]) -> None:
    if lengths:
        raise MissingRuleError("a shape depends on values, and has no translation.")
