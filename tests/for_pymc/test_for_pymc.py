"""PyMC's `sample` with this sampler: what comes back is PyMC's own, and what cannot be done is said by name."""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from consilience import Stop
from consilience.errors import ConsilienceWarning, MissingPackageError, MissingRuleError, ModelError, SamplingError

pymc = pytest.importorskip("pymc")
mcmc = importlib.import_module("pymc.sampling.mcmc")
BEFORE = (mcmc.sample, mcmc._sample_external_nuts)

door = importlib.import_module("consilience.for_pymc")

pytestmark = pytest.mark.filterwarnings("ignore")  # PyMC's own, and those of its dependencies
SHORT: dict[str, Any] = {
    "nuts_sampler": "consilience", "draws": 30, "tune": 60, "chains": 2, "random_seed": 1, "quiet": True,
}  # fmt: skip


@pytest.fixture(autouse=True)
def an_open_door() -> Iterator[None]:
    door.install()
    yield
    door.install()


def regression() -> Any:
    """A model with data, dims, a deterministic, and transformed and plain variables in a mixed order."""
    rng = np.random.default_rng(2)
    with pymc.Model(coords={"group": ["a", "b", "c"], "row": np.arange(12)}) as model:
        x = pymc.Data("x", rng.normal(size=12), dims="row")
        sigma = pymc.HalfNormal("sigma", 1.0)
        level = pymc.Normal("level", 0.0, 1.0, dims="group")
        slope = pymc.Normal("slope", 0.0, 1.0)
        pymc.Deterministic("double", 2 * level, dims="group")
        mean = level[np.arange(12) % 3] + slope * x
        pymc.Normal("y", mean, sigma, observed=rng.normal(size=12), dims="row", shape=mean.shape)
    return model


def untranslated() -> Any:
    """A model with an operation that has no translation."""
    import pytensor.tensor as pt
    from pytensor.compile.ops import as_op

    @as_op(itypes=[pt.dscalar], otypes=[pt.dscalar])
    def black_box(x: Any) -> Any:
        return np.asarray(x + 1.0)

    with pymc.Model() as model:
        a = pymc.Normal("a", 0.0, 1.0)
        pymc.Deterministic("b", black_box(a))
    return model


def groups(result: Any) -> list[str]:
    """Names of the groups of a DataTree or of an InferenceData."""
    return list(result.children) if hasattr(result, "children") else list(result.groups())


def test_result_has_pymcs_groups_variables_dims_coords_and_dtypes() -> None:
    arguments = {**SHORT, "discard_tuned_samples": False, "idata_kwargs": {"include_transformed": True}}
    with regression():
        own = pymc.sample(**arguments)
        theirs = pymc.sample(**{**arguments, "nuts_sampler": "pymc", "cores": 1})
    assert sorted(groups(own)) == sorted(groups(theirs))
    for group in groups(theirs):
        a, b = getattr(own, group), getattr(theirs, group)
        if "stats" not in group:
            assert list(a.data_vars) == list(b.data_vars)
        for name in a.data_vars:
            if name in b:
                assert (a[name].dims, a[name].shape, a[name].dtype) == (b[name].dims, b[name].shape, b[name].dtype)
        assert {k: v.dtype for k, v in a.coords.items()} == {k: v.dtype for k, v in b.coords.items()}
        assert all(np.array_equal(a[k].values, b[k].values) for k in b.coords)
    known = {"acceptance_rate", "diverging", "energy", "energy_error", "lp", "n_steps", "tree_depth", "step_size"}
    assert known <= set(own.sample_stats.data_vars) & set(theirs.sample_stats.data_vars)


def test_verdict_and_sampler_are_attributes_of_posterior_and_statistics() -> None:
    with regression():
        result = pymc.sample(**SHORT)
    for group in (result.posterior, result.sample_stats):
        assert group.attrs["inference_library"] == "consilience"
        assert group.attrs["status"] in {"converged", "not_converged", "chains_disagree"}
        assert group.attrs["tuning_steps"] <= SHORT["tune"]


def test_posterior_is_the_exact_one_of_a_conjugate_model() -> None:
    with pymc.Model():
        mu = pymc.Normal("mu", 0.0, 2.0)
        pymc.Normal("y", mu, 1.0, observed=np.array([1.0, 2.0, 4.0, 3.5]))
        result = pymc.sample(nuts_sampler="consilience", chains=4, random_seed=3, quiet=True)
    precision = 0.25 + 4
    draws = result.posterior["mu"].values
    assert draws.shape == (4, 1000)
    assert draws.mean() == pytest.approx(10.5 / precision, abs=5 / np.sqrt(precision * 1000))
    assert draws.std() == pytest.approx(1 / np.sqrt(precision), rel=0.1)


