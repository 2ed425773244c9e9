"""A run: what its user holds and what its engine talks to. Segments go to the engine, windows of draws to the course.

It works in a thread of its own; listeners are called from another one, and Ctrl-C asks it to end. All decisions are
those of `RunCourse`, taken from windows in the order of chains.
"""

from __future__ import annotations

import copy
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, Self

from consilience.errors import SamplingError, WorkerLostError
from consilience.events import CheckFigures, DrawsMade, Event, Listener, Progress, RunEnded, RunStarted
from consilience.inference.messages import Stopped, Window, in_order, seconds_spent, without_draws
from consilience.native.beside import WORKSHOP
from consilience.run.attempt import Attempt
from consilience.run.course import Leg, RunCourse
from consilience.run.engine import Engine
from consilience.run.listeners import TICK, Listeners, interrupts_stop
from consilience.run.monitor import Monitored
from consilience.run.plan import RunPlan
from consilience.run.result import RunResult, cut, divergences_by_chain, name_statistics, of_all_chains, stacked
from consilience.run.verdicts import Verdict


class Keep(Protocol):
    """What keeps the state of a run."""

    def __call__(self, course: RunCourse, engine: Engine, windows: Mapping[int, Window], last: bool, /) -> None:
        """Keep the state after a segment with these windows; `last`: nothing more will come."""
        ...

    def close(self) -> None:
        """Let files go; a run that is extended calls again afterwards."""
        ...


