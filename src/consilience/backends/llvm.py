"""The machine-code backend: specialise, expand, lower, emit, load.

A graph and the values of its lengths in, an executable over arrays out. `Compiled` also hands out the bare
entry address for native callers.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends import reference
from consilience.backends.callback import Callback
from consilience.backends.python_calls import AroundPython, calls_in, calls_inside
from consilience.backends.registry import Bound, Executable
from consilience.backends.shapes import (
    Lengths,
    bind_computed,
    check_shape_constraints,
    check_sizes,
    sizes_of,
    static_shape,
)
from consilience.errors import ExecutionError, LinearAlgebraError, MemoryShortage, OutOfBoundsError, Status
from consilience.ir import (
    Constant,
    Node,
    TensorType,
    computed_atoms,
    constant,
    constant_value,
    is_leaf,
    numpy_dtype,
    rebuild,
    substitute,
    tensor_input,
    topological,
)
from consilience.ir import dimension as dims
from consilience.ir.leaves import FEW_COLUMNS, LARGE, is_on_a_line, on_a_line, stays
from consilience.ir.lengths import source_of
from consilience.ir.side_tables import describe, without_sources
from consilience.lower import entry
from consilience.lower.expand import expand
from consilience.lower.hoisting import hoist
from consilience.lower.program import lower
from consilience.lower.row_blocks import in_row_blocks
from consilience.lower.sharing import share_exponentials
from consilience.lower.small_tensors import in_numbers
from consilience.lower.specialise import specialise
from consilience.lower.steps import Program
from consilience.lower.views import gathered_lengths, is_view, proved_inside, static
from consilience.native import jit, target
from consilience.native.batch import run_batch
from consilience.native.emit import emit
from consilience.ops import ArgSort, Cast, Elementwise, Index, IndexUpdate, Item, MaskPositions, Sort, apply
from consilience.ops.assertion import required
from consilience.ops.complex_numbers import imag, real
from consilience.ops.dtypes import part_of
from consilience.ops.loop import Scan
from consilience.ops.python_call import PythonCall, checked, lengths_of_results, results_of, settled
from consilience.ops.scalar import DRAWS
from consilience.ops.shape import stack
from consilience.planning import Forced, choosing, planned
from consilience.rewrite.rules import indices_at_known_lengths
from consilience.rewrite.rules.loops import tidy_loops
from consilience.rewrite.structure import known_size
from consilience.transforms.complex_pairs import is_complex

Array: TypeAlias = npt.NDArray[Any]

# Constant subgraphs up to this many elements are computed once, at compile time.
FOLD_LIMIT = 5_000_000
ALIGNMENT = 64
# Programs kept behind each stage: one per combination of computed lengths seen lately.
KEPT_LENGTHS = 16


def program_of(
    inputs: Sequence[Node], outputs: Sequence[Node], data: Sequence[Node] = (), *, choice: bool | int | Forced = True
) -> tuple[Program, list[Node]]:
    """The steps of static outputs, and what of the data is computed before calls: the first of its constants."""
    check_sizes(sizes_of(topological(outputs)), {})
    with without_sources():
        outputs = planned(outputs, data, choice)
        # At fixed lengths more is known of loops: that there is a last step, which needs no trace.
        primitive = fold(share_exponentials(in_numbers(expand(in_row_blocks(tidy_loops(outputs))))))
        cut, leaves, prepared = hoist(primitive, data)
        return lower(inputs, cut, leaves), prepared


class Compiled:
    """Machine code of one program over static shapes.

    `inputs`: leaves in the order of the inputs table.
    `outputs`: static expressions.
    `data`: leaves whose values are bound before calls (`bind`); what depends on them alone is computed then.
    `origins`: the outputs as users know them, for messages; `outputs` if not given.
    `choice`: whether the program is planned (see `planning`).
    `address`: of `i64 entry(ptr inputs, ptr outputs, ptr workspace, ptr constants)`.
    `workspace`: bytes of scratch a call needs, 64-byte aligned, one block per thread.
    `chunks`: how many parts its longest loop is cut into, for threads to take: see `native.shared_work`; 0: none is.
    """

    threads = True

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        data: Sequence[Node] = (),
        *,
        level: int = 2,
        origins: Sequence[Node] | None = None,
        choice: bool | int | Forced = True,
    ) -> None:
        self._data = list(data)
        self._written_for = inputs, outputs, level
        self.origins = outputs if origins is None else origins
        program, self._prepared = program_of(inputs, outputs, self._data, choice=choice)
        host = target.host()
        code = self._written(program, host)
        self.workspace = code.workspace + ALIGNMENT
        self.chunks = code.chunks
        self.library = self._loaded(code, host, level)
        self.address = self.library.address(code.entry)
        self._arrays = [placed(a) if a.size > 1 else a for a in program.constants]
        self.outputs = [(static(o.static_shape), numpy_dtype(o.dtype)) for o in program.outputs]

    def _written(self, program: Program, host: target.Target) -> entry.Code:
        """The loop program of a program; a class that shows or measures it keeps more of it."""
        return entry.write(program, host, threads=self.threads)

    def _loaded(self, code: entry.Code, host: target.Target, level: int) -> jit.Loaded:
        """The machine code of a loop program."""
        return jit.load(emit(code.module, host), [code.entry], level=level)

    def bind(self, values: Sequence[Array] = ()) -> BoundCode:
        """The code with a table of constants, for given values of the data leaves.

        Matrices that are given to be read where they lie get code of their own, which reads them row by row.
        """
        if lying := {leaf: constant(value) for leaf, value in zip(self._data, values, strict=True) if _lies(value)}:
            inputs, outputs, level = self._written_for
            others = {leaf: value for leaf, value in zip(self._data, values, strict=True) if leaf not in lying}
            own = type(self)(inputs, substitute(outputs, lying), list(others), level=level, origins=self.origins)
            return own.bind(list(others.values()))
        prepared: list[Array] = []
        if self._prepared:
            given = dict(zip(self._data, values, strict=True))
            try:
                prepared = reference.evaluate(self._prepared, given)
            except ExecutionError:
                reference.evaluate(_of_leaves(self._written_for[1], self._data), given)  # says it in the user's terms
                raise
        return BoundCode(self, [*map(placed, prepared), *self._arrays])


def _of_leaves(outputs: Sequence[Node], leaves: Sequence[Node]) -> list[Node]:
    """The parts of outputs, inner ones first, that depend on some leaves alone."""
    known: dict[Node, bool] = {}
    for node in topological(outputs):
        known[node] = node in leaves if is_leaf(node) else all(known[i] for i in node.inputs)
    return [node for node, alone in known.items() if alone]


# What compiles one stage: `Compiled`, or a class of its kind.
Make: TypeAlias = Callable[..., Executable]


class BoundCode:
    """Machine code with its data (`registry.Bound`). Keeps code and arrays alive."""

    compiled: Compiled

    def __init__(self, compiled: Compiled, arrays: Sequence[Array]) -> None:
        self.compiled = compiled
        self.arrays = arrays
        self._table = np.array([a.ctypes.data for a in arrays] or [0], np.uint64)
        self.entry = compiled.address
        self.constants: int = self._table.ctypes.data
        self.workspace = compiled.workspace
        pointer = ctypes.c_void_p
        self.run = compiled.library.function("entry", ctypes.c_int64, pointer, pointer, pointer, pointer)

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        given = [a if a.flags.carray else np.require(a, requirements=("C", "A")) for a in arrays]
        results = [allocated(shape, dtype) for shape, dtype in self.compiled.outputs]
        ins = (ctypes.c_void_p * max(1, len(given)))(*[a.ctypes.data for a in given])
        outs = (ctypes.c_void_p * max(1, len(results)))(*[r.ctypes.data for r in results])
        status = self.run(ins, outs, workspace_address(self.workspace), self.constants)
        if status:
            self.explain(status)
        return results

    def direct(self, inputs: Sequence[tuple[np.dtype[Any], tuple[int, ...]]], one: bool) -> Callable[..., Any] | None:
        """A built-in function of arrays of these dtypes and shapes (`registry.Bound`)."""
        from consilience.native.array_call import array_call  # for functions that are called often

        outputs = [(dtype, shape) for shape, dtype in self.compiled.outputs]
        return array_call(self.entry, self.constants, self.workspace, inputs, outputs, one, self)

    def explain(self, status: int) -> None:
        """Raise what machine code knows of a failure; `function` finds the place."""
        if status & Status.INTERRUPTED:
            raise KeyboardInterrupt
        if status & Status.PYTHON_FAILED:
            raise ExecutionError("a C function that was given by its address reports a failure.")
        where = ", ".join(describe(o) for o in self.compiled.origins[:3])
        if status & Status.OUT_OF_BOUNDS:
            raise OutOfBoundsError(f"an index lies outside its axis in the computation of {where}.")
        raise LinearAlgebraError(f"a matrix is singular or not positive definite in the computation of {where}.")

    def map(self, inputs: Sequence[tuple[Array, bool]], count: int) -> tuple[list[Array], int]:
        """Values of the outputs for many draws, computed in one native loop (`registry.Bound`)."""
        kept = [(np.ascontiguousarray(a), per_draw) for a, per_draw in inputs]
        ins = [(a.ctypes.data, a.nbytes // max(1, count) if per_draw else 0) for a, per_draw in kept]
        results = [np.empty((count, *shape), dtype) for shape, dtype in self.compiled.outputs]
        outs = [(r.ctypes.data, r.nbytes // max(1, count)) for r in results]
        scratch = workspace_address(self.workspace)
        return results, run_batch(self.entry, self.constants, scratch, count, ins, outs)


def aligned(array: Array) -> Array:
    """An array that starts on a cache line, with another one behind: itself if nobody writes to it, or a copy."""
    return array if is_on_a_line(array) and not array.flags.writeable else on_a_line(array)


def placed(array: Array) -> Array:
    """An array as machine code reads it: a large one that nobody writes to where it lies, others `aligned`."""
    in_place = array.nbytes >= LARGE and array.flags.c_contiguous and array.flags.aligned and not array.flags.writeable
    return array if in_place else aligned(array)


def fold(outputs: Sequence[Node]) -> list[Node]:
    """Evaluate constant subgraphs, such as the transpose of a constant matrix.

    Random draws stay in the program, and so does what fails: the failure belongs to the call.
    """
    memo: dict[Node, Node] = {}
    known: dict[Node, bool] = {}
    for node in topological(outputs):
        rebuilt = memo[node] = rebuild(node, tuple(memo[i] for i in node.inputs))
        known[node] = _foldable(node) and all(known[i] for i in node.inputs)
        if known[node] and node.inputs and _worth_folding(node, rebuilt):
            try:
                memo[node] = constant(reference.evaluate([rebuilt], {})[0], node.dtype)
            except ExecutionError:
                known[node] = False
    return [memo[output] for output in outputs]


def _foldable(node: Node) -> bool:
    """Whether a node has a value that is the same in every call and cheap for the reference backend."""
    if is_leaf(node) or isinstance(node.op, Scan | PythonCall):
        return False
    return not (isinstance(node.op, Elementwise) and node.op.function in (*DRAWS, "fold_in"))


def _worth_folding(node: Node, rebuilt: Node) -> bool:
    if isinstance(node.op, Cast):
        large = node.ndim != 2 and known_size(node) > FOLD_LIMIT  # vectors are converted as they are read
        return isinstance(rebuilt.inputs[0].op, Constant) and not large
    if not isinstance(node.type, TensorType) or node.dtype == "key":
        return False
    if is_view(node) and _in_place(node):
        return False  # a view of what was given to be read where it lies
    size = node.tensor_type.size
    return isinstance(size, int) and size <= max(64, *(known_size(i) for i in node.inputs)) and size <= FOLD_LIMIT


def _in_place(view: Node) -> bool:
    """Whether a view shows parts of a matrix of few columns that is not copied; others are read by BLAS."""
    while view.inputs:
        view = view.inputs[0]
    array = constant_value(view)
    return array is not None and _lies(array)


def _lies(array: Array) -> bool:
    return array.ndim == 2 and min(array.shape) <= FEW_COLUMNS and stays(array, array.dtype)


def allocated(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An uninitialised array; MemoryShortage where it is larger than the memory of this machine."""
    needed = math.prod(shape) * dtype.itemsize
    try:
        if needed < _memory():
            return np.empty(shape, dtype)
    except (MemoryError, ValueError):
        pass
    raise MemoryShortage(
        f"an array of shape {shape} and dtype {dtype} takes {needed / 2**30:.3g} GiB, more than this machine has; "
        "reduce it inside the function, or work in parts."
    )


