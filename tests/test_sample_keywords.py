"""PyMC's keywords of the sampling functions: accepted, without effect and said once, or refused with what to use."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.model import keywords
from consilience.sample import BackgroundSampling
from consilience.sample.data import observed_data

SHORT: dict[str, Any] = {"draws": 30, "tune": 30, "chains": 2, "random_seed": 1, "progressbar": False}


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keywords, "_told", set())


def model() -> pm.Model:
    with pm.Model() as made:
        x = pm.Normal("x")
        pm.Normal("y", x, 1, observed=[0.5, 1.0])
    return made


QUIET = {"compute_convergence_checks": False}


def draws_of(**settings: Any) -> Any:
    return pm.sample(model=model(), **{**SHORT, **QUIET, **settings}).posterior["x"].values


def test_keywords_without_meaning_change_nothing() -> None:
    """Those that a person would not miss pass in silence."""
    silent = {
        "mp_ctx": "spawn", "blas_cores": "auto", "keep_warning_stat": False, "progressbar_theme": None, "trace": None,
        "return_inferencedata": True, "nuts_sampler": "pymc", "nuts_sampler_kwargs": {},
        "compile_kwargs": {"mode": "NUMBA"}, "n_init": 200_000, "idata_kwargs": {},
    }  # fmt: skip
    np.testing.assert_array_equal(draws_of(**silent), draws_of())


def test_what_would_mislead_is_said_once() -> None:
    with pytest.warns(pm.ConsilienceWarning, match="`sample`: `nuts_sampler` has no effect: there is one sampler"):
        first = draws_of(nuts_sampler="nutpie")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(draws_of(nuts_sampler="nutpie"), first)


def test_settings_of_nuts_may_come_in_a_dictionary() -> None:
    np.testing.assert_array_equal(
        draws_of(nuts={"target_accept": 0.95, "max_treedepth": 5}), draws_of(target_accept=0.95, max_treedepth=5)
    )
    with pytest.raises(TypeError, match=r"`nuts` has no argument `target_acept`; did you mean `target_accept`\?"):
        draws_of(nuts={"target_acept": 0.9})


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"target_acept": 0.9}, TypeError, r"`sample` has no argument `target_acept`; did you mean `target_accept`\?"),
        ({"zzz": 1}, TypeError, r"`sample` has no argument `zzz`; its arguments are draws, tune"),
        ({"trace": "sqlite"}, TypeError, r"PyMC's `trace` does not exist here; .*`save=pm.Save\(store=…\)`"),
        ({"start": {}}, TypeError, r"PyMC's `start` does not exist here; starting values are `initvals=`"),
        ({"return_inferencedata": False}, pm.SamplingError, "results are trees always"),
        ({"compile_kwargs": {"mod": 1}}, TypeError, r"no argument `mod`; did you mean `mode`\?"),
        ({"idata_kwargs": {"coords": {}}}, pm.SamplingError, r"give them to `pm.Model\(coords=…\)`"),
        (
            {"idata_kwargs": {"other": 1}},
            pm.SamplingError,
            r"'log_prior', 'include_transformed', got \['other'\]",
        ),
    ],
)
def test_other_keywords_are_refused_with_what_to_use(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        draws_of(**given)


@pytest.mark.parametrize("deterministics", ["lazy", "eager"])
def test_values_of_transformed_variables_may_come_with_the_run(deterministics: str) -> None:
    with pm.Model() as own:
        pm.HalfNormal("s", shape=2)
        pm.Dirichlet("w", np.ones(3))
        pm.Normal("x")
    kwargs = {"include_transformed": True}
    tree = pm.sample(
        model=own,
        idata_kwargs=kwargs,
        save=pm.Save(deterministics=deterministics),
        discard_tuned_samples=False,
        **SHORT,
        **QUIET,
    )
    for group in (tree.posterior, tree.warmup_posterior):
        assert set(group.data_vars) == {"s", "w", "x", "s_log__", "w_simplex__"}
        np.testing.assert_allclose(np.exp(group["s_log__"]).to_numpy(), group["s"])
        assert group["w_simplex__"].shape[2:] == (2,)
    few = pm.sample(model=own, idata_kwargs=kwargs, var_names=["s"], **SHORT, **QUIET)
    assert set(few.posterior.data_vars) == {"s", "s_log__"}
    arrays = {name: tree.posterior[name].to_numpy() for name in ("s", "s_log__")}
    plain = pm.to_inference_data(arrays, model=own, save_warmup=True)
    assert list(plain.posterior.data_vars) == ["s"]
    whole = pm.to_inference_data(arrays, model=own, include_transformed=True)
    assert list(whole.posterior.data_vars) == ["s", "s_log__"]
    assert pm.to_inference_data(tree, model=own) is tree


def test_other_trees_extend_a_result() -> None:
    """As ArviZ's `extend`: their groups are added, and of those that both have `join` decides."""
    own = model()
    tree = pm.sample(model=own, **SHORT, **QUIET)
    predictive = pm.sample_posterior_predictive(tree, model=own, random_seed=1)
    predictive["observed_data"] = predictive.observed_data.to_dataset() + 1
    before = tree.observed_data["y"].to_numpy()
    assert tree.extend(predictive) is tree
    np.testing.assert_array_equal(tree.posterior_predictive["y"], predictive.posterior_predictive["y"])
    np.testing.assert_array_equal(tree.observed_data["y"], before)
    tree.extend(predictive, join="right")
    np.testing.assert_array_equal(tree.observed_data["y"], before + 1)
    with pytest.raises(pm.SamplingError, match='"left" or "right"'):
        tree.extend(predictive, join="outer")
    with pytest.raises(pm.SamplingError, match="an effective sample size or a tree, got dict"):
        tree.extend({})


