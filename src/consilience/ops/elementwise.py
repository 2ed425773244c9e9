"""Scalar functions applied to every element, with NumPy's broadcasting decided at construction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import DtypeError, ShapeError
from consilience.ir import (
    COMPLEXES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    Constant,
    Dim,
    Dimension,
    KeptAxes,
    Node,
    Op,
    Shape,
    TensorType,
    constant,
    numpy_dtype,
)
from consilience.ir.arithmetic import meaning, plain
from consilience.ir.leaves import FEW_COLUMNS, stays
from consilience.ir.settings import config
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ir.types import SIGNED
from consilience.ops.assertion import _Itself
from consilience.ops.axes import aligned
from consilience.ops.dtypes import fitted, float_dtype, is_weak, kind_of, named, of_truth, part_of, weak_type
from consilience.ops.scalar import DRAWS, TABLE

if TYPE_CHECKING:
    TensorLike: TypeAlias = "Node | npt.ArrayLike | Sequence[TensorLike]"
else:  # annotations of programs join it with other types when they run
    TensorLike = Node | npt.ArrayLike


def as_tensor(value: TensorLike, dtype: npt.DTypeLike | None = None) -> Node:
    """A node for any value: nodes stay, arrays and numbers become constants, lists and arrays of nodes are stacked.

    A Python float becomes `config.floatX`.
    """
    if isinstance(value, Node):
        return value if dtype is None else cast(value, dtype)
    if isinstance(value, Dimension):  # of a `type.shape`
        return as_tensor(meaning("length_of")(value), dtype)
    if isinstance(value, np.ndarray) and value.dtype.kind == "O" and _holds_node(value.flat):
        return as_tensor(value.tolist(), dtype)
    if isinstance(value, list | tuple) and _holds_node(value):
        stacked: Node = meaning("stack")([as_tensor(v) for v in value])
        return stacked if dtype is None else cast(stacked, dtype)
    labelled = getattr(value, "data", None) if hasattr(value, "dims") else None
    if plain(value) is not value and not value.dims:  # type: ignore[union-attr]  # a number with named dims
        return as_tensor(plain(value), dtype)
    if isinstance(labelled, Node):  # what xarray makes of an array times an expression
        return as_tensor(labelled, dtype)
    if dtype is None and (isinstance(value, list | tuple) and not value):
        return constant(value, config.floatX)
    if dtype is None and isinstance(value, float) and not isinstance(value, np.generic):
        return constant(value, config.floatX)
    return constant(value, None if dtype is None else named(dtype))  # type: ignore[arg-type]  # no nodes in it


def _holds_node(values: Iterable[Any]) -> bool:
    return any(isinstance(v, Node) or ((own := _members(v)) is not None and _holds_node(own)) for v in values)


def _members(value: object) -> Iterable[Any] | None:
    """What a list, tuple or array of Python objects holds; None for what cannot hold a node."""
    if isinstance(value, np.ndarray):
        return value.flat if value.dtype.kind == "O" else None
    return value if isinstance(value, list | tuple) else None


def broadcast_shape(nodes: Sequence[Node]) -> tuple[Shape, tuple[tuple[Dim, Dim], ...]]:
    """NumPy's broadcast shape and the pairs of lengths that must turn out equal.

    Only an axis of static length 1 is stretched. Static lengths that differ raise ShapeError.
    """
    shapes = [own for node in nodes if (own := node.static_shape)]
    if not shapes:
        return (), ()
    first = shapes[0]
    if len(shapes) == 1 or all(own is first or own == first for own in shapes):
        return first, ()
    rank = max(map(len, shapes))
    shape: list[Dim] = []
    pairs: list[tuple[Dim, Dim]] = []
    for axis in range(-rank, 0):
        length: Dim = 1
        for node in nodes:
            own = node.static_shape
            if len(own) < -axis:
                continue
            candidate = own[axis]
            if candidate is length or candidate == 1:
                continue
            if length == 1:
                length = candidate
            elif isinstance(length, int) and isinstance(candidate, int):
                if length != candidate:
                    raise ShapeError(_mismatch(nodes, length, candidate, axis))
            else:
                pairs.append((length, candidate))
                if isinstance(candidate, int):
                    length = candidate
        shape.append(length)
    return tuple(shape), tuple(pairs)


def _mismatch(nodes: Sequence[Node], left: Dim, right: Dim, axis: int) -> str:
    listed = "\n".join(f"  {describe(node)}" for node in nodes)
    return (
        f"shapes do not broadcast: axis {axis} has lengths {left!r} and {right!r} in\n{listed}\n"
        "Lengths must be equal or statically 1; index with `None` to add an axis of length 1."
    )


class Elementwise(Op):
    """`function`, a row of the scalar table, on every element of the broadcast operands."""

    function: str

    def result_type(self, *inputs: Node) -> TensorType:
        shape, _ = broadcast_shape(inputs)
        result = TABLE[self.function].result
        if result in ("bool", "float64", "int64", "key"):
            return TensorType(result, shape)
        if result == "part":
            return TensorType(part_of(inputs[0].dtype), shape)
        if result == "complex":
            return TensorType("complex64" if inputs[0].dtype == "float32" else "complex128", shape)
        return TensorType(inputs[1 if result == "choice" else 0].dtype, shape)

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return aligned(max(x.ndim for x in inputs), inputs)

    def linear_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        return TABLE[self.function].linear_in(count)

    def zero_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        return TABLE[self.function].zero_in(count)

    def monotone_in(self, count: int) -> tuple[int, ...]:
        return TABLE[self.function].monotone_in(count)

    def picks_of(self, count: int) -> tuple[int, ...]:
        return TABLE[self.function].picks

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        _, pairs = broadcast_shape(inputs)
        return tuple(ShapeConstraint(a, b, f"operands of `{self.function}` have equal lengths") for a, b in pairs)

    def __repr__(self) -> str:
        return self.function


elementwise = functools.cache(Elementwise)
"""The op of a scalar function, one object for each: equal ops that are the same are found equal at once."""


class Cast(Op):
    """Change of element type. Float to integer truncates; NaN and out of range saturate (NaN to 0)."""

    dtype: str

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type.with_dtype(self.dtype)

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return aligned(inputs[0].ndim, inputs)

    def monotone_in(self, count: int) -> tuple[int, ...]:
        return (int(self.dtype in NUMBERS),)

    def zero_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        return ((0,),)

    def __repr__(self) -> str:
        return f"cast({self.dtype})"


COMPARISONS = ("lt", "le", "gt", "ge")
STEPS = {"sign": 0.0, "floor": 1.0, "ceil": 1.0, "trunc": 1.0, "round": 0.5}
"""Where functions of one number jump: at 0, at whole numbers, or half-way between these."""


def is_step(node: Node) -> bool:
    """Whether a node is constant between jumps, as a comparison, a sign or a whole number of a real one is."""
    if isinstance(node.op, Cast):
        return node.dtype in INTEGERS and node.inputs[0].dtype in FLOATS
    return isinstance(node.op, Elementwise) and (node.op.function in COMPARISONS or node.op.function in STEPS)


class StopGradient(_Itself):
    """The value itself; derivatives do not pass."""


class AlteredGradient(_Itself):
    """The value itself; derivatives pass in another way.

    `kind`: "zero": they are zero. "undefined": to take one is an error. "scale": times `numbers[0]`. "clip": brought
    between `numbers[0]` and `numbers[1]`.
    """

    kind: str
    numbers: tuple[float, ...] = ()


def cast(x: TensorLike, dtype: npt.DTypeLike | None) -> Node:
    """`x` with another element type: its name, or NumPy's object for it.

    Integers wrap around, floats are rounded to the nearest; what leaves the range of an integer as a float saturates.

    x : ...
    dtype (dtype or None): Element type of the result; by default it follows from the operands.
    Returns: Of that dtype; the same tensor where it has it.
    See as_tensor: A node for any array.
    See constant: A fixed array.
    See tensor: A function input.
    >>> pt.cast([1.7, 2.2], "int64").eval().tolist()
    [1, 2]
    """
    node, wanted = as_tensor(x), named(dtype)
    if node.dtype == wanted:
        return node
    if wanted == "key" or node.dtype == "key":
        raise DtypeError(f"cannot turn {node.dtype} into {wanted}; give one of {', '.join(NUMBERS)}.")
    if node.dtype in COMPLEXES and wanted not in (*COMPLEXES, "bool"):
        raise DtypeError(f"cannot turn {node.dtype} into {wanted}: take `pt.real`, `pt.imag`, `pt.abs` or `pt.angle`.")
    whole = node.dtype in FLOATS and wanted in INTEGERS
    if isinstance(node.op, Constant) and not whole and not converted_as_read(node.op.array):
        with np.errstate(all="ignore"):
            return constant(node.op.array.astype(numpy_dtype(wanted)))
    return Node(Cast(wanted), node)


def converted_as_read(array: npt.NDArray[Any]) -> bool:
    """Whether machine code converts elements as it reads them: a matrix of few columns that is not copied."""
    return array.ndim == 2 and array.shape[1] <= FEW_COLUMNS and stays(array, array.dtype)


def promote(values: Sequence[TensorLike]) -> tuple[list[Node], str]:
    """Operands as nodes of one dtype, by NumPy's promotion (Python numbers are weak)."""
    first = values[0]
    if isinstance(first, Node) and first.dtype != "key":
        dtype = first.dtype
        if all(isinstance(v, Node) and v.dtype == dtype for v in values):
            return list(values), dtype  # type: ignore[arg-type]  # all nodes, as just seen
    operands = [v if is_weak(v) else as_tensor(v) for v in values]
    strong = {n.dtype for n in operands if isinstance(n, Node)}
    if "key" in strong:
        raise DtypeError("a random key is no number; use `fold_in` and the random functions on it.")
    dtype = next(iter(strong)) if len(strong) == 1 else ""
    weak = [v for v in operands if not isinstance(v, Node)]
    # One type of floats holds what Python's real numbers are beside it.
    if dtype not in FLOATS or any(isinstance(v, complex) for v in weak):
        dtype = np.result_type(*[numpy_dtype(d) for d in strong], *weak).name  # type: ignore[arg-type]  # numbers
        if not strong and dtype in FLOATS:
            dtype = config.floatX
    return [cast(v, dtype) if isinstance(v, Node) else constant(fitted(v, dtype)) for v in operands], dtype


