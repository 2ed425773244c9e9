"""PyTorch's products, factorisations, layers and indexing: operands of an ATen op in, tensors of ours out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.axes import at, ordered
from consilience.engines.reader.rules import Rule
from consilience.engines.torch.read.ops import RULES, axes
from consilience.errors import MissingRuleError

RULES.rows(dict.fromkeys(("mm", "bmm", "matmul", "mv", "dot"), "matmul"))


@RULES("addmm", "addmv", "baddbmm")
def _sum_and_product(c: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    product = pt.matmul(x, y)
    product = product if alpha == 1 else alpha * product
    return product if beta == 0 else (c if beta == 1 else beta * c) + product


@RULES("linear")
def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    product = pt.matmul(x, weight.T)
    return product if bias is None else product + bias


@RULES("diagonal")
def _diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return pt.diagonal(x, offset=offset, axis1=dim1 % x.ndim, axis2=dim2 % x.ndim)


def _triangle(x: Any, diagonal: int) -> Any:
    """Where the triangle is that ends on a diagonal."""
    rows, columns = x.static_shape[-2:]
    return np.tri(rows, columns, diagonal, dtype=bool)


@RULES("tril")
def _tril(x: Any, diagonal: int = 0) -> Any:
    return pt.where(_triangle(x, diagonal), x, 0)


@RULES("triu")
def _triu(x: Any, diagonal: int = 0) -> Any:
    return pt.where(~_triangle(x, diagonal - 1), x, 0)


# ---- layers


def _along(function: Rule) -> Rule:
    return lambda x, dim, *_: function(x, axis=dim % x.ndim)


RULES.rows({"_softmax": "special.softmax", "softmax": "special.softmax"}, _along)
RULES.rows({"_log_softmax": "special.log_softmax", "log_softmax": "special.log_softmax"}, _along)


@RULES("native_layer_norm")
def _layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """The normalised layer, the means and the reciprocal scales."""
    found, mean, scale = _normalised(x, tuple(range(x.ndim - len(shape), x.ndim)), eps)
    return [_scaled(found, weight, bias), mean, scale]


def _normalised(x: Any, own: Any, eps: float) -> tuple[Any, Any, Any]:
    """An array with mean 0 and variance 1 along some axes, the means and the reciprocal scales."""
    mean = pt.mean(x, axis=own, keepdims=True)
    scale = 1.0 / pt.sqrt(pt.mean((x - mean) ** 2, axis=own, keepdims=True) + eps)
    return (x - mean) * scale, mean, scale


def _scaled(x: Any, weight: Any, bias: Any) -> Any:
    """Times a weight plus a bias, where there are any."""
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _of_channels(x: Any, *values: Any) -> list[Any]:
    """Values by channel, the second axis, with axes of length 1 for those behind; None stays."""
    behind = (slice(None), *[None] * (x.ndim - 2))
    return [None if v is None else v[behind] for v in values]


@RULES("_native_batch_norm_legit_no_training")
def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float) -> Any:
    """By the averages that the module keeps."""
    weight, bias, mean, variance = _of_channels(x, weight, bias, mean, variance)
    empty = pt.constant(np.zeros(0, x.dtype))
    return [_scaled((x - mean) / pt.sqrt(variance + eps), weight, bias), empty, empty]


# ---- indexing


@RULES("embedding")
def _embedding(weight: Any, places: Any, *_: Any) -> Any:
    return weight[places]


@RULES("index", "_unsafe_index")
def _index(x: Any, places: Any) -> Any:
    """By arrays of places on some axes; masks have a length that depends on values."""
    if any(p is not None and p.dtype == "bool" for p in places):
        raise MissingRuleError(
            "a length that depends on the values of a mask has no translation; `torch.where` keeps the shape."
        )
    return x[tuple(slice(None) if p is None else p for p in places)]


@RULES("gather")
def _gather(x: Any, dim: int, places: Any, **_: Any) -> Any:
    """Other axes of `places` may be shorter than those of `x`."""
    dim = dim % x.ndim
    own = tuple(slice(None) if i == dim else slice(0, n) for i, n in enumerate(places.static_shape))
    return pt.take_along_axis(x[own], places, axis=dim)


@RULES("index_select")
def _index_select(x: Any, dim: int, places: Any) -> Any:
    return pt.take(x, places, axis=dim % x.ndim)


@RULES("slice_scatter")
def _slice_scatter(x: Any, part: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """A copy with other values along a slice."""
    return pt.set_subtensor(x[at(dim % x.ndim, slice(start, end, step))], part)


@RULES("select_scatter")
def _select_scatter(x: Any, part: Any, dim: int, index: int) -> Any:
    return pt.set_subtensor(x[at(dim % x.ndim, index)], part)


@RULES("index_put")
def _index_put(x: Any, places: Any, values: Any, accumulate: bool = False) -> Any:
    change = pt.inc_subtensor if accumulate else pt.set_subtensor
    return change(_index(x, places), values)


@RULES("sort")
def _sort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    order = ordered(x, dim % x.ndim, descending)
    return [pt.take_along_axis(x, order, axis=dim), order]


@RULES("topk")
def _topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    values, order = _sort(x, dim, largest)
    kept = at(dim % x.ndim, slice(0, k))
    return [values[kept], order[kept]]


@RULES("median")
def _median(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower one of two in the middle."""
    if dim is None:
        return pt.sort(pt.flatten(x))[(x.size - 1) // 2]
    order = pt.argsort(x, axis=dim, stable=True)
    place = (x.static_shape[dim] - 1) // 2
    place_of = pt.take(order, np.array([place]), axis=dim % x.ndim)
    values = pt.take_along_axis(x, place_of, axis=dim)
    return [v if keepdim else pt.squeeze(v, axis=dim) for v in (values, place_of)]


@RULES("searchsorted")
def _searchsorted(ordered: Any, x: Any, *, right: bool = False, side: Any = None, **_: Any) -> Any:
    if ordered.ndim != 1:
        raise MissingRuleError("PyTorch's `searchsorted` in a batch of sequences has no translation.")
    return pt.searchsorted(ordered, x, side="right" if right or side == "right" else "left")


@RULES("bucketize")
def _bucketize(x: Any, ordered: Any, *, right: bool = False, **_: Any) -> Any:
    return _searchsorted(ordered, x, right=right)


def _scattered(x: Any, dim: int, places: Any, source: Any, change: Any) -> Any:
    """Other axes of `places` may be shorter than those of `x` and of the source."""
    dim, own = dim % x.ndim, places.static_shape
    index = [
        places if i == dim else np.arange(n).reshape([-1 if i == j else 1 for j in range(x.ndim)])
        for i, n in enumerate(own)
    ]
    part = source[tuple(slice(0, n) for n in own)] if getattr(source, "ndim", 0) else source
    return change(x[tuple(index)], part)


@RULES("scatter")
def _scatter(x: Any, dim: int, places: Any, source: Any, **keywords: Any) -> Any:
    if keywords:
        raise MissingRuleError("PyTorch's `scatter` with `reduce=` has no translation.")
    return _scattered(x, dim, places, source, pt.set_subtensor)


@RULES("scatter_add")
def _scatter_add(x: Any, dim: int, places: Any, source: Any) -> Any:
    return _scattered(x, dim, places, source, pt.inc_subtensor)


@RULES("tril_indices")
def _lower_indices(rows: int, columns: int, offset: int = 0, **_: Any) -> Any:
    return pt.constant(np.array(np.tril_indices(rows, offset, columns)))


@RULES("triu_indices")
def _upper_indices(rows: int, columns: int, offset: int = 0, **_: Any) -> Any:
    return pt.constant(np.array(np.triu_indices(rows, offset, columns)))


@RULES("_cdist_forward")
def _distances(x: Any, y: Any, p: float, *_: Any) -> Any:
    return _vector_norm(x[..., :, None, :] - y[..., None, :, :], p, [-1])


@RULES("_trilinear")
def _trilinear(x: Any, y: Any, z: Any, left: Any, middle: Any, right: Any, summed: Any, *_: Any) -> Any:
    """A product of three, each with new axes, summed over some."""
    widened = [pt.expand_dims(v, tuple(places)) for v, places in ((x, left), (y, middle), (z, right))]
    return pt.sum(widened[0] * widened[1] * widened[2], axis=tuple(summed))


@RULES("logcumsumexp")
def _logcumsumexp(x: Any, dim: int) -> Any:
    """Each over all before it at once: no difference of great numbers is taken."""
    moved = pt.moveaxis(x, dim, -1)
    n = moved.static_shape[-1]
    kept = pt.constant(np.tril(np.ones((n, n), bool)))
    return pt.moveaxis(pt.logsumexp(pt.where(kept, moved[..., None, :], -np.inf), axis=-1), -1, dim)


@RULES("native_group_norm")
def _group_norm(x: Any, weight: Any, bias: Any, n: int, channels: int, rest: int, groups: int, eps: float) -> Any:
    found, mean, scale = _normalised(pt.reshape(x, (n, groups, -1)), -1, eps)
    found = pt.reshape(found, x.static_shape)
    return [_scaled(found, *_of_channels(x, weight, bias)), mean[..., 0], scale[..., 0]]


@RULES("_native_batch_norm_legit")
def _batch_statistics_norm(x: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    """By the mean and variance of the batch itself, without running ones."""
    if len(rest) != 3:
        raise MissingRuleError("batch norm that writes running averages has no translation; call `.eval()`.")
    found, mean, scale = _normalised(x, (0, *range(2, x.ndim)), rest[2])
    return [_scaled(found, *_of_channels(x, weight, bias)), pt.flatten(mean), pt.flatten(scale)]


# ---- losses

_MEAN, _TOTAL = 1, 2


def _reduced(x: Any, reduction: int) -> Any:
    return pt.mean(x) if reduction == _MEAN else pt.sum(x) if reduction == _TOTAL else x


@RULES("mse_loss")
def _mse_loss(x: Any, y: Any, reduction: int = _MEAN) -> Any:
    return _reduced((x - y) ** 2, reduction)


@RULES("nll_loss_forward", "nll_loss2d_forward")
def _nll_loss(x: Any, target: Any, weight: Any, reduction: int, ignored: int) -> Any:
    """Weighted negative entries of the target's class, and the weight of all."""
    axis = min(1, x.ndim - 1)
    kept = pt.neq(target, ignored)
    places = pt.where(kept, target, 0)
    chosen = pt.squeeze(pt.take_along_axis(x, pt.expand_dims(places, axis), axis=axis), axis=axis)
    weights = pt.where(kept, 1.0 if weight is None else weight[places], 0.0)
    losses, total = -chosen * weights, pt.sum(weights)
    if reduction == _MEAN:
        return [pt.sum(losses) / total, total]
    if reduction == _TOTAL:
        return [pt.sum(losses), total]
    return [losses, pt.zeros((), dtype=x.dtype)]


@RULES("linalg_vector_norm")
def _vector_norm(x: Any, order: Any = 2, dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
    own = axes(dim, x.ndim)
    if abs(order) == math.inf:
        return (pt.max if order > 0 else pt.min)(pt.abs(x), axis=own, keepdims=keepdim)
    if order == 0:
        return pt.sum(pt.cast(pt.neq(x, 0), x.dtype), axis=own, keepdims=keepdim)
    if order == 2:
        return pt.sqrt(pt.sum(x**2, axis=own, keepdims=keepdim))
    return pt.sum(pt.abs(x) ** order, axis=own, keepdims=keepdim) ** (1.0 / order)
