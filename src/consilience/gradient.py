"""Derivatives under the names of `pytensor.gradient`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from consilience.errors import DisconnectedInputError, GradientError, NullTypeGradError
from consilience.first_use import NamedModule, guard
from consilience.ir import Node
from consilience.tensor.differentiation import (
    Lop,
    Rop,
    consider_constant,
    grad,
    grad_clip,
    grad_scale,
    hessian,
    hessian_vector_product,
    jacobian,
    pullback,
    pushforward,
    undefined_grad,
    zero_grad,
)
from consilience.tensor.flattened import joined_gradient
from consilience.tensor.formulas import stop_gradient as disconnected_grad
from consilience.tensor.python_ops import DisconnectedType, disconnected_type, grad_not_implemented, grad_undefined
from consilience.tensor.verification import verify_grad

__all__ = [
    "DisconnectedInputError",
    "DisconnectedType",
    "GradientError",
    "Lop",
    "NullTypeGradError",
    "Rop",
    "consider_constant",
    "disconnected_grad",
    "disconnected_type",
    "grad",
    "grad_clip",
    "grad_not_implemented",
    "grad_scale",
    "grad_undefined",
    "hessian",
    "hessian_vector_product",
    "jacobian",
    "pullback",
    "pushforward",
    "undefined_grad",
    "verify_grad",
    "zero_grad",
]


class _Gradient(NamedModule):
    """This module, which PyMC's users call as a function: `pm.gradient(f, vars)`."""

    def __call__(self, f: Node, vars: Sequence[Node] | None = None) -> Node:
        """All derivatives of a scalar by the variables, one vector; by default by all inputs that are floats."""
        return joined_gradient(f, vars)


sys.modules[__name__].__class__ = _Gradient

guard(globals())
