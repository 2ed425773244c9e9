"""Shapes, indices, reductions and order in PyTorch.

Tensors in, tensors out. Steps backwards, which PyTorch's slices lack, are steps forwards along a flipped axis.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import torch

from consilience.engines.torch.emit.meanings import TorchEvaluation, dtype_of, means, opaque, to_tensor
from consilience.ir import Constant
from consilience.lower.views import static
from consilience.ops import (
    ArgReduce,
    ArgSort,
    Concatenate,
    Cumulative,
    Index,
    IndexUpdate,
    Iota,
    LengthOf,
    MatMul,
    Reduce,
    Softmax,
    Sort,
)
from consilience.ops.index import At, NewAxis, SliceIndex
from consilience.ops.random import Key
from consilience.ops.structured import DiagonalMatrix

SMALL: Final = 64  # elements of a constant that is kept


@means(Constant)
def _constant(run: TorchEvaluation, node: Any) -> Any:
    return _small(node, run.device) if node.op.array.size <= SMALL else to_tensor(node.op.array, run.device)


@functools.lru_cache(maxsize=4096)
def _small(node: Any, device: Any) -> Any:
    """Kept, for a loop asks at every step; nothing writes to it."""
    return to_tensor(node.op.array, device)


@means(Reduce)
def _reduce(run: TorchEvaluation, node: Any, x: Any) -> Any:
    kind, axes = node.op.kind, node.op.axes
    if kind in ("max", "min") and any(x.shape[a] == 0 for a in axes):
        return opaque(run, node, x)  # the error
    x = x if kind in ("any", "all", "max", "min", "logsumexp") else x.to(dtype_of(node))
    if not axes:
        return x
    if kind in ("sum", "any", "all", "logsumexp"):
        return getattr(torch, kind)(x, dim=axes)
    if kind in ("max", "min"):
        return (torch.amax if kind == "max" else torch.amin)(x, dim=axes)
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, dim=axis)
    return x


@means(ArgReduce)
def _arg_reduce(run: TorchEvaluation, node: Any, x: Any) -> Any:
    if not x.shape[node.op.axis] or x.dtype == torch.bool:
        return opaque(run, node, x)
    return (torch.argmax if node.op.kind == "max" else torch.argmin)(x, dim=node.op.axis)


@means(Softmax)
def _softmax(run: TorchEvaluation, node: Any, x: Any) -> Any:
    if not x.numel():
        return x
    axes = node.op.axes
    high = torch.amax(x, dim=axes, keepdim=True)
    if node.op.logarithm:
        shifted = x - torch.where(torch.isfinite(high), high, 0.0)
        return shifted - torch.log(torch.sum(torch.exp(shifted), dim=axes, keepdim=True))
    exponentials = torch.exp(x - high)
    return exponentials / torch.sum(exponentials, dim=axes, keepdim=True)


@means(Cumulative)
def _cumulative(run: TorchEvaluation, node: Any, x: Any) -> Any:
    axis, x = node.op.axis, x.to(dtype_of(node))
    function = torch.cumsum if node.op.kind == "sum" else torch.cumprod
    if node.op.reverse:
        return torch.flip(function(torch.flip(x, (axis,)), axis), (axis,))
    return function(x, axis)


@means(Concatenate)
def _concatenate(run: TorchEvaluation, node: Any, *tensors: Any) -> Any:
    return torch.cat([x.to(dtype_of(node)) for x in tensors], dim=node.op.axis)


@means(Iota, LengthOf)
def _of_length(run: TorchEvaluation, node: Any) -> Any:
    (n,) = static((node.op.length,))
    return torch.arange(n, device=run.device) if isinstance(node.op, Iota) else torch.tensor(n, device=run.device)


def _placed(run: TorchEvaluation, node: Any, x: Any, tensors: Sequence[Any]) -> Any:
    """The elements of x that an index names. Raises NoValueError where a position lies outside its axis."""
    shape = x.shape
    remaining = iter(tensors)
    flipped: list[int] = []
    result: list[Any] = []
    axis = 0
    for entry in node.op.specification:
        if isinstance(entry, NewAxis):
            result.append(None)
            continue
        if isinstance(entry, SliceIndex):
            taken = entry.range(shape[axis])
            if taken.step < 0:
                flipped.append(axis)
                last = shape[axis] - 1
                taken = range(last - taken.start, last - taken.stop, -taken.step)
            result.append(slice(taken.start, max(taken.start, taken.stop), taken.step))
        elif isinstance(entry, At):
            result.append(entry.position)
        else:
            positions = next(remaining)
            if positions.dtype == torch.bool:
                result.append(positions)
                axis += positions.ndim
                continue
            run.failed((positions < -shape[axis]) | (positions >= shape[axis]))
            result.append(positions.to(torch.int64))
        axis += 1
    return (torch.flip(x, flipped) if flipped else x)[tuple(result)]


@means(Index)
def _index(run: TorchEvaluation, node: Any, x: Any, *tensors: Any) -> Any:
    return _placed(run, node, x, tensors)


@means(IndexUpdate)
def _index_update(run: TorchEvaluation, node: Any, x: Any, values: Any, *tensors: Any) -> Any:
    """An element that is set several times has the last value: by positions in order, where any are given."""
    positions = _placed(run, node, torch.arange(x.numel(), device=run.device).reshape(x.shape), tensors)
    given = values.to(x.dtype).broadcast_to(positions.shape).reshape(-1)
    at, flat = positions.reshape(-1), x.reshape(-1).clone()
    if node.op.mode != "set":
        if x.dtype == torch.bool:
            return opaque(run, node, x, values, *tensors)
        return flat.index_put_((at,), given, accumulate=True).reshape(x.shape)
    if tensors:
        order = torch.full_like(flat, -1, dtype=torch.int64)
        order.scatter_reduce_(0, at, torch.arange(len(at), device=run.device), "amax")
        touched = torch.nonzero(order >= 0).reshape(-1)
        at, given = touched, given[order[touched]]
    flat[at] = given
    return flat.reshape(x.shape)


@means(Sort)
def _sort(run: TorchEvaluation, node: Any, x: Any) -> Any:
    return opaque(run, node, x) if x.is_complex() else torch.sort(x, dim=node.op.axis, stable=True)[0]


@means(ArgSort)
def _arg_sort(run: TorchEvaluation, node: Any, x: Any) -> Any:
    return opaque(run, node, x) if x.is_complex() else torch.argsort(x, dim=node.op.axis, stable=True)


@means(DiagonalMatrix)
def _diagonal_matrix(run: TorchEvaluation, node: Any, x: Any) -> Any:
    return torch.diag_embed(x)


@means(MatMul)
def _matmul(run: TorchEvaluation, node: Any, a: Any, b: Any) -> Any:
    dtype = dtype_of(node)
    return opaque(run, node, a, b) if dtype == torch.bool else torch.matmul(a.to(dtype), b.to(dtype))


@means(Key)
def _key(run: TorchEvaluation, node: Any) -> Any:
    return torch.tensor(node.op.seed, dtype=torch.int64, device=run.device)