class Run:
    """A run of chains, from its first segment to its result.

    Parameters
    ----------
    leg : Leg
        The course and the chains with which it begins; another leg follows where the chains get other coordinates.
    seed : int
        What its draws depend on.
    listeners : iterable of Listener
        Are given the events of the run.
    keep : Keep, optional
        Called after every segment, and closed at the end.

    Attributes
    ----------
    send
        Takes the events of the run, in order.
    waited_seconds
        Time until the chains could begin, since what they need was still being compiled.
    """

    clock = staticmethod(time.perf_counter)

    def __init__(self, leg: Leg, seed: int, listeners: Iterable[Listener] = (), keep: Keep | None = None) -> None:
        self.seed = seed
        self.keep = keep
        self.waited_seconds = 0.0
        self.begin_with(leg, listeners)

    def begin_with(self, leg: Leg, listeners: Iterable[Listener]) -> None:
        """Be a run of nothing but this leg and what follows it, about to start."""
        self.leg = leg
        self.tuning_seconds = 0.0
        self.divergences: dict[int, int] = {}
        self._get_ready(listeners)

    def _get_ready(self, listeners: Iterable[Listener]) -> None:
        """Be a run that is about to start."""
        self.listeners = Listeners(listeners, self.stop)
        self.send: Callable[[Event], None] = self.listeners.post
        self.by_user = self.out_of_time = self.ended = False
        self.began = self.clock()
        self.paused_seconds = 0.0
        self.earlier_seconds = 0.0  # of the legs before
        self.check_seconds = 0.0
        self.last_check: CheckFigures | None = None
        self.partial: Mapping[int, Window] = {}  # of a segment that a stop cut short, as far as all chains have it
        self._result: RunResult | None = None
        self._failure: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="consilience-run", daemon=True)
        self._pump: threading.Thread | None = None
        self._paused_at: float | None = None
        self.send(self.started())

    def again(self, plan: RunPlan, listeners: Iterable[Listener]) -> Self:
        """The same chains, ready to go on under another plan once this run is over."""
        self.engine.again()
        self._let_searches_end(False)
        self.course.extend(plan)
        other = copy.copy(self)
        other._get_ready(listeners)
        return other

    # --- for whoever holds it, from any thread ------------------------------------------------------------------

    def start(self, background: bool) -> None:
        """Begin. In the background a thread calls the listeners; else `wait` does."""
        self._thread.start()
        if background:
            self._pump = threading.Thread(target=self._tell_all, name="consilience-listeners", daemon=True)
            self._pump.start()

    def pause(self) -> None:
        """Let chains rest after the few milliseconds they are at; `resume` lets them go on."""
        if self._paused_at is None and not self.finished:
            self._paused_at = time.perf_counter()
            self.engine.pause()
            self.listeners.post(self.progress)

    def resume(self) -> None:
        """Go on after a pause."""
        if self._paused_at is not None:
            since = max(self._paused_at, self.began)  # before the run began no time was counted
            self.paused_seconds += time.perf_counter() - since
            self._paused_at = None
            self.engine.resume()
            self.listeners.post(self.progress)

    def stop(self) -> None:
        """Ask the run to end with the draws it has; `wait` gives them. Asking twice is harmless."""
        self.by_user = True
        asked = self.engine
        asked.stop()
        if self.engine is not asked:  # whose leg may have come to its end meanwhile
            self.engine.stop()
        self._let_searches_end()
        self.resume()

    def wait(self, timeout: float | None = None) -> RunResult:
        """The result, once the run is over.

        `timeout`: seconds to wait at most; then TimeoutError, and the run goes on. Raises InitialPointError. Raises
        SamplingError where no chain was left.
        """
        end = None if timeout is None else time.perf_counter() + timeout
        if self._pump is None:
            self._wait_and_tell(end)
        else:
            self._over.wait(timeout)
        if not self.finished:
            raise TimeoutError(f"the run was not over after {timeout} seconds; it goes on.")
        if self._pump is not None:
            self._pump.join()
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        if self._result is None:
            raise SamplingError("the run ended without a result.")
        return self._result

    def _wait_and_tell(self, end: float | None) -> None:
        """Call the listeners in this thread, the one Ctrl-C comes to."""
        with interrupts_stop(self.stop):
            while not self.finished and (end is None or time.perf_counter() < end):
                try:
                    self._over.wait(TICK if end is None else min(TICK, max(0.0, end - time.perf_counter())))
                    self.listeners.deliver(self._progress)
                    if not self.finished:
                        self.listeners.tell(self._progress)
                except KeyboardInterrupt:  # comes only where `interrupts_stop` could not take the signal over
                    self.stop()
            self.listeners.deliver()

    def _tell_all(self) -> None:
        while not self._over.wait(TICK):
            self.listeners.deliver(self._progress)
            self.listeners.tell(self._progress)
        self.listeners.deliver()

    @property
    def course(self) -> RunCourse:
        """What is to be done and what has come of it."""
        return self.leg.course

    @property
    def engine(self) -> Engine:
        """The chains."""
        return self.leg.engine

    @property
    def attempt(self) -> Attempt | None:
        """The attempt to sample going on, if it is."""
        return self.course.attempt

    @property
    def monitored(self) -> Monitored:
        """What is watched."""
        return self.course.monitored

    @property
    def living(self) -> tuple[int, ...]:
        """Numbers of the chains that were not left out."""
        return self.course.living

    @property
    def chains(self) -> int:
        """How many chains began."""
        return self.course.chains.count

    @property
    def drawn(self) -> int | None:
        """Draws of each chain; None where the run ended before any could be made."""
        return None if self.attempt is None else self.attempt.count

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        return self._over.is_set()

    @property
    def progress(self) -> Progress:
        """Where the chains are."""
        return self._progress()

    def _progress(self) -> Progress:
        leg = self.leg
        course, engine = leg.course, leg.engine
        attempt = course.attempt
        drawn = 0 if attempt is None else attempt.count
        taken = attempt.windows[-1] if attempt is not None and attempt.windows else {}
        states = engine.states(drawn, taken, self.divergences, self.ended)
        return Progress(states, self.last_check, self.seconds, engine.paused)

    @property
    def seconds(self) -> float:
        """Since it began, in all coordinates."""
        return self.earlier_seconds + self.clock() - self.began

    def so_far(self) -> RunResult:
        """What all chains have made until now, while they go on."""
        return self._made(Verdict("interrupted", "the run is going on"))

    def started(self) -> RunStarted:
        """The event with which the run begins."""
        leg = self.leg
        course, engine = leg.course, leg.engine
        plan, chains, tune = course.plan, engine.chains, course.tuner.fixed
        return RunStarted(
            chains=chains.count,
            threads=engine.threads,
            dimension=chains.dimension,
            tune=tune,
            draws=plan.draws,
            target_ess=plan.rule.target_ess if plan.draws is None else None,
            min_draws=course.fewest,
            max_draws=plan.max_draws,
            max_tune=plan.max_tune if tune is None else tune,
        )

    # --- for the engine, see `engine.Overseer` ------------------------------------------------------------------

    def seconds_left(self) -> float | None:
        """Seconds the run may still take; None: no limit. Where there are none left the engine is asked to stop."""
        limit = self.course.plan.max_time
        if limit is None or self.engine.paused:
            return None
        left = limit + self.paused_seconds - self.seconds
        if left <= 0 and not self.engine.stopping:
            self.out_of_time = True
            self.engine.stop()
            self._let_searches_end()
        return max(0.0, left)

    def tell(self, event: Event) -> None:
        """Have the listeners told."""
        self.send(event)

    # --- the run's own thread -----------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._result = self._to_the_end()
        except BaseException as failure:  # belongs to whoever waits
            self._failure = failure
        finally:
            self._over.set()

    def _to_the_end(self) -> RunResult:
        """Work leg by leg until the course is at its end, or a stop is asked for; raises what the last chain raised."""
        # Chains that begin before would not be through earlier: they would wait at their first check, and for the
        # interpreter and the processors until then.
        began = time.perf_counter()
        WORKSHOP.finish()
        self.waited_seconds += time.perf_counter() - began
        self.began, self.paused_seconds = self.clock(), 0.0
        try:
            while (verdict := self._follow()) is None:
                WORKSHOP.finish()
                self.earlier_seconds = self.seconds - self.paused_seconds
                self.began, self.paused_seconds = self.clock(), 0.0
        finally:
            if self.keep is not None:
                self.keep.close()
        self.ended = True
        result = self._made(verdict, last=True)
        self.send(self.progress)
        self.send(RunEnded(verdict.status, verdict.reason, result.draws.shape[1], result.seconds))
        return result

    def _follow(self) -> Verdict | None:
        """The verdict at the end of this leg; None where another one follows."""
        leg = self.leg
        course, engine = leg.course, leg.engine
        with engine.working():
            while True:
                windows: Mapping[int, Window] = {}
                attempt, began = course.attempt, time.perf_counter()
                if not course.due:  # else the run was stopped while it looked at draws
                    if (segment := course.next()) is None:
                        break
                    if (made := engine.advance(segment, self)) is None:
                        return self._stopped()
                    windows = course.in_copies(in_order(made), self.seed)
                    del made
                    began = time.perf_counter()
                    if segment.phase == "tuning":
                        self.tuning_seconds += seconds_spent(windows)
                    course.take(windows, engine.copies)
                try:
                    with self._in_time():
                        course.judge()
                except Stopped:
                    self._tell_of(course, attempt, windows)
                    return self._stopped(windows)
                if course.successor is not None:
                    engine.end()
                    self._go_on_as(course.successor)
                self._tell_of(course, attempt, windows)
                self.check_seconds += time.perf_counter() - began
                if self.leg is not leg:
                    return None
                self._keep(windows)
                del windows  # or they would be there until the next ones come
            engine.end()
            self._keep({}, last=True)
        assert course.verdict is not None
        return course.verdict

    def _let_searches_end(self, now: bool = True) -> None:
        """Whether what a check looks for is to end: it may take longer than all draws before."""
        if (flag := self.monitored.stop) is not None:
            flag[0] = now

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """While chains wait for a check, nobody else looks at the clock."""
        left = None if self.monitored.stop is None else self.seconds_left()
        if left is None:
            yield
            return
        timer = threading.Timer(left + 0.01, self.seconds_left)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _go_on_as(self, leg: Leg) -> None:
        """Have this leg, in other coordinates, take the place of the one that has ended."""
        before, self.leg = self.leg, leg
        self.tuning_seconds = sum(before.engine.seconds)
        leg.engine.follow(before.engine)
        leg.course.follow(before.course, before.engine.evaluations)
        if before.engine.stopping:
            leg.engine.stop()
            self._let_searches_end()
        if self._paused_at is not None:
            leg.engine.pause()

    def _keep(self, windows: Mapping[int, Window], last: bool = False) -> None:
        if self.keep is not None:
            self.keep(self.course, self.engine, windows, last)

    def _tell_of(self, course: RunCourse, attempt: Attempt | None, windows: Mapping[int, Window]) -> None:
        """Events about what a course took in, in an attempt to sample or before."""
        columns = course.chains.columns
        for event in course.told():
            if isinstance(event, CheckFigures):
                self.last_check = event
            self.send(event)
        if attempt is not None and course.attempt is attempt and course.successor is None:
            if not windows:
                return
            draws, table = stacked(windows, attempt.chains)
            if (place := columns.place("divergence")) is not None:
                for c, count in zip(attempt.chains, table[:, place].sum(axis=1).tolist(), strict=True):
                    self.divergences[c] = self.divergences.get(c, 0) + int(count)
            self.send(DrawsMade(attempt.count - draws.shape[1], draws, name_statistics(table, columns)))
        elif attempt is not None:
            self.divergences.clear()
            self.last_check = None

    def _stopped(self, looked_at: Mapping[int, Window] | None = None) -> Verdict:
        """The end that was asked for: draws of the segment under way count as far as all chains have them.

        `looked_at`: the last windows, where draws were being judged: a resumed run judges them anew.
        """
        attempt, engine = self.attempt, self.engine
        drawn = 0 if attempt is None else attempt.count
        self._keep(looked_at or {}, last=True)  # without the segment under way, which a resumed run makes anew
        if attempt is not None and looked_at is None:
            parts = self.course.in_copies(engine.cut_short(), self.seed)
            made = min((len(w.draws) for w in parts.values()), default=0)
            if made:
                self.partial = {c: cut(w, made) for c, w in parts.items()}
                chains = [c for c in attempt.chains if c in parts]  # some may have been lost in this segment
                draws, table = stacked(self.partial, chains)
                self.send(DrawsMade(attempt.count, draws, name_statistics(table, engine.chains.columns)))
            drawn += made
        if engine.lost and not drawn:
            raise WorkerLostError(engine.lost)
        kept = f"the first {drawn} draws of each chain are kept" if drawn else "no draws had been made"
        if engine.lost:
            return Verdict("interrupted", f"{engine.lost.rstrip('.')}; {kept}")
        if self.out_of_time:
            limit = self.course.plan.max_time
            needed = math.nan if self.last_check is None else self.last_check.needed
            more = "" if math.isnan(needed) else f"; about {needed:.0f} would do"
            return Verdict("not_converged", f"max_time={limit} seconds were over; {kept}{more}")
        return Verdict("interrupted", f"the run was stopped; {kept}")

    def _made(self, verdict: Verdict, last: bool = False) -> RunResult:
        """What there is; `last`: the windows become parts of its arrays, so that there is one copy of the draws."""
        leg = self.leg
        course, engine = leg.course, leg.engine
        attempt, columns, dimension = course.attempt, engine.chains.columns, engine.chains.dimension
        taking_part = set(engine.living if attempt is None else attempt.chains)
        chains = tuple(c for c in engine.living if c in taking_part)
        learnt = tuple(engine.tuning(c) for c in chains)
        if last:
            if attempt is not None:
                attempt.rest()
            engine.release()
        windows = [] if attempt is None else list(attempt.windows)
        if self.partial:
            if last and attempt is not None and attempt.on_disk is not None:
                self.partial = attempt.on_disk.take(attempt.count, self.partial)
            windows.append(self.partial)
        stored = None
        if attempt is not None and attempt.on_disk is not None and chains == tuple(range(engine.chains.count)):
            stored = attempt.on_disk.all(sum(len(some[chains[0]].draws) for some in windows))
        tuning = [some for some in course.tuning_windows if set(chains).issubset(some)]
        plain = windows if stored is None else [without_draws(some) for some in windows]
        draws, table = of_all_chains(plain, chains, dimension, len(columns.types), last)
        warm, warm_table = of_all_chains(tuning, chains, dimension, len(columns.types), last)
        evaluations, seconds = engine.evaluations, engine.seconds
        return RunResult(
            chains=chains,
            draws=draws if stored is None else stored,
            statistics=name_statistics(table, columns),
            warmup_draws=warm,
            warmup_statistics=name_statistics(warm_table, columns),
            divergences=divergences_by_chain(windows, chains, dimension),
            tuning=learnt,
            evaluations=tuple(evaluations[c] + course.given_up[c] for c in chains),
            tuner_evaluations=course.tuner_evaluations,
            tuning_evaluations=course.tuning_evaluations + course.tuner_evaluations,
            tuned=course.tuned,
            windows=course.tuner.reports,
            restarts=tuple(course.restarts),
            verdict=verdict,
            check=self.last_check,
            rank=learnt[0].scales.rank,
            notes=engine.notes,
            moves=engine.moves,
            constants=() if attempt is None else attempt.monitor.constants,
            chain_seconds=tuple(seconds[c] for c in chains),
            tuning_seconds=self.tuning_seconds,
            check_seconds=self.check_seconds,
            seconds=self.seconds,
            interrupted=self.by_user and verdict.status == "interrupted",
            seed=self.seed,
            superchains=engine.chains.superchains,
            diverged=course.diverged,
        )
