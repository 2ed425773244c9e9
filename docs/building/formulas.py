"""The formula of each distribution, covariance function and step method, in the notation of `mathml.py`.

Of distributions of one number it is the density or the probability of x, in their parameters; a test computes it and
compares it with the library's own.
"""

from __future__ import annotations

DENSITIES = {
    "AsymmetricLaplace": "b / (kappa + 1 / kappa) * exp(-b * abs(x - mu) * kappa ** sign(x - mu))",
    "Bernoulli": "p ** x * (1 - p) ** (1 - x)",
    "Beta": "x ** (alpha - 1) * (1 - x) ** (beta - 1) / B(alpha, beta)",
    "BetaBinomial": "binom(n, x) * (B(x + alpha, n - x + beta) / B(alpha, beta))",
    "BetaPrime": "x ** (alpha - 1) * (1 + x) ** (-alpha - beta) / B(alpha, beta)",
    "Binomial": "binom(n, x) * p ** x * (1 - p) ** (n - x)",
    "Categorical": "p[x]",
    "Cauchy": "1 / (pi * beta * (1 + ((x - alpha) / beta) ** 2))",
    "ChiSquared": "x ** (nu / 2 - 1) * exp(-x / 2) / (2 ** (nu / 2) * Gamma(nu / 2))",
    "ConwayMaxwellPoisson": "lam ** x / factorial(x) ** nu / Sum(lam ** k / factorial(k) ** nu, k, 0, oo)",
    "Dagum": "a * p / x * ((x / b) ** (a * p) / ((x / b) ** a + 1) ** (p + 1))",
    "DiracDelta": "Cases((1, x == c), (0, x != c))",
    "DiscreteUniform": "1 / (upper - lower + 1)",
    "DiscreteWeibull": "q ** (x ** beta) - q ** ((x + 1) ** beta)",
    "ExGaussian": "1 / nu * exp((mu - x) / nu + sigma ** 2 / (2 * nu ** 2)) * Phi((x - mu) / sigma - sigma / nu)",
    "Exponential": "lam * exp(-lam * x)",
    "Frechet": "alpha / sigma * (x / sigma) ** (-1 - alpha) * exp(-((x / sigma) ** (-alpha)))",
    "Gamma": "beta ** alpha / Gamma(alpha) * x ** (alpha - 1) * exp(-beta * x)",
    "GeneralizedExtremeValue": "1 / sigma * (1 + xi * ((x - mu) / sigma)) ** (-1 - 1 / xi) "
    "* exp(-((1 + xi * ((x - mu) / sigma)) ** (-1 / xi)))",
    "GeneralizedNormal": "beta / (2 * alpha * Gamma(1 / beta)) * exp(-((abs(x - mu) / alpha) ** beta))",
    "GeneralizedPareto": "1 / sigma * (1 + xi * ((x - mu) / sigma)) ** (-1 - 1 / xi)",
    "Geometric": "p * (1 - p) ** (x - 1)",
    "Gumbel": "1 / beta * exp(-((x - mu) / beta) - exp(-((x - mu) / beta)))",
    "HalfCauchy": "2 / (pi * beta * (1 + (x / beta) ** 2))",
    "HalfNormal": "sqrt(2 / pi) * (1 / sigma) * exp(-(x ** 2 / (2 * sigma ** 2)))",
    "HalfStudentT": "2 * Gamma((nu + 1) / 2) / (Gamma(nu / 2) * sqrt(nu * pi) * sigma) "
    "* (1 + x ** 2 / (nu * sigma ** 2)) ** (-((nu + 1) / 2))",
    "HurdleGamma": "Cases((1 - psi, x == 0), "
    "(psi * (beta ** alpha / Gamma(alpha)) * x ** (alpha - 1) * exp(-beta * x), x > 0))",
    "HurdleLogNormal": "Cases((1 - psi, x == 0), "
    "(psi / (x * sigma * sqrt(2 * pi)) * exp(-((log(x) - mu) ** 2 / (2 * sigma ** 2))), x > 0))",
    "HurdleNegativeBinomial": "Cases((1 - psi, x == 0), (psi * Gamma(x + alpha) / (factorial(x) * Gamma(alpha)) "
    "* (alpha / (mu + alpha)) ** alpha * (mu / (mu + alpha)) ** x / (1 - (alpha / (mu + alpha)) ** alpha), x > 0))",
    "HurdlePoisson": "Cases((1 - psi, x == 0), (psi * mu ** x * exp(-mu) / (factorial(x) * (1 - exp(-mu))), x > 0))",
    "HyperGeometric": "binom(k, x) * binom(N - k, n - x) / binom(N, n)",
    "InverseChiSquared": "2 ** (-nu / 2) / Gamma(nu / 2) * x ** (-nu / 2 - 1) * exp(-(1 / (2 * x)))",
    "InverseGamma": "beta ** alpha / Gamma(alpha) * x ** (-alpha - 1) * exp(-(beta / x))",
    "Kumaraswamy": "a * b * x ** (a - 1) * (1 - x ** a) ** (b - 1)",
    "Laplace": "1 / (2 * b) * exp(-(abs(x - mu) / b))",
    "Levy": "sqrt(c / (2 * pi)) * (exp(-(c / (2 * (x - mu)))) / (x - mu) ** (3 / 2))",
    "LogGamma": "beta ** alpha / Gamma(alpha) * exp(alpha * x - beta * exp(x))",
    "LogLogistic": "beta / alpha * ((x / alpha) ** (beta - 1) / (1 + (x / alpha) ** beta) ** 2)",
    "LogNormal": "1 / (x * sigma * sqrt(2 * pi)) * exp(-((log(x) - mu) ** 2 / (2 * sigma ** 2)))",
    "Logistic": "exp(-((x - mu) / s)) / (s * (1 + exp(-((x - mu) / s))) ** 2)",
    "LogitNormal": "1 / (sigma * x * (1 - x) * sqrt(2 * pi)) * exp(-((logit(x) - mu) ** 2 / (2 * sigma ** 2)))",
    "Moyal": "1 / (sigma * sqrt(2 * pi)) * exp(-((x - mu) / sigma + exp(-((x - mu) / sigma))) / 2)",
    "NegativeBinomial": "Gamma(x + alpha) / (factorial(x) * Gamma(alpha)) "
    "* (alpha / (mu + alpha)) ** alpha * (mu / (mu + alpha)) ** x",
    "Normal": "1 / (sigma * sqrt(2 * pi)) * exp(-((x - mu) ** 2 / (2 * sigma ** 2)))",
    "Pareto": "alpha * m ** alpha / x ** (alpha + 1)",
    "Poisson": "mu ** x * exp(-mu) / factorial(x)",
    "Rice": "x / sigma ** 2 * exp(-((x ** 2 + nu ** 2) / (2 * sigma ** 2))) * I(0, x * nu / sigma ** 2)",
    "ScaledInverseChiSquared": "(sigma ** 2 * nu / 2) ** (nu / 2) / Gamma(nu / 2) * x ** (-nu / 2 - 1) "
    "* exp(-(nu * sigma ** 2 / (2 * x)))",
    "Skellam": "exp(-mu1 - mu2) * (mu1 / mu2) ** (x / 2) * I(abs(x), 2 * sqrt(mu1 * mu2))",
    "SkewNormal": "2 / sigma * phi((x - mu) / sigma) * Phi(alpha * ((x - mu) / sigma))",
    "StudentT": "Gamma((nu + 1) / 2) / (Gamma(nu / 2) * sqrt(nu * pi) * sigma) "
    "* (1 + 1 / nu * ((x - mu) / sigma) ** 2) ** (-((nu + 1) / 2))",
    "Triangular": "Cases((2 * (x - lower) / ((upper - lower) * (c - lower)), x < c), "
    "(2 * (upper - x) / ((upper - lower) * (upper - c)), x >= c))",
    "TruncatedNormal": "1 / sigma * (phi((x - mu) / sigma) / (Phi((upper - mu) / sigma) - Phi((lower - mu) / sigma)))",
    "Uniform": "1 / (upper - lower)",
    "VonMises": "exp(kappa * cos(x - mu)) / (2 * pi * I(0, kappa))",
    "Wald": "sqrt(lam / (2 * pi * x ** 3)) * exp(-(lam * (x - mu) ** 2 / (2 * mu ** 2 * x)))",
    "Weibull": "alpha / beta * (x / beta) ** (alpha - 1) * exp(-((x / beta) ** alpha))",
    "ZeroInflatedBinomial": "Cases((1 - psi + psi * (1 - p) ** n, x == 0), "
    "(psi * binom(n, x) * p ** x * (1 - p) ** (n - x), x > 0))",
    "ZeroInflatedNegativeBinomial": "Cases((1 - psi + psi * (alpha / (mu + alpha)) ** alpha, x == 0), "
    "(psi * Gamma(x + alpha) / (factorial(x) * Gamma(alpha)) "
    "* (alpha / (mu + alpha)) ** alpha * (mu / (mu + alpha)) ** x, x > 0))",
    "ZeroInflatedPoisson": "Cases((1 - psi + psi * exp(-mu), x == 0), "
    "(psi * mu ** x * exp(-mu) / factorial(x), x > 0))",
}
"""Of one number, as a test computes them."""

