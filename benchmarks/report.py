"""Rows of measurements in, one aligned table out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

KEPT, MISSED = "kept", "MISSED"


@dataclass(frozen=True)
class Row:
    """One measured number; `limit` is the most it may be, or with `at_least` the least."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the limit is kept; empty without one."""
        if self.limit is None:
            return ""
        kept = self.value >= self.limit if self.at_least else self.value <= self.limit
        return KEPT if kept else MISSED


def number(value: float) -> str:
    """Three digits or more, no exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def show(title: str, rows: Sequence[Row]) -> None:
    """Print `rows` under `title`."""
    cells = [
        (
            row.what,
            f"{number(row.value)} {row.unit}".rstrip(),
            "" if row.limit is None else f"{'>=' if row.at_least else '<='} {number(row.limit)}",
            row.verdict,
            row.note,
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    print(f"\n{title}\n{'-' * len(title)}")
    for what, value, limit, verdict, note in cells:
        aligned = (
            what.ljust(widths[0]),
            value.rjust(widths[1]),
            limit.ljust(widths[2]),
            verdict.ljust(widths[3]),
            note,
        )
        print("  ".join(aligned).rstrip(), flush=True)
