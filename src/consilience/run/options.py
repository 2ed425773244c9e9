"""What is asked of a run: lengths, rules and ways, checked when they are made."""

from __future__ import annotations

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.errors import SamplingError
from consilience.record import Record


class Options(Record):
    """What is asked of a run.

    draws, tune          transitions of each chain to keep, and to tune with before; None: the run decides
    rule                 when the draws are good enough
    min_tune, max_tune   transitions of each chain where the run decides how long to tune
    min_draws, max_draws   draws of each chain where the run decides: at the first check, and at most
    pool                 whether chains tune together
    escalate             whether divergences lead to another tuning with smaller steps
    max_time             seconds after which the run ends with what it has; None: no limit
    window_budget        evaluations of the log density that one chain may spend on one segment; None: no limit
    keep_tuning          whether tuning draws are part of the result
    """

    draws: int | None = None
    tune: int | None = None
    rule: StoppingRule = StoppingRule()
    min_tune: int = 50
    max_tune: int = 1500
    min_draws: int = 400
    max_draws: int = 4000
    pool: bool = True
    escalate: bool = True
    max_time: float | None = None
    window_budget: int | None = None
    keep_tuning: bool = False

    def __post_init__(self) -> None:
        for name, least in (
            ("draws", 0),
            ("tune", 0),
            ("min_tune", 0),
            ("max_tune", 1),
            ("min_draws", 4),
            ("max_draws", 4),
        ):
            value = getattr(self, name)
            if value is not None and value < least:
                raise SamplingError(f"`{name}` must be an integer of at least {least}, got {value}.")
        if self.draws == 0 and self.tune == 0:
            raise SamplingError("a run needs draws >= 0 and tune >= 0, not both 0; got draws=0, tune=0.")
        if self.max_time is not None and not self.max_time >= 0:
            raise SamplingError(f"`max_time` must be a number of seconds of at least 0, got {self.max_time!r}.")
        if self.rule.target_ess is not None and not self.rule.target_ess > 0:
            raise SamplingError(f"`target_ess` must be positive, got {self.rule.target_ess!r}.")
        if not 1.0 < self.rule.target_rhat < 2.0:
            raise SamplingError(f"`target_rhat` must lie between 1 and 2, got {self.rule.target_rhat!r}.")
