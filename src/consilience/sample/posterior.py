"""Draws from the posterior of a model: arguments are checked, the model is compiled, and a run of chains begins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.distributions.seeds import seed_from
from consilience.errors import InitialPointError, SamplingError, warn
from consilience.inference import NUTS, Kernel
from consilience.ir import Node
from consilience.ir.settings import config
from consilience.model.layout import known_shape
from consilience.model.log_density import ModelDensity
from consilience.model.model import Model, modelcontext
from consilience.model.observation import slot_values
from consilience.model.reparametrization import centred_hierarchies, fields, heavy_priors, standard_variables
from consilience.model.starting_point import InitialValues, begins, starting_positions
from consilience.model.warm_start import is_result
from consilience.record import replace
from consilience.run import RunPlan
from consilience.run.lock_step import ChEES
from consilience.run.plan import whole_number
from consilience.sample.arguments import PROGRESS_BARS, check_keywords, extras, nuts_settings, one_of, wanted
from consilience.sample.background import delivered
from consilience.sample.beginning import Mover, OnThreads
from consilience.sample.compiling import compiled, prepare_sampler
from consilience.sample.coordinates import ChainCoordinates, rewritten
from consilience.sample.groups import MODES, REMEDIES, SPELLED, Save, Stop, Tuning, asked, chosen
from consilience.sample.model_run import WIDE, ModelRun
from consilience.sample.plan import LARGE, ModelPlan
from consilience.sample.step_methods import assigned

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
    random_seed: Any = None,
    model: Model | None = None,
    var_names: Sequence[str] | None = None,
    initvals: StartingValues = None,
    stop: Stop | None = None,
    save: Save | None = None,
    progressbar: bool | str = True,
    callback: Callable[..., Any] | None = None,
    blocking: bool = True,
    watch: bool = False,
    discard_tuned_samples: bool = True,
    compute_convergence_checks: bool = True,
    idata_kwargs: Mapping[str, Any] | None = None,
    step: Kernel | Sequence[Kernel] | None = None,
    target_accept: float = 0.8,
    max_treedepth: int = 10,
    init: str = "lbfgs",
    jitter_max_retries: int = 100,
    tuning: Tuning | None = None,
    remedies: Sequence[str] = REMEDIES,
    integrate: bool | str | Node | Sequence[str | Node] = True,
    nuts: Mapping[str, Any] | None = None,
    cores: int | None = None,
    threads_per_chain: int | None = None,
    backend: Literal["llvm", "jax"] | None = None,
    device: Any = None,
    executor: Any = None,
    **pymc: Any,
) -> Any:
    """Draw from the posterior of a model with the No-U-Turn Sampler, until the draws are good enough.

    By default the run chooses its length. The chains tune together and draw until every scalar has an effective sample
    size (ESS) of 400 in bulk and tails and the chains agree (see `Stop`). Give `draws` and `tune` to fix the length
    instead, as in PyMC.

    Most runs need only the parameters from `draws` to `idata_kwargs`. Those from `step` on control the method; by
    default it is chosen from the model. `cores`, `threads_per_chain` and `executor` do not change the draws.

    Parameters
    ----------
    draws, tune : int, optional
        Kept draws per chain, and tuning draws before them.
    chains : int, optional
        Number of chains, 4 by default.
    random_seed : int, sequence of int or Generator, optional
        Seed, sequence of integers, `numpy.random.Generator` or `RandomState`; a fresh seed by default. The result keeps
        it in its attributes.
    model : Model, optional
        The model; by default that of the enclosing `with` block.
    var_names : sequence of str, optional
        Variables to keep; all free variables and deterministics by default.
    initvals : mapping or sequence of mapping, optional
        Starting values by name (`tau`, or `tau_log__` on the unconstrained scale), or one mapping per chain; "prior" or
        "support_point" may stand in place of numbers. A result, of `pm.fit_pathfinder` or an earlier run, starts the
        chains at some of its draws.
    stop : Stop, optional
        When the run ends: `pm.Stop(ess=400, rhat=1.01, max_draws=None, max_time=None, …)`.
    save : Save, optional
        What the run writes to disk: `pm.Save(checkpoint="run", store="run.zarr")`.
    progressbar : bool or str, default True
        Whether to show progress. PyMC's words, such as 'combined+stats', show what True shows.
    callback : callable, optional
        Called with the events of the run (`consilience.events`). A function with arguments `trace` and `draw` is called
        once per kept draw, as in PyMC. It runs beside the chains; a KeyboardInterrupt that it raises ends the run.
    blocking : bool, default True
        False: return at once with a `BackgroundSampling`, whose `wait()` gives the result.
    watch : bool, default False
        True: show the run in a browser and print the address, see `docs/do/watching.md`.
    discard_tuned_samples : bool, default True
        False: keep the tuning draws in groups `warmup_…`.
    compute_convergence_checks : bool, default True
        False: give no warnings, and do not judge runs of fixed length, whose status is then "completed".
    idata_kwargs : mapping, optional
        Groups to add: `{"log_likelihood": True}`, `{"log_prior": True}`, or `{"include_transformed": True}` for values
        on the unconstrained scale such as `tau_log__`.
    step : Kernel or sequence of Kernel, optional
        Step methods to use instead of NUTS, such as `pm.HamiltonianMC()` or `pm.Metropolis()`; each chain then tunes
        alone. Without a step method, discrete variables are summed out if possible and drawn afterwards, and so are
        continuous variables that act only through comparisons, such as `tau` in `pm.math.switch(t < tau, a, b)`. The
        attribute `marginalized` of the result names them, and `sample_stats.lp` is the log density summed over them.
    target_accept : float, default 0.8
        Mean acceptance probability that the step size is tuned for, between 0 and 1.
    max_treedepth : int, default 10
        Largest number of doublings of a trajectory.
    init : str, default 'lbfgs'
        How starting points are made. "lbfgs": starting values with wide noise, followed by some steps of L-BFGS.
        "auto", "jitter+adapt_diag" and "jitter+adapt_diag_grad": starting values with noise. "adapt_diag": without
        noise. "jitter+adapt_full" and "adapt_full": the same with a dense metric, unless `tuning` asks for another one.
    jitter_max_retries : int, default 100
        Attempts to find a starting point with a finite log density.
    tuning : Tuning, optional
        How the chains tune: `pm.Tuning(metric="auto", pool=True, max=1500, …)`.
    remedies : str or sequence of str, default ('symmetries', 'coordinates', 'steps', 'metric', 'jumps', 'modes')
        What the run may change when its draws show that it is needed; `()` for nothing.

        - "symmetries": where chains disagree or mix slowly because the posterior is the same in several copies (units
          in another order or with other signs, rotated loadings), sampling begins again and each draw is put into one
          of the copies at random, which is exact; convergence is judged in one copy. `result.advice` says what to
          write to have one copy. Only if the run chooses its length.
        - "coordinates": hierarchies that diverge or mix badly continue in partially non-centred coordinates, after one
          restart; long random walks, AR, CAR and ICAR fields move in units of their scale; a block of variables that
          is nearly normal given the others moves in coordinates that follow these; Cauchy and Student-t variables
          with heavy tails move in coordinates in which these are light. Names in the result stay those of the model,
          and its attributes `centredness`, `transported` and `heavy_tails` say what was chosen. Only if the run
          chooses its length, chains start by `init="lbfgs"`, and no number of jumps is given.
        - "steps": divergences lead to one more tuning, with smaller steps.
        - "metric": draws that contradict the metric lead to one more tuning, with a metric made of these draws.
        - "jumps": chains jump between separate modes that were found before the run. If chains disagree, the run
          restarts with 4 jumps between past points of all chains per transition; `nuts={"jumps": 4}` has those from the
          first draw.
        - "modes": some thousand gradients look for separate modes before the run. Chains start in every mode with more
          than 0.5 % of the mass, and a mode without draws prevents the status "converged". Only if the log density has
          a gradient, convergence is checked, chains start by `init="lbfgs"`, and no variable is an angle.
    integrate : bool or str or TensorVariable or sequence of these, default True
        Continuous variables that are integrated out while chains move, and drawn afterwards from their exact
        distribution given all others; the result has them all. They are normal given all others, and so is what depends
        on them, linearly (random walks, autoregressions, effects of groups, latent Gaussian processes with normal
        data), or of a conjugate family (Gamma with Poisson counts or exponential times, Beta with binomial counts,
        inverse Gamma with normal data, Dirichlet with categories, …). True: large ones whose integral costs little
        beside what it saves; the result's attribute `integrated` tells which. False: none. Names: these, whatever it
        costs, and no others.
    nuts : mapping, optional
        `{"target_accept": …, "max_treedepth": …}` as in PyMC, and "jumps", a number of them.
    cores : int, optional
        Largest number of threads; by default all processors of this process. The draws do not depend on it.
    threads_per_chain : int, optional
        Threads for one evaluation of a log density that takes 100 microseconds or more: its rows are cut into chunks.
        By default the threads that the chains leave idle. The draws do not depend on it. A warning says if nothing can
        be cut.
    backend : {'llvm', 'jax'}, optional
        "llvm": chains on threads. "jax": hundreds or thousands of chains (128 by default) in lock step on one device,
        by ChEES-HMC. From 64 chains on they start at 16 points and are judged by nested R-hat, and
        `pm.Stop(min_draws=…)` counts for four chains: with more chains, each makes fewer draws before the first check.
        If `pm.config.floatX` is "float32", they move in single precision, and the draws are returned in double
        precision; chains of "llvm" always move in double precision, and a warning says so.
    device : str, optional
        Device of JAX: "cpu", "gpu", "gpu:1"; by default its first, an accelerator if there is one.
    executor : Executor, optional
        Runs the chains on other processes and machines: an executor of `concurrent.futures` (a process pool, loky,
        MPI), a Dask client or `pm.cluster.ray()`. The draws are the same as on threads, whatever happens to the
        workers. It is worth it from about a second of work per chain on, see docs/do/clusters.md. With
        `pm.cluster.shards(…)` the chains stay here and the workers hold the rows of the data.
    **pymc : object
        PyMC's other keywords. Those without meaning here are ignored; the rest raise an error that says what to use.

    Returns
    -------
    object
        An `xarray.DataTree` with the groups posterior, sample_stats, observed_data, … and the attributes `status`,
        `reason` and `worst`. The status is "converged", "converged_with_divergences", "not_converged",
        "chains_disagree", "interrupted" (after Ctrl-C, with the draws made so far) or "completed".
        `extend(target_ess=…)` continues the run.

    Raises
    ------
    InitialPointError
        If no starting point with a finite log density is found.
    ModelError
        If the model has no free variables.
    SamplingError
        If an argument is out of range.
    StorageError
        If checkpoint or store cannot be written.
    MissingPackageError
        If `backend="jax"` is given without JAX.

    Warns
    -----
    ConvergenceWarning
        If the draws should not be used yet.

    See Also
    --------
    Save : What is written to disk during a run.
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
    stop, tuning, save, may = asked(Stop, stop), asked(Tuning, tuning), asked(Save, save), chosen(remedies)
    check_keywords(sample, pymc, spelled=SPELLED)
    owner = modelcontext(model)
    jumps: int | Literal["auto"] = "auto" if "jumps" in may else 0
    target_accept, max_treedepth, jumps = nuts_settings(nuts, target_accept, max_treedepth, jumps)
    if isinstance(init, str) and (method := next((m for m in FITS if m in init), None)):
        raise SamplingError(
            f"`init={init!r}`: chains begin at draws of a fit that was made before: give `initvals={FITS[method]}`."
        )
    one_of("init", init, INITS)
    one_of("progressbar", progressbar, PROGRESS_BARS)
    metric = "dense" if init.endswith("full") and tuning.metric == "auto" else tuning.metric
    if jumps != "auto":
        whole_number("jumps", jumps, 0)
    one_of("backend", "llvm" if backend is None else backend, BACKENDS)
    lock_step = backend == "jax"
    if lock_step:
        if executor is not None:
            raise SamplingError('`executor` moves chains of `backend="llvm"`; leave out one of both.')
        from consilience.model.trees import refuse_trees

        refuse_trees(owner, "`backend`")  # before JAX is asked for
        from consilience.sample import lock_step as together

        together.refuse(threads_per_chain=threads_per_chain, step=step, nuts=nuts, tuning=tuning, jumps=jumps)
    elif device is not None:
        raise SamplingError('`device` is one of JAX; say `backend="jax"` too.')
    elif config.floatX != "float64":
        warn(
            f'`pm.config.floatX` is "{config.floatX}", but variables of models are float64: these chains move in '
            'double precision. Only chains of `backend="jax"` follow "float32"; set "float64" to silence this warning.'
        )
    apart = type(executor).__name__ == "Shards"  # the rows are not here
    begun = initvals
    summed, initvals = _eliminated(owner, step, initvals, integrate, apart=apart, lock_step=lock_step)
    if init == "lbfgs" and is_result(initvals):
        init = "adapt_diag"
    climbing, jitter = init == "lbfgs", not init.startswith("adapt")
    width = WIDE if climbing else 1.0
    anywhere = climbing and initvals is None  # where chains begin is for the run to choose
    judged = draws is None or compute_convergence_checks
    movable = draws is None and anywhere and not apart and jumps in (0, "auto") and _has_other_coordinates(owner)
    plan = ModelPlan(
        draws=None if draws is None else whole_number("draws", draws, 1),
        tune=tune,
        rule=StoppingRule(stop.ess, stop.rhat, stop.strict),
        min_tune=tuning.min,
        max_tune=tuning.max,
        min_draws=RunPlan.min_draws if stop.min_draws is None else stop.min_draws,
        max_draws=stop.max_draws,
        pool=tuning.pool,
        remedies=tuple(name for name in may if name != MODES and (movable or name != "coordinates")),
        max_time=stop.max_time,
        window_budget=tuning.budget,
        keep_tuning=not discard_tuned_samples and (idata_kwargs or {}).get("save_warmup") is not False,
        names=tuple(wanted(var_names, [v.name for v in owner.free] + list(owner.named_deterministics))),
        monitor=(stop.monitor,) if isinstance(stop.monitor, str) else tuple(stop.monitor or ()),
        checks=compute_convergence_checks,
        extras=extras(idata_kwargs),
        lazily=save.deterministics == "lazy",
        modes=MODES in may and anywhere and judged and not apart,
        noise=width if jitter and initvals is None else 0.0,
        store=None if save.store is None else str(save.store),
        coordinates=ChainCoordinates(summed),
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
    moved = rewritten(owner, plan.coordinates)
    density, compile_seconds = compiled(moved)
    if integrate is True and summed and density.integrated and not begins(density, initvals):
        summed, initvals = _eliminated(owner, step, begun, False, apart=apart, lock_step=lock_step)
        plan = replace(plan, coordinates=ChainCoordinates(summed))
        moved = rewritten(owner, plan.coordinates)
        density, more = compiled(moved)
        compile_seconds += more
    if apart:
        from consilience.sample.sharded import divided  # few runs need it

        density, executor = divided(density, executor, plan.extras, summed)
    mover: Mover
    if lock_step:
        together.check(density)
        mover = together.InLockStep(
            ChEES(target_accept), seed, chains=chains, device=device, climb=climbing, precision=together.precision()
        )
        starts = together.starting_points(chains, initvals)
    else:
        written = owner if set(summed) - density.integrated.keys() else None
        kernel = assigned(moved, density, step, default)
        mover, starts = OnThreads(kernel, seed, cores, written, threads_per_chain, executor), chains
    try:
        points = starting_positions(density, starts, seed, initvals, jitter=jitter, attempts=attempts, width=width)
    except InitialPointError:
        if summed:  # the model as it is written names the variable at fault
            starting_positions(compiled(owner)[0], starts, seed, initvals, jitter=jitter, attempts=attempts)
        raise
    keeper = None
    if save.checkpoint is not None:
        from consilience.run import checkpoint as checkpoints

        known = mover.identity(density, plan, chains)
        keeper = checkpoints.Checkpoint.create(save.checkpoint, known, plan.of_the_result, save.overwrite)
    try:
        run = ModelRun(owner, density, plan, mover, points, compile_seconds, keeper)
    except BaseException:
        if keeper is not None:
            keeper.close()  # or its lock would outlive the failed call
        raise
    run.notes.extend(_notes(owner, density, step, threads_per_chain))
    return delivered(run, callback, progressbar, overwrite=save.overwrite, blocking=blocking, watch=watch)


def _eliminated(
    model: Model, step: Any, initvals: Any, integrate: Any, *, apart: bool, lock_step: bool
) -> tuple[tuple[str, ...], Any]:
    """Names of the variables that are summed or integrated out, and starting values without them."""
    if integrate is True and lock_step:  # other devices have no sparse factors, and need none where chains are many
        integrate = False
    if apart and not isinstance(integrate, bool):
        raise SamplingError("`integrate` names variables to integrate out, which needs all rows here; leave it out.")
    lengths = slot_values(model)[3]
    large = any(
        v.continuous and math.prod(known_shape(v.node.static_shape, lengths, v.name)) >= LARGE for v in model.free
    )
    others = model.has_steps() or (integrate and large if isinstance(integrate, bool) else True)
    if not (others and not apart) and all(v.continuous for v in model.free):
        return (), initvals
    from consilience.sample import summing  # few models need it

    return summing.eliminated(model, step, initvals, False if apart else integrate)


def _has_other_coordinates(model: Model) -> bool:
    """Whether there are coordinates that may suit draws better than the model's own."""
    return bool(centred_hierarchies(model) or fields(model) or standard_variables(model) or heavy_priors(model))


def _notes(model: Model, density: ModelDensity, step: Any, threads_per_chain: int | None) -> Iterator[str]:
    """What is to be said at the end of a run besides its own findings."""
    if (threads_per_chain or 1) > 1 and density.chunks < 2:
        yield f"`threads_per_chain={threads_per_chain}` has no effect: {density.why_whole()}."
    yield from density.notes()
    if any(v.has_trees for v in model.free):
        from consilience.sample.tree_responses import remarks  # few models have trees

        yield from remarks(model)
    continuous = [f"`{v.name}`" for v in model.free if v.continuous]
    if step is None and density.without_gradient and continuous:
        listed = ", ".join(continuous[:5]) + ", …" * (len(continuous) > 5)
        yield f"{listed} moved by Slice, which needs no gradient: {density.without_gradient}"
