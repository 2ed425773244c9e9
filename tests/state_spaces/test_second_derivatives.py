"""Second derivatives of the density of state spaces, slopes where there is no density, and what needs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import statespace as ss
from consilience.distributions.states import Filtered
from consilience.errors import ModelError
from consilience.gradient import hessian_vector_product
from consilience.statespace.draws import space_of
from tests.state_spaces.test_filter import some

Array = npt.NDArray[Any]


def error_of_products(given: dict[str, Any], y: Array, names: str, **more: Any) -> float:
    """How far products of the Hessian by all arguments are from differences of slopes, relative to 1 + their size."""
    rng = np.random.default_rng(2)
    keys = names.split()
    inputs = [pt.tensor(name, shape=np.shape(given[name])) for name in keys]
    ways = [pt.tensor(f"way of {name}", shape=np.shape(given[name])) for name in keys]
    space = {**given, **dict(zip(keys, inputs, strict=True))}
    density = pt.sum(pm.logp(pm.LinearGaussianStateSpace.dist(**space, **more, steps=y.shape[-2] - 1), y))
    slopes = pm.function(inputs, pt.grad(density, inputs))
    products = pm.function([*inputs, *ways], hessian_vector_product(density, inputs, ways))
    at = [np.asarray(given[name], float) for name in keys]
    way = [0.3 * x if name in ("Q", "H", "P0") else rng.normal(size=x.shape) for name, x in zip(keys, at, strict=True)]
    ends = [slopes(*(x + s * 1e-4 * w for x, w in zip(at, way, strict=True))) for s in (-2, -1, 1, 2)]
    worst = 0.0
    for found, a, b, c, d in zip(products(*at, *way), *ends, strict=True):
        wanted = (8 * (c - b) - (d - a)) / 12e-4
        worst = max(worst, np.max(np.abs(found - wanted) / (1 + np.abs(wanted))))
    return worst


def with_gaps(*shape: int) -> Array:
    """A series, a fifth of which is missing."""
    rng = np.random.default_rng(5)
    y = rng.normal(size=shape)
    y[rng.random(shape) < 0.2] = np.nan
    return y


DIAGONAL = {"H": np.diag([0.5, 0.7])}


def test_products_with_the_hessian() -> None:
    """By every argument, with gaps and correlated errors."""
    assert error_of_products(some(4, 2, 2, 1), with_gaps(12, 2), "T Z H Q R c d a0 P0") < 1e-9


def test_where_nothing_is_known_at_first() -> None:
    kinds = ["diffuse", "known", "diffuse", "diffuse"]
    assert error_of_products(some(4, 2, 4, 1) | DIAGONAL, with_gaps(12, 2), "T Z Q R c d", initial=kinds) < 1e-9


def test_where_the_filter_settles_and_for_a_panel() -> None:
    given = some(2, 2, 2, 3) | DIAGONAL
    given["T"] = given["T"] * 0.5
    y = np.random.default_rng(1).normal(size=(2, 80, 2))
    y[0, 40] = np.nan
    assert error_of_products(given, y, "T Z Q c a0") < 1e-8


def test_matrices_that_vary_in_time() -> None:
    given = some(2, 1, 2, 6)
    moving = {name: np.stack([x * (1 + 0.1 * k) for k in range(8)]) for name, x in given.items() if name[-1] != "0"}
    found = error_of_products(given | moving, with_gaps(8, 1), "T Z H Q c d", varying="T Z H Q R c d")
    assert found < 1e-9


def test_the_laplace_approximation_is_exact_where_the_posterior_is_normal() -> None:
    """An unknown mean of an autoregression, by generalised least squares."""
    y = np.random.default_rng(1).normal(size=30) + 2.0
    with pm.Model() as model:
        mean = pm.Normal("mean", 0, 3)
        space = {"T": [[0.6]], "Z": [[1.0]], "H": [[0.2]], "Q": [[1.0]], "initial": "stationary"}
        pm.LinearGaussianStateSpace("y", **space, d=mean.reshape((1,)), observed=y[:, None])
        fitted = pm.fit_laplace(random_seed=1)
    apart = np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    weights = np.linalg.inv(0.6**apart / (1 - 0.36) + 0.2 * np.eye(30))
    precision = weights.sum() + 1 / 9
    found = model.compile_d2logp()({"mean": 0.3})
    assert np.abs(found) == pytest.approx(precision, rel=1e-10)
    draws = fitted.posterior["mean"].values.ravel()
    error = 5 / np.sqrt(len(draws) * precision)
    assert draws.mean() == pytest.approx((weights @ y).sum() / precision, abs=error)


def test_slopes_are_0_where_the_density_is() -> None:
    """An observation that is impossible, and a process without a stationary distribution."""
    T, Q = pt.scalar("T"), pt.scalar("Q")
    space = {"Z": [[1.0]], "H": [[0.0]], "T": T.reshape((1, 1)), "Q": Q.reshape((1, 1)), "P0": [[1.0]]}
    y = np.arange(40.0)[:, None]
    density = pm.logp(pm.LinearGaussianStateSpace.dist(**space, steps=39), y)
    slopes = pt.grad(density, [T, Q])
    found = pm.function([T, Q], [density, *slopes, *pt.grad(slopes[0], [T, Q])])
    assert [float(x) for x in found(0.5, 0.0)] == [-np.inf, 0.0, 0.0, 0.0, 0.0]
    assert np.isfinite(found(0.5, 1.0)).all()
    del space["P0"]
    with pm.Model() as model:
        rho = pm.Flat("rho")
        own = space | {"T": rho.reshape((1, 1)), "Q": [[1.0]], "initial": "stationary"}
        pm.LinearGaussianStateSpace("y", **own, observed=y)
    assert model.compile_logp()({"rho": 1.3}) == -np.inf
    assert model.compile_dlogp()({"rho": 1.3}) == 0.0
    assert model.compile_dlogp()({"rho": 0.9}) != 0.0


def error_of_slopes(given: dict[str, Any], y: Array, names: str, what: str, **more: Any) -> float:
    """How far slopes of a random sum of states or residuals are from differences, relative to 1 + their size."""
    rng = np.random.default_rng(2)
    inputs = {name: pt.tensor(name, shape=np.shape(given[name])) for name in names.split()}
    rv = pm.LinearGaussianStateSpace.dist(**{**given, **inputs}, **more, steps=y.shape[-2] - 1)
    if what == "last covariance":
        found = Filtered(space_of(rv), pt.as_tensor(y)).last_covariance()
    else:
        found = getattr(ss, what)(rv, y)
    at = [np.asarray(given[name], float) for name in inputs]
    weights = rng.normal(size=found.eval(dict(zip(inputs.values(), at, strict=True))).shape)
    weights = weights + weights.swapaxes(-1, -2) if what == "last covariance" else weights
    total = pt.sum(pt.where(pt.isnan(found), 0.0, found) * weights)
    both = pm.function([*inputs.values()], [total, *pt.grad(total, [*inputs.values()])])
    worst = 0.0
    for k, (name, slope) in enumerate(zip(inputs, both(*at)[1:], strict=True)):
        way = 0.3 * at[k] if name in ("Q", "H", "P0") else rng.normal(size=at[k].shape)
        ends = [both(*at[:k], at[k] + s * 1e-5 * way, *at[k + 1 :])[0] for s in (-2, -1, 1, 2)]
        wanted = (8 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / 12e-5
        worst = max(worst, abs(np.sum(slope * way) - wanted) / (1 + abs(wanted)))
    return worst


@pytest.mark.parametrize("what", ["filtered_states", "smoothed_states", "one_step_residuals", "last covariance"])
def test_slopes_of_states_and_residuals(what: str) -> None:
    """By every argument, with gaps: known and diffuse first states, with noise and without, moving matrices, a panel."""
    y, kinds = with_gaps(12, 2), ["diffuse", "known", "diffuse", "diffuse"]
    assert error_of_slopes(some(4, 2, 2, 1), y, "T Z H Q R c d a0 P0", what) < 1e-8
    assert error_of_slopes(some(4, 2, 4, 1) | DIAGONAL, y, "T Z H Q R c d a0", what, initial=kinds) < 1e-8
    exact = some(4, 2, 4, 1) | {"H": np.zeros((2, 2))}
    assert error_of_slopes(exact, y, "T Z Q R c d a0", what, initial=kinds) < 1e-8
    given = some(2, 1, 2, 6)
    moving = {name: np.stack([x * (1 + 0.1 * k) for k in range(8)]) for name, x in given.items() if name[-1] != "0"}
    assert error_of_slopes(given | moving, with_gaps(8, 1), "T Z H Q c d", what, varying="T Z H Q R c d") < 1e-8
    assert error_of_slopes(some(2, 2, 2, 3) | DIAGONAL, with_gaps(3, 9, 2), "T Z Q c a0", what) < 1e-8


def test_slopes_of_states_where_the_filter_has_settled() -> None:
    given = some(2, 2, 2, 3) | DIAGONAL
    given["T"] = given["T"] * 0.5
    y = np.random.default_rng(1).normal(size=(80, 2))
    assert error_of_slopes(given, y, "T Z H Q c", "filtered_states") < 1e-8
    assert error_of_slopes(given, y, "T Z H Q c", "smoothed_states") < 1e-8


def test_a_likelihood_may_depend_on_the_states_of_a_series() -> None:
    """The posterior of a coefficient on the smoothed level is that of a regression on it."""
    rng = np.random.default_rng(3)
    level = rng.normal(size=60).cumsum()
    y, z = level + rng.normal(size=60), 2.0 * level + rng.normal(size=60)
    space = {"T": [[1.0]], "Z": [[1.0]], "H": [[1.0]], "Q": [[1.0]], "initial": "diffuse"}
    with pm.Model() as model:
        seen = pm.LinearGaussianStateSpace("y", **space, observed=y[:, None])
        found = pm.Deterministic("level", ss.smoothed_states(seen)[:, 0])
        pm.Normal("z", pm.Flat("slope") * found, 1.0, observed=z)
    smooth = found.eval()
    slope = model.compile_dlogp()({"slope": 0.5})
    assert slope == pytest.approx(np.sum((z - 0.5 * smooth) * smooth), rel=1e-10)
    with pm.Model(), pytest.raises(ModelError, match="`x`"):
        ss.filtered_states(pm.Normal("x"))
    with pm.Model(), pytest.raises(ModelError, match="`w` is not observed"):
        ss.filtered_states(pm.LinearGaussianStateSpace("w", **space | {"initial": "known", "P0": [[1.0]]}, steps=3))
