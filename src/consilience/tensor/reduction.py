"""Normalisations, differences and moments over axes under NumPy's, SciPy's and PyTensor's names."""

from __future__ import annotations

import builtins
import functools

from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ir.types import COMPLEXES
from consilience.ops.arrangement import diagonal
from consilience.ops.axes import is_integer, one_axis
from consilience.ops.complex_numbers import conj, real
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.index import getitem
from consilience.ops.linalg import matmul
from consilience.ops.reduce import softmax as normalised
from consilience.ops.reductions import Axis, argmax, max, mean, sum
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, transpose


def softmax(c: TensorLike, axis: Axis = None) -> Node:
    """`exp(c)` divided by its sum over `axis` (all axes for None), without overflow.

    c, axis : ...
    Returns: Floats of the shape of `c`.
    See log_softmax: `c - logsumexp(c)` over `axis` (all axes for None).
    See logsumexp: `log(sum(exp(x)))` over `axis` without overflow.
    >>> pt.softmax([1.0, 2.0]).eval().round(4).tolist()
    [0.2689, 0.7311]
    """
    return normalised(c, axis)


def log_softmax(c: TensorLike, axis: Axis = None) -> Node:
    """`c - logsumexp(c)` over `axis` (all axes for None), without overflow or cancellation.

    c, axis : ...
    Returns: Floats of the shape of `c`.
    See logsumexp: `log(sum(exp(x)))` over `axis` without overflow.
    See softmax: `exp(c)` divided by its sum over `axis` (all axes for None).
    >>> pt.log_softmax([1.0, 2.0]).eval().round(4).tolist()
    [-1.3133, -0.3133]
    """
    return normalised(c, axis, logarithm=True)


def max_and_argmax(a: TensorLike, axis: Axis = None, keepdims: bool = False) -> tuple[Node, Node]:
    """Greatest element over `axis` and the position of the first such.

    a, axis, keepdims : ...
    Returns: The elements, and their positions in int64.
    See argsort: Positions (int64) that put the elements along `axis` in ascending order.
    See argmax: Position of the first greatest element (int64).
    See argmin: Position of the first least element (int64).
    >>> [x.eval().item() for x in pt.max_and_argmax([3.0, 5.0, 1.0])]
    [5.0, 1]
    """
    return max(a, axis, keepdims), argmax(a, axis, keepdims)


def diff(
    x: TensorLike,
    n: int = 1,
    axis: int = -1,
    prepend: TensorLike | None = None,
    append: TensorLike | None = None,
) -> Node:
    """Differences of neighbours along `axis`, taken n times; of bool, whether neighbours differ.

    x : ...
    n: How often differences are taken.
    axis (one) : ...
    prepend, append: What comes before and behind along the axis first: a number, or a tensor of x's rank.
    Returns: Shorter along `axis` by n, or by less where something is put before or behind.
    See cumsum: Running sum along an axis.
    >>> pt.diff([1.0, 3.0, 6.0]).eval().tolist()
    [2.0, 3.0]
    """
    node = as_tensor(x)
    if n < 0:
        raise ValueError(f"differences are taken a number of times >= 0, got n={n}.")
    if not node.ndim:
        raise ShapeError(f"`diff` needs an axis, got {describe(node)}.")
    place = one_axis(axis, node)
    lead = (slice(None),) * place
    if n and (prepend is not None or append is not None):
        one = (*node.static_shape[:place], 1, *node.static_shape[place + 1 :])
        ends = [None if end is None else as_tensor(end) for end in (prepend, append)]
        before, after = (end if end is None or end.ndim else broadcast_to(end, one) for end in ends)
        node = concatenate([part for part in (before, node, after) if part is not None], place)
    for _ in range(n):
        later, earlier = getitem(node, (*lead, slice(1, None))), getitem(node, (*lead, slice(None, -1)))
        node = apply("neq" if node.dtype == "bool" else "sub", later, earlier)
    return node


