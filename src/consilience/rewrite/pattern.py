"""Patterns in the user's notation, their matching against nodes, and nodes made from them.

`log(1 - exp(x))` here is a term with a wildcard, not a node, so no shape or dtype is asked for. Terms
take the normal form of the algebra rules as they are written: differences are sums of negatives,
negatives stand before products, 1 / x is `reciprocal(x)`, x ** 2 is `square(x)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from consilience.errors import GraphError
from consilience.ir import Constant, Node
from consilience.ops import TABLE, Elementwise, apply
from consilience.record import Record
from consilience.rewrite.facts import Facts

Bindings: TypeAlias = Mapping[str, Node]
Written: TypeAlias = "Term | float"

# Functions of any number of operands, in any order; a wildcard takes all operands that are left.
SUMS = ("add", "mul")
# Functions of two operands in any order.
SYMMETRIC = (
    "maximum",
    "minimum",
    "logaddexp",
    "eq",
    "neq",
    "logical_and",
    "logical_or",
    "logical_xor",
    "hypot",
)


class Term(Record):
    """Base of patterns: wildcards, numbers and applied functions."""

    def __add__(self, other: Written) -> Term:
        return _sum(self, as_term(other))

    def __radd__(self, other: Written) -> Term:
        return _sum(as_term(other), self)

    def __sub__(self, other: Written) -> Term:
        return _sum(self, -as_term(other))

    def __rsub__(self, other: Written) -> Term:
        return _sum(as_term(other), -self)

    def __mul__(self, other: Written) -> Term:
        return _product(self, as_term(other))

    def __rmul__(self, other: Written) -> Term:
        return _product(as_term(other), self)

    def __truediv__(self, other: Written) -> Term:
        return Call("true_div", (self, as_term(other)))

    def __rtruediv__(self, other: Written) -> Term:
        return Call("reciprocal", (self,)) if other == 1 else Call("true_div", (as_term(other), self))

    def __pow__(self, other: Written) -> Term:
        return Call("square", (self,)) if other == 2 else Call("pow", (self, as_term(other)))

    def __neg__(self) -> Term:
        if isinstance(self, Number):
            return Number(-self.value)
        if isinstance(self, Call) and self.function == "neg":
            return self.operands[0]
        if isinstance(self, Call) and self.function == "add":
            return Call("add", tuple(-operand for operand in self.operands))
        return Call("neg", (self,))


class Wildcard(Term):
    """Any value; one name stands for one value. `number` restricts it to constants of one element."""

    name: str
    number: bool = False

    def __repr__(self) -> str:
        return self.name


class Number(Term):
    """A constant of one element, compared by value."""

    value: float

    def __repr__(self) -> str:
        return f"{self.value:g}"


class Call(Term):
    """A row of the scalar table on terms."""

    function: str
    operands: tuple[Term, ...]

    def __repr__(self) -> str:
        shown = [repr(operand) for operand in self.operands]
        if self.function == "add":
            return "(" + " + ".join(shown).replace("+ -", "- ") + ")"
        if self.function in ("mul", "true_div"):
            return (" * " if self.function == "mul" else " / ").join(shown)
        if self.function == "neg":
            return f"-{shown[0]}"
        return f"{self.function}({', '.join(shown)})"


def as_term(value: Written) -> Term:
    """A term for a number; terms stay as they are."""
    return value if isinstance(value, Term) else Number(float(value))


def _operands(function: str, *terms: Term) -> tuple[Term, ...]:
    found: list[Term] = []
    for term in terms:
        found += term.operands if isinstance(term, Call) and term.function == function else (term,)
    return tuple(found)


def _sum(*terms: Term) -> Term:
    return Call("add", _operands("add", *terms))


def _product(left: Term, right: Term) -> Term:
    if isinstance(left, Number) and isinstance(right, Call) and right.function == "neg":
        return _product(-left, right.operands[0])
    for number, other in ((left, right), (right, left)):
        if number == Number(-1.0):
            return -other
    negatives = [isinstance(t, Call) and t.function == "neg" for t in (left, right)]
    bare = [t.operands[0] if isinstance(t, Call) and t.function == "neg" else t for t in (left, right)]
    result = Call("mul", _operands("mul", *bare))
    return -result if sum(negatives) == 1 else result


def function(name: str) -> Callable[..., Call]:
    """A row of the scalar table as a function of terms."""
    arity = TABLE[name].arity

    def call(*operands: Written) -> Call:
        if arity and len(operands) != arity:
            raise TypeError(f"`{name}` takes {arity} arguments, got {len(operands)}.")
        return Call(name, tuple(as_term(operand) for operand in operands))

    call.__name__ = name
    return call


def wildcards(names: str) -> list[Wildcard]:
    """Wildcards for space-separated names."""
    return [Wildcard(name) for name in names.split()]


def numbers(names: str) -> list[Wildcard]:
    """Wildcards that match constants of one element only."""
    return [Wildcard(name, number=True) for name in names.split()]


def wildcards_of(term: Term) -> list[Wildcard]:
    """The wildcards of a term, each once, from left to right."""
    if isinstance(term, Call):
        return list(dict.fromkeys(w for operand in term.operands for w in wildcards_of(operand)))
    return [term] if isinstance(term, Wildcard) else []


def number_of(node: Node) -> float | None:
    """The value of a constant of one element."""
    if isinstance(node.op, Constant) and node.op.array.size == 1 and node.dtype != "key":
        return float(node.op.array.item())
    return None


def function_of(node: Node) -> str | None:
    """Name of the scalar function a node applies, if it does."""
    return node.op.function if isinstance(node.op, Elementwise) else None


def matches(term: Term, node: Node, bound: Bindings) -> Iterator[Bindings]:
    """All ways to read a node as an instance of a term; `bound` holds the wildcards known so far."""
    if isinstance(term, Wildcard):
        known = bound.get(term.name)
        if known is None:
            if not term.number or number_of(node) is not None:
                yield {**bound, term.name: node}
        elif known is node:
            yield bound
        return
    if isinstance(term, Number):
        if number_of(node) == term.value:
            yield bound
        return
    assert isinstance(term, Call)
    if function_of(node) != term.function:
        return
    if term.function in SUMS:
        if len(node.inputs) != len(term.operands) and not any(isinstance(t, Wildcard) for t in term.operands):
            return
        for found, rest in partial_matches(term, node, bound):
            if not rest:
                yield found
    elif len(term.operands) == len(node.inputs):
        yield from _in_order(term.operands, node.inputs, bound)
        if term.function in SYMMETRIC:
            yield from _in_order(term.operands, node.inputs[::-1], bound)


def _in_order(terms: Sequence[Term], nodes: Sequence[Node], bound: Bindings) -> Iterator[Bindings]:
    if not terms:
        yield bound
        return
    for found in matches(terms[0], nodes[0], bound):
        yield from _in_order(terms[1:], nodes[1:], found)


def partial_matches(term: Call, node: Node, bound: Bindings) -> Iterator[tuple[Bindings, tuple[Node, ...]]]:
    """Ways to find a sum (or product) among the operands of one, with the operands that are left over.

    A bare wildcard, written last or not, takes everything that is left and leaves nothing.
    """
    bare = [t for t in term.operands if isinstance(t, Wildcard) and not t.number]
    if len(bare) > 1:
        raise GraphError(f"a pattern can leave the rest of `{term.function}` to one wildcard only, not to {bare}.")
    # Numbers first: there is at most one in a sum in normal form, so that a long sum is searched once.
    strict = sorted((t for t in term.operands if t not in bare), key=lambda t: not isinstance(t, Number))
    if len(node.inputs) < len(term.operands):
        return
    for found, rest in _any_order(strict, node.inputs, bound):
        if not bare:
            yield found, rest
        elif rest:
            whole = rest[0] if len(rest) == 1 else Node(Elementwise(term.function), *rest)
            for complete in matches(bare[0], whole, found):
                yield complete, ()


def _any_order(
    terms: Sequence[Term], nodes: tuple[Node, ...], bound: Bindings
) -> Iterator[tuple[Bindings, tuple[Node, ...]]]:
    if not terms:
        yield bound, nodes
        return
    for place, node in enumerate(nodes):
        for found in matches(terms[0], node, bound):
            yield from _any_order(terms[1:], nodes[:place] + nodes[place + 1 :], found)


def instantiate(term: Term, bound: Bindings) -> Node | float:
    """The node (or number) a term stands for, given its wildcards."""
    if isinstance(term, Wildcard):
        return bound[term.name]
    if isinstance(term, Number):
        return term.value
    assert isinstance(term, Call)
    return apply(term.function, *(instantiate(operand, bound) for operand in term.operands))


class Condition(Record):
    """A fact some terms must have; `holds` is asked with the nodes bound to them."""

    text: str
    terms: tuple[Term, ...]
    holds: Callable[..., bool | None]

    def check(self, facts: Facts, bound: Bindings) -> bool:
        """Whether the fact is known to hold."""
        nodes = []
        for term in self.terms:
            node = instantiate(term, bound)
            if not isinstance(node, Node):
                raise GraphError(f"a condition speaks of wildcards, not of the number {node}.")
            nodes.append(node)
        return self.holds(facts, *nodes) is True


def _fact(name: str, ask: Callable[[Facts, Node], bool | None]) -> Callable[..., Condition]:
    def condition(*terms: Term) -> Condition:
        return Condition(
            f"{name}({', '.join(map(repr, terms))})",
            terms,
            lambda facts, *nodes: all(ask(facts, n) is True for n in nodes),
        )

    return condition


positive = _fact("positive", Facts.positive)
non_negative = _fact("non_negative", Facts.non_negative)
negative = _fact("negative", Facts.negative)
non_positive = _fact("non_positive", Facts.non_positive)
nonzero = _fact("nonzero", Facts.nonzero)
finite = _fact("finite", Facts.finite)
not_nan = _fact("not_nan", Facts.not_nan)
whole = _fact("whole", Facts.whole)
probability = _fact("probability", Facts.probability)


def at_least(term: Term, bound: float) -> Condition:
    """The term is known to be at least `bound`."""
    return Condition(f"{term!r} >= {bound:g}", (term,), lambda facts, node: facts.at_least(node, bound))


def at_most(term: Term, bound: float) -> Condition:
    """The term is known to be at most `bound`."""
    return Condition(f"{term!r} <= {bound:g}", (term,), lambda facts, node: facts.at_most(node, bound))


def given(*conditions: Condition) -> tuple[Condition, ...]:
    """The facts a rule asks for."""
    return conditions
