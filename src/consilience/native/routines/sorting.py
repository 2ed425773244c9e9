"""The order of numbers: sorting by digits, from the most significant ones, and selection of single places.

In: unsigned integers in the order of the numbers. Out: these in ascending
order, the positions that put them so (equal ones by position), or those at some places. Memory is the caller's.
"""

from __future__ import annotations

from consilience.native.mathematics import bits_float, float_bits, isnan
from consilience.native.typed_python import Array, NativeFunction, f64, i64, native, stack, u64

DIGITS = 3  # of one round: what they leave is put right by insertion, or by another round where it is much
FEW = 12  # numbers that are sorted by insertion
COMPARED = 64  # so many are compared with each other, side by side
SMALL = 3000  # fewer numbers are sorted by digits of 8 bits, more by 11
MANY = 4000  # among more numbers, a sample says where to look for a place
SAMPLE = 256
MOVES_PER_NUMBER = 4  # more insertions than that cost more than another round
LOW_HALF = 0xFFFFFFFF
TOP = -0x8000000000000000
BLOCK = 16  # values that are searched for side by side


@native
def keys_of_floats(values: Array[f64], keys: Array[u64], count: i64) -> None:
    """Unsigned integers in the order of floats: zeros of both signs are one, NaN comes last."""
    for k in range(count):
        value = values[k] + 0.0
        bits = float_bits(value)
        key = bits ^ ((bits >> 63) | TOP)
        keys[k] = u64(-1 if isnan(value) else key)


@native
def floats_of_keys(keys: Array[u64], values: Array[f64], count: i64) -> None:
    """The floats of `keys_of_floats`."""
    for k in range(count):
        key = i64(u64(keys[k]))
        values[k] = bits_float(key ^ (~(key >> 63) | TOP))


@native
def insert(words: Array[u64], count: i64) -> i64:
    """Sort by insertion what is nearly sorted; gives the number of moves, at which it ends if they become too many."""
    moves = 0
    for r in range(1, count):
        value = u64(words[r])
        if value < words[r - 1]:
            k = r
            while k > 0 and words[k - 1] > value:
                words[k] = words[k - 1]
                k -= 1
            words[k] = value
            moves += r - k
            if count > FEW and moves > MOVES_PER_NUMBER * count:
                break
    return moves


@native
def rank(words: Array[u64], count: i64, place: i64) -> i64:
    """Where the word at `place` goes when all are sorted: behind smaller ones, and behind equal ones before it."""
    word = u64(words[place])
    found = 0
    for k in range(place):
        found += 1 if words[k] <= word else 0
    for k in range(place + 1, count):
        found += 1 if words[k] < word else 0
    return found


@native
def deal(
    source: Array[u64], target: Array[u64], count: i64, least: u64, shift: u64, width: u64, places: Array[i64]
) -> None:
    """One pass by the digit of `width` bits, `shift` bits up in the distances from `least`.

    places   how often each digit occurs
    """
    mask = (u64(1) << width) - 1
    total = 0
    for digit in range(i64(mask) + 1):
        here = places[digit]
        places[digit] = total
        total += here
    for k in range(count):
        word = u64(source[k])
        digit = i64(((word - least) >> shift) & mask)
        target[places[digit]] = word
        places[digit] += 1


@native
def count_digits(words: Array[u64], count: i64, least: u64, shift: u64, width: u64, places: Array[i64]) -> None:
    """How often each of three digits of `width` bits occurs, the lowest `shift` bits up."""
    mask = (u64(1) << width) - 1
    bins = i64(mask) + 1
    for digit in range(DIGITS * bins):
        places[digit] = 0
    for k in range(count):
        rest = (u64(words[k]) - least) >> shift
        places[i64(rest & mask)] += 1
        places[bins + i64((rest >> width) & mask)] += 1
        places[2 * bins + i64((rest >> (2 * width)) & mask)] += 1


