"""`pm.statespace`: structural time series and models by name (SARIMAX, VARMAX, ETS, dynamic factors) as state spaces.

Components and orders in, an observed `pm.LinearGaussianStateSpace` with parameters and priors out; after sampling
states, components, residuals, forecasts and impulse responses with labels.
"""

from typing import Any

from consilience.first_use import guard
from consilience.names import absent
from consilience.statespace.components import (
    Autoregressive,
    Cycle,
    FrequencySeasonality,
    LevelTrend,
    MeasurementError,
    TimeSeasonality,
)
from consilience.statespace.given import filtered_states, one_step_residuals, smoothed_states
from consilience.statespace.named_models import SARIMAX, VARMAX, DynamicFactor
from consilience.statespace.regressors import Holidays, Regression
from consilience.statespace.smoothing import ETS

__all__ = [
    "ETS", "SARIMAX", "VARMAX", "Autoregressive", "Cycle", "DynamicFactor", "FrequencySeasonality", "Holidays",
    "LevelTrend", "MeasurementError", "Regression", "TimeSeasonality", "filtered_states", "one_step_residuals",
    "smoothed_states",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise AttributeError(absent.reason(f"module {__name__!r}", name, __all__), name=name)


guard(globals())
