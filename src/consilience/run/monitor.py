"""What is watched while sampling: the coordinates, quantities derived from them, and the log density.

Blocks of draws enter a watch of convergence; names of scalars and verdicts leave.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from consilience.diagnostics.watch import Failure, Found, Rule, Watch
from consilience.diagnostics.watch.verdict import Criterion
from consilience.record import Record, replace
from consilience.run.messages import Matrix

LOG_DENSITY = "log density"


class Monitored(Record):
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

    The log density has to agree between the chains as all scalars have to; effective draws are asked of the others
    only. Its own are fewer, and to wait for them took a fifth more draws without finding a wrong run.

    chains      those that are watched
    known       places of derived scalars of which it is known that they vary
    found       what another watch of as many scalars found of them; see `Watch.found`
    constants   derived scalars that have not varied so far; they are not watched
    surprise    whether one of these has varied meanwhile: then another monitor is needed, from the first draw on
    """

    def __init__(
        self, monitored: Monitored, chains: Sequence[int], known: Collection[int] = (), found: Found | None = None
    ) -> None:
        self.monitored = monitored
        self.chains = tuple(chains)
        self.known = frozenset(known)
        self.surprise = False
        self.constants: tuple[str, ...] = ()
        self.varying: list[int] | None = None
        self.watch: Watch | None = None
        self._found = found
        self._levels: Watch | None = None  # of the log density
        self._to_come: list[list[Matrix]] = []  # log densities that it was not given yet

    def extend(self, draws: Mapping[int, Matrix], lp: Mapping[int, Matrix]) -> None:
        """Take in further draws of each chain, (draw, coordinate), and their log densities (draw,)."""
        parts = []
        for c in self.chains:
            columns = [draws[c]]
            if self.monitored.derive is not None:
                columns.append(self.monitored.derive(draws[c]))
            parts.append(columns)
        if self.watch is None:
            self._begin(parts)
        assert self.watch is not None
        self.watch.extend([_beside(self._chosen(columns)) for columns in parts])
        self._to_come.append([lp[c] for c in self.chains])

    @property
    def levels(self) -> Watch:
        """A watch of the log density, which is asked for only when all else passes."""
        if self._levels is None:
            self._levels = Watch(len(self.chains), 1, lender=self.watch)
        if self._to_come:
            self._levels.extend([np.concatenate(parts)[:, None] for parts in zip(*self._to_come, strict=True)])
            self._to_come = []
        return self._levels

    def _begin(self, parts: list[list[Matrix]]) -> None:
        names = self.monitored.derived
        if names:
            values = np.concatenate([columns[1] for columns in parts])
            self.first = values[0]
            varies = (values != self.first).any(axis=0)  # NaN differs from itself: it is watched and said
            varies[list(self.known)] = True
            self.varying = [i for i in range(len(names)) if varies[i]]
            self.constants = tuple(name for name, moves in zip(names, varies, strict=True) if not moves)
        self.names = (*self.monitored.names, *(names[i] for i in self.varying or ()), LOG_DENSITY)
        self.watch = Watch(len(self.chains), len(self.names) - 1)
        if self._found is not None:
            self.watch.begin_with(self._found)

    def _chosen(self, columns: list[Matrix]) -> list[Matrix]:
        if self.varying is None:
            return columns[:1]
        moved = np.flatnonzero((columns[1] != self.first).any(axis=0))
        unknown = set(moved.tolist()).difference(self.varying)
        if unknown:
            self.surprise = True
            self.known = self.known | unknown
        return [columns[0], columns[1][:, self.varying]]

    @property
    def found(self) -> Found | None:
        """What there is to begin another watch with, so that it names the same scalars."""
        return self._found if self.watch is None else self.watch.found

    def anew(self) -> Monitor:
        """A monitor of the same that has seen no draws, but knows what this one found."""
        other = Monitor(self.monitored, self.chains, self.known, self.found)
        other.constants = self.constants
        return other

    def check(self, rule: Rule) -> Failure | None:
        """The first scalar found for which the rule does not hold."""
        assert self.watch is not None
        failure = self.watch.check(rule)
        if failure is None:
            of_level = self.levels.check(replace(rule, target_ess=None))
            failure = None if of_level is None else replace(of_level, scalar=len(self.names) - 1)
        return failure

    def worst(self, failure: Failure, rule: Rule) -> Failure:
        """Of all scalars for which the rule does not hold, the worst; `failure` is the one that was found first.

        Which one is found first depends on what was looked at before; this does not.
        """
        assert self.watch is not None
        if failure.criterion in {"constant", "not finite"} or self.names[failure.scalar] == LOG_DENSITY:
            return failure
        figures = self.watch.measure()
        sizes = np.fmin(figures.ess_bulk, figures.ess_tail)
        if rule.target_ess is not None and np.nanmin(sizes, initial=np.inf) < rule.target_ess:
            scalar = int(np.nanargmin(sizes))
            kind: Criterion = "bulk ess" if sizes[scalar] == figures.ess_bulk[scalar] else "tail ess"
            return Failure(scalar, kind, float(sizes[scalar]), rule.target_ess)
        if failure.criterion in {"rhat", "rhat excess"} and not np.isnan(figures.rhat).all():
            scalar = int(np.nanargmax(figures.rhat))
            if failure.criterion == "rhat" and figures.rhat[scalar] >= failure.bound:
                return Failure(scalar, "rhat", float(figures.rhat[scalar]), failure.bound)
        return failure

    def figures(self, failure: Failure | None) -> tuple[str, float, float]:
        """Name, R-hat and effective size (the smaller of bulk and tail) of the scalar in the worst state."""
        assert self.watch is not None
        if failure is None:
            scalar, rhat, size = self.watch.nearest_to_failing()
            return self.names[scalar], rhat, size
        name = self.names[failure.scalar]
        if math.isnan(failure.rhat):
            found = self.levels.measure() if name == LOG_DENSITY else self.watch.measure([failure.scalar])
            return name, float(found.rhat[0]), float(np.fmin(found.ess_bulk[0], found.ess_tail[0]))
        return name, failure.rhat, failure.ess


def _beside(columns: list[Matrix]) -> Matrix:
    """All columns in one matrix; the only one itself."""
    return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
