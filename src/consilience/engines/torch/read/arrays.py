"""PyTorch's products, factorisations, layers and indexing: operands of an ATen op in, tensors of ours out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.torch.read.ops import axes, rule
from consilience.errors import MissingRuleError


@rule("mm", "bmm", "matmul", "mv", "dot")
def _product(x: Any, y: Any) -> Any:
    return pt.matmul(x, y)


@rule("addmm", "addmv", "baddbmm")
def _sum_and_product(c: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    product = pt.matmul(x, y)
    product = product if alpha == 1 else alpha * product
    return product if beta == 0 else (c if beta == 1 else beta * c) + product


@rule("linear")
def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    product = pt.matmul(x, weight.T)
    return product if bias is None else product + bias


@rule("linalg_cholesky_ex")
def _cholesky(x: Any, *, upper: bool = False, **_: Any) -> Any:
    """The factor, and a count of failures, which is 0: a matrix that is not positive definite gives NaN."""
    lower = pt.linalg.cholesky(x)
    failures = pt.constant(np.zeros(x.static_shape[:-2], "int32"))
    return [pt.swapaxes(lower, -1, -2) if upper else lower, failures]


@rule("linalg_solve_triangular")
def _solve_triangular(a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    if not left:
        turned = _solve_triangular(
            pt.swapaxes(a, -1, -2), pt.swapaxes(b, -1, -2), upper=not upper, unitriangular=unitriangular
        )
        return pt.swapaxes(turned, -1, -2)
    return pt.linalg.solve_triangular(a, b, lower=not upper, unit_diagonal=unitriangular)


@rule("triangular_solve")
def _older_solve_triangular(
    b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    own, upper = (pt.swapaxes(a, -1, -2), not upper) if transpose else (a, upper)
    return [_solve_triangular(own, b, upper=upper, unitriangular=unitriangular), a]


@rule("cholesky_solve")
def _cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Any:
    lower = pt.swapaxes(factor, -1, -2) if upper else factor
    half = pt.linalg.solve_triangular(lower, b, lower=True)
    return pt.linalg.solve_triangular(pt.swapaxes(lower, -1, -2), half, lower=False)


@rule("diagonal")
def _diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return pt.diagonal(x, offset=offset, axis1=dim1 % x.ndim, axis2=dim2 % x.ndim)


def _triangle(x: Any, diagonal: int) -> Any:
    """Where the triangle is that ends on a diagonal."""
    rows, columns = x.static_shape[-2:]
    return np.tri(rows, columns, diagonal, dtype=bool)


@rule("tril")
def _tril(x: Any, diagonal: int = 0) -> Any:
    return pt.where(_triangle(x, diagonal), x, 0)


@rule("triu")
def _triu(x: Any, diagonal: int = 0) -> Any:
    return pt.where(~_triangle(x, diagonal - 1), x, 0)


# ---- layers


@rule("_softmax", "softmax")
def _softmax(x: Any, dim: int, *_: Any) -> Any:
    return pt.special.softmax(x, axis=dim % x.ndim)


@rule("_log_softmax", "log_softmax")
def _log_softmax(x: Any, dim: int, *_: Any) -> Any:
    return pt.special.log_softmax(x, axis=dim % x.ndim)


@rule("native_layer_norm")
def _layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """The normalised layer, the means and the reciprocal scales."""
    own = tuple(range(x.ndim - len(shape), x.ndim))
    mean = pt.mean(x, axis=own, keepdims=True)
    scale = 1.0 / pt.sqrt(pt.mean((x - mean) ** 2, axis=own, keepdims=True) + eps)
    found = (x - mean) * scale
    found = found if weight is None else found * weight
    return [found if bias is None else found + bias, mean, scale]


@rule("_native_batch_norm_legit_no_training")
def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float) -> Any:
    """By the averages that the module keeps."""
    behind = (slice(None), *[None] * (x.ndim - 2))
    found = (x - mean[behind]) / pt.sqrt(variance[behind] + eps)
    found = found if weight is None else found * weight[behind]
    empty = pt.constant(np.zeros(0, x.dtype))
    return [found if bias is None else found + bias[behind], empty, empty]


# ---- indexing


@rule("embedding")
def _embedding(weight: Any, places: Any, *_: Any) -> Any:
    return weight[places]


@rule("index", "_unsafe_index")
def _index(x: Any, places: Any) -> Any:
    """By arrays of places on some axes; masks have a length that depends on values."""
    if any(p is not None and p.dtype == "bool" for p in places):
        raise MissingRuleError(
            "a length that depends on the values of a mask has no translation; `torch.where` keeps the shape."
        )
    return x[tuple(slice(None) if p is None else p for p in places)]


@rule("gather")
def _gather(x: Any, dim: int, places: Any, **_: Any) -> Any:
    """Other axes of `places` may be shorter than those of `x`."""
    dim = dim % x.ndim
    own = tuple(slice(None) if i == dim else slice(0, n) for i, n in enumerate(places.static_shape))
    return pt.take_along_axis(x[own], places, axis=dim)


@rule("index_select")
def _index_select(x: Any, dim: int, places: Any) -> Any:
    return pt.take(x, places, axis=dim % x.ndim)


@rule("slice_scatter")
def _slice_scatter(x: Any, part: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """A copy with other values along a slice."""
    return pt.set_subtensor(x[(*(slice(None),) * (dim % x.ndim), slice(start, end, step))], part)


@rule("select_scatter")
def _select_scatter(x: Any, part: Any, dim: int, index: int) -> Any:
    return pt.set_subtensor(x[(*(slice(None),) * (dim % x.ndim), index)], part)


@rule("index_put")
def _index_put(x: Any, places: Any, values: Any, accumulate: bool = False) -> Any:
    change = pt.inc_subtensor if accumulate else pt.set_subtensor
    return change(_index(x, places), values)


@rule("sort")
def _sort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    order = pt.argsort(-x if descending else x, axis=dim, stable=True)
    return [pt.take_along_axis(x, order, axis=dim), order]


@rule("topk")
def _topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    values, order = _sort(x, dim, largest)
    kept = (*(slice(None),) * (dim % x.ndim), slice(0, k))
    return [values[kept], order[kept]]


@rule("median")
def _median(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower one of two in the middle."""
    if dim is None:
        return pt.sort(pt.flatten(x))[(x.size - 1) // 2]
    order = pt.argsort(x, axis=dim, stable=True)
    place = (x.static_shape[dim] - 1) // 2
    place_of = pt.take(order, np.array([place]), axis=dim % x.ndim)
    values = pt.take_along_axis(x, place_of, axis=dim)
    return [v if keepdim else pt.squeeze(v, axis=dim) for v in (values, place_of)]


@rule("searchsorted")
def _searchsorted(ordered: Any, x: Any, *, right: bool = False, side: Any = None, **_: Any) -> Any:
    if ordered.ndim != 1:
        raise MissingRuleError("PyTorch's `searchsorted` in a batch of sequences has no translation.")
    return pt.searchsorted(ordered, x, side="right" if right or side == "right" else "left")


@rule("bucketize")
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


@rule("scatter")
def _scatter(x: Any, dim: int, places: Any, source: Any, **keywords: Any) -> Any:
    if keywords:
        raise MissingRuleError("PyTorch's `scatter` with `reduce=` has no translation.")
    return _scattered(x, dim, places, source, pt.set_subtensor)


@rule("scatter_add")
def _scatter_add(x: Any, dim: int, places: Any, source: Any) -> Any:
    return _scattered(x, dim, places, source, pt.inc_subtensor)


@rule("tril_indices")
def _lower_indices(rows: int, columns: int, offset: int = 0, **_: Any) -> Any:
    return pt.constant(np.array(np.tril_indices(rows, offset, columns)))


@rule("triu_indices")
def _upper_indices(rows: int, columns: int, offset: int = 0, **_: Any) -> Any:
    return pt.constant(np.array(np.triu_indices(rows, offset, columns)))


@rule("_cdist_forward")
def _distances(x: Any, y: Any, p: float, *_: Any) -> Any:
    return _vector_norm(x[..., :, None, :] - y[..., None, :, :], p, [-1])


@rule("_trilinear")
def _trilinear(x: Any, y: Any, z: Any, left: Any, middle: Any, right: Any, summed: Any, *_: Any) -> Any:
    """A product of three, each with new axes, summed over some."""
    widened = [pt.expand_dims(v, tuple(places)) for v, places in ((x, left), (y, middle), (z, right))]
    return pt.sum(widened[0] * widened[1] * widened[2], axis=tuple(summed))


@rule("logcumsumexp")
def _logcumsumexp(x: Any, dim: int) -> Any:
    """Each over all before it at once: no difference of great numbers is taken."""
    moved = pt.moveaxis(x, dim, -1)
    n = moved.static_shape[-1]
    kept = pt.constant(np.tril(np.ones((n, n), bool)))
    return pt.moveaxis(pt.logsumexp(pt.where(kept, moved[..., None, :], -np.inf), axis=-1), -1, dim)


@rule("native_group_norm")
def _group_norm(x: Any, weight: Any, bias: Any, n: int, channels: int, rest: int, groups: int, eps: float) -> Any:
    parts = pt.reshape(x, (n, groups, -1))
    mean = pt.mean(parts, axis=-1, keepdims=True)
    scale = (pt.mean((parts - mean) ** 2, axis=-1, keepdims=True) + eps) ** -0.5
    found = pt.reshape((parts - mean) * scale, x.static_shape)
    wide = (slice(None), *[None] * (x.ndim - 2))
    found = found if weight is None else found * weight[wide]
    return [found if bias is None else found + bias[wide], mean[..., 0], scale[..., 0]]


@rule("_native_batch_norm_legit")
def _batch_statistics_norm(x: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    """By the mean and variance of the batch itself, without running ones."""
    if len(rest) != 3:
        raise MissingRuleError("batch norm that writes running averages has no translation; call `.eval()`.")
    axes_but_channels = (0, *range(2, x.ndim))
    mean = pt.mean(x, axis=axes_but_channels, keepdims=True)
    scale = (pt.mean((x - mean) ** 2, axis=axes_but_channels, keepdims=True) + rest[2]) ** -0.5
    found, wide = (x - mean) * scale, (slice(None), *[None] * (x.ndim - 2))
    found = found if weight is None else found * weight[wide]
    return [found if bias is None else found + bias[wide], pt.flatten(mean), pt.flatten(scale)]


# ---- losses

_MEAN, _TOTAL = 1, 2


def _reduced(x: Any, reduction: int) -> Any:
    return pt.mean(x) if reduction == _MEAN else pt.sum(x) if reduction == _TOTAL else x


@rule("mse_loss")
def _mse_loss(x: Any, y: Any, reduction: int = _MEAN) -> Any:
    return _reduced((x - y) ** 2, reduction)


@rule("nll_loss_forward", "nll_loss2d_forward")
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


@rule("linalg_vector_norm")
def _vector_norm(x: Any, order: Any = 2, dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
    own = axes(dim, x.ndim)
    if abs(order) == math.inf:
        return (pt.max if order > 0 else pt.min)(pt.abs(x), axis=own, keepdims=keepdim)
    if order == 0:
        return pt.sum(pt.cast(pt.neq(x, 0), x.dtype), axis=own, keepdims=keepdim)
    if order == 2:
        return pt.sqrt(pt.sum(x**2, axis=own, keepdims=keepdim))
    return pt.sum(pt.abs(x) ** order, axis=own, keepdims=keepdim) ** (1.0 / order)
