"""The table of meanings in NumPy: one row per op class. The files that fill it by family are read by `reference`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from consilience.errors import LinearAlgebraError
from consilience.first_use import RowsByFamily
from consilience.ir import Node
from consilience.ir.side_tables import describe

Meaning: TypeAlias = Callable[..., Any]

MEANINGS: Final = RowsByFamily[Meaning](
    __package__,
    "consilience.ops",
    {
        "factorisations": "factorisations",
        "fourier": "correlation fourier consilience.lower.fourier",
        "matrix_equations": """
            matrix_equations matrix_functions consilience.lower.matrix_equations consilience.lower.matrix_functions
        """,
        "order": "order consilience.lower.primitives",
        "sparse": "sparse.factorisation sparse.products consilience.lower.primitives",
        "state_space": "state_space",
        "structured": "structured",
    },
)


def means(op: type) -> Callable[[Meaning], Meaning]:
    """Register `(node, lengths, *arrays) -> array` for an op class."""

    def register(function: Meaning) -> Meaning:
        MEANINGS[op] = function
        return function

    return register


def failed(node: Node, why: str) -> LinearAlgebraError:
    """The error for a matrix without a factorisation."""
    return LinearAlgebraError(f"{why}, in {describe(node)}.")
