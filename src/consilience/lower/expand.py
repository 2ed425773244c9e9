"""Write composite functions out in primitives that loops and libraries know.

Happens after all rewriting, so that value and gradient share the pieces: softplus and sigmoid of one
argument meet in one exp(-|x|).
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Callable, MutableMapping, Sequence
from typing import Final, TypeAlias

from consilience.errors import ShapeError, VerificationError
from consilience.first_use import RowsByFamily
from consilience.ir import FLOATS, Node, Op, constant, rebuild, topological, with_regions
from consilience.ir.leaves import FEW_COLUMNS
from consilience.ir.side_tables import describe, is_carrying, pass_on, without_sources
from consilience.lower.places import expand_order, sorted_anyway
from consilience.lower.primitives import (
    CholeskyInverse,
    LUFactor,
    LUPivotSign,
    LUSolve,
    SmallSolve,
)
from consilience.lower.views import static
from consilience.native.routines import SMALL
from consilience.ops import (
    AlteredGradient,
    ArgReduce,
    ArgSort,
    Assume,
    Cast,
    Cholesky,
    Cumulative,
    Det,
    DetSign,
    Elementwise,
    Index,
    Inverse,
    InverseQuadratic,
    Iota,
    Item,
    LogAbsDet,
    MaskPositions,
    MatMul,
    Reduce,
    Require,
    SearchSorted,
    Softmax,
    Solve,
    SolveTriangular,
    Sort,
    StopGradient,
    apply,
    cast,
)
from consilience.ops.call import FunctionCall
from consilience.ops.formulas import FORMULAS, number, where
from consilience.ops.index import At, SliceIndex, index_set
from consilience.ops.linalg import diagonal, transposed
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.reduce import reduce
from consilience.ops.shape import (
    Transpose,
    broadcast_to,
    concatenate,
    expand_dims,
    eye,
    full,
    length_of,
    reshape,
    squeeze,
    transpose,
)
from consilience.transforms.complex_pairs import without_complex

MANY_OPERANDS = 64
MANY_SUMMANDS = 1 << 17  # of float32 that are added one after another, in some 32 sums
GROUP = 32


def _in_groups(op: Op, operands: Sequence[Node]) -> Node:
    """One op of very many operands as a tree, so that few of them have to be held at a time."""
    while len(operands) > MANY_OPERANDS:
        groups = [operands[i : i + GROUP] for i in range(0, len(operands), GROUP)]
        operands = [Node(op, *group) if len(group) > 1 else group[0] for group in groups]
    return Node(op, *operands)


Expansion: TypeAlias = Callable[[Node], Node]
NODES: Final = RowsByFamily[Expansion](
    __package__,
    "consilience.ops",
    {
        "fourier": "correlation fourier",
        "least_squares": "factorisations",
        "matrix_equations": "matrix_equations",
        "matrix_functions": "matrix_functions",
        "sparse": "sparse.factorisation",
        "structured": "structured",
    },
)
"""How ops are written out; those of other files when one is met."""


def expands(*ops: type[Op]) -> Callable[[Expansion], Expansion]:
    """Enter how nodes of some ops are written out."""

    def enter(expansion: Expansion) -> Expansion:
        NODES.update(dict.fromkeys(ops, expansion))
        return expansion

    return enter


def _negated_last(x: Node) -> Node:
    """The negative of a transpose for the transpose of a negative, which would have to be stored to be read across."""
    inner = x.inputs[0] if isinstance(x.op, Transpose) else x
    return Node(inner.op, Node(x.op, *inner.inputs)) if inner.op == Elementwise("neg") and inner is not x else x


SCALARS: MutableMapping[str, Callable[..., Node]] = ChainMap(
    {
        "add": lambda *terms: _in_groups(Elementwise("add"), [_negated_last(x) for x in terms]),
        "mul": lambda *factors: _in_groups(Elementwise("mul"), factors),
    },
    FORMULAS,
)
"""How scalar functions are written out: by their formulas, and long sums and products as trees."""


# ---- linear algebra


def _lu(x: Node) -> tuple[Node, Node]:
    factor = Node(LUFactor(), x)
    return Node(Item(0), factor), Node(Item(1), factor)


def _in_double(node: Node) -> Node:
    """The op in float64: library routines and their accuracy are those of double precision."""
    widened = Node(node.op, *(cast(i, "float64") for i in node.inputs))
    return cast(widened, node.dtype)


def _solve(node: Node) -> Node:
    a, b = node.inputs
    assert isinstance(node.op, Solve)
    if node.op.assume == "positive definite":
        factor = Node(Cholesky(), a)
        half = Node(SolveTriangular(lower=True, transposed=False), factor, b)
        return Node(SolveTriangular(lower=True, transposed=True), factor, half)
    rows = a.static_shape[-1]
    if a.ndim > 2 and isinstance(rows, int) and rows <= SMALL:
        return Node(SmallSolve(), a, b)
    turned = transposed(a)  # its factors may be there
    packed, pivots = _lu(a if turned is None else turned)
    return Node(LUSolve(turned is not None), packed, pivots, b)


def _inverse_quadratic(node: Node) -> Node:
    a, b = node.inputs
    half = Node(SolveTriangular(lower=True, transposed=False), Node(Cholesky(), a), b)
    return reduce("sum", half * half, -2)


def _inverse(node: Node) -> Node:
    (x,) = node.inputs
    assert isinstance(node.op, Inverse)
    if node.op.assume == "positive definite":
        return Node(CholeskyInverse(), Node(Cholesky(), x))
    packed, pivots = _lu(x)
    identity = broadcast_to(eye(x.static_shape[-1]), x.static_shape)
    return Node(LUSolve(), packed, pivots, identity)


def _log_abs_det(node: Node) -> Node:
    (x,) = node.inputs
    assert isinstance(node.op, LogAbsDet)
    if node.op.assume == "positive definite":
        return reduce("sum", apply("log", diagonal(Node(Cholesky(), x))), -1) * 2.0
    packed, _ = _lu(x)
    return _unless_nan(x, reduce("sum", apply("log", apply("abs", diagonal(packed))), -1))


def _det_sign(node: Node) -> Node:
    packed, pivots = _lu(node.inputs[0])
    sign = reduce("prod", apply("sign", diagonal(packed)), -1) * Node(LUPivotSign(), pivots)
    return _unless_nan(node.inputs[0], sign)


def _det(node: Node) -> Node:
    packed, pivots = _lu(node.inputs[0])
    return _unless_nan(node.inputs[0], reduce("prod", diagonal(packed), -1) * Node(LUPivotSign(), pivots))


def _unless_nan(x: Node, value: Node) -> Node:
    """A number per matrix, NaN where the matrix has one: elimination by an infinite pivot can lose it."""
    return where(reduce("any", apply("isnan", x), (-2, -1)), number(value, math.nan), value)


def _matmul(node: Node) -> Node:
    a, b = node.inputs
    if a.ndim == 1 and b.ndim == 1:
        return _total(a * b, 0)
    if a.ndim == 1:
        if b.ndim == 2 and (a.dtype not in FLOATS or min(static(b.static_shape)) <= FEW_COLUMNS):
            return _matrix_vector(transpose(b), a)
        return squeeze(Node(MatMul(), expand_dims(a, 0), b), -2)
    if b.ndim == 1:
        if a.ndim == 2:
            return _matrix_vector(a, b)
        return squeeze(Node(MatMul(), a, expand_dims(b, 1)), -1)
    if node.dtype not in ("float64", "float32"):
        return _elementwise_product(a, b)
    if any(n == 0 for n in (*a.static_shape, *b.static_shape)):
        return broadcast_to(number(a, 0), node.static_shape)
    if a.static_shape[-1] == 1:
        return a * b  # a column times a row
    return node


def _elementwise_product(a: Node, b: Node) -> Node:
    """A product without BLAS: for integers."""
    terms = expand_dims(a, a.ndim) * expand_dims(b, b.ndim - 2)
    return _total(terms, terms.ndim - 2)


def _total(terms: Node, axis: int) -> Node:
    """The sum over an axis in the dtype of the terms: products of int32 stay int32, as in NumPy."""
    return Node(Reduce("sum", (axis,)), terms)


def _matrix_vector(a: Node, v: Node) -> Node:
    """a @ v: few columns as scaled columns, few rows as inner products, else the library."""
    rows, columns = a.static_shape
    assert isinstance(rows, int)
    assert isinstance(columns, int)
    if columns == 0 or rows == 0:
        return broadcast_to(number(a, 0), (rows,))
    integer = a.dtype not in FLOATS
    if columns <= FEW_COLUMNS and (columns <= rows or integer):
        by_column = transpose(_unconverted(a))
        terms = [cast(_row(by_column, j), a.dtype) * _element(v, j) for j in range(columns)]
        return terms[0] if columns == 1 else Node(Elementwise("add"), *terms)
    if rows <= FEW_COLUMNS or integer:
        read = _unconverted(a)
        return concatenate([expand_dims(_total(cast(_row(read, i), a.dtype) * v, 0), 0) for i in range(rows)])
    return squeeze(Node(MatMul(), a, expand_dims(v, 1)), 1)


def _unconverted(a: Node) -> Node:
    """A matrix before its elements were given another type, which they are given as they are read."""
    if isinstance(a.op, Transpose):
        return transpose(_unconverted(a.inputs[0]), a.op.axes)
    return a.inputs[0] if isinstance(a.op, Cast) and not a.inputs[0].inputs else a


def _row(a: Node, i: int) -> Node:
    return Node(Index((At(i), SliceIndex())), a)


def _element(v: Node, j: int) -> Node:
    return Node(Index((At(j),)), v)


def _many(node: Node) -> bool:
    """Whether so many summands are added in a row that rounding adds up to more than the last digits of float32."""
    assert isinstance(node.op, Reduce)
    lengths = static(node.inputs[0].static_shape)
    count = math.prod(lengths[a] for a in node.op.axes)
    if count <= MANY_SUMMANDS:
        return False
    from consilience.lower.row_chunks import MOST  # few models have long loops

    return count // (min(MOST, lengths[0]) if 0 in node.op.axes else 1) > MANY_SUMMANDS


def logsumexp(node: Node) -> Node:
    """The logarithm of a sum of exponentials along axes, from which the greatest exponent is taken out."""
    (x,) = node.inputs
    assert isinstance(node.op, Reduce)
    axes = node.op.axes
    if any(x.static_shape[a] == 0 for a in axes):
        return full(node.static_shape, number(x, -math.inf))
    _, shift = _greatest(x, axes)
    total = reduce("sum", apply("exp", x - shift), axes)
    return apply("log", total) + squeeze(shift, axes)


def _softmax(node: Node) -> Node:
    (x,) = node.inputs
    assert isinstance(node.op, Softmax)
    if any(n == 0 for n in x.static_shape):
        return x
    high, shift = _greatest(x, node.op.axes)
    exponentials = apply("exp", x - shift)  # as in `logsumexp`, with which it is shared
    total = reduce("sum", exponentials, node.op.axes, keepdims=True)
    if node.op.logarithm:
        return (x - shift) - apply("log", total)
    # The sum is between 1 and the number of elements, or 0 or infinite where all are -inf or one is inf.
    infinite = apply("eq", high, number(x, math.inf))
    return exponentials * where(infinite, number(x, math.nan), number(x, 1) / total)


def _greatest(x: Node, axes: tuple[int, ...]) -> tuple[Node, Node]:
    """The greatest element, and the same with 0 for infinities: what exponents are shifted by."""
    high = reduce("max", x, axes, keepdims=True)
    return high, where(apply("isfinite", high), high, number(x, 0))


def _mask_positions(node: Node) -> Node:
    """Every position is written at the rank of its entry among the true ones, the others at one place too many."""
    (count,), (mask,) = node.static_shape, node.inputs
    flat = reshape(mask, (-1,))
    rank = Node(Cumulative("sum", 0), cast(flat, "int64")) - 1
    place = where(apply("bitwise_and", flat, rank < length_of(count)), rank, length_of(count))
    found = where(flat, Node(Iota(*flat.static_shape)), constant(0))
    written = index_set(full((count + 1,), 0, "int64")[place], found)
    return written[:count]


NODES.update(
    {
        Solve: _solve,
        Inverse: _inverse,
        InverseQuadratic: _inverse_quadratic,
        LogAbsDet: _log_abs_det,
        DetSign: _det_sign,
        Det: _det,
        MatMul: _matmul,
        Softmax: _softmax,
        MaskPositions: _mask_positions,
    }
)


# Dtypes without arithmetic of their own, and where they are computed: results are cast back, which wraps integers
# around and rounds floats. Products of the shorter integers are exact there, others wrap around twice.
COMPUTED = {"int8": "int32", "uint8": "int32", "int16": "int32", "uint16": "int64", "uint32": "int64"}
COMPUTED["float16"] = "float32"


def _in_wider(node: Node) -> Node | None:
    """Arithmetic of a dtype that is only stored, in one that machines compute with; None for others."""
    narrow = node.inputs[-1].dtype
    wide = COMPUTED.get(narrow)
    if wide is None or node.op == Elementwise("where"):
        return None
    operands = [cast(i, wide) for i in node.inputs]
    if narrow == "float16" and len(operands) > 2 and node.op in (Elementwise("add"), Elementwise("mul")):
        result = operands[0]
        for operand in operands[1:]:  # every step is rounded
            result = cast(cast(Node(node.op, result, operand), narrow), wide)
    else:
        result = Node(node.op, *operands)
    return cast(result, node.dtype) if result.dtype == wide else result


def _step(node: Node) -> Node:
    """One expansion of one node, or the node itself."""
    op = node.op
    if isinstance(op, Elementwise | Reduce):
        wider = _in_wider(node)
        if wider is not None:
            return wider
    if isinstance(op, Elementwise):
        rule = SCALARS.get(op.function)
        if rule is None:
            return node
        result = rule(*node.inputs)
        return result if result.static_shape == node.static_shape else broadcast_to(result, node.static_shape)
    if isinstance(op, ArgReduce | ArgSort | Index | SearchSorted | Sort):
        return expand_order(node)
    if isinstance(op, AlteredGradient | Assume | Require | StopGradient):
        return node.inputs[0]
    if isinstance(op, ParameterCheck | Asserted):
        # The only element of an axis, or one behind its end, which makes the function fail.
        value, valid, *_ = node.inputs
        return expand_dims(value, 0)[apply("where", reduce("all", valid), 0, 1)]
    if isinstance(op, Reduce):
        if op.kind in ("max", "min") and any(node.inputs[0].static_shape[a] == 0 for a in op.axes):
            raise ShapeError(f"`{op.kind}` of an empty axis has no value: {describe(node)}.")
        if op.kind == "logsumexp":
            return logsumexp(node)
        return _in_double(node) if op.kind == "sum" and node.dtype == "float32" and _many(node) else node
    if isinstance(op, Item) and isinstance(node.inputs[0].op, FunctionCall):
        call = node.inputs[0]
        return node.inputs[0].op.body.apply(*call.inputs)[op.position]
    opened = op if isinstance(op, FunctionCall) else with_regions(op, expand)
    if opened is not op:
        return Node(opened, *node.inputs)
    if isinstance(op, Cholesky | SolveTriangular | Solve | Inverse | InverseQuadratic | LogAbsDet | DetSign | Det) and (
        node.dtype == "float32"
    ):
        return _in_double(node)
    if isinstance(op, MatMul) and node.dtype == "float32" and node.inputs[0].ndim > 1 and node.inputs[1].ndim > 1:
        return _in_double(node)
    expansion = NODES.get(type(op))
    return node if expansion is None else expansion(node)


def expand(outputs: Sequence[Node]) -> list[Node]:
    """The graph in primitive ops of real numbers."""
    with without_sources():
        return _expand(without_complex(outputs)[0])


def _expand(outputs: Sequence[Node]) -> list[Node]:
    # `memo` maps a node to its full expansion; finished nodes map to themselves.
    memo: dict[Node, Node] = {}
    order = topological(outputs)
    stack, read = list(reversed(order)), sorted_anyway(order, outputs)
    waiting: dict[Node, Node] = {}  # node -> its one-step expansion, being expanded in turn
    while stack:
        node = stack[-1]
        if node in memo:
            stack.pop()
            continue
        if node in waiting:
            memo[node] = memo[waiting.pop(node)]
            continue
        missing = [i for i in node.inputs if i not in memo]
        if missing:
            stack.extend(missing)
            continue
        rebuilt = rebuild(node, tuple(memo[i] for i in node.inputs))
        new = rebuilt if node in read else _step(rebuilt)
        if new.type != rebuilt.type:
            raise VerificationError(f"the expansion of {rebuilt!r} has another type: {new!r}.")
        if new is rebuilt:
            memo[node] = memo[rebuilt] = rebuilt
        else:
            if is_carrying():
                for part in topological([new], stop=set(rebuilt.inputs).__contains__):
                    if part.inputs and part not in rebuilt.inputs:
                        pass_on(rebuilt, part)
            waiting[node] = new
            stack.append(new)
    return [memo[output] for output in outputs]
