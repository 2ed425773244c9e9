"""How every node of a static graph will exist: in a register, inside a loop, in memory.

Graph in; per node a form, a loop domain and a level. A level is a stage of the program: first the scalars
of the level, then its loops and library calls, which are independent of each other.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence

from consilience.ir import Constant, Node, TensorType, is_leaf, users
from consilience.lower import segments
from consilience.lower.views import (
    IOTA,
    Lengths,
    Storage,
    View,
    apply_view,
    gathered_lengths,
    is_view,
    proved_inside,
    static,
    whole,
)
from consilience.ops import Cast, Elementwise, Index, IndexUpdate, Iota, Item, Key, Reduce

# Forms of a node.
INVARIANT = "invariant"  # one scalar in a register, whatever the shape
LOOP = "loop"  # computed inside a loop over its elements
REDUCE = "reduce"  # comes out of a loop
SCATTER = "scatter"  # a loop writes or adds its values at places given by index arrays
READ = "read"  # elements at places given by index arrays, read anew in every loop that uses them
VIEW = "view"  # elements of another value, addressed anew
LEAF = "leaf"  # given: input, constant, iota
STEP = "step"  # made by a step of its own: library call, join, branch
TUPLE = "tuple"  # several results of a step
IN_LOOPS = (LOOP, REDUCE, SCATTER)

# Nodes in the body of one loop, beyond which LLVM's time grows faster than the body.
LONGEST_BODY = 500
# Vectors that a loop over groups reads at most: measured on regressions of 4,000 rows with 2 to 24 columns.
MOST_VECTORS = 8

ANYWHERE = Storage("workspace", -1, "float64", 0)


class Forms:
    """The decisions about a graph."""

    def __init__(self, order: list[Node], outputs: list[Node], numbers: Collection[Node] = ()) -> None:
        self.order = order
        self.outputs = outputs
        self.numbers = numbers
        self.form: dict[Node, str] = {}
        self.level: dict[Node, int] = {}
        self.users: dict[Node, list[Node]] = {}
        self.stored: set[Node] = set()
        self.layouts: dict[Node, View] = {}
        self.grouped: dict[Node, Node] = {}
        self.ends: frozenset[Node] = frozenset()  # loop values that are stored and read again to end a long body
        self.read_anew: frozenset[Node] = frozenset()  # what index arrays pick from small tensors, never stored

    @functools.cached_property
    def wanted(self) -> set[Node]:
        """The outputs as a set."""
        return set(self.outputs)

    def size(self, node: Node) -> int:
        """Number of elements."""
        return math.prod(static(node.static_shape))

    def in_register(self, node: Node) -> bool:
        """Whether a value exists in a register only: what reads it from memory needs a copy (`KeepStep`)."""
        form = self.form[node]
        return form == INVARIANT or (form == REDUCE and node not in self.stored)

    def scalar_like(self, node: Node) -> bool:
        """Whether a node is one number repeated."""
        return self.form[node] == INVARIANT or (isinstance(node.type, TensorType) and self.size(node) == 1)


def domain_of(node: Node) -> Lengths:
    """The loop space of a node: of its operand for a reduction, of its result otherwise; no axes of length 1."""
    if isinstance(node.op, Reduce):
        shape = node.inputs[0].static_shape
    elif isinstance(node.op, IndexUpdate):
        shape = node.inputs[1].static_shape
    else:
        shape = node.static_shape
    return tuple(n for n in static(shape) if n != 1)


def decide(
    order: list[Node], outputs: Sequence[Node], given: Mapping[Node, View], numbers: Collection[Node] = ()
) -> Forms:
    """Forms, levels and what must be stored, for a graph in topological order.

    `given`: nodes whose values exist already, with their places. `numbers`: those of them that are in registers.
    """
    for grouped in (segments.find(order), segments.find(order, unsorted=False), {}):
        forms = _decide(order, outputs, given, numbers, grouped)
        if read_anew := _read_anew(forms):
            forms = _decide(order, outputs, given, numbers, grouped, read_anew)
        if len(order) > LONGEST_BODY and (ends := _ends_of_bodies(forms)):
            forms = _decide(order, outputs, given, numbers, grouped, read_anew, ends)
        if _groups_pay(forms):
            break
    return forms


def _decide(
    order: list[Node],
    outputs: Sequence[Node],
    given: Mapping[Node, View],
    numbers: Collection[Node],
    grouped: dict[Node, Node],
    read_anew: frozenset[Node] = frozenset(),
    ends: frozenset[Node] = frozenset(),
) -> Forms:
    forms = Forms(order, list(outputs), numbers)
    forms.read_anew, forms.ends = read_anew, ends
    present = set(given)
    forms.layouts.update(given)
    forms.grouped = grouped
    for node in order:
        forms.form[node] = LEAF if node in present else _form(forms, node)
    forms.users = users(order)
    for node in order:
        forms.level[node] = 0 if node in present else _level(forms, node)
    _sink(forms)
    forms.stored = {node for node in order if node not in present and _must_store(forms, node)}
    return forms


def components(forms: Forms, nodes: Sequence[Node]) -> list[list[Node]]:
    """Nodes of one loop space in independent parts, each in the order given."""
    parent: dict[Node, Node] = {node: node for node in nodes}

    def root(node: Node) -> Node:
        while parent[node] is not node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for node in nodes:
        for operand in node.inputs:
            if operand in parent and fused(forms, node, operand):
                parent[root(operand)] = root(node)
    found: dict[Node, list[Node]] = {}
    for node in nodes:
        found.setdefault(root(node), []).append(node)
    return list(found.values())


def _read_anew(forms: Forms) -> frozenset[Node]:
    """What index arrays pick for loops of several levels, from a tensor that has no more elements.

    It would be stored for the later ones. To read the smaller tensor again moves less memory.
    """
    return frozenset(
        node
        for node in forms.order
        if isinstance(node.op, Index)
        and forms.form[node] == LOOP
        and node in forms.stored
        and node not in forms.wanted
        and forms.size(node.inputs[0]) <= forms.size(node)
        and all(forms.form[array] in (LEAF, VIEW, INVARIANT) for array in node.inputs[1:])
        and all(fused(forms, user, node) and not isinstance(user.op, Index) for user in forms.users[node])
        and all(user.inputs.count(node) == 1 for user in forms.users[node] if isinstance(user.op, IndexUpdate))
        and all(user.inputs[1] is node for user in forms.users[node] if isinstance(user.op, IndexUpdate))
    )


def _ends_of_bodies(forms: Forms) -> frozenset[Node]:
    """Values at which loops with very long bodies are taken apart: one loop stores them, those behind it read them.

    The nodes of a loop are divided where they stand in the order of the graph, in which few values are used far
    behind the place where they are made.
    """
    loops: dict[tuple[int, Lengths], list[Node]] = {}
    for node in forms.order:
        if forms.form[node] in IN_LOOPS:
            loops.setdefault((forms.level[node], domain_of(node)), []).append(node)
    ends: set[Node] = set()
    for group in loops.values():
        for nodes in components(forms, group) if len(group) > LONGEST_BODY else ():
            piece = {node: number // LONGEST_BODY for number, node in enumerate(nodes)}
            ends.update(i for n in nodes for i in n.inputs if i in piece and piece[i] < piece[n] and fused(forms, n, i))
    return frozenset(ends)


def _groups_pay(forms: Forms) -> bool:
    """Whether loops over groups are better than loops over elements that add to the sums in memory.

    Where many vectors are read, masks for the last elements of each group cost more than sums in registers save. A
    loop over an index that does not ascend takes its elements in another order, which is free for constants and would
    cost a pass through memory for anything else: it reads constants only and stores sums by group only.
    """
    ascends: dict[tuple[int, Lengths], bool] = {}
    for node, index in forms.grouped.items():
        space = forms.level[node], domain_of(node)
        ascends[space] = ascends.get(space, True) and segments.ascending(index)
    vectors: dict[tuple[int, Lengths], set[Node]] = {space: set() for space in ascends}
    for node in forms.order if ascends else ():
        if forms.form[node] not in IN_LOOPS or (space := (forms.level[node], domain_of(node))) not in ascends:
            continue
        if not ascends[space] and node in forms.stored and node not in forms.grouped:
            return False
        read = node.inputs
        if isinstance(node.op, Index):
            read = node.inputs[1:]
        elif node in forms.grouped:
            read = node.inputs[1:2]
        for operand in read:
            inside = fused(forms, node, operand) and forms.level[operand] == forms.level[node]
            if inside or forms.scalar_like(operand):
                continue
            vectors[space].add(operand)
            if not ascends[space] and not (isinstance(operand.op, Constant) and operand.ndim == 1):
                return False
    return all(len(found) <= MOST_VECTORS for found in vectors.values())


def _form(forms: Forms, node: Node) -> str:
    op = node.op
    if not isinstance(node.type, TensorType):
        return TUPLE
    if is_leaf(node) or isinstance(op, Constant):
        return LEAF
    if isinstance(op, Iota):
        return LEAF
    if isinstance(op, Key):
        return INVARIANT
    if is_view(node):
        operand = node.inputs[0]
        in_register = (
            forms.form[operand] == INVARIANT
            or (forms.form[operand] == REDUCE and forms.size(operand) == 1)
            or operand in forms.numbers
        )
        return INVARIANT if in_register else _view_form(forms, node)
    if isinstance(op, Elementwise | Cast):
        return INVARIANT if all(forms.scalar_like(i) for i in node.inputs) else LOOP
    if isinstance(op, Reduce):
        return INVARIANT if forms.scalar_like(node.inputs[0]) else REDUCE
    if isinstance(op, Index):
        return INVARIANT if _one_place(forms, node, op) else READ if node in forms.read_anew else LOOP
    if isinstance(op, Item):
        return VIEW
    if isinstance(op, IndexUpdate) and len(node.inputs) > 2:
        return REDUCE if node in forms.grouped else SCATTER
    return STEP


def _one_place(forms: Forms, node: Node, op: Index) -> bool:
    """Whether reading by index arrays gives one number: one element, or elements of a repeated scalar.

    Index arrays of several elements that are not known to be inside need a loop, for the check.
    """
    source, *arrays = node.inputs
    if forms.size(node) == 1:
        return True
    if forms.size(node) == 0 or forms.form[source] != INVARIANT:
        return False
    lengths = gathered_lengths(op, static(source.static_shape))
    return all(forms.scalar_like(a) or proved_inside(a, n) for a, n in zip(arrays, lengths, strict=True))


def _view_form(forms: Forms, node: Node) -> str:
    """A view, or a step of its own where only a copy has the new shape.

    What is stored lies in row-major order, so the layout of a view is known before its place.
    """
    (operand,) = node.inputs
    source = forms.layouts.get(operand)
    if source is None:
        shape = static(operand.static_shape)
        storage = IOTA if isinstance(operand.op, Iota) else ANYWHERE
        source = whole(storage, shape)
    view = apply_view(node, source)
    if view is None:
        return STEP
    forms.layouts[node] = view
    return VIEW


def fused(forms: Forms, consumer: Node, operand: Node) -> bool:
    """Whether a loop value is used element by element in a loop over the same space."""
    if operand in forms.ends or forms.form[operand] != LOOP or forms.form[consumer] not in IN_LOOPS:
        return False
    if isinstance(consumer.op, Index | IndexUpdate) and consumer.inputs[0] is operand:
        return False
    return domain_of(operand) == domain_of(consumer)


def available(forms: Forms, node: Node) -> int:
    """First level at which other code than the same loop can use a value."""
    form = forms.form[node]
    level = forms.level[node]
    return level + 1 if form in (*IN_LOOPS, STEP, TUPLE) else level


def _level(forms: Forms, node: Node) -> int:
    level = 0
    for operand in node.inputs:
        if fused(forms, node, operand):
            level = max(level, forms.level[operand])
        else:
            level = max(level, available(forms, operand))
    return level


def _sink(forms: Forms) -> None:
    """Move loop values to the loop that uses them, when all users are in one: saves a pass through memory."""
    wanted = forms.wanted
    for node in reversed(forms.order):
        if forms.form[node] != LOOP or node in wanted:
            continue
        consumers = forms.users.get(node, [])
        if not consumers or not all(fused(forms, c, node) for c in consumers):
            continue
        levels = {forms.level[c] for c in consumers}
        if len(levels) == 1:
            forms.level[node] = levels.pop()


def _must_store(forms: Forms, node: Node) -> bool:
    """Whether a value needs memory."""
    form = forms.form[node]
    if form in (STEP, SCATTER):
        return True
    if form == REDUCE:
        return forms.size(node) != 1
    if form != LOOP:
        return False
    if node in forms.wanted:
        return True
    return any(not (fused(forms, c, node) and forms.level[c] == forms.level[node]) for c in forms.users.get(node, []))
