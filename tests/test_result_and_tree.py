"""A result that is no tree yet cannot be told from one by what is asked of it, and asks for no xarray by itself."""

from __future__ import annotations

import collections.abc
import copy
import functools
import gc
import operator
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import consilience as pm
from consilience import diagnostics
from consilience.errors import MissingPackageError, SamplingError
from consilience.output.storage.datatree import LabelledArrays, labelled
from consilience.output.storage.deferred import Deferred
from consilience.sample.results import OPERATORS, Result, of_trees
from consilience.sample.tree import Posterior


def groups() -> dict[str, LabelledArrays]:
    """A posterior with labels, an array that is computed when looked at, statistics and data."""
    rng = np.random.default_rng(1)
    theta = rng.normal(size=(2, 20, 3))
    late = Deferred(theta.shape, theta.dtype, lambda chains, draws: 2 * theta[np.ix_(chains, draws)])
    return labelled(
        {
            "posterior": {"mu": rng.normal(size=(2, 20)), "theta": theta, "twice": late},
            "sample_stats": {"diverging": np.zeros((2, 20), bool), "lp": rng.normal(size=(2, 20))},
            "log_likelihood": {"y": rng.normal(size=(2, 20, 3)) / 100},
            "observed_data": {"y": np.arange(3.0)},
        },
        {"school": ["A", "B", "C"], "chain": [0, 1]},
        dict.fromkeys(("theta", "twice", "y"), ("school",)),
        {"status": "converged", "reason": "it is fine", "worst": "mu", "sampler": "NUTS", "step_size": [0.5, 0.6]},
    )


def fresh(of: dict[str, LabelledArrays]) -> Result:
    return Result(of)


