"""Tensors with named dims, after PyTensor's `xtensor` and xarray: `import consilience.xtensor as px`.

In: tensors and arrays with a name per axis. Out: the plain expressions of `consilience.tensor`, made at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from consilience import tensor as pt
from consilience.first_use import load_on_use as _load_on_use
from consilience.xtensor import linalg as linalg
from consilience.xtensor import math as math
from consilience.xtensor.arrangement import broadcast_together, joined
from consilience.xtensor.math import dot as dot
from consilience.xtensor.named import Named
from consilience.xtensor.named import NamedType as XTensorType
from consilience.xtensor.variable import XTensorVariable as XTensorVariable
from consilience.xtensor.variable import as_xtensor as as_xtensor
from consilience.xtensor.variable import xtensor as xtensor

__all__ = [
    "XTensorType", "XTensorVariable", "as_xtensor", "broadcast", "concat", "dot", "full_like", "function", "grad",
    "linalg", "math", "ones_like", "where", "xtensor",
    "xtensor_constant", "zeros_like",
]  # fmt: skip


def where(cond: Any, x: Any, y: Any) -> XTensorVariable:
    """`x` where a condition holds, y elsewhere; all aligned by name.

    cond: Boolean tensor.
    x, y : ...
    Returns: With the dims of all operands.
    See dot: Sum of products over dims.
    >>> x = px.as_xtensor([-1.0, 2.0], dims="city")
    >>> px.where(x > 0, x, 0.0).eval().tolist()
    [0.0, 2.0]
    """
    return math.where(cond, x, y)


def concat(xtensors: Sequence[Any], dim: str) -> XTensorVariable:
    """Tensors joined along a dim; those without it are one element along it. A dim that none has comes first.

    xtensors (sequence): The tensors.
    dim: Name or names of the dims to work along; None for all that apply.
    Returns: The joined tensor.
    See broadcast: Repeats along dims.
    >>> x, y = px.as_xtensor([1.0, 2.0], dims="city"), px.as_xtensor([3.0], dims="city")
    >>> px.concat([x, y], dim="city").eval().tolist()
    [1.0, 2.0, 3.0]
    """
    return XTensorVariable(*joined([as_xtensor(x) for x in xtensors], dim))


def broadcast(*args: Any, exclude: str | Sequence[str] | None = None) -> tuple[XTensorVariable, ...]:
    """Tensors repeated along all dims of the others, but the excluded ones, in one order of dims.

    *args: The tensors, in order.
    exclude: Dims to leave alone.
    Returns: All with the same dims, in one order.
    See concat: Joins along a dim.
    >>> x, y = px.as_xtensor([1.0, 2.0], dims="city"), px.as_xtensor([3.0], dims="year")
    >>> [v.dims for v in px.broadcast(x, y)]
    [('city', 'year'), ('city', 'year')]
    """
    return tuple(XTensorVariable(*pair) for pair in broadcast_together([as_xtensor(x) for x in args], exclude))


def full_like(x: Any, fill_value: Any, dtype: npt.DTypeLike | None = None) -> XTensorVariable:
    """A tensor with the dims of x whose elements are all one number, of x's dtype unless said.

    x : ...
    fill_value: Value of every element.
    dtype : ...
    Returns: With the dims of `x`.
    See ones_like: Ones.
    See zeros_like: Zeros.
    >>> px.full_like(px.as_xtensor([1.0, 2.0], dims="city"), 7.0).eval().tolist()
    [7.0, 7.0]
    """
    named = as_xtensor(x)
    value = fill_value.values if isinstance(fill_value, Named) else fill_value
    return XTensorVariable(pt.full_like(named.values, value, dtype), named.dims)


def zeros_like(x: Any, dtype: npt.DTypeLike | None = None) -> XTensorVariable:
    """Zeros with the dims of x.

    x, dtype : ...
    Returns: With the dims of `x`.
    See full_like: Any number.
    >>> px.zeros_like(px.as_xtensor([3.0, 2.0], dims="city")).eval().tolist()
    [0.0, 0.0]
    """
    return full_like(x, 0, dtype)


def ones_like(x: Any, dtype: npt.DTypeLike | None = None) -> XTensorVariable:
    """Ones with the dims of x.

    x, dtype : ...
    Returns: With the dims of `x`.
    See full_like: Any number.
    >>> px.ones_like(px.as_xtensor([3.0, 2.0], dims="city")).eval().tolist()
    [1.0, 1.0]
    """
    return full_like(x, 1, dtype)


def xtensor_constant(x: Any, name: str | None = None, dims: str | Sequence[str] | None = None) -> XTensorVariable:
    """An array with dims, or a `DataArray` with its own, as a constant.

    x, name : ...
    dims: Names of the axes; their lengths come from the model's coords.
    Returns: A constant with dims.
    See as_xtensor: Takes tensors, too.
    >>> px.xtensor_constant(np.array([1.0, 2.0]), dims="city").dims
    ('city',)
    """
    return as_xtensor(x, dims, name=name)


def function(inputs: Sequence[Any], outputs: Any, **settings: Any) -> Any:
    """Compile expressions with named dims; arrays have axes in the order of dims.

    inputs (sequence): Symbolic inputs, with or without dims.
    outputs: An expression, or a list of them.
    **settings: As in `pt.function`.
    Returns: A function of arrays; results are arrays, with axes in the order of dims.
    See grad: Derivatives.
    >>> x = px.xtensor("x", dims=("city",))
    >>> px.function([x], x.sum("city"))([1.0, 2.0]).item()
    3.0
    """

    def plain(value: Any) -> Any:
        return value.values if isinstance(value, Named) else value

    results = list(map(plain, outputs)) if isinstance(outputs, list | tuple) else plain(outputs)
    return pt.function(list(map(plain, inputs)), results, **settings)


def grad(cost: Any, wrt: Any, **settings: Any) -> Any:
    """Derivatives of a scalar, each with the dims of what it is taken with respect to; settings as in `pt.grad`.

    cost: Scalar expression to differentiate.
    wrt: A tensor with dims, or a list of them.
    **settings: Keywords of the plain function.
    Returns: In the form of `wrt`.
    See function: Compiles expressions.
    >>> x = px.as_xtensor([1.0, 2.0], dims="city")
    >>> slope = px.grad((x**2).sum(), x)
    >>> slope.dims, slope.eval().tolist()
    (('city',), [2.0, 4.0])
    """
    chosen = [as_xtensor(x) for x in (wrt if isinstance(wrt, list | tuple) else [wrt])]
    found = pt.grad(as_xtensor(cost).values, [x.values for x in chosen], **settings)
    named = [XTensorVariable(node, x.dims) for node, x in zip(found, chosen, strict=True)]
    return named if isinstance(wrt, list | tuple) else named[0]


_load_on_use(__name__, {"": "random signal vectorization"}, public=True)  # which most expressions do without
