"""When a run may stop, and what is said of it: draws, statistics and a watch enter, a verdict leaves.

The rule and its guards are explicit and conservative: effective sizes, R-hat against its own noise, divergences,
energy, and chains that disagree. How often one looks is decided elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from consilience.diagnostics.energy import ebfmi
from consilience.diagnostics.watch import Failure, Rule
from consilience.record import Record
from consilience.run.events import Status
from consilience.run.monitor import Monitor

RETUNE_RATE = 0.002  # divergences per draw that call for another tuning
CLEAN_ENOUGH_RATE = 0.001  # after it, up to which draws are kept with a warning
LEAST_EBFMI = 0.3
DISAGREEING_RHAT = 1.2
ALONE_SIZE = 50.0  # effective draws of every chain alone, for a disagreement to be believed
FEWEST_DISAGREEING = 400  # draws of each chain


class Verdict(Record):
    """What a run comes to.

    status   see `consilience.sample.sample`
    reason   in words; empty where there is nothing to say
    worst    name of the first scalar that fails, or empty
    """

    status: Status
    reason: str = ""
    worst: str = ""


def energy_is_low(energies: Sequence[NDArray[np.float64]]) -> bool:
    """Whether some chain moves too slowly between energies."""
    long = np.array([e for e in energies if len(e) >= 4])  # all chains have made as many draws
    return len(long) > 0 and bool((ebfmi(long) < LEAST_EBFMI).any())


def of_passing(divergences: int, draws: int, retuned: bool, low_energy: bool) -> Verdict:
    """The verdict on draws for which the rule holds; `draws` are those of all chains."""
    rate = divergences / draws
    bound = CLEAN_ENOUGH_RATE if retuned else RETUNE_RATE
    if rate > bound:
        return Verdict(
            "not_converged",
            f"divergences: {divergences} of {draws} draws{' even with smaller steps' if retuned else ''}, so the "
            "posterior is not explored everywhere; reparameterize, for example non-centered, or raise `target_accept`",
        )
    if divergences:
        return Verdict("converged_with_divergences", f"{divergences} of {draws} draws diverged")
    if low_energy:
        return Verdict(
            "converged_with_divergences",
            f"no draw diverged, but the E-BFMI of a chain is below {LEAST_EBFMI}: the tails may not be explored",
        )
    return Verdict("converged")


def of_failing(monitor: Monitor, failure: Failure, rule: Rule, draws: int, limit: str) -> Verdict:
    """The verdict on draws, so many of each chain, for which the rule does not hold at the end."""
    name = monitor.names[failure.scalar]
    value, bound = failure.value, failure.bound
    match failure.criterion:
        case "constant":
            text = f"`{name}` never changes"
        case "not finite":
            text = f"`{name}` is not finite"
        case "bulk ess" | "tail ess":
            kind = failure.criterion.replace("ess", "ESS")
            text = f"the {kind} of `{name}` is {value:.0f}, and {bound:.0f} are asked for"
            if value > 0:
                needed = math.ceil(draws * bound / value / 100) * 100
                text += f"; about {needed} draws per chain would do"
        case "rhat":
            text = f"the R-hat of `{name}` is {value:.3f}, above {bound:.2f}"
        case _:
            text = f"the R-hat of `{name}` is above {rule.target_rhat} by more than noise"
    return Verdict("not_converged", f"{text} ({limit})", name)


def disagreement(monitor: Monitor) -> Verdict | None:
    """Whether chains that each mix well by themselves sit in different places, and where."""
    watch = monitor.watch
    assert watch is not None
    if watch.count < FEWEST_DISAGREEING or len(monitor.chains) < 2:
        return None
    scalars = watch.disagreeing(DISAGREEING_RHAT, ALONE_SIZE)
    if not scalars:
        return None
    name = monitor.names[scalars[0]]
    means = monitor.levels.mean(axis=1).tolist()
    levels = ", ".join(f"chain {c}: {mean:.1f}" for c, mean in zip(monitor.chains, means, strict=True))
    return Verdict(
        "chains_disagree",
        f"each chain mixes by itself, but they sit in different regions of `{name}` "
        f"(mean log densities: {levels}); do not average them. The posterior has several modes, or chains are "
        'stuck: look at each chain, or try `jumps="auto"` and more chains',
        name,
    )
