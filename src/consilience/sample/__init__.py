"""Where the parts meet: a model becomes a density, chains run on it, results become a labelled tree."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "background": "BackgroundSampling",
        "derived": "compute_deterministics compute_log_likelihood compute_log_prior recover_marginals",
        "forecasts": "forecast",
        "groups": "Save Stop Tuning",
        "inference_data": "predictions_to_inference_data to_inference_data",
        "over_posterior": "vectorize_over_posterior",
        "posterior": "sample",
        "predictive": "resampled_variables sample_posterior_predictive sample_prior_predictive",
        "resuming": "resume",
    },
)
