"""How much a metric differs from another one: logs of the eigenvalues of the one relative to the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from consilience.inference.metric import Scales

LARGEST_EXACT = 250  # coordinates


def log_ratios(new: Scales, old: Scales) -> NDArray[np.float64]:
    """Logs of the eigenvalues of `new` relative to `old`, which are in the same coordinates.

    Exact up to 250 coordinates; beyond, those within the span of both metrics' directions, and the ratios of the
    variances coordinate by coordinate.
    """
    dimension = len(new.scale)
    if new.rank == 0 and old.rank == 0:
        return 2.0 * np.log(new.scale / old.scale)
    if dimension <= LARGEST_EXACT:
        return _logs(np.asarray(np.linalg.eigvalsh(seen_from(old, new))))
    # seen in the old scale, so that the two are of like size
    shift = new.scale / old.scale
    basis, _ = np.linalg.qr(np.concatenate([old.directions, new.directions * shift]).T)
    turned = new.directions * shift @ basis
    bent = old.directions @ basis
    identity = np.eye(basis.shape[1])
    late = basis.T * shift**2 @ basis + turned.T * (new.eigenvalues - 1.0) @ turned
    early = identity + bent.T * (old.eigenvalues - 1.0) @ bent
    return np.concatenate([log_eigenvalues(late, early), 2.0 * np.log(shift)])


def log_eigenvalues(late: NDArray[np.float64], early: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logs of the eigenvalues of one positive definite matrix relative to another one."""
    lower = np.linalg.cholesky(early)
    half = np.linalg.solve(lower, late)
    return _logs(np.asarray(np.linalg.eigvalsh(np.linalg.solve(lower, half.T))))


def _logs(ratios: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(np.maximum(ratios, 1e-300)))


def seen_from(old: Scales, new: Scales) -> NDArray[np.float64]:
    """A matrix with the eigenvalues of the inverse mass of `new` relative to that of `old`.

    It is T T', T = (I + V (K^(1/2) - I) V') R (I + U (L^(-1/2) - I) U'), with U, L the directions and eigenvalues of
    `old`, V, K those of `new` and R the ratio of the scales: thin products, as roots of either metric have its form.
    """
    root = np.diag(new.scale / old.scale)
    root += (new.directions.T * (np.sqrt(new.eigenvalues) - 1.0)) @ (new.directions * root.diagonal())
    root += ((root @ old.directions.T) * (old.eigenvalues**-0.5 - 1.0)) @ old.directions
    return np.asarray(root @ root.T)


def matrix(scales: Scales) -> NDArray[np.float64]:
    """The inverse mass as a matrix (coordinate, coordinate)."""
    stretched = np.eye(len(scales.scale)) + (scales.directions.T * (scales.eigenvalues - 1.0)) @ scales.directions
    return np.asarray(scales.scale[:, None] * stretched * scales.scale)
