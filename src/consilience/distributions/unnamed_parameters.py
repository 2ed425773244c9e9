"""Distributions whose number of tensor parameters is known only when the variable is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from consilience.distributions.distribution import Distribution
from consilience.ir import Node


class UnnamedParameters(Distribution):
    """Base of distributions given by functions: their parameters have places, but no names and no constraints."""

    @classmethod
    def bound(
        cls, parameters: Sequence[Node], settings: Sequence[Any] = (), components: Sequence[Sequence[Node]] = ()
    ) -> Self:
        bound = super().bound((), settings, components)
        bound.__dict__.update(values=tuple(parameters), title=cls.title_of(settings))
        return bound

    @classmethod
    def title_of(cls, settings: Sequence[Any]) -> str:
        """Name for messages."""
        del settings
        return cls.title

    def by_name(self) -> Mapping[str, Node]:
        return {}

    def declared(self) -> tuple[None, ...]:
        return (None,) * len(self.values)
