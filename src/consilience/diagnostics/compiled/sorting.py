"""Positions of finite numbers in ascending order, by a radix sort.

Equal numbers stay in order of their positions.
"""

from __future__ import annotations

from consilience.native.mathematics import float_bits
from consilience.native.typed_python import Array, f64, i32, i64, native, u64

BINS = 256  # of one digit: 8 bits
DIGITS = 4
MOVES_PER_NUMBER = 4  # more insertions than that cost more than sorting by the lower bits
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
def sort_upper_halves(pairs: Array[u64], other: Array[u64], count: i64, places: Array[i64]) -> None:
    """Sort words by their upper 32 bits in place, keeping the order of equal ones; `other` is memory as large."""
    for digit in range(DIGITS * BINS):
        places[digit] = 0
    for k in range(count):
        pair = u64(pairs[k])
        places[i64((pair >> 32) & (BINS - 1))] += 1
        places[BINS + i64((pair >> 40) & (BINS - 1))] += 1
        places[2 * BINS + i64((pair >> 48) & (BINS - 1))] += 1
        places[3 * BINS + i64(pair >> 56)] += 1
    deal(pairs, other, count, 32, places)
    deal(other, pairs, count, 40, places[BINS:])
    deal(pairs, other, count, 48, places[2 * BINS :])
    deal(other, pairs, count, 56, places[3 * BINS :])


@native(shared=True)
def insert(values: Array[f64], pairs: Array[u64], count: i64) -> i64:
    """Sort by insertion what is nearly sorted; gives the number of moves, at which it ends if they become too many."""
    moves = 0
    before = values[i64(u64(pairs[0]) & LOW_HALF)]
    for r in range(1, count):
        pair = u64(pairs[r])
        value = values[i64(pair & LOW_HALF)]
        if value < before:
            k = r
            while k > 0 and values[i64(u64(pairs[k - 1]) & LOW_HALF)] > value:
                pairs[k] = u64(pairs[k - 1])
                k -= 1
            pairs[k] = pair
            moves += r - k
            if moves > MOVES_PER_NUMBER * count:
                break
        else:
            before = value
    return moves


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

    Distances of the values' bits from the least are sorted by their upper 32 significant bits; the few that share
    these are inserted. Where they are many, all lower bits are sorted first.
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
    while spread >> shift > LOW_HALF:
        shift += 1
    for k in range(count):
        distance = (u64(ordered_bits(values[k])) - least) >> shift
        pairs[k] = (distance << 32) | u64(k)
    sort_upper_halves(pairs, other, count, places)
    if shift > 0 and insert(values, pairs, count) > MOVES_PER_NUMBER * count:
        for k in range(count):
            pairs[k] = ((u64(ordered_bits(values[k])) - least) << 32) | u64(k)
        sort_upper_halves(pairs, other, count, places)
        for k in range(count):
            position = u64(pairs[k]) & LOW_HALF
            distance = u64(ordered_bits(values[i64(position)])) - least
            pairs[k] = ((distance >> 32) << 32) | position
        sort_upper_halves(pairs, other, count, places)
    for k in range(count):
        here = i64(u64(pairs[k]) & LOW_HALF)
        order[k] = here
        ascending[k] = values[here]
