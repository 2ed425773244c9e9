"""Dimensions of a model: names, labels and lengths.

A dimension has labels, a fixed length, or a length that data decide (a symbolic length).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.distributions.random_variable import random_variables
from consilience.errors import ModelError, ShapeError
from consilience.ir import Dim, Dimension, Node, symbol
from consilience.ir.dimension import Atom, atoms, substitute
from consilience.ir.side_tables import name_of

MOST_ELEMENTS: Final = 2**36
Labels: TypeAlias = Sequence[Any] | npt.NDArray[Any] | None


class NamedAxes(tuple[str, ...]):
    """Dims of a variable that was made as a tensor with named dims, `made`: `model[name]` is that, too."""

    made: Any
    kind: type[Any]

    @classmethod
    def like(cls, dims: Iterable[str], made: Any) -> NamedAxes:
        """The dims of a variable, which `made` is, or is a class of."""
        axes = cls(dims)
        axes.made, axes.kind = (None, made) if isinstance(made, type) else (made, made.__class__)
        return axes

    def of(self, node: Node) -> Any:
        """The variable with its dims: what the user has, or the same of another model."""
        return self.made if self.made is not None and self.made.values is node else self.kind(node, tuple(self))

    def __reduce__(self) -> tuple[Any, tuple[tuple[str, ...], type[Any]]]:
        return NamedAxes.like, (tuple(self), self.kind)


class _Axis:
    """A dimension.

    `length`: of what is declared along it from now on. `labels`: of the moment. `static`: the number that was its
    length before data came to decide it; None if they always did. `declared`: the labels it had first.
    """

    def __init__(self, length: Dim, labels: tuple[Any, ...] | None) -> None:
        self.length = length
        self.labels = labels
        self.static = length if isinstance(length, int) else None
        self.declared = labels


LONGEST_NAME: Final = 200
"""Bytes of a name: stores keep an array in a folder of its name, and file systems allow 255."""


def unstorable(name: str) -> str:
    """Why no file of results can have a name; nothing where all can."""
    if not _is_text(name):
        return "half of a surrogate pair is no text, and UTF-8 cannot write it"
    if "\0" in name:
        return "it holds a NUL, which no file can have in a name"
    if "\\" in name:
        return "readers of zarr take a backslash for a slash, which parts the groups of a result"
    if name in (".", "..", "zarr.json"):
        return "stores keep it in a folder of its name, and this is the name of something else there"
    if len(name.encode()) > LONGEST_NAME:
        return f"it is longer than the {LONGEST_NAME} bytes that stores can keep"
    return ""


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


class Coordinates:
    """The dimensions of one model."""

    def __init__(self) -> None:
        self._axes: dict[str, _Axis] = {}
        self._current: dict[str, int] = {}

    def copy(self) -> Coordinates:
        """The same dimensions, to be changed independently; symbolic lengths stay the same symbols."""
        made = Coordinates()
        for name, axis in self._axes.items():
            made._axes[name] = _Axis(axis.length, axis.labels)
            made._axes[name].static, made._axes[name].declared = axis.static, axis.declared
        made._current = dict(self._current)
        return made

    def __contains__(self, name: str) -> bool:
        return name in self._axes

    def add(self, name: str, values: Labels, length: int | None) -> None:
        """A dimension with labels or a length; a dimension given twice must be given equally."""
        if name in ("draw", "chain", "__sample__"):
            raise ModelError(f"`{name}` names an axis of every result; call the dimension otherwise.")
        if not isinstance(name, str) or not name or "/" in name:
            raise ModelError(f"a dimension needs a name without a slash, got {name!r}.")
        if why := unstorable(name):
            raise ModelError(f"a dimension cannot be called {name!a}: {why}.")
        labels = _labels(name, values)
        if labels is None and length is None:
            raise ModelError(f"the dimension `{name}` needs labels or a length.")
        size = len(labels) if labels is not None else _size(name, length)
        known = self._axes.get(name)
        if known is not None:
            same_labels = labels is None or known.labels is None or known.labels == labels
            if self.current_length(name) != size or not same_labels:
                raise ModelError(
                    f"the dimension `{name}` exists already, with "
                    + (f"length {self.current_length(name)}" if same_labels else "other labels")
                    + "; give it once, or equally."
                )
            if known.labels is None:
                known.labels = known.declared = labels
            return
        self._axes[name] = _Axis(size, labels)

    def open(self, name: str, length: int, origin: str) -> Dimension | int:
        """The length of an axis of data: symbolic, so that data of another length can be set later."""
        known = self._axes.get(name)
        if known is None:
            axis = _Axis(symbol(name), None)
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

    def tie(self, name: str, length: Dim) -> None:
        """Let a dimension have a length that follows from lengths of data."""
        if not isinstance(length, int):
            self._current[name] = self.current_length(name)
            self._axes[name].length = length

    def length(self, name: str, origin: str = "") -> Dim:
        """Length of a dimension; `origin` says in messages who asks for it."""
        if name not in self._axes:
            known = ", ".join(f"`{n}`" for n in self._axes) or "none"
            raise ModelError(
                f"{origin + ' names' if origin else '`dims`:'} the dimension `{name}`"
                f"{', which' if origin else ''} is unknown; the model has {known}. "
                f"Add it: `pm.Model(coords={{{name!r}: …}})` or `model.add_coord({name!r}, …)`."
            )
        return self._axes[name].length

    def current_length(self, name: str) -> int:
        """Length of a dimension at present."""
        length = self.length(name)
        known = self._current.get(name)
        return length if known is None and isinstance(length, int) else self._current[name]

    def new_labels(self, name: str, labels: Labels) -> tuple[Any, ...] | None:
        """Labels that may replace those of a dimension."""
        self.length(name, "`coords`")
        new = _labels(name, labels)
        repeated = [label for label in dict.fromkeys(new or ()) if (new or ()).count(label) > 1]
        if repeated:
            raise ModelError(f"the labels of `{name}` must differ from each other, but {repeated[0]!r} occurs twice.")
        return new

    def moved(self) -> dict[str, int]:
        """Dimensions once declared with a number, whose length or labels are others by now: that number."""
        return {
            name: axis.static
            for name, axis in self._axes.items()
            if axis.static is not None
            and (self.current_length(name) != axis.static or axis.labels != axis.declared is not None)
        }

    def has_declared_labels(self, name: str) -> bool:
        """Whether a dimension had labels from the beginning."""
        return self._axes[name].declared is not None

    def keeps_places(self, name: str) -> bool:
        """Whether labels with which a dimension was declared stand where they stood, as far as they are there."""
        axis = self._axes[name]
        return all(a == b for a, b in zip(axis.declared or (), axis.labels or (), strict=False))

    def resize(self, name: str, length: int, labels: Labels) -> None:
        """Another length of a dimension that data decide, with its labels."""
        if isinstance(self.length(name, "`set_dim`"), int):
            raise ModelError(
                f"the dimension `{name}` has a fixed length; only dimensions of `pm.Data` can change their length."
            )
        new, size = _labels(name, labels), _size(name, length)
        if new is None and self._axes[name].labels is not None:
            raise ShapeError(f"the dimension `{name}` has labels; give the new ones with `coord_values`.")
        if new is not None and len(new) != size:
            raise ShapeError(f"the dimension `{name}` gets the length {size}, but {len(new)} labels.")
        self.change({name: size}, {name: new})

    def check_length(self, name: str, length: int, data: str, changed: Mapping[str, tuple[Any, ...] | None]) -> None:
        """Whether new data may have a length along a dimension, `changed` being the new labels."""
        new = changed.get(name)
        labels = self._axes[name].labels if new is None else new
        if labels is not None and len(labels) != length:
            raise ShapeError(
                f"the new values of `{data}` have length {length} along `{name}`, which has "
                f"{len(labels)} labels; pass the new labels: `pm.set_data(…, coords={{{name!r}: …}})`."
            )

    def change(
        self,
        lengths: Mapping[str, int],
        labels: Mapping[str, tuple[Any, ...] | None],
        decided: Mapping[Atom, Dim] | None = None,
    ) -> None:
        """New lengths of dimensions that data decide, and new labels; `decided` are the symbolic lengths by now."""
        for name, axis in self._axes.items():
            length = substitute(axis.length, decided or {})
            if axis.length is not length and isinstance(length, int):
                self._current[name] = length
        for name, length in lengths.items():
            if not isinstance(self._axes[name].length, int):
                self._current[name] = length
        for name, new in labels.items():
            if new is not None:
                self._axes[name].labels = new
                self._current[name] = len(new)

    def fix(self, names: Sequence[str]) -> None:
        """Give dimensions the lengths they have now for good."""
        for name in names:
            self._axes[name] = _Axis(self.current_length(name), self._axes[name].labels)

    def names(self) -> list[str]:
        """Names of all dimensions."""
        return list(self._axes)

    def labels(self, changed: Mapping[str, tuple[Any, ...] | None] | None = None) -> dict[str, tuple[Any, ...] | None]:
        """Labels of all dimensions, `changed` in place of some."""
        return {n: (changed or {}).get(n) or axis.labels for n, axis in self._axes.items()}


def _size(name: str, length: Any) -> int:
    if isinstance(length, bool) or not isinstance(length, int | np.integer) or length < 0:
        raise ModelError(f"the length of the dimension `{name}` must be an integer >= 0, got {length!r}.")
    return int(length)


def _labels(name: str, values: Labels) -> tuple[Any, ...] | None:
    """Labels as a tuple; elements of arrays and pandas indexes stay what they are (dates stay dates)."""
    if values is None:
        return None
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, str) or not hasattr(values, "__len__") or not hasattr(values, "__iter__"):
        raise ModelError(f"the labels of `{name}` must be a sequence such as a list or an array, got {values!r}.")
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ModelError(f"the labels of `{name}` must be one-dimensional, got shape {values.shape}.")
        labels = tuple(values) if values.dtype.kind in "mM" else tuple(values.tolist())
    else:
        labels = tuple(values)
    for label in labels:
        if isinstance(label, str) and ("\0" in label or not _is_text(label)):
            raise ModelError(
                f"the label {label!a} of `{name}` cannot be stored: it holds a NUL, or half of a surrogate pair."
            )
        if isinstance(label, list | np.ndarray):
            raise ModelError(f"the labels of `{name}` must be one-dimensional, got {label!r} as one of them.")
    return labels


def check_elements(name: str, node: Node) -> None:
    """Refuse a variable whose number of elements is itself random, or beyond what any memory holds."""
    known = [length for length in node.static_shape if isinstance(length, int)]
    if math.prod(known) > MOST_ELEMENTS:
        raise ModelError(f"`{name}` has the shape {tuple(node.static_shape)}: more elements than any memory holds.")
    sources = [atom.source for length in node.static_shape for atom in atoms(length)]
    random = random_variables([source for source in sources if isinstance(source, Node)])
    if random:
        parent = name_of(random[0]) or repr(random[0].op)
        raise ModelError(
            f"the shape of `{name}` depends on `{parent}`, a random variable; a model has a fixed number of variables. "
            "Give the greatest length, and leave out with `pm.math.where` what is beyond."
        )
