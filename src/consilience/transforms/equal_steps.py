"""Steps of a recurrence, written one by one, as one loop.

People write recurrences in Python's loops: `x = a * x + e[t]`, five hundred times. Outputs in, equal outputs out, where
steps of equal form are the body of one `Scan`: a compiler, and the derivative, then meet each kind of step once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from math import inf
from typing import Final

import numpy as np

from consilience.ir import Constant, Node, Op, TensorType, constant, rebuild, topological
from consilience.ir.side_tables import carry, without_sources
from consilience.ir.traversal import longest_path
from consilience.ops.elementwise import Elementwise
from consilience.ops.index import FULL, At, Gather, Index, IndexUpdate
from consilience.ops.loop import closed, fresh
from consilience.ops.shape import stack
from consilience.record import Record, replace

# Fewer steps than this stay as they are; graphs without so many of an op on a path do not come here.
FEWEST: Final = 24
# Steps whose own operands, put together, have more elements than this, stay: putting them together copies them.
GREATEST: Final = 4096
# How far back a step may look.
FARTHEST: Final = 16
# Ways of cutting a path into steps that are tried, and ranges of steps for each.
CUTS: Final = 3
RANGES: Final = 12
# Paths that turned out to be no recurrence, after which a graph is left alone.
FAILURES: Final = 3


def equal_steps_looped(outputs: Sequence[Node], keep: Collection[Node] = ()) -> list[Node]:
    """Equal outputs, with at least `FEWEST` steps of one form as one loop.

    `outputs`: expressions of any shape. `keep`: nodes that stay as they are and are not looked into. Returns: one
    expression per output, of its type.
    """
    kept = frozenset(keep)
    found = list(outputs)
    useless: set[Node] = set()
    failures = 0
    with without_sources():
        found = _updates_together(_updates_read(_differences_added(found, kept), kept), kept)
        while failures < FAILURES:
            order = topological(found, stop=kept.__contains__)
            links = _links(order, found, kept)
            path = longest_path(order, kept | useless, FEWEST, links)
            if not path:
                break
            replacements = _looped(path, links, found, kept)
            if replacements:
                found = _substituted(found, replacements, kept)
            else:
                useless.update(path)
                failures += 1
    return found


def _links(order: Sequence[Node], outputs: Sequence[Node], kept: frozenset[Node]) -> set[Node]:
    """Sums with one reader, which is a sum: they are parts of a longer sum, and no steps."""
    readers = Counter(outputs)
    sums: list[Node] = []
    for node in order:
        if node not in kept:
            readers.update(node.inputs)
            if _does(node, "add") or _does(node, "sub"):
                sums.append(node)
    return {
        i
        for node in sums
        for i in (node.inputs if _does(node, "add") else node.inputs[:1])
        if readers[i] == 1 and (_does(i, "add") or _does(i, "sub"))
    } - kept


def _does(node: Node, function: str) -> bool:
    return isinstance(node.op, Elementwise) and node.op.function == function


def _substituted(outputs: Sequence[Node], replacements: Mapping[Node, Node], kept: frozenset[Node]) -> list[Node]:
    memo = dict(replacements)
    for node in topological(outputs, stop=lambda n: n in memo or n in kept):
        if node not in memo:
            memo[node] = node if node in kept else rebuild(node, tuple([memo[i] for i in node.inputs]))
    for old, new in replacements.items():
        carry(old, new)
    return [memo[output] for output in outputs]


# Forms that are no steps: sums with differences, and tensors that are filled in element by element.


def _differences_added(outputs: Sequence[Node], kept: frozenset[Node]) -> list[Node]:
    """Differences as sums where they go on with a sum that nothing else reads: the terms of a long sum are no steps."""
    order = topological(outputs, stop=kept.__contains__)
    readers = Counter(outputs)
    for node in order:
        readers.update(() if node in kept else node.inputs)
    memo: dict[Node, Node] = {}
    for node in order:
        here = node if node in kept else rebuild(node, tuple([memo[i] for i in node.inputs]))
        if _does(node, "sub") and node.inputs[0].type == node.type and node not in kept and readers[node] == 1:
            below = node.inputs[0]
            if readers[below] == 1 and below not in kept and (_does(below, "add") or _does(below, "sub")):
                here = Node(Elementwise("add"), here.inputs[0], -here.inputs[1])
        memo[node] = here
    return [memo[output] for output in outputs]


def _element(node: Node) -> int | None:
    """Which element along the first axis an op reads or sets, if it is one and all others are whole."""
    op = node.op
    if not isinstance(op, Index | IndexUpdate) or len(node.inputs) != 1 + isinstance(op, IndexUpdate):
        return None
    if isinstance(op, IndexUpdate) and (op.mode != "set" or any(entry != FULL for entry in op.specification[1:])):
        return None
    first = op.specification[0] if op.specification else None
    return first.position if isinstance(first, At) and first.position >= 0 else None


def _updates_read(outputs: Sequence[Node], kept: frozenset[Node]) -> list[Node]:
    """Elements that are read of a tensor that is filled in once are what they were set to."""
    order = topological(outputs, stop=kept.__contains__)
    roots: dict[Node, Node] = {}
    places: dict[Node, list[int]] = {}
    for node in order:
        if isinstance(node.op, IndexUpdate) and node not in kept and (place := _element(node)) is not None:
            roots[node] = root = roots.get(node.inputs[0], node.inputs[0])
            places.setdefault(root, []).append(place)
    once = {root for root, own in places.items() if len(own) >= FEWEST and len(set(own)) == len(own)}
    if not once:
        return list(outputs)
    memo: dict[Node, Node] = {}
    for node in order:
        here = node if node in kept else rebuild(node, tuple([memo[i] for i in node.inputs]))
        if isinstance(here.op, Index) and here not in kept and roots.get(node.inputs[0]) in once:
            here = _known(here)
        memo[node] = here
    return [memo[output] for output in outputs]


def _known(read: Node) -> Node:
    """One element of a tensor of which elements were set."""
    place = _element(read)
    if place is None:
        return read
    assert isinstance(read.op, Index)
    below = read.inputs[0]
    while isinstance(below.op, IndexUpdate) and (at := _element(below)) is not None:
        if at == place:
            rest, value = read.op.specification[1:], below.inputs[1]
            return value if all(entry == FULL for entry in rest) else Node(Index(rest), value)
        below = below.inputs[0]
    return Node(read.op, below)


def _updates_together(outputs: Sequence[Node], kept: frozenset[Node]) -> list[Node]:
    """Elements that are set one after another are set at once."""
    order = topological(outputs, stop=kept.__contains__)
    setting = {n for n in order if isinstance(n.op, IndexUpdate) and n not in kept and _element(n) is not None}
    if len(setting) < FEWEST:
        return list(outputs)
    readers = Counter(outputs)
    for node in order:
        readers.update(() if node in kept else node.inputs)
    inner = {below for n in setting if (below := n.inputs[0]) in setting and readers[below] == 1}
    together: dict[Node, tuple[Node, dict[int, Node]]] = {}
    for last in setting - inner:
        values: dict[int, Node] = {}  # what was set last counts
        node = last
        while node is last or node in inner:
            values.setdefault(_element(node) or 0, node.inputs[1])
            node = node.inputs[0]
        if len(values) >= FEWEST and len({value.type for value in values.values()}) == 1:
            together[last] = node, values
    if not together:
        return list(outputs)
    memo: dict[Node, Node] = {}
    for node in order:
        if node in together:
            below, values = together[node]
            places = sorted(values)
            update = IndexUpdate((Gather(), *[FULL] * (node.ndim - 1)), "set")
            memo[node] = Node(update, memo[below], stack([memo[values[i]] for i in places]), constant(places))
        else:
            memo[node] = node if node in kept else rebuild(node, tuple([memo[i] for i in node.inputs]))
    return [memo[output] for output in outputs]


# From a path to steps.


def _looped(path: Sequence[Node], links: set[Node], outputs: Sequence[Node], kept: frozenset[Node]) -> dict[Node, Node]:
    """What takes the place of the values of a recurrence along a path; nothing if it is none."""
    for period, begin, steps in _periods(path, links):
        anchors = _anchors(path, period, begin, steps, outputs, kept)
        family = _Recurrence(anchors, kept).matched()
        if family is not None:
            return family.written(outputs)
    return {}


def _periods(path: Sequence[Node], links: set[Node]) -> list[tuple[int, int, int]]:
    """Ways to cut a path into steps: nodes in a step, where the first step begins, number of steps."""
    numbers: dict[object, int] = {}
    keys = [(_form(node.op), node.type, node.inputs.index(below)) for below, node in pairwise(path)]
    codes = np.asarray([-1, *[numbers.setdefault(key, len(numbers)) for key in keys]])
    codes = np.where(_in_long_sums(path, links), -1 - np.arange(len(path)), codes)
    found: list[tuple[int, int, int]] = []
    covered = 0
    for period in range(1, len(path) // FEWEST + 1):
        same = np.concatenate([[False], codes[period:] == codes[:-period], [False]])
        edges = np.flatnonzero(same[1:] != same[:-1])
        runs = edges[1::2] - edges[::2]
        if not len(runs):
            continue
        longest = int(np.argmax(runs))
        length = int(runs[longest]) + period
        # A multiple of a period covers as much; a longer one that covers more holds loops within its steps.
        if length >= FEWEST * period and length > 1.1 * covered:
            found.append((period, int(edges[2 * longest]), length // period))
            covered = length
    return [
        (multiple * period, begin, steps // multiple)
        for period, begin, steps in reversed(found[-CUTS:])
        for multiple in range(1, CUTS + 1)
        if steps // multiple >= FEWEST
    ]


def _in_long_sums(path: Sequence[Node], links: set[Node]) -> list[bool]:
    """Which nodes of a path are links of a sum with many of them on the path."""
    found: list[bool] = []
    for linked, stretch in groupby(path, links.__contains__):
        several = len(list(stretch))
        found += [linked and several >= FEWEST] * several
    return found


def _form(op: Op) -> object:
    """An op without the positions that it reads or sets."""
    if isinstance(op, Index | IndexUpdate):
        entries = [At if isinstance(e, At) else e for e in op.specification]
        return (op.__class__, *entries, op.mode if isinstance(op, IndexUpdate) else "")
    return op


def _anchors(
    path: Sequence[Node], period: int, begin: int, steps: int, outputs: Sequence[Node], kept: frozenset[Node]
) -> list[Node]:
    """One value of each step: the one that is read most, since little else is carried then."""
    readers = Counter(outputs)
    for node in topological(outputs, stop=kept.__contains__):
        readers.update(() if node in kept else node.inputs)
    offsets = range(period)
    best = max(offsets, key=lambda k: (readers[path[begin + k + period * (steps // 2)]], k))
    return list(path[begin + best : begin + period * steps : period])


class _Broken(Exception):
    """Steps differ: what remains is the range of steps that do not."""

    def __init__(self, first: int, last: int) -> None:
        self.range = first, last


class Read(Record):
    """An operand in all steps: the same value, values of each step's own, or a result of a step `back` steps ago."""

    nodes: tuple[Node, ...]
    family: int = -1
    back: int = 0


