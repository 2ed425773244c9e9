"""Many rows of numbers in ascending order, eight side by side: a network of comparisons, which no number changes.

In: rows of floats, not too long. Out: each in ascending order, NaN last, zeros in the order of their signs. Here is
what the network means; its machine code is written on vectors (`row_networks`). Outside: long rows, and single ones,
whose digits are sorted (`sorting`).
"""

from __future__ import annotations

from consilience.native.mathematics import isnan
from consilience.native.typed_python import Array, f64, i64, native

INFINITE = float("inf")


@native
def sort_rows(values: Array[f64], result: Array[f64], words: Array[f64], rows: i64, length: i64) -> i64:
    """Each of `rows` rows of `length` floats in ascending order, infinity in place of NaN; 1 if there is NaN or a zero.

    `words` is memory for eight rows, whose length is rounded up to a multiple of eight.
    """
    special = 0
    for row in range(rows):
        line = values[row * length :]
        ordered = result[row * length :]
        for k in range(length):
            value = line[k]
            special = 1 if isnan(value) or value == 0.0 else special
            words[k] = INFINITE if isnan(value) else value
        for k in range(length):
            value = words[k]
            place = k
            while place > 0 and ordered[place - 1] > value:
                ordered[place] = ordered[place - 1]
                place -= 1
            ordered[place] = value
    return special


@native
def put_rows_right(values: Array[f64], result: Array[f64], rows: i64, length: i64) -> None:
    """NaN at the end of sorted rows, in which infinity stands for it, and zeros in the order in which they came."""
    for row in range(rows):
        line = values[row * length :]
        ordered = result[row * length :]
        place = 0
        for k in range(length):
            place += 1 if line[k] < 0.0 else 0
        end = length
        for k in range(length):
            value = line[k]
            if isnan(value):
                end -= 1
                ordered[end] = value
            elif value == 0.0:
                ordered[place] = value
                place += 1
