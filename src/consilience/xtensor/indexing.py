"""Parts of a tensor with named dims: by position, by label, and pointwise by tensors with dims, as xarray does.

In: an indexer per dim. Out: the part, whose dims are those of the indexers in the order of the indexed dims; `.set`
and `.inc` of it give the whole with that part changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from consilience import tensor as pt
from consilience.distributions import context
from consilience.errors import ModelError, OutOfBoundsError, ShapeError, warn
from consilience.ir import Dim, Node
from consilience.ops.index import Index, gather_place, index_inc, index_set
from consilience.ops.shape import length_of
from consilience.xtensor.arrangement import named_arguments
from consilience.xtensor.named import Dims, Named, aligned, arranged, of_lengths, operand_of, read, spread_to, union


class NamedIndexing(Named):
    """Methods that choose elements of a tensor."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Self:
        """By dims, `x[{"a": 0}]`, or by positions of dims, `x[0, :, i]`; see `isel`."""
        if isinstance(index, dict):
            return self.isel(index)
        items = list(index) if isinstance(index, tuple) and not _is_pair(index) else [index]
        if any(item is None for item in items):
            raise ShapeError("a new dim needs a name: use `.expand_dims(name)` in place of `None`.")
        places = [i for i, item in enumerate(items) if item is Ellipsis]
        if len(places) > 1:
            raise ShapeError("an index can hold one `...` only.")
        if places:
            items[places[0] : places[0] + 1] = [slice(None)] * (self.ndim - len(items) + 1)
        if len(items) > self.ndim:
            raise ShapeError(f"too many indices: {len(items)} for the dims {self.dims!r}.")
        return self._indexed(items)

    def __iter__(self) -> Iterator[Self]:
        if not self.dims or not isinstance(self.values.static_shape[0], int):
            raise TypeError(
                f"only a tensor with a static first length can be iterated, got {self!r}; functions of plain tensors "
                "take its `.values`."
            )
        parts = iter(self.values)
        return (self._with(part, self.dims[1:]) for part in parts)

    def __len__(self) -> int:
        return len(self.values)

    def isel(
        self, indexers: Mapping[str, Any] | None = None, drop: bool = False, missing_dims: str = "raise", **words: Any
    ) -> Self:
        """The part at positions along dims.

        Parameters
        ----------
        indexers : mapping, optional
            By dim: an integer, a slice, positions or a mask as a vector, which keep the dim's name, or a tensor of
            positions with dims of its own. Tensors run together along dims they share.
        drop : bool, default False
            Accepted for compatibility with xarray; has no effect.
        missing_dims : str, default 'raise'
            What to do with a name that does not exist: "raise", "warn" or "ignore".
        **words : object
            Positions by dim, in place of `indexers`.
        """
        del drop
        if missing_dims not in ("raise", "warn", "ignore"):
            raise ValueError(f"missing_dims must be 'raise', 'warn' or 'ignore', got {missing_dims!r}.")
        chosen = named_arguments("isel", indexers, words)
        unknown = [name for name in chosen if name not in self.dims]
        if unknown and missing_dims == "raise":
            self._unknown(unknown)
        if unknown and missing_dims == "warn":
            warn(f"there is no dim {unknown}; its indexer is left out.")
        return self._indexed([chosen.get(name, slice(None)) for name in self.dims])

    def sel(self, indexers: Mapping[str, Any] | None = None, **words: Any) -> Self:
        """The part at labels along dims, which are the present coords of the model whose `with` block this is.

        Parameters
        ----------
        indexers : mapping, optional
            By dim: a label, a list of labels, or a slice of labels that includes both ends.
        **words : object
            Labels by dim, in place of `indexers`.
        """
        model: Any = context.current_or_none()
        labels = {} if model is None else model.coords
        positions = {}
        for dim, wanted in named_arguments("sel", indexers, words).items():
            self.axis(dim)
            if labels.get(dim) is None:
                raise ModelError(
                    f"the dim `{dim}` has no labels here: `sel` reads the coords of the model whose `with` block it is "
                    "in; choose by position with `isel`."
                )
            positions[dim] = _positions(dim, list(labels[dim]), wanted)
        return self.isel(positions)

    def _indexed(self, items: list[Any]) -> Self:
        items += [slice(None)] * (self.ndim - len(items))
        axes = [_of_axis(item, dim, length) for item, (dim, length) in zip(items, self.lengths.items(), strict=True)]
        taken = union(axis.dims for axis in axes if isinstance(axis, Named))
        for i, (axis, dim) in enumerate(zip(axes, self.dims, strict=True)):
            if isinstance(axis, slice) and dim in taken:  # it runs together with the tensors that have this dim
                axes[i] = Named(pt.arange(length_of(self.lengths[dim]))[axis], (dim,))
        arrays, _ = aligned([axis for axis in axes if isinstance(axis, Named)], taken)
        rest = iter(arrays)
        part = pt.as_tensor(self.values)[tuple(next(rest) if isinstance(axis, Named) else axis for axis in axes)]
        assert isinstance(part.op, Index)
        kept = [dim for axis, dim in zip(axes, self.dims, strict=True) if isinstance(axis, slice)]
        place = gather_place(part.op.specification)
        own: Dims = tuple(kept) if place is None else (*kept[:place], *taken, *kept[place:])
        order = union(
            axis.dims if isinstance(axis, Named) else (dim,) if isinstance(axis, slice) else ()
            for axis, dim in zip(axes, self.dims, strict=True)
        )
        result = self._with(arranged(part, own, order), order)
        object.__setattr__(result, "_part", (self, part, own))
        return result

    def set(self, value: Any) -> Self:
        """`x[i].set(value)`: x with that part replaced by a value that broadcasts to it by name."""
        return self._changed(value, index_set)

    def inc(self, value: Any) -> Self:
        """`x[i].inc(value)`: x with a value added to that part, repeated positions summed."""
        return self._changed(value, index_inc)

    def _changed(self, value: Any, update: Any) -> Self:
        if self._part is None:
            raise ShapeError(f"`.set` and `.inc` belong after an index, as in `x.isel(a=0).set(value)`; got {self!r}.")
        whole, part, dims = self._part
        operand = operand_of(value)
        if not isinstance(operand, Named):
            return self._with(update(part, operand), whole.dims)
        extra = [dim for dim in operand.dims if dim not in dims]
        if extra:
            raise ShapeError(f"the value has the dim `{extra[0]}`, which the indexed part with dims {dims!r} has not.")
        lengths = dict(zip(dims, part.static_shape, strict=True))
        return self._with(update(part, spread_to(_checked(operand, lengths), lengths)), whole.dims)

    def head(self, indexers: Mapping[str, int] | None = None, **words: int) -> Self:
        """The first elements along dims."""
        return self.isel({dim: slice(None, n) for dim, n in named_arguments("head", indexers, words).items()})

    def tail(self, indexers: Mapping[str, int] | None = None, **words: int) -> Self:
        """The last elements along dims."""
        chosen = named_arguments("tail", indexers, words)
        return self.isel({dim: slice(-n, None) if n else slice(0, 0) for dim, n in chosen.items()})

    def thin(self, indexers: Mapping[str, int] | None = None, **words: int) -> Self:
        """Every n-th element along dims."""
        return self.isel({dim: slice(None, None, n) for dim, n in named_arguments("thin", indexers, words).items()})


