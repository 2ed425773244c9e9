"""Read programs in the form that `text` writes.

Text in, inputs and outputs out. Static parameters are read as Python literals and constructors, never run.
"""

from __future__ import annotations

import ast
import base64
import binascii
import functools
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from consilience.errors import ConsilienceError, ParseError
from consilience.ir import dimension as dims
from consilience.ir.dimension import Dim
from consilience.ir.leaves import Parameter, constant, is_leaf, shared_slot, tensor_input
from consilience.ir.node import Node
from consilience.ir.op import Op
from consilience.ir.region import Region
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import without_sources
from consilience.ir.types import DTYPES, TensorType, TupleType, numpy_dtype
from consilience.record import Record

_NODE = re.compile(r"%(\d+) = (.*?)((?: %\d+)*) : (.+)")
_LENGTH = re.compile(r"length (n\d+)(?: (.+))?")
_COMPUTED = re.compile(r"(size|value) (n\d+) = (%\d+)(?: (.+))?")
_REGION = re.compile(r"region (r\d+)((?: [^ ].*)?)")
_BINARY: dict[type[ast.operator], Callable[[Dim, Dim], Dim]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: dims.multiply,
    ast.FloorDiv: dims.floordiv,
}

_LENGTHS: dict[str, Callable[..., Dim]] = {"max": dims.maximum, "min": dims.minimum, "slice": dims.slice_length}

# What ops raise that are made of other parts than they need, such as a number in the place of a region.
_OF_WRONG_PARTS = (
    ValueError, TypeError, IndexError, KeyError, AttributeError, RuntimeError, SyntaxError, binascii.Error,
)  # fmt: skip


