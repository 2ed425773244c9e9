"""Why a run is in trouble: its draws, its divergences and its density enter; the cause and what to write leave.

Only runs with something to complain of load this. It is the one place where a cause is named and advice is given; what
a run may do about a cause without being asked is in `run/remedies`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends.callback import FAILURES
from consilience.diagnostics.convergence import FEWEST_DRAWS
from consilience.diagnostics.divergence_location import SIGNIFICANT, describe
from consilience.distributions.random_variable import distribution_of
from consilience.ir import Node, topological
from consilience.model.diagnosis import diagnosis, terms_at_fault
from consilience.model.heavy_tails import FAR, reach
from consilience.model.reparametrization import LOCATION_SCALE, centred_hierarchies
from consilience.record import Record, replace
from consilience.run.verdicts import FORECAST_SIZE, Verdict, energy_is_low

if TYPE_CHECKING:
    from consilience.run import RunResult
    from consilience.sample.model_run import ModelRun

Floats = npt.NDArray[np.float64]

MOST_DRAWS: Final = 20_000  # that are looked at, of all chains
MOST_NUMBERS: Final = 1 << 23  # in them
SHARE: Final = 0.02  # of the evaluations of the run, in which its trouble is looked into
LEAST_EVALUATIONS, MOST_EVALUATIONS = 500, 5000
LOOKED_AT: Final = 6  # divergences, and as many steps between draws, that are followed
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
HEAVY: Final = ("Cauchy", "HalfCauchy", "StudentT", "HalfStudentT", "Pareto", "MvStudentT", "Levy", "InverseGamma")
TOGETHER: Final = 0.98  # correlation of two coordinates that the data tell apart badly
SPIKE: Final = 5.0  # nats by which the density is higher where a scale is smallest
WIDE: Final = 3.0  # of its logarithm, from its lowest tenth on
SAME: Final = 1e-6  # nats, up to which two densities are equal
FEWEST: Final = 3  # divergences, of which a place can be told
MOST_NAMED: Final = 3
CUT: Final = "steps end where the model has no density"


class Cause(Record):
    """Why a run is in trouble.

    `kind`: "few" or "draws" (too few of them), "improper", "spike", "edge", "overflow", "jump", "labels", "regions",
    "neck", "tails", "dependence" or "steps". `names`: the variables to be written otherwise. `said`: in words, what was
    found; part of `reason`. `advice`: what to write. `harmless`: whether all divergences come of it, and they say
    nothing against the draws.
    """

    kind: str
    names: tuple[str, ...]
    said: str
    advice: str
    harmless: bool = False


def explained(run: ModelRun, result: RunResult) -> RunResult:
    """The run, its verdict with the cause of its trouble and what to write; as it was where it has none."""
    verdict = result.verdict
    if not run.plan.checks or not result.draws.shape[1] or FAILURES:  # what Python functions raised is said already
        return result
    cause = cause_of(run, result)
    if cause is None:
        return result
    parts = [verdict.reason, cause.said]
    if cause.harmless and verdict.status == "not_converged" and verdict.divergences:
        missed = run.monitored.missed  # not asked of draws that diverged
        if missed is None or not missed(result.draws):
            return replace(result, verdict=Verdict("converged", cause.said, advice=cause.advice))
    reason = "; ".join(
        filter(None, reversed(parts) if cause.kind == "few" else parts)
    )  # what comes of few draws is less
    return replace(result, verdict=replace(verdict, reason=reason, advice=cause.advice))


def cause_of(run: ModelRun, result: RunResult) -> Cause | None:
    """The first cause that the evidence shows; None where it shows none."""
    evidence = Symptoms(run, result)
    with np.errstate(all="ignore"):
        return next(filter(None, (look(evidence) for look in LOOKS)), None)


class Symptoms:
    """What a run left, as the looks for causes need it."""

    def __init__(self, run: ModelRun, result: RunResult) -> None:
        self.run, self.result = run, result
        self.density, self.model = run.density, run.density.model
        self.stretches = self.density.layout.stretches
        self.names = run.monitored.names
        self.verdict: Verdict = result.verdict
        chains, count, dimension = result.draws.shape
        stride = max(1, -(-chains * count // MOST_DRAWS), -(-result.draws.size // MOST_NUMBERS))
        self.chains = result.draws[:, ::stride]
        self.draws: Floats = self.chains.reshape(-1, dimension)
        self.begins, self.ends = (
            np.concatenate([getattr(d, name) for d in result.divergences] or [np.empty((0, dimension))])
            for name in ("begins", "ends")
        )
        self.total = chains * count
        self.left = int(min(MOST_EVALUATIONS, max(LEAST_EVALUATIONS, SHARE * sum(result.evaluations))))
        self.discrete = np.repeat([not s.variable.continuous for s in self.stretches], [s.size for s in self.stretches])

    def logp(self, point: Floats) -> float:
        """The log density at a point; NaN once enough was asked for."""
        self.left -= 1
        if self.left < 0:
            return math.nan
        try:
            return self.density(point)[0]
        except Exception:  # of a Python function of the model: no density there, as in chains
            return -math.inf

    @cached_property
    def divergences(self) -> list[tuple[Floats, Floats]]:
        """Beginnings and ends of some of them, whose numbers are finite."""
        whole = np.flatnonzero(np.isfinite(self.ends).all(axis=1) & np.isfinite(self.begins).all(axis=1))
        some = whole[:: max(1, -(-len(whole) // LOOKED_AT))]
        return [(self.begins[i], self.ends[i]) for i in some]

    @cached_property
    def moves(self) -> list[tuple[Floats, Floats]]:
        """Draws of other chains, and draws that follow each other; discrete coordinates as in the first."""
        found = []
        count = self.chains.shape[1]
        for k in range(4 * LOOKED_AT):
            chain = self.chains[k % len(self.chains)]
            at = (2 * k + 1) * (count - 1) // (8 * LOOKED_AT)
            if at + 1 < count and (chain[at] != chain[at + 1]).any():
                found.append((chain[at], np.where(self.discrete, chain[at], chain[at + 1])))
        last = self.chains[:, -1]  # of chains that stand still, what lies between them tells
        between = [(a, np.where(self.discrete, a, b)) for a, b in pairwise(last) if (a != b).any()]
        return [*between[: LOOKED_AT // 2], *found[: 2 * LOOKED_AT]]

    def responsible(self, differs: Callable[[Floats], bool], inside: Floats, beyond: Floats) -> list[str]:
        """Names of the variables that alone make the difference between two points."""
        found = []
        for s in self.stretches:
            if len(self.stretches) == 1:
                return [s.variable.name]
            point = inside.copy()
            point[s.slice] = beyond[s.slice]
            if (point != inside).any() and differs(point):
                found.append(s.variable.name)
        return found

    @cached_property
    def ranks(self) -> Floats:
        """Mean ranks of the beginnings of divergences among the draws, (coordinate,), in standard errors."""
        if len(self.begins) < FEWEST:
            return np.zeros(len(self.names))
        order = np.sort(self.draws, axis=0)
        some = self.begins[:: max(1, len(self.begins) // 2000)]
        ranks = np.stack([np.searchsorted(order[:, i], some[:, i]) for i in range(order.shape[1])]) / len(order)
        return np.asarray((ranks.mean(axis=1) - 0.5) * math.sqrt(12.0 * len(some)))

    def lowest(self, name: str) -> float:
        """The least rank among the coordinates of a variable, in standard errors."""
        return min((float(self.ranks[s.slice].min()) for s in self.stretches if s.variable.name == name), default=0.0)

    @cached_property
    def levels(self) -> Floats:
        """Log densities of the draws, one after the other; empty where the sampler has none."""
        kept = self.result.statistics.get("lp")
        if kept is None or np.shape(kept) != self.result.draws.shape[:2]:
            return np.empty(0)
        stride = -(-self.result.draws.shape[1] // self.chains.shape[1])
        return np.asarray(kept, float)[:, ::stride].ravel()

    @cached_property
    def low_energy(self) -> bool:
        """Whether a chain moves too slowly between energies."""
        energies = self.result.statistics.get("energy")
        return energies is not None and energy_is_low(list(np.asarray(energies, float)))

    @cached_property
    def far(self) -> Floats:
        """How many standard deviations of a normal core half a percent of the draws lie beyond, (coordinate,)."""
        return np.where(self.discrete, 0.0, np.fmax(*reach(self.draws)))

    def variable(self, coordinate: int) -> Any:
        """The free variable of a coordinate."""
        return next(s.variable for s in self.stretches if s.start <= coordinate < s.start + s.size)

    def title(self, name: str) -> str:
        """The family of a free variable."""
        return next((distribution_of(v.node).title for v in self.model.free if v.name == name), "")

    def upstream(self, nodes: Sequence[Node]) -> list[str]:
        """Names of the free variables that expressions are made of."""
        inside = set(topological(nodes))
        return [v.name for v in self.model.free if v.node in inside]

    @property
    def worst(self) -> tuple[str, ...]:
        """The variable of the scalar that is known least, if it is one."""
        name = self.verdict.worst.partition("[")[0]
        return (name,) if any(v.name == name for v in self.model.free) else ()

    @property
    def place(self) -> str:
        """In words, where divergences are."""
        return describe(self.names, self.draws, self.begins)


# --- the looks, each of which finds one cause or none


def few_draws(evidence: Symptoms) -> Cause | None:
    """Too few draws to judge anything by."""
    count = evidence.result.draws.shape[1]
    if count >= FEWEST_DRAWS:
        return None
    return Cause(
        "few",
        (),
        f"{count} draws per chain are too few to judge convergence",
        "Draw more: `result.extend(target_ess=…)`, or `pm.sample()` without `draws=`, which decides the number itself.",
    )


def improper(evidence: Symptoms) -> Cause | None:
    """No normalisation: the verdict says so, and of which coordinates."""
    reason, said = evidence.verdict.reason, ""
    look = evidence.run.monitored.improper
    if "max_time" in reason and look is not None:  # such a run was not asked
        reason = said = look(evidence.chains)
    if not reason.startswith("the posterior seems to be improper"):
        return None
    named = re.findall(r"`([^`]+)`", reason)
    places = [evidence.names.index(n) for n in named if n in evidence.names]
    names = tuple(dict.fromkeys(evidence.variable(i).name for i in places))
    if not names:
        return None
    flat = [n for n in names if evidence.title(n) in ("Flat", "HalfFlat")] or names[:1]
    lines = [
        f'`pm.HalfNormal("{n}", 10)` in place of `pm.HalfFlat("{n}")`'
        if evidence.title(n) == "HalfFlat"
        else f'`pm.Normal("{n}", 0, 10)` in place of `pm.{evidence.title(n)}("{n}", …)`'
        for n in flat
    ]
    written = " or ".join(lines[:MOST_NAMED])
    return Cause("improper", names, said, f"Give a prior that is proper, on a scale that suits the data: {written}.")


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
        f"the term of `{name}` has no value beside the draws, NaN or infinity, and steps that end there diverge",
        "Write it so that it has a value wherever the priors reach: `pm.math.logsumexp`, `pt.log1mexp`, `logit_p=` in "
        f"place of `p=`, or a narrower prior; `pm.Model.debug` shows the values of `{name}`.",
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


def apart(evidence: Symptoms) -> Cause | None:
    """Chains in different regions."""
    if evidence.verdict.status != "chains_disagree" and "no draw reached" not in evidence.verdict.reason:
        return None
    exchanged = _exchanged(evidence)
    if exchanged or "labels" in evidence.verdict.reason:
        words = f"chains have the elements of `{exchanged}` in different orders: the same answer with other labels"
        return Cause(
            "labels",
            (exchanged,) if exchanged else evidence.worst,
            "" if "labels" in evidence.verdict.reason else words,
            "Give the components an order, by `transform=pm.distributions.transforms.ordered` of the variable that "
            "tells them apart, with `initval=` in that order.",
        )
    return Cause(
        "regions",
        evidence.worst,
        "",
        "Look at each chain, `result.posterior.sel(chain=0)`: leave a region out by a prior or a bound where it makes "
        "no sense, and else run more chains, `pm.sample(chains=16)`.",
    )


def _exchanged(evidence: Symptoms) -> str:
    """The variable of which chains have the same elements in different orders; empty if there is none."""
    for s in evidence.stretches:
        if s.size < 2:
            continue
        own = evidence.chains[:, :, s.slice]
        means, widths = own.mean(axis=1), own.std(axis=1)
        order = np.argsort(means, axis=1)
        means, widths = (np.take_along_axis(a, order, axis=1) for a in (means, widths))
        other = next((k for k, row in enumerate(order) if (row != order[0]).any()), None)
        if other is None or not (np.ptp(means, axis=0) < widths.max(axis=0)).all():
            continue
        alike = [t for t in evidence.stretches if t.size == s.size]
        if any(t.size not in (1, s.size) for t in evidence.stretches):
            return str(s.variable.name)  # weights of a simplex would change their places, too
        here = evidence.chains[other, -1]
        there = here.copy()
        for t in alike:
            there[t.slice][order[0]] = here[t.slice][order[other]]
        if abs(evidence.logp(there) - evidence.logp(here)) < SAME:
            return str(s.variable.name)
    return ""


def neck(evidence: Symptoms) -> Cause | None:
    """A scale that is small where steps diverge, and the variables that have it."""
    worst = evidence.verdict.worst
    low = evidence.low_energy or worst == "log density"
    for name, scales in _hierarchies(evidence):
        for scale in scales:
            slow = (low or worst.partition("[")[0] == scale) and _follows_energy(evidence, scale)
            if evidence.lowest(scale) > -SIGNIFICANT and not slow:
                continue
            rewritten = name in (evidence.run.plan.coordinates.all_centredness or {})
            where = f"the neck of `{scale}`: where it is small, `{name}` has little room, and steps are too large there"
            if rewritten:
                return Cause(
                    "neck",
                    (scale, name),
                    f"steps diverge in {where}",
                    f'Give `{scale}` a prior that keeps it from 0, such as `pm.Gamma("{scale}", 2, …)`, or take '
                    "smaller steps, `pm.sample(target_accept=0.99)`.",
                )
            return Cause(
                "neck",
                (scale, name),
                f"the chains mix badly in {where}",
                f"Write `{name}` in standardized coordinates: `pm.noncenter(model, ['{name}'])`.",
            )
    return None


def _hierarchies(evidence: Symptoms) -> Iterator[tuple[str, list[str]]]:
    """Variables with scales that are estimated, too, and the names of what these are made of."""
    written = evidence.run.model
    nodes = {v.name: v for v in written.free}
    for name in centred_hierarchies(written):
        bound = distribution_of(nodes[name].node)
        location = LOCATION_SCALE.get(bound.title, ("mu", ""))[0]
        parts = [value for label, value in bound.by_name().items() if label not in (location, "nu")]
        parts = parts or [bound.innovation_dist] if hasattr(bound, "innovation_dist") else parts
        inside = set(topological(parts))
        yield name, [v.name for v in written.free if v.node in inside and v.name != name]


def _follows_energy(evidence: Symptoms, name: str) -> bool:
    """Whether a variable goes with the log density, as a scale does that chains follow slowly."""
    if len(evidence.levels) != len(evidence.draws):
        return False
    own = [
        evidence.draws[:, i]
        for s in evidence.stretches
        if s.variable.name == name
        for i in range(s.start, s.slice.stop)
    ]
    return any(abs(float(np.corrcoef(column, evidence.levels)[0, 1])) > 0.5 for column in own)


def _scales_of_data(evidence: Symptoms) -> list[str]:
    """Positive free variables that observed variables depend on otherwise than by their location."""
    found: dict[str, None] = {}
    for variable in evidence.model.observed:
        bound = distribution_of(variable.node)
        locations = ("mu", "alpha", "nu", "p", "w")
        own = [value for label, value in bound.by_name().items() if label not in locations]
        own += [part for group in bound.components for part in group]
        found.update(dict.fromkeys(evidence.upstream(own)))
    positive = {s.variable.name for s in evidence.stretches if s.variable.transform is not None}
    return [name for name in found if name in positive]


def _rises_to_zero(evidence: Symptoms, name: str) -> bool:
    """Whether the density rises as a scale becomes ever smaller, alone or as chains move with it."""
    for s in evidence.stretches:
        if s.variable.name != name:
            continue
        for i in range(s.start, s.start + s.size):
            column = evidence.draws[:, i]
            point = evidence.draws[int(np.argmin(column))].copy()
            here, levels = point[i], []
            for step in (0.0, 5.0, 10.0, 15.0):
                point[i] = here - step
                levels.append(evidence.logp(point))
            if np.isfinite(levels).all() and (np.diff(levels) > 1.0).all():
                return True
            if len(evidence.levels) == len(column):
                least, low, median, upper = np.quantile(column, [0.0, 0.1, 0.5, 0.8413])
                higher = evidence.levels[column <= low].mean() - evidence.levels[column >= median].mean()
                wide = upper - low > WIDE or median - least > FAR * (upper - median)
                goes_with_it = float(np.corrcoef(column, evidence.levels)[0, 1]) < -TOGETHER
                if (higher > SPIKE and wide) or (goes_with_it and np.ptp(column) > WIDE):
                    return True
    return False


def spike(evidence: Symptoms) -> Cause | None:
    """A scale of data that goes to 0 with a density that grows."""
    for name in _scales_of_data(evidence):
        if _rises_to_zero(evidence, name):
            return _spike(evidence, name)
    return None


def _spike(evidence: Symptoms, name: str) -> Cause:
    return Cause(
        "spike",
        (name,),
        f"the density grows without end as `{name}` goes to 0, where a component or a curve passes exactly "
        "through data",
        f'Give `{name}` a prior that keeps it from 0: `pm.InverseGamma("{name}", 3, …)` or `pm.LogNormal("{name}", …)` '
        "on the scale of the data.",
    )


def tails(evidence: Symptoms) -> Cause | None:
    """A coordinate whose tails are so heavy that steps which suit its middle do not get through them."""
    children = {name for name, _ in _hierarchies(evidence)}
    far = evidence.far.copy()
    for s in evidence.stretches:
        if s.variable.name in children:
            far[s.slice] = 0.0
    if not len(far) or far.max() < FAR:
        return None
    coordinate = int(np.argmax(far))
    name = evidence.variable(coordinate).name
    title = evidence.title(name)
    prior = f", and the data do not bound it where its prior, {title}, has heavy tails" if title in HEAVY else ""
    half, middle = ("Half", "") if title.startswith("Half") else ("", "0, ")
    written = f'`pm.{half}Normal("{name}", {middle}2.5)` or `pm.{half}StudentT("{name}", nu=7, …)`'
    return Cause(
        "tails",
        (name,),
        f"`{evidence.names[coordinate]}` has heavy tails: half a percent of its draws lie {far[coordinate]:.0f} times "
        f"as far out as two thirds of them{prior}",
        f"Give `{name}` a prior with lighter tails on the scale that is plausible, {written}; where the tails are "
        "meant, draw longer, `result.extend(target_ess=…)`.",
    )


def dependence(evidence: Symptoms) -> Cause | None:
    """Two coordinates that the data know together only."""
    if not evidence.verdict.reason or evidence.draws.shape[1] > 500:
        return None
    table: Floats = np.nan_to_num(np.atleast_2d(np.corrcoef(evidence.draws.T)))
    np.fill_diagonal(table, 0.0)
    i, j = np.unravel_index(int(np.argmax(np.abs(table))), table.shape)
    if abs(table[i, j]) < TOGETHER:
        return None
    names = tuple(dict.fromkeys((evidence.variable(int(i)).name, evidence.variable(int(j)).name)))
    what = "sum" if table[i, j] < 0 else "difference"
    return Cause(
        "dependence",
        names,
        f"the data determine little more than the {what} of `{evidence.names[i]}` and `{evidence.names[j]}` "
        f"(correlation {table[i, j]:.3f})",
        "Leave one of them out, give one a narrower prior, or centre the predictor that they share: `x - x.mean()`.",
    )


def hierarchy(evidence: Symptoms) -> Cause | None:
    """A few divergences, too few to tell a place, beside a scale that is estimated."""
    rewritten = evidence.run.plan.coordinates.all_centredness or {}
    names = [name for name, _ in _hierarchies(evidence) if name not in rewritten]
    if not len(evidence.begins) or not names:
        return None
    listed = ", ".join(f"`{name}`" for name in names)
    scales = "has a scale that is estimated, too" if len(names) == 1 else "have scales that are estimated, too"
    advice = f"Try standardized coordinates: `pm.noncenter(model, {names})`."
    return Cause("neck", tuple(names), f"steps diverge, and {listed} {scales}", advice)


def steps(evidence: Symptoms) -> Cause | None:
    """Divergences without another cause: the curvature changes, and steps are too large somewhere."""
    count = len(evidence.begins)
    before = evidence.result.diverged
    if count < FEWEST and before is None:
        return None
    helped = ""
    if before is not None and before.draws and evidence.total:
        was, now = before.divergences / before.draws, count / evidence.total
        word = "helped" if now < 0.5 * was else "did not help"
        helped = f"smaller steps {word}: {was:.2%} of the draws diverged before, {now:.2%} after"
    place = evidence.place.rstrip(".").replace("They", "divergences", 1)
    said = "; ".join(filter(None, (place, helped)))
    order = np.argsort(-np.abs(evidence.ranks))[:1]
    found = tuple(evidence.variable(int(i)).name for i in order if abs(evidence.ranks[i]) >= SIGNIFICANT)
    return Cause("steps", found or evidence.worst, said, "Take smaller steps: `pm.sample(target_accept=0.99)`.")


def slow(evidence: Symptoms) -> Cause | None:
    """Nothing but too few effective draws."""
    if evidence.verdict.status != "not_converged" or not evidence.verdict.worst:
        return None
    stuck = evidence.result.check is not None and evidence.result.check.ess < FORECAST_SIZE
    said = "the posterior may be improper, or the chains are stuck" if stuck else ""
    return Cause("draws", (), said, "Draw longer: `result.extend(target_ess=…)`.")


LOOKS: Final[tuple[Callable[[Symptoms], Cause | None], ...]] = (
    spike,
    improper,
    few_draws,
    edge,
    jump,
    apart,
    neck,
    tails,
    dependence,
    hierarchy,
    steps,
    slow,
)
