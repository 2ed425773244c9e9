"""One population of particles on its way from the prior to the posterior: weigh, choose, move.

Particles of the prior in; the same one stage further out, until the power of the likelihood is 1. Sources: P. Del
Moral, A. Doucet, A. Jasra (2006), "Sequential Monte Carlo samplers"; J. Ching, Y.-C. Chen (2007), "Transitional Markov
chain Monte Carlo method"; H.-D. Dau, N. Chopin (2022), "Waste-free sequential Monte Carlo".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.errors import SamplingError
from consilience.estimators.smc.moves import ParticleKernel, shape_of, together
from consilience.estimators.smc.particles import Floats, Particles, TemperedDensity, tempered
from consilience.record import Record

Places = npt.NDArray[np.bool_]

MOST_STAGES: Final = 1000


class Population(Record, eq=False):
    """What one chain has found so far.

    `evidence`: its estimate of the log marginal likelihood up to the last power of the likelihood.
    `betas`: powers of the likelihood, float64[stages].
    `acceptance`: mean probability with which proposals were accepted, and number of moves, of each stage.
    `unsettled`: stages whose moves ended by their greatest number.
    `state`: what the kernel carries from one stage to the next.
    """

    particles: Particles
    evidence: float = 0.0
    betas: tuple[float, ...] = ()
    acceptance: tuple[float, ...] = ()
    moves: tuple[int, ...] = ()
    unsettled: int = 0
    state: tuple[float, ...] = ()

    @property
    def done(self) -> bool:
        """Whether it has come to the posterior."""
        return bool(self.betas) and self.betas[-1] == 1.0

    def plain(self) -> dict[str, Any]:
        """Numbers and arrays, from which `population_from` makes it again."""
        own = {name: getattr(self.particles, name) for name in ("points", "prior", "likelihood")}
        rest = {name: list(getattr(self, name)) for name in ("betas", "acceptance", "moves", "state")}
        return {**own, **rest, "evidence": self.evidence, "unsettled": self.unsettled}


def population_from(plain: Mapping[str, Any]) -> Population:
    """The population that `plain` has taken apart; ValueError or TypeError where it was not that."""
    points, prior, likelihood = (np.asarray(plain[name], dtype=float) for name in ("points", "prior", "likelihood"))
    stages = [plain[name] for name in ("betas", "acceptance", "moves")]
    if points.ndim != 2 or {prior.shape, likelihood.shape} != {points.shape[:1]}:
        raise ValueError(f"particles of the shape {points.shape} with weights of {prior.shape} and {likelihood.shape}")
    if len({len(one) for one in stages}) > 1 or not all(type(x) in (int, float) for one in stages for x in one):
        raise ValueError("its stages are no numbers")
    if type(plain["evidence"]) not in (int, float) or type(plain["unsettled"]) is not int:
        raise TypeError("its evidence is no number")
    return Population(
        Particles(points, prior, likelihood),
        evidence=plain["evidence"],
        unsettled=plain["unsettled"],
        **{name: tuple(plain[name]) for name in ("betas", "acceptance", "moves", "state")},
    )


def numbers(seed: int, chain: int, stage: int) -> np.random.Generator:
    """The random numbers of one stage of one chain."""
    return np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), (chain << 32) + stage + 2000]))


def begun(target: TemperedDensity, points: Floats, seed: int, chain: int, log_share: float = 0.0) -> Population:
    """A population at draws of the prior.

    `log_share`: log of the share of draws that have a density, which the others lower the evidence by. Raises
    SamplingError where no particle explains the data, or one does so infinitely well.
    """
    particles = target.at(points, numbers(seed, chain, 0))
    if not np.isfinite(particles.prior).all():
        raise SamplingError(
            "some draws of the prior have no density: they lie on the border of their support, or are not finite."
        )
    if not (particles.likelihood > -np.inf).any():
        raise SamplingError(
            f"no one of {len(points)} draws of the prior has a likelihood above 0: check the priors against the data, "
            "or take more `draws`."
        )
    return Population(particles, evidence=log_share)


def advanced(
    population: Population, target: TemperedDensity, kernel: ParticleKernel, path: int, seed: int, chain: int
) -> Population:
    """One stage further.

    `path`: places of each particle that are kept, of as many fewer particles; 0 or 1: only where they end. Raises
    SamplingError where particles do not move, or tempering does not end.
    """
    particles, stage = population.particles, len(population.betas) + 1
    generator = numbers(seed, chain, stage)
    beta = population.betas[-1] if population.betas else 0.0
    if (particles.likelihood == np.inf).any():
        raise SamplingError("the log likelihood is infinite at a particle: the data or the potentials are no density.")
    if stage > MOST_STAGES:
        raise SamplingError(
            f"tempering came to the power {beta:.3g} of the likelihood in {MOST_STAGES} stages: this is "
            "far more concentrated than the particles; take more `draws`, or a smaller `threshold`."
        )
    power = next_power(particles.likelihood, beta, kernel.threshold)
    logs = tempered(particles.likelihood, power - beta)
    highest = logs.max()
    weights = np.exp(logs - highest)
    evidence = population.evidence + float(highest + np.log(weights.mean()))
    weights /= weights.sum()
    count = len(weights) // path if path > 1 else len(weights)
    places = systematic(weights, count, generator)
    dimension = particles.points.shape[1]
    parts = []
    for own, others in _halves(weights, dimension):
        chosen = particles.chosen(places[own[places]])
        if len(chosen.points):
            shape = shape_of(particles.points[others], weights[others] / weights[others].sum())
            parts.append(
                kernel.moved(chosen, shape, power, target, generator, population.state, path if path > 1 else 0)
            )
    moved = together(parts)
    distinct = len(np.unique(moved.particles.points, axis=0))
    if moved.accepted == 0.0 or distinct <= dimension:
        raise SamplingError(
            f"tempering stalled at the power {power:.3g} of the likelihood: {moved.moves} moves, accepted with "
            f"probability {moved.accepted:.2g}, leave {distinct} different particles in {dimension} dimensions. "
            "Take more `draws`, or another kernel: pm.smc.MH, or pm.smc.HMC where there are gradients."
        )
    return Population(
        moved.particles,
        evidence,
        (*population.betas, power),
        (*population.acceptance, moved.accepted),
        (*population.moves, moved.moves),
        population.unsettled + (not moved.ended),
        moved.state,
    )


def _halves(weights: Floats, dimension: int) -> list[tuple[Places, Places]]:
    """Which particles move together, and which others tell their covariance: the other half, if it can.

    Particles that told their own would be too probable under it, and evidences wrong by about the square of the
    dimension over the number of particles. Resampling keeps the order, so that halves have few ancestors in common.
    """
    first = np.arange(len(weights)) < len(weights) // 2
    effective = [weights[half].sum() ** 2 / max((weights[half] ** 2).sum(), 1e-300) for half in (first, ~first)]
    if min(effective) <= 2 * dimension:
        every = np.ones(len(weights), bool)
        return [(every, every)]
    return [(first, ~first), (~first, first)]


def systematic(weights: Floats, count: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """Places of particles in proportion to weights, whose sum is 1, in ascending order."""
    places = np.searchsorted(np.cumsum(weights), (np.arange(count) + generator.random()) / count)
    return np.minimum(places, len(weights) - 1)


def effective_share(logs: Floats) -> float:
    """The effective number of particles, of weights given as logs, over their number; 0 where all weights are 0."""
    if np.isneginf(logs).all():
        return 0.0
    weights = np.exp(logs - logs.max())
    return float(weights.sum() ** 2 / (weights**2).sum() / len(weights))


def next_power(likelihood: Floats, beta: float, threshold: float) -> float:
    """The power at which so large a share of the particles stays effective, by bisection."""
    wanted = threshold * np.isfinite(likelihood).mean()

    def share(power: float) -> float:
        return effective_share(tempered(likelihood, power - beta))

    if share(1.0) >= wanted:
        return 1.0
    low, high = beta, 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if share(middle) >= wanted else (low, middle)
    return low if low > beta else high
