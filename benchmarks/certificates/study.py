"""Many runs of many targets on several processes: rows of JSON out, as they are known.

The order is that of usefulness: some seeds of every target first, and within a round dear targets before cheap ones;
a study that is cut off has all of them, and makes those that are missing when it is begun again with the same file. A
target that took its share of seconds gets no more runs. A run that fails is a row; so is one that ends its process,
whose place another takes.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence, Set
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.certificates.target import variables
from benchmarks.certificates.targets import TARGETS
from benchmarks.certificates.truths import known
from benchmarks.rows_of_processes import add, code, of_one_commit

ROUNDS = (5, 20, 50, 100)  # runs of every target before any has more
PIECE = 25  # runs that a process takes at once, at most
LIMIT = 60.0  # seconds of a run, after which it is asked to end
PATIENCE = 3.0  # times LIMIT, after which its process is ended
CERTIFIED = ("converged", "converged_with_divergences", "completed")


class Piece(NamedTuple):
    """Seeds of a target that a process takes at once."""

    target: str
    seeds: tuple[int, ...]


def one_run(name: str, model: Any, seed: int, limit: float) -> dict[str, Any]:
    """A row: what the run says, what is wrong with its draws, scores, and what it cost."""
    import consilience as pm
    from benchmarks.certificates.judgement import contradictions, least_of_regions, scores
    from consilience.errors import ConsilienceError

    target, began, before = TARGETS[name], time.perf_counter(), time.process_time()
    row: dict[str, Any] = {"target": name, "seed": seed}
    try:
        result = target.sample(model, seed, stop=pm.Stop(max_time=limit))
    except (ConsilienceError, ArithmeticError, ValueError, TypeError, IndexError, KeyError, RuntimeError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        return row | {
            "status": "error", "wrong": [], "z": [], "gradients": 0, "seconds": round(time.perf_counter() - began, 4),
            "reason": f"{type(error).__name__} ({place}): {str(error)[:300]}",
        }  # fmt: skip
    seconds, processor = time.perf_counter() - began, time.process_time() - before
    truth = known(name)
    if truth is None:
        wrong, z, least = ["there is no posterior"], [], None
    else:
        measured = target.measure(variables(model, result["posterior"]))
        wrong, z = contradictions(truth, measured), scores(truth, measured)
        least = least_of_regions(truth, measured)
    posterior = result["posterior"]
    return row | {
        "status": result.status, "wrong": wrong[:6], "z": z, "gradients": int(posterior.attrs.get("gradients", 0)),
        "seconds": round(seconds, 4), "cpu": round(processor, 4), "draws": int(posterior.sizes["draw"]),
        "least": least, "reason": result.reason[:300],
    }  # fmt: skip


def work(pipe: Connection, limit: float) -> None:
    """A process: pieces in, a row for each seed out, then None."""
    model, built = None, ""
    while (piece := pipe.recv()) is not None:
        if piece.target != built:
            model, built = TARGETS[piece.target].make(), piece.target
        for seed in piece.seeds:
            pipe.send(one_run(piece.target, model, seed, limit))
        pipe.send(None)


def pieces(names: Sequence[str], seeds: range) -> Iterator[list[Piece]]:
    """Rounds of work."""
    done = 0
    for until in (*(r for r in ROUNDS if r < len(seeds)), len(seeds)):
        piece = min(PIECE, max(1, (until - done) // 2))
        cuts = range(done, until, piece)
        yield [Piece(name, tuple(seeds[k : min(k + piece, until)])) for k in cuts for name in names]
        done = until


def left_of(work: Sequence[Piece], done: Set[tuple[str, int]]) -> list[Piece]:
    """The same without runs that there are."""
    left = [Piece(name, tuple(seed for seed in seeds if (name, seed) not in done)) for name, seeds in work]
    return [piece for piece in left if piece.seeds]


class Worker:
    """A process, what it is at, and since when."""

    def __init__(self, limit: float) -> None:
        here, there = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=work, args=(there, limit), daemon=True)
        self.process.start()
        there.close()
        self.pipe, self.piece, self.left, self.since = here, Piece("", ()), list[int](), time.monotonic()

    def give(self, piece: Piece) -> None:
        """Work for it."""
        self.piece, self.left, self.since = piece, list(piece.seeds), time.monotonic()
        self.pipe.send(piece)


class Study:
    """All of it: `run` writes the rows.

    per_target   most seconds that all runs of a target may take together
    budget       seconds after which no more work is given out
    limit        seconds after which a run is asked to end
    """

    def __init__(
        self,
        names: Sequence[str],
        seeds: range,
        processes: int,
        out: Path,
        per_target: float,
        budget: float,
        limit: float,
    ) -> None:
        self.code = code()
        done = {(row["target"], row["seed"]) for row in of_one_commit(out, self.code["commit"])}
        self.rounds = (left_of(work, done) for work in pieces(names, seeds))
        self.out, self.processes, self.per_target, self.budget, self.limit = out, processes, per_target, budget, limit
        self.spent: dict[str, float] = dict.fromkeys(names, 0.0)
        self.runs: dict[str, int] = dict.fromkeys(names, 0)
        self.queue: list[Piece] = []
        self.began = time.monotonic()
        for name in names:
            known(name)  # what is missing is told before anything runs

    def next(self) -> Piece | None:
        """What to do now: the dearest target of the round comes first, where costs are known."""
        while time.monotonic() - self.began < self.budget:
            while not self.queue:
                work = next(self.rounds, None)
                if work is None:
                    return None
                self.queue = sorted(work, key=lambda piece: -self.expected(piece.target))
            piece = self.queue.pop(0)
            cost, left = self.expected(piece.target), self.per_target - self.spent[piece.target]
            if left > cost:
                return (
                    piece if not cost else piece._replace(seeds=piece.seeds[: int(min(left / cost, len(piece.seeds)))])
                )
        return None

    def expected(self, name: str) -> float:
        """Seconds of a run."""
        return self.spent[name] / self.runs[name] if self.runs[name] else 0.0

    def run(self) -> None:
        """Until all is done, or time is up."""
        os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
        workers = [Worker(self.limit) for _ in range(self.processes)]

        def write(row: Mapping[str, Any]) -> None:
            self.spent[row["target"]] += row["seconds"]
            self.runs[row["target"]] += 1
            add(self.out, {**row, **self.code})

        busy = [worker for worker in workers if self._feed(worker)]
        while busy and time.monotonic() - self.began < self.budget + self.limit:
            ready = wait([worker.pipe for worker in busy], timeout=1.0)
            for place, worker in enumerate(workers):
                if worker not in busy:
                    continue
                if worker.pipe not in ready:
                    if time.monotonic() - worker.since > PATIENCE * self.limit:
                        worker.process.kill()
                    continue
                try:
                    row = worker.pipe.recv()
                except EOFError:
                    workers[place] = self._replaced(worker, write)
                    busy.remove(worker)
                    if workers[place].left or self._feed(workers[place]):
                        busy.append(workers[place])
                    continue
                if row is not None:
                    worker.left.remove(row["seed"])
                    worker.since = time.monotonic()
                    write(row)
                elif not self._feed(worker):
                    busy.remove(worker)
        for worker in workers:
            worker.process.kill()

    def _feed(self, worker: Worker) -> bool:
        piece = self.next()
        if piece is not None:
            worker.give(piece)
        return piece is not None

    def _replaced(self, worker: Worker, write: Any) -> Worker:
        """Another process for one that ended; the run that it was at is a row, and the others go on."""
        worker.process.join()
        name, code = worker.piece.target, worker.process.exitcode
        fresh = Worker(self.limit)
        if worker.left:
            seconds = round(time.monotonic() - worker.since, 4)
            row = {"target": name, "seed": worker.left[0], "status": "crash", "wrong": [], "z": [], "gradients": 0}
            write(row | {"seconds": seconds, "reason": f"the process ended with {code}"})
            if worker.left[1:]:
                fresh.give(Piece(name, tuple(worker.left[1:])))
        return fresh
