"""PyTorch's ops on elements, shapes and whole axes: operands and keywords of an ATen op in, tensors of ours out.

The dtype of a result is seen to by `graph`; matrices, layers and indexing stand in `arrays`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.tensor.differentiation import zero_grad

Rule = Callable[..., Any]
RULES: Final[dict[str, Rule]] = {}
# Ops that compute nothing: they check arguments at run time, and are left out.
CHECKS: Final = frozenset(
    {"_assert_async", "_assert_tensor_metadata", "_assert_scalar", "_linalg_check_errors", "_is_all_true"}
)


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Enter a function of operands and keywords as the rule of ops."""

    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


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


# ---- elements: names of ours, one operand after the other

_ELEMENTWISE: Final = {
    "mul": "mul", "neg": "neg", "sign": "sign", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "exp": "exp",
    "exp2": "exp2", "log": "log", "log2": "log2", "log10": "log10", "expm1": "expm1", "log1p": "log1p", "sin": "sin",
    "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2", "sqrt": "sqrt",
    "square": "square", "abs": "abs", "maximum": "maximum", "minimum": "minimum", "eq": "eq", "ne": "neq", "lt": "lt",
    "le": "le", "gt": "gt", "ge": "ge", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "lgamma": "gammaln",
    "digamma": "digamma", "sigmoid": "sigmoid", "isnan": "isnan", "isinf": "isinf", "reciprocal": "reciprocal",
    "logaddexp": "logaddexp",
    "special_ndtr": "normal_cdf", "igamma": "gammainc", "special_gammainc": "gammainc", "igammac": "gammaincc",
    "special_gammaincc": "gammaincc", "special_i0e": "i0e", "special_i1e": "i1e", "i0": "i0",
    "special_zeta": "zeta", "special_erfcx": "erfcx", "special_ndtri": "ndtri", "special_log_ndtr": "log_ndtr",
}  # fmt: skip


def _elementwise(name: str) -> Rule:
    def call(*operands: Any) -> Any:
        return getattr(pt, name)(*operands)

    return call


RULES.update({name: _elementwise(own) for name, own in _ELEMENTWISE.items() if hasattr(pt, own)})


def _logical(of_bools: str, of_integers: str) -> Rule:
    def call(*operands: Any) -> Any:
        bools = of_bools if all(pt.as_tensor(x).dtype == "bool" for x in operands) else of_integers
        return getattr(pt, bools)(*operands)

    return call


RULES.update(
    {
        "bitwise_and": _logical("and_", "bitwise_and"), "bitwise_or": _logical("or_", "bitwise_or"),
        "bitwise_xor": _logical("xor", "bitwise_xor"), "bitwise_not": _logical("invert", "bitwise_not"),
    }
)  # fmt: skip


def _truth(name: str) -> Rule:
    def call(*operands: Any) -> Any:
        return getattr(pt, name)(*(pt.neq(x, 0) if x.dtype != "bool" else x for x in operands))

    return call


RULES.update(
    {f"logical_{n}": _truth(o) for n, o in {"and": "and_", "or": "or_", "xor": "xor", "not": "invert"}.items()}
)


