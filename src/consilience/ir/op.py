"""The meaning of a computation: frozen static parameters and the type of the result.

No derivative, no backend code, no in-place flag: those are rows of tables elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.types import Type
from consilience.record import Record

if TYPE_CHECKING:
    from consilience.ir.node import Node


class Op(Record):
    """Base of all ops; subclasses are records of plain, hashable parameters."""

    # Every op class by its name, so that program text can be parsed.
    classes: ClassVar[dict[str, type[Op]]] = {}
    # Whether a node is a random variable: one value for all who read it, which regions are given from outside.
    random: ClassVar[bool] = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        Op.classes[cls.__name__] = cls

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def result_type(self, *inputs: Node) -> Type:
        """Type of the result; raises ShapeError or DtypeError where the inputs have no meaning."""
        raise NotImplementedError(f"{type(self).__name__} must define result_type")

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        """Equalities of lengths that the construction could not prove."""
        return ()

    def settled(self) -> Node | None:
        """What stands for a node of it whose lengths have become known; None for the node itself."""
        return None
