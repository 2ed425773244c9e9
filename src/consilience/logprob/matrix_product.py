"""Products of an invertible matrix and random vectors."""

from __future__ import annotations

from consilience.ir import Node
from consilience.ir.dimension import product
from consilience.logprob.derivation import derive, rule, sole_random
from consilience.logprob.measure import Measure
from consilience.ops.linalg import LogAbsDet, MatMul, matrix_transpose, solve
from consilience.ops.reduce import reduce
from consilience.ops.shape import expand_dims, reshape, squeeze, transpose


class MatrixProduct(Measure):
    """A x for each of the vectors x along an axis of the right operand; `axis` is -1 or -2."""

    def __init__(self, node: Node, argument: Measure, matrix: Node, axis: int) -> None:
        super().__init__(node, argument.sources, event_axes=(axis,))
        self.argument, self.matrix, self.axis = argument, matrix, axis

    def logp(self, value: Node) -> Node:
        origin = _solved(self.matrix, value, self.axis)
        density = self.argument.logp(origin)
        if not self.argument.event_axes:
            density = reduce("sum", density, self.axis)
        return density - Node(LogAbsDet("general"), self.matrix)


def _solved(matrix: Node, value: Node, axis: int) -> Node:
    """The vectors whose products the vectors along an axis are."""
    if axis == -2:
        return matrix_transpose(_solved(matrix, matrix_transpose(value), -1))
    length = value.static_shape[-1]
    if value.ndim == 1:
        return squeeze(solve(matrix, expand_dims(value, 1)), 1)
    columns = transpose(reshape(value, (product(value.static_shape[:-1]), length)))
    return reshape(transpose(solve(matrix, columns)), value.static_shape)


@rule(MatMul)
def matrix_product(node: Node) -> Measure | None:
    """A square matrix that is not random, and one or several random vectors on either side of it."""
    place = sole_random(node)
    if place is None:
        return None
    matrix, vectors = node.inputs[1 - place], node.inputs[place]
    if matrix.ndim != 2 or matrix.static_shape[0] != matrix.static_shape[1] or vectors.ndim > 2:
        return None
    measure = derive(vectors)
    # Vectors are columns of the right operand, or rows of the left one.
    axis = -1 if vectors.ndim == 1 or place == 0 else -2
    if measure.discrete or (measure.event_axes and measure.event_axes != (axis,)):
        return None
    if not measure.event_axes and measure.atoms(vectors) is not None:
        return None
    return MatrixProduct(node, measure, matrix if place == 1 else matrix_transpose(matrix), axis)
