"""Ops with regions: lazy branches now; loops have their place here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consilience.errors import DtypeError, GraphError, ShapeError
from consilience.ir import Dimension, Node, Op, Region, Shape, TensorType, TupleType, Type, close
from consilience.ir.shape_constraints import ShapeConstraint, collect
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import TensorLike, apply, as_tensor, promote


class Item(Op):
    """One member of a tuple."""

    position: int

    def result_type(self, *inputs: Node) -> TensorType:
        of = inputs[0].type
        if not isinstance(of, TupleType):
            raise GraphError(f"an item can be taken of a tuple only, got {of!r}.")
        return of.items[self.position]


class Cond(Op):
    """The results of one of two regions, chosen by a bool scalar; the other one is not computed.

    Inputs: the condition, then the operands of both regions, which have equal parameters and result types.
    """

    then: Region
    otherwise: Region

    def result_type(self, *inputs: Node) -> Type:
        return TupleType(self.then.result_types)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        # Lengths of a region's parameters are those of its operands, so its shape constraints are the function's.
        inside = collect((*self.then.results, *self.otherwise.results))
        return inside + tuple(
            ShapeConstraint(a, b, "branches have equal shapes")
            for one, other in zip(self.then.result_types, self.otherwise.result_types, strict=True)
            for a, b in zip(one.shape, other.shape, strict=True)
            if a is not b and a != b
        )

    def __repr__(self) -> str:
        return f"cond({len(self.then.results)} results)"


def cond(
    condition: TensorLike, then: TensorLike | Sequence[TensorLike], otherwise: TensorLike | Sequence[TensorLike]
) -> Node | list[Node]:
    """`then` where the scalar condition holds, else `otherwise`; only the chosen one is computed.

    Both are one tensor or equally many, of equal shapes; dtypes are promoted pairwise.
    """
    chosen = as_tensor(condition)
    if chosen.ndim:
        raise ShapeError(f"the condition must be a scalar, got {describe(chosen)}; use `pt.where` element by element.")
    if chosen.dtype == "key":
        raise DtypeError("a random key is no condition.")
    if chosen.dtype != "bool":
        chosen = apply("neq", chosen, 0)
    single = not isinstance(then, list | tuple)
    first: list[Any] = list(then) if isinstance(then, list | tuple) else [then]
    second: list[Any] = list(otherwise) if isinstance(otherwise, list | tuple) else [otherwise]
    if len(first) != len(second):
        raise GraphError(f"both branches need equally many results, got {len(first)} and {len(second)}.")
    pairs = [promote([a, b])[0] for a, b in zip(first, second, strict=True)]
    for a, b in pairs:
        if not compatible_shapes(a.static_shape, b.static_shape):
            raise ShapeError(f"branches have different shapes:\n  {describe(a)}\n  {describe(b)}")
    lefts, rights = [a for a, _ in pairs], [b for _, b in pairs]
    _, operands = close([*lefts, *rights])
    then_region, _ = close(lefts, operands)
    otherwise_region, _ = close(rights, operands)
    node = Node(Cond(then_region, otherwise_region), chosen, *operands)
    results = [Node(Item(i), node) for i in range(len(pairs))]
    return results[0] if single else results


def compatible_shapes(left: Shape, right: Shape) -> bool:
    """Whether two shapes may turn out equal; lengths that are not provably equal become shape constraints."""
    return len(left) == len(right) and all(
        a == b or isinstance(a, Dimension) or isinstance(b, Dimension) for a, b in zip(left, right, strict=True)
    )


def ifelse(condition: TensorLike, then: TensorLike, otherwise: TensorLike) -> Node | list[Node]:
    """PyTensor's name for `cond`."""
    return cond(condition, then, otherwise)
