"""A model's run and what is made of it: from draws on the unconstrained space to groups of a tree, and warnings."""

from __future__ import annotations

import copy
import importlib.metadata
import json
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience import diagnostics
from consilience.diagnostics.divergence_location import describe
from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.errors import ConsilienceWarning, ConvergenceWarning, SamplingError
from consilience.inference import Kernel
from consilience.model.log_density import ModelDensity
from consilience.model.model import Model
from consilience.model.reparametrization import centred_hierarchies
from consilience.native import target
from consilience.record import as_plain, replace
from consilience.run import Listener, Options, Run, Running
from consilience.run.checkpoint import Checkpoint
from consilience.run.interrupt import interrupts_stop
from consilience.sample.data import constant_data, observed_data
from consilience.sample.parallel import in_parallel
from consilience.sample.predictive import compute_log_likelihood, compute_log_prior
from consilience.sample.step_methods import title
from consilience.sample.storing import Storing
from consilience.storage.datatree import branches
from consilience.storage.deferred import Deferred
from consilience.ui import reporter

if TYPE_CHECKING:
    from consilience.sample.tree import Posterior

Array = npt.NDArray[Any]


@dataclass
class Work:
    """All that belongs to one run of a model.

    keep               names of the variables to keep
    compile_seconds    time until the density was compiled
    checkpoint, store  where the run is written to while it goes on
    checks, extras     whether to warn, and groups to add: log_likelihood, log_prior
    progressbar        whether to show the run
    lazily             whether deterministics are computed when they are looked at
    """

    model: Model
    density: ModelDensity
    kernel: Kernel
    options: Options
    running: Running
    keep: Sequence[str]
    compile_seconds: float
    discard_tuned: bool
    checks: bool
    extras: tuple[str, ...]
    lazily: bool = True
    checkpoint: Checkpoint | None = None
    store: Storing | None = None
    netcdf: str | None = None
    overwrite: bool = False
    listeners: list[Listener] = field(default_factory=list)
    progressbar: bool = True

    def run(self, stacklevel: int) -> Posterior:
        """Start the run, wait for its end, and give its result."""
        # Ctrl-C while the result is made would lose it: it asks the run to stop, and that is over by then.
        with self.released_on_error(), interrupts_stop(self.running.stop):
            with reporter(self.progressbar) as report:
                self.running.listeners.add([report, *self._own_listeners()])
                self.running.start(background=False)
                run = self.running.wait()
            return self.finish(run, stacklevel + 1)

    @contextmanager
    def released_on_error(self) -> Iterator[None]:
        """An error inside, once the run is over, leaves the store to others; the draws written so far stay."""
        try:
            yield
        except BaseException:
            if self.store is not None and self.running.finished:
                self.store.store.close()
            raise

    def start(self) -> None:
        """Start the run in the background."""
        self.running.listeners.add(self._own_listeners())
        self.running.start(background=True)

    def _own_listeners(self) -> list[Listener]:
        return [*([] if self.store is None else [self.store]), *self.listeners]

    def open_store(self, store: str | Path | None, overwrite: bool) -> None:
        """Have the run written to `store` while it goes on, or at its end."""
        if store is None:
            return
        kind = Path(store).suffix
        if kind == ".nc":
            from consilience.storage.netcdf import check_netcdf

            check_netcdf(store, overwrite)
            self.netcdf = str(store)
        elif kind == ".zarr":
            self.store = Storing.create(self, store, overwrite)
        else:
            raise SamplingError(f'`store` must end in ".zarr" or ".nc", got {str(store)!r}.')
        self.overwrite = overwrite

    def reopen_store(self, store: str) -> None:
        """Go on with the store of a run that was cut off."""
        if Path(store).suffix == ".nc":
            self.netcdf, self.overwrite = store, True
        else:
            self.store = Storing.create(self, store, overwrite=True)

    def wait(self, timeout: float | None, stacklevel: int) -> Posterior:
        """The result of a run in the background, once it is over; TimeoutError leaves everything as it is."""
        with self.released_on_error():
            return self.finish(self.running.wait(timeout), stacklevel + 2)

    def finish(self, run: Run, stacklevel: int) -> Posterior:
        """The tree of a finished run, with the warnings it deserves."""
        tree = self.tree(run)
        if "log_likelihood" in self.extras:
            compute_log_likelihood(tree, model=self.model)
        if "log_prior" in self.extras:
            compute_log_prior(tree, model=self.model)
        if self.store is not None:
            self.store.finish(tree, stacklevel + 1)
        if self.netcdf is not None:
            from consilience.storage.netcdf import write_netcdf

            write_netcdf(tree, self.netcdf, overwrite=self.overwrite)
        self.running.listeners.warn(stacklevel + 1)
        self.warn(run, stacklevel + 1)
        return tree

    def extend(
        self, target_ess: float | None, draws: int | None, max_draws: int | None, progressbar: bool | None
    ) -> Posterior:
        """See `Posterior.extend`."""
        options = self.options
        controller = self.running.supervisor.controller
        sampling = controller.sampling
        if sampling is None:
            raise SamplingError("the run was stopped before it had drawn anything; sample anew.")
        if (target_ess is None) == (draws is None):
            raise SamplingError("say how far to extend: either `target_ess=` or `draws=`.")
        if draws is not None:
            if draws < sampling.count:
                raise SamplingError(f"`draws` counts those there are, which are {sampling.count}; got {draws}.")
            options = replace(options, draws=draws)
        else:
            rule = replace(options.rule, target_ess=target_ess)
            most = options.max_draws if max_draws is None else max_draws
            if max_draws is not None and max_draws < sampling.count:
                raise SamplingError(f"`max_draws` counts those there are, which are {sampling.count}; got {max_draws}.")
            if max_draws is None and sampling.count >= most:
                most += sampling.count
            options = replace(options, draws=None, rule=rule, max_draws=most)
        if self.checkpoint is not None:
            self.checkpoint.identity["options"] = plain_options(options)
        if self.store is not None:
            self.store.again()
        with self.released_on_error():
            with reporter(self.progressbar if progressbar is None else progressbar) as report:
                running = self.running.again(options, [report, *self._own_listeners()])
                running.start(background=False)
                run = running.wait()
            further = copy.copy(self)
            further.running, further.options = running, options
            return further.finish(run, stacklevel=3)

    def tree(self, run: Run) -> Posterior:
        """The draws and all that is known of the run."""
        from consilience.sample.tree import Posterior

        began = time.perf_counter()
        named = self.named(run.draws, self.lazily)
        attributes = self.attributes(run, time.perf_counter() - began)
        model = self.model
        groups = {
            "posterior": named,
            "sample_stats": run.statistics,
            "observed_data": observed_data(model),
            "constant_data": constant_data(model),
        }
        if not self.discard_tuned and run.warmup_draws.shape[1]:
            groups |= {
                "warmup_posterior": self.named(run.warmup_draws, self.lazily),
                "warmup_sample_stats": run.warmup_statistics,
            }
        coords = {**model.coords, "chain": list(run.chains)}
        return Posterior.of(branches(groups, coords, model.named_vars_to_dims, attributes), self)

    def named(self, draws: Array, lazily: bool = False) -> dict[str, Any]:
        """Draws (chain, draw, coordinate) as named arrays (chain, draw, …).

        lazily   deterministics are computed when they are looked at
        """
        chains, count, dimension = draws.shape
        flat = np.ascontiguousarray(draws).reshape(chains * count, dimension)
        derived = [name for name in self.keep if name in self.model.named_deterministics]
        named = self.density.expand(flat, bool(derived) and not lazily)
        arrays: dict[str, Any] = {
            name: values.reshape(chains, count, *values.shape[1:]) for name, values in named.items()
        }
        if lazily:
            arrays |= {name: self.deferred(draws, name) for name in derived}
        return {name: arrays[name] for name in self.keep}

    def deferred(self, draws: Array, name: str) -> Deferred:
        """A deterministic of draws (chain, draw, coordinate), to be computed when it is looked at."""
        shape, dtype = self.density.shape_of(name)

        def compute(chains: Array, places: Array) -> Array:
            some = draws[np.ix_(chains, places)]
            values = in_parallel(lambda part: self.density.expand(part, [name])[name], some.reshape(-1, some.shape[2]))
            return values.reshape(*some.shape[:2], *shape)

        return Deferred((*draws.shape[:2], *shape), dtype, compute)

    def attributes(self, run: Run, expand_seconds: float) -> dict[str, object]:
        """What explains the run and lets it be repeated."""
        density = self.density
        spent = max(sum(run.chain_seconds), 1e-12)
        tuning = run.seconds * min(1.0, run.tuning_seconds / spent)
        # A density that was compiled before cost nothing now.
        build = 0.0
        if self.compile_seconds >= density.compile_seconds:
            build = min(density.graph_seconds, self.compile_seconds)
        return {
            "status": run.verdict.status,
            "reason": run.verdict.reason,
            "worst": run.verdict.worst,
            "gradients": sum(run.evaluations),
            "gradients_warmup": run.tuning_evaluations,
            "tuning_steps": run.tuned,
            "retuned": int("divergences" in run.restarts),
            "restarts": json.dumps(run.restarts),
            "notes": json.dumps(run.notes),
            "warmup_windows": json.dumps([as_plain(w) for w in run.windows]),
            "last_check": json.dumps(None if run.check is None else as_plain(run.check)),
            "metric_rank": run.rank,
            "step_size": [t.step_size for t in run.tuning],
            "seed": run.seed,
            "sampler": type(self.kernel).__name__,
            "settings": repr(self.kernel),
            "options": json.dumps(as_plain(self.options)),
            "vector_lanes": target.host().lanes,
            "interrupted": int(run.interrupted),
            "sampling_time": run.seconds,
            "time_build": build,
            "time_compile": self.compile_seconds - build + self.running.waited_seconds,
            "time_warmup": tuning,
            "time_sampling": run.seconds - tuning,
            "time_checks": run.check_seconds,
            "time_deterministics": expand_seconds,
        }

    def warn(self, run: Run, stacklevel: int) -> None:
        """Say what is to be known of the run; only a converged one is silent."""
        if run.interrupted:
            print(f"Sampling was interrupted: the first {run.draws.shape[1]} draws of each chain are kept.")
        for note in run.notes:
            warnings.warn(f"{note}.", ConsilienceWarning, stacklevel=stacklevel + 1)
        for name in run.constants:
            message = f"`{name}` has the same value in all draws; it is not watched."
            warnings.warn(message, ConsilienceWarning, stacklevel=stacklevel + 1)
        if self.checkpoint is not None and self.checkpoint.fault is not None:
            message = f"the checkpoint was not written to the end: {self.checkpoint.fault}"
            warnings.warn(message, ConsilienceWarning, stacklevel=stacklevel + 1)
        if not self.checks or (not run.draws.shape[1] and run.interrupted):
            return
        for message in self.findings(run):
            warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)

    def findings(self, run: Run) -> Iterable[str]:
        """Why the draws should not be trusted as they are: the verdict, and what the statistics add to it."""
        where = self.divergence_location(run)
        verdict = run.verdict
        told = verdict.reason
        match verdict.status:
            case "converged":
                if verdict.reason:
                    yield f"The run has converged, but {verdict.reason}."
            case "converged_with_divergences":
                told += "divergences"
                yield (
                    f"The run has converged, but {verdict.reason}. The sampler could not follow the posterior in some "
                    f"region, so the estimates may be biased. {where} Increase `target_accept` or reparameterize."
                )
            case "chains_disagree":
                yield f"The chains disagree: {verdict.reason}."
            case "not_converged":
                extra = f" {where}" if "divergences" in verdict.reason and where else ""
                yield (
                    f"The run has not converged: {verdict.reason}.{extra} The draws should not be trusted as they "
                    "are. Go on with `result.extend(target_ess=…)` if what is missing are draws; reparameterize if "
                    "chains mix badly."
                )
        if run.draws.shape[1]:
            for finding in diagnostics.inspect({}, run.statistics):
                if finding.kind == "divergences" and finding.kind not in told:
                    yield f"{finding.message} {where}".rstrip()
                elif finding.kind == "treedepth" or (finding.kind == "ebfmi" and "E-BFMI" not in told):
                    yield finding.message

    def divergence_location(self, run: Run) -> str:
        """In words, where in parameter space the divergences are."""
        places = [d.begins for d in run.divergences]
        if not sum(map(len, places)):
            return ""
        names = self.running.supervisor.controller.setting.monitored.names
        where = describe(names, run.draws.reshape(-1, run.draws.shape[2]), np.concatenate(places))
        return f"{where} {self.other_coordinates()}".strip()

    def other_coordinates(self) -> str:
        """In words, which variables to write in other coordinates; empty where there are none."""
        names = centred_hierarchies(self.model)
        if not names:
            return ""
        listed = ", ".join(f"`{name}`" for name in names)
        scales = "has a scale that is estimated, too" if len(names) == 1 else "have scales that are estimated, too"
        return (
            f"{listed} {scales}: `pm.noncenter(model, {names})` is the same model in coordinates that may suit better."
        )


def identity(
    model_signature: Mapping[str, str], kernel: Kernel, options: Options, chains: int, seed: int
) -> dict[str, Any]:
    """What has to be equal for a run to be resumed with the same draws."""
    return {
        **model_signature,
        "kernel": json.loads(
            json.dumps([[title(type(part)), as_plain(part)] for part in kernel.parts], default=np.ndarray.tolist)
        ),
        "options": plain_options(options),
        "chains": chains,
        "seed": seed,
        "version": importlib.metadata.version("consilience"),
        "vector_lanes": target.host().lanes,
    }


def plain_options(options: Options) -> dict[str, Any]:
    """Options as numbers and text; `options_from` has them back."""
    plain: dict[str, Any] = json.loads(json.dumps(as_plain(options)))
    return plain


def options_from(plain: Mapping[str, Any]) -> Options:
    """Options as `identity` has them."""
    return Options(**{**plain, "rule": StoppingRule(**plain["rule"])})
