"""Help by what is seen: draws of the elements in the worst states enter; sentences, with the chains they name, leave.

A status comes at the end of a run. Chains that sit in different places are seen long before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from consilience.diagnostics.compiled.library import FEWEST_DRAWS
from consilience.diagnostics.description import describe
from consilience.output.storage.journal import finite
from consilience.watch.source import Array, RunSource

LARGE_RHAT: Final = 1.1  # from which on the page says so, whatever the status
READ: Final = 1000  # draws of each chain
FEWEST: Final = 25  # of each chain, below which nothing is said
APART: Final = 3.0  # standard deviations within chains, between neighbouring means of chains in different places

MODES: Final = (
    "The chains are in different modes. If the modes mean the same, as labels of a mixture do, order them "
    "(transform=pm.distributions.transforms.ordered). If they do not, use chains=8, which can jump between modes, or "
    "pm.sample_smc."
)
SLOW: Final = (
    "The chains move slowly through the same region. More draws may do; if R-hat stays large, change the "
    "parametrization (pm.noncenter) or give weakly identified parameters tighter priors."
)


def places_of(draws: Array) -> list[list[int]]:
    """Chains by the place where they are, in ascending order: neighbours lie apart by more than they spread."""
    means, spread = draws.mean(axis=1), float(np.sqrt(draws.var(axis=1).mean()))
    order = np.argsort(means, kind="stable")
    groups = [[int(order[0])]]
    for before, chain in pairwise(order.tolist()):
        if means[chain] - means[before] > APART * spread:
            groups.append([])
        groups[-1].append(int(chain))
    return groups


def seen(source: RunSource, elements: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The element with the largest R-hat of some, if that is large: the figure, where which chains are, and advice."""
    step = max(1, -(-source.draws // READ))
    if source.chains < 2 or source.draws // step < max(FEWEST, FEWEST_DRAWS):
        return None
    worst: tuple[float, str, Array] | None = None
    for element in elements:
        draws = source.part("posterior", element["variable"], tuple(element["place"]), step).astype(float)
        if not np.isfinite(draws).all() or draws.min() == draws.max():
            continue
        found = describe([np.ascontiguousarray(draws)], ["ranks"], "hdi", 0.94, 0)
        rhat = float(found["r_hat"][0])
        if math.isfinite(rhat) and (worst is None or rhat > worst[0]):
            worst = rhat, str(element["text"]), draws
    if worst is None or worst[0] <= LARGE_RHAT:
        return None
    rhat, name, draws = worst
    groups = places_of(draws)
    where = (
        [{"chains": sorted(group), "mean": float(draws[group].mean())} for group in groups] if len(groups) > 1 else []
    )
    return dict(finite({"rhat": rhat, "name": name, "places": where, "advice": MODES if where else SLOW}))
