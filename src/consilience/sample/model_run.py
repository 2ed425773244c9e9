"""A run of a model: stores and checkpoint, the progress display, the result at its end.

Its chains move in other coordinates of the same posterior: without discrete variables that can be summed out, and where
draws ask for it with hierarchies that are partially non-centred. The result has the variables of the model.
"""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.errors import (
    ConsilienceError,
    ModelError,
    SamplingError,
    StorageError,
    WorkerLostError,
    warn,
)
from consilience.events import Restarted
from consilience.inference import NUTS, Kernel
from consilience.model.centredness import less_centred
from consilience.model.fields import large, moved, standardized, suited
from consilience.model.log_density import ModelDensity
from consilience.model.model import Model
from consilience.model.reparametrization import heavy_priors
from consilience.model.starting_point import starting_positions
from consilience.output.display import reporter
from consilience.record import replace
from consilience.run import Listener, Run, RunResult
from consilience.run.course import Leg
from consilience.run.forecast import seconds
from consilience.run.listeners import interrupts_stop
from consilience.run.lock_step import ChEES
from consilience.run.remedies.coordinates import Recoordinated
from consilience.run.verdicts import Verdict
from consilience.sample.beginning import Floats, Mover
from consilience.sample.coordinates import ChainCoordinates, rewritten
from consilience.sample.data import ModelAsBegun
from consilience.sample.findings import failures, tell, way_on
from consilience.sample.plan import ModelPlan
from consilience.sample.results import tree

if TYPE_CHECKING:
    from consilience.run.checkpoint import Checkpoint
    from consilience.sample.storing import Storing
    from consilience.sample.tree import Posterior

MOST_DRAWS: Final = 2000  # to find other coordinates from
FAILED: Final = ("not_converged", "chains_disagree")
TROUBLED: Final = (*FAILED, "converged_with_divergences")
# A block in coordinates of its own: evaluations of a chain in these; seconds until they are found and compiled (.3 to
# .8 measured); transitions a chain would have yet to make otherwise; how many times as many where draws have failed.
EVALUATIONS: Final = 6000
COMPILATION: Final = 1.0
DEAR: Final = 5.0  # seconds in these coordinates, from which on correlations beside a diagonal are worth it
TRANSITIONS: Final = 600
FURTHER: Final = 40
# How many times as long an operation takes beside a sparse factor: 4.3e6 of them 2.5 ms, 1.5e5 without it 43 us.
SPARSE: Final = 2.0
MORE_VALUES: Final = 2  # times that a run begins again, as its steps diverged where sums stop
WIDE: Final = 2.0  # half the width of the noise that L-BFGS begins with


def _heavy(model: Model, values: Mapping[str, Floats], besides: Sequence[str]) -> dict[str, Any]:
    """What `model.heavy_tails.suited` gives."""
    if not heavy_priors(model):
        return {}
    from consilience.model.heavy_tails import suited  # few models need it

    return suited(model, values, besides)


