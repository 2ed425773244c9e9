"""Laws of the metric learnt from draws and gradients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.inference.fisher_metric import (
    CUTOFF,
    FEWEST_DIRECTIONS,
    FEWEST_DRAWS,
    Form,
    estimate,
    geometric_mean,
    paying,
)
from consilience.inference.metric import (
    LARGEST_EIGENVALUE,
    LARGEST_VARIANCE,
    SMALLEST_EIGENVALUE,
    SMALLEST_VARIANCE,
    Scales,
    scale_momentum,
    velocity_of,
)
from consilience.inference.metric_change import log_ratios, matrix
from tests.inference.metrics import inverse_mass, metric_of, scales_of

Matrix = NDArray[np.float64]


def gaussian(rng: np.random.Generator, dimension: int, condition: float = 1e3) -> Matrix:
    """A covariance of this condition number in random directions, with scales of its own besides."""
    vectors, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    covariance = vectors * np.geomspace(1.0, condition, dimension) @ vectors.T
    scale = np.exp(rng.uniform(-3.0, 3.0, dimension))
    return np.asarray(scale[:, None] * covariance * scale)


def draws_of(rng: np.random.Generator, covariance: Matrix, count: int) -> tuple[Matrix, Matrix]:
    """Draws around a mean, and the gradients of the log density there."""
    centred = rng.standard_normal((count, len(covariance))) @ np.linalg.cholesky(covariance).T
    gradients = -np.linalg.solve(covariance, centred.T).T
    return centred + 5.0 * np.sqrt(np.diag(covariance)), np.asarray(gradients, np.float64)


def learnt(draws: Matrix, gradients: Matrix, form: Form = "auto", operations: float | None = None) -> Scales:
    """The estimate, which has to exist, to be positive, and to be usable; and no warning on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scales = estimate(draws, gradients, form, operations)
    assert scales is not None
    check(scales, draws.shape[1])
    return scales


def check(scales: Scales, dimension: int) -> None:
    """A valid metric: shapes, finite positive numbers, orthonormal directions."""
    assert scales.scale.shape == (dimension,)
    assert scales.directions.shape == (scales.rank, dimension)
    assert np.isfinite(scales.scale).all()
    assert (scales.scale**2 >= SMALLEST_VARIANCE * (1.0 - 1e-14)).all()
    assert (scales.scale**2 <= LARGEST_VARIANCE * (1.0 + 1e-14)).all()
    assert np.isfinite(scales.eigenvalues).all()
    assert (scales.eigenvalues > 0.0).all()
    assert (scales.eigenvalues**-0.5 < np.inf).all()
    np.testing.assert_allclose(scales.directions @ scales.directions.T, np.eye(scales.rank), atol=1e-9)
    metric = metric_of(scales)
    assert np.isfinite(np.asarray(metric.directions)).all()
    assert np.isfinite(np.asarray(metric.shrinkages)).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 25), st.floats(1.0, 1e4), st.integers(0, 2**31))
def test_dense_form_finds_the_covariance_of_a_normal_exactly(dimension: int, condition: float, seed: int) -> None:
    """Gradients are linear in draws, so twice as many draws as coordinates suffice for any covariance."""
    rng = np.random.default_rng(seed)
    covariance = gaussian(rng, dimension, condition)
    scales = learnt(*draws_of(rng, covariance, 2 * dimension + FEWEST_DRAWS), "dense")
    assert scales.rank == dimension
    assert np.abs(log_ratios(scales, scales_of(covariance))).max() < 1e-2


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 25), st.floats(1.0, 1e4), st.integers(0, 2**31), st.sampled_from(["auto", "lowrank"]))
def test_covariance_of_a_normal_is_found_up_to_the_cutoff(
    dimension: int, condition: float, seed: int, form: Form
) -> None:
    """What is left out stretches by less than the cutoff, in either sense; what is kept stretches by more."""
    rng = np.random.default_rng(seed)
    covariance = gaussian(rng, dimension, condition)
    draws, gradients = draws_of(rng, covariance, 3 * dimension + FEWEST_DRAWS)
    scales = learnt(draws, gradients, form)
    assert (np.abs(np.log(scales.eigenvalues)) > np.log(CUTOFF)).all()
    assert np.abs(log_ratios(scales, scales_of(covariance))).max() < np.log(CUTOFF) + 1e-2
    # the directions kept are those of the dense form, to the sign
    dense = learnt(draws, gradients, "dense")
    effect = np.abs(np.log(dense.eigenvalues))
    assert scales.rank == (effect > np.log(CUTOFF)).sum()
    np.testing.assert_array_equal(scales.eigenvalues, dense.eigenvalues[: scales.rank])
    assert (np.diff(effect) <= 0.0).all()


