"""Ctrl-C for machine code that may run without end: a function that loops call every now and then.

A module in; a function in it that says whether this thread was asked to stop. It asks CPython itself, without running
any Python. Signals are handled by the main thread alone, so loops in other threads go on.
"""

from __future__ import annotations

from typing import Final

from consilience.native.loops import Builder, Value, i1, i32, i64, void

# Steps of a loop between two questions: some milliseconds of the quickest ones.
PERIOD: Final = 1 << 22


def interrupted(b: Builder, index: Value) -> Value:
    """Whether a loop at its repetition `index` has to end: asked once in PERIOD repetitions."""
    answer = b.variable(b.const(i1, False))
    due = b.cmp("eq", b.and_(index, b.const(i64, PERIOD - 1)), b.const(i64, PERIOD - 1))
    with b.if_(due):
        state = b.call("PyGILState_Ensure", i32)
        asked = b.cmp("ne", b.call("PyErr_CheckSignals", i32), b.const(i32, 0))
        b.set(answer, asked)
        with b.if_(asked):  # who called the machine code raises it again
            b.call("PyErr_Clear", void)
        b.call("PyGILState_Release", void, state)
    return b.get(answer)
