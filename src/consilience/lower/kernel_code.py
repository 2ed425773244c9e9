"""Instructions of a fused loop nest.

A LoopKernel with its memory pointers and scalar arguments in; loops appended to a Builder, final scalars
of the reductions out. Where an operand does not vary with an axis it is computed outside that loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from consilience.errors import Status
from consilience.ir import UNSIGNED
from consilience.lower.loop_kernel import Instruction, Leaf, LoopKernel, Operand, Reduction, StoreRoot
from consilience.lower.scalar_code import (
    HEAVY,
    MEMORY,
    code,
    convert,
    extremum,
    from_memory,
    register_type,
    to_memory,
)
from consilience.native.loops import Builder, Value, Variable, i64

# Value an empty reduction has.
IDENTITY = {"sum": 0, "prod": 1, "any": 0, "all": 1}
# Long loops with bodies up to this many instructions run with several accumulators, to hide the latency of
# additions. Calls of mathematics and reads from scattered places take longer than an addition themselves.
SHORT_BODY = 10
LONG_LOOP = 256
ACCUMULATORS = 4
# Up to this many elements at the end of a row are stored one by one. Masked stores of AVX2 take some 20 cycles on
# AMD's processors (Fog, Instruction tables, VMASKMOVPD m256, y, y of Zen).
FEW_STORES = 3


def identity(kind: str, dtype: str) -> float | int | bool:
    """The neutral element of a reduction."""
    if kind in IDENTITY:
        return IDENTITY[kind]
    if dtype.startswith("float"):
        return float("-inf") if kind == "max" else float("inf")
    if dtype == "bool":
        return kind == "min"
    limits = np.iinfo(dtype)
    return int(limits.min if kind == "max" else limits.max)


def combine(b: Builder, kind: str, x: Value, y: Value, dtype: str) -> Value:
    """One step of a reduction of a dtype."""
    if x.type.kind == "i1":
        return b.or_(x, y) if kind in ("any", "max", "sum") else b.and_(x, y)
    if kind == "sum":
        return b.add_reassociated(x, y) if x.type.kind in ("f64", "f32") else b.add(x, y)
    if kind == "prod":
        return b.mul(x, y)
    return extremum(b, kind == "min", x, y, dtype)


def across(b: Builder, kind: str, x: Value, dtype: str) -> Value:
    """Combine the lanes of a vector."""
    if x.type.lanes == 1:
        return x
    if x.type.kind == "i1":
        return b.reduce("or" if kind in ("any", "max") else "and", x)
    operation = {"sum": "add", "prod": "mul"}.get(kind, kind)
    return b.reduce(f"u{kind}" if kind in ("max", "min") and dtype in UNSIGNED else operation, x)


class _Nest:
    """What is known while the loops are being written."""

    def __init__(
        self,
        b: Builder,
        kernel: LoopKernel,
        memories: Sequence[Value],
        invariants: Sequence[Value],
        status: Variable | None,
        lanes: int,
        begin: Value | int,
    ) -> None:
        self.b = b
        self.begin = begin
        self.kernel = kernel
        self.memories = memories
        self.invariants = invariants
        self.status = status
        self.lanes = lanes
        self.indices: list[Value] = []
        self.values: dict[tuple[Operand, int], Value] = {}
        self.pointers: dict[tuple[int, tuple[int, ...], int], Value] = {}
        self.tail = 0  # elements of a masked vector, where that is known


def _depth_of_strides(strides: Sequence[int]) -> int:
    return max((i + 1 for i, s in enumerate(strides) if s), default=0)


def depths(kernel: LoopKernel) -> tuple[list[int], list[int]]:
    """For leaves and body values: how many of the outer axes they depend on, counted to the innermost."""
    leaves = [_depth_of_strides(leaf.strides) for leaf in kernel.leaves]
    body: list[int] = []
    for step in kernel.body:
        found = [0]
        for kind, n in step.operands:
            found.append(leaves[n] if kind == "leaf" else body[n] if kind == "body" else 0)
        if step.function == "gather":
            found.append(_depth_of_strides(step.detail[1]))  # type: ignore[arg-type]  # strides
        body.append(max(found))
    return leaves, body


def write(
    b: Builder,
    kernel: LoopKernel,
    memories: Sequence[Value],
    invariants: Sequence[Value],
    status: Variable | None,
    lanes: int,
    lengths: Sequence[Value] | None = None,
    rows: tuple[Value, Value] | None = None,
) -> list[Value]:
    """Append the nest; returns the scalars of its register reductions.

    `memories`: pointer per memory argument, at the element the strides count from.
    `status`: where out-of-bounds is noted; needed when a gather is checked.
    `lanes`: elements per vector on the innermost axis.
    `lengths`: run-time lengths of the axes; the kernel's own if not given.
    `rows`: where the first axis begins and ends, if it is not visited whole.
    """
    rank = len(kernel.domain)
    length = [b.const(i64, n) for n in kernel.domain] if lengths is None else list(lengths)
    begin: Value | int = 0
    if rows is not None:
        begin, length[0] = rows
    fixed = lengths is None and (rows is None or rank > 1)  # the innermost axis
    leaf_depths, body_depths = depths(kernel)
    nest = _Nest(b, kernel, memories, invariants, status, lanes, begin)
    accumulators: dict[int, list[Variable]] = {}
    starts = [_suffix(root, rank) if isinstance(root, Reduction) else rank for root in kernel.roots]
    with ExitStack() as ends:
        _open(nest, 0, length, leaf_depths, body_depths, starts, accumulators, ends, fixed)
    results = []
    for i, root in enumerate(kernel.roots):
        if isinstance(root, Reduction) and root.memory < 0:
            results.append(_finished(b, root, accumulators[i]))
    return results


def initialise(kernel: LoopKernel) -> list[tuple[Reduction, float | int | bool]]:
    """Memory reductions that need their target filled with the neutral element first."""
    rank = len(kernel.domain)
    return [
        (root, identity(root.kind, root.dtype))
        for root in kernel.roots
        if isinstance(root, Reduction) and root.memory >= 0 and any(a < _suffix(root, rank) for a in root.axes)
    ]


def _suffix(root: Reduction, rank: int) -> int:
    """First axis of the reduced axes that end the domain."""
    start = rank
    while start and start - 1 in root.axes:
        start -= 1
    return start


def _finished(b: Builder, root: Reduction, variables: list[Variable]) -> Value:
    parts = [b.get(v) for v in variables]
    while len(parts) > 1:
        parts = [combine(b, root.kind, x, y, root.dtype) for x, y in zip(parts[::2], parts[1::2], strict=True)]
    return across(b, root.kind, parts[0], root.dtype)


def _open(
    nest: _Nest,
    depth: int,
    length: list[Value],
    leaf_depths: list[int],
    body_depths: list[int],
    starts: list[int],
    accumulators: dict[int, list[Variable]],
    ends: ExitStack,
    fixed: bool,
) -> None:
    """Write everything of one depth, then the loop of the next axis around the rest."""
    b, kernel = nest.b, nest.kernel
    rank = len(kernel.domain)
    innermost = depth == rank - 1
    _compute(nest, depth, leaf_depths, body_depths)
    copies = _copies(kernel, rank, fixed) if rank else 1
    for i, root in enumerate(kernel.roots):
        if isinstance(root, Reduction) and starts[i] == depth:
            vector = nest.lanes if depth < rank else 1
            neutral = b.const(register_type(root.dtype, vector), identity(root.kind, root.dtype))
            accumulators[i] = [b.variable(neutral) for _ in range(copies if depth < rank else 1)]
    if depth == rank:
        _roots(nest, accumulators, starts, mask=None, slot=0)
        _close(nest, depth, starts, accumulators)
        return
    if not innermost:
        with b.for_(0 if depth else nest.begin, length[depth]) as index:
            nest.indices.append(index)
            saved = dict(nest.values), dict(nest.pointers)
            _open(nest, depth + 1, length, leaf_depths, body_depths, starts, accumulators, ends, fixed)
            nest.values, nest.pointers = saved
            nest.indices.pop()
        _close(nest, depth, starts, accumulators)
        return
    _vector_loop(nest, length[depth], leaf_depths, body_depths, starts, accumulators, copies, fixed)
    _close(nest, depth, starts, accumulators)


def _copies(kernel: LoopKernel, rank: int, fixed: bool) -> int:
    if kernel.borders >= 0:
        return 1
    short = len(kernel.body) + len(kernel.leaves) <= SHORT_BODY
    slow = any(step.function in HEAVY or step.function == "gather" for step in kernel.body)
    slow = slow or any(leaf.strides[-1] not in (0, 1) for leaf in kernel.leaves)
    reduces = any(isinstance(r, Reduction) and rank - 1 in r.axes for r in kernel.roots)
    long_enough = not fixed or kernel.domain[-1] >= LONG_LOOP
    return ACCUMULATORS if short and reduces and long_enough and not slow else 1


def _vector_loop(
    nest: _Nest,
    length: Value,
    leaf_depths: list[int],
    body_depths: list[int],
    starts: list[int],
    accumulators: dict[int, list[Variable]],
    copies: int,
    fixed: bool,
) -> None:
    """The innermost axis: whole vectors, several at a time for short bodies, then the rest."""
    b = nest.b
    lanes = nest.lanes
    rank = len(nest.kernel.domain)
    size = nest.kernel.domain[-1]
    start: Value | int = 0 if rank > 1 else nest.begin
    if nest.kernel.borders >= 0:
        border = b.offset(nest.memories[nest.kernel.borders], nest.indices[0], i64)
        start, length = b.load(i64, border), b.load(i64, b.offset(border, b.const(i64, 1), i64))

    def body(index: Value, mask: Value | None, slot: int) -> None:
        nest.indices.append(index)
        saved = dict(nest.values), dict(nest.pointers)
        _compute(nest, rank, leaf_depths, body_depths, mask)
        _roots(nest, accumulators, starts, mask, slot)
        nest.values, nest.pointers = saved
        nest.indices.pop()

    def masked(index: Value) -> None:
        lane = b.iota(i64.vector(lanes))
        body(index, b.cmp("lt", lane, b.splat(b.sub(length, index), lanes)), 0)

    def last(index: Value) -> None:
        nest.tail = size % lanes
        masked(index)
        nest.tail = 0

    if lanes == 1:
        with b.for_(start, length) as index:
            body(index, None, 0)
        return
    if nest.kernel.borders >= 0:
        with b.for_(start, length, lanes) as index:
            masked(index)
        return
    if fixed and size == lanes:
        body(b.const(i64, 0), None, 0)
        return
    if fixed and size < lanes:
        last(b.const(i64, 0))
        return
    writes_rows = rank > 1 and any(isinstance(root, StoreRoot) for root in nest.kernel.roots)
    if fixed and size < 16 * lanes and size % lanes and len(nest.kernel.body) > SHORT_BODY and not writes_rows:
        # A short loop with a long body: one masked body costs less than writing the body twice.
        with b.for_(0, length, lanes) as index:
            masked(index)
        return
    stride = lanes * copies
    # What begins later than with the first row begins with a whole vector.
    whole = b.const(i64, size - size % stride) if fixed else b.and_(length, b.const(i64, -stride))
    with b.for_(start, whole, stride) as index:
        for slot in range(copies):
            body(b.add(index, b.const(i64, slot * lanes)) if slot else index, None, slot)
    if fixed and rank > 1 and size % stride < lanes:
        if size % stride:
            last(whole)
    elif not fixed or size % stride:
        with b.for_(whole, length, lanes) as index:
            if fixed and size % lanes == 0:
                body(index, None, 0)
            else:
                masked(index)


def _close(nest: _Nest, depth: int, starts: list[int], accumulators: dict[int, list[Variable]]) -> None:
    """After the loops of a depth: reductions that began there go to memory."""
    b = nest.b
    for i, root in enumerate(nest.kernel.roots):
        if not isinstance(root, Reduction) or starts[i] != depth or root.memory < 0:
            continue
        if depth == len(nest.kernel.domain):
            continue  # stored by the innermost body
        value = _finished(b, root, accumulators[i])
        pointer = _address(nest, root.memory, root.dtype, root.strides, depth)
        if any(a < starts[i] for a in root.axes):
            old = from_memory(b, root.dtype, b.load(MEMORY[root.dtype], pointer))
            value = combine(b, root.kind, old, value, root.dtype)
        b.store(to_memory(b, root.dtype, value), pointer)


def _compute(
    nest: _Nest, depth: int, leaf_depths: list[int], body_depths: list[int], mask: Value | None = None
) -> None:
    """Values that depend on exactly the first `depth` axes."""
    kernel = nest.kernel
    lanes = nest.lanes if depth == len(kernel.domain) and depth else 1
    if lanes > 1 and mask is None and sum(leaf.strides[-1] > 1 for leaf in kernel.leaves) > 1:
        _read_across(nest, depth, lanes)
    for n, leaf in enumerate(kernel.leaves):
        if leaf_depths[n] == depth and (("leaf", n), lanes) not in nest.values:
            nest.values[("leaf", n), lanes] = _read(nest, leaf, depth, lanes, mask)
    choices = {}
    if depth == len(kernel.domain) and any(step.function == "where" for step in kernel.body):
        from consilience.lower.choices import sides_of_choices  # most loops choose nothing

        choices = sides_of_choices(kernel, body_depths, depth)
    later = {n for sides in choices.values() for side in sides for n in side}
    for n in range(len(kernel.body)):
        if n in choices:
            _choose(nest, n, choices[n], depth, lanes, mask)
        elif body_depths[n] == depth and n not in later:
            _step(nest, n, depth, lanes, mask)


def _step(nest: _Nest, n: int, depth: int, lanes: int, mask: Value | None) -> None:
    step = nest.kernel.body[n]
    one = step.function == "gather" and all(_uniform(nest, o) for o in step.operands)
    operands = [_operand(nest, o, 1 if one else lanes) for o in step.operands]
    nest.values[("body", n), lanes] = _instruction(nest, step, operands, depth, lanes, mask)


def _choose(
    nest: _Nest, n: int, sides: tuple[Sequence[int], Sequence[int]], depth: int, lanes: int, mask: Value | None
) -> None:
    """A choice of which a side is computed only where an element takes it."""
    b, kernel = nest.b, nest.kernel
    for k in (*sides[0], *sides[1]):  # what they read is there before
        for operand in kernel.body[k].operands:
            if operand not in {("body", other) for side in sides for other in side}:
                _operand(nest, operand, lanes)
    condition = _operand(nest, kernel.body[n].operands[0], lanes)
    wanted = condition, b.not_(condition)
    result: Variable | None = None
    for place in (1, 2):
        operand = kernel.body[n].operands[place]
        if not sides[place - 1]:
            result = b.variable(_operand(nest, operand, lanes))
    if result is None:
        result = b.variable(b.const(register_type(kernel.body[n].dtype, lanes), 0))
    for side, takes, operand in zip(sides, wanted, kernel.body[n].operands[1:], strict=True):
        if side:
            with b.if_(b.reduce("or", takes)):
                for k in side:
                    _step(nest, k, depth, lanes, mask)
                b.set(result, b.select(takes, nest.values[operand, lanes], b.get(result)))
    nest.values[("body", n), lanes] = b.get(result)


def _uniform(nest: _Nest, operand: Operand) -> bool:
    """Whether a value is the same for all lanes."""
    return operand[0] == "invariant" or (operand, 1) in nest.values


def _operand(nest: _Nest, operand: Operand, lanes: int) -> Value:
    """A value with the wanted lanes; scalars are repeated."""
    known = nest.values.get((operand, lanes))
    if known is None:
        kind, n = operand
        scalar = nest.invariants[n] if kind == "invariant" else nest.values[operand, 1]
        known = nest.b.splat(scalar, lanes) if lanes > 1 else scalar
        nest.values[operand, lanes] = known
    return known


def _address(nest: _Nest, memory: int, dtype: str, strides: Sequence[int], depth: int) -> Value:
    """Pointer to the element at the current indices of the first `depth` axes."""
    key = (memory, tuple(strides[:depth]), depth)
    known = nest.pointers.get(key)
    if known is not None:
        return known
    b = nest.b
    if depth == 0:
        pointer = nest.memories[memory]
    else:
        pointer = _address(nest, memory, dtype, strides, depth - 1)
        stride = strides[depth - 1]
        if stride:
            index = nest.indices[depth - 1]
            step = index if stride == 1 else b.mul(index, b.const(i64, stride))
            pointer = b.offset(pointer, step, MEMORY[dtype])
    nest.pointers[key] = pointer
    return pointer


def _read(nest: _Nest, leaf: Leaf, depth: int, lanes: int, mask: Value | None) -> Value:
    b = nest.b
    if leaf.memory < 0:
        return _count(nest, leaf, depth, lanes)
    start = b.const(i64, leaf.start) if leaf.start else None
    if lanes == 1:
        pointer = _address(nest, leaf.memory, leaf.dtype, leaf.strides, depth)
        if start is not None:
            pointer = b.offset(pointer, start, MEMORY[leaf.dtype])
        return from_memory(b, leaf.dtype, b.load(MEMORY[leaf.dtype], pointer))
    return _vector(nest, leaf.memory, leaf.dtype, leaf.strides, depth, lanes, mask, start)


def _read_across(nest: _Nest, depth: int, lanes: int) -> None:
    """Columns of matrices that lie row by row, several columns at a time."""
    from consilience.lower.row_tiles import tiles  # few loops read matrices across
    from consilience.native.tiles import transposed

    b, leaves = nest.b, nest.kernel.leaves
    for tile in tiles(leaves, lanes):
        leaf = leaves[tile.wanted[0]]
        memory = MEMORY[leaf.dtype]
        row = _address(nest, leaf.memory, leaf.dtype, leaf.strides, depth)
        places = [b.const(i64, number * leaf.strides[-1] + tile.first) for number in range(lanes)]
        rows = [b.load(memory.vector(tile.width), b.offset(row, place, memory)) for place in places]
        columns = transposed(b, rows)
        for n in tile.wanted:
            value = from_memory(b, leaf.dtype, columns[leaves[n].start - tile.first])
            nest.values[("leaf", n), lanes] = value


def _vector(
    nest: _Nest,
    number: int,
    dtype: str,
    strides: Sequence[int],
    depth: int,
    lanes: int,
    mask: Value | None,
    start: Value | None = None,
) -> Value:
    """Elements of several lanes that lie in a row, or evenly spaced; `start` is added to their offset."""
    b = nest.b
    stride = strides[-1]
    memory = MEMORY[dtype].vector(lanes)
    pointer = _address(nest, number, dtype, strides, depth if stride == 1 else depth - 1)
    if start is not None:
        pointer = b.offset(pointer, start, MEMORY[dtype])
    if stride == 1:
        if mask is None:
            value = b.load(memory, pointer)
        else:
            value = b.masked_load(memory, pointer, mask, b.const(memory, 0))
        return from_memory(b, dtype, value)
    lane = b.iota(i64.vector(lanes))
    index = b.add(b.splat(nest.indices[depth - 1], lanes), lane)
    if mask is not None:  # lanes beyond the end read the first element
        index = b.select(mask, index, b.const(index.type, 0))
    index = b.mul(index, b.const(index.type, stride))
    return from_memory(b, dtype, b.gather(memory, pointer, index))


def _count(nest: _Nest, leaf: Leaf, depth: int, lanes: int) -> Value:
    """offset + sum of index * stride."""
    b = nest.b
    total = b.const(i64, leaf.start)
    for axis, stride in enumerate(leaf.strides[:depth]):
        if stride and not (lanes > 1 and axis == depth - 1):
            total = b.add(total, b.mul(nest.indices[axis], b.const(i64, stride)))
    if lanes == 1:
        return total
    stride = leaf.strides[-1]
    vector = i64.vector(lanes)
    index = b.add(b.splat(nest.indices[depth - 1], lanes), b.iota(vector))
    return b.add(b.splat(total, lanes), b.mul(index, b.const(vector, stride)))


def _instruction(
    nest: _Nest, step: Instruction, operands: list[Value], depth: int, lanes: int, mask: Value | None
) -> Value:
    b = nest.b
    if step.function == "cast":
        return convert(b, operands[0], _dtype_of(nest.kernel, step.operands[0]), step.dtype)
    if step.function != "gather":
        return code(b, step.function, operands, _dtype_of(nest.kernel, step.operands[-1]))
    memory, strides, axes = step.detail
    assert isinstance(memory, int)
    assert isinstance(strides, tuple)
    assert isinstance(axes, tuple)
    index = index_offset(b, operands, axes, nest.status, mask if operands[0].type.lanes > 1 else None)
    if memory < 0:  # the places themselves
        return index
    if index.type.lanes < lanes:
        return _vector(nest, memory, step.dtype, strides, depth, lanes, mask, index)
    pointer = _address(nest, memory, step.dtype, strides, depth - 1 if lanes > 1 else depth)
    if lanes == 1:
        return from_memory(b, step.dtype, b.load(MEMORY[step.dtype], b.offset(pointer, index, MEMORY[step.dtype])))
    if strides[-1]:
        position = b.add(b.splat(nest.indices[depth - 1], lanes), b.iota(i64.vector(lanes)))
        if mask is not None:
            position = b.select(mask, position, b.const(position.type, 0))
        index = b.add(index, b.mul(position, b.const(position.type, strides[-1])))
    return from_memory(b, step.dtype, b.gather(MEMORY[step.dtype].vector(lanes), pointer, index))


def _dtype_of(kernel: LoopKernel, operand: Operand) -> str:
    kind, n = operand
    if kind == "invariant":
        return kernel.invariants[n]
    return kernel.leaves[n].dtype if kind == "leaf" else kernel.body[n].dtype


def index_offset(
    b: Builder,
    indices: Sequence[Value],
    axes: Sequence[tuple[int, int, bool]],
    status: Variable | None,
    mask: Value | None = None,
) -> Value:
    """Element offset of index values; unproved ones are counted from the end when negative and checked."""
    total: Value | None = None
    for index, (length, stride, proved) in zip(indices, axes, strict=True):
        position = index
        if not proved:
            zero = b.const(index.type, 0)
            position = b.select(b.cmp("lt", index, zero), b.add(index, b.const(index.type, length)), index)
            outside = b.not_(b.cmp("ult", position, b.const(index.type, length)))
            if mask is not None:
                outside = b.and_(outside, mask)
            assert status is not None
            some = b.reduce("or", outside) if outside.type.lanes > 1 else outside
            flag = b.select(some, b.const(i64, int(Status.OUT_OF_BOUNDS)), b.const(i64, 0))
            b.set(status, b.or_(b.get(status), flag))
            position = b.select(b.cmp("ult", position, b.const(index.type, length)), position, zero)
        part = position if stride == 1 else b.mul(position, b.const(position.type, stride))
        total = part if total is None else b.add(total, part)
    assert total is not None
    return total


def _roots(
    nest: _Nest,
    accumulators: dict[int, list[Variable]],
    starts: list[int],
    mask: Value | None,
    slot: int,
) -> None:
    """Stores and accumulations of one (vector of) element(s)."""
    b, kernel = nest.b, nest.kernel
    rank = len(kernel.domain)
    lanes = nest.lanes if rank else 1
    for i, root in enumerate(kernel.roots):
        value = _operand(nest, root.value, lanes)
        if isinstance(root, StoreRoot):
            _store(nest, root, value, rank, lanes, mask)
            continue
        if starts[i] == rank:
            _accumulate_in_memory(nest, root, value, rank, lanes, mask)
            continue
        variables = accumulators[i]
        variable = variables[slot % len(variables)]
        if mask is not None:
            neutral = b.const(register_type(root.dtype, lanes), identity(root.kind, root.dtype))
            value = b.select(mask, value, neutral)
        # An extremum tests its first operand for NaN: of the new value, the next step need not wait for it.
        pair = (value, b.get(variable)) if root.kind in ("max", "min") else (b.get(variable), value)
        b.set(variable, combine(b, root.kind, *pair, root.dtype))


def _accumulate_in_memory(
    nest: _Nest, root: Reduction, value: Value, rank: int, lanes: int, mask: Value | None
) -> None:
    """The last axis is kept: combine with what memory holds."""
    target = StoreRoot(root.value, root.memory, root.dtype, root.strides, root.kind if root.axes else "set")
    _store(nest, target, value, rank, lanes, mask)


def _store(nest: _Nest, root: StoreRoot, value: Value, rank: int, lanes: int, mask: Value | None) -> None:
    b = nest.b
    memory = MEMORY[root.dtype]
    kind = {"set": None, "add": "sum"}.get(root.mode, root.mode)
    # LLVM (22.1, AVX-512) makes a masked store of truncated integers, where one lane is left, a store of the integer
    # before truncation, which writes beyond the end. Lane by lane it cannot.
    spills = mask is not None and memory.integer and memory.size < 8
    together = root.strides[-1:] == (1,) and (root.place is None or _uniform(nest, root.place))
    if lanes == 1 or (together and not spills):
        pointer = _address(nest, root.memory, root.dtype, root.strides, rank)
        if root.place is not None:
            pointer = b.offset(pointer, _operand(nest, root.place, 1), memory)
        if kind is not None:
            vector = memory.vector(lanes) if lanes > 1 else memory
            if mask is None:
                old = b.load(vector, pointer)
            else:
                old = b.masked_load(vector, pointer, mask, b.const(vector, 0))
            value = combine(b, kind, from_memory(b, root.dtype, old), value, root.dtype)
        stored = to_memory(b, root.dtype, value)
        if mask is None:
            b.store(stored, pointer)
        elif 0 < nest.tail <= FEW_STORES:
            for lane in range(nest.tail):
                b.store(b.extract(stored, lane), b.offset(pointer, b.const(i64, lane), memory))
        else:
            b.masked_store(stored, pointer, mask)
        return
    _store_strided(nest, root, value, rank, lanes, mask, kind)


def _store_strided(
    nest: _Nest, root: StoreRoot, value: Value, rank: int, lanes: int, mask: Value | None, kind: str | None
) -> None:
    """Lane by lane, in order: neighbouring lanes are apart in memory (or the same place)."""
    b = nest.b
    memory = MEMORY[root.dtype]
    base = _address(nest, root.memory, root.dtype, root.strides, rank - 1)
    places = None if root.place is None else _operand(nest, root.place, lanes)
    for lane in range(lanes):
        with ExitStack() as guard:
            if mask is not None:
                guard.enter_context(b.if_(b.extract(mask, lane)))
            position = b.add(nest.indices[rank - 1], b.const(i64, lane))
            offset = b.mul(position, b.const(i64, root.strides[-1]))
            if places is not None:
                offset = b.add(offset, b.extract(places, lane))
            pointer = b.offset(base, offset, memory)
            part = b.extract(value, lane)
            if kind is not None:
                part = combine(b, kind, from_memory(b, root.dtype, b.load(memory, pointer)), part, root.dtype)
            b.store(to_memory(b, root.dtype, part), pointer)