@rule("add")
def _add(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return pt.add(x, y if alpha == 1 else alpha * y)


@rule("sub")
def _sub(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return pt.sub(x, y if alpha == 1 else alpha * y)


@rule("rsub")
def _rsub(x: Any, y: Any, alpha: Any = 1) -> Any:
    return _sub(y, x, alpha=alpha)


@rule("div")
def _div(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """Quotients, as they are, or rounded down or towards zero."""
    if rounding_mode == "floor":
        return pt.as_tensor(x) // y
    if rounding_mode == "trunc":
        quotient = pt.abs(x) // pt.abs(y)
        return pt.where(pt.eq(pt.sign(x) * pt.sign(y), -1), -quotient, quotient)
    return pt.as_tensor(x) / y


@rule("remainder")
def _remainder(x: Any, y: Any) -> Any:
    return pt.as_tensor(x) % y


@rule("fmod")
def _fmod(x: Any, y: Any) -> Any:
    """The remainder, with the sign of the dividend."""
    size = pt.abs(x) % pt.abs(y)
    return pt.where(pt.lt(x, 0), -size, size)


@rule("pow")
def _pow(x: Any, y: Any) -> Any:
    return pt.power(x, y)


@rule("rsqrt")
def _rsqrt(x: Any) -> Any:
    return 1.0 / pt.sqrt(x)


@rule("hypot")
def _hypot(x: Any, y: Any) -> Any:
    return pt.sqrt(x**2 + y**2)


@rule("round")
def _round(x: Any, *, decimals: int = 0) -> Any:
    if not decimals:
        return pt.round(x, mode="half_to_even")
    return pt.round(x * 10.0**decimals, mode="half_to_even") / 10.0**decimals


@rule("clamp", "hardtanh")
def _clamp(x: Any, low: Any = None, high: Any = None, **keywords: Any) -> Any:
    low, high = keywords.get("min", low), keywords.get("max", high)
    x = x if low is None else pt.maximum(x, low)
    return x if high is None else pt.minimum(x, high)


@rule("where")
def _where(test: Any, x: Any, y: Any) -> Any:
    return pt.where(test, x, y)


@rule("masked_fill")
def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    return pt.where(mask, value, x)


@rule("polygamma")
def _polygamma(order: int, x: Any) -> Any:
    return pt.special.polygamma(order, x)


@rule("special_xlog1py")
def _xlog1py(x: Any, y: Any) -> Any:
    return pt.where(pt.eq(x, 0), 0.0, x * pt.log1p(y))


@rule("xlogy", "special_xlogy")
def _xlogy(x: Any, y: Any) -> Any:
    zero = pt.eq(x, 0)
    return pt.where(zero, 0.0, x * pt.log(pt.where(zero, 1.0, y)))


# ---- activations


@rule("relu")
def _relu(x: Any) -> Any:
    """The slope at 0 is 0."""
    return pt.where(pt.gt(x, 0), x, 0)


@rule("leaky_relu")
def _leaky_relu(x: Any, slope: float = 0.01) -> Any:
    return pt.where(pt.gt(x, 0), x, slope * x)


@rule("elu")
def _elu(x: Any, alpha: float = 1.0, scale: float = 1.0, inner: float = 1.0) -> Any:
    positive = pt.gt(x, 0)
    return pt.where(positive, scale * x, scale * alpha * pt.expm1(inner * pt.where(positive, 0, x)))


@rule("gelu")
def _gelu(x: Any, *, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1.0 + pt.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * pt.erfc(-x * math.sqrt(0.5))


@rule("silu")
def _silu(x: Any) -> Any:
    return x * pt.sigmoid(x)


@rule("softplus")
def _softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """Beyond the threshold the operand itself, as PyTorch has it."""
    return pt.where(pt.gt(beta * x, threshold), x, pt.softplus(beta * x) / beta)


@rule("log_sigmoid_forward")
def _log_sigmoid(x: Any) -> Any:
    return [-pt.softplus(-x), x]


# ---- shapes


@rule("view", "reshape", "_unsafe_view")
def _reshape(x: Any, shape: Any) -> Any:
    return pt.reshape(x, tuple(shape))


@rule("permute")
def _permute(x: Any, order: Any) -> Any:
    return pt.transpose(x, tuple(i % x.ndim for i in order)) if x.ndim else x


@rule("transpose")
def _transpose(x: Any, a: int, b: int) -> Any:
    return pt.swapaxes(x, a, b)


@rule("t")
def _t(x: Any) -> Any:
    return x.T


@rule("expand")
def _expand(x: Any, shape: Any, **_: Any) -> Any:
    ahead = len(shape) - x.ndim
    full = [x.static_shape[i - ahead] if n == -1 else n for i, n in enumerate(shape)]
    return pt.broadcast_to(x, tuple(full))


@rule("unsqueeze")
def _unsqueeze(x: Any, dim: int) -> Any:
    return pt.expand_dims(x, dim)


@rule("squeeze")
def _squeeze(x: Any, dim: Any = None) -> Any:
    """Axes of length 1 away; others stay."""
    asked = range(x.ndim) if dim is None else [i % x.ndim for i in ([dim] if isinstance(dim, int) else dim)]
    own = tuple(i for i in asked if x.static_shape[i] == 1)
    return pt.squeeze(x, axis=own) if own else x


@rule("repeat")
def _repeat(x: Any, counts: Any) -> Any:
    return pt.tile(x, tuple(counts))


@rule("flip")
def _flip(x: Any, dims: Any) -> Any:
    back = {i % x.ndim for i in dims}
    return x[tuple(slice(None, None, -1) if i in back else slice(None) for i in range(x.ndim))]


@rule("cat")
def _cat(parts: Any, dim: int = 0) -> Any:
    """One after the other; a vector of length 0 is left out, whatever the rank of the others."""
    kept = [x for x in parts if x.static_shape != (0,)] or parts[:1]
    return pt.concatenate(kept, axis=dim)


@rule("stack")
def _stack(parts: Any, dim: int = 0) -> Any:
    return pt.stack(parts, axis=dim)


@rule("slice")
def _slice(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return x[(*(slice(None),) * (dim % x.ndim), slice(start, end, step))]


@rule("select")
def _select(x: Any, dim: int, index: int) -> Any:
    return x[(*(slice(None),) * (dim % x.ndim), index)]


@rule("split_with_sizes")
def _split_with_sizes(x: Any, sizes: Any, dim: int = 0) -> Any:
    ends = np.cumsum([0, *sizes])
    return [_slice(x, dim, int(a), int(b)) for a, b in itertools.pairwise(ends)]


@rule("split")
def _split(x: Any, size: int, dim: int = 0) -> Any:
    """Parts of one length; the last may be shorter."""
    n = x.static_shape[dim % x.ndim]
    return [_slice(x, dim, a, min(a + size, n)) for a in range(0, n, size)]


@rule("unbind")
def _unbind(x: Any, dim: int = 0) -> Any:
    return [_select(x, dim, i) for i in range(x.static_shape[dim % x.ndim])]


@rule("constant_pad_nd")
def _pad(x: Any, widths: Any, value: Any = 0) -> Any:
    """Values before and behind, from the last axis on; negative widths cut off."""
    pairs = [(widths[2 * i], widths[2 * i + 1]) for i in range(len(widths) // 2)][::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    shape = x.static_shape
    x = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(shape, pairs, strict=True))]
    full = tuple(n + max(a, 0) + max(b, 0) for n, (a, b) in zip(x.static_shape, pairs, strict=True))
    inner = tuple(slice(max(a, 0), max(a, 0) + n) for n, (a, _) in zip(x.static_shape, pairs, strict=True))
    return pt.set_subtensor(pt.full(full, value, dtype=x.dtype)[inner], x)


@rule("clone", "alias", "lift_fresh_copy", "lift_fresh", "contiguous")
def _same(x: Any, **_: Any) -> Any:
    return x


@rule("copy")
def _copy(x: Any, values: Any, *_: Any) -> Any:
    """New values in the shape and dtype of the old."""
    return pt.broadcast_to(values, x.static_shape).astype(x.dtype)


@rule("detach")
def _detach(x: Any) -> Any:
    return zero_grad(x)


@rule("_to_copy")
def _to_copy(x: Any, *, dtype: Any = None, **_: Any) -> Any:
    return x if dtype is None else x.astype(dtype_of(dtype))


# ---- constants


@rule("full")
def _full(shape: Any, value: Any, *, dtype: Any = None, **_: Any) -> Any:
    return pt.constant(np.full(tuple(shape), value, dtype_of(dtype) if dtype else None))


@rule("full_like", "zeros_like", "ones_like")
def _full_like(x: Any, value: Any = 0, *, dtype: Any = None, **_: Any) -> Any:
    return pt.constant(np.full(x.static_shape, value, dtype_of(dtype) if dtype else x.dtype))


@rule("arange")
def _arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, **_: Any) -> Any:
    start, end = (0, start) if end is None else (start, end)
    return pt.constant(np.arange(start, end, step, dtype=dtype_of(dtype) if dtype else None))


@rule("scalar_tensor")
def _scalar_tensor(value: Any, *, dtype: Any = None, **_: Any) -> Any:
    return pt.constant(np.asarray(value, dtype_of(dtype) if dtype else "float32"))


# ---- whole axes


def _reduction(name: str) -> Rule:
    def call(x: Any, dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
        if not x.ndim and name in ("any", "all"):
            return pt.neq(x, 0)
        return getattr(pt, name)(x, axis=axes(dim, x.ndim), keepdims=keepdim)

    return call


RULES.update(
    {n: _reduction(o) for n, o in {
        "sum": "sum", "mean": "mean", "amax": "max", "amin": "min", "prod": "prod", "any": "any", "all": "all",
        "logsumexp": "logsumexp",
    }.items()}
)  # fmt: skip


@rule("argmax")
def _argmax(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return pt.argmax(x, axis=dim, keepdims=keepdim)


@rule("argmin")
def _argmin(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return pt.argmin(x, axis=dim, keepdims=keepdim)


def _best(greatest: bool) -> Rule:
    def call(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        reduce, place = (pt.max, pt.argmax) if greatest else (pt.min, pt.argmin)
        if dim is None:
            return reduce(x)
        return [reduce(x, axis=dim, keepdims=keepdim), place(x, axis=dim, keepdims=keepdim)]

    return call


RULES.update({"max": _best(True), "min": _best(False)})


@rule("var")
def _var(x: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Any:
    own = axes(dim, x.ndim)
    places = range(x.ndim) if own is None else (own if isinstance(own, tuple) else (own,))
    count = math.prod(x.static_shape[i] for i in places)
    centred = x - pt.mean(x, axis=own, keepdims=True)
    return pt.sum(centred**2, axis=own, keepdims=keepdim) / (count - (1 if correction is None else correction))


@rule("cumsum")
def _cumsum(x: Any, dim: int, **_: Any) -> Any:
    return pt.cumsum(x, axis=dim % x.ndim) if x.ndim else x


@rule("cumprod")
def _cumprod(x: Any, dim: int, **_: Any) -> Any:
    return pt.cumprod(x, axis=dim % x.ndim) if x.ndim else x
