"""Every op means on every backend what it means in NumPy.

One table of cases: a graph, operands, and where an obvious one exists the NumPy expression. Each runs with
static and with symbolic lengths, on contiguous and on strided arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.special

from consilience.ir import Constant, Input, Node, Op, Parameter, ShapeConstraint, Shared, constant
from consilience.ops import (
    AlteredGradient,
    ArgReduce,
    ArgSort,
    Assume,
    BroadcastTo,
    Cast,
    Cholesky,
    Concatenate,
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
    MaskPositions,
    MatMul,
    Reduce,
    Require,
    Reshape,
    SearchSorted,
    Softmax,
    Solve,
    SolveTriangular,
    Sort,
    Squeeze,
    StopGradient,
    Transpose,
    cast,
    cond,
)
from consilience.ops.call import FunctionCall
from consilience.ops.collective import Collective
from consilience.ops.correlation import Correlate
from consilience.ops.fourier import FourierTransform, InverseRealFourier, RealFourier
from consilience.ops.index import At, Gather, NewAxis, SliceIndex, mask_positions
from consilience.ops.loop import Scan, fresh
from consilience.ops.matrix_equations import (
    DiagonalSums,
    SolveBanded,
    SolveRiccati,
    SolveSylvester,
    ToeplitzInverse,
    ToeplitzInverseSums,
    ToeplitzSolve,
    TridiagonalLU,
    TridiagonalLUSolve,
)
from consilience.ops.matrix_functions import MatrixFunction, MatrixFunctionDerivative
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.python_call import PythonCall
from consilience.ops.random import Key, draw, fold_in
from consilience.ops.scan import scan
from consilience.ops.shape import length_of, stack
from consilience.ops.sparse.factorisation import SparseCholesky, SparseCholeskyPullback, SparseTriangularSolve
from consilience.ops.sparse.products import SampledProduct, SparseProduct, TransposedSparseProduct
from consilience.ops.state_space import KalmanFilter, KalmanSlopes
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker
from tests.backends.agreement import Array, agree, inputs_like, run_llvm, run_reference
from tests.backends.test_factorisations import OPS as FACTORISATIONS
from tests.rows import holds_for_each

FLOATS = ("float64", "float32")
NUMBERS = (*FLOATS, "int64", "int32")
ALL = (*NUMBERS, "bool")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """One graph of the op under test.

    build     nodes to a node or several
    shapes    shape per operand
    expected  the same in NumPy, None where the reference backend is the only meaning
    dtypes    operand dtypes to run with, one at a time for all operands
    make      draws an operand; uniform numbers, small integers or coin flips by default
    symbolic  whether lengths may be symbols
    """

    op: type[Op]
    name: str
    build: Callable[..., Any]
    shapes: tuple[Shape, ...]
    expected: Callable[..., Any] | None = None
    dtypes: tuple[str, ...] = FLOATS
    make: Callable[[np.random.Generator, Shape, str], Array] | None = None
    rtol: float | None = None
    symbolic: bool = True


CASES: list[Case] = []


def case(op: type[Op], name: str, build: Callable[..., Any], *shapes: Shape, **more: Any) -> None:
    """Add a row to the table."""
    CASES.append(Case(op, name, build, shapes, **more))


def uniform(generator: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """Operands without structure."""
    if dtype == "bool":
        return np.asarray(generator.integers(0, 2, shape).astype(bool))
    if dtype.startswith("int"):
        return np.asarray(generator.integers(-9, 10, shape).astype(dtype))
    return np.asarray(generator.uniform(-2.0, 2.0, shape).astype(dtype))


def one(op: Op) -> Callable[..., Node]:
    """The node of an op."""
    return lambda *x: Node(op, *x)


# ---- element by element (the functions themselves are in test_conformance_scalar.py)

SHAPES_OF_ALL_KINDS: tuple[Shape, ...] = ((), (1,), (0,), (5,), (33,), (3, 4), (2, 0, 3), (1, 1, 1), (2, 3, 17))
for shape in SHAPES_OF_ALL_KINDS:
    case(Elementwise, f"add{shape}", one(Elementwise("add")), shape, shape, expected=np.add, dtypes=ALL)
    equal = ShapeConstraint(5, 5, "equal lengths")
    for same in (Assume((("finite", True),)), Require((equal,)), StopGradient(), AlteredGradient("zero")):
        case(type(same), f"{shape}", one(same), shape, expected=lambda x: x, dtypes=ALL)
    for dtype in ALL:
        case(Cast, f"{dtype}{shape}", one(Cast(dtype)), shape, dtypes=ALL)

# ---- reductions

AXES: tuple[tuple[Shape, tuple[int, ...]], ...] = (
    ((5,), (0,)), ((1,), (0,)), ((0,), (0,)), ((200,), (0,)), ((3, 4), (0,)), ((3, 4), (1,)), ((3, 4), (0, 1)),
    ((7, 1), (0,)), ((7, 1), (1,)), ((2, 3, 9), (0, 2)), ((2, 3, 9), (1,)), ((2, 3, 9), (0, 1, 2)),
    ((2, 19, 3), (1,)), ((0, 3), (0,)), ((0, 3), (1,)), ((3, 0, 2), (1,)), ((2, 2, 2, 5), (1, 3)), ((40, 3), (0,)),
)  # fmt: skip
EMPTY = {"sum": 0, "prod": 1, "any": False, "all": True}


def logsumexp(x: Array, axes: tuple[int, ...]) -> Array:
    """Without protection against overflow: the operands are small."""
    return np.log(np.sum(np.exp(x), axis=axes))


for kind, meaning, dtypes in (
    ("sum", np.sum, NUMBERS), ("prod", np.prod, NUMBERS), ("max", np.max, ALL), ("min", np.min, ALL),
    ("any", np.any, ("bool",)), ("all", np.all, ("bool",)), ("logsumexp", logsumexp, FLOATS),
):  # fmt: skip
    for shape, axes in AXES:
        if kind in ("max", "min") and any(shape[a] == 0 for a in axes):
            continue
        case(
            Reduce, f"{kind}{shape}{axes}", one(Reduce(kind, axes)), shape,
            expected=lambda x, f=meaning, a=axes: f(x, a), dtypes=dtypes, rtol=1e-6 if kind == "logsumexp" else None,
        )  # fmt: skip
        case(
            Reduce, f"{kind} of computed{shape}{axes}",
            lambda x, y, k=kind, a=axes: Node(Reduce(k, a), Node(Elementwise("maximum"), x, y)), shape, shape,
            expected=lambda x, y, f=meaning, a=axes: f(np.maximum(x, y), a), dtypes=dtypes,
        )  # fmt: skip

for shape, axes in AXES:
    for logarithm, meaning in ((False, scipy.special.softmax), (True, scipy.special.log_softmax)):
        case(
            Softmax, f"{'log ' * logarithm}{shape}{axes}", one(Softmax(axes, logarithm)), shape,
            expected=(lambda x, f=meaning, a=axes: f(x, a)) if all(shape) else lambda x: x,
        )  # fmt: skip

for shape, axis in (((5,), 0), ((1,), 0), ((4, 7), 0), ((4, 7), 1), ((2, 3, 4), 1), ((0, 3), 1), ((70,), 0)):
    for kind in ("max", "min"):
        case(
            ArgReduce, f"{kind}{shape}{axis}", one(ArgReduce(kind, axis)), shape,
            expected=lambda x, k=kind, a=axis: getattr(np, f"arg{k}")(x, axis=a), dtypes=ALL,
        )  # fmt: skip


def with_ties(rng: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """Few distinct numbers, zeros of both signs and NaN among them."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    pool = [-3, 0, 1, 7] if dtype.startswith("int") else [-3.0, -0.0, 0.0, 1.5, np.inf, -np.inf, np.nan, 1e-310]
    return rng.choice(pool, shape).astype(dtype)


