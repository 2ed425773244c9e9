"""Regressions in blocks of rows: X @ b and r @ X, where r follows row by row from X @ b, read X once.

A static graph in, an equal one out: what lies between the two products runs block by block in a loop, whose blocks of
X stay in the cache from the first product to the second. Sums over rows are carried from block to block of a chunk, and
chunks, which threads may take from each other, are added up in their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from consilience.ir import Constant, Node, constant, is_leaf, substitute, tensor_input, topological
from consilience.lower.views import static
from consilience.ops import Cast, Elementwise, Index, IndexUpdate, MatMul, Reduce
from consilience.ops.index import Gather, SliceIndex
from consilience.ops.loop import closed
from consilience.ops.reduce import reduce
from consilience.ops.scalar import DRAWS
from consilience.ops.shape import broadcast_to, concatenate, reshape

# Matrices from this size on exceed the caches near a core; one block of rows takes a part of the second level.
LEAST_BYTES = 1 << 22
BLOCK = 1 << 15
# Matrices of `FEW_COLUMNS` are read column by column in the loop over rows; one block of more than the greatest number
# would hold a handful of rows.
COLUMNS = range(33, 8193)
# Sums that chunks keep for themselves take at most one element for so many of the matrices, all chunks together.
ENTRIES_PER_SUM = 32

Take = Callable[[Node], Node]


def in_row_blocks(outputs: Sequence[Node]) -> list[Node]:
    """Every group of products with matrices of one number of rows in a loop over blocks of these rows."""
    results = list(outputs)
    for rows in dict.fromkeys(static(n.static_shape)[0] for n in topological(outputs) if _forward(n)):
        results = _blocked(results, rows)
    return results


def _large(x: Node) -> bool:
    if x.ndim != 2 or x.dtype != "float64" or not (is_leaf(x) or isinstance(x.op, Constant)):
        return False
    rows, columns = static(x.static_shape)
    return columns in COLUMNS and rows > columns and 8 * rows * columns >= LEAST_BYTES


def _forward(node: Node) -> bool:
    return isinstance(node.op, MatMul) and node.ndim == 1 and node.inputs[1].ndim == 1 and _large(node.inputs[0])


class _Region:
    """What runs block by block.

    `vectors`: X @ b, and what follows from it element by element. `ends`: sums over rows: numbers, r @ X, sums by
    group. `traces`: those of the vectors that are read elsewhere.
    """

    def __init__(self, outputs: Sequence[Node], rows: int) -> None:
        self.rows = rows
        self.vectors: list[Node] = []
        self.ends: list[Node] = []
        behind: set[Node] = set()
        inner: set[Node] = set()
        wanted = set(outputs)
        read_behind: set[Node] = set()
        for node in topological(outputs):
            within = inner.intersection(node.inputs)
            if behind.intersection(node.inputs):
                behind.add(node)
            elif (_forward(node) and node.static_shape == (rows,) and not within) or (within and self._by_row(node)):
                self.vectors.append(node)
                inner.add(node)
            elif within:
                behind.add(node)
                if self._sums(node, inner):
                    self.ends.append(node)
                    continue
            if node in behind:
                read_behind |= within
        self.traces = [node for node in self.vectors if node in read_behind or node in wanted]

    def _by_row(self, node: Node) -> bool:
        if not isinstance(node.op, Elementwise | Cast) or node.static_shape != (self.rows,) or node.dtype == "key":
            return False
        return not (isinstance(node.op, Elementwise) and node.op.function in DRAWS)

    def _sums(self, node: Node, inner: set[Node]) -> bool:
        """Whether a node adds up rows: `sum`, r @ X, or a sum by group of few groups."""
        op, operands = node.op, node.inputs
        if isinstance(op, Reduce):
            return op.kind == "sum" and node.dtype == "float64"
        if isinstance(op, MatMul):
            return operands[0] in inner and operands[0].ndim == 1 and _large(operands[1])
        if not isinstance(op, IndexUpdate) or (op.mode, op.specification) != ("inc", (Gather(),)):
            return False
        base, values, places = operands
        few = 8 * static(base.static_shape)[0] <= BLOCK and static(base.static_shape)[0] < self.rows
        return few and places not in inner and values.static_shape == places.static_shape == (self.rows,)

    def sequences(self) -> list[Node]:
        """What lies outside and has a row for each row."""
        inner = set(self.vectors)
        read = [i for node in (*self.vectors, *self.ends) for i in node.inputs if i not in inner]
        return list(dict.fromkeys(i for i in read if i.static_shape[:1] == (self.rows,)))

    def beginning(self, end: Node) -> Node:
        """A sum before the first row."""
        if isinstance(end.op, IndexUpdate):
            return end.inputs[0]
        return broadcast_to(constant(0.0, end.dtype), end.static_shape)

    def following(self, take: Take, carried: Sequence[Node]) -> list[Node]:
        """Sums after further rows, and what these rows have of the traces."""
        memo: dict[Node, Node] = {}

        def found(node: Node) -> Node:
            return memo[node] if node in memo else take(node)

        for node in self.vectors:
            memo[node] = Node(node.op, *map(found, node.inputs))
        sums = []
        for end, before in zip(self.ends, carried, strict=True):
            if isinstance(end.op, IndexUpdate):
                sums.append(Node(end.op, before, *map(found, end.inputs[1:])))
            else:
                sums.append(before + Node(end.op, *map(found, end.inputs)))
        return [*sums, *(memo[node] for node in self.traces)]


def _blocked(outputs: list[Node], rows: int) -> list[Node]:
    region = _Region(outputs, rows)
    products = [end.inputs[1] for end in region.ends if isinstance(end.op, MatMul)]
    if not products:
        return outputs
    from consilience.lower.row_chunks import MOST  # few models have wide matrices

    sequences = region.sequences()
    columns = sum(static(x.static_shape)[1] for x in sequences if x.ndim == 2)
    block = min(rows, max(16, BLOCK // columns // 8 * 8))
    blocks = rows // block
    sums = sum(math.prod(static(end.static_shape)) for end in region.ends)
    each = -(-blocks // max(1, min(MOST, rows * columns // (ENTRIES_PER_SUM * sums))))
    chunks, part = blocks // each, each * block
    begin = [region.beginning(end) for end in region.ends]
    last: list[Node] = []
    if chunks * part < rows:  # the rows behind the last whole chunk come first
        taken = {s: _rows(s, chunks * part, None) for s in sequences}
        last = region.following(lambda node: taken.get(node, node), begin)
        begin, last = last[: len(begin)], last[len(begin) :]
    zeros = [broadcast_to(constant(0.0, end.dtype), end.static_shape) for end in region.ends]
    heads = {s: tensor_input(s.dtype, (part, *s.static_shape[1:])) for s in sequences}
    loop = closed(
        {},
        {heads[s]: reshape(_rows(s, None, chunks * part), (chunks, *heads[s].static_shape)) for s in sequences},
        _chunk(region, heads, zeros, block),
        length=chunks,
    )
    totals = [first + reduce("sum", own, (0,)) for first, own in zip(begin, loop.traces, strict=False)]
    whole = [reshape(trace, (chunks * part,)) for trace in loop.traces[len(totals) :]]
    joined = [concatenate([trace, end]) for trace, end in zip(whole, last, strict=True)] if last else whole
    return substitute(outputs, dict(zip([*region.ends, *region.traces], [*totals, *joined], strict=True)))


def _chunk(region: _Region, given: dict[Node, Node], begin: list[Node], block: int) -> list[Node]:
    """Sums over the rows of a chunk, block by block, and its rows of the traces."""
    part = next(iter(given.values())).static_shape[0]
    blocks = static((part,))[0] // block
    heads = {s: tensor_input(s.dtype, (block, *s.static_shape[1:])) for s in given}
    states = [tensor_input(b.dtype, b.static_shape) for b in begin]
    wanted = region.following(lambda node: heads.get(node, node), states)
    loop = closed(
        {state: (first, following) for state, first, following in zip(states, begin, wanted, strict=False)},
        {heads[s]: reshape(own, (blocks, *heads[s].static_shape)) for s, own in given.items()},
        wanted,
        length=blocks,
    )
    return [*loop.last, *(reshape(trace, (part,)) for trace in loop.traces)]


def _rows(node: Node, start: int | None, stop: int | None) -> Node:
    if start is None and stop == node.static_shape[0]:
        return node
    return Node(Index((SliceIndex(start, stop), *[SliceIndex()] * (node.ndim - 1))), node)
