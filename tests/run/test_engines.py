"""Any engine that gives five methods is run, judged and extended as chains on threads are."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.events import ChainLost, ChainProgress, Event, Restarted
from consilience.inference.columns import Columns
from consilience.inference.messages import ChainTuning, Divergences, JointWindows, Segment, Window
from consilience.inference.metric import diagonal
from consilience.inference.self_tuning import SelfTuning
from consilience.inference.tuner import TuningSetting
from consilience.record import replace
from consilience.run import Monitored, Run, RunPlan, forecast
from consilience.run.attempt import Attempt
from consilience.run.course import MOST_REQUESTS, Leg, RunCourse
from consilience.run.engine import Chains, Engine, Overseer
from consilience.run.remedies import Look, Restart

COLUMNS = Columns({"lp": "float64"}, {"log density": "lp"})
PLAN = RunPlan(tune=20, rule=StoppingRule(target_ess=300.0), min_draws=100, max_draws=2000)


class Independent(Engine):
    """Chains of independent normal draws.

    lose       chain that is left out after its first window
    backwards  whether windows leave in the order of the last chain to the first
    """

    def __init__(self, chains: int = 4, lose: int | None = None, backwards: bool = False) -> None:
        super().__init__(Chains(chains, 2, COLUMNS))
        self.lose, self.backwards = lose, backwards
        self.present = tuple(range(chains))
        self.generators = [np.random.default_rng(c) for c in range(chains)]
        self.made = 0

    @property
    def evaluations(self) -> tuple[int, ...]:
        return (self.made,) * len(self.generators)

    @property
    def seconds(self) -> tuple[float, ...]:
        return (0.0,) * len(self.generators)

    @property
    def living(self) -> tuple[int, ...]:
        return self.present

    def states(
        self, drawn: int, taken: Mapping[int, Window], divergences: Mapping[int, int], ended: bool
    ) -> tuple[ChainProgress, ...]:
        return tuple(
            ChainProgress(c, "done" if ended else "sampling", self.made, drawn, 0, 1.0, np.nan, self.made, 0.0)
            for c in self.living
        )

    def advance(self, segment: Segment, overseer: Overseer) -> dict[int, Window] | None:
        if self.ends(overseer):
            return None
        if self.made and self.lose in self.living:
            assert self.lose is not None
            overseer.tell(ChainLost(self.lose, "it was asked to be"))
            self.present = tuple(c for c in self.living if c != self.lose)
        self.made += segment.count
        return {c: self._window(c, segment.count) for c in sorted(self.living, reverse=self.backwards)}

    def _window(self, chain: int, count: int) -> Window:
        draws = self.generators[chain].standard_normal((count, 2))
        none = Divergences(np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros((0, 2)))
        return Window(draws, -0.5 * (draws**2).sum(axis=1)[None], None, none, 1.0, self.made, 0.0, {})

    def tuning(self, chain: int) -> ChainTuning:
        return ChainTuning(1.0, diagonal(np.ones(2)))


def running(engine: Independent, plan: RunPlan = PLAN, events: list[Event] | None = None) -> Run:
    tuner = SelfTuning(TuningSetting(engine.chains.count, 2, COLUMNS, plan))
    course = RunCourse(plan, engine.chains, tuner, Monitored(("a", "b")))
    return Run(Leg(course, engine), 0, [] if events is None else [events.append])


def test_draws_on_the_disk_count_as_what_is_free_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with a store keeps no draws in memory but their statistics."""
    count, values, dimension = 4, len(COLUMNS.types), 1000
    chains = Chains(count, dimension, COLUMNS)
    tuner = SelfTuning(TuningSetting(count, dimension, COLUMNS, PLAN))
    monkeypatch.setattr(forecast, "_free_memory", lambda: 2.0 * 100_000 * 8 * count * values)
    free = 2 * 30_000 * 8 * count * dimension
    monkeypatch.setattr("consilience.run.forecast.shutil.disk_usage", lambda folder: SimpleNamespace(free=free))
    plain, stored = (RunCourse(RunPlan(), chains, tuner, Monitored(("a",) * dimension)) for _ in range(2))
    stored.keep_draws_in(tmp_path)
    assert plain.last == max(plain.fewest, int(100_000 * values / (values + dimension)))
    assert stored.last == 30_000


