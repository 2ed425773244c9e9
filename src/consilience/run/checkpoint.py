"""A run's state on disk, so that a run that was killed goes on with the draws it would have had.

One file holds the state between two segments and the windows up to then; both are written in one transaction
(`output/storage/state_file.py`). A file may come from anywhere: what it says is checked before a run is made of it, and
the only path in it, that of the store, is meant relative to where the file lies.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np

from consilience.errors import ConsilienceError, StorageError
from consilience.events import CheckFigures, Status
from consilience.inference.messages import Divergences, JointWindows, Window, without_draws
from consilience.native import blas, target
from consilience.output.storage import files, state_file
from consilience.output.storage.plain_values import quoted
from consilience.record import as_plain
from consilience.run.attempt import Attempt
from consilience.run.course import RunCourse
from consilience.run.engine import Engine
from consilience.run.verdicts import Verdict

if TYPE_CHECKING:
    from filelock import BaseFileLock

INTERVAL: Final = 30.0  # seconds between two writings at most
SHARE: Final = 0.02  # of the time, that writing may take where it is fast
MOST_SHOWN: Final = 1000  # characters of a value that differs
FIGURES: Final = as_plain(CheckFigures(0, 0.0, "", 0.0, "", 0.0, 0.0, 0, True, nearest=(("", 0.0, 0.0),)))
KEPT: Final = (
    "draws",
    "statistics",
    "step_size",
    "evaluations",
    "seconds",
)  # of windows, beside gradients and divergences


class Checkpoint:
    """The checkpoint of one run, made by `create` or `resume`; called as `run.Keep`.

    `identity`: what has to be equal for a run to be resumed: names with strings or numbers. `about`: further things
    that whoever resumes the run wants to know; `store` is a path. `run`: a name that no other run has: its store has
    the same. `fault`: why nothing is written any more; the run goes on in memory.
    """

    def __init__(
        self,
        path: Path,
        identity: Mapping[str, Any],
        about: Mapping[str, Any],
        lock: BaseFileLock,
        interval: float,
        run: str,
    ) -> None:
        self.path = path
        self.run = run
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
        return cls(place, identity, about, lock, interval, new_name())

    @classmethod
    def reopened(
        cls, path: str | Path, identity: Mapping[str, Any], about: Mapping[str, Any], state: Mapping[str, Any]
    ) -> Checkpoint:
        """That of a run that goes on, from what `read` gives."""
        place = Path(path).resolve()
        checkpoint = cls(place, identity, about, files.lock(place), INTERVAL, state["run"])
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

    def note_options(self, options: Mapping[str, Any]) -> None:
        """Have the run identified by what is asked of it now."""
        self.identity["options"] = dict(options)

    def _write(self, state: Mapping[str, Any]) -> None:
        if not self._lock.is_locked:  # a run that is extended
            self._lock = files.lock(self.path)
        about = {**self.about, "store": _as_seen_from(self.path.parent, self.about.get("store"))}
        contents = {
            "identity": self.identity, "about": about, "state": state, "run": self.run, "arithmetic": arithmetic(),
        }  # fmt: skip
        if self._digest is None:
            self._digest = state_file.create(self.path, contents, self._pending)
        else:
            self._digest = state_file.write(self.path, contents, self._pending, self._count, self._digest)
        self._count += len(self._pending)
        self._pending.clear()

    def close(self) -> None:
        """Let other runs have the place; a further window takes it again."""
        self._lock.release()


def new_name() -> str:
    """A name for a run, which no other has."""
    return os.urandom(16).hex()


def arithmetic() -> list[str]:
    """What decides the last bits of numbers, beside versions and the width of vectors: of machine code, and of BLAS."""
    return [target.host().cpu, blas.kernel()]


def _as_seen_from(folder: Path, store: str | None) -> str | None:
    """The path of a store as a checkpoint has it: relative where it is below the folder, so that both may move."""
    if store is None:
        return None
    place = Path(store).resolve()
    return os.path.relpath(place, folder) if place.is_relative_to(folder) else str(place)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Identity, `about` and state of a checkpoint; StorageError, with the reason, if there is none or it is damaged."""
    place = Path(path).resolve()
    if not place.is_file():
        raise StorageError(f"{str(place)!r} holds no checkpoint: there is no file of that name.")
    contents, count, digest = state_file.read(place)
    with understood(place):
        identity, about, state = (dict(contents[name]) for name in ("identity", "about", "state"))
        _check(identity, state)
        for part in (identity, about, contents.get("arithmetic")):
            json.dumps(part)  # no arrays: what is compared and shown is text and numbers
        store = about.get("store")
        if store is not None:
            about["store"] = str((place.parent / str(store)).resolve())
        state |= {"run": str(contents.get("run", "")), "arithmetic": list(contents.get("arithmetic", []))}
    return identity, about, {**state, "blocks": count, "digest": digest}


