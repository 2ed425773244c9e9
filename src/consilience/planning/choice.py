"""The forms that make a program cheapest: first by the price of trees, then by small changes of the exact price.

Alternatives in, a `Plan` out. What is shared is paid for once; an element that only loops of its own shape read is
never written. The written form is a candidate, so that no plan is predicted to be dearer than what was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from consilience.ir import Node, side_tables
from consilience.ops import BroadcastTo, Reduce, Transpose
from consilience.planning import cost
from consilience.planning.alternatives import Alternatives, Member
from consilience.planning.explore import ALWAYS, EXPLORE
from consilience.record import Record

if TYPE_CHECKING:
    from consilience.planning import Forced

SWEEPS: Final = 4
# New values that a second of the program's run time may cost.
PER_SECOND: Final = 1e6
# A plan must be cheaper than what was written by this share: prices are not that exact.
MARGIN: Final = 0.02

# How a value is read: by a loop over elements of some shape, or in the whole.
Reading: TypeAlias = object
WHOLE: Final = "whole"


class Choice(Record):
    """A value for which another form than the written one is computed: by which rule, of what, and the user's line."""

    rule: str
    before: Node
    after: Node
    source: str


class Plan(Record):
    """The outputs in the forms that were chosen.

    Attributes
    ----------
    seconds, written_seconds
        Predicted time of a call, and that of the forms as they were written.
    peak, written_peak
        Bytes of the values that are held at the same time, at most.
    forms
        Number of forms that were weighed.
    """

    outputs: tuple[Node, ...]
    seconds: float
    written_seconds: float
    peak: float
    written_peak: float
    forms: int
    choices: tuple[Choice, ...]


def plan(outputs: Sequence[Node], data: Sequence[Node] = (), choice: bool | Forced = True) -> Plan:
    """The cheapest program that rules find.

    Parameters
    ----------
    data : sequence of TensorVariable, default ()
        Leaves that are bound before calls.
    choice : bool or callable, default True
        A function of the alternatives gives numbers of members to take, by class, whatever they cost.
    """
    limit = None if callable(choice) else int(written_price(outputs, data) * PER_SECOND) + 1
    found = Alternatives(outputs, data, EXPLORE, ALWAYS, limit=limit)
    price = Price(found)
    written, written_peak = price.total, price.peak()
    if callable(choice):
        for number, member in sorted(choice(found).items()):
            price.switch(number, member)
    else:
        cheapest(price)
    return Plan(
        tuple(price.outputs()),
        price.total,
        written,
        price.peak(),
        written_peak,
        found.spent,
        tuple(price.choices()),
    )


def written_price(outputs: Sequence[Node], data: Sequence[Node] = ()) -> float:
    """Predicted seconds of a call of a program as it is written."""
    return Price(Alternatives(outputs, data, EXPLORE.without([r.name for r in EXPLORE]), ALWAYS)).total


def cheapest(price: Price) -> None:
    """Choose the cheapest forms: by tree prices, or from what was written, by single changes and by rules."""
    written = list(price.chosen)
    start = price.total
    price.take(_by_trees(price))
    _climb(price)
    trees, total = list(price.chosen), price.total
    price.take(written)
    _climb(price)
    if total < price.total:
        price.take(trees)
    if price.total > start * (1.0 - MARGIN):
        price.take(written)
        price.total = start


def _by_trees(price: Price) -> list[int]:
    """The cheapest member of every class if nothing were shared."""
    found = price.alternatives
    cheapest: list[float] = [0.0] * len(found.members)
    best = [0] * len(found.members)
    for number in found.order:
        prices = [
            price.work(number, m) + sum(cheapest[i] for i in member.inputs)
            for m, member in enumerate(found.members[number])
        ]
        best[number] = min(range(len(prices)), key=prices.__getitem__)
        cheapest[number] = prices[best[number]]
    return best


def _climb(price: Price) -> None:
    """Change one form, or all that a rule made, as long as the whole becomes cheaper."""
    found = price.alternatives
    several = [n for n in reversed(found.order) if len(found.members[n]) > 1]
    rules: dict[str, list[tuple[int, int]]] = {}
    for number in several:
        for m, member in enumerate(found.members[number]):
            rules.setdefault(member.rule, []).append((number, m))
    for _ in range(SWEEPS):
        before = price.total
        for number in several:
            for m in range(len(found.members[number])):
                if price.is_read(number) and m != price.chosen[number]:
                    price.attempt([(number, m)])
        for moves in rules.values():
            price.attempt([(n, m) for n, m in moves if price.is_read(n)])
        if price.total >= before * (1.0 - 1e-9):
            return


