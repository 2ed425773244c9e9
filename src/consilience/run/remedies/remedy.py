"""A remedy: an attempt to sample and what a check found enter, a request to the course of the run leaves, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from consilience.diagnostics.stopping_rule import Failure
from consilience.inference.messages import Matrix, Window
from consilience.inference.tuner import Reason
from consilience.record import Record
from consilience.run.verdicts import Verdict

if TYPE_CHECKING:
    from consilience.inference.modes.symmetries import Quotient
    from consilience.run.attempt import Attempt
    from consilience.run.course import Leg


class Restart(Record, eq=False):
    """Begin again; the draws so far become part of tuning.

    `reason`: as it is kept in the record of the run.
    `said`: in words.
    `windows`: what the tuner is to learn from.
    `revisited`: scalars by name, and draws (draw, coordinate) that the next draws have to come back to; None: none.
    `successor`: the leg that goes on in place of this one.
    `quotient`: symmetries, in whose copies draws are put at random from then on.
    """

    reason: Reason
    said: str
    windows: Sequence[Mapping[int, Window]] = ()
    revisited: tuple[Sequence[str], Matrix] | None = None
    successor: Leg | None = None
    quotient: Quotient | None = None


class Look(Record, eq=False):
    """What a check found.

    `failure`: the scalar for which the rule does not hold; None: it holds.
    `size`: effective draws of that scalar, or of the one nearest to failing.
    `at_end`: whether no more draws were asked for.
    `verdict`: on draws for which the rule holds, or that chains disagree; None: there is none yet.
    `low_energy`: whether chains move too slowly between energies, where the rule holds.
    `missed`: in words, what the draws have not come to although it is known.
    """

    failure: Failure | None
    size: float
    at_end: bool
    verdict: Verdict | None = None
    low_energy: bool = False
    missed: str = ""


Remedy: TypeAlias = "Callable[[Attempt, Look | None], Restart | None]"
"""Asked twice: before a check looks at the draws, with None, and after it."""
