"""Each conjugate family beside each feature of models: missing data, dims, new data, `do`, `observe`, and results."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ImputationWarning
from consilience.model.summation import without

QUIET: dict[str, Any] = {
    "draws": 60, "tune": 60, "chains": 2, "compute_convergence_checks": False, "progressbar": False, "random_seed": 2,
}  # fmt: skip
K = np.array([[1.0, 0.3], [0.3, 2.0]])
rng = np.random.default_rng(8)


@dataclasses.dataclass(frozen=True)
class Family:
    """`build`: makes a model of data. `title`: of the family of `x`. `log_likelihood`: of data and a draw of `x`."""

    build: Callable[[Any], None]
    title: str
    data: Any
    log_likelihood: Callable[[Any, Any], Any]
    dims: tuple[str, ...] = ("group",)


def rates(y: Any) -> None:
    a = pm.Exponential("a", 1.0)
    pm.Poisson("y", pm.Gamma("x", 1.0 + a, a, dims="group"), observed=y)


def variances(y: Any) -> None:
    a = pm.Exponential("a", 1.0)
    v = pm.InverseGamma("x", 2.0 + a, a, dims="group")
    pm.Normal("y", 0.3, pm.Deterministic("deviation", pt.sqrt(v)), observed=y)


def precisions(y: Any) -> None:
    a = pm.Exponential("a", 1.0)
    pm.Normal("y", 0.3, tau=pm.Gamma("x", 1.0 + a, a, dims="group"), observed=y)


def chances(y: Any) -> None:
    pm.Binomial("y", 5, pm.Beta("x", 1.0 + pm.Exponential("a", 1.0), 2.0, dims="group"), observed=y)


def shares(y: Any) -> None:
    a = pm.Exponential("a", 1.0)
    pm.Multinomial("y", 5, pm.Dirichlet("x", (0.5 + a) * np.ones(3), dims=("group", "kind")), observed=y)


def scaled_rows(y: Any) -> None:
    a = pm.Exponential("a", 1.0)
    v = pm.InverseGamma("x", 2.0 + a, a, dims="group")
    pm.MvNormal("y", np.zeros(2), cov=v[:, None, None] * K, observed=y)


def precision_matrix(y: Any) -> None:
    a = pm.Exponential("a", 1.0)
    pm.MvNormal("y", np.zeros(2), tau=pm.Wishart("x", 3.0 + a, K, dims=("row", "column")), observed=y)


def covariance_matrix(y: Any) -> None:
    a = pm.Exponential("a", 1.0)
    pm.MvNormal("y", np.zeros(2), cov=pm.InverseWishart("x", 3.0 + a, K, dims=("row", "column")), observed=y)


def normal_rows(y: Any, covariances: Any) -> Any:
    solved = (np.linalg.inv(covariances) @ y[..., None])[..., 0]
    return -0.5 * ((y * solved).sum(-1) + np.linalg.slogdet(covariances)[1]) - np.log(2 * np.pi)


VECTORS = rng.normal(size=(4, 2))
SIDES = {"row": ["u", "v"], "column": ["u", "v"]}
MATRIX = {"dims": ("row", "column")}
FAMILIES = [
    Family(rates, "Gamma", rng.poisson(2.0, 4), lambda y, x: stats.poisson.logpmf(y, x)),
    Family(variances, "inverse Gamma", rng.normal(size=4), lambda y, x: stats.norm.logpdf(y, 0.3, np.sqrt(x))),
    Family(precisions, "Gamma", rng.normal(size=4), lambda y, x: stats.norm.logpdf(y, 0.3, x**-0.5)),
    Family(chances, "Beta", rng.integers(0, 6, 4), lambda y, x: stats.binom.logpmf(y, 5, x)),
    Family(
        shares, "Dirichlet", rng.multinomial(5, [0.2, 0.3, 0.5], 4), lambda y, x: stats.multinomial.logpmf(y, 5, x),
        ("group", "kind"),
    ),
    Family(scaled_rows, "inverse Gamma", VECTORS, lambda y, x: normal_rows(y, x[..., None, None] * K)),
    Family(
        precision_matrix, "Wishart", VECTORS, lambda y, x: normal_rows(y, np.linalg.inv(x)[..., None, :, :]), **MATRIX
    ),
    Family(covariance_matrix, "inverse Wishart", VECTORS, lambda y, x: normal_rows(y, x[..., None, :, :]), **MATRIX),
]  # fmt: skip
EACH = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.build.__name__)


def built(family: Family, y: Any, shared: bool = False) -> pm.Model:
    with pm.Model(coords={"group": list("abcd")[: len(y)], "kind": range(3), **SIDES}) as model:
        family.build(pm.Data("data", y) if shared else y)
    return model


def value(model: pm.Model, a: float | None = None) -> float:
    """The density without `x` at a value of `a`."""
    point = {} if a is None else {"a_log__": np.log(a)}
    return float(model.compile_logp()(point))


@EACH
def test_densities_follow_new_data_interventions_and_observations(family: Family) -> None:
    other = family.data[::-1].copy()
    model = built(family, family.data, shared=True)
    collapsed = pm.collapse(model, "x")
    fresh = [pm.collapse(built(family, y), "x") for y in (family.data, other)]
    assert value(collapsed, 1.3) == pytest.approx(value(fresh[0], 1.3), rel=1e-12)
    with collapsed:
        pm.set_data({"data": other})
    assert value(collapsed, 1.3) == pytest.approx(value(fresh[1], 1.3), rel=1e-12)
    # a ~ Exponential(1) has the log density -a, and its logarithm log a more.
    done, seen = (change(built(family, family.data), {"a": 1.3}) for change in (pm.do, pm.observe))
    without_prior = value(fresh[0], 1.3) - np.log(1.3)
    assert value(pm.collapse(seen, "x")) == pytest.approx(without_prior, rel=1e-9)
    assert value(pm.collapse(done, "x")) == pytest.approx(without_prior + 1.3, rel=1e-9)
    assert [v.name for v in pm.do(model, {"x": np.ones(model["x"].type.shape)}).free_RVs] == ["a"]


@EACH
def test_missing_rows_leave_the_density_of_the_others(family: Family) -> None:
    if family.build is shares:
        pytest.skip("counts that add up to a given number are never missing")
    gone = np.zeros(family.data.shape, bool)
    gone[1] = True
    with pytest.warns(ImputationWarning):
        model = built(family, np.ma.masked_array(family.data, gone))
    assert {v.name for v in model.free_RVs} == {"a", "x", "y_unobserved"}
    found = value(without(model, ["x", "y_unobserved"]), 1.3)
    assert found == pytest.approx(value(pm.collapse(built(family, family.data[[0, 2, 3]]), "x"), 1.3), rel=1e-12)


@EACH
def test_results_have_the_variable_again_with_all_that_belongs_to_it(family: Family, tmp_path: Path) -> None:
    model = built(family, family.data)
    settings = {"idata_kwargs": {"log_likelihood": True}, "save": pm.Save(checkpoint=tmp_path / "run")}
    result = pm.sample(model=model, integrate=["x"], **settings, **QUIET)
    posterior = result.posterior
    assert json.loads(posterior.attrs["integrated"]) == {"x": family.title}
    assert posterior["x"].dims == ("chain", "draw", *family.dims)
    x = np.asarray(posterior["x"])
    wanted = np.array([[family.log_likelihood(family.data, draw) for draw in chain] for chain in x])
    np.testing.assert_allclose(result.log_likelihood["y"], wanted, rtol=1e-9)
    if family.build is variances:
        np.testing.assert_allclose(posterior["deviation"], np.sqrt(x))
    drawn = pm.sample_posterior_predictive(result, model=model, random_seed=1, progressbar=False)
    again = np.asarray(drawn.posterior_predictive["y"])
    assert again.shape == (*x.shape[:2], *family.data.shape)
    typical = [family.log_likelihood(own, draw).mean() for own, draw in zip(again[0], x[0], strict=True)]
    assert np.isfinite(typical).all()
    resumed = pm.resume(tmp_path / "run", model=model, progressbar=False)
    np.testing.assert_array_equal(posterior["x"], resumed.posterior["x"])
