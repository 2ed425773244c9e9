"""Log densities derived from graphs: of random variables, and of expressions of them."""

from consilience.logprob import censoring, extremes, joining, rearrangement, rounding, transformed, truth, variables
from consilience.logprob.functions import conditional_logp, icdf, logccdf, logcdf, logp

# Each case registers its rules when it is imported.
CASES = (censoring, extremes, joining, rearrangement, rounding, transformed, truth, variables)

__all__ = ["conditional_logp", "icdf", "logccdf", "logcdf", "logp"]