def test_functions_of_pymc_go_on_from_the_result() -> None:
    with regression() as model:
        result = pymc.sample(**SHORT)
        predictive = pymc.sample_posterior_predictive(result, progressbar=False, random_seed=1)
        likelihood = pymc.compute_log_likelihood(result, progressbar=False)
        assert predictive.posterior_predictive["y"].sizes["row"] == 12
        assert likelihood.log_likelihood["y"].shape == (2, 30, 12)
        pymc.set_data({"x": np.zeros(12)}, coords={"row": np.arange(12)})
        flat = pymc.sample_posterior_predictive(result, predictions=True, progressbar=False, random_seed=1)
    assert flat.predictions["y"].shape == (2, 30, 12)
    assert model["x"].get_value().sum() == 0


def test_a_changed_model_is_another_model() -> None:
    with pymc.Model() as model:
        y = pymc.Data("data", np.zeros(50))
        mu = pymc.Normal("mu", 0.0, 10.0)
        pymc.Normal("y", mu, 1.0, observed=y)
        first = pymc.sample(**SHORT).posterior["mu"].values.mean()
        pymc.set_data({"data": np.full(50, 7.0)})
        second = pymc.sample(**SHORT).posterior["mu"].values.mean()
        pymc.Potential("pull", -50.0 * (mu - 9.0) ** 2)
        third = pymc.sample(**SHORT).posterior["mu"].values.mean()
    assert np.allclose([first, second], [0, 7], atol=0.5)
    assert 7.5 < third < 9
    assert "pull" in model.named_vars


@pytest.mark.parametrize("given", [None, 5, [1, 2], (3, 4), np.array([5, 6]), np.random.default_rng(1)])
def test_seeds_of_all_of_pymcs_kinds(given: Any) -> None:
    with regression():
        first, second = (
            pymc.sample(**{**SHORT, "random_seed": given}, var_names=["slope"]).posterior["slope"].values
            for _ in range(2)
        )
    # PyMC copies generators, too, and so draws the same from the same one.
    assert np.array_equal(first, second) == (given is not None)


@pytest.mark.parametrize("given", [-1, np.random.RandomState(2)])
def test_seeds_that_pymc_refuses_are_refused(given: Any) -> None:
    with regression(), pytest.raises((TypeError, ValueError)):
        pymc.sample(**{**SHORT, "random_seed": given})


def test_keywords_that_clients_always_give_have_no_effect_here() -> None:
    plain = {"n_init": 50000, "init": "auto", "mp_ctx": "spawn", "blas_cores": None, "keep_warning_stat": True}
    more = {"compile_kwargs": {}, "trace": None, "step": None, "return_inferencedata": True, "cores": 3}
    with regression():
        result = pymc.sample(**SHORT, **plain, **more)
    assert result.posterior.sizes["draw"] == 30


def test_without_numbers_there_are_as_many_chains_and_draws_as_in_pymc() -> None:
    with pymc.Model():
        pymc.Normal("a")
        result = pymc.sample(nuts_sampler="consilience", cores=3, quiet=True)
    assert (result.posterior.sizes["chain"], result.posterior.sizes["draw"]) == (3, 1000)


@pytest.mark.parametrize("draws", [1, 3, 4, 57])
def test_there_are_exactly_as_many_draws_as_asked_for(draws: int) -> None:
    with regression():
        result = pymc.sample(**{**SHORT, "draws": draws, "tune": 0, "discard_tuned_samples": False})
    assert result.posterior.sizes["draw"] == draws


def test_settings_of_nuts_are_taken_in_both_places() -> None:
    with regression():
        result = pymc.sample(**SHORT, target_accept=0.95, nuts={"max_treedepth": 2, "stop": Stop(ess=50)})
    assert "target_accept=0.95" in result.posterior.attrs["settings"]
    assert result.sample_stats["tree_depth"].values.max() <= 2
    assert '"target_ess": 50' in result.posterior.attrs["options"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"trace": object()}, "trace"),
        ({"return_inferencedata": False}, "return_inferencedata"),
        ({"nuts": {"step_scale": 0.1}}, "step_scale"),
        ({"step_scale": 0.1}, "step_scale"),
        ({"tunes": 5}, "tune"),
        ({"init": "advi"}, "init"),
        ({"target_accept": 0.9, "nuts": {"target_accept": 0.8}}, "target_accept"),
        ({"var_names": ["nobody"]}, "nobody"),
    ],
)
def test_what_only_pymc_has_is_refused_by_name(given: dict[str, Any], named: str) -> None:
    with regression(), pytest.raises((SamplingError, ValueError), match=named):
        pymc.sample(**SHORT, **given)


