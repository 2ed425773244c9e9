"""Whether a model and a sampler do what they should: on data that the model itself has simulated.

A model in; ranks, p-values and shares of decisions with their Monte-Carlo errors out.
"""

from consilience.estimators.calibration.checks import (
    PredictiveCheck,
    posterior_predictive_check,
    prior_predictive_check,
)
from consilience.estimators.calibration.power import Power, power
from consilience.estimators.calibration.sbc import Calibration, sbc
from consilience.estimators.calibration.uniformity import Uniformity, uniformity

__all__ = [
    "Calibration",
    "Power",
    "PredictiveCheck",
    "Uniformity",
    "posterior_predictive_check",
    "power",
    "prior_predictive_check",
    "sbc",
    "uniformity",
]
