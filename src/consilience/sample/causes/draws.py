"""What draws show by themselves: too few, in different regions, dependent, or divergent here and there."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.convergence import FEWEST_DRAWS
from consilience.diagnostics.divergence_location import SIGNIFICANT
from consilience.run.verdicts import FORECAST_SIZE
from consilience.sample.causes.symptoms import FEWEST, MOST_NAMED, Cause, Symptoms
from consilience.sample.copies import advice, said

Floats = npt.NDArray[np.float64]

TOGETHER: Final = 0.98  # correlation of two coordinates that the data tell apart badly
MORE_CHAINS: Final = (
    "Look at each chain, `result.posterior.sel(chain=0)`: leave a region out by a prior or a bound where it makes no "
    "sense, and else run more chains, `pm.sample(chains=16)`."
)


def few_draws(evidence: Symptoms) -> Cause | None:
    """Too few draws to judge anything by."""
    count = evidence.result.draws.shape[1]
    if count >= FEWEST_DRAWS:
        return None
    return Cause(
        "few",
        (),
        f"{count} draws per chain are too few to judge convergence",
        "Draw more: `result.extend(target_ess=…)`, or `pm.sample()` without `draws=`, which decides the number itself.",
    )


def improper(evidence: Symptoms) -> Cause | None:
    """No normalisation: the verdict says so, and of which coordinates."""
    reason, said = evidence.verdict.reason, ""
    look = evidence.run.monitored.improper
    if "max_time" in reason and look is not None:  # such a run was not asked
        reason = said = look(evidence.chains)
    if not reason.startswith("the posterior seems to be improper"):
        return None
    named = re.findall(r"`([^`]+)`", reason)
    places = [evidence.names.index(n) for n in named if n in evidence.names]
    names = tuple(dict.fromkeys(evidence.variable(i).name for i in places))
    if not names:
        return None
    flat = [n for n in names if evidence.title(n) in ("Flat", "HalfFlat")] or names[:1]
    lines = [
        f'`pm.HalfNormal("{n}", 10)` in place of `pm.HalfFlat("{n}")`'
        if evidence.title(n) == "HalfFlat"
        else f'`pm.Normal("{n}", 0, 10)` in place of `pm.{evidence.title(n)}("{n}", …)`'
        for n in flat
    ]
    written = " or ".join(lines[:MOST_NAMED])
    return Cause("improper", names, said, f"Give a prior that is proper, on a scale that suits the data: {written}.")


def copies(evidence: Symptoms) -> Cause | None:
    """Chains in different copies of a posterior that is the same in all of them."""
    quotient = evidence.quotient
    if quotient is None:
        return None
    kinds = {"labels": "labels", "signs": "signs", "signed": "signs", "rotations": "rotations"}
    return Cause(
        kinds[quotient.symmetries[0].kind],
        tuple(dict.fromkeys(name for s in quotient.symmetries for name in s.names)),
        "" if (words := said(quotient)) in evidence.verdict.reason else words,
        advice(quotient, evidence.run.model),
    )


def apart(evidence: Symptoms) -> Cause | None:
    """Chains in different regions."""
    if evidence.verdict.status != "chains_disagree" and "no draw reached" not in evidence.verdict.reason:
        return None
    return Cause(
        "regions",
        evidence.worst,
        "",
        MORE_CHAINS,
    )


def separate(evidence: Symptoms) -> Cause | None:
    """Chains in different places of a coordinate, where nothing else explains it."""
    if not evidence.separate.any():
        return None
    coordinate = int(np.argmax(evidence.separate))
    said = f"the chains are in different places of `{evidence.names[coordinate]}`"
    return Cause("regions", (evidence.variable(coordinate).name,), said, MORE_CHAINS)


def dependence(evidence: Symptoms) -> Cause | None:
    """Two coordinates that the data know together only."""
    if not evidence.verdict.reason or evidence.draws.shape[1] > 500:
        return None
    table: Floats = np.nan_to_num(np.atleast_2d(np.corrcoef(evidence.draws.T)))
    np.fill_diagonal(table, 0.0)
    i, j = np.unravel_index(int(np.argmax(np.abs(table))), table.shape)
    if abs(table[i, j]) < TOGETHER:
        return None
    names = tuple(dict.fromkeys((evidence.variable(int(i)).name, evidence.variable(int(j)).name)))
    what = "sum" if table[i, j] < 0 else "difference"
    return Cause(
        "dependence",
        names,
        f"the data determine little more than the {what} of `{evidence.names[i]}` and `{evidence.names[j]}` "
        f"(correlation {table[i, j]:.3f})",
        "Leave one of them out, give one a narrower prior, or centre the predictor that they share: `x - x.mean()`.",
    )


def steps(evidence: Symptoms) -> Cause | None:
    """Divergences without another cause: the curvature changes, and steps are too large somewhere."""
    count = len(evidence.begins)
    before = evidence.result.diverged
    if count < FEWEST and before is None:
        return None
    helped = ""
    if before is not None and before.draws and evidence.total:
        was, now = before.divergences / before.draws, count / evidence.total
        word = "helped" if now < 0.5 * was else "did not help"
        helped = f"smaller steps {word}: {was:.2%} of the draws diverged before, {now:.2%} after"
    place = evidence.place.rstrip(".").replace("They", "divergences", 1)
    said = "; ".join(filter(None, (place, helped)))
    order = np.argsort(-np.abs(evidence.ranks))[:1]
    found = tuple(evidence.variable(int(i)).name for i in order if abs(evidence.ranks[i]) >= SIGNIFICANT)
    return Cause("steps", found or evidence.worst, said, "Take smaller steps: `pm.sample(target_accept=0.99)`.")


def slow(evidence: Symptoms) -> Cause | None:
    """Nothing but too few effective draws."""
    if evidence.verdict.status != "not_converged" or not evidence.verdict.worst:
        return None
    stuck = evidence.result.check is not None and evidence.result.check.ess < FORECAST_SIZE
    said = "the posterior may be improper, or the chains are stuck" if stuck else ""
    return Cause("draws", (), said, "Draw longer: `result.extend(target_ess=…)`.")
