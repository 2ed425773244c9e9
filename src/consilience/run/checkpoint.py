"""A run's state on disk, so that a run that was killed goes on with the draws it would have had.

A directory holds a sealed file with the state between two rounds and a log of the windows up to then. The log is
written first, the sealed file, which says how much of the log counts, replaced after: whatever happens between,
the two that are there belong together.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from consilience.errors import StorageError
from consilience.inference.messages import Divergences, Window
from consilience.record import replace
from consilience.run.course import Course
from consilience.run.lanes import Lane
from consilience.run.stopping import Verdict
from consilience.storage.draw_log import DrawLog
from consilience.storage.lock import Lock
from consilience.storage.sealed import seal, unseal

STATE: Final = "state.sealed"
LOG: Final = "windows.log"
INTERVAL: Final = 30.0  # seconds between two writings at most
SHARE: Final = 0.02  # of the time, that writing may take where it is fast


class Checkpoint:
    """The checkpoint of one run; called as `supervisor.Keep`.

    identity   what has to be equal for a run to be resumed: names with strings or numbers
    about      further things that whoever resumes the run wants to know
    """

    def __init__(
        self,
        path: Path,
        identity: Mapping[str, Any],
        about: Mapping[str, Any],
        log: DrawLog,
        lock: Lock,
        interval: float = INTERVAL,
    ) -> None:
        self.path = path
        self.lock = lock
        self.identity = dict(identity)
        self.about = dict(about)
        self.log = log
        self.interval = interval
        self._closed = False
        self._pending: list[dict[str, NDArray[Any]]] = []
        self._due = 0.0  # at once: a state has to be there before anything is lost
        self.fault: StorageError | None = None

    @classmethod
    def create(
        cls,
        path: str | Path,
        identity: Mapping[str, Any],
        about: Mapping[str, Any],
        overwrite: bool,
        interval: float = INTERVAL,
    ) -> Checkpoint:
        """A checkpoint for a new run; StorageError if there is one already, unless `overwrite`."""
        place = Path(path)
        if place.exists() and not place.is_dir():
            raise StorageError(f"{str(place)!r} is a file; a checkpoint is a directory. Give another path.")
        if place.is_dir() and not (place / STATE).exists() and not (place / LOG).exists() and any(place.iterdir()):
            raise StorageError(f"{str(place)!r} is a directory with other things in it; give another path.")
        if (place / STATE).exists() and not overwrite:
            raise StorageError(
                f"{str(place)!r} holds the checkpoint of another run; go on with it by `pm.resume({str(place)!r})`, "
                "or replace it with `overwrite=True`."
            )
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"the directory {str(place)!r} for the checkpoint cannot be written: {error}."
            ) from error
        lock = Lock.acquire(place.resolve())
        try:
            log = DrawLog.create(place / LOG, {}, overwrite=True)
            (place / STATE).unlink(missing_ok=True)
        except BaseException:
            lock.release()
            raise
        return cls(place, identity, about, log, lock, interval)

    def __call__(self, course: Course, lanes: list[Lane], windows: Mapping[int, Window], last: bool) -> None:
        """Note the windows of a round, and write if it is time to or nothing more will come."""
        if self.fault is not None:
            return
        if windows:
            self._pending.append(_block(course, windows))
        now = time.monotonic()
        if not last and now < self._due:
            return
        try:
            self._write(course, lanes)
        except StorageError as fault:  # the run goes on in memory; what is on disk stays as it is
            self.fault = fault
        spent = time.monotonic() - now
        self._due = now + min(self.interval, spent / SHARE)

    def _write(self, course: Course, lanes: list[Lane]) -> None:
        if self._closed and self._pending:  # a run that is extended
            self.lock = Lock.acquire(self.path.resolve())
            self.log = DrawLog.open(self.path / LOG, self.log.length)
            self._closed = False
        while self._pending:
            self.log.append(self._pending[0])
            del self._pending[0]
        verdict = course.verdict
        state = {
            "course": course.save(),
            "lanes": [
                {
                    "snapshot": lane.snapshot,
                    "after": list(lane.after),
                    # those of a round that will be made anew will come again
                    "failures": lane.failures[: lane.settled_failures]
                    if lane.index in course.living
                    else lane.failures,
                    "lost": lane.index not in course.living,
                    "seconds": lane.seconds,
                }
                for lane in lanes
            ],
            "verdict": None if verdict is None else [verdict.status, verdict.reason, verdict.worst],
            "log": self.log.length,
        }
        arrays: dict[str, NDArray[Any]] = {}
        seal(
            self.path / STATE,
            {"identity": self.identity, "about": self.about, "state": _without_arrays(state, arrays)},
            arrays,
        )

    def close(self) -> None:
        """Close the log; a further window opens it again."""
        self.log.close()
        self.lock.release()
        self._closed = True


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Identity, `about` and state of a checkpoint; StorageError, with the reason, if there is none or it is damaged."""
    place = Path(path)
    if not (place / STATE).exists():
        raise StorageError(f"{str(place)!r} holds no checkpoint: there is no file {STATE!r} in it.")
    header, arrays = unseal(place / STATE)
    state: dict[str, Any] = _with_arrays(header["state"], arrays)
    return header["identity"], header["about"], state


