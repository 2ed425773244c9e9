"""Machine code that notes the time before and after each of its steps.

A `Program` in; code whose table of outputs has one more entry, for the times, and the steps in the order of the notes.
"""

from __future__ import annotations

import time

from consilience.errors import NativeError
from consilience.lower.entry import Code, Frame, Writer
from consilience.lower.fusion import KernelStep
from consilience.lower.steps import Program, Step
from consilience.native.loops import i32, i64, ptr
from consilience.native.target import Target

# Bytes of one note: seconds and nanoseconds, as `clock_gettime` writes them.
NOTE = 16


class _TimedWriter(Writer):
    """Only outer steps are timed: what a branch or a loop holds counts as its own."""

    def __init__(self, program: Program, target: Target) -> None:
        super().__init__(program, target)
        self.timed: list[Step] = []
        self.inside = False

    def cut(self, step: KernelStep) -> None:
        """Loops stay whole, as their operations are counted."""

    def _step(self, frame: Frame, step: Step) -> None:
        if self.inside:
            super()._step(frame, step)
            return
        self.timed.append(step)
        self.inside = True
        self._note(frame, 2 * len(self.timed) - 2)
        super()._step(frame, step)
        self._note(frame, 2 * len(self.timed) - 1)
        self.inside = False

    def _note(self, frame: Frame, number: int) -> None:
        b = frame.b
        outputs = b.parameters[1]
        notes = b.load(ptr, b.offset(outputs, b.const(i64, len(self.program.outputs)), ptr))
        place = b.offset(notes, b.const(i64, NOTE // 8 * number), i64)
        b.call("clock_gettime", i32, b.const(i32, clock()), place)


def clock() -> int:
    """The number of the clock that is read; NativeError where the system has none."""
    if not hasattr(time, "CLOCK_MONOTONIC"):
        raise NativeError(
            "kernels are timed by `clock_gettime`, which this system does not have; `function(..., profile=True)` "
            "times whole calls everywhere."
        )
    return int(time.CLOCK_MONOTONIC)


def write(program: Program, target: Target) -> tuple[Code, list[Step]]:
    """The module of a program, and its outer steps in the order in which they are timed."""
    writer = _TimedWriter(program, target)
    return writer.run("entry"), writer.timed
