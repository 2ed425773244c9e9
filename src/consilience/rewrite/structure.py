"""What is known of matrices and index vectors as a whole: triangular, positive definite, unique, …

A node and the name of a structure in, True or False (not known) out. The search looks a few ops deep,
so that its cost does not grow with the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.ir import Constant, Node, Op, TensorType, constant_value
from consilience.ops import (
    AlteredGradient,
    Assume,
    BroadcastTo,
    Cast,
    Cholesky,
    Elementwise,
    ExpandDims,
    Inverse,
    Iota,
    Item,
    MaskPositions,
    MatMul,
    Require,
    Squeeze,
    StopGradient,
    Transpose,
)
from consilience.ops.factorisations import QR, SVD, Eigh, Schur
from consilience.ops.index import FULL, Index, NewAxis
from consilience.ops.scalar import DRAWS, TABLE
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker

MATRIX = (
    "lower", "upper", "diagonal", "symmetric", "positive_definite", "positive_semidefinite", "positive_diagonal",
    "orthogonal",
)  # fmt: skip
VECTOR = ("unique", "increasing")
STRUCTURES = (*MATRIX, *VECTOR)
DEPTH = 8
DEEP = 24  # where a search is made once

# Every row: sets of properties any of which is enough.
_SUFFICIENT: dict[str, tuple[tuple[str, ...], ...]] = {
    "lower": (("lower",), ("diagonal",)),
    "upper": (("upper",), ("diagonal",)),
    "diagonal": (("diagonal",), ("lower", "upper")),
    "symmetric": (
        ("symmetric",),
        ("positive_definite",),
        ("positive_semidefinite",),
        ("diagonal",),
        ("lower", "upper"),
    ),
    "positive_definite": (
        ("positive_definite",),
        ("diagonal", "positive_diagonal"),
        ("lower", "upper", "positive_diagonal"),
    ),
    "positive_semidefinite": (("positive_semidefinite",), ("positive_definite",), ("diagonal", "positive_diagonal")),
    "positive_diagonal": (("positive_diagonal",), ("positive_definite",)),
    "orthogonal": (("orthogonal",),),
    "unique": (("unique",), ("increasing",)),
    "increasing": (("increasing",),),
}
_MIRRORED = {"lower": "upper", "upper": "lower"}

# Factors that are orthogonal where they are square, by their places.
_ORTHOGONAL: dict[type[Op], tuple[int, ...]] = {QR: (0,), SVD: (0, 2), Eigh: (1,), Schur: (1,)}

Asserted = Callable[[Node], frozenset[str]]
Sign = Callable[[Node], bool | None]


def has_structure(
    x: Node,
    name: str,
    memo: dict[tuple[Node, str], float],
    asserted: Asserted,
    positive: Sign,
    depth: int = DEPTH,
) -> bool:
    """Whether x is known to have a structure; `asserted` and `positive` answer about what lies beneath.

    The memo has infinity for what was found, else the depth to which it was looked for.
    """
    if depth == 0 or not isinstance(x.type, TensorType):
        return False
    known = memo.get((x, name), 0)
    if known >= depth:
        return known == math.inf

    def holds(node: Node, wanted: str) -> bool:
        return has_structure(node, wanted, memo, asserted, positive, depth - 1)

    def itself(wanted: str) -> bool:
        if wanted in asserted(x):
            return True
        return _matrix(x, wanted, holds, positive) if wanted in MATRIX else _vector(x, wanted, holds)

    found = any(all(map(itself, properties)) for properties in _SUFFICIENT[name])
    memo[x, name] = math.inf if found else depth
    return found


def assumed_structures(x: Node) -> frozenset[str]:
    """What is said of x by who wrote it."""
    facts = x.op.facts if isinstance(x.op, Assume) else ()
    return frozenset(name for name, _ in facts if name in STRUCTURES)


def is_symmetric(x: Node) -> bool:
    """Whether x is symmetric whatever it is made of, as far as that is seen without signs of numbers."""

    return has_structure(x, "symmetric", {}, assumed_structures, lambda node: None, DEEP)


def _matrix(x: Node, name: str, holds: Callable[[Node, str], bool], positive: Sign) -> bool:
    op = x.op
    if x.ndim < 2:
        return False
    if isinstance(op, Constant):
        return _constant_matrix(op.array, name)
    if isinstance(op, Cholesky):
        return name in ("lower", "positive_diagonal")
    if isinstance(op, Item):
        return name == "orthogonal" and is_square(x) and op.position in _ORTHOGONAL.get(type(x.inputs[0].op), ())
    if isinstance(op, DiagonalMatrix):
        return name in ("lower", "upper", "diagonal", "symmetric") or (
            name == "positive_diagonal" and positive(x.inputs[0]) is True
        )
    if isinstance(op, Kronecker | BlockDiagonal):
        return all(is_square(i) and holds(i, name) for i in x.inputs)
    if isinstance(op, Inverse):
        return holds(x.inputs[0], name) and (name != "positive_diagonal" or _triangular(x.inputs[0], holds))
    if isinstance(op, Transpose):
        rank = x.ndim
        if op.axes != (*range(rank - 2), rank - 1, rank - 2):
            return False
        return holds(x.inputs[0], _MIRRORED.get(name, name))
    if isinstance(op, AlteredGradient | Assume | Require | StopGradient):
        return holds(x.inputs[0], name)
    if isinstance(op, BroadcastTo):
        inner = x.inputs[0]
        return inner.ndim >= 2 and inner.static_shape[-2:] == x.static_shape[-2:] and holds(inner, name)
    if isinstance(op, ExpandDims):
        return all(a < x.ndim - 2 for a in op.axes) and holds(x.inputs[0], name)
    if isinstance(op, Squeeze):
        inner = x.inputs[0]
        return all(a < inner.ndim - 2 for a in op.axes) and holds(inner, name)
    if isinstance(op, Cast):
        return is_identity(x) or holds(x.inputs[0], name)
    if isinstance(op, MatMul):
        return _product(x, name, holds, positive)
    if isinstance(op, Elementwise):
        return _elementwise(x, op.function, name, holds, positive)
    return False


def is_square(x: Node) -> bool:
    """Whether a matrix is known to have as many rows as columns."""
    rows, columns = x.static_shape[-2:]
    return rows is columns or rows == columns


def _triangular(x: Node, holds: Callable[[Node, str], bool]) -> bool:
    return holds(x, "lower") or holds(x, "upper")


def is_identity(x: Node) -> bool:
    """The form `eye` builds: row index equals column index."""
    if not isinstance(x.op, Cast):
        return False
    inner = x.inputs[0]
    if not (isinstance(inner.op, Elementwise) and inner.op.function == "eq"):
        return False
    places: set[tuple[int, ...]] = set()
    for operand in inner.inputs:
        axes: tuple[int, ...] = (0,)  # a vector stands along the last axis
        if isinstance(operand.op, ExpandDims):
            axes, operand = operand.op.axes, operand.inputs[0]
        if not isinstance(operand.op, Iota):
            return False
        places.add(axes)
    return places == {(0,), (1,)}


def _product(x: Node, name: str, holds: Callable[[Node, str], bool], positive: Sign) -> bool:
    a, b = x.inputs
    if a.ndim < 2 or b.ndim < 2:
        return False
    if name in ("lower", "upper", "diagonal", "orthogonal"):
        return holds(a, name) and holds(b, name) and is_square(a)
    if name == "positive_diagonal":
        return holds(a, name) and holds(b, name) and any(holds(a, t) and holds(b, t) for t in ("lower", "upper"))
    if name in ("symmetric", "positive_definite", "positive_semidefinite"):
        if mirrored(a, b):
            definite = name == "positive_definite"
            return not definite or (_triangular(a, holds) and holds(a, "positive_diagonal"))
        if name == "positive_definite":
            return False
        # B C B' and, for a vector c of numbers, (B c) B'.
        if isinstance(a.op, MatMul) and a.inputs[0].ndim >= 2 and mirrored(a.inputs[0], b):
            return holds(a.inputs[1], name)
        if isinstance(b.op, MatMul) and b.inputs[1].ndim >= 2 and mirrored(a, b.inputs[1]):
            return holds(b.inputs[0], name)
        return _weighted(a, b, name, positive)
    return False


def _weighted(a: Node, b: Node, name: str, positive: Sign) -> bool:
    """Whether a is B c and b is B' for one positive number c per column of B."""
    weights = weights_between(a, b)
    return weights is not None and (name == "symmetric" or all(positive(i) is True for i in weights))


