"""Sums of independent variables of one family that are in the family again, and affine combinations of normal ones."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, Final

from consilience.distributions.counts import Binomial, Poisson
from consilience.distributions.distribution import Distribution
from consilience.distributions.mathematics import absolute, sqrt, square
from consilience.distributions.positive import Exponential, Gamma
from consilience.distributions.random_variable import RandomVariable, distribution_of
from consilience.distributions.real_line import Cauchy, Normal
from consilience.distributions.shapes import spread
from consilience.ir import Node, Shape, constant, constant_value
from consilience.logprob.derivation import are_independent, derive, is_measurable, not_repeated, rule, together
from consilience.logprob.measure import Measure, Sources
from consilience.logprob.powers import shift
from consilience.logprob.transformed import Transformed
from consilience.logprob.variables import VariableMeasure, stand_in
from consilience.ops.elementwise import Elementwise
from consilience.ops.index import Index
from consilience.ops.reduce import Reduce, reduce
from consilience.ops.shape import ExpandDims, Reshape, Squeeze, Transpose
from consilience.record import Record

# How the parameters of a sum follow from those of the terms: in order, by a plain sum, by the root of the sum of
# squares, or not at all: then they must be equal. True for families in which x + c and c x are too.
SUM, SQUARES, EQUAL = "sum", "squares", "equal"
FAMILIES: Final[dict[type[Distribution], tuple[tuple[str, ...], bool]]] = {
    Normal: ((SUM, SQUARES), True),
    Cauchy: ((SUM, SUM), True),
    Poisson: ((SUM,), False),
    Gamma: ((SUM, EQUAL), False),
    Binomial: ((SUM, EQUAL), False),
}


class FamilyMember(Record):
    """A random number of a family, by its parameters, and the random variables that it is made of."""

    family: type[Distribution]
    parameters: tuple[Node, ...]
    shape: Shape
    sources: Any


def term_of(node: Node) -> FamilyMember | None:
    """The node as a variable of a family; None where it is none."""
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
        return _scaled(term_of(node.inputs[0]), constant(-1.0))
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


def _of_variable(node: Node) -> FamilyMember | None:
    if any(is_measurable(array) for array in node.inputs[1:]) and not isinstance(node.op, RandomVariable):
        return None
    measure = derive(node)
    if not isinstance(measure, VariableMeasure):
        return None
    bound = distribution_of(measure.node)
    if type(bound) is Exponential:
        return FamilyMember(Gamma, (constant(1.0), bound.lam), measure.shape, measure.sources)
    return FamilyMember(type(bound), bound.values, measure.shape, measure.sources) if type(bound) in FAMILIES else None


def _scaled(term: FamilyMember | None, factor: Node) -> FamilyMember | None:
    if term is None or not FAMILIES[term.family][1]:
        return None
    location, scale = term.parameters
    return FamilyMember(term.family, (factor * location, absolute(factor) * scale), term.shape, term.sources)


def _of_operands(node: Node, function: str) -> FamilyMember | None:
    terms: list[FamilyMember] = []
    shifts: list[Node] = []
    for place, operand in enumerate(node.inputs):
        negative = function == "sub" and place == 1
        if not is_measurable(operand):
            shifts.append(-operand if negative else operand)
            continue
        term = term_of(operand)
        term = _scaled(term, constant(-1.0)) if negative else term
        if term is None or not not_repeated(node, operand) or (terms and terms[0].family is not term.family):
            return None
        terms.append(term)
    family = terms[0].family
    rules, affine = FAMILIES[family]
    if shifts and not affine:
        return None
    combined = []
    for place, how in enumerate(rules):
        values = [term.parameters[place] for term in terms]
        if how == EQUAL and not all(_equal(values[0], value) for value in values[1:]):
            return None
        combined.append(values[0] if how == EQUAL else _total(how, values))
    if shifts:
        combined[0] = functools.reduce(operator.add, shifts, combined[0])
    parts = [
        Measure(operand, term.sources) for operand, term in zip(filter(is_measurable, node.inputs), terms, strict=True)
    ]
    if not are_independent(parts):
        return None
    return FamilyMember(family, tuple(combined), node.static_shape, together(node, parts))


def _of_reduction(node: Node, axes: tuple[int, ...]) -> FamilyMember | None:
    (argument,) = node.inputs
    term = term_of(argument)
    if term is None:
        return None
    shape = argument.static_shape
    combined = []
    for value, how in zip(term.parameters, FAMILIES[term.family][0], strict=True):
        if how == EQUAL:
            if any(value.ndim >= len(shape) - axis and value.static_shape[axis - len(shape)] != 1 for axis in axes):
                return None
            full = spread(value, shape) if value.ndim else value
            combined.append(reduce("max", full, axes) if value.ndim else value)
            continue
        full = spread(value, shape)
        combined.append(reduce("sum", full, axes) if how == SUM else sqrt(reduce("sum", square(full), axes)))
    return FamilyMember(term.family, tuple(combined), node.static_shape, term.sources)


def _total(how: str, values: Sequence[Node]) -> Node:
    if len(values) == 1:
        return values[0]
    if how == SUM:
        return functools.reduce(operator.add, values)
    return sqrt(functools.reduce(operator.add, [square(value) for value in values]))


def _equal(a: Node, b: Node) -> bool:
    first, second = constant_value(a), constant_value(b)
    if first is None or second is None or not first.size or not second.size:
        return a is b
    return bool((first == first.flat[0]).all() and (second == first.flat[0]).all())


def _variable(node: Node, term: FamilyMember) -> Measure:
    sources: Sources = term.sources
    made = term.family.variable(term.parameters, node.static_shape)
    return VariableMeasure(stand_in(made, sources))


@rule("add", "sub")
def sum_of_variables(node: Node) -> Measure | None:
    """Several random terms, and numbers."""
    assert isinstance(node.op, Elementwise)
    random = [operand for operand in node.inputs if is_measurable(operand)]
    if len(random) < 2 or len(set(random)) < len(random):
        return None
    term = term_of(node)
    if term is not None:
        return _variable(node, term)
    others = [operand for operand in node.inputs if not is_measurable(operand)]
    if node.op.function != "add" or not others:
        return None
    rest = Node(node.op, *random)
    return (
        None
        if term_of(rest) is None
        else Transformed(node, derive(rest), shift(functools.reduce(operator.add, others)))
    )


@rule(Reduce)
def sum_over_axes(node: Node) -> Measure | None:
    """A sum of the elements of a tensor."""
    term = term_of(node)
    return None if term is None else _variable(node, term)
