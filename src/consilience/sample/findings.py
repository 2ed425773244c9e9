"""What is to be said of a run that ended: its draws and its verdict enter, warnings leave."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from consilience import diagnostics
from consilience.backends.callback import FAILURES
from consilience.diagnostics.divergence_location import describe
from consilience.errors import ConsilienceError, ConsilienceWarning, ConvergenceWarning, SamplingError
from consilience.inference import CompoundStep
from consilience.model.diagnosis import diagnosis
from consilience.model.model import Model
from consilience.model.reparametrization import centred_hierarchies
from consilience.model.variables import ModelVariables
from consilience.record import replace
from consilience.run import Run
from consilience.run.lock_step import ChEES
from consilience.sample.results import LARGE

if TYPE_CHECKING:
    from consilience.sample.work import Work

ENDS: Final = 5  # of diverging steps that are looked at
LINES: Final = 4  # of what is said of one
MOST_SAID: Final = 2000  # characters of a reason that are shown
NOWHERE: Final = "Steps end where the model has no density"


def warn(work: Work, run: Run, stacklevel: int) -> None:
    """Say what is to be known of the run; only a converged one is silent.

    Raises
    ------
    SamplingError
        Where a Python function broke its declaration, so that the density was another one.
    """
    if run.interrupted:
        print(f"Sampling was interrupted: the first {run.draws.shape[1]} draws of each chain are kept.")
    elif run.verdict.status == "interrupted":  # by what happened to the workers
        message = f"the run was cut short: {run.verdict.reason}. {way_on(work)}"
        warnings.warn(message, ConsilienceWarning, stacklevel=stacklevel + 1)
    for note in (*run.notes, *work.notes):
        warnings.warn(f"{note.removesuffix('.')}.", ConsilienceWarning, stacklevel=stacklevel + 1)
    for name in run.constants:
        message = f"`{name}` has the same value in all draws; it is not watched."
        warnings.warn(message, ConsilienceWarning, stacklevel=stacklevel + 1)
    if work.checkpoint is not None and work.checkpoint.fault is not None:
        message = f"the checkpoint was not written to the end: {work.checkpoint.fault}"
        warnings.warn(message, ConsilienceWarning, stacklevel=stacklevel + 1)
    broken = next((error for error in FAILURES if isinstance(error, ConsilienceError)), None)
    if broken is not None:
        FAILURES.clear()
        raise SamplingError(
            f"the draws are void, since a Python function of the model gave something else than it declared: {broken}"
        ) from broken
    raised = failures()
    if raised:
        warnings.warn(raised, ConsilienceWarning, stacklevel=stacklevel + 1)
    if not work.plan.checks or (not run.draws.shape[1] and run.interrupted):
        return
    for message in findings(work, run, bool(raised)):
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)


def way_on(work: Work) -> str:
    """How a run goes on that lost its workers."""
    if work.checkpoint is None:
        return "With `save=pm.Save(checkpoint=…)` a run that lost its workers goes on by `pm.resume(…, executor=…)`."
    return f"Go on with `pm.resume({str(work.checkpoint.path)!r}, executor=…)`."


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


def findings(work: Work, run: Run, raised: bool) -> Iterable[str]:
    """Why the draws should not be trusted as they are: the verdict, and what the statistics add to it.

    Parameters
    ----------
    raised : bool
        Whether Python functions of the model raised: why there was no density is said already.
    """
    where = divergence_location(work, run, raised)
    verdict = run.verdict
    if work.ended and verdict.reason:  # words of a file, which may come from anywhere
        from consilience.output.storage.plain_values import quoted  # few runs are resumed

        verdict = replace(verdict, reason=f"its checkpoint says {quoted(verdict.reason, MOST_SAID)}")
    said = verdict.reason
    match verdict.status:
        case "converged":
            said += "divergences"  # accidents, if there are any
            if verdict.reason:
                yield f"The run has converged, but {verdict.reason}."
        case "converged_with_divergences":
            said += "divergences"
            yield (
                f"The run has converged, but {verdict.reason}. Estimates that depend on such places may be biased. "
                f"{where} Increase `target_accept` or reparameterize.".replace("  ", " ")
            )
        case "chains_disagree":
            yield f"The chains disagree: {verdict.reason}."
        case "not_converged":
            extra = f" {where}" if where and ("divergences" in verdict.reason or NOWHERE in where) else ""
            said += "divergences" if extra else ""
            yield (
                f"The run has not converged: {verdict.reason}.{extra} The draws should not be trusted as they "
                "are. Go on with `result.extend(target_ess=…)` if what is missing are draws; reparameterize if "
                "chains mix badly."
            )
    if run.draws.shape[1]:
        # Energies of chains in lock step were judged all together: each alone may be too short to tell.
        judged = {"energy"} if isinstance(work.kernel, ChEES | CompoundStep) else set()
        statistics = {name: values for name, values in run.statistics.items() if name not in judged}
        for finding in diagnostics.inspect({}, statistics):
            if finding.kind == "divergences" and finding.kind not in said:
                yield f"{finding.message} {where}".rstrip()
            elif finding.kind == "treedepth" or (finding.kind == "ebfmi" and "E-BFMI" not in said):
                yield finding.message


def divergence_location(work: Work, run: Run, raised: bool) -> str:
    """In words, where in parameter space the divergences are."""
    places = [d.begins for d in run.divergences]
    if not sum(map(len, places)):
        return ""
    names = work.running.monitored.names
    some = run.draws[:, :: max(1, run.draws.size // LARGE)]  # where there are many, some tell
    where = describe(names, some.reshape(-1, some.shape[2]), np.concatenate(places))
    if work.plan.all_centredness:
        return where
    nowhere = "" if raised else without_density(work.density.model, np.concatenate([d.ends for d in run.divergences]))
    return nowhere or f"{where} {other_coordinates(work.model)}".strip()


def without_density(model: ModelVariables, ends: npt.NDArray[np.float64]) -> str:
    """In words, why steps that diverged end where there is no density, with the term and its parameters; else empty.

    Parameters
    ----------
    ends : ndarray
        Positions (divergence, coordinate) at which they ended.
    """
    looked_at = ends[:: -(-len(ends) // ENDS)]
    found = [lines for lines in (diagnosis(model, end) for end in looked_at) if lines]
    if 2 * len(found) <= len(looked_at):
        return ""
    lines = "; ".join(line.strip() for line in found[0][:LINES])
    return (
        f"{NOWHERE}, just beside the draws: {lines}. A condition that holds at the "
        "starting point alone, such as a sum that must be 1, leaves no room to move: build it in, as `pm.Dirichlet` or "
        "`p / p.sum()` do, or drop it."
    )


def other_coordinates(model: Model) -> str:
    """In words, which variables to write in other coordinates; empty where there are none."""
    names = centred_hierarchies(model)
    if not names:
        return ""
    listed = ", ".join(f"`{name}`" for name in names)
    scales = "has a scale that is estimated, too" if len(names) == 1 else "have scales that are estimated, too"
    return f"{listed} {scales}: `pm.noncenter(model, {names})` is the same model in coordinates that may suit better."
