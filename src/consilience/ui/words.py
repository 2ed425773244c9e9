"""Numbers as a person reads them: seconds and rates enter, short text leaves."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Seconds that something took: `12 ms`, `0.40 s`, `3.2 s`, `2:05`, `1:02:03`."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 0.995:
        return f"{seconds:.2f} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if round(seconds) < 60 else clock(seconds)


def clock(seconds: float) -> str:
    """Seconds that are left: `0:07`, `2:05`, `1:02:03`."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def short(number: float) -> str:
    """A number with k, M or G for its thousands: `950`, `1.2k`, `35M`."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= 0.9995 * size:
            scaled = number / size
            return f"{scaled:.1f}{unit}" if scaled < 9.95 else f"{scaled:.0f}{unit}"
    return f"{number:.0f}"


def counted(number: int, word: str) -> str:
    """A number with its noun: `1 chain`, `4 chains`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
