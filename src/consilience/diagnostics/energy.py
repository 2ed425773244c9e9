"""Energy diagnostic of Hamiltonian Monte Carlo: energies enter, one number per chain leaves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience.errors import ShapeError

FloatArray = npt.NDArray[np.float64]


def ebfmi(energy: npt.ArrayLike) -> FloatArray:
    """Estimated Bayesian fraction of missing information (chain,) of energies (chain, draw).

    Mean squared step of the energy over its variance. Below 0.3 the momenta change the energy too little per
    draw to explore the tails. NaN where the energy is constant or has fewer than two draws.

    Source: Betancourt (2016), Diagnosing suboptimal cotangent disintegrations in Hamiltonian Monte Carlo.

    energy: Energies of the draws, shape (chain, draw).
    Returns: One number per chain; below 0.3 momentum is drawn too rarely for the energies there are.
    See examine: Diagnostics of parameters.

    References
    ----------
    Betancourt (2016), arXiv:1604.00695.

    >>> import numpy as np
    >>> from consilience.diagnostics import ebfmi
    >>> ebfmi(np.random.default_rng(1).normal(size=(2, 1000))).round(1).tolist()
    [2.0, 2.0]
    """
    values = np.asarray(energy, dtype=np.float64)
    if values.ndim != 2:
        raise ShapeError(f"energies need the axes (chain, draw); their shape is {values.shape}")
    if values.shape[1] < 2:
        return np.full(values.shape[0], np.nan)
    steps, moves = np.diff(values, axis=1), values - values.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction: FloatArray = np.einsum("cd,cd->c", steps, steps) / np.einsum("cd,cd->c", moves, moves)
    return fraction
