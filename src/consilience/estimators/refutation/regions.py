"""An attack by more starting points: regions of the posterior where the draws have not been, or not as often.

Draws of the prior and wide ones ascend, and the search of `inference.modes` goes on with a seed of its own. From
where the draws have not been short chains begin: they come to the draws, or stay and tell how much mass is there.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from consilience.diagnostics.effective_sample_size import effective_size
from consilience.errors import ConsilienceError
from consilience.estimators.refutation.attack import Allowance
from consilience.estimators.refutation.claim import Claim, Floats
from consilience.estimators.refutation.report import AttackReport
from consilience.estimators.smc.bridge import log_marginal_likelihood
from consilience.estimators.smc.prior_draws import prior_draws
from consilience.inference.modes.ascent import scaled_by
from consilience.inference.modes.evaluations import Evaluations
from consilience.inference.modes.region_mass import curvature_at, laplace
from consilience.inference.modes.regions import Regions
from consilience.inference.modes.search import MOST_DIMENSIONS, find_regions
from consilience.inference.modes.visits import visits
from consilience.model.starting_point import starting_position
from consilience.sample.groups import Tuning
from consilience.sample.inference_data import to_inference_data
from consilience.sample.posterior import sample

NAME: Final = "more starting points"
STARTS: Final = 100  # of the prior, and as many wide ones
WIDE: Final = 10.0  # deviations of the draws
ASCENT: Final = 200  # evaluations of an ascent at most
BUDGETS: Final = (20_000, 5_000)  # gradients of the search, as time allows
SHARE: Final = 0.01  # of the mass, below which a region does not matter
NEGLIGIBLE: Final = 12.0  # nats of Laplace's mass below the draws', from which on no chain begins in a region
MOST_CHAINS: Final = 8
TUNE, DRAWS = 200, 200
MOST_DOUBLINGS: Final = 7
OFF: Final = 0.5  # log odds of a region's weight that importance sampling may be wrong by
MATERIAL: Final = 0.05  # of a region's weight
NEIGHBOUR: Final = 4  # among the draws, whose distance tells whether a point is among them
FEW: Final = 0.01  # quantile of distances, beyond which a point is not among the draws


def more_starting_points(claim: Claim, allowance: Allowance) -> AttackReport:
    """Ascents, the search for regions, and chains from where draws have not been."""
    dimension = claim.density.dimension
    rate = claim.rate
    starts, of_prior = _starts(claim, allowance.seed)
    ends = _ascended(claim, starts, allowance)
    found = None
    if dimension <= MOST_DIMENSIONS:
        budget = next((b for b in BUDGETS if b / rate < 0.3 * allowance.left), 0)
        if budget:
            centre = starting_position(claim.model, claim.density.layout, claim.density.lengths)
            found = find_regions(claim.density, centre, seed=allowance.seed, budget=budget, threads=claim.threads)
            allowance.gradients += found.gradients
    seen = _Seen(claim)
    candidates = ends[seen.far(ends)]
    if found is not None:
        modes = np.array([r.mode for r in found.regions]).reshape(-1, dimension)
        candidates = np.concatenate([modes[seen.far(modes)], candidates])
        candidates = np.concatenate([_unvisited(claim, found, allowance), candidates])
    looked_at = _heaviest(claim, candidates, allowance)
    ascents = len(starts) + (found.ascents if found is not None else 0)
    told = f"{ascents} ascents, {of_prior} of them from draws of the prior"
    smallest = f"a region that draws {1.0 - 0.05 ** (1.0 / ascents):.2g} of the starting points"
    wrong = _chains_from(claim, seen, looked_at, allowance) if len(looked_at) else ""
    wrong = wrong or (_weights(claim, found) if found is not None else "")
    if wrong:
        return AttackReport(NAME, wrong, smallest, refuted=True)
    away = (
        f"; {len(looked_at)} ends away from the draws, where chains come to them or find no mass"
        if len(looked_at)
        else ""
    )
    return AttackReport(NAME, f"no region of more than {SHARE:.0%} of the mass without draws in {told}{away}", smallest)


class _Seen:
    """Where the draws are: near a point as to each other, in units of their deviations."""

    def __init__(self, claim: Claim) -> None:
        flat = claim.positions.reshape(-1, claim.positions.shape[-1])
        self.centre, self.scale = flat.mean(0), np.maximum(flat.std(0), 1e-12)
        self.tree = cKDTree((flat - self.centre) / self.scale)
        self.limit = 2.0 * float(np.quantile(self._distances(self.tree.data), 1.0 - FEW))

    def far(self, points: Floats) -> npt.NDArray[np.bool_]:
        """Whether each of the points (point, dimension) is not among the draws."""
        if not len(points):
            return np.zeros(0, bool)
        scaled = np.clip((points - self.centre) / self.scale, -1e6, 1e6)
        return np.asarray(self._distances(scaled) > self.limit)

    def _distances(self, scaled: Floats) -> Floats:
        """From the neighbour of that number."""
        return np.asarray(self.tree.query(scaled, k=[NEIGHBOUR])[0])[:, 0]


def _starts(claim: Claim, seed: int) -> tuple[Floats, int]:
    """Starting points: draws of the prior, where it can be drawn from, then wide ones; how many are of the prior."""
    flat = claim.positions.reshape(-1, claim.density.dimension)
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 22]))
    wide = flat.mean(0) + WIDE * flat.std(0) * generator.standard_normal((STARTS, flat.shape[1]))
    try:
        own = prior_draws(claim.model, claim.density, STARTS, 1, None, seed).chains[0]
    except ConsilienceError:  # improper, or with no density where data are
        return wide, 0
    return np.concatenate([own, wide]), len(own)


def _ascended(claim: Claim, starts: Floats, allowance: Allowance) -> Floats:
    """Where ascents end that found a finite log density."""
    flat = claim.positions.reshape(-1, claim.density.dimension)
    scale = np.maximum(flat.std(0), 1e-8)
    with Evaluations(claim.density, ASCENT * len(starts), claim.threads) as evaluations:
        ends = evaluations.ascend(
            starts, scaled_by(scale), np.full(len(starts), WIDE), flat[len(flat) // 2], ASCENT, 1e-3
        )
        allowance.gradients += evaluations.spent
    return ends.points[np.isfinite(ends.logps)]


def _unvisited(claim: Claim, found: Regions, allowance: Allowance) -> Floats:
    """Modes of regions that count, to which the draws do not ascend."""
    seen = visits(claim.density, found, claim.positions, seed=allowance.seed, threads=claim.threads)
    allowance.gradients += seen.gradients
    return np.array([r.mode for r in seen.unvisited(found)]).reshape(-1, claim.density.dimension)


def _heaviest(claim: Claim, points: Floats, allowance: Allowance) -> Floats:
    """Some of these points, apart from each other, of most mass as far as the curvature tells."""
    if not len(points):
        return points
    scale = np.maximum(claim.positions.reshape(-1, points.shape[1]).std(0), 1e-8)
    kept: list[int] = []
    with Evaluations(claim.density, 2**62, claim.threads) as evaluations:
        logps = evaluations.at(points)
        for k in np.argsort(-logps):
            if len(kept) == 3 * MOST_CHAINS:
                break
            if all(np.abs((points[k] - points[j]) / scale).max() > 0.2 for j in kept):
                kept.append(int(k))
        masses = {}
        for k in kept:
            curvature = curvature_at(evaluations, points[k]) if points.shape[1] <= MOST_DIMENSIONS else None
            masses[k] = float("nan") if curvature is None else laplace(float(logps[k]), curvature)
        # Of the draws: their log density and the volume of the normal with their covariance.
        flat = claim.positions.reshape(-1, points.shape[1])
        volume = np.linalg.slogdet(2.0 * np.pi * math.e * np.atleast_2d(np.cov(flat.T)))[1]
        level = float(claim.scalars[-1].mean() + 0.5 * volume)
        allowance.gradients += evaluations.spent
    # A mass that is not known is the largest.
    order = sorted(kept, key=lambda k: -np.nan_to_num(masses[k], nan=np.inf))
    heavy = [k for k in order if not masses[k] < level - NEGLIGIBLE]
    return points[heavy[:MOST_CHAINS]]


def _chains_from(claim: Claim, seen: _Seen, points: Floats, allowance: Allowance) -> str:
    """In words, the region around one of the points that has mass and no draws; empty if there is none."""
    handle = sample(
        DRAWS,
        tune=TUNE,
        chains=2 * len(points),
        cores=claim.threads,
        model=claim.model,
        init="adapt_diag",
        initvals=[claim.density.layout.point(point) for point in points for _ in range(2)],
        random_seed=allowance.seed,
        max_treedepth=MOST_DOUBLINGS,
        tuning=Tuning(pool=False),
        remedies=(),
        compute_convergence_checks=False,
        progressbar=False,
        blocking=False,
    )
    tree = allowance.waited(handle)
    allowance.gradients += int(tree.posterior.attrs["gradients"])
    values = {v.name: np.asarray(tree.posterior[v.name]) for v in claim.model.free}
    positions = claim.density.unconstrained({n: a.reshape(-1, *a.shape[2:]) for n, a in values.items()})
    chains = positions.reshape(len(points), 2, -1, claim.density.dimension)
    whole = None
    for k, own in enumerate(chains):
        far = seen.far(own.reshape(-1, own.shape[-1])).reshape(2, -1)
        if far.mean() < 0.9:  # they have come to the draws
            continue
        whole = whole or _evidence(claim, claim.values)
        around = {name: a[2 * k : 2 * k + 2] for name, a in values.items()}
        part = _evidence(claim, around)
        if whole is None or part is None:
            continue
        gap, error = part[0] - whole[0], float(np.hypot(part[1], whole[1]))
        if gap - 3.0 * error > np.log(SHARE):
            share = 1.0 / (1.0 + np.exp(-gap))
            return (
                f"a region around {_place(claim, claim.scalars_of(around, own))}, where no draw is and chains stay, "
                f"has about {percent(share)} of the mass (log evidence {gap:+.1f} ± {error:.2g} of that of the draws)"
            )
    return ""


def _evidence(claim: Claim, values: dict[str, npt.NDArray[Any]]) -> tuple[float, float] | None:
    """Log mass that draws (chain, draw, ...) stand for, with its error; None where it can't be told."""
    try:
        tree = to_inference_data(dict(values), model=claim.model)
        found = log_marginal_likelihood(tree, model=claim.model, random_seed=0)
    except ConsilienceError:
        return None
    return found.value, found.error


