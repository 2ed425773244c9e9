"""The summary of a result: a table with one row per parameter.

Means, intervals and diagnostics are computed together, in one pass over the draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from consilience.diagnostics import interval, table
from consilience.diagnostics.compiled.library import Part
from consilience.diagnostics.description import INTERVALS, IntervalKind, describe
from consilience.diagnostics.sample import FloatArray
from consilience.diagnostics.variables import (
    Draws,
    Filter,
    VariableDraws,
    attributes,
    gather,
    piece_of,
    pieces,
    superchains_of,
)
from consilience.errors import ArgumentError
from consilience.errors import shown as printable
from consilience.record import Record

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # pandas carries no annotations
    import xarray

Kind = Literal["all", "stats", "diagnostics"]
Format = Literal["wide", "long", "xarray"]
SHOWN_IN_FULL = 60
SHOWN_AT_EACH_END = 15
TELLING = 1.5  # times the deviation of a normal distribution with the same interval: what a reader is told of
HEAVY_TAILS = "NaN for mcse_sd: the tails are so heavy that the standard deviation is known badly"


class SummaryTable(Record, eq=False):
    """Numbers per parameter: `columns` maps a name to an array (P,), `labels` names the P rows.

    `verdict` is what the run said of these draws, empty if it had nothing to say; it is shown below the numbers.
    `print(table)` shows it as text, `table["r_hat"]` is a column, `table.row("theta[A]")` a row,
    `table.to_dataframe()` a pandas data frame. What a data frame can do the table can, by becoming one:
    `table.loc["mu"]`, `table.sort_values("r_hat")`, `table[["mean", "sd"]]`, `table[table["r_hat"] > 1.01]`.

    Parameters
    ----------
    labels : tuple of str
        Name of each row.
    columns : mapping of str to FloatArray
        Numbers by the name of the column.
    verdict : str, default ''
        What the table is worth, in a sentence.

    See Also
    --------
    summary : Makes one, or a data frame of it.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.diagnostics import SummaryTable
    >>> table = SummaryTable(labels=["mu"], columns={"mean": np.array([1.5])})
    >>> "mu" in str(table)
    True
    """

    labels: tuple[str, ...]
    columns: Mapping[str, FloatArray]
    verdict: str = ""

    def __post_init__(self) -> None:
        labels: Any = self.labels
        if not isinstance(labels, Sequence) or isinstance(labels, str):
            raise ArgumentError(f"`labels` must be the names of the rows of a `SummaryTable`, got {labels!r}.")
        if not isinstance(self.columns, Mapping) or not all(isinstance(name, str) for name in self.columns):
            raise ArgumentError(f"`columns` must be a mapping of names to arrays, got {self.columns!r}.")
        lengths = {name: np.shape(column) for name, column in self.columns.items()}
        if wrong := next((name for name, shape in lengths.items() if shape != (len(labels),)), None):
            raise ArgumentError(
                f"`columns` of a `SummaryTable` must have one number for each of the {len(labels)} `labels`, got "
                f"{wrong!r} of the shape {lengths[wrong]}."
            )
        if not isinstance(self.verdict, str):
            raise ArgumentError(f"`verdict` of a `SummaryTable` must be a sentence, got {self.verdict!r}.")

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, column: Any) -> Any:
        """Column by its name; for a list of names or an array of truth values a data frame."""
        if not isinstance(column, str):
            return self.to_dataframe()[column]
        try:
            return self.columns[column]
        except KeyError:
            raise KeyError(f"no column {column!r}; the columns: {', '.join(self.columns)}") from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "columns" not in self.__dict__:
            raise AttributeError(name)
        if name in self.columns:
            return self.columns[name]
        return getattr(self.to_dataframe(), name)

    def row(self, label: str) -> dict[str, float]:
        """Numbers of one parameter by its label, such as `theta[A]`."""
        try:
            place = self.labels.index(label)
        except ValueError:
            raise KeyError(f"no row {label!r}; `labels` holds the names of the rows") from None
        return {name: float(values[place]) for name, values in self.columns.items()}

    def to_dataframe(self) -> pd.DataFrame:
        """The table as a pandas data frame, unrounded, indexed by the labels."""
        import pandas as pd

        return pd.DataFrame(dict(self.columns), index=list(self.labels))

    def to_text(self, rows: int | None = SHOWN_IN_FULL) -> str:
        """Aligned text. A table of more than `rows` rows shows its first and last ones; None shows all."""
        shown, gap, note = self._shown(rows)
        labels = [self.labels[row] for row in shown]
        lines = table.plain(list(self.columns), labels, table.cells(self.columns, shown))
        if gap is not None:
            lines[gap + 1 : gap + 1] = ["..."]
        return "\n".join([*lines, printable(note)] if note else lines)

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown, gap, note = self._shown(SHOWN_IN_FULL)
        labels = [self.labels[row] for row in shown]
        return table.hypertext(list(self.columns), labels, table.cells(self.columns, shown), printable(note), gap)

    def _misleads(self) -> bool:
        """Whether a deviation without an error is far from what the interval tells; mild tails have none either."""
        columns = self.columns
        if not {"mcse_mean", "mcse_sd"} <= columns.keys():
            return False
        missing = np.isnan(columns["mcse_sd"]) & (columns["mcse_mean"] > 0)
        ends = [name for name in columns if name.startswith(tuple(f"{kind}_" for kind in INTERVALS))]
        if not missing.any() or "sd" not in columns or len(ends) != 2:
            return bool(missing.any())
        from statistics import NormalDist  # few tables come here

        lower, upper = (float(name[4:-1]) / 100 for name in ends)
        usual = (columns[ends[1]] - columns[ends[0]]) / (2 * NormalDist().inv_cdf((1 + upper - lower) / 2))
        return bool((missing & (columns["sd"] > TELLING * usual)).any())

    def _shown(self, rows: int | None) -> tuple[list[int], int | None, str]:
        """Rows to show, where the gap among them is, and what is to be said below."""
        total = len(self)
        heavy = HEAVY_TAILS if self._misleads() else ""
        constant = int(table.constants(self.columns).sum()) if "mcse_mean" in self.columns else 0
        fixed = f"{constant} of {total} rows constant, without diagnostics" if constant else ""
        if rows is None or total <= rows:
            return list(range(total)), None, ". ".join(filter(None, (heavy, fixed, self.verdict)))
        ends = max(1, min(SHOWN_AT_EACH_END, rows // 2))
        shown = [*range(ends), *range(total - ends, total)]
        left = np.ones(total, dtype=bool)
        left[shown] = False
        worst = []
        for column, best in (("r_hat", np.nanargmax), ("ess_bulk", np.nanargmin)):
            values = self.columns.get(column)
            if values is not None and np.isfinite(values[left]).any():
                place = int(np.flatnonzero(left)[best(values[left])])
                extreme = "largest" if column == "r_hat" else "smallest"
                value = table.cell(column, float(values[place]), np.nan)
                worst.append(f"{extreme} {column} {value} at {self.labels[place]}")
        among = f" (among them: {'; '.join(worst)})" if worst else ""
        note = f"{int(left.sum())} of {total} rows left out{among}; to_text(rows=None) shows all"
        return shown, ends, ". ".join(filter(None, (note, heavy, fixed, self.verdict)))


def summary(
    draws: Draws,
    var_names: str | Sequence[str] | None = None,
    *,
    filter_vars: Filter = None,
    group: str = "posterior",
    coords: Mapping[str, object] | None = None,
    kind: Kind = "all",
    ci_prob: float = 0.94,
    ci_kind: IntervalKind = "hdi",
    round_to: int | str | None = "auto",
    fmt: Format = "wide",
) -> Any:
    """Mean, standard deviation, credible interval and convergence diagnostics of each parameter.

    draws (DataTree or Dataset or mapping or array_like): A result of `sample`, of which `group` is summarised; a
        dataset; a dictionary of arrays (chain, draw, ...); or one array.
    var_names: Variables to include, all by default; `~name` excludes one.
    filter_vars: None: `var_names` are names; "like": parts of names; "regex": regular expressions.
    group: Group of the result.
    coords (mapping): Labels to include along named axes, such as {"school": ["A", "B"]}.
    kind: "stats": mean to interval; "diagnostics": standard errors to R-hat; "all": both.
    ci_prob: Probability of the interval, in (0, 1).
    ci_kind: "hdi": highest density; "eti": equal tails.
    round_to (int or str or None): Number of decimals of the values. "auto", "none" and None keep all digits and round
        only what is printed.
    fmt: "wide": a `SummaryTable` with one row per scalar; "xarray": a dataset of the variables with an axis `summary`
        for the columns; "long": the same as a pandas data frame with one column per variable.
    Returns: A table with one row per scalar, or what `fmt` asks for.
    See plot_trace: A picture of the draws.

    Notes
    -----
    The columns are mean, sd, hdi_3%, hdi_97% (named after the kind and the probability of the interval), mcse_mean,
    mcse_sd, ess_bulk, ess_tail, r_hat (nested, for results of many chains in lock step). If draws of a parameter are
    NaN, its whole row is NaN. A parameter with heavy tails has no mcse_sd, see `mcse_sd`; a line below the table warns
    if its standard deviation does not fit its interval. The printed table of a result of `sample` ends with its status,
    unless the status is "converged".

    It raises KeyError for unknown names, ShapeError and TypeError for draws that are not arrays (chain, draw, ...), and
    ValueError for an unknown kind or a probability out of range.

    >>> draws = {"mu": np.random.default_rng(1).normal(size=(4, 500))}
    >>> table = pm.summary(draws)
    >>> table.loc["mu", "sd"].round(1).item(), bool(table.loc["mu", "r_hat"] < 1.01)
    (1.0, True)
    """
    if kind not in ("all", "stats", "diagnostics"):
        raise ValueError(f"kind is 'all', 'stats' or 'diagnostics'; {kind!r} came")
    if ci_kind not in INTERVALS:
        raise ValueError(f"ci_kind is 'hdi' or 'eti'; {ci_kind!r} came")
    if fmt not in ("wide", "long", "xarray"):
        raise ValueError(f"fmt is 'wide', 'long' or 'xarray'; {fmt!r} came")
    interval.check_probability(ci_prob)
    decimals = None if round_to in (None, "auto", "none", "None") else round_to
    if decimals is not None and (isinstance(decimals, bool) or not isinstance(decimals, int)):
        raise ValueError(f"round_to is a number of decimals, 'auto' or 'none'; {round_to!r} came")
    variables = gather(draws, group=group, var_names=var_names, filter_vars=filter_vars, coords=coords, apart=True)
    parts: list[Part] = []
    if kind != "diagnostics":
        parts += ["statistics"]
    if kind != "stats":
        parts += ["errors", "ranks"]
    known = attributes(draws, group)
    superchains = superchains_of(known, variables[0].draws.shape[0] if variables else 0)
    tables = [describe(draws, parts, ci_kind, ci_prob, superchains) for draws in _read(variables)]
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    tail = 100 * (1 - ci_prob) / 2
    names = {"lower": f"{ci_kind}_{tail:g}%", "upper": f"{ci_kind}_{100 - tail:g}%"}
    labels = tuple(name for variable in variables for name in variable.element_names())
    found = {names.get(name, name): values for name, values in columns.items()}
    if decimals is not None:
        found = {name: np.asarray(np.round(values, decimals), float) for name, values in found.items()}
    if fmt == "wide":
        return SummaryTable(labels, found, verdict(known))
    of_variables = _by_variable(variables, found)
    if fmt == "xarray":
        return of_variables
    return of_variables.to_dataframe().reset_index().set_index("summary").rename_axis(None)


def _read(variables: Sequence[VariableDraws]) -> Iterator[list[np.ndarray[Any, Any]]]:
    """Draws of variables in their order, those that are not in memory piece by piece."""
    together: list[np.ndarray[Any, Any]] = []
    for variable in variables:
        draws: Any = variable.draws
        if isinstance(draws, np.ndarray):
            together.append(draws)
            continue
        if together:
            yield together
        together = []
        for place in pieces(draws.shape, draws.dtype.itemsize, piece_of(draws)):
            yield [draws[(slice(None), slice(None), *place)].to_numpy()]
    if together or not variables:
        yield together


def _by_variable(variables: Sequence[VariableDraws], columns: Mapping[str, FloatArray]) -> xarray.Dataset:
    """The columns as variables of the draws' shapes, along a first axis `summary`."""
    import xarray

    stacked, start, made = np.stack(list(columns.values())), 0, {}
    for own in variables:
        values = stacked[:, start : start + own.size].reshape(len(stacked), *own.draws.shape[2:])
        places = {d: list(labels) for d, labels in zip(own.dims, own.labels, strict=True)}
        made[own.name] = xarray.DataArray(values, {"summary": list(columns), **places}, ["summary", *own.dims])
        start += own.size
    return xarray.Dataset(made)


def verdict(of_run: Mapping[str, Any]) -> str:
    """In words, the attributes `status` and `reason` of a run; empty where it converged and there is no more to say."""
    status, reason = str(of_run.get("status", "")), str(of_run.get("reason", ""))
    if not reason and status in ("", "converged"):
        return ""
    return f"status: {status}{f', {reason}' if reason else ''}"
