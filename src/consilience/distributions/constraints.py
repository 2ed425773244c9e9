"""Sets in which parameters and values lie: one description each for checks, messages and transforms.

A constraint in, a graph of truth values out. Bounds may be numbers, tensors or names of parameters of the
same distribution; `bind` replaces the names. Which transform maps a set to the real line is a table of
`transforms`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.distributions.mathematics import (
    absolute,
    equal,
    floor,
    greater,
    greater_equal,
    isfinite,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_or,
    square,
    where,
)
from consilience.distributions.written_softmax import element_of_softmax, written_softmax
from consilience.ir import INTEGERS, Node, constant_value
from consilience.ops import ExpandDims, Index, Softmax
from consilience.ops.index import FULL
from consilience.ops.linalg import diagonal, matrix_transpose
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to
from consilience.record import Record

# A number, a tensor, or the name of a parameter.
Bound: TypeAlias = float | Node | str

# How far the sum of probabilities may be from 1, and a covariance from its transpose (relative).
SUM_TOLERANCE: Final = 1e-5
# How far beyond 1 a probability is 1.
ROUNDING: Final = 1e-12
SYMMETRY_TOLERANCE: Final = 1e-8


class Constraint(Record):
    """A set of numbers, vectors or matrices.

    `rule` completes the sentence "sigma must be …". `event_rank` is the rank of one element of the set;
    `discrete` tells whether it is countable. Every axis before the event's is a batch.
    """

    event_rank: ClassVar[int] = 0
    discrete: ClassVar[bool] = False

    @property
    def rule(self) -> str:
        """The condition in words."""
        raise NotImplementedError

    def holds(self, value: Node) -> Node:
        """Whether value lies in the set, one truth value per event; False for NaN."""
        raise NotImplementedError

    def admits(self, value: Node) -> Node:
        """As `holds`, but may leave out what makes every formula infinite or NaN anyhow."""
        return self.holds(value)

    def contains_all(self, value: Node) -> bool:
        """Whether what a value is computed by gives nothing but elements of the set, or NaN."""
        return False

    def settled(self, value: Node) -> Node:
        """The value, moved to the border where it is beyond it by rounding alone."""
        return value

    def bind(self, parameters: Mapping[str, Node]) -> Constraint:
        """The same set with names of parameters replaced by their values."""
        return self

    def refusal(self, value: npt.NDArray[np.generic]) -> str | None:
        """What else is wrong with a constant that no graph of truth values can say; None if nothing."""
        return None

    def taken(self, title: str, name: str, value: Any) -> Any:
        """What the tensor is made of, of what a user gave."""
        return value


class Real(Constraint):
    """All real numbers."""

    rule = "a finite number"

    def holds(self, value: Node) -> Node:
        return isfinite(value)


class ExtremeValues(Real):
    """Real numbers on one side of an end, or all: 1 + shape (x - location) / scale > 0, for a shape of either sign."""

    location: Node
    scale: Node
    shape: Node

    rule = "a number x with 1 + xi (x - mu) / sigma > 0"

    def holds(self, value: Node) -> Node:
        return logical_and(isfinite(value), greater(self.shape * ((value - self.location) / self.scale), -1.0))


class SmallShape(Real):
    """Positive numbers as gamma variables of shape below 1 are, most far below 1 / rate; or their reciprocals."""

    rate: Node
    reciprocal: bool

    rule = "a number > 0"

    def holds(self, value: Node) -> Node:
        return logical_and(isfinite(value), greater(value, 0.0))


class ExtendedReal(Constraint):
    """Real numbers and both infinities, not below a bound, which belongs to the set or not."""

    lower: Bound = -math.inf
    lower_included: bool = True

    @property
    def rule(self) -> str:
        if is_infinite(self.lower):
            return "a number or infinite"
        return f"a number {'>=' if self.lower_included else '>'} {_text(self.lower)}, or infinite"

    def holds(self, value: Node) -> Node:
        if is_infinite(self.lower):
            return equal(value, value)
        return (greater_equal if self.lower_included else greater)(value, _bound(self.lower))

    def bind(self, parameters: Mapping[str, Node]) -> ExtendedReal:
        return ExtendedReal(_named(self.lower, parameters), self.lower_included)


class IntervalConstraint(Constraint):
    """Real numbers between two bounds; each end belongs to the set or not. Infinity never does."""

    lower: Bound = -math.inf
    upper: Bound = math.inf
    lower_included: bool = True
    upper_included: bool = True

    @property
    def rule(self) -> str:
        parts = []
        if not is_infinite(self.lower):
            parts.append(f"{'>=' if self.lower_included else '>'} {_text(self.lower)}")
        if not is_infinite(self.upper):
            parts.append(f"{'<=' if self.upper_included else '<'} {_text(self.upper)}")
        return " and ".join(parts) or "a finite number"

    def holds(self, value: Node) -> Node:
        inside = self.admits(value)
        bounded = not is_infinite(self.lower) and not is_infinite(self.upper)
        return inside if bounded else logical_and(inside, isfinite(value))

    def admits(self, value: Node) -> Node:
        conditions = []
        if not is_infinite(self.lower):
            compare = greater_equal if self.lower_included else greater
            conditions.append(compare(value, _bound(self.lower)))
        if not is_infinite(self.upper):
            compare = less_equal if self.upper_included else less
            conditions.append(compare(value, _bound(self.upper)))
        return _all_of(conditions) if conditions else isfinite(value)

    def contains_all(self, value: Node) -> bool:
        if self != IntervalConstraint(0.0, 1.0) or not isinstance(value.op, Index):
            return False
        whole = value.inputs[0]
        return isinstance(whole.op, Softmax) and not whole.op.logarithm

    def settled(self, value: Node) -> Node:
        if self.upper != 1.0 or not self.upper_included or constant_value(value) is not None:
            return value
        element = element_of_softmax(value)
        if element is not None:
            return element
        # A probability that was computed, such as a quotient.
        rounded = logical_and(greater(value, 1.0), less_equal(value, 1.0 + ROUNDING))
        return where(rounded, 1.0, value)

    def bind(self, parameters: Mapping[str, Node]) -> IntervalConstraint:
        if not isinstance(self.lower, str) and not isinstance(self.upper, str):
            return self
        lower, upper = _named(self.lower, parameters), _named(self.upper, parameters)
        return IntervalConstraint(lower, upper, self.lower_included, self.upper_included)


class Whole(Constraint):
    """Whole numbers from `lower` to `upper`, both included."""

    discrete: ClassVar[bool] = True
    lower: Bound = -math.inf
    upper: Bound = math.inf

    @property
    def rule(self) -> str:
        bounds = IntervalConstraint(self.lower, self.upper)
        return "a whole number" if bounds == IntervalConstraint() else f"a whole number {bounds.rule}"

    def holds(self, value: Node) -> Node:
        if value.dtype in INTEGERS and is_infinite(self.lower) and is_infinite(self.upper):
            return equal(value, value)
        inside = IntervalConstraint(self.lower, self.upper).admits(value)
        if value.dtype in (*INTEGERS, "bool"):
            return inside
        return logical_and(logical_and(inside, isfinite(value)), equal(value, floor(value)))

    def admits(self, value: Node) -> Node:
        return self.holds(value)

    def bind(self, parameters: Mapping[str, Node]) -> Whole:
        if not isinstance(self.lower, str) and not isinstance(self.upper, str):
            return self
        return Whole(_named(self.lower, parameters), _named(self.upper, parameters))


class NumberOfAnyKind(Real):
    """All real numbers, where whole numbers keep their dtype."""

    discrete: ClassVar[bool] = True


class Single(Constraint):
    """One number."""

    discrete: ClassVar[bool] = True
    number: Bound

    @property
    def rule(self) -> str:
        return f"equal to {_text(self.number)}"

    def holds(self, value: Node) -> Node:
        return equal(value, _bound(self.number))

    def bind(self, parameters: Mapping[str, Node]) -> Single:
        return Single(_named(self.number, parameters))


real: Final = Real()
positive: Final = IntervalConstraint(0.0, lower_included=False)
integer: Final = Whole(-math.inf)


class Each(Constraint):
    """Vectors, or arrays of another rank, of numbers that each lie in one set, `element`."""

    event_rank: ClassVar[int] = 1
    element: ClassVar[Constraint]

    def holds(self, value: Node) -> Node:
        return reduce("all", self.element.holds(value), tuple(range(-self.event_rank, 0)))

    def admits(self, value: Node) -> Node:
        return reduce("all", self.element.admits(value), tuple(range(-self.event_rank, 0)))


class RealVector(Each):
    """Vectors of real numbers."""

    element: ClassVar[Constraint] = real
    rule = "finite numbers"


class WholeVector(Each):
    """Vectors of whole numbers."""

    discrete: ClassVar[bool] = True
    element: ClassVar[Constraint] = integer
    rule = "whole numbers"


class PositiveVector(Each):
    """Vectors of positive numbers."""

    element: ClassVar[Constraint] = positive
    rule = "> 0"


class RealMatrix(RealVector):
    """Matrices of real numbers."""

    event_rank: ClassVar[int] = 2


class MatrixWithGaps(RealMatrix):
    """Matrices of real numbers, some of which may be missing (NaN)."""

    rule = "finite numbers, or NaN where they are missing"

    def holds(self, value: Node) -> Node:
        return reduce("all", logical_or(isfinite(value), isnan(value)), (-2, -1))

    def admits(self, value: Node) -> Node:
        return self.holds(value)


class NonnegativeVector(Constraint):
    """Vectors of numbers >= 0, not all 0."""

    event_rank: ClassVar[int] = 1

    rule = "numbers >= 0, not all 0"

    def holds(self, value: Node) -> Node:
        return logical_and(reduce("all", nonnegative.holds(value), -1), reduce("any", greater(value, 0.0), -1))


class CircleConstraint(IntervalConstraint):
    """Angles in radians from -pi to pi, whose ends are one point."""

    lower: Bound = -math.pi
    upper: Bound = math.pi


class UnitVectorConstraint(Constraint):
    """Vectors of length 1."""

    event_rank: ClassVar[int] = 1

    rule = "numbers whose squares sum to 1"

    def holds(self, value: Node) -> Node:
        return less_equal(absolute(reduce("sum", square(value), -1) - 1.0), SUM_TOLERANCE)


class ZeroSumConstraint(Constraint):
    """Arrays that sum to zero along each of their last `axes` axes."""

    axes: int = 1

    @property
    def event_rank(self) -> int:  # type: ignore[override]  # a class variable elsewhere; here each set has its own
        """Number of axes of one event."""
        return self.axes

    @property
    def rule(self) -> str:
        return "numbers that sum to 0" + ("" if self.axes == 1 else f" along each of the last {self.axes} axes")

    def holds(self, value: Node) -> Node:
        # Sums are compared with the numbers that enter them.
        conditions = []
        for axis in range(-self.axes, 0):
            total, size = reduce("sum", value, axis), reduce("sum", absolute(value), axis)
            close = less_equal(absolute(total), SUM_TOLERANCE * size)
            conditions.append(reduce("all", close, tuple(range(1 - self.axes, 0))) if self.axes > 1 else close)
        return _all_of(conditions)


class Counts(Constraint):
    """Vectors of whole numbers >= 0 with a given sum, or with any for None."""

    event_rank: ClassVar[int] = 1
    discrete: ClassVar[bool] = True
    total: Bound | None

    @property
    def rule(self) -> str:
        return "whole numbers >= 0" if self.total is None else f"whole numbers >= 0 that sum to {_text(self.total)}"

    def holds(self, value: Node) -> Node:
        whole = reduce("all", natural.holds(value), -1)
        if self.total is None:
            return whole
        return logical_and(whole, equal(reduce("sum", value, -1), _bound(self.total)))

    def bind(self, parameters: Mapping[str, Node]) -> Counts:
        return self if self.total is None else Counts(_named(self.total, parameters))


class OrderedConstraint(Constraint):
    """Vectors whose elements increase."""

    event_rank: ClassVar[int] = 1

    rule = "increasing"

    def holds(self, value: Node) -> Node:
        steps = reduce("all", greater(value[..., 1:], value[..., :-1]), -1)
        return logical_and(steps, reduce("all", isfinite(value), -1))


class SimplexConstraint(Constraint):
    """Vectors of numbers >= 0 that sum to 1."""

    event_rank: ClassVar[int] = 1

    rule = "numbers >= 0 that sum to 1"

    def holds(self, value: Node) -> Node:
        total = reduce("sum", value, -1)
        not_negative = reduce("all", greater_equal(value, 0.0), -1)
        return logical_and(not_negative, less_equal(absolute(total - 1.0), SUM_TOLERANCE))

    def contains_all(self, value: Node) -> bool:
        while _keeps_last_axis(value):
            value = value.inputs[0]
        return isinstance(value.op, Softmax) and not value.op.logarithm and value.op.axes == (value.ndim - 1,)

    def settled(self, value: Node) -> Node:
        if not _keeps_last_axis(value):
            return written_softmax(value)
        inner = self.settled(value.inputs[0])
        return value if inner is value.inputs[0] else Node(value.op, inner, *value.inputs[1:])


def _keeps_last_axis(value: Node) -> bool:
    return (isinstance(value.op, ExpandDims) and value.op.axes[-1] < value.ndim - 1) or (
        isinstance(value.op, Index) and value.op.specification[-1] == FULL
    )


class PositiveDefinite(Constraint):
    """Symmetric positive definite matrices.

    `holds` asks for symmetry and a positive diagonal; a matrix that passes and still has no Cholesky factor
    makes the computation fail with a status.
    """

    event_rank: ClassVar[int] = 2

    rule = "symmetric and positive definite"

    def holds(self, value: Node) -> Node:
        return logical_and(self.admits(value), self._symmetric(value))

    def admits(self, value: Node) -> Node:
        return reduce("all", greater(diagonal(value), 0.0), -1)

    def _symmetric(self, value: Node) -> Node:
        entries = absolute(value)
        size = broadcast_to(reduce("max", entries, (-2, -1), keepdims=True), value.static_shape)
        distance = absolute(value - matrix_transpose(value))
        return reduce("all", less_equal(distance, SYMMETRY_TOLERANCE * size), (-2, -1))

    def refusal(self, value: npt.NDArray[np.generic]) -> str | None:
        least = np.linalg.eigvalsh(np.asarray(value, "float64"))[..., 0]
        if value.size and not bool(np.all(least > 0.0)):
            return f"its least eigenvalue is {float(np.min(least)):.6g}"
        return None


class PositiveSemidefinite(PositiveDefinite):
    """Symmetric matrices without eigenvalues below 0, but by rounding: covariances, also of what lies in a plane."""

    rule = "symmetric and positive semidefinite"

    def admits(self, value: Node) -> Node:
        return reduce("all", greater_equal(diagonal(value), 0.0), -1)

    def refusal(self, value: npt.NDArray[np.generic]) -> str | None:
        values = np.linalg.eigvalsh(np.asarray(value, "float64"))
        if value.size and bool(np.any(values[..., 0] < -SYMMETRY_TOLERANCE * np.abs(values[..., -1]))):
            return f"its least eigenvalue is {float(np.min(values)):.6g}"
        return None


class CholeskyFactor(Constraint):
    """Lower triangular matrices with a positive diagonal; only in constants is seen what stands above it."""

    event_rank: ClassVar[int] = 2

    rule = "lower triangular with a positive diagonal"

    def holds(self, value: Node) -> Node:
        return reduce("all", positive.holds(diagonal(value)), -1)

    def refusal(self, value: npt.NDArray[np.generic]) -> str | None:
        if np.triu(np.asarray(value, "float64"), 1).any():
            return "there are numbers above the diagonal (`lower=False` takes an upper triangular factor)"
        return None


def is_infinite(bound: object) -> bool:
    """Whether a bound is a known infinity."""
    return isinstance(bound, float) and math.isinf(bound)


def _text(bound: Bound) -> str:
    if isinstance(bound, str):
        return bound
    if isinstance(bound, Node):
        known = constant_value(bound)
        if known is None or known.size != 1:
            return bound.name or "its bound"
        bound = float(known.item())
    return f"{bound:g}"


def _bound(bound: Bound) -> float | Node:
    if isinstance(bound, str):
        raise TypeError(f"the bound `{bound}` names a parameter; bind the constraint first.")
    return bound


def _named(bound: Bound, parameters: Mapping[str, Node]) -> Bound:
    return parameters[bound] if isinstance(bound, str) else bound


def _all_of(conditions: list[Node]) -> Node:
    result = conditions[0]
    for condition in conditions[1:]:
        result = logical_and(result, condition)
    return result


def above(bound: Bound) -> IntervalConstraint:
    """Numbers greater than a bound."""
    return IntervalConstraint(bound, lower_included=False)


def interval(lower: Bound, upper: Bound) -> IntervalConstraint:
    """Numbers between two bounds, both included."""
    return IntervalConstraint(lower, upper)


def whole_numbers(lower: Bound, upper: Bound = math.inf) -> Whole:
    """Whole numbers between two bounds, both included."""
    return Whole(lower, upper)


extended_real: Final = ExtendedReal()
nonnegative: Final = IntervalConstraint(0.0)
unit_interval: Final = IntervalConstraint(0.0, 1.0)
open_unit_interval: Final = IntervalConstraint(0.0, 1.0, False, False)
positive_probability: Final = IntervalConstraint(0.0, 1.0, lower_included=False)
natural: Final = Whole(0.0)
binary: Final = Whole(0.0, 1.0)
circle: Final = CircleConstraint()
unit_vector: Final = UnitVectorConstraint()
real_vector: Final = RealVector()
real_matrix: Final = RealMatrix()
matrix_with_gaps: Final = MatrixWithGaps()
whole_vector: Final = WholeVector()
positive_vector: Final = PositiveVector()
nonnegative_vector: Final = NonnegativeVector()
ordered: Final = OrderedConstraint()
simplex: Final = SimplexConstraint()
positive_definite: Final = PositiveDefinite()
positive_semidefinite: Final = PositiveSemidefinite()
cholesky_factor: Final = CholeskyFactor()
