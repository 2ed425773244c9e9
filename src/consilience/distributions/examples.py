"""An example of each distribution for its documentation: parameters, a value, and the log density there.

In: nothing. Out: a row by name; the examples of docstrings run in tests.
"""

from __future__ import annotations

import re
from typing import Final

from consilience.record import Record


class Example(Record):
    """Parameters as they are written in a call, a value, and its log density to four digits; both may be empty."""

    given: str
    value: str = ""
    logp: str = ""


EXAMPLES: Final = {
    "AR": Example("rho=[0.5, 0.2], sigma=1.0, shape=5", "[0.1, 0.2, 0.3, 0.1, 0.0]", "-13.8313"),
    "BART": Example("X=[[0.0], [1.0], [2.0]], Y=[0.5, 1.0, 2.0], m=5", "[0.1, 0.2, 0.3]", "0.0"),
    "CAR": Example("mu=0.0, W=[[0, 1, 0], [1, 0, 1], [0, 1, 0]], alpha=0.5, tau=1.0", "[0.1, 0.2, 0.3]", "-2.6041"),
    "ICAR": Example("W=[[0, 1, 0], [1, 0, 1], [0, 1, 0]]", "[-0.1, 0.0, 0.1]", "4.1409"),
    "Interpolated": Example("x_points=[0.0, 1.0, 3.0], pdf_points=[0.0, 2.0, 0.0]", "0.5", "-1.0986"),
    "Triangular": Example("lower=0.0, upper=1.0, c=0.3", "0.5", "0.3567"),
    "TruncatedNormal": Example("mu=0.0, sigma=1.0, lower=-1.0, upper=2.0", "0.5", "-0.8438"),
    "VonMises": Example("mu=0.0, kappa=2.0", "0.5", "-0.9067"),
    "ConwayMaxwellPoisson": Example("lam=3.0, nu=1.5", "2", "-1.1388"),
    "Bernoulli": Example("p=0.3", "1", "-1.204"),
    "Binomial": Example("n=10, p=0.3", "4", "-1.6088"),
    "Categorical": Example("p=[0.2, 0.3, 0.5]", "2", "-0.6931"),
    "NegativeBinomial": Example("mu=3.0, alpha=2.0", "4", "-2.2664"),
    "Poisson": Example("mu=3.0", "4", "-1.7836"),
    "EulerMaruyama": Example(
        "dt=0.1, sde_fn=lambda x, a: (-a * x, 0.5), sde_pars=[1.0], steps=3",
        "[0.0, 0.1, 0.1, 0.0]", "-3.1116",
    ),
    "Frechet": Example("alpha=3.0, sigma=1.0", "1.5", "-0.8195"),
    "GeneralizedExtremeValue": Example("mu=0.0, sigma=1.0, xi=0.1", "0.5", "-1.1506"),
    "GeneralizedPareto": Example("mu=0.0, sigma=1.0, xi=0.1", "0.5", "-0.5367"),
    "Gumbel": Example("mu=0.0, beta=1.0", "0.5", "-1.1065"),
    "Pareto": Example("alpha=3.0, m=1.0", "1.5", "-0.5232"),
    "Weibull": Example("alpha=2.0, beta=1.0", "0.5", "-0.25"),
    "Levy": Example("mu=0.0, c=1.0", "0.5", "-0.8792"),
    "Wald": Example("mu=1.0, lam=2.0", "0.5", "-0.0326"),
    "ChiSquared": Example("nu=3.0", "2.0", "-1.5724"),
    "GeneralizedNormal": Example("mu=0.0, alpha=1.0, beta=1.5", "0.5", "-0.9444"),
    "InverseChiSquared": Example("nu=3.0", "0.5", "-0.1861"),
    "LogGamma": Example("alpha=2.0, beta=1.0", "0.5", "-0.6487"),
    "ScaledInverseChiSquared": Example("nu=3.0, sigma=1.0", "0.5", "-0.5382"),
    "HiddenMarkov": Example(
        "init_probs=[0.5, 0.5], P=[[0.9, 0.1], [0.2, 0.8]], emission_dist=pm.Normal.dist([0.0, 3.0], 1.0), steps=3",
        "[0.1, 0.3, 2.8, 3.1]", "-7.0194",
    ),
    "HurdleGamma": Example("psi=0.7, alpha=2.0, beta=1.0", "1.5", "-1.4512"),
    "HurdleLogNormal": Example("psi=0.7, mu=0.0, sigma=1.0", "1.5", "-1.7633"),
    "HurdleNegativeBinomial": Example("psi=0.7, mu=3.0, alpha=2.0", "4", "-2.4488"),
    "HurdlePoisson": Example("psi=0.7, mu=3.0", "4", "-2.0892"),
    "Flat": Example("", "0.5", "0.0"),
    "HalfFlat": Example("", "0.5", "0.0"),
    "KroneckerNormal": Example("mu=0.0, covs=[[[1.0, 0.5], [0.5, 1.0]], [[2.0]]], sigma=0.5", "[0.1, 0.2]", "-2.5477"),
    "LKJCholeskyCov": Example("eta=2.0, n=2, sd_dist=pm.Exponential.dist(1.0)", "", ""),
    "LKJCorr": Example("n=2, eta=2.0", "", ""),
    "MatrixNormal": Example("mu=0.0, rowcov=[[1.0, 0.5], [0.5, 1.0]], colcov=[[2.0]]", "[[0.1], [0.2]]", "-2.3972"),
    "Mixture": Example(
        "w=[0.3, 0.7], comp_dists=[pm.Normal.dist(0.0, 1.0), pm.StudentT.dist(3.0, 2.0)]",
        "0.5", "-1.6627",
    ),
    "NormalMixture": Example("w=[0.3, 0.7], mu=[0.0, 2.0], sigma=[1.0, 0.5]", "0.5", "-2.1908"),
    "DirichletMultinomial": Example("n=5, a=[1.0, 2.0, 2.0]", "[1, 2, 2]", "-2.6391"),
    "Multinomial": Example("n=5, p=[0.2, 0.3, 0.5]", "[1, 2, 2]", "-2.0025"),
    "MvNormal": Example("mu=[0.0, 1.0], cov=[[1.0, 0.5], [0.5, 1.0]]", "[0.5, 0.5]", "-2.194"),
    "ExGaussian": Example("mu=0.0, sigma=1.0, nu=1.0", "0.5", "-1.1759"),
    "Rice": Example("nu=1.0, sigma=1.0", "0.5", "-1.2566"),
    "SkewNormal": Example("mu=0.0, sigma=1.0, alpha=2.0", "0.5", "-0.5235"),
    "MvLogNormal": Example("mu=[0.0, 0.0], cov=[[1.0, 0.5], [0.5, 1.0]]", "[0.5, 1.5]", "-2.0236"),
    "MvStudentT": Example("nu=3.0, mu=[0.0, 1.0], scale=[[1.0, 0.5], [0.5, 1.0]]", "[0.5, 0.5]", "-2.4132"),
    "OrderedLogistic": Example("eta=0.5, cutpoints=[-1.0, 0.0, 1.0]", "2", "-1.4068"),
    "OrderedMultinomial": Example("eta=0.5, cutpoints=[-1.0, 1.0], n=5", "[1, 2, 2]", "-1.8902"),
    "OrderedProbit": Example("eta=0.5, cutpoints=[-1.0, 0.0, 1.0]", "2", "-0.9599"),
    "PolyaGamma": Example("h=1.0, z=0.5", "0.3", "0.3508"),
    "Exponential": Example("lam=2.0", "0.5", "-0.3069"),
    "Gamma": Example("alpha=2.0, beta=1.0", "0.5", "-1.1931"),
    "HalfCauchy": Example("beta=1.0", "0.5", "-0.6747"),
    "HalfNormal": Example("sigma=1.0", "0.5", "-0.3508"),
    "HalfStudentT": Example("nu=3.0, sigma=1.0", "0.5", "-0.4678"),
    "InverseGamma": Example("alpha=3.0, beta=1.0", "0.5", "0.0794"),
    "LogNormal": Example("mu=0.0, sigma=1.0", "0.5", "-0.466"),
    "GaussianRandomWalk": Example(
        "mu=0.0, sigma=1.0, init_dist=pm.Normal.dist(0.0, 1.0), steps=3",
        "[0.0, 0.5, 0.2, 0.1]", "-3.8508",
    ),
    "MvGaussianRandomWalk": Example(
        "mu=0.0, cov=[[1.0, 0.5], [0.5, 1.0]], init_dist=pm.MvNormal.dist(0.0, [[1.0, 0.0], [0.0, 1.0]]), steps=1",
        "[[0.0, 0.0], [0.1, 0.2]]", "-3.5519",
    ),
    "MvStudentTRandomWalk": Example(
        "nu=3.0, scale=[[1.0, 0.5], [0.5, 1.0]], init_dist=pm.MvNormal.dist(0.0, [[1.0, 0.0], [0.0, 1.0]]), steps=1",
        "[[0.0, 0.0], [0.1, 0.2]]", "-3.565",
    ),
    "RandomWalk": Example(
        "init_dist=pm.Normal.dist(0.0, 1.0), innovation_dist=pm.Laplace.dist(0.0, 1.0), steps=3",
        "[0.0, 0.5, 0.2, 0.1]", "-3.8984",
    ),
    "Cauchy": Example("alpha=0.0, beta=1.0", "0.5", "-1.3679"),
    "Laplace": Example("mu=0.0, b=1.0", "0.5", "-1.1931"),
    "Logistic": Example("mu=0.0, s=1.0", "0.5", "-1.4482"),
    "Normal": Example("mu=0.0, sigma=1.0", "0.5", "-1.0439"),
    "StudentT": Example("nu=3.0, mu=0.0, sigma=1.0", "0.5", "-1.161"),
    "Uniform": Example("lower=0.0, upper=2.0", "0.5", "-0.6931"),
    "Dirichlet": Example("a=[1.0, 2.0, 2.0]", "[0.2, 0.3, 0.5]", "1.2809"),
    "Skellam": Example("mu1=3.0, mu2=2.0", "1", "-1.6981"),
    "AsymmetricLaplace": Example("kappa=2.0, mu=0.0, b=1.0", "0.5", "-1.9163"),
    "Moyal": Example("mu=0.0, sigma=1.0", "0.5", "-1.4722"),
    "SkewStudentT": Example("a=2.0, b=3.0, mu=0.0, sigma=1.0", "0.5", "-1.4606"),
    "UniformDirection": Example("n=3", "[0.6, 0.8, 0.0]", "-2.531"),
    "VonMisesFisher": Example("mu=[1.0, 0.0, 0.0], kappa=2.0", "[0.6, 0.8, 0.0]", "-1.9262"),
    "LinearGaussianStateSpace": Example(
        "a0=[0.0], P0=[[1.0]], T=[[0.9]], Z=[[1.0]], H=[[0.5]], Q=[[0.2]], steps=2",
        "[[0.1], [0.2], [0.1]]", "-2.9031",
    ),
    "StickBreakingWeights": Example("alpha=2.0, K=2", "[0.5, 0.3, 0.2]", "0.47"),
    "Censored": Example("dist=pm.Normal.dist(0.0, 1.0), lower=-1.0, upper=1.0", "1.0", "-1.841"),
    "Truncated": Example("dist=pm.Gamma.dist(2.0, 1.0), lower=1.0, upper=4.0", "1.5", "-0.6548"),
    "Beta": Example("alpha=2.0, beta=3.0", "0.3", "0.5676"),
    "BetaPrime": Example("alpha=2.0, beta=3.0", "0.5", "-0.2356"),
    "Dagum": Example("p=1.0, a=3.0, b=1.0", "0.5", "-0.5232"),
    "Kumaraswamy": Example("a=2.0, b=3.0", "0.3", "0.3992"),
    "LogLogistic": Example("alpha=1.0, beta=3.0", "0.5", "-0.5232"),
    "LogitNormal": Example("mu=0.0, sigma=1.0", "0.3", "0.2828"),
    "GARCH11": Example(
        "omega=0.1, alpha_1=0.2, beta_1=0.7, initial_vol=1.0, steps=3",
        "[0.1, 0.5, -0.2, 0.3]", "-3.408",
    ),
    "DiscreteWeibull": Example("q=0.8, beta=1.2", "2", "-1.8044"),
    "Geometric": Example("p=0.3", "2", "-1.5606"),
    "BetaBinomial": Example("alpha=2.0, beta=3.0, n=10", "4", "-1.9671"),
    "DiracDelta": Example("c=2", "2", "0.0"),
    "DiscreteUniform": Example("lower=0, upper=9", "4", "-2.3026"),
    "HyperGeometric": Example("N=20, k=7, n=12", "4", "-1.0284"),
    "InverseWishart": Example("nu=5.0, V=[[1.0, 0.5], [0.5, 1.0]]", "[[1.0, 0.2], [0.2, 1.0]]", "-5.8162"),
    "Wishart": Example("nu=5.0, V=[[1.0, 0.5], [0.5, 1.0]]", "[[1.0, 0.2], [0.2, 1.0]]", "-4.8444"),
    "ZeroInflatedBinomial": Example("psi=0.7, n=10, p=0.3", "4", "-1.9655"),
    "ZeroInflatedNegativeBinomial": Example("psi=0.7, mu=3.0, alpha=2.0", "4", "-2.6231"),
    "ZeroInflatedPoisson": Example("psi=0.7, mu=3.0", "4", "-2.1403"),
    "ZeroSumNormal": Example("sigma=1.0, shape=3", "[-0.1, 0.0, 0.1]", "-1.8479"),
}  # fmt: skip
"""Of each distribution: parameters, value, log density."""

