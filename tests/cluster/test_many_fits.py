"""`pm.sample_many`: the same draws on any executor, failed rows, folders that go on, and bad input."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.cluster import pickles, tasks
from consilience.errors import ConsilienceWarning, ModelError, SamplingError, ShapeError, StorageError
from consilience.output.storage.files import lock
from tests.cluster.models import model_of, with_data
from tests.cluster.work import other_versions

CONTEXT = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
SHORT: dict[str, Any] = {"draws": 20, "tune": 20, "chains": 2, "compute_convergence_checks": False, "random_seed": 4}

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # workers import nothing so


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=CONTEXT) as pool:
        yield pool


def test_draws_depend_on_names_and_seed_alone(processes: ProcessPoolExecutor) -> None:
    rows = {f"n {n}": {"n": n} for n in (1, 2, 5)}
    here = pm.sample_many(model_of, rows, cores=1, **SHORT).combined()
    with ThreadPoolExecutor(2) as threads:
        for executor in (threads, processes):
            there = pm.sample_many(model_of, rows, executor=executor, **SHORT).combined()
            assert np.array_equal(here["posterior"]["mean"], there["posterior"]["mean"])
            assert np.array_equal(here["sample_stats"]["lp"], there["sample_stats"]["lp"])
    fewer = pm.sample_many(model_of, {"n 5": {"n": 5}}, **SHORT)["n 5"]
    assert np.array_equal(fewer["posterior"]["mean"], here["posterior"]["mean"].sel(fit="n 5"))


def test_one_model_takes_the_data_of_each_row(processes: ProcessPoolExecutor) -> None:
    rows = [{"values": np.full(4, value)} for value in (-50.0, 50.0)]
    found = pm.sample_many(with_data(), rows, executor=processes, **SHORT)
    assert float(found["0"]["posterior"]["mean"].mean()) < -30 < 30 < float(found["1"]["posterior"]["mean"].mean())
    assert found["1"]["observed_data"]["y"].values.tolist() == [50.0] * 4


def test_data_that_a_row_leaves_out_are_those_of_the_model_whatever_came_before() -> None:
    with pm.Model(coords={"place": ["a", "b", "c"]}) as model:
        x = pm.Data("x", np.zeros(3), dims="place")
        pm.Normal("y", pm.Normal("mean") + x, 1.0, observed=pm.Data("seen", np.zeros(3), dims="place"), dims="place")
    rows = {
        "one": {"seen": np.full(3, 9.0)},
        "another": {"x": np.ones(3)},
        "longer": {"seen": np.zeros(4)},
        "last": {"seen": np.full(3, -9.0)},
    }
    together = pm.sample_many(model, rows, cores=1, **SHORT)
    for name in ("one", "another", "last"):
        alone = pm.sample_many(model, {name: rows[name]}, cores=1, **SHORT)
        assert np.array_equal(together[name]["posterior"]["mean"], alone[name]["posterior"]["mean"])
    assert "a function of the row, in place of the model, gives each fit labels" in together.errors["longer"]
    np.testing.assert_array_equal(model["x"].eval(), np.zeros(3))


def test_what_a_function_holds_is_part_of_what_a_folder_has(tmp_path: Path) -> None:
    def made(scale: float) -> Any:
        def of(row: float, wide: float = 1.0) -> pm.Model:
            with pm.Model() as model:
                pm.Normal("x", row * scale, wide)
            return model

        return of

    first = pm.sample_many(made(1.0), {"a": 10.0}, store=tmp_path / "study", **SHORT)["a"]
    again = pm.sample_many(made(1.0), {"a": 10.0}, store=tmp_path / "study", **SHORT)["a"]
    assert np.array_equal(first["posterior"]["x"], again["posterior"]["x"])
    with pytest.warns(ConsilienceWarning, match="1 fits of other data or another model, such as `a`"):
        other = pm.sample_many(made(100.0), {"a": 10.0}, store=tmp_path / "study", **SHORT)["a"]
    assert float(other["posterior"]["x"].mean()) > 900.0


def test_rows_may_have_sparse_data() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.random(20, 3, 0.5, format="csr", random_state=0)
    with pm.Model() as model:
        x, y = pm.Data("x", matrix), pm.Data("y", np.arange(20.0))
        pm.Normal("seen", (x @ pm.Normal("mean", shape=(3, 1)))[:, 0], 1.0, observed=y)
    rows = {"other": {"x": sparse.eye(20, 3).tocsr()}, "own": {"y": np.arange(20.0)}}
    found = pm.sample_many(model, rows, cores=1, **SHORT)
    assert not found.errors
    whole = pm.sample_many(model, {"own": rows["own"]}, cores=1, **SHORT)
    assert np.array_equal(found["own"]["posterior"]["mean"], whole["own"]["posterior"]["mean"])
    assert not np.array_equal(found["own"]["posterior"]["mean"], found["other"]["posterior"]["mean"])


def test_failed_rows_have_reasons_and_a_folder_goes_on(tmp_path: Path) -> None:
    rows: dict[str, Any] = {"a": {"n": 2}, "b": {"n": 3}}
    first = pm.sample_many(model_of, rows, store=tmp_path / "study", **SHORT)
    assert list(first) == ["a"]
    assert first.errors == {"b": "ValueError: three is too many"}
    with pytest.raises(SamplingError, match="three is too many"):
        first["b"]
    before = (tmp_path / "study" / "fits.data").read_bytes()
    again = pm.sample_many(model_of, rows | {"c": {"n": 4}}, store=tmp_path / "study", **SHORT)
    after = (tmp_path / "study" / "fits.data").read_bytes()
    assert after.startswith(before)
    assert len(after) < 3 * len(before)  # one more, and not all three
    assert list(again) == ["a", "c"]
    assert np.array_equal(again["a"]["posterior"]["mean"], first["a"]["posterior"]["mean"])
    assert list(again.table()["error"].notna()) == [False, True, False]
    with pytest.raises(StorageError, match="another file"):
        pm.sample_many(model_of, rows, store=tmp_path / "study", **{**SHORT, "draws": 21})


def test_what_a_loss_of_power_took_is_computed_again_and_damage_is_told(tmp_path: Path) -> None:
    rows = {"a": {"n": 1}, "b": {"n": 2}}
    first = pm.sample_many(model_of, rows, cores=1, store=tmp_path, **SHORT)
    before = {name: first[name]["posterior"]["mean"].values for name in rows}
    whole = (tmp_path / "fits.data").read_bytes()
    (tmp_path / "fits.data").write_bytes(whole[:-100])
    again = pm.sample_many(model_of, rows, cores=1, store=tmp_path, **SHORT)
    assert len((tmp_path / "fits.jsonl").read_text().splitlines()) == 4  # the first line, two fits, one of them again
    for name in rows:
        assert np.array_equal(again[name]["posterior"]["mean"], before[name])
    damaged = bytearray(whole)
    damaged[len(whole) // 4] ^= 1
    (tmp_path / "fits.data").write_bytes(damaged)
    with pytest.raises(StorageError, match="damaged at byte 0"):
        first["a"]


def test_a_row_that_kills_its_worker_is_one_failed_row() -> None:
    with ProcessPoolExecutor(2, mp_context=CONTEXT) as pool:
        found = pm.sample_many(model_of, {"a": {"n": 2}, "b": {"n": 7}}, executor=pool, **SHORT)
    assert list(found) == ["a"]
    assert "WorkerLostError" in found.errors["b"]


def test_a_fit_of_other_data_or_another_model_is_computed_anew(tmp_path: Path) -> None:
    rows = {"a": {"n": 1}, "b": {"n": 2}}
    first = pm.sample_many(model_of, rows, store=tmp_path, **SHORT)
    with pytest.warns(ConsilienceWarning, match="1 fits of other data or another model, such as `b`"):
        second = pm.sample_many(model_of, rows | {"b": {"n": 5}}, store=tmp_path, **SHORT)
    assert not np.array_equal(second["b"]["posterior"]["mean"], first["b"]["posterior"]["mean"])
    assert np.array_equal(second["a"]["posterior"]["mean"], first["a"]["posterior"]["mean"])
    for models in ({"a": line_of(1)}, {"a": line_of(1)}):
        kept = pm.sample_many(models, store=tmp_path / "models", **SHORT)
    assert len((tmp_path / "models" / "fits.jsonl").read_text().splitlines()) == 2
    with pytest.warns(ConsilienceWarning, match="such as `a`"):
        other = pm.sample_many({"a": line_of(2)}, store=tmp_path / "models", **SHORT)
    assert kept["a"]["posterior"]["slope"].shape != other["a"]["posterior"]["slope"].shape


def test_two_drivers_do_not_write_one_folder(tmp_path: Path) -> None:
    held = lock((tmp_path / "fits.jsonl").resolve())
    with pytest.raises(StorageError, match="another run"):
        pm.sample_many(model_of, [{"n": 2}], store=tmp_path, **SHORT)
    held.release()


def test_what_cannot_be_meant_is_refused() -> None:
    class Twice:
        """A table whose index has a name twice."""

        def iterrows(self) -> Any:
            return iter([("a", {"n": 1}), ("a", {"n": 2})])

    with pytest.raises(ModelError, match="`a` is there 2 times"):
        pm.sample_many(model_of, Twice(), **SHORT)
    with pytest.raises(ModelError, match=r"row `0` has 'other'; .* which are values"):
        pm.sample_many(with_data(), [{"other": 1.0}], **SHORT)
    different = pm.sample_many(line_of, [1, 2], **SHORT)
    with pytest.raises(ShapeError, match="different shapes in `posterior`"):
        different.combined()


def test_models_that_cannot_go_to_workers_say_why(processes: ProcessPoolExecutor) -> None:
    """A lock in a Python function of the density, by name; a lambda goes with cloudpickle, or it is said."""
    lock = threading.Lock()
    with pm.Model() as locked:
        mean = pm.Normal("mean")
        pm.CustomDist("y", mean, logp=lambda value, mu: -((value - mu) ** 2), observed=[0.5])
        locked.told = lock  # type: ignore[attr-defined]  # a part that belongs to this process
    with pytest.raises(SamplingError, match=r"told.* does not pickle .*lock"):
        pm.sample_many({"a": locked}, executor=processes, **SHORT)
    with pm.Model() as alone:
        mean = pm.Normal("mean")
        pm.CustomDist("y", mean, logp=lambda value, mu: -((value - mu) ** 2), observed=[0.5])
    rows = {"a": alone}
    there = pm.sample_many(rows, executor=processes, **SHORT)
    assert np.array_equal(there["a"]["posterior"]["mean"], pm.sample_many(rows, **SHORT)["a"]["posterior"]["mean"])


def test_executors_that_cannot_be_used_are_refused_by_every_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shut down; workers of other versions, which are named with ours."""
    closed = ProcessPoolExecutor(1)
    closed.shutdown()
    studies: list[Any] = [
        lambda pool: pm.sample_many(model_of, [{"n": 1}], executor=pool, **SHORT),
        lambda pool: pm.sbc(with_data(), n=2, executor=pool),
        lambda pool: pm.power(with_data(), lambda draws: True, n=2, executor=pool),
    ]
    for study in studies:
        with pytest.raises(SamplingError, match=r"\(ProcessPoolExecutor\) takes no more work.* has not been shut down"):
            study(closed)
        with pytest.raises(TypeError, match="`executor` must be an executor"):
            study(4)
    monkeypatch.setattr(tasks, "versions", other_versions)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("forkserver")) as pool:
        for study in studies:
            with pytest.raises(SamplingError, match=rf"{pm.__version__} where .* has 0\.0\.0, NumPy {np.__version__}"):
                study(pool)


def test_a_data_set_that_all_models_carry_is_named_if_it_is_huge(
    processes: ProcessPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pickles, "LARGE", 10**5)
    table = np.random.default_rng(1).normal(size=10**5)

    def model_of_mean(row: float) -> pm.Model:
        with pm.Model() as model:
            pm.Normal("y", pm.Normal("mean"), 1.0, observed=table[:4] + row)
        return model

    with pytest.warns(ConsilienceWarning, match=r"of which .* GiB are `table`, which model_of_mean uses"):
        pm.sample_many(model_of_mean, [0.0], executor=processes, **SHORT)


def line_of(size: int) -> pm.Model:
    with pm.Model() as model:
        pm.Normal("slope", shape=size)
    return model
