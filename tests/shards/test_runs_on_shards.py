"""Runs of models whose rows lie with workers: draws that no loss, pause or extension changes, and what is refused."""

from __future__ import annotations

import os
import pickle
import signal
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ConsilienceError, ConsilienceWarning, ModelError, SamplingError
from consilience.inference.curvature import SparseCurvature
from consilience.model.log_density import model_density
from consilience.sample.sharded import ShardedDensity
from tests.inference.test_whitening import WALK, series
from tests.shards.rows import POSITION, QUIET, ROWS, SHARD, assert_same_posterior, files, model, sharded, small, table

X, Y = table()


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return files(tmp_path_factory.mktemp("rows"))


def drawn(executor: Any, sources: Any, made: pm.Model | None = None, *, rows: int = SHARD, **settings: Any) -> Any:
    shards = pm.cluster.shards(executor, sources, rows=rows)
    own = {"draws": 30, "tune": 60, "chains": 2, "cores": 2, **QUIET, **settings}
    return pm.sample(model=made or small(), executor=shards, **own)


@pytest.fixture(scope="module")
def undisturbed(pool: ThreadPoolExecutor, data: dict[str, Path]) -> Any:
    return drawn(pool, data)


def at_event(number: int, does: Callable[[], Any]) -> Callable[[Any], None]:
    """A callback that does something at one of the events of a run."""
    seen: list[Any] = []

    def callback(event: Any) -> None:
        seen.append(event)
        if len(seen) == number:
            does()

    return callback


def interrupted() -> None:
    raise KeyboardInterrupt


def cut_off(save: pm.Save, executor: Any, sources: Any, **settings: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn(executor, sources, save=save, callback=at_event(4, interrupted), **settings)


def test_the_posterior_is_that_of_all_rows(pool: ThreadPoolExecutor, data: dict[str, Path]) -> None:
    """The same mean and spread, up to the error of as many draws."""
    whole = pm.sample(400, tune=300, chains=2, cores=2, model=model(X, Y), remedies=(), **QUIET)
    apart = drawn(pool, data, draws=400, tune=300)
    one, other = (result.posterior["b"] for result in (whole, apart))
    spread = one.std(("chain", "draw")).values
    np.testing.assert_allclose(other.mean(("chain", "draw")), one.mean(("chain", "draw")), atol=0.25 * spread.max())
    np.testing.assert_allclose(other.std(("chain", "draw")), spread, rtol=0.2)


def test_a_worker_that_is_killed_changes_no_draw(undisturbed: Any, data: dict[str, Path]) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as processes:

        def kill() -> None:
            os.kill(next(iter(processes._processes)), signal.SIGKILL)

        disturbed = drawn(processes, data, callback=at_event(3, kill))
    assert_same_posterior(undisturbed, disturbed)


def test_a_worker_of_dask_that_is_killed_changes_no_draw(
    undisturbed: Any, tmp_path: Path, data: dict[str, Path]
) -> None:
    """With rows that lie with the workers, and have to be read again."""
    distributed, array = pytest.importorskip("distributed"), pytest.importorskip("dask.array")
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        held = client.persist(array.from_array(np.load(data["x"], mmap_mode="r"), chunks=(250, 3)))

        def kill() -> None:
            client.run(os.getpid)
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            disturbed = drawn(client, {"x": held, "y": data["y"]}, callback=at_event(3, kill))
    assert_same_posterior(undisturbed, disturbed)


def test_a_run_that_was_cut_off_is_resumed_and_extended_on_other_workers(
    undisturbed: Any, pool: ThreadPoolExecutor, data: dict[str, Path], tmp_path: Path
) -> None:
    """And from another file with the same rows."""
    cut_off(pm.Save(checkpoint=tmp_path / "run"), pool, data)
    np.save(tmp_path / "again.npy", X)
    shards = pm.cluster.shards(ThreadPoolExecutor(3), {"x": [tmp_path / "again.npy"], "y": Y}, rows=SHARD)
    again = pm.resume(tmp_path / "run", small(), executor=shards, progressbar=False)
    assert_same_posterior(undisturbed, again)
    assert_same_posterior(drawn(pool, data, draws=50), again.extend(draws=50))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": 1 - Y}, "data `y` was 'int64 (2300,) .*' and is 'int64 (2300,) "),
        ({"x": X[:2000], "y": Y[:2000]}, "data `x` was 'float64 (2300, 3) .*' and is 'float64 (2000, 3) "),
        ({"rows": 500}, "rows of a shard was '300' and is '500'"),
        (None, "data `x` was 'float64 (2300, 3) .*' and is 'float64 (5, 3) "),
    ],
    ids=["other values", "fewer rows", "other shards", "without shards"],
)
def test_a_run_is_resumed_with_the_rows_of_then_alone(
    pool: ThreadPoolExecutor, data: dict[str, Path], tmp_path: Path, change: dict[str, Any] | None, words: str
) -> None:
    cut_off(pm.Save(checkpoint=tmp_path / "run"), pool, data)
    shards = None
    if change is not None:
        own = {"rows": SHARD, **{name: value for name, value in change.items() if name == "rows"}}
        shards = pm.cluster.shards(pool, {**data, **{n: v for n, v in change.items() if n != "rows"}}, **own)
    pattern = words.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(SamplingError, match=pattern):
        pm.resume(tmp_path / "run", small(), executor=shards, progressbar=False)


