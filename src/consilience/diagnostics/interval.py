"""Credible intervals: draws enter, two bounds per parameter leave; highest density or equal tails."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.measurement import measure_one
from consilience.diagnostics.sample import FloatArray, Sample


def check_probability(probability: float) -> None:
    """Raise ValueError unless 0 < probability < 1."""
    if not 0 < probability < 1:
        raise ValueError(f"the probability of an interval lies between 0 and 1, such as 0.94; {probability} came")


def highest_density_of_sample(sample: Sample, probability: float) -> FloatArray:
    """Narrowest interval (parameter, 2) between two draws that holds the share `probability` of them."""
    ascending = sample.ascending
    inside = int(np.floor(probability * ascending.shape[1]))
    width = ascending[:, inside:] - ascending[:, : ascending.shape[1] - inside]
    begin = np.argmin(width, axis=1)
    row = np.arange(len(ascending))
    return np.stack([ascending[row, begin], ascending[row, begin + inside]], axis=1)


def equal_tails_of_sample(sample: Sample, probability: float) -> FloatArray:
    """Interval (parameter, 2) with (1 - probability) / 2 of the draws on either side."""
    tail = (1 - probability) / 2
    return np.stack([sample.quantile(tail), sample.quantile(1 - tail)], axis=1)


def hdi(draws: npt.ArrayLike, probability: float = 0.94) -> FloatArray:
    """Highest-density interval of draws (chain, draw, *shape); gives (*shape, 2), lower and upper bound.

    The narrowest interval with a share `probability`, in (0, 1), of the draws; for a distribution of several
    modes it spans the gap between them.

    draws : ...
    probability: Probability between 0 and 1.
    Returns: Of the shape of one draw with an axis of length 2 behind: lower and upper end.
    See eti: With equal tails.

    References
    ----------
    Hyndman (1996), The American Statistician 50, 120.

    >>> import numpy as np
    >>> from consilience import diagnostics
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> diagnostics.hdi(draws, 0.9).shape
    (2,)
    """
    check_probability(probability)
    return measure_one(draws, lambda sample: highest_density_of_sample(sample, probability))


def eti(draws: npt.ArrayLike, probability: float = 0.94) -> FloatArray:
    """Equal-tailed interval of draws (chain, draw, *shape); gives (*shape, 2), lower and upper bound.

    Its bounds are the quantiles (1 - probability) / 2 and (1 + probability) / 2.

    draws : ...
    probability: Probability between 0 and 1.
    Returns: Of the shape of one draw with an axis of length 2 behind: lower and upper end.
    See hdi: The narrowest interval.
    >>> import numpy as np
    >>> from consilience import diagnostics
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> diagnostics.eti(draws, 0.9).shape
    (2,)
    """
    check_probability(probability)
    return measure_one(draws, lambda sample: equal_tails_of_sample(sample, probability))
