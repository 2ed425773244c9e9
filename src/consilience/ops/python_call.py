"""Functions of NumPy arrays as ops: results of declared types, computed by Python.

A callable with its types in, nodes out. Backends call it with the interpreter's lock; it must be pure, since equal
calls are one. Lengths that nobody knows before the call are computed lengths, whose source is the call itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import threading
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.errors import DtypeError, ShapeError
from consilience.ir import Dim, Node, Op, TensorType, TupleType, Type, computed_atoms, numpy_dtype, with_lengths
from consilience.ir import dimension as dims
from consilience.ir.shape_constraints import collect
from consilience.ops.control import Item
from consilience.record import Record

Array = npt.NDArray[Any]

# Functions that were not written for threads share it: they may keep what they computed last, or fill one buffer again.
ONE_AT_A_TIME: Final = threading.RLock()


class NativeCall(Record):
    """How machine code makes a call itself: a C function that gives an int, 0 for success.

    `address`: where it starts; it is called from several threads at once. `arguments`: in their order: "operand 0",
    "result 1" (pointers to float64 in row-major order, by position), an integer (an int of C), or a tuple of one
    integer (a pointer).
    """

    address: int
    arguments: tuple[str | int | tuple[int], ...]


class PythonFunction(Record):
    """A callable of arrays; those with equal callables are equal.

    `function`: of one array per operand; gives one array, or a list or tuple of them.
    `name`: for messages.
    `gradient`: of the operands and of one cotangent per result; gives one cotangent per operand, None for zeros.
    `native`: the same as machine code, where there is such: Python is not asked then.
    `slopes`: whether the function gives a number and, as second result, its derivative by the only operand.
    `pullback`: in place of `gradient`: of the operands, the results, a cotangent per result and which operands are
        asked for, all of them expressions; gives an expression per operand, None for zeros.
    `alone`: whether calls from several threads wait for each other.
    """

    function: Callable[..., Any]
    name: str
    gradient: Callable[..., Any] | None = None
    native: NativeCall | None = None
    slopes: bool = False
    pullback: Callable[..., Sequence[Node | None]] | None = None
    alone: bool = False

    def __hash__(self) -> int:
        return hash(self.name)  # a callable may have no hash

    @property
    def identity(self) -> str:
        """A description that is the same in every process: its name, and its code where Python knows that."""
        return f"{self.name} {identity_of(self.function)}".rstrip()


class PythonCall(Op):
    """Results of a function of arrays, of the types in `results`."""

    function: PythonFunction
    results: tuple[TensorType, ...]

    def result_type(self, *inputs: Node) -> Type:
        return TupleType(self.results)

    def __repr__(self) -> str:
        return f"python({self.function.name})"


def identity_of(function: Callable[..., Any]) -> str:
    """A description of a callable that is the same in every process."""
    own = inspect.unwrap(function)
    code = getattr(own, "__code__", None)
    known = "" if code is None else hashlib.sha256(repr(_plain(code)).encode()).hexdigest()
    return " ".join(filter(None, (getattr(own, "__qualname__", ""), known[:16], getattr(own, "identity", ""))))


def _plain(constant: Any) -> Any:
    """A constant of a function without what differs between processes: addresses of code, the order of sets."""
    if isinstance(constant, CodeType):
        return constant.co_code, constant.co_names, _plain(constant.co_consts)
    if isinstance(constant, tuple):
        return [_plain(each) for each in constant]
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant


class ResultLengths(Record):
    """The function that gives lengths of another one's results.

    `ranks`: numbers of axes of its results. `places`: pairs of a result and an axis.
    """

    of: PythonFunction
    ranks: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    @property
    def identity(self) -> str:
        """As that of a `PythonFunction`."""
        return f"{self.places} {self.of.identity}"

    def __call__(self, *arrays: Array) -> list[int]:
        results = results_of(self.of, arrays, self.ranks)
        return [np.shape(results[k])[axis] for k, axis in self.places]


def call(of: PythonFunction, types: Sequence[tuple[str, Sequence[Dim | None]]], *operands: Node) -> list[Node]:
    """Results of a function of arrays, as expressions.

    `types`: dtype and shape of each; a length None is that of the array which the function gives.
    """
    places = tuple((k, axis) for k, (_, shape) in enumerate(types) for axis, n in enumerate(shape) if n is None)
    found: dict[tuple[int, int], Dim] = {}
    if places:
        lengths = PythonFunction(
            ResultLengths(of, tuple(len(shape) for _, shape in types), places), of.name, alone=of.alone
        )
        before = Node(PythonCall(lengths, (TensorType("int64", ()),) * len(places)), *operands)
        for i, (k, axis) in enumerate(places):
            title = f"{of.name}(…)" if len(types) == 1 else f"{of.name}(…)[{k}]"
            found[k, axis] = dims.computed(Node(Item(i), before), f"{title}.shape[{axis}]", non_negative=True)
    results = tuple(
        TensorType(dtype, tuple(found[k, axis] if n is None else n for axis, n in enumerate(shape)))
        for k, (dtype, shape) in enumerate(types)
    )
    node = Node(PythonCall(of, results), *operands)
    return [Node(Item(k), node) for k in range(len(results))]


def given_by_python(source: object) -> bool:
    """Whether the source of a computed length is what a Python function gives."""
    return isinstance(source, Node) and isinstance(source.op, Item) and isinstance(source.inputs[0].op, PythonCall)


def settled(outputs: Sequence[Node], further: Iterable[tuple[Dim, Dim]] = ()) -> list[Node]:
    """The graph with known lengths for those of functions' results, where it needs them to be equal: calls check it.

    `further`: pairs of lengths that must be equal, beside those that the graph itself asks for. Raises ShapeError where
    two different ones are needed.
    """
    values: dict[dims.Atom, Dim] = {}
    pairs = [*further, *((m.left, m.right) for m in collect(outputs))] if computed_atoms(outputs) else []
    for left, right in pairs:
        for one, other in ((left, right), (right, left)):
            atom = dims.as_atom(one)
            if atom is None or not given_by_python(atom.source) or dims.is_computed(other):
                continue
            known = values.setdefault(atom, other)
            if known != other and isinstance(known, int) and isinstance(other, int):
                raise ShapeError(f"`{atom.name}` would have to be {known} and {other} at once.")
    return with_lengths(outputs, values, frozenset()) if values else list(outputs)


def lengths_of_results(node: Node) -> dict[dims.Atom, tuple[int, int]]:
    """For a call: computed lengths that its own results tell, with the result and the axis; empty if it has others."""
    op = node.op
    assert isinstance(op, PythonCall)
    found: dict[dims.Atom, tuple[int, int]] = {}
    for k, of in enumerate(op.results):
        for axis, length in enumerate(of.shape):
            atom = dims.as_atom(length)
            if atom is not None and given_by_python(atom.source):
                found[atom] = (k, axis)
            elif dims.is_computed(length):
                return {}
    return found


def common_length(lengths: Node) -> Node:
    """The length that all positions of a batch have, from an int64 tensor; 0 for an empty batch."""
    return call(PythonFunction(_common, "the length of every batch position"), [("int64", ())], lengths)[0]


def _common(lengths: Array) -> int:
    found = np.unique(lengths)
    if found.size > 1:
        raise ShapeError(
            f"a Python function gave arrays of different lengths at different batch positions: {found[0]} and "
            f"{found[-1]}."
        )
    return int(found[0]) if found.size else 0


def results_of(of: PythonFunction, operands: Sequence[Array], ranks: Sequence[int]) -> list[Any]:
    """What the function gives for read-only copies of the operands; ShapeError for another number or rank of results.

    `ranks`: numbers of axes of the results.
    """
    given = [np.array(a) for a in operands]
    for array in given:
        array.setflags(write=False)
    with ONE_AT_A_TIME if of.alone else contextlib.nullcontext():
        found = of.function(*given)
        listed = list(found) if isinstance(found, list | tuple) else [found]
        if of.alone:  # before another thread may fill the same buffer
            listed = [np.array(value) for value in listed]
    if len(listed) != len(ranks):
        raise ShapeError(f"{_title(of)} declared {len(ranks)} results and gave {len(listed)}.")
    for k, (value, rank) in enumerate(zip(listed, ranks, strict=True)):
        if np.ndim(value) != rank:
            raise ShapeError(
                f"{_title(of)} gave an array of shape {np.shape(value)} (result {k}), but declared {rank} axes."
            )
    return listed


def called(op: PythonCall, operands: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """The arrays that the function gives, checked.

    `operands`: read-only copies are passed on. `shapes`: of the results; a function is not asked for results without
    elements. Raises ShapeError: and. Raises DtypeError where the function gives another number, shape or kind of arrays
    than declared.
    """
    if all(0 in shape for shape in shapes):
        return [np.zeros(shape, numpy_dtype(of.dtype)) for of, shape in zip(op.results, shapes, strict=True)]
    listed = results_of(op.function, operands, [len(shape) for shape in shapes])
    return [checked(op, k, value, shape) for k, (value, shape) in enumerate(zip(listed, shapes, strict=True))]


def checked(op: PythonCall, position: int, value: Any, shape: tuple[int, ...]) -> Array:
    """One result as an array of the declared dtype; the errors of `called`."""
    array, of = np.asarray(value), op.results[position]
    wanted = numpy_dtype(of.dtype)
    if array.shape != shape:
        raise ShapeError(
            f"{_title(op.function)} gave an array of shape {array.shape} (result {position}), where {shape} was "
            "declared or is needed."
        )
    if not np.can_cast(array.dtype, wanted, "same_kind"):
        raise DtypeError(f"{_title(op.function)} gave {array.dtype} (result {position}), but declared {of.dtype}.")
    return np.asarray(array, wanted)


def _title(of: PythonFunction) -> str:
    return f"the Python function `{of.name}`"
