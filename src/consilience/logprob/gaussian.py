"""Linear maps of normal variables and vectors: the result is normal, with a covariance that follows from the map.

The last resort of steps that can be inverted in no other way: parts of normal vectors, differences of neighbours,
products with matrices, sums in which a variable occurs twice.
"""

from __future__ import annotations

import math

import numpy as np

from consilience.distributions.mathematics import sqrt
from consilience.distributions.multivariate_normal import MvNormal
from consilience.distributions.random_variable import RandomVariable, distribution_of, is_random
from consilience.distributions.real_line import Normal
from consilience.distributions.shapes import spread
from consilience.ir import FLOATS, Node, Shape, constant, substitute, tensor_input, topological
from consilience.logprob.derivation import derive, direct_variables, is_measurable, parents_among, rule
from consilience.logprob.measure import Measure, Sources, refusal
from consilience.logprob.variables import VariableMeasure, stand_in
from consilience.ops.elementwise import Cast, Elementwise
from consilience.ops.index import Index
from consilience.ops.linalg import Cholesky, MatMul, matmul, matrix_transpose
from consilience.ops.reduce import Cumulative, Reduce
from consilience.ops.shape import (
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Reshape,
    Squeeze,
    Transpose,
    expand_dims,
    full,
    reshape,
    transpose,
)
from consilience.transforms.vectorize import vectorize

# Ops that are linear in their first operand, the others being no numbers.
LINEAR = (Reshape, Transpose, ExpandDims, Squeeze, BroadcastTo, Index, Concatenate)


def is_affine(node: Node) -> bool:
    """Whether a step is linear, up to a constant, in its random operands."""
    random = [i for i, operand in enumerate(node.inputs) if is_measurable(operand)]
    op = node.op
    if isinstance(op, Concatenate):
        return True
    if isinstance(op, LINEAR):
        return random == [0]
    if isinstance(op, Reduce):
        return op.kind == "sum"
    if isinstance(op, Cumulative):
        return op.kind == "sum"
    if isinstance(op, Cast):
        return op.dtype in FLOATS
    if isinstance(op, MatMul):
        return len(random) == 1
    if not isinstance(op, Elementwise):
        return False
    if op.function in ("add", "sub", "neg"):
        return True
    return (op.function == "mul" and len(random) == 1) or (op.function == "true_div" and random == [0])


@rule(MatMul, Index, Reduce, "add", "sub", last=True)
def linear_map(node: Node) -> Measure | None:
    """A normal variable, vector or tensor; elements of the latter two make one event."""
    variables = direct_variables(node)
    if not all(_is_normal(rv) for rv in variables) or parents_among(dict.fromkeys(variables)):
        return None
    steps = [n for n in topological([node], stop=is_random) if not is_random(n) and is_measurable(n)]
    if not all(is_affine(step) for step in steps):
        return None
    shapes = [n.static_shape for n in (node, *variables)]
    if not all(isinstance(length, int) for shape in shapes for length in shape):
        return None
    counts = [_size(shape) for shape in shapes]
    if counts[0] > sum(counts[1:]):
        raise refusal(
            node,
            f"its {counts[0]} numbers are linear in {sum(counts[1:])} random ones, so some follow from others",
            "leave out what follows from the rest",
        )
    return _of_map(node, variables, counts[0])


def _size(shape: Shape) -> int:
    """Number of elements of a shape of known lengths."""
    return math.prod(length for length in shape if isinstance(length, int))


def _is_normal(rv: Node) -> bool:
    return isinstance(rv.op, RandomVariable) and issubclass(rv.op.distribution, Normal | MvNormal)


def _of_map(node: Node, variables: list[Node], count: int) -> Measure:
    inputs = {rv: tensor_input(rv.dtype, rv.static_shape) for rv in variables}
    (graph,) = substitute([node], inputs)
    zeros = {x: full(x.static_shape, 0.0, x.dtype) for x in inputs.values()}
    (origin,) = substitute([graph], zeros)
    means = {x: spread(distribution_of(rv).mean(), rv.static_shape) for rv, x in inputs.items()}
    (mean,) = substitute([graph], means)
    covariance = None
    for rv, x in inputs.items():
        (alone,) = substitute([graph], {other: zero for other, zero in zeros.items() if other is not x})
        (images,) = vectorize([alone], {x: _factor(rv)})
        rows = reshape(images - origin, (images.static_shape[0], count))
        own = matmul(matrix_transpose(rows), rows)
        covariance = own if covariance is None else covariance + own
    assert covariance is not None
    sources: Sources = dict.fromkeys(variables)
    if not node.ndim:
        return VariableMeasure(stand_in(Normal.dist(mean, sqrt(reshape(covariance, ()))), sources))
    flat = stand_in(MvNormal.dist(reshape(mean, (count,)), covariance), sources)
    return VariableMeasure(flat) if node.ndim == 1 else derive(Node(Reshape(node.static_shape), flat))


def _factor(rv: Node) -> Node:
    """Vectors whose outer products add up to the covariance of a variable: shape (number, *shape of the variable)."""
    bound = distribution_of(rv)
    size = _size(rv.static_shape)
    if isinstance(bound, Normal):
        scales = expand_dims(spread(bound.sigma, rv.static_shape), 0)
        return constant(np.eye(size).reshape(size, *rv.static_shape)) * scales
    assert isinstance(bound, MvNormal)
    *lead, length = rv.static_shape
    batch = _size(tuple(lead))
    matrix = bound.cov
    factor = reshape(Node(Cholesky(), spread(matrix, (*lead, length, length))), (batch, length, length))
    # Row (i, k) holds column k of the factor of vector i, at the place of that vector.
    columns = expand_dims(transpose(factor, (2, 0, 1)), 0)
    rows = constant(np.eye(batch)[:, None, :, None]) * columns
    return reshape(rows, (size, *rv.static_shape))
