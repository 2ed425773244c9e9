"""The C backend: the loop programs that the machine-code backend makes, printed as C11 and compiled by the system.

A graph in, an executable out. Functions of this package's own libraries are compiled as C too; BLAS and SciPy's special
functions are called where SciPy has them. What is no loop program is run as the machine-code backend runs it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from consilience.backends import llvm
from consilience.backends.c.compiler import CLibrary, command, load
from consilience.backends.c.file import LINK, CFile, program_of
from consilience.backends.c.names import identifier
from consilience.backends.registry import Executable
from consilience.backends.shapes import Lengths
from consilience.ir import Node
from consilience.lower import entry
from consilience.native import jit
from consilience.native.loops import Module
from consilience.native.target import Target, host


def loaded(module: Module, name: str, level: int) -> CLibrary:
    """A loop program compiled as C and loaded, with the one function `name` exported."""
    file = CFile([module], [name], host().fma)
    addresses, dependencies = jit.resolve(list(file.outside), {}, _provider)
    symbols = {name: addresses[name] for name in file.outside}
    assigned = "".join(
        f"    memcpy(&{identifier(symbol)}, &addresses[{i}], sizeof(void *));\n" for i, symbol in enumerate(symbols)
    )
    setter = f"void {LINK}(void *const *addresses);\nvoid {LINK}(void *const *addresses)\n{{\n{assigned}}}\n"
    return load(file.text(_pointer) + (setter if symbols else ""), level, symbols, LINK, dependencies)


def _pointer(declaration: str) -> str:
    """`double exp(double)` as a variable that holds the address of such a function."""
    head, _, parameters = declaration.partition("(")
    result, _, name = head.rpartition(" ")
    return f"static {result} (*{name})({parameters};\n"


@functools.cache
def _provider(symbol: str) -> CLibrary | None:
    module = program_of(symbol, host().fma)
    return None if module is None else loaded(module, symbol, 2)


class CompiledC(llvm.Compiled):
    """One program over static shapes, compiled by the system's C compiler."""

    threads = False

    def _loaded(self, code: entry.Code, host: Target, level: int) -> jit.Loaded:
        return loaded(code.module, code.entry, level)


def compile(
    inputs: Sequence[Node],
    outputs: Sequence[Node],
    lengths: Lengths,
    data: Sequence[Node] = (),
    *,
    level: int = 2,
) -> Executable:
    """The graph as compiled C (`registry.Compile`)."""
    command()
    return llvm.compile(inputs, outputs, lengths, data, level=level, make=CompiledC)
