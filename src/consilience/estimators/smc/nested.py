"""`pm.sample_nested`: live points of the prior that climb to higher and higher likelihoods.

A model in; labelled draws of the posterior and the log marginal likelihood with its error out. Sources: J. Skilling
(2006), "Nested sampling for general Bayesian computation"; W. J. Handley, M. P. Hobson, A. N. Lasenby (2015),
"PolyChord: next-generation nested sampling"; N. A. Henderson, P. M. Goggans (2014), "Parallelized nested sampling".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError, SamplingError
from consilience.estimators.smc.moves import Shape, shape_of
from consilience.estimators.smc.particles import Floats, Particles, TemperedDensity, joined
from consilience.estimators.smc.population import begun, numbers
from consilience.estimators.smc.prior_draws import prior_draws
from consilience.estimators.smc.sampling import density_of
from consilience.model.model import Model, modelcontext
from consilience.native.threads import NativeThreads
from consilience.record import Record
from consilience.run.threads.thread_pool import threads
from consilience.sample.inference_data import to_inference_data

if TYPE_CHECKING:
    import xarray

SHARE: Final = 4  # of the live points, one in so many is replaced at once
REPEATS: Final = 3  # lines per dimension along which a new point moves
WIDTH: Final = 3.0  # of the first interval of a line, in standard deviations of the live points
MOST_STEPS: Final = 10  # out of the first interval, on both sides
MOST_SHRINKS: Final = 60
MOST_STAGES: Final = 100_000
REALISATIONS: Final = 200  # of volumes, of which the error of the evidence is told


class Nested(Record, eq=False):
    """Points in the order of their likelihoods, with how much of the prior they stand for.

    `counts`: live points when each was left, float64[points]. `evaluations`: of the log density.
    """

    particles: Particles
    counts: Floats
    evaluations: int

    def log_weights(self, log_volumes: Floats) -> Floats:
        """Likelihood times the volume between a point and the one before, float64[..., points]."""
        before = np.concatenate([np.zeros((*log_volumes.shape[:-1], 1)), log_volumes[..., :-1]], -1)
        shells = before + np.log(-np.expm1(log_volumes - before))
        found: Floats = self.particles.likelihood + shells
        return found

    def log_volumes(self, generator: np.random.Generator | None = None, rows: int = 1) -> Floats:
        """Logs of the prior mass above each likelihood: expected, or drawn anew, float64[rows, points]."""
        if generator is None:
            return np.cumsum(-1.0 / self.counts)[None]
        return np.cumsum(-generator.standard_exponential((rows, len(self.counts))) / self.counts, -1)


def sample_nested(
    live: int = 500,
    *,
    model: Model | None = None,
    random_seed: Any = None,
    repeats: int | None = None,
    tolerance: float = 1e-3,
    start: Mapping[str, Any] | None = None,
    cores: int | None = None,
) -> xarray.DataTree:
    """Draws of the posterior and the evidence, from live points of the prior that leave the lowest likelihoods.

    live: Points at any time; the error of the log evidence is about sqrt(information / live).
    model, random_seed : ...
    repeats: Random lines along which each new point moves, by slice sampling; 3 per dimension by default, and at least
        10. More of them where the posterior is curved or has several modes.
    tolerance: Share of the evidence that may be left among the live points when a run ends.
    start (mapping): Draws of the prior on the variables' own scales, (live, ...) by name; drawn if not given.
    cores: Threads among which points are divided; draws do not depend on it.
    Returns (xarray.DataTree): A tree whose group `posterior` has draws of equal weight, one chain, as many as all
        points are worth; its attributes have `log_marginal_likelihood`, `log_marginal_likelihood_error`, `information`
        (nats from prior to posterior) and `evaluations`.
    Raises ModelError: For discrete free variables and for a model with a Simulator.
    Raises SamplingError: Where no draw of the prior explains the data, where there are fewer points than dimensions,
        and where points find no way up.
    See sample_smc: The evidence by particles.

    Notes
    -----
    Costs grow with the information: the posterior is as good as that of other methods, the evidence is what it is for.


    References
    ----------
    Skilling (2006), Bayesian Analysis 1, 833.

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     draws = pm.sample_nested(200, random_seed=1)
    >>> "mu" in draws.posterior
    True
    """
    owner = modelcontext(model)
    density = density_of(owner)
    if density.simulated:
        raise ModelError(f"`{density.simulated[0]}` is a Simulator, whose log density is random; use `pm.sample_smc`.")
    for name, value in (("live", live), ("repeats", 1 if repeats is None else repeats)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"`{name}` must be a whole number > 0, got {value!r}.")
    if not 0.0 < tolerance < 1.0:
        raise ValueError(f"`tolerance` must lie between 0 and 1, got {tolerance!r}.")
    if live <= 2 * density.dimension:
        raise SamplingError(
            f"`live` must be more than twice the number of dimensions, {density.dimension}, for the points to tell "
            f"how they spread; got {live}."
        )
    seed = seed_from(random_seed)
    starts = prior_draws(owner, density, int(live), 1, start, seed)
    (points,) = starts.chains
    with NativeThreads(threads(cores), "consilience-particles") as pool:
        target = TemperedDensity(density, pool, threads(cores))
        lines = max(10, REPEATS * density.dimension) if repeats is None else int(repeats)
        found = climbed(target, begun(target, points, seed, 0).particles, lines, tolerance, numbers(seed, 0, 1))
    generator = numbers(seed, 0, 2)
    evidences = np.logaddexp.reduce(found.log_weights(found.log_volumes(generator, REALISATIONS)), axis=-1)
    logs = found.log_weights(found.log_volumes())[0]
    evidence = float(np.logaddexp.reduce(logs))
    weights = np.exp(logs - evidence)
    kept = weights > 0
    information = float(weights[kept] @ found.particles.likelihood[kept] - evidence)
    worth = max(1, int(np.exp(-(weights[kept] @ np.log(weights[kept])))))
    places = np.searchsorted(np.cumsum(weights), (np.arange(worth) + generator.random()) / worth)
    places = generator.permutation(np.minimum(places, len(weights) - 1))
    values = density.expand(found.particles.points[places])
    tree = to_inference_data({name: value[None] for name, value in values.items()}, model=owner)
    tree["posterior"].attrs.update(
        inference_library="consilience",
        method="nested sampling",
        log_marginal_likelihood=evidence + starts.log_share,
        log_marginal_likelihood_error=float(evidences.std(ddof=1)),
        information=information,
        evaluations=found.evaluations,
    )
    return tree


def climbed(
    target: TemperedDensity, living: Particles, repeats: int, tolerance: float, generator: np.random.Generator
) -> Nested:
    """All points that were left, and the live ones of the end.

    Those of a share of the live points with the lowest likelihoods are left one after the other, and as many are made
    anew from survivors, above the highest likelihood that was left. Points of one likelihood are left together.
    """
    live = len(living.points)
    left, counts, evaluations, log_volume, evidence = [], [], live, 0.0, -np.inf
    for _ in range(MOST_STAGES):
        order = np.argsort(living.likelihood, kind="stable")
        highest = float(living.likelihood[order[-1]])
        if highest == np.inf:
            raise SamplingError("the log likelihood is infinite at a point: the data or the potentials are no density.")
        if evidence > -np.inf and highest + log_volume < evidence + np.log(tolerance):
            break
        level = float(living.likelihood[order[max(1, live // SHARE) - 1]])
        if level == highest:  # a plateau: nothing is above
            break
        going = order[: int(np.searchsorted(living.likelihood[order], level, side="right"))]
        alive = live - np.arange(len(going), dtype=float)
        volumes = log_volume - np.cumsum(1.0 / alive)
        shells = np.concatenate([[log_volume], volumes[:-1]])
        gained = living.likelihood[going] + shells + np.log(-np.expm1(volumes - shells))
        evidence = float(np.logaddexp(evidence, np.logaddexp.reduce(gained)))
        log_volume = float(volumes[-1])
        left.append(living.chosen(going))
        counts.append(alive)
        survivors = order[len(going) :]
        shape = shape_of(living.points[survivors], np.full(len(survivors), 1.0 / len(survivors)))
        begin = living.chosen(survivors[generator.integers(len(survivors), size=len(going))])
        fresh, spent = above(target, begin, level, shape, repeats, generator)
        evaluations += spent
        if (fresh.points == begin.points).all():
            raise SamplingError(
                f"no point with a log likelihood above {level:.6g} was found on {repeats} lines from any of "
                f"{len(going)} points; take more `live` points, or more `repeats`."
            )
        living = joined([living.chosen(survivors), fresh])
    else:
        raise SamplingError(
            f"after {MOST_STAGES} stages the evidence still lies above all points: the likelihood may have no bound."
        )
    order = np.argsort(living.likelihood, kind="stable")
    left.append(living.chosen(order))
    counts.append(live - np.arange(live, dtype=float))
    return Nested(joined(left), np.concatenate(counts), evaluations)


def above(
    target: TemperedDensity,
    particles: Particles,
    level: float,
    shape: Shape,
    repeats: int,
    generator: np.random.Generator,
) -> tuple[Particles, int]:
    """Particles moved along random lines by slice sampling of the prior where the log likelihood is above a level.

    Intervals are stepped out, at most so many times, which are divided between both ends at random, and shrunk: R. M.
    Neal (2003), "Slice sampling". Returned beside them: evaluations.
    """
    rows, spent = len(particles.points), 0
    for _ in range(repeats):
        normals = generator.standard_normal(particles.points.shape)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        directions = normals @ shape.factor.T
        heights = particles.prior - generator.standard_exponential(rows)
        low = -WIDTH * generator.random(rows)
        high = low + WIDTH
        steps = generator.integers(MOST_STEPS + 1, size=rows)
        for ends, sign, most in ((low, -1.0, steps), (high, 1.0, MOST_STEPS - steps)):
            going = np.flatnonzero(most > 0)
            taken = np.zeros(rows, int)
            while len(going):
                there = target.at(particles.points[going] + ends[going, None] * directions[going], generator)
                spent += len(going)
                going = going[(there.likelihood > level) & (there.prior > heights[going])]
                ends[going] += sign * WIDTH
                taken[going] += 1
                going = going[taken[going] < most[going]]
        going = np.arange(rows)
        for _ in range(MOST_SHRINKS):
            places = low[going] + (high[going] - low[going]) * generator.random(len(going))
            there = target.at(particles.points[going] + places[:, None] * directions[going], generator)
            spent += len(going)
            inside = (there.likelihood > level) & (there.prior > heights[going])
            index = np.arange(rows)
            index[going[inside]] = rows + np.flatnonzero(inside)
            particles = joined([particles, there]).chosen(index)
            outside, at = going[~inside], places[~inside]
            low[outside] = np.where(at < 0, at, low[outside])
            high[outside] = np.where(at < 0, high[outside], at)
            going = outside
            if not len(going):
                break
    return particles, spent
