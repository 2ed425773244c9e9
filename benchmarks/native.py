"""C sources in, callable addresses and timing loops out.

Everything timed, hand-written or generated, is called from the same C loops of `c/timing.c`.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.problems import Problem

if TYPE_CHECKING:
    from consilience.inference.density import LogDensity

SOURCES = Path(__file__).parent / "c"
BUILD = SOURCES / "build"
FLAGS = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-Wall"]


def compile_c(source: str, sizes: dict[str, int] | None = None) -> ctypes.CDLL:
    """The shared library of `c/<source>.c` with `sizes` as macros."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("the comparison with C needs gcc on the path; install it and run again.")
    BUILD.mkdir(exist_ok=True)
    sizes = sizes or {}
    library = BUILD / ("_".join([source, *(f"{key}{value}" for key, value in sizes.items())]) + ".so")
    macros = [f"-D{key}={value}" for key, value in sizes.items()]
    subprocess.run([compiler, *FLAGS, *macros, str(SOURCES / f"{source}.c"), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


@functools.cache
def timing() -> ctypes.CDLL:
    """The timing loops."""
    library = compile_c("timing")
    for name in ("time_plain", "time_entry", "time_read", "time_gaussian"):
        getattr(library, name).restype = ctypes.c_double
    return library


def aligned(count: int, dtype: type = np.float64, boundary: int = 64) -> np.ndarray:
    """Zeros at an address that is a multiple of `boundary`."""
    size = count * np.dtype(dtype).itemsize
    raw = np.zeros(size + boundary, dtype=np.uint8)
    offset = -raw.ctypes.data % boundary
    return raw[offset : offset + size].view(dtype)


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    """Address of the first element."""
    return ctypes.c_void_p(array.ctypes.data)


class PlainDensity:
    """A hand-written density `double f(const double *q, double *grad, const void *data)`."""

    def __init__(self, problem: Problem) -> None:
        self.position = aligned(problem.position.size)
        self.position[:] = problem.position
        self.gradient = aligned(problem.position.size)
        self.arrays = [aligned(a.size, a.dtype.type) for a in problem.fields]
        for target, source in zip(self.arrays, problem.fields, strict=True):
            target[:] = source.ravel()
        fields = [(f"field{i}", ctypes.c_void_p) for i in range(len(self.arrays))]
        layout = type("Data", (ctypes.Structure,), {"_fields_": [*fields, ("constant", ctypes.c_double)]})
        self.data = layout(*(a.ctypes.data for a in self.arrays), problem.constant)
        self.library = compile_c(problem.source, problem.sizes)
        self.function = self.library.logp_grad
        self.function.restype = ctypes.c_double

    def __call__(self, position: np.ndarray) -> tuple[float, np.ndarray]:
        """Log density and gradient at `position`."""
        self.position[:] = position
        logp = self.function(pointer(self.position), pointer(self.gradient), ctypes.byref(self.data))
        return logp, self.gradient.copy()

    def seconds(self, calls: int) -> float:
        """Time of `calls` calls."""
        return float(
            timing().time_plain(
                self.function,
                pointer(self.position),
                pointer(self.gradient),
                ctypes.byref(self.data),
                ctypes.c_long(calls),
            )
        )


class GeneratedDensity:
    """Generated code `i64 entry(ptr inputs, ptr outputs, ptr workspace, ptr constants)`."""

    def __init__(self, density: LogDensity) -> None:
        self.density = density  # keeps the code alive
        self.position, self.gradient = aligned(density.dimension), aligned(density.dimension)
        self.logp, self.workspace = aligned(1), aligned(max(density.workspace, 1), np.uint8)
        self.inputs = (ctypes.c_void_p * 1)(self.position.ctypes.data)
        self.outputs = (ctypes.c_void_p * 2)(self.logp.ctypes.data, self.gradient.ctypes.data)
        self.entry, self.constants = ctypes.c_void_p(density.entry), ctypes.c_void_p(density.constants)

    def __call__(self, position: np.ndarray) -> tuple[float, np.ndarray]:
        """Log density and gradient at `position`."""
        self.position[:] = position
        self.seconds(1)
        return float(self.logp[0]), self.gradient.copy()

    def seconds(self, calls: int) -> float:
        """Time of `calls` calls."""
        taken = timing().time_entry(
            self.entry,
            self.inputs,
            self.outputs,
            pointer(self.workspace),
            self.constants,
            ctypes.c_long(calls),
        )
        if taken < 0:
            raise RuntimeError("generated code reported a status at the position to be timed.")
        return float(taken)


class Read:
    """Reads of one array at the speed of memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.sink = aligned(array.size), aligned(1)
        self.array[:] = array.ravel()

    def seconds(self, passes: int) -> float:
        """Time of `passes` reads of the whole array."""
        arguments = (
            pointer(self.array),
            ctypes.c_long(self.array.size),
            ctypes.c_long(passes),
            pointer(self.sink),
        )
        return float(timing().time_read(*arguments))


class GaussianLapack:
    """The LAPACK calls that a Gaussian log density and its gradient need: dpotrf, dpotri, dpotrs."""

    def __init__(self, covariance: np.ndarray, y: np.ndarray) -> None:
        self.n = y.size
        self.a, self.b = aligned(self.n**2), aligned(self.n)
        self.a[:], self.b[:] = covariance.ravel(), y
        self.work, self.x, self.parts = aligned(self.n**2), aligned(self.n), np.zeros(3)
        self.calls = [lapack_address(name) for name in ("dpotrf", "dpotri", "dpotrs")]

    def seconds(self, calls: int) -> float:
        """Time of `calls` rounds; `parts` then holds the share of each of the three."""
        taken = timing().time_gaussian(
            *self.calls,
            ctypes.c_int(self.n),
            *map(pointer, (self.a, self.b, self.work, self.x)),
            ctypes.c_long(calls),
            pointer(self.parts),
        )
        if taken < 0:
            raise RuntimeError("the covariance to be timed is not positive definite.")
        return float(taken)


def lapack_address(name: str) -> ctypes.c_void_p:
    """Address of a LAPACK function, from SciPy's table for Cython."""
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_void_p(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))


Timed = PlainDensity | GeneratedDensity | Read | GaussianLapack


def race(runners: Sequence[Timed], repeats: int = 60, slice_seconds: float = 4e-3) -> list[float]:
    """Best seconds per call of each runner, all taking turns so that they meet the same conditions."""
    calls = []
    for runner in runners:
        count, taken = 1, runner.seconds(1)
        while taken < slice_seconds / 4:
            count *= 4
            taken = runner.seconds(count)
        calls.append(max(1, round(count * slice_seconds / taken)))
    best = [float("inf")] * len(runners)
    for _ in range(repeats):
        for i, runner in enumerate(runners):
            best[i] = min(best[i], runner.seconds(calls[i]) / calls[i])
    return best


def one_core() -> None:
    """Keep this process on one core, where the system knows how."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
