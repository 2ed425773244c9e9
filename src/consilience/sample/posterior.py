"""Draws from the posterior of a model: arguments are checked, the model is compiled, and a run of chains begins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.distributions.seeds import seed_from
from consilience.errors import InitialPointError, SamplingError
from consilience.inference import NUTS, Kernel
from consilience.ir import Node
from consilience.model.model import Model, modelcontext
from consilience.model.reparametrization import centred_hierarchies, fields, standard_variables
from consilience.model.signature import signature
from consilience.model.starting_point import InitialValues, starting_positions
from consilience.model.warm_start import is_result
from consilience.record import replace
from consilience.run import RunPlan
from consilience.run.lock_step import ChEES
from consilience.run.plan import whole_number
from consilience.sample import keywords
from consilience.sample.arguments import PROGRESS_BARS, extras, one_of, wanted
from consilience.sample.background import delivered
from consilience.sample.beginning import Begin, on_threads
from consilience.sample.compiling import compiled, prepare_sampler
from consilience.sample.groups import REMEDIES, SPELLED, Save, Stop, Tuning, whole
from consilience.sample.monitoring import angular_coordinates
from consilience.sample.plan import LARGE, ModelPlan, identity
from consilience.sample.step_methods import assigned
from consilience.sample.work import WIDE, Work, rewritten

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


def sample(
    draws: int | None = None,
    *,
    tune: int | None = None,
    chains: int | None = None,
    cores: int | None = None,
    threads_per_chain: int | None = None,
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
    stop: Stop | None = None,
    tuning: Tuning | None = None,
    remedies: Sequence[str] = REMEDIES,
    integrate: bool | str | Node | Sequence[str | Node] = True,
    save: Save | None = None,
    blocking: bool = True,
    nuts: Mapping[str, Any] | None = None,
    backend: Literal["llvm", "jax"] | None = None,
    device: Any = None,
    watch: bool = False,
    executor: Any = None,
    **pymc: Any,
) -> Any:
    """Draw from the posterior of a model with the No-U-Turn Sampler, until the draws are good enough.

    Without numbers the chains tune together for as long as metric and step size change, then draw until every
    scalar has 400 effective draws (`stop`), in bulk and tails, and the chains agree: as many as it takes, while their
    own forecast says that they take no more evaluations than a usual machine makes in a minute, or five times those of
    tuning and the first 400 draws. `draws` and `tune` fix the length of either phase instead, as in PyMC.

    Parameters
    ----------
    draws, tune : int, optional
        Kept draws per chain, and tuning draws before them.
    chains : int, optional
        Number of chains (4).
    cores : int, optional
        Greatest number of threads; the processors this process may use by default. The draws do not depend on it.
    threads_per_chain : int, optional
        Threads for one evaluation of a log density that takes long (some 100 us): its rows are cut into chunks, whose
        number depends on the model alone, and so do the draws. By default as many as chains leave idle, so that one
        chain has all `cores`; 2: half as many chains at a time with two each. A warning says so where there is nothing
        to cut, and which term joins its rows.
    random_seed : int, sequence of int or Generator, optional
        Integer, sequence of integers, Generator or RandomState; a fresh seed by default. The seed is kept in the
        attributes of the result.
    progressbar : bool or str, default True
        Whether progress is shown. PyMC's words, such as 'combined+stats', show what True shows.
    step : Kernel or sequence of Kernel, optional
        Another kernel: `pm.HamiltonianMC()`, `pm.Metropolis()`; each chain then tunes by itself. Discrete variables
        that no step method is given to are summed out while chains move, where that can be, and drawn afterwards given
        all others: the result has them all. So are continuous variables that act through comparisons alone, as
        `tau` does in `pm.math.switch(t < tau, a, b)`. The result's attribute `marginalized` has their names, and
        `sample_stats.lp` is the log density summed over them.
    var_names : sequence of str, optional
        Names of the variables to keep; all free variables and deterministics by default.
    initvals : mapping or sequence of mapping, optional
        Starting values by name (`tau`, or `tau_log__` on the unconstrained line), or one mapping per chain; "prior" or
        "support_point" in place of numbers. Or a result with a posterior, of `pm.fit_pathfinder` or an earlier run:
        chains begin at draws of it, without noise by default.
    init : str, default 'lbfgs'
        "lbfgs": wide noise on the starting values, then some steps of L-BFGS to the typical set; "auto" or
        "jitter+adapt_diag" (or "…_grad"): starting values with noise; "adapt_diag": without. "adapt_full" and
        "jitter+adapt_full": the same, with the metric "dense" unless another is asked for.
    target_accept : float, default 0.8
        Mean acceptance probability that the step size is tuned for, between 0 and 1.
    max_treedepth : int, default 10
        Greatest number of doublings of a trajectory.
    jitter_max_retries : int, default 100
        Attempts to find a starting point with a finite log density.
    discard_tuned_samples : bool, default True
        False keeps the tuning draws in groups `warmup_…`.
    compute_convergence_checks : bool, default True
        False leaves out the warnings, and the checks of fixed lengths: they end "completed".
    idata_kwargs : mapping, optional
        `{"log_likelihood": True}` adds what `compute_log_likelihood` does; so does "log_prior"; "include_transformed"
        adds values of transformed variables to the posterior, as `tau_log__`.
    callback : callable, optional
        Called with the events of the run (`consilience.events`), or, if its arguments have the names `trace` and
        `draw`, once per kept draw as in PyMC; never in the way of the chains. Raising KeyboardInterrupt in it ends the
        run.
    model : ...
    stop : Stop, optional
        When draws are good enough, and where the run ends all the same: `pm.Stop(ess=400, rhat=1.01, max_draws=None,
        max_time=None, …)`.
    tuning : Tuning, optional
        How chains tune: `pm.Tuning(metric="auto", pool=True, max=1500, …)`.
    remedies : str or sequence of str, default ('coordinates', 'steps', 'metric', 'jumps', 'modes')
        What the run may change when draws show that it is needed; `()` for nothing.

        - "steps": divergences lead to another tuning with smaller steps, once.
        - "metric": draws that contradict the metric lead to another tuning with one made of them.
        - "coordinates": hierarchies whose draws diverge, would have to be many times as many, or hardly move between
          energies go on in partially non-centred coordinates, as `pm.noncenter` writes them, each element as far as the
          draws ask for: once, with a restart. Large random walks, AR, CAR and ICAR fields with an estimated scale go on
          in units of it, early in tuning. The variables of the result stay those of the model, and its attribute
          `centredness` tells what was chosen. Only where the run decides its length, chains begin by `init="lbfgs"`,
          and no number of jumps is given.
        - "jumps": where several modes were found before, a jump between them before each transition, from the first
          draw on. 4 jumps between past points of all chains, with a restart, where the run decides its length and
          chains disagree, or do not come back to where some of them were; `nuts={"jumps": 4}` has those from the first
          draw on.
        - "modes": separate modes are looked for before the chains begin, by some thousand gradients: chains then begin
          in each that has more than 0.5 % of the mass, and one that no draw has come to forbids.
    integrate : bool or str or TensorVariable or sequence of these, default True
        Continuous variables that are integrated out while chains move, and drawn afterwards from their exact
        distribution given all others; the result has them all. They are normal given all others, and so is what depends
        on them, linearly (random walks, autoregressions, effects of groups, latent Gaussian processes with normal
        data), or of a conjugate family (Gamma with Poisson counts or exponential times, Beta with binomial counts,
        inverse Gamma with normal data, Dirichlet with categories, …). True: large ones whose integral costs little
        beside what it saves; the result's attribute `integrated` tells which. False: none. Names: these, whatever it
        costs, and no others.
    save : Save, optional
        What is written while the run goes on: `pm.Save(checkpoint="run", store="run.zarr")`.
    blocking : bool, default True
        False returns at once with a `BackgroundSampling`, whose `wait()` gives the result.
    nuts : mapping, optional
        `{"target_accept": …, "max_treedepth": …}`, as in PyMC; "jumps" is a number of them.
    backend : {'llvm', 'jax'}, optional
        "llvm": chains on threads. "jax": chains in lock step on one device, by ChEES-HMC, for hundreds and thousands of
        chains (128 by default). From 64 on they begin at 16 points and are judged by nested R-hat, and
        `pm.Stop(min_draws=…)` is that of four chains: more have as many in all at the first check.
    device : str, optional
        Of JAX: "cpu", "gpu", "gpu:1"; its first by default, an accelerator where there is one.
    watch : bool, default False
        True shows the run in a browser while it goes on, and prints the address: `docs/do/watching.md`.
    executor : Executor, optional
        Moves the chains on other processes and machines: an executor of `concurrent.futures` (a process pool, loky,
        MPI), a Dask client or `pm.cluster.ray()`. The draws are those of threads, whatever becomes of workers; it pays
        where a second of work per chain is little: docs/do/clusters.md. Or `pm.cluster.shards(…)`: chains stay here,
        and workers hold the rows of the data.
    **pymc : object
        PyMC's other keywords: those without meaning here pass, the rest are refused with what to use. Older names of
        parts of `stop`, `tuning`, `remedies` and `save`, as `target_ess`, work as ever.

    Returns
    -------
    object
        An `xarray.DataTree` with groups posterior, sample_stats, observed_data, … and `status`, `reason`, `worst`,
        `extend(target_ess=…)`. Status is "converged", "converged_with_divergences", "not_converged", "chains_disagree",
        or "interrupted" after Ctrl-C, then with the draws made so far.

    Raises
    ------
    InitialPointError
        Where no finite starting point is found.
    ModelError
        Without free variables or with discrete ones.
    SamplingError
        For arguments out of range.
    StorageError
        Where checkpoint or store cannot be written.
    MissingPackageError
        For `backend="jax"` without JAX.

    Warns
    -----
    ConvergenceWarning
        Where the draws should not be trusted as they are.

    See Also
    --------
    Save : What is written to the disk while a run goes on.
    Stop : When draws are good enough.
    Tuning : How chains tune.

    Examples
    --------
    >>> import consilience as pm
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0.0, 10.0)
    ...     pm.Normal("y", mu, 1.0, observed=[1.2, 0.7, 2.1])
    ...     result = pm.sample(random_seed=1, progressbar=False)
    <y: Normal float64[3]>
    >>> result.status
    'converged'
    """
    rest = dict(pymc)
    groups = whole("sample", rest, stop=stop, tuning=tuning, remedies=remedies, save=save)
    stop, tuning, save, may = groups.stop, groups.tuning, groups.save, groups.remedies
    keywords.check("sample", rest, KEYWORDS, spelled=SPELLED)
    owner = modelcontext(model)
    jumps: int | Literal["auto"] = groups.jumps or ("auto" if "jumps" in may else 0)
    target_accept, max_treedepth, jumps = keywords.nuts_settings(nuts, target_accept, max_treedepth, jumps)
    if isinstance(init, str) and (method := next((m for m in FITS if m in init), None)):
        raise SamplingError(
            f"`init={init!r}`: chains begin at draws of a fit that was made before: give `initvals={FITS[method]}`."
        )
    one_of("init", init, INITS)
    one_of("progressbar", progressbar, PROGRESS_BARS)
    metric = "dense" if init.endswith("full") and tuning.metric == "auto" else tuning.metric
    if jumps != "auto":
        whole_number("jumps", jumps, 0)
    backend = "llvm" if backend is None else backend
    one_of("backend", backend, BACKENDS)
    lock_step = backend == "jax"
    if lock_step:
        if executor is not None:
            raise SamplingError('`executor` moves chains of `backend="llvm"`; leave out one of both.')
        from consilience.sample import lock_step as together

        together.refuse(
            threads_per_chain=threads_per_chain, step=step, nuts=nuts, save=save, tuning=tuning, jumps=jumps
        )
    elif device is not None:
        raise SamplingError('`device` is one of JAX; say `backend="jax"` too.')
    summed: tuple[str, ...] = ()
    apart = type(executor).__name__ == "Shards"  # the rows are not here
    if integrate is True and lock_step:  # other devices have no sparse factors, and need none where chains are many
        integrate = False
    if apart and not isinstance(integrate, bool):
        raise SamplingError("`integrate` names variables to integrate out, which needs all rows here; leave it out.")
    large = any(v.continuous and v.size >= LARGE for v in owner.free)
    others = owner.has_steps() or (integrate and large if isinstance(integrate, bool) else True)
    if (others and not apart) or not all(v.continuous for v in owner.free):
        from consilience.sample import summing  # few models need it

        summed, initvals = summing.eliminated(owner, step, initvals, False if apart else integrate)
    if init == "lbfgs" and is_result(initvals):
        init = "adapt_diag"
    climbing = init == "lbfgs"
    free = initvals is None and climbing
    alone = draws is None and free
    other = centred_hierarchies(owner) or fields(owner) or standard_variables(owner)  # coordinates there may be
    movable = "coordinates" in may and alone and bool(other) and not apart
    plan = ModelPlan(
        draws=None if draws is None else whole_number("draws", draws, 1),
        tune=tune,
        rule=StoppingRule(stop.ess, stop.rhat, stop.strict),
        min_tune=tuning.min,
        max_tune=tuning.max,
        min_draws=RunPlan.min_draws if stop.min_draws is None else stop.min_draws,
        max_draws=stop.max_draws,
        pool=tuning.pool,
        remedies=tuple(name for name in may if name != "modes" and (movable or name != "coordinates")),
        max_time=stop.max_time,
        window_budget=tuning.budget,
        keep_tuning=not discard_tuned_samples and (idata_kwargs or {}).get("save_warmup") is not False,
        names=tuple(wanted(var_names, [v.name for v in owner.free] + list(owner.named_deterministics))),
        monitor=(stop.monitor,) if isinstance(stop.monitor, str) else tuple(stop.monitor or ()),
        checks=compute_convergence_checks,
        extras=extras(idata_kwargs),
        lazily=save.deterministics == "lazy",
        store=None if save.store is None else str(save.store),
        marginalized=summed,
    )
    usual = LOCK_STEP_CHAINS if lock_step else DEFAULT_CHAINS
    chains = usual if chains is None else whole_number("chains", chains, 1)
    cores = None if cores is None else whole_number("cores", cores, 1)
    if threads_per_chain is not None:
        whole_number("threads_per_chain", threads_per_chain, 1)
        if executor is not None and threads_per_chain > 1:
            raise SamplingError(
                "`threads_per_chain`: with an `executor` a chain, or a shard, has one thread; leave out one of both."
            )
    seed = seed_from(random_seed)
    attempts = max(1, whole_number("jitter_max_retries", jitter_max_retries, 0))
    default = NUTS(
        target_accept=target_accept, max_treedepth=max_treedepth, metric=metric, jumps=jumps, initialize=climbing
    )
    if not lock_step:
        prepare_sampler(default if step is None else None)
    moved = rewritten(owner, plan)
    density, compile_seconds = compiled(moved)
    if apart:
        from consilience.sample.sharded import divided  # few runs need it

        density, executor = divided(density, executor, plan.extras, summed)
    kernel: Kernel | ChEES
    begin: Begin
    if lock_step:
        together.check(density)
        kernel = ChEES(target_accept)
        begin = partial(together.in_lock_step, kernel=kernel, chains=chains, seed=seed, device=device, climb=climbing)
        starts = together.starting_points(chains, initvals)
    else:
        kernel = assigned(moved, density, step, default)
        begin = partial(
            on_threads, kernel=kernel, seed=seed, cores=cores, threads_per_chain=threads_per_chain,
            written=owner if set(summed) - density.integrated.keys() else None, executor=executor,
        )  # fmt: skip
        starts = chains
        if not isinstance(kernel, NUTS) or jumps not in (0, "auto"):
            plan = replace(plan, remedies=tuple(name for name in plan.remedies if name != "coordinates"))
    judged = draws is None or compute_convergence_checks
    looked_for = "modes" in may and free and judged and not density.without_gradient and not apart
    looked_for = looked_for and not any(v.has_trees for v in density.model.free)
    plan = replace(plan, modes=looked_for and angular_coordinates(density) is None)
    jitter, width = not init.startswith("adapt"), WIDE if climbing else 1.0
    plan = replace(plan, noise=width if jitter and initvals is None else 0.0)
    try:
        points = starting_positions(density, starts, seed, initvals, jitter=jitter, attempts=attempts, width=width)
    except InitialPointError:
        if summed:  # the model as it is written names the variable at fault
            starting_positions(compiled(owner)[0], starts, seed, initvals, jitter=jitter, attempts=attempts)
        raise
    keeper = None
    if save.checkpoint is not None and isinstance(kernel, Kernel):
        from consilience.run import checkpoint as checkpoints

        known = identity(signature(density), kernel, plan, chains, seed)
        keeper = checkpoints.Checkpoint.create(save.checkpoint, known, plan.of_the_result, save.overwrite)
    try:
        work = Work(owner, density, kernel, plan, begin, points, compile_seconds, keeper)
    except BaseException:
        if keeper is not None:
            keeper.close()  # or its lock would outlive the failed call
        raise
    if (threads_per_chain or 1) > 1 and density.chunks < 2:
        work.notes.append(f"`threads_per_chain={threads_per_chain}` has no effect: {density.why_whole()}.")
    work.notes += density.notes()
    continuous = [f"`{v.name}`" for v in owner.free if v.continuous]
    if step is None and density.without_gradient and continuous:
        listed = ", ".join(continuous[:5]) + ", …" * (len(continuous) > 5)
        work.notes.append(f"{listed} moved by Slice, which needs no gradient: {density.without_gradient}")
    return delivered(work, callback, progressbar, overwrite=save.overwrite, blocking=blocking, watch=watch)


KEYWORDS: Final = tuple(inspect.signature(sample).parameters)[:-1]
