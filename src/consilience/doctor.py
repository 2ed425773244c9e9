"""Whether this installation works: its parts, and a self-check of compiler and libraries.

Nothing comes in; lines of text and a verdict go out. Repairing stays outside.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import math
import platform
import time
import warnings
from collections.abc import Callable

from consilience.errors import CacheWarning, ConsilienceError
from consilience.native import blas, cache, jit
from consilience.native.loops import Builder, Module, Value, f64, i64, ptr
from consilience.native.target import host, versions


def examine(write: Callable[[str], object] = print) -> bool:
    """Write a report line by line; whether every part is there and every check passes."""
    healthy = True
    for title, describe in PARTS.items():
        try:
            found = describe()
        except Exception as error:  # whatever is broken must be shown, not raised
            healthy = False
            found = [f"not usable: {_one_line(error)}"]
        for number, line in enumerate(found):
            write(f"{'' if number else title:12}{line}")
    write("")
    for title, check in CHECKS.items():
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CacheWarning)  # a cache that fails has its own line
                check()
        except Exception as error:  # as above
            healthy = False
            write(f"FAILED      {title}: {_one_line(error)}")
        else:
            write(f"ok          {title} ({(time.perf_counter() - started) * 1e3:.1f} ms)")
    write("")
    write("Everything works." if healthy else "Something does not work; see the lines above.")
    return healthy


def cache_lines() -> list[str]:
    """What the object cache holds, in words."""
    entries = cache.entries()
    mebibyte = 2**20
    held = sum(entry.bytes for entry in entries) / mebibyte
    noun = "object" if len(entries) == 1 else "objects"
    return [
        str(cache.place()),
        f"{len(entries)} {noun}, {held:.2f} MiB of at most {cache.limit() / mebibyte:g} MiB",
    ]


def _processor() -> list[str]:
    target = host()
    fused = "with" if target.fma else "without"
    return [
        f"{target.cpu} ({target.triple})",
        f"vectors of {target.lanes} float64, {fused} fused multiply-add",
    ]


def _versions() -> list[str]:
    others = ("numpy", "scipy", "threadpoolctl", "xarray")
    packages = {name: importlib.metadata.version(name) for name in others}
    packages |= {"llvmlite": versions().llvmlite, "LLVM": versions().llvm}
    return [f"{name} {version}" for name, version in packages.items()]


def _libraries() -> list[str]:
    return [
        f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads, "
        f"for {pool.get('architecture', 'any processor')}: {pool['filepath']}"
        for pool in blas.libraries()
    ] or ["no library with a pool of threads"]


def _check_loop() -> None:
    def squares(code: Builder, x: Value) -> Value:
        return code.mul(x, x)

    numbers = [float(number) for number in range(200)]
    _expect(_summed(squares, numbers), sum(number * number for number in numbers), "a sum of squares")


def _check_mathematics() -> None:
    def exponentials(code: Builder, x: Value) -> Value:
        return code.math("exp", x)

    numbers = [number / 100 - 1 for number in range(200)]
    _expect(_summed(exponentials, numbers), math.fsum(map(math.exp, numbers)), "a sum of exponentials")


def _check_blas() -> None:
    n, one, zero = ctypes.c_int(2), ctypes.c_double(1), ctypes.c_double(0)
    a, b, c = ((ctypes.c_double * 4)(*values) for values in ((1, 2, 3, 4), (5, 6, 7, 8), (0, 0, 0, 0)))
    plain = ctypes.c_char(b"N")
    _call("dgemm", plain, plain, n, n, n, one, a, n, b, n, zero, c, n)
    _expect(c[1], 2 * 5 + 4 * 6, "an element of a product of matrices")


def _check_lapack() -> None:
    n, info = ctypes.c_int(2), ctypes.c_int(-1)
    a = (ctypes.c_double * 4)(4, 2, 2, 10)
    _call("dpotrf", ctypes.c_char(b"L"), n, a, n, info)
    _expect(info.value, 0, "the status of a Cholesky factorisation")
    _expect(a[3], 3, "an element of a Cholesky factor")


PARTS: dict[str, Callable[[], list[str]]] = {
    "consilience": lambda: [versions().consilience],
    "python": lambda: [f"{platform.python_version()} ({platform.python_implementation()})"],
    "system": lambda: [platform.platform()],
    "processor": _processor,
    "packages": _versions,
    "BLAS": _libraries,
    "cache": cache_lines,
}

CHECKS: dict[str, Callable[[], None]] = {
    "cache": cache.check,
    "compile and run a loop": _check_loop,
    "vector mathematics": _check_mathematics,
    "BLAS": _check_blas,
    "LAPACK": _check_lapack,
}


def _summed(term: Callable[[Builder, Value], Value], numbers: list[float]) -> float:
    """The sum of `term` over `numbers`, a multiple of 8 of them, in vectors of this machine's width."""
    target = host()
    module = Module()
    code = module.function("summed", [("numbers", ptr), ("count", i64)], f64)
    pointer, count = code.parameters
    wide = f64.vector(target.lanes)
    total = code.variable(code.const(wide, 0.0))
    with code.for_(0, count, target.lanes) as index:
        x = code.load(wide, code.offset(pointer, index, f64))
        code.set(total, code.add(code.get(total), term(code, x)))
    code.ret(code.reduce("add", code.get(total)) if target.lanes > 1 else code.get(total))
    library = jit.load(module, ["summed"])
    function = library.function("summed", ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)
    return float(function((ctypes.c_double * len(numbers))(*numbers), len(numbers)))


def _call(name: str, *arguments: ctypes._CDataType) -> None:
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))
    prototype(blas.address(name))(*[ctypes.addressof(argument) for argument in arguments])


def _expect(found: float, right: float, what: str) -> None:
    if not math.isclose(found, right, rel_tol=1e-14):
        raise ConsilienceError(f"{what} is {right!r}, but {found!r} came out")


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")
