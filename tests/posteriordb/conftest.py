"""Collects one row per reproduced posterior and prints them as a table at the end of the run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

ROWS = pytest.StashKey[list[tuple[str, ...]]]()
HEADER = ("posterior", "seed", "parameters", "max |z|", "sd ratio", "R-hat", "divergences", "gradients", "seconds", "")


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Append one row to the table."""
    rows = request.config.stash.setdefault(ROWS, [])
    return lambda *row: rows.append(row)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table."""
    rows = config.stash.get(ROWS, [])
    if not rows:
        return
    widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
    terminalreporter.section("posteriors against published reference draws")
    for row in [HEADER, *rows]:
        name, *numbers = row
        cells = [cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)]
        terminalreporter.write_line("  ".join([name.ljust(widths[0]), *cells]).rstrip())
    kept = sum(row[-1] == "reproduced" for row in rows)
    terminalreporter.write_line(f"{kept} of {len(rows)} reproduced")