@native
def sort_digits(
    words: Array[u64], other: Array[u64], count: i64, least: u64, shift: u64, width: u64, bits: u64
) -> None:
    """Sort `words` by `bits` bits of their distances from `least`, `shift` bits up: three digits at most."""
    places = stack(i64, 6144)
    bins = i64(u64(1) << width)
    count_digits(words, count, least, shift, width, places)
    deal(words, other, count, least, shift, width, places)
    if bits > width:
        deal(other, words, count, least, shift + width, width, places[bins:])
        if bits > 2 * width:
            deal(words, other, count, least, shift + 2 * width, width, places[2 * bins :])
    if bits <= width or bits > 2 * width:
        for k in range(count):
            words[k] = other[k]


@native
def bits_of(spread: u64) -> u64:
    """The number of binary digits of an integer."""
    bits = u64(0)
    rest = spread
    while rest > 0:
        rest = rest >> 1
        bits += 1
    return bits


@native
def sort_keys(keys: Array[u64], other: Array[u64], count: i64) -> None:
    """Put `count` integers in ascending order; `other` is memory for as many."""
    if count <= FEW:
        insert(keys, count)
        return
    if count <= COMPARED:
        for k in range(count):
            other[rank(keys, count, k)] = keys[k]
        for k in range(count):
            keys[k] = other[k]
        return
    least = u64(keys[0])
    greatest = least
    for k in range(count):
        key = u64(keys[k])
        least = min(least, key)
        greatest = max(greatest, key)
    width = u64(8) if count < SMALL else u64(11)
    bits = bits_of(greatest - least)
    if bits == 0:
        return
    if bits <= 3 * width:
        sort_digits(keys, other, count, least, 0, width, bits)
        return
    sort_digits(keys, other, count, least, bits - 3 * width, width, 3 * width)
    if insert(keys, count) > MOVES_PER_NUMBER * count:
        done = u64(0)
        while done < bits:
            sort_digits(keys, other, count, least, done, width, min(bits - done, 3 * width))
            done += 3 * width


@native
def insert_positions(order: Array[u64], keys: Array[u64], count: i64) -> i64:
    """`insert` for positions in the order of keys, which are moved along."""
    moves = 0
    for r in range(1, count):
        key = u64(keys[r])
        if key < keys[r - 1]:
            position = u64(order[r])
            k = r
            while k > 0 and keys[k - 1] > key:
                keys[k] = keys[k - 1]
                order[k] = order[k - 1]
                k -= 1
            keys[k] = key
            order[k] = position
            moves += r - k
            if count > FEW and moves > MOVES_PER_NUMBER * count:
                break
    return moves


@native
def argsort(keys: Array[u64], order: Array[u64], other: Array[u64], count: i64) -> None:
    """The positions of `count` < 2**32 keys in ascending order, ties by position; `other` is memory for as many.

    Words of half a key and half a position are sorted.
    """
    if count <= FEW:
        for k in range(count):
            order[k] = u64(k)
            other[k] = u64(keys[k])
        insert_positions(order, other, count)
        return
    if count <= COMPARED:
        for k in range(count):
            order[rank(keys, count, k)] = u64(k)
        return
    least = u64(keys[0])
    greatest = least
    for k in range(count):
        key = u64(keys[k])
        least = min(least, key)
        greatest = max(greatest, key)
    width = u64(8) if count < SMALL else u64(11)
    bits = bits_of(greatest - least)
    wide = min(3 * width, u64(32))
    if bits == 0:
        for k in range(count):
            order[k] = u64(k)
        return
    shift = bits - wide if bits > wide else u64(0)
    for k in range(count):
        order[k] = (((u64(keys[k]) - least) >> shift) << 32) | u64(k)
    sort_digits(order, other, count, 0, 32, width, min(bits, wide))
    for k in range(count):
        order[k] = u64(order[k]) & LOW_HALF
    if shift > 0:
        for k in range(count):
            other[k] = keys[i64(u64(order[k]))]
        if insert_positions(order, other, count) > MOVES_PER_NUMBER * count:
            for k in range(count):
                order[k] = u64(k)
            done = u64(0)
            while done < bits:
                for k in range(count):
                    position = u64(order[k])
                    rest = (u64(keys[i64(position)]) - least) >> done
                    order[k] = (rest << 32) | position
                sort_digits(order, other, count, 0, 32, width, wide)
                for k in range(count):
                    order[k] = u64(order[k]) & LOW_HALF
                done += wide


