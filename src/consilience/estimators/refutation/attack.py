"""What attacks have in common: the time they have, the runs they wait for, and differences that a second run confirms.

A claim and a deadline in; attempts out.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np

from consilience.errors import ConsilienceError, ConsilienceWarning, ConvergenceWarning
from consilience.estimators.refutation.claim import Claim, Floats
from consilience.estimators.refutation.comparison import compared
from consilience.estimators.refutation.report import AttackReport
from consilience.record import Record, replace

POLLED: Final = 0.02  # seconds between two looks at a run
AMONG_THEMSELVES: Final = "the chains among themselves"  # needs no density


class AttackStopped(Exception):
    """Whoever holds the challenge asked for its end, or its time is over."""


class NotMadeError(Exception):
    """An attack cannot be made, with the reason."""


class Allowance:
    """The time and the seed of one attack.

    `until`: time.perf_counter() at which it is over. `seed`: of its random numbers. `go_on`: whether to go on, asked
    while a run is waited for. `gradients`: evaluations that were made so far.
    """

    def __init__(self, until: float, seed: int, go_on: Callable[[], bool]) -> None:
        self.until, self.seed, self.go_on = until, seed, go_on
        self.gradients = 0

    @property
    def left(self) -> float:
        """Seconds; below 0 once it is over."""
        return self.until - time.perf_counter()

    def waited(self, handle: Any, late: float = 0.0) -> Any:
        """The result of a run in the background.

        `late`: seconds that it may take longer, as it ends by itself. Raises Exception: AttackStopped where the time is
        over before, or the end is asked for; the run is stopped then.
        """
        while not handle.finished:
            if not self.go_on() or self.left < -late:
                with contextlib.redirect_stdout(io.StringIO()):  # that it was interrupted is said by the challenge
                    handle.stop()
                raise AttackStopped
            time.sleep(POLLED)
        return handle.wait()


class Attack(Protocol):
    """One way to falsify a claim; None where it has nothing to do with the model.

    Raises NotMadeError: or a ConsilienceError of what it makes use of.
    """

    def __call__(self, claim: Claim, allowance: Allowance) -> AttackReport | None: ...


class Others(Record, eq=False):
    """Draws to compare a claim with.

    `scalars`: (scalar, group, draw) of groups that know nothing of each other. `told`: in words, what they are.
    `doubt`: gives in words why they may be what is wrong, or an empty string; asked where they differ.
    """

    scalars: Floats
    told: str
    doubt: Callable[[], str] = str


def by_comparison(name: str, claim: Claim, make: Callable[[int], Others]) -> AttackReport:
    """An attack by other draws. A difference counts once draws with another seed, and twice as many, have it too.

    `make`: other draws, of the first (0) or the second (1) set.
    """
    first = make(0)
    found = compared(claim.names, claim.scalars, first.scalars)
    smallest, shift = found.smallest(), float(np.median(found.detectable))
    if not found.differing.any():
        return AttackReport(name, f"{found.nearest()}, from {first.told}", smallest, shift=shift)
    if doubt := first.doubt():
        return AttackReport(name, f"{first.told} differ, but {doubt}", smallest, shift=shift)
    second = make(1)
    again = compared(claim.names, claim.scalars, second.scalars)
    where = found.confirmed(again)
    if not where.any():
        return AttackReport(
            name, f"a difference from {first.told}, which twice as many do not have", smallest, shift=shift
        )
    if doubt := second.doubt():
        return AttackReport(name, f"{second.told} differ, but {doubt}", smallest, shift=shift)
    claimed, other = (x[[claim.names.index(n) for n in again.names]] for x in (claim.scalars, second.scalars))
    return AttackReport(name, again.words(where, claimed, other), smallest, refuted=True, shift=shift)


def tried(name: str, attack: Attack, claim: Claim, allowance: Allowance) -> AttackReport | None:
    """An attack with what it took, or why it could not be made."""
    began = time.perf_counter()
    try:
        if claim.unreachable and name != AMONG_THEMSELVES:
            raise NotMadeError(claim.unreachable)
        with warnings.catch_warnings():  # what attacks have to say of their own runs is in what they found
            warnings.simplefilter("ignore", ConsilienceWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            attempt = attack(claim, allowance)
    except AttackStopped:
        why = "its time was over before it was done" if allowance.go_on() else "it was stopped before it was done"
        attempt = AttackReport(name, why, made=False)
    except (NotMadeError, ConsilienceError, np.linalg.LinAlgError) as error:
        attempt = AttackReport(name, str(error).rstrip("."), made=False)
    if attempt is None:
        return None
    return replace(attempt, attack=name, seconds=time.perf_counter() - began, gradients=allowance.gradients)
