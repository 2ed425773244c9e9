"""Mean, variance and source of distributions, as their documentation writes them.

In: nothing. Out: a row for each distribution whose moments have a form worth writing; tests compare rows with the
formulas.
"""

from __future__ import annotations

from typing import Final

from consilience.record import Record


class Moments(Record):
    """Mean and variance of a distribution, as text in its parameters, and where to read about it."""

    mean: str = ""
    variance: str = ""
    source: str = ""


_JKB1: Final = "Johnson, Kotz, Balakrishnan: Continuous Univariate Distributions, volume 1 (1994)"
_JKB2: Final = "Johnson, Kotz, Balakrishnan: Continuous Univariate Distributions, volume 2 (1995)"
_JKK: Final = "Johnson, Kemp, Kotz: Univariate Discrete Distributions (2005)"
_JKB: Final = "Johnson, Kotz, Balakrishnan: Discrete Multivariate Distributions (1997)"
_KBJ: Final = "Kotz, Balakrishnan, Johnson: Continuous Multivariate Distributions, volume 1 (2000)"
_GN: Final = "Gupta, Nagar: Matrix Variate Distributions (1999)"
_MJ: Final = "Mardia, Jupp: Directional Statistics (2000)"
_LKJ: Final = "Lewandowski, Kurowicka, Joe (2009), Journal of Multivariate Analysis 100, doi:10.1016/j.jmva.2009.04.008"
_RH: Final = "Rue, Held: Gaussian Markov Random Fields (2005)"
_BDA: Final = "Gelman and others: Bayesian Data Analysis, third edition (2013), appendix A"

