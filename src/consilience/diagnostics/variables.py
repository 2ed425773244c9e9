"""The variables of a result: trees, data sets, dictionaries, arrays enter; named, labelled draws leave."""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import ShapeError
from consilience.record import Record

if TYPE_CHECKING:
    import xarray

Draws: TypeAlias = "xarray.DataTree | xarray.Dataset | xarray.DataArray | Mapping[str, npt.ArrayLike] | npt.ArrayLike"
"""What holds draws: a tree with a group of them, a data set, a variable, a dictionary of arrays, an array."""

Filter = Literal["like", "regex"] | None
SAMPLE_DIMENSIONS = ("chain", "draw")
MOST_LABELS: Final = 12  # of a dimension, in an error


class VariableDraws(Record):
    """Draws (chain, draw, *shape) of a variable; along each axis of `shape` the places' labels, and its name."""

    name: str
    draws: npt.NDArray[np.generic]
    labels: tuple[Sequence[object], ...]
    dims: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.draws.shape[2:], dtype=np.intp))

    def element_names(self) -> Iterator[str]:
        """Names such as `theta[A, 2]` of the elements, in C order; the plain name if there are no axes."""
        if not self.labels:
            yield self.name
            return
        axes = [[text(label) for label in axis] for axis in self.labels]
        for place in itertools.product(*axes):
            yield f"{self.name}[{', '.join(place)}]"

    def element_name(self, index: int) -> str:
        """Name of one element by its position in C order."""
        if not self.labels:
            return self.name
        place = np.unravel_index(index, self.draws.shape[2:])
        names = [text(axis[int(i)]) for axis, i in zip(self.labels, place, strict=True)]
        return f"{self.name}[{', '.join(names)}]"


def text(label: object) -> str:
    """A coordinate's label as it is printed; a date at midnight without its time."""
    if isinstance(label, np.datetime64):
        return re.sub(r"T00:00:00(\.0+)?$", "", str(label))
    return str(label)


def gather(
    source: Draws,
    *,
    group: str = "posterior",
    var_names: str | Sequence[str] | None = None,
    filter_vars: Filter = None,
    coords: Mapping[str, object] | None = None,
    apart: bool = False,
) -> list[VariableDraws]:
    """Variables of `source`, in its order or that of `var_names`.

    A tree is asked for its `group`; a node without that group is taken for the group itself. An array is a
    variable named `x`. `coords` selects labels along named axes, which only xarray's objects have.

    var_names, filter_vars: as in ArviZ; exact names, parts of names ("like") or regular expressions
    ("regex"), each left out instead if it begins with `~`.

    apart: whether draws of variables that are `unread` stay on the disk, as arrays of xarray's.

    Raises KeyError for a group or name that is not there, ShapeError without chain and draw axes, TypeError
    for elements that are no real numbers.
    """
    found = dict(_all(source, group, coords, apart))
    names = select(list(found), var_names, filter_vars)
    variables = [found[name] for name in names]
    for variable in variables:
        if variable.draws.ndim < 2:
            raise ShapeError(
                f"the draws of {variable.name!r} need the axes (chain, draw, ...); their shape is "
                f"{variable.draws.shape}. For a single chain, add an axis: draws[None]."
            )
        if variable.draws.dtype.kind not in "biuf":
            raise TypeError(
                f"{variable.name!r} has elements of type {variable.draws.dtype}, not real numbers; "
                f"leave it out with var_names='~{variable.name}'"
            )
    return variables


PIECE: Final = 64 * 2**20
"""Bytes of draws that are read at once, of variables that are not in memory."""


def unread(array: Any) -> bool:
    """Whether a variable of xarray's is on a disk, and larger than a piece."""
    variable = getattr(array, "variable", array)
    return not getattr(variable, "_in_memory", True) and variable.nbytes > PIECE


