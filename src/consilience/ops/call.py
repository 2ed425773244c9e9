"""Functions as ops: a region with a name, and with a derivative and a batched form of the user's if there are any.

A call without them is written out when it is made; one with them stays until derivatives have been taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from consilience.errors import DtypeError, GraphError, ShapeError
from consilience.ir import Node, Op, Region, TupleType, Type
from consilience.ir.shape_constraints import ShapeConstraint, collect
from consilience.ir.side_tables import describe
from consilience.ops.control import compatible_shapes
from consilience.record import Record


class FunctionCall(Op):
    """The results of a region, whose parameters are the inputs.

    `pullback`: region of the inputs, the results and one cotangent per result; gives one cotangent per input.
    `batched`: function of the batched inputs, whether each is, and the batch axes; gives the batched results.
    """

    name: str
    body: Region
    pullback: Region | None = None
    batched: CustomBatching | None = None

    def result_type(self, *inputs: Node) -> Type:
        return TupleType(self.body.result_types)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        return collect(self.body.results)

    def __repr__(self) -> str:
        return f"call({self.name})"


class CustomBatching(Record, eq=False):
    """How a user batches a call: `rule(axis_size, in_batched, *inputs)` gives results and whether each is batched."""

    rule: Callable[..., Any]


def matching(given: Sequence[Any], wanted: Sequence[Node], what: str, name: str) -> list[Node]:
    """Cotangents of a user's derivative, in the types of what they belong to.

    Raises GraphError. Raises DtypeError: and. Raises ShapeError where number, dtype or shape differ.
    """
    if len(given) != len(wanted):
        raise GraphError(f"{what} of `{name}` must give {len(wanted)} cotangents, one per input, got {len(given)}.")
    found = []
    for i, (cotangent, node) in enumerate(zip(given, wanted, strict=True)):
        if cotangent.dtype != node.dtype:
            raise DtypeError(
                f"{what} of `{name}` must give a {node.dtype} cotangent for input {i}, got {describe(cotangent)}."
            )
        if not compatible_shapes(cotangent.static_shape, node.static_shape):
            raise ShapeError(
                f"{what} of `{name}` must give input {i} a cotangent of its shape {node.static_shape}, got "
                f"{describe(cotangent)}."
            )
        found.append(cotangent)
    return found
