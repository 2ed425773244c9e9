"""Divergences: chains tune again with smaller steps, once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from consilience.run.remedies.remedy import Look, Restart

if TYPE_CHECKING:
    from consilience.run.sampling import Sampling


def take_smaller_steps(sampling: Sampling, look: Look | None) -> Restart | None:
    """Where more draws diverged than good draws do now and then."""
    plan = sampling.plan
    if look is not None or not plan.escalate or "divergences" not in sampling.tuner.answers or not sampling.diverges:
        return None
    steps = [window.step_size for window in sampling.windows[-1].values()]
    size = sum(steps) / len(steps)
    at = f" at step size {size:.2g}" if math.isfinite(size) else ""
    draws = sampling.count * len(sampling.chains)
    return Restart(
        "divergences",
        "divergences: tuning again with smaller steps",
        sampling.windows,
        diverged=f"{sampling.divergences} of {draws} draws diverged{at} before the chains were tuned again",
    )
