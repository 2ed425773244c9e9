"""What a run's convergence is judged by: coordinates, quantities derived from them, and the log density.

Gives names to the scalars of a `ConvergenceMonitor`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from consilience.diagnostics.monitor import ConvergenceMonitor
from consilience.diagnostics.sample import FloatArray
from consilience.diagnostics.stopping_rule import Failure, StoppingRule
from consilience.inference.messages import Matrix
from consilience.inference.modes.normals import RegionNormals
from consilience.record import Record, replace

if TYPE_CHECKING:
    from consilience.inference.modes.symmetries import Quotient

LOG_DENSITY = "log density"


class Monitored(Record):
    """What to monitor. The log density always is.

    `names`: of the coordinates, in their order.
    `derived`: names of further scalars, such as elements of deterministics and of constrained variables whose transform
        does not act element by element (a simplex): ranks, and so all figures, are those of the coordinate itself where
        a transform is increasing, but not else.
    `derive`: their values (draw, scalar) of coordinates (draw, coordinate); asked for once, of the draws of each chain
        that came since the check before, and kept until the run ends.
    `discrete`: which coordinates are whole numbers, bool (coordinate,); such ones may stay as they are; None: none.
    `angles`: which coordinates are angles, bool (coordinate,): a density repeats with period 2 pi along them, so whole
        turns are taken off their draws, of which chains may have made any number; None: none.
    `steady`: which of `derived` may stay as they are without a word, as whole numbers may.
    `enabled`: False: runs of fixed length are not checked.
    `missed`: in words, what of the target no draw (chain, draw, coordinate) has come to, given its symmetries or None;
        empty if nothing is known.
    `normals`: those that stand for separate regions, for chains to jump between, as they are known by now; None where
        there are fewer than two.
    `search`: looks for further regions from draws (chain, draw, coordinate) too; whether there are others now.
    `components`: looks for normals that a density is a sum of, once; whether there are some, which `normals` gives
        then.
    `regions`: what is known of separate regions, in plain numbers and words; None: nothing was looked for.
    `searched`: whether the search for separate regions came to its end; None: there was none.
    `symmetries`: gives those that draws (chain, draw, coordinate) disagree by, or all; None where there are none.
    `stop`: int64[1], a flag that ends what these look for: they raise Stopped once it is not 0; None: they are short.
    `improper`: in words, how the target seems to be improper, of places (chain, draw, coordinate) where chains have
        been; empty if nothing speaks for it. Asked where chains do as they would on such a target.
    """

    names: tuple[str, ...]
    derived: tuple[str, ...] = ()
    derive: Callable[[Matrix], Matrix] | None = None
    discrete: NDArray[np.bool_] | None = None
    angles: NDArray[np.bool_] | None = None
    steady: frozenset[str] = frozenset()
    enabled: bool = True
    missed: Callable[[Matrix, Quotient | None], str] | None = None
    normals: Callable[[], RegionNormals | None] | None = None
    search: Callable[[Matrix], bool] | None = None
    components: Callable[[], bool] | None = None
    regions: Callable[[], dict[str, Any]] | None = None
    searched: Callable[[], bool] | None = None
    symmetries: Callable[[Matrix, bool], Quotient | None] | None = None
    stop: NDArray[np.int64] | None = None
    improper: Callable[[Matrix], str] | None = None

    def present_normals(self) -> RegionNormals | None:
        """`normals` as they are known by now."""
        return None if self.normals is None else self.normals()

    def folded(self, quotient: Quotient) -> Monitored:
        """The same with coordinates in one copy of the target beside those of draws, whose copies are random."""
        places, own = quotient.places, self.derive

        def derive(draws: Matrix) -> Matrix:
            folded = quotient.fold(draws)[:, places]
            return folded if own is None else np.concatenate([own(draws), folded], axis=1)

        names = (*self.derived, *(f"{self.names[place]} in one copy" for place in places))
        return replace(self, derived=names, derive=derive)

    def without_turns(self, draws: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draws (…, coordinate) with angles, in radians, in [-pi, pi]; the same array where there are none."""
        if self.angles is None:
            return draws
        return draws - 2 * np.pi * np.where(self.angles & np.isfinite(draws), np.rint(draws / (2 * np.pi)), 0.0)


