"""Ctrl-C on the driver: what is done is given, workers are free within seconds, and nobody prints tracebacks."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from consilience.errors import StorageError
from consilience.output.storage.study_file import StudyFile

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


def started(folder: Path) -> subprocess.Popen[str]:
    """The study, when its two workers are at endless fits."""
    command = [sys.executable, "-m", "tests.cluster.interrupted", "forkserver", str(folder)]
    run = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert run.stdout is not None
    guard = threading.Timer(60, os.killpg, (run.pid, signal.SIGKILL))
    guard.start()
    lines = [run.stdout.readline() for _ in range(2)]
    guard.cancel()
    if not all(line.startswith("at work") for line in lines):
        os.killpg(run.pid, signal.SIGKILL)
        _, told = run.communicate()
        raise AssertionError(f"{lines}: {told}")
    time.sleep(0.5)  # results of the quick ones are on their way
    return run


@pytest.mark.parametrize("whole_group", [False, True], ids=["driver alone", "terminal"])
def test_ctrl_c_ends_a_study_with_what_is_done(tmp_path: Path, whole_group: bool) -> None:
    run = started(tmp_path / "study")
    try:
        began = time.monotonic()
        # A terminal sends it to all processes of the group, workers included.
        (os.killpg if whole_group else os.kill)(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=30)
        took = time.monotonic() - began
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
    assert run.returncode == 0, err
    assert "Traceback" not in err, err
    there = re.search(r"there are \[(.+)\] and .*stopped after (\d+) of 14 fits", out)
    assert there is not None, out
    assert len(there[1].split(", ")) == int(there[2]) >= 1
    assert took < 10
    StudyFile(tmp_path / "study" / "fits.jsonl", {"study": "fits", "sampling": {}}, None, 0).close()  # nobody has it


def test_a_second_driver_is_refused_while_the_first_is_at_work(tmp_path: Path) -> None:
    run = started(tmp_path / "study")
    try:
        with pytest.raises(StorageError, match="being written by another run"):
            StudyFile(tmp_path / "study" / "fits.jsonl", {"study": "fits", "sampling": {}}, None, 0)
    finally:
        os.killpg(run.pid, signal.SIGINT)
        run.communicate(timeout=30)
