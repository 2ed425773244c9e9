"""What a search for separate regions did and what may be concluded from it, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from consilience.inference.modes.prominence import Linkage

if TYPE_CHECKING:
    from consilience.inference.modes.regions import ModalRegion

CLAIMED: Final = 0.1  # a share of starting points below that is worth a statement
MOST_LISTED: Final = 6  # regions whose starting points are counted in words


def statement(
    found: Sequence[ModalRegion], ascents: int, linkage: Linkage, budget: int, complete: bool, rarest: float
) -> str:
    """Sentences on the regions found.

    `ascents`: from how many starting points. `complete`: see `regions.Regions`. `rarest`: its `unmet`.
    """
    if not ascents:
        return (
            f"Separate regions were not looked for: the log density has {linkage.positions.shape[1]} coordinates, and "
            "ascents of so many take too long."
        )
    if not found:
        return (
            f"Separate regions were not found: none of {ascents} starting points had a finite log density, "
            "nor had points nearer to the position they lie around."
        )
    several = len(found) > 1
    ended = f"{ascents} ascents ended in {len(found)} region{'s' if several else ''}"
    hits = np.array([region.hits for region in found])
    sentences = []
    if several and (drawn := hits.sum()):
        which = "which" if len(hits) <= MOST_LISTED else f"of which the {MOST_LISTED} largest"
        largest = hits if len(hits) <= MOST_LISTED else np.sort(hits)[: -MOST_LISTED - 1 : -1]
        ended += f", {which} drew {_listed(largest / drawn)} of the starting points"
    shares = [region.share for region in found if region.substantial]
    sentences.append(f"{ended}; {_listed(shares)} of the mass." if len(shares) > 1 else f"{ended}.")
    known = [region for region in found if np.isfinite(region.share)]
    if np.ptp(linkage.logps) == 0.0:
        sentences.append("The log density is the same at all their ends: it may be flat.")
    elif not known and (several or len(found[0].mode) == len(found[0].block)):
        sentences.append(
            "No mode with a definite curvature was found, so that all of them began around the starting position "
            "and no mass is known."
        )
    elif several and len(known) < len(found):
        sentences.append(
            f"The mass of {len(found) - len(known)} is unknown, for there the ascents did not converge or the "
            "curvature is not definite."
        )
    if rarest < CLAIMED:
        sentences.append(
            f"With 95 % probability, less than {100.0 * rarest:.2g} % of such starting points lead to regions that "
            "were not met; to narrow regions in many dimensions fewer lead, whatever their mass."
        )
    if not complete:
        sentences.append(f"The budget of {budget} evaluations did not allow all comparisons.")
    return " ".join(sentences)


def _listed(shares: Sequence[float]) -> str:
    """Shares as percentages: `70, 20 and 10 %`."""
    words = [f"{100.0 * share:.2g}" for share in shares]
    return f"{', '.join(words[:-1])} and {words[-1]} %" if len(words) > 1 else f"{words[0]} %"
