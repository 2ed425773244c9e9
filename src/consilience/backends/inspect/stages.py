"""The machine code of a function taken apart: its stages, with programs and texts that running does not need.

A function's graph and the values of a call in; the loop programs as Python, as LLVM text, and their timed forms out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from consilience.backends.llvm import Array, Compiled, compile
from consilience.backends.registry import Bound
from consilience.backends.shapes import Lengths
from consilience.ir import Node
from consilience.ir.side_tables import carrying_marks, name_of
from consilience.lower import entry
from consilience.lower.steps import Program
from consilience.native.emit import emit
from consilience.native.loops_python import python_text
from consilience.native.target import Target
from consilience.record import replace


class Stage(Compiled):
    """One program with what it was made of; most functions have one, those with computed lengths two or more.

    `program`: its steps. `target`: the machine it is written for.
    """

    program: Program
    target: Target

    def _written(self, program: Program, host: Target) -> entry.Code:
        self.program, self.target = program, host
        return super()._written(program, host)

    def python(self) -> str:
        """Its loops as Python, one element at a time."""
        program = self.program
        scalar = entry.write(program, replace(self.target, lanes=1))
        tables = {
            "inputs": _names(program.inputs, "input"),
            "outputs": _names(program.outputs, "output"),
            "constants": [*_names(program.data, "data"), *(f"constant{i}" for i in range(len(program.constants)))],
        }
        listed = [
            f"{table}: {', '.join(f'{name} {node.type!r}' for name, node in zip(tables[table], nodes, strict=True))}"
            for table, nodes in (("inputs", program.inputs), ("outputs", program.outputs))
            if nodes
        ]
        return python_text(scalar.module, tables, listed).rstrip()

    def llvm(self) -> str:
        """Its LLVM text for this machine, before LLVM's own passes."""
        return emit(entry.write(self.program, self.target).module, self.target)


def _names(nodes: Sequence[Node], stem: str) -> list[str]:
    """The users' names, each once; numbers for what has none."""
    found: list[str] = []
    for i, node in enumerate(nodes):
        name = name_of(node)
        found.append(name if name is not None and name not in found else f"{stem}{i}")
    return found


def stages(
    inputs: Sequence[Node],
    outputs: Sequence[Node],
    lengths: Lengths,
    arrays: Sequence[Array] | None,
    make: Callable[..., Any] = Stage,
) -> tuple[list[Any], Bound]:
    """All programs of a graph, compiled by `make`, and what runs them.

    `arrays`: values of the inputs, which decide computed lengths; None where there are none of those.
    """
    found: list[Any] = []

    def kept(*arguments: Any, **settings: Any) -> Any:
        found.append(make(*arguments, **settings))
        return found[-1]

    with carrying_marks():
        bound = compile(inputs, outputs, lengths, make=kept).bind()
        if arrays is not None:
            bound(arrays)
    return found, bound
