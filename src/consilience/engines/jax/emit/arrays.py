"""Shapes, indices, reductions and order in JAX.

Arrays in, arrays out. An index outside its axis gives some element and the status that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from consilience.engines.jax.emit.meanings import JaxEvaluation, means
from consilience.engines.jax.emit.namespace import held
from consilience.errors import Status
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


@means(Constant)
def _constant(run: JaxEvaluation, node: Any) -> Any:
    return jnp.asarray(node.op.array)


@means(Reduce)
def _reduce(run: JaxEvaluation, node: Any, x: Any) -> Any:
    kind, axes = node.op.kind, node.op.axes
    if kind == "logsumexp":
        if any(x.shape[a] == 0 for a in axes):
            return jnp.full([n for i, n in enumerate(x.shape) if i not in axes], -jnp.inf, x.dtype)
        return jax.scipy.special.logsumexp(x, axis=axes)
    function = {"sum": jnp.sum, "prod": jnp.prod, "max": jnp.max, "min": jnp.min, "any": jnp.any, "all": jnp.all}[kind]
    return function(x, axis=axes)


@means(ArgReduce)
def _arg_reduce(run: JaxEvaluation, node: Any, x: Any) -> Any:
    return (jnp.argmax if node.op.kind == "max" else jnp.argmin)(x, axis=node.op.axis)


@means(Softmax)
def _softmax(run: JaxEvaluation, node: Any, x: Any) -> Any:
    if not x.size:
        return x
    function = jax.nn.log_softmax if node.op.logarithm else jax.nn.softmax
    return function(x, axis=node.op.axes)


@means(Cumulative)
def _cumulative(run: JaxEvaluation, node: Any, x: Any) -> Any:
    axis = node.op.axis
    function = jnp.cumsum if node.op.kind == "sum" else jnp.cumprod
    if node.op.reverse:
        return jnp.flip(function(jnp.flip(x, axis), axis=axis), axis)
    return function(x, axis=axis)


@means(Concatenate)
def _concatenate(run: JaxEvaluation, node: Any, *arrays: Any) -> Any:
    return jnp.concatenate(arrays, axis=node.op.axis)


@means(Iota, LengthOf)
def _of_length(run: JaxEvaluation, node: Any) -> Any:
    (n,) = static((node.op.length,))
    return jnp.arange(n) if isinstance(node.op, Iota) else jnp.asarray(n)


def _index_of(run: JaxEvaluation, node: Any, shape: Sequence[int], arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The index as JAX takes it; positions outside their axes are noted."""
    remaining = iter(arrays)
    result: list[Any] = []
    axis = 0
    for entry in node.op.specification:
        if isinstance(entry, NewAxis):
            result.append(None)
            continue
        if isinstance(entry, SliceIndex):
            result.append(entry.bounds())
        elif isinstance(entry, At):
            result.append(entry.position)
        else:
            positions = next(remaining)
            if positions.dtype == bool:
                result.append(positions)
                axis += positions.ndim
                continue
            run.failed((positions < -shape[axis]) | (positions >= shape[axis]), Status.OUT_OF_BOUNDS)
            result.append(positions)
        axis += 1
    return tuple(result)


def _nothing_to_index(x: Any, arrays: Sequence[Any]) -> bool:
    """Whether JAX would refuse an index array, since an axis is empty; the failure is noted."""
    return not x.size and any(a.size for a in arrays)


@means(Index)
def _index(run: JaxEvaluation, node: Any, x: Any, *arrays: Any) -> Any:
    if _nothing_to_index(x, arrays):
        _index_of(run, node, x.shape, arrays)
        return jnp.zeros(static(node.static_shape), x.dtype)
    return x[_index_of(run, node, x.shape, arrays)]


@means(IndexUpdate)
def _index_update(run: JaxEvaluation, node: Any, x: Any, values: Any, *arrays: Any) -> Any:
    if _nothing_to_index(x, arrays):
        _index_of(run, node, x.shape, arrays)
        return x
    at = x.at[_index_of(run, node, x.shape, arrays)]
    return at.set(values) if node.op.mode == "set" else at.add(values)


@means(Sort)
def _sort(run: JaxEvaluation, node: Any, x: Any) -> Any:
    return jnp.sort(x, axis=node.op.axis)


@means(ArgSort)
def _arg_sort(run: JaxEvaluation, node: Any, x: Any) -> Any:
    return jnp.argsort(x, axis=node.op.axis, stable=True)


@means(DiagonalMatrix)
def _diagonal_matrix(run: JaxEvaluation, node: Any, x: Any) -> Any:
    return jnp.where(jnp.eye(x.shape[-1], dtype=bool), x[..., None], jnp.zeros((), x.dtype))


@means(MatMul)
def _matmul(run: JaxEvaluation, node: Any, a: Any, b: Any) -> Any:
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)


@means(Key)
def _key(run: JaxEvaluation, node: Any) -> Any:
    return jnp.asarray(node.op.seed, held("int64"))
