"""Maps of matrices, spheres and zero sums to unconstrained space: inverses, Jacobians, sets, names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

from consilience.backends.function import function
from consilience.distributions import constraints, matrix_constraints, transforms
from consilience.distributions.constraints import Constraint
from consilience.distributions.transforms import Chain, Transform
from consilience.errors import ShapeError
from consilience.ir import constant, tensor_input
from consilience.transforms.gradient import gradient
from tests.distributions.cases import Array, value_of

RNG = np.random.default_rng(1304)


def _lower(matrix: Array) -> Array:
    return matrix[np.tril_indices(len(matrix))]


def _below(matrix: Array) -> Array:
    return matrix[np.tril_indices(len(matrix), -1)]


class Bijection(NamedTuple):
    """A transform, its set, the shape of an unconstrained point, and the coordinates of the set that are free."""

    transform: Transform
    constraint: Constraint
    shape: tuple[int, ...]
    free: Callable[[Array], Array]


of_covariances = transforms.to_unconstrained(constraints.positive_definite)
of_factors = transforms.to_unconstrained(constraints.cholesky_factor)
of_correlations = transforms.to_unconstrained(matrix_constraints.correlation_matrix)
assert of_covariances is not None
assert of_factors is not None
assert of_correlations is not None
BIJECTIONS = {
    "log(exp(x) - 1)": Bijection(transforms.log_exp_m1, constraints.positive, (), np.atleast_1d),
    "circular": Bijection(transforms.circular, constraints.circle, (), np.atleast_1d),
    "all but one": Bijection(
        Chain([transforms.sum_to_1, transforms.log_odds]), constraints.real_vector, (3,), lambda x: x[:-1]
    ),
    "increasing simplex": Bijection(transforms.ordered_simplex, constraints.simplex, (3,), lambda x: x[:-1]),
    "increasing positive": Bijection(transforms.Ordered(positive=True), constraints.ordered, (4,), np.ravel),
    "decreasing": Bijection(transforms.Ordered(ascending=False), constraints.real_vector, (4,), np.ravel),
    "decreasing positive": Bijection(transforms.Ordered(True, False), constraints.positive_vector, (3,), np.ravel),
    "lower triangular": Bijection(transforms.lower_triangular, constraints.Real(), (6,), _lower),
    "packed factor": Bijection(
        transforms.CholeskyCovPacked(3), matrix_constraints.packed_cholesky_factor, (6,), np.ravel
    ),
    "packed factor by correlations": Bijection(
        transforms.covariance_partial, matrix_constraints.packed_cholesky_factor, (6,), np.ravel
    ),
    "factor": Bijection(of_factors, constraints.cholesky_factor, (6,), _lower),
    "covariance": Bijection(of_covariances, constraints.positive_definite, (10,), _lower),
    "covariance 1 x 1": Bijection(of_covariances, constraints.positive_definite, (1,), _lower),
    "factor of correlations": Bijection(
        transforms.CholeskyCorrTransform(4), matrix_constraints.correlation_factor, (6,), _below
    ),
    "factor of correlations by partial ones": Bijection(
        transforms.correlation_partials, matrix_constraints.correlation_factor, (6,), _below
    ),
    "upper factor of correlations": Bijection(
        transforms.CholeskyCorrTransform(3, upper=True), constraints.Real(), (3,), lambda x: _below(x.T)
    ),
    "correlations": Bijection(of_correlations, matrix_constraints.correlation_matrix, (6,), _below),
}
over_bijections = pytest.mark.parametrize("case", BIJECTIONS.values(), ids=BIJECTIONS)


def points(case: Bijection, scale: float = 1.0) -> Array:
    """A batch of unconstrained points of shape (2, 3, …)."""
    return RNG.normal(0.0, scale, (2, 3, *case.shape)).clip(-3.0, 3.0)


@over_bijections
def test_forward_undoes_backward(case) -> None:
    """For batches, whose axes stay; the image lies in the set; both shapes are as told."""
    y = points(case)
    x = case.transform.backward(constant(y))
    assert x.static_shape[:2] == (2, 3)
    assert x.ndim == 2 + case.transform.rank()
    assert len(case.shape) == case.transform.unconstrained_rank()
    assert value_of(case.constraint.holds(x)).all()
    assert case.transform.unconstrained_shape(x.static_shape) == y.shape
    assert_allclose(value_of(case.transform.forward(x)), y, rtol=1e-7, atol=1e-7)


@over_bijections
def test_jacobian_is_the_determinant_of_the_free_coordinates(case) -> None:
    """By central differences; one number per event of a batch."""
    y = points(case, 0.7)
    result = value_of(case.transform.log_jacobian_determinant(constant(y)))
    assert result.shape == (2, 3)
    flat = y[0, 0].ravel()
    steps = 1e-5 * np.eye(flat.size)
    moved = np.concatenate([flat + steps, flat - steps]).reshape((-1, *case.shape))
    images = [case.free(x) for x in value_of(case.transform.backward(constant(moved)))]
    slopes = (np.array(images[: flat.size]) - np.array(images[flat.size :])) / 2e-5
    assert_allclose(result[0, 0], np.linalg.slogdet(slopes)[1], atol=1e-7)


@over_bijections
def test_machine_code_agrees_with_the_reference(case) -> None:
    """Image, Jacobian and its gradient, at ordinary and at far points, all finite; and the way back."""
    y = tensor_input("float64", (3, *case.shape), "y")
    x = case.transform.backward(y)
    jacobian = case.transform.log_jacobian_determinant(y)
    total = jacobian[0] + jacobian[1] + jacobian[2]
    forwards = [x, jacobian, *gradient(total, [y])]
    near, far = RNG.normal(size=(2, 3, *case.shape))
    for outputs, values in ((forwards, near), (forwards, 15.0 * far), ([case.transform.forward(x)], near)):
        for result, node in zip(function([y], outputs)(values), outputs, strict=True):
            assert np.isfinite(result).all()
            assert_allclose(result, value_of(node, {y: values}), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("axes", [(-1,), (-2, -1), (-3, -1)])
def test_zero_sums_are_an_isometry(axes) -> None:
    """Sums along the axes vanish, lengths and angles stay, the Jacobian is 1, and forward undoes backward."""
    transform = transforms.ZeroSumTransform(axes)
    shape = tuple(5 - (axis in axes) for axis in (-3, -2, -1))
    y = RNG.normal(size=(2, 4, *shape))
    node = transform.backward(constant(y))
    x = value_of(node)
    assert x.shape == (2, 4, 5, 5, 5)
    assert transform.unconstrained_shape(x.shape) == y.shape
    for axis in axes:
        assert_allclose(x.sum(axis), 0.0, atol=1e-13)
    whole = (-3, -2, -1)
    assert_allclose((x[0] * x[1]).sum(whole), (y[0] * y[1]).sum(whole), rtol=1e-10)
    assert_allclose((x[0] * x[0]).sum(whole), (y[0] * y[0]).sum(whole), rtol=1e-12)
    assert_allclose(value_of(transform.forward(node)), y, atol=1e-13)
    jacobian = value_of(transform.log_jacobian_determinant(constant(y)))
    assert jacobian.shape == y.shape[: y.ndim - transform.rank()]
    assert not jacobian.any()


def test_increasing_simplexes_hold_the_share_of_one_order() -> None:
    """A uniform density on the simplex of three, restricted to one order, integrates to 1 / 3!; elements increase."""
    grid = np.arange(-12.0, 12.0, 0.25)
    y = constant(np.stack(np.meshgrid(grid, grid), -1))
    assert (np.diff(value_of(transforms.ordered_simplex.backward(y))) >= 0.0).all()
    densities = 2.0 * np.exp(value_of(transforms.ordered_simplex.log_jacobian_determinant(y)))
    assert_allclose(densities.sum() * 0.25**2, 1 / 6, rtol=1e-5)


def test_zero_sum_constraint_looks_along_each_axis() -> None:
    """One truth value per event; what sums to zero as a whole only is no member."""
    table = np.array([[1.0, -1.0], [1.0, -1.0]])
    assert value_of(constraints.ZeroSumConstraint(1).holds(constant(table))).tolist() == [True, True]
    assert not value_of(constraints.ZeroSumConstraint(2).holds(constant(table)))
    assert value_of(constraints.ZeroSumConstraint(2).holds(constant(table * [[1.0], [-1.0]])))
    assert not value_of(constraints.ZeroSumConstraint(1).holds(constant([1.0, -1.1])))


def test_free_vectors_of_the_sphere_have_a_radius_of_its_own() -> None:
    """The uniform density on the circle is that of two normal numbers: their direction is uniform."""
    transform = transforms.unit_vector
    y = RNG.normal(size=(5, 2))
    log_area = math.log(2.0 * math.pi)
    result = value_of(transform.log_jacobian_determinant(constant(y))) - log_area
    assert_allclose(result, -0.5 * (y**2).sum(-1) - math.log(2.0 * math.pi), rtol=1e-12)
    x = transform.backward(constant(y))
    assert value_of(constraints.unit_vector.holds(x)).all()
    assert_allclose(value_of(transform.backward(transform.forward(x))), value_of(x), rtol=1e-12)


def test_angles_come_back_by_whole_turns() -> None:
    """Angles in [-pi, pi] stay; others lose whole turns."""
    angles = np.linspace(-3.1, 3.1, 7)
    for turns in (-2, 0, 3):
        assert_allclose(
            value_of(transforms.circular.backward(constant(angles + 2 * np.pi * turns))), angles, atol=1e-12
        )


def test_nearly_singular_correlations_keep_their_digits() -> None:
    """Partial correlations within 1e-16 of 1 come back: nothing is computed as 1 - r^2."""
    y = np.array([20.0, -18.0, 12.0])
    back = transforms.correlation_partials.forward(transforms.correlation_partials.backward(constant(y)))
    assert_allclose(value_of(back), y, rtol=1e-12)


def test_every_set_has_its_transform() -> None:
    """Rows for the sets of this page, with PyMC's names where PyMC has one."""
    chosen = {
        constraints.positive_vector: "log",
        constraints.circle: "circular",
        constraints.unit_vector: "unit_vector",
        constraints.ZeroSumConstraint(2): "zerosum",
        constraints.cholesky_factor: "chain",
        constraints.positive_definite: "cholesky-cov",
        matrix_constraints.correlation_factor: "cholesky_corr",
        matrix_constraints.correlation_matrix: "chain",
        matrix_constraints.packed_cholesky_factor: "cholesky-cov-packed",
    }
    for constraint, name in chosen.items():
        transform = transforms.to_unconstrained(constraint)
        assert transform is not None
        assert transforms.label(transform) == name


