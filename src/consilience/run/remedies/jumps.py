"""Separate regions that chains do not come and go between: they sample again, with jumps between past points of all.

Between regions that were found before, chains jump from the first draw on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from consilience.record import replace
from consilience.run.remedies.remedy import Look, Restart

if TYPE_CHECKING:
    from consilience.run.course import Attempt

SAID: Final = "chains disagree: sampling again with jumps between their regions"


def jump(attempt: Attempt, look: Look | None) -> Restart | None:
    """Where chains disagree twice, or do not come back to where some were."""
    if look is None or look.failure is None or "jumps" not in attempt.course.tuner.answers:
        return None
    returns_seldom = look.failure.criterion == "quantile ess"
    if returns_seldom or (look.verdict is not None and attempt.disagreed):
        return _from_where_chains_were(attempt, returns_seldom)
    return None


def _from_where_chains_were(attempt: Attempt, returns_seldom: bool) -> Restart:
    """Of places that were left for good there are ever fewer draws.

    So those count that chains had made when they were first seen to be apart; the next draws have to come back there.
    """
    first = attempt.first_separated
    if not (returns_seldom and first):
        return Restart("jumps", SAID, attempt.windows)
    early = {c: np.concatenate([some[c].draws for some in attempt.windows])[:first] for c in attempt.chains}
    window = {c: replace(attempt.windows[-1][c], draws=draws, gradients=None) for c, draws in early.items()}
    return Restart("jumps", SAID, [window], (tuple(sorted(attempt.separated)), np.concatenate(list(early.values()))))
