"""Whether a model and a sampler do what they should: on data that the model itself has simulated.

A model in; ranks, p-values and shares of decisions with their Monte-Carlo errors out.
"""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "checks": "PredictiveCheck posterior_predictive_check prior_predictive_check",
        "power": "Power power",
        "sbc": "Calibration sbc",
        "uniformity": "Uniformity uniformity",
    },
)