def weights_between(a: Node, b: Node) -> list[Node] | None:
    """Factors c, one number per column of B, where a is B c and b is B'; None where they are not that."""
    if mirrored(a, b):
        return []
    if not (isinstance(a.op, Elementwise) and a.op.function == "mul"):
        return None
    whole = [i for i in a.inputs if i.ndim >= 2 and i.static_shape[-2] != 1]
    weights = [i for i in a.inputs if i.ndim < 2 or i.static_shape[-2] == 1]
    return weights if len(whole) == 1 and mirrored(whole[0], b) else None


def mirrored(a: Node, b: Node) -> bool:
    """Whether one of two matrices is the other with the last two axes exchanged."""
    return any(
        isinstance(y.op, Transpose) and y.inputs[0] is x and y.op.axes == (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
        for x, y in ((a, b), (b, a))
    )


def _elementwise(x: Node, function: str, name: str, holds: Callable[[Node, str], bool], positive: Sign) -> bool:
    if function == "mul" and name in ("symmetric", "positive_semidefinite") and _square_of_vector(x, positive):
        return True
    if name == "orthogonal":
        return function == "neg" and holds(x.inputs[0], name)
    full = [i for i in x.inputs if i.ndim >= 2 and i.static_shape[-2:] == x.static_shape[-2:]]
    scalars = [i for i in x.inputs if all(n == 1 for n in i.static_shape[-2:])]
    if function in ("add", "sub") and len(full) == len(x.inputs):
        if function == "sub" and name in ("positive_definite", "positive_semidefinite", "positive_diagonal"):
            return False
        if name == "positive_definite":
            return all(holds(i, "positive_semidefinite") for i in full) and any(holds(i, name) for i in full)
        return all(holds(i, name) for i in full)
    if function == "neg" and name in ("lower", "upper", "diagonal", "symmetric"):
        return holds(x.inputs[0], name)
    if function == "mul" and len(full) + len(scalars) == len(x.inputs) and full:
        if name in ("lower", "upper", "diagonal"):
            return any(holds(i, name) for i in full)
        if name == "symmetric":
            return all(holds(i, name) for i in full)
        return all(holds(i, name) for i in full) and all(positive(s) is True for s in scalars)
    if name == "symmetric" and function not in DRAWS:
        return (bool(full) and len(full) + len(scalars) == len(x.inputs) and all(holds(i, name) for i in full)) or (
            _of_differences(x)
        )
    if function == "where":
        return _masked(x) == name
    return False


def _of_differences(x: Node) -> bool:
    """Whether an even function is taken of the differences of a vector's elements."""
    return _parity(x) == "even" and _turns_sign(x.inputs[0])


def _parity(x: Node) -> str:
    """Whether a function of one number is even or odd."""
    return TABLE[x.op.function].parity if isinstance(x.op, Elementwise) and len(x.inputs) == 1 else ""


def _turns_sign(x: Node) -> bool:
    """Whether x is the negative of its transpose: differences of a vector's elements, scaled, and odd functions."""
    function = function_of(x)
    if function in ("mul", "true_div"):
        (first, *others) = [i for i in x.inputs if any(n != 1 for n in i.static_shape)] or [x]
        return first is not x and not others and (function == "mul" or first is x.inputs[0]) and _turns_sign(first)
    if _parity(x) == "odd":
        return _turns_sign(x.inputs[0])
    if function == "sub":
        return x.ndim == 2 and _column_of_row(*x.inputs)
    if function != "add" or len(x.inputs) != 2 or x.ndim != 2:
        return False
    row, column = (constant_value(i) for i in x.inputs)
    if row is not None and column is not None:
        return row.ndim == column.ndim == 2 and np.array_equal(row.T, -column)
    pair = [i.inputs[0] if function_of(i) == "neg" else i for i in x.inputs]
    signs = [function_of(i) == "neg" for i in x.inputs]
    return signs[0] != signs[1] and _column_of_row(*pair)


def _column_of_row(first: Node, second: Node) -> bool:
    """Whether one of two is a vector along the rows, which may have no axis for them, the other that along columns."""
    for row, column in ((first, second), (second, first)):
        along, down = _along(row, 0), _along(column, 1)
        if down is not None and down.ndim == 1 and down is (row if along is None else along):
            return True
    return False


def _along(x: Node, axis: int) -> Node | None:
    """The vector of which x is a matrix with the new axis `axis`."""
    new = (NewAxis(), FULL) if axis == 0 else (FULL, NewAxis())
    return x.inputs[0] if x.op in (ExpandDims((axis,)), Index(new)) else None


def function_of(x: Node) -> str:
    """Name of the scalar function a node applies; empty for other ops."""
    return x.op.function if isinstance(x.op, Elementwise) else ""


def _square_of_vector(x: Node, positive: Sign) -> bool:
    """Whether a product is that of a vector's elements with each other, times positive numbers."""
    vectors = [i for i in x.inputs if any(n != 1 for n in i.static_shape)]
    if len(vectors) != 2 or not all(positive(i) is True for i in x.inputs if i not in vectors):
        return False
    if mirrored(*vectors):
        return vectors[0].ndim == 2 and 1 in vectors[0].static_shape
    return _column_of_row(*vectors)


def _masked(x: Node) -> str:
    """The triangle outside of which `where` has zeros, by a comparison of the row with the column; or nothing."""
    mask, then, otherwise = x.inputs
    if not (isinstance(mask.op, Elementwise) and mask.op.function == "ge"):
        return ""
    row, column = (_position(operand) for operand in mask.inputs)
    if row is None or column is None or row[0] != (1,) or column[0] not in ((), (0,)):
        return ""
    offset = row[1] - column[1]
    if offset <= 0 and _zero(otherwise):  # where row + offset >= column
        return "lower"
    return "upper" if offset >= -1 and _zero(then) else ""


def _position(x: Node) -> tuple[tuple[int, ...], int] | None:
    """The new axes of 0, 1, 2, ..., and the number added to it."""
    axes: tuple[int, ...] = ()
    offset = 0
    while not isinstance(x.op, Iota):
        if isinstance(x.op, ExpandDims) and not axes:
            axes, x = x.op.axes, x.inputs[0]
        elif isinstance(x.op, Elementwise) and x.op.function == "add" and len(x.inputs) == 2:
            numbers = [constant_value(i) for i in x.inputs]
            found = [(n, i) for n, i in zip(numbers, x.inputs[::-1], strict=True) if n is not None and n.ndim == 0]
            if len(found) != 1:
                return None
            offset, x = offset + int(found[0][0].item()), found[0][1]
        else:
            return None
    return axes, offset


def _zero(x: Node) -> bool:
    value = constant_value(x)
    return value is not None and value.ndim == 0 and value.dtype.kind in "fi" and value.item() == 0


def _constant_matrix(array: npt.NDArray[Any], name: str) -> bool:
    if array.shape[-1] != array.shape[-2] or array.size > 1_000_000:
        return False
    if name == "lower":
        return bool((np.tril(array) == array).all())
    if name == "upper":
        return bool((np.triu(array) == array).all())
    if name == "symmetric":
        return bool((np.swapaxes(array, -1, -2) == array).all())
    if name == "positive_diagonal":
        return bool((np.diagonal(array, axis1=-2, axis2=-1) > 0).all())
    if name == "positive_definite":
        if array.dtype.kind != "f" or array.size == 0 or not _constant_matrix(array, "symmetric"):
            return False
        try:
            return bool(np.isfinite(np.linalg.cholesky(array)).all())
        except np.linalg.LinAlgError:
            return False
    return False  # a diagonal constant is lower and upper


def _vector(x: Node, name: str, holds: Callable[[Node, str], bool]) -> bool:
    if isinstance(x.op, Iota | MaskPositions):
        return True
    array = constant_value(x)
    if array is not None:
        if array.ndim != 1:
            return False
        return bool((np.diff(array) > 0).all()) if name == "increasing" else len(np.unique(array)) == len(array)
    if isinstance(x.op, Elementwise) and x.op.function in ("add", "mul"):
        numbers = [constant_value(i) for i in x.inputs if i.ndim == 0]
        rest = [i for i in x.inputs if i.ndim]
        if len(rest) != 1 or any(n is None for n in numbers):
            return False
        if x.op.function == "mul" and any(n is None or not n > 0 for n in numbers):
            return False
        return holds(rest[0], name)
    return False


def is_zero(node: Node) -> bool:
    """Whether all elements are known to be zero."""
    while isinstance(node.op, BroadcastTo):
        node = node.inputs[0]
    known = constant_value(node)
    return known is not None and not known.any()


def known_size(node: Node) -> int:
    """Number of elements; 0 where it is not known."""
    size = node.tensor_type.size if isinstance(node.type, TensorType) else 0
    return size if isinstance(size, int) else 0
