"""A hundred thousand draws of vectors, matrices, series and compositions, by a number whose distribution is known.

Together with the table of `test_draws` these are all distributions that can be drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats as st

import consilience.distributions as pd
from tests.distributions.cases import CASES, value_of
from tests.distributions.goodness import LEAST, distance

COUNT = 100_000
Array = npt.NDArray[Any]
# What is made of one draw, or of all along the first axis, and the distribution function of it.
Row = tuple[Callable[[], Any], Callable[[Array], Array], Callable[[Array], Array]]

MU = np.array([1.0, -2.0, 0.5])
V = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.7]])
A = np.array([0.7, -1.2, 0.4])
ROOT = np.sqrt(A @ V @ A)
W = np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]])
CHAIN = np.array([[0.9, 0.1], [0.35, 0.65]])
T = np.array([[0.5, 0.2, 0.0], [-0.1, 0.3, 0.4], [0.0, 0.2, -0.6]])
LAPLACIAN = np.diag(W.sum(1)) - W
B = np.array([0.5, 1.0, -0.7, 0.2])
P = np.array([0.1, 0.25, 0.4, 0.25])
CUTS = np.array([-1.0, 0.3, 1.5])


def normal(mean: float, variance: float) -> Callable[[Array], Array]:
    return st.norm(mean, np.sqrt(variance)).cdf


def along(direction: Array) -> Callable[[Array], Array]:
    return lambda draws: draws @ direction


def same(draws: Array) -> Array:
    return draws


def steps(distribution: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The distribution function of categories with cumulative probabilities at the cut points."""
    total = np.append(distribution(CUTS), 1.0)
    return lambda k: total[k.astype(int)]


def last_of_ar() -> tuple[float, float]:
    """Mean and variance of the eighth value of the AR series below, by its response to what enters."""
    response = np.eye(8)
    for t in range(2, 8):
        response[t] += 0.5 * response[t - 1] - 0.3 * response[t - 2]
    mean = response[-1] @ np.array([1.0, 1.0, *[0.2] * 6])
    return mean, response[-1] ** 2 @ np.array([4.0, 4.0, *[0.49] * 6])


def own(rv: Any) -> Callable[[Array], Array]:
    return lambda x: np.exp(value_of(pd.logcdf(rv, x)))


