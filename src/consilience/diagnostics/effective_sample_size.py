"""Effective sample size: draws enter, how many independent draws they are worth leaves, per parameter.

The autocorrelation time is Geyer's initial monotone sequence over all chains.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.autocovariance import mean_autocovariance
from consilience.diagnostics.measurement import measure_one
from consilience.diagnostics.sample import FloatArray, Sample

TAILS = (0.05, 0.95)
"""Quantiles of the tail effective sample size."""

RESOLUTION = float(np.finfo(np.float64).resolution)


def effective_size(chains: FloatArray) -> FloatArray:
    """Effective number of draws of each parameter's mean, for (parameter, chain, draw), two chains or more.

    The correlations at lags 2k and 2k + 1 are summed; the sums, positive and falling for a reversible chain,
    are used up to the first that is not positive, each no larger than the one before. At most
    draws * log10(draws) is given, which antithetic chains reach. Constant draws count in full.

    Source: Geyer (1992), Practical Markov chain Monte Carlo, section 3.3; Vehtari et al. (2021), section 3.
    """
    parameters, count, draws = chains.shape
    total = count * draws
    if draws < 2:
        return np.full(parameters, np.nan)
    covariance = mean_autocovariance(chains)
    within = covariance[:, 0] * draws / (draws - 1)
    pooled = covariance[:, 0] + chains.mean(axis=2).var(axis=1, ddof=1)
    correlation = 1 - (within[:, None] - covariance) / pooled[:, None]
    correlation[:, 0] = 1.0

    longest = max(0, (draws - 3) // 2)
    pairs = correlation[:, 0 : 2 * longest + 2 : 2] + correlation[:, 1 : 2 * longest + 2 : 2]
    ends = ~(pairs > 0)
    ends[:, longest] = True
    end = np.argmax(ends, axis=1)
    monotone = np.minimum.accumulate(pairs, axis=1)
    used = np.where(np.arange(longest + 1) < end[:, None], monotone, 0.0).sum(axis=1)
    row = np.arange(parameters)
    # Of the pair that ends the sequence, the even lag still counts.
    even = correlation[row, 2 * end]
    rest = np.where((even > 0) | (pairs[row, end] >= 0), even, 0.0)

    time = np.maximum(-1 + 2 * used + rest, 1 / np.log10(total))
    size = np.where(np.isnan(correlation[:, 1]), np.nan, total / time)
    spread = chains.max(axis=(1, 2)) - chains.min(axis=(1, 2))
    return np.where(spread < RESOLUTION, float(total), size)


def bulk_of_sample(sample: Sample) -> FloatArray:
    """Effective size of the rank-normalised draws of each parameter."""
    return effective_size(sample.scores)


def mean_of_sample(sample: Sample) -> FloatArray:
    """Effective size for the mean of each parameter."""
    return effective_size(sample.halves)


def quantile_of_sample(sample: Sample, probability: float) -> FloatArray:
    """Effective size for a quantile of each parameter: that of the indicators of not exceeding it."""
    indicators = sample.halves <= sample.quantile(probability)[:, None, None]
    return effective_size(indicators.astype(np.float64))


def tail_of_sample(sample: Sample, tails: Sequence[float] = TAILS) -> FloatArray:
    """Smallest effective size of some quantiles of each parameter."""
    sizes = [quantile_of_sample(sample, probability) for probability in tails]
    return functools.reduce(np.minimum, sizes)


def ess_bulk(draws: npt.ArrayLike) -> FloatArray:
    """Effective sample size of the bulk, for an array (chain, draw, *shape); gives an array of `shape`.

    NaN with fewer than four draws or a NaN among the draws.
    Source: Vehtari et al. (2021), section 4.1: the effective size of rank-normalised split chains.

    draws : ...
    Returns: Of the shape of one draw; NaN where it is not defined.
    See ess_tail: Effective sample size of the tails.
    See ess_mean: Effective sample size for the mean.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16, 667, doi:10.1214/20-BA1221.

    >>> import numpy as np
    >>> from consilience import diagnostics
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> diagnostics.ess_bulk(draws) > 1500
    np.True_
    """
    return measure_one(draws, bulk_of_sample)


def ess_tail(draws: npt.ArrayLike, tails: Sequence[float] = TAILS) -> FloatArray:
    """Effective sample size of the tails, for an array (chain, draw, *shape); gives an array of `shape`.

    It is the smallest of the effective sizes of the quantiles `tails`, probabilities in (0, 1).
    Source: Vehtari et al. (2021), section 4.3.

    draws : ...
    tails (sequence of float, optional): Probabilities of the quantiles, between 0 and 1; 0.05 and 0.95 by default.
    Returns: Of the shape of one draw; NaN where it is not defined.
    See ess_mean: Effective sample size for the mean.
    See ess_bulk: Effective sample size of the bulk.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16, 667, doi:10.1214/20-BA1221.

    >>> import numpy as np
    >>> from consilience import diagnostics
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> diagnostics.ess_tail(draws) > 1500
    np.True_
    """
    return measure_one(draws, lambda sample: tail_of_sample(sample, tails))


def ess_mean(draws: npt.ArrayLike) -> FloatArray:
    """Effective sample size for the mean, for an array (chain, draw, *shape); gives an array of `shape`.

    The split chains are not rank-normalised; the mean and variance have to exist.

    draws : ...
    Returns: Of the shape of one draw; NaN where it is not defined.
    See ess_bulk: Effective sample size of the bulk.
    See ess_tail: Effective sample size of the tails.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16, 667, doi:10.1214/20-BA1221.

    >>> import numpy as np
    >>> from consilience import diagnostics
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> diagnostics.ess_mean(draws) > 1500
    np.True_
    """
    return measure_one(draws, mean_of_sample)


def ess_quantile(draws: npt.ArrayLike, probability: float) -> FloatArray:
    """Effective sample size for one quantile, for an array (chain, draw, *shape); gives `shape`.

    draws : ...
    probability: Probability between 0 and 1.
    Returns: Of the shape of one draw; NaN where it is not defined.
    See ess_bulk: For the centre.
    See ess_tail: For both tails.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16, 667, doi:10.1214/20-BA1221.

    >>> import numpy as np
    >>> from consilience.diagnostics import ess_quantile
    >>> bool(ess_quantile(np.random.default_rng(1).normal(size=(4, 500)), 0.9) > 1000)
    True
    """
    return measure_one(draws, lambda sample: quantile_of_sample(sample, probability))
