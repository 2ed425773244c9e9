"""Draws that are hard to make: the target goes on in coordinates that suit it better, where there are such."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consilience.run.remedies.remedy import Look, Restart
from consilience.run.schedule import MANY, least_needed

if TYPE_CHECKING:
    from consilience.run.sampling import Sampling


def reparametrize(sampling: Sampling, look: Look | None) -> Restart | None:
    """Where steps diverge, chains hardly move between energies, or many more draws would be needed. Asked once."""
    plan = sampling.plan
    if plan.reparametrized is None or sampling.asked_to_reparametrize:
        return None
    if look is None:
        hard = sampling.diverges
    elif look.failure is None:
        hard = look.low_energy
    else:
        hard = (plan.judging.at_the_end or not look.at_end) and _is_far(sampling, look.size)
    if not hard:
        return None
    sampling.asked_to_reparametrize = True
    successor = plan.reparametrized(sampling.draws())
    if successor is None:
        return None
    said = "less centred coordinates suit the draws better: tuning and sampling again in them"
    return Restart("coordinates", said, successor=successor)


def _is_far(sampling: Sampling, size: float) -> bool:
    """Whether many draws are missing, as a scalar is worth `size` now, or chains hardly move between energies."""
    target, most = sampling.plan.rule.target_ess, min(sampling.last, MANY * sampling.next_check(0))
    far = target is not None and least_needed(sampling.count, size, target) > most
    return far or sampling.energy_is_low
