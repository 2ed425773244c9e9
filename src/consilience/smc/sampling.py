"""`pm.sample_smc`: populations of particles from the prior to the posterior, by tempering.

A model in; labelled draws and the log marginal likelihood out. Sources: P. Del Moral, A. Doucet, A. Jasra (2006),
"Sequential Monte Carlo samplers"; J. Ching, Y.-C. Chen (2007), "Transitional Markov chain Monte Carlo method".
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience.distributions.drawing import draw
from consilience.distributions.seeds import seed_from
from consilience.errors import ConsilienceError, ModelError, SamplingError, ShapeError
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model, modelcontext
from consilience.record import Record
from consilience.sample.inference_data import to_inference_data
from consilience.smc.moves import IMH, Floats, Particles, _Kernel, shape_of

if TYPE_CHECKING:
    import xarray

MOST_STAGES = 1000


class Population(Record, eq=False):
    """What one chain has found: particles, its estimate of the log marginal likelihood, and its temperatures."""

    particles: Particles
    evidence: float
    betas: tuple[float, ...]
    acceptance: tuple[float, ...]


def sample_smc(
    draws: int = 2000,
    kernel: type[_Kernel] | _Kernel = IMH,
    *,
    start: Mapping[str, Any] | None = None,
    model: Model | None = None,
    random_seed: Any = None,
    chains: int | None = None,
    cores: int | None = None,
    progressbar: bool = False,
    **kernel_kwargs: Any,
) -> xarray.DataTree:
    """Draws of the posterior by particles that are moved from the prior to it, through powers of the likelihood.

    draws          particles of each chain
    kernel         how they move: `pm.smc.IMH` (the default), `pm.smc.MH`, or one of these made with settings
    start          draws of the prior on the variables' own scales, (draws, ...) by name; drawn if not given
    chains         independent populations, whose evidences tell the error; 4, or as many as there are processors
    cores          threads; draws depend on the seed alone
    progressbar    accepted
    kernel_kwargs  `threshold` and `correlation_threshold` of the kernel
    returns        a tree with the groups `posterior` and `sample_stats`, which has `log_marginal_likelihood` and
                   `stages` for each chain; the mean evidence and its standard error are attributes of the posterior
    raises         ModelError for discrete free variables; SamplingError where no particle of the prior explains the
                   data, where there are fewer particles than dimensions, and where tempering does not end
    """
    del progressbar
    owner = modelcontext(model)
    discrete = [v.name for v in owner.free if not v.continuous]
    if discrete:
        raise ModelError(
            f"`{discrete[0]}` is discrete, and particles move along real numbers; sum it out with `pm.marginalize`."
        )
    if not owner.observed and not owner.named_potentials:
        raise ModelError("the model has no data and no potentials: its posterior is the prior; see `pm.draw`.")
    density = model_density(owner)
    if draws <= density.dimension:
        raise SamplingError(
            f"`draws` must be more particles than the model has dimensions, {density.dimension}; got {draws}."
        )
    own = kernel(**kernel_kwargs) if isinstance(kernel, type) else kernel
    count = chains if chains is not None else max(2, min(4, os.cpu_count() or 1))
    if count < 1:
        raise ValueError(f"`chains` must be at least 1, got {chains}.")
    seed = seed_from(random_seed)
    if cores is not None and cores < 1:
        raise ValueError(f"`cores` must be at least 1, got {cores}.")
    threads = min(count, cores or os.cpu_count() or 1)
    begun = [_start(owner, density, draws, start, seed, i) for i in range(count)]
    with ThreadPoolExecutor(threads) as pool:
        runs = [pool.submit(_population, density, begun[i], own, seed, i) for i in range(count)]
        found = [run.result() for run in runs]
    return _labelled(owner, density, found)


def _start(
    model: Model, density: ModelDensity, draws: int, start: Mapping[str, Any] | None, seed: int, chain: int
) -> Floats:
    """Draws of the prior as positions."""
    names = [v.name for v in model.free]
    if start is not None:
        given = {name: np.asarray(value)[:draws] for name, value in start.items()}
        points = density.unconstrained(given)
        if len(points) != draws:
            raise ShapeError(f"`start` needs {draws} draws of the prior, got {len(points)}.")
    else:
        try:
            values = draw([v.node for v in model.free], draws=draws, random_seed=_own_seed(seed, chain))
        except ConsilienceError as error:
            raise SamplingError(f"the prior cannot be drawn from, and particles begin there: {error}") from error
        points = density.unconstrained(dict(zip(names, values, strict=True)))
    if not np.isfinite(points).all() or not np.isfinite(density.tempered(points)[0]).all():
        raise SamplingError(
            "some draws of the prior have no density: they lie on the border of their support, or are not finite."
        )
    return points


def _own_seed(seed: int, chain: int) -> int:
    return int(np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 1000 + chain])).integers(2**31))


def _population(density: ModelDensity, points: Floats, kernel: _Kernel, seed: int, chain: int) -> Population:
    """One chain: weigh, choose, move, until the power of the likelihood is 1."""
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 2000 + chain]))
    prior, likelihood = density.tempered(points)
    particles = Particles(points, prior, likelihood)
    if not np.isfinite(likelihood).any():
        raise SamplingError(
            f"no one of {len(points)} draws of the prior has a likelihood above 0: check the priors against the data, "
            "or take more `draws`."
        )
    betas, acceptance, evidence = [0.0], [], 0.0
    while betas[-1] < 1.0:
        if len(betas) > MOST_STAGES:
            raise SamplingError(
                f"tempering came to the power {betas[-1]:.3g} of the likelihood in {MOST_STAGES} stages: this is "
                "far more concentrated than the particles; take more `draws`, or a smaller `threshold`."
            )
        beta = _next_beta(particles.likelihood, betas[-1], kernel.threshold)
        logs = (beta - betas[-1]) * np.where(np.isfinite(particles.likelihood), particles.likelihood, -np.inf)
        highest = logs.max()
        weights = np.exp(logs - highest)
        evidence += float(highest + np.log(weights.mean()))
        weights /= weights.sum()
        shape = shape_of(particles.points, weights)
        places = np.searchsorted(np.cumsum(weights), (np.arange(len(weights)) + generator.random()) / len(weights))
        particles = particles.chosen(np.minimum(places, len(weights) - 1))
        moved = kernel.moved(particles, shape, beta, density.tempered, generator)
        particles = moved.particles
        betas.append(beta)
        acceptance.append(moved.accepted)
    return Population(particles, evidence, tuple(betas[1:]), tuple(acceptance))


def _next_beta(likelihood: Floats, beta: float, threshold: float) -> float:
    """The power at which so large a share of the particles stays effective, by bisection."""
    wanted = threshold * np.isfinite(likelihood).mean()

    def share(power: float) -> float:
        logs = (power - beta) * np.where(np.isfinite(likelihood), likelihood, -np.inf)
        weights = np.exp(logs - logs.max())
        return float(weights.sum() ** 2 / (weights**2).sum() / len(weights))

    if share(1.0) >= wanted:
        return 1.0
    low, high = beta, 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if share(middle) >= wanted else (low, middle)
    return low if low > beta else high


def _labelled(model: Model, density: ModelDensity, found: list[Population]) -> xarray.DataTree:
    import xarray

    values = [density.expand(one.particles.points) for one in found]
    tree = to_inference_data({name: np.stack([v[name] for v in values]) for name in values[0]}, model=model)
    evidences = np.array([one.evidence for one in found])
    highest = evidences.max()
    ratios = np.exp(evidences - highest)
    mean = float(highest + np.log(ratios.mean()))
    error = float(ratios.std(ddof=1) / ratios.mean() / np.sqrt(len(found))) if len(found) > 1 else np.nan
    tree["posterior"].attrs.update(
        inference_library="consilience",
        method="SMC",
        log_marginal_likelihood=mean,
        log_marginal_likelihood_error=error,
    )
    stages = max(len(one.betas) for one in found)
    table = {
        name: np.array([[*row, *[np.nan] * (stages - len(row))] for row in rows])
        for name, rows in (
            ("beta", [one.betas for one in found]),
            ("acceptance_rate", [one.acceptance for one in found]),
        )
    }
    tree["sample_stats"] = xarray.DataTree(
        xarray.Dataset(
            {
                "log_marginal_likelihood": ("chain", evidences),
                "stages": ("chain", [len(one.betas) for one in found]),
                **{name: (("chain", "stage"), rows) for name, rows in table.items()},
            },
            coords={"chain": np.arange(len(found))},
        )
    )
    return tree