@native
def margin_at(place: i64) -> i64:
    """Places of a sample to either side of `place`: three standard deviations where it is drawn at random, and more."""
    margin = 3
    while (margin - 3) * (margin - 3) * SAMPLE < 9 * place * (SAMPLE - place):
        margin += 1
    return margin


@native
def near(words: Array[u64], other: Array[u64], count: i64, place: i64, number: i64) -> i64:
    """Put into `other` words among which those at `place` and `number` - 1 that follow are; gives the first's place.

    A sample says between which words they must be. -1 where they are not between them; how many words were put there
    is the last of `other`. `words` and `other` may be the same.
    """
    sample = stack(u64, 256)
    memory = stack(u64, 256)
    step = count // SAMPLE
    for k in range(SAMPLE):
        sample[k] = words[k * step]
    sort_keys(sample, memory, SAMPLE)
    centre = place * SAMPLE // count
    first = centre - margin_at(centre)
    centre = (place + number - 1) * SAMPLE // count
    last = centre + margin_at(centre)
    low = u64(sample[first]) if first >= 0 else u64(0)
    span = (u64(sample[last]) if last < SAMPLE else u64(0xFFFFFFFFFFFFFFFF)) - low
    before = 0
    kept = 0
    begin = 0
    while begin < count:
        block = words[begin:]
        inside = 0
        if begin + BLOCK <= count:
            for k in range(BLOCK):
                before += 1 if block[k] < low else 0
            for k in range(BLOCK):
                inside += 1 if u64(block[k]) - low <= span else 0
            if inside > 0:
                for k in range(BLOCK):
                    word = u64(block[k])
                    other[kept] = word
                    kept += 1 if word - low <= span else 0
        else:
            for k in range(count - begin):
                word = u64(block[k])
                before += 1 if word < low else 0
                other[kept] = word
                kept += 1 if word - low <= span else 0
        begin += BLOCK
    if before > place or before + kept < place + number or kept == count:
        return -1
    other[count - 1] = u64(kept)
    return place - before


@native
def select(keys: Array[u64], other: Array[u64], count: i64, place: i64) -> u64:
    """The integer at `place` among `count` in ascending order; `other` is memory for as many, `keys` stays as it is.

    Those that share the digits found so far are kept, until few are left.
    """
    places = stack(i64, 2048)
    left = count
    rank = place
    first = True
    if count > MANY and place > 0 and place < count - 1:
        found = near(keys, other, count, place, 1)
        if found >= 0:
            left = i64(u64(other[count - 1]))
            rank = found
            first = False
    least = u64(0xFFFFFFFFFFFFFFFF)
    greatest = u64(0)
    if first:
        for k in range(left):
            key = u64(keys[k])
            least = min(least, key)
            greatest = max(greatest, key)
    else:
        for k in range(left):
            key = u64(other[k])
            least = min(least, key)
            greatest = max(greatest, key)
    if rank == 0:
        return least
    if rank == left - 1:
        return greatest
    width = u64(8) if left < SMALL else u64(11)
    bits = bits_of(greatest - least)
    while bits > 0:
        if left <= FEW:
            if first:
                for k in range(left):
                    other[k] = keys[k]
            insert(other, left)
            return u64(other[rank])
        shift = bits - width if bits > width else u64(0)
        mask = (u64(1) << width) - 1
        for digit in range(i64(mask) + 1):
            places[digit] = 0
        if first:
            for k in range(left):
                places[i64(((u64(keys[k]) - least) >> shift) & mask)] += 1
        else:
            for k in range(left):
                places[i64(((u64(other[k]) - least) >> shift) & mask)] += 1
        digit = 0
        while rank >= places[digit]:
            rank -= places[digit]
            digit += 1
        kept = 0
        wanted = u64(digit)
        if first:
            for k in range(left):
                key = u64(keys[k])
                other[kept] = key
                if ((key - least) >> shift) & mask == wanted:
                    kept += 1
        else:
            for k in range(left):
                key = u64(other[k])
                other[kept] = key
                if ((key - least) >> shift) & mask == wanted:
                    kept += 1
        first = False
        left = kept
        bits = shift
    return least if first else u64(other[0])


