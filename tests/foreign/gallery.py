"""Models of the kinds in PyMC's gallery, each a function of the module `pymc` that gives a live model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

MODELS: Final[dict[str, Callable[[Any], Any]]] = {}
RNG = np.random.default_rng(20)
X = RNG.normal(size=(12, 3))
Y = X @ [1.0, -0.5, 0.2] + RNG.normal(size=12)
COUNTS = RNG.poisson(3.0, size=12)
ZEROS_AND_ONES = (Y > 0).astype(int)
GROUP = np.array([0, 0, 1, 1, 2, 2, 3, 3, 0, 1, 2, 3])
SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
TIME = np.linspace(0.5, 4.0, 12)
PAIRS = RNG.normal(size=(12, 2))


def gallery(model: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Take a model into the gallery: its body runs inside the context of a new model."""

    def made(pymc: Any) -> Any:
        with pymc.Model(coords={"feature": ["a", "b", "c"], "group": list("wxyz")}) as context:
            model(pymc)
        return context

    MODELS[model.__name__] = made
    return made


@gallery
def eight_schools_centred(pm: Any) -> None:
    mu = pm.Normal("mu", 0, 5)
    tau = pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", mu, tau, shape=8)
    pm.Normal("y", theta, ERRORS, observed=SCHOOLS)


@gallery
def eight_schools_noncentred(pm: Any) -> None:
    mu = pm.Normal("mu", 0, 5)
    tau = pm.HalfCauchy("tau", 5)
    z = pm.Normal("z", size=8)
    theta = pm.Deterministic("theta", mu + tau * z)
    pm.Normal("y", theta, ERRORS, observed=SCHOOLS)


@gallery
def linear_regression_with_data(pm: Any) -> None:
    x = pm.Data("x", X, dims=("observation", "feature"))
    y = pm.Data("y_data", Y, dims="observation")
    beta = pm.Normal("beta", 0, 2, dims="feature")
    sigma = pm.Exponential("sigma", 2)
    mu = pm.Deterministic("mu", x @ beta, dims="observation")
    pm.Normal("y", mu, sigma, observed=y, dims="observation")


@gallery
def logistic_regression(pm: Any) -> None:
    intercept = pm.Normal("intercept")
    beta = pm.Normal("beta", 0, 1, dims="feature")
    pm.Bernoulli("y", logit_p=intercept + pm.math.dot(X, beta), observed=ZEROS_AND_ONES)


@gallery
def poisson_regression_with_varying_intercepts(pm: Any) -> None:
    mu = pm.Normal("mu", 0, 1)
    sigma = pm.HalfNormal("sigma", 1)
    alpha = pm.Normal("alpha", mu, sigma, dims="group")
    beta = pm.Normal("beta", dims="feature")
    rate = pm.math.exp(alpha[GROUP] + (X * beta).sum(axis=1))
    pm.Poisson("y", rate, observed=COUNTS)


@gallery
def negative_binomial_regression(pm: Any) -> None:
    beta = pm.Normal("beta", dims="feature")
    alpha = pm.Exponential("alpha", 0.5)
    pm.NegativeBinomial("y", mu=pm.math.exp(X @ beta), alpha=alpha, observed=COUNTS)


@gallery
def robust_regression(pm: Any) -> None:
    beta = pm.Laplace("beta", 0, 1, dims="feature")
    nu = pm.Gamma("nu", 2, 0.1)
    sigma = pm.HalfStudentT("sigma", nu=3, sigma=2)
    pm.StudentT("y", nu=nu, mu=X @ beta, sigma=sigma, observed=Y)


@gallery
def best_of_two_groups(pm: Any) -> None:
    mu = pm.Normal("mu", Y.mean(), 2 * Y.std(), shape=2)
    sigma = pm.Uniform("sigma", 0.1, 10, shape=2)
    nu = pm.Exponential("nu_minus_one", 1 / 29) + 1
    pm.StudentT("first", nu, mu[0], lam=sigma[0] ** -2, observed=Y[:6])
    pm.StudentT("second", nu, mu[1], lam=sigma[1] ** -2, observed=Y[6:])
    pm.Deterministic("difference", mu[0] - mu[1])
    pm.Deterministic("effect", (mu[0] - mu[1]) / pm.math.sqrt((sigma**2).sum() / 2))