OTHERS = {
    "AR": "x[t] == rho[0] + Sum(rho[k] * x[t - k], k, 1, p) + epsilon[t]",
    "CAR": "p(x) == sqrt(det(tau * (D - alpha * W)) / (2 * pi) ** n) "
    "* exp(-tau / 2 * T(x - mu) @ (D - alpha * W) @ (x - mu))",
    "Censored": "p(x) == Cases((F(lower), x == lower), (f(x), lower < x < upper), (1 - F(upper), x == upper))",
    "Dirichlet": "p(x) == Gamma(Sum(a[i], i, 1, K)) * Prod(x[i] ** (a[i] - 1) / Gamma(a[i]), i, 1, K)",
    "DirichletMultinomial": "p(x) == Gamma(A) * factorial(n) / Gamma(n + A) "
    "* Prod(Gamma(x[i] + a[i]) / (factorial(x[i]) * Gamma(a[i])), i, 1, K)",
    "EulerMaruyama": "x[t + 1] == x[t] + f(x[t]) * delta + g(x[t]) * sqrt(delta) * epsilon[t]",
    "Flat": "p(x) == 1",
    "GARCH11": "sigma[t] ** 2 == omega + alpha_1 * x[t - 1] ** 2 + beta_1 * sigma[t - 1] ** 2",
    "GaussianRandomWalk": "x[t] == x[t - 1] + mu + sigma * epsilon[t]",
    "HalfFlat": "p(x) == Cases((1, x >= 0), (0, x < 0))",
    "InverseWishart": "p(X) == det(V) ** (nu / 2) / (2 ** (nu * n / 2) * Gamma_n(nu / 2)) "
    "* det(X) ** (-(nu + n + 1) / 2) * exp(-tr(V @ inv(X)) / 2)",
    "LKJCorr": "p(R) == det(R) ** (eta - 1) / C",
    "MatrixNormal": "p(X) == exp(-tr(inv(V) @ T(X - M) @ inv(U) @ (X - M)) / 2) "
    "/ ((2 * pi) ** (m * n / 2) * det(V) ** (m / 2) * det(U) ** (n / 2))",
    "Multinomial": "p(x) == factorial(n) * Prod(p[i] ** x[i] / factorial(x[i]), i, 1, K)",
    "MvNormal": "p(x) == exp(-T(x - mu) @ inv(Sigma) @ (x - mu) / 2) / sqrt(det(2 * pi * Sigma))",
    "MvStudentT": "p(x) == Gamma((nu + n) / 2) / (Gamma(nu / 2) * sqrt(det(nu * pi * Sigma))) "
    "* (1 + T(x - mu) @ inv(Sigma) @ (x - mu) / nu) ** (-(nu + n) / 2)",
    "NormalMixture": "p(x) == Sum(w[k] * N(x, mu[k], sigma[k] ** 2), k, 1, K)",
    "OrderedLogistic": "p(X <= k) == 1 / (1 + exp(eta - c[k]))",
    "OrderedProbit": "p(X <= k) == Phi(c[k] - eta)",
    "RandomWalk": "x[t] == x[t - 1] + epsilon[t]",
    "StickBreakingWeights": "w[k] == v[k] * Prod(1 - v[j], j, 1, k - 1)",
    "Truncated": "p(x) == f(x) / (F(upper) - F(lower))",
    "VonMisesFisher": "p(x) == kappa ** (n / 2 - 1) / ((2 * pi) ** (n / 2) * I(n / 2 - 1, kappa)) "
    "* exp(kappa * T(mu) @ x)",
    "Wishart": "p(X) == det(X) ** ((nu - n - 1) / 2) * exp(-tr(inv(V) @ X) / 2) "
    "/ (2 ** (nu * n / 2) * det(V) ** (nu / 2) * Gamma_n(nu / 2))",
    "gp.cov.Constant": "k(x, y) == c",
    "gp.cov.Cosine": "k(x, y) == cos(2 * pi * r)",
    "gp.cov.ExpQuad": "k(x, y) == exp(-r ** 2 / 2)",
    "gp.cov.Exponential": "k(x, y) == exp(-r / 2)",
    "gp.cov.Linear": "k(x, y) == T(x - c) @ (y - c)",
    "gp.cov.Matern12": "k(x, y) == exp(-r)",
    "gp.cov.Matern32": "k(x, y) == (1 + sqrt(3) * r) * exp(-sqrt(3) * r)",
    "gp.cov.Matern52": "k(x, y) == (1 + sqrt(5) * r + 5 / 3 * r ** 2) * exp(-sqrt(5) * r)",
    "gp.cov.Periodic": "k(x, y) == exp(-(sin(pi * (x - y) / T_0) ** 2 / (2 * ell ** 2)))",
    "gp.cov.Polynomial": "k(x, y) == (T(x - c) @ (y - c) + b) ** d",
    "gp.cov.RatQuad": "k(x, y) == (1 + r ** 2 / (2 * alpha)) ** (-alpha)",
    "gp.cov.WhiteNoise": "k(x, y) == Cases((sigma ** 2, x == y), (0, x != y))",
    "HamiltonianMC": "H(q, p) == -log(pi(q)) + T(p) @ inv(M) @ p / 2",
    "Metropolis": "a == min(1, pi(y) / pi(x))",
    "NUTS": "H(q, p) == -log(pi(q)) + T(p) @ inv(M) @ p / 2",
}
"""Shown, and not computed: of vectors and series, covariance functions, step methods."""


def of(name: str) -> str | None:
    """The formula of a public name of `pm`, such as `Normal` or `gp.cov.Matern52`."""
    return f"p(x) == {DENSITIES[name]}" if name in DENSITIES else OTHERS.get(name)
