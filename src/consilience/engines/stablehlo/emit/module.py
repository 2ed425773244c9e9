"""Graphs as modules of StableHLO, which XLA, IREE and other compilers read.

A model, a compiled function or tensors in; text or portable bytecode out. Outside: what operations are written as
(`ops`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from consilience.backends.contexts import DEFAULT
from consilience.backends.function import Function
from consilience.engines.exported import Exported, exported
from consilience.engines.stablehlo.bytecode import to_bytecode
from consilience.engines.stablehlo.emit import ops as ops  # enters its rules
from consilience.engines.stablehlo.emit import scalars as scalars  # enters its rules
from consilience.engines.stablehlo.emit.scope import HloScope, shape_of
from consilience.engines.stablehlo.emit.text import HloValue, HloWriter
from consilience.errors import GraphError, MissingRuleError
from consilience.ir import Node, Shared, is_leaf, topological
from consilience.ir.side_tables import describe, name_of
from consilience.model.model import Model


def to_stablehlo(
    what: Model | Function | Node | Sequence[Node],
    inputs: Node | Sequence[Node] = (),
    *,
    name: str = "main",
    bytecode: bool = False,
) -> str | bytes:
    """A module of StableHLO that computes what a model, a function or tensors say.

    what: A model: `@main` of a position on the unconstrained scale, which gives the log density and its gradient, and
        `@main_values`, which gives the model's variables on their own scales, with the present data; or what
        `pm.function` gave, of inputs of fixed shapes; or tensors, with their `inputs`. Shared values are written as
        they are now.
    inputs: Of tensors: leaves of fixed shapes, in the order of the function's arguments.
    name: Of the function; `main` is what compilers look for.
    bytecode: Portable bytecode in place of text, made by `jaxlib`: readable for several versions of StableHLO.
    Returns: MLIR's text, or bytes. Functions that StableHLO lacks are those of CHLO, which JAX writes too.
    Raises MissingRuleError: For an op that has no form in StableHLO, by its name.
    Raises ShapeError: For open lengths.
    Raises GraphError: Where an input is missing.
    Raises MissingPackageError: For bytecode without `jaxlib`.
    See from_stablehlo: The other way.
    See export: A library in C.

    Notes
    -----
    What is an error here has no form there: an index outside its axis takes the nearest element, and NaN comes of a
    matrix that is not positive definite and of parameters outside their range.

    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pt.tensor("x", dtype="float64", shape=(3,))
    >>> "func.func" in pm.to_stablehlo(pt.exp(x).sum(), [x])
    True
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(f"`name` is the name of a function, of letters, digits and underscores, got {name!r}.")
    functions = exported(what, name, True) if isinstance(what, Model | Function) else [_tensors(what, inputs, name)]
    parts = [_function(each) for each in functions]
    text = "\n".join([f"module @{name} {{", *(line for part in parts for line in part), "}", ""])
    return to_bytecode(text) if bytecode else text


def _tensors(what: Node | Sequence[Node], inputs: Node | Sequence[Node], name: str) -> Exported:
    outputs = [what] if isinstance(what, Node) else list(what)
    if not outputs or not all(isinstance(each, Node) for each in outputs):
        raise GraphError(f"a model, a compiled function or tensors can be written as StableHLO, got {what!r}.")
    given = [inputs] if isinstance(inputs, Node) else list(inputs)
    for node in given:
        if not isinstance(node, Node) or not is_leaf(node):
            what_came = describe(node) if isinstance(node, Node) else repr(node)
            raise GraphError(f"`inputs` are tensors that nothing computes, as `pt.vector` makes them; got {what_came}.")
    slots = []
    for leaf in topological(outputs):
        if is_leaf(leaf) and leaf not in given:
            if leaf.dtype == "key":
                raise MissingRuleError("random draws have no form in StableHLO; draw beforehand, and give the draws.")
            if not isinstance(leaf.op, Shared):
                raise GraphError(f"the tensors depend on {describe(leaf)}, which is not among `inputs`.")
            slots.append(leaf)
    data = dict(zip(slots, DEFAULT.snapshot(slots), strict=True))
    names = [name_of(x) or f"arg{i}" for i, x in enumerate(given)]
    return Exported("Tensors", name, given, outputs, data, names, [f"result{i}" for i in range(len(outputs))], [])


def _function(of: Exported) -> list[str]:
    """The lines of one function."""
    w = HloWriter()
    arguments: list[HloValue] = []
    for node, title in zip(of.inputs, of.input_names, strict=True):
        own = re.sub(r"\W", "_", title, flags=re.ASCII)
        if not re.match("[A-Za-z]", own) or re.fullmatch(r"[cai]\d+", own):  # as names of values inside
            own = f"input_{own}"
        if f"%{own}" in {a.name for a in arguments}:
            own = f"{own}_{len(arguments)}"
        arguments.append(HloValue(f"%{own}", shape_of(node), node.dtype))
    known: dict[Node, Any] = dict(zip(of.inputs, arguments, strict=True))
    known |= {slot: w.constant(array, slot.dtype) for slot, array in of.data.items()}
    scope = HloScope(w, known)
    results = [scope.value(output) for output in of.outputs]
    given = ", ".join(f"{a.name}: {a.type}" for a in arguments)
    types = ", ".join(v.type for v in results)
    back = f"    return {', '.join(v.name for v in results)} : {types}"
    return [f"  func.func public @{of.name}({given}) -> ({types}) {{", *w.lines, back, "  }"]
