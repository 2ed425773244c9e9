"""Distributions by declaration: densities, quantiles, draws, moments, checks and maps to the real line."""

from consilience.distributions import (
    reparametrized as _reparametrized,  # noqa: F401  # fills the tables of derivatives and batches
)
from consilience.distributions import transforms
from consilience.distributions.autoregression_in_space import CAR, ICAR
from consilience.distributions.constrained_prior import find_constrained_prior
from consilience.distributions.context import DEFAULT, ModelContext
from consilience.distributions.counts import Bernoulli, Binomial, Categorical, NegativeBinomial, Poisson
from consilience.distributions.custom import CustomDist
from consilience.distributions.densities import (
    density,
    icdf,
    logcdf,
    logp,
    mean,
    parameter_violation,
    realise,
    support_error,
    support_of,
    support_point,
    support_violation,
    variance,
)
from consilience.distributions.distribution import (
    Continuous,
    Discrete,
    Distribution,
    component,
    components,
    derived,
    instead_of,
    parameter,
    static,
)
from consilience.distributions.drawing import compile, draw, realised_with
from consilience.distributions.improper import Flat, HalfFlat
from consilience.distributions.kronecker_normal import KroneckerNormal
from consilience.distributions.lkj import LKJCholeskyCov, LKJCorr
from consilience.distributions.matrix_normal import MatrixNormal
from consilience.distributions.multivariate_normal import MvNormal
from consilience.distributions.of_normal_vectors import MvLogNormal, MvStudentT
from consilience.distributions.positive import Exponential, Gamma, HalfCauchy, HalfNormal, InverseGamma, LogNormal
from consilience.distributions.random_variable import RandomVariable, is_random, random_variables
from consilience.distributions.real_line import Cauchy, Laplace, Normal, StudentT, Uniform
from consilience.distributions.simplex import Dirichlet
from consilience.distributions.sphere import UniformDirection, VonMisesFisher
from consilience.distributions.stick_breaking import StickBreakingWeights
from consilience.distributions.transforms import default_transform
from consilience.distributions.unit_interval import Beta
from consilience.distributions.wishart import InverseWishart, Wishart
from consilience.distributions.zero_sum_normal import ZeroSumNormal

# PyMC's second spelling.
Lognormal = LogNormal

__all__ = [
    "CAR",
    "DEFAULT",
    "ICAR",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Continuous",
    "CustomDist",
    "Dirichlet",
    "Discrete",
    "Distribution",
    "Exponential",
    "Flat",
    "Gamma",
    "HalfCauchy",
    "HalfFlat",
    "HalfNormal",
    "InverseGamma",
    "InverseWishart",
    "KroneckerNormal",
    "LKJCholeskyCov",
    "LKJCorr",
    "Laplace",
    "LogNormal",
    "Lognormal",
    "MatrixNormal",
    "ModelContext",
    "MvLogNormal",
    "MvNormal",
    "MvStudentT",
    "NegativeBinomial",
    "Normal",
    "Poisson",
    "RandomVariable",
    "StickBreakingWeights",
    "StudentT",
    "Uniform",
    "UniformDirection",
    "VonMisesFisher",
    "Wishart",
    "ZeroSumNormal",
    "compile",
    "component",
    "components",
    "default_transform",
    "density",
    "derived",
    "draw",
    "find_constrained_prior",
    "icdf",
    "instead_of",
    "is_random",
    "logccdf",
    "logcdf",
    "logp",
    "mean",
    "parameter",
    "parameter_violation",
    "random_variables",
    "realise",
    "realised_with",
    "static",
    "support_error",
    "support_of",
    "support_point",
    "support_violation",
    "transforms",
    "variance",
]  # fmt: skip
