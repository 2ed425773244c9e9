"""What is asked of a run, in one record: lengths, the rule, and what it may do by itself; checked when it is made."""

from __future__ import annotations

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
        if self.max_time is not None and not self.max_time >= 0:
            raise SamplingError(f"`max_time` must be a number of seconds of at least 0, got {self.max_time!r}.")
        if self.rule.target_ess is not None and not self.rule.target_ess > 0:
            raise SamplingError(f"`target_ess` must be positive, got {self.rule.target_ess!r}.")
        if not 1.0 < self.rule.target_rhat < 2.0:
            raise SamplingError(f"`target_rhat` must lie between 1 and 2, got {self.rule.target_rhat!r}.")
        if unknown := [name for name in self.remedies if name not in REMEDIES]:
            raise SamplingError(f"`remedies` may name {', '.join(map(repr, REMEDIES))}, got {unknown[0]!r}.")
        object.__setattr__(self, "remedies", tuple(name for name in REMEDIES if name in self.remedies))
