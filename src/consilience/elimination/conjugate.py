"""Variables of which a log density is linear in sufficient statistics, integrated out of it, and drawn again.

Terms of a density that depend on a variable in; the logarithm of their integral over it, and its distribution given all
else, out. Nothing is known of distributions: a density `a log x + b x + c` of positive x is that of a Gamma variable,
and has the integral of one, wherever it comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from consilience.distributions.constraints import Constraint, IntervalConstraint, PositiveDefinite, SimplexConstraint
from consilience.distributions.densities import support_of
from consilience.distributions.simplex import log_gamma_draw
from consilience.elimination.addends import total
from consilience.elimination.polynomial import degrees, number_of
from consilience.elimination.statistics import LOG, LOG_OF_REST, NotLinear, Statistic, Statistics
from consilience.ir import Node, constant, substitute
from consilience.ops.elementwise import apply, as_tensor, cast
from consilience.ops.index import getitem
from consilience.ops.linalg import cholesky, diagonal, matmul, matrix_transpose, solve_triangular
from consilience.ops.random import fold_in
from consilience.ops.reduce import reduce, softmax
from consilience.ops.shape import broadcast_to
from consilience.record import Record
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient


class Conjugate(Record, eq=False):
    """The integral over a variable, and a draw of it given all else.

    `family`: the name of that distribution.
    `value`: the logarithm of the integral, a scalar.
    `drawn`: the variable given all else, from a key.
    """

    family: str
    value: Node
    drawn: Callable[[Node], Node]


def conjugate(variable: Node, leaf: Node, terms: Sequence[Node]) -> Conjugate | None:
    """The integral of exp(the sum of the terms) over a variable; None where no family here has such a density.

    `variable`: the random variable.
    `leaf`: stands for it in the terms, of which its own log density is one.
    """
    found = statistics_of(variable, leaf, terms)
    if found is None:
        return None
    family, rewritten, statistics = found
    inputs = list(statistics.values())
    zero = {own: broadcast_to(constant(0.0, own.dtype), own.static_shape) for own in inputs}
    (whole,) = simplify([total(rewritten)], keep=inputs)
    rest, *slopes = simplify(substitute([whole, *gradient(whole, inputs)], zero))
    return family(leaf, rest, dict(zip(statistics, slopes, strict=True)))


def statistics_of(
    variable: Node, leaf: Node, terms: Sequence[Node]
) -> tuple[Family, list[Node], dict[Statistic, Node]] | None:
    """What integrates over a variable, the terms by its statistics, in which they are linear, and these; or None."""
    family = family_of(support_of(variable))
    if family is None:
        return None
    if family is matrices:
        from consilience.elimination.matrix_statistics import MatrixStatistics  # few models need it

        statistics: Statistics = MatrixStatistics(leaf)
    else:
        statistics = Statistics(leaf, family is not positive, family is shares)
    try:
        rewritten = statistics.of(terms)
    except NotLinear:
        return None
    inputs = statistics.inputs
    linear = all(degree <= 1 for degree in degrees(rewritten, list(inputs.values())))
    return (family, rewritten, inputs) if linear and is_proper(family, inputs) else None


def is_proper(family: Family, statistics: Collection[Statistic]) -> bool:
    """Whether a family has densities with these statistics."""
    if family in (positive, matrices):
        return sum(isinstance(own, float) for own in statistics) == 1 and LOG_OF_REST not in statistics
    return set(statistics) <= ({LOG, LOG_OF_REST} if family is between else {LOG})


Family: TypeAlias = Callable[[Node, Node, dict[Statistic, Node]], Conjugate]


def family_of(support: Constraint) -> Family | None:
    """What integrates over a support."""
    if isinstance(support, SimplexConstraint):
        return shares
    if type(support) is PositiveDefinite:  # correlation matrices are of it, too
        return matrices
    if isinstance(support, IntervalConstraint):
        ends = [number_of(as_tensor(end)) for end in (support.lower, support.upper)]
        return positive if ends == [0.0, math.inf] else between if ends == [0.0, 1.0] else None
    return None


def positive(leaf: Node, rest: Node, slopes: dict[Statistic, Node]) -> Conjugate:
    """`a log x + b x^k`: x^k follows a Gamma distribution."""
    powers = [statistic for statistic in slopes if isinstance(statistic, float)]
    (k,) = powers
    alpha = (slopes.get(LOG, constant(0.0, leaf.dtype)) + 1.0) / k
    rate = -slopes[k]
    value = rest + _sum(apply("gammaln", alpha) - alpha * apply("log", rate) - math.log(abs(k)), leaf)

    def drawn(key: Node) -> Node:
        return apply("exp", (log_gamma_draw(key, leaf.static_shape, alpha) - apply("log", rate)) / k)

    return Conjugate("Gamma" if k > 0 else "inverse Gamma", value, drawn)


def between(leaf: Node, rest: Node, slopes: dict[Statistic, Node]) -> Conjugate:
    """`a log p + b log(1 - p)`: a Beta distribution."""
    a, b = (slopes.get(name, constant(0.0, leaf.dtype)) + 1.0 for name in (LOG, LOG_OF_REST))
    value = rest + _sum(apply("betaln", a, b), leaf)

    def drawn(key: Node) -> Node:
        one, other = (
            log_gamma_draw(fold_in(key, place), leaf.static_shape, alpha) for place, alpha in enumerate((a, b))
        )
        return apply("sigmoid", one - other)

    return Conjugate("Beta", value, drawn)


def shares(leaf: Node, rest: Node, slopes: dict[Statistic, Node]) -> Conjugate:
    """`sum(a_k log p_k)`: a Dirichlet distribution."""
    a = slopes.get(LOG, broadcast_to(constant(0.0, leaf.dtype), leaf.static_shape)) + 1.0
    own = reduce("sum", apply("gammaln", a), -1) - apply("gammaln", reduce("sum", a, -1))
    value = rest + (reduce("sum", own) if own.ndim else own)
    return Conjugate(
        "Dirichlet", value, lambda key: cast(softmax(log_gamma_draw(key, leaf.static_shape, a), -1), leaf.dtype)
    )


def matrices(leaf: Node, rest: Node, slopes: dict[Statistic, Node]) -> Conjugate:
    """`a log det X - tr(C X^k) / 2`, where k is 1 or -1: X^k follows a Wishart distribution of scale C^-1."""
    from consilience.distributions.wishart import bartlett_factor, log_multivariate_gamma  # few models need these

    order = leaf.static_shape[-1]
    assert isinstance(order, int)
    k = 1.0 if 1.0 in slopes else -1.0
    a = getitem(slopes[LOG], (..., 0, 0)) if LOG in slopes else constant(0.0, leaf.dtype)
    nu = broadcast_to(k * (2.0 * a + (order + 1.0)), leaf.static_shape[:-2])
    root = cholesky(-(slopes[k] + matrix_transpose(slopes[k])))
    log_det = 2.0 * reduce("sum", apply("log", diagonal(root)), -1)
    each = log_multivariate_gamma(0.5 * nu, order) + 0.5 * nu * (order * math.log(2.0) - log_det)
    value = rest + (reduce("sum", each) if each.ndim else each)

    def drawn(key: Node) -> Node:
        factor = bartlett_factor(key, leaf.static_shape, nu)
        if k > 0:
            half = matrix_transpose(solve_triangular(root, factor, lower=True, trans=1))
        else:
            half = solve_triangular(factor, matrix_transpose(root), lower=True)
        return matmul(matrix_transpose(half), half)

    return Conjugate("Wishart" if k > 0 else "inverse Wishart", value, drawn)


def _sum(each: Node, leaf: Node) -> Node:
    """The sum over all elements of the variable."""
    each = broadcast_to(each, leaf.static_shape)
    return reduce("sum", each) if each.ndim else each


__all__: Final = ["Conjugate", "conjugate", "family_of", "statistics_of"]
