"""Prices: seconds that a form takes on a machine of the kind that RATES describes, and bytes that it writes.

The rates are constants of this file, so that a program is planned alike on every machine, and draws of a seed stay the
same. Only their ratios matter; `benchmarks/planner.py` shows predictions beside the clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Final

from consilience.analysis.operations import arithmetic, per_element
from consilience.ir import Constant, Node, Op, TensorType, is_leaf, topological
from consilience.ops import (
    Assume,
    BroadcastTo,
    Cast,
    Cholesky,
    Cumulative,
    Det,
    DetSign,
    Elementwise,
    ExpandDims,
    Index,
    IndexUpdate,
    Inverse,
    InverseQuadratic,
    Iota,
    Item,
    LogAbsDet,
    MatMul,
    Reduce,
    Require,
    Softmax,
    Solve,
    SolveTriangular,
    Squeeze,
    StopGradient,
    Transpose,
)
from consilience.ops.index import Gather
from consilience.ops.matrix_equations import DiagonalSums, ToeplitzInverse, ToeplitzInverseSums, ToeplitzSolve
from consilience.ops.shape import Reshape
from consilience.planning.alternatives import Factored

# ---- rates, in seconds

LAUNCH: Final = 25e-9  # a loop, or a number that is written
CALL: Final = 60e-9  # a library's routine
READ: Final = ((32e3, 3e-12), (128e3, 6e-12), (16e6, 9e-12), (math.inf, 45e-12))
"""Seconds per byte, by the size of what is read or written."""
FLOP: Final = 33e-12  # a multiplication with an addition of large matrices
GEMV: Final = 95e-12  # the same of a matrix with a vector
LAG: Final = 0.06e-9  # a multiplication with an addition of vectors that are moved along each other
GATHERED: Final = 0.35e-9  # an element at a position that is known at run time
SCATTERED: Final = 1.0e-9
ELEMENTS_PER_GROUP: Final = 3  # from which on loops run group by group (`lower.segments`)
SIMPLE: Final = 0.03e-9  # an addition of the elements of vectors
EXPONENTIALS: Final = 1.1e-9  # an element of a softmax, or of the logarithm of a sum of exponentials

# ---- kinds of forms

STORED, VIEW, LOOP, SUM, ROUTINE = range(5)
"""What is there, or a part of it; an element per element of a loop; a loop's sum; what libraries compute."""

_VIEWS: Final = (
    ExpandDims, Squeeze, Reshape, Transpose, BroadcastTo, Item, Assume, Require, StopGradient,
)  # fmt: skip


def kind_of(node: Node) -> int:
    """How a form is computed."""
    op = node.op
    if is_leaf(node) or isinstance(op, Iota):
        return STORED
    if isinstance(op, Elementwise | Cast):
        return LOOP
    if isinstance(op, Index):
        return LOOP if len(node.inputs) > 1 else VIEW
    if isinstance(op, _VIEWS):
        return VIEW
    return SUM if isinstance(op, Reduce) or sums_groups(node) else ROUTINE


def sums_groups(node: Node) -> bool:
    """Whether a form adds what loops compute to the places of an index vector."""
    op = node.op
    return isinstance(op, IndexUpdate) and op.mode == "inc" and op.specification == (Gather(),) and node.ndim == 1


def groups_of(outputs: Sequence[Node]) -> frozenset[Node]:
    """Known index vectors by which a program sums: its loops run group by group (see `lower.segments`)."""
    sums = [node for node in topological(outputs) if sums_groups(node) and isinstance(node.inputs[2].op, Constant)]
    return frozenset(n.inputs[2] for n in sums if elements(n.inputs[1]) >= ELEMENTS_PER_GROUP * elements(n) > 0)


