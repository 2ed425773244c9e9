"""Components of a structural time series model, which add up: level and trend, seasons, cycle, AR, noise.

In: orders and lengths. Out: a `StateSpace` whose observation is the sum of its components. Names and arguments as in
pymc-extras. Source: A. C. Harvey, Forecasting, Structural Time Series Models and the Kalman Filter (1989).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ParameterError
from consilience.ir import Node, constant, constant_value
from consilience.ops.elementwise import apply, as_tensor
from consilience.ops.index import index_set
from consilience.ops.shape import broadcast_to, concatenate, full, reshape, stack
from consilience.ops.structured import DiagonalMatrix
from consilience.statespace import priors
from consilience.statespace.model import SpaceParameter, StateSpace

Array = npt.NDArray[Any]


class Component(StateSpace):
    """A part of a structural time series model; parts add up by `+`."""

    title = "a component"

    def __init__(self, name: str) -> None:
        super().__init__()
        if not isinstance(name, str):
            raise ParameterError(f"{self.title}: name must be text, got {name!r}.")
        self.name = name

    @property
    def width(self) -> int:
        """Number of its columns among all regressors, those of the calendar included."""
        return len(self.exog_names)

    # Of a component: matrices of its own states. A part without states has none.
    def transition(self, values: Mapping[str, Node]) -> Node:
        """T of its states."""
        raise NotImplementedError

    def seen(self, exog: Array | None) -> Array:
        """What is seen of its states: n numbers, or (times, n)."""
        raise NotImplementedError

    def variances(self, values: Mapping[str, Node]) -> Node:
        """Of its innovations, a vector."""
        return full((0,), 0.0)

    def selection(self) -> Array:
        """Which states the innovations enter, (n, r)."""
        return np.zeros((len(self.state_names), 0))

    def noise(self, values: Mapping[str, Node]) -> Node | None:
        """Variance of the observation."""
        return None

    def initial(self) -> tuple[str, ...]:
        """What is known of its first states."""
        return ("diffuse",) * len(self.state_names)

    def first_variances(self, values: Mapping[str, Node]) -> Node | None:
        """Of first states that are known, around 0; one for each state."""
        return None

    def calendar(self, times: Any) -> Array | None:
        """Regressors that follow from the labels of the times, (times, columns); None where there are none."""
        return None

    def regressors(self, given: Array | None, times: Any) -> Array | None:
        return StructuralModel((self,)).regressors(given, times)

    @property
    def parts(self) -> tuple[Component, ...]:
        """The components of which it is the sum."""
        return (self,)

    def __add__(self, other: Component) -> StructuralModel:
        return StructuralModel((*self.parts, *other.parts))

    # A component alone is a sum of one.
    def arguments(self, values: Mapping[str, Node], exog: Array | None) -> dict[str, Any]:
        return StructuralModel((self,)).arguments(values, exog)

    def component_states(self) -> dict[str, Sequence[int]]:
        return StructuralModel((self,)).component_states()

    def build(self, name: str = "data") -> Component:
        """The model itself; pymc-extras' last step."""
        del name
        return self


