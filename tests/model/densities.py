"""One small model per distribution and use, with its log density written by SciPy as the second opinion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit

import consilience as pm
from consilience.distributions import transforms

Values = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A model, and the log density of its variables at values on their own scales, Jacobians not included."""

    build: Callable[[], pm.Model]
    logp: Callable[[Values], float]


CASES: dict[str, Case] = {}


def case(logp: Callable[[Values], Any]) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register the model that a function declares inside a `with` block."""

    def register(declare: Callable[[], None]) -> Callable[[], None]:
        def build() -> pm.Model:
            with pm.Model() as model:
                declare()
            return model

        CASES[declare.__name__] = Case(build, lambda v: float(np.sum(logp(v))))
        return declare

    return register


REALS = np.array([0.3, -1.2, 2.5])
POSITIVES = np.array([0.4, 1.3, 2.2, 5.0])
SHARES = np.array([0.2, 0.55, 0.9])
COUNTS = np.array([0, 3, 1, 7])


# ---- every distribution as a prior


@case(lambda v: stats.norm(1.0, 2.0).logpdf(v["x"]) + stats.norm(v["x"], 1.5).logpdf(REALS).sum())
def normal() -> None:
    x = pm.Normal("x", 1.0, 2.0)
    pm.Normal("y", x, 1.5, observed=REALS)


@case(lambda v: stats.halfnorm(0, 2.0).logpdf(v["s"]) + stats.halfnorm(0, v["s"]).logpdf(POSITIVES).sum())
def half_normal() -> None:
    s = pm.HalfNormal("s", 2.0)
    pm.HalfNormal("y", s, observed=POSITIVES)


@case(lambda v: stats.halfnorm(0, 2.0).logpdf(v["s"]) + stats.norm(0, v["s"] ** -0.5).logpdf(REALS).sum())
def normal_by_precision() -> None:
    s = pm.HalfNormal("s", 2.0)
    pm.Normal("y", 0, tau=s, observed=REALS)


@case(
    lambda v: (
        stats.lognorm(0.7, scale=np.exp(0.3)).logpdf(v["x"]) + stats.lognorm(v["x"], scale=1.0).logpdf(POSITIVES).sum()
    )
)
def log_normal() -> None:
    x = pm.LogNormal("x", 0.3, 0.7)
    pm.LogNormal("y", 0.0, x, observed=POSITIVES)


@case(
    lambda v: (
        stats.t(4, 0.5, 1.5).logpdf(v["x"])
        + stats.gamma(2, scale=10).logpdf(v["nu"])
        + stats.t(v["nu"], v["x"], 2.0).logpdf(REALS).sum()
    )
)
def student_t() -> None:
    x = pm.StudentT("x", nu=4, mu=0.5, sigma=1.5)
    nu = pm.Gamma("nu", alpha=2, beta=0.1)
    pm.StudentT("y", nu=nu, mu=x, sigma=2.0, observed=REALS)


@case(lambda v: stats.cauchy(1, 2).logpdf(v["x"]) + stats.cauchy(v["x"], 0.5).logpdf(REALS).sum())
def cauchy() -> None:
    x = pm.Cauchy("x", 1, 2)
    pm.Cauchy("y", x, 0.5, observed=REALS)


@case(lambda v: stats.halfcauchy(0, 5).logpdf(v["s"]) + stats.halfcauchy(0, v["s"]).logpdf(POSITIVES).sum())
def half_cauchy() -> None:
    s = pm.HalfCauchy("s", 5)
    pm.HalfCauchy("y", s, observed=POSITIVES)


@case(lambda v: stats.laplace(1, 2).logpdf(v["x"]) + stats.laplace(v["x"], 0.5).logpdf(REALS).sum())
def laplace() -> None:
    x = pm.Laplace("x", 1, 2)
    pm.Laplace("y", x, 0.5, observed=REALS)


@case(
    lambda v: (
        stats.uniform(2, 3).logpdf(v["a"])
        + stats.uniform(0, v["a"]).logpdf(v["b"])
        + stats.uniform(-v["b"] - 5, 5 + v["b"] + v["a"]).logpdf(SHARES).sum()
    )
)
def uniform_with_bounds_of_parents() -> None:
    a = pm.Uniform("a", 2, 5)
    b = pm.Uniform("b", 0, a)
    pm.Uniform("y", -b - 5, a, observed=SHARES)


@case(lambda v: stats.expon(0, 1 / 3).logpdf(v["x"]) + stats.expon(0, 1 / v["x"]).logpdf(POSITIVES).sum())
def exponential() -> None:
    x = pm.Exponential("x", 3)
    pm.Exponential("y", x, observed=POSITIVES)


@case(lambda v: stats.gamma(3, scale=1 / 2).logpdf(v["x"]) + stats.gamma(v["x"], scale=1 / 1.5).logpdf(POSITIVES).sum())
def gamma() -> None:
    x = pm.Gamma("x", 3, 2)
    pm.Gamma("y", x, 1.5, observed=POSITIVES)


@case(lambda v: stats.gamma((2 / 0.5) ** 2, scale=0.5**2 / 2).logpdf(v["x"]) + stats.norm(v["x"], 1).logpdf(0.4))
def gamma_by_moments() -> None:
    x = pm.Gamma("x", mu=2, sigma=0.5)
    pm.Normal("y", x, 1, observed=0.4)


@case(lambda v: stats.invgamma(3, scale=2).logpdf(v["x"]) + stats.invgamma(v["x"], scale=1.5).logpdf(POSITIVES).sum())
def inverse_gamma() -> None:
    x = pm.InverseGamma("x", 3, 2)
    pm.InverseGamma("y", x, 1.5, observed=POSITIVES)


@case(lambda v: stats.beta(2, 3).logpdf(v["p"]) + stats.beta(v["p"], 3).logpdf(SHARES).sum())
def beta() -> None:
    p = pm.Beta("p", 2, 3)
    pm.Beta("y", p, 3, observed=SHARES)


@case(lambda v: stats.norm(v["x"], v["s"]).logpdf(REALS))
def improper() -> None:
    x = pm.Flat("x")
    s = pm.HalfFlat("s")
    pm.Normal("y", x, s, observed=REALS)


@case(
    lambda v: (
        stats.dirichlet([1.5, 2.0, 3.0, 0.7]).logpdf(v["p"])
        + stats.dirichlet(5 * v["p"]).logpdf([0.1, 0.2, 0.3, 0.4])
        + np.log(v["p"][[0, 2, 2, 3, 1]]).sum()
    )
)
def dirichlet_and_categorical() -> None:
    p = pm.Dirichlet("p", [1.5, 2.0, 3.0, 0.7])
    pm.Dirichlet("w", 5 * p, observed=[0.1, 0.2, 0.3, 0.4])
    pm.Categorical("y", p, observed=[0, 2, 2, 3, 1])


COVARIANCE = np.array([[2.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.5]])


@case(
    lambda v: (
        stats.multivariate_normal([1, 2, 3], COVARIANCE).logpdf(v["x"])
        + stats.multivariate_normal(v["x"], np.linalg.inv(COVARIANCE)).logpdf([REALS, 2 * REALS]).sum()
    )
)
def multivariate_normal() -> None:
    x = pm.MvNormal("x", [1, 2, 3], cov=COVARIANCE)
    pm.MvNormal("y", x, tau=COVARIANCE, observed=np.array([REALS, 2 * REALS]))


@case(
    lambda v: (
        stats.expon.logpdf(v["s"]) + stats.multivariate_normal(np.zeros(3), v["s"] * COVARIANCE).logpdf(REALS).sum()
    )
)
def multivariate_normal_with_random_factor() -> None:
    s = pm.Exponential("s", 1)
    pm.MvNormal("y", np.zeros(3), chol=np.linalg.cholesky(COVARIANCE) * s**0.5, observed=REALS)


# ---- counts


@case(lambda v: stats.beta(1, 1).logpdf(v["p"]) + stats.bernoulli(v["p"]).logpmf([0, 1, 1, 1]).sum())
def bernoulli() -> None:
    p = pm.Beta("p", 1, 1)
    pm.Bernoulli("y", p, observed=np.array([False, True, True, True]))


@case(lambda v: stats.norm.logpdf(v["b"]).sum() + stats.bernoulli(expit(DESIGN @ v["b"])).logpmf(BITS).sum())
def logistic_regression() -> None:
    b = pm.Normal("b", 0, 1, shape=2)
    pm.Bernoulli("y", logit_p=pm.math.dot(DESIGN, b), observed=BITS)


DESIGN = np.array([[1.0, 0.3], [1.0, -0.4], [1.0, 2.0], [1.0, 0.9]])
BITS = np.array([0, 1, 1, 0])


@case(lambda v: stats.beta(2, 2).logpdf(v["p"]) + stats.binom([10, 12, 8, 7], v["p"]).logpmf([0, 3, 8, 7]).sum())
def binomial() -> None:
    p = pm.Beta("p", 2, 2)
    pm.Binomial("y", [10, 12, 8, 7], p, observed=[0, 3, 8, 7])


@case(lambda v: stats.gamma(2, scale=1).logpdf(v["m"]).sum() + stats.poisson(v["m"]).logpmf(COUNTS).sum())
def poisson() -> None:
    m = pm.Gamma("m", 2, 1, shape=4)
    pm.Poisson("y", m, observed=COUNTS)


@case(
    lambda v: (
        stats.expon.logpdf(v["a"])
        + stats.expon(0, 5).logpdf(v["m"])
        + stats.nbinom(v["a"], v["a"] / (v["a"] + v["m"])).logpmf(COUNTS).sum()
    )
)
def negative_binomial() -> None:
    a = pm.Exponential("a", 1)
    m = pm.Exponential("m", scale=5)
    pm.NegativeBinomial("y", mu=m, alpha=a, observed=COUNTS)


# ---- ways of building


@case(
    lambda v: (
        stats.norm(0, 5).logpdf(v["mu"])
        + stats.halfcauchy(0, 5).logpdf(v["tau"])
        + stats.norm(0, 1).logpdf(v["z"]).sum()
        + stats.norm(v["mu"] + v["tau"] * v["z"], [1.0, 2.0, 3.0]).logpdf(REALS).sum()
        - 0.5 * np.sum(v["z"] ** 2)
        + v["mu"]
    )
)
def hierarchy_with_potentials() -> None:
    mu = pm.Normal("mu", 0, 5)
    tau = pm.HalfCauchy("tau", 5)
    z = pm.Normal("z", 0, 1, shape=3)
    theta = pm.Deterministic("theta", mu + tau * z)
    pm.Normal("y", theta, [1.0, 2.0, 3.0], observed=REALS)
    pm.Potential("shrink", -0.5 * z**2)
    pm.Potential("tilt", mu)


@case(lambda v: stats.norm(0, 2).logpdf(v["x"]).sum())
def ordered_cut_points() -> None:
    pm.Normal("x", 0, 2, shape=4, transform=transforms.ordered, initval=[-1.0, 0, 1, 2])


@case(lambda v: stats.norm(0, 2).logpdf(v["x"]).sum())
def ordered_rows() -> None:
    start = np.array([[-1.0, 0, 1], [0, 1, 3]])
    pm.Normal("x", 0, 2, shape=(2, 3), transform=transforms.ordered, initval=start)


@case(lambda v: stats.multivariate_normal([1, 2, 3], COVARIANCE).logpdf(v["x"]).sum())
def positive_vectors() -> None:
    pm.MvNormal("x", [1, 2, 3], cov=COVARIANCE, shape=(2, 3), transform=transforms.log, initval=np.ones(3))


@case(
    lambda v: (
        stats.norm.logpdf(v["x"]) + stats.norm(v["x"], 1).logpdf(REALS).sum() + stats.norm(REALS.sum(), 2.0).logpdf(0.7)
    )
)
def observed_variable_used_elsewhere() -> None:
    x = pm.Normal("x")
    y = pm.Normal("y", x, 1, observed=REALS)
    pm.Normal("z", y.sum(), 2.0, observed=0.7)


@case(
    lambda v: (
        stats.norm.logpdf(v["rows"]).sum()
        + stats.norm(v["rows"][[0, 0, 1, 2, 1]], 0.5).logpdf([0.1, 0.2, 0.3, 0.4, 0.5]).sum()
    )
)
def indexed_rows() -> None:
    rows = pm.Normal("rows", shape=3)
    pm.Normal("y", rows[np.array([0, 0, 1, 2, 1])], 0.5, observed=[0.1, 0.2, 0.3, 0.4, 0.5])


@case(lambda v: np.log(v["s"]) - 2 * v["s"] + 3 * np.log(v["p"]) + np.log1p(-v["p"]))
def custom_and_untransformed() -> None:
    pm.CustomDist("s", 2.0, logp=lambda value, rate: pm.math.log(value) - rate * value, initval=0.5)
    pm.CustomDist("p", logp=lambda value: 3 * pm.math.log(value) + pm.math.log1p(-value), initval=0.5)
