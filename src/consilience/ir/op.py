"""The meaning of a computation: frozen static parameters and the type of the result.

No derivative, no backend code, no in-place flag: those are rows of tables elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from consilience.ir.dimension import Dim
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.types import Type
from consilience.record import Record

if TYPE_CHECKING:
    from consilience.ir.node import Node


# For each operand, in order, axes of the result with the axis of the operand that each follows; of missing ones none.
KeptAxes: TypeAlias = "Sequence[Mapping[int, int]]"


class Op(Record):
    """Base of all ops; subclasses are records of plain, hashable parameters."""

    # Every op class by its name, so that program text can be parsed.
    classes: ClassVar[dict[str, type[Op]]] = {}
    # Whether a node is a random variable: one value for all who read it, which regions are given from outside.
    random: ClassVar[bool] = False
    # How many last axes a vector or matrix of the first operand has, where all axes before are a batch: of all operands
    # and results, with equal lengths. None: nothing is known of a batch, or `kept_axes` says it.
    core: ClassVar[int | None] = None
    # Groups of operands: the op is linear in those of a group together, given all others.
    linear: ClassVar[tuple[tuple[int, ...], ...]] = ()
    # Places of operands: each element of the result is one of their elements, as it is. Of none: elements are computed.
    picks: ClassVar[tuple[int, ...]] = ()
    # The triangle of the first operand's matrices that is read, "lower" or "upper"; the other may hold anything.
    triangle: ClassVar[str] = ""
    # Floating-point operations, of the cost of an addition, for each time that `volume` counts.
    flops: ClassVar[float] = 0.0

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

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        """Which axes of the result follow which of the operands; axes that are not named are mixed, which is safe.

        Position i of the result along an axis is made of position i along the axes that it follows, and of all of the
        operands in which it follows none, in the same way for each i.
        """
        if self.core is None:
            return ()
        batch = {axis: axis for axis in range(inputs[0].ndim - self.core)}
        return [batch] * len(inputs)

    def linear_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        """Groups of `count` operands as in `linear`, for ops whose parameters decide."""
        return self.linear

    def picks_of(self, count: int) -> tuple[int, ...]:
        """Places among `count` operands as in `picks`, for ops whose parameters decide."""
        return self.picks

    def triangle_read(self) -> str:
        """The triangle as in `triangle`, for ops whose parameters decide."""
        return self.triangle

    def monotone_in(self, count: int) -> tuple[int, ...]:
        """For each of `count` operands 1 if no element falls where elements of it rise, -1 if none rises, else 0."""
        picked = self.picks_of(count)
        return tuple(int(place in picked) for place in range(count))

    def zero_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        """Groups of `count` operands: where all of a group are 0, the result is, whatever finite numbers others are.

        Zeros along axes that an op mixes must be there all along them; what is linear or picked needs no word.
        """
        picked = self.picks_of(count)
        return tuple(dict.fromkeys((*self.linear_in(count), *([picked] if picked else []))))

    def volume(self, *inputs: Node) -> Dim:
        """How often the innermost step is done, as an expression of lengths: once per element of the first operand."""
        return inputs[0].tensor_type.size

    def settled(self) -> Node | None:
        """What stands for a node of it whose lengths have become known; None for the node itself."""
        return None
