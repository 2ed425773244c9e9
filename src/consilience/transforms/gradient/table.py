"""The table of pullbacks: what each op does to a cotangent, and which ops have no derivative and why.

The files beside this one fill the table by op family; `engine` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from consilience.errors import MissingRuleError
from consilience.first_use import RowsByFamily
from consilience.ir import Node, Op
from consilience.ops.formulas import FORMULAS
from consilience.ops.scalar import TABLE, Column

# One cotangent per input; None where the result does not depend on the input, or is flat in it.
Cotangents: TypeAlias = Sequence[Node | None]
# (node, cotangent of its result, which inputs are asked for) -> cotangents of the inputs. The cotangent
# of an op with several results is a tuple with one entry per result, None where nothing reads it.
Pullback: TypeAlias = Callable[[Node, Any, Sequence[bool]], Cotangents]
# (node, cotangent of its result, position of the input) -> cotangent of that input.
Partial: TypeAlias = Callable[[Node, Node, int], Node | None]

_OPS: Final = "consilience.ops"
_FAMILIES: Final = {
    "call": "call python_call",
    "collective": "collective",
    "control": "control",
    "factorisations": "factorisations",
    "fourier": "correlation fourier",
    "index": "index",
    "linalg": "linalg",
    "matrix_equations": "matrix_equations matrix_functions",
    "order": "order",
    "reduce": "reduce",
    "scalar": "assertion elementwise parameter_check",
    "scan": "loop",
    "shape": "random shape",
    "sparse": "sparse.factorisation sparse.products",
    "special_functions": "elementwise",
    "state_space": "state_space",
    "structured": "structured",
}
PULLBACKS: Final = RowsByFamily[Pullback](__package__, _OPS, _FAMILIES)
SCALAR_PULLBACKS: Final = Column[Partial]("derivative")
NO_DERIVATIVE: Final = RowsByFamily[str](__package__, _OPS, _FAMILIES)  # scalar functions by name

_F = TypeVar("_F", bound=Pullback)
_G = TypeVar("_G", bound=Partial)


def pullback_of(op: type[Op]) -> Callable[[_F], _F]:
    """Enter a row that gives the cotangents of all inputs at once."""

    def enter(row: _F) -> _F:
        PULLBACKS[op] = row
        return row

    return enter


def partial_of(op: type[Op]) -> Callable[[_G], _G]:
    """Enter a row that gives the cotangent of one input; only those asked for are built."""

    def enter(row: _G) -> _G:
        def every(node: Node, cotangent: Node, wanted: Sequence[bool]) -> Cotangents:
            return [row(node, cotangent, i) if asked else None for i, asked in enumerate(wanted)]

        PULLBACKS[op] = every
        return row

    return enter


def no_derivative(op: type[Op] | str, reason: str) -> None:
    """Declare that the derivative is zero or meaningless, and why."""
    NO_DERIVATIVE[op] = reason


def pullback_row(node: Node) -> Pullback | None:
    """The row for a node; None where the table declares that there is no derivative."""
    op = type(node.op)
    row: Pullback | None = PULLBACKS.get(op)
    if row is not None:
        return row
    if op in NO_DERIVATIVE:
        return None
    raise MissingRuleError(
        f"the gradient table has no row for `{op.__name__}`; add one in `consilience.transforms.gradient`, "
        "or keep the derivative from passing with `StopGradient`."
    )


def missing() -> list[str]:
    """Ops and scalar functions that have neither a pullback, a formula, nor a declared reason for having none."""
    PULLBACKS.read()
    ops = [
        name
        for name, op in Op.classes.items()
        if op.__module__.startswith("consilience.ops.") and not name.startswith("_")
        if op not in PULLBACKS and op not in NO_DERIVATIVE
    ]
    functions = TABLE.keys() - SCALAR_PULLBACKS.keys() - FORMULAS.keys() - NO_DERIVATIVE.keys()
    return sorted(ops) + sorted(functions)