def _is_pair(index: Any) -> bool:
    """Whether an index is dims with positions, `("c", [0, 1])`."""
    return isinstance(index, tuple) and len(index) == 2 and _holds_names(index[0])


def _holds_names(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list | tuple) and bool(value) and all(isinstance(name, str) for name in value)
    )


def _of_axis(item: Any, dim: str, length: Dim) -> Any:
    """An indexer of one dim: an integer or a slice as it is, anything else with dims, masks as positions."""
    if isinstance(item, slice):
        bounds = (b.values if isinstance(b, Named) else b for b in (item.start, item.stop, item.step))
        return slice(*bounds)
    if isinstance(item, int | np.integer) and not isinstance(item, bool | np.bool_):
        return int(item)
    if item is Ellipsis:
        raise ShapeError(f"`...` does not index a dim; leave `{dim}` out to take all of it.")
    if _is_pair(item):
        node, dims = read(item[1], item[0])
    elif hasattr(item, "dims") and not isinstance(item, Node):
        node, dims = read(item)
    else:
        node = pt.as_tensor(item)
        if node.ndim > 1:
            raise ShapeError(f"positions along `{dim}` of rank {node.ndim} need dims: `px.as_xtensor(…, dims=…)`.")
        dims = (dim,) * node.ndim
    if node.dtype == "bool":
        if dims != (dim,):
            raise ShapeError(f"a mask along `{dim}` must be a vector along it, got one with the dims {dims!r}.")
        mask = Named(node, dims)
        if isinstance(length, int):
            _checked(mask, {dim: length}, "mask")
        node = pt.flatnonzero(of_lengths(mask, {dim: length}))
    elif node.static_shape == (0,):
        node = pt.cast(node, "int64")
    return Named(node, dims)


def _checked(value: Named, lengths: Mapping[str, Any], what: str = "value") -> Named:
    for dim, length in value.lengths.items():
        if isinstance(length, int) and isinstance(lengths[dim], int) and length != lengths[dim]:
            raise ShapeError(f"the {what} has length {length} along `{dim}`, the indexed part {lengths[dim]}.")
    return value


def _positions(dim: str, labels: list[Any], wanted: Any) -> Any:
    def position(label: Any) -> int:
        if label not in labels:
            shown = ", ".join(map(repr, labels[:8])) + (", …" if len(labels) > 8 else "")
            raise OutOfBoundsError(f"the dim `{dim}` has no label {label!r}; it has {shown}.")
        return labels.index(label)

    if isinstance(wanted, slice):
        start = None if wanted.start is None else position(wanted.start)
        return slice(start, None if wanted.stop is None else position(wanted.stop) + 1, wanted.step)
    return [position(label) for label in wanted] if isinstance(wanted, list | np.ndarray) else position(wanted)
