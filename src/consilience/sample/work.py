"""A run of a model and what belongs to it: stores and checkpoint, the progress display, the result at its end.

Its chains move in other coordinates of the same posterior: without discrete variables that can be summed out, and where
draws ask for it with hierarchies that are partially non-centred. The result has the variables of the model.
"""

from __future__ import annotations

import contextvars
import copy
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.errors import (
    ConsilienceError,
    ConsilienceWarning,
    ModelError,
    SamplingError,
    StorageError,
    WorkerLostError,
)
from consilience.events import Restarted
from consilience.inference import Kernel
from consilience.model.centredness import less_centred
from consilience.model.log_density import ModelDensity
from consilience.model.model import Model
from consilience.model.signature import signature
from consilience.model.starting_point import starting_positions
from consilience.output.display import reporter
from consilience.record import replace
from consilience.run import Listener, Run, Running
from consilience.run.handle import interrupts_stop
from consilience.run.lock_step import ChEES
from consilience.run.supervisor import Supervisor
from consilience.run.verdicts import Verdict
from consilience.sample.beginning import Begin, Floats, OtherCoordinates
from consilience.sample.findings import failures, warn, way_on
from consilience.sample.plan import ModelPlan, identity
from consilience.sample.results import tree

if TYPE_CHECKING:
    from consilience.run.checkpoint import Checkpoint
    from consilience.sample.storing import Storing
    from consilience.sample.tree import Posterior

MOST_DRAWS: Final = 2000  # to find other coordinates from
FAILED: Final = ("not_converged", "chains_disagree")
TROUBLED: Final = (*FAILED, "converged_with_divergences")
MORE_VALUES: Final = 2  # times that a run begins again, as its steps diverged where sums stop
WIDE: Final = 2.0  # half the width of the noise that L-BFGS begins with


