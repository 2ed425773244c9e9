"""Variables in which a log density is quadratic, integrated out of it together, and drawn again given all others.

Factors of a density in, factors without the variables out. A quadratic function is known by its slope and curvature,
which derivatives of the graph give: no form of model is asked for, and none needs a rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from consilience.analysis.separability import links
from consilience.distributions.densities import supported_density
from consilience.elimination import NamedVariable
from consilience.elimination.addends import total
from consilience.errors import ModelError
from consilience.ir import Node, constant, substitute, tensor_input, topological
from consilience.ops.elementwise import StopGradient, apply, cast
from consilience.ops.linalg import cholesky, diagonal, solve_triangular
from consilience.ops.random import draw
from consilience.ops.reduce import reduce
from consilience.ops.shape import reshape
from consilience.record import Record
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient
from consilience.transforms.vectorize import vectorize


class NormalConditional(Record, eq=False):
    """The normal distribution of the variables given all others: a mean, and what makes a deviation of white noise.

    `mean`: of all elements as one vector; of elements that are independent given all others in their own shape.
    `spread`: a deviation from the mean, of standard normal numbers of its shape.
    """

    mean: Node
    spread: Callable[[Node], Node]


class Integral(Record, eq=False):
    """One variable that was integrated out.

    `leaf`: stands for the variable in factors. `conditional`: of all that were integrated out together; the elements of
    this one begin at `start`.
    """

    variable: NamedVariable
    leaf: Node
    conditional: NormalConditional
    start: int
    settled: Node | None = None

    def drawn(self, key: Node) -> Node:
        """The variable given all others; those that were integrated out together need the same key."""
        mean = self.conditional.mean
        whole = mean + self.conditional.spread(draw("random_normal", key, mean.static_shape))
        return _part(whole, self.start, self.leaf)


def integrated(
    factors: Sequence[Node], variables: Sequence[NamedVariable], others: Sequence[Node], given: Mapping[Node, Node]
) -> tuple[list[Node], list[Integral]]:
    """The factors without the variables, as many as before, with the joint log density in place of the first.

    `factors`: log densities over the placeholders of the variables, elementwise. `others`: placeholders of discrete
    variables, and densities of these. `given`: replacements for the nodes of all random variables, with those
    placeholders. Raises ModelError where the log density is not quadratic in the variables, or they act together with
    discrete ones.
    """
    leaves = [given[v.node] for v in variables]
    own = substitute([supported_density(v.node, given[v.node]) for v in variables], given)
    acting = [place for place, factor in enumerate(factors) if _acts(factor, leaves)]
    terms = [*own, *(factors[place] for place in acting)]
    if any(_acts(each, leaves) for each in others) or any(_acts(each, others) for each in terms):
        raise ModelError(
            f"{listed(variables)} and discrete variables that are marginalized act on each other; only one or the "
            "other can be taken out of the density."
        )
    value, conditional = _integral(terms, leaves, variables)
    result = list(factors)
    for place in acting:
        result[place] = value if place == acting[0] else constant(0.0)
    found, start = [], 0
    for variable, leaf in zip(variables, leaves, strict=True):
        found.append(Integral(variable, leaf, conditional, start))
        start += _size(leaf)
    return result, found


def is_quadratic(term: Node, leaves: Sequence[Node]) -> bool:
    """Whether a log density is a quadratic function of all leaves together, or does not depend on them."""
    return not _acts(term, leaves) or _curvature([term], leaves) is not None


def listed(variables: Sequence[NamedVariable]) -> str:
    """Names of variables, for messages."""
    return " and ".join(f"`{v.name}`" for v in variables)


def _acts(node: Node, leaves: Sequence[Node]) -> bool:
    return not set(leaves).isdisjoint(topological([node]))


def _size(leaf: Node) -> int:
    return math.prod(n for n in leaf.static_shape if isinstance(n, int))


def _part(whole: Node, start: int, leaf: Node) -> Node:
    if whole.static_shape == leaf.static_shape and start == 0:
        return cast(whole, leaf.dtype)
    part = whole[start : start + _size(leaf)]
    return cast(reshape(part, leaf.static_shape), leaf.dtype)


class _Curvature(Record, eq=False):
    """A quadratic log density of one tensor: `moved` is its second derivative times a direction."""

    point: Node
    value: Node
    slope: Node
    direction: Node
    moved: Node


def _curvature(terms: Sequence[Node], leaves: Sequence[Node], separable: bool = False) -> _Curvature | None:
    """What is known of the sum of the terms; None where it is not quadratic."""
    if separable:
        (point,) = leaves
    else:
        point = tensor_input("float64", (sum(_size(leaf) for leaf in leaves),))
        parts: dict[Node, Node] = {}
        start = 0
        for leaf in leaves:
            parts[leaf] = _part(point, start, leaf)
            start += _size(leaf)
        terms = substitute(terms, parts)
    (value,) = simplify([total(terms)], keep=[point])
    slope = gradient(value, point)
    direction = tensor_input(point.dtype, point.static_shape)
    (moved,) = simplify([gradient(reduce("sum", slope * direction), point)])
    return None if _acts(moved, [point]) else _Curvature(point, value, slope, direction, moved)


def _integral(
    terms: Sequence[Node], leaves: Sequence[Node], variables: Sequence[NamedVariable]
) -> tuple[Node, NormalConditional]:
    """The logarithm of the integral of exp(the sum of the terms), and the distribution that the terms are of."""
    separable = len(leaves) == 1 and _is_separable(terms, leaves[0])
    known = _curvature(terms, leaves, separable)
    if known is None or not _acts(known.moved, [known.direction]):
        what = "not quadratic in" if known is None else "constant in"
        raise ModelError(f"the log density is {what} {listed(variables)}, so that no normal distribution follows.")

    def at(node: Node, where: Node) -> Node:
        return substitute([node], {known.point: where})[0]

    shape = known.point.static_shape
    if separable:
        (curved,) = substitute([known.moved], {known.direction: constant(np.ones(shape), known.point.dtype)})
        deviation = apply("reciprocal", apply("sqrt", -curved))
        logs = apply("log", deviation)

        def solved(right: Node) -> Node:
            return right * apply("square", deviation)

        def spread(noise: Node) -> Node:
            return noise * deviation

    else:
        (size,) = shape
        assert isinstance(size, int)
        (curved,) = vectorize([known.moved], {known.direction: constant(np.eye(size))})
        factor = cholesky(-curved)
        logs = -apply("log", diagonal(factor))

        def solved(right: Node) -> Node:
            return spread(solve_triangular(factor, right, lower=True))

        def spread(noise: Node) -> Node:
            return solve_triangular(factor, noise, lower=True, trans=1)

    # A step from zero, and one more from there, which takes away what the first one rounded. The value is flat at the
    # mean; derivatives pass through the second step, so that second ones are right, too.
    near = Node(StopGradient(), solved(at(known.slope, constant(np.zeros(shape), known.point.dtype))))
    mean = near + solved(at(known.slope, near))
    spreads = reduce("sum", logs) if logs.ndim else logs
    value = at(known.value, mean) + spreads + _size(known.point) * math.log(2 * math.pi) / 2
    return value, NormalConditional(mean, spread)


def _is_separable(terms: Sequence[Node], leaf: Node) -> bool:
    """Whether elements are independent of each other given all others."""
    needed = {axis for axis, length in enumerate(leaf.static_shape) if length != 1}
    return all(
        needed <= {link.axis for link in (links(term, leaf) or {}).values()} for term in terms if _acts(term, [leaf])
    )


__all__ = ["Integral", "NormalConditional", "integrated", "is_quadratic", "listed"]
