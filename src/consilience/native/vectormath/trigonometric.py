"""Trigonometric functions in radians: sin, cos, tan.

In: float64 angles of any size. Out: sin and cos at most 1 ULP off, tan 2. The angle is n pi/2 + y with
|y| <= pi/4: pi/2 in three pieces (Cody and Waite 1980) while n has 16 bits, beyond that by the digits of 2/pi
that matter (Payne and Hanek 1983), lane by lane.
"""

from __future__ import annotations

import itertools
import math
from typing import Final, NamedTuple

from consilience.native.loops import Builder
from consilience.native.program import Value, f64, i32, i64, ptr
from consilience.native.vectormath.coefficients import COSINE, SINE
from consilience.native.vectormath.notation import (
    ROUNDING,
    Lanes,
    choose,
    elementary,
    fma,
    polynomial,
    product,
    total,
    total_ordered,
)

TWO_OVER_PI: Final = 2 / math.pi
HALF_PI: Final = math.pi / 2
HALF_PI_LOW: Final = float.fromhex("0x1.1a62633145c07p-54")
HALF_PI_1: Final = float.fromhex("0x1.921fb54440000p+0")
"""The first 37 bits of pi/2, exact when multiplied by 16 bits; then the next 37, then 53 more."""
HALF_PI_2: Final = float.fromhex("0x1.68c234c4c0000p-39")
HALF_PI_3: Final = float.fromhex("0x1.98a2e03707345p-77")
MODERATE: Final = 102000.0  # below 2**16 pi / 2


class Angle(NamedTuple):
    """quadrant pi/2 + (high + low); the low two bits of `quadrant` count."""

    quadrant: Lanes
    high: Lanes
    low: Lanes


def angle(x: Lanes) -> Angle:
    """Quadrant and remainder of any finite x; the remainder of infinity and NaN is NaN."""
    shifted = fma(x, TWO_OVER_PI, ROUNDING)
    n = shifted - ROUNDING
    first = fma(n, -HALF_PI_1, x)
    second = n * HALF_PI_2
    rest = first - second
    error = ((first - rest) - second) - n * HALF_PI_3
    high, low = total_ordered(rest, error)
    builder = x.builder
    size = abs(x)
    large = (size > MODERATE) & (size < math.inf)
    results = [builder.variable(part.value) for part in (shifted.bits, high, low)]
    with builder.if_(large.any()):
        exact = _large_angles(choose(large, x, MODERATE))
        for result, part in zip(results, exact, strict=True):
            builder.set(result, choose(large, part, x.of(builder.get(result))).value)
    return Angle(*(x.of(builder.get(result)) for result in results))


