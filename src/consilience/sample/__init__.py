"""Where the parts meet: a model becomes a density, chains run on it, results become a labelled tree."""

from consilience.sample.background import BackgroundSampling
from consilience.sample.groups import Save, Stop, Tuning
from consilience.sample.inference_data import predictions_to_inference_data, to_inference_data
from consilience.sample.over_posterior import vectorize_over_posterior
from consilience.sample.posterior import sample
from consilience.sample.predictive import (
    compute_deterministics,
    compute_log_likelihood,
    compute_log_prior,
    recover_marginals,
    resampled_variables,
    sample_posterior_predictive,
    sample_prior_predictive,
)
from consilience.sample.resuming import resume

__all__ = [
    "BackgroundSampling",
    "Save",
    "Stop",
    "Tuning",
    "compute_deterministics",
    "compute_log_likelihood",
    "compute_log_prior",
    "predictions_to_inference_data",
    "recover_marginals",
    "resampled_variables",
    "resume",
    "sample",
    "sample_posterior_predictive",
    "sample_prior_predictive",
    "to_inference_data",
    "vectorize_over_posterior",
]
