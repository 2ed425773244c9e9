"""What the logarithm of the beta function means in NumPy, without the cancellation of gamma functions of large numbers.

In: arrays of real numbers. Out: float64 arrays, relatively about 1e-15 off except next to zeros.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
SERIES_FROM: Final = 12.0
STIRLING: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def gammaln_rest(x: Array) -> Array:
    """log(gamma(x)) less Stirling's leading terms, at least from 12 on."""
    inverse = 1.0 / np.maximum(x, SERIES_FROM)
    return np.asarray(inverse * np.polyval(STIRLING[::-1], inverse**2))


def betaln(a: Array, b: Array) -> Array:
    """log|gamma(a) gamma(b) / gamma(a + b)|; infinite at one pole and at 0, 0, NaN at other pairs of poles."""
    from scipy.special import gammaln

    with np.errstate(all="ignore"):
        small, large = np.minimum(a, b), np.maximum(a, b)
        total = small + large
        growth = (large - 0.5) * np.log1p(small / large) + small * (np.log(total) - 1.0)
        far = gammaln(small) - (growth + gammaln_rest(total) - gammaln_rest(large))
        near = np.where((a == 0.0) & (b == 0.0), np.inf, gammaln(a) + gammaln(b) - gammaln(a + b))
        end = np.where((small > 0.0) & (small < np.inf) & (total == np.inf), -np.inf, near)
        return np.where((small > 0.0) & (large > SERIES_FROM) & (total < np.inf), far, end)
