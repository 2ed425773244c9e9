"""Many data sets that a model simulates, each with an answer: on several threads, kept in a file that grows.

A model and what is to be done with one data set in; one record of plain values for each data set out. Every thread has
a copy of the model, whose data are exchanged, so that it compiles once. A replication depends on its own seed alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from consilience.distributions.seeds import seed_from
from consilience.errors import (
    ConsilienceError,
    ConsilienceWarning,
    ConvergenceWarning,
    ModelError,
    SamplingError,
    StorageError,
)
from consilience.estimators.approximations.laplace import fit_laplace
from consilience.estimators.approximations.pathfinder import fit_pathfinder
from consilience.estimators.smc.sampling import sample_smc
from consilience.events import Listener
from consilience.ir import constant_value
from consilience.model.data import data_slot
from consilience.model.model import Model
from consilience.model.predictive import predict
from consilience.model.variables import ObservedVariable
from consilience.native.threads import NativeThreads
from consilience.run.handle import TICK
from consilience.run.steps import Stepwise
from consilience.sample.posterior import sample

R = TypeVar("R")
Values = dict[str, npt.NDArray[Any]]
Sampler = Callable[..., Any] | str
SAMPLERS: dict[str, Callable[..., Any]] = {
    "nuts": lambda model, seed: sample(
        model=model,
        random_seed=seed,
        cores=1,
        progressbar=False,
        compute_convergence_checks=False,
        remedies=("steps", "coordinates", "jumps"),
    ),
    "smc": lambda model, seed: sample_smc(
        model=model, random_seed=seed, cores=1, draws=1000, chains=2, progressbar=False
    ),
    "pathfinder": lambda model, seed: fit_pathfinder(model=model, random_seed=seed),
    "laplace": lambda model, seed: fit_laplace(model=model, random_seed=seed),
}


class Replication:
    """One data set: the model that has it, what it was simulated from, and a seed for what is done with it."""

    def __init__(self, model: Model, truth: Values, data: Values, seed: int) -> None:
        self.model, self.truth, self.data, self.seed = model, truth, data, seed


def sampler_of(sampler: Sampler) -> tuple[str, Callable[..., Any]]:
    """A name and a function (model, seed) of a sampler that is one of SAMPLERS, `pm.sample` or a function."""
    if isinstance(sampler, str):
        if sampler not in SAMPLERS:
            raise ValueError(f"`sampler` must be one of {', '.join(SAMPLERS)} or a function, got {sampler!r}.")
        return sampler, SAMPLERS[sampler]
    if sampler is sample:
        return "nuts", SAMPLERS["nuts"]
    if sampler is sample_smc:
        return "smc", SAMPLERS["smc"]
    return getattr(sampler, "__name__", type(sampler).__name__), sampler


def exchangeable(model: Model) -> Model:
    """A copy of a model whose observed values can be exchanged.

    raises   ModelError where nothing is observed, and for what has no simulation: potentials, missing values, batches
    """
    if not model.observed:
        raise ModelError("the model has no observed variables, so there are no data to simulate.")
    if model.named_potentials:
        name = next(iter(model.named_potentials))
        raise ModelError(f"the potential `{name}` has no part in simulated data; write it as a distribution.")
    made = model.copy()
    slots = {node: name for name, node in made.data.items()}
    for i, v in enumerate(made.observed):
        if v.weight is not None:
            raise ModelError(f"`{v.name}` is observed in batches; simulate from a model of all its data.")
        if v.data in slots:
            continue
        value = constant_value(v.data)
        if value is None:
            raise ModelError(f"the data of `{v.name}` are an expression; give it numbers or `pm.Data`.")
        slot = data_slot(f"{v.name} simulated", np.asarray(value), v.data.static_shape)
        made.data[f"{v.name} simulated"] = slot
        made.observed[i] = ObservedVariable(v.name, v.node, slot)
    if len({v.data for v in made.observed}) < len(made.observed):
        raise ModelError("two observed variables share the same data; give each its own.")
    made.cache.clear()
    return made


def seed_of(seed: int, replication: int, purpose: int) -> int:
    """A seed of its own for each replication and purpose."""
    return int(np.random.SeedSequence([seed, replication, purpose]).generate_state(1, np.uint32)[0])


def simulate(model: Model, seed: int, replication: int, fixed: Mapping[str, Any]) -> Replication:
    """Draw the parameters that are not fixed and then the data, and give the data to the model."""
    observed = [v.name for v in model.observed]
    free = [v.name for v in model.free] + list(model.named_deterministics)
    given = {name: np.asarray(value, model.named[name].dtype)[None] for name, value in fixed.items()}
    wanted = [name for name in free + observed if name not in given]
    drawn = given | predict(model, wanted, given, 1, seed_of(seed, replication, 0))
    data = {name: drawn[name][0] for name in observed}
    names = {node: name for name, node in model.data.items()}
    model.set_all({names[v.data]: data[v.name] for v in model.observed})
    return Replication(model, {name: drawn[name][0] for name in free}, data, seed_of(seed, replication, 1))


class Replications(Stepwise[R]):
    """What `answer` says of each of `count` data sets; {"error": message} where it raised. A data set is a step.

    result_of  what is to be made of what was found, by number of the data set
    identity   what the file must have been written for
    fixed      values of free variables from which all data are simulated
    store      file of lines; what it holds is not computed again
    raises     StorageError where the file belongs to something else
    """

    def __init__(
        self,
        model: Model,
        answer: Callable[[Replication], Mapping[str, Any]],
        count: int,
        identity: Mapping[str, Any],
        result_of: Callable[[dict[int, dict[str, Any]]], R],
        *,
        fixed: Mapping[str, Any] | None = None,
        random_seed: Any,
        cores: int | None,
        store: str | Path | None,
        progressbar: bool = False,
        callback: Listener | None = None,
    ) -> None:
        super().__init__(progressbar, callback)
        if count < 1 or (cores is not None and cores < 1):
            raise ValueError(f"`n` and `cores` must be at least 1, got {count} and {cores}.")
        self._model, self._answer, self._count, self._result_of = exchangeable(model), answer, count, result_of
        self._fixed, self._cores = fixed or {}, cores
        unknown = [name for name in self._fixed if name not in {v.name for v in model.free}]
        if unknown:
            raise ModelError(f"`fixed` has `{unknown[0]}`; free variables are {', '.join(v.name for v in model.free)}.")
        self._file = ReplicationFile(Path(store), identity, random_seed) if store is not None else None
        self._seed = seed_from(random_seed) if self._file is None else self._file.seed
        self._done: dict[int, dict[str, Any]] = {}
        if self._file is not None:
            first = simulate(self._model.copy(), self._seed, 0, self._fixed)
            self._file.check({name: float(np.sum(v)) for name, v in {**first.truth, **first.data}.items()})
            self._done |= {k: one for k, one in self._file.found.items() if k < count}
        self._own, self._copying = threading.local(), threading.Lock()

    def work(self) -> None:
        """All data sets that the file does not have."""
        missing = [k for k in range(self._count) if k not in self._done]
        threads = max(1, min(len(missing), self._cores or os.cpu_count() or 1))
        # Filters are the whole process's: a thread of its own must not exchange them under the feet of others.
        with contextlib.nullcontext() if self.in_background else warnings.catch_warnings():
            if not self.in_background:
                warnings.simplefilter("ignore", ConsilienceWarning)  # what they tell is counted
            pool = NativeThreads(threads)
            try:
                waiting = {pool.submit(self._one, k) for k in missing}
                while waiting:
                    finished, waiting = wait(waiting, TICK, FIRST_COMPLETED)
                    for one in finished:
                        self._note(one.result())
                    self.tell()
            finally:
                self.stop()  # if it is not over
                pool.shutdown(cancel_futures=True)

    def _one(self, k: int) -> tuple[int, dict[str, Any]] | None:
        if not self.step():
            return None
        if not hasattr(self._own, "model"):
            with self._copying:
                self._own.model = self._model.copy()
        simulation = simulate(self._own.model, self._seed, k, self._fixed)
        try:
            return k, dict(self._answer(simulation))
        except ConsilienceError as error:
            return k, {"error": f"{type(error).__name__}: {error}"}

    def _note(self, answered: tuple[int, dict[str, Any]] | None) -> None:
        if answered is not None:
            k, found = answered
            self._done[k] = found
            if self._file is not None:
                self._file.append(k, found)

    def result(self, stacklevel: int) -> R:
        """What was found; ConvergenceWarning where it was stopped before the last data set."""
        if len(self._done) < self._count:
            warnings.warn(
                f"the study was stopped after {len(self._done)} of {self._count} data sets; this is what they tell.",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )
        return self.so_far()

    def so_far(self) -> R:
        """Of the data sets that are done; SamplingError as long as there is none."""
        if not self._done:
            raise SamplingError("no data set has been analysed yet.")
        return self._result_of(dict(sorted(self._done.items())))

    def where(self) -> tuple[int, int, str]:
        """Data sets that are done, and how many of them failed."""
        done = list(self._done.values())
        failed = sum("error" in one for one in done)
        return len(done), self._count, f"{len(done)} of {self._count} data sets · {failed} failed"


class ReplicationFile:
    """A file whose first line says what it is for, and every other is a replication; a torn last line is dropped."""

    def __init__(self, path: Path, identity: Mapping[str, Any], random_seed: Any) -> None:
        self.path = path
        self.found: dict[int, dict[str, Any]] = {}
        self.first: dict[str, float] | None = None
        if path.exists():
            whole = path.read_bytes()
            kept = whole[: whole.rfind(b"\n") + 1]
            if kept != whole:
                os.truncate(path, len(kept))
            lines = [json.loads(line) for line in kept.splitlines()]
            if lines:
                self._read(lines, identity, random_seed)
                return
        self.seed = seed_from(random_seed)
        self._write({"identity": dict(identity), "seed": self.seed})

    def _read(self, lines: list[dict[str, Any]], identity: Mapping[str, Any], random_seed: Any) -> None:
        head = lines[0]
        self.seed = head["seed"]
        wanted = json.loads(json.dumps(dict(identity)))
        if head["identity"] != wanted:
            raise StorageError(f"{self.path} was written for {head['identity']}, not for {wanted}; take another file.")
        if random_seed is not None and seed_from(random_seed) != self.seed:
            raise StorageError(f"{self.path} was begun with the seed {self.seed}; give that one, or another file.")
        self.found = {line["replication"]: line["found"] for line in lines[1:] if "replication" in line}
        self.first = next((line["first"] for line in lines[1:] if "first" in line), None)

    def check(self, first: Mapping[str, float]) -> None:
        """Refuse a file of another model: what replication 0 simulates must be the same."""
        if self.first is None:
            self.first = dict(first)
            self._write({"first": self.first})
        elif set(self.first) != set(first) or not all(np.isclose(self.first[k], first[k], 1e-6) for k in first):
            raise StorageError(f"{self.path} was written for another model, which simulates other data; take another.")

    def append(self, replication: int, found: Mapping[str, Any]) -> None:
        """Add a replication."""
        self._write({"replication": replication, "found": dict(found)})

    def _write(self, line: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
