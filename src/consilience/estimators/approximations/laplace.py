"""Laplace's approximation: the normal with the mode and the curvature of a posterior on the unconstrained scale.

A model in; draws, the log marginal likelihood and a verdict on both out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience.distributions.seeds import seed_from
from consilience.errors import SamplingError
from consilience.estimators.approximations.importance import drawn, posterior, weighted
from consilience.estimators.approximations.maximum import highest
from consilience.estimators.approximations.target import TargetDensity, Variables
from consilience.inference.modes.region_mass import curvature_at, laplace
from consilience.model.model import Model

if TYPE_CHECKING:
    import xarray


def fit_laplace(
    draws: int = 1000,
    *,
    vars: Variables = None,
    initvals: Mapping[str, Any] | None = None,
    starts: int = 4,
    importance: bool = False,
    random_seed: Any = None,
    model: Model | None = None,
) -> xarray.DataTree:
    """Approximate the posterior by the normal distribution at its mode on the unconstrained scale, and draw from it.

    draws: How many.
    vars: Variables that are approximated, given the initial values of the others.
    initvals (mapping): Where the search for the mode begins, as in `pm.sample`.
    starts: Searches, of which the highest end counts.
    importance: Draw again in proportion to Pareto smoothed importance weights.
    random_seed, model : ...
    Returns (xarray.DataTree): A tree with the group `posterior` (one chain); its attributes have
        `log_marginal_likelihood` (the integral of prior times likelihood, by Laplace),
        `log_marginal_likelihood_importance` (by the mean importance ratio of the draws) and `pareto_k`.
    Raises SamplingError: If the curvature is not that of a mode.
    Warns ConsilienceWarning: If `pareto_k` is above 0.7: the draws are then a poor approximation.
    See fit_pathfinder: Approximations on the way to the mode.
    See find_MAP: The mode alone.

    Notes
    -----
    Source: Tierney and Kadane (1986), Accurate approximations for posterior moments and marginal densities.

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     draws = pm.fit_laplace(500, random_seed=1)
    >>> bool(abs(draws.posterior["mu"].mean() - 1.0) < 0.1)
    True
    """
    seed = seed_from(random_seed)
    target = TargetDensity(model, vars, initvals, jacobian=True, seed=seed)
    found = highest(target, starts, 5000)
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 1]))
    normals = generator.standard_normal((draws, target.dimension))
    with target.evaluations(8) as evaluations:
        curvature = curvature_at(evaluations, found.x)
        if curvature is None or not found.converged:
            raise SamplingError(
                "the posterior has no normal approximation: "
                + ("its curvature is not that of a mode" if found.converged else found.message)
                + " where the search ended. Use `pm.sample`, or other priors."
            )
        points = found.x + normals @ curvature.factor.T
        logp = evaluations.at(points)
    constant = 0.5 * target.dimension * np.log(2 * np.pi) + curvature.log_volume
    checked = weighted(points, logp, -0.5 * (normals**2).sum(1) - constant)
    if importance:
        points = points[drawn(checked.weights, draws, generator)]
    return posterior(
        target,
        points,
        "Laplace",
        checked,
        log_marginal_likelihood=laplace(found.logp, curvature),
        log_marginal_likelihood_importance=checked.evidence,
    )