def _place(claim: Claim, scalars: Floats) -> str:
    """Means of the two scalars (scalar, chain, draw) that lie farthest from those of the draws."""
    own, ours = scalars[:-1], claim.scalars[:-1]
    apart = np.abs(own.mean(axis=(1, 2)) - ours.mean(axis=(1, 2))) / np.maximum(ours.std(axis=(1, 2)), 1e-12)
    most = np.argsort(-apart, kind="stable")[:2]
    return ", ".join(f"`{claim.names[i]}` = {own[i].mean():.3g}" for i in most)


def _weights(claim: Claim, found: Regions) -> str:
    """In words, the region whose share of the draws is not its share of the mass; empty if there is none."""
    regions = [r for r in found.regions if r.substantial]
    if len(regions) < 2 or any(r.uncertain or not np.isfinite(r.importance) for r in regions):
        return ""
    flat = claim.positions.reshape(-1, claim.density.dimension)
    heights = []
    for r in regions:
        assert r.factor is not None  # a region that counts has one
        white = np.linalg.solve(r.factor, (flat - r.mode).T)
        heights.append(np.log(r.share) - np.log(np.abs(np.diag(r.factor))).sum() - 0.5 * (white**2).sum(0))
    nearest = np.argmax(heights, axis=0).reshape(claim.positions.shape[:2])
    for k, region in enumerate(regions):
        inside = (nearest == k).astype(float)
        half = inside.shape[1] // 2
        size = float(effective_size(inside[:, : 2 * half].reshape(1, -1, half))[0])
        size = size if np.isfinite(size) else float(inside.size)
        mass = region.share
        error = np.sqrt(mass * (1.0 - mass) / max(size, 1.0))
        odds = np.log(mass / (1.0 - mass)) + np.array([-OFF, OFF])
        low, high = 1.0 / (1.0 + np.exp(-odds))
        off = max(low - inside.mean(), inside.mean() - high)
        if off > MATERIAL + 4.0 * error:
            return (
                f"a region has {percent(mass)} of the mass and {percent(inside.mean())} of the draws, whose "
                f"standard error is {percent(error)}"
            )
    return ""


def percent(share: float) -> str:
    """A share in words, with two digits."""
    return f"{100.0 * share:.0f} %" if share >= 0.1 else f"{100.0 * share:.2g} %"
