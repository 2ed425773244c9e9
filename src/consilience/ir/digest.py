"""A name for a program that is the same in every process.

Outputs in, 64 hexadecimal digits out. Users' names, source lines and the order of construction do not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from consilience.ir.node import Node
from consilience.ir.op import Op
from consilience.ir.region import Region
from consilience.ir.text import Printer, constant_text
from consilience.record import Record


def digest(outputs: Sequence[Node], inputs: Sequence[Node] = ()) -> str:
    """SHA-256 of the program's text without names; inputs and lengths are numbered by first appearance."""
    printer = _Fingerprints(names=False)
    printer.program(outputs, inputs)
    state = hashlib.sha256()
    for line in (*printer.header(), *printer.lines):
        state.update(line.encode())
        state.update(b"\n")
    return state.hexdigest()


class _Fingerprints(Printer):
    """Programs with functions of arrays: these by module, name and code."""

    def _plain(self, value: Any, new: list[Region]) -> str:
        if isinstance(value, np.ndarray):
            return constant_text(value)
        if isinstance(value, MethodType):
            return f"{self._plain(value.__func__, new)} of {self._plain(value.__self__, new)}"
        if isinstance(value, FunctionType):
            code = hashlib.sha256(value.__code__.co_code)
            plain = (bool, int, float, str, bytes, type(None))
            code.update(repr([c for c in value.__code__.co_consts if isinstance(c, plain)]).encode())
            code.update(repr(value.__code__.co_names).encode())
            return f"{value.__module__}.{value.__qualname__} {code.hexdigest()[:16]}"
        if callable(value) and not isinstance(value, Node | Op | Region | Record):
            return str(getattr(value, "__name__", type(value).__qualname__))
        return super()._plain(value, new)
