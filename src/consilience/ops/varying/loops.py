"""Loops and branches at greatest lengths: a loop has room for the longest, and does the number of steps of its own."""

from __future__ import annotations

from consilience.ir import (
    Node,
    TupleType,
    tensor_input,
)
from consilience.ir import dimension as dims
from consilience.ops.control import Cond, chosen_of
from consilience.ops.elementwise import apply
from consilience.ops.loop import UNBOUNDED, Scan, closed, fresh, parts
from consilience.ops.varying.padding import Padding, padded_form


@padded_form(Cond)
def _cond(pad: Padding, node: Node, inputs: list[Node]) -> list[Node]:
    op, (condition, *_) = node.op, inputs
    assert isinstance(op, Cond)
    assert isinstance(node.type, TupleType)
    lefts, rights = op.then.apply(*node.inputs[1:]), op.otherwise.apply(*node.inputs[1:])
    ours, theirs = pad.of(lefts), pad.of(rights)
    for k, result in enumerate(node.type.items):
        for axis, length in enumerate(result.shape):
            a, b = lefts[k].static_shape[axis], rights[k].static_shape[axis]
            if not any(map(pad.varies, (length, a, b))):
                continue
            if pad.varies(length):
                target = dims.maximum(ours[k].static_shape[axis], theirs[k].static_shape[axis])
                pad.bounds.setdefault(length, target)
            else:
                target = length
                ours[k] = pad.same(ours[k], a, length, "branches have equal shapes")
                theirs[k] = pad.same(theirs[k], b, length, "branches have equal shapes")
            ours[k], theirs[k] = pad.fitted(ours[k], axis, a, target), pad.fitted(theirs[k], axis, b, target)
    return chosen_of(condition, ours, theirs)


@padded_form(Scan)
def _scan_of_fixed_length(pad: Padding, node: Node, inputs: list[Node]) -> list[Node]:
    """A loop with room for as many steps as it has anywhere, which does its own number of them."""
    of, op = parts(node), node.op
    assert isinstance(op, Scan)
    if op.truncate is not None and pad.varies(op.length):
        raise pad.refused(op.length, "`truncate_gradient` needs a number of steps that is the same everywhere")
    limit, *operands = inputs
    length = op.length if op.length == UNBOUNDED else pad.bound(op.length)
    initial, sequences = operands[: op.carried], list(operands[op.carried : op.carried + op.sequences])
    for k, own in enumerate(of.sequences):
        fits = pad.fitted(sequences[k], 0, own.static_shape[0], length)
        sequences[k] = pad.same(fits, own.static_shape[0], op.length, "sequences of a loop have its length")
    stands = [fresh(p) for p in (*of.carries, *of.heads)]
    leaves = [*map(fresh, initial), *(tensor_input(s.dtype, s.static_shape[1:]) for s in sequences)]
    pad.made.update(zip(stands, leaves, strict=True))
    written = op.body.apply(*stands, *of.constants)
    made = pad.of(written)
    nexts = made[: op.carried]
    for k, leaf in enumerate(leaves[: op.carried]):
        for axis, (before, after) in enumerate(zip(stands[k].static_shape, written[k].static_shape, strict=True)):
            if pad.varies(before) or pad.varies(after):
                fits = pad.fitted(nexts[k], axis, after, leaf.static_shape[axis])
                nexts[k] = pad.same(fits, before, after, "carried values keep their shape")
    loop = closed(
        dict(zip(leaves, zip(initial, nexts, strict=True), strict=False)),
        dict(zip(leaves[op.carried :], sequences, strict=True)),
        [*nexts, *made[op.carried :]],
        length=length,
        limit=apply("maximum", limit, 0),
        until=op.until,
        reverse=op.reverse,
        truncate=op.truncate,
    )
    traces = list(loop.traces)
    if pad.varies(op.length):
        traces = [pad.refit(trace, 0, pad.number(op.length), length) for trace in traces]
        for k, element in enumerate(op.elements):
            if element in op.nexts and not (op.until or op.reverse):
                pad.ends[node, 1 + op.carried + k] = loop.last[op.nexts.index(element)]
    return [loop.steps, *loop.last, *traces]
