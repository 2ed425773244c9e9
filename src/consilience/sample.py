"""Where the parts meet: a model becomes a density, chains run on it, results become a labelled tree."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience import diagnostics, storage
from consilience.backends import reference
from consilience.errors import ModelError, SamplingError
from consilience.ir import topological
from consilience.inference import HmcKernel, Kernel, MetropolisKernel, NutsKernel
from consilience.model.log_density import ModelDensity, model_density, slot_values
from consilience.model.model import Model, modelcontext
from consilience.model.predictive import predict, refuse_improper
from consilience.model.starting_point import starting_positions
from consilience.native import target
from consilience.run import Listener, Run, run_chains
from consilience.storage.datatree import tree_of
from consilience.ui import reporter

if TYPE_CHECKING:
    import xarray

Array = npt.NDArray[Any]
InitialValues = Mapping[str, Any] | list[Mapping[str, Any] | None] | None

DEFAULT_DRAWS = 1000
DEFAULT_TUNE = 1000
DEFAULT_CHAINS = 4
PREDICTIVE_DRAWS = 500


def seed_from(random_seed: Any) -> int:
    """A 63-bit seed from an integer, a generator, a sequence of integers, or nothing (then a fresh one)."""
    if random_seed is None:
        return secrets.randbits(63)
    if isinstance(random_seed, np.random.Generator):
        return int(random_seed.integers(2**63))
    if isinstance(random_seed, int | np.integer) and not isinstance(random_seed, bool):
        return int(random_seed) & (2**63 - 1)
    if isinstance(random_seed, Sequence | np.ndarray):
        words = np.random.SeedSequence([int(s) for s in random_seed]).generate_state(1, np.uint64)
        return int(words[0]) >> 1
    raise TypeError(f"random_seed must be an integer, a sequence of integers, a Generator or None, got {random_seed!r}.")


def _count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise SamplingError(f"`{name}` must be an integer of at least {least}, got {value!r}.")
    return int(value)


def _kernel(step: Any, target_accept: float, max_treedepth: int) -> Kernel:
    if step is None:
        return NutsKernel(target_accept=target_accept, max_treedepth=max_treedepth)
    if isinstance(step, NutsKernel | HmcKernel | MetropolisKernel):
        return step
    raise SamplingError(
        f"`step` must be a kernel such as pm.NUTS(), pm.HamiltonianMC() or pm.Metropolis(), got {step!r}; "
        "compound steps are not there yet."
    )


def sample(
    draws: int = DEFAULT_DRAWS,
    *,
    tune: int | None = None,
    chains: int | None = None,
    cores: int | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
    step: Kernel | None = None,
    var_names: Sequence[str] | None = None,
    initvals: InitialValues = None,
    init: str = "auto",
    target_accept: float = 0.8,
    max_treedepth: int = 10,
    jitter_max_retries: int = 100,
    discard_tuned_samples: bool = True,
    compute_convergence_checks: bool = True,
    callback: Callable[[object], None] | None = None,
    model: Model | None = None,
) -> xarray.DataTree:
    """Draw from the posterior of a model with the No-U-Turn Sampler.

    draws          kept draws per chain
    tune           tuning draws per chain before them (1000)
    chains         number of chains (4)
    cores          greatest number of threads; the processors this process may use by default. The draws do not
                   depend on it
    random_seed    integer, sequence of integers or Generator; a fresh seed, stored in the result, by default
    step           another kernel: `pm.HamiltonianMC()`, `pm.Metropolis()`
    var_names      names of the variables to keep; all free variables and deterministics by default
    initvals       starting values by name, or one mapping per chain
    init           "auto" or "jitter+adapt_diag": support points with uniform noise; "adapt_diag": without
    target_accept  mean acceptance probability that the step size is tuned for
    max_treedepth  greatest number of doublings of a trajectory
    discard_tuned_samples   False keeps the tuning draws in groups `warmup_…`
    callback       called with the events of the run (`consilience.run.events`)
    returns        an `xarray.DataTree` with groups posterior, sample_stats, observed_data, …
    raises         InitialPointError where no finite starting point is found; ModelError without free variables
    """
    owner = modelcontext(model)
    draws = _count("draws", draws, 1)
    tune = DEFAULT_TUNE if tune is None else _count("tune", tune, 0)
    chains = DEFAULT_CHAINS if chains is None else _count("chains", chains, 1)
    if init not in ("auto", "jitter+adapt_diag", "adapt_diag"):
        raise SamplingError(f"`init` must be 'auto', 'jitter+adapt_diag' or 'adapt_diag', got {init!r}.")
    kernel = _kernel(step, target_accept, max_treedepth)
    seed = seed_from(random_seed)
    began = time.perf_counter()
    density = model_density(owner)
    compiled = time.perf_counter()
    keep = _kept(owner, var_names)
    points = starting_positions(
        density, chains, seed, initvals, jitter=init != "adapt_diag", attempts=max(1, jitter_max_retries)
    )
    with reporter(progressbar) as report:
        listeners: list[Listener] = [report]
        if callback is not None:
            listeners.append(callback)
        run = run_chains(
            density, kernel, points, draws=draws, tune=tune, seed=seed, cores=cores, listeners=listeners
        )
    sampled = time.perf_counter()
    named = _expand(owner, density, run.draws, keep)
    times = _times(run, density, compiled - began, time.perf_counter() - sampled)
    tree = _tree(owner, density, run, named, keep, discard_tuned_samples, kernel, times, tune)
    if run.interrupted:
        print(f"sampling was interrupted: the first {run.draws.shape[1]} draws of each chain are kept.")
    if compute_convergence_checks and run.draws.shape[1]:
        diagnostics.warn(diagnostics.inspect(tree), stacklevel=2)
    return tree


def _kept(model: Model, var_names: Sequence[str] | None) -> list[str]:
    known = [v.name for v in model.free] + list(model.deterministics)
    if var_names is None:
        return known
    names = [var_names] if isinstance(var_names, str) else list(var_names)
    unknown = [n for n in names if n not in known]
    if unknown:
        raise ModelError(f"`var_names` names {unknown}, but the model's variables are {known}.")
    return names


def _expand(model: Model, density: ModelDensity, draws: Array, keep: Sequence[str]) -> dict[str, Array]:
    """Draws (chain, draw, coordinate) as named arrays (chain, draw, …)."""
    chains, count, dimension = draws.shape
    wanted_deterministics = any(name in model.deterministics for name in keep)
    flat = np.ascontiguousarray(draws).reshape(chains * count, dimension)
    named = density.expand(flat, wanted_deterministics)
    return {name: named[name].reshape(chains, count, *named[name].shape[1:]) for name in keep}


def _times(run: Run, density: ModelDensity, compile_seconds: float, expand_seconds: float) -> dict[str, float]:
    """Seconds per stage. The run's time is divided between warmup and sampling by their numbers of gradients."""
    warm = float(np.sum(run.warmup_statistics.get("n_steps", np.zeros(0))))
    kept = float(np.sum(run.statistics.get("n_steps", np.ones(1))))
    share = warm / max(1.0, warm + kept)
    return {
        "time_build": density.graph_seconds,
        "time_compile": max(0.0, compile_seconds - density.graph_seconds),
        "time_warmup": run.seconds * share,
        "time_sampling": run.seconds * (1 - share),
        "time_deterministics": expand_seconds,
    }


