"""Translations kept on disk, so that the next process neither parses nor translates.

In: native functions and the way to write their program. Out: its LLVM text for this machine. Outside:
translation (`translate`), and machine code, which has an entry of its own in the same cache (`jit`).
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from consilience.native import cache
from consilience.native.emit import emit
from consilience.native.loops import Module
from consilience.native.target import host
from consilience.native.typed_python.function import NativeFunction

_LIBRARY: Final = "consilience"
_ROOT: Final = Path(__file__).resolve().parents[2]

# What every translation depends on: this layer translates, and defines the mathematics; below are numbers only.
_ALWAYS: Final = ("errors", "native")


def written(functions: Mapping[str, NativeFunction[..., Any]], write: Callable[[], Module]) -> str:
    """The LLVM text of the program that `write` makes of `functions`, the functions it exports by name.

    Kept on disk for functions that modules of this library define; their text is a function of the source
    of their layer and of the layers that each depends on. Functions of users are translated in every process.
    """
    target = host()
    layers = sorted({*_ALWAYS, *(_layer(function) for function in functions.values())})
    sources = None if "" in layers else _sources(tuple(layers))
    if sources is None:
        return emit(write(), target)
    named = "".join(f"{name}={_place(function)}\n" for name, function in functions.items())
    digest = cache.digest(f"{sources}\n{sys.hexversion}\n{target.lanes}\n{named}", target, 0, "translation")
    kept = cache.get(digest)
    if kept is not None:
        return kept.decode()
    module = write()
    text = emit(module, target)
    inside = (f"{_LIBRARY}_", *(f"{_LIBRARY}.{layer}." for layer in layers))
    if all(name in functions or name.startswith(inside) for name in module.functions):
        cache.put(digest, text.encode())
    return text


def _layer(function: NativeFunction[..., Any]) -> str:
    """The layer of this library that defines `function` under its own name; empty for other functions."""
    module = function.python.__module__ or ""
    parts = module.split(".")
    known = getattr(sys.modules.get(module), function.name, None) is function
    return parts[1] if known and parts[0] == _LIBRARY and len(parts) > 1 else ""


def _place(function: NativeFunction[..., Any]) -> str:
    return f"{function.python.__module__}.{function.name}"


@functools.cache
def _sources(layers: tuple[str, ...]) -> str | None:
    """Digest of all source text of some layers; None where it cannot be read."""
    state = hashlib.sha256()
    for layer in layers:
        single = _ROOT / f"{layer}.py"
        files = [single] if single.exists() else sorted((_ROOT / layer).rglob("*.py"))
        if not files:
            return None
        for file in files:
            try:
                content = file.read_bytes()
            except OSError:
                return None
            state.update(f"{file.relative_to(_ROOT)}\0{len(content)}\0".encode())
            state.update(content)
    return state.hexdigest()