def test_rows_may_have_labels_and_dims(pool: ThreadPoolExecutor, data: dict[str, Path]) -> None:
    """Those of the few rows in the model; groups keep theirs."""
    g = np.random.default_rng(1).integers(0, 3, ROWS)

    def made(rows: slice) -> pm.Model:
        with pm.Model(coords={"row": range(len(Y[rows])), "group": list("abc"), "slope": list("uvw")}) as own:
            x, y = pm.Data("x", X[rows], dims=("row", "slope")), pm.Data("y", Y[rows], dims="row")
            group = pm.Data("g", g[rows], dims="row")
            u = pm.Normal("u", 0.0, pm.HalfNormal("s"), dims="group")
            eta = u[group] + x @ pm.Normal("b", dims="slope")
            pm.Bernoulli("obs", logit_p=eta, observed=y, dims="row")
        return own

    position = np.linspace(-0.5, 0.5, 7)
    value, slope = model_density(made(slice(None)))(position)
    with sharded(made(slice(5)), pool, {**data, "g": g}) as density:
        found = density(position)
    assert found[0] == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(found[1], slope, rtol=1e-8)
    result = drawn(pool, {**data, "g": g}, made(slice(5)), draws=5, tune=5)
    assert result.posterior["u"].coords["group"].values.tolist() == list("abc")


def test_data_beside_the_rows_may_be_exchanged(pool: ThreadPoolExecutor, data: dict[str, Path]) -> None:
    """`pm.set_data` counts for those that are not on shards; the few rows in the model have no part in the density."""

    def made(scale: float, rows: slice = slice(5)) -> pm.Model:
        with pm.Model() as own:
            b = pm.Normal("b", 0.0, 1.0, shape=3)
            eta = pm.Data("x", X[rows]) @ b + pm.Normal("a") * pm.Data("scale", scale)
            pm.Bernoulli("obs", logit_p=eta, observed=pm.Data("y", Y[rows]))
        return own

    own = made(1.0)
    with own:
        pm.set_data({"scale": 3.0, "x": 5.0 + X[:8], "y": Y[:8]})
    value, slope = model_density(made(3.0, slice(None)))(POSITION)
    with sharded(own, pool, data) as density:
        found = density(POSITION)
    assert found[0] == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(found[1], slope, rtol=1e-8)


def test_models_and_results_with_rows_elsewhere_are_pickled(
    undisturbed: Any, pool: ThreadPoolExecutor, data: Any
) -> None:
    again = pickle.loads(pickle.dumps(undisturbed))
    assert_same_posterior(undisturbed, again)
    assert again.posterior.attrs["rows_on_shards"] == '{"x": 2300, "y": 2300}'
    other = drawn(pool, data, pickle.loads(pickle.dumps(small())))
    assert_same_posterior(undisturbed, other)


