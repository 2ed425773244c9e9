"""Log densities derived from graphs: of random variables, and of expressions of them."""

from consilience.logprob import censoring, rounding, transformed, truth, variables
from consilience.logprob.functions import conditional_logp, icdf, logccdf, logcdf, logp

__all__ = ["conditional_logp", "icdf", "logccdf", "logcdf", "logp", "transformed", "variables"]
