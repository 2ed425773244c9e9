"""Ranks turned into normal scores: sorted values enter, the normal quantiles of their ranks leave.

Equal values share their average rank. The fractional offset is Blom's.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

OFFSET = 3 / 8


@functools.lru_cache(maxsize=8)
def scores_of_half_ranks(count: int) -> FloatArray:
    """Normal scores of the ranks 1, 3/2, 2, ..., count; element i belongs to rank 1 + i/2.

    Score of rank r: the standard normal quantile of (r - 3/8) / (count + 1/4).
    Source: Blom (1958), Statistical Estimates and Transformed Beta-Variables.
    """
    from statistics import NormalDist  # which loads decimal numbers and fractions

    quantile = NormalDist().inv_cdf
    lower = [quantile((1 + i / 2 - OFFSET) / (count - 2 * OFFSET + 1)) for i in range(count - 1)]
    table = np.concatenate([lower, [0.0], np.negative(lower[::-1])])
    table.flags.writeable = False
    return table


def normal_scores(ascending: FloatArray) -> FloatArray:
    """Normal scores of the ranks within each row of `ascending`, (parameter, count), rows in ascending order.

    Source: Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Rank-normalization, folding, and
    localization, equation 14.
    """
    count = ascending.shape[1]
    table = scores_of_half_ranks(count)
    begins = np.ones(ascending.shape, dtype=bool)
    np.not_equal(ascending[:, 1:], ascending[:, :-1], out=begins[:, 1:])
    distinct = begins.all(axis=1)
    if distinct.all():
        return np.broadcast_to(table[::2], ascending.shape)
    result = np.empty(ascending.shape)
    result[distinct] = table[::2]
    begins = begins[~distinct]
    place = np.arange(count)
    first = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    ends = np.ones_like(begins)
    ends[:, :-1] = begins[:, 1:]
    last = np.minimum.accumulate(np.where(ends, place, count - 1)[:, ::-1], axis=1)[:, ::-1]
    result[~distinct] = table[first + last]
    return result
