"""Classes of equal values over a graph: an acyclic e-graph.

A static graph and a table of rules of the tier 'explore' in; for every value the forms that compute it out. Classes are
built inputs first, are closed once built, and refer to closed ones only: there are no cycles, and nothing merges later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from consilience.errors import ConsilienceError
from consilience.ir import Constant, Node, Op, TensorType, is_leaf, rebuild, side_tables, topological
from consilience.ir.types import Type
from consilience.ops import (
    BroadcastTo,
    Cholesky,
    Det,
    DetSign,
    Elementwise,
    Inverse,
    InverseQuadratic,
    LogAbsDet,
    Solve,
    Transpose,
)
from consilience.ops.loop import Scan
from consilience.ops.python_call import PythonCall
from consilience.ops.scalar import DRAWS
from consilience.rewrite.engine import Rewriting, algebraic, fit
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, RuleTable
from consilience.rewrite.structure import known_size

# New forms, and new values that rules may change again, per value of the graph, shared by all that they give rise to.
FUEL: Final = 32
DEPTH: Final = 6
MEMBERS: Final = 12
# Values up to this size are folded whatever they are made of (see `llvm.fold`).
FOLDED: Final = 64


class Factored(Op):
    """The factors of a general square matrix: its determinant, inverse and systems share them."""

    def result_type(self, *inputs: Node) -> Type:
        return inputs[0].type


class Member:
    """A way to compute a class: `node` over the canonical values of the classes `inputs`.

    Behind the operands `inputs` lists what is needed beside them: the factors of a matrix. The only operand of an
    `alias` is a class of the same value.
    """

    __slots__ = ("alias", "inputs", "node", "rule")

    def __init__(self, node: Node, inputs: tuple[int, ...], rule: str, alias: bool = False) -> None:
        self.node = node
        self.inputs = inputs
        self.rule = rule
        self.alias = alias


class _Refused(Exception):
    """A form leads back to the value it stands for, or fuel ran out."""


class Alternatives:
    """The forms of all values of a graph.

    `outputs`, `data`: a static graph, and the leaves that are bound before calls.
    `explore`: rules that give equal forms.
    `always`: rules that bring what is new to its normal form.
    `fuel`: new values and forms per value of the graph.
    `limit`: new values and forms in all.
    `members`: by number of class: its forms, the written one first.
    `canonical`: by number of class: the node that stands for it in forms of others.
    `order`: numbers of classes, inputs before readers whichever forms are taken.
    `outputs`: classes of the outputs.
    `spent`: new values and forms.
    """

    def __init__(
        self,
        outputs: Sequence[Node],
        data: Sequence[Node],
        explore: RuleTable,
        always: RuleTable,
        *,
        fuel: int = FUEL,
        limit: int | None = None,
    ) -> None:
        self.members: list[list[Member]] = []
        self.canonical: list[Node] = []
        self.order: list[int] = []
        self.class_of: dict[Node, int] = {}
        self.facts = Facts()
        self.spent = 0
        self._explore = explore
        self._data = frozenset(data)
        self._fixed: list[bool] = []
        self._bound: list[bool] = []
        self._open: set[int] = set()
        self._normal = Rewriting(always)
        self._fuel = 0
        self._left = len(outputs) * 10**6 if limit is None else limit
        written = topological(outputs)
        self._normal.accept(node for node in written if not isinstance(node.op, Transpose))
        with side_tables.without_sources():
            for node in written:
                self._fuel = min(fuel, self._left)
                before = self.spent
                self._enter(node, 0, written=True)
                self._left -= self.spent - before
        self.outputs = [self.class_of[o] for o in outputs]

    def fixed(self, number: int) -> bool:
        """Whether a class is known before calls."""
        return self._fixed[number]

    # ---- building

    def _enter(self, node: Node, depth: int, *, written: bool = False) -> int:
        """The class of a node whose operands have classes."""
        known = self.class_of.get(node)
        if known is not None:
            return known
        ids = self._operands(node)
        here = rebuild(node, tuple([self.canonical[i] for i in ids]))
        known = self.class_of.get(here)
        if known is None and written and (here is not node or isinstance(here.op, Transpose)):
            normal = self._normal.extend(here)
            if normal is not here:
                try:
                    for inner in topological([normal], stop=self.class_of.__contains__):
                        self._enter(inner, depth)
                    known = self.class_of[here] = self.class_of[normal]
                except _Refused:  # there is no fuel left: it stays as it was written
                    known = None
        if known is None:
            if not written and self._explore.candidates(here):
                self._pay()
            known = self._new(here, ids)
            fixed = self._fixed[known]
            self.members[known].append(Member(here, () if fixed else ids + self._needs(here, depth), ""))
            if not fixed and depth < DEPTH:
                self._search(known, depth)
            self.order.append(known)
        self.class_of[node] = known
        return known

    def _new(self, here: Node, ids: Sequence[int]) -> int:
        number = len(self.members)
        self.members.append([])
        self.canonical.append(here)
        self.class_of[here] = number
        bound = here in self._data or any(self._bound[i] for i in ids)
        known = all(self._fixed[i] for i in ids) and isinstance(here.type, TensorType) and _repeatable(here)
        if known and ids and not bound:
            small = max(FOLDED, *(known_size(self.canonical[i]) for i in ids))
            known = isinstance(here.op, BroadcastTo) or known_size(here) <= small
        self._fixed.append(known if ids else here in self._data or isinstance(here.op, Constant))
        self._bound.append(bound)
        return number

    def _operands(self, node: Node) -> tuple[int, ...]:
        ids = tuple([self.class_of[i] for i in node.inputs])
        if not self._open.isdisjoint(ids):
            raise _Refused
        return ids

    def _needs(self, node: Node, depth: int) -> tuple[int, ...]:
        """The class of the factors that a node asks for, and shares with others."""
        op = node.op
        if not isinstance(op, Solve | Inverse | InverseQuadratic | LogAbsDet | Det | DetSign):
            return ()
        definite = isinstance(op, InverseQuadratic) or getattr(op, "assume", "general") == "positive definite"
        factors = Node(Cholesky() if definite else Factored(), node.inputs[0])
        return (self._enter(factors, depth, written=True),)

    def _pay(self) -> None:
        if self._fuel <= 0:
            raise _Refused
        self._fuel -= 1
        self.spent += 1

    # ---- searching

    def _search(self, number: int, depth: int) -> None:
        """Apply all rules to all forms of a class, as long as there is fuel."""
        members = self.members[number]
        if isinstance(members[0].node.op, Factored) or not isinstance(self.canonical[number].type, TensorType):
            return
        self._open.add(number)
        place = 0
        while place < len(members):
            member = members[place]
            place += 1
            if member.alias:
                continue
            for form in self._forms(member):
                for rule in self._explore.candidates(form):
                    if self._fuel <= 0 or len(members) >= MEMBERS:
                        self._open.discard(number)
                        return
                    if not rule.every_dtype and not algebraic(form):
                        continue
                    result = rule.apply(form, self.facts)
                    if result is not None and result is not form:
                        self._offer(number, result, rule, depth)
        self._open.discard(number)

    def _forms(self, member: Member) -> Iterator[Node]:
        """The form itself, and with another form of one of its operands."""
        node = member.node
        yield node
        for place, operand in enumerate(member.inputs[: len(node.inputs)]):
            for other in self.members[operand][1:]:
                try:
                    form = rebuild(node, (*node.inputs[:place], other.node, *node.inputs[place + 1 :]))
                except ConsilienceError:  # pragma: no cover - members have one type
                    continue
                yield form

    def _offer(self, number: int, result: Node, rule: Rule, depth: int) -> None:
        """Make a result a member of a class."""
        own = self.canonical[number]
        try:
            result = self._normal.extend(fit(result, own, rule))
            known = self.class_of.get(result)
            if known is None:
                for node in topological([result], stop=self.class_of.__contains__):
                    if node is not result:
                        self._enter(node, depth + 1)
                ids = self._operands(result)
                here = rebuild(result, tuple([self.canonical[i] for i in ids]))
                known = self.class_of.get(here)
                if known is None:
                    if here.type != own.type:
                        return
                    self._pay()
                    self.members[number].append(Member(here, ids + self._needs(here, depth), rule.name))
                    self.class_of[here] = self.class_of[result] = number
                    return
            if known != number and known not in self._open and all(m.inputs != (known,) for m in self.members[number]):
                self._pay()
                self.members[number].append(Member(self.canonical[known], (known,), rule.name, alias=True))
        except _Refused:
            return


def _repeatable(node: Node) -> bool:
    """Whether a node has one value in all calls."""
    if isinstance(node.op, Scan | PythonCall) or (is_leaf(node) and not isinstance(node.op, Constant)):
        return False
    return not (isinstance(node.op, Elementwise) and node.op.function in (*DRAWS, "fold_in")) and node.dtype != "key"
