"""PyTensor's tensors with named axes: an op on them in, the tensors that it stands for out.

PyTensor writes such an op as ops on plain tensors, by rewrites of its own; those are translated. Names of axes have no
meaning afterwards: a tensor with named axes is the plain tensor of the same axes in their order.
"""

from __future__ import annotations

import sys
from typing import Any

from consilience.errors import MissingRuleError
from consilience.foreign.pytensor_graph import RULES, Translation, name_of


@RULES("XOp")
def _by_axes(t: Translation, apply: Any) -> Any:
    inputs, outputs = lowered(apply)
    return t.inlined(list(inputs.values()), outputs, [t(i) for i in inputs])


def lowered(apply: Any) -> tuple[dict[Any, Any], list[Any]]:
    """An op on named axes as a graph of ops on plain tensors: its inputs, by those of the op, and its outputs."""
    pytensor: Any = sys.modules["pytensor"]
    rewriting: Any = sys.modules["pytensor.xtensor.rewriting.utils"]
    own = [part for i in apply.inputs for part in (i.owner.inputs if _is_slice(i) else [i])]
    own = [i for i in dict.fromkeys(own) if not hasattr(i, "data")]
    graph = pytensor.graph.FunctionGraph(own, apply.outputs, clone=True)
    rewriting.lower_xtensor_db.query("+fast_run").rewrite(graph)
    left = next((a for a in graph.apply_nodes if any(c.__name__ == "XOp" for c in type(a.op).__mro__)), None)
    if left is not None:
        raise MissingRuleError(
            f"PyTensor's op `{name_of(left.op)}` on named axes has no form on plain tensors; write that part of the "
            "model here."
        )
    return dict(zip(own, graph.inputs, strict=True)), list(graph.outputs)


def _is_slice(variable: Any) -> bool:
    return variable.owner is not None and type(variable.owner.op).__name__ == "MakeSlice"
