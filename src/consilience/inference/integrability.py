"""Lines along which a log density cannot be integrated, of which a proper one has none.

Points of some chains enter, the direction of such a line leaves. By Fubini's theorem the integral of a proper density
along a fixed direction is finite through almost every point; through a draw it is, whatever the direction. What is
improper along curved paths only is not found.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.density import LogDensity
from consilience.inference.modes.evaluations import Evaluations, Floats

MOST_AXES: Final = 200  # those in which points lie farthest apart
MOST_NUMBERS: Final = 1 << 21  # in directions that are looked at together
MOST_SLOPES: Final = 200  # coordinates up to which directions between axes are looked for, by a gradient for each
DECADES: Final = 10  # times ten, beyond the points, through which the density holds out
LARGEST_WIDTH: Final = 1e30  # that a prior may have
FARTHEST: Final = 1e145  # squares of it are finite
LARGEST_LEVEL: Final = 1e10  # of log densities, in which `ROUNDING` can still be seen
LEAST_LEVEL: Final = -50.0  # of log density and log distance, over that of the point: below it there is no mass
FLAT: Final = 1e-7  # of the largest curvature, below which there is none
REFINEMENTS: Final = 4
STEP: Final = 1e-4  # of differences, relative to the coordinate
LEAST_WIDTH: Final = 1e-3
ROUNDING: Final = 1e-3  # of log densities


def endless_direction(
    target: LogDensity, points: Floats, among: Floats | None = None, threads: int = 1, limits: Floats | None = None
) -> Floats:
    """A direction along which the density does not fall as fast as 1 / distance, however far; zeros if none was found.

    `points`: float64 (chain, point, coordinate), at least one of each: where chains have been.
    `among`: bool (coordinate,): which coordinates may have a part in it; by default all.
    `threads`: that evaluate.
    `limits`: float64 (coordinate,): sizes of coordinates beyond which nothing can be told, as of logarithms of numbers
        that overflow; by default there are none.
    Returns: float64 (coordinate,), its largest part 1.
    Raises SamplingError for points of another shape.
    """
    n = target.dimension
    if points.ndim != 3 or points.shape[2] != n or not points.size:
        raise SamplingError(f"`points` needs shape (chain, point, {n}), at least one of each; got {points.shape}.")
    allowed = np.ones(n, bool) if among is None else np.asarray(among, bool)
    widths = np.ptp(points.reshape(-1, n), axis=0)
    order = np.argsort(-widths, kind="stable")
    axes = order[allowed[order]][:MOST_AXES]
    # Far more than is ever spent: candidates are few.
    with Evaluations(target, 10**9, threads) as evaluations:
        ends = np.full(n, np.inf) if limits is None else np.asarray(limits, float)
        lines = _Lines(evaluations, points, ends)
        size = max(1, MOST_NUMBERS // n)
        for sign in (1.0, -1.0):
            for some in (axes[begin : begin + size] for begin in range(0, len(axes), size)):
                directions = np.zeros((len(some), n))
                directions[np.arange(len(some)), some] = sign
                # One place far out shows of nearly every line that the density ends.
                for direction in directions[lines.hold_out_once(directions, widths[some])]:
                    if lines.hold_out(direction):
                        return np.asarray(direction)
        if allowed.all() and 1 < n <= MOST_SLOPES:
            direction = _between_axes(evaluations, points)
            if direction.any():
                # Sums of large numbers are not exact: from where lines pass nearest to the origin.
                lines = _Lines(
                    evaluations, _without(points, direction), ends, width=_width(_without(points, direction))
                )
                for sign in (1.0, -1.0):
                    if lines.hold_out(sign * direction):
                        return sign * direction
    return np.zeros(n)


class _Lines:
    """Lines through the last point of each chain; `width`, if not 0, is where they begin to be looked at.

    They are looked at up to `limits`, of each coordinate.
    """

    def __init__(self, evaluations: Evaluations, points: Floats, limits: Floats, width: float = 0.0) -> None:
        self.evaluations = evaluations
        self.points = points.reshape(-1, points.shape[2])
        self.last = points[:, -1]
        self.levels = evaluations.at(self.last)
        self.limits = limits
        self.width = width

    def begin(self, direction: Floats) -> float:
        """How far apart points are along it."""
        return self.width or max(float(np.ptp(self.points @ direction / (direction @ direction))), LEAST_WIDTH)

    def reach(self, points: Floats, directions: Floats) -> Floats:
        """How far lines through points go along directions before a coordinate is at its limit."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (self.limits - np.sign(directions) * points) / np.abs(directions)
        return np.asarray(np.where(directions == 0.0, np.inf, found).min(axis=-1))

    def hold_out_once(self, directions: Floats, widths: Floats) -> NDArray[np.bool_]:
        """Whether the density through the first chain's point does, a thousand widths away along each direction."""
        distances = np.fmin(1e3 * np.maximum(widths, LEAST_WIDTH), self.reach(self.last[0], directions))
        levels = self.evaluations.at(self.last[0] + distances[:, None] * directions) - self.levels[0]
        return np.asarray(np.isfinite(levels) & (levels + np.log(1e3) > LEAST_LEVEL))

    def hold_out(self, direction: Floats) -> bool:
        """Whether, through each chain's point, the log density plus that of the distance falls at none of many places.

        They are ten times as far each. One that overflows, or so large that rounding hides it, is not believed.
        """
        begin, points, levels = self.begin(direction), self.last, self.levels
        too_far = begin * 10.0**DECADES > FARTHEST or not (np.abs(levels) < LARGEST_LEVEL).all()
        reach = float(self.reach(points, direction).min())
        # Chains fled: from where lines pass nearest to the origin.
        if (too_far and begin > LARGEST_WIDTH) or reach < 10.0 * begin:
            begin, points = 1.0, _without(points, direction)
            levels, reach = self.evaluations.at(points), float(self.reach(points, direction).min())
        if not (np.abs(levels) < LARGEST_LEVEL).all():
            return False
        farthest = min(begin * 10.0**DECADES, reach)
        distances = np.geomspace(begin, farthest, DECADES + 1)[1:]
        for point, level in zip(points, levels, strict=True):
            found = self.evaluations.at(point + distances[:, None] * direction) - level + np.log(distances / begin)
            if not (np.isfinite(found).all() and found.min() > LEAST_LEVEL and (np.diff(found) > -ROUNDING).all()):
                return False
        return True


