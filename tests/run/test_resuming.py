"""A run that was cut off anywhere goes on, bit for bit, as if it had never been."""

from __future__ import annotations

import contextlib
import math
import os
import random
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.errors import StorageError
from consilience.inference import NUTS, HamiltonianMC, Kernel, Metropolis
from consilience.inference.messages import Matrix, Stopped, Window
from consilience.record import replace
from consilience.run import DrawsMade, Monitored, RunResult
from consilience.run import checkpoint as checkpoints
from consilience.run.checkpoint import Checkpoint
from consilience.run.course import RunCourse
from consilience.run.engine import Engine
from tests.inference.targets import Target, correlated, correlated_normal, funnel
from tests.run.kills import Story, check_kills
from tests.run.launching import launch, run_chains
from tests.run.support import EarlyChecks, Tape, Watched, WatchedKernel, fingerprint, finish, resumed, sleepy
from tests.run.targets import far_below, two_normals

Floats = NDArray[np.float64]

FUNNEL = Target(funnel, 4, np.zeros(4), np.ones(4))
NORMAL = correlated_normal(5, 1)
MODES = Target(two_normals, 2, np.zeros(2), np.ones(2), number=12.0)


def turned() -> Target:
    """Forty scales along directions of no coordinate."""
    rng = np.random.default_rng(1)
    axes, _ = np.linalg.qr(rng.standard_normal((40, 40)))
    variances = np.exp(rng.uniform(-5.0, 5.0, 40))
    deviation = np.sqrt(np.diag(axes * variances @ axes.T))
    return Target(correlated, 40, np.zeros(40), deviation, (axes / variances) @ axes.T)


TURNED = turned()
LOW = StoppingRule(target_ess=50.0)
STORIES: dict[str, tuple[Target, Kernel, EarlyChecks, set[str]]] = {
    "plain": (NORMAL, NUTS(), EarlyChecks(), {"PooledTuning", "search", "Attempt", "finished"}),
    "continued": (NORMAL, NUTS(), EarlyChecks(rule=StoppingRule(target_ess=3000.0)), {"Attempt", "finished"}),
    "fixed": (NORMAL, NUTS(), EarlyChecks(draws=120, tune=100, keep_tuning=True), {"PooledTuning", "Attempt"}),
    "retuned": (FUNNEL, NUTS(), EarlyChecks(max_draws=250, rule=LOW), {"Retuning", "Attempt"}),
    "retuned, all kept": (FUNNEL, NUTS(), EarlyChecks(max_draws=250, rule=LOW, keep_tuning=True), {"Retuning"}),
    "retuned alone": (FUNNEL, NUTS(), EarlyChecks(max_draws=250, tune=150, pool=False, rule=LOW), {"Retuning"}),
    "metric": (
        TURNED,
        NUTS(initialize=False),
        EarlyChecks(max_tune=1, max_draws=300, rule=LOW),
        {"Retuning"},
    ),
    "jumps": (MODES, NUTS(jumps=3), EarlyChecks(max_draws=220), {"jumps", "finished"}),
    "alone": (NORMAL, NUTS(), EarlyChecks(pool=False, tune=600, draws=150), {"SelfTuning", "Attempt"}),
    "hmc": (NORMAL, HamiltonianMC(), EarlyChecks(tune=300, max_draws=200), {"SelfTuning", "Attempt"}),
    "metropolis": (NORMAL, Metropolis(), EarlyChecks(tune=300, draws=500), {"SelfTuning", "Attempt"}),
}


def points(dimension: int, chains: int = 4) -> Floats:
    return np.random.default_rng(0).uniform(-2.0, 2.0, (chains, dimension))


def taped(path: Path, target: Target, kernel: Kernel, options: EarlyChecks, seed: int = 3) -> tuple[RunResult, Tape]:
    """An unbroken run, with its checkpoint at every moment."""
    tape = Tape(path)
    run = finish(launch(target, kernel, points(target.dimension), options, seed=seed, cores=2, keep=tape))
    return run, tape


@pytest.mark.parametrize("story", STORIES)
def test_a_run_cut_off_after_any_segment_goes_on_as_it_would_have(story: str, tmp_path: Path) -> None:
    """In every stage, with another number of threads, from the checkpoint of every segment."""
    target, kernel, options, stages = STORIES[story]
    unbroken, tape = taped(tmp_path, target, kernel, options)
    assert fingerprint(unbroken) == fingerprint(
        run_chains(target, kernel, points(target.dimension), options, seed=3)
    )  # the checkpoint itself changes nothing
    assert stages <= {stage for _, stage in tape.moments}
    for number, (path, stage) in enumerate(tape.moments):
        got = resumed(path, target, kernel, points(target.dimension), options, seed=3, cores=1 + number % 4)
        assert fingerprint(got) == fingerprint(unbroken), (number, stage)


