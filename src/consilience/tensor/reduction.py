"""Normalisations, differences and moments over axes under NumPy's, SciPy's and PyTensor's names."""

from __future__ import annotations

import builtins

from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ops.arrangement import one_axis
from consilience.ops.elementwise import TensorLike, apply, as_tensor
from consilience.ops.index import getitem
from consilience.ops.linalg import matmul
from consilience.ops.reduce import softmax as normalised
from consilience.ops.reductions import Axis, argmax, max, mean, sum
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, transpose
from consilience.tensor.keywords import export


def softmax(c: TensorLike, axis: Axis = None) -> Node:
    """exp(c) divided by its sum over `axis` (all axes for None), without overflow."""
    return normalised(c, axis)


def log_softmax(c: TensorLike, axis: Axis = None) -> Node:
    """c - logsumexp(c) over `axis` (all axes for None), without overflow or cancellation."""
    return normalised(c, axis, logarithm=True)


def max_and_argmax(a: TensorLike, axis: Axis = None, keepdims: bool = False) -> tuple[Node, Node]:
    """Greatest element over `axis` and the position of the first such."""
    return max(a, axis, keepdims), argmax(a, axis, keepdims)


def diff(x: TensorLike, n: int = 1, axis: int = -1) -> Node:
    """Differences of neighbours along `axis`, taken n times; of bool, whether neighbours differ."""
    node = as_tensor(x)
    if n < 0:
        raise ValueError(f"differences are taken a number of times >= 0, got n={n}.")
    if not node.ndim:
        raise ShapeError(f"`diff` needs an axis, got {describe(node)}.")
    lead = (slice(None),) * one_axis(axis, node)
    for _ in range(n):
        later, earlier = getitem(node, (*lead, slice(1, None))), getitem(node, (*lead, slice(None, -1)))
        node = apply("neq" if node.dtype == "bool" else "sub", later, earlier)
    return node


def average(a: TensorLike, axis: Axis = None, weights: TensorLike | None = None, *, keepdims: bool = False) -> Node:
    """Mean over `axis`, weighted by `weights`: of a's shape, or one per position of `axis`."""
    if weights is None:
        return mean(a, axis, keepdims=keepdims)
    node, shares = as_tensor(a), as_tensor(weights)
    if shares.ndim == 1 < node.ndim and isinstance(axis, int):
        shares = expand_dims(shares, tuple(range(1, node.ndim - one_axis(axis, node))))
    shares = broadcast_to(shares, node.static_shape)
    total = sum(apply("mul", node, shares), axis, keepdims=keepdims)
    return apply("true_div", total, sum(shares, axis, keepdims=keepdims))


def cov(
    m: TensorLike,
    y: TensorLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
) -> Node:
    """Covariances of variables, one per row of m and y (per column unless `rowvar`): shape (variables, variables).

    bias, ddof   the sum of products is divided by (observations - ddof); ddof None is 0 with `bias`, else 1
    """
    variables = [as_tensor(v) for v in ([m] if y is None else [m, y])]
    if builtins.max(v.ndim for v in variables) > 2:
        raise ShapeError(f"`cov` needs vectors or matrices, got {', '.join(map(describe, variables))}.")
    rows = [v if v.ndim == 2 and rowvar else transpose(v) if v.ndim == 2 else expand_dims(v, 0) for v in variables]
    node = concatenate(rows, 0)
    deviation = apply("sub", node, mean(node, -1, keepdims=True))
    count = apply("sub", node.shape[-1], (0 if bias else 1) if ddof is None else ddof)
    result = apply("true_div", matmul(deviation, transpose(deviation)), count)
    return result if result.static_shape != (1, 1) else getitem(result, (0, 0))


export(globals())
