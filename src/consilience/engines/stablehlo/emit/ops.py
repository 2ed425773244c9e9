"""Ops on shapes, axes, matrices, indices and regions as operations of StableHLO: one rule per op.

A node and the values of its inputs in, lines of the text and the values of the results out. Elements stand in
`scalars`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from consilience.engines.stablehlo.emit.scalars import complex_of, part, real_of
from consilience.engines.stablehlo.emit.scope import HloScope, prints, shape_of
from consilience.engines.stablehlo.emit.text import HloValue, HloWriter
from consilience.errors import MissingRuleError, ShapeError
from consilience.ir import Constant, Node, Region, TensorType
from consilience.ir.side_tables import describe
from consilience.lower.expand import logsumexp
from consilience.ops import (
    AlteredGradient,
    ArgReduce,
    ArgSort,
    Assume,
    BroadcastTo,
    Cast,
    Cholesky,
    Concatenate,
    Cond,
    Cumulative,
    ExpandDims,
    Index,
    IndexUpdate,
    Inverse,
    Iota,
    Item,
    LengthOf,
    MatMul,
    Reduce,
    Require,
    Reshape,
    SearchSorted,
    SolveTriangular,
    Sort,
    Squeeze,
    StopGradient,
    Transpose,
    apply,
)
from consilience.ops.call import FunctionCall
from consilience.ops.correlation import Correlate
from consilience.ops.fourier import FourierTransform, InverseRealFourier, RealFourier
from consilience.ops.index import At, NewAxis, SliceIndex, Specification, gather_place
from consilience.ops.loop import Scan
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, expand_dims, eye


@prints(Cast)
def _cast(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    w = scope.writer
    if node.dtype == "bool" and x.dtype != "bool":
        return w.compare("NE", x, w.full(0, x.shape, x.dtype))
    return w.convert(x, node.dtype)


@prints(Assume, Require, StopGradient, AlteredGradient)
def _itself(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    return x


@prints(ParameterCheck, Asserted)
def _checked(scope: HloScope, node: Node, x: HloValue, valid: HloValue, *_parameter: HloValue) -> HloValue:
    """NaN where a check fails: StableHLO has no errors."""
    w = scope.writer
    if not node.dtype.startswith("float"):
        raise MissingRuleError(f"a check of {node.dtype} has no form in StableHLO, in {describe(node)}.")
    holds = w.reduce("and", valid, True, range(valid.ndim))
    return w.select(w.broadcast(holds, x.shape), x, w.full(np.nan, x.shape, x.dtype))


# ---- shapes


@prints(Constant)
def _constant(scope: HloScope, node: Node) -> HloValue:
    return scope.writer.constant(node.op.array, node.dtype)  # type: ignore[attr-defined]  # Constant


@prints(Reshape, ExpandDims, Squeeze)
def _reshape(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    return scope.writer.reshape(x, shape_of(node))


@prints(BroadcastTo)
def _broadcast_to(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    return scope.writer.broadcast(x, shape_of(node))


@prints(Transpose)
def _transpose(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    return scope.writer.transpose(x, node.op.axes)  # type: ignore[attr-defined]  # Transpose


@prints(Concatenate)
def _concatenate(scope: HloScope, node: Node, *values: HloValue) -> HloValue:
    axis: int = node.op.axis  # type: ignore[attr-defined]  # Concatenate
    return scope.writer.op("stablehlo.concatenate", values, shape_of(node), node.dtype, f", dim = {axis}")


@prints(Iota)
def _iota(scope: HloScope, node: Node) -> HloValue:
    return scope.writer.iota(shape_of(node), 0)


@prints(LengthOf)
def _length_of(scope: HloScope, node: Node) -> HloValue:
    length = node.op.length  # type: ignore[attr-defined]  # LengthOf
    if not isinstance(length, int):
        raise ShapeError(f"StableHLO is written for fixed shapes, and the length {length!r} is open.")
    return scope.writer.constant(length, "int64")


# ---- whole axes

_REDUCED: Final = {
    "sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "any": "or", "all": "and"
}  # fmt: skip


def _start(kind: str, dtype: str) -> Any:
    if kind in ("max", "min"):
        if dtype == "bool":
            return kind == "min"
        if dtype.startswith("float"):
            return -np.inf if kind == "max" else np.inf
        return np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max
    return {"sum": 0, "prod": 1, "any": False, "all": True}[kind]


@prints(Reduce)
def _reduce(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    op = node.op
    assert isinstance(op, Reduce)
    if op.kind == "logsumexp":
        return scope.expanded(node, logsumexp(node))
    return scope.writer.reduce(_REDUCED[op.kind], x, _start(op.kind, x.dtype), op.axes)


@prints(ArgReduce)
def _arg_reduce(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    """The first of the greatest or the least, or the first NaN: pairs of values and places are reduced."""
    op, w = node.op, scope.writer
    assert isinstance(op, ArgReduce)
    starts = [w.constant(_start(op.kind, x.dtype), x.dtype), w.constant(0, "int64")]
    places = w.iota(x.shape, op.axis)
    a, b = (
        (HloValue(w.fresh("%a"), (), x.dtype) for _ in range(2)),
        (HloValue(w.fresh("%i"), (), "int64") for _ in range(2)),
    )
    (left, right), (i, j) = a, b

    def body() -> None:
        w.block("bb0", [left, i, right, j])
        better = w.compare("GT" if op.kind == "max" else "LT", left, right)
        if x.dtype.startswith("float"):
            better = w.same("stablehlo.or", better, w.compare("NE", left, left))
        tied = w.same("stablehlo.and", w.compare("EQ", left, right), w.compare("LT", i, j))
        first = w.same("stablehlo.or", better, tied)
        w.returns([w.select(better, left, right), w.select(first, i, j)])

    shape = shape_of(node)
    return w.generic(
        "reduce", [x, places, *starts], [(shape, x.dtype), (shape, "int64")], f"dimensions = array<i64: {op.axis}>",
        [body],
    )[1]  # fmt: skip


@prints(Cumulative)
def _cumulative(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    op, w = node.op, scope.writer
    assert isinstance(op, Cumulative)
    length = x.shape[op.axis]
    if not length:
        return x
    start = w.constant(_start(op.kind, x.dtype), x.dtype)
    ones = ", ".join("1" for _ in x.shape)
    sizes = ", ".join(str(length if a == op.axis else 1) for a in range(x.ndim))
    edge = [0, length - 1] if op.reverse else [length - 1, 0]
    padding = [edge if a == op.axis else [0, 0] for a in range(x.ndim)]
    left, right = (HloValue(w.fresh("%a"), (), x.dtype) for _ in range(2))

    def body() -> None:
        w.block("bb0", [left, right])
        w.returns([w.same(f"stablehlo.{_REDUCED[op.kind]}", left, right)])

    properties = (
        f"base_dilations = array<i64: {ones}>, padding = dense<{padding}> : tensor<{x.ndim}x2xi64>, "
        f"window_dilations = array<i64: {ones}>, window_dimensions = array<i64: {sizes}>, "
        f"window_strides = array<i64: {ones}>"
    )
    return w.generic("reduce_window", [x, start], [(x.shape, x.dtype)], properties, [body])[0]


def _sorted(scope: HloScope, values: Sequence[HloValue], axis: int) -> list[HloValue]:
    """HloValues in the order of the first; equal ones keep their order, and NaN stands behind all numbers."""
    w = scope.writer
    arguments = [HloValue(w.fresh("%a"), (), v.dtype) for v in values for _ in range(2)]

    def clean(x: HloValue) -> HloValue:
        """One zero and one NaN for all."""
        if not x.dtype.startswith("float"):
            return x
        zero, nan = w.constant(0.0, x.dtype), w.constant(np.nan, x.dtype)
        whole = w.select(w.compare("EQ", x, zero), zero, x)
        return w.select(w.compare("NE", x, x), nan, whole)

    def body() -> None:
        w.block("bb0", arguments)
        w.returns([w.compare("LT", clean(arguments[0]), clean(arguments[1]), total=True)])

    properties = f"dimension = {axis} : i64, is_stable = true"
    return w.generic("sort", values, [(v.shape, v.dtype) for v in values], properties, [body])


@prints(Sort)
def _sort(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    return _sorted(scope, [x], node.op.axis)[0]  # type: ignore[attr-defined]  # Sort


@prints(ArgSort)
def _argsort(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    axis: int = node.op.axis  # type: ignore[attr-defined]  # ArgSort
    return _sorted(scope, [x, scope.writer.iota(x.shape, axis)], axis)[1]


@prints(SearchSorted)
def _search_sorted(scope: HloScope, node: Node, vectors: HloValue, values: HloValue) -> HloValue:
    """Elements that stand before, counted."""
    op = node.op
    assert isinstance(op, SearchSorted)
    vector, wanted = node.inputs
    inner = wanted.ndim - op.batch
    left = expand_dims(vector, tuple(range(op.batch, op.batch + inner)))
    right = expand_dims(wanted, wanted.ndim)

    def less(a: Node, b: Node) -> Node:
        found = apply("lt", a, b)
        if not a.dtype.startswith("float"):
            return found
        last = apply("logical_and", apply("isnan", b), apply("logical_not", apply("isnan", a)))
        return apply("logical_or", found, last)

    before = less(left, right) if op.side == "left" else apply("logical_not", less(right, left))
    return scope.value(reduce("sum", before.astype("int64"), -1))


# ---- products and factorisations


@prints(MatMul)
def _matmul(scope: HloScope, node: Node, a: HloValue, b: HloValue) -> HloValue:
    w = scope.writer
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if a.ndim > 2 or b.ndim > 2:
        if a.ndim > 1:
            a = w.broadcast(a, (*lead, *a.shape[-2:]))
        if b.ndim > 1:
            b = w.broadcast(b, (*lead, *b.shape[-2:]))
    batch = len(lead) if a.ndim > 1 and b.ndim > 1 else 0
    places = list(range(batch))
    left, right = a.ndim - 1, max(b.ndim - 2, 0)
    written = f", batching_dims = {places} x {places}" if places else ""
    written += f", contracting_dims = [{left}] x [{right}]"
    rest = [n for i, n in enumerate(a.shape) if i != left] + [n for i, n in enumerate(b.shape) if i != right][batch:]
    return w.op("stablehlo.dot_general", [a, b], rest, node.dtype, written)


@prints(Cholesky)
def _cholesky(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    """The lower factor; what stands above it in StableHLO is open."""
    w = scope.writer
    if 0 in x.shape:
        return x
    factor = w.op("stablehlo.cholesky", [x], x.shape, x.dtype, ", lower = true")
    below = w.compare("GE", w.iota(x.shape, x.ndim - 2), w.iota(x.shape, x.ndim - 1))
    return w.select(below, factor, w.full(0, x.shape, x.dtype))


@prints(SolveTriangular)
def _solve_triangular(scope: HloScope, node: Node, a: HloValue, b: HloValue) -> HloValue:
    op = node.op
    assert isinstance(op, SolveTriangular)
    if 0 in b.shape:
        return b
    way = "TRANSPOSE" if op.transposed else "NO_TRANSPOSE"
    properties = (
        f"left_side = true, lower = {'true' if op.lower else 'false'}, "
        f"transpose_a = #stablehlo<transpose {way}>, unit_diagonal = false"
    )
    return scope.writer.generic("triangular_solve", [a, b], [(b.shape, b.dtype)], properties)[0]


@prints(Inverse)
def _inverse(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    op, (of,) = node.op, node.inputs
    assert isinstance(op, Inverse)
    if op.assume != "positive definite":
        raise MissingRuleError(
            f"`Inverse` has no form in StableHLO, in {describe(node)}; that of a positive definite matrix has one."
        )
    factor = Node(Cholesky(), of)
    half = Node(SolveTriangular(True, False), factor, broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape))
    return scope.value(Node(SolveTriangular(True, True), factor, half))


@prints(Correlate)
def _correlate(scope: HloScope, node: Node, x: HloValue, kernel: HloValue) -> HloValue:
    """A convolution of as many groups as there are signals in the batch."""
    w = scope.writer
    count = math.prod(x.shape[:-2])
    large, small = w.reshape(x, (1, count, *x.shape[-2:])), w.reshape(kernel, (count, 1, *kernel.shape[-2:]))
    shape = shape_of(node)
    written = (
        " dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]} "
        f"{{batch_group_count = 1 : i64, feature_group_count = {count} : i64}}"
    )
    result = HloValue(w.fresh(), (1, count, *shape[-2:]), node.dtype)
    types = f"({large.type}, {small.type}) -> {result.type}"
    w.line(f"{result.name} = stablehlo.convolution({large.name}, {small.name}){written} : {types}")
    return w.reshape(result, shape)


def _from_pairs(scope: HloScope, x: HloValue) -> HloValue:
    """Complex numbers of pairs on the last axis."""
    w, shape = scope.writer, x.shape[:-1]
    ends = [(0, n, 1) for n in shape]
    return complex_of(scope, *(w.reshape(w.slice(x, [*ends, (i, i + 1, 1)]), shape) for i in (0, 1)))


def _to_pairs(scope: HloScope, x: HloValue) -> HloValue:
    w = scope.writer
    columns = [w.reshape(part(name)(scope, x), (*x.shape, 1)) for name in ("real", "imag")]
    return w.op("stablehlo.concatenate", columns, (*x.shape, 2), real_of(x.dtype), f", dim = {x.ndim}")


def _scaled(scope: HloScope, x: HloValue, by: int) -> HloValue:
    """StableHLO's inverse transforms are divided by their length, ours are not."""
    return scope.writer.same("stablehlo.multiply", x, scope.writer.full(by, x.shape, x.dtype))


