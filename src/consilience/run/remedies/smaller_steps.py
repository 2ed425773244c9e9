"""Divergences: chains tune again with smaller steps, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consilience.run.remedies.remedy import Look, Restart

if TYPE_CHECKING:
    from consilience.run.course import Attempt


def take_smaller_steps(attempt: Attempt, look: Look | None) -> Restart | None:
    """Where more draws diverged than good draws do now and then."""
    if look is not None or "divergences" not in attempt.course.tuner.answers or not attempt.diverges:
        return None
    return Restart("divergences", "divergences: tuning again with smaller steps", attempt.windows)
