"""Distributions by declaration: densities, quantiles, draws, moments, checks and maps to the real line."""

from consilience.dist import transforms
from consilience.dist.context import DEFAULT, ModelContext
from consilience.dist.counts import Bernoulli
from consilience.dist.declaration import Continuous, Discrete, Distribution, derived, instead_of, parameter
from consilience.dist.improper import Flat, HalfFlat
from consilience.dist.multivariate_normal import MvNormal
from consilience.dist.positive import Exponential, Gamma, HalfCauchy, HalfNormal
from consilience.dist.random_variable import (
    RandomVariable,
    density,
    icdf,
    is_random,
    logcdf,
    logp,
    mean,
    parameter_violation,
    resized,
    support_error,
    support_of,
    support_point,
    support_violation,
    variance,
)
from consilience.dist.real_line import Normal
from consilience.dist.transforms import default_transform
