"""`pm.gp.util`: what computations with covariance matrices need: jitter, centres for inducing points.

Matrices and inputs in, matrices and inputs out. Pictures stay outside: `plot_gp_dist` says what serves instead.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.errors import MissingRuleError, ParameterError, ShapeError
from consilience.ir import Node
from consilience.tensor import TensorLike

JITTER_DEFAULT: Final = 1e-6


def stabilize(K: TensorLike, jitter: float = JITTER_DEFAULT) -> Node:
    """K with `jitter` added to its diagonal, which keeps a Cholesky factor computable.

    Parameters
    ----------
    jitter : float, optional
        A number >= 0.
    """
    return pt.as_tensor(K) + checked_jitter(jitter) * pt.eye(pt.as_tensor(K).static_shape[-1])


def checked_jitter(jitter: float) -> float:
    """A jitter, or ParameterError for what cannot be added to a diagonal."""
    if not 0.0 <= jitter < float("inf"):
        raise ParameterError(f"jitter must be a finite number >= 0, got {jitter}.")
    return float(jitter)


def kmeans_inducing_points(
    n_inducing: int, X: npt.ArrayLike, random_seed: Any = None, **kmeans_kwargs: Any
) -> npt.NDArray[np.float64]:
    """Centres of clusters of the rows of X by k-means, as inducing points, float64[n_inducing, columns].

    Columns are scaled to unit standard deviation before. `kmeans_kwargs` go to `scipy.cluster.vq.kmeans`. Raises
    ParameterError where X has fewer distinct rows than centres are wanted.
    """
    from scipy.cluster.vq import kmeans  # it takes long to load

    rows = np.asarray(X, dtype=np.float64)
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


def plot_gp_dist(*arguments: Any, **named: Any) -> NoReturn:
    """Not offered: raises MissingRuleError that says what serves instead."""
    raise MissingRuleError(
        "pictures of Gaussian processes are not offered; `pm.plot_dist` and `pm.add_bands` draw draws of a posterior, "
        "and `np.quantile(draws, [0.05, 0.5, 0.95], axis=0)` gives the bands."
    )


__all__ = ["JITTER_DEFAULT", "kmeans_inducing_points", "plot_gp_dist", "stabilize"]
