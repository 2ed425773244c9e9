"""Rank-normalised split R-hat.

It compares the variance of all draws with that within the chains; 1 means that the chains agree.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.measurement import measure_one
from consilience.diagnostics.sample import FloatArray, Sample


def scale_reduction(chains: FloatArray) -> FloatArray:
    """Root of the pooled over the within-chain variance, one per parameter, of (parameter, chain, draw).

    Source: Gelman and Rubin (1992), Inference from iterative simulation using multiple sequences.
    """
    draws = chains.shape[2]
    # Seen from its first draw, a chain that does not move has a variance of exactly zero.
    origin = chains[:, :, 0]
    moves = chains - origin[:, :, None]
    within = moves.var(axis=2, ddof=1).mean(axis=1)
    between = draws * (origin + moves.mean(axis=2)).var(axis=1, ddof=1)
    reduction: FloatArray = np.sqrt((between / within + draws - 1) / draws)
    return reduction


def of_sample(sample: Sample) -> FloatArray:
    """R-hat of each parameter: the larger of the draws' and their distances' from the median."""
    parameters, _, draws = sample.halves.shape
    if draws < 2:
        return np.full(parameters, np.nan)
    bulk = scale_reduction(sample.scores)
    tail = scale_reduction(sample.folded_scores)
    # Distances may all be equal, as for a fair coin; then the draws alone decide.
    return np.where(tail > bulk, tail, bulk)


def split_rhat(draws: npt.ArrayLike) -> FloatArray:
    """Rank-normalised split R-hat of an array (chain, draw, *shape); gives an array of `shape`.

    One chain is compared with itself, its first half with its second: that shows a trend, but no other mode.
    NaN where it is not defined: fewer than four draws, a NaN among the draws, constant draws.
    Source: Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC, Bayesian Analysis 16(2).

    Parameters
    ----------
    draws : ...

    Returns
    -------
    FloatArray
        Of the shape of one draw; NaN where it is not defined.

    See Also
    --------
    nested_rhat : Of many short chains.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16, 667, doi:10.1214/20-BA1221.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience import diagnostics
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> diagnostics.split_rhat(draws) < 1.02
    np.True_
    """
    return measure_one(draws, of_sample)
