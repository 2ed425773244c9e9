"""Distributions of vectors, and of categories."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

import consilience.distributions as pd
from consilience.backends.function import function
from consilience.distributions.densities import drawn
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Node, tensor_input, topological
from consilience.ops.linalg import InverseQuadratic, LogAbsDet
from consilience.ops.parameter_check import released
from consilience.ops.random import Key
from consilience.ops.reduce import reduce
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of

RNG = np.random.default_rng(31)
ROOT = RNG.normal(size=(4, 4))
COV = ROOT @ ROOT.T + np.eye(4)
MU = RNG.normal(size=4)
FORMS = {
    "cov": {"cov": COV},
    "tau": {"tau": np.linalg.inv((COV + COV.T) / 2)},
    "chol": {"chol": np.linalg.cholesky(COV)},
    "upper chol": {"chol": np.linalg.cholesky(COV).T, "lower": False},
}
FORMS["tau"]["tau"] = (FORMS["tau"]["tau"] + FORMS["tau"]["tau"].T) / 2
over_forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@over_forms
def test_normal_vectors_have_the_density_of_scipy(form) -> None:
    """Single vectors and batches of any rank."""
    rv = pd.MvNormal.dist(MU, **form)
    assert rv.static_shape == (4,)
    for shape in ((4,), (3, 4), (2, 3, 4), (1, 4)):
        values = RNG.normal(size=shape) * 3
        expected = scipy.stats.multivariate_normal(MU, COV).logpdf(values)
        result = value_of(pd.logp(rv, values))
        assert result.shape == shape[:-1]
        assert_allclose(result, np.reshape(expected, shape[:-1]), rtol=1e-10)


@over_forms
def test_normal_vectors_have_the_covariance_in_their_draws(form) -> None:
    """Means and covariances of 4000 draws within five standard errors."""
    draws = pd.draw(pd.MvNormal.dist(MU, **form), 4000, random_seed=1)
    assert draws.shape == (4000, 4)
    variances = np.diag(COV)
    assert (np.abs(draws.mean(0) - MU) < 5 * np.sqrt(variances / 4000)).all()
    error = np.sqrt((np.outer(variances, variances) + COV**2) / 4000)
    assert (np.abs(np.cov(draws.T) - COV) < 5 * error).all()
    distances = scipy.stats.multivariate_normal(np.zeros(4), COV)
    squares = -2 * (distances.logpdf(draws - MU) - distances.logpdf(np.zeros(4)))
    assert scipy.stats.kstest(squares, scipy.stats.chi2(4).cdf).pvalue > 1e-4


@over_forms
def test_batches_of_matrices(form) -> None:
    """Each vector with its own matrix, against a loop."""
    kind = next(iter(form))
    scales = np.array([0.5, 1.0, 2.0])[:, None, None]
    power = {"cov": 2, "tau": -2, "chol": 1}[kind]
    rv = pd.MvNormal.dist(MU, **{**form, kind: form[kind] * scales**power})
    assert rv.static_shape == (3, 4)
    values = RNG.normal(size=(5, 3, 4))
    result = value_of(pd.logp(rv, values))
    expected = np.stack(
        [scipy.stats.multivariate_normal(MU, COV * s**2).logpdf(values[:, i]) for i, s in enumerate(scales.ravel())],
        1,
    )
    assert_allclose(result, expected, rtol=1e-10)
    assert pd.draw(rv, 7, random_seed=2).shape == (7, 3, 4)


def test_mean_of_a_normal_vector_may_be_a_number_or_a_batch() -> None:
    """A number stands for equal means; a batch of means makes a batch of vectors."""
    flat = pd.MvNormal.dist(0, COV)
    assert flat.static_shape == (4,)
    batch = pd.MvNormal.dist(np.stack([MU, -MU]), COV)
    assert batch.static_shape == (2, 4)
    assert_allclose(
        value_of(pd.logp(batch, MU)),
        [scipy.stats.multivariate_normal(m, COV).logpdf(MU) for m in (MU, -MU)],
        rtol=1e-10,
    )
    assert value_of(pd.mean(flat)).shape == (4,)
    assert_allclose(value_of(pd.variance(batch))[1], np.diag(COV))
    for form in FORMS.values():
        assert_allclose(value_of(pd.variance(pd.MvNormal.dist(0, **form))), np.diag(COV), rtol=1e-9)


def test_density_by_covariance_is_one_quadratic_form_and_one_determinant() -> None:
    """Both of a positive definite matrix, so that they share one factor."""
    cov = tensor_input("float64", (4, 4), "cov")
    order = topological([pd.density(pd.MvNormal.dist(MU, cov), np.zeros(4))])
    readers = [n.op for n in order if cov in n.inputs]
    assert readers == [InverseQuadratic(), LogAbsDet("positive definite")]


@pytest.mark.parametrize("kind", ["cov", "tau", "chol"])
def test_gradients_of_normal_vectors(kind) -> None:
    """By finite differences over symmetric changes of the matrix, and compiled."""
    matrix = tensor_input("float64", (4, 4), kind)
    value = tensor_input("float64", (3, 4), "value")
    total = reduce("sum", pd.logp(pd.MvNormal.dist(MU, **{kind: matrix}), value))
    slopes = gradient(total, [matrix, value])
    point = {matrix: FORMS[kind][kind], value: RNG.normal(size=(3, 4))}
    compiled = function([matrix, value], [total, *slopes])(*point.values())
    assert_allclose(compiled[0], value_of(total, point), rtol=1e-10)
    h = 1e-5
    for i, j in ((0, 0), (2, 1), (3, 3)):
        step = np.zeros((4, 4))
        step[i, j] += h
        if kind != "chol":
            step[j, i] += h * (i != j)
        above, below = (value_of(total, point | {matrix: point[matrix] + s}) for s in (step, -step))
        for slope in (value_of(slopes[0], point), compiled[1]):
            assert_allclose((slope * step).sum(), (above - below) / 2, rtol=1e-5, atol=1e-10)
    assert_allclose(compiled[2], value_of(slopes[1], point), rtol=1e-9)


def test_matrices_that_are_no_covariance() -> None:
    """Each message says what is wrong."""
    for wrong, message in (
        (
            [[1.0, 2.0], [2.0, 1.0]],
            "cov must be symmetric and positive definite, but its least eigenvalue is -1",
        ),
        ([[1.0, 0.5], [0.0, 1.0]], "cov must be symmetric and positive definite, got"),
        ([1.0, 2.0], "cov must be a matrix or a batch of them, got rank 1"),
    ):
        with pytest.raises(ParameterError, match=message):
            pd.MvNormal.dist(0, wrong)
    with pytest.raises(ShapeError):
        pd.MvNormal.dist(0, np.ones((2, 3)))
    with pytest.raises(ParameterError, match="chol must be lower triangular with a positive diagonal"):
        pd.MvNormal.dist(0, chol=[[1.0, 0.0], [1.0, -1.0]])
    with pytest.raises(TypeError, match=r"accepts the parameters \(mu=0, cov\) or .*; got mu, cov, chol"):
        pd.MvNormal.dist(0, cov=np.eye(2), chol=np.eye(2))


def refused(density, inputs) -> None:
    """An error by itself; without its requirements, as in models, no finite number."""
    with pytest.raises(ParameterError, match="must be"):
        value_of(density, inputs)
    assert not np.isfinite(value_of(released([density])[0], inputs)).any()


def test_what_stands_above_the_diagonal_of_a_factor_is_not_read() -> None:
    """By density and draws alike, where it is known at run time only; constants are refused."""
    factor = np.linalg.cholesky(COV)
    marred = factor + np.triu(np.ones((4, 4)), 1)
    c = tensor_input("float64", (4, 4), "c")
    for graph in (
        pd.logp(pd.MvNormal.dist(MU, chol=c), np.zeros(4)),
        pd.variance(pd.MvNormal.dist(0, chol=c)),
        drawn(pd.MvNormal.dist(MU, chol=c), Node(Key(1))),
    ):
        assert_allclose(value_of(graph, {c: marred}), value_of(graph, {c: factor}), rtol=1e-12)


def test_wrong_symbolic_factors_have_no_finite_density() -> None:
    """A negative diagonal is an error, and gives NaN in models."""
    factor = tensor_input("float64", (2, 2), "factor")
    rv = pd.MvNormal.dist(0, chol=factor)
    for wrong in (-np.eye(2), np.diag([1.0, 0.0]), np.diag([1.0, np.nan])):
        refused(pd.logp(rv, np.ones(2)), {factor: wrong})


A = np.array([0.5, 2.0, 3.5])


def test_dirichlet_has_the_density_of_scipy() -> None:
    """For batches, at corners, and off the simplex."""
    values = RNG.dirichlet(A, size=(2, 5))
    expected = np.apply_along_axis(lambda x: scipy.stats.dirichlet(A).logpdf(x), -1, values)
    assert_allclose(value_of(pd.logp(pd.Dirichlet.dist(A), values)), expected, rtol=1e-10)
    corner = value_of(pd.logp(pd.Dirichlet.dist([1.0, 1.0]), [[0.0, 1.0], [1.0, 0.0], [0.5, 0.6], [-0.5, 1.5]]))
    assert_array_equal(corner, [0.0, 0.0, -np.inf, -np.inf])


def test_dirichlet_draws_have_its_moments() -> None:
    """And beta marginals."""
    rv = pd.Dirichlet.dist(np.stack([A, A[::-1]]))
    draws = pd.draw(rv, 4000, random_seed=3)
    assert draws.shape == (4000, 2, 3)
    assert_allclose(draws.sum(-1), 1.0, rtol=1e-12)
    mean, variance = value_of(pd.mean(rv)), value_of(pd.variance(rv))
    assert_allclose(mean[0], scipy.stats.dirichlet(A).mean())
    assert_allclose(variance[0], scipy.stats.dirichlet(A).var())
    assert (np.abs(draws.mean(0) - mean) < 5 * np.sqrt(variance / 4000)).all()
    for i in range(3):
        assert scipy.stats.kstest(draws[:, 0, i], scipy.stats.beta(A[i], A.sum() - A[i]).cdf).pvalue > 1e-4


def test_dirichlet_refuses_wrong_concentrations() -> None:
    """As constants with a message, as symbols with no finite density."""
    with pytest.raises(ParameterError, match=r"Dirichlet: a must be > 0, got \[ 1. -1.\]"):
        pd.Dirichlet.dist([1.0, -1.0])
    with pytest.raises(ParameterError, match="a must be a vector or a batch of them, got rank 0"):
        pd.Dirichlet.dist(1.0)
    with pytest.raises(ShapeError, match=r"must end with the shape of one event, \(3,\)"):
        pd.Dirichlet.dist(A, shape=(3, 2))
    a = tensor_input("float64", (2,), "a")
    for wrong in ([1.0, -1.5], [0.0, 1.0], [1.0, np.nan]):
        refused(pd.logp(pd.Dirichlet.dist(a), [0.4, 0.6]), {a: np.array(wrong)})


P = np.array([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("form", [{"p": P}, {"logit_p": np.log(P) + 3.0}], ids=["p", "logit_p"])
def test_categories(form) -> None:
    """Masses, sums, quantiles, moments, draws."""
    rv = pd.Categorical.dist(**form)
    assert_allclose(value_of(pd.logp(rv, [0, 1, 2, 3])), np.log(P), rtol=1e-12)
    assert_array_equal(value_of(pd.logp(rv, [-1, 4])), -np.inf)
    assert_array_equal(value_of(pd.logp(rv, [0.5, np.nan])), -np.inf)
    assert_allclose(
        value_of(pd.logcdf(rv, [-1, 0, 1.5, 3, 9])),
        np.log([0, 0.1, 0.3, 1, 1], where=[0, 1, 1, 1, 1], out=np.full(5, -np.inf)),
        rtol=1e-12,
    )
    assert_array_equal(value_of(pd.icdf(rv, [0.0, 0.05, 0.25, 0.5, 0.95, 1.0])), [0, 0, 1, 2, 3, 3])
    assert_allclose(value_of(pd.mean(rv)), 2.0, rtol=1e-12)
    assert_allclose(value_of(pd.variance(rv)), 1.0, rtol=1e-12)
    assert value_of(pd.support_point(rv)) == 3
    draws = pd.draw(rv, 4000, random_seed=4)
    assert scipy.stats.chisquare(np.bincount(draws, minlength=4), 4000 * P).pvalue > 1e-4


def test_batches_of_categories() -> None:
    """Tables of probabilities broadcast with values."""
    table = np.stack([P, P[::-1], np.full(4, 0.25)])
    rv = pd.Categorical.dist(table)
    assert rv.static_shape == (3,)
    for values in (np.array([0, 1, 3]), np.array([[0], [3]]), np.array(2), np.array([[0, 1, 2], [3, 2, 1]])):
        rows, columns = np.broadcast_arrays(np.arange(3), values)
        assert_allclose(value_of(pd.logp(rv, values)), np.log(table)[rows, columns], rtol=1e-12)
    assert pd.draw(rv, 6, random_seed=1).shape == (6, 3)


def test_probabilities_must_be_a_simplex() -> None:
    """As constants with a message that shows them, as symbols with no finite mass."""
    with pytest.raises(ParameterError, match=r"p must be numbers >= 0 that sum to 1, got \[0.5 0.6\]"):
        pd.Categorical.dist([0.5, 0.6])
    p = tensor_input("float64", (2,), "p")
    for wrong in ([0.5, 0.6], [-0.5, 1.5], [np.nan, 1.0]):
        refused(pd.logp(pd.Categorical.dist(p), [0, 1]), {p: np.array(wrong)})


def test_wrong_values_get_a_message_with_their_place() -> None:
    """The error a model raises for data outside the support."""
    rv = pd.Categorical.dist(P)
    data = np.array([0, 3, 7])
    error = pd.support_error(rv, "y", data, value_of(pd.support_violation(rv, data)))
    assert str(error) == "y: values of Categorical must be a whole number >= 0 and <= 3, got 7 (element 2)."
    simplex = np.array([[0.5, 0.5], [0.5, 0.6]])
    rv = pd.Dirichlet.dist([1, 1], shape=(2, 2))
    error = pd.support_error(rv, "w", simplex, value_of(pd.support_violation(rv, simplex)))
    assert str(error) == "w: values of Dirichlet must be numbers >= 0 that sum to 1, got [0.5 0.6] (element 1)."
