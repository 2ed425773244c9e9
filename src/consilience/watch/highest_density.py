"""Where draws lie: draws of an element enter; intervals of highest density leave, several where modes are apart."""

from __future__ import annotations

from typing import Final

import numpy as np

from consilience.watch.source import Array

BINS: Final = 200
FEWEST: Final = 100  # draws, of which a shape can be told
GAP: Final = 0.1  # of the lower of two peaks: the density between them, below which they are modes apart
LEAST: Final = 0.04  # of the draws in an interval that is shown


def modes_of(draws: Array, prob: float = 0.94) -> list[tuple[float, float]] | None:
    """Intervals that hold `prob` of the draws together, where these have modes apart; None where one interval does.

    The density is a histogram of the central 99.8 % smoothed by a normal kernel, as wide as Silverman's rule says for
    the narrowest half of the draws: Silverman (1986), Density Estimation for Statistics and Data Analysis, 3.4.
    """
    some = np.sort(draws.ravel())
    if len(some) < FEWEST or not np.isfinite(some[[0, -1]]).all():
        return None
    low, top = some[len(some) // 1000], some[-1 - len(some) // 1000]
    half = len(some) // 2
    narrowest = float((some[half:] - some[: len(some) - half]).min())
    if not top > low or narrowest <= 0.0:
        return None
    counts, edges = np.histogram(some, BINS, (low, top))
    width = (0.9 * narrowest / 1.349 * len(some) ** -0.2) / (edges[1] - edges[0])
    reach = np.arange(-BINS, BINS + 1) / max(width, 1.0)
    density = np.convolve(counts, np.exp(-0.5 * reach**2))[BINS : 2 * BINS]
    density *= len(some) / density.sum()
    order = np.argsort(-density, kind="stable")
    inside = np.zeros(BINS, bool)
    inside[order[: int(np.searchsorted(np.cumsum(density[order]), prob * len(some))) + 1]] = True
    ends = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int8), [0]]))).reshape(-1, 2)
    groups: list[tuple[int, int]] = []
    for begin, end in ends.tolist():
        if groups:
            before = groups[-1]
            peaks = density[before[0] : before[1]].max(), density[begin:end].max()
            if density[before[1] : begin].min() > GAP * min(peaks):
                groups[-1] = before[0], end
                continue
        groups.append((begin, end))
    groups = [(begin, end) for begin, end in groups if density[begin:end].sum() >= LEAST * len(some)]
    return [(float(edges[begin]), float(edges[end])) for begin, end in groups] if len(groups) > 1 else None
