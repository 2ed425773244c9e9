"""What users ask for: gradients, products with Jacobians, Jacobians and Hessians.

Graphs in, graphs out; nothing is computed or simplified here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import overload

from consilience.errors import DtypeError, GraphError, ShapeError
from consilience.ir import Node, constant, tensor_input, topological
from consilience.ir.dimension import product
from consilience.ir.shape_constraints import collect
from consilience.ir.side_tables import describe, without_sources
from consilience.ir.types import COMPLEXES, FLOATS
from consilience.ops import StopGradient
from consilience.ops.assertion import require
from consilience.ops.shape import eye, reshape
from consilience.transforms.gradient.engine import accumulate
from consilience.transforms.gradient.index import zeros_like
from consilience.transforms.gradient.mask import total, unbroadcast
from consilience.transforms.vectorize import vectorize


def pullback(
    outputs: Sequence[Node],
    inputs: Sequence[Node],
    cotangents: Sequence[Node],
    constants: Collection[Node] = (),
    known: Mapping[Node, Node] | None = None,
) -> list[Node]:
    """Transposed Jacobian of the outputs times cotangents, one result per input, of the input's type.

    `cotangents`: one per output, of its shape and dtype. `constants`: nodes that derivatives do not pass. `known`:
    nodes with their cotangents, which count in place of what the outputs contribute. Returns: zeros for inputs the
    outputs do not depend on.
    """
    _check_pairs(outputs, cotangents, "cotangent")
    for node in inputs:
        _check_float(node, "a derivative with respect to")
    with without_sources():
        seeds: dict[Node, list[Node]] = {}
        for output, cotangent in zip(outputs, cotangents, strict=True):
            seeds.setdefault(output, []).append(unbroadcast(cotangent, output.static_shape))
        starts = {output: total(parts) for output, parts in seeds.items()}
        found = accumulate(starts, inputs, constants, known)
        result = [zeros_like(node) if slope is None else slope for node, slope in zip(inputs, found, strict=True)]
    return require(result, collect([*outputs, *(known or ())]))


def connected(outputs: Sequence[Node], inputs: Sequence[Node], constants: Collection[Node] = ()) -> list[bool]:
    """For each input whether some path leads from an output to it on which derivatives are not stopped.

    A path through functions that are flat, such as comparisons, counts: the derivative is zero, but there is one.
    """
    reached = set(topological(outputs, stop=lambda node: isinstance(node.op, StopGradient) or node in constants))
    return [node in reached for node in inputs]


def pushforward(outputs: Sequence[Node], inputs: Sequence[Node], tangents: Sequence[Node]) -> list[Node]:
    """Jacobian of the outputs times tangents, one result per output, of the output's type.

    `tangents`: one per input, of its shape and dtype.

    A pullback is linear in its cotangents, so the pullback of the pullback is the Jacobian itself
    (J. Townsend 2017, "A new trick for calculating Jacobian vector products").
    """
    _check_pairs(inputs, tangents, "tangent")
    for output in outputs:
        _check_float(output, "a derivative of")
    cotangents = [tensor_input(output.dtype, output.static_shape) for output in outputs]
    pulled = pullback(outputs, inputs, cotangents)
    result = pullback(pulled, cotangents, tangents)
    left = set(cotangents).intersection(topological(result))
    if left:
        raise GraphError("a pullback is not linear in its cotangent; a row of the gradient table is wrong.")
    return require(result, collect(outputs))


@overload
def gradient(cost: Node, wrt: Node, constants: Collection[Node] = ()) -> Node: ...
@overload
def gradient(cost: Node, wrt: Sequence[Node], constants: Collection[Node] = ()) -> list[Node]: ...
def gradient(cost: Node, wrt: Node | Sequence[Node], constants: Collection[Node] = ()) -> Node | list[Node]:
    """Derivatives of a scalar with respect to any nodes, each of its node's type; one for one node.

    `wrt`: float tensors: inputs, shared slots or inner nodes; an inner node is taken as free. `constants`: nodes that
    derivatives do not pass.

    Float tensor of rank 0.
    """
    if isinstance(wrt, Node):
        return gradient(cost, [wrt], constants)[0]
    _check_float(cost, "a derivative of")
    if cost.ndim:
        raise ShapeError(
            f"the gradient of a scalar was needed, got {describe(cost)}; "
            "sum it, or use `jacobian` or `pullback` with a cotangent."
        )
    with without_sources():
        one = constant(1.0, cost.dtype)
    return pullback([cost], wrt, [one], constants)


def value_and_gradient(cost: Node, wrt: Sequence[Node]) -> tuple[Node, list[Node]]:
    """The cost itself and its gradient; compiled together they share everything."""
    return cost, gradient(cost, wrt)


@overload
def jacobian(output: Node, wrt: Node, constants: Collection[Node] = ()) -> Node: ...
@overload
def jacobian(output: Node, wrt: Sequence[Node], constants: Collection[Node] = ()) -> list[Node]: ...
def jacobian(output: Node, wrt: Node | Sequence[Node], constants: Collection[Node] = ()) -> Node | list[Node]:
    """Derivatives of every element of `output`: shape (*output.shape, *node.shape) for each node of `wrt`.

    The pullback, vectorized over unit cotangents. Ops without batched form do not stand in the way: none of
    them depends on a cotangent.
    """
    if isinstance(wrt, Node):
        return jacobian(output, [wrt], constants)[0]
    _check_float(output, "a derivative of")
    if not output.ndim:
        return gradient(output, wrt, constants)
    cotangent = tensor_input(output.dtype, output.static_shape)
    rows = pullback([output], wrt, [cotangent], constants)
    shape = output.static_shape
    size = product(shape)
    with without_sources():
        units = reshape(eye(size, dtype=output.dtype), (size, *shape))
        stacked = vectorize(rows, {cotangent: units})
        result = [reshape(r, (*shape, *node.static_shape)) for r, node in zip(stacked, wrt, strict=True)]
    return require(result, collect([output]))


@overload
def hessian(cost: Node, wrt: Node, constants: Collection[Node] = ()) -> Node: ...
@overload
def hessian(cost: Node, wrt: Sequence[Node], constants: Collection[Node] = ()) -> list[Node]: ...
def hessian(cost: Node, wrt: Node | Sequence[Node], constants: Collection[Node] = ()) -> Node | list[Node]:
    """Second derivatives of a scalar with respect to each node by itself, shape (*node.shape, *node.shape).

    For mixed derivatives join the variables into one vector, or take `jacobian` of a gradient.
    """
    if isinstance(wrt, Node):
        return jacobian(gradient(cost, wrt, constants), wrt, constants)
    slopes = gradient(cost, wrt, constants)
    return [jacobian(slope, node, constants) for slope, node in zip(slopes, wrt, strict=True)]


def hessian_vector_product(
    cost: Node, wrt: Sequence[Node], vectors: Sequence[Node], constants: Collection[Node] = ()
) -> list[Node]:
    """The Hessian of a scalar in all of `wrt` together times vectors of their types.

    A Hessian is symmetric, so this is one pullback of the gradient, without the matrix.
    """
    _check_pairs(wrt, vectors, "vector")
    return pullback(gradient(cost, wrt, constants), wrt, vectors, constants)


def _check_float(node: Node, what: str) -> None:
    if node.dtype in COMPLEXES:
        raise DtypeError(
            f"{what} a {node.dtype} tensor has no meaning: {describe(node)}; make it of its real and imaginary parts "
            "with `pt.complex` and differentiate by those."
        )
    if node.dtype not in FLOATS:
        raise DtypeError(f"{what} a {node.dtype} tensor has no meaning: {describe(node)}; cast it to float64 first.")


def _check_pairs(nodes: Sequence[Node], vectors: Sequence[Node], what: str) -> None:
    if len(nodes) != len(vectors):
        raise GraphError(f"one {what} per tensor was needed: {len(nodes)} tensors, {len(vectors)} {what}s.")
    for node, vector in zip(nodes, vectors, strict=True):
        _check_float(node, "a derivative of")
        if vector.dtype != node.dtype:
            raise DtypeError(f"the {what} of {describe(node)} must be {node.dtype}, got {describe(vector)}.")
        fits = vector.ndim == node.ndim and all(
            not (isinstance(a, int) and isinstance(b, int)) or a == b
            for a, b in zip(vector.static_shape, node.static_shape, strict=True)
        )
        if not fits:
            raise ShapeError(f"the {what} of {describe(node)} must have its shape, got {describe(vector)}.")
