"""`pm.gp.util`: what computations with covariance matrices need: jitter, centres for inducing points.

Matrices and inputs in, matrices and inputs out; matplotlib is loaded by `plot_gp_dist` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.errors import ParameterError, ShapeError, warn
from consilience.first_use import load_on_use
from consilience.ir import Node
from consilience.tensor import TensorLike

JITTER_DEFAULT: Final = 1e-6


def stabilize(K: TensorLike, jitter: float = JITTER_DEFAULT) -> Node:
    """K with `jitter` added to its diagonal, which keeps a Cholesky factor computable."""
    return pt.as_tensor(K) + checked_jitter(jitter) * pt.eye(pt.as_tensor(K).static_shape[-1])


def checked_jitter(jitter: float) -> float:
    """A jitter, or ParameterError for what cannot be added to a diagonal."""
    if not 0.0 <= jitter < float("inf"):
        raise ParameterError(f"jitter must be a finite number >= 0, got {jitter}.")
    return float(jitter)


def kmeans_inducing_points(
    n_inducing: int, X: TensorLike, random_seed: Any = None, **kmeans_kwargs: Any
) -> npt.NDArray[np.float64]:
    """Centres of clusters of the rows of X by k-means, as inducing points, float64[n_inducing, columns].

    Columns are scaled to unit standard deviation before. `kmeans_kwargs` go to `scipy.cluster.vq.kmeans`. Raises
    ParameterError where X has fewer distinct rows than centres are wanted.
    """
    from scipy.cluster.vq import kmeans  # it takes long to load

    rows = np.asarray(X.eval() if isinstance(X, Node) else X, dtype=np.float64)
    if rows.ndim != 2:
        raise ShapeError(f"X must be a matrix with one row per point, got shape {rows.shape}.")
    distinct = len(np.unique(rows, axis=0))
    if not 1 <= n_inducing <= distinct:
        raise ParameterError(
            f"n_inducing must be from 1 to {distinct}, the number of distinct rows of X, got {n_inducing}."
        )
    spread = rows.std(axis=0)
    scale = np.where(spread > 0.0, spread, 1.0)
    settings = {"rng": np.random.default_rng(random_seed), **kmeans_kwargs}
    centres, _ = kmeans(rows / scale, n_inducing, **settings)
    return np.asarray(centres * scale, dtype=np.float64)


def plot_gp_dist(
    ax: Any,
    samples: npt.ArrayLike,
    x: npt.ArrayLike,
    plot_samples: bool = True,
    palette: str = "Reds",
    fill_alpha: float = 0.8,
    samples_alpha: float = 0.1,
    fill_kwargs: Mapping[str, Any] | None = None,
    samples_kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """Draw functions of a Gaussian process into a picture of matplotlib: bands of quantiles, and single functions.

    `ax`: where to draw.
    `samples`: functions by row, shape (draws, points).
    `x`: the inputs that they are given at: a vector, or a matrix of one column.
    `plot_samples`: whether some 30 of the functions are drawn as lines.
    `palette`: name of the colour map of matplotlib.
    `fill_alpha`, `samples_alpha`: how opaque bands and lines are, 0 to 1.
    `fill_kwargs`, `samples_kwargs`: further arguments of `ax.fill_between` and `ax.plot`.
    Returns: `ax`.
    Warns ConsilienceWarning where samples are NaN: the bands leave them out.
    """
    import matplotlib as mpl

    rows, at = np.asarray(samples, dtype=np.float64), np.asarray(x).ravel()
    if rows.ndim != 2 or rows.shape[1] != at.size:
        raise ShapeError(
            f"samples need one row per draw and {at.size} columns, as many as `x` has points; got {rows.shape}."
        )
    if np.isnan(rows).any():
        warn("plot_gp_dist: some samples are NaN; the bands are quantiles of the others.")
    colours = mpl.colormaps[palette]
    outer = np.linspace(99, 51, 40)
    for level in outer:
        low, high = np.nanpercentile(rows, [100 - level, level], axis=0)
        shade = colours((level - outer.min()) / np.ptp(outer))
        ax.fill_between(at, high, low, **{"color": shade, "alpha": fill_alpha, "linewidth": 0.0, **(fill_kwargs or {})})
    if plot_samples:
        some = rows[np.linspace(0, len(rows) - 1, min(30, len(rows))).astype(int)]
        ax.plot(at, some.T, **{"color": colours(0.9), "lw": 1, "alpha": samples_alpha, **(samples_kwargs or {})})
    return ax


__all__ = ["JITTER_DEFAULT", "kmeans_inducing_points", "plot_gp_dist", "stabilize"]

load_on_use(__name__, {}, public=True)
