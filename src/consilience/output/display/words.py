"""Numbers and names as a person reads them: seconds, rates and names enter, short text of one line leaves.

Every function takes every number, NaN and infinity included.
"""

from __future__ import annotations

import math


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
    return f"{number:.2f}" if abs(number) < 9.995 else short(number)


def size(number: float) -> str:
    """An effective sample size, never shown greater than it is: `399` for 399.9; `?` if it is undefined."""
    return str(math.floor(number)) if abs(number) < 1e5 else short(number)


def counted(number: int, word: str) -> str:
    """A number with its noun: `1 chain`, `4 chains`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def plain(text: str) -> str:
    """The text as one line of printable characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def abridged(name: str, room: int) -> str:
    """A name in at most `room` letters, three or more: its begin and its end, which holds the index, stay."""
    if len(name) <= room:
        return name
    head = (room - 1) // 2
    return f"{name[:head]}…{name[head + 1 - room :]}"
