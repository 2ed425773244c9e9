"""Reading and writing parts of a tensor, with NumPy's basic, integer-array, boolean and mixed indexing.

The static form of an index is a tuple of plain entries that rules can match; index arrays are inputs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from consilience.errors import AxisError, DtypeError, OutOfBoundsError, ShapeError
from consilience.ir import Dim, Dimension, KeptAxes, Node, Op, TensorType, constant, constant_value
from consilience.ir import dimension as dims
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe, name_of
from consilience.ir.types import INTEGERS, Shape
from consilience.ops.assertion import Require
from consilience.ops.axes import aligned, integers, is_integer, one_axis
from consilience.ops.dtypes import fitted, weak_type
from consilience.ops.elementwise import Elementwise, TensorLike, apply, as_tensor, broadcast_shape, cast
from consilience.ops.parameter_check import Asserted
from consilience.ops.reduce import reduce
from consilience.ops.shape import (
    arange,
    as_integer,
    broadcast_to,
    expand_dims,
    length_of,
    lengths_listed,
    reshape,
    stack,
)
from consilience.record import Record


class SliceIndex(Record):
    """`start:stop:step` of one axis; `None` as in NumPy. Bounds may be symbolic integers of either sign."""

    start: Dim | None = None
    stop: Dim | None = None
    step: int | None = None

    @property
    def static(self) -> bool:
        """Whether the bounds are integers."""
        return not (isinstance(self.start, Dimension) or isinstance(self.stop, Dimension))

    def length(self, of: Dim) -> Dim:
        """Number of elements taken from an axis."""
        return dims.slice_length(self.start, self.stop, self.step, of)

    def range(self, of: int) -> range:
        """The positions that static bounds take from an axis of known length."""
        return range(of)[self.bounds()]

    def bounds(self) -> slice:
        """Python's slice of static bounds."""
        return slice(self.start, self.stop, self.step)


class At(Record):
    """One static position of an axis, which vanishes; may count from the end."""

    position: int


class NewAxis(Record):
    """An axis of length 1 in the result."""


class Gather(Record):
    """The next index array of the op's inputs, on one axis."""


Entry: TypeAlias = SliceIndex | At | NewAxis | Gather
Specification: TypeAlias = tuple[Entry, ...]
FULL = SliceIndex()


def gather_place(specification: Specification) -> int | None:
    """Where the axes of the index arrays go in the result, as NumPy does; None without index arrays.

    The axes stand at the first array when the arrays are adjacent, otherwise first of all.
    """
    positions = [i for i, entry in enumerate(specification) if isinstance(entry, Gather)]
    if not positions:
        return None
    if positions[-1] - positions[0] + 1 != len(positions):
        return 0
    return sum(isinstance(entry, SliceIndex | NewAxis) for entry in specification[: positions[0]])


def indexed_shape(shape: Shape, specification: Specification, gathered: Shape) -> Shape:
    """Shape of `x[specification]` for a full specification (one entry per axis of x, plus new axes)."""
    result: list[Dim] = []
    axis = 0
    for entry in specification:
        if isinstance(entry, NewAxis):
            result.append(1)
            continue
        if isinstance(entry, SliceIndex):
            result.append(entry.length(shape[axis]))
        axis += 1
    place = gather_place(specification)
    if place is not None:
        result[place:place] = gathered
    return tuple(result)


def _check_positions(x: Node, specification: Specification) -> None:
    """Static positions inside axes of known length; lengths known later are checked when they become known."""
    axis = 0
    for entry in specification:
        if isinstance(entry, NewAxis):
            continue
        length = x.static_shape[axis]
        if isinstance(entry, At) and isinstance(length, int) and not -length <= entry.position < length:
            raise OutOfBoundsError(f"index {entry.position} is outside axis {axis} of length {length}: {describe(x)}.")
        axis += 1


class Index(Op):
    """`x[specification]`; inputs are x and one integer array per Gather entry, broadcast together.

    An index outside its axis makes the function raise OutOfBoundsError (status OUT_OF_BOUNDS).
    """

    linear = ((0,),)
    picks = (0,)
    specification: Specification

    def result_type(self, *inputs: Node) -> TensorType:
        x, *arrays = inputs
        _check_positions(x, self.specification)
        gathered, _ = broadcast_shape(arrays)
        return x.tensor_type.with_shape(indexed_shape(x.static_shape, self.specification, gathered))

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return _kept(self.specification, inputs[0], inputs[1:])

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        _, pairs = broadcast_shape(inputs[1:])
        return tuple(ShapeConstraint(a, b, "index arrays have equal lengths") for a, b in pairs)

    def __repr__(self) -> str:
        return f"index[{', '.join(map(_text, self.specification))}]"


