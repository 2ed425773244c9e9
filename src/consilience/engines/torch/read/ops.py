"""PyTorch's ops on elements, shapes and whole axes: operands and keywords of an ATen op in, tensors of ours out.

The dtype of a result is seen to by the reader; matrices, layers and indexing stand in `arrays`.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader import axes as of_axes
from consilience.engines.reader.lax import lax
from consilience.engines.reader.rules import Rule, Rules
from consilience.tensor.differentiation import zero_grad

RULES: Final = Rules()
# Ops that compute nothing: they check arguments at run time, and are left out.
CHECKS: Final = (
    "_assert_async", "_assert_tensor_metadata", "_assert_scalar", "_linalg_check_errors", "_is_all_true"
)  # fmt: skip
RULES(*CHECKS)(lambda *_, **__: None)


def axes(dim: Any, rank: int) -> Any:
    """Axes as PyTorch gives them: none, or an empty list, are all of them."""
    if dim is None or (isinstance(dim, list | tuple) and not dim):
        return None
    if not rank:
        return None
    return tuple(dim) if isinstance(dim, list | tuple) else dim


def dtype_of(value: Any) -> str:
    """The name of a dtype of PyTorch's."""
    return str(value).removeprefix("torch.")


# ---- elements

RULES.rows(
    """
    mul neg sign floor ceil trunc exp exp2 log log2 log10 expm1 log1p sin cos tan sinh cosh tanh sqrt square abs maximum
    minimum eq lt le gt ge erf erfc erfinv digamma sigmoid isnan isinf reciprocal logaddexp i0 where
    bitwise_and bitwise_or bitwise_xor bitwise_not
    """
)
RULES.rows(
    {
        "ne": "neq", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
        "atanh": "arctanh", "atan2": "arctan2", "lgamma": "gammaln", "igamma": "gammainc", "igammac": "gammaincc",
        "special_gammainc": "gammainc", "special_gammaincc": "gammaincc", "special_i0e": "i0e", "special_i1e": "i1e",
        "special_zeta": "zeta", "special_erfcx": "erfcx", "special_ndtri": "ndtri", "special_log_ndtr": "log_ndtr",
        "pow": "power", "remainder": "mod", "polygamma": "special.polygamma",
    }
)  # fmt: skip
RULES("detach")(zero_grad)


def _truth(own: Rule) -> Rule:
    return lambda *operands: own(*(pt.neq(x, 0) if x.dtype != "bool" else x for x in operands))


RULES.rows({f"logical_{n}": o for n, o in {"and": "and_", "or": "or_", "xor": "xor", "not": "invert"}.items()}, _truth)


@RULES("special_ndtr")
def _normal_cdf(x: Any) -> Any:
    return 0.5 * pt.erfc(-x * math.sqrt(0.5))


