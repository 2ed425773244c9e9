"""A walk and a field that grow, with counts: the same model at three sizes each, written as any user would.

`TABLE` has them by name as `models.MODELS` has the others; a field on a grid has precision (Laplacian + 1 / 100) /
sigma^2, a proper conditional autoregression whose determinant is known, written with a potential.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from benchmarks.hard_posteriors.models import Hard, autoregression, smooth

STEPS: Final = (1_000, 10_000, 100_000)
SIDES: Final = (30, 100, 300)


def walk(pm: Any, pt: Any, np: Any, steps: int) -> Any:
    """Counts whose log rate is a random walk."""
    rng = np.random.default_rng(21)
    counts = rng.poisson(np.exp(1.0 + autoregression(rng, steps, 0.1)))
    with pm.Model() as model:
        scale = pm.HalfNormal("scale", 0.5)
        field = pm.GaussianRandomWalk("field", sigma=scale, init_dist=pm.Normal.dist(0, 3), shape=steps)
        pm.Poisson("counts", pt.exp(field), observed=counts)
    return model


def edges(np: Any, side: int) -> tuple[Any, Any]:
    """Pairs of neighbours on a square grid, each once."""
    number = np.arange(side * side).reshape(side, side)
    first = np.concatenate([number[1:].ravel(), number[:, 1:].ravel()])
    return first, np.concatenate([number[:-1].ravel(), number[:, :-1].ravel()])


def grid(pm: Any, pt: Any, np: Any, side: int) -> Any:
    """Counts in cells of a square whose log rate is a conditional autoregression."""
    rng = np.random.default_rng(22)
    first, second = edges(np, side)
    places = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)
    counts = rng.poisson(np.exp(1.0 + 0.7 * smooth(rng, places, 5.0)))
    with pm.Model() as model:
        level, scale = pm.Normal("level", 0, 3), pm.HalfNormal("scale", 1)
        field = pm.Normal("field", 0, 10 * scale, shape=side * side)
        pm.Potential("neighbours", -0.5 * ((field[first] - field[second]) ** 2).sum() / scale**2)
        pm.Poisson("counts", pt.exp(level + field), observed=counts)
    return model


TABLE: Final = {
    **{f"walk_{n}": Hard(partial(walk, steps=n), "counts along time", n + 1, True, {}) for n in STEPS},
    **{f"grid_{n}x{n}": Hard(partial(grid, side=n), "counts on a map", n * n + 2, True, {}) for n in SIDES},
}
LATENT: Final = {"walk": ["field"], "grid": ["level", "field"]}
