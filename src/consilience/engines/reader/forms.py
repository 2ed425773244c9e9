"""Arguments and results of translated functions: what another program says of them in, tensors of that form out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.errors import DtypeError, ShapeError
from consilience.ir import DTYPES, Node
from consilience.ir.side_tables import describe
from consilience.record import Record


class Form(Record):
    """The shape and the dtype of a tensor."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def variable(self) -> Node:
        """A tensor of this form without a value."""
        return pt.tensor(dtype=self.dtype, shape=self.shape)


def fitted(value: Any, form: Form, what: str) -> Node:
    """A value as a tensor of a form; raises ShapeError and DtypeError, which say what it is."""
    tensor = pt.as_tensor(value)
    if tuple(tensor.static_shape) != form.shape:
        raise ShapeError(f"{what} was traced with the shape {form.shape}, got {describe(tensor)}.")
    if tensor.dtype != form.dtype and not np.can_cast(tensor.dtype, form.dtype, "same_kind"):
        raise DtypeError(f"{what} was traced as {form.dtype}, got {describe(tensor)}.")
    return tensor.astype(form.dtype)


def held(form: Form, what: str, hint: str = "") -> Form:
    """The form itself; raises DtypeError where tensors do not hold its dtype."""
    if form.dtype not in DTYPES:
        raise DtypeError(f"{what}{unheld(form.dtype, hint)}")
    return form


def unheld(dtype: str, hint: str = "") -> str:
    """That tensors do not hold a dtype: the end of a message that begins with what has it."""
    kinds = ", ".join(DTYPES)
    return f" has the dtype {dtype}, which tensors do not hold.{hint or f' They hold {kinds}.'}"


def called(function: Callable[..., Any], name: str, told: str) -> Callable[..., Any]:
    """A translated function under the name that it has there."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{told}, of tensors."
    return function
