"""`row_sorting.sort_rows` on vectors, eight rows in the lanes of each: a network of comparisons in registers.

Blocks of eight columns are sorted as they are read, and runs of blocks merged, two at a time (Batcher's bitonic merge,
whose first comparisons go from the middle outwards, so that what is missing behind the end counts as infinite).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from consilience.native.loops import Builder, Module
from consilience.native.program import Value, Variable, f64, i64, ptr
from consilience.native.routines import SIDES
from consilience.native.tiles import transposed

Pairs: TypeAlias = Sequence[tuple[int, int]]
ROWS: Final = f64.vector(SIDES)
# Source: Knuth, The art of computer programming, volume 3, 5.3.4: 19 comparisons are the fewest.
SORTED: Final[Pairs] = (
    (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7), (0, 1), (2, 3),
    (4, 5), (6, 7), (2, 4), (3, 5), (1, 4), (3, 6), (1, 2), (3, 4), (5, 6),
)  # fmt: skip
MERGED: Final[Pairs] = tuple((i, i + d) for d in (4, 2, 1) for i in range(SIDES) if not i & d)
MEETING: Final[Pairs] = tuple((SIDES - 1 - i, SIDES + i) for i in range(SIDES))
APART: Final[Pairs] = tuple((i, SIDES + i) for i in range(SIDES))


def in_order(b: Builder, values: list[Value], pairs: Pairs) -> None:
    """Exchange values[j] with values[i] where it is less, for each of the pairs (i, j)."""
    for i, j in pairs:
        x, y = values[i], values[j]
        less = b.cmp("lt", y, x)
        values[i], values[j] = b.select(less, y, x), b.select(less, x, y)


def write_sort_rows(symbol: str) -> Module:
    """The program."""
    module = Module()
    parameters = [("values", ptr), ("result", ptr), ("words", ptr), ("rows", i64), ("length", i64)]
    b = module.function(symbol, parameters, i64, contract=False)
    values, result, words, rows, length = b.parameters
    sides = b.const(i64, SIDES)
    padded = b.and_(b.add(length, b.const(i64, SIDES - 1)), b.const(i64, -SIDES))
    special = b.variable(b.const(ROWS, 0.0))
    with b.for_(0, rows, SIDES) as begin:
        last = b.sub(rows, b.const(i64, 1))
        lines = [b.mul(b.minimum(b.add(begin, b.const(i64, side)), last), length) for side in range(SIDES)]
        with b.for_(0, length, SIDES) as k:
            mask = b.cmp("lt", b.iota(i64.vector(SIDES)), b.splat(b.sub(length, k), SIDES))
            block = [_read(b, b.offset(values, b.add(line, k), f64), mask, special) for line in lines]
            block = transposed(b, block)
            in_order(b, block, SORTED)
            _store(b, words, k, block)
        _merge(b, words, padded)
        with b.for_(0, length, SIDES) as k:
            block = transposed(b, _load(b, words, k))
            places = [b.offset(result, b.add(line, k), f64) for line in lines]
            with b.if_(b.cmp("le", b.add(k, sides), length)):
                for row, place in zip(block, places, strict=True):
                    b.store(row, place)
            with b.else_():
                mask = b.cmp("lt", b.iota(i64.vector(SIDES)), b.splat(b.sub(length, k), SIDES))
                for row, place in zip(block, places, strict=True):
                    b.masked_store(row, place, mask)
    some = b.reduce("or", b.cmp("ne", b.get(special), b.const(ROWS, 0.0)))
    b.ret(b.select(some, b.const(i64, 1), b.const(i64, 0)))
    return module


def _read(b: Builder, place: Value, mask: Value, special: Variable) -> Value:
    """Eight numbers of a row, infinity for NaN and behind the end; NaN and zeros are noted."""
    infinite, zero, one = (b.const(ROWS, number) for number in (float("inf"), 0.0, 1.0))
    read = b.masked_load(ROWS, place, mask, infinite)
    missing = b.isnan(read)
    b.set(special, b.select(b.or_(missing, b.cmp("eq", read, zero)), one, b.get(special)))
    return b.select(missing, infinite, read)


def _load(b: Builder, words: Value, column: Value) -> list[Value]:
    start = b.mul(column, b.const(i64, SIDES))
    return [b.load(ROWS, b.offset(words, b.add(start, b.const(i64, SIDES * k)), f64)) for k in range(SIDES)]


def _store(b: Builder, words: Value, column: Value, block: Sequence[Value]) -> None:
    start = b.mul(column, b.const(i64, SIDES))
    for k, vector in enumerate(block):
        b.store(vector, b.offset(words, b.add(start, b.const(i64, SIDES * k)), f64))


def _merge(b: Builder, words: Value, count: Value) -> None:
    """Merge blocks of eight columns into runs of 16, of 32, and so on up to `count` columns, a multiple of eight."""
    sides = b.const(i64, SIDES)
    run = b.variable(sides)
    with b.while_() as merging:
        merging.check(b.cmp("lt", b.get(run), count))
        own = b.get(run)
        _pairs(b, words, count, own, MEETING)
        distance = b.variable(b.ashr(own, b.const(i64, 1)))
        with b.while_() as nearer:
            nearer.check(b.cmp("gt", b.get(distance), sides))
            _pairs(b, words, count, b.get(distance), APART)
            b.set(distance, b.ashr(b.get(distance), b.const(i64, 1)))
        with b.for_(0, count, 2 * SIDES) as first:
            second = b.add(first, sides)
            with b.if_(b.cmp("lt", second, count)):
                both = [*_load(b, words, first), *_load(b, words, second)]
                in_order(b, both, (*APART, *MERGED, *((i + SIDES, j + SIDES) for i, j in MERGED)))
                _store(b, words, first, both[:SIDES])
                _store(b, words, second, both[SIDES:])
            with b.else_():
                block = _load(b, words, first)
                in_order(b, block, MERGED)
                _store(b, words, first, block)
        b.set(run, b.shl(own, b.const(i64, 1)))


def _pairs(b: Builder, words: Value, count: Value, distance: Value, pairs: Pairs) -> None:
    """Compare blocks of two neighbouring stretches of `distance` columns, from the middle outwards or side by side."""
    with b.for_(0, count, b.shl(distance, b.const(i64, 1))) as begin:
        middle = b.add(begin, distance)
        with b.for_(middle, b.minimum(b.add(middle, distance), count), SIDES) as second:
            outwards = b.sub(b.sub(b.add(middle, middle), second), b.const(i64, SIDES))
            first = outwards if pairs is MEETING else b.sub(second, distance)
            both = [*_load(b, words, first), *_load(b, words, second)]
            in_order(b, both, pairs)
            _store(b, words, first, both[:SIDES])
            _store(b, words, second, both[SIDES:])
