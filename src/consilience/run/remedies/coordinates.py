"""Draws that are hard to make: the target goes on in coordinates that suit it better, where there are such."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from consilience.inference.messages import Window, draws_by_chain, statistic
from consilience.run.remedies.remedy import Look, Restart
from consilience.run.verdicts import MANY, least_needed

if TYPE_CHECKING:
    from consilience.run.attempt import Attempt
    from consilience.run.course import Leg, RunCourse

# What may get other coordinates: large fields, a block of variables that are nearly normal, or anything.
Recoordinated: TypeAlias = Literal["fields", "block", "all"]
LONG: Final = 32  # evaluations a transition, from which on coordinates are looked at while chains tune
LONG_OF_BLOCKS: Final = 16  # for those of blocks, whose price decides
MANY_EARLY: Final = 0.05  # divergences in a transition of a window of tuning
MOST_FIELDS: Final = 4  # times that fields get other coordinates
SAID_OF_BLOCKS: Final = (
    "a block of variables is nearly normal given the others: tuning again in coordinates that follow these"
)
SAID: Final = "other coordinates suit the draws better: tuning and sampling again in them"


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
        hard = (course.chains.at_once or not look.at_end) and _is_far(attempt, look.size)
    if not hard:
        return None
    return _restart(attempt.in_other_coordinates())


def rescale_fields(course: RunCourse, windows: Mapping[int, Window]) -> Restart | None:
    """Where as many transitions of tuning have been made as there must be, and again as long as fields move on.

    What a large field needs is plain from few draws of it, and a whole attempt to sample without would be dear. But as
    long as its scale crawls, so does the field: draws in the new coordinates tell better ones.
    """
    made = next(iter(windows.values())).statistics.shape[1]
    due = made > 0 and course.tuned >= course.plan.min_tune and set(course.restarts) <= {"fields"}
    if not due or len(course.restarts) >= MOST_FIELDS or not _may_ask_early(course):
        return None
    successor = _successor(course, windows, "fields")
    said = "a field and its scale hold each other: tuning again in coordinates in which the scale is free"
    return None if successor is None else Restart("fields", said, successor=successor)


def transport_block(course: RunCourse, windows: Mapping[int, Window], spent: int) -> Restart | None:
    """Where trajectories of tuning are long: a block that is nearly normal given the others gets its own coordinates.

    Once, as few draws tell. `spent`: evaluations for these windows.
    """
    made = next(iter(windows.values())).statistics.shape[1]
    due = course.tuned - made < course.plan.min_tune <= course.tuned and not course.restarts
    if not due or not _may_ask_early(course) or spent < LONG_OF_BLOCKS * made * len(windows):
        return None
    return _restart(_successor(course, windows, "block", spent))


def reparametrize_early(course: RunCourse, windows: Mapping[int, Window], spent: int) -> Restart | None:
    """Where many steps diverge on long trajectories: the tuning to come and an attempt to sample are saved.

    `spent`: evaluations for these windows.
    """
    made = next(iter(windows.values())).statistics.shape[1]
    due = made > 0 and 2 * course.plan.min_tune <= course.tuned and set(course.restarts) <= {"fields", "block"}
    place = course.chains.columns.place("divergence")
    if not due or place is None or course.plan.draws is not None or not _may_ask_early(course):
        return None
    if spent < LONG * made * len(windows):
        return None
    if statistic(windows, tuple(windows), place).sum() < MANY_EARLY * made * len(windows):
        return None
    return _restart(_successor(course, windows, "all", spent))


def _restart(leg: Leg | None) -> Restart | None:
    """With a leg: coordinates of a block are left again where draws fail in them, too; others are not."""
    if leg is None:
        return None
    left = leg.course.other_coordinates is not None
    return Restart("block", SAID_OF_BLOCKS, successor=leg) if left else Restart("coordinates", SAID, successor=leg)


def _may_ask_early(course: RunCourse) -> bool:
    """Whether there are other coordinates, and all chains are where the others are."""
    arrived = set(course.tuner.arrived) == set(range(course.chains.count))
    return course.other_coordinates is not None and arrived and course.monitored.present_normals() is None


def _successor(course: RunCourse, windows: Mapping[int, Window], of: Recoordinated, spent: int = 0) -> Leg | None:
    assert course.other_coordinates is not None
    draws = np.asarray(draws_by_chain(windows, tuple(windows)))
    return course.other_coordinates(draws, of, spent / max(draws.shape[0] * draws.shape[1], 1))


def _is_far(attempt: Attempt, size: float) -> bool:
    """Whether many draws are missing, as a scalar is worth `size` now, or chains hardly move between energies."""
    plan = attempt.course.plan
    target, most = plan.rule.target_ess, min(plan.max_draws or math.inf, MANY * attempt.next_check(0))
    far = target is not None and least_needed(attempt.count, size, target) > most
    return far or attempt.energy_is_low
