"""Posteriors without some of the observations, and the log predictive densities of these.

A model, or ArviZ's wrapper of one, and which observations are left out in; a number for each of these out. A model has
truth values beside its data, so that it compiles once per worker; what is left out has no part in its density.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts
from consilience.diagnostics.variables import attributes, unbuilt
from consilience.distributions.densities import density_of_data
from consilience.distributions.seeds import seed_from
from consilience.errors import ConsilienceWarning, MissingPackageError, ModelError, SamplingError, warn
from consilience.estimators.studies.many import Many
from consilience.estimators.studies.many_fits import identity
from consilience.ir import dimension as dims
from consilience.model.data import data_slot
from consilience.model.model import Model, modelcontext
from consilience.model.observation import slot_values
from consilience.model.predictive import log_likelihood
from consilience.model.variables import ObservedVariable
from consilience.output.storage.study_file import StudyFile
from consilience.sample.derived import compute_log_likelihood
from consilience.sample.given import Given

Floats = npt.NDArray[np.float64]
PART: Final = 2**22
"""Log densities that are computed at once."""
DOUBTFUL: Final = ("not_converged", "chains_disagree", "interrupted")


class ModelRefits:
    """A model of which observations can be left out, and how it is sampled.

    counting   name of the truth values beside the data of `name`
    """

    def __init__(
        self, model: Model, name: str, counting: str, seed: int, sampler: Callable[..., Any], sampling: dict[str, Any]
    ) -> None:
        self.model, self.name, self.counting, self.seed = model, name, counting, seed
        self.sampler, self.sampling = sampler, sampling

    @classmethod
    def of(cls, model: Model, name: str, seed: int, sampler: Callable[..., Any], sampling: dict[str, Any]) -> Any:
        """Of a copy of a model.

        raises   ModelError where the variable isn't observed, in batches, or one event
        """
        made = model.copy()
        places = {v.name: i for i, v in enumerate(made.observed)}
        if name not in places:
            raise ModelError(f"`{name}` is not observed; what is: {', '.join(places) or 'nothing'}.")
        own = made.observed[places[name]]
        if own.weight is not None:
            raise ModelError(f"`{name}` is observed in batches; refit a model of all its data.")
        shape = density_of_data(own.node, own.data).static_shape
        if not shape:
            raise ModelError(f"the observations of `{name}` have one log density together, so none can be left out.")
        counting = f"{name} counts"
        lengths = slot_values(made)[3]
        everything = np.ones([dims.substitute(n, lengths) for n in shape], bool)
        slot = made.data[counting] = data_slot(counting, everything, shape)
        made.observed[places[name]] = ObservedVariable(name, own.node, own.data, slot)
        made.cache.clear()
        return cls(made, name, counting, seed, sampler, sampling)

    def __copy__(self) -> ModelRefits:
        return ModelRefits(self.model.copy(), self.name, self.counting, self.seed, self.sampler, self.sampling)

    def refit(self, number: int, held: npt.NDArray[np.intp]) -> tuple[Any, Floats]:
        """A posterior without observations, given by their places in the flat data, and their log densities by it."""
        counts = np.ones_like(contexts.DEFAULT.get(self.model.data[self.counting]))
        counts.ravel()[held] = False
        self.model.set_all({self.counting: counts})
        settings = {"cores": 1, "progressbar": False, **self.sampling}
        if threading.current_thread() is threading.main_thread():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConsilienceWarning)  # `status` tells what they do
                tree = self.sampler(model=self.model, random_seed=seed_from([self.seed, number]), **settings)
        else:
            tree = self.sampler(model=self.model, random_seed=seed_from([self.seed, number]), **settings)
        groups = unbuilt(tree)  # a tree of xarray takes time to build
        free = {} if groups is None else {v.name: groups["posterior"].data_vars[v.name].values for v in self.model.free}
        draws = Given.of(self.model, free or tree, None)
        step = max(1, PART // counts.size)
        each = np.concatenate([
            log_likelihood(self.model, [self.name], {k: v[i : i + step] for k, v in draws.values.items()}, size)[
                self.name
            ].reshape(size, -1)[:, held]
            for i in range(0, draws.count, step)
            if (size := min(step, draws.count - i))
        ])  # fmt: skip
        return tree, log_mean(each)


class WrapperRefits:
    """ArviZ's `SamplingWrapper`, which knows how its model is refitted.

    places   what its `sel_observations` is asked for, by number
    """

    def __init__(self, wrapper: Any, places: Mapping[int, Any]) -> None:
        missing = wrapper.check_implemented_methods(
            ["sel_observations", "sample", "get_inference_data", "log_likelihood__i"]
        )
        if missing:
            raise SamplingError(f"the wrapper needs {', '.join(f'`{name}`' for name in missing)} of its own.")
        self.wrapper, self.places = wrapper, places

    def refit(self, number: int, held: npt.NDArray[np.intp]) -> tuple[Any, Floats]:
        """As `ModelRefits.refit`."""
        given, left_out = self.wrapper.sel_observations(self.places[number])
        tree = self.wrapper.get_inference_data(self.wrapper.sample(given))
        found = self.wrapper.log_likelihood__i(left_out, tree)
        draws = [dim for dim in ("chain", "draw", "sample", "__sample__") if dim in found.dims]
        return tree, log_mean(found.transpose(*draws, ...).to_numpy().reshape(-1, len(held)))


def log_mean(values: Floats) -> Floats:
    """Logarithm of the mean over the first axis of what these are the logarithms of."""
    result: Floats = np.logaddexp.reduce(values, axis=0) - np.log(len(values))
    return result


def _refitted(refits: Any, item: tuple[int, npt.NDArray[np.intp], bool]) -> dict[str, Any]:
    number, held, keeps = item
    began = time.perf_counter()
    tree, found = refits.refit(number, held)
    told = {
        "elpd": found.tolist(),
        "status": str(attributes(tree).get("status", "")),
        "seconds": time.perf_counter() - began,
    }
    return told | ({"fit": tree} if keeps else {})


class Refitting(Many[dict[int, dict[str, Any]]]):
    """Refits side by side: {"elpd": log density of each that was left out} or {"error": why not}, by place.

    held      places of observations that are left out together, by the number on which their seed depends
    store     file of lines; what it has is not computed again
    about     what the file must have been written for
    retry     whether refits that failed before are tried again
    keeps     whether posteriors are kept, too
    """

    def __init__(
        self,
        refits: Any,
        held: Mapping[int, npt.NDArray[np.intp]],
        *,
        store: str | Path | None = None,
        about: Mapping[str, Any] | None = None,
        retry: bool = False,
        keeps: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__("refits", len(held), tolerated=Exception, **settings)
        self._refits, self._held, self._numbers, self._keeps = refits, held, list(held), keeps
        if store is None:
            return
        if keeps:
            raise SamplingError("`store` has log densities alone; give `save_fits=True` without it.")
        if isinstance(refits, ModelRefits):
            own: Any = [identity(refits.model), {k: repr(v) for k, v in sorted(refits.sampling.items())}]
            self.file = StudyFile(Path(store), {**(about or {}), "of": _digest(own)}, refits.seed, refits.seed)
        else:
            own = identity(refits.wrapper)
            self.file = StudyFile(Path(store), {**(about or {}), "of": _digest(own)}, 0, 0)
        there = {k: one for k, one in self.file.found.items() if not (retry and "error" in one)}
        self.done |= {i: there[k] for i, k in enumerate(self._numbers) if k in there}

    def shared(self) -> Any:
        """What all refits need."""
        return self._refits

    def function(self) -> Callable[[Any, Any], Mapping[str, Any]]:
        """One refit."""
        return _refitted

    def item(self, number: int) -> tuple[int, npt.NDArray[np.intp], bool]:
        """Its number, and what is left out."""
        return self._numbers[number], self._held[self._numbers[number]], self._keeps

    def keep(self, number: int, found: Mapping[str, Any]) -> None:
        """The file has refits by their own numbers, of which there may be others another day."""
        self.done[number] = dict(found)
        if self.file is not None:
            self.file.append(self._numbers[number], found)

    def of_all(self, found: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
        """By number."""
        return {self._numbers[i]: one for i, one in found.items()}

    def run(self) -> dict[int, dict[str, Any]]:
        """All of them; ConsilienceWarning with the reasons of those that failed or are in doubt."""
        found = self.delivered(True) if self._held else {}
        errors = {k: one["error"] for k, one in found.items() if "error" in one}
        doubtful = [k for k, one in found.items() if one.get("status") in DOUBTFUL]
        if errors:
            number, reason = next(iter(errors.items()))
            warn(
                f"{len(errors)} of {len(self._held)} refits failed, such as {number}: {reason}. `errors` has all "
                "reasons."
            )
        if doubtful:
            warn(
                f"{len(doubtful)} of {len(self._held)} refits did not converge, such as {doubtful[0]}; give more "
                "`draws` or `tune`."
            )
        return found


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]


def arviz(name: str) -> Any:
    """A function or class of ArviZ; MissingPackageError where it is not installed."""
    try:
        package = {"ELPDData": "arviz_stats.utils", "rcParams": "arviz_base"}.get(name, "arviz_stats")
        return getattr(import_module(package), name)
    except ImportError as error:
        raise MissingPackageError.of("ArviZ", "`pip install 'consilience[plots]'`", error) from error


def is_wrapper(value: Any) -> bool:
    """Whether it is ArviZ's way to refit a model."""
    return all(hasattr(value, name) for name in ("sel_observations", "log_likelihood__i", "get_inference_data"))