def test_a_metric_is_whitened_by_the_curvature_of_all_rows(
    pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A random walk seen at places that rows on shards tell; with a diagonal metric it takes hundreds of steps."""
    asked: list[SparseCurvature] = []
    take = SparseCurvature.whitener
    monkeypatch.setattr(SparseCurvature, "whitener", lambda own, *given: (asked.append(own), take(own, *given))[1])
    seen, (length, step, noise) = series(), WALK
    places = np.arange(length)

    def walk(count: int) -> pm.Model:
        with pm.Model() as made:
            x = pm.GaussianRandomWalk("x", sigma=step, init_dist=pm.Normal.dist(), shape=length)
            pm.Normal("y", x[pm.Data("place", places[:count])], noise, observed=pm.Data("seen", seen[:count]))
        return made

    quiet = {"draws": 300, "tune": 500, "chains": 2, "cores": 2, "remedies": (), **QUIET}
    shards = pm.cluster.shards(pool, {"place": places, "seen": seen}, rows=500)
    apart = pm.sample(model=walk(5), executor=shards, **quiet)
    assert len(set(asked)) == 1
    assert asked[0].spent > 0
    assert isinstance(asked[0].density, ShardedDensity)
    assert float(apart.sample_stats.n_steps.mean()) < 20
    whole = pm.sample(model=walk(length), **quiet)
    errors = (apart.posterior.x - whole.posterior.x).mean(("chain", "draw")) / whole.posterior.x.std(("chain", "draw"))
    assert float(np.abs(errors).max()) < 0.5


def test_likelihoods_of_rows_elsewhere_are_computed_of_all_rows(
    undisturbed: Any, data: dict[str, Path], tmp_path: Path
) -> None:
    """Never of the few that the model holds; with all rows given, of files, they are those of a whole model."""
    few = small()
    with pytest.raises(ModelError, match=r"depend on 2,300 rows of `x`, .* and the model holds 5: `pm.set_data`"):
        pm.compute_log_likelihood(undisturbed, model=few, extend_inferencedata=False)
    pm.set_data({name: np.load(path, mmap_mode="r") for name, path in data.items()}, few)
    found = pm.compute_log_likelihood(undisturbed, model=few, extend_inferencedata=False, store=tmp_path / "ll.zarr")
    whole = pm.compute_log_likelihood(undisturbed, model=model(X, Y), extend_inferencedata=False)
    np.testing.assert_array_equal(found["obs"].values, whole["obs"].values)
    assert whole["obs"].shape == (2, 30, ROWS)


def test_what_follows_from_rows_is_said_to_be_of_the_few_here(pool: ThreadPoolExecutor, data: dict[str, Path]) -> None:
    own = small()
    with own:
        pm.Deterministic("mu", own["x"] @ own["b"])
        pm.Deterministic("size", pm.math.abs(own["b"]))
    with pytest.warns(ConsilienceWarning, match="^`mu`: of the 5 rows that the model itself holds"):
        result = drawn(pool, data, own, draws=5, tune=5)
    assert result.posterior["mu"].shape == (2, 5, 5)


def test_fewer_shards_than_workers_are_told(data: dict[str, Path]) -> None:
    told = "2,300 rows are 2 shards, fewer than the 3 workers"
    with ThreadPoolExecutor(3) as three, pytest.warns(ConsilienceWarning, match=told):
        drawn(three, data, rows=2000, draws=5, tune=5)
    with ThreadPoolExecutor(3) as three, sharded(small(), three, {"x": X[:2], "y": Y[:2]}, rows=1) as density:
        assert density(POSITION)[0] == pytest.approx(model_density(model(X[:2], Y[:2]))(POSITION)[0], rel=1e-12)


# --- what is refused


def centred(y: Any) -> None:
    pm.Potential("joined", -pm.math.sqr(y - y.mean() - pm.Normal("m")).sum())


def counted(y: Any) -> None:
    pm.Normal("obs", pm.Normal("m"), observed=y)
    pm.Potential("joined", -pm.Normal("k") * y.shape[0])


def accumulated(y: Any) -> None:
    pm.Potential("joined", -pm.math.sqr(pm.math.cumsum(y) - pm.Normal("m")).sum())


def ranked(y: Any) -> None:
    pm.Potential("joined", -pm.math.sqr(pm.math.sort(y) - pm.Normal("m")).sum())


def neighbours(y: Any) -> None:
    pm.Potential("joined", -pm.math.sqr(y[1:] - pm.Normal("m") * y[:-1]).sum())


def of_the_total(y: Any) -> None:
    pm.Potential("joined", -pm.math.sqr((y - pm.Normal("m")).sum()))


def of_one_row(y: Any) -> None:
    pm.Potential("joined", -pm.math.sqr(y[0] - pm.Normal("m")))


def extremes(y: Any) -> None:
    pm.Potential("joined", -pm.math.sqr(y.max() - pm.Normal("m")))


def shares(y: Any) -> None:
    pm.Potential("joined", pm.math.log_softmax(y * pm.Normal("m"), axis=0).sum())


def averaged(y: Any) -> None:
    pm.Potential("joined", -pm.math.sqr(y - pm.Normal("m")).mean())


def prior_of_rows(y: Any) -> None:
    pm.Normal("obs", pm.Normal("joined", 0.0, 1.0 + pm.math.abs(y.sum())), observed=y)


def process(y: Any) -> None:
    covariance = pm.math.exp(-pm.math.sqr(y[:, None] - y[None, :])) + pm.math.eye(5)
    pm.MvNormal("joined", pm.Normal("m"), covariance, observed=y)


def effect_of_each_row(y: Any) -> None:
    pm.Normal("obs", pm.Normal("joined", shape=y.shape[0]), observed=y)


def picked_by_number(y: Any) -> None:
    pm.Potential("joined", -pm.math.sqr(y[np.array([0, 1, 3])] - pm.Normal("m")).sum())


def some_left_out(y: Any) -> None:
    pm.Normal("joined", pm.Normal("m") + y, 1.0, observed=np.ma.masked_invalid([1.0, np.nan, 3.0, 0.5, 2.0]))


JOINED = [
    centred, counted, accumulated, ranked, neighbours, of_the_total, of_one_row, extremes, shares, averaged,
    prior_of_rows, process, effect_of_each_row, picked_by_number, some_left_out,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::consilience.errors.ImputationWarning")
@pytest.mark.parametrize("term", JOINED, ids=lambda f: f.__name__)
def test_rows_that_depend_on_each_other_are_refused_by_the_name_of_their_term(
    pool: ThreadPoolExecutor, term: Callable[[Any], None]
) -> None:
    with pm.Model() as own:
        term(pm.Data("y", np.arange(5.0)))
    with pytest.raises(SamplingError, match=r"`joined(_unobserved)?`"):
        drawn(pool, {"y": np.arange(400.0)}, own)


def test_terms_without_rows_and_unknown_names_are_refused(pool: ThreadPoolExecutor, data: dict[str, Path]) -> None:
    with pm.Model() as own:
        pm.Data("x", X[:5])
        pm.Normal("obs", pm.Normal("m"), observed=1.0)
    with pytest.raises(SamplingError, match="no term of the density depends on the data"):
        drawn(pool, {"x": data["x"]}, own)
    with pytest.raises(SamplingError, match=r"shards were given for `z`, but the model's data are `x`, `y`"):
        drawn(pool, {"z": data["x"]})


def test_rows_that_are_not_on_shards_do_not_fit_those_that_are(pool: ThreadPoolExecutor, data: dict[str, Path]) -> None:
    with pytest.raises(ConsilienceError) as caught:
        drawn(pool, {"x": data["x"]})
    assert "`y`" in str(caught.value) or "obs" in str(caught.value)


def batches() -> pm.Model:
    with pm.Model() as own:
        x, y = pm.Minibatch(X[:20], Y[:20], batch_size=5)
        slot = pm.Data("x", X[:5])
        pm.Bernoulli("obs", logit_p=x @ pm.Normal("b", shape=3), observed=y, total_size=20)
        pm.Potential("rows", (slot[:, 0] * pm.Normal("a")).sum())
    return own


def class_of_each_row() -> pm.Model:
    with pm.Model() as own:
        y = pm.Data("y", X[:5, 0])
        k = pm.Bernoulli("k", 0.4, shape=y.shape[0])
        pm.Normal("obs", pm.Normal("m", shape=2)[k], 1.0, observed=y)
    return own


@pytest.mark.parametrize(
    ("made", "settings", "words"),
    [
        (batches, {}, "has a `Minibatch`, .* sampling needs all data"),
        (class_of_each_row, {}, r"`k` has a value per row.* `pm.marginalize\(model, \['k'\]\)`"),
        (small, {"threads_per_chain": 2}, "a chain, or a shard, has one thread"),
        (small, {"idata_kwargs": {"log_likelihood": True}}, "needs the rows here"),
        (small, {"step": lambda: pm.Metropolis(["a"])}, "need NUTS for all variables"),
        (small, {"backend": "jax"}, "leave out one of both"),
    ],
    ids=["minibatch", "class of each row", "threads", "log likelihood", "step methods", "jax"],
)
def test_what_shards_do_not_go_with_is_said(
    pool: ThreadPoolExecutor, made: Callable[[], pm.Model], settings: dict[str, Any], words: str
) -> None:
    own = made()
    with own:
        settings = {name: value() if callable(value) else value for name, value in settings.items()}
    sources = {name: value for name, value in (("x", X), ("y", Y if "x" in own.data else X[:, 0])) if name in own.data}
    with pytest.raises(ConsilienceError, match=words):
        drawn(pool, sources, own, **settings)


def test_classes_of_rows_that_are_summed_out_may_lie_on_shards(pool: ThreadPoolExecutor) -> None:
    values = X[:, 0]

    def made(rows: Any) -> pm.Model:
        with pm.Model() as own:
            y = pm.Data("y", rows)
            k = pm.Bernoulli("k", 0.4, shape=y.shape[0])
            pm.Normal("obs", pm.Normal("m", shape=2)[k], 1.0, observed=y)
        return pm.marginalize(own, ["k"])

    position = np.array([0.3, -0.4])
    with sharded(made(values[:5]), pool, {"y": values}) as density:
        found = density(position)
    value, slope = model_density(made(values))(position)
    assert found[0] == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(found[1], slope, rtol=1e-8)


def test_shards_are_no_executor_of_other_work(undisturbed: Any, pool: ThreadPoolExecutor) -> None:
    shards = pm.cluster.shards(pool, {"x": X, "y": Y})
    with pytest.raises(TypeError, match=r"for `pm.sample` and `pm.resume`; here `executor`"):
        pm.sample_many(lambda row: small(), [{"n": 1}], executor=shards, progressbar=False)
    with pytest.raises(TypeError, match=r"for `pm.sample` and `pm.resume`; here `executor`"):
        pm.compute_log_prior(undisturbed, model=small(), executor=shards)
