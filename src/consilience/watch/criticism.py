"""How the model, its prior and its data fit: a source enters; curves and figures for a page leave."""

from __future__ import annotations

import importlib
import importlib.util
import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.variables import text
from consilience.errors import StorageError
from consilience.output.storage.journal import finite
from consilience.watch.source import Place, RunSource
from consilience.watch.views import element

Array = npt.NDArray[Any]

BINS: Final = 60
MOST_LIKELIHOODS: Final = 1 << 23  # numbers that leave-one-out cross-validation is made of
BAD_SHAPE: Final = 0.7  # of Pareto's distribution, from which on an observation's weight is not known


def predictive(source: RunSource, name: str) -> dict[str, Any]:
    """Quantiles of observed values beside those of 40 predicted data sets, on a common grid."""
    if name not in source.groups.get("posterior_predictive", {}) or name not in source.groups.get("observed_data", {}):
        raise KeyError(name)
    observed = np.asarray(source.part("observed_data", name, None)).astype(float).ravel()
    drawn = source.part("posterior_predictive", name, None, max(1, source.draws // 10))
    sets = drawn.reshape(-1, max(1, math.prod(drawn.shape[2:])))[:40].astype(float)
    pooled = np.concatenate([observed, sets.ravel()])
    pooled = pooled[np.isfinite(pooled)]
    if not len(pooled):
        return {"grid": [], "observed": [], "predicted": []}
    low, high = np.quantile(pooled, [0.002, 0.998]).tolist()
    grid = np.linspace(low, high, 80)

    def below(values: Array) -> list[float]:
        return list((np.searchsorted(np.sort(values), grid, "right") / max(1, len(values))).tolist())

    return {"grid": grid.tolist(), "observed": below(observed), "predicted": [below(s) for s in sets]}


def prior(source: RunSource, name: str, place: Place) -> dict[str, Any]:
    """Densities of prior and posterior of one element, on a common grid that holds the posterior and half of the prior.

    Means of the densities between the grid's `edges`; `inside` is the share of prior draws that the grid holds.
    """
    after, _ = element(source, "posterior", name, place)
    before = source.prior(name, place)
    after, before = after[np.isfinite(after)], before[np.isfinite(before)]
    if not len(after) or not len(before):
        return {"edges": [], "prior": [], "posterior": [], "inside": 0.0}
    (a, b), (c, d) = np.quantile(after, [0.0005, 0.9995]).tolist(), np.quantile(before, [0.25, 0.75]).tolist()
    low, high = min(a, c), max(b, d)
    if not low < high or not math.isfinite(high - low):
        return {"edges": [], "prior": [], "posterior": [], "inside": 0.0}
    edges = np.linspace(low, high, BINS + 1)
    width = edges[1] - edges[0]
    curves = [np.histogram(some, edges)[0] / (len(some) * width) for some in (before, after)]
    inside = float(((before >= low) & (before <= high)).mean())
    return dict(
        finite(
            {"edges": edges.tolist(), "prior": curves[0].tolist(), "posterior": curves[1].tolist(), "inside": inside}
        )
    )


def leave_one_out(source: RunSource) -> dict[str, Any]:
    """Expected log predictive density by Pareto-smoothed importance sampling (Vehtari, Gelman, Gabry 2017), and errors.

    `elpd`, `error` and `parameters`, the effective number, are sums over `observations`, whose names have the worst
    shapes first; `bad` is how many of these are above 0.7. StorageError where it cannot be told.
    """
    likelihoods = {n: v for n, v in source.groups.get("log_likelihood", {}).items() if v.sampled}
    if not likelihoods:
        raise KeyError("log_likelihood")
    if importlib.util.find_spec("arviz_stats") is None:
        raise StorageError("leave-one-out cross-validation needs arviz-stats: pip install 'consilience[plots]'")
    array_stats: Any = importlib.import_module("arviz_stats.base").array_stats

    count = sum(v.size for v in likelihoods.values()) * source.chains * source.draws
    step = max(1, -(-count // MOST_LIKELIHOODS))
    if source.draws // step < 100:
        raise StorageError("there are too few draws, or too many observations, for leave-one-out cross-validation here")
    rows, shapes, lost, names = [], [], [], []
    for name, variable in likelihoods.items():
        values = source.part("log_likelihood", name, None, step).astype(float)
        flat = np.moveaxis(values.reshape(*values.shape[:2], -1), 2, 0)
        if not np.isfinite(flat).all():
            raise StorageError(f"the log likelihoods of {text(name)} are not all finite")
        found = array_stats.loo(flat, chain_axis=1, draw_axis=2)
        rows.append(np.ravel(found[0]))
        shapes.append(np.ravel(found[1]))
        lost.append(np.ravel(found[2]))
        names += [label for label, _ in source.elements(variable)]
    each, shape = np.concatenate(rows), np.concatenate(shapes)
    worst = np.argsort(-np.nan_to_num(shape, nan=-np.inf))[:8]
    return dict(
        finite(
            {
                "elpd": float(each.sum()),
                "error": float(math.sqrt(len(each)) * each.std()),
                "parameters": float(np.concatenate(lost).sum()),
                "observations": len(each),
                "bad": int((shape > BAD_SHAPE).sum()),
                "worst": [[names[i], float(shape[i])] for i in worst.tolist()],
                "step": step,
            }
        )
    )