ROWS: dict[str, Row] = {
    "AR": (
        lambda: pd.AR.dist([0.2, 0.5, -0.3], 0.7, init_dist=pd.Normal.dist(1.0, 2.0), constant=True, steps=6),
        lambda x: x[:, -1],
        normal(*last_of_ar()),
    ),
    "CAR": (
        lambda: pd.CAR.dist(B, W, 0.6, 2.0),
        along(B),
        normal(B @ B, B @ np.linalg.inv(2.0 * (np.diag(W.sum(1)) - 0.6 * W)) @ B),
    ),
    "Categorical": (lambda: pd.Categorical.dist(P), same, lambda k: P.cumsum()[k.astype(int)]),
    "Censored": (
        lambda: pd.Censored.dist(pd.Normal.dist(0.5, 2.0), -1.0, 2.0),
        same,
        lambda x: np.where(x >= 2.0, 1.0, st.norm.cdf(x, 0.5, 2.0)),
    ),
    "DiracDelta": (lambda: pd.DiracDelta.dist(3), same, lambda x: (x >= 3) * 1.0),
    "Dirichlet": (
        lambda: pd.Dirichlet.dist([0.4, 2.0, 1.1]),
        lambda x: x[:, 0] + x[:, 2],
        st.beta(1.5, 2.0).cdf,
    ),
    "DirichletMultinomial": (
        lambda: pd.DirichletMultinomial.dist(20, [0.4, 2.0, 1.1]),
        lambda x: x[:, 0] + x[:, 2],
        st.betabinom(20, 1.5, 2.0).cdf,
    ),
    "EulerMaruyama": (
        # x_3 = 0.9^3 x_0 and three steps of deviation 0.5 sqrt(0.1), whose weights are 1, 0.9 and 0.81.
        lambda: pd.EulerMaruyama.dist(0.1, lambda x, a: (-a * x, 0.5), [1.0], pd.Normal.dist(1.0, 2.0), steps=3),
        lambda x: x[:, -1],
        normal(0.729, 0.729**2 * 4.0 + 0.025 * (1.0 + 0.81 + 0.6561)),
    ),
    "GARCH11": (
        lambda: pd.GARCH11.dist(0.2, 0.3, 0.4, 1.4, steps=2),
        lambda x: x[:, 2] / np.sqrt(0.2 + 0.3 * x[:, 1] ** 2 + 0.4 * (0.2 + 0.3 * x[:, 0] ** 2 + 0.4 * 1.4**2)),
        st.norm.cdf,
    ),
    "GaussianRandomWalk": (
        lambda: pd.GaussianRandomWalk.dist(0.3, 0.8, init_dist=pd.Normal.dist(1.0, 2.0), steps=5),
        lambda x: x[:, -1],
        normal(2.5, 4.0 + 5 * 0.64),
    ),
    "HiddenMarkov": (
        # The third state has the probabilities (0.3, 0.7) P P.
        lambda: pd.HiddenMarkov.dist([0.3, 0.7], CHAIN, pd.Normal.dist([0.0, 3.0], [1.0, 0.5]), steps=2),
        lambda x: x[:, -1],
        lambda x: np.stack([st.norm.cdf(x), st.norm.cdf(x, 3.0, 0.5)], -1) @ ([0.3, 0.7] @ CHAIN @ CHAIN),
    ),
    "HurdleGamma": (
        lambda: pd.HurdleGamma.dist(0.7, 2.0, 3.0),
        same,
        lambda x: 0.3 + 0.7 * st.gamma.cdf(x, 2.0, scale=1 / 3),
    ),
    "HurdleLogNormal": (
        lambda: pd.HurdleLogNormal.dist(0.7, 0.5, 0.4),
        same,
        lambda x: 0.3 + 0.7 * st.lognorm.cdf(x, 0.4, scale=np.exp(0.5)),
    ),
    "ICAR": (
        lambda: pd.ICAR.dist(W, 1.5, zero_sum_stdev=0.3),
        along(B),
        normal(0.0, 1.5**2 * B @ np.linalg.pinv(LAPLACIAN) @ B + (0.3 * B.sum()) ** 2),
    ),
    "Interpolated": (
        lambda: pd.Interpolated.dist([0.0, 1.0, 3.0], [0.0, 2.0, 0.0]),
        same,
        st.triang(1 / 3, 0.0, 3.0).cdf,
    ),
    "InverseWishart": (
        lambda: pd.InverseWishart.dist(5.0, V),
        lambda x: np.linalg.inv(x) @ A @ A / (A @ np.linalg.inv(V) @ A),
        st.chi2(5.0).cdf,
    ),
    "KroneckerNormal": (
        lambda: pd.KroneckerNormal.dist(np.arange(6.0), covs=[V, V[:2, :2]], sigma=0.4),
        along(np.kron(A, [1.0, -0.5])),
        normal(
            np.kron(A, [1.0, -0.5]) @ np.arange(6.0),
            (A @ V @ A) * (np.array([1.0, -0.5]) @ V[:2, :2] @ [1.0, -0.5]) + 0.16 * (A @ A) * 1.25,
        ),
    ),
    "LinearGaussianStateSpace": (
        lambda: pd.LinearGaussianStateSpace.dist(MU, V, T, A[None], [[0.5]], np.eye(3), steps=1),
        lambda x: x[:, -1, 0],
        normal(A @ T @ MU, A @ (T @ V @ T.T + np.eye(3)) @ A + 0.5),
    ),
    "LKJCholeskyCov": (
        lambda: pd.LKJCholeskyCov.dist(eta=2.0, n=3, sd_dist=pd.HalfNormal.dist(1.5, size=3), compute_corr=False),
        # The correlation of the first and the last variable.
        lambda x: 0.5 + 0.5 * x[:, 3] / np.linalg.norm(x[:, 3:], axis=1),
        st.beta(2.5, 2.5).cdf,
    ),
    "LKJCorr": (
        lambda: pd.LKJCorr.dist(n=4, eta=1.5),
        lambda x: 0.5 + 0.5 * (x[:, 3] * x[:, 1]).sum(-1),
        st.beta(2.5, 2.5).cdf,
    ),
    "MatrixNormal": (
        lambda: pd.MatrixNormal.dist(np.zeros((3, 4)), rowcov=V, colcov=np.diag(P)),
        lambda x: A @ x @ B,
        normal(0.0, (A @ V @ A) * (B @ np.diag(P) @ B)),
    ),
    "Mixture": (
        lambda: pd.Mixture.dist([0.3, 0.7], [pd.Normal.dist(-1.0, 0.5), pd.StudentT.dist(3.0, 2.0, 1.0)]),
        same,
        lambda x: 0.3 * st.norm.cdf(x, -1.0, 0.5) + 0.7 * st.t.cdf(x, 3.0, 2.0, 1.0),
    ),
    "Multinomial": (lambda: pd.Multinomial.dist(30, P), lambda x: x[:, 1] + x[:, 3], st.binom(30, 0.5).cdf),
    "MvGaussianRandomWalk": (
        lambda: pd.MvGaussianRandomWalk.dist(MU, cov=V, init_dist=pd.MvNormal.dist(MU, np.eye(3)), steps=4),
        lambda x: x[:, -1] @ A,
        normal(5 * MU @ A, A @ A + 4 * ROOT**2),
    ),
    "MvLogNormal": (lambda: pd.MvLogNormal.dist(MU, V), lambda x: np.log(x) @ A, normal(MU @ A, ROOT**2)),
    "MvNormal": (lambda: pd.MvNormal.dist(MU, V), along(A), normal(MU @ A, ROOT**2)),
    "MvStudentT": (lambda: pd.MvStudentT.dist(4.0, MU, scale=V), along(A), st.t(4.0, MU @ A, ROOT).cdf),
    "MvStudentTRandomWalk": (
        lambda: pd.MvStudentTRandomWalk.dist(
            nu=4.0, mu=MU, scale=V, init_dist=pd.MvNormal.dist(MU, np.eye(3)), steps=2
        ),
        lambda x: (x[:, 2] - x[:, 1]) @ A,
        st.t(4.0, MU @ A, ROOT).cdf,
    ),
    "NormalMixture": (
        lambda: pd.NormalMixture.dist([0.3, 0.7], [-1.0, 2.0], [0.5, 1.5]),
        same,
        lambda x: 0.3 * st.norm.cdf(x, -1.0, 0.5) + 0.7 * st.norm.cdf(x, 2.0, 1.5),
    ),
    "OrderedLogistic": (lambda: pd.OrderedLogistic.dist(0.4, CUTS), same, steps(st.logistic(0.4).cdf)),
    "OrderedMultinomial": (
        lambda: pd.OrderedMultinomial.dist(0.4, CUTS, 25),
        lambda x: x[:, 0] + x[:, 1],
        st.binom(25, st.logistic.cdf(0.3 - 0.4)).cdf,
    ),
    "OrderedProbit": (lambda: pd.OrderedProbit.dist(0.4, CUTS, 1.5), same, steps(st.norm(0.4, 1.5).cdf)),
    "PolyaGamma": (lambda: pd.PolyaGamma.dist(1.3, 0.8), same, own(pd.PolyaGamma.dist(1.3, 0.8))),
    "RandomWalk": (
        lambda: pd.RandomWalk.dist(pd.Normal.dist(0.0, 1.0), pd.Laplace.dist(0.2, 0.5), steps=3),
        lambda x: x[:, 2] - x[:, 1],
        st.laplace(0.2, 0.5).cdf,
    ),
    "Skellam": (lambda: pd.Skellam.dist(3.0, 5.5), same, st.skellam(3.0, 5.5).cdf),
    "StickBreakingWeights": (
        lambda: pd.StickBreakingWeights.dist(2.5, 4),
        lambda x: x[:, 1] / (1.0 - x[:, 0]),
        st.beta(1.0, 2.5).cdf,
    ),
    "Truncated": (
        lambda: pd.Truncated.dist(pd.Gumbel.dist(0.0, 1.0), -0.5, 3.0),
        same,
        lambda x: (st.gumbel_r.cdf(x) - st.gumbel_r.cdf(-0.5)) / (st.gumbel_r.cdf(3.0) - st.gumbel_r.cdf(-0.5)),
    ),
    "UniformDirection": (lambda: pd.UniformDirection.dist(5), lambda x: 0.5 + 0.5 * x[:, 2], st.beta(2.0, 2.0).cdf),
    "VonMisesFisher": (
        lambda: pd.VonMisesFisher.dist([0.6, 0.0, 0.8], 3.0),
        along(np.array([0.6, 0.0, 0.8])),
        lambda c: (np.exp(3.0 * c) - np.exp(-3.0)) / (np.exp(3.0) - np.exp(-3.0)),
    ),
    "Wishart": (lambda: pd.Wishart.dist(5.0, V), lambda x: x @ A @ A / ROOT**2, st.chi2(5.0).cdf),
    "ZeroSumNormal": (
        lambda: pd.ZeroSumNormal.dist(1.5, shape=(4,)),
        along(B),
        normal(0.0, 1.5**2 * ((B - B.mean()) ** 2).sum()),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_draws_follow_the_known_distribution_of_one_number(name: str) -> None:
    """Kolmogorov and Smirnov's test, which for steps is conservative."""
    make, number, cdf = ROWS[name]
    assert distance(number(pd.draw(make(), COUNT, random_seed=31)), cdf) > LEAST


def test_a_small_mistake_would_be_seen() -> None:
    """A location 0.03 deviations off, a scale 5 % too wide, or weights of a mixture off by 0.02."""
    make, _, cdf = ROWS["NormalMixture"]
    draws = pd.draw(make(), COUNT, random_seed=31)
    wrong = pd.draw(pd.NormalMixture.dist([0.32, 0.68], [-1.0, 2.0], [0.5, 1.5]), COUNT, random_seed=31)
    for changed in (draws + 0.06, 2.0 + 1.05 * (draws - 2.0), wrong):
        assert distance(changed, cdf) < LEAST


def test_every_distribution_that_can_be_drawn_is_tested() -> None:
    """Here, or in the table with the distribution functions of SciPy."""
    public = [getattr(pd, name) for names in pd.PUBLIC.values() for name in names.split()]
    kinds = [t for t in public if isinstance(t, type) and issubclass(t, pd.Distribution)]
    drawable = {kind.__name__ for kind in kinds if kind.declares("draw")}
    assert drawable == ROWS.keys() | {case.distribution.__name__ for case in CASES}
    assert not ROWS.keys() & {case.distribution.__name__ for case in CASES}
