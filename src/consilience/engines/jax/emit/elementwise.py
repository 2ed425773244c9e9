"""Scalar functions in JAX, by the names of the table.

Arrays in, arrays out. Functions that JAX lacks, or computes less exactly than this package does, are those of NumPy's
table, which JAX calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax.numpy as jnp
import jax.scipy.special as special
from jax import lax

from consilience.engines.jax.emit.linear_map import with_pullback
from consilience.engines.jax.emit.meanings import JaxEvaluation, differentiated, means, opaque
from consilience.engines.jax.emit.random import DRAWS
from consilience.ir import Node, numpy_dtype
from consilience.ops import AlteredGradient, Assume, Cast, Elementwise, Require, StopGradient
from consilience.ops.log_beta import SERIES_FROM, STIRLING
from consilience.ops.scalar import LARGE_SQUARE


def _folded(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def call(*arrays: Any) -> Any:
        result = arrays[0]
        for array in arrays[1:]:
            result = function(result, array)
        return result

    return call


def _whole(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Division of integers, of which NumPy's by 0 is 0."""

    def call(a: Any, b: Any) -> Any:
        if jnp.issubdtype(b.dtype, jnp.integer):
            return jnp.where(b == 0, 0, function(a, jnp.where(b == 0, 1, b)))
        return function(a, b)

    return call


def _log1mexp(x: Any) -> Any:
    near = x > -0.6931471805599453
    return jnp.where(near, jnp.log(-jnp.expm1(jnp.where(near, x, -0.5))), jnp.log1p(-jnp.exp(jnp.where(near, -1.0, x))))


def _log1p_square(x: Any) -> Any:
    size = jnp.abs(x)
    large = size > LARGE_SQUARE
    return jnp.where(large, 2 * jnp.log(jnp.where(large, size, 1.0)), jnp.log1p(jnp.square(jnp.where(large, 0.0, x))))


def _shift(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: function(a, b.astype(a.dtype))


def _with_ends(function: Callable[[Any], Any], ends: dict[float, float]) -> Callable[[Any], Any]:
    """The function with its limits, where JAX's own is NaN."""

    def call(x: Any) -> Any:
        result = function(x)
        for end, limit in ends.items():
            result = jnp.where(x == end, jnp.asarray(limit, result.dtype), result)
        return result

    return call


def _digamma(x: Any) -> Any:
    return jnp.where(x == 0, -jnp.copysign(jnp.asarray(jnp.inf, x.dtype), x), special.digamma(x))


def _trigamma(x: Any) -> Any:
    """By reflection below 0, where JAX's is another function."""
    below = x <= 0.0
    wave = jnp.square(jnp.pi / jnp.sin(jnp.pi * jnp.where(below, x - jnp.rint(x), 0.5)))
    mirrored = special.polygamma(1, jnp.where(below, 1.0 - x, x))
    return jnp.where(below, wave - mirrored, mirrored)


def _gammaln(x: Any) -> Any:
    """Exactly 0 at 1 and 2, which JAX's is but for rounding; derivatives are its own."""
    found = special.gammaln(x)
    return found - lax.stop_gradient(jnp.where((x == 1.0) | (x == 2.0), found, 0.0))


def _log_ndtr(x: Any) -> Any:
    """JAX rounds the probability to 1 before it takes the logarithm, up to 8 standard deviations."""
    return jnp.where(x > 0.0, jnp.log1p(-special.ndtr(-jnp.abs(x))), special.log_ndtr(jnp.minimum(x, 0.0)))


def _rest(x: Any) -> Any:
    inverse = 1.0 / jnp.maximum(x, SERIES_FROM)
    return inverse * jnp.polyval(jnp.asarray(STIRLING[::-1], x.dtype), inverse**2)


def _betaln(a: Any, b: Any) -> Any:
    """As in `ops.log_beta`; JAX's own has 7 digits in places."""
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    total = small + large
    growth = (large - 0.5) * jnp.log1p(small / large) + small * (jnp.log(total) - 1.0)
    far = special.gammaln(small) - (growth + _rest(total) - _rest(large))
    near = special.gammaln(a) + special.gammaln(b) - special.gammaln(total)
    near = jnp.where((a == 0.0) & (b == 0.0), jnp.inf, near)
    end = jnp.where((small > 0.0) & (small < jnp.inf) & (total == jnp.inf), -jnp.inf, near)
    return jnp.where((small > 0.0) & (large > SERIES_FROM) & (total < jnp.inf), far, end)


def _i0e_slope(x: Any) -> Any:
    """Of 1 - I1(x) / I0(x) far out the leading digits cancel: its asymptotic series instead (DLMF 10.40.1)."""
    inverse = 1.0 / jnp.maximum(jnp.abs(x), 300.0)
    series = jnp.polyval(jnp.asarray((13 / 32, 25 / 128, 1 / 8, 1 / 8, 1 / 2, 0.0), x.dtype), inverse)
    far = -jnp.sign(x) * special.i0e(x) * series
    return jnp.where(jnp.abs(x) > 300.0, far, special.i1e(x) - jnp.sign(x) * special.i0e(x))


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "add": _folded(jnp.add),
    "mul": _folded(jnp.multiply),
    "sub": jnp.subtract,
    "true_div": jnp.true_divide,
    "floor_div": _whole(jnp.floor_divide),
    "mod": _whole(jnp.mod),
    "fmod": _whole(jnp.fmod),
    "pow": jnp.power,
    "neg": jnp.negative,
    "round": jnp.rint,
    "neq": jnp.not_equal,
    "eq": jnp.equal,
    "lt": jnp.less,
    "le": jnp.less_equal,
    "gt": jnp.greater,
    "ge": jnp.greater_equal,
    "modulus": jnp.abs,
    "conj": jnp.conj,
    "complex": lax.complex,
    "log1mexp": _log1mexp,
    "log1p_square": _log1p_square,
    "softplus": lambda x: jnp.logaddexp(x, 0.0),
    "sigmoid": special.expit,
    "logit": special.logit,
    "digamma": _digamma,
    "gammaln": _gammaln,
    "log_ndtr": _log_ndtr,
    "trigamma": _with_ends(_trigamma, {jnp.inf: 0.0}),
    "i0": _with_ends(special.i0, {jnp.inf: jnp.inf, -jnp.inf: jnp.inf}),
    "i1": _with_ends(special.i1, {jnp.inf: jnp.inf, -jnp.inf: -jnp.inf}),
    "left_shift": _shift(jnp.left_shift),
    "right_shift": _shift(jnp.right_shift),
    **{
        name: getattr(jnp, name)
        for name in str.split(
            "abs sign square sqrt cbrt reciprocal minimum maximum fmin fmax floor ceil trunc copysign heaviside hypot "
            "exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 sin cos tan arcsin arccos arctan arctan2 sinh "
            "cosh tanh arcsinh arccosh arctanh deg2rad rad2deg isnan isinf isfinite signbit logical_and logical_or "
            "logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert real imag angle where"
        )
    },
    **{name: getattr(special, name) for name in str.split("xlogy xlog1py erf erfc i0e i1e ndtri")},
    **DRAWS,
}

