"""`pm.sample_nested`: evidences and draws by live points in ever smaller parts of the prior, of ever higher likelihood.

A model in; labelled draws and the log marginal likelihood with its error out. Sources: J. Skilling (2006), "Nested
sampling for general Bayesian computation"; R. Neal (2003), "Slice sampling"; W. Handley, M. Hobson, A. Lasenby (2015),
"PolyChord".
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from consilience.distributions.seeds import is_integer, seed_from
from consilience.errors import ModelError, SamplingError
from consilience.model.model import Model, modelcontext
from consilience.record import Record
from consilience.run.thread_pool import threads, usable_cores
from consilience.sample.inference_data import to_inference_data
from consilience.smc.moves import Shape, shape_of
from consilience.smc.particles import Floats, Particles, TemperedDensity, joined
from consilience.smc.population import begun, numbers, systematic
from consilience.smc.sampling import drawn_from_prior, particle_density

if TYPE_CHECKING:
    import xarray

SHARE: Final = 0.2  # of the live points, which are replaced together
WIDTH: Final = 4.0  # of slices at first, in standard deviations of the live points
MOST_CUTS: Final = 100  # of a slice, after which a point stays where it is
MOST_ROUNDS: Final = 100_000


class Nested(Record, eq=False):
    """What one chain has found.

    points        all points, in the order in which they were left behind, and those that were live at the end
    log_weights   logs of prior mass times likelihood, float64 (points,)
    evidence      log of their sum
    error         standard deviation of that
    information   of the posterior over the prior, in nats
    calls         evaluations of the density
    """

    points: Floats
    log_weights: Floats
    evidence: float
    error: float
    information: float
    calls: int


class _Live(Record, eq=False):
    """Points, and numbers that put those of equal likelihood in an order."""

    particles: Particles
    ties: Floats

    def chosen(self, places: npt.NDArray[Any]) -> _Live:
        return _Live(self.particles.chosen(places), self.ties[places])

    def above(self, likelihood: float, tie: float) -> npt.NDArray[np.bool_]:
        """Which come after a likelihood and its tie."""
        own = self.particles.likelihood
        found: npt.NDArray[np.bool_] = (own > likelihood) | ((own == likelihood) & (self.ties > tie))
        return found


def sample_nested(
    live_points: int = 500,
    *,
    draws: int = 1000,
    moves: int | None = None,
    tolerance: float = 0.01,
    start: Mapping[str, Any] | None = None,
    model: Model | None = None,
    random_seed: Any = None,
    chains: int | None = None,
    cores: int | None = None,
) -> xarray.DataTree:
    """Nested sampling: the log marginal likelihood with its error, and draws of the posterior.

    live_points   of each chain; the error falls with the square root of their number
    draws         of each chain, chosen from all points by their weights
    moves         slices along random directions by which a copied point becomes a new one; 5 + 3 x dimensions
    tolerance     share of the evidence that may still lie above the live points when it ends
    start         draws of the prior, as for `pm.sample_smc`
    chains        independent runs; 4, or as many as there are processors
    cores         threads that run them; draws do not depend on it
    returns       a tree with the groups `posterior` and `sample_stats`: for each chain `log_marginal_likelihood`, its
                  error, `information` (nats) and `calls`, the number of evaluations. Their mean and its standard error
                  are attributes of the posterior
    raises        ModelError for discrete free variables and random likelihoods; SamplingError where no draw of the
                  prior explains the data, and where there are too few live points for the number of dimensions

    The error is that of the prior mass which live points enclose. It does not tell of points that moved too little:
    compare with more `moves`. Separate modes keep their weights, with as many live points each as they have mass.
    """
    for name, value in (("live_points", live_points), ("draws", draws), ("moves", moves), ("chains", chains)):
        if value is not None and not is_integer(value):
            raise TypeError(f"`{name}` must be a whole number, got {value!r}.")
        if value is not None and value < 1:
            raise ValueError(f"`{name}` must be at least 1, got {value}.")
    if not 0 < tolerance < 1:
        raise ValueError(f"`tolerance` must lie between 0 and 1, got {tolerance!r}.")
    if cores is not None and cores < 1:
        raise ValueError(f"`cores` must be at least 1, got {cores}.")
    owner = modelcontext(model)
    density = particle_density(owner)
    if density.simulated:
        raise ModelError(
            f"`{density.simulated[0]}` is a Simulator or a particle filter, whose log density is random, and nested "
            "sampling compares likelihoods; use `pm.sample_smc`."
        )
    least = 2 * density.dimension + 2
    if live_points < least:
        raise SamplingError(
            f"`live_points` must be at least {least} for the {density.dimension} dimensions of the model, got "
            f"{live_points}."
        )
    count = max(2, min(4, usable_cores())) if chains is None else chains
    steps = 5 + 3 * density.dimension if moves is None else moves
    seed = seed_from(random_seed)
    starts = drawn_from_prior(owner, density, live_points, count, start, seed)
    target = TemperedDensity(density)
    with ThreadPoolExecutor(min(count, threads(cores)), "consilience-nested") as pool:
        runs = [pool.submit(_run, target, p, steps, tolerance, seed, i) for i, p in enumerate(starts)]
        found = [run.result() for run in runs]
    places = []
    for i, one in enumerate(found):
        weights = np.exp(one.log_weights - one.log_weights.max())
        generator = numbers(seed, i, -2)
        chosen = systematic(weights / weights.sum(), draws, generator)
        places.append(one.points[generator.permutation(chosen)])
    values = [density.expand(points) for points in places]
    tree = to_inference_data({name: np.stack([v[name] for v in values]) for name in values[0]}, model=owner)
    return _with_figures(tree, found, live_points)


def _with_figures(tree: xarray.DataTree, found: list[Nested], live_points: int) -> xarray.DataTree:
    """The tree with evidences, errors and figures of the runs."""
    import xarray

    evidences, errors = (np.array([getattr(one, name) for one in found]) for name in ("evidence", "error"))
    tree["posterior"].attrs.update(
        inference_library="consilience",
        method="nested sampling",
        live_points=live_points,
        log_marginal_likelihood=float(evidences.mean()),
        log_marginal_likelihood_error=float(np.sqrt((errors**2).sum()) / len(errors)),
    )
    figures = {
        "log_marginal_likelihood": evidences,
        "log_marginal_likelihood_error": errors,
        "information": np.array([one.information for one in found]),
        "calls": np.array([one.calls for one in found]),
    }

    made = xarray.Dataset({n: ("chain", a) for n, a in figures.items()}, coords={"chain": np.arange(len(found))})
    tree["sample_stats"] = xarray.DataTree(made)
    return tree


def _run(target: TemperedDensity, start: Floats, steps: int, tolerance: float, seed: int, chain: int) -> Nested:
    """One chain, from draws of the prior on."""
    count = len(start)
    particles = begun(target, start, seed, chain).particles
    live = _Live(particles, numbers(seed, chain, 1).random(count))
    replaced = max(1, int(SHARE * count))
    shrinking = 1.0 / (count - np.arange(replaced))  # expected falls of the log of the prior mass, one point each
    left: list[Particles] = []
    masses: list[Floats] = []
    volume, evidence, calls = 0.0, -np.inf, count
    for stage in range(MOST_ROUNDS):
        if (live.particles.likelihood == np.inf).any():
            raise SamplingError("the log likelihood is infinite at a point: the data or the potentials are no density.")
        if volume + live.particles.likelihood.max() < evidence + np.log(tolerance):
            break
        order = np.lexsort((live.ties, live.particles.likelihood))
        lowest, rest = order[:replaced], order[replaced:]
        after = volume - np.cumsum(shrinking)
        before = np.concatenate([[volume], after[:-1]])
        mass = before + np.log(-np.expm1(-shrinking))
        left.append(live.particles.chosen(lowest))
        masses.append(mass)
        evidence = float(np.logaddexp(evidence, np.logaddexp.reduce(mass + left[-1].likelihood)))
        volume = float(after[-1])
        generator = numbers(seed, chain, stage + 2)
        limit = float(live.particles.likelihood[lowest[-1]]), float(live.ties[lowest[-1]])
        copies = live.chosen(generator.choice(rest, replaced))
        shape = shape_of(live.particles.points[rest], np.full(len(rest), 1 / len(rest)))
        copies, used = _sliced(copies, limit, shape, steps, target, generator)
        calls += used
        kept = live.chosen(rest)
        live = _Live(joined([kept.particles, copies.particles]), np.concatenate([kept.ties, copies.ties]))
    else:
        raise SamplingError(
            f"nested sampling did not come to the bulk of the posterior in {MOST_ROUNDS} rounds; the likelihood may "
            "have no bound."
        )
    every = joined([*left, live.particles])
    logs = np.concatenate([*masses, np.full(count, volume - np.log(count))]) + every.likelihood
    evidence = float(np.logaddexp.reduce(logs))
    shares = np.exp(logs - evidence)
    information = float(shares @ np.where(shares > 0, every.likelihood, 0.0)) - evidence
    error = float(np.sqrt(max(information, 0.0) * (shrinking**2).sum() / shrinking.sum()))
    return Nested(every.points, logs, evidence, error, information, calls)


def _sliced(
    live: _Live,
    limit: tuple[float, float],
    shape: Shape,
    steps: int,
    target: TemperedDensity,
    generator: np.random.Generator,
) -> tuple[_Live, int]:
    """Points after so many slices each, along random lines, of the prior above the limit; and evaluations it took.

    Points do not wait for each other: whose slice has ended begins its next one.
    """
    own = live.particles
    points, prior, likelihood, ties = own.points.copy(), own.prior.copy(), own.likelihood.copy(), live.ties.copy()
    count, dimension = points.shape
    lines = np.empty_like(points)
    heights, lower, upper = (np.empty(count) for _ in range(3))
    left, cuts = np.full(count, steps), np.zeros(count, np.int64)
    begin, calls = np.arange(count), 0
    while (active := np.flatnonzero(left)).size:
        normals = generator.standard_normal((len(begin), dimension))
        lines[begin] = (normals / np.linalg.norm(normals, axis=1, keepdims=True)) @ shape.factor.T
        heights[begin] = prior[begin] + np.log1p(-generator.random(len(begin)))
        lower[begin] = -WIDTH * generator.random(len(begin))
        upper[begin] = lower[begin] + WIDTH
        cuts[begin] = 0
        places = lower[active] + (upper[active] - lower[active]) * generator.random(len(active))
        fresh = generator.random(len(active))
        tried = target.at(points[active] + places[:, None] * lines[active], generator)
        calls += len(active)
        good = (tried.prior >= heights[active]) & _Live(tried, fresh).above(*limit)
        here = active[good]
        points[here], prior[here], likelihood[here] = (a[good] for a in (tried.points, tried.prior, tried.likelihood))
        ties[here] = fresh[good]
        below = ~good & (places < 0)
        above = ~good & (places >= 0)
        lower[active[below]], upper[active[above]] = places[below], places[above]
        cuts[active] += 1
        begin = active[good | (cuts[active] == MOST_CUTS)]
        left[begin] -= 1
    return _Live(Particles(points, prior, likelihood), ties), calls
