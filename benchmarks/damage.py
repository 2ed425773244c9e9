"""Flip one bit, or cut a file off, over and over: who tells that a file is not as it was written?

`python -m benchmarks.damage [--flips 1000] [--cuts 200] [--format WORD] [--seed 1]` prints a line for each format:

    told when read     the usual reader raises: xarray for stores and netCDF files, `pm.resume` for checkpoints
    told by check      something else is read, and `python -m consilience check` alone says so
    read alike, told   the same is read, and `check` tells of the damage
    harmless           the same is read
    different          something else is read, and nothing tells: there must be none
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import consilience as pm
from consilience.errors import ConsilienceError
from consilience.output.storage import state_file
from consilience.output.storage.checking import check

KINDS: Final = ("told when read", "told by check", "read alike, told", "harmless", "different")
Reader = Callable[[Path], Any]


def written(folder: Path) -> dict[str, Path]:
    """A run with labels and truth values in each format."""
    with pm.Model(coords={"school": ["Ä", "B", "C"]}) as model:
        mu = pm.Normal("mu")
        theta = pm.Normal("theta", mu, 1.0, dims="school")
        pm.Normal("y", theta, 1.0, observed=[0.5, 1.0, -1.0], dims="school")
        settings: dict[str, Any] = {"draws": 200, "tune": 200, "chains": 2, "random_seed": 1, "progressbar": False}
        save = pm.Save(checkpoint=folder / "checkpoint", store=folder / "store.zarr")
        result = pm.sample(model=model, save=save, compute_convergence_checks=False, **settings)
    result.to_netcdf(folder / "result.nc")
    return {"checkpoint": folder / "checkpoint", "Zarr": folder / "store.zarr", "netCDF": folder / "result.nc"}


def plain(value: Any) -> Any:
    """A value that can be compared, bit for bit."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        kind = "text" if value.dtype.kind in "UTO" else str(value.dtype)
        return kind, value.shape, value.tolist() if kind == "text" else np.ascontiguousarray(value).tobytes()
    return repr(value)


def of_tree(path: Path) -> Any:
    """All that xarray reads."""
    import xarray

    with xarray.open_datatree(path, engine="h5netcdf" if path.is_file() else "zarr") as tree:
        tree.load()
        return {
            node.path: (
                {str(n): (v.dims, plain(v.values), plain(v.attrs)) for n, v in node.dataset.variables.items()},
                plain(node.dataset.attrs),
            )
            for node in tree.subtree
        }


def of_checkpoint(path: Path) -> Any:
    """The state with all draws."""
    state, count, digest = state_file.read(path)
    return plain([state, *state_file.blocks(path, count, digest)])


READERS: Final[Mapping[str, Reader]] = {"checkpoint": of_checkpoint, "Zarr": of_tree, "netCDF": of_tree}


def judged(place: Path, read: Reader, expected: Any) -> str:
    """What comes of a damaged file."""
    try:
        same = read(place) == expected
    except Exception:
        return "told when read"
    try:
        told = bool(check(place).faults)
    except ConsilienceError:
        told = True
    if told:
        return "read alike, told" if same else "told by check"
    return "harmless" if same else "different"


def damaged(place: Path, read: Reader, flips: int, cuts: int, numbers: random.Random) -> dict[str, Counter[str]]:
    """Counts for flips and for cuts, of files of one format."""
    expected, found = read(place), {"flips": Counter[str](), "cuts": Counter[str]()}
    files = sorted(file for file in ([place] if place.is_file() else place.rglob("*")) if file.is_file())
    sizes = [file.stat().st_size for file in files]
    for kind, count in (("flips", flips), ("cuts", cuts)):
        for _ in range(count):
            # small files hold what others are read by: half of the damage goes to any file, half to any byte
            file = numbers.choice(files) if numbers.random() < 0.5 else numbers.choices(files, sizes)[0]
            whole = file.read_bytes()
            at = numbers.randrange(len(whole))
            changed = bytearray(whole)
            changed[at] ^= 1 << numbers.randrange(8)
            file.unlink()  # HDF5 takes a file of the same number for the one that it failed to open before
            file.write_bytes(changed if kind == "flips" else whole[:at])
            try:
                result = judged(place, read, expected)
                found[kind][result] += 1
                if result == "different":
                    print(f"different: {kind} of {file.relative_to(place.parent)} at {at} of {len(whole)}", flush=True)
            finally:
                file.unlink()
                file.write_bytes(whole)
                Path(f"{place}-journal").unlink(missing_ok=True)
    assert read(place) == expected
    return found


def study(flips: int, cuts: int, kinds: list[str], seed: int) -> dict[str, dict[str, Counter[str]]]:
    """Damage to each format, with a line printed for each."""
    warnings.simplefilter("ignore")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        places = written(Path(folder))
        for name in kinds:
            own = Path(folder) / f"damaged {name}{places[name].suffix}"
            (shutil.copytree if places[name].is_dir() else shutil.copy)(places[name], own)
            found[name] = damaged(own, READERS[name], flips, cuts, random.Random(f"{seed} {name}"))
            for kind, counts in found[name].items():
                listed = ", ".join(f"{word} {counts[word]}" for word in KINDS)
                print(f"{name:12} {kind:6} {counts.total():5}: {listed}", flush=True)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--format", default="")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chosen = [name for name in READERS if given.format in name]
    counted = study(given.flips, given.cuts, chosen, given.seed)
    sys.exit(any(counts["different"] for kinds in counted.values() for counts in kinds.values()))
