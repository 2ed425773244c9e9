"""Written by `python tools/names.py` from the tables of __init__.py; not to be edited."""

from consilience.distributions import transforms as transforms
from consilience.distributions.autoregression import AR as AR
from consilience.distributions.skewed import AsymmetricLaplace as AsymmetricLaplace
from consilience.distributions.counts import Bernoulli as Bernoulli
from consilience.distributions.unit_interval import Beta as Beta
from consilience.distributions.unit_interval import BetaPrime as BetaPrime
from consilience.distributions.counts import Binomial as Binomial
from consilience.distributions.counts import Categorical as Categorical
from consilience.distributions.real_line import Cauchy as Cauchy
from consilience.distributions.truncation import Censored as Censored
from consilience.distributions.gamma_family import ChiSquared as ChiSquared
from consilience.distributions.distribution import Continuous as Continuous
from consilience.distributions.custom import CustomDist as CustomDist
from consilience.distributions.context import DEFAULT as DEFAULT
from consilience.distributions.unit_interval import Dagum as Dagum
from consilience.distributions.simplex import Dirichlet as Dirichlet
from consilience.distributions.distribution import Discrete as Discrete
from consilience.distributions.distribution import Distribution as Distribution
from consilience.distributions.diffusion import EulerMaruyama as EulerMaruyama
from consilience.distributions.positive import Exponential as Exponential
from consilience.distributions.improper import Flat as Flat
from consilience.distributions.extreme_values import Frechet as Frechet
from consilience.distributions.positive import Gamma as Gamma
from consilience.distributions.random_walk import GaussianRandomWalk as GaussianRandomWalk
from consilience.distributions.extreme_values import GeneralizedExtremeValue as GeneralizedExtremeValue
from consilience.distributions.gamma_family import GeneralizedNormal as GeneralizedNormal
from consilience.distributions.extreme_values import GeneralizedPareto as GeneralizedPareto
from consilience.distributions.extreme_values import Gumbel as Gumbel
from consilience.distributions.positive import HalfCauchy as HalfCauchy
from consilience.distributions.improper import HalfFlat as HalfFlat
from consilience.distributions.positive import HalfNormal as HalfNormal
from consilience.distributions.positive import HalfStudentT as HalfStudentT
from consilience.distributions.gamma_family import InverseChiSquared as InverseChiSquared
from consilience.distributions.positive import InverseGamma as InverseGamma
from consilience.distributions.unit_interval import Kumaraswamy as Kumaraswamy
from consilience.distributions.lkj import LKJCholeskyCov as LKJCholeskyCov
from consilience.distributions.lkj import LKJCorr as LKJCorr
from consilience.distributions.real_line import Laplace as Laplace
from consilience.distributions.first_passage import Levy as Levy
from consilience.distributions.gamma_family import LogGamma as LogGamma
from consilience.distributions.positive import LogNormal as LogNormal
from consilience.distributions.real_line import Logistic as Logistic
from consilience.distributions.unit_interval import LogitNormal as LogitNormal
from consilience.distributions.mixture import Mixture as Mixture
from consilience.distributions.context import ModelContext as ModelContext
from consilience.distributions.skewed import Moyal as Moyal
from consilience.distributions.random_walk import MvGaussianRandomWalk as MvGaussianRandomWalk
from consilience.distributions.multivariate_normal import MvNormal as MvNormal
from consilience.distributions.counts import NegativeBinomial as NegativeBinomial
from consilience.distributions.real_line import Normal as Normal
from consilience.distributions.mixture import NormalMixture as NormalMixture
from consilience.distributions.extreme_values import Pareto as Pareto
from consilience.distributions.counts import Poisson as Poisson
from consilience.distributions.random_variable import RandomVariable as RandomVariable
from consilience.distributions.random_walk import RandomWalk as RandomWalk
from consilience.distributions.gamma_family import ScaledInverseChiSquared as ScaledInverseChiSquared
from consilience.distributions.skewed import SkewStudentT as SkewStudentT
from consilience.distributions.real_line import StudentT as StudentT
from consilience.distributions.truncation import Truncated as Truncated
from consilience.distributions.real_line import Uniform as Uniform
from consilience.distributions.first_passage import Wald as Wald
from consilience.distributions.extreme_values import Weibull as Weibull
from consilience.distributions.drawing import compile as compile
from consilience.distributions.distribution import component as component
from consilience.distributions.distribution import components as components
from consilience.distributions.transforms import default_transform as default_transform
from consilience.distributions.densities import density as density
from consilience.distributions.distribution import derived as derived
from consilience.distributions.drawing import draw as draw
from consilience.distributions.constrained_prior import find_constrained_prior as find_constrained_prior
from consilience.distributions.densities import icdf as icdf
from consilience.distributions.distribution import instead_of as instead_of
from consilience.distributions.random_variable import is_random as is_random
from consilience.distributions.densities import logccdf as logccdf
from consilience.distributions.densities import logcdf as logcdf
from consilience.distributions.densities import logp as logp
from consilience.distributions.densities import mean as mean
from consilience.distributions.distribution import parameter as parameter
from consilience.distributions.densities import parameter_violation as parameter_violation
from consilience.distributions.random_variable import random_variables as random_variables
from consilience.distributions.densities import realise as realise
from consilience.distributions.densities import realised_with as realised_with
from consilience.distributions.distribution import static as static
from consilience.distributions.densities import support_error as support_error
from consilience.distributions.densities import support_of as support_of
from consilience.distributions.densities import support_point as support_point
from consilience.distributions.densities import support_violation as support_violation
from consilience.distributions.densities import variance as variance

DoubleExponential = Laplace
Lognormal = LogNormal

PUBLIC: dict[str, str]
INTERNAL: dict[str, str]
SPELLINGS: dict[str, str]
_HOME: dict[str, str]
__all__: list[str]
