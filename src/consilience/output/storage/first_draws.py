"""Draws that a run has made before its first check, beside a store that has none yet: groups enter, and leave again.

They are for whoever watches: the store takes in draws once all chains have made as many. A file that is damaged, or a
link, is none.
"""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.record import Record

NAME: Final = "first_draws.npz"
LARGEST: Final = 1 << 26  # bytes that are read

Groups = Mapping[str, Mapping[str, npt.NDArray[Any]]]


def write(
    store: Path,
    groups: Groups,
    dims: Mapping[str, Sequence[str | None]],
    stride: int,
    coords: Mapping[str, Any] | None = None,
) -> None:
    """Replace those of a store: arrays (chain, draw, …) by group and name, of one draw in `stride`. Raises OSError."""
    named = [(group, name, array) for group, some in groups.items() for name, array in some.items()]
    used = {str(dim) for _, name, _ in named for dim in dims.get(name, ())}
    about = {
        "stride": stride,
        "arrays": [[group, name, list(dims.get(name, ()))] for group, name, _ in named],
        "labels": {
            dim: [str(label) for label in np.asarray(labels).tolist()]
            for dim, labels in (coords or {}).items()
            if dim in used and labels is not None
        },
    }
    beside = store / f"first_draws.{secrets.token_hex(16)}.partial"
    try:
        with beside.open("wb") as file:
            arrays = {str(number): np.asarray(array) for number, (_, _, array) in enumerate(named)}
            np.savez(file, about=np.array(json.dumps(about)), **arrays)  # type: ignore[arg-type]  # names are keywords
        os.replace(beside, store / NAME)
    finally:
        beside.unlink(missing_ok=True)


class FirstDraws(Record, eq=False):
    """What `read` found: arrays with their dims by group and name, labels by dim, and of one draw in how many it is."""

    groups: Mapping[str, Mapping[str, tuple[npt.NDArray[Any], tuple[str, ...]]]]
    labels: Mapping[str, Sequence[str]]
    stride: int


def read(store: Path) -> FirstDraws | None:
    """Those of a store; None where there are none."""
    file = store / NAME
    try:
        if file.is_symlink() or file.stat().st_size > LARGEST:
            return None
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as found:
            about = json.loads(str(found["about"]))
            groups: dict[str, dict[str, tuple[npt.NDArray[Any], tuple[str, ...]]]] = {}
            for number, (group, name, dims) in enumerate(about["arrays"]):
                array = found[str(number)]
                if array.ndim < 2 or array.dtype.kind not in "biuf" or math.prod(array.shape[:2]) == 0:
                    continue
                named = dims if len(dims) == array.ndim - 2 else [None] * (array.ndim - 2)
                own = tuple(f"{name}_dim_{axis}" if dim is None else str(dim) for axis, dim in enumerate(named))
                groups.setdefault(str(group), {})[str(name)] = array, own
        shapes = {array.shape[:2] for some in groups.values() for array, _ in some.values()}
        labels = {str(dim): list(map(str, some)) for dim, some in about["labels"].items()}
        whole = "posterior" in groups and len(shapes) == 1
        return FirstDraws(groups, labels, max(1, int(about["stride"]))) if whole else None
    except Exception:  # of zip files and NumPy's headers, each with errors of its own: there are none then
        return None
