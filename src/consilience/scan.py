"""Loops as PyTensor's module has them: `consilience.scan(fn, …)`, and what belongs to it by name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from consilience.first_use import NamedModule, guard
from consilience.names import module_paths
from consilience.tensor.loops import foldl, foldr, map, reduce, scan, until, while_loop

__all__ = ["foldl", "foldr", "map", "reduce", "scan", "until", "while_loop"]
__path__: Sequence[str] = ()  # PyTensor's modules below this one are found by their path


def __getattr__(name: str) -> Any:
    return module_paths.attribute(__name__, name, __all__)


class _ScanModule(NamedModule):
    """This module, which may be called as the function that it is named after."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return scan(*arguments, **keywords)


sys.modules[__name__].__class__ = _ScanModule

guard(globals())
