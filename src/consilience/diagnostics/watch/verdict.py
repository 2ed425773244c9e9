"""What is asked of a run, and what is found: a rule enters a check, a failure or figures leave it."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from consilience.record import Record

Criterion = Literal["not finite", "constant", "bulk ess", "tail ess", "rhat", "rhat excess", "quantile ess"]


class StoppingRule(Record):
    """When draws suffice.

    target_ess   least effective size of bulk and tails over all chains; None: not asked
    target_rhat  what R-hat should stay below
    strict       True: R-hat is below `target_rhat`, whatever the reason; False: it is below `target_rhat` + 0.04,
                 and above `target_rhat` only where the noise of the chains' means explains it
    """

    target_ess: float | None = 400.0
    target_rhat: float = 1.01
    strict: bool = False


class Failure(Record):
    """A scalar that does not pass.

    criterion      value                                          what it should be
    "not finite"   number of draws that are no finite numbers     `bound` = 0
    "constant"     spread of the draws, 0                         above `bound` = 0
    "bulk ess"     effective size of the rank-normalised draws    at least `bound`
    "tail ess"     smaller effective size of two tails            at least `bound`
    "rhat"         R-hat of the draws or of their distances       below `bound`
    "rhat excess"  ratio of the variance of the half chains'      below `bound`, a quantile of the F distribution
                   means to what their autocorrelation explains
    "quantile ess" smallest effective size of many quantiles      at least `bound`; asked of scalars that chains were
                   apart in, see `consilience.run.stopping`

    Of the two values of R-hat, or of the ratio, it is the first that misses. NaN with fewer than four draws per chain.

    rhat, ess   R-hat and the smaller of both effective sizes; NaN where they are not known
    """

    scalar: int
    criterion: Criterion
    value: float
    bound: float
    rhat: float = math.nan
    ess: float = math.nan


class Figures(Record):
    """Diagnostics of p scalars, each float64[p]; NaN where `diagnostics.examine` gives NaN.

    rhat      larger of rank-normalised and folded split R-hat
    ess_bulk  effective sample size of the bulk
    ess_tail  effective sample size of the quantiles 5 % and 95 %
    """

    rhat: npt.NDArray[np.float64]
    ess_bulk: npt.NDArray[np.float64]
    ess_tail: npt.NDArray[np.float64]
