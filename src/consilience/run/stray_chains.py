"""Chains that tune where the target has no mass: windows of tuning with gradients enter, numbers of chains leave.

The mass of the region that a chain explores is exp(mean log density + entropy). Nothing of the same variances has more
entropy than independent normals, and nothing of the same mean square gradients has less, so that the mass of one
region is bounded from above and that of another from below, without a normalisation.
Source: Stam (1959), Some inequalities satisfied by the quantities of information of Fisher and Shannon; the second
bound is the isoperimetric inequality for entropies, in coordinates in which all mean square gradients are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from consilience.inference.columns import Columns
from consilience.inference.messages import Window

FEWEST: Final = 30  # transitions of a window, of which the later half tells
UNSEEN: Final = 100.0  # times as wide as a chain has seen it, or as the other region, that of a chain may be everywhere
LEAST: Final = 20.0  # nats, by which the other region has to be heavier even so


def stray_chains(windows: Mapping[int, Window], columns: Columns) -> tuple[int, ...]:
    """The chains whose region weighs less than exp(-20) of that of another chain; none where half of them would.

    `windows`: of one segment of tuning, by chain.
    """
    if len(windows) < 3 or any(w.gradients is None or len(w.draws) < FEWEST for w in windows.values()):
        return ()
    place = columns.of("log density")
    levels, widths, least = {}, {}, {}
    for chain, window in windows.items():
        assert window.gradients is not None
        late = slice(len(window.draws) // 2, None)
        levels[chain] = float(window.statistics[place, late].mean())
        widths[chain] = window.draws[late].std(axis=0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            least[chain] = levels[chain] - 0.5 * float(np.log((window.gradients[late] ** 2).mean(axis=0)).sum())
    known = [chain for chain in windows if np.isfinite(least[chain]) and (widths[chain] > 0).all()]
    if not known:
        return ()
    best = max(known, key=lambda chain: least[chain])
    most = {c: levels[c] + float(np.log(UNSEEN * np.maximum(widths[c], widths[best])).sum()) for c in windows}
    strays = tuple(chain for chain in windows if most[chain] < least[best] - LEAST)
    return strays if 2 * len(strays) < len(windows) else ()