def test_names_of_pymc() -> None:
    """Every public name of PyMC's `distributions.transforms` that is no abstract class of its own."""
    wanted = "Chain ChainedTransform CholeskyCorrTransform CholeskyCovPacked CholeskyCovTransform CircularTransform"
    wanted += " Interval IntervalTransform LogExpM1 LogOddsTransform LogTransform Ordered SimplexTransform SumTo1"
    wanted += " Transform ZeroSumTransform circular log log_exp_m1"
    wanted += " logodds multivariate_ordered ordered simplex sum_to_1 univariate_ordered"
    assert [name for name in wanted.split() if not hasattr(transforms, name)] == []
    assert transforms.Interval(0.0, math.inf) == transforms.Interval(0.0, None)


def test_wrong_sizes_are_refused_with_a_reason() -> None:
    """Lengths that are no triangle, other sizes than told, axes from the front."""
    with pytest.raises(ShapeError, match=r"n \(n \+ 1\) / 2 elements, got 5"):
        transforms.cholesky_cov_packed.backward(constant(np.zeros(5)))
    with pytest.raises(ShapeError, match=r"n \(n - 1\) / 2 elements, got 4"):
        transforms.cholesky_corr.backward(constant(np.zeros(4)))
    with pytest.raises(ShapeError, match="of 4 rows was needed, got one of 3 rows"):
        transforms.CholeskyCovPacked(4).backward(constant(np.zeros(6)))
    with pytest.raises(ShapeError, match="of 4 rows was needed, got one of 3 rows"):
        transforms.CholeskyCorrTransform(4).forward(constant(np.eye(3)))
    with pytest.raises(ShapeError, match="square matrices of known length"):
        transforms.lower_triangular.forward(constant(np.zeros((3, 2))))
    for axes in ((0,), (), (-1, -1)):
        with pytest.raises(ValueError, match="different axes counted from the end"):
            transforms.ZeroSumTransform(axes)
