"""Log densities in JAX whose moments are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt


def correlated_normal(dimension: int) -> tuple[Callable[[Any], Any], npt.NDArray[np.float64]]:
    """A normal density of mean 1, and its covariance: deviations from 0.1 to 10, correlations of up to 0.8."""
    import jax.numpy as jnp

    places = np.arange(dimension)
    correlations = 0.8 ** np.abs(places[:, None] - places)
    deviations = np.logspace(-1.0, 1.0, dimension)
    covariance = correlations * deviations * deviations[:, None]
    precision = np.linalg.inv(covariance)
    return lambda x: -0.5 * (x - 1.0) @ jnp.asarray(precision, x.dtype) @ (x - 1.0), covariance


def two_modes(x: Any) -> Any:
    """Two normal densities so far apart that no chain goes from one to the other."""
    import jax.numpy as jnp

    return jnp.logaddexp(-0.5 * ((x - 30.0) ** 2).sum(), -0.5 * ((x + 30.0) ** 2).sum())
