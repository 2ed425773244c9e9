"""Laws of softmax and log_softmax at any size of the operand, in values, gradients and categorical densities."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import consilience as pm
import consilience.tensor as pt
from tests.backends.agreement import Array

EPSILON = float(np.finfo(float).eps)
x = pt.vector("x")
FORMS = {
    "softmax": pt.softmax(x),
    "exp(x - logsumexp(x))": pt.exp(x - pt.logsumexp(x)),
    "gradient of logsumexp": pm.grad(pt.logsumexp(x), x),
    "exp over its sum": pt.exp(x) / pt.exp(x).sum(),
}
COMPILED = {
    (name, backend): pm.function([x], form, backend=backend)
    for name, form in FORMS.items()
    for backend in ("llvm", "reference")
}
LOG = {backend: pm.function([x], pt.log_softmax(x), backend=backend) for backend in ("llvm", "reference")}
finite = arrays(np.float64, st.integers(1, 40), elements=st.floats(allow_nan=False, allow_infinity=False))


@pytest.mark.parametrize(("name", "backend"), COMPILED)
@given(values=finite)
@settings(max_examples=60, deadline=None)
def test_softmax_sums_to_one_and_agrees_with_scipy(name: str, backend: str, values: Array) -> None:
    """Within a few units in the last place, for every finite operand."""
    result = COMPILED[name, backend](values)
    assert abs(result.sum() - 1.0) <= 4 * EPSILON
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(result, scipy.special.softmax(values), rtol=8 * EPSILON, atol=1e-300)


@pytest.mark.parametrize("backend", LOG)
@given(values=finite)
@settings(max_examples=60, deadline=None)
def test_log_softmax_agrees_with_scipy(backend: str, values: Array) -> None:
    """The greatest element is taken off before anything else is."""
    with np.errstate(over="ignore"):
        expected = scipy.special.log_softmax(values)
    np.testing.assert_allclose(LOG[backend](values), expected, rtol=4 * EPSILON, atol=4 * EPSILON)


@pytest.mark.parametrize("shift", [1e3, -1e9, 2.0**52, -(2.0**60), 2.0**1000])
@pytest.mark.parametrize(("name", "backend"), COMPILED)
def test_a_shift_changes_nothing(name: str, backend: str, shift: float) -> None:
    """Exactly, where x + shift is exact."""
    values = np.array([0.0, 1.0, -3.0, 8.0]) * max(1.0, np.spacing(abs(shift)))
    np.testing.assert_array_equal(COMPILED[name, backend](values + shift), COMPILED[name, backend](values))


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize(
    "values", [[np.inf, 0.0], [-np.inf, 0.0], [-np.inf, -np.inf], [np.inf, np.inf], [np.nan, 0.0], [np.inf, -np.inf]]
)
def test_infinite_elements_are_scipys(backend: str, values: list[float]) -> None:
    """-inf is probability 0; an element inf or all -inf is NaN."""
    with np.errstate(all="ignore"):
        probabilities, logarithms = scipy.special.softmax(values), scipy.special.log_softmax(values)
    np.testing.assert_array_equal(COMPILED["softmax", backend](values), probabilities)
    np.testing.assert_array_equal(LOG[backend](values), logarithms)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
def test_axes_are_scipys(axis: int | tuple[int, ...] | None) -> None:
    """All axes for None; integers become floats."""
    values = np.arange(12).reshape(3, 4) % 5
    np.testing.assert_allclose(pt.softmax(values, axis=axis).eval(), scipy.special.softmax(values, axis))
    np.testing.assert_allclose(pt.log_softmax(values, axis=axis).eval(), scipy.special.log_softmax(values, axis))
    assert pt.softmax(3.0).eval() == 1.0
    assert pt.softmax(np.zeros((0, 2)), axis=1).eval().shape == (0, 2)


@pytest.mark.parametrize("scale", [1.0, 1e12, 1e300])
def test_categorical_densities_and_their_gradients_stand_large_logits(scale: float) -> None:
    """The mass of equal logits is 1/n, its slope 1 - 1/n and -1/n, however large they are."""
    logits = pt.dvector("logits")
    logp = pm.logp(pm.Categorical.dist(logit_p=logits), 1)
    value, slope = pm.function([logits], [logp, pm.grad(logp, logits)])(np.full(4, scale))
    np.testing.assert_allclose(value, -np.log(4.0), rtol=4 * EPSILON)
    np.testing.assert_allclose(slope, [-0.25, 0.75, -0.25, -0.25], rtol=4 * EPSILON)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("scale", [1.0, 1e12, 1e16, 1e300])
def test_slopes_of_logaddexp_are_the_two_shares(backend: str, scale: float) -> None:
    """They sum to 1 for terms of any size, and are 0 where both terms are exp(-inf)."""
    p, q = pt.dvector("p"), pt.dvector("q")
    slopes = pm.function([p, q], pm.grad(pt.logaddexp(p, q).sum(), [p, q]), backend=backend)
    gaps = np.array([0.0, 1.0, -5.0, 40.0]) * max(1.0, 2.0 * np.spacing(scale))
    first, second = slopes(np.full(4, scale) + gaps, np.full(4, scale))
    np.testing.assert_allclose(first, scipy.special.expit(gaps), rtol=4 * EPSILON)
    np.testing.assert_allclose(first + second, 1.0, rtol=2 * EPSILON)
    nothing = slopes([-np.inf], [-np.inf])
    assert [float(v[0]) for v in nothing] == [0.0, 0.0]
