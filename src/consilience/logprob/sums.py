"""Sums of independent variables of one family that are in the family again, and affine combinations where they are."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from consilience.backends.reference import evaluate
from consilience.distributions.counts import Bernoulli, Binomial, NegativeBinomial, Poisson
from consilience.distributions.distribution import Distribution
from consilience.distributions.first_passage import Levy, Wald
from consilience.distributions.gamma_family import ChiSquared
from consilience.distributions.mathematics import absolute, sqrt, square
from consilience.distributions.positive import Exponential, Gamma
from consilience.distributions.random_variable import RandomVariable, distribution_of
from consilience.distributions.real_line import Cauchy, Normal
from consilience.distributions.shapes import spread
from consilience.distributions.skellam import Skellam
from consilience.distributions.waiting_times import Geometric
from consilience.ir import Node, Shape, constant, is_leaf, topological
from consilience.logprob.derivation import are_independent, derive, is_measurable, not_repeated, rule, together
from consilience.logprob.measure import Measure
from consilience.logprob.powers import shift
from consilience.logprob.transformed import Transformed
from consilience.logprob.variables import VariableMeasure, stand_in
from consilience.ops.elementwise import Elementwise
from consilience.ops.index import Index
from consilience.ops.reduce import Reduce, reduce
from consilience.ops.shape import ExpandDims, Reshape, Squeeze, Transpose
from consilience.record import Record

Numbers: TypeAlias = tuple[Node, ...]

# How a number of a sum follows from those of the terms: by a plain sum, or not at all: then they must be equal.
SUM, EQUAL = "sum", "equal"


class Family(Record):
    """Distributions of which sums of independent variables are members again.

    `rules`: per number how that of a sum follows from those of the terms. `member`: the distribution and its
    parameters, from the numbers. `scaled`: the numbers of c X from those of X and c; None for families in which c X is
    not. `signs`: the c for which it is: all, 1 and -1, or those > 0.
    """

    rules: tuple[str, ...]
    member: Callable[..., tuple[type[Distribution], Numbers]]
    scaled: Callable[..., Numbers] | None = None
    signs: str = "all"


NORMAL: Final = Family(
    (SUM, SUM),
    lambda mean, variance: (Normal, (mean, sqrt(variance))),
    lambda c, mean, variance: (c * mean, square(c) * variance),
)
CAUCHY: Final = Family((SUM, SUM), lambda *n: (Cauchy, n), lambda c, median, scale: (c * median, absolute(c) * scale))
COUNTS: Final = Family(
    (SUM, SUM),
    lambda ahead, behind: (Poisson, (ahead,)) if _is_zero(behind) else (Skellam, (ahead, behind)),
    lambda c, ahead, behind: (behind, ahead),
    "-1",
)
TRIALS: Final = Family((SUM, EQUAL), lambda *n: (Binomial, n))
# The number of successes, and the mean number of failures before one.
FAILURES: Final = Family((SUM, EQUAL), lambda n, mean: (NegativeBinomial, (n * mean, n)))
WAITING: Final = Family((SUM, EQUAL), lambda *n: (Gamma, n), lambda c, shape, rate: (shape, rate / c), "positive")
# The mean, and the shape over its square.
PASSAGES: Final = Family(
    (SUM, EQUAL),
    lambda mean, ratio: (Wald, (mean, ratio * square(mean), constant(0.0))),
    lambda c, mean, ratio: (c * mean, ratio / c),
    "positive",
)
# The root of the scale.
LEVY: Final = Family(
    (SUM,), lambda root: (Levy, (constant(0.0), square(root))), lambda c, r: (sqrt(c) * r,), "positive"
)

# Family and numbers of the variables of a distribution, and what is added to them.
MEMBERS: Final[dict[type[Distribution], Callable[[Any], tuple[Family, Numbers, Node | None]]]] = {
    Normal: lambda rv: (NORMAL, (rv.mu, square(rv.sigma)), None),
    Cauchy: lambda rv: (CAUCHY, rv.values, None),
    Poisson: lambda rv: (COUNTS, (rv.mu, constant(0.0)), None),
    Skellam: lambda rv: (COUNTS, rv.values, None),
    Bernoulli: lambda rv: (TRIALS, (constant(1), rv.p), None),
    Binomial: lambda rv: (TRIALS, rv.values, None),
    NegativeBinomial: lambda rv: (FAILURES, (rv.alpha, _quotient(rv.mu, rv.alpha)), None),
    Geometric: lambda rv: (FAILURES, (constant(1.0), (1.0 - rv.p) / rv.p), constant(1)),
    Gamma: lambda rv: (WAITING, rv.values, None),
    Exponential: lambda rv: (WAITING, (constant(1.0), rv.lam), None),
    ChiSquared: lambda rv: (WAITING, (0.5 * rv.nu, constant(0.5)), None),
    Wald: lambda rv: (PASSAGES, (rv.mu, rv.lam / square(rv.mu)), rv.alpha),
    Levy: lambda rv: (LEVY, (sqrt(rv.c),), rv.mu),
}


class Summand(Record):
    """A member of a family plus numbers that are not random, and the random variables that it is made of."""

    family: Family
    numbers: Numbers
    added: tuple[Node, ...]
    shape: Shape
    sources: Any


def term_of(node: Node) -> Summand | None:
    """The node as a member of a family; None where it is none."""
    op = node.op
    if isinstance(op, RandomVariable | Index | Reshape | Transpose | ExpandDims | Squeeze):
        return _of_variable(node)
    if isinstance(op, Reduce) and op.kind == "sum":
        return _of_reduction(node, op.axes)
    if not isinstance(op, Elementwise):
        return None
    if op.function in ("add", "sub"):
        return _of_operands(node, op.function)
    if op.function == "neg":
        return _scaled(term_of(node.inputs[0]), constant(-1))
    if op.function in ("mul", "true_div"):
        random = [i for i, operand in enumerate(node.inputs) if is_measurable(operand)]
        if len(random) != 1 or (op.function == "true_div" and random != [0]):
            return None
        others = [operand for i, operand in enumerate(node.inputs) if i not in random]
        factor = functools.reduce(operator.mul, others)
        if not not_repeated(node, node.inputs[random[0]]):
            return None
        return _scaled(term_of(node.inputs[random[0]]), factor if op.function == "mul" else 1.0 / factor)
    return None


def _of_variable(node: Node) -> Summand | None:
    if any(is_measurable(array) for array in node.inputs[1:]) and not isinstance(node.op, RandomVariable):
        return None
    measure = derive(node)
    if not isinstance(measure, VariableMeasure):
        return None
    bound = distribution_of(measure.node)
    if type(bound) not in MEMBERS:
        return None
    family, numbers, added = MEMBERS[type(bound)](bound)
    kept = () if added is None or _is_zero(added) else (added,)
    return Summand(family, numbers, kept, measure.shape, measure.sources)


def _scaled(term: Summand | None, factor: Node) -> Summand | None:
    if term is None or term.family.scaled is None:
        return None
    known = _known(factor)
    signs = term.family.signs
    if signs != "all" and (known is None or not (known == -1 if signs == "-1" else known > 0).all()):
        return None
    added = tuple(factor * number for number in term.added)
    return Summand(term.family, term.family.scaled(factor, *term.numbers), added, term.shape, term.sources)


def _of_operands(node: Node, function: str) -> Summand | None:
    terms: list[Summand] = []
    added: list[Node] = []
    for place, operand in enumerate(node.inputs):
        negative = function == "sub" and place == 1
        if not is_measurable(operand):
            added.append(-operand if negative else operand)
            continue
        term = term_of(operand)
        term = _scaled(term, constant(-1)) if negative else term
        if term is None or not not_repeated(node, operand) or (terms and terms[0].family is not term.family):
            return None
        terms.append(term)
        added += term.added
    family = terms[0].family
    combined = []
    for values, how in zip(zip(*(term.numbers for term in terms), strict=True), family.rules, strict=True):
        if how == EQUAL and not all(_equal(values[0], value) for value in values[1:]):
            return None
        combined.append(values[0] if how == EQUAL else functools.reduce(operator.add, values))
    parts = [term.sources for term in terms]
    if not are_independent(parts):
        return None
    return Summand(family, tuple(combined), tuple(added), node.static_shape, together(node, parts))


def _of_reduction(node: Node, axes: tuple[int, ...]) -> Summand | None:
    (argument,) = node.inputs
    term = term_of(argument)
    if term is None:
        return None
    shape = argument.static_shape
    combined = []
    for value, how in zip(term.numbers, term.family.rules, strict=True):
        if how == SUM:
            combined.append(reduce("sum", spread(value, shape), axes))
            continue
        if not all(_same_along(value, axis - len(shape)) for axis in axes):
            return None
        combined.append(reduce("max", spread(value, shape), axes) if value.ndim else value)
    added = tuple(reduce("sum", spread(number, shape), axes) for number in term.added)
    return Summand(term.family, tuple(combined), added, node.static_shape, term.sources)


def _quotient(a: Node, b: Node) -> Node:
    """a / b; where a is a quotient of which b is a factor, without b."""
    if isinstance(a.op, Elementwise) and a.op.function == "true_div":
        numerator, denominator = a.inputs
        if isinstance(numerator.op, Elementwise) and numerator.op.function == "mul" and b in numerator.inputs:
            rest = [factor for factor in numerator.inputs if factor is not b]
            if len(rest) == len(numerator.inputs) - 1:
                return functools.reduce(operator.mul, rest) / denominator
    return a / b


def _known(node: Node) -> Any:
    """The value of an expression of constants; None for others."""
    if any(is_leaf(n) or isinstance(n.op, RandomVariable) for n in topological([node])):
        return None
    return np.asarray(evaluate([node], {})[0])


def _same_along(value: Node, axis: int) -> bool:
    """Whether a number is the same along an axis, counted from the end."""
    if value.ndim < -axis or value.static_shape[axis] == 1:
        return True
    known = _known(value)
    return known is not None and bool(np.allclose(known, known.take([0], axis), rtol=1e-14, atol=0))


def _is_zero(node: Node) -> bool:
    known = _known(node)
    return known is not None and not known.any()


def _equal(a: Node, b: Node) -> bool:
    first, second = _known(a), _known(b)
    if first is None or second is None or not first.size or not second.size:
        return a is b
    # Numbers computed from parameters carry a few roundings.
    return bool(np.allclose([first.min(), first.max(), second.min(), second.max()], first.flat[0], rtol=1e-14, atol=0))


def _measure(node: Node, term: Summand) -> Measure:
    distribution, parameters = term.family.member(*term.numbers)
    made = VariableMeasure(stand_in(distribution.variable(parameters, node.static_shape), term.sources))
    return Transformed(node, made, shift(functools.reduce(operator.add, term.added))) if term.added else made


@rule("add", "sub")
def sum_of_variables(node: Node) -> Measure | None:
    """Several random terms, and numbers."""
    random = [operand for operand in node.inputs if is_measurable(operand)]
    if len(random) < 2 or len(set(random)) < len(random):
        return None
    term = term_of(node)
    return None if term is None else _measure(node, term)


@rule(Reduce)
def sum_over_axes(node: Node) -> Measure | None:
    """A sum of the elements of a tensor."""
    term = term_of(node)
    return None if term is None else _measure(node, term)
