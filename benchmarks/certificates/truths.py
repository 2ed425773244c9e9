"""The truths of all targets in one file: made once, read by every run."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable
from pathlib import Path

from benchmarks.certificates.judgement import Truth, truth_of
from benchmarks.certificates.targets import TARGETS

FILE = Path(__file__).with_name("truths.json")
DRAWS = 40_000  # in each of two batches


def known(name: str) -> Truth | None:
    """What is known of a target; None of those without a posterior."""
    target = TARGETS[name]
    if target.draw is None:
        return None
    found = stored()
    place = target.truth or name
    if place not in found:
        raise KeyError(
            f"`truths.json` has nothing of {place!r}; `python -m benchmarks.certificates --truths` makes it."
        )
    return found[place]


_read: dict[str, Truth] = {}


def stored() -> dict[str, Truth]:
    """The file, read once."""
    if not _read and FILE.exists():
        _read.update(json.loads(FILE.read_text(encoding="utf-8")))
    return _read


def make(names: Iterable[str]) -> None:
    """Compute the truths of these targets and put them in the file."""
    for name in names:
        target = TARGETS[name]
        if target.draw is None or target.truth:
            continue
        began = time.perf_counter()
        try:
            found = truth_of(target, zlib.crc32(name.encode()), DRAWS)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            continue
        stored()[name] = found
        rows = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(stored().items()))
        FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
        first = next(iter(found.values()))
        shown = ", ".join(f"{k} {first[k]:.4g}" for k in ("mean", "sd", "p", "error") if k in first)
        print(
            f"{name}: {time.perf_counter() - began:.1f} s, {len(found)} scalars, {next(iter(found))} {shown}",
            flush=True,
        )
