"""Machine code of long loops in chunks, which threads may take from each other.

A loop of a program and how it is cut in; a function of one chunk, and the code that has all of them done, out. Each
chunk has its own place for what it writes: sums, or all that the body of a loop keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from consilience.errors import Status
from consilience.ir import Node, constant_value
from consilience.lower import fusion, kernel_code
from consilience.lower.chunks import scalars_made, scalars_read
from consilience.lower.fusion import KernelStep
from consilience.lower.kernel_code import combine
from consilience.lower.plan import lives, size_in_bytes, views_of
from consilience.lower.row_chunks import LONG, MOST, weight
from consilience.lower.scalar_code import MEMORY, from_memory, register_type, to_memory
from consilience.lower.steps import BranchStep, CallStep, KeepStep, LoopStep, Step
from consilience.lower.views import Storage, View
from consilience.native.loops import Type, Value, i64, ptr

if TYPE_CHECKING:
    from consilience.lower.entry import Frame, Writer
    from consilience.lower.row_chunks import Chunks

# Calls a function of a context and 0, 1, …, count - 1, on all threads that help: see `native.shared_work`.
SHARED = "consilience_helpers_share"


def _place(writer: Writer, frame: Frame, count: int, size: int) -> Value:
    """Memory for what chunks have of their own, behind the arena and the slots."""
    writer.apart = max(writer.apart, count * size)
    writer.most = max(writer.most, count)
    return frame.b.offset(frame.slots, frame.b.const(i64, writer.slots_in_lines()), i64)


def _do(writer: Writer, frame: Frame, name: str, count: int, context: Value) -> None:
    """Have all chunks done, whoever does them."""
    b = frame.b
    if writer.threads:
        status = b.call(SHARED, i64, b.symbol(name, i64, ptr, i64), context, b.const(i64, count))
        b.set(frame.status, b.or_(b.get(frame.status), status))
    else:
        with b.for_(0, b.const(i64, count)) as number:
            b.set(frame.status, b.or_(b.get(frame.status), b.call(name, i64, context, number)))
    failed = b.and_(b.get(frame.status), b.const(i64, int(Status.FACTORISATION_FAILED)))
    with b.if_(b.cmp("ne", failed, b.const(i64, 0))):  # what a chunk that failed should have written is undefined
        b.ret(b.get(frame.status))


# ---- one loop over elements


def in_chunks(
    writer: Writer,
    frame: Frame,
    step: KernelStep,
    chunks: Chunks,
    memories: Sequence[Value],
    invariants: Sequence[Value],
) -> list[Value]:
    """A loop chunk by chunk, whoever does them; sums of chunks are added up in their order."""
    b = frame.b
    name = writer.chunks.get((step.kernel, chunks))
    if name is None:
        name = writer.chunks[step.kernel, chunks] = f"chunk_{len(writer.chunks)}"
        _define_chunk(writer, name, step, chunks)
    apart = _place(writer, frame, chunks.count, chunks.size)
    context = b.stack(i64, 1 + len(memories) + len(invariants))
    for i, pointer in enumerate([apart, *memories]):
        b.store(pointer, b.offset(context, b.const(i64, i), i64))
    for i, (dtype, value) in enumerate(zip(step.kernel.invariants, invariants, strict=True)):
        b.store(to_memory(b, dtype, value), b.offset(context, b.const(i64, 1 + len(memories) + i), i64))
    _do(writer, frame, name, chunks.count, context)
    totals = [
        b.variable(b.const(register_type(root.dtype), kernel_code.identity(root.kind, root.dtype)))
        for root in step.kernel.results
    ]
    for own in chunks.private:
        if own.first:
            zero = fusion.fill_number(own.target, own.target.storage.dtype)
            number = b.const(register_type(own.target.storage.dtype), 0)
            pointers = [writer.pointer(frame, own.target)]
            kernel_code.write(b, zero.kernel, pointers, [number], None, writer.target.lanes)
    with b.for_(0, b.const(i64, chunks.count)) as number:
        part = b.offset(apart, b.mul(number, b.const(i64, chunks.size)), MEMORY["bool"])
        for i, (root, total) in enumerate(zip(step.kernel.results, totals, strict=True)):
            value = from_memory(b, root.dtype, b.load(MEMORY[root.dtype], b.offset(part, b.const(i64, i), i64)))
            b.set(total, combine(b, root.kind, b.get(total), value, root.dtype))
        for own in chunks.private:
            source = b.offset(part, b.const(i64, own.offset), MEMORY["bool"])
            adding = fusion.accumulate(own.apart, own.target, own.target.storage.dtype)
            pointers = [source, writer.pointer(frame, own.target)]
            kernel_code.write(b, adding.kernel, pointers, [], None, writer.target.lanes)
    return [b.get(total) for total in totals]


def _define_chunk(writer: Writer, name: str, step: KernelStep, chunks: Chunks) -> None:
    """`i64 name(ptr context, i64 number)`: the loop over the rows of one chunk."""
    kernel = step.kernel
    b = writer.module.function(name, [("context", ptr), ("number", i64)], i64, export=False)
    context, number = b.parameters

    def given(i: int, type: Type) -> Value:
        return b.load(type, b.offset(context, b.const(i64, i), i64))

    part = b.offset(given(0, ptr), b.mul(number, b.const(i64, chunks.size)), MEMORY["bool"])
    memories = [given(1 + i, ptr) for i in range(kernel.memories)]
    invariants = [
        from_memory(b, dtype, given(1 + kernel.memories + i, MEMORY[dtype]))
        for i, dtype in enumerate(kernel.invariants)
    ]
    for own in chunks.private:
        dtype = own.target.storage.dtype
        beginning = b.offset(part, b.const(i64, own.offset), MEMORY["bool"])
        flat = View(own.target.storage, 0, (1,), (own.span,))
        zero = b.const(register_type(dtype), 0)
        kernel_code.write(b, fusion.fill_number(flat, dtype).kernel, [beginning], [zero], None, writer.target.lanes)
        further = step.memories[own.memory].offset - own.target.offset
        memories[own.memory] = b.offset(beginning, b.const(i64, further), MEMORY[dtype])
    first = b.mul(number, b.const(i64, chunks.rows))
    behind, length = b.add(first, b.const(i64, chunks.rows)), b.const(i64, kernel.domain[0])
    rows = first, b.select(b.cmp("lt", behind, length), behind, length)
    status = b.variable(b.const(i64, int(Status.OK)))
    values = kernel_code.write(b, kernel, memories, invariants, status, writer.target.lanes, rows=rows)
    for i, (root, value) in enumerate(zip(kernel.results, values, strict=True)):
        b.store(to_memory(b, root.dtype, value), b.offset(part, b.const(i64, i), i64))
    b.ret(b.get(status))


# ---- a loop that carries nothing


def loop_in_chunks(writer: Writer, frame: Frame, step: LoopStep) -> bool:
    """A long loop whose steps are independent: a chunk per step. False: it is none, and nothing was written."""
    limit = constant_value(step.limit)
    if limit is None or not 2 <= (count := int(limit)) <= MOST or count * weight(step.body) < LONG:
        return False
    own = _own(writer, step)
    if own is None:
        return False
    b = frame.b
    made = {node for inner in step.body for node in scalars_made(inner)}
    given = list(dict.fromkeys(n for n in scalars_read(step) if n in frame.registers and n not in made))
    places, size = {}, 0
    for storage in own:
        places[storage] = size
        size += size_in_bytes(storage)
    apart = _place(writer, frame, count, size)
    name = f"steps_{len(writer.module.functions)}"
    context = b.stack(i64, 1 + len(frame.tables) + len(given))
    for i, pointer in enumerate([apart, *frame.tables]):
        b.store(pointer, b.offset(context, b.const(i64, i), i64))
    for i, node in enumerate(given):
        value = to_memory(b, node.dtype, frame.registers[node])
        b.store(value, b.offset(context, b.const(i64, 1 + len(frame.tables) + i), i64))
    _define_step(writer, name, frame, step, places, size, given, count)
    _do(writer, frame, name, count, context)
    b.store(b.const(i64, count), writer.pointer(frame, step.count))
    return True


def _own(writer: Writer, step: LoopStep) -> list[Storage] | None:
    """Blocks that live inside one step only; None where the body writes to another one."""
    position = next(i for i, other in enumerate(writer.program.steps) if other is step)
    spans = lives(writer.program)
    outside = {step.count.storage, *(element.whole.storage for element in step.elements)}
    found: dict[Storage, None] = {}
    for view in views_of(step, writer.in_memory):
        storage = view.storage
        if storage.place == "workspace" and storage not in outside and spans[storage.number] == (position, position):
            found[storage] = None
    kept = {storage for storage in _written(step) if storage.place != "element"}
    return list(found) if kept <= found.keys() else None


def _written(step: Step) -> Iterator[Storage]:
    """Storages that the steps of a loop write to."""
    for inner in step.body if isinstance(step, LoopStep) else [step]:
        if isinstance(inner, KernelStep):
            yield from (inner.memories[r.memory].storage for r in inner.kernel.roots if r.memory >= 0)
        elif isinstance(inner, KeepStep):
            yield inner.target.storage
        elif isinstance(inner, CallStep):
            yield from (view.storage for view in inner.targets)
        elif isinstance(inner, LoopStep):
            yield from _written_by_loop(inner)
        elif isinstance(inner, BranchStep):
            for branch in (inner.then, inner.otherwise):
                for one in branch:
                    yield from _written(one)


def _written_by_loop(step: LoopStep) -> Iterator[Storage]:
    yield step.count.storage
    for number in step.numbers:
        yield number.last.storage
    for tensor in step.tensors:
        yield from (tensor.current.storage, tensor.following.storage, tensor.last.storage)
    yield from (element.whole.storage for element in step.elements if element.leaf is None)
    yield from _written(step)


def _define_step(
    writer: Writer,
    name: str,
    outside: Frame,
    step: LoopStep,
    places: dict[Storage, int],
    size: int,
    given: list[Node],
    count: int,
) -> None:
    """`i64 name(ptr context, i64 number)`: one step of the loop."""
    b = writer.module.function(name, [("context", ptr), ("number", i64)], i64, export=False)
    context, number = b.parameters

    def read(i: int, type: Type) -> Value:
        return b.load(type, b.offset(context, b.const(i64, i), i64))

    part = b.offset(read(0, ptr), b.mul(number, b.const(i64, size)), MEMORY["bool"])
    frame = writer.frame(b, [read(1 + i, ptr) for i in range(len(outside.tables))])
    writer.bases(frame, [step])
    for storage, place in places.items():
        frame.bases[storage] = b.offset(part, b.const(i64, place), MEMORY["bool"])
    for i, node in enumerate(given):
        value = read(1 + len(frame.tables) + i, MEMORY[node.dtype])
        frame.registers[node] = from_memory(b, node.dtype, value)
    own = b.sub(b.const(i64, count - 1), number) if step.reverse else number
    starts = [writer.begin(frame, element.whole) for element in step.elements]
    inner = frame.inner(step.buffers)
    for element, start in zip(step.elements, starts, strict=True):
        writer.element(inner, element, start, own)
    writer.inside_chunk = True
    writer.steps(inner, step.body)
    writer.inside_chunk = False
    b.ret(b.get(frame.status))
