"""The folder of an exported library: header, code, data, an example and a Makefile.

In: a model or a function, and where it goes. Out: files. Outside: how code is made (`code`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy.typing as npt

from consilience.backends.c.text import identifier
from consilience.backends.contexts import DEFAULT
from consilience.backends.function import Function
from consilience.distributions.transforms import label
from consilience.errors import ModelError, ShapeError, StorageError
from consilience.exports.chain import chain_of, declarations, example, functions
from consilience.exports.chain import source as chain_source
from consilience.exports.code import (
    PORTABLE,
    ClosedProgram,
    c_type,
    c_type_of,
    closed,
    object_code,
    program,
    routines,
    source,
)
from consilience.inference import NUTS
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.lower.specialise import specialise
from consilience.lower.views import static
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.native.target import CROSS, LANES, Target, host
from consilience.record import Record, replace

Array = npt.NDArray[Any]

TARGETS: Final = ("host", *CROSS)
"""Processors that object files are made for."""


class Exported(Record, eq=False):
    """What is exported: a graph, and the names of its inputs and outputs in C."""

    title: str
    inputs: Sequence[Node]
    outputs: Sequence[Node]
    data: Mapping[Node, Array]
    input_names: list[str]
    output_names: list[str]
    remarks: list[str]


def export(
    what: Model | Function,
    folder: str | Path,
    *,
    target: str | None = None,
    lanes: int = 1,
    name: str | None = None,
    sampler: NUTS | bool = False,
    overwrite: bool = False,
) -> Path:
    """Write a model's log density with its gradient, or a function, as a C library that needs no Python.

    what        a model: `int64_t name(position, log_density, gradient, workspace)` on the unconstrained scale, with the
                model's present data; or what `pm.function` gave, of inputs of fixed shapes, with the present values of
                its shared variables
    folder      is made. It will hold `name.h`, `name.c`, `name_program.c` or `name_program.o`, `name_data.c`, `main.c`
                and a `Makefile`
    target      None: C source. Or an object file instead: "host", "x86-64-v2", "x86-64-v3", "x86-64-v4" (Linux),
                "neoverse-v2" (Linux) or "apple-m1" (macOS)
    lanes       numbers per vector in C source: 1 for ISO C11, for any compiler and processor; 2, 4 or 8 with the
                vectors of GCC and Clang, which is faster where the processor has such registers
    name        of the library and its function, by default that of the folder
    sampler     whether the library of a model also has the No-U-Turn Sampler: `name_begin` and `name_transition`, and
                `sample.c` that prints draws; or its settings, `pm.NUTS(...)`. Its C source needs GCC or Clang
    overwrite   whether files of a folder that exists may be replaced
    returns     the folder

    Programs that factorise matrices call BLAS and LAPACK; the Makefile then links them.

    raises   StorageError where the folder exists, or is no folder; ValueError for an unknown target or width;
             MissingRuleError for what has no form in C
    """
    place = Path(folder)
    own = _library_name(place.name if name is None else name)
    processor = _target(target, lanes)
    if place.exists() and not (place.is_dir() and overwrite):
        what_exists = "exists" if place.is_dir() else "is a file"
        raise StorageError(
            f"the folder {str(place)!r} {what_exists}; choose another"
            + (", or pass `overwrite=True` to replace its files." if place.is_dir() else ".")
        )
    library = _library(what)
    settings = _sampler(what, sampler)
    made = program(library.inputs, library.outputs, library.data, processor, f"{own}_program")
    parts = {"program": (made.file, f"{library.title}: the program.")}
    chain = None
    files: dict[str, str | bytes] = {}
    if settings is not None:
        dimension = _size(library.inputs[0])
        chain = chain_of(settings, dimension, made.workspace, own)
        exported = [f"{own}_start", f"{own}_step", f"{own}_normals"]
        kernel = closed(functions(own, processor.lanes), exported, processor)
        parts["sampler"] = kernel, "The No-U-Turn Sampler: one transition, and what a chain learns from it."
        files |= {f"{own}_chain.c": chain_source(own, chain, dimension), "sample.c": example(own, dimension)}
    for part, (file, remark) in parts.items():
        code: str | bytes = source(file, remark) if target is None else object_code(file, processor)
        files[f"{own}_{part}.{'c' if target is None else 'o'}"] = code
    files |= {
        f"{own}.h": _header(own, library, made, "" if chain is None else declarations(own, chain)),
        f"{own}.c": _interface(own, library),
        f"{own}_data.c": _data(own, made),
        "main.c": _main(own, library),
        "Makefile": _makefile(own, bool(routines(made.file)), target, lanes, chain is not None),
    }
    place.mkdir(parents=True, exist_ok=True)
    for part in ("program", "sampler"):  # of an export for another target
        (place / f"{own}_{part}.{'o' if target is None else 'c'}").unlink(missing_ok=True)
    for name_, content in files.items():
        (place / name_).write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def _sampler(what: Model | Function, asked: NUTS | bool) -> NUTS | None:
    if asked is False:
        return None
    settings = NUTS() if asked is True else asked
    if not isinstance(settings, NUTS):
        raise ModelError(f"`sampler` must be True, False or `pm.NUTS(...)`, got {asked!r}.")
    if not isinstance(what, Model):
        raise ModelError("a function has no draws: `sampler=` is for models.")
    if settings.vars:
        raise ModelError("an exported sampler moves all variables of a model; leave out those of `pm.NUTS`.")
    discrete = [v.name for v in what.free if not v.continuous]
    if discrete:
        raise ModelError(
            f"`{discrete[0]}` is discrete, and NUTS moves along gradients; sum it out with `pm.marginalize`, or export "
            "without `sampler=`."
        )
    return settings


def _library_name(asked: str) -> str:
    if not re.fullmatch(r"[A-Za-z]\w*", asked, re.ASCII) or identifier(asked) != asked or asked == "main":
        found = re.sub(r"\W+", "_", asked, flags=re.ASCII).strip("_")
        hint = f", such as name={found!r}" if re.fullmatch(r"[A-Za-z]\w*", found) else ""
        raise ValueError(f"a library needs a name that C allows, got {asked!r}; give one by `name=`{hint}.")
    return asked


def _target(target: str | None, lanes: int) -> Target:
    if lanes not in LANES:
        raise ValueError(f"`lanes` must be one of {', '.join(map(str, LANES))}, got {lanes!r}.")
    if target is None:
        return replace(PORTABLE, lanes=lanes, fma=lanes > 2)
    if target not in TARGETS:
        raise ValueError(
            f"unknown target {target!r}; available are {', '.join(map(repr, TARGETS))}, and None for C source."
        )
    if lanes != 1:
        raise ValueError(f"`lanes` is for C source; the target {target!r} has vectors of its own width.")
    return host() if target == "host" else CROSS[target]


def _library(what: Model | Function) -> Exported:
    if isinstance(what, Model):
        return _density(model_density(what))
    if isinstance(what, Function):
        return _function(what)
    raise ModelError(f"a model or a compiled function can be exported, got {what!r}; compile it with `pm.function`.")


def _density(density: ModelDensity) -> Exported:
    inputs, outputs, data = density.program()
    if density.without_gradient:
        raise ModelError(f"a library of a model has gradients: {density.without_gradient}")
    remarks = ["The coordinates of a position, on the unconstrained scale:"]
    for s in density.layout.stretches:
        last = s.start + s.size - 1
        where = f"{s.start}" if s.size == 1 else f"{s.start} to {last}"
        shape = f"[{', '.join(map(str, s.shape))}]" if s.shape else ""
        transform = s.variable.transform
        scale = "" if transform is None else f" ({label(transform)})"
        remarks.append(f"  {where}: {s.variable.name}{shape}{scale}")
    return Exported(
        "The log density of a model and its gradient", inputs, outputs, data, ["position"],
        ["log_density", "gradient"], remarks,
    )  # fmt: skip


def _function(function: Function) -> Exported:
    if function.updates:
        raise ModelError(f"`{function.name}` updates shared variables, which an exported function cannot keep.")
    for node in function.inputs:
        if not all(isinstance(n, int) for n in node.static_shape):
            raise ShapeError(
                f"an exported function has inputs of fixed shapes, and that of {describe(node)} is open: "
                f"{node.static_shape}; declare it as in `pt.tensor('x', shape=(3, 2))`."
            )
    slots = function.get_shared()
    values = DEFAULT.snapshot(slots)
    lengths = function.check_shapes([*(static(n.static_shape) for n in function.inputs), *(v.shape for v in values)])
    nodes, _ = specialise([*function.optimised, *function.inputs, *slots], lengths)
    count, given = len(function.outputs), len(function.inputs)
    inputs, data = nodes[count : count + given], nodes[count + given :]
    names = [_argument(n.name, f"input{i}" if given > 1 else "input") for i, n in enumerate(function.inputs)]
    results = [_argument(n.name, f"output{i}" if count > 1 else "output") for i, n in enumerate(function.outputs)]
    taken: set[str] = {"workspace"}
    unique = [_unique(name, taken) for name in [*names, *results]]
    return Exported(
        f"The function {function.name}", inputs, nodes[:count], dict(zip(data, values, strict=True)),
        unique[:given], unique[given:], [],
    )  # fmt: skip


def _argument(name: str | None, otherwise: str) -> str:
    return identifier(name) if name and re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) else otherwise


def _unique(name: str, taken: set[str]) -> str:
    found = name
    while found in taken:
        found += "_"
    taken.add(found)
    return found


def _size(node: Node) -> int:
    return math.prod(static(node.static_shape))


def _prototype(own: str, library: Exported) -> str:
    inputs = [f"const {c_type(n)} *{name}" for n, name in zip(library.inputs, library.input_names, strict=True)]
    outputs = [f"{c_type(n)} *{name}" for n, name in zip(library.outputs, library.output_names, strict=True)]
    return f"int64_t {own}({', '.join([*inputs, *outputs, 'void *workspace'])})"


def _header(own: str, library: Exported, made: ClosedProgram, more: str) -> str:
    upper = own.upper()
    sides = (
        [*zip(library.inputs, library.input_names, strict=True)],
        [*zip(library.outputs, library.output_names, strict=True)],
    )
    lines = [f"/* {library.title}.", " *"]
    lines += [f" * {remark}" for remark in library.remarks] + ([" *"] if library.remarks else [])
    for side, arrays in zip(("in", "out"), sides, strict=True):
        for node, name in arrays:
            lines.append(f" * {name}: {side}, {_size(node)} {c_type(node)}, shape {static(node.static_shape)}")
    lines += [
        f" * workspace: {upper}_WORKSPACE bytes of scratch memory, of one thread at a time",
        " *",
        " * Gives 0, or another number where there is no value, as of the inverse of a singular matrix. Any number of",
        " * threads may call it at once. */",
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        "#include <stdbool.h>",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"#define {upper}_WORKSPACE {made.workspace + 128}",
    ]
    for arrays in sides:
        lines += [f"#define {upper}_{name.upper()}_SIZE {_size(node)}" for node, name in arrays]
    lines += ["", f"{_prototype(own, library)};", more, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _interface(own: str, library: Exported) -> str:
    inputs, outputs = ", ".join(library.input_names) or "0", ", ".join(library.output_names) or "0"
    return f"""\
