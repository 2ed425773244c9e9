"""Settings of the language: the dtype of floats that nobody asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from consilience.errors import DtypeError
from consilience.ir.types import FLOATS

OTHERS: Final = (
    "allow_gc", "blas__ldflags", "check_input", "compute_test_value", "cxx", "exception_verbosity",
    "gcc__cxxflags", "linker", "mode", "on_opt_error", "openmp", "optimizer", "optimizer_excluding",
    "optimizer_including", "optimizer_verbose", "profile", "traceback__limit", "warn_float64",
)  # fmt: skip
"""PyTensor's flags that say how it compiles and what it tells meanwhile."""
_inside: ContextVar[str | None] = ContextVar("floatX", default=None)


class Config:
    """`floatX`: dtype of symbolic variables, zeros, ones and Python floats that are given none.

    One of float64 (the default), float32 and float16. What is assigned holds for all threads, `change_flags` for the
    block in its own thread. Variables and arrays keep the dtype they were given.
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

    @contextmanager
    def change_flags(self, *, floatX: str | None = None, **others: object) -> Iterator[None]:
        """Another `floatX` inside a `with` block or a decorated function.

        others   PyTensor's flags of compiling and checking, which change no value: accepted, without influence
        raises   TypeError for a name that is none of them
        """
        for name in others:
            if name not in OTHERS:
                raise TypeError(
                    f"there is no flag `{name}`; `floatX` is one, and without influence {', '.join(OTHERS)}."
                )
        token = _inside.set(self.floatX if floatX is None else _checked(floatX))
        try:
            yield
        finally:
            _inside.reset(token)

    def __repr__(self) -> str:
        return f"Config(floatX={self.floatX!r})"


def _checked(dtype: str) -> str:
    if dtype not in FLOATS:
        raise DtypeError(f"floatX must be one of {', '.join(FLOATS)}, got {dtype!r}.")
    return dtype


config = Config()
