"""Dual averaging: find the step size whose mean acceptance probability is the one asked for.

Nesterov's primal-dual averaging as Hoffman & Gelman (2014, section 3.2) apply it to HMC. An acceptance
probability enters after every transition; a step size leaves. Which transitions count stays outside.
"""

from __future__ import annotations

from consilience.native.mathematics import exp, log, sqrt
from consilience.native.typed_python import f64, i64, native, record

SHRINKAGE = 0.05  # gamma: how strongly the log step size is drawn to its anchor
OFFSET = 10.0  # t0: damps the first iterations
DECAY = 0.75  # kappa: how fast the average forgets
ANCHOR = 10.0  # the anchor is this multiple of the initial step size, since large steps are cheap to reject


@record
class StepSize:
    """The state of a dual averaging.

    step: Step size of the next transition.
    average: Exp of the weighted average of log step sizes: the step size to keep when tuning ends.
    target: Acceptance probability asked for, between 0 and 1.
    anchor: Log step size to which early iterations are drawn.
    error: Running mean of target - acceptance.
    count: Acceptance probabilities seen since the last restart.
    """

    step: f64
    average: f64
    target: f64
    anchor: f64
    error: f64
    count: i64


@native(rare=True)
def restart(state: StepSize, step: f64) -> None:
    """Forget what was learnt and begin again at `step`."""
    state.step = step
    state.average = step
    state.anchor = log(ANCHOR * step)
    state.error = 0.0
    state.count = 0


@native(rare=True)
def learn(state: StepSize, acceptance: f64) -> None:
    """Take in the acceptance probability of one transition and set the next step size."""
    state.count += 1
    count = f64(state.count)
    weight = 1.0 / (count + OFFSET)
    state.error = (1.0 - weight) * state.error + weight * (state.target - acceptance)
    log_step = state.anchor - sqrt(count) / SHRINKAGE * state.error
    forget = exp(-DECAY * log(count))
    state.step = exp(log_step)
    state.average = exp(forget * log_step + (1.0 - forget) * log(state.average))


@native(rare=True)
def settle(state: StepSize) -> None:
    """End of tuning: from now on the step size is the average."""
    state.step = state.average
