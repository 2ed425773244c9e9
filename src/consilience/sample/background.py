"""A run in the background, as a person holds it: `pm.sample(..., blocking=False)`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from consilience.events import Progress
from consilience.sample.results import tree
from consilience.sample.work import Work

if TYPE_CHECKING:
    from consilience.sample.tree import Posterior


class BackgroundSampling:
    """A run at work.

    run = pm.sample(blocking=False)
    run.progress                  # where the chains are
    run.draws()                   # what is there now
    run.pause(); run.resume()
    result = run.wait()
    """

    def __init__(self, work: Work) -> None:
        work.start()
        self._work = work
        self._result: Posterior | None = None

    @property
    def progress(self) -> Progress:
        """Where the chains are, and what the last check of convergence found."""
        return self._work.running.progress

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        return self._work.running.finished

    def draws(self) -> Posterior:
        """The draws that all chains have made so far, as a result in its own right; without warnings."""
        if self.finished:
            return self.wait()
        while True:
            work = copy.copy(self._work)
            run = work.running.so_far()
            if work.density is self._work.density:  # or the coordinates were exchanged meanwhile
                return tree(work, run)

    def pause(self) -> None:
        """Let the chains rest; `resume` lets them go on. The draws do not depend on it."""
        self._work.running.pause()

    def resume(self) -> None:
        """Go on after a pause."""
        self._work.running.resume()

    def stop(self) -> Posterior:
        """End the run and give the draws made so far."""
        self._work.running.stop()
        return self.wait()

    def wait(self, timeout: float | None = None) -> Posterior:
        """The result, once the run is over.

        timeout   seconds to wait at most; then TimeoutError, and the run goes on
        raises    SamplingError if no chain was left
        """
        if self._result is None:
            self._result = self._work.wait(timeout, stacklevel=2)
        return self._result

    def __repr__(self) -> str:
        chains = self.progress.chains
        state = "finished" if self.finished else "paused" if self.progress.paused else "running"
        drawn = min((chain.draws for chain in chains), default=0)
        return f"<BackgroundSampling {state}: {len(chains)} chains, {drawn} draws each>"


def delivered(
    work: Work,
    callback: Callable[..., Any] | None,
    progressbar: bool | str,
    *,
    overwrite: bool,
    blocking: bool,
    stacklevel: int = 3,
) -> Posterior | BackgroundSampling:
    """The result of a run with its callback, progress display and store, or the run in the background."""
    work.listen(callback)
    work.progressbar = bool(progressbar)
    work.open_store(overwrite)
    return work.run(stacklevel) if blocking else BackgroundSampling(work)
