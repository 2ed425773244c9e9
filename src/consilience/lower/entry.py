"""Machine code of a program: one entry function, and one function per distinct loop in larger programs.

    i64 entry(ptr inputs, ptr outputs, ptr workspace, ptr constants)

A Program in, a loop-IR module, the names of its imports and the bytes of workspace out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from consilience.errors import Status
from consilience.ir import Node, constant_value
from consilience.lower import fusion, kernel_code, routines
from consilience.lower.chunks import crossing, cut
from consilience.lower.fortran import Argument
from consilience.lower.fusion import KernelStep
from consilience.lower.kernel_code import combine, index_offset
from consilience.lower.loop_kernel import LoopKernel
from consilience.lower.plan import plan, views_of
from consilience.lower.scalar_code import MEMORY, code, convert, from_memory, register_type, to_memory
from consilience.lower.steps import (
    BranchStep,
    CallStep,
    Element,
    KeepStep,
    LoopStep,
    Program,
    ScalarStep,
    Step,
    inner_steps,
)
from consilience.lower.views import Storage, View, gathered_lengths, proved_inside, static
from consilience.native.interruption import interrupted
from consilience.native.loops import Builder, Module, Type, Value, Variable, i64, ptr
from consilience.native.target import Target
from consilience.native.vectormath import FUNCTIONS, define
from consilience.ops import Cast, Elementwise, Index, Key, Reduce
from consilience.record import Record, replace

if TYPE_CHECKING:
    from consilience.lower.row_chunks import Chunks

# Programs with more loops than this get a function per distinct loop: code generation stays linear.
INLINE_LOOPS = 6
# Vector functions are written into the loops of a program with so few calls, in loops of so many elements.
FEW_CALLS = 2
LONG_LOOP = 256
# Loops over fewer elements are whole.
MANY_ELEMENTS = 1 << 10
TABLES = [("inputs", ptr), ("outputs", ptr), ("workspace", ptr), ("constants", ptr)]


class Code(Record):
    """A module with its entry, and what it needs to run.

    `chunks`: how many parts its longest loop is cut into, for threads to take; 0 where no loop is.
    """

    module: Module
    entry: str
    workspace: int
    chunks: int = 0


class Frame:
    """Pointers and scalars known at one place of the entry function."""

    def __init__(self, b: Builder, status: Variable, buffers: Mapping[Node, View], tables: Sequence[Value]) -> None:
        self.b = b
        self.tables = tables
        self.status = status
        self.buffers = dict(buffers)
        self.registers: dict[Node, Value] = {}
        self.bases: dict[Storage, Value] = {}
        self.pointers: dict[tuple[Storage, int], Value] = {}
        self.slots = tables[0]

    def inner(self, buffers: Mapping[Node, View]) -> Frame:
        """A copy for a block inside, with buffers of its own: what it learns is not known outside."""
        frame = Frame(self.b, self.status, {**self.buffers, **buffers}, self.tables)
        frame.registers, frame.bases, frame.pointers = dict(self.registers), dict(self.bases), dict(self.pointers)
        frame.slots = self.slots
        return frame

    def move(self, leaf: Node | None, view: View, address: Value) -> None:
        """A storage begins at another address, at which the leaf, if any, is read."""
        self.bases[view.storage] = address
        self.pointers = {key: value for key, value in self.pointers.items() if key[0] != view.storage}
        self.pointers[view.storage, view.offset] = address
        if leaf is not None:
            self.buffers[leaf] = view
            self.registers.pop(leaf, None)


class Writer:
    """Writes one program; a subclass may add to its steps.

    `threads`: whether other threads may take chunks of long loops; chunks are the same if not.
    """

    def __init__(self, program: Program, target: Target, threads: bool = False) -> None:
        self.program = program
        self.threads = threads
        self.chunks: dict[tuple[LoopKernel, Chunks], str] = {}
        self.apart = 0  # bytes that chunks have of their own
        self.most = 0  # parts of the longest loop that is cut
        self.inside_chunk = False
        self.target = target
        self.module = Module()
        self.offsets, self.arena = plan(program)
        self.loops: dict[tuple[LoopKernel, bool], str] = {}
        self.outline = _count_loops(program.steps) > INLINE_LOOPS
        self.slots: dict[Node, int] = {}
        self.in_memory = {node: buffer for node, buffer in program.buffers.items() if _number(node) is None}

    def run(self, name: str) -> Code:
        for function in inlined(self.program.steps):
            define(self.module, function, self.target.lanes, self.target.fma, inline=True)
        parts = cut(self.program.steps)
        self.slots = crossing(parts)
        if len(parts) == 1:
            self._function(name, parts[0], export=True)
        else:
            self.outline = True
            names = [f"{name}_part_{i}" for i in range(len(parts))]
            for part, own in zip(parts, names, strict=True):
                self._function(own, part, export=False)
            b = self.module.function(name, TABLES, i64)
            good = b.const(i64, int(Status.OK))
            for own in names:
                status = b.call(own, i64, *b.parameters)
                with b.if_(b.cmp("ne", status, good)):  # what later parts would read was perhaps never written
                    b.ret(status)
            b.ret(good)
        return Code(self.module, name, self.arena + 8 * self.slots_in_lines() + self.apart, self.most)

    def slots_in_lines(self) -> int:
        """Words of the slots, in whole cache lines."""
        return -(-len(self.slots) // 8) * 8

    def _function(self, name: str, steps: Sequence[Step], export: bool) -> None:
        """A function that runs some steps."""
        b = self.module.function(name, TABLES, i64, export=export)
        frame = self.frame(b, b.parameters)
        self.bases(frame, steps)
        self.steps(frame, steps)
        b.ret(b.get(frame.status))

    def frame(self, b: Builder, tables: Sequence[Value]) -> Frame:
        """What is known at the beginning of a function."""
        return Frame(b, b.variable(b.const(i64, int(Status.OK))), self.program.buffers, tables)

    # ---- memory

    def bases(self, frame: Frame, steps: Sequence[Step]) -> None:
        """Base pointers are loaded once, at the start, so that they are known in every block."""
        b = frame.b
        tables = dict(zip((table for table, _ in TABLES), frame.tables, strict=True))
        frame.slots = b.offset(tables["workspace"], b.const(i64, self.arena), MEMORY["bool"])
        used: dict[Storage, None] = {}
        for step in steps:
            for view in views_of(step, self.in_memory):
                used[view.storage] = None
        for storage in used:
            if storage.place == "workspace":
                offset = b.const(i64, self.offsets[storage.number])
                frame.bases[storage] = b.offset(tables["workspace"], offset, MEMORY["bool"])
            elif storage.place in tables:
                entry = b.offset(tables[storage.place], b.const(i64, storage.number), ptr)
                frame.bases[storage] = b.load(ptr, entry)

    def pointer(self, frame: Frame, view: View) -> Value:
        """Address of a view's first element."""
        key = (view.storage, view.offset)
        known = frame.pointers.get(key)
        if known is None:
            known = frame.bases[view.storage]
            if view.offset:
                known = frame.b.offset(known, frame.b.const(i64, view.offset), MEMORY[view.storage.dtype])
            frame.pointers[key] = known
        return known

    def scalar(self, frame: Frame, node: Node) -> Value:
        """The one number a scalar-like node holds."""
        known = frame.registers.get(node)
        if known is None:
            b = frame.b
            number = _number(node)
            if number is not None:
                known = b.const(register_type(node.dtype), number)
            elif node in self.slots:
                known = from_memory(b, node.dtype, b.load(MEMORY[node.dtype], self._slot(frame, node)))
            else:
                buffer = frame.buffers[node]
                if buffer.storage.place == "iota":
                    known = b.const(i64, buffer.offset)
                else:
                    loaded = b.load(MEMORY[node.dtype], self.pointer(frame, buffer))
                    known = from_memory(b, node.dtype, loaded)
            frame.registers[node] = known
        return known

    def _slot(self, frame: Frame, node: Node) -> Value:
        """Where a scalar waits for another part of the program."""
        return frame.b.offset(frame.slots, frame.b.const(i64, self.slots[node]), i64)

    def _made(self, frame: Frame, node: Node, value: Value) -> None:
        """Take note of a scalar."""
        frame.registers[node] = value
        if node in self.slots:
            frame.b.store(to_memory(frame.b, node.dtype, value), self._slot(frame, node))

    # ---- steps

    def steps(self, frame: Frame, steps: Sequence[Step]) -> None:
        for step in steps:
            self._step(frame, step)

    def _step(self, frame: Frame, step: Step) -> None:
        if isinstance(step, ScalarStep):
            for node in step.nodes:
                self._made(frame, node, self._scalar_node(frame, node))
        elif isinstance(step, KeepStep):
            value = to_memory(frame.b, step.node.dtype, self.scalar(frame, step.node))
            frame.b.store(value, self.pointer(frame, step.target))
        elif isinstance(step, KernelStep):
            self._kernel(frame, step)
        elif isinstance(step, CallStep):
            sources = [Argument(v, self.pointer(frame, v)) for v in step.sources]
            targets = [Argument(v, self.pointer(frame, v)) for v in step.targets]
            routines.write(frame.b, step.node, sources, targets)
        elif isinstance(step, LoopStep):
            self._loop(frame, step)
        else:
            self._branch(frame, step)

    def _scalar_node(self, frame: Frame, node: Node) -> Value:
        b, op = frame.b, node.op
        if isinstance(op, Elementwise):
            return code(b, op.function, [self.scalar(frame, i) for i in node.inputs], node.inputs[-1].dtype)
        if isinstance(op, Cast):
            return convert(b, self.scalar(frame, node.inputs[0]), node.inputs[0].dtype, op.dtype)
        if isinstance(op, Key):
            return b.const(i64, op.seed)
        if isinstance(op, Reduce):
            return self._repeated(frame, node, op)
        if isinstance(op, Index) and len(node.inputs) > 1:
            return self._gathered(frame, node, op)
        return self.scalar(frame, node.inputs[0])  # a view of a repeated scalar

    def _repeated(self, frame: Frame, node: Node, op: Reduce) -> Value:
        """A reduction of one number repeated."""
        b = frame.b
        (operand,) = node.inputs
        value = self.scalar(frame, operand)
        shape = static(operand.static_shape)
        count = math.prod(shape[a] for a in op.axes)
        if count == 0:
            return b.const(value.type, kernel_code.identity(op.kind, node.dtype))
        if op.kind == "sum":
            return value if count == 1 else b.mul(value, b.const(value.type, count))
        if op.kind == "prod":
            return _power(b, value, count, node.dtype)
        return value

    def _gathered(self, frame: Frame, node: Node, op: Index) -> Value:
        b = frame.b
        source, *arrays = node.inputs
        buffer = frame.buffers.get(source)
        # One number repeated, in a register of this part or of an earlier one; its copy in memory may come later.
        if buffer is None or source in frame.registers or source in self.slots or _number(source) is not None:
            lengths = gathered_lengths(op, static(source.static_shape))
            unproved = [(a, n) for a, n in zip(arrays, lengths, strict=True) if not proved_inside(a, n)]
            if unproved:
                details = [(n, 0, False) for _, n in unproved]
                index_offset(b, [self.scalar(frame, a) for a, _ in unproved], details, frame.status)
            return self.scalar(frame, source)
        indices = [self.scalar(frame, a) for a in arrays]
        _, extra, axes, _, _ = fusion.gather_layout(op, node, buffer)
        details = [(length, stride, proved_inside(a, length)) for a, (length, stride) in zip(arrays, axes, strict=True)]
        offset = index_offset(b, indices, details, frame.status)
        base = View(buffer.storage, buffer.offset + extra, (), ())
        if buffer.storage.place == "iota":
            return b.add(offset, b.const(i64, base.offset))
        pointer = b.offset(self.pointer(frame, base), offset, MEMORY[node.dtype])
        return from_memory(b, node.dtype, b.load(MEMORY[node.dtype], pointer))

    def _kernel(self, frame: Frame, step: KernelStep) -> None:
        b = frame.b
        if 0 in step.kernel.domain:
            return
        memories = [self.pointer(frame, view) for view in step.memories]
        invariants = [self.scalar(frame, node) for node in step.invariants]
        for root, neutral in kernel_code.initialise(step.kernel):
            self._fill(frame, step.memories[root.memory], step.kernel, root.strides, neutral, root.dtype)
        chunks = self.cut(step)
        if chunks is not None:
            from consilience.lower.chunk_code import in_chunks

            results = in_chunks(self, frame, step, chunks, memories, invariants)
        elif self.outline:
            results = self._call_loop(frame, step.kernel, memories, invariants)
        else:
            results = kernel_code.write(b, step.kernel, memories, invariants, frame.status, self.target.lanes)
        for node, value in zip(step.results, results, strict=True):
            self._made(frame, node, value)

    # ---- long loops in chunks

    def cut(self, step: KernelStep) -> Chunks | None:
        """How a loop is cut into chunks, if it is."""
        if self.inside_chunk or math.prod(step.kernel.domain) < MANY_ELEMENTS:
            return None
        from consilience.lower.row_chunks import chunks_of  # few models have long loops

        return chunks_of(step)

    def _fill(
        self, frame: Frame, view: View, kernel: LoopKernel, strides: Sequence[int], number: float, dtype: str
    ) -> None:
        """Neutral elements over the kept axes of a reduction."""
        b = frame.b
        kept = [(n, s) for n, s in zip(kernel.domain, strides, strict=True) if s]
        target = View(view.storage, view.offset, tuple(s for _, s in kept), tuple(n for n, _ in kept))
        step = fusion.fill_number(target, dtype)
        value = b.const(register_type(dtype), number)
        kernel_code.write(b, step.kernel, [self.pointer(frame, target)], [value], None, self.target.lanes)

    def _call_loop(
        self, frame: Frame, kernel: LoopKernel, memories: Sequence[Value], invariants: Sequence[Value]
    ) -> list[Value]:
        """A loop as a function of its own; loops that differ in length alone share one."""
        b = frame.b
        flexible = len(kernel.domain) == 1
        shared = replace(kernel, domain=(-1,)) if flexible else kernel
        name = self.loops.get((shared, flexible))
        results = kernel.results
        if name is None:
            name = f"loop_{len(self.loops)}"
            self.loops[shared, flexible] = name
            self._define_loop(name, kernel, flexible)
        lengths = [b.const(i64, kernel.domain[0])] if flexible else []
        place = b.stack(i64, len(results)) if results else b.bitcast(b.const(i64, 0), ptr)
        status = b.call(name, i64, *memories, *invariants, *lengths, place)
        b.set(frame.status, b.or_(b.get(frame.status), status))
        values = []
        for i, root in enumerate(results):
            pointer = b.offset(place, b.const(i64, i), i64)
            values.append(from_memory(b, root.dtype, b.load(MEMORY[root.dtype], pointer)))
        return values

    def _define_loop(self, name: str, kernel: LoopKernel, flexible: bool) -> None:
        parameters: list[tuple[str, Type]] = [(f"m{i}", ptr) for i in range(kernel.memories)]
        parameters += [(f"u{i}", register_type(dtype)) for i, dtype in enumerate(kernel.invariants)]
        parameters += [("n", i64)] if flexible else []
        b = self.module.function(name, [*parameters, ("results", ptr)], i64, export=False)
        memories = b.parameters[: kernel.memories]
        invariants = b.parameters[kernel.memories : kernel.memories + len(kernel.invariants)]
        lengths = [b.parameters[-2]] if flexible else None
        status = b.variable(b.const(i64, int(Status.OK)))
        values = kernel_code.write(b, kernel, memories, invariants, status, self.target.lanes, lengths)
        for i, (root, value) in enumerate(zip(kernel.results, values, strict=True)):
            pointer = b.offset(b.parameters[-1], b.const(i64, i), i64)
            b.store(to_memory(b, root.dtype, value), pointer)
        b.ret(b.get(status))

    def _branch(self, frame: Frame, step: BranchStep) -> None:
        b = frame.b
        with b.if_(self.scalar(frame, step.condition)):
            self.steps(frame.inner(step.buffers[0]), step.then)
        with b.else_():
            self.steps(frame.inner(step.buffers[1]), step.otherwise)

    # ---- loops

    def _loop(self, frame: Frame, step: LoopStep) -> None:
        b = frame.b
        if not (step.numbers or step.tensors or step.stop is not None or self.inside_chunk) and any(
            step is own for own in self.program.steps
        ):
            from consilience.lower.chunk_code import loop_in_chunks  # few loops carry nothing

            if loop_in_chunks(self, frame, step):
                return
        limit = self.scalar(frame, step.limit)
        done = b.variable(b.const(i64, 0))
        registers = [b.variable(self.scalar(frame, number.initial)) for number in step.numbers]
        blocks = [
            (b.variable(self.pointer(frame, t.current)), b.variable(self.pointer(frame, t.following)))
            for t in step.tensors
        ]
        whole = [self.begin(frame, element.whole) for element in step.elements]
        with b.for_(0, limit) as index:
            place = b.sub(b.sub(limit, index), b.const(i64, 1)) if step.reverse else index
            inner = frame.inner(step.buffers)
            for number, register in zip(step.numbers, registers, strict=True):
                self._enter(inner, number.leaf, b.get(register), number.home)
            for tensor, (current, following) in zip(step.tensors, blocks, strict=True):
                inner.move(tensor.leaf, tensor.current, b.get(current))
                inner.move(None, tensor.following, b.get(following))
            for element, start in zip(step.elements, whole, strict=True):
                self.element(inner, element, start, place)
            self.steps(inner, step.body)
            following_numbers = [self.scalar(inner, number.following) for number in step.numbers]
            stop = None if step.stop is None else self.scalar(inner, step.stop)
            for register, value in zip(registers, following_numbers, strict=True):
                b.set(register, value)
            for current, following in blocks:
                one, other = b.get(current), b.get(following)
                b.set(current, other)
                b.set(following, one)
            b.set(done, b.add(index, b.const(i64, 1)))
            if stop is not None:
                with b.if_(stop):
                    b.break_()
                if step.endless:
                    with b.if_(interrupted(b, index)):
                        b.set(frame.status, b.or_(b.get(frame.status), b.const(i64, int(Status.INTERRUPTED))))
                        b.break_()
        b.store(b.get(done), self.pointer(frame, step.count))
        for number, register in zip(step.numbers, registers, strict=True):
            value = to_memory(b, number.leaf.dtype, b.get(register))
            b.store(value, self.pointer(frame, number.last))
        for tensor, (current, _) in zip(step.tensors, blocks, strict=True):
            inner = frame.inner({})
            inner.move(None, tensor.current, b.get(current))
            self._kernel(inner, fusion.copy(tensor.current, tensor.last, tensor.leaf.dtype))

    def begin(self, frame: Frame, view: View) -> Value | None:
        """Address of the first element; None for an iota, which has none."""
        return None if view.storage.place == "iota" else self.pointer(frame, view)

    def element(self, frame: Frame, element: Element, start: Value | None, place: Value) -> None:
        """What one step reads or writes of a sequence or trace."""
        b = frame.b
        step = b.const(i64, element.whole.strides[0] if element.whole.strides else 0)
        if start is not None:
            address = b.offset(start, b.mul(place, step), MEMORY[element.whole.storage.dtype])
            frame.move(element.leaf, element.inside, address)
        elif element.leaf is not None:
            value = b.add(b.mul(place, step), b.const(i64, element.whole.offset))
            self._enter(frame, element.leaf, value, element.home)

    def _enter(self, frame: Frame, leaf: Node, value: Value, home: View | None) -> None:
        """A number that the body reads, in its register and, where it is read there, in memory."""
        frame.registers[leaf] = value
        if home is not None:
            frame.b.store(to_memory(frame.b, leaf.dtype, value), self.pointer(frame, home))


