"""Processes that go on with a run and are killed, and what the run comes to in spite of that."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from consilience.inference import Kernel, LogDensity
from consilience.run import RunPlan
from tests.run.launching import run_chains
from tests.run.support import copied, fingerprint, resumed

Story = tuple[LogDensity, Kernel, NDArray[np.float64], RunPlan]

KILLED = """
    import importlib
    import sys
    from pathlib import Path
    from consilience.run import checkpoint as checkpoints
    from tests.run.launching import launch
    from tests.run.support import finish, sleepy

    place, module, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    target, kernel, points, options = importlib.import_module(module).story(name)
    running = launch(target, sleepy(1, 0.02, kernel), points, options, seed=3, cores=2)
    if place.exists():
        _, about, state = checkpoints.read(place)
        keep = checkpoints.resume(place, {}, about, state, running.course, running.engine)
    else:
        keep = checkpoints.Checkpoint.create(place, {}, {}, overwrite=False)
    running.keep = keep
    keep.interval = 0.0
    print("begun", flush=True)
    finish(running)
    print("ended", flush=True)
"""


def killed(place: Path, module: str, name: str, seconds: float) -> bool:
    """A process that goes on with the run and is killed some time after it began; whether it ended before."""
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(place), module, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            return False


def check_kills(place: Path, story: Callable[[str], Story], name: str, times: int, longest: float) -> None:
    """Kill a run so many times; from what each kill leaves it comes to the draws of a run without any.

    story     a function of a test module that is called `story`; the processes import the module
    longest   seconds that a process has at most
    """
    target, kernel, points, options = story(name)
    expected = fingerprint(run_chains(target, kernel, points, options, seed=3))
    generator = random.Random(7)
    ended, number = True, 0
    for _ in range(times):
        if ended:  # nothing is left to kill: another run
            number += 1
        own = place / str(number)
        place.mkdir(exist_ok=True)
        ended = killed(own, story.__module__, name, generator.random() * longest)
        if own.exists():
            with copied(own) as copy:
                got = resumed(copy, target, kernel, points, options, seed=3, cores=1 + number % 3)
            assert fingerprint(got) == expected
