"""Vectors, matrices and series of which single numbers are missing: densities, draws and posteriors of the whole."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.errors import ImputationWarning

QUIET: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False}
COV = np.array([[2.0, 0.5, 0.2], [0.5, 1.0, 0.3], [0.2, 0.3, 1.5]])
SERIES = np.array([0.5, 1.0, 0.25, 1.5, 2.0])
ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [0.5, 2.0, 1.0]])
GAPS = np.array([[False, True, False], [False, False, False], [True, False, True]])
SERIES_GAPS = np.array([False, True, True, False, True])
ADJACENT = np.eye(5, k=1) + np.eye(5, k=-1)

Declared = tuple[Callable[..., Any], np.ndarray, np.ndarray]
DISTRIBUTIONS: dict[str, Declared] = {
    "MvNormal": (lambda m, **k: pm.MvNormal("y", m * np.ones(3), COV, **k), ROWS, GAPS),
    "one vector": (lambda m, **k: pm.MvNormal("y", m * np.ones(3), COV, **k), ROWS[0], GAPS[0]),
    "by factor": (lambda m, **k: pm.MvNormal("y", m, chol=np.linalg.cholesky(COV), **k), ROWS, GAPS),
    "by precision": (lambda m, **k: pm.MvNormal("y", m, tau=COV, **k), ROWS, GAPS),
    "MvStudentT": (lambda m, **k: pm.MvStudentT("y", 4.0, m * np.ones(3), scale=COV, **k), ROWS, GAPS),
    "MvLogNormal": (lambda m, **k: pm.MvLogNormal("y", m * np.ones(3), COV, **k), ROWS, GAPS),
    "MatrixNormal": (lambda m, **k: pm.MatrixNormal("y", m * np.ones((3, 3)), rowcov=COV, colcov=COV, **k), ROWS, GAPS),
    "Mixture": (
        lambda m, **k: pm.Mixture("y", [0.4, 0.6], [pm.MvNormal.dist(m * np.ones(3), s * COV) for s in (1, 2)], **k),
        ROWS,
        GAPS,
    ),
    "GaussianRandomWalk": (
        lambda m, **k: pm.GaussianRandomWalk("y", m, 1.0, init_dist=pm.Normal.dist(0, 2), **k), SERIES, SERIES_GAPS,
    ),
    "AR": (
        lambda m, **k: pm.AR("y", [m, 0.3], 1.0, init_dist=pm.Normal.dist(0, 2, shape=2), **k), SERIES, SERIES_GAPS
    ),
    "GARCH11": (lambda m, **k: pm.GARCH11("y", 1.0, 0.2, 0.3, 1.0 + m**2, **k), SERIES, SERIES_GAPS),
    "CAR": (lambda m, **k: pm.CAR("y", m * np.ones(5), ADJACENT, 0.5, 1.0, **k), SERIES, SERIES_GAPS),
    "MvGaussianRandomWalk": (
        lambda m, **k: pm.MvGaussianRandomWalk(
            "y", m * np.ones(3), COV, init_dist=pm.MvNormal.dist(np.zeros(3), np.eye(3)), **k
        ),
        ROWS,
        GAPS,
    ),
    "CustomDist": (
        lambda m, **k: pm.CustomDist(
            "y", m, logp=lambda v, m: -((v - m) ** 2).sum(-1) * v[..., 0] ** 2, signature="()->(3)", **k
        ),
        ROWS,
        GAPS,
    ),
}  # fmt: skip


def with_gaps(declare: Callable[..., Any], values: np.ndarray, gaps: np.ndarray, **settings: Any) -> pm.Model:
    with pm.Model(coords={"row": list("abc"), "part": [1, 2, 3]}) as model:
        m = pm.Normal("m")
        with pytest.warns(ImputationWarning, match="`y_unobserved`"):
            declare(m, observed=np.ma.masked_array(values, gaps), **settings)
    return model


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_missing_numbers_are_parameters_of_the_joint_density(name: str) -> None:
    """It is that of the whole, with the missing numbers where they belong."""
    declare, values, gaps = DISTRIBUTIONS[name]
    model = with_gaps(declare, values, gaps)
    with pm.Model() as complete:
        m = pm.Normal("m")
        declare(m, observed=values)
    free = model.free[0] if model.free[0].name != "m" else model.free[1]
    positive = name == "MvLogNormal"
    point = {"m": np.array(0.3), str(free.value.name): np.log(values[gaps]) if positive else values[gaps]}
    wanted = complete.compile_logp(mode="reference")({"m": 0.3}) + (np.log(values[gaps]).sum() if positive else 0.0)
    assert model.compile_logp(mode="reference")(point) == pytest.approx(wanted, rel=1e-12)
    gradient = model.compile_dlogp(mode="reference")(point)
    h = 1e-5
    place = 1 if model.free[0].name == "m" else 0
    for i in range(int(gaps.sum())):
        up, down = dict(point), dict(point)
        key = str(free.value.name)
        up[key], down[key] = point[key].copy(), point[key].copy()
        up[key][i] += h
        down[key][i] -= h
        f = model.compile_logp(mode="reference")
        assert gradient[place + i] == pytest.approx((f(up) - f(down)) / (2 * h), rel=1e-5, abs=1e-6)


def test_both_parts_are_one_draw_of_the_vector() -> None:
    declare, values, gaps = DISTRIBUTIONS["MvNormal"]
    model = with_gaps(declare, values, gaps, dims=("row", "part"))
    drawn = pm.sample_prior_predictive(6000, model=model, random_seed=1)
    whole = (drawn.prior["y"] - drawn.prior["m"]).to_numpy()[0]
    for row in (0, 2):
        np.testing.assert_allclose(np.cov(whole[:, row].T), COV, atol=0.12)
    np.testing.assert_array_equal(drawn.prior["y"].to_numpy()[..., ~gaps], drawn.prior_predictive["y_observed"])
    np.testing.assert_array_equal(drawn.prior["y"].to_numpy()[..., gaps], drawn.prior["y_unobserved"])


def test_posterior_predictions_and_likelihoods_are_those_of_the_vector() -> None:
    """The missing numbers given the others are normal: mean and covariance by the rules of conditioning."""
    with pm.Model(coords={"part": list("abc")}) as model, pytest.warns(ImputationWarning):
        pm.MvNormal("y", np.zeros(3), COV, observed=[1.0, None, 2.0], dims="part")
    tree = pm.sample(3000, tune=500, model=model, random_seed=1, **QUIET)
    there = [0, 2]
    slope = COV[1, there] @ np.linalg.inv(COV[np.ix_(there, there)])
    mean, spread = slope @ [1.0, 2.0], np.sqrt(COV[1, 1] - slope @ COV[there, 1])
    drawn = tree.posterior["y_unobserved"].to_numpy().ravel()
    assert drawn.mean() == pytest.approx(mean, abs=0.05)
    assert drawn.std() == pytest.approx(spread, rel=0.05)
    assert tree.posterior["y"].dims == ("chain", "draw", "part")
    np.testing.assert_array_equal(tree.posterior["y"][0, 0, there], [1.0, 2.0])
    predictive = pm.sample_posterior_predictive(tree, model=model, random_seed=1).posterior_predictive
    np.testing.assert_array_equal(predictive["y"][..., 1], tree.posterior["y_unobserved"][..., 0])
    np.testing.assert_allclose(np.cov(predictive["y_observed"].to_numpy().reshape(-1, 2).T), COV[::2, ::2], atol=0.1)
    tree = pm.compute_log_likelihood(tree, model=model)
    whole = tree.posterior["y"].to_numpy().reshape(-1, 3)
    wanted = stats.multivariate_normal(np.zeros(3), COV).logpdf(whole)
    np.testing.assert_allclose(tree.log_likelihood["y_observed"].to_numpy().ravel(), wanted, rtol=1e-10)


def test_vectors_that_lack_as_wholes_are_rows_of_their_own() -> None:
    """One likelihood per vector that is there; parameters of each row stay with it."""
    mean = np.arange(9.0).reshape(3, 3)
    gaps = np.array([[False] * 3, [True] * 3, [False] * 3])
    with pm.Model() as model, pytest.warns(ImputationWarning):
        pm.MvNormal("y", mean, COV, observed=np.where(gaps, np.nan, ROWS))
    value = np.array([[0.1, 0.2, 0.3]])
    whole = np.where(gaps, value, ROWS)
    terms = [stats.multivariate_normal(m, COV).logpdf(x) for m, x in zip(mean, whole, strict=True)]
    assert model.compile_logp()({"y_unobserved": value}) == pytest.approx(sum(terms))
    draws = {"y_unobserved": value[None, None]}
    found = pm.compute_log_likelihood(draws, model=model, extend_inferencedata=False)["y_observed"]
    np.testing.assert_allclose(found[0, 0], [terms[0], terms[2]])
    np.testing.assert_array_equal(pm.compute_deterministics(draws, model=model)["y"][0, 0], whole)


def test_models_with_parts_of_vectors_are_copied_and_conditioned() -> None:
    declare, values, gaps = DISTRIBUTIONS["MvNormal"]
    model = with_gaps(declare, values, gaps)
    point = {"m": np.array(0.3), "y_unobserved": values[gaps]}
    wanted = model.compile_logp(mode="reference")(point)
    for made in (pickle.loads(pickle.dumps(model)), model.copy(), pm.observe(model, {"m": 0.3})):
        own = point if "m" in [v.name for v in made.free] else {"y_unobserved": values[gaps]}
        assert made.compile_logp(mode="reference")(own) == pytest.approx(wanted, rel=1e-12)
    with model:
        pm.Normal("z", model["y"], 1.0, observed=values)
    assert model.compile_logp(mode="reference")(point) == pytest.approx(wanted + 9 * stats.norm.logpdf(0), rel=1e-12)


@pytest.mark.parametrize(
    ("declare", "values"),
    [
        (lambda **k: pm.Dirichlet("y", np.ones(3), **k), [0.5, 0.5, np.nan]),
        (lambda **k: pm.Multinomial("y", 4, np.ones(3) / 3, **k), [1, None, 1]),
        (lambda **k: pm.ZeroSumNormal("y", shape=3, **k), [0.5, -0.5, np.nan]),
    ],
)
def test_parts_of_bounded_vectors_are_refused(declare: Callable[..., Any], values: Any) -> None:
    with pm.Model(), pytest.raises(pm.ModelError, match=r"`y` has missing values, but .* are tied to each other"):
        declare(observed=values)
