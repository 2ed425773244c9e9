"""Reductions over the positions of a batch, as one position sees them: its own value in, that of all together out."""

from __future__ import annotations

from consilience.ir import Node, Op, TensorType


class Collective(Op):
    """`kind` ("sum", "max" or "min") of the values that x has at all positions of a batch.

    Inputs: x, and the int64 number of the position, which says what batch is meant. Batching over that number makes
    an ordinary reduction of it; before, the op has no value.
    """

    kind: str

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type

    def __repr__(self) -> str:
        return f"{self.kind} of all positions"
