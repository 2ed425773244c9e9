"""Distributions by declaration: densities, quantiles, draws, moments, checks and maps to the real line."""

from consilience.distributions import transforms
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
from consilience.distributions.hurdle import HurdleGamma, HurdleLogNormal, HurdleNegativeBinomial, HurdlePoisson
from consilience.distributions.improper import Flat, HalfFlat
from consilience.distributions.multinomial import DirichletMultinomial, Multinomial
from consilience.distributions.multivariate_normal import MvNormal
from consilience.distributions.ordered import OrderedLogistic, OrderedMultinomial, OrderedProbit
from consilience.distributions.positive import Exponential, Gamma, HalfCauchy, HalfNormal, InverseGamma, LogNormal
from consilience.distributions.random_variable import RandomVariable, is_random, random_variables
from consilience.distributions.real_line import Cauchy, Laplace, Normal, StudentT, Uniform
from consilience.distributions.simplex import Dirichlet
from consilience.distributions.skellam import Skellam
from consilience.distributions.transforms import default_transform
from consilience.distributions.unit_interval import Beta
from consilience.distributions.waiting_times import DiscreteWeibull, Geometric
from consilience.distributions.whole_intervals import BetaBinomial, DiracDelta, DiscreteUniform, HyperGeometric
from consilience.distributions.zero_inflated import (
    ZeroInflatedBinomial,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)

# PyMC's second spelling.
Lognormal = LogNormal

__all__ = [
    "DEFAULT",
    "Bernoulli",
    "Beta",
    "BetaBinomial",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Continuous",
    "CustomDist",
    "DiracDelta",
    "Dirichlet",
    "DirichletMultinomial",
    "Discrete",
    "DiscreteUniform",
    "DiscreteWeibull",
    "Distribution",
    "Exponential",
    "Flat",
    "Gamma",
    "Geometric",
    "HalfCauchy",
    "HalfFlat",
    "HalfNormal",
    "HurdleGamma",
    "HurdleLogNormal",
    "HurdleNegativeBinomial",
    "HurdlePoisson",
    "HyperGeometric",
    "InverseGamma",
    "Laplace",
    "LogNormal",
    "Lognormal",
    "ModelContext",
    "Multinomial",
    "MvNormal",
    "NegativeBinomial",
    "Normal",
    "OrderedLogistic",
    "OrderedMultinomial",
    "OrderedProbit",
    "Poisson",
    "RandomVariable",
    "Skellam",
    "StudentT",
    "Uniform",
    "ZeroInflatedBinomial",
    "ZeroInflatedNegativeBinomial",
    "ZeroInflatedPoisson",
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
