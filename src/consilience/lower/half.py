"""float16 in registers and memory: a float32 that holds a float16, and 16 bits.

Written in integer instructions, so that it is the same on machines with and without conversions of their own.
"""

from __future__ import annotations

from consilience.native.loops import Builder, Type, Value, f32, i16, i32

# Digits after the leading one, and the greatest exponent bits, of the formats.
DIGITS = {"f64": 52, "f32": 23}
HALF_DIGITS = 10
LEAST_NORMAL = 2.0**-14
OVERFLOW = 65520.0  # halfway from the greatest float16 to the next power of two


def _integer(type: Type) -> Type:
    return Type("i64" if type.kind == "f64" else "i32", type.lanes)


def rounded(b: Builder, x: Value) -> Value:
    """A float64 or float32 rounded once to the nearest float16, ties to even, as a float32."""
    type, bits = x.type, _integer(x.type)
    dropped = DIGITS[type.kind] - HALF_DIGITS
    pattern = b.bitcast(x, bits)
    odd = b.and_(b.lshr(pattern, b.const(bits, dropped)), b.const(bits, 1))
    carried = b.add(b.add(pattern, b.const(bits, (1 << (dropped - 1)) - 1)), odd)
    normal = b.bitcast(b.and_(carried, b.const(bits, -(1 << dropped))), type)
    size = b.abs(x)
    # Beside this number the last digit of the format is that of the smallest float16.
    unit = b.const(type, 2.0 ** (DIGITS[type.kind] - 24))
    small = b.copysign(b.sub(b.add(size, unit), unit), x)
    result = b.select(b.cmp("lt", size, b.const(type, LEAST_NORMAL)), small, normal)
    infinite = b.copysign(b.const(type, float("inf")), x)
    result = b.select(b.cmp("ge", size, b.const(type, OVERFLOW)), infinite, result)
    return b.cast(b.select(b.isnan(x), x, result), f32.vector(type.lanes))


def widened(b: Builder, pattern: Value) -> Value:
    """The 16 bits of a float16 as a float32."""
    lanes = pattern.type.lanes
    bits, type = i32.vector(lanes), f32.vector(lanes)
    whole = b.cast(pattern, bits)
    digits = b.shl(b.and_(whole, b.const(bits, 0x7FFF)), b.const(bits, 13))
    # The exponents of the formats differ by 112; numbers below the least normal one are shifted by the product.
    scaled = b.mul(b.bitcast(digits, type), b.const(type, 2.0**112))
    special = b.bitcast(b.or_(digits, b.const(bits, 0x7F800000)), type)
    size = b.select(b.cmp("ge", digits, b.const(bits, 0x7C00 << 13)), special, scaled)
    sign = b.and_(whole, b.const(bits, -0x80000000))
    return b.bitcast(b.or_(b.bitcast(size, bits), sign), type)


def narrowed(b: Builder, x: Value) -> Value:
    """The 16 bits of a float16 that a float32 holds exactly."""
    lanes = x.type.lanes
    bits, type = i32.vector(lanes), x.type
    pattern = b.bitcast(x, bits)
    size = b.and_(pattern, b.const(bits, 0x7FFFFFFF))
    scaled = b.lshr(b.bitcast(b.mul(b.bitcast(size, type), b.const(type, 2.0**-112)), bits), b.const(bits, 13))
    special = b.or_(b.lshr(size, b.const(bits, 13)), b.const(bits, 0x7C00))
    special = b.and_(special, b.const(bits, 0x7FFF))
    digits = b.select(b.cmp("ge", size, b.const(bits, 0x7F800000)), special, scaled)
    sign = b.and_(b.lshr(pattern, b.const(bits, 16)), b.const(bits, 0x8000))
    return b.cast(b.or_(digits, sign), i16.vector(lanes))
