"""Two lines on a terminal: never wider than it, redrawn in place, gone when the run is over."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from consilience.ui import Reporter
from consilience.ui.overview import Overview
from consilience.ui.terminal import Terminal, columns_of, parts_of_bar
from consilience.ui.words import cells
from tests.ui.simulated import UNHURRIED, Check, Clock, Ended, Now, Recorder, Started, chains, runs


class Frames(Terminal):
    """A terminal that keeps its frames instead of drawing them."""

    def __init__(self, columns: int) -> None:
        super().__init__(io.StringIO(), lambda: columns)
        self.interval = 0.0
        self.first = 0.0
        self.lines: list[str] = []

    def show(self, now: Overview) -> None:
        frame = self.frame(now)
        assert 1 <= len(frame) <= 2
        self.lines += ["".join(text for text, _ in line) for line in frame]


@UNHURRIED
@given(runs(), st.integers(1, 200))
def test_no_line_is_wider_than_the_terminal(events: list[tuple[float, object]], columns: int) -> None:
    """By the measure of the library that draws, whatever the names of the variables and the reasons."""
    display = Frames(columns)
    report = Reporter(display)
    for _, event in events:
        report(event)
    assert report._display is display
    assert isinstance(display.stream, io.StringIO)
    last = display.stream.getvalue().splitlines()
    for line in display.lines + (last if columns >= 5 else []):  # a wide letter beside a margin needs four
        assert line.isprintable()
        assert cell_len(line) <= cells(line) <= max(columns - 1, 0)


@UNHURRIED
@given(st.text())
def test_our_measure_of_a_text_is_no_less_than_that_of_the_library_that_draws(text: str) -> None:
    """So that it never has to cut what we found to fit."""
    line = "".join(letter for letter in text if letter.isprintable())
    assert cells(line) >= cell_len(line)


def texts(columns: int, *, draws: int = 320) -> list[str]:
    """The lines of a run that samples."""
    record = Recorder()
    report = Reporter(record)
    report(Started())
    report(Now(chains("sampling", draws + 180, draws - 20, gradients=500_000), Check(), 2.5))
    report(Now(chains("sampling", draws + 200, draws, gradients=800_000), Check(), 3.0))
    return ["".join(text for text, _ in line) for line in Frames(columns).frame(record.shown[-1])]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            100,
            [
                "Sampling 4 chains ━━━━━━━━━━━━━━──────────────── 320 draws, check at 388 · 0:03, 0:02 left",
                "R-hat 1.02 tau · ESS 187/400 theta[C] · 0 divergences · 1.1M gradients/s · step size 0.5",
            ],
        ),
        (
            80,
            [
                "Sampling 4 chains ━━━━━━━━━────────── 320 draws, check at 388 · 0:03, 0:02 left",
                "R-hat 1.02 tau · ESS 187/400 theta[C] · 0 divergences · 1.1M gradients/s",
            ],
        ),
        (
            60,
            [
                "Sampling 4 chains · 320 draws, check at 388 · 0:02 left",
                "R-hat 1.02 tau · ESS 187/400 theta[C] · 0 divergences",
            ],
        ),
        (40, ["Sampling · 320 draws · 0:03, 0:02 left", "R-hat 1.02 tau · ESS 187/400 theta[C]"]),
    ],
)
def test_two_lines_at_several_widths(columns: int, expected: list[str]) -> None:
    """What a user sees; the bar makes way first."""
    assert texts(columns) == expected


def test_bar_grows_from_nothing_to_its_width() -> None:
    """By halves of a column; an unknown share is an empty bar."""
    assert parts_of_bar(4, None) == ("", "────")
    assert [parts_of_bar(2, share) for share in (0.0, 0.25, 0.5, 1.0, 7.0, float("nan"))] == [
        ("", "──"),
        ("╸", "─"),
        ("━", "─"),
        ("━━", ""),
        ("━━", ""),
        ("", "──"),
    ]


def test_columns_are_those_of_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """COLUMNS has precedence; 80 where nobody knows, as on a pseudo terminal without a size."""
    master, slave = pty.openpty()
    with open(slave, "w") as stream:
        monkeypatch.setenv("COLUMNS", "33")
        assert columns_of(stream) == 33
        monkeypatch.setenv("COLUMNS", "many")
        assert columns_of(stream) == 80
        monkeypatch.delenv("COLUMNS")
        assert columns_of(io.StringIO()) == 80
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 57, 0, 0))
        assert columns_of(stream) == 57
    os.close(master)


PROGRAM = """
import sys
from consilience.ui import Reporter
from consilience.ui.terminal import Terminal
from tests.ui.simulated import *
clock, step = Clock(), float(sys.argv[1])
with Reporter(Terminal(sys.stderr), clock) as report:
    report(Started())
    for done in range(0, 200, 20):
        clock.now += step
        report(Now(chains("tuning" if done else "waiting", done, 0), None, clock.now - 100))
    report(Again("divergences: tuning again at target_accept 0.95"))
    print("printed by a program")
    for draws in range(0, 500, 20):
        clock.now += step
        if draws == 200:
            report(Lost(2, "the density raised ValueError, " + 12 * "and so on "))
        report(Now(chains("sampling", 200 + draws, draws), Check() if draws > 300 else None, clock.now - 100))
    report(Ended("not_converged", "the effective size of theta[C] is 187, not 400"))
