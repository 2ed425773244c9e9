"""PyTorch's convolutions, pooling and other functions of windows: operands of an ATen op in, tensors of ours out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.torch.read.ops import rule
from consilience.errors import MissingRuleError


def _each(values: Sequence[int], rank: int) -> list[int]:
    """One number per axis, where one may stand for all."""
    return list(values) * rank if len(values) == 1 else list(values)


def _padded(x: Any, widths: Sequence[int], value: Any) -> Any:
    """Some elements before and behind on each of the last axes."""
    if not any(widths):
        return x
    shape = x.static_shape
    rank = len(widths)
    wide = [n + 2 * p for n, p in zip(shape[-rank:], widths, strict=True)]
    inner = tuple(slice(p, p + n) for n, p in zip(shape[-rank:], widths, strict=True))
    around = pt.full((*shape[:-rank], *wide), value, dtype=x.dtype)
    return pt.set_subtensor(around[(..., *inner)], x)


@rule("convolution")
def _convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, extra: Any, groups: int
) -> Any:
    """A sum over the places of the kernel, each a product of channels."""
    rank = weight.ndim - 2
    stride, padding, dilation, extra = (_each(v, rank) for v in (stride, padding, dilation, extra))
    one = _spread if transposed else _gathered
    channels, filters = x.static_shape[1] // groups, weight.static_shape[0] // groups
    parts = [
        one(
            x[:, g * channels : (g + 1) * channels], weight[g * filters : (g + 1) * filters],
            stride, padding, dilation, extra,
        )
        for g in range(groups)
    ]  # fmt: skip
    found = parts[0] if groups == 1 else pt.concatenate(parts, axis=1)
    return found if bias is None else found + bias[(slice(None), *[None] * rank)]


def _gathered(x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, _: Any) -> Any:
    kernel = weight.static_shape[2:]
    x = _padded(x, padding, 0.0)
    lengths = _counts(x.static_shape[2:], kernel, stride, dilation)
    found: Any = 0
    for place in itertools.product(*map(range, kernel)):
        part = _windows(place, stride, dilation, lengths)
        found = found + pt.einsum("nc...,oc->no...", x[(..., *part)], weight[(slice(None), slice(None), *place)])
    return found


def _spread(x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, extra: Any) -> Any:
    """The transpose of a convolution: each element is spread over a window of the result."""
    kernel, lengths = weight.static_shape[2:], x.static_shape[2:]
    whole = [
        (n - 1) * s + d * (k - 1) + e + 1
        for n, s, d, k, e in zip(lengths, stride, dilation, kernel, extra, strict=True)
    ]
    found = pt.zeros((x.static_shape[0], weight.static_shape[1], *whole), dtype=x.dtype)
    for place in itertools.product(*map(range, kernel)):
        part = _windows(place, stride, dilation, lengths)
        terms = pt.einsum("nc...,co->no...", x, weight[(slice(None), slice(None), *place)])
        found = pt.inc_subtensor(found[(..., *part)], terms)
    return found[(..., *(slice(p, n - p) for n, p in zip(whole, padding, strict=True)))]


def _counts(lengths: Any, kernel: Any, stride: Any, dilation: Any) -> list[int]:
    """How many windows lie on each axis."""
    return [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(lengths, kernel, stride, dilation, strict=True)]


def _windows(place: Sequence[int], stride: Any, dilation: Any, counts: Any) -> tuple[slice, ...]:
    """The elements that stand at one place of all windows."""
    return tuple(
        slice(i * d, i * d + s * (n - 1) + 1, s) for i, d, s, n in zip(place, dilation, stride, counts, strict=True)
    )


def _pooled(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, value: Any) -> Any:
    """Elements by their place in a window, along a new first axis."""
    rank = len(kernel)
    x = _padded(x, padding, value)
    counts = _counts(x.static_shape[-rank:], kernel, stride, dilation)
    places = itertools.product(*map(range, kernel))
    return pt.stack([x[(..., *_windows(place, stride, dilation, counts))] for place in places])


@rule("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(
    x: Any, kernel: Any, stride: Any = (), padding: Any = (0,), dilation: Any = (1,), ceil_mode: bool = False
) -> list[Any]:
    """The places of the greatest elements, its second result, are not there."""
    if ceil_mode:
        raise MissingRuleError("pooling with `ceil_mode` has no translation.")
    rank = len(kernel)
    steps = _each(stride or kernel, rank)
    return [pt.max(_pooled(x, kernel, steps, _each(padding, rank), _each(dilation, rank), -math.inf), axis=0), None]


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _average_pool(
    x: Any,
    kernel: Any,
    stride: Any = (),
    padding: Any = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    if ceil_mode:
        raise MissingRuleError("pooling with `ceil_mode` has no translation.")
    rank = len(kernel)
    steps, widths, ones = _each(stride or kernel, rank), _each(padding, rank), [1] * rank
    total = pt.sum(_pooled(x, kernel, steps, widths, ones, 0.0), axis=0)
    if divisor_override is not None:
        return total / divisor_override
    if count_include_pad or not any(widths):
        return total / math.prod(kernel)
    inside = pt.constant(np.ones(x.static_shape[-rank:]))
    return total / pt.sum(_pooled(inside, kernel, steps, widths, ones, 0.0), axis=0)


@rule("_adaptive_avg_pool2d", "adaptive_avg_pool1d", "_adaptive_avg_pool3d")
def _adaptive_average_pool(x: Any, size: Any) -> Any:
    """Windows whose ends are the nearest to equal parts, as products with constant matrices."""
    for axis, count in zip(range(x.ndim - len(size), x.ndim), size, strict=True):
        length = x.static_shape[axis]
        weights = np.zeros((length, count))
        for i in range(count):
            begin, end = i * length // count, -(-(i + 1) * length // count)
            weights[begin:end, i] = 1 / (end - begin)
        x = pt.moveaxis(pt.matmul(pt.moveaxis(x, axis, -1), pt.constant(weights.astype(x.dtype))), -1, axis)
    return x


@rule("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def _nearest(x: Any, size: Any, scales: Any = None, *_: Any) -> Any:
    rank = x.ndim - 2
    lengths = x.static_shape[2:]
    steps: Any = scales if isinstance(scales, list | tuple) else [None] * rank
    counts = size or [math.floor(n * s) for n, s in zip(lengths, steps, strict=True)]
    for axis, (n, count, scale) in enumerate(zip(lengths, counts, steps, strict=True), 2):
        ratio = n / count if scale is None else 1 / scale
        places = np.minimum(np.floor(np.arange(count) * ratio).astype(int), n - 1)
        x = pt.take(x, places, axis=axis)
    return x


@rule("unfold")
def _unfold(x: Any, dim: int, size: int, step: int) -> Any:
    dim = dim % x.ndim
    count = (x.static_shape[dim] - size) // step + 1
    before = (slice(None),) * dim
    return pt.stack([x[(*before, slice(i, i + step * (count - 1) + 1, step))] for i in range(size)], axis=-1)
