"""Functions of tensors with named dims: every elementwise function of `consilience.tensor`, aligned by name.

In: tensors with dims, numbers. Out: tensors with all their dims. Other functions of this file take `dim`.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import numpy.typing as npt

from consilience import tensor as pt
from consilience.first_use import guarded as _guarded
from consilience.first_use import load_on_use as _load_on_use
from consilience.ir import Node
from consilience.tensor.elementwise import ROWS
from consilience.xtensor.named import SomeDims, apart
from consilience.xtensor.products import contracted
from consilience.xtensor.variable import XTensorVariable, as_xtensor

# Elementwise functions that `consilience.tensor` writes by themselves.
_WRITTEN: Final = tuple(
    """
    angle betaln ceil_intdiv clip conj conjugate complex erfcinv float_power imag invprobit isclose isneginf isposinf
    logaddexp logdiffexp pow power real round sinc stop_gradient switch where
    """.split()  # noqa: SIM905 -- a list of words reads as one
)


@functools.cache
def _function(name: str) -> Callable[..., XTensorVariable]:
    plain: Callable[..., Node] = getattr(pt, name)

    def call(*arguments: Any, **settings: Any) -> XTensorVariable:
        nodes, dims = apart(arguments)
        return XTensorVariable(plain(*nodes, **settings), dims)

    call.__name__ = call.__qualname__ = name
    written = import_module("consilience.tensor.scalar_documentation")
    call.__doc__ = (
        written.documented(name, ROWS[name], "px.math", "consilience.xtensor")
        if name in ROWS
        else written.with_dims(name, plain.__doc__)
    )
    call.__dict__["__wrapped__"] = plain  # whose signature it has
    return call


def cast(x: Any, dtype: npt.DTypeLike) -> XTensorVariable:
    """The same numbers as another element type.

    x, dtype : ...
    Returns: With the dims of `x`.
    See identity: The tensor itself.
    >>> px.math.cast(px.as_xtensor([1.0, 2.0], dims="city"), "int64").eval().tolist()
    [1, 2]
    """
    return as_xtensor(x).astype(dtype)


def identity(x: Any) -> XTensorVariable:
    """The tensor itself.

    x : ...
    Returns: What `as_xtensor` makes of `x`.
    See cast: The same numbers as another element type.
    >>> px.math.identity(px.as_xtensor([1.0, 2.0], dims="city")).dims
    ('city',)
    """
    return as_xtensor(x)


def dot(*arrays: Any, dim: SomeDims = None) -> XTensorVariable:
    """Sum of products over dims: those that several tensors have for None, all for `...`.

    *arrays (TensorLike): The arrays, in order.
    dim : ...
    Returns: Without the dims that are summed over.
    See where: `x` where a condition holds.
    >>> x = px.as_xtensor([[1.0, 2.0], [3.0, 4.0]], dims=("city", "year"))
    >>> px.dot(x, px.as_xtensor([1.0, 10.0], dims="year")).eval().tolist()
    [21.0, 43.0]
    """
    return XTensorVariable(*contracted([as_xtensor(x) for x in arrays], dim))


def logsumexp(x: Any, dim: SomeDims = None) -> XTensorVariable:
    """`log(sum(exp(x)))` over dims without overflow.

    x, dim : ...
    Returns: Without the dims that are summed over.
    See softmax: Shares of the sum.
    >>> px.math.logsumexp(px.as_xtensor([0.0, 0.0], dims="city"), dim="city").eval().round(4).item()
    0.6931
    """
    return as_xtensor(x)._reduced(pt.logsumexp, dim)


def _normalised(function: Callable[..., Node], x: Any, dim: SomeDims) -> XTensorVariable:
    named = as_xtensor(x)
    return XTensorVariable(function(named.values, axis=tuple(map(named.axis, named.chosen(dim)))), named.dims)


def softmax(x: Any, dim: SomeDims = None) -> XTensorVariable:
    """`exp(x)` divided by its sum over dims, without overflow.

    x, dim : ...
    Returns: With the dims of `x`.
    See log_softmax: Its logarithm.
    >>> px.math.softmax(px.as_xtensor([0.0, 0.0], dims="city"), dim="city").eval().tolist()
    [0.5, 0.5]
    """
    return _normalised(pt.softmax, x, dim)


def log_softmax(x: Any, dim: SomeDims = None) -> XTensorVariable:
    """`x - logsumexp(x)` over dims, without overflow or cancellation.

    x, dim : ...
    Returns: With the dims of `x`.
    See softmax: Without the logarithm.
    >>> px.math.log_softmax(px.as_xtensor([0.0, 0.0], dims="city"), dim="city").eval().round(4).tolist()
    [-0.6931, -0.6931]
    """
    return _normalised(pt.log_softmax, x, dim)


__all__ = sorted({*ROWS, *_WRITTEN, "cast", "dot", "identity", "log_softmax", "logsumexp", "softmax"})

if typing.TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., XTensorVariable]: ...

else:  # type checkers take every other name for an elementwise function

    def __getattr__(name: str) -> object:
        if name in ROWS or name in _WRITTEN:
            found = globals()[name] = _guarded(_function(name))
            return found
        raise AttributeError(name)


_load_on_use(__name__, {}, public=True)
