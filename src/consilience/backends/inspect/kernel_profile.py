"""Where the time of a compiled function goes: kernel by kernel, against what the machine reaches.

A function's graph and the values of a call in; a `KernelProfile` out. Times are medians over calls of code that reads
the clock around every kernel; what reading the clock costs is measured in the same calls and taken off.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from consilience.backends.inspect.machine_rates import arithmetic_rate, bandwidth
from consilience.backends.inspect.report import size_text, time_text
from consilience.backends.inspect.stages import stages
from consilience.backends.llvm import Array, BoundCode, Compiled, allocated, compile, workspace_address
from consilience.backends.shapes import Lengths
from consilience.ir import Node, TensorType, numpy_dtype
from consilience.ir.side_tables import name_of, source_of
from consilience.lower import entry, timed
from consilience.lower.fusion import KernelStep
from consilience.lower.plan import views_of
from consilience.lower.steps import (
    CallStep,
    KeepStep,
    LoopStep,
    Program,
    ScalarStep,
    Step,
    inner_steps,
)
from consilience.lower.views import View
from consilience.native.operation_count import operations
from consilience.native.program import Statement, Value
from consilience.native.target import Target
from consilience.ops import Elementwise, MatMul
from consilience.ops.sparse.products import SparseProduct, TransposedSparseProduct
from consilience.record import Record, replace

NOTES: Final = timed.NOTE // 8
LISTED: Final = 5


class KernelTime(Record):
    """One kernel.

    Parameters
    ----------
    title : str
        What it computes: ops, in order, and the names of its values.
    sources : tuple of str
        The user's lines (`file:line`).
    seconds : float
        Median time of one run, reading the clock taken off.
    size : int
        Bytes of different elements read and written; of loops those of every array once.
    operations : float or None
        Floating-point operations of one run, None where loops run as long as values say.
    memory_share : float
        Seconds that a copy of as many bytes takes, over `seconds`.
    arithmetic_share : float or None
        Seconds that as many multiply-adds on independent values take, over `seconds`.
    scalar : bool, default False
        Whether it computes single numbers only.
    """

    title: str
    sources: tuple[str, ...]
    seconds: float
    size: int
    operations: float | None
    memory_share: float
    arithmetic_share: float | None
    scalar: bool = False


class KernelProfile(Record):
    """The kernels of a function in the order of their run, and the times around them.

    Parameters
    ----------
    call_seconds : float
        Median time of a call from Python.
    code_seconds : float
        Median time of a call of the compiled code, without checks and conversions of arguments.
    clock_seconds : float
        What one reading of the clock costs; it is taken off the times of kernels.
    repeat : int
        Number of calls.
    """

    kernels: tuple[KernelTime, ...]
    call_seconds: float
    code_seconds: float
    clock_seconds: float
    repeat: int

    @property
    def fct_callcount(self) -> int:
        """Number of calls, under PyTensor's name."""
        return self.repeat

    @property
    def fct_call_time(self) -> float:
        """Seconds of all calls together, under PyTensor's name."""
        return self.call_seconds * self.repeat

    def summary(self) -> None:
        """Print it."""
        print(self)

    def __str__(self) -> str:
        total = sum(k.seconds for k in self.kernels)
        rows: list[tuple[str, ...]] = [("time", "part", "bytes", "GB/s", "Gflop/s", "reaches", "kernel")]
        rows += [_row(kernel, total) for kernel in self.kernels if not kernel.scalar]
        scalars = [kernel for kernel in self.kernels if kernel.scalar]
        if scalars:
            spent = sum(k.seconds for k in scalars)
            rows.append(
                (
                    time_text(spent),
                    _part(spent, total),
                    "",
                    "",
                    "",
                    "",
                    f"all steps of single numbers: {len(scalars)}",
                )
            )
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
        lines = ["  ".join([*(c.rjust(w) for c, w in zip(row, widths, strict=False)), row[-1]]) for row in rows]
        calls = f"{time_text(self.call_seconds)}; without checks of its arguments: {time_text(self.code_seconds)}"
        clock = f"less {time_text(self.clock_seconds)} for each reading of the clock"
        return "\n".join(
            [
                *lines,
                "",
                f"a call from Python: {calls}; these kernels: {time_text(total)}",
                f"(medians of {self.repeat} calls, {clock}). `reaches`: time of a copy of as many bytes, or of as",
                "many independent multiply-adds, over the kernel's own; it may pass 100 % where a kernel reads more",
                "than it writes, or reads what caches hold.",
            ]
        )