def test_the_diagonal_is_the_root_of_the_ratio_of_variances() -> None:
    """In every form; "diag" has nothing else."""
    rng = np.random.default_rng(1)
    draws, gradients = 100.0 + rng.standard_normal((50, 6)), rng.gamma(2.0, size=(50, 6))
    expected = np.sqrt(draws.var(axis=0) / gradients.var(axis=0))
    forms: tuple[Form, ...] = ("auto", "diag", "lowrank", "dense")
    for form in forms:
        np.testing.assert_allclose(learnt(draws, gradients, form).scale ** 2, expected, rtol=1e-12)
    assert learnt(draws, gradients, "diag").rank == 0
    assert learnt(draws, gradients, "auto", 0).rank == 0


def test_independent_normals_need_no_directions() -> None:
    """Scales over twelve orders of magnitude, exact after few draws per coordinate."""
    rng = np.random.default_rng(2)
    deviation = np.geomspace(1e-6, 1e6, 30)
    draws = rng.standard_normal((200, 30)) * deviation
    scales = learnt(draws, -draws / deviation**2)
    assert scales.rank == 0
    np.testing.assert_allclose(scales.scale, deviation, rtol=1e-10)


@pytest.mark.parametrize("operations", [1e2, 1e4, 1e12])
def test_directions_are_kept_as_far_as_they_pay(operations: float) -> None:
    """Those of greatest effect: with a costly gradient all that differ from the diagonal, with a cheap one fewer."""
    rng = np.random.default_rng(4)
    draws, gradients = draws_of(rng, gaussian(rng, 40), 400)
    free, limited = learnt(draws, gradients), learnt(draws, gradients, operations=operations)
    rank = limited.rank
    assert FEWEST_DIRECTIONS <= rank <= free.rank
    assert rank == free.rank or operations < 1e12
    np.testing.assert_array_equal(limited.eigenvalues, free.eigenvalues[:rank])
    np.testing.assert_array_equal(limited.directions, free.directions[:rank])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.floats(-6.0, 6.0), min_size=0, max_size=12), st.integers(1, 500), st.floats(1.0, 1e7))
def test_as_many_directions_are_kept_as_cost_least(logs: list[float], dimension: int, operations: float) -> None:
    """Against the cost of every number of directions, written out."""
    ordered = np.array(sorted(logs, key=abs, reverse=True))
    costs = []
    for count in range(len(ordered) + 1):
        rest = [*ordered[count:], 0.0]
        step = operations + 20.0 * dimension + dimension * count
        costs.append(np.log(step) + 0.5 * (max(rest) - min(rest)))
    assert costs[paying(ordered, dimension, operations)] == pytest.approx(min(costs), abs=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 20), st.integers(FEWEST_DRAWS, 60), st.integers(0, 2**31))
def test_units_of_coordinates_do_not_matter(dimension: int, count: int, seed: int) -> None:
    """Coordinates times powers of two, gradients divided by them: scales follow to the bit, directions stay."""
    rng = np.random.default_rng(seed)
    draws, gradients = rng.standard_t(3, (2, count, dimension))
    unit = 2.0 ** rng.integers(-20, 20, dimension)
    one, other = learnt(draws, gradients), learnt(draws * unit, gradients / unit)
    np.testing.assert_array_equal(other.scale, one.scale * unit)
    np.testing.assert_array_equal(other.eigenvalues, one.eigenvalues)
    np.testing.assert_array_equal(other.directions, one.directions)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(2, 12), st.integers(2, 5), st.integers(0, 2**31))
