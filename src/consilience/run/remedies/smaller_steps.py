"""Divergences: chains tune again with smaller steps, and with the smallest where these leave a doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consilience.run.remedies.remedy import Look, Restart
from consilience.run.verdicts import WELL_MIXED

if TYPE_CHECKING:
    from consilience.run.attempt import Attempt


def take_smaller_steps(attempt: Attempt, look: Look | None) -> Restart | None:
    """Where more draws diverged than good draws do now and then, or where nothing else keeps draws from a certificate.

    One retuning has smaller steps. Draws that would pass but for divergences, now or before, and those that diverge
    although their steps are smaller, get the smallest ones: without divergences even then they may be certified.
    """
    answers = attempt.course.tuner.answers
    if look is None:
        if not attempt.diverges:
            return None
        reason = next((r for r in ("divergences", "smallest steps") if r in answers), "")
    else:
        reason = "smallest steps" if "smallest steps" in answers and _is_in_doubt(attempt, look) else ""
    words = {
        "divergences": "divergences: tuning again with smaller steps",
        "smallest steps": "divergences leave a doubt: tuning again with the smallest steps",
    }
    return Restart(reason, words[reason], attempt.windows) if reason else None


def _is_in_doubt(attempt: Attempt, look: Look) -> bool:
    """Whether the draws pass but for divergences, or will, as few draws come to all places after steps diverged."""
    if look.failure is not None:
        mixing = look.size < 0.5 * WELL_MIXED * attempt.count * len(attempt.chains)
        return attempt.course.diverged is not None and look.verdict is None and mixing
    verdict = look.verdict
    return verdict is not None and not look.missed and verdict.divergences
