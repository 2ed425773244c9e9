"""Lazy branches under the name of PyTensor's module: `from consilience.ifelse import ifelse`, or the module called."""

from __future__ import annotations

import sys
from typing import Any

from consilience.first_use import NamedModule, guard
from consilience.ops.control import cond, ifelse

__all__ = ["cond", "ifelse"]


class _IfelseModule(NamedModule):
    """This module, which may be called as the function that it is named after."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return ifelse(*arguments, **keywords)


sys.modules[__name__].__class__ = _IfelseModule

guard(globals())
