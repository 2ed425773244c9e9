"""Where the parts meet: a model becomes a density, chains run on it, results become a labelled tree."""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience import diagnostics, storage
from consilience.backends import reference
from consilience.errors import ConsilienceWarning, ModelError, SamplingError
from consilience.inference import HmcKernel, Kernel, MetropolisKernel, NutsKernel
from consilience.ir import dimension as dims
from consilience.ir import topological
from consilience.model.log_density import ModelDensity, model_density, slot_values
from consilience.model.model import Model, modelcontext
from consilience.model.predictive import log_likelihood, predict, redrawn
from consilience.model.starting_point import InitialValues, starting_positions
from consilience.native import target
from consilience.run import Listener, Run, run_chains
from consilience.storage.datatree import tree_of
from consilience.ui import reporter

if TYPE_CHECKING:
    import xarray

Array = npt.NDArray[Any]
StartingValues: TypeAlias = InitialValues | Sequence[InitialValues | None] | None

DEFAULT_DRAWS: Final = 1000
DEFAULT_TUNE: Final = 1000
DEFAULT_CHAINS: Final = 4
PREDICTIVE_DRAWS: Final = 500
INITS: Final = ("auto", "jitter+adapt_diag", "adapt_diag")


def seed_from(random_seed: Any) -> int:
    """A 63-bit seed from an integer, a generator, a sequence of integers, or nothing (then a fresh one)."""
    if random_seed is None:
        return secrets.randbits(63)
    if isinstance(random_seed, np.random.Generator):
        return int(random_seed.integers(2**63))
    if _is_integer(random_seed):
        return int(random_seed) & (2**63 - 1)
    listed = list(random_seed) if isinstance(random_seed, list | tuple | np.ndarray) else []
    if listed and all(_is_integer(s) and s >= 0 for s in listed):
        words = np.random.SeedSequence([int(s) for s in listed]).generate_state(1, np.uint64)
        return int(words[0]) >> 1
    raise TypeError(
        f"`random_seed` must be an integer, a sequence of integers >= 0, a Generator or None, got {random_seed!r}."
    )


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _count(name: str, value: Any, least: int) -> int:
    if not _is_integer(value) or value < least:
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
    initvals: StartingValues = None,
    init: str = "auto",
    target_accept: float = 0.8,
    max_treedepth: int = 10,
    jitter_max_retries: int = 100,
    discard_tuned_samples: bool = True,
    compute_convergence_checks: bool = True,
    idata_kwargs: Mapping[str, Any] | None = None,
    callback: Listener | None = None,
    model: Model | None = None,
) -> xarray.DataTree:
    """Draw from the posterior of a model with the No-U-Turn Sampler.

    draws          kept draws per chain
    tune           tuning draws per chain before them (1000)
    chains         number of chains (4)
    cores          greatest number of threads; the processors this process may use by default. The draws do
                   not depend on it
    random_seed    integer, sequence of integers or Generator; a fresh seed by default. The seed is kept in
                   the attributes of the result
    step           another kernel: `pm.HamiltonianMC()`, `pm.Metropolis()`
    var_names      names of the variables to keep; all free variables and deterministics by default
    initvals       starting values by name (`tau`, or `tau_log__` on the unconstrained line), or one mapping
                   per chain; "prior" or "support_point" in place of numbers
    init           "auto" or "jitter+adapt_diag": starting values with uniform noise; "adapt_diag": without
    target_accept  mean acceptance probability that the step size is tuned for, between 0 and 1
    max_treedepth  greatest number of doublings of a trajectory
    jitter_max_retries          attempts to find a starting point with a finite log density
    discard_tuned_samples       False keeps the tuning draws in groups `warmup_…`
    compute_convergence_checks  False leaves out the warnings about divergences, R-hat and effective sizes
    idata_kwargs   `{"log_likelihood": True}` adds what `compute_log_likelihood` does
    callback       called with the events of the run (`consilience.run.events`)
    returns        an `xarray.DataTree` with groups posterior, sample_stats, observed_data, …; after Ctrl-C
                   with the draws made so far and the attribute `interrupted` 1
    raises         InitialPointError where no finite starting point is found; ModelError without free
                   variables or with discrete ones; SamplingError for arguments out of range
    warns          ConvergenceWarning where the draws should not be trusted as they are
    """
    owner = modelcontext(model)
    draws = _count("draws", draws, 1)
    tune = DEFAULT_TUNE if tune is None else _count("tune", tune, 0)
    chains = DEFAULT_CHAINS if chains is None else _count("chains", chains, 1)
    cores = None if cores is None else _count("cores", cores, 1)
    if init not in INITS:
        raise SamplingError(f"`init` must be one of {', '.join(map(repr, INITS))}, got {init!r}.")
    extras = _extras(idata_kwargs)
    kernel = _kernel(step, target_accept, max_treedepth)
    seed = seed_from(random_seed)
    keep = _wanted(var_names, [v.name for v in owner.free] + list(owner.deterministics))
    storage.prepare()
    began = time.perf_counter()
    density = model_density(owner)
    compiled = time.perf_counter()
    attempts = max(1, _count("jitter_max_retries", jitter_max_retries, 0))
    points = starting_positions(density, chains, seed, initvals, jitter=init != "adapt_diag", attempts=attempts)
    with reporter(progressbar) as report:
        listeners: list[Listener] = [report] if callback is None else [report, callback]
        run = run_chains(density, kernel, points, draws=draws, tune=tune, seed=seed, cores=cores, listeners=listeners)
    sampled = time.perf_counter()
    named = _expand(owner, density, run.draws, keep)
    times = _times(run, density, compiled - began, time.perf_counter() - sampled)
    tree = _tree(owner, density, run, named, keep, discard_tuned_samples, kernel, times, tune)
    if extras:
        compute_log_likelihood(tree, model=owner)
    if run.interrupted:
        print(f"Sampling was interrupted: the first {run.draws.shape[1]} draws of each chain are kept.")
    if compute_convergence_checks and run.draws.shape[1]:
        diagnostics.warn(diagnostics.inspect(tree), stacklevel=2)
    return tree


