"""Pathfinder: normal approximations along paths of L-BFGS, of which the one nearest to the posterior is drawn from.

A model in; draws of several paths out, chosen in proportion to Pareto smoothed importance weights.
Source: Zhang, Carpenter, Gelman, Vehtari (2022), Pathfinder: parallel quasi-Newton variational inference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.distributions.seeds import seed_from
from consilience.errors import SamplingError
from consilience.estimators.approximations.importance import drawn, posterior, weighted
from consilience.estimators.approximations.quasi_newton import InverseHessian, QuasiNewtonPath, climb
from consilience.estimators.approximations.target import Floats, TargetDensity, Variables
from consilience.inference.modes.evaluations import Evaluations
from consilience.model.model import Model
from consilience.record import Record

if TYPE_CHECKING:
    import xarray

SCATTER: Final = 2.0  # of starting points, on the unconstrained scale
WAYS: Final = ("psis", "none")


class NormalAround(Record, eq=False):
    """The normal around one point of a path.

    `mean`: float64[dimension]. `inverse`: its covariance. `elbo`: mean of log density less log q over some draws.
    """

    mean: Floats
    inverse: InverseHessian
    elbo: float


def fit_pathfinder(
    draws: int = 1000,
    *,
    num_paths: int = 8,
    num_draws_per_path: int = 1000,
    num_elbo_draws: int = 10,
    maxcor: int = 6,
    maxiter: int = 300,
    importance_sampling: str = "psis",
    vars: Variables = None,
    initvals: Mapping[str, Any] | None = None,
    random_seed: Any = None,
    model: Model | None = None,
) -> xarray.DataTree:
    """Approximate the posterior by Pathfinder: draws from normal distributions along the path of L-BFGS to the mode.

    draws: How many are given.
    num_paths: Paths, from the initial point and from around it.
    num_draws_per_path: Draws of each path's best normal, from which those that are given are chosen.
    num_elbo_draws: Draws that each normal is judged by.
    maxcor: Pairs that the inverse Hessian is made of; steps of a path.
    maxiter: Pairs that the inverse Hessian is made of; steps of a path.
    importance_sampling: "psis": chosen in proportion to Pareto smoothed weights; "none": as many of every path.
    vars: As in `fit_laplace`.
    initvals (mapping): As in `fit_laplace`.
    random_seed, model : ...
    Returns (xarray.DataTree): A tree with the group `posterior` (one chain); its attributes have `pareto_k` and
        `log_marginal_likelihood`, the log of the mean importance ratio.
    Raises SamplingError: If no path has a normal distribution with a finite evidence lower bound.
    Warns ConsilienceWarning: If `pareto_k` is above 0.7: the draws are then a poor approximation.
    See fit_laplace: At the mode.
    See sample: Starts from it by `init`.

    References
    ----------
    Zhang, Carpenter, Gelman, Vehtari (2022), Journal of Machine Learning Research 23(306).

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     draws = pm.fit_pathfinder(500, random_seed=1)
    >>> bool(abs(draws.posterior["mu"].mean() - 1.0) < 0.1)
    True
    """
    if importance_sampling not in WAYS:
        raise SamplingError(f"`importance_sampling` must be one of {WAYS}, got {importance_sampling!r}.")
    for name, value in (("draws", draws), ("num_paths", num_paths), ("num_draws_per_path", num_draws_per_path)):
        if value < 1:
            raise SamplingError(f"`{name}` must be at least 1, got {value}.")
    seed = seed_from(random_seed)
    target = TargetDensity(model, vars, initvals, jacobian=True, seed=seed)
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 2]))
    points, logps, logqs = [], [], []
    steps = 0
    with target.evaluations(8) as evaluations:
        for path in climb(evaluations, target.starts(num_paths, SCATTER), maxcor, maxiter):
            steps += len(path.points)
            best = nearest(evaluations, path, num_elbo_draws, maxcor, generator)
            if best is None:
                continue
            own, logq = best.inverse.draws(best.mean, num_draws_per_path, generator)
            points.append(own)
            logqs.append(logq)
            logps.append(evaluations.at(own))
    if not points:
        raise SamplingError(
            "no path has a normal approximation with a finite evidence lower bound: the density may be improper, or "
            "its gradient not that of the density. See `pm.fit_laplace` and `pm.sample`."
        )
    all_points = np.concatenate(points)
    checked = weighted(all_points, np.concatenate(logps), np.concatenate(logqs))
    weights = checked.weights if importance_sampling == "psis" else np.ones(len(all_points))
    chosen = drawn(weights, draws, generator)
    return posterior(
        target,
        all_points[generator.permutation(chosen)],
        "Pathfinder",
        checked,
        log_marginal_likelihood=checked.evidence,
        paths=len(points),
        steps=steps,
    )


def nearest(
    evaluations: Evaluations, path: QuasiNewtonPath, count: int, maxcor: int, generator: np.random.Generator
) -> NormalAround | None:
    """Of the normals along a path the one with the greatest evidence lower bound; None if none has a finite one."""
    normals: list[tuple[Floats, InverseHessian]] = []
    batch, logqs = [], []
    for mean, inverse in path.normals(maxcor):
        own, logq = inverse.draws(mean, count, generator)
        normals.append((mean, inverse))
        batch.append(own)
        logqs.append(logq)
    if not normals:
        return None
    logps = evaluations.at(np.concatenate(batch)).reshape(len(normals), count)
    bounds = (logps - np.array(logqs)).mean(1)
    bounds[~np.isfinite(bounds)] = -np.inf
    best = int(np.argmax(bounds))
    return NormalAround(*normals[best], float(bounds[best])) if np.isfinite(bounds[best]) else None
