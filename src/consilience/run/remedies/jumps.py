"""Separate regions that chains do not come and go between: they sample again, with jumps between past points of all.

Between regions that were found before, chains jump from the first draw on. Where the target is the same in several
copies, chains need not come to all of them: draws are put there at random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from consilience.inference.jump_tuner import Jumping
from consilience.record import replace
from consilience.run.remedies.remedy import Look, Restart

if TYPE_CHECKING:
    from consilience.run.attempt import Attempt

SAID: Final = "chains disagree: sampling again with jumps between their regions"
FEWEST_DRAWS: Final = 400  # of each chain that do not suffice, where a density is a sum of normals
MIXED: Final = "the density is a sum over discrete values: sampling again with jumps between their normals"
FOUND: Final = "separate regions were found from the draws: sampling again with jumps between them"

COPIES: Final = "the posterior is the same in several copies: sampling again, each draw in one of them at random"
SLOW: Final = 0.1  # effective draws per draw, up to which chains may be in different copies


def divide(attempt: Attempt, look: Look | None) -> Restart | None:
    """Where chains are in different copies, move slowly between them, or came to some of the regions only."""
    course, figures = attempt.course, attempt.figures
    find = course.monitored.symmetries
    if look is None or look.at_end or find is None or course.quotient is not None or figures is None:
        return None
    slow = figures.ess < SLOW * attempt.count * len(attempt.chains)
    apart = look.failure is not None and (look.verdict is not None or slow)
    if course.chains.at_once or not (apart or look.missed):
        return None
    quotient = find(attempt.draws(), bool(look.missed))
    return None if quotient is None else Restart("symmetries", COPIES, quotient=quotient)


def jump(attempt: Attempt, look: Look | None) -> Restart | None:
    """Where chains disagree twice or do not come back to where some were, or regions were found meanwhile."""
    course = attempt.course
    if look is None or "jumps" not in course.tuner.answers:
        return None
    if look.failure is None:
        return (
            Restart("jumps", FOUND, attempt.windows) if look.missed and not look.at_end and _others(attempt) else None
        )
    components = course.monitored.components if attempt.count >= FEWEST_DRAWS and not look.at_end else None
    if components is not None and components() and _others(attempt):
        return Restart("jumps", MIXED, attempt.windows)
    returns_seldom = look.failure.criterion == "quantile ess"
    if returns_seldom or (look.verdict is not None and attempt.disagreed):
        if course.monitored.search is not None and course.monitored.search(attempt.draws()):
            return Restart("jumps", FOUND, attempt.windows)
        return _from_where_chains_were(attempt, returns_seldom)
    return None


def _others(attempt: Attempt) -> bool:
    """Whether regions are known that chains do not jump between yet."""
    tuner = attempt.course.tuner
    return isinstance(tuner, Jumping) and tuner.new_regions() is not None


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
