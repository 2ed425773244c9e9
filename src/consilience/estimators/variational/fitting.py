"""One call of `fit`: ascents from one or several points, each a block of steps at a time; the highest bound counts.

Several go side by side, on threads or on workers of an executor.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.cluster import Task
from consilience.errors import ConvergenceWarning, SamplingError, warn
from consilience.estimators.studies.many import moved_by_pieces
from consilience.estimators.variational.approximation import Approximation
from consilience.estimators.variational.course import Callbacks, Course
from consilience.estimators.variational.optimizers import Optimizer
from consilience.estimators.variational.state import PARTICLES
from consilience.native.threads import NativeThreads
from consilience.run.listeners import TICK
from consilience.run.steps import Stepwise

if TYPE_CHECKING:
    from consilience.estimators.variational.inference import Inference


Settings = tuple[Optimizer, int, float]
PIECE: Final = 1.0  # seconds of an ascent that a worker makes before it gives it back


class AscentRecipe:
    """What a worker makes ascents of: the inference, and what `Inference.course` takes."""

    def __init__(self, inference: Inference, settings: Settings, begins: list[Any], n: int, converge: bool) -> None:
        self.inference, self.settings, self.begins, self.n, self.converge = inference, settings, begins, n, converge

    def __copy__(self) -> AscentRecipe:
        return self  # threads of one worker share the density

    def further(self, number: int, state: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        """Some steps on; whether they were the last."""
        course = self.inference.course(*self.settings, number, self.begins[number])
        course.go_on_from(state)
        before, end = course.taken, time.monotonic() + PIECE
        over = course.climb(self.n, (), self.converge, lambda: course.taken == before or time.monotonic() < end)
        return over, course.state()


class Fitting(Stepwise[Approximation]):
    """Ascents of an inference, a block of steps a step.

    `settings`: of `Inference.course`: the rule of steps, draws per step, greatest norm of a gradient.
    `begins`: parameters that they begin with, None where the inference is.
    `runs`: the ascents, the first of which goes on from where the inference was.
    `n`: steps of each at most.
    `called`: callbacks between steps.
    `stops`: int64[1], not 0 once ascents are to end.
    `converge`: whether the rule may end them, and averages are returned.
    `check`: whether to look how far the approximation is from the posterior.
    `executor`: makes several ascents in place of threads.
    """

    def __init__(
        self,
        inference: Inference,
        settings: Settings,
        begins: list[Any],
        runs: list[Course],
        n: int,
        called: Callbacks,
        stops: Any,
        *,
        converge: bool,
        check: bool,
        executor: Any,
        progressbar: bool,
    ) -> None:
        super().__init__(progressbar)
        self._inference, self._settings, self._begins, self._runs = inference, settings, begins, runs
        self._n, self._called, self._stops = n, called, stops
        self._converge, self._check, self._executor = converge, check, executor
        self._errors: list[BaseException | None] = []  # of several ascents that have ended

    def stop(self) -> None:
        """Machine code looks at the flag between two evaluations."""
        self._stops[0] = 1
        super().stop()

    def work(self) -> None:
        """Up to `n` steps of each ascent; raises SamplingError where no ascent finds a finite density."""
        first, *others = self._runs
        if self._executor is not None:
            self._on_workers()
        elif others:
            self._on_threads()
        else:
            first.ascend(self._n, self._called, self._converge, self.step_and_tell)
        for error in self._errors:
            if error is not None and not (isinstance(error, SamplingError) and None in self._errors):
                raise error

    def _on_workers(self) -> None:
        ascents = AscentRecipe(self._inference, self._settings, self._begins, self._n, self._converge)
        states = {number: run.state() for number, run in enumerate(self._runs)}
        left = dict(enumerate(self._runs))

        def take(number: int, task: Task) -> dict[str, Any] | None:
            over, state = (True, None) if task.error is not None else task.result()
            if state is not None:
                left[number].go_on_from(state)
            if over:
                run = left.pop(number)
                self._errors.append(task.error)
                if task.error is None:
                    run.arrive(self._converge)
            return None if over else state

        moved_by_pieces(self, self._executor, ascents, "the fit", AscentRecipe.further, states, take)
        for run in left.values():  # it was stopped
            run.ended = True
            run.arrive(self._converge)

    def _on_threads(self) -> None:
        with NativeThreads(min(len(self._runs), os.cpu_count() or 1), "consilience-fit") as pool:
            waiting = work = [pool.submit(run.ascend, self._n, (), self._converge, self.step) for run in self._runs]
            try:
                while waiting:
                    waiting = list(wait(waiting, TICK).not_done)
                    self.tell()
            except BaseException:
                self.stop()
                raise
        self._errors = [one.exception() for one in work]

    def result(self) -> Approximation:
        """The inference's approximation, where the highest ascent has come to."""
        inference, best = self._inference, max(self._runs, key=lambda run: run.level)
        inference.went_on(self._settings[0], best)
        if self.stopping or any(run.interrupted for run in self._runs):
            warn(
                f"the fit was interrupted after {best.taken} steps; this is how far it got.",
                ConvergenceWarning,
            )
        elif self._converge and not (best.arrived or best.ended):
            warn(
                f"the fit had not converged after {best.taken} steps: its bound was rising, or its parameters moved by "
                "more than the noise. Take more steps (`n`), another `obj_optimizer`, or go on with `.refine`.",
                ConvergenceWarning,
            )
        if self._check and inference.approx.family != PARTICLES:
            inference.examine()
        return inference.approx

    def so_far(self) -> Approximation:
        """An approximation of its own with the parameters after the last block, of the highest ascent by its bound."""
        best = max(self._runs, key=lambda run: run.bound)
        return best.approx.with_parameters(np.array(best.latest))

    def where(self) -> tuple[int, int, str]:
        """Steps of the ascent with the fewest, and the highest bound."""
        done = min(run.taken for run in self._runs)
        return done, self._n, f"step {done} of at most {self._n} · bound {max(run.bound for run in self._runs):.5g}"