for shape, axis in (((5,), 0), ((1,), 0), ((0,), 0), ((4, 7), 0), ((2, 3, 4), 1), ((0, 3), 1), ((300,), 0)):
    for make in (None, with_ties):
        case(
            ArgSort, f"{shape}{axis}{make is None}", one(ArgSort(axis)), shape, make=make, dtypes=ALL,
            expected=lambda x, a=axis: np.argsort(x, axis=a, kind="stable"),
        )  # fmt: skip
        case(
            Sort, f"{shape}{axis}{make is None}", one(Sort(axis)), shape, make=make, dtypes=ALL,
            expected=lambda x, a=axis: np.sort(x, axis=a, kind="stable"),
        )  # fmt: skip
for side in ("left", "right"):
    for shape, values in (((5,), (3,)), ((0,), (2,)), ((1,), ()), ((40,), (3, 11)), ((7,), (0,)), ((33,), (1, 1))):
        for make in (None, with_ties):
            case(
                SearchSorted, f"{side}{shape}{values}{make is None}",
                lambda x, v, s=side: Node(SearchSorted(s), Node(Sort(0), x), v), shape, values, make=make, dtypes=ALL,
                expected=lambda x, v, s=side: np.searchsorted(np.sort(x), v, s),
            )  # fmt: skip
    case(
        SearchSorted, f"{side} of a batch",
        lambda x, v, s=side: Node(SearchSorted(s, 2), Node(Sort(2), x), v), (2, 3, 9), (2, 3, 4, 5), dtypes=ALL,
    )  # fmt: skip
for places in ([0], [-1, 0], [3, 4], [4, 3, 3, 2]):
    case(
        Sort, f"few places {places}", lambda x, p=places: Node(Sort(1), x)[:, np.array(p)], (4, 5), make=with_ties,
        expected=lambda x, p=places: np.sort(x)[:, p], dtypes=ALL,
    )  # fmt: skip
    case(
        Sort, f"few places of many {places}", lambda x, p=places: Node(Sort(0), x)[np.array(p)], (700,),
        expected=lambda x, p=places: np.sort(x)[p], dtypes=ALL,
    )  # fmt: skip
for shape, axis in (
    ((5,), 0),
    ((1,), 0),
    ((0,), 0),
    ((4, 7), 0),
    ((4, 7), 1),
    ((2, 3, 4), 1),
    ((0, 3), 1),
    ((3, 0), 0),
):
    for kind in ("sum", "prod"):
        case(
            Cumulative, f"{kind}{shape}{axis}", one(Cumulative(kind, axis)), shape,
            expected=lambda x, k=kind, a=axis: getattr(np, f"cum{k}")(x, axis=a, dtype=x.dtype), dtypes=NUMBERS,
        )  # fmt: skip
        case(
            Cumulative, f"reverse {kind}{shape}{axis}", one(Cumulative(kind, axis, reverse=True)), shape,
            expected=lambda x, k=kind, a=axis: np.flip(
                getattr(np, f"cum{k}")(np.flip(x, a), axis=a, dtype=x.dtype), a
            ),
            dtypes=NUMBERS,
        )  # fmt: skip

