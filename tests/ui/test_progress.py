"""Progress reaches the user, not too often, and never stands in the way of a run."""

from __future__ import annotations

import io
import sys
import types
import warnings

import numpy as np
import pytest
from hypothesis import given

from consilience.errors import ConsilienceWarning
from consilience.events import ChainLost, DrawsMade, Progress, Restarted, RunEnded
from consilience.output.display import Reporter, reporter
from consilience.output.display.lines import Lines
from consilience.output.display.notebook import Notebook
from consilience.output.display.progress import LONGEST_NOTICE, MOST_NOTICES, Display
from consilience.output.display.state import State, mean
from consilience.output.display.stream import is_terminal
from consilience.output.display.terminal import Terminal
from tests.ui.simulated import (
    ANY_EVENTS,
    FIXED,
    UNHURRIED,
    Clock,
    Recorder,
    chain,
    chains,
    check,
    ended,
    now,
    runs,
    started,
)


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


class Timed(Recorder):
    """Keeps when it was shown something, and asks for other intervals each time."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(first=0.3, interval=1.0)
        self.clock = clock
        self.times: list[tuple[float, float]] = []

    def show(self, now: State) -> None:
        super().show(now)
        self.interval *= 1.5
        self.times.append((self.clock.now, self.interval))


def tell(display: Display, events: list[tuple[float, object]], clock: Clock) -> Reporter:
    """A reporter that was told all the events."""
    report = Reporter(display, clock)
    for seconds, event in events:
        clock.now += seconds
        report(event)
    return report


@UNHURRIED
@given(ANY_EVENTS)
def test_no_sequence_of_events_fails_or_switches_a_display_off(events: list[tuple[float, object]]) -> None:
    """Chains without figures, NaN, no lengths, no chains, events out of order: warnings are errors here."""
    stream = io.StringIO()
    for display in (Lines(stream), Recorder()):
        report = tell(display, events, Clock())
        assert report._display is display
        report.close()
    assert all(line.isprintable() for line in stream.getvalue().splitlines())


@UNHURRIED
@given(runs())
def test_nothing_is_shown_more_often_than_the_display_wants(events: list[tuple[float, object]]) -> None:
    """Not before its first second, and each time not before the interval it asked for is over."""
    clock = Clock()
    display = Timed(clock)
    tell(display, events, clock)
    due = 100.0 + 0.3
    for time, interval in display.times:
        assert time >= due
        due = time + interval


@UNHURRIED
@given(runs())
def test_last_state_is_always_shown(events: list[tuple[float, object]]) -> None:
    """However little time has passed, the display ends once, with the figures of the end."""
    display = Recorder(first=1e9)
    tell(display, events, Clock())
    (end,) = display.ends
    told = events[-1][1]
    assert isinstance(told, RunEnded)
    assert end is not None
    assert end.end is told
    assert end.draws == told.draws
    progress = [event for _, event in events if isinstance(event, Progress)]
    alive = [chain for chain in progress[-1].chains if chain.phase != "failed"] if progress else []
    assert end.divergences == sum(chain.divergences for chain in alive)
    assert len(display.notices) == min(
        MOST_NOTICES, sum(isinstance(event, Restarted | ChainLost) for _, event in events)
    )
    assert all(text.isprintable() and len(text) <= LONGEST_NOTICE for text in display.notices)


def test_overview_adds_up_the_chains() -> None:
    """Counts are sums, draws those of the slowest, step size and depth means over the chains that have them."""
    clock, display = Clock(), Recorder()
    report = Reporter(display, clock)
    report(FIXED)
    assert display.shown[-1].stage == "starting"
    report(
        now(
            (
                chain(0, "sampling", 1200, 200, 2, 0.4, 2.0, gradients=9000),
                chain(1, "tuning", 900, 0, 1, 0.6, float("nan"), gradients=7000),
            ),
            check(),
            seconds=2.0,
        )
    )
    state = display.shown[-1]
    assert (state.stage, state.tuning_steps, state.draws, state.total, state.divergences) == ("tuning", 900, 0, 500, 3)
    assert mean(chain.step_size for chain in state.alive) == 0.5
    assert mean(chain.tree_depth for chain in state.alive) == 2.0
    assert (state.gradient_rate, state.seconds) == (8000.0, 2.0)


def test_stages_follow_the_chains() -> None:
    """Starting, tuning, sampling, tuning again, paused: the last chain decides, one that failed does not."""
    display = Recorder()
    report = Reporter(display)
    stages = []
    failed = chain(9, "failed")
    for event in (
        started(),
        now(chains("waiting", 0, 0)),
        now((*chains("sampling", 90, 10, 3), chain(3, "tuning", 60))),
        now((*chains("sampling", 90, 10, 3), failed)),
        now(chains("sampling", 90, 10), paused=True),
        Restarted("divergences: tuning again at target_accept 0.95"),
        now(chains("tuning", 100, 0)),
        now(chains("sampling", 140, 10)),
        started(),
        now(chains("tuning", 10, 0)),
    ):
        report(event)
        stages.append(display.shown[-1].stage)
    assert stages == [
        "starting",
        "starting",
        "tuning",
        "sampling",
        "paused",
        "paused",
        "retuning",
        "sampling",
        "starting",
        "tuning",
    ]


def test_what_happened_is_told_at_once_and_counted() -> None:
    """A chain that is left out and a new begin are said whatever the interval."""
    display = Recorder(first=1e9)
    report = Reporter(display)
    report(started())
    report(ChainLost(2, "the density raised\nValueError \x1b[31m twice"))
    report(Restarted("divergences: tuning again at target_accept 0.95"))
    report(ended())
    assert display.notices == [
        "chain 2 was left out: the density raised ValueError [31m twice",
        "divergences: tuning again at target_accept 0.95",
    ]
    assert display.ends[0] is not None
    assert display.ends[0].lost == 1


def test_logs_get_a_line_more_and_more_seldom_and_a_last_one() -> None:
    """Ten seconds first, then half as much again each time; ten minutes at most."""
    clock, stream = Clock(), io.StringIO()
    report = Reporter(Lines(stream), clock)
    report(started())
    times, before = [], ""
    for second in range(1, 4001):
        clock.now += 1.0
        report(now(chains("sampling", 200 + second, second), check(), float(second)))
        if stream.getvalue() != before:
            times.append(second)
            before = stream.getvalue()
    assert times == [10, 25, 48, 82, 133, 209, 323, 494, 751, 1136, 1713, 2313, 2913, 3513]
    report(ended(draws=4000, seconds=4001.0))
    lines = stream.getvalue().splitlines()
    assert len(lines) == len(times) + 1
    assert lines[0].startswith("Sampling 4 chains: 10 of about 663 draws, R-hat 1.02 tau, ESS 187/400 theta[C], ")
    assert lines[-1].startswith("Converged: 4 × 4000 draws in 1:06:41, R-hat 1.02 tau, ESS 187/400 theta[C], ")


def test_a_stream_of_ascii_gets_ascii() -> None:
    """Letters that the encoding lacks are replaced; nothing fails."""
    bytes_ = io.BytesIO()
    stream = io.TextIOWrapper(bytes_, encoding="ascii")
    with Reporter(Lines(stream)) as report:
        report(started())
        report(now(chains("sampling", 90, 10), check(rhat_name="變量_σ")))
        report(ended())
    assert bytes_.getvalue().startswith(b"Converged: 4 x 500 draws in 12 s, R-hat 1.02 ??_?, ESS 187/400 theta[C], ")


def test_progressbar_false_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written anywhere."""
    with reporter(progressbar=False) as report:
        report(started())
        report(now(chains("sampling", 10, 1)))
        report(ChainLost(1, "it failed"))
        report(ended())
    assert capsys.readouterr() == ("", "")