def test_order_of_draws_and_place_do_not_matter(dimension: int, times: int, seed: int) -> None:
    """Only deviations from the mean enter, as a set; enough of them for covariances of full rank."""
    rng = np.random.default_rng(seed)
    count = times * dimension + FEWEST_DRAWS
    draws, gradients = rng.standard_normal((2, count, dimension))
    order = rng.permutation(count)
    one = learnt(draws, gradients, "dense")
    other = learnt(draws[order] + 3.0, gradients[order] - 2.0, "dense")
    assert np.abs(log_ratios(other, one)).max() < 1e-8


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 12), st.integers(2, 60), st.integers(0, 2**31))
def test_geometric_mean_is_the_one_of_the_definition(dimension: int, count: int, seed: int) -> None:
    """G B G = A, where A and B are the regularised covariances: the only positive solution."""
    rng = np.random.default_rng(seed)
    draws, gradients = rng.standard_normal((2, count, dimension))
    vectors, eigenvalues = geometric_mean(draws, gradients)
    if dimension > 2 * count:
        return  # the law below, in the span of both, is `test_fewer_draws_than_coordinates`
    mean = vectors * eigenvalues @ vectors.T
    of_draws, of_gradients = (x.T @ x / 1e-5 + np.eye(dimension) for x in (draws, gradients))
    size = np.abs(of_draws).max()
    np.testing.assert_allclose(mean @ of_gradients @ mean, of_draws, atol=1e-6 * size)


