"""A run's state on disk, so that a run that was killed goes on with the draws it would have had.

One file holds the state between two segments and the windows up to then; both are written in one transaction
(`output/storage/state_file.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from consilience.errors import StorageError
from consilience.inference.messages import Divergences, Window
from consilience.output.storage import files, state_file
from consilience.record import replace
from consilience.run.course import RunCourse
from consilience.run.engine import Engine
from consilience.run.verdicts import Verdict

if TYPE_CHECKING:
    from filelock import BaseFileLock

INTERVAL: Final = 30.0  # seconds between two writings at most
SHARE: Final = 0.02  # of the time, that writing may take where it is fast
# Names in the states of earlier checkpoints, with today's.
OLDER: Final[Mapping[str, str]] = {
    "begun": "started", "apart": "separated", "first_apart": "first_separated", "no_look_before": "next_look",
    "asked_to_reparametrize": "asked_for_coordinates", "left": "revisited",
}  # fmt: skip


class Checkpoint:
    """The checkpoint of one run, made by `create` or `resume`; called as `supervisor.Keep`.

    Parameters
    ----------
    identity : mapping
        What has to be equal for a run to be resumed: names with strings or numbers.
    about : mapping
        Further things that whoever resumes the run wants to know.

    Attributes
    ----------
    fault
        Why nothing is written any more; the run goes on in memory.
    """

    def __init__(
        self, path: Path, identity: Mapping[str, Any], about: Mapping[str, Any], lock: BaseFileLock, interval: float
    ) -> None:
        self.path = path
        self.identity = dict(identity)
        self.about = dict(about)
        self.interval = interval
        self.fault: StorageError | None = None
        self._lock = lock
        self._pending: list[dict[str, Any]] = []
        self._count = 0  # blocks in the file
        self._digest: bytes | None = None  # of the state in the file; None: the file is not there yet
        self._due = 0.0  # at once: a state has to be there before anything is lost

    @classmethod
    def create(
        cls,
        path: str | Path,
        identity: Mapping[str, Any],
        about: Mapping[str, Any],
        overwrite: bool,
        interval: float = INTERVAL,
    ) -> Checkpoint:
        """A checkpoint for a new run, whose file is made with the first state.

        Raises StorageError if there is one already, unless `overwrite`; if there is something else, or if it is being
        written by another run.
        """
        place = Path(path).resolve()
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise files.failure(place, error, "nothing was changed") from error
        lock = files.lock(place)
        try:
            if place.is_dir():
                raise StorageError(f"{str(place)!r} is a directory; a checkpoint is a file. Give another path.")
            if place.exists() and not state_file.is_one(place):
                raise StorageError(f"{str(place)!r} is another kind of file; give another path.")
            if place.exists() and not overwrite:
                raise StorageError(
                    f"{str(place)!r} holds the checkpoint of another run; go on with it by "
                    f"`pm.resume({str(place)!r})`, or replace it with `pm.Save(overwrite=True)`."
                )
            files.forget_leftovers(place)
        except BaseException as error:
            lock.release()
            if isinstance(error, OSError):
                raise files.failure(place, error, "nothing was changed") from error
            raise
        return cls(place, identity, about, lock, interval)

    @classmethod
    def reopened(
        cls, path: str | Path, identity: Mapping[str, Any], about: Mapping[str, Any], state: Mapping[str, Any]
    ) -> Checkpoint:
        """That of a run that goes on, from what `read` gives."""
        place = Path(path).resolve()
        checkpoint = cls(place, identity, about, files.lock(place), INTERVAL)
        checkpoint._count, checkpoint._digest = state["blocks"], state["digest"]
        return checkpoint

    def __call__(self, course: RunCourse, engine: Engine, windows: Mapping[int, Window], last: bool) -> None:
        """Note the windows of a segment, and write if it is time to or nothing more will come."""
        if windows and self.fault is None:
            self._pending.append(_block(course, windows))
        self.keep(lambda: _state(course, engine), last)

    def keep(self, state: Callable[[], Mapping[str, Any]], last: bool) -> None:
        """Write a state of plain values, if it is time to or nothing more will come."""
        now = time.monotonic()
        if self.fault is not None or (not last and now < self._due):
            return
        try:
            self._write(state())
        except StorageError as fault:  # what is on disk stays as it is
            self.fault = fault
        spent = time.monotonic() - now
        self._due = now + min(self.interval, spent / SHARE)

    def begin_again(self, identity: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        """Keep another run from now on, which replaces the one before when its first state is written."""
        self.identity, self.about = dict(identity), dict(about)
        self._pending.clear()
        self._count, self._digest, self._due = 0, None, 0.0

    def _write(self, state: Mapping[str, Any]) -> None:
        if not self._lock.is_locked:  # a run that is extended
            self._lock = files.lock(self.path)
        contents = {"identity": self.identity, "about": self.about, "state": state}
        if self._digest is None:
            self._digest = state_file.create(self.path, contents, self._pending)
        else:
            self._digest = state_file.write(self.path, contents, self._pending, self._count, self._digest)
        self._count += len(self._pending)
        self._pending.clear()

    def close(self) -> None:
        """Let other runs have the place; a further window takes it again."""
        self._lock.release()


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Identity, `about` and state of a checkpoint; StorageError, with the reason, if there is none or it is damaged."""
    place = Path(path).resolve()
    if not place.is_file():
        raise StorageError(f"{str(place)!r} holds no checkpoint: there is no file of that name.")
    contents, count, digest = state_file.read(place)
    return contents["identity"], contents["about"], {**contents["state"], "blocks": count, "digest": digest}


