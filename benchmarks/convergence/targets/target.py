"""What a target is: a model, its true moments, and the published cost of sampling it.

Moments are those of the monitored scalars: the model's free variables on the unconstrained line, element by element in
the order of their declaration.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience as pm

Floats = npt.NDArray[np.float64]

REFERENCE = Path(__file__).resolve().parent.parent / "reference"
# From the scale of a variable to the line, by the name of its transform.
TO_THE_LINE = {
    "log": np.log,
    "logodds": lambda x: np.log(x) - np.log1p(-x),
}


@dataclass(frozen=True)
class Truth:
    """Mean and standard deviation of each monitored scalar; `ess` is what they rest on, infinite for formulas."""

    mean: Floats
    sd: Floats
    ess: float = np.inf


def moments(mean: npt.ArrayLike, sd: npt.ArrayLike, count: int) -> Truth:
    """Moments known by formula, stretched to `count` scalars."""
    return Truth(np.broadcast_to(np.asarray(mean, float), count), np.broadcast_to(np.asarray(sd, float), count))


@dataclass(frozen=True)
class Paper:
    """The published figures of a target; gradients are sums over four chains, in thousands.

    Of the recommended algorithm: iterations of warmup, gradients of warmup and of the whole run, draws per chain, the
    shares of runs that stopped, that stopped without a divergence and that tuned again, the numbers of runs that
    stopped at wrong moments and of those among them without a divergence, coverage of 95 % intervals of means.
    Of fixed runs, with the warmup of Stan (1000 + 1000) and of nutpie (400 + 1000): gradients of the whole run.
    Runs were given up after `most_draws` per chain.
    """

    warmup: int
    warmup_gradients: float
    gradients: float
    draws: int
    stopped: float
    clean: float
    wrong: int
    wrong_clean: int
    retuned: float
    coverage: float
    stan: float = np.nan
    nutpie: float = np.nan
    most_draws: int = 2000


@dataclass(frozen=True)
class Target:
    """A model with its truth.

    runs      replications of the published figures
    known     moments by formula; without them they are read from a file that `benchmarks.convergence.reference` makes
    source    the target whose draws give that reference, if not this one: its model keeps this one's variables as
              deterministics, and is easier to sample
    """

    name: str
    model: pm.Model
    paper: Paper
    runs: int
    known: Truth | None = None
    source: str | None = None

    @property
    def dimension(self) -> int:
        """Number of monitored scalars."""
        return self.model.log_density().dimension

    @property
    def reference_file(self) -> Path:
        """Where moments found by sampling are kept."""
        return REFERENCE / f"{self.name}.json"

    @cached_property
    def truth(self) -> Truth:
        """Moments, by formula or by long runs."""
        if self.known is not None:
            return self.known
        if not self.reference_file.exists():
            raise FileNotFoundError(
                f"the moments of {self.name} are not there; make them by "
                f"`python -m benchmarks.convergence.reference {self.name}`."
            )
        found = json.loads(self.reference_file.read_text(encoding="utf-8"))
        if found["scalars"] != self.scalar_names():
            raise ValueError(f"{self.reference_file.name} belongs to other variables: run `reference` again.")
        return Truth(np.array(found["mean"]), np.array(found["sd"]), found["ess"])

    def scalar_names(self) -> list[str]:
        """Names of the monitored scalars, such as `tau_log__` or `z[3]`."""
        layout = self.model.log_density().layout
        return [layout.coordinate(i) for i in range(layout.dimension)]

    def scalars(self, posterior: Any) -> Floats:
        """Draws (chain, draw, scalar) on the unconstrained line from a posterior's arrays by name."""
        columns = []
        for stretch in self.model.log_density().layout.stretches:
            draws = np.asarray(posterior[stretch.variable.name])
            transform = stretch.key.removeprefix(stretch.variable.name).strip("_")
            on_the_line = TO_THE_LINE[transform](draws) if transform else draws
            columns.append(on_the_line.reshape(*draws.shape[:2], -1))
        return np.concatenate(columns, axis=-1)
