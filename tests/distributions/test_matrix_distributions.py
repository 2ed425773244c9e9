"""Distributions of matrices, of zero sums, of neighbours and of broken sticks, against second formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose

import consilience as pm
import consilience.distributions as pd
from consilience.backends.function import function
from consilience.errors import MissingRuleError, ParameterError, ShapeError, SupportError
from consilience.ir import Node, constant, tensor_input
from consilience.ops.parameter_check import released
from consilience.ops.reduce import reduce
from consilience.transforms.gradient import gradient
from tests.distributions.cases import Array, value_of

RNG = np.random.default_rng(1313)


def covariance(n: int) -> Array:
    root = RNG.normal(size=(n, n))
    result: Array = root @ root.T / n + 0.3 * np.eye(n)
    return (result + result.T) / 2


def mvt(nu: float, mu: Array, scale: Array) -> Callable[[Array], Array]:
    return lambda x: scipy.stats.multivariate_t(mu, scale, nu).logpdf(x)


def zero_sums(sigma: float, shape: tuple[int, ...]) -> Callable[[Array], Array]:
    """By the independent normal coordinates of a basis of the arrays that sum to zero."""
    bases = [np.linalg.svd(np.eye(n) - 1 / n)[0][:, : n - 1] for n in shape]

    def logpdf(x: Array) -> Array:
        for basis in bases:
            x = np.moveaxis(np.tensordot(x, basis, ((1,), (0,))), -1, -1)
        return scipy.stats.norm(0, sigma).logpdf(x).reshape(len(x), -1).sum(-1)

    return logpdf


def sticks(alpha: float, x: Array) -> Array:
    """By the shares of what is left."""
    left = 1 - np.concatenate([np.zeros((len(x), 1)), np.cumsum(x, -1)[:, :-2]], -1)
    shares = x[:, :-1] / left
    return (scipy.stats.beta(1, alpha).logpdf(shares) - np.log(left)).sum(-1)


V3, U2, MU3 = covariance(3), covariance(2), RNG.normal(size=3)
MU23 = RNG.normal(size=(2, 3))
RING = np.array([[0, 1, 0, 1, 0], [1, 0, 1, 0, 0], [0, 1, 0, 1, 1], [1, 0, 1, 0, 0], [0, 0, 1, 0, 0]])
NEIGHBOURS = RING.sum(0)
Q = 1.7 * (np.diag(NEIGHBOURS) - 0.6 * RING)
INTRINSIC = (np.diag(NEIGHBOURS) - RING) / 0.8**2 + np.ones((5, 5)) / (0.3 * 5) ** 2


class Row(NamedTuple):
    """A variable, its log density by a second formula for a batch of values, and its mean and variance where known."""

    rv: Node
    logpdf: Callable[[Array], Any]
    mean: Any
    variance: Any


def normal(mu: Any, cov: Array) -> Any:
    return scipy.stats.multivariate_normal(np.broadcast_to(mu, len(cov)), cov)


def wishart_logpdf(frozen: Any) -> Callable[[Array], Array]:
    return lambda x: np.atleast_1d(frozen.logpdf(np.moveaxis(x, 0, -1)))


log_normal_variance = np.expm1(np.diag(V3)) * np.exp(2 * MU3 + np.diag(V3))
inverse_variance = scipy.stats.invwishart(9.5, V3).var()
breaks = np.arange(4)
FIRST = np.append((1 / 3.5) * (2.5 / 3.5) ** breaks[:3], (2.5 / 3.5) ** 3)
SECOND = np.append(2 / (3.5 * 4.5) * (2.5 / 4.5) ** breaks[:3], (2.5 / 4.5) ** 3)
KRON, MU6 = np.kron(U2, V3), RNG.normal(size=6)
DIRECTION = MU3 / np.sqrt((MU3**2).sum())
COSINE = 1 / np.tanh(2.5) - 1 / 2.5  # of the angle to the direction, in three dimensions
FISHER = COSINE * DIRECTION
FISHER_VARIANCE = DIRECTION**2 * (1 - 2 * COSINE / 2.5 - COSINE**2) + (1 - DIRECTION**2) * COSINE / 2.5
ROWS = {
    "MvStudentT scale": Row(pd.MvStudentT.dist(5.5, mu=MU3, scale=V3), mvt(5.5, MU3, V3), MU3, np.diag(V3) * 5.5 / 3.5),
    "MvStudentT Sigma": Row(pd.MvStudentT.dist(5.5, Sigma=V3), mvt(5.5, np.zeros(3), V3), 0.0, np.diag(V3) * 5.5 / 3.5),
    "MvStudentT chol": Row(
        pd.MvStudentT.dist(5.5, mu=1.0, chol=np.linalg.cholesky(V3)),
        mvt(5.5, np.ones(3), V3),
        1.0,
        np.diag(V3) * 5.5 / 3.5,
    ),
    "MvStudentT tau": Row(
        pd.MvStudentT.dist(5.5, mu=MU3, tau=np.linalg.inv(V3)), mvt(5.5, MU3, V3), MU3, np.diag(V3) * 5.5 / 3.5
    ),
    "MvLogNormal": Row(
        pd.MvLogNormal.dist(MU3, V3),
        lambda x: normal(MU3, V3).logpdf(np.log(x)) - np.log(x).sum(-1),
        np.exp(MU3 + np.diag(V3) / 2),
        log_normal_variance,
    ),
    "MvLogNormal upper chol": Row(
        pd.MvLogNormal.dist(MU3, chol=np.linalg.cholesky(V3).T, lower=False),
        lambda x: normal(MU3, V3).logpdf(np.log(x)) - np.log(x).sum(-1),
        np.exp(MU3 + np.diag(V3) / 2),
        log_normal_variance,
    ),
    "Wishart": Row(
        pd.Wishart.dist(4.5, V3),
        wishart_logpdf(scipy.stats.wishart(4.5, V3)),
        4.5 * V3,
        scipy.stats.wishart(4.5, V3).var(),
    ),
    "InverseWishart": Row(
        pd.InverseWishart.dist(9.5, V3),
        wishart_logpdf(scipy.stats.invwishart(9.5, V3)),
        scipy.stats.invwishart(9.5, V3).mean(),
        inverse_variance,
    ),
    "MatrixNormal covariances": Row(
        pd.MatrixNormal.dist(MU23, U2, colcov=V3),
        scipy.stats.matrix_normal(MU23, U2, V3).logpdf,
        MU23,
        np.outer(np.diag(U2), np.diag(V3)),
    ),
    "MatrixNormal factors": Row(
        pd.MatrixNormal.dist(MU23, rowchol=np.linalg.cholesky(U2), colchol=np.linalg.cholesky(V3)),
        scipy.stats.matrix_normal(MU23, U2, V3).logpdf,
        MU23,
        np.outer(np.diag(U2), np.diag(V3)),
    ),
    "MatrixNormal both": Row(
        pd.MatrixNormal.dist(0.5, rowchol=np.linalg.cholesky(U2), colcov=V3),
        scipy.stats.matrix_normal(np.full((2, 3), 0.5), U2, V3).logpdf,
        0.5,
        np.outer(np.diag(U2), np.diag(V3)),
    ),
    "CAR": Row(
        pd.CAR.dist(0.3, RING, 0.6, 1.7),
        normal(0.3, np.linalg.inv(Q)).logpdf,
        0.3,
        np.diag(np.linalg.inv(Q)),
    ),
    "ICAR": Row(
        pd.ICAR.dist(RING, 0.8, 0.3),
        normal(0.0, np.linalg.inv(INTRINSIC)).logpdf,
        0.0,
        np.diag(np.linalg.inv(INTRINSIC)),
    ),
    "KroneckerNormal": Row(pd.KroneckerNormal.dist(0.4, [U2, V3]), normal(0.4, KRON).logpdf, 0.4, np.diag(KRON)),
    "KroneckerNormal with noise": Row(
        pd.KroneckerNormal.dist(MU6, chols=[np.linalg.cholesky(U2), np.linalg.cholesky(V3)], sigma=0.9),
        normal(MU6, KRON + 0.81 * np.eye(6)).logpdf,
        MU6,
        np.diag(KRON) + 0.81,
    ),
    "UniformDirection": Row(pd.UniformDirection.dist(3), lambda x: np.full(len(x), -np.log(4 * np.pi)), 0.0, 1 / 3),
    "VonMisesFisher": Row(
        pd.VonMisesFisher.dist(DIRECTION, 2.5),
        scipy.stats.vonmises_fisher(DIRECTION, 2.5).logpdf,
        FISHER,
        FISHER_VARIANCE,
    ),
    "ZeroSumNormal": Row(pd.ZeroSumNormal.dist(1.3, shape=4), zero_sums(1.3, (4,)), 0.0, 1.3**2 * 3 / 4),
    "ZeroSumNormal of two axes": Row(
        pd.ZeroSumNormal.dist(0.7, n_zerosum_axes=2, shape=(4, 3)), zero_sums(0.7, (4, 3)), 0.0, 0.49 * 3 / 4 * 2 / 3
    ),
    "StickBreakingWeights": Row(
        pd.StickBreakingWeights.dist(2.5, 3), lambda x: sticks(2.5, x), FIRST, SECOND - FIRST**2
    ),
}
over_rows = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
COUNT = 20_000


@over_rows
def test_density_is_that_of_a_second_formula(row) -> None:
    """At draws, for batches; machine code and reference."""
    values = pd.draw(row.rv, 7, random_seed=5)
    expected = row.logpdf(values)
    x = tensor_input("float64", values.shape, "x")
    node = released([pd.logp(row.rv, x)])[0]
    assert_allclose(function([x], node)(values), expected, rtol=1e-9, atol=1e-9)
    assert_allclose(value_of(node, {x: values}), expected, rtol=1e-9, atol=1e-9)
    single = value_of(pd.logp(row.rv, values[0]))
    assert single.shape == ()
    assert_allclose(single, expected[0], rtol=1e-9, atol=1e-9)


@over_rows
def test_moments_are_known_and_those_of_draws(row) -> None:
    """Declared against known; means of draws within five standard errors, variances within a tenth."""
    mean, variance = value_of(pd.mean(row.rv)), value_of(pd.variance(row.rv))
    assert mean.shape == variance.shape == row.rv.static_shape
    assert_allclose(mean, np.broadcast_to(row.mean, mean.shape), rtol=1e-9, atol=1e-12)
    assert_allclose(variance, np.broadcast_to(row.variance, mean.shape), rtol=1e-9)
    draws = pd.draw(row.rv, COUNT, random_seed=6)
    assert (np.abs(draws.mean(0) - mean) < 5 * np.sqrt(variance / COUNT) + 1e-12).all()
    if "LogNormal" not in row.rv.op.distribution.title:  # its fourth moments are far too large
        assert_allclose(draws.var(0), variance, rtol=0.2)


@over_rows
def test_draws_and_the_support_point_lie_in_the_support(row) -> None:
    """The density is finite there."""
    draws = pd.draw(row.rv, 200, random_seed=7)
    assert not value_of(pd.support_violation(row.rv, draws)).any()
    point = value_of(pd.support_point(row.rv))
    assert point.shape == row.rv.static_shape
    assert np.isfinite(value_of(pd.logp(row.rv, point)))


@over_rows
def test_model_density_and_gradient_on_the_unconstrained_side(row) -> None:
    """With the Jacobian, finite, the gradient by differences; what goes through the transform is in the support."""
    transform = pd.default_transform(row.rv)
    shape = row.rv.static_shape if transform is None else transform.unconstrained_shape(row.rv.static_shape)
    y = tensor_input("float64", shape, "y")
    value = y if transform is None else transform.backward(y)
    total = released([pd.density(row.rv, value)])[0]
    if transform is not None:
        jacobian = transform.log_jacobian_determinant(y)
        total = total + (reduce("sum", jacobian) if jacobian.ndim else jacobian)
    compiled = function([y], [total, *gradient(total, [y])])
    point = RNG.normal(size=shape) * 0.5
    density, slopes = compiled(point)
    assert np.isfinite(density)
    flat = point.ravel()
    for place in range(flat.size):
        step = (1e-6 * np.eye(flat.size)[place]).reshape(shape)
        difference = (compiled(point + step)[0] - compiled(point - step)[0]) / 2e-6
        assert_allclose(slopes.ravel()[place], difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [2, 3, 4, 40])
@pytest.mark.parametrize("kappa", [0.0, 1e-3, 0.7, 30.0, 1e6])
def test_spherical_densities_have_bessel_functions_as_their_integral(n, kappa) -> None:
    """Against the exponentially scaled Bessel function; draws are as close to the direction as the density says."""
    mu = np.eye(n)[-1]
    rv = pd.VonMisesFisher.dist(mu, kappa)
    order = n / 2 - 1
    area = np.log(2.0) + n / 2 * np.log(np.pi) - scipy.special.gammaln(n / 2)
    bessel = (
        np.log(kappa) * order - n / 2 * np.log(2 * np.pi) - np.log(scipy.special.ive(order, kappa)) if kappa else -area
    )
    assert_allclose(value_of(pd.logp(rv, mu)), bessel, rtol=1e-11, atol=1e-11)
    cosines = pd.draw(rv, 5000, random_seed=2)[:, -1]
    mean, variance = value_of(pd.mean(rv))[-1], value_of(pd.variance(rv))[-1]
    assert abs(cosines.mean() - mean) < 5 * np.sqrt(variance / 5000)
    assert_allclose(cosines.var(), variance, rtol=0.2)


def test_kronecker_forms_agree_with_the_whole_covariance() -> None:
    """Covariances, factors and eigenvalues, with noise and without, and matrices that are not known; three factors."""
    three = [U2, V3, covariance(2)]
    whole = np.kron(np.kron(three[0], three[1]), three[2])
    x = RNG.normal(size=(4, 12))
    K = tensor_input("float64", (3, 3), "K")
    spectra = [np.linalg.eigh(m) for m in three]
    for sigma in (0.0, 0.6):
        expected = scipy.stats.multivariate_normal(np.zeros(12), whole + sigma**2 * np.eye(12)).logpdf(x)
        forms: list[dict[str, Any]] = [
            {"covs": three},
            {"chols": [np.linalg.cholesky(m) for m in three]},
            {"evds": spectra},
            {"covs": [U2, K, three[2]]},
        ]
        for form in forms:
            node = released([pd.logp(pd.KroneckerNormal.dist(0.0, sigma=sigma, **form), x)])[0]
            assert_allclose(value_of(node, {K: V3}), expected, rtol=1e-9)
    with pytest.raises(TypeError, match="KroneckerNormal needs one of covs, chols and evds, got covs and chols"):
        pd.KroneckerNormal.dist(0.0, covs=three, chols=three)
    with pytest.raises(ShapeError, match="mu must have 2 x 3 = 6 elements, got 5"):
        pd.KroneckerNormal.dist(np.zeros(5), covs=[U2, V3])
    with pytest.raises(ParameterError, match=r"covs\[1\] must be symmetric and positive definite"):
        pd.KroneckerNormal.dist(0.0, covs=[U2, -V3])


def test_neighbours_may_be_known_at_run_time_only() -> None:
    """The density by one factor of the whole precision, with its gradient along alpha, is that by eigenvalues."""
    W, alpha = tensor_input("float64", (5, 5), "W"), tensor_input("float64", (), "alpha")
    x = RNG.normal(size=(3, 5))
    late, early = (released([pd.logp(pd.CAR.dist(0.3, weights, alpha, 1.7), x)])[0] for weights in (W, RING))
    assert_allclose(value_of(late, {W: RING, alpha: 0.6}), value_of(early, {alpha: 0.6}), rtol=1e-12)
    slopes = [gradient(reduce("sum", node), [alpha])[0] for node in (late, early)]
    assert_allclose(value_of(slopes[0], {W: RING, alpha: 0.6}), value_of(slopes[1], {alpha: 0.6}), rtol=1e-9)


def test_marginal_laws_of_draws() -> None:
    """Diagonals of Wishart matrices are chi-squared, those of inverses inverse gamma, elements Student t or normal."""
    wishart = pd.draw(ROWS["Wishart"].rv, COUNT, random_seed=8)[:, 1, 1] / V3[1, 1]
    inverse = pd.draw(ROWS["InverseWishart"].rv, COUNT, random_seed=8)[:, 1, 1]
    student = (pd.draw(ROWS["MvStudentT tau"].rv, COUNT, random_seed=8)[:, 2] - MU3[2]) / np.sqrt(V3[2, 2])
    matrix = pd.draw(ROWS["MatrixNormal factors"].rv, COUNT, random_seed=8)[:, 1, 2]
    share = pd.draw(ROWS["StickBreakingWeights"].rv, COUNT, random_seed=8)
    laws = [
        (wishart, scipy.stats.chi2(4.5)),
        (inverse, scipy.stats.invgamma((9.5 - 2) / 2, 0, V3[1, 1] / 2)),
        (student, scipy.stats.t(5.5)),
        (matrix, scipy.stats.norm(MU23[1, 2], np.sqrt(U2[1, 1] * V3[2, 2]))),
        (share[:, 2] / share[:, 2:].sum(-1), scipy.stats.beta(1, 2.5)),
    ]
    for draws, law in laws:
        assert scipy.stats.kstest(draws, law.cdf).pvalue > 1e-4


def test_batches_of_parameters() -> None:
    """Each event with its own parameters, against a loop."""
    scales = np.array([0.5, 2.0])
    matrices = scales[:, None, None] * V3
    made: list[tuple[Node, Callable[[int], Node]]] = [
        (pd.Wishart.dist([4.0, 6.0], V3), lambda i: pd.Wishart.dist([4.0, 6.0][i], V3)),
        (pd.Wishart.dist(5.0, matrices), lambda i: pd.Wishart.dist(5.0, matrices[i])),
        (pd.InverseWishart.dist([6.0, 5.0], matrices), lambda i: pd.InverseWishart.dist([6.0, 5.0][i], matrices[i])),
        (
            pd.MvStudentT.dist([3.0, 9.0], scale=matrices),
            lambda i: pd.MvStudentT.dist([3.0, 9.0][i], scale=matrices[i]),
        ),
        (pd.MvStudentT.dist([3.0, 9.0], scale=V3), lambda i: pd.MvStudentT.dist([3.0, 9.0][i], scale=V3)),
        (pd.MvLogNormal.dist(0.0, matrices), lambda i: pd.MvLogNormal.dist(0.0, matrices[i])),
        (
            pd.MatrixNormal.dist(0.0, rowcov=U2, colcov=matrices),
            lambda i: pd.MatrixNormal.dist(0.0, rowcov=U2, colcov=matrices[i]),
        ),
        (
            pd.CAR.dist(0.0, RING, [0.2, -0.5], [1.0, 3.0]),
            lambda i: pd.CAR.dist(0.0, RING, [0.2, -0.5][i], [1.0, 3.0][i]),
        ),
        (pd.ICAR.dist(RING, scales), lambda i: pd.ICAR.dist(RING, scales[i])),
        (
            pd.ZeroSumNormal.dist(scales[:, None], shape=(2, 4)),
            lambda i: pd.ZeroSumNormal.dist(scales[i], shape=4),
        ),
        (pd.StickBreakingWeights.dist(scales, 4), lambda i: pd.StickBreakingWeights.dist(scales[i], 4)),
    ]
    for batch, single in made:
        values = pd.draw(batch, random_seed=3)
        assert values.shape == batch.static_shape
        expected = [value_of(pd.logp(single(i), values[i])) for i in range(2)]
        assert_allclose(value_of(pd.logp(batch, values)), expected, rtol=1e-10, err_msg=repr(batch))
        for moment in (pd.mean, pd.variance, pd.support_point):
            result = value_of(moment(batch))
            assert_allclose(result, [value_of(moment(single(i))) for i in range(2)], rtol=1e-10)


def test_float32_parameters_make_a_float32_density() -> None:
    """The variable, its draws, density, mean and unconstrained image: no constant widens them."""
    single = np.float32
    V, W = V3.astype(single), RING.astype(single)
    made = [
        pd.LKJCorr.dist(3, single(1.5)),
        pd.LKJCholeskyCov.dist(single(1.5), 3, pd.HalfNormal.dist(single(1.0)), compute_corr=False),
        pd.Wishart.dist(single(5.0), V),
        pd.InverseWishart.dist(single(9.0), V),
        pd.MatrixNormal.dist(single(0.0), V, colcov=V),
        pd.MvStudentT.dist(single(5.0), scale=V),
        pd.MvLogNormal.dist(single(0.0), V),
        pd.ZeroSumNormal.dist(single(1.0), shape=3),
        pd.StickBreakingWeights.dist(single(1.0), 3),
        pd.CAR.dist(single(0.0), W, single(0.5), single(1.0)),
        pd.ICAR.dist(W, single(1.0), single(0.1)),
        pd.VonMisesFisher.dist(DIRECTION.astype(single), single(3.0)),
    ]
    for rv in made:
        value = pd.draw(rv, random_seed=1)
        transform = pd.default_transform(rv)
        nodes = [rv, constant(value), pd.logp(rv, value), pd.mean(rv), pd.support_point(rv)]
        if transform is not None:
            y = transform.forward(constant(value))
            nodes += [y, transform.backward(y), transform.log_jacobian_determinant(y)]
        assert {node.dtype for node in nodes} == {"float32"}, rv


def test_many_degrees_of_freedom_are_the_normal_law() -> None:
    """No digits are lost at 1e12 degrees of freedom."""
    x = RNG.normal(size=(4, 3))
    result = value_of(pd.logp(pd.MvStudentT.dist(1e14, mu=MU3, scale=V3), x))
    assert_allclose(result, normal(MU3, V3).logpdf(x), rtol=1e-11)


def test_moments_that_do_not_exist_are_nan_or_infinite() -> None:
    """Of few degrees of freedom."""
    assert np.isnan(value_of(pd.mean(pd.MvStudentT.dist(1.0, scale=V3)))).all()
    assert np.isinf(value_of(pd.variance(pd.MvStudentT.dist(1.5, scale=V3)))).all()
    assert np.isnan(value_of(pd.mean(pd.InverseWishart.dist(3.5, V3)))).all()
    assert np.isinf(value_of(pd.variance(pd.InverseWishart.dist(5.5, V3)))).all()


def test_zero_sums_sample_and_take_dims() -> None:
    """In a model with dims, the last ones sum to zero; the posterior variance is that of the prior on no data."""
    with pm.Model(coords={"group": range(3), "level": range(4)}) as model:
        sigma = pd.HalfNormal("sigma", 1.0, initval=1.0)
        pd.ZeroSumNormal("x", sigma, dims=("group", "level"))
        pd.ZeroSumNormal("both", 2.0, n_zerosum_axes=2, dims=("group", "level"))
    assert [v.static_shape for v in model.value_vars] == [(), (3, 3), (2, 3)]
    assert model["x"].static_shape == (3, 4)
    values = pm.draw(model["both"], random_seed=1)
    assert_allclose([np.abs(values.sum(0)).max(), np.abs(values.sum(1)).max()], 0.0, atol=1e-12)


def test_wrong_parameters_are_refused_with_a_reason() -> None:
    """Too few degrees of freedom, covariances of other sizes, neighbours that are none."""
    with pytest.raises(ParameterError, match=r"Wishart: nu must be > 2 for 3 x 3 matrices, got 1\.5"):
        pd.Wishart.dist(1.5, V3)
    with pytest.raises(ParameterError, match="V must be symmetric and positive definite"):
        pd.InverseWishart.dist(5.0, -V3)
    nu = tensor_input("float64", (), "nu")
    few = released([pd.logp(pd.Wishart.dist(nu, V3), V3)])[0]
    assert np.isnan(value_of(few, {nu: 1.5}))
    with pytest.raises(ShapeError, match="mu must be 2 x 3 as the covariances of rows and columns"):
        pd.MatrixNormal.dist(np.zeros((3, 2)), rowcov=U2, colcov=V3)
    with pytest.raises(TypeError, match="MatrixNormal accepts the parameters"):
        pd.MatrixNormal.dist(0.0, rowcov=U2)
    with pytest.raises(ParameterError, match="rowcov must be symmetric and positive definite"):
        pd.MatrixNormal.dist(0.0, rowcov=-U2, colcov=V3)
    for wrong in (np.triu(RING), RING + np.eye(5), RING * [[0], [1], [1], [1], [1]] * [0, 1, 1, 1, 1], -RING):
        with pytest.raises(ParameterError, match="W must be a symmetric matrix of weights >= 0, zero on the diagonal"):
            pd.CAR.dist(0.0, wrong, 0.5, 1.0)
    apart = np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]])
    assert np.isfinite(value_of(pd.logp(pd.ICAR.dist(apart), np.zeros(4))))
    with pytest.raises(MissingRuleError, match="the 4 elements fall into 2 groups without a connection"):
        pd.draw(pd.ICAR.dist(apart), random_seed=1)
    with pytest.raises(ParameterError, match="W must be one matrix, known when the variable is made"):
        pd.logp(pd.ICAR.dist(tensor_input("float64", (2, 2), "W")), constant(np.zeros(2)))
    with pytest.raises(ShapeError, match="must give the axis that sums to zero"):
        pd.ZeroSumNormal.dist(1.0)
    with pytest.raises(ShapeError, match="sigma must have length 1 along the axis that sums to zero"):
        pd.ZeroSumNormal.dist([1.0, 2.0], shape=2)
    with pm.Model(), pytest.raises(SupportError, match="must be numbers that sum to 0, got"):
        pd.ZeroSumNormal("x", 1.0, observed=[1.0, 2.0])
    with pytest.raises(ParameterError, match="K must be a whole number >= 1"):
        pd.StickBreakingWeights.dist(1.0, 0)
