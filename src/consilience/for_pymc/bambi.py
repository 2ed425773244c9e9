"""Bambi's list of inference methods, which refuses what is not in it: a name enters, and leaves again.

Bambi may be imported later than this, so a finder waits for the module that has the list.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

MODULE: Final = "bambi.backend.pymc"


def open_door(name: str) -> None:
    """Have Bambi accept `inference_method=name`, as soon as it is imported."""
    if MODULE in sys.modules:
        _enter(sys.modules[MODULE], name)
    elif not any(isinstance(finder, Waiting) for finder in sys.meta_path):
        sys.meta_path.insert(0, Waiting(name))


def close_door(name: str) -> None:
    """Have Bambi refuse it again."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Waiting)]
    if MODULE in sys.modules:
        _methods(sys.modules[MODULE]).discard(name)


class Waiting:
    """A finder that lets others find the module, and adds the name once it is there."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, path: str, places: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module's own spec, with a loader that adds the name."""
        if path != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(path)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def and_enter(module: ModuleType) -> None:
                execute(module)
                _enter(module, self.name)

            spec.loader.exec_module = and_enter  # type: ignore[method-assign]  # of this loader alone
        return spec


def _enter(module: ModuleType, name: str) -> None:
    _methods(module).add(name)


def _methods(module: ModuleType) -> set[str]:
    """The names of sampling methods; a version of Bambi without them says itself what it refuses."""
    found: set[str] = getattr(module, "_SUPPORTED_METHODS", set())
    return found
