"""The forms that make a program cheapest: first by the price of trees, then by small changes of the exact price.

Alternatives in, a `PricedPlan` out. What is shared is paid for once; an element that only loops of its own shape read
is never written. The written form is a candidate: no plan is predicted to be dearer than what was written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from consilience.errors import GraphError
from consilience.ir import Node, side_tables, topological
from consilience.ops import BroadcastTo, Reduce, Transpose
from consilience.planning import cost
from consilience.planning.alternatives import Alternatives, Member
from consilience.planning.explore import ALWAYS, EXPLORE, PRODUCTS, UNDIFFERENTIATED
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


class Weighed(Record):
    """Two forms of a value between which prices decided.

    `rule`: that makes one form of the other. `written`, `other`: the form as it was written, and another one. `taken`:
    whether the other one is computed. `seconds`, `bytes`: what a call of the whole program is predicted to take, and to
    hold at most: as planned, and with that one form exchanged.
    """

    rule: str
    written: Node
    other: Node
    taken: bool
    seconds: tuple[float, float]
    bytes: tuple[float, float]


class PricedPlan(Record):
    """The outputs in the forms that were chosen.

    `seconds`, `written_seconds`: predicted time of a call, and that of the forms as they were written. `peak`,
    `written_peak`: bytes of the values that are held at the same time, at most. `forms`: number of forms that were
    found. `rules`: by which other forms than the written ones were chosen, inputs first.
    """

    outputs: tuple[Node, ...]
    seconds: float
    written_seconds: float
    peak: float
    written_peak: float
    forms: int
    rules: tuple[str, ...]


def plan(outputs: Sequence[Node], data: Sequence[Node] = (), choice: bool | int | Forced = True) -> PricedPlan:
    """The cheapest program that rules find."""
    return _chosen(outputs, data, choice)[0]


def planned_products(outputs: Sequence[Node]) -> list[Node]:
    """The outputs with their products of matrices in the cheapest order; nothing else is planned."""
    price = Price(Alternatives(outputs, (), PRODUCTS, UNDIFFERENTIATED, limit=_limit(outputs)))
    cheapest(price)
    return price.outputs() if any(price.rules()) else list(outputs)


def _chosen(outputs: Sequence[Node], data: Sequence[Node], choice: bool | int | Forced) -> tuple[PricedPlan, Price]:
    limit = None if callable(choice) else _limit(outputs)
    price = Price(Alternatives(outputs, data, EXPLORE, ALWAYS, limit=limit))
    written, written_peak, forms = price.total, price.peak(), price.alternatives.spent
    if callable(choice):
        for number, member in sorted(choice(price.alternatives).items()):
            price.switch(number, member)
    elif choice is True:
        cheapest(price)
    else:
        _within(price, choice)
    made = PricedPlan(
        tuple(price.outputs()), price.total, written, price.peak(), written_peak, forms, tuple(price.rules())
    )
    return made, price


def weighed(outputs: Sequence[Node], data: Sequence[Node] = ()) -> tuple[PricedPlan, list[Weighed]]:
    """A plan, and what it chose among: the forms that were taken, then those that were not, the closest ones first."""
    made, price = _chosen(outputs, data, True)
    return made, sorted(price.weighed(), key=lambda w: (not w.taken, w.seconds[1] - w.seconds[0]))


def _limit(outputs: Sequence[Node]) -> int:
    """New forms that the run time of a program allows."""
    return int(sum(map(cost.work, topological(outputs))) * PER_SECOND) + 1


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


def _within(price: Price, memory: int) -> None:
    """The cheapest forms found that hold at most so many bytes: bytes are given a price until they do."""
    least = price.peak()
    for per_byte in (0.0, 1e-12, 1e-10, 1e-8, 1e-6):
        price.reprice(per_byte)
        cheapest(price)
        held = price.peak()
        if held <= memory:
            price.reprice(0.0)
            return
        least = min(least, held)
    node = price.largest()
    raise GraphError(
        f"no form of this program was found that holds at most {memory:,} bytes at a time; the best found holds "
        f"{least:,.0f}. The largest value, of shape {node.static_shape}, is {side_tables.describe(node)}; "
        "work in parts, or give a higher limit."
    )


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

    `chosen`: by number of class, the number of its member. `total`: predicted seconds of a call.
    """

    def __init__(self, alternatives: Alternatives) -> None:
        self.alternatives = alternatives
        count = len(alternatives.members)
        self.chosen = [0] * count
        self.total = 0.0
        # By class: how often it is read in which way.
        self._readers: list[dict[Reading, int]] = [{} for _ in range(count)]
        self._works: dict[tuple[int, int], tuple[int, float]] = {}
        self._reads: dict[tuple[int, int], list[tuple[int, Reading]]] = {}
        self._before: dict[int, float] = {}
        self._per_byte = 0.0
        self._groups = cost.groups_of([alternatives.canonical[o] for o in alternatives.outputs])
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

    def reprice(self, per_byte: float) -> None:
        """Let every byte that is written cost so many seconds more."""
        self._per_byte = per_byte
        self.total = sum(map(self._share, range(len(self.chosen))))

    # ---- prices

    def work(self, number: int, member: int) -> float:
        """Seconds of a member by itself, as if it were written."""
        kind, own = self._work(number, member)
        if kind in (cost.LOOP, cost.SUM):
            node = self.alternatives.members[number][member].node
            own += cost.LAUNCH + sum(cost.reading(i) for i in node.inputs) / 2 + cost.passing(cost.size_of(node)) / 2
        return own

    def _work(self, number: int, member: int) -> tuple[int, float]:
        """How a member is computed, and its seconds beside reading and writing."""
        known = self._works.get((number, member))
        if known is None:
            form = self.alternatives.members[number][member]
            there = form.alias or not form.inputs
            known = self._works[number, member] = (
                (cost.STORED, 0.0) if there else (cost.kind_of(form.node), cost.work(form.node, self._groups))
            )
        return known

    def reads(self, number: int, member: int) -> list[tuple[int, Reading]]:
        """The classes that a member reads, and how."""
        known = self._reads.get((number, member))
        if known is None:
            known = self._reads[number, member] = list(_readings(self.alternatives.members[number][member]))
        return known

    def _share(self, number: int) -> float:
        """What a class adds to the total."""
        readers = self._readers[number]
        return self.share_of(number, self.chosen[number], readers) if readers else 0.0

    def share_of(self, number: int, member: int, readers: Collection[Reading]) -> float:
        """What a member that is read in some ways adds: its work, writing it if need be, and all reading of it."""
        form = self.alternatives.members[number][member]
        if form.alias:
            return 0.0
        node = form.node
        kind, own = self._work(number, member)
        if kind == cost.LOOP and not _written(node, readers):
            return own
        if kind in (cost.LOOP, cost.SUM):
            own += cost.LAUNCH + cost.passing(cost.size_of(node))
        if kind >= cost.LOOP:
            own += self._per_byte * cost.size_of(node)
        loops = sum(1 for reading in readers if not isinstance(reading, str))
        if loops:
            own += loops * cost.reading(node)
        if kind == cost.VIEW and isinstance(node.op, BroadcastTo | Transpose) and WHOLE in readers:
            own += 2.0 * cost.passing(cost.size_of(node)) + cost.LAUNCH  # libraries take a copy
        return own

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
            kind, _ = self._work(number, self.chosen[number])
            if kind > cost.LOOP or (kind == cost.LOOP and _written(member.node, self._readers[number])):
                size = cost.size_of(member.node)
                held += size
                ending.setdefault(last.get(number, len(order)), []).append(size)
            highest = max(highest, held)
            held -= sum(ending.pop(place, ()))
        return highest

    def largest(self) -> Node:
        """The largest value that is written."""
        found = self.alternatives
        written = [
            found.members[n][self.chosen[n]].node
            for n in found.order
            if self._readers[n] and self._work(n, self.chosen[n])[0] >= cost.LOOP
        ]
        return max(written, key=cost.size_of)

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

    def rules(self) -> Iterator[str]:
        """The rules by which other forms than the written ones were chosen."""
        for number in self.alternatives.order:
            if self._readers[number] and self.chosen[number]:
                yield self.alternatives.members[number][self.chosen[number]].rule

    def weighed(self) -> Iterator[Weighed]:
        """All forms of the values that are computed, with the prices of the program that has them."""
        found = self.alternatives
        now = self.total, self.peak()
        for number in found.order:
            members, chosen = found.members[number], self.chosen[number]
            for m in range(1, len(members)):
                if not self._readers[number]:
                    continue
                before = list(self.chosen)
                exchanged = 0 if m == chosen else m
                if chosen not in (0, m):
                    continue
                self._aim(members[exchanged])
                self.switch(number, exchanged)
                then = self.total, self.peak()
                self.take(before)
                yield Weighed(
                    members[m].rule, members[0].node, members[m].node, m == chosen, (now[0], then[0]), (now[1], then[1])
                )


def _written(node: Node, readers: Collection[Reading]) -> bool:
    """Whether elements of a loop are written: read in another way than by loops of the same shape."""
    shape = node.static_shape
    return any(reading != shape for reading in readers)


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
        reading = node.inputs[0 if isinstance(node.op, Reduce) else 1].static_shape
    elif kind == cost.VIEW:
        reading = "view"
    gathers = kind == cost.LOOP and type(node.op).__name__ == "Index"
    for place, operand in enumerate(member.inputs):
        whole = kind == cost.SUM and place == 0 and not isinstance(node.op, Reduce)
        yield operand, "gathered" if gathers and place == 0 else WHOLE if whole else reading
