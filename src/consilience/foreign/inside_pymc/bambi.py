"""Bambi's list of inference methods, which refuses what is not in it: a name enters, and leaves again.

Bambi may be imported later than this, so a finder waits for the module that has the list.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

MODULE: Final = "bambi.backend.pymc"
LIST: Final = "_SUPPORTED_METHODS"


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
        _enter(sys.modules[MODULE], None)


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


class Methods(set[str]):
    """Bambi's own methods, which its messages list, and one that is taken besides."""

    def __init__(self, own: Iterable[str], besides: str) -> None:
        super().__init__(own)
        self.besides = besides

    def __contains__(self, name: object) -> bool:
        return name == self.besides or super().__contains__(name)


def _enter(module: ModuleType, besides: str | None) -> None:
    own: set[str] | None = getattr(module, LIST, None)
    if own is not None:  # a version of Bambi without the list says itself what it refuses
        setattr(module, LIST, set(own) if besides is None else Methods(own, besides))
