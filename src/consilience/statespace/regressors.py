"""Components that are seen through regressors: columns that the user gives, and days of a calendar.

In: names of columns, dates. Out: components whose states are coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ParameterError
from consilience.ir import Node, constant
from consilience.ops.shape import broadcast_to, full
from consilience.statespace import priors
from consilience.statespace.components import Component, squares
from consilience.statespace.model import SpaceParameter

Array = npt.NDArray[Any]


class Regression(Component):
    """Regressors with fixed coefficients, or ones that drift; nothing is known of them at first.

    state_names: Names of the columns of `exog`.
    name: Its name in results; coefficients are its states. With innovations the parameter is `sigma_beta_<name>`.
    innovations: Whether the coefficients drift.
    See LevelTrend: A level, and its trend.
    >>> pm.statespace.Regression(["price"]).state_names
    ('beta_price',)
    """

    def __init__(self, state_names: Sequence[str], name: str = "regression", innovations: bool = False) -> None:
        super().__init__(name)
        self.exog_names = (state_names,) if isinstance(state_names, str) else tuple(state_names)
        self.innovations = innovations

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        return (SpaceParameter(f"sigma_beta_{self.name}", priors.deviation(0.1), self.exog_names),) * self.innovations

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(f"beta_{name}" for name in self.exog_names)

    @property
    def shock_names(self) -> tuple[str, ...]:
        return self.state_names if self.innovations else ()

    def transition(self, values: Mapping[str, Node]) -> Node:
        return constant(np.eye(len(self.exog_names)))

    def seen(self, exog: Array | None) -> Array:
        assert exog is not None
        return exog

    def variances(self, values: Mapping[str, Node]) -> Node:
        return squares(values[f"sigma_beta_{self.name}"], 1) if self.innovations else full((0,), 0.0)

    def selection(self) -> Array:
        return np.eye(len(self.exog_names))[:, : len(self.shock_names)]


class Holidays(Component):
    """Days of the calendar that raise or lower a series, each kind by an effect of its own.

    Effects are normal around 0 with the standard deviation `sigma_<name>`, a parameter: of a holiday that the data do
    not hold, a forecast is as unsure as the others differ.

    dates (mapping of str to sequence): For each holiday the labels of its times, past and future: dates like those of
        the data.
    name: Its name in results; effects are its states.
    innovations: Whether effects may change, with the parameter `sigma_drift_<name>`.
    See Regression: Columns of numbers with coefficients of which nothing is known.
    >>> pm.statespace.Holidays({"Easter": ["2024-04-01", "2025-04-21"]}).param_names
    ['sigma_holidays']
    """

    def __init__(self, dates: Mapping[str, Sequence[Any]], name: str = "holidays", innovations: bool = False) -> None:
        super().__init__(name)
        self.dates = {str(holiday): list(own) for holiday, own in dates.items()}
        if not self.dates or not all(self.dates.values()):
            raise ParameterError("Holidays: `dates` names at least one holiday, with at least one date each.")
        self.innovations = innovations

    @property
    def width(self) -> int:
        return len(self.dates)

    @property
    def parameters(self) -> tuple[SpaceParameter, ...]:
        effects = SpaceParameter(f"sigma_{self.name}", priors.deviation(1.0))
        drift = SpaceParameter(f"sigma_drift_{self.name}", priors.deviation(0.1))
        return (effects, drift) if self.innovations else (effects,)

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(self.dates)

    @property
    def shock_names(self) -> tuple[str, ...]:
        return self.state_names if self.innovations else ()

    def calendar(self, times: Any) -> Array:
        """1 at the times of each holiday, else 0: shape (times, holidays)."""
        labels = _labels(times)
        return np.stack([np.isin(labels, _labels(own)) for own in self.dates.values()], 1).astype(float)

    def check_times(self, times: Any) -> None:
        if not self.calendar(times).any():
            first = next(iter(self.dates.values()))[0]
            raise ParameterError(
                f"Holidays: no date of {', '.join(self.dates)} is a label of the data: the first one is {first}, and "
                f"the labels begin with {list(times)[:2]}. Give the labels of the rows that hold the holidays."
            )

    def transition(self, values: Mapping[str, Node]) -> Node:
        return constant(np.eye(self.width))

    def seen(self, exog: Array | None) -> Array:
        assert exog is not None
        return exog

    def variances(self, values: Mapping[str, Node]) -> Node:
        return squares(values[f"sigma_drift_{self.name}"], self.width) if self.innovations else full((0,), 0.0)

    def selection(self) -> Array:
        return np.eye(self.width)[:, : len(self.shock_names)]

    def initial(self) -> tuple[str, ...]:
        return ("known",) * self.width

    def first_variances(self, values: Mapping[str, Node]) -> Node:
        sigma = values[f"sigma_{self.name}"]
        return broadcast_to(sigma * sigma, (self.width,))


def _labels(times: Any) -> Array:
    """Labels of times as an array: dates as days, all else as it is."""
    values = np.asarray(times)
    if values.dtype.kind in "iuf":
        return values
    pd: Any = import_module("pandas")
    return np.asarray(pd.to_datetime(list(times)).to_numpy(), "datetime64[ns]")
