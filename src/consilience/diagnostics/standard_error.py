"""Monte Carlo standard errors: draws enter, the uncertainty of their mean and standard deviation leaves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience.diagnostics import effective_sample_size
from consilience.diagnostics.measurement import measure_one
from consilience.diagnostics.sample import FloatArray, Sample


def of_mean(sample: Sample, effective: FloatArray) -> FloatArray:
    """Standard error of each parameter's mean, given its effective size."""
    error: FloatArray = sample.deviation / np.sqrt(effective)
    return error


def of_deviation(sample: Sample) -> FloatArray:
    """Standard error of each parameter's standard deviation."""
    mean = sample.pooled.mean(axis=1, keepdims=True)
    squares = Sample(np.square(sample.draws - mean[:, :, None]))
    effective = effective_sample_size.mean_of_sample(squares)
    variance = squares.pooled.mean(axis=1)
    variance_of_variance = np.square(squares.pooled - variance[:, None]).mean(axis=1) / effective
    error: FloatArray = np.sqrt(variance_of_variance / variance / 4)
    return error


def mcse_mean(draws: npt.ArrayLike) -> FloatArray:
    """Monte Carlo standard error of the mean, in the unit of the draws (chain, draw, *shape); gives `shape`.

    Source: Vehtari et al. (2021), section 4.2: standard deviation over the root of the effective size.
    """
    return measure_one(draws, lambda sample: of_mean(sample, effective_sample_size.mean_of_sample(sample)))


def mcse_sd(draws: npt.ArrayLike) -> FloatArray:
    """Monte Carlo standard error of the standard deviation, for draws (chain, draw, *shape); gives `shape`.

    Source: the delta method for the root of the variance, as in Kenney and Keeping (1951), Mathematics of
    Statistics, with the effective size of the squared deviations in place of the number of draws.
    """
    return measure_one(draws, of_deviation)
