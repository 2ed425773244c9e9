"""The loop: a region repeated, with values carried from step to step, sequences read and traces written.

One op is every loop: a map carries nothing, a reduction writes no trace, `while` has a bound that is never met.
No storage is part of it: which traces exist is decided by who reads them, where they lie by lowering.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from consilience.errors import GraphError
from consilience.ir import (
    Constant,
    Dim,
    Input,
    Node,
    Op,
    Parameter,
    Region,
    TensorType,
    TupleType,
    Type,
    constant,
    tensor_input,
    topological,
)
from consilience.ir.lengths import substitute as exchange
from consilience.ir.shape_constraints import ShapeConstraint, collect
from consilience.ir.side_tables import carrying_marks, without_sources
from consilience.ir.traversal import substitute
from consilience.ops.control import Item, compatible_shapes
from consilience.ops.random import fold_in
from consilience.ops.shape import Iota, LengthOf, length_of
from consilience.record import Record, replace

# The bound of a loop that only its condition stops.
UNBOUNDED = 2**62


class Scan(Op):
    """A body repeated at most `length` times.

    `body`: parameters: carried values, one element of every sequence, constants; results: next carried values, one
        element of every trace, and whether to stop (bool, if `until`).
    `length`: of the sequences and traces along their first axis.
    `carried`: number of carried values.
    `sequences`: number of sequences.
    `until`: whether the body's last result ends the loop after its step.
    `reverse`: step i reads and writes element `steps - 1 - i`.
    `truncate`: derivatives pass through so many of the last steps only; None: through all.

    Inputs: the number of steps at most (int64 scalar, at most `length`), initial carried values, sequences,
    constants. Results: the number of steps done (int64), last carried values, traces; behind the steps done, traces
    hold zeros.
    """

    body: Region
    length: Dim
    carried: int
    sequences: int
    until: bool = False
    reverse: bool = False
    truncate: int | None = None

    @property
    def traces(self) -> int:
        """Number of traces."""
        return len(self.body.results) - self.carried - self.until

    @property
    def nexts(self) -> tuple[Node, ...]:
        """The next carried values."""
        return self.body.results[: self.carried]

    @property
    def elements(self) -> tuple[Node, ...]:
        """One element of every trace."""
        return self.body.results[self.carried : self.carried + self.traces]

    @property
    def constants(self) -> int:
        """Number of values that are the same in all steps."""
        return len(self.body.parameters) - self.carried - self.sequences

    def result_type(self, *inputs: Node) -> Type:
        if len(inputs) != 1 + len(self.body.parameters):
            raise GraphError(f"a loop of {len(self.body.parameters)} operands was given {len(inputs) - 1}.")
        for i, (own, result) in enumerate(zip(self.body.parameters, self.nexts, strict=False)):
            if own.dtype != result.dtype or not compatible_shapes(own.shape, result.static_shape):
                raise GraphError(f"carried value {i} is {own!r} and becomes {result.tensor_type!r}.")
        elements = tuple(TensorType(e.dtype, (self.length, *e.static_shape)) for e in self.elements)
        return TupleType((TensorType("int64", ()), *self.body.parameters[: self.carried], *elements))

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        # Lengths of a region's parameters are those of its operands, so its shape constraints are the function's.
        first = 1 + self.carried
        own = [
            ShapeConstraint(a, b, "carried values keep their shape")
            for parameter, result in zip(self.body.parameters, self.nexts, strict=False)
            for a, b in zip(parameter.shape, result.static_shape, strict=True)
        ]
        own += [
            ShapeConstraint(sequence.static_shape[0], self.length, "sequences of a loop have the length of the loop")
            for sequence in inputs[first : first + self.sequences]
        ]
        return collect(self.body.results) + tuple(c for c in own if c.left is not c.right and c.left != c.right)

    def __repr__(self) -> str:
        kinds = f"{self.carried} carried, {self.sequences} sequences, {self.traces} traces"
        return f"scan({kinds}{', until' if self.until else ''}{', reverse' if self.reverse else ''})"


class LoopParts(Record):
    """Operands and results of a loop by kind.

    `limit`: the number of steps at most. `inside`: the body's parameters, in the order of the inputs behind the first.
    """

    op: Scan
    limit: Node
    initial: tuple[Node, ...]
    sequences: tuple[Node, ...]
    constants: tuple[Node, ...]
    inside: tuple[Node, ...]

    @property
    def carries(self) -> tuple[Node, ...]:
        """Carried values inside the body."""
        return self.inside[: self.op.carried]

    @property
    def heads(self) -> tuple[Node, ...]:
        """Elements of the sequences inside the body."""
        return self.inside[self.op.carried : self.op.carried + self.op.sequences]

    @property
    def fixed(self) -> tuple[Node, ...]:
        """Constants inside the body."""
        return self.inside[self.op.carried + self.op.sequences :]


def parts(node: Node) -> LoopParts:
    """The operands of a loop by kind."""
    op = node.op
    assert isinstance(op, Scan)
    limit, *operands = node.inputs
    first, second = op.carried, op.carried + op.sequences
    inside = tuple(op.body.parameter(i) for i in range(len(operands)))
    return LoopParts(
        op, limit, tuple(operands[:first]), tuple(operands[first:second]), tuple(operands[second:]), inside
    )


class Loop(Record):
    """The results of a loop.

    `steps`: number of steps done, int64. `last`: last carried values. `traces`: all elements, along a first axis.
    """

    steps: Node
    last: tuple[Node, ...]
    traces: tuple[Node, ...]


def results(node: Node) -> Loop:
    """The results of a loop, by kind."""
    assert isinstance(node.op, Scan)
    carried, traces = node.op.carried, node.op.traces
    items = [Node(Item(i), node) for i in range(1 + carried + traces)]
    return Loop(items[0], tuple(items[1 : 1 + carried]), tuple(items[1 + carried :]))


def fresh(like: Node) -> Node:
    """A leaf of the same type, to write a body on."""
    return tensor_input(like.dtype, like.static_shape)


def closed(
    carried: Mapping[Node, tuple[Node, Node]],
    sequences: Mapping[Node, Node],
    wanted: Sequence[Node],
    *,
    length: Dim,
    limit: Node | None = None,
    until: bool = False,
    reverse: bool = False,
    truncate: int | None = None,
    keys: Iterable[Node] = (),
) -> Loop:
    """The loop of a step of which no length depends on a leaf; parameters as those of `ops.scan.scan`.

    `wanted`: next values of what is carried, traced expressions, and with `until` the condition that ends the loop.
    """
    wanted = list(wanted)
    own = dict(sequences)
    states = dict(carried)
    found = set(topological(wanted))
    drawn = [key for key in keys if key in found]
    if drawn:
        position = Node(Input(-1, TensorType("int64", ())))
        with without_sources(), carrying_marks():  # what the user wrote inside keeps its names and lines
            wanted = exchange(wanted, {key: fold_in(key, position) for key in drawn})
        if length == UNBOUNDED:
            states[position] = (constant(0), position + 1)
            wanted.insert(len(carried), position + 1)
        else:
            own[position] = Node(Iota(length))
    leaves = [*states, *own]
    constants = outside(wanted, leaves)
    types = tuple(leaf.tensor_type for leaf in (*leaves, *constants))
    inside = {leaf: Node(Parameter(i, types[i])) for i, leaf in enumerate((*leaves, *constants))}
    # Lengths inside stay those of what lies outside: no step changes them.
    with without_sources(), carrying_marks():
        body = Region(types, tuple(substitute(wanted, inside)))
    op = Scan(body, length, len(states), len(own), until, reverse, truncate)
    begins = [first for first, _ in states.values()]
    steps = length_of(length) if limit is None else limit
    loop = results(Node(op, steps, *begins, *own.values(), *constants))
    return replace(loop, last=loop.last[: len(carried)])


def outside(wanted: Sequence[Node], leaves: Sequence[Node]) -> list[Node]:
    """The greatest expressions that depend on no leaf, but for constants and lengths: they are computed before."""
    own = set(leaves)
    inner: set[Node] = set()
    order = topological(wanted, stop=own.__contains__)
    for node in order:
        if node in own or any(operand in inner for operand in node.inputs):
            inner.add(node)
    read = [operand for node in order if node in inner and node not in own for operand in node.inputs]
    found = [node for node in (*read, *wanted) if node not in inner and not isinstance(node.op, Constant | LengthOf)]
    # A tuple is no value that could be handed on; its members are.
    return [node for node in dict.fromkeys(found) if isinstance(node.type, TensorType)]
