"""Differential evolution: Metropolis proposals along the difference of two past points (ter Braak 2006).

x + lamb (a - b) + epsilon is symmetric while the points stay as they are. Whose points they are is what
`DEMetropolis` and `DEMetropolisZ` differ in.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from consilience.errors import SamplingError
from consilience.inference.archive import pair
from consilience.inference.hamiltonian import copy
from consilience.inference.metropolis import rescaling
from consilience.inference.point import Point
from consilience.inference.settings import check_positive
from consilience.inference.streams import ACCEPTANCE, DIFFERENCE, PERTURBATION, purpose_key, two_uniforms, uniform
from consilience.native.mathematics import exp, sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

Tuned = Literal["lambda", "scaling"] | None
SHORTENING: Final = 2.38  # / sqrt(2 dimension): the best factor for a normal target
LAMBDA = 1  # what is tuned, as native code sees it
SCALING = 2


@record
class DEInfo:
    """What happened in one transition, under PyMC's names.

    `accept`: min(1, density at the proposal / density at the start), for snooker updates with their Jacobian.
    `accepted`: whether the proposal is the new state.
    `scaling`: half width of the perturbation that was used.
    `lamb`: factor on the difference that was used.
    `lp`: log density of the new state.
    """

    accept: f64
    accepted: boolean
    scaling: f64
    lamb: f64
    lp: f64


@record
class DEProposal:
    """How far proposals go, and what is learnt of it while tuning.

    lamb, scaling: Factor on the difference, and half width of the perturbation.
    tuned: `LAMBDA`, `SCALING`, or 0.
    interval: Proposals between two changes.
    proposals, successes: Proposals made and accepted since the last change.
    """

    lamb: f64
    scaling: f64
    tuned: i64
    interval: i64
    proposals: i64
    successes: i64


def new_proposal(lamb: float | None, scaling: float, tuned: Tuned, interval: int, dimension: int) -> DEProposal:
    """As it is before the first transition."""
    factor = SHORTENING / (2.0 * dimension) ** 0.5 if lamb is None else lamb
    return DEProposal(factor, scaling, {"lambda": LAMBDA, "scaling": SCALING, None: 0}[tuned], interval, 0, 0)


def check_proposal(lamb: float | None, scaling: float, tuned: Tuned, interval: int) -> None:
    """Raise SamplingError for settings out of range."""
    if lamb is not None:
        check_positive("lamb", lamb)
    check_positive("scaling", scaling)
    if tuned is not None and tuned not in get_args(get_args(Tuned)[0]):
        raise SamplingError(f"`tune` must be 'lambda', 'scaling' or None, got {tuned!r}.")
    if interval < 1:
        raise SamplingError(f"tune_interval needs an integer of at least 1, got {interval}.")


@native
def perturb(point: Point, scaling: f64, target: Array[f64]) -> None:
    """target += numbers uniform on (-scaling, scaling)."""
    n = point.dimension
    key = purpose_key(point.key, PERTURBATION)
    for k in range((n + 1) >> 1):
        first, second = two_uniforms(key, point.transition, k)
        target[2 * k] += scaling * (2.0 * first - 1.0)
        if 2 * k + 1 < n:
            target[2 * k + 1] += scaling * (2.0 * second - 1.0)


@native
def propose(point: Point, proposal: DEProposal, rows: Array[f64], points: i64, target: Array[f64]) -> None:
    """target = the point moved along a difference of two of the rows f64[points, dimension], and perturbed.

    Where there are fewer than two it is perturbed only.
    """
    n = point.dimension
    copy(point.position, target, n)
    if points >= 2:
        first, second = two_uniforms(purpose_key(point.key, DIFFERENCE), point.transition, 0)
        a, b = pair(points, first, second)
        end = rows[a * n :]
        begin = rows[b * n :]
        for i in range(n):
            target[i] += proposal.lamb * (end[i] - begin[i])
    perturb(point, proposal.scaling, target)


@native
def decide(
    point: Point, proposal: DEProposal, position: Array[f64], logp: f64, factor: f64, tune: i64, info: DEInfo
) -> None:
    """Accept a proposed position or not, end the transition, and learn from it.

    `factor`: logarithm of what the ratio of densities is multiplied with. `tune`: number of tuning transitions.
    """
    info.scaling = proposal.scaling
    info.lamb = proposal.lamb
    info.accept = exp(min(0.0, logp - point.logp + factor))
    info.accepted = uniform(purpose_key(point.key, ACCEPTANCE), point.transition, 0) < info.accept
    proposal.proposals += 1
    if info.accepted:
        copy(position, point.position, point.dimension)
        point.logp = logp
        proposal.successes += 1
    info.lp = point.logp
    point.transition += 1
    if point.transition <= tune and proposal.proposals >= proposal.interval:
        change = rescaling(float(proposal.successes) / float(proposal.proposals))
        if proposal.tuned == LAMBDA:
            proposal.lamb *= change
        elif proposal.tuned == SCALING:
            proposal.scaling *= change
        proposal.proposals = 0
        proposal.successes = 0


@native
def distance(a: Array[f64], b: Array[f64], dimension: i64) -> f64:
    """Euclidean distance."""
    total = 0.0
    for i in range(dimension):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return sqrt(total)