class _Family:
    """The values that are the same result in every step."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes
        self.reads: list[Read] = []
        self.op: Op | None = None
        self.initial: dict[int, Node] = {}  # by how many steps before the first one


class _Recurrence:
    """A recurrence of which one value of each step is known: from there to all operands, for all steps at once."""

    def __init__(self, anchors: Sequence[Node], kept: frozenset[Node]) -> None:
        self._anchors = list(anchors)
        self._kept = kept
        self._places = {node: i for i, node in enumerate(anchors)}
        self._order = topological([anchors[-1]], stop=kept.__contains__)
        self._level = self._levels()
        self.first, self.last = 0, len(anchors) - 1
        self.families: list[_Family] = []

    def _levels(self) -> dict[Node, int]:
        """In which step each value is computed; -1: in none, before all."""
        level: dict[Node, int] = {}
        places, kept = self._places, self._kept
        for node in self._order:
            own = places.get(node)
            if own is not None:
                level[node] = own
            elif node in kept or not node.inputs:
                level[node] = -1
            else:
                level[node] = max([level[i] + (i in places) if level[i] >= 0 else -1 for i in node.inputs])
        return level

    def matched(self) -> _Recurrence | None:
        """The recurrence over the longest range of steps that are the same; None if it is too short."""
        seeds: list[tuple[Node, ...]] = []
        for _ in range(RANGES):
            if self.last - self.first + 1 < FEWEST:
                return None
            try:
                self._match(seeds)
            except _Broken as broken:
                if broken.range == (self.first, self.last):
                    return None
                self.first, self.last = broken.range
                seeds = []
                continue
            shortest = min(len(family.nodes) for family in self.families)
            if shortest == self.last - self.first + 1:
                return self
            self.last = self.first + shortest - 1
            seeds = [family.nodes[:shortest] for family in self.families]
        return None

    def _match(self, seeds: Sequence[tuple[Node, ...]]) -> None:
        self.families = []
        self._homes: dict[Node, list[int]] = {}
        self._waiting: list[int] = []
        for seed in seeds or [tuple(self._anchors[self.first : self.last + 1])]:
            self._family(seed)
        while self._waiting:
            self._operands(self.families[self._waiting.pop()])

    def _longest(self, good: Sequence[bool]) -> _Broken:
        """The longest range of steps that are good."""
        best, begin = (0, -1), 0
        for i, fine in enumerate([*good, False]):
            if not fine:
                if i - begin > best[1] - best[0] + 1:
                    best = begin, i - 1
                begin = i + 1
        return _Broken(self.first + best[0], self.first + best[1])

    def _family(self, nodes: tuple[Node, ...]) -> int:
        """The number of the family with these values; one that is known for fewer steps learns the others."""
        for number in self._homes.get(nodes[0], ()):
            family = self.families[number]
            shared = min(len(nodes), len(family.nodes))
            if family.nodes[:shared] == nodes[:shared]:
                if len(nodes) > shared:
                    family.nodes = nodes
                    self._waiting.append(number)
                return number
        self.families.append(_Family(nodes))
        number = len(self.families) - 1
        self._homes.setdefault(nodes[0], []).append(number)
        self._waiting.append(number)
        return number

    def _operands(self, family: _Family) -> None:
        """Find out what the operands of a family are."""
        nodes = family.nodes
        middle = nodes[len(nodes) // 2]
        form, of, several = _form(middle.op), middle.type, len(middle.inputs)
        good = [
            (n.op is middle.op or n.op == middle.op or _form(n.op) == form)
            and n.type == of
            and len(n.inputs) == several
            and n not in self._kept
            for n in nodes
        ]
        if not all(good):
            raise self._longest(good)
        if middle.op.random or not isinstance(of, TensorType):
            raise _Broken(0, -1)
        family.op, family.reads = middle.op, []
        for operands in zip(*[n.inputs for n in nodes], strict=True):
            family.reads.append(self._read(operands))
        if any(n.op != middle.op for n in nodes):
            self._varying(family)

    def _varying(self, family: _Family) -> None:
        """Positions that differ from step to step become operands."""
        op = family.op
        assert isinstance(op, Index | IndexUpdate)
        if any(isinstance(entry, Gather) for entry in op.specification):
            raise _Broken(0, -1)
        entries = list(op.specification)
        for axis, entry in enumerate(entries):
            if isinstance(entry, At):
                places = tuple(constant(_position(n.op, axis)) for n in family.nodes)
                entries[axis] = Gather()
                family.reads.append(Read(places))
        family.op = replace(op, specification=tuple(entries))

    def _read(self, nodes: tuple[Node, ...]) -> Read:
        last, level, begin = nodes[-1], self._level, self.first
        if level[last] < begin:
            good = [level[n] < begin and n.type == last.type for n in nodes]
            if not all(good):
                raise self._longest(good)
            return Read(nodes)
        back = begin + len(nodes) - 1 - level[last]
        if not 0 <= back <= FARTHEST or back >= len(nodes):
            raise _Broken(0, -1)
        levels = [level[n] for n in nodes]
        good = [at < begin if i < back else at == begin + i - back for i, at in enumerate(levels)]
        if not all(good):
            raise self._longest(good)
        number = self._family(nodes[back:])
        family = self.families[number]
        for i in range(back):
            if nodes[i].type != last.type or family.initial.setdefault(back - i, nodes[i]) is not nodes[i]:
                raise _Broken(self.first + i + 1, self.last)
        return Read(nodes, number, back)

    def written(self, outputs: Sequence[Node]) -> dict[Node, Node]:
        """The loop, and what of it takes the place of the values that others read; nothing if it would not pay."""
        families, count = self.families, self.last - self.first + 1
        own: dict[Node, list[tuple[int, int]]] = {}
        for number, family in enumerate(families):
            for i, node in enumerate(family.nodes):
                own.setdefault(node, []).append((number, i))
        read: dict[Node, None] = {}
        for node in topological(outputs, stop=lambda n: n in self._kept or n in own):
            if node not in self._kept and node not in own:
                read |= dict.fromkeys(i for i in node.inputs if i in own)
        read |= dict.fromkeys(output for output in outputs if output in own)
        traced = list(dict.fromkeys(own[node][0][0] for node in read if own[node][0][1] < count - 1))
        data: dict[tuple[Node, ...], Node] = {}
        carried: dict[tuple[int, int], Node] = {}
        made = self._body(data, carried)
        if sum(_copied(nodes) for nodes in data) > GREATEST * count:
            return {}
        numbers = dict.fromkeys(own[node][0][0] for node in read)
        traced += [number for number in numbers if number not in traced and (number, 1) not in carried]
        states: dict[Node, tuple[Node, Node]] = {}
        for (number, back), leaf in carried.items():
            following = made[number] if back == 1 else carried[number, back - 1]
            states[leaf] = (families[number].initial[back], following)
        wanted = [following for _, following in states.values()] + [made[number] for number in traced]
        wanted = equal_steps_looped(wanted, list(states))
        sequences = {leaf: _joined(nodes) for nodes, leaf in data.items()}
        loop = closed(states, sequences, wanted, length=count)
        ends = {number: loop.last[i] for i, (number, back) in enumerate(carried) if back == 1}
        traces = dict(zip(traced, loop.traces, strict=True))
        found: dict[Node, Node] = {}
        for node in read:
            number, i = own[node][0]
            if i == count - 1 and number in ends:
                found[node] = ends[number]
            else:
                found[node] = Node(Index((At(i), *[FULL] * node.ndim)), traces[number])
        return found

    def _body(self, data: dict[tuple[Node, ...], Node], carried: dict[tuple[int, int], Node]) -> list[Node]:
        """The results of one step, on leaves for what it reads."""
        families = self.families
        for family in families:
            for read in family.reads:
                for back in range(1, read.back + 1):
                    if (read.family, back) not in carried:
                        carried[read.family, back] = fresh(families[read.family].nodes[0])
        made: dict[int, Node] = {}
        for number in self._sorted():
            family = families[number]
            operands: list[Node] = []
            for read in family.reads:
                first = read.nodes[0]
                if read.family >= 0:
                    operands.append(carried[read.family, read.back] if read.back else made[read.family])
                elif all(node is first for node in read.nodes):
                    operands.append(first)
                else:
                    if read.nodes not in data:
                        data[read.nodes] = fresh(first)
                    operands.append(data[read.nodes])
            assert family.op is not None
            made[number] = Node(family.op, *operands)
        return [made[number] for number in range(len(families))]

    def _sorted(self) -> Iterator[int]:
        """Families, those that others read in the same step before them."""
        done: set[int] = set()
        for root in range(len(self.families)):
            waiting = [root]
            while waiting:
                number = waiting[-1]
                needed = [r.family for r in self.families[number].reads if r.family >= 0 and not r.back]
                if number in done or done.issuperset(needed):
                    waiting.pop()
                    if number not in done:
                        done.add(number)
                        yield number
                else:
                    waiting += [n for n in needed if n not in done]


def _position(op: Op, axis: int) -> int:
    assert isinstance(op, Index | IndexUpdate)
    entry = op.specification[axis]
    assert isinstance(entry, At)
    return entry.position


def _joined(nodes: Sequence[Node]) -> Node:
    if all(isinstance(node.op, Constant) for node in nodes):
        return constant(np.stack([node.op.array for node in nodes if isinstance(node.op, Constant)]))
    return stack(nodes)


def _copied(nodes: Sequence[Node]) -> float:
    """Elements that are copied where values are put together."""
    first = nodes[0]
    size = first.tensor_type.size
    if isinstance(first.op, Index) and all(isinstance(n.op, Index) and n.inputs == first.inputs for n in nodes):
        return 0.0
    return float(size * len(nodes)) if isinstance(size, int) else inf


__all__ = ["equal_steps_looped"]
