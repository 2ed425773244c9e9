"""What a run in trouble left, as the looks for its cause need it: a run and its result enter, evidence leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.divergence_location import describe
from consilience.distributions.random_variable import distribution_of
from consilience.ir import Node, topological
from consilience.model.heavy_tails import reach
from consilience.record import Record
from consilience.run.verdicts import Verdict, energy_is_low

if TYPE_CHECKING:
    from consilience.inference.modes.symmetries import Quotient
    from consilience.run import RunResult
    from consilience.sample.model_run import ModelRun

Floats = npt.NDArray[np.float64]

MOST_DRAWS: Final = 20_000  # that are looked at, of all chains
MOST_NUMBERS: Final = 1 << 23  # in them
SHARE: Final = 0.02  # of the evaluations of the run, in which its trouble is looked into
LEAST_EVALUATIONS, MOST_EVALUATIONS = 500, 5000
LOOKED_AT: Final = 6  # divergences, and as many steps between draws, that are followed
FEWEST: Final = 3  # divergences, of which a place can be told
MOST_NAMED: Final = 3
APART: Final = 3.0  # widths of a chain between the middles of chains, from which on they are in different places


class Cause(Record):
    """Why a run is in trouble.

    `kind`: "few" or "draws" (too few of them), "improper", "spike", "edge", "overflow", "jump", "labels", "signs",
    "rotations", "regions", "neck", "tails", "dependence" or "steps". `names`: the variables to be written otherwise.
    `said`: in words, what was found; part of `reason`. `advice`: what to write. `harmless`: whether all divergences
    come of it, and they say nothing against the draws.
    """

    kind: str
    names: tuple[str, ...]
    said: str
    advice: str
    harmless: bool = False


class Symptoms:
    """What a run left, as the looks for causes need it."""

    def __init__(self, run: ModelRun, result: RunResult) -> None:
        self.run, self.result = run, result
        self.density, self.model = run.density, run.density.model
        self.stretches = self.density.layout.stretches
        self.names = run.monitored.names
        self.verdict: Verdict = result.verdict
        chains, count, dimension = result.draws.shape
        stride = max(1, -(-chains * count // MOST_DRAWS), -(-result.draws.size // MOST_NUMBERS))
        self.chains = result.draws[:, ::stride]
        self.draws: Floats = self.chains.reshape(-1, dimension)
        self.begins, self.ends = (
            np.concatenate([getattr(d, name) for d in result.divergences] or [np.empty((0, dimension))])
            for name in ("begins", "ends")
        )
        self.total = chains * count
        self.left = int(min(MOST_EVALUATIONS, max(LEAST_EVALUATIONS, SHARE * sum(result.evaluations))))
        self.discrete = np.repeat([not s.variable.continuous for s in self.stretches], [s.size for s in self.stretches])

    def logp(self, point: Floats) -> float:
        """The log density at a point; NaN once enough was asked for."""
        self.left -= 1
        if self.left < 0:
            return math.nan
        try:
            return self.density(point)[0]
        except Exception:  # of a Python function of the model: no density there, as in chains
            return -math.inf

    @cached_property
    def divergences(self) -> list[tuple[Floats, Floats]]:
        """Beginnings and ends of some of them, whose numbers are finite."""
        whole = np.flatnonzero(np.isfinite(self.ends).all(axis=1) & np.isfinite(self.begins).all(axis=1))
        some = whole[:: max(1, -(-len(whole) // LOOKED_AT))]
        return [(self.begins[i], self.ends[i]) for i in some]

    @cached_property
    def moves(self) -> list[tuple[Floats, Floats]]:
        """Draws of other chains, and draws that follow each other; discrete coordinates as in the first."""
        found = []
        count = self.chains.shape[1]
        for k in range(4 * LOOKED_AT):
            chain = self.chains[k % len(self.chains)]
            at = (2 * k + 1) * (count - 1) // (8 * LOOKED_AT)
            if at + 1 < count and (chain[at] != chain[at + 1]).any():
                found.append((chain[at], np.where(self.discrete, chain[at], chain[at + 1])))
        last = self.chains[:, -1]  # of chains that stand still, what lies between them tells
        between = [(a, np.where(self.discrete, a, b)) for a, b in pairwise(last) if (a != b).any()]
        return [*between[: LOOKED_AT // 2], *found[: 2 * LOOKED_AT]]

    def responsible(self, differs: Callable[[Floats], bool], inside: Floats, beyond: Floats) -> list[str]:
        """Names of the variables that alone make the difference between two points."""
        found = []
        for s in self.stretches:
            if len(self.stretches) == 1:
                return [s.variable.name]
            point = inside.copy()
            point[s.slice] = beyond[s.slice]
            if (point != inside).any() and differs(point):
                found.append(s.variable.name)
        return found

    @cached_property
    def ranks(self) -> Floats:
        """Mean ranks of the beginnings of divergences among the draws, (coordinate,), in standard errors."""
        if len(self.begins) < FEWEST:
            return np.zeros(len(self.names))
        order = np.sort(self.draws, axis=0)
        some = self.begins[:: max(1, len(self.begins) // 2000)]
        ranks = np.stack([np.searchsorted(order[:, i], some[:, i]) for i in range(order.shape[1])]) / len(order)
        return np.asarray((ranks.mean(axis=1) - 0.5) * math.sqrt(12.0 * len(some)))

    def lowest(self, name: str) -> float:
        """The least rank among the coordinates of a variable, in standard errors."""
        return min((float(self.ranks[s.slice].min()) for s in self.stretches if s.variable.name == name), default=0.0)

    @cached_property
    def levels(self) -> Floats:
        """Log densities of the draws, one after the other; empty where the sampler has none."""
        kept = self.result.statistics.get("lp")
        if kept is None or np.shape(kept) != self.result.draws.shape[:2]:
            return np.empty(0)
        stride = -(-self.result.draws.shape[1] // self.chains.shape[1])
        return np.asarray(kept, float)[:, ::stride].ravel()

    @cached_property
    def low_energy(self) -> bool:
        """Whether a chain moves too slowly between energies."""
        energies = self.result.statistics.get("energy")
        return energies is not None and energy_is_low(list(np.asarray(energies, float)))

    @cached_property
    def far(self) -> Floats:
        """How many standard deviations of a normal core half a percent of the draws lie beyond, (coordinate,)."""
        return np.where(self.discrete, 0.0, np.fmax(*reach(self.draws)))

    @cached_property
    def quotient(self) -> Quotient | None:
        """The symmetries by which chains disagree, where draws are not put into copies at random already."""
        find = self.run.monitored.symmetries
        return None if find is None or self.run.course.quotient is not None else find(self.chains, False)

    @cached_property
    def separate(self) -> npt.NDArray[np.bool_]:
        """Whether chains are in different places, (coordinate,)."""
        middles, widths = np.median(self.chains, axis=1), np.median(self.chains.std(axis=1), axis=0)
        return np.asarray(~self.discrete & (np.ptp(middles, axis=0) > APART * widths))

    def variable(self, coordinate: int) -> Any:
        """The free variable of a coordinate."""
        return next(s.variable for s in self.stretches if s.start <= coordinate < s.start + s.size)

    def title(self, name: str) -> str:
        """The family of a free variable."""
        return next((distribution_of(v.node).title for v in self.model.free if v.name == name), "")

    def upstream(self, nodes: Sequence[Node]) -> list[str]:
        """Names of the free variables that expressions are made of."""
        inside = set(topological(nodes))
        return [v.name for v in self.model.free if v.node in inside]

    @property
    def worst(self) -> tuple[str, ...]:
        """The variable of the scalar that is known least, if it is one."""
        name = self.verdict.worst.partition("[")[0]
        return (name,) if any(v.name == name for v in self.model.free) else ()

    @property
    def place(self) -> str:
        """In words, where divergences are."""
        return describe(self.names, self.draws, self.begins)
