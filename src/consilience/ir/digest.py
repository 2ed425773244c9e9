"""A name for a program that is the same in every process.

Outputs in, 64 hexadecimal digits out. Users' names, source lines and the order of construction do not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from consilience.ir.node import Node
from consilience.ir.text import Printer


def digest(outputs: Sequence[Node], inputs: Sequence[Node] = ()) -> str:
    """SHA-256 of the program's text without names; inputs and lengths are numbered by first appearance."""
    printer = Printer(names=False)
    printer.program(outputs, inputs)
    state = hashlib.sha256()
    for line in (*printer.header(), *printer.lines):
        state.update(line.encode())
        state.update(b"\n")
    return state.hexdigest()
