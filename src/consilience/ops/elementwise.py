"""Scalar functions applied to every element, with NumPy's broadcasting decided at construction."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import DtypeError, ShapeError
from consilience.ir import Constant, Dim, Node, Op, TensorType, constant
from consilience.ir.arithmetic import meaning
from consilience.ir.obligations import Obligation
from consilience.ir.side_tables import describe
from consilience.ir.types import FLOATS, INTEGERS, Shape, numpy_dtype
from consilience.ops.scalar import DRAWS, TABLE

TensorLike: TypeAlias = Node | npt.ArrayLike


def as_tensor(value: TensorLike, dtype: str | None = None) -> Node:
    """A node for any value: nodes stay, arrays and numbers become constants, lists of nodes are stacked."""
    if isinstance(value, Node):
        return value if dtype is None or value.dtype == dtype else cast(value, dtype)
    if isinstance(value, list | tuple) and _holds_node(value):
        stacked: Node = meaning("stack")([as_tensor(v) for v in value])
        return stacked
    labelled = getattr(value, "data", None) if hasattr(value, "dims") else None
    if isinstance(labelled, Node):  # what xarray makes of an array times an expression
        return as_tensor(labelled, dtype)
    return constant(value, dtype)


def _holds_node(values: Sequence[Any]) -> bool:
    return any(isinstance(v, Node) or (isinstance(v, list | tuple) and _holds_node(v)) for v in values)


def kind_of(dtype: str) -> str:
    """float, int, bool or key."""
    if dtype in FLOATS:
        return "float"
    return "int" if dtype in INTEGERS else dtype


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
        return TensorType(inputs[1 if result == "choice" else 0].dtype, shape)

    def obligations(self, *inputs: Node) -> tuple[Obligation, ...]:
        _, pairs = broadcast_shape(inputs)
        return tuple(Obligation(a, b, f"operands of `{self.function}` have equal lengths") for a, b in pairs)

    def __repr__(self) -> str:
        return self.function


elementwise = functools.cache(Elementwise)
"""The op of a scalar function, one object for each: equal ops that are the same are found equal at once."""


class Cast(Op):
    """Change of element type. Float to integer truncates; NaN and out of range saturate (NaN to 0)."""

    dtype: str

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type.with_dtype(self.dtype)

    def __repr__(self) -> str:
        return f"cast({self.dtype})"


class StopGradient(Op):
    """The value itself; derivatives do not pass."""

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type


class AlteredGradient(Op):
    """The value itself; derivatives pass in another way.

    kind      "zero": they are zero. "undefined": to take one is an error. "scale": times `numbers[0]`.
              "clip": brought between `numbers[0]` and `numbers[1]`
    """

    kind: str
    numbers: tuple[float, ...] = ()

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type


def cast(value: TensorLike, dtype: str) -> Node:
    """`value` with another element type."""
    node = as_tensor(value)
    if node.dtype == dtype:
        return node
    if dtype not in (*FLOATS, *INTEGERS, "bool") or node.dtype == "key":
        raise DtypeError(f"cannot turn {node.dtype} into {dtype!r}; give one of float64, float32, int64, int32, bool.")
    if isinstance(node.op, Constant) and not (kind_of(node.dtype) == "float" and kind_of(dtype) == "int"):
        return constant(node.op.array.astype(numpy_dtype(dtype)))
    return Node(Cast(dtype), node)


def promote(values: Sequence[TensorLike]) -> tuple[list[Node], str]:
    """Operands as nodes of one dtype, by NumPy's promotion (Python numbers are weak)."""
    first = values[0]
    if isinstance(first, Node) and first.dtype != "key":
        dtype = first.dtype
        if all(isinstance(v, Node) and v.dtype == dtype for v in values):
            return list(values), dtype  # type: ignore[arg-type]  # all nodes, as just seen
    nodes = [v if isinstance(v, Node) else None for v in values]
    others = [
        v if isinstance(v, bool | int | float) and not isinstance(v, np.generic) else as_tensor(v)
        for v, node in zip(values, nodes, strict=True)
        if node is None
    ]
    strong = {n.dtype for n in (*nodes, *others) if isinstance(n, Node)}
    if "key" in strong:
        raise DtypeError("a random key is no number; use `fold_in` and the random functions on it.")
    dtype = next(iter(strong)) if len(strong) == 1 else ""
    if dtype not in FLOATS:  # one type of floats holds what Python's numbers are beside it
        weak = [v for v in others if not isinstance(v, Node)]
        dtype = np.result_type(*[numpy_dtype(d) for d in strong], *weak).name
    remaining = iter(others)
    result = []
    for node in nodes:
        value = node if node is not None else next(remaining)
        result.append(cast(value, dtype) if isinstance(value, Node) else constant(_fits(value, dtype)))
    return result, dtype


def _fits(value: bool | int | float, dtype: str) -> npt.NDArray[Any]:
    return np.asarray(value, dtype=numpy_dtype(dtype))


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
    nodes, dtype = promote(values)
    kind = kind_of(dtype)
    if kind not in entry.accepts:
        if "float" in entry.accepts:
            nodes = [cast(node, "float64") for node in nodes]
        elif entry.accepts == ("bool",):
            nodes = [apply("neq", node, 0) for node in nodes]
        elif kind == "bool" and "int" in entry.accepts:
            nodes = [cast(node, "int64") for node in nodes]
        else:
            raise DtypeError(f"`{function}` is not defined for {dtype}; it takes {', '.join(entry.accepts)} values.")
    return Node(elementwise(function), *nodes)


def _draw(function: str, values: Sequence[TensorLike]) -> Node:
    key = as_tensor(values[0])
    if key.dtype != "key":
        raise DtypeError(f"`{function}` needs a random key first, got {describe(key)}; make one with `pt.key(seed)`.")
    wanted = {"random_binomial": ("int64", "int64", "float64")}.get(function, ("int64", "float64"))
    rest = [as_tensor(v, dtype) for v, dtype in zip(values[1:], wanted, strict=False)]
    return Node(Elementwise(function), key, *rest)
