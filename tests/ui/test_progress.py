"""Progress reaches the user, not too often, and never stands in the way of a run."""

from __future__ import annotations

import io
import math
import os
import pty
import subprocess
import sys
import threading
import types
import warnings
from dataclasses import dataclass, replace

import pytest

from consilience.errors import ConsilienceWarning
from consilience.ui import Reporter, reporter
from consilience.ui.displays import Bar, Lines
from consilience.ui.overview import Overview
from consilience.ui.progress import is_terminal


@dataclass(frozen=True)
class Starts:
    """Begin of a run."""

    chains: int = 4
    tune: int = 1000
    draws: int = 500


@dataclass(frozen=True)
class Chain:
    """Where a chain is."""

    chain: int
    done: int
    divergences: int = 0
    step_size: float = 0.5
    tree_depth: float = 3.0
    gradients: int = 0


@dataclass(frozen=True)
class Ends:
    """End of a run."""

    interrupted: bool = False
    seconds: float = 12.0


class Clock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Recorder:
    """A display that keeps what it is shown."""

    interval = 1.0

    def __init__(self) -> None:
        self.shown: list[Overview] = []
        self.ends: list[Overview | None] = []

    def show(self, overview: Overview) -> None:
        self.shown.append(overview)

    def finish(self, overview: Overview | None) -> None:
        self.ends.append(overview)


def test_overview_adds_up_the_chains() -> None:
    """Counts are sums, step size and depth means over the chains that have them."""
    clock, display = Clock(), Recorder()
    report = Reporter(display, first=0.0, clock=clock)
    report(Starts())
    report(Chain(0, 1200, divergences=2, step_size=0.4, tree_depth=2.0, gradients=9000))
    clock.now += 10
    report(Chain(1, 1100, divergences=1, step_size=0.6, tree_depth=math.nan, gradients=7000))
    overview = display.shown[-1]
    assert (overview.done, overview.total, overview.divergences) == (2300, 6000, 3)
    assert (overview.step_size, overview.tree_depth) == (0.5, 2.0)
    assert (overview.gradients, overview.seconds) == (16000, 10.0)
    assert overview.tuning  # nothing was heard of two chains
    for chain in range(4):
        report(Chain(chain, 1500))
    clock.now += 2
    report(Chain(3, 1500))
    assert not display.shown[-1].tuning


def test_frames_are_throttled_and_a_short_run_has_none() -> None:
    """Nothing is drawn before the first interval; then once per interval, and once at the end."""
    clock, display = Clock(), Recorder()
    report = Reporter(display, first=0.5, clock=clock)
    report(Starts())
    for step in range(30):
        for chain in range(4):
            report(Chain(chain, step))
        clock.now += 0.1
    assert len(display.shown) == 3  # after 0.5, 1.5 and 2.5 seconds
    report(Ends())
    assert len(display.ends) == 1
    assert display.ends[0] is not None
    assert display.ends[0].seconds == 12.0


def test_time_left_follows_the_speed_of_late() -> None:
    """Slow tuning is forgotten after some seconds."""
    clock, display = Clock(), Recorder()
    report = Reporter(display, first=0.0, clock=clock)
    report(Starts(chains=1, tune=1000, draws=1000))
    report(Chain(0, 0))
    assert display.shown[-1].remaining is None
    for _ in range(10):
        clock.now += 10.0
        report(Chain(0, round(clock.now - 100)))
    assert display.shown[-1].remaining == pytest.approx(1900.0, rel=0.01)
    done = 100
    for _ in range(10):
        clock.now += 1.0
        done += 100
        report(Chain(0, done))
    assert display.shown[-1].remaining == pytest.approx((2000 - done) / 100, rel=0.01)


def overview(**changes: object) -> Overview:
    """An overview of a run half done."""
    base = Overview(4, 1000, 1000, True, 4000, 3, 0.4123, 3.14, 1_200_000, 2.0, 2.0, False)
    return replace(base, **changes)  # type: ignore[arg-type]  # names and values are those of the fields