def test_windows_are_read_as_the_attempt_keeps_them(tmp_path: Path) -> None:
    """Without gradients that chains computed ahead, by chance of timing: a later metric would be learned from them."""

    def kept(course: RunCourse) -> list[dict[int, Matrix | None]]:
        return (
            [] if course.attempt is None else [{c: w.gradients for c, w in s.items()} for s in course.attempt.windows]
        )

    class Looking(Tape):
        def __call__(self, course: RunCourse, engine: Engine, windows: Mapping[int, Window], last: bool, /) -> None:
            super().__call__(course, engine, windows, last)
            seen.append(kept(course))

    seen: list[list[dict[int, Matrix | None]]] = []
    options, tape = EarlyChecks(min_draws=400, rule=StoppingRule(target_ess=3000.0)), Looking(tmp_path)
    finish(launch(NORMAL, NUTS(), points(5), options, seed=3, cores=2, keep=tape))
    assert max(map(len, seen)) > 3
    for (path, _), expected in zip(tape.moments, seen, strict=True):
        _, about, state = checkpoints.read(path)
        running = launch(NORMAL, NUTS(), points(5), options, seed=3)
        checkpoints.resume(path, {}, about, state, running.course, running.engine).close()
        for found, own in zip(kept(running.course), expected, strict=True):
            for c, gradients in own.items():
                np.testing.assert_array_equal(found[c], gradients)  # type: ignore[arg-type]  # None is None


def test_starting_points_do_not_matter_once_a_state_is_there(tmp_path: Path) -> None:
    """A resumed run takes nothing from where its chains are made."""
    unbroken, tape = taped(tmp_path, NORMAL, NUTS(), EarlyChecks())
    elsewhere = points(5) + 1000.0
    got = resumed(tape.moments[0][0], NORMAL, NUTS(), elsewhere, EarlyChecks(), seed=3)
    assert fingerprint(got) == fingerprint(unbroken)


@pytest.mark.parametrize("reason", ["stop", "max_time", "exception"])
def test_what_ends_a_run_early_does_not_end_it_for_good(reason: str, tmp_path: Path) -> None:
    """Stopped again and again, at whatever moment, it comes to the same draws."""
    whole = EarlyChecks(rule=StoppingRule(target_ess=1e9), max_draws=1200)
    generator = random.Random(5)
    calls_left = math.inf

    def derive(draws: Floats) -> Floats:
        nonlocal calls_left
        calls_left -= 1
        if calls_left < 0:
            raise RuntimeError("the machine is on fire")
        return draws[:, :1] ** 2

    monitored = Monitored(("a", "b", "c", "d", "e"), ("a²",), derive)
    unbroken = run_chains(NORMAL, NUTS(), points(5), whole, seed=3, monitored=monitored)
    keep = Checkpoint.create(tmp_path / "c", {}, {}, overwrite=False, interval=0.0)
    ended = 0
    for _ in range(200):
        # a limit that grows: a slow machine comes to the end too
        options = replace(whole, max_time=0.02 * (ended + 1) if reason == "max_time" else None)
        kernel = sleepy(generator.randint(0, 99), 0.002)
        cores = 1 + ended % 4
        calls_left = math.inf
        running = launch(NORMAL, kernel, points(5), options, seed=3, cores=cores, monitored=monitored)
        if ended:
            _, about, state = checkpoints.read(tmp_path / "c")
            keep = checkpoints.resume(tmp_path / "c", {}, about, state, running.course, running.engine)
            keep.interval = 0.0
        running.keep = keep
        if reason == "exception":
            calls_left = generator.randint(0, 12)
        running.start(background=True)
        if reason == "stop":
            time.sleep(generator.random() * 0.02 * (ended + 1))
            running.stop()
        with contextlib.suppress(RuntimeError):
            run = running.wait()
            if running.course.verdict is not None:
                break
        ended += 1
    else:
        pytest.fail("the run never came to its end")
    assert ended > 0
    np.testing.assert_array_equal(run.draws, unbroken.draws)
    np.testing.assert_array_equal(run.statistics["energy"], unbroken.statistics["energy"])
    assert run.windows == unbroken.windows
    assert run.evaluations == unbroken.evaluations
    assert run.verdict.worst == unbroken.verdict.worst


