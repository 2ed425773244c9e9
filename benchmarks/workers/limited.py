"""Value and gradient of a logistic regression whose rows are larger than the memory that a process may have.

As root on Linux: `python -m benchmarks.workers.limited` writes 10^7 rows of 20 columns (1.6 GB) to files, and has a
process in a control group of 1 GiB, pages of files included, evaluate the density on each of them: mapped, and on
shards of two threads. Needs zarr, pyarrow for parquet, and 5 GB on a disk (`--folder`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = 20
PART = 1 << 16  # as many as a shard has
NAMES = [f"x{j}" for j in range(COLUMNS)]


def write(folder: Path, rows: int) -> None:
    """The same rows in each format, part by part."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import zarr

    random = np.random.default_rng(0)
    part = min(PART, rows)
    x = np.lib.format.open_memmap(folder / "x.npy", "w+", "float64", (rows, COLUMNS))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", "int64", (rows,))
    chunked = zarr.create_array(
        folder / "x.zarr", shape=x.shape, chunks=(part, COLUMNS), dtype="float64", compressors=None
    )
    schema = pa.schema([*((name, pa.float64()) for name in NAMES), ("y", pa.int64())])
    with pq.ParquetWriter(folder / "rows.parquet", schema, compression="none", use_dictionary=False) as table:
        for i in range(0, rows, part):
            own = random.standard_normal((min(part, rows - i), COLUMNS))
            seen = (random.random(len(own)) < 1 / (1 + np.exp(-0.1 * own.sum(1)))).astype("int64")
            x[i : i + part], y[i : i + part], chunked[i : i + part] = own, seen, own
            table.write_table(pa.table([*own.T, seen], schema=schema))


def model_of(x: Any, y: Any) -> Any:
    """The regression."""
    import consilience as pm

    with pm.Model() as model:
        eta = pm.Normal("a") + pm.Data("x", x) @ pm.Normal("b", shape=COLUMNS)
        pm.Bernoulli("y", logit_p=eta, observed=pm.Data("seen", y))
    return model


def evaluate(folder: Path, how: str) -> None:
    """Print what an evaluation costs."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    if how == "numpy":
        x, ones = np.load(folder / "x.npy", mmap_mode="r"), np.ones(len(np.load(folder / "y.npy", mmap_mode="r")))
        measure(how, lambda: x.T @ ones)
        return
    from consilience.model.log_density import model_density
    from consilience.sample.sharded import ShardedDensity

    if how == "mapped":
        given = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in "xy")
        density = model_density(model_of(*given))
        measure(how, lambda: density(np.full(COLUMNS + 1, 0.1)))
        return
    import consilience as pm

    few = model_of(np.zeros((5, COLUMNS)), np.zeros(5, int))
    where = {"npy": folder / "x.npy", "zarr": folder / "x.zarr", "parquet": (folder / "rows.parquet", NAMES)}[how]
    with ThreadPoolExecutor(2) as pool:
        shards = pm.cluster.shards(pool, {"x": where, "seen": folder / "y.npy"}, memory=1 << 28)
        sharded = ShardedDensity(model_density(few), shards)
        measure(f"shards, {how}", lambda: sharded(np.full(COLUMNS + 1, 0.1)))
        sharded.sums.close()


def measure(what: str, evaluated: Callable[[], Any]) -> None:
    """The first evaluation compiles and opens; three more are counted."""
    evaluated()
    own, wall = time.process_time(), time.perf_counter()
    for _ in range(3):
        evaluated()
    own, wall = (time.process_time() - own) / 3, (time.perf_counter() - wall) / 3
    anonymous = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
    megabytes = int(anonymous.split()[1]) * 1024 / 1e6
    print(f"{what:16} {own:6.2f} s of processors, {wall:6.2f} s, {megabytes:5.0f} MB besides files", flush=True)


def forget(folder: Path) -> None:
    """Have the system forget pages of files, which count for the group that reads them first."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Limited:
    """A control group with so many bytes of memory, of either version."""

    def __init__(self, size: int) -> None:
        first = Path("/sys/fs/cgroup/memory")
        self.folder = (first if first.exists() else Path("/sys/fs/cgroup")) / f"limited-{os.getpid()}"
        self.limit = self.folder / ("memory.limit_in_bytes" if first.exists() else "memory.max")
        self.size = size

    def __enter__(self) -> Limited:
        self.folder.mkdir()
        self.limit.write_text(str(self.size))
        return self

    def join(self) -> None:
        """Put this process there."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def __exit__(self, *_: object) -> None:
        self.folder.rmdir()


def main() -> None:
    """Arguments in, lines of figures out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--memory", type=float, default=1.0, help="GiB")
    parser.add_argument("--folder", type=Path, default=None, help="where files are made")
    parser.add_argument("--only", nargs="*", default=["numpy", "mapped", "npy", "zarr", "parquet"])
    parser.add_argument("--evaluate", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.evaluate:
        evaluate(Path(given.evaluate[0]), given.evaluate[1])
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder, Limited(int(given.memory * 2**30)) as group:
        write(Path(folder), given.rows)
        for how in given.only:
            forget(Path(folder))
            words = [sys.executable, "-m", __spec__.name, "--evaluate", folder, how]
            ended = subprocess.run(words, preexec_fn=group.join, check=False)
            if ended.returncode:
                print(f"{how}: ended with {ended.returncode}, -9 is what the limit does", flush=True)


if __name__ == "__main__":
    main()
