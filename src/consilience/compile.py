"""Compilation under the names of PyTensor's module; called, it is PyMC's `compile(inputs, outputs)`."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.backends.contexts import shared
from consilience.backends.function import Function, function
from consilience.backends.modes import DebugMode, Mode, NanGuardMode, mode_named
from consilience.backends.request import In, Out
from consilience.first_use import load_on_use
from consilience.ir.kinds import SharedVariable as SharedVariable
from consilience.tensor.functions import OpFromGraph
from consilience.tensor.python_functions import FromFunctionOp, as_op, wrap_py

__all__ = [
    "DebugMode", "FromFunctionOp", "Function", "In", "Mode", "NanGuardMode", "OpFromGraph", "Out", "SharedVariable",
    "as_op", "function", "get_default_mode", "get_mode", "shared", "wrap_py",
]  # fmt: skip
__path__: Sequence[str] = ()  # PyTensor's modules below this one are found by their path


def get_mode(mode: Mode | str | None = None) -> Mode:
    """The mode with a name such as "FAST_RUN" or "JAX"; ValueError names those there are.

    mode: How the function is compiled; `pm.get_mode` lists the words.
    Returns: The mode of that name.
    See get_default_mode: The mode of functions that are given none.
    See Mode: How a function is compiled.
    >>> type(pm.get_mode("FAST_RUN")).__name__
    'Mode'
    """
    return mode_named(mode)


def get_default_mode() -> Mode:
    """The mode of functions that are given none: `config.mode`.

    Returns: The mode; `pm.config.mode` names it.
    See Mode: How a function is compiled.
    See get_mode: The mode with a name such as "FAST_RUN" or "JAX".
    >>> type(pm.get_default_mode()).__name__
    'Mode'
    """
    return mode_named(None)


load_on_use(__name__, {}, public=True, called="distributions.drawing:compile")
