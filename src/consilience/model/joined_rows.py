"""Why a log density is not cut into chunks of rows: the terms whose rows depend on each other, and by what.

The terms of a density enter, a sentence leaves.
"""

from __future__ import annotations

from consilience.ir import Constant, Node, is_leaf, topological
from consilience.model.terms import Terms
from consilience.model.variables import ModelVariables
from consilience.ops import Index, IndexUpdate, MatMul, Reduce
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.reduce import Softmax
from consilience.ops.shape import Concatenate, Reshape, Transpose

# Ops that do not keep all axes, and yet have rows by themselves: sums of rows, parts of them, and conditions on all.
_APART = (Reduce, Softmax, Index, IndexUpdate, Concatenate, Reshape, Asserted, ParameterCheck)


def joined(model: ModelVariables, terms: Terms) -> dict[str, str]:
    """What joins rows in observed variables and potentials: the operation by the name of its term."""
    likelihoods = zip([v.name for v in model.observed], terms.likelihoods, strict=True)
    potentials = zip(model.named_potentials, terms.potentials, strict=False)
    found = {}
    for name, term in (*likelihoods, *potentials):
        operation = next((node for node in topological([term]) if _joins(node)), None)
        if operation is not None:
            found[name] = type(operation.op).__name__
    return found


def why_whole(model: ModelVariables, terms: Terms) -> str:
    """Why no thread can take a part of an evaluation."""
    found = joined(model, terms)
    if not found:
        return "one evaluation is so short that a second thread would not pay"
    listed = ", ".join(f"`{name}` ({operation})" for name, operation in found.items())
    return f"rows depend on each other in {listed}, and what is left of an evaluation is short"


def _joins(node: Node) -> bool:
    if isinstance(node.op, _APART) or _keeps_all(node):
        return False
    return not (isinstance(node.op, MatMul) and any(map(_given, node.inputs)))


def _keeps_all(node: Node) -> bool:
    """Whether the result follows every axis of the operands, as those of elementwise functions do."""
    told = node.op.kept_axes(*node.inputs) if node.inputs else ()
    return len(told) == len(node.inputs) and all(
        length == 1 or axis in kept.values()
        for operand, kept in zip(node.inputs, told, strict=True)
        for axis, length in enumerate(operand.static_shape)
    )


def _given(node: Node) -> bool:
    """Whether a matrix is data, as they came or turned."""
    return is_leaf(node) or isinstance(node.op, Constant) or (isinstance(node.op, Transpose) and _given(node.inputs[0]))
