"""JAX's primitives on elements, shapes and whole axes: operands and parameters in, tensors of ours out.

The dtype of a result is seen to by `jaxpr`. Indexing stands in `indexing`, matrices and orders in `arrays`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.errors import MissingRuleError
from consilience.ir import constant_value, tensor_input
from consilience.ir.lengths import substitute
from consilience.tensor.differentiation import grad, zero_grad

Rule = Callable[..., Any]
RULES: Final[dict[str, Rule]] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Enter a function of operands and parameters as the rule of primitives."""

    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


# ---- elements: names of ours, one operand after the other

_ELEMENTWISE: Final = {
    "add": "add", "add_any": "add", "sub": "sub", "mul": "mul", "neg": "neg", "sign": "sign", "floor": "floor",
    "ceil": "ceil", "exp": "exp", "exp2": "exp2", "log": "log", "expm1": "expm1", "log1p": "log1p", "sin": "sin",
    "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2", "sqrt": "sqrt",
    "cbrt": "cbrt", "pow": "power", "square": "square", "abs": "abs", "max": "maximum", "min": "minimum",
    "eq": "eq", "ne": "neq", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "lt_to": "lt", "le_to": "le", "eq_to": "eq", "log2": "log2", "erf": "erf", "erfc": "erfc",
    "erf_inv": "erfinv", "lgamma": "gammaln", "digamma": "digamma", "igamma": "gammainc", "igammac": "gammaincc",
    "regularized_incomplete_beta": "betainc", "logistic": "sigmoid", "is_finite": "isfinite", "bessel_i0e": "i0e",
    "bessel_i1e": "i1e", "real": "real", "imag": "imag", "conj": "conj",
    "complex": "complex",
}  # fmt: skip


def _elementwise(name: str) -> Rule:
    def call(*operands: Any, **_: Any) -> Any:
        return getattr(pt, name)(*operands)

    return call


RULES.update({name: _elementwise(own) for name, own in _ELEMENTWISE.items() if hasattr(pt, own)})


def _logical(of_bools: str, of_integers: str) -> Rule:
    def call(*operands: Any, **_: Any) -> Any:
        name = of_bools if operands[0].dtype == "bool" else of_integers
        return getattr(pt, name)(*operands)

    return call


RULES.update(
    {
        "and": _logical("and_", "bitwise_and"), "or": _logical("or_", "bitwise_or"),
        "xor": _logical("xor", "bitwise_xor"), "not": _logical("invert", "bitwise_not"),
    }
)  # fmt: skip


@rule("div")
def _div(x: Any, y: Any, **_: Any) -> Any:
    """Quotients; those of whole numbers are cut off towards zero."""
    if "int" not in x.dtype:
        return x / y
    return x // y + _rounded_up(x, y)


@rule("rem")
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


@rule("round")
def _round(x: Any, *, rounding_method: Any, **_: Any) -> Any:
    """To whole numbers; halves to even ones, or away from zero."""
    if int(rounding_method) == 1:
        return pt.round(x, mode="half_to_even")
    return pt.sign(x) * pt.floor(pt.abs(x) + 0.5)


@rule("rsqrt")
def _rsqrt(x: Any, **_: Any) -> Any:
    return 1.0 / pt.sqrt(x)


@rule("one_minus_square")
def _one_minus_square(x: Any, **_: Any) -> Any:
    return (1 + x) * (1 - x)


@rule("polynomial")
def _polynomial(x: Any, *coefficients: Any, **_: Any) -> Any:
    """By Horner's rule, of coefficients that begin with the constant one."""
    found = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        found = found * x + coefficient
    return found


@rule("integer_pow")
def _integer_pow(x: Any, *, y: int, **_: Any) -> Any:
    return x**y if y >= 0 else 1.0 / x**-y


@rule("select_n")
def _select_n(which: Any, *cases: Any, **_: Any) -> Any:
    """The case that `which` counts, element by element."""
    if which.dtype == "bool":
        return pt.where(which, cases[1], cases[0])
    result = cases[-1]
    for number in range(len(cases) - 2, -1, -1):
        result = pt.where(pt.le(which, number), cases[number], result)
    return result


@rule("clamp")
def _clamp(low: Any, x: Any, high: Any, **_: Any) -> Any:
    return pt.minimum(pt.maximum(x, low), high)


