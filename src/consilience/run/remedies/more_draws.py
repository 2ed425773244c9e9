"""Draws that come near their goal as they end: the run goes on to where they should come to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from consilience.run.remedies.remedy import Look, MoreDraws

if TYPE_CHECKING:
    from consilience.run.course import Attempt

MOST_GROWTH: Final = 2.0  # times `max_draws`, beyond which they are not near
MARGIN: Final = 1.1  # times the draws that should suffice, as their number is an estimate


def go_on(attempt: Attempt, look: Look | None) -> MoreDraws | None:
    """Where nothing but effective draws are missing at the end, and no more than as many draws again would do."""
    if look is None or not look.at_end or look.failure is None or look.verdict is not None:
        return None
    failure, most = look.failure, MOST_GROWTH * attempt.course.plan.max_draws
    if failure.criterion not in ("bulk ess", "tail ess") or not failure.value > 0 or attempt.count >= most:
        return None
    needed = attempt.count * failure.bound / failure.value
    return MoreDraws(2 * round(min(MARGIN * needed, most) / 2)) if needed <= most else None
