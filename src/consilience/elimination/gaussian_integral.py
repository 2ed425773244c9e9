"""Variables in which a log density is quadratic, integrated out of it together, and drawn again given all others.

Factors of a density in, factors without the variables out. A quadratic function is known by its slope and curvature,
which derivatives of the graph give: no form of model is asked for, and none needs a rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.analysis.separability import links
from consilience.distributions.mathematics import less, where
from consilience.elimination import NamedVariable, acts
from consilience.elimination.addends import total
from consilience.elimination.polynomial import degrees
from consilience.errors import ModelError
from consilience.ir import Node, constant, constant_value, substitute, tensor_input
from consilience.ops.elementwise import StopGradient, apply, cast
from consilience.ops.index import getitem
from consilience.ops.linalg import cholesky, diagonal, solve_triangular
from consilience.ops.random import draw
from consilience.ops.reduce import reduce
from consilience.ops.shape import concatenate, eye, full, reshape
from consilience.ops.sparse.factorisation import cholesky as sparse_cholesky
from consilience.ops.sparse.variable import SparseVariable
from consilience.record import Record
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient
from consilience.transforms.vectorize import vectorize

# Elements up to which a dense factor is taken without a look at the pattern, and the share of a dense factor's entries
# above which it is taken in any case.
SMALL: Final = 24
FULL: Final = 0.3
PARTNERS: Final = (64, 16)  # of an element in the band; those with more have full columns
# What is left of an element's precision once those before it are known, of it all: with less no digits of it are left,
# as those of data beside a walk whose steps are next to nothing. Then there is no value.
LOST: Final = 1e-13


class FactorForm(Record):
    """What a precision is factored by.

    `kind`: in words.
    `sparse`: whether the factor is sparse; of such a one only first derivatives are known.
    `sums`: whether a long sum of the elements is beside it.
    """

    kind: str
    sparse: bool = False
    sums: bool = False


ALONE: Final = FactorForm("normal, each element alone")
DENSE: Final = FactorForm("normal, by a dense factor")
SPARSE: Final = FactorForm("normal, by a sparse factor", sparse=True)
DIAGONAL: Final = FactorForm("normal, by the diagonal of the precision")
CORRELATED: Final = FactorForm("normal, by the diagonal of the precision and correlations at a reference")
WITH_A_SUM: Final = FactorForm("normal, by a sparse factor and a sum", sparse=True, sums=True)


class NormalIntegral(Record, eq=False):
    """The integral over variables that are jointly normal given all others, and draws of them.

    `form`: the factor of their precision.
    `joined`: elements of the largest set that are not independent of each other.
    `value`: the logarithm of the integral, a scalar.
    `drawn`: each variable given all others, from a key that is the same for all of them.
    """

    form: FactorForm
    joined: int
    value: Node
    drawn: Sequence[Callable[[Node], Node]]


def is_quadratic(term: Node, leaves: Sequence[Node]) -> bool:
    """Whether a log density is a quadratic function of all leaves together, or does not depend on them."""
    return not acts(term, leaves) or _curvature([term], leaves) is not None


def listed(variables: Sequence[NamedVariable]) -> str:
    """Names of variables, for messages."""
    return " and ".join(f"`{v.name}`" for v in variables)


def size_of(leaf: Node) -> int:
    """Elements of a variable of a known shape."""
    return math.prod(n for n in leaf.static_shape if isinstance(n, int))


def parted(whole: Node, leaves: Sequence[Node]) -> list[Node]:
    """A vector of the elements of all leaves as one value of the shape of each."""
    starts = np.cumsum([0, *(size_of(leaf) for leaf in leaves)])
    return [_part(whole, int(start), leaf) for start, leaf in zip(starts, leaves, strict=False)]


def _part(whole: Node, start: int, leaf: Node) -> Node:
    if whole.static_shape == leaf.static_shape and start == 0:
        return cast(whole, leaf.dtype)
    part = whole[start : start + size_of(leaf)]
    return cast(reshape(part, leaf.static_shape), leaf.dtype)


class _Curvature(Record, eq=False):
    """A quadratic log density of one tensor: `moved` is its second derivative times a direction.

    `sizes`: elements of the variables that the tensor holds one after the other.
    """

    sizes: Sequence[int]
    point: Node
    value: Node
    slope: Node
    direction: Node
    moved: Node


def _curvature(terms: Sequence[Node], leaves: Sequence[Node], shaped: bool = False) -> _Curvature | None:
    """What is known of the sum of the terms; None where it is not quadratic. `shaped`: of the one leaf as it is."""
    if shaped:
        (point,) = leaves
    else:
        point = tensor_input("float64", (sum(size_of(leaf) for leaf in leaves),))
        parts: dict[Node, Node] = {}
        start = 0
        for leaf in leaves:
            parts[leaf] = _part(point, start, leaf)
            start += size_of(leaf)
        terms = substitute(terms, parts)
    (value,) = simplify([total(terms)], keep=[point])
    slope = gradient(value, point)
    direction = tensor_input(point.dtype, point.static_shape)
    (moved,) = simplify([gradient(reduce("sum", slope * direction), point)])
    # Derivatives alone do not tell: those of |x|, of a maximum and of what a comparison chooses are constants, too.
    if min(degrees([total(terms), value], [point])) > 2:
        return None
    if acts(moved, [point]):
        (moved,) = simplify(substitute([moved], {point: constant(np.zeros(point.static_shape), point.dtype)}))
    return _Curvature([size_of(leaf) for leaf in leaves], point, value, slope, direction, moved)


class _Factor(Record, eq=False):
    """A factor of the precision: `solved` divides by it, `spread` makes deviations of standard normal numbers.

    `logs`: of which the sum is half the logarithm of the determinant of the covariance.
    """

    form: FactorForm
    joined: int
    logs: Node
    solved: Callable[[Node], Node]
    spread: Callable[[Node], Node]


class NormalGivenOthers(Record, eq=False):
    """The normal distribution with a quadratic log density, of all variables as one value.

    Parameters
    ----------
    form : FactorForm
        The factor of their precision.
    joined : int
        Elements of the largest set that are not independent of each other.
    value : TensorVariable
        The log density as a function of `point`.
    mean : TensorVariable
        Where it is greatest. Its first derivatives are right, second ones where the factor is not sparse.
    volume : TensorVariable
        Half the logarithm of the determinant of the covariance.
    spread : callable
        Makes deviations from the mean of standard normal numbers.
    """

    form: FactorForm
    joined: int
    point: Node
    value: Node
    mean: Node
    volume: Node
    spread: Callable[[Node], Node]


def conditional(terms: Sequence[Node], leaves: Sequence[Node]) -> NormalGivenOthers | None:
    """Of the sum of the terms; None where it is not quadratic in the leaves, or does not bend."""
    separable = is_separable(terms, leaves)
    known = _curvature(terms, leaves, separable and len(leaves) == 1)
    if known is None or not acts(known.moved, [known.direction]):
        return None
    factor = _diagonal(known) if separable else _factor(known)
    # A step from zero, and one more from there, which takes away what the first one rounded. Derivatives pass through
    # the second step, so that second ones are right, too.
    start = constant(np.zeros(known.point.static_shape), known.point.dtype)
    near = Node(StopGradient(), factor.solved(substitute([known.slope], {known.point: start})[0]))
    mean = near + factor.solved(substitute([known.slope], {known.point: near})[0])
    volume = reduce("sum", factor.logs) if factor.logs.ndim else factor.logs
    return NormalGivenOthers(factor.form, factor.joined, known.point, known.value, mean, volume, factor.spread)


def precision_among(terms: Sequence[Node], leaves: Sequence[Node], places: npt.NDArray[np.int64]) -> Node | None:
    """Entries of the precision of all leaves as one value, between some of its elements; None as of `conditional`."""
    known = _curvature(terms, leaves)
    if known is None:
        return None
    (size,) = known.point.static_shape
    assert isinstance(size, int)
    units = np.zeros((len(places), size))
    units[np.arange(len(places)), places] = 1.0
    (moved,) = vectorize([known.moved], {known.direction: constant(units)})
    return -getitem(moved, (slice(None), constant(places)))


def normal_integral(
    terms: Sequence[Node], leaves: Sequence[Node], variables: Sequence[NamedVariable]
) -> NormalIntegral:
    """The logarithm of the integral of exp(the sum of the terms), and draws of the distribution that they are of.

    Raises
    ------
    ModelError
        Where the log density is not quadratic in the variables.
    """
    own = conditional(terms, leaves)
    if own is None:
        raise ModelError(
            f"the log density is not quadratic in {listed(variables)}, or constant, so that no normal distribution "
            "follows."
        )
    # The value is flat at the mean.
    flat = Node(StopGradient(), own.mean) if own.form.sparse else own.mean
    (highest,) = substitute([own.value], {own.point: flat})
    value = highest + own.volume + size_of(own.point) * math.log(2 * math.pi) / 2

    def drawn(place: int, key: Node) -> Node:
        noise = draw("random_normal", key, own.point.static_shape)
        return parted(own.mean + own.spread(noise), leaves)[place]

    return NormalIntegral(own.form, own.joined, value, [partial(drawn, place) for place in range(len(leaves))])


def _diagonal(known: _Curvature) -> _Factor:
    (curved,) = substitute(
        [known.moved], {known.direction: constant(np.ones(known.point.static_shape), known.point.dtype)}
    )
    deviation = apply("reciprocal", apply("sqrt", -curved))
    return _Factor(
        ALONE,
        1,
        apply("log", deviation),
        lambda right: right * apply("square", deviation),
        lambda noise: noise * deviation,
    )


def _factor(known: _Curvature) -> _Factor:
    (size,) = known.point.static_shape
    assert isinstance(size, int)
    found = _sparse(known, size) if size > SMALL else None
    if found is not None:
        return found
    curved = _lower_blocks(known)
    factor = cholesky(-curved)

    def spread(noise: Node) -> Node:
        return solve_triangular(factor, noise, lower=True, trans=1)

    return _Factor(
        DENSE,
        size,
        _with_digits(-apply("log", diagonal(factor)), apply("square", diagonal(factor)), -diagonal(curved)),
        lambda right: spread(solve_triangular(factor, right, lower=True)),
        spread,
    )


def _lower_blocks(known: _Curvature) -> Node:
    """The second derivative, with zeros right of the blocks on its diagonal: small variables share one.

    Products with unit vectors of one variable leave nothing of the terms of others, and its own elements as they are.
    """
    blocks: list[int] = []
    small = False
    for size in known.sizes:
        if small and size <= SMALL:
            blocks[-1] += size
        else:
            blocks.append(size)
        small = size <= SMALL
    length, stop, dtype = sum(blocks), 0, known.point.dtype
    rows: list[Node] = []
    for size in blocks:
        before, stop = full((size, stop), -0.0, dtype), stop + size  # -0, which is nothing added
        behind = full((size, length - stop), -0.0, dtype)
        (moved,) = vectorize([known.moved], {known.direction: _beside([before, eye(size, dtype=dtype), behind])})
        rows.append(_beside([moved[:, :stop], behind]))
    return concatenate(rows, axis=0) if len(rows) > 1 else rows[0]


def _beside(parts: Sequence[Node]) -> Node:
    """Matrices of as many rows, those without columns left out."""
    wide = [part for part in parts if part.static_shape[1]]
    return concatenate(wide, axis=1) if len(wide) > 1 else wide[0]


def _sparse(known: _Curvature, size: int) -> _Factor | None:
    """By a sparse factor, or none where the pattern depends on what is not known yet, or is nearly full."""
    from scipy import sparse as matrices
    from scipy.sparse.csgraph import connected_components

    from consilience.elimination.curvature_pattern import pattern_of
    from consilience.native.colouring import colours_of

    found = None
    for most in PARTNERS:  # fewer partners where these need many products: a sum of so many has one of its own
        pattern = pattern_of(known.value, known.point, most)
        if pattern is not None:
            own = colours_of(pattern.pairs.tocsr())
            products = int(own.max()) + 1 + len(pattern.shared)
            if found is None or (products < found[0] and pattern.sums.nnz):
                found = products, pattern, own
        if found is not None and found[0] <= PARTNERS[-1]:
            break
    if found is None:
        return None
    _, pattern, colours = found
    pairs, shared = pattern.pairs.tocsr(), pattern.shared
    longs = pattern.sums.toarray()[np.diff(pattern.sums.indptr) > 0]
    if len(longs) > 1:
        return None
    if not len(shared) and not len(longs) and pairs.nnz == size:
        return _diagonal(known)
    # Columns that one product with the curvature tells apart, and full ones by themselves.
    count = int(colours.max()) + 1
    colours[shared] = count + np.arange(len(shared))
    seeds = np.zeros((count + len(shared), size))
    seeds[colours, np.arange(size)] = 1.0
    whole = pairs.tolil()
    for column in shared:
        whole[column, :] = whole[:, column] = True
    entries = matrices.csr_matrix(whole)
    entries.sort_indices()
    rows = np.repeat(np.arange(size), np.diff(entries.indptr))
    columns = entries.indices.astype(np.int64)
    # What lies in a full row or column is read from the product that has nothing else.
    is_full = np.zeros(size, bool)
    is_full[shared] = True
    source = np.where(is_full[rows], rows, columns)
    target = np.where(is_full[rows], columns, rows)
    (moved,) = vectorize([known.moved], {known.direction: constant(seeds)})
    values = -getitem(reshape(moved, (-1,)), (constant(colours[source] * size + target),))
    weight = None
    if len(longs):
        (along,) = longs
        weight = _weight(known, along, pairs)
        if weight is None:
            return None
        values = values - weight * constant(along[target] * (seeds @ along)[colours[source]])
    begins, places = constant(entries.indptr.astype(np.int32)), constant(columns.astype(np.int32))
    joined = int(np.bincount(connected_components(entries, directed=False)[1]).max())
    factor = sparse_cholesky(SparseVariable(values, places, begins, (size, size), "csr"))
    held = constant_value(factor.L.indptr)
    assert held is not None
    if held[-1] > FULL * size * (size + 1) / 2:
        return None
    roots = getitem(factor.L.data, (constant(held[:-1].astype(np.int64)),))
    precisions = getitem(values, (constant(np.flatnonzero(rows == columns)[factor.P]),))
    logs = _with_digits(-apply("log", roots), apply("square", roots), precisions)
    if weight is None:
        return _Factor(SPARSE, joined, logs, factor.solve, factor.correlate)
    # The matrix is L (I + c w w') L', and the inverse of the middle one has the root I - k w w' (Sherman and Morrison).
    w = factor.whitened(along)
    squared = weight * reduce("sum", w * w)
    t, root = factor.solve(along), apply("sqrt", 1.0 + squared)
    kept = weight / (root * (1.0 + root))

    def solved(right: Node) -> Node:
        return factor.solve(right) - t * (reduce("sum", t * right) * weight / (1.0 + squared))

    def spread(noise: Node) -> Node:
        return factor.correlate(noise - w * (kept * reduce("sum", w * noise)))

    return _Factor(WITH_A_SUM, size, reduce("sum", logs) - apply("log", root), solved, spread)


def _weight(known: _Curvature, along: np.ndarray, pairs: Any) -> Node | None:
    """What multiplies a a' in the precision, from an entry that has nothing else; None where there is none such."""
    places = np.flatnonzero(along)
    for i in places[: PARTNERS[0]]:
        free = np.setdiff1d(places, pairs[int(i)].indices)
        if len(free):
            j = int(free[np.argmax(np.abs(along[free]))])
            unit = np.zeros(len(along))
            unit[i] = 1.0
            (column,) = substitute([known.moved], {known.direction: constant(unit, known.point.dtype)})
            entry: Node = getitem(column, (j,))
            return entry * float(-1.0 / (along[i] * along[j]))
    return None


def _with_digits(logs: Node, pivots: Node, precisions: Node) -> Node:
    """Logarithms of pivots of a factor; NaN where rounding has taken all digits of one."""
    return where(less(pivots, LOST * precisions), np.nan, logs)


def is_separable(terms: Sequence[Node], leaves: Sequence[Node]) -> bool:
    """Whether elements are independent of each other given all others, as far as is seen without derivatives."""
    for term in terms:
        acting = [leaf for leaf in leaves if acts(term, [leaf])]
        if len(acting) > 1:
            return False
        for leaf in acting:
            needed = {axis for axis, length in enumerate(leaf.static_shape) if length != 1}
            if not needed <= {link.axis for link in (links(term, leaf) or {}).values()}:
                return False
    return True


__all__ = [
    "NormalGivenOthers",
    "NormalIntegral",
    "conditional",
    "is_quadratic",
    "is_separable",
    "listed",
    "normal_integral",
    "parted",
    "precision_among",
    "size_of",
]
