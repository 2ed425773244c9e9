"""Going on with a run that was cut off: its checkpoint and its model enter, the result of the whole run leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from consilience.errors import ConsilienceError, SamplingError, StorageError
from consilience.model.model import Model, modelcontext
from consilience.output.storage.plain_values import quoted
from consilience.record import replace
from consilience.run import checkpoint as checkpoints
from consilience.sample.background import delivered
from consilience.sample.beginning import Mover, OnThreads
from consilience.sample.compiling import compiled
from consilience.sample.coordinates import rewritten
from consilience.sample.model_run import ModelRun
from consilience.sample.plan import ModelPlan, plan_from
from consilience.sample.step_methods import kernel_from


def resume(
    path: str | Path,
    model: Model | None = None,
    *,
    cores: int | None = None,
    threads_per_chain: int | None = None,
    max_time: float | None = None,
    progressbar: bool = True,
    callback: Callable[..., Any] | None = None,
    blocking: bool = True,
    watch: bool = False,
    executor: Any = None,
    store: str | Path | None = None,
) -> Any:
    """Continue a run of `pm.sample(save=pm.Save(checkpoint=path))` that was interrupted by Ctrl-C, a crash or a reboot.

    The draws are bit for bit those of a run without interruption. If the run had ended, its result is returned.

    path: The file given to `pm.Save(checkpoint=…)`.
    model: The same model with the same data. By default that of the enclosing `with` block.
    cores: Largest number of threads.
    threads_per_chain: Threads for one evaluation of the log density.
    max_time: Seconds for the rest of the run. The limit of the interrupted run no longer counts.
    progressbar: Whether to show progress.
    callback: Called with the events of the run.
    blocking: False: return at once; the run continues in the background.
    watch: Whether to show the run in a browser.
    executor (Executor): Runs the chains on other processes and machines.
    store: File for the draws, as in `pm.Save(store=…)`. By default the store of the run, if it had one. A store of
        another run is never replaced, and a missing one is made again only below the folder of the checkpoint.
    Returns: The result, as of `sample`.
    Raises StorageError: If the checkpoint is missing or damaged, or its store is missing or belongs to another run.
    Raises SamplingError: If model, data, version or machine differ; the message says which.
    See sample: Writes a checkpoint by `save`.
    >>> import tempfile
    >>> import consilience as pm
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x")
    >>> with tempfile.TemporaryDirectory() as folder, model:
    ...     first = pm.sample(save=pm.Save(checkpoint=f"{folder}/run"), random_seed=1, progressbar=False)
    ...     again = pm.resume(f"{folder}/run", progressbar=False)
    >>> bool((first.posterior["x"] == again.posterior["x"]).all())
    True
    """
    owner = modelcontext(model)
    saved, about, state = checkpoints.read(path)
    if saved.get("method") == "SMC":
        raise SamplingError(f"the run in {str(path)!r} is one of `pm.sample_smc`; go on with it by `pm.smc.resume`.")
    with checkpoints.understood(path):
        plan = _with_store(plan_from(saved["options"], about), store, path)
        kernel = None if "lock_step" in saved else kernel_from(saved["kernel"])
        try:
            moved = rewritten(owner, plan.coordinates)
        except ConsilienceError as error:  # data of other lengths
            raise SamplingError(
                f"the run in {str(path)!r} cannot be resumed with this model: the coordinates of its chains do not fit "
                f"({error}). Define the model and its data as they were, or sample anew with "
                "`pm.Save(overwrite=True)`."
            ) from error
    density, compile_seconds = compiled(moved)
    if executor is not None:
        from consilience.sample.sharded import divided  # few runs need it

        density, executor = divided(density, executor, plan.extras, plan.coordinates.marginalized)
    chains, seed = int(saved["chains"]), int(saved["seed"])
    mover: Mover
    if kernel is None:
        from consilience.sample.lock_step import resumed  # needs JAX

        if threads_per_chain is not None or executor is not None:
            raise SamplingError(
                f"the run in {str(path)!r} has its chains in lock step on one device; leave out `threads_per_chain` "
                "and `executor`."
            )
        mover = resumed(saved["lock_step"], chains, seed, path)
    else:
        written = owner if set(plan.coordinates.marginalized) - density.integrated.keys() else None
        mover = OnThreads(kernel, seed, cores, written, threads_per_chain, executor)
    present = mover.identity(density, plan, chains)
    differences = list(checkpoints.differences({**saved, "options": present["options"]}, present))
    if differences:
        raise SamplingError(
            f"the run in {str(path)!r} cannot be resumed with the same draws: {'; '.join(differences)}. Define the "
            "model and its data as they were, or sample anew with `pm.Save(overwrite=True)`."
        )
    plan, about = replace(plan, max_time=max_time), {**about, "store": plan.store}
    run = ModelRun(owner, density, plan, mover, chains, compile_seconds)
    run.notes.extend(density.notes())
    run.take_up(path, saved, about, state)
    here = checkpoints.arithmetic()
    if state["verdict"] is None and state["arithmetic"] != here:
        run.notes.append(
            f"the run was begun with the arithmetic of {_listed(state['arithmetic'])} and goes on with that of "
            f"{_listed(here)}: its further draws are as good, but differ in their last digits from those it would have "
            "had there"
        )
    return delivered(run, callback, progressbar, overwrite=False, blocking=blocking, watch=watch)


def _listed(arithmetic: Sequence[str]) -> str:
    return ", ".join(map(quoted, arithmetic)) or "another machine"


def _with_store(plan: ModelPlan, store: str | Path | None, path: str | Path) -> ModelPlan:
    """The plan of a run with the place of its store; StorageError for one that nobody but the checkpoint named."""
    if store is not None:
        return replace(plan, store=str(Path(store).absolute()))
    if plan.store is None or Path(plan.store).exists() or Path(plan.store).is_relative_to(Path(path).resolve().parent):
        return plan
    raise StorageError(
        f"the run in {str(path)!r} wrote its draws to {quoted(plan.store)}, which is not there, and not below the "
        "folder of the checkpoint. Say where to write: `pm.resume(…, store=…)`."
    )
