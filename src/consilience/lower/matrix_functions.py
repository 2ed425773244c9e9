"""Functions of matrices: Pade approximants with scaling and squaring, and roots of Schur forms.

Sources: N. Higham (2005), "The scaling and squaring method for the matrix exponential revisited"; A. Al-Mohy and
N. Higham (2009), "A new scaling and squaring algorithm for the matrix exponential"; A. Bjorck and S. Hammarling (1983),
"A Schur method for the square root of a matrix"; N. Higham (2008), "Functions of Matrices", chapter 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from consilience.ir import Node, Op, TensorType, TupleType
from consilience.lower.expand import expands
from consilience.lower.fortran import (
    Argument,
    at,
    batch_loop,
    fail_unless,
    fortran_char,
    fortran_double,
    fortran_int,
    last_length,
    succeeded,
)
from consilience.lower.routines import routine
from consilience.native.loops import Builder, Value, f64, i32, i64, ptr
from consilience.ops import Item, Solve, apply, cast
from consilience.ops.factorisations import Schur
from consilience.ops.linalg import matrix_transpose
from consilience.ops.matrix_functions import MatrixFunction, MatrixFunctionDerivative, in_corner
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, expand_dims, eye

# Coefficients of the Pade approximant of degree 13, and the norm up to which it is exact to rounding.
PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
GREATEST_NORM = 4.25
# Roots are taken until a matrix is as near as this to the identity, where quadrature finds its logarithm.
NEAR = 0.25
MOST_ROOTS = 100
NODES = 8


class RepeatedSquare(Op):
    """`x` to the power 2 ** count; one count per matrix."""

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type


class TriangularRoot(Op):
    """The principal square root of T', for T that is zero above its diagonal blocks of length 1 or 2, transposed.

    With `repeated` the root of the root, and so on until the result is near the identity. The second result is the
    number of roots taken, as a float64.
    """

    repeated: bool

    def result_type(self, *inputs: Node) -> TupleType:
        of = inputs[0].tensor_type
        return TupleType((of, of.with_shape(of.shape[:-2])))


@expands(MatrixFunction)
def expand_matrix_function(node: Node) -> Node:
    """The exponential by Pade approximants, roots by a Schur form, the logarithm by roots and quadrature."""
    op = node.op
    assert isinstance(op, MatrixFunction)
    (x,) = node.inputs
    if 0 in x.static_shape:
        return x
    if op.kind == "expm":
        return _exponential(x)
    form = Node(Schur(), x)
    t, basis = Node(Item(0), form), Node(Item(1), form)
    found = Node(TriangularRoot(op.kind == "logm"), matrix_transpose(t))
    root = matrix_transpose(Node(Item(0), found))
    if op.kind == "logm":
        root = _logarithm(root) * _each(apply("exp2", Node(Item(1), found)))
    return basis @ root @ matrix_transpose(basis)


@expands(MatrixFunctionDerivative)
def expand_derivative(node: Node) -> Node:
    """The corner of the function of a matrix twice as long."""
    op = node.op
    assert isinstance(op, MatrixFunctionDerivative)
    n = node.static_shape[-1]
    return Node(MatrixFunction(op.kind), in_corner(*node.inputs))[..., :n, n:]


def _each(x: Node) -> Node:
    """One number per matrix of a batch."""
    return expand_dims(x, (x.ndim, x.ndim + 1))


def _logarithm(x: Node) -> Node:
    """log(I + X) as the integral of X (I + t X)^-1 over t from 0 to 1, by Gauss's quadrature."""
    identity = broadcast_to(eye(x.static_shape[-1]), x.static_shape)
    rest = x - identity
    places, weights = np.polynomial.legendre.leggauss(NODES)
    terms = [
        Node(Solve(), identity + rest * float(0.5 * (1 + place)), rest * float(0.5 * weight))
        for place, weight in zip(places, weights, strict=True)
    ]
    return apply("add", *terms)


def _norm(x: Node) -> Node:
    return reduce("max", reduce("sum", apply("abs", x), -2), -1)


