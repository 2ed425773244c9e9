"""A tensor whose axes have names, and the alignment of several of them by name.

In: nodes and names. Out: nodes whose axes stand in a common order, so that broadcasting does what the names say.
Names are no part of any node: gradients, rewriting and backends see the plain graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeAlias

import numpy as np

from consilience.errors import ShapeError
from consilience.ir import Dim, Node
from consilience.ir.arithmetic import meaning
from consilience.ir.kinds import HOLDERS
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe, name_of, set_name
from consilience.ir.types import TensorType
from consilience.ops.assertion import Require
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.shape import broadcast_to, expand_dims, transpose
from consilience.record import Record

Dims: TypeAlias = tuple[str, ...]
SomeDims: TypeAlias = str | Iterable[str] | EllipsisType | None


def checked_dims(dims: str | Iterable[Any], what: str = "a tensor") -> Dims:
    """Names of axes as a tuple of distinct strings; ShapeError where one occurs twice, TypeError for other things."""
    names = (dims,) if isinstance(dims, str) else tuple(dims)
    for name in names:
        if not isinstance(name, str) or not name:
            raise TypeError(f"dims are names, such as {('a', 'b')!r}; {what} got {names!r}.")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ShapeError(f"every dim of {what} needs a name of its own, but `{twice[0]}` occurs twice in {names!r}.")
    return names


class NamedType(Record):
    """What is known of a tensor with named dims before it exists: its dtype, its dims and their lengths.

    dtype (str): Element type of the result; by default it follows from the operands.
    dims (str or sequence of str): Names of the axes; their lengths come from the model's coords.
    shape : ...
    See xtensor: Makes a tensor of a type.
    >>> px.as_xtensor([1.0, 2.0], dims="city").type
    NamedType(dtype='float64', dims=('city',), shape=(2,))
    """

    dtype: str
    dims: Dims
    shape: Any = None

    def __post_init__(self) -> None:
        names = checked_dims(self.dims, "a type")
        lengths = (None,) * len(names) if self.shape is None else tuple(self.shape)
        if len(lengths) != len(names):
            raise ShapeError(f"{len(names)} lengths were needed for the dims {names!r}, got {lengths}.")
        for field, value in (("dtype", TensorType(self.dtype).dtype), ("dims", names), ("shape", lengths)):
            object.__setattr__(self, field, value)

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.dims)

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """The data as an array of this type; see `TensorType.filter`."""
        plain_type = self().values.type
        return plain_type.filter(getattr(data, "values", data), strict, allow_downcast)

    def __call__(self, name: str | None = None) -> Any:
        """A variable of this type; lengths that are None are known when the function is called."""
        return meaning("variable of a named type")(self, name)


class Named:
    """A node with a name per axis; immutable, equal to its node, and to another one if node and names are the same.

    `values`: the tensor without names.
    `dims`: the name of each axis.
    """

    __slots__ = ("__weakref__", "_part", "dims", "values")
    answers_operators: ClassVar[bool] = True  # plain tensors on the left of an operator leave it to this class
    values: Node
    dims: Dims
    # Of the result of an index: what was indexed, the node of the index itself, and the dims of that.
    _part: tuple[Named, Node, Dims] | None

    def __init__(self, values: Node, dims: str | Iterable[str]) -> None:
        names = checked_dims(dims, name_of(values) or "a tensor")
        if len(names) != values.ndim:
            raise ShapeError(
                f"a tensor of rank {values.ndim} needs {values.ndim} dims, got {names!r}: {describe(values)}."
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "dims", names)
        object.__setattr__(self, "_part", None)

    @property
    def type(self) -> NamedType:
        """Dtype, dims and shape."""
        return NamedType(self.values.dtype, self.dims, self.values.static_shape)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "name":
            return set_name(self.values, value)
        raise AttributeError(f"a tensor with named dims is frozen; `{name}` cannot be set.", name=name, obj=self)

    if not TYPE_CHECKING:  # type checkers know by themselves what is not there

        def __getattr__(self, name: str) -> Any:
            told = f"a tensor with named dims has no `{name}`; functions of plain tensors take its `.values`."
            raise AttributeError(told, name=name, obj=self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Named):
            return self.values is other.values and self.dims == other.dims
        return self.values is other  # a set of a graph's nodes holds it, and what is kept by node is found

    def __hash__(self) -> int:
        return hash(self.values)

    def __reduce__(self) -> Any:
        return type(self), (self.values, self.dims)

    def __repr__(self) -> str:
        lengths = ", ".join(f"{dim}: {length!r}" for dim, length in self.lengths.items())
        return f"{self.name or repr(self.values.op)} ({lengths}) {self.dtype}"

    @property
    def name(self) -> str | None:
        """The user's name for the tensor."""
        return name_of(self.values)

    @property
    def dtype(self) -> str:
        """Element type."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.dims)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Length per dim: an integer where static, else an int64 scalar."""
        return tuple(self.values.shape)

    @property
    def size(self) -> Any:
        """Number of elements: an integer where static, else an int64 scalar."""
        return self.values.size

    @property
    def sizes(self) -> dict[str, Any]:
        """Length by dim: an integer where static, else an int64 scalar."""
        return dict(zip(self.dims, self.shape, strict=True))

    @property
    def lengths(self) -> dict[str, Dim]:
        """Length by dim as types hold it: an integer or a symbolic length."""
        return dict(zip(self.dims, self.values.static_shape, strict=True))

    def axis(self, dim: str) -> int:
        """Where a dim stands; ShapeError naming those there are for an unknown one."""
        if dim not in self.dims:
            self._unknown([dim])
        return self.dims.index(dim)

    def chosen(self, dim: SomeDims) -> Dims:
        """The given dims, which must exist; all for None and `...`."""
        if dim is None or dim is Ellipsis:
            return self.dims
        names = checked_dims(dim, "this choice")
        unknown = [name for name in names if name not in self.dims]
        if unknown:
            self._unknown(unknown)
        return names

    def _unknown(self, names: Sequence[Any]) -> NoReturn:
        title = f"`{self.name}`" if self.name else "the tensor"
        there = ", ".join(f"`{dim}`" for dim in self.dims) or "no dims"
        asked = ", ".join(f"`{name}`" for name in names)
        raise ShapeError(f"there is no dim {asked}; {title} has {there}.")

    def _with(self, values: Node, dims: Iterable[str]) -> Self:
        return type(self)(values, tuple(dims))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError(
            f"{self!r} has named dims, which plain tensors and arrays do not know: take `.values` to drop the names, "
            "or give the other operand names with `px.as_xtensor(other, dims=…)`."
        )

    def apply_plain(self, function: Callable[..., Node], others: Sequence[Any], **settings: Any) -> Self:
        """A function of plain tensors of this one and others, aligned by name; further dims of the others in front.

        The dims of one event, which the function's result has not, are the last.
        """
        operands: list[Named] = [self, *(Named(*read(other)) for other in others)]
        further = [dim for dim in union(o.dims for o in operands) if dim not in self.dims]
        nodes, dims = aligned(operands, (*further, *self.dims))
        result = function(self.values, *nodes[1:], **settings)
        return self._with(result, dims[: result.ndim])

    def clone(self, **named: Any) -> Self:
        """An input of the same dtype, lengths, dims and name."""
        return self._with(self.values.clone(**named), self.dims)

    def dprint(self, **options: Any) -> Any:
        """Write what the values depend on as a tree; see `consilience.backends.printing.debugprint`."""
        return self.values.dprint(**options)

    def get_value(self, borrow: bool = False) -> Any:
        """The present value of a shared variable: a copy or, with `borrow`, the read-only array it holds until set."""
        return self.values.get_value(borrow)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Give a shared variable another value of its dtype and shape."""
        self.values.set_value(new_value, borrow)

    @property
    def owner(self) -> Any:
        """The op behind the values, with its inputs and outputs; None for inputs."""
        return self.values.owner

    def __bool__(self) -> bool:
        return bool(self.values)

    def __float__(self) -> float:
        return float(self.values)

    def __int__(self) -> int:
        return int(self.values)


def union(groups: Iterable[Iterable[str]]) -> Dims:
    """All names in the order in which they first occur."""
    return tuple(dict.fromkeys(name for group in groups for name in group))


def common_lengths(operands: Sequence[Named], of: Iterable[str] | None = None) -> dict[str, Dim]:
    """The length of each dim of several tensors; ShapeError where static lengths differ, length 1 included."""
    found: dict[str, tuple[Dim, Named]] = {}
    wanted = None if of is None else set(of)
    for operand in operands:
        for dim, length in operand.lengths.items():
            if wanted is not None and dim not in wanted:
                continue
            known = found.get(dim)
            if known is None or (isinstance(length, int) and not isinstance(known[0], int)):
                found[dim] = (length, operand)
            elif isinstance(length, int) and length != known[0]:
                raise ShapeError(
                    f"the dim `{dim}` has two lengths, {known[0]} in {known[1]!r} and {length} in {operand!r}; give "
                    "one of them another name with `.rename`, or choose elements with `.isel`."
                )
    return {dim: length for dim, (length, _) in found.items()}


def of_lengths(operand: Named, lengths: dict[str, Dim]) -> Node:
    """The values, whose function checks that dims have the given lengths as far as this is not known yet."""
    open_pairs = tuple(
        ShapeConstraint(
            length, lengths[dim], f"the dim `{dim}` has one length in all operands", describe(operand.values)
        )
        for dim, length in operand.lengths.items()
        if dim in lengths and length is not lengths[dim] and length != lengths[dim]
    )
    return Node(Require(open_pairs), operand.values) if open_pairs else operand.values


def arranged(values: Node, dims: Dims, order: Dims) -> Node:
    """Axes in the given order, of length 1 where the tensor has none; those before its first one are left out."""
    there = [dim for dim in order if dim in dims]
    node = transpose(values, [dims.index(dim) for dim in there]) if there else values
    first = order.index(there[0]) if there else len(order)
    return expand_dims(node, tuple(i - first for i in range(first, len(order)) if order[i] not in dims))


def aligned(operands: Sequence[Named], order: Dims | None = None) -> tuple[list[Node], Dims]:
    """Values that broadcast against each other as the names say, and the names of the result's axes."""
    dims = union(operand.dims for operand in operands) if order is None else order
    lengths = common_lengths(operands)
    return [arranged(of_lengths(operand, lengths), operand.dims, dims) for operand in operands], dims


