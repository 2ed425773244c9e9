"""What becomes of a run on workers when its own process is interrupted or killed, or when workers can't write."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import consilience as pm
from consilience.errors import StorageError
from tests.run.remote_driver import SETTINGS, slow
from tests.run.test_remote_chains import assert_same, drawn, normals

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The program of `remote_driver`, which has made its first draws."""
    command = [sys.executable, "-m", "tests.run.remote_driver", str(tmp_path / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "draws\n"
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its workers, too
        process.communicate()


@pytest.mark.parametrize("send", [os.kill, getattr(os, "killpg", None)], ids=["process", "terminal"])
def test_an_interrupt_ends_a_run_with_its_draws_and_frees_its_workers_within_seconds(
    driver: subprocess.Popen[str], send: Callable[[int, int], None]
) -> None:
    send(driver.pid, signal.SIGINT)
    began = time.monotonic()
    said = driver.communicate(timeout=60)[0].split("\n")
    assert time.monotonic() - began < 20
    freed, ended = said[-3:-1]
    assert float(freed) < 5
    status, draws = ended.split()
    assert status == "interrupted"
    assert 0 < int(draws) < SETTINGS["stop"].max_draws


def test_a_run_whose_driver_was_killed_goes_on_with_other_workers(
    driver: subprocess.Popen[str], tmp_path: Path
) -> None:
    driver.kill()
    driver.wait()  # its workers are left
    model = slow()
    unbroken = pm.sample(model=model, step=pm.DEMetropolisZ(), **SETTINGS)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert_same(unbroken, pm.resume(tmp_path / "run", model, executor=pool, progressbar=False))


def test_two_drivers_do_not_write_one_place(driver: subprocess.Popen[str], tmp_path: Path) -> None:
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(StorageError, match="run' is being written by another run; wait for its end"),
    ):
        drawn(normals(), executor=pool, save=pm.Save(checkpoint=tmp_path / "run", overwrite=True))


def test_workers_that_can_write_nowhere_compile_for_themselves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = normals()
    threads = drawn(model)
    nowhere = tmp_path / "file"
    nowhere.touch()
    for name in ("HOME", "XDG_CACHE_HOME", "CONSILIENCE_CACHE"):
        monkeypatch.setenv(name, str(nowhere / "beneath a file"))  # which not even root can make
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert_same(threads, drawn(model, executor=pool))
