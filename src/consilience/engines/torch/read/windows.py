"""PyTorch's convolutions, pooling and other functions of windows: operands of an ATen op in, tensors of ours out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.axes import at
from consilience.engines.reader.lax import lax
from consilience.engines.reader.lax.windows import convolved
from consilience.engines.torch.read.ops import RULES
from consilience.errors import MissingRuleError


def _each(values: Sequence[int], rank: int) -> list[int]:
    """One number per axis, where one may stand for all."""
    return list(values) * rank if len(values) == 1 else list(values)


def _convolved(
    x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int, inner: Any = (), turned: bool = False
) -> Any:
    """As lax has it, with the batch first, then channels, then places."""
    rank = weight.ndim - 2
    layout = [(0, 1, range(2, rank + 2))] * 3
    return convolved(x, weight, layout, stride, padding, inner or [1] * rank, dilation, [turned] * rank, groups, 1)


@RULES("convolution")
def _convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, extra: Any, groups: int
) -> Any:
    rank = weight.ndim - 2
    stride, padding, dilation, extra = (_each(v, rank) for v in (stride, padding, dilation, extra))
    if transposed:  # each element is spread over a window of the result
        reach = [d * (k - 1) for d, k in zip(dilation, weight.static_shape[2:], strict=True)]
        around = [(r - p, r - p + e) for r, p, e in zip(reach, padding, extra, strict=True)]
        parts = pt.reshape(weight, (groups, -1, *weight.static_shape[1:]))  # group, channel, filter
        kernel = pt.reshape(pt.swapaxes(parts, 1, 2), (-1, parts.static_shape[1], *weight.static_shape[2:]))
        found = _convolved(x, kernel, [1] * rank, around, dilation, groups, stride, turned=True)
    else:
        found = _convolved(x, weight, stride, [(p, p) for p in padding], dilation, groups)
    return found if bias is None else found + bias[(slice(None), *[None] * rank)]


def _pooled(kind: str, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Elements of windows along the last axes taken together, by an operation of lax."""
    rank = len(kernel)
    ones = [1] * (x.ndim - rank)
    widths = [(0, 0)] * len(ones) + [(p, p) for p in _each(padding, rank)]
    (found,) = lax(
        f"reduce_window_{kind}", x, window_dimensions=[*ones, *kernel],
        window_strides=[*ones, *_each(stride or kernel, rank)], padding=widths, base_dilation=[1] * x.ndim,
        window_dilation=[*ones, *_each(dilation, rank)],
    )  # fmt: skip
    return found


@RULES("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(
    x: Any, kernel: Any, stride: Any = (), padding: Any = (0,), dilation: Any = (1,), ceil_mode: bool = False
) -> list[Any]:
    """The places of the greatest elements, its second result, are not there."""
    if ceil_mode:
        raise MissingRuleError("pooling with `ceil_mode` has no translation.")
    return [_pooled("max", x, kernel, stride, padding, dilation), None]


@RULES("avg_pool1d", "avg_pool2d", "avg_pool3d")
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
    total = _pooled("sum", x, kernel, stride, padding, (1,))
    if divisor_override is not None or count_include_pad or not any(padding):
        return total / (math.prod(kernel) if divisor_override is None else divisor_override)
    inside = pt.constant(np.ones(x.static_shape[-len(kernel) :]))
    return total / _pooled("sum", inside, kernel, stride, padding, (1,))


@RULES("_adaptive_avg_pool2d", "adaptive_avg_pool1d", "_adaptive_avg_pool3d")
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


@RULES("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
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


@RULES("unfold")
def _unfold(x: Any, dim: int, size: int, step: int) -> Any:
    dim = dim % x.ndim
    count = (x.static_shape[dim] - size) // step + 1
    return pt.stack([x[at(dim, slice(i, i + step * (count - 1) + 1, step))] for i in range(size)], axis=-1)
