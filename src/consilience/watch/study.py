"""Fits of a study, `pm.sample_many(store=…)`: the folder with its lines enters; a source for each leaves."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from consilience.errors import ConsilienceError, StorageError
from consilience.output.storage.study_file import FITS, UNDER_WAY, bytes_at
from consilience.watch.source import TreeSource, stamp

PATIENCE: Final = 30.0
"""Seconds after which a driver that says nothing is taken for dead; it speaks every few seconds."""


class FitUnderWay(TreeSource):
    """A fit that is being computed, of which nothing is there yet."""

    def __init__(self, name: str, since: float, heard: float, phase: str = "sampling", *counts: int) -> None:
        super().__init__({}, name, [{"kind": "began", "time": since}])
        status = "stale" if time.time() - heard > PATIENCE else phase
        self.attributes = {"status": status, "sampling_time": max(0.0, heard - since)}
        self.chains, self.draws = counts if len(counts) == 2 else (0, 0)
        self._heard = heard

    def version(self) -> object:
        return self._heard


class StoredStudy:
    """The fits of a folder, by name, read anew when there are more lines."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FITS
        self._seen: object = None
        self._fits: dict[str, dict[str, Any]] = {}

    def stamp(self) -> object:
        """Another value whenever a fit is written, or tells how far it is."""
        return stamp(self._file), stamp(self._file.with_suffix(UNDER_WAY))

    @property
    def fits(self) -> Mapping[str, Mapping[str, Any]]:
        """What a line says of each; of several lines the last counts, and one that is being written is left."""
        now = stamp(self._file)
        if now != self._seen:
            self._fits = {}
            for line in self._file.read_bytes().splitlines():
                try:
                    found = json.loads(line)["found"]
                    self._fits[str(found["name"])] = dict(found)
                except (ValueError, KeyError, TypeError):
                    continue  # the head, or half a line
            self._seen = now
        return self._fits

    @property
    def under_way(self) -> tuple[dict[str, list[Any]], float]:
        """Of others by name since when they are computed, phase, chains and draws; and when the driver spoke last."""
        file = self._file.with_suffix(UNDER_WAY)
        try:
            if file.is_symlink():
                return {}, 0.0
            told, heard = json.loads(file.read_bytes()), file.stat().st_mtime
            return {str(name): _state(said) for name, said in told.items() if name not in self.fits}, heard
        except (OSError, ValueError, AttributeError, TypeError, IndexError):
            return {}, 0.0  # there is none, or it is being written

    def names(self) -> list[str]:
        """Of the fits that are there, and of those under way."""
        return [*self.fits, *self.under_way[0]]

    def opened(self, fit: str, name: str, whole: bool) -> TreeSource:
        """A fit with its draws or, unless it is to be `whole`, with what its line says; KeyError if it is not there."""
        if fit not in self.fits:
            others, heard = self.under_way
            since, *state = others[fit]
            going = FitUnderWay(name, since, heard, *state)
            going.study = _study(fit, name)
            return going
        told = self.fits[fit]
        tree: Any = {}
        if whole and "at" in told:
            from consilience.sample.many_fits import unpacked  # loads what samples

            try:
                tree = unpacked(bytes_at(self._file, [int(n) for n in told["at"]]))
            except ConsilienceError:
                raise
            except (ValueError, KeyError, TypeError, MemoryError) as error:
                raise StorageError(f"{name!r} cannot be read as a fit: {error}") from error
        source = TreeSource(tree, name)
        source.study = _study(fit, name)
        failed = {"status": "failed", "reason": told["error"]} if "error" in told else {"status": told.get("status")}
        known = {**failed, "sampling_time": told.get("seconds"), "seed": told.get("seed")}
        known |= {name: told.get(name) for name in ("reason", "last_check") if "error" not in told}
        source.attributes = {n: v for n, v in known.items() if v is not None} | dict(source.attributes)
        if told.get("began"):
            source.records = [{"kind": "began", "time": float(told["began"])}]
        if not whole:
            source.chains, source.draws = int(told.get("chains", 0)), int(told.get("draws", 0))
            source.diverged = source.draws, int(told.get("divergences", 0))
        return source


def _study(fit: str, name: str) -> str:
    """The path of a study below the folder that is shown, by a fit and its path there."""
    return name[: -len(fit)].rstrip("/") if name.endswith(fit) else ""


def _state(said: Any) -> list[Any]:
    """Of a fit under way: since when, and, where it is known, its phase, chains and draws of each."""
    since, *rest = said if isinstance(said, list) else [said]
    return [float(since), *([str(rest[0]), int(rest[1]), int(rest[2])] if rest else [])]
