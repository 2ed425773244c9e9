"""BLAS and LAPACK: addresses with the right signatures, and one guard for their threads."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from consilience.errors import NativeError
from consilience.native import blas, jit

N = ctypes.c_char(b"N")
LOWER = ctypes.c_char(b"L")


def call(name: str, *arguments: object) -> None:
    """Call a routine: integers and floats are passed by reference, arrays by their data."""
    kept = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            kept.append(np.ctypeslib.as_ctypes(argument.reshape(-1, order="A")))
        elif isinstance(argument, float):
            kept.append(ctypes.c_double(argument))
        else:
            kept.append(ctypes.c_int(argument) if isinstance(argument, int) else argument)
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kept))
    prototype(blas.address(name))(*map(ctypes.addressof, kept))


def threads() -> set[object]:
    return {pool["num_threads"] for pool in blas.libraries()}


@pytest.fixture
def two_threads() -> Iterator[None]:
    blas.address("dgemm")
    with threadpool_limits(2, "blas"):
        if threads() != {2}:
            pytest.skip("BLAS without threads")
        yield


class TestSignatures:
    @pytest.mark.parametrize(
        ("name", "signature"),
        [
            ("ddot", "double (int *, double *, int *, double *, int *)"),
            ("sscal", "void (int *, float *, float *, int *)"),
            ("zdotc", "double complex (int *, double complex *, int *, double complex *, int *)"),
            ("dpotrf", "void (char *, int *, double *, int *, int *)"),
            ("dgetrf", "void (int *, int *, double *, int *, int *, int *)"),
        ],
    )
    def test_are_given_in_c(self, name: str, signature: str) -> None:
        assert blas.signature(name) == signature

    def test_every_routine_of_scipy_has_one(self) -> None:
        names = sorted(blas._routines())
        assert len(names) > 1000
        assert all("(" in blas.signature(name) and blas.address(name) for name in names)

    def test_other_integers_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A SciPy built with 64-bit integers must not be called with pointers to 32 bits."""
        monkeypatch.setattr(blas, "_capsule_name", lambda capsule: b"double (int64_t *, double *)")
        with pytest.raises(NativeError, match=r"'ddot' has the unexpected type 'int64_t \*'"):
            blas.address("ddot")

    @pytest.mark.parametrize("name", ["", "gemm", "DGEMM", "dgemm_", "__name__"])
    def test_an_unknown_routine_is_named(self, name: str) -> None:
        with pytest.raises(NativeError, match=f"no BLAS or LAPACK routine '{name}'"):
            blas.address(name)


