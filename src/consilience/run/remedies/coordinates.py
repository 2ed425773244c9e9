"""Draws that are hard to make: the target goes on in coordinates that suit it better, where there are such."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from consilience.run.remedies.remedy import Look, Restart
from consilience.run.verdicts import MANY, least_needed

if TYPE_CHECKING:
    from consilience.run.course import Attempt


def reparametrize(attempt: Attempt, look: Look | None) -> Restart | None:
    """Where steps diverge, chains hardly move between energies, or many more draws would be needed. Asked once."""
    course = attempt.course
    if course.other_coordinates is None or "coordinates" in course.restarts or attempt.asked_for_coordinates:
        return None
    if look is None:
        hard = attempt.diverges
    elif look.failure is None:
        hard = look.low_energy
    else:
        hard = (course.chains.at_the_end or not look.at_end) and _is_far(attempt, look.size)
    if not hard:
        return None
    attempt.asked_for_coordinates = True
    if course.monitored.present_normals() is not None:  # separate regions: draws of all of them tell of none
        return None
    successor = course.other_coordinates(attempt.draws())
    if successor is None:
        return None
    said = "partially non-centred coordinates suit the draws better: tuning and sampling again in them"
    return Restart("coordinates", said, successor=successor)


def _is_far(attempt: Attempt, size: float) -> bool:
    """Whether many draws are missing, as a scalar is worth `size` now, or chains hardly move between energies."""
    plan = attempt.course.plan
    target, most = plan.rule.target_ess, min(plan.max_draws or math.inf, MANY * attempt.next_check(0))
    far = target is not None and least_needed(attempt.count, size, target) > most
    return far or attempt.energy_is_low