def apply(function: str, *values: TensorLike) -> Node:
    """A scalar function on tensors, arrays and numbers, with promotion and broadcasting."""
    entry = TABLE[function]
    if entry.arity and len(values) != entry.arity:
        raise TypeError(f"`{function}` takes {entry.arity} arguments, got {len(values)}.")
    if function == "fold_in" or function in DRAWS:
        return _draw(function, values)
    if entry.result == "choice":
        condition = as_tensor(values[0])
        if condition.dtype != "bool":
            condition = apply("neq", condition, 0)
        branches, _ = promote(values[1:])
        return Node(elementwise(function), condition, *branches)
    if function in ORDERS:
        decided = _compared(function, *values)
        if decided is not None:
            return decided
    nodes, dtype = promote(values)
    kind = kind_of(dtype)
    if function in ROUNDED and kind in ROUNDED[function]:
        return nodes[0]
    if kind not in entry.accepts:
        if kind == "complex" and function == "abs":
            return apply("modulus", *nodes)
        if kind == "complex":
            raise DtypeError(f"`{function}` is not defined for {dtype}; take real parts or sizes first.")
        if kind == "bool" and "int" in entry.accepts:
            if function in OF_TRUTH:
                return OF_TRUTH[function](*nodes)
            if function in REFUSED_OF_TRUTH:
                raise DtypeError(f"`{function}` is not defined for bool; {REFUSED_OF_TRUTH[function]}.")
            nodes = [cast(node, of_truth(function)) for node in nodes]
        elif "float" in entry.accepts:
            floating = float_dtype(function, tuple(weak_type(v) or as_tensor(v).dtype for v in values))
            nodes = [cast(node, floating) for node in nodes]
        elif entry.accepts == ("bool",):
            nodes = [apply("neq", node, 0) for node in nodes]
        else:
            raise DtypeError(f"`{function}` is not defined for {dtype}; it takes {', '.join(entry.accepts)} values.")
    elif dtype == "float16" and entry.result == "float" and not isinstance(entry.numpy, np.ufunc):
        nodes = [cast(node, "float64") for node in nodes]  # as SciPy
    return Node(elementwise(function), *nodes)


