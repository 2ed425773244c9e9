"""Runs below a path: a store, a file with a result, a study, or a folder of these enters; sources by name leave.

Names are those that were found here, so that no question of a page leads to another place. Links are not followed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from consilience.errors import StorageError
from consilience.output.storage import state_file
from consilience.output.storage.study_file import FITS
from consilience.watch.source import RunSource, StoreSource, TreeSource, stamps
from consilience.watch.study import FitUnderWay, StoredStudy

DEEPEST: Final = 4  # folders below the path
MOST_RUNS: Final = 2000
MOST_OPEN: Final = 64  # runs that are kept open


class Folder:
    """The runs below a path.

    path     a store, a file, or a folder; raises StorageError where there is nothing
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()
        if not self.path.exists():
            raise StorageError(f"{str(path)!r} is not there: give a store, a file of draws, or a folder of runs.")
        self._open: dict[str, RunSource] = {}
        self._places: dict[str, Path | tuple[StoredStudy, str]] = {}  # of runs, and of the fits of studies
        self._studies: dict[Path, StoredStudy] = {}
        self.shares = False
        self.single = _kind(self.path) not in ("", "study")
        if not self.single and not self.path.is_dir():
            raise StorageError(f"{str(path)!r} is no store and no file of draws; give a store, or a folder of runs.")

    def clock(self) -> float:
        """Of the wall: this process does nothing else."""
        return time.monotonic()

    def names(self) -> list[str]:
        """Of all runs, as paths below the folder."""
        self._places = dict(islice(self._found(), MOST_RUNS))
        return sorted(self._places)

    def _found(self) -> Iterator[tuple[str, Path | tuple[StoredStudy, str]]]:
        if self.single:
            yield self.path.name, self.path
            return
        for path in [self.path] if _kind(self.path) else _below(self.path, 0):
            inner = "" if path == self.path else str(path.relative_to(self.path))
            if _kind(path) == "study":
                study = self._studies.setdefault(path, StoredStudy(path))
                fits: list[str] = []
                with contextlib.suppress(OSError):  # it is gone by now, or nobody may read it
                    fits = study.names()
                for fit in fits:
                    yield f"{inner}/{fit}" if inner else fit, (study, fit)
            else:
                yield inner, path

    def stamp(self, name: str) -> object:
        """Another value whenever the files of a run of the last `names` change."""
        place = self._places[name]
        return place[0].stamp() if isinstance(place, tuple) else stamps(place)

    def brief(self, name: str) -> RunSource:
        """A run by its name, for the list of runs: of a fit, what its study says, without its draws."""
        place = self._places.get(name)
        return place[0].opened(place[1], name, False) if isinstance(place, tuple) else self.source(name)

    def version(self, name: str) -> object:
        """Another value whenever a run may have something new; it is not read."""
        return (self._open.get(name) or self.source(name)).version()

    def source(self, name: str) -> RunSource:
        """A run by its name, as it is now; KeyError where there is none, StorageError where it cannot be read."""
        if name not in self._open:
            if name not in self._places and name not in self.names():
                raise KeyError(name)
            while len(self._open) >= MOST_OPEN:
                del self._open[next(iter(self._open))]
            place = self._places[name]
            if isinstance(place, tuple):
                fit = place[0].opened(place[1], name, True)
                if isinstance(fit, FitUnderWay):  # another source when it is there
                    return fit
                self._open[name] = fit
            else:
                self._open[name] = opened(place, name)
        found = self._open[name]
        try:
            found.refresh()
        except StorageError:
            del self._open[name]
            raise
        return found


def opened(path: Path, name: str) -> RunSource:
    """The run at a path; KeyError where a link lies on the way by now."""
    if path.resolve() != path:
        raise KeyError(name)
    match _kind(path):
        case "store":
            return StoreSource(path, name)
        case "result":
            return TreeSource(_lazily(path), name)
        case "checkpoint":
            return CheckpointSource(path, name)
    raise StorageError(f"{name!r} is no store and no file of draws.")


class CheckpointSource(TreeSource):
    """A checkpoint: what its run is and how far it has come, without its draws, which need its model."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = self.checkpoint = path
        self.name, self.groups, self.chains, self.draws, self.attributes = name, {}, 0, 0, {}
        self.records: list[dict[str, Any]] = []
        self._seen: object = None
        self.refresh()

    def version(self) -> object:
        stat = self.path.stat()
        return stat.st_mtime_ns, stat.st_size

    def refresh(self) -> None:
        now = self.version()
        if now == self._seen:
            return
        contents = state_file.glance(self.path)
        identity, state = contents["identity"], contents["state"]
        course = state.get("controller", {})
        sampling, verdict = course.get("sampling"), state.get("verdict")
        self.chains = int(identity.get("chains", 0))
        self.draws = 0 if sampling is None else int(sampling["count"])
        status = verdict[0] if verdict else "tuning" if sampling is None else "sampling"
        self.attributes = {
            "status": "running" if verdict is None else status,
            "reason": verdict[1] if verdict else f"by its checkpoint: {status}; draws are in the store of the run",
            "seed": identity.get("seed"),
            "sampling_time": course.get("spent"),
        }
        time = self.path.stat().st_mtime
        self.records = [{"kind": "began", "time": time, "chains": self.chains, "digest": identity.get("model")}]
        self._seen = now


def _kind(path: Path) -> str:
    if path.is_dir():
        if (path / "zarr.json").is_file():
            return "store"
        parts = [path / FITS, (path / FITS).with_suffix(".data")]
        return "study" if parts[0].is_file() and not any(part.is_symlink() for part in parts) else ""
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        return ""
    if start[:6] == b"SQLite":
        return "checkpoint" if state_file.is_one(path) else ""
    return "result" if path.suffix == ".nc" and start[:4] == b"\x89HDF" else ""


def _below(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink() or entry.name.startswith("."):
            continue
        path = Path(entry.path)
        if _kind(path):
            yield path
        elif entry.is_dir() and depth < DEEPEST:
            yield from _below(path, depth + 1)


def _lazily(path: Path) -> Any:
    import xarray

    try:
        return xarray.open_datatree(path, engine="h5netcdf")
    except Exception as error:  # of HDF5, h5netcdf and xarray, each with errors of its own
        raise StorageError(f"{path.name!r} cannot be read as a result: {error}") from error
