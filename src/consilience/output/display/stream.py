"""What a stream can show: its width, its letters, and whether a line of it can be redrawn."""

from __future__ import annotations

import os
from typing import TextIO

USUAL_COLUMNS = 80

ASCII = str.maketrans({"·": "|", "×": "x", "…": "~"})
"""Signs that stand for those of ours that a stream cannot show."""


def spelled(text: str, stream: TextIO) -> str:
    """The text in letters that the encoding of the stream has."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        "·×…".encode(encoding)
    except UnicodeError:
        text = text.translate(ASCII)
    return text.encode(encoding, "replace").decode(encoding)


def columns_of(stream: TextIO) -> int:
    """Columns of the terminal behind a stream; those that the variable COLUMNS asks for if it is set."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL_COLUMNS
    except (AttributeError, OSError, ValueError):  # not a terminal, or closed
        return USUAL_COLUMNS


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a line can be redrawn there."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # it has no such method, or is closed
        return False
