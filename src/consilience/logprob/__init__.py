"""Log densities derived from graphs: of random variables, and of expressions of them."""

from importlib import import_module

from consilience.distributions.custom import CustomDist
from consilience.first_use import load_on_use as _load_on_use
from consilience.logprob.functions import conditional_logp, icdf, logccdf, logcdf, logp

# One module per mathematical case. Each registers its rules when it is imported; rules of one op are tried in order.
CASES = tuple(
    import_module(f"consilience.logprob.{name}")
    for name in (
        "order",  # a place of a sorted vector, before parts of any vector
        "censoring",
        "cumulative",
        "derived",
        "extremes",
        "gaussian",
        "joining",
        "loops",
        "matrix_product",
        "mixture",
        "numeric_inverse",
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

_load_on_use(__name__, {}, public=True)
