"""Attacks by transitions that leave the posterior as it is: if draws are of it, where they lead is, too.

Chains begin at some of the draws themselves, so that right draws stay right whatever else the posterior has, and
whatever the kernel is worth; a tail that the draws do not have is walked into. One attack moves them in other
coordinates by small steps, another with tempered replicas beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from consilience.estimators.refutation.attack import Allowance, AttackStopped, NotMadeError, Others, by_comparison
from consilience.estimators.refutation.claim import Claim, Floats
from consilience.estimators.refutation.coordinates import RewrittenDraws, own_coordinates, rounder_coordinates
from consilience.estimators.refutation.report import AttackReport
from consilience.inference import ParallelTempering
from consilience.sample.groups import Stop
from consilience.sample.posterior import sample

OTHER_COORDINATES: Final = "chains in other coordinates"
TEMPERED: Final = "tempered chains"
EFFORTS: Final = ((48, 200, 150), (48, 100, 60), (32, 60, 40), (24, 40, 20))  # chains, tuning and draws, as time allows
STEPS: Final = 24  # gradients of a transition, usually
TARGET_ACCEPT: Final = 0.95
LEVELS, MOVES = 8, 5
TEMPERED_EFFORTS: Final = ((16, 600, 600), (16, 300, 200))
WITHOUT_GRADIENT: Final = 0.5  # what an evaluation takes, in gradients
LATE: Final = 1.0  # seconds that a run needs to end by itself
FEWEST_DRAWS: Final = 20  # of each chain; with fewer the time was over too soon


def other_coordinates(claim: Claim, allowance: Allowance) -> AttackReport:
    """NUTS with small steps, hierarchies in the coordinates that suit the draws best."""
    coordinates = rounder_coordinates(claim) or own_coordinates(claim)
    effort = _affordable(claim, allowance, EFFORTS, STEPS)

    def make(number: int) -> Others:
        tree = _run(claim, allowance, coordinates, effort, number, target_accept=TARGET_ACCEPT)
        told = f"{tree.posterior.sizes['chain']} chains that began at draws, {coordinates.told}"
        return Others(claim.scalars_in(tree), told)

    return by_comparison(OTHER_COORDINATES, claim, make)


def tempered(claim: Claim, allowance: Allowance) -> AttackReport:
    """Parallel tempering: replicas of flatter densities carry chains over to where the draws have not been."""
    coordinates = rounder_coordinates(claim) or own_coordinates(claim)
    effort = _affordable(claim, allowance, TEMPERED_EFFORTS, LEVELS * MOVES * WITHOUT_GRADIENT)

    def make(number: int) -> Others:
        kernel = ParallelTempering(levels=LEVELS, moves=MOVES)
        tree = _run(claim, allowance, coordinates, effort, number, step=kernel)
        chains, trips = tree.posterior.sizes["chain"], float(np.asarray(tree.sample_stats["round_trips"]).sum())
        told = f"{chains} tempered chains with {trips:.0f} round trips to the flattest density"

        def doubt() -> str:
            return "they hardly came there and back" if trips < chains else cross_examined(tree, claim, allowance)

        return Others(claim.scalars_in(tree), told, doubt)

    return by_comparison(TEMPERED, claim, make)


def cross_examined(witness: Any, claim: Claim, allowance: Allowance) -> str:
    """In words, why draws that speak against a claim are not to be believed: as chains that begin there lead elsewhere.

    They do not lead from mode to mode, whose weights are left to the witness. Empty where nothing speaks against it.
    """
    try:
        examined = other_coordinates(Claim(witness, claim.model, claim.threads), allowance)
    except (AttackStopped, NotMadeError):
        return "there was no time to examine them"
    return f"chains that begin at these lead elsewhere: {examined.found}" if examined.refuted else ""


def _affordable(
    claim: Claim, allowance: Allowance, efforts: Sequence[tuple[int, int, int]], each: float
) -> tuple[int, int, int]:
    """The greatest effort that the time allows.

    `each`: gradients that a transition of a chain takes. Raises NotMadeError where none is.
    """
    needed = [chains * (tune + count) * each / claim.rate for chains, tune, count in efforts]
    for effort, seconds in zip(efforts, needed, strict=True):
        if seconds < allowance.left:
            return effort
    raise NotMadeError(f"it takes about {needed[-1]:.0f} s, and {allowance.left:.0f} s are left")


def _run(
    claim: Claim, allowance: Allowance, begins: RewrittenDraws, effort: tuple[int, int, int], number: int, **how: Any
) -> Any:
    """A run from draws at random; the second set has twice as many chains.

    Raises Exception: AttackStopped where the time is over before there are draws enough.
    """
    chains, tune, count = effort
    chains *= number + 1
    seed = allowance.seed + number
    flat: Floats = begins.positions.reshape(-1, begins.positions.shape[-1])
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 21]))
    chosen = generator.choice(len(flat), chains, replace=len(flat) < chains)
    points = [begins.density.layout.point(flat[k]) for k in chosen]
    handle = sample(
        count, tune=tune, chains=chains, cores=claim.threads, model=begins.model, initvals=points,
        init="adapt_diag", random_seed=seed, remedies=(), compute_convergence_checks=False, progressbar=False,
        blocking=False, stop=Stop(max_time=max(0.0, allowance.left)), **how,
    )  # fmt: skip
    tree = allowance.waited(handle, late=LATE)
    if tree.posterior.sizes.get("draw", 0) < FEWEST_DRAWS:
        raise AttackStopped
    allowance.gradients += int(tree.posterior.attrs["gradients"])
    return tree
