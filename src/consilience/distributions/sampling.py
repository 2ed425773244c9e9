"""Draws from finite populations, with and without replacement: orders, choices and counts per colour.

A population as a number of elements or an array in; an expression of random variables out.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from consilience import distributions as pd
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Node, constant_value
from consilience.ops.elementwise import as_tensor
from consilience.ops.index import getitem
from consilience.ops.order import argsort
from consilience.ops.reduce import reduce
from consilience.ops.shape import length_of, reshape, stack


def permutation(x: Any, axis: int = 0) -> Node:
    """The elements of an axis in random order; of a whole number n, those of 0, …, n - 1."""
    array, axis = as_tensor(x), operator.index(axis)
    if not array.ndim:
        return argsort(pd.Uniform.dist(0.0, 1.0, size=_count(array)))
    order = argsort(pd.Uniform.dist(0.0, 1.0, size=_length(array, axis)))
    return getitem(array, (*(slice(None),) * (axis % array.ndim), order))


def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0) -> Node:
    """Elements of an axis, or numbers below `a`, chosen with or without replacement.

    `a`: an array, or the number of elements. `size`: a whole number, a shape, or None for one element. `p`: probability
    of each element, shape (n,); equal ones if not given. Raises ParameterError where more are to be chosen without
    replacement than there are.
    """
    array, axis = as_tensor(a), operator.index(axis)
    n = _length(array, axis) if array.ndim else _count(array)
    if replace:
        chosen = pd.DiscreteUniform.dist(0, n - 1, size=size) if p is None else pd.Categorical.dist(p, size=size)
    else:
        shape = () if size is None else tuple(size) if isinstance(size, list | tuple) else (size,)
        number = math.prod(int(length) for length in shape)
        if isinstance(n, int) and number > n:
            raise ParameterError(f"choice: {number} elements of {n} were asked for without replacement.")
        # The largest of independent Gumbel variables, moved by log p, are a sample without replacement (Yellott 1977).
        order = pd.Uniform.dist(0.0, 1.0, size=n) if p is None else -pd.Gumbel.dist(_log(p), 1.0)
        chosen = reshape(argsort(order)[:number], shape)
    return getitem(array, (*(slice(None),) * (axis % array.ndim), chosen)) if array.ndim else chosen


def multivariate_hypergeometric(colors: Any, nsample: Any) -> Node:
    """How many of each colour are among `nsample` elements drawn without replacement; `colors` counts what there is.

    `colors`: whole numbers >= 0, shape (k,) with a static k.
    """
    there = as_tensor(colors)
    if there.ndim != 1 or not isinstance(there.static_shape[0], int):
        raise ShapeError("multivariate_hypergeometric: `colors` must be a vector of known length.")
    counts = []
    left, remaining = as_tensor(nsample), reduce("sum", there)
    for k in range(there.static_shape[0] - 1):
        counts.append(pd.HyperGeometric.dist(N=remaining, k=there[k], n=left))
        left, remaining = left - counts[-1], remaining - there[k]
    return stack([*counts, left])


def _log(p: Any) -> Node:
    return as_tensor(p).log()


def _length(array: Node, axis: int) -> Any:
    length = array.static_shape[axis]
    return length if isinstance(length, int) else length_of(length)


def _count(number: Node) -> Any:
    known = constant_value(number)
    return number if known is None else int(known)
