"""Divergences: chains tune again with smaller steps, once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from consilience.run.remedies.remedy import Look, Restart

if TYPE_CHECKING:
    from consilience.run.course import Attempt


def take_smaller_steps(attempt: Attempt, look: Look | None) -> Restart | None:
    """Where more draws diverged than good draws do now and then."""
    if look is not None or "divergences" not in attempt.course.tuner.answers or not attempt.diverges:
        return None
    steps = [window.step_size for window in attempt.windows[-1].values()]
    size = sum(steps) / len(steps)
    at = f" at step size {size:.2g}" if math.isfinite(size) else ""
    draws = attempt.count * len(attempt.chains)
    return Restart(
        "divergences",
        "divergences: tuning again with smaller steps",
        attempt.windows,
        diverged=f"{attempt.divergences} of {draws} draws diverged{at} before the chains were tuned again",
    )
