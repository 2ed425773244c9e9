"""Densities made easier and equal: variables summed out or integrated out, rows of data as their statistics.

Factors, random variables and placeholders enter, nodes leave; of models it knows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from consilience.ir import Node, topological


def acts(node: Node, leaves: Sequence[Node]) -> bool:
    """Whether an expression depends on one of the leaves."""
    return not set(leaves).isdisjoint(topological([node]))


class NamedVariable(Protocol):
    """A random variable with the name that messages call it by."""

    @property
    def name(self) -> str:
        """The user's name."""

    @property
    def node(self) -> Node:
        """The random variable."""

    @property
    def continuous(self) -> bool:
        """Whether its values are floats."""
