"""The run of this process enters; a source of what it has made by now, and what buttons do to it, leave."""

from __future__ import annotations

import copy
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.errors import ConsilienceError, SamplingError
from consilience.inference.messages import draws_by_chain, statistics_by_chain
from consilience.output.storage.datatree import labelled
from consilience.output.storage.journal import Journal, finite
from consilience.run.attempt import spread
from consilience.run.result import name_statistics
from consilience.sample.results import named
from consilience.sample.storing import ProcessReport, about
from consilience.watch import views
from consilience.watch.server import Server, check_installed
from consilience.watch.source import RunSource, StoreSource, TreeSource

if TYPE_CHECKING:
    from consilience.inference.messages import Matrix
    from consilience.run.attempt import Attempt
    from consilience.sample.model_run import ModelRun

NUMBERS: Final = 1 << 18  # of draws in the copy that the page looks at, if these are at least
FEWEST: Final = 200  # draws of each chain
SELDOM, SHARE = 2.0, 0.01  # seconds between two copies at least, and their share of the process's processor time
NAME: Final = "this run"
PRIOR_DRAWS: Final = 2000


class LiveSource(TreeSource):
    """A run at work that writes no store: its draws are copied, evenly spread ones of many, when a page asks."""

    def __init__(self, run: ModelRun) -> None:
        super().__init__({}, NAME)
        self._run = run
        self._count, self._due, self._may = 0, 0.0, 0.0
        self.rows = views.LIVE_ROWS
        self._told: list[dict[str, Any]] = []
        self.records = self._told
        self.journal = Journal(self._note, about(run), ProcessReport(run))

    def _note(self, record: Mapping[str, Any]) -> None:
        """Keep a record; of a run that begins while its page is made only the first that says so."""
        if record["kind"] != "began" or not self._told:
            self._told.append(finite(record))

    def version(self) -> object:
        return len(self._told), self._count

    def refresh(self) -> None:
        now, begun = time.monotonic(), time.thread_time()
        if self._count < 0 or now < self._due or time.process_time() < self._may or self._run.finished:
            return
        run = copy.copy(self._run)  # whose coordinates are not exchanged meanwhile
        attempt = run.attempt
        taken = 0 if attempt is None else attempt.count
        draws, statistics = run.engine.under_way() if attempt is not None else ({}, {})
        if attempt is None or attempt.count != taken or not set(attempt.chains) <= set(draws):
            draws, statistics = {}, {}  # these draws are taken in meanwhile
        count = taken + len(next(iter(draws.values()), ()))
        if count != self._count:
            if attempt is not None and count:
                self._copy(run, attempt, draws, statistics)
            else:
                self.take({})
            self._count = count
        self._due = now + SELDOM
        self._may = time.process_time() + (time.thread_time() - begun) / SHARE  # of what the run computes meanwhile

    def _copy(
        self, run: ModelRun, attempt: Attempt, draws: Mapping[int, Matrix], statistics: Mapping[int, Matrix]
    ) -> None:
        """Take over evenly spread draws and their statistics, with those of the segment under way."""
        windows, chains = list(attempt.windows), attempt.chains
        parts = [draws_by_chain(some, chains) for some in windows]
        tables = [statistics_by_chain(some, chains) for some in windows]
        if draws:
            parts.append([draws[c] for c in chains])
            tables.append([statistics[c] for c in chains])
        dimension = run.course.chains.dimension
        chosen, places = spread(parts, len(chains), dimension, max(NUMBERS, FEWEST * len(chains) * dimension))
        of_places, begin = [], 0
        for some in tables:
            end = begin + some[0].shape[1]
            here = places[slice(*np.searchsorted(places, [begin, end]).tolist())] - begin
            of_places.append(np.stack([own[:, here] for own in some]))
            begin = end
        statistics_of_all = name_statistics(np.concatenate(of_places, axis=2), run.course.chains.columns)
        groups = {"posterior": named(run, chosen, True), "sample_stats": dict(statistics_of_all)}
        self.take(labelled(groups, {**run.model.coords, "chain": list(chains)}, run.model.named_vars_to_dims))
        self.stride = int(places[1] - places[0]) if len(places) > 1 else 1

    def end(self, result: Any) -> None:
        """Show the result from now on."""
        self.take(result)
        self._count = -1
        self.rows = views.MOST_ROWS


