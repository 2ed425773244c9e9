"""Written by `python tools/names.py` from the tables of calibration.py; not to be edited."""

from consilience.estimators.calibration.sbc import Calibration as Calibration
from consilience.estimators.calibration.power import Power as Power
from consilience.estimators.calibration.checks import PredictiveCheck as PredictiveCheck
from consilience.estimators.calibration.uniformity import Uniformity as Uniformity
from consilience.estimators.calibration.checks import posterior_predictive_check as posterior_predictive_check
from consilience.estimators.calibration.power import power as power
from consilience.estimators.calibration.checks import prior_predictive_check as prior_predictive_check
from consilience.estimators.calibration.sbc import sbc as sbc
from consilience.estimators.calibration.uniformity import uniformity as uniformity

__all__: list[str]