MOMENTS: Final = {
    "AR": Moments("", "", "Brockwell, Davis: Time Series: Theory and Methods (1991)"),
    "CAR": Moments("mu", "", "Besag (1974), Journal of the Royal Statistical Society B 36"),
    "ICAR": Moments("0", "", _RH),
    "Triangular": Moments(
        "(lower + c + upper) / 3",
        "(lower^2 + c^2 + upper^2 - lower c - lower upper - c upper) / 18", _JKB2,
    ),
    "TruncatedNormal": Moments("", "", _JKB1),
    "VonMises": Moments("", "", _MJ),
    "ConwayMaxwellPoisson": Moments("", "", "Shmueli and others (2005), Applied Statistics 54"),
    "Bernoulli": Moments("p", "p (1 - p)", _JKK),
    "Binomial": Moments("n p", "n p (1 - p)", _JKK),
    "Categorical": Moments("", "", _BDA),
    "NegativeBinomial": Moments("mu", "mu + mu^2 / alpha", _JKK),
    "Poisson": Moments("mu", "mu", _JKK),
    "EulerMaruyama": Moments("", "", "Kloeden, Platen: Numerical Solution of Stochastic Differential Equations (1992)"),
    "Frechet": Moments(
        "sigma Gamma(1 - 1 / alpha)", "sigma^2 (Gamma(1 - 2 / alpha) - Gamma(1 - 1 / alpha)^2)", _JKB2,
    ),
    "GeneralizedExtremeValue": Moments("mu + sigma (Gamma(1 - xi) - 1) / xi", "", _JKB2),
    "GeneralizedPareto": Moments("mu + sigma / (1 - xi)", "sigma^2 / ((1 - xi)^2 (1 - 2 xi))", _JKB1),
    "Gumbel": Moments("mu + 0.5772 beta (Euler's constant)", "pi^2 beta^2 / 6", _JKB2),
    "Pareto": Moments("alpha m / (alpha - 1)", "alpha m^2 / ((alpha - 1)^2 (alpha - 2))", _JKB1),
    "Weibull": Moments(
        "beta Gamma(1 + 1 / alpha)", "beta^2 (Gamma(1 + 2 / alpha) - Gamma(1 + 1 / alpha)^2)", _JKB1,
    ),
    "Levy": Moments("infinite", "infinite", _JKB1),
    "Wald": Moments("alpha + mu", "mu^3 / lam", _JKB1),
    "ChiSquared": Moments("nu", "2 nu", _JKB1),
    "GeneralizedNormal": Moments("mu", "alpha^2 Gamma(3 / beta) / Gamma(1 / beta)", _JKB2),
    "InverseChiSquared": Moments("1 / (nu - 2)", "2 / ((nu - 2)^2 (nu - 4))", _BDA),
    "LogGamma": Moments("digamma(alpha) - log(beta)", "trigamma(alpha)", _JKB2),
    "ScaledInverseChiSquared": Moments(
        "nu sigma^2 / (nu - 2)", "2 nu^2 sigma^4 / ((nu - 2)^2 (nu - 4))", _BDA,
    ),
    "HiddenMarkov": Moments("", "", "Zucchini, MacDonald, Langrock: Hidden Markov Models for Time Series (2016)"),
    "HurdleGamma": Moments("psi alpha / beta", "", "Mullahy (1986), Journal of Econometrics 33"),
    "HurdleLogNormal": Moments("psi exp(mu + sigma^2 / 2)", "", "Mullahy (1986), Journal of Econometrics 33"),
    "HurdleNegativeBinomial": Moments("", "", "Mullahy (1986), Journal of Econometrics 33"),
    "HurdlePoisson": Moments("psi mu / (1 - exp(-mu))", "", "Mullahy (1986), Journal of Econometrics 33"),
    "Flat": Moments("none: the integral of the density is infinite", "", ""),
    "HalfFlat": Moments("none: the integral of the density is infinite", "", ""),
    "KroneckerNormal": Moments("mu", "", "Saatchi: Scalable Inference for Structured Gaussian Process Models (2011)"),
    "LKJCholeskyCov": Moments("", "", _LKJ),
    "LKJCorr": Moments("", "", _LKJ),
    "MatrixNormal": Moments("mu", "", _GN),
    "Mixture": Moments("the weighted mean of those of the components", "", _BDA),
    "NormalMixture": Moments("the weighted mean of mu", "", _BDA),
    "DirichletMultinomial": Moments("n a / sum(a)", "", _JKB),
    "Multinomial": Moments("n p", "n p (1 - p) of each element", _JKB),
    "MvNormal": Moments("mu", "the diagonal of cov", _KBJ),
    "ExGaussian": Moments("mu + nu", "sigma^2 + nu^2", "Luce: Response Times (1986)"),
    "Rice": Moments("", "", _JKB1),
    "SkewNormal": Moments(
        "mu + sigma delta sqrt(2 / pi), delta = alpha / sqrt(1 + alpha^2)", "sigma^2 (1 - 2 delta^2 / pi)",
        "Azzalini (1985), Scandinavian Journal of Statistics 12",
    ),
    "MvLogNormal": Moments("exp(mu + diag(cov) / 2)", "", _KBJ),
    "MvStudentT": Moments("mu, for nu > 1", "nu / (nu - 2) diag(scale), for nu > 2", _KBJ),
    "OrderedLogistic": Moments("", "", "McCullagh (1980), Journal of the Royal Statistical Society B 42"),
    "OrderedMultinomial": Moments("", "", "McCullagh (1980), Journal of the Royal Statistical Society B 42"),
    "OrderedProbit": Moments("", "", "McCullagh (1980), Journal of the Royal Statistical Society B 42"),
    "PolyaGamma": Moments(
        "h tanh(z / 2) / (2 z)", "",
        "Polson, Scott, Windle (2013), Journal of the American Statistical Association 108",
    ),
    "Exponential": Moments("1 / lam", "1 / lam^2", _JKB1),
    "Gamma": Moments("alpha / beta", "alpha / beta^2", _JKB1),
    "HalfCauchy": Moments("infinite", "infinite", "Gelman (2006), Bayesian Analysis 1, doi:10.1214/06-BA117A"),
    "HalfNormal": Moments("sigma sqrt(2 / pi)", "sigma^2 (1 - 2 / pi)", _JKB1),
    "HalfStudentT": Moments("", "", "Gelman (2006), Bayesian Analysis 1, doi:10.1214/06-BA117A"),
    "InverseGamma": Moments("beta / (alpha - 1)", "beta^2 / ((alpha - 1)^2 (alpha - 2))", _BDA),
    "LogNormal": Moments("exp(mu + sigma^2 / 2)", "(exp(sigma^2) - 1) exp(2 mu + sigma^2)", _JKB1),
    "Cauchy": Moments("none", "none", _JKB1),
    "Laplace": Moments("mu", "2 b^2", _JKB2),
    "Logistic": Moments("mu", "s^2 pi^2 / 3", _JKB2),
    "Normal": Moments("mu", "sigma^2", _JKB1),
    "StudentT": Moments("mu, for nu > 1", "sigma^2 nu / (nu - 2), for nu > 2", _JKB2),
    "Uniform": Moments("(lower + upper) / 2", "(upper - lower)^2 / 12", _JKB2),
    "Dirichlet": Moments("a / sum(a)", "", _KBJ),
    "Skellam": Moments("mu1 - mu2", "mu1 + mu2", _JKK),
    "AsymmetricLaplace": Moments("", "", "Kotz, Kozubowski, Podgorski: The Laplace Distribution (2001)"),
    "Moyal": Moments(
        "mu + sigma (0.5772 + log(2))", "pi^2 sigma^2 / 2", "Moyal (1955), Philosophical Magazine 46",
    ),
    "SkewStudentT": Moments("", "", "Jones, Faddy (2003), Journal of the Royal Statistical Society B 65"),
    "UniformDirection": Moments("0", "1 / n of each element", _MJ),
    "VonMisesFisher": Moments("", "", _MJ),
    "LinearGaussianStateSpace": Moments("", "", "Durbin, Koopman: Time Series Analysis by State Space Methods (2012)"),
    "StickBreakingWeights": Moments("", "", "Sethuraman (1994), Statistica Sinica 4"),
    "Beta": Moments(
        "alpha / (alpha + beta)", "alpha beta / ((alpha + beta)^2 (alpha + beta + 1))", _JKB2,
    ),
    "BetaPrime": Moments(
        "alpha / (beta - 1)", "alpha (alpha + beta - 1) / ((beta - 1)^2 (beta - 2))", _JKB2,
    ),
    "Dagum": Moments("", "", "Kleiber, Kotz: Statistical Size Distributions in Economics (2003)"),
    "Kumaraswamy": Moments("b B(1 + 1 / a, b)", "", "Kumaraswamy (1980), Journal of Hydrology 46"),
    "LogLogistic": Moments("alpha (pi / beta) / sin(pi / beta)", "", _JKB2),
    "LogitNormal": Moments("", "", "Aitchison, Shen (1980), Biometrika 67"),
    "GARCH11": Moments("0", "", "Bollerslev (1986), Journal of Econometrics 31"),
    "DiscreteWeibull": Moments("", "", "Nakagawa, Osaki (1975), IEEE Transactions on Reliability 24"),
    "Geometric": Moments("1 / p", "(1 - p) / p^2", _JKK),
    "BetaBinomial": Moments(
        "n alpha / (alpha + beta)",
        "n alpha beta (alpha + beta + n) / ((alpha + beta)^2 (alpha + beta + 1))", _JKK,
    ),
    "DiracDelta": Moments("c", "0", ""),
    "DiscreteUniform": Moments("(lower + upper) / 2", "((upper - lower + 1)^2 - 1) / 12", _JKK),
    "HyperGeometric": Moments("n k / N", "n (k / N) (1 - k / N) (N - n) / (N - 1)", _JKK),
    "InverseWishart": Moments("V / (nu - p - 1), for nu > p + 1", "", _GN),
    "Wishart": Moments("nu V", "nu (V_ij^2 + V_ii V_jj) of each element", _GN),
    "ZeroInflatedBinomial": Moments("psi n p", "", "Lambert (1992), Technometrics 34"),
    "ZeroInflatedNegativeBinomial": Moments("psi mu", "", "Lambert (1992), Technometrics 34"),
    "ZeroInflatedPoisson": Moments("psi mu", "psi mu (1 + (1 - psi) mu)", "Lambert (1992), Technometrics 34"),
    "ZeroSumNormal": Moments("0", "", ""),
}  # fmt: skip
"""Of each distribution: mean, variance, source."""