def _times(node: Node, groups: Collection[Node], depth: int = 8) -> float:
    """How often a loop computes an element: once for a group where it is the same in all of a group."""
    if not groups or not depth:
        return elements(node)
    if isinstance(node.op, Index) and len(node.inputs) == 2 and node.inputs[1] in groups:
        return elements(node.inputs[0])
    if isinstance(node.op, Elementwise) and node.ndim:
        return max((_times(i, groups, depth - 1) for i in node.inputs if i.ndim), default=1.0)
    return elements(node)


def elements(node: Node) -> float:
    """Number of elements; 0 for tuples, and for lengths that are not known yet."""
    if not isinstance(node.type, TensorType):
        return 0.0
    found = 1.0
    for n in node.type.shape:
        found *= n if isinstance(n, int) else 0.0
    return found


def size_of(node: Node) -> float:
    """Bytes."""
    return 8.0 * elements(node)


def passing(size: float) -> float:
    """Seconds in which so many bytes are read or written."""
    for limit, rate in READ:
        if size <= limit:
            return size * rate
    raise AssertionError


def reading(node: Node) -> float:
    """Seconds of reading a value once; of what is repeated, its different elements."""
    while isinstance(node.op, BroadcastTo):
        node = node.inputs[0]
    return passing(size_of(node))


def work(node: Node, groups: Collection[Node] = ()) -> float:
    """Seconds of a form beside reading its operands and writing its result, which loops may share.

    `groups` are index vectors by which the program sums.
    """
    op = node.op
    match kind_of(node):
        case 0 | 1:
            return 0.0
        case 2:
            return _times(node, groups) * _per_element(node)
        case 3 if sums_groups(node):
            return elements(node.inputs[1]) * (2 * SIMPLE if node.inputs[2] in groups else SCATTERED)
        case 3:
            return elements(node.inputs[0]) * (EXPONENTIALS if getattr(op, "kind", "") == "logsumexp" else SIMPLE)
    found = _ROUTINES.get(type(op))
    if found is not None:
        return CALL + found(node)
    moved = sum(size_of(i) for i in node.inputs) + size_of(node)
    if isinstance(op, IndexUpdate):
        return LAUNCH + passing(moved) + (SCATTERED * elements(node.inputs[1]) if len(node.inputs) > 2 else 0.0)
    if isinstance(op, Softmax):
        return LAUNCH + elements(node) * EXPONENTIALS + passing(moved)
    if isinstance(op, Cumulative):
        return LAUNCH + elements(node) * 1e-9
    return CALL + 4.0 * passing(moved) + GEMV / 2 * arithmetic(node, 0.0)


def _per_element(node: Node) -> float:
    op = node.op
    if isinstance(op, Index):
        return GATHERED
    if not isinstance(op, Elementwise):
        return SIMPLE
    return SIMPLE * per_element(op.function, len(node.inputs))


# ---- libraries


def _batch(node: Node) -> tuple[float, float, float]:
    """Number of matrices, rows and columns."""
    *batch, rows, columns = [float(n) if isinstance(n, int) else 0.0 for n in node.static_shape]
    return math.prod(batch), rows, columns


def product(count: float, m: float, k: float, n: float) -> float:
    """Seconds of `count` products of m x k and k x n matrices."""
    one = 8.0 * (m * k + k * n + m * n)
    if min(m, n) <= 1.0:
        return count * (max(passing(8.0 * m * k * n), GEMV * m * k * n) + CALL)
    # Panels of few rows, columns or terms do not fill the registers.
    return count * (FLOP * (m + 4.0) * (k + 3.0) * (n + 4.0) + passing(one) / 2 + CALL)


def _matmul(node: Node) -> float:
    a, b = node.inputs
    lengths = [float(n) if isinstance(n, int) else 0.0 for n in node.static_shape]
    k = a.static_shape[-1]
    m = lengths.pop(-2 if b.ndim > 1 and len(lengths) > 1 else -1) if a.ndim > 1 else 1.0
    n = lengths.pop() if b.ndim > 1 else 1.0
    if a.ndim == b.ndim == 1:
        return LAUNCH + SIMPLE * (k if isinstance(k, int) else 0) + 2 * reading(a)
    if b.ndim == 2 and len(lengths):  # a batch times one matrix is one product
        m, lengths = m * math.prod(lengths), []
    return product(math.prod(lengths), m, float(k) if isinstance(k, int) else 0.0, n)


