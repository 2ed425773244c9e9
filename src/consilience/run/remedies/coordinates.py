"""Draws that are hard to make: the target goes on in coordinates that suit it better, where there are such."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from consilience.inference.messages import Window
from consilience.run.remedies.remedy import Look, Restart
from consilience.run.verdicts import MANY, least_needed

if TYPE_CHECKING:
    from consilience.run.course import Attempt, RunCourse

LONG: Final = 32  # evaluations a transition, from which on fields are looked at while chains tune


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
    successor = course.other_coordinates(attempt.draws(), False)
    if successor is None:
        return None
    said = "partially non-centred coordinates suit the draws better: tuning and sampling again in them"
    return Restart("coordinates", said, successor=successor)


def rescale_fields(course: RunCourse, windows: Mapping[int, Window], spent: int) -> Restart | None:
    """Where trajectories are long early in tuning, which took `spent` evaluations for these windows: asked once.

    What a large field needs is plain from a few draws of it, and a whole attempt to sample without would be dear.
    """
    made = next(iter(windows.values())).statistics.shape[1]
    due = course.tuned - made < course.plan.min_tune <= course.tuned and not course.restarts
    if course.other_coordinates is None or not due or spent < LONG * made * len(windows):
        return None
    if course.monitored.present_normals() is not None or set(course.tuner.arrived) != set(range(course.chains.count)):
        return None
    successor = course.other_coordinates(np.stack([window.draws for window in windows.values()]), True)
    said = "a field and its scale hold each other: tuning again in coordinates in which the scale is free"
    return None if successor is None else Restart("fields", said, successor=successor)


def _is_far(attempt: Attempt, size: float) -> bool:
    """Whether many draws are missing, as a scalar is worth `size` now, or chains hardly move between energies."""
    target, most = attempt.course.plan.rule.target_ess, min(attempt.last, MANY * attempt.next_check(0))
    far = target is not None and least_needed(attempt.count, size, target) > most
    return far or attempt.energy_is_low
