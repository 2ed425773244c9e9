"""Settings of the language: the dtype of floats that nobody asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from consilience.errors import DtypeError
from consilience.ir.types import FLOATS

OTHERS: Final[dict[str, object]] = {
    "allow_gc": True, "blas__ldflags": "", "cast_policy": "custom", "check_input": True, "compute_test_value": "off",
    "cxx": "", "device": "cpu", "exception_verbosity": "low", "gcc__cxxflags": "", "int_division": "int",
    "linker": "auto", "mode": "Mode", "on_opt_error": "warn", "on_unused_input": "raise", "openmp": False,
    "optdb__max_use_ratio": 8.0, "optimizer": "o4", "optimizer_excluding": "", "optimizer_including": "",
    "optimizer_verbose": False, "profile": False, "traceback__limit": 8, "warn_float64": "ignore",
}  # fmt: skip
"""PyTensor's flags that say how it compiles and what it tells meanwhile, with what holds here: no C++ compiler."""
_inside: ContextVar[str | None] = ContextVar("floatX", default=None)


class Config:
    """`floatX`: dtype of symbolic variables, zeros, ones and Python floats that are given none.

    One of float64 (the default), float32 and float16. What is assigned holds for all threads, `change_flags` for the
    block in its own thread. Variables and arrays keep the dtype they were given.

    PyTensor's other flags can be read and assigned, and change nothing.
    """

    def __init__(self) -> None:
        self._floatX = "float64"

    @property
    def floatX(self) -> str:  # PyTensor's name
        """The dtype of floats that are given none."""
        return _inside.get() or self._floatX

    @floatX.setter
    def floatX(self, dtype: str) -> None:
        self._floatX = _checked(dtype)

    def __getattr__(self, name: str) -> Any:
        if name not in OTHERS:
            raise AttributeError(_unknown(name), name=name, obj=self)
        return OTHERS[name]

    def __setattr__(self, name: str, value: object) -> None:
        if name not in ("_floatX", "floatX", *OTHERS):
            raise AttributeError(_unknown(name), name=name, obj=self)
        super().__setattr__(name, value)

    @contextmanager
    def change_flags(self, *, floatX: str | None = None, **others: object) -> Iterator[None]:
        """Another `floatX` inside a `with` block or a decorated function.

        others   PyTensor's flags of compiling and checking, which change no value: accepted, without influence
        raises   TypeError for a name that is none of them
        """
        for name in others:
            if name not in OTHERS:
                raise TypeError(_unknown(name))
        token = _inside.set(self.floatX if floatX is None else _checked(floatX))
        try:
            yield
        finally:
            _inside.reset(token)

    def __repr__(self) -> str:
        return f"Config(floatX={self.floatX!r})"


def _unknown(name: str) -> str:
    return f"there is no flag `{name}`; `floatX` is one, and without influence {', '.join(OTHERS)}."


def _checked(dtype: str) -> str:
    if dtype not in FLOATS:
        raise DtypeError(f"floatX must be one of {', '.join(FLOATS)}, got {dtype!r}.")
    return dtype


config = Config()
