"""Points for integrals over few dimensions of densities that are near a standard normal one, with their weights.

A log density of standardized coordinates in; points with weights out, by a grid or by a central composite design.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.errors import SamplingError

Floats = npt.NDArray[np.float64]
LARGEST_GRID: Final = 2  # dimensions
STEPS: Final = (0.5, 1.0)  # of grids in one and in more dimensions, in standard deviations
DEPTHS: Final = (12.5, 9.0)  # drop of the log density at which these end; 12.5 is that at five standard deviations
MOST_POINTS: Final = 3000  # of a grid
RADIUS: Final = 1.1  # of a design's points, in units of sqrt(dimension)

# Columns of Walsh functions whose products of two are all distinct: designs of resolution V.
# Sanchez and Sanchez (2005), Very large fractional factorial and central composite designs.
WALSH: Final = (1, 2, 4, 8, 15, 16, 32, 51, 64, 85, 106, 128, 150, 171, 219)


def grid(dimension: int, visit: Callable[[Floats, Any], tuple[float, Any]]) -> tuple[Floats, Floats, list[Any]]:
    """Points of a lattice, from the middle outwards to where the density has become negligible.

    `visit`: a point and what the visit of its neighbour found in; the log density and what was found out. Returns:
    points, float64[points, dimension]; logs of their cells' volumes; what the visits found. Raises SamplingError where
    there are too many points.
    """
    step, depth = STEPS[dimension > 1], DEPTHS[dimension > 1]
    origin = (0,) * dimension
    top, found = visit(np.zeros(dimension), None)
    seen: dict[tuple[int, ...], tuple[float, Any]] = {origin: (top, found)}
    front = [origin]
    while front:
        if len(seen) > MOST_POINTS:
            raise SamplingError(
                f"a grid over {dimension} hyperparameters takes more than {MOST_POINTS} points before their density "
                "has become negligible; use `design='ccd'`, give them priors with lighter tails, or use `pm.sample`."
            )
        place = front.pop(0)
        logp, found = seen[place]
        top = max(top, logp)
        if logp < top - depth:
            continue
        for axis, move in product(range(dimension), (-1, 1)):
            near = (*place[:axis], place[axis] + move, *place[axis + 1 :])
            if near not in seen:
                seen[near] = visit(step * np.array(near, float), found)
                front.append(near)
    points = step * np.array(list(seen), float)
    return points, np.full(len(points), dimension * np.log(step)), [f for _, f in seen.values()]


def composite(dimension: int) -> tuple[Floats, Floats]:
    """Points and weights that integrate against a standard normal density, exactly for polynomials of degree 3.

    The middle, two points on each axis and corners of a cube, all but the first on a sphere of radius
    1.1 sqrt(dimension). Rue, Martino and Chopin (2009), Approximate Bayesian inference for latent Gaussian models by
    using integrated nested Laplace approximations, section 6.5.
    """
    columns = np.array(WALSH[:dimension])
    rows = np.arange(1 << int(columns[-1]).bit_length())
    corners = 1.0 - 2.0 * (np.bitwise_count(rows[:, None] & columns) % 2)
    axes = np.sqrt(dimension) * np.concatenate([np.eye(dimension), -np.eye(dimension)])
    sphere = RADIUS * np.concatenate([corners, axes])
    weight = 1.0 / (RADIUS**2 * len(sphere))
    points = np.concatenate([np.zeros((1, dimension)), sphere])
    return points, np.concatenate([[1.0 - 1.0 / RADIUS**2], np.full(len(sphere), weight)])


def spread(count: int, dimension: int, seed: int) -> Floats:
    """Points that fill the unit cube evenly: multiples of one vector, shifted at random, each with its opposite.

    `count`: even. Returns: float64[count, dimension].

    The vector has powers of the root of x^(dimension + 1) = x + 1, the golden ratio for one dimension. Roberts (2018),
    The unreasonable effectiveness of quasirandom sequences.
    """
    root = 1.5
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (dimension + 1.0))
    shift = np.random.Generator(np.random.Philox(key=[seed, 7])).random(dimension)
    points = (shift + np.arange(1, count // 2 + 1)[:, None] / root ** np.arange(1, dimension + 1)) % 1.0
    return np.asarray(np.clip(np.concatenate([points, 1.0 - points]), 1e-9, 1.0 - 1e-9))
