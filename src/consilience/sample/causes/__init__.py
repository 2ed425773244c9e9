"""Why a run is in trouble: its draws, its divergences and its density enter; the cause and what to write leave.

Only runs with something to complain of load this. It is the one place where a cause is named and advice is given; what
a run may do about a cause without being asked is in `run/remedies`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from consilience.backends.callback import FAILURES
from consilience.record import replace
from consilience.run.verdicts import Verdict
from consilience.sample.causes.breaks import edge, jump
from consilience.sample.causes.draws import apart, copies, dependence, few_draws, improper, separate, slow, steps
from consilience.sample.causes.scales import hierarchy, neck, spike, tails
from consilience.sample.causes.symptoms import Cause, Symptoms
from consilience.sample.copies import advice, said

if TYPE_CHECKING:
    from consilience.run import RunResult
    from consilience.sample.model_run import ModelRun

LOOKS: Final[tuple[Callable[[Symptoms], Cause | None], ...]] = (
    spike,
    improper,
    few_draws,
    edge,
    jump,
    copies,
    apart,
    neck,
    tails,
    dependence,
    hierarchy,
    steps,
    separate,
    slow,
)
"""The looks, each of which finds one cause or none, in the order in which they are asked."""


def explained(run: ModelRun, result: RunResult) -> RunResult:
    """The run, its verdict with the cause of its trouble and what to write; as it was where it has none."""
    verdict = result.verdict
    if not run.plan.checks or not result.draws.shape[1] or FAILURES:  # what Python functions raised is said already
        return result
    quotient = run.course.quotient
    if quotient is not None and verdict.status == "converged":
        words = f"{said(quotient)}; each draw lies in one of them at random. {advice(quotient, run.model)}"
        words = words[0].upper() + words[1:]
        return replace(result, verdict=replace(verdict, advice=words))
    cause = cause_of(run, result)
    if cause is None:
        return result
    parts = [verdict.reason, cause.said]
    if cause.harmless and verdict.status == "not_converged" and verdict.divergences:
        missed = run.monitored.missed  # not asked of draws that diverged
        if missed is None or not missed(result.draws, run.course.quotient):
            return replace(result, verdict=Verdict("converged", cause.said, advice=cause.advice))
    reason = "; ".join(
        filter(None, reversed(parts) if cause.kind == "few" else parts)
    )  # what comes of few draws is less
    return replace(result, verdict=replace(verdict, reason=reason, advice=cause.advice))


def cause_of(run: ModelRun, result: RunResult) -> Cause | None:
    """The first cause that the evidence shows; None where it shows none."""
    evidence = Symptoms(run, result)
    with np.errstate(all="ignore"):
        return next(filter(None, (look(evidence) for look in LOOKS)), None)
