"""Missing observations become variables: densities, posteriors and predictions beside those written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from scipy import stats

import consilience as pm
from consilience.errors import ImputationWarning

QUIET: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False}
FORMS = {
    "NaN": [1.0, np.nan, 3.0],
    "masked": np.ma.masked_array([1.0, 7.0, 3.0], mask=[False, True, False]),
    "masked NaN": np.ma.masked_array([1.0, 7.0, np.nan], mask=[False, True, False]),
    "None": [1.0, None, 3.0],
    "Series": pd.Series([1.0, None, 3.0]),
    "nullable integers": pd.Series([1, None, 3], dtype="Int64"),
    "NA": [1.0, pd.NA, 3.0],
    "objects": pd.Series([1, None, 3], dtype=object),
}


def partly(observed: Any, distribution: Any = pm.Normal, *parameters: Any, **settings: Any) -> pm.Model:
    with pm.Model(coords={"row": ["a", "b", "c"]}) as model, pytest.warns(ImputationWarning, match="`y_unobserved`"):
        distribution("y", *parameters, observed=observed, **settings)
    return model


@pytest.mark.parametrize("form", FORMS)
def test_missing_values_are_found_in_every_form_of_data(form: str) -> None:
    model = partly(FORMS[form], pm.Normal, 0.0, 2.0, dims="row")
    assert [v.name for v in model.free] == ["y_unobserved"]
    assert [v.name for v in model.observed] == ["y_observed"]
    lacking = 2 if form == "masked NaN" else 1
    values = np.linspace(-1, 1, lacking)
    there = [1.0] if lacking == 2 else [1.0, 3.0]
    expected = stats.norm(0, 2).logpdf([*there, *values]).sum()
    assert model.compile_logp()({"y_unobserved": values}) == pytest.approx(expected, rel=1e-13)
    assert model.named_vars_to_dims == {"y": ("row",)}


def test_the_whole_has_each_element_in_its_place() -> None:
    data = np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, np.nan]])
    model = partly(data, pm.Normal, np.arange(3.0), 1.0)
    trace = {"y_unobserved": np.array([[[-1.0, -2.0, -3.0]]])}
    whole = pm.compute_deterministics(trace, model=model)
    np.testing.assert_array_equal(whole["y"].values[0, 0], [[1.0, -1.0, 3.0], [-2.0, 5.0, -3.0]])


def test_parts_keep_the_parameters_of_their_elements() -> None:
    mean, scale = np.array([[1.0], [2.0]]), np.array([1.0, 2.0, 3.0])
    data = np.array([[0.5, np.nan, 0.25], [np.nan, -0.5, 4.0]])
    model = partly(data, pm.Normal, mean, scale)
    free = np.array([0.1, 0.2])
    full = data.copy()
    full[np.isnan(full)] = free
    expected = stats.norm(mean, scale).logpdf(full).sum()
    assert model.compile_logp()({"y_unobserved": free}) == pytest.approx(expected, rel=1e-13)


MEANS = np.array([0.0, 1.0, 2.0])
COMPOSED: dict[str, Any] = {
    "mixture of lists": lambda **data: pm.Mixture(
        "y", [0.3, 0.7], [pm.Normal.dist(MEANS, 1.0), pm.StudentT.dist(3.0)], **data
    ),
    "mixture along an axis": lambda **data: pm.NormalMixture(
        "y", w=[[0.3, 0.7]], mu=np.stack([MEANS, MEANS + 1], axis=-1), sigma=[[1.0]], **data
    ),
    "mixture of equal elements": lambda **data: pm.NormalMixture("y", w=[0.3, 0.7], mu=[0.0, 1.0], sigma=1.0, **data),
    "truncated": lambda **data: pm.Truncated("y", pm.Normal.dist(MEANS, 1.0), lower=[-1.0, -2.0, -3.0], **data),
    "censored": lambda **data: pm.Censored("y", pm.Normal.dist(0.0, 1.0), lower=None, upper=MEANS + 1.0, **data),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_parts_of_composed_distributions(name: str) -> None:
    with pm.Model() as model, pytest.warns(ImputationWarning):
        COMPOSED[name](observed=[1.0, None, 0.5])
    with pm.Model() as whole:
        COMPOSED[name](observed=[1.0, 0.25, 0.5])
    (free,) = model.free
    line = np.array([0.25])
    if free.transform is not None:
        line = pm.function([], free.transform.forward(pm.tensor.constant(line)))()
    logp = model.compile_logp(jacobian=False)({str(free.value.name): line})
    assert logp == pytest.approx(whole.compile_logp()({}), rel=1e-12)


def test_probabilities_of_categories_are_those_of_the_elements() -> None:
    p = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    model = partly([1, None, 0], pm.Categorical, p)
    assert model.compile_logp()({"y_unobserved": np.array([1])}) == pytest.approx(np.log(0.8 * 0.5 * 0.9))


def test_variables_with_missing_values_lie_in_the_support() -> None:
    """Exponential observations of unknown rate: what is missing has their predictive distribution, a Lomax."""
    data = [1.0, 2.0, None, 0.5, 1.5]
    with pm.Model():
        rate = pm.Gamma("rate", 3, 2)
        with pytest.warns(ImputationWarning):
            pm.Exponential("y", rate, observed=data)
        tree = pm.sample(4000, random_seed=1, **QUIET)
    law = stats.lomax(3 + 4, scale=2 + 5.0)
    drawn = tree.posterior["y_unobserved"].values.ravel()
    assert (drawn > 0).all()
    assert drawn.mean() == pytest.approx(law.mean(), rel=0.06)
    np.testing.assert_allclose(np.quantile(drawn, [0.25, 0.5, 0.75]), law.ppf([0.25, 0.5, 0.75]), rtol=0.06)
    np.testing.assert_array_equal(tree.posterior["y"][..., [0, 1, 3, 4]].values[0, 0], [1.0, 2.0, 0.5, 1.5])


def test_missing_counts_are_discrete_free_variables() -> None:
    model = partly([3, np.nan, 4], pm.Poisson, 2.0)
    assert model.named_vars["y"].dtype == model.named_vars["y_unobserved"].dtype == "int64"
    assert model.initial_point()["y_unobserved"].tolist() == [2]
    expected = stats.poisson(2).logpmf([3, 4, 6]).sum()
    assert model.compile_logp()({"y_unobserved": np.array([6])}) == pytest.approx(expected)
    drawn = pm.sample(4000, tune=500, model=model, random_seed=1, **QUIET).posterior["y_unobserved"]
    assert drawn.dtype == np.int64
    assert float(drawn.mean()) == pytest.approx(2.0, abs=0.15)


def test_other_variables_may_depend_on_the_whole() -> None:
    """y2 is missing and z2 ~ N(y2, 1) is not: y2 given z2 = 4 and mu = 0 is N(2, 1/2)."""
    with pm.Model() as model:
        with pytest.warns(ImputationWarning):
            y = pm.Normal("y", 0, 1, observed=[1.0, None])
        pm.Normal("z", y, 1, observed=[1.0, 4.0])
    tree = pm.sample(4000, model=model, random_seed=1, **QUIET)
    assert float(tree.posterior["y_unobserved"].mean()) == pytest.approx(2.0, abs=0.05)
    assert float(tree.posterior["y_unobserved"].var()) == pytest.approx(0.5, rel=0.08)
    predictive = pm.sample_posterior_predictive(tree, model=model, random_seed=1).posterior_predictive
    assert list(predictive.data_vars) == ["y_observed", "z", "y"]
    np.testing.assert_array_equal(predictive["y"][..., 1], tree.posterior["y_unobserved"][..., 0])
    np.testing.assert_array_equal(predictive["y"][..., 0], predictive["y_observed"][..., 0])


def test_missing_values_may_depend_on_others_in_chains() -> None:
    """Predictors with gaps, and supports that end at variables with gaps."""

    def chain() -> None:
        b = pm.Normal("b")
        x = pm.Normal("x", 0, 2, observed=[1.0, None, 3.0])
        y = pm.Uniform("y", 0, 4 + x, observed=[1.0, 2.0, None])
        pm.Normal("z", b * x * y, 1, observed=[None, 1.0, None])

    with pm.Model() as model, pytest.warns(ImputationWarning):
        chain()
    point = {"b": 0.5, "x_unobserved": np.array([2.0]), "y_unobserved_interval__": np.array([0.0])}
    point["z_unobserved"] = np.array([0.1, 0.2])
    whole_x, whole_y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.5])
    wanted = stats.norm.logpdf(0.5) + stats.norm(0, 2).logpdf(whole_x).sum()
    wanted += stats.uniform(0, 4 + whole_x).logpdf(whole_y).sum() + np.log(7 / 4)
    wanted += stats.norm(0.5 * whole_x * whole_y).logpdf([0.1, 1.0, 0.2]).sum()
    for mode in ("llvm", "reference"):
        assert model.compile_logp(mode=mode)(point) == pytest.approx(wanted, rel=1e-12)
    start = model.initial_point()
    assert float(model.compile_logp()(start)) > -np.inf
    drawn = pm.sample(20, tune=50, chains=1, model=model, random_seed=1, **QUIET).posterior
    np.testing.assert_array_equal(drawn["y"][..., :2], np.broadcast_to([1.0, 2.0], (1, 20, 2)))
    assert (drawn["y"][..., 2] < 4 + drawn["x"][..., 2]).all()
    assert set(pm.sample_prior_predictive(3, model=model, random_seed=1).prior.data_vars) > {"x", "y", "z"}


def test_all_values_may_be_missing() -> None:
    model = partly([None, None, None], pm.Normal, 0.0, 1.0)
    assert model.compile_logp()({"y_unobserved": np.zeros(3)}) == pytest.approx(3 * stats.norm.logpdf(0))


def test_data_that_decide_lengths_keep_them_where_values_are_missing() -> None:
    with pm.Model() as model:
        x = pm.Data("x", [1.0, 2.0, 3.0], dims="row")
        b = pm.Normal("b")
        with pytest.warns(ImputationWarning):
            pm.Normal("y", b * x, 1, observed=[1.0, None, 3.0], dims="row")
    assert np.isfinite(model.compile_logp()(model.initial_point()))
    model.set_data("x", [1.0, 2.0])
    with pytest.raises(pm.ShapeError, match="data with missing values keep their length"):
        pm.sample_prior_predictive(3, model=model, random_seed=1)


def test_what_cannot_be_imputed_is_refused() -> None:
    with pm.Model():
        with pytest.raises(pm.ModelError, match="then takes no `transform`"):
            pm.HalfNormal("h", observed=[1.0, None], transform=pm.distributions.transforms.log)
        with pytest.raises(pm.ShapeError, match=r"`observed` of `s` has shape \(2,\), .* shape \(3,\)"):
            pm.Normal("s", shape=3, observed=[1.0, None])
        with pytest.raises(pm.SupportError, match="`observed` of `e_observed`"):
            pm.Exponential("e", 1.0, observed=[-1.0, None])


def test_data_of_other_kinds_do_not_become_variables() -> None:
    with pm.Model() as model:
        pm.Normal("x", shape=2)
        with pytest.raises(pm.SupportError, match="has 1 NaN"):
            pm.observe(model, {"x": [1.0, np.nan]})
        pm.Normal("y_unobserved")
        with pytest.raises(pm.ModelError, match="`y_unobserved` already"):
            pm.Normal("y", observed=[None, 1.0])
    assert "y_observed" not in model


@pytest.mark.parametrize("name", ["OrderedLogistic", "OrderedProbit"])
def test_probabilities_of_ordered_categories_are_kept_where_data_are_missing(name: str) -> None:
    with pm.Model() as model:
        eta = pm.Normal("eta")
        with pytest.warns(ImputationWarning):
            getattr(pm, name)("y", eta=eta, cutpoints=[-1.0, 0.0, 2.0], observed=[0, np.nan, 1])
    with pm.Model() as complete:
        eta = pm.Normal("eta")
        getattr(pm, name)("y", eta=eta, cutpoints=[-1.0, 0.0, 2.0], observed=[0, 2, 1])
    point = {"eta": 0.3}
    found = [made["y_probs"].eval({made["eta"]: 0.3}) for made in (model, complete)]
    np.testing.assert_allclose(*found)
    assert model.compile_logp()({**point, "y_unobserved": [2]}) == pytest.approx(complete.compile_logp()(point))