def resume(
    path: str | Path,
    identity: Mapping[str, Any],
    about: Mapping[str, Any],
    state: Mapping[str, Any],
    course: RunCourse,
    engine: Engine,
) -> Checkpoint:
    """Put course and engine into the state that was read; the checkpoint goes on from there."""
    checkpoint = Checkpoint.reopened(path, identity, about, state)
    try:
        blocks = state_file.blocks(checkpoint.path, state["blocks"], state["digest"])
        _put_back(blocks, state, course, engine)
    except BaseException:
        checkpoint.close()
        raise
    return checkpoint


def _state(course: RunCourse, engine: Engine) -> dict[str, Any]:
    verdict = course.verdict
    return {
        "controller": course.save(),
        "workers": engine.save(course.living),
        "verdict": None if verdict is None else [verdict.status, verdict.reason, verdict.worst],
    }


def _put_back(blocks: Iterator[Mapping[str, Any]], state: Mapping[str, Any], course: RunCourse, engine: Engine) -> None:
    """Put course and engine into the state that was read, with the windows up to then."""
    tuning: list[dict[int, Window]] = []
    sampling: list[dict[int, Window]] = []
    attempt = len(state["controller"]["restarts"])
    for block in blocks:
        windows = {int(c): _window(saved) for c, saved in block["windows"].items()}
        if block["sampled"] and block["attempt"] == attempt:
            sampling.append(windows)
        else:
            tuning.append(windows if course.plan.keep_tuning else {c: _forgotten(w) for c, w in windows.items()})
    course.tuning_windows = tuning
    course.load(_as_now(state["controller"]), sampling)
    if state["verdict"] is not None:
        course.verdict = Verdict(*state["verdict"])
    engine.load(state["workers"])


def _as_now(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a course as it is named today."""
    attempt = saved["sampling"]
    if attempt is not None:
        renamed = {OLDER.get(name, name): value for name, value in attempt.items()}
        attempt = {"began": 0.0, "looked": False, "needs": [], **renamed}
    diverged = saved["diverged"]
    if diverged is not None and "errors" not in diverged:  # then by how many draws there were
        diverged = {**diverged, "errors": 0.0 * diverged["widths"] + (2.0 * diverged["draws"]) ** -0.5}
    later = {"spent": 0.0, "since": 0.0, "prepared": 0.0, "priced": {}, "spent_before": 0}
    return {**later, **saved, "sampling": attempt, "diverged": diverged}


def _block(course: RunCourse, windows: Mapping[int, Window]) -> dict[str, Any]:
    """Windows as plain values. Draws that became tuning keep the number of the attempt they were made in."""
    sampled = course.last_sampled
    kept = sampled or course.plan.keep_tuning
    return {
        "attempt": course.last_attempt,
        "sampled": sampled,
        "windows": {
            str(c): {
                "draws": w.draws if kept else w.draws[:0],
                "statistics": w.statistics,
                "gradients": w.gradients if sampled else None,
                "divergences": [w.divergences.transitions, w.divergences.begins, w.divergences.ends],
                "step_size": w.step_size,
                "evaluations": w.evaluations,
                "seconds": w.seconds,
            }
            for c, w in windows.items()
        },
    }


def _window(saved: Mapping[str, Any]) -> Window:
    return Window(**{**saved, "divergences": Divergences(*saved["divergences"]), "snapshot": {}})


def _forgotten(window: Window) -> Window:
    """A window of tuning as it stays where tuning draws are not kept."""
    return replace(window, draws=window.draws[:0], gradients=None)


def differences(saved: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[str]:
    """In words, what differs between a saved identity and the present one."""
    for name in sorted({*saved, *present}):
        if saved.get(name) != present.get(name):
            yield f"{name} was {saved.get(name)!r} and is {present.get(name)!r}"
