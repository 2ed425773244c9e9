"""Independent draws of posteriors: on a grid of their density, from particles, and from long runs of harmless ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import consilience as pm
from benchmarks.certificates.target import Array, Draw, Target, variables

CELLS = {1: 20_000, 2: 500, 3: 110}  # along each axis
NEGLIGIBLE = 1e-7  # of the greatest share of a cell's row
REFINEMENTS = 3


def chosen(rng: np.random.Generator, log_weights: Array) -> Array:
    """One index of the last axis for each of the others, with these log weights (Gumbel's trick)."""
    return np.asarray((log_weights + rng.gumbel(size=log_weights.shape)).argmax(axis=-1))


def normalised(logs: Array) -> Array:
    """Shares of all entries."""
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


def on_grid(
    log_density: Callable[..., Array],
    then: Callable[..., dict[str, Any]] | None = None,
    **axes: tuple[float, float],
) -> Draw:
    """Draws from a density of one to three numbers, known but for a constant on a box.

    The box is cut to where mass is and divided anew, three times; draws are uniform within cells. `then(rng, **values)`
    adds or replaces variables: those that were summed or integrated out.
    """
    names, cells = list(axes), CELLS[len(axes)]
    bounds = [list(map(float, interval)) for interval in axes.values()]
    found: list[tuple[Array, list[Array], Array]] = []

    def divide() -> tuple[Array, list[Array], Array]:
        for _ in range(REFINEMENTS):
            widths = np.array([(high - low) / cells for low, high in bounds])
            mid = [low + w * (np.arange(cells) + 0.5) for (low, _), w in zip(bounds, widths, strict=True)]
            grid = np.meshgrid(*mid, indexing="ij", sparse=True)
            shares = normalised(
                np.broadcast_to(log_density(**dict(zip(names, grid, strict=True))), (cells,) * len(names))
            )
            for axis, (middle, width) in enumerate(zip(mid, widths, strict=True)):
                along = shares.sum(axis=tuple(i for i in range(len(names)) if i != axis))
                inside = middle[along > NEGLIGIBLE * along.max()]
                bounds[axis] = [
                    max(bounds[axis][0], inside[0] - 2 * width),
                    min(bounds[axis][1], inside[-1] + 2 * width),
                ]
        return shares, mid, widths

    def draw(rng: np.random.Generator, count: int) -> dict[str, Any]:
        if not found:
            found.append(divide())
        shares, mid, widths = found[0]
        places = np.unravel_index(rng.choice(shares.size, count, p=shares.ravel()), shares.shape)
        moved = [m[p] + w * (rng.random(count) - 0.5) for m, p, w in zip(mid, places, widths, strict=True)]
        values = dict(zip(names, moved, strict=True))
        return values if then is None else {**values, **then(rng, **values)}

    return draw


def particles(make: Callable[[], pm.Model], count: int = 5_000) -> Draw:
    """Particles of sequential Monte Carlo, for models whose prior can be drawn from; the seed is the generator's."""

    def draw(rng: np.random.Generator, _: int) -> dict[str, Array]:
        model = make()
        result = pm.sample_smc(
            count, model=model, random_seed=int(rng.integers(2**31)), chains=2, cores=2, progressbar=False
        )
        return {name: v.reshape(-1, *v.shape[2:]) for name, v in variables(model, result["posterior"]).items()}

    return draw


def long_run(make: Callable[[], pm.Model], length: int = 10_000) -> Draw:
    """A long run of fixed length, for models of one mode that are sampled without difficulty."""

    def draw(rng: np.random.Generator, _: int) -> dict[str, Array]:
        model = make()
        result = Target(make).sample(model, int(rng.integers(2**31)), draws=length, tune=1500)
        if not result.status.startswith("converged"):
            raise RuntimeError(f"the reference run is {result.status}: {result.reason}")
        return {name: v.reshape(-1, *v.shape[2:]) for name, v in variables(model, result["posterior"]).items()}

    return draw