def test_variables_asked_of_the_result_itself_are_found_in_words() -> None:
    tree = pm.sample(model=model(), **SHORT, **QUIET)
    with pytest.raises(KeyError, match=r"it is `result.posterior\['x'\]`"):
        tree["x"]
    with pytest.raises(KeyError, match=r"it has .*posterior.*sample_stats"):
        tree["nothing"]
    assert tree["posterior"]["x"].shape == tree["posterior/x"].shape


def test_deterministics_may_be_added_where_the_draws_are() -> None:
    with pm.Model() as own:
        x = pm.Normal("x")
        pm.Deterministic("d", 2 * x)
    arrays = {"x": np.ones((1, 5))}
    tree = pm.to_inference_data(arrays, model=own)
    for given, group in ((tree, tree["posterior"]), (tree["posterior"].to_dataset(), None), (dict(arrays), None)):
        back = pm.compute_deterministics(given, model=own, extend_dataset=True)
        assert back is given
        np.testing.assert_array_equal((back if group is None else group)["d"], 2 * np.ones((1, 5)))
    assert "x" in tree["posterior"]
    with pytest.raises(pm.ModelError, match="not both"):
        pm.compute_deterministics(tree, model=own, extend_dataset=True, merge_dataset=True)


def test_log_likelihood_and_log_prior_may_come_with_the_run() -> None:
    tree = pm.sample(model=model(), idata_kwargs={"log_likelihood": True, "log_prior": True}, **SHORT, **QUIET)
    np.testing.assert_allclose(tree.log_prior["x"], stats.norm().logpdf(tree.posterior["x"]))
    assert tree.log_likelihood["y"].shape == (2, 30, 2)


