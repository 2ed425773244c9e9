"""Pullback of the loop: its steps backwards, with cotangents carried in the other direction.

The loop is run once more with traces of its carried values, and the body of the reverse loop computes its inner values
again from those: the passes on loops make one of both forward loops, and take out of the reverse loop what reads no
cotangent.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import MissingRuleError
from consilience.ir import FLOATS, Dim, Node, Region, tensor_input, topological
from consilience.ir.dimension import minimum
from consilience.ops.elementwise import apply
from consilience.ops.index import getitem
from consilience.ops.loop import UNBOUNDED, Loop, LoopParts, Scan, parts, results
from consilience.ops.scan import scan
from consilience.ops.shape import as_length, concatenate, full, length_of
from consilience.record import replace
from consilience.transforms.gradient.engine import accumulate
from consilience.transforms.gradient.index import zeros_like
from consilience.transforms.gradient.table import Cotangents, pullback_of


@pullback_of(Scan)
def _scan(node: Node, g: tuple[Node | None, ...], wanted: Sequence[bool]) -> Cotangents:
    op = node.op
    assert isinstance(op, Scan)
    if op.length == UNBOUNDED:
        # The number of steps is computed first; the loop that is differentiated has it as its length.
        steps = results(node).steps
        op = replace(op, length=as_length(steps), until=False, body=_without_stop(op))
        node = Node(op, steps, *node.inputs[1:])
    of = parts(node)
    forward, states = _with_states(node, of)
    asked = _active(of, wanted[1:])
    carries, heads, fixed = ([p for p in group if p in asked] for group in (of.carries, of.heads, of.fixed))
    outer = dict(zip(of.inside, node.inputs[1:], strict=True))
    last, traced = g[1 : 1 + op.carried], g[1 + op.carried :]

    # The body of the reverse loop on leaves of its own: values of the forward step, and cotangents.
    stands = {parameter: _leaf(parameter) for parameter in of.inside}
    onwards = {carry: _leaf(carry) for carry in carries}
    totals = {parameter: _leaf(parameter) for parameter in fixed}
    written = op.body.apply(*stands.values())
    seeds = {
        _leaf(element): (k, trace)
        for k, (element, trace) in enumerate(zip(op.elements, traced, strict=True))
        if (trace is not None and element.dtype in FLOATS)
    }
    starts: dict[Node, Node] = {}
    for result, cotangent in (
        *((following, onwards[c]) for c, following in zip(of.carries, written, strict=False) if c in onwards),
        *((written[op.carried + k], seed) for seed, (k, _) in seeds.items()),
    ):
        starts[result] = starts[result] + cotangent if result in starts else cotangent
    wrt = [*carries, *heads, *fixed]
    found = accumulate(starts, [stands[w] for w in wrt])
    made = {w: zeros_like(stands[w]) if c is None else c for w, c in zip(wrt, found, strict=True)}

    window = _window(op)
    seen = {
        **{stands[c]: state for c, state in zip(of.carries, states, strict=True)},
        **{stands[h]: sequence for h, sequence in zip(of.heads, of.sequences, strict=True)},
        **{seed: trace for seed, (_, trace) in seeds.items() if trace is not None},
    }
    # What is linear in a carried value does not read it: then its trace is not asked for.
    used = set(topological([*made.values(), *(totals[f] for f in fixed)]))
    backward = scan(
        {
            **{onwards[c]: (_start(c, last[i], outer), made[c]) for i, c in enumerate(of.carries) if c in onwards},
            **{totals[f]: (zeros_like(outer[f]), totals[f] + made[f]) for f in fixed},
        },
        {
            leaf: value if window is None else getitem(value, slice(op.length - window, None))
            for leaf, value in seen.items()
            if leaf in used
        },
        [made[h] for h in heads],
        length=op.length if window is None else window,
        limit=(forward.steps if op.until else of.limit) if window is None else None,
        reverse=not op.reverse,
        fixed={stands[f]: outer[f] for f in of.fixed},
    )
    return [None, *_arranged(of, asked, backward, window)]


def _leaf(like: Node) -> Node:
    return tensor_input(like.dtype, like.static_shape)


def _start(carry: Node, cotangent: Node | None, outer: dict[Node, Node]) -> Node:
    """Cotangent of a last carried value."""
    return zeros_like(outer[carry]) if cotangent is None else cotangent


def _without_stop(op: Scan) -> Region:
    return Region(op.body.parameters, op.body.results[: op.carried + op.traces])


def _with_states(node: Node, of: LoopParts) -> tuple[Loop, tuple[Node, ...]]:
    """The loop with traces of its carried values before every step, and those traces."""
    op, count = of.op, of.op.carried + of.op.traces
    kept = (*op.body.results[:count], *of.carries, *op.body.results[count:])
    loop = results(Node(replace(op, body=Region(op.body.parameters, kept)), *node.inputs))
    return loop, loop.traces[op.traces :]


def _active(of: LoopParts, wanted: Sequence[bool]) -> set[Node]:
    """Parameters of the body through which a derivative reaches an operand that is asked for."""
    active = {p for p, asked in zip(of.inside, wanted, strict=True) if asked and p.dtype in FLOATS}
    while True:
        reached = set(active)
        for node in topological(of.op.body.results):
            if any(operand in reached for operand in node.inputs):
                reached.add(node)
        more = {
            c
            for c, following in zip(of.carries, of.op.nexts, strict=True)
            if c not in active and following in reached and c.dtype in FLOATS
        }
        if not more:
            return active
        active |= more


def _window(op: Scan) -> Dim | None:
    """How many steps derivatives pass, where not all."""
    if op.truncate is None or (isinstance(op.length, int) and op.truncate >= op.length):
        return None
    if op.until:
        raise MissingRuleError(
            "truncated derivatives need a number of steps that no `until` ends; leave out `truncate_gradient`, "
            "or `until`."
        )
    return minimum(op.truncate, op.length)


def _arranged(of: LoopParts, asked: set[Node], loop: Loop, window: Dim | None) -> list[Node | None]:
    """Cotangents of carried values, sequences and constants, in the order of the operands."""
    last, traces = iter(loop.last), iter(loop.traces)
    made: dict[Node, Node] = {}
    for group in (of.carries, of.fixed):
        made.update((p, next(last)) for p in group if p in asked)
    made.update((p, next(traces)) for p in of.heads if p in asked)
    if window is not None:
        for carry in of.carries:
            if isinstance(of.op.length, int):
                made.pop(carry, None)  # the beginning lies before the window
            elif carry in made:
                whole = apply("eq", length_of(window), length_of(of.op.length))
                made[carry] = apply("where", whole, made[carry], zeros_like(made[carry]))
        for head in of.heads:
            if head in made:
                rest: Dim = of.op.length - window
                before = full((rest, *head.static_shape), 0.0, head.dtype)
                made[head] = concatenate([before, made[head]])
    return [made.get(p) for p in of.inside]
