"""The run of this process: its work enters; a source of what it has made by now, and what buttons do to it, leave."""

from __future__ import annotations

import copy
import sys
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.errors import SamplingError
from consilience.output.storage.datatree import tree_of
from consilience.output.storage.journal import Journal, finite
from consilience.run.result import name_statistics
from consilience.sample.results import named
from consilience.sample.storing import about
from consilience.watch.server import Server, check_installed
from consilience.watch.source import RunSource, StoreSource, TreeSource

if TYPE_CHECKING:
    from consilience.sample.work import Work

NUMBERS: Final = 1 << 21  # of draws in the copy that the page looks at
NAME: Final = "this run"


class LiveSource(TreeSource):
    """A run at work that writes no store: its draws are copied, evenly spread ones of many, when a page asks."""

    def __init__(self, work: Work) -> None:
        import xarray

        super().__init__(xarray.DataTree(), NAME)
        self._work = work
        self._count = 0
        self._told: list[dict[str, Any]] = []
        self.records = self._told
        self.journal = Journal(lambda record: self._told.append(finite(record)), about(work))

    def version(self) -> object:
        attempt = self._work.running.supervisor.course.attempt
        return len(self._told), 0 if attempt is None else attempt.count, self._count < 0

    def refresh(self) -> None:
        attempt = self._work.running.supervisor.course.attempt
        count = 0 if attempt is None else attempt.count
        if self._count < 0 or count == self._count or self._work.running.finished:
            return
        if attempt is None or not count:
            self.take(tree_of({}))
            self._count = count
            return
        work, windows, chains = copy.copy(self._work), list(attempt.windows), attempt.chains
        draws = attempt.draws(NUMBERS)
        made = sum(len(some[chains[0]].draws) for some in windows)
        stride = max(1, -(-made // max(1, draws.shape[1])))
        table = np.stack([np.concatenate([some[c].statistics for some in windows], axis=1) for c in chains])
        columns = work.running.supervisor.engine.chains.columns
        statistics = {
            k: v[:, ::-stride][:, ::-1][:, -draws.shape[1] :] for k, v in name_statistics(table, columns).items()
        }
        same = all(v.shape[1] == draws.shape[1] for v in statistics.values())
        model = work.model
        groups = {"posterior": named(work, draws, True), "sample_stats": statistics if same else {}}
        self.take(tree_of(groups, {**model.coords, "chain": list(chains)}, model.named_vars_to_dims))
        self.stride, self._count = stride, count

    def end(self, result: Any) -> None:
        """Show the result from now on."""
        self.take(result)
        self._count = -1


class Page:
    """The page of a run of this process: its server, and its one run."""

    single = True

    def __init__(self, work: Work) -> None:
        self.work = work
        self.live: LiveSource | None = None
        if work.store is None:
            self.live = LiveSource(work)
            self.live.journal(work.running.supervisor.started())
            work.running.listeners.add([self.live.journal])
        self._source: RunSource | None = self.live

    def names(self) -> list[str]:
        """Of the one run."""
        return [NAME]

    def source(self, name: str) -> RunSource:
        """The run as it is now."""
        if name != NAME:
            raise KeyError(name)
        if self._source is None:
            assert self.work.store is not None
            self._source = StoreSource(self.work.store.store.path, NAME)
        self._source.refresh()
        return self._source

    def ended(self, result: Any) -> None:
        """The run is over; this is what came of it."""
        if self.live is not None:
            self.live.end(result)

    def control(self, action: str, number: float | None) -> None:
        """What the buttons do: pause, resume, stop, or ask for so many more effective draws than there are."""
        running = self.work.running
        if running.finished:
            raise SamplingError("the run is over; `result.extend(target_ess=…)` goes on with it.")
        match action:
            case "pause" | "resume" | "stop":
                getattr(running, action)()
            case "more":
                if number is None or not 0 < number < 1e9:
                    raise SamplingError("more effective draws need a number of them, above 0.")
                check = running.supervisor.last_check
                there = 0.0 if check is None or not np.isfinite(check.ess) else check.ess
                self.work.ask_for(there + number)
            case _:
                raise SamplingError(f"a run is paused, resumed, stopped or asked for more; got {action!r}.")


def page_of(work: Work, host: str = "127.0.0.1", port: int | None = None, control: bool = True) -> Server:
    """Show a run of this process in the browser; the address is printed, or the page shown in a notebook."""
    check_installed()
    page = Page(work)
    server = Server(page, host, port, page.control if control else None).start()
    work.page = page
    shell = sys.modules.get("IPython")
    if shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None:
        shell.display.display(server)
    else:
        print(f"Watch the run at {server.address}", flush=True)
    return server
