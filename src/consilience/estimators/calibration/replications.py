"""Many data sets that a model simulates, each with an answer: on workers of any kind, kept in a file that grows.

A model and what is to be done with one data set in; one record of plain values for each data set out. Every thread has
a copy of the model, whose data are exchanged, so that it compiles once. A replication depends on its own seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError
from consilience.estimators.approximations.laplace import fit_laplace
from consilience.estimators.approximations.pathfinder import fit_pathfinder
from consilience.estimators.smc.sampling import sample_smc
from consilience.estimators.studies.many import Many
from consilience.ir import constant_value
from consilience.model.data import data_slot
from consilience.model.model import Model
from consilience.model.predictive import predict
from consilience.model.variables import ObservedVariable
from consilience.output.storage.study_file import StudyFile
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

    Raises ModelError where nothing is observed, and for what has no simulation: potentials, missing values, batches.
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


class Study:
    """What a worker needs for any replication; each thread has a model of its own, whose data are exchanged."""

    def __init__(
        self, model: Model, answer: Callable[[Replication], Mapping[str, Any]], seed: int, fixed: Mapping[str, Any]
    ) -> None:
        self.model, self.answer, self.seed, self.fixed = model, answer, seed, fixed

    def __copy__(self) -> Study:
        return Study(self.model.copy(), self.answer, self.seed, self.fixed)

    def replication(self, number: int) -> Mapping[str, Any]:
        """What is said of one data set."""
        return self.answer(simulate(self.model, self.seed, number, self.fixed))


class Replications(Many[R]):
    """What `answer` says of each of `count` data sets; {"error": message} where it raised. A data set is a step.

    `identity`: what the file must have been written for.
    `result_of`: what is to be made of what was found, by number of the data set.
    `fixed`: values of free variables from which all data are simulated.
    `store`: file of lines; what it holds is not computed again.
    `**settings`: of `Many`.
    Raises StorageError where the file belongs to something else.
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
        store: str | Path | None,
        **settings: Any,
    ) -> None:
        super().__init__("data sets", count, **settings)
        self._result_of = result_of
        fixed, made, seed = fixed or {}, exchangeable(model), seed_from(random_seed)
        unknown = [name for name in fixed if name not in {v.name for v in model.free}]
        if unknown:
            raise ModelError(f"`fixed` has `{unknown[0]}`; free variables are {', '.join(v.name for v in model.free)}.")
        if store is not None:
            self.file = StudyFile(Path(store), identity, None if random_seed is None else seed, seed)
            seed = self.file.seed
            try:
                first = simulate(made.copy(), seed, 0, fixed)
                self.file.check({name: float(np.sum(v)) for name, v in {**first.truth, **first.data}.items()})
            except BaseException:
                self.release()
                raise
            self.done |= {k: one for k, one in self.file.found.items() if k < count}
        self._study = Study(made, answer, seed, fixed)

    def shared(self) -> Study:
        """Model, seed and what is asked."""
        return self._study

    def function(self) -> Callable[[Study, int], Mapping[str, Any]]:
        """One replication."""
        return Study.replication

    def of_all(self, found: dict[int, dict[str, Any]]) -> R:
        """What `result_of` makes of it."""
        return self._result_of(found)
