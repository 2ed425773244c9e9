"""The words of the strings: each means one function of tensors and one of NumPy arrays.

The NumPy side takes complex numbers too, so that derivatives are imaginary parts: comparisons and choices look at real
parts, and nothing conjugates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

import consilience as pm
import consilience.tensor as pt
from consilience.graph import Apply, Op
from consilience.ir import Node
from tests.random_models.program import NAMES

Array = npt.NDArray[Any]


@functools.cache
def _code(text: str) -> CodeType:
    return compile(text, text, "eval")


def evaluate(text: str, words: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    """The value of a string, with the words of one side and the values of names."""
    return eval(_code(text), {**words, **values})


# ---- tensors


class _Boxed(Op):
    """x / (1 + x^2) in plain Python, with its derivative in another box."""

    __props__ = ("slope",)

    def __init__(self, slope: bool = False) -> None:
        self.slope = slope

    def make_node(self, x: Any) -> Any:
        x = pt.as_tensor(x) * 1.0
        return Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        (x,) = inputs
        outputs[0][0] = (1 - x * x) / (1 + x * x) ** 2 if self.slope else x / (1 + x * x)

    def infer_shape(self, node: Any, shapes: Any) -> Any:
        return shapes

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return [cotangents[0] * _Boxed(slope=True)(inputs[0])]


def boxed(x: Any) -> Node:
    """x / (1 + x^2), a black box to the compiler."""
    made: Node = _Boxed()(x)
    return made


def _reached(x: Node) -> Node:
    """Sums of squares of the first 1, 2, … elements, each over a part of its own length."""
    return pt.scan(lambda i: (x[: i + 1] ** 2).sum(), pt.arange(x.shape[0]), return_updates=False)


TENSOR: dict[str, Any] = {name: getattr(pt, name) for name in NAMES if hasattr(pt, name)}
TENSOR |= {
    "s_": np.s_,
    "set_at": lambda x, i, v: pt.set_subtensor(pt.as_tensor(x)[i], v),
    "inc_at": lambda x, i, v: pt.inc_subtensor(pt.as_tensor(x)[i], v),
    "normal_logp": lambda y, mu, sigma: pm.logp(pm.Normal.dist(mu, sigma), y),
    "poisson_logp": lambda y, mu: pm.logp(pm.Poisson.dist(mu), y),
    "smoothed": lambda x, rate: pt.scan(
        lambda v, last: rate * v + (1 - rate) * last, pt.as_tensor(x) * 1.0, [pt.constant(0.0)], return_updates=False
    ),
    "halved": lambda x: pt.while_loop(lambda v: pt.abs(v) > 1.0, lambda v: v / 2, pt.as_tensor(x) * 1.0, max_steps=99),
    "boxed": boxed,
    "reached": lambda x: _reached(pt.as_tensor(x) * 1.0),
    "by_rows": lambda x: pt.vmap(lambda row: row / (1.0 + pt.sum(row**2)))(pt.as_tensor(x) * 1.0),
}


# ---- NumPy


def _real(x: Any) -> Array:
    return np.real(np.asarray(x))


def _choose(condition: Any, a: Any, b: Any) -> Any:
    return np.where(np.asarray(condition), a, b)


def _sigmoid(x: Any) -> Any:
    e = np.exp(_choose(_real(x) > 0, -np.asarray(x), x))
    return _choose(_real(x) > 0, 1 / (1 + e), e / (1 + e))


def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    x = np.asarray(x)
    return _choose(x.real > 0, x + np.log1p(np.exp(-_absolute(x))), np.log1p(np.exp(-_absolute(x))))


def _absolute(x: Any) -> Any:
    return _choose(_real(x) < 0, -np.asarray(x), x)


def _variance(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.mean((x - np.mean(x, axis=axis, keepdims=True)) ** 2, axis=axis, keepdims=keepdims)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over an axis."""
    x = np.asarray(x)
    top = np.max(x.real, axis=axis, keepdims=True, initial=-1e300)
    result = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return result if keepdims else np.squeeze(result, axis=axis)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """x - logsumexp(x)."""
    return x - logsumexp(x, axis, keepdims=True)


def cholesky(matrix: Any) -> Array:
    """The lower triangular factor, of complex symmetric matrices too."""
    a = np.asarray(matrix)
    factor = np.zeros_like(a, dtype=np.result_type(a, np.float64))
    for j in range(len(a)):
        rest = a[j:, j] - factor[j:, :j] @ factor[j, :j]
        factor[j:, j] = rest / np.sqrt(rest[0])
    return factor


