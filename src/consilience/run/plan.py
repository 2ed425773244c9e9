"""What is asked of a run, in one record: lengths, the rule, and what it may do by itself; checked when it is made."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.errors import SamplingError
from consilience.inference.tuner import TuningLengths
from consilience.run.remedies import REMEDIES, USUAL

LEAST = {"draws": 0, "tune": 0, "min_tune": 0, "max_tune": 1, "min_draws": 4, "max_draws": 4, "window_budget": 1}


def whole_number(name: str, value: Any, least: int) -> int:
    """The value as an integer; SamplingError, naming the argument, unless it is one of at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise SamplingError(f"`{name}` must be an integer of at least {least}, got {value!r}.")
    return int(value)


def check_goal(ess: Any, rhat: Any, max_time: Any, named: tuple[str, str, str]) -> None:
    """SamplingError, with the names of the three arguments, for a goal that no draws reach and for a time below 0."""
    size, ratio, time = (
        float(value) if not isinstance(value, bool) and isinstance(value, numbers.Real) else float("nan")
        for value in (ess, rhat, max_time)
    )
    for name, value, holds, needed in (
        (named[0], ess, ess is None or size > 0, "be positive"),
        (named[1], rhat, 1 < ratio < 2, "lie between 1 and 2"),
        (named[2], max_time, max_time is None or time >= 0, "be a number of seconds of at least 0"),
    ):
        if not holds:
            raise SamplingError(f"`{name}` must {needed}, got {value!r}.")


class RunPlan(TuningLengths):
    """What is asked of a run.

    `tune`, `min_tune`, `max_tune`, `pool`: see `TuningLengths`.
    `draws`: transitions of each chain to keep; None: the run decides.
    `rule`: when the draws are good enough.
    `min_draws`, `max_draws`: draws of each chain where the run decides: at the first check, and at most; None: as many
        as it takes, unless a forecast says that it takes too long or for ever.
    `remedies`: names of what the run may do by itself where its draws show the need: see `run.remedies`.
    `max_time`: seconds after which the run ends with what it has; None: no limit.
    `patience`: seconds within which a run with neither limit should come to its end by its own forecast, or in some
        times what it took to the first look at its draws (`forecast.MULTIPLE`); None: ever. They are no clock's: an
        evaluation counts for `forecast.price`.
    `window_budget`: evaluations of the log density that one chain may spend on one segment; None: no limit.
    `keep_tuning`: whether tuning draws are part of the result.
    """

    draws: int | None = None
    rule: StoppingRule = StoppingRule()
    min_draws: int = 400
    max_draws: int | None = None
    remedies: tuple[str, ...] = USUAL
    max_time: float | None = None
    patience: float | None = 60.0
    window_budget: int | None = None
    keep_tuning: bool = False

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, whole_number(name, value, least))
        if self.draws == 0 and self.tune == 0:
            raise SamplingError("a run needs draws >= 0 and tune >= 0, not both 0; got draws=0, tune=0.")
        rule = self.rule
        check_goal(rule.target_ess, rule.target_rhat, self.max_time, ("target_ess", "target_rhat", "max_time"))
        if unknown := [name for name in self.remedies if name not in REMEDIES]:
            raise SamplingError(f"`remedies` may name {', '.join(map(repr, REMEDIES))}, got {unknown[0]!r}.")
        object.__setattr__(self, "remedies", tuple(name for name in REMEDIES if name in self.remedies))