class ModelRun(Run):
    """A run of the chains of a model, with all that belongs to it.

    Parameters
    ----------
    model : Model
        As its user wrote it.
    density : ModelDensity
        Of the coordinates that the chains move in, which may become partially non-centred.
    plan : ModelPlan
        What is asked of the run and of its result.
    mover : Mover
        What moves the chains.
    points : ndarray or int
        Where they begin (chain, coordinate); a number of chains that a checkpoint puts somewhere.
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

    keep: Checkpoint | None

    def __init__(
        self,
        model: Model,
        density: ModelDensity,
        plan: ModelPlan,
        mover: Mover,
        points: Floats | int,
        compile_seconds: float,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.written = model
        self._begun = ModelAsBegun(model)
        self.mover = mover
        self.points = points if isinstance(points, int) else len(points)
        self.compile_seconds = compile_seconds
        self.store: Storing | None = None
        self.netcdf: str | None = None
        self.overwrite = False
        self.callbacks: list[Listener] = []
        self.notes: list[str] = []
        self.progressbar = True
        self.page: Any = None  # that shows the run in a browser
        self.resumed = False  # whether it goes on with a run that was cut off
        self.was_over = False  # whether that one had come to its end: then the verdict is what the checkpoint says
        self._name = os.urandom(16).hex()
        self.context = contextvars.copy_context()  # the run may have a thread of its own
        other = (
            self.in_other_coordinates
            if "coordinates" in plan.remedies and isinstance(mover.kernel, NUTS | ChEES)
            else None
        )
        super().__init__(mover.leg(density, points, plan, other), mover.seed, keep=checkpoint)

    def take_up(
        self, path: str | Path, saved: Mapping[str, Any], about: Mapping[str, Any], state: Mapping[str, Any]
    ) -> None:
        """Be where the run of a checkpoint was when it was cut off, and be written to it from now on."""
        from consilience.run import checkpoint as checkpoints  # few runs need it

        self.keep = checkpoints.resume(path, saved, about, state, self.course, self.engine)
        self.resumed, self.was_over = True, state["verdict"] is not None
        self.last_check = None if self.attempt is None else self.attempt.figures

    @property
    def density(self) -> ModelDensity:
        """Of the coordinates that the chains move in now."""
        density: ModelDensity = self.leg.density
        return density

    @property
    def plan(self) -> ModelPlan:
        """What is asked of the run and of its result."""
        plan = self.course.plan
        assert isinstance(plan, ModelPlan)
        return plan

    @property
    def kernel(self) -> Kernel | ChEES:
        """What its chains move by."""
        return self.mover.kernel

    @property
    def name(self) -> str:
        """Of the run, which no other has: what it writes says so."""
        return self._name if self.keep is None else self.keep.run

    @property
    def model(self) -> Model:
        """The model as its user wrote it, with the data that the run began with: others may be set meanwhile."""
        return self._begun()

    @property
    def _moved(self) -> Model:
        """The model that the chains move in."""
        model, moved = self.model, self.density.model
        assert isinstance(moved, Model)
        return moved if model is self.written else rewritten(model, self.plan.coordinates)

    # --- other coordinates --------------------------------------------------------------------------------------

    def in_other_coordinates(self, draws: Floats, of: Recoordinated, length: float) -> Leg | None:
        """The leg to go on with, given draws (chain, draw, coordinate); None where they ask for no other coordinates.

        The checkpoint is that of the new leg from then on.

        `of`: what may get other coordinates. `length`: evaluations in a transition.
        """
        try:
            model = self.model
            leg = self.context.run(self._recoordinated, draws, of, length)
            return leg if self.model is model else self.context.run(self._recoordinated, draws, of, length)
        except ConsilienceError as error:  # the run goes on as it was, and says so at its end
            note = f"hierarchies and fields stay in the model's own coordinates: {error}"
            self.notes += [note] if note not in self.notes else []
            self.course.note_refusal(note)
            return None

    def _recoordinated(self, draws: Floats, of: Recoordinated, length: float) -> Leg | None:
        from consilience.model import scale_mixtures  # few models need these

        now, tuning = self.plan.coordinates, of == "fields"
        before = now.fields or {}
        if tuning and not before and not large(self._moved):
            return None
        flat = draws.reshape(-1, draws.shape[-1])[:: -(-draws.shape[0] * draws.shape[1] // MOST_DRAWS)]
        points = draws[np.linspace(0, len(draws) - 1, self.points).astype(int), -1]
        less: dict[str, Floats] = {}
        if of == "all":
            known, values = self._in_own_coordinates(flat) if now.transported else self._as_moved(flat)
            values = {name: a[None] for name, a in values.items()}
            less = less_centred(known, values) | scale_mixtures.suited(known, values)
        if of != "fields" and (block := self._with_block(flat, of, length, less)):
            return self._next_leg(replace(self.plan, coordinates=block), points, may_change=True)
        if of == "block":
            return None
        if tuning:
            known, values = self._in_own_coordinates(flat)
            fields = suited(known, {name: a[None] for name, a in values.items()}, any_scale=False)
            if not any(name not in before or moved(own, before[name], values[name]) for name, own in fields.items()):
                return None
            centredness, heavy = {}, now.heavy
        else:
            fields = suited(known, values)
            centredness = {name: np.asarray(c).tolist() for name, c in less.items() if name not in fields}
            heavy = _heavy(known, values, [*centredness, *fields])
        # a block whose own coordinates did not serve leaves them
        if not (centredness or fields or heavy or now.transported):
            return None
        other = ChainCoordinates(
            marginalized=now.marginalized,
            summed_values=now.summed_values,
            centredness=centredness or None,
            fields={**before, **fields} or None,
            heavy=heavy or None,
        )
        # Chains that did not come to the neck of a hierarchy begin wide; those of a field are where they should be.
        return self._next_leg(replace(self.plan, coordinates=other), None if centredness else points, may_change=tuning)

    def _with_block(
        self, positions: Floats, of: Recoordinated, length: float, hierarchies: Iterable[str]
    ) -> ChainCoordinates | None:
        """Coordinates in which those of a block of variables follow the others, where that pays.

        `positions`: draws of all chains. `of`, `length`: as of `in_other_coordinates`. `hierarchies`: by name, which
        ask to be less centred. A block frees those among its own variables from their scales, but no others.
        """
        from consilience.model.transport import correlated, operations, suited

        now = self.plan.coordinates
        if now != ChainCoordinates():
            return None
        work, dimension = self.density.work, positions.shape[1]
        ahead = FURTHER * len(positions) if of == "all" else TRANSITIONS * self.chains
        saved = ahead * length * seconds(work, dimension)

        def spent(times: float) -> float:
            return EVALUATIONS * self.chains * seconds(None if work is None else times * work, dimension)

        if COMPILATION + spent(1.0) >= saved:  # nothing is cheaper than what there is: not worth a look
            return None
        known, values = self._as_moved(positions)
        for diagonal in (False, True):
            try:
                chosen = suited(known, values, diagonal)
                # Blocks with a long sum are left alone: intrinsic fields gained nothing on 64 areas, and on 1,921 their
                # coordinates were left again after 600,000 gradients (109 s in place of 27).
                if chosen is None:
                    continue
                if chosen["sums"]:
                    return None
                if not set(chosen["names"]).issuperset(hierarchies):
                    continue
                found = replace(now, transported=chosen)
                times = operations(rewritten(self.model, found)) / (work or operations(known))
                times *= SPARSE if chosen["sparse"] else 1.0
                if COMPILATION + spent(times) < saved:
                    if diagonal and spent(times) > DEAR:
                        found = replace(found, transported=correlated(known, chosen, values))
                    return found
            except ConsilienceError as error:
                by = "the diagonal of its precision" if diagonal else "a factor of its precision"
                self.course.note_refusal(f"no block was given coordinates that follow the others by {by}: {error}")
        return None

    def _as_moved(self, positions: Floats) -> tuple[Model, dict[str, Floats]]:
        """The model that the chains move in, and its variables' values."""
        return self._moved, self.density.expand(positions, False)

    def _in_own_coordinates(self, positions: Floats) -> tuple[Model, dict[str, Floats]]:
        """The same with fields in the model's own units, and a block in the model's own coordinates."""
        (known, values), now = self._as_moved(positions), self.plan.coordinates
        names = [*(now.fields or ()), *(now.transported or {}).get("names", ())]
        if not names:
            return known, values
        own = rewritten(self.model, replace(now, fields=None, transported=None))
        return own, {**values, **self.density.expand(positions, names)}

    def _next_leg(self, plan: ModelPlan, points: Floats | None, may_change: bool = False) -> Leg:
        """A leg of the same posterior in the coordinates of another plan.

        `points`: of this leg, from which that one begins; None: wide ones. `may_change`: whether it may change its
        coordinates in turn.
        """
        density = self.density.likewise(rewritten(self.model, plan.coordinates))
        if points is None:
            places = starting_positions(density, self.points, self.seed, None, width=WIDE)
        else:
            free, values = self._in_own_coordinates(points)
            values |= standardized(free, plan.coordinates.fields or {}, values)
            if plan.coordinates.transported:  # in the middle of what the others leave to the block
                block = [s for s in density.layout.stretches if s.variable.name not in values]
                values |= {s.variable.name: np.zeros((len(points), *s.shape)) for s in block}
            places = density.unconstrained(values)
        leg = self.mover.leg(density, places, plan, self.in_other_coordinates if may_change else None)
        leg.course.keep_draws_in(self.course.folder)
        if self.keep is not None:
            self.keep.begin_again(self.mover.identity(density, plan, self.chains), plan.of_the_result)
        return leg

    def _with_longer_sums(self, result: RunResult) -> RunResult:
        """The result, or that of another leg where draws came near to where sums over variables without end stop.

        Where steps diverged there, too: the density falls too steeply beyond.
        """
        again = 0
        while names := self._cut_short(result, again < MORE_VALUES):
            from consilience.model.tails import lengthened  # few models need it

            try:
                if result.interrupted:
                    raise ModelError("the run was stopped before more of them could be summed")
                places = np.linspace(0, len(result.draws) - 1, self.points).astype(int)  # chains may have been lost
                longer = replace(self.plan.coordinates, summed_values=lengthened(self._moved, names).summed_values)
                leg = self._next_leg(replace(self.plan, coordinates=longer), result.draws[places, -1])
            except ConsilienceError as error:
                if not self._cut_short(result, diverging=False):
                    return result  # no draw lies there
                listed = ", ".join(f"`{name}`" for name in names)
                reason = f"draws came near to where the sum over values of {listed} ends: {error}".removesuffix(".")
                return replace(result, verdict=Verdict("not_converged", reason))
            with self._shown(self.progressbar) as shown:
                self.begin_with(leg, [*shown, *self._own_listeners()])
                self.listeners.post(Restarted("more values of discrete variables are summed"))
                self.start(background=False)
                result = self.wait()
            again += 1
        return result

    def _cut_short(self, result: RunResult, diverging: bool) -> list[str]:
        """Summed variables of which draws, or ends of steps that diverged, need more values."""
        names = list(dict.fromkeys(name for draws in result.draws for name in self.density.cut_short(draws)))
        ends = np.empty((0, 0))
        if diverging and result.divergences:
            ends = np.concatenate([d.ends for d in result.divergences])
        return names or (self.density.cut_short(ends[np.isfinite(ends).all(axis=1)]) if ends.size else [])

    # --- from its start to its result ---------------------------------------------------------------------------

    def to_the_end(self) -> Posterior:
        """Start, wait for the end, and give the result."""
        # Ctrl-C while the result is made would lose it: it asks the run to stop, and that is over by then.
        with self.released_on_error(), interrupts_stop(self.stop):
            with self._shown(self.progressbar) as shown:
                self.listeners.add([*shown, *self._own_listeners()])
                self.start(background=False)
                result = self.wait()
            return self.finish(result)

    def in_background(self) -> None:
        """Start in the background."""
        self.listeners.add(self._own_listeners())
        self.start(background=True)

    def result(self, timeout: float | None) -> Posterior:
        """The result of a run in the background, once it is over; TimeoutError leaves everything as it is."""
        with self.released_on_error():
            return self.finish(self.wait(timeout))

    @contextmanager
    def released_on_error(self) -> Iterator[None]:
        """An error inside, once the run is over, leaves the store to others; the draws written so far stay."""
        try:
            yield
        except BaseException as error:
            if isinstance(error, WorkerLostError) and self.keep is not None:
                error.args = (f"{error} {way_on(self)}",)
            raised = failures()
            if raised:
                error.add_note(raised)
            if self.store is not None and self.finished:
                self.store.store.close()
            raise

    def show(self, progressbar: bool, callback: Callable[..., Any] | None) -> None:
        """Whether there is a display, and a user's callback: told of events, or of draws (`draw_callback`)."""
        self.progressbar = progressbar
        if callback is not None:
            from consilience.sample.draw_callback import listener_of

            self.callbacks = [listener_of(callback, lambda: self.density)]

    @contextmanager
    def _shown(self, progressbar: bool) -> Iterator[list[Listener]]:
        """The progress display, if there is to be one, as a listener."""
        with reporter(progressbar) as report:
            yield [report] if progressbar else []

    def _own_listeners(self) -> list[Listener]:
        return [*([] if self.store is None else [self.store]), *self.callbacks]

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
                self.course.keep_draws_in(Path(store).absolute().parent)
            else:
                raise SamplingError(f'`store` must end in ".zarr" or ".nc", got {store!r}.')
        except BaseException:
            if self.keep is not None:
                self.keep.close()  # or its lock would outlive the failed call
            raise

    def show_on(self, page: Any) -> None:
        """Have the result shown on a page of the browser, too."""
        self.page = page

    def finish(self, found: RunResult) -> Posterior:
        """The tree of what a finished run found, with the warnings it deserves."""
        found = self._with_longer_sums(found)
        if found.verdict.status in FAILED and not all(v.continuous for v in self.density.model.free):
            from consilience.sample.summing import advised  # few models need it

            found = replace(found, verdict=advised(self.model, found.verdict, self.density.model))
        if found.verdict.status in TROUBLED or self.course.quotient is not None:
            from consilience.sample.causes import explained  # few runs need it

            found = explained(self, found)
        result = tree(self, found)
        if any(v.has_trees for v in self.model.free):
            from consilience.sample.bart import remember_fit  # few models have trees

            remember_fit(self.written, result)
        if "log_likelihood" in self.plan.extras:
            from consilience.sample.derived import compute_log_likelihood

            compute_log_likelihood(result, model=self.model)
        if "log_prior" in self.plan.extras:
            from consilience.sample.derived import compute_log_prior

            compute_log_prior(result, model=self.model)
        if self.store is not None:
            self.store.finish(result)
        if self.netcdf is not None:
            from consilience.output.storage.netcdf import write_netcdf

            try:
                write_netcdf(result, self.netcdf, overwrite=self.overwrite, run=self.name)
            except StorageError as fault:  # hours of draws must not be lost with it
                warn(f"the result was not written: {fault}. It has all draws; write it with `result.to_netcdf`.")
        if self.page is not None:
            self.page.ended(result)
        self.listeners.warn()
        tell(self, found)
        return result

    def ask_for(self, target_ess: float) -> None:
        """Let the run that goes on end at so many effective draws, however long it takes; SamplingError if it can't."""
        plan = self.plan
        if plan.draws is not None:
            raise SamplingError(
                f"the run has a fixed length, `draws={plan.draws}`; `result.extend(draws=…)` adds draws."
            )
        self.course.ask_for(replace(plan, rule=replace(plan.rule, target_ess=target_ess), patience=None))
        if self.keep is not None:
            self.keep.note_options(self.plan.of_the_run)

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
        drawn = self.drawn
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
        if self.keep is not None:
            self.keep.note_options(plan.of_the_run)
        if self.store is not None:
            self.store.again()
        with self.released_on_error():
            with self._shown(self.progressbar if progressbar is None else progressbar) as shown:
                further = self.again(plan, [*shown, *self._own_listeners()])
                further.start(background=False)
                found = further.wait()
            further.was_over = False
            return further.finish(found)
