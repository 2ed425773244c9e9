"""Attacks by transitions that leave the posterior as it is: if draws are of it, where they lead is, too.

Chains begin at some of the draws themselves, so that right draws stay right whatever else the posterior has, and
whatever the kernel is worth; a tail that the draws do not have is walked into. One attack moves them in other
coordinates by small steps, another with tempered replicas beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from consilience.estimators.refutation.attack import Allowance, NotMadeError, Others, Stopped, by_comparison
from consilience.estimators.refutation.claim import Claim, Floats
from consilience.estimators.refutation.coordinates import Coordinates, own_coordinates, rounder_coordinates
from consilience.estimators.refutation.report import Attempt
from consilience.inference import ParallelTempering
from consilience.sample.groups import Stop
from consilience.sample.posterior import sample

OTHER_COORDINATES: Final = "chains in other coordinates"
TEMPERED: Final = "tempered chains"
CHAINS: Final = 48
TRANSITIONS: Final = ((200, 150), (100, 60), (50, 25))  # of tuning and after it, as time allows
STEPS: Final = 24  # gradients of a transition, usually
TARGET_ACCEPT: Final = 0.95
LATE: Final = 5.0  # seconds that a run needs to end by itself
FEWEST_DRAWS: Final = 20  # of each chain; with fewer the time was over too soon
SLACK: Final = 2.0  # a run that may take so many times as long as there is time is begun
LEVELS, MOVES = 8, 5
TEMPERED_CHAINS: Final = 16
TEMPERED_TRANSITIONS: Final = ((600, 600), (300, 200))


def other_coordinates(claim: Claim, allowance: Allowance) -> Attempt:
    """NUTS with small steps, hierarchies in the coordinates that suit the draws best."""
    rounder = rounder_coordinates(claim)
    coordinates = rounder or own_coordinates(claim)
    tune, count = _affordable(claim, allowance, TRANSITIONS, 2.5 * CHAINS * STEPS)

    def make(number: int) -> Others:
        chains = CHAINS * (number + 1)
        tree = allowance.waited(
            sample(
                count, tune=tune, chains=chains, target_accept=TARGET_ACCEPT,
                **_beginnings(claim, coordinates, chains, allowance.seed + number), **_quiet(allowance),
            ),  # fmt: skip
            late=LATE,
        )
        if tree.posterior.sizes["draw"] < FEWEST_DRAWS:
            raise Stopped
        allowance.gradients += int(tree.posterior.attrs["gradients"])
        return Others(claim.scalars_in(tree), f"{chains} chains that began at draws, {coordinates.told}")

    return by_comparison(OTHER_COORDINATES, claim, make)


def tempered(claim: Claim, allowance: Allowance) -> Attempt:
    """Parallel tempering: replicas of flatter densities carry chains over to where the draws have not been."""
    coordinates = own_coordinates(claim)
    tune, count = _affordable(claim, allowance, TEMPERED_TRANSITIONS, 2.5 * TEMPERED_CHAINS * LEVELS * MOVES * 0.5)

    def make(number: int) -> Others:
        chains = TEMPERED_CHAINS * (number + 1)
        tree = allowance.waited(
            sample(
                count, tune=tune, chains=chains, step=ParallelTempering(levels=LEVELS, moves=MOVES),
                **_beginnings(claim, coordinates, chains, allowance.seed + number), **_quiet(allowance),
            ),  # fmt: skip
            late=LATE,
        )
        if tree.posterior.sizes["draw"] < FEWEST_DRAWS:
            raise Stopped
        allowance.gradients += int(tree.posterior.attrs["gradients"])
        trips = float(np.asarray(tree.sample_stats["round_trips"]).sum())
        told = f"{chains} tempered chains with {trips:.0f} round trips to the flattest density"
        return Others(claim.scalars_in(tree), told, "" if trips >= chains else "they hardly came there and back")

    return by_comparison(TEMPERED, claim, make)


def _affordable(
    claim: Claim, allowance: Allowance, lengths: Sequence[tuple[int, int]], each: float
) -> tuple[int, int]:
    """The longest run that the time allows.

    each     gradients that a transition of all chains takes, of both sets of draws
    raises   NotMadeError where none is
    """
    rate = SLACK * claim.rate
    for tune, count in lengths:
        if (tune + count) * each / rate < allowance.left:
            return tune, count
    least = sum(lengths[-1]) * each / rate
    raise NotMadeError(f"it takes about {least:.0f} s, and {allowance.left:.0f} s are left")


def _beginnings(claim: Claim, coordinates: Coordinates, chains: int, seed: int) -> dict[str, Any]:
    """Arguments of `sample`: the model, and draws at random as starting values on the unconstrained scale."""
    flat: Floats = coordinates.positions.reshape(-1, coordinates.positions.shape[-1])
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 21]))
    chosen = generator.choice(len(flat), chains, replace=len(flat) < chains)
    points = [coordinates.density.layout.point(flat[k]) for k in chosen]
    return {"model": coordinates.model, "initvals": points, "init": "adapt_diag", "random_seed": seed}


def _quiet(allowance: Allowance) -> dict[str, Any]:
    return {
        "remedies": (), "progressbar": False, "compute_convergence_checks": False, "blocking": False,
        "stop": Stop(max_time=max(0.0, allowance.left)),
    }  # fmt: skip
