"""What is to be said of a run that ended: its draws and its verdict enter, warnings leave."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from consilience.backends.callback import FAILURES
from consilience.diagnostics.convergence import from_statistics
from consilience.errors import ConsilienceError, ConvergenceWarning, SamplingError, warn
from consilience.inference import CompoundStep
from consilience.record import replace
from consilience.run import RunResult
from consilience.run.lock_step import ChEES

if TYPE_CHECKING:
    from consilience.sample.model_run import ModelRun

MOST_SAID: Final = 2000  # characters of a reason that are shown


def tell(run: ModelRun, result: RunResult) -> None:
    """Say what is to be known of the run; only a converged one is silent.

    Raises SamplingError where a Python function broke its declaration, so that the density was another one.
    """
    if result.interrupted:
        print(f"Sampling was interrupted: the first {result.draws.shape[1]} draws of each chain are kept.")
    elif result.verdict.status == "interrupted":  # by what happened to the workers
        message = f"the run was cut short: {result.verdict.reason}. {way_on(run)}"
        warn(message)
    for note in (*result.notes, *run.notes):
        warn(f"{note.removesuffix('.')}.")
    for name in result.constants:
        message = f"`{name}` has the same value in all draws; it is not watched."
        warn(message)
    if run.keep is not None and run.keep.fault is not None:
        message = f"the checkpoint was not written to the end: {run.keep.fault}"
        warn(message)
    broken = next((error for error in FAILURES if isinstance(error, ConsilienceError)), None)
    if broken is not None:
        FAILURES.clear()
        raise SamplingError(
            f"the draws are void, since a Python function of the model gave something else than it declared: {broken}"
        ) from broken
    raised = failures()
    if raised:
        warn(raised)
    if not run.plan.checks or (not result.draws.shape[1] and result.interrupted):
        return
    for message in findings(run, result):
        warn(message, ConvergenceWarning)


def way_on(run: ModelRun) -> str:
    """How a run goes on that lost its workers."""
    if run.keep is None:
        return (
            "With `save=pm.Save(checkpoint=…)`, a run that lost its workers continues with `pm.resume(…, executor=…)`."
        )
    return f"Continue with `pm.resume({str(run.keep.path)!r}, executor=…)`."


def failures() -> str:
    """What Python functions of the model raised since the last call, with the first traceback; empty if nothing."""
    if not FAILURES:
        return ""
    first = FAILURES[0]
    said = (
        f"a Python function of the model raised at {len(FAILURES)} points, which counted as points of density 0; "
        f"the first time: {type(first).__name__}: {first}\n{''.join(traceback.format_exception(first))}"
    )
    FAILURES.clear()
    return said


def findings(run: ModelRun, result: RunResult) -> Iterable[str]:
    """Why the draws should not be used yet: the verdict, its cause and what to write (`causes`)."""
    verdict = result.verdict
    if run.was_over and verdict.reason:  # words of a file, which may come from anywhere
        from consilience.output.storage.plain_values import quoted  # few runs are resumed

        verdict = replace(verdict, reason=f"its checkpoint says {quoted(verdict.reason, MOST_SAID)}")
    said, advice = verdict.reason, verdict.advice
    match verdict.status:
        case "converged":
            said += "divergences"  # accidents, if there are any
            if verdict.reason:
                yield f"The run has converged, but {verdict.reason}."
        case "converged_with_divergences":
            said += "divergences"
            yield (
                f"The run has converged, but {verdict.reason}. Estimates that depend on these tails may be biased. "
                f"{advice}".rstrip()
            )
        case "chains_disagree":
            yield f"The chains disagree: {verdict.reason}. {advice}".rstrip()
        case "not_converged":
            yield (f"The run has not converged: {verdict.reason}. Do not use these draws yet. {advice}").rstrip()
    if result.draws.shape[1]:
        # Energies of chains in lock step were judged all together: each alone may be too short to tell.
        judged = {"energy"} if isinstance(run.kernel, ChEES | CompoundStep) else set()
        statistics = {name: values for name, values in result.statistics.items() if name not in judged}
        for finding in from_statistics(statistics, "" if advice else None):
            words = {"divergences": "diverge", "ebfmi": "E-BFMI", "treedepth": "tree depth"}[finding.kind]
            if words not in said:
                yield finding.message
