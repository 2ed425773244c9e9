"""Tables of cases: one test over many small rows, where a test for each would cost more than its work, and rows that
only the slow suite runs.

In: rows and what must hold of one. Every row is tried; a failure lists those that fail, each with its reason.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

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


def over_rows(names: str, rows: Iterable[Any]) -> Callable[[Callable[..., object]], Callable[..., None]]:
    """What `pytest.mark.parametrize` does, within one test; fixtures are those of the whole test.

    names  of the arguments, between commas
    rows   a value, or as many as there are names, for each row
    """
    words = [word.strip() for word in names.split(",")]

    def decorate(law: Callable[..., object]) -> Callable[..., None]:
        @functools.wraps(law)
        def test(*args: Any, **fixtures: Any) -> None:
            values = [tuple(row) if len(words) > 1 else (row,) for row in rows]
            named = [("-".join(map(str, row)), row) for row in values]
            holds_for_each(named, lambda row: law(*args, **fixtures, **dict(zip(words, row, strict=True))))

        signature = inspect.signature(law)
        kept = [p for name, p in signature.parameters.items() if name not in words]
        test.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return test

    return decorate


def slow_after(quick: int, rows: Iterable[Any]) -> list[Any]:
    """The rows of a table, of which all after the first ones are for the slow suite."""
    every = [row if isinstance(row, tuple) else (row,) for row in rows]
    return [pytest.param(*row, marks=[pytest.mark.slow] if i >= quick else []) for i, row in enumerate(every)]
