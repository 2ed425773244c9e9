"""Inputs of a graph, and derivatives by all of them at once as one vector, under PyMC's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience.errors import GraphError
from consilience.ir import FLOATS, Input, Node, topological
from consilience.ops.elementwise import TensorLike, cast
from consilience.ops.linalg import diagonal
from consilience.ops.shape import concatenate, reshape
from consilience.tensor.differentiation import grad, hessian


def inputvars(a: Node | Sequence[Node]) -> list[Node]:
    """The symbolic inputs that expressions depend on, in order of appearance; no constants and no shared variables."""
    outputs = [a] if isinstance(a, Node) else list(a)
    return [node for node in topological(outputs) if isinstance(node.op, Input) and node.dtype != "key"]


def cont_inputs(a: Node | Sequence[Node]) -> list[Node]:
    """Those of `inputvars` whose values are floats."""
    return [node for node in inputvars(a) if node.dtype in FLOATS]


def joined_gradient(f: Node, vars: Sequence[Node] | None = None) -> Node:
    """Derivatives of a scalar by several variables, flattened and joined into one vector.

    vars   by default all inputs that are floats
    """
    return _joined(grad(f, _variables(f, vars), disconnected_inputs="warn"))


def hessian_diag(f: Node, vars: Sequence[Node] | None = None) -> Node:
    """The diagonal of the matrix of second derivatives of a scalar by several variables, joined into one vector.

    vars   by default all inputs that are floats
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


def intX(X: TensorLike) -> Any:
    """An expression or an array as int64."""
    return cast(X, "int64") if isinstance(X, Node) else np.asarray(X, "int64")
