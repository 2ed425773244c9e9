"""The table of batched forms: how each op is written when some inputs carry batch axes in front.

The files beside this one fill the table by op family; `engine` reads it. Ops whose leading axes are a batch (`Op.core`)
need no row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar

from consilience.errors import MissingRuleError
from consilience.first_use import RowsByFamily
from consilience.ir import Node, Op, TupleType
from consilience.ir.types import Shape
from consilience.ops.control import Item
from consilience.ops.shape import broadcast_to, expand_dims
from consilience.record import Record


class Operand(Record):
    """An input in its batched form.

    `core`: the input of the node as it was written. `value`: one value for the whole batch, or one per batch position:
    batch axes first, then the core's. `batched`: which of the two.
    """

    core: Node
    value: Node
    batched: bool

    def full(self, batch: Shape) -> Node:
        """The value with all batch axes, repeated along them where it has none."""
        return self.value if self.batched else broadcast_to(self.value, (*batch, *self.core.static_shape))

    def at_rank(self, rank: int, batch: Shape) -> Node:
        """With axes of length 1 behind the batch axes, so that NumPy broadcasts a core of a given rank."""
        missing_axes = rank - self.core.ndim
        if not self.batched or missing_axes <= 0:
            return self.value
        return expand_dims(self.value, range(len(batch), len(batch) + missing_axes))


# (node, its inputs, lengths of the batch axes) -> the node for the whole batch. At least one input is
# batched; the result has the batch axes first. An op with several results gives a list of them; a result that is the
# same for the whole batch comes as an operand.
Batched: TypeAlias = Callable[[Node, Sequence[Operand], Shape], Node | list[Node] | Operand]

_OPS: Final = "consilience.ops"
_FAMILIES: Final = {
    "call": "call python_call",
    "control": "control",
    "elementwise": "assertion elementwise parameter_check",
    "index": "index",
    "linalg": "linalg matrix_equations",
    "order": "order",
    "reduce": "collective reduce",
    "scan": "loop",
    "shape": "random shape",
    "sparse": "sparse.factorisation sparse.products",
    "state_space": "state_space",
}
BATCHED: Final = RowsByFamily[Batched](__package__, _OPS, _FAMILIES)
NO_BATCHED: Final = RowsByFamily[str](__package__, _OPS, _FAMILIES)

_F = TypeVar("_F", bound=Batched)


def batched_form(op: type[Op]) -> Callable[[_F], _F]:
    """Enter a row."""

    def enter(row: _F) -> _F:
        BATCHED[op] = row
        return row

    return enter


def no_batched_form(op: type[Op], reason: str) -> None:
    """Declare that an op has no batched form, and why."""
    NO_BATCHED[op] = reason


def batched_row(node: Node) -> Batched:
    """The row for a node."""
    op = type(node.op)
    row: Batched | None = BATCHED.get(op) or (None if op.core is None else _in_front)
    if row is None:
        reason = NO_BATCHED.get(op, "its table has no row for this op")
        raise MissingRuleError(f"`{op.__name__}` cannot be vectorized: {reason}.")
    return row


def _in_front(node: Node, operands: Sequence[Operand], batch: Shape) -> Node | list[Node]:
    """Of an op whose leading axes are a batch already."""
    made = Node(node.op, *(operand.full(batch) for operand in operands))
    return [Node(Item(i), made) for i in range(len(made.type.items))] if isinstance(made.type, TupleType) else made


def missing() -> list[str]:
    """Ops that have neither a batched form nor a declared reason for having none."""
    return sorted(
        name
        for name, op in Op.classes.items()
        if op.__module__.startswith("consilience.ops.") and not name.startswith("_")
        if op.core is None and op not in BATCHED and op not in NO_BATCHED
    )
