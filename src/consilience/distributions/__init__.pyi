"""Written by `python tools/names.py` from the tables of __init__.py; not to be edited."""

# A call makes a variable, and `dist` names its parameters: neither is the base's.
# mypy: disable-error-code="misc, override"

from collections.abc import Callable, Sequence
from typing import Any

from consilience.distributions import dist_math as dist_math
from consilience.distributions import transforms as transforms
from consilience.distributions.autoregression import AR as _AR
from consilience.distributions.skewed import AsymmetricLaplace as _AsymmetricLaplace
from consilience.distributions.bart import BART as _BART
from consilience.distributions.counts import Bernoulli as _Bernoulli
from consilience.distributions.unit_interval import Beta as _Beta
from consilience.distributions.whole_intervals import BetaBinomial as _BetaBinomial
from consilience.distributions.unit_interval import BetaPrime as _BetaPrime
from consilience.distributions.counts import Binomial as _Binomial
from consilience.distributions.autoregression_in_space import CAR as _CAR
from consilience.distributions.counts import Categorical as _Categorical
from consilience.distributions.real_line import Cauchy as _Cauchy
from consilience.distributions.truncation import Censored as _Censored
from consilience.distributions.gamma_family import ChiSquared as _ChiSquared
from consilience.distributions.distribution import Continuous as Continuous
from consilience.distributions.conway_maxwell_poisson import ConwayMaxwellPoisson as _ConwayMaxwellPoisson
from consilience.distributions.custom import CustomDist as _CustomDist
from consilience.distributions.context import DEFAULT as DEFAULT
from consilience.distributions.unit_interval import Dagum as _Dagum
from consilience.distributions.whole_intervals import DiracDelta as _DiracDelta
from consilience.distributions.simplex import Dirichlet as _Dirichlet
from consilience.distributions.multinomial import DirichletMultinomial as _DirichletMultinomial
from consilience.distributions.distribution import Discrete as Discrete
from consilience.distributions.whole_intervals import DiscreteUniform as _DiscreteUniform
from consilience.distributions.waiting_times import DiscreteWeibull as _DiscreteWeibull
from consilience.distributions.distribution import Distribution as Distribution
from consilience.distributions.diffusion import EulerMaruyama as _EulerMaruyama
from consilience.distributions.normal_relatives import ExGaussian as _ExGaussian
from consilience.distributions.positive import Exponential as _Exponential
from consilience.distributions.improper import Flat as _Flat
from consilience.distributions.extreme_values import Frechet as _Frechet
from consilience.distributions.volatility import GARCH11 as _GARCH11
from consilience.distributions.positive import Gamma as _Gamma
from consilience.distributions.random_walk import GaussianRandomWalk as _GaussianRandomWalk
from consilience.distributions.extreme_values import GeneralizedExtremeValue as _GeneralizedExtremeValue
from consilience.distributions.gamma_family import GeneralizedNormal as _GeneralizedNormal
from consilience.distributions.extreme_values import GeneralizedPareto as _GeneralizedPareto
from consilience.distributions.waiting_times import Geometric as _Geometric
from consilience.distributions.extreme_values import Gumbel as _Gumbel
from consilience.distributions.positive import HalfCauchy as _HalfCauchy
from consilience.distributions.improper import HalfFlat as _HalfFlat
from consilience.distributions.positive import HalfNormal as _HalfNormal
from consilience.distributions.positive import HalfStudentT as _HalfStudentT
from consilience.distributions.hidden_markov import HiddenMarkov as _HiddenMarkov
from consilience.distributions.hurdle import HurdleGamma as _HurdleGamma
from consilience.distributions.hurdle import HurdleLogNormal as _HurdleLogNormal
from consilience.distributions.hurdle import HurdleNegativeBinomial as _HurdleNegativeBinomial
from consilience.distributions.hurdle import HurdlePoisson as _HurdlePoisson
from consilience.distributions.whole_intervals import HyperGeometric as _HyperGeometric
from consilience.distributions.autoregression_in_space import ICAR as _ICAR
from consilience.distributions.bounded import Interpolated as _Interpolated
from consilience.distributions.gamma_family import InverseChiSquared as _InverseChiSquared
from consilience.distributions.positive import InverseGamma as _InverseGamma
from consilience.distributions.wishart import InverseWishart as _InverseWishart
from consilience.distributions.kronecker_normal import KroneckerNormal as _KroneckerNormal
from consilience.distributions.unit_interval import Kumaraswamy as _Kumaraswamy
from consilience.distributions.lkj import LKJCholeskyCov as _LKJCholeskyCov
from consilience.distributions.lkj import LKJCorr as _LKJCorr
from consilience.distributions.real_line import Laplace as _Laplace
from consilience.distributions.first_passage import Levy as _Levy
from consilience.distributions.state_space import LinearGaussianStateSpace as _LinearGaussianStateSpace
from consilience.distributions.gamma_family import LogGamma as _LogGamma
from consilience.distributions.unit_interval import LogLogistic as _LogLogistic
from consilience.distributions.positive import LogNormal as _LogNormal
from consilience.distributions.real_line import Logistic as _Logistic
from consilience.distributions.unit_interval import LogitNormal as _LogitNormal
from consilience.distributions.matrix_normal import MatrixNormal as _MatrixNormal
from consilience.distributions.mixture import Mixture as _Mixture
from consilience.distributions.context import ModelContext as ModelContext
from consilience.distributions.skewed import Moyal as _Moyal
from consilience.distributions.multinomial import Multinomial as _Multinomial
from consilience.distributions.random_walk import MvGaussianRandomWalk as _MvGaussianRandomWalk
from consilience.distributions.of_normal_vectors import MvLogNormal as _MvLogNormal
from consilience.distributions.multivariate_normal import MvNormal as _MvNormal
from consilience.distributions.of_normal_vectors import MvStudentT as _MvStudentT
from consilience.distributions.random_walk import MvStudentTRandomWalk as _MvStudentTRandomWalk
from consilience.distributions.counts import NegativeBinomial as _NegativeBinomial
from consilience.distributions.real_line import Normal as _Normal
from consilience.distributions.mixture import NormalMixture as _NormalMixture
from consilience.distributions.ordered import OrderedLogistic as _OrderedLogistic
from consilience.distributions.ordered import OrderedMultinomial as _OrderedMultinomial
from consilience.distributions.ordered import OrderedProbit as _OrderedProbit
from consilience.distributions.extreme_values import Pareto as _Pareto
from consilience.distributions.counts import Poisson as _Poisson
from consilience.distributions.polya_gamma import PolyaGamma as _PolyaGamma
from consilience.distributions.random_variable import RandomVariable as RandomVariable
from consilience.distributions.random_walk import RandomWalk as _RandomWalk
from consilience.distributions.normal_relatives import Rice as _Rice
from consilience.distributions.gamma_family import ScaledInverseChiSquared as _ScaledInverseChiSquared
from consilience.distributions.simulator import Simulator as _Simulator
from consilience.distributions.skellam import Skellam as _Skellam
from consilience.distributions.normal_relatives import SkewNormal as _SkewNormal
from consilience.distributions.skewed import SkewStudentT as _SkewStudentT
from consilience.distributions.stick_breaking import StickBreakingWeights as _StickBreakingWeights
from consilience.distributions.real_line import StudentT as _StudentT
from consilience.distributions.bounded import Triangular as _Triangular
from consilience.distributions.truncation import Truncated as _Truncated
from consilience.distributions.bounded import TruncatedNormal as _TruncatedNormal
from consilience.distributions.real_line import Uniform as _Uniform
from consilience.distributions.sphere import UniformDirection as _UniformDirection
from consilience.distributions.circular import VonMises as _VonMises
from consilience.distributions.sphere import VonMisesFisher as _VonMisesFisher
from consilience.distributions.first_passage import Wald as _Wald
from consilience.distributions.extreme_values import Weibull as _Weibull
from consilience.distributions.wishart import Wishart as _Wishart
from consilience.distributions.zero_inflated import ZeroInflatedBinomial as _ZeroInflatedBinomial
from consilience.distributions.zero_inflated import ZeroInflatedNegativeBinomial as _ZeroInflatedNegativeBinomial
from consilience.distributions.zero_inflated import ZeroInflatedPoisson as _ZeroInflatedPoisson
from consilience.distributions.zero_sum_normal import ZeroSumNormal as _ZeroSumNormal
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
from consilience.distributions.distribution import Dims
from consilience.ir import Node
from consilience.ops.elementwise import TensorLike

