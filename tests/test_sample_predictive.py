"""Predictions from prior and posterior: moments, seeds, dims, and laws known in closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import consilience as pm
from consilience.errors import OutOfBoundsError
from consilience.ir import Node

QUIET: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False}


def hierarchy() -> pm.Model:
    with pm.Model(coords={"group": ["a", "b", "c"]}) as model:
        mu = pm.Normal("mu", 1, 2)
        s = pm.HalfNormal("s", 1.0)
        z = pm.Normal("z", mu, 0.5, dims="group")
        pm.Deterministic("twice", 2 * z, dims="group")
        pm.Normal("y", z, s, observed=[0.5, 1.0, 2.0], dims="group")
        pm.Poisson("n", pm.math.exp(mu / 4), observed=[1, 2])
    return model


def test_prior_predictive_has_the_prior_s_moments() -> None:
    """mu ~ N(1, 2), z ~ N(mu, 1/2), y ~ N(z, s), s half normal of unit scale."""
    draws = 40_000
    tree = pm.sample_prior_predictive(draws, model=hierarchy(), random_seed=1)
    prior, predictive = tree.prior, tree.prior_predictive
    error = 5 / np.sqrt(draws)
    assert prior["mu"].mean() == pytest.approx(1, abs=2 * error)
    assert prior["mu"].std() == pytest.approx(2, abs=2 * error)
    assert prior["s"].mean() == pytest.approx(np.sqrt(2 / np.pi), abs=error)
    np.testing.assert_allclose(prior["z"].var(("chain", "draw")), 4.25, atol=4.25 * 1.5 * error)
    np.testing.assert_allclose(predictive["y"].var(("chain", "draw")), 5.25, atol=5.25 * 2 * error)
    np.testing.assert_allclose(prior["twice"], 2 * prior["z"])
    rate = np.exp(0.25 + 0.5 * 0.25)  # of exp(mu / 4)
    np.testing.assert_allclose(predictive["n"].mean(("chain", "draw")), rate, atol=2 * error)
    # The groups share mu and nothing else.
    correlation = np.corrcoef(prior["z"].values.reshape(draws, 3).T)
    np.testing.assert_allclose(correlation[np.triu_indices(3, 1)], 4 / 4.25, atol=error)


@pytest.mark.parametrize("name", ["mu", "y"])
def test_groups_of_the_prior_are_there_whatever_is_asked_for(name: str) -> None:
    tree = pm.sample_prior_predictive(3, model=hierarchy(), var_names=[name], random_seed=1)
    assert {"prior", "prior_predictive"} <= set(tree.children)
    assert [*tree.prior.data_vars, *tree.prior_predictive.data_vars] == [name]
    with pm.Model() as unobserved:
        pm.Normal("x")
    assert set(pm.sample_prior_predictive(3, model=unobserved, random_seed=1).children) == {"prior"}


def test_prior_predictive_has_dims_and_dtypes() -> None:
    tree = pm.sample_prior_predictive(7, model=hierarchy(), random_seed=1)
    assert set(tree.children) == {"prior", "prior_predictive", "observed_data"}
    assert list(tree.prior.data_vars) == ["mu", "s", "z", "twice"]
    assert tree.prior["z"].dims == ("chain", "draw", "group")
    assert tree.prior["group"].values.tolist() == ["a", "b", "c"]
    assert tree.prior_predictive["y"].shape == (1, 7, 3)
    assert tree.prior_predictive["n"].dtype == np.int64
    assert tree.prior_predictive["n"].dims == ("chain", "draw", "n_dim_0")


def test_same_seed_same_draws_whatever_else_is_asked_for() -> None:
    whole = pm.sample_prior_predictive(50, model=hierarchy(), random_seed=1)
    again = pm.sample_prior_predictive(50, model=hierarchy(), random_seed=1)
    part = pm.sample_prior_predictive(20, model=hierarchy(), random_seed=1, var_names=["y", "mu"])
    other = pm.sample_prior_predictive(50, model=hierarchy(), random_seed=2)
    np.testing.assert_array_equal(whole.prior["z"], again.prior["z"])
    np.testing.assert_array_equal(whole.prior["mu"][:, :20], part.prior["mu"])
    np.testing.assert_array_equal(whole.prior_predictive["y"][:, :20], part.prior_predictive["y"])
    assert list(part.prior.data_vars) == ["mu"]
    assert list(part.prior_predictive.data_vars) == ["y"]
    assert not np.array_equal(whole.prior["mu"], other.prior["mu"])


def test_variables_of_equal_parameters_are_independent() -> None:
    with pm.Model():
        for i in range(4):
            pm.Normal(f"x{i}", shape=2)
        tree = pm.sample_prior_predictive(20_000, random_seed=3)
    draws = np.concatenate([tree.prior[f"x{i}"].values[0] for i in range(4)], axis=1)
    correlation = np.corrcoef(draws.T) - np.eye(8)
    assert np.abs(correlation).max() < 5 / np.sqrt(20_000)
    assert np.abs(np.corrcoef(draws[1:, 0], draws[:-1, 0])[0, 1]) < 5 / np.sqrt(20_000)


@pytest.mark.parametrize(
    ("declare", "law"),
    [
        (lambda: pm.Normal("x", 1, 2), stats.norm(1, 2)),
        (lambda: pm.StudentT("x", 5, 1, 2), stats.t(5, 1, 2)),
        (lambda: pm.Uniform("x", -1, 3), stats.uniform(-1, 4)),
        (lambda: pm.Gamma("x", 0.7, 2), stats.gamma(0.7, scale=0.5)),
        (lambda: pm.InverseGamma("x", 3, 2), stats.invgamma(3, scale=2)),
        (lambda: pm.Beta("x", 0.6, 3), stats.beta(0.6, 3)),
        (lambda: pm.LogNormal("x", 0.1, 0.7), stats.lognorm(0.7, scale=np.exp(0.1))),
        (lambda: pm.HalfCauchy("x", 2), stats.halfcauchy(0, 2)),
        (lambda: pm.Laplace("x", 1, 2), stats.laplace(1, 2)),
        (lambda: pm.Exponential("x", 3), stats.expon(0, 1 / 3)),
    ],
)
def test_prior_draws_have_the_distribution_of_the_declaration(declare: Any, law: Any) -> None:
    with pm.Model():
        declare()
        tree = pm.sample_prior_predictive(5000, random_seed=11)
    assert stats.kstest(tree.prior["x"].values.ravel(), law.cdf).pvalue > 1e-4


def test_predictions_of_a_conjugate_normal_model() -> None:
    """Prior N(0, 1), four observations of unit variance: y ~ N(2, 1 + 1/5)."""
    with pm.Model():
        mu = pm.Normal("mu", 0, 1)
        pm.Normal("y", mu, 1, observed=[2.0, 2.5, 2.5, 3.0])
        tree = pm.sample(2500, random_seed=1, **QUIET)
        result = pm.sample_posterior_predictive(tree, random_seed=2, extend_inferencedata=True)
    assert result is tree
    draws = result.posterior_predictive["y"].values.reshape(-1, 4)
    np.testing.assert_allclose(draws.mean(axis=0), 2.0, atol=0.06)
    np.testing.assert_allclose(draws.var(axis=0), 1.2, atol=0.09)
    # New observations share mu, and mu alone.
    np.testing.assert_allclose(np.cov(draws.T)[np.triu_indices(4, 1)], 0.2, atol=0.06)


def test_predictions_of_a_beta_binomial_model() -> None:
    with pm.Model():
        p = pm.Beta("p", 2, 3)
        pm.Binomial("y", 20, p, observed=[12, 15])
        tree = pm.sample(2500, random_seed=1, **QUIET)
        pm.sample_posterior_predictive(tree, random_seed=2, extend_inferencedata=True)
    posterior = stats.beta(2 + 27, 3 + 13)
    assert tree.posterior["p"].mean() == pytest.approx(posterior.mean(), abs=0.006)
    assert tree.posterior["p"].std() == pytest.approx(posterior.std(), abs=0.006)
    predicted = tree.posterior_predictive["y"].values.ravel()
    law = stats.betabinom(20, 29, 16)
    assert predicted.mean() == pytest.approx(law.mean(), abs=0.15)
    assert predicted.var() == pytest.approx(law.var(), rel=0.08)
    frequencies = np.bincount(predicted, minlength=21) / predicted.size
    np.testing.assert_allclose(frequencies, law.pmf(np.arange(21)), atol=0.012)


def test_predictions_of_a_gamma_poisson_model() -> None:
    counts = np.array([3, 5, 4, 6])
    with pm.Model():
        rate = pm.Gamma("rate", 2, 0.5)
        pm.Poisson("y", rate, observed=counts)
        tree = pm.sample(2500, random_seed=1, **QUIET)
        pm.sample_posterior_predictive(tree, random_seed=2, extend_inferencedata=True)
    shape, scale = 2 + counts.sum(), 1 / (0.5 + 4)
    assert tree.posterior["rate"].mean() == pytest.approx(shape * scale, abs=0.06)
    assert tree.posterior["rate"].var() == pytest.approx(shape * scale**2, rel=0.12)
    law = stats.nbinom(shape, 1 / (1 + scale))
    predicted = tree.posterior_predictive["y"].values.ravel()
    assert predicted.mean() == pytest.approx(law.mean(), abs=0.1)
    assert predicted.var() == pytest.approx(law.var(), rel=0.08)


def short_run(model: pm.Model) -> Any:
    return pm.sample(100, tune=100, chains=2, random_seed=1, model=model, **QUIET)


def test_deterministics_are_computed_anew_from_the_posterior() -> None:
    model = hierarchy()
    tree = short_run(model)
    result = pm.sample_posterior_predictive(tree, var_names=["twice", "y"], model=model, random_seed=1)
    np.testing.assert_allclose(result.posterior_predictive["twice"], 2 * tree.posterior["z"])
    assert result.posterior_predictive["y"].dims == ("chain", "draw", "group")


def test_variables_that_the_trace_lacks_are_drawn_from_the_prior() -> None:
    model = hierarchy()
    tree = short_run(model)
    part = tree.copy()
    part["posterior"] = tree.posterior.to_dataset().drop_vars(["z", "twice"])
    result = pm.sample_posterior_predictive(part, var_names=["z"], model=model, random_seed=1)
    residual = result.posterior_predictive["z"] - tree.posterior["mu"]
    assert float(residual.mean()) == pytest.approx(0.0, abs=0.1)
    assert float(residual.std()) == pytest.approx(0.5, abs=0.06)
    with pytest.warns(pm.ConsilienceWarning, match="no draws of `z`, so they are drawn from their prior"):
        pm.sample_posterior_predictive(part, model=model, random_seed=1)


def test_predictions_for_other_data_have_groups_of_their_own() -> None:
    with pm.Model(coords={"obs": [1, 2, 3]}) as model:
        x = pm.Data("x", [1.0, 2.0, 3.0], dims="obs")
        b = pm.Normal("b", 0, 10)
        pm.Deterministic("mean", b * x, dims="obs")
        pm.Normal("y", b * x, 0.1, observed=[1.0, 2.0, 3.0], dims="obs")
        tree = short_run(model)
        pm.set_data({"x": [10.0, 20.0]}, coords={"obs": ["new", "newer"]})
        result = pm.sample_posterior_predictive(tree, predictions=True, random_seed=1, var_names=["mean", "y"])
        assert set(result.children) == {"predictions", "predictions_constant_data"}
        assert "predictions" not in tree
    assert result.predictions["y"].dims == ("chain", "draw", "obs")
    assert result.predictions["obs"].values.tolist() == ["new", "newer"]
    np.testing.assert_allclose(result.predictions["y"].mean(("chain", "draw")), [10.0, 20.0], rtol=0.05)
    np.testing.assert_allclose(result.predictions["mean"][..., 1], 20 * tree.posterior["b"])
    np.testing.assert_array_equal(result.predictions_constant_data["x"], [10.0, 20.0])
    np.testing.assert_array_equal(tree.constant_data["x"], [1.0, 2.0, 3.0])


def test_predictions_are_a_tree_of_their_own_with_the_data_of_the_moment() -> None:
    with pm.Model() as model:
        x = pm.Data("x", [1.0, 2.0])
        b = pm.Normal("b", 0, 1)
        pm.Normal("y", b * x, 1, observed=[1.0, 2.0])
        tree = short_run(model)
        before = pm.sample_posterior_predictive(tree, random_seed=1)
        pm.set_data({"x": [10.0, 20.0]})
        after = pm.sample_posterior_predictive(tree, random_seed=1)
    assert set(before.children) == set(after.children) == {"posterior_predictive", "observed_data", "constant_data"}
    assert set(tree.children) == {"posterior", "sample_stats", "observed_data", "constant_data"}
    np.testing.assert_array_equal(before.constant_data["x"], [1.0, 2.0])
    np.testing.assert_array_equal(after.constant_data["x"], [10.0, 20.0])
    grown = pm.sample_posterior_predictive(tree, model=model, random_seed=1, extend_inferencedata=True)
    assert grown is tree
    np.testing.assert_array_equal(tree.constant_data["x"], [10.0, 20.0])


def test_draws_that_are_nan_are_told_of() -> None:
    with pm.Model() as model:
        s = pm.Normal("s", 0, 1)
        pm.Normal("y", 0, s)
        with pytest.warns(pm.ConsilienceWarning, match=r"draws are NaN.* `y` \(\d+ of 100, `sigma` is not > 0\)"):
            pm.sample_prior_predictive(100, random_seed=1)
    trace = {"s": np.array([[1.0, -1.0, 2.0]])}
    with pytest.warns(pm.ConsilienceWarning, match=r"draws are NaN.* `y` \(1 of 3, `sigma` is not > 0\)"):
        pm.sample_posterior_predictive(trace, model, var_names=["y"], random_seed=1)


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda a: pm.Categorical("y", p=pm.math.stack([a, 1 - a])), "p"),
        (lambda a: pm.Binomial("y", n=4, p=a), "p"),
        (lambda a: pm.Multinomial("y", n=4, p=pm.math.stack([a, 1 - a])), "p"),
        (lambda a: pm.Poisson("y", mu=pm.Data("d", -2.0) * pm.math.exp(a)), "mu"),
        (lambda a: pm.Gamma("y", alpha=2.0, beta=pm.math.log(a)), "beta"),
    ],
    ids=["Categorical", "Binomial", "Multinomial", "Poisson", "Gamma"],
)
def test_undefined_draws_name_the_parameter_that_left_its_range(make: Callable[[Node], Node], parameter: str) -> None:
    with pm.Model() as model:
        y = make(pm.Normal("a", -2.0, 0.1))
    with pytest.warns(pm.ConsilienceWarning, match=rf"`y` \(5 of 5, `{parameter}` is not .*\)\."):
        pm.sample_prior_predictive(5, model=model, random_seed=1)
    with pytest.warns(pm.ConsilienceWarning, match=r"draws are NaN, or -1 for whole numbers: `y`"):
        pm.draw(y, 3, random_seed=1)


def test_counts_that_stand_for_nan_are_told_of() -> None:
    with pm.Model() as model:
        rate = pm.Normal("rate")
        pm.Poisson("n", rate)
    with pytest.warns(pm.ConsilienceWarning, match=r"-1 for whole numbers: `n` \(2 of 3, `mu` is not >= 0\)"):
        tree = pm.sample_posterior_predictive(
            {"rate": np.array([[1.0, -1.0, -2.0]])}, model, var_names=["n"], random_seed=1
        )
    assert (tree.posterior_predictive["n"].values[0, 1:] == -1).all()


def test_draws_come_from_trees_data_sets_and_dictionaries_with_axes_of_any_name() -> None:
    model = hierarchy()
    tree = short_run(model)
    of_tree = pm.sample_posterior_predictive(tree, model, random_seed=1)["posterior_predictive"]["y"]
    stacked = tree.posterior.to_dataset().stack(sample=("chain", "draw"))
    arrays = {name: tree.posterior[name].values for name in ("mu", "s", "z")}
    holders = (tree["posterior"], tree.posterior.to_dataset(), arrays)
    for holder in holders:
        other = pm.sample_posterior_predictive(holder, model, random_seed=1)["posterior_predictive"]["y"]
        np.testing.assert_array_equal(other, of_tree)
    flat = pm.sample_posterior_predictive(stacked, model, sample_dims=["sample"], random_seed=1)
    assert flat["posterior_predictive"]["y"].dims == ("sample", "group")
    np.testing.assert_array_equal(flat["posterior_predictive"]["y"], of_tree.values.reshape(-1, 3))
    with pytest.raises(pm.ModelError, match="no axis `chain`"):
        pm.sample_posterior_predictive(stacked.drop_vars(["chain", "draw", "sample"]), model)
    plain = pm.sample_posterior_predictive(tree, model, random_seed=1, return_inferencedata=False)
    np.testing.assert_array_equal(plain["y"], of_tree)
    assert pm.sample_prior_predictive(5, model, return_inferencedata=False)["z"].shape == (5, 3)


def test_log_prior_is_scipys_at_every_draw_without_jacobian() -> None:
    model = hierarchy()
    tree = short_run(model)
    alone = pm.compute_log_prior(tree, model=model, extend_inferencedata=False)
    posterior = tree.posterior
    np.testing.assert_allclose(alone["mu"], stats.norm(1, 2).logpdf(posterior["mu"]), rtol=1e-10)
    np.testing.assert_allclose(alone["s"], stats.halfnorm(0, 1).logpdf(posterior["s"]), rtol=1e-10)
    assert alone["z"].dims == ("chain", "draw", "group")


def test_deterministics_of_draws_are_a_data_set() -> None:
    model = hierarchy()
    posterior = short_run(model).posterior.to_dataset()
    alone = pm.compute_deterministics(posterior.drop_vars("twice"), model=model, progressbar=False)
    np.testing.assert_allclose(alone["twice"], 2 * posterior["z"])
    merged = pm.compute_deterministics(posterior.drop_vars("twice"), model=model, merge_dataset=True)
    assert set(merged.data_vars) == set(posterior.data_vars)
    with pytest.raises(pm.ModelError, match="hold no `z`"):
        pm.compute_deterministics(posterior.drop_vars("z"), model=model)


def test_draws_that_do_not_fit_the_present_data_are_refused() -> None:
    with pm.Model() as model:
        x = pm.Data("x", [1.0, 2.0])
        z = pm.Normal("z", x, 1, shape=x.shape)
        pm.Normal("y", z, 1, observed=[1.0, 2.0])
        tree = short_run(model)
        pm.set_data({"x": [1.0, 2.0, 3.0]})
        with pytest.raises(pm.ShapeError, match=r"draws of `z` have shape \(2,\), .* shape \(3,\)"):
            pm.sample_posterior_predictive(tree)


def test_priors_that_cannot_be_drawn_are_named() -> None:
    with pm.Model() as model:
        a = pm.Flat("a")
        pm.Normal("b")
        pm.Normal("y", a, 1, observed=[1.0, 2.0])
        with pytest.raises(pm.ModelError, match=r"`a` cannot be drawn: Flat is improper"):
            pm.sample_prior_predictive(random_seed=1)
        assert list(pm.sample_prior_predictive(3, var_names="b", random_seed=1).prior.data_vars) == ["b"]
        result = pm.sample_posterior_predictive(short_run(model), random_seed=1)
    assert result.posterior_predictive["y"].shape == (2, 100, 2)


def test_potentials_have_no_part_in_prior_draws() -> None:
    with pm.Model():
        x = pm.Normal("x")
        pm.Potential("fence", -(x**2))
        with pytest.warns(pm.ConsilienceWarning, match="leave out the potentials `fence`"):
            pm.sample_prior_predictive(random_seed=1)


def test_matrices_without_factor_among_prior_draws() -> None:
    with pm.Model():
        r = pm.Uniform("r", -2, 2)
        covariance = pm.math.stack([pm.math.stack([1.0, r]), pm.math.stack([r, 1.0])])
        pm.MvNormal("y", np.zeros(2), cov=covariance, observed=[0.1, 0.2])
        with pytest.warns(pm.ConsilienceWarning, match="not positive definite in .* of 100 draws"):
            tree = pm.sample_prior_predictive(100, random_seed=1, var_names=["y"])
    broken = np.isnan(tree.prior_predictive["y"].values).any(axis=-1)
    assert 20 < broken.sum() < 80


def test_wrong_names_and_traces_are_refused() -> None:
    model = hierarchy()
    tree = short_run(model)
    with pytest.raises(pm.ModelError, match=r"`var_names` names \['w'\]"):
        pm.sample_prior_predictive(model=model, var_names=["w"])
    with pytest.raises(pm.ModelError, match=r"`var_names` names \['w'\]"):
        pm.sample_posterior_predictive(tree, model=model, var_names=["w"])
    with pytest.raises(pm.SamplingError, match="`draws` must be an integer of at least 1, got 0"):
        pm.sample_prior_predictive(0, model=model)
    with pytest.raises(pm.ModelError, match="no group `posterior`"):
        pm.sample_posterior_predictive(pm.sample_prior_predictive(model=model), model=model)
    with pm.Model() as silent:
        pm.Normal("x")
        with pytest.raises(pm.ModelError, match="no observed variables"):
            pm.sample_posterior_predictive(short_run(silent))


def test_draws_of_single_variables() -> None:
    with pm.Model():
        x = pm.Normal("x", 3, 1, shape=2)
        d = pm.Deterministic("d", 2 * x)
    both = pm.draw([x, d], draws=500, random_seed=1)
    np.testing.assert_allclose(both[1], 2 * both[0])
    np.testing.assert_allclose(both[0].mean(axis=0), 3, atol=0.25)
    np.testing.assert_array_equal(pm.draw(x, draws=5, random_seed=1), pm.draw(x, draws=5, random_seed=1))


# ---- log likelihood


def test_log_likelihood_is_scipys_at_every_draw() -> None:
    model = hierarchy()
    tree = short_run(model)
    result = pm.compute_log_likelihood(tree, model=model)
    assert result is tree
    posterior = tree.posterior
    expected = stats.norm(posterior["z"], posterior["s"].values[..., None]).logpdf([0.5, 1.0, 2.0])
    np.testing.assert_allclose(tree.log_likelihood["y"], expected, rtol=1e-10)
    counts = stats.poisson(np.exp(posterior["mu"].values / 4)[..., None]).logpmf([1, 2])
    np.testing.assert_allclose(tree.log_likelihood["n"], counts, rtol=1e-10)
    assert tree.log_likelihood["y"].dims == ("chain", "draw", "group")


def test_log_likelihood_of_vectors_has_one_number_per_event() -> None:
    with pm.Model(coords={"row": [1, 2, 3], "column": ["a", "b"]}) as model:
        mu = pm.Normal("mu", shape=2)
        pm.MvNormal("y", mu, cov=np.eye(2), observed=np.ones((3, 2)), dims=("row", "column"))
        alone = pm.compute_log_likelihood(short_run(model), extend_inferencedata=False)
    assert isinstance(alone, xr.Dataset)
    assert set(alone.data_vars) == {"y"}
    assert alone["y"].dims == ("chain", "draw", "row")


def test_log_likelihood_needs_draws_of_its_parents() -> None:
    model = hierarchy()
    tree = short_run(model)
    tree["posterior"] = tree.posterior.to_dataset().drop_vars("s")
    with pytest.raises(pm.ModelError, match="the draws hold no `s`"):
        pm.compute_log_likelihood(tree, model=model)
    assert list(pm.compute_log_likelihood(tree, var_names="n", model=model).log_likelihood.data_vars) == ["n"]


def test_a_new_group_by_its_index_alone_is_named() -> None:
    """The data, the position and the call that adds a label, which then works."""
    firms = [f"f{i}" for i in range(11)]
    with pm.Model(coords={"firm": firms}) as model:
        firm = pm.Data("fi", np.arange(11))
        effect = pm.Normal("a", dims="firm")
        pm.Normal("y", pm.math.exp(effect)[firm], 1, observed=np.zeros(11), shape=firm.shape[0])
    tree = short_run(model)
    with model:
        pm.set_data({"fi": [3, 11]})
        with pytest.raises(OutOfBoundsError, match=r"`fi` holds 11, but `a` has 11 labels of `firm`") as told:
            pm.sample_posterior_predictive(tree, predictions=True, progressbar=False)
        assert 'pm.set_data({"fi": …}, coords={"firm": [*model.coords["firm"], "NEW"]})' in str(told.value)
        pm.set_data({"fi": [3, 11]}, coords={"firm": [*firms, "NEW"]})
        with pytest.warns(pm.ConsilienceWarning, match="new labels"):
            drawn = pm.sample_posterior_predictive(tree, predictions=True, progressbar=False)
    assert drawn.predictions["y"].shape[-1] == 2


def test_positions_in_what_has_no_labels_are_named() -> None:
    with pm.Model() as model:
        place = pm.Data("place", [0, 1])
        pm.Normal("y", pm.Normal("b", shape=3)[place], 1, observed=np.zeros(2), shape=place.shape[0])
        pm.set_data({"place": [0, 5]})
        with pytest.raises(OutOfBoundsError, match=r"`place` holds 5, but `b` has length 3 on axis 0"):
            pm.sample_prior_predictive(5)
    with pytest.raises(pm.InitialPointError, match=r"`place` holds 5, but `b` has length 3 on axis 0"):
        pm.sample(model=model, progressbar=False)
