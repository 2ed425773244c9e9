"""Summaries of draws that have a standard error however heavy the tails: those of bounded functions of them."""

from __future__ import annotations

from typing import Any

import numpy as np

CAP = 40  # elements of a variable whose posterior is kept


def bounded(draws: Any, centre: float, width: float) -> Any:
    """Mean over the elements of arctan((x - centre) / width) and of its square, per draw: shape (draws, 2)."""
    flat = np.asarray(draws, float).reshape(np.prod(np.shape(draws)[:2], dtype=int), -1)
    angle = np.arctan((flat - centre) / width)
    return np.stack([angle.mean(1), (angle**2).mean(1)], axis=1)


def summary(draws: Any) -> list[float]:
    """Median and width over all elements, means and deviations of the bounded functions.

    draws    (chain, draw, ...)
    returns  [median, width, mean 1, mean 2, deviation 1, deviation 2]
    """
    values = np.asarray(draws, float)
    if not values.size or not np.isfinite(values).all():
        return []
    low, centre, high = np.quantile(values, [0.25, 0.5, 0.75])
    width = float(high - low) or max(abs(float(centre)), 1.0)
    angles = bounded(values, float(centre), width)
    return [float(centre), width, *angles.mean(0), *angles.std(0)]


def elements(draws: Any) -> dict[str, Any]:
    """Mean, deviation, standard error of the mean and R-hat of the first elements of a variable."""
    values = np.asarray(draws, float)
    values = values.reshape(*values.shape[:2], -1)[..., :CAP]
    chains, count, _ = values.shape
    halves = np.concatenate([values[:, : count // 2], values[:, count // 2 : 2 * (count // 2)]])
    n = halves.shape[1]
    within = halves.var(1, ddof=1).mean(0)
    between = halves.mean(1).var(0, ddof=1)
    # Batches of 50 draws: means are nearly independent; enough for a comparison of means.
    batches = values[:, : count // 50 * 50].reshape(chains * (count // 50), 50, -1).mean(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        rhat = np.sqrt((n - 1) / n + between / within)
    error = np.maximum(batches.std(0, ddof=1) / np.sqrt(len(batches)), np.sqrt(between / len(halves)))
    return {"mean": values.mean((0, 1)), "sd": values.std((0, 1)), "se": error, "rhat": rhat}