def _row(kernel: KernelTime, total: float) -> tuple[str, ...]:
    seconds = max(kernel.seconds, 1e-12)
    measurable = kernel.seconds > 0.0
    places = f"  ({', '.join(kernel.sources[:2])}{', …' if len(kernel.sources) > 2 else ''})" if kernel.sources else ""
    share, kind = max([(kernel.memory_share, "memory"), (kernel.arithmetic_share or 0.0, "arithmetic")])
    return (
        time_text(kernel.seconds),
        _part(kernel.seconds, total),
        size_text(kernel.size),
        f"{kernel.size / seconds / 1e9:.3g}" if measurable and kernel.size else "",
        f"{kernel.operations / seconds / 1e9:.3g}" if measurable and kernel.operations else "",
        f"{100 * share:.0f} % {kind}" if measurable and share else "",
        kernel.title + places,
    )


def _part(seconds: float, total: float) -> str:
    return f"{100 * seconds / total:.0f} %" if total else ""


class _Timed(Compiled):
    """Machine code that notes times, with its notes of all calls (calls, steps, 2) in seconds."""

    program: Program
    steps: list[Step]
    counts: list[float | None]

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self.notes: list[Array] = []
        super().__init__(*arguments, **settings)

    def _written(self, program: Program, host: Target) -> entry.Code:
        self.program = program
        code, self.steps = timed.write(program, host)
        scalar, _ = timed.write(program, replace(host, lanes=1))
        self.counts = _counts(scalar, len(self.steps))
        return code

    def bind(self, values: Sequence[Array] = ()) -> BoundCode:
        return _TimedCode(self, super().bind(values).arrays)


class _TimedCode(BoundCode):
    """Bound code whose table of outputs ends with the array of notes."""

    compiled: _Timed

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        given = [np.require(a, requirements=("C", "A")) for a in arrays]
        results = [allocated(shape, dtype) for shape, dtype in self.compiled.outputs]
        notes = np.zeros((len(self.compiled.steps), 2, NOTES), np.int64)
        ins = (ctypes.c_void_p * max(1, len(given)))(*[a.ctypes.data for a in given])
        outs = (ctypes.c_void_p * (len(results) + 1))(*[r.ctypes.data for r in results], notes.ctypes.data)
        status = self.run(ins, outs, workspace_address(self.workspace), self.constants)
        if status:
            self.explain(status)
        self.compiled.notes.append(notes[..., 0] - notes[:1, :1, 0] + 1e-9 * notes[..., 1])
        return results


def profile_kernels(
    inputs: Sequence[Node],
    outputs: Sequence[Node],
    lengths: Lengths,
    arrays: Sequence[Array],
    call: Callable[[], object],
    repeat: int,
) -> KernelProfile:
    """Times of the kernels of a graph at the given values.

    `call`: one whole call from Python, for comparison. `repeat`: number of calls, at least 3.
    """
    parts, bound = stages(inputs, outputs, lengths, None, _Timed)
    plain = compile(inputs, outputs, lengths).bind()
    for _ in range(2):  # caches and branch predictors settle
        bound(arrays)
        plain(arrays)
    for part in parts:
        part.notes.clear()
    for _ in range(repeat):
        bound(arrays)
    gaps: list[Array] = []
    kernels: list[KernelTime] = []
    for part in parts:
        if part.notes and part.steps:
            notes = np.array(part.notes)
            gaps.append((notes[:, 1:, 0] - notes[:, :-1, 1]).ravel())
    readings = np.concatenate(gaps) if gaps else np.zeros(0)
    clock = float(np.median(readings)) if readings.size else _clock_seconds()
    for part in parts:
        if not part.notes:
            continue
        spans = np.median(np.array(part.notes)[:, :, 1] - np.array(part.notes)[:, :, 0], axis=0) - clock
        for step, span, count in zip(part.steps, np.maximum(spans, 0.0), part.counts, strict=True):
            kernels.append(_kernel(step, float(span), count, part.program))
    return KernelProfile(
        tuple(kernels),
        _median(call, repeat),
        _median(lambda: plain(arrays), repeat),
        clock,
        repeat,
    )


