"""Distributions by declaration: densities, quantiles, draws, moments, checks and maps to the real line.

The file that a name belongs to is loaded when the name is first used. Type checkers and editors read `__init__.pyi`,
which `python tools/names.py` writes from these tables.
"""

from __future__ import annotations

from typing import Final

from consilience.first_use import load_on_use

# What users find in `consilience` as well, by file.
PUBLIC: Final = {
    "autoregression": "AR",
    "autoregression_in_space": "CAR ICAR",
    "bounded": "Interpolated Triangular TruncatedNormal",
    "circular": "VonMises",
    "constrained_prior": "find_constrained_prior",
    "conway_maxwell_poisson": "ConwayMaxwellPoisson",
    "counts": "Bernoulli Binomial Categorical NegativeBinomial Poisson",
    "diffusion": "EulerMaruyama",
    "drawing": "draw",
    "extreme_values": "Frechet GeneralizedExtremeValue GeneralizedPareto Gumbel Pareto Weibull",
    "first_passage": "Levy Wald",
    "gamma_family": "ChiSquared GeneralizedNormal InverseChiSquared LogGamma ScaledInverseChiSquared",
    "hidden_markov": "HiddenMarkov",
    "hurdle": "HurdleGamma HurdleLogNormal HurdleNegativeBinomial HurdlePoisson",
    "improper": "Flat HalfFlat",
    "kronecker_normal": "KroneckerNormal",
    "lkj": "LKJCholeskyCov LKJCorr",
    "matrix_normal": "MatrixNormal",
    "mixture": "Mixture NormalMixture",
    "multinomial": "DirichletMultinomial Multinomial",
    "multivariate_normal": "MvNormal",
    "normal_relatives": "ExGaussian Rice SkewNormal",
    "of_normal_vectors": "MvLogNormal MvStudentT",
    "ordered": "OrderedLogistic OrderedMultinomial OrderedProbit",
    "polya_gamma": "PolyaGamma",
    "positive": "Exponential Gamma HalfCauchy HalfNormal HalfStudentT InverseGamma LogNormal",
    "random_walk": "GaussianRandomWalk MvGaussianRandomWalk MvStudentTRandomWalk RandomWalk",
    "real_line": "Cauchy Laplace Logistic Normal StudentT Uniform",
    "simplex": "Dirichlet",
    "skellam": "Skellam",
    "skewed": "AsymmetricLaplace Moyal SkewStudentT",
    "sphere": "UniformDirection VonMisesFisher",
    "state_space": "LinearGaussianStateSpace",
    "stick_breaking": "StickBreakingWeights",
    "truncation": "Censored Truncated",
    "unit_interval": "Beta BetaPrime Dagum Kumaraswamy LogLogistic LogitNormal",
    "volatility": "GARCH11",
    "waiting_times": "DiscreteWeibull Geometric",
    "whole_intervals": "BetaBinomial DiracDelta DiscreteUniform HyperGeometric",
    "wishart": "InverseWishart Wishart",
    "zero_inflated": "ZeroInflatedBinomial ZeroInflatedNegativeBinomial ZeroInflatedPoisson",
    "zero_sum_normal": "ZeroSumNormal",
}
# What the layers above use.
INTERNAL: Final = {
    "bart": "BART",
    "custom": "CustomDist",
    "context": "DEFAULT ModelContext",
    "densities": """
        density icdf logccdf logcdf logp mean parameter_violation realise realised_with support_error
        support_of support_point support_violation variance
    """,
    "distribution": "Continuous Discrete Distribution component components derived instead_of parameter static",
    "random_variable": "RandomVariable is_random random_variables",
    "simulator": "Simulator",
    "transforms": "default_transform",
}
# Second spellings.
SPELLINGS: Final = {
    "DoubleExponential": "Laplace",
    "Lognormal": "LogNormal",
}

_SPELLED: Final = {__name__: " ".join(f"{spelling}={name}" for spelling, name in SPELLINGS.items())}

load_on_use(__name__, {**PUBLIC, **INTERNAL, **_SPELLED, "": "dist_math transforms"})
