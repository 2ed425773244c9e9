"""Records as lines of JSON that say whether they are whole: each has the CRC-32 of the rest of it.

Files grow by such lines; what the records mean stays outside.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

CHECKSUM: Final = "crc32"


def as_line(record: Mapping[str, Any], **options: Any) -> str:
    """A record as one line, without its end; `options` are those of `json.dumps`."""
    text = json.dumps(record, separators=(",", ":"), **options)
    sign = "" if text == "{}" else ","
    return f'{text[:-1]}{sign}"{CHECKSUM}":"{zlib.crc32(text.encode()):08x}"}}'


def from_line(line: str | bytes) -> Any:
    """What a line says; ValueError where it is not as it was written. Lines of earlier versions have no checksum."""
    found = json.loads(line)
    if isinstance(found, dict) and CHECKSUM in found:
        known = found.pop(CHECKSUM)
        if known != f"{zlib.crc32(json.dumps(found, separators=(',', ':')).encode()):08x}":
            raise ValueError("the checksum of the line is wrong")
    return found
