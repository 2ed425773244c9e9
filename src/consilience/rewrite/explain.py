"""Which rules made a result: their names, how often each was applied, to which lines of the user, and to what."""

from __future__ import annotations

from collections.abc import Iterable

from consilience.ir import Node
from consilience.ir.side_tables import source_of
from consilience.record import Record
from consilience.rewrite.engine import Step


class Application(Record):
    """One use of a rule: the value it found, what it put in its place, and the user's line (`file:line`), if known."""

    before: Node
    after: Node
    source: str


class Explanation(Record):
    """A rule with the number of its applications, the places (`file:line`) it changed, and the applications."""

    rule: str
    count: int
    sources: tuple[str, ...]
    applications: tuple[Application, ...] = ()

    def __str__(self) -> str:
        times = "once" if self.count == 1 else f"{self.count} times"
        return f"{self.rule}: {times}" + (f" ({', '.join(self.sources)})" if self.sources else "")


def explain_steps(steps: Iterable[Step], terms: Iterable[tuple[Node, Node]]) -> list[Explanation]:
    """One explanation per rule, in order of first use; `terms` holds the values before and after each step."""
    found: dict[str, list[Application]] = {}
    for step, (before, after) in zip(steps, terms, strict=True):
        found.setdefault(step.rule, []).append(Application(before, after, source_of(step.origin)))
    return [
        Explanation(rule, len(own), tuple(dict.fromkeys(a.source for a in own if a.source)), tuple(own))
        for rule, own in found.items()
    ]