def _kept(specification: Specification, x: Node, arrays: Sequence[Node]) -> KeptAxes:
    """Axes of `x[specification]` that follow whole axes of x, and those that follow index arrays."""
    place = gather_place(specification)
    rank = max((array.ndim for array in arrays), default=0)
    own: dict[int, int] = {}
    axis = position = 0
    for entry in specification:
        if entry == FULL:
            own[position + (rank if place is not None and position >= place else 0)] = axis
        position += isinstance(entry, NewAxis | SliceIndex)
        axis += not isinstance(entry, NewAxis)
    return own, *({(place or 0) + at: a for at, a in each.items()} for each in aligned(rank, arrays))


class IndexUpdate(Op):
    """`x` with `x[specification]` set to (mode "set") or increased by (mode "inc") the values.

    Inputs: x, values of exactly the shape of `x[specification]`, then the index arrays. Repeated
    positions: the last value wins for "set", all are added for "inc".
    """

    specification: Specification
    mode: str

    def result_type(self, *inputs: Node) -> TensorType:
        x, values, *arrays = inputs
        _check_positions(x, self.specification)
        gathered, _ = broadcast_shape(arrays)
        wanted = indexed_shape(x.static_shape, self.specification, gathered)
        if len(wanted) != values.ndim:
            raise ShapeError(f"values of rank {values.ndim} do not fit the indexed shape {wanted}.")
        return x.tensor_type

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        x, _, *arrays = inputs
        read, *_ = _kept(self.specification, x, arrays)
        own = {axis: axis for axis in read.values()}
        return own, {axis: place for place, axis in read.items()}

    def linear_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        return ((0, 1),)

    def picks_of(self, count: int) -> tuple[int, ...]:
        return (0, 1) if self.mode == "set" else ()

    def monotone_in(self, count: int) -> tuple[int, ...]:
        return (1, 1, *(0,) * (count - 2))

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        x, values, *arrays = inputs
        gathered, pairs = broadcast_shape(arrays)
        wanted = indexed_shape(x.static_shape, self.specification, gathered)
        found = [ShapeConstraint(a, b, "index arrays have equal lengths") for a, b in pairs]
        for a, b in zip(wanted, values.static_shape, strict=True):
            if a is not b and a != b:
                found.append(ShapeConstraint(a, b, "values have the shape of the indexed part"))
        return tuple(found)

    def __repr__(self) -> str:
        return f"{self.mode}[{', '.join(map(_text, self.specification))}]"


class MaskPositions(Op):
    """Flat row-major positions (int64) where a bool tensor is True.

    `count`: their number, a computed length. `covered`: lengths of the axes that the mask selects from.
    """

    count: Dim
    covered: Shape

    def result_type(self, *inputs: Node) -> TensorType:
        return TensorType("int64", (self.count,))

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        pairs = zip(inputs[0].static_shape, self.covered, strict=True)
        return tuple(ShapeConstraint(a, b, "a mask has the shape of what it selects from") for a, b in pairs if a != b)


def mask_positions(mask: Node, covered: Shape | None = None) -> Node:
    """Positions of the true entries of a bool tensor, in a tensor of the shape `covered` (the mask's own if None)."""
    name = f"{name_of(mask)}.sum()" if name_of(mask) else "count"
    count = dims.computed(reduce("sum", mask), name, non_negative=True)
    return Node(MaskPositions(count, covered or mask.static_shape), mask)


def nonzero(a: TensorLike) -> tuple[Node, ...]:
    """Positions of the elements that are not zero (or True): one int64 vector per axis, in row-major order."""
    x = as_tensor(a)
    if not x.ndim:
        raise ShapeError(f"`nonzero` needs an axis, got the scalar {describe(x)}; add one with `pt.atleast_1d`.")
    mask = x if x.dtype == "bool" else apply("neq", x, 0)
    known = constant_value(x)
    if known is not None:
        return tuple(constant(p.astype("int64")) for p in np.nonzero(known))
    return tuple(_unravelled(mask_positions(mask), mask.static_shape))


