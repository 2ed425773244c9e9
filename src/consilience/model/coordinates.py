"""Dimensions of a model: names, labels and lengths.

A dimension has labels, a fixed length, or a length that data decide (a symbolic length).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import ModelError, ShapeError
from consilience.ir import Dim, Dimension, symbol

Labels: TypeAlias = Sequence[Any] | npt.NDArray[Any] | None


@dataclass
class _Axis:
    length: Dim
    labels: tuple[Any, ...] | None
    origin: str


class Coordinates:
    """The dimensions of one model."""

    def __init__(self) -> None:
        self._axes: dict[str, _Axis] = {}
        self._current: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._axes

    def add(self, name: str, values: Labels, length: int | None) -> None:
        """A dimension with labels or a length; a dimension given twice must be given equally."""
        if name in ("draw", "chain", "__sample__"):
            raise ModelError(f"`{name}` names an axis of every result; call the dimension otherwise.")
        labels = _labels(name, values)
        if labels is None and length is None:
            raise ModelError(f"the dimension `{name}` needs labels or a length.")
        size = len(labels) if labels is not None else int(length or 0)
        known = self._axes.get(name)
        if known is not None:
            same_labels = labels is None or known.labels is None or known.labels == labels
            if known.length != size or not same_labels:
                raise ModelError(f"the dimension `{name}` exists already with other labels or another length.")
            if known.labels is None:
                known.labels = labels
            return
        self._axes[name] = _Axis(size, labels, "`coords`")

    def claim(self, name: str, length: Dim, origin: str) -> None:
        """A dimension without labels is unknown: say so, with what is known."""
        known = ", ".join(f"`{n}`" for n in self._axes) or "none"
        raise ModelError(
            f"{origin} names the dimension `{name}`, which is unknown; the model has {known}. "
            f"Add it: `pm.Model(coords={{{name!r}: …}})` or `model.add_coord({name!r}, …)`."
        )

    def open(self, name: str, length: int, origin: str) -> Dimension | int:
        """The length of an axis of data: symbolic, so that data of another length can be set later."""
        known = self._axes.get(name)
        if known is None:
            axis = _Axis(symbol(name), None, origin)
            self._axes[name] = axis
            self._current[name] = length
            assert isinstance(axis.length, Dimension)
            return axis.length
        current = self.current_length(name)
        if current != length:
            raise ShapeError(f"{origin} has length {length}, but the dimension `{name}` has length {current}.")
        if isinstance(known.length, int):
            fixed = known.length
            known.length = symbol(name)
            self._current[name] = fixed
        assert isinstance(known.length, Dimension)
        return known.length

    def length(self, name: str) -> Dim:
        """Length of a dimension."""
        if name not in self._axes:
            known = ", ".join(f"`{n}`" for n in self._axes) or "none"
            raise ModelError(f"the dimension `{name}` is unknown; the model has {known}. Add it with `coords`.")
        return self._axes[name].length

    def current_length(self, name: str) -> int:
        """Length of a dimension at present."""
        length = self.length(name)
        return length if isinstance(length, int) else self._current[name]

    def relabel(self, name: str, labels: Labels) -> None:
        """New labels, and with them a new length if data decide it."""
        axis = self._axes.get(name)
        new = _labels(name, labels)
        if axis is None:
            raise ModelError(f"the dimension `{name}` is unknown; add it with `model.add_coord`.")
        if new is None:
            return
        if isinstance(axis.length, int) and len(new) != axis.length:
            raise ShapeError(
                f"the dimension `{name}` has the fixed length {axis.length}, got {len(new)} labels; "
                "only dimensions of `pm.Data` can change their length."
            )
        if not isinstance(axis.length, int):
            self._current[name] = len(new)
        axis.labels = new

    def check_length(self, name: str, length: int, data: str, relabelled: bool) -> None:
        """Take note of the length that new data give to a dimension."""
        current = self.current_length(name)
        if length == current:
            return
        axis = self._axes[name]
        if axis.labels is not None or relabelled:
            raise ShapeError(
                f"the new values of `{data}` have length {length} along `{name}`, which has {current} labels; "
                f"pass the new labels: `pm.set_data(…, coords={{{name!r}: …}})`."
            )
        self._current[name] = length

    def labels(self) -> dict[str, tuple[Any, ...] | None]:
        """Labels of all dimensions."""
        return {name: axis.labels for name, axis in self._axes.items()}


def _labels(name: str, values: Labels) -> tuple[Any, ...] | None:
    if values is None:
        return None
    array = np.asarray(values)
    if array.ndim != 1:
        raise ModelError(f"the labels of `{name}` must be one-dimensional, got shape {array.shape}.")
    labels = tuple(array.tolist())
    if len(set(labels)) != len(labels):
        repeated = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise ModelError(f"the labels of `{name}` must be unique, but {repeated!r} occurs twice.")
    return labels
