"""Separate regions that chains do not come and go between: they sample again, with jumps between past points of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from consilience.record import replace
from consilience.run.remedies.remedy import Look, Restart

if TYPE_CHECKING:
    from consilience.run.course import Attempt

FEWEST_DRAWS: Final = 600  # of each chain that do not suffice, where separate regions are known
SAID: Final = "chains disagree: sampling again with jumps between their regions"


def jump(attempt: Attempt, look: Look | None) -> Restart | None:
    """Where chains disagree twice, do not come back to where some were, or hardly come to a region that is known."""
    if look is None or "jumps" not in attempt.course.tuner.answers:
        return None
    several = attempt.course.monitored.places is not None
    if look.failure is None:
        return _to_known_regions(attempt) if look.missed and several and not look.at_end else None
    returns_seldom = look.failure.criterion == "quantile ess"
    if returns_seldom or (look.verdict is not None and attempt.disagreed):
        return _from_where_chains_were(attempt, returns_seldom)
    return _to_known_regions(attempt) if several and attempt.count >= FEWEST_DRAWS else None


def _to_known_regions(attempt: Attempt) -> Restart:
    """Of known regions there are too few draws: as many points as there are draws are added, of all regions."""
    assert attempt.course.monitored.places is not None
    points = attempt.course.monitored.places(attempt.count * len(attempt.chains))
    parts = {c: points[k :: len(attempt.chains)] for k, c in enumerate(attempt.chains)}
    last = {c: replace(attempt.windows[-1][c], draws=part, gradients=None) for c, part in parts.items()}
    return Restart("jumps", SAID, [*attempt.windows, last])


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
