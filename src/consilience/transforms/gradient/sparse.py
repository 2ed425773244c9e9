"""Pullbacks of products with sparse matrices, each of which is one of the other two, and of their factorisations."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import MissingRuleError
from consilience.ir import Node
from consilience.ops.elementwise import apply
from consilience.ops.index import getitem
from consilience.ops.reduce import reduce
from consilience.ops.sparse.factorisation import SparseCholesky, SparseCholeskyPullback, SparseTriangularSolve
from consilience.ops.sparse.products import (
    SampledProduct,
    SparseProduct,
    TransposedSparseProduct,
    entry_rows,
    sampled_product,
    sparse_product,
    transposed_sparse_product,
)
from consilience.transforms.gradient.table import Cotangents, partial_of, pullback_of


@partial_of(SparseProduct)
def _sparse_product(node: Node, g: Node, position: int) -> Node:
    entries, columns, begins, x = node.inputs
    if position == 0:
        return sampled_product(g, x, columns, begins)
    assert isinstance(node.op, SparseProduct)
    return transposed_sparse_product(entries, columns, begins, node.op.width, g)


@partial_of(TransposedSparseProduct)
def _transposed_sparse_product(node: Node, g: Node, position: int) -> Node:
    entries, columns, begins, x = node.inputs
    if position == 0:
        return sampled_product(x, g, columns, begins)
    assert isinstance(node.op, TransposedSparseProduct)
    return sparse_product(entries, columns, begins, node.op.length, g)


@partial_of(SampledProduct)
def _sampled_product(node: Node, g: Node, position: int) -> Node:
    u, v, columns, begins = node.inputs
    if position == 0:
        return sparse_product(g, columns, begins, v.static_shape[0], v)
    return transposed_sparse_product(g, columns, begins, v.static_shape[0], u)


@partial_of(SparseCholesky)
def _cholesky(node: Node, g: Node, position: int) -> Node:
    return Node(SparseCholeskyPullback(), node, g, *node.inputs[1:])


@pullback_of(SparseCholeskyPullback)
def _cholesky_twice(node: Node, g: Node, wanted: Sequence[bool]) -> Cotangents:
    raise MissingRuleError(
        "second derivatives of sparse Cholesky factors are not there yet; factorise the dense `A.toarray()` by "
        "`pt.linalg.cholesky`."
    )


@partial_of(SparseTriangularSolve)
def _triangular_solve(node: Node, g: Node, position: int) -> Node:
    """Of L y = b: b's is solved with the transpose, L's is minus its product with y' at the entries of L."""
    assert isinstance(node.op, SparseTriangularSolve)
    factor, _, rows, begins = node.inputs
    of_right = Node(SparseTriangularSolve(not node.op.transposed), factor, g, rows, begins)
    if position == 1:
        return of_right
    low, high = (of_right, node) if node.op.transposed else (node, of_right)
    at = [(..., place, slice(None)) for place in (entry_rows(rows, begins), rows)]
    terms = apply("mul", getitem(low, at[0]), getitem(high, at[1]))
    return -reduce("sum", terms, -1)
