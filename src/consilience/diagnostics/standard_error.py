"""Monte Carlo standard errors of the mean and the standard deviation of draws."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience.diagnostics import effective_sample_size
from consilience.diagnostics.measurement import measure_one
from consilience.diagnostics.sample import FloatArray, Sample
from consilience.diagnostics.tail_index import LARGEST_TAIL_INDEX, tail_index


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


def mcse_mean(draws: npt.ArrayLike) -> FloatArray:
    """Monte Carlo standard error of the mean, in the unit of the draws (chain, draw, *shape); gives `shape`.

    Source: Vehtari et al. (2021), section 4.2: standard deviation over the root of the effective size.
    """
    return measure_one(draws, lambda sample: of_mean(sample, effective_sample_size.mean_of_sample(sample)))


def mcse_sd(draws: npt.ArrayLike) -> FloatArray:
    """Monte Carlo standard error of the standard deviation, for draws (chain, draw, *shape); gives `shape`.

    NaN where the variance of the squared deviations is infinite, or estimated badly: their tail index is 0.4 or more,
    see `tail_index`. The standard deviation itself is then uncertain by more than such an error tells.

    Source: the delta method for the root of the variance, as in Kenney and Keeping (1951), Mathematics of
    Statistics, with the effective size of the squared deviations in place of the number of draws.
    """
    return measure_one(draws, of_deviation)
