"""Where a density breaks off or jumps: steps that diverged and moves of chains are followed, a cause leaves."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.model.diagnosis import diagnosis, terms_at_fault
from consilience.sample.causes.symptoms import LOOKED_AT, MOST_NAMED, Cause, Symptoms

Floats = npt.NDArray[np.float64]

BISECTIONS: Final = 40
NOT_YET_SMALL: Final = 100.0  # nats below where a step began, up to which the density has not fallen off
GRID: Final = 24  # intervals of a step in which a jump is looked for
HALVINGS: Final = 25  # of an interval; what is smooth changes by 2^-25 of it then
JUMP: Final = 0.1  # nats
ALONE: Final = 0.2  # of a jump, up to which the density changes next to it
MOVED: Final = 1e-5  # of a coordinate, at least, in a step
LINES: Final = 4  # of what is said of a term without a density
STUCK: Final = 0.8  # of the draws, from which on steps that diverge say that there is no room to move
SAME_EDGE: Final = 1e-3  # of the standard deviation of a variable, within which its edges agree
CUT: Final = "steps end where the model has no density"


def edge(evidence: Symptoms) -> Cause | None:
    """Where the density ends before it is small: a support that data or a condition cut off."""
    found: list[tuple[Floats, Floats, Floats]] = []
    looked = 0
    for begin, end in evidence.divergences:
        start = evidence.logp(begin)
        if not math.isfinite(start):
            continue
        looked += 1
        if math.isfinite(evidence.logp(end)):
            continue
        inside, outside = begin, end
        for _ in range(BISECTIONS):
            middle = 0.5 * (inside + outside)
            inside, outside = (middle, outside) if math.isfinite(evidence.logp(middle)) else (inside, middle)
        if evidence.logp(inside) > start - NOT_YET_SMALL:
            found.append((inside, outside, end))
    if not found or 2 * len(found) <= looked:
        return None
    inside, outside, end = found[0]
    terms = terms_at_fault(evidence.model, outside) or terms_at_fault(evidence.model, end)
    if len(evidence.begins) > STUCK * evidence.total:
        return _no_room(evidence, end, tuple(name for name, _, _ in terms))
    if wrong := [name for name, _, value in terms if value != -math.inf]:
        return _overflow(wrong[0])
    names = evidence.responsible(lambda p: not math.isfinite(evidence.logp(p)), inside, end)
    kinds = {kind: name for name, kind, _ in terms}
    if "observed" in kinds:
        what = f"the data of `{kinds['observed']}` cut off the support"
    elif "potential" in kinds:
        what = f"the potential `{kinds['potential']}` cuts off the support"
    else:
        what = f"the density of `{kinds.get('free', 'the model')}` is cut off"
    if not names:
        return Cause(
            "edge",
            (),
            f"{what} where the density is not small yet, and steps that cross the edge diverge",
            "Write the condition as a bound of a variable, by `pm.Truncated(…, lower=…)` or a sum with a positive "
            "variable, so that the sampler cannot cross it.",
        )
    return _bound(evidence, what, names, np.stack([i for i, _, _ in found]), end)


def _bound(evidence: Symptoms, what: str, names: list[str], inside: Floats, beyond: Floats) -> Cause:
    """An edge in the way of some variables: at a number, or where another variable is."""
    values = evidence.density.expand(np.vstack([inside, beyond]), False)
    of_draws = evidence.density.expand(evidence.draws[:: max(1, len(evidence.draws) // 200)], False)
    name = names[0]
    edges = values[name][:-1].reshape(len(inside), -1)
    element = int(np.argmax(np.abs(values[name][-1].ravel() - edges[0])))
    at, spread = edges[:, element], of_draws[name].reshape(len(of_draws[name]), -1)[:, element].std()
    listed = " and ".join(f"`{n}`" for n in names)
    if len(names) == 1 and np.ptp(at) <= SAME_EDGE * spread:
        side = "lower" if of_draws[name].reshape(len(of_draws[name]), -1)[:, element].mean() > at[0] else "upper"
        title = evidence.title(name)
        written = (
            f'`{name} = pm.{title}("{name}", {side}={at[0]:.6g}, …)`'
            if title in ("Uniform", "TruncatedNormal")
            else f'`{name} = pm.Truncated("{name}", pm.{title}.dist(…), {side}={at[0]:.6g})`'
        )
        beyond_it = evidence.density.expand(evidence.ends, False)[name].reshape(len(evidence.ends), -1)[:, element]
        across = bool((beyond_it < at.max() if side == "lower" else beyond_it > at.min()).all())
        return Cause(
            "edge",
            (name,),
            f"{what} of {listed} at {at[0]:.4g}, where the density is not small yet, and "
            + (
                f"all {len(beyond_it)} steps that diverged crossed this edge: they were refused, and nothing lies there"
                if across
                else "steps that cross this edge diverge"
            ),
            f"Declare the bound with the variable, so that the sampler cannot cross it: {written}, the number computed "
            "from the data.",
            harmless=across,
        )
    other = names[1] if len(names) > 1 else "…"
    return Cause(
        "edge",
        tuple(names),
        f"{what} of {listed} at an edge that moves with other variables, and steps that cross it diverge",
        f'Write the distance to the edge as a positive variable: `{name} = {other} + pm.HalfNormal("gap", …)` (or '
        "`-`), so that the sampler cannot cross it.",
    )


def _no_room(evidence: Symptoms, end: Floats, names: tuple[str, ...]) -> Cause:
    lines = "; ".join(line.strip() for line in diagnosis(evidence.model, end)[:LINES])
    return Cause(
        "edge",
        names,
        f"{CUT}, just beside the draws: {lines}. A condition that holds at the starting point alone, such as a sum "
        "that must be 1, leaves no room to move",
        "Build the condition into the model, as `pm.Dirichlet` or `p / p.sum()` do, or drop it.",
    )


def _overflow(name: str) -> Cause:
    return Cause(
        "overflow",
        (name,),
        f"near the draws, the log density of `{name}` is NaN or infinite, and steps that end there diverge",
        "Write it so that it is finite for all values that the priors allow: use `pm.math.logsumexp`, `pt.log1mexp`, "
        f"`logit_p=` instead of `p=`, or a narrower prior. `pm.Model.debug` shows the values of `{name}`.",
    )


def jump(evidence: Symptoms) -> Cause | None:
    """Where the density jumps: a difference that stays however near two points come."""
    steps = [*evidence.moves, *evidence.divergences[: LOOKED_AT // 2]]
    found: dict[str, int] = {}
    jumps = looked = 0
    for begin, end in steps:
        if evidence.left < GRID + HALVINGS:
            break
        looked += 1
        if (pair := _jump_between(evidence, begin, end)) is None:
            continue
        jumps += 1
        first, second = pair
        level = evidence.logp(first)
        half = 0.5 * abs(evidence.logp(second) - level)

        def jumps_too(point: Floats, level: float = level, half: float = half) -> bool:
            return abs(evidence.logp(point) - level) > half

        for name in evidence.responsible(jumps_too, first, second):
            found[name] = found.get(name, 0) + 1
    if jumps < 2 or 6 * jumps < looked:
        return None
    names = tuple(sorted(found, key=lambda n: -found[n]))[:MOST_NAMED]
    listed = " and ".join(f"`{n}`" for n in names) or "a parameter"
    name = names[0] if names else "x"
    return Cause(
        "jump",
        names,
        f"the density jumps as {listed} moves: it enters through a comparison, `floor`, `round` or an index, and "
        "gradients do not see jumps",
        f"Write a smooth step, such as `pm.math.sigmoid((t - {name}) / width)` for `t > {name}`, or give `{name}` "
        f'whole values, `pm.DiscreteUniform("{name}", …)`, which are summed out.',
    )


def _jump_between(evidence: Symptoms, begin: Floats, end: Floats) -> tuple[Floats, Floats] | None:
    """Two points next to each other between which the density jumps."""
    if not (np.abs(end - begin) > MOVED * np.abs(begin)).any():  # of so short a step, halves are no other numbers
        return None
    shares = np.linspace(0.0, 1.0, GRID + 1)
    levels = np.array([evidence.logp(begin + share * (end - begin)) for share in shares])
    rises = np.where(np.isfinite(levels[1:]) & np.isfinite(levels[:-1]), np.abs(np.diff(levels)), 0.0)
    k = int(np.argmax(rises))
    if not JUMP < rises[k] < 1e6:
        return None
    (a, b), (low, high) = shares[k : k + 2], levels[k : k + 2]
    for _ in range(HALVINGS):
        middle = 0.5 * (a + b)
        level = evidence.logp(begin + middle * (end - begin))
        if not math.isfinite(level):
            return None
        a, b, low, high = (a, middle, low, level) if abs(level - low) > abs(high - level) else (middle, b, level, high)
        if abs(high - low) < JUMP:
            return None
    # Rounding leaves differences everywhere, a jump at one place.
    beside = [evidence.logp(begin + share * (end - begin)) for share in (a - 4.0 * (b - a), b + 4.0 * (b - a))]
    if not max(abs(beside[0] - low), abs(beside[1] - high)) < ALONE * abs(high - low):
        return None
    return begin + a * (end - begin), begin + b * (end - begin)
