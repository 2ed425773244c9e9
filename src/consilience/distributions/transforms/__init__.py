"""Maps between supports and unconstrained space, and the table that chooses one."""

from consilience.distributions.transforms.cholesky import (
    CholeskyCovPacked,
    CholeskyCovTransform,
    CovarianceCholesky,
    LowerTriangular,
    cholesky_cov,
    cholesky_cov_packed,
    covariance_cholesky,
    lower_triangular,
)
from consilience.distributions.transforms.correlation import (
    CholeskyCorrTransform,
    CorrelationCholesky,
    CorrelationPartials,
    CovariancePartialCorrelations,
    cholesky_corr,
    correlation_cholesky,
    correlation_partials,
    covariance_partial,
)
from consilience.distributions.transforms.elementwise import (
    Circular,
    Interval,
    Log,
    LogExpM1,
    LogOdds,
    circular,
    log_exp_m1,
    log_odds,
)
from consilience.distributions.transforms.elementwise import log_transform as log
from consilience.distributions.transforms.ordered import Ordered, ordered
from consilience.distributions.transforms.registry import (
    BIJECTIONS,
    default_transform,
    sampled_transform,
    to_unconstrained,
)
from consilience.distributions.transforms.simplex import (
    Simplex,
    SimplexSteps,
    SumTo1,
    ordered_simplex,
    simplex,
    simplex_steps,
    sum_to_1,
)
from consilience.distributions.transforms.transform import Chain, Transform, chain, label
from consilience.distributions.transforms.unit_vector import UnitVector, unit_vector
from consilience.distributions.transforms.zero_sum import ZeroSumTransform

# PyMC's spellings.
ChainedTransform, CircularTransform, IntervalTransform = Chain, Circular, Interval
LogOddsTransform, LogTransform, SimplexTransform = LogOdds, Log, Simplex
logodds = log_odds
univariate_ordered = multivariate_ordered = ordered

__all__ = [
    "BIJECTIONS", "Chain", "ChainedTransform", "CholeskyCorrTransform", "CholeskyCovPacked",
    "CholeskyCovTransform", "Circular", "CircularTransform", "CorrelationCholesky", "CorrelationPartials",
    "CovarianceCholesky", "CovariancePartialCorrelations", "Interval", "IntervalTransform", "Log", "LogExpM1",
    "LogOdds", "LogOddsTransform", "LogTransform", "LowerTriangular", "Ordered", "Simplex", "SimplexSteps",
    "SimplexTransform", "SumTo1", "Transform", "UnitVector", "ZeroSumTransform", "chain", "cholesky_corr",
    "cholesky_cov", "cholesky_cov_packed", "circular", "correlation_cholesky", "correlation_partials",
    "covariance_cholesky", "covariance_partial", "default_transform", "label", "log", "log_exp_m1", "log_odds",
    "logodds", "lower_triangular", "multivariate_ordered", "ordered", "ordered_simplex", "sampled_transform",
    "simplex", "simplex_steps", "sum_to_1", "to_unconstrained", "unit_vector", "univariate_ordered",
]  # fmt: skip
