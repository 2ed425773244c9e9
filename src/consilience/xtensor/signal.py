"""Convolutions along dims.

In: two tensors with named dims, and a dim of each. Out: their convolution along these, with the others aligned by name.
"""

from __future__ import annotations

from typing import Any

from consilience import tensor as pt
from consilience.errors import ShapeError
from consilience.first_use import load_on_use
from consilience.xtensor.arrangement import broadcast_together
from consilience.xtensor.variable import XTensorVariable, as_xtensor

__all__ = ["convolve1d"]


def convolve1d(in1: Any, in2: Any, mode: str = "full", *, dims: tuple[str, str]) -> XTensorVariable:
    """Convolution along a dim of each of two tensors; the result has that of the first.

    in1: First signal.
    in2: Second signal, or the weights of the filter.
    mode: "full", "valid" or "same", as in `pt.signal.convolve1d`.
    dims: The dim of in1, and the dim of in2, of another name.
    Returns: With the dims of both, that of the second left out.
    Raises ShapeError: Where a tensor has not its dim, or has that of the other.
    Raises ValueError: For other modes and dims.
    See pt.signal.convolve1d: Of tensors without names.
    >>> import numpy as np
    >>> from consilience import xtensor as px
    >>> x = px.as_xtensor(np.arange(5.0), dims="time")
    >>> w = px.as_xtensor([1.0, -1.0], dims="lag")
    >>> px.signal.convolve1d(x, w, "valid", dims=("time", "lag")).eval()
    array([1., 1., 1., 1.])
    """
    if len(dims) != 2 or dims[0] == dims[1]:
        raise ValueError(f"`dims` must be two different names, one of each tensor; got {dims!r}.")
    x, h = as_xtensor(in1), as_xtensor(in2)
    for named, (own, other) in ((x, dims), (h, dims[::-1])):
        if own not in named.dims or other in named.dims:
            raise ShapeError(f"a tensor with dim {own!r} and without {other!r} is needed, got one with {named.dims!r}.")
    (wide, names), (kernel, _) = broadcast_together([x, h], dims)
    return XTensorVariable(pt.signal.convolve1d(wide, kernel, mode), names)


load_on_use(__name__, {}, public=True)
