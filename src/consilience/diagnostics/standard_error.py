"""Monte Carlo standard errors of the mean, the standard deviation and the quantiles of draws."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience.diagnostics import effective_sample_size
from consilience.diagnostics.measurement import measure_one
from consilience.diagnostics.sample import FloatArray, Sample
from consilience.diagnostics.tail_index import LARGEST_TAIL_INDEX, tail_index

ONE_DEVIATION = (0.1586552539314571, 0.8413447460685429)
"""Probabilities of a normal variable to lie below -1 and 1 standard deviation."""


def of_mean(sample: Sample, effective: FloatArray) -> FloatArray:
    """Standard error of each parameter's mean, given its effective size."""
    error: FloatArray = sample.deviation / np.sqrt(effective)
    return error


def of_deviation(sample: Sample) -> FloatArray:
    """Standard error of each parameter's standard deviation; NaN where squared deviations have too heavy a tail."""
    mean = sample.pooled.mean(axis=1, keepdims=True)
    squares = Sample(np.square(sample.draws - mean[:, :, None]))
    effective = effective_sample_size.mean_of_sample(squares)
    variance = squares.pooled.mean(axis=1)
    variance_of_variance = np.square(squares.pooled - variance[:, None]).mean(axis=1) / effective
    error: FloatArray = np.sqrt(variance_of_variance / variance / 4)
    return np.where(tail_index(squares.pooled) < LARGEST_TAIL_INDEX, error, np.nan)


def of_quantile(sample: Sample, probability: float) -> FloatArray:
    """Standard error of a quantile of each parameter: half the distance between both ends of that of its rank."""
    from scipy.special import betaincinv

    size = effective_sample_size.quantile_of_sample(sample, probability)[:, None]
    ends = betaincinv(size * probability + 1, size * (1 - probability) + 1, ONE_DEVIATION)
    ascending = sample.ascending
    total = ascending.shape[1]
    places = np.stack([np.floor(ends[:, 0] * total) - 1, np.ceil(ends[:, 1] * total) - 1], axis=1)
    usable = np.isfinite(ends)
    bounds = np.take_along_axis(ascending, np.where(usable, places, 0).clip(0, total - 1).astype(int), axis=1)
    return np.where(usable.all(axis=1), (bounds[:, 1] - bounds[:, 0]) / 2, np.nan)


def mcse_mean(draws: npt.ArrayLike) -> FloatArray:
    """Monte Carlo standard error of the mean, in the unit of the draws (chain, draw, *shape); gives `shape`.

    Source: Vehtari et al. (2021), section 3.2: standard deviation over the root of the effective size.

    draws : ...
    Returns: Of the shape of one draw; NaN where it is not defined.
    See mcse_sd: Monte Carlo standard error of the standard deviation.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16, 667, doi:10.1214/20-BA1221.

    >>> import numpy as np
    >>> from consilience import diagnostics
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> diagnostics.mcse_mean(draws) < 0.03
    np.True_
    """
    return measure_one(draws, lambda sample: of_mean(sample, effective_sample_size.mean_of_sample(sample)))


def mcse_sd(draws: npt.ArrayLike) -> FloatArray:
    """Monte Carlo standard error of the standard deviation, for draws (chain, draw, *shape); gives `shape`.

    NaN where the variance of the squared deviations is infinite, or estimated badly: their tail index is 0.4 or more,
    see `tail_index`. The standard deviation itself is then uncertain by more than such an error tells.

    Source: the delta method for the root of the variance, as in Kenney and Keeping (1951), Mathematics of
    Statistics, with the effective size of the squared deviations in place of the number of draws.

    draws : ...
    Returns: Of the shape of one draw.
    See mcse_mean: Of the mean.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16, 667, doi:10.1214/20-BA1221.

    >>> import numpy as np
    >>> from consilience.diagnostics import mcse_sd
    >>> bool(mcse_sd(np.random.default_rng(1).normal(size=(4, 500))) < 0.03)
    True
    """
    return measure_one(draws, of_deviation)


def mcse_quantile(draws: npt.ArrayLike, probability: float) -> FloatArray:
    """Monte Carlo standard error of a quantile, in the unit of the draws (chain, draw, *shape); gives `shape`.

    Source: Vehtari et al. (2021), section 4.4: the rank of the quantile has a beta distribution of as many draws as
    are effective for it; its standard deviation to both sides is carried over to the draws in order.

    draws : ...
    probability: Probability between 0 and 1.
    Returns: Of the shape of one draw.
    See mcse_mean: Of the mean.
    See ess_quantile: As a number of draws.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16, 667, doi:10.1214/20-BA1221.

    >>> import numpy as np
    >>> from consilience.diagnostics import mcse_quantile
    >>> bool(mcse_quantile(np.random.default_rng(1).normal(size=(4, 500)), 0.5) < 0.05)
    True
    """
    return measure_one(draws, lambda sample: of_quantile(sample, probability))
