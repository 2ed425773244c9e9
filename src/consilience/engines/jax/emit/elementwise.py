"""Scalar functions in JAX, by the names of the table.

Arrays in, arrays out. Functions that JAX lacks, or computes less exactly than this package does, are written by their
formulas, with the derivatives of the table of gradients; those without a formula are NumPy's, which JAX calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax.numpy as jnp
import jax.scipy.special as special
from jax import lax

from consilience.engines.emitter.formulas import written
from consilience.engines.emitter.random import draws
from consilience.engines.jax.emit.linear_map import with_pullback
from consilience.engines.jax.emit.meanings import JaxEvaluation, differentiated, means, opaque
from consilience.engines.jax.emit.namespace import XP, held
from consilience.ir import Node
from consilience.lower.views import static
from consilience.ops import AlteredGradient, Cast, Elementwise, StopGradient


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


def _shift(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: function(a, b.astype(a.dtype))


def _digamma(x: Any) -> Any:
    return jnp.where(x == 0, -jnp.copysign(jnp.asarray(jnp.inf, x.dtype), x), special.digamma(x))


def _trigamma(x: Any) -> Any:
    """By reflection below 0, where JAX's is another function, and 0 at infinity, where it is NaN."""
    below = x <= 0.0
    wave = jnp.square(jnp.pi / jnp.sin(jnp.pi * jnp.where(below, x - jnp.rint(x), 0.5)))
    mirrored = special.polygamma(1, jnp.where(below, 1.0 - x, x))
    return jnp.where(x == jnp.inf, 0.0, jnp.where(below, wave - mirrored, mirrored))


def _gammaln(x: Any) -> Any:
    """Exactly 0 at 1 and 2, which JAX's is but for rounding; derivatives are its own."""
    found = special.gammaln(x)
    return found - lax.stop_gradient(jnp.where((x == 1.0) | (x == 2.0), found, 0.0))


# Primitives; what is not here is written by its formula.
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
    "sigmoid": special.expit,
    "digamma": _digamma,
    "gammaln": _gammaln,
    "trigamma": _trigamma,
    "left_shift": _shift(jnp.left_shift),
    "right_shift": _shift(jnp.right_shift),
    **{
        name: getattr(jnp, name)
        for name in str.split(
            "abs sqrt cbrt minimum maximum floor ceil trunc copysign exp exp2 expm1 log log2 log10 log1p sin cos tan "
            "arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh isnan signbit bitwise_and bitwise_or "
            "bitwise_xor invert real imag angle where "
            # These have formulas too; JAX's own trace to fewer operations, with derivatives of any order.
            "sign square reciprocal logaddexp isinf isfinite logical_and logical_or logical_xor logical_not"
        )
    },
    **{name: getattr(special, name) for name in str.split("xlogy xlog1py erf erfc i0e i1e ndtri")},
    **draws(XP),
}

# Values by JAX, derivatives by the table of gradients: JAX has none in some arguments of these. Its `exp1` and `expi`
# never end where one element is tiny and another above 1, its `hyp1f1` is wrong below -20, its `zeta` for
# a negative shift: NumPy computes those.
VALUES: Final[dict[str, Callable[..., Any]]] = {
    name: getattr(special, name) for name in str.split("gammainc gammaincc betainc erfinv gamma spence")
}


@means(Elementwise)
def _elementwise(run: JaxEvaluation, node: Node, *arrays: Any) -> Any:
    name = node.op.function  # type: ignore[attr-defined]  # Elementwise
    if name in ("mul", "true_div") and not jnp.issubdtype(node.dtype, jnp.bool_):
        arrays = tuple(_of_choice(x, held(node.dtype)) if x.dtype == bool else x for x in arrays)
    if name in FUNCTIONS:
        return FUNCTIONS[name](*arrays)
    formula = written(name, tuple(i.tensor_type for i in node.inputs))
    if name in VALUES and all(a.dtype.kind == "f" for a in map(jnp.asarray, arrays)):
        return differentiated(node, lambda *x: [jnp.asarray(VALUES[name](*x), held(node.dtype))], *arrays)
    if formula is None:
        return opaque(node, *arrays)
    leaves, result = formula

    def value(*given: Any) -> list[Any]:
        (found,) = JaxEvaluation(dict(zip(leaves, given, strict=True))).of([result])
        return [jnp.broadcast_to(found, static(node.static_shape))]

    return differentiated(node, value, *arrays)


def _of_choice(x: Any, dtype: Any) -> Any:
    """1 or 0; XLA takes products with a converted bool for a choice, and 0 times infinity or NaN for 0."""
    return jnp.where(x, jnp.ones((), dtype), jnp.zeros((), dtype))


@means(Cast)
def _cast(run: JaxEvaluation, node: Node, x: Any) -> Any:
    target = held(node.dtype)
    if jnp.issubdtype(x.dtype, jnp.floating) and target.kind in "iu":
        limits = jnp.iinfo(target)
        missing = 0.0 if target.kind == "u" else float(limits.min)
        wide = jnp.trunc(jnp.where(jnp.isnan(x), missing, x.astype(held("float64"))))
        inner = (wide > float(limits.min)) & (wide < float(limits.max))
        safe = jnp.where(inner, wide, 0.0).astype(target)
        high = jnp.where(wide >= float(limits.max), limits.max, safe)
        return jnp.where(wide <= float(limits.min), limits.min, high).astype(target)
    return _of_choice(x, target) if x.dtype == bool else x.astype(target)


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
