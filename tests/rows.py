"""One test over all rows of a table, where a test for each would cost more than its work.

In: rows and what must hold of one. Every row is tried; a failure lists those that fail, each with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")


def holds_for_each(rows: Iterable[tuple[str, T]], law: Callable[[T], object]) -> None:
    """`law` of every named row. Raises a group of what failed, by the names of the rows."""
    failures: dict[str, BaseException] = {}
    count = 0
    for name, row in rows:
        count += 1
        try:
            law(row)
        except (Exception, pytest.fail.Exception) as failure:
            failure.add_note(f"row: {name}")
            failures[name] = failure
    assert count, "the table has no rows"
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {count} rows fail: {', '.join(failures)}", [*failures.values()])
