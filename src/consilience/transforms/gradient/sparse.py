"""Pullbacks of products with sparse matrices: each is one of the other two."""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops.sparse.products import (
    SampledProduct,
    SparseProduct,
    TransposedSparseProduct,
    sampled_product,
    sparse_product,
    transposed_sparse_product,
)
from consilience.transforms.gradient.table import partial_of


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
