"""In how many simulated data sets a decision holds: power at fixed parameters, assurance over a prior.

A model and a decision in; the share with its interval out. Source: A. O'Hagan, J. Stevens, M. Campbell (2005),
"Assurance in clinical trial design".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from consilience.errors import SamplingError
from consilience.estimators.calibration.replications import Replication, Replications, Sampler, sampler_of
from consilience.model.model import Model, modelcontext
from consilience.record import Record
from consilience.sample.posterior import sample


class Power(Record, eq=False):
    """Share of data sets in which a decision holds.

    `share`: of those that were decided.
    `interval`: in which it lies with probability `prob`, whatever it is (Clopper and Pearson 1934).
    `prob`: of the interval.
    `decisions`: by number of the data set.
    `errors`: messages of the data sets that were not decided, as the sampler failed, by number.
    """

    share: float
    interval: tuple[float, float]
    prob: float
    decisions: dict[int, bool]
    errors: dict[int, str]


def power(
    model: Model | None,
    decision: Callable[[Any], Any],
    n: int = 1000,
    *,
    fixed: Mapping[str, Any] | None = None,
    sampler: Sampler = sample,
    prob: float = 0.95,
    random_seed: Any = None,
    cores: int | None = None,
    executor: Any = None,
    store: str | Path | None = None,
    progressbar: bool = False,
    callback: Callable[..., Any] | None = None,
    blocking: bool = True,
) -> Any:
    """The share of simulated data sets in which a decision holds: power, or, averaged over the prior, assurance.

    model (Model or None): The model; by default that of the enclosing `with` block.
    decision: Function of the draws, a tree with a group `posterior`, -> whether it holds.
    n: Data sets.
    fixed (mapping): Values of free variables from which all data are simulated; the others come from their prior. The
        analysis does not know them.
    sampler (Sampler, default sample): As for `pm.sbc`.
    prob: Probability of the intervals.
    random_seed : ...
    cores: As for `pm.sbc`.
    executor (Executor): As for `pm.sbc`.
    store: As for `pm.sbc`.
    progressbar: As for `pm.sbc`.
    callback: As for `pm.sbc`.
    blocking: As for `pm.sbc`.
    Returns: A `Power`; after Ctrl-C or a stop of the data sets that were done.
    Raises SamplingError: Where the sampler failed on every data set.
    See sbc: Whether a sampler is right.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[0.0] * 20)
    >>> def positive(draws):
    ...     return bool((draws.posterior["mu"] > 0).mean() > 0.95)
    >>> found = pm.power(model, positive, n=20, fixed={"mu": 2.0}, sampler="laplace", random_seed=1)
    >>> found.share
    1.0
    """
    if not 0 < prob < 1:
        raise ValueError(f"`prob` must lie between 0 and 1, got {prob}.")
    title, _ = sampler_of(sampler)

    given = {name: np.asarray(value).tolist() for name, value in (fixed or {}).items()}
    identity = {
        "study": "power",
        "sampler": title,
        "decision": getattr(decision, "__qualname__", type(decision).__name__),
        "fixed": given,
    }

    def shared(found: dict[int, dict[str, Any]]) -> Power:
        return _shared(found, prob)

    study = Replications(
        modelcontext(model), partial(_held, decision=decision, sampler=sampler), n, identity, shared, fixed=given,
        random_seed=random_seed, cores=cores, executor=executor, store=store, progressbar=progressbar,
        callback=callback,
    )  # fmt: skip
    return study.delivered(blocking)


def _held(simulation: Replication, decision: Callable[[Any], Any], sampler: Sampler) -> dict[str, Any]:
    return {"holds": bool(decision(sampler_of(sampler)[1](simulation.model, simulation.seed)))}


def _shared(found: dict[int, dict[str, Any]], prob: float) -> Power:
    from scipy import stats

    errors = {k: one["error"] for k, one in found.items() if "error" in one}
    decisions = {k: one["holds"] for k, one in found.items() if "holds" in one}
    if not decisions:
        first = next(iter(errors.values()))
        raise SamplingError(f"the sampler failed on every one of {len(found)} data sets, the first with: {first}")
    held, count, tail = sum(decisions.values()), len(decisions), (1 - prob) / 2
    low = float(stats.beta.ppf(tail, held, count - held + 1)) if held else 0.0
    high = float(stats.beta.ppf(1 - tail, held + 1, count - held)) if held < count else 1.0
    return Power(held / count, (low, high), prob, decisions, errors)
