"""Checkpoints as an enemy would write them: right checksums, and something else than a run leaves somewhere inside."""

from __future__ import annotations

import copy
import os
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from consilience.output.storage import state_file

PLACE: Final = tuple[Any, ...]
BAD: Final[Sequence[Any]] = (
    None, True, -1, 3, 10**30, float("nan"), "", "x\x1b[2J", [], [[]], {}, {"a": {}}, np.zeros(0),
    np.zeros((2, 2, 2, 2)), np.array(["a"]), np.full(3, np.nan),
)  # fmt: skip


def places(value: Any, place: PLACE = ()) -> Iterator[PLACE]:
    """Where something stands in a state, at every depth."""
    yield place
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*place, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from places(part, (*place, number))


def contents(path: Path) -> tuple[dict[str, Any], list[Any]]:
    """What a checkpoint holds."""
    found, count, digest = state_file.read(path)
    return found, list(state_file.blocks(path, count, digest))


def changed(whole: Any, place: PLACE, new: Any, gone: bool) -> Any:
    """A copy with something else at a place, or nothing there."""
    if not place:
        return new
    found = copy.deepcopy(whole)
    at = found
    for step in place[:-1]:
        at = at[step]
    if gone:
        del at[place[-1]]
    else:
        at[place[-1]] = new
    return found


def forged(path: Path, target: Path, count: int, seed: int) -> Iterator[PLACE]:
    """Write some such files to a target, one after the other, and give where each differs."""
    state, blocks = contents(path)
    whole = {"state": state, "blocks": blocks}
    numbers = random.Random(seed)
    every = [place for place in places(whole) if len(place) > 1]
    for _ in range(count):
        place = numbers.choice(every)
        bad = changed(whole, place, numbers.choice(BAD), numbers.random() < 0.15)
        if target.exists():
            os.unlink(target)
        state_file.create(target, bad["state"], bad["blocks"])
        yield place


def copied_to(path: Path, target: Path) -> Path:
    """A copy to be changed by SQLite itself."""
    shutil.copy(path, target)
    return target
