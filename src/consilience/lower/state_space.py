"""Calls of the Kalman filter and of its derivatives, series by series."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from consilience.ir import Node
from consilience.lower.fortran import Argument
from consilience.lower.routines import routine
from consilience.native.loops import Builder, Value, f64, i64
from consilience.native.routines.kalman import Space
from consilience.native.routines.kalman_slopes import Slopes
from consilience.ops.state_space import BLOCK, OPERANDS, KalmanFilter, KalmanSlopes, kept

RANKS = (2, 3, 2, 3, 3, 2, 1, 2)


def _lengths(node: Node) -> tuple[int, int, int, int]:
    """Times, length of an observation, length of a state, and that length in memory."""
    (times, p), (n,) = node.inputs[0].static_shape[-2:], node.inputs[6].static_shape[-1:]
    assert isinstance(times, int)
    assert isinstance(p, int)
    assert isinstance(n, int)
    return times, p, n, (n + 7) // 8 * 8


def _space_memory(node: Node) -> dict[str, int]:
    """Arrays of numbers that the filter works in."""
    _, p, n, m = _lengths(node)
    matrices = dict.fromkeys(("P", "Pi", "A", "B", "old", "noise"), n * m)
    return matrices | dict.fromkeys(("a", "M", "Mi"), m) | {"values": n * n, "z_values": p * n}


def _whole_memory(node: Node) -> dict[str, int]:
    """Arrays of whole numbers that it works in."""
    _, p, n, _ = _lengths(node)
    return {"begins": n + 1, "columns": n * n, "z_begins": p + 1, "z_columns": p * n}


def _slopes_memory(node: Node) -> dict[str, int]:
    """Arrays that derivatives are made in."""
    op = node.op
    assert isinstance(op, KalmanSlopes)
    _, p, n, m = _lengths(node)
    again = op.diffuse or op.by_Z or op.columns != ()
    made = {"made": BLOCK * n * m, "inner": p * n * m} if again else {}
    free = {"made_free": BLOCK * n * m, "inner_free": p * n * m} if op.diffuse else {}
    matrices = dict.fromkeys(("G", "Gi", "old", "outer", "second", "of_T", "of_Q"), n * m)
    vectors = dict.fromkeys(("r", "diffuse_r", "w", "M", "Mi"), m)
    return (
        matrices
        | vectors
        | dict.fromkeys(("made", "inner", "made_free", "inner_free"), 1)
        | made
        | free
        | dict.fromkeys(("with_mean", "with_slope", "weighted"), p * m)
        | {"changes": p, "spreads": p, "recent": 4 * m}
    )


def _filter_scratch(node: Node) -> list[tuple[str, int]]:
    return [("float64", sum(_space_memory(node).values())), ("int64", sum(_whole_memory(node).values()))]


def _asked(node: Node) -> tuple[int, ...]:
    """Columns of T by which derivatives are made."""
    op = node.op
    assert isinstance(op, KalmanSlopes)
    return tuple(range(_lengths(node)[2])) if op.columns is None else op.columns


def _slopes_scratch(node: Node) -> list[tuple[str, int]]:
    asked = ("int64", max(1, len(_asked(node))))
    return [*_filter_scratch(node), ("float64", sum(_slopes_memory(node).values())), asked]


def _parts(b: Builder, memory: Value, lengths: Mapping[str, int]) -> dict[str, Value]:
    """Arrays one behind the other."""
    found, start = {}, 0
    for name, length in lengths.items():
        found[name] = b.offset(memory, b.const(i64, start), f64)
        start += length
    return found


def _record(b: Builder, kind: type, fields: Mapping[str, Value]) -> Value:
    """The address of a record; its fields are in slots of eight bytes."""
    layout: Any = vars(kind)["__native_record__"]
    names = list(layout.names)
    slots = b.stack(i64, len(names))
    for k, name in enumerate(names):
        b.store(fields[name], b.offset(slots, b.const(i64, k), i64))
    return slots


def _at(b: Builder, whole: Argument, number: Value, rank: int) -> Value:
    size = math.prod(whole.view.shape[len(whole.view.shape) - rank :])
    return b.offset(whole.pointer, b.mul(number, b.const(i64, size)), f64)


def _space(
    b: Builder, node: Node, number: Value, operands: Sequence[Argument], stored: Argument, numbers: Value, whole: Value
) -> Value:
    """The record of one series."""
    op = node.op
    assert isinstance(op, KalmanFilter | KalmanSlopes)
    times, p, n, m = _lengths(node)
    fields = {name: _at(b, x, number, rank) for name, x, rank in zip(OPERANDS, operands, RANKS, strict=False)}
    fields["free"] = operands[8].pointer
    sizes = kept(times, p, n, op.diffuse)
    fields |= _parts(b, _at(b, stored, number, 1), {k: int(size) for k, size in sizes.items()})
    fields |= _parts(b, numbers, _space_memory(node)) | _parts(b, whole, _whole_memory(node))
    flags = {f"moving_{name}": int(name in op.moving) for name in "ZhTQc"} | {"diffuse": int(op.diffuse)}
    known = {"times": times, "p": p, "n": n, "m": m, "block": BLOCK, "known_times": 0} | flags
    return _record(b, Space, fields | {name: b.const(i64, value) for name, value in known.items()})


@routine(KalmanFilter, _filter_scratch)
def _filter(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    density, stored, numbers, whole = targets
    with b.for_(0, math.prod(density.view.shape)) as number:
        space = _space(b, node, number, sources, stored, numbers.pointer, whole.pointer)
        b.store(b.call("consilience_routine_kalman_filter", f64, space), b.offset(density.pointer, number, f64))


@routine(KalmanSlopes, _slopes_scratch)
def _slopes(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    op = node.op
    assert isinstance(op, KalmanSlopes)
    *operands, stored = sources
    *results, numbers, whole, memory, asked = targets
    columns = _asked(node)
    for k, column in enumerate(columns):
        b.store(b.const(i64, column), b.offset(asked.pointer, b.const(i64, k), i64))
    with b.for_(0, math.prod(sources[6].view.shape[:-1])) as number:
        space = _space(b, node, number, operands, stored, numbers.pointer, whole.pointer)
        names = (*OPERANDS, "start")
        fields = {x: _at(b, to, number, rank) for x, to, rank in zip(names, results, (*RANKS, 1), strict=True)}
        fields |= _parts(b, memory.pointer, _slopes_memory(node)) | {"asked": asked.pointer}
        flags = {"variable_T": len(columns), "variable_Z": int(op.by_Z), "waiting": 0, "held": 0}
        fields |= {name: b.const(i64, value) for name, value in flags.items()}
        b.call("consilience_routine_kalman_slopes", None, space, _record(b, Slopes, fields))
