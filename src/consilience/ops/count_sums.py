"""What distribution functions of counts that are sums of masses mean in NumPy: beta-binomial (and hypergeometric).

In: arrays of counts, parameters and probabilities. Out: float64 arrays of probabilities and of counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.ops.count_quantile import smallest

Array = npt.NDArray[Any]


BLOCK = 4096


def relative_sum(k: Array, step: float, end: Array, ratio: Callable[[Array], Array], unimodal: Array) -> Array:
    """The masses of k + step, k + 2 step, …, end over that of k.

    ratio       of an array of counts j with a last axis more than k: the mass of j + step over that of j
    unimodal    where a mass that no longer matters is followed by none that does
    """
    at, term, sum = np.array(k, float)[..., None], np.ones((*k.shape, 1)), np.zeros((*k.shape, 1))
    count, open = 16, np.isfinite(at)
    while open.any():
        counts = at + step * np.arange(count)
        factors = np.where(open & (step * counts < step * end[..., None]), ratio(counts), 0.0)
        terms = term * np.cumprod(factors, -1)
        term, last = terms[..., -1:], factors[..., -1:]
        sum = sum + terms.sum(-1, keepdims=True)
        little = (term <= sum * 2.0**-54) & (last <= 1.0) & unimodal[..., None]
        open = open & ~(little | (last == 0.0) | (term == 0.0)) & (sum < np.inf)
        at = at + step * count
        count = min(2 * count, BLOCK)
    return sum[..., 0]


def _urn(n: Array, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Whether the parameters are valid, and the ends of the support."""
    positive, negative = (a > 0.0) & (b > 0.0), (a <= 0.0) & (b <= 0.0) & (n <= -(a + b))
    least, most = np.where(positive | (n + b < 0.0), 0.0, n + b), np.where(positive | (n < -a), n, -a)
    valid = (positive | negative) & (n >= 0.0) & (n <= 2.0**53) & (a + b < np.inf)
    return valid, least, most


def _urn_tails(k: Array, n: Array, a: Array, b: Array) -> tuple[Array, Array]:
    valid, least, most = _urn(n, a, b)
    inside = valid & (k >= least) & (k < most)
    at = np.where(inside, k, np.nan)
    unimodal = (a <= 0.0) | (a >= 1.0) | (b >= 1.0)
    n, a, b = n[..., None], a[..., None], b[..., None]
    lower = 1.0 + relative_sum(at, -1.0, least, lambda j: j / (n - j + 1.0) * ((n - j + b) / (j - 1.0 + a)), unimodal)
    upper = relative_sum(at, 1.0, most, lambda j: (n - j) / (j + 1.0) * ((j + a) / (n - j - 1.0 + b)), unimodal)
    outside = np.where(valid & (k == k), np.where(k < least, 0.0, 1.0), np.nan)
    below = np.where(np.isinf(lower), 1.0, lower / (lower + upper))
    beyond = np.where(np.isinf(upper), 1.0, upper / (lower + upper))
    return np.where(inside, below, outside), np.where(inside, beyond, 1.0 - outside)


def beta_binomial_cdf(k: Array, n: Array, a: Array, b: Array) -> Array:
    """P(X <= k) of the successes among n trials whose probability is beta distributed with the shapes a and b.

    Negative whole shapes mean draws without replacement: n from -a marked and -b unmarked ones. NaN beyond 2**53.
    """
    with np.errstate(all="ignore"):
        return _urn_tails(*np.broadcast_arrays(np.floor(k), n, a, b))[0]


def beta_binomial_quantile(n: Array, a: Array, b: Array, q: Array) -> Array:
    """The smallest k with P(X <= k) >= q; NaN outside the domain."""
    with np.errstate(all="ignore"):
        n, a, b, q = np.broadcast_arrays(n, a, b, q)
        valid, least, most = _urn(n, a, b)
        found = smallest(q, valid & (most > least), most, lambda k: _urn_tails(k, n, a, b))
        single = np.where(valid & (most <= least) & (q >= 0.0) & (q <= 1.0), most, np.nan)
        return np.where(valid & (q == 0.0), least, np.where(most > least, found, single))
