"""The rows of a density on workers: who holds which, and sums that do not depend on it.

An executor and sources of rows in; a value for each shard, in the order of shards, out. What is computed of a shard
stays outside.
"""

from __future__ import annotations

import copy
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from consilience.cluster.row_sources import RowSource
from consilience.cluster.workers import Broadcast, Workers
from consilience.errors import SamplingError

ROWS: Final = 1 << 16
"""Rows of a shard at least, and shards at most, unless the user says."""
MOST: Final = 256


class Shards:
    """Rows that workers read; made by `pm.cluster.shards`, for `pm.sample(executor=...)`.

    Parameters
    ----------
    executor : Executor
        Whose workers read them.
    sources : list of RowSource
        What has the rows of each `pm.Data`.
    rows : int or None
        Rows of a shard.
    memory : int
        Bytes of rows that a worker keeps at most.

    See Also
    --------
    shards : Makes them.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> import consilience as pm
    >>> with ThreadPoolExecutor(2) as pool:
    ...     rows = pm.cluster.shards(pool, {"data": np.zeros(1000)}, rows=100)
    >>> isinstance(rows, pm.cluster.Shards)
    True
    """

    def __init__(self, executor: Any, sources: list[RowSource], rows: int | None, memory: int) -> None:
        self.executor, self.sources, self.rows, self.memory = executor, sources, rows, memory

    def over(self, work: Any, what: str) -> ShardSums:
        """Sums over all rows of what `work(values by name, first row)` gives on workers; see `ShardSums`."""
        return ShardSums(self, work, what)


class _Job:
    """What a worker keeps: sources that are open, and what was made of the shards that it had lately."""

    def __init__(self, sources: list[RowSource], memory: int, work: Any) -> None:
        self.sources, self.memory, self.work = sources, memory, work
        self.made: dict[tuple[int, int], tuple[Any, int]] = {}

    def __copy__(self) -> _Job:
        return _Job([RowSource(s.name, s.given, s.columns) for s in self.sources], self.memory, copy.copy(self.work))

    def of(self, first: int, behind: int) -> Any:
        """What `work` made of the rows of a shard; the latest that fit in the memory are kept."""
        known = self.made.pop((first, behind), None)
        if known is None:
            values = {source.name: source.read(first, behind) for source in self.sources}
            known = self.work(values, first), sum(value.nbytes for value in values.values())
        else:
            for source in self.sources:
                source.check()
        self.made[first, behind] = known
        while sum(size for _, size in self.made.values()) > self.memory and len(self.made) > 1:
            self.made.pop(next(iter(self.made)))
        return known[0]


def _lengths(job: _Job) -> dict[str, int]:
    return {source.name: source.length() for source in job.sources}


def _values(job: _Job, parts: list[tuple[int, int]], argument: Any) -> list[Any]:
    return [job.of(first, behind)(argument) for first, behind in parts]


class ShardSums:
    """Values of all shards on the workers of an executor; any thread may ask for them, one after the other.

    length   rows
    parts    first row of each shard, and the one behind; they follow from the rows alone
    """

    def __init__(self, shards: Shards, work: Any, what: str) -> None:
        self._lock = threading.Lock()
        self._workers = Workers(shards.executor)
        self.close = weakref.finalize(self, self._workers.close)
        memory = shards.memory
        self._job: Broadcast = self._workers.share(_Job(shards.sources, memory, work), what)
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
        each = -(-len(self.parts) // min(len(self.parts), self._workers.count))
        groups = [self.parts[i : i + each] for i in range(0, len(self.parts), each)]
        return [value for values in self._all(_values, [(group, argument) for group in groups]) for value in values]

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

    Parameters
    ----------
    executor : Executor
        Of `concurrent.futures`, a Dask client, `pm.cluster.ray()`.
    sources : mapping of str to object
        By the name of `pm.Data`, what has its rows: a path to a `.npy` file, which is mapped, or to a `.zarr` array;
        (path, column) or (path, [columns]) of parquet, a file or a folder of files; an array that is sliced by rows and
        can be pickled, of zarr, Dask or `np.memmap`, which is sent as its path. They are opened by the workers, never
        here.
    rows : int, optional
        Of a shard; 65,536 by default, and more where there would be over 256 shards. Draws depend on it in their last
        bits.
    memory : float, optional
        Bytes of rows that a worker keeps at most; others are read again each time. A quarter of the memory that the
        machine has by default.

    Returns
    -------
    Shards
        For `executor=` of `pm.sample`.

    Raises
    ------
    SamplingError
        For a source that is none, and in the run for those that can't be opened, have other lengths, or rows that the
        model joins.

    See Also
    --------
    sample : Takes them as `executor`.

    Examples
    --------
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
    found = []
    for name, given in dict(sources).items():
        path, columns = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        if not isinstance(path, str | os.PathLike) and not all(hasattr(path, own) for own in ("shape", "__getitem__")):
            raise SamplingError(
                f"the source of `{name}` must be a path, (path, columns) or an array of rows, got "
                f"{type(path).__name__}."
            )
        found.append(RowSource(name, path, list(columns) if isinstance(columns, list | tuple) else columns))
    if not found:
        raise SamplingError('`shards` needs the sources of rows by the names of data: {"x": "x.npy"}.')
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1):
        raise SamplingError(f"`rows` must be a whole number of at least 1, got {rows!r}.")
    return Shards(executor, found, None if rows is None else int(rows), _memory() if memory is None else int(memory))


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    except (AttributeError, ValueError, OSError):
        return 2**30
