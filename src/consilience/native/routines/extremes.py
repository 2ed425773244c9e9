"""Where among numbers the greatest or the least is.

In: float64 or int64, one after another or in rows. Out: the first place of the most extreme one, NaN before all.
"""

from __future__ import annotations

from consilience.native.mathematics import bits_float, float_bits
from consilience.native.typed_python import Array, NativeFunction, f64, i64, native

LEAST = -0x8000000000000000
GREATEST = 0x7FFFFFFFFFFFFFFF
INFINITE = 0x7FF0000000000000  # the bits of infinity; those of NaN are greater, less their sign
BLOCK = 128  # the place of the greatest is looked for in one block


@native
def order_of_float(value: f64, flip: i64) -> i64:
    """An integer in the order of the floats, with `flip` -1 in the other order: equal for zeros, greatest for NaN."""
    bits = float_bits(bits_float(float_bits(value) ^ (flip & LEAST)) + 0.0)
    word = bits ^ ((bits >> 63) & GREATEST)
    return GREATEST if (bits & GREATEST) > INFINITE else word


@native
def order_of_integer(value: i64, flip: i64) -> i64:
    """The integer itself, with `flip` -1 one in the other order."""
    return value ^ flip


@native
def word_of_float(value: f64) -> i64:
    """An integer in the order of the floats: 0.0 one above -0.0, NaN beyond either infinity by its sign."""
    bits = float_bits(value)
    return bits ^ ((bits >> 63) & GREATEST)


@native
def extreme_of_floats(least: i64, greatest: i64, flip: i64) -> i64:
    """What `order_of_float` has of the greatest of some floats, given the words of the least and of the greatest."""
    word = (greatest if flip == 0 else least) ^ flip
    return GREATEST if greatest > INFINITE or least < ~INFINITE else 0 if word == -1 else word


@native
def word_of_integer(value: i64) -> i64:
    """The integer itself."""
    return value


@native
def extreme_of_integers(least: i64, greatest: i64, flip: i64) -> i64:
    """What `order_of_integer` has of the greatest of some integers, given the least and the greatest."""
    return (greatest if flip == 0 else least) ^ flip


def _of_line(
    element: type,
    word: NativeFunction[..., int],
    extreme: NativeFunction[..., int],
    order: NativeFunction[..., int],
) -> NativeFunction[..., int]:
    def place_of_extreme(values: Array[f64], count: i64, flip: i64) -> i64:
        best = LEAST
        block = 0
        begin = 0
        while begin < count:
            end = min(begin + BLOCK, count)
            least = GREATEST
            greatest = LEAST
            for k in range(begin, end):
                own = word(values[k])
                least = min(least, own)
                greatest = max(greatest, own)
            here = extreme(least, greatest, flip)
            if here > best:
                best = here
                block = begin
            begin = end
        place = count
        for k in range(block, min(block + BLOCK, count)):
            place = min(place, k if order(values[k], flip) == best else count)
        return place

    place_of_extreme.__annotations__ |= {"values": Array[element]}  # type: ignore[valid-type]  # of this call
    return native(place_of_extreme)


def _of_columns(element: type, word: NativeFunction[..., int]) -> NativeFunction[..., None]:
    def places_of_extremes(
        values: Array[f64], rows: i64, width: i64, count: i64, flip: i64, best: Array[i64], places: Array[i64]
    ) -> None:
        for k in range(count):
            best[k] = word(values[k], flip)
            places[k] = 0
        for row in range(1, rows):
            line = values[row * width :]
            for k in range(count):
                own = word(line[k], flip)
                held = i64(best[k])
                places[k] = row if own > held else i64(places[k])
                best[k] = max(own, held)

    places_of_extremes.__annotations__ |= {"values": Array[element]}  # type: ignore[valid-type]  # of this call
    return native(places_of_extremes)


place_among_floats = _of_line(f64, word_of_float, extreme_of_floats, order_of_float)
place_among_integers = _of_line(i64, word_of_integer, extreme_of_integers, order_of_integer)
"""The first place of the greatest of `count` > 0 values, or with `flip` -1 of the least."""
places_among_floats = _of_columns(f64, order_of_float)
places_among_integers = _of_columns(i64, order_of_integer)
"""The same of `count` columns of rows that lie `width` apart; `best` is memory for as many."""
