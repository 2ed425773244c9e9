"""What is written of a graph as StableHLO: values of nodes, one rule per op.

A node in, the value that stands for it in the text out. Rules stand in `scalars` and `ops`; an op
without one is written in others where `lower` knows how, and refused by name where it does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from consilience.engines.emitter.table import Meanings
from consilience.engines.stablehlo.emit.text import HloValue, HloWriter
from consilience.errors import MissingRuleError, ShapeError
from consilience.ir import Node, Region, topological
from consilience.ir.side_tables import describe
from consilience.lower.expand import NODES
from consilience.ops import InverseQuadratic, LogAbsDet, Softmax, Solve
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker

HloValues: TypeAlias = HloValue | list[HloValue]


RULES: Final = Meanings()
prints: Final = RULES  # enters rules of scope, node and values


class HloScope:
    """HloValues of the nodes of a function, or of a region, as far as they are written."""

    def __init__(self, writer: HloWriter, known: Mapping[Node, HloValues]) -> None:
        self.writer = writer
        self._known: dict[Node, HloValues] = dict(known)

    def value(self, node: Node) -> HloValue:
        """The value of a node, which is written where it is not yet known."""
        found = self._values(node)
        assert isinstance(found, HloValue)
        return found

    def _values(self, node: Node) -> HloValues:
        for each in topological([node], stop=self._known.__contains__):
            if each not in self._known:
                self._known[each] = self._written(each)
        return self._known[node]

    def _written(self, node: Node) -> HloValues:
        rule = RULES.get(type(node.op))
        if rule is not None:
            found: HloValues = rule(self, node, *(self._known[i] for i in node.inputs))
            return found
        if _opens(node):
            return self._values(NODES[type(node.op)](node))
        otherwise = "compute it outside, and give the result as an input"
        if isinstance(node.op, Solve):
            otherwise += ", or say `assume_a='pos'` of a matrix that is positive definite"
        raise MissingRuleError(
            f"`{type(node.op).__name__}` has no form in StableHLO, in {describe(node)}; {otherwise}."
        )

    def inside(self, region: Region, operands: Sequence[HloValues]) -> list[HloValue]:
        """The results of a region at given operands, written here."""
        inner = HloScope(self.writer, {region.parameter(i): operand for i, operand in enumerate(operands)})
        return [inner.value(result) for result in region.results]

    def expanded(self, node: Node, other: Node) -> HloValue:
        """A node by way of another that has the same value."""
        found = self.value(other)
        return self.writer.broadcast(found, shape_of(node))


def _opens(node: Node) -> bool:
    """Whether `lower` writes the op in others that have a form here."""
    op = node.op
    if isinstance(op, Solve | LogAbsDet):
        return op.assume == "positive definite"
    return isinstance(op, InverseQuadratic | Softmax | DiagonalMatrix | Kronecker | BlockDiagonal)


def shape_of(node: Node) -> tuple[int, ...]:
    """The shape of a node; raises ShapeError where a length depends on values."""
    shape = node.static_shape
    if not all(isinstance(n, int) for n in shape):
        raise ShapeError(
            f"StableHLO is written for fixed shapes, and that of {describe(node)} is open: {shape}; declare "
            "inputs as in `pt.tensor('x', shape=(3, 2))`."
        )
    return tuple(int(n) for n in shape)
