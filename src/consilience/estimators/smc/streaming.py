"""Data that arrive in batches: particles of the posterior of those before become ones of the posterior of all.

A result and new data in; the result for all data out. Source: N. Chopin (2002), "A sequential particle filter method
for static models".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError, SamplingError, ShapeError
from consilience.estimators.smc.labelling import labelled
from consilience.estimators.smc.moves import IMH, ParticleKernel
from consilience.estimators.smc.particles import Floats, Particles
from consilience.estimators.smc.population import Population, effective_share, numbers, systematic
from consilience.estimators.smc.prior_draws import PriorDraws
from consilience.estimators.smc.running import PopulationRun
from consilience.estimators.smc.sampling import made_kernel
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model, modelcontext
from consilience.model.warm_start import stacked
from consilience.output.storage.datatree import dataset, origin_of_now
from consilience.record import replace
from consilience.run.threads.thread_pool import threads
from consilience.sample.data import constant_data

if TYPE_CHECKING:
    import xarray

Arrays = dict[str, npt.NDArray[Any]]


def assimilate(
    result: xarray.DataTree,
    new_data: Mapping[str, npt.ArrayLike],
    kernel: type[ParticleKernel] | ParticleKernel = IMH,
    *,
    model: Model | None = None,
    coords: Mapping[str, Any] | None = None,
    random_seed: Any = None,
    cores: int | None = None,
    compute_convergence_checks: bool = True,
    progressbar: bool = True,
    **kernel_kwargs: Any,
) -> xarray.DataTree:
    """The posterior of all data, from a result for those before and the data that are new.

    result (xarray.DataTree): Of `pm.sample_smc` or of this function, for the data that the model has.
    new_data: By the names of `pm.Data`: what is appended to them along their first axes.
    kernel (type or ParticleKernel, default IMH): How particles move, as for `pm.sample_smc`, with its settings.
    model : ...
    coords (mapping): Labels of what is appended, by dimensions that have labels.
    random_seed : ...
    cores: Threads; draws do not depend on it.
    compute_convergence_checks: Whether warnings tell of draws that should not be trusted.
    progressbar: Whether progress is shown.
    **kernel_kwargs: Settings of the kernel that moves particles.
    Returns (xarray.DataTree): A tree as that of `pm.sample_smc`, with evidences of all data. If particles did not move,
        it has a group `particles` (chain, particle) too, with their values and `log_weight`.
    Raises ModelError: Where the model has other data than the result, names are of no `pm.Data`, or the likelihood is
        random (a Simulator).
    Raises ShapeError: For data that do not fit.
    Raises SamplingError: As `pm.sample_smc`. The model's data then stay as they were.
    Warns ConvergenceWarning: As `pm.sample_smc`.
    See sample_smc: Begins with the prior.
    Notes: The new data stay appended to the model's. Particles are weighted by the likelihood of what came since they
        last moved. While their effective share is at least the kernel's `threshold`, `posterior` has copies of them,
        chosen by weights; otherwise these copies move to the new posterior, through powers of the new data's
        likelihood.
    >>> import numpy as np
    >>> import consilience as pm
    >>> from consilience.estimators.smc import assimilate
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 1)
    ...     data = pm.Data("data", [1.0, 2.0])
    ...     y = pm.Normal("y", mu, 1, observed=data)
    ...     result = pm.sample_smc(500, random_seed=1, progressbar=False)
    ...     more = assimilate(result, {"data": np.array([0.5])}, random_seed=1, progressbar=False)
    >>> bool(abs(more.posterior["mu"].mean() - 0.875) < 0.1)
    True
    """
    owner = modelcontext(model)
    threads(cores)  # which is asked for where particles move alone
    present, labels = constant_data(owner), dict(owner.coords)
    before = model_density(owner)
    _check(result, new_data, present, before)
    own = made_kernel(kernel, kernel_kwargs, before)
    grown = {name: _appended(name, present[name], owner.placed(name, batch)) for name, batch in new_data.items()}
    longer = {dim: [*(labels.get(dim) or ()), *more] for dim, more in (coords or {}).items()}
    seed = seed_from([seed_from(random_seed), sum(len(values) for values in grown.values())])
    try:
        owner.set_all(grown, longer or None)
        after = model_density(owner)
        if after.dimension != before.dimension:
            raise ModelError(
                f"the model has {before.dimension} dimensions before the new data and {after.dimension} with them; "
                "variables whose number grows with the data cannot be carried on."
            )
        bridge = Update(before, after)
        evidences = np.asarray(result["sample_stats"]["log_marginal_likelihood"], float)
        points, logs = _weighted(result, before)
        reached = logs + bridge.tempered(np.concatenate(points))[1].reshape(logs.shape)
        if np.isneginf(reached).all(1).any():
            raise SamplingError(
                "no particle has a likelihood above 0 for the new data: check them against the model, or begin anew by "
                "`pm.sample_smc` with more `draws`."
            )
        if min(effective_share(logs_of_chain) for logs_of_chain in reached) >= own.threshold:
            evidences = evidences - _log_means(logs) + _log_means(reached)
            found = [_copies(*pair, seed, i) for i, pair in enumerate(zip(points, reached, strict=True))]
        else:
            draws = before.unconstrained(stacked(result["posterior"], before.model))
            run = PopulationRun(
                bridge, own, 1, seed, len(points), cores, None, checks=compute_convergence_checks, result_of=list,
                progressbar=progressbar,
            )  # fmt: skip
            run.begin(PriorDraws(np.split(draws, len(points))))
            found, reached = run.delivered(blocking=True), np.zeros(0)
            if run.stopping:
                raise KeyboardInterrupt
        found = [replace(p, evidence=p.evidence + float(e)) for p, e in zip(found, evidences, strict=True)]
    except BaseException:
        old = {dim: known for dim in longer if (known := labels.get(dim)) is not None}
        owner.set_all({name: present[name] for name in grown}, old or None)
        raise
    tree = labelled(owner, after, found)
    if len(reached):
        values = after.expand(np.concatenate(points), deterministics=False)
        held = {name: array.reshape(*logs.shape, *array.shape[1:]) for name, array in values.items()}
        arrays = {**held, "log_weight": reached}
        coords, dims = owner.coords, owner.named_vars_to_dims
        made = dataset(arrays, coords, dims, origin_of_now(), ("chain", "particle"), "particles")
        tree["particles"] = type(tree)(made)
    return tree


class Update:
    """The posterior of some data as a prior, and the likelihood of all data over theirs as a likelihood."""

    simulated: tuple[str, ...] = ()

    def __init__(self, before: ModelDensity, after: ModelDensity) -> None:
        self._before, self._after = before, after
        self.dimension = after.dimension

    def tempered(self, positions: Floats, seeds: npt.NDArray[np.int64] | None = None) -> tuple[Floats, Floats]:
        """Log densities of the posterior before, and of the new data, at positions (particles, dimension)."""
        del seeds
        prior, old = self._before.tempered(positions)
        ratio = self._after.tempered(positions)[1] - np.where(np.isneginf(old), 0.0, old)
        return prior + old, np.where(np.isneginf(old), -np.inf, ratio)

    def tempered_slopes(self, positions: Floats, power: float) -> tuple[Floats, Floats, Floats]:
        """As `tempered`, and the gradient of the log of the former times the latter ** power."""
        prior, old, first = self._before.tempered_slopes(positions, 1.0)
        _, new, second = self._after.tempered_slopes(positions, 1.0)
        ratio = new - np.where(np.isneginf(old), 0.0, old)
        slopes = (1 - power) * first + power * second
        return prior + old, np.where(np.isneginf(old), -np.inf, ratio), slopes


def _weighted(result: xarray.DataTree, density: ModelDensity) -> tuple[list[Floats], Floats]:
    """Positions of each chain's particles, and the logs of their weights (chain, particle), of any sum."""
    chains = int(result["posterior"].sizes["chain"])
    kept = result.get("particles")
    if kept is None:
        points = density.unconstrained(stacked(result["posterior"], density.model))
        return np.split(points, chains), np.zeros((chains, len(points) // chains))
    logs = np.asarray(kept["log_weight"], float)
    values = {str(name): np.asarray(a).reshape(logs.size, *a.shape[2:]) for name, a in kept.data_vars.items()}
    return np.split(density.unconstrained(values), chains), logs


def _copies(points: Floats, logs: Floats, seed: int, chain: int) -> Population:
    """Particles in proportion to weights."""
    weights = np.exp(logs - logs.max())
    places = systematic(weights / weights.sum(), len(weights), numbers(seed, chain, 0))
    nothing = np.zeros(len(points))
    return Population(Particles(points, nothing, nothing).chosen(places))


def _log_means(logs: Floats) -> Floats:
    """Logs of means of weights (chain, particle)."""
    highest = logs.max(1)
    found: Floats = highest + np.log(np.exp(logs - highest[:, None]).mean(1))
    return found


def _appended(name: str, present: npt.NDArray[Any], batch: npt.ArrayLike) -> npt.NDArray[Any]:
    more = np.asarray(batch)
    if present.ndim == 0 or more.shape[1:] != present.shape[1:] or more.ndim != present.ndim:
        raise ShapeError(
            f"the data `{name}` have the shape {present.shape}, to which an array of the shape "
            f"(n, {', '.join(map(str, present.shape[1:]))}) can be appended; got {more.shape}."
        )
    return np.concatenate([present, more])


def _check(result: xarray.DataTree, new_data: Mapping[str, Any], present: Arrays, density: ModelDensity) -> None:
    if density.simulated:
        raise ModelError(
            f"`{density.simulated[0]}` is a Simulator or a particle filter, whose log density is random; its data "
            "cannot be appended to. Use `pm.sample_smc` for all data."
        )
    if not new_data:
        raise ModelError("`new_data` is empty; give what is appended, by the names of `pm.Data`.")
    if unknown := [name for name in new_data if name not in present]:
        raise ModelError(f"the model has no `pm.Data` named {unknown[0]!r}; it has {', '.join(present) or 'none'}.")
    stats = result.get("sample_stats")
    if stats is None or "log_marginal_likelihood" not in stats or "posterior" not in result:
        raise ModelError("`result` has no evidences; it must come from `pm.sample_smc` or `pm.smc.assimilate`.")
    if np.isnan(np.asarray(stats["log_marginal_likelihood"])).any():
        raise ModelError("`result` is of a run that was stopped before its particles came to the posterior.")
    kept = result.get("constant_data")
    for name, array in present.items():
        if kept is None or name not in kept or not np.array_equal(np.asarray(kept[name]), array, equal_nan=True):
            raise ModelError(
                f"`result` is one for other data of `{name}` than the model has; set those to which the result "
                "belongs, by `pm.set_data`."
            )
