"""The C around programs: header, calls, data, an example, a Makefile.

In: exported functions and their programs. Out: the text of each file. Outside: the programs themselves (`code`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from consilience.engines.c_library.code import ClosedProgram, c_type, c_type_of
from consilience.engines.exported import Array, Exported, size
from consilience.lower.views import static


def _prototype(what: Exported) -> str:
    inputs = [f"const {c_type(n)} *{name}" for n, name in zip(what.inputs, what.input_names, strict=True)]
    outputs = [f"{c_type(n)} *{name}" for n, name in zip(what.outputs, what.output_names, strict=True)]
    return f"int64_t {what.name}({', '.join([*inputs, *outputs, 'void *workspace'])})"


def header(own: str, functions: Sequence[tuple[Exported, ClosedProgram]], more: str) -> str:
    """The header: what each function takes and gives, and `more` declarations."""
    lines = [
        f"#ifndef {own.upper()}_H",
        f"#define {own.upper()}_H",
        "",
        "#include <stdbool.h>",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        "/* Functions give 0, or another number where there is no value, as of the inverse of a singular matrix. Any",
        " * number of threads may call them at once, each with scratch memory of its own. */",
    ]
    for what, made in functions:
        upper = what.name.upper()
        sides = [(n, name, "in") for n, name in zip(what.inputs, what.input_names, strict=True)]
        sides += [(n, name, "out") for n, name in zip(what.outputs, what.output_names, strict=True)]
        lines += ["", f"/* {what.title}.", " *"]
        lines += [f" * {remark}" for remark in what.remarks] + ([" *"] if what.remarks else [])
        for node, name, side in sides:
            lines.append(f" * {name}: {side}, {size(node)} {c_type(node)}, shape {static(node.static_shape)}")
        lines += [
            f" * workspace: {upper}_WORKSPACE bytes of scratch memory */",
            f"#define {upper}_WORKSPACE {made.workspace + 128}",
            *(f"#define {upper}_{name.upper()}_SIZE {size(node)}" for node, name, _ in sides),
            f"{_prototype(what)};",
        ]
    return "\n".join([*lines, more, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def interface(own: str, functions: Sequence[Exported]) -> str:
    """The C file that gives programs the form that the header tells."""
    return f'#include "{own}.h"\n' + "".join(map(_call, functions))


def _call(what: Exported) -> str:
    inputs, outputs = ", ".join(what.input_names) or "0", ", ".join(what.output_names) or "0"
    own = what.name
    return f"""
int64_t {own}_program(char *inputs, char *outputs, char *workspace, char *constants);
extern const void *const {own}_constants[];

{_prototype(what)}
{{
    const void *inputs[] = {{{inputs}}};
    void *outputs[] = {{{outputs}}};
    char *scratch = (char *)(((uintptr_t)workspace + 63) & ~(uintptr_t)63);
    return {own}_program((char *)inputs, (char *)outputs, scratch, (char *){own}_constants);
}}
"""


def data(functions: Sequence[tuple[Exported, ClosedProgram]]) -> str:
    """The C file with the arrays that programs read, and the tables of their addresses."""
    head = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"
    return head + "".join(_tables(what.name, made) for what, made in functions)


def _tables(own: str, made: ClosedProgram) -> str:
    parts = []
    for i, array in enumerate(made.constants):
        parts.append(
            f"\n/* shape {array.shape} */\nstatic _Alignas(64) const {c_type_of(array.dtype)} {own}_data{i}"
            f"[{max(1, array.size)}] = {{\n{_numbers(array)}}};\n"
        )
    names = ", ".join(f"{own}_data{i}" for i in range(len(made.constants))) or "0"
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


def main(own: str, what: Exported) -> str:
    """A program that calls a function once."""
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
    sides = (what.inputs, what.input_names), (what.outputs, what.output_names)
    for nodes, names in sides:
        for node, name in zip(nodes, names, strict=True):
            lines.append(f"    static {c_type(node)} value_{name}[{max(1, size(node))}];")
    lines += [f"    static char workspace[{upper}_WORKSPACE];", "    int next = 1;", ""]
    for node, name in zip(*sides[0], strict=True):
        read = "strtod(arguments[next++], NULL)" if "float" in node.dtype else "strtoll(arguments[next++], NULL, 10)"
        if node.dtype not in ("float64", "int64"):
            read = f"({c_type(node)}){read}"
        lines += [
            f"    for (int i = 0; i < {size(node)} && next < count; i++)",
            f"        value_{name}[i] = {read};",
        ]
    called = ", ".join([*(f"value_{name}" for name in [*what.input_names, *what.output_names]), "workspace"])
    lines += [
        *([] if what.inputs else ["    (void)arguments;"]),
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
            f"    for (int i = 0; i < {size(node)}; i++)",
            f'        printf(" {form}", {text}value_{name}[i]);',
            '    printf("\\n");',
        ]
    lines += ["    return next < count; /* more numbers than inputs */", "}", ""]
    return "\n".join(lines)


def makefile(own: str, factorises: bool, target: str | None, lanes: int, programs: Sequence[str], sampler: bool) -> str:
    """The Makefile: both libraries and the examples. `programs` are the files that `target` decides, without ending."""
    libraries = "-llapack -lblas -lm" if factorises else "-lm"
    optimised = "-O3 -march=native -fno-math-errno -fno-trapping-math" if lanes > 1 else "-O3"
    vectors = " -Wno-psabi" if sampler or lanes > 1 else ""
    compiled = [own, f"{own}_data", *([f"{own}_chain"] if sampler else [])]
    machine = list(programs)
    examples = ["main", *(["sample"] if sampler else [])]
    remark = "" if target is None else f"# {' and '.join(f'{m}.o' for m in machine)}: machine code for {target}.\n"
    removed = [f"{o}.o" for o in (compiled if target is not None else compiled + machine) + examples]
    rules = "".join(f"{p}: {p}.o lib{own}.a\n\t$(CC) $(LDFLAGS) $^ -o $@ $(LDLIBS)\n\n" for p in examples)
    return f"""\
{remark}CC ?= cc
CFLAGS ?= {optimised}
override CFLAGS += -std=c11 -Wall -Wextra -ffp-contract=off -fPIC{vectors}
LDLIBS += {libraries}
OBJECTS = {" ".join(f"{o}.o" for o in compiled + machine)}

all: lib{own}.a lib{own}.so {" ".join(examples)}

lib{own}.a: $(OBJECTS)
\t$(AR) rcs $@ $^

lib{own}.so: $(OBJECTS)
\t$(CC) $(LDFLAGS) -shared $^ -o $@ $(LDLIBS)

{rules}{" ".join(f"{o}.o" for o in [*compiled, *examples] if o != f"{own}_data")}: {own}.h

clean:
\trm -f {" ".join(removed)} lib{own}.a lib{own}.so {" ".join(examples)}

.PHONY: all clean
"""
