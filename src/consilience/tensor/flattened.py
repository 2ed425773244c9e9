"""Inputs of a graph, all of them as one vector, and derivatives by them at once, under PyMC's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.contexts import shared
from consilience.errors import GraphError
from consilience.ir import FLOATS, Input, Node, numpy_dtype, substitute, tensor_input, topological
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import TensorLike, cast
from consilience.ops.index import getitem
from consilience.ops.linalg import diagonal
from consilience.ops.shape import concatenate, reshape
from consilience.tensor.differentiation import grad, hessian


def inputvars(a: Node | Sequence[Node]) -> list[Node]:
    """The symbolic inputs that expressions depend on, in order of appearance; no constants and no shared variables.

    a: Tensor, or what becomes one: an array, a number, nested lists.
    Returns: In order of appearance.
    See cont_inputs: Those of floats.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x, i = pt.dscalar("x"), pt.lscalar("i")
    >>> [v.name for v in pm.inputvars(x * i)]
    ['x', 'i']
    """
    outputs = [a] if isinstance(a, Node) else list(a)
    return [node for node in topological(outputs) if isinstance(node.op, Input) and node.dtype != "key"]


def cont_inputs(a: Node | Sequence[Node]) -> list[Node]:
    """Those of `inputvars` whose values are floats.

    a: Tensor, or what becomes one: an array, a number, nested lists.
    Returns: In order of appearance.
    See inputvars: All inputs.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x, i = pt.dscalar("x"), pt.lscalar("i")
    >>> [v.name for v in pm.cont_inputs(x * i)]
    ['x']
    """
    return [node for node in inputvars(a) if node.dtype in FLOATS]


def joined_gradient(f: Node, vars: Sequence[Node] | None = None) -> Node:
    """Derivatives of a scalar by several variables, flattened and joined into one vector."""
    return _joined(grad(f, _variables(f, vars), disconnected_inputs="warn"))


def hessian_diag(f: Node, vars: Sequence[Node] | None = None) -> Node:
    """The diagonal of the matrix of second derivatives of a scalar by several variables, joined into one vector.

    f: Expression or expressions to differentiate.
    vars: By default all inputs that are floats.
    Returns: A vector, the elements of all variables in order.
    See hessian: Second derivatives of a scalar with respect to each tensor by itself.
    See grad: Derivative of a scalar with respect to one or several tensors.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pt.dvector("x")
    >>> pm.hessian_diag(pt.sum(x**3), [x]).eval({x: [1.0, 2.0]}).tolist()
    [6.0, 12.0]
    """
    found = []
    for node in _variables(f, vars):
        size = node.tensor_type.size
        found.append(diagonal(reshape(hessian(f, node), (size, size))))
    return _joined(found)


def _variables(f: Node, vars: Sequence[Node] | None) -> list[Node]:
    wanted = cont_inputs(f) if vars is None else list(vars)
    if not wanted:
        raise GraphError("there is nothing to differentiate by: the expression has no inputs that are floats.")
    return wanted


def _joined(parts: Sequence[Node]) -> Node:
    return concatenate([reshape(part, (-1,)) for part in parts])


def join_nonshared_inputs(
    point: Mapping[str, npt.ArrayLike],
    outputs: Sequence[Node],
    inputs: Sequence[Node],
    shared_inputs: Mapping[Node, Node] | None = None,
    make_inputs_shared: bool = False,
) -> tuple[list[Node], Node]:
    """Outputs as functions of one vector, in which their inputs are flattened and joined.

    point: A value for each input by its name, of which the shapes count.
    outputs: Expressions.
    inputs: Symbolic variables with names, in the order in which the vector holds them.
    shared_inputs: Other variables, with the expressions or shared variables that take their places.
    make_inputs_shared: Whether the vector is a shared variable with the values of `point`.
    Returns: The new outputs and the vector.
    Raises ValueError: Without inputs.
    Raises GraphError: For one that `point` does not have.
    See inputvars: Inputs of expressions.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x, y = pt.dscalar("x"), pt.dvector("y")
    >>> (total,), vector = pm.join_nonshared_inputs({"x": 0.0, "y": [0.0, 0.0]}, [x + y.sum()], [x, y])
    >>> total.eval({vector: [1.0, 2.0, 3.0]}).item()
    6.0
    """
    if not inputs:
        raise ValueError("`join_nonshared_inputs` needs at least one input, got none.")
    missing = [node for node in inputs if node.name not in point]
    if missing:
        raise GraphError(f"`point` has no value for {describe(missing[0])}; it has {', '.join(point)}.")
    values = [np.asarray(point[str(node.name)], numpy_dtype(node.dtype)) for node in inputs]
    joined = np.concatenate([value.ravel() for value in values])
    vector = (
        shared(joined, "joined_inputs")
        if make_inputs_shared
        else tensor_input(str(joined.dtype), [None], "joined_inputs")
    )
    replaced = dict(shared_inputs or {})
    begin = 0
    for node, value in zip(inputs, values, strict=True):
        part = reshape(getitem(vector, slice(begin, begin + value.size)), value.shape)
        replaced[node] = cast(part, node.dtype)
        begin += value.size
    return substitute(list(outputs), replaced), vector


def intX(X: TensorLike) -> Any:
    """An expression or an array as int64.

    X: Array, or a tree of them.
    Returns: A tensor of a tensor, an array of anything else.
    See floatX: An expression or array as floats of `config.floatX`.
    >>> pm.intX([1.0, 2.0]).dtype.name
    'int64'
    """
    return cast(X, "int64") if isinstance(X, Node) else np.asarray(X, "int64")