@pytest.mark.parametrize("reason", ["stop", "max_time"])
def test_a_long_look_at_draws_ends_with_the_run_and_is_made_anew(reason: str, tmp_path: Path) -> None:
    """The draws that were looked at stay; extended or resumed, the run comes to the end of one that was not stopped."""
    flag, looking, patient = np.zeros(1, np.int64), threading.Event(), True

    def missed(draws: Floats, quotient: object) -> str:
        looking.set()
        while not (patient or flag[0]):
            time.sleep(0.001)
        if not patient:
            raise Stopped
        return ""

    monitored = Monitored(("a", "b", "c", "d", "e"), missed=missed, stop=flag)
    unbroken = run_chains(NORMAL, NUTS(), points(5), EarlyChecks(), seed=3, monitored=monitored)
    assert looking.is_set()
    looking.clear()
    patient = False
    keep = Checkpoint.create(tmp_path / "c", {}, {}, overwrite=False, interval=0.0)
    plan = EarlyChecks(max_time=3.0 if reason == "max_time" else None)
    events: list[object] = []
    running = launch(NORMAL, NUTS(), points(5), plan, seed=3, keep=keep, monitored=monitored, listeners=[events.append])
    running.start(background=True)
    if reason == "stop":
        assert looking.wait(60.0)
        running.stop()
    run = running.wait(60.0)
    count = unbroken.draws.shape[1]
    assert run.verdict.status == ("interrupted" if reason == "stop" else "not_converged")
    assert f"; the first {count} draws of each chain are kept" in run.verdict.reason
    np.testing.assert_array_equal(run.draws, unbroken.draws)
    assert sum(event.draws.shape[1] for event in events if isinstance(event, DrawsMade)) == count
    patient = True
    extended = finish(running.again(EarlyChecks(), []))
    np.testing.assert_array_equal(extended.draws, unbroken.draws)
    assert extended.verdict == unbroken.verdict
    running = launch(NORMAL, NUTS(), points(5), EarlyChecks(), seed=3, monitored=monitored)
    _, about, state = checkpoints.read(tmp_path / "c")
    running.keep = checkpoints.resume(tmp_path / "c", {}, about, state, running.course, running.engine)
    assert fingerprint(finish(running)) == fingerprint(unbroken)


def test_an_extended_run_is_kept_too(tmp_path: Path) -> None:
    """Its checkpoint goes on after the first end, and holds the longer run."""
    first, second = EarlyChecks(rule=StoppingRule(target_ess=100.0)), EarlyChecks(rule=StoppingRule(target_ess=900.0))
    keep = Checkpoint.create(tmp_path / "c", {}, {}, overwrite=False, interval=0.0)
    running = launch(NORMAL, NUTS(), points(5), first, seed=3, keep=keep)
    finish(running)
    longer = finish(running.again(second, []))
    assert keep.fault is None
    got = resumed(tmp_path / "c", NORMAL, NUTS(), points(5), second, seed=3)
    assert fingerprint(got) == fingerprint(longer)
    assert fingerprint(got) == fingerprint(run_chains(NORMAL, NUTS(), points(5), second, seed=3))


@pytest.mark.parametrize("failing", [1, 2])
def test_faults_are_remembered(failing: int, tmp_path: Path) -> None:
    """A chain that failed once before the cut has one restart behind it; one that was left out stays out."""

    def kernel() -> WatchedKernel:
        return WatchedKernel(lambda chain: None)

    def hook(chain: Watched) -> None:
        if chain.number == 2 and chain.made > 40 and chain.reseeded < failing:
            raise RuntimeError("by chance")

    tape = Tape(tmp_path)
    options = EarlyChecks(rule=StoppingRule(target_ess=1e9), max_draws=200)
    unbroken = finish(launch(NORMAL, WatchedKernel(hook), points(5), options, seed=3, cores=2, keep=tape))
    assert len(unbroken.notes) == failing
    assert unbroken.chains == ((0, 1, 2, 3) if failing == 1 else (0, 1, 3))
    told = 0
    for path, _ in tape.moments:
        got = resumed(path, NORMAL, kernel(), points(5), options, seed=3)
        if got.notes:  # else the cut was before the fault, which does not happen again here
            told += 1
            assert fingerprint(got) == fingerprint(unbroken)
    assert told > 3


