"""Numbers and names as a person reads them: seconds, rates and names enter, short text of one line leaves.

Every function takes every number, NaN and infinity included.
"""

from __future__ import annotations

import math
import unicodedata


def duration(seconds: float) -> str:
    """Seconds that something took: `12 ms`, `0.40 s`, `3.2 s`, `2:05`, `1:02:03`."""
    if not math.isfinite(seconds):
        return "? s"
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 0.995:
        return f"{seconds:.2f} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if round(seconds) < 60 else clock(seconds)


def clock(seconds: float) -> str:
    """Seconds that are left: `0:07`, `2:05`, `1:02:03`, `12 days`."""
    if not math.isfinite(seconds):
        return "?:??"
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 100:
        return f"{short(hours / 24)} days"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def short(number: float) -> str:
    """A number with k, M or G for its thousands: `950`, `1.2k`, `35M`; `1e+15` beyond."""
    if not math.isfinite(number):
        return "?" if math.isnan(number) else str(number)
    if abs(number) >= 1e12:
        return f"{number:.0e}"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= 0.9995 * size:
            scaled = number / size
            return f"{scaled:.1f}{unit}" if scaled < 9.95 else f"{scaled:.0f}{unit}"
    return f"{number:.0f}"


def ratio(number: float) -> str:
    """An R-hat: `1.02`, `13`, `?` if it is undefined."""
    if not math.isfinite(number):
        return "?" if math.isnan(number) else str(number)
    return f"{number:.2f}" if abs(number) < 9.995 else short(number)


def size(number: float) -> str:
    """An effective sample size, never shown greater than it is: `399` for 399.9; `?` if it is undefined."""
    return str(math.floor(number)) if math.isfinite(number) and abs(number) < 1e5 else short(number)


def counted(number: int, word: str) -> str:
    """A number with its noun: `1 chain`, `4 chains`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def plain(text: str) -> str:
    """The text as one line of printable characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def cells(text: str) -> int:
    """Columns that a line of text takes on a terminal at most: two for each wide letter, one for the others."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def crop(text: str, room: int) -> str:
    """The begin of a text, in at most `room` columns."""
    if cells(text) <= room:
        return text
    return f"{begin(text, room - 1)}…" if room > 0 else ""


def begin(text: str, room: int) -> str:
    """As many letters as have room."""
    text = text[: max(0, room)]
    while cells(text) > room > 0:
        text = text[:-1]
    return text


def wrapped(text: str, room: int) -> list[str]:
    """The words of a text in lines of at most `room` columns; a word that is wider is divided."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cells(joined) <= room:
            lines[-1] = joined
            continue
        lines += [""] if lines[-1] else []
        for letter in word:
            if lines[-1] and cells(lines[-1] + letter) > room:
                lines.append("")
            lines[-1] += letter
    return lines


def abridged(name: str, room: int) -> str:
    """A name in at most `room` columns: its begin and its end, which holds the index, stay."""
    if cells(name) <= room:
        return name
    if room <= 0:
        return ""
    head = begin(name, (room - 1) // 2)
    return f"{head}…{begin(name[::-1], room - 1 - cells(head))[::-1]}"