def flatnonzero(a: TensorLike) -> Node:
    """Positions in the flattened tensor of the elements that are not zero (or True), as an int64 vector.

    a : ...
    Returns: A vector whose length is known when the function runs.
    See nonzero_values: The elements that are not zero.
    See argwhere: Positions of the elements that are not zero (or True).
    See nonzero: Positions of the elements that are not zero (or True).
    >>> pt.flatnonzero([0, 1, 1]).eval().tolist()
    [1, 2]
    """
    return nonzero(reshape(a, (-1,)))[0]


def argwhere(a: TensorLike) -> Node:
    """Positions of the elements that are not zero (or True): int64, one row per element, one column per axis.

    a : ...
    Returns: A matrix of int64, whose number of rows is known when the function runs.
    See nonzero: Positions of the elements that are not zero (or True).
    See flatnonzero: Positions in the flattened tensor.
    See nonzero_values: The elements that are not zero.
    >>> pt.argwhere([0, 1, 1]).eval().tolist()
    [[1], [2]]
    """
    return stack(nonzero(a), 1)


def _text(entry: Entry) -> str:
    if isinstance(entry, SliceIndex):
        parts = [":".join("" if v is None else str(v) for v in (entry.start, entry.stop))]
        return parts[0] + (f":{entry.step}" if entry.step is not None else "")
    if isinstance(entry, At):
        return str(entry.position)
    return "None" if isinstance(entry, NewAxis) else "·"


