"""Series as users have them: arrays, and tables of pandas with dates. Out: numbers, labels, and labels that go on."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ParameterError, ShapeError
from consilience.record import Record
from consilience.sample.forecasts import frequency_of, labels_behind

Array = npt.NDArray[Any]


class ObservedSeries(Record, eq=False):
    """Observations (times, p), NaN where there is none, labels of the times, and names of the columns."""

    values: Array
    times: Any
    names: tuple[str, ...]


def series(what: str, data: Any) -> ObservedSeries:
    """A table, a series or an array of one or two axes.

    Raises
    ------
    ShapeError
        For other shapes, and for labels of time that are not in order or stand twice.
    """
    index = getattr(data, "index", None)
    index = index if hasattr(index, "is_monotonic_increasing") else None
    columns = getattr(data, "columns", None)
    values = numbers(what, data)
    if values.ndim not in (1, 2):
        raise ShapeError(f"{what} must have the shape (times,) or (times, columns), got {values.shape}.")
    if not len(values):
        raise ShapeError(f"{what} have no values: a series needs at least one time.")
    values = values.reshape(len(values), -1)
    names = tuple(map(str, columns)) if columns is not None else ()
    if index is not None:
        if not index.is_monotonic_increasing or not index.is_unique:
            twice = index[index.duplicated()]
            problem = f"{twice[0]} stands twice" if len(twice) else "they are not in order"
            raise ShapeError(
                f"the labels of time of {what} must ascend, and {problem}. Sort the rows (`.sort_index()`), and give "
                "each time one row; a time without an observation is a row of NaN."
            )
        if hasattr(index, "to_timestamp"):  # periods
            index = index.to_timestamp()
        _equal_steps(what, index)
    return ObservedSeries(values, np.arange(len(values)) if index is None else index, names)


def numbers(what: str, given: Any) -> Array:
    """A table as real numbers; masked values are NaN.

    Raises
    ------
    ParameterError
        For text and complex numbers.
    """
    masked = isinstance(given, np.ma.MaskedArray)
    found = given if masked else np.asarray(given)
    if found.dtype.kind in "OUSbiuf":
        with suppress(ValueError, TypeError):  # a table of pandas knows what its own missing values are as floats
            return np.ma.filled(given.astype(float), np.nan) if masked else np.array(given, dtype=float)
    raise ParameterError(
        f"{what} must be real numbers, with NaN for what is missing, got values of dtype {found.dtype}."
    )


def _equal_steps(what: str, index: Any) -> None:
    """Refuse dates that leave out rows: a step of the model is one row."""
    pd: Any = import_module("pandas")
    dates = isinstance(index, pd.DatetimeIndex)
    if len(index) < 3 or (not dates and index.dtype.kind not in "iuf") or (dates and frequency_of(index) is not None):
        return
    steps = np.diff(index.asi8 if dates else index.to_numpy())
    if steps.max() > 1.5 * steps.min():
        place = int(np.argmax(steps))
        last, following = (str(x).removesuffix(" 00:00:00") for x in (index[place], index[place + 1]))
        remedy = '`data.asfreq("MS")` for the starts of months' if dates else "`data.reindex(range(first, last + 1))`"
        raise ShapeError(
            f"the {'dates' if dates else 'times'} of {what} are not at equal distances: after {last} comes {following}."
            f" Write a row of NaN for each time without an observation, {remedy}."
        )


def check_same_times(table: Any, times: Any) -> None:
    """Refuse regressors whose dates are others than those of the series, or in another order.

    Raises
    ------
    ShapeError
        Where dates differ.
    """
    index: Any = getattr(table, "index", None)
    if not hasattr(index, "is_monotonic_increasing"):
        return
    pd: Any = import_module("pandas")
    if hasattr(index, "to_timestamp"):
        index = index.to_timestamp()
    if not isinstance(index, pd.DatetimeIndex) or not isinstance(times, pd.DatetimeIndex) or len(index) != len(times):
        return
    if (index != times).any():
        place = int(np.argmax(index != times))
        raise ShapeError(
            f"the dates of `exog` are not those of the series: row {place} is that of {index[place]}, and the series "
            f"has {times[place]}. Bring it into their order, `exog.loc[data.index]`."
        )


def following_labels(times: Any, periods: int, given: Any = None) -> Any:
    """Labels of the times behind these: those given, dates of their frequency, or numbers of their step.

    Raises
    ------
    ParameterError
        For a number of periods that is none.
    ShapeError
        For another number of labels.
    """
    if isinstance(periods, bool) or not isinstance(periods, int | np.integer) or periods < 1:
        raise ParameterError(f"`periods` must be a whole number >= 1, got {periods!r}.")
    if given is not None:
        if len(given) != periods:
            raise ShapeError(f"`coords` must have a label for each of the {periods} periods, got {len(given)}.")
        return given
    found = labels_behind(times, periods)
    if found is not None:
        return found
    pd: Any = import_module("pandas")
    index = pd.Index(times)
    if isinstance(index, pd.DatetimeIndex):
        step = index[-1] - index[-2] if len(index) > 1 else pd.Timedelta(days=1)
        return pd.DatetimeIndex([index[-1] + (k + 1) * step for k in range(periods)])
    if index.dtype.kind in "iuf":
        step = index[-1] - index[-2] if len(index) > 1 else 1
        return index[-1] + step * np.arange(1, periods + 1)
    return np.arange(len(index), len(index) + periods)