def test_lines_say_what_matters() -> None:
    """The words of a run that goes on, that ended, that was stopped."""
    assert (
        overview().going_on()
        == "Tuning 4 chains: 4000 of 8000 draws (50 %), 3 divergences, 600k gradients/s, 0:02 left"
    )
    assert (
        overview(done=8000, tuning=False).at_the_end()
        == "Sampled 4 chains: 1000 tuning + 1000 draws each in 2.0 s, 3 divergences, 600k gradients/s, "
        "step size 0.412, tree depth 3.1"
    )
    assert (
        overview(
            chains=1, tune=0, done=1000, gradients=0, divergences=1, step_size=math.nan, tree_depth=math.nan
        ).at_the_end()
        == "Sampled 1 chain: 1000 draws in 2.0 s, 1 divergence"
    )
    stopped = overview(interrupted=True, tuning=False, done=5000)
    assert stopped.at_the_end().startswith(
        "Sampling 4 chains: stopped by the user after 5000 of 8000 draws, 2.0 s, 3 div"
    )


@pytest.mark.parametrize("room", range(10, 130, 7))
def test_words_fit_in_the_room(room: int) -> None:
    """What matters least is left out first; the count and the time stay."""
    words = overview().beside_bar(room)
    assert words.startswith("4000/8000")
    assert words.endswith("0:02 left")
    shortest = "4000/8000, 0:02 left"
    assert len(words) <= max(room, len(shortest))
    whole = overview(done=8000)
    shortest = "Sampled 4 chains: 1000 tuning + 1000 draws each in 2.0 s"
    line = whole.at_the_end(room)
    assert line.startswith(shortest)
    assert whole.at_the_end().startswith(line)
    assert len(line) <= max(room, len(shortest))


def test_output_that_is_no_terminal_gets_plain_lines() -> None:
    """No control characters, one line per message."""
    stream = io.StringIO()
    report = reporter(stream=stream)
    with report:
        report(Starts(chains=2))
        for chain in range(2):
            report(Chain(chain, 1500, gradients=5000))
        report(Ends(seconds=0.2))
    assert stream.getvalue() == (
        "Sampled 2 chains: 1000 tuning + 500 draws each in 0.20 s, 0 divergences, 50k gradients/s, "
        "step size 0.5, tree depth 3.0\n"
    )


