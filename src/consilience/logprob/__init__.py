"""Log densities derived from graphs: of random variables, and of expressions of them."""

from importlib import import_module

from consilience.distributions.custom import CustomDist
from consilience.logprob.functions import conditional_logp, icdf, logccdf, logcdf, logp

# One module per mathematical case; each registers its rules when it is imported.
CASES = tuple(
    import_module(f"consilience.logprob.{name}")
    for name in (
        "censoring",
        "cumulative",
        "derived",
        "extremes",
        "gaussian",
        "joining",
        "matrix_product",
        "mixture",
        "numeric_inverse",
        "order",
        "rearrangement",
        "rounding",
        "softmax",
        "sums",
        "transformed",
        "truth",
        "variables",
    )
)

# PyMC's older name.
DensityDist = CustomDist

__all__ = ["CustomDist", "DensityDist", "conditional_logp", "icdf", "logccdf", "logcdf", "logp"]
