"""A run in the background, as a person holds it: `pm.sample(..., blocking=False)`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from consilience.first_use import face
from consilience.run.steps import Background
from consilience.sample.model_run import ModelRun
from consilience.sample.results import tree

if TYPE_CHECKING:
    from consilience.sample.tree import Posterior


class BackgroundSampling(Background["Posterior"]):
    """A run of chains at work; `draws()` gives those that all chains have made so far, as a result in its own right."""

    def __init__(self, run: ModelRun) -> None:
        run.in_background()
        self._run = run
        super().__init__(run, run.result, lambda: _so_far(run))

    def draws(self) -> Posterior:
        """The draws that all chains have made so far: the same as `so_far`."""
        return self.so_far()

    def watch(self, host: str = "127.0.0.1", port: int | None = None, *, control: bool = True) -> Any:
        """Show the run in a browser while it goes on, and its result afterwards: `docs/do/watching.md`."""
        return face("page of a run")(self._run, host, port, control)

    def __repr__(self) -> str:
        chains = self.progress.chains
        state = "finished" if self.finished else "paused" if self.progress.paused else "running"
        drawn = min((chain.draws for chain in chains), default=0)
        return f"<BackgroundSampling {state}: {len(chains)} chains, {drawn} draws each>"


def _so_far(run: ModelRun) -> Posterior:
    now = copy.copy(run)  # whose coordinates are not exchanged meanwhile
    return tree(now, now.so_far())


def delivered(
    run: ModelRun,
    callback: Callable[..., Any] | None,
    progressbar: bool | str,
    *,
    overwrite: bool,
    blocking: bool,
    watch: bool = False,
) -> Posterior | BackgroundSampling:
    """The result of a run with its callback, progress display and store, or the run in the background."""
    run.show(bool(progressbar), callback)
    run.open_store(overwrite)
    if watch:
        face("page of a run")(run)
    return run.to_the_end() if blocking else BackgroundSampling(run)