@pytest.mark.parametrize(("count", "dimension"), [(4, 9), (4, 50), (10, 120), (30, 61), (30, 60)])
def test_fewer_draws_than_coordinates(count: int, dimension: int) -> None:
    """Outside the span of draws and gradients nothing is known and nothing is said; inside, as without it."""
    rng = np.random.default_rng(count * dimension)
    covariance = gaussian(rng, dimension)
    draws, gradients = draws_of(rng, covariance, count)
    scales = learnt(draws, gradients, "dense")
    assert scales.rank == min(dimension, 2 * count)
    y = (draws - draws.mean(axis=0)) / scales.scale
    z = (gradients - gradients.mean(axis=0)) * scales.scale
    outside = np.linalg.svd(np.concatenate([y, z]))[2][2 * count :]
    kept = learnt(draws, gradients)
    # what counts there is the identity
    np.testing.assert_allclose(
        outside @ inverse_mass(Scales(np.ones(dimension), kept.directions, kept.eigenvalues)) @ outside.T,
        np.eye(len(outside)),
        atol=1e-8,
    )
    g = inverse_mass(Scales(np.ones(dimension), scales.directions, scales.eigenvalues))
    of_draws, of_gradients = (x.T @ x / 1e-5 + np.eye(dimension) for x in (y, z))
    np.testing.assert_allclose(g @ of_gradients @ g, of_draws, atol=1e-5 * np.abs(of_draws).max())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.integers(1, 30),
    st.integers(1, 40),
    st.floats(-150.0, 150.0),
    st.floats(-150.0, 150.0),
    st.floats(0.0, 150.0),
    st.sampled_from(["auto", "diag", "lowrank", "dense"]),
    st.integers(0, 2**31),
)
def test_numbers_of_any_size_give_a_valid_metric_or_none(
    dimension: int, count: int, draw_size: float, gradient_size: float, spread: float, form: Form, seed: int
) -> None:
    """From 1e-150 to 1e150, each coordinate with a size of its own; silently."""
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(-spread, spread, (2, dimension)) + np.array([[draw_size], [gradient_size]])
    draws, gradients = rng.standard_normal((2, count, dimension)) * 10.0 ** np.clip(sizes, -150.0, 150.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scales = estimate(draws, gradients, form)
    if count < FEWEST_DRAWS:
        assert scales is None
    else:
        assert scales is not None
        check(scales, dimension)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_scales_within_bounds_are_found(scale: float) -> None:
    """The whole covariance, of a normal of any unit."""
    rng = np.random.default_rng(4)
    factor = rng.standard_normal((5, 10))
    covariance = factor @ factor.T / 10.0
    draws, gradients = draws_of(rng, covariance, 30)
    scales = learnt(draws * scale, gradients / scale, "dense")
    np.testing.assert_allclose(matrix(scales) / scale**2, covariance, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("exponent", [-150, -100, 100, 150])
def test_scales_out_of_bounds_are_clipped_not_forgotten(exponent: int) -> None:
    """A coordinate beyond the bounds gets the bound next to it."""
    rng = np.random.default_rng(5)
    draws = rng.standard_normal((40, 3))
    unit = np.array([1.0, 10.0**exponent, 1.0])
    scales = learnt(draws * unit, -draws / unit)
    bound = SMALLEST_VARIANCE if exponent < 0 else LARGEST_VARIANCE
    np.testing.assert_allclose(scales.scale**2, [1.0, bound, 1.0], rtol=1e-10)


@pytest.mark.parametrize("exponent", [0, 4, 8, 12, 16])
def test_momenta_have_the_kinetic_energy_of_their_metric_however_narrow_the_draws(exponent: int) -> None:
    """Half the squared length of the normal numbers they are made of, up to the rounding that the bounds allow."""
    rng = np.random.default_rng(exponent)
    wide = rng.standard_normal((400, 2))
    draws = np.column_stack([wide[:, 0], wide[:, 0] + 10.0**-exponent * wide[:, 1]])
    narrow = 10.0**exponent * wide[:, 1]
    found = estimate(draws, np.column_stack([narrow - wide[:, 0], -narrow]), "dense")
    assert found is not None
    assert (found.eigenvalues >= SMALLEST_EIGENVALUE).all()
    assert (found.eigenvalues <= LARGEST_EIGENVALUE).all()
    metric = metric_of(found)
    for _ in range(20):
        numbers = rng.standard_normal(2)
        momentum, velocity = numbers.copy(), np.zeros(2)
        scale_momentum.compiled(metric, momentum)
        velocity_of.compiled(metric, momentum, velocity)
        assert momentum @ velocity == pytest.approx(numbers @ numbers, rel=1e-4)


def test_no_metric_from_too_few_draws() -> None:
    """Fewer than four, one, or none."""
    for count in range(FEWEST_DRAWS):
        assert estimate(np.ones((count, 2)), np.ones((count, 2))) is None


@pytest.mark.parametrize("form", ["auto", "diag", "lowrank", "dense"])
def test_constant_coordinates_keep_the_unit_and_leave_the_others_alone(form: Form) -> None:
    """One that never moved, one without slope, and both at once."""
    rng = np.random.default_rng(6)
    covariance = np.array([[4.0, 3.0], [3.0, 9.0]])
    moving, slopes = draws_of(rng, covariance, 60)
    still, noise = np.full((60, 1), 7.0), rng.standard_normal((60, 1))
    draws = np.hstack([still, moving, noise, still])
    gradients = np.hstack([noise, slopes, 0.0 * noise, still])
    scales = learnt(draws, gradients, form)
    np.testing.assert_allclose(scales.scale[[0, 3, 4]], 1.0)
    np.testing.assert_allclose(scales.scale[1:3], learnt(moving, slopes, "diag").scale, rtol=1e-12)


@pytest.mark.parametrize("form", ["auto", "diag", "lowrank", "dense"])
def test_nothing_moved_or_nothing_slopes(form: Form) -> None:
    """Then nothing is known."""
    numbers = np.random.default_rng(7).standard_normal((20, 3))
    for draws, gradients in ((np.ones((20, 3)), numbers), (numbers, np.zeros((20, 3))), (numbers * 0, numbers * 0)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert estimate(draws, gradients, form) is None


@pytest.mark.parametrize("form", ["auto", "diag", "lowrank", "dense"])
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf, 1.7e308])
@pytest.mark.parametrize("where", ["draws", "gradients", "both"])
@pytest.mark.parametrize("everywhere", [False, True])
def test_numbers_that_are_not_finite_are_survived(form: Form, poison: float, where: str, everywhere: bool) -> None:
    """One coordinate or all of them: a valid metric or none, and no warning."""
    rng = np.random.default_rng(8)
    draws, gradients = draws_of(rng, gaussian(rng, 4), 30)
    for name, values in (("draws", draws), ("gradients", gradients)):
        if where in (name, "both"):
            values[3, slice(None) if everywhere else 1] = poison
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scales = estimate(draws, gradients, form)
    if scales is not None:
        check(scales, 4)
    assert everywhere or scales is not None


def test_inputs_are_left_alone() -> None:
    """And twice the same input gives twice the same bits."""
    rng = np.random.default_rng(9)
    draws, gradients = draws_of(rng, gaussian(rng, 10), 40)
    copies = draws.copy(), gradients.copy()
    one, other = learnt(draws, gradients), learnt(draws, gradients)
    np.testing.assert_array_equal(draws, copies[0])
    np.testing.assert_array_equal(gradients, copies[1])
    np.testing.assert_array_equal(one.directions, other.directions)
    np.testing.assert_array_equal(one.eigenvalues, other.eigenvalues)
