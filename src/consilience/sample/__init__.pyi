"""Written by `python tools/names.py` from the tables of sample.py; not to be edited."""

from consilience.sample.background import BackgroundSampling as BackgroundSampling
from consilience.sample.groups import Save as Save
from consilience.sample.groups import Stop as Stop
from consilience.sample.groups import Tuning as Tuning
from consilience.sample.derived import compute_deterministics as compute_deterministics
from consilience.sample.derived import compute_log_likelihood as compute_log_likelihood
from consilience.sample.derived import compute_log_prior as compute_log_prior
from consilience.sample.forecasts import forecast as forecast
from consilience.sample.inference_data import predictions_to_inference_data as predictions_to_inference_data
from consilience.sample.derived import recover_marginals as recover_marginals
from consilience.sample.predictive import resampled_variables as resampled_variables
from consilience.sample.resuming import resume as resume
from consilience.sample.posterior import sample as sample
from consilience.sample.predictive import sample_posterior_predictive as sample_posterior_predictive
from consilience.sample.predictive import sample_prior_predictive as sample_prior_predictive
from consilience.sample.inference_data import to_inference_data as to_inference_data
from consilience.sample.over_posterior import vectorize_over_posterior as vectorize_over_posterior

__all__: list[str]