@gallery
def coal_mining_with_known_switch(pm: Any) -> None:
    early = pm.Exponential("early", 1.0)
    late = pm.Exponential("late", 1.0)
    switch = pm.Uniform("switch", 0.0, 12.0)
    pm.Poisson("y", pm.math.switch(switch >= np.arange(12), early, late), observed=COUNTS)


@gallery
def coal_mining_with_discrete_switch(pm: Any) -> None:
    switch = pm.DiscreteUniform("switch", lower=0, upper=11)
    early, late = pm.Exponential("early", 1.0), pm.Exponential("late", 1.0)
    pm.Poisson("y", pm.math.switch(switch >= np.arange(12), early, late), observed=COUNTS)


@gallery
def normal_mixture(pm: Any) -> None:
    w = pm.Dirichlet("w", np.ones(3))
    mu = pm.Normal(
        "mu", 0, 2, shape=3, transform=pm.distributions.transforms.ordered, initval=np.array([-1.0, 0.0, 1.0])
    )
    sigma = pm.HalfNormal("sigma", 1, shape=3)
    pm.NormalMixture("y", w, mu, sigma, observed=Y)


@gallery
def mixture_of_different_components(pm: Any) -> None:
    w = pm.Dirichlet("w", np.array([1.0, 2.0]))
    mu = pm.Normal("mu")
    pm.Mixture("y", w, [pm.Normal.dist(mu, 1.0), pm.StudentT.dist(nu=4.0, mu=0.0, sigma=2.0)], observed=Y)


@gallery
def dirichlet_process_by_stick_breaking(pm: Any) -> None:
    alpha = pm.Gamma("alpha", 1.0, 1.0)
    beta = pm.Beta("beta", 1.0, alpha, shape=4)
    rest = pm.math.concatenate([[1.0], (1 - beta[:-1]).cumprod()])
    w = pm.Deterministic("w", beta * rest)
    mu = pm.Normal("mu", 0, 3, shape=4)
    pm.NormalMixture("y", w / w.sum(), mu, 1.0, observed=Y)


@gallery
def zero_inflated_poisson(pm: Any) -> None:
    psi = pm.Beta("psi", 1, 1)
    mu = pm.Gamma("mu", 2, 1)
    pm.ZeroInflatedPoisson("y", psi, mu, observed=np.where(COUNTS > 2, COUNTS, 0))


@gallery
def zero_inflated_negative_binomial(pm: Any) -> None:
    psi = pm.Beta("psi", 2, 2)
    alpha = pm.Exponential("alpha", 1)
    pm.ZeroInflatedNegativeBinomial("y", psi=psi, mu=3.0, alpha=alpha, observed=np.where(COUNTS > 2, COUNTS, 0))


@gallery
def binomial_hierarchy(pm: Any) -> None:
    ab = pm.HalfFlat("ab", shape=2)
    pm.Potential("p(a, b)", -2.5 * pm.math.log(pm.math.sum(ab)))
    theta = pm.Beta("theta", ab[0], ab[1], shape=4)
    pm.Binomial("y", n=np.array([20, 20, 19, 30]), p=theta, observed=np.array([0, 4, 2, 12]))


@gallery
def multivariate_normal_with_lkj(pm: Any) -> None:
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
    mu = pm.Normal("mu", 0, 1.5, shape=2)
    pm.MvNormal("y", mu, chol=chol, observed=PAIRS)