class Work:
    """All that belongs to one run of a model.

    Parameters
    ----------
    model : Model
        As its user wrote it.
    density : ModelDensity
        Of the coordinates that the chains move in, which may become partially non-centred.
    begin : Begin
        How the run begins, and where: see `beginning.Begin`.
    points : ndarray or int
        How the run begins, and where: see `beginning.Begin`.
    compile_seconds : float
        Time until the density was compiled.
    checkpoint : Checkpoint, optional
        Where the run is written to while it goes on.

    Attributes
    ----------
    store
        Where the run is written to while it goes on.
    progressbar
        Whether to show the run.
    notes
        What is to be said at its end besides its own findings.
    """

    def __init__(
        self,
        model: Model,
        density: ModelDensity,
        kernel: Kernel | ChEES,
        plan: ModelPlan,
        begin: Begin,
        points: Floats | int,
        compile_seconds: float,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.model = model
        self.density = density
        self.kernel = kernel
        self.plan = plan
        self.begin = begin
        self.points = points if isinstance(points, int) else len(points)
        self.compile_seconds = compile_seconds
        self.checkpoint = checkpoint
        self.store: Storing | None = None
        self.netcdf: str | None = None
        self.overwrite = False
        self.listeners: list[Listener] = []
        self.notes: list[str] = []
        self.progressbar = True
        self.page: Any = None  # that shows the run in a browser
        self.resumed = False  # whether it goes on with a run that was cut off
        self.ended = False  # whether that one had come to its end: then the verdict is what the checkpoint says
        self._name = os.urandom(16).hex()
        self.context = contextvars.copy_context()  # the run may have a thread of its own
        other = self.in_other_coordinates if "coordinates" in plan.remedies else None
        self.running = begin(density, points, plan, other)
        self.running.supervisor.keep = checkpoint

    def in_other_coordinates(self, draws: Floats, tuning: bool) -> Supervisor | None:
        """The run to go on with, given draws (chain, draw, coordinate); None where they ask for no other coordinates.

        Those of `tuning` tell of large fields alone. The density of this run is that of the new coordinates from then
        on, and its checkpoint is that of the new run.
        """
        try:
            return self.context.run(self._recoordinated, draws, tuning)
        except ConsilienceError as error:  # the run goes on as it was, and says so at its end
            note = f"hierarchies and fields stay in the model's own coordinates: {error}"
            self.notes += [note] if note not in self.notes else []
            return None

    def _recoordinated(self, draws: Floats, tuning: bool) -> Supervisor | None:
        from consilience.model import scale_mixtures  # few models need these
        from consilience.model.fields import large, moved, suited

        if tuning and not self.plan.fields and not large(self._moved):
            return None
        flat = draws.reshape(-1, draws.shape[-1])[:: -(-draws.shape[0] * draws.shape[1] // MOST_DRAWS)]
        if tuning:
            known, values = self._with_fields(flat)
            before = self.plan.fields or {}
            fields = suited(known, {name: a[None] for name, a in values.items()}, any_scale=False)
            if not any(name not in before or moved(own, before[name], values[name]) for name, own in fields.items()):
                return None
            centredness = {}
        else:
            values = {name: a[None] for name, a in self.density.expand(flat, False).items()}
            less = less_centred(self._moved, values) | scale_mixtures.suited(self._moved, values)
            fields = suited(self._moved, values)
            centredness = {name: np.asarray(c).tolist() for name, c in less.items() if name not in fields}
        if not centredness and not fields:
            return None
        plan = replace(
            self.plan, centredness=centredness or None, fields={**(self.plan.fields or {}), **fields} or None
        )
        # Chains that did not come to the neck of a hierarchy begin wide; those of a field are where they should be.
        points = None if centredness else draws[np.linspace(0, len(draws) - 1, self.points).astype(int), -1]
        other = self.in_other_coordinates if tuning else None
        return self._begin_again(plan, points, other).supervisor

    def _with_fields(self, positions: Floats) -> tuple[Model, dict[str, Floats]]:
        """The model that the chains move in, but with fields in the model's own units, and its variables' values."""
        values = self.density.expand(positions, False)
        if not self.plan.fields:
            return self._moved, values
        return rewritten(self.model, replace(self.plan, fields=None)), {
            **values, **self.density.expand(positions, list(self.plan.fields))
        }  # fmt: skip

    @property
    def name(self) -> str:
        """Of the run, which no other has: what it writes says so."""
        return self._name if self.checkpoint is None else self.checkpoint.run

    @property
    def _moved(self) -> Model:
        """The model that the chains move in."""
        moved = self.density.model
        assert isinstance(moved, Model)
        return moved

    def _begin_again(
        self, plan: ModelPlan, points: Floats | None, other_coordinates: OtherCoordinates | None = None
    ) -> Running:
        """A run of the same posterior under another plan; this one's from then on.

        `points`: of this run, from which that one begins; None: wide ones. `other_coordinates`: of that run, which may
        change them in turn.
        """
        density = self.density.likewise(rewritten(self.model, plan))
        if points is None:
            places = starting_positions(density, self.points, self.running.seed, None, width=WIDE)
        else:
            from consilience.model.fields import standardized

            free, values = self._with_fields(points)
            places = density.unconstrained({**values, **standardized(free, plan.fields or {}, values)})
        running = self.begin(density, places, plan, other_coordinates)
        if self.checkpoint is not None:
            assert isinstance(self.kernel, Kernel)
            known = identity(signature(density), self.kernel, plan, self.running.chains, self.running.seed)
            self.checkpoint.begin_again(known, plan.of_the_result)
        running.supervisor.keep = self.checkpoint
        running.supervisor.course.folder = self.running.supervisor.course.folder
        self.density, self.plan = density, plan
        return running

    def _with_longer_sums(self, run: Run) -> Run:
        """The run, or one that follows it where its draws came near to where sums over variables without end stop.

        Where steps diverged there, too: the density falls too steeply beyond.
        """
        again = 0
        while names := self._cut_short(run, again < MORE_VALUES):
            from consilience.model.tails import lengthened  # few models need it

            try:
                if run.interrupted:
                    raise ModelError("the run was stopped before more of them could be summed")
                places = np.linspace(0, len(run.draws) - 1, self.points).astype(int)  # chains may have been lost
                values = lengthened(self._moved, names).summed_values
                self.running = self._begin_again(replace(self.plan, summed_values=values), run.draws[places, -1])
            except ConsilienceError as error:
                if not self._cut_short(run, diverging=False):
                    return run  # no draw lies there
                listed = ", ".join(f"`{name}`" for name in names)
                reason = f"draws came near to where the sum over values of {listed} ends: {error}".removesuffix(".")
                return replace(run, verdict=Verdict("not_converged", reason))
            with self._shown(self.progressbar) as shown:
                self.running.listeners.add([*shown, *self._own_listeners()])
                self.running.listeners.post(Restarted("more values of discrete variables are summed"))
                self.running.start(background=False)
                run = self.running.wait()
            again += 1
        return run

    def _cut_short(self, run: Run, diverging: bool) -> list[str]:
        """Summed variables of which draws, or ends of steps that diverged, need more values."""
        names = list(dict.fromkeys(name for draws in run.draws for name in self.density.cut_short(draws)))
        ends = np.concatenate([d.ends for d in run.divergences]) if diverging and run.divergences else np.empty((0, 0))
        return names or (self.density.cut_short(ends[np.isfinite(ends).all(axis=1)]) if ends.size else [])

    def run(self, stacklevel: int) -> Posterior:
        """Start the run, wait for its end, and give its result."""
        # Ctrl-C while the result is made would lose it: it asks the run to stop, and that is over by then.
        with self.released_on_error(), interrupts_stop(lambda: self.running.stop()):
            with self._shown(self.progressbar) as shown:
                self.running.listeners.add([*shown, *self._own_listeners()])
                self.running.start(background=False)
                run = self.running.wait()
            return self.finish(run, stacklevel + 1)

    @contextmanager
    def released_on_error(self) -> Iterator[None]:
        """An error inside, once the run is over, leaves the store to others; the draws written so far stay."""
        try:
            yield
        except BaseException as error:
            if isinstance(error, WorkerLostError) and self.checkpoint is not None:
                error.args = (f"{error} {way_on(self)}",)
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

    @contextmanager
    def _shown(self, progressbar: bool) -> Iterator[list[Listener]]:
        """The progress display, if there is to be one, as a listener."""
        with reporter(progressbar) as report:
            yield [report] if progressbar else []

    def _own_listeners(self) -> list[Listener]:
        return [*([] if self.store is None else [self.store]), *self.listeners]

    def open_store(self, overwrite: bool) -> None:
        """Have the run written to the store that was asked for while it goes on, or at its end."""
        store, self.overwrite = self.plan.store, overwrite
        try:
            if store is None:
                return
            kind = Path(store).suffix
            if kind == ".nc":
                from consilience.output.storage.netcdf import check_netcdf

                self.overwrite = check_netcdf(store, overwrite, self.name if self.resumed else None)
                self.netcdf = store
            elif kind == ".zarr":
                from consilience.sample.storing import Storing

                self.store = Storing.create(self, store, overwrite)
                self.running.supervisor.course.folder = Path(store).absolute().parent
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
        run = self._with_longer_sums(run)
        if run.verdict.status in FAILED and not all(v.continuous for v in self.density.model.free):
            from consilience.sample.summing import advised  # few models need it

            run = replace(run, verdict=advised(self.model, run.verdict, self.density.model))
        if run.verdict.status in TROUBLED and not self.ended:
            from consilience.sample.causes import explained  # few runs need it

            run = explained(self, run)
        result = tree(self, run)
        if any(v.has_trees for v in self.model.free):
            from consilience.sample.bart import remember_fit  # few models have trees

            remember_fit(self.model, result)
        if "log_likelihood" in self.plan.extras:
            from consilience.sample.predictive import compute_log_likelihood

            compute_log_likelihood(result, model=self.model)
        if "log_prior" in self.plan.extras:
            from consilience.sample.predictive import compute_log_prior

            compute_log_prior(result, model=self.model)
        if self.store is not None:
            self.store.finish(result, stacklevel + 1)
        if self.netcdf is not None:
            from consilience.output.storage.netcdf import write_netcdf

            try:
                write_netcdf(result, self.netcdf, overwrite=self.overwrite, run=self.name)
            except StorageError as fault:  # hours of draws must not be lost with it
                warnings.warn(
                    f"the result was not written: {fault}. It has all draws; write it with `result.to_netcdf`.",
                    ConsilienceWarning,
                    stacklevel=stacklevel + 1,
                )
        if self.page is not None:
            self.page.ended(result)
        self.running.listeners.warn(stacklevel + 1)
        warn(self, run, stacklevel + 1)
        return result

    def ask_for(self, target_ess: float) -> None:
        """Let the run that goes on end at so many effective draws, however long it takes; SamplingError if it can't."""
        course, plan = self.running.supervisor.course, self.plan
        if plan.draws is not None:
            raise SamplingError(f"the run has a fixed length, `draws={plan.draws}`; `result.extend(draws=…)` goes on.")
        changed: dict[str, Any] = {"rule": replace(plan.rule, target_ess=target_ess), "patience": None}
        self.plan, course.plan = replace(plan, **changed), replace(course.plan, **changed)
        if course.attempt is not None:
            course.attempt.forget_the_last_look()  # which may have put the next one far away
        if self.checkpoint is not None:
            self.checkpoint.identity["options"] = self.plan.of_the_run

    def extend(
        self,
        target_ess: float | None,
        draws: int | None,
        max_draws: int | None,
        max_time: float | None,
        progressbar: bool | None,
    ) -> Posterior:
        """See `Posterior.extend`."""
        plan = self.plan if max_time is None else replace(self.plan, max_time=max_time)
        drawn = self.running.drawn
        if drawn is None:
            raise SamplingError("the run was stopped before it had drawn anything; sample anew.")
        if (target_ess is None) == (draws is None):
            raise SamplingError("say how far to extend: either `target_ess=` or `draws=`.")
        if draws is not None:
            if draws < drawn:
                raise SamplingError(f"`draws` counts those there are, which are {drawn}; got {draws}.")
            plan = replace(plan, draws=draws)
        else:
            rule = replace(plan.rule, target_ess=target_ess)
            most = plan.max_draws if max_draws is None else max_draws
            if max_draws is not None and max_draws < drawn:
                raise SamplingError(f"`max_draws` counts those there are, which are {drawn}; got {max_draws}.")
            if max_draws is None and most is not None and drawn >= most:
                most += drawn
            plan = replace(plan, draws=None, rule=rule, max_draws=most, patience=None)
        if self.checkpoint is not None:
            self.checkpoint.identity["options"] = plan.of_the_run
        if self.store is not None:
            self.store.again()
        with self.released_on_error():
            with self._shown(self.progressbar if progressbar is None else progressbar) as shown:
                running = self.running.again(plan, [*shown, *self._own_listeners()])
                running.start(background=False)
                run = running.wait()
            further = copy.copy(self)
            further.running, further.plan, further.ended = running, plan, False
            return further.finish(run, stacklevel=3)


def rewritten(model: Model, plan: ModelPlan) -> Model:
    """The model that chains move in: itself, or without what a plan sums out, or with hierarchies less centred.

    The values at its positions are those of the model that was written.
    """
    made = model
    if plan.marginalized:
        from consilience.model.summation import without  # few models need it

        made = without(model, plan.marginalized, plan.summed_values)
    if plan.summed_values and model.marginalized:  # what its user summed out
        from consilience.model.tails import sum_at_least

        sum_at_least(model, plan.summed_values)
    if plan.fields is not None:
        from consilience.model.fields import rescale  # few models need it

        made = rescale(made, plan.fields)
    if plan.centredness is not None:
        from consilience.model import scale_mixtures  # few models need it

        made = scale_mixtures.rewritten(made, plan.centredness)
    if made is not model:
        made.coordinates = model.coordinates
        derived = [name for name in made.conditional_deterministics if name not in model.conditional_deterministics]
        made.recovers = (*plan.marginalized, *derived)
    return made
