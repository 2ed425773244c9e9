"""Draws from the posterior of a model: arguments are checked, the model is compiled, and a run of chains begins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.distributions.seeds import seed_from
from consilience.errors import SamplingError
from consilience.inference import NUTS, CompoundStep, Kernel
from consilience.inference.fisher_metric import Form
from consilience.model.model import Model, modelcontext
from consilience.model.reparametrization import centred_hierarchies
from consilience.model.signature import signature
from consilience.model.starting_point import InitialValues, starting_positions
from consilience.model.warm_start import is_result
from consilience.output import storage
from consilience.record import as_plain, replace
from consilience.run import Options
from consilience.run import checkpoint as checkpoints
from consilience.sample import keywords
from consilience.sample.ahead import prepare_sampler
from consilience.sample.arguments import extras, one_of, wanted, whole_number
from consilience.sample.background import BackgroundSampling
from consilience.sample.beginning import begun
from consilience.sample.identity import identity
from consilience.sample.less_centred import WIDE, LessCentred, on_threads
from consilience.sample.monitoring import angular_coordinates, monitored_of
from consilience.sample.result_options import ResultOptions
from consilience.sample.step_methods import assigned
from consilience.sample.work import Work, compiled
from consilience.vectorised import ChEES

StartingValues: TypeAlias = InitialValues | Sequence[InitialValues | None] | None

BACKENDS: Final = ("llvm", "jax")
DEFAULT_CHAINS: Final = 4
LOCK_STEP_CHAINS: Final = 128  # fewer know little of the trajectory length
INITS: Final = (
    "lbfgs", "auto", "jitter+adapt_diag", "adapt_diag", "jitter+adapt_diag_grad", "adapt_full", "jitter+adapt_full",
)  # fmt: skip
FITS: Final = {
    "pathfinder": "pm.fit_pathfinder()",
    "advi": "pm.fit().sample()",
    "map": "pm.find_MAP()",
}
RHATS: Final = ("noise-adjusted", "strict")


def sample(
    draws: int | None = None,
    *,
    tune: int | None = None,
    chains: int | None = None,
    cores: int | None = None,
    random_seed: Any = None,
    progressbar: bool | str = True,
    step: Kernel | Sequence[Kernel] | None = None,
    var_names: Sequence[str] | None = None,
    initvals: StartingValues = None,
    init: str = "lbfgs",
    target_accept: float = 0.8,
    max_treedepth: int = 10,
    jitter_max_retries: int = 100,
    discard_tuned_samples: bool = True,
    compute_convergence_checks: bool = True,
    idata_kwargs: Mapping[str, Any] | None = None,
    callback: Callable[..., Any] | None = None,
    model: Model | None = None,
    target_ess: float | None = 400,
    target_rhat: float = 1.01,
    rhat: Literal["noise-adjusted", "strict"] = "noise-adjusted",
    min_tune: int = 50,
    max_tune: int = 1500,
    min_draws: int = 400,
    max_draws: int = 4000,
    pool: bool = True,
    metric: Form = "auto",
    escalate: bool = True,
    reparametrize: bool = True,
    jumps: int | Literal["auto"] = "auto",
    modes: bool = True,
    monitor: str | Sequence[str] | None = None,
    max_time: float | None = None,
    window_budget: int | None = None,
    checkpoint: str | Path | None = None,
    store: str | Path | None = None,
    overwrite: bool = False,
    deterministics: Literal["lazy", "eager"] = "lazy",
    blocking: bool = True,
    nuts: Mapping[str, Any] | None = None,
    backend: Literal["llvm", "jax"] | None = None,
    device: Any = None,
    **pymc: Any,
) -> Any:
    """Draw from the posterior of a model with the No-U-Turn Sampler, until the draws are good enough.

    Without numbers the chains tune together for as long as metric and step size change, then draw until every
    scalar has `target_ess` effective draws, in bulk and tails, and the chains agree. `draws` and `tune` fix the
    length of either phase instead, as in PyMC.

    draws, tune    kept draws per chain, and tuning draws before them
    chains         number of chains (4)
    cores          greatest number of threads; the processors this process may use by default. The draws do
                   not depend on it
    random_seed    integer, sequence of integers, Generator or RandomState; a fresh seed by default. The seed is kept in
                   the attributes of the result
    step           another kernel: `pm.HamiltonianMC()`, `pm.Metropolis()`; each chain then tunes by itself
    var_names      names of the variables to keep; all free variables and deterministics by default
    initvals       starting values by name (`tau`, or `tau_log__` on the unconstrained line), or one mapping
                   per chain; "prior" or "support_point" in place of numbers. Or a result with a posterior, of
                   `pm.fit_pathfinder` or an earlier run: chains begin at draws of it, without noise by default
    init           "lbfgs": wide noise on the starting values, then some steps of L-BFGS to the typical set; "auto"
                   or "jitter+adapt_diag" (or "…_grad"): starting values with noise; "adapt_diag": without. "adapt_full"
                   and "jitter+adapt_full": the same, with `metric="dense"` unless another is asked for
    target_accept  mean acceptance probability that the step size is tuned for, between 0 and 1
    max_treedepth  greatest number of doublings of a trajectory
    jitter_max_retries          attempts to find a starting point with a finite log density
    discard_tuned_samples       False keeps the tuning draws in groups `warmup_…`
    compute_convergence_checks  False leaves out the warnings, and the checks of fixed lengths: they end "completed"
    idata_kwargs   `{"log_likelihood": True}` adds what `compute_log_likelihood` does; so does "log_prior";
                   "include_transformed" adds values of transformed variables to the posterior, as `tau_log__`
    callback       called with the events of the run (`consilience.events`), or, if its arguments have the names `trace`
                   and `draw`, once per kept draw as in PyMC; never in the way of the chains. Raising KeyboardInterrupt
                   in it ends the run
    target_ess     effective draws asked for, the smaller of bulk and tail; None: only the chains' agreement
    target_rhat    R-hat may be above it only as far as noise explains, and never by 0.04
    rhat           "strict": R-hat must be below `target_rhat`, whatever the noise
    min_tune, max_tune    tuning draws per chain where the run decides
    min_draws, max_draws  kept draws per chain where the run decides: at the first check, and at most
    pool           False: every chain tunes by itself
    metric         "diag", "lowrank" (a diagonal and some directions), "dense", or "auto": as many directions as pay
    escalate       whether divergences lead to another tuning with smaller steps, once
    reparametrize  whether hierarchies whose draws diverge, would have to be many times as many, or hardly move between
                   energies are sampled in less centred coordinates, as `pm.noncenter` writes them, each element as far
                   as the draws ask for: once, with a restart. The variables of the result stay those of the model, and
                   its attribute `centredness` tells what was chosen. Only where the run decides its length, chains
                   begin by `init="lbfgs"`, and `jumps` is not a number above 0
    jumps          jumps between past points of all chains after each transition, for separate modes; "auto": 4, with a
                   restart, where the run decides its length and chains disagree, or do not come back to where some of
                   them were, or to modes found before. 0: none
    modes          whether separate modes are looked for before the chains begin, by some thousand gradients: chains
                   then begin in each that has more than 0.5 % of the mass, and one that no draw has come to forbids
                   "converged". Only where convergence is checked, chains begin by `init="lbfgs"`, one step method that
                   uses gradients moves all variables, and none is an angle
    monitor        names of deterministics to watch besides the free variables, whose coordinates and, of simplexes and
                   the like, up to 32 elements are watched always. Others may be worth fewer draws than `target_ess`;
                   to watch 85 or 200 elements takes 10 ms of a run of 120 or 45 ms, and compiling them comes first
    max_time       seconds for the run, from where chains begin; it then ends with the draws it has
    window_budget  evaluations of the log density a chain may spend between two checks; one that spends more
                   is restarted once, then left out
    checkpoint     file in which the run's state is kept while it goes on; see `pm.resume`
    store          "….zarr": draws are appended there while the run goes on; "….nc": written at the end
    overwrite      whether checkpoint and store may replace those of another run
    deterministics "lazy": computed from the draws when they are looked at; "eager": at the end of the run
    blocking       False returns at once with a `BackgroundSampling`, whose `wait()` gives the result
    nuts           `{"target_accept": …, "max_treedepth": …}`, as in PyMC
    backend        "llvm": chains on threads. "jax": chains in lock step on one device, by ChEES-HMC, for hundreds and
                   thousands of chains (128 by default). From 64 on they begin at 16 points and are judged by nested
                   R-hat, and `min_draws` is that of four chains: more have as many draws in all at the first check
    device         of JAX: "cpu", "gpu", "gpu:1"; its first by default, an accelerator where there is one
    pymc           PyMC's other keywords: those without meaning here pass, the rest are refused with what to use
    returns        an `xarray.DataTree` with groups posterior, sample_stats, observed_data, … and `status`, `reason`,
                   `worst`, `extend(target_ess=…)`. Status is "converged", "converged_with_divergences",
                   "not_converged", "chains_disagree", or "interrupted" after Ctrl-C, then with the draws made so far
    raises         InitialPointError where no finite starting point is found; ModelError without free
                   variables or with discrete ones; SamplingError for arguments out of range; StorageError where
                   checkpoint or store cannot be written; MissingPackageError for `backend="jax"` without JAX
    warns          ConvergenceWarning where the draws should not be trusted as they are
    """
    asked = dict(locals())
    owner = modelcontext(model)
    keywords.check("sample", pymc, KEYWORDS)
    target_accept, max_treedepth = keywords.nuts_settings(nuts, target_accept, max_treedepth)
    if isinstance(init, str) and (method := next((m for m in FITS if m in init), None)):
        raise SamplingError(
            f"`init={init!r}`: chains begin at draws of a fit that was made before: give `initvals={FITS[method]}`."
        )
    one_of("init", init, INITS)
    metric = "dense" if init.endswith("full") and metric == "auto" else metric
    one_of("rhat", rhat, RHATS)
    one_of("deterministics", deterministics, ("lazy", "eager"))
    if jumps != "auto":
        whole_number("jumps", jumps, 0)
    options = Options(
        draws=None if draws is None else whole_number("draws", draws, 1),
        tune=None if tune is None else whole_number("tune", tune, 0),
        rule=StoppingRule(target_ess, target_rhat, rhat == "strict"),
        min_tune=whole_number("min_tune", min_tune, 0),
        max_tune=whole_number("max_tune", max_tune, 1),
        min_draws=whole_number("min_draws", min_draws, 4),
        max_draws=whole_number("max_draws", max_draws, 4),
        pool=pool,
        escalate=escalate,
        max_time=max_time,
        window_budget=None if window_budget is None else whole_number("window_budget", window_budget, 1),
        keep_tuning=not discard_tuned_samples,
    )
    backend = "llvm" if backend is None else backend
    one_of("backend", backend, BACKENDS)
    lock_step = backend == "jax"
    if lock_step:
        from consilience.sample.lock_step import in_lock_step, in_other_coordinates, refuse

        refuse(asked)
    elif device is not None:
        raise SamplingError('`device` is one of JAX; say `backend="jax"` too.')
    usual = LOCK_STEP_CHAINS if lock_step else DEFAULT_CHAINS
    chains = usual if chains is None else whole_number("chains", chains, 1)
    cores = None if cores is None else whole_number("cores", cores, 1)
    if init == "lbfgs" and is_result(initvals):
        init = "adapt_diag"
    climbing = init == "lbfgs"
    default = NUTS(
        target_accept=target_accept, max_treedepth=max_treedepth, metric=metric, jumps=jumps, initialize=climbing
    )
    result = ResultOptions(
        names=tuple(wanted(var_names, [v.name for v in owner.free] + list(owner.named_deterministics))),
        monitor=(monitor,) if isinstance(monitor, str) else tuple(monitor or ()),
        checks=compute_convergence_checks,
        extras=extras(idata_kwargs),
        lazily=deterministics == "lazy",
        store=None if store is None else str(store),
    )
    seed = seed_from(random_seed)
    attempts = max(1, whole_number("jitter_max_retries", jitter_max_retries, 0))
    jitter, width = not init.startswith("adapt"), WIDE if climbing else 1.0
    free = initvals is None and climbing
    alone = draws is None and free
    if lock_step:
        chees = ChEES(target_accept)
        density, compile_seconds = compiled(owner)
        result = replace(result, noncenter=reparametrize and alone and bool(centred_hierarchies(owner)))
        settings: dict[str, Any] = {
            "chains": chains,
            "seed": seed,
            "initvals": initvals,
            "jitter": jitter,
            "attempts": attempts,
            "width": width,
            "climb": climbing,
            "device": device,
        }
        other = LessCentred(in_other_coordinates(settings), once=True) if result.noncenter else None
        run = in_lock_step(density, chees, options, monitored_of(density, result), **settings, reparametrized=other)
        work = Work(owner, density, chees, options, result, run, compile_seconds)
        if other is not None:
            other.work = work
        return _begun(work, asked)
    prepare_sampler(default if step is None else None)
    storage.prepare()
    density, compile_seconds = compiled(owner)
    kernel = assigned(owner, density, step, default)
    points = starting_positions(
        density,
        chains,
        seed,
        initvals,
        jitter=jitter,
        attempts=attempts,
        width=width,
    )
    along_gradients = kernel.needs == "gradient" and not isinstance(kernel, CompoundStep)
    judged = draws is None or compute_convergence_checks
    result = replace(
        result,
        modes=modes and free and along_gradients and judged and angular_coordinates(density) is None,
        noncenter=reparametrize
        and alone
        and isinstance(kernel, NUTS)
        and jumps in (0, "auto")
        and bool(centred_hierarchies(owner)),
    )
    keeper = None
    if checkpoint is not None:
        known = identity(signature(density), kernel, options, chains, seed)
        keeper = checkpoints.Checkpoint.create(checkpoint, known, as_plain(result), overwrite)
    coordinates = LessCentred(on_threads(cores)) if result.noncenter else None
    try:
        running = begun(
            density, kernel, points, options, result, seed=seed, cores=cores, keep=keeper, reparametrized=coordinates
        )
    except BaseException:
        if keeper is not None:
            keeper.close()  # or its lock would outlive the failed call
        raise
    work = Work(owner, density, kernel, options, result, running, compile_seconds, keeper)
    moved = [f"`{v.name}`" for v in owner.free if v.continuous]
    if step is None and density.without_gradient and moved:
        listed = ", ".join(moved[:5]) + ", …" * (len(moved) > 5)
        work.notes.append(f"{listed} moved by Slice, which needs no gradient: {density.without_gradient}")
    if coordinates is not None:
        coordinates.work = work
    return _begun(work, asked)


def _begun(work: Work, asked: Mapping[str, Any]) -> Any:
    """The result of a run with its callback, progress display and store, or the run in the background."""
    work.listen(asked["callback"])
    work.progressbar = bool(asked["progressbar"])
    work.open_store(asked["overwrite"])
    return work.run(stacklevel=3) if asked["blocking"] else BackgroundSampling.begun(work)


KEYWORDS: Final = tuple(inspect.signature(sample).parameters)[:-1]
