"""BLAS and LAPACK as SciPy brings them.

Names of routines come in; addresses with checked C signatures go out. Matrices, and the decision
between a routine and a loop of our own, stay outside.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from consilience.errors import MissingPackageError, NativeError
from consilience.native.capsule import capsule_name as _capsule_name
from consilience.native.capsule import capsule_pointer as _capsule_pointer

if TYPE_CHECKING:
    from threadpoolctl import LibController, ThreadpoolController

_MODULES = ("cython_blas", "cython_lapack")

PREFIX = "blas_"
"""Of the symbols under which machine code calls routines."""

# Spelling in SciPy's signatures -> C. Whatever else appears there, such as 64-bit integers, is refused.
_SCALARS = {
    "char": "char",
    "int": "int",
    "void": "void",
    "s": "float",
    "d": "double",
    "float": "float",
    "double": "double",
    "__pyx_t_float_complex": "float complex",
    "__pyx_t_double_complex": "double complex",
}
_OWN_TYPE = re.compile(r"__pyx_t_5scipy_6linalg_\d+cython_(?:blas|lapack)_(\w+)")

_lock = threading.Lock()
_users = 0
_before: list[tuple[LibController, int]] = []  # what the last to leave restores
_scanned: tuple[int, ThreadpoolController] | None = None


def address(name: str) -> int:
    """Where the routine `name`, such as "dgemm" or "dpotrf", starts.

    Arguments are pointers in the order of Fortran, with 32-bit integers and without hidden lengths of
    strings. Raises NativeError if SciPy has no such routine or one with other integers.
    """
    signature(name)
    capsule = _routines()[name]
    return int(_capsule_pointer(capsule, _capsule_name(capsule)))


def signature(name: str) -> str:
    """The C signature of a routine: "void (char *, int *, double *, int *, int *)" for "dpotrf"."""
    try:
        capsule = _routines()[name]
    except KeyError:
        raise NativeError(f"SciPy has no BLAS or LAPACK routine {name!r}; write it as in 'dgemm'") from None
    text = _capsule_name(capsule).decode()
    result, _, arguments = text.rstrip(")").partition("(")
    given = [part.strip() for part in arguments.split(",") if part.strip()]
    return f"{_c_type(result.strip(), name, text)} ({', '.join(_c_type(part, name, text) for part in given)})"


def imports(names: Iterable[str]) -> dict[str, int]:
    """Addresses for `jit.load(imports=...)`: the routine `dgemm` under the symbol `blas_dgemm`."""
    return {f"{PREFIX}{name}": address(name) for name in names}


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """One BLAS thread while anyone is inside.

    Parallel chains that each call a threaded BLAS wait for its one pool of threads, up to twenty times
    longer than they work. The setting belongs to the whole process: the first to enter makes it, in all
    BLAS libraries loaded by then, the last to leave restores what was before. Threads may enter and leave
    in any order, and the same thread several times. Only OpenMP counts for each thread by itself, so
    every thread that calls BLAS should enter.
    """
    global _users
    with _lock:
        shared, own = _pools()
        if _users == 0:
            _before[:] = _limit_to_one(shared)
        mine = _limit_to_one(own)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _restore(mine)
            _users -= 1
            if _users == 0:
                _restore(_before)
                _before.clear()


def libraries() -> list[dict[str, object]]:
    """The BLAS libraries in this process as threadpoolctl describes them, that of SciPy among them."""
    _routines()
    with _lock:
        return [dict(pool) for pool in _controller().info() if pool["user_api"] == "blas"]


@functools.cache
def kernel() -> str:
    """In words, which code of NumPy's BLAS this processor gets: it decides last digits, as vectors' width does.

    Name, version and, for OpenBLAS, the family of processors, which `OPENBLAS_CORETYPE` may set to another one. SciPy's
    own OpenBLAS chooses by the same rule.
    """
    import ctypes

    from numpy.__config__ import CONFIG
    from numpy.linalg import _umath_linalg

    found = CONFIG.get("Build Dependencies", {}).get("blas", {})
    words = [str(found.get("name", "")), str(found.get("version", ""))]
    with contextlib.suppress(OSError, AttributeError):  # another BLAS, or a system without such names
        library = ctypes.CDLL(_umath_linalg.__file__)
        names = [f"{prefix}openblas_get_corename{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "")]
        told = next((getattr(library, name) for name in names if hasattr(library, name)), None)
        if told is not None:
            told.restype = ctypes.c_char_p
            words.append(told().decode())
    return " ".join(word for word in words if word)


def _pools() -> tuple[list[LibController], list[LibController]]:
    """BLAS libraries whose number of threads belongs to the process, and to the calling thread."""
    found = [pool for pool in _controller().lib_controllers if pool.user_api == "blas"]
    own = [pool for pool in found if getattr(pool, "threading_layer", None) == "openmp"]
    return [pool for pool in found if pool not in own], own


def _limit_to_one(pools: list[LibController]) -> list[tuple[LibController, int]]:
    """Set one thread; what to restore."""
    before = [(pool, pool.get_num_threads()) for pool in pools]
    found = [(pool, int(count)) for pool, count in before if count is not None and count > 1]
    _restore([(pool, 1) for pool, _ in found])
    return found


def _restore(settings: list[tuple[LibController, int]]) -> None:
    for pool, count in settings:
        # Newer versions of threadpoolctl let only the thread that came first set OpenBLAS and silently ignore
        # the others. Here the first and the last thread differ, and are counted already.
        getattr(pool, "_real_set_num_threads", pool.set_num_threads)(count)


def _controller() -> ThreadpoolController:
    """The pools of threads in this process; looked for again only after something was imported."""
    global _scanned
    from threadpoolctl import ThreadpoolController

    loaded = len(sys.modules)
    if _scanned is None or _scanned[0] != loaded:
        _scanned = loaded, ThreadpoolController()
    return _scanned[1]


@functools.cache
def _routines() -> dict[str, object]:
    """Capsules of all routines by name; they hold their module, and it the library."""
    found: dict[str, object] = {}
    for name in _MODULES:
        try:
            capsules = vars(_import(f"scipy.linalg.{name}")).get("__pyx_capi__")
        except ImportError as error:
            raise MissingPackageError.of("SciPy", "pip install 'scipy>=1.15'", error) from error
        if not isinstance(capsules, dict):
            raise NativeError(f"scipy.linalg.{name} exports no C functions; install SciPy 1.15 or newer")
        found |= capsules
    return found


def _import(name: str) -> ModuleType:
    """The extension module `name`, without the 0.15 s that the rest of its package takes to import.

    A later ordinary import of the package gets the very same module. Where the short way is not open,
    the ordinary import is taken.
    """
    package, _, _ = name.rpartition(".")
    if package in sys.modules:
        return importlib.import_module(name)
    top = importlib.import_module(package.partition(".")[0])  # sets up the search for shared libraries
    try:
        folders = [str(Path(folder, *package.split(".")[1:])) for folder in top.__path__]
        spec = PathFinder.find_spec(name, folders)
        if spec is None or spec.loader is None:
            return importlib.import_module(name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except (ImportError, OSError, RuntimeError):
        return importlib.import_module(name)
    finally:
        # The module registers itself; forgotten again, the package can import it in the ordinary way.
        if package not in sys.modules:
            sys.modules.pop(name, None)
    return module


def _c_type(spelled: str, name: str, text: str) -> str:
    base = spelled.removesuffix("*").strip()
    own = _OWN_TYPE.fullmatch(base)
    key = own[1] if own else base
    if re.fullmatch(r"[sdcz]select[123]", key):
        return key + " *"  # a function that selects eigenvalues
    if key not in _SCALARS:
        raise NativeError(f"the routine {name!r} has the unexpected type {spelled!r} in its signature {text}")
    return _SCALARS[key] + " *" * spelled.endswith("*")
