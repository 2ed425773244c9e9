"""Tables of rewrite rules, one per subject, and `simplify`, which applies those that are always right.

The normal form: no `sub`; n-ary sums and products with one number in front and operands of equal smaller
size together; signs before products, in the terms of sums; numbers as factors instead of quotients;
views towards the outputs; what is constant along summed axes outside the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from consilience.ir import Node, TensorType, is_leaf, tensor_input, topological
from consilience.ir.traversal import substitute
from consilience.ops import Concatenate, Index
from consilience.rewrite.engine import Rewriting, Step
from consilience.rewrite.explain import Explanation, explain_steps
from consilience.rewrite.facts import Facts, assume
from consilience.rewrite.rule import Rule, RuleTable
from consilience.rewrite.rules import (
    algebra,
    constant_folding,
    diagonal_matrices,
    index,
    linear_algebra,
    low_rank,
    matrices_of_parts,
    orthogonal,
    partial_sums,
    powers,
    products,
    reduction,
    shape,
    stability,
    sums,
)
from consilience.rewrite.rules.loops import tidy_loops

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
        *diagonal_matrices.RULES,
        *matrices_of_parts.RULES,
        *low_rank.RULES,
        *orthogonal.RULES,
        *linear_algebra.RULES,
        *partial_sums.RULES,
    )
)


# For graphs of which no derivative is taken any more.
DIFFERENTIATED = RuleTable((*ALWAYS, shape.stop_gradient, shape.altered_gradient, shape.call_written_out))

_INDICES = RuleTable(index.RULES)
# Rules that wait for lengths, by what is indexed.
_OPEN = {Concatenate: index.index_of_join, Index: index.index_of_index}

# Runs after the first; one is enough unless a reader of a shared value has vanished.
FURTHER_RUNS = 3


def simplify(
    outputs: Sequence[Node],
    *,
    keep: Iterable[Node] = (),
    exclude: Iterable[str] = (),
    differentiated: bool = False,
    strict: bool = False,
) -> list[Node]:
    """Equal outputs in the normal form of the ALWAYS rules."""
    table = DIFFERENTIATED if differentiated else ALWAYS
    return _run(list(outputs), list(keep), table.without(exclude), strict)[0]


def indices_at_known_lengths(outputs: Sequence[Node]) -> list[Node]:
    """Equal outputs: of joins that are indexed only the parts that are read, and slices of slices as one.

    Which parts and places these are was open while lengths were symbols.
    """
    facts = Facts()
    for node in topological(outputs):
        rule = _OPEN.get(type(node.inputs[0].op)) if isinstance(node.op, Index) else None
        if rule is not None and rule.apply(node, facts) is not None:
            return Rewriting(_INDICES)(list(outputs))
    return list(outputs)


def explain(outputs: Sequence[Node], *, keep: Iterable[Node] = (), exclude: Iterable[str] = ()) -> list[Explanation]:
    """What `simplify` does with these outputs: rules in order of first use, how often, and where."""
    terms: list[tuple[Node, Node]] = []
    table = ALWAYS.without(exclude)
    _, steps = _run(list(outputs), list(keep), table, False, lambda _, before, after: terms.append((before, after)))
    return explain_steps(steps, terms)


def _run(
    outputs: list[Node],
    keep: list[Node],
    table: RuleTable,
    strict: bool,
    observe: Callable[[Rule, Node, Node], None] | None = None,
) -> tuple[list[Node], list[Step]]:
    hidden = {
        node: tensor_input(node.dtype, node.static_shape)
        for node in keep
        if not is_leaf(node) and isinstance(node.type, TensorType)
    }
    results = substitute(outputs, hidden) if hidden else outputs
    steps: list[Step] = []
    for _ in range(1 + FURTHER_RUNS):
        results = tidy_loops(results)
        run = Rewriting(table, strict=strict, observe=observe)
        for node, stand_in in hidden.items():
            run.facts.same(stand_in, node)
        results = run(results)
        steps += run.steps
        if not run.stale(results):
            break
    results = tidy_loops(results)
    if hidden:
        results = substitute(results, {stand_in: node for node, stand_in in hidden.items()})
    return results, steps


__all__ = ["ALWAYS", "DIFFERENTIATED", "Explanation", "RuleTable", "assume", "explain", "simplify"]