def _cholesky(node: Node) -> float:
    count, n, _ = _batch(node)
    return count * (FLOP * n**3 / 6 * (1 + 200 / (n + 1)) + 2 * passing(8 * n * n))


def _lu(node: Node) -> float:
    count, n, _ = _batch(node)
    return count * (FLOP * n**3 / 3 * (1 + 150 / (n + 1)) + 3 * passing(8 * n * n))


def triangular(count: float, n: float, columns: float) -> float:
    """Seconds of `count` substitutions in triangles of n rows."""
    if columns <= 1.0:
        return count * (0.6 * GEMV * n * n + 2e-9 * n)
    return count * (FLOP * n * n * columns / 2 * (1 + 60 / (n + 1) + 4 / columns) + passing(8 * n * (n + columns)))


def _solve_triangular(node: Node) -> float:
    count, n, columns = _batch(node)
    return triangular(count, n, columns)


def _solve(node: Node) -> float:
    count, n, columns = _batch(node)
    return 2 * triangular(count, n, columns) + CALL


def _inverse(node: Node) -> float:
    count, n, _ = _batch(node)
    if getattr(node.op, "assume", "general") == "general":
        return 2 * triangular(count, n, n)
    return count * (FLOP * n**3 * 0.52 * (1 + 120 / (n + 1)) + 2 * passing(8 * n * n))


def _quadratic(node: Node) -> float:
    count, n, columns = _batch(node.inputs[1])
    return triangular(count, n, columns) + SIMPLE * count * n * columns


def _determinant(node: Node) -> float:
    count, n, _ = _batch(node.inputs[0])
    return count * n * 3e-9


def _lags(count: int) -> Callable[[Node], float]:
    """Seconds of `count` sums of products for all distances of two elements, by row or column."""

    def price(node: Node) -> float:
        n, *rows = (float(m) if isinstance(m, int) else 0.0 for m in node.inputs[-1].static_shape)
        return count * math.prod(rows) * n * (LAG * n + LAUNCH)

    return price


def process(n: int, states: int, *, regular: bool, latent: bool) -> tuple[float, float]:
    """Seconds of a density of a Gaussian process at n points with its slopes: as a state space, and by its matrix.

    Loops are not planned and slopes not taken yet where a process is written, so both are estimated.

    `regular`: whether the points are those of a regular grid. `latent`: whether values are computed by the Cholesky
    factor from standard normals, in place of their density.
    """
    chain = n * (15e-9 + 4e-9 * states**2)
    if regular and not latent:
        return chain, LAG * 11 * n**2
    factor = FLOP * n**3 / 6 * (1 + 200 / (n + 1))
    # Systems with the factor twice and a product; or the inverse, and loops over what depends on parameters.
    slopes = FLOP * n**3 * 1.5 if latent else FLOP * n**3 * 0.52 * (1 + 120 / (n + 1))
    return chain, factor + slopes + n**2 * 2e-9


_ROUTINES: Final[dict[type[Op], Callable[[Node], float]]] = {
    MatMul: _matmul,
    Cholesky: _cholesky,
    Factored: _lu,
    SolveTriangular: _solve_triangular,
    Solve: _solve,
    Inverse: _inverse,
    InverseQuadratic: _quadratic,
    LogAbsDet: _determinant,
    Det: _determinant,
    DetSign: _determinant,
    ToeplitzInverse: _lags(2),
    ToeplitzSolve: _lags(4),
    ToeplitzInverseSums: _lags(2),
    DiagonalSums: _lags(2),
}
