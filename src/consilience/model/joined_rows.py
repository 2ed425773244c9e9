"""Why a log density is not cut into chunks of rows: the terms whose rows depend on each other, and by what.

The terms of a density enter, a sentence leaves.
"""

from __future__ import annotations

from consilience.ir import Constant, Node, is_leaf, topological
from consilience.model.terms import Terms
from consilience.model.variables import ModelVariables
from consilience.ops import Cast, Elementwise, Index, IndexUpdate, MatMul, Reduce
from consilience.ops.assertion import Assume, Require
from consilience.ops.elementwise import AlteredGradient, StopGradient
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.random import Key
from consilience.ops.reduce import Softmax
from consilience.ops.shape import BroadcastTo, Concatenate, ExpandDims, Iota, LengthOf, Reshape, Squeeze, Transpose

_APART = (
    Elementwise, Cast, Index, IndexUpdate, Reduce, Softmax, BroadcastTo, Concatenate, ExpandDims, Iota, LengthOf,
    Reshape, Squeeze, Transpose, Assume, Require, AlteredGradient, StopGradient, Asserted, ParameterCheck, Constant,
    Key,
)  # fmt: skip


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
    if is_leaf(node) or isinstance(node.op, _APART):
        return False
    return not (isinstance(node.op, MatMul) and any(map(_given, node.inputs)))


def _given(node: Node) -> bool:
    """Whether a matrix is data, as they came or turned."""
    return is_leaf(node) or isinstance(node.op, Constant) or (isinstance(node.op, Transpose) and _given(node.inputs[0]))