@pytest.mark.parametrize("elsewhere", [True, False])
def test_chains_that_went_on_elsewhere_are_remembered(elsewhere: bool, tmp_path: Path) -> None:
    """At another starting point, or where another chain was, wherever the run was cut."""
    target = Target(far_below, 2, np.zeros(2), np.ones(2), number=60.0)
    begin = np.array([[0.1, 0.2], [0.3, -0.1], [-0.2, 0.5], [60.0, 0.1]])
    starts = (lambda chain, time: np.array([1.0, -1.0])) if elsewhere else None
    tape, options = Tape(tmp_path), EarlyChecks(rule=StoppingRule(target_ess=100.0))
    unbroken = finish(launch(target, NUTS(), begin, options, seed=1, cores=2, keep=tape, starts=starts))
    assert len(unbroken.moves) == 1
    for path, _ in tape.moments:
        got = resumed(path, target, NUTS(), begin, options, seed=1, starts=starts)
        assert fingerprint(got) == fingerprint(unbroken)


def test_a_restart_that_was_not_finished_does_not_count_twice(tmp_path: Path) -> None:
    """Stopped in the segment in which a chain was restarted: it is made anew, with the same fault."""

    # At the beginning of a segment, the second one of the run: where in a segment a chain is asked is a matter of time.
    def kernel(before: int, stop: Any = None) -> WatchedKernel:
        def hook(chain: Watched) -> None:
            if chain.number == 1 and chain.begun >= before and not chain.reseeded:
                raise RuntimeError("by chance")
            if stop is not None and chain.number == 1 and chain.reseeded:
                stop()

        return WatchedKernel(hook)

    options = EarlyChecks(rule=StoppingRule(target_ess=1e9), max_draws=200)
    unbroken = run_chains(NORMAL, kernel(1), points(5), options, seed=3)
    keep = Checkpoint.create(tmp_path / "c", {}, {}, overwrite=False)
    running = launch(NORMAL, kernel(1, lambda: running.stop()), points(5), options, seed=3, cores=1, keep=keep)
    cut = finish(running)
    assert cut.interrupted
    got = resumed(tmp_path / "c", NORMAL, kernel(0), points(5), options, seed=3)
    assert got.chains == (0, 1, 2, 3)
    assert (got.notes, got.moves) == (unbroken.notes, unbroken.moves)
    assert len(got.moves) == 1
    np.testing.assert_array_equal(got.draws[0], unbroken.draws[0])


# --- kill -9 -----------------------------------------------------------------------------------------------------


def story(name: str) -> Story:
    """One of the stories, as processes take it that are killed."""
    target, kernel, options, _ = STORIES[name]
    return target, kernel, points(target.dimension), options


@pytest.mark.skipif(os.name == "nt", reason="kill works differently there")
def test_killed_at_random_moments_and_resumed(tmp_path: Path) -> None:
    check_kills(tmp_path / "c", story, "retuned", 4, 0.2)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kill works differently there")
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", ["plain", "retuned", "jumps", "alone"])
def test_killed_at_many_random_moments_and_resumed(name: str, tmp_path: Path) -> None:
    """25 kills of each: the run goes on from the state the one before left."""
    check_kills(tmp_path / "c", story, name, 25, 0.3)


# --- damage ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a run that was cut off."""
    _, tape = taped(tmp_path_factory.mktemp("sound"), NORMAL, NUTS(), EarlyChecks())
    return next(path for path, stage in tape.moments if stage == "Attempt")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.5, 0.9, 0.999, 0.99999])
def test_truncated_checkpoints_are_refused_and_left_as_they_are(sound: Path, share: float, tmp_path: Path) -> None:
    whole = sound.read_bytes()
    part = whole[: min(int(len(whole) * share), len(whole) - 1)]
    (tmp_path / "c").write_bytes(part)
    with pytest.raises(StorageError, match=r"c' is .*truncated"):
        resumed(tmp_path / "c", NORMAL, NUTS(), points(5), EarlyChecks(), seed=3)
    assert (tmp_path / "c").read_bytes() == part


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.7, 0.9])
def test_changed_bytes_are_noticed(sound: Path, share: float, tmp_path: Path) -> None:
    changed = bytearray(sound.read_bytes())
    place = int(len(changed) * share)
    for number in range(place, place + 8):
        changed[number] ^= 1
    (tmp_path / "c").write_bytes(changed)
    with pytest.raises(StorageError, match=r"c' is .*damaged"):
        resumed(tmp_path / "c", NORMAL, NUTS(), points(5), EarlyChecks(), seed=3)
    assert (tmp_path / "c").read_bytes() == changed


