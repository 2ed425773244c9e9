"""The rows of a density on workers: who holds which, and sums that do not depend on it.

An executor and sources of rows in; a value for each shard, in the order of shards, out. What is computed of a shard
stays outside.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from consilience.cluster.executors import adapted
from consilience.cluster.row_sources import RowSource, SourceList, source_of
from consilience.cluster.workers import Broadcast, Workers
from consilience.errors import SamplingError

ROWS: Final = 1 << 16
"""Rows of a shard at least, and shards at most, unless the user says."""
MOST: Final = 256


class Shards:
    """Rows that workers read; made by `pm.cluster.shards`, for `pm.sample(executor=...)`.

    executor (Executor): Whose workers read them.
    sources: What has the rows of each `pm.Data`.
    rows (int or None): Rows of a shard.
    memory (int or None): Bytes of rows that a thread of a worker keeps at most.
    See shards: Makes them.
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> import consilience as pm
    >>> with ThreadPoolExecutor(2) as pool:
    ...     rows = pm.cluster.shards(pool, {"data": np.zeros(1000)}, rows=100)
    >>> isinstance(rows, pm.cluster.Shards)
    True
    """

    def __init__(
        self, executor: Any, sources: list[RowSource | SourceList], rows: int | None, memory: int | None
    ) -> None:
        self.executor, self.sources, self.rows, self.memory = executor, sources, rows, memory

    def over(self, work: Any, what: str) -> ShardSums:
        """Sums over all rows, by workers; see `ShardSums`.

        Parameters
        ----------
        work : callable
            Of values by name and the number of their first row: a function of the argument, and the bytes it keeps.
        what : str
            Its name in errors.

        Returns
        -------
        ShardSums
            For values of the argument.
        """
        return ShardSums(self, work, what)


class _Job:
    """What a worker keeps: sources that are open, and what was made of the shards that it had lately."""

    def __init__(self, sources: list[RowSource | SourceList], memory: int | None, work: Any) -> None:
        self.sources, self.memory, self.work = sources, memory, work
        self.made: dict[tuple[int, int], tuple[Any, int]] = {}

    def __copy__(self) -> _Job:
        return _Job([copy.copy(source) for source in self.sources], self.memory, copy.copy(self.work))

    def of(self, first: int, behind: int) -> Any:
        """What `work` made of the rows of a shard; the latest that fit in the memory are kept."""
        known = self.made.pop((first, behind), None)
        if known is None:
            values = {source.name: source.read(first, behind) for source in self.sources}
            known = self.work(values, first)
        else:
            for source in self.sources:
                source.check()
        self.made[first, behind] = known
        most = _memory() if self.memory is None else self.memory
        while sum(size for _, size in self.made.values()) > most and len(self.made) > 1:
            self.made.pop(next(iter(self.made)))
        return known[0]

    def described(self, first: int, behind: int) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
        """Type, shape and a digest of the rows of a shard, by the name of their container."""
        found = {}
        for source in self.sources:
            values = source.read(first, behind)
            bits = hashlib.sha256(np.ascontiguousarray(values).data).digest()
            found[source.name] = str(values.dtype), values.shape[1:], bits
        return found


def _lengths(job: _Job) -> dict[str, int]:
    return {source.name: source.length() for source in job.sources}


def _described(job: _Job, parts: list[tuple[int, int]]) -> list[dict[str, tuple[str, tuple[int, ...], bytes]]]:
    return [job.described(first, behind) for first, behind in parts]


def _values(job: _Job, parts: list[tuple[int, int]], argument: Any) -> list[Any]:
    return [job.of(first, behind)(argument) for first, behind in parts]


class ShardSums:
    """Values of all shards on the workers of an executor; any thread may ask for them, one after the other.

    shards   where the rows are
    length   rows
    parts    first row of each shard, and the one behind; they follow from the rows alone
    """

    def __init__(self, shards: Shards, work: Any, what: str) -> None:
        self._lock = threading.Lock()
        self.shards = shards
        self._workers = Workers(shards.executor)
        self.close = weakref.finalize(self, self._workers.close)
        self._job: Broadcast = self._workers.share(_Job(shards.sources, shards.memory, work), what)
        (lengths,) = self._all(_lengths, [()])
        self.length = next(iter(lengths.values()))
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"`{name}` {length:,}" for name, length in lengths.items())
            raise SamplingError(f"the sources of shards have different numbers of rows: {told}.")
        if not self.length:
            raise SamplingError(f"the sources of shards ({', '.join(map(repr, lengths))}) have no rows.")
        rows = max(ROWS, -(-self.length // MOST)) if shards.rows is None else shards.rows
        self.parts = [(i, min(i + rows, self.length)) for i in range(0, self.length, rows)]
        self.workers = self._workers.count

    def __call__(self, argument: Any) -> list[Any]:
        """The value of each shard, in their order."""
        return self._of_parts(_values, argument)

    def described(self) -> dict[str, str]:
        """Type, shape and a digest of all rows by the name of their container: equal for equal rows, wherever they lie.

        It reads all rows.
        """
        each = self._of_parts(_described)
        found = {}
        for name, (kind, shape, _) in each[0].items():
            bits = hashlib.sha256(b"".join(own[name][2] for own in each)).hexdigest()
            found[name] = f"{kind} {(self.length, *shape)} {bits[:16]}"
        return found

    def _of_parts(self, function: Callable[..., list[Any]], *arguments: Any) -> list[Any]:
        each = -(-len(self.parts) // min(len(self.parts), self._workers.count))
        groups = [self.parts[i : i + each] for i in range(0, len(self.parts), each)]
        return [value for values in self._all(function, [(group, *arguments) for group in groups]) for value in values]

    def _all(self, function: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> list[Any]:
        """Results of calls in their order, whichever worker has them and however often one is lost."""
        with self._lock:
            tasks = [self._workers.submit(function, self._job, *own) for own in arguments]
            left = len(tasks)
            while left:
                ended = self._workers.finished()
                left -= len(ended)
                if failed := next((task for task in ended if task.error is not None), None):
                    for task in tasks:
                        self._workers.cancel(task)
                    assert failed.error is not None
                    raise failed.error
            return [task.result() for task in tasks]


def shards(
    executor: Any, sources: Mapping[str, Any], *, rows: int | None = None, memory: float | None = None
) -> Shards:
    """Rows of a model's data on workers, for `pm.sample(executor=...)`.

    The model holds a few rows in `pm.Data` of these names, which say how its density is made of a row and are counted
    nowhere; chains stay in this process, and workers add up what depends on the rows. Each shard is a fixed number of
    rows, and shards are added in their order: draws depend neither on the number of workers nor on those that are lost.

    executor (Executor): Of `concurrent.futures`, a Dask client, `pm.cluster.ray()`.
    sources: By the name of `pm.Data`, what has its rows: a path to a `.npy` file, which is mapped, or to a `.zarr`
        array; (path, column) or (path, [columns]) of parquet, a file or a folder of files; a Dask array, or (Dask
        dataframe, columns); an array that is sliced by rows and can be pickled, of zarr or `np.memmap`, which is sent
        as its path; or a list of these, one behind the other. They are opened by the workers, never here.
    rows: Of a shard; 65,536 by default, and more where there would be over 256 shards. Draws depend on it in their last
        bits.
    memory: Bytes of rows that a thread of a worker keeps at most; others are read again each time. By default half of
        the memory that its machine or its group of processes may use, shared by the processors.
    Returns: For `executor=` of `pm.sample`.
    Raises TypeError: Where `executor` is none.
    Raises SamplingError: For a source that is none, and in the run for those that can't be opened, have other lengths,
        or rows that the model joins.
    See sample: Takes them as `executor`.
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> import consilience as pm
    >>> with pm.Model(), ThreadPoolExecutor(2) as pool:
    ...     mu = pm.Normal("mu", 0, 10)
    ...     y = pm.Normal("y", mu, 1, observed=pm.Data("data", np.zeros(2)))
    ...     rows = pm.cluster.shards(pool, {"data": np.full(1000, 3.0)}, rows=100)
    ...     result = pm.sample(executor=rows, random_seed=1, progressbar=False)
    >>> result.posterior["mu"].mean().round(1).item()
    3.0
    """
    adapted(executor)  # refuses what is none
    if not isinstance(sources, Mapping) or not sources:
        raise SamplingError('`shards` needs the sources of rows by the names of data: {"x": "x.npy"}.')
    found = [source_of(name, given, executor) for name, given in sources.items()]
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1):
        raise SamplingError(f"`rows` must be a whole number of at least 1, got {rows!r}.")
    return Shards(executor, found, None if rows is None else int(rows), None if memory is None else int(memory))


@functools.cache
def _memory() -> int:
    """Bytes of rows that a thread of this worker keeps, unless the user says."""
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        return 2**30
    for limit in _limits():
        with contextlib.suppress(OSError, ValueError):
            found.append(int(limit.read_text()))  # "max" where there is none
    return min(found) // (2 * (os.cpu_count() or 1))


def _limits() -> Iterator[Path]:
    """Files with limits of memory of this process's control groups, of Linux."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, kind, group = line.split(":", 2)
            if kind in ("", "memory"):
                root = Path("/sys/fs/cgroup") if not kind else Path("/sys/fs/cgroup/memory")
                own = Path(group.lstrip("/"))
                yield from (
                    root / part / ("memory.limit_in_bytes" if kind else "memory.max") for part in (own, *own.parents)
                )
