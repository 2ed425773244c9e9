"""Lengths inside programs: found, replaced, and kept true when the values they are computed from are exchanged.

Lengths stand in parameters of ops and of their regions, and in the types of leaves; all other types follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from consilience.ir import dimension as dims
from consilience.ir.dimension import Atom, Dim, Dimension
from consilience.ir.leaves import Constant, is_leaf
from consilience.ir.node import Node
from consilience.ir.region import Region
from consilience.ir.traversal import rebuild, topological
from consilience.record import Record, field_names


def computed_atoms(nodes: Iterable[Node]) -> list[Atom]:
    """The computed integers on which lengths of the graph depend, each after those its own source depends on."""
    if not dims.any_computed():
        return []
    found: dict[Atom, None] = {}
    seen: set[Node] = set()
    pending: list[Atom] = _computed_in(nodes, seen)
    while pending:
        atom = pending[-1]
        inner = [] if atom in found else [a for a in _computed_in([source_of(atom)], set()) if a not in found]
        if inner:
            pending += inner
        else:
            found[pending.pop()] = None
    return list(found)


def source_of(atom: Atom) -> Node:
    """The int64 scalar whose value a computed length is."""
    assert isinstance(atom.source, Node)
    return atom.source


def sources_of(nodes: Sequence[Node]) -> list[Node]:
    """What the computed lengths of a graph are computed from."""
    return [source_of(atom) for atom in computed_atoms(nodes)]


def _computed_in(nodes: Iterable[Node], seen: set[Node]) -> list[Atom]:
    found: dict[Atom, None] = {}
    regions: set[Region] = set()
    for node in topological(nodes, stop=seen.__contains__):
        if node not in seen:
            seen.add(node)
            for length in lengths_in(node.op, regions):
                found.update((a, None) for a in dims.atoms(length) if a.kind in dims.COMPUTED)
    return sorted(found, key=lambda atom: atom.serial, reverse=True)


def symbols_in(nodes: Iterable[Node]) -> set[Atom]:
    """The symbols on which parameters of the graph depend."""
    regions: set[Region] = set()
    lengths = (length for node in topological(nodes) for length in lengths_in(node.op, regions))
    return {atom for length in lengths for atom in dims.atoms(length) if atom.kind == "symbol"}


def lengths_in(value: Any, seen: set[Region]) -> Iterator[Dimension]:
    """The symbolic lengths in a parameter of an op, and in its regions but for those seen before."""
    if isinstance(value, Dimension):
        yield value
    elif isinstance(value, tuple):
        for member in value:
            yield from lengths_in(member, seen)
    elif isinstance(value, Region):
        if value not in seen:  # regions within regions share parts
            seen.add(value)
            yield from lengths_in(value.parameters, seen)
            for node in topological(value.results):
                yield from lengths_in(node.op, seen)
    elif isinstance(value, Record) and not isinstance(value, Constant):
        for name in field_names(value):
            yield from lengths_in(getattr(value, name), seen)


def replaced(value: Any, values: Mapping[Atom, Dim], graph: Callable[[Sequence[Node]], Sequence[Node]]) -> Any:
    """A parameter of an op with lengths put in place of symbols; the same object when there is nothing to replace.

    `graph`: what becomes of the results of a region.
    """
    if isinstance(value, Dimension):
        return dims.substitute(value, values)
    if isinstance(value, tuple):
        members = tuple([replaced(member, values, graph) for member in value])
        return value if all(a is b for a, b in zip(members, value, strict=True)) else members
    if isinstance(value, Region):
        parameters = replaced(value.parameters, values, graph)
        results = tuple(graph(value.results))
        same = parameters is value.parameters and all(a is b for a, b in zip(results, value.results, strict=True))
        return value if same else Region(parameters, results)
    if isinstance(value, Record) and not isinstance(value, Constant):
        before = [getattr(value, name) for name in field_names(value)]
        after = [replaced(member, values, graph) for member in before]
        return value if all(a is b for a, b in zip(after, before, strict=True)) else type(value)(*after)
    return value


def with_lengths(
    nodes: Sequence[Node], values: Mapping[Atom, Dim], leaves: frozenset[Node] | None = None
) -> list[Node]:
    """The nodes with lengths put in place of symbols."""
    return _exchanged(nodes, {}, values, leaves)


def with_sources(nodes: Sequence[Node], made: Mapping[Node, Node]) -> list[Node]:
    """The nodes with computed lengths that stand for others: those of the sources that were made of theirs."""
    lengths: dict[Atom, Dim] = {}
    for atom in computed_atoms(nodes):
        own = source_of(atom)
        (source,) = with_lengths([made.get(own, own)], lengths)
        if source is not own:
            lengths[atom] = dims.computed(source, atom.name, non_negative=atom.kind == "size")
    return with_lengths(nodes, lengths) if lengths else list(nodes)


def substitute(outputs: Iterable[Node], replacements: Mapping[Node, Node]) -> list[Node]:
    """The same graph with some nodes exchanged for others; lengths computed from those are computed anew.

    Regions are closed: of what they compute, lengths alone can change.
    """
    return _exchanged(list(outputs), replacements, {}, frozenset())


def _exchanged(
    outputs: Sequence[Node],
    replacements: Mapping[Node, Node],
    values: Mapping[Atom, Dim],
    leaves: frozenset[Node] | None,
) -> list[Node]:
    lengths = dict(values)
    for atom in computed_atoms(outputs):
        if atom not in lengths:
            (source,) = _rebuilt([source_of(atom)], replacements, lengths, leaves)
            if source is not atom.source:
                lengths[atom] = dims.computed(source, atom.name, non_negative=atom.kind == "size")
    return _rebuilt(outputs, replacements, lengths, leaves)


def _rebuilt(
    outputs: Sequence[Node],
    replacements: Mapping[Node, Node],
    lengths: Mapping[Atom, Dim],
    leaves: frozenset[Node] | None,
) -> list[Node]:
    memo: dict[Node, Node] = dict(replacements)
    for node in topological(outputs, stop=memo.__contains__):
        if node in memo:
            continue
        inputs = tuple([memo[operand] for operand in node.inputs])
        if not lengths or (leaves is not None and is_leaf(node) and node not in leaves):
            memo[node] = rebuild(node, inputs)
            continue
        op = replaced(node.op, lengths, lambda results: _rebuilt(results, {}, lengths, None))
        if op is node.op and inputs == node.inputs:
            memo[node] = node
        else:
            known = op.settled()
            memo[node] = Node(op, *inputs) if known is None else known
    return [memo[output] for output in outputs]
