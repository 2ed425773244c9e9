"""When a run looks at its draws, when it may stop, and what is said of it.

The rule and its guards are explicit and conservative: effective sizes, R-hat against its own noise, divergences,
energy, and chains that disagree.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from consilience.diagnostics.compiled.library import FEWEST_DRAWS
from consilience.diagnostics.convergence import ONE_CHAIN
from consilience.diagnostics.energy import ebfmi
from consilience.diagnostics.stopping_rule import Failure, StoppingRule
from consilience.events import Status
from consilience.inference.messages import Matrix
from consilience.record import Record
from consilience.run.monitor import Monitor

CHECK_GROWTH = 1.25
MANY = 3  # times the draws of the first check, from which on another tuning costs less than they
LEAST_SHARE = 0.5  # of the draws that should suffice, at which to look again however poor the estimate
UNLIKELY = 1.645  # standard errors that an estimate exceeds in 5 % of cases
RETUNE_RATE = 0.002  # divergences per draw that call for another tuning
FEWEST_DIVERGENCES = 3  # of which a rate can be told
CLEAN_ENOUGH_RATE = 0.001  # after it, up to which draws are kept
WELL_MIXED = 0.2  # effective draws per draw, from which on a few divergences are accidents
SAME_WIDTH = 0.1  # change of a log standard deviation, up to which smaller steps have shown nothing new
NOISE = 3.0  # standard errors of it, likewise; more where it is the greatest of many coordinates
BATCHES = 5  # of each chain
SMALLEST = 0.05  # probability, up to which divergences of the smallest steps say that they are too many
FORECAST_SIZE = 50.0  # effective draws, below which nobody can tell how many draws would do
LEAST_EBFMI = 0.3
DISAGREEING_RHAT = 1.2
ALONE_SIZE = 50.0  # effective draws of every chain alone, for a disagreement to be believed
FEWEST_DISAGREEING = 400  # draws of each chain
QUANTILES_SHARE = 0.5  # of the effective size asked for, at every quantile of scalars that chains were apart in
UNVISITED_SHARE = 0.05  # of the draws of an attempt before, at most, that may lie beyond all present ones
LONG_TRAJECTORIES = 64.0  # evaluations of a transition
IMPROPER_DRAWS = 100  # of each chain, where the target seems to be improper: something to look at
FAR_OUT = 1e8  # on the unconstrained scale
_SHARES = tuple(0.5 * 0.8**k for k in range(26))
QUANTILES = (*_SHARES, *(1.0 - share for share in _SHARES[1:]))


class Sight(Record, eq=False):
    """What draws showed.

    Parameters
    ----------
    widths : ndarray
        Standard deviations float64 (coordinate,).
    errors : ndarray
        Standard errors of their logarithms, likewise.
    draws : int
        How many there were, of all chains and attempts.
    divergences : int
        Among them.
    """

    widths: NDArray[np.float64]
    errors: NDArray[np.float64]
    draws: int
    divergences: int


def sight(draws: Matrix, divergences: int, before: Sight | None = None) -> Sight:
    """What draws (chain, draw, coordinate) show; `before` counts what diverged before them, too.

    The errors are those of the means of batches, of squares of what is left of the mean (Geyer 1992, section 3.2).
    """
    mean = draws.mean(axis=(0, 1))
    count = min(BATCHES, draws.shape[1])
    parts = np.stack([((some - mean) ** 2).mean(axis=0) for own in draws for some in np.array_split(own, count)])
    squares = parts.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = parts.std(axis=0, ddof=1) / (2.0 * math.sqrt(len(parts)) * squares)
    seen, diverged = (0, 0) if before is None else (before.draws, before.divergences)
    return Sight(np.sqrt(squares), errors, seen + draws.shape[0] * draws.shape[1], diverged + divergences)


class Verdict(Record):
    """What a run comes to.

    Parameters
    ----------
    status : Status
        See `consilience.sample.sample`.
    reason : str, default ''
        In words; empty where there is nothing to say.
    worst : str, default ''
        Name of the first scalar that fails, or empty.
    divergences : bool, default False
        Whether nothing but divergences speaks against the draws.
    advice : str, default ''
        What to write, in words, where the cause is known.
    """

    status: Status
    reason: str = ""
    worst: str = ""
    divergences: bool = False
    advice: str = ""


def energy_is_low(energies: Sequence[NDArray[np.float64]] | NDArray[np.float64]) -> bool:
    """Whether some chain moves too slowly between energies."""
    long = np.array([e for e in energies if len(e) >= 4])  # all chains have made as many draws
    return len(long) > 0 and bool((ebfmi(long) < LEAST_EBFMI).any())


def energy_is_low_together(energies: NDArray[np.float64]) -> bool:
    """The same of many chains (chain, draw), all together, since each has made few draws."""
    within = energies.var(axis=1)
    moving = within > 0.0
    fraction = float((ebfmi(energies[moving]) * within[moving]).sum() / (len(energies) * energies.var()))
    return fraction < LEAST_EBFMI


def may_be_improper(draws: Sequence[Matrix] | Matrix, evaluations: float, settled: bool) -> bool:
    """Whether it is worth a look, at the end of tuning, if the target has a normalisation at all."""
    far = any(not (np.abs(some) < FAR_OUT).all() for some in draws)
    return not settled or evaluations > LONG_TRAJECTORIES or far


def too_many_divergences(divergences: int, draws: int, bound: float = RETUNE_RATE) -> bool:
    """Whether divergences are more than what good draws have now and then."""
    return divergences >= FEWEST_DIVERGENCES and divergences / draws > bound


def surely_too_many(divergences: int, draws: int) -> bool:
    """Whether so many divergences are unlikely where their rate is one that keeps draws from no certificate."""
    mean = CLEAN_ENOUGH_RATE * draws
    fewer = math.fsum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1.0)) for k in range(divergences))
    return 1.0 - fewer < SMALLEST


def most_divergences(before: Sight | None) -> float:
    """Divergences per draw up to which draws are kept; `before`: see `of_passing`."""
    return CLEAN_ENOUGH_RATE if before else RETUNE_RATE


def of_passing(
    divergences: int,
    draws: int,
    size: float,
    witnesses: int,
    low_energy: bool,
    lost: Sequence[int] = (),
    before: Sight | None = None,
    now: Sight | None = None,
    smallest: bool = False,
) -> Verdict:
    """The verdict on draws for which the rule holds; `draws` are those of all chains.

    Divergences speak against draws where they may be signs of a tail that is not entered: that is so where chains come
    seldom to all places, so that few steps that failed may have been all that came there, and where smaller steps led
    to other widths than the steps that diverged. Where neither is so, they are accidents of arithmetic. Measured on
    curved and on harmless targets: docs/design/0027.

    `size`: effective draws of the scalar that is known least.
    `witnesses`: chains that began by themselves; one is told of.
    `lost`: chains that were left out: where the others are is not all there was to see.
    `before`, `now`: what the draws that were given up for divergences showed, and what these show; None: there were
        none.
    `smallest`: whether these have the smallest steps: where one or two diverge then, and all is as wide, was no tail.
    """
    if lost:
        which = f"chain {lost[0]} was" if len(lost) == 1 else f"chains {', '.join(map(str, lost))} were"
        return Verdict(
            "not_converged",
            f"{which} left out after failing twice, with all draws: the rest may miss the regions where chains fail",
        )
    if too_many_divergences(divergences, draws, most_divergences(before)):
        return Verdict(
            "not_converged",
            f"divergences: {divergences} of {draws} draws{' even with smaller steps' if before else ''}, so the "
            "posterior is not fully explored",
            divergences=not low_energy,
        )
    if low_energy:
        return Verdict(
            "not_converged",
            f"the E-BFMI of a chain is below {LEAST_EBFMI}: the sampler moves too slowly between energies to explore "
            "the tails",
        )
    alone = (ONE_CHAIN,) if witnesses == 1 else ()
    doubts = []
    said = f"{before.divergences} of {before.draws} draws had diverged" if before else ""
    if before is not None and now is not None and (change := width_change(before, now)) > 1.0:
        doubts.append(
            f"{said}, and with smaller steps a standard deviation changed by a factor of {change:.2f}: tails in which "
            "steps diverge may still be missing"
        )
    elif (divergences >= FEWEST_DIVERGENCES if smallest else before or divergences) and size < WELL_MIXED * draws:
        since = f"{divergences} of {draws} draws diverged" if divergences else ""
        known = " and ".join(filter(None, (f"{said} before the chains took smaller steps" if said else "", since)))
        doubts.append(
            f"{known}, and the chains rarely visit part of the posterior: tails where steps diverge may be missing"
        )
    status: Status = "converged_with_divergences" if doubts else "converged"
    return Verdict(status, "; ".join((*doubts, *alone)), divergences=bool(doubts))


def width_change(before: Sight, now: Sight) -> float:
    """By which factor the standard deviation of a coordinate changed most, where that is more than noise; 1 else."""
    moved = (before.widths > 0) & (now.widths > 0)  # what did not move, such as an indicator, has no width to change
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(moved, np.abs(np.log(now.widths / before.widths)), 0.0)
    errors = np.hypot(np.nan_to_num(before.errors), np.nan_to_num(now.errors))
    noise = math.sqrt(NOISE**2 + 2.0 * math.log(max(1, len(change)))) * errors
    return float(np.exp(change[change > np.maximum(SAME_WIDTH, noise)].max(initial=0.0)))


def of_failing(
    monitor: Monitor, failure: Failure, rule: StoppingRule, draws: int, limit: str, unsearched: str = ""
) -> Verdict:
    """The verdict on draws, so many of each chain, for which the rule does not hold at the end.

    `unsearched`: see `RunCourse.unsearched`.
    """
    name = monitor.names[failure.scalar]
    value, bound = failure.value, failure.bound
    if draws < FEWEST_DRAWS:
        text = f"{draws} draws per chain are too few to judge; convergence is checked from {FEWEST_DRAWS} on"
        return Verdict("not_converged", f"{text} ({limit})", name)
    match failure.criterion:
        case "constant":
            text = f"`{name}` never changes"
        case "not finite":
            text = f"`{name}` is not finite"
        case "bulk ess" | "tail ess":
            kind = failure.criterion.replace("ess", "ESS")
            text = f"the {kind} of `{name}` is {value:.0f}, below the target of {bound:.0f}"
            if value >= FORECAST_SIZE:
                needed = math.ceil(draws * bound / value / 100) * 100
                text += f"; about {needed} draws per chain would be enough"
        case "quantile ess":
            text = (
                f"the chains started far apart in `{name}` and rarely returned to where some of them were: the ESS "
                f"there is {value:.0f}, below the target of {bound:.0f}; the posterior may have several modes, try "
                "more chains"
            )
        case "rhat":
            text = f"the R-hat of `{name}` is {value:.3f}, above {bound:.2f}{unsearched and f', and {unsearched}'}"
        case _:
            text = f"the R-hat of `{name}` is above {rule.target_rhat} by more than noise"
    return Verdict("not_converged", f"{text} ({limit})", name)


def poorly_known_quantile(
    monitor: Monitor, names: Collection[str], rule: StoppingRule, seen: Matrix | None = None
) -> Failure | None:
    """The first of some scalars for which draws do not come and go everywhere, or None if they do for all.

    A chain may begin in a region, leave it, and never come back. The longer the run becomes, the smaller its share of
    the draws, until R-hat and the effective sizes of bulk and tails do not see it any more; but how much that region
    weighs was never learnt. Then one quantile is known from a single visit. So a scalar in which chains were once apart
    passes where the effective size of every quantile, from 0.2 to 99.8 %, is half of what is asked of bulk and tails.
    Source: Vehtari et al. (2021), section 4.3, for the effective size of a quantile.

    `seen`: draws (draw, coordinate) of an attempt before, where such places are: they are not to lie beyond all present
    draws, but for one in twenty.
    """
    from consilience.diagnostics.effective_sample_size import ess_tail  # few runs come here

    convergence = monitor.convergence
    if rule.target_ess is None:
        return None
    bound = QUANTILES_SHARE * rule.target_ess
    for scalar in [s for s in range(convergence.scalars) if monitor.names[s] in names]:
        draws = convergence.draws(scalar)
        size = float(ess_tail(draws, QUANTILES))
        if seen is not None and scalar < seen.shape[1]:
            earlier = seen[:, scalar]
            if ((earlier < draws.min()) | (earlier > draws.max())).mean() > UNVISITED_SHARE:
                size = 0.0
        if size < bound:
            rhat = float(convergence.measure([scalar]).r_hat[0])
            return Failure(scalar, "quantile ess", size, bound, rhat, size)
    return None


def separated_scalars(monitor: Monitor) -> list[int]:
    """Scalars in which chains, or superchains, are far from each other, with as many draws as it takes to say so."""
    if not monitor.superchains and (monitor.convergence.count < FEWEST_DISAGREEING or len(monitor.chains) < 2):
        return []
    return monitor.convergence.disagreeing(DISAGREEING_RHAT)


def disagreement(monitor: Monitor, separated: Sequence[int]) -> Verdict | None:
    """Whether chains, or superchains, that are apart in some scalars each mix well by themselves, in other places."""
    scalars = monitor.convergence.mixing_alone(separated, ALONE_SIZE)
    if not scalars:
        return None
    name = monitor.names[scalars[0]]
    if count := monitor.superchains:
        own = len(monitor.chains) // count
        levels = monitor.levels[: own * count].reshape(count, -1).mean(axis=1)
        return Verdict(
            "chains_disagree",
            f"the chains of each of {count} starting points mix well, but those of different points are in "
            f"different regions of `{name}` (mean log densities from {levels.min():.1f} to {levels.max():.1f}); do not "
            "average them. The posterior has several modes, or chains are stuck",
            name,
        )
    means = monitor.levels.mean(axis=1).tolist()
    listed = ", ".join(f"chain {c}: {mean:.1f}" for c, mean in zip(monitor.chains, means, strict=True))
    return Verdict(
        "chains_disagree",
        f"each chain mixes well, but they are in different regions of `{name}` "
        f"(mean log densities: {listed}); do not average them. The posterior has several modes, or chains are "
        "stuck: look at each chain, or try more chains",
        name,
    )


def check_after(draws: int, first: int, last: int) -> int:
    """Draws at the first check after `draws`: even, the first at `first`, each a quarter farther, none past `last`."""
    stage = 0
    while True:
        at = math.ceil(first * CHECK_GROWTH**stage)
        at += at % 2
        if at >= last:
            return last
        if at > draws:
            return at
        stage += 1


def look_again_after(draws: int, size: float, target: float) -> int:
    """Draws of each chain before the next look, where `draws` have an effective size of `size`, of `target` asked for.

    Those with which it is unlikely that they suffice: as many as it takes if draws go on to be worth what they were,
    less the error of the estimate, but at least half of them, and never more than twice those there are.

    Source: Sokal (1997), Monte Carlo methods in statistical mechanics, section 3: an autocorrelation time from lags up
    to M has a relative variance of 2 (2 M + 1) over the number of draws; M is taken as two such times.
    """
    if not size > 0:
        return 2 * draws
    return int(min(2.0 * draws, least_needed(draws, size, target)))


def next_look(draws: int, size: float, target: float | None) -> int:
    """Draws of each chain before which no look is worth its time, as a scalar is worth `size` with `draws`; or 0."""
    if target is None or not size < target:
        return 0
    until = look_again_after(draws, size, target)
    # From there on chains may be found to disagree, which is not to be put off.
    return min(until, FEWEST_DISAGREEING) if draws < FEWEST_DISAGREEING else until


def least_needed(draws: int, size: float, target: float) -> float:
    """Draws of each chain with which it is unlikely that they suffice, however many; see `look_again_after`."""
    if not size > 0:
        return math.inf
    return max(LEAST_SHARE, 1.0 - UNLIKELY * math.sqrt(8.0 / size)) * draws * target / size