def pointwise_of(data: Any, name: str | None, model: Model | None) -> tuple[Any, str]:
    """Log likelihoods (chain, draw, …) of one observed variable of a result, computed if it has none, and its name.

    raises   ModelError where it is not clear which variable is meant
    """
    if "log_likelihood" in data.children:
        found = data["log_likelihood"]
    else:
        found = compute_log_likelihood(data, model=modelcontext(model), extend_inferencedata=False)
    known = list(found.data_vars)
    if name is None and len(known) != 1:
        raise ModelError(f"`var_name` must say which observed variable is meant; there are {', '.join(known)}.")
    chosen = str(known[0]) if name is None else name
    if chosen not in known:
        raise ModelError(f"`{chosen}` has no log likelihood; there are those of {', '.join(known)}.")
    return found[chosen], chosen


def refits_of(
    wrapper: Any,
    model: Model | None,
    name: str,
    places: Mapping[int, Any],
    random_seed: Any,
    sampler: Callable[..., Any],
    sampling: dict[str, Any],
) -> Any:
    """Of ArviZ's wrapper if there is one, else of the model."""
    if wrapper is not None:
        if sampling:
            raise SamplingError(f"the wrapper samples; give it `{next(iter(sampling))}`, or leave out the wrapper.")
        return WrapperRefits(wrapper, places)
    return ModelRefits.of(modelcontext(model), name, seed_from(random_seed), sampler, sampling)


def axes_of(values: Any) -> list[str]:
    """Axes of observations."""
    return [str(dim) for dim in values.dims if dim not in ("chain", "draw")]


def place_for_wrapper(place: int, values: Any) -> Any:
    """A place in flat data as ArviZ's `reloo` asks wrappers for it: its index, or labels of several axes."""
    axes = axes_of(values)
    if len(axes) == 1:
        return np.intp(place)
    index = np.unravel_index(place, tuple(values.sizes[dim] for dim in axes))
    return {dim: values.coords[dim].values[i] for dim, i in zip(axes, index, strict=True)}