@gallery
def varying_slopes_with_lkj(pm: Any) -> None:
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=4.0, sd_dist=pm.HalfNormal.dist(1.0))
    z = pm.Normal("z", 0, 1, shape=(2, 4))
    effect = pm.Deterministic("effect", pm.math.dot(chol, z).T)
    pm.Normal("y", effect[GROUP, 0] + effect[GROUP, 1] * X[:, 0], 1.0, observed=Y)


@gallery
def multivariate_normal_with_covariance(pm: Any) -> None:
    scale = pm.HalfNormal("scale", 1.0)
    covariance = scale * np.array([[2.0, 0.3], [0.3, 1.0]])
    pm.MvNormal("x", np.zeros(2), cov=covariance)
    pm.MvNormal("y", np.zeros(2), tau=np.array([[2.0, 0.3], [0.3, 1.0]]), observed=PAIRS)


@gallery
def gaussian_random_walk(pm: Any) -> None:
    sigma = pm.Exponential("sigma", 5.0)
    level = pm.GaussianRandomWalk("level", sigma=sigma, init_dist=pm.Normal.dist(0, 10), shape=12)
    pm.Normal("y", level, 1.0, observed=Y)


@gallery
def stochastic_volatility(pm: Any) -> None:
    step = pm.Exponential("step", 10.0)
    volatility = pm.GaussianRandomWalk("volatility", mu=0.1, sigma=step, init_dist=pm.Normal.dist(0, 100), steps=11)
    nu = pm.Exponential("nu", 0.1)
    pm.StudentT("y", nu, mu=0, lam=pm.math.exp(-2 * volatility), observed=Y)


@gallery
def autoregression(pm: Any) -> None:
    rho = pm.Normal("rho", 0, 0.5, shape=3)
    sigma = pm.HalfNormal("sigma", 1)
    pm.AR("y", rho, sigma=sigma, constant=True, init_dist=pm.Normal.dist(0, 10), observed=Y)


@gallery
def latent_autoregression(pm: Any) -> None:
    rho = pm.Uniform("rho", -1, 1)
    trend = pm.AR("trend", [rho], sigma=0.5, init_dist=pm.Normal.dist(0, 1), steps=11)
    pm.Normal("y", trend, 1.0, observed=Y)


@gallery
def censored_data(pm: Any) -> None:
    mu = pm.Normal("mu", 0, 2)
    sigma = pm.HalfNormal("sigma", 2)
    pm.Censored("y", pm.Normal.dist(mu, sigma), lower=-0.5, upper=0.8, observed=np.clip(Y, -0.5, 0.8))


@gallery
def truncated_data(pm: Any) -> None:
    mu = pm.Normal("mu", 0, 2)
    sigma = pm.HalfNormal("sigma", 2)
    pm.Truncated("y", pm.Normal.dist(mu, sigma), lower=-3.0, upper=4.0, observed=Y)
    pm.TruncatedNormal("z", mu, sigma, lower=0.0)


@gallery
def truncated_gamma(pm: Any) -> None:
    alpha = pm.Exponential("alpha", 1.0)
    pm.Truncated("y", pm.Gamma.dist(alpha, 1.0), lower=0.2, observed=np.abs(Y) + 0.3)


@gallery
def survival_with_weibull(pm: Any) -> None:
    alpha = pm.HalfNormal("alpha", 2.0)
    beta = pm.Normal("beta", dims="feature")
    scale = pm.math.exp(X @ beta)
    pm.Weibull("t", alpha, scale, observed=TIME)
    pm.Potential("survivors", -((3.0 / scale[:4]) ** alpha))


@gallery
def softmax_regression(pm: Any) -> None:
    alpha = pm.Normal("alpha", 0, 1, shape=3)
    beta = pm.Normal("beta", 0, 1, shape=(3, 3))
    p = pm.math.softmax(alpha + pm.math.dot(X, beta), axis=1)
    pm.Categorical("y", p=p, observed=GROUP % 3)


