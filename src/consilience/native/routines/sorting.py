"""The order of numbers: a merge sort that keeps equal numbers in order of their positions.

Integers in, the positions that put them in ascending order out. `ordered_key` makes integers of floats.
"""

from __future__ import annotations

from consilience.native.mathematics import float_bits, isnan
from consilience.native.typed_python import Array, f64, i64, native

LARGEST = 0x7FFFFFFFFFFFFFFF


@native
def ordered_key(x: f64) -> i64:
    """An integer that grows with x; zeros of both signs have the same, NaN comes last."""
    if isnan(x):
        return LARGEST
    bits = float_bits(x + 0.0)
    return bits ^ ((bits >> 63) & LARGEST)


@native
def merge(keys: Array[i64], source: Array[i64], target: Array[i64], begin: i64, middle: i64, end: i64) -> None:
    """Positions in source[begin:middle] and source[middle:end], each in order of their keys, in order of all."""
    left = begin
    right = middle
    for k in range(begin, end):
        if left < middle and (right >= end or keys[source[left]] <= keys[source[right]]):
            target[k] = source[left]
            left += 1
        else:
            target[k] = source[right]
            right += 1


@native
def argsort(keys: Array[i64], order: Array[i64], other: Array[i64], count: i64) -> None:
    """The positions of `count` keys in ascending order, ties by position; `other` is memory as large as `order`."""
    for k in range(count):
        order[k] = k
    width = 1
    while width < count:
        for k in range(count):
            other[k] = order[k]
        begin = 0
        while begin < count:
            middle = min(begin + width, count)
            merge(keys, other, order, begin, middle, min(begin + 2 * width, count))
            begin += 2 * width
        width *= 2