def _tree(
    model: Model,
    density: ModelDensity,
    run: Run,
    named: Mapping[str, Array],
    keep: Sequence[str],
    discard_tuned: bool,
    kernel: Kernel,
    times: Mapping[str, float],
    tune: int,
) -> xarray.DataTree:
    attributes: dict[str, object] = {
        "sampling_time": run.seconds,
        "tuning_steps": tune,
        "seed": run.seed,
        "sampler": type(kernel).__name__,
        "settings": repr(kernel),
        "vector_lanes": target.host().lanes,
        "interrupted": int(run.interrupted),
        **times,
    }
    warmup: dict[str, Any] = {}
    if not discard_tuned and run.warmup_draws.shape[1]:
        warmup = {
            "warmup_posterior": _expand(model, density, run.warmup_draws, keep),
            "warmup_sample_stats": dict(run.warmup_statistics),
        }
    slots, values, _, _ = slot_values(model)
    names = {slot: name for name, slot in model.data.items()}
    return storage.build(
        named,
        dict(run.statistics),
        _observed(model),
        {names[slot]: value for slot, value in zip(slots, values, strict=True)},
        model.coords,
        model.named_vars_to_dims,
        attributes,
        **warmup,
    )


def _observed(model: Model) -> dict[str, Array]:
    """Observed values by variable."""
    slots, values, _, _ = slot_values(model)
    known = dict(zip(slots, values, strict=True))
    result = {}
    for variable in model.observed:
        used = set(topological([variable.data]))
        (array,) = reference.evaluate([variable.data], {s: v for s, v in known.items() if s in used})
        result[variable.name] = array
    return result


