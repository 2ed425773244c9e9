"""Draws of all chains one after the other.

The group `posterior` of a result in; arrays by name with one leading axis out.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def stacked(posterior: Any) -> dict[str, Any]:
    """Arrays (chains x draws, ...) by name."""
    found = {}
    for name in posterior.data_vars:
        draws = np.asarray(posterior[name].transpose("chain", "draw", ...))
        found[str(name)] = draws.reshape(-1, *draws.shape[2:])
    return found
