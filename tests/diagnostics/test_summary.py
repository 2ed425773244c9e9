"""The table of a result: which rows and columns it has, how it prints, what it accepts."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from consilience.diagnostics import SummaryTable, summary
from consilience.diagnostics.table import align, cell, decimals_for
from consilience.errors import ShapeError


@pytest.fixture(scope="module")
def posterior() -> xr.Dataset:
    """Variables of several ranks and element types."""
    rng = np.random.default_rng(1)
    sample = ("chain", "draw")
    return xr.Dataset(
        {
            "mu": (sample, rng.normal(4, 3.3, size=(4, 250))),
            "theta": ((*sample, "school"), rng.normal(size=(4, 250, 3)) * [0.0012, 12, 3400]),
            "L": ((*sample, "row", "column"), rng.normal(size=(4, 250, 2, 2))),
            "count": (sample, rng.poisson(3, size=(4, 250))),
            "flag": (sample, rng.random((4, 250)) < 0.3),
            "fixed": (sample, np.full((4, 250), 2.5)),
        },
        coords={
            "school": ["A", "B", "C"],
            "row": np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns]"),
        },
    )


LABELS = (
    "mu",
    "theta[A]",
    "theta[B]",
    "theta[C]",
    "L[2024-01-01, 0]",
    "L[2024-01-01, 1]",
    "L[2024-01-02, 0]",
    "L[2024-01-02, 1]",
    "count",
    "flag",
    "fixed",
)


def test_rows_are_named_by_coordinates(posterior: xr.Dataset) -> None:
    """Each element has a row with its labels; dates at midnight lose their time."""
    assert summary(posterior).labels == LABELS


def test_tree_dataset_dictionary_and_array_give_the_same_numbers(posterior: xr.Dataset) -> None:
    """What holds the draws does not matter, nor the order of axes."""
    table = summary(posterior)
    tree = xr.DataTree.from_dict({"posterior": posterior, "prior": posterior * 2})
    turned = posterior.transpose("school", "draw", "row", "chain", "column")
    dictionary = {name: posterior[name].values for name in posterior}
    holders: list[Any] = [tree, tree["posterior"], turned, dictionary]
    for other in holders:
        found = summary(other)
        for column in table:
            np.testing.assert_array_equal(found[column], table[column])
    np.testing.assert_array_equal(summary(posterior["mu"])["mean"], table["mean"][:1])
    np.testing.assert_array_equal(summary(posterior["mu"].values)["mean"], table["mean"][:1])
    assert summary(posterior["mu"]).labels == ("mu",)
    assert summary(tree, group="prior").row("mu")["mean"] == pytest.approx(2 * table.row("mu")["mean"])


def test_columns_are_those_that_users_of_pymc_know(posterior: xr.Dataset) -> None:
    """The interval names its kind and its probabilities."""
    diagnostics = ["mcse_mean", "mcse_sd", "ess_bulk", "ess_tail", "r_hat"]
    statistics = ["mean", "sd", "hdi_3%", "hdi_97%"]
    assert list(summary(posterior)) == statistics + diagnostics
    assert list(summary(posterior, kind="stats")) == statistics
    assert list(summary(posterior, kind="diagnostics")) == diagnostics
    assert list(summary(posterior, kind="stats", ci_prob=0.89, ci_kind="eti"))[2:] == [
        "eti_5.5%",
        "eti_94.5%",
    ]
    assert list(summary(posterior, kind="stats", ci_prob=0.9))[2:] == ["hdi_5%", "hdi_95%"]


@pytest.mark.parametrize(
    ("wanted", "filter_vars", "expected"),
    [
        ("mu", None, ["mu"]),
        (["theta", "mu"], None, ["theta", "mu"]),
        ("~theta", None, ["mu", "L", "count", "flag", "fixed"]),
        (["~theta", "~L"], None, ["mu", "count", "flag", "fixed"]),
        ("u", "like", ["mu", "count"]),
        ("^.{4,5}$", "regex", ["theta", "count", "flag", "fixed"]),
        (["~^f", "~L"], "regex", ["mu", "theta", "count"]),
        (["t", "~theta"], "like", ["count"]),
    ],
)
def test_variables_are_chosen_as_in_arviz(
    posterior: xr.Dataset, wanted: Any, filter_vars: Any, expected: list[str]
) -> None:
    """Names, parts of names and regular expressions; a tilde leaves out."""
    labels = summary(posterior, wanted, filter_vars=filter_vars, kind="stats").labels
    assert list(dict.fromkeys(label.partition("[")[0] for label in labels)) == expected


def test_coords_choose_labels(posterior: xr.Dataset) -> None:
    """A subset along a named axis; a single label drops the axis."""
    assert summary(posterior, "theta", coords={"school": ["C", "A"]}).labels == ("theta[C]", "theta[A]")
    assert summary(posterior, "theta", coords={"school": "B"}).labels == ("theta",)
    with pytest.raises(ValueError, match="labels"):
        summary({"mu": posterior["mu"].values}, coords={"school": "B"})


def test_unknown_names_are_answered_with_those_that_exist(posterior: xr.Dataset) -> None:
    """The message helps with the next attempt."""
    tree = xr.DataTree.from_dict({"posterior": posterior})
    with pytest.raises(KeyError, match=r"'tau'; there are: mu, theta"):
        summary(posterior, "tau")
    with pytest.raises(KeyError, match="its groups: posterior"):
        summary(tree, group="prior")
    with pytest.raises(KeyError, match="the columns: mean, sd"):
        summary(posterior)["rhat"]
    with pytest.raises(KeyError, match="labels"):
        summary(posterior).row("theta")
    wrong: dict[str, Any] = {"kind": "some", "ci_kind": "hpd", "filter_vars": "glob"}
    for argument, value in wrong.items():
        with pytest.raises(ValueError, match=argument):
            summary(posterior, "mu", **{argument: value})


def test_draws_of_the_wrong_form_are_refused(posterior: xr.Dataset) -> None:
    """The message names the variable."""
    with pytest.raises(ShapeError, match=r"'mu' has no axis draw"):
        summary(posterior.isel(draw=0))
    with pytest.raises(ShapeError, match=r"'a' need the axes"):
        summary({"a": np.zeros(5)})
    with pytest.raises(ShapeError, match="same number of chains and draws"):
        summary({"a": np.zeros((2, 5)), "b": np.zeros((2, 6))})
    with pytest.raises(TypeError, match="var_names='~word'"):
        summary({"word": np.full((2, 5), "a")})


PRINTED = """\
             mean       sd    hdi_3%  hdi_97%  mcse_mean  mcse_sd  ess_bulk  ess_tail  r_hat
