"""What the quantiles of counts mean in NumPy: Poisson, binomial and negative binomial.

In: arrays of parameters and probabilities. Out: float64 arrays of whole numbers. A probability has reached q if it
comes within 2**-42 of it relatively, in the smaller tail, or rounds to it: q may itself be a computed probability.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Tails = Callable[[Array], tuple[Any, Any]]


def smallest(q: Array, valid: Array, top: Array, tails: Tails) -> Array:
    """The smallest k from 0 to `top` with P(X <= k) >= q; NaN where not valid.

    `tails`: of k < top: P(X <= k) and P(X > k).
    """
    q, valid, top = np.broadcast_arrays(q, valid & (q >= 0.0) & (q <= 1.0), top)

    def reached(k: Array) -> Array:
        below, beyond = tails(np.minimum(k, np.maximum(top - 1.0, 0.0)))
        enough = below >= q * (1.0 - 2.0**-42)
        little = beyond <= (1.0 - q) * (1.0 + 2.0**-42) + 2.0**-54
        return np.asarray((k >= top) | np.where(q <= 0.5, enough, little))

    with np.errstate(all="ignore"):
        inside = valid & (q > 0.0) & (q < 1.0) & (top > 0.0)
        low, high = np.full(q.shape, -1.0), np.zeros(q.shape)
        while (short := inside & (high < np.inf) & ~reached(high)).any():
            low, high = np.where(short, high, low), np.where(short, 2.0 * high + 1.0, high)
        while (apart := inside & (high - low > 1.0) & (high < np.inf) & (high < 2.0**52)).any():
            middle = np.floor(0.5 * (low + high))
            hit = reached(middle)
            low, high = np.where(apart & ~hit, middle, low), np.where(apart & hit, middle, high)
    return np.where(valid, np.where(inside, high, np.where(q == 0.0, 0.0, top)), np.nan)


def poisson_quantile(mu: Array, q: Array) -> Array:
    """Of a Poisson variable with mean mu >= 0; infinite at q = 1."""
    from scipy.special import gammainc, gammaincc

    top = np.where(mu > 0.0, np.inf, 0.0)
    valid = (mu >= 0.0) & (mu < np.inf)
    return smallest(q, valid, top, lambda k: (gammaincc(k + 1.0, mu), gammainc(k + 1.0, mu)))


def binomial_quantile(n: Array, p: Array, q: Array) -> Array:
    """Of the successes among n >= 0 trials with probability p; other n mean the same incomplete beta function."""
    from scipy.special import betainc

    valid = (n >= 0.0) & (n < np.inf) & (p >= 0.0) & (p <= 1.0)
    top = np.where(p == 0.0, 0.0, np.ceil(n))
    return smallest(q, valid, top, lambda k: (betainc(n - k, k + 1.0, 1.0 - p), betainc(k + 1.0, n - k, p)))


def negative_binomial_quantile(mu: Array, alpha: Array, q: Array) -> Array:
    """Of Poisson counts whose rate is gamma distributed, mean mu >= 0, shape alpha > 0; infinite at q = 1."""
    from scipy.special import betainc

    valid = (mu >= 0.0) & (mu < np.inf) & (alpha > 0.0) & (alpha < np.inf)
    sum = mu + alpha
    return smallest(
        q,
        valid,
        np.where(mu > 0.0, np.inf, 0.0),
        lambda k: (betainc(alpha, k + 1.0, alpha / sum), betainc(k + 1.0, alpha, mu / sum)),
    )
