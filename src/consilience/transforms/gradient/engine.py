"""Reverse accumulation: cotangents of outputs in, cotangents of any nodes out.

Walks only the paths that lead to the wanted nodes, without recursion. What an op does to a cotangent is a row
of `table`; nothing here knows an op but `Item` and `StopGradient`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from consilience.errors import MissingRuleError
from consilience.ir import Node, TensorType, TupleType, topological
from consilience.ir.side_tables import describe
from consilience.ir.types import FLOATS
from consilience.ops import Elementwise, Item, StopGradient
from consilience.ops.scalar import DRAWS
from consilience.transforms.complex_pairs import without_complex
from consilience.transforms.gradient.mask import Choices, total, unbroadcast
from consilience.transforms.gradient.table import pullback_row


def accumulate(
    outputs: Mapping[Node, Node],
    wrt: Sequence[Node],
    constants: Collection[Node] = (),
    known: Mapping[Node, Node] | None = None,
) -> list[Node | None]:
    """Cotangents of `wrt`, given the cotangents of the outputs; None where no path leads to an output.

    Every result has exactly the type of its node. Nodes of `wrt` may lie inside the graph: the derivative
    with respect to an inner node treats it as free, the one with respect to its ancestors goes through it.

    `constants`: nodes that derivatives do not pass. `known`: nodes with their cotangents, which count in place of what
    the outputs contribute.
    """
    known = known or {}
    real, made = without_complex([*outputs, *known])
    if made:
        cotangents = [*outputs.values(), *known.values()]
        split = dict(zip(real, cotangents, strict=True))
        outputs = {node: split[node] for node in real[: len(outputs)]}
        known = {node: split[node] for node in real[len(outputs) :]}
        wrt = [made.get(node, node) for node in wrt]
        constants = [made.get(node, node) for node in constants]
    order = topological([*outputs, *known])
    leading = _leading_to(order, [*outputs, *known], wrt, constants)
    parts: dict[Node, list[Node]] = {
        node: [cotangent] for node, cotangent in {**outputs, **known}.items() if node in leading
    }
    items: dict[Node, dict[int, list[Node]]] = {}
    kept = set(wrt)
    found: dict[Node, Node] = {}
    choices = Choices(order)
    while order:
        node = order.pop()
        if isinstance(node.type, TupleType):
            members = items.pop(node, None)
            if members is None:
                continue
            cotangent: Node | tuple[Node | None, ...] = tuple(
                total(members[i]) if i in members else None for i in range(len(node.type.items))
            )
        else:
            collected = parts.pop(node, None)
            if collected is None:
                continue
            cotangent = known[node] if node in known else total(collected)
            if node in kept:
                found[node] = cotangent
            if isinstance(node.op, Item):
                if node.inputs[0] in leading:
                    items.setdefault(node.inputs[0], {}).setdefault(node.op.position, []).append(cotangent)
                continue
        wanted = [operand in leading for operand in node.inputs]
        if not any(wanted) or isinstance(node.op, StopGradient) or node in constants:
            continue
        row = pullback_row(node)
        if row is None:
            continue
        if isinstance(node.op, Elementwise):
            assert isinstance(cotangent, Node)  # functions of elements have one output
            cotangent = choices.kept(node, cotangent)
        for operand, asked, part in zip(node.inputs, wanted, row(node, cotangent, wanted), strict=True):
            if asked and part is not None:
                parts.setdefault(operand, []).append(unbroadcast(part, operand.static_shape))
    return [found.get(node) for node in wrt]


def _leading_to(
    order: Sequence[Node], outputs: Sequence[Node], wrt: Sequence[Node], constants: Collection[Node]
) -> set[Node]:
    """Nodes through which a derivative reaches a node of `wrt`."""
    wanted = set(wrt)
    leading: set[Node] = set()
    drawn: dict[Node, Node] = {}
    for node in order:
        if node in wanted:
            leading.add(node)
        if isinstance(node.op, StopGradient) or node in constants:
            continue
        reached = any(operand in leading for operand in node.inputs)
        if reached and _carries(node):
            leading.add(node)
        # A draw that depends on a parameter has a derivative in no pathwise sense known here, and a silent
        # zero would be wrong for its mean.
        if reached and isinstance(node.op, Elementwise) and node.op.function in DRAWS:
            drawn[node] = node
        elif drawn:
            source = next((drawn[operand] for operand in node.inputs if operand in drawn), None)
            if source is not None:
                drawn[node] = source
    for output in outputs:
        if output in drawn:
            raise MissingRuleError(
                "the derivative with respect to the parameters of a draw is not known: "
                f"{describe(drawn[output])}; "
                "write the draw as a function of a standard draw (location + scale * normal), "
                "or stop the derivative with `StopGradient`."
            )
    return leading


def _carries(node: Node) -> bool:
    """Whether a derivative can pass: floats do, tuples with a float do."""
    if isinstance(node.type, TensorType):
        return node.type.dtype in FLOATS
    return any(item.dtype in FLOATS for item in node.type.items) if isinstance(node.type, TupleType) else False
