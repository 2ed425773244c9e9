"""The NumPy meaning of every op: slow, obvious, and the oracle of every other backend.

Graph and input arrays in, arrays out. One row per op class in `MEANINGS`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends.callback import Callback
from consilience.backends.reference.meanings import MEANINGS, failed, means
from consilience.backends.shapes import Lengths, bind_computed, bind_lengths, check_shape_constraints, static_shape
from consilience.errors import MissingRuleError, OutOfBoundsError, ParameterError, ShapeError
from consilience.ir import Constant, Dim, Node, TensorType, computed_atoms, is_leaf, numpy_dtype, topological
from consilience.ir import dimension as dims
from consilience.ir.lengths import source_of
from consilience.ir.shape_constraints import collect
from consilience.ir.side_tables import describe
from consilience.lower.primitives import CholeskyInverse, LUFactor, LUPivotSign, LUSolve, SmallSolve
from consilience.ops import (
    TABLE,
    AlteredGradient,
    ArgReduce,
    Assume,
    BroadcastTo,
    Cast,
    Cholesky,
    Concatenate,
    Cond,
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
    LengthOf,
    LogAbsDet,
    MaskPositions,
    MatMul,
    Reduce,
    Require,
    Reshape,
    Softmax,
    Solve,
    SolveTriangular,
    Squeeze,
    StopGradient,
    Transpose,
)
from consilience.ops.assertion import required
from consilience.ops.call import FunctionCall
from consilience.ops.index import At, NewAxis, SliceIndex, Specification
from consilience.ops.loop import Scan
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.python_call import PythonCall, called
from consilience.ops.random import Key

Array: TypeAlias = npt.NDArray[Any]
Observer: TypeAlias = Callable[[Sequence[Node], Mapping[Node, Any]], None]

_state = threading.local()


def _op(node: Node) -> Any:
    """The op with its own attributes; which class it is follows from the table."""
    return node.op


def evaluate(
    outputs: Sequence[Node], inputs: Mapping[Node, npt.ArrayLike], known: Mapping[dims.Atom, Dim] | None = None
) -> list[Array]:
    """Values of the outputs.

    `inputs`: array for every input and shared slot the outputs depend on; dtypes are converted.
    `known`: values of lengths that the shapes of the inputs do not tell.
    Raises ShapeError.
    Raises OutOfBoundsError.
    Raises LinearAlgebraError where the computation has no value.
    """
    values: dict[Node, Any] = {}
    lengths: Lengths = dict(known or {})
    for leaf, given in inputs.items():
        array = np.asarray(given, dtype=numpy_dtype(leaf.dtype))
        bind_lengths(leaf, array.shape, lengths)
        values[leaf] = array
    for atom in computed_atoms(outputs):
        if atom not in lengths:
            source = source_of(atom)
            check_shape_constraints(collect([source]), lengths)
            _evaluate_into(values, [source], lengths)
            bind_computed(atom, int(values[source]), lengths)
    check_shape_constraints(required(outputs), lengths)
    _evaluate_into(values, outputs, lengths)
    return [values[output] for output in outputs]


def _evaluate_into(values: dict[Node, Any], outputs: Sequence[Node], lengths: Lengths) -> None:
    for node in topological(outputs, stop=values.__contains__):
        if node in values:
            continue
        if is_leaf(node):
            raise ShapeError(f"no value was given for {describe(node)}.")
        rule = MEANINGS.get(type(node.op))
        if rule is None:
            raise MissingRuleError(
                f"`{type(node.op).__name__}` has no NumPy meaning; add one with `@means({type(node.op).__name__})`."
            )
        with np.errstate(all="ignore"):
            result = rule(node, lengths, *(values[i] for i in node.inputs))
        if isinstance(node.type, TensorType):
            result = np.asarray(result)
            if result.dtype != numpy_dtype(node.dtype):
                result = result.astype(numpy_dtype(node.dtype))
        values[node] = result
    observe: Observer | None = getattr(_state, "observe", None)
    if observe is not None:
        observe(outputs, values)


@contextmanager
def observed(observe: Observer) -> Iterator[None]:
    """Inside, `observe(outputs, values)` sees all values of every evaluation of this thread.

    Loops and branches evaluate their inner graphs, with `Parameter` nodes as leaves, before the graph that holds them.
    """
    before = getattr(_state, "observe", None)
    _state.observe = observe
    try:
        yield
    finally:
        _state.observe = before


@means(Constant)
def _constant(node: Node, lengths: Lengths) -> Array:
    return np.asarray(_op(node).array)


@means(Elementwise)
def _elementwise(node: Node, lengths: Lengths, *arrays: Array) -> Array:
    return np.asarray(TABLE[_op(node).function].numpy(*arrays))


@means(Cast)
def _cast(node: Node, lengths: Lengths, x: Array) -> Array:
    target = np.dtype(node.dtype)
    if x.dtype.kind == "f" and target.kind in "iu":
        limits = np.iinfo(target)
        missing = 0.0 if target.kind == "u" else -np.inf
        wide = np.trunc(np.nan_to_num(x.astype("float64"), nan=missing, posinf=np.inf, neginf=-np.inf))
        safe = np.where((wide > float(limits.min)) & (wide < float(limits.max)), wide, 0).astype(target)
        high = np.where(wide >= float(limits.max), limits.max, safe)
        return np.where(wide <= float(limits.min), limits.min, high).astype(target)
    return x.astype(target)


@means(Assume)
@means(Require)
@means(StopGradient)
@means(AlteredGradient)
def _itself(node: Node, lengths: Lengths, x: Array) -> Array:
    return x


@means(ParameterCheck)
def _parameter_check(node: Node, lengths: Lengths, value: Array, valid: Array, parameter: Array) -> Array:
    op = node.op
    assert isinstance(op, ParameterCheck)
    if not np.all(valid):
        valid, parameter = np.asarray(valid), np.asarray(parameter)
        place = tuple(int(i) for i in np.argwhere(~valid)[0])
        event = parameter.shape[parameter.ndim - op.event_rank :]
        wrong = np.broadcast_to(parameter, valid.shape + event)[place]
        where = f" (element {', '.join(map(str, place))})" if place else ""
        shown = np.array2string(wrong, precision=6, threshold=8) if wrong.ndim else repr(wrong.item())
        raise ParameterError(f"{op.title}: {op.parameter} must be {op.rule}, got {shown}{where}.")
    return value


@means(Asserted)
def _asserted(node: Node, lengths: Lengths, value: Array, valid: Array) -> Array:
    if not np.all(valid):
        raise AssertionError(_op(node).message)
    return value


def _logsumexp(x: Array, axes: tuple[int, ...]) -> Array:
    if any(x.shape[a] == 0 for a in axes):
        return np.full(tuple(n for i, n in enumerate(x.shape) if i not in axes), -np.inf, x.dtype)
    high = np.max(x, axis=axes, keepdims=True)
    shift = np.where(np.isfinite(high), high, 0)
    total = np.log(np.sum(np.exp(x - shift), axis=axes)) + np.squeeze(shift, axis=axes)
    return np.asarray(total)


@means(Reduce)
def _reduce(node: Node, lengths: Lengths, x: Array) -> Array:
    kind, axes = _op(node).kind, _op(node).axes
    if kind == "logsumexp":
        return _logsumexp(x, axes)
    if kind in ("max", "min") and any(x.shape[a] == 0 for a in axes):
        raise ShapeError(f"`{kind}` of an empty axis has no value: {describe(node)}.")
    functions: dict[str, Callable[..., Any]] = {
        "sum": np.sum,
        "prod": np.prod,
        "max": np.max,
        "min": np.min,
        "any": np.any,
        "all": np.all,
    }
    return np.asarray(functions[kind](x, axis=axes))


@means(ArgReduce)
def _arg_reduce(node: Node, lengths: Lengths, x: Array) -> Array:
    if x.shape[_op(node).axis] == 0:
        raise ShapeError(f"`arg{_op(node).kind}` of an empty axis has no value: {describe(node)}.")
    function = np.argmax if _op(node).kind == "max" else np.argmin
    return np.asarray(function(x, axis=_op(node).axis))


@means(Softmax)
def _softmax(node: Node, lengths: Lengths, x: Array) -> Array:
    if not x.size:
        return x
    axes = _op(node).axes
    high = np.max(x, axis=axes, keepdims=True)
    if _op(node).logarithm:  # as SciPy: an infinite maximum leaves -inf at the other elements, not NaN
        shifted = x - np.where(np.isfinite(high), high, 0)
        return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=axes, keepdims=True)))
    exponentials = np.exp(x - high)
    return np.asarray(exponentials / np.sum(exponentials, axis=axes, keepdims=True))


@means(Cumulative)
def _cumulative(node: Node, lengths: Lengths, x: Array) -> Array:
    function = np.cumsum if _op(node).kind == "sum" else np.cumprod
    axis = _op(node).axis
    if _op(node).reverse:
        return np.flip(function(np.flip(x, axis), axis=axis), axis)
    return np.asarray(function(x, axis=axis))


@means(Reshape)
def _reshape(node: Node, lengths: Lengths, x: Array) -> Array:
    return x.reshape(static_shape(_op(node).shape, lengths))


@means(Transpose)
def _transpose(node: Node, lengths: Lengths, x: Array) -> Array:
    return x.transpose(_op(node).axes)


@means(ExpandDims)
def _expand_dims(node: Node, lengths: Lengths, x: Array) -> Array:
    return np.expand_dims(x, _op(node).axes)


@means(Squeeze)
def _squeeze(node: Node, lengths: Lengths, x: Array) -> Array:
    return np.squeeze(x, _op(node).axes)


@means(BroadcastTo)
def _broadcast_to(node: Node, lengths: Lengths, x: Array) -> Array:
    return np.broadcast_to(x, static_shape(_op(node).shape, lengths))


@means(Concatenate)
def _concatenate(node: Node, lengths: Lengths, *arrays: Array) -> Array:
    return np.concatenate(arrays, axis=_op(node).axis)


@means(Iota)
def _iota(node: Node, lengths: Lengths) -> Array:
    (n,) = static_shape((_op(node).length,), lengths)
    return np.arange(n, dtype="int64")


@means(LengthOf)
def _length_of(node: Node, lengths: Lengths) -> Array:
    (n,) = static_shape((_op(node).length,), lengths)
    return np.asarray(n, dtype="int64")


def numpy_index(specification: Specification, arrays: Sequence[Array], lengths: Lengths) -> tuple[Any, ...]:
    """The index NumPy understands."""
    remaining = iter(arrays)
    result: list[Any] = []
    for entry in specification:
        if isinstance(entry, SliceIndex):
            result.append(slice(*(_bound(b, lengths) for b in (entry.start, entry.stop, entry.step))))
        elif isinstance(entry, NewAxis):
            result.append(None)
        elif isinstance(entry, At):
            result.append(entry.position)
        else:
            result.append(next(remaining))
    return tuple(result)


def _bound(bound: Dim | None, lengths: Lengths) -> Dim | None:
    return None if bound is None else dims.substitute(bound, lengths)


@means(Index)
def _index(node: Node, lengths: Lengths, x: Array, *arrays: Array) -> Array:
    try:
        return np.asarray(x[numpy_index(_op(node).specification, arrays, lengths)])
    except IndexError as error:
        raise OutOfBoundsError(f"{error}, in {describe(node)}; indexed is {describe(node.inputs[0])}.") from None


@means(IndexUpdate)
def _index_update(node: Node, lengths: Lengths, x: Array, values: Array, *arrays: Array) -> Array:
    result = x.copy()
    index = numpy_index(_op(node).specification, arrays, lengths)
    try:
        if _op(node).mode == "set":
            result[index] = values
        else:
            np.add.at(result, index, values)
    except IndexError as error:
        raise OutOfBoundsError(f"{error}, in {describe(node)}; indexed is {describe(node.inputs[0])}.") from None
    return result


@means(MaskPositions)
def _mask_positions(node: Node, lengths: Lengths, mask: Array) -> Array:
    return np.flatnonzero(mask).astype("int64")


@means(Key)
def _key(node: Node, lengths: Lengths) -> Array:
    return np.asarray(_op(node).seed, dtype="int64")


@means(MatMul)
def _matmul(node: Node, lengths: Lengths, a: Array, b: Array) -> Array:
    return np.asarray(np.matmul(a, b))


def _lower_symmetric(x: Array) -> Array:
    low = np.tril(x)
    return low + np.swapaxes(np.tril(x, -1), -1, -2)


@means(Cholesky)
def _cholesky(node: Node, lengths: Lengths, x: Array) -> Array:
    if x.size == 0:
        return x
    if np.isnan(np.tril(x)).any():
        raise failed(node, "the matrix holds NaN")
    try:
        return np.asarray(np.linalg.cholesky(_lower_symmetric(x)))
    except np.linalg.LinAlgError:
        raise failed(node, "the matrix is not positive definite") from None


def _batched(function: Callable[..., Array], a: Array, b: Array) -> Array:
    result = np.empty_like(b)
    for place in np.ndindex(b.shape[:-2]):
        result[place] = function(a[place], b[place])
    return result


@means(SolveTriangular)
def _solve_triangular(node: Node, lengths: Lengths, a: Array, b: Array) -> Array:
    import scipy.linalg

    if b.size == 0:
        return b
    if (np.diagonal(a, axis1=-2, axis2=-1) == 0).any():
        raise failed(node, "the triangular matrix is singular")
    lower, transposed = _op(node).lower, _op(node).transposed
    solve: Callable[..., Array] = scipy.linalg.solve_triangular
    return _batched(lambda m, r: solve(m, r, lower=lower, trans=int(transposed), check_finite=False), a, b)


@means(Solve)
@means(SmallSolve)
def _solve(node: Node, lengths: Lengths, a: Array, b: Array) -> Array:
    if b.size == 0:
        return b
    if isinstance(node.op, Solve) and node.op.assume == "positive definite":
        factor = _cholesky(node, lengths, a)
        half = np.linalg.solve(factor, b)
        return np.asarray(np.linalg.solve(np.swapaxes(factor, -1, -2), half))
    try:
        return np.asarray(np.linalg.solve(a, b))
    except np.linalg.LinAlgError:
        raise failed(node, "the matrix is singular") from None


@means(InverseQuadratic)
def _inverse_quadratic(node: Node, lengths: Lengths, a: Array, b: Array) -> Array:
    if b.size == 0:
        return np.zeros((*b.shape[:-2], b.shape[-1]), b.dtype)
    half = np.linalg.solve(_cholesky(node, lengths, a), b)
    return np.asarray(np.square(half).sum(-2))


@means(Inverse)
def _inverse(node: Node, lengths: Lengths, x: Array) -> Array:
    if x.size == 0:
        return x
    if _op(node).assume == "positive definite":
        _cholesky(node, lengths, x)
        return np.asarray(np.linalg.inv(_lower_symmetric(x)))
    try:
        return np.asarray(np.linalg.inv(x))
    except np.linalg.LinAlgError:
        raise failed(node, "the matrix is singular") from None


@means(LogAbsDet)
def _log_abs_det(node: Node, lengths: Lengths, x: Array) -> Array:
    if _op(node).assume == "positive definite":
        factor = _cholesky(node, lengths, x)
        return np.asarray(2 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(-1))
    return _unless_nan(x, np.linalg.slogdet(x)[1])


@means(DetSign)
def _det_sign(node: Node, lengths: Lengths, x: Array) -> Array:
    return _unless_nan(x, np.linalg.slogdet(x)[0])


@means(Det)
def _det(node: Node, lengths: Lengths, x: Array) -> Array:
    return _unless_nan(x, np.linalg.det(x))


def _unless_nan(x: Array, value: Any) -> Array:
    """A number per matrix, NaN where the matrix has one: LAPACK stops at a pivot of 0 and may not see it."""
    return np.where(np.isnan(x).any((-2, -1)), np.asarray(np.nan, x.dtype), value)


# What only lowering makes: machine code folds and prepares constants with these.


@means(CholeskyInverse)
def _cholesky_inverse(node: Node, lengths: Lengths, factor: Array) -> Array:
    import scipy.linalg.lapack

    result = np.empty_like(factor)
    for place in np.ndindex(factor.shape[:-2] if factor.size else 0):
        result[place] = _lower_symmetric(scipy.linalg.lapack.dpotri(factor[place], lower=1)[0])
    return result


@means(LUFactor)
def _lu_factor(node: Node, lengths: Lengths, x: Array) -> list[Array]:
    import scipy.linalg.lapack

    packed, exchanged = np.empty_like(x), np.empty(x.shape[:-1], "int32")
    for place in np.ndindex(x.shape[:-2] if x.size else 0):
        factors, pivots, _ = scipy.linalg.lapack.dgetrf(x[place].T)
        packed[place], exchanged[place] = factors.T, pivots + 1
    return [packed, exchanged]


@means(LUPivotSign)
def _lu_pivot_sign(node: Node, lengths: Lengths, exchanged: Array) -> Array:
    kept = exchanged == np.arange(1, exchanged.shape[-1] + 1)
    return np.asarray(np.where(kept, 1.0, -1.0).prod(-1))


@means(LUSolve)
def _lu_solve(node: Node, lengths: Lengths, packed: Array, exchanged: Array, b: Array) -> Array:
    import scipy.linalg.lapack

    if (np.diagonal(packed, axis1=-2, axis2=-1) == 0).any():
        raise failed(node, "the matrix is singular")
    op: LUSolve = _op(node)
    result = np.empty_like(b)
    for place in np.ndindex(b.shape[:-2] if b.size else 0):
        given = packed[place].T, exchanged[place] - 1, b[place]
        result[place] = scipy.linalg.lapack.dgetrs(*given, trans=int(not op.transposed))[0]
    return result


@means(Cond)
def _cond(node: Node, lengths: Lengths, condition: Array, *operands: Array) -> list[Array]:
    op: Cond = _op(node)
    region, owed = (op.then, op.owed[0]) if bool(condition) else (op.otherwise, op.owed[1])
    check_shape_constraints(owed, lengths)
    values = {region.parameter(i): operand for i, operand in enumerate(operands)}
    _evaluate_into(values, region.results, lengths)
    return [values[result] for result in region.results]


@means(Scan)
def _scan(node: Node, lengths: Lengths, limit: Array, *operands: Array) -> list[Array]:
    op: Scan = _op(node)
    body = op.body
    given = {body.parameter(i): operand for i, operand in enumerate(operands)}
    inner = tuple(given)
    carries, heads = inner[: op.carried], inner[op.carried : op.carried + op.sequences]
    traces = [np.zeros(static_shape((op.length, *e.static_shape), lengths), numpy_dtype(e.dtype)) for e in op.elements]
    count, done, ended = int(limit), 0, False
    while done < count and not ended:
        place = count - 1 - done if op.reverse else done
        values = {**given, **{head: given[head][place] for head in heads}}
        _evaluate_into(values, body.results, lengths)
        for trace, element in zip(traces, op.elements, strict=True):
            trace[place] = values[element]
        given.update({carry: values[result] for carry, result in zip(carries, op.nexts, strict=True)})
        ended = op.until and bool(values[body.results[-1]])
        done += 1
    return [np.asarray(done), *(given[carry] for carry in carries), *traces]


@means(FunctionCall)
def _call(node: Node, lengths: Lengths, *operands: Array) -> list[Array]:
    body = _op(node).body
    values = {body.parameter(i): operand for i, operand in enumerate(operands)}
    _evaluate_into(values, body.results, lengths)
    return [values[result] for result in body.results]


@means(PythonCall)
def _python_call(node: Node, lengths: Lengths, *operands: Array) -> list[Array]:
    op: PythonCall = _op(node)
    return called(op, operands, [static_shape(of.shape, lengths) for of in op.results])


@means(Item)
def _item(node: Node, lengths: Lengths, members: list[Array]) -> Array:
    return np.asarray(members[_op(node).position])


class _Interpreted:
    """A graph to be evaluated op by op."""

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node], lengths: Lengths, data: Sequence[Node]) -> None:
        self.inputs, self.outputs, self.data = tuple(inputs), tuple(outputs), tuple(data)
        self.lengths = lengths

    def bind(self, values: Sequence[Array] = ()) -> _Interpretation:
        return _Interpretation(self, values)


class _Interpretation(Callback):
    """The same with values of its data."""

    def __init__(self, graph: _Interpreted, values: Sequence[Array]) -> None:
        super().__init__(graph.inputs, graph.outputs, graph.lengths)
        self._given = dict(zip(graph.data, values, strict=True))

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        values = {**self._given, **dict(zip(self._inputs, arrays, strict=True))}
        return [np.array(v) for v in evaluate(self._outputs, values, self._lengths)]


def compile(
    inputs: Sequence[Node], outputs: Sequence[Node], lengths: Lengths, data: Sequence[Node] = (), *, level: int = 2
) -> _Interpreted:
    """The graph as it is, evaluated by NumPy op by op (`registry.Compile`); nothing is optimised."""
    return _Interpreted(inputs, outputs, lengths, data)
