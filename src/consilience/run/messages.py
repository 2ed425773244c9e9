"""What passes between the supervisor and the chains: a round of work goes out, one window per chain comes back.

Messages are immutable; a window holds all that may be known of the work done, and the chain's state after it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from consilience.inference.kernel import Divergences, Orders, Snapshot
from consilience.record import Record

Matrix = NDArray[np.float64]


class Round(Record):
    """What all chains do next.

    phase       "tuning": the draws are not kept
    count       transitions
    orders      what each chain is told before; empty: nothing new
    begin       whether chains evaluate their starting points first
    descend     and climb from there to the typical set
    gradients   whether the windows should hold gradients
    ahead       transitions of the round that follows if nothing else is decided: chains may begin with it
    """

    phase: Literal["tuning", "sampling"]
    count: int
    orders: tuple[Orders, ...] = ()
    begin: bool = False
    descend: bool = False
    gradients: bool = False
    ahead: int = 0


class Window(Record):
    """What one chain did in one round.

    draws         float64 (transition, coordinate)
    statistics    float64 (statistic, transition)
    gradients     float64 (transition, coordinate) or None
    divergences   those of this window
    step_size     step size that the next transition would use
    evaluations   of the log density, since the chain was made
    seconds       time spent
    snapshot      the chain's state after it
    finite        whether all draws are finite; False also where that is not known
    """

    draws: Matrix
    statistics: Matrix
    gradients: Matrix | None
    divergences: Divergences
    step_size: float
    evaluations: int
    seconds: float
    snapshot: Snapshot
    finite: bool = False