def test_a_step_of_pymc_is_refused_and_goes_back_with_fallback() -> None:
    with regression():
        step = pymc.NUTS()
        with pytest.raises(SamplingError, match="step"):
            pymc.sample(**SHORT, step=step)


def test_initial_values_by_name_by_variable_and_by_chain() -> None:
    tight = {**SHORT, "tune": 0, "draws": 1, "discard_tuned_samples": False, "init": "adapt_diag"}
    with regression() as model:
        for given in ({"slope": 3.0}, {model["slope"]: 3.0}, [{"slope": 3.0}, None]):
            result = pymc.sample(**tight, initvals=given, nuts={"max_treedepth": 1})
            assert abs(result.posterior["slope"].values[0, 0] - 3.0) < 2.5
        with pytest.raises(SamplingError, match="slope"):
            pymc.sample(**tight, initvals={"slope": model["slope"] * 2})


def test_an_untranslated_model_is_refused_by_name_before_sampling() -> None:
    with untranslated(), pytest.raises(MissingRuleError) as raised:
        pymc.sample(**SHORT)
    assert "`b`" in "".join(raised.value.__notes__)


@pytest.mark.parametrize("where", ["call", "install"])
def test_fallback_is_pymcs_own_run_with_one_warning(where: str, recwarn: pytest.WarningsRecorder) -> None:
    own = {"draws": 10, "tune": 10, "chains": 1, "cores": 1, "random_seed": 1, "quiet": True}
    given = {**own, "nuts_sampler": "consilience"}
    door.install(fallback=where == "install")
    with untranslated():
        theirs = pymc.sample(**own)
        recwarn.clear()
        with pytest.warns(ConsilienceWarning, match="black_box|FromFunctionOp") as told:
            back = pymc.sample(**given, **({"nuts": {"fallback": True}} if where == "call" else {}))
    assert np.array_equal(back.posterior["a"].values, theirs.posterior["a"].values)
    assert len([w for w in told if issubclass(w.category, ConsilienceWarning)]) == 1


def test_discrete_variables_are_sampled() -> None:
    with pymc.Model():
        z = pymc.Bernoulli("z", 0.3)
        mu = pymc.Normal("mu", 3.0 * z, 1.0)
        pymc.Normal("y", mu, 1.0, observed=2.0)
        result = pymc.sample(**{**SHORT, "draws": 200, "tune": 100})
    assert result.posterior["z"].dtype == np.int64
    assert 0 < result.posterior["z"].values.mean() < 1


def test_warnings_are_told_by_pymcs_loggers_and_not_when_quiet(caplog: pytest.LogCaptureFixture) -> None:
    with regression(), caplog.at_level(logging.INFO):
        pymc.sample(**{**SHORT, "quiet": False, "progressbar": False})
        told = [record.name for record in caplog.records]
        caplog.clear()
        pymc.sample(**SHORT)
    assert {"pymc.stats.convergence", "pymc.sampling.mcmc"} <= set(told)
    assert not caplog.records


def test_a_callback_gets_every_draw() -> None:
    seen: list[tuple[int, int]] = []
    with regression():
        pymc.sample(**SHORT, callback=lambda trace, draw: seen.append((draw.chain, draw.draw_idx)))
    assert sorted(seen) == [(chain, draw) for chain in range(2) for draw in range(30)]


def test_threads_sample_their_own_models() -> None:
    found: dict[int, float] = {}

    def work(k: int) -> None:
        with pymc.Model():
            pymc.Normal("a", 10.0 * k, 0.1)
            found[k] = float(pymc.sample(**SHORT).posterior["a"].values.mean())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(abs(found[k] - 10.0 * k) < 1 for k in range(3))


def test_function_and_result_pickle() -> None:
    assert pickle.loads(pickle.dumps(pymc.sample)) is pymc.sample
    with regression():
        result = pymc.sample(**SHORT)
    assert np.array_equal(
        pickle.loads(pickle.dumps(result)).posterior["slope"].values, result.posterior["slope"].values
    )


