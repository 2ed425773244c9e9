"""Fits of a study, `pm.sample_many(store=…)`: the folder with its lines enters; a source for each leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from consilience.errors import ConsilienceError, StorageError
from consilience.output.storage.study_file import FITS, bytes_at
from consilience.watch.source import TreeSource, stamp


class StoredStudy:
    """The fits of a folder, by name, read anew when there are more lines."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FITS
        self._seen: object = None
        self._fits: dict[str, dict[str, Any]] = {}

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

    def opened(self, fit: str, name: str, whole: bool) -> TreeSource:
        """A fit with its draws or, unless it is to be `whole`, with what its line says; KeyError if it is not there."""
        import xarray

        told, tree = self.fits[fit], xarray.DataTree()
        if whole and "at" in told:
            from consilience.sample.many_fits import unpacked  # loads what samples

            try:
                tree = unpacked(bytes_at(self._file, [int(n) for n in told["at"]]))
            except ConsilienceError:
                raise
            except (ValueError, KeyError, TypeError, MemoryError) as error:
                raise StorageError(f"{name!r} cannot be read as a fit: {error}") from error
        source = TreeSource(tree, name)
        failed = {"status": "failed", "reason": told["error"]} if "error" in told else {"status": told.get("status")}
        known = {**failed, "sampling_time": told.get("seconds"), "seed": told.get("seed")}
        source.attributes = {n: v for n, v in known.items() if v is not None} | dict(source.attributes)
        return source
