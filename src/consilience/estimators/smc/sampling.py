"""`pm.sample_smc`: populations of particles from the prior to the posterior, by tempering.

A model in; labelled draws and the log marginal likelihood out.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError, SamplingError, warn
from consilience.estimators.smc.labelling import labelled
from consilience.estimators.smc.moves import IMH, ParticleKernel
from consilience.estimators.smc.population import population_from
from consilience.estimators.smc.prior_draws import prior_draws
from consilience.estimators.smc.running import PopulationRun, identity, kernel_from
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model, modelcontext
from consilience.model.trees import refuse_trees
from consilience.run import checkpoint as checkpoints
from consilience.run.checkpoint import Checkpoint
from consilience.sample.arguments import check_keywords
from consilience.sample.groups import SPELLED, Save, asked

LEAST_EFFECTIVE: Final = 8  # particles for each dimension; with half as many, evidences of 30 are 0.3 to 0.5 off
USUAL_PATH: Final = 20  # places of each particle that count in waste-free populations


def sample_smc(
    draws: int = 2000,
    kernel: type[ParticleKernel] | ParticleKernel = IMH,
    *,
    start: Mapping[str, Any] | None = None,
    model: Model | None = None,
    random_seed: Any = None,
    chains: int | None = None,
    cores: int | None = None,
    executor: Any = None,
    waste_free: bool | int = False,
    save: Save | None = None,
    compute_convergence_checks: bool = True,
    progressbar: bool = True,
    callback: Callable[..., Any] | None = None,
    blocking: bool = True,
    **kernel_kwargs: Any,
) -> Any:
    """Draws of the posterior by particles that are moved from the prior to it, through powers of the likelihood.

    draws: Particles of each chain.
    kernel (type or ParticleKernel, optional): How they move: `pm.smc.IMH` (the default), `pm.smc.MH`, `pm.smc.HMC`, or
        one of these made with settings. A model with a Simulator needs IMH or MH.
    start (mapping): Draws of the prior on the variables' own scales, (draws, ...) by name; drawn if not given.
    model, random_seed : ...
    chains: Independent populations, whose evidences tell the error; 4, or as many as there are processors.
    cores: Threads, among which chains and the particles of each are divided; all processors by default. Draws do not
        depend on it.
    executor (Executor): Moves the populations on other processes and machines: an executor of `concurrent.futures` (a
        process pool, loky, MPI), a Dask client or `pm.cluster.ray()`. Draws do not depend on it, nor on workers that
        are lost.
    waste_free: Whether all places count at which particles were between two temperatures, and not the last ones alone:
        a number is how many of each particle, of which there are as many fewer; it divides `draws`.
    save: `pm.Save(checkpoint="file")`: particles are kept there while the run goes on; see `pm.smc.resume`.
    compute_convergence_checks: Whether it warns of particles that did not settle.
    progressbar: Whether stages are shown.
    callback: Called with `consilience.events.StepProgress` while the run goes on.
    blocking: False returns at once with a handle, whose `wait()` gives the result, as for `pm.sample`.
    **kernel_kwargs: Settings of the kernel, as `threshold`, `correlation_threshold`; PyMC's keywords that mean nothing
        here are passed over.
    Returns: A tree with the groups `posterior` and `sample_stats`, which has `log_marginal_likelihood` and `stages` for
        each chain; the mean evidence and its standard error are attributes of the posterior. After Ctrl-C or a stop
        particles as far as they came, whose evidences are NaN, and the attribute `status` "interrupted"; a checkpoint
        goes on from there.
    Raises ModelError: For discrete free variables.
    Raises SamplingError: Where no particle of the prior explains the data, where there are fewer particles than
        dimensions, and where tempering stalls or does not end.
    Raises StorageError: Where the checkpoint cannot be written.
    Warns ConsilienceWarning: Where draws of the prior have no density and are drawn again, or have weight 0 since the
        data have no likelihood there; where moves ended by their greatest number before particles had forgotten where
        they began; where there are so few particles for the number of dimensions that evidences are biased.
    See sample: Draws by Markov chains.
    See sample_nested: The evidence by nested sampling.
    References: Del Moral, Doucet, Jasra (2006), Journal of the Royal Statistical Society B 68, 411.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     result = pm.sample_smc(500, random_seed=1, progressbar=False)
    >>> "mu" in result.posterior
    True
    """
    for name, value in (("draws", draws), ("chains", 1 if chains is None else chains)):
        if not isinstance(value, int | np.integer):
            raise TypeError(f"`{name}` must be a whole number, got {value!r}.")
    owner = modelcontext(model)
    density = density_of(owner)
    if draws <= density.dimension:
        raise SamplingError(
            f"`draws` must be more particles than the model has dimensions, {density.dimension}; got {draws}."
        )
    save = asked(Save, save)
    if save.store is not None or save.deterministics != "lazy":
        raise SamplingError("`sample_smc` has no `pm.Save(store=…, deterministics=…)`: it keeps a `checkpoint` alone.")
    own = made_kernel(kernel, kernel_kwargs, density)
    enough = int(np.ceil(LEAST_EFFECTIVE * density.dimension / own.threshold))
    if compute_convergence_checks and draws < enough:
        warn(
            f"{draws} particles are few for {density.dimension} dimensions: temperatures and covariances follow the "
            f"particles so closely that evidences are biased. Take {enough} `draws` or more."
        )
    count = chains if chains is not None else max(2, min(4, os.cpu_count() or 1))
    if count < 1:
        raise ValueError(f"`chains` must be at least 1, got {chains}.")
    path = path_length(draws, waste_free)
    seed = seed_from(random_seed)
    keeper = None
    if save.checkpoint is not None:
        known = identity(density, own, draws, count, path, seed)
        keeper = Checkpoint.create(save.checkpoint, known, {}, save.overwrite)
    starts = prior_draws(owner, density, draws, count, start, seed)
    run = PopulationRun(
        density, own, path, seed, count, cores, keeper, checks=compute_convergence_checks, executor=executor,
        result_of=partial(labelled, owner, density), progressbar=progressbar, callback=callback,
    )  # fmt: skip
    run.begin(starts)
    return run.delivered(blocking)


def resume(
    path: str | Path,
    model: Model | None = None,
    *,
    cores: int | None = None,
    executor: Any = None,
    compute_convergence_checks: bool = True,
    progressbar: bool = True,
    callback: Callable[..., Any] | None = None,
    blocking: bool = True,
) -> Any:
    """Go on with a run of `pm.sample_smc(save=pm.Save(checkpoint=path))` that was cut off, with the same draws.

    path: The file given to `pm.Save(checkpoint=…)`.
    model: The same model with the same data, defined as then.
    cores: Greatest number of threads.
    executor (Executor): As for `pm.sample_smc`; whether the run had one does not matter.
    compute_convergence_checks: Whether warnings tell of draws that should not be trusted.
    progressbar: Whether progress is shown.
    callback: Called with the events of the run.
    blocking: False returns at once, while the run goes on in the background.
    Returns: As `pm.sample_smc`, as are the other arguments.
    Raises StorageError: Where there is no checkpoint or it is damaged.
    Raises SamplingError: With the reasons, where model, data, version or machine differ.
    See sample_smc: Writes a checkpoint by `save`.
    >>> import tempfile
    >>> import consilience as pm
    >>> from consilience.estimators.smc import resume
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x")
    ...     y = pm.Normal("y", x, 1, observed=1.0)
    >>> with tempfile.TemporaryDirectory() as folder, model:
    ...     save = pm.Save(checkpoint=f"{folder}/run")
    ...     first = pm.sample_smc(200, save=save, random_seed=1, progressbar=False)
    ...     again = resume(f"{folder}/run", progressbar=False)
    >>> bool((first.posterior["x"] == again.posterior["x"]).all())
    True
    """
    owner = modelcontext(model)
    saved, about, state = checkpoints.read(path)
    if saved.get("method") != "SMC":
        raise SamplingError(f"the run in {str(path)!r} is one of `pm.sample`; go on with it by `pm.resume`.")
    density = density_of(owner)
    with checkpoints.understood(path):
        kernel = kernel_from(*saved["kernel"])
        chains, seed, length = (int(saved[name]) for name in ("chains", "seed", "path"))
        present = identity(density, kernel, int(saved["draws"]), chains, length, seed)
        populations = [population_from(plain) for plain in state["populations"]]
    differences = list(checkpoints.differences(saved, present))
    if differences:
        raise SamplingError(
            f"the run in {str(path)!r} cannot be resumed with the same draws: {'; '.join(differences)}. Define the "
            "model and its data as they were, or sample anew with `pm.Save(overwrite=True)`."
        )
    with checkpoints.understood(path):
        shapes = {one.particles.points.shape for one in populations}
        if shapes != {(int(saved["draws"]) // length, density.dimension)}:
            raise ValueError(f"particles of the shapes {shapes}")
    keeper = Checkpoint.reopened(path, saved, about, state)
    run = PopulationRun(
        density, kernel, length, seed, chains, cores, keeper, checks=compute_convergence_checks, executor=executor,
        result_of=partial(labelled, owner, density), progressbar=progressbar, callback=callback,
    )  # fmt: skip
    run.populations = populations
    return run.delivered(blocking)


def path_length(draws: int, waste_free: bool | int) -> int:
    """Places of each particle that count, of as many fewer particles; 1: only where it ends.

    Raises ValueError where it does not divide the number of draws.
    """
    if waste_free is False:
        return 1
    divisors = [n for n in range(2, draws // 2 + 1) if draws % n == 0]
    if waste_free is True and divisors:
        return min(divisors, key=lambda n: abs(np.log(n / USUAL_PATH)))
    if waste_free not in divisors or waste_free is True:
        raise ValueError(
            f"`waste_free` is the number of places of each particle that count, and must divide `draws`={draws} into "
            f"at least 2 particles; got {waste_free!r}, possible are {divisors or 'none'}."
        )
    return int(waste_free)


def density_of(model: Model) -> ModelDensity:
    """The model's density, if particles can move along it."""
    refuse_trees(model, "a population of particles")
    discrete = [v.name for v in model.free if not v.continuous]
    if discrete:
        raise ModelError(
            f"`{discrete[0]}` is discrete, and particles move along real numbers; sum it out with `pm.marginalize`."
        )
    if not model.observed and not model.named_potentials:
        raise ModelError("the model has no data and no potentials: its posterior is the prior; see `pm.draw`.")
    return model_density(model)


def made_kernel(
    kernel: type[ParticleKernel] | ParticleKernel, settings: Mapping[str, Any], density: ModelDensity
) -> ParticleKernel:
    """The kernel with its settings, if it can move particles along the density."""
    kind = kernel if isinstance(kernel, type) else type(kernel)
    if not issubclass(kind, ParticleKernel):
        raise SamplingError(
            f"`kernel` must be pm.smc.IMH, pm.smc.MH or pm.smc.HMC, or one of these with settings, got {kernel!r}."
        )
    known = inspect.signature(kind).parameters
    others = {name: value for name, value in settings.items() if name not in known}
    check_keywords(sample_smc, others, known, SPELLED)
    own = {name: value for name, value in settings.items() if name in known}
    if kind is not kernel and own:
        raise TypeError(
            f"`kernel` has its settings already; give `{next(iter(own))}` where it is made: {kind.__name__}(…)."
        )
    kernel = kind(**own) if kind is kernel else kernel
    assert isinstance(kernel, ParticleKernel)
    if kernel.needs_gradient and density.without_gradient:
        raise SamplingError(
            f"{type(kernel).__name__} needs the gradient of the log density, and there is none: "
            f"{density.without_gradient}"
        )
    return kernel