# ---- shapes: alone, after a computation, and before one

for shape, target in (
    ((6,), (2, 3)), ((2, 3), (6,)), ((2, 3), (3, 2)), ((), (1, 1)), ((1, 1), ()), ((4, 6), (2, 2, 3, 2)),
    ((2, 3, 4), (6, 4)), ((0, 3), (3, 0)), ((0,), (0, 5)), ((2, 1, 3), (1, 6, 1)),
):  # fmt: skip
    case(
        Reshape, f"{shape}{target}", one(Reshape(target)), shape, expected=lambda x, t=target: x.reshape(t), dtypes=ALL
    )
    case(
        Reshape, f"of transposed{shape}{target}",
        lambda x, t=target: Node(Reshape(t), Node(Transpose(tuple(reversed(range(x.ndim)))), x)) * 2, shape,
        expected=lambda x, t=target: x.T.reshape(t) * 2, dtypes=NUMBERS,
    )  # fmt: skip
for axes in ((0,), (0, 1), (1, 0), (2, 0, 1), (0, 2, 1), (3, 1, 0, 2)):
    for shape in ((2, 3, 4, 5)[: len(axes)], (3, 1, 17, 2)[: len(axes)], (0, 3, 2, 1)[: len(axes)]):
        case(
            Transpose, f"{shape}{axes}", one(Transpose(axes)), shape,
            expected=lambda x, a=axes: x.transpose(a), dtypes=ALL,
        )  # fmt: skip
        case(
            Transpose, f"of a sum{shape}{axes}",
            lambda x, y, a=axes: Node(Transpose(a), x + y) - Node(Transpose(a), y),
            shape, shape, expected=lambda x, y, a=axes: (x + y).transpose(a) - y.transpose(a),
            dtypes=("int64",), symbolic=False,
        )  # fmt: skip
for shape, axes in (((), (0,)), ((3,), (0,)), ((3,), (1,)), ((3,), (0, 2)), ((2, 3), (1, 2)), ((0,), (1,))):
    case(
        ExpandDims, f"{shape}{axes}", one(ExpandDims(axes)), shape,
        expected=lambda x, a=axes: np.expand_dims(x, a), dtypes=ALL,
    )  # fmt: skip
for shape, axes in (
    ((1,), (0,)),
    ((1, 3), (0,)),
    ((3, 1), (1,)),
    ((1, 1), (0, 1)),
    ((1, 0), (0,)),
    ((2, 1, 3, 1), (1, 3)),
):
    case(Squeeze, f"{shape}{axes}", one(Squeeze(axes)), shape, expected=lambda x, a=axes: np.squeeze(x, a), dtypes=ALL)
for shape, target in (
    ((), (3,)), ((1,), (3,)), ((3,), (3,)), ((3,), (2, 3)), ((3, 1), (3, 4)), ((1, 1), (2, 5)), ((), ()),
    ((1,), (0,)), ((), (2, 0)), ((1, 3), (17, 3)),
):  # fmt: skip
    case(
        BroadcastTo, f"{shape}{target}", one(BroadcastTo(target)), shape,
        expected=lambda x, t=target: np.broadcast_to(x, t), dtypes=ALL,
    )  # fmt: skip
    case(
        BroadcastTo, f"reduced{shape}{target}",
        lambda x, t=target: Node(Reduce("sum", tuple(range(len(t)))), Node(BroadcastTo(t), x)) if t else x + x, shape,
        expected=lambda x, t=target: np.sum(np.broadcast_to(x, t)) if t else x + x, dtypes=NUMBERS,
    )  # fmt: skip
for shapes, axis in (
    (((2,), (3,)), 0), (((2, 3), (4, 3)), 0), (((2, 3), (2, 1), (2, 5)), 1), (((0,), (3,)), 0), (((0, 2), (0, 2)), 0),
    (((3,),), 0), (((2, 1, 3), (2, 4, 3)), 1), (((1,), (1,), (1,)), 0), (((40,), (1,), (3,)), 0),
):  # fmt: skip
    case(
        Concatenate, f"{shapes}{axis}", one(Concatenate(axis)), *shapes,
        expected=lambda *x, a=axis: np.concatenate(x, a), dtypes=ALL,
    )  # fmt: skip
    case(
        Concatenate, f"of computed{shapes}{axis}",
        lambda *x, a=axis: Node(Concatenate(a), *[y + y for y in x]) * 3, *shapes,
        expected=lambda *x, a=axis: np.concatenate([y + y for y in x], a) * 3, dtypes=NUMBERS,
    )  # fmt: skip
for length in (0, 1, 3, 20):
    case(
        Iota, f"{length}", lambda x, n=length: [Node(Iota(n)), Node(Iota(n)) * Node(Cast("int64"), x)], (),
        expected=lambda x, n=length: [np.arange(n), np.arange(n) * int(x)], dtypes=("int64",),
    )  # fmt: skip

# ---- indexing (more in test_indexing.py)

