"""Figures of many columns in, an aligned table out, row by row as they become known."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.convergence.targets import TARGETS
from benchmarks.report import KEPT, MISSED


class Columns:
    """A table whose rows are printed at once; the first column is the name."""

    def __init__(self, title: str, name: tuple[str, int], columns: Sequence[tuple[str, int]]) -> None:
        """Print title and header; a column is a heading and a width, which the heading may exceed."""
        self._name = max(name[1], len(name[0]))
        self._widths = [max(width, len(heading)) for heading, width in columns]
        print(f"\n{title}\n{'-' * len(title)}")
        self.row(name[0], [heading for heading, _ in columns])

    def row(self, name: str, cells: Sequence[str]) -> None:
        """Print one row; the last cells may be left out."""
        aligned = [cell.rjust(width) for cell, width in zip(cells, self._widths, strict=False)]
        print("  ".join([name.ljust(self._name), *aligned]).rstrip(), flush=True)


def thousands(count: float) -> str:
    """A number of gradients, such as 5.6k."""
    return f"{count / 1e3:.1f}k" if count < 1e5 else f"{count / 1e3:.0f}k"


def verdict(kept: bool) -> str:
    """The word that `python -m benchmarks` counts."""
    return KEPT if kept else MISSED


def arguments(description: str | None, names: Sequence[str] = tuple(TARGETS)) -> argparse.Namespace:
    """Options that the tables share: `--runs`, `--targets`, `--seed`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=_positive, help="runs per target, in place of those of the table")
    parser.add_argument("--targets", nargs="+", metavar="TARGET", choices=names, default=list(names))
    parser.add_argument("--seed", type=int, default=1, help="seed of the first run; the next ones follow")
    return parser.parse_args()


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value
