"""The C backend prints C that reads like C and that compilers accept without a warning."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience import function
from consilience.backends import c
from consilience.backends.c.compiler import command
from consilience.backends.c.file import whole_program
from consilience.backends.llvm import program_of
from consilience.engines.c_library.code import PORTABLE
from consilience.errors import GraphError, NativeError
from consilience.lower import entry
from consilience.native.target import Target, host
from tests.backends.agreement import inputs_like


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
