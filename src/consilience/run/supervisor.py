"""The supervisor of a run: it hands segments to the chains, takes their windows in, and has faults mended.

In the spirit of Erlang/OTP: chains share nothing, a chain that fails is restarted once from its last state and
left out if it fails again, and the others go on. It lives in a thread of its own; all decisions are those of
`RunController`, taken from windows in the order of chains, so that neither the number of threads nor their timing has
a part in the draws.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from consilience.errors import InitialPointError, SamplingError
from consilience.events import ChainLost, CheckFigures, DrawsMade, Event, Progress, RunEnded
from consilience.inference.columns import Columns
from consilience.inference.messages import Divergences, Segment, Window
from consilience.native.blas import single_threaded
from consilience.record import replace
from consilience.run.chain_worker import FEWEST_BROKEN, ChainWorker
from consilience.run.controller import RunController
from consilience.run.reports import progress
from consilience.run.result import Run, name_statistics
from consilience.run.sampling import Sampling
from consilience.run.stopping import Verdict
from consilience.run.thread_pool import Delivery, ThreadPool


class Keep(Protocol):
    """What keeps the state of a run."""

    def __call__(
        self, controller: RunController, workers: list[ChainWorker], windows: Mapping[int, Window], last: bool, /
    ) -> None:
        """Keep the state after a segment with these windows; `last`: nothing more will come."""
        ...

    def close(self) -> None:
        """Let files go; a run that is extended calls again afterwards."""
        ...


class Supervisor:
    """A run at work.

    controller        what is to be done and what has come of it
    workers         the chains
    threads       number of threads that work on them
    columns       the chains' statistics
    keep          called after every segment, and closed at the end
    send          takes the events of the run, in order
    """

    def __init__(
        self,
        controller: RunController,
        workers: list[ChainWorker],
        threads: int,
        columns: Columns,
        seed: int,
        send: Callable[[Event], None],
        keep: Keep | None = None,
    ) -> None:
        self.controller = controller
        self.workers = workers
        self.columns = columns
        self.seed = seed
        self.send = send
        self.keep = keep
        self.pool = ThreadPool(threads)
        self.stopping = False  # no Event: its lock is not made for a second Ctrl-C during the first one
        self.by_user = False
        self.out_of_time = False
        self.began = time.perf_counter()
        self.paused_seconds = 0.0
        self.earlier_seconds = 0.0  # of a run that this one follows
        self.check_seconds = 0.0
        self.tuning_seconds = 0.0
        self.last_check: CheckFigures | None = None
        self.ended = False
        self.number = 0
        self.divergences: dict[int, int] = {}
        self.partial: dict[int, Window] = {}  # of a segment that a stop cut short, as far as all chains have it
        self._early: dict[tuple[int, int], Delivery] = {}
        self._arrived: dict[int, Delivery] = {}
        self._segment: Segment = Segment("tuning", 0)

    # --- what may be called from any thread -------------------------------------------------------------------

    def stop(self, by_user: bool = True) -> None:
        """Ask the run to end with what it has; asking twice is harmless."""
        self.by_user = self.by_user or by_user
        self.stopping = True
        for worker in self.workers:
            worker.stop[0] = 1
        self.pool.wake()

    def progress(self) -> Progress:
        """Where the chains are."""
        sampling = self.controller.sampling
        return progress(
            self.workers,
            self.columns,
            0 if sampling is None else sampling.count,
            sampling.windows[-1] if sampling is not None and sampling.windows else {},
            self.divergences,
            self.last_check,
            self.seconds,
            self.stopping,
            self.ended,
            self.pool.paused,
        )

    @property
    def seconds(self) -> float:
        return self.earlier_seconds + time.perf_counter() - self.began

    def so_far(self) -> Run:
        """What all chains have done up to now, while they go on."""
        return self._result(Verdict("interrupted", "the run is going on"))

    @property
    def successor(self) -> Supervisor | None:
        """The run in other coordinates to go on with, once this one is at its end and there is one."""
        successor: Supervisor | None = self.controller.successor
        return successor

    def follow(self, other: Supervisor) -> None:
        """Take over the clock and the stop of a run that has ended, to go on in other coordinates."""
        self.earlier_seconds = other.seconds - other.paused_seconds
        self.check_seconds = other.check_seconds
        self.tuning_seconds = sum(worker.seconds for worker in other.workers)
        for worker, before in zip(self.workers, other.workers, strict=True):
            worker.seconds = before.seconds
        self.controller.follow([worker.evaluations for worker in other.workers])
        if other.stopping:
            self.stop(other.by_user)

    # --- the supervisor's own thread --------------------------------------------------------------------------

    def run(self) -> Run:
        """Work until the controller is at its end, or a stop is asked for. Where there is a `successor`, that goes on.

        Raises what the first chain raised if no chain is left.
        """
        # Not when it was made: what chains need may have been compiled since.
        self.began, self.paused_seconds = time.perf_counter(), 0.0
        with single_threaded():
            self.pool.start()
            try:
                verdict = self._follow()
            finally:
                for worker in self.workers:
                    worker.stop[0] = 1
                self.pool.end()
                if self.keep is not None and self.successor is None:
                    self.keep.close()
        if self.successor is not None:
            return self._result(verdict)
        self.ended = True
        self._rest()
        run = self._result(verdict, last=True)
        for worker in self.workers:
            worker.drop_chain()
        self.send(self.progress())
        self.send(RunEnded(verdict.status, verdict.reason, run.draws.shape[1], run.seconds))
        return run

    def _follow(self) -> Verdict:
        controller = self.controller
        while (segment := controller.next()) is not None:
            self._dispatch(segment)
            windows = self._collect()
            if windows is None:
                return self._stopped()
            began = time.perf_counter()
            if segment.phase == "tuning":
                self.tuning_seconds += sum(w.seconds for w in windows.values())
            before = controller.sampling
            controller.take(windows)
            self._tell(before, windows)
            self.check_seconds += time.perf_counter() - began
            if self.keep is not None and self.successor is None:
                self.keep(controller, self.workers, windows, False)
        self._give_up_ahead()
        if self.keep is not None and self.successor is None:
            self.keep(controller, self.workers, {}, True)
        assert controller.verdict is not None
        return controller.verdict

    def _dispatch(self, segment: Segment) -> None:
        """Have every chain do the segment; what was begun ahead counts if it is the same."""
        self._segment = segment
        number = self.number + 1
        expected = not segment.commands and not segment.begin
        begun = [worker for worker in self._living() if worker.number == number and worker.segment is not None]
        if begun and not (
            expected and all(worker.segment.count == segment.count for worker in begun if worker.segment)
        ):
            self._give_up_ahead()
            number += 1  # what was made ahead has the number before
        self.number = number
        following = replace(segment, count=segment.ahead, ahead=0) if segment.ahead else None
        for worker in self._living():
            worker.budget = self.controller.options.window_budget
            if worker.number != number:
                worker.give(segment, number)
                self.pool.put(worker)
            elif (early := self._early.get((worker.index, number))) is not None:
                if following is not None and early.failure is None:
                    worker.give(following, number + 1)
                    self.pool.put(worker)
            else:
                worker.segment = segment

    def _give_up_ahead(self) -> None:
        """Take back what chains have begun beyond the last segment."""
        for worker in self._living():
            if worker.number > self.number:
                self._withdraw(worker)
                worker.go_back()
                worker.number = self.number
        self._early.clear()

    def _withdraw(self, worker: ChainWorker) -> None:
        self.pool.withdraw(worker)
        if self.stopping:  # it may have been asked for meanwhile
            worker.stop[0] = 1

    def _living(self) -> list[ChainWorker]:
        return [worker for worker in self.workers if not worker.lost]

    def _collect(self) -> dict[int, Window] | None:
        """The windows of the present segment in the order of the chains; None once a stop is asked for."""
        self._arrived = arrived = dict[int, Delivery]()
        for worker in self._living():
            if (early := self._early.pop((worker.index, self.number), None)) is not None:
                self._receive(early, arrived)
        while len(arrived) < len(self._living()):
            if self.stopping:
                return None
            delivery = self._wait()
            if delivery is not None:
                self._receive(delivery, arrived)
        for worker in self._living():
            delivery = arrived[worker.index]
            assert delivery.window is not None
            worker.settle(delivery.window, delivery.total)
        return {
            worker.index: window for worker in self._living() if (window := arrived[worker.index].window) is not None
        }

    def _wait(self) -> Delivery | None:
        limit = self.controller.options.max_time
        left = None if limit is None or self.pool.paused else limit + self.paused_seconds - self.seconds
        if left is not None and left <= 0:
            self.out_of_time = True
            self.stop(by_user=False)
            return None
        try:
            return self.pool.deliveries.get(timeout=left)
        except queue.Empty:
            return None

    def _receive(self, delivery: Delivery, arrived: dict[int, Delivery]) -> None:
        worker = delivery.worker
        if delivery.life != worker.life:
            return
        if delivery.number > self.number:
            self._early[worker.index, delivery.number] = delivery
        elif delivery.number == self.number and not worker.lost:
            failure = delivery.failure or self._brokenness(delivery)
            if failure is None:
                arrived[worker.index] = delivery
            else:
                self._mend(worker, failure)

    def _brokenness(self, delivery: Delivery) -> Exception | None:
        """A chain that came to no position at all, or none of whose transitions found a finite energy."""
        window = delivery.window
        if window is None:
            return None
        if not np.isfinite(window.draws).all():
            transition, coordinate = np.argwhere(~np.isfinite(window.draws))[0].tolist()
            name = self.controller.setting.monitored.names[coordinate]
            return SamplingError(
                f"its step led to a position that is not finite: `{name}` = {window.draws[transition, coordinate]}, in "
                f"transition {delivery.total - len(window.draws) + transition + 1}"
            )
        place = self.columns.place("energy error")
        if place is None or len(window.draws) < FEWEST_BROKEN:
            return None
        errors = window.statistics[place]
        if np.isposinf(errors).all() and (window.draws == window.draws[0]).all():
            return SamplingError(
                f"the log density or its gradient was not finite at every one of {len(errors)} proposals in a row"
            )
        return None

    def _mend(self, worker: ChainWorker, failure: BaseException) -> None:
        """Restart a chain after its first fault; leave it out after its second."""
        words = f"{type(failure).__name__}: {failure}"
        worker.failures.append(words)
        if len(worker.failures) == 1 and not (isinstance(failure, InitialPointError) and worker.snapshot is None):
            if worker.number > self.number:  # its window was delivered, and it has begun the next
                self._withdraw(worker)
            worker.begin_again(self._segment, self.number)
            self.pool.put(worker)
            return
        worker.lost = True
        self.send(ChainLost(worker.index, words))
        if not self._living():
            if isinstance(failure, InitialPointError):
                raise InitialPointError(f"chain {worker.index}: {failure}") from failure
            raise SamplingError(
                f"no chain is left; the last to fail was chain {worker.index}, with {words}."
            ) from failure

    def _tell(self, before: Sampling | None, windows: dict[int, Window]) -> None:
        """Events about what was taken in."""
        controller = self.controller
        for event in controller.news:
            if isinstance(event, CheckFigures):
                self.last_check = event
            self.send(event)
        controller.news.clear()
        present = controller.sampling
        if before is not None and present is before and self.successor is None:
            chains = before.chains
            if (place := self.columns.place("divergence")) is not None:
                for c in chains:
                    self.divergences[c] = self.divergences.get(c, 0) + int(windows[c].statistics[place].sum())
            draws = np.stack([windows[c].draws for c in chains])
            table = np.stack([windows[c].statistics for c in chains])
            self.send(DrawsMade(before.count - draws.shape[1], draws, name_statistics(table, self.columns)))
        elif before is not None:
            self.divergences.clear()
            self.last_check = None

    def _stopped(self) -> Verdict:
        """The end that was asked for: draws of the segment under way count as far as all chains have them."""
        self.pool.end()
        self._take_what_waits()
        if self.keep is not None:  # without the segment under way, which a resumed run makes anew
            self.keep(self.controller, self.workers, {}, True)
        sampling = self.controller.sampling
        drawn = 0
        if sampling is not None:
            parts = {worker.index: self._part(worker) for worker in self._living()}
            made = min(len(w.draws) for w in parts.values())
            if made:
                cut = self.partial = {c: _cut(w, made) for c, w in parts.items()}
                chains = [c for c in sampling.chains if c in cut]  # some may have been lost in this segment
                draws = np.stack([cut[c].draws for c in chains])
                table = np.stack([cut[c].statistics for c in chains])
                self.send(DrawsMade(sampling.count, draws, name_statistics(table, self.columns)))
            drawn = sampling.count + made
        kept = f"the first {drawn} draws of each chain are kept" if drawn else "no draws had been made"
        if self.out_of_time:
            limit = self.controller.options.max_time
            return Verdict("not_converged", f"max_time={limit} seconds were over; {kept}")
        return Verdict("interrupted", f"the run was stopped; {kept}")

    def _take_what_waits(self) -> None:
        """Windows that were delivered before all threads had ended. Faults are not mended any more."""
        while not self.pool.deliveries.empty():
            delivery = self.pool.deliveries.get()
            if delivery is None or delivery.life != delivery.worker.life or delivery.number < self.number:
                continue
            place = delivery.worker.index
            if delivery.number > self.number:
                self._early[place, delivery.number] = delivery
            else:
                self._arrived[place] = delivery

    def _part(self, worker: ChainWorker) -> Window:
        """What a chain has done of the present segment, and beyond."""
        complete: list[Window] = []
        for delivery in (self._arrived.get(worker.index), self._early.get((worker.index, self.number + 1))):
            if delivery is None:
                break
            if delivery.window is None or self._brokenness(delivery) is not None:
                worker.done = 0  # an unbroken run would have begun this segment again
                break
            complete.append(delivery.window)
        rows = worker.rows
        if rows is not None and worker.ready and worker.done and worker.number >= self.number + len(complete):
            complete.append(
                Window(
                    worker.folded(rows.draws[: worker.done]),
                    worker.table(),
                    None,
                    worker.divergences(),
                    worker.chain.tuning().step_size,
                    worker.chain.evaluations,
                    worker.segment_seconds,
                    {},
                )
            )
        if not complete:
            return Window(
                np.empty((0, worker.dimension)),
                np.empty((len(self.columns.types), 0)),
                None,
                worker.divergences(),
                0.0,
                worker.chain.evaluations,
                0.0,
                {},
            )
        return _joined(complete)

    def _rest(self) -> None:
        """Let go what only further segments need."""
        if self.controller.sampling is not None:
            self.controller.sampling.rest()
        for worker in self.workers:
            worker.drop_rows()
        self._arrived = {}
        self._early.clear()
        while not self.pool.deliveries.empty():  # of segments that were given up
            self.pool.deliveries.get()

    def _result(self, verdict: Verdict, last: bool = False) -> Run:
        """What there is; `last`: the windows become parts of its arrays, so that there is one copy of the draws."""
        controller = self.controller
        sampling = controller.sampling
        chains = tuple(worker.index for worker in self._living() if sampling is None or worker.index in sampling.chains)
        dimension = controller.setting.dimension
        windows = [] if sampling is None else list(sampling.windows)
        if self.partial:
            windows.append(self.partial)
        tuning = [some for some in controller.tuning_windows if all(c in some for c in chains)]
        draws, table = _joined_chains(windows, chains, dimension, len(self.columns.types), last)
        warm, warm_table = _joined_chains(tuning, chains, dimension, len(self.columns.types), last)
        by_chain = {worker.index: worker for worker in self.workers}
        monitor = None if sampling is None else sampling.monitor
        return Run(
            chains=chains,
            draws=draws,
            statistics=name_statistics(table, self.columns),
            warmup_draws=warm,
            warmup_statistics=name_statistics(warm_table, self.columns),
            divergences=tuple(_all_divergences([w[c] for w in windows], dimension) for c in chains),
            tuning=tuple(by_chain[c].chain.tuning() for c in chains),
            evaluations=tuple(by_chain[c].chain.evaluations + controller.given_up[c] for c in chains),
            tuning_evaluations=controller.tuning_evaluations,
            tuned=controller.tuned,
            windows=controller.tuner.reports,
            restarts=tuple(controller.restarts),
            verdict=verdict,
            check=self.last_check,
            rank=by_chain[chains[0]].chain.tuning().scales.rank,
            notes=tuple(note for worker in self.workers for note in _notes(worker)),
            constants=() if monitor is None else monitor.constants,
            chain_seconds=tuple(by_chain[c].seconds for c in chains),
            tuning_seconds=self.tuning_seconds,
            check_seconds=self.check_seconds,
            seconds=self.seconds,
            interrupted=self.by_user and verdict.status == "interrupted",
            seed=self.seed,
        )


def _notes(worker: ChainWorker) -> Iterator[str]:
    """What there is to say of a chain's faults."""
    restarts = worker.failures[:-1] if worker.lost else worker.failures
    for words in restarts:
        yield f"chain {worker.index} failed once and went on from its last state ({words})"
    if worker.lost:
        yield f"chain {worker.index} was left out ({worker.failures[-1]})"