@rule("igamma_grad_a", "random_gamma_grad")
def _gamma_slope(a: Any, x: Any, *, primitive: str, **_: Any) -> Any:
    """The derivative by its shape of the regularized incomplete gamma function, and of a draw at a given quantile."""
    free = [tensor_input(v.dtype, v.type.shape) for v in (a, x)]  # the operands may depend on each other
    (slope,) = substitute([grad(pt.sum(pt.gammainc(*free)), free[0])], dict(zip(free, (a, x), strict=True)))
    if primitive == "igamma_grad_a":
        return slope
    return -slope / pt.exp((a - 1) * pt.log(x) - x - pt.gammaln(a))


@rule("polygamma")
def _polygamma(order: Any, x: Any, **_: Any) -> Any:
    return pt.polygamma(order, x)


@rule("zeta")
def _zeta(x: Any, q: Any, **_: Any) -> Any:
    return pt.special.zeta(x, q)


@rule("convert_element_type")
def _convert(x: Any, *, new_dtype: Any, **_: Any) -> Any:
    if "float" in x.dtype and np.dtype(new_dtype).kind in "iu":
        return pt.trunc(x).astype(str(np.dtype(new_dtype)))
    return x.astype(str(np.dtype(new_dtype)))


@rule("copy", "copy_p", "optimization_barrier", "device_put", "pvary", "mesh_cast", "sharding_constraint", "pcast")
def _same(*operands: Any, **_: Any) -> Any:
    """What changes nothing that is computed."""
    return list(operands) if len(operands) > 1 else operands[0]


@rule("stop_gradient")
def _stopped(x: Any, **_: Any) -> Any:
    return zero_grad(x)


@rule("shift_left", "shift_right_arithmetic", "shift_right_logical")
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


@rule("population_count", "clz")
def _bits(x: Any, *, primitive: str, **_: Any) -> Any:
    """How many bits are set, and how many stand before the first of them."""
    width = 8 * np.dtype(x.dtype).itemsize
    places = np.arange(width).astype(x.dtype)
    bits = pt.bitwise_and(pt.right_shift(pt.expand_dims(x, x.ndim), places), np.asarray(1, x.dtype)).astype("int64")
    if primitive == "population_count":
        return pt.sum(bits, axis=-1).astype(x.dtype)
    return (width - pt.max(bits * (np.arange(width) + 1), axis=-1)).astype(x.dtype)


# ---- shapes


