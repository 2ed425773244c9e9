"""Applies a table of rules to a graph until none applies.

Outputs in, equal outputs out. Bottom-up, without recursion, each node once; equal results are the same
node. Shape constraints of the original graph are its callers' to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from consilience.errors import MissingRuleError, VerificationError
from consilience.ir import ALGEBRAIC, Constant, Node, Region, TensorType, is_leaf, rebuild, side_tables, topological
from consilience.ops import Cumulative, Elementwise, IndexUpdate, MatMul, Reduce, cast
from consilience.ops.shape import broadcast_to
from consilience.record import Record, field_names, replace
from consilience.rewrite.facts import Facts
from consilience.rewrite.pattern import SUMS, SYMMETRIC
from consilience.rewrite.rule import Rule, RuleTable

ARITHMETIC = (Elementwise, Reduce, Cumulative, IndexUpdate, MatMul)
_COMMUTATIVE = frozenset((*SUMS, *SYMMETRIC, "bitwise_and", "bitwise_or", "bitwise_xor"))
_FAMILIES = {"add": "sum", "sub": "sum", "neg": "sum", "mul": "product"}
# A value rewritten this often in a row is taken to be in a loop.
CHAIN = 400


class Step(Record):
    """A rule was applied while `origin`, a node of the graph as it was given, was being simplified."""

    rule: str
    origin: Node


class Rewriting:
    """One run of a table of rules; `steps` records what was applied.

    `strict`: rules that undo each other raise VerificationError instead of being stopped. `observe`: called with (rule,
    node, result) at every application.
    """

    def __init__(
        self,
        table: RuleTable,
        *,
        strict: bool = False,
        observe: Callable[[Rule, Node, Node], None] | None = None,
    ) -> None:
        dear = sorted({r.tier for r in table} - {"always"})
        if dear:
            raise MissingRuleError(
                f"rules of tier {', '.join(map(repr, dear))} choose among equal forms by cost, "
                "which this engine does not do; give it rules of tier 'always' only."
            )
        self.table = table
        self.strict = strict
        self.observe = observe
        self.facts = Facts()
        self.steps: list[Step] = []
        self._gathered = {r.roots[0] for r in table if r.gathers}
        self._normal: dict[Node, Node] = {}
        self._becomes: dict[Node, Node] = {}
        self._chain: dict[Node, int] = {}
        self._arranged: dict[tuple[object, ...], Node] = {}
        self._regions: dict[Region, Region] = {}
        self._origin: Node | None = None

    def __call__(self, outputs: Sequence[Node]) -> list[Node]:
        """The outputs in normal form."""
        order = topological(outputs)
        readers = _readers(order, outputs)
        inner = self._open(order, readers)
        found: dict[Node, Node] = {}
        with side_tables.without_sources():
            for node in order:
                self._origin = node
                here = rebuild(node, tuple([found[i] for i in node.inputs]))
                if node in inner:
                    self.facts.open_nodes.add(here)
                    found[node] = here
                    continue
                result = found[node] = self._settle_reader(here, [found[i] for i in node.inputs if i in inner])
                if readers[node] > 1 and _family(result) is not None:
                    self.facts.shared_nodes.add(result)
                if result is not node and not is_leaf(result) and not isinstance(result.op, Constant):
                    side_tables.pass_on(node, result)
        return [found[output] for output in outputs]

    def accept(self, nodes: Iterable[Node]) -> None:
        """Take nodes to be in normal form; what they share stays whole."""
        for node in nodes:
            self._normal[node] = node
            if _family(node) is not None:
                self.facts.shared_nodes.add(node)

    def extend(self, node: Node) -> Node:
        """The normal form of a node over values that are in normal form."""
        self._origin = node
        return self._settle(node)

    def stale(self, outputs: Sequence[Node]) -> bool:
        """Whether a value was left whole for a reader that has vanished, so that another run may do more."""
        shared = self.facts.shared_nodes
        if not shared or not self.steps:
            return False
        order = topological(outputs)
        readers = _readers(order, outputs)
        return any(readers[node] == 1 for node in order if node in shared)

    def _open(self, order: Sequence[Node], readers: Mapping[Node, int]) -> set[Node]:
        """Links of long chains of sums or products: the only reader and an operand are of their own kind.

        They are taken apart by the rule at the end of the chain, which keeps chains linear in time.
        """
        found: set[Node] = set()
        for node in order:
            kind = _family(node)
            if kind is None or not self._gathered.issuperset(("add", "mul")):
                continue
            for operand in node.inputs:
                link = readers[operand] == 1 and _family(operand) == kind and operand.type == node.type
                if link and any(_family(i) == kind and i.type == node.type for i in operand.inputs):
                    found.add(operand)
        return found

    def _settle_reader(self, node: Node, links: Sequence[Node]) -> Node:
        """The normal form of a node that takes links of a chain apart; a link it left is settled itself."""
        result = self._settle(node)
        if links:
            self.facts.open_nodes.difference_update(links)
            if not set(links).isdisjoint(result.inputs):
                self._normal.pop(result)
                result = self._normal[node] = self._settle(result)
        return result

    def _settle(self, start: Node) -> Node:
        """The normal form of a node; its inputs need not be normal yet."""
        normal, becomes, opened = self._normal, self._becomes, self.facts.open_nodes
        stack = [start]
        active: set[Node] = set()
        while stack:
            node = stack[-1]
            if node in normal:
                stack.pop()
                active.discard(node)
                continue
            following = becomes.get(node)
            if following is None:
                pending = [i for i in node.inputs if i not in normal and i not in opened]
                if pending:
                    if active.isdisjoint(pending):
                        active.add(node)
                        depth = self._chain.get(node, 0)
                        for i in pending:
                            self._chain.setdefault(i, depth)
                        stack.extend(reversed(pending))
                    else:
                        self._looped(node)
                    continue
                following = rebuild(node, tuple([normal.get(i, i) for i in node.inputs]))
                if following is node:
                    after = self._fire(node)
                    if after is None:
                        normal[node] = self._arrange(node)
                        continue
                    following = after
                depth = self._chain.get(node, 0) + 1
                if depth > CHAIN or following in active:
                    self._looped(node)
                    continue
                self._chain.setdefault(following, depth)
                becomes[node] = following
            final = normal.get(following)
            if final is not None:
                normal[node] = final
            elif following in active or following is node:
                self._looped(node)
            else:
                active.add(node)
                stack.append(following)
        return normal[start]

    def _looped(self, node: Node) -> None:
        """Rules undo each other: name them, or leave the node as it is."""
        if self.strict:
            names = list(dict.fromkeys(step.rule for step in self.steps[-2 * CHAIN :] if step.origin is self._origin))
            raise VerificationError(
                "these rules undo each other or grow without end at "
                f"{side_tables.describe(node)}: {', '.join(names[-12:])}."
            )
        self._normal[node] = node

    def _fire(self, node: Node) -> Node | None:
        """The result of the first rule that applies, in the node's own type."""
        inside = self._with_simple_regions(node)
        if inside is not node:
            return inside
        plain = algebraic(node)
        for rule in self.table.candidates(node):
            if not plain and not rule.every_dtype:
                continue
            result = rule.apply(node, self.facts)
            if result is not None and result is not node:
                fitted = fit(result, node, rule)
                if fitted is not node:
                    assert self._origin is not None
                    self.steps.append(Step(rule.name, self._origin))
                    if self.observe is not None:
                        self.observe(rule, node, fitted)
                    return fitted
        return None

    def _arrange(self, node: Node) -> Node:
        """One order for the operands of equal commutative values: the order met first in this run."""
        op = node.op
        if not isinstance(op, Elementwise) or op.function not in _COMMUTATIVE:
            return node
        known = self._arranged.setdefault((op.function, *sorted(map(id, node.inputs))), node)
        return known if known.type == node.type else node

    def _with_simple_regions(self, node: Node) -> Node:
        names = [name for name in field_names(node.op) if isinstance(getattr(node.op, name), Region)]
        if not names:
            return node
        changed = {name: self._simple_region(getattr(node.op, name)) for name in names}
        op = replace(node.op, **changed)
        return node if op == node.op else Node(op, *node.inputs)

    def _simple_region(self, region: Region) -> Region:
        known = self._regions.get(region)
        if known is None:
            inner = Rewriting(self.table, strict=self.strict, observe=self.observe)
            known = Region(region.parameters, tuple(inner(region.results)))
            self.steps += inner.steps
            self._regions[region] = self._regions[known] = known
        return known


