"""Whether the posterior of a model has a normalisation: places that chains have been to enter, words leave."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from consilience.distributions.transforms import Circular
from consilience.inference.integrability import endless_direction
from consilience.inference.modes.evaluations import Floats
from consilience.model.log_density import ModelDensity

MOST_NAMED = 3  # coordinates
SMALL_PART = 0.1  # of the largest one in a direction


def properness(density: ModelDensity, names: tuple[str, ...], threads: int) -> Callable[[Floats], str]:
    """What tells of draws (chain, draw, coordinate) in words how the posterior is improper; nothing where it is not.

    Angles, whose densities repeat for ever on the unconstrained line, are left out.
    """
    lines = np.concatenate(
        [np.full(s.size, not isinstance(s.variable.sampled, Circular)) for s in density.layout.stretches]
    )

    def improper(draws: Floats) -> str:
        direction = endless_direction(density, draws, lines, threads)
        parts = np.flatnonzero(np.abs(direction) > SMALL_PART)
        if not len(parts):
            return ""
        named = ", ".join(f"`{names[i]}`" for i in parts[:MOST_NAMED])
        more = f" and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else ""
        where = f"`{names[parts[0]]}` alone" if len(parts) == 1 else f"{named}{more} together"
        return (
            f"the posterior seems to be improper: moving {where}, its density does not fall off however far one goes; "
            "give a proper prior to what the data leave open"
        )

    return improper