def test_a_run_on_another_engine_converges_and_is_extended() -> None:
    short = running(Independent())
    short.start(background=False)
    first = short.wait()
    assert (first.verdict.status, first.tuned) == ("converged", 20)
    longer = short.again(RunPlan(draws=first.draws.shape[1] + 50, tune=20), ())
    longer.start(background=True)
    np.testing.assert_array_equal(longer.wait(60.0).draws[:, : first.draws.shape[1]], first.draws)


def test_the_order_in_which_windows_leave_an_engine_has_no_part_in_the_draws() -> None:
    found = []
    for backwards in (False, True):
        run = running(Independent(backwards=backwards))
        run.start(background=False)
        found.append(run.wait())
    assert found[0].verdict == found[1].verdict
    np.testing.assert_array_equal(found[0].draws, found[1].draws)


class Joint(Independent):
    """The same chains, whose windows leave in arrays with a chain axis; `together` False: one by one."""

    def __init__(self, together: bool) -> None:
        super().__init__()
        self.together = together

    def advance(self, segment: Segment, overseer: Overseer) -> Mapping[int, Window] | None:
        windows = super().advance(segment, overseer)
        if windows is None:
            return None
        place = Divergences(np.array([1]), np.full((1, 2), self.made), np.full((1, 2), np.nan))
        windows = {**windows, 2: replace(windows[2], divergences=place)}
        if not self.together:
            return windows
        draws = np.stack([w.draws for w in windows.values()])
        table = np.stack([w.statistics for w in windows.values()])
        return JointWindows(draws, table, {2: place}, 1.0, self.made, 0.0, {})


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("on_disk", [True, False])
def test_windows_with_a_chain_axis_and_one_by_one_are_the_same_run(
    keep: bool, on_disk: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draws, statistics, divergences, verdict, monitored scalars and what is evenly taken of them."""
    if on_disk:
        monkeypatch.setattr("consilience.run.attempt.MOST_SEEN", 100)
    derive = lambda draws: np.stack([draws[:, 0] * draws[:, 1], np.zeros(len(draws))], axis=1)  # noqa: E731
    monitored = Monitored(("a", "b"), ("product", "nothing"), derive, discrete=np.array([False, True]))
    found, plan = [], replace(PLAN, keep_tuning=keep)
    for together in (False, True):
        engine = Joint(together)
        course = RunCourse(plan, engine.chains, SelfTuning(TuningSetting(4, 2, COLUMNS, plan)), monitored)
        course.keep_draws_in(tmp_path if on_disk else None)
        run = Run(Leg(course, engine), 0)
        run.start(background=False)
        result = run.wait()
        attempt = run.attempt
        assert attempt is not None
        assert (attempt.on_disk is not None) is on_disk
        sight = attempt.sight()
        arrays = (
            result.draws, result.warmup_draws, attempt.draws(100), attempt.column("log density"), sight.widths,
            *result.statistics.values(), *result.warmup_statistics.values(), run.so_far().draws,
            *(part for d in result.divergences for part in (d.transitions, d.begins, d.ends)),
        )  # fmt: skip
        words = result.verdict, result.check, result.tuning_evaluations, result.constants, course.spent
        found.append((arrays, repr(words)))
        assert all(isinstance(some, JointWindows) is together for some in attempt.windows)
    assert found[0][1] == found[1][1]
    for one, other in zip(found[0][0], found[1][0], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_chain_whose_window_is_missing_is_left_out() -> None:
    events: list[Event] = []
    run = running(Independent(lose=2), events=events)
    run.start(background=False)
    found = run.wait()
    assert found.chains == (0, 1, 3)
    assert found.verdict.status == "not_converged"
    assert "chain 2 was left out" in found.verdict.reason
    assert [event.chain for event in events if isinstance(event, ChainLost)] == [2]


@pytest.mark.parametrize("options", [RunPlan(tune=20, max_time=0.0), RunPlan(tune=0, draws=100, max_time=0.0)])
def test_no_time_at_all_leaves_no_draws_on_any_engine(options: RunPlan) -> None:
    run = running(Independent(), options)
    run.start(background=False)
    assert run.wait().verdict.reason == "max_time=0.0 seconds were over; no draws had been made"


def test_a_pause_does_not_count_as_time_on_any_engine() -> None:
    run = running(Independent(), RunPlan(tune=20, draws=100, max_time=5.0))
    run.pause()
    run.start(background=True)
    time.sleep(0.02)
    run.began -= 100.0  # as if the pause had been that long
    run._paused_at = time.perf_counter() - 100.0
    assert run.progress.paused
    run.resume()
    assert run.wait(60.0).draws.shape == (4, 100, 2)


def test_a_remedy_is_one_function_and_one_that_asks_for_ever_is_not_heard_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def never_content(attempt: Attempt, look: Look | None) -> Restart | None:
        if look is None:
            return None
        asked.append(attempt.count)
        return Restart("never content", "this could be better", attempt.windows)

    monkeypatch.setattr("consilience.run.course.REMEDIES", {"metric": never_content})
    monkeypatch.setattr(SelfTuning, "again", lambda self, reason, windows: None)
    events: list[Event] = []
    run = running(Independent(), events=events)
    run.start(background=False)
    found = run.wait()
    assert found.restarts == ("never content",) * MOST_REQUESTS
    assert len(asked) == MOST_REQUESTS
    assert [event.reason for event in events if isinstance(event, Restarted)] == [
        "this could be better"
    ] * MOST_REQUESTS
    assert found.verdict.status == "converged"


class Following(Independent):
    """That goes on after another one."""

    def follow(self, other: Engine) -> None:
        self.made = other.evaluations[0]


def exchanging(monkeypatch: pytest.MonkeyPatch, seen: Callable[[Run], None], plan: RunPlan) -> tuple[Run, Leg]:
    """A run that gets other coordinates at its first check, and the leg in these; `seen` is called with it then."""
    tuner = SelfTuning(TuningSetting(4, 2, COLUMNS, plan))
    following = Following()
    successor = Leg(RunCourse(plan, following.chains, tuner, Monitored(("a", "b"))), following, "another density")

    def ask(attempt: Attempt, look: Look | None) -> Restart | None:
        if attempt.course is successor.course:
            return None
        seen(run)
        return Restart("coordinates", "others suit better", successor=successor)

    monkeypatch.setattr("consilience.run.course.REMEDIES", {"coordinates": ask})
    run = running(Independent(), plan)
    return run, successor


def test_a_run_goes_on_in_other_coordinates_and_copies_of_it_stay_in_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy is one leg, whose draws and density belong together; the run itself has the next one."""
    copies: list[Run] = []
    run, successor = exchanging(monkeypatch, lambda run: copies.append(copy.copy(run)), PLAN)
    before = run.leg
    run.start(background=False)
    found = run.wait()
    assert (found.verdict.status, found.restarts) == ("converged", ("coordinates",))
    assert run.leg is successor
    assert copies[0].leg is before
    assert copies[0].so_far().draws.shape[:2] == (4, 100)
    assert found.evaluations[0] == copies[0].engine.evaluations[0] + run.engine.evaluations[0]


@pytest.mark.parametrize(
    ("by_user", "reason"), [(False, "max_time=50.0 seconds were over"), (True, "the run was stopped")]
)
def test_a_stop_just_as_coordinates_are_exchanged_is_said(
    by_user: bool, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(run: Run) -> None:
        if by_user:
            run.stop()
        else:
            run.began -= 100.0  # as if it had taken that long
            assert run.seconds_left() == 0.0

    run, successor = exchanging(monkeypatch, stop, replace(PLAN, max_time=50.0))
    run.start(background=False)
    found = run.wait()
    assert found.verdict.reason == f"{reason}; no draws had been made"
    assert found.interrupted == by_user
    assert successor.course.attempt is None
