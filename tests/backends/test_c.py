"""The C backend says what the other backends say, in C that compilers accept without a warning."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience import function
from consilience.backends import c, reference
from consilience.backends.c.compiler import command
from consilience.backends.c.file import whole_program
from consilience.backends.llvm import program_of
from consilience.engines.c_library.code import PORTABLE
from consilience.errors import GraphError, NativeError
from consilience.ir import Node, Op
from consilience.lower import entry
from consilience.native.target import Target, host
from consilience.ops import Elementwise
from consilience.ops.random import Key, draw, fold_in
from tests.backends.agreement import inputs_like, lengths_of, same
from tests.backends.test_conformance import CASES, Case, operands, over_ops, rows_of, scale_of, strided
from tests.backends.test_conformance_scalar import ACCURACY, REAL, TABLE, operand
from tests.rows import holds_for_each


def agree(row: Case, dtype: str, symbolic: bool) -> None:
    """A row of the conformance suite."""
    arrays = operands(row, dtype, 1)
    arrays = [strided(a) for a in arrays] if symbolic else arrays
    nodes = inputs_like(arrays, symbolic=symbolic and row.symbolic)
    built = row.build(*nodes)
    outputs = [built] if isinstance(built, Node) else list(built)
    wanted = reference.evaluate(outputs, dict(zip(nodes, arrays, strict=True)))
    found = c.compile(nodes, outputs, lengths_of(nodes, arrays)).bind()(arrays)
    for a, b in zip(found, wanted, strict=True):
        same(a, b, row.rtol if dtype == "float64" else None, scale_of(row, arrays))


FIRST = {row.op: row for row in reversed(CASES)}


@pytest.mark.parametrize("row", [pytest.param(row, id=op.__name__) for op, row in FIRST.items()])
def test_one_row_of_every_op(row: Case) -> None:
    """The first row of the conformance suite for each op."""
    agree(row, row.dtypes[0], symbolic=False)


@pytest.mark.slow
@pytest.mark.parametrize("symbolic", [False, True])
@over_ops
def test_op(op: type[Op], symbolic: bool) -> None:
    """The whole conformance suite, with fixed lengths, and with symbolic ones on strided arrays."""
    holds_for_each(rows_of(op), lambda case: agree(*case, symbolic))


def scalar(names: list[str], dtype: str = "float64") -> None:
    """Functions of numbers, all in one program."""
    arrays, outputs, leaves = [], [], []
    for name in names:
        row = TABLE[name]
        own = [operand(row, i, dtype, (19,), np.random.default_rng(i)) for i in range(row.arity or 2)]
        nodes = inputs_like(own)
        arrays += own
        leaves += nodes
        outputs.append(Node(Elementwise(name), *nodes))
    wanted = reference.evaluate(outputs, dict(zip(leaves, arrays, strict=True)))
    found = c.compile(leaves, outputs, {}).bind()(arrays)
    for name, a, b in zip(names, found, wanted, strict=True):
        same(a, b, ACCURACY.get(name))


FLOATS = sorted(n for n in REAL if "float" in TABLE[n].accepts and TABLE[n].result != "choice")
USUAL = ["add", "exp", "log", "log1p", "sqrt", "sigmoid", "softplus", "floor", "minimum", "tanh", "divide", "erf"]


def test_usual_functions() -> None:
    """Those of nearly every model."""
    scalar([name for name in USUAL if name in FLOATS])


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOATS)
def test_function(name: str) -> None:
    """Each function of the table."""
    scalar([name])


def test_draws_have_the_same_bits() -> None:
    """Random numbers count in integers, which wrap around in C as they do elsewhere."""
    key = Node(Key(3))
    outputs = [draw("random_uniform", key, (50,)), draw("random_poisson", fold_in(key, 3), (7,), 2.5)]
    for a, b in zip(c.compile([], outputs, {}).bind()([]), reference.evaluate(outputs, {}), strict=True):
        np.testing.assert_array_equal(a, b)


def printed(target: Target) -> str:
    """A program with loops, a reduction, masks, and functions of the library."""
    x, y = inputs_like([np.zeros(37), np.zeros((37, 3))])
    outputs = [pt.exp(x).sum(), pt.switch(x > 0, x, pt.log1p(x**2)), (x @ y).max(), pt.sort(x)]
    steps, _ = program_of([x, y], outputs)
    code = entry.write(steps, target)
    return whole_program([code.module], [code.entry], target.fma).text(lambda declaration: f"extern {declaration};\n")


@pytest.mark.parametrize("target", [PORTABLE, host()], ids=["portable", "this machine"])
def test_compilers_accept_the_text_without_a_warning(target: Target, tmp_path: Path) -> None:
    """With -Wall -Wextra, and without vectors also -pedantic: that is ISO C."""
    source = tmp_path / "program.c"
    source.write_text(printed(target))
    strict = ["-pedantic"] if target.lanes == 1 else []
    subprocess.run(
        [*command(), "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", *strict, "-c", str(source), "-o", "/dev/null"],
        check=True,
    )


def test_text_reads_like_c() -> None:
    """Expressions are written out, elements are indexed, and nothing is named that is used once."""
    x, y = inputs_like([np.zeros(5), np.zeros(5)])
    steps, _ = program_of([x, y], [x * y + 1.5])
    code = entry.write(steps, PORTABLE)
    text = whole_program([code.module], [code.entry], False).text(str)
    assert "F64(p2, i) = F64(p, i) * F64(p1, i) + 1.5;" in text
    assert "for (int64_t i = 0; i < 5; i++) {" in text


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """And that another backend needs none."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("consilience.backends.c.compiler._found", c.compiler._found.__wrapped__)
    x = pt.vector("x", shape=(3,))
    with pytest.raises(NativeError, match=r'needs a C compiler.*install gcc or clang.*backend="llvm"'):
        function([x], x + 1.0, backend="c")(np.zeros(3))
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(NativeError, match="CC names the compiler 'no-such-compiler'"):
        function([x], x + 1.0, backend="c")(np.zeros(3))


def test_a_failure_is_found_as_on_machine_code() -> None:
    """An index outside, and a matrix that is not positive definite."""
    x, i = pt.vector("x"), pt.lscalar("i")
    f: Any = function([x, i], x[i], backend="c")
    with pytest.raises(IndexError):
        f(np.zeros(3), 7)
    a = pt.matrix("a")
    g: Any = function([a], pt.linalg.cholesky(a), backend="c")
    with pytest.raises(ArithmeticError):
        g(-np.eye(3))


def test_what_tells_of_llvm_is_refused() -> None:
    """And the report on what runs in Python is that of machine code: nothing."""
    x = pt.vector("x", shape=(3,))
    f: Any = function([x], pt.exp(x), backend="c")
    with pytest.raises(GraphError, match="tells of LLVM's machine code"):
        f.llvm(np.zeros(3))
    assert "NumPy" not in str(f.explain())
