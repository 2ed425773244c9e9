"""A run of a model and what belongs to it: stores and checkpoint, the progress display, the result at its end."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from consilience.errors import ModelError, SamplingError
from consilience.inference import Kernel
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.output.display import reporter
from consilience.record import replace
from consilience.run import Listener, Options, Run, Running
from consilience.run.checkpoint import Checkpoint
from consilience.run.interrupt import interrupts_stop
from consilience.sample.findings import failures, warn
from consilience.sample.identity import plain_options
from consilience.sample.memory import naming_the_largest
from consilience.sample.predictive import compute_log_likelihood, compute_log_prior
from consilience.sample.result_options import ResultOptions
from consilience.sample.results import tree
from consilience.sample.storing import Storing
from consilience.vectorised import ChEES

if TYPE_CHECKING:
    from consilience.sample.tree import Posterior


@dataclass
class Work:
    """All that belongs to one run of a model.

    density            of the coordinates that the chains move in, which may become less centred than the model's
    compile_seconds    time until the density was compiled
    checkpoint, store  where the run is written to while it goes on
    progressbar        whether to show the run
    notes              what is to be said at its end besides its own findings
    """

    model: Model
    density: ModelDensity
    kernel: Kernel | ChEES
    options: Options
    result: ResultOptions
    running: Running
    compile_seconds: float
    checkpoint: Checkpoint | None = None
    store: Storing | None = None
    netcdf: str | None = None
    overwrite: bool = False
    listeners: list[Listener] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
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
        except BaseException as error:
            raised = failures()
            if raised:
                error.add_note(raised)
            if self.store is not None and self.running.finished:
                self.store.store.close()
            raise

    def start(self) -> None:
        """Start the run in the background."""
        self.running.listeners.add(self._own_listeners())
        self.running.start(background=True)

    def listen(self, callback: Callable[..., Any] | None) -> None:
        """Have a user's callback told of the run: of its events, or of its draws (`draw_callback`)."""
        if callback is not None:
            from consilience.sample.draw_callback import listener_of

            self.listeners = [listener_of(callback, lambda: self.density)]

    def _own_listeners(self) -> list[Listener]:
        return [*([] if self.store is None else [self.store]), *self.listeners]

    def open_store(self, overwrite: bool) -> None:
        """Have the run written to the store that was asked for while it goes on, or at its end."""
        store, self.overwrite = self.result.store, overwrite
        try:
            if store is None:
                return
            kind = Path(store).suffix
            if kind == ".nc":
                from consilience.output.storage.netcdf import check_netcdf

                check_netcdf(store, overwrite)
                self.netcdf = store
            elif kind == ".zarr":
                self.store = Storing.create(self, store, overwrite)
            else:
                raise SamplingError(f'`store` must end in ".zarr" or ".nc", got {store!r}.')
        except BaseException:
            if self.checkpoint is not None:
                self.checkpoint.close()  # or its lock would outlive the failed call
            raise

    def wait(self, timeout: float | None, stacklevel: int) -> Posterior:
        """The result of a run in the background, once it is over; TimeoutError leaves everything as it is."""
        with self.released_on_error():
            return self.finish(self.running.wait(timeout), stacklevel + 2)

    def finish(self, run: Run, stacklevel: int) -> Posterior:
        """The tree of a finished run, with the warnings it deserves."""
        result = tree(self, run)
        if "log_likelihood" in self.result.extras:
            compute_log_likelihood(result, model=self.model)
        if "log_prior" in self.result.extras:
            compute_log_prior(result, model=self.model)
        if self.store is not None:
            self.store.finish(result, stacklevel + 1)
        if self.netcdf is not None:
            from consilience.output.storage.netcdf import write_netcdf

            write_netcdf(result, self.netcdf, overwrite=self.overwrite)
        self.running.listeners.warn(stacklevel + 1)
        warn(self, run, stacklevel + 1)
        return result

    def extend(
        self, target_ess: float | None, draws: int | None, max_draws: int | None, progressbar: bool | None
    ) -> Posterior:
        """See `Posterior.extend`."""
        options = self.options
        drawn = self.running.drawn
        if drawn is None:
            raise SamplingError("the run was stopped before it had drawn anything; sample anew.")
        if (target_ess is None) == (draws is None):
            raise SamplingError("say how far to extend: either `target_ess=` or `draws=`.")
        if draws is not None:
            if draws < drawn:
                raise SamplingError(f"`draws` counts those there are, which are {drawn}; got {draws}.")
            options = replace(options, draws=draws)
        else:
            rule = replace(options.rule, target_ess=target_ess)
            most = options.max_draws if max_draws is None else max_draws
            if max_draws is not None and max_draws < drawn:
                raise SamplingError(f"`max_draws` counts those there are, which are {drawn}; got {max_draws}.")
            if max_draws is None and drawn >= most:
                most += drawn
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


def compiled(model: Model) -> tuple[ModelDensity, float]:
    """The density of a model and the seconds until it was there; ModelError where there is nothing to infer."""
    began = time.perf_counter()
    with naming_the_largest(model):
        density = model_density(model)
    if not density.dimension:
        raise ModelError(
            f"the free variables have no elements ({', '.join(f'`{v.name}`' for v in model.free)}), so there is "
            "nothing to infer; check the lengths of dims and data."
        )
    return density, time.perf_counter() - began
