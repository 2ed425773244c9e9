"""The order of numbers in memory: values enter, their positions in ascending order leave, in machine code.

Equal values stay in order of their positions, so an order is a function of the values alone, however many blocks
they came in. The values are finite.
"""

from __future__ import annotations

from consilience.native.mathematics import float_bits, inf
from consilience.native.typed_python import Array, boolean, f64, i32, i64, native, simd, u64

BINS = 256  # of one digit: 8 bits
DIGITS = 4
FEW = 40  # so many numbers are inserted one by one
MOVES_PER_NUMBER = 4  # more insertions than that cost more than dealing again
CROWD = 8  # a first digit that more than one in so many numbers have tells that they do not lie evenly
GRADES = 65535  # as two digits hold: equal steps from the least number to the greatest
LOW_HALF = 0xFFFFFFFF


@native(inline=True)
def ordered_bits(x: f64) -> i64:
    """An integer that grows with x; zeros of both signs have the same."""
    bits = float_bits(x + 0.0)
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


@native
def deal(source: Array[u64], target: Array[u64], count: i64, shift: u64, places: Array[i64]) -> None:
    """One pass of a radix sort by the digit `shift` bits up; `places` counts how often each digit occurs."""
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
def settle(order: Array[i32], ascending: Array[f64], begin: i64, end: i64, most: i64) -> boolean:
    """Sort what is nearly sorted by insertion; False: given up after `most` moves."""
    moves = 0
    for r in range(begin + 1, end):
        value = ascending[r]
        if value < ascending[r - 1]:
            position = order[r]
            k = r
            while k > begin and ascending[k - 1] > value:
                ascending[k] = ascending[k - 1]
                order[k] = order[k - 1]
                k -= 1
            ascending[k] = value
            order[k] = position
            moves += r - k
            if moves > most:
                return False
    return True


@native
def read_out(
    values: Array[f64], pairs: Array[u64], order: Array[i32], ascending: Array[f64], begin: i64, count: i64
) -> None:
    """Positions from the lower halves of sorted words, and the values there."""
    for k in range(count):
        position = i64(u64(pairs[k]) & LOW_HALF)
        order[begin + k] = position
        ascending[begin + k] = values[position]


@native
def spread_of(values: Array[f64], begin: i64, end: i64) -> tuple[f64, f64]:
    """The least and the greatest value."""
    least = values[begin]
    most = least
    own = values[begin:]
    for k in simd(end - begin):
        least = min(least, own[k])
        most = max(most, own[k])
    return least, most


@native
def sort_by_grade(
    values: Array[f64],
    begin: i64,
    end: i64,
    order: Array[i32],
    ascending: Array[f64],
    pairs: Array[u64],
    other: Array[u64],
    places: Array[i64],
) -> boolean:
    """Sort where the numbers lie evenly enough between the least and the greatest; False: they do not.

    Two passes bring them in order of their grades, which grow with the numbers; those of one grade are inserted.
    """
    count = end - begin
    least, most = spread_of(values, begin, end)
    step = f64(GRADES) / (most - least)
    if not (step > 0.0 and step < inf):
        return False
    for digit in range(2 * BINS):
        places[digit] = 0
    for k in range(count):
        grade = i64((values[begin + k] - least) * step)
        places[grade & (BINS - 1)] += 1
        places[BINS + (grade >> 8)] += 1
        pairs[k] = (u64(grade) << 32) | u64(begin + k)
    for digit in range(BINS):
        if places[BINS + digit] * CROWD > count:
            return False
    deal(pairs, other, count, 32, places)
    deal(other, pairs, count, 40, places[BINS:])
    read_out(values, pairs, order, ascending, begin, count)
    return settle(order, ascending, begin, end, MOVES_PER_NUMBER * count)


@native(shared=True)
def sort_positions(
    values: Array[f64],
    begin: i64,
    end: i64,
    order: Array[i32],
    ascending: Array[f64],
    pairs: Array[u64],
    other: Array[u64],
    places: Array[i64],
) -> None:
    """Order the positions begin <= k < end by values[k], into order[begin:end] and ascending[begin:end].

    Numbers that lie evenly are sorted by equal steps. Else distances of the values' bits from the least are sorted by
    their upper 32 significant bits; the few that share these are inserted. Where they are many, a pass over all lower
    bits goes first.
    """
    count = end - begin
    if count <= FEW:
        for k in range(begin, end):
            order[k] = k
            ascending[k] = values[k]
        settle(order, ascending, begin, end, count * count)
        return
    if sort_by_grade(values, begin, end, order, ascending, pairs, other, places):
        return
    low = ordered_bits(values[begin])
    high = low
    for k in range(begin, end):
        bits = ordered_bits(values[k])
        low = min(low, bits)
        high = max(high, bits)
    least = u64(low)
    spread = u64(high) - least
    shift = u64(0)
    while spread >> shift > LOW_HALF:
        shift += 1
    for k in range(count):
        distance = (u64(ordered_bits(values[begin + k])) - least) >> shift
        pairs[k] = (distance << 32) | u64(begin + k)
    sort_upper_halves(pairs, other, count, places)
    read_out(values, pairs, order, ascending, begin, count)
    if shift == 0 or settle(order, ascending, begin, end, MOVES_PER_NUMBER * count):
        return
    for k in range(count):
        distance = u64(ordered_bits(values[begin + k])) - least
        pairs[k] = ((distance & LOW_HALF) << 32) | u64(begin + k)
    sort_upper_halves(pairs, other, count, places)
    for k in range(count):
        position = u64(pairs[k]) & LOW_HALF
        distance = u64(ordered_bits(values[i64(position)])) - least
        pairs[k] = ((distance >> 32) << 32) | position
    sort_upper_halves(pairs, other, count, places)
    read_out(values, pairs, order, ascending, begin, count)


@native(shared=True)
def merge_behind(
    order: Array[i32],
    ascending: Array[f64],
    begin: i64,
    end: i64,
    block_order: Array[i32],
    block: Array[f64],
) -> None:
    """Merge the sorted run [begin, end) into the sorted run [0, begin) before it, from the largest down.

    `block_order` and `block` are memory for the later run.
    """
    for k in range(end - begin):
        block_order[k] = order[begin + k]
        block[k] = ascending[begin + k]
    old = begin - 1
    new = end - begin - 1
    place = end - 1
    while new >= 0:
        value = block[new]
        while old >= 0 and ascending[old] > value:
            ascending[place] = ascending[old]
            order[place] = order[old]
            old -= 1
            place -= 1
        ascending[place] = value
        order[place] = block_order[new]
        new -= 1
        place -= 1