def _exponential(x: Node) -> Node:
    """exp(x) = exp(x / 2 ** s) ** (2 ** s), where the scaled matrix has a small norm, or small norms of its powers."""
    norm = _norm(x)
    steps = apply("ceil", apply("log2", apply("maximum", norm / GREATEST_NORM, 1.0)))
    steps = apply("where", apply("isfinite", norm), steps, 0.0)
    scaled = x * _each(apply("exp2", -steps))
    square = scaled @ scaled
    fourth = square @ square
    sixth = fourth @ square
    # Powers of matrices far from normal are smaller than powers of their norms: scaling as these ask costs digits.
    power = apply("maximum", apply("pow", _norm(fourth), 1 / 4), apply("pow", _norm(sixth), 1 / 6))
    spare = apply("floor", apply("log2", GREATEST_NORM / apply("maximum", power, 1e-300)))
    spare = apply("where", apply("isnan", spare), 0.0, apply("maximum", apply("minimum", spare, steps), 0.0))
    steps, factor = steps - spare, _each(apply("exp2", spare))
    scaled, square = scaled * factor, square * factor**2
    fourth, sixth = fourth * factor**4, sixth * factor**6
    identity = broadcast_to(eye(x.static_shape[-1]), x.static_shape)
    powers = (identity, square, fourth, sixth)

    def polynomial(coefficients: Sequence[int]) -> Node:
        low = apply("add", *(p * float(c) for p, c in zip(powers, coefficients[:4], strict=True)))
        high = apply("add", *(p * float(c) for p, c in zip(powers[1:], coefficients[4:], strict=True)))
        return sixth @ high + low

    odd = scaled @ polynomial(PADE[1::2])
    even = polynomial(PADE[0::2])
    return Node(RepeatedSquare(), Node(Solve(), even - odd, even + odd), cast(steps, "int64"))


@routine(RepeatedSquare, lambda node: [("float64", last_length(node) ** 2)])
def _repeated_square(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (x, counts), (result, other) = sources, targets
    *batch, n, _ = x.view.shape
    size, plain = fortran_int(b, n), fortran_char(b, "N")
    one, zero, amount = fortran_double(b, 1.0), fortran_double(b, 0.0), b.const(i64, 8 * n * n)
    with ExitStack() as loops:
        number = batch_loop(b, loops, batch)
        offset = b.mul(number, b.const(i64, n * n))
        own = at(b, result.pointer, offset)
        b.call("memcpy", ptr, own, at(b, x.pointer, offset), amount)
        with b.for_(0, b.load(i64, b.offset(counts.pointer, number, i64))):
            b.call("memcpy", ptr, other.pointer, own, amount)
            a = other.pointer
            b.call("blas_dgemm", None, plain, plain, size, size, size, one, a, size, a, size, zero, own, size)


@routine(TriangularRoot, lambda node: [("float64", last_length(node) ** 2)])
def _triangular_root(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """LAPACK reads T as its transpose, upper triangular, and finds the root's."""
    op = node.op
    assert isinstance(op, TriangularRoot)
    (x,), (root, count, work) = sources, targets
    *batch, n, _ = x.view.shape
    size, amount = b.const(i64, n), b.const(i64, 8 * n * n)
    with ExitStack() as loops:
        number = batch_loop(b, loops, batch)
        offset = b.mul(number, b.const(i64, n * n))
        own, taken = at(b, root.pointer, offset), at(b, count.pointer, number)
        b.call("memcpy", ptr, work.pointer, at(b, x.pointer, offset), amount)
        if not op.repeated:
            _root(b, work.pointer, own, n)
            b.store(b.const(f64, 1.0), taken)
            return
        b.call("memcpy", ptr, own, work.pointer, amount)
        b.store(b.const(f64, 0.0), taken)
        with b.while_() as loop:
            distance = b.call("consilience_routine_distance_from_identity", f64, own, size)
            loop.check(b.cmp("gt", distance, b.const(f64, NEAR)))
            fail_unless(b, b.cmp("lt", b.load(f64, taken), b.const(f64, MOST_ROOTS)))
            b.call("memcpy", ptr, work.pointer, own, amount)
            _root(b, work.pointer, own, n)
            b.store(b.add(b.load(f64, taken), b.const(f64, 1.0)), taken)


def _root(b: Builder, t: Value, u: Value, n: int) -> None:
    """Block after block of columns: what stands above a block X in U solves U X + X V = T for its diagonal block V."""
    size, plus, plain = fortran_int(b, n), fortran_int(b, 1), fortran_char(b, "N")
    rows, columns, info, scale = b.stack(i32, 1), b.stack(i32, 1), b.stack(i32, 1), b.stack(f64, 1)
    place = b.variable(b.const(i64, 0))
    with b.while_() as loop:
        j = b.get(place)
        loop.check(b.cmp("lt", j, b.const(i64, n)))
        length = b.call("consilience_routine_root_of_block", i64, t, u, j, b.const(i64, n))
        fail_unless(b, b.cmp("gt", length, b.const(i64, 0)))
        above = at(b, u, b.mul(j, b.const(i64, n)))
        with b.if_(b.cmp("gt", j, b.const(i64, 0))):
            b.store(b.cast(j, i32), rows)
            b.store(b.cast(length, i32), columns)
            block = b.offset(above, j, f64)
            b.call("blas_dtrsyl", None, plain, plain, plus, rows, columns, u, size, block, size, above, size, scale,
                   info)  # fmt: skip
            fail_unless(b, b.and_(succeeded(b, info), b.cmp("eq", b.load(f64, scale), b.const(f64, 1.0))))
        b.set(place, b.add(j, length))
