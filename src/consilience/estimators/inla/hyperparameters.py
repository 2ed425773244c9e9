"""The hyperparameters of a latent normal model: the mode of their approximate density, and points for integrals.

A latent field in; its conditional distributions at chosen hyperparameters with the logs of their masses, out.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from consilience.errors import SamplingError
from consilience.estimators.inla.conditional import Conditional, conditional
from consilience.estimators.inla.design import LARGEST_GRID, composite, grid
from consilience.estimators.inla.latent_field import Floats, LatentField
from consilience.record import Record

NUDGE: Final = 1e-3  # of theta, for differences of slopes
ARRIVED: Final = 1e-6  # g' H^-1 g, twice the gain that is left, at a mode of theta
ROUNDS: Final = 200  # steps towards the mode
POLISHES: Final = 8  # of Newton's method at its end
HALVINGS: Final = 30
LONGEST: Final = 2.0  # first step of theta; those that follow may be twice as long each
FARTHEST: Final = 200.0  # on a transformed line: a scale of e^200 is none
SUFFICIENT: Final = 1e-4  # share of the gain that a linear model foretells
SINGULAR: Final = 1e-8  # least curvature as a share of the greatest
ASIDE: Final = float(np.sqrt(2.0))  # standard deviations at which the sides of the density are compared
NARROWEST: Final = 0.25  # standard deviation of a side, in units of that by the curvature
HALF_LOG_TURN: Final = 0.5 * np.log(2.0 * np.pi)


class Standardized(Record, eq=False):
    """Coordinates u of the hyperparameters in which their density is near a standard normal one.

    theta = mode + scale (u * deviations[0 where u < 0, 1 elsewhere])

    `mode`: float64[d]. `scale`: float64[d, d]. `deviations`: of both sides of each coordinate, float64[2, d].
    """

    mode: Floats
    scale: Floats
    deviations: Floats

    def theta(self, u: Floats) -> Floats:
        """Hyperparameters at coordinates float64[..., d]."""
        return np.asarray(self.mode + (u * self._sides(u)) @ self.scale.T)

    def log_volume(self, u: Floats) -> Floats:
        """Log of the volume of theta per volume of u; on the border of two sides of their mean."""
        mean = self.deviations.mean(0)
        sides = np.where(u == 0.0, mean, self._sides(u))
        return np.asarray(np.linalg.slogdet(self.scale)[1] + np.log(sides).sum(-1))

    def standardized(self, theta: Floats) -> Floats:
        """Hyperparameters float64[..., d] in units of the scale around the mode."""
        return np.asarray(np.linalg.solve(self.scale, (theta - self.mode).T).T) if len(self.mode) else theta

    def _sides(self, u: Any) -> Floats:
        return np.asarray(np.where(u < 0.0, self.deviations[0], self.deviations[1]), float)


class Integrated(Record, eq=False):
    """The latent block at the points of a design.

    `coordinates`: in which the points were chosen. `nodes`: one conditional distribution per point, the mode of the
    hyperparameters first. `logs`: logs of the mass that each stands for; the exponentials sum to the marginal
    likelihood. `sparse`: whether they are too few to tell the marginals of the block.
    """

    coordinates: Standardized
    nodes: list[Conditional]
    logs: Floats
    sparse: bool = False


def integrated(field: LatentField, design: str) -> Integrated:
    """The block's distributions at points that represent the posterior of the hyperparameters.

    `design`: "auto": a grid for up to two hyperparameters, else a central composite design; "grid", "ccd", or "eb" for
    their mode only. Raises SamplingError where the density of the hyperparameters has no mode.
    """
    x, theta = field.start()
    best = conditional(field, theta, x)
    dimension = len(theta)
    if not dimension:
        return Integrated(Standardized(theta, np.zeros((0, 0)), np.ones((2, 0))), [best], np.array([best.logp]))
    best, hessian = mode(field, best)
    values, vectors = np.linalg.eigh(hessian)
    scale = vectors / np.sqrt(values)
    plain = Standardized(best.theta, scale, np.ones((2, dimension)))
    if design == "eb":
        log = best.logp + dimension * HALF_LOG_TURN + plain.log_volume(np.ones(dimension))
        return Integrated(plain, [best], np.array([log]))
    sides = Standardized(best.theta, scale, _deviations(field, best, scale))
    if design == "grid" or (design == "auto" and dimension <= LARGEST_GRID):

        def visit(u: Floats, near: Any) -> tuple[float, Any]:
            found = best if near is None else conditional(field, plain.theta(u), near.mode)
            return found.logp, found

        points, volumes, nodes = grid(dimension, visit)
        return Integrated(
            sides, nodes, np.array([n.logp for n in nodes]) + volumes + plain.log_volume(np.ones(dimension))
        )
    points, weights = composite(dimension)
    nodes = [best, *(conditional(field, theta, best.mode) for theta in sides.theta(points[1:]))]
    logs = np.array([n.logp for n in nodes]) + sides.log_volume(points) + np.log(weights)
    return Integrated(sides, nodes, logs + 0.5 * (points**2).sum(1) + dimension * HALF_LOG_TURN, True)


def mode(field: LatentField, start: Conditional) -> tuple[Conditional, Floats]:
    """The mode of the hyperparameters, and minus the second derivatives of their log density there."""
    best, slope = start, start.gradient()
    inverse = np.eye(len(slope))
    longest = LONGEST
    stretches = field.target.density.layout.stretches
    transformed = np.concatenate([np.full(s.size, s.variable.sampled is not None) for s in stretches])[field.others]
    for _ in range(ROUNDS):
        step = inverse @ slope
        if slope @ step < ARRIVED or np.abs(best.theta[transformed]).max(initial=0.0) > FARTHEST:
            break
        step *= min(1.0, longest / float(np.linalg.norm(step)))
        found = _ahead(field, best, slope, step)
        if found is None:
            break
        longest = 2.0 * max(LONGEST, float(np.linalg.norm(found.theta - best.theta)))
        before, (best, slope) = (best, slope), (found, found.gradient())
        moved, change = best.theta - before[0].theta, before[1] - slope
        inverse = _updated(inverse, moved, change)
    for _ in range(POLISHES):
        hessian = _hessian(field, best)
        values, vectors = np.linalg.eigh(hessian)
        if not np.isfinite(values).all() or values[0] <= SINGULAR * abs(values[-1]):
            break
        step = (vectors / values) @ (vectors.T @ slope)
        if slope @ step < ARRIVED:
            return best, hessian
        found = _ahead(field, best, slope, step * min(1.0, LONGEST / float(np.linalg.norm(step))))
        if found is None:
            break
        best, slope = found, found.gradient()
    wrong = np.abs(vectors[:, 0]) if values[0] <= 0.0 else np.abs(slope)
    name = field.target.density.layout.coordinate(int(field.others[int(np.argmax(wrong))]))
    raise SamplingError(
        f"the posterior of the hyperparameters has no mode that could be found, most along `{name}`: "
        f"the search ended at {field.described(best.theta)} with the log density {best.logp:.6g}. Give them proper "
        "priors that keep scales away from 0 and infinity, or another start by `initvals=`, or use `pm.sample`."
    )


def _ahead(field: LatentField, best: Conditional, slope: Floats, step: Floats) -> Conditional | None:
    """The first of ever shorter steps that leads up; None where there is none."""
    length = 1.0
    reason: SamplingError | None = None
    for _ in range(HALVINGS):
        try:
            found = conditional(field, best.theta + length * step, best.mode)
        except SamplingError as error:  # too far; what it says counts only where shorter steps fail too
            reason = error
        else:
            gain = found.logp - best.logp
            if gain >= SUFFICIENT * length * float(slope @ step) - 1e-10 * max(1.0, abs(best.logp)):
                return found
            reason = None
        length *= 0.5
    if reason is not None:
        raise reason
    return None


def _updated(inverse: Floats, moved: Floats, change: Floats) -> Floats:
    """The inverse Hessian after a step, by Broyden, Fletcher, Goldfarb and Shanno."""
    product = float(moved @ change)
    if product <= 1e-12 * float(np.linalg.norm(moved) * np.linalg.norm(change)):
        return inverse
    turn = np.eye(len(moved)) - np.outer(moved, change) / product
    return np.asarray(turn @ inverse @ turn.T + np.outer(moved, moved) / product)


def _hessian(field: LatentField, at: Conditional) -> Floats:
    """By differences of slopes."""
    rows = []
    for unit in NUDGE * np.eye(len(at.theta)):
        above, below = (conditional(field, at.theta + move, at.mode).gradient() for move in (unit, -unit))
        rows.append((below - above) / (2.0 * NUDGE))
    return 0.5 * (np.array(rows) + np.array(rows).T)


def _deviations(field: LatentField, best: Conditional, scale: Floats) -> Floats:
    """Of both sides along each standardized coordinate: those of the normal that falls off as far."""
    result = np.ones((2, len(best.theta)))
    for side, sign in enumerate((-1.0, 1.0)):
        for k, axis in enumerate(scale.T):
            drop = best.logp - conditional(field, best.theta + sign * ASIDE * axis, best.mode).logp
            result[side, k] = np.sqrt(0.5 * ASIDE**2 / max(drop, 1e-3))
    return np.clip(result, NARROWEST, 1.0 / NARROWEST)
