"""Random-walk Metropolis (1953) of one coordinate after the other, or of all together with a covariance.

No gradient is needed. While tuning, the scale of each coordinate's proposals follows its share of accepted ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from consilience.errors import SamplingError
from consilience.inference.block import Block, Needs
from consilience.inference.columns import Role
from consilience.inference.density import Density, log_density, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Kernel
from consilience.inference.messages import ChainTuning
from consilience.inference.metric import diagonal
from consilience.inference.point import Point, start_without_gradient
from consilience.inference.settings import check_positive
from consilience.inference.streams import ACCEPTANCE, PROPOSAL, counter, normal_vector, purpose_key, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp, floor, inf, log, tan
from consilience.native.random.continuous import random_normal
from consilience.native.random.discrete import random_poisson
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

PROPOSALS: Final = ("normal", "cauchy", "laplace", "uniform", "poisson", "multivariate_normal")
TOGETHER = 5  # the place of "multivariate_normal"
HALF_TURN = 3.141592653589793


@record
class MetropolisInfo:
    """What happened in one transition, under PyMC's names.

    `accept`: mean probability of acceptance over the proposals. `accepted`: share of the proposals that were accepted.
    `scaling`: mean factor on the steps that was used. `lp`: log density of the new state.
    """

    accept: f64
    accepted: f64
    scaling: f64
    lp: f64


@record
class MetropolisState:
    """What a chain remembers besides where it is.

    scales (Array): Factor on the steps of each coordinate, positive, f64[dimension]; tuned.
    proposals, successes (Array): Moves proposed and accepted since its scale was last changed, i64[dimension].
    tune: Number of tuning transitions.
    interval: Moves proposed between two changes of a scale.
    """

    scales: Array[f64]
    proposals: Array[i64]
    successes: Array[i64]
    tune: i64
    interval: i64


@record
class MetropolisScratch:
    """Memory of a transition, and what the coordinates are.

    position, normals (Array): The point proposed, and standard normals, f64[dimension].
    outcome (Array): Of each proposal: 1 accepted, 0 refused, -1 the point itself, i64[dimension].
    proposal: Place of its kind in `PROPOSALS`.
    steps (Array): Size of a step for scale 1, f64[dimension].
    factor (Array): Lower Cholesky factor of the steps' covariance where all move together.
    discrete, lower, upper (Array): Of the block, [dimension].
    """

    position: Array[f64]
    normals: Array[f64]
    outcome: Array[i64]
    proposal: i64
    steps: Array[f64]
    factor: Array[f64]
    discrete: Array[i64]
    lower: Array[f64]
    upper: Array[f64]


@native
def rescaling(rate: f64) -> f64:
    """Factor for the scale, given the share of accepted proposals; between 20 and 50 % it is left alone."""
    if rate < 0.001:
        return 0.1
    if rate < 0.05:
        return 0.5
    if rate < 0.2:
        return 0.9
    if rate > 0.95:
        return 10.0
    if rate > 0.75:
        return 2.0
    if rate > 0.5:
        return 1.1
    return 1.0


@native
def standard_step(key: i64, transition: i64, block: i64, proposal: i64, size: f64) -> f64:
    """A step of the size `size`, symmetric around 0; "poisson" is the difference of two numbers of that rate."""
    place = counter(transition, 2 * block)
    if proposal == 0:
        return size * random_normal(key, place)
    if proposal == 4:
        return float(random_poisson(key, place, size)) - float(random_poisson(key, place + 1, size))
    u = uniform(key, transition, 2 * block)
    if proposal == 1:
        return size * tan(HALF_TURN * (u - 0.5))
    if proposal == 2:
        return size * log(2.0 * u) if u < 0.5 else -size * log(2.0 * (1.0 - u))
    return size * (2.0 * u - 1.0)


@native
def propose(point: Point, state: MetropolisState, scratch: MetropolisScratch, first: i64, last: i64) -> boolean:
    """Move the coordinates from `first` to `last` of the proposal; False if it is out of bounds."""
    n = point.dimension
    key = purpose_key(point.key, PROPOSAL)
    allowed = True
    for i in range(first, last):
        step = 0.0
        if scratch.proposal == TOGETHER:
            for j in range(i + 1):
                step += scratch.factor[i * n + j] * scratch.normals[j]
            step *= state.scales[0]
        else:
            step = standard_step(key, point.transition, i, scratch.proposal, state.scales[i] * scratch.steps[i])
        if scratch.discrete[i] == 1:
            step = floor(step + 0.5)
        scratch.position[i] += step
        allowed = allowed and scratch.lower[i] <= scratch.position[i] <= scratch.upper[i]
    return allowed


@native
def tune_scales(state: MetropolisState, scratch: MetropolisScratch, count: i64) -> None:
    """Change the scale of each coordinate that has made `interval` proposals; whole numbers keep moving."""
    for i in range(count):
        if scratch.outcome[i] >= 0:
            state.proposals[i] += 1
            state.successes[i] += scratch.outcome[i]
        if state.proposals[i] == state.interval:
            state.scales[i] *= rescaling(float(state.successes[i]) / float(state.proposals[i]))
            if scratch.discrete[i] == 1:
                state.scales[i] = max(state.scales[i], 0.5 / scratch.steps[i])
            state.proposals[i] = 0
            state.successes[i] = 0


@native(rare=True)
def start_metropolis(
    point: Point, state: MetropolisState, scratch: MetropolisScratch, density: Density, info: MetropolisInfo
) -> boolean:
    """Evaluate the starting point; False if its log density is not finite."""
    return start_without_gradient(point, density)


@native
def step_metropolis(
    point: Point, state: MetropolisState, scratch: MetropolisScratch, density: Density, info: MetropolisInfo
) -> boolean:
    """Propose a step of each coordinate in turn, or of all together, and accept it or not."""
    n = point.dimension
    together = scratch.proposal == TOGETHER
    count = 1 if together else n
    key = purpose_key(point.key, ACCEPTANCE)
    copy(point.position, scratch.position, n)
    if together:
        normal_vector(point, PROPOSAL, 0, scratch.normals)
    logp = point.logp
    info.accept = 0.0
    info.accepted = 0.0
    info.scaling = 0.0
    for i in range(count):
        last = n if together else i + 1
        allowed = propose(point, state, scratch, i, last)
        moved = False
        for j in range(i, last):
            moved = moved or scratch.position[j] != point.position[j]
        proposed = -inf
        if not moved:
            proposed = logp
        elif allowed:
            proposed = log_density(density, scratch.position)
        if stopped(density):
            return False
        accept = exp(min(0.0, proposed - logp))
        accepted = uniform(key, point.transition, i) < accept
        scratch.outcome[i] = -1
        if accepted:
            logp = proposed
            info.accepted += 1.0
        else:
            copy(point.position[i:], scratch.position[i:], last - i)
        if moved:
            scratch.outcome[i] = 1 if accepted else 0
        info.accept += accept
        info.scaling += state.scales[i]
    info.accept /= float(count)
    info.accepted /= float(count)
    info.scaling /= float(count)
    copy(scratch.position, point.position, n)
    point.logp = logp
    info.lp = logp
    point.transition += 1
    if point.transition <= state.tune:
        tune_scales(state, scratch, count)
    return True


class Metropolis(Kernel):
    """Random-walk Metropolis for continuous and integer variables.

    It moves one coordinate after the other, each with its own scale. It needs no gradient, but many more draws than
    NUTS.

    vars, compiled : ...
    S: Size of a step for scaling 1: one number for all coordinates, one for each, or, for "multivariate_normal", the
        covariance of a step of all, float64 (coordinate, coordinate).
    proposal_dist (str): One of `PROPOSALS`; by default "normal", with a matrix S "multivariate_normal". "poisson" is
        the difference of two Poisson numbers of rate S, as proposals are symmetric.
    scaling (float): Factor on the steps at the beginning, positive.
    tune (bool): Whether scales are tuned in the tuning transitions.
    tune_interval (int): Proposals between two changes of a scale, at least 1.
    See AdaptiveMetropolis: Metropolis with normal proposals of the covariance of the chain so far.
    See Slice: Slice sampling of each coordinate in turn.

    Notes
    -----
    Steps of whole numbers are rounded; proposals outside their bounds are refused.

    >>> with pm.Model():
    ...     k = pm.Poisson("k", 3.0)
    ...     step = pm.Metropolis([k])
    >>> type(step).__name__
    'Metropolis'
    """

    S: Any = None
    proposal_dist: str | None = None
    scaling: float = 1.0
    tune: bool = True
    tune_interval: int = 100

    needs: ClassVar[Needs] = "logp"
    jumping: ClassVar[bool] = True
    Info: ClassVar[type[Any]] = MetropolisInfo
    start: ClassVar[Any] = start_metropolis
    step: ClassVar[Any] = step_metropolis
    roles: ClassVar[Mapping[Role, str]] = {"log density": "lp", "acceptance": "accept", "step size": "scaling"}
    discrete: ClassVar[bool] = True

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        check_positive("scaling", self.scaling)
        if self.proposal_dist not in (None, *PROPOSALS):
            raise SamplingError(f"proposal_dist needs one of {', '.join(PROPOSALS)}, got {self.proposal_dist!r}.")
        if self.tune_interval < 1:
            raise SamplingError(f"tune_interval needs an integer of at least 1, got {self.tune_interval}.")
        sizes = np.asarray(1.0 if self.S is None else self.S, dtype=np.float64)
        if sizes.ndim == 2:
            if self.proposal_dist not in (None, "multivariate_normal"):
                raise SamplingError(f"S needs one number per coordinate for {self.proposal_dist!r}, got a matrix.")
            square = sizes.shape[0] == sizes.shape[1] and np.allclose(sizes, sizes.T)
            if not square or not np.linalg.eigvalsh(sizes).min(initial=1.0) > 0.0:
                raise SamplingError("S needs a symmetric positive definite matrix, got another one.")
        elif sizes.ndim > 2 or not (np.isfinite(sizes) & (sizes > 0.0)).all():
            raise SamplingError(f"S needs finite numbers greater than 0, got {self.S!r}.")

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> MetropolisState:
        """See `Kernel.state`."""
        n = block.dimension
        shape = np.shape(1.0 if self.S is None else self.S)
        if shape not in ((), (n,), (n, n)):
            raise SamplingError(f"S needs one number, or {n} for each coordinate, got the shape {shape}.")
        scales = vectors.vector(self.scaling)
        proposals, successes = (np.zeros(n, np.int64) for _ in range(2))
        return MetropolisState(scales, proposals, successes, tune if self.tune else 0, self.tune_interval)

    def scratch(
        self, block: Block, point: Point, state: MetropolisState, density: Density, vectors: Vectors
    ) -> MetropolisScratch:
        """See `Kernel.scratch`."""
        n = block.dimension
        sizes = np.asarray(1.0 if self.S is None else self.S, dtype=np.float64)
        together = sizes.ndim == 2 or self.proposal_dist == "multivariate_normal"
        kind = "multivariate_normal" if together else self.proposal_dist or "normal"
        factor = np.linalg.cholesky(sizes) if sizes.ndim == 2 else np.diag(np.broadcast_to(sizes, n))
        return MetropolisScratch(
            vectors.vector(),
            vectors.vector(),
            np.zeros(n, np.int64),
            PROPOSALS.index(kind),
            vectors.vector(np.diag(factor)),
            np.array(factor, np.float64).reshape(-1) if together else np.zeros(1),
            np.array(block.discrete, np.int64),
            np.array(block.lower),
            np.array(block.upper),
        )

    def learnt(self, state: MetropolisState) -> ChainTuning:
        """Mean scale and variances of the proposals as they are now."""
        scales = np.asarray(state.scales)
        sizes = np.asarray(1.0 if self.S is None else self.S, dtype=np.float64)
        steps = np.sqrt(np.diag(sizes)) * scales[0] if sizes.ndim == 2 else sizes * scales
        return ChainTuning(float(scales.mean()), diagonal(steps**2))