class TestRoutines:
    @given(n=st.integers(1, 12), m=st.integers(1, 12), k=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
    def test_a_product_of_matrices(self, n: int, m: int, k: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        a = np.asfortranarray(random.integers(-9, 9, (n, k)).astype(float))
        b = np.asfortranarray(random.integers(-9, 9, (k, m)).astype(float))
        c = np.zeros((n, m), order="F")
        call("dgemm", N, N, n, m, k, 1.0, a, n, b, k, 0.0, c, n)
        np.testing.assert_array_equal(c, a @ b)

    @given(n=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
    def test_a_cholesky_factorisation(self, n: int, seed: int) -> None:
        factor = np.tril(np.random.default_rng(seed).integers(1, 5, (n, n)).astype(float))
        a = np.asfortranarray(factor @ factor.T)
        info = ctypes.c_int(-1)
        call("dpotrf", LOWER, n, a, n, info)
        assert info.value == 0
        np.testing.assert_allclose(np.tril(a), factor, rtol=1e-9, atol=1e-9)

    def test_a_matrix_without_factor_is_reported(self) -> None:
        info = ctypes.c_int(-1)
        call("dpotrf", LOWER, 2, np.array([[1.0, 2.0], [2.0, 1.0]], order="F"), 2, info)
        assert info.value == 2

    def test_native_code_calls_them(self) -> None:
        text = """
declare double @blas_ddot(ptr, ptr, ptr, ptr, ptr)
define double @norm(ptr %x, i32 %n) {
  %count = alloca i32
  %step = alloca i32
  store i32 %n, ptr %count
  store i32 1, ptr %step
  %square = call double @blas_ddot(ptr %count, ptr %x, ptr %step, ptr %x, ptr %step)
  ret double %square
}
"""
        library = jit.load(text, ["norm"], imports=blas.imports(["ddot", "dgemm"]))
        norm = library.function("norm", ctypes.c_double, ctypes.c_void_p, ctypes.c_int)
        assert norm((ctypes.c_double * 3)(1, 2, 3), 3) == 14

    def test_native_code_finds_them_by_name(self) -> None:
        """Under the prefix alone, and one that SciPy lacks is named."""
        text = """
declare double @blas_{}(ptr, ptr, ptr)
define double @size(ptr %n, ptr %x, ptr %step) {{
  %found = call double @blas_{}(ptr %n, ptr %x, ptr %step)
  ret double %found
}}
"""
        size = jit.load(text.format("dasum", "dasum"), ["size"]).function(
            "size", ctypes.c_double, *[ctypes.c_void_p] * 3
        )
        three, one = ctypes.c_int(3), ctypes.c_int(1)
        assert size(ctypes.addressof(three), (ctypes.c_double * 3)(1, -2, 3), ctypes.addressof(one)) == 6
        with pytest.raises(NativeError, match="dnothing"):
            jit.load(text.format("dnothing", "dnothing"), ["size"])

    def test_imports_are_named_after_the_routine(self) -> None:
        assert blas.imports(["ddot"]) == {"blas_ddot": blas.address("ddot")}


@pytest.mark.usefixtures("two_threads")
class TestSingleThreaded:
    def test_sets_one_thread_and_restores(self) -> None:
        with blas.single_threaded():
            assert threads() == {1}
        assert threads() == {2}

    def test_may_be_nested(self) -> None:
        with blas.single_threaded(), blas.single_threaded():
            with blas.single_threaded():
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == {2}

    def test_restores_after_an_error(self) -> None:
        with pytest.raises(ZeroDivisionError), blas.single_threaded():
            raise ZeroDivisionError
        assert threads() == {2}

    def test_threads_that_overlap_restore_only_at_the_end(self) -> None:
        """The first to enter leaves first: the others still need one thread."""
        entered, leave = threading.Event(), threading.Event()

        def first() -> None:
            with blas.single_threaded():
                entered.set()
                leave.wait()

        other = threading.Thread(target=first)
        other.start()
        entered.wait()
        with blas.single_threaded():
            leave.set()
            other.join()
            assert threads() == {1}
        assert threads() == {2}

    def test_a_thread_that_ended_is_no_obstacle(self) -> None:
        """Whoever entered first need not be the one who restores."""
        guard = blas.single_threaded()
        entering = threading.Thread(target=guard.__enter__)
        entering.start()
        entering.join()
        assert threads() == {1}
        guard.__exit__(None, None, None)
        assert threads() == {2}

    def test_a_limit_held_by_another_thread_is_no_obstacle(self) -> None:
        entered, leave = threading.Event(), threading.Event()

        def holds() -> None:
            with threadpool_limits(2, "blas"):
                entered.set()
                leave.wait()

        other = threading.Thread(target=holds)
        other.start()
        entered.wait()
        try:
            with blas.single_threaded():
                assert threads() == {1}
            assert threads() == {2}
        finally:
            leave.set()
            other.join()

    def test_many_threads_leave_no_trace(self) -> None:
        wrong = []

        def enter() -> None:
            for _ in range(200):
                with blas.single_threaded():
                    if any(pool.get_num_threads() != 1 for pool in blas._pools()[0]):
                        wrong.append(blas._users)

        crowd = [threading.Thread(target=enter) for _ in range(8)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        assert wrong == []
        assert blas._users == 0
        assert threads() == {2}


def test_libraries_include_that_of_scipy() -> None:
    assert any("scipy" in str(pool["filepath"]) or "mkl" in str(pool["filepath"]) for pool in blas.libraries())


def test_scipy_stays_whole_although_little_of_it_is_imported() -> None:
    """The address costs no import of scipy.linalg; a later import gets the same modules, complete."""
    script = """
import sys
from consilience.native import blas
before = blas.address("dpotrf")
assert "scipy.linalg" not in sys.modules, sorted(sys.modules)
assert not [name for name in sys.modules if name.startswith("scipy.linalg.")], sorted(sys.modules)
import scipy.linalg
import scipy.linalg.cython_lapack
assert scipy.linalg.cython_lapack is sys.modules["scipy.linalg.cython_lapack"]
assert scipy.linalg.cython_lapack.__pyx_capi__["dpotrf"] is blas._routines()["dpotrf"]
assert blas.address("dpotrf") == before
import scipy.optimize, scipy.sparse.linalg, scipy.special
assert (scipy.linalg.cholesky([[4.0]]) == 2.0).all()
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


def test_addresses_do_not_depend_on_what_was_imported_first() -> None:
    script = """
import scipy.linalg
from consilience.native import blas
assert blas._routines()["dpotrf"] is scipy.linalg.cython_lapack.__pyx_capi__["dpotrf"]
"""
    subprocess.run([sys.executable, "-c", script], check=True)
