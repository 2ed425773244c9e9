"""Special functions as SciPy brings them, for machine code.

Names of `scipy.special.cython_special` come in; addresses of C functions of float64 with checked signatures go
out. They need no interpreter and print nothing: SciPy ignores what its functions report unless told otherwise by
`scipy.special.seterr`. How they are applied to vectors stays outside (`vectormath`).
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable

from consilience.errors import MissingPackageError, NativeError
from consilience.native.capsule import capsule_name, capsule_pointer

PREFIX = "special_"
"""Of the symbols under which machine code calls them."""

_MODULE = "scipy.special.cython_special"
_FLAG = "int __pyx_skip_dispatch"  # Cython's last parameter of functions that Python may call as well; 0
_VARIANTS = ("", "__pyx_fuse_0", "__pyx_fuse_1")  # a function of several types has one capsule for each
_TYPES = {"double": "double", "double *": "double *", _FLAG: "int"}


def address(name: str) -> int:
    """Where the function `name`, such as "iv" or "sici", starts; `signature` says how to call it.

    Raises NativeError if SciPy has no such function of float64.
    """
    capsule, _ = _find(name)
    return capsule_pointer(capsule, capsule_name(capsule))


def signature(name: str) -> str:
    """The C signature: "double (double, double, int)" for "iv", "void (double, double *, double *)" for "sici".

    The last `int`, where there is one, is to be 0.
    """
    return _find(name)[1]


def imports(names: Iterable[str]) -> dict[str, int]:
    """Addresses for `jit.load(imports=...)`: the function `iv` under the symbol `special_iv`."""
    return {f"{PREFIX}{name}": address(name) for name in names}


def _find(name: str) -> tuple[object, str]:
    """The capsule of the variant for float64, and its signature in C."""
    capsules = _capsules()
    for variant in _VARIANTS:
        capsule = capsules.get(variant + name)
        text = None if capsule is None else _c_signature(capsule_name(capsule).decode())
        if text is not None:
            return capsule, text
    raise NativeError(f"{_MODULE} has no C function {name!r} of float64; write the name as in scipy.special: 'iv'")


def _c_signature(text: str) -> str | None:
    """In plain C what Cython spells, None where other types than float64 appear."""
    result, _, rest = text.rstrip(")").partition("(")
    parts = [_TYPES.get(part.strip()) for part in rest.split(",")]
    if result.strip() not in ("double", "void") or None in parts:
        return None
    return f"{result.strip()} ({', '.join(part for part in parts if part)})"


@functools.cache
def _capsules() -> dict[str, object]:
    """Capsules of all functions by name; they hold their module, and it the library."""
    try:
        capsules = vars(importlib.import_module(_MODULE)).get("__pyx_capi__")
    except ImportError as error:
        raise MissingPackageError.of("SciPy", "pip install 'scipy>=1.15'", error) from error
    if not isinstance(capsules, dict):
        raise NativeError(f"{_MODULE} exports no C functions; install SciPy 1.15 or newer")
    return capsules
