"""An attack by sequential Monte Carlo: particles from the prior, in populations whose differences tell their error."""

from __future__ import annotations

import time
from typing import Final

import numpy as np

from consilience.errors import ConsilienceError
from consilience.estimators.refutation.attack import Allowance, NotMadeError, Others, by_comparison
from consilience.estimators.refutation.chains import cross_examined
from consilience.estimators.refutation.claim import Claim
from consilience.estimators.refutation.coordinates import RewrittenDraws, own_coordinates, rounder_coordinates
from consilience.estimators.refutation.report import AttackReport
from consilience.estimators.smc.bridge import log_marginal_likelihood
from consilience.estimators.smc.hamiltonian import HMC
from consilience.estimators.smc.moves import IMH
from consilience.estimators.smc.sampling import LEAST_EFFECTIVE, sample_smc
from consilience.record import replace
from consilience.sample.inference_data import to_inference_data

NAME: Final = "sequential Monte Carlo"
POPULATIONS: Final = 8
FEWEST: Final = 600  # particles of each
MOST_DIMENSIONS: Final = 100
FEW_DIMENSIONS: Final = 10  # up to which independent proposals are accepted often
COSTS: Final = (400.0, 800.0)  # evaluations that a particle takes, usually, without and with gradients
ROWS: Final = 256  # by which one is timed


def sequential_monte_carlo(claim: Claim, allowance: Allowance) -> AttackReport | None:
    """Populations of particles against the draws. They refute only where they hold as much mass as the draws do.

    None without data, where particles would be the draws of the prior.
    """
    if not claim.model.observed and not claim.model.named_potentials:
        return None
    dimension = claim.density.dimension
    if dimension > MOST_DIMENSIONS:
        raise NotMadeError(f"the model has {dimension} coordinates, and particles are good for {MOST_DIMENSIONS}")
    particles = max(FEWEST, int(2 * LEAST_EFFECTIVE * dimension))
    coordinates = rounder_coordinates(claim) or own_coordinates(claim)
    along_gradients = dimension > FEW_DIMENSIONS and not claim.density.without_gradient
    needed = POPULATIONS * particles * _seconds(coordinates, along_gradients, claim.threads)
    if needed > allowance.left:
        raise NotMadeError(f"it takes about {needed:.0f} s, and {allowance.left:.0f} s are left")
    evidences: list[tuple[float, float]] = []

    def make(number: int) -> Others:
        draws = particles * (number + 1)
        handle = sample_smc(
            draws,
            HMC if along_gradients else IMH,
            model=coordinates.model,
            chains=POPULATIONS,
            cores=claim.threads,
            random_seed=allowance.seed + number,
            compute_convergence_checks=False,
            progressbar=False,
            blocking=False,
        )
        tree = allowance.waited(handle)
        about = tree.posterior.attrs
        allowance.gradients += int(np.nansum(np.asarray(tree.sample_stats["moves"]))) * draws
        evidences.append((about["log_marginal_likelihood"], about["log_marginal_likelihood_error"]))
        told = f"{POPULATIONS} populations of {draws} particles"

        def doubt() -> str:
            return _lost_mass(claim, *evidences[-1]) or cross_examined(tree, claim, allowance)

        return Others(claim.scalars_in(tree), told, doubt)

    attempt = by_comparison(NAME, claim, make)
    value, error = evidences[-1]
    return replace(attempt, found=f"{attempt.found}; log evidence {value:.2f} ± {error:.2g}")


def _seconds(coordinates: RewrittenDraws, along_gradients: bool, threads: int) -> float:
    """What a particle takes from the prior to the posterior, usually."""
    density = coordinates.density
    rows = np.resize(coordinates.positions.reshape(-1, density.dimension), (ROWS, density.dimension))
    took = []
    for _ in range(3):  # the first compiles
        began = time.perf_counter()
        if along_gradients:
            density.tempered_slopes(rows, 1.0)
        else:
            density.tempered(rows)
        took.append(time.perf_counter() - began)
    return min(took) / ROWS * COSTS[along_gradients] / threads


def _lost_mass(claim: Claim, evidence: float, error: float) -> str:
    """Why the particles may be what is wrong: draws with more mass than theirs; empty where there is no such reason."""
    try:
        tree = to_inference_data(dict(claim.values), model=claim.model)
        of_draws = log_marginal_likelihood(tree, model=claim.model, random_seed=0)
    except ConsilienceError:
        return ""  # nothing is known of the mass that the draws stand for
    if of_draws.value - evidence > 3.0 * np.hypot(of_draws.error, error) + 0.1:
        return (
            f"the draws stand for more mass (log evidence {of_draws.value:.2f} ± {of_draws.error:.2g}) than the "
            f"particles ({evidence:.2f} ± {error:.2g}), which have missed some"
        )
    return ""