print("rich" in sys.modules)
"""


def on_a_terminal(step: float, output: Path | None = None) -> str:
    """What appears on a pseudo terminal of 80 columns; standard output goes to a file if one is given."""
    master, slave = pty.openpty()
    environment = os.environ | {"COLUMNS": "80", "TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path)}
    out = slave if output is None else os.open(output, os.O_WRONLY | os.O_CREAT)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(step)], stdout=out, stderr=slave, stdin=slave, env=environment
    )
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
    if output is not None:
        os.close(out)
    return received.decode().replace("\r\n", "\n")


AFTERWARDS = """\
Not converged: 3 × 500 draws in 12 s · R-hat 1.02 tau · ESS 187/400 theta[C]
  the effective size of theta[C] is 187, not 400
"""


def test_terminal_shows_two_lines_redrawn_in_place() -> None:
    """Frames replace each other; what happened stays above them, and what is printed too."""
    text = on_a_terminal(step=0.1)
    frames = text.split("\x1b[1A\x1b[2K")
    assert sum("gradients" not in frame and "Tuning 4 chains" in frame for frame in frames) >= 3
    assert sum("Sampling 4 chains" in frame for frame in frames) >= 8
    assert sum("ESS 187/400 theta[C]" in frame for frame in frames) >= 3
    assert all(frame.count("\n") <= 1 for frame in frames if "check at" in frame and "left out" not in frame)
    assert text.count("divergences: tuning again at target_accept 0.95\n") == 1
    assert text.count("printed by a program\n") == 1
    assert text.count("chain 2 was left out: the density raised ValueError, and so on ") == 1
    assert text.endswith(AFTERWARDS + "True\n")


def test_short_run_does_not_load_the_library_that_draws() -> None:
    """Its import takes longer than such a run; nothing is redrawn."""
    text = on_a_terminal(step=0.005)
    assert "\x1b" not in text
    assert text.startswith(
        "divergences: tuning again at target_accept 0.95\nprinted by a program\nchain 2 was left out"
    )
    assert text.endswith(AFTERWARDS + "False\n")
    assert max(map(cells, text.splitlines())) < 80


def test_what_goes_to_a_file_goes_there_while_lines_are_redrawn(tmp_path: Path) -> None:
    """A program whose output is kept has its progress on the terminal and its words in the file."""
    text = on_a_terminal(step=0.1, output=tmp_path / "output")
    assert (tmp_path / "output").read_text() == "printed by a program\nTrue\n"
    assert "printed by a program" not in text
    assert text.endswith(AFTERWARDS)


def test_lines_are_drawn_again_for_the_next_run() -> None:
    """A terminal that finished starts anew, whether the run ended well or not."""
    stream = io.StringIO()
    for end in (Ended(), None):
        clock = Clock()
        with Reporter(Terminal(stream, lambda: 80), clock) as report:
            for _ in range(2):
                report(Started())
                clock.now += 1.0
                report(Now(chains("sampling", 90, 10)))
                if end is not None:
                    report(end)
    assert stream.getvalue().count("Converged: 4 × 500 draws") == 2
