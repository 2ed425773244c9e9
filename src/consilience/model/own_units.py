"""Positions of samplers in the variables' own units, and back: a few rows at a time, without compiling anything."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ConsilienceError
from consilience.model.layout import Layout

Floats = npt.NDArray[np.float64]


class OwnUnits:
    """Of all variables of a layout, one after the other, each in row-major order."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._sampled = [s.variable.sampled for s in layout.stretches]
        self._own = [None] * len(self._sampled)

    @cached_property
    def _forth(self) -> Any:
        return self.layout.between(self._sampled, self._own, [s.shape for s in self.layout.stretches])

    @cached_property
    def _shapes(self) -> list[tuple[int, ...]]:
        return [part.shape for part in self._forth(self.layout.parts(np.zeros(self.layout.dimension)))]

    @cached_property
    def _back(self) -> Any:
        return self.layout.between(self._own, self._sampled, self._shapes)

    def values(self, positions: Floats) -> Floats:
        """Of positions (row, coordinate): their values (row, value)."""
        with np.errstate(all="ignore"):
            rows = [self._forth(self.layout.parts(position)) for position in positions]
        return np.stack([np.concatenate([part.ravel() for part in row]) for row in rows])

    def positions(self, values: Floats) -> Floats:
        """The positions of values; NaN where a value has none."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes])
        found = np.full((len(values), self.layout.dimension), np.nan)
        for row, value in zip(found, values, strict=True):
            parts = [own.reshape(s) for own, s in zip(np.split(value, ends[:-1]), self._shapes, strict=True)]
            try:
                with np.errstate(all="ignore"):
                    row[:] = np.concatenate([part.ravel() for part in self._back(parts)])
            except ConsilienceError:
                continue
        return found

    def exchanged(self, positions: Floats, generator: np.random.Generator) -> Floats:
        """Positions with two labels exchanged, chosen anew for each; as they are where there are no labels.

        Labels are the first axes of all variables of one length.
        """
        lengths = sorted({s.shape[0] for s in self.layout.stretches if s.shape and s.shape[0] > 1})
        found = positions.copy()
        for row in found if lengths else ():
            length = generator.choice(lengths)
            pair = generator.choice(length, 2, replace=False)
            for stretch in self.layout.stretches:
                if stretch.shape and stretch.shape[0] == length:
                    own = row[stretch.slice].reshape(length, -1)
                    own[pair] = own[pair[::-1]]
        return found
