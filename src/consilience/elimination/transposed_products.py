"""Products of a vector with the entries of a matrix B, or their squares; an expression linear in a leaf is the matrix.

With weights w and squares they are the sums of w_i B_ij^2 over i, the diagonal of B' W B, for the cost of one product.
Exact where each entry of B is a product, as in a matrix times scales; of entries that are sums the squares are added.
"""

from __future__ import annotations

import functools
import operator
from typing import Final, TypeAlias

import numpy as np

from consilience.elimination import acts
from consilience.elimination.polynomial import small
from consilience.ir import Node, constant, tensor_input, topological
from consilience.ops import Elementwise
from consilience.ops.assertion import Assume, Require
from consilience.ops.elementwise import Cast, apply
from consilience.ops.index import Index, IndexUpdate
from consilience.ops.linalg import MatMul
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.reduce import Cumulative, Reduce, reduce
from consilience.ops.shape import (
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Reshape,
    Squeeze,
    Transpose,
    broadcast_to,
    reshape,
)
from consilience.ops.sparse.products import SparseProduct, TransposedSparseProduct
from consilience.transforms.gradient import gradient

# Ops that move elements, repeat them and add them up: their own entries are 0 and 1.
MOVING: Final = (
    Reshape, Transpose, ExpandDims, Squeeze, BroadcastTo, Concatenate, Index, IndexUpdate, Cast, Assume, Require,
    ParameterCheck, Asserted,
)  # fmt: skip
# An array, and a number that multiplies it: without this it may be constant, and so are products with it.
Scaled: TypeAlias = tuple[Node, Node | None]


def transposed_product(output: Node, leaf: Node, weights: Node, power: int = 1) -> Node | None:
    """The sum of w_i B_ij^power over i for each element j of the leaf; None where an op does not tell its entries.

    `output`: linear in the leaf. `power`: 1 or 2.

    >>> import numpy as np
    >>> import consilience.tensor as pt
    >>> from consilience.elimination.transposed_products import transposed_product
    >>> x = pt.constant([1.0, 2.0])
    >>> transposed_product(np.array([[1.0, 2.0], [0.0, 3.0]]) @ x, x, pt.constant([1.0, 1.0]), 2).eval()
    array([ 1., 13.])
    """
    start = tensor_input(weights.dtype, output.static_shape)
    slope = gradient(reduce("sum", output * start) if output.ndim else output * start, leaf)
    if not acts(slope, [start]):
        return constant(np.zeros(leaf.static_shape))
    rest, number = _apart(weights)
    known: dict[Node, Scaled] = {
        start: (broadcast_to(constant(1.0) if rest is None else rest, output.static_shape), number)
    }
    for node in topological([slope], stop=known.__contains__):
        if node in known or known.keys().isdisjoint(node.inputs):
            continue
        found = _carried(node, known, power)
        if found is None:
            return None
        known[node] = found
    return _whole(known[slope])


def _carried(node: Node, known: dict[Node, Scaled], power: int) -> Scaled | None:
    """A node of the product with B' as one of the product with entries to a power."""
    inputs = node.inputs
    own = [operand for operand in inputs if operand in known]
    numbers = {id(number): number for _, number in (known[operand] for operand in own)}
    # A sum of parts with different numbers has none in common.
    common = next(iter(numbers.values())) if len(numbers) == 1 else None
    arrays = {n: known[n][0] if len(numbers) == 1 else _whole(known[n]) for n in own}
    moved = [arrays.get(operand, operand) for operand in inputs]
    match node.op:
        case Elementwise(function="neg"):
            return (moved[0] if power == 2 else -moved[0]), common
        case Elementwise(function="add" | "sub") as op if len(own) == len(inputs):
            return apply("add" if power == 2 else op.function, *moved), common
        case Elementwise(function="where") if inputs[0] not in known:
            return (apply("where", *moved), common) if len(own) == 2 else None
        case Elementwise(function="mul") if len(own) == 1:
            others = functools.reduce(operator.mul, [n for n in inputs if n is not own[0]])
            return _times(arrays[own[0]], common, _to_the(others, power), node)
        case Elementwise(function="true_div") if own == [inputs[0]]:
            return _times(moved[0], common, apply("reciprocal", _to_the(inputs[1], power)), node)
        case MatMul() | SparseProduct() | TransposedSparseProduct() if len(own) == 1:
            raised = [arrays[n] if n in arrays else _to_the(n, power) if n.dtype == node.dtype else n for n in inputs]
            return Node(node.op, *raised), common
        case Reduce(kind="sum") | Cumulative(kind="sum"):
            return Node(node.op, *moved), common
        case op if isinstance(op, MOVING):
            return Node(op, *moved), common
    return None


def _times(array: Node, number: Node | None, other: Node, node: Node) -> Scaled:
    rest, more = _apart(other)
    if node.static_shape != array.static_shape:  # no number where one element becomes many
        return array * other, number
    return (array if rest is None else array * rest), _product(number, more)


def _apart(node: Node) -> tuple[Node | None, Node | None]:
    """Factors of a product: an array, and a number."""
    base = small(node)
    if all(n == 1 for n in base.static_shape):
        return None, reshape(base, ())
    match base.op:
        case Elementwise(function="mul" | "true_div") as op if base is node:
            parts = [_apart(operand) for operand in node.inputs]
            if op.function == "true_div":
                parts[1:] = [_each("reciprocal", parts[1])]
            arrays, numbers = zip(*parts, strict=True)
            return functools.reduce(_product, arrays), functools.reduce(_product, numbers)
        case Elementwise(function="square" | "reciprocal") as op if base is node:
            return _each(op.function, _apart(node.inputs[0]))
        case Elementwise(function="neg") if base is node:
            rest, number = _apart(node.inputs[0])
            return (rest, -number) if number is not None else (node, None)
    return node, None


def _each(function: str, parts: tuple[Node | None, Node | None]) -> tuple[Node | None, Node | None]:
    array, number = (None if own is None else apply(function, own) for own in parts)
    return array, number


def _product(first: Node | None, second: Node | None) -> Node | None:
    return second if first is None else first if second is None else first * second


def _whole(scaled: Scaled) -> Node:
    array, number = scaled
    return array if number is None else array * number


def _to_the(node: Node, power: int) -> Node:
    return node if power == 1 else apply("square", node)


__all__ = ["MOVING", "transposed_product"]
