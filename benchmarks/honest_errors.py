"""Whether the standard errors that runs claim are those that they make, and are ArviZ's.

`python -m benchmarks.honest_errors [--runs N] [--models MODEL ...] [--out FILE]`. Six models of closed form: errors
of the mean, the standard deviation and three quantiles of their first parameter, in the standard errors claimed for
them. Their variance around 0 over N seeds is 1 where errors are honest, within its own standard error that stands
beside it, about sqrt(2 / N). No standard error of a deviation is claimed where tails are too heavy to tell; `sd of` is
how many runs claim one. ESS, R-hat and standard errors of means and quantiles of the first ten runs are compared with
those that ArviZ computes of the same draws, if it is installed; standard errors of deviations are computed otherwise
there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from scipy import stats

import consilience as pm
from benchmarks.convergence.columns import Columns
from benchmarks.rows_of_processes import Row, made, parser_of, read
from consilience.diagnostics.effective_sample_size import ess_bulk, ess_mean, ess_tail
from consilience.diagnostics.split_rhat import split_rhat
from consilience.diagnostics.standard_error import mcse_mean, mcse_quantile, mcse_sd
from consilience.errors import ConsilienceWarning

QUANTILES = (0.05, 0.5, 0.95)
COMPARED = 10  # runs of each model whose diagnostics are computed by ArviZ too
MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "normal mean": (
        lambda: pm.Normal("y", pm.Normal("x", 0.0, 2.0), 1.0, observed=[1.0, 2.0, 0.5, 1.2]),
        stats.norm(4.7 / 4.25, 4.25**-0.5),
    ),
    "binomial share": (lambda: pm.Binomial("y", 20, pm.Beta("x", 2.0, 2.0), observed=3), stats.beta(5.0, 19.0)),
    "poisson rate": (
        lambda: pm.Poisson("y", pm.Gamma("x", 2.0, 1.0), observed=[3, 1, 4]),
        stats.gamma(10.0, scale=0.25),
    ),
    "precision": (
        lambda: pm.Normal("y", 0.0, tau=pm.Gamma("x", 2.0, 2.0), observed=[0.5, -1.0, 2.0, 0.3]),
        stats.gamma(4.0, scale=1.0 / (2.0 + 0.5 * 5.34)),
    ),
    "student": (lambda: pm.StudentT("x", 5.0, 1.0, 2.0), stats.t(5.0, 1.0, 2.0)),
    "correlated": (
        lambda: pm.Normal("other", 0.95 * pm.Normal("x"), (1.0 - 0.95**2) ** 0.5),
        stats.norm(),
    ),
}


def scores(draws: Any, truth: Any) -> list[float]:
    """Errors in claimed standard errors: of the mean, the standard deviation and the quantiles."""
    found = [
        (draws.mean() - truth.mean()) / float(mcse_mean(draws)),
        (draws.std() - truth.std()) / float(mcse_sd(draws)),
    ]
    return found + [(np.quantile(draws, p) - truth.ppf(p)) / float(mcse_quantile(draws, p)) for p in QUANTILES]


def apart(draws: Any) -> float:
    """Greatest relative difference between our diagnostics and ArviZ's; NaN without ArviZ."""
    try:
        from arviz_stats.base import array_stats
    except ImportError:
        return float("nan")
    pairs = [
        (ess_bulk(draws), array_stats.ess(draws, method="bulk")),
        (ess_tail(draws), array_stats.ess(draws, method="tail", prob=(0.05, 0.95))),
        (ess_mean(draws), array_stats.ess(draws, method="mean")),
        (mcse_mean(draws), array_stats.mcse(draws, method="mean")),
        *[(mcse_quantile(draws, p), array_stats.mcse(draws, method="quantile", prob=p)) for p in QUANTILES],
        (split_rhat(draws), array_stats.rhat(draws)),
    ]
    return max(abs(float(a) - float(b)) / abs(float(b)) for a, b in pairs)


@cache
def model_of(name: str) -> pm.Model:
    """One for all seeds."""
    with pm.Model() as model:
        MODELS[name][0]()
    return model


def one(work: tuple[str, int]) -> Row:
    """A run: its status, its scores, and how far its diagnostics are from ArviZ's."""
    name, seed = work
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        result = pm.sample(model=model_of(name), random_seed=seed, cores=1, progressbar=False)
    draws = result.posterior["x"].to_numpy()
    found = scores(draws, MODELS[name][1])
    return {
        "model": name, "seed": seed, "status": result.status, "scores": [float(score) for score in found],
        "apart": apart(draws) if seed < COMPARED else None,
    }  # fmt: skip


def show(rows: Iterable[Row]) -> None:
    """Print the table."""
    titles = ("certified", "mean", "sd", *(f"{100 * p:g} %" for p in QUANTILES), "sd of", "ArviZ")
    table = Columns("Variances of errors in claimed ones", ("model", 16), [(title, 13) for title in titles])
    of: dict[str, dict[int, Row]] = {}
    for row in rows:
        of.setdefault(row["model"], {})[row["seed"]] = row
    for name, by_seed in of.items():
        runs = list(by_seed.values())
        squares = [own[np.isfinite(own)] for own in np.square([row["scores"] for row in runs]).T]
        told = [f"{own.mean():.2f} ± {own.std(ddof=1) / np.sqrt(len(own)):.2f}" for own in squares]
        certified = sum(row["status"] == "converged" for row in runs)
        differ = max((row["apart"] for row in runs if row["apart"] is not None), default=float("nan"))
        table.row(name, [f"{certified} of {len(runs)}", *told, str(len(squares[1])), f"{differ:.1e}"])


def main() -> None:
    """Run or read."""
    given = parser_of("benchmarks.honest_errors", __doc__, list(MODELS), "seeds").parse_args()
    work = [(name, seed) for seed in range(given.runs) for name in given.models]
    show(read(given.summary) if given.summary else made(one, work, given))


if __name__ == "__main__":
    main()
