"""Compiling and shared variables, under the names both doors offer."""

from consilience.backends.contexts import Context, shared
from consilience.backends.function import Function, eval, function

__all__ = ["Context", "Function", "eval", "function", "shared"]
