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

Floats = npt.NDArray[np.float64]

TOGETHER: Final = 0.98  # correlation of two coordinates that the data tell apart badly
SAME: Final = 1e-6  # nats, up to which two densities are equal
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


def apart(evidence: Symptoms) -> Cause | None:
    """Chains in different regions."""
    if evidence.verdict.status != "chains_disagree" and "no draw reached" not in evidence.verdict.reason:
        return None
    exchanged = _exchanged(evidence)
    if exchanged or "labels" in evidence.verdict.reason:
        words = f"chains have the elements of `{exchanged}` in different orders: the same answer with other labels"
        return Cause(
            "labels",
            (exchanged,) if exchanged else evidence.worst,
            "" if "labels" in evidence.verdict.reason else words,
            "Give the components an order, by `transform=pm.distributions.transforms.ordered` of the variable that "
            "tells them apart, with `initval=` in that order.",
        )
    mirrored, positive = _mirrored(evidence)
    if mirrored:
        *others, last = (f"`{name}`" for name in mirrored[:MOST_NAMED])
        return Cause(
            "signs",
            mirrored,
            f"chains have {', '.join(others)}{' and ' if others else ''}{last} with opposite signs, at the same "
            "density: the data do not tell the signs apart",
            f'Fix the sign by a prior of positive values: `pm.HalfNormal("{positive}", …)` in place of '
            f"`pm.{evidence.title(positive)}`."
            if positive
            else f"Fix the sign by a prior of positive values for one element of {last}.",
        )
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


def _exchanged(evidence: Symptoms) -> str:
    """The variable of which chains have the same elements in different orders; empty if there is none."""
    for s in evidence.stretches:
        if s.size < 2:
            continue
        own = evidence.chains[:, :, s.slice]
        means, widths = own.mean(axis=1), own.std(axis=1)
        order = np.argsort(means, axis=1)
        means, widths = (np.take_along_axis(a, order, axis=1) for a in (means, widths))
        other = next((k for k, row in enumerate(order) if (row != order[0]).any()), None)
        if other is None or not (np.ptp(means, axis=0) < widths.max(axis=0)).all():
            continue
        if any(t.size == s.size - 1 for t in evidence.stretches):
            return str(s.variable.name)  # weights of a simplex would change their places, too
        here = evidence.chains[other, -1]
        for rows in (1, None):  # variables with a number for each, and also those with a row for each
            there = here.copy()
            for t in evidence.stretches:
                if t.size == s.size or (rows is None and t.size and t.size % s.size == 0):
                    parts = here[t.slice].reshape(s.size, -1)[order[other]]
                    there[t.slice].reshape(s.size, -1)[order[0]] = parts
            if abs(evidence.logp(there) - evidence.logp(here)) < SAME:
                return str(s.variable.name)
    return ""


def _mirrored(evidence: Symptoms) -> tuple[tuple[str, ...], str]:
    """The variables that chains have with opposite signs at the same density, and one of them that has one sign."""
    means = evidence.chains.mean(axis=1)
    widths = evidence.chains.std(axis=1).max(axis=0)
    for other in range(1, len(means)):
        both, apart = means[0] + means[other], means[0] - means[other]
        turned = [s for s in evidence.stretches if np.linalg.norm(both[s.slice]) < np.linalg.norm(apart[s.slice])]
        clear = [s for s in turned if (abs(apart[s.slice]) > 2.0 * widths[s.slice]).any()]
        if not clear:
            continue
        here = evidence.chains[other, -1]
        there = here.copy()
        for s in turned:
            there[s.slice] = -here[s.slice]
        if abs(evidence.logp(there) - evidence.logp(here)) < SAME:
            alike = [s for s in clear if abs(np.sign(apart[s.slice]).sum()) == s.size]
            return tuple(str(s.variable.name) for s in clear), str(alike[0].variable.name) if alike else ""
    return (), ""


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
