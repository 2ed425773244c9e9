"""One run of a target: what it cost, how it ended, and how its moments compare with the truth."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience as pm
from benchmarks.convergence.targets import Target
from consilience.diagnostics import mcse_mean
from consilience.errors import ConvergenceWarning

CONVERGED = "converged"
WITH_DIVERGENCES = "converged_with_divergences"

# A mean further off than this many standard deviations, or a standard deviation off by more than this share, is wrong:
# five standard errors of an effective size of 400.
WRONG_MEAN = 0.25
WRONG_SD = 0.35

NORMAL_975 = 1.959963984540054


@dataclass(frozen=True)
class Outcome:
    """Figures of one run.

    status      the word of the result; empty for fixed lengths
    warmup      tuning transitions per chain
    draws       kept draws per chain
    gradients   of all chains, warmup included; `warmup_gradients` those of warmup
    distance    per scalar: the mean's distance from the truth, in true standard deviations
    z           per scalar: the same in standard errors by the run's own account
    ratio       per scalar: standard deviation over the true one
    """

    status: str
    warmup: int
    draws: int
    warmup_gradients: int
    gradients: int
    divergences: int
    retuned: bool
    seconds: float
    distance: npt.NDArray[np.float64]
    z: npt.NDArray[np.float64]
    ratio: npt.NDArray[np.float64]

    @property
    def stopped(self) -> bool:
        """Whether the run stopped because the answer was good enough."""
        return self.status in (CONVERGED, WITH_DIVERGENCES)

    @property
    def clean(self) -> bool:
        """Whether it did so without reservation."""
        return self.status == CONVERGED

    @property
    def wrong(self) -> bool:
        """Whether some mean or standard deviation is wrong."""
        return bool(np.any(np.abs(self.distance) > WRONG_MEAN) or np.any(np.abs(self.ratio - 1) > WRONG_SD))

    @property
    def coverage(self) -> float:
        """Share of the scalars whose 95 % interval mean +- 1.96 standard errors holds the true mean."""
        return float(np.mean(np.abs(self.z) < NORMAL_975))


def sample(model: pm.Model, seed: int, **settings: Any) -> tuple[Any, float]:
    """A result of `pm.sample`, silent, and its seconds; the model is compiled beforehand."""
    model.log_density()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the status says the same
        began = time.perf_counter()
        with model:
            tree = pm.sample(random_seed=seed, progressbar=False, **settings)
        return tree, time.perf_counter() - began


def compare(target: Target, tree: Any, seconds: float) -> Outcome:
    """The figures of a result."""
    attributes = tree["posterior"].attrs
    draws = target.scalars(tree["posterior"])
    mean = draws.mean(axis=(0, 1))
    error = mean - target.truth.mean
    return Outcome(
        status=str(attributes["status"]),
        warmup=int(attributes["tuning_steps"]),
        draws=draws.shape[1],
        warmup_gradients=int(attributes["gradients_warmup"]),
        gradients=int(attributes["gradients"]),
        divergences=int(np.sum(tree["sample_stats"]["diverging"].to_numpy())),
        retuned=bool(attributes["retuned"]),
        seconds=seconds,
        distance=error / target.truth.sd,
        z=error / mcse_mean(draws),
        ratio=draws.std(axis=(0, 1)) / target.truth.sd,
    )


def run(target: Target, seed: int, **settings: Any) -> Outcome:
    """Sample a target and compare."""
    return compare(target, *sample(target.model, seed, **settings))


def fixed_gradients(target: Target, seed: int, tune: int, draws: int) -> int:
    """Gradients of trajectories of a run of fixed lengths, tuning included."""
    tree, _ = sample(
        target.model, seed, tune=tune, draws=draws, discard_tuned_samples=False, compute_convergence_checks=False
    )
    return sum(int(np.sum(tree[group]["n_steps"].to_numpy())) for group in ("warmup_sample_stats", "sample_stats"))