mu         1.2346   0.0123    1.2100   1.2599    0.00020  0.00010      4013      3921  1.000
theta[A]  -4.2     12.3     -30.0     20.1       0.25     0.18         2500      1999  1.012
nan           NaN      NaN       NaN      NaN        NaN      NaN       NaN       NaN    NaN
fixed      2.5      0         2.5      2.5
1 of 4 rows constant, without diagnostics
"""


def example() -> SummaryTable:
    """A table of numbers that are easy to check."""
    nan = np.nan
    columns = {
        "mean": [1.23456, -4.2123, nan, 2.5],
        "sd": [0.012345, 12.3456, nan, 0],
        "hdi_3%": [1.21, -30.04, nan, 2.5],
        "hdi_97%": [1.25991, 20.06, nan, 2.5],
        "mcse_mean": [0.0002, 0.247, nan, 0],
        "mcse_sd": [0.0001, 0.178, nan, nan],
        "ess_bulk": [4012.6, 2500.2, nan, 100],
        "ess_tail": [3921.2, 1999.4, nan, 100],
        "r_hat": [0.99996, 1.0123, nan, nan],
    }
    return SummaryTable(
        ("mu", "theta[A]", "nan", "fixed"), {name: np.array(values) for name, values in columns.items()}
    )


def test_printed_table_is_aligned_and_rounded_like_a_statistician() -> None:
    """Three digits of the deviation and as many decimals in its unit; two digits of errors; whole sizes."""
    assert str(example()) + "\n" == PRINTED


def test_long_table_shows_its_ends_and_says_what_is_missing() -> None:
    """Sixty rows are shown in full, more are not; the worst of those left out are named."""
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(4, 100, 61))
    draws[0, :, 30] += 3
    assert len(str(summary(draws[:, :, :60], kind="stats")).splitlines()) == 61
    table = summary(draws)
    lines = str(table).splitlines()
    assert [line.split()[0] for line in lines[1:16]] == [f"x[{i}]" for i in range(15)]
    assert lines[16] == "..."
    assert [line.split()[0] for line in lines[17:32]] == [f"x[{i}]" for i in range(46, 61)]
    assert lines[32].startswith("31 of 61 rows left out (among them: largest r_hat 1.")
    assert "at x[30]; smallest ess_bulk " in lines[32]
    assert lines[32].endswith("to_text(rows=None) shows all")
    assert len(lines) == 33
    assert len(table.to_text(rows=None).splitlines()) == 62
    assert len(table.to_text(rows=4).splitlines()) == 1 + 4 + 2


def test_long_table_of_constants_has_no_worst_row() -> None:
    """Where no row has the diagnostic, none is named."""
    note = str(summary(np.ones((1, 2, 100)))).splitlines()[-1]
    left_out = "70 of 100 rows left out; to_text(rows=None) shows all"
    assert note == f"{left_out}. 100 of 100 rows constant, without diagnostics"


def test_constants_have_no_diagnostics_to_show() -> None:
    """Their cells stay empty, also where a constant is known to rounding alone; the numbers of the table stay."""
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(4, 200, 3))
    draws[..., 1] = 0.0
    draws[..., 2] = 1.0 + 2.0**-52 * rng.integers(0, 2, size=(4, 200))
    table = summary({"x": draws})
    lines = table.to_text().splitlines()
    assert [line.split() for line in lines[2:4]] == [["x[1]", "0", "0", "0", "0"], ["x[2]", "1", "0", "1", "1"]]
    assert lines[4] == "2 of 3 rows constant, without diagnostics"
    assert lines[4] in table._repr_html_()
    assert table["ess_bulk"].shape == table["mean"].shape == (3,)
    assert "constant" not in summary({"x": draws[..., :1]}).to_text()
    assert "constant" not in summary({"x": draws}, kind="stats").to_text()


def test_web_page_shows_the_same_cells_and_escapes_labels() -> None:
    """Every printed number is in the page; labels are no markup."""
    table = SummaryTable(("<b>",), {"mean": np.array([1.5]), "sd": np.array([0.25])})
    page = table._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "1.500" in page
    assert "0.250" in page
    assert example()._repr_html_().count("<tr>") == 5
    long = summary(np.random.default_rng(3).normal(size=(2, 10, 100)), kind="stats")._repr_html_()
    assert long.count("<tr>") == 1 + 30 + 1
    assert "70 of 100 rows left out" in long


def test_data_frame_has_the_unrounded_numbers(posterior: xr.Dataset) -> None:
    """Rows and columns are those of the table."""
    table = summary(posterior)
    frame = table.to_dataframe()
    assert tuple(frame.index) == table.labels
    assert list(frame.columns) == list(table)
    np.testing.assert_array_equal(frame["mcse_sd"], table["mcse_sd"])
    assert len(frame) == len(table)


def test_a_table_does_what_a_data_frame_does(posterior: xr.Dataset) -> None:
    """By becoming one: rows and columns by label, by condition, sorted, written."""
    table = summary(posterior)
    frame = table.to_dataframe()
    assert table.loc["mu", "mean"] == frame.loc["mu", "mean"]
    assert table.shape == frame.shape
    assert list(table.index) == list(frame.index)
    assert table[["mean", "sd"]].equals(frame[["mean", "sd"]])
    assert list(table[table["mean"] > 2].index) == list(frame[frame["mean"] > 2].index)
    assert table.sort_values("sd").equals(frame.sort_values("sd"))
    assert table.to_csv() == frame.to_csv()
    np.testing.assert_array_equal(table.r_hat, table["r_hat"])
    with pytest.raises(AttributeError, match="nothing"):
        _ = table.nothing
    assert len(copy.deepcopy(table)) == len(table)


@given(
    st.floats(min_value=1e-300, max_value=1e300, allow_subnormal=False),
    st.integers(min_value=2, max_value=4),
)
def test_decimals_show_the_significant_digits(value: float, digits: int) -> None:
    """Rounded to these decimals, a number is off by less than one unit of its last significant digit."""
    decimals = decimals_for(value, digits)
    if decimals is None:
        assert value < 10.0 ** (digits - 8) or value >= 0.9 * 1e9
    else:
        shown = float(f"{value:.{decimals}f}")
        assert abs(shown - value) <= 0.5 * 10.0 ** (1 - digits) * value * (1 + 1e-9)


@pytest.mark.parametrize(
    ("column", "value", "deviation", "expected"),
    [
        ("mean", -0.0004, 1.0, "0.00"),
        ("mean", 1234567.0, 1e5, "1234567"),
        ("mean", 1e-12, 1e-13, "1.00000e-12"),
        ("mean", float("inf"), 1.0, "inf"),
        ("mean", float("-inf"), float("nan"), "-inf"),
        ("mean", 3.0, float("inf"), "3"),
        ("sd", 9.996, 9.996, "10.0"),
        ("sd", 1e-10, 1e-10, "1.00e-10"),
        ("sd", 2.5e12, 2.5e12, "2.50e+12"),
        ("ess_bulk", 99.5, 1.0, "100"),
        ("r_hat", 1.0, 1.0, "1.000"),
        ("r_hat", float("inf"), 1.0, "inf"),
    ],
)
def test_extreme_numbers_stay_readable(column: str, value: float, deviation: float, expected: str) -> None:
    """Huge and tiny numbers take an exponent; zeros have no sign."""
    assert cell(column, value, deviation) == expected


def test_aligned_numbers_have_their_points_in_one_column() -> None:
    """Numbers without a point end where the others have it."""
    assert align(["1.5", "-10", "NaN", "0.125"]) == ["  1.5  ", "-10    ", "    NaN", "  0.125"]
    assert align([]) == []


def test_the_formats_hold_the_same_numbers() -> None:
    """A data set of the variables' shapes along `summary`, and a long data frame; labels and orders of axes survive."""
    rng = np.random.default_rng(5)
    axes = {"school": ["A", "B"], "year": [2001, 2002, 2003]}
    tree = xr.Dataset(
        {"mu": (("chain", "draw"), rng.normal(size=(2, 60))),
         "theta": (("school", "chain", "draw", "year"), rng.normal(size=(2, 2, 60, 3)))}, axes
    )  # fmt: skip
    table, dataset, long = (summary(tree, fmt=fmt) for fmt in ("wide", "xarray", "long"))
    assert dataset["theta"].dims == ("summary", "school", "year")
    for column in table:
        np.testing.assert_array_equal(dataset["mu"].sel(summary=column), table.row("mu")[column])
        own = dataset["theta"].sel(summary=column, school="B", year=2003)
        assert float(own) == table.row("theta[B, 2003]")[column]
        rows = long.loc[column]
        assert float(rows[(rows["school"] == "B") & (rows["year"] == 2003)]["theta"].iloc[0]) == float(own)
    rounded = summary(tree, fmt="xarray", round_to=1)
    np.testing.assert_array_equal(rounded["theta"], np.round(dataset["theta"], 1))
    assert summary({"x": rng.normal(size=(2, 60, 4))}, fmt="xarray")["x"].dims == ("summary", "x_dim_0")
    with pytest.raises(ValueError, match="fmt is 'wide', 'long' or 'xarray'; 'tall' came"):
        summary(tree, fmt="tall")


def test_summary_of_arrays_loads_no_optional_library() -> None:
    """Neither xarray, pandas, SciPy nor ArviZ is needed for arrays."""
    code = (
        "import sys, numpy as np, consilience; before = set(sys.modules); "
        "from consilience.diagnostics import summary, inspect; "
        "draws = np.random.default_rng(1).normal(size=(4, 200, 2)); str(summary(draws)); inspect(draws); "
        "optional = {'xarray', 'pandas', 'scipy', 'arviz_stats', 'rich'}; "
        "print(sorted(optional & (set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