class AR(_AR):
    def __new__(cls, name: str, rho: TensorLike, sigma: TensorLike = 1.0, tau: TensorLike | None = None, init_dist: Any = None, steps: Any = None, constant: Any = None, ar_order: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Autoregressive series of order p: x_t = rho_1 x_(t-1) + … + rho_p x_(t-p) + e_t, e_t normal around 0."
    @classmethod
    def dist(cls, rho: TensorLike, sigma: TensorLike = 1.0, tau: TensorLike | None = None, init_dist: Any = None, steps: Any = None, constant: Any = None, ar_order: Any = None, *, shape: Any = None, size: Any = None) -> Node: ...

class AsymmetricLaplace(_AsymmetricLaplace):
    def __new__(cls, name: str, kappa: TensorLike, mu: TensorLike, b: TensorLike, q: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Two exponential tails: b / (kappa + 1 / kappa) exp(-b |x - mu| kappa^s), s the sign of x - mu."
    @classmethod
    def dist(cls, kappa: TensorLike, mu: TensorLike, b: TensorLike, q: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class BART(_BART):
    def __new__(cls, name: str, X: TensorLike, Y: Any = None, m: Any = None, alpha: Any = None, beta: Any = None, response: Any = None, split_rules: Any = None, split_prior: Any = None, separate_trees: Any = None, monotone: Any = None, leaf_sd: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Bayesian additive regression trees: a function of covariates as a sum of m small trees."
    @classmethod
    def dist(cls, X: TensorLike, Y: Any = None, m: Any = None, alpha: Any = None, beta: Any = None, response: Any = None, split_rules: Any = None, split_prior: Any = None, separate_trees: Any = None, monotone: Any = None, leaf_sd: Any = None) -> Node: ...

class Bernoulli(_Bernoulli):
    def __new__(cls, name: str, p: TensorLike | None = None, logit_p: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Success (1) or failure (0): p^x (1 - p)^(1-x)."
    @classmethod
    def dist(cls, p: TensorLike | None = None, logit_p: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class Beta(_Beta):
    def __new__(cls, name: str, alpha: TensorLike | None = None, beta: TensorLike | None = None, mu: TensorLike | None = None, sigma: TensorLike | None = None, nu: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Distribution of proportions: x^(alpha-1) (1-x)^(beta-1) / B(alpha, beta)."
    @classmethod
    def dist(cls, alpha: TensorLike | None = None, beta: TensorLike | None = None, mu: TensorLike | None = None, sigma: TensorLike | None = None, nu: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class BetaBinomial(_BetaBinomial):
    def __new__(cls, name: str, alpha: TensorLike, beta: TensorLike, n: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Successes among n trials whose probability is beta distributed."
    @classmethod
    def dist(cls, alpha: TensorLike, beta: TensorLike, n: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class BetaPrime(_BetaPrime):
    def __new__(cls, name: str, alpha: TensorLike, beta: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Odds x = p / (1 - p) of a beta variable p: x^(alpha-1) (1 + x)^(-alpha-beta) / B(alpha, beta)."
    @classmethod
    def dist(cls, alpha: TensorLike, beta: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class Binomial(_Binomial):
    def __new__(cls, name: str, n: TensorLike, p: TensorLike | None = None, logit_p: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Successes among n independent trials: C(n, x) p^x (1 - p)^(n-x)."
    @classmethod
    def dist(cls, n: TensorLike, p: TensorLike | None = None, logit_p: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class CAR(_CAR):
    def __new__(cls, name: str, mu: TensorLike, W: TensorLike, alpha: TensorLike, tau: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Conditional autoregression: normal vectors of precision tau (D - alpha W); D holds the sums of W's rows."
    @classmethod
    def dist(cls, mu: TensorLike, W: TensorLike, alpha: TensorLike, tau: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class Categorical(_Categorical):
    def __new__(cls, name: str, p: TensorLike | None = None, logit_p: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Number of one of n categories, 0 to n - 1: mass p[x]."
    @classmethod
    def dist(cls, p: TensorLike | None = None, logit_p: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class Cauchy(_Cauchy):
    def __new__(cls, name: str, alpha: TensorLike, beta: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Ratio of two normal variables: 1 / (pi beta (1 + ((x - alpha) / beta)^2)); neither mean nor variance."
    @classmethod
    def dist(cls, alpha: TensorLike, beta: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class Censored(_Censored):
    def __new__(cls, name: str, dist: Any, lower: TensorLike | None = ..., upper: TensorLike | None = ..., *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "A distribution whose values beyond a bound are recorded as the bound."
    @classmethod
    def dist(cls, dist: Any, lower: TensorLike | None = ..., upper: TensorLike | None = ..., *, shape: Any = None, size: Any = None) -> Node: ...

class ChiSquared(_ChiSquared):
    def __new__(cls, name: str, nu: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Sum of squares of nu standard normal variables: x^(nu/2-1) exp(-x/2) / (2^(nu/2) Gamma(nu/2))."
    @classmethod
    def dist(cls, nu: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class ConwayMaxwellPoisson(_ConwayMaxwellPoisson):
    def __new__(cls, name: str, lam: TensorLike, nu: TensorLike, mu: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Counts with a dispersion of their own: lam^x / (x!)^nu / Z, Z the sum of lam^k / (k!)^nu over k = 0, 1, 2, …."
    @classmethod
    def dist(cls, lam: TensorLike, nu: TensorLike, mu: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class CustomDist(_CustomDist):
    def __new__(cls, name: str, *parameters: Any, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, logp: Any = None, logcdf: Any = None, random: Any = None, support_point: Any = None, signature: str | None = None, ndim_supp: int | None = None, ndims_params: Sequence[int] | None = None, dtype: str = 'float64', class_name: str = 'CustomDist', dist: Any = None, numeric_inverse: bool = False, **unknown: Any) -> Node:
        "A distribution given by functions of graphs."
    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, logp: Any = None, logcdf: Any = None, random: Any = None, support_point: Any = None, signature: str | None = None, ndim_supp: int | None = None, ndims_params: Sequence[int] | None = None, dtype: str = 'float64', class_name: str = 'CustomDist', dist: Any = None, numeric_inverse: bool = False, **unknown: Any) -> Node: ...

class Dagum(_Dagum):
    def __new__(cls, name: str, p: TensorLike, a: TensorLike, b: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Incomes: a p x^(a p - 1) / (b^(a p) (1 + (x / b)^a)^(p+1)), whose distribution function is (1 + (b / x)^a)^-p."
    @classmethod
    def dist(cls, p: TensorLike, a: TensorLike, b: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class DiracDelta(_DiracDelta):
    def __new__(cls, name: str, c: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "A single number that always comes: mass 1 at c."
    @classmethod
    def dist(cls, c: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class Dirichlet(_Dirichlet):
    def __new__(cls, name: str, a: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Distribution of probability vectors: prod x_i^(a_i - 1) / B(a), with respect to all elements but one."
    @classmethod
    def dist(cls, a: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class DirichletMultinomial(_DirichletMultinomial):
    def __new__(cls, name: str, n: TensorLike, a: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Counts of the categories among n draws whose probabilities are Dirichlet distributed."
    @classmethod
    def dist(cls, n: TensorLike, a: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class DiscreteUniform(_DiscreteUniform):
    def __new__(cls, name: str, lower: TensorLike, upper: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Whole numbers of equal probability: mass 1 / (upper - lower + 1)."
    @classmethod
    def dist(cls, lower: TensorLike, upper: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class DiscreteWeibull(_DiscreteWeibull):
    def __new__(cls, name: str, q: TensorLike, beta: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Number of steps survived, P(X >= x) = q^(x^beta): mass q^(x^beta) - q^((x+1)^beta)."
    @classmethod
    def dist(cls, q: TensorLike, beta: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class EulerMaruyama(_EulerMaruyama):
    def __new__(cls, name: str, dt: Any, sde_fn: Any, sde_pars: Any = None, init_dist: Any = None, steps: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Path of a stochastic differential equation: x_t = x_(t-1) + dt f + sqrt(dt) g e_t, e_t standard normal."
    @classmethod
    def dist(cls, dt: Any, sde_fn: Any, sde_pars: Any = None, init_dist: Any = None, steps: Any = None, *, shape: Any = None, size: Any = None) -> Node: ...

class ExGaussian(_ExGaussian):
    def __new__(cls, name: str, mu: TensorLike, sigma: TensorLike, nu: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Sum of a normal and an exponential variable: exp((mu - x) / nu + sigma^2 / (2 nu^2)) Phi(z - sigma / nu) / nu."
    @classmethod
    def dist(cls, mu: TensorLike, sigma: TensorLike, nu: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class Exponential(_Exponential):
    def __new__(cls, name: str, lam: TensorLike = 1.0, scale: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Waiting times without memory: lam exp(-lam x)."
    @classmethod
    def dist(cls, lam: TensorLike = 1.0, scale: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class Flat(_Flat):
    def __new__(cls, name: str, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Density 1 on the whole real line; nothing can be drawn from it."
    @classmethod
    def dist(cls, *, shape: Any = None, size: Any = None) -> Node: ...

class Frechet(_Frechet):
    def __new__(cls, name: str, alpha: TensorLike, sigma: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Greatest of many values with heavy tails: alpha / sigma (x / sigma)^(-alpha-1) exp(-(x / sigma)^-alpha)."
    @classmethod
    def dist(cls, alpha: TensorLike, sigma: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class GARCH11(_GARCH11):
    def __new__(cls, name: str, omega: TensorLike, alpha_1: TensorLike, beta_1: TensorLike, initial_vol: TensorLike, steps: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Series x_t = s_t e_t of standard normal e_t, s_t^2 = omega + alpha_1 x_(t-1)^2 + beta_1 s_(t-1)^2."
    @classmethod
    def dist(cls, omega: TensorLike, alpha_1: TensorLike, beta_1: TensorLike, initial_vol: TensorLike, steps: Any = None, *, shape: Any = None, size: Any = None) -> Node: ...

class Gamma(_Gamma):
    def __new__(cls, name: str, alpha: TensorLike | None = None, beta: TensorLike | None = None, mu: TensorLike | None = None, sigma: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Sums of waiting times: beta^alpha x^(alpha-1) exp(-beta x) / Gamma(alpha)."
    @classmethod
    def dist(cls, alpha: TensorLike | None = None, beta: TensorLike | None = None, mu: TensorLike | None = None, sigma: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class GaussianRandomWalk(_GaussianRandomWalk):
    def __new__(cls, name: str, mu: Any = None, sigma: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, init_dist: Any = None, steps: Any = None) -> Node:
        "Random walk with normal steps."
    @classmethod
    def dist(cls, mu: Any = None, sigma: Any = None, *, init_dist: Any = None, steps: Any = None) -> Node: ...

class GeneralizedExtremeValue(_GeneralizedExtremeValue):
    def __new__(cls, name: str, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, xi: TensorLike = 0.0, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Greatest of many values: t^(xi+1) exp(-t) / sigma, t = (1 + xi z)^(-1/xi), z = (x - mu) / sigma."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, xi: TensorLike = 0.0, *, shape: Any = None, size: Any = None) -> Node: ...

class GeneralizedNormal(_GeneralizedNormal):
    def __new__(cls, name: str, mu: TensorLike = 0.0, alpha: TensorLike = 1.0, beta: TensorLike = 2.0, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Bell curve of any tail: beta exp(-|z|^beta) / (2 alpha Gamma(1 / beta)), z = (x - mu) / alpha."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, alpha: TensorLike = 1.0, beta: TensorLike = 2.0, *, shape: Any = None, size: Any = None) -> Node: ...

class GeneralizedPareto(_GeneralizedPareto):
    def __new__(cls, name: str, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, xi: TensorLike = 0.0, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Exceedances over a threshold: (1 + xi z)^(-1/xi-1) / sigma, z = (x - mu) / sigma >= 0."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, xi: TensorLike = 0.0, *, shape: Any = None, size: Any = None) -> Node: ...

class Geometric(_Geometric):
    def __new__(cls, name: str, p: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Number of trials up to and with the first success: p (1 - p)^(x-1), x = 1, 2, …."
    @classmethod
    def dist(cls, p: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class Gumbel(_Gumbel):
    def __new__(cls, name: str, mu: TensorLike, beta: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Greatest of many values with light tails: exp(-z - exp(-z)) / beta, z = (x - mu) / beta."
    @classmethod
    def dist(cls, mu: TensorLike, beta: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class HalfCauchy(_HalfCauchy):
    def __new__(cls, name: str, beta: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Absolute value of a Cauchy variable around 0: 2 / (pi beta (1 + (x / beta)^2)); no mean."
    @classmethod
    def dist(cls, beta: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class HalfFlat(_HalfFlat):
    def __new__(cls, name: str, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Density 1 on the positive half line; nothing can be drawn from it."
    @classmethod
    def dist(cls, *, shape: Any = None, size: Any = None) -> Node: ...

class HalfNormal(_HalfNormal):
    def __new__(cls, name: str, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Absolute value of a normal variable of mean 0: 2 exp(-x^2 / (2 sigma^2)) / (sigma sqrt(2 pi))."
    @classmethod
    def dist(cls, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class HalfStudentT(_HalfStudentT):
    def __new__(cls, name: str, nu: TensorLike, sigma: TensorLike = 1.0, lam: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Absolute value of Student's variable around 0: (1 + z^2 / nu)^(-(nu+1)/2) up to a constant, z = x / sigma."
    @classmethod
    def dist(cls, nu: TensorLike, sigma: TensorLike = 1.0, lam: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class HiddenMarkov(_HiddenMarkov):
    def __new__(cls, name: str, init_probs: TensorLike, P: TensorLike, emission_dist: Any, steps: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Series of values whose distributions are decided by a hidden Markov chain of K states."
    @classmethod
    def dist(cls, init_probs: TensorLike, P: TensorLike, emission_dist: Any, steps: Any = None, *, shape: Any = None, size: Any = None) -> Node: ...

class HurdleGamma(_HurdleGamma):
    def __new__(cls, name: str, psi: TensorLike, alpha: TensorLike | None = None, beta: TensorLike | None = None, mu: TensorLike | None = None, sigma: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, max_n_steps: int | None = None) -> Node:
        "Zero, or else a gamma variable."
    @classmethod
    def dist(cls, psi: TensorLike, alpha: TensorLike | None = None, beta: TensorLike | None = None, mu: TensorLike | None = None, sigma: TensorLike | None = None, *, max_n_steps: int | None = None, shape: Any = None, size: Any = None) -> Node: ...

class HurdleLogNormal(_HurdleLogNormal):
    def __new__(cls, name: str, psi: TensorLike, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, max_n_steps: int | None = None) -> Node:
        "Zero, or else the exponential of a normal variable."
    @classmethod
    def dist(cls, psi: TensorLike, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, max_n_steps: int | None = None, shape: Any = None, size: Any = None) -> Node: ...

class HurdleNegativeBinomial(_HurdleNegativeBinomial):
    def __new__(cls, name: str, psi: TensorLike, mu: TensorLike | None = None, alpha: TensorLike | None = None, p: TensorLike | None = None, n: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, max_n_steps: int | None = None) -> Node:
        "Zero, or else a negative binomial count without its zeros."
    @classmethod
    def dist(cls, psi: TensorLike, mu: TensorLike | None = None, alpha: TensorLike | None = None, p: TensorLike | None = None, n: TensorLike | None = None, *, max_n_steps: int | None = None, shape: Any = None, size: Any = None) -> Node: ...

class HurdlePoisson(_HurdlePoisson):
    def __new__(cls, name: str, psi: TensorLike, mu: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, max_n_steps: int | None = None) -> Node:
        "Zero, or else a Poisson count without its zeros: psi mu^x exp(-mu) / (x! (1 - exp(-mu)))."
    @classmethod
    def dist(cls, psi: TensorLike, mu: TensorLike, *, max_n_steps: int | None = None, shape: Any = None, size: Any = None) -> Node: ...

class HyperGeometric(_HyperGeometric):
    def __new__(cls, name: str, N: TensorLike, k: TensorLike, n: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Marked ones among n that are drawn at once from N, k of them marked: C(k, x) C(N - k, n - x) / C(N, n)."
    @classmethod
    def dist(cls, N: TensorLike, k: TensorLike, n: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class ICAR(_ICAR):
    def __new__(cls, name: str, W: TensorLike, sigma: TensorLike = 1.0, zero_sum_stdev: TensorLike = 0.001, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Intrinsic conditional autoregression: exp(-sum over neighbours of W_ij (x_i - x_j)^2 / (2 sigma^2))."
    @classmethod
    def dist(cls, W: TensorLike, sigma: TensorLike = 1.0, zero_sum_stdev: TensorLike = 0.001, *, shape: Any = None, size: Any = None) -> Node: ...

class Interpolated(_Interpolated):
    def __new__(cls, name: str, x_points: TensorLike, pdf_points: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Density that is linear between given points and 0 outside, divided by its integral."
    @classmethod
    def dist(cls, x_points: TensorLike, pdf_points: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class InverseChiSquared(_InverseChiSquared):
    def __new__(cls, name: str, nu: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Reciprocal of a chi-squared variable: x^(-nu/2-1) exp(-1/(2x)) / (2^(nu/2) Gamma(nu/2))."
    @classmethod
    def dist(cls, nu: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class InverseGamma(_InverseGamma):
    def __new__(cls, name: str, alpha: TensorLike | None = None, beta: TensorLike | None = None, mu: TensorLike | None = None, sigma: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Reciprocal of a gamma variable: beta^alpha x^(-alpha-1) exp(-beta / x) / Gamma(alpha)."
    @classmethod
    def dist(cls, alpha: TensorLike | None = None, beta: TensorLike | None = None, mu: TensorLike | None = None, sigma: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class InverseWishart(_InverseWishart):
    def __new__(cls, name: str, nu: TensorLike, V: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Inverses of matrices that follow `Wishart(nu, V^-1)`."
    @classmethod
    def dist(cls, nu: TensorLike, V: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class KroneckerNormal(_KroneckerNormal):
    def __new__(cls, name: str, mu: TensorLike, covs: Any = None, chols: Any = None, evds: Any = None, sigma: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Normal vectors of covariance K_1 x K_2 x … + sigma^2 I (Kronecker products), by computations with each K_i alone."
    @classmethod
    def dist(cls, mu: TensorLike, covs: Any = None, chols: Any = None, evds: Any = None, sigma: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class Kumaraswamy(_Kumaraswamy):
    def __new__(cls, name: str, a: TensorLike, b: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Proportions with a distribution function in closed form: a b x^(a-1) (1 - x^a)^(b-1)."
    @classmethod
    def dist(cls, a: TensorLike, b: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class LKJCholeskyCov(_LKJCholeskyCov):
    def __new__(cls, name: str, eta: TensorLike, n: Any, sd_dist: Any, *, compute_corr: bool = True, store_in_trace: bool = True, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Cholesky factors L of covariances D R D: R as of `LKJCorr`, standard deviations D independent of it."
    @classmethod
    def dist(cls, eta: TensorLike, n: Any, sd_dist: Any, *, compute_corr: bool = True, shape: Any = None, size: Any = None) -> Node: ...

class LKJCorr(_LKJCorr):
    def __new__(cls, name: str, n: Any, eta: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Cholesky factors L of correlation matrices R = L L' with density det(R)^(eta - 1) / C."
    @classmethod
    def dist(cls, n: Any, eta: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class Laplace(_Laplace):
    def __new__(cls, name: str, mu: TensorLike = 0.0, b: TensorLike = 1.0, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Two exponential tails back to back: exp(-|x - mu| / b) / (2 b)."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, b: TensorLike = 1.0, *, shape: Any = None, size: Any = None) -> Node: ...

class Levy(_Levy):
    def __new__(cls, name: str, mu: TensorLike = 0.0, c: TensorLike = 1.0, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Passage times without drift: sqrt(c / (2 pi)) exp(-c / (2 t)) / t^(3/2), t = x - mu; neither mean nor variance."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, c: TensorLike = 1.0, *, shape: Any = None, size: Any = None) -> Node: ...

class LinearGaussianStateSpace(_LinearGaussianStateSpace):
    def __new__(cls, name: str, a0: TensorLike, P0: TensorLike, T: TensorLike, Z: TensorLike, H: TensorLike, Q: TensorLike, c: TensorLike, d: TensorLike, steps: Any = None, diffuse: Any = None, varying: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Series y_t = d + Z a_t + e_t, a_(t+1) = c + T a_t + R h_t, with e_t ~ N(0, H), h_t ~ N(0, Q), a_0 ~ N(a0, P0)."
    @classmethod
    def dist(cls, a0: TensorLike, P0: TensorLike, T: TensorLike, Z: TensorLike, H: TensorLike, Q: TensorLike, c: TensorLike, d: TensorLike, steps: Any = None, diffuse: Any = None, varying: Any = None, *, shape: Any = None, size: Any = None) -> Node: ...

class LogGamma(_LogGamma):
    def __new__(cls, name: str, alpha: TensorLike, beta: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Logarithm of a gamma variable: beta^alpha exp(alpha x - beta exp(x)) / Gamma(alpha)."
    @classmethod
    def dist(cls, alpha: TensorLike, beta: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class LogLogistic(_LogLogistic):
    def __new__(cls, name: str, alpha: TensorLike, beta: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Durations whose logarithm is logistic: beta / x u / (1 + u)^2, u = (x / alpha)^beta; of odds x, alpha = beta = 1."
    @classmethod
    def dist(cls, alpha: TensorLike, beta: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class LogNormal(_LogNormal):
    def __new__(cls, name: str, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Exponential of a normal variable: exp(-(log x - mu)^2 / (2 sigma^2)) / (x sigma sqrt(2 pi))."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class Logistic(_Logistic):
    def __new__(cls, name: str, mu: TensorLike = 0.0, s: TensorLike = 1.0, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Bell curve with exponential tails: exp(-z) / (s (1 + exp(-z))^2), z = (x - mu) / s."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, s: TensorLike = 1.0, *, shape: Any = None, size: Any = None) -> Node: ...

class LogitNormal(_LogitNormal):
    def __new__(cls, name: str, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Logistic function of a normal variable: exp(-(logit(x) - mu)^2 / (2 sigma^2)) / (sigma x (1 - x) sqrt(2 pi))."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class MatrixNormal(_MatrixNormal):
    def __new__(cls, name: str, mu: TensorLike, rowcov: TensorLike | None = None, rowchol: TensorLike | None = None, colcov: TensorLike | None = None, colchol: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Normal m x n matrices: the covariance of X_ij and X_kl is U_ik V_jl."
    @classmethod
    def dist(cls, mu: TensorLike, rowcov: TensorLike | None = None, rowchol: TensorLike | None = None, colcov: TensorLike | None = None, colchol: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class Mixture(_Mixture):
    def __new__(cls, name: str, w: TensorLike, comp_dists: Any, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Weighted mean of densities: sum_k w_k p_k(x)."
    @classmethod
    def dist(cls, w: TensorLike, comp_dists: Any, *, shape: Any = None, size: Any = None) -> Node: ...

class Moyal(_Moyal):
    def __new__(cls, name: str, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Energy losses of fast particles: exp(-(z + exp(-z)) / 2) / (sigma sqrt(2 pi)), z = (x - mu) / sigma."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, *, shape: Any = None, size: Any = None) -> Node: ...

class Multinomial(_Multinomial):
    def __new__(cls, name: str, n: TensorLike, p: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Counts of the categories among n independent draws: n! prod p_i^x_i / x_i!."
    @classmethod
    def dist(cls, n: TensorLike, p: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class MvGaussianRandomWalk(_MvGaussianRandomWalk):
    def __new__(cls, name: str, mu: Any = None, cov: Any = None, tau: Any = None, chol: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, lower: bool = True, init_dist: Any = None, steps: Any = None) -> Node:
        "Random walk of vectors with normal steps."
    @classmethod
    def dist(cls, mu: Any = None, cov: Any = None, tau: Any = None, chol: Any = None, *, lower: bool = True, init_dist: Any = None, steps: Any = None) -> Node: ...

class MvLogNormal(_MvLogNormal):
    def __new__(cls, name: str, mu: TensorLike = 0.0, cov: TensorLike | None = None, chol: TensorLike | None = None, tau: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, lower: bool = True, method: str = 'cholesky') -> Node:
        "Vectors of positive numbers whose logarithms are normal."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, cov: TensorLike | None = None, chol: TensorLike | None = None, tau: TensorLike | None = None, *, lower: bool = True, method: str = 'cholesky', shape: Any = None, size: Any = None) -> Node: ...

class MvNormal(_MvNormal):
    def __new__(cls, name: str, mu: TensorLike = 0.0, cov: TensorLike | None = None, chol: TensorLike | None = None, tau: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, lower: bool = True, method: str = 'cholesky') -> Node:
        "Bell curve of vectors: exp(-(x - mu)' K^-1 (x - mu) / 2) / sqrt(det(2 pi K))."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, cov: TensorLike | None = None, chol: TensorLike | None = None, tau: TensorLike | None = None, *, lower: bool = True, method: str = 'cholesky', shape: Any = None, size: Any = None) -> Node: ...

class MvStudentT(_MvStudentT):
    def __new__(cls, name: str, nu: TensorLike, mu: TensorLike = 0.0, scale: TensorLike | None = None, cov: TensorLike | None = None, Sigma: TensorLike | None = None, chol: TensorLike | None = None, tau: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, lower: bool = True, method: str = 'cholesky') -> Node:
        "Vectors with heavy tails, (1 + (x - mu)' S^-1 (x - mu) / nu)^(-(nu + n) / 2) up to a constant."
    @classmethod
    def dist(cls, nu: TensorLike, mu: TensorLike = 0.0, scale: TensorLike | None = None, cov: TensorLike | None = None, Sigma: TensorLike | None = None, chol: TensorLike | None = None, tau: TensorLike | None = None, *, lower: bool = True, method: str = 'cholesky', shape: Any = None, size: Any = None) -> Node: ...

class MvStudentTRandomWalk(_MvStudentTRandomWalk):
    def __new__(cls, name: str, nu: Any = None, mu: Any = None, scale: Any = None, cov: Any = None, tau: Any = None, chol: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, lower: bool = True, init_dist: Any = None, steps: Any = None) -> Node:
        "Random walk of vectors with heavy-tailed steps."
    @classmethod
    def dist(cls, nu: Any = None, mu: Any = None, scale: Any = None, cov: Any = None, tau: Any = None, chol: Any = None, *, lower: bool = True, init_dist: Any = None, steps: Any = None) -> Node: ...

class NegativeBinomial(_NegativeBinomial):
    def __new__(cls, name: str, mu: TensorLike | None = None, alpha: TensorLike | None = None, p: TensorLike | None = None, n: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Poisson counts whose rate is gamma distributed; failures before the n-th success."
    @classmethod
    def dist(cls, mu: TensorLike | None = None, alpha: TensorLike | None = None, p: TensorLike | None = None, n: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class Normal(_Normal):
    def __new__(cls, name: str, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Bell curve: exp(-(x - mu)^2 / (2 sigma^2)) / (sigma sqrt(2 pi))."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class NormalMixture(_NormalMixture):
    def __new__(cls, name: str, w: TensorLike, mu: Any = None, sigma: Any = None, tau: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Mixture of normal distributions: sum_k w_k N(x; mu_k, sigma_k)."
    @classmethod
    def dist(cls, w: TensorLike, mu: Any = None, sigma: Any = None, tau: Any = None, *, shape: Any = None, size: Any = None) -> Node: ...

class OrderedLogistic(_OrderedLogistic):
    def __new__(cls, name: str, eta: TensorLike, cutpoints: TensorLike, *, compute_p: bool = True, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Ordered categories of a logistic variable: P(X <= k) = 1 / (1 + exp(eta - cutpoints[k]))."
    @classmethod
    def dist(cls, eta: TensorLike, cutpoints: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class OrderedMultinomial(_OrderedMultinomial):
    def __new__(cls, name: str, eta: TensorLike, cutpoints: TensorLike, n: TensorLike, *, compute_p: bool = True, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Counts of ordered categories among n draws, with the probabilities of `OrderedLogistic`."
    @classmethod
    def dist(cls, eta: TensorLike, cutpoints: TensorLike, n: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class OrderedProbit(_OrderedProbit):
    def __new__(cls, name: str, eta: TensorLike, cutpoints: TensorLike, sigma: TensorLike = 1.0, *, compute_p: bool = True, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Ordered categories of a normal variable: P(X <= k) = Phi((cutpoints[k] - eta) / sigma)."
    @classmethod
    def dist(cls, eta: TensorLike, cutpoints: TensorLike, sigma: TensorLike = 1.0, *, shape: Any = None, size: Any = None) -> Node: ...

class Pareto(_Pareto):
    def __new__(cls, name: str, alpha: TensorLike, m: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Power law above a threshold: alpha m^alpha / x^(alpha+1)."
    @classmethod
    def dist(cls, alpha: TensorLike, m: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class Poisson(_Poisson):
    def __new__(cls, name: str, mu: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Number of independent events: mu^x exp(-mu) / x!."
    @classmethod
    def dist(cls, mu: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class PolyaGamma(_PolyaGamma):
    def __new__(cls, name: str, h: TensorLike = 1.0, z: TensorLike = 0.0, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Sum of g_k / ((k - 1/2)^2 + z^2 / (4 pi^2)) over 2 pi^2, k = 1, 2, ..., the g_k gamma variables of shape h."
    @classmethod
    def dist(cls, h: TensorLike = 1.0, z: TensorLike = 0.0, *, shape: Any = None, size: Any = None) -> Node: ...

class RandomWalk(_RandomWalk):
    def __new__(cls, name: str, init_dist: Any, innovation_dist: Any, steps: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Sums of independent steps: x_0 from init_dist, x_t = x_(t-1) + e_t, e_t from innovation_dist."
    @classmethod
    def dist(cls, init_dist: Any, innovation_dist: Any, steps: Any = None, *, shape: Any = None, size: Any = None) -> Node: ...

class Rice(_Rice):
    def __new__(cls, name: str, nu: TensorLike | None = None, sigma: TensorLike = 1.0, b: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Length of a vector of two normal coordinates: x / sigma^2 exp(-(x^2 + nu^2) / (2 sigma^2)) I_0(x nu / sigma^2)."
    @classmethod
    def dist(cls, nu: TensorLike | None = None, sigma: TensorLike = 1.0, b: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class ScaledInverseChiSquared(_ScaledInverseChiSquared):
    def __new__(cls, name: str, nu: TensorLike, sigma: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Scaled reciprocal of a chi-squared variable: x^(-nu/2-1) exp(-nu sigma^2 / (2x)) up to a constant."
    @classmethod
    def dist(cls, nu: TensorLike, sigma: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class Simulator(_Simulator):
    def __new__(cls, name: str, fn: Callable[..., Any], *unnamed_params: Any, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None, params: Sequence[Any] | None = None, distance: str | Callable[..., Any] = 'gaussian', sum_stat: str | Callable[..., Any] = 'identity', epsilon: Any = 1.0, signature: str | None = None, ndim_supp: int | None = None, ndims_params: Sequence[int] | None = None, dtype: str = 'float64', class_name: str = 'Simulator', **unknown: Any) -> Node:
        "Data that can be simulated and have no known density; sampled by `pm.sample_smc(kernel=pm.smc.MH)`."
    @classmethod
    def dist(cls, fn: Callable[..., Any], *unnamed_params: Any, params: Sequence[Any] | None = None, distance: str | Callable[..., Any] = 'gaussian', sum_stat: str | Callable[..., Any] = 'identity', epsilon: Any = 1.0, shape: Any = None, size: Any = None, signature: str | None = None, ndim_supp: int | None = None, ndims_params: Sequence[int] | None = None, dtype: str = 'float64', class_name: str = 'Simulator', **unknown: Any) -> Node: ...

class Skellam(_Skellam):
    def __new__(cls, name: str, mu1: TensorLike, mu2: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Difference of two Poisson counts: exp(-mu1 - mu2) (mu1 / mu2)^(x / 2) I_|x|(2 sqrt(mu1 mu2))."
    @classmethod
    def dist(cls, mu1: TensorLike, mu2: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class SkewNormal(_SkewNormal):
    def __new__(cls, name: str, alpha: TensorLike = 1.0, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Normal bell curve with one half pressed down: 2 phi(z) Phi(alpha z) / sigma, z = (x - mu) / sigma."
    @classmethod
    def dist(cls, alpha: TensorLike = 1.0, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, tau: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class SkewStudentT(_SkewStudentT):
    def __new__(cls, name: str, a: TensorLike, b: TensorLike, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, lam: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Student's bell curve with two tails of their own (M. C. Jones, M. J. Faddy 2003)."
    @classmethod
    def dist(cls, a: TensorLike, b: TensorLike, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, lam: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class StickBreakingWeights(_StickBreakingWeights):
    def __new__(cls, name: str, alpha: TensorLike, K: Any, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Probability vectors of K + 1 elements: w_k = v_k prod_{j<k} (1 - v_j) with v_k ~ Beta(1, alpha), and the rest."
    @classmethod
    def dist(cls, alpha: TensorLike, K: Any, *, shape: Any = None, size: Any = None) -> Node: ...

class StudentT(_StudentT):
    def __new__(cls, name: str, nu: TensorLike, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, lam: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Bell curve with heavy tails, (1 + z^2 / nu)^(-(nu+1)/2) up to a constant, z = (x - mu) / sigma."
    @classmethod
    def dist(cls, nu: TensorLike, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, lam: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class Triangular(_Triangular):
    def __new__(cls, name: str, lower: TensorLike = 0.0, upper: TensorLike = 1.0, c: TensorLike = 0.5, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Density that rises linearly to the mode and falls linearly from there: 2 / (upper - lower) at the mode."
    @classmethod
    def dist(cls, lower: TensorLike = 0.0, upper: TensorLike = 1.0, c: TensorLike = 0.5, *, shape: Any = None, size: Any = None) -> Node: ...

class Truncated(_Truncated):
    def __new__(cls, name: str, dist: Any, lower: TensorLike | None = ..., upper: TensorLike | None = ..., max_n_steps: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "A distribution restricted to an interval: p(x) / P(lower <= X <= upper), and 0 outside."
    @classmethod
    def dist(cls, dist: Any, lower: TensorLike | None = ..., upper: TensorLike | None = ..., max_n_steps: Any = None, *, shape: Any = None, size: Any = None) -> Node: ...

class TruncatedNormal(_TruncatedNormal):
    def __new__(cls, name: str, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, lower: TensorLike | None = ..., upper: TensorLike | None = ..., tau: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Normal variable known to lie between two bounds: the normal density over the mass between them."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, sigma: TensorLike = 1.0, lower: TensorLike | None = ..., upper: TensorLike | None = ..., tau: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class Uniform(_Uniform):
    def __new__(cls, name: str, lower: TensorLike = 0.0, upper: TensorLike = 1.0, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Constant density 1 / (upper - lower) between two bounds."
    @classmethod
    def dist(cls, lower: TensorLike = 0.0, upper: TensorLike = 1.0, *, shape: Any = None, size: Any = None) -> Node: ...

class UniformDirection(_UniformDirection):
    def __new__(cls, name: str, n: Any, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Vectors of length 1 of which no direction is preferred; the density with respect to the area of the sphere."
    @classmethod
    def dist(cls, n: Any, *, shape: Any = None, size: Any = None) -> Node: ...

class VonMises(_VonMises):
    def __new__(cls, name: str, mu: TensorLike = 0.0, kappa: TensorLike = 1.0, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Normal variable's counterpart on the circle: exp(kappa cos(x - mu)) / (2 pi I_0(kappa)), -pi <= x <= pi."
    @classmethod
    def dist(cls, mu: TensorLike = 0.0, kappa: TensorLike = 1.0, *, shape: Any = None, size: Any = None) -> Node: ...

class VonMisesFisher(_VonMisesFisher):
    def __new__(cls, name: str, mu: TensorLike, kappa: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Vectors of length 1 around a direction: exp(kappa mu' x) / C, with respect to the area of the sphere."
    @classmethod
    def dist(cls, mu: TensorLike, kappa: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class Wald(_Wald):
    def __new__(cls, name: str, mu: TensorLike | None = None, lam: TensorLike = 1.0, phi: TensorLike | None = None, alpha: TensorLike = 0.0, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Inverse Gaussian: sqrt(lam / (2 pi t^3)) exp(-lam (t - mu)^2 / (2 mu^2 t)), t = x - alpha."
    @classmethod
    def dist(cls, mu: TensorLike | None = None, lam: TensorLike = 1.0, phi: TensorLike | None = None, alpha: TensorLike = 0.0, *, shape: Any = None, size: Any = None) -> Node: ...

class Weibull(_Weibull):
    def __new__(cls, name: str, alpha: TensorLike, beta: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Waiting times with a rate that is a power of time: alpha x^(alpha-1) / beta^alpha exp(-(x / beta)^alpha)."
    @classmethod
    def dist(cls, alpha: TensorLike, beta: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class Wishart(_Wishart):
    def __new__(cls, name: str, nu: TensorLike, V: TensorLike | None = None, scale_chol: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Sums of nu products x x' of normal vectors of covariance V, for whole nu."
    @classmethod
    def dist(cls, nu: TensorLike, V: TensorLike | None = None, scale_chol: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class ZeroInflatedBinomial(_ZeroInflatedBinomial):
    def __new__(cls, name: str, psi: TensorLike, n: TensorLike, p: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Binomial counts with additional zeros."
    @classmethod
    def dist(cls, psi: TensorLike, n: TensorLike, p: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class ZeroInflatedNegativeBinomial(_ZeroInflatedNegativeBinomial):
    def __new__(cls, name: str, psi: TensorLike, mu: TensorLike | None = None, alpha: TensorLike | None = None, p: TensorLike | None = None, n: TensorLike | None = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Negative binomial counts with additional zeros."
    @classmethod
    def dist(cls, psi: TensorLike, mu: TensorLike | None = None, alpha: TensorLike | None = None, p: TensorLike | None = None, n: TensorLike | None = None, *, shape: Any = None, size: Any = None) -> Node: ...

class ZeroInflatedPoisson(_ZeroInflatedPoisson):
    def __new__(cls, name: str, psi: TensorLike, mu: TensorLike, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Poisson counts with additional zeros."
    @classmethod
    def dist(cls, psi: TensorLike, mu: TensorLike, *, shape: Any = None, size: Any = None) -> Node: ...

class ZeroSumNormal(_ZeroSumNormal):
    def __new__(cls, name: str, sigma: TensorLike = 1.0, n_zerosum_axes: Any = None, support_shape: Any = None, *, observed: Any = None, dims: Dims | None = None, shape: Any = None, size: Any = None, transform: Any = ..., default_transform: Any = ..., initval: Any = None, total_size: Any = None) -> Node:
        "Normal arrays of independent elements, given that each of their last axes sums to zero."
    @classmethod
    def dist(cls, sigma: TensorLike = 1.0, n_zerosum_axes: Any = None, support_shape: Any = None, *, shape: Any = None, size: Any = None) -> Node: ...


DoubleExponential = Laplace
Lognormal = LogNormal

PUBLIC: dict[str, str]
INTERNAL: dict[str, str]
SPELLINGS: dict[str, str]
__all__: list[str]
