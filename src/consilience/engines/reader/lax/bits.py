"""lax's operations on bits of floats: tensors in, tensors of the same bits, or of fewer, out."""

from __future__ import annotations

from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.lax.table import LAX
from consilience.errors import MissingRuleError


@LAX("bitcast_convert_type")
def _bitcast(x: Any, *, new_dtype: Any, **_: Any) -> Any:
    """The same bits as another dtype of the same width."""
    given, wanted = np.dtype(x.dtype), np.dtype(new_dtype)
    if given.itemsize != wanted.itemsize or {given.kind, wanted.kind} - set("iuf"):
        raise MissingRuleError(f"the bits of {given} as {wanted} have no translation.")
    if wanted.kind == "f":
        return _from_bits(x, wanted)
    return (_to_bits(x, given) if given.kind == "f" else x).astype(str(wanted))


@LAX("reduce_precision")
def _reduce_precision(x: Any, *, exponent_bits: int, mantissa_bits: int, **_: Any) -> Any:
    """What keeps all bits changes nothing; those of a narrower dtype are rounded to it."""
    info = np.finfo(x.dtype)
    if exponent_bits >= info.nexp and mantissa_bits >= info.nmant:
        return x
    if (exponent_bits, mantissa_bits) == (8, 23):
        return x.astype("float32").astype(x.dtype)
    raise MissingRuleError(
        f"rounding {x.dtype} to {exponent_bits} bits of exponent and {mantissa_bits} has no translation."
    )


def _powers(info: Any) -> tuple[Any, Any]:
    """2 to the exponents that numbers have, by their bits, and the reciprocals of the same, in two factors."""
    bias = 2 ** (info.nexp - 1) - 1
    exponents = np.clip(np.arange(2**info.nexp) - bias, 1 - bias, bias)
    half = -exponents // 2
    one = np.ones((), info.dtype)
    return np.ldexp(one, exponents), (np.ldexp(one, half), np.ldexp(one, -exponents - half))


def _from_bits(x: Any, wanted: np.dtype[Any]) -> Any:
    """Floats of given bits: sign, exponent and fraction; products with powers of 2 are exact."""
    info = np.finfo(wanted)
    bits = x.astype(f"uint{8 * wanted.itemsize}")

    def part(shift: int, count: int) -> Any:
        moved = pt.right_shift(bits, np.asarray(shift, bits.dtype)) if shift else bits
        return pt.bitwise_and(moved, np.asarray(2**count - 1, bits.dtype))

    exponent = part(info.nmant, info.nexp).astype("int64")
    fraction = part(0, info.nmant).astype(str(wanted))
    one = pt.where(pt.eq(exponent, 0), np.asarray(0, wanted), np.asarray(1, wanted))  # numbers below the normal ones
    size = (one + fraction * np.asarray(2.0**-info.nmant, wanted)) * pt.constant(_powers(info)[0])[exponent]
    beyond = pt.where(pt.eq(fraction, 0), np.asarray(np.inf, wanted), np.asarray(np.nan, wanted))
    size = pt.where(pt.eq(exponent, 2**info.nexp - 1), beyond, size)
    return pt.where(pt.eq(part(8 * wanted.itemsize - 1, 1), 0), size, -size)


def _to_bits(x: Any, given: np.dtype[Any]) -> Any:
    """Bits of floats; all NaN have those of one."""
    info = np.finfo(given)
    top = 2**info.nexp - 1
    powers, (first, second) = _powers(info)
    finite = pt.isfinite(x)
    size = pt.where(finite, pt.abs(x), np.asarray(0, given))
    exponent = pt.searchsorted(pt.constant(powers[1:top]), size, side="right")
    scaled = size * pt.constant(first)[exponent] * pt.constant(second)[exponent]
    fraction = scaled - pt.where(pt.eq(exponent, 0), np.asarray(0, given), np.asarray(1, given))
    unsigned = f"uint{8 * given.itemsize}"

    def shifted(values: Any, by: int) -> Any:
        return pt.left_shift(values.astype(unsigned), np.asarray(by, unsigned))

    whole = (fraction * np.asarray(2.0**info.nmant, given)).astype(unsigned)
    ends = pt.where(pt.isnan(x), top * 2**info.nmant + 2 ** (info.nmant - 1), top * 2**info.nmant)
    number = pt.where(finite, pt.bitwise_or(shifted(exponent, info.nmant), whole), ends.astype(unsigned))
    sign = pt.and_(pt.signbit(x), pt.invert(pt.isnan(x)))
    return pt.bitwise_or(number, shifted(sign, 8 * given.itemsize - 1))