def changed(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The result after a change of it."""

    def act(result: Any) -> Any:
        change(result)
        return result

    return act


def stored(result: Any) -> Any:
    return pickle.loads(pickle.dumps(result))


def raised(ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What is raised, by its kind and words."""

    def act(result: Any) -> Any:
        with pytest.raises(Exception) as info:  # which one is what is compared
            ask(result)
        return info.type, str(info.value)

    return act


OTHER = xr.DataTree(xr.Dataset({"x": ("a", np.arange(2.0))}))
ADDED = xr.DataTree.from_dict({"/more": OTHER.to_dataset(), "/posterior": OTHER.to_dataset()})


@functools.singledispatch
def kind(value: object) -> str:
    return "other"


@kind.register
def _(value: xr.DataTree) -> str:
    return "tree"


def matched(result: Any) -> Any:
    match result:
        case {"posterior": group}:
            return group
    return None


ASKED: dict[str, Callable[[Any], Any]] = {
    "isinstance of a tree": lambda r: isinstance(r, xr.DataTree),
    "isinstance of its own class": lambda r: isinstance(r, Posterior),
    "isinstance of a mapping": lambda r: isinstance(r, collections.abc.Mapping),
    "isinstance of text": lambda r: isinstance(r, str),
    "class": lambda r: r.__class__,
    "a pattern": matched,
    "dispatch": kind,
    "dir": dir,
    "repr": repr,
    "str": str,
    "format": lambda r: f"{r}",
    "bool": bool,
    "len": len,
    "list": list,
    "dict": dict,
    "unpacked": lambda r: {**r},
    "keys": lambda r: list(r.keys()),
    "items": lambda r: dict(r.items()),
    "in": lambda r: ["posterior" in r, "mu" in r, "posterior/mu" in r],
    "hash": lambda r: isinstance(r, collections.abc.Hashable),
    "reversed": lambda r: raised(reversed)(r)[0],
    "integer index": raised(lambda r: r[0]),
    "missing group": raised(lambda r: r["mu"]),
    "missing attribute": raised(lambda r: r.nothing),
    "name of other libraries": raised(lambda r: r.get_values),
    "group": lambda r: r["posterior"],
    "path": lambda r: r["posterior/theta"],
    "relative path": lambda r: r["posterior"]["../sample_stats/lp"],
    "attribute": lambda r: r.posterior.theta,
    "get": lambda r: [r.get("posterior"), r.get("none")],
    "groups": lambda r: r.groups,
    "children": lambda r: dict(r.children),
    "attrs": lambda r: r.attrs,
    "depth and path": lambda r: (r.depth, r.path, r.level, r.is_root, r.name),
    "subtree": lambda r: [node.path for node in r.subtree],
    "root of a child": lambda r: r.posterior.root,
    "root": lambda r: r.root is r,
    "status": lambda r: (r.status, r.reason, r.worst, r.regions),
    "report": lambda r: r.report(),
    "pm.report": pm.report,
    "to_numpy": lambda r: [r.to_numpy(n) for n in ("mu", "theta", "twice")] + [r.to_numpy("y", "observed_data")],
    "to_numpy without": raised(lambda r: r.to_numpy("nothing")),
    "to_numpy of no group": raised(lambda r: r.to_numpy("mu", "prior")),
    "extend by a tree": lambda r: r.extend(ADDED),
    "extend by a tree, right": lambda r: r.extend(ADDED, join="right"),
    "extend": raised(lambda r: r.extend(target_ess=500)),
    "extend by text": raised(lambda r: r.extend("more")),
    "summary": lambda r: str(pm.summary(r)),
    "summary of a group": lambda r: str(pm.summary(r, group="log_likelihood")),
    "summary of labels": lambda r: str(pm.summary(r, coords={"school": ["B"]})),
    "summary of no group": raised(lambda r: pm.summary(r, group="prior")),
    "summary of what has no draws": raised(lambda r: pm.summary(r, group="observed_data")),
    "summary as xarray": lambda r: pm.summary(r, fmt="xarray"),
    "rhat": pm.rhat,
    "ess": lambda r: pm.ess(r, var_names=["mu"]),
    "checks": lambda r: [f.message for f in diagnostics.inspect(r)],
    "html": lambda r: len(r._repr_html_()) > 1000,
    "sel": lambda r: r.sel(chain=[0]),
    "isel": lambda r: r.isel(draw=slice(5)),
    "mean": lambda r: r.posterior.mean(("chain", "draw")),
    "map_over_datasets": lambda r: r.map_over_datasets(lambda d: d * 2 if d.data_vars else d),
    "xarray.map_over_datasets": lambda r: xr.map_over_datasets(lambda d: d * 2 if d.data_vars else d, r),
    "assign": lambda r: r.assign({"z": xr.DataArray([1.0], dims="q")}),
    "assign a tree": lambda r: r.assign(more=OTHER),
    "filter": lambda r: r.filter(lambda node: node.name != "posterior"),
    "match": lambda r: r.match("*stats"),
    "pipe": lambda r: r.pipe(lambda t: t["posterior"]),
    "to_dict": lambda r: r.to_dict(),
    "to_dataset": lambda r: r.to_dataset(),
    "from_dict": lambda r: xr.DataTree.from_dict({"a": r, "b": OTHER}),
    "a child": lambda r: xr.DataTree(children={"a": r}),
    "put into a tree": lambda r: operator.setitem(tree := OTHER.copy(), "of", r) or tree,
    "its parent there": lambda r: xr.DataTree(children={"a": r})["a"].parent.path,
    "load": lambda r: r.load(),
    "copy": lambda r: r.copy(),
    "deep copy": lambda r: r.copy(deep=True),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": stored,
    "pickle of a child": lambda r: stored(r.posterior),
    "pickle of a list": lambda r: stored([r, r])[1],
    "identical": lambda r: (r.identical(r.copy()), r.copy().identical(r), r.equals(OTHER)),
    "sum": lambda r: r + 1,
    "sum from the left": lambda r: 1 + r,
    "sum with itself": lambda r: r + r,
    "equality": lambda r: r == r,
    "comparison": lambda r: r["posterior"] > 0,
    "size": abs,
    "array": raised(np.asarray),
    "set a group": changed(lambda r: operator.setitem(r, "more", OTHER)),
    "set a variable": changed(lambda r: operator.setitem(r, "posterior/new", ("a", [1.0]))),
    "set a variable of a group": changed(lambda r: operator.setitem(r.posterior, "new", r.posterior.mu + 1)),
    "delete a group": changed(lambda r: operator.delitem(r, "sample_stats")),
    "update": changed(lambda r: r.update({"more": OTHER})),
    "set attrs": changed(lambda r: setattr(r, "attrs", {"a": 1})),
    "set the name": changed(lambda r: setattr(r, "name", "run")),
    "set the data set": changed(lambda r: setattr(r, "dataset", xr.Dataset({"w": 1.0}))),
    "set the status": raised(lambda r: setattr(r, "status", "fine")),
    "delete an attribute": raised(lambda r: delattr(r, "status")),
    "status after a change": lambda r: (operator.setitem(r.posterior.attrs, "status", "mine"), r.status),
    "mean after a change": lambda r: (operator.setitem(r.posterior, "mu", 0 * r.posterior.mu), pm.summary(r)["mean"]),
    "with": lambda r: r.__enter__() is r,
    "nbytes": lambda r: r.nbytes,
}  # fmt: skip


def same(one: Any, other: Any) -> bool:
    """Whether two answers are the same, trees element by element."""
    if isinstance(one, xr.DataTree | xr.Dataset | xr.DataArray):
        return type(one.__class__) is type(other.__class__) and bool(one.identical(other))
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("question", ASKED)
def test_a_result_answers_as_its_tree_does(question: str) -> None:
    arrays = groups()
    asked = ASKED[question]
    assert same(asked(fresh(arrays)), asked(Posterior.of(arrays, None)))
    built = fresh(arrays)
    built.built()
    assert same(asked(built), asked(Posterior.of(arrays, None)))


def test_every_operator_of_trees_is_one_of_results() -> None:
    inherited = {"__class_getitem__", "__init_subclass__", "__orig_bases__", "__annotations__", "__abstractmethods__"}
    operators = {n for n in dir(xr.DataTree) if n.startswith("__") and callable(getattr(xr.DataTree, n))}
    missing = {n for n in operators - set(dir(object)) - inherited if not callable(getattr(Result, n, None))}
    assert not missing
    assert {f"__{name}__" for name in OPERATORS.split()} <= set(dir(xr.DataTree))


def test_files_of_a_result_are_those_of_its_tree(tmp_path: Path) -> None:
    arrays = groups()
    pytest.importorskip("h5netcdf")
    fresh(arrays).to_netcdf(tmp_path / "result.nc")
    with xr.open_datatree(tmp_path / "result.nc") as read:
        for name, node in Posterior.of(arrays, None).children.items():
            xr.testing.assert_equal(read[name].to_dataset().load(), node.to_dataset())


@pytest.mark.filterwarnings("ignore:Consolidated metadata", "ignore:The data type")  # xarray's store is warned of
def test_stores_of_a_result_read_as_those_of_its_tree(tmp_path: Path) -> None:
    """Written without xarray and zarr; text is of any length, where xarray warns that its own form may change."""
    pytest.importorskip("zarr", minversion="3.1")
    dates = np.array(["2020-01-01", "1850-02-03", "NaT"], "M8[D]")
    arrays = groups() | labelled(
        {
            "posterior": {
                "long": np.arange(9000.0).reshape(1, 9000),
                "wide": np.arange(9000 * 3, dtype="f4").reshape(1, 9000, 3),
                "whole": np.arange(9000).reshape(1, 9000),
                "truth": np.arange(9000).reshape(1, 9000) % 2 == 0,
                "complex": np.full((1, 9000), 1 + 2j),
                "none": np.zeros((1, 9000, 0)),
            },
            "constant_data": {"spans": dates[1:] - dates[0], "one": np.array(3), "small": np.arange(3, dtype="i1")},
        },
        {"day": dates, "moment": dates.astype("M8[ns]")},
        {"wide": ("day",), "small": ("moment",)},
        {"status": "converged", "step_size": [0.1, 0.2]},
    )
    tree, path = Posterior.of(arrays, None), tmp_path / "ours.zarr"
    result = fresh(arrays)
    assert result.to_zarr(path) is None
    assert result.unbuilt is not None
    tree.to_zarr(tmp_path / "theirs.zarr")
    with xr.open_datatree(path, engine="zarr") as ours, xr.open_datatree(tmp_path / "theirs.zarr") as theirs:
        xr.testing.assert_identical(ours.load(), theirs.load())
        for name, node in theirs.children.items():
            for key, variable in node.variables.items():
                assert ours[name].variables[key].dtype == variable.dtype or variable.dtype.kind in "UT", (name, key)
    with pytest.raises(FileExistsError):
        result.to_zarr(path)


def test_text_in_stores_is_read_as_text(tmp_path: Path) -> None:
    pytest.importorskip("zarr", minversion="3.1")
    texts = np.array(["a", "bé", "", "four"])
    arrays = {"y": np.arange(4.0), "o": texts.astype(object)}
    result = fresh(labelled({"observed_data": arrays}, {"t": texts}, {"y": ["t"]}))
    result.to_zarr(tmp_path / "text.zarr")
    with xr.open_datatree(tmp_path / "text.zarr", engine="zarr") as read:
        assert read.observed_data.t.values.tolist() == read.observed_data.o.values.tolist() == texts.tolist()


def test_copies_and_results_are_of_one_type() -> None:
    """Functions that compare trees ask for it."""
    result = fresh(groups())
    for other in (result.copy(), copy.copy(result), copy.deepcopy(result), stored(result), result.extend(ADDED)):
        assert type(other) is type(result)
    xr.testing.assert_identical(result.copy(), result)
    assert issubclass(type(result), xr.DataTree)


def test_summaries_of_arviz_take_a_result() -> None:
    az = pytest.importorskip("arviz_stats")
    arrays = groups()
    tree = Posterior.of(arrays, None)
    assert str(az.summary(fresh(arrays))) == str(az.summary(tree))
    assert az.loo(fresh(arrays)).elpd == az.loo(tree).elpd
    base = pytest.importorskip("arviz_base")
    few = {"num_samples": 5, "random_seed": 1}
    assert base.extract(fresh(arrays), **few).identical(base.extract(tree, **few))
    assert base.convert_to_datatree(fresh(arrays)).identical(tree)


def test_threads_see_one_tree() -> None:
    result = fresh(groups())
    seen: list[Any] = []
    threads = [threading.Thread(target=lambda: seen.append(result.children["posterior"])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert all(node is seen[0] for node in seen)


def test_weak_references_end_with_the_result_and_arrays_are_held_once() -> None:
    arrays = groups()
    mu = arrays["posterior"].data_vars["mu"].values
    result = fresh(arrays)
    assert result.to_numpy("mu") is mu
    assert np.shares_memory(result.posterior.mu.values, mu)
    assert result.unbuilt is None
    reference = weakref.ref(result)
    del result
    gc.collect()
    assert reference() is None


def test_without_xarray_the_tree_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    result = fresh(groups())
    of_trees.cache_clear()
    monkeypatch.setitem(sys.modules, "consilience.sample.tree", None)
    with pytest.raises(MissingPackageError, match="xarray"):
        _ = result.posterior
    assert result.to_numpy("mu").shape == (2, 20)


def test_a_tree_is_no_account_of_a_run() -> None:
    with pytest.raises(SamplingError, match="a tree without it"):
        pm.report(OTHER)


SCRIPT = """
import sys, warnings
warnings.simplefilter("error")
import consilience as pm
with pm.Model(coords={"school": list("AB")}):
    mu = pm.Normal("mu", 0.0, 5.0)
    theta = pm.Deterministic("theta", mu + pm.Normal("z", dims="school"), dims="school")
    pm.Normal("y", theta, 10.0, observed=[28.0, 8.0])
    result = pm.sample(40, tune=60, progressbar=False, random_seed=1, compute_convergence_checks=False)
    further = result.extend(draws=50, progressbar=False)
shown = [str(result), result.status, result.reason, result.worst, str(result.report()), str(pm.summary(result))]
assert all(isinstance(text, str) for text in shown)
assert "theta[A]" in shown[-1] and "posterior" in shown[0]
assert (result.to_numpy("theta").shape, further.to_numpy("mu").shape) == ((4, 40, 2), (4, 50))
assert list(result) == ["posterior", "sample_stats", "observed_data"] and "prior" not in result
heavy = sorted({name.partition(".")[0] for name in sys.modules} & {"xarray", "pandas", "zarr", "asyncio", "ssl"})
assert not heavy, heavy
import xarray
assert isinstance(result, xarray.DataTree) and issubclass(type(further), xarray.DataTree)
assert result.posterior.sizes["draw"] == 40 and further.posterior.sizes["draw"] == 50
"""


def test_a_run_its_summary_and_its_report_load_neither_xarray_nor_pandas() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
