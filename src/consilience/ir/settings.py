"""Settings of the language: the dtype of floats that nobody asked for, and PyTensor's other flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Any, Final

from consilience.errors import DtypeError

FLOATS: Final = ("float64", "float32", "float16")
"""Dtypes of floats, the widest first."""

OTHERS: Final[Mapping[str, object]] = {
    "allow_gc": True,
    "base_compiledir": "",
    "blas__check_openmp": True,
    "blas__ldflags": "",
    "cast_policy": "custom",
    "check_input": True,
    "check_stack_trace": "off",
    "compile__timeout": 120,
    "compile__wait": 5,
    "compiledir": "",
    "compiler_verbose": False,
    "compute_test_value": "off",
    "cxx": "",
    "cycle_detection": "regular",
    "exception_verbosity": "low",
    "gcc__cxxflags": "",
    "linker": "auto",
    "mode": "Mode",
    "numba__cache": True,
    "numba__fastmath": False,
    "on_opt_error": "raise",
    "on_shape_error": "raise",
    "on_unused_input": "raise",
    "openmp": False,
    "openmp_elemwise_minsize": 200000,
    "optdb__max_use_ratio": 8.0,
    "optimizer": "o4",
    "optimizer_excluding": "",
    "optimizer_including": "",
    "optimizer_requiring": "",
    "optimizer_verbose": False,
    "profile": False,
    "profile_memory": False,
    "profile_optimizer": False,
    "scan__allow_gc": False,
    "scan__allow_output_prealloc": True,
    "tensor__cmp_sloppy": 0,
    "traceback__compile_limit": 0,
    "traceback__limit": 8,
    "unpickle_function": True,
    "vm__lazy": None,
    "warn_float64": "ignore",
}
"""PyTensor's other flags with their first values. `mode` is that of functions given none; the rest say how PyTensor
compiles and what it tells meanwhile, and change nothing here."""
CAST_POLICIES: Final = ("custom", "numpy", "numpy+floatX")
"""All three give NumPy's dtypes of tensors with tensors; Python's numbers take the dtype beside them under each."""
_inside: ContextVar[Mapping[str, Any]] = ContextVar("flags", default={})  # noqa: B039 - never written to


class Config:
    """`floatX`: dtype of symbolic variables, zeros, ones and Python floats that are given none.

    One of float64 (the default), float32 and float16. What is assigned holds for all threads, `change_flags` for the
    block in its own thread. Variables and arrays keep the dtype they were given, and the random variables and data of
    models are float64 (int64 for counts) under each setting: log densities of many rows need more than seven digits. Of
    samplers, chains of `pm.sample(backend="jax")` alone move in single precision under "float32".

    `mode` is how functions are compiled that are given no mode; PyTensor's other flags can be read and set, and change
    no value.
    """

    floatX: str  # PyTensor's name
    mode: Any

    def __init__(self) -> None:
        vars(self)["_flags"] = {"floatX": "float64", **OTHERS}

    def __getattr__(self, name: str) -> Any:
        inside = _inside.get()
        if name in inside:
            return inside[name]
        flags = vars(self).get("_flags", {})
        if name in flags:
            return flags[name]
        raise AttributeError(_unknown(name), name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self)["_flags"].update(_checked({name: value}, AttributeError))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *vars(self)["_flags"]})

    @contextmanager
    def change_flags(self, **flags: Any) -> Iterator[None]:
        """Another `floatX` or `mode` inside a `with` block or a decorated function; None leaves `floatX` as it is.

        Raises TypeError for a name that is none of them. Raises DtypeError for values that would change dtypes
        otherwise.

        PyTensor's flags of compiling and checking, which change no value: accepted, without influence.
        """
        given = {name: value for name, value in flags.items() if name != "floatX" or value is not None}
        token = _inside.set({**_inside.get(), **_checked(given, TypeError)})
        try:
            yield
        finally:
            _inside.reset(token)

    def __repr__(self) -> str:
        return f"Config(floatX={self.floatX!r})"


def _unknown(name: str) -> str:
    near = get_close_matches(name, ["floatX", *OTHERS], 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"those without influence are {', '.join(OTHERS)}."
    return f"there is no flag `{name}`; `floatX` and `mode` have influence; {hint}"


def _checked(flags: dict[str, Any], kind: type[Exception]) -> dict[str, Any]:
    for name, value in flags.items():
        if name == "floatX":
            if value not in FLOATS:
                raise DtypeError(f"floatX must be one of {', '.join(FLOATS)}, got {value!r}.")
        elif name not in OTHERS:
            raise kind(_unknown(name))
        elif name == "cast_policy" and value not in CAST_POLICIES:
            raise DtypeError(f"`cast_policy` is one of {', '.join(CAST_POLICIES)}, got {value!r}.")
    return flags


config = Config()
