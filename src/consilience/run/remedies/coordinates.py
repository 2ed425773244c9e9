"""Draws that are hard to make: the target goes on in coordinates that suit it better, where there are such."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from consilience.inference.messages import Window
from consilience.run.remedies.remedy import Look, Restart
from consilience.run.verdicts import MANY, least_needed

if TYPE_CHECKING:
    from consilience.run.attempt import Attempt
    from consilience.run.course import Leg, RunCourse

LONG: Final = 32  # evaluations a transition, from which on coordinates are looked at while chains tune
MANY_EARLY: Final = 0.05  # divergences in a transition of a window of tuning
MOST_FIELDS: Final = 4  # times that fields get other coordinates
SAID: Final = "partially non-centred coordinates suit the draws better: tuning and sampling again in them"


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
    successor = attempt.in_other_coordinates()
    return None if successor is None else Restart("coordinates", SAID, successor=successor)


def rescale_fields(course: RunCourse, windows: Mapping[int, Window]) -> Restart | None:
    """Where as many transitions of tuning have been made as there must be, and again as long as fields move on.

    What a large field needs is plain from few draws of it, and a whole attempt to sample without would be dear. But as
    long as its scale crawls, so does the field: draws in the new coordinates tell better ones.
    """
    made = next(iter(windows.values())).statistics.shape[1]
    due = made > 0 and course.tuned >= course.plan.min_tune and set(course.restarts) <= {"fields"}
    if not due or len(course.restarts) >= MOST_FIELDS or not _may_ask_early(course):
        return None
    successor = _successor(course, windows, True)
    said = "a field and its scale hold each other: tuning again in coordinates in which the scale is free"
    return None if successor is None else Restart("fields", said, successor=successor)


def reparametrize_early(course: RunCourse, windows: Mapping[int, Window], spent: int) -> Restart | None:
    """Where many steps diverge on long trajectories: the tuning to come and an attempt to sample are saved.

    `spent`: evaluations for these windows.
    """
    made = next(iter(windows.values())).statistics.shape[1]
    due = made > 0 and 2 * course.plan.min_tune <= course.tuned and set(course.restarts) <= {"fields"}
    place = course.chains.columns.place("divergence")
    if not due or place is None or course.plan.draws is not None or not _may_ask_early(course):
        return None
    if spent < LONG * made * len(windows):
        return None
    if sum(w.statistics[place].sum() for w in windows.values()) < MANY_EARLY * made * len(windows):
        return None
    successor = _successor(course, windows, False)
    return None if successor is None else Restart("coordinates", SAID, successor=successor)


def _may_ask_early(course: RunCourse) -> bool:
    """Whether there are other coordinates, and all chains are where the others are."""
    arrived = set(course.tuner.arrived) == set(range(course.chains.count))
    return course.other_coordinates is not None and arrived and course.monitored.present_normals() is None


def _successor(course: RunCourse, windows: Mapping[int, Window], tuning: bool) -> Leg | None:
    assert course.other_coordinates is not None
    return course.other_coordinates(np.stack([window.draws for window in windows.values()]), tuning)


def _is_far(attempt: Attempt, size: float) -> bool:
    """Whether many draws are missing, as a scalar is worth `size` now, or chains hardly move between energies."""
    plan = attempt.course.plan
    target, most = plan.rule.target_ess, min(plan.max_draws or math.inf, MANY * attempt.next_check(0))
    far = target is not None and least_needed(attempt.count, size, target) > most
    return far or attempt.energy_is_low
