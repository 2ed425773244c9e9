"""Where boxes lie: operands above their readers, in rows, with few crossings.

A `Picture` in; rectangles and lines out, in pixels from the upper left. Rows come from longest paths, their order from
the mean place of neighbours (Sugiyama, Tagawa and Toda 1981). A box with inner graphs is as large as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from consilience.backends.printing.picture import Box, Picture
from consilience.record import Record

LETTER: Final = 7.0
LINE: Final = 15.0
MARGIN: Final = 8.0
BESIDE: Final = 18.0
BETWEEN: Final = 42.0
SWEEPS: Final = 12
# An arrow that passes a row keeps this much of it free.
LANE: Final = 6.0


class Placed(Record):
    """A box at its place, with the drawings of its inner graphs at theirs (from the drawing's own corner)."""

    box: Box
    x: float
    y: float
    width: float
    height: float
    inner: tuple[tuple[str, float, float, Drawing], ...] = ()


class Drawing(Record):
    """Boxes at their places, and arrows: start, end and the points they pass, from (x, y) to (x, y)."""

    width: float
    height: float
    boxes: tuple[Placed, ...]
    arrows: tuple[tuple[str, str, str, tuple[tuple[float, float], ...]], ...]


class _Item:
    """A box, or a place that an arrow passes, in one row."""

    def __init__(self, width: float, height: float, row: int) -> None:
        self.width, self.height, self.row = width, height, row
        self.x = 0.0
        self.above: list[_Item] = []
        self.below: list[_Item] = []


def arrange(drawn: Picture) -> Drawing:
    """The places of all boxes of a picture."""
    sizes = {box.key: _size(box) for box in drawn.boxes}
    row = _rows(drawn)
    items = {key: _Item(width, height, row[key]) for key, (width, height, _) in sizes.items()}
    rows: list[list[_Item]] = [[] for _ in range(max(row.values(), default=-1) + 1)]
    for item in items.values():
        rows[item.row].append(item)
    paths: list[tuple[str, str, str, list[_Item]]] = []
    for start, end, text in drawn.arrows:
        path = [items[start]]
        for between in range(row[start] + 1, row[end]):
            path.append(_Item(LANE, 0.0, between))
            rows[between].append(path[-1])
        path.append(items[end])
        for one, other in itertools.pairwise(path):
            one.below.append(other)
            other.above.append(one)
        paths.append((start, end, text, path))
    _order(rows)
    tops: list[float] = []
    y = MARGIN
    for members in rows:
        tops.append(y)
        y += max((m.height for m in members), default=0.0) + BETWEEN
    left = min((i.x for members in rows for i in members), default=0.0)
    for members in rows:
        for item in members:
            item.x += MARGIN - left
    placed = tuple(Placed(box, items[box.key].x, tops[row[box.key]], *sizes[box.key]) for box in drawn.boxes)
    arrows = []
    for start, end, text, path in paths:
        first, last = path[0], path[-1]
        # Upright through rows, so that nothing is crossed there; sideways between them.
        x = first.x + first.width / 2
        bottoms = {item.row: tops[item.row] + _height(rows[item.row]) for item in path}
        points = list(dict.fromkeys([(x, tops[first.row] + first.height), (x, bottoms[first.row])]))
        for passed in path[1:-1]:
            x = passed.x + passed.width / 2
            points += [(x, tops[passed.row]), (x, bottoms[passed.row])]
        readers = last.above
        share = (readers.index(path[-2]) + 1) / (len(readers) + 1)
        points.append((last.x + last.width * share, tops[last.row]))
        arrows.append((start, end, text, tuple(points)))
    width = max((i.x + i.width for members in rows for i in members), default=0.0) + MARGIN
    return Drawing(width, y - BETWEEN + MARGIN if rows else 2 * MARGIN, placed, tuple(arrows))


def _height(members: Sequence[_Item]) -> float:
    return max((m.height for m in members), default=0.0)


def _size(box: Box) -> tuple[float, float, tuple[tuple[str, float, float, Drawing], ...]]:
    """Width, height and inner drawings, which lie side by side below the text."""
    width = max(map(len, box.lines), default=0) * LETTER + 2 * MARGIN
    height = len(box.lines) * LINE + 2 * MARGIN
    inner = []
    x = MARGIN
    lowest = height
    for name, inside in box.inner:
        drawing = arrange(inside)
        own = max(drawing.width, len(name) * LETTER + 2 * MARGIN)
        inner.append((name, x, height + LINE, drawing))
        x += own + MARGIN
        lowest = max(lowest, height + LINE + drawing.height + MARGIN)
    return max(width, x), lowest, tuple(inner)


def _rows(drawn: Picture) -> dict[str, int]:
    """A row for every box: results lowest, every operand just above its highest reader."""
    readers: dict[str, list[str]] = {box.key: [] for box in drawn.boxes}
    for start, end, _ in drawn.arrows:
        readers[start].append(end)
    height: dict[str, int] = {}
    for box in reversed(drawn.boxes):
        height[box.key] = 1 + max((height[r] for r in readers[box.key]), default=-1)
    highest = max(height.values(), default=0)
    return {key: highest - own for key, own in height.items()}


def _order(rows: Sequence[Sequence[_Item]]) -> None:
    """Order within rows and horizontal places, by sweeps down and up."""
    arranged = [list(row) for row in rows]
    for row in arranged:
        _pack(row, [float(i) for i in range(len(row))])
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in arranged if down else reversed(arranged):
            wishes = [_wish(item, item.above if down else item.below) for item in row]
            order = list(range(len(row)))
            if sweep < SWEEPS - 4:
                order.sort(key=wishes.__getitem__)
            row[:] = [row[i] for i in order]
            _pack(row, [wishes[i] for i in order])


def _wish(item: _Item, neighbours: Sequence[_Item]) -> float:
    """Where the middle would lie best."""
    if not neighbours:
        return item.x + item.width / 2
    return sum(n.x + n.width / 2 for n in neighbours) / len(neighbours)


def _pack(row: Sequence[_Item], wishes: Sequence[float]) -> None:
    """Places nearest to the wishes, in the order given, without overlap: blocks that touch move together."""
    blocks: list[list[float]] = []  # sum of wished starts, number of items, width
    for item, wish in zip(row, wishes, strict=True):
        start = wish - item.width / 2
        blocks.append([start, 1.0, item.width + BESIDE])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] + blocks[-2][2] > blocks[-1][0] / blocks[-1][1]:
            total, count, width = blocks.pop()
            before = blocks[-1]
            before[0] += total - count * before[2]
            before[1] += count
            before[2] += width
    position = iter(row)
    for total, count, _ in blocks:
        x = total / count
        for _ in range(round(count)):
            item = next(position)
            item.x = x
            x += item.width + BESIDE
