"""Draws that contradict the metric: chains tune again with one made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consilience.run.remedies.remedy import Look, Restart

if TYPE_CHECKING:
    from consilience.run.attempt import Attempt


def learn_another_metric(attempt: Attempt, look: Look | None) -> Restart | None:
    """Where the tuner says so of the draws."""
    if look is not None or (reason := attempt.course.tuner.contradicted(attempt.windows)) is None:
        return None
    return Restart(reason, "the draws contradict the metric: tuning again with one made of them", attempt.windows)
