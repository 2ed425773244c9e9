"""What is known of a posterior, as numbers, and whether draws contradict it.

One definition for all targets. A result is wrong if for some scalar

* the mean is off by more than 0.25 standard deviations and four standard errors of the truth,
* the standard deviation is off by more than 35 %, or
* the probability p of an event, below the 5 %, 50 % or 95 % quantile or in a mode, is off by more than 5.5 standard
  errors of 400 independent draws (0.06 at 5 %, 0.14 at a half), or less than a tenth of p, for p of 3 % or more.

The first and the last are five standard errors of the 400 effective draws that a certificate promises. Moments are
judged where 400 draws tell them, a mean up to a kurtosis of 30, a deviation up to 7.5; elsewhere quantiles are.

A region is missing, which is said beside this, if it has a twentieth of the mass or more and under a third of it in the
draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.certificates.target import Array, Draws, Target, scalars
from consilience.diagnostics.standard_error import mcse_mean

OFF_MEAN, OFF_SD = 0.25, 0.35
PROMISED = 400  # effective draws
ERRORS = 5.5
RARE = 0.03
QUANTILES = (0.05, 0.5, 0.95)
MEAN_TOLD, SD_TOLD = 30.0, 7.5  # greatest kurtosis
REGION, MISSING = 0.05, 1.0 / 3.0
MOST_Z = 12  # scores of a run that are kept

Truth = Mapping[str, Mapping[str, Any]]


class Disagreement(Exception):
    """Two computations of one truth that differ."""


def truth_of(target: Target, seed: int, draws: int) -> dict[str, dict[str, Any]]:
    """Means, deviations, quantiles and probabilities of a target, from two batches of draws that have to agree.

    By scalar: `p` and `error` of an event; `mean`, `sd`, `error` and `kurtosis` of a number, and `at`: places with the
    probabilities up to and including them. `error` is the standard error of the mean of both batches.
    """
    assert target.draw is not None
    batches = []
    for stream in range(2):
        rng = np.random.default_rng([seed, stream])
        batches.append(scalars(target.measure(target.draw(rng, draws)), 1))
    found: dict[str, dict[str, Any]] = {}
    for name, first in batches[0].items():
        second = batches[1][name]
        both = np.concatenate([first, second]).astype(np.float64)
        spread = float(both.std())
        noise = spread / np.sqrt(len(both))
        apart = abs(float(first.mean() - second.mean()))
        kurtosis = float(np.mean((both - both.mean()) ** 4) / spread**4) if spread else np.inf
        if kurtosis <= MEAN_TOLD and apart > 0.08 * spread:
            raise Disagreement(f"{name}: {first.mean():.4g} and {second.mean():.4g} with a deviation of {spread:.3g}")
        error = max(noise, apart / 2.0) if kurtosis <= MEAN_TOLD else noise
        if first.dtype == bool:
            found[name] = {"p": _short(both.mean()), "error": _short(error)}
            continue
        places = np.unique([_short(q) for q in np.quantile(both, QUANTILES, method="inverted_cdf")])
        found[name] = {
            "mean": _short(both.mean()), "sd": _short(spread), "error": _short(error),
            "kurtosis": _short(min(kurtosis, 1e6), 3), "at": [[float(q), _short(np.mean(both <= q))] for q in places],
        }  # fmt: skip
    return found


def contradictions(truth: Truth, draws: Draws) -> list[str]:
    """What of the draws (chain, draw, ...) is wrong, in words; the quantities are those that `measure` gives."""
    found = []
    for name, values in scalars(draws, 2).items():
        known = truth[name]
        if "p" in known:
            if _improbable(float(values.mean()), known["p"], known["error"]):
                found.append(f"{name}: {values.mean():.3f} of the draws, {known['p']:.3f} in truth")
            continue
        mean, deviation, spread = float(values.mean()), float(values.std()), known["sd"]
        if known["kurtosis"] <= MEAN_TOLD and abs(mean - known["mean"]) > OFF_MEAN * spread + 4 * known["error"]:
            found.append(f"{name}: mean {mean:.4g}, {known['mean']:.4g} in truth, sd {spread:.3g}")
        if known["kurtosis"] <= SD_TOLD and spread and abs(deviation / spread - 1.0) > OFF_SD:
            found.append(f"{name}: sd {deviation:.3g}, {spread:.3g} in truth")
        for place, p in known["at"]:
            share = float((values <= place).mean())
            if _improbable(share, p, 0.002):
                found.append(f"{name}: {share:.3f} of the draws up to {place:.4g}, {p:.3f} in truth")
    return found


def scores(truth: Truth, draws: Draws) -> list[float]:
    """Errors of means in standard errors that the draws claim, of some of the scalars."""
    found = []
    for name, values in scalars(draws, 2).items():
        known = truth[name]
        if "p" in known or known["kurtosis"] > MEAN_TOLD or not known["sd"] or not np.ptp(values):
            continue
        claimed = np.hypot(float(mcse_mean(values.astype(np.float64))), known["error"])
        found.append((float(values.mean()) - known["mean"]) / claimed)
    places = np.unique(np.linspace(0, len(found) - 1, min(len(found), MOST_Z)).round().astype(int))
    return [round(found[i], 2) for i in places] if found else []


def least_of_regions(truth: Truth, draws: Draws) -> float | None:
    """Least ratio of the share of the draws in a region to its mass, of regions with a twentieth of the mass or more.

    Regions are the events of a target, such as one of its modes; None if it has none of that mass.
    """
    masses = {name: known["p"] for name, known in truth.items() if known.get("p", 0.0) >= REGION}
    found = scalars(draws, 2)
    return min((round(float(found[name].mean()) / p, 4) for name, p in masses.items()), default=None)


def _improbable(share: float, p: float, error: float) -> bool:
    tail, seen = min(p, 1.0 - p), share if p < 0.5 else 1.0 - share
    if tail >= RARE and seen < tail / 10.0:
        return True
    return abs(share - p) > ERRORS * np.sqrt(max(tail, 1e-3) * (1.0 - tail) / PROMISED) + 4.0 * error


def _short(x: Array | float, digits: int = 6) -> float:
    return float(f"{float(x):.{digits}g}")