def spread_to(operand: Named, lengths: dict[str, Dim]) -> Node:
    """The values repeated along the dims they lack, with axes in the order of `lengths`, which has all their dims."""
    node = arranged(of_lengths(operand, lengths), operand.dims, tuple(lengths))
    return broadcast_to(node, tuple(lengths.values()))


def read(value: Any, dims: str | Iterable[str] | None = None) -> tuple[Node, Dims]:
    """Values and dims of anything that has them: a named tensor, a `DataArray`, a number, or any tensor with `dims`."""
    own: Dims | None = None
    if isinstance(value, Named):
        node, own = value.values, value.dims
    elif hasattr(value, "dims") and hasattr(value, "values") and not isinstance(value, Node):
        node, own = as_tensor(value.values), checked_dims(value.dims, "the array")
    else:
        node = as_tensor(value)
    if own is None and dims is None and node.ndim:
        raise TypeError(
            f"the dims of {describe(node) if isinstance(value, Node) else f'an array of shape {node.static_shape}'} "
            "are not known: give them with `px.as_xtensor(…, dims=…)`."
        )
    wanted = own or () if dims is None else checked_dims(dims, name_of(node) or "a tensor")
    if own is not None and wanted != own:
        raise ShapeError(f"the tensor has the dims {own!r}, not {wanted!r}; use `.transpose` or `.rename`.")
    return node, wanted


def _is_number(value: object) -> bool:
    return isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)


def operand_of(value: Any) -> Named | TensorLike:
    """A Python number as it is, whose dtype follows the others'; anything else with its dims."""
    return value if isinstance(value, Named) or _is_number(value) else Named(*read(value))


def apart(values: Sequence[Any]) -> tuple[list[Any], Dims]:
    """Operands of an elementwise function: aligned nodes, Python numbers as they are, and the result's dims."""
    operands = [operand_of(value) for value in values]
    nodes, dims = aligned([operand for operand in operands if isinstance(operand, Named)])
    rest = iter(nodes)
    return [next(rest) if isinstance(operand, Named) else operand for operand in operands], dims


HOLDERS.append(Named)