@RULES("add")
def _add(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return pt.add(x, y if alpha == 1 else alpha * y)


@RULES("sub")
def _sub(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return pt.sub(x, y if alpha == 1 else alpha * y)


@RULES("rsub")
def _rsub(x: Any, y: Any, alpha: Any = 1) -> Any:
    return _sub(y, x, alpha=alpha)


@RULES("div")
def _div(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """Quotients, as they are, or rounded down or towards zero."""
    if rounding_mode == "floor":
        return pt.as_tensor(x) // y
    if rounding_mode == "trunc":
        quotient = pt.abs(x) // pt.abs(y)
        return pt.where(pt.eq(pt.sign(x) * pt.sign(y), -1), -quotient, quotient)
    return pt.as_tensor(x) / y


@RULES("fmod")
def _fmod(x: Any, y: Any) -> Any:
    """The remainder, with the sign of the dividend."""
    size = pt.abs(x) % pt.abs(y)
    return pt.where(pt.lt(x, 0), -size, size)


@RULES("rsqrt")
def _rsqrt(x: Any) -> Any:
    return 1.0 / pt.sqrt(x)


@RULES("hypot")
def _hypot(x: Any, y: Any) -> Any:
    return pt.sqrt(x**2 + y**2)


@RULES("round")
def _round(x: Any, *, decimals: int = 0) -> Any:
    if not decimals:
        return pt.round(x, mode="half_to_even")
    return pt.round(x * 10.0**decimals, mode="half_to_even") / 10.0**decimals


@RULES("clamp", "hardtanh")
def _clamp(x: Any, low: Any = None, high: Any = None, **keywords: Any) -> Any:
    low, high = keywords.get("min", low), keywords.get("max", high)
    x = x if low is None else pt.maximum(x, low)
    return x if high is None else pt.minimum(x, high)


@RULES("masked_fill")
def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    return pt.where(mask, value, x)


@RULES("special_xlog1py")
def _xlog1py(x: Any, y: Any) -> Any:
    return pt.where(pt.eq(x, 0), 0.0, x * pt.log1p(y))


@RULES("xlogy", "special_xlogy")
def _xlogy(x: Any, y: Any) -> Any:
    zero = pt.eq(x, 0)
    return pt.where(zero, 0.0, x * pt.log(pt.where(zero, 1.0, y)))


# ---- activations


@RULES("relu")
def _relu(x: Any) -> Any:
    """The slope at 0 is 0."""
    return pt.where(pt.gt(x, 0), x, 0)


@RULES("leaky_relu")
def _leaky_relu(x: Any, slope: float = 0.01) -> Any:
    return pt.where(pt.gt(x, 0), x, slope * x)


@RULES("elu")
def _elu(x: Any, alpha: float = 1.0, scale: float = 1.0, inner: float = 1.0) -> Any:
    positive = pt.gt(x, 0)
    return pt.where(positive, scale * x, scale * alpha * pt.expm1(inner * pt.where(positive, 0, x)))


@RULES("gelu")
def _gelu(x: Any, *, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1.0 + pt.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    return x * _normal_cdf(x)


@RULES("silu")
def _silu(x: Any) -> Any:
    return x * pt.sigmoid(x)


@RULES("softplus")
def _softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """Beyond the threshold the operand itself, as PyTorch has it."""
    return pt.where(pt.gt(beta * x, threshold), x, pt.softplus(beta * x) / beta)


@RULES("log_sigmoid_forward")
def _log_sigmoid(x: Any) -> Any:
    return [-pt.softplus(-x), x]


# ---- shapes


@RULES("view", "reshape", "_unsafe_view")
def _reshape(x: Any, shape: Any) -> Any:
    return pt.reshape(x, tuple(shape))


@RULES("permute")
def _permute(x: Any, order: Any) -> Any:
    return pt.transpose(x, tuple(i % x.ndim for i in order)) if x.ndim else x


@RULES("transpose")
def _transpose(x: Any, a: int, b: int) -> Any:
    return pt.swapaxes(x, a, b)


@RULES("t")
def _t(x: Any) -> Any:
    return x.T


@RULES("expand")
def _expand(x: Any, shape: Any, **_: Any) -> Any:
    ahead = len(shape) - x.ndim
    full = [x.static_shape[i - ahead] if n == -1 else n for i, n in enumerate(shape)]
    return pt.broadcast_to(x, tuple(full))


@RULES("unsqueeze")
def _unsqueeze(x: Any, dim: int) -> Any:
    return pt.expand_dims(x, dim)


@RULES("squeeze")
def _squeeze(x: Any, dim: Any = None) -> Any:
    """Axes of length 1 away; others stay."""
    asked = range(x.ndim) if dim is None else [i % x.ndim for i in ([dim] if isinstance(dim, int) else dim)]
    own = tuple(i for i in asked if x.static_shape[i] == 1)
    return pt.squeeze(x, axis=own) if own else x


@RULES("repeat")
def _repeat(x: Any, counts: Any) -> Any:
    return pt.tile(x, tuple(counts))


@RULES("flip")
def _flip(x: Any, dims: Any) -> Any:
    return of_axes.backwards(x, {i % x.ndim for i in dims})


@RULES("cat")
def _cat(parts: Any, dim: int = 0) -> Any:
    """One after the other; a vector of length 0 is left out, whatever the rank of the others."""
    kept = [x for x in parts if x.static_shape != (0,)] or parts[:1]
    return pt.concatenate(kept, axis=dim)


@RULES("stack")
def _stack(parts: Any, dim: int = 0) -> Any:
    return pt.stack(parts, axis=dim)


@RULES("slice")
def _slice(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return x[of_axes.at(dim % x.ndim, slice(start, end, step))]


@RULES("select")
def _select(x: Any, dim: int, index: int) -> Any:
    return x[of_axes.at(dim % x.ndim, index)]


@RULES("split_with_sizes")
def _split_with_sizes(x: Any, sizes: Any, dim: int = 0) -> Any:
    return of_axes.parts(x, sizes, dim % x.ndim)


@RULES("split")
def _split(x: Any, size: int, dim: int = 0) -> Any:
    """Parts of one length; the last may be shorter."""
    n = x.static_shape[dim % x.ndim]
    return of_axes.parts(x, [min(size, n - a) for a in range(0, n, size)], dim % x.ndim)


@RULES("unbind")
def _unbind(x: Any, dim: int = 0) -> Any:
    return of_axes.entries(x, dim % x.ndim)


@RULES("constant_pad_nd")
def _pad(x: Any, widths: Any, value: Any = 0) -> Any:
    """Values before and behind, from the last axis on; negative widths cut off."""
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2) + list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    return padded(x, pairs, value)


def padded(x: Any, widths: Any, value: Any) -> Any:
    """Some elements before and behind on each axis."""
    return lax("pad", x, np.asarray(value, x.dtype), padding_config=[(a, b, 0) for a, b in widths])


@RULES("clone", "alias", "lift_fresh_copy", "lift_fresh", "contiguous")
def _same(x: Any, **_: Any) -> Any:
    return x


@RULES("copy")
def _copy(x: Any, values: Any, *_: Any) -> Any:
    """New values in the shape and dtype of the old."""
    return pt.broadcast_to(values, x.static_shape).astype(x.dtype)


@RULES("_to_copy")
def _to_copy(x: Any, *, dtype: Any = None, **_: Any) -> Any:
    return x if dtype is None else x.astype(dtype_of(dtype))


# ---- constants


@RULES("full")
def _full(shape: Any, value: Any, *, dtype: Any = None, **_: Any) -> Any:
    return pt.constant(np.full(tuple(shape), value, dtype_of(dtype) if dtype else None))


@RULES("full_like", "zeros_like", "ones_like")
def _full_like(x: Any, value: Any = 0, *, dtype: Any = None, **_: Any) -> Any:
    return pt.constant(np.full(x.static_shape, value, dtype_of(dtype) if dtype else x.dtype))


@RULES("arange")
def _arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, **_: Any) -> Any:
    start, end = (0, start) if end is None else (start, end)
    return pt.constant(np.arange(start, end, step, dtype=dtype_of(dtype) if dtype else None))


@RULES("scalar_tensor")
def _scalar_tensor(value: Any, *, dtype: Any = None, **_: Any) -> Any:
    return pt.constant(np.asarray(value, dtype_of(dtype) if dtype else "float32"))


# ---- whole axes


def _reduction(function: Rule) -> Rule:
    def rule(x: Any, dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
        if not x.ndim and function in (pt.any, pt.all):
            return pt.neq(x, 0)
        return function(x, axis=axes(dim, x.ndim), keepdims=keepdim)

    return rule


RULES.rows("sum mean prod any all logsumexp", _reduction)
RULES.rows({"amax": "max", "amin": "min"}, _reduction)
RULES.rows("argmax argmin", lambda own: lambda x, dim=None, keepdim=False: own(x, axis=dim, keepdims=keepdim))
RULES.rows("cumsum cumprod", lambda own: lambda x, dim, **_: own(x, axis=dim % x.ndim) if x.ndim else x)


def _best(greatest: bool) -> Rule:
    def call(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        reduce, place = (pt.max, pt.argmax) if greatest else (pt.min, pt.argmin)
        if dim is None:
            return reduce(x)
        return [reduce(x, axis=dim, keepdims=keepdim), place(x, axis=dim, keepdims=keepdim)]

    return call


RULES.update({"max": _best(True), "min": _best(False)})


@RULES("var")
def _var(x: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Any:
    own = axes(dim, x.ndim)
    places = range(x.ndim) if own is None else (own if isinstance(own, tuple) else (own,))
    count = math.prod(x.static_shape[i] for i in places)
    centred = x - pt.mean(x, axis=own, keepdims=True)
    return pt.sum(centred**2, axis=own, keepdims=keepdim) / (count - (1 if correction is None else correction))