def average(a: TensorLike, axis: Axis = None, weights: TensorLike | None = None, *, keepdims: bool = False) -> Node:
    """Mean over `axis`, weighted by `weights`: of a's shape, or one per position of `axis`.

    a, axis : ...
    weights: Weight of each element.
    keepdims : ...
    Returns: Floats, without the axes that are reduced.
    See mean: Arithmetic mean.
    See median: The middle element over `axis` (all axes for None).
    See std: Square root of the variance.
    >>> pt.average([1.0, 2.0, 4.0], weights=[1.0, 1.0, 2.0]).eval().item()
    2.75
    """
    if weights is None:
        return mean(a, axis, keepdims=keepdims)
    node, shares = as_tensor(a), as_tensor(weights)
    if shares.ndim == 1 < node.ndim and is_integer(axis):
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
    fweights: TensorLike | None = None,
    aweights: TensorLike | None = None,
) -> Node:
    """Covariances of variables, one per row of m and y (per column unless `rowvar`): shape (variables, variables).

    They are computed and given in float64.

    m: Variables, one per row (per column unless `rowvar`); a vector is one variable.
    y: More variables, in the form of `m`.
    rowvar: Whether rows are variables and columns observations.
    bias: The sum of products is divided by (observations - ddof); ddof None is 0 with `bias`, else 1.
    ddof: The sum of products is divided by (observations - ddof); ddof None is 0 with `bias`, else 1.
    fweights, aweights: How often each observation counts, and how much: vectors >= 0.
    Returns: A square matrix, a row and a column per variable.
    See corrcoef: Correlations of variables.
    >>> pt.cov([1.0, 2.0, 4.0]).eval().round(4).item()
    2.3333
    """
    variables = [as_tensor(v) for v in ([m] if y is None else [m, y])]
    if builtins.max(v.ndim for v in variables) > 2:
        raise ShapeError(f"`cov` needs vectors or matrices, got {', '.join(map(describe, variables))}.")
    rows = [v if v.ndim == 2 and rowvar else transpose(v) if v.ndim == 2 else expand_dims(v, 0) for v in variables]
    node = concatenate(rows, 0)
    node = cast(node, "complex128" if node.dtype in COMPLEXES else "float64")
    less = (0 if bias else 1) if ddof is None else ddof
    shares = [_shares(node, w) for w in (fweights, aweights) if w is not None]
    if not shares:
        deviation = apply("sub", node, mean(node, -1, keepdims=True))
        weighted, count = deviation, apply("sub", node.shape[-1], less)
    else:
        weights = functools.reduce(lambda a, b: apply("mul", a, b), shares)
        total = sum(weights)
        middle = apply("true_div", sum(apply("mul", node, weights), -1, keepdims=True), total)
        deviation = apply("sub", node, middle)
        weighted = apply("mul", deviation, weights)
        taken: TensorLike = less
        if aweights is not None:
            taken = apply("mul", less, apply("true_div", sum(apply("mul", weights, shares[-1])), total))
        count = apply("sub", total, taken)
    result = apply("true_div", matmul(deviation, conj(transpose(weighted))), apply("maximum", count, 0))
    return result if result.static_shape != (1, 1) else getitem(result, (0, 0))


def _shares(node: Node, weights: TensorLike) -> Node:
    """The weights of observations, one for each."""
    shares = as_tensor(weights)
    if shares.ndim != 1:
        raise ShapeError(f"weights of observations are a vector, got {describe(shares)}.")
    return broadcast_to(shares, node.static_shape[-1:])


def corrcoef(x: TensorLike, y: TensorLike | None = None, rowvar: bool = True) -> Node:
    """Correlations of variables, one per row of x and y (per column unless `rowvar`), in [-1, 1].

    x : ...
    y: More variables, in the form of the first ones.
    rowvar: Whether rows are variables and columns observations.
    Returns: A square matrix, a row and a column per variable.
    See cov: Covariances of variables.
    >>> pt.corrcoef([[1.0, 2.0, 4.0], [1.0, 3.0, 4.0]]).eval().round(4).tolist()
    [[1.0, 0.9286], [0.9286, 1.0]]
    """
    covariance = cov(x, y, rowvar)
    if not covariance.ndim:
        return apply("true_div", covariance, covariance)
    scale = apply("sqrt", real(diagonal(covariance)))
    result = apply("true_div", apply("true_div", covariance, expand_dims(scale, 1)), scale)
    if result.dtype in COMPLEXES:
        return result
    return apply("minimum", apply("maximum", result, -1.0), 1.0)
