"""lax's operations on elements: operands and parameters in, tensors out."""

from __future__ import annotations

from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.lax.table import LAX
from consilience.engines.reader.rules import plain
from consilience.ir import constant_value, tensor_input
from consilience.ir.lengths import substitute
from consilience.tensor.differentiation import grad, zero_grad

LAX.rows(
    """
    add sub mul neg sign floor ceil exp exp2 log log2 expm1 log1p sin cos tan sinh cosh tanh sqrt cbrt square abs eq lt
    le gt ge erf erfc digamma real imag conj complex
    """,
    plain,
)
LAX.rows(
    {
        "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "not": "bitwise_not", "add_any": "add",
        "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
        "atanh": "arctanh", "atan2": "arctan2", "pow": "power", "max": "maximum", "min": "minimum", "ne": "neq",
        "lt_to": "lt", "le_to": "le", "eq_to": "eq", "erf_inv": "erfinv", "lgamma": "gammaln", "igamma": "gammainc",
        "igammac": "gammaincc", "regularized_incomplete_beta": "betainc", "logistic": "sigmoid",
        "is_finite": "isfinite", "bessel_i0e": "i0e", "bessel_i1e": "i1e", "polygamma": "polygamma",
        "zeta": "special.zeta",
    },
    plain,
)  # fmt: skip
LAX("stop_gradient")(plain(zero_grad))


@LAX("div")
def _div(x: Any, y: Any, **_: Any) -> Any:
    """Quotients; those of whole numbers are cut off towards zero."""
    if "int" not in x.dtype:
        return x / y
    return x // y + _rounded_up(x, y)


@LAX("rem")
def _rem(x: Any, y: Any, **_: Any) -> Any:
    """The remainder, with the sign of the dividend."""
    if "int" in x.dtype:
        return x % y - _rounded_up(x, y) * y
    size = pt.abs(x) % pt.abs(y)
    return pt.where(x < 0, -size, size)


def _rounded_up(x: Any, y: Any) -> Any:
    """1 where a quotient of whole numbers is cut off to more than its floor, else 0."""
    differ = pt.neq(pt.lt(x, 0), pt.lt(y, 0))
    return pt.and_(differ, pt.neq(x % y, 0)).astype(x.dtype)


@LAX("round")
def _round(x: Any, *, rounding_method: Any, **_: Any) -> Any:
    """To whole numbers; halves to even ones, or away from zero."""
    if int(rounding_method) == 1:
        return pt.round(x, mode="half_to_even")
    return pt.sign(x) * pt.floor(pt.abs(x) + 0.5)


@LAX("rsqrt")
def _rsqrt(x: Any, **_: Any) -> Any:
    return 1.0 / pt.sqrt(x)


@LAX("one_minus_square")
def _one_minus_square(x: Any, **_: Any) -> Any:
    return (1 + x) * (1 - x)


@LAX("polynomial")
def _polynomial(x: Any, *coefficients: Any, **_: Any) -> Any:
    """By Horner's rule, of coefficients that begin with the constant one."""
    found = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        found = found * x + coefficient
    return found


@LAX("integer_pow")
def _integer_pow(x: Any, *, y: int, **_: Any) -> Any:
    return x**y if y >= 0 else 1.0 / x**-y


@LAX("select_n")
def _select_n(which: Any, *cases: Any, **_: Any) -> Any:
    """The case that `which` counts, element by element."""
    if which.dtype == "bool":
        return pt.where(which, cases[1], cases[0])
    result = cases[-1]
    for number in range(len(cases) - 2, -1, -1):
        result = pt.where(pt.le(which, number), cases[number], result)
    return result


@LAX("clamp")
def _clamp(low: Any, x: Any, high: Any, **_: Any) -> Any:
    return pt.minimum(pt.maximum(x, low), high)


@LAX("igamma_grad_a", "random_gamma_grad")
def _gamma_slope(a: Any, x: Any, *, primitive: str, **_: Any) -> Any:
    """The derivative by its shape of the regularized incomplete gamma function, and of a draw at a given quantile."""
    free = [tensor_input(v.dtype, v.type.shape) for v in (a, x)]  # the operands may depend on each other
    (slope,) = substitute([grad(pt.sum(pt.gammainc(*free)), free[0])], dict(zip(free, (a, x), strict=True)))
    if primitive == "igamma_grad_a":
        return slope
    return -slope / pt.exp((a - 1) * pt.log(x) - x - pt.gammaln(a))


@LAX("convert_element_type")
def _convert(x: Any, *, new_dtype: Any, **_: Any) -> Any:
    if "float" in x.dtype and np.dtype(new_dtype).kind in "iu":
        return pt.trunc(x).astype(str(np.dtype(new_dtype)))
    return x.astype(str(np.dtype(new_dtype)))


@LAX("copy", "copy_p", "optimization_barrier", "device_put", "pvary", "mesh_cast", "sharding_constraint", "pcast")
def _same(*operands: Any, **_: Any) -> Any:
    """What changes nothing that is computed."""
    return list(operands) if len(operands) > 1 else operands[0]


@LAX("shift_left", "shift_right_arithmetic", "shift_right_logical")
def _shift(x: Any, by: Any, *, primitive: str, **_: Any) -> Any:
    """Bits that are shifted by as many places as there are, or more, are gone; an arithmetic shift keeps the sign."""
    dtype = x.dtype
    width = 8 * np.dtype(dtype).itemsize
    signed = dtype.startswith("int")
    if primitive == "shift_right_logical" and signed:
        x = x.astype(f"u{dtype}")
    known = constant_value(by)
    near, far = by, None
    if known is None or not np.all((known >= 0) & (known < width)):
        far = pt.or_(pt.lt(by, 0), pt.ge(by, width)) if by.dtype.startswith("int") else pt.ge(by, width)
        near = pt.where(far, np.asarray(width - 1, by.dtype), by)
    near = near.astype(x.dtype)
    moved = pt.left_shift(x, near) if primitive == "shift_left" else pt.right_shift(x, near)
    if far is not None and not (signed and primitive == "shift_right_arithmetic"):
        moved = pt.where(far, np.asarray(0, x.dtype), moved)
    return moved.astype(dtype)


@LAX("population_count", "clz")
def _bits(x: Any, *, primitive: str, **_: Any) -> Any:
    """How many bits are set, and how many stand before the first of them."""
    width = 8 * np.dtype(x.dtype).itemsize
    places = np.arange(width).astype(x.dtype)
    bits = pt.bitwise_and(pt.right_shift(pt.expand_dims(x, x.ndim), places), np.asarray(1, x.dtype)).astype("int64")
    if primitive == "population_count":
        return pt.sum(bits, axis=-1).astype(x.dtype)
    return (width - pt.max(bits * (np.arange(width) + 1), axis=-1)).astype(x.dtype)
