"""Log densities derived from graphs: of random variables, and of expressions of them."""

from consilience.distributions.custom import CustomDist
from consilience.logprob import (
    censoring,
    cumulative,
    derived,
    extremes,
    gaussian,
    joining,
    matrix_product,
    mixture,
    order,
    rearrangement,
    rounding,
    sums,
    transformed,
    truth,
    variables,
)
from consilience.logprob.functions import conditional_logp, icdf, logccdf, logcdf, logp

# Each case registers its rules when it is imported.
CASES = (
    censoring,
    cumulative,
    derived,
    extremes,
    gaussian,
    joining,
    matrix_product,
    mixture,
    order,
    rearrangement,
    rounding,
    sums,
    transformed,
    truth,
    variables,
)

# PyMC's older name.
DensityDist = CustomDist

__all__ = ["CustomDist", "DensityDist", "conditional_logp", "icdf", "logccdf", "logcdf", "logp"]