def sample_prior_predictive(
    draws: int = PREDICTIVE_DRAWS,
    *,
    var_names: Sequence[str] | None = None,
    random_seed: Any = None,
    model: Model | None = None,
) -> xarray.DataTree:
    """Draw all variables from the prior, data included.

    returns   groups `prior` (free variables, deterministics) and `prior_predictive` (observed variables),
              with one chain; `observed_data`, `constant_data`
    """
    owner = modelcontext(model)
    draws = _count("draws", draws, 1)
    free = [v.name for v in owner.free] + list(owner.deterministics)
    observed = [v.name for v in owner.observed]
    names = [n for n in free + observed if var_names is None or n in var_names]
    _refuse_unknown(var_names, free + observed)
    refuse_improper(owner, names, [])
    values = predict(owner, names, {}, draws, seed_from(random_seed))
    slots, arrays, _, _ = slot_values(owner)
    labels = {slot: name for name, slot in owner.data.items()}
    return storage.build(
        {},
        prior={n: values[n][None] for n in names if n in free},
        prior_predictive={n: values[n][None] for n in names if n in observed},
        observed_data=_observed(owner),
        constant_data={labels[s]: a for s, a in zip(slots, arrays, strict=True)},
        coords=owner.coords,
        dims=owner.named_vars_to_dims,
    )


def _refuse_unknown(var_names: Sequence[str] | None, known: Sequence[str]) -> None:
    unknown = [n for n in var_names or () if n not in known]
    if unknown:
        raise ModelError(f"`var_names` names {unknown}, but the model's variables are {list(known)}.")


def sample_posterior_predictive(
    trace: xarray.DataTree,
    *,
    var_names: Sequence[str] | None = None,
    extend_inferencedata: bool = True,
    predictions: bool = False,
    random_seed: Any = None,
    model: Model | None = None,
) -> xarray.DataTree:
    """Draw new data for every draw of the posterior.

    trace         a result of `sample`; free variables that it does not hold are drawn from their prior
    var_names     variables to draw or compute; the observed ones by default
    predictions   store the draws as group `predictions`, for data other than those the model was fitted to
    returns       `trace` with the group added, or a tree with that group alone if `extend_inferencedata` is False
    """
    owner = modelcontext(model)
    posterior = trace["posterior"]
    known = [v.name for v in owner.free] + [v.name for v in owner.observed] + list(owner.deterministics)
    _refuse_unknown(var_names, known)
    names = [v.name for v in owner.observed] if var_names is None else list(var_names)
    if not names:
        raise ModelError("the model has no observed variables; name what to compute with `var_names`.")
    free = [v.name for v in owner.free if v.name in posterior]
    chains, count = posterior.sizes["chain"], posterior.sizes["draw"]
    given = {}
    for name in free:
        array = posterior[name].transpose("chain", "draw", ...).to_numpy()
        given[name] = array.reshape(chains * count, *array.shape[2:])
    refuse_improper(owner, names, free)
    values = predict(owner, names, given, chains * count, seed_from(random_seed))
    arrays = {name: value.reshape(chains, count, *value.shape[1:]) for name, value in values.items()}
    group = "predictions" if predictions else "posterior_predictive"
    if extend_inferencedata:
        return storage.extend(trace, group, arrays, owner.coords, owner.named_vars_to_dims)
    return tree_of({group: arrays}, owner.coords, owner.named_vars_to_dims)

