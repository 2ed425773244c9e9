"""Nodes of a graph as operations of StableHLO and CHLO: one rule per op.

A node and the values of its inputs in, lines of a `Writer` and the values of the results out. An op without a rule is
written in others where `lower` knows how; the rest is refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from consilience.errors import MissingRuleError, ShapeError
from consilience.exports.stablehlo_text import Value, Writer
from consilience.ir import Constant, Node, Region, TensorType, constant, topological
from consilience.ir.side_tables import describe
from consilience.lower.expand import NODES, SCALARS, logsumexp
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
    apply,
)
from consilience.ops.call import FunctionCall
from consilience.ops.correlation import Correlate
from consilience.ops.fourier import FourierTransform
from consilience.ops.index import At, NewAxis, SliceIndex, Specification, gather_place
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.reduce import reduce
from consilience.ops.scan import Scan
from consilience.ops.shape import broadcast_to, expand_dims, eye
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker

Values: TypeAlias = Value | list[Value]
Rule = Callable[..., Values]


class Scope:
    """Values of the nodes of a function, or of a region, as far as they are written."""

    def __init__(self, writer: Writer, known: Mapping[Node, Values]) -> None:
        self.writer = writer
        self._known: dict[Node, Values] = dict(known)

    def value(self, node: Node) -> Value:
        """The value of a node, which is written where it is not yet known."""
        found = self._values(node)
        assert isinstance(found, Value)
        return found

    def _values(self, node: Node) -> Values:
        for each in topological([node], stop=self._known.__contains__):
            if each not in self._known:
                self._known[each] = self._written(each)
        return self._known[node]

    def _written(self, node: Node) -> Values:
        rule = RULES.get(type(node.op))
        if rule is not None:
            return rule(self, node, *(self._known[i] for i in node.inputs))
        if _opens(node):
            return self._values(NODES[type(node.op)](node))
        raise MissingRuleError(
            f"`{type(node.op).__name__}` has no form in StableHLO, in {describe(node)}; compute it outside, and give "
            "the result as an input."
        )

    def inside(self, region: Region, operands: Sequence[Values]) -> list[Value]:
        """The results of a region at given operands, written here."""
        inner = Scope(self.writer, {region.parameter(i): operand for i, operand in enumerate(operands)})
        return [inner.value(result) for result in region.results]

    def expanded(self, node: Node, other: Node) -> Value:
        """A node by way of another that has the same value."""
        found = self.value(other)
        return self.writer.broadcast(found, shape_of(node))


def _opens(node: Node) -> bool:
    """Whether `lower` writes the op in others that have a form here."""
    op = node.op
    if isinstance(op, Solve | LogAbsDet):
        return op.assume == "positive definite"
    return isinstance(op, InverseQuadratic | Softmax | DiagonalMatrix | Kronecker | BlockDiagonal)


RULES: Final[dict[type, Rule]] = {}


def prints(*ops: type) -> Callable[[Rule], Rule]:
    """Enter a function of scope, node and values as the rule of ops."""

    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, function))
        return function

    return enter


def shape_of(node: Node) -> tuple[int, ...]:
    """The shape of a node; raises ShapeError where a length depends on values."""
    shape = node.static_shape
    if not all(isinstance(n, int) for n in shape):
        raise ShapeError(f"StableHLO is written for fixed shapes, and that of {describe(node)} is open: {shape}.")
    return tuple(int(n) for n in shape)  # type: ignore[arg-type]  # all are integers


# ---- elements

_DIRECT: Final = {
    "sub": "subtract", "true_div": "divide", "neg": "negate", "sqrt": "sqrt", "cbrt": "cbrt", "minimum": "minimum",
    "maximum": "maximum", "floor": "floor", "ceil": "ceil", "round": "round_nearest_even", "exp": "exponential",
    "expm1": "exponential_minus_one", "log": "log", "log1p": "log_plus_one", "sin": "sine", "cos": "cosine",
    "tan": "tan", "tanh": "tanh", "arctan2": "atan2", "sigmoid": "logistic", "pow": "power", "fmod": "remainder",
    "logical_and": "and", "logical_or": "or", "logical_xor": "xor", "logical_not": "not", "bitwise_and": "and",
    "bitwise_or": "or", "bitwise_xor": "xor", "invert": "not", "left_shift": "shift_left", "add": "add",
    "mul": "multiply",
}  # fmt: skip
_CHLO: Final = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "erf": "erf", "erfc": "erfc", "erfinv": "erf_inv", "gammaln": "lgamma",
    "digamma": "digamma", "zeta": "zeta", "i1e": "bessel_i1e",
}  # fmt: skip
_COMPARED: Final = {"eq": "EQ", "neq": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}


def _number(x: Node, value: float) -> Node:
    return constant(np.asarray(value, x.dtype))


def _where(which: Node, x: Node, y: Node) -> Node:
    return apply("where", which, x, y)


def _signbit(x: Node) -> Node:
    """Of zeros, by the sign of their reciprocals."""
    zero = _number(x, 0)
    return apply(
        "logical_or", apply("lt", x, zero),
        apply("logical_and", apply("eq", x, zero), apply("lt", apply("true_div", _number(x, 1), x), zero)),
    )  # fmt: skip


def _mod(x: Node, y: Node) -> Node:
    """The remainder with the sign of the divisor."""
    rest, zero = apply("fmod", x, y), _number(x, 0)
    other = apply("neq", apply("lt", rest, zero), apply("lt", y, zero))
    return _where(apply("logical_and", apply("neq", rest, zero), other), apply("add", rest, y), rest)


def _floor_div(x: Node, y: Node) -> Node:
    """Of floats."""
    exact = apply("round", apply("true_div", apply("sub", x, apply("mod", x, y)), y))
    return _where(apply("eq", y, _number(y, 0)), apply("true_div", x, y), exact)


# Functions that neither StableHLO nor `lower` writes, in those that are.
_OTHERS: Final[dict[str, Callable[..., Node]]] = {
    "trunc": lambda x: _where(apply("lt", x, _number(x, 0)), apply("ceil", x), apply("floor", x)),
    "signbit": _signbit,
    "copysign": lambda x, y: _where(apply("signbit", y), apply("neg", apply("abs", x)), apply("abs", x)),
    "exp2": lambda x: apply("pow", _number(x, 2), x),
    "log2": lambda x: apply("mul", apply("log", x), _number(x, 1 / math.log(2))),
    "log10": lambda x: apply("mul", apply("log", x), _number(x, 1 / math.log(10))),
    "betaln": lambda a, b: apply("gammaln", a) + apply("gammaln", b) - apply("gammaln", apply("add", a, b)),
    "mod": _mod,
}


def _integer_quotient(scope: Scope, x: Value, y: Value) -> Value:
    """Rounded down: the quotient rounded towards 0, less 1 where a rest has the sign that the divisor has not."""
    w = scope.writer
    quotient, rest = w.same("stablehlo.divide", x, y), w.same("stablehlo.remainder", x, y)
    if x.dtype.startswith("uint"):
        return quotient
    zero = w.full(0, x.shape, x.dtype)
    other = w.compare("NE", w.compare("LT", rest, zero), w.compare("LT", y, zero))
    less = w.same("stablehlo.and", other, w.compare("NE", rest, zero))
    return w.select(less, w.same("stablehlo.subtract", quotient, w.full(1, x.shape, x.dtype)), quotient)


@prints(Elementwise)
def _elementwise(scope: Scope, node: Node, *values: Value) -> Value:
    w, shape = scope.writer, shape_of(node)
    name: str = node.op.function  # type: ignore[attr-defined]  # Elementwise
    if name in _OTHERS:
        return scope.expanded(node, _OTHERS[name](*node.inputs))
    if name == "floor_div" and node.dtype.startswith("float"):
        return scope.expanded(node, _floor_div(*node.inputs))
    given = [w.broadcast(v, shape) for v in values]
    special = _SPECIAL.get(name)
    if special is not None:
        return special(scope, *given)
    if name in _COMPARED:
        return w.compare(_COMPARED[name], *given)
    if name in _DIRECT:
        found = given[0]
        for other in given[1:]:
            found = w.same(f"stablehlo.{_DIRECT[name]}", found, other)
        return found if len(given) > 1 else w.same(f"stablehlo.{_DIRECT[name]}", found)
    if name in _CHLO:
        return w.chlo(_CHLO[name], *given)
    if name in SCALARS:
        return scope.expanded(node, SCALARS[name](*node.inputs))
    raise MissingRuleError(
        f"`{name}` has no form in StableHLO, in {describe(node)}; compute it outside, and give the result as an input."
    )


def _abs(scope: Scope, x: Value) -> Value:
    return x if x.dtype.startswith("uint") else scope.writer.same("stablehlo.abs", x)


def _sign(scope: Scope, x: Value) -> Value:
    w = scope.writer
    if not x.dtype.startswith("uint"):
        return w.same("stablehlo.sign", x)
    return w.convert(w.compare("NE", x, w.full(0, x.shape, x.dtype)), x.dtype)


def _part(name: str) -> Callable[[Scope, Value], Value]:
    return lambda scope, x: scope.writer.op(f"stablehlo.{name}", [x], x.shape, _real(x.dtype))


def _real(dtype: str) -> str:
    return {"complex128": "float64", "complex64": "float32"}[dtype]


def _complex(scope: Scope, x: Value, y: Value) -> Value:
    return scope.writer.op("stablehlo.complex", [x, y], x.shape, {"float32": "complex64"}.get(x.dtype, "complex128"))


def _angle(scope: Scope, x: Value) -> Value:
    return scope.writer.same("stablehlo.atan2", _part("imag")(scope, x), _part("real")(scope, x))


def _conj(scope: Scope, x: Value) -> Value:
    w = scope.writer
    return _complex(scope, _part("real")(scope, x), w.same("stablehlo.negate", _part("imag")(scope, x)))


def _trigamma(scope: Scope, x: Value) -> Value:
    return scope.writer.chlo("polygamma", scope.writer.full(1, x.shape, x.dtype), x)


def _right_shift(scope: Scope, x: Value, by: Value) -> Value:
    way = "logical" if x.dtype.startswith("uint") else "arithmetic"
    return scope.writer.same(f"stablehlo.shift_right_{way}", x, by)


_SPECIAL: Final[dict[str, Callable[..., Value]]] = {
    "abs": _abs, "sign": _sign, "modulus": _part("abs"), "real": _part("real"), "imag": _part("imag"),
    "complex": _complex, "angle": _angle, "conj": _conj, "trigamma": _trigamma, "right_shift": _right_shift,
    "floor_div": _integer_quotient,
    "isnan": lambda scope, x: scope.writer.compare("NE", x, x),
    "isfinite": lambda scope, x: scope.writer.op("stablehlo.is_finite", [x], x.shape, "bool"),
    "where": lambda scope, which, x, y: scope.writer.select(which, x, y),
}  # fmt: skip


@prints(Cast)
def _cast(scope: Scope, node: Node, x: Value) -> Value:
    w = scope.writer
    if node.dtype == "bool" and x.dtype != "bool":
        return w.compare("NE", x, w.full(0, x.shape, x.dtype))
    return w.convert(x, node.dtype)


@prints(Assume, Require, StopGradient, AlteredGradient)
def _itself(scope: Scope, node: Node, x: Value) -> Value:
    return x


@prints(ParameterCheck, Asserted)
def _checked(scope: Scope, node: Node, x: Value, valid: Value, *_parameter: Value) -> Value:
    """NaN where a check fails: StableHLO has no errors."""
    w = scope.writer
    if not node.dtype.startswith("float"):
        raise MissingRuleError(f"a check of {node.dtype} has no form in StableHLO, in {describe(node)}.")
    holds = w.reduce("and", valid, True, range(valid.ndim))
    return w.select(w.broadcast(holds, x.shape), x, w.full(np.nan, x.shape, x.dtype))


# ---- shapes


@prints(Constant)
def _constant(scope: Scope, node: Node) -> Value:
    return scope.writer.constant(node.op.array, node.dtype)  # type: ignore[attr-defined]  # Constant


@prints(Reshape, ExpandDims, Squeeze)
def _reshape(scope: Scope, node: Node, x: Value) -> Value:
    return scope.writer.reshape(x, shape_of(node))


@prints(BroadcastTo)
def _broadcast_to(scope: Scope, node: Node, x: Value) -> Value:
    return scope.writer.broadcast(x, shape_of(node))


@prints(Transpose)
def _transpose(scope: Scope, node: Node, x: Value) -> Value:
    return scope.writer.transpose(x, node.op.axes)  # type: ignore[attr-defined]  # Transpose


@prints(Concatenate)
def _concatenate(scope: Scope, node: Node, *values: Value) -> Value:
    axis: int = node.op.axis  # type: ignore[attr-defined]  # Concatenate
    return scope.writer.op("stablehlo.concatenate", values, shape_of(node), node.dtype, f", dim = {axis}")


@prints(Iota)
def _iota(scope: Scope, node: Node) -> Value:
    return scope.writer.iota(shape_of(node), 0)


@prints(LengthOf)
def _length_of(scope: Scope, node: Node) -> Value:
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
def _reduce(scope: Scope, node: Node, x: Value) -> Value:
    op = node.op
    assert isinstance(op, Reduce)
    if op.kind == "logsumexp":
        return scope.expanded(node, logsumexp(node))
    return scope.writer.reduce(_REDUCED[op.kind], x, _start(op.kind, x.dtype), op.axes)


@prints(ArgReduce)
def _arg_reduce(scope: Scope, node: Node, x: Value) -> Value:
    """The first of the greatest or the least, or the first NaN: pairs of values and places are reduced."""
    op, w = node.op, scope.writer
    assert isinstance(op, ArgReduce)
    starts = [w.constant(_start(op.kind, x.dtype), x.dtype), w.constant(0, "int64")]
    places = w.iota(x.shape, op.axis)
    a, b = (Value(w.fresh("%a"), (), x.dtype) for _ in range(2)), (Value(w.fresh("%i"), (), "int64") for _ in range(2))
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
def _cumulative(scope: Scope, node: Node, x: Value) -> Value:
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
    left, right = (Value(w.fresh("%a"), (), x.dtype) for _ in range(2))

    def body() -> None:
        w.block("bb0", [left, right])
        w.returns([w.same(f"stablehlo.{_REDUCED[op.kind]}", left, right)])

    properties = (
        f"base_dilations = array<i64: {ones}>, padding = dense<{padding}> : tensor<{x.ndim}x2xi64>, "
        f"window_dilations = array<i64: {ones}>, window_dimensions = array<i64: {sizes}>, "
        f"window_strides = array<i64: {ones}>"
    )
    return w.generic("reduce_window", [x, start], [(x.shape, x.dtype)], properties, [body])[0]


def _sorted(scope: Scope, values: Sequence[Value], axis: int) -> list[Value]:
    """Values in the order of the first; equal ones keep their order, and NaN stands behind all numbers."""
    w = scope.writer
    arguments = [Value(w.fresh("%a"), (), v.dtype) for v in values for _ in range(2)]

    def clean(x: Value) -> Value:
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
def _sort(scope: Scope, node: Node, x: Value) -> Value:
    return _sorted(scope, [x], node.op.axis)[0]  # type: ignore[attr-defined]  # Sort


@prints(ArgSort)
def _argsort(scope: Scope, node: Node, x: Value) -> Value:
    axis: int = node.op.axis  # type: ignore[attr-defined]  # ArgSort
    return _sorted(scope, [x, scope.writer.iota(x.shape, axis)], axis)[1]


@prints(SearchSorted)
def _search_sorted(scope: Scope, node: Node, vectors: Value, values: Value) -> Value:
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
def _matmul(scope: Scope, node: Node, a: Value, b: Value) -> Value:
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
def _cholesky(scope: Scope, node: Node, x: Value) -> Value:
    """The lower factor; what stands above it in StableHLO is open."""
    w = scope.writer
    if 0 in x.shape:
        return x
    factor = w.op("stablehlo.cholesky", [x], x.shape, x.dtype, ", lower = true")
    below = w.compare("GE", w.iota(x.shape, x.ndim - 2), w.iota(x.shape, x.ndim - 1))
    return w.select(below, factor, w.full(0, x.shape, x.dtype))


@prints(SolveTriangular)
def _solve_triangular(scope: Scope, node: Node, a: Value, b: Value) -> Value:
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
def _inverse(scope: Scope, node: Node, x: Value) -> Value:
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
def _correlate(scope: Scope, node: Node, x: Value, kernel: Value) -> Value:
    """A convolution of as many groups as there are signals in the batch."""
    w = scope.writer
    count = math.prod(x.shape[:-2])
    large, small = w.reshape(x, (1, count, *x.shape[-2:])), w.reshape(kernel, (count, 1, *kernel.shape[-2:]))
    shape = shape_of(node)
    written = (
        " dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]} "
        f"{{batch_group_count = 1 : i64, feature_group_count = {count} : i64}}"
    )
    result = Value(w.fresh(), (1, count, *shape[-2:]), node.dtype)
    types = f"({large.type}, {small.type}) -> {result.type}"
    w.line(f"{result.name} = stablehlo.convolution({large.name}, {small.name}){written} : {types}")
    return w.reshape(result, shape)


@prints(FourierTransform)
def _fourier(scope: Scope, node: Node, x: Value) -> Value:
    """Of pairs of real and imaginary parts."""
    op, w = node.op, scope.writer
    assert isinstance(op, FourierTransform)
    shape = x.shape[:-1]
    if 0 in shape:
        return x
    ends = [(0, n, 1) for n in shape]
    parts = [w.reshape(w.slice(x, [*ends, (i, i + 1, 1)]), shape) for i in (0, 1)]
    pair = _complex(scope, *parts)
    kind = "IFFT" if op.inverse else "FFT"
    found = w.op("stablehlo.fft", [pair], shape, pair.dtype, f", type = {kind}, length = [{shape[-1]}]")
    columns = [w.reshape(_part(name)(scope, found), (*shape, 1)) for name in ("real", "imag")]
    return w.op("stablehlo.concatenate", columns, x.shape, x.dtype, f", dim = {len(shape)}")


# ---- indexing


def _indexed(w: Writer, x: Value, specification: Specification, arrays: Sequence[Value]) -> Value:
    """Slices first, then what index arrays take."""
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
                raise ShapeError("StableHLO is written for fixed shapes, and a slice has bounds that are not.")
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
    place = gather_place(specification)
    return x if place is None else _gathered(w, x, gathered, arrays, place)


def _gathered(w: Writer, x: Value, axes: list[int], arrays: Sequence[Value], place: int) -> Value:
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
def _index(scope: Scope, node: Node, x: Value, *arrays: Value) -> Value:
    return _indexed(scope.writer, x, node.op.specification, arrays)  # type: ignore[attr-defined]  # Index


@prints(IndexUpdate)
def _index_update(scope: Scope, node: Node, x: Value, values: Value, *arrays: Value) -> Value:
    """The same index taken of the numbers of all places says where the values go."""
    op, w = node.op, scope.writer
    assert isinstance(op, IndexUpdate)
    count = math.prod(x.shape)
    if 0 in (count, math.prod(values.shape)):
        return x
    numbers = w.reshape(w.iota((count,), 0), x.shape)
    places = w.reshape(_indexed(w, numbers, op.specification, arrays), (math.prod(values.shape), 1))
    old, new = (Value(w.fresh("%a"), (), x.dtype) for _ in range(2))

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
def _item(scope: Scope, node: Node, members: list[Value]) -> Value:
    return members[node.op.position]  # type: ignore[attr-defined]  # Item


@prints(FunctionCall)
def _call(scope: Scope, node: Node, *operands: Value) -> list[Value]:
    return scope.inside(node.op.body, operands)  # type: ignore[attr-defined]  # FunctionCall


@prints(Cond)
def _cond(scope: Scope, node: Node, which: Value, *operands: Value) -> list[Value]:
    op, w = node.op, scope.writer
    assert isinstance(op, Cond)

    def branch(region: Region) -> Callable[[], None]:
        return lambda: w.returns(scope.inside(region, operands))

    forms = [(_fixed(t), t.dtype) for t in op.then.result_types]
    return w.generic("if", [which], forms, "", [branch(op.then), branch(op.otherwise)])


def _fixed(of: TensorType) -> tuple[int, ...]:
    if not all(isinstance(n, int) for n in of.shape):
        raise ShapeError(f"StableHLO is written for fixed shapes, and that of {of!r} is open.")
    return tuple(int(n) for n in of.shape)  # type: ignore[arg-type]  # all are integers


@prints(Scan)
def _scan(scope: Scope, node: Node, limit: Value, *operands: Value) -> list[Value]:
    """A `while` with the number of steps done, all operands and all traces among its values."""
    op, w = node.op, scope.writer
    assert isinstance(op, Scan)
    done, ended = w.constant(0, "int64"), [w.constant(False, "bool")] if op.until else []
    if op.traces and not isinstance(op.length, int):
        raise ShapeError(f"StableHLO is written for fixed shapes, and the length of {describe(node)} is open.")
    forms = [((int(op.length), *shape_of(e)), e.dtype) for e in op.elements]  # type: ignore[call-overload]  # int
    traces = [w.full(0, shape, dtype) for shape, dtype in forms]
    initial = [done, limit, *ended, *operands, *traces]
    first = 2 + len(ended)
    heads = slice(first + op.carried, first + op.carried + op.sequences)

    def arguments() -> list[Value]:
        return [Value(w.fresh("%a"), v.shape, v.dtype) for v in initial]

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