def _check(identity: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """What everything else is read by; KeyError, TypeError or ValueError where it is not as it is written here."""
    parts = state["populations"] if "populations" in state else state["workers"]
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise TypeError("its chains are no list of states")
    for name in ("chains", "seed"):
        if name in identity and type(identity[name]) is not int:
            raise TypeError(f"{name} is {quoted(identity[name])}, and no whole number")
    count = sum(part.get("chains", 1) for part in parts)  # chains that move together have one state
    if identity.get("chains", count) != count:
        raise ValueError(f"{count} chains are there, and not {identity['chains']}")
    verdict = state.get("verdict")
    if verdict is not None and (
        not isinstance(verdict, list)
        or [type(part) for part in verdict] != [str, str, str, bool]
        or verdict[0] not in get_args(Status)
    ):
        raise ValueError(f"the verdict {quoted(verdict)} is none")


@contextmanager
def understood(path: str | Path) -> Iterator[None]:
    """StorageError in place of what else is raised inside, where what a checkpoint says is taken in.

    Checksums are right by then: such a file was made by another program, to test this one or to hurt it.
    """
    try:
        yield
    except (ConsilienceError, OSError):
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {quoted(error)}"
        raise StorageError(
            f"{str(path)!r} is no checkpoint that this library writes, though its checksums are right ({said}); resume "
            "only files of your own runs"
        ) from error


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
        with understood(checkpoint.path):
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
        "verdict": None if verdict is None else [verdict.status, verdict.reason, verdict.worst, verdict.divergences],
    }


def _put_back(blocks: Iterator[Mapping[str, Any]], state: Mapping[str, Any], course: RunCourse, engine: Engine) -> None:
    """Put course and engine into the state that was read, with the windows up to then."""
    _check_parts(state, course, engine)
    tuning: list[Mapping[int, Window]] = []
    sampling: list[Mapping[int, Window]] = []
    attempt = len(state["controller"]["restarts"])
    for block in blocks:
        windows = _windows(block["windows"], course)
        if block["sampled"] and block["attempt"] == attempt:
            sampling.append(windows)
        else:
            tuning.append(windows if course.plan.keep_tuning else without_draws(windows))
    verdict = None if state["verdict"] is None else Verdict(*state["verdict"])
    course.load(state["controller"], tuning, sampling, verdict)
    engine.load(state["workers"])
    json.dumps([as_plain(report) for report in course.tuner.reports])  # the result tells them
    attempt_now = course.attempt
    if attempt_now is not None and any(
        attempt_now.count != sum(len(some[c].draws) for some in attempt_now.windows) for c in attempt_now.chains
    ):
        raise ValueError(f"it counts {attempt_now.count} draws, and has others")


def _check_parts(state: Mapping[str, Any], course: RunCourse, engine: Engine) -> None:
    """Compare the state of chains and of the course with that of a run that begins: it has the same kinds of parts."""
    begun = engine.save(course.living)
    for saved, own in zip(state["workers"], begun, strict=True):
        alike(saved, {**own, "snapshot": None, "origin": None}, "a chain")
        alike(saved["origin" if saved["snapshot"] is None else "snapshot"], own["origin"], "a chain")
    controller, fresh = state["controller"], course.save()
    alike(controller, {**fresh, "tuner": None}, "the course")
    if controller["sampling"] is not None:
        alike(controller["sampling"], {**Attempt(course, course.living).save(), "figures": FIGURES}, "the sampling")
    for name in ("living", "copies", "strays"):
        if not set(controller[name]) <= set(range(course.chains.count)):
            raise ValueError(f"{name} are {quoted(controller[name])}")
    for name in ("restarts", "refusals"):
        if not all(isinstance(reason, str) for reason in controller[name]):
            raise TypeError(f"{name} are {quoted(controller[name])}")