# Values by JAX, derivatives by the table of gradients: JAX has none in some arguments of these. Its `exp1` and `expi`
# never end where one element is tiny and another above 1, its `hyp1f1` is wrong below -20, its `zeta` for
# a negative shift: NumPy computes those.
VALUES: Final[dict[str, Callable[..., Any]]] = {
    name: getattr(special, name) for name in str.split("gammainc gammaincc betainc erfinv gamma spence")
} | {
    "betaln": _betaln,
    "i0e_slope": _i0e_slope,
}


@means(Elementwise)
def _elementwise(run: JaxEvaluation, node: Node, *arrays: Any) -> Any:
    name = node.op.function  # type: ignore[attr-defined]  # Elementwise
    if name in ("mul", "true_div") and not jnp.issubdtype(node.dtype, jnp.bool_):
        arrays = tuple(_of_choice(x, numpy_dtype(node.dtype)) if x.dtype == bool else x for x in arrays)
    if name in FUNCTIONS:
        return FUNCTIONS[name](*arrays)
    if name not in VALUES or any(a.dtype.kind != "f" for a in map(jnp.asarray, arrays)):
        return opaque(node, *arrays)
    return differentiated(node, lambda *x: [jnp.asarray(VALUES[name](*x), node.dtype)], *arrays)


def _of_choice(x: Any, dtype: Any) -> Any:
    """1 or 0; XLA takes products with a converted bool for a choice, and 0 times infinity or NaN for 0."""
    return jnp.where(x, jnp.ones((), dtype), jnp.zeros((), dtype))


@means(Cast)
def _cast(run: JaxEvaluation, node: Node, x: Any) -> Any:
    target = numpy_dtype(node.dtype)
    if jnp.issubdtype(x.dtype, jnp.floating) and target.kind in "iu":
        limits = jnp.iinfo(target)
        missing = 0.0 if target.kind == "u" else float(limits.min)
        wide = jnp.trunc(jnp.where(jnp.isnan(x), missing, x.astype("float64")))
        inner = (wide > float(limits.min)) & (wide < float(limits.max))
        safe = jnp.where(inner, wide, 0.0).astype(target)
        high = jnp.where(wide >= float(limits.max), limits.max, safe)
        return jnp.where(wide <= float(limits.min), limits.min, high).astype(target)
    return _of_choice(x, target) if x.dtype == bool else x.astype(target)


@means(Assume, Require)
def _itself(run: JaxEvaluation, node: Node, x: Any) -> Any:
    return x


@means(StopGradient)
def _stopped(run: JaxEvaluation, node: Node, x: Any) -> Any:
    return lax.stop_gradient(x)


@means(AlteredGradient)
def _altered(run: JaxEvaluation, node: Node, x: Any) -> Any:
    """Derivatives as in the table of gradients; an undefined one is NaN, for JAX asks also where none is used."""
    kind, numbers = node.op.kind, node.op.numbers  # type: ignore[attr-defined]  # AlteredGradient

    def pull(_: Any, __: Any, cotangents: Any) -> Any:
        (g,) = cotangents
        if kind == "zero":
            return (jnp.zeros_like(g),)
        if kind == "scale":
            return (g * numbers[0],)
        return (jnp.clip(g, *numbers) if kind == "clip" else jnp.full_like(g, jnp.nan),)

    return with_pullback(lambda x: [x], pull)(x)[0]