@gallery
def ordered_logistic(pm: Any) -> None:
    beta = pm.Normal("beta", dims="feature")
    cutpoints = pm.Normal(
        "cutpoints", 0, 2, shape=2, transform=pm.distributions.transforms.ordered, initval=np.array([-1.0, 1.0])
    )
    pm.OrderedLogistic("y", eta=X @ beta, cutpoints=cutpoints, observed=GROUP % 3)


@gallery
def ordered_probit(pm: Any) -> None:
    eta = pm.Normal("eta", 0, 1, shape=12)
    pm.OrderedProbit("y", eta=eta, cutpoints=np.array([-0.5, 0.5]), observed=GROUP % 3)


@gallery
def gaussian_process_by_cholesky(pm: Any) -> None:
    scale = pm.InverseGamma("scale", 5.0, 5.0)
    eta = pm.HalfNormal("eta", 2.0)
    sigma = pm.HalfNormal("sigma", 1.0)
    gp = pm.gp.Marginal(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=scale))
    gp.marginal_likelihood("y", X=TIME[:, None], y=Y, sigma=sigma)


@gallery
def latent_gaussian_process(pm: Any) -> None:
    scale = pm.Gamma("scale", 2.0, 1.0)
    gp = pm.gp.Latent(cov_func=pm.gp.cov.Matern52(1, ls=scale))
    f = gp.prior("f", X=TIME[:, None])
    pm.Bernoulli("y", p=pm.math.invlogit(f), observed=ZEROS_AND_ONES)


@gallery
def hilbert_space_gaussian_process(pm: Any) -> None:
    scale = pm.LogNormal("scale", 0.0, 0.5)
    gp = pm.gp.HSGP(m=[6], c=1.5, cov_func=pm.gp.cov.ExpQuad(1, ls=scale))
    f = gp.prior("f", X=TIME[:, None])
    pm.Normal("y", f, 1.0, observed=Y)


@gallery
def horseshoe(pm: Any) -> None:
    tau = pm.HalfCauchy("tau", 0.1)
    local = pm.HalfCauchy("local", 1.0, dims="feature")
    slab = pm.InverseGamma("slab", 2.0, 4.0)
    shrunk = local * pm.math.sqrt(slab / (slab + tau**2 * local**2))
    z = pm.Normal("z", dims="feature")
    pm.Normal("y", X @ (z * tau * shrunk), 1.0, observed=Y)


@gallery
def missing_values(pm: Any) -> None:
    mu = pm.Normal("mu", 0, 1)
    pm.Normal("y", mu, 1.0, observed=np.where(np.arange(12) % 5 == 0, np.nan, Y))


@gallery
def zero_sum_effects(pm: Any) -> None:
    sigma = pm.HalfNormal("sigma", 1)
    effect = pm.ZeroSumNormal("effect", sigma=sigma, dims="group")
    pm.Normal("y", effect[GROUP], 1.0, observed=Y)


@gallery
def conditional_autoregression(pm: Any) -> None:
    neighbours = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    tau = pm.Gamma("tau", 2.0, 2.0)
    alpha = pm.Uniform("alpha", 0.05, 0.95)
    phi = pm.CAR("phi", mu=np.zeros(4), tau=tau, alpha=alpha, W=neighbours, dims="group")
    pm.Poisson("y", pm.math.exp(phi[GROUP]), observed=COUNTS)


@gallery
def intrinsic_autoregression(pm: Any) -> None:
    neighbours = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    sigma = pm.HalfNormal("sigma", 1.0)
    phi = pm.ICAR("phi", W=neighbours, dims="group")
    pm.Poisson("y", pm.math.exp(sigma * phi[GROUP]), observed=COUNTS)


@gallery
def rugby(pm: Any) -> None:
    home = pm.Normal("home", 0, 1)
    attack_scale, defence_scale = pm.HalfNormal("attack_scale", 2), pm.HalfNormal("defence_scale", 2)
    attack = pm.Normal("attack_star", 0, attack_scale, dims="group")
    defence = pm.Normal("defence_star", 0, defence_scale, dims="group")
    attack = pm.Deterministic("attack", attack - pm.math.mean(attack), dims="group")
    defence = pm.Deterministic("defence", defence - pm.math.mean(defence), dims="group")
    pm.Poisson("points", pm.math.exp(home + attack[GROUP] + defence[GROUP[::-1]]), observed=COUNTS)


