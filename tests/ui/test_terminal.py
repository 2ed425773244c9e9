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
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from consilience.output.display import Reporter
from consilience.output.display.bar import Bar
from consilience.output.display.stream import columns_of
from consilience.output.display.terminal import LEAST_COLUMNS, Terminal
from tests.ui.simulated import UNHURRIED, Clock, Recorder, chains, check, ended, now, runs, started


def drawn(record: Recorder, columns: int) -> list[str]:
    """The lines that are drawn of the latest state."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        bar = Bar(io.StringIO())
        bar.show(record.shown[-1])
        with bar.console.capture() as text:
            bar.console.print(bar.get_renderable())
    return text.get().splitlines()


@settings(UNHURRIED, max_examples=50)
@given(runs(), st.integers(LEAST_COLUMNS, 200))
def test_no_line_is_wider_than_the_terminal(events: list[tuple[float, object]], columns: int) -> None:
    """Whatever the names of the variables and the reasons; and never more than two lines."""
    record, stream = Recorder(), io.StringIO()
    report = Reporter(record)
    for _, event in events:
        report(event)
    lines = drawn(record, columns)
    assert 1 <= len(lines) <= 2
    assert all(cell_len(line) <= columns for line in lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        Terminal(stream).finish(record.ends[-1])
    assert all(line.isprintable() for line in stream.getvalue().splitlines())


def texts(columns: int, *, draws: int = 320) -> list[str]:
    """The lines of a run that samples."""
    record = Recorder()
    report = Reporter(record)
    report(started())
    report(now(chains("sampling", draws + 180, draws - 20, gradients=500_000), check(), 2.5))
    report(now(chains("sampling", draws + 200, draws, gradients=800_000), check(), 3.0))
    return [line.rstrip() for line in drawn(record, columns)]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            100,
            [
                "Sampling 4 chains ━━━━━━━━━━━━━━                 320 of about 663 draws · 0:03, 0:02 left",
                "R-hat 1.02 tau · ESS 187/400 theta[C] · 0 divergences · 1.1M gradients/s · step size 0.5",
            ],
        ),
        (
            80,
            [
                "Sampling 4 chains ━━━━━━━━━╸           320 of about 663 draws · 0:03, 0:02 left",
                "R-hat 1.02 tau · ESS 187/400 theta[C] · 0 divergences · 1.1M gradients/s",
            ],
        ),
        (
            64,
            [
                "Sampling 4 chains ━╸   320 of about 663 draws · 0:03, 0:02 left",
                "R-hat 1.02 tau · ESS 187/400 theta[C] · 0 divergences",
            ],
        ),
        (50, ["Sampling 4 chains  320 of about 663 draws", "R-hat 1.02 tau · ESS 187/400 theta[C]"]),
    ],
)
def test_two_lines_at_several_widths(columns: int, expected: list[str]) -> None:
    """What a user sees; the bar makes way first."""
    assert texts(columns) == expected


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
from consilience.output.display import Reporter
from consilience.output.display.terminal import Terminal
from tests.ui.simulated import *
from consilience.events import *
clock, step = Clock(), float(sys.argv[1])
with Reporter(Terminal(sys.stderr), clock) as report:
    report(started())
    for done in range(0, 200, 20):
        clock.now += step
        report(now(chains("tuning" if done else "waiting", done, 0), None, clock.now - 100))
    report(Restarted("divergences: tuning again at target_accept 0.95"))
    print("printed by a program")
    for draws in range(0, 500, 20):
        clock.now += step
        if draws == 200:
            report(ChainLost(2, "the density raised ValueError, " + 12 * "and so on "))
        report(now(chains("sampling", 200 + draws, draws), check() if draws > 300 else None, clock.now - 100))
    report(ended("not_converged", "the effective size of theta[C] is 187, not 400"))
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
    assert max(map(cell_len, text.splitlines())) < 80


def test_what_goes_to_a_file_goes_there_while_lines_are_redrawn(tmp_path: Path) -> None:
    """A program whose output is kept has its progress on the terminal and its words in the file."""
    text = on_a_terminal(step=0.1, output=tmp_path / "output")
    assert (tmp_path / "output").read_text() == "printed by a program\nTrue\n"
    assert "printed by a program" not in text
    assert text.endswith(AFTERWARDS)


def test_lines_are_drawn_again_for_the_next_run() -> None:
    """A terminal that finished starts anew, whether the run ended well or not."""
    stream = io.StringIO()
    for end in (ended(), None):
        clock = Clock()
        with Reporter(Terminal(stream), clock) as report:
            for _ in range(2):
                report(started())
                clock.now += 1.0
                report(now(chains("sampling", 90, 10)))
                if end is not None:
                    report(end)
    assert stream.getvalue().count("Converged: 4 × 500 draws") == 2
