"""The table of meanings in NumPy: one row per op class. The files that fill it by family are read by `reference`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from consilience.errors import LinearAlgebraError
from consilience.ir import Node
from consilience.ir.side_tables import describe

Meaning: TypeAlias = Callable[..., Any]

MEANINGS: dict[type, Meaning] = {}


def means(op: type) -> Callable[[Meaning], Meaning]:
    """Register `(node, lengths, *arrays) -> array` for an op class."""

    def register(function: Meaning) -> Meaning:
        MEANINGS[op] = function
        return function

    return register


def failed(node: Node, why: str) -> LinearAlgebraError:
    """The error for a matrix without a factorisation."""
    return LinearAlgebraError(f"{why}, in {describe(node)}.")
