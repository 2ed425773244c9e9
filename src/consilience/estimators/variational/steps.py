"""Steps of parameters along a gradient: the natural one, and the optimizers that have a name.

A gradient in the memory of an ascent in; its parameters moved, out.
"""

from __future__ import annotations

from consilience.estimators.variational.low_rank import step_low_rank
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
from consilience.estimators.variational.state import (
    FLOW,
    FULL_RANK,
    LONGEST,
    LOW_RANK,
    MEAN_FIELD,
    PARTICLES,
    WIDEST,
    Ascent,
    limited,
)
from consilience.native.mathematics import exp, log, sqrt
from consilience.native.typed_python import f64, native

POWERS = 6  # iterations for the greatest singular value of a step


@native
def singular_value(ascent: Ascent) -> f64:
    """Greatest singular value of the gradient by the lower factor, by the power method, from below."""
    n = ascent.dimension
    wide = ascent.gradient[n:]
    x = ascent.vector
    y = ascent.turned
    norm = 0.0
    for i in range(n):
        x[i] = 1.0
    for _ in range(POWERS):
        for i in range(n):
            y[i] = 0.0
            for j in range(i + 1):
                y[i] += wide[i * n + j] * x[j]
        total = 0.0
        for j in range(n):
            x[j] = 0.0
        for i in range(n):
            for j in range(i + 1):
                x[j] += wide[i * n + j] * y[i]
            total += y[i] * y[i]
        length = 0.0
        for j in range(n):
            length += x[j] * x[j]
        if total == 0.0 or length == 0.0:
            return norm
        norm = sqrt(length / total)
        for j in range(n):
            x[j] /= sqrt(length)
    return norm


@native
def step_naturally(ascent: Ascent) -> None:
    """Against the Fisher information, which is the identity in the approximation's scale, and 2 along its diagonal."""
    n = ascent.dimension
    rate = ascent.rate
    if ascent.family == PARTICLES:
        for k in range(ascent.draws):
            for i in range(n):
                scale = ascent.scales[i]
                step = limited(rate * scale * ascent.gradient[k * n + i], LONGEST)
                ascent.parameters[k * n + i] += scale * step
        return
    wide = ascent.gradient[n:]
    packed = ascent.parameters[n:]
    if ascent.family == LOW_RANK:
        step_low_rank(ascent)
        return
    if ascent.family == MEAN_FIELD:
        for i in range(n):
            ascent.parameters[i] += exp(packed[i]) * limited(rate * ascent.gradient[i], LONGEST)
            packed[i] += limited(0.5 * rate * wide[i], WIDEST)
        return
    length = 0.0
    for i in range(n):
        length += ascent.gradient[i] * ascent.gradient[i]
    length = max(1.0, rate * sqrt(length / float(n)) / LONGEST)
    for i in range(n):
        row = ascent.factor[i * n :]
        for j in range(i + 1):
            ascent.parameters[i] += row[j] * ascent.gradient[j] * rate / length
    size = rate * singular_value(ascent)
    rate *= min(1.0, WIDEST / size) if size > 0.0 else 1.0
    # The factor times (identity + step), the diagonal by its exponential; columns from the left need those right of
    # them as they were.
    for i in range(n):
        row = ascent.factor[i * n :]
        for j in range(i + 1):
            grown = 0.5 * rate * wide[j * n + j]
            if i == j:
                packed[i * n + i] += grown
            else:
                total = row[j] * exp(grown)
                for k in range(j + 1, i + 1):
                    total += row[k] * rate * wide[k * n + j]
                packed[i * n + j] = total


@native
def step_by_rule(ascent: Ascent) -> None:
    """One step of the optimizer."""
    count = ascent.count
    rule = ascent.rule
    rate = ascent.rate
    a = ascent.first
    b = ascent.second
    epsilon = ascent.epsilon
    older = ascent.memory
    newer = ascent.memory[count:]
    time = float(ascent.step + 1)
    slot = (ascent.step % ascent.window) * count
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
            ascent.memory[slot + i] = g * g
            total = 0.0
            for w in range(ascent.window):
                total += ascent.memory[w * count + i]
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
    if norm > ascent.most:
        for i in range(ascent.count):
            ascent.gradient[i] *= ascent.most / norm


@native
def narrow(ascent: Ascent) -> None:
    """Halve the scale around the mean, where no draw had a finite log density."""
    n = ascent.dimension
    shift = log(0.5)
    if ascent.family == FLOW:
        if ascent.flow.scale >= 0:
            for i in range(n):
                ascent.parameters[ascent.flow.scale + i] += shift
        return
    for i in range(n):
        if ascent.family == MEAN_FIELD or ascent.family == LOW_RANK:
            ascent.parameters[n + i] += shift
        elif ascent.family == FULL_RANK:
            ascent.parameters[n + i * n + i] += shift
            for j in range(i):
                ascent.parameters[n + i * n + j] *= 0.5
