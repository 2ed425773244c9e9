"""Truth values of random numbers: comparisons with a number, negation, conjunction and disjunction."""

from __future__ import annotations

import math

from consilience.distributions.mathematics import equal, less, log1mexp, where
from consilience.ir import FLOATS, Node
from consilience.ir.side_tables import pass_on
from consilience.logprob.derivation import (
    derive,
    independent,
    is_measurable,
    not_repeated,
    require_not_repeated,
    rule,
    sole_random,
)
from consilience.logprob.measure import Measure, Sources
from consilience.ops.elementwise import ORDERS, Cast, Elementwise, apply, as_tensor, cast


class TruthValue(Measure):
    """True with a probability: masses at 1 and 0."""

    def __init__(self, node: Node, sources: Sources, log_true: Node, log_false: Node) -> None:
        super().__init__(node, sources, discrete=True, whole=True, ends=(0.0, 1.0))
        self.log_true, self.log_false = log_true, log_false

    def logp(self, value: Node) -> Node:
        return where(equal(value, 1), self.log_true, where(equal(value, 0), self.log_false, -math.inf))

    def logcdf(self, value: Node) -> Node:
        return where(less(value, 0), -math.inf, where(less(value, 1), self.log_false, 0.0))

    def logccdf(self, value: Node) -> Node:
        return where(less(value, 0), 0.0, where(less(value, 1), self.log_true, -math.inf))

    def quantile(self, q: Node) -> Node:
        return cast(apply("gt", q, apply("exp", self.log_false)), "float64")


def truth_value(node: Node) -> TruthValue:
    """The measure of a truth value."""
    measure = derive(node)
    if isinstance(measure, TruthValue):
        return measure
    one, zero = as_tensor(1), as_tensor(0)
    return TruthValue(node, measure.sources, measure.logp(one), measure.logp(zero))


@rule(*ORDERS)
def compared(node: Node) -> Measure | None:
    """A random number beside one that is not; two random ones by their difference, where that has a measure."""
    assert isinstance(node.op, Elementwise)
    name = node.op.function
    place = sole_random(node)
    if place is None:
        if node.inputs[0].dtype not in FLOATS or node.inputs[0] is node.inputs[1]:
            return None
        difference = node.inputs[0] - node.inputs[1]
        pass_on(node, difference)
        return _compared(node, derive(difference), as_tensor(0.0), name)
    argument = node.inputs[place]
    require_not_repeated(node, argument)
    measure = derive(argument)
    if measure.event_axes:
        return None
    bound = node.inputs[1 - place]
    bound = cast(bound, "int64") if bound.dtype == "bool" else bound
    return _compared(node, measure, bound, name if place == 0 else ORDERS[name])


def _compared(node: Node, measure: Measure, bound: Node, name: str) -> TruthValue:
    if name in ("eq", "neq"):
        atoms = measure.atoms(bound)
        same = where(False if atoms is None else atoms, measure.logp(bound), -math.inf)
        other = log1mexp(same)
        return TruthValue(node, measure.sources, *((same, other) if name == "eq" else (other, same)))
    if name in ("lt", "ge"):
        below, from_ = measure.log_below(bound), measure.log_from(bound)
    else:
        below, from_ = measure.logcdf(bound), measure.logccdf(bound)
    return TruthValue(node, measure.sources, *((below, from_) if name in ("lt", "le") else (from_, below)))


@rule("logical_not", "invert")
def negated(node: Node) -> Measure | None:
    """The other truth value."""
    if node.dtype != "bool":
        return None
    argument = truth_value(node.inputs[0])
    return TruthValue(node, argument.sources, argument.log_false, argument.log_true)


@rule(Cast)
def truth_of_number(node: Node) -> Measure | None:
    """Whether a number is not 0."""
    if node.dtype != "bool":
        return None
    return compared(Node(Elementwise("neq"), node.inputs[0], cast(as_tensor(0), node.inputs[0].dtype)))


def _is_truth(node: Node) -> bool:
    """Whether a node is a truth value, or a random number that is 0 or 1."""
    if node.dtype == "bool" or not is_measurable(node):
        return node.dtype == "bool"
    measure = derive(node)
    return measure.whole and measure.ends == (0.0, 1.0)


@rule("logical_and", "bitwise_and", "logical_or", "bitwise_or", "logical_xor", "bitwise_xor", "eq", "neq")
def combined(node: Node) -> Measure | None:
    """Independent truth values, or one and a condition that is not random."""
    assert isinstance(node.op, Elementwise)
    random = [operand for operand in node.inputs if is_measurable(operand)]
    if not all(not_repeated(node, o) for o in random) or not all(map(_is_truth, node.inputs)):
        return None
    parts = [truth_value(operand) for operand in random]
    sources = independent(node, [part.sources for part in parts])
    fixed = [operand for operand in node.inputs if not is_measurable(operand)]
    if node.op.function in ("logical_xor", "bitwise_xor", "eq", "neq"):
        chances = [(part.log_true, part.log_false) for part in parts]
        chances += [(where(c, 0.0, -math.inf), where(c, -math.inf, 0.0)) for c in fixed]
        (true, false), (other, not_other) = chances
        differ = apply("logaddexp", true + not_other, false + other)
        agree = apply("logaddexp", true + other, false + not_other)
        return TruthValue(node, sources, *((agree, differ) if node.op.function == "eq" else (differ, agree)))
    conjunction = node.op.function.endswith("and")
    result = [part.log_true if conjunction else part.log_false for part in parts]
    result += [where(c if conjunction else apply("logical_not", c), 0.0, -math.inf) for c in fixed]
    total = result[0]
    for term in result[1:]:
        total = total + term
    rest = log1mexp(total)
    return TruthValue(node, sources, *((total, rest) if conjunction else (rest, total)))
