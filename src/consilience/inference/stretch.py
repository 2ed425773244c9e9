"""The affine-invariant ensemble: walkers of one chain that move along the lines through each other.

Goodman & Weare (2010); halves take turns, so that either moves against walkers at rest. Whatever linear map is applied
to the target, acceptance stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from consilience.errors import SamplingError
from consilience.inference.block import Block, Needs
from consilience.inference.columns import Role
from consilience.inference.density import Density, log_density, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Kernel
from consilience.inference.point import Point, start_without_gradient
from consilience.inference.settings import check_number, check_positive
from consilience.inference.streams import STRETCH, WALKERS, normal_vector, purpose_key, two_uniforms, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp, isfinite, log
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

SHORTEST_TURN = 16  # draws that a walker gives in a row, or as many as there are walkers
HALVINGS = 50  # of the distance at which a walker without density begins


@record
class StretchInfo:
    """What happened in one transition.

    `accept`: mean acceptance probability of the walkers that were moved. `accepted`: share of them that moved.
    `walker`: whose position is the draw. `lp`: log density there.
    """

    accept: f64
    accepted: f64
    walker: i64
    lp: f64


@record
class StretchState:
    """What a chain remembers besides the walker that is its draw.

    count: Number of walkers, even.
    positions (Array): f64[count, dimension].
    logps (Array): Log densities, f64[count].
    longest: Greatest factor of a stretch, above 1.
    radius: Standard deviation of the walkers around the starting point.
    """

    count: i64
    positions: Array[f64]
    logps: Array[f64]
    longest: f64
    radius: f64


@record
class StretchScratch:
    """The walkers that were moved: f64[count, dimension] and f64[count], and one position proposed."""

    positions: Array[f64]
    logps: Array[f64]
    position: Array[f64]


@native(rare=True)
def start_stretch(
    point: Point, state: StretchState, scratch: StretchScratch, density: Density, info: StretchInfo
) -> boolean:
    """Put the walkers around the starting point; False if its log density, or one of theirs, is not finite.

    A walker whose log density is not finite begins nearer.
    """
    if not start_without_gradient(point, density):
        return False
    n = point.dimension
    copy(point.position, state.positions, n)
    state.logps[0] = point.logp
    for k in range(1, state.count):
        place = state.positions[k * n :]
        normal_vector(point, WALKERS, k * n, scratch.position)
        distance = state.radius
        state.logps[k] = 0.0
        trial = 0
        while trial == 0 or (trial < HALVINGS and not isfinite(state.logps[k])):
            for i in range(n):
                place[i] = point.position[i] + distance * scratch.position[i]
            state.logps[k] = log_density(density, place)
            distance *= 0.5
            trial += 1
        if not isfinite(state.logps[k]):
            point.logp = state.logps[k]
            return False
    return True


@native
def step_stretch(
    point: Point, state: StretchState, scratch: StretchScratch, density: Density, info: StretchInfo
) -> boolean:
    """Move every other walker along the line through one of the rest; the draw is the one whose turn it is."""
    n = point.dimension
    half = point.transition & 1
    others = state.count >> 1
    key = purpose_key(point.key, STRETCH)
    info.accept = 0.0
    info.accepted = 0.0
    for j in range(others):
        if stopped(density):
            return False
        k = 2 * j + half
        here = state.positions[k * n :]
        first, second = two_uniforms(key, point.transition, 2 * j)
        other = 2 * min(int(first * float(others)), others - 1) + 1 - half
        there = state.positions[other * n :]
        root = 1.0 + (state.longest - 1.0) * second
        stretch = root * root / state.longest
        for i in range(n):
            scratch.position[i] = there[i] + stretch * (here[i] - there[i])
        logp = log_density(density, scratch.position)
        accept = exp(min(0.0, float(n - 1) * log(stretch) + logp - state.logps[k]))
        info.accept += accept / float(others)
        if uniform(key, point.transition, 2 * j + 1) < accept:
            info.accepted += 1.0 / float(others)
            copy(scratch.position, scratch.positions[k * n :], n)
            scratch.logps[k] = logp
        else:
            copy(here, scratch.positions[k * n :], n)
            scratch.logps[k] = state.logps[k]
    if stopped(density):
        return False
    for j in range(others):
        k = 2 * j + half
        copy(scratch.positions[k * n :], state.positions[k * n :], n)
        state.logps[k] = scratch.logps[k]
    info.walker = point.transition // max(state.count, SHORTEST_TURN) % state.count
    copy(state.positions[info.walker * n :], point.position, n)
    point.logp = state.logps[info.walker]
    info.lp = point.logp
    point.transition += 1
    return True


class StretchEnsemble(Kernel):
    """The affine-invariant ensemble of Goodman & Weare (2010), for all variables of a continuous model.

    vars, compiled : ...
    walkers (int): Of each chain, an even number; 2 dimension + 2 by default, and no fewer.
    stretch (float): Greatest factor by which the distance to another walker changes, above 1.
    radius (float): Standard deviation of the walkers around the starting point, positive.
    See DEMetropolis: Differential evolution, whose chains propose by differences of others.

    Notes
    -----
    A transition moves half of a chain's walkers, one evaluation each. The draw is the position of one walker; each has
    its turn of as many draws as there are walkers (at least 16). Were turns shorter, autocorrelation would hide at
    multiples of their number, and effective sample sizes would be overestimated many times. Nothing is tuned, but the
    walkers need time to come from around the starting point to the target: give `tune` accordingly. In more than some
    50 dimensions they mix badly.


    References
    ----------
    Goodman, Weare (2010), Communications in Applied Mathematics and Computational Science 5, 65.

    >>> with pm.Model():
    ...     x = pm.Normal("x", shape=2)
    ...     result = pm.sample(step=pm.StretchEnsemble(), random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    walkers: int | None = None
    stretch: float = 2.0
    radius: float = 0.1

    needs: ClassVar[Needs] = "logp"
    Info: ClassVar[type[Any]] = StretchInfo
    start: ClassVar[Any] = start_stretch
    step: ClassVar[Any] = step_stretch
    roles: ClassVar[Mapping[Role, str]] = {"log density": "lp", "acceptance": "accept"}
    whole: ClassVar[bool] = True

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        check_number("stretch", self.stretch)
        if not 1.0 < self.stretch < np.inf:
            raise SamplingError(f"stretch needs a finite number greater than 1, got {self.stretch}.")
        check_positive("radius", self.radius)
        if self.walkers is not None and (self.walkers < 4 or self.walkers % 2):
            raise SamplingError(f"walkers needs an even number of at least 4, got {self.walkers}.")

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> StretchState:
        """See `Kernel.state`."""
        n = block.dimension
        least = 2 * n + 2
        count = least if self.walkers is None else self.walkers
        if count < least:
            raise SamplingError(f"walkers needs at least 2 dimension + 2, {least} here, got {count}.")
        return StretchState(count, np.zeros(count * n), np.zeros(count), self.stretch, self.radius)

    def scratch(
        self, block: Block, point: Point, state: StretchState, density: Density, vectors: Vectors
    ) -> StretchScratch:
        """See `Kernel.scratch`."""
        return StretchScratch(np.zeros(state.count * block.dimension), np.zeros(state.count), vectors.vector())
