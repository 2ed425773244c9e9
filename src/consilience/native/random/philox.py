"""Philox4x32-10: random bits as a pure function of key and counter.

In: a key and a counter (64 bits each) and the number of a block within it. Out: words of 32 random bits.
Outside: distributions.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011). Words
are kept in i64 and masked, which gives the same bits under CPython and in machine code.
"""

from __future__ import annotations

from typing import Final

from consilience.native.typed_python import f64, i64, native

MASK: Final = 0xFFFFFFFF
MULTIPLIER_0: Final = 0xD2511F53
MULTIPLIER_1: Final = 0xCD9E8D57
WEYL_0: Final = 0x9E3779B9
WEYL_1: Final = 0xBB67AE85
DRAWS: Final = 0  # last counter word of the blocks that draws use
KEYS: Final = 1  # last counter word of the blocks that new keys come from
HALF_STEP: Final = 2.0**-53


@native
def philox(
    counter_0: i64, counter_1: i64, counter_2: i64, counter_3: i64, key_0: i64, key_1: i64
) -> tuple[i64, i64, i64, i64]:
    """Ten rounds of Philox4x32 on four counter words and two key words, all in [0, 2**32)."""
    for _ in range(10):
        product_0 = MULTIPLIER_0 * counter_0
        product_1 = MULTIPLIER_1 * counter_2
        counter_0 = ((product_1 >> 32) & MASK) ^ counter_1 ^ key_0
        counter_2 = ((product_0 >> 32) & MASK) ^ counter_3 ^ key_1
        counter_1 = product_1 & MASK
        counter_3 = product_0 & MASK
        key_0 = (key_0 + WEYL_0) & MASK
        key_1 = (key_1 + WEYL_1) & MASK
    return counter_0, counter_1, counter_2, counter_3


@native
def random_words(key: i64, counter: i64, block: i64) -> tuple[i64, i64, i64, i64]:
    """Four words of block number `block` of `counter`; every counter owns 2**32 blocks."""
    return philox(counter & MASK, (counter >> 32) & MASK, block & MASK, DRAWS, key & MASK, (key >> 32) & MASK)


@native
def random_bits(key: i64, counter: i64) -> i64:
    """64 random bits."""
    low, high, _, _ = random_words(key, counter, 0)
    return i64((high << 32) | low)


@native
def fold_in(key: i64, data: i64) -> i64:
    """A new key made of `key` and `data` (a seed, a chain, a purpose, ...), independent of all others."""
    low, high, _, _ = philox(data & MASK, (data >> 32) & MASK, 0, KEYS, key & MASK, (key >> 32) & MASK)
    return i64((high << 32) | low)


@native
def unit_interval(low: i64, high: i64) -> f64:
    """A number in (0, 1) from two words: an odd multiple of 2**-53, so both ends are out of reach."""
    return f64(2 * ((high << 20) | (low >> 12)) + 1) * HALF_STEP


@native
def uniforms(key: i64, counter: i64, block: i64) -> tuple[f64, f64]:
    """The two uniform numbers of one block."""
    a, b, c, d = random_words(key, counter, block)
    return unit_interval(a, b), unit_interval(c, d)
