"""Dims in another order, under other names, added, removed, joined into one and taken apart.

In: a tensor with named dims. Out: another one with the same elements; new lengths may be symbolic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any, Self

from consilience import tensor as pt
from consilience.errors import ShapeError, warn
from consilience.ir.dimension import product
from consilience.ops.axes import integers
from consilience.ops.shape import as_length
from consilience.xtensor.named import Dims, Named, checked_dims, common_lengths, spread_to, union


def named_arguments(what: str, given: Mapping[str, Any] | None, words: Mapping[str, Any]) -> dict[str, Any]:
    """What a user gives as a dictionary or as keywords, not both."""
    if given is not None and words:
        raise TypeError(f"`{what}` takes a dictionary or keywords, not both; got {dict(given)} and {dict(words)}.")
    return dict(words if given is None else given)


class NamedArrangement(Named):
    """Methods that change the dims of a tensor."""

    __slots__ = ()

    @property
    def T(self) -> Self:  # NumPy's name
        """All dims reversed."""
        return self.transpose()

    def transpose(self, *dim: str | EllipsisType, missing_dims: str = "raise") -> Self:
        """Dims in the given order, reversed when none is given; `...` stands for all others.

        Parameters
        ----------
        *dim : str or ...
            Names of the dims in the new order; `...` for all others.
        missing_dims : str, default 'raise'
            What to do with a name that does not exist: "raise", "warn" or "ignore".
        """
        dim = dim or self.dims[::-1]
        names = self._there([name for name in dim if name is not Ellipsis], missing_dims)
        if len([name for name in dim if name is Ellipsis]) > 1:
            raise ShapeError("the order of dims can hold one `...` only.")
        rest = [name for name in self.dims if name not in names]
        order = [*names, *rest]
        if Ellipsis in dim:
            before = [name for name in dim[: dim.index(Ellipsis)] if name in names]
            order = [*before, *rest, *names[len(before) :]]
        elif rest:
            raise ShapeError(f"`transpose` needs all dims {self.dims!r} once, or `...` for the rest; got {dim!r}.")
        return self._with(pt.transpose(self.values, [self.dims.index(name) for name in order]), order)

    def _there(self, names: Sequence[Any], missing_dims: str) -> Dims:
        if missing_dims not in ("raise", "warn", "ignore"):
            raise ValueError(f"missing_dims must be 'raise', 'warn' or 'ignore', got {missing_dims!r}.")
        wanted = checked_dims(names, "this order")
        unknown = [name for name in wanted if name not in self.dims]
        if unknown and missing_dims == "raise":
            self._unknown(unknown)
        if unknown and missing_dims == "warn":
            warn(f"there is no dim {unknown}; it is left out.")
        return tuple(name for name in wanted if name in self.dims)

    def rename(self, new_name_or_name_dict: str | Mapping[str, str] | None = None, **names: str) -> Self:
        """Dims under other names, by a dictionary or keywords; a single string names the tensor itself."""
        if isinstance(new_name_or_name_dict, str):
            return self.copy(new_name_or_name_dict).rename(names) if names else self.copy(new_name_or_name_dict)
        changed = named_arguments("rename", new_name_or_name_dict, names)
        self.chosen(tuple(changed))
        return self._with(self.values, [changed.get(name, name) for name in self.dims])

    def copy(self, name: str | None = None) -> Self:
        """The tensor itself, which never changes, under another name if one is given."""
        return self if name is None else self._with(self.values.copy(name), self.dims)

    def expand_dims(self, dim: Any = None, axis: int | Sequence[int] | None = None, **lengths: Any) -> Self:
        """New dims, in front unless `axis` says their places in the result: names of length 1, or lengths by name."""
        given = dict.fromkeys(checked_dims(dim), 1) if dim is not None and not isinstance(dim, Mapping) else dim
        new = named_arguments("expand_dims", given, lengths)
        there = [name for name in new if name in self.dims]
        if there:
            raise ShapeError(f"the dim `{there[0]}` exists already; the tensor has the dims {self.dims!r}.")
        chosen = range(len(new)) if axis is None else integers(axis)
        rank = self.ndim + len(new)
        places = [place + rank if place < 0 else place for place in chosen]
        if len({place for place in places if 0 <= place < rank}) != len(new) or len(places) != len(new):
            raise ShapeError(f"`axis` must give a place in the result of rank {rank} for each new dim, got {axis!r}.")
        added, kept, known = dict(zip(places, new, strict=True)), iter(self.dims), self.lengths
        order = [added[i] if i in added else next(kept) for i in range(rank)]
        sizes = {name: as_length(len(n) if hasattr(n, "__len__") else n) for name, n in new.items()}
        return self._with(spread_to(self, {name: sizes.get(name, known.get(name, 1)) for name in order}), order)

    def squeeze(self, dim: str | Sequence[str] | None = None, drop: bool | None = None, axis: Any = None) -> Self:
        """Drop dims of length 1: the given ones, by name or position, or all whose length is statically 1."""
        del drop
        if axis is not None:
            if dim is not None:
                raise TypeError("`squeeze` takes names (`dim`) or positions (`axis`), not both.")
            dim = [self.dims[i] for i in integers(axis)]
        gone = tuple(n for n, length in self.lengths.items() if length == 1) if dim is None else self.chosen(dim)
        wrong = [name for name in gone if isinstance(self.lengths[name], int) and self.lengths[name] != 1]
        if wrong:
            raise ShapeError(
                f"the dim `{wrong[0]}` has length {self.lengths[wrong[0]]!r}, only length 1 can be dropped."
            )
        node = pt.squeeze(self.values, tuple(self.dims.index(name) for name in gone))
        return self._with(node, [name for name in self.dims if name not in gone])

    def stack(self, dim: Mapping[str, Sequence[str]] | None = None, **dims: Sequence[str]) -> Self:
        """Several dims as one, behind all others: `x.stack(both=("a", "b"))`, the last running fastest."""
        result = self
        for new, members in named_arguments("stack", dim, dims).items():
            joined = result.chosen(members)
            rest = [name for name in result.dims if name not in joined]
            lengths = result.lengths
            moved = result.transpose(*rest, *joined) if result.dims else result
            shape = [*(lengths[name] for name in rest), product(tuple(lengths[name] for name in joined))]
            result = self._with(pt.reshape(moved.values, shape), [*rest, new])
        return result

    def unstack(self, dim: Mapping[str, Mapping[str, Any]] | None = None, **dims: Mapping[str, Any]) -> Self:
        """One dim as several, behind all others: `x.unstack(both={"a": 2, "b": 3})`, the last running fastest."""
        result = self
        for old, parts in named_arguments("unstack", dim, dims).items():
            result.axis(old)
            moved = result.transpose(..., old)
            rest, lengths = moved.dims[:-1], [as_length(n) for n in parts.values()]
            whole, total = moved.lengths[old], product(tuple(lengths))
            if isinstance(whole, int) and isinstance(total, int) and whole != total:
                raise ShapeError(f"the dim `{old}` has length {whole}, which is not the product of {dict(parts)}.")
            shape = [*moved.values.static_shape[:-1], *lengths]
            result = self._with(pt.reshape(moved.values, shape), [*rest, *parts])
        return result

    def broadcast_like(self, other: Named, exclude: str | Sequence[str] | None = None) -> Self:
        """Repeated along the dims that the other has and this one lacks; the other's dims come first.

        Parameters
        ----------
        other : XTensorVariable
            Variable whose dims the result has.
        exclude : str or sequence of str, optional
            Dims along which nothing is repeated.
        """
        return self._with(*broadcast_together([other, self], exclude)[1])


def broadcast_together(operands: Sequence[Named], exclude: str | Sequence[str] | None = None) -> list[tuple[Any, Dims]]:
    """Values and dims of tensors repeated along all dims of the others but the excluded ones, which come last."""
    kept = () if exclude is None else checked_dims(exclude, "`exclude`")
    common = {n: None for n in union(x.dims for x in operands) if n not in kept}
    lengths = common_lengths(operands, common)
    result = []
    for operand in operands:
        own = operand.lengths
        wide = {n: lengths[n] for n in common} | {n: own[n] for n in kept if n in own}
        result.append((spread_to(operand, wide), tuple(wide)))
    return result


def joined(operands: Sequence[Named], dim: str) -> tuple[Any, Dims]:
    """Values and dims of tensors joined along a dim, which those without it have with length 1."""
    if not operands:
        raise ShapeError("`concat` needs at least one tensor.")
    others = union(x.dims for x in operands)
    order = others if dim in others else (dim, *others)
    lengths = common_lengths(operands, [name for name in others if name != dim])
    parts = []
    for operand in operands:
        own = operand.lengths
        wide = {name: own.get(dim, 1) if name == dim else lengths[name] for name in order}
        parts.append(spread_to(operand, wide))
    return pt.concatenate(parts, order.index(dim)), order