class Price:
    """The price of a choice of one member per class, kept up to date as the choice changes.

    Attributes
    ----------
    chosen
        By number of class, the number of its member.
    total
        Predicted seconds of a call.
    """

    def __init__(self, alternatives: Alternatives) -> None:
        self.alternatives = alternatives
        count = len(alternatives.members)
        self.chosen = [0] * count
        self.total = 0.0
        # By class: how often it is read in which way.
        self._readers: list[dict[Reading, int]] = [{} for _ in range(count)]
        self._works: dict[tuple[int, int], float] = {}
        self._reads: dict[tuple[int, int], list[tuple[int, Reading]]] = {}
        self._before: dict[int, float] = {}
        self._read((o, WHOLE) for o in alternatives.outputs)
        self._settle()

    # ---- changes

    def is_read(self, number: int) -> bool:
        """Whether a class is computed."""
        return bool(self._readers[number])

    def switch(self, number: int, member: int) -> None:
        """Take another member of a class."""
        self._switch(number, member)
        self._settle()

    def attempt(self, moves: Sequence[tuple[int, int]]) -> None:
        """Take other members of some classes if that makes the whole cheaper."""
        before = self.total
        undone: list[tuple[int, int]] = []
        for number, member in moves:
            if self.chosen[number] != member:
                undone.append((number, self.chosen[number]))
                self._aim(self.alternatives.members[number][member])
                self._switch(number, member)
        if not undone:
            return
        self._settle()
        if self.total > before * (1.0 - 1e-12):
            for number, member in reversed(undone):
                self._switch(number, member)
            self._settle()
            self.total = before

    def take(self, chosen: Sequence[int]) -> None:
        """Take one member of each class."""
        for number in reversed(self.alternatives.order):
            self._switch(number, chosen[number])
        self._settle()

    def _switch(self, number: int, member: int) -> None:
        if self.chosen[number] == member:
            return
        if not self._readers[number]:
            self.chosen[number] = member
            return
        self._touch(number)
        old = self.reads(number, self.chosen[number])
        self.chosen[number] = member
        self._read(self.reads(number, member))
        self._unread(old)

    def _read(self, pairs: Iterable[tuple[int, Reading]]) -> None:
        waiting = list(pairs)
        while waiting:
            number, reading = waiting.pop()
            self._touch(number)
            readers = self._readers[number]
            if not readers:
                waiting += self.reads(number, self.chosen[number])
            readers[reading] = readers.get(reading, 0) + 1

    def _unread(self, pairs: Iterable[tuple[int, Reading]]) -> None:
        waiting = list(pairs)
        while waiting:
            number, reading = waiting.pop()
            self._touch(number)
            readers = self._readers[number]
            if readers[reading] == 1:
                del readers[reading]
                if not readers:
                    waiting += self.reads(number, self.chosen[number])
            else:
                readers[reading] -= 1

    def _touch(self, number: int) -> None:
        if number not in self._before:
            self._before[number] = self._share(number)

    def _settle(self) -> None:
        for number, before in self._before.items():
            self.total += self._share(number) - before
        self._before.clear()

    def _aim(self, member: Member) -> None:
        """Choose, for what is not computed yet and the member needs, what costs least beside what is."""
        prices: dict[int, float] = {}
        found = self.alternatives
        waiting = list(member.inputs)
        while waiting:
            number = waiting[-1]
            if number in prices:
                waiting.pop()
                continue
            if self._readers[number]:
                prices[number] = 0.0
                continue
            missing = [i for m in found.members[number] for i in m.inputs if i not in prices]
            if missing:
                waiting += missing
                continue
            costs = [
                self.work(number, m) + sum(prices[i] for i in other.inputs)
                for m, other in enumerate(found.members[number])
            ]
            self.chosen[number] = min(range(len(costs)), key=costs.__getitem__)
            prices[number] = costs[self.chosen[number]]

    # ---- prices

    def work(self, number: int, member: int) -> float:
        """Seconds of a member by itself, as if it were written."""
        form = self.alternatives.members[number][member]
        if form.alias or not form.inputs:
            return 0.0
        node = form.node
        kind = cost.kind_of(node)
        own = self._work(number, member)
        if kind in (cost.LOOP, cost.SUM):
            own += cost.LAUNCH + sum(cost.reading(i) for i in node.inputs) / 2 + cost.passing(cost.size_of(node)) / 2
        return own

    def _work(self, number: int, member: int) -> float:
        known = self._works.get((number, member))
        if known is None:
            form = self.alternatives.members[number][member]
            known = self._works[number, member] = 0.0 if form.alias or not form.inputs else cost.work(form.node)
        return known

    def reads(self, number: int, member: int) -> list[tuple[int, Reading]]:
        """The classes that a member reads, and how."""
        known = self._reads.get((number, member))
        if known is None:
            known = self._reads[number, member] = list(_readings(self.alternatives.members[number][member]))
        return known

    def _share(self, number: int) -> float:
        """What a class adds to the total: its work, writing it if it is written, and all reading of it."""
        readers = self._readers[number]
        if not readers:
            return 0.0
        member = self.alternatives.members[number][self.chosen[number]]
        node = member.node
        if member.alias:
            return 0.0
        own = self._work(number, self.chosen[number])
        kind = cost.kind_of(node) if member.inputs else cost.STORED
        if kind == cost.LOOP and not self._written(number):
            return own
        if kind in (cost.LOOP, cost.SUM):
            own += cost.LAUNCH + cost.passing(cost.size_of(node))
        loops = sum(1 for reading in readers if not isinstance(reading, str))
        if loops:
            own += loops * cost.reading(node)
        if kind == cost.VIEW and isinstance(node.op, BroadcastTo | Transpose) and WHOLE in readers:
            own += 2.0 * cost.passing(cost.size_of(node)) + cost.LAUNCH  # libraries take a copy
        return own

    def _written(self, number: int) -> bool:
        shape = self.alternatives.canonical[number].type.shape  # type: ignore[union-attr]  # loops have tensors
        return any(reading != shape for reading in self._readers[number])

    def peak(self) -> float:
        """Bytes that are held at the same time, at most: of values that are written, between writing and reading."""
        found = self.alternatives
        order = [n for n in found.order if self._readers[n]]
        last: dict[int, int] = {}
        for place, number in enumerate(order):
            for operand, _ in self.reads(number, self.chosen[number]):
                last[operand] = place
        ending: dict[int, list[float]] = {}
        held = highest = 0.0
        for place, number in enumerate(order):
            member = found.members[number][self.chosen[number]]
            kind = cost.kind_of(member.node)
            if member.inputs and not member.alias and kind >= cost.LOOP and (kind > cost.LOOP or self._written(number)):
                size = cost.size_of(member.node)
                held += size
                ending.setdefault(last.get(number, len(order)), []).append(size)
            highest = max(highest, held)
            held -= sum(ending.pop(place, ()))
        return highest

    # ---- results

    def outputs(self) -> list[Node]:
        """The program of the forms that are chosen."""
        found = self.alternatives
        made: dict[int, Node] = {}
        for number in found.order:
            if not self._readers[number]:
                continue
            member = found.members[number][self.chosen[number]]
            if member.alias:
                made[number] = made[member.inputs[0]]
                continue
            node = member.node
            if member.inputs:
                operands = tuple(made[i] for i in member.inputs[: len(node.inputs)])
                if operands != node.inputs:
                    node = type(node)(node.op, *operands)
            if node is not found.canonical[number]:
                side_tables.pass_on(found.canonical[number], node)
            made[number] = node
        return [made[o] for o in found.outputs]

    def choices(self) -> Iterator[Choice]:
        """Where another form than the written one is computed."""
        found = self.alternatives
        for number in found.order:
            member = found.members[number][self.chosen[number]]
            if self._readers[number] and member.rule:
                before = found.members[number][0].node
                yield Choice(member.rule, before, member.node, side_tables.source_of(before))


def _readings(member: Member) -> Iterator[tuple[int, Reading]]:
    node = member.node
    if member.alias:
        yield member.inputs[0], WHOLE
        return
    kind = cost.kind_of(node)
    reading: Reading = WHOLE
    if kind == cost.LOOP:
        reading = node.static_shape
    elif kind == cost.SUM:
        assert isinstance(node.op, Reduce)
        reading = node.inputs[0].static_shape
    elif kind == cost.VIEW:
        reading = "view"
    gathers = kind == cost.LOOP and type(node.op).__name__ == "Index"
    for place, operand in enumerate(member.inputs):
        yield operand, "gathered" if gathers and place == 0 else reading
