"""Covariance and mean functions against their formulas in NumPy, and what they say of bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ConsilienceWarning, GraphError, ParameterError, ShapeError

Floats = npt.NDArray[np.float64]
RNG = np.random.default_rng(3)
X = RNG.normal(size=(7, 2))
XS = np.concatenate([X[:2], RNG.normal(size=(3, 2))])
LS = np.array([0.7, 1.3])
PERIOD = np.array([1.1, 2.3])


def scaled(a: Floats, b: Floats, ls: Floats | float = LS) -> Floats:
    """Distances after division by lengthscales."""
    return np.asarray(np.sqrt((((a[:, None] - b[None]) / ls) ** 2).sum(-1)))


def matern(order: int, r: Floats) -> Floats:
    z = np.sqrt(float(order)) * r
    return np.asarray({1: 1.0, 3: 1.0 + z, 5: 1.0 + z + z**2 / 3.0}[order] * np.exp(-z))


def circular(a: Floats, b: Floats) -> Floats:
    apart = np.abs(a[:, None, 0] - b[None, :, 0]) % 2.0
    t = np.minimum(apart, 2.0 - apart)
    return np.asarray((1.0 + 5.0 * t) * np.clip(1.0 - t, 0.0, None) ** 5.0)


def gibbs(a: Floats, b: Floats) -> Floats:
    left, right = np.exp(0.3 * a[:, None, 1]), np.exp(0.3 * b[None, :, 1])
    total = left**2 + right**2
    return np.asarray(np.sqrt(2.0 * left * right / total) * np.exp(-((a[:, None, 1] - b[None, :, 1]) ** 2) / total))


def chords(a: Floats, b: Floats, factor: float) -> Floats:
    return np.asarray(((factor * np.sin(np.pi * (a[:, None] - b[None]) / PERIOD) / LS) ** 2).sum(-1))


cov = pm.gp.cov
W, KAPPA = np.array([[0.5, 1.0], [0.2, -0.3], [1.0, 0.1]]), np.array([0.1, 0.2, 0.3])
Formula = Callable[[Floats, Floats], Any]
CASES: dict[str, tuple[Any, Formula]] = {
    "ExpQuad": (cov.ExpQuad(2, LS), lambda a, b: np.exp(-0.5 * scaled(a, b) ** 2)),
    "ls_inv": (cov.ExpQuad(2, ls_inv=1.0 / LS), lambda a, b: np.exp(-0.5 * scaled(a, b) ** 2)),
    "one lengthscale": (cov.ExpQuad(2, 0.8), lambda a, b: np.exp(-0.5 * scaled(a, b, 0.8) ** 2)),
    "active_dims": (
        cov.Matern32(2, 0.8, active_dims=[1]),
        lambda a, b: matern(3, scaled(a[:, 1:], b[:, 1:], 0.8)),
    ),
    "RatQuad": (cov.RatQuad(2, alpha=0.6, ls=LS), lambda a, b: (1.0 + scaled(a, b) ** 2 / 1.2) ** -0.6),
    "Exponential": (cov.Exponential(2, LS), lambda a, b: np.exp(-0.5 * scaled(a, b))),
    "Matern12": (cov.Matern12(2, LS), lambda a, b: matern(1, scaled(a, b))),
    "Matern32": (cov.Matern32(2, LS), lambda a, b: matern(3, scaled(a, b))),
    "Matern52": (cov.Matern52(2, LS), lambda a, b: matern(5, scaled(a, b))),
    "Cosine": (cov.Cosine(2, LS), lambda a, b: np.cos(2.0 * np.pi * scaled(a, b))),
    "Periodic": (cov.Periodic(2, PERIOD, ls=LS), lambda a, b: np.exp(-0.5 * chords(a, b, 1.0))),
    "WrappedPeriodic": (
        cov.WrappedPeriodic(cov.Matern52(2, LS), PERIOD),
        lambda a, b: matern(5, np.sqrt(chords(a, b, 1.0))),
    ),
    "Circular": (cov.Circular(2, 2.0, tau=5.0, active_dims=[0]), circular),
    "Linear": (cov.Linear(2, c=0.4), lambda a, b: (a - 0.4) @ (b - 0.4).T),
    "Polynomial": (cov.Polynomial(2, c=0.4, d=3, offset=0.5), lambda a, b: ((a - 0.4) @ (b - 0.4).T + 0.5) ** 3),
    "Constant": (cov.Constant(1.7), lambda a, b: np.full((len(a), len(b)), 1.7)),
    "Gibbs": (cov.Gibbs(2, lambda x, k: pt.exp(k * x), args=(0.3,), active_dims=[1]), gibbs),
    "WarpedInput": (
        cov.WarpedInput(2, cov.ExpQuad(2, LS), lambda x: pt.tanh(x)),
        lambda a, b: np.exp(-0.5 * scaled(np.tanh(a), np.tanh(b)) ** 2),
    ),
    "ScaledCov": (
        cov.ScaledCov(2, cov.ExpQuad(2, LS), lambda x: pt.exp(x[:, 0])),
        lambda a, b: np.exp(a[:, None, 0] - 0.5 * scaled(a, b) ** 2 + b[None, :, 0]),
    ),
    "sum, product, power and scale": (
        2.0 * cov.ExpQuad(2, LS) ** 3 + cov.Matern12(2, LS) * cov.Constant(0.5) * np.array(3.0) + 0.25,
        lambda a, b: 2.0 * np.exp(-1.5 * scaled(a, b) ** 2) + 1.5 * matern(1, scaled(a, b)) + 0.25,
    ),
    "Kron": (
        cov.Kron([cov.ExpQuad(1, LS[0]), cov.Matern32(1, LS[1])]),
        lambda a, b: (
            np.exp(-0.5 * scaled(a[:, :1], b[:, :1], LS[0]) ** 2) * matern(3, scaled(a[:, 1:], b[:, 1:], LS[1]))
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_matrices_crossed_matrices_and_variances_follow_the_formula(name: str) -> None:
    function, formula = CASES[name]
    full, across, variances = pt.function([], [function(X), function(X, XS), function(X, diag=True)])()
    np.testing.assert_allclose(full, formula(X, X), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(across, formula(X, XS), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(variances, np.diag(formula(X, X)), rtol=1e-13, atol=1e-14)


def test_outputs_are_chosen_by_a_column_of_whole_numbers() -> None:
    B = W @ W.T + np.diag(KAPPA)
    inputs, others = np.array([[0.0], [2.0], [2.0], [1.0]]), np.array([[1.0], [0.0]])
    for function in (cov.Coregion(1, W=W, kappa=KAPPA), cov.Coregion(1, B=B)):
        rows, columns = inputs[:, 0].astype(int), others[:, 0].astype(int)
        np.testing.assert_allclose(function(inputs).eval(), B[np.ix_(rows, rows)])
        np.testing.assert_allclose(function(inputs, others).eval(), B[np.ix_(rows, columns)])
        np.testing.assert_allclose(function(inputs, diag=True).eval(), np.diag(B)[rows])


def test_white_noise_is_of_each_point_alone() -> None:
    noise = cov.WhiteNoise(0.3)
    np.testing.assert_allclose(noise(X).eval(), 0.09 * np.eye(7))
    np.testing.assert_allclose(noise(X, X).eval(), 0.0)
    np.testing.assert_allclose(noise(X, diag=True).eval(), 0.09)


def test_a_matrix_of_numbers_may_be_added_and_multiplied() -> None:
    matrix = RNG.normal(size=(7, 7))
    kernel = CASES["ExpQuad"][1](X, X)
    np.testing.assert_allclose((matrix * cov.ExpQuad(2, LS))(X).eval(), matrix * kernel)
    np.testing.assert_allclose((cov.ExpQuad(2, LS) + matrix)(X).eval(), matrix + kernel)


@pytest.mark.parametrize("name", ["Matern12", "Matern32", "Matern52", "ExpQuad", "RatQuad", "Exponential"])
def test_the_gradient_by_the_lengthscale_is_that_of_differences_also_for_equal_points(name: str) -> None:
    ls = pt.dscalar("ls")
    make = getattr(cov, name)
    extra = {"alpha": 0.7} if name == "RatQuad" else {}
    total = pt.sum(pt.sin(make(2, ls=ls, **extra)(np.concatenate([X, X[:1]]))))
    f = pt.function([ls], [total, pt.grad(total, ls)])
    step = 1e-6
    assert f(0.9)[1] == pytest.approx((f(0.9 + step)[0] - f(0.9 - step)[0]) / (2 * step), rel=1e-7)


@pytest.mark.parametrize("name", ["ExpQuad", "Matern12", "Matern32", "Matern52", "Exponential"])
def test_the_covariance_is_the_fourier_transform_of_the_spectral_density(name: str) -> None:
    """In one dimension, by the trapezoidal rule; the tail beyond the grid is bounded by that of w^-2."""
    kernel = 1.5 * getattr(cov, name)(1, 0.7)
    omega = np.linspace(-4000.0, 4000.0, 800_001)
    density = kernel.power_spectral_density(omega[:, None]).eval()
    distances = np.array([0.0, 0.3, 1.1])
    found = [np.trapezoid(density * np.cos(omega * r), omega) / (2.0 * np.pi) for r in distances]
    np.testing.assert_allclose(found, kernel(np.zeros((1, 1)), distances[:, None]).eval()[0], atol=1e-3)


def test_the_spectral_density_in_two_dimensions_integrates_to_the_variance() -> None:
    omega = np.linspace(-60.0, 60.0, 601)
    grid = np.stack(np.meshgrid(omega, omega), -1).reshape(-1, 2)
    for name, more in (("ExpQuad", {}), ("Matern52", {}), ("RatQuad", {"alpha": 2.3})):
        density = getattr(cov, name)(2, ls=LS, **more).power_spectral_density(grid).eval()
        assert density.sum() * (omega[1] - omega[0]) ** 2 / (2.0 * np.pi) ** 2 == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("ls", [0.05, 0.3, 2.0, 50.0])
def test_harmonics_of_the_periodic_function_are_scaled_bessel_functions(ls: float) -> None:
    from scipy.special import ive

    order = np.arange(12.0)
    a = 0.25 / ls**2
    wanted = np.where(order > 0, 2.0, 1.0) * ive(order, a)
    found = cov.Periodic(1, 1.7, ls=ls).power_spectral_density_approx(order).eval()
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_means_combine() -> None:
    mean = 2.0 * pm.gp.mean.Linear([1.0, -2.0], 0.5) + pm.gp.mean.Constant(3.0) * pm.gp.mean.Constant(2.0)
    np.testing.assert_allclose((mean + pm.gp.mean.Zero())(X).eval(), 2.0 * (X @ [1.0, -2.0] + 0.5) + 6.0)


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: cov.ExpQuad(1, -1.0), ParameterError, "ls must be finite and above 0, got -1.0"),
    (lambda: cov.ExpQuad(2, [1.0, 0.0]), ParameterError, "above 0, got 0.0"),
    (lambda: cov.ExpQuad(1), ParameterError, "one of `ls` and `ls_inv`"),
    (lambda: cov.ExpQuad(2, [1.0, 2.0, 3.0]), ShapeError, "2 numbers"),
    (lambda: cov.ExpQuad(1, 1.0, active_dims=[1]), ShapeError, r"active_dims \[1\] must be columns from 0 to 0"),
    (lambda: cov.ExpQuad(0, 1.0), ParameterError, "input_dim must be an integer >= 1"),
    (lambda: cov.ExpQuad(1, 1.0)(np.zeros(3)), ShapeError, r"write `X\[:, None\]`"),
    (lambda: cov.ExpQuad(3, 1.0, active_dims=[2])(np.zeros((4, 2))), ShapeError, "column 2 is not there"),
    (lambda: cov.ExpQuad(1, 1.0) ** 0.5, ParameterError, "whole number >= 1"),
    (lambda: cov.ExpQuad(1, 1.0) + np.zeros(3), ShapeError, "numbers and matrices"),
    (lambda: cov.Coregion(1, W=W), ParameterError, "`W` and `kappa`, or `B`"),
    (lambda: cov.Coregion(2, B=np.eye(2)), ParameterError, "reads one column"),
    (lambda: cov.Gibbs(1, 2.0), ParameterError, "must be a function"),
    (lambda: cov.Cosine(1, 1.0).power_spectral_density(X), GraphError, "no power spectral density"),
    (lambda: pm.gp.mean.Linear([1.0, 2.0, 3.0])(X), ShapeError, "3 numbers, and X has 2 columns"),
    (lambda: pm.gp.util.stabilize(np.eye(2), -1.0), ParameterError, "jitter must be a finite number >= 0"),
]


@pytest.mark.parametrize(("make", "error", "said"), BAD)
def test_bad_input_is_refused_where_it_is_written(make: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make()


def test_columns_that_nobody_reads_are_told() -> None:
    with pytest.warns(ConsilienceWarning, match="input_dim=1, and X has 2 columns"):
        cov.ExpQuad(1, 1.0)(X)


def test_inducing_points_are_centres_of_clusters() -> None:
    centres = np.array([[0.0, 0.0], [5.0, 100.0], [10.0, -100.0]])
    data = np.repeat(centres, 30, axis=0) + 0.01 * RNG.normal(size=(90, 2))
    found = pm.gp.util.kmeans_inducing_points(3, data, random_seed=1)
    np.testing.assert_allclose(found[np.argsort(found[:, 0])], centres, atol=0.05)
    with pytest.raises(ParameterError, match="from 1 to 90"):
        pm.gp.util.kmeans_inducing_points(100, data)
    of_an_expression = pm.gp.util.kmeans_inducing_points(3, pt.as_tensor(data), random_seed=1)
    np.testing.assert_array_equal(of_an_expression, found)


def test_functions_are_drawn_as_bands_of_quantiles_and_single_lines() -> None:
    from matplotlib.figure import Figure

    at = np.linspace(0.0, 1.0, 7)
    ax = Figure().subplots()
    rows = RNG.normal(size=(50, 7))
    assert pm.gp.util.plot_gp_dist(ax, rows, at[:, None]) is ax
    assert len(ax.lines) == 30
    outer = ax.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose(
        [outer.min(), outer.max()], [np.percentile(rows, 1, axis=0).min(), np.percentile(rows, 99, axis=0).max()]
    )
    with pytest.warns(ConsilienceWarning, match="NaN"):
        pm.gp.util.plot_gp_dist(ax, np.where(rows > 2.0, np.nan, rows), at, plot_samples=False)
    with pytest.raises(ShapeError, match="7 columns"):
        pm.gp.util.plot_gp_dist(ax, rows[:, :3], at)


def test_a_power_is_a_whole_number_of_any_spelling() -> None:
    x = np.linspace(0.0, 1.0, 4)[:, None]
    for power in (np.array([[2]]), pt.constant(2.0)):
        np.testing.assert_allclose((cov.ExpQuad(1, 0.3) ** power)(x).eval(), cov.ExpQuad(1, 0.3)(x).eval() ** 2)
