"""When draws suffice: the rule, and what of it some figures miss. One standard for runs, summaries and warnings."""

from __future__ import annotations

import math
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.compiled.columns import COLUMNS, CONSTANT
from consilience.diagnostics.f_quantile import largest_ratio
from consilience.diagnostics.sample import FloatArray
from consilience.record import Record

Criterion = Literal["not finite", "constant", "bulk ess", "tail ess", "rhat", "rhat excess", "quantile ess"]

CRITERIA: Final[tuple[Criterion, ...]] = ("not finite", "constant", "bulk ess", "tail ess", "rhat", "rhat excess")
NOISE_ALLOWANCE: Final = 0.04


class StoppingRule(Record):
    """When draws suffice.

    `target_ess`: least effective size of bulk and tails over all chains; None: not asked. `target_rhat`: what R-hat
    should stay below. `strict`: True: R-hat is below `target_rhat`, whatever the reason; False: see `rhat_is_large`.
    """

    target_ess: float | None = 400.0
    target_rhat: float = 1.01
    strict: bool = False

    @property
    def largest_rhat(self) -> float:
        """What no R-hat may reach."""
        return self.target_rhat + (0.0 if self.strict else NOISE_ALLOWANCE)


class Figures(Record):
    """Diagnostics of p parameters, each float64[p]; NaN where they are not defined.

    `ess_bulk`: effective sample size of the bulk.
    `ess_tail`: effective sample size of the quantiles 5 % and 95 %.
    `r_hat`: larger of rank-normalised and folded split R-hat.
    `noise_ratio`: see `rhat_is_large`; 0 where R-hat is at most the rule's target.
    `unusable`: number of draws that are not finite; -1: all draws are equal.
    """

    ess_bulk: FloatArray
    ess_tail: FloatArray
    r_hat: FloatArray
    noise_ratio: FloatArray
    unusable: FloatArray

    @classmethod
    def of_table(cls, table: FloatArray) -> Figures:
        """Columns of a table (parameter, column); see `compiled.columns.COLUMNS`."""
        return cls(*table[:, COLUMNS.index("ess_bulk") :].T)


class Failure(Record):
    """A scalar that misses a criterion.

    criterion      value                                          what it should be
    "not finite"   number of draws that are no finite numbers     `bound` = 0
    "constant"     spread of the draws, 0                         above `bound` = 0
    "bulk ess"     effective size of the rank-normalised draws    at least `bound`
    "tail ess"     smaller effective size of two tails            at least `bound`
    "rhat"         R-hat of the draws or of their distances       below `bound`
    "rhat excess"  the noise ratio, see `rhat_is_large`           below `bound`
    "quantile ess" smallest effective size of many quantiles      at least `bound`; asked of scalars in which chains
                   disagreed, see `consilience.run.verdicts`

    `rhat`, `ess`: R-hat and the smaller of both effective sizes; NaN where they are not known.

    `value` is NaN with fewer than four draws per chain.
    """

    scalar: int
    criterion: Criterion
    value: float
    bound: float
    rhat: float = math.nan
    ess: float = math.nan


def rhat_is_large(figures: Figures, rule: StoppingRule, chains: int, scalars: int) -> npt.NDArray[np.bool_]:
    """Whether chains differ by more than the noise of so few draws explains: the standard of runs and of summaries.

    R-hat of chains that agree exceeds 1 by chance: about sqrt(1 + F / n), where n effective draws fall on a half chain
    and F is a variate around 1 of the F distribution with 2 chains - 1 degrees of freedom. With 400 effective draws of
    4 chains its mean is 1.01 already: a plain bound of 1.01 asks for a fifth more draws than the effective size does of
    ten scalars that agree, and for half as many again of a hundred (autoregressive, coefficient 0.3). Therefore R-hat
    is large where it

    * is at least `target_rhat` + 0.04, or
    * is above `target_rhat`, and the means of the half chains vary more than their autocorrelation explains: the noise
      ratio h Var(means) / (W tau), with half chains of h draws, variance W within them and autocorrelation time tau,
      reaches the 1 - 0.01 / (2 scalars) quantile of F(2 chains - 1, 200).

    With `strict` it is large from `target_rhat` on. `scalars` is the number of those that are judged together. False
    for R-hat that is NaN, as that of constants.
    """
    large = figures.r_hat >= rule.largest_rhat
    if not rule.strict and (figures.r_hat > rule.target_rhat).any():
        explained = figures.noise_ratio < largest_ratio(chains, scalars)
        large |= (figures.r_hat > rule.target_rhat) & ~explained
    return large


def first_missed(
    figures: Figures, rule: StoppingRule, chains: int, scalars: int
) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Number of the criterion in `CRITERIA` that each parameter misses first, -1 for none, and how near it is to that.

    Nearness is the largest ratio of a figure to its bound, or of the bound to it; above 1 where one is missed.
    """
    target = rule.target_ess or 0.0
    plain, excess = CRITERIA.index("rhat"), CRITERIA.index("rhat excess")
    missed = np.zeros((len(CRITERIA), len(figures.r_hat)), bool)
    missed[0] = figures.unusable > 0
    missed[1] = figures.unusable == CONSTANT
    missed[2] = bool(target) & ~(figures.ess_bulk >= target)
    missed[3] = bool(target) & ~(figures.ess_tail >= target)
    missed[excess] = rhat_is_large(figures, rule, chains, scalars)
    missed[plain] = ~(figures.r_hat < rule.largest_rhat)
    with np.errstate(divide="ignore", invalid="ignore"):
        nearness = np.maximum(target / np.fmin(figures.ess_bulk, figures.ess_tail), 0.0)
        nearness = np.fmax(nearness, (figures.r_hat - 1.0) / (rule.largest_rhat - 1.0))
    if missed[excess].any():
        ratios = figures.noise_ratio / largest_ratio(chains, scalars)
        nearness = np.where(missed[excess], np.fmax(nearness, ratios), nearness)
    nearness[missed[0] | missed[1] | np.isnan(figures.r_hat)] = np.inf
    return np.where(missed.any(axis=0), np.argmax(missed, axis=0), -1), nearness


def failure_of(
    figures: Figures, place: int, criterion: int, scalar: int, rule: StoppingRule, chains: int, scalars: int
) -> Failure:
    """The failure of a scalar whose figures are at `place`."""
    rhat, bulk, tail = (float(values[place]) for values in (figures.r_hat, figures.ess_bulk, figures.ess_tail))
    target, name = rule.target_ess or 0.0, CRITERIA[criterion]
    value, bound = {
        "not finite": (float(figures.unusable[place]), 0.0),
        "constant": (0.0, 0.0),
        "bulk ess": (bulk, target),
        "tail ess": (tail, target),
        "rhat": (rhat, rule.largest_rhat),
        "rhat excess": (float(figures.noise_ratio[place]), largest_ratio(chains, scalars)),
    }[name]
    return Failure(scalar, name, value, bound, rhat, float(np.fmin(bulk, tail)))
