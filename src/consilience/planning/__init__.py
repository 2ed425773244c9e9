"""The compiler's choice among equal programs: a quick look whether there is anything to choose, then a plan.

Static outputs in, equal outputs that are predicted to be no dearer out. What plans is loaded when the look says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, ParamSpec, TypeAlias, TypeVar

from consilience.analysis.operations import arithmetic
from consilience.ir import Constant, Node, TensorType, is_leaf, topological
from consilience.ops import (
    ArgReduce,
    ArgSort,
    Cholesky,
    Concatenate,
    Cumulative,
    Det,
    DetSign,
    Elementwise,
    Index,
    Inverse,
    InverseQuadratic,
    LogAbsDet,
    MatMul,
    Reduce,
    SearchSorted,
    Softmax,
    Solve,
    SolveTriangular,
    Sort,
)

if TYPE_CHECKING:
    from consilience.planning.alternatives import Alternatives

# A choice for tests: numbers of members by number of class.
Forced: TypeAlias = "Callable[[Alternatives], dict[int, int]]"
# Whether programs are planned; a number of bytes that plans may hold; a function in its place chooses as it likes.
choosing: ContextVar[bool | int | Forced] = ContextVar("choosing", default=True)

# Multiplications from which on a plan can repay its making: in all, and of values that count. An element that is
# gathered counts as ten, one that a known mask chooses as thirty.
WORTHWHILE: Final = 500_000
COUNTS: Final = 20_000
_READ: Final = (ArgReduce, ArgSort, Concatenate, Cumulative, Elementwise, MatMul, Reduce, SearchSorted, Softmax, Sort)
_MULTIPLYING: Final = frozenset(
    (MatMul, Cholesky, Det, DetSign, Inverse, LogAbsDet, Solve, SolveTriangular, InverseQuadratic)
)


def planned(outputs: Sequence[Node], data: Sequence[Node] = (), choice: bool | int | Forced = True) -> list[Node]:
    """The outputs in the form that is predicted to be cheapest; the given one where there is little to gain.

    `data`: leaves that are bound before calls: what depends on them alone costs nothing. `choice`: False: as written; a
    number: bytes that the plan holds at most.
    """
    if choice is False or (choice is True and not worthwhile(outputs)):
        return list(outputs)
    from consilience.planning.choice import plan

    return list(plan(outputs, data, choice).outputs)


def before_slopes(outputs: Sequence[Node], wanted: Sequence[Node] = ()) -> list[Node]:
    """The outputs in the form that derivatives are to be taken of: dear products of matrices in the best order.

    Slopes take a few times as long as the value that they are derived from. Of `(A @ B) @ v` they multiply matrices,
    and no rule finds from there what those of `A @ (B @ v)` are.

    `wanted`: what stays as it is: nothing is planned where a value within is wanted.
    """
    if choosing.get() is not True or not all(map(is_leaf, wanted)):
        return list(outputs)
    products = [n for n in topological(outputs) if isinstance(n.op, MatMul)]
    if all(arithmetic(n, 0.0) / 2 < COUNTS for n in products) or not worthwhile(outputs):
        return list(outputs)
    from consilience.planning.choice import planned_products

    return planned_products(outputs)


Compiled = TypeVar("Compiled")
Arguments = ParamSpec("Arguments")


def as_chosen(compile: Callable[Arguments, Compiled], choice: bool | int) -> Callable[Arguments, Compiled]:
    """A backend's `compile` that plans nothing (False), or plans within so many bytes."""
    if choice is True:
        return compile

    def compiled(*arguments: Arguments.args, **settings: Arguments.kwargs) -> Compiled:
        before = choosing.set(choice)
        try:
            return compile(*arguments, **settings)
        finally:
            choosing.reset(before)

    return compiled


def worthwhile(outputs: Sequence[Node]) -> bool:
    """Whether a plan can repay its making."""
    return _effort(outputs) >= WORTHWHILE


def _effort(outputs: Sequence[Node]) -> float:
    """Multiplications of products and factorisations, and ten for each element that is gathered in large numbers."""
    total = 0.0
    for node in topological(outputs):
        kind = node.op.__class__
        effort = 0.0
        if kind in _MULTIPLYING:
            effort = arithmetic(node, 0.0) / 2
        elif kind is Index:
            read = node.inputs[0]
            while isinstance(read.op, Index):  # of lengths that were not known to the rules
                read = read.inputs[0]
            made = read.inputs[0] if isinstance(read.op, Reduce) else read
            source = _size(made) if isinstance(read.op, _READ) else 0.0
            if len(node.inputs) > 1 or source > 2.0 * _size(node):
                effort = 10.0 * max(_size(node), source)
        elif (
            isinstance(node.op, Elementwise) and node.op.function == "where" and isinstance(node.inputs[0].op, Constant)
        ):
            effort = 30.0 * _size(node)
        if effort >= COUNTS:
            total += effort
    return total


def _size(node: Node) -> float:
    if not isinstance(node.type, TensorType):
        return 0.0
    shape = node.type.shape
    return float(math.prod(n for n in shape if isinstance(n, int))) if all(isinstance(n, int) for n in shape) else 0.0