class Monitor:
    """The convergence of the chains of one attempt to sample.

    `chains`: those that are monitored.
    `known`: places of derived scalars of which it is known that they vary.
    `nearness`: what another monitor of as many scalars found of them; see `ConvergenceMonitor.nearness`.
    `superchains`: how many the chains make up, see `diagnostics.superchains`; 0: they are judged one by one.
    `constants`: derived scalars that have not varied so far; they are not monitored.
    `outdated`: whether one of these has varied meanwhile: then another monitor is needed, from the first draw on.
    `names`: of all scalars, once draws have come; the log density is the last one.
    """

    def __init__(
        self,
        monitored: Monitored,
        chains: Sequence[int],
        known: Collection[int] = (),
        nearness: FloatArray | None = None,
        superchains: int = 0,
    ) -> None:
        self.monitored = monitored
        self.chains = tuple(chains)
        self.known = frozenset(known)
        self.superchains = superchains
        self.outdated = False
        self.constants: tuple[str, ...] = ()
        self.names: tuple[str, ...] = ()
        whole = monitored.discrete
        self._whole = np.zeros(len(monitored.names), np.bool_) if whole is None else whole
        self._varying: list[int] = []
        self._convergence: ConvergenceMonitor | None = None
        self._nearness = nearness

    @property
    def convergence(self) -> ConvergenceMonitor:
        """The figures of all scalars; there are none before the first draws."""
        assert self._convergence is not None
        return self._convergence

    def extend(self, draws: Sequence[Matrix] | Matrix, lp: Matrix) -> None:
        """Take in further draws of each chain, (draw, coordinate), and their log densities (chain, draw)."""
        own, derive = draws, self.monitored.derive
        derived = [] if derive is None else [derive(some) for some in own]
        if self._whole.any():
            counts = [some[:, self._whole] for some in own]
            derived = (
                [np.concatenate(pair, axis=1) for pair in zip(counts, derived, strict=True)] if derived else counts
            )
            own = [some[:, ~self._whole] for some in own]
        groups = [own]
        if self._convergence is None:
            self._begin(derived)
        if derived:
            groups.append([self._chosen(values) for values in derived])
        self.convergence.extend(*groups, lp[:, :, None])

    @property
    def levels(self) -> Matrix:
        """Log densities (chain, draw)."""
        return self.convergence.draws(self.convergence.scalars - 1)

    def _begin(self, derived: list[Matrix]) -> None:
        coordinates = [name for name, whole in zip(self.monitored.names, self._whole, strict=True) if not whole]
        counts = [name for name, whole in zip(self.monitored.names, self._whole, strict=True) if whole]
        names = (*counts, *self.monitored.derived)
        if names:
            values = np.concatenate(derived)
            self.first = values[0]
            varies = (values != self.first).any(axis=0)  # NaN differs from itself: it is monitored and said
            varies[list(self.known)] = True
            self._varying = np.flatnonzero(varies).tolist()
            still = zip(self.monitored.derived, varies[len(counts) :], strict=True)
            self.constants = tuple(name for name, moves in still if not moves and name not in self.monitored.steady)
        self.names = (*coordinates, *(names[i] for i in self._varying), LOG_DENSITY)
        self._convergence = ConvergenceMonitor(len(self.chains), len(self.names), self.superchains)
        if self._nearness is not None and len(self._nearness) == len(self.names):
            self._convergence.nearness[:] = self._nearness

    def _chosen(self, derived: Matrix) -> Matrix:
        """The derived scalars that are monitored; others that vary by now make it outdated."""
        unknown = set(np.flatnonzero((derived != self.first).any(axis=0)).tolist()).difference(self._varying)
        if unknown:
            self.outdated = True
            self.known = self.known | unknown
        return derived[:, self._varying] if len(self._varying) < derived.shape[1] else derived

    @property
    def nearness(self) -> FloatArray | None:
        """What there is to begin another monitor with, so that it names the same scalars."""
        return self._nearness if self._convergence is None else self._convergence.nearness

    def anew(self) -> Monitor:
        """A monitor of the same that has seen no draws, but knows what this one found."""
        other = Monitor(self.monitored, self.chains, self.known, self.nearness, self.superchains)
        other.constants = self.constants
        return other

    def check(self, rule: StoppingRule, at_end: bool = False) -> Failure | None:
        """A scalar for which the rule does not hold; at the end the worst of all, whatever was found before."""
        return self.convergence.check(rule, everything=at_end)

    def nearest(self, number: int) -> tuple[tuple[str, float, float], ...]:
        """Name, R-hat and effective size of so many scalars in the worst states, of those the last check examined."""
        some, figures = self.convergence.worst_states(number)
        sizes = np.fmin(figures.ess_bulk, figures.ess_tail)
        rows = zip(some, figures.r_hat.tolist(), sizes.tolist(), strict=True)
        return tuple((self.names[scalar], rhat, size) for scalar, rhat, size in rows)

    def figures(self, failure: Failure | None) -> tuple[str, float, float]:
        """Name, R-hat and effective size (the smaller of bulk and tail) of the scalar in the worst state."""
        if failure is not None:
            return self.names[failure.scalar], failure.rhat, failure.ess
        scalar, rhat, size = self.convergence.nearest_to_failing()
        return self.names[scalar], rhat, size