@pytest.mark.parametrize(
    "function",
    [pm.sample_prior_predictive, pm.sample_posterior_predictive, pm.compute_log_likelihood, pm.compute_log_prior],
)
def test_predictive_functions_take_pymcs_keywords(function: Any) -> None:
    trace = () if function is pm.sample_prior_predictive else ({"x": np.zeros((1, 5))},)
    more = (
        {}
        if function is not pm.compute_log_likelihood and function is not pm.compute_log_prior
        else {"extend_inferencedata": False}
    )
    passing = {"progressbar": False, "compile_kwargs": {}, "idata_kwargs": {}, **more}
    plain = function(*trace, model=model(), **({"random_seed": 1} if not more else {}), **more)
    given = function(*trace, model=model(), **({"random_seed": 1} if not more else {}), **passing)

    def names(result: Any) -> Any:
        return (
            list(result.data_vars) if more else {name: list(group.data_vars) for name, group in result.children.items()}
        )

    assert names(plain)
    assert names(plain) == names(given)
    with pytest.raises(TypeError, match=r"no argument `var_name`; did you mean `var_names`\?"):
        function(*trace, model=model(), var_name=["y"])
    assert inspect.signature(function).parameters["pymc"].kind is inspect.Parameter.VAR_KEYWORD


@pytest.mark.parametrize(
    "source",
    [np.random.RandomState, np.random.default_rng, np.random.SeedSequence, np.random.Philox, lambda seed: [seed, seed]],
)
def test_every_source_of_randomness_of_numpy_is_a_seed(source: Any) -> None:
    first, again, other = (
        pm.sample_prior_predictive(3, model(), random_seed=source(seed)).prior["x"].values for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    with pytest.raises(TypeError, match="a Generator, a RandomState or None, got 'one'"):
        pm.sample_prior_predictive(3, model(), random_seed="one")


def test_extending_is_as_quiet_as_the_run_was(capfd: pytest.CaptureFixture[str]) -> None:
    tree = pm.sample(model=model(), **SHORT, **QUIET)
    tree.extend(draws=40)
    seen = capfd.readouterr()
    assert (seen.out, seen.err) == ("", "")


def finished(run: Any) -> Any:
    return run.wait() if isinstance(run, BackgroundSampling) else run


def test_a_store_is_released_when_the_tree_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The draws written so far stay; another run may take the place."""
    pytest.importorskip("zarr")
    from consilience.sample import results

    def failing(*arguments: Any) -> Any:
        raise RuntimeError("no tree")

    for blocking in (True, False):
        monkeypatch.setattr(results, "observed_data", failing)
        save = pm.Save(store=tmp_path / "s.zarr", overwrite=True)
        settings = {"model": model(), "save": save, **SHORT, **QUIET}
        with pytest.raises(RuntimeError, match="no tree"):
            finished(pm.sample(blocking=blocking, **settings))
        monkeypatch.setattr(results, "observed_data", observed_data)
        pm.sample(**settings)


def test_expressions_over_a_posterior() -> None:
    with pm.Model() as made:
        x = pm.Normal("x", shape=2)
        s = pm.HalfNormal("s")
        y = pm.Normal("y", x.sum(), s)
    values = np.arange(12.0).reshape(2, 3, 2)
    posterior = {"x": values, "s": np.full((2, 3), 1e-9)}
    (total, drawn) = pm.vectorize_over_posterior([x.sum() * 2, y], posterior, [x, s])
    np.testing.assert_allclose(total.eval(), 2 * values.sum(-1))
    np.testing.assert_allclose(drawn.eval(), values.sum(-1), atol=1e-7)
    assert len(np.unique(drawn.eval() - values.sum(-1))) == 6
    with pytest.raises(pm.ModelError, match="depend on random variables"):
        pm.vectorize_over_posterior(y, posterior, [x, s], allow_rvs_in_graph=False)
    with pytest.raises(pm.ModelError, match="no draws of `y`; it has x, s"):
        pm.vectorize_over_posterior(y, posterior, [y])
    (anew,) = pm.vectorize_over_posterior([y + 0 * x.sum()], posterior, [])
    assert anew.eval().shape == drawn.eval().shape
    assert made.free_RVs == [x, s, y]


@pytest.mark.parametrize(
    ("distribution", "guess", "fixed", "law"),
    [
        (pm.Gamma, {"alpha": 2.0, "beta": 1.0}, None, lambda p: stats.gamma(p["alpha"], scale=1 / p["beta"])),
        (pm.Normal, {"mu": 0.0, "sigma": 1.0}, None, lambda p: stats.norm(p["mu"], p["sigma"])),
        (pm.InverseGamma, {"alpha": 3.0, "beta": 2.0}, None, lambda p: stats.invgamma(p["alpha"], scale=p["beta"])),
        (pm.Exponential, {"lam": 1.0}, None, lambda p: stats.expon(scale=1 / p["lam"])),
        (pm.StudentT, {"mu": 1.0, "sigma": 1.0}, {"nu": 7.0}, lambda p: stats.t(p["nu"], p["mu"], p["sigma"])),
    ],
)  # fmt: skip
def test_constrained_priors_have_the_mass_asked_for(distribution: Any, guess: Any, fixed: Any, law: Any) -> None:
    found = pm.find_constrained_prior(distribution, 0.05, 4.0, guess, mass=0.8, fixed_params=fixed)
    assert set(found) == {*guess, *(fixed or {})}
    assert law(found).cdf(4.0) - law(found).cdf(0.05) == pytest.approx(0.8, abs=1e-4)
    if len(guess) > 1:
        assert law(found).cdf(0.05) == pytest.approx(0.1, abs=1e-4)


def test_constrained_priors_may_be_found_in_other_parameters() -> None:
    found = pm.find_constrained_prior(pm.Gamma, 0.5, 4.0, {"mu": 2.0, "sigma": 1.0}, mass=0.8)
    law = pm.Gamma.dist(**found)
    np.testing.assert_allclose(np.exp(pm.logcdf(law, [0.5, 4.0]).eval()), [0.1, 0.9], atol=1e-4)


def test_constrained_priors_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="no parameters of Exponential were found"):
        pm.find_constrained_prior(pm.Exponential, 1.0, 1.1, {"lam": 1.0}, mass=0.9)
    with pytest.raises(ValueError, match="`lower` must be below `upper`"):
        pm.find_constrained_prior(pm.Gamma, 2.0, 1.0, {"alpha": 1.0, "beta": 1.0})
    with pytest.raises(ValueError, match="names no parameter"):
        pm.find_constrained_prior(pm.Gamma, 1.0, 2.0, {})
    with pytest.raises(ValueError, match="leave room below"):
        pm.find_constrained_prior(pm.Gamma, 1.0, 2.0, {"alpha": 1.0}, mass=0.95, mass_below_lower=0.2)


def test_arrays_from_elsewhere_become_labelled_trees() -> None:
    with pm.Model(coords={"g": ["a", "b"]}) as made:
        w = pm.Data("w", [1.0, 2.0], dims="g")
        x = pm.Normal("x", dims="g")
        pm.Normal("y", x * w, 1, observed=[0.5, 1.0], dims="g")
    values = np.arange(12.0).reshape(2, 3, 2)
    tree = pm.to_inference_data({"x": values}, prior={"x": values, "y": values}, log_likelihood=True, model=made)
    assert set(tree.children) == {
        "posterior", "prior", "prior_predictive", "log_likelihood", "observed_data", "constant_data",
    }  # fmt: skip
    assert tree.posterior["x"].dims == ("chain", "draw", "g")
    assert tree.posterior["g"].values.tolist() == ["a", "b"]
    expected = stats.norm(values * [1.0, 2.0]).logpdf([0.5, 1.0])
    np.testing.assert_allclose(tree.log_likelihood["y"], expected)
    alone = pm.to_inference_data({"z": values}, coords={"k": [7, 8]}, dims={"z": ["k"]})
    assert alone.posterior["z"].dims == ("chain", "draw", "k")
    more = pm.predictions_to_inference_data({"y": values}, model=made, idata_orig=tree)
    assert set(more.children) - set(tree.children) == {"predictions", "predictions_constant_data"}
    assert pm.predictions_to_inference_data({"y": values}, model=made, idata_orig=tree, inplace=True) is tree
    with pytest.raises(pm.ModelError, match="there are no draws"):
        pm.to_inference_data(model=made)
