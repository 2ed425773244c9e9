"""Programs in writing: one line per node, types with symbolic lengths, regions indented below their first use.

Outputs in, text out; `parse` reads it back. Inputs, lengths and regions are numbered by first appearance, so
equal programs of different processes have equal text, but for the users' names.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import GraphError
from consilience.ir import dimension as dims
from consilience.ir.dimension import Atom, Dim, Dimension
from consilience.ir.leaves import Constant, Input, Parameter, Shared
from consilience.ir.lengths import computed_atoms, source_of
from consilience.ir.node import Node
from consilience.ir.op import Op
from consilience.ir.region import Region
from consilience.ir.side_tables import name_of
from consilience.ir.traversal import topological
from consilience.ir.types import TensorType, TupleType, Type
from consilience.record import Record, field_names

# Constants up to this many elements are written as numbers, larger ones as their bytes.
INLINE = 16
QUIET_NAN = {"float64": "7ff8000000000000", "float32": "7fc00000", "float16": "7e00"}


class Printer:
    """Numbers given so far, and the lines of the program."""

    def __init__(self, names: bool = True) -> None:
        self.names = names
        self.lengths: dict[Atom, int] = {}
        self.computed: dict[Node, list[Atom]] = {}
        self.regions: dict[Region, int] = {}
        self.lines: list[str] = []
        self.line_of: dict[Node, int] = {}

    def program(self, outputs: Sequence[Node], inputs: Sequence[Node]) -> None:
        """All lines but those of the lengths, which are known only afterwards."""
        computed = computed_atoms(outputs)
        for atom in computed:
            self.computed.setdefault(source_of(atom), []).append(atom)
        order = topological([*self.computed, *outputs])
        given = tuple(dict.fromkeys((*inputs, *(n for n in order if isinstance(n.op, Input)))))
        listed = set(given)
        self._block((*given, *(n for n in order if n not in listed)), outputs, "  ", given)

    def header(self) -> list[str]:
        """The first lines: the program's symbolic lengths."""
        return ["program", *(self._declared(a) for a in self.lengths if a.kind == "symbol")]

    def _declared(self, atom: Atom, value: str = "") -> str:
        kind = "length" if atom.kind == "symbol" else atom.kind
        return f"  {kind} n{self.lengths[atom]}{value}{self._quoted(atom.name)}"

    def _block(
        self, order: Iterable[Node], outputs: Sequence[Node], indent: str, inputs: Sequence[Node] | None
    ) -> None:
        numbers: dict[Node, int] = {}
        for node in order:
            numbers[node] = len(numbers)
            operands = "".join(f" %{numbers[i]}" for i in node.inputs)
            new: list[Region] = []
            self.line_of.setdefault(node, len(self.lines))
            self.lines.append(
                f"{indent}%{numbers[node]} = {self._operation(node, new)}{operands} : {self.type(node.type)}"
            )
            for region in new:
                types = "".join(f" {self.type(t)}" for t in region.parameters)
                self.lines.append(f"{indent}  region r{self.regions[region]}{types}")
                self._block(topological(region.results), region.results, indent + "    ", None)
            for atom in self.computed.get(node, ()) if inputs is not None else ():
                self.lengths[atom] = len(self.lengths)
                self.lines.append(self._declared(atom, f" = %{numbers[node]}"))
        if inputs is not None:
            self.lines.append(indent + " ".join(["inputs", *(f"%{numbers[i]}" for i in inputs)]))
        self.lines.append(indent + " ".join(["return", *(f"%{numbers[o]}" for o in outputs)]))

    def _operation(self, node: Node, new: list[Region]) -> str:
        op = node.op
        if isinstance(op, Input | Shared):
            return type(op).__name__.lower() + self._quoted(name_of(node))
        if isinstance(op, Parameter):
            return f"parameter {op.position}"
        if isinstance(op, Constant):
            return f"constant {constant_text(op.array)}"
        return self._plain(op, new)

    def _quoted(self, name: str | None) -> str:
        return f" {name!r}" if self.names and name is not None else ""

    def _plain(self, value: Any, new: list[Region]) -> str:
        """Static parameters: plain data and records of it."""
        if value is None or isinstance(value, bool | str | int):
            return repr(value)
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
        if isinstance(value, Dimension):
            return self.length(value)
        if isinstance(value, TensorType):
            return self.type(value)
        if isinstance(value, Region):
            if value not in self.regions:
                self.regions[value] = len(self.regions)
                new.append(value)
            return f"r{self.regions[value]}"
        if isinstance(value, tuple):
            parts = [self._plain(v, new) for v in value]
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        identity = getattr(value, "identity", None)
        if isinstance(identity, str):  # of a function of users, which text cannot hold
            return f"{type(value).__name__}({identity!r})"
        if isinstance(value, Record):
            parts = [f"{name}={self._plain(getattr(value, name), new)}" for name in field_names(value)]
            return f"{type(value).__name__}({', '.join(parts)})"
        kind = "op" if isinstance(value, Op) else "parameter"
        raise GraphError(f"the {kind} {value!r} is not plain data and cannot be written as text.")

    def type(self, of: Type) -> str:
        """A type in writing: `float64` for rank 0, else `float64[3, n0]`; tuples in parentheses."""
        if isinstance(of, TupleType):
            return f"({''.join(self.type(item) + ', ' for item in of.items).rstrip()})"
        return f"{of.dtype}[{', '.join(map(self.length, of.shape))}]" if of.shape else of.dtype

    def length(self, length: Dim) -> str:
        """A length in writing, the same whatever the order in which its symbols were made."""
        if not isinstance(length, Dimension):
            return str(length)
        for atom in sorted(dims.atoms(length), key=lambda a: a.serial):
            self.lengths.setdefault(atom, len(self.lengths))
        terms = []
        for monomial, coefficient in length.terms:
            factors = sorted(map(self._atom, monomial))
            terms.append((-len(factors), "*".join(factors), coefficient))
        return " + ".join(
            "*".join(filter(None, (str(c) if c != 1 or not factors else "", factors)))
            for _, factors, c in sorted(terms)
        )

    def _atom(self, atom: Atom) -> str:
        if atom.kind in dims.UNKNOWN:
            return f"n{self.lengths[atom]}"
        arguments = [self.length(a) for a in atom.arguments]
        if atom.kind == "floordiv":
            return f"(({arguments[0]}) // ({arguments[1]}))"
        return f"{atom.kind}({', '.join(arguments)})"


def constant_text(array: npt.NDArray[Any]) -> str:
    """The elements of a small real array as numbers that give the same bits, of others as base64."""
    if array.size <= INLINE and array.dtype.kind != "c":
        return "(" + ", ".join(_elements(array)) + ("," if array.size == 1 else "") + ")"
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return repr(base64.b64encode(little.tobytes()).decode("ascii"))


def _elements(array: npt.NDArray[Any]) -> Iterator[str]:
    for element in array.ravel():
        if array.dtype.kind == "f" and np.isnan(element):
            bits = np.array(element, array.dtype.newbyteorder(">")).tobytes().hex()
            yield "nan" if bits == QUIET_NAN[array.dtype.name] else f"nan(0x{bits})"
        else:
            yield repr(element.item())


def text(outputs: Sequence[Node], inputs: Sequence[Node] = ()) -> str:
    """The program that computes the outputs."""
    printer = Printer()
    printer.program(outputs, inputs)
    return "\n".join([*printer.header(), *printer.lines]) + "\n"
