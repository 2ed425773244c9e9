"""What is required of values: a computation that uses a wrong one fails, and says why."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import DtypeError
from consilience.ir import Node, TensorType, substitute, topological
from consilience.ir.side_tables import describe
from consilience.ops.assertion import _Itself


class _OnCondition(_Itself):
    """The first input, if the second, of bools, holds as a whole."""

    def result_type(self, *inputs: Node) -> TensorType:
        if inputs[1].dtype != "bool":
            raise DtypeError(f"a condition was needed, got {describe(inputs[1])}.")
        return super().result_type(*inputs)


class ParameterCheck(_OnCondition):
    """The first input, where all of the second (bool) holds; else the computation fails with ParameterError.

    Inputs: a value, conditions on a parameter, the parameter; `title`, `parameter`, `rule` and the rank of one value
    of the parameter make the message.
    """

    title: str
    parameter: str
    rule: str
    event_rank: int

    def __repr__(self) -> str:
        return f"ParameterCheck({self.title} {self.parameter} {self.rule})"


class Asserted(_OnCondition):
    """The first input, where all of the second (bool) holds; else the computation fails with AssertionError."""

    message: str

    def __repr__(self) -> str:
        return f"Assert({self.message!r})"


def released(outputs: Sequence[Node]) -> list[Node]:
    """The graph without its requirements: wrong parameters then give what the formulas give, which is NaN."""
    found = [node for node in topological(outputs) if isinstance(node.op, ParameterCheck)]
    if not found:
        return list(outputs)
    values: dict[Node, Node] = {}
    for node in found:  # inner ones come first
        (values[node],) = substitute([node.inputs[0]], values)
    return substitute(outputs, values)