def parse_index(x: Node, index: Any) -> tuple[Node, Specification, list[Node]]:
    """The tensor to index, the full specification and its index arrays."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_tensor_index(item) for item in items]
    consumed = sum(_axes_used(item) for item in items)
    if consumed > x.ndim:
        raise AxisError(f"too many indices: {consumed} for rank {x.ndim} of {describe(x)}.")
    if sum(item is Ellipsis for item in items) > 1:
        raise ShapeError("an index can hold one `...` only.")
    if Ellipsis in [i for i in items if not isinstance(i, Node)]:
        place = next(i for i, item in enumerate(items) if item is Ellipsis)
        items[place : place + 1] = [slice(None)] * (x.ndim - consumed)
    else:
        items += [slice(None)] * (x.ndim - consumed)
    has_array = any(isinstance(item, Node) for item in items)
    entries: list[Entry] = []
    arrays: list[Node] = []
    axis = 0
    for item in items:
        if item is None:
            entries.append(NewAxis())
        elif isinstance(item, slice) and isinstance(item.step, Dimension):
            if has_array or any(isinstance(entry, Gather) for entry in entries):
                raise ShapeError(
                    f"the slice with the step `{item.step!r}`, which is known at run time, stands beside another such "
                    "slice or an index array; index in two steps, `x[::k][..., i]`."
                )
            arrays.append(_stepped(item, x.static_shape[axis]))
            entries.append(Gather())
            axis += 1
        elif isinstance(item, slice):
            entries.append(_slice(item, x.static_shape[axis]))
            axis += 1
        elif isinstance(item, Node):
            if item.dtype == "bool":
                x, positions = _masked(x, item, axis)
                arrays += positions
                entries += [Gather()] * len(positions)
                axis += len(positions)
            else:
                arrays.append(_checked(item, x.static_shape[axis], axis, x))
                entries.append(Gather())
                axis += 1
        else:
            position = _static_position(int(item), x.static_shape[axis], axis, x)
            if has_array:
                arrays.append(constant(position, "int64"))
                entries.append(Gather())
            else:
                entries.append(At(position))
            axis += 1
    return x, tuple(entries), arrays


def _tensor_index(item: Any) -> Any:
    """Index arrays and dynamic scalars as nodes; slices, None, Ellipsis and static integers as they are."""
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        return slice(_bound(item.start), _bound(item.stop), _bound(item.step))
    if isinstance(item, bool | np.bool_):
        return as_tensor(np.asarray(item))
    if isinstance(item, int | np.integer):
        return int(item)
    if isinstance(item, str):
        raise DtypeError(
            f"an expression is indexed by position, got the label {item!r}; `x[labels.index({item!r})]` takes the "
            "element at its position in a list of labels."
        )
    node = as_tensor(item)
    known = constant_value(node)
    if node.dtype == "float64" and known is not None and known.size == 0:
        return constant(known.astype("int64"))  # an empty list is an empty integer index
    if node.dtype not in (*INTEGERS, "bool"):
        raise DtypeError(
            f"an index must be an integer or bool tensor, got {describe(node)}; cast it with `.astype('int64')`."
        )
    return node if node.dtype == "bool" else cast(node, "int64")


def _bound(bound: Any) -> Dim | None:
    if bound is None:
        return None
    try:
        return as_integer(bound)
    except (TypeError, DtypeError):
        raise DtypeError(f"bounds of a slice must be integers, got {bound!r}.") from None


def _stepped(item: slice, length: Dim) -> Node:
    """The positions of a slice whose step, of either sign, is known at run time."""
    wanted, n = length_of(item.step), length_of(length)
    step = Node(Asserted("a slice step must not be 0"), wanted, apply("neq", wanted, 0))
    up = apply("gt", step, 0)
    least, most = apply("where", up, 0, -1), apply("where", up, n, n - 1)

    def place(bound: Dim | None, default: Node) -> Node:
        if bound is None:
            return default
        given = length_of(bound)
        counted = apply("where", apply("lt", given, 0), given + n, given)
        return apply("minimum", apply("maximum", counted, least), most)

    ends = apply("where", up, least, most), apply("where", up, most, least)
    return arange(place(item.start, ends[0]), place(item.stop, ends[1]), step)


def _slice(item: slice, length: Dim) -> SliceIndex:
    if isinstance(item.step, int) and item.step == 0:
        raise ShapeError("a slice step must not be 0.")
    step = None if item.step == 1 else item.step
    start = None if item.start == 0 and (step is None or step > 0) else item.start
    stop = item.stop
    if isinstance(length, int) and isinstance(stop, int) and (step is None or step > 0) and stop >= length:
        stop = None
    return SliceIndex(start, stop, step)


def _axes_used(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, Node) and item.dtype == "bool" else 1


def _outside(position: int, axis: int, length: int, x: Node) -> str:
    counted = "; places are counted from 0" if position == length else ""
    return f"index {position} is outside axis {axis} of length {length}: {describe(x)}{counted}."


def _static_position(position: int, length: Dim, axis: int, x: Node) -> int:
    if isinstance(length, int):
        if not -length <= position < length:
            raise OutOfBoundsError(_outside(position, axis, length, x))
        return position % length
    return position


def _checked(item: Node, length: Dim, axis: int, x: Node) -> Node:
    """A constant index array made non-negative and checked against a static length."""
    known = constant_value(item)
    if known is None or not isinstance(length, int):
        return item
    if known.size and (known.min() < -length or known.max() >= length):
        worst = int(known.min()) if known.min() < -length else int(known.max())
        raise OutOfBoundsError(_outside(worst, axis, length, x))
    return constant(np.where(known < 0, known + length, known).astype("int64"))


def _masked(x: Node, mask: Node, axis: int) -> tuple[Node, list[Node]]:
    covered = x.static_shape[axis : axis + mask.ndim]
    for have, want in zip(mask.static_shape, covered, strict=True):
        if isinstance(have, int) and isinstance(want, int) and have != want:
            raise ShapeError(f"a mask of shape {mask.static_shape} does not fit the axes {covered} of {describe(x)}.")
    known = constant_value(mask)
    if known is not None:
        if known.ndim == 0:
            lead = (slice(None),) * axis
            return x[(*lead, None)] if axis else expand_dims(x, 0), [constant(np.zeros(int(known), "int64"))]
        return x, [constant(p.astype("int64")) for p in np.nonzero(known)]
    if mask.ndim == 0:
        raise ShapeError("a symbolic scalar cannot be a mask; use `pt.where` or `pt.cond`.")
    return x, _unravelled(mask_positions(mask, covered), covered)


def _unravelled(flat: Node, shape: Shape) -> list[Node]:
    """Row-major positions in a shape as one index array per axis."""
    arrays: list[Node] = []
    for axis in reversed(range(1, len(shape))):
        arrays.append(apply("mod", flat, length_of(shape[axis])))
        flat = apply("floor_div", flat, length_of(shape[axis]))
    return [flat, *reversed(arrays)]


def getitem(value: TensorLike, index: Any) -> Node:
    """`value[index]` with NumPy's meaning; bounds of slices may be scalar tensors, masks may be computed."""
    x, specification, arrays = parse_index(as_tensor(value), index)
    return Node(Index(specification), x, *arrays)