def _extras(idata_kwargs: Mapping[str, Any] | None) -> bool:
    """Whether the log likelihood is wanted."""
    unknown = [name for name in idata_kwargs or {} if name != "log_likelihood"]
    if unknown:
        raise SamplingError(f"`idata_kwargs` may hold 'log_likelihood' only, got {unknown}.")
    return bool((idata_kwargs or {}).get("log_likelihood", False))


def _wanted(var_names: Sequence[str] | str | None, known: Sequence[str]) -> list[str]:
    """The names asked for, all known ones by default."""
    if var_names is None:
        return list(known)
    names = [var_names] if isinstance(var_names, str) else list(var_names)
    unknown = [n for n in names if n not in known]
    if unknown:
        raise ModelError(f"`var_names` names {unknown}, but the model's variables are {list(known)}.")
    return list(dict.fromkeys(names))


def _expand(model: Model, density: ModelDensity, draws: Array, keep: Sequence[str]) -> dict[str, Array]:
    """Draws (chain, draw, coordinate) as named arrays (chain, draw, …)."""
    chains, count, dimension = draws.shape
    wanted_deterministics = any(name in model.deterministics for name in keep)
    flat = np.ascontiguousarray(draws).reshape(chains * count, dimension)
    named = density.expand(flat, wanted_deterministics)
    return {name: named[name].reshape(chains, count, *named[name].shape[1:]) for name in keep}


