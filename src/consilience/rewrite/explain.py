"""Which rules made a result: their names, how often each was applied, to which lines of the user."""

from __future__ import annotations

from collections.abc import Iterable

from consilience.ir.side_tables import source_of
from consilience.record import Record
from consilience.rewrite.engine import Step


class Explanation(Record):
    """A rule with the number of its applications and the places (`file:line`) it changed."""

    rule: str
    count: int
    sources: tuple[str, ...]

    def __str__(self) -> str:
        times = "once" if self.count == 1 else f"{self.count} times"
        return f"{self.rule}: {times}" + (f" ({', '.join(self.sources)})" if self.sources else "")


def explain_steps(steps: Iterable[Step]) -> list[Explanation]:
    """One explanation per rule, in order of first use."""
    counts: dict[str, int] = {}
    places: dict[str, dict[str, None]] = {}
    for step in steps:
        counts[step.rule] = counts.get(step.rule, 0) + 1
        source = source_of(step.origin)
        found = places.setdefault(step.rule, {})
        if source:
            found[source] = None
    return [Explanation(name, counts[name], tuple(places[name])) for name in counts]
