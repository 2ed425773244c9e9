"""Log densities as they are written, simplified: logarithms of scalars once, stable at the ends."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.special
import scipy.stats

from consilience.backends.reference import evaluate
from consilience.ir import Node, constant, tensor_input, topological
from consilience.ops import Elementwise, Reduce, apply
from consilience.ops.reduce import reduce
from consilience.rewrite.rules import assume, simplify
from consilience.transforms.gradient import gradient

ROWS = 40
RNG = np.random.default_rng(8)
DATA = RNG.normal(size=ROWS)


def scalar(name: str) -> Node:
    return tensor_input("float64", (), name)


def normal(value: Node, mu: Node | float, sigma: Node | float) -> Node:
    """The density as a distribution writes it, with its check."""
    log_density = -0.5 * ((value - mu) / sigma) ** 2 - apply("log", sigma) - 0.5 * math.log(2 * math.pi)
    return apply("where", apply("gt", sigma, 0.0), log_density, -np.inf)


def work(outputs: Sequence[Node]) -> Counter[tuple[str, bool]]:
    """Scalar functions with whether they are computed per row."""
    found: Counter[tuple[str, bool]] = Counter()
    for node in topological(outputs):
        if isinstance(node.op, Elementwise):
            found[node.op.function, bool(node.ndim)] += 1
    return found


def test_a_gaussian_over_rows_computes_logarithms_of_scalars_once() -> None:
    mu, log_sigma = scalar("mu"), scalar("log_sigma")
    cost = normal(constant(DATA), mu, apply("exp", log_sigma)).sum()
    (result,) = simplify([cost], strict=True)
    per_row = {function for function, rows in work([result]) if rows}
    # Each value is scaled before it is squared: squares of values and scales apart may overflow.
    assert per_row == {"add", "mul", "square"}
    assert ("log", False) not in work([result])
    expected = scipy.stats.norm(0.3, math.exp(-0.5)).logpdf(DATA).sum()
    np.testing.assert_allclose(evaluate([result], {mu: 0.3, log_sigma: -0.5})[0], expected, rtol=1e-13)


def test_value_and_gradient_of_a_gaussian_share_one_sum_of_squares() -> None:
    mu, log_sigma = scalar("mu"), scalar("log_sigma")
    (cost,) = simplify([normal(constant(DATA), mu, apply("exp", log_sigma)).sum()])
    outputs = simplify([cost, *gradient(cost, [mu, log_sigma])], strict=True)
    squares = [
        n for n in topological(outputs) if isinstance(n.op, Elementwise) and n.op.function == "square" and n.ndim
    ]
    sums = [n for n in topological(outputs) if isinstance(n.op, Reduce)]
    assert len(squares) == 1
    assert len(sums) <= 2
    values = evaluate(outputs, {mu: 0.3, log_sigma: -0.5})
    z = (DATA - 0.3) * math.exp(0.5)
    np.testing.assert_allclose(values[1], (z * math.exp(0.5)).sum(), rtol=1e-12)
    np.testing.assert_allclose(values[2], (z**2 - 1).sum(), rtol=1e-12)


def test_the_check_of_a_scale_vanishes_when_positions_are_finite() -> None:
    mu, log_sigma = scalar("mu"), assume(scalar("log_sigma"), finite=True)
    (result,) = simplify([normal(constant(DATA), mu, apply("exp", log_sigma)).sum()], strict=True)
    assert not {"where", "gt"} & {function for function, _ in work([result])}


def test_a_standard_normal_prior_is_a_sum_of_squares() -> None:
    x = tensor_input("float64", (None,), "x")
    (result,) = simplify([normal(x, 0.0, 1.0).sum()], strict=True)
    assert {function for function, rows in work([result]) if rows} == {"square"}


def test_constants_of_a_poisson_density_are_summed_beforehand() -> None:
    counts = constant(np.arange(ROWS, dtype="float64"))
    eta = tensor_input("float64", (ROWS,), "eta")
    log_density = counts * apply("log", apply("exp", eta)) - apply("exp", eta) - apply("gammaln", counts + 1)
    (result,) = simplify([log_density.sum()], strict=True)
    assert ("gammaln", True) not in work([result])
    assert ("log", True) not in work([result])
    value = RNG.normal(size=ROWS)
    expected = scipy.stats.poisson(np.exp(value)).logpmf(np.arange(ROWS)).sum()
    np.testing.assert_allclose(evaluate([result], {eta: value})[0], expected, rtol=1e-12)


@pytest.mark.parametrize("eta", [-800.0, -40.0, -1.0, 0.0, 1e-8, 3.0, 40.0, 800.0])
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_a_naive_bernoulli_density_and_its_gradient_are_right_at_the_ends(eta: float, y: float) -> None:
    x = scalar("eta")
    p = 1 / (1 + apply("exp", -x))
    naive = y * apply("log", p) + (1 - y) * apply("log", 1 - p)
    (cost,) = simplify([naive], strict=True)
    outputs = simplify([cost, *gradient(cost, [x])], strict=True)
    value, slope = evaluate(outputs, {x: eta})
    assert value == pytest.approx(-np.logaddexp(0.0, eta if y == 0 else -eta), rel=1e-14, abs=0)
    assert slope == pytest.approx(y - scipy.special.expit(eta) if abs(eta) < 30 else _tail(eta, y), rel=1e-12, abs=0)


def _tail(eta: float, y: float) -> float:
    return float(-scipy.special.expit(eta) if y == 0 else scipy.special.expit(-eta))


@pytest.mark.parametrize("shift", [0.0, 900.0, -900.0])
def test_a_naive_mixture_is_a_logsumexp(shift: float) -> None:
    given_weights = tensor_input("float64", (3,), "weights")
    weights = assume(given_weights, positive=True)
    x = scalar("x")
    means = constant([-1.0, 0.0, 2.0])
    components = weights * apply("exp", -0.5 * (x - means) ** 2 - shift) / math.sqrt(2 * math.pi)
    (result,) = simplify([apply("log", components.sum()) + 0.5 * math.log(2 * math.pi)], strict=True)
    assert isinstance(result.op, Reduce | Elementwise)
    given = np.array([0.2, 0.3, 0.5])
    expected = scipy.special.logsumexp(np.log(given) - 0.5 * (0.7 - np.array([-1.0, 0.0, 2.0])) ** 2) - shift
    np.testing.assert_allclose(evaluate([result], {given_weights: given, x: 0.7})[0], expected, rtol=1e-13)


def test_a_half_cauchy_scale_on_the_log_line_does_not_overflow() -> None:
    t = scalar("log_tau")
    cost = -apply("log1p", (apply("exp", t) / 5.0) ** 2) + t
    (result,) = simplify([cost], strict=True)
    outputs = simplify([result, *gradient(result, [t])], strict=True)
    value, slope = evaluate(outputs, {t: 500.0})
    np.testing.assert_allclose(value, -2 * (500 - math.log(5)) + 500, rtol=1e-13)
    np.testing.assert_allclose(slope, -1.0, rtol=1e-13)


def test_groups_are_gathered_before_they_are_used() -> None:
    """An index into group effects is not moved into what depends on rows."""
    effects = tensor_input("float64", (4,), "effects")
    groups = constant(RNG.integers(0, 4, ROWS))
    log_sigma = scalar("log_sigma")
    (result,) = simplify([normal(constant(DATA), effects[groups], apply("exp", log_sigma)).sum()], strict=True)
    indices = [n for n in topological([result]) if type(n.op).__name__ == "Index"]
    assert len(indices) == 1


@pytest.mark.parametrize("observed", [0.0, 1.3])
def test_heavy_tails_have_a_gradient_where_the_observation_is_the_location(observed: float) -> None:
    """log(1 + z²) stays as it is: z² may vanish, and the logarithm of it has no derivative there."""
    location, log_scale = scalar("location"), scalar("log_scale")
    density = -apply("log1p", ((location - observed) / apply("exp", log_scale)) ** 2) - log_scale
    (result,) = simplify([density])
    slopes = gradient(result, [location, log_scale])
    values = evaluate(slopes, {location: observed, log_scale: 0.4})
    np.testing.assert_array_equal(values, [0.0, -1.0])


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_logarithms_of_products_that_double_precision_cannot_hold(axis: int | None) -> None:
    """Of small, large and negative factors: an even number of negative ones has a logarithm, an odd number none."""
    rng = np.random.default_rng(0)
    x = rng.choice([1e-5, 1e7, -2.0], (60, 80), p=[0.6, 0.35, 0.05])
    node = tensor_input("float64", x.shape, "x")
    (of,) = simplify([apply("log", reduce("prod", node, axis))])
    found = evaluate([of], {node: x})[0]
    odd = (x < 0).sum(axis=axis) % 2 == 1
    np.testing.assert_allclose(found, np.where(odd, np.nan, np.log(np.abs(x)).sum(axis=axis)), rtol=1e-12)