class _Block:
    """A program or region being read."""

    def __init__(self, indent: int, name: str = "", parameters: tuple[TensorType, ...] = ()) -> None:
        self.indent = indent
        self.name = name
        self.parameters = parameters
        self.nodes: list[Node] = []
        self.inputs: list[Node] = []


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.number = 0
        self.lengths: dict[str, Dim] = {}
        self.regions: dict[str, Region] = {}
        # Ops that wait for the regions below their line.
        self.waiting: list[tuple[_Block, str, list[Node], str]] = []

    def run(self) -> tuple[list[Node], list[Node]]:
        """Inputs and outputs."""
        try:
            return self._read()
        except ParseError:
            raise
        except (ConsilienceError, *_OF_WRONG_PARTS) as error:
            raise self._error(str(error) or type(error).__name__) from None

    def _error(self, why: str) -> ParseError:
        line = self.lines[self.number - 1] if 0 < self.number <= len(self.lines) else ""
        return ParseError(f"line {self.number}: {why}\n  {line.strip()}")

    def _read(self) -> tuple[list[Node], list[Node]]:
        stack = [_Block(2)]
        for number, line in enumerate(self.lines, 1):
            self.number = number
            if not line.strip():
                continue
            if self.number == 1:
                if line != "program":
                    raise self._error("a program starts with the line `program`")
                continue
            words = line.strip()
            if words.startswith("length "):
                self._length(words)
            elif words.startswith(dims.COMPUTED):
                self._settle(stack[-1])
                self._computed_length(stack[-1], words)
            elif words.startswith("region "):
                found = _REGION.fullmatch(words)
                if found is None:
                    raise self._error("a region has the form `region r0 type type …`")
                types = tuple(self._tensor_type(t) for t in _split_types(found[2]))
                stack.append(_Block(len(line) - len(line.lstrip()) + 2, found[1], types))
            elif words.startswith("inputs"):
                self._settle(stack[-1])
                stack[-1].inputs = self._nodes(stack[-1], words.split()[1:])
                if not all(map(is_leaf, stack[-1].inputs)):
                    raise self._error("inputs are values without a computation, each an `input` or `shared` above")
            elif words.startswith("return"):
                self._settle(stack[-1])
                results = self._nodes(stack[-1], words.split()[1:])
                block = stack.pop()
                if not stack:
                    return block.inputs, results
                self.regions[block.name] = Region(block.parameters, tuple(results))
            else:
                self._settle(stack[-1])
                self._node(stack[-1], words)
        raise self._error("the program ends without `return`")

    def _settle(self, block: _Block) -> None:
        """Build the op of this block that waited for its regions."""
        while self.waiting and self.waiting[-1][0] is block:
            _, operation, operands, declared = self.waiting.pop()
            self._add(block, self._build(operation, operands), declared)

    def _length(self, words: str) -> None:
        found = _LENGTH.fullmatch(words)
        if found is None:
            raise self._error("a length has the form `length n0 'name'`")
        name = ast.literal_eval(found[2]) if found[2] else found[1]
        self.lengths[found[1]] = dims.symbol(str(name))

    def _computed_length(self, block: _Block, words: str) -> None:
        found = _COMPUTED.fullmatch(words)
        if found is None:
            raise self._error("a computed length has the form `size n0 = %0 'name'`")
        (source,) = self._nodes(block, [found[3]])
        if source.type != TensorType("int64"):
            raise self._error(f"a length is an int64 scalar, not {source.type!r}")
        name = ast.literal_eval(found[4]) if found[4] else found[2]
        self.lengths[found[2]] = dims.computed(source, str(name), non_negative=found[1] == "size")

    def _nodes(self, block: _Block, words: Sequence[str]) -> list[Node]:
        found = []
        for word in words:
            number = int(word.removeprefix("%"))
            if not word.startswith("%") or not 0 <= number < len(block.nodes):
                raise self._error(f"{word} is not defined above")
            found.append(block.nodes[number])
        return found

    def _node(self, block: _Block, words: str) -> None:
        found = _NODE.fullmatch(words)
        if found is None:
            raise self._error("a node has the form `%0 = operation %1 … : type`")
        if int(found[1]) != len(block.nodes):
            raise self._error(f"the next node is %{len(block.nodes)}")
        operation, declared = found[2], found[4]
        operands = self._nodes(block, found[3].split())
        if self._awaits_region(operation):
            self.waiting.append((block, operation, operands, declared))
        else:
            leaf = self._leaf(operation, declared)
            self._add(block, self._build(operation, operands) if leaf is None else leaf, declared)

    def _awaits_region(self, operation: str) -> bool:
        if not re.search(r"\br\d+\b", operation):
            return False
        used = {
            n.id for n in ast.walk(_expression(operation)) if isinstance(n, ast.Name) and re.fullmatch(r"r\d+", n.id)
        }
        return not used <= set(self.regions)

    def _add(self, block: _Block, node: Node, declared: str) -> None:
        wanted = self._type(declared)
        if node.type != wanted:
            raise self._error(f"the type is {node.type!r}, written is {declared}")
        block.nodes.append(node)

    def _leaf(self, operation: str, declared: str) -> Node | None:
        """An input, slot, parameter or constant; None for anything else."""
        word, _, rest = operation.partition(" ")
        if word in ("input", "shared"):
            of = self._tensor_type(declared)
            make = tensor_input if word == "input" else shared_slot
            return make(of.dtype, of.shape, str(ast.literal_eval(rest)) if rest else None)
        if word == "parameter":
            return Node(Parameter(int(rest), self._tensor_type(declared)))
        if word == "constant":
            of = self._tensor_type(declared)
            return constant(self._array(rest, of), of.dtype)
        return None

    def _array(self, written: str, of: TensorType) -> np.ndarray[Any, np.dtype[Any]]:
        dtype = numpy_dtype(of.dtype)
        shape = tuple(int(n) for n in of.shape)
        tree = _tree(written)
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
            raw = base64.b64decode(tree.value, validate=True)
            return np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
        if not isinstance(tree, ast.Tuple):
            raise self._error("a constant is a tuple of numbers or base64 text")
        array = np.empty(len(tree.elts), dtype)
        for i, element in enumerate(tree.elts):
            bits = _nan_bits(element, dtype.itemsize)
            if bits is None:
                array[i] = _number(element)
            else:
                array[i : i + 1] = np.frombuffer(bits, dtype.newbyteorder(">")).astype(dtype)
        return array.reshape(shape)

    def _build(self, operation: str, operands: Sequence[Node]) -> Node:
        op = self._value(_expression(operation))
        if not isinstance(op, Op):
            raise self._error(f"`{operation}` is no op; known are {', '.join(sorted(Op.classes))}")
        return Node(op, *operands)

    def _type(self, written: str) -> TensorType | TupleType:
        found = self._value(_expression(written))
        if isinstance(found, tuple) and all(isinstance(item, TensorType) for item in found):
            return TupleType(found)
        if not isinstance(found, TensorType):
            raise self._error(f"`{written}` is no type")
        return found

    def _tensor_type(self, written: str) -> TensorType:
        found = self._type(written)
        if not isinstance(found, TensorType):
            raise self._error(f"`{written}` is a tuple, one tensor was needed")
        return found

    def _value(self, tree: ast.expr) -> Any:
        """Static parameters: literals, lengths, types, regions, constructors of records."""
        if isinstance(tree, ast.Constant):
            return tree.value
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            return -self._value(tree.operand)
        if isinstance(tree, ast.Tuple):
            return tuple(self._value(e) for e in tree.elts)
        if isinstance(tree, ast.BinOp) and type(tree.op) in _BINARY:
            return _BINARY[type(tree.op)](self._value(tree.left), self._value(tree.right))
        if isinstance(tree, ast.Name):
            return self._name(tree.id)
        if isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Name):
            of = self._name(tree.value.id)
            index = self._value(tree.slice)
            if isinstance(of, TensorType):
                return TensorType(of.dtype, index if isinstance(index, tuple) else (index,))
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            return self._call(tree.func.id, tree)
        raise self._error(f"`{ast.unparse(tree)}` has no meaning here")

    def _name(self, name: str) -> Any:
        if name in DTYPES:
            return TensorType(name)
        found = self.lengths.get(name) or self.regions.get(name)
        if found is None:
            raise self._error(f"`{name}` is not defined")
        return found

    def _call(self, name: str, tree: ast.Call) -> Any:
        arguments = [self._value(a) for a in tree.args]
        if name in _LENGTHS:
            return _LENGTHS[name](*arguments)
        if name == "float" and len(arguments) == 1:
            return float(arguments[0])
        constructor = Op.classes.get(name) or _parameter_classes().get(name)
        if constructor is None:
            raise self._error(f"there is no op or parameter `{name}`")
        return constructor(*arguments, **{str(k.arg): self._value(k.value) for k in tree.keywords})


