"""What is read of a loop: other results, and what only they need, are not computed.

Graph in, equal graph out, in which loops carry, read and trace nothing in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from consilience.ir import Node, constant, constant_value, rebuild, substitute, topological
from consilience.ir.dimension import non_negative
from consilience.ops import BroadcastTo, Index, Item
from consilience.ops.index import At
from consilience.ops.loop import LoopParts, Scan, fresh, parts, results
from consilience.ops.scan import scan
from consilience.ops.shape import broadcast_to, length_of
from consilience.rewrite.rules.loops.equality import alike, arranged, equal_states


def mapped(outputs: Sequence[Node], change: Callable[[Node], Node | None]) -> list[Node]:
    """The outputs with nodes exchanged: `change` gets a node on its new operands, and returns what replaces it."""
    memo: dict[Node, Node] = {}
    for node in topological(outputs):
        here = rebuild(node, tuple(memo[operand] for operand in node.inputs))
        new = change(here)
        memo[node] = here if new is None else new
    return [memo[output] for output in outputs]


def last_elements(outputs: Sequence[Node]) -> list[Node]:
    """The last element of a trace of carried values is the last carried value."""
    return mapped(outputs, _last_element)


def _last_element(node: Node) -> Node | None:
    op = node.op
    if not isinstance(op, Index) or len(node.inputs) > 1 or not isinstance(node.inputs[0].op, Item):
        return None
    trace, loop = node.inputs[0].op.position, node.inputs[0].inputs[0]
    if not isinstance(loop.op, Scan) or not op.specification or not isinstance(op.specification[0], At):
        return None
    of = parts(loop)
    last = of.op.length - 1
    if trace <= of.op.carried or of.op.until or of.op.reverse or of.limit is not length_of(of.op.length):
        return None
    if op.specification[0].position not in (-1, last) or not non_negative(last):
        return None
    element = of.op.elements[trace - 1 - of.op.carried]
    found = [value for value, following in zip(results(loop).last, of.op.nexts, strict=True) if following is element]
    if not found:
        return None
    rest = op.specification[1:]
    return Node(Index(rest), found[0]) if rest else found[0]


def pruned(outputs: Sequence[Node]) -> list[Node]:
    """The outputs over loops without a result that nobody reads."""
    order = topological(outputs)
    read: dict[Node, set[int]] = {}
    for node in order:
        if isinstance(node.op, Item) and isinstance(node.inputs[0].op, Scan):
            read.setdefault(node.inputs[0], set()).add(node.op.position)
    if not read:
        return list(outputs)
    memo: dict[Node, Node] = {}
    items: dict[Node, dict[int, Node]] = {}  # old loop -> old position -> new result
    for node in order:
        if isinstance(node.op, Item) and node.inputs[0] in items:
            memo[node] = items[node.inputs[0]][node.op.position]
            continue
        here = rebuild(node, tuple(memo[operand] for operand in node.inputs))
        if isinstance(here.op, Scan):
            items[node] = _smaller(here, read.get(node, set()))
        memo[node] = here
    return [memo[output] for output in outputs]


def _smaller(node: Node, read: set[int]) -> dict[int, Node]:
    """The results of a loop that are read, by their positions, from a loop that has no others."""
    of = parts(node)
    op = of.op
    traces = [k for k in range(op.traces) if 1 + op.carried + k in read]
    wanted = [op.elements[k] for k in traces] + list(op.body.results[op.carried + op.traces :])
    needed = _needed(of, {k for k in range(op.carried) if 1 + k in read}, wanted)
    initial = dict(zip(of.carries, of.initial, strict=True))
    # A carried value that never changes, and one number repeated, are constants.
    constant = {c: initial[c] for c, following in zip(of.carries, op.nexts, strict=True) if following is c}
    constant |= {h: once for h, s in zip(of.heads, of.sequences, strict=True) if (once := _repeated(s)) is not None}
    if _settled(of, needed, traces, constant):
        loop = results(node)
        return dict(enumerate((loop.steps, *loop.last, *loop.traces)))
    stays = [k for k in sorted(needed) if of.carries[k] not in constant]
    leaves: dict[Node, Node] = {}  # sequences that are equal have one leaf
    stands = {of.carries[k]: fresh(of.carries[k]) for k in stays} | constant
    for head, sequence in zip(of.heads, of.sequences, strict=True):
        if head not in constant:
            stands[head] = leaves.setdefault(sequence, fresh(head))
    stands |= dict(zip(of.fixed, of.constants, strict=True))
    body = op.body.apply(*((initial | stands)[p] for p in of.inside))
    equal = equal_states({stands[of.carries[k]]: (of.initial[k], body[k]) for k in stays})
    if len(set(equal.values())) < len(equal):
        body = arranged(substitute(body, equal))
        stays = [k for k in stays if equal[stands[of.carries[k]]] is stands[of.carries[k]]]
    used = set(topological([*(body[k] for k in stays), *body[op.carried :]]))
    elements = list(dict.fromkeys(body[op.carried + k] for k in traces))
    loop = scan(
        {stands[of.carries[k]]: (of.initial[k], body[k]) for k in stays},
        {leaf: sequence for sequence, leaf in leaves.items() if leaf in used},
        elements,
        length=op.length,
        limit=of.limit,
        stop=body[-1] if op.until else None,
        reverse=op.reverse,
        truncate=op.truncate,
    )
    last = dict(zip((stands[of.carries[k]] for k in stays), loop.last, strict=True))
    written = dict(zip(elements, loop.traces, strict=True))
    found = {0: loop.steps}
    found.update((1 + k, initial[c]) for k, c in enumerate(of.carries) if c in constant)
    found.update((1 + k, last[equal[leaf]]) for k, c in enumerate(of.carries) if (leaf := stands.get(c)) in equal)
    found.update((1 + op.carried + k, written[body[op.carried + k]]) for k in traces)
    return found


def _settled(of: LoopParts, needed: set[int], traces: Sequence[int], constant: Mapping[Node, Node]) -> bool:
    """Whether nothing is there to be left out."""
    op = of.op
    if constant or len(needed) < op.carried or len(traces) < op.traces:
        return False
    groups = (of.sequences, of.constants, op.elements)
    if any(len(set(group)) < len(group) for group in groups):
        return False
    states = dict(zip(of.carries, zip(of.initial, op.nexts, strict=True), strict=True))
    if len(alike(states)) < len(states):
        return False
    return set(topological(op.body.results)).issuperset((*of.heads, *of.fixed))


def _needed(of: LoopParts, last: set[int], wanted: Sequence[Node]) -> set[int]:
    """Carried values that are read at the end, or by what is wanted in a step, or for one of these."""
    positions = {carry: k for k, carry in enumerate(of.carries)}
    needed: set[int] = set()
    seen: set[Node] = set()
    pending = [*wanted, *(of.op.nexts[k] for k in last)]
    needed |= last
    while pending:
        new = [node for node in topological(pending, stop=seen.__contains__) if node not in seen]
        seen.update(new)
        more = {positions[node] for node in new if node in positions} - needed
        needed |= more
        pending = [of.op.nexts[k] for k in more]
    return needed


def _repeated(sequence: Node) -> Node | None:
    """What a sequence holds in every step, where that is one thing."""
    if isinstance(sequence.op, BroadcastTo):
        source = sequence.inputs[0]
        if source.ndim < sequence.ndim:
            return broadcast_to(source, sequence.static_shape[1:])
        if source.static_shape[0] == 1:
            return broadcast_to(source[0], sequence.static_shape[1:])
    known = constant_value(sequence)
    if known is not None and known.size and known.ndim == 1 and (known == known[0]).all():
        return constant(known[0], sequence.dtype)
    return None
