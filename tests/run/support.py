"""Kernels with planned misfortune, and what makes two runs the same run."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.inference import NUTS, Kernel, LogDensity
from consilience.inference.columns import Columns
from consilience.inference.kernel import MarkovChain
from consilience.inference.messages import ChainTuning, Command, Divergences, Rows, Snapshot, Window
from consilience.inference.tuner import Tuner, TuningSetting
from consilience.run import Run, RunPlan, RunResult
from consilience.run import checkpoint as checkpoints
from consilience.run.checkpoint import Checkpoint
from consilience.run.course import RunCourse
from consilience.run.engine import Engine
from tests.run.launching import launch

Hook = Callable[["Watched"], None]


class EarlyChecks(RunPlan):
    """RunPlan of runs whose first check comes soon, so that short runs show what follows from several."""

    min_draws: int = 100


def fingerprint(run: RunResult) -> str:
    """A hash of every number of a run that is not a time."""
    digest = hashlib.sha256()
    arrays: list[NDArray[Any]] = [run.draws, run.warmup_draws]
    arrays += [*run.statistics.values(), *run.warmup_statistics.values()]
    arrays += [a for d in run.divergences for a in (d.transitions, d.begins, d.ends)]
    arrays += [t.variance for t in run.tuning] + [np.array([t.step_size for t in run.tuning])]
    for array in arrays:
        digest.update(repr((array.shape, array.dtype)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    others = (run.chains, run.verdict, run.restarts, run.windows, run.rank, run.notes, run.moves, run.constants)
    digest.update(repr((*others, run.tuned, run.evaluations, run.tuning_evaluations)).encode())
    return digest.hexdigest()


class Watched:
    """A chain that tells `hook` before it advances; the hook may sleep or raise."""

    def __init__(self, inner: MarkovChain, number: int, hook: Hook) -> None:
        self.inner = inner
        self.number = number
        self.hook = hook
        self.made = 0  # transitions, those of segments made anew counted again
        self.begun = 0  # those made before the present segment
        self.reseeded = 0

    @property
    def kernel(self) -> Kernel:
        return self.inner.kernel

    def begin(self, command: Command = None) -> None:
        self.inner.begin(command)

    def apply(self, command: Command) -> None:
        self.inner.apply(command)

    def write_to(self, rows: Rows) -> None:
        self.begun = self.made
        self.inner.write_to(rows)

    def advance(self, count: int) -> int:
        self.hook(self)
        made = self.inner.advance(count)
        self.made += made
        return made

    @property
    def evaluations(self) -> int:
        return self.inner.evaluations

    def divergences(self) -> Divergences:
        return self.inner.divergences()

    def tuning(self) -> ChainTuning:
        return self.inner.tuning()

    def snapshot(self) -> Snapshot:
        return self.inner.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        self.inner.restore(snapshot)

    def reseed(self, attempt: int) -> None:
        self.reseeded += 1
        self.inner.reseed(attempt)


class WatchedKernel:
    """Another kernel, whose chains tell a hook before they advance."""

    def __init__(self, hook: Hook, inner: Kernel | None = None) -> None:
        self.hook = hook
        self.inner: Kernel = NUTS() if inner is None else inner
        self.chains: list[Watched] = []
        self.numbers = itertools.count()  # chains are made on several threads

    fewest_chains = 1

    @property
    def columns(self) -> Columns:
        return self.inner.columns

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return self.inner.parts

    @property
    def joint(self) -> bool:
        return self.inner.joint

    def tuner(self, setting: TuningSetting) -> Tuner | None:
        return self.inner.tuner(setting)

    def chain(
        self, density: LogDensity, position: NDArray[np.float64], key: int, tune: int, stop: NDArray[np.int64]
    ) -> Watched:
        watched = Watched(self.inner.chain(density, position, key, tune, stop), next(self.numbers), self.hook)
        self.chains.append(watched)
        return watched


def sleepy(seed: int, longest: float = 0.004, kernel: Kernel | None = None) -> WatchedKernel:
    """Chains that sleep now and then, each as it likes."""
    generator = random.Random(seed)

    def sleep(chain: Watched) -> None:
        if generator.random() < 0.5:
            time.sleep(generator.random() * longest)

    return WatchedKernel(sleep, kernel)


def finish(running: Run) -> RunResult:
    """Start a run in this thread and wait for it."""
    running.start(background=False)
    return running.wait()


@contextlib.contextmanager
def copied(path: Path) -> Iterator[Path]:
    """A copy of the checkpoint that a killed run left, with what SQLite needs to undo a write that was cut off."""
    with tempfile.TemporaryDirectory() as folder:
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, folder)
        yield Path(folder) / path.name


class Tape:
    """A checkpoint written after every segment, of which every state is copied: a kill at each of these moments.

    moments   the copies with the name of the stage they are in
    """

    def __init__(self, path: Path) -> None:
        self.inner = Checkpoint.create(path / "live", {}, {}, overwrite=False, interval=0.0)
        self.path = path
        self.moments: list[tuple[Path, str]] = []

    def __call__(self, controller: RunCourse, engine: Engine, windows: Mapping[int, Window], last: bool, /) -> None:
        self.inner(controller, engine, windows, last)
        assert self.inner.fault is None
        copy = self.path / f"moment{len(self.moments)}"
        shutil.copy(self.path / "live", copy)
        tuner = getattr(controller.stage, "inner", controller.stage)
        stage = type(tuner).__name__
        inner = getattr(tuner, "stage", None)
        if inner is not None:
            stage = type(inner).__name__
        if getattr(inner, "searching", False):
            stage = "search"
        if controller.attempt is not None and controller.tuner.interval:
            stage = "jumps"
        if controller.verdict is not None:
            stage = "finished"
        self.moments.append((copy, stage))

    def close(self) -> None:
        self.inner.close()


def resumed(
    path: Path,
    density: LogDensity,
    kernel: Kernel,
    points: Any,
    options: RunPlan,
    *,
    seed: int,
    cores: int | None = None,
    starts: Any = None,
) -> RunResult:
    """The end of a run whose checkpoint is there."""
    _, about, state = checkpoints.read(path)
    running = launch(density, kernel, points, options, seed=seed, cores=cores, starts=starts)
    running.keep = checkpoints.resume(path, {}, about, state, running.course, running.engine)
    return finish(running)