@functools.cache
def _memory() -> int:
    """Bytes of physical memory, or a number beyond all memories where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**62


class _Workspaces(threading.local):
    """Scratch memory per thread, grown when needed."""

    block: Array | None = None

    def address(self, size: int) -> int:
        block = self.block
        if block is None or block.nbytes < size + ALIGNMENT:
            block = self.block = allocated((size + ALIGNMENT,), np.dtype("uint8"))
        start: int = block.ctypes.data
        return start + (-start % ALIGNMENT)


_workspaces = _Workspaces()


def workspace_address(size: int) -> int:
    """Scratch memory of this thread, 64-byte aligned, at least `size` bytes."""
    return _workspaces.address(size)


class _Staged:
    """A graph with computed lengths: those are computed first, then the rest is compiled for them.

    Lengths that depend on further lengths, such as a mask of a masked tensor, are left to the stages behind.
    """

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        data: Sequence[Node],
        *,
        level: int,
        origins: Sequence[Node],
        make: Make,
    ) -> None:
        self.inputs, self.outputs, self.origins = list(inputs), list(outputs), origins
        self._data = list(data)
        self._level = level
        self._make = make
        sources = {atom: source_of(atom) for atom in computed_atoms(outputs)}
        ready = {atom: source for atom, source in sources.items() if not computed_atoms([source])}
        # Positions are found once for all that share a count, which different code might find one more or less of.
        self._masks: dict[dims.Atom, list[Node]] = {}
        for node in topological([*outputs, *sources.values()]):
            if isinstance(node.op, MaskPositions) and not computed_atoms(node.inputs):
                self._masks.setdefault(_count(node), []).append(node)
        # A Python function that tells its results' lengths is called once for both.
        self._calls: dict[Node, dict[dims.Atom, tuple[int, int]]] = {}
        for node in calls_in([*outputs, *sources.values()]):
            told = {} if computed_atoms(node.inputs) else lengths_of_results(node)
            if told and told.keys().isdisjoint(itertools.chain(*self._calls.values())):
                self._calls[node] = told
        known = {*self._masks, *itertools.chain(*self._calls.values())}
        self._scalars = {atom: source for atom, source in ready.items() if atom not in known}
        first = [*self._scalars.values(), *(nodes[0].inputs[0] for nodes in self._masks.values())]
        # What is sorted for the lengths and read behind them too is not sorted again.
        behind = _reached(outputs, {*self._scalars.values(), *itertools.chain(*self._masks.values())})
        self._sorted = [n for n in topological(first) if isinstance(n.op, ArgSort | Sort) and n in behind]
        first += [*self._sorted, *itertools.chain(*(node.inputs for node in self._calls))]
        self._fixed = {n for n in topological(first) if is_leaf(n)} <= set(data)
        given = [] if self._fixed else inputs
        self._first = staged(given, first, data, level=level, origins=origins, make=make)
        self._rests: OrderedDict[tuple[int, ...], Executable] = OrderedDict()
        self._lock = threading.Lock()

    def bind(self, values: Sequence[Array] = ()) -> Bound:
        """With lengths of data alone these are known now, otherwise in each call."""
        first = self._first.bind(values)
        if not self._fixed:
            return _StagedBound(self, first, values)
        rest, further = self.rest(first([]))
        return rest.bind([*values, *further])

    def rest(self, found: Sequence[Array]) -> tuple[Executable, list[Array]]:
        """The program behind the first stage; its last inputs or data: positions of true entries, sorted, results."""
        given = iter(found)
        numbers = [int(number) for number in itertools.islice(given, len(self._scalars))]
        positions = [np.flatnonzero(mask).astype("int64") for mask in itertools.islice(given, len(self._masks))]
        ordered = list(itertools.islice(given, len(self._sorted)))
        results, told = self._called(given)
        lengths = (*numbers, *map(len, positions), *told.values())
        with self._lock:
            known = self._rests.pop(lengths, None)
        known = self._compile(numbers, list(map(len, positions)), told) if known is None else known
        with self._lock:
            self._rests[lengths] = known
            while len(self._rests) > KEPT_LENGTHS:
                self._rests.popitem(last=False)
        return known, [*positions, *ordered, *results]

    def _called(self, operands: Iterator[Array]) -> tuple[list[Array], dict[dims.Atom, int]]:
        """Results of the calls that tell lengths, and these."""
        results: list[Array] = []
        lengths: dict[dims.Atom, int] = {}
        for node, places in self._calls.items():
            op = node.op
            assert isinstance(op, PythonCall)
            own = list(itertools.islice(operands, len(node.inputs)))
            values = results_of(op.function, own, [len(of.shape) for of in op.results])
            lengths.update((atom, np.shape(values[k])[axis]) for atom, (k, axis) in places.items())
            results += [
                checked(op, k, value, static_shape(of.shape, {**lengths}))
                for k, (value, of) in enumerate(zip(values, op.results, strict=True))
            ]
        return results, lengths

    def _compile(self, numbers: Sequence[int], counts: Sequence[int], told: dict[dims.Atom, int]) -> Executable:
        lengths: Lengths = {**told}
        known: dict[Node, Node] = {}
        for (atom, scalar), number in zip(self._scalars.items(), numbers, strict=True):
            bind_computed(atom, number, lengths)
            known[scalar] = constant(number, "int64")
        placed = [tensor_input("int64", (count,), "mask positions") for count in counts]
        for (atom, nodes), count, leaf in zip(self._masks.items(), counts, placed, strict=True):
            bind_computed(atom, count, lengths)
            known.update((node, leaf) for node in nodes)
        known.update((source_of(atom), constant(length, "int64")) for atom, length in told.items())
        results = [Node(Item(k), node) for node in self._calls for k in range(len(node.op.results))]  # type: ignore[attr-defined]  # PythonCall
        leaves = [
            tensor_input(node.dtype, static_shape(node.static_shape, lengths)) for node in (*self._sorted, *results)
        ]
        known.update(zip((*self._sorted, *results), leaves, strict=True))
        placed += leaves
        check_shape_constraints(required(self.outputs), lengths)
        with without_sources():
            static, memo = specialise([*self.outputs, *known], lengths)
            replaced = substitute(static[: len(self.outputs)], {memo[old]: new for old, new in known.items()})
        inputs, data = (self.inputs, [*self._data, *placed]) if self._fixed else ([*self.inputs, *placed], self._data)
        return staged(inputs, replaced, data, level=self._level, origins=self.origins, make=self._make)


def _reached(outputs: Sequence[Node], cut: set[Node]) -> set[Node]:
    """The nodes that outputs depend on other than through nodes of `cut`."""
    found: set[Node] = set()
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if node not in found and node not in cut:
            found.add(node)
            waiting += node.inputs
    return found


def _count(positions: Node) -> dims.Atom:
    """The number of true entries, as a length."""
    atom = dims.as_atom(positions.static_shape[0])
    assert atom is not None
    return atom


class _StagedBound(Callback):
    """A graph whose lengths depend on its inputs, with its data."""

    def __init__(self, staged: _Staged, first: Bound, values: Sequence[Array]) -> None:
        super().__init__(staged.inputs, staged.outputs, {})
        self._staged = staged
        self._first = first
        self._values = values
        self._latest: tuple[Executable, Bound] | None = None

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        rest, further = self._staged.rest(self._first(arrays))
        latest = self._latest
        if latest is None or latest[0] is not rest:
            latest = self._latest = (rest, rest.bind(self._values))
        return latest[1]([*arrays, *further])


def staged(
    inputs: Sequence[Node],
    outputs: Sequence[Node],
    data: Sequence[Node],
    *,
    level: int,
    origins: Sequence[Node],
    make: Make,
) -> Executable:
    """A static graph compiled by `make`, in several stages where lengths depend on values or Python is called."""
    if computed_atoms(outputs):
        return _Staged(inputs, outputs, data, level=level, origins=origins, make=make)
    if any(map(_unread, topological(outputs))) or calls_inside(outputs):
        return reference.compile(inputs, outputs, {}, data)
    if calls_in(outputs):
        parts = functools.partial(staged, level=level, origins=origins, make=make)
        return AroundPython(inputs, outputs, data, parts)
    return make(inputs, outputs, data, level=level, origins=origins)


class _Paired:
    """A graph with complex leaves or outputs: machine code sees their parts along a last axis of length 2."""

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        data: Sequence[Node],
        *,
        level: int,
        origins: Sequence[Node],
        make: Make,
    ) -> None:
        self.inputs, self.outputs = inputs, outputs
        paired: dict[Node, Node] = {}
        leaves = [_leaf_of_parts(leaf, paired) for leaf in (*inputs, *data)]
        results = [stack([real(o), imag(o)], o.ndim) if is_complex(o) else o for o in substitute(outputs, paired)]
        count = len(inputs)
        self._parts = staged(leaves[:count], results, leaves[count:], level=level, origins=origins, make=make)

    def bind(self, values: Sequence[Array] = ()) -> Bound:
        """With its data."""
        return _PairedBound(self, self._parts.bind(list(map(_parts, values))))


class _PairedBound(Callback):
    """A graph of complex numbers with its data: arrays are viewed as their parts, and parts as complex arrays."""

    def __init__(self, paired: _Paired, parts: Bound) -> None:
        super().__init__(paired.inputs, paired.outputs, {})
        self._parts = parts

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        found = self._parts(list(map(_parts, arrays)))
        return [
            array.view(numpy_dtype(output.dtype)).reshape(array.shape[:-1]) if is_complex(output) else array
            for array, output in zip(found, self._outputs, strict=True)
        ]


def _leaf_of_parts(leaf: Node, paired: dict[Node, Node]) -> Node:
    """A leaf itself, or the leaf of its parts; `paired` learns what takes its place."""
    if not is_complex(leaf):
        return leaf
    parts = tensor_input(part_of(leaf.dtype), (*leaf.static_shape, 2))
    paired[leaf] = apply("complex", parts[..., 0], parts[..., 1])
    return parts


def _parts(array: Array) -> Array:
    if array.dtype.kind != "c":
        return array
    return np.ascontiguousarray(array).view(array.real.dtype).reshape(*array.shape, 2)


def _unread(node: Node) -> bool:
    """Whether index arrays address nothing because other axes are empty: no loop would find them outside."""
    if not isinstance(node.op, Index | IndexUpdate):
        return False
    touched = [node] if isinstance(node.op, Index) else [node, node.inputs[1]]
    if all(value.tensor_type.size != 0 for value in touched):
        return False
    x, arrays = node.inputs[0], node.inputs[len(touched) :]
    axes = gathered_lengths(node.op, static(x.static_shape))
    return not all(proved_inside(a, n) or a.tensor_type.size == 0 for a, n in zip(arrays, axes, strict=True))


def compile(
    inputs: Sequence[Node],
    outputs: Sequence[Node],
    lengths: Lengths,
    data: Sequence[Node] = (),
    *,
    level: int = 2,
    make: Make = Compiled,
) -> Executable:
    """The graph as machine code (`registry.Compile`); `make` compiles each of its stages."""
    with without_sources():
        results, memo = specialise([*outputs, *inputs, *data], lengths)
        results = settled(results[: len(outputs)])
        if lengths:
            results = indices_at_known_lengths(results)
    leaves, bound = [memo[i] for i in inputs], [memo[d] for d in data]
    choice = choosing.get()
    if choice is not True:
        make = functools.partial(make, choice=choice)
    form = _Paired if any(map(is_complex, (*leaves, *bound, *results))) else staged
    return form(leaves, results, bound, level=level, origins=outputs, make=make)
