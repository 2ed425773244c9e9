"""A run in the background, as a person holds it: `pm.sample(..., blocking=False)`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from consilience.first_use import face
from consilience.run.steps import Background
from consilience.sample.results import tree
from consilience.sample.work import Work

if TYPE_CHECKING:
    from consilience.sample.tree import Posterior


class BackgroundSampling(Background["Posterior"]):
    """A run of chains at work; `draws()` gives those that all chains have made so far, as a result in its own right."""

    def __init__(self, work: Work) -> None:
        work.start()
        self._work = work
        super().__init__(work.running, work.wait, lambda: _so_far(work))

    def draws(self) -> Posterior:
        """The draws that all chains have made so far: the same as `so_far`."""
        return self.so_far()

    def watch(self, host: str = "127.0.0.1", port: int | None = None, *, control: bool = True) -> Any:
        """Show the run in a browser while it goes on, and its result afterwards: `docs/do/watching.md`."""
        return face("page of a run")(self._work, host, port, control)

    def __repr__(self) -> str:
        chains = self.progress.chains
        state = "finished" if self.finished else "paused" if self.progress.paused else "running"
        drawn = min((chain.draws for chain in chains), default=0)
        return f"<BackgroundSampling {state}: {len(chains)} chains, {drawn} draws each>"


def _so_far(work: Work) -> Posterior:
    while True:
        now = copy.copy(work)
        run = now.running.so_far()
        if now.density is work.density:  # or the coordinates were exchanged meanwhile
            return tree(now, run)


def delivered(
    work: Work,
    callback: Callable[..., Any] | None,
    progressbar: bool | str,
    *,
    overwrite: bool,
    blocking: bool,
    watch: bool = False,
    stacklevel: int = 3,
) -> Posterior | BackgroundSampling:
    """The result of a run with its callback, progress display and store, or the run in the background."""
    work.listen(callback)
    work.progressbar = bool(progressbar)
    work.open_store(overwrite)
    if watch:
        face("page of a run")(work)
    return work.run(stacklevel) if blocking else BackgroundSampling(work)