def alike(value: Any, example: Any, where: str) -> None:
    """ValueError unless a value has the parts of an example, of the same kinds; None in either stands for anything."""
    if value is None or example is None:
        return
    if isinstance(example, Mapping) and isinstance(value, Mapping):
        if missing := example.keys() - value.keys():  # earlier versions had others besides
            raise ValueError(f"{where} lacks {sorted(missing)}")
        for name, part in example.items():
            alike(value[name], part, f"{where}: {name}")
    elif isinstance(example, list | tuple) and isinstance(value, list | tuple):
        for number, part in enumerate(value):
            if example:
                alike(part, example[number if len(value) == len(example) else 0], f"{where}, {number}")
    elif isinstance(example, np.ndarray) and isinstance(value, np.ndarray):
        if (value.dtype.kind, value.ndim) != (example.dtype.kind, example.ndim):
            raise ValueError(f"{where} is of the kind {value.dtype} with {value.ndim} axes")
    elif type(value) is not type(example) and (type(value), type(example)) not in ((int, float), (float, int)):
        raise ValueError(f"{where} is {quoted(value)}, and no {type(example).__name__}")


def _block(course: RunCourse, windows: Mapping[int, Window]) -> dict[str, Any]:
    """Windows as plain values. Draws that became tuning keep the number of the attempt they were made in."""
    sampled = course.last_sampled
    plain = windows if sampled or course.plan.keep_tuning else without_draws(windows)
    saved: dict[str, Any]
    if isinstance(plain, JointWindows):
        places = {str(c): _parts(d) for c, d in plain.divergences.items()}
        saved = {"together": {name: getattr(plain, name) for name in KEPT} | {"divergences": places}}
    else:
        saved = {
            str(c): {name: getattr(w, name) for name in KEPT}
            | {"gradients": w.gradients if sampled else None, "divergences": _parts(w.divergences)}
            for c, w in plain.items()
        }
    return {"attempt": course.last_attempt, "sampled": sampled, "windows": saved}


def _parts(divergences: Divergences) -> list[Any]:
    return [divergences.transitions, divergences.begins, divergences.ends]


def _windows(saved: Mapping[str, Any], course: RunCourse) -> Mapping[int, Window]:
    """Windows as they were kept; ValueError where their arrays have other axes than those of this run."""
    if "together" not in saved:
        return {int(c): _window(own, course) for c, own in saved.items()}
    parts = saved["together"]
    places = {int(c): Divergences(*own) for c, own in parts["divergences"].items()}
    found = JointWindows(**{**parts, "divergences": places, "snapshot": {}})
    if len(found) != course.chains.count or len(found.statistics) != course.chains.count:
        raise ValueError(f"draws and statistics are those of {len(found)} and {len(found.statistics)} chains")
    for chain in {0, *places}:
        _checked(found[chain], course)
    return found


def _window(saved: Mapping[str, Any], course: RunCourse) -> Window:
    found = Window(**{**saved, "divergences": Divergences(*saved["divergences"]), "snapshot": {}})
    return _checked(found, course)


def _checked(found: Window, course: RunCourse) -> Window:
    """The same window; ValueError where its arrays have other axes than those of this run."""
    width, one = course.chains.dimension, found.divergences
    alike(
        [found.draws, found.statistics, one.transitions, one.begins, one.ends, found.step_size, found.evaluations],
        [np.empty((0, width)), np.empty((0, 0)), np.empty(0, int), np.empty((0, 0)), np.empty((0, 0)), 0.0, 0],
        "a window",
    )
    if found.gradients is not None and found.gradients.shape != found.draws.shape:
        raise ValueError("gradients are others than draws")
    widths = found.draws.shape[1], len(found.statistics), one.begins.shape[1], one.ends.shape[1]
    if widths != (width, len(course.chains.columns.types), width, width):
        raise ValueError(f"draws, statistics and divergences have the widths {widths}")
    return found


def differences(saved: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[str]:
    """In words, what differs between a saved identity and the present one."""
    for name in sorted({*saved, *present}):
        if saved.get(name) != present.get(name):
            shown = name if name in present else quoted(name)
            yield f"{shown} was {_short(saved.get(name))} and is {_short(present.get(name))}"


def _short(value: object) -> str:
    said = repr(value)
    return said if len(said) <= MOST_SHOWN else f"{said[:MOST_SHOWN]}…"
