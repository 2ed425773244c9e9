"""A failing model made small: the same class of failure with fewer lines, shorter strings and plainer data.

In: a program and its outcome. Out: a smaller program with an outcome of the same class. Every candidate is first
evaluated by NumPy, so what is left is always a valid model.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import time
from collections.abc import Callable, Iterator

from tests.random_models.check import Outcome, check
from tests.random_models.densities import FAMILIES
from tests.random_models.oracle import InvalidProgramError, truth
from tests.random_models.program import Datum, Line, Program

Judge = Callable[[Program], Outcome]


def shrunken(
    program: Program, outcome: Outcome, judge: Judge = check, seconds: float = 60.0
) -> tuple[Program, Outcome]:
    """The smallest program found in some seconds that fails in the same way, and its outcome."""
    end = time.monotonic() + seconds
    best, found = program.used(), outcome
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for candidate in _candidates(best):
            if time.monotonic() > end:
                break
            smaller = candidate.used()
            if smaller.size() >= best.size():
                continue
            try:
                truth(smaller, smaller.arrays())
            except (InvalidProgramError, AssertionError):
                continue
            result = judge(smaller)
            if result.label == outcome.label:
                best, found, progress = smaller, result, True
                break
    return best, found


def _candidates(program: Program) -> Iterator[Program]:
    """Smaller programs, the boldest changes first."""
    lines = program.lines
    for half in (lines[len(lines) // 2 :], lines[: len(lines) // 2]):
        yield dataclasses.replace(program, lines=half)
    for i in reversed(range(len(lines))):
        yield dataclasses.replace(program, lines=lines[:i] + lines[i + 1 :])
    yield from _smaller_sizes(program)
    for i, line in enumerate(lines):
        if line.kind == "variable":
            yield _without_variable(program, i)
        if line.kind == "deterministic":
            yield _with_line(program, i, dataclasses.replace(line, kind="let"))
        if line.kind == "let":
            yield _inlined(program, i)
    for i, line in enumerate(lines):
        yield from (_with_line(program, i, simpler) for simpler in _simpler_lines(line))
    for i, line in enumerate(lines):
        for j, (name, text) in enumerate(line.arguments):
            for smaller in _smaller_texts(text):
                arguments = (*line.arguments[:j], (name, smaller), *line.arguments[j + 1 :])
                yield _with_line(program, i, dataclasses.replace(line, arguments=arguments))
    yield from _plainer(program)


def _with_line(program: Program, i: int, line: Line) -> Program:
    return dataclasses.replace(program, lines=(*program.lines[:i], line, *program.lines[i + 1 :]))


def _without_variable(program: Program, i: int) -> Program:
    """The variable as data of the same shape."""
    line = program.lines[i]
    support = FAMILIES[line.family].support
    axes = line.shape or ()
    kind = {"positive": "positive", "unit": "unit", "simplex": "simplex"}.get(support, "real")
    datum = Datum(
        line.name, kind, axes[:-1] if kind == "simplex" else axes, upto=axes[-1] if kind == "simplex" and axes else "2"
    )
    rest = program.lines[:i] + program.lines[i + 1 :]
    return dataclasses.replace(program, lines=rest, data=(*program.data, datum))


def _inlined(program: Program, i: int) -> Program:
    """A named expression written out where it is used."""
    name, value = program.lines[i].name, program.lines[i].arguments[0][1]

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:  # the library's spelling
            return ast.parse(value, mode="eval").body if node.id == name else node

    def written(text: str) -> str:
        return ast.unparse(Replace().visit(ast.parse(text, mode="eval")))

    lines = tuple(
        dataclasses.replace(line, arguments=tuple((n, written(t)) for n, t in line.arguments))
        for j, line in enumerate(program.lines)
        if j != i
    )
    return dataclasses.replace(program, lines=lines)


def _simpler_lines(line: Line) -> Iterator[Line]:
    """Other distributions for the same job, and potentials instead of likelihoods."""
    if line.kind == "variable":
        if line.shape:
            yield dataclasses.replace(line, shape=())
        for family, arguments in (("Normal", ()), ("HalfNormal", ())):
            if (line.family, line.arguments) != (family, arguments) and line.shape is not None:
                yield dataclasses.replace(line, family=family, arguments=arguments)
    if line.kind == "observed":
        for _, value in line.arguments:
            yield Line("potential", line.name, (("value", value),))
        if line.family != "Normal":
            for _, value in line.arguments:
                yield dataclasses.replace(line, family="Normal", arguments=(("mu", value),))
        for i in range(len(line.arguments)):
            yield dataclasses.replace(line, arguments=line.arguments[:i] + line.arguments[i + 1 :])


def _smaller_texts(text: str) -> Iterator[str]:
    """The string with one sub-expression replaced by one of its operands, or by a number."""
    tree = ast.parse(text, mode="eval")
    places = [n for n in ast.walk(tree) if isinstance(n, ast.expr) and not isinstance(n, ast.Name | ast.Constant)]
    for number, place in enumerate(places):
        operands = [n for n in ast.walk(place) if isinstance(n, ast.expr) and n is not place]
        children = [n for n in ast.iter_child_nodes(place) if isinstance(n, ast.expr)]
        for operand in sorted(operands, key=lambda n: (n not in children, -sum(1 for _ in ast.walk(n)))):
            if not isinstance(operand, ast.Slice | ast.Tuple | ast.List):
                yield _replaced(tree, number, operand)
        yield _replaced(tree, number, ast.Constant(0.5))
        if isinstance(place, ast.List) and len(place.elts) > 1:
            for i in range(len(place.elts)):
                yield _replaced(tree, number, ast.List([*place.elts[:i], *place.elts[i + 1 :]], ast.Load()))
        if isinstance(place, ast.Call) and place.keywords:
            for i in range(len(place.keywords)):
                rest = place.keywords[:i] + place.keywords[i + 1 :]
                yield _replaced(tree, number, ast.Call(place.func, place.args, rest))


def _replaced(tree: ast.Expression, number: int, new: ast.expr) -> str:
    """The text with the number-th larger sub-expression replaced."""
    copied = copy.deepcopy(tree)
    target = [n for n in ast.walk(copied) if isinstance(n, ast.expr) and not isinstance(n, ast.Name | ast.Constant)][
        number
    ]

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is target else self.generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Swap().visit(copied)))


def _smaller_sizes(program: Program) -> Iterator[Program]:
    """A smaller length."""
    for i, (name, size) in enumerate(program.sizes):
        for smaller in (1, 2, 3, size // 2, size - 1):
            if 0 < smaller < size:
                yield dataclasses.replace(program, sizes=(*program.sizes[:i], (name, smaller), *program.sizes[i + 1 :]))


def _plainer(program: Program) -> Iterator[Program]:
    """Data that are float64 arrays in C order."""
    for i, datum in enumerate(program.data):
        integer = datum.dtype.startswith(("int", "uint"))
        for change in (
            {"layout": "C", "container": "array"},
            {"layout": "C"},
            {"container": "array"},
            {"dtype": "int64" if integer else "float64"} if datum.dtype != "bool" else {},
        ):
            plainer = dataclasses.replace(datum, **change)
            if plainer != datum:
                yield dataclasses.replace(program, data=(*program.data[:i], plainer, *program.data[i + 1 :]))
