"""Sets of matrices besides those of `constraints`: correlation matrices, factors in packed form."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar, Final

from consilience.distributions.constraints import (
    SUM_TOLERANCE,
    CholeskyFactor,
    Constraint,
    PositiveDefinite,
    positive,
)
from consilience.distributions.mathematics import (
    absolute,
    equal,
    greater,
    greater_equal,
    isfinite,
    less_equal,
    logical_and,
    square,
)
from consilience.distributions.triangles import diagonal_positions, row_count
from consilience.ir import Constant, Node, constant
from consilience.ops.index import getitem
from consilience.ops.linalg import diagonal, matrix_transpose
from consilience.ops.reduce import reduce


class AdjacencyMatrix(Constraint):
    """Symmetric matrices of weights >= 0 between neighbours, none of them without any; zeros on the diagonal."""

    event_rank: ClassVar[int] = 2

    rule = "a symmetric matrix of weights >= 0, zero on the diagonal, with a neighbour in every row"

    def holds(self, value: Node) -> Node:
        if not isinstance(value.op, Constant) and (known := self._entries().neighbours_of(value)) is not None:
            return constant(not known.fault)
        weights = reduce("all", greater_equal(value, 0.0), (-2, -1))
        symmetric = reduce("all", equal(value, matrix_transpose(value)), (-2, -1))
        connected = reduce("all", greater(reduce("sum", value, -1), 0.0), -1)
        alone = reduce("all", equal(diagonal(value), 0.0), -1)
        return logical_and(logical_and(weights, symmetric), logical_and(connected, alone))

    def taken(self, title: str, name: str, value: Any) -> Any:
        return self._entries().written_by_entries(title, name, self.rule, value)

    @staticmethod
    def _entries() -> ModuleType:
        from consilience.distributions import neighbours  # which only fields need

        return neighbours


class CorrelationMatrix(PositiveDefinite):
    """Symmetric positive definite matrices with ones on the diagonal; `holds` is as far as for `PositiveDefinite`."""

    rule = "a correlation matrix: symmetric and positive definite, with ones on the diagonal"

    def admits(self, value: Node) -> Node:
        ones = reduce("all", less_equal(absolute(diagonal(value) - 1.0), SUM_TOLERANCE), -1)
        return logical_and(ones, reduce("all", less_equal(absolute(value), 1.0 + SUM_TOLERANCE), (-2, -1)))


class CorrelationFactor(CholeskyFactor):
    """Lower Cholesky factors of correlation matrices: rows of length 1, the diagonal positive."""

    rule = "lower triangular with a positive diagonal and rows of length 1"

    def holds(self, value: Node) -> Node:
        lengths = reduce("sum", square(value), -1)
        return logical_and(super().holds(value), reduce("all", less_equal(absolute(lengths - 1.0), SUM_TOLERANCE), -1))


class PackedCholeskyFactor(Constraint):
    """Lower triangles, row by row as vectors, with a positive diagonal."""

    event_rank: ClassVar[int] = 1

    rule = "a packed lower triangle with a positive diagonal"

    def holds(self, value: Node) -> Node:
        positions = diagonal_positions(row_count(value.static_shape[-1]))
        own = reduce("all", positive.holds(getitem(value, (Ellipsis, positions))), -1)
        return logical_and(own, reduce("all", isfinite(value), -1))


adjacency_matrix: Final = AdjacencyMatrix()
correlation_matrix: Final = CorrelationMatrix()
correlation_factor: Final = CorrelationFactor()
packed_cholesky_factor: Final = PackedCholeskyFactor()
