"""What is watched while sampling: the coordinates, quantities derived from them, and the log density.

Blocks of draws enter a watch of convergence; names of scalars and verdicts leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from consilience.diagnostics.watch import Failure, Rule, Watch
from consilience.run.messages import Matrix

LOG_DENSITY = "log density"


@dataclass(frozen=True, slots=True)
class Monitored:
    """What to watch.

    names     of the coordinates, in their order
    derived   names of further scalars
    derive    their values (draw, scalar) of coordinates (draw, coordinate)
    """

    names: tuple[str, ...]
    derived: tuple[str, ...] = ()
    derive: Callable[[Matrix], Matrix] | None = None


class Monitor:
    """A watch over the chains of one attempt to sample.

    chains      those that are watched
    constants   derived scalars that do not vary; they are not watched
    """

    def __init__(self, monitored: Monitored, chains: Sequence[int]) -> None:
        self.monitored = monitored
        self.chains = tuple(chains)
        self.constants: tuple[str, ...] = ()
        self.varying: list[int] | None = None
        self.watch: Watch | None = None

    def extend(self, draws: Mapping[int, Matrix], lp: Mapping[int, Matrix]) -> None:
        """Take in further draws of each chain, (draw, coordinate), and their log densities (draw,)."""
        parts = []
        for c in self.chains:
            columns = [draws[c], lp[c][:, None]]
            if self.monitored.derive is not None:
                columns.append(self.monitored.derive(draws[c]))
            parts.append(columns)
        if self.watch is None:
            self._begin(parts)
        assert self.watch is not None
        block = np.stack([np.concatenate(self._chosen(columns), axis=1) for columns in parts])
        self.watch.extend(block)

    def _begin(self, parts: list[list[Matrix]]) -> None:
        names = self.monitored.derived
        if names:
            values = np.concatenate([columns[2] for columns in parts])
            varies = (values != values[0]).any(axis=0)  # NaN differs from itself: it is watched and said
            self.varying = [i for i in range(len(names)) if varies[i]]
            self.constants = tuple(name for name, moves in zip(names, varies, strict=True) if not moves)
        self.names = (
            *self.monitored.names,
            LOG_DENSITY,
            *(names[i] for i in self.varying or ()),
        )
        self.watch = Watch(len(self.chains), len(self.names))

    def _chosen(self, columns: list[Matrix]) -> list[Matrix]:
        return columns if self.varying is None else [*columns[:2], columns[2][:, self.varying]]

    def check(self, rule: Rule) -> Failure | None:
        """The first scalar found for which the rule does not hold."""
        assert self.watch is not None
        return self.watch.check(rule)

    def figures(self, failure: Failure | None) -> tuple[str, float, float]:
        """Name, R-hat and effective size (the smaller of bulk and tail) of the scalar in the worst state."""
        assert self.watch is not None
        scalar = self.watch.nearest_to_failing() if failure is None else failure.scalar
        found = self.watch.measure([scalar])
        return self.names[scalar], float(found.rhat[0]), float(np.fmin(found.ess_bulk[0], found.ess_tail[0]))
