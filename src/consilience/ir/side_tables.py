"""What users call things and where they wrote them, kept beside the graph.

Nothing here is part of a node's identity: equal expressions share one node whatever their names.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

from consilience.errors import ArgumentError

if TYPE_CHECKING:
    from consilience.ir.node import Node

_names: weakref.WeakKeyDictionary[Node, str] = weakref.WeakKeyDictionary()
_sources: weakref.WeakKeyDictionary[Node, tuple[str, int]] = weakref.WeakKeyDictionary()
_origins: weakref.WeakKeyDictionary[Node, tuple[weakref.ref[Node], ...]] = weakref.WeakKeyDictionary()
_tags: weakref.WeakKeyDictionary[Node, SimpleNamespace] = weakref.WeakKeyDictionary()
_state = threading.local()


def set_name(node: Node, name: str | None) -> None:
    """Attach the user's name; the latest wins, None takes it away."""
    if name is None:
        _names.pop(node, None)
    elif isinstance(name, str):
        _names[node] = name
    else:
        raise ArgumentError(f"`name` of a tensor must be text or None, got {name!r}.")


def tag_of(node: Node) -> SimpleNamespace:
    """The user's notes on a node."""
    return _tags.setdefault(node, SimpleNamespace())


def name_of(node: Node) -> str | None:
    """The user's name, if one was given."""
    return _names.get(node)


def add_origins(node: Node, origins: Iterable[Node]) -> None:
    """Note what a node was derived from, such as the inputs of the cost behind a gradient."""
    _origins[node] = tuple(map(weakref.ref, dict.fromkeys((*origins_of(node), *origins))))


def origins_of(node: Node) -> list[Node]:
    """What the node was derived from, as far as it was noted and is there; it may no longer depend on it."""
    return [origin for reference in _origins.get(node, ()) if (origin := reference()) is not None]


def record_source(node: Node) -> None:
    """Remember the nearest line outside this library that led to the node."""
    if getattr(_state, "silent", False):
        return
    frame = sys._getframe(2)
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith("consilience."):
            _sources[node] = (frame.f_code.co_filename, frame.f_lineno)
            return
        frame = frame.f_back  # type: ignore[assignment]  # the last frame has no caller; the loop ends there


def source_of(node: Node) -> str:
    """`file:line` where the user wrote the expression, or an empty text."""
    place = _sources.get(node)
    return f"{place[0]}:{place[1]}" if place else ""


def marks_of(node: Node) -> tuple[str | None, tuple[str, int] | None]:
    """Name and source line, as `restore_marks` takes them."""
    return _names.get(node), _sources.get(node)


def restore_marks(node: Node, marks: tuple[str | None, tuple[str, int] | None]) -> None:
    """Give a node its name and source line, where it has none."""
    name, source = marks
    if name is not None:
        _names.setdefault(node, name)
    if source is not None:
        _sources.setdefault(node, source)


def pass_on(old: Node, new: Node) -> None:
    """Give the name and source line of a replaced node to its replacement, where this has none."""
    if old in _names:
        _names.setdefault(new, _names[old])
    if old in _sources:
        _sources.setdefault(new, _sources[old])


def lend_source(origin: Node, nodes: Iterable[Node]) -> None:
    """Give the source line of one node to those that have none, such as the formulas behind a random variable."""
    if origin in _sources:
        for node in nodes:
            _sources.setdefault(node, _sources[origin])


def carry(old: Node, new: Node) -> None:
    """As `pass_on` inside `carrying_marks`; elsewhere nothing, since most values of lowered graphs are never shown."""
    if getattr(_state, "carrying", False):
        pass_on(old, new)


@contextmanager
def carrying_marks() -> Iterator[None]:
    """Inside, values that lowering makes of others keep their names and source lines."""
    before = getattr(_state, "carrying", False)
    _state.carrying = True
    try:
        yield
    finally:
        _state.carrying = before


def is_carrying() -> bool:
    """Whether values keep their marks while they are lowered."""
    return getattr(_state, "carrying", False)


@contextmanager
def without_sources() -> Iterator[None]:
    """Do not look for source lines inside; rewriting and differentiation create many nodes."""
    before = getattr(_state, "silent", False)
    _state.silent = True
    try:
        yield
    finally:
        _state.silent = before


def describe(node: Node) -> str:
    """The node in words for an error message: name, op, type and the user's line."""
    name, place = name_of(node), source_of(node)
    title = f"`{name}`" if name else f"the result of {node.op!r}"
    return f"{title} of type {node.type!r}" + (f" (written at {place})" if place else "")
