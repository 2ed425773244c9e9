"""Pullbacks of factorisations, on the last two axes of batches.

Cotangents of symmetric matrices lie in the triangle that is read, as in `linalg`. Vectors of equal eigenvalues or
singular values have no derivative: there a difference in a denominator is 0, and the derivative infinite or NaN. Values
of such matrices have one if they enter alike, and other vectors if an index chooses them. Sources: M. Giles (2008),
"Collected matrix derivative results"; S. Walter and L. Lehmann (2018), "Algorithmic differentiation of linear algebra
functions"; G. Golub and V. Pereyra (1973), "The differentiation of pseudo-inverses".
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from consilience.errors import MissingRuleError
from consilience.ir import Node
from consilience.ir.dimension import minimum
from consilience.ir.side_tables import describe
from consilience.native.routines import NEARLY
from consilience.ops import ArgReduce, Item, Solve, SolveTriangular, apply, cast, cond
from consilience.ops.arrangement import full_like, take_along_axis
from consilience.ops.factorisations import (
    LDL,
    LU,
    QR,
    SVD,
    ColumnOrder,
    ComplexSchur,
    Eig,
    Eigh,
    Eigvals,
    Eigvalsh,
    Householder,
    LeastSquares,
    PivotPermutation,
    PseudoInverse,
    Schur,
    SingularValues,
    factors,
    greatest_size,
)
from consilience.ops.index import getitem, index_set
from consilience.ops.order import argsort
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, length_of
from consilience.transforms.gradient.linalg import folded, positions, symmetric, triangle
from consilience.transforms.gradient.mask import chosen_columns, keep
from consilience.transforms.gradient.scalar import eq, where
from consilience.transforms.gradient.table import Cotangents, no_derivative, partial_of, pullback_of

# Values up to this share of the greatest are 0 but for rounding.
ROUNDING: Final = 1e-13
Several: TypeAlias = tuple[Node | None, ...]


def _items(node: Node, count: int) -> list[Node]:
    return [Node(Item(i), node) for i in range(count)]


def _columns(x: Node) -> Node:
    """A vector as a factor of columns."""
    return expand_dims(x, x.ndim - 1)


def _given(cotangent: Node | None, like: Node) -> Node:
    return full_like(like, 0.0) if cotangent is None else cotangent


def _differences(values: Node) -> Node:
    """values[j] - values[i], and 1 on the diagonal."""
    i, j = positions(values)
    return where(eq(i, j), 1.0, _columns(values) - expand_dims(values, values.ndim))


def _among(chosen: Node | None, x: Node) -> Node:
    """What turns one vector to another, where one of them was chosen: others may have equal values."""
    return x if chosen is None else keep(apply("logical_or", expand_dims(chosen, chosen.ndim), _columns(chosen)), x)


def _weighted(vectors: Node, weights: Node) -> Node:
    """Columns times numbers; those that were not chosen do not count when derivatives are taken again."""
    chosen = chosen_columns(expand_dims(weights, weights.ndim - 1))
    found = vectors * _columns(weights)
    return found if chosen is None else keep(_columns(chosen), found)


def _diagonal_matrix(values: Node) -> Node:
    i, j = positions(values)
    return where(eq(i, j), _columns(values), 0.0)


def _upper_solve(r: Node, right: Node, transposed: bool = False) -> Node:
    return Node(SolveTriangular(lower=False, transposed=transposed), r, right)


# ---- symmetric matrices


@pullback_of(Eigh)
def _eigh(node: Node, g: Several, wanted: Sequence[bool]) -> Cotangents:
    assert isinstance(node.op, Eigh)
    values, vectors = _items(node, 2)
    inner = _diagonal_matrix(_given(g[0], values))
    if g[1] is not None:
        turning = vectors.mT @ g[1]
        inner = inner + _among(chosen_columns(g[1]), 0.5 * (turning - turning.mT) / _differences(values))
    return [folded(vectors @ inner @ vectors.mT, node, even=True)]


@partial_of(Eigvalsh)
def _eigvalsh(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Eigvalsh)
    vectors = Node(Item(1), Node(Eigh(node.op.lower), node.inputs[0]))
    return folded(_weighted(vectors, g) @ vectors.mT, node, even=True)


@pullback_of(LDL)
def _ldl(node: Node, g: Several, wanted: Sequence[bool]) -> Cotangents:
    """With L^-1 dx L^-T = K D + dD + D K' in the order of L's triangle, where K = L^-1 dL is below the blocks of D."""
    rows, blocks, order = _items(node, 3)
    place = expand_dims(order, order.ndim)
    factor = take_along_axis(rows, place, -2)
    i, j = positions(blocks)
    inside = apply("logical_or", eq(i, j), apply("neq", blocks, 0.0))
    inner = where(inside, _given(g[1], blocks), 0.0)
    if g[0] is not None:
        below = apply("logical_and", i > j, apply("logical_not", inside))
        slope = where(below, factor.mT @ take_along_axis(g[0], place, -2), 0.0)
        inner = inner + where(below, Node(Solve(), blocks, slope.mT).mT, 0.0)
    solve = SolveTriangular(lower=True, transposed=True)
    found = Node(solve, factor, Node(solve, factor, inner).mT).mT
    back = argsort(order)
    found = take_along_axis(found, expand_dims(back, back.ndim), -2)
    return [folded(take_along_axis(found, _columns(back), -1), node)]


# ---- singular values


@pullback_of(SVD)
def _svd(node: Node, g: Several, wanted: Sequence[bool]) -> Cotangents:
    (x,) = node.inputs
    assert isinstance(node.op, SVD)
    m, n = x.static_shape[-2:]
    if node.op.full and not (m is n or m == n) and (g[0] is not None or g[2] is not None):
        raise MissingRuleError(
            f"vectors beyond the singular values have no derivative, {describe(x)} may have some; "
            "use `svd(…, full_matrices=False)`, or lengths that are known to be equal."
        )
    u, s, v = _items(Node(SVD(), x) if node.op.full else node, 3)
    v = v.mT
    inner = _diagonal_matrix(_given(g[1], s))
    gaps = _differences(s * s)
    rest: list[Node] = []
    if g[0] is not None:
        turning, chosen = u.mT @ g[0], chosen_columns(g[0])
        inner = inner + _among(chosen, (turning - turning.mT) / gaps * _columns(s))
        beside = (g[0] - u @ turning) / _columns(s)
        rest.append((beside if chosen is None else keep(_columns(chosen), beside)) @ v.mT)
    if g[2] is not None:
        turning, chosen = v.mT @ g[2].mT, chosen_columns(g[2].mT)
        inner = inner + _among(chosen, expand_dims(s, s.ndim) * (turning - turning.mT) / gaps)
        beside = (g[2].mT - v @ turning) / _columns(s)
        rest.append(u @ (beside if chosen is None else keep(_columns(chosen), beside)).mT)
    found = u @ inner @ v.mT
    for part in rest:
        found = found + part
    return [found]


@partial_of(SingularValues)
def _singular_values(node: Node, g: Node, position: int) -> Node:
    u, _, v = _items(Node(SVD(), node.inputs[0]), 3)
    return _weighted(u, g) @ v


@partial_of(PseudoInverse)
def _pseudo_inverse(node: Node, g: Node, position: int) -> Node | None:
    op = node.op
    assert isinstance(op, PseudoInverse)
    if position:
        return None  # flat in the share that counts as 0
    x, share = node.inputs
    p, h = node.mT, g.mT  # h has the shape of x
    if op.hermitian:
        i, j = positions(x)
        x, h = where(i >= j, x, x.mT), symmetric(h)
    left, right = h @ node, node @ h
    found = (left - x @ (node @ left)) @ p + p @ (right - (right @ node) @ x) - p @ h.mT @ p
    found = found + _of_values_left_out(op, x, h, share)
    return folded(found, node) if op.hermitian else found


@pullback_of(LeastSquares)
def _least_squares(node: Node, g: Node, wanted: Sequence[bool]) -> Cotangents:
    op = node.op
    assert isinstance(op, LeastSquares)
    a, b, share = node.inputs
    back = Node(op, a.mT, g, share)
    if not wanted[0]:
        return [None, back, None]
    found = (b - a @ node) @ Node(op, a, back, share).mT - back @ node.mT
    found = found + Node(op, a.mT, node, share) @ (g - a.mT @ back).mT
    return [found + _of_values_left_out(op, a, b @ g.mT, share), back, None]


def _of_values_left_out(op: PseudoInverse | LeastSquares, x: Node, h: Node, share: Node) -> Node:
    """What singular values add that count as 0 and are not: they turn the vectors of those that count.

    `h`: cotangent of the pseudo-inverse, transposed.
    """
    left, values, across = factors(op, x)
    greatest = greatest_size(values)
    kept = apply("abs", values) > expand_dims(share, share.ndim) * greatest
    out = where(kept, 0.0, values)
    inverse = where(kept, 1.0 / where(kept, values, 1.0), 0.0)
    # Of value i that counts (rows) and value j that does not; elsewhere 0.
    v, w, f = (expand_dims(part, part.ndim) for part in (values, kept, inverse))
    pairs = apply("logical_and", w, apply("logical_not", _columns(kept)))
    weight = where(pairs, f * f * _columns(out), 0.0)
    inner = left.mT @ h @ across.mT
    near, far = (weight / where(pairs, v + sign * _columns(values), 1.0) for sign in (-1.0, 1.0))
    near, far = near + near.mT, far + far.mT
    turned = near * symmetric(inner)
    if not (isinstance(op, PseudoInverse) and op.hermitian):
        turned = turned - far * 0.5 * (inner - inner.mT)
    some = reduce("any", apply("abs", out) > ROUNDING * greatest)
    found = cond(some, left @ turned @ across, full_like(x, 0.0))
    assert isinstance(found, Node)
    return found


# ---- triangular factors


@pullback_of(QR)
def _qr(node: Node, g: Node | Several, wanted: Sequence[bool]) -> Cotangents:
    """Of the first columns of x, as many as there are rows of R: X = Q R. The others are Y = Q V."""
    (x,), op = node.inputs, node.op
    assert isinstance(op, QR)
    m, n = x.static_shape[-2:]
    k = minimum(m, n)
    if isinstance(g, Node):
        g = (None, g)
        q, r = _items(Node(QR(), x), 2)
    else:
        q, r = _items(node, 2)
    if op.mode == "full" and k is not m and k != m:
        if g[0] is not None:
            raise MissingRuleError(
                f"columns of Q beyond those of {describe(x)} have no derivative; use `mode='economic'`, "
                "or lengths that are known to be equal."
            )
        q, r = _items(Node(QR(), x), 2)
        g = (None, None if g[1] is None else getitem(g[1], (..., slice(None, k), slice(None))))
    of_q, of_r = _given(g[0], q), _given(g[1], r)
    first, others = (..., slice(None, k)), (..., slice(k, None))
    square, slope, rest = getitem(r, first), getitem(of_r, first), getitem(of_r, others)
    of_q = of_q + getitem(x, others) @ rest.mT
    inner = square @ slope.mT - of_q.mT @ q
    i, j = positions(inner)
    mirrored = where(i >= j, inner, inner.mT)
    found = _upper_solve(square, (of_q + q @ mirrored).mT).mT
    base = index_set(getitem(full_like(x, 0.0), first), found)
    return [index_set(getitem(base, others), q @ rest)]


@pullback_of(LU)
def _lu(node: Node, g: Several, wanted: Sequence[bool]) -> Cotangents:
    """Of the square part of the exchanged rows, X = L U; rows below are M U, columns beside it L V."""
    (x,) = node.inputs
    if g[0] is None:
        return [None]
    packed, pivots = _items(node, 2)
    m, n = x.static_shape[-2:]
    k = minimum(m, n)
    corner, below, beside = (
        (..., rows, columns)
        for rows, columns in (
            (slice(None, k), slice(None, k)), (slice(k, None), slice(None, k)), (slice(None, k), slice(k, None)),
        )
    )  # fmt: skip
    square, slope = getitem(packed, corner), getitem(g[0], corner)
    i, j = positions(square)
    unit = where(i > j, square, where(eq(i, j), 1.0, 0.0))
    upper = triangle(square, lower=False)
    of_below = _upper_solve(upper, getitem(g[0], below).mT).mT
    of_beside = Node(SolveTriangular(lower=True, transposed=True), unit, getitem(g[0], beside))
    of_lower = slope - of_beside @ getitem(packed, beside).mT
    of_upper = triangle(slope - getitem(packed, below).mT @ of_below, lower=False)
    inner = where(i > j, unit.mT @ where(i > j, of_lower, 0.0) - of_upper @ upper.mT, 0.0)
    # The last pivot divides no column that is below the diagonal: it may be 0.
    last = apply("logical_and", eq(i, j), eq(i, length_of(k) - 1))
    inner = of_upper + _upper_solve(where(last, 1.0, upper), inner.mT).mT
    inner = Node(SolveTriangular(lower=True, transposed=True), unit, inner)
    found = index_set(getitem(full_like(x, 0.0), corner), inner)
    found = index_set(getitem(index_set(getitem(found, below), of_below), beside), of_beside)
    order = Node(PivotPermutation(m, inverse=True), pivots)
    return [take_along_axis(found, expand_dims(order, order.ndim), -2)]


# ---- eigenvalues of any square matrix


@pullback_of(Eig)
def _eig(node: Node, g: Several, wanted: Sequence[bool]) -> Cotangents:
    """With V^-1 dx V = M: eigenvalues change by its diagonal, vectors by what keeps their length 1 and an element real.

    Cotangents of complex numbers are a + i b for a slope a of the real part and b of the imaginary one.
    """
    re, im, x, y = _items(node, 4)
    diagonal, other = _diagonal_matrix(_given(g[0], re)), _diagonal_matrix(_given(g[1], im))
    if g[2] is not None or g[3] is not None:
        a, b = _fixed(_given(g[2], x), _given(g[3], y), x, y)
        first, second = x.mT @ a + y.mT @ b, x.mT @ b - y.mT @ a
        i, j = positions(re)
        off = apply("neq", i, j)
        d, e = _differences(re), where(off, _columns(im) - expand_dims(im, im.ndim), 0.0)
        size = d * d + e * e
        parts = [chosen_columns(part) for part in g[2:] if part is not None]
        chosen = None if any(part is None for part in parts) else functools.reduce(partial(apply, "logical_or"), parts)
        diagonal = diagonal + _among(chosen, where(off, (first * d - second * e) / size, 0.0))
        other = other + _among(chosen, where(off, (first * e + second * d) / size, 0.0))
    return [_back(diagonal, other, x, y)]


@pullback_of(Eigvals)
def _eigvals(node: Node, g: Several, wanted: Sequence[bool]) -> Cotangents:
    re, im, x, y = _items(Node(Eig(), node.inputs[0]), 4)
    return [_back(_diagonal_matrix(_given(g[0], re)), _diagonal_matrix(_given(g[1], im)), x, y)]


def _fixed(a: Node, b: Node, x: Node, y: Node) -> tuple[Node, Node]:
    """Cotangents of vectors, less what would change their lengths and the direction of their leading elements."""
    along = reduce("sum", a * x + b * y, -2, keepdims=True)
    turned = reduce("sum", a * y - b * x, -2, keepdims=True)
    # A row of zeros more: a matrix may have none.
    row = broadcast_to(0.0, (*x.static_shape[:-2], 1, x.static_shape[-1]))
    size = concatenate([x * x + y * y, row], x.ndim - 2)
    large = cast(size >= NEARLY * NEARLY * reduce("max", size, -2, keepdims=True), "int64")
    first = Node(ArgReduce("max", large.ndim - 2), large)
    i, _ = positions(x)
    leading = eq(i, _columns(first))
    return a - along * x, b - along * y + where(leading, turned / where(leading, x, 1.0), 0.0)


def _back(m: Node, n: Node, x: Node, y: Node) -> Node:
    """The real part of V^-H (m + i n) V^H for V = x + i y, with V^H as a real matrix of twice the length."""
    v, w = x.mT, y.mT
    rows, last = x.ndim - 2, x.ndim - 1
    right = concatenate([m @ v + n @ w, n @ v - m @ w], rows)
    matrix = concatenate([concatenate([v, w], last), concatenate([-w, v], last)], rows)
    return getitem(Node(Solve(), matrix, right), (..., slice(None, x.static_shape[-1]), slice(None)))


# ---- no derivative


def _none(instead: str) -> Callable[[Node, object, Sequence[bool]], Cotangents]:
    def row(node: Node, g: object, wanted: Sequence[bool]) -> Cotangents:
        raise MissingRuleError(f"the derivative of `{type(node.op).__name__}` is not known; {instead}.")

    return row


pullback_of(Schur)(_none("eigenvalues have one (`eigvals`)"))
pullback_of(ComplexSchur)(_none("eigenvalues have one (`eigvals`)"))
pullback_of(Householder)(_none("`qr` in the other modes has one"))
for _positions in (PivotPermutation, ColumnOrder):
    no_derivative(_positions, "positions are integers")
