"""Rules: one line of mathematics, or a function of a node, each with the nodes it may apply to.

Rules and tables of rules come out; applying them over a graph is the engine's part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import TypeAlias

import numpy as np

from consilience.errors import GraphError
from consilience.ir import Node, Op, constant, numpy_dtype
from consilience.ops import Elementwise, apply
from consilience.record import Record
from consilience.rewrite.facts import Facts
from consilience.rewrite.pattern import (
    SUMS,
    Call,
    Condition,
    Term,
    Wildcard,
    Written,
    as_term,
    instantiate,
    matches,
    partial_matches,
    wildcards_of,
)

# What a node is, for finding rules: the name of its scalar function, or the class of its op.
Key: TypeAlias = "str | type[Op]"
Application: TypeAlias = Callable[[Node, Facts], Node | None]
TIERS = ("always", "explore")


def key_of(node: Node) -> Key:
    """What rules are found by."""
    op = node.op
    return op.function if isinstance(op, Elementwise) else type(op)


class Rule(Record, eq=False):
    """A rewrite: `apply(node, facts)` gives an equal value, or None where the rule says nothing.

    `roots`: keys of the nodes it may apply to; `Elementwise` stands for every scalar function.
    `operands`: if given, one of the inputs must have one of these keys.
    `tier`: "always": one way, never worse; "explore": equal, to be chosen by cost (default 'always').
    `gathers`: takes apart the sums or products listed in `facts.open_nodes` (default False).
    `within`: greatest size of operands for which the result is claimed: reordered products and sums overflow elsewhere
        (default inf).
    `every_dtype`: holds for all dtypes, also where numbers wrap around or are rounded to a few digits (default False).
    `examples`: functions of `Samples` that build graphs to which the rule applies (default ()).
    """

    name: str
    roots: tuple[Key, ...]
    operands: tuple[Key, ...] | None
    apply: Application
    tier: str = "always"
    left: Call | None = None
    right: Term | None = None
    conditions: tuple[Condition, ...] = ()
    domain: tuple[tuple[str, float, float], ...] = ()
    gathers: bool = False
    within: float = inf
    every_dtype: bool = False
    examples: tuple[Callable[..., Node], ...] = ()

    def __repr__(self) -> str:
        return f"Rule({self.name!r})"


def rule(
    name: str,
    left: Term,
    right: Written,
    conditions: tuple[Condition, ...] = (),
    *,
    domain: dict[Wildcard, tuple[float, float]] | None = None,
    within: float = inf,
    tier: str = "always",
) -> Rule:
    """`left` becomes `right` under the conditions.

    `domain`: interval of a wildcard outside which the left side has no value in the reals, so that nothing is claimed
    there; the default is the whole line.
    """
    if not isinstance(left, Call):
        raise GraphError(f"the left side of {name!r} must apply a function, got {left!r}.")
    if tier not in TIERS:
        raise GraphError(f"tier must be one of {', '.join(TIERS)}, got {tier!r}.")
    result = as_term(right)
    unknown = set(wildcards_of(result)) - set(wildcards_of(left))
    if unknown:
        raise GraphError(f"{name!r} has wildcards on its right side only: {sorted(w.name for w in unknown)}.")
    calls = [operand.function for operand in left.operands if isinstance(operand, Call)]
    intervals = tuple((w.name, low, high) for w, (low, high) in (domain or {}).items())
    return Rule(
        name,
        (left.function,),
        (calls[0],) if calls else None,
        _application(left, result, conditions),
        tier,
        left,
        result,
        conditions,
        intervals,
        within=within,
    )


def _application(left: Call, right: Term, conditions: tuple[Condition, ...]) -> Application:
    def apply_pattern(node: Node, facts: Facts) -> Node | None:
        if left.function in SUMS:
            found = partial_matches(left, node, {})
        else:
            found = ((bound, ()) for bound in matches(left, node, {}))
        for bound, rest in found:
            if all(condition.check(facts, bound) for condition in conditions):
                result = instantiate(right, bound)
                if rest:
                    return apply(left.function, result, *rest)
                return result if isinstance(result, Node) else number_node(result, node.dtype)
        return None

    return apply_pattern


def number_node(value: float, dtype: str) -> Node:
    """A constant of rank 0."""
    return constant(np.asarray(value, dtype=numpy_dtype(dtype)))


def rewrites(
    *roots: Key,
    name: str,
    operands: Sequence[Key] | None = None,
    tier: str = "always",
    gathers: bool = False,
    within: float = inf,
    every_dtype: bool = False,
    examples: Iterable[Callable[..., Node]] = (),
) -> Callable[[Application], Rule]:
    """Decorator: a function (node, facts) -> node or None as a rule on nodes with these keys."""
    if tier not in TIERS:
        raise GraphError(f"tier must be one of {', '.join(TIERS)}, got {tier!r}.")

    def make(function: Application) -> Rule:
        wanted = tuple(operands) if operands is not None else None
        return Rule(
            name,
            tuple(roots),
            wanted,
            function,
            tier,
            gathers=gathers,
            within=within,
            every_dtype=every_dtype,
            examples=tuple(examples),
        )

    return make


class RuleTable:
    """Rules in order of preference, found by what a node and its inputs are."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        names = [r.name for r in self.rules]
        repeated = sorted({n for n in names if names.count(n) > 1})
        if repeated:
            raise GraphError(f"rules need distinct names, these are repeated: {', '.join(repeated)}.")
        self._roots: set[Key] = {root for r in self.rules for root in r.roots}
        self._found: dict[tuple[Key, ...], tuple[Rule, ...]] = {}

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, name: str) -> Rule:
        for candidate in self.rules:
            if candidate.name == name:
                return candidate
        raise GraphError(f"there is no rule {name!r}; known are: {', '.join(r.name for r in self.rules)}.")

    def without(self, names: Iterable[str]) -> RuleTable:
        """The table less some rules."""
        excluded = {self[name].name for name in names}
        return RuleTable(r for r in self.rules if r.name not in excluded) if excluded else self

    def candidates(self, node: Node) -> tuple[Rule, ...]:
        """The rules that may apply to a node, in order."""
        key = key_of(node)
        if len(node.inputs) > 3:
            signature: tuple[Key, ...] = (key, *dict.fromkeys(map(key_of, node.inputs)))
        else:
            signature = (key, *map(key_of, node.inputs))
        found = self._found.get(signature)
        if found is None:
            found = self._search(signature)
            if len(signature) <= 5:
                self._found[signature] = found
        return found

    def _search(self, signature: tuple[Key, ...]) -> tuple[Rule, ...]:
        key, *inputs = signature
        keys = {key, Elementwise} if isinstance(key, str) else {key}
        present = {*inputs, *(Elementwise for i in inputs if isinstance(i, str))}
        return tuple(
            r
            for r in self.rules
            if not keys.isdisjoint(r.roots) and (r.operands is None or not present.isdisjoint(r.operands))
        )
