"""Written by `python tools/names.py` from the tables of transforms.py; not to be edited."""

from consilience.distributions.transforms.registry import BIJECTIONS as BIJECTIONS
from consilience.distributions.transforms.transform import Chain as Chain
from consilience.distributions.transforms.correlation import CholeskyCorrTransform as CholeskyCorrTransform
from consilience.distributions.transforms.cholesky import CholeskyCovPacked as CholeskyCovPacked
from consilience.distributions.transforms.cholesky import CholeskyCovTransform as CholeskyCovTransform
from consilience.distributions.transforms.elementwise import Circular as Circular
from consilience.distributions.transforms.correlation import CorrelationCholesky as CorrelationCholesky
from consilience.distributions.transforms.correlation import CorrelationPartials as CorrelationPartials
from consilience.distributions.transforms.cholesky import CovarianceCholesky as CovarianceCholesky
from consilience.distributions.transforms.correlation import (
    CovariancePartialCorrelations as CovariancePartialCorrelations,
)
from consilience.distributions.transforms.elementwise import Interval as Interval
from consilience.distributions.transforms.elementwise import Log as Log
from consilience.distributions.transforms.elementwise import LogExpM1 as LogExpM1
from consilience.distributions.transforms.elementwise import LogOdds as LogOdds
from consilience.distributions.transforms.cholesky import LowerTriangular as LowerTriangular
from consilience.distributions.transforms.ordered import Ordered as Ordered
from consilience.distributions.transforms.simplex import Simplex as Simplex
from consilience.distributions.transforms.simplex import SimplexSteps as SimplexSteps
from consilience.distributions.transforms.simplex import SumTo1 as SumTo1
from consilience.distributions.transforms.transform import Transform as Transform
from consilience.distributions.transforms.unit_vector import UnitVector as UnitVector
from consilience.distributions.transforms.zero_sum import ZeroSumTransform as ZeroSumTransform
from consilience.distributions.transforms.transform import chain as chain
from consilience.distributions.transforms.correlation import cholesky_corr as cholesky_corr
from consilience.distributions.transforms.cholesky import cholesky_cov as cholesky_cov
from consilience.distributions.transforms.cholesky import cholesky_cov_packed as cholesky_cov_packed
from consilience.distributions.transforms.elementwise import circular as circular
from consilience.distributions.transforms.correlation import correlation_cholesky as correlation_cholesky
from consilience.distributions.transforms.correlation import correlation_partials as correlation_partials
from consilience.distributions.transforms.cholesky import covariance_cholesky as covariance_cholesky
from consilience.distributions.transforms.correlation import covariance_partial as covariance_partial
from consilience.distributions.transforms.registry import default_transform as default_transform
from consilience.distributions.transforms.transform import label as label
from consilience.distributions.transforms.elementwise import log_exp_m1 as log_exp_m1
from consilience.distributions.transforms.elementwise import log_odds as log_odds
from consilience.distributions.transforms.elementwise import log_transform as log_transform
from consilience.distributions.transforms.cholesky import lower_triangular as lower_triangular
from consilience.distributions.transforms.ordered import ordered as ordered
from consilience.distributions.transforms.simplex import ordered_simplex as ordered_simplex
from consilience.distributions.transforms.registry import sampled_transform as sampled_transform
from consilience.distributions.transforms.simplex import simplex as simplex
from consilience.distributions.transforms.simplex import simplex_steps as simplex_steps
from consilience.distributions.transforms.simplex import sum_to_1 as sum_to_1
from consilience.distributions.transforms.registry import to_unconstrained as to_unconstrained
from consilience.distributions.transforms.unit_vector import unit_vector as unit_vector

ChainedTransform = Chain
CircularTransform = Circular
IntervalTransform = Interval
LogOddsTransform = LogOdds
LogTransform = Log
SimplexTransform = Simplex
log = log_transform
logodds = log_odds
multivariate_ordered = ordered
univariate_ordered = ordered

__all__: list[str]
