"""SciPy's special functions for machine code: addresses with checked signatures, no interpreter, no messages."""

from __future__ import annotations

import ctypes
import sys
import threading
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special

from consilience.errors import MissingPackageError, NativeError
from consilience.native import blas, jit, scipy_special

PROGRAM = """
declare double @special_{name}(double, double, i32)
define double @run(double %v, double %x) {{
  %y = call double @special_{name}(double %v, double %x, i32 0)
  ret double %y
}}
"""


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("i0", "double (double, int)"),
        ("iv", "double (double, double, int)"),
        ("expn", "double (double, double, int)"),  # there is one with whole orders as well
        ("hyp2f1", "double (double, double, double, double, int)"),
        ("sici", "void (double, double *, double *)"),
    ],
)
def test_signatures_are_those_of_float64(name: str, signature: str) -> None:
    assert scipy_special.signature(name) == signature
    assert scipy_special.imports([name]) == {f"special_{name}": scipy_special.address(name)}


@pytest.mark.parametrize("name", ["", "bessel", "wofz", "__pyx_fuse_0iv"])
def test_what_scipy_lacks_or_has_for_complex_numbers_only_is_named(name: str) -> None:
    with pytest.raises(NativeError, match=f"no C function '{name}' of float64"):
        scipy_special.address(name)


@pytest.mark.parametrize(
    ("module", "read"),
    [("scipy.special.cython_special", scipy_special._capsules), ("scipy.linalg.cython_lapack", blas._routines)],
)
def test_scipy_absent_or_too_old_is_named_when_it_is_needed(
    module: str, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scipy.linalg.__name__ in sys.modules  # so modules are looked for in the ordinary way
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError, match=r"SciPy is not there: pip install 'scipy>=1\.15'"):
        read.__wrapped__()
    monkeypatch.setitem(sys.modules, module, ModuleType(module))
    with pytest.raises(NativeError, match=r"exports no C functions; install SciPy 1\.15 or newer"):
        read.__wrapped__()


@pytest.mark.parametrize("name", ["iv", "ive", "kv", "kve", "jv", "yv"])
def test_machine_code_finds_them_by_name(name: str) -> None:
    """With the bits that SciPy gives to arrays."""
    run = jit.load(PROGRAM.format(name=name), ["run"]).function("run", *[ctypes.c_double] * 3)
    random = np.random.default_rng(0)
    v, x = random.uniform(0.0, 30.0, 200), 10.0 ** random.uniform(-3.0, 3.0, 200)
    np.testing.assert_array_equal([run(a, b) for a, b in zip(v, x, strict=True)], getattr(scipy.special, name)(v, x))


def test_errors_print_nothing_and_come_back_as_numbers(capfd: pytest.CaptureFixture[str]) -> None:
    """Also in threads that the interpreter did not start work in."""
    run = jit.load(PROGRAM.format(name="kv"), ["run"]).function("run", *[ctypes.c_double] * 3)
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.extend([run(0.5, -1.0), run(0.5, 0.0), run(0.5, 1e300)]))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found, [np.nan, np.inf, 0.0])
    assert capfd.readouterr() == ("", "")
