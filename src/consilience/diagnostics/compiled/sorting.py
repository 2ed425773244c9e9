"""Positions of finite numbers in ascending order, by a radix sort.

Equal numbers stay in order of their positions.
"""

from __future__ import annotations

from consilience.native.mathematics import float_bits
from consilience.native.typed_python import Array, f64, i32, i64, native, u64

BINS = 256  # of one digit: 8 bits
DIGITS = 3
KEY_BITS = 24
KEYS = (1 << 24) - 1
MOVES_PER_NUMBER = 4  # more insertions than that cost more than sorting by all bits
LOW_HALF = 0xFFFFFFFF


@native(inline=True)
def ordered_bits(x: f64) -> i64:
    """An integer that grows with x; zeros of both signs have the same."""
    bits = float_bits(x + 0.0)
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


@native
def deal(source: Array[u64], target: Array[u64], count: i64, shift: u64, places: Array[i64]) -> None:
    """One pass by the digit `shift` bits up; `places` counts how often each digit occurs."""
    total = 0
    for digit in range(BINS):
        here = places[digit]
        places[digit] = total
        total += here
    for k in range(count):
        pair = u64(source[k])
        digit = i64((pair >> shift) & (BINS - 1))
        target[places[digit]] = pair
        places[digit] += 1


@native(shared=True)
def sort_by_keys(pairs: Array[u64], other: Array[u64], count: i64, places: Array[i64]) -> None:
    """Sort the words of `other` into `pairs` by the 24 bits above the lowest 32, keeping the order of equal ones."""
    for digit in range(DIGITS * BINS):
        places[digit] = 0
    for k in range(count):
        pair = u64(other[k])
        places[i64((pair >> 32) & (BINS - 1))] += 1
        places[BINS + i64((pair >> 40) & (BINS - 1))] += 1
        places[2 * BINS + i64(pair >> 48)] += 1
    deal(other, pairs, count, 32, places)
    deal(pairs, other, count, 40, places[BINS:])
    deal(other, pairs, count, 48, places[2 * BINS :])


@native(shared=True)
def insert(order: Array[i32], ascending: Array[f64], count: i64) -> i64:
    """Sort by insertion what is nearly sorted; gives the number of moves, at which it ends if they become too many."""
    moves = 0
    for r in range(1, count):
        value = ascending[r]
        if value < ascending[r - 1]:
            position = order[r]
            k = r
            while k > 0 and ascending[k - 1] > value:
                ascending[k] = ascending[k - 1]
                order[k] = order[k - 1]
                k -= 1
            ascending[k] = value
            order[k] = position
            moves += r - k
            if moves > MOVES_PER_NUMBER * count:
                break
    return moves


@native
def read_out(values: Array[f64], pairs: Array[u64], count: i64, order: Array[i32], ascending: Array[f64]) -> None:
    """Positions from the lower halves of sorted words, and the values there."""
    for k in range(count):
        position = i64(u64(pairs[k]) & LOW_HALF)
        order[k] = position
        ascending[k] = values[position]


@native(shared=True)
def sort_positions(
    values: Array[f64],
    count: i64,
    order: Array[i32],
    ascending: Array[f64],
    pairs: Array[u64],
    other: Array[u64],
    places: Array[i64],
) -> None:
    """Put the positions 0 <= k < count in order of values[k], and the values; the last three arrays are memory.

    Distances of the values' bits from the least are sorted by their upper 24 significant bits; the few that share
    these are inserted. Where they are many, all bits are sorted, the lowest first.
    """
    low = ordered_bits(values[0])
    high = low
    for k in range(count):
        bits = ordered_bits(values[k])
        low = min(low, bits)
        high = max(high, bits)
    least = u64(low)
    spread = u64(high) - least
    shift = u64(0)
    while spread >> shift > KEYS:
        shift += 1
    for k in range(count):
        other[k] = (((u64(ordered_bits(values[k])) - least) >> shift) << 32) | u64(k)
    sort_by_keys(pairs, other, count, places)
    read_out(values, pairs, count, order, ascending)
    if shift > 0 and insert(order, ascending, count) > MOVES_PER_NUMBER * count:
        for k in range(count):
            pairs[k] = u64(k)
        sorted = u64(0)  # bits
        while sorted < 64:
            for k in range(count):
                position = u64(pairs[k]) & LOW_HALF
                distance = u64(ordered_bits(values[i64(position)])) - least
                other[k] = (((distance >> sorted) & KEYS) << 32) | position
            sort_by_keys(pairs, other, count, places)
            sorted += KEY_BITS
        read_out(values, pairs, count, order, ascending)