def inlined(steps: Sequence[Step]) -> list[str]:
    """Vector functions to be written into the loops: where few calls run over many elements.

    A call empties all vector registers; a body with the function in it costs time to compile instead.
    """
    calls: list[str] = []
    for step in steps:
        if isinstance(step, KernelStep):
            own = [i.function for i in step.kernel.body if i.function in FUNCTIONS]
            if own and math.prod(step.kernel.domain) < LONG_LOOP:
                return []
            calls += own
    return sorted(set(calls)) if len(calls) <= FEW_CALLS else []


def _number(node: Node) -> bool | int | float | None:
    """The number of a constant of one element, which stands in the code; None for all other nodes."""
    fixed = constant_value(node)
    found: bool | int | float | None = None if fixed is None or fixed.size != 1 else fixed.item()
    return found


def _count_loops(steps: Sequence[Step]) -> int:
    total = 0
    for step in steps:
        if isinstance(step, KernelStep):
            total += 1
        total += sum(_count_loops(inner) for inner, _ in inner_steps(step))
    return total


def _power(b: Builder, base: Value, exponent: int, dtype: str) -> Value:
    """base ** exponent by repeated squaring, exponent >= 1."""
    result: Value | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else combine(b, "prod", result, base, dtype)
        exponent >>= 1
        if exponent:
            base = combine(b, "prod", base, base, dtype)
    assert result is not None
    return result


def write(program: Program, target: Target, name: str = "entry", threads: bool = False) -> Code:
    """The module of a program for a machine; `threads` as of `Writer`."""
    return Writer(program, target, threads).run(name)