#include "{own}.h"

int64_t {own}_program(char *inputs, char *outputs, char *workspace, char *constants);
extern const void *const {own}_constants[];

{_prototype(own, library)}
{{
    const void *inputs[] = {{{inputs}}};
    void *outputs[] = {{{outputs}}};
    char *scratch = (char *)(((uintptr_t)workspace + 63) & ~(uintptr_t)63);
    return {own}_program((char *)inputs, (char *)outputs, scratch, (char *){own}_constants);
}}
"""


def _data(own: str, made: ClosedProgram) -> str:
    """The arrays that the program reads, and the table of their addresses."""
    parts = ["#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"]
    for i, array in enumerate(made.constants):
        parts.append(
            f"\n/* shape {array.shape} */\nstatic _Alignas(64) const {c_type_of(array.dtype)} data{i}"
            f"[{max(1, array.size)}] = {{\n{_numbers(array)}}};\n"
        )
    names = ", ".join(f"data{i}" for i in range(len(made.constants))) or "0"
    parts.append(f"\nextern const void *const {own}_constants[];\nconst void *const {own}_constants[] = {{{names}}};\n")
    return "".join(parts)


def _numbers(array: Array) -> str:
    numbers = [_number(n) for n in array.ravel().tolist()] or ["0"]
    return "".join(f"    {', '.join(numbers[i : i + 8])},\n" for i in range(0, len(numbers), 8))


def _number(n: float) -> str:
    if isinstance(n, bool):
        return "true" if n else "false"
    if isinstance(n, int):
        return "INT64_MIN" if n == -(2**63) else str(n) if abs(n) < 2**31 else f"INT64_C({n})"
    return "NAN" if math.isnan(n) else ("INFINITY" if n > 0 else "-INFINITY") if math.isinf(n) else repr(n)


def _main(own: str, library: Exported) -> str:
    upper = own.upper()
    lines = [
        f"/* Calls {own} with the numbers that are given as arguments, and zeros for those that are not. */",
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "",
        f'#include "{own}.h"',
        "",
        "int main(int count, char **arguments)",
        "{",
    ]
    sides = (library.inputs, library.input_names), (library.outputs, library.output_names)
    for nodes, names in sides:
        for node, name in zip(nodes, names, strict=True):
            lines.append(f"    static {c_type(node)} {name}[{max(1, _size(node))}];")
    lines += [f"    static char workspace[{upper}_WORKSPACE];", "    int next = 1;", ""]
    for node, name in zip(*sides[0], strict=True):
        read = "strtod(arguments[next++], NULL)" if "float" in node.dtype else "strtoll(arguments[next++], NULL, 10)"
        if node.dtype not in ("float64", "int64"):
            read = f"({c_type(node)}){read}"
        lines += [
            f"    for (int i = 0; i < {_size(node)} && next < count; i++)",
            f"        {name}[i] = {read};",
        ]
    called = ", ".join([*library.input_names, *library.output_names, "workspace"])
    lines += [
        "    (void)arguments;" if not library.inputs else "",
        f"    const int64_t status = {own}({called});",
        "    if (status) {",
        '        fprintf(stderr, "no value: status %lld\\n", (long long)status);',
        "        return 1;",
        "    }",
    ]
    for node, name in zip(*sides[1], strict=True):
        form, text = ("%.17g", "(double)") if "float" in node.dtype else ("%lld", "(long long)")
        lines += [
            f'    printf("{name}");',
            f"    for (int i = 0; i < {_size(node)}; i++)",
            f'        printf(" {form}", {text}{name}[i]);',
            '    printf("\\n");',
        ]
    lines += ["    return next < count; /* more numbers than inputs */", "}", ""]
    return "\n".join(line for line in lines if line is not None)


def _makefile(own: str, factorises: bool, target: str | None, lanes: int, sampler: bool) -> str:
    libraries = "-llapack -lblas -lm" if factorises else "-lm"
    optimised = "-O3 -march=native -fno-math-errno -fno-trapping-math" if lanes > 1 else "-O3"
    vectors = " -Wno-psabi" if sampler or lanes > 1 else ""
    compiled = [own, f"{own}_data", *([f"{own}_chain"] if sampler else [])]
    machine = [f"{own}_program", *([f"{own}_sampler"] if sampler else [])]
    programs = ["main", *(["sample"] if sampler else [])]
    remark = "" if target is None else f"# {' and '.join(f'{m}.o' for m in machine)}: machine code for {target}.\n"
    removed = [f"{o}.o" for o in (compiled if target is not None else compiled + machine) + programs]
    rules = "".join(f"{p}: {p}.o lib{own}.a\n\t$(CC) $(LDFLAGS) $^ -o $@ $(LDLIBS)\n\n" for p in programs)
    return f"""\
{remark}CC ?= cc
CFLAGS ?= {optimised}
override CFLAGS += -std=c11 -Wall -Wextra -ffp-contract=off -fPIC{vectors}
LDLIBS += {libraries}
OBJECTS = {" ".join(f"{o}.o" for o in compiled + machine)}

all: lib{own}.a lib{own}.so {" ".join(programs)}

lib{own}.a: $(OBJECTS)
\t$(AR) rcs $@ $^

lib{own}.so: $(OBJECTS)
\t$(CC) $(LDFLAGS) -shared $^ -o $@ $(LDLIBS)

{rules}{" ".join(f"{o}.o" for o in [*compiled, *programs] if o != f"{own}_data")}: {own}.h

clean:
\trm -f {" ".join(removed)} lib{own}.a lib{own}.so {" ".join(programs)}

.PHONY: all clean
"""