def _without(points: Floats, direction: Floats) -> Floats:
    """Points less their parts along a direction."""
    return np.asarray(points - (points @ direction / (direction @ direction))[..., None] * direction)


def _width(points: Floats) -> float:
    """How far apart points are along some coordinate."""
    return max(float(np.ptp(points.reshape(-1, points.shape[2]), axis=0).max()), LEAST_WIDTH)


def _between_axes(evaluations: Evaluations, points: Floats) -> Floats:
    """The direction nearest to that in which points lie farthest apart, of those without curvature; zeros without any.

    Curvatures are differences of gradients. A direction found by them is refined by gradients far out along it.
    """
    n = points.shape[2]
    flat = points.reshape(-1, n)
    main = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)[2][0]
    rest = _without(points, main)
    point = rest[0, -1]
    steps = STEP * np.maximum(1.0, np.abs(point))
    slopes = evaluations.gradients(np.concatenate([point + np.diag(steps), point - np.diag(steps)]))
    hessian = (slopes[:n] - slopes[n:]) / (2.0 * steps[:, None])
    if not np.isfinite(hessian).all():
        return np.zeros(n)
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    straight = np.abs(values) <= FLAT * np.abs(values).max()
    if not straight.any():
        return np.zeros(n)
    direction = vectors[:, straight] @ (vectors[:, straight].T @ main)
    curved, inverse = vectors[:, ~straight], 1.0 / values[~straight]
    far = 10.0 * _width(rest)
    for _ in range(REFINEMENTS):
        if not direction.any():
            break
        direction = direction / np.abs(direction).max()
        far *= 100.0
        slope = evaluations.gradients(np.stack([point + far * direction, point]))
        change = (slope[0] - slope[1]) / far
        if not np.isfinite(change).all():
            break
        direction = direction - curved @ (inverse * (curved.T @ change))
    return np.asarray(direction)
