"""One call of `fit`: ascents from one or several points, each a block of steps at a time; the highest bound counts."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience.errors import ConvergenceWarning, SamplingError
from consilience.estimators.variational.approximation import Approximation
from consilience.estimators.variational.course import Callbacks, Course
from consilience.estimators.variational.optimizers import Optimizer
from consilience.estimators.variational.state import PARTICLES
from consilience.native.threads import NativeThreads
from consilience.run.handle import TICK
from consilience.run.steps import Stepwise

if TYPE_CHECKING:
    from consilience.estimators.variational.inference import Inference


class Fitting(Stepwise[Approximation]):
    """Ascents of an inference, a block of steps a step.

    Parameters
    ----------
    runs : list of Course
        The ascents, the first of which goes on from where the inference was.
    n : int
        Steps of each at most.
    called : Callbacks
        Callbacks between steps.
    stops : object
        int64[1], not 0 once ascents are to end.
    converge : bool
        Whether the rule may end them, and averages are returned.
    check : bool
        Whether to look how far the approximation is from the posterior.
    """

    def __init__(
        self,
        inference: Inference,
        optimizer: Optimizer,
        runs: list[Course],
        n: int,
        called: Callbacks,
        stops: Any,
        *,
        converge: bool,
        check: bool,
        progressbar: bool,
    ) -> None:
        super().__init__(progressbar)
        self._inference, self._optimizer, self._runs, self._n, self._called = inference, optimizer, runs, n, called
        self._stops, self._converge, self._check = stops, converge, check

    def stop(self) -> None:
        """Machine code looks at the flag between two evaluations."""
        self._stops[0] = 1
        super().stop()

    def work(self) -> None:
        """Up to `n` steps of each ascent; raises SamplingError where no ascent finds a finite density."""
        first, *others = self._runs
        if not others:
            first.ascend(self._n, self._called, self._converge, self.step_and_tell)
            return
        with NativeThreads(min(len(self._runs), os.cpu_count() or 1), "consilience-fit") as pool:
            waiting = work = [pool.submit(run.ascend, self._n, (), self._converge, self.step) for run in self._runs]
            try:
                while waiting:
                    waiting = list(wait(waiting, TICK).not_done)
                    self.tell()
            except BaseException:
                self.stop()
                raise
        errors = [one.exception() for one in work]
        for error in errors:
            if error is not None and not (isinstance(error, SamplingError) and None in errors):
                raise error

    def result(self, stacklevel: int) -> Approximation:
        """The inference's approximation, where the highest ascent has come to."""
        inference, best = self._inference, max(self._runs, key=lambda run: run.level)
        inference.went_on(self._optimizer, best)
        if self.stopping or any(run.interrupted for run in self._runs):
            warnings.warn(
                f"the fit was interrupted after {best.taken} steps; this is how far it got.",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )
        elif self._converge and not (best.arrived or best.ended):
            warnings.warn(
                f"the fit had not converged after {best.taken} steps: its bound was rising, or its parameters moved by "
                "more than the noise. Take more steps (`n`), another `obj_optimizer`, or go on with `.refine`.",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )
        if self._check and inference.approx.family != PARTICLES:
            inference.examine(stacklevel + 1)
        return inference.approx

    def so_far(self) -> Approximation:
        """An approximation of its own with the parameters after the last block, of the highest ascent by its bound."""
        best = max(self._runs, key=lambda run: run.bound)
        return best.approx.with_parameters(np.array(best.latest))

    def where(self) -> tuple[int, int, str]:
        """Steps of the ascent with the fewest, and the highest bound."""
        done = min(run.taken for run in self._runs)
        return done, self._n, f"step {done} of at most {self._n} · bound {max(run.bound for run in self._runs):.5g}"