def _joined_chains(
    windows: list[dict[int, Window]], chains: tuple[int, ...], dimension: int, columns: int, share: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draws (chain, transition, coordinate) and statistics (chain, statistic, transition) of all windows, copied once.

    Windows of tuning may have statistics only. `share`: as soon as a chain is copied its windows are made views of
    the copy, so that both are there for one chain at a time only.
    """
    if not windows:
        return np.empty((len(chains), 0, dimension)), np.empty((len(chains), columns, 0))
    first = chains[0]
    draws = np.empty((len(chains), sum(len(some[first].draws) for some in windows), dimension))
    table = np.empty((len(chains), columns, sum(some[first].statistics.shape[1] for some in windows)))
    for place, c in enumerate(chains):
        np.concatenate([some[c].draws for some in windows], out=draws[place])
        np.concatenate([some[c].statistics for some in windows], axis=1, out=table[place])
        if share:
            _make_views(windows, c, draws[place], table[place])
    return draws, table


def _make_views(
    windows: list[dict[int, Window]], chain: int, draws: NDArray[np.float64], table: NDArray[np.float64]
) -> None:
    """Let the windows of a chain be parts of these arrays, which hold the same numbers."""
    row = column = 0
    for some in windows:
        window = some[chain]
        next_row, next_column = row + len(window.draws), column + window.statistics.shape[1]
        some[chain] = replace(window, draws=draws[row:next_row], statistics=table[:, column:next_column])
        row, column = next_row, next_column


def _cut(window: Window, count: int) -> Window:
    """The first transitions of a window."""
    early = window.divergences.transitions < count
    return replace(
        window,
        draws=window.draws[:count],
        statistics=window.statistics[:, :count],
        gradients=None,
        divergences=Divergences(
            window.divergences.transitions[early], window.divergences.begins[early], window.divergences.ends[early]
        ),
    )


def _joined(windows: list[Window]) -> Window:
    """Windows one after the other as one; gradients are left out."""
    if len(windows) == 1:
        return windows[0]
    return replace(
        windows[-1],
        draws=np.concatenate([w.draws for w in windows]),
        statistics=np.concatenate([w.statistics for w in windows], axis=1),
        gradients=None,
        divergences=_all_divergences(windows, windows[0].draws.shape[1]),
    )


def _all_divergences(windows: list[Window], dimension: int) -> Divergences:
    """Divergences of windows that follow each other; transitions are counted from the first window on."""
    if not windows:
        return Divergences(np.zeros(0, np.int64), np.zeros((0, dimension)), np.zeros((0, dimension)))
    begins = np.cumsum([0, *(len(w.draws) for w in windows[:-1])])
    return Divergences(
        np.concatenate([w.divergences.transitions + b for w, b in zip(windows, begins, strict=True)]),
        np.concatenate([w.divergences.begins for w in windows]),
        np.concatenate([w.divergences.ends for w in windows]),
    )
