"""The machine-code backend: specialise, expand, lower, emit, load.

A graph and the values of its lengths in, an executable over arrays out. `Compiled` also hands out the bare
entry address for native callers.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import threading
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends import reference
from consilience.backends.shapes import Lengths, check_sizes, sizes_of
from consilience.errors import ExecutionError, LinearAlgebraError, MemoryShortage, OutOfBoundsError, Status
from consilience.ir import (
    Node,
    TensorType,
    constant,
    is_leaf,
    numpy_dtype,
    rebuild,
    substitute,
    tensor_input,
    topological,
)
from consilience.ir import dimension as dims
from consilience.ir.side_tables import describe, without_sources
from consilience.lower import entry
from consilience.lower.expand import expand
from consilience.lower.prepare import prepare
from consilience.lower.program import lower
from consilience.lower.sharing import share_exponentials
from consilience.lower.specialise import specialise
from consilience.lower.views import static
from consilience.native import jit, target
from consilience.native.batch import run_batch
from consilience.native.emit import emit
from consilience.ops import Elementwise, MaskPositions, apply
from consilience.ops.complex_numbers import imag, real
from consilience.ops.dtypes import part_of
from consilience.ops.scalar import DRAWS
from consilience.ops.shape import stack
from consilience.transforms.complex_pairs import is_complex

Array: TypeAlias = npt.NDArray[Any]

# Constant subgraphs up to this many elements are computed once, at compile time.
FOLD_LIMIT = 5_000_000
ALIGNMENT = 64
# Specialisations kept per mask: one per number of true entries seen lately.
KEPT_COUNTS = 16


class Compiled:
    """Machine code of one program over static shapes.

    inputs    leaves in the order of the inputs table
    outputs   static expressions
    data      leaves whose values are bound before calls (`bind`); what depends on them alone is computed then

    address     of `i64 entry(ptr inputs, ptr outputs, ptr workspace, ptr constants)`
    workspace   bytes of scratch a call needs, 64-byte aligned, one block per thread
    """

    def __init__(
        self, inputs: Sequence[Node], outputs: Sequence[Node], data: Sequence[Node] = (), *, level: int = 2
    ) -> None:
        self._data = list(data)
        check_sizes(sizes_of(topological(outputs)), {})
        with without_sources():
            primitive = fold(share_exponentials(expand(outputs)))
            cut, leaves, self._prepared = prepare(primitive, self._data)
            program = lower(inputs, cut, leaves)
        host = target.host()
        code = entry.write(program, host)
        self.workspace = code.workspace + ALIGNMENT
        self.library = jit.load(emit(code.module, host), [code.entry], level=level)
        self.address = self.library.address(code.entry)
        self._arrays = [aligned(array) if array.size > 1 else array for array in program.constants]
        self.outputs = [(static(o.static_shape), numpy_dtype(o.dtype)) for o in program.outputs]

    def bind(self, values: Sequence[Array] = ()) -> Bound:
        """The code with a table of constants, for given values of the data leaves."""
        prepared: list[Array] = []
        if self._prepared:
            prepared = reference.evaluate(self._prepared, dict(zip(self._data, values, strict=True)))
        return Bound(self, [*(aligned(a) for a in prepared), *self._arrays])


class Bound:
    """Machine code with its data: what a native caller needs. Keeps code and arrays alive."""

    def __init__(self, compiled: Compiled, arrays: Sequence[Array]) -> None:
        self.compiled = compiled
        self._arrays = arrays
        self._table = np.array([a.ctypes.data for a in arrays] or [0], np.uint64)
        self.entry = compiled.address
        self.constants: int = self._table.ctypes.data
        self.workspace = compiled.workspace

    def map(self, inputs: Sequence[tuple[Array, bool]], count: int) -> tuple[list[Array], int]:
        """Values of the outputs for many draws, computed in one native loop.

        inputs    per input an array, and whether its first axis counts draws (else it is the same for all)
        returns   arrays with a leading axis of `count`, and the statuses of all calls combined
        """
        kept = [(np.ascontiguousarray(a), per_draw) for a, per_draw in inputs]
        ins = [(a.ctypes.data, a.nbytes // max(1, count) if per_draw else 0) for a, per_draw in kept]
        results = [np.empty((count, *shape), dtype) for shape, dtype in self.compiled.outputs]
        outs = [(r.ctypes.data, r.nbytes // max(1, count)) for r in results]
        scratch = workspace_address(self.workspace)
        return results, run_batch(self.entry, self.constants, scratch, count, ins, outs)


def aligned(array: Array) -> Array:
    """A contiguous copy of an array that starts on a cache line; bools as bytes."""
    raw = np.empty(array.nbytes + 2 * ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    copy = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def fold(outputs: Sequence[Node]) -> list[Node]:
    """Evaluate constant subgraphs, such as the transpose of a constant matrix.

    Random draws stay in the program, and so does what fails: the failure belongs to the call.
    """
    memo: dict[Node, Node] = {}
    known: dict[Node, bool] = {}
    for node in topological(outputs):
        rebuilt = memo[node] = rebuild(node, tuple(memo[i] for i in node.inputs))
        known[node] = _foldable(node) and all(known[i] for i in node.inputs)
        if known[node] and node.inputs and _worth_folding(node):
            try:
                memo[node] = constant(reference.evaluate([rebuilt], {})[0], node.dtype)
            except ExecutionError:
                known[node] = False
    return [memo[output] for output in outputs]


def _foldable(node: Node) -> bool:
    """Whether a node has a value that is the same in every call and cheap for the reference backend."""
    if is_leaf(node) or isinstance(node.op, MaskPositions):
        return False
    return not (isinstance(node.op, Elementwise) and node.op.function in (*DRAWS, "fold_in"))


def _worth_folding(node: Node) -> bool:
    if not isinstance(node.type, TensorType) or node.dtype == "key":
        return False
    size = node.tensor_type.size
    return isinstance(size, int) and size <= max(64, *(_size(i) for i in node.inputs)) and size <= FOLD_LIMIT


def _size(node: Node) -> int:
    size = node.tensor_type.size if isinstance(node.type, TensorType) else 0
    return size if isinstance(size, int) else 0


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


class _Call:
    """An executable: arrays in, fresh arrays out."""

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node], origins: Sequence[Node]) -> None:
        self._compiled = Compiled(inputs, outputs)
        self._bound = self._compiled.bind()
        self._shapes = [tuple(int(n) for n in o.static_shape) for o in outputs]
        self._dtypes = [numpy_dtype(o.dtype) for o in outputs]
        self._origins = origins
        pointer = ctypes.c_void_p
        self._entry = self._compiled.library.function("entry", ctypes.c_int64, pointer, pointer, pointer, pointer)
        self._inputs = pointer * max(1, len(inputs))
        self._outputs = pointer * max(1, len(outputs))

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        given = [np.require(a, requirements=("C", "A")) for a in arrays]
        results = [allocated(s, d) for s, d in zip(self._shapes, self._dtypes, strict=True)]
        ins = self._inputs(*[a.ctypes.data for a in given])
        outs = self._outputs(*[r.ctypes.data for r in results])
        scratch = workspace_address(self._bound.workspace)
        status = self._entry(ins, outs, scratch, self._bound.constants)
        if status:
            self._explain(status)
        return results

    def _explain(self, status: int) -> None:
        """What machine code knows of a failure; `function` finds the place."""
        where = ", ".join(describe(o) for o in self._origins[:3])
        if status & Status.OUT_OF_BOUNDS:
            raise OutOfBoundsError(f"an index lies outside its axis in the computation of {where}.")
        raise LinearAlgebraError(f"a matrix is singular or not positive definite in the computation of {where}.")


class _Staged:
    """A graph with masks: the number of true entries is learnt first, then the rest is compiled for it."""

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node], origins: Sequence[Node]) -> None:
        self._inputs = list(inputs)
        self._outputs = list(outputs)
        self._origins = origins
        order = topological(outputs)
        self._positions = next(n for n in order if isinstance(n.op, MaskPositions))
        (mask,) = self._positions.inputs
        self._mask = _executable(self._inputs, [mask], origins)
        self._rests: dict[int, Any] = {}

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        (mask,) = self._mask(arrays)
        positions = np.flatnonzero(mask).astype("int64")
        rest = self._rests.get(len(positions))
        if rest is None:
            rest = self._rests[len(positions)] = self._compile(len(positions))
            for count in list(self._rests)[:-KEPT_COUNTS]:
                self._rests.pop(count, None)
        return rest([*arrays, positions])

    def _compile(self, count: int) -> Call:
        known = tensor_input("int64", (count,), "mask positions")
        atom = dims.as_symbol(self._positions.static_shape[0])
        assert atom is not None
        # The positions become an input of known length; the symbol of their number becomes that number.
        placeholder = tensor_input("int64", (self._positions.static_shape[0],), "mask positions")
        open_outputs = substitute(self._outputs, {self._positions: placeholder})
        outputs, memo = specialise(open_outputs, {atom: count})
        replaced = substitute(outputs, {memo[placeholder]: known} if placeholder in memo else {})
        return _executable([*self._inputs, known], replaced, self._origins)


class _Paired:
    """A graph with complex inputs or outputs: machine code sees their parts along a last axis of length 2."""

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node], origins: Sequence[Node]) -> None:
        self._complex = [o.dtype if is_complex(o) else "" for o in outputs]
        paired: dict[Node, Node] = {}
        leaves = []
        for leaf in inputs:
            if is_complex(leaf):
                parts = tensor_input(part_of(leaf.dtype), (*leaf.static_shape, 2))
                paired[leaf] = apply("complex", parts[..., 0], parts[..., 1])
                leaf = parts
            leaves.append(leaf)
        replaced = substitute(outputs, paired)
        results = [stack([real(o), imag(o)], o.ndim) if is_complex(o) else o for o in replaced]
        self._call = _executable(leaves, results, origins)

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        found = self._call([_parts(a) if a.dtype.kind == "c" else a for a in arrays])
        return [
            a.view(dtype).reshape(a.shape[:-1]) if dtype else a for a, dtype in zip(found, self._complex, strict=True)
        ]


def _parts(array: Array) -> Array:
    return np.ascontiguousarray(array).view(array.real.dtype).reshape(*array.shape, 2)


Call: TypeAlias = _Call | _Staged | _Paired


def _executable(inputs: Sequence[Node], outputs: Sequence[Node], origins: Sequence[Node]) -> Call:
    staged = any(isinstance(n.op, MaskPositions) for n in topological(outputs))
    return (_Staged if staged else _Call)(inputs, outputs, origins)


def specialised(inputs: Sequence[Node], outputs: Sequence[Node], lengths: Lengths) -> tuple[list[Node], list[Node]]:
    """Inputs and outputs at fixed lengths."""
    with without_sources():
        results, memo = specialise([*outputs, *inputs], lengths)
    return [memo[i] for i in inputs], results[: len(outputs)]


def compile(inputs: Sequence[Node], outputs: Sequence[Node], lengths: Lengths) -> Call:
    """The graph as a callable of arrays."""
    leaves, results = specialised(inputs, outputs, lengths)
    if any(map(is_complex, (*leaves, *results))):
        return _Paired(leaves, results, outputs)
    return _executable(leaves, results, outputs)