def _readers(order: Sequence[Node], outputs: Sequence[Node]) -> dict[Node, int]:
    """How often every node is read, an output counting as read twice."""
    readers: dict[Node, int] = dict.fromkeys(outputs, 2)
    for node in order:
        for operand in node.inputs:
            readers[operand] = readers.get(operand, 0) + 1
    return readers


def algebraic(node: Node) -> bool:
    """Whether the rules of arithmetic hold: not where numbers wrap around or are rounded to a few digits."""
    if not isinstance(node.op, ARITHMETIC):
        return True
    # The other operands have the dtype of the first, or of the result.
    return node.dtype in ALGEBRAIC and node.inputs[0].dtype in ALGEBRAIC


def _family(node: Node) -> str | None:
    op = node.op
    return _FAMILIES.get(op.function) if isinstance(op, Elementwise) and node.dtype in ALGEBRAIC else None


def fit(result: Node, node: Node, rule: Rule) -> Node:
    """The result of a rule in the type of the node it replaces: cast and repeated where needed."""
    wanted, found = node.type, result.type
    if found == wanted:
        return result
    if not isinstance(wanted, TensorType) or not isinstance(found, TensorType):
        raise VerificationError(f"rule {rule.name!r} made {found!r} of {wanted!r}.")
    if found.dtype != wanted.dtype:
        result = cast(result, wanted.dtype)
    if found.shape != wanted.shape:
        repeats = len(found.shape) <= len(wanted.shape) and all(
            a == 1 or a == b or not (isinstance(a, int) and isinstance(b, int))
            for a, b in zip(reversed(found.shape), reversed(wanted.shape), strict=False)
        )
        if not repeats:
            raise VerificationError(f"rule {rule.name!r} made {found!r} of {wanted!r} at {side_tables.describe(node)}.")
        result = broadcast_to(result, wanted.shape)
    return result
