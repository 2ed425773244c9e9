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

NAME: Final = "first_draws.npz"
LARGEST: Final = 1 << 26  # bytes that are read

Groups = Mapping[str, Mapping[str, npt.NDArray[Any]]]


def write(store: Path, groups: Groups, dims: Mapping[str, Sequence[str]], stride: int) -> None:
    """Replace those of a store: arrays (chain, draw, …) by group and name, of one draw in `stride`. Raises OSError."""
    named = [(group, name, array) for group, some in groups.items() for name, array in some.items()]
    about = {
        "stride": stride,
        "arrays": [[group, name, list(dims.get(name, ()))] for group, name, _ in named],
    }
    beside = store / f"first_draws.{secrets.token_hex(16)}.partial"
    try:
        with beside.open("wb") as file:
            arrays = {str(number): np.asarray(array) for number, (_, _, array) in enumerate(named)}
            np.savez(file, about=np.array(json.dumps(about)), **arrays)  # type: ignore[arg-type]  # names are keywords
        os.replace(beside, store / NAME)
    finally:
        beside.unlink(missing_ok=True)


def read(store: Path) -> tuple[dict[str, dict[str, tuple[npt.NDArray[Any], list[str]]]], int] | None:
    """Arrays with their dims by group and name, and of one draw in how many they are; None where there are none."""
    file = store / NAME
    try:
        if file.is_symlink() or file.stat().st_size > LARGEST:
            return None
        with np.load(file, allow_pickle=False) as found:
            about = json.loads(str(found["about"]))
            groups: dict[str, dict[str, tuple[npt.NDArray[Any], list[str]]]] = {}
            for number, (group, name, dims) in enumerate(about["arrays"]):
                array = found[str(number)]
                if array.ndim < 2 or array.dtype.kind not in "biuf" or math.prod(array.shape[:2]) == 0:
                    continue
                groups.setdefault(str(group), {})[str(name)] = array, [str(dim) for dim in dims]
        shapes = {array.shape[:2] for some in groups.values() for array, _ in some.values()}
        return (groups, max(1, int(about["stride"]))) if "posterior" in groups and len(shapes) == 1 else None
    except Exception:  # of zip files and NumPy's headers, each with errors of its own: there are none then
        return None


def forget(store: Path) -> None:
    """Take those of a store away. Raises OSError."""
    (store / NAME).unlink(missing_ok=True)
