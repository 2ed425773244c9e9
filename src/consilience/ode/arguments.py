"""What users give to the solvers, as tensors: checked, with messages that name it.

Numbers, arrays, lists and tensors in; float64 tensors out. Values that are known only when a function is called are not
checked here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.errors import DtypeError, ParameterError, ShapeError
from consilience.ir import FLOATS, INTEGERS, Node, constant_value
from consilience.ir.side_tables import describe
from consilience.ode.integration import Tolerance


def either(names: Iterable[str]) -> str:
    """Names of a choice, in words."""
    *first, last = (repr(name) for name in names)
    return f"{', '.join(first)} or {last}"


def real(given: Any, name: str) -> Node:
    """What a user gave as float64 tensor; lists may hold scalar tensors. Raises DtypeError for what is not real."""
    symbolic = isinstance(given, list | tuple) and any(isinstance(part, Node) for part in given)
    node = pt.stack([pt.as_tensor(part) for part in given]) if symbolic else pt.as_tensor(given)
    if node.dtype not in FLOATS and node.dtype not in INTEGERS:
        raise DtypeError(f"`{name}` must be real, got {describe(node)}.")
    return node if node.dtype == "float64" else node.astype("float64")


def check_shapes(initial: Node, times: Node, start: Node | None) -> None:
    """Refuse states without elements, times that are no vector and starts that are no scalar."""
    if 0 in initial.static_shape:
        raise ShapeError(f"`y0` must have at least one element, got {describe(initial)}.")
    if times.ndim != 1 or times.static_shape[0] == 0:
        raise ShapeError(f"`t` must be a vector of at least one time, got {describe(times)}.")
    if start is not None and start.ndim:
        raise ShapeError(f"`t0` must be a scalar, got {describe(start)}.")


def check_times(times: Node, start: Node) -> None:
    """Refuse known times that are out of order; unknown ones give NaN where they lie before the start."""
    known, begin = constant_value(times), constant_value(start)
    if known is not None:
        if not np.isfinite(known).all():
            raise ParameterError(f"the times `t` must be finite, got {known}.")
        falls = np.flatnonzero(np.diff(known) < 0)
        if len(falls):
            k = int(falls[0])
            raise ParameterError(
                f"the times `t` must ascend, but t[{k}] = {known[k]:g} is followed by {known[k + 1]:g}; sort them, and "
                "the data with them."
            )
    if begin is not None and not np.isfinite(begin):
        raise ParameterError(f"`t0` must be finite, got {begin}.")
    if known is not None and begin is not None and known[0] < begin:
        raise ParameterError(
            f"no time of `t` may lie before `t0` = {float(begin):g}, got {known[0]:g}; an equation is solved backwards "
            "by solving dy/ds = -f(y, -s, theta) for s = -t."
        )


def tolerance_of(rtol: float, atol: Any, initial: Node) -> Tolerance:
    """Tolerances for states like `initial`. Raises ParameterError for what is not > 0, ShapeError for other shapes."""
    if isinstance(rtol, bool) or not isinstance(rtol, int | float | np.number) or not 0 < rtol < math.inf:
        raise ParameterError(f"`rtol` must be a number > 0, got {rtol!r}.")
    absolute = real(atol, "atol")
    known = constant_value(absolute)
    if known is None or not ((known > 0) & np.isfinite(known)).all():
        raise ParameterError(f"`atol` must be one number > 0, or one for every element of y0, got {atol!r}.")
    if absolute.ndim and absolute.static_shape != initial.static_shape:
        raise ShapeError(
            f"`atol` must be one number, or have the shape {initial.static_shape} of y0, got {describe(absolute)}."
        )
    return Tolerance(float(rtol), pt.reshape(absolute, (-1,)) if absolute.ndim else absolute)