def test_places_that_are_no_place_for_a_checkpoint(sound: Path, tmp_path: Path) -> None:
    """Another run's, a directory, a file of something else: refused with the reason, and nothing is touched."""
    shutil.copy(sound, tmp_path / "other")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "directory").mkdir()
    for name, message in [
        ("other", "holds the checkpoint of another run.*overwrite=True"),
        ("file", "is another kind of file"),
        ("directory", "is a directory; a checkpoint is a file"),
    ]:
        place = tmp_path / name
        before = place.is_file() and place.read_bytes()
        with pytest.raises(StorageError, match=message):
            Checkpoint.create(place, {}, {}, overwrite=name != "other")
        assert (place.is_file() and place.read_bytes()) == before
    Checkpoint.create(tmp_path / "other", {}, {}, overwrite=True).close()
    assert (tmp_path / "other").read_bytes() == sound.read_bytes()  # until the new run has a state
    (tmp_path / "empty").touch()
    Checkpoint.create(tmp_path / "empty", {}, {}, overwrite=True).close()
    for name, message in [
        ("empty", "is no checkpoint of this library, or truncated"),
        ("file", "is truncated or damaged .file is not a database"),
        ("nowhere", "holds no checkpoint: there is no file"),
    ]:
        with pytest.raises(StorageError, match=message):
            checkpoints.read(tmp_path / name)


def test_one_run_at_a_time_has_a_checkpoint(sound: Path, tmp_path: Path) -> None:
    """A second one, new or resumed, is refused; a run that goes on after another took the place writes nothing."""
    shutil.copy(sound, tmp_path / "c")
    _, about, state = checkpoints.read(tmp_path / "c")
    running = launch(NORMAL, NUTS(), points(5), EarlyChecks(), seed=3)
    controller, engine = running.course, running.engine
    first = checkpoints.resume(tmp_path / "c", {}, about, state, controller, engine)
    for attempt in (
        lambda: Checkpoint.create(tmp_path / "c", {}, {}, overwrite=True),
        lambda: checkpoints.resume(tmp_path / "c", {}, about, state, controller, engine),
    ):
        with pytest.raises(StorageError, match="is being written by another run"):
            attempt()
    first.close()
    second = Checkpoint.create(tmp_path / "c", {}, {}, overwrite=True)
    second(controller, engine, {}, last=True)
    assert second.fault is None
    second.close()
    before = (tmp_path / "c").read_bytes()
    first(controller, engine, {}, last=True)
    first.close()
    assert "was written by another run meanwhile" in str(first.fault)
    with pytest.raises(StorageError, match="was written by another run meanwhile"):
        checkpoints.resume(tmp_path / "c", {}, about, state, controller, engine)
    assert (tmp_path / "c").read_bytes() == before


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="a place nobody can write to")
def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"could not be written"):
        Checkpoint.create("/proc/checkpoint", {}, {}, overwrite=False)


def test_a_disk_that_fails_on_the_way_ends_the_checkpoint_not_the_run(tmp_path: Path) -> None:
    """The file vanishes while the run goes on: the fault is kept, the draws are complete."""
    keep = Checkpoint.create(tmp_path / "folder" / "c", {}, {}, overwrite=False, interval=0.0)
    running = launch(NORMAL, NUTS(), points(5), EarlyChecks(), seed=3, keep=keep)

    def vanish(event: object) -> None:
        if isinstance(event, DrawsMade):
            shutil.rmtree(tmp_path / "folder", ignore_errors=True)

    running.listeners.add([vanish])
    running.send = running.listeners.send  # in step with the run
    run = finish(running)
    assert isinstance(keep.fault, StorageError)
    plain = run_chains(NORMAL, NUTS(), points(5), EarlyChecks(), seed=3)
    assert fingerprint(run) == fingerprint(plain)


def test_differences_are_told_one_by_one() -> None:
    saved = {"model": "a", "seed": 1, "chains": 4}
    assert list(checkpoints.differences(saved, saved)) == []
    told = list(checkpoints.differences(saved, {"model": "b", "seed": 1, "version": "2"}))
    assert told == ["'chains' was 4 and is None", "model was 'a' and is 'b'", "version was None and is '2'"]
