"""Quantiles of the elements over axes, by the methods of NumPy, which are those of Hyndman and Fan and a few more.

In: tensors and probabilities. Out: the elements at the places in ascending order that the method names, and values
between two of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from consilience.errors import DtypeError, ParameterError, ShapeError
from consilience.ir import Node, constant_value
from consilience.ir import dimension as dims
from consilience.ir.side_tables import describe
from consilience.ir.types import COMPLEXES, FLOATS
from consilience.ops.axes import normalised_axes
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.index import getitem
from consilience.ops.order import sort
from consilience.ops.parameter_check import Asserted
from consilience.ops.reduce import reduce
from consilience.ops.reductions import Axis
from consilience.ops.shape import expand_dims, length_of, moveaxis, reshape, stack, transpose

Place = Callable[[Node, Node], Node]


def _between(alpha: float, beta: float) -> Place:
    """The place (from 0) of a probability among n elements, by the two parameters of Hyndman and Fan."""
    return lambda n, q: _share(n, q) + (alpha + q * (1 - alpha - beta)) - 1.0


def _share(n: Node, q: Node) -> Node:
    """n q >= 0. What enters a maximum is rounded by itself: whether it is whole decides between methods."""
    return apply("maximum", n * q, 0.0)


def _linear(n: Node, q: Node) -> Node:
    return _share(n - 1.0, q)


def _whole(place: Node, odd_only: bool) -> Node:
    """The whole place at or behind a place; of `odd_only`, one more where the place is whole and even."""
    before = apply("floor", place)
    here = apply("eq", place, before)
    if odd_only:
        here = apply("logical_and", here, apply("eq", apply("mod", before, 2.0), 1.0))
    return apply("maximum", apply("where", here, before, before + 1.0), 0.0)


# A whole place, at which the element is the quantile.
_WHOLE: Final[dict[str, Place]] = {
    "inverted_cdf": lambda n, q: _whole(_share(n, q) - 1.0, False),
    "closest_observation": lambda n, q: _whole(_share(n, q) - 1.5, True),
    "lower": lambda n, q: apply("floor", _linear(n, q)),
    "higher": lambda n, q: apply("ceil", _linear(n, q)),
    "nearest": lambda n, q: apply("round", _linear(n, q)),
}
# A place between two elements, whose distances weigh them but for two methods.
_BETWEEN: Final[dict[str, Place]] = {
    "averaged_inverted_cdf": lambda n, q: _share(n, q) - 1.0,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": _linear,
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
    "midpoint": lambda n, q: 0.5 * (apply("floor", _linear(n, q)) + apply("ceil", _linear(n, q))),
}


def median(a: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """The middle element over `axis` (all axes for None), or the mean of both middle ones; NaN when one is NaN.

    Integers and bool give float64. No elements at all are a ShapeError.

    a, axis, keepdims : ...
    Returns: Floats, without the axes that are reduced.
    See std: Square root of the variance.
    See var: Mean squared deviation from the mean.
    See average: Mean over `axis`.
    >>> pt.median([1.0, 5.0, 3.0]).eval().item()
    3.0
    """
    x = as_tensor(a)
    rows, axes = _rows(x if x.dtype in FLOATS else cast(x, "float64"), axis, "median")
    count = length_of(rows.static_shape[-1])
    below, above = (apply("floor_div", count - k, 2) for k in (1, 0))
    pair = getitem(sort(rows), (..., stack([below, above])))
    low, high = getitem(pair, (..., 0)), getitem(pair, (..., 1))
    found = apply("where", apply("eq", below, above), low, 0.5 * (low + high))
    return _kept(_or_missing(rows, found), axes, keepdims)


def quantile(a: TensorLike, q: TensorLike, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Node:
    """Quantiles over `axis` (all axes for None) at the probabilities q, whose axes come first; NaN when one is NaN.

    a : ...
    q: In [0, 1]: a number or a tensor. Others are a ParameterError, or an AssertionError in the call.
    axis : ...
    method: What lies between two elements, by NumPy's names: "linear" between its neighbours in the order, "lower",
        "higher", "nearest" or "midpoint" of both, or one of Hyndman and Fan's: "inverted_cdf", "averaged_inverted_cdf",
        "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased".
    keepdims : ...
    Returns: The axes of q, then those that are left.
    See percentile: `quantile` at probabilities in percent.
    See median: The middle element over `axis` (all axes for None).
    Notes: Integers give float64, except by methods that take an element. No elements at all are a ShapeError.
    >>> pt.quantile([1.0, 2.0, 3.0], 0.5).eval().item()
    2.0
    """
    if method not in _WHOLE and method not in _BETWEEN:
        raise ValueError(f"method must be one of {', '.join([*_BETWEEN, *_WHOLE])}; got {method!r}.")
    x, levels = as_tensor(a), _levels(q)
    rows, axes = _rows(x if x.dtype in FLOATS or method in _WHOLE else cast(x, "float64"), axis, "quantile")
    weak = type(q) in (int, float)
    flat = reshape(cast(levels, "float64"), (-1,))
    length = length_of(rows.static_shape[-1])
    count = cast(length, "float64")
    if method in _WHOLE:
        places = cast(_WHOLE[method](count, flat), "int64")
        found = getitem(sort(rows), (..., apply("minimum", places, length - 1)))
    else:
        exact = _BETWEEN[method](count, flat)
        below = apply("floor", exact)
        share = exact - below
        if method == "averaged_inverted_cdf":
            share = apply("where", apply("eq", share, 0.0), 0.5, 1.0)
        elif method == "midpoint":
            share = apply("where", apply("eq", share, 0.0), 0.0, 0.5)
        pair = stack([below, below + 1.0], -1)
        places = cast(apply("minimum", apply("maximum", pair, 0.0), count - 1.0), "int64")
        both = getitem(sort(rows), (..., reshape(places, (-1,))))
        both = reshape(both, (*both.static_shape[:-1], *places.static_shape))
        low, high = getitem(both, (..., 0)), getitem(both, (..., 1))
        share = cast(share, rows.dtype if weak else "float64" if levels.dtype not in FLOATS else levels.dtype)
        across = high - low
        found = apply("where", apply("ge", share, 0.5), high - across * (1.0 - share), low + across * share)
    found = _or_missing(expand_dims(rows, -2), found)
    if not levels.ndim:
        return _kept(reshape(found, found.static_shape[:-1]), axes, keepdims)
    first = moveaxis(found, -1, 0)
    shaped = reshape(first, (*levels.static_shape, *first.static_shape[1:]))
    return _kept(shaped, tuple(levels.ndim + i for i in axes), keepdims)


def percentile(a: TensorLike, q: TensorLike, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Node:
    """`quantile` at probabilities in percent, from 0 to 100.

    a : ...
    q: Percentages from 0 to 100: a number or a tensor.
    axis : ...
    method: How to interpolate between elements, as in NumPy.
    keepdims : ...
    Returns: The axes of q, then those that are left.
    See median: The middle element over `axis` (all axes for None).
    See quantile: Quantiles over `axis` (all axes for None) at the probabilities q.
    >>> pt.percentile([1.0, 2.0, 3.0], 50).eval().item()
    2.0
    """
    number: Any = q
    if type(number) in (int, float):
        return quantile(a, number / 100, axis, method, keepdims)
    known = constant_value(as_tensor(q))
    share = apply("true_div", q, 100) if known is None else known / 100
    return quantile(a, share, axis, method, keepdims)


def _levels(q: TensorLike) -> Node:
    """Probabilities; those that are outside [0, 1] fail."""
    node = as_tensor(q)
    if node.dtype in COMPLEXES:
        raise DtypeError(f"probabilities are real numbers, got {describe(node)}.")
    known = constant_value(node)
    if known is None:
        inside = apply("logical_and", apply("ge", node, 0), apply("le", node, 1))
        message = "the probabilities of quantiles must be in [0, 1] (those of percentiles in [0, 100])."
        return Node(Asserted(message), node, reduce("all", inside))
    if not np.all((known >= 0) & (known <= 1)):
        raise ParameterError(
            f"probabilities of quantiles must be in [0, 1] (of percentiles in [0, 100]), got {known.tolist()}."
        )
    return node


def _rows(x: Node, axis: Axis, name: str) -> tuple[Node, tuple[int, ...]]:
    """The tensor with the axes that are reduced as its last one, and these axes."""
    if x.dtype in COMPLEXES or x.dtype == "key":
        raise DtypeError(f"`{name}` needs real numbers, got {describe(x)}.")
    axes = normalised_axes(axis, x.ndim)
    rest = [i for i in range(x.ndim) if i not in axes]
    count = dims.product(tuple(x.static_shape[i] for i in axes))
    if count == 0:
        raise ShapeError(f"no elements have no {name}: {describe(x)}.")
    return reshape(transpose(x, [*rest, *axes]), [*(x.static_shape[i] for i in rest), count]), axes


def _or_missing(rows: Node, found: Node) -> Node:
    """NaN for rows in which there is one."""
    if rows.dtype not in FLOATS:
        return found
    return apply("where", reduce("any", apply("isnan", rows), -1), np.nan, found)


def _kept(result: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    return expand_dims(result, axes) if keepdims and axes else result