def _tree(written: str) -> ast.expr:
    return ast.parse(written.strip(), mode="eval").body


_expression = functools.lru_cache(maxsize=1024)(_tree)


def _parameter_classes() -> dict[str, type[Any]]:
    """Records beside the ops, such as the entries of an index, by name."""
    modules = {op.__module__ for op in Op.classes.values()} | {ShapeConstraint.__module__}
    return _classes_in(frozenset(modules))


@functools.lru_cache(maxsize=8)
def _classes_in(modules: frozenset[str]) -> dict[str, type[Any]]:
    found: dict[str, type[Any]] = {}
    for name in sorted(modules):
        for value in vars(sys.modules[name]).values():
            if isinstance(value, type) and issubclass(value, Record) and value.__module__ == name:
                found.setdefault(value.__name__, value)
    return found


def _split_types(written: str) -> list[str]:
    """Types one after the other: blanks inside brackets do not separate."""
    return re.findall(r"\w+(?:\[[^\]]*\])?", written)


def _nan_bits(tree: ast.expr, size: int) -> bytes | None:
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "nan":
        (bits,) = tree.args
        written = ast.unparse(bits)
        return int(written, 0).to_bytes(size, "big")
    return None


def _number(tree: ast.expr) -> float | int | bool:
    if isinstance(tree, ast.Name) and tree.id in ("nan", "inf"):
        return float(tree.id)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_number(tree.operand)
    if isinstance(tree, ast.Constant) and isinstance(tree.value, float | int):
        return tree.value
    raise ValueError(f"`{ast.unparse(tree)}` is no number")


def parse(text: str) -> tuple[list[Node], list[Node]]:
    """Inputs and outputs of a program in the form that `text` writes."""
    with without_sources():
        return _Reader(text).run()