_COV: Final = 'as_xtensor([[1.0, 0.5], [0.5, 1.0]], ("k", "l"))'
_START: Final = f'pm.dims.MvNormal.dist(as_xtensor([0.0, 0.0], "k"), {_COV}, core_dims=("k", "l"))'
_STEPS: Final = 'core_dims="t", dims="t"'

WITH_DIMS: Final = {
    "AR": ('rho=as_xtensor([0.5, 0.2], "l"), sigma=1.0, core_dims=("t", "l"), dims="t"', "t"),
    "EulerMaruyama": (f"dt=0.1, sde_fn=lambda x, a: (-a * x, 0.5), sde_pars=[as_xtensor(1.0)], {_STEPS}", "t"),
    "GARCH11": (f"omega=0.1, alpha_1=0.2, beta_1=0.7, initial_vol=1.0, {_STEPS}", "t"),
    "GaussianRandomWalk": (f"mu=0.0, sigma=1.0, init_dist=pm.Normal.dist(0.0, 1.0), {_STEPS}", "t"),
    "HiddenMarkov": (
        (
            'init_probs=as_xtensor([0.5, 0.5], "k"), P=as_xtensor([[0.9, 0.1], [0.2, 0.8]], ("k", "l")), '
            'emission_dist=pm.dims.Normal.dist(as_xtensor([0.0, 3.0], "k"), 1.0), core_dims=("k", "l", "t"), dims="t"'
        ),
        "t",
    ),
    "KroneckerNormal": (
        (
            f'mu=0.0, covs=[{_COV}, as_xtensor([[2.0]], ("m", "n"))], sigma=0.5, core_dims=("k", "l", "m", "n", "p"), '
            'dims="p"'
        ),
        "p",
    ),
    "LinearGaussianStateSpace": (
        (
            'a0=as_xtensor([0.0], "k"), P0=as_xtensor([[1.0]], ("k", "l")), T=as_xtensor([[0.9]], ("k", "l")), '
            'Z=as_xtensor([[1.0]], ("m", "k")), H=as_xtensor([[0.5]], ("m", "n")), Q=as_xtensor([[0.2]], ("k", "l")), '
            'core_dims=("k", "l", "t", "m", "n"), dims=("t", "m")'
        ),
        "t m",
    ),
    "LKJCorr": ('n=2, eta=2.0, core_dims=("k", "l")', "k l"),
    "MatrixNormal": (
        (
            f'mu=0.0, rowcov={_COV}, colcov=as_xtensor([[2.0]], ("m", "n")), core_dims=("k", "m", "l", "n"), '
            'dims=("k", "m")'
        ),
        "k m",
    ),
    "Mixture": (
        (
            'w=as_xtensor([0.3, 0.7], "k"), comp_dists=pm.dims.Normal.dist(as_xtensor([0.0, 3.0], "k"), 1.0), '
            'core_dims="k"'
        ),
        "",
    ),
    "MvGaussianRandomWalk": (
        f'mu=0.0, cov={_COV}, init_dist={_START}, core_dims=("t", "k", "l"), dims=("t", "k")',
        "t k",
    ),
    "MvStudentTRandomWalk": (
        f'nu=3.0, scale={_COV}, init_dist={_START}, core_dims=("t", "k", "l"), dims=("t", "k")',
        "t k",
    ),
    "OrderedMultinomial": ('eta=0.5, cutpoints=as_xtensor([-1.0, 1.0], "l"), n=5, core_dims=("l", "q"), dims="q"', "q"),
    "RandomWalk": (f"init_dist=pm.Normal.dist(0.0, 1.0), innovation_dist=pm.Laplace.dist(0.0, 1.0), {_STEPS}", "t"),
    "StickBreakingWeights": ('alpha=2.0, K=1, core_dims="k", dims="k"', "k"),
    "UniformDirection": ('n=2, core_dims="k", dims="k"', "k"),
    "ZeroSumNormal": ('sigma=1.0, core_dims="t", dims="t"', "t"),
}
"""Arguments in a model with named dims, and the dims of the variable, where these do not follow from `EXAMPLES`."""


def with_dims(given: str, maker: str) -> tuple[str, tuple[str, ...]]:
    """Arguments whose vectors have the dim "k" and whose matrices have "k" and "l"; and these dims, as far as used."""
    text, matrices = re.subn(r"\[\[.*?\]\]", rf'{maker}(\g<0>, ("k", "l"))', given)
    text, vectors = re.subn(
        r"(?<![(\[])(?<!, )\[[^\[\]]*\]|(?<=, )(?<!\], )\[[^\[\]]*\](?!\])", rf'{maker}(\g<0>, "k")', text
    )
    return text, ("k", "l") if matrices else ("k",) if vectors else ()