@prints(FourierTransform)
def _fourier(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    op = node.op
    assert isinstance(op, FourierTransform)
    if 0 in x.shape:
        return x
    pairs, n = _from_pairs(scope, x), x.shape[-2]
    kind = "IFFT" if op.inverse else "FFT"
    found = scope.writer.op("stablehlo.fft", [pairs], pairs.shape, pairs.dtype, f", type = {kind}, length = [{n}]")
    return _scaled(scope, _to_pairs(scope, found), n) if op.inverse else _to_pairs(scope, found)


@prints(RealFourier)
def _real_fourier(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    shape, w = shape_of(node), scope.writer
    if 0 in x.shape:
        return w.full(0, shape, x.dtype)
    found = w.op("stablehlo.fft", [x], shape[:-1], "complex128", f", type = RFFT, length = [{x.shape[-1]}]")
    return _to_pairs(scope, found)


@prints(InverseRealFourier)
def _inverse_real_fourier(scope: HloScope, node: Node, x: HloValue) -> HloValue:
    shape, w = shape_of(node), scope.writer
    if 0 in shape:
        return w.full(0, shape, x.dtype)
    written = f", type = IRFFT, length = [{shape[-1]}]"
    return _scaled(scope, w.op("stablehlo.fft", [_from_pairs(scope, x)], shape, x.dtype, written), shape[-1])


# ---- indexing


def _indexed(w: HloWriter, node: Node, x: HloValue, arrays: Sequence[HloValue]) -> HloValue:
    """Slices first, then what index arrays take: of an array as the index of a node says."""
    specification: Specification = node.op.specification  # type: ignore[attr-defined]  # Index, IndexUpdate
    parts, back, shape, gathered = [], [], [], []
    axis = 0
    for entry in specification:
        if isinstance(entry, NewAxis):
            shape.append(1)
            continue
        length = x.shape[axis]
        if isinstance(entry, At):
            place = entry.position % length
            parts.append((place, place + 1, 1))
        elif isinstance(entry, SliceIndex):
            if not entry.static:
                raise ShapeError(
                    f"StableHLO is written for fixed shapes, and a slice has open bounds: {describe(node)}."
                )
            found = entry.range(length)
            shape.append(len(found))
            first, last = (found[0], found[-1]) if found else (0, -1)
            if found.step < 0:
                back.append(axis)
            parts.append((min(first, last) if found else 0, max(first, last) + 1 if found else 0, abs(found.step)))
        else:
            gathered.append(len(shape))
            shape.append(length)
            parts.append((0, length, 1))
        axis += 1
    x = w.slice(x, parts)
    if back:
        x = w.op("stablehlo.reverse", [x], x.shape, x.dtype, f", dims = {back}")
    x = w.reshape(x, shape)
    begin = gather_place(specification)
    return x if begin is None else _gathered(w, x, gathered, arrays, begin)


def _gathered(w: HloWriter, x: HloValue, axes: list[int], arrays: Sequence[HloValue], place: int) -> HloValue:
    """Elements at the places that index arrays count along some axes; negative ones count from the end."""
    common = np.broadcast_shapes(*(a.shape for a in arrays))
    columns = []
    for axis, array in zip(axes, arrays, strict=True):
        length = w.full(x.shape[axis], array.shape, array.dtype)
        negative = w.compare("LT", array, w.full(0, array.shape, array.dtype))
        inside = w.select(negative, w.same("stablehlo.add", array, length), array)
        columns.append(w.reshape(w.broadcast(inside, common), (*common, 1)))
    starts = columns[0]
    if len(columns) > 1:
        shape = (*common, len(columns))
        starts = w.op("stablehlo.concatenate", columns, shape, columns[0].dtype, f", dim = {len(common)}")
    kept = [n for i, n in enumerate(x.shape) if i not in axes]
    result = [*kept[:place], *common, *kept[place:]]
    if 0 in result:
        return w.full(0, result, x.dtype)
    offsets = [i for i in range(len(result)) if not place <= i < place + len(common)]
    sizes = ", ".join(str(1 if i in axes else n) for i, n in enumerate(x.shape))
    properties = (
        f"dimension_numbers = #stablehlo.gather<offset_dims = {offsets}, collapsed_slice_dims = {axes}, "
        f"start_index_map = {axes}, index_vector_dim = {len(common)}>, indices_are_sorted = false, "
        f"slice_sizes = array<i64: {sizes}>"
    )
    return w.generic("gather", [x, starts], [(result, x.dtype)], properties)[0]


@prints(Index)
def _index(scope: HloScope, node: Node, x: HloValue, *arrays: HloValue) -> HloValue:
    return _indexed(scope.writer, node, x, arrays)


@prints(IndexUpdate)
def _index_update(scope: HloScope, node: Node, x: HloValue, values: HloValue, *arrays: HloValue) -> HloValue:
    """The same index taken of the numbers of all places says where the values go."""
    op, w = node.op, scope.writer
    assert isinstance(op, IndexUpdate)
    count = math.prod(x.shape)
    if 0 in (count, math.prod(values.shape)):
        return x
    numbers = w.reshape(w.iota((count,), 0), x.shape)
    places = w.reshape(_indexed(w, node, numbers, arrays), (math.prod(values.shape), 1))
    old, new = (HloValue(w.fresh("%a"), (), x.dtype) for _ in range(2))

    def body() -> None:
        w.block("bb0", [old, new])
        w.returns([new if op.mode == "set" else w.same("stablehlo.add", old, new)])

    properties = (
        "indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false"
    )
    operands = [w.reshape(x, (count,)), places, w.reshape(values, (math.prod(values.shape),))]
    return w.reshape(w.generic("scatter", operands, [((count,), x.dtype)], properties, [body])[0], x.shape)


# ---- branches, loops and functions


@prints(Item)
def _item(scope: HloScope, node: Node, members: list[HloValue]) -> HloValue:
    return members[node.op.position]  # type: ignore[attr-defined]  # Item


@prints(FunctionCall)
def _call(scope: HloScope, node: Node, *operands: HloValue) -> list[HloValue]:
    return scope.inside(node.op.body, operands)  # type: ignore[attr-defined]  # FunctionCall


@prints(Cond)
def _cond(scope: HloScope, node: Node, which: HloValue, *operands: HloValue) -> list[HloValue]:
    op, w = node.op, scope.writer
    assert isinstance(op, Cond)

    def branch(region: Region) -> Callable[[], None]:
        return lambda: w.returns(scope.inside(region, operands))

    forms = [(_fixed(t), t.dtype) for t in op.then.result_types]
    return w.generic("if", [which], forms, "", [branch(op.then), branch(op.otherwise)])


def _fixed(of: TensorType) -> tuple[int, ...]:
    if not all(isinstance(n, int) for n in of.shape):
        raise ShapeError(f"StableHLO is written for fixed shapes, and that of {of!r} is open.")
    return tuple(int(n) for n in of.shape)


@prints(Scan)
def _scan(scope: HloScope, node: Node, limit: HloValue, *operands: HloValue) -> list[HloValue]:
    """A `while` with the number of steps done, all operands and all traces among its values."""
    op, w = node.op, scope.writer
    assert isinstance(op, Scan)
    done, ended = w.constant(0, "int64"), [w.constant(False, "bool")] if op.until else []
    if op.traces and not isinstance(op.length, int):
        raise ShapeError(f"StableHLO is written for fixed shapes, and the length of {describe(node)} is open.")
    forms = [((int(op.length), *shape_of(e)), e.dtype) for e in op.elements]
    traces = [w.full(0, shape, dtype) for shape, dtype in forms]
    initial = [done, limit, *ended, *operands, *traces]
    first = 2 + len(ended)
    heads = slice(first + op.carried, first + op.carried + op.sequences)

    def arguments() -> list[HloValue]:
        return [HloValue(w.fresh("%a"), v.shape, v.dtype) for v in initial]

    def test() -> None:
        own = arguments()
        w.block("bb0", own)
        goes = w.compare("LT", own[0], own[1])
        w.returns([w.same("stablehlo.and", goes, w.same("stablehlo.not", own[2])) if op.until else goes])

    def body() -> None:
        own = arguments()
        w.block("bb0", own)
        one, zero = w.constant(1, "int64"), w.constant(0, "int64")
        following = w.same("stablehlo.add", own[0], one)
        place = w.same("stablehlo.subtract", own[1], following) if op.reverse else own[0]
        elements = []
        for sequence in own[heads]:
            rest = sequence.shape[1:]
            sizes = ", ".join(str(n) for n in (1, *rest))
            starts = [place, *(zero for _ in rest)]
            taken = w.op(
                "stablehlo.dynamic_slice", [sequence, *starts], (1, *rest), sequence.dtype, f", sizes = [{sizes}]"
            )
            elements.append(w.reshape(taken, rest))
        given = own[first : first + len(operands)]
        given[op.carried : op.carried + op.sequences] = elements
        results = scope.inside(op.body, given)
        written = []
        for trace, element in zip(own[first + len(operands) :], results[op.carried :], strict=False):
            row = w.reshape(element, (1, *element.shape))
            starts = [place, *(zero for _ in element.shape)]
            written.append(w.op("stablehlo.dynamic_update_slice", [trace, row, *starts], trace.shape, trace.dtype))
        kept = own[first + op.carried : first + len(operands)]
        stop = [results[-1]] if op.until else []
        w.returns([following, own[1], *stop, *results[: op.carried], *kept, *written])

    found = w.generic("while", initial, [(v.shape, v.dtype) for v in initial], "", [test, body])
    return [found[0], *found[first : first + op.carried], *found[first + len(operands) :]]
