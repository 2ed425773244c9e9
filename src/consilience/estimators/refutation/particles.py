"""An attack by sequential Monte Carlo: particles from the prior, in populations whose differences tell their error."""

from __future__ import annotations

from typing import Final

import numpy as np

from consilience.errors import ConsilienceError
from consilience.estimators.refutation.attack import Allowance, NotMadeError, Others, by_comparison, quietly
from consilience.estimators.refutation.claim import Claim
from consilience.estimators.refutation.coordinates import own_coordinates, rounder_coordinates
from consilience.estimators.refutation.report import Attempt
from consilience.estimators.smc.bridge import log_marginal_likelihood
from consilience.estimators.smc.sampling import LEAST_EFFECTIVE, sample_smc
from consilience.record import replace
from consilience.sample.inference_data import to_inference_data

NAME: Final = "sequential Monte Carlo"
POPULATIONS: Final = 8
FEWEST: Final = 600  # particles of each
MOST_DIMENSIONS: Final = 100
SLACK: Final = 2.0  # a run that may take so many times as long as there is time is begun
COST: Final = 600.0  # evaluations that a particle takes, usually: temperatures times moves


def sequential_monte_carlo(claim: Claim, allowance: Allowance) -> Attempt | None:
    """Populations of particles against the draws. They refute only where they hold as much mass as the draws do.

    None without data, where particles would be the draws of the prior.
    """
    if not claim.model.observed and not claim.model.named_potentials:
        return None
    dimension = claim.density.dimension
    if dimension > MOST_DIMENSIONS:
        raise NotMadeError(f"the model has {dimension} coordinates, and particles are good for {MOST_DIMENSIONS}")
    particles = max(FEWEST, int(2 * LEAST_EFFECTIVE * dimension))
    needed = POPULATIONS * particles * COST / (SLACK * claim.rate)
    if needed > allowance.left:
        raise NotMadeError(f"it takes about {needed:.0f} s, and {allowance.left:.0f} s are left")
    coordinates = rounder_coordinates(claim) or own_coordinates(claim)
    evidences: list[tuple[float, float]] = []

    def make(number: int) -> Others:
        draws = particles * (number + 1)
        tree = allowance.waited(
            sample_smc(
                draws, model=coordinates.model, chains=POPULATIONS, random_seed=allowance.seed + number,
                compute_convergence_checks=False, progressbar=False, blocking=False,
            )  # fmt: skip
        )
        about = tree.posterior.attrs
        allowance.gradients += int(np.nansum(np.asarray(tree.sample_stats["moves"]))) * draws
        evidences.append((about["log_marginal_likelihood"], about["log_marginal_likelihood_error"]))
        told = f"{POPULATIONS} populations of {draws} particles"
        return Others(claim.scalars_in(tree), told, _doubt(claim, *evidences[-1]))

    attempt = by_comparison(NAME, claim, make)
    value, error = evidences[-1]
    return replace(attempt, found=f"{attempt.found}; log evidence {value:.2f} ± {error:.2g}")


def _doubt(claim: Claim, evidence: float, error: float) -> str:
    """Why the particles may be what is wrong: draws with more mass than theirs; empty where there is no such reason."""
    try:
        tree = to_inference_data(dict(claim.values), model=claim.model)
        of_draws = quietly(lambda: log_marginal_likelihood(tree, model=claim.model, random_seed=0))
    except ConsilienceError:
        return ""  # nothing is known of the mass that the draws stand for
    if of_draws.value - evidence > 3.0 * np.hypot(of_draws.error, error) + 0.1:
        return (
            f"the draws stand for more mass (log evidence {of_draws.value:.2f} ± {of_draws.error:.2g}) than the "
            f"particles ({evidence:.2f} ± {error:.2g}), which have missed some"
        )
    return ""
