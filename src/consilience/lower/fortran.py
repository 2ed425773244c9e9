"""Calls of BLAS and LAPACK: operands in memory, as Fortran wants its arguments; batches; failures.

In: the code of a step and its operands. Out: instructions. Which routine computes what is told by the steps themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack

from consilience.errors import Status
from consilience.ir import Node
from consilience.lower.views import View
from consilience.native.loops import Builder, Value, f64, i8, i32, i64, ptr
from consilience.record import Record


class Argument(Record):
    """A contiguous view and the address of its first element."""

    view: View
    pointer: Value


def last_length(node: Node) -> int:
    """Length of the last axis of the first operand."""
    n = node.inputs[0].static_shape[-1]
    assert isinstance(n, int)
    return n


def fortran_int(b: Builder, value: int) -> Value:
    """An int32 in memory."""
    place = b.stack(i32, 1)
    b.store(b.const(i32, value), place)
    return place


def fortran_char(b: Builder, letter: str) -> Value:
    """A letter in memory."""
    place = b.stack(i8, 1)
    b.store(b.const(i8, ord(letter)), place)
    return place


def fortran_double(b: Builder, value: float) -> Value:
    """A float64 in memory."""
    place = b.stack(f64, 1)
    b.store(b.const(f64, value), place)
    return place


def at(b: Builder, pointer: Value, offset: Value | int) -> Value:
    """The address of a float64 so many places behind another."""
    index = b.const(i64, offset) if isinstance(offset, int) else offset
    return b.offset(pointer, index, f64)


def copy(b: Builder, source: Argument, target: Argument, start: Value, count: int) -> None:
    """float64 from `start` on, unless the result overwrites its operand."""
    if source.view != target.view:
        size = b.const(i64, 8 * count)
        b.call("memcpy", ptr, at(b, target.pointer, start), at(b, source.pointer, start), size)


def fail_unless(b: Builder, good: Value) -> None:
    """Leave the function with the status of a failed factorisation."""
    with b.if_(b.not_(good)):
        b.ret(b.const(i64, int(Status.FACTORISATION_FAILED)))


def batch_loop(b: Builder, loops: ExitStack, shape: Sequence[int]) -> Value:
    """A loop over a batch, and the number of its current matrix."""
    return loops.enter_context(b.for_(0, math.prod(shape)))


def succeeded(b: Builder, info: Value) -> Value:
    """Whether LAPACK reports no failure."""
    return b.cmp("eq", b.load(i32, info), b.const(i32, 0))