def resume(
    path: str | Path,
    identity: Mapping[str, Any],
    about: Mapping[str, Any],
    state: Mapping[str, Any],
    course: Course,
    lanes: list[Lane],
) -> Checkpoint:
    """Put course and chains into the state that was read; the checkpoint goes on from there."""
    place = Path(path)
    lock = Lock.acquire(place.resolve())
    try:
        log = DrawLog.open(place / LOG, state["log"])
        try:
            _put_back(log, state, course, lanes)
        except BaseException:
            log.close()
            raise
    except BaseException:
        lock.release()
        raise
    return Checkpoint(place, identity, about, log, lock)


def _put_back(log: DrawLog, state: Mapping[str, Any], course: Course, lanes: list[Lane]) -> None:
    """Put course and chains into the state that was read, with the windows of the log."""
    tuning: list[dict[int, Window]] = []
    sampling: list[dict[int, Window]] = []
    attempt = len(state["course"]["restarts"])
    for block in log.blocks():
        number, phase = (int(v) for v in block["what"])
        windows = {int(c): _window(block, int(c)) for c in block["chains"]}
        if phase == 1 and number == attempt:
            sampling.append(windows)
        else:
            tuning.append(windows if course.options.keep_tuning else {c: _forgotten(w) for c, w in windows.items()})
    course.tuning_windows = tuning
    course.load(state["course"], sampling)
    if state["verdict"] is not None:
        course.verdict = Verdict(*state["verdict"])
    for lane, saved in zip(lanes, state["lanes"], strict=True):
        lane.snapshot = saved["snapshot"]
        lane.after = (saved["after"][0], saved["after"][1])
        lane.total = lane.after[0]
        lane.failures = list(saved["failures"])
        lane.settled_failures = len(lane.failures)
        lane.lost = saved["lost"]
        lane.seconds = saved["seconds"]
        if lane.snapshot is not None:
            lane.chain.restore(lane.snapshot)


def _block(course: Course, windows: Mapping[int, Window]) -> dict[str, NDArray[Any]]:
    """Windows as arrays. Draws that became tuning keep the number of the attempt they were made in."""
    sampled = course.last_sampled
    block: dict[str, NDArray[Any]] = {
        "what": np.array([course.last_attempt, int(sampled)]),
        "chains": np.array(list(windows), np.int64),
    }
    for c, w in windows.items():
        draws = w.draws if sampled or course.options.keep_tuning else w.draws[:0]
        block |= {
            f"{c}.draws": draws,
            f"{c}.statistics": w.statistics,
            f"{c}.numbers": np.array([w.step_size, float(w.evaluations), w.seconds]),
            f"{c}.transitions": w.divergences.transitions,
            f"{c}.begins": w.divergences.begins,
            f"{c}.ends": w.divergences.ends,
        }
        if sampled and w.gradients is not None:
            block[f"{c}.gradients"] = w.gradients
    return block


def _window(block: Mapping[str, NDArray[Any]], c: int) -> Window:
    step_size, evaluations, seconds = block[f"{c}.numbers"].tolist()
    return Window(
        draws=block[f"{c}.draws"],
        statistics=block[f"{c}.statistics"],
        gradients=block.get(f"{c}.gradients"),
        divergences=Divergences(block[f"{c}.transitions"], block[f"{c}.begins"], block[f"{c}.ends"]),
        step_size=step_size,
        evaluations=int(evaluations),
        seconds=seconds,
        snapshot={},
    )


def _forgotten(window: Window) -> Window:
    """A window of tuning as it stays where tuning draws are not kept."""
    return replace(window, draws=window.draws[:0], gradients=None)


ARRAY: Final = "array "  # marks where an array was


def _without_arrays(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Dictionaries, lists and numbers, with a name in place of every array."""
    if isinstance(value, np.ndarray):
        name = f"{ARRAY}{len(arrays)}"
        arrays[name] = value
        return name
    if isinstance(value, Mapping):
        return {key: _without_arrays(inner, arrays) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(inner, arrays) for inner in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, int) and type(value) is not int and type(value) is not bool:
        return int(value)  # an enumeration
    return value


def _with_arrays(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if isinstance(value, str) and value.startswith(ARRAY):
        return arrays[value]
    if isinstance(value, dict):
        return {key: _with_arrays(inner, arrays) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_arrays(inner, arrays) for inner in value]
    return value


def differences(saved: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[str]:
    """In words, what differs between a saved identity and the present one."""
    for name in sorted({*saved, *present}):
        if saved.get(name) != present.get(name):
            yield f"{name} was {saved.get(name)!r} and is {present.get(name)!r}"