class StructuralModel(Component):
    """A structural time series model: the sum of its components."""

    title = "the structural model"

    def __init__(self, parts: Sequence[Component]) -> None:
        super().__init__("sum")
        self._parts = tuple(parts)
        self.exog_names = tuple(name for part in parts for name in part.exog_names)
        names = [part.name for part in parts]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ParameterError(
                f"two components are named {twice[0]!r}: give one of them another `name=`, so that parameters differ."
            )

    @property
    def parts(self) -> tuple[Component, ...]:
        return self._parts

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        return tuple(p for part in self.parts for p in part.parameters)

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.state_names)

    @property
    def shock_names(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.shock_names)

    def component_states(self) -> dict[str, Sequence[int]]:
        found: dict[str, Sequence[int]] = {}
        start = 0
        for part in self.parts:
            count = len(part.state_names)
            if count:
                found[part.name] = range(start, start + count)
            start += count
        return found

    def check_times(self, times: Any) -> None:
        for part in self.parts:
            part.check_times(times)

    def regressors(self, given: Array | None, times: Any) -> Array | None:
        found, column = [], 0
        for part in self.parts:
            width = len(part.exog_names)
            own = part.calendar(times)
            if width and given is not None:
                own = given[:, column : column + width]
            column += width
            if own is not None:
                found.append(own)
        return np.concatenate(found, 1) if found else None

    def arguments(self, values: Mapping[str, Node], exog: Array | None) -> dict[str, Any]:
        stated = [part for part in self.parts if part.state_names]
        if not stated:
            raise ParameterError("a structural model needs a component with states: `LevelTrend`, `Autoregressive` …")
        seen, column = [], 0
        for part in stated:
            width = part.width
            seen.append(part.seen(None if exog is None else exog[:, column : column + width]))
            column += width
        moving = any(x.ndim == 2 for x in seen)
        if moving:
            assert exog is not None
            seen = [x if x.ndim == 2 else np.broadcast_to(x, (len(exog), len(x))) for x in seen]
        Z = np.concatenate(seen, -1)[..., None, :]
        heights, widths = zip(*(part.selection().shape for part in stated), strict=True)
        R = np.zeros((sum(heights), sum(widths)))
        for k, part in enumerate(stated):
            rows, columns = sum(heights[:k]), sum(widths[:k])
            R[rows : rows + heights[k], columns : columns + widths[k]] = part.selection()
        variances = concatenate([part.variances(values) for part in stated], 0)
        noises = [x for part in self.parts if (x := part.noise(values)) is not None]
        blocks = [part.transition(values) for part in stated]
        first = [part.first_variances(values) for part in stated]
        known = [full((n,), 0.0) if x is None else x for x, n in zip(first, heights, strict=True)]
        start = {"P0": Node(DiagonalMatrix(), concatenate(known, 0))} if any(x is not None for x in first) else {}
        return start | {
            "T": _along_diagonal(blocks, heights),
            "Z": Z,
            "R": R,
            "Q": Node(DiagonalMatrix(), variances),
            "H": reshape(sum(noises[1:], noises[0]), (1, 1)) if noises else np.zeros((1, 1)),
            "initial": [kind for part in stated for kind in part.initial()],
            "varying": ("Z",) if moving else (),
        }


def _along_diagonal(blocks: Sequence[Node], sizes: Sequence[int]) -> Node:
    """One matrix of square blocks: those that are numbers as numbers, the others set into it."""
    whole, moving, start = np.zeros((sum(sizes), sum(sizes))), [], 0
    for block, size in zip(blocks, sizes, strict=True):
        place = slice(start, start + size)
        known = constant_value(block)
        if known is None:
            moving.append((place, block))
        else:
            whole[place, place] = known
        start += size
    found = as_tensor(whole)
    for place, block in moving:
        found = index_set(found[place, place], block)
    return found


def squares(value: Node, count: int) -> Node:
    """Variances from one standard deviation, or one for each."""
    squared = value * value
    return squared if squared.ndim else broadcast_to(squared, (count,))


