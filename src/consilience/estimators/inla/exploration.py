"""The posterior of the hyperparameters as a smooth surface, and points that represent it.

A latent field and the points of a design in; many weighted hyperparameters, and what is known of the latent block next
to each of them, out.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from consilience.errors import SamplingError, warn
from consilience.estimators.approximations.importance import LARGEST, Weighted, weighted
from consilience.estimators.inla.conditional import Conditional, conditional
from consilience.estimators.inla.design import spread
from consilience.estimators.inla.hyperparameters import Integrated, Standardized
from consilience.estimators.inla.latent_field import Floats, LatentField
from consilience.record import Record

EVALUATED: Final = 100  # points besides those of the design, per hyperparameter and for at most three of them
INTERPOLATED: Final = 8192  # points
FREEDOM: Final = 8.0  # degrees of freedom of the proposals
DEEPEST: Final = 30.0  # drop of the log density below which a point tells nothing


class Explored(Record, eq=False):
    """Points that represent the posterior of the hyperparameters.

    `nodes`: where the latent block was integrated out.
    `places`: of the nodes, standardized, float64[nodes, d].
    `coordinates`: that standardize.
    `found`: hyperparameters with weights, float64[points, d]; logs of their densities are interpolated.
    `modes`: of the block at standardized hyperparameters, interpolated; None without hyperparameters.
    """

    nodes: list[Conditional]
    places: Floats
    coordinates: Standardized
    found: Weighted
    modes: Any

    def nearest(self, theta: Floats) -> Any:
        """Numbers of the nodes next to hyperparameters, float64[rows, d]."""
        z = self.coordinates.standardized(theta)
        distances = (z**2).sum(1)[:, None] - 2.0 * z @ self.places.T + (self.places**2).sum(1)
        return np.argmin(distances, axis=1)

    def modes_at(self, theta: Floats) -> Floats:
        """Modes of the block at hyperparameters, float64[rows, n]."""
        if self.modes is None:
            return np.repeat(self.nodes[0].mode[None], len(theta), axis=0)
        return np.asarray(self.modes(self.coordinates.standardized(theta)))


def explored(field: LatentField, design: Integrated, seed: int) -> Explored:
    """The posterior of the hyperparameters around the points of a design.

    Warns Exception where points had to be left out, and where the weights rest on few points.
    """
    coordinates, dimension = design.coordinates, len(field.others)
    if not dimension:
        return Explored(
            design.nodes, np.zeros((1, 0)), coordinates, Weighted(np.zeros((1, 0)), np.ones(1), np.nan, np.nan), None
        )
    from scipy.interpolate import RBFInterpolator

    top = max(n.logp for n in design.nodes)
    nodes = [n for n in design.nodes if n.logp > top - DEEPEST]
    count = EVALUATED * min(dimension, 3)
    thetas, _ = _proposals(coordinates, count, seed)
    known = coordinates.standardized(np.array([n.theta for n in nodes]))
    lost: list[SamplingError] = []
    for theta, z in zip(thetas, coordinates.standardized(thetas), strict=True):
        near = nodes[int(np.argmin(((known - z) ** 2).sum(1)))]
        try:
            nodes.append(conditional(field, theta, near.mode))
        except SamplingError as error:
            lost.append(error)
    if lost:
        warn(f"{len(lost)} of {count} values of the hyperparameters are left out, the first since {lost[0]}")
    nodes = [n for n in nodes if n.logp > top - DEEPEST]
    places = coordinates.standardized(np.array([n.theta for n in nodes]))
    surface = RBFInterpolator(places, np.array([n.logp for n in nodes]), kernel="quintic", degree=2)
    modes = RBFInterpolator(places, np.array([n.mode for n in nodes]), kernel="quintic", degree=2)
    thetas, logq = _proposals(coordinates, INTERPOLATED, seed)
    logp = np.asarray(surface(coordinates.standardized(thetas)))
    found = weighted(thetas, logp, logq)
    if found.pareto_k > LARGEST:
        warn(
            f"the posterior of the hyperparameters is far from the shape that its points were chosen for (Pareto tail "
            f"index {found.pareto_k:.2f}, above {LARGEST}), so it is known roughly only. Use `pm.sample`."
        )
    return Explored(nodes, places, coordinates, found, modes)


def _proposals(coordinates: Standardized, count: int, seed: int) -> tuple[Floats, Floats]:
    """Hyperparameters from Student's distribution with two sides, and their log densities."""
    from scipy import special

    half = 0.5 * (FREEDOM + 1.0)
    u = np.asarray(special.stdtrit(FREEDOM, spread(count, len(coordinates.mode), seed)), np.float64)
    height = special.gammaln(half) - special.gammaln(0.5 * FREEDOM) - 0.5 * np.log(FREEDOM * np.pi)
    logq = (height - half * np.log1p(u**2 / FREEDOM)).sum(1) - coordinates.log_volume(u)
    return coordinates.theta(u), np.asarray(logq)
