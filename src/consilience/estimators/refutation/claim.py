"""What is attacked: the draws of a result as positions of a model's density, and as scalars with names.

A result and perhaps its model in; a `Claim` out. Discrete variables are summed out of the model first.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.variables import VariableDraws, gather
from consilience.errors import ConsilienceError, ModelError, SamplingError
from consilience.estimators.refutation.symmetry import exchanged
from consilience.inference.modes.evaluations import Evaluations
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.marginalization import marginalize
from consilience.model.model import Model, modelcontext

Floats = npt.NDArray[np.float64]
LOG_DENSITY: Final = "log density"
MOST_DRAWS: Final = 4000  # of all chains, evenly spread
FEWEST_DRAWS: Final = 20  # of each chain
RATE_ROWS, RATE_MOST = 32, 8192  # points at which a rate is measured
RATE_TRIES, RATE_SECONDS = 3, 0.002


class Claim:
    """Draws, and the density they are claimed to be of.

    model       without discrete variables, where they can be summed out
    density     of it, on the unconstrained space
    positions   the draws there, (chain, draw, dimension)
    values      the same on the variables' own scales, arrays (chain, draw, ...) by name
    names, scalars   those that are compared, with the log density as the last, (scalar, chain, draw)
    summed      names of discrete variables that were summed out, and are not attacked
    exchanged   names of variables whose labels can be exchanged, and were at random
    unreachable why there is no density to attack the draws with; then `density` and `positions` are not there
    """

    def __init__(self, result: Any, model: Model | None, threads: int) -> None:
        self.threads = threads
        owner = _model_of(result, model)
        drawn = {one.name: one for one in gather(posterior_of(result))}
        missing = [v.name for v in owner.free if v.name not in drawn and v.continuous]
        if missing:
            raise ModelError(
                f"the result has no draws of `{missing[0]}`, and all free variables are needed; it has "
                f"{', '.join(drawn) or 'none'}. Sample without `var_names`, or give the model of these draws: `model=`."
            )
        self.model, self.summed, self.unreachable = _continuous(owner)
        self._variables = [drawn[v.name] for v in self.model.free if v.name in drawn]
        chains, count = self._variables[0].draws.shape[:2]
        if count < FEWEST_DRAWS:
            raise SamplingError(f"{FEWEST_DRAWS} draws of each chain are needed to be attacked, got {count}.")
        step = -(-chains * count // MOST_DRAWS)
        self.values = {one.name: np.asarray(one.draws)[:, ::step] for one in self._variables}
        self.exchanged: list[str] = []
        self.names = tuple(n for one in self._variables for n in one.element_names())
        if self.unreachable:
            own = np.concatenate([a.reshape(*a.shape[:2], -1) for a in self.values.values()], axis=2)
            self.scalars = np.moveaxis(own.astype(float), 2, 0)
            return
        self.density: ModelDensity = model_density(self.model)
        if self.density.simulated or self.density.batches:
            what = "a Simulator" if self.density.simulated else "minibatches"
            raise ModelError(f"a model with {what} has no log density to attack draws with.")
        self.values, self.exchanged = exchanged(self.values, self._own_log_density, 0)
        flat = {name: a.reshape(-1, *a.shape[2:]) for name, a in self.values.items()}
        self.positions = self.density.unconstrained(flat).reshape(chains, -1, self.density.dimension)
        self.names = (*self.names, LOG_DENSITY)
        self.scalars = self.scalars_of(self.values, self.positions)
        nowhere = int((~np.isfinite(self.scalars[-1])).sum())
        if nowhere:
            raise ModelError(
                f"at {nowhere} of {self.scalars[-1].size} draws the model has no density: they are not of this model "
                "with its present data."
            )

    def _own_log_density(self, values: Mapping[str, npt.NDArray[Any]]) -> Floats:
        """Log densities of values (draw, ...) on the variables' own scales."""
        joint = any(v.sampled is not None and v.sampled.rank() > 0 for v in self.model.free)
        # Coordinates of each element by itself are exchanged with the elements; those of a simplex are not.
        density = model_density(self.model, jacobian=False) if joint else self.density
        with Evaluations(density, 2**62, 1) as evaluations:
            return evaluations.at(density.unconstrained(values))

    def scalars_of(self, values: dict[str, npt.NDArray[Any]], positions: Floats) -> Floats:
        """What is compared, (scalar, group, draw), of values (group, draw, ...) and positions (group, draw, ...)."""
        groups, count = positions.shape[:2]
        parts = [values[one.name].reshape(groups, count, -1) for one in self._variables]
        with Evaluations(self.density, 2**62, self.threads) as evaluations:
            logp = evaluations.at(positions.reshape(-1, self.density.dimension))
        own = np.concatenate([*parts, logp.reshape(groups, count, 1)], axis=2).astype(float)
        return np.ascontiguousarray(np.moveaxis(own, 2, 0))

    def scalars_in(self, tree: Any) -> Floats:
        """What is compared, (scalar, chain, draw), of another result that has draws of the same variables."""
        drawn: dict[str, VariableDraws] = {one.name: one for one in gather(tree)}
        values = {one.name: np.asarray(drawn[one.name].draws) for one in self._variables}
        groups = next(iter(values.values())).shape[0]
        flat = {name: a.reshape(-1, *a.shape[2:]) for name, a in values.items()}
        positions = self.density.unconstrained(flat).reshape(groups, -1, self.density.dimension)
        return self.scalars_of(values, positions)

    @cached_property
    def rate(self) -> float:
        """Gradients that all threads compute in a second, measured at draws: the most in some tries."""
        rows = self.positions.reshape(-1, self.density.dimension)
        count = RATE_ROWS
        with Evaluations(self.density, 2**62, self.threads) as evaluations:
            while True:
                points = np.resize(rows, (count, rows.shape[1]))
                tries = []
                for _ in range(RATE_TRIES):
                    began = time.perf_counter()
                    evaluations.gradients(points)
                    tries.append(time.perf_counter() - began)
                if min(tries) > RATE_SECONDS or count >= RATE_MOST:
                    return count / max(min(tries), 1e-9)
                count *= 4


def posterior_of(result: Any) -> Any:
    """The group `posterior` of a tree or an InferenceData, or a data set that is one.

    Raises SamplingError for what holds no draws.
    """
    found = getattr(result, "posterior", result)
    if not hasattr(found, "data_vars"):
        raise SamplingError(
            "`challenge` needs a result with the group `posterior`, of `pm.sample`, a file or another library, got "
            f"{type(result).__name__}."
        )
    return found


def _model_of(result: Any, model: Model | None) -> Model:
    if model is not None:
        return model
    run = getattr(result, "_run", None)
    if run is not None:
        found: Model = run.model
        return found
    try:
        return modelcontext(None)
    except (ConsilienceError, TypeError) as error:
        raise ModelError(
            "a result that was read from disk, or made by another library, does not know its model: give it, "
            "`pm.challenge(result, model=model)`."
        ) from error


def _continuous(model: Model) -> tuple[Model, tuple[str, ...], str]:
    """The model without discrete variables, their names, and why they could not be summed out; empty if they could."""
    discrete = [v.name for v in model.free if not v.continuous]
    if not discrete:
        return model, (), ""
    try:
        return marginalize(model, discrete), tuple(discrete), ""
    except ConsilienceError as error:
        return model, (), f"`{discrete[0]}` is discrete and cannot be summed out: {str(error).rstrip('.')}"