def test_progressbar_false_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written anywhere."""
    with reporter(progressbar=False) as report:
        report(Starts())
        report(Chain(0, 10))
        report(Ends())
    assert capsys.readouterr() == ("", "")


def test_default_is_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """What a program prints stays by itself."""
    with reporter() as report:
        report(Starts(chains=1))
        report(Chain(0, 1500))
        report(Ends())
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Sampled 1 chain: 1000 tuning + 500 draws in 12 s")


class Broken(Recorder):
    """A display that fails."""

    def show(self, overview: Overview) -> None:
        raise OSError("the pipe is closed")

    def finish(self, overview: Overview | None) -> None:
        super().finish(overview)
        raise OSError("still closed")


def test_failing_display_warns_once_and_the_run_goes_on() -> None:
    """After the first failure nothing is shown; the display is told to tidy up."""
    display = Broken()
    report = Reporter(display, first=0.0)
    report(Starts())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(10):
            report(Chain(0, step))
        report(Ends())
        report.close()
    assert [item.category for item in caught] == [ConsilienceWarning]
    assert "OSError: the pipe is closed" in str(caught[0].message)
    assert display.ends == [None]


def test_failing_display_ends_no_run_where_warnings_are_errors() -> None:
    """The suite turns warnings into errors; none comes out here."""
    report = Reporter(Broken(), first=0.0)
    report(Starts())
    report(Chain(0, 1))
    report(Ends())


def test_run_that_fails_leaves_the_display_tidy() -> None:
    """The end of the context ends the display, without a line about an end that was not told."""
    display = Recorder()

    def fail() -> None:
        with Reporter(display) as report:
            report(Starts())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert display.ends == [None]


def test_unknown_events_and_events_without_a_run_are_passed_over() -> None:
    """New kinds of events need no change here."""
    display = Recorder()
    with Reporter(display, first=0.0) as report:
        report("something")
        report(Chain(0, 1))
        report(Ends())
    assert display.shown == []
    assert display.ends == []


def test_reporter_serves_one_run_after_another() -> None:
    """The second run starts from nothing."""
    display = Recorder()
    report = Reporter(display, first=0.0)
    for _ in range(2):
        report(Starts(chains=1))
        report(Chain(0, 1500))
        report(Ends())
    assert [end.done for end in display.ends if end] == [1500, 1500]
    assert len(display.shown) == 2


def test_a_stream_that_is_closed_or_dumb_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where a line can be redrawn it is."""
    closed = io.StringIO()
    closed.close()
    assert not is_terminal(closed)
    terminal = types.SimpleNamespace(isatty=lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert is_terminal(terminal)  # type: ignore[arg-type]  # nothing else of a stream is asked for
    monkeypatch.setenv("TERM", "dumb")
    assert not is_terminal(terminal)  # type: ignore[arg-type]  # as above


PROGRAM = """
import sys, time
from consilience.ui import reporter
from tests.ui.test_progress import Chain, Ends, Starts
pause = float(sys.argv[1])
with reporter() as report:
    report(Starts(chains=2))
    for done in range(0, 1501, 100):
        for chain in range(2):
            report(Chain(chain, done, gradients=10 * done))
        time.sleep(pause)
    report(Ends(seconds=1.0))
print("rich" in sys.modules, len(sys.modules))
"""


def on_a_terminal(pause: float) -> str:
    """What appears on a pseudo terminal of 80 columns."""
    master, slave = pty.openpty()
    environment = os.environ | {
        "COLUMNS": "80",
        "TERM": "xterm-256color",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(pause)], stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    received = bytearray()

    def read() -> None:
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # the other side is closed
                return
            if not chunk:
                return
            received.extend(chunk)

    reading = threading.Thread(target=read)
    reading.start()
    assert process.wait(timeout=60) == 0
    reading.join(timeout=60)
    os.close(master)
    return received.decode()


def test_terminal_shows_one_line_redrawn_in_place() -> None:
    """Frames replace each other; at the end one plain line remains."""
    text = on_a_terminal(pause=0.05)
    frames = [frame for frame in text.split("\x1b[2K") if "gradients/s" in frame]
    assert len(frames) > 3
    assert all("\n" not in frame.rstrip() for frame in frames[:-1])
    assert any("Tuning 2 chains" in frame for frame in frames)
    assert any("Sampling 2 chains" in frame for frame in frames)
    last = text.strip().splitlines()[-2]
    assert last.endswith("Sampled 2 chains: 1000 tuning + 500 draws each in 1.0 s, 0 divergences")
    assert text.strip().splitlines()[-1].startswith("True")


def test_short_run_does_not_load_the_library_that_draws() -> None:
    """Its import takes longer than such a run."""
    text = on_a_terminal(pause=0.0)
    lines = text.strip().splitlines()
    assert lines[-2].startswith("Sampled 2 chains: 1000 tuning + 500 draws each in 1.0 s")
    assert lines[-1].startswith("False")


def test_kind_of_display_follows_the_stream() -> None:
    """A terminal and a notebook get a bar, everything else lines."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm")
        assert isinstance(reporter(stream=Terminal())._display, Bar)
        assert isinstance(reporter(stream=io.StringIO())._display, Lines)
        patch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
        assert isinstance(reporter()._display, Bar)
        patch.setattr(sys, "stdout", None)
        assert reporter()._display is None
