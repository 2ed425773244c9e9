"""Written by `python tools/names.py` from the tables of statespace.py; not to be edited."""

from consilience.statespace.components import Autoregressive as Autoregressive
from consilience.statespace.components import Cycle as Cycle
from consilience.statespace.named_models import DynamicFactor as DynamicFactor
from consilience.statespace.smoothing import ETS as ETS
from consilience.statespace.components import FrequencySeasonality as FrequencySeasonality
from consilience.statespace.regressors import Holidays as Holidays
from consilience.statespace.components import LevelTrend as LevelTrend
from consilience.statespace.components import MeasurementError as MeasurementError
from consilience.statespace.regressors import Regression as Regression
from consilience.statespace.named_models import SARIMAX as SARIMAX
from consilience.statespace.components import TimeSeasonality as TimeSeasonality
from consilience.statespace.named_models import VARMAX as VARMAX
from consilience.statespace.given import filtered_states as filtered_states
from consilience.statespace.given import one_step_residuals as one_step_residuals
from consilience.statespace.given import smoothed_states as smoothed_states

__all__: list[str]
