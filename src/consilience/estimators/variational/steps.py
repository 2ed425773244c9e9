"""Steps of parameters along a gradient, by the optimizers that have a name.

A gradient in the memory of an ascent in; its parameters moved, out. Natural steps are those of the families.
"""

from __future__ import annotations

from consilience.estimators.variational.optimizers import (
    ADADELTA,
    ADAGRAD,
    ADAM,
    ADAMAX,
    MOMENTUM,
    NESTEROV,
    RMSPROP,
    WINDOW,
)
from consilience.estimators.variational.state import Ascent
from consilience.native.mathematics import exp, log, sqrt
from consilience.native.typed_python import native


@native
def step_by_rule(ascent: Ascent) -> None:
    """One step of the optimizer."""
    count = ascent.count
    settings = ascent.rule
    rule = settings.kind
    rate = ascent.rate
    a = settings.first
    b = settings.second
    epsilon = settings.epsilon
    older = settings.memory
    newer = settings.memory[count:]
    time = float(ascent.step + 1)
    slot = (ascent.step % settings.window) * count
    known = 1.0  # share of the moving averages that gradients have filled so far
    squared = 1.0
    if rule == ADAM or rule == ADAMAX:  # noqa: SIM109 - machine code has no tuples of constants
        known = 1.0 - exp(time * log(a))
        squared = sqrt(1.0 - exp(time * log(b)))
    for i in range(count):
        g = ascent.gradient[i]
        step = rate * g
        if rule == MOMENTUM or rule == NESTEROV:  # noqa: SIM109 - machine code has no tuples of constants
            older[i] = a * older[i] + step
            step = older[i] if rule == MOMENTUM else a * older[i] + step
        elif rule == ADAGRAD:
            older[i] += g * g
            step = rate * g / sqrt(older[i] + epsilon)
        elif rule == WINDOW:
            settings.memory[slot + i] = g * g
            total = 0.0
            for w in range(settings.window):
                total += settings.memory[w * count + i]
            step = rate * g / sqrt(total + epsilon)
        elif rule == RMSPROP:
            older[i] = a * older[i] + (1.0 - a) * g * g
            step = rate * g / sqrt(older[i] + epsilon)
        elif rule == ADADELTA:
            older[i] = a * older[i] + (1.0 - a) * g * g
            bare = g * sqrt(newer[i] + epsilon) / sqrt(older[i] + epsilon)
            newer[i] = a * newer[i] + (1.0 - a) * bare * bare
            step = rate * bare
        elif rule == ADAM:
            older[i] = a * older[i] + (1.0 - a) * g
            newer[i] = b * newer[i] + (1.0 - b) * g * g
            step = rate * older[i] * squared / known
            step /= sqrt(newer[i]) + epsilon
        elif rule == ADAMAX:
            older[i] = a * older[i] + (1.0 - a) * g
            newer[i] = max(b * newer[i], abs(g))
            step = rate / known * older[i] / (newer[i] + epsilon)
        ascent.parameters[i] += step


@native
def limit_norm(ascent: Ascent) -> None:
    """Shorten the gradient to the greatest norm allowed."""
    total = 0.0
    for i in range(ascent.count):
        total += ascent.gradient[i] * ascent.gradient[i]
    norm = sqrt(total)
    if norm > ascent.rule.most:
        for i in range(ascent.count):
            ascent.gradient[i] *= ascent.rule.most / norm
