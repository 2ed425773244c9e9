"""Series as users have them: arrays, and tables of pandas with dates. Out: numbers, labels, and labels that go on."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ShapeError
from consilience.record import Record

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
    values = np.ma.filled(np.ma.asarray(data, dtype=float), np.nan) if index is None else np.array(data, dtype=float)
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


def _equal_steps(what: str, index: Any) -> None:
    """Refuse dates that leave out rows: a step of the model is one row."""
    pd: Any = import_module("pandas")
    if not isinstance(index, pd.DatetimeIndex) or len(index) < 3 or index.freq is not None:
        return
    if pd.infer_freq(index) is None:
        steps = np.diff(index.asi8)
        if steps.max() > 1.5 * np.median(steps):
            place = int(np.argmax(steps))
            raise ShapeError(
                f"the dates of {what} are not at equal distances: after {index[place].date()} comes "
                f"{index[place + 1].date()}. Write a row of NaN for each date without an observation, "
                '`data.asfreq("MS")` for the starts of months.'
            )


def following_labels(times: Any, periods: int) -> Any:
    """Labels of the times behind these: dates of their frequency, or numbers of their step."""
    pd: Any = import_module("pandas")
    if isinstance(times, np.ndarray) and times.dtype.kind == "M":
        times = pd.DatetimeIndex(times)
    if isinstance(times, pd.DatetimeIndex):
        frequency = times.freq or (pd.infer_freq(times) if len(times) > 2 else None)
        if frequency is not None:
            return pd.date_range(times[-1], periods=periods + 1, freq=frequency)[1:]
        step = times[-1] - times[-2] if len(times) > 1 else pd.Timedelta(days=1)
        return pd.DatetimeIndex([times[-1] + (k + 1) * step for k in range(periods)])
    numbers = np.asarray(times)
    if numbers.dtype.kind in "iuf":
        step = numbers[-1] - numbers[-2] if len(numbers) > 1 else 1
        return numbers[-1] + step * np.arange(1, periods + 1)
    return np.arange(len(numbers), len(numbers) + periods)