for shape, specification in (
    ((5,), (SliceIndex(1, 4),)), ((5,), (SliceIndex(None, None, -1),)), ((5,), (At(2),)), ((5,), (At(-1),)),
    ((4, 6), (At(1), SliceIndex(None, None, 2))), ((4, 6), (SliceIndex(1, None), At(-2))),
    ((4, 6), (NewAxis(), SliceIndex(2), SliceIndex())),
    ((0, 3), (SliceIndex(), At(1))), ((4, 6), (SliceIndex(3, 1), SliceIndex())), ((2, 3, 4), (At(1), At(2), At(3))),
):  # fmt: skip
    case(Index, f"{shape}{specification}", one(Index(specification)), shape, dtypes=ALL, symbolic=False)
    case(
        Index, f"reduced{shape}{specification}",
        lambda x, s=specification: (lambda y: Node(Reduce("sum", tuple(range(y.ndim))), y) if y.ndim else y)(
            Node(Index(s), x + x) * 2
        ),
        shape, dtypes=NUMBERS, symbolic=False,
    )  # fmt: skip
ROWS = constant(np.array([2, 0, 3, 3, 1]))
for specification, arrays in (
    ((Gather(), SliceIndex()), [ROWS]), ((SliceIndex(), Gather()), [ROWS]), ((Gather(), Gather()), [ROWS, ROWS]),
    ((Gather(), At(2)), [ROWS]), ((Gather(), NewAxis(), SliceIndex(1, 5)), [ROWS]),
):  # fmt: skip
    case(Index, f"{specification}", lambda x, s=specification, a=arrays: Node(Index(s), x, *a), (4, 6), dtypes=ALL)
    for mode in ("set", "inc"):

        def update(x: Node, y: Node, s: Any = specification, a: Any = arrays, m: str = mode) -> Node:
            part = Node(Index(s), x, *a)
            return Node(IndexUpdate(s, m), x, part * 0 + y, *a)

        case(IndexUpdate, f"{mode}{specification}", update, (4, 6), (), dtypes=NUMBERS)
for mode in ("set", "inc"):
    for specification in (
        (SliceIndex(1, 3), SliceIndex()),
        (At(1), SliceIndex(None, None, -2)),
        (At(0), At(0)),
        (SliceIndex(), SliceIndex()),
    ):

        def change(x: Node, y: Node, s: Any = specification, m: str = mode) -> Node:
            return Node(IndexUpdate(s, m), x, Node(Index(s), x) * y)

        case(IndexUpdate, f"{mode}{specification}", change, (4, 6), (), dtypes=NUMBERS)

case(MaskPositions, "", mask_positions, (3, 5), expected=np.flatnonzero, dtypes=("bool",), symbolic=False)
case(MaskPositions, "of nothing", mask_positions, (0,), expected=np.flatnonzero, dtypes=("bool",))

# ---- products

for left, right in (
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((0, 3), (3, 2)),
    ((2, 0), (0, 3)), ((0,), (0,)),
    ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (2, 3, 4)), ((2, 4, 3), (3,)),
    ((50, 40), (40,)), ((40, 50), (50,)), ((40,), (40, 50)), ((20, 30), (30, 25)), ((100, 3), (3,)), ((3, 100), (100,)),
    ((1, 40), (40, 35)), ((40, 35), (35, 1)),
):  # fmt: skip
    case(MatMul, f"{left}{right}", one(MatMul()), left, right, expected=np.matmul, dtypes=NUMBERS, rtol=1e-11)
case(
    MatMul, "of transposed", lambda x, y: Node(MatMul(), Node(Transpose((1, 0)), x), y), (30, 8), (30, 40),
    expected=lambda x, y: x.T @ y, rtol=1e-11,
)  # fmt: skip

# ---- factorisations


def definite(generator: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """Symmetric positive definite matrices; right sides are left without structure."""
    x = uniform(generator, shape, "float64")
    if len(shape) > 1 and shape[-1] == shape[-2]:
        x = x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])
    return np.asarray(x.astype(dtype))


