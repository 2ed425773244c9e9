"""How much a metric differs from another one: logs of the eigenvalues of the one relative to the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from consilience.inference.metric import Scales

LARGEST_EXACT = 250  # coordinates


def log_ratios(new: Scales, old: Scales) -> NDArray[np.float64]:
    """Logs of the eigenvalues of `new` relative to `old`.

    Exact up to 250 coordinates; beyond, those within the span of both metrics' directions, and the ratios of the
    variances coordinate by coordinate.
    """
    dimension = len(new.scale)
    if new.rank == 0 and old.rank == 0:
        return 2.0 * np.log(new.scale / old.scale)
    from scipy import linalg

    if dimension <= LARGEST_EXACT:
        ratios = linalg.eigh(matrix(new), matrix(old), eigvals_only=True)
        return np.asarray(np.log(np.maximum(ratios, 1e-300)))
    # seen in the old scale, so that the two are of like size
    shift = new.scale / old.scale
    basis, _ = linalg.qr(np.concatenate([old.directions, new.directions * shift]).T, mode="economic")
    turned = new.directions * shift @ basis
    bent = old.directions @ basis
    identity = np.eye(basis.shape[1])
    late = basis.T * shift**2 @ basis + turned.T * (new.eigenvalues - 1.0) @ turned
    early = identity + bent.T * (old.eigenvalues - 1.0) @ bent
    ratios = linalg.eigh(late, early, eigvals_only=True)
    return np.concatenate([np.log(np.maximum(ratios, 1e-300)), 2.0 * np.log(shift)])


def matrix(scales: Scales) -> NDArray[np.float64]:
    """The inverse mass as a matrix (coordinate, coordinate)."""
    stretched = np.eye(len(scales.scale)) + (scales.directions.T * (scales.eigenvalues - 1.0)) @ scales.directions
    return np.asarray(scales.scale[:, None] * stretched * scales.scale)