def test_default_is_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """What a program prints stays by itself."""
    with reporter() as report:
        report(FIXED)
        report(now(chains("done", 1500, 500, gradients=30_000)))
        report(ended("completed"))
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "Sampled: 4 × 500 draws in 12 s, 0 divergences, 1000 tuning steps, 10k gradients/s, step size 0.5, "
        "tree depth 3.0\n"
    )


class Broken(Recorder):
    """A display that fails."""

    def show(self, now: State) -> None:
        raise OSError("the pipe is closed")

    def notice(self, text: str) -> None:
        raise OSError("the pipe is closed")

    def finish(self, now: State | None) -> None:
        super().finish(now)
        raise OSError("still closed")


@pytest.mark.parametrize("event", [now(), Restarted("because"), ChainLost(1, "it failed")])
def test_failing_display_warns_once_and_the_run_goes_on(event: object) -> None:
    """After the first failure nothing is shown; the display is told to tidy up."""
    display = Broken()
    display.first = 0.0 if isinstance(event, Progress) else 1e9
    report = Reporter(display)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report(started())
        for _ in range(10):
            report(event)
        report(ended())
        report.close()
    assert [item.category for item in caught] == [ConsilienceWarning]
    assert "OSError: the pipe is closed" in str(caught[0].message)
    assert display.ends == [None]