def regular(generator: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """Matrices far from singular, without symmetry."""
    x = uniform(generator, shape, "float64")
    if len(shape) > 1 and shape[-1] == shape[-2]:
        x = x + 3.0 * shape[-1] * np.diag((-1.0) ** np.arange(shape[-1]))
    return np.asarray(x.astype(dtype))


def triangular_solution(a: Array, b: Array, lower: bool, transposed: bool) -> Array:
    """SciPy's, one matrix after the other."""
    result = np.empty_like(b)
    for place in np.ndindex(b.shape[:-2]):
        result[place] = scipy.linalg.solve_triangular(a[place], b[place], lower=lower, trans=int(transposed))
    return result


MATRICES: tuple[Shape, ...] = ((1, 1), (4, 4), (20, 20), (3, 2, 2), (2, 3, 5, 5), (0, 0), (2, 0, 0), (0, 3, 3))
LINEAR = {"rtol": 1e-9}
for shape in MATRICES:
    full = all(shape)
    case(
        Cholesky, f"{shape}", one(Cholesky()), shape, make=definite,
        expected=np.linalg.cholesky if full else lambda x: x, **LINEAR,
    )  # fmt: skip
    for assume, make in (("general", regular), ("positive definite", definite)):
        case(
            Inverse, f"{assume}{shape}", one(Inverse(assume)), shape, make=make,
            expected=np.linalg.inv if full else lambda x: x, **LINEAR,
        )  # fmt: skip
        case(
            LogAbsDet, f"{assume}{shape}", one(LogAbsDet(assume)), shape, make=make,
            expected=lambda x: np.linalg.slogdet(x)[1], **LINEAR,
        )  # fmt: skip
    case(Det, f"{shape}", one(Det()), shape, make=regular, expected=np.linalg.det, **LINEAR)
    case(DetSign, f"{shape}", one(DetSign()), shape, make=regular, expected=lambda x: np.linalg.slogdet(x)[0])
    for columns in (1, 3, 0):
        side = (*shape[:-1], columns)
        some = full and columns
        for assume, make in (("general", regular), ("positive definite", definite)):
            case(
                Solve, f"{assume}{shape}{columns}", one(Solve(assume)), shape, side, make=make,
                expected=np.linalg.solve if some else lambda a, b: b, **LINEAR,
            )  # fmt: skip
        case(
            InverseQuadratic, f"{shape}{columns}", one(InverseQuadratic()), shape, side, make=definite,
            expected=(lambda a, b: (b * np.linalg.solve(a, b)).sum(-2)) if some else None, **LINEAR,
        )  # fmt: skip
        for lower in (True, False):
            for transposed in (True, False):
                case(
                    SolveTriangular, f"{lower}{transposed}{shape}{columns}", one(SolveTriangular(lower, transposed)),
                    shape, side, make=regular,
                    expected=(lambda a, b, low=lower, t=transposed: triangular_solution(a, b, low, t))
                    if some
                    else lambda a, b: b,
                    **LINEAR,
                )  # fmt: skip


def banded(bands: Array, b: Array, below: int, above: int) -> Array:
    """SciPy's, one matrix after the other."""
    places = np.ndindex(b.shape[:-2])
    found = [scipy.linalg.solve_banded((below, above), bands[place], b[place]) for place in places]
    return np.array(found).reshape(b.shape)


def dominant(generator: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """Diagonals the second of which dominates."""
    x = uniform(generator, shape, "float64")
    if len(shape) > 1 and shape[-2] > 1:
        x[..., 1, :] += 9.0
    return np.asarray(x.astype(dtype))


for shape in MATRICES:
    full = all(shape)
    wide = (*shape[:-2], 7, 7)
    for kind, make in (("expm", uniform), ("logm", definite), ("sqrtm", definite)):
        case(
            MatrixFunction, f"{kind}{shape}", one(MatrixFunction(kind)), shape, make=make,
            expected=None if shape[:-2] else getattr(scipy.linalg, kind) if full else lambda x: x,
            dtypes=("float64",), **LINEAR,
        )  # fmt: skip
        case(
            MatrixFunctionDerivative, f"{kind}{shape}", one(MatrixFunctionDerivative(kind)), shape, shape,
            make=definite, dtypes=("float64",), **LINEAR,
        )  # fmt: skip
    case(
        SolveRiccati, f"{shape}", one(SolveRiccati()), shape, shape, shape, make=definite, dtypes=("float64",), **LINEAR
    )
    for transposed in (False, True):
        case(
            SolveSylvester, f"{transposed}{shape}", one(SolveSylvester(transposed)), shape, wide, (*shape[:-1], 7),
            make=definite, dtypes=("float64",), **LINEAR,
        )  # fmt: skip


def of_pairs(op: Op) -> Callable[[Node], Node]:
    """An op of complex numbers, whose last axis has length 2 however they are given."""
    return lambda x: Node(op, stack([x[..., 0], x[..., 1]], -1))


for shape in ((8,), (3, 6), (7,), (1,), (34,), (2, 17), (0, 4), (0,)):
    n = shape[-1]
    case(RealFourier, f"{shape}", one(RealFourier()), shape, dtypes=("float64",), **LINEAR)
    case(
        InverseRealFourier, f"{shape}", of_pairs(InverseRealFourier(n)), (*shape[:-1], n // 2 + 1, 2),
        dtypes=("float64",), **LINEAR,
    )  # fmt: skip
    for inverse in (False, True):
        case(
            FourierTransform, f"{inverse}{shape}", of_pairs(FourierTransform(inverse)), (*shape, 2),
            dtypes=("float64",), **LINEAR,
        )  # fmt: skip
for large, small in (
    ((1, 9), (1, 4)),
    ((5, 9), (5, 9)),
    ((2, 6, 7), (2, 2, 3)),
    ((1, 3000), (1, 900)),
):
    case(Correlate, f"{large}{small}", one(Correlate()), large, small, dtypes=("float64",), **LINEAR)


def by_factors(bands: Node, b: Node, transposed: bool) -> list[Node]:
    """A tridiagonal system by way of the factors, and these."""
    factors = Node(TridiagonalLU(), bands)
    packed, exchanged = Node(Item(0), factors), Node(Item(1), factors)
    return [Node(TridiagonalLUSolve(transposed), packed, exchanged, b), packed, exchanged]


for shape in ((7,), (3, 7), (1,), (2,), (0,), (0, 4)):
    for op, turned in ((TridiagonalLU, False), (TridiagonalLUSolve, True)):
        case(
            op, f"{shape}", lambda x, b, turned=turned: by_factors(x, b, turned),
            (*shape[:-1], 3, shape[-1]), (*shape, 2),
            dtypes=("float64",), **LINEAR,
        )  # fmt: skip
for shape in ((7,), (3, 7), (1,), (0,), (0, 4)):
    for below, above in ((0, 1), (1, 1), (2, 1), (3, 1)):
        for columns in (1, 4, 0):
            bands, side = (*shape[:-1], below + above + 1, shape[-1]), (*shape, columns)
            case(
                SolveBanded, f"{below}{above}{shape}{columns}", one(SolveBanded(below, above)), bands, side,
                make=dominant,
                expected=(lambda x, b, low=below, up=above: banded(x, b, low, up))
                if columns and all(shape) and shape[-1] > below
                else None,
                dtypes=("float64",), **LINEAR,
            )  # fmt: skip


def decaying(generator: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """The first column of a symmetric Toeplitz matrix whose diagonal dominates; right sides are left as they are."""
    x = uniform(generator, shape, "float64")
    if len(shape) == 1:
        x = np.append(1.0, 0.1 * x[1:] * 0.5 ** np.arange(len(x) - 1))
    return np.asarray(x.astype(dtype))


def inverse_column(c: Node) -> Node:
    """The first column of the inverse of the matrix."""
    return Node(ToeplitzInverse(), c)[0]


def dense_sums(matrix: Array) -> Array:
    """Sums along the diagonal, and along those on both sides of it."""
    return np.array([np.trace(matrix)] + [np.trace(matrix + matrix.T, k) for k in range(1, len(matrix))])


for n in (1, 2, 3, 9, 40):
    case(
        ToeplitzInverse, f"{n}", one(ToeplitzInverse()), (n,), make=decaying, dtypes=("float64",), symbolic=False,
        expected=lambda c: np.stack([
            np.linalg.inv(scipy.linalg.toeplitz(c))[0],
            np.square(np.diagonal(np.linalg.cholesky(scipy.linalg.toeplitz(c)))),
        ]),
        **LINEAR,
    )  # fmt: skip
    case(
        ToeplitzSolve, f"{n}", lambda c, b: [Node(ToeplitzSolve(), inverse_column(c), b)], (n,), (n, 2), make=decaying,
        expected=lambda c, b: np.linalg.solve(scipy.linalg.toeplitz(c), b),
        dtypes=("float64",), symbolic=False, **LINEAR,
    )  # fmt: skip
    case(
        ToeplitzInverseSums, f"{n}", lambda c: [Node(ToeplitzInverseSums(), inverse_column(c))], (n,), make=decaying,
        expected=lambda c: dense_sums(np.linalg.inv(scipy.linalg.toeplitz(c))),
        dtypes=("float64",), symbolic=False, **LINEAR,
    )  # fmt: skip
    for columns in (1, 3):
        case(
            DiagonalSums, f"{n}{columns}", one(DiagonalSums()), (n, columns), (n, columns),
            expected=lambda u, v: dense_sums(u @ v.T),
            dtypes=("float64",), symbolic=False, **LINEAR,
        )  # fmt: skip

# ---- structured matrices

for shape in ((5,), (1,), (0,), (2, 3)):
    case(
        DiagonalMatrix, f"{shape}", one(DiagonalMatrix()), shape, dtypes=ALL,
        expected=np.diag if len(shape) == 1 else None,
    )  # fmt: skip
for left, right in (((2, 3), (4, 5)), ((1, 1), (3, 2)), ((0, 2), (2, 2)), ((3, 2, 2), (3, 1, 4))):
    case(
        Kronecker, f"{left}{right}", one(Kronecker()), left, right,
        expected=np.kron if len(left) == 2 and all(left) else None,
    )  # fmt: skip
    case(
        BlockDiagonal, f"{left}{right}", one(BlockDiagonal()), left, right, left, dtypes=NUMBERS,
        expected=scipy.linalg.block_diag if len(left) == 2 else None,
    )  # fmt: skip

# ---- branches

for shape in ((), (0,), (3,), (2, 17)):
    case(
        type(cond(True, constant(1.0), constant(2.0)).inputs[0].op), f"{shape}",
        lambda x, y: cond(x.sum() > 0, [x + y, x], [y * y, y]),
        shape, shape,
        expected=lambda x, y: [x + y, x] if x.sum() > 0 else [y * y, y], dtypes=("float64", "int64"),
    )  # fmt: skip
case(
    type(cond(True, constant(1.0), constant(2.0)).op), "in a branch",
    lambda x, y: cond(x > 0, cond(y > 0, x + y, x - y), cond(y > 0, x * y, y)) * 2, (), (),
    expected=lambda x, y: 2 * ((x + y if y > 0 else x - y) if x > 0 else (x * y if y > 0 else y)),
)  # fmt: skip

# ---- loops


def carried_along(x: Node, y: Node) -> list[Node]:
    """A sum with a decay over the rows of x that begins at y: all values, the last one, and the number of steps."""
    row, last = fresh(x[0]), fresh(y)
    loop = scan({last: (y, row + last * cast(2, y.dtype))}, {row: x}, [row * last], length=x.static_shape[0])
    return [*loop.traces, *loop.last, loop.steps]


def carried_by_numpy(x: Array, y: Array) -> list[Array]:
    """The same in NumPy."""
    found, last = [], y
    for row in x:
        found.append(row * last)
        last = row + last * y.dtype.type(2)
    return [np.array(found), last, np.array(len(x))]


for shape in ((), (1,), (3,), (5, 4)):
    case(
        Scan, f"{shape}", carried_along, (6, *shape), shape, expected=carried_by_numpy,
        dtypes=("float64", "float32", "int64", "int32"),
    )  # fmt: skip

ELSEWHERE: dict[type[Op], str] = {
    **dict.fromkeys(FACTORISATIONS, "test_factorisations.py: factors are compared as far as they are unique"),
    Asserted: "tests/test_modules_of_graphs.py: it raises what no other op does",
    FunctionCall: "tests/tensor/test_functions.py: written out before any backend sees it",
    PythonCall: "tests/tensor/test_functions.py: computed by the user's function",
    Input: "every test has inputs",
    Shared: "test_function.py: values come from contexts",
    Parameter: "lives inside the regions of Cond",
    Constant: "test_constants_are_results",
    Key: "test_random_draws_are_the_same_on_every_backend",
    Collective: "tests/transforms/test_vmap.py: it has no value before batching makes a reduction of it",
    ParameterCheck: "tests/distributions/test_densities.py: it raises what no other op does",
    type(length_of(inputs_like([np.zeros(3)], symbolic=True)[0].static_shape[0]).op): "test_lengths_as_values",
}  # fmt: skip


# ---- sparse matrices: a 4 x 5 matrix with 6 entries, an empty row and an empty column; and one without entries

COLUMNS, BEGINS = np.array([0, 3, 1, 4, 0, 4]), np.array([0, 2, 2, 4, 6])
for places, begins in ((COLUMNS, BEGINS), (COLUMNS[:0], 0 * BEGINS)):
    for kind in ("int32", "int64"):
        at = (constant(places.astype(kind)), constant(begins.astype(kind)))
        count = len(places)

        def sparse(data: Array, columns: Array = places, starts: Array = begins) -> Any:
            return scipy.sparse.csr_matrix((data, columns, starts), shape=(4, 5))

        for width in (0, 1, 3, 11):
            name = f"{count} {kind} {width}"
            case(SparseProduct, name, lambda d, x, at=at: Node(SparseProduct(5), d, *at, x), (count,), (5, width),
                 expected=lambda d, x, of=sparse: of(d) @ x)  # fmt: skip
            case(TransposedSparseProduct, name, lambda d, x, at=at: Node(TransposedSparseProduct(5), d, *at, x),
                 (count,), (4, width), expected=lambda d, x, of=sparse: of(d).T @ x)  # fmt: skip
            case(SampledProduct, name, lambda u, v, at=at: Node(SampledProduct(), u, v, *at), (4, width), (5, width),
                 expected=lambda u, v, of=sparse, n=count: of(np.ones(n)).multiply(u @ v.T).tocsr().data
                 if u.size else np.zeros(n))  # fmt: skip


# Factors of a matrix that is 0 but for its diagonal, its first row and its first column, in the order in which nothing
# is added, and in the worst order, in which everything is.

for worst in (False, True):
    few = np.eye(4) + np.outer(np.arange(4) == 3, np.ones(4)) + np.outer(np.ones(4), np.arange(4) == 3) > 0
    low = np.tril(np.ones((4, 4)) > 0 if worst else few)
    inside = np.nonzero(low.T)[::-1]  # column by column
    left = np.flatnonzero(inside[0] > inside[1])
    left = left[np.argsort(inside[0][left], kind="stable")]
    ends = np.searchsorted(inside[1], np.arange(5))
    line_ends = np.searchsorted(inside[0][left], np.arange(5))
    pattern = [constant(a.astype("int32")) for a in (inside[0], ends, line_ends, left, inside[1][left])]

    def lower(rng: np.random.Generator, shape: Shape, dtype: str, at: Any = inside) -> Array:
        if shape[-1] != len(at[0]):
            return uniform(rng, shape, dtype)
        return np.asarray(rng.uniform(0.1, 1.0, shape) + 4.0 * (at[0] == at[1]))

    for batch in ((), (3,), (2, 0)):
        more: dict[str, Any] = {"make": lower, "dtypes": ("float64",)}
        size = (*batch, len(inside[0]))
        case(SparseCholesky, f"{worst}{batch}", lambda v, p=pattern: Node(SparseCholesky(), v, *p), size, **more)
        case(SparseCholeskyPullback, f"{worst}{batch}",
             lambda f, g, p=pattern: Node(SparseCholeskyPullback(), f, g, *p), size, size,
             rtol=1e-11, **more)  # fmt: skip
        for turned in (False, True):
            case(SparseTriangularSolve, f"{worst}{batch}{turned}",
                 lambda f, b, p=pattern, t=turned: Node(SparseTriangularSolve(t), f, b, *p[:2]), size, (*batch, 4, 2),
                 rtol=1e-11, **more)  # fmt: skip


# State spaces: y, and vectors of which T, Z, h, Q and P1 are made; all of a batch.


def space(y: Node, vector: Node, slopes: int | None, diffuse: bool) -> Node:
    """The log density, or one of its slopes."""
    batch = y.static_shape[:-2]
    outer = vector[..., :, None] * vector[..., None, :]
    matrices = [y, vector[..., None, None, :], 1.0 + vector[..., None, :1] ** 2, outer[..., None, :, :] * 0.2,
                outer[..., None, :, :], vector[..., None, :], vector, outer]  # fmt: skip
    free = constant(np.eye(1, 3)[0] * diffuse)
    whole = Node(KalmanFilter("", diffuse), *matrices, free)
    if slopes is None:
        return Node(Item(0), whole)
    assert len(batch) == y.ndim - 2
    return Node(Item(slopes), Node(KalmanSlopes("", diffuse), *matrices, free, Node(Item(1), whole)))


for batch in ((), (3,), (2, 0)):
    for diffuse in (False, True):
        more = {"dtypes": ("float64",), **LINEAR}
        sides = ((*batch, 40, 1), (*batch, 3))
        case(KalmanFilter, f"{batch}{diffuse}", lambda y, v, d=diffuse: space(y, v, None, d), *sides, **more)
        for k in range(6 if diffuse else 8):  # of rank 1: the diffuse state tells all, a1 and P1 nothing
            case(KalmanSlopes, f"{batch}{diffuse}{k}", lambda y, v, k=k, d=diffuse: space(y, v, k, d), *sides, **more)


def operands(row: Case, dtype: str, seed: int) -> list[Array]:
    """Operands of a case."""
    generator = np.random.default_rng(seed)
    make = row.make or uniform
    return [make(generator, shape, dtype) for shape in row.shapes]


def strided(array: Array) -> Array:
    """The same numbers, not contiguous in memory: every second element of a reversed copy."""
    if not array.ndim:
        return array
    wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
    view = wide[tuple(slice(None, None, -2) for _ in array.shape)]
    view[...] = array
    return np.asarray(view)


def scale_of(row: Case, arrays: Sequence[Array]) -> float:
    """Magnitude of the terms of sums: what cancellation is measured by."""
    if row.op in (
        Reduce,
        MatMul,
        Cumulative,
        BroadcastTo,
        Index,
        LogAbsDet,
        Solve,
        SolveTriangular,
        Inverse,
        InverseQuadratic,
        FourierTransform,
        RealFourier,
        InverseRealFourier,
        Correlate,
    ):
        return float(max([1.0, *(np.abs(a.astype("float64")).max() for a in arrays if a.size)])) ** 2
    return 0.0


over_ops = pytest.mark.parametrize("op", sorted({row.op for row in CASES}, key=lambda op: op.__name__))


def rows_of(op: type[Op]) -> list[tuple[str, tuple[Case, str]]]:
    """The cases of an op, each with every dtype that it is for."""
    return [(f"{row.name} {dtype}", (row, dtype)) for row in CASES if row.op is op for dtype in row.dtypes]


@over_ops
def test_op(op: type[Op]) -> None:
    """Static lengths and contiguous arrays, then symbolic lengths (where meant) and strided arrays."""

    def same_on_both(case: tuple[Case, str]) -> None:
        row, dtype = case
        arrays = operands(row, dtype, 1)
        rtol = row.rtol if dtype == "float64" else None
        agree(row.build, arrays, expected=row.expected, rtol=rtol, scale=scale_of(row, arrays))
        views = [strided(a) for a in arrays]
        agree(row.build, views, expected=row.expected, rtol=rtol, scale=scale_of(row, arrays), symbolic=row.symbolic)

    holds_for_each(rows_of(op), same_on_both)


def test_every_op_has_a_case() -> None:
    """No op class is left out."""
    known = {row.op for row in CASES} | set(ELSEWHERE)
    below = ("consilience.ir.", "consilience.ops.")  # what lowering makes itself is tested through these
    found = {name for name, op in Op.classes.items() if op not in known and op.__module__.startswith(below)}
    assert {name for name in found if not name.startswith("_")} == set(), "these have no case"


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 17)])
def test_constants_are_results(dtype: str, shape: Shape) -> None:
    """A constant as an output, alone and as an operand."""
    array = uniform(np.random.default_rng(4), shape, dtype)
    agree(lambda x: [constant(array), Node(Elementwise("maximum"), x, constant(array))], [array],
          expected=lambda x: [array, x])  # fmt: skip


def test_lengths_as_values() -> None:
    """A symbolic length is an int64 scalar."""
    (x,) = inputs_like([np.zeros((3, 0))], symbolic=True)
    first, second = (length_of(n) for n in x.static_shape)
    for run in (run_reference, run_llvm):
        values = run([x], [first, second, first * 2 + second, cast(first, "float64")], [np.zeros((3, 0))])
        assert [v.item() for v in values] == [3, 0, 6, 3.0]


@pytest.mark.parametrize("seed", [0, 1, -1, 2**63 - 1])
def test_random_draws_are_the_same_on_every_backend(seed: int) -> None:
    """Bit by bit where a draw is made of random bits; up to rounding where it goes through log and cos."""
    key = Node(Key(seed))
    exact = [
        draw("random_uniform", key, (5, 3)),
        draw("random_poisson", fold_in(key, 3), (7,), 2.5),
        fold_in(key, seed),
    ]
    rounded = [draw("random_normal", key, (5, 3)), draw("random_gamma", key, (7,), 2.5)]
    outputs = [*exact, *rounded]
    for i, (one_, other) in enumerate(zip(run_reference([], outputs, []), run_llvm([], outputs, []), strict=True)):
        np.testing.assert_allclose(one_, other, rtol=0 if i < len(exact) else 1e-12)