@native
def select_run(keys: Array[u64], other: Array[u64], count: i64, place: i64, number: i64) -> None:
    """Put into `other` the integers at `place` and the `number` - 1 that follow, in all at most half of `count`."""
    if count > MANY:
        left = count
        rank = near(keys, other, count, place, number)
        if rank >= 0:
            left = i64(u64(other[count - 1]))
        while rank >= 0 and left > MANY:
            rank = near(other, other, left, rank, number)
            if rank >= 0:
                left = i64(u64(other[left - 1]))
        if rank >= 0 and 2 * left <= count:
            sort_keys(other, other[left:], left)
            for k in range(number):
                other[k] = other[rank + k]
            return
    low = select(keys, other, count, place)
    high = select(keys, other, count, place + number - 1)
    smaller = 0
    equal = 0
    for k in range(count):
        smaller += 1 if keys[k] < low else 0
        equal += 1 if keys[k] == low else 0
    own = min(smaller + equal - place, number)
    kept = own
    for k in range(count):
        word = u64(keys[k])
        if word > low and word < high:
            other[kept] = word
            kept += 1
    for k in range(own):
        other[k] = low
    if kept > own:
        sort_keys(other[own:], other[number:], kept - own)
    for k in range(kept, number):
        other[k] = high


@native
def next_key(keys: Array[u64], count: i64, key: u64, place: i64) -> u64:
    """The integer at `place` in ascending order, given the one at the place before."""
    reached = 0  # as many are not greater than `key`
    least = u64(0xFFFFFFFFFFFFFFFF)
    for k in range(count):
        own = u64(keys[k])
        reached += 1 if own <= key else 0
        least = min(least, own if own > key else u64(0xFFFFFFFFFFFFFFFF))
    return key if reached > place else least


@native
def below(ordered: Array[u64], count: i64, key: u64) -> i64:
    """How many of the ascending integers are less than `key`."""
    start = 0
    rest = count
    while rest > 1:
        half = rest >> 1
        start += half if ordered[start + half - 1] < key else 0
        rest -= half
    return start + (1 if rest == 1 and ordered[start] < key else 0)


@native
def numbers_of(ordered: Array[f64], count: i64) -> i64:
    """How many of the ascending floats are not NaN."""
    start = 0
    rest = count
    while rest > 1:
        half = rest >> 1
        start += half if not isnan(ordered[start + half - 1]) else 0
        rest -= half
    return start + (1 if rest == 1 and not isnan(ordered[start]) else 0)


def _search(element: type) -> NativeFunction[..., None]:
    def places(
        ordered: Array[f64], count: i64, values: Array[f64], number: i64, right: i64, result: Array[i64]
    ) -> None:
        begin = 0
        while begin < number:
            end = min(begin + BLOCK, number)
            for k in range(begin, end):
                result[k] = 0
            rest = count
            while rest > 0:
                half = (rest + 1) >> 1
                if right > 0:
                    for k in range(begin, end):
                        start = result[k]
                        result[k] = start + (half if ordered[start + half - 1] <= values[k] else 0)
                else:
                    for k in range(begin, end):
                        start = result[k]
                        result[k] = start + (half if ordered[start + half - 1] < values[k] else 0)
                rest -= half
            begin = end

    places.__annotations__ |= {"ordered": Array[element], "values": Array[element]}  # type: ignore[valid-type]  # of this call
    return native(places)


places_of_numbers = _search(f64)
places_of_integers = _search(i64)
"""How many of the ascending `ordered` are less than each of `number` values, or with `right` = 1 not greater.

The values of a block are searched for side by side, which hides the waiting for memory.
"""


@native
def places_of_floats(
    ordered: Array[f64], count: i64, values: Array[f64], number: i64, right: i64, result: Array[i64]
) -> None:
    """`places_of_integers` for floats, of which NaN comes last."""
    places_of_numbers(ordered, count, values, number, right, result)
    for k in range(number):
        if isnan(values[k]):
            result[k] = count if right > 0 else numbers_of(ordered, count)