def test_failing_display_ends_no_run_where_warnings_are_errors() -> None:
    """The suite turns warnings into errors; none comes out here."""
    for events in ([started(), now(), ended()], [ended()], [started()]):
        with Reporter(Broken()) as report:
            for event in events:
                report(event)


def test_run_that_fails_leaves_the_display_tidy() -> None:
    """The end of the context ends the display, without a line about an end that was not told."""
    display = Recorder()

    def fail() -> None:
        with Reporter(display) as report:
            report(started())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert display.ends == [None]


def test_unknown_events_and_events_without_a_run_are_passed_over() -> None:
    """New kinds of events need no change here."""
    display = Recorder()
    with Reporter(display) as report:
        for event in (
            "something",
            DrawsMade(0, np.zeros((1, 1, 1)), {}),
            now(),
            ChainLost(1, "it failed"),
            Restarted("because"),
            ended(),
        ):
            report(event)
    assert (display.shown, display.notices, display.ends) == ([], [], [])


def test_reporter_serves_one_run_after_another() -> None:
    """The second run starts from nothing."""
    display = Recorder()
    report = Reporter(display)
    for _ in range(2):
        report(started())
        report(Restarted("because"))
        report(ChainLost(3, "it failed"))
        report(ended())
    assert [(end.lost, end.draws) for end in display.ends if end] == [(1, 500)] * 2
    assert [state.stage for state in display.shown] == ["starting"] * 2


def test_a_stream_that_is_closed_or_dumb_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where a line can be redrawn it is."""
    closed = io.StringIO()
    closed.close()
    monkeypatch.setenv("TERM", "xterm")
    assert not is_terminal(closed)
    assert not is_terminal(None)
    assert is_terminal(Screen())
    monkeypatch.setenv("TERM", "dumb")
    assert not is_terminal(Screen())


def test_kind_of_display_follows_where_the_output_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal, a notebook, a file, and a program without streams."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert isinstance(reporter(stream=Screen())._display, Terminal)
    assert isinstance(reporter(stream=io.StringIO())._display, Lines)
    shell = types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(sys, "stderr", Screen())
    assert isinstance(reporter()._display, Terminal)  # IPython on a terminal has no kernel
    shell.kernel = object()
    assert isinstance(reporter()._display, Notebook)
    assert isinstance(reporter(stream=Screen())._display, Terminal)
    shell.kernel = None
    monkeypatch.setattr(sys, "stderr", None)
    assert reporter()._display is None
