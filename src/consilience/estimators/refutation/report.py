"""What a challenge tried, found and could have seen, as a record that prints as sentences and a table.

Attempts enter; text and HTML leave.
"""

from __future__ import annotations

import html
import textwrap
from math import isnan
from typing import Final

from consilience.record import Record

WIDTHS: Final = (28, 44, 52)  # of the columns attack, found and smallest error
REGION: Final = "a region"  # begins what attacks by starting points could have seen
HEADER: Final = ("attack", "seconds", "gradients", "found", "smallest error it could have seen")


class AttackReport(Record, eq=False):
    """One attack.

    `attack`: its name.
    `found`: what it found, or why it could not be made, in words.
    `smallest`: the smallest error that it would have seen with a probability of 95 %, in words; empty if none.
    `refuted`: whether it shows that the draws are wrong.
    `made`: whether it was made, and to its end.
    `seconds`: wall-clock time.
    `gradients`: evaluations of the log density, most with a gradient.
    `shift`: of attacks by other draws, the shift of a mean in standard deviations that they would have seen with a
        probability of 95 %, in the median of the scalars; else NaN.
    """

    attack: str
    found: str
    smallest: str = ""
    refuted: bool = False
    made: bool = True
    seconds: float = 0.0
    gradients: int = 0
    shift: float = float("nan")


class Challenge(Record, eq=False):
    """What came of attacks on a result.

    `refuted`: whether one of them shows that the draws are wrong.
    `statement`: what that means, in sentences.
    `attempts`: the attacks, in the order in which they were made.
    `seconds`: in all.
    `seed`: from which they follow again, where they have as much time.
    """

    refuted: bool
    statement: str
    attempts: tuple[AttackReport, ...]
    seconds: float
    seed: int

    def __getitem__(self, attack: str) -> AttackReport:
        """An attack by its name.

        Raises KeyError where there is none of that name.
        """
        for one in self.attempts:
            if one.attack == attack:
                return one
        raise KeyError(f"no attack {attack!r}; there are {', '.join(a.attack for a in self.attempts) or 'none'}.")

    def __repr__(self) -> str:
        lines = [*textwrap.wrap(self.statement, 120), ""]
        rows = [_cells(a) for a in self.attempts]
        numeric = [max(len(HEADER[k]), *(len(row[k]) for row in rows)) if rows else len(HEADER[k]) for k in (1, 2)]
        widths = (WIDTHS[0], *numeric, *WIDTHS[1:])
        for row in (HEADER, *rows):
            wrapped = [textwrap.wrap(text, width) or [""] for text, width in zip(row, widths, strict=True)]
            for number in range(max(map(len, wrapped))):
                parts = [column[number] if number < len(column) else "" for column in wrapped]
                aligned = [
                    f"{part:>{width}}" if k in (1, 2) else f"{part:<{width}}"
                    for k, (part, width) in enumerate(zip(parts, widths, strict=True))
                ]
                lines.append("  ".join(aligned).rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def row(tag: str, cells: tuple[str, ...]) -> str:
            style = ' style="text-align:left;vertical-align:top"'
            return f"<tr>{''.join(f'<{tag}{style}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"

        body = "".join(row("td", _cells(a)) for a in self.attempts)
        head = f"<thead>{row('th', HEADER)}</thead>"
        return f"<p>{html.escape(self.statement)}</p><table>{head}<tbody>{body}</tbody></table>"


def _cells(one: AttackReport) -> tuple[str, ...]:
    found = f"REFUTED: {one.found}" if one.refuted else one.found if one.made else f"not made: {one.found}"
    return one.attack, f"{one.seconds:.1f}", f"{one.gradients:,}", found, one.smallest or "-"


def statement_of(attempts: tuple[AttackReport, ...], status: str, ended: str) -> str:
    """Sentences on attacks.

    `status`: that of the result; empty where it has none. `ended`: why they ended before the last; empty if they did
    not.
    """
    of_status = f" The status of the result is {status!r}." if status else ""
    made = [a for a in attempts if a.made]
    refuting = next((a for a in attempts if a.refuted), None)
    if refuting is not None:
        return f"Refuted by {refuting.attack}: {refuting.found}.{of_status} Do not rely on these draws as they are."
    if not made:
        return f"Nothing could be tried, so nothing is known beyond the result itself.{ended}{of_status}"
    blind = [a.attack for a in attempts if not a.made]
    by_draws = [a for a in made if not isnan(a.shift)]
    sharpest = [min(by_draws, key=lambda a: a.shift)] if by_draws else []
    others = [a for a in made if a.smallest.startswith(REGION)]
    limits = " and ".join(f"{a.smallest} ({a.attack})" for a in (*sharpest, *others))
    said = f"Not refuted: {_counted(len(made), 'attack')} found nothing against these draws."
    said += f" They would have seen, with a probability of 95 %, {limits}." if limits else ""
    said += f" Not made: {', '.join(blind)}." if blind else ""
    return f"{said}{ended}{of_status} What is smaller than that, or lies where none of them looked, is not excluded."


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"
