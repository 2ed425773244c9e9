"""State spaces with names: parameters with priors in a model, and after sampling states, components and forecasts.

In: a description of matrices by parameters (`components`, `named_models`), data, draws. Out: labelled draws.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.distributions.random_variable import fresh_key
from consilience.distributions.state_space import LinearGaussianStateSpace
from consilience.distributions.states import Filtered, following, impulse_responses, times
from consilience.errors import ModelError, ShapeError
from consilience.ir import Node, constant
from consilience.model.model import Deterministic, Model, modelcontext
from consilience.ops.elementwise import as_tensor
from consilience.ops.linalg import diagonal, matmul
from consilience.ops.shape import expand_dims
from consilience.record import Record
from consilience.sample import sample_posterior_predictive
from consilience.statespace.draws import StatesAndSeries, StatesGivenSeries, space_of
from consilience.statespace.labels import ObservedSeries, check_same_times, following_labels, numbers, series

Array = npt.NDArray[Any]
TIME, AHEAD, STATE, OBSERVED, COMPONENT = "time", "time_ahead", "state", "observed", "component"


_BY_DEFAULT: weakref.WeakSet[Node] = weakref.WeakSet()
"""Parameters that got their default priors, which a second state space would share without a word."""


class SpaceParameter(Record, eq=False):
    """A parameter of a state space.

    Parameters
    ----------
    prior : callable
        Function of a name, keywords (`dims` or nothing) and the scale of the data, which makes the default prior.
    labels : tuple of str
        Labels of its axis; none for a number.
    shape : tuple of int
        Its shape where labels do not tell it.
    """

    name: str
    prior: Callable[..., Node]
    labels: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    about: str = ""


class StateSpace:
    """A state space whose matrices depend on named parameters; derive from it, or add components.

    Subclasses give `parameters`, `state_names` and `arguments`, the arguments of `pm.LinearGaussianStateSpace` for
    values of the parameters. `component_states` says which states make up a component.
    """

    title = "state space"
    exog_names: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._data: ObservedSeries | None = None
        self._exog: Array | None = None
        self._model: Model | None = None
        self._name, self._prefix = "", ""

    # ---- what subclasses give

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        """The parameters, in order."""
        raise NotImplementedError

    @property
    def state_names(self) -> tuple[str, ...]:
        """A name for each state."""
        raise NotImplementedError

    @property
    def shock_names(self) -> tuple[str, ...]:
        """A name for each innovation."""
        return ()

    @property
    def columns(self) -> int:
        """Number of observed series."""
        return 1

    def arguments(self, values: Mapping[str, Node], exog: Array | None) -> dict[str, Any]:
        """Arguments of `pm.LinearGaussianStateSpace`."""
        raise NotImplementedError

    def regressors(self, given: Array | None, times: Any) -> Array | None:
        """All regressors of some times: those given, and those that follow from the labels of the times."""
        return given

    def check_times(self, times: Any) -> None:
        """Refuse labels of data that what follows from a calendar has nothing to do with."""

    def check_data(self, found: ObservedSeries) -> None:
        """Refuse values that the model has no place for."""

    def component_states(self) -> dict[str, Sequence[int]]:
        """Which states make up each component."""
        return {}

    # ---- into a model

    @property
    def param_names(self) -> list[str]:
        """Names of the parameters, each of which may have a prior of the user's."""
        return [p.name for p in self.parameters]

    @property
    def param_dims(self) -> dict[str, tuple[str, ...]]:
        """Dimensions of the parameters that are vectors, for priors of the user's: `dims=space.param_dims[name]`."""
        return {p.name: (f"{p.name}_dim",) for p in self.parameters if p.labels}

    @property
    def coords(self) -> dict[str, list[str]]:
        """Labels of these dimensions: `pm.Model(coords=space.coords)`."""
        return {f"{p.name}_dim": list(p.labels) for p in self.parameters if p.labels}

    def build_statespace_graph(
        self, data: Any, exog: Any = None, name: str = "obs", model: Model | None = None
    ) -> Node:
        """Put the series into a model; parameters that it does not have get their default priors.

        Parameters
        ----------
        data : array_like, Series or DataFrame
            Shape (times,) or (times, columns); NaN is missing. The index of a pandas object labels the times.
        exog : array_like or DataFrame, optional
            Regressors, shape (times, columns), for models that have them.
        name : str, default 'obs'
            Name of the observed variable.
        model : Model, optional
            The model; by default that of the enclosing `with` block.

        Returns
        -------
        TensorVariable
            The observed variable, a `pm.LinearGaussianStateSpace`.

        Raises
        ------
        ShapeError
            For data and regressors that do not fit the model, and labels of time that do not ascend.
        ModelError
            Where another state space of the model has parameters of these names: put each into a model with a name.
        """
        owner = modelcontext(model)
        found = series("the data", data)
        if found.values.shape[1] != self.columns:
            raise ShapeError(
                f"{self.title} has {self.columns} observed series, but the data have {found.values.shape[1]} columns."
            )
        self.check_times(found.times)
        self.check_data(found)
        self._exog = self.regressors(self._regressors(exog, found.times), found.times)
        root = owner.root
        assert isinstance(root, Model)
        self._data, self._model, self._name, self._prefix = found, root, owner.name_for(name), owner.name
        names = found.names or tuple(f"y{k}" for k in range(self.columns))
        with owner:
            owner.add_coords({self.full_name(TIME): found.times, self.full_name(OBSERVED): list(names)})
            values = {p.name: self._prior(owner, p, found.values) for p in self.parameters}
            return self.observed(name, values, found)

    def observed(self, name: str, values: Mapping[str, Node], found: ObservedSeries) -> Node:
        """The observed variable, of values of the parameters."""
        given = self.arguments(values, self._exog)
        return LinearGaussianStateSpace(name, **given, observed=found.values, dims=self.dims)

    def full_name(self, name: str) -> str:
        """A name in the model at the top: with the name of the part before it that the series is in, if it has one."""
        return f"{self._prefix}::{name}" if self._prefix else name

    @property
    def dims(self) -> tuple[str, str]:
        """Those of the series."""
        return self.full_name(TIME), self.full_name(OBSERVED)

    def _regressors(self, exog: Any, labels: Any) -> Array | None:
        """Regressors as an array with a row per time."""
        wanted, count = len(self.exog_names), len(labels)
        if not wanted:
            if exog is not None:
                raise ShapeError(f"{self.title} has no regressors, but `exog` was given.")
            return None
        if exog is None:
            raise ShapeError(f"{self.title} needs `exog`: the columns {', '.join(self.exog_names)} for {count} times.")
        if hasattr(exog, "columns"):
            lacking = [name for name in self.exog_names if name not in exog.columns]
            if lacking:
                raise ShapeError(
                    f"`exog` lacks the columns {', '.join(lacking)}; it has {', '.join(map(str, exog.columns))}."
                )
            exog = exog[list(self.exog_names)]
        check_same_times(exog, labels)
        values = numbers("`exog`", exog)
        values = values.reshape(len(values), -1) if values.size else values
        if values.shape != (count, wanted) or not np.isfinite(values).all():
            problem = "with NaN" if values.shape == (count, wanted) else f"of shape {values.shape}"
            raise ShapeError(
                f"`exog` must have {count} rows and {wanted} columns ({', '.join(self.exog_names)}) without NaN, got "
                f"an array {problem}."
            )
        return values

    @staticmethod
    def _prior(owner: Model, parameter: SpaceParameter, data: Array) -> Node:
        """The user's variable of this name, or one with the default prior."""
        full = owner.name_for(parameter.name)
        if full in owner.named:
            if owner.named[full] in _BY_DEFAULT:
                raise ModelError(
                    f"`{full}` is a parameter of another state space of this model already. Put each of them into a "
                    'model with a name, `with pm.Model(name="a"):`; or write the prior of a parameter that both share '
                    "before them."
                )
            return owner.named[full]
        with np.errstate(all="ignore"):
            there = data[np.isfinite(data)]
            scale = float(np.std(there)) if len(there) > 1 else 1.0
        scale = scale if np.isfinite(scale) and scale > 0 else 1.0
        given: dict[str, Any] = {"shape": parameter.shape} if parameter.shape else {}
        if parameter.labels:
            dim = f"{full}_dim"
            owner.add_coord(dim, list(parameter.labels))
            given = {"dims": (dim,)}
        made = parameter.prior(parameter.name, scale, **given)
        _BY_DEFAULT.add(made)
        return made

    # ---- after sampling

    def copied(self) -> Model:
        """A copy of the model to which names can be added."""
        if self._model is None or self._data is None:
            raise ModelError(f"{self.title}: call `build_statespace_graph(data)` in a model, and sample it, first.")
        copy = self._model.copy()
        with copy:
            copy.add_coord(STATE, list(self.state_names))
        return copy

    def drawn(self, model: Model, result: Any, names: list[str], random_seed: Any) -> Any:
        """Draws of variables of a copy of the model, for each draw of a posterior; dimensions lose its name."""
        found = sample_posterior_predictive(
            result, model=model, var_names=names, random_seed=random_seed, progressbar=False, extend_inferencedata=False
        )
        for group in ("posterior_predictive", "predictions"):
            if group in found.children:
                made = found[group].to_dataset()
                made = made[[name for name in names if name in made]]
                short = dict(zip(self.dims, (TIME, OBSERVED), strict=True))
                return made.rename({full: dim for full, dim in short.items() if full in made.dims})
        raise ModelError("no draws were made.")

    def _copy(self) -> tuple[Model, Node, Node]:
        """A copy, its series as a variable outside any model, and the data."""
        copy = self.copied()
        (own,) = [v for v in copy.observed if v.name == self._name]
        return copy, Node(own.node.op, fresh_key(), *own.node.inputs[1:]), own.data

    def _values(self, copy: Model) -> dict[str, Node]:
        return {p.name: copy.named[self.full_name(p.name)] for p in self.parameters}

    def sample_conditional_posterior(self, result: Any, random_seed: Any = None) -> Any:
        """States, components and one-step residuals, for each draw of the posterior.

        Parameters
        ----------
        result : object
            What `pm.sample` returned, or its posterior.
        random_seed : int, optional
            Seed of the draws of states.

        Returns
        -------
        object
            A data set with `smoothed_states` (draws given the whole series), `filtered_states` (means given the series
            up to their time), `components` (what each component adds to the series, of the same draws),
            `smoothed_observed` (the series without noise) and `residuals` (one-step, in standard deviations).
        """
        copy, rv, y = self._copy()
        space = space_of(rv)
        parts = self.component_states()
        names = ["smoothed_states", "filtered_states", "smoothed_observed", "residuals"]
        with copy:
            found = Filtered(space, y)
            node = StatesGivenSeries.dist(y, of=rv)
            copy.register("smoothed_states", node, dims=(self.full_name(TIME), STATE))
            Deterministic("filtered_states", found.means(), dims=(self.full_name(TIME), STATE))
            Deterministic("smoothed_observed", space.seen(node), dims=self.dims)
            Deterministic("residuals", found.residuals(), dims=self.dims)
            if parts:
                copy.add_coord(COMPONENT, list(parts))
                chosen = np.zeros((len(self.state_names), len(parts)))
                for k, states in enumerate(parts.values()):
                    chosen[list(states), k] = 1.0
                Z = space.timed("Z")[..., 0, :]
                each = matmul(node * Z, constant(chosen))
                Deterministic("components", each, dims=(self.full_name(TIME), COMPONENT))
                names.append("components")
        return self.drawn(copy, result, names, random_seed)

    def forecast(self, result: Any, periods: int, exog: Any = None, random_seed: Any = None, coords: Any = None) -> Any:
        """Draws of the series and its states behind the data, one for each draw of the posterior.

        Parameters
        ----------
        result : object
            What `pm.sample` returned, or its posterior.
        periods : int
            Number of times.
        exog : array_like or DataFrame, optional
            Regressors of these times.
        random_seed : int, optional
            Seed of the draws.
        coords : sequence, optional
            Labels of these times; by default those of the data go on.

        Returns
        -------
        object
            A data set with `forecast_observed` and `forecast_latent` (the states), with the dim `time_ahead`.

        Raises
        ------
        ShapeError
            For regressors that do not cover the periods.
        """
        copy, rv, y = self._copy()
        assert self._data is not None
        labels = following_labels(self._data.times, periods, coords)
        later = self.regressors(self._regressors(exog, labels), labels)
        with copy:
            future = self.arguments(self._values(copy), later) if later is not None else {}
            space = space_of(rv)
            moving = {name: as_tensor(future[name], "float64") for name in space.varying if name in future}
            node = StatesAndSeries.dist(of=following(space, y, periods, moving))
            copy.add_coord(AHEAD, labels)
            copy.register("_ahead", node)
            n = len(self.state_names)
            Deterministic("forecast_latent", node[..., :n], dims=(AHEAD, STATE))
            Deterministic("forecast_observed", node[..., n:], dims=(AHEAD, self.full_name(OBSERVED)))
        found = self.drawn(copy, result, ["forecast_latent", "forecast_observed", "_ahead"], random_seed)
        return found[["forecast_latent", "forecast_observed"]]

    def impulse_response_function(self, result: Any, n_steps: int = 24, shock_size: float | None = None) -> Any:
        """What a shock of each innovation does to the series, for each draw of the posterior.

        Parameters
        ----------
        result : Result
            Of `pm.sample` for the model that `build_statespace_graph` was called in.
        n_steps : int, default 24
            Number of times, the one of the shock first.
        shock_size : float, optional
            Size of the shocks; by default one standard deviation of each innovation.

        Returns
        -------
        object
            A data set with `irf`, with the dims `shock`, `step` and `observed`.
        """
        copy, rv, _ = self._copy()
        space = space_of(rv)
        moving = sorted({"T", "Z"} & set(space.varying))
        with copy:
            if moving == ["Z"]:
                space = space_of(LinearGaussianStateSpace.dist(
                    a0=space.a0, P0=space.P0, T=space.T, Z=space.Z[-1], H=space.H, Q=space.Q, steps=space.steps,
                    c=space.c, d=space.d, varying=[x for x in space.varying if x != "Z"],
                ))  # fmt: skip
            given = self.arguments(self._values(copy), self._exog)
            R, Q = (as_tensor(given[name], "float64") for name in "RQ")
            names = list(self.shock_names) or [f"shock{k}" for k in range(int(R.static_shape[-1]))]
            copy.add_coords({"shock": names, "step": np.arange(n_steps)})
            shocks = R.T if shock_size is not None else R.T * expand_dims(_deviations(Q), 1)
            shocks = shocks * (1.0 if shock_size is None else shock_size)
            states = impulse_responses(space, n_steps, shocks)
            Deterministic("irf", times(space.timed("Z"), states), dims=("shock", "step", self.full_name(OBSERVED)))
        return self.drawn(copy, result, ["irf"], None)

    def plot_forecast(self, forecast: Any, column: int = 0, prob: Sequence[float] = (0.5, 0.9), ax: Any = None) -> Any:
        """Draw the series, and the median and intervals of a forecast.

        Parameters
        ----------
        forecast : object
            What `forecast` returned.
        column : int, default 0
            Which of the observed series.
        prob : sequence of float, default (0.5, 0.9)
            Probabilities of the central intervals.
        ax : Axes, optional
            Axes of Matplotlib; new ones by default.

        Returns
        -------
        Axes
            The axes.

        Raises
        ------
        ModelError
            Before `build_statespace_graph` was called.
        """
        if self._data is None:
            raise ModelError(f"{self.title}: call `build_statespace_graph(data)` first.")
        plt: Any = import_module("matplotlib.pyplot")
        axes = plt.subplots(figsize=(8, 4))[1] if ax is None else ax
        draws = forecast["forecast_observed"][..., column].stack(sample=("chain", "draw"))
        times = draws[AHEAD].values
        axes.plot(np.asarray(self._data.times), self._data.values[:, column], color="black", linewidth=1)
        for own in sorted(prob, reverse=True):
            low, high = draws.quantile([0.5 - own / 2, 0.5 + own / 2], "sample").values
            axes.fill_between(times, low, high, color="C0", alpha=0.25, label=f"{own:.0%}", linewidth=0)
        axes.plot(times, draws.median("sample").values, color="C0", label="median")
        axes.legend(loc="upper left")
        return axes


def _deviations(Q: Node) -> Node:
    return diagonal(Q) ** 0.5
