"""Draws from an approximation against the density that it stands for: how far off it is, and draws corrected for it.

Log densities of both at the draws in; the tail index of their ratio, smoothed weights and chosen draws out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.diagnostics.tail_index import FEWEST_EXCEEDANCES, tail_index
from consilience.errors import warn
from consilience.estimators.approximations.target import Floats, TargetDensity
from consilience.record import Record
from consilience.sample.inference_data import to_inference_data

if TYPE_CHECKING:
    import xarray

LARGEST: Final = 0.7  # tail index up to which weights can be relied on


class Weighted(Record, eq=False):
    """Draws with their weights.

    `points`: float64[draws, dimension]. `weights`: sum to one, smoothed. `pareto_k`: shape of the distribution of the
    largest ratios; NaN with too few draws. `evidence`: log of the mean ratio: of the integral of the density, if the
    approximation is normalized.
    """

    points: Floats
    weights: Floats
    pareto_k: float
    evidence: float


def weighted(points: Floats, logp: Floats, logq: Floats) -> Weighted:
    """Pareto smoothed importance weights (Vehtari, Simpson, Gelman, Yao, Gabry 2024, arXiv:1507.02646).

    `logp`, `logq`: log density of the target and of the approximation at each point.
    """
    ratios = np.where(np.isfinite(logp), logp - logq, -np.inf)
    highest = ratios.max()
    if not np.isfinite(highest):
        return Weighted(points, np.full(len(points), 1.0 / len(points)), np.inf, -np.inf)
    raw = np.exp(ratios - highest)
    evidence = float(highest + np.log(raw.mean()))
    index = float(tail_index(raw[None])[0])
    weights = raw
    if np.isfinite(index):
        weights = _smoothed(raw, index)
    return Weighted(points, weights / weights.sum(), index if np.isfinite(index) else np.nan, evidence)


def _smoothed(raw: Floats, shape: float) -> Floats:
    """The largest weights replaced by quantiles of the generalized Pareto distribution that fits them."""
    n = len(raw)
    used = min(n // 5, int(3 * np.sqrt(n)))
    order = np.argsort(raw)
    tail, threshold = order[-used:], raw[order[-used - 1]]
    excess = raw[tail] - threshold
    if (excess > 0).sum() < FEWEST_EXCEEDANCES:
        return raw
    # The mean of such a distribution is its scale over 1 - shape; an infinite mean leaves the median to fit by.
    scale = excess.mean() * (1 - shape) if shape < 0.9 else np.median(excess) * shape / (2**shape - 1)
    quantiles = (np.arange(used) + 0.5) / used
    fitted = threshold + (
        scale * np.expm1(-shape * np.log1p(-quantiles)) / shape if abs(shape) > 1e-9 else -scale * np.log1p(-quantiles)
    )
    result = raw.copy()
    result[tail] = np.minimum(fitted, raw.max())
    return result


def drawn(weights: Floats, count: int, generator: np.random.Generator) -> Any:
    """Positions of `count` draws in proportion to weights, by systematic resampling."""
    edges = np.cumsum(weights)
    return np.minimum(
        np.searchsorted(edges / edges[-1], (np.arange(count) + generator.random()) / count), len(weights) - 1
    )


def posterior(target: TargetDensity, points: Floats, title: str, found: Weighted, **facts: Any) -> xarray.DataTree:
    """Draws as a labelled tree with one chain, and what is known of them in the attributes of its posterior."""
    values = target.density.expand(target.whole(points))
    tree = to_inference_data({n: v[None] for n, v in values.items()}, model=target.model)
    attributes = {"inference_library": "consilience", "method": title, "pareto_k": found.pareto_k, **facts}
    tree["posterior"].attrs.update(attributes)
    if found.pareto_k > LARGEST:
        warn(
            f"the {title} approximation is far from the posterior: the Pareto tail index of the importance ratios is "
            f"{found.pareto_k:.2f}, above {LARGEST}, so neither its draws nor their weights can be relied on; use "
            "`pm.sample`."
        )
    return tree
