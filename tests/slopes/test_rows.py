"""Values and slopes that were wrong or refused, one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import MissingRuleError, ParameterError, ShapeError
from consilience.graph import clone_replace
from consilience.ir import Node

COMPLEX = np.array([3 + 4j, -1j, 2, 1 - 1j])


def test_products_of_vectors_conjugate_the_first() -> None:
    x, y = pt.zvector("x"), pt.zvector("y")
    other = COMPLEX[::-1] * (1 + 2j)
    given = {x: COMPLEX, y: other}
    assert pt.vdot(x, x).eval({x: COMPLEX}) == 32
    np.testing.assert_allclose(pt.vdot(x, y).eval(given), np.vdot(COMPLEX, other))
    np.testing.assert_allclose(pt.vecdot(x, y).eval(given), np.vdot(COMPLEX, other))
    matrix = np.arange(8.0).reshape(4, 2) * 1j
    np.testing.assert_allclose(pt.vecmat(x, matrix).eval({x: COMPLEX}), COMPLEX.conj() @ matrix)


def test_running_products_of_complex_numbers() -> None:
    x = pt.zmatrix("x")
    values = np.array([COMPLEX, COMPLEX[::-1]])
    for axis in (0, 1):
        np.testing.assert_allclose(pt.cumprod(x, axis).eval({x: values}), np.cumprod(values, axis))


@pytest.mark.parametrize("k", [-7, -2, -1, 1, 3])
def test_slices_with_a_step_known_at_run_time(k: int) -> None:
    x, step, start, stop = pt.dmatrix("x"), pt.lscalar("step"), pt.lscalar("start"), pt.lscalar("stop")
    values = np.arange(15.0).reshape(5, 3)
    slices = [x[::step], x[start:stop:step, 1], x[:, ::step], pt.set_subtensor(x[::step], 0.0)]
    compiled = pt.function([x, step, start, stop], slices, on_unused_input="ignore")
    for first, last in ((0, 4), (-2, 1), (9, -9)):
        found = compiled(values, k, first, last)
        changed = values.copy()
        changed[::k] = 0.0
        for one, wanted in zip(found, (values[::k], values[first:last:k, 1], values[:, ::k], changed), strict=True):
            np.testing.assert_array_equal(one, wanted)
    slope = pt.grad(pt.square(x[::step]).sum(), x).eval({x: values, step: k})
    np.testing.assert_array_equal(slope[::k], 2 * values[::k])


def test_a_step_of_0_is_an_error() -> None:
    x, step = pt.dvector("x"), pt.lscalar("step")
    with pytest.raises(AssertionError, match="step must not be 0"):
        x[::step].eval({x: np.ones(3), step: 0})
    with pytest.raises(ShapeError, match="index in two steps"):
        pt.dmatrix("y")[::step, [0, 1]]


def test_singular_covariances_have_draws_by_eigenvectors() -> None:
    x = np.linspace(0.0, 1.0, 50)
    cov = np.exp(-0.5 * (x[:, None] - x) ** 2 / 0.09)
    for method in ("svd", "eigh"):
        drawn = pm.draw(pm.MvNormal.dist(np.zeros(50), cov, method=method), 2000, random_seed=1)
        np.testing.assert_allclose(np.cov(drawn.T), cov, atol=0.12)
    with pytest.raises(ParameterError, match="positive semidefinite"):
        pm.MvNormal.dist(np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]]), method="svd")
    with pytest.raises(ParameterError, match="positive definite"):
        pm.MvNormal.dist(np.zeros(50), cov)


def test_inputs_of_open_length_are_replaced_by_those_of_fixed_length() -> None:
    a, b = pt.dvector("a"), pt.tensor("b", shape=(3,), dtype="float64")
    assert clone_replace(a.shape[0] * a.sum(), {a: b}).eval({b: np.ones(3)}) == 9.0
    sums = pm.scan(lambda v, total: total + v, sequences=[a], outputs_info=[pt.constant(0.0)], return_updates=False)
    assert clone_replace(sums, {a: b}).eval({b: np.ones(3)}).tolist() == [1.0, 2.0, 3.0]


def test_eval_passes_over_inputs_that_are_not_needed() -> None:
    x = pt.dscalar("x")
    density = pm.logp(pm.Normal.dist(0.0, 1.0), 0.5)
    assert density.eval({x: 1.0}) == pytest.approx(-1.0439385)


def test_lengths_that_differ_are_told_of_what_the_user_wrote() -> None:
    x, y = pt.dvector("x"), pt.dvector("y")
    given = {x: np.ones(3), y: np.ones(4)}
    with pytest.raises(ShapeError, match="`vmap` needs mapped axes of one length"):
        pt.vmap(lambda a, b: a + b)(x, y).eval(given)
    with pytest.raises(ShapeError, match=r"parameters have the shape of their variable.*test_rows"):
        pt.random.normal(x, pt.exp(y)).eval(given)


def test_norms_have_slope_0_at_0_and_second_derivatives_at_zeros() -> None:
    x = pt.dvector("x")
    for order in (None, 2, 3):
        assert pt.grad(pt.linalg.norm(x, order), x).eval({x: np.zeros(3)}).tolist() == [0.0] * 3
    second = pt.hessian(pt.linalg.norm(x), x).eval({x: np.array([0.0, 2.0])})
    np.testing.assert_allclose(second, [[0.5, 0.0], [0.0, 0.0]], atol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_slopes_of_determinants_of_singular_matrices_are_cofactors(n: int) -> None:
    x = pt.tensor("x", shape=(None, None), dtype="float64")
    fixed = pt.tensor("fixed", shape=(n, n), dtype="float64")
    matrix = np.random.default_rng(n).normal(size=(n, n))
    matrix[-1] = 0.0
    cofactors = np.zeros((n, n))
    for i, j in np.ndindex(n, n):
        minor = np.delete(np.delete(matrix, i, 0), j, 1)
        cofactors[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    for node in (x, fixed):
        np.testing.assert_allclose(pt.grad(pt.linalg.det(node), node).eval({node: matrix}), cofactors, atol=1e-14)


def test_an_eigenvector_beside_equal_eigenvalues_has_a_slope() -> None:
    x = pt.dmatrix("x")
    of = (pt.linalg.eigh(x)[1][:, 2] * np.array([1.0, 2.0, 3.0])).sum()
    slope = pt.grad(of, x).eval({x: np.diag([1.0, 1.0, 3.0])})
    np.testing.assert_allclose(slope, [[0, 0, 0], [0, 0, 0], [0.5, 1.0, 0]], atol=1e-14)


@pytest.mark.parametrize("name", ["Weibull", "Gamma", "Exponential", "LogNormal", "InverseGamma"])
def test_probabilities_and_quantiles_at_the_end_of_a_support_have_slopes(name: str) -> None:
    x = pt.dvector("x")
    rv = getattr(pm, name).dist(*([x[0]] if name == "Exponential" else [x[0], x[1]]))
    for of in (pm.logcdf(rv, 0.0), pm.icdf(rv, 0.0)):
        assert np.isfinite(pt.grad(of, x, disconnected_inputs="ignore").eval({x: np.array([1.5, 2.0])})).all()


@pytest.mark.parametrize("name", ["GeneralizedPareto", "GeneralizedExtremeValue"])
def test_quantiles_have_a_slope_in_the_shape_at_0(name: str) -> None:
    xi = pt.dscalar("xi")
    of = pm.icdf(getattr(pm, name).dist(0.0, 1.0, xi), 0.7)
    y = -np.log1p(-0.7) if name == "GeneralizedPareto" else -np.log(-np.log(0.7))
    assert pt.grad(of, xi).eval({xi: 0.0}) == pytest.approx(y * y / 2)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Wald", {"mu": 1.2, "lam": 2.0, "alpha": 0.1}),
        ("SkewNormal", {"mu": 0.2, "sigma": 1.1, "alpha": -1.4}),
        ("Rice", {"nu": 1.0, "sigma": 1.5}),
    ],
)
def test_quantiles_found_by_search_have_second_derivatives(name: str, given: dict[str, float]) -> None:
    x = pt.dvector("x")
    of = pm.icdf(getattr(pm, name).dist(**{parameter: x[i] for i, parameter in enumerate(given)}), 0.3)
    slope = pt.grad(of, x)
    compiled = pt.function([x], [slope, pt.jacobian(slope, x)])
    at, step = np.array([*given.values()]), 1e-4
    second = compiled(at)[1]
    for i, unit in enumerate(np.eye(len(given))):
        difference = (compiled(at + step * unit)[0] - compiled(at - step * unit)[0]) / (2 * step)
        np.testing.assert_allclose(second[i], difference, rtol=1e-5, atol=1e-6)


def test_quantiles_of_mixtures_have_slopes_at_the_ends_of_the_search() -> None:
    x = pt.dscalar("x")
    normals = pm.Normal.dist(pt.stack([x, x]), 1.0)
    assert pt.grad(pm.icdf(pm.Mixture.dist([0.3, 0.7], normals), 0.3), x).eval({x: 1.5}) == pytest.approx(1.0)


def test_standard_deviations_have_slope_0_where_all_elements_are_equal() -> None:
    x = pt.dvector("x")
    for ddof in (0, 1):
        assert pt.grad(pt.std(x, ddof=ddof), x).eval({x: np.full(3, 0.5)}).tolist() == [0.0] * 3


@pytest.mark.parametrize(("name", "base"), [("logaddexp", np.e), ("logaddexp2", 2.0)])
def test_logaddexp_has_second_derivatives_where_its_arguments_are_equal(name: str, base: float) -> None:
    x = pt.dvector("x")
    of = getattr(pt, name)(x[0], x[1])
    curvature = 0.25 * np.log(base)
    for at in (0.0, -3.0):
        second = pt.hessian(of, x).eval({x: np.full(2, at)})
        np.testing.assert_allclose(second, curvature * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    for end in (-np.inf, np.inf):
        assert not np.isnan(pt.grad(of, x).eval({x: np.full(2, end)})).any()


def test_second_derivatives_of_what_least_squares_leave_are_refused_as_missing() -> None:
    x, y = pt.tensor("x", shape=(5, 2), dtype="float64"), pt.tensor("y", shape=(5, 1), dtype="float64")
    slope = pt.grad(pt.linalg.lstsq(x, y)[1].sum(), x)
    with pytest.raises(MissingRuleError, match="which only the branch knows"):
        pt.grad(slope.sum(), x)


@pytest.mark.parametrize(
    "of",
    [
        pt.square,
        lambda size: 3.0 * size**2,
        lambda size: size * size,
        lambda size: pt.exp(pt.square(size) / -2.0),
    ],
)
def test_squares_of_sizes_have_second_derivatives_at_0(of: Callable[[Node], Node]) -> None:
    x = pt.dvector("x")
    found, wanted = (pt.hessian(of(size).sum(), x).eval({x: np.array([-1.5, 0.0, -0.0, 2.0])}) for size in (abs(x), x))
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_second_derivatives_far_out_are_0_and_not_nan() -> None:
    x = pt.dscalar("x")
    for of, at in ((pt.special.log_ndtr(x), 80.0), (pt.log1mexp(x), -1e4)):
        assert abs(pt.hessian(of, x).eval({x: at})) < 1e-200
