"""Trees of results follow ArviZ's schema, and ArviZ's functions take them."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import arviz_base
import numpy as np
import pytest
import xarray as xr

import consilience
from consilience import diagnostics
from consilience.errors import ShapeError
from consilience.output.storage import tree_of

RNG = np.random.default_rng(1)
POSTERIOR = {
    "mu": RNG.normal(size=(4, 50)),
    "theta": RNG.normal(size=(4, 50, 3)),
    "L": RNG.normal(size=(4, 50, 2, 2, 3)),
}
COORDS = {"school": ["A", "B", "C"], "unused": [1, 2], "unlabelled": None}
DIMS = {"theta": ["school"], "L": [None, "row"], "y": ["school"]}


@pytest.fixture
def tree() -> xr.DataTree:
    """A result with all that a run leaves."""
    return tree_of(
        {
            "posterior": POSTERIOR,
            "posterior_predictive": {"y": RNG.normal(size=(4, 50, 3))},
            "log_likelihood": {"y": RNG.normal(size=(4, 50, 3))},
            "sample_stats": {"diverging": np.zeros((4, 50), dtype=bool), "energy": RNG.normal(size=(4, 50))},
            "prior": {"mu": RNG.normal(size=(1, 20))},
            "prior_predictive": {"y": RNG.normal(size=(1, 20, 3))},
            "observed_data": {"y": np.arange(3.0)},
            "constant_data": {"x": np.ones((3, 2)), "n": 7},
            "unconstrained_posterior": {"mu": POSTERIOR["mu"]},
            "warmup_posterior": {"mu": RNG.normal(size=(4, 100))},
            "warmup_sample_stats": {"diverging": np.ones((4, 100), dtype=bool)},
        },
        COORDS,
        DIMS,
        {"sampling_time": 1.5, "tuning_steps": 100, "interrupted": False, "seed": None, "kernel": ("nuts",)},
    )


@pytest.mark.parametrize("variable", POSTERIOR)
def test_dimensions_and_labels_are_those_of_arviz(tree: xr.DataTree, variable: str) -> None:
    """Names such as `L_dim_0`, labels counted from 0, data: all as its own converter makes them."""
    theirs = arviz_base.dict_to_dataset(POSTERIOR, coords=COORDS, dims=DIMS, check_conventions=False)
    xr.testing.assert_identical(tree["posterior"][variable].drop_attrs(), theirs[variable].drop_attrs())
    assert set(tree["posterior"].coords) == set(theirs.coords)


def test_dimensions_have_the_expected_names(tree: xr.DataTree) -> None:
    """Unnamed axes are counted by themselves, and only labels that occur enter a group."""
    assert tree["posterior"]["L"].dims == ("chain", "draw", "L_dim_0", "row", "L_dim_1")
    assert set(tree["posterior"].coords) == {"chain", "draw", "school", "L_dim_0", "row", "L_dim_1"}
    assert tree["constant_data"]["x"].dims == ("x_dim_0", "x_dim_1")
    assert tree["constant_data"]["n"].dims == ()
    assert tree["observed_data"]["y"].dims == ("school",)


def test_groups_are_those_given(tree: xr.DataTree) -> None:
    """Empty and missing ones have no group."""
    assert set(tree.children) == {
        "posterior",
        "posterior_predictive",
        "log_likelihood",
        "sample_stats",
        "prior",
        "prior_predictive",
        "observed_data",
        "constant_data",
        "unconstrained_posterior",
        "warmup_posterior",
        "warmup_sample_stats",
    }
    assert set(tree_of({"posterior": POSTERIOR, "sample_stats": {}}).children) == {"posterior"}


def test_attributes_tell_the_origin(tree: xr.DataTree) -> None:
    """Every group says when and by what it was made; those of the run say how."""
    for name, group in tree.children.items():
        assert group.attrs["inference_library"] == "consilience"
        assert group.attrs["inference_library_version"] == consilience.__version__
        created = dt.datetime.fromisoformat(group.attrs["created_at"])
        assert abs((dt.datetime.now(dt.UTC) - created).total_seconds()) < 60
        of_the_run = name in {
            "posterior",
            "sample_stats",
            "warmup_posterior",
            "warmup_sample_stats",
            "unconstrained_posterior",
        }
        assert (group.attrs.get("sampling_time") == 1.5) == of_the_run
        assert (group.attrs.get("tuning_steps") == 100) == of_the_run
        assert "seed" not in group.attrs
    assert tree["posterior"].attrs["interrupted"] == 0


def test_draws_are_not_copied() -> None:
    """A posterior may fill half the memory."""
    draws = np.zeros((2, 10, 5))
    assert np.shares_memory(tree_of({"posterior": {"x": draws}})["posterior"]["x"].values, draws)


def test_arviz_takes_the_tree(tree: xr.DataTree) -> None:
    """Its selection works on it, and the elements it walks through are the rows of the summary."""
    assert arviz_base.convert_to_datatree(tree) is tree
    assert arviz_base.extract(tree, var_names="theta").sizes == {"school": 3, "sample": 200}
    assert arviz_base.extract(tree, group="prior", combined=False).sizes == {"chain": 1, "draw": 20}
    posterior = arviz_base.convert_to_dataset(tree)
    labels = arviz_base.labels.BaseLabeller()
    elements = arviz_base.xarray_sel_iter(posterior, skip_dims={"chain", "draw"})
    assert [labels.make_label_flat(*element) for element in elements] == list(diagnostics.summary(tree).labels)


def test_summary_of_arviz_has_the_same_rows_and_numbers(tree: xr.DataTree) -> None:
    """Its table, unrounded, agrees with ours."""
    pytest.importorskip("xarray_einstats", reason="the labelled functions of arviz_stats need it")
    from arviz_stats.summary import summary

    theirs = summary(tree, round_to="none")
    ours = diagnostics.summary(tree)
    assert list(theirs.index) == list(ours.labels)
    columns = ["mean", "ess_bulk", "r_hat", "mcse_mean"]
    if tuple(map(int, importlib.metadata.version("arviz_stats").split(".")[:3])) >= (1, 3, 3):
        columns += ["sd", "mcse_sd"]  # older versions divide by n, before 1.0 also by another effective size
    for column in columns:
        np.testing.assert_allclose(theirs[column], ours[column], rtol=1e-9)


def test_attributes_are_made_storable() -> None:
    """Numbers and text stay; truth values become numbers, and all other things text."""
    attributes = {
        "flag": True,
        "number": 1.5,
        "numbers": [1, 2],
        "names": ("a", "b"),
        "mapping": {"a": 1},
        "nothing": None,
    }
    found = tree_of({"posterior": {"x": np.zeros((1, 1))}}, attributes=attributes)["posterior"].attrs
    assert found["flag"] == 1
    assert type(found["flag"]) is int
    assert found["number"] == 1.5
    assert found["numbers"].tolist() == [1, 2]
    assert (found["names"], found["mapping"]) == ("a, b", "{'a': 1}")
    assert "nothing" not in found


def test_draws_may_have_their_own_labels() -> None:
    """Chains and draws count from 0 unless labels are given."""
    tree = tree_of({"posterior": {"x": np.zeros((2, 3))}}, coords={"draw": [10, 20, 30]})
    assert tree["posterior"]["draw"].values.tolist() == [10, 20, 30]
    assert tree["posterior"]["chain"].values.tolist() == [0, 1]


def test_labels_may_be_tuples() -> None:
    """Pairs stay single labels."""
    tree = tree_of(
        {"posterior": {"x": np.zeros((2, 3, 2))}}, coords={"pair": [("a", 1), ("b", 2)]}, dims={"x": ["pair"]}
    )
    assert tree["posterior"].sizes["pair"] == 2


@pytest.mark.parametrize(
    ("arrays", "coords", "dims", "message"),
    [
        ({"x": np.zeros(4)}, {}, {}, r"'x' in group 'posterior' needs the axes \('chain', 'draw'\) first"),
        ({"x": np.zeros((2, 3, 4))}, {}, {"x": ["a", "b"]}, r"has 1 axes of its own, but the dimensions"),
        (
            {"x": np.zeros((2, 3, 4))},
            {"a": [1, 2]},
            {"x": ["a"]},
            r"length 4 along 'a', but its labels have 2",
        ),
        (
            {"x": np.zeros((2, 3)), "y": np.zeros((2, 4))},
            {},
            {},
            r"'y'.* length 4 along 'draw', but 'x' has 3",
        ),
        ({"x": np.zeros((2, 3, 4, 4))}, {}, {"x": ["a", "a"]}, r"one dimension twice"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    arrays: dict[str, np.ndarray],
    coords: dict[str, list[int]],
    dims: dict[str, list[str]],
    message: str,
) -> None:
    """The message names variable, group and dimension."""
    with pytest.raises(ShapeError, match=message):
        tree_of({"posterior": arrays}, coords, dims)


def test_building_takes_milliseconds(tree: xr.DataTree) -> None:
    """Also with many variables; the least of several attempts counts."""
    posterior = {f"x{i}": np.zeros((4, 1000, 5)) for i in range(30)}
    stats = {f"s{i}": np.zeros((4, 1000)) for i in range(15)}
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        tree_of({"posterior": posterior, "sample_stats": stats})
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 0.05


@pytest.mark.skipif(
    importlib.util.find_spec("netCDF4") is None and importlib.util.find_spec("h5netcdf") is None,
    reason="files of several groups need netCDF4 or h5netcdf",
)
def test_tree_comes_back_from_a_file(tree: xr.DataTree, tmp_path: Path) -> None:
    """Values, labels and attributes survive."""
    path = tmp_path / "result.nc"
    tree.to_netcdf(path)
    with xr.open_datatree(path) as found:
        for name in tree.children:
            xr.testing.assert_equal(found[name].to_dataset().load(), tree[name].to_dataset())
            assert set(found[name].attrs) == set(tree[name].attrs)


def test_groups_come_back_from_files_of_one_group(tree: xr.DataTree, tmp_path: Path) -> None:
    """Each group is of element types and attributes that the older file format takes too."""
    for name, group in tree.children.items():
        path = tmp_path / f"{name}.nc"
        group.to_dataset().to_netcdf(path, engine="scipy")
        with xr.open_dataset(path, engine="scipy") as found:
            xr.testing.assert_equal(found.load(), group.to_dataset())
            assert set(found.attrs) == set(group.attrs)


def test_xarray_is_loaded_beside_other_work() -> None:
    """`prepare` returns at once; who imports xarray next waits for the same module, and the process ends well."""
    code = (
        "import sys, threading\n"
        "from consilience.output import storage\n"
        "assert 'xarray' not in sys.modules\n"
        "storage.prepare()\n"
        "assert threading.active_count() == 2\n"
        "{}"
    )
    again = (
        "import xarray\nxarray.DataTree()\n"
        "[t.join() for t in threading.enumerate() if t is not threading.main_thread()]\n"
        "storage.prepare()\nassert threading.active_count() == 1"
    )
    for rest in (again, ""):
        done = subprocess.run(
            [sys.executable, "-c", code.format(rest)],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert (done.returncode, done.stderr) == (0, "")
