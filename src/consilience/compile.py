"""Compilation under the names of PyTensor's module; called, it is PyMC's `compile(inputs, outputs)`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from consilience.backends.contexts import shared
from consilience.backends.function import Function, function
from consilience.backends.modes import DebugMode, Mode, NanGuardMode, mode_named
from consilience.backends.request import In, Out
from consilience.distributions.drawing import compile as _compile
from consilience.first_use import NamedModule, guard
from consilience.ir.kinds import SharedVariable as SharedVariable
from consilience.names import module_paths
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


def __getattr__(name: str) -> Any:
    return module_paths.attribute(__name__, name, __all__)


class _Compile(NamedModule):
    """This module, which may be called as PyMC's function of its name."""

    __doc__ = _compile.__doc__

    def __call__(self, *arguments: Any, **keywords: Any) -> Function:
        return _compile(*arguments, **keywords)


sys.modules[__name__].__class__ = _Compile

guard(globals())
