"""Distributions by declaration: densities, quantiles, draws, moments, checks and maps to the real line."""

from consilience.distributions import (
    reparametrized as _reparametrized,  # noqa: F401  # fills the tables of derivatives and batches
)
from consilience.distributions import transforms
from consilience.distributions.bounded import Interpolated, Triangular, TruncatedNormal
from consilience.distributions.circular import VonMises
from consilience.distributions.constrained_prior import find_constrained_prior
from consilience.distributions.context import DEFAULT, ModelContext
from consilience.distributions.counts import Bernoulli, Binomial, Categorical, NegativeBinomial, Poisson
from consilience.distributions.custom import CustomDist
from consilience.distributions.densities import (
    density,
    icdf,
    logccdf,
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
from consilience.distributions.extreme_values import (
    Frechet,
    GeneralizedExtremeValue,
    GeneralizedPareto,
    Gumbel,
    Pareto,
    Weibull,
)
from consilience.distributions.first_passage import Levy, Wald
from consilience.distributions.gamma_family import (
    ChiSquared,
    GeneralizedNormal,
    InverseChiSquared,
    LogGamma,
    ScaledInverseChiSquared,
)
from consilience.distributions.improper import Flat, HalfFlat
from consilience.distributions.multivariate_normal import MvNormal
from consilience.distributions.normal_relatives import ExGaussian, Rice, SkewNormal
from consilience.distributions.polya_gamma import PolyaGamma
from consilience.distributions.positive import (
    Exponential,
    Gamma,
    HalfCauchy,
    HalfNormal,
    HalfStudentT,
    InverseGamma,
    LogNormal,
)
from consilience.distributions.random_variable import RandomVariable, is_random, random_variables
from consilience.distributions.real_line import Cauchy, Laplace, Logistic, Normal, StudentT, Uniform
from consilience.distributions.simplex import Dirichlet
from consilience.distributions.skewed import AsymmetricLaplace, Moyal, SkewStudentT
from consilience.distributions.transforms import default_transform
from consilience.distributions.unit_interval import Beta, BetaPrime, Dagum, Kumaraswamy, LogitNormal

# PyMC's second spelling, and Stan's.
Lognormal = LogNormal
DoubleExponential = Laplace

__all__ = [
    "DEFAULT",
    "AsymmetricLaplace",
    "Bernoulli",
    "Beta",
    "BetaPrime",
    "Binomial",
    "Categorical",
    "Cauchy",
    "ChiSquared",
    "Continuous",
    "CustomDist",
    "Dagum",
    "Dirichlet",
    "Discrete",
    "Distribution",
    "DoubleExponential",
    "ExGaussian",
    "Exponential",
    "Flat",
    "Frechet",
    "Gamma",
    "GeneralizedExtremeValue",
    "GeneralizedNormal",
    "GeneralizedPareto",
    "Gumbel",
    "HalfCauchy",
    "HalfFlat",
    "HalfNormal",
    "HalfStudentT",
    "Interpolated",
    "InverseChiSquared",
    "InverseGamma",
    "Kumaraswamy",
    "Laplace",
    "Levy",
    "LogGamma",
    "LogNormal",
    "Logistic",
    "LogitNormal",
    "Lognormal",
    "ModelContext",
    "Moyal",
    "MvNormal",
    "NegativeBinomial",
    "Normal",
    "Pareto",
    "Poisson",
    "PolyaGamma",
    "RandomVariable",
    "Rice",
    "ScaledInverseChiSquared",
    "SkewNormal",
    "SkewStudentT",
    "StudentT",
    "Triangular",
    "TruncatedNormal",
    "Uniform",
    "VonMises",
    "Wald",
    "Weibull",
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