@gallery
def item_response(pm: Any) -> None:
    ability = pm.Normal("ability", 0, 1, shape=4)
    difficulty = pm.Normal("difficulty", 0, 1, shape=3)
    discrimination = pm.LogNormal("discrimination", 0, 0.5, shape=3)
    items = np.arange(12) % 3
    pm.Bernoulli("y", logit_p=discrimination[items] * (ability[GROUP] - difficulty[items]), observed=ZEROS_AND_ONES)


@gallery
def beta_binomial_and_friends(pm: Any) -> None:
    a, b = pm.Gamma("a", 2, 1), pm.Gamma("b", 2, 1)
    pm.BetaBinomial("y", n=10, alpha=a, beta=b, observed=np.minimum(COUNTS, 10))
    pm.Geometric("g", pm.Beta("p", a, b), observed=COUNTS + 1)
    pm.DirichletMultinomial("m", n=9, a=pm.Exponential("c", 1.0, shape=3), observed=np.array([2, 3, 4]))
    pm.Multinomial("k", n=9, p=pm.Dirichlet("w", np.ones(3)), observed=np.array([2, 3, 4]))


@gallery
def distributions_on_the_line(pm: Any) -> None:
    mu = pm.Normal("mu")
    s = pm.HalfNormal("s", 1.0)
    pm.Cauchy("cauchy", mu, s)
    pm.Logistic("logistic", mu, s)
    pm.Gumbel("gumbel", mu, s)
    pm.Moyal("moyal", mu, s)
    pm.SkewNormal("skewnormal", mu=mu, sigma=s, alpha=2.0)
    pm.ExGaussian("exgaussian", mu=mu, sigma=s, nu=1.5)
    pm.AsymmetricLaplace("asymmetric", b=s, kappa=1.5, mu=mu)
    pm.VonMises("angle", mu=0.5, kappa=s)
    pm.Triangular("triangular", lower=-1.0, c=0.2, upper=2.0)


@gallery
def distributions_of_positive_numbers(pm: Any) -> None:
    s = pm.HalfNormal("s", 1.0)
    pm.ChiSquared("chisquared", 3.0)
    pm.Wald("wald", mu=s, lam=2.0)
    pm.Pareto("pareto", alpha=2.0, m=s)
    pm.Rice("rice", nu=1.0, sigma=s)
    pm.Kumaraswamy("kumaraswamy", 2.0, 1.0 + s)
    pm.LogitNormal("logitnormal", 0.0, s)
    pm.InverseGamma("inverse", mu=3.0, sigma=1.0)
    pm.Interpolated("interpolated", np.linspace(0, 1, 6), np.array([0.0, 1.0, 3.0, 2.0, 1.0, 0.0]))


@gallery
def heavy_tailed_vectors(pm: Any) -> None:
    nu = pm.Gamma("nu", 2.0, 0.1)
    pm.MvStudentT("y", nu=nu, mu=pm.Normal("mu", shape=2), scale=np.array([[1.0, 0.2], [0.2, 2.0]]), observed=PAIRS)


@gallery
def random_walk_of_vectors(pm: Any) -> None:
    covariance = np.array([[1.0, 0.2], [0.2, 2.0]])
    start = pm.MvNormal.dist(np.zeros(2), cov=covariance)
    walk = pm.MvGaussianRandomWalk("walk", mu=np.zeros(2), cov=covariance, init_dist=start, steps=11)
    pm.Normal("y", walk, 1.0, observed=PAIRS)


@gallery
def hurdle_counts(pm: Any) -> None:
    psi = pm.Beta("psi", 2.0, 2.0)
    mu = pm.Gamma("mu", 2.0, 1.0)
    pm.HurdlePoisson("y", psi=psi, mu=mu, observed=np.where(COUNTS > 2, COUNTS, 0))