@rule("broadcast_in_dim")
def _broadcast_in_dim(x: Any, *lengths: Any, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    """Axes of the operand at some places of a longer shape."""
    _no_dynamic(lengths)
    places = {int(place): axis for axis, place in enumerate(broadcast_dimensions)}
    own = tuple(x.static_shape[places[i]] if i in places else 1 for i in range(len(shape)))
    return pt.broadcast_to(pt.reshape(x, own), tuple(shape))


@rule("reshape")
def _reshape(x: Any, *lengths: Any, new_sizes: Any, dimensions: Any, **_: Any) -> Any:
    _no_dynamic(lengths)
    moved = x if dimensions is None else pt.transpose(x, tuple(dimensions))
    return pt.reshape(moved, tuple(new_sizes))


@rule("transpose")
def _transpose(x: Any, *, permutation: Any, **_: Any) -> Any:
    return pt.transpose(x, tuple(int(i) for i in permutation))


@rule("squeeze")
def _squeeze(x: Any, *, dimensions: Any, **_: Any) -> Any:
    return pt.squeeze(x, axis=tuple(int(i) for i in dimensions)) if dimensions else x


@rule("expand_dims")
def _expand_dims(x: Any, *, dimensions: Any, **_: Any) -> Any:
    return pt.expand_dims(x, tuple(int(i) for i in dimensions))


@rule("rev")
def _rev(x: Any, *, dimensions: Any, **_: Any) -> Any:
    return x[tuple(slice(None, None, -1) if i in dimensions else slice(None) for i in range(x.ndim))]


@rule("concatenate")
def _concatenate(*operands: Any, dimension: int, **_: Any) -> Any:
    return pt.concatenate(operands, axis=dimension)


@rule("stack")
def _stack(*operands: Any, axis: int, **_: Any) -> Any:
    return pt.stack(operands, axis=axis)


@rule("tile")
def _tile(x: Any, *, reps: Any, **_: Any) -> Any:
    return pt.tile(x, tuple(reps))


@rule("split")
def _split(x: Any, *, sizes: Any, axis: int, **_: Any) -> Any:
    """Consecutive parts along an axis."""
    ends = np.cumsum([0, *sizes])
    before = (slice(None),) * axis
    return [x[(*before, slice(int(a), int(b)))] for a, b in itertools.pairwise(ends)]


@rule("unstack")
def _unstack(x: Any, *, axis: int, **_: Any) -> Any:
    """All entries along an axis, which is gone."""
    before = (slice(None),) * axis
    return [x[(*before, i)] for i in range(x.static_shape[axis])]


@rule("slice")
def _slice(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> Any:
    steps = strides or (1,) * x.ndim
    return x[tuple(slice(*part) for part in zip(start_indices, limit_indices, steps, strict=True))]


@rule("pad")
def _pad(x: Any, value: Any, *, padding_config: Any, **_: Any) -> Any:
    """Values before, behind and between; negative numbers cut off."""
    shape = x.static_shape
    cut = tuple(slice(max(-low, 0), n - max(-high, 0)) for n, (low, high, _) in zip(shape, padding_config, strict=True))
    if any(inner and (low < 0 or high < 0) for low, high, inner in padding_config):
        raise MissingRuleError("JAX's `pad` with both values in between and elements cut off has no translation.")
    x = x[cut]
    full, places = [], []
    for n, (low, high, inner) in zip(x.static_shape, padding_config, strict=True):
        spread = n + max(n - 1, 0) * inner
        full.append(max(low, 0) + spread + max(high, 0))
        places.append(slice(max(low, 0), max(low, 0) + spread, inner + 1))
    return pt.set_subtensor(pt.broadcast_to(value, tuple(full))[tuple(places)], x)


@rule("empty", "empty2")
def _empty(*, shape: Any, dtype: Any, **_: Any) -> Any:
    """What may hold anything."""
    return pt.zeros(tuple(shape), dtype=str(np.dtype(dtype)))


@rule("iota")
def _iota(*lengths: Any, dtype: Any, shape: Any, dimension: int, **_: Any) -> Any:
    """Whole numbers along one axis."""
    _no_dynamic(lengths)
    own = np.arange(shape[dimension]).astype(np.dtype(dtype))
    return pt.constant(np.broadcast_to(own.reshape([-1 if i == dimension else 1 for i in range(len(shape))]), shape))


def _no_dynamic(lengths: tuple[Any, ...]) -> None:
    if lengths:
        raise MissingRuleError("a shape of the JAX function depends on values, and has no translation.")


# ---- whole axes

for _name, _own in {
    "reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min", "reduce_prod": "prod", "reduce_and": "all",
    "reduce_or": "any",
}.items():  # fmt: skip

    def _reduction(x: Any, *, axes: Any, _own: str = _own, **_: Any) -> Any:
        return getattr(pt, _own)(x, axis=tuple(int(i) for i in axes)) if axes else x

    RULES[_name] = _reduction


@rule("argmax")
def _argmax(x: Any, *, axes: Any, **_: Any) -> Any:
    return pt.argmax(x, axis=int(axes[0]))


@rule("argmin")
def _argmin(x: Any, *, axes: Any, **_: Any) -> Any:
    return pt.argmin(x, axis=int(axes[0]))


@rule("cumsum")
def _cumsum(x: Any, *, axis: int, reverse: bool, **_: Any) -> Any:
    return _along(x, axis, reverse, lambda v: pt.cumsum(v, axis=axis))


@rule("cumprod")
def _cumprod(x: Any, *, axis: int, reverse: bool, **_: Any) -> Any:
    return _along(x, axis, reverse, lambda v: pt.cumprod(v, axis=axis))


@rule("cummax", "cummin", "cumlogsumexp")
def _running(x: Any, *, axis: int, reverse: bool, primitive: str, **_: Any) -> Any:
    """The greatest, the least or the log of the sum of exponentials so far."""
    binary = getattr(pt, {"cummax": "maximum", "cummin": "minimum", "cumlogsumexp": "logaddexp"}[primitive])

    def run(v: Any) -> Any:
        front = pt.moveaxis(v, axis, 0)
        if front.static_shape[0] == 0:
            return v
        rest = pt.scan(lambda one, last: binary(one, last), front[1:], [front[0]], return_updates=False)
        return pt.moveaxis(pt.concatenate([front[:1], rest], axis=0), 0, axis)

    return _along(x, axis, reverse, run)


def _along(x: Any, axis: int, reverse: bool, function: Rule) -> Any:
    if not reverse:
        return function(x)
    back = tuple(slice(None, None, -1) if i == axis else slice(None) for i in range(x.ndim))
    return function(x[back])[back]