class LevelTrend(Component):
    """A level, and its trend, curvature and so on, each with innovations of its own or without.

    order: Number of states: 1 is a level, 2 a level and a trend. A sequence of 0 and 1 says which of them there are.
    innovations_order: Which states have innovations: the first so many, or those with a 1. By default all.
    name: Its name in results; the parameter is `sigma_<name>`.
    See TimeSeasonality: A season of so many times.
    >>> (pm.statespace.LevelTrend(2) + pm.statespace.MeasurementError()).param_names
    ['sigma_level_trend', 'sigma_MeasurementError']
    """

    def __init__(
        self,
        order: int | Sequence[int] = 2,
        innovations_order: int | Sequence[int] | None = None,
        name: str = "level_trend",
    ) -> None:
        super().__init__(name)
        self.order = order if isinstance(order, int) else len(order)
        if self.order < 1:
            raise ParameterError(f"LevelTrend: order must be at least 1, got {order}.")
        given = self.order if innovations_order is None else innovations_order
        marks = [1] * given + [0] * (self.order - given) if isinstance(given, int) else list(given)
        if len(marks) != self.order or set(marks) - {0, 1}:
            raise ParameterError(
                f"LevelTrend: innovations_order must be at most {self.order}, or {self.order} numbers 0 or 1, got "
                f"{innovations_order}."
            )
        self._noisy = [k for k, mark in enumerate(marks) if mark]
        self._names = [*("level", "trend", "acceleration", "jerk", "snap")[: self.order]]
        self._names += [f"derivative_{k}" for k in range(5, self.order)]

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        names = tuple(self._names[k] for k in self._noisy)
        size = 0.2 if len(names) > 1 else 0.5
        return (SpaceParameter(f"sigma_{self.name}", priors.deviation(size), names),) if names else ()

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(self._names)

    @property
    def shock_names(self) -> tuple[str, ...]:
        return tuple(self._names[k] for k in self._noisy)

    def transition(self, values: Mapping[str, Node]) -> Node:
        return constant(np.triu(np.ones((self.order, self.order))))

    def seen(self, exog: Array | None) -> Array:
        return np.asarray(np.eye(self.order)[0])

    def variances(self, values: Mapping[str, Node]) -> Node:
        return squares(values[f"sigma_{self.name}"], len(self._noisy)) if self._noisy else full((0,), 0.0)

    def selection(self) -> Array:
        return np.eye(self.order)[:, self._noisy]

    def component_states(self) -> dict[str, Sequence[int]]:
        return {self.name: [0]}


class TimeSeasonality(Component):
    """A season of so many times, whose effects sum to 0 but for innovations.

    season_length: Times of a season: 12 for months of a year.
    innovations: Whether the season may change.
    name: Its name in results, `seasonal_<season_length>` by default; the parameter is `sigma_<name>`.
    See FrequencySeasonality: A season as a sum of waves.
    >>> pm.statespace.TimeSeasonality(4).state_names
    ('seasonal_4', 'seasonal_4_lag1', 'seasonal_4_lag2')
    """

    def __init__(self, season_length: int, innovations: bool = True, name: str | None = None) -> None:
        if season_length < 2:
            raise ParameterError(f"TimeSeasonality: season_length must be at least 2, got {season_length}.")
        super().__init__(name or f"seasonal_{season_length}")
        self.season_length, self.innovations = season_length, innovations

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        return (SpaceParameter(f"sigma_{self.name}", priors.deviation(0.2)),) if self.innovations else ()

    @property
    def state_names(self) -> tuple[str, ...]:
        lags = (f"_lag{k}" if k else "" for k in range(self.season_length - 1))
        return tuple(f"{self.name}{lag}" for lag in lags)

    @property
    def shock_names(self) -> tuple[str, ...]:
        return (self.name,) if self.innovations else ()

    def transition(self, values: Mapping[str, Node]) -> Node:
        T = np.eye(self.season_length - 1, k=-1)
        T[0] = -1.0
        return constant(T)

    def seen(self, exog: Array | None) -> Array:
        return np.asarray(np.eye(self.season_length - 1)[0])

    def variances(self, values: Mapping[str, Node]) -> Node:
        return squares(values[f"sigma_{self.name}"], 1) if self.innovations else full((0,), 0.0)

    def selection(self) -> Array:
        return np.eye(self.season_length - 1)[:, : int(self.innovations)]