@gallery
def density_of_the_users_own(pm: Any) -> None:
    mu = pm.Normal("mu")
    scale = pm.HalfNormal("scale", 1.0)
    pm.CustomDist("y", mu, scale, logp=lambda value, m, s: -abs(value - m) / s - pm.math.log(2 * s), observed=Y)


@gallery
def generated_by_a_function(pm: Any) -> None:
    mu = pm.Normal("mu")
    pm.CustomDist("y", mu, dist=lambda m, size: pm.math.exp(pm.Normal.dist(m, 1.0, size=size)), observed=TIME)


@gallery
def intrinsic_autoregression_of_unknown_scale(pm: Any) -> None:
    neighbours = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    sigma = pm.HalfNormal("sigma", 1.0)
    phi = pm.ICAR("phi", W=neighbours, sigma=sigma, dims="group")
    pm.Poisson("y", pm.math.exp(phi[GROUP]), observed=COUNTS)


@gallery
def part_of_larger_data(pm: Any) -> None:
    mu = pm.Normal("mu")
    pm.Normal("y", mu, 1.0, observed=Y, total_size=120)


@gallery
def volatility_of_returns(pm: Any) -> None:
    omega = pm.Uniform("omega", 0.1, 1.0)
    pm.GARCH11("y", omega=omega, alpha_1=0.2, beta_1=0.3, initial_vol=1.0, observed=Y)


@gallery
def branches_and_parts(pm: Any) -> None:
    from pytensor.ifelse import ifelse

    mu = pm.Normal("mu", shape=(2, 3))
    largest = mu.max(axis=1) - mu.argmax(axis=0).sum() + mu.cumsum(axis=1)[:, -1] + pm.math.logsumexp(mu, axis=1)[0]
    pm.Potential("p", ifelse(mu[0, 0] > 0, largest.sum(), -largest.prod()))
    pm.Potential("q", pm.math.clip(mu, -0.5, 0.5).std() + mu[::-1, [2, 0]].T.flatten()[1] + abs(mu).mean(axis=0)[1])
    pm.Potential("r", pm.math.log1pexp(pm.math.stack([mu[0], mu[1] ** 3]).swapaxes(0, 1)) / 3)


@gallery
def kronecker_covariance(pm: Any) -> None:
    scale = pm.HalfNormal("scale", 1.0)
    first, second = np.array([[2.0, 0.3], [0.3, 1.0]]), np.eye(3) + 0.2
    pm.KroneckerNormal("y", mu=np.zeros(6), covs=[scale * first, second], sigma=0.5, observed=Y[:6])
    pm.MatrixNormal("m", mu=np.zeros((2, 3)), rowcov=first, colcov=second)


@gallery
def wishart_and_weights(pm: Any) -> None:
    alpha = pm.Gamma("alpha", 2.0, 2.0)
    w = pm.StickBreakingWeights("w", alpha, K=3)
    pm.Categorical("y", p=w, observed=GROUP)
    pm.DiscreteWeibull("d", q=0.6, beta=alpha, observed=COUNTS)
    pm.HyperGeometric("h", N=20, k=8, n=6, observed=np.array([1, 2, 3]))
    pm.SkewStudentT("s", a=2.0, b=3.0, mu=0.0, sigma=alpha)


@gallery
def transforms_in_a_row(pm: Any) -> None:
    tr = pm.distributions.transforms
    pm.HalfNormal(
        "x", 2.0, shape=3, initval=np.array([0.5, 1.0, 2.0]), default_transform=None,
        transform=tr.Chain([tr.log, tr.ordered]),
    )  # fmt: skip
    pm.Normal("interval", 0.0, 1.0, transform=tr.Interval(lower=-2.0, upper=3.0))
    pm.TruncatedNormal("below", 0.0, 1.0, upper=1.5)
    pm.VonMises("angle", 0.2, 2.0)
