"""Where the parts meet: a model becomes a density, chains run on it, results become a labelled tree."""

from consilience.sample.background import BackgroundSampling
from consilience.sample.posterior import resume, sample
from consilience.sample.predictive import (
    compute_log_likelihood,
    sample_posterior_predictive,
    sample_prior_predictive,
)

__all__ = [
    "BackgroundSampling",
    "compute_log_likelihood",
    "resume",
    "sample",
    "sample_posterior_predictive",
    "sample_prior_predictive",
]