def _large_angles(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """The same by Payne and Hanek, one lane after the other; |x| >= MODERATE."""
    builder, type = x.builder, x.value.type
    function = _payne_hanek(builder)
    memory = [builder.stack(f64, type.lanes) for _ in range(4)]
    builder.store(x.value, memory[0])
    with builder.for_(0, type.lanes) as lane:
        builder.call(function, None, *(builder.offset(place, lane, f64) for place in memory))
    integers = builder.load(i64.vector(type.lanes), memory[1])
    high, low = (builder.load(type, place) for place in memory[2:])
    return x.of(integers), x.of(high), x.of(low)


def two_over_pi_words(count: int) -> list[int]:
    """Two words of zeros, then the binary digits of 2/pi in words of 32, most significant first."""
    digits = 32 * count + 64
    # pi by Machin's formula in integers with `digits` binary places.
    unit = 1 << digits

    def arctan_inverse(n: int) -> int:
        power = unit // n
        sum, k, sign = power, 1, 1
        while power:
            power //= n * n
            k += 2
            sign = -sign
            sum += sign * (power // k)
        return sum

    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
    quotient = ((2 * unit) << (32 * count)) // pi
    return [0, 0, *((quotient >> (32 * (count - 1 - k))) & 0xFFFFFFFF for k in range(count))]


def _payne_hanek(builder: Builder) -> str:
    """Define the reduction of one large number, (ptr x, ptr quadrant, ptr high, ptr low), once per module."""
    name = "consilience_large_angle"
    if name in builder.module.functions:
        return name
    b = builder.module.function(
        name, [("x", ptr), ("quadrant", ptr), ("high", ptr), ("low", ptr)], None, export=False, contract=False
    )

    def whole(n: int) -> Value:
        return b.const(i64, n)

    # x = M 2**e with a 53-bit integer M. Digit j of 2/pi has weight 2**-j, so M times it is a multiple of 4
    # as long as j <= e - 2; a window of 192 digits from j = e - 1 on leaves an error below 2**-137.
    x_bits = b.load(i64, b.parameters[0])
    mantissa = b.or_(b.and_(x_bits, whole((1 << 52) - 1)), whole(1 << 52))
    exponent = b.and_(b.lshr(x_bits, whole(52)), whole(0x7FF))
    words = two_over_pi_words(37)
    table = b.stack(i32, len(words))
    for position, word in enumerate(words):
        b.store(b.const(i32, word), b.offset(table, whole(position), i32))
    # Digit j stands at place j - 1 of the digits, after 64 zeros.
    first = b.add(exponent, whole(-1075 - 1 - 1 + 64))
    index, shift = b.lshr(first, whole(5)), b.and_(first, whole(31))
    loaded = [b.cast(b.load(i32, b.offset(table, b.add(index, whole(k)), i32)), i64, signed=False) for k in range(7)]
    low32 = whole(0xFFFFFFFF)
    window = []  # most significant word first
    for upper, lower in itertools.pairwise(loaded):
        pair = b.or_(b.shl(upper, whole(32)), lower)
        window.append(b.and_(b.lshr(b.shl(pair, shift), whole(32)), low32))
    window.reverse()
    m0, m1 = b.and_(mantissa, low32), b.lshr(mantissa, whole(32))
    # The product modulo 2**192, in words of 32 bits; columns fit 64 bits with room for carries.
    carry = whole(0)
    words_out: list[Value] = []
    for k in range(6):
        terms = [b.mul(window[k], m0)] + ([b.mul(window[k - 1], m1)] if k else [])
        column, upper = carry, whole(0)
        for term in terms:
            column = b.add(column, b.and_(term, low32))
            upper = b.add(upper, b.lshr(term, whole(32)))
        words_out.append(b.and_(column, low32))
        carry = b.add(upper, b.lshr(column, whole(32)))
    top = b.or_(b.shl(words_out[5], whole(32)), words_out[4])
    middle = b.or_(b.shl(words_out[3], whole(32)), words_out[2])
    bottom = b.or_(b.shl(words_out[1], whole(32)), words_out[0])
    # Two binary places before the point are the quadrant; what follows is a signed fraction in [-1/2, 1/2).
    fraction = b.or_(b.shl(top, whole(2)), b.lshr(middle, whole(62)))
    next_bits = b.or_(b.shl(middle, whole(2)), b.lshr(bottom, whole(62)))
    quadrant = b.add(b.lshr(top, whole(62)), b.lshr(fraction, whole(63)))

    def scaled(part: Value, scale: float) -> Lanes:
        return Lanes(b, b.cast(part, f64), False) * scale

    pieces = (
        scaled(b.ashr(fraction, whole(32)), 2.0**-32),
        scaled(b.and_(fraction, low32), 2.0**-64),
        scaled(b.lshr(next_bits, whole(32)), 2.0**-96),
        scaled(b.and_(next_bits, low32), 2.0**-128),
    )
    high, error = total(pieces[0], pieces[1])
    second, third = total(error, pieces[2])
    high, second = total(high, second)
    high, low = total_ordered(high, second + (third + pieces[3]))
    leading, rest = product(high, HALF_PI)
    leading, rest = total_ordered(leading, rest + (low * HALF_PI + high * HALF_PI_LOW))
    # The sign of x turns everything round.
    negative = Lanes(b, b.cmp("lt", x_bits, whole(0)), False)
    signed_quadrant = choose(negative, Lanes(b, b.neg(quadrant), False), Lanes(b, quadrant, False))
    b.store(signed_quadrant.value, b.parameters[1])
    b.store(choose(negative, -leading, leading).value, b.parameters[2])
    b.store(choose(negative, -rest, rest).value, b.parameters[3])
    b.ret()
    return name


def sine_near_zero(high: Lanes, low: Lanes) -> Lanes:
    """sin(high + low), |high| <= pi / 4."""
    z = high * high
    cubic = z * high
    # low times the derivative 1 - z / 2 of the sine.
    return high + fma(cubic, polynomial(z, SINE), fma(z * -0.5, low, low))


def cosine_near_zero(high: Lanes, low: Lanes) -> Lanes:
    """cos(high + low), |high| <= pi / 4."""
    z = high * high
    half = 0.5 * z
    leading = 1.0 - half
    return leading + (((1.0 - leading) - half) + fma(z * z, polynomial(z, COSINE), -(high * low)))


def _quarter_turns(x: Lanes, offset: int) -> Lanes:
    """sin(x + offset pi / 2)."""
    quadrant, high, low = angle(x)
    turned = quadrant + offset if offset else quadrant
    odd = (turned & 1).differs(0)
    result = choose(odd, cosine_near_zero(high, low), sine_near_zero(high, low))
    return (result.bits ^ ((turned & 2) << 62)).real


@elementary
def sin(x: Lanes) -> Lanes:
    """Sine of any angle; NaN at infinity."""
    return choose(abs(x) < 2.0**-28, x, _quarter_turns(x, 0))


@elementary
def cos(x: Lanes) -> Lanes:
    """Cosine of any angle; NaN at infinity."""
    return _quarter_turns(x, 1)


@elementary
def tan(x: Lanes) -> Lanes:
    """Tangent of any angle; NaN at infinity."""
    quadrant, high, low = angle(x)
    odd = (quadrant & 1).differs(0)
    sine, cosine = sine_near_zero(high, low), cosine_near_zero(high, low)
    return choose(abs(x) < 2.0**-28, x, choose(odd, -cosine, sine) / choose(odd, sine, cosine))


def half_turn_sine(x: Lanes) -> Lanes:
    """sin(pi x), exact at multiples of 1/2; |x| < 2**51."""
    shifted = x + ROUNDING
    n = shifted - ROUNDING
    return (_in_half_turns(x - n, sine=True).bits ^ (shifted.bits << 63)).real


def _in_half_turns(r: Lanes, sine: bool) -> Lanes:
    """sin(pi r) or cos(pi r), |r| <= 1/2."""
    size = abs(r)
    beyond = size > 0.25
    distance = choose(beyond, 0.5 - size, size)
    high, error = product(distance, math.pi)
    low = fma(distance, 2 * HALF_PI_LOW, error)
    near, far = sine_near_zero(high, low), cosine_near_zero(high, low)
    return choose(beyond, far, near).with_sign(r) if sine else choose(beyond, near, far)


def half_turn_cotangent(x: Lanes) -> Lanes:
    """cot(pi x); |x| < 2**51."""
    r = x - x.round()
    return _in_half_turns(r, sine=False) / _in_half_turns(r, sine=True)
