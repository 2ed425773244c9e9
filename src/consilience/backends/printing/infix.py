"""Expressions as users would write them: `2.0 * x + exp(y)`.

Nodes in, text out. A value that is used twice, or whose text grows long, gets a line of its own, so that the text is no
longer than the graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from consilience.backends.printing.labels import GraphLike, constant_text, operation, outputs_of
from consilience.ir import Constant, Dimension, Input, Node, Parameter, Region, Shared, TensorType, topological
from consilience.ir.region import regions_of
from consilience.ir.side_tables import name_of
from consilience.ops import (
    ArgReduce,
    Assume,
    BroadcastTo,
    Cast,
    Cumulative,
    Elementwise,
    Index,
    IndexUpdate,
    Iota,
    Item,
    LengthOf,
    MatMul,
    Reduce,
    Require,
    Reshape,
    Softmax,
    Transpose,
)
from consilience.ops.call import FunctionCall
from consilience.ops.index import At, NewAxis, SliceIndex, Specification
from consilience.ops.python_call import PythonCall
from consilience.record import field_names

# Sign and binding strength of the functions that have one in Python.
SIGNS: Final = {
    "logical_or": (" | ", 1), "bitwise_or": (" | ", 1), "logical_xor": (" ^ ", 2), "bitwise_xor": (" ^ ", 2),
    "logical_and": (" & ", 3), "bitwise_and": (" & ", 3),
    "eq": (" == ", 0), "neq": (" != ", 0), "lt": (" < ", 0), "le": (" <= ", 0), "gt": (" > ", 0), "ge": (" >= ", 0),
    "left_shift": (" << ", 4), "right_shift": (" >> ", 4),
    "add": (" + ", 5), "sub": (" - ", 5),
    "mul": (" * ", 6), "true_div": (" / ", 6), "floor_div": (" // ", 6), "mod": (" % ", 6),
    "pow": (" ** ", 8),
}  # fmt: skip
PREFIXES: Final = {"neg": ("-", 6), "invert": ("~", 7), "logical_not": ("~", 7)}
# As strong as products, but not equal to them where a sign is taken out.
_ROUNDED: Final = (" // ", " % ", " @ ")
ATOM: Final = 9
# A text longer than this is given a name.
LONG: Final = 160
# Operands of a sum or product that a short line shows.
MANY: Final = 8

Text = tuple[str, int]  # an expression in writing and how strongly its outermost sign binds


def pprint(graph: GraphLike) -> str:
    """The expressions in infix notation, one line per result.

    graph: An expression, a list or a dict of them, a compiled function (the graph that it computes), or a model.
    Returns: Lines `name = expression`, values used several times first, under the names t0, t1, …; of one expression
        that needs none of those, the expression alone.
    Raises GraphError: For what is no graph.
    See dprint: As a tree.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pt.dscalar("x")
    >>> pm.pp(pt.exp(x) + 1)
    'exp(x) + 1'
    """
    outputs = outputs_of(graph)
    writer = _Formulas([node for node, _ in outputs])
    texts = [writer.text(node, whole=True) for node, _ in outputs]
    if len(outputs) == 1 and not outputs[0][1] and not writer.lines:
        return texts[0]
    lines = list(writer.lines)
    for number, ((node, label), text) in enumerate(zip(outputs, texts, strict=True)):
        called = name_of(node) or label or ("result" if len(outputs) == 1 else f"result {number}")
        if text != called:
            lines.append(f"{called} = {text}")
    return "\n".join(lines)


def term(node: Node, depth: int = 4) -> str:
    """One expression in one short line, cut off below `depth` levels: `log(1 + exp(…))`."""
    text = _cut(node, depth, whole=True)[0]
    return text if len(text) <= 2 * LONG else f"{text[: 2 * LONG]} …"


def _cut(node: Node, depth: int, whole: bool = False) -> Text:
    if _is_plain(node) or (not whole and name_of(node) is not None):
        return _leaf(node), ATOM
    if depth == 0:
        return "…", ATOM
    shown = node.inputs if len(node.inputs) <= MANY else node.inputs[: MANY - 1]
    left_out = len(node.inputs) - len(shown)
    operands = [_cut(i, depth - 1) for i in shown]
    operands += [("…", ATOM)] * (min(left_out, 1) if isinstance(node.op, Elementwise) else left_out)
    return _written(node, operands, bodies=False)


class _Formulas:
    """Texts of nodes, and the lines of those that have names of their own."""

    def __init__(self, outputs: Sequence[Node], indent: str = "") -> None:
        self.indent = indent
        self.lines: list[str] = []
        self.known: dict[Node, Text] = {}
        self.full: dict[Node, str] = {}
        wanted = set(outputs)
        uses: dict[Node, int] = {}
        order = topological(outputs)
        for node in order:
            for operand in node.inputs:
                uses[operand] = uses.get(operand, 0) + 1
        taken = {name for node in order if (name := name_of(node)) is not None}
        for node in order:
            if _is_plain(node):
                self.known[node] = _leaf(node), ATOM
                continue
            if isinstance(node.op, Assume):
                self.known[node] = self.known[node.inputs[0]]
                continue
            text = _written(node, [self.known[i] for i in node.inputs])
            shared = uses.get(node, 0) + (node in wanted) > 1 and bool(node.inputs)
            if uses.get(node) and (shared or len(text[0]) > LONG):
                name = name_of(node) or self._fresh(taken)
                self.lines.append(f"{name} = {text[0]}")
                self.known[node] = (name, ATOM)
            else:
                self.full[node] = text[0]
                self.known[node] = text

    def _fresh(self, taken: set[str]) -> str:
        name = next(name for i in range(len(taken) + 1) if (name := f"t{i}") not in taken)
        taken.add(name)
        return name

    def text(self, node: Node, whole: bool = False) -> str:
        """An output."""
        return self.full.get(node, self.known[node][0])


def _is_plain(node: Node) -> bool:
    return isinstance(node.op, Input | Shared | Parameter | Constant)


def _leaf(node: Node) -> str:
    if isinstance(node.op, Constant):
        text = constant_text(node.op)
        return text if node.ndim else text.removesuffix(".0")  # as formulas are written; trees tell the type besides
    return name_of(node) or (f"p{node.op.position}" if isinstance(node.op, Parameter) else operation(node.op))


def _grouped(operand: Text, strength: int) -> str:
    """An operand of a sign, in parentheses where it binds less than the sign needs."""
    text, own = operand
    return text if own >= strength else f"({text})"


def _written(node: Node, operands: Sequence[Text], bodies: bool = True) -> Text:
    """A value with its operands; `bodies`: whether inner graphs are written out."""
    op = node.op
    plain = [text for text, _ in operands]
    if isinstance(op, Elementwise):
        if op.function in SIGNS and len(operands) > 1:
            return _signed(op.function, operands)
        if op.function in PREFIXES:
            sign, strength = PREFIXES[op.function]
            rounded = op.function == "neg" and any(mark in plain[0] for mark in _ROUNDED)
            return sign + _grouped(operands[0], strength + rounded), strength
        return f"{op.function}({', '.join(plain)})", ATOM
    if isinstance(op, Assume):
        return operands[0]
    if isinstance(op, MatMul):
        return f"{_grouped(operands[0], 6)} @ {_grouped(operands[1], 7)}", 6
    if isinstance(op, Index):
        return f"{_grouped(operands[0], ATOM)}[{_indices(op.specification, plain[1:])}]", ATOM
    if isinstance(op, IndexUpdate):
        place = f"{_grouped(operands[0], ATOM)}[{_indices(op.specification, plain[2:])}]"
        return f"{place}.{op.mode}({plain[1]})", ATOM
    if isinstance(op, Item):
        return f"{_grouped(operands[0], ATOM)}[{op.position}]", ATOM
    if type(op).__module__.startswith("consilience.distributions"):
        shown = [
            text for text, operand in zip(plain, node.inputs, strict=True) if operand.type != TensorType("key", ())
        ]
        return f"{op!r}({', '.join(shown)})", ATOM
    inside = regions_of(op)
    if inside:
        graphs = [f"{name}={_region(region) if bodies else '{…}'}" for name, region in inside.items()]
        called = op.name if isinstance(op, FunctionCall) else type(op).__name__.lower()
        return f"{called}({', '.join([*plain, *graphs])})", ATOM
    write = _CALLS.get(type(op))
    if write is not None:
        return f"{write(node, ', '.join(plain))}", ATOM
    settings = [f"{name}={getattr(op, name)!r}" for name in field_names(op)]
    called = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(op).__name__).lower()
    return f"{called}({', '.join([*plain, *settings])})", ATOM


def _signed(function: str, operands: Sequence[Text]) -> Text:
    sign, strength = SIGNS[function]
    parts = [_grouped(operands[0], strength + (function == "pow" or strength == 0))]
    for operand in operands[1:]:
        text = operand[0]
        if function == "add" and text.startswith("-") and operand[1] >= 6:
            parts.append(f" - {text[1:]}")
            continue
        parts.append(sign + _grouped(operand, strength + (function not in ("add", "mul", "pow"))))
    return "".join(parts), strength


def _indices(specification: Specification, arrays: Sequence[str]) -> str:
    remaining = iter(arrays)
    shown = []
    for entry in specification:
        if isinstance(entry, SliceIndex):
            ends = ["" if end is None else str(end) for end in (entry.start, entry.stop)]
            shown.append(":".join(ends) + ("" if entry.step in (None, 1) else f":{entry.step}"))
        elif isinstance(entry, NewAxis):
            shown.append("None")
        elif isinstance(entry, At):
            shown.append(str(entry.position))
        else:
            shown.append(next(remaining))
    while len(shown) > 1 and shown[-1] == ":":
        shown.pop()
    return ", ".join(shown)


def _region(region: Region) -> str:
    """An inner graph as a function of its parameters p0, p1, …"""
    writer = _Formulas(region.results)
    parameters = ", ".join(f"p{i}" for i in range(len(region.parameters)))
    results = ", ".join(writer.text(result) for result in region.results)
    steps = "".join(f"{line}; " for line in writer.lines)
    return f"{{{parameters} → {steps}{results}}}"


def _lengths(shape: Sequence[int | Dimension]) -> str:
    return ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")


_CALLS: Final[Mapping[type, Callable[[Node, str], str]]] = {
    Reduce: lambda n, x: f"{n.op.kind}({x}{_over(n, n.op.axes)})",  # type: ignore[attr-defined]  # as the key says
    ArgReduce: lambda n, x: f"arg{n.op.kind}({x}, axis={n.op.axis})",  # type: ignore[attr-defined]  # as the key says
    Cumulative: lambda n, x: f"cum{n.op.kind}({x}, axis={n.op.axis})",  # type: ignore[attr-defined]  # as the key says
    Softmax: lambda n, x: f"{'log_' * n.op.logarithm}softmax({x}{_over(n, n.op.axes)})",  # type: ignore[attr-defined]  # as the key says
    Cast: lambda n, x: f"{n.dtype}({x})",
    Reshape: lambda n, x: f"reshape({x}, ({_lengths(n.static_shape)}))",
    BroadcastTo: lambda n, x: f"broadcast_to({x}, ({_lengths(n.static_shape)}))",
    Transpose: lambda n, x: f"transpose({x}, {n.op.axes})",  # type: ignore[attr-defined]  # as the key says
    Iota: lambda n, x: f"arange({n.static_shape[0]})",
    PythonCall: lambda n, x: f"{n.op.function.name}({x})",  # type: ignore[attr-defined]  # as the key says
    Require: lambda n, x: f"require({x})",
    LengthOf: lambda n, x: f"length({n.op.length})",  # type: ignore[attr-defined]  # as the key says
}


def _over(node: Node, axes: Sequence[int]) -> str:
    if len(axes) == node.inputs[0].ndim:
        return ""
    return f", axis={axes[0] if len(axes) == 1 else tuple(axes)}"
