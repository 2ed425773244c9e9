"""What sums of masses of counts mean in NumPy, with their slopes: beta-binomial (and hypergeometric).

In: arrays of counts, parameters and probabilities. Out: float64 arrays of sums and of counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.ops.count_quantile import smallest

Array = npt.NDArray[Any]


BLOCK = 4096


def relative_sum(k: Array, step: float, end: Array, ratio: Callable[[Array, Array], Array], unimodal: Array) -> Array:
    """The masses of k + step, k + 2 step, …, end over that of k.

    `ratio`: of counts j, one row for each element of a mask: the mass of j + step over that of j. `unimodal`: where a
    mass that no longer matters is followed by none that does.
    """
    at, term, sum = np.array(k, float), np.ones(k.shape), np.zeros(k.shape)
    count, open = 16, np.isfinite(at)
    while open.any():
        counts = at[open][:, None] + step * np.arange(count)
        factors = np.where(step * counts < step * end[open][:, None], ratio(counts, open), 0.0)
        terms = term[open][:, None] * np.cumprod(factors, -1)
        terms = np.where(np.isnan(terms), np.inf, terms)  # what follows an infinite one
        at[open] += step * count
        sum[open] += terms.sum(-1)
        term[open] = terms[:, -1]
        little = (terms[:, -1] <= sum[open] * 2.0**-54) & (factors[:, -1] <= 1.0) & unimodal[open]
        open[open] = ~(little | (terms[:, -1] == 0.0)) & (sum[open] < np.inf)
        count = min(2 * count, BLOCK)
    return sum


def _urn(a: Array, b: Array, n: Array) -> tuple[Array, Array, Array]:
    """Whether the parameters are valid, and the ends of the support."""
    beta = (a > 0.0) & (b > 0.0) & (a + b < np.inf)
    without = (a <= 0.0) & (b <= 0.0) & (a + b > -np.inf) & (n <= -(a + b)) & (np.floor(a) == a) & (np.floor(b) == b)
    valid = (beta | without) & (n >= 0.0) & (n <= 2.0**53)
    return valid, np.where(beta | (n + b < 0.0), 0.0, n + b), np.where(beta | (n < -a), n, -a)


def _urn_tails(a: Array, b: Array, n: Array, k: Array) -> tuple[Array, Array]:
    shape = k.shape
    a, b, n, k = (x.ravel() for x in (a, b, n, k))
    valid, least, most = _urn(a, b, n)
    inside = valid & (k >= least) & (k < most)
    at = np.where(inside, k, np.nan)
    unimodal = (a <= 0.0) | (a >= 1.0) | (b >= 1.0)

    def down(j: Array, of: Array) -> Array:
        trials, first, second = n[of][:, None], a[of][:, None], b[of][:, None]
        return np.asarray(j / (trials - j + 1.0) * ((trials - j + second) / (j - 1.0 + first)))

    def up(j: Array, of: Array) -> Array:
        trials, first, second = n[of][:, None], a[of][:, None], b[of][:, None]
        return np.asarray((trials - j) / (j + 1.0) * ((j + first) / (trials - j - 1.0 + second)))

    lower = 1.0 + relative_sum(at, -1.0, least, down, unimodal)
    upper = relative_sum(at, 1.0, most, up, unimodal)
    outside = np.where(valid & (k == k), np.where(k < least, 0.0, 1.0), np.nan)
    below, beyond = lower / (lower + upper), upper / (lower + upper)
    # Infinite sums on both sides: almost all mass is at the ends, in inverse proportion to the shapes.
    below = np.where(np.isinf(lower), np.where(np.isinf(upper), b / (a + b), 1.0), below)
    beyond = np.where(np.isinf(upper), np.where(np.isinf(lower), a / (a + b), 1.0), beyond)
    return (
        np.where(inside, below, outside).reshape(shape),
        np.where(inside, beyond, 1.0 - outside).reshape(shape),
    )


def _beta_binomial_sum(slope: str) -> Callable[..., Array]:
    def sums(a: Array, b: Array, n: Array, k: Array) -> Array:
        """P(X <= k) / P(X = k) of successes among n trials whose probability has a beta distribution, or its slope.

        Negative whole shapes a and b mean draws without replacement: n from -a marked and -b unmarked ones. 0 below the
        support, NaN beyond 2**53.
        """
        a, b, n, k = np.broadcast_arrays(a, b, np.floor(n), np.floor(k))
        with np.errstate(all="ignore"):
            valid, least, most = _urn(a, b, n)
            found = np.where(valid & (k < least), 0.0, np.nan)
            for place in np.argwhere(valid & (k >= least) & (k <= most)):
                at = tuple(place)
                own = (float(x[at]) for x in (a, b, n, k, least))
                found[at] = _sum_downwards(*own, slope=slope)
        return found

    return sums


SUMS = {
    "beta_binomial_sum": _beta_binomial_sum(""),
    "beta_binomial_sum_slope_a": _beta_binomial_sum("a"),
    "beta_binomial_sum_slope_b": _beta_binomial_sum("b"),
}


def _sum_downwards(a: float, b: float, n: float, k: float, least: float, *, slope: str) -> float:
    """Block by block; a mass's relative slope is a sum of reciprocals between its count and k."""
    unimodal = a <= 0.0 or a >= 1.0 or b >= 1.0
    at, term, sum, reciprocals, change = k, 1.0, 1.0, 0.0, 0.0
    count = 16
    while at > least:
        j = at - np.arange(min(count, at - least))
        factors = j / (n - j + 1.0) * ((n - j + b) / (j - 1.0 + a))
        terms = term * np.cumprod(factors)
        terms = np.where(np.isnan(terms), np.inf, terms)  # what follows an infinite one
        steps = -1.0 / (j - 1.0 + a) if slope == "a" else 1.0 / (n - j + b)
        relative = reciprocals + np.cumsum(steps)
        sum, change = sum + terms.sum(), change + (terms * relative).sum()
        at, term, reciprocals = at - len(j), terms[-1], relative[-1]
        little = term <= sum * 2.0**-54 and factors[-1] <= 1.0 and unimodal
        little = little and not (slope and abs(term * reciprocals) > abs(change) * 2.0**-54)
        if little or term == 0.0 or not sum < np.inf:
            break
        count = min(2 * count, BLOCK)
    if not slope:
        return float(sum)
    return float(change) if sum < np.inf else (-np.inf if slope == "a" else np.inf)


def beta_binomial_quantile(a: Array, b: Array, n: Array, q: Array) -> Array:
    """The smallest k with P(X <= k) >= q; NaN outside the domain."""
    with np.errstate(all="ignore"):
        a, b, n, q = np.broadcast_arrays(a, b, np.floor(n), q)
        valid, least, most = _urn(a, b, n)
        found = smallest(q, valid & (most > least), most, lambda k: _urn_tails(a, b, n, k))
        single = np.where(valid & (most <= least) & (q >= 0.0) & (q <= 1.0), most, np.nan)
        return np.where(valid & (q == 0.0), least, np.where(most > least, found, single))