def _times(run: Run, density: ModelDensity, compile_seconds: float, expand_seconds: float) -> dict[str, float]:
    """Seconds per stage. The run's time is divided between warmup and sampling by numbers of gradients."""
    warm = float(np.sum(run.warmup_statistics.get("n_steps", np.zeros(0))))
    kept = float(np.sum(run.statistics.get("n_steps", np.ones(1))))
    share = warm / max(1.0, warm + kept)
    # A density that was compiled before cost nothing now.
    build = min(density.graph_seconds, compile_seconds) if compile_seconds >= density.compile_seconds else 0.0
    return {
        "time_build": build,
        "time_compile": compile_seconds - build,
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
    return storage.build(
        named,
        dict(run.statistics),
        _observed(model),
        _constant(model),
        model.coords,
        model.named_vars_to_dims,
        attributes,
        **warmup,
    )


def _constant(model: Model) -> dict[str, Array]:
    """Present values of the model's data by name."""
    _, values, _, _ = slot_values(model)
    return dict(zip(model.data, values, strict=True))


def _observed(model: Model) -> dict[str, Array]:
    """Observed values by variable; left out where they do not fit the present data's lengths."""
    slots, values, _, lengths = slot_values(model)
    known = dict(zip(slots, values, strict=True))
    result = {}
    for variable in model.observed:
        used = set(topological([variable.data]))
        (array,) = reference.evaluate([variable.data], {s: v for s, v in known.items() if s in used})
        if array.shape == tuple(dims.substitute(n, lengths) for n in variable.node.static_shape):
            result[variable.name] = array
    return result


def sample_prior_predictive(
    draws: int = PREDICTIVE_DRAWS,
    model: Model | None = None,
    var_names: Sequence[str] | None = None,
    random_seed: Any = None,
) -> xarray.DataTree:
    """Draw all variables from the prior, data included.

    var_names   variables to keep; all by default
    returns     groups `prior` (free variables, deterministics) and `prior_predictive` (observed variables),
                with one chain; `observed_data`, `constant_data`
    warns       ConsilienceWarning where the model has potentials, which have no part in this
    """
    owner = modelcontext(model)
    draws = _count("draws", draws, 1)
    free = [v.name for v in owner.free] + list(owner.deterministics)
    observed = [v.name for v in owner.observed]
    names = _wanted(var_names, free + observed)
    storage.prepare()
    redrawn(owner, names, [])
    if owner.potentials:
        _without_potentials(owner)
    values = predict(owner, names, {}, draws, seed_from(random_seed))
    return storage.build(
        {},
        prior={n: values[n][None] for n in names if n in free},
        prior_predictive={n: values[n][None] for n in names if n in observed},
        observed_data=_observed(owner),
        constant_data=_constant(owner),
        coords=owner.coords,
        dims=owner.named_vars_to_dims,
    )


def _without_potentials(model: Model) -> None:
    warnings.warn(
        f"draws from the prior leave out the potentials {', '.join(f'`{n}`' for n in model.potentials)}.",
        ConsilienceWarning,
        stacklevel=3,
    )


def sample_posterior_predictive(
    trace: xarray.DataTree,
    model: Model | None = None,
    var_names: Sequence[str] | None = None,
    *,
    extend_inferencedata: bool = True,
    predictions: bool = False,
    random_seed: Any = None,
) -> xarray.DataTree:
    """Draw new data for every draw of the posterior.

    trace         a result of `sample`; free variables that it does not hold are drawn from their prior, with
                  a warning where they are not among `var_names`
    var_names     variables to draw or compute; the observed ones by default. Deterministics are computed anew
    predictions   store the draws as group `predictions`, and the data as `predictions_constant_data`, for
                  data other than those the model was fitted to
    returns       `trace` with the group added, or a tree with that group alone if `extend_inferencedata` is
                  False
    raises        ModelError without observed variables, for unknown names, or where what has to be drawn has
                  no random generator; ShapeError where the draws do not fit the present data
    """
    owner = modelcontext(model)
    observed = [v.name for v in owner.observed]
    known = [v.name for v in owner.free] + observed + list(owner.deterministics)
    names = _wanted(var_names, known) if var_names is not None else observed
    if not names:
        raise ModelError("the model has no observed variables; name what to compute with `var_names`.")
    given, chains, count = _posterior(owner, trace)
    anew = redrawn(owner, names, list(given))
    unasked = [name for name in anew if name not in names]
    if unasked:
        warnings.warn(
            f"the posterior holds no draws of {', '.join(f'`{n}`' for n in unasked)}, so they are drawn "
            "from their prior.",
            ConsilienceWarning,
            stacklevel=2,
        )
    if anew and owner.potentials:
        _without_potentials(owner)
    values = predict(owner, names, given, chains * count, seed_from(random_seed))
    arrays = {name: value.reshape(chains, count, *value.shape[1:]) for name, value in values.items()}
    groups: dict[str, dict[str, Array]] = {"predictions" if predictions else "posterior_predictive": arrays}
    if predictions and owner.data:
        groups["predictions_constant_data"] = _constant(owner)
    if not extend_inferencedata:
        return tree_of(groups, owner.coords, owner.named_vars_to_dims)
    for group, members in groups.items():
        storage.extend(trace, group, members, owner.coords, owner.named_vars_to_dims)
    return trace


def compute_log_likelihood(
    trace: xarray.DataTree,
    *,
    var_names: Sequence[str] | None = None,
    extend_inferencedata: bool = True,
    model: Model | None = None,
) -> xarray.DataTree:
    """The log density of each observation at every draw of the posterior, for model comparison.

    var_names   observed variables; all by default
    returns     `trace` with the group `log_likelihood` added, or a tree with that group alone if
                `extend_inferencedata` is False
    """
    owner = modelcontext(model)
    names = _wanted(var_names, [v.name for v in owner.observed])
    if not names:
        raise ModelError("the model has no observed variables, so there is no likelihood.")
    given, chains, count = _posterior(owner, trace)
    values = log_likelihood(owner, names, given, chains * count)
    arrays = {name: value.reshape(chains, count, *value.shape[1:]) for name, value in values.items()}
    # A vector that is one event has one number, and so not its axes.
    axes = {n: owner.dims_of[n][: arrays[n].ndim - 2] for n in names if n in owner.dims_of}
    if extend_inferencedata:
        return storage.extend(trace, "log_likelihood", arrays, owner.coords, axes)
    return tree_of({"log_likelihood": arrays}, owner.coords, axes)


def _posterior(model: Model, trace: xarray.DataTree) -> tuple[dict[str, Array], int, int]:
    """Draws of the model's free variables (draw of all chains, …), and the numbers of chains and draws."""
    if "posterior" not in trace:
        raise ModelError("the trace has no group `posterior`; pass a result of `pm.sample`.")
    posterior = trace["posterior"]
    chains, count = posterior.sizes["chain"], posterior.sizes["draw"]
    given = {}
    for variable in model.free:
        if variable.name in posterior:
            array = posterior[variable.name].transpose("chain", "draw", ...).to_numpy()
            given[variable.name] = array.reshape(chains * count, *array.shape[2:])
    return given, chains, count
