"""Tables of rewrite rules, one per subject, and `simplify`, which applies those that are always right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from consilience.ir import Node, TensorType, is_leaf, tensor_input
from consilience.ir.traversal import substitute
from consilience.rewrite.engine import Rewriting
from consilience.rewrite.explain import Explanation, explain_steps
from consilience.rewrite.facts import assume
from consilience.rewrite.rule import RuleTable
from consilience.rules import (
    algebra,
    constant_folding,
    index,
    linear_algebra,
    powers,
    products,
    reduction,
    shape,
    stability,
    sums,
)

ALWAYS = RuleTable(
    (
        *constant_folding.RULES,
        sums.collect_sum,
        products.collect_product,
        *stability.RULES,
        *algebra.RULES,
        *powers.RULES,
        *shape.RULES,
        *reduction.RULES,
        *index.RULES,
        *linear_algebra.RULES,
    )
)


# Passes after the first; one is enough unless a reader of a shared value has vanished.
PASSES = 3


def simplify(
    outputs: Sequence[Node],
    *,
    keep: Iterable[Node] = (),
    exclude: Iterable[str] = (),
    strict: bool = False,
) -> list[Node]:
    """Equal outputs in the normal form of the ALWAYS rules.

    keep      nodes that stay as they are and are not looked into, for instance those to differentiate by
    exclude   names of rules to leave out
    strict    rules that undo each other raise VerificationError instead of being stopped
    """
    return _run(outputs, keep, exclude, strict)[0]


def explain(outputs: Sequence[Node], *, keep: Iterable[Node] = (), exclude: Iterable[str] = ()) -> list[Explanation]:
    """What `simplify` does with these outputs: rules in order of first use, how often, and where."""
    return explain_steps(_run(outputs, keep, exclude, False)[1].steps)


def _run(
    outputs: Sequence[Node], keep: Iterable[Node], exclude: Iterable[str], strict: bool
) -> tuple[list[Node], Rewriting]:
    run = Rewriting(ALWAYS.without(exclude), strict=strict)
    hidden: dict[Node, Node] = {}
    for node in keep:
        if not is_leaf(node) and isinstance(node.type, TensorType):
            stand_in = tensor_input(node.dtype, node.static_shape)
            run.facts.same(stand_in, node)
            hidden[node] = stand_in
    results = run(substitute(outputs, hidden) if hidden else outputs)
    latest = run
    for _ in range(PASSES):
        if not latest.stale(results):
            break
        latest = Rewriting(run.table, strict=strict)
        results = latest(results)
        run.steps += latest.steps
    return substitute(results, {v: k for k, v in hidden.items()}) if hidden else results, run


__all__ = ["ALWAYS", "Explanation", "RuleTable", "assume", "explain", "simplify"]
