"""The supervisor of a run: it hands segments to an engine, takes their windows in, and says what has come of them.

It lives in a thread of its own; all decisions are those of `RunCourse`, taken from windows in the order of chains.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from consilience.errors import WorkerLostError
from consilience.events import CheckFigures, DrawsMade, Event, Progress, RunEnded, RunStarted
from consilience.inference.messages import Window
from consilience.record import replace
from consilience.run.attempt import Attempt
from consilience.run.course import RunCourse
from consilience.run.engine import Engine
from consilience.run.plan import RunPlan
from consilience.run.result import Run, all_divergences, cut, name_statistics, of_all_chains, stacked
from consilience.run.verdicts import Verdict


class Keep(Protocol):
    """What keeps the state of a run."""

    def __call__(self, course: RunCourse, engine: Engine, windows: Mapping[int, Window], last: bool, /) -> None:
        """Keep the state after a segment with these windows; `last`: nothing more will come."""
        ...

    def close(self) -> None:
        """Let files go; a run that is extended calls again afterwards."""
        ...


class Supervisor:
    """A run at work.

    Parameters
    ----------
    course : RunCourse
        What is to be done and what has come of it.
    engine : Engine
        The chains.
    keep : Keep, optional
        Called after every segment, and closed at the end.

    Attributes
    ----------
    send
        Takes the events of the run, in order.
    """

    clock = staticmethod(time.perf_counter)

    def __init__(self, course: RunCourse, engine: Engine, seed: int, keep: Keep | None = None) -> None:
        self.course = course
        self.engine = engine
        self.seed = seed
        self.keep = keep
        self.send: Callable[[Event], None] = lambda event: None
        self.by_user = False
        self.out_of_time = False
        self.began = self.clock()
        self.paused_seconds = 0.0
        self.earlier_seconds = 0.0  # of a run that this one follows
        self.check_seconds = 0.0
        self.tuning_seconds = 0.0
        self.last_check: CheckFigures | None = None
        self.ended = False
        self.divergences: dict[int, int] = {}
        self.partial: dict[int, Window] = {}  # of a segment that a stop cut short, as far as all chains have it

    # --- what may be called from any thread -------------------------------------------------------------------

    def stop(self) -> None:
        """Ask the run to end with what it has; asking twice is harmless."""
        self.by_user = True
        self.engine.stop()

    def progress(self) -> Progress:
        """Where the chains are."""
        attempt = self.course.attempt
        drawn = 0 if attempt is None else attempt.count
        taken = attempt.windows[-1] if attempt is not None and attempt.windows else {}
        states = self.engine.states(drawn, taken, self.divergences, self.ended)
        return Progress(states, self.last_check, self.seconds, self.engine.paused)

    @property
    def seconds(self) -> float:
        return self.earlier_seconds + self.clock() - self.began

    def so_far(self) -> Run:
        """What all chains have done up to now, while they go on."""
        return self._result(Verdict("interrupted", "the run is going on"))

    @property
    def successor(self) -> Supervisor | None:
        """The run in other coordinates to go on with, once this one is at its end and there is one."""
        successor: Supervisor | None = self.course.successor
        return successor

    # --- before and between runs ------------------------------------------------------------------------------

    def started(self) -> RunStarted:
        """The event with which the run begins."""
        plan, chains, tune = self.course.plan, self.engine.chains, self.course.tuner.fixed
        return RunStarted(
            chains=chains.count,
            threads=self.engine.threads,
            dimension=chains.dimension,
            tune=tune,
            draws=plan.draws,
            target_ess=plan.rule.target_ess if plan.draws is None else None,
            min_draws=self.course.fewest,
            max_draws=plan.max_draws,
            max_tune=plan.max_tune if tune is None else tune,
        )

    def again(self, plan: RunPlan) -> Supervisor:
        """The same chains, to go on under another plan once this run is over."""
        self.engine.again()
        self.course.extend(plan)
        other = Supervisor(self.course, self.engine, self.seed, self.keep)
        other.divergences = self.divergences
        other.tuning_seconds = self.tuning_seconds
        return other

    def follow(self, other: Supervisor) -> None:
        """Take over the clock and the stop of a run that has ended, to go on in other coordinates."""
        self.earlier_seconds = other.seconds - other.paused_seconds
        self.check_seconds = other.check_seconds
        self.tuning_seconds = sum(other.engine.seconds)
        self.engine.follow(other.engine)
        self.course.follow(other.course, other.engine.evaluations)
        if other.engine.stopping:
            self.by_user = other.by_user
            self.engine.stop()

    # --- the supervisor's own thread --------------------------------------------------------------------------

    def run(self) -> Run:
        """Work until the course is at its end, or a stop is asked for. Where there is a `successor`, that goes on.

        Raises what the first chain raised if no chain is left.
        """
        # Not when it was made: what chains need may have been compiled since.
        self.began, self.paused_seconds = self.clock(), 0.0
        try:
            with self.engine.working():
                verdict = self._follow()
        finally:
            if self.keep is not None and self.successor is None:
                self.keep.close()
        if self.successor is not None:
            return self._result(verdict)
        self.ended = True
        run = self._result(verdict, last=True)
        self.send(self.progress())
        self.send(RunEnded(verdict.status, verdict.reason, run.draws.shape[1], run.seconds))
        return run

    def _follow(self) -> Verdict:
        course = self.course
        while (segment := course.next()) is not None:
            windows = self.engine.advance(segment, self)
            if windows is None:
                return self._stopped()
            windows = dict(sorted(windows.items()))
            began = time.perf_counter()
            if segment.phase == "tuning":
                self.tuning_seconds += sum(w.seconds for w in windows.values())
            attempt = course.attempt
            course.copies = self.engine.copies
            course.take(windows)
            self._tell_of(attempt, windows)
            self.check_seconds += time.perf_counter() - began
            self._keep(windows)
            del windows  # or they would be there until the next ones come
        self.engine.end()
        self._keep({}, last=True)
        assert course.verdict is not None
        return course.verdict

    def _keep(self, windows: Mapping[int, Window], last: bool = False) -> None:
        if self.keep is not None and self.successor is None:
            self.keep(self.course, self.engine, windows, last)

    def seconds_left(self) -> float | None:
        """See `engine.Overseer`."""
        limit = self.course.plan.max_time
        if limit is None or self.engine.paused:
            return None
        left = limit + self.paused_seconds - self.seconds
        if left <= 0 and not self.engine.stopping:
            self.out_of_time = True
            self.engine.stop()
        return max(0.0, left)

    def tell(self, event: Event) -> None:
        """See `engine.Overseer`."""
        self.send(event)

    def _tell_of(self, attempt: Attempt | None, windows: Mapping[int, Window]) -> None:
        """Events about what was taken in."""
        course, columns = self.course, self.engine.chains.columns
        for event in course.news:
            if isinstance(event, CheckFigures):
                self.last_check = event
            self.send(event)
        course.news.clear()
        if attempt is not None and course.attempt is attempt and self.successor is None:
            draws, table = stacked(windows, attempt.chains)
            if (place := columns.place("divergence")) is not None:
                for c, count in zip(attempt.chains, table[:, place].sum(axis=1).tolist(), strict=True):
                    self.divergences[c] = self.divergences.get(c, 0) + int(count)
            self.send(DrawsMade(attempt.count - draws.shape[1], draws, name_statistics(table, columns)))
        elif attempt is not None:
            self.divergences.clear()
            self.last_check = None

    def _stopped(self) -> Verdict:
        """The end that was asked for: draws of the segment under way count as far as all chains have them."""
        self._keep({}, last=True)  # without the segment under way, which a resumed run makes anew
        attempt = self.course.attempt
        drawn = 0
        if attempt is not None:
            parts = self.engine.cut_short()
            made = min((len(w.draws) for w in parts.values()), default=0)
            if made:
                self.partial = {c: cut(w, made) for c, w in parts.items()}
                chains = [c for c in attempt.chains if c in parts]  # some may have been lost in this segment
                draws, table = stacked(self.partial, chains)
                self.send(DrawsMade(attempt.count, draws, name_statistics(table, self.engine.chains.columns)))
            drawn = attempt.count + made
        if self.engine.lost and not drawn:
            raise WorkerLostError(self.engine.lost)
        kept = f"the first {drawn} draws of each chain are kept" if drawn else "no draws had been made"
        if self.engine.lost:
            return Verdict("interrupted", f"{self.engine.lost.rstrip('.')}; {kept}")
        if self.out_of_time:
            limit = self.course.plan.max_time
            needed = math.nan if self.last_check is None else self.last_check.needed
            more = "" if math.isnan(needed) else f"; about {needed:.0f} would do"
            return Verdict("not_converged", f"max_time={limit} seconds were over; {kept}{more}")
        return Verdict("interrupted", f"the run was stopped; {kept}")

    def _result(self, verdict: Verdict, last: bool = False) -> Run:
        """What there is; `last`: the windows become parts of its arrays, so that there is one copy of the draws."""
        course, engine, columns = self.course, self.engine, self.engine.chains.columns
        attempt = course.attempt
        chains = tuple(c for c in engine.living if attempt is None or c in attempt.chains)
        learnt = tuple(engine.tuning(c) for c in chains)
        if last:
            if attempt is not None:
                attempt.rest()
            engine.release()
        dimension = engine.chains.dimension
        windows = [] if attempt is None else list(attempt.windows)
        if self.partial:
            if last and attempt is not None and attempt.on_disk is not None:
                self.partial = attempt.on_disk.take(attempt.count, self.partial)
            windows.append(self.partial)
        stored = None
        if attempt is not None and attempt.on_disk is not None and chains == tuple(range(engine.chains.count)):
            stored = attempt.on_disk.all(sum(len(some[chains[0]].draws) for some in windows))
        tuning = [some for some in course.tuning_windows if all(c in some for c in chains)]
        plain = (
            windows if stored is None else [{c: replace(w, draws=w.draws[:0]) for c, w in s.items()} for s in windows]
        )
        draws, table = of_all_chains(plain, chains, dimension, len(columns.types), last)
        warm, warm_table = of_all_chains(tuning, chains, dimension, len(columns.types), last)
        evaluations, seconds = engine.evaluations, engine.seconds
        return Run(
            chains=chains,
            draws=draws if stored is None else stored,
            statistics=name_statistics(table, columns),
            warmup_draws=warm,
            warmup_statistics=name_statistics(warm_table, columns),
            divergences=tuple(all_divergences([w[c] for w in windows], dimension) for c in chains),
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
