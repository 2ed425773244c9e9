"""Maps to unconstrained space: inverses, Jacobians, ranges, and the table that chooses them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import consilience.distributions as pd
from consilience.distributions import constraints, transforms
from consilience.errors import MissingRuleError
from consilience.ir import constant, tensor_input
from tests.distributions.cases import value_of

SCALAR = {
    "log": (transforms.log, constraints.positive),
    "log odds": (transforms.log_odds, constraints.unit_interval),
    "interval": (transforms.Interval(-1.5, 0.3), constraints.interval(-1.5, 0.3)),
    "from below": (transforms.Interval(2.0, None), constraints.above(2.0)),
    "from above": (transforms.Interval(None, -2.0), constraints.IntervalConstraint(upper=-2.0, upper_included=False)),
    "two steps": (
        transforms.chain(transforms.Interval(1.0, None), transforms.Interval(-3.0, 3.0)),
        constraints.interval(1.0 + np.exp(-3.0), 1.0 + np.exp(3.0)),
    ),
}
VECTOR = {
    "ordered": (transforms.ordered, constraints.ordered),
    "simplex": (transforms.simplex, constraints.simplex),
    "ordered positive": (transforms.chain(transforms.log, transforms.ordered), constraints.ordered),
}
over_scalars = pytest.mark.parametrize(("transform", "constraint"), SCALAR.values(), ids=SCALAR)
over_vectors = pytest.mark.parametrize(("transform", "constraint"), VECTOR.values(), ids=VECTOR)
numbers = st.floats(-12, 12)
vectors = st.lists(st.floats(-4, 4), min_size=1, max_size=5)


@over_scalars
@settings(deadline=None, max_examples=50)
@given(y=numbers)
def test_forward_undoes_backward(transform, constraint, y) -> None:
    """On the line: forward(backward(y)) = y, and backward(y) lies in the set."""
    x = transform.backward(constant(y))
    assert value_of(constraint.holds(x))
    lost = 1e-16 * np.exp(abs(y)) * 8  # digits that a number next to a bound cannot hold
    assert_allclose(value_of(transform.forward(x)), y, rtol=1e-9, atol=1e-9 + lost)


@over_scalars
@settings(deadline=None, max_examples=50)
@given(y=st.floats(-8, 8))
def test_jacobian_is_the_slope(transform, constraint, y) -> None:
    """log |dx/dy| by differences."""
    h = 1e-4
    above, below = (value_of(transform.backward(constant(y + s))) for s in (h, -h))
    slope = abs(above - below) / (2 * h)
    assert_allclose(value_of(transform.log_jacobian_determinant(constant(y))), np.log(slope), atol=3e-6)


@over_scalars
@pytest.mark.parametrize("y", [-700.0, -40.0, 40.0, 700.0])
def test_far_values_stay_in_the_closed_set_with_a_finite_jacobian(transform, constraint, y) -> None:
    """No overflow to NaN, no step over a bound by rounding."""
    x = float(value_of(transform.backward(constant(y))))
    assert float(constraint.lower) <= x <= float(constraint.upper)
    assert np.isfinite(value_of(transform.log_jacobian_determinant(constant(y))))


@settings(deadline=None, max_examples=200)
@given(low=st.floats(-1e3, 1e3), width=st.floats(1e-3, 1e3), y=st.floats(-50, 50))
def test_interval_never_leaves_its_bounds(low, width, y) -> None:
    """For any bounds, at any distance."""
    high = low + width
    x = value_of(transforms.Interval(low, high).backward(constant(y)))
    assert low <= x <= high


@over_vectors
@settings(deadline=None, max_examples=50)
@given(y=vectors)
def test_forward_undoes_backward_on_vectors(transform, constraint, y) -> None:
    """Also for a batch of vectors."""
    node = constant(np.array([y, np.negative(y)]))
    x = transform.backward(node)
    assert x.static_shape[0] == 2
    assert value_of(constraint.holds(x)).all()
    assert transform.unconstrained_shape(x.static_shape) == node.static_shape
    assert_allclose(value_of(transform.forward(x)), value_of(node), rtol=1e-7, atol=1e-7)


@over_vectors
@settings(deadline=None, max_examples=50)
@given(y=st.lists(st.floats(-2, 2), min_size=1, max_size=4))
def test_jacobian_is_the_determinant(transform, constraint, y) -> None:
    """Of as many coordinates as there are free ones: all but one on the simplex."""
    n = len(y)
    point = np.array(y)
    h = 1e-5
    columns = []
    for i in range(n):
        step = h * np.eye(n)[i]
        above, below = (value_of(transform.backward(constant(point + s))) for s in (step, -step))
        columns.append(((above - below) / (2 * h))[:n])
    expected = np.log(abs(np.linalg.det(np.array(columns))))
    result = value_of(transform.log_jacobian_determinant(constant(point)))
    assert result.shape == ()
    assert_allclose(result, expected, atol=1e-6)


def test_supports_choose_their_transforms() -> None:
    """Every distribution has its bijection, or none where it needs none."""
    chosen = {
        pd.Normal.dist(): None,
        pd.Flat.dist(): None,
        pd.MvNormal.dist(0, np.eye(2)): None,
        pd.HalfNormal.dist(): transforms.log,
        pd.Gamma.dist(1, 1): transforms.log,
        pd.HalfFlat.dist(): transforms.log,
        pd.Beta.dist(1, 1): transforms.log_odds,
        pd.Uniform.dist(): transforms.Interval(0.0, 1.0),
        pd.Dirichlet.dist([1, 1]): transforms.simplex,
        pd.Poisson.dist(1): None,
        pd.Categorical.dist([0.5, 0.5]): None,
    }
    for rv, transform in chosen.items():
        assert pd.default_transform(rv) == transform, rv


def test_bounds_may_be_tensors() -> None:
    """The transform of a uniform variable follows its parameters."""
    upper = tensor_input("float64", (3,), "upper")
    transform = pd.default_transform(pd.Uniform.dist(-1, upper))
    assert isinstance(transform, transforms.Interval)
    x = transform.backward(constant(np.zeros(3)))
    assert_allclose(value_of(x, {upper: [0.0, 1.0, 3.0]}), [-0.5, 0.0, 1.0])


def test_names_mark_the_transform() -> None:
    """As in PyMC: sigma_log__, p_logodds__, x_interval__, w_simplex__, c_ordered__."""
    all_of_them = [
        transforms.log,
        transforms.log_odds,
        transforms.Interval(0, 2),
        transforms.simplex,
        transforms.ordered,
    ]
    assert [transforms.label(t) for t in all_of_them] == ["log", "logodds", "interval", "simplex", "ordered"]
    assert transforms.label(transforms.chain(transforms.log, transforms.ordered)) == "chain"


def test_what_has_no_transform_says_so() -> None:
    """A set without a row; an interval without bounds or with bounds exchanged is none."""

    class EvenNumbers(constraints.Constraint):
        rule = "even"

    with pytest.raises(MissingRuleError, match="no transform for values that are even; add a row for EvenNumbers"):
        transforms.to_unconstrained(EvenNumbers())
    with pytest.raises(ValueError, match="needs a lower or an upper bound"):
        transforms.Interval(None, None)
    with pytest.raises(ValueError, match="must be below the upper one, got 2 and 1"):
        transforms.Interval(2, 1)