ORDERS = {"eq": "eq", "neq": "neq", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
"""Comparisons, each with the one that has its operands exchanged."""
ROUNDED = {"floor": ("int", "bool"), "ceil": ("int", "bool"), "trunc": ("int", "bool")}
"""Functions that leave whole numbers as they are, and the kinds of those."""
OF_TRUTH: dict[str, Callable[..., Node]] = {
    "abs": lambda x: x,
    "fmin": lambda x, y: Node(elementwise("minimum"), x, y),
    "fmax": lambda x, y: Node(elementwise("maximum"), x, y),
}
"""Functions of numbers that give bools of bools."""
REFUSED_OF_TRUTH = {
    "neg": "`~x` is the opposite, `-x.astype(int)` the number",
    "sub": "`x ^ y` says where both differ, `x.astype(int) - y` is the difference",
}
"""Functions of numbers that NumPy refuses for bools, with what serves in their place."""


def _compared(function: str, x: TensorLike, y: TensorLike) -> Node | None:
    """A comparison of integers that have no common dtype; None where promotion is enough."""
    sides: tuple[tuple[Any, Any, str], ...] = ((y, x, function), (x, y, ORDERS[function]))
    for number, other, turned in sides:
        if weak_type(number) is not int or is_weak(other):
            continue
        node = as_tensor(other)
        if node.dtype not in INTEGERS:
            return None
        limits = np.iinfo(node.dtype)
        if limits.min <= number <= limits.max:
            return None
        above = number > limits.max
        holds = turned == "neq" or turned in (("lt", "le") if above else ("gt", "ge"))
        return Node(elementwise("eq" if holds else "neq"), node, node)
    if is_weak(x) or is_weak(y):
        return None
    a, b = as_tensor(x), as_tensor(y)
    if b.dtype == "uint64":
        a, b, function = b, a, ORDERS[function]
    if not (a.dtype == "uint64" and b.dtype in SIGNED):
        return None
    negative = apply("lt", b, 0)
    same_sign = Node(elementwise(function), a, cast(b, "uint64"))
    if function in ("gt", "ge", "neq"):
        return apply("logical_or", negative, same_sign)
    return apply("logical_and", apply("logical_not", negative), same_sign)


def _draw(function: str, values: Sequence[TensorLike]) -> Node:
    key = as_tensor(values[0])
    if key.dtype != "key":
        raise DtypeError(f"`{function}` needs a random key first, got {describe(key)}; make one with `pt.key(seed)`.")
    others = {"random_binomial": ("int64", "float64"), "random_conway_maxwell_poisson": ("float64", "float64")}
    wanted = ("int64", *others.get(function, ("float64",)))
    rest = [as_tensor(v, dtype) for v, dtype in zip(values[1:], wanted, strict=False)]
    return Node(Elementwise(function), key, *rest)
