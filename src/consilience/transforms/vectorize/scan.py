"""Batched loops: one loop over batches of values; steps beyond the end of one batch position leave it as it is."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node, constant, tensor_input
from consilience.ir.types import Shape
from consilience.ops import Iota, apply, reduce
from consilience.ops.index import getitem
from consilience.ops.loop import LoopParts, Scan, parts
from consilience.ops.scan import scan
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, moveaxis
from consilience.transforms.vectorize.engine import propagate
from consilience.transforms.vectorize.table import Operand, batched_form


@batched_form(Scan)
def _scan(node: Node, operands: Sequence[Operand], batch: Shape) -> list[Node]:
    of = parts(node)
    op, (limit, *arguments) = of.op, operands
    flags = [argument.batched for argument in arguments]
    while True:
        leaves = [_leaf(p, batch, flag) for p, flag in zip(of.inside, flags, strict=True)]
        known = {p: Operand(p, leaf, flag) for p, leaf, flag in zip(of.inside, leaves, flags, strict=True)}
        body = propagate(op.body.results, known, batch)
        uneven = limit.batched or (op.until and body[-1].batched)
        wider = [i for i, b in enumerate(body[: op.carried]) if (b.batched or uneven) and not flags[i]]
        if not wider:
            break
        for i in wider:
            flags[i] = True
    first, second = op.carried, op.carried + op.sequences
    initial = [a.full(batch) if flag else a.value for a, flag in zip(arguments[:first], flags, strict=False)]
    sequences = {
        leaf: moveaxis(a.value, len(batch), 0) if a.batched else a.value
        for leaf, a in zip(leaves[first:second], arguments[first:second], strict=True)
    }
    fixed = {leaf: a.value for leaf, a in zip(leaves[second:], arguments[second:], strict=True)}
    nexts = [b.full(batch) if flag else b.value for b, flag in zip(body, flags[:first], strict=False)]
    elements = [b.full(batch) for b in body[first : first + op.traces]]
    carried = dict(zip(leaves, zip(initial, nexts, strict=True), strict=False))
    if uneven:
        return _uneven(of, limit, carried, sequences, elements, body[-1] if op.until else None, fixed, batch)
    loop = scan(
        carried,
        sequences,
        elements,
        length=op.length,
        limit=limit.value,
        stop=body[-1].value if op.until else None,
        reverse=op.reverse,
        truncate=op.truncate,
        fixed=fixed,
    )
    last = [value if flag else _repeated(value, batch) for value, flag in zip(loop.last, flags, strict=False)]
    return [_repeated(loop.steps, batch), *last, *(moveaxis(t, 0, len(batch)) for t in loop.traces)]


def _uneven(
    of: LoopParts,
    limit: Operand,
    carried: dict[Node, tuple[Node, Node]],
    sequences: dict[Node, Node],
    elements: Sequence[Node],
    stop: Operand | None,
    fixed: dict[Node, Node],
    batch: Shape,
) -> list[Node]:
    """The loop of the longest batch position, in which the others stand still after their last step."""
    op = of.op
    limits = limit.full(batch)
    going, steps, place = tensor_input("bool", batch), tensor_input("int64", batch), tensor_input("int64", ())
    # A position that still goes has done as many steps as the loop.
    active = apply("logical_and", going, apply("lt", place if op.reverse else steps, limits))
    onwards = active if stop is None else apply("logical_and", active, apply("logical_not", stop.full(batch)))
    # In reverse, positions with fewer steps begin later; a loop in reverse has no condition.
    following = going if op.reverse else onwards

    def where(then: Node, otherwise: Node | None) -> Node:
        if then.dtype == "key":  # no number, so one of two is taken by its place
            axes = [expand_dims(Node(Iota(n)), range(1, len(batch) - k)) for k, n in enumerate(batch)]
            both = None if otherwise is None else concatenate([expand_dims(k, 0) for k in (otherwise, then)])
            return then if both is None else getitem(both, (active.astype("int64"), *axes))
        other = constant(0).astype(then.dtype) if otherwise is None else otherwise
        return apply("where", expand_dims(active, range(len(batch), then.ndim)), then, other)

    masked = {leaf: (first, where(following, leaf)) for leaf, (first, following) in carried.items()}
    loop = scan(
        {
            going: (broadcast_to(constant(True), batch), following),
            steps: (broadcast_to(constant(0), batch), steps + active.astype("int64")),
            **masked,
        },
        {**({place: Node(Iota(op.length))} if op.reverse else {}), **sequences},
        [where(element, None) for element in elements],
        length=op.length,
        limit=reduce("max", limits) if limit.batched else limit.value,
        stop=None if op.reverse else apply("logical_not", reduce("any", onwards)),
        reverse=op.reverse,
        truncate=op.truncate,
        fixed=fixed,
    )
    return [loop.last[1], *loop.last[2:], *(moveaxis(t, 0, len(batch)) for t in loop.traces)]


def _leaf(parameter: Node, batch: Shape, batched: bool) -> Node:
    shape = parameter.static_shape
    return tensor_input(parameter.dtype, (*batch, *shape) if batched else shape)


def _repeated(value: Node, batch: Shape) -> Node:
    return broadcast_to(value, (*batch, *value.static_shape))
