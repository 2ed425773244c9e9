"""Expressions in pickles: graphs are rebuilt from their leaves, so what is equal is one node again.

A node in, what pickle keeps of it out. Inputs and shared variables become fresh ones, the same within one pickle;
shared variables bring their value of the default context along. Names and source lines are kept.
"""

from __future__ import annotations

import io
import pickle
import weakref
from collections.abc import Sequence
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any, Final, TypeVar

from consilience.backends.contexts import DEFAULT
from consilience.ir import Node, Op, Shared, topological
from consilience.ir.arithmetic import means
from consilience.ir.side_tables import marks_of, restore_marks, without_sources

# Graphs up to this depth are pickled node by node, so that several pickled together share what they have in common.
# Deeper ones are written as a list down to the next multiple of it: pickle's recursion is limited.
SHALLOW: Final = 60
LEVELS: Final = 100

T = TypeVar("T")

_depths: weakref.WeakKeyDictionary[Node, int] = weakref.WeakKeyDictionary()


@means("reduce")
def reduced(node: Node) -> tuple[Any, ...]:
    """What `Node.__reduce__` gives."""
    depth = _depth(node)
    if depth <= SHALLOW:
        return _one, (node.op, node.inputs, *_kept(node))
    floor = (depth - 1) // SHALLOW * SHALLOW if depth <= LEVELS * SHALLOW else depth // 2
    order = topological([node], stop=lambda n: _depth(n) <= floor)
    places = {n: place for place, n in enumerate(order)}
    entries = tuple(n if _depth(n) <= floor else (n.op, tuple(places[i] for i in n.inputs), *_kept(n)) for n in order)
    return _last, (entries,)


def _depth(node: Node) -> int:
    """Number of nodes on the longest path to a leaf."""
    if node not in _depths:
        for each in topological([node], stop=_depths.__contains__):
            if each not in _depths:
                _depths[each] = 1 + max((_depths[i] for i in each.inputs), default=0)
    return _depths[node]


def _kept(node: Node) -> tuple[Any, Any]:
    """Names and source lines, and the value of a shared variable."""
    return marks_of(node), DEFAULT.value_or_none(node) if isinstance(node.op, Shared) else None


def _one(op: Op, inputs: Sequence[Node], marks: Any, value: Any) -> Node:
    with without_sources():
        node = Node(op, *inputs)
    restore_marks(node, marks)
    if value is not None:
        DEFAULT.set(node, value)
    return node


def _last(entries: Sequence[Any]) -> Node:
    nodes: list[Node] = []
    for entry in entries:
        if isinstance(entry, Node):
            nodes.append(entry)
        else:
            op, places, marks, value = entry
            nodes.append(_one(op, [nodes[i] for i in places], marks, value))
    return nodes[-1]


class _Verbatim:
    """Something that a copy takes as it is."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing


class _Copier(pickle.Pickler):
    """A pickler that leaves functions, classes and modules what they are, but for functions that enclose nodes."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.kept: list[Any] = []

    def persistent_id(self, thing: Any) -> int | None:
        function = isinstance(thing, FunctionType) and not any(map(_holds_node, thing.__closure__ or ()))
        if not function and not isinstance(thing, BuiltinFunctionType | ModuleType | _Verbatim | type):
            return None
        self.kept.append(thing.thing if isinstance(thing, _Verbatim) else thing)
        return len(self.kept) - 1

    def reducer_override(self, thing: Any) -> Any:
        if not isinstance(thing, FunctionType):
            return NotImplemented
        enclosed = [cell.cell_contents if _holds_node(cell) else _Verbatim(cell) for cell in thing.__closure__ or ()]
        return _enclosing, (_Verbatim(thing), enclosed)


def _holds_node(cell: CellType) -> bool:
    try:
        return isinstance(cell.cell_contents, Node)
    except ValueError:  # a cell that is not filled yet
        return False


def _enclosing(function: FunctionType, enclosed: Sequence[Any]) -> FunctionType:
    """The function with other nodes enclosed."""
    cells = tuple(CellType(each) if isinstance(each, Node) else each for each in enclosed)
    made = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


class _Pasting(pickle.Unpickler):
    """Reads what a `_Copier` wrote."""

    def __init__(self, file: io.BytesIO, kept: Sequence[Any]) -> None:
        super().__init__(file)
        self._kept = kept

    def persistent_load(self, number: Any) -> Any:
        return self._kept[number]


def duplicate(value: T) -> T:
    """A copy that shares nothing that can change: its shared variables are others, with the same values."""
    file = io.BytesIO()
    copier = _Copier(file)
    copier.dump(value)
    file.seek(0)
    copy: T = _Pasting(file, copier.kept).load()
    return copy
