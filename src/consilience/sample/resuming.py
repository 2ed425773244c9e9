"""Going on with a run that was cut off: its checkpoint and its model enter, the result of the whole run leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from consilience.errors import SamplingError
from consilience.model.model import Model, modelcontext
from consilience.model.signature import signature
from consilience.output import storage as storage
from consilience.record import replace
from consilience.run import checkpoint as checkpoints
from consilience.sample.background import BackgroundSampling
from consilience.sample.beginning import begun
from consilience.sample.identity import identity, options_from
from consilience.sample.less_centred import LessCentred, on_threads, rewritten
from consilience.sample.result_options import ResultOptions
from consilience.sample.step_methods import kernel_from
from consilience.sample.work import Work, compiled


def resume(
    path: str | Path,
    model: Model | None = None,
    *,
    cores: int | None = None,
    max_time: float | None = None,
    progressbar: bool = True,
    callback: Callable[..., Any] | None = None,
    blocking: bool = True,
) -> Any:
    """Go on with a run that was sampled with `checkpoint=path` and cut off, by Ctrl-C, a crash or the end of a machine.

    The draws are those of a run that was never cut off, bit for bit. A run that had ended gives its result.

    path      the file given as `checkpoint`
    model     the same model with the same data, defined as then
    max_time  seconds for what is left of the run; the limit of the run that was cut off does not count any more
    returns   as `sample`; the other arguments are as there
    raises    StorageError where there is no checkpoint or it is damaged; SamplingError, with the reasons, where model,
              data, version or machine differ
    """
    owner = modelcontext(model)
    saved, about, state = checkpoints.read(path)
    if saved.get("method") == "SMC":
        raise SamplingError(f"the run in {str(path)!r} is one of `pm.sample_smc`; go on with it by `pm.smc.resume`.")
    result = ResultOptions.of(about)
    storage.prepare()
    density, compile_seconds = compiled(rewritten(owner, result.centredness))
    options = options_from(saved["options"])
    kernel = kernel_from(saved["kernel"])
    chains, seed = int(saved["chains"]), int(saved["seed"])
    present = identity(signature(density), kernel, options, chains, seed)
    differences = list(checkpoints.differences(saved, present))
    if differences:
        raise SamplingError(
            f"the run in {str(path)!r} cannot be resumed with the same draws: {'; '.join(differences)}. Define the "
            "model and its data as they were, or sample anew with `overwrite=True`."
        )
    options = replace(options, max_time=max_time)
    reparametrized = LessCentred(on_threads(cores)) if result.noncenter else None
    running = begun(density, kernel, chains, options, result, seed=seed, cores=cores, reparametrized=reparametrized)
    supervisor = running.supervisor
    supervisor.keep = checkpoints.resume(path, saved, about, state, supervisor.controller, supervisor.engine)
    work = Work(owner, density, kernel, options, result, running, compile_seconds, supervisor.keep)
    if reparametrized is not None:
        reparametrized.work = work
    work.listen(callback)
    work.progressbar = bool(progressbar)
    work.open_store(overwrite=True)
    return work.run(stacklevel=2) if blocking else BackgroundSampling.begun(work)
