"""`pm.statespace`: structural time series and models by name (SARIMAX, VARMAX, ETS, dynamic factors) as state spaces.

Components and orders in, an observed `pm.LinearGaussianStateSpace` with parameters and priors out; after sampling
states, components, residuals, forecasts and impulse responses with labels.
"""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "components": "Autoregressive Cycle FrequencySeasonality LevelTrend MeasurementError TimeSeasonality",
        "given": "filtered_states one_step_residuals smoothed_states",
        "named_models": "DynamicFactor SARIMAX VARMAX",
        "regressors": "Holidays Regression",
        "smoothing": "ETS",
    },
    public=True,
)
