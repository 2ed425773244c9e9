"""Reverse-mode derivatives: a table of pullbacks, an engine that composes them, what follows from both."""

from consilience.transforms.gradient import (
    call,
    collective,
    control,
    factorisations,
    fourier,
    index,
    linalg,
    matrix_equations,
    order,
    reduce,
    scalar,
    scan,
    shape,
    sparse,
    special_functions,
    structured,
)
from consilience.transforms.gradient.derived import (
    connected,
    gradient,
    hessian,
    hessian_vector_product,
    jacobian,
    pullback,
    pushforward,
    value_and_gradient,
)
from consilience.transforms.gradient.table import NO_DERIVATIVE, PULLBACKS, SCALAR_PULLBACKS, missing

__all__ = [
    "NO_DERIVATIVE", "PULLBACKS", "SCALAR_PULLBACKS", "call", "collective", "connected", "control", "factorisations",
    "fourier", "gradient", "hessian", "hessian_vector_product", "index", "jacobian", "linalg", "matrix_equations",
    "missing", "order", "pullback", "pushforward", "reduce", "scalar", "scan", "shape", "sparse", "special_functions",
    "structured", "value_and_gradient",
]  # fmt: skip