def _median(run: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def _clock_seconds() -> float:
    """Cost of reading the clock, where one kernel alone gives no gap to measure it by."""
    times = [time.clock_gettime_ns(timed.clock()) for _ in range(64)]
    return float(np.median(np.diff(times))) * 1e-9


def _kernel(step: Step, seconds: float, count: float | None, program: Program) -> KernelTime:
    nodes = list(_nodes(step))
    size = _bytes(step, program)
    spent = max(seconds, 1e-12)
    names = list(dict.fromkeys(name for node in nodes if (name := name_of(node)) is not None))
    sources = tuple(dict.fromkeys(place for node in nodes if (place := source_of(node))))
    title = _operations(nodes) or "copy"
    if isinstance(step, LoopStep):
        title = f"{step.node.op!r}: {title}"
    if names:
        title += f" -> {', '.join(names[:LISTED])}{', …' if len(names) > LISTED else ''}"
    count = _library_operations(step) if isinstance(step, CallStep) else count
    return KernelTime(
        title,
        sources,
        seconds,
        size,
        count,
        size / bandwidth(size) / spent if size and seconds > 0.0 else 0.0,
        count / arithmetic_rate() / spent if count and seconds > 0.0 else None if count is None else 0.0,
        isinstance(step, ScalarStep | KeepStep),
    )


def _nodes(step: Step) -> list[Node]:
    """The values that a step computes, those of steps within included."""
    match step:
        case ScalarStep() | KernelStep():
            found = list(step.nodes)
        case KeepStep() | CallStep():
            found = [step.node]
        case _:
            found = []
    for steps, _ in inner_steps(step):
        for inner in steps:
            found += _nodes(inner)
    return found


def _operations(nodes: Sequence[Node]) -> str:
    """`exp, 2 mul, sum`: what is computed, the first few kinds by number."""
    counts: dict[str, int] = {}
    for node in nodes:
        op = node.op
        kind = op.function if isinstance(op, Elementwise) else repr(op).split("(")[0].split("[")[0].lower()
        counts[kind] = counts.get(kind, 0) + 1
    shown = [kind if count == 1 else f"{count} {kind}" for kind, count in list(counts.items())[:LISTED]]
    return ", ".join([*shown, "…"] if len(counts) > LISTED else shown)


def _bytes(step: Step, program: Program) -> int:
    """Bytes of different elements that a step reads and writes."""
    if isinstance(step, KernelStep):
        places: dict[tuple[int, int, tuple[int, ...]], int] = {}
        kernel = step.kernel
        accesses = [(leaf.memory, leaf.start, leaf.strides, leaf.dtype) for leaf in kernel.leaves]
        accesses += [(root.memory, 0, root.strides, root.dtype) for root in kernel.roots]
        for memory, start, strides, dtype in accesses:
            if memory >= 0:
                walked = [n for n, s in zip(kernel.domain, strides, strict=True) if s]
                places[memory, start, strides] = int(np.prod(walked, dtype=int)) * numpy_dtype(dtype).itemsize
        for body in kernel.body:
            source = body.detail[0] if body.function == "gather" else -1
            assert isinstance(source, int)
            if source >= 0:
                places[source, 0, ()] = int(np.prod(kernel.domain)) * numpy_dtype(body.dtype).itemsize
        return sum(places.values())
    views: dict[tuple[object, int], View] = {}
    for view in views_of(step, program.buffers):
        if view.storage.place not in ("iota", "element"):
            key = view.storage, view.offset
            if key not in views or view.size > views[key].size:
                views[key] = view
    return sum(view.size * numpy_dtype(view.storage.dtype).itemsize for view in views.values())


def _library_operations(step: CallStep) -> float | None:
    """Operations of a routine whose number is known by its shapes."""
    node = step.node
    if isinstance(node.op, MatMul) and isinstance(node.type, TensorType):
        return 2.0 * step.targets[0].size * int(str(node.inputs[0].static_shape[-1]))
    if isinstance(node.op, SparseProduct | TransposedSparseProduct):
        return 2.0 * step.sources[0].size * step.targets[0].shape[1]
    return None


def _counts(code: entry.Code, steps: int) -> list[float | None]:
    """Operations between the two notes of every step."""
    module = code.module
    found: list[float | None] = []
    for function in module.functions.values():
        part: list[Statement] | None = None
        for s in function.body:
            if isinstance(s, Value) and s.op == "call" and s.detail == "clock_gettime":
                if part is None:
                    part = []
                else:
                    found.append(operations(module, part))
                    part = None
            elif part is not None:
                part.append(s)
    return found if len(found) == steps else [None] * steps