def piece_of(array: Any) -> int:
    """Bytes to read at once of a variable that is `unread`: more where what is left out is computed, too, each time."""
    source = getattr(getattr(getattr(array, "variable", array), "_data", None), "array", None)
    return 2 * PIECE if getattr(source, "computed", False) else PIECE


def pieces(shape: tuple[int, ...], itemsize: int, most: int | None = None) -> Iterator[tuple[slice, ...]]:
    """Places of elements, behind the axes (chain, draw), that have at most so many bytes in all draws; in C order."""
    most = PIECE if most is None else most
    own, draws = shape[2:], max(1, shape[0] * shape[1] * itemsize)
    axis = next((a for a in range(len(own)) if draws * int(np.prod(own[a + 1 :])) <= most), max(0, len(own) - 1))
    if not own:
        yield ()
        return
    step = max(1, most // max(1, draws * int(np.prod(own[axis + 1 :]))))
    for before in np.ndindex(own[:axis]):
        for begin in range(0, own[axis], step):
            rest = (slice(begin, min(begin + step, own[axis])), *(slice(None),) * (len(own) - axis - 1))
            yield (*(slice(i, i + 1) for i in before), *rest)


def unbuilt(source: Any) -> Mapping[str, Any] | None:
    """Groups of labelled arrays by name, if `source` is a result of a run that has not become a tree of xarray yet.

    Each has `data_vars`, arrays with `dims`, and `labels` by dimension.
    """
    return source.unbuilt if hasattr(type(source), "unbuilt") else None


def held(source: Any) -> Mapping[str, Any]:
    """Groups by name, of a tree or of what has not become one yet; none of anything else.

    They tell `sizes`, `attrs` and `data_vars`.
    """
    groups = unbuilt(source)
    groups = getattr(source, "children", None) if groups is None else groups
    return groups if isinstance(groups, Mapping) else {}


def attributes(source: Draws, group: str = "posterior") -> Mapping[str, Any]:
    """What a run has written about the draws of a tree or a data set; nothing of other kinds of draws."""
    groups = unbuilt(source)
    if groups is not None:
        return groups[group].attrs if group in groups else {}
    if "xarray" not in sys.modules:
        return {}
    import xarray

    if isinstance(source, xarray.DataTree):
        source = source.children[group].dataset if group in source.children else xarray.Dataset()
    return {str(name): value for name, value in source.attrs.items()} if isinstance(source, xarray.Dataset) else {}


def superchains_of(known: Mapping[str, Any], chains: int) -> int:
    """How many superchains the chains of a run with these attributes make up; 0 where it tells of none."""
    told = int(known.get("superchains", 0))
    return told if 0 < told <= chains else 0


def _all(
    source: Draws, group: str, coords: Mapping[str, object] | None, apart: bool
) -> Iterator[tuple[str, VariableDraws]]:
    """Every variable of `source` with its name."""
    groups = unbuilt(source)
    if groups is not None and group in groups and not coords and not (apart and _later(groups[group])):
        for name, variable in groups[group].data_vars.items():
            yield name, _labelled(name, variable, np.asarray(variable), groups[group].labels)
        return
    if groups is not None:
        whole: Any = source
        source = whole.copy()  # a tree, which selects labels, and says what groups it has
    if "xarray" in sys.modules:  # otherwise nothing of it can have come, and its import takes long
        import xarray

        if isinstance(source, xarray.DataTree):
            if group in source.children:
                source = source.children[group]
            elif source.children or not source.data_vars:
                there = ", ".join(sorted(source.children)) or "none"
                raise KeyError(f"the tree has no group {group!r}; its groups: {there}")
            source = source.to_dataset()
        if isinstance(source, xarray.DataArray):
            source = source.to_dataset(name=source.name if source.name is not None else "x")
        if isinstance(source, xarray.Dataset):
            dataset = _selected(source, coords) if coords else source
            for key, array in dataset.data_vars.items():
                draws: Any = array if apart and unread(array) else array.values
                yield str(key), _labelled(str(key), array, draws, array.coords)
            return
    if coords:
        raise ValueError("coords select labels of xarray's objects; plain arrays have no labels")
    arrays = source if isinstance(source, Mapping) else {"x": source}
    for name, values in arrays.items():
        draws = np.asarray(values)
        axes = tuple(f"{name}_dim_{axis}" for axis in range(draws.ndim - 2))
        yield str(name), VariableDraws(str(name), draws, tuple(map(range, draws.shape[2:])), axes)


def _selected(source: Any, coords: Mapping[str, object]) -> Any:
    """Elements of a dataset with some labels."""
    for dim, wanted in coords.items():
        if dim not in source.coords:
            there = ", ".join(repr(d) for d in source.coords if d not in SAMPLE_DIMENSIONS) or "none"
            raise KeyError(f"`coords` names {dim!r}; dimensions with labels: {there}")
        try:
            source = source.sel({dim: wanted})
        except KeyError:
            labels = [text(label) for label in source.coords[dim].values]
            there = ", ".join(labels[:MOST_LABELS]) + (", …" if len(labels) > MOST_LABELS else "")
            raise KeyError(f"`coords` asks for {wanted!r} along {dim!r}, whose labels are {there}") from None
    return source


def _later(group: Any) -> bool:
    """Whether some of a group's arrays are not there yet, and larger than a piece."""
    return any(
        math.prod(own.shape) * own.dtype.itemsize > PIECE
        for own in (variable.values for variable in group.data_vars.values())
        if not isinstance(own, np.ndarray)
    )


def _labelled(name: str, array: Any, values: Any, known: Mapping[Any, Any]) -> VariableDraws:
    """A variable of a data set, its chain and draw axes first.

    `known`: labels by dimension, of those that have any.
    """
    missing = [dimension for dimension in SAMPLE_DIMENSIONS if dimension not in array.dims]
    if missing:
        raise ShapeError(f"{name!r} has no axis {' and '.join(missing)}; its axes: {array.dims}")
    others = [dimension for dimension in array.dims if dimension not in SAMPLE_DIMENSIONS]
    axes = [array.dims.index(dimension) for dimension in (*SAMPLE_DIMENSIONS, *others)]
    labels: tuple[Any, ...] = tuple(
        np.asarray(known[dimension]) if dimension in known else range(values.shape[array.dims.index(dimension)])
        for dimension in others
    )
    in_order = values.transpose(*SAMPLE_DIMENSIONS, *others) if values is array else values.transpose(axes)
    return VariableDraws(name, in_order, labels, tuple(map(str, others)))


def select(names: list[str], wanted: str | Sequence[str] | None, filter_vars: Filter) -> list[str]:
    """Those of `names` that are wanted; see `gather`."""
    if wanted is None:
        return names
    patterns = [wanted] if isinstance(wanted, str) else list(wanted)
    # A name may itself begin with a tilde.
    left_out = [pattern for pattern in patterns if pattern.startswith("~") and pattern not in names]
    chosen = [pattern for pattern in patterns if pattern not in left_out]

    def matching(pattern: str) -> list[str]:
        if filter_vars is None:
            found = [pattern] if pattern in names else []
        elif filter_vars == "like":
            found = [name for name in names if pattern in name]
        elif filter_vars == "regex":
            found = [name for name in names if re.search(pattern, name)]
        else:
            raise ValueError(f"filter_vars is None, 'like' or 'regex'; {filter_vars!r} came")
        if not found:
            raise KeyError(f"no variable matches {pattern!r}; there are: {', '.join(names) or 'none'}")
        return found

    without = {name for pattern in left_out for name in matching(pattern.removeprefix("~"))}
    kept = dict.fromkeys(name for pattern in chosen for name in matching(pattern)) if chosen else names
    return [name for name in kept if name not in without]