def _update(part: Node, values: TensorLike, mode: str) -> Node:
    if not isinstance(part.op, Index):
        raise ShapeError(f"`.{mode}` belongs after an index, as in `x[i].{mode}(values)`; got {describe(part)}.")
    x, *arrays = part.inputs
    if mode == "inc" and x.dtype == "float16":
        wide = Node(part.op, cast(x, "float32"), *arrays)
        return cast(_update(wide, cast(as_tensor(values), "float16"), mode), "float16")
    fixed = constant(fitted(values, x.dtype)) if weak_type(values) is int and x.dtype in INTEGERS else values
    mask = _mask_of(part.op.specification, arrays)
    alike = mask is not None and mask.static_shape == x.static_shape[: mask.ndim]
    if mask is not None and alike and not (number := cast(as_tensor(fixed), x.dtype)).ndim:  # no position need be known
        behind = range(mask.ndim, x.ndim)
        return apply("where", expand_dims(mask, behind), number if mode == "set" else apply("add", x, number), x)
    new = broadcast_to(cast(as_tensor(fixed), x.dtype), part.static_shape)
    return Node(IndexUpdate(part.op.specification, mode), x, new, *arrays)


def _mask_of(specification: Specification, arrays: Sequence[Node]) -> Node | None:
    """The computed mask that stands for all arrays of an index, and for its first axes; None for any other index."""
    flat = arrays[-1] if arrays else None
    if flat is not None and len(arrays) > 1 and isinstance(flat.op, Elementwise) and flat.op.function == "mod":
        flat = flat.inputs[0]
    if flat is None or not isinstance(flat.op, MaskPositions):
        return None
    rest = specification[len(arrays) :]
    whole = all(isinstance(e, Gather) for e in specification[: len(arrays)]) and all(e == FULL for e in rest)
    return flat.inputs[0] if whole and _unravelled(flat, flat.op.covered) == list(arrays) else None


def index_set(part: Node, values: TensorLike) -> Node:
    """`x[i].set(values)`: x with that part replaced; x itself stays as it is."""
    return _update(part, values, "set")


def index_inc(part: Node, values: TensorLike, ignore_duplicates: bool = False) -> Node:
    """`x[i].inc(values)`: x with the values added to that part, repeated positions summed."""
    return _update(part, apply("add", part, values), "set") if ignore_duplicates else _update(part, values, "inc")


def split(value: TensorLike, sections: int | TensorLike | Sequence[TensorLike], axis: int = 0) -> list[Node]:
    """Cut along an axis: into equal parts, or before the given positions (integers or integer scalars)."""
    x = as_tensor(value)
    axis = one_axis(axis, x)
    length = x.static_shape[axis]
    edges: list[Any]
    if is_integer(sections):
        (count,) = integers(sections)
        if count < 1 or (isinstance(length, int) and length % count):
            raise ShapeError(f"cannot split {length!r} elements into {count} equal parts: {describe(x)}.")
        part = dims.floordiv(length, count)
        if not isinstance(length, int):
            x = Node(Require((ShapeConstraint(length, part * count, "a split makes equal parts", describe(x)),)), x)
        edges = [part * i for i in range(count)]
    else:
        edges = [0, *lengths_listed(sections)]
    lead = (slice(None),) * axis
    return [getitem(x, (*lead, slice(a, b))) for a, b in itertools.pairwise([*edges, None])]


def iterate(x: Node) -> Iterator[Node]:
    """The parts along the first axis, whose length must be static."""
    if not x.ndim or not isinstance(x.static_shape[0], int):
        raise TypeError(
            f"only a tensor with a static first length can be iterated, got {describe(x)}; `pt.scan` and `pt.map` go "
            "along an axis of unknown length, `pt.specify_shape` says a length that is known."
            if x.ndim
            else f"a scalar cannot be iterated, got {describe(x)}; `pt.arange(n)` counts up to an expression, and "
            "`pt.scan(…, n_steps=n)` repeats a step so often."
        )
    return (getitem(x, i) for i in range(x.static_shape[0]))