def test_uninstall_restores_pymc_exactly_and_installing_twice_wraps_once() -> None:
    door.install()
    importlib.reload(door)
    assert pymc.sample is mcmc.sample is pymc.sampling.sample
    assert pymc.sample is not BEFORE[0]
    door.uninstall()
    assert (pymc.sample, pymc.sampling.sample, mcmc.sample) == (BEFORE[0],) * 3
    assert mcmc._sample_external_nuts is BEFORE[1]
    door.uninstall()
    with regression(), pytest.raises((ValueError, NotImplementedError)):
        pymc.sample(**SHORT)


def test_a_patch_of_somebody_else_stays_and_hands_on() -> None:
    ours = pymc.sample

    def patched(*arguments: Any, **keywords: Any) -> Any:
        return ours(*arguments, **keywords)

    pymc.sample = patched
    try:
        door.uninstall()
        assert pymc.sample is patched
        with regression(), pytest.raises((ValueError, NotImplementedError)):
            pymc.sample(**SHORT)
    finally:
        pymc.sample = BEFORE[0]


def test_a_patch_from_before_is_there_again_afterwards() -> None:
    """What somebody put in the place of PyMC's function before is what calls of other samplers reach."""
    door.uninstall()

    def theirs(draws: int = 1000, *, nuts_sampler: Any = None, model: Any = None, **kwargs: Any) -> str:
        return "theirs"

    before = pymc.sample
    pymc.sample = theirs
    try:
        door.install()
        assert pymc.sample() == "theirs"
        with regression():
            assert pymc.sample(**SHORT).posterior.sizes["draw"] == 30
        door.uninstall()
        assert pymc.sample is theirs
    finally:
        pymc.sample = before


@pytest.mark.parametrize("sampler", ["consilience", None])
def test_models_of_this_library_are_refused_by_name(sampler: str | None) -> None:
    """Given, or around the call."""
    from consilience import Model, Normal

    with Model() as ours:
        Normal("x")
    for model in (ours, None):
        with ours, pytest.raises(ModelError, match=r"the model belongs to consilience, .*`consilience\.sample`"):
            pymc.sample(model=model, nuts_sampler=sampler)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_models_are_sampled_in_processes_of_a_clients(method: str) -> None:
    """Forked ones have the open door, those that begin anew import it with the module of their function."""
    cloudpickle = pytest.importorskip("cloudpickle")
    slope_of = importlib.import_module("tests.for_pymc.in_a_process").slope_of
    pickled = cloudpickle.dumps(regression())
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply_async(slope_of, (pickled,)).get(timeout=120) == slope_of(pickled)


def test_a_sample_from_before_says_what_to_do() -> None:
    with regression(), pytest.raises(SamplingError, match="from pymc import sample"):
        BEFORE[0](**SHORT)


def test_other_calls_are_pymcs_and_by_default_ours_where_asked() -> None:
    with regression():
        theirs = pymc.sample(draws=5, tune=5, chains=1, cores=1, quiet=True)
        assert theirs.posterior.attrs["inference_library"] != "consilience"
        door.install(default=True)
        own = pymc.sample(draws=5, tune=5, chains=1, quiet=True)
        assert own.posterior.attrs["inference_library"] == "consilience"


@pytest.mark.parametrize("version", ["5.20.1", "7.0.0"])
def test_versions_that_were_not_tried_are_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pymc, "__version__", version)
    with pytest.raises(MissingPackageError, match=version):
        door.install()


def test_bambi_has_the_method_whether_imported_before_or_after() -> None:
    pytest.importorskip("bambi")
    backend = importlib.import_module("bambi.backend.pymc")
    assert "consilience" in backend._SUPPORTED_METHODS
    door.uninstall()
    assert "consilience" not in backend._SUPPORTED_METHODS
    importlib.reload(backend)
    door.install()
    assert "consilience" in backend._SUPPORTED_METHODS


def test_bambis_messages_list_its_own_methods() -> None:
    bambi, pandas = pytest.importorskip("bambi"), pytest.importorskip("pandas")
    model = bambi.Model("y ~ 1", pandas.DataFrame({"y": [0.0, 1.0, 2.0]}))
    door.uninstall()
    said = []
    for _ in range(2):
        with pytest.raises(ValueError, match="supported inference method") as error:
            model.fit(inference_method="nuts_numpyro")
        said.append(str(error.value))
        door.install()
    assert said[0] == said[1]
