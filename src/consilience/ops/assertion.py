"""Values with what is asserted of them: facts that rewriting may rely on, lengths that must agree.

Both ops are the identity on numbers. They belong to the graph, so that an assertion in one graph says nothing
about another graph that shares the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from consilience.ir import KeptAxes, Node, Op, ShapeConstraint, TensorType, topological
from consilience.ir.side_tables import describe
from consilience.ops.axes import aligned
from consilience.record import replace

Fact = tuple[str, bool | float]


class _Itself(Op):
    """What gives its first operand as it is."""

    linear = ((0,),)
    picks = (0,)

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return aligned(inputs[0].ndim, inputs[:1])


class Assume(_Itself):
    """The value itself, of which facts hold that the user asserted; `rewrite.facts` knows their names.

    `facts`: (name, True) or (name, bound), sorted. `name`: of a value that is another one's under a name of its own.
    """

    facts: tuple[Fact, ...]
    name: str = ""

    def __repr__(self) -> str:
        if self.name:
            return f"named({self.name})"
        return f"assume({', '.join(name if value is True else f'{name} {value}' for name, value in self.facts)})"


class Require(_Itself):
    """The value itself, for which lengths must agree: a derived graph carries the shape constraints of its origin."""

    lengths: tuple[ShapeConstraint, ...]

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        return self.lengths

    def __repr__(self) -> str:
        return f"require({len(self.lengths)} equal lengths)"


def require(outputs: Sequence[Node], lengths: tuple[ShapeConstraint, ...]) -> list[Node]:
    """The outputs, whose function checks that the lengths agree; leaves and constants need none."""
    return [Node(Require(lengths), o) if lengths and o.inputs else o for o in outputs]


def required(outputs: Iterable[Node]) -> list[ShapeConstraint]:
    """What `require` put into a graph; other shape constraints of a rewritten graph may be settled already."""
    return [
        o if o.where else replace(o, where=describe(node.inputs[0]))
        for node in topological(outputs)
        if isinstance(node.op, Require)
        for o in node.op.lengths
    ]
