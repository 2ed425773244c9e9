"""Mean, variance and source of distributions, as their documentation writes them.

In: nothing. Out: a row for each distribution whose moments have a form worth writing; tests compare rows with the
formulas.
"""

from __future__ import annotations

from typing import Final

from consilience.record import Record


class MomentRow(Record):
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
_KN: Final = "Kotz, Nadarajah: Multivariate t Distributions and Their Applications (2004)"
_MP: Final = "McLachlan, Peel: Finite Mixture Models (2000)"
_CRAGG: Final = "Cragg (1971), Econometrica 39, on a probit before a positive amount"
_KP: Final = "Kloeden, Platen: Numerical Solution of Stochastic Differential Equations (1992)"
_BDA: Final = "Gelman and others: Bayesian Data Analysis, third edition (2013), appendix A"

MOMENTS: Final = {
    "AR": MomentRow("", "", "Brockwell, Davis: Time Series: Theory and Methods (1991)"),
    "CAR": MomentRow("mu", "", "Besag (1974), Journal of the Royal Statistical Society B 36"),
    "ICAR": MomentRow("0", "", _RH),
    "Triangular": MomentRow(
        "(lower + c + upper) / 3",
        "(lower^2 + c^2 + upper^2 - lower c - lower upper - c upper) / 18", _JKB2,
    ),
    "TruncatedNormal": MomentRow("", "", _JKB1),
    "VonMises": MomentRow("", "", _MJ),
    "ConwayMaxwellPoisson": MomentRow("", "", "Shmueli and others (2005), Applied Statistics 54"),
    "Bernoulli": MomentRow("p", "p (1 - p)", _JKK),
    "Binomial": MomentRow("n p", "n p (1 - p)", _JKK),
    "Categorical": MomentRow("", "", _JKB),
    "NegativeBinomial": MomentRow("mu", "mu + mu^2 / alpha", _JKK),
    "Poisson": MomentRow("mu", "mu", _JKK),
    "EulerMaruyama": MomentRow("", "", _KP),
    "Frechet": MomentRow(
        "sigma Gamma(1 - 1 / alpha)", "sigma^2 (Gamma(1 - 2 / alpha) - Gamma(1 - 1 / alpha)^2)", _JKB2,
    ),
    "GeneralizedExtremeValue": MomentRow("mu + sigma (Gamma(1 - xi) - 1) / xi", "", _JKB2),
    "GeneralizedPareto": MomentRow(
        "mu + sigma / (1 - xi)", "sigma^2 / ((1 - xi)^2 (1 - 2 xi))", "Pickands (1975), Annals of Statistics 3",
    ),
    "Gumbel": MomentRow("mu + 0.5772 beta (Euler's constant)", "pi^2 beta^2 / 6", _JKB2),
    "Pareto": MomentRow("alpha m / (alpha - 1)", "alpha m^2 / ((alpha - 1)^2 (alpha - 2))", _JKB1),
    "Weibull": MomentRow(
        "beta Gamma(1 + 1 / alpha)", "beta^2 (Gamma(1 + 2 / alpha) - Gamma(1 + 1 / alpha)^2)", _JKB1,
    ),
    "Levy": MomentRow("infinite", "infinite", "Nolan: Univariate Stable Distributions (2020)"),
    "Wald": MomentRow("alpha + mu", "mu^3 / lam", _JKB1),
    "ChiSquared": MomentRow("nu", "2 nu", _JKB1),
    "GeneralizedNormal": MomentRow("mu", "alpha^2 Gamma(3 / beta) / Gamma(1 / beta)", _JKB2),
    "InverseChiSquared": MomentRow("1 / (nu - 2)", "2 / ((nu - 2)^2 (nu - 4))", _BDA),
    "LogGamma": MomentRow("digamma(alpha) - log(beta)", "trigamma(alpha)", "Prentice (1974), Biometrika 61"),
    "ScaledInverseChiSquared": MomentRow(
        "nu sigma^2 / (nu - 2)", "2 nu^2 sigma^4 / ((nu - 2)^2 (nu - 4))", _BDA,
    ),
    "HiddenMarkov": MomentRow("", "", "Zucchini, MacDonald, Langrock: Hidden Markov Models for Time Series (2016)"),
    "HurdleGamma": MomentRow("psi alpha / beta", "", _CRAGG),
    "HurdleLogNormal": MomentRow("psi exp(mu + sigma^2 / 2)", "", _CRAGG),
    "HurdleNegativeBinomial": MomentRow("", "", "Mullahy (1986), Journal of Econometrics 33"),
    "HurdlePoisson": MomentRow("psi mu / (1 - exp(-mu))", "", "Mullahy (1986), Journal of Econometrics 33"),
    "Flat": MomentRow("none: the integral of the density is infinite", "", ""),
    "HalfFlat": MomentRow("none: the integral of the density is infinite", "", ""),
    "KroneckerNormal": MomentRow("mu", "", "Saatçi: Scalable Inference for Structured Gaussian Process Models (2011)"),
    "LKJCholeskyCov": MomentRow("", "", _LKJ),
    "LKJCorr": MomentRow("", "", _LKJ),
    "MatrixNormal": MomentRow("mu", "", _GN),
    "Mixture": MomentRow("the weighted mean of those of the components", "", _MP),
    "NormalMixture": MomentRow("the weighted mean of mu", "", _MP),
    "DirichletMultinomial": MomentRow("n a / sum(a)", "", _JKB),
    "Multinomial": MomentRow("n p", "n p (1 - p) of each element", _JKB),
    "MvNormal": MomentRow("mu", "the diagonal of cov", _KBJ),
    "ExGaussian": MomentRow("mu + nu", "sigma^2 + nu^2", "Luce: Response Times (1986)"),
    "Rice": MomentRow("", "", "Rice (1945), Bell System Technical Journal 24"),
    "SkewNormal": MomentRow(
        "mu + sigma delta sqrt(2 / pi), delta = alpha / sqrt(1 + alpha^2)", "sigma^2 (1 - 2 delta^2 / pi)",
        "Azzalini (1985), Scandinavian Journal of Statistics 12",
    ),
    "MvLogNormal": MomentRow(
        "exp(mu + diag(cov) / 2)", "",
        "Halliwell: The Lognormal Random Multivariate (2015), Casualty Actuarial Society E-Forum",
    ),
    "MvStudentT": MomentRow("mu, for nu > 1", "nu / (nu - 2) diag(scale), for nu > 2", _KN),
    "OrderedLogistic": MomentRow("", "", "McCullagh (1980), Journal of the Royal Statistical Society B 42"),
    "OrderedMultinomial": MomentRow("", "", "McCullagh (1980), Journal of the Royal Statistical Society B 42"),
    "OrderedProbit": MomentRow("", "", "McCullagh (1980), Journal of the Royal Statistical Society B 42"),
    "PolyaGamma": MomentRow(
        "h tanh(z / 2) / (2 z)", "",
        "Polson, Scott, Windle (2013), Journal of the American Statistical Association 108",
    ),
    "Exponential": MomentRow("1 / lam", "1 / lam^2", _JKB1),
    "Gamma": MomentRow("alpha / beta", "alpha / beta^2", _JKB1),
    "HalfCauchy": MomentRow("infinite", "infinite", "Gelman (2006), Bayesian Analysis 1, doi:10.1214/06-BA117A"),
    "HalfNormal": MomentRow("sigma sqrt(2 / pi)", "sigma^2 (1 - 2 / pi)", _JKB1),
    "HalfStudentT": MomentRow("", "", "Gelman (2006), Bayesian Analysis 1, doi:10.1214/06-BA117A"),
    "InverseGamma": MomentRow("beta / (alpha - 1)", "beta^2 / ((alpha - 1)^2 (alpha - 2))", _BDA),
    "LogNormal": MomentRow("exp(mu + sigma^2 / 2)", "(exp(sigma^2) - 1) exp(2 mu + sigma^2)", _JKB1),
    "Cauchy": MomentRow("none", "none", _JKB1),
    "Laplace": MomentRow("mu", "2 b^2", _JKB2),
    "Logistic": MomentRow("mu", "s^2 pi^2 / 3", _JKB2),
    "Normal": MomentRow("mu", "sigma^2", _JKB1),
    "StudentT": MomentRow("mu, for nu > 1", "sigma^2 nu / (nu - 2), for nu > 2", _JKB2),
    "Uniform": MomentRow("(lower + upper) / 2", "(upper - lower)^2 / 12", _JKB2),
    "Dirichlet": MomentRow("a / sum(a)", "", _KBJ),
    "Skellam": MomentRow("mu1 - mu2", "mu1 + mu2", _JKK),
    "AsymmetricLaplace": MomentRow(
        "", "", "Kotz, Kozubowski, Podgórski: The Laplace Distribution and Generalizations (2001)",
    ),
    "Moyal": MomentRow(
        "mu + sigma (0.5772 + log(2))", "pi^2 sigma^2 / 2", "Moyal (1955), Philosophical Magazine 46",
    ),
    "SkewStudentT": MomentRow("", "", "Jones, Faddy (2003), Journal of the Royal Statistical Society B 65"),
    "UniformDirection": MomentRow("0", "1 / n of each element", _MJ),
    "VonMisesFisher": MomentRow("", "", _MJ),
    "LinearGaussianStateSpace": MomentRow(
        "", "", "Durbin, Koopman: Time Series Analysis by State Space Methods (2012)"
    ),
    "StickBreakingWeights": MomentRow("", "", "Sethuraman (1994), Statistica Sinica 4"),
    "Beta": MomentRow(
        "alpha / (alpha + beta)", "alpha beta / ((alpha + beta)^2 (alpha + beta + 1))", _JKB2,
    ),
    "BetaPrime": MomentRow(
        "alpha / (beta - 1)", "alpha (alpha + beta - 1) / ((beta - 1)^2 (beta - 2))", _JKB2,
    ),
    "Dagum": MomentRow("", "", "Kleiber, Kotz: Statistical Size Distributions in Economics (2003)"),
    "Kumaraswamy": MomentRow("b B(1 + 1 / a, b)", "", "Kumaraswamy (1980), Journal of Hydrology 46"),
    "LogLogistic": MomentRow("alpha (pi / beta) / sin(pi / beta)", "", _JKB2),
    "LogitNormal": MomentRow("", "", "Aitchison, Shen (1980), Biometrika 67"),
    "GARCH11": MomentRow("0", "", "Bollerslev (1986), Journal of Econometrics 31"),
    "DiscreteWeibull": MomentRow("", "", "Nakagawa, Osaki (1975), IEEE Transactions on Reliability 24"),
    "Geometric": MomentRow("1 / p", "(1 - p) / p^2", _JKK),
    "BetaBinomial": MomentRow(
        "n alpha / (alpha + beta)",
        "n alpha beta (alpha + beta + n) / ((alpha + beta)^2 (alpha + beta + 1))", _JKK,
    ),
    "DiracDelta": MomentRow("c", "0", ""),
    "DiscreteUniform": MomentRow("(lower + upper) / 2", "((upper - lower + 1)^2 - 1) / 12", _JKK),
    "HyperGeometric": MomentRow("n k / N", "n (k / N) (1 - k / N) (N - n) / (N - 1)", _JKK),
    "InverseWishart": MomentRow("V / (nu - p - 1), for nu > p + 1", "", _GN),
    "Wishart": MomentRow("nu V", "nu (V_ij^2 + V_ii V_jj) of each element", _GN),
    "ZeroInflatedBinomial": MomentRow("psi n p", "", "Hall (2000), Biometrics 56"),
    "ZeroInflatedNegativeBinomial": MomentRow("psi mu", "", "Lambert (1992), Technometrics 34"),
    "ZeroInflatedPoisson": MomentRow("psi mu", "psi mu (1 + (1 - psi) mu)", "Lambert (1992), Technometrics 34"),
    "ZeroSumNormal": MomentRow("0", "", ""),
}  # fmt: skip
"""Of each distribution: mean, variance, source."""
