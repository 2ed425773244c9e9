"""Independent standard normal numbers by the vector, as a function of key and counter.

Box & Muller (1958): a uniform radius and a uniform angle make two normals. Uniforms come in groups, and
logarithm, sine and cosine are series without branches, so that all loops run on vectors: a momentum is drawn
for every transition, and calls of the C library would cost as much as the whole trajectory.
"""

from __future__ import annotations

from consilience.native.mathematics import bits_float, float_bits, floor, pi, sqrt
from consilience.native.random.philox import uniforms
from consilience.native.typed_python import Array, f64, i64, native, stack

GROUP = 64  # pairs made together
MANTISSA_BITS = 52
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
LOG_2 = 0.6931471805599453


@native(inline=True, contract=True)
def log_of_unit(u: f64) -> f64:
    """log(u) for 0 < u <= 1, u not subnormal.

    u = 2**k m with m from sqrt(1/2) to sqrt(2); log(m) = 2 artanh(s) with s = (m - 1) / (m + 1), |s| < 0.172.
    """
    bits = float_bits(u)
    exponent = (bits - ROOT_HALF_BITS) >> MANTISSA_BITS
    m = bits_float(bits - (exponent << MANTISSA_BITS))
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1.0 / 17.0 + z * (1.0 / 19.0 + z * (1.0 / 21.0))
    series = 1.0 / 11.0 + z * (1.0 / 13.0 + z * (1.0 / 15.0 + z * series))
    series = 1.0 / 5.0 + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z * series))
    return f64(exponent) * LOG_2 + 2.0 * s * (1.0 + z * (1.0 / 3.0 + z * series))


@native(inline=True, contract=True)
def sine_of_eighth(x: f64) -> f64:
    """sin(x) for |x| <= pi / 4, by its Taylor series."""
    z = x * x
    series = 1.0 / 39916800.0 - z * (1.0 / 6227020800.0 - z * (1.0 / 1307674368000.0))
    series = 1.0 / 362880.0 - z * series
    return x * (1.0 - z * (1.0 / 6.0 - z * (1.0 / 120.0 - z * (1.0 / 5040.0 - z * series))))


@native(inline=True, contract=True)
def cosine_of_eighth(x: f64) -> f64:
    """cos(x) for |x| <= pi / 4, by its Taylor series."""
    z = x * x
    series = 1.0 / 479001600.0 - z * (1.0 / 87178291200.0 - z * (1.0 / 20922789888000.0))
    series = 1.0 / 3628800.0 - z * series
    return 1.0 - z * (0.5 - z * (1.0 / 24.0 - z * (1.0 / 720.0 - z * (1.0 / 40320.0 - z * series))))


@native
def uniform_pairs(key: i64, counter: i64, radii: Array[f64], turns: Array[f64], pairs: i64) -> None:
    """Two uniform numbers from each of the counters `counter`, `counter` + 1, ..."""
    for i in range(pairs):
        radius, turn = uniforms(key, counter + i, 0)
        radii[i] = radius
        turns[i] = turn


@native(contract=True)
def box_muller(radii: Array[f64], turns: Array[f64], pairs: i64) -> None:
    """Turn pairs of uniforms on (0, 1) into pairs of normals, in place."""
    for i in range(pairs):
        radius = sqrt(-2.0 * log_of_unit(radii[i]))
        quarter = floor(4.0 * turns[i] + 0.5)
        angle = (2.0 * pi) * (turns[i] - 0.25 * quarter)
        sine = sine_of_eighth(angle)
        cosine = cosine_of_eighth(angle)
        # a rotation by quarters of a turn: (c, s), (-s, c), (-c, -s), (s, -c)
        turned = i64(quarter) & 3
        x = sine if turned & 1 == 1 else cosine
        y = cosine if turned & 1 == 1 else sine
        radii[i] = -radius * x if turned == 1 or turned == 2 else radius * x
        turns[i] = -radius * y if turned >= 2 else radius * y


@native
def normal_numbers(key: i64, counter: i64, target: Array[f64], length: i64) -> None:
    """Fill target[:length]; numbers 2i and 2i + 1 come from `counter` + i, whatever the length."""
    first = stack(f64, GROUP)
    second = stack(f64, GROUP)
    begin = 0
    while begin < length:
        pairs = min(GROUP, (length - begin + 1) >> 1)
        made = (pairs + 7) & -8  # some for nothing, but whole vectors
        uniform_pairs(key, counter + (begin >> 1), first, second, made)
        box_muller(first, second, made)
        whole = (min(length - begin, 2 * GROUP)) >> 1
        for i in range(whole):
            target[begin + 2 * i] = first[i]
            target[begin + 2 * i + 1] = second[i]
        if whole < pairs:
            target[length - 1] = first[whole]
        begin += 2 * pairs
