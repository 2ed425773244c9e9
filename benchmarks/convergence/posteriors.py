"""Published posteriors by plain `pm.sample`: reproduced or honestly not certified, and the cost beside fixed runs.

`python -m benchmarks.convergence.posteriors [--runs SEEDS] [--targets POSTERIOR ...]`. Reproduced is: every mean within
4 standard errors of the published one (its own and ours together), and every standard deviation within 10 % or, since
400 effective draws know it to 3.5 % at best, within 4 of its standard errors. Fixed runs have 1000 + 1000 transitions
per chain. Seconds are those of sampling, with the model compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.convergence.columns import Columns, arguments, thousands, verdict
from benchmarks.convergence.measure import CONVERGED, sample
from consilience.diagnostics import mcse_mean, mcse_sd
from tests.posteriordb.models import MODELS
from tests.posteriordb.test_posteriors import draws_of, load

NAMES = tuple(sorted(MODELS))
MOST_ERRORS = 4
SD_WITHIN = 0.1
FIXED = {"draws": 1000, "tune": 1000}

COLUMNS = (
    ("status", 26),
    ("max |z|", 5),
    ("sd ratio", 11),
    ("sd max |z|", 5),
    ("draws", 5),
    ("gradients", 8),
    ("fixed", 8),
    ("ratio", 5),
    ("seconds", 6),
    ("fixed", 6),
    ("ratio", 5),
    ("", 6),
)


@dataclass(frozen=True)
class Comparison:
    """Largest distances of means and of standard deviations in standard errors, range of the ratios of the latter."""

    z: float
    smallest_ratio: float
    largest_ratio: float
    z_of_sd: float

    @property
    def reproduced(self) -> bool:
        """Whether the published moments are met, as far as the number of draws can tell."""
        off = max(1 - self.smallest_ratio, self.largest_ratio - 1)
        return self.z < MOST_ERRORS and (off < SD_WITHIN or self.z_of_sd < MOST_ERRORS)


def compare(posterior: Any, reference: dict[str, dict[str, float]]) -> Comparison:
    """Compare a posterior with the published summary."""
    z, ratios, z_of_sd = [], [], []
    for parameter, published in reference.items():
        draws = draws_of(posterior, parameter)
        deviation = draws.std(ddof=1)
        z.append(abs(draws.mean() - published["mean"]) / np.hypot(published["mcse_mean"], float(mcse_mean(draws))))
        ratios.append(deviation / published["sd"])
        z_of_sd.append(abs(deviation - published["sd"]) / float(mcse_sd(draws)))
    return Comparison(max(z), min(ratios), max(ratios), float(np.nanmax([0.0, *z_of_sd])))  # NaN: heavy tails


def main() -> None:
    """Print the table."""
    options = arguments(__doc__, NAMES)
    table = Columns("Published posteriors, plain pm.sample beside fixed 1000+1000", ("posterior", 42), COLUMNS)
    ratios: list[tuple[float, float]] = []
    for name in options.targets:
        build, _ = MODELS[name]
        published = load(name)
        model = build(pm, pt, published["data_values"])
        for seed in range(options.seed, options.seed + (options.runs or 1)):
            tree, seconds = sample(model, seed)
            fixed, fixed_seconds = sample(model, seed, **FIXED)
            attributes = tree["posterior"].attrs
            gradients, usual = attributes["gradients"], fixed["posterior"].attrs["gradients"]
            found = compare(tree["posterior"], published["reference_summary"])
            ratios.append((usual / gradients, fixed_seconds / seconds))
            cells = [
                attributes["status"],
                f"{found.z:.2f}",
                f"{found.smallest_ratio:.3f}-{found.largest_ratio:.3f}",
                f"{found.z_of_sd:.2f}",
                str(tree["posterior"].sizes["draw"]),
                thousands(gradients),
                thousands(usual),
                f"{ratios[-1][0]:.1f}",
                f"{seconds:.3f}",
                f"{fixed_seconds:.3f}",
                f"{ratios[-1][1]:.1f}",
                verdict(found.reproduced or attributes["status"] != CONVERGED),
            ]
            table.row(name, cells)
    gradients, seconds = np.median(ratios, axis=0)
    print(f"median ratio: {gradients:.1f} of the gradients, {seconds:.1f} of the seconds")


if __name__ == "__main__":
    main()
