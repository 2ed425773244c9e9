"""Exponential smoothing: level, trend and season that learn from one innovation, in sums and in products.

In: the kinds of error, trend and season. Out: a `StateSpace`; sums alone are linear, with a Kalman filter, the rest is
a loop that draws, whose density is that of its one-step errors.
Source: R. J. Hyndman et al., Forecasting with Exponential Smoothing: The State Space Approach (2008).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience.logprob  # noqa: F401 - densities of loops
from consilience.distributions import HalfNormal, LogNormal, Normal, ZeroSumNormal
from consilience.distributions.custom import CustomDist
from consilience.errors import ModelError, ParameterError
from consilience.ir import Node
from consilience.model.model import Deterministic, Model
from consilience.ops.elementwise import apply, as_tensor
from consilience.ops.index import index_set
from consilience.ops.shape import concatenate, expand_dims, full, reshape
from consilience.ops.structured import BlockDiagonal
from consilience.statespace import priors
from consilience.statespace.labels import ObservedSeries, following_labels
from consilience.statespace.model import AHEAD, COMPONENT, OBSERVED, STATE, TIME, SpaceParameter, StateSpace
from consilience.statespace.named_models import vector
from consilience.tensor.loops import scan

Array = npt.NDArray[Any]
Values = Mapping[str, Node]
TRENDS, SEASONS = ("N", "A", "Ad", "M", "Md"), ("N", "A", "M")


class ETS(StateSpace):
    """Exponential smoothing: level, trend and season that learn from one innovation.

    Parameters
    ----------
    order : tuple of (str, str, str), default ('A', 'N', 'N')
        Error, trend and season: "A" additive, "M" multiplicative, "N" none; "Ad" and "Md" are damped trends.
    seasonal_periods : int, optional
        Times of a season.

    See Also
    --------
    LevelTrend : A level, and its trend.

    Notes
    -----
    Parameters are `alpha`, `beta` (of the trend), `gamma` (of the season), `phi` (of a damped trend), `sigma_state` and
    `initial_seasonal`, that of the first time first, with the meaning that they have in the equations of statsmodels'
    `ETSModel`. In sums, y_t is l_{t-1} + phi b_{t-1} + s_{t-m} + e_t, and alpha e_t, beta e_t and gamma e_t are added
    to level, trend and season: a linear state space, of whose first level and trend nothing is known.

    With a part that is multiplied, the data must be positive, and `initial_level` and `initial_trend` are parameters
    too. A trend "M" multiplies the level by b ** phi, a season "M" multiplies that by s, whose first values have the
    geometric mean 1 by default. With an error "M", y_t is its expectation times 1 + e_t, and `sigma_state` is relative.
    States then follow from the data, and missing values become variables, as in other loops. `forecast` draws errors
    and follows the recursion.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.statespace.ETS(("A", "A", "N")).param_names
    ['alpha', 'beta', 'sigma_state']
    >>> pm.statespace.ETS(("M", "Ad", "N")).param_names
    ['alpha', 'beta', 'phi', 'initial_level', 'initial_trend', 'sigma_state']
    """

    title = "ETS"

    def __init__(self, order: Sequence[str] = ("A", "N", "N"), seasonal_periods: int | None = None) -> None:
        super().__init__()
        kinds = tuple(order)
        if len(kinds) != 3 or kinds[0] not in ("A", "M") or kinds[1] not in TRENDS or kinds[2] not in SEASONS:
            raise ParameterError(
                "ETS: order has the error 'A' or 'M', then the trend 'N', 'A', 'Ad', 'M' or 'Md', then the season 'N', "
                f"'A' or 'M', got {order!r}."
            )
        error, trend, season = kinds
        if (season != "N") != (seasonal_periods is not None):
            raise ParameterError("ETS: a season needs `seasonal_periods`, and only a season takes it.")
        if seasonal_periods is not None and (
            not isinstance(seasonal_periods, int | np.integer)
            or isinstance(seasonal_periods, bool)
            or seasonal_periods < 2
        ):
            raise ParameterError(f"ETS: seasonal_periods must be a whole number >= 2, got {seasonal_periods!r}.")
        self.trend, self.damped, self.m = trend != "N", trend.endswith("d"), int(seasonal_periods or 0)
        self.products = {"error": error == "M", "trend": trend.startswith("M"), "season": season == "M"}

    @property
    def linear(self) -> bool:
        """Whether nothing is multiplied."""
        return not any(self.products.values())

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        found = [SpaceParameter("alpha", priors.share(1.0, 2.0))]
        if self.trend:
            found.append(SpaceParameter("beta", priors.share(1.0, 8.0)))
        if self.damped:
            found.append(SpaceParameter("phi", priors.share(20.0, 2.0)))
        if self.m:
            found.append(SpaceParameter("gamma", priors.share(1.0, 8.0)))
        if not self.linear:
            found.append(SpaceParameter("initial_level", self._first_level))
            if self.trend:
                found.append(SpaceParameter("initial_trend", _growth if self.products["trend"] else _slope))
        if self.m:
            labels = tuple(f"season_{k + 1}" for k in range(self.m))
            found.append(SpaceParameter("initial_seasonal", _shares if self.products["season"] else _zero_sum, labels))
        relative = self.products["error"]
        found.append(SpaceParameter("sigma_state", _relative if relative else priors.deviation()))
        return tuple(found)

    def _first_level(self, name: str, scale: float, **given: Any) -> Node:
        """Around the mean of the first values that are there."""
        assert self._data is not None
        there = self._data.values[~np.isnan(self._data.values)]
        return LogNormal(name, float(np.log(there[: max(self.m, 5)]).mean()), 0.5, **given)

    @property
    def state_names(self) -> tuple[str, ...]:
        seasons = tuple(f"seasonal_lag{self.m - k}" for k in range(self.m))
        return ("innovation", "level", *("trend",) * self.trend, *seasons)

    @property
    def shock_names(self) -> tuple[str, ...]:
        return ("innovation",)

    def component_states(self) -> dict[str, Sequence[int]]:
        found: dict[str, Sequence[int]] = {"level": [1]}
        if self.trend:
            found["trend"] = [2]
        if self.m:
            found["season"] = [2 + self.trend]
        return found | {"innovation": [0]}

    # ---- sums: a linear state space

    def arguments(self, values: Values, exog: Array | None) -> dict[str, Any]:
        if not self.linear:
            raise ModelError("ETS: with a part that is multiplied it is no linear state space, and has no matrices.")
        n = len(self.state_names)
        first = 2 + self.trend  # of the season
        column: list[Node | float] = [0.0, values["alpha"]]
        column += [values["beta"]] if self.trend else []
        column += [0.0] * (self.m - 1) + [values["gamma"]] if self.m else []
        fixed = np.zeros((n, n))
        fixed[1, 1] = 1.0
        seen: Any = np.array([[1.0, 1.0, *(1.0,) * self.trend, *np.eye(1, max(1, self.m))[0][: self.m]]])
        if self.trend:
            fixed[1, 2] = fixed[2, 2] = 1.0
        if self.m:
            fixed[first:-1, first + 1 :] = np.eye(self.m - 1)
            fixed[-1, first] = 1.0
        T = index_set(as_tensor(fixed)[:, 0], vector(column))
        if self.damped:
            phi = values["phi"]
            T = index_set(T[:, 2], vector([0.0, phi, phi, *[0.0] * (n - 3)]))
            seen = index_set(as_tensor(seen)[0, 2], phi)
        variance = reshape(values["sigma_state"] ** 2, (1, 1))
        start = full((n,), 0.0)
        if self.m:
            start = concatenate([full((first,), 0.0), values["initial_seasonal"]], 0)
        rest = full((n - 1, n - 1), 0.0)
        return {
            "T": T, "Z": seen, "R": np.eye(n)[:, :1], "Q": variance, "H": np.zeros((1, 1)), "a0": start,
            "P0": Node(BlockDiagonal(), variance, rest),
            "initial": ["known", "diffuse", *["diffuse"] * self.trend, *["known"] * self.m],
        }  # fmt: skip

    # ---- products: a recursion

    def _expected(self, before: Sequence[Node], values: Values) -> tuple[Node, Node, Node]:
        """The trend and the level that are expected next, and the series: of states before."""
        level, trend, season = before
        if self.trend:
            raised = self.products["trend"]
            if self.damped:
                trend = trend ** values["phi"] if raised else trend * values["phi"]
            level = level * trend if raised else level + trend
        if not self.m:
            return trend, level, level
        return trend, level, level * season if self.products["season"] else level + season

    def _after(self, y: Node, before: Sequence[Node], values: Values) -> list[Node]:
        """States once a value was seen: a level, and what there is of trend and season."""
        trend, level, mean = self._expected(before, values)
        error = y - mean
        season = before[2] if self.products["season"] else 1.0
        found = [level + values["alpha"] * error / season]
        if self.trend:
            share = values["beta"] * error / season
            found.append(trend + (share / before[0] if self.products["trend"] else share))
        if self.m:
            share = values["gamma"] * error
            found.append(before[2] + (share / level if self.products["season"] else share))
        return found

    def _start(self, values: Values) -> list[Any]:
        """First values of the states of a loop, each a vector of one series."""
        found: list[Any] = [expand_dims(values["initial_level"], 0)]
        if self.trend:
            found.append(expand_dims(values["initial_trend"], 0))
        if self.m:
            found.append({"initial": expand_dims(values["initial_seasonal"], 1), "taps": [-self.m]})
        return found

    def _in_order(self, states: Sequence[Node]) -> list[Node]:
        """Level, trend and season of what a step is given; 0 stands for what there is not."""
        given = iter(states)
        nothing = as_tensor(np.zeros(1))
        return [next(given) if there else nothing for there in (True, self.trend, self.m > 0)]

    def _program(self, names: Sequence[str], count: int, start: Callable[[Values], list[Any]]) -> Callable[..., Node]:
        """A loop that draws a series, as a function of parameters: shape (count, 1)."""

        def program(*given: Any) -> Node:
            *parameters, _ = given
            values = dict(zip(names, parameters, strict=True))

            def step(*states: Node) -> list[Node]:
                before = self._in_order(states)
                _, _, mean = self._expected(before, values)
                sigma = values["sigma_state"]
                y = Normal.dist(mean, sigma * apply("abs", mean) if self.products["error"] else sigma, shape=(1,))
                return [y, *self._after(y, before, values)]

            found: Node = scan(step, outputs_info=[None, *start(values)], n_steps=count, return_updates=False)[0]
            return found

        return program

    def observed(self, name: str, values: Values, found: ObservedSeries) -> Node:
        if self.linear:
            return super().observed(name, values, found)
        program = self._program(list(values), len(found.values), self._start)
        return CustomDist(name, *values.values(), dist=program, observed=found.values, dims=self.dims)

    def check_data(self, found: ObservedSeries) -> None:
        least = np.nanmin(found.values, initial=np.inf)
        if not self.linear and not 0 < least < np.inf:
            came = f"the least value of the data is {least:g}" if least < np.inf else "the data have none"
            raise ParameterError(
                f"ETS: a multiplicative error, trend or season needs values, all of them positive; {came}."
            )

    # ---- products, after sampling

    def _copy(self) -> tuple[Model, Node, Node]:
        if not self.linear:  # only impulse responses come here
            raise ModelError(
                "ETS: where a part is multiplied, what a shock does depends on the states that it meets, so there is "
                "no impulse response. Compare two forecasts."
            )
        return super()._copy()

    def _path(self, copy: Model) -> tuple[Node, dict[str, Node], Values]:
        """The series without gaps, its states before each time and behind the last, and the parameters."""
        assert self._data is not None
        given = self._data.values
        y = as_tensor(np.nan_to_num(given))
        if np.isnan(given).any():
            y = index_set(y[np.nonzero(np.isnan(given))], copy.named[f"{self._name}_unobserved"])
        values = self._values(copy)
        return y, self._states(y, self._start(values), values), values

    def _states(self, y: Node, start: list[Any], values: Values) -> dict[str, Node]:
        """Each state before all times of a series: what the loop began with, and what it gave."""

        def step(now: Node, *states: Node) -> list[Node]:
            return self._after(now, self._in_order(states), values)

        made = scan(step, sequences=y, outputs_info=start, return_updates=False, return_list=True)
        names = ("level", *("trend",) * self.trend, *("season",) * (self.m > 0))
        firsts = [x["initial"] if isinstance(x, dict) else expand_dims(x, 0) for x in start]
        return {name: concatenate([first, own], 0) for name, first, own in zip(names, firsts, made, strict=True)}

    def _seen(self, y: Node, states: Mapping[str, Node], values: Values) -> dict[str, Node]:
        """Of each time: states before it in the order of `state_names`, the expected value, the error, components."""
        count = y.static_shape[0]
        nothing = as_tensor(np.zeros((1, 1)))
        before = [states[name][:count] if name in states else nothing for name in ("level", "trend", "season")]
        trend, _, mean = self._expected(before, values)
        error = (y - mean) / mean if self.products["error"] else y - mean
        columns = [error, *before[: 1 + self.trend]]
        columns += [states["season"][k : k + count] for k in range(self.m)] if self.m else []
        parts = {"level": before[0]}
        if self.trend:
            parts["trend"] = trend
        if self.m:
            parts["season"] = before[2]
        table = {"states": concatenate(columns, 1), "mean": mean, "error": error}
        return table | {"components": concatenate([*parts.values(), error], 1)}

    def sample_conditional_posterior(self, result: Any, random_seed: Any = None) -> Any:
        """States, components and one-step residuals, for each draw of the posterior.

        Parameters
        ----------
        result : object
            What `pm.sample` returned, or its posterior.
        random_seed : int, optional
            Seed of the draws of states; without effect where a part is multiplied, as states then follow from the data.

        Returns
        -------
        object
            A data set as of other state spaces. Where a part is multiplied, smoothed and filtered states are those
            before each time, `smoothed_observed` is the expectation one step ahead, and components are combined as the
            model says, not added.
        """
        if self.linear:
            return super().sample_conditional_posterior(result, random_seed)
        copy = self.copied()
        y, states, values = self._path(copy)
        found = self._seen(y, states, values)
        with copy:
            copy.add_coord(COMPONENT, list(self.component_states()))
            for name in ("smoothed_states", "filtered_states"):
                Deterministic(name, found["states"], dims=(self.full_name(TIME), STATE))
            Deterministic("smoothed_observed", found["mean"], dims=self.dims)
            Deterministic("residuals", found["error"] / values["sigma_state"], dims=self.dims)
            Deterministic("components", found["components"], dims=(self.full_name(TIME), COMPONENT))
        names = ["smoothed_states", "filtered_states", "smoothed_observed", "residuals", "components"]
        return self.drawn(copy, result, names, random_seed)

    def forecast(self, result: Any, periods: int, exog: Any = None, random_seed: Any = None, coords: Any = None) -> Any:
        """Draws of the series and its states behind the data, one for each draw of the posterior.

        Parameters
        ----------
        result : object
            What `pm.sample` returned, or its posterior.
        periods : int
            Number of times.
        exog : array_like, optional
            Not taken: there are no regressors.
        random_seed : int, optional
            Seed of the draws.
        coords : sequence, optional
            Labels of these times; by default those of the data go on.

        Returns
        -------
        object
            A data set with `forecast_observed` and `forecast_latent` (the states), with the dim `time_ahead`.
        """
        if self.linear:
            return super().forecast(result, periods, exog, random_seed, coords)
        copy = self.copied()
        assert self._data is not None
        labels = following_labels(self._data.times, periods, coords)
        self._regressors(exog, labels)
        _, states, values = self._path(copy)
        count = len(self._data.values)
        names = [*values, *states]
        ends = [states[name][count:] if name == "season" else states[name][-1] for name in states]

        def start(given: Values) -> list[Any]:
            return [{"initial": given[x], "taps": [-self.m]} if x == "season" else given[x] for x in states]

        with copy:
            copy.add_coord(AHEAD, labels)
            program = self._program(names, periods, start)
            y = CustomDist(
                "forecast_observed", *values.values(), *ends, dist=program, dims=(AHEAD, self.full_name(OBSERVED))
            )
            later = self._states(y, start(dict(zip(names, [*values.values(), *ends], strict=True))), values)
            Deterministic("forecast_latent", self._seen(y, later, values)["states"], dims=(AHEAD, STATE))
        return self.drawn(copy, result, ["forecast_latent", "forecast_observed"], random_seed)


def _zero_sum(name: str, scale: float, **given: Any) -> Node:
    return ZeroSumNormal(name, scale, **given)


def _shares(name: str, scale: float, **given: Any) -> Node:
    """Factors with the geometric mean 1."""
    logarithms = ZeroSumNormal(f"{name}_log", 0.3, **given)
    return Deterministic(name, apply("exp", logarithms), dims=given.get("dims"))


def _growth(name: str, scale: float, **given: Any) -> Node:
    return LogNormal(name, 0.0, 0.1, **given)


def _slope(name: str, scale: float, **given: Any) -> Node:
    return Normal(name, 0.0, 0.2 * scale, **given)


def _relative(name: str, scale: float, **given: Any) -> Node:
    return HalfNormal(name, 0.2, **given)
