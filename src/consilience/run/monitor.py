"""What is watched while sampling: the coordinates, quantities derived from them, and the log density.

Blocks of draws enter a watch of convergence; names of scalars and verdicts leave.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from consilience.diagnostics.examination import examine
from consilience.diagnostics.watch import Failure, Found, StoppingRule, Watch
from consilience.diagnostics.watch.verdict import Criterion
from consilience.inference.messages import Matrix
from consilience.record import Record, replace

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
        self._levels: list[list[Matrix]] = []  # log densities, of each chain for each time that draws came

    def extend(self, draws: Mapping[int, Matrix], lp: Mapping[int, Matrix], finite: bool = False) -> None:
        """Take in further draws of each chain, (draw, coordinate), and their log densities (draw,).

        finite   whether it is known that all draws are finite
        """
        own = [draws[c] for c in self.chains]
        derive = self.monitored.derive
        derived = [] if derive is None else [derive(draws) for draws in own]
        if self.watch is None:
            self._begin(derived)
        assert self.watch is not None
        if derived:
            own = [np.concatenate([d, self._chosen(v)], axis=1) for d, v in zip(own, derived, strict=True)]
        self.watch.extend(own, finite=finite and not derived)
        self._levels.append([lp[c] for c in self.chains])

    @property
    def levels(self) -> Matrix:
        """Log densities (chain, draw); they are asked for only when all else passes."""
        return np.array([np.concatenate(parts) for parts in zip(*self._levels, strict=True)])

    def _begin(self, derived: list[Matrix]) -> None:
        names = self.monitored.derived
        if names:
            values = np.concatenate(derived)
            self.first = values[0]
            varies = (values != self.first).any(axis=0)  # NaN differs from itself: it is watched and said
            varies[list(self.known)] = True
            self.varying = [i for i in range(len(names)) if varies[i]]
            self.constants = tuple(name for name, moves in zip(names, varies, strict=True) if not moves)
        self.names = (*self.monitored.names, *(names[i] for i in self.varying or ()), LOG_DENSITY)
        self.watch = Watch(len(self.chains), len(self.names) - 1)
        if self._found is not None:
            self.watch.begin_with(self._found)

    def _chosen(self, derived: Matrix) -> Matrix:
        """The derived scalars that are watched; others that vary by now are a surprise."""
        assert self.varying is not None
        moved = np.flatnonzero((derived != self.first).any(axis=0))
        unknown = set(moved.tolist()).difference(self.varying)
        if unknown:
            self.surprise = True
            self.known = self.known | unknown
        return derived[:, self.varying]

    @property
    def found(self) -> Found | None:
        """What there is to begin another watch with, so that it names the same scalars."""
        return self._found if self.watch is None else self.watch.found

    def anew(self) -> Monitor:
        """A monitor of the same that has seen no draws, but knows what this one found."""
        other = Monitor(self.monitored, self.chains, self.known, self.found)
        other.constants = self.constants
        return other

    def check(self, rule: StoppingRule) -> Failure | None:
        """The first scalar found for which the rule does not hold."""
        assert self.watch is not None
        failure = self.watch.check(rule)
        if failure is None:
            failure = self.watch.check_given(self.levels, replace(rule, target_ess=None))
        return failure

    def worst(self, failure: Failure, rule: StoppingRule) -> Failure:
        """Of all scalars for which the rule does not hold, the worst; `failure` is the one that was found first.

        Which one is found first depends on what was looked at before; this does not.
        """
        assert self.watch is not None
        if failure.criterion in {"constant", "not finite", "quantile ess"} or self.names[failure.scalar] == LOG_DENSITY:
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
            if name == LOG_DENSITY:
                given = examine(self.levels[:, :, None])
                return name, float(given.r_hat[0]), float(np.fmin(given.ess_bulk[0], given.ess_tail[0]))
            found = self.watch.measure([failure.scalar])
            return name, float(found.rhat[0]), float(np.fmin(found.ess_bulk[0], found.ess_tail[0]))
        return name, failure.rhat, failure.ess