def _solve_triangular(factor: Any, b: Any, lower: bool = True) -> Any:
    return np.linalg.solve(np.tril(factor) if lower else np.triu(factor), b)


def _updated(x: Any, values: Any) -> Array:
    return np.array(x, dtype=np.result_type(x, values))


def _set_at(x: Any, index: Any, values: Any) -> Array:
    result = _updated(x, values)
    result[index] = values
    return result


def _inc_at(x: Any, index: Any, values: Any) -> Array:
    result = _updated(x, values)
    np.add.at(result, index, values)
    return result


def _largest(x: Any, axis: Any = None, keepdims: bool = False, sign: int = 1) -> Any:
    x = np.asarray(x)
    if axis is None:
        found = x.ravel()[np.argmax(sign * x.real)]
        return np.reshape(found, (1,) * x.ndim) if keepdims else found
    found = np.take_along_axis(x, np.argmax(sign * x.real, axis=axis, keepdims=True), axis)
    return found if keepdims else np.squeeze(found, axis)


def gammaln(x: Any) -> Any:
    """The logarithm of the gamma function of positive numbers."""
    return special.loggamma(x) if np.iscomplexobj(x) else special.gammaln(x)


def normal_logp(y: Any, mu: Any, sigma: Any) -> Any:
    """Log density of the normal distribution."""
    return -0.5 * ((y - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)


def poisson_logp(y: Any, mu: Any) -> Any:
    """Log mass of the Poisson distribution."""
    return y * np.log(mu) - mu - special.gammaln(y + 1.0)


def _stacked(parts: Sequence[Any], axis: int = 0) -> Array:
    return np.stack([np.asarray(p) for p in parts], axis)


def _smoothed(x: Any, rate: Any) -> Array:
    result = np.zeros(np.shape(x), np.result_type(x, rate, 1.0))
    last: Any = 0.0
    for i, v in enumerate(np.asarray(x)):
        result[i] = last = rate * v + (1 - rate) * last
    return result


def _halved(x: Any) -> Any:
    while np.abs(np.real(x)) > 1.0:
        x = x / 2
    return x


def _by_rows(x: Any) -> Any:
    return x / (1.0 + np.sum(np.asarray(x) ** 2, axis=-1, keepdims=True))


_DIFFERENT: dict[str, Callable[..., Any]] = {
    "abs": _absolute,
    "argmax": lambda x, axis=None: np.argmax(_real(x), axis),
    "boxed": lambda x: x / (1 + x * x),
    "by_rows": _by_rows,
    "argmin": lambda x, axis=None: np.argmin(_real(x), axis),
    "cholesky": cholesky,
    "clip": lambda x, low, high: _choose(_real(x) < _real(low), low, _choose(_real(x) > _real(high), high, x)),
    "det": np.linalg.det,
    "erf": special.erf,
    "gammaln": gammaln,
    "halved": _halved,
    "ifelse": lambda condition, a, b: a if np.all(condition) else b,
    "inc_at": _inc_at,
    "inv": np.linalg.inv,
    "log_softmax": log_softmax,
    "logaddexp": lambda a, b: a + softplus(b - a),
    "logsumexp": logsumexp,
    "max": _largest,
    "maximum": lambda a, b: _choose(_real(a) >= _real(b), a, b),
    "min": functools.partial(_largest, sign=-1),
    "minimum": lambda a, b: _choose(_real(a) <= _real(b), a, b),
    "normal_logp": normal_logp,
    "poisson_logp": poisson_logp,
    "set_at": _set_at,
    "reached": lambda x: np.cumsum(np.asarray(x) ** 2),
    "sigmoid": _sigmoid,
    "smoothed": _smoothed,
    "softmax": lambda x, axis=None: np.exp(log_softmax(x, axis)),
    "softplus": softplus,
    "solve": np.linalg.solve,
    "solve_triangular": _solve_triangular,
    "stack": _stacked,
    "switch": _choose,
    "var": _variance,
    "where": _choose,
}
NUMPY: dict[str, Any] = {
    **{name: getattr(np, name) for name in NAMES if hasattr(np, name)},
    **_DIFFERENT,
    "s_": np.s_,
}