class FrequencySeasonality(Component):
    """A season as a sum of waves.

    season_length: Times of a season.
    n: Number of waves, the slowest first; all by default.
    innovations: Whether the season may change; all waves change alike.
    name: Its name in results, `frequency_<season_length>` by default; the parameter is `sigma_<name>`.
    See TimeSeasonality: A season of so many times.
    >>> pm.statespace.FrequencySeasonality(12, n=1).state_names
    ('frequency_12_cos_1', 'frequency_12_sin_1')
    """

    def __init__(
        self, season_length: int, n: int | None = None, innovations: bool = True, name: str | None = None
    ) -> None:
        most = season_length // 2
        if season_length < 2 or not 1 <= (most if n is None else n) <= most:
            raise ParameterError(
                f"FrequencySeasonality: a season of {season_length} times has 1 to {most} waves, got n={n}."
            )
        super().__init__(name or f"frequency_{season_length}")
        self.season_length, self.innovations, self.n = season_length, innovations, most if n is None else n
        self._whole = 2 * self.n == season_length  # whose last wave has one state

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        return (SpaceParameter(f"sigma_{self.name}", priors.deviation(0.2)),) if self.innovations else ()

    @property
    def state_names(self) -> tuple[str, ...]:
        names = [f"{self.name}_{kind}_{k}" for k in range(1, self.n + 1) for kind in ("cos", "sin")]
        return tuple(names[: 2 * self.n - self._whole])

    @property
    def shock_names(self) -> tuple[str, ...]:
        return self.state_names if self.innovations else ()

    def transition(self, values: Mapping[str, Node]) -> Node:
        size = 2 * self.n
        T = np.zeros((size, size))
        for k in range(self.n):
            angle = 2 * np.pi * (k + 1) / self.season_length
            c, s = np.cos(angle), np.sin(angle)
            T[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[c, s], [-s, c]]
        count = len(self.state_names)
        return constant(T[:count, :count])

    def seen(self, exog: Array | None) -> Array:
        return np.tile([1.0, 0.0], self.n)[: len(self.state_names)]

    def variances(self, values: Mapping[str, Node]) -> Node:
        return squares(values[f"sigma_{self.name}"], len(self.shock_names)) if self.innovations else full((0,), 0.0)

    def selection(self) -> Array:
        return np.eye(len(self.state_names))[:, : len(self.shock_names)]


class Cycle(Component):
    """A cycle whose length may be estimated, and which may fade.

    name: Its name in results; parameters are `sigma_<name>`, `length_<name>` and `dampening_factor_<name>`.
    cycle_length: Times of a cycle; None with `estimate_cycle_length=True`.
    estimate_cycle_length: Whether the length is a parameter.
    dampen: Whether the cycle fades without innovations; its first states are then stationary.
    innovations: Whether phase and size may change.
    longest (float, default 60): Longest cycle of the default prior.
    See FrequencySeasonality: Waves of known length.
    >>> pm.statespace.Cycle(estimate_cycle_length=True).param_names
    ['length_cycle', 'sigma_cycle']
    """

    def __init__(
        self,
        name: str = "cycle",
        cycle_length: float | None = None,
        estimate_cycle_length: bool = False,
        dampen: bool = False,
        innovations: bool = True,
        longest: float = 60.0,
    ) -> None:
        if (cycle_length is None) != estimate_cycle_length:
            raise ParameterError("Cycle: give cycle_length, or estimate_cycle_length=True.")
        super().__init__(name)
        self.cycle_length, self.dampen, self.innovations, self.longest = cycle_length, dampen, innovations, longest

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        found = []
        if self.cycle_length is None:
            found.append(SpaceParameter(f"length_{self.name}", priors.between(2.0, self.longest)))
        if self.dampen:
            found.append(SpaceParameter(f"dampening_factor_{self.name}", priors.share(8.0, 1.5)))
        if self.innovations:
            found.append(SpaceParameter(f"sigma_{self.name}", priors.deviation(0.5)))
        return tuple(found)

    @property
    def state_names(self) -> tuple[str, ...]:
        return (self.name, f"{self.name}_aside")

    @property
    def shock_names(self) -> tuple[str, ...]:
        return self.state_names if self.innovations else ()

    def transition(self, values: Mapping[str, Node]) -> Node:
        length = as_tensor(values[f"length_{self.name}"] if self.cycle_length is None else self.cycle_length, "float64")
        angle = 2 * np.pi / length
        c, s = apply("cos", angle), apply("sin", angle)
        turn = stack([stack([c, s]), stack([-s, c])])
        return turn * values[f"dampening_factor_{self.name}"] if self.dampen else turn

    def seen(self, exog: Array | None) -> Array:
        return np.array([1.0, 0.0])

    def variances(self, values: Mapping[str, Node]) -> Node:
        return squares(values[f"sigma_{self.name}"], 2) if self.innovations else full((0,), 0.0)

    def selection(self) -> Array:
        return np.eye(2)[:, : len(self.shock_names)]

    def initial(self) -> tuple[str, ...]:
        return ("stationary" if self.dampen and self.innovations else "diffuse",) * 2


