"""A graph of fixed shapes as one self-contained loop program: its functions, its data, what it needs when linked.

In: inputs, outputs, data and a processor. Out: the text of a C file, or an object file, and arrays. Outside: folders,
headers, compilers.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends import reference
from consilience.backends.c.file import CFile, whole_program
from consilience.backends.llvm import program_of
from consilience.errors import MissingRuleError
from consilience.ir import Node, TensorType, computed_atoms, numpy_dtype, topological
from consilience.ir.side_tables import describe
from consilience.lower import entry
from consilience.native import blas, jit, scipy_special
from consilience.native.emit import emit
from consilience.native.loops import Module, i32
from consilience.native.target import Target
from consilience.ops.python_call import PythonCall
from consilience.record import Record
from consilience.transforms.complex_pairs import is_complex

Array = npt.NDArray[Any]

PORTABLE: Final = Target("", "", "", 1, False)
"""Any processor: one number at a time, no fused multiply-add."""


class ClosedProgram(Record, eq=False):
    """A graph as a loop program.

    `file`: its entry, `int64_t name(char *inputs, char *outputs, char *workspace, char *constants)`, and the functions
    that it calls. `workspace`: bytes of scratch memory of a call. `constants`: the arrays that the table `constants`
    points to.
    """

    file: CFile
    workspace: int
    constants: list[Array]


def program(
    inputs: Sequence[Node], outputs: Sequence[Node], data: Mapping[Node, Array], target: Target, name: str
) -> ClosedProgram:
    """The loop program of a graph.

    Raises MissingRuleError for what has no form in C: calls of Python, lengths that are computed, complex numbers,
    special functions of SciPy.
    """
    _check(outputs)
    steps, prepared = program_of(inputs, outputs, list(data))
    code = entry.write(steps, target)
    (function,) = [f for f in code.module.functions.values() if f.name == code.entry]
    code.module.functions = {name if f is function else n: f for n, f in code.module.functions.items()}
    function.name = name
    file = closed([code.module], [name], target)
    found = reference.evaluate(prepared, dict(data)) if prepared else []
    return ClosedProgram(file, code.workspace, [*found, *steps.constants])


def closed(modules: Sequence[Module], exports: Sequence[str], target: Target) -> CFile:
    """What exports reach, the functions of this package's libraries included.

    Raises MissingRuleError for functions that SciPy computes.
    """
    for module in modules:
        _without_python(module)
    file = whole_program(modules, exports, target.fma)
    foreign = [s for s in file.outside if not s.startswith(blas.PREFIX)]
    if foreign:
        named = ", ".join(f"`{s.removeprefix(scipy_special.PREFIX)}`" for s in foreign)
        raise MissingRuleError(
            f"{named} is computed by SciPy's compiled code, which an exported library cannot bring along; export the "
            "part of the model that does without it."
        )
    return file


def routines(file: CFile) -> list[str]:
    """Routines of BLAS and LAPACK that a file calls, as in "dgemm"."""
    return [name.removeprefix(blas.PREFIX) for name in file.outside]


def _check(outputs: Sequence[Node]) -> None:
    lengths = computed_atoms(outputs)
    for node in topological(outputs):
        if isinstance(node.op, PythonCall):
            raise MissingRuleError(
                f"{describe(node)} calls Python, which an exported library does without; write it as an expression."
            )
        if is_complex(node):
            raise MissingRuleError(f"{describe(node)} is complex; exported libraries compute with real numbers.")
    if lengths:
        raise MissingRuleError(
            "an exported library has fixed lengths, and some lengths here are computed from values "
            f"({', '.join(sorted(map(str, lengths)))}); write masks with `where`, or give lengths as numbers."
        )


def _without_python(module: Module) -> None:
    """Loops of Python's processes ask whether Ctrl-C was pressed; here the answer is no."""
    for name in ("PyGILState_Ensure", "PyErr_CheckSignals"):
        if name in module.imports and name not in module.functions:
            b = module.function(name, [], i32, export=False)
            b.ret(b.const(i32, 0))
    for name in ("PyErr_Clear", "PyGILState_Release"):
        if name in module.imports and name not in module.functions:
            _, parameters = module.imports[name]
            b = module.function(name, [(f"x{i}", p) for i, p in enumerate(parameters)], None, export=False)
            b.ret()


def source(file: CFile, remark: str) -> str:
    """Functions as C."""
    return file.text(_declared, [remark])


def _declared(declaration: str) -> str:
    """A routine of BLAS or LAPACK under the name that Fortran gives it."""
    name = declaration.partition("(")[0].rpartition(" ")[2]
    symbol = f"{name.removeprefix(blas.PREFIX)}_"
    return f"#define {name} {symbol}\nextern {declaration.replace(name, symbol)};\n"


def object_code(file: CFile, target: Target) -> bytes:
    """Functions as an object file for a linker."""
    module = Module()
    for name, function in file.functions.items():
        kept = copy.copy(function)
        kept.export = name in file.exports
        module.functions[name] = kept
    module.imports = file.outside | file.standard
    module.pure_imports = {n for n in file.pure if n in module.imports}
    text = emit(module, target)
    for routine in routines(file):
        text = text.replace(f"@{blas.PREFIX}{routine}(", f"@{routine}_(")
    return jit.compile_object(text, target, linked=True)


def c_type(node: Node) -> str:
    """The C type of a tensor's elements."""
    assert isinstance(node.type, TensorType)
    return c_type_of(numpy_dtype(node.dtype))


def c_type_of(dtype: np.dtype[Any]) -> str:
    """The C type of an array's elements."""
    return {"float64": "double", "float32": "float", "bool": "bool"}.get(dtype.name, f"{dtype.name}_t")
