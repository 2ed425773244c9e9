"""Chains on threads: segments are handed to the chains, windows collected from them, faults mended.

In the spirit of Erlang/OTP: chains share nothing, a chain that fails is restarted, and the others go on. It goes on
from its last state; if it fails again while tuning, at other starting points, and then from the last state of another
chain; else it is left out. Neither the number of threads nor their timing has a part in the
draws: windows leave in the order of the chains, and what a chain began ahead counts only if it is what was decided.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from consilience.errors import InitialPointError, SamplingError
from consilience.events import ChainLost, ChainMoved, ChainProgress
from consilience.inference.messages import ChainTuning, Matrix, Segment, Snapshot, Window
from consilience.native.blas import single_threaded
from consilience.record import replace
from consilience.run.engine import Chains, Engine, Overseer
from consilience.run.result import joined
from consilience.run.threads import reports
from consilience.run.threads.chain_worker import FEWEST_BROKEN, ChainWorker, Fault, give_back_memory
from consilience.run.threads.thread_pool import Crew, Delivery, ThreadPool

MANY: Final = 10_000  # coordinates, from which on free memory goes back to the system after every segment
MOST_STARTS: Final = 4  # of a chain, besides its first
MOST_STARTS_OF_STRAY: Final = 1  # where it does not fail, but comes to a place without mass
LAST_STATE, ANOTHER_START, LEFT_OUT = "last state", "another start", "left out"


class ThreadEngine(Engine):
    """See `engine.Engine`.

    `workers`: the chains. `names`: of the coordinates. `budget`: evaluations of the log density that one chain may
    spend on one segment; None: no limit. `starts`: gives further starting points (coordinate,), by a chain's number and
    theirs, from 1; None: there are none.
    """

    def __init__(
        self,
        chains: Chains,
        workers: list[ChainWorker],
        crew: Crew,
        names: Sequence[str],
        budget: int | None,
        starts: Callable[[int, int], Matrix] | None = None,
    ) -> None:
        super().__init__(chains)
        self.workers = workers
        self.crew = crew
        self.threads = crew.threads
        self.names = names
        self.pool = ThreadPool(crew)
        self.number = 0  # of the present segment
        self._segment = Segment("tuning", 0)
        self._early: dict[tuple[int, int], Delivery] = {}
        self._arrived: dict[int, Delivery] = {}
        self.starts = starts
        self._states: dict[int, Snapshot] = {}  # of the living, before the present segment
        for worker in workers:
            worker.budget = budget

    # --- what may be called from any thread -------------------------------------------------------------------

    def stop(self) -> None:
        self.stopping = True
        for worker in self.workers:
            worker.stop[0] = 1
        self.pool.wake()

    def pause(self) -> None:
        self.pool.pause()

    def resume(self) -> None:
        self.pool.resume()
        self.pool.wake()  # time counts again

    @property
    def paused(self) -> bool:
        return self.pool.paused

    @property
    def living(self) -> tuple[int, ...]:
        return tuple(worker.index for worker in self._living())

    @property
    def evaluations(self) -> tuple[int, ...]:
        return tuple(worker.evaluations for worker in self.workers)

    @property
    def seconds(self) -> tuple[float, ...]:
        return tuple(worker.seconds for worker in self.workers)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(
            f"chain {worker.index} {said(fault)}"
            for worker in self.workers
            for fault in worker.faults
            if fault.phase == "sampling" or fault.answer == LEFT_OUT
        )

    @property
    def moves(self) -> tuple[str, ...]:
        return tuple(
            f"chain {worker.index} {said(fault)}"
            for worker in self.workers
            for fault in worker.faults
            if fault.phase == "tuning" and fault.answer != LEFT_OUT
        )

    @property
    def copies(self) -> tuple[int, ...]:
        return tuple(worker.index for worker in self._living() if _donor(worker) is not None)

    def states(
        self, drawn: int, taken: Mapping[int, Window], divergences: Mapping[int, int], ended: bool
    ) -> tuple[ChainProgress, ...]:
        return tuple(
            reports.state(
                worker, self.chains.columns, drawn, taken.get(worker.index), divergences, self.stopping, ended
            )
            for worker in self.workers
        )

    def tuning(self, chain: int) -> ChainTuning:
        return self.workers[chain].chain.tuning()

    def under_way(self) -> tuple[dict[int, Matrix], dict[int, Matrix]]:
        number, arrived = self.number, dict(self._arrived)
        found: dict[int, tuple[Matrix, Matrix]] = {}
        for worker in self._living():
            delivery = arrived.get(worker.index)
            if delivery is not None and delivery.number == number and delivery.window is not None:
                found[worker.index] = delivery.window.draws, delivery.window.statistics
            elif (made := reports.under_way(worker, self.chains.columns, number)) is not None:
                found[worker.index] = made
            else:
                return {}, {}
        if self._segment.phase != "sampling" or self.number != number or not found:
            return {}, {}
        count = min(len(draws) for draws, _ in found.values())
        return (
            {c: draws[:count] for c, (draws, _) in found.items()},
            {c: table[:, :count] for c, (_, table) in found.items()},
        )

    # --- the run's own thread --------------------------------------------------------------------------

    @contextmanager
    def working(self) -> Iterator[None]:
        with single_threaded():
            self.pool.start()
            try:
                yield
            finally:
                for worker in self.workers:
                    worker.stop[0] = 1
                self.pool.end()

    def advance(self, segment: Segment, overseer: Overseer) -> dict[int, Window] | None:
        self._dispatch(segment, overseer)
        windows = self._collect(overseer)
        if windows is None:
            self.pool.end()
            self._take_what_waits()
        return windows

    def _dispatch(self, segment: Segment, overseer: Overseer) -> None:
        """Have every chain do the segment; what was begun ahead counts if it is the same."""
        if self.chains.dimension >= MANY:
            give_back_memory()  # of the windows before and what was learnt from them
        self._segment = segment
        number = self.number + 1
        expected = not segment.commands and not segment.begin
        ahead = [worker for worker in self._living() if worker.number == number and worker.segment is not None]
        if ahead and not (
            expected and all(worker.segment.count == segment.count for worker in ahead if worker.segment)
        ):
            self.end()
            number += 1  # what was made ahead has the number before
        self.number = number
        following = replace(segment, count=segment.ahead, ahead=0) if segment.ahead else None
        self._states = {w.index: w.snapshot for w in self._living() if w.snapshot is not None}
        for worker in self._living():
            if worker.index in segment.elsewhere:
                self._move(worker, "it tuned where the target has no mass", overseer, MOST_STARTS_OF_STRAY)
        for worker in self._living():
            if worker.number != number:
                worker.give(segment, number)
                self.pool.put(worker)
            elif (early := self._early.get((worker.index, number))) is not None:
                if following is not None and early.failure is None:
                    worker.give(following, number + 1)
                    self.pool.put(worker)
            else:
                worker.segment = segment

    def end(self) -> None:
        # What chains have begun beyond the last segment is taken back.
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

    def _collect(self, overseer: Overseer) -> dict[int, Window] | None:
        """The windows of the present segment; None once a stop is asked for."""
        self._arrived = arrived = dict[int, Delivery]()
        for worker in self._living():
            if (early := self._early.pop((worker.index, self.number), None)) is not None:
                self._receive(early, arrived, overseer)
        while len(arrived) < len(self._living()):
            seconds = overseer.seconds_left()
            if self.stopping:
                return None
            try:
                delivery = self.pool.deliveries.get(timeout=seconds)
            except queue.Empty:
                continue
            if delivery is not None:
                self._receive(delivery, arrived, overseer)
        for worker in self._living():
            delivery = arrived[worker.index]
            assert delivery.window is not None
            worker.settle(delivery.window, delivery.total)
        self._arrived = {}  # what has been handed on is the course's
        return {
            worker.index: window for worker in self._living() if (window := arrived[worker.index].window) is not None
        }

    def _receive(self, delivery: Delivery, arrived: dict[int, Delivery], overseer: Overseer) -> None:
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
                self._mend(worker, failure, overseer)

    def _brokenness(self, delivery: Delivery) -> Exception | None:
        """A chain that came to no position at all, or none of whose transitions found a finite energy."""
        window = delivery.window
        if window is None:
            return None
        if not np.isfinite(window.draws).all():
            transition, coordinate = np.argwhere(~np.isfinite(window.draws))[0].tolist()
            return SamplingError(
                f"its step led to a position that is not finite: `{self.names[coordinate]}` = "
                f"{window.draws[transition, coordinate]}, in transition "
                f"{delivery.total - len(window.draws) + transition + 1}"
            )
        place = self.chains.columns.place("energy error")
        if place is None or len(window.draws) < FEWEST_BROKEN:
            return None
        errors = window.statistics[place]
        if np.isposinf(errors).all() and (window.draws == window.draws[0]).all():
            return SamplingError(
                f"the log density or its gradient was not finite at every one of {len(errors)} proposals in a row"
            )
        return None

    def _mend(self, worker: ChainWorker, failure: BaseException, overseer: Overseer) -> None:
        """Have a chain go on from its last state after its first fault, and elsewhere after others; or leave it out."""
        segment, words = self._segment, f"{type(failure).__name__}: {failure}"
        if worker.number > self.number:  # its window was delivered, and it has begun the next
            self._withdraw(worker)
        first = not any(fault.phase == segment.phase for fault in worker.faults)
        unmoved = worker.snapshot is None  # its last state is its starting point
        if first and not (unmoved and (self.starts is not None or isinstance(failure, InitialPointError))):
            worker.faults.append(Fault(words, segment.phase, LAST_STATE))
            worker.begin_again(segment, self.number)
            self.pool.put(worker)
            return
        if segment.phase == "tuning" and self._move(worker, words, overseer):
            worker.give(segment, self.number)
            self.pool.put(worker)
            return
        worker.faults.append(Fault(words, segment.phase, LEFT_OUT))
        worker.lost = True
        overseer.tell(ChainLost(worker.index, words))
        if not self._living():
            if isinstance(failure, InitialPointError):
                raise InitialPointError(f"chain {worker.index}: {failure}") from failure
            raise SamplingError(
                f"no chain is left; the last to fail was chain {worker.index}, with {words}."
            ) from failure

    def _move(self, worker: ChainWorker, words: str, overseer: Overseer, most: int = MOST_STARTS) -> bool:
        """Put a chain that tunes to another starting point, or to where another chain is; whether there is such."""
        begun = sum(fault.answer == ANOTHER_START for fault in worker.faults)
        donors = [c for c in self._states if c != worker.index and c not in self._segment.elsewhere]
        may_begin = self._segment.begin or self._segment.anew is not None
        if self.starts is not None and may_begin and begun < most:
            fault = Fault(words, "tuning", ANOTHER_START)
            worker.faults.append(fault)
            worker.begin_elsewhere(self.starts(worker.index, begun + 1))
        elif donors and _donor(worker) is None:
            donor = min(donors, key=lambda c: (c - worker.index) % len(self.workers))  # the next one
            fault = Fault(words, "tuning", f"chain {donor}")
            worker.faults.append(fault)
            worker.go_on_from(self._states[donor])
        else:
            return False
        overseer.tell(ChainMoved(worker.index, said(fault)))
        return True

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

    def cut_short(self) -> dict[int, Window]:
        return {worker.index: self._part(worker) for worker in self._living()}

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
        if worker.ready and worker.done and worker.number >= self.number + len(complete):
            complete.append(worker.part())
        return joined(complete) if complete else worker.nothing()

    def release(self) -> None:
        for worker in self.workers:
            worker.drop_rows()
            worker.drop_chain()
        self._arrived = {}
        self._states = {}
        self._early.clear()
        while not self.pool.deliveries.empty():  # of segments that were given up
            self.pool.deliveries.get()
        if self.chains.dimension >= MANY:
            give_back_memory()

    def again(self) -> None:
        self.stopping = False
        self.number = 0
        for worker in self.workers:
            if not worker.lost:
                worker.go_back()
                worker.number = -1
                del worker.faults[worker.settled_faults :]  # they will come again
            worker.stop[0] = 0
        self.pool = ThreadPool(self.crew)
        self._early.clear()

    def follow(self, other: ThreadEngine) -> None:
        for worker, earlier in zip(self.workers, other.workers, strict=True):
            worker.seconds = earlier.seconds

    def save(self, living: Sequence[int]) -> list[dict[str, Any]]:
        return [worker.save(worker.index in living) for worker in self.workers]

    def load(self, state: list[dict[str, Any]]) -> None:
        for worker, saved in zip(self.workers, state, strict=True):
            worker.load(saved)


def said(fault: Fault) -> str:
    """What became of a chain, in words that go on after its name."""
    match fault.answer:
        case "last state":
            return f"failed once and went on from its last state ({fault.words})"
        case "another start":
            return f"began again at another starting point ({fault.words})"
        case "left out":
            return f"was left out ({fault.words})"
        case donor:
            return f"went on from where {donor} was ({fault.words})"


def _donor(worker: ChainWorker) -> str | None:
    """Which chain it is a copy of; None where it began by itself."""
    return next((fault.answer for fault in worker.faults if fault.answer.startswith("chain ")), None)