class Autoregressive(Component):
    """A stationary autoregression.

    order: Its order, or the lags that have coefficients.
    name: Its name in results; parameters are `params_<name>` and `sigma_<name>`. By default the coefficients are made
        of partial autocorrelations (`params_<name>_partial`), uniform from -1 to 1, so that the process is stationary.
    See SARIMAX: Seasonal ARIMA with regressors.
    >>> pm.statespace.Autoregressive(2).param_names
    ['params_auto_regressive', 'sigma_auto_regressive']
    """

    def __init__(self, order: int | Sequence[int] = 1, name: str = "auto_regressive") -> None:
        super().__init__(name)
        self.lags = tuple(range(1, order + 1)) if isinstance(order, int) else tuple(order)
        if not self.lags or min(self.lags) < 1:
            raise ParameterError(f"Autoregressive: lags begin at 1, got {order}.")

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        whole = self.lags == tuple(range(1, max(self.lags) + 1))
        prior = priors.stationary() if whole else priors.coefficient(0.3)
        labels = tuple(f"lag_{k}" for k in self.lags)
        return (
            SpaceParameter(f"params_{self.name}", prior, labels),
            SpaceParameter(f"sigma_{self.name}", priors.deviation(0.5)),
        )

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(self.name if not k else f"{self.name}_{k}" for k in range(max(self.lags)))

    @property
    def shock_names(self) -> tuple[str, ...]:
        return (self.name,)

    def transition(self, values: Mapping[str, Node]) -> Node:
        return autoregression(values[f"params_{self.name}"], self.lags, max(self.lags))

    def seen(self, exog: Array | None) -> Array:
        return np.asarray(np.eye(max(self.lags))[0])

    def variances(self, values: Mapping[str, Node]) -> Node:
        return squares(values[f"sigma_{self.name}"], 1)

    def selection(self) -> Array:
        return np.eye(max(self.lags))[:, :1]

    def initial(self) -> tuple[str, ...]:
        return ("stationary",) * max(self.lags)


def autoregression(coefficients: Node, lags: Sequence[int], size: int) -> Node:
    """Transition of an autoregression whose first state is the process: coefficients in the first column."""
    column = as_tensor(np.zeros(size))
    for k, lag in enumerate(lags):
        column = index_set(column[lag - 1], coefficients[k])
    return index_set(as_tensor(np.eye(size, k=1))[:, 0], column)


class MeasurementError(Component):
    """Independent noise of the observations, with the parameter `sigma_<name>`.

    name: Its name.
    See LevelTrend: A level, and its trend.
    >>> pm.statespace.MeasurementError().param_names
    ['sigma_MeasurementError']
    """

    def __init__(self, name: str = "MeasurementError") -> None:
        super().__init__(name)

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        return (SpaceParameter(f"sigma_{self.name}", priors.deviation(0.5)),)

    @property
    def state_names(self) -> tuple[str, ...]:
        return ()

    def noise(self, values: Mapping[str, Node]) -> Node:
        sigma = values[f"sigma_{self.name}"]
        return sigma * sigma
