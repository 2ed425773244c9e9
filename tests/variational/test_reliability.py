"""Every fit that is wrong by a third of a standard deviation is told; those of normal posteriors are not.

Posteriors whose means and standard deviations on the unconstrained scale are known, by every family.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy import special

import consilience as pm
from consilience.errors import ConsilienceWarning
from tests.rows import slow_after

WRONG = 0.3
METHODS = ["advi", "fullrank_advi", "lowrank", "planar", "realnvp", "iaf"]
FEW = ["banana .3", "correlated", "funnel 3, 9"]  # fitted by every method in the quick suite too
Target = Callable[[], tuple[pm.Model, np.ndarray, np.ndarray]]


def funnel(deviation: float, size: int) -> Target:
    def built() -> tuple[pm.Model, np.ndarray, np.ndarray]:
        with pm.Model() as model:
            v = pm.Normal("v", 0.0, deviation)
            pm.Normal("z", 0.0, pm.math.exp(v / 2.0), shape=size)
        return model, np.zeros(size + 1), np.array([deviation, *[np.exp(deviation**2 / 4)] * size])

    return built


def banana(width: float) -> Target:
    def built() -> tuple[pm.Model, np.ndarray, np.ndarray]:
        with pm.Model() as model:
            x = pm.Normal("x", 0.0, 1.0)
            pm.Normal("y", x**2, width)
        return model, np.array([0.0, 1.0]), np.array([1.0, np.sqrt(2.0 + width**2)])

    return built


def near_modes() -> tuple[pm.Model, np.ndarray, np.ndarray]:
    with pm.Model() as model:
        x = pm.Flat("x", shape=2)
        squares = [-0.5 * (((x - c) / 0.7) ** 2).sum() for c in (1.5, -1.5)]
        pm.Potential("p", pm.math.logaddexp(*squares))
    return model, np.zeros(2), np.full(2, np.sqrt(1.5**2 + 0.49))


def correlated() -> tuple[pm.Model, np.ndarray, np.ndarray]:
    with pm.Model() as model:
        pm.MvNormal("x", np.zeros(6), 0.1 * np.eye(6) + 0.9)
    return model, np.zeros(6), np.ones(6)


def heavy_tails() -> tuple[pm.Model, np.ndarray, np.ndarray]:
    with pm.Model() as model:
        pm.StudentT("x", 3.0, 0.0, 1.0, shape=4)
    return model, np.zeros(4), np.full(4, np.sqrt(3.0))


def laplace() -> tuple[pm.Model, np.ndarray, np.ndarray]:
    with pm.Model() as model:
        pm.Laplace("x", 1.0, 2.0, shape=3)
    return model, np.ones(3), np.full(3, np.sqrt(8.0))


def logs_of_gammas() -> tuple[pm.Model, np.ndarray, np.ndarray]:
    shapes = np.array([0.3, 1.0, 5.0])
    with pm.Model() as model:
        pm.Gamma("g", shapes, 1.0)
    return model, special.digamma(shapes), np.sqrt(special.polygamma(1, shapes))


def lognormal_scale() -> tuple[pm.Model, np.ndarray, np.ndarray]:
    """Logarithms of scales, each of four observations: skewed, mean and deviation by quadrature."""
    y = np.linspace(-1.0, 1.0, 4)
    with pm.Model() as model:
        s = pm.Normal("s", 0.0, 2.0, shape=2)
        pm.Normal("y", 0.0, pm.math.exp(s), observed=np.stack([y, y], 1))
    grid = np.linspace(-8.0, 8.0, 20001)
    logs = -(grid**2) / 8.0 - 4 * grid - 0.5 * (y**2).sum() * np.exp(-2 * grid)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ grid
    return model, np.full(2, mean), np.full(2, np.sqrt(weights @ (grid - mean) ** 2))


TARGETS: dict[str, Target] = {
    "funnel 1, 2": funnel(1.0, 2),
    "funnel 1.5, 2": funnel(1.5, 2),
    "funnel 3, 1": funnel(3.0, 1),
    "funnel 3, 9": funnel(3.0, 9),
    "banana .3": banana(0.3),
    "banana 1": banana(1.0),
    "near modes": near_modes,
    "correlated": correlated,
    "heavy tails": heavy_tails,
    "laplace": laplace,
    "logs of gammas": logs_of_gammas,
    "scale": lognormal_scale,
}


def fitted(model: pm.Model, method: str, seed: int) -> tuple[pm.Approximation, list[str]]:
    """A fit and what it warned of its distance from the posterior."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        approx = pm.fit(method=method, model=model, random_seed=seed)
    return approx, [str(w.message) for w in told if w.category is ConsilienceWarning]


@pytest.mark.parametrize(
    ("target", "method"),
    [
        pytest.param(target, method, marks=[] if method == "advi" or target in FEW else pytest.mark.slow)
        for target in sorted(TARGETS)
        for method in METHODS
    ],
)
def test_every_fit_that_is_wrong_by_a_third_of_a_deviation_is_told(target: str, method: str) -> None:
    model, mean, std = TARGETS[target]()
    approx, told = fitted(model, method, 1)
    own_mean, own_std = approx.moments()
    off = max(np.abs((own_mean - mean) / std).max(), np.abs(own_std / std - 1.0).max())
    assert told or off <= WRONG, (own_mean, own_std, approx.pareto_k, approx.deviation)


@pytest.mark.parametrize("seed", slow_after(3, range(10)))
@pytest.mark.parametrize("size", [1, 10, 100])
def test_a_fit_of_a_normal_posterior_is_not_warned_of(size: int, seed: int) -> None:
    with pm.Model() as model:
        pm.Normal("x", 1.0, np.linspace(0.1, 3.0, size), shape=size)
    approx, told = fitted(model, "advi", seed)
    assert told == []
    assert approx.deviation < WRONG


@pytest.mark.parametrize(("name", "start", "sigma"), [("narrow", 0.0, 0.1), ("aside", 3.0, 1.0), ("wide", 0.0, 6.0)])
def test_draws_that_lie_elsewhere_are_moved_by_short_chains(name: str, start: float, sigma: float) -> None:
    """No importance ratio is needed: chains that begin at the draws of a wrong normal leave them."""
    from consilience.estimators.variational.short_chains import moved

    with pm.Model() as model:
        pm.Normal("x", 0.0, 1.0, shape=5)
    method = pm.ADVI(model=model, start={"x": np.full(5, start)}, start_sigma={"x": sigma}, random_seed=1)
    points, _ = method.approx.points(1000, np.random.default_rng(1))
    with method.target.evaluations(1000) as evaluations:
        ends = moved(points, method.approx.moments()[1], evaluations, 160, 1)
    assert ends is not None
    before = np.abs(points.mean(0)).max() + np.abs(points.std(0) - 1.0).max()
    after = np.abs(ends.mean(0)).max() + np.abs(ends.std(0) - 1.0).max()
    assert after < 0.8 * before, name
