"""Machine code against NumPy, value by value: the first value that differs beyond rounding, named with the user's line.

A graph and values of its leaves in, DebugModeError out. Every value is compiled as an output, and NumPy computes it
from the operands that machine code found, so that a difference belongs to the op that is named. Inner graphs of an op
that differs are compared in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends import reference
from consilience.backends.printing.infix import term
from consilience.backends.registry import backend
from consilience.backends.shapes import Lengths
from consilience.errors import DebugModeError
from consilience.ir import Constant, Node, Parameter, TensorType, is_leaf, topological
from consilience.ir.region import regions_of
from consilience.ir.side_tables import describe
from consilience.ops import Elementwise, Item
from consilience.ops.factorisations import (
    LDL,
    LU,
    QR,
    SVD,
    Eig,
    Eigh,
    Eigvals,
    Householder,
    LeastSquares,
    PseudoInverse,
)
from consilience.ops.linalg import Cholesky, Det, Inverse, InverseQuadratic, LogAbsDet, Solve, SolveTriangular

Array = npt.NDArray[Any]
# Differences up to so much of a value and of what it is made of are rounding.
ROUNDING: Final = {2: 2e-2, 4: 1e-4, 8: 1e-8, 16: 1e-8}
# Errors of these grow with the condition of the matrix.
CONDITIONED: Final = (
    Cholesky, Det, Inverse, InverseQuadratic, LogAbsDet, Solve, SolveTriangular,
    LDL, LU, QR, SVD, Eig, Eigh, Eigvals, Householder, LeastSquares, PseudoInverse,
)  # fmt: skip
CONDITION: Final = 1e4
# Runs of an inner graph that are looked at.
INNER_RUNS: Final = 100


def compare(
    name: str, outputs: Sequence[Node], results: Sequence[Array], leaves: Mapping[Node, Array], lengths: Lengths
) -> None:
    """Raise DebugModeError for the first value that differs.

    `name`: of the function, for the message. `results`: values of the outputs, as the function found them. `leaves`:
    values of all inputs and shared variables.
    """
    found = _first_difference(outputs, leaves, lengths)
    if found is not None:
        raise DebugModeError(f"`{name}`: machine code and NumPy differ in {found}")
    wanted = reference.evaluate(outputs, leaves, lengths)
    for position, (output, one, other) in enumerate(zip(outputs, results, wanted, strict=True)):
        if one.shape != other.shape or _differs(output, one, other, [other], CONDITION) is not None:
            raise DebugModeError(
                f"`{name}`: result {position}, {describe(output)}, is {_listed(one)} and by NumPy {_listed(other)}, "
                "while every op by itself agrees: the loops that were made of them differ."
            )


def _first_difference(outputs: Sequence[Node], leaves: Mapping[Node, Array], lengths: Lengths) -> str | None:
    """The first op, in the order of computation, whose value differs from NumPy's for the same operands, in words."""
    order = [n for n in topological(outputs) if not is_leaf(n) and not isinstance(n.op, Constant)]
    nodes = [n for n in order if isinstance(n.type, TensorType)]
    given = list(leaves)
    values = dict(leaves)
    arrays = [leaves[leaf] for leaf in given]
    values |= zip(nodes, backend("llvm")(given, nodes, lengths).bind()(arrays), strict=True)
    for node in nodes:
        operands = {operand: values[operand] for operand in _operands(node) if operand in values}
        (wanted,) = reference.evaluate([node], {**leaves, **operands}, lengths)
        place = _differs(node, values[node], wanted, list(operands.values()))
        if place is not None:
            inner = _inside(node, {**leaves, **operands}, lengths)
            if inner is not None:
                return inner
            at = f" at {place}" if place else ""
            shown = [f"\n  {term(o, 2)} = {_listed(v)}" for o, v in operands.items()]
            return (
                f"{term(node)}, {describe(node)}:\n  machine code finds {values[node][place]!s}{at}, NumPy "
                f"{np.asarray(wanted)[place]!s}, for{''.join(shown)}"
            )
    return None


def _operands(node: Node) -> Iterator[Node]:
    """The tensors that a value is computed of; those of a tuple for a member of it."""
    for operand in node.inputs:
        if isinstance(operand.type, TensorType):
            yield operand
        else:
            yield from _operands(operand)


def _inside(node: Node, values: Mapping[Node, Array], lengths: Lengths) -> str | None:
    """The first difference inside an inner graph of the op, or of the tuple of which the node is a member."""
    if not any(regions_of(n.op) for n in (node, *node.inputs)):
        return None
    runs: list[tuple[tuple[Node, ...], dict[Node, Array]]] = []

    def keep(outputs: Sequence[Node], inner: Mapping[Node, Any]) -> None:
        parameters = {n: np.asarray(v) for n, v in inner.items() if isinstance(n.op, Parameter)}
        if parameters and len(runs) < INNER_RUNS:
            runs.append((tuple(outputs), parameters))

    with reference.observed(keep):
        reference.evaluate([node], values, lengths)
    for number, (outputs, parameters) in enumerate(runs):
        found = _first_difference(outputs, parameters, lengths)
        if found is not None:
            return f"run {number + 1} of the inner graphs of {term(node, 2)}: {found}"
    return None


def _differs(
    node: Node, one: Array, other: Array, operands: Sequence[Array], slack: float = 1.0
) -> tuple[int, ...] | None:
    """Where two values of a node differ beyond rounding; None if nowhere."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return ()
    if one.dtype.kind not in "fc":
        wrong = one != other
    else:
        rounding = ROUNDING[other.real.dtype.itemsize] * slack
        op = node.inputs[0].op if isinstance(node.op, Item) else node.op
        if isinstance(op, CONDITIONED):
            rounding *= CONDITION
        scale = _size(other) if isinstance(op, CONDITIONED) else max(map(_size, operands), default=0.0)
        if not isinstance(node.op, Elementwise):  # sums of many terms
            scale *= max(1, max((o.size for o in map(np.asarray, operands)), default=1))
        with np.errstate(all="ignore"):
            close = np.abs(one - other) <= rounding * (np.abs(other) + scale)
        wrong = ~(close | (one == other) | (np.isnan(one) & np.isnan(other)))
    return tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.any() else None


def _size(array: Array) -> float:
    """The largest finite number of an array."""
    array = np.asarray(array)
    if array.dtype.kind not in "fciu" or not array.size:
        return 0.0
    sizes = np.abs(array.astype("complex128" if array.dtype.kind == "c" else "float64"))
    finite = sizes[np.isfinite(sizes)]
    return float(finite.max()) if finite.size else 0.0


def _listed(array: Array) -> str:
    with np.printoptions(threshold=6, edgeitems=2, precision=8):
        return " ".join(str(np.asarray(array)).split())
