"""A remedy: an attempt to sample and what a check found enter, a request to the course of the run leaves, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from consilience.diagnostics.stopping_rule import Failure
from consilience.inference.messages import Matrix, Window
from consilience.inference.tuner import Reason
from consilience.record import Record
from consilience.run.verdicts import Verdict

if TYPE_CHECKING:
    from consilience.run.attempt import Attempt


class Restart(Record, eq=False):
    """Begin again; the draws so far become part of tuning.

    Parameters
    ----------
    reason : Reason
        As it is kept in the record of the run.
    said : str
        In words.
    windows : sequence of mapping of int to Window, default ()
        What the tuner is to learn from.
    revisited : tuple of (sequence of str, ndarray), optional
        Scalars by name, and draws (draw, coordinate) that the next draws have to come back to; None: none.
    successor : object, optional
        The run that goes on in place of this one.
    """

    reason: Reason
    said: str
    windows: Sequence[Mapping[int, Window]] = ()
    revisited: tuple[Sequence[str], Matrix] | None = None
    successor: Any = None


class Look(Record, eq=False):
    """What a check found.

    Parameters
    ----------
    failure : Failure or None
        The scalar for which the rule does not hold; None: it holds.
    size : float
        Effective draws of that scalar, or of the one nearest to failing.
    at_end : bool
        Whether no more draws were asked for.
    verdict : Verdict, optional
        On draws for which the rule holds, or that chains disagree; None: there is none yet.
    low_energy : bool, default False
        Whether chains move too slowly between energies, where the rule holds.
    missed : str, default ''
        In words, what the draws have not come to although it is known.
    """

    failure: Failure | None
    size: float
    at_end: bool
    verdict: Verdict | None = None
    low_energy: bool = False
    missed: str = ""


class Remedy(Record, eq=False):
    """A row of the table of remedies.

    Parameters
    ----------
    ask : callable
        Asked twice: before a check looks at the draws, with None, and after it.
    """

    ask: Callable[[Attempt, Look | None], Restart | None]
