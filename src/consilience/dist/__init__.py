"""Distributions by declaration: densities, quantiles, draws, moments, checks and maps to the real line."""

from consilience.dist import transforms
from consilience.dist.context import DEFAULT, ModelContext
from consilience.dist.counts import Bernoulli, Binomial, Categorical, NegativeBinomial, Poisson
from consilience.dist.custom import CustomDist
from consilience.dist.declaration import Continuous, Discrete, Distribution, derived, instead_of, parameter
from consilience.dist.drawing import draw, realised_with
from consilience.dist.improper import Flat, HalfFlat
from consilience.dist.multivariate_normal import MvNormal
from consilience.dist.positive import Exponential, Gamma, HalfCauchy, HalfNormal, InverseGamma, LogNormal
from consilience.dist.random_variable import (
    RandomVariable,
    density,
    icdf,
    is_random,
    logcdf,
    logp,
    mean,
    parameter_violation,
    random_variables,
    realise,
    support_error,
    support_of,
    support_point,
    support_violation,
    variance,
)
from consilience.dist.real_line import Cauchy, Laplace, Normal, StudentT, Uniform
from consilience.dist.simplex import Dirichlet
from consilience.dist.transforms import default_transform
from consilience.dist.unit_interval import Beta

# PyMC's second spelling.
Lognormal = LogNormal

__all__ = [
    "DEFAULT", "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Continuous", "CustomDist",
    "Dirichlet", "Discrete", "Distribution", "Exponential", "Flat", "Gamma", "HalfCauchy", "HalfFlat",
    "HalfNormal", "InverseGamma", "Laplace", "LogNormal", "Lognormal", "ModelContext", "MvNormal",
    "NegativeBinomial", "Normal", "Poisson", "RandomVariable", "StudentT", "Uniform", "default_transform",
    "density", "derived", "draw", "icdf", "instead_of", "is_random", "logcdf", "logp", "mean",
    "parameter", "parameter_violation", "random_variables", "realise", "realised_with",
    "support_error", "support_of", "support_point", "support_violation", "transforms", "variance",
]  # fmt: skip
