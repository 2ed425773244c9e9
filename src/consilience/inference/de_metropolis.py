"""Differential evolution across the chains of a run, one transition: state in, state out; and how chains are told.

ter Braak (2006). A tuner hands the past points of all chains to each of them at fixed transitions, so that neither
threads nor their timing have a part in the draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from consilience.errors import SamplingError
from consilience.inference.archive import past_points
from consilience.inference.block import Block, Needs
from consilience.inference.columns import Role
from consilience.inference.density import Density, log_density, stopped
from consilience.inference.differential_evolution import (
    DEInfo,
    DEProposal,
    Tuned,
    check_proposal,
    decide,
    new_proposal,
    propose,
)
from consilience.inference.kernel import Kernel
from consilience.inference.messages import Command, Matrix, Segment, Window
from consilience.inference.point import Point, start_without_gradient
from consilience.inference.self_tuning import SelfTuning
from consilience.inference.tuner import TuningSetting, Windows
from consilience.inference.vectors import Vectors
from consilience.native.typed_python import Array, boolean, f64, i64, native, record
from consilience.native.typed_python.records import release
from consilience.record import Record

FIRST = 10  # transitions around the starting points: the first past points


class DEMetropolisCommand(Record, eq=False):
    """What the tuner tells a chain between two windows.

    `archive`: past points of all chains, float64 (point, coordinate). `sample`: whether tuning is over.
    """

    archive: Matrix
    sample: bool = False


@record
class DEMetropolisState:
    """What a chain remembers besides where it is.

    archive (Array): Past points of all chains, f64[points, dimension].
    tune: Number of tuning transitions.
    """

    proposal: DEProposal
    archive: Array[f64]
    points: i64
    tune: i64


@record
class DEMetropolisScratch:
    """The point proposed, f64[dimension]."""

    position: Array[f64]


@native
def start_de_metropolis(
    point: Point, state: DEMetropolisState, scratch: DEMetropolisScratch, density: Density, info: DEInfo
) -> boolean:
    """Evaluate the starting point; False if its log density is not finite."""
    return start_without_gradient(point, density)


@native
def step_de_metropolis(
    point: Point, state: DEMetropolisState, scratch: DEMetropolisScratch, density: Density, info: DEInfo
) -> boolean:
    """Propose a point, and accept it or not."""
    if stopped(density):
        return False
    propose(point, state.proposal, state.archive, state.points, scratch.position)
    logp = log_density(density, scratch.position)
    decide(point, state.proposal, scratch.position, logp, 0.0, state.tune, info)
    return True


class DEMetropolis(Kernel):
    """Differential evolution across chains (ter Braak 2006), for continuous variables and at least three chains.

    vars, compiled : ...
    lamb (float): Factor on the difference of two past points, positive; 2.38 / sqrt(2 dimension) by default.
    scaling (float): Half width of the uniform perturbation of each coordinate, positive.
    tune (Tuned): What is tuned: "lambda", "scaling", or None for nothing.
    tune_interval (int): Transitions between two changes, at least 1.
    interval (int): Transitions after which the chains are given each other's points anew, at least 1.
    See DEMetropolisZ: With one chain's own history.

    Notes
    -----
    The points are at most 1000 of all that the chains have passed since the middle of tuning. PyMC takes those where
    the other chains are now, which would bind chains to each other after every transition.


    References
    ----------
    Ter Braak (2006), Statistics and Computing 16, 239.

    >>> with pm.Model():
    ...     x = pm.Normal("x", shape=2)
    ...     result = pm.sample(step=pm.DEMetropolis(), random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    lamb: float | None = None
    scaling: float = 0.001
    tune: Tuned = "scaling"
    tune_interval: int = 100
    interval: int = 50

    needs: ClassVar[Needs] = "logp"
    jumping: ClassVar[bool] = True
    jumps: ClassVar[int] = 0  # by differences, which its own transitions are
    Info: ClassVar[type[Any]] = DEInfo
    start: ClassVar[Any] = start_de_metropolis
    step: ClassVar[Any] = step_de_metropolis
    roles: ClassVar[Mapping[Role, str]] = {"log density": "lp", "acceptance": "accept", "step size": "lamb"}
    fewest_chains: ClassVar[int] = 3

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        check_proposal(self.lamb, self.scaling, self.tune, self.tune_interval)
        if self.interval < 1:
            raise SamplingError(f"interval needs an integer of at least 1, got {self.interval}.")

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> DEMetropolisState:
        """See `Kernel.state`."""
        proposal = new_proposal(self.lamb, self.scaling, self.tune, self.tune_interval, block.dimension)
        return DEMetropolisState(proposal, np.zeros(1), 0, tune)

    def scratch(
        self, block: Block, point: Point, state: DEMetropolisState, density: Density, vectors: Vectors
    ) -> DEMetropolisScratch:
        """See `Kernel.scratch`."""
        return DEMetropolisScratch(vectors.vector())

    def apply(self, point: Point, state: DEMetropolisState, command: Command) -> bool:
        """Take in a `DEMetropolisCommand`."""
        if not isinstance(command, DEMetropolisCommand):
            raise SamplingError(f"chains of DEMetropolis take a DEMetropolisCommand, got {command!r}.")
        state.archive = np.append(command.archive, 0.0)  # one more number, for an archive without points
        state.points = len(command.archive)
        release(state)
        return super().apply(point, state, "sample") if command.sample else False

    def tuner(self, setting: TuningSetting) -> PopulationTuner:
        """Chains are given each other's points."""
        return PopulationTuner(setting, self.interval)


class PopulationTuner(SelfTuning):
    """Chains tune each by itself, and are given the past points of all: see `tuner.Tuner`.

    Points come from the later half of tuning so far, and from all of sampling.
    """

    def __init__(self, setting: TuningSetting, interval: int) -> None:
        super().__init__(setting)
        self.dimension = setting.dimension
        self.every = interval
        self.points: list[Matrix] = []  # of each segment of tuning, (transition, chain, coordinate)

    @property
    def interval(self) -> int:  # type: ignore[override]  # others never need a command
        """See `tuner.Tuner`."""
        return self.every

    def next(self) -> Segment:
        """What the chains do next."""
        count = self.every - self.done % self.every
        if not self.done:
            count = min(FIRST, count)
        commands = (DEMetropolisCommand(self._earlier()),) * self.chains if self.begun else ()
        return Segment("tuning", min(count, self.length - self.done), commands, begin=not self.begun)

    def take(self, windows: Mapping[int, Window]) -> None:
        """Keep the draws, those of lost chains missing."""
        super().take(windows)
        self.points.append(np.stack([windows[c].draws for c in sorted(windows)], axis=1))

    def _earlier(self) -> Matrix:
        """The points of the later half of tuning, float64 (point, coordinate)."""
        skipped = self.done // 2
        kept = []
        for points in self.points:
            kept.append(points[skipped:].reshape(-1, self.dimension))
            skipped = max(0, skipped - len(points))
        return past_points(np.concatenate(kept) if kept else None, (), self.dimension)

    def sample(self) -> tuple[Command, ...]:
        """Tuning is over."""
        return (DEMetropolisCommand(self._earlier(), sample=True),) * self.chains

    def between(self, windows: Windows) -> tuple[Command, ...]:
        """The points of tuning and those of sampling."""
        return (DEMetropolisCommand(past_points(self._earlier(), windows, self.dimension)),) * self.chains

    def save(self) -> dict[str, Any]:
        """Its state as numbers and arrays."""
        return {**super().save(), "points": list(self.points)}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that was saved."""
        super().load(state)
        self.points = list(state["points"])