def prior_of(run: ModelRun) -> Callable[[], Mapping[str, Any]] | None:
    """What draws from the prior of a run's model; None where draws would not be the prior's, or there is none."""
    from consilience.sample.predictive import sample_prior_predictive

    model = run.model
    names = [v.name for v in (*model.free, *model.marginalized)] + list(model.named_deterministics)
    if model.named_potentials or not names:
        return None

    def draw() -> Mapping[str, Any]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of draws that are not numbers, which are left out
                found: Mapping[str, Any] = sample_prior_predictive(
                    PRIOR_DRAWS, model, names, random_seed=1, return_inferencedata=False
                )
                return found
        except ConsilienceError:  # as of a flat density, which nothing can be drawn from
            return {}

    return draw


class Page:
    """The page of a run of this process: its server, and its one run."""

    single = shares = True

    def __init__(self, run: ModelRun) -> None:
        self.run = run
        self.live: LiveSource | None = None
        if run.store is None:
            self.live = LiveSource(run)
            self.live.journal(run.started())
            run.listeners.add([self.live.journal])
        self._source: RunSource | None = self.live
        self._prior: Callable[[], Mapping[str, Any]] | None = None  # once the run is over

    def names(self) -> list[str]:
        """Of the one run."""
        return [NAME]

    def stamp(self, name: str) -> object:
        """None: of a run of this process there are no files to go by."""

    def source(self, name: str) -> RunSource:
        """The run as it is now."""
        if name != NAME:
            raise KeyError(name)
        if self._source is None:
            assert self.run.store is not None
            self._source = StoreSource(self.run.store.store.path, NAME)
            self._source.draw_prior = self._prior
        self._source.refresh()
        return self._source

    brief = source

    def clock(self) -> float:
        """Of this process while the run goes on; afterwards looking takes nothing from it."""
        return time.process_time() + self.run.finished * time.monotonic()

    def version(self, name: str) -> object:
        """Another value whenever the run may have something new."""
        return (self._source or self.source(name)).version()

    def ended(self, result: Any) -> None:
        """The run is over; this is what came of it."""
        if self.live is not None:
            self.live.end(result)
        self._prior = prior_of(self.run)
        if self._source is not None:
            self._source.draw_prior = self._prior

    def control(self, action: str, number: float | None) -> None:
        """What the buttons do: pause, resume, stop, or ask for so many more effective draws than there are."""
        run = self.run
        if run.finished:
            raise SamplingError("the run is over; continue it with `result.extend(target_ess=…)`.")
        match action:
            case "pause" | "resume" | "stop":
                getattr(run, action)()
            case "more":
                if number is None or not 0 < number < 1e9:
                    raise SamplingError("give a number above 0 to add to the target ESS.")
                check = run.last_check
                there = 0.0 if check is None or not np.isfinite(check.ess) else check.ess
                run.ask_for(there + number)
            case _:
                raise SamplingError(f"the action must be 'pause', 'resume', 'stop' or 'more', got {action!r}.")


def page_of(run: ModelRun, host: str = "127.0.0.1", port: int | None = None, control: bool = True) -> Server:
    """Show a run of this process in the browser; the address is printed, or the page shown in a notebook."""
    check_installed()
    page = Page(run)
    server = Server(page, host, port, page.control if control else None).start()
    run.show_on(page)
    shell = sys.modules.get("IPython")
    if shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None:
        shell.display.display(server)
    else:
        print(f"Watch the run at {server.address}", flush=True)
    return server
