"""The log density of whole models against SciPy's, and its gradient against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import consilience as pm
import consilience.tensor as pt
from consilience.distributions import transforms
from consilience.model import ModelDensity
from tests.model.densities import CASES, REALS

STEP = 1e-5


def near_the_start(model: pm.Model, seed: int) -> tuple[ModelDensity, np.ndarray]:
    """The model's density and a position some way from its starting point."""
    density = model.log_density()
    start = density.layout.position(model.initial_point())
    return density, start + 0.3 * np.random.default_rng(seed).normal(size=density.dimension)


def natural(density: ModelDensity, position: np.ndarray) -> dict[str, np.ndarray]:
    """Values of all variables at a position, on their own scales."""
    return {name: values[0] for name, values in density.expand(position[None]).items()}


def log_jacobian(density: ModelDensity, position: np.ndarray) -> float:
    """log |d values / d position| by central differences; of a simplex all but the last element count."""

    def flat(at: np.ndarray) -> np.ndarray:
        values = natural(density, at)
        return np.concatenate([np.ravel(values[s.variable.name])[: s.size] for s in density.layout.stretches])

    columns = [(flat(position + STEP * e) - flat(position - STEP * e)) / (2 * STEP) for e in np.eye(density.dimension)]
    return float(np.linalg.slogdet(np.stack(columns, axis=1))[1])


@pytest.mark.parametrize("name", CASES)
def test_log_density_is_the_sum_of_scipys_and_the_jacobian(name: str) -> None:
    density, position = near_the_start(CASES[name].build(), seed=1)
    expected = CASES[name].logp(natural(density, position)) + log_jacobian(density, position)
    assert density(position)[0] == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_the_finite_difference(name: str) -> None:
    model = CASES[name].build()
    density, position = near_the_start(model, seed=2)
    point = density.layout.point(position)
    logp, gradient = model.compile_logp(), model.compile_dlogp()(point)
    shifted = [[logp(density.layout.point(position + h * e)) for h in (STEP, -STEP)] for e in np.eye(density.dimension)]
    differences = np.array([(up - down) / (2 * STEP) for up, down in shifted])
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_point_logps_sum_to_the_log_density(name: str) -> None:
    model = CASES[name].build()
    parts = model.point_logps()
    assert set(parts) == {v.name for v in model.variables} | set(model.named_potentials)
    assert sum(parts.values()) == pytest.approx(model.compile_logp()(model.initial_point()), rel=1e-12)


def test_default_start_is_where_pymc_starts() -> None:
    with pm.Model() as model:
        pm.Normal("mu", 3, 1, shape=2)
        pm.HalfNormal("tau", 2.0)
    point = model.initial_point()
    assert list(point) == ["mu", "tau_log__"]
    np.testing.assert_array_equal(point["mu"], [3.0, 3.0])
    assert point["tau_log__"].shape == ()


def test_untransformed_variable_has_no_density_outside_its_support() -> None:
    with pm.Model() as model:
        pm.HalfNormal("s", 1.0, transform=None, initval=0.5)
        pm.Uniform("u", 0, 2, default_transform=None, initval=1.0)
    logp = model.compile_logp()
    assert list(model.initial_point()) == ["s", "u"]
    assert np.isfinite(logp({"s": 0.5, "u": 1.0}))
    assert logp({"s": -0.5, "u": 1.0}) == -np.inf
    assert logp({"s": 0.5, "u": 2.5}) == -np.inf


def test_transform_that_leaves_the_support_keeps_the_density_honest() -> None:
    """exp(v) covers (0, inf), the variable lives on (0, 2)."""
    with pm.Model() as model:
        pm.Uniform("u", 0, 2, default_transform=None, transform=transforms.log, initval=1.0)
    logp = model.compile_logp()
    assert logp({"u_log__": 0.0}) == pytest.approx(np.log(0.5))
    assert logp({"u_log__": 1.0}) == -np.inf


def test_deterministics_are_functions_of_the_draws() -> None:
    with pm.Model() as model:
        a = pm.HalfNormal("a", 1.0, shape=3)
        pm.Deterministic("total", (a**2).sum())
        y = pm.Normal("y", a, 1.0, observed=REALS)
        pm.Deterministic("residual", y - a)
    density = model.log_density()
    positions = np.random.default_rng(1).normal(size=(5, 3))
    values = density.expand(positions)
    np.testing.assert_allclose(values["a"], np.exp(positions))
    np.testing.assert_allclose(values["total"], (np.exp(positions) ** 2).sum(axis=1))
    np.testing.assert_allclose(values["residual"], REALS - np.exp(positions))


def test_dtypes_of_deterministics_survive() -> None:
    with pm.Model() as model:
        x = pm.Normal("x", shape=3)
        pm.Deterministic("above", x > 0)
        pm.Deterministic("best", pm.math.argmax(x))
    values = model.log_density().expand(np.array([[1.0, -1.0, 2.0], [-1.0, 5.0, 2.0]]))
    assert values["above"].dtype == bool
    np.testing.assert_array_equal(values["above"], [[True, False, True], [False, True, True]])
    np.testing.assert_array_equal(values["best"], [2, 1])


def test_deterministic_without_value_is_nan_in_its_draw_alone() -> None:
    with pm.Model() as model:
        x = pm.Normal("x", shape=2)
        matrix = pm.math.stack([pm.math.stack([x[0], x[1]]), pm.math.stack([x[1], x[0]])])
        pm.Deterministic("factor", pm.math.linalg.cholesky(matrix))
    with pytest.warns(pm.ConsilienceWarning, match="1 of 3 draws"):
        values = model.log_density().expand(np.array([[4.0, 1.0], [-1.0, 2.0], [9.0, 3.0]]))
    np.testing.assert_array_equal(values["x"], [[4.0, 1.0], [-1.0, 2.0], [9.0, 3.0]])
    np.testing.assert_array_equal(values["factor"][[0, 2], 0, 0], [2.0, 3.0])
    assert np.isnan(values["factor"][1]).all()


def test_matrix_without_factor_inside_the_density_has_no_probability() -> None:
    with pm.Model() as model:
        r = pm.Normal("r", initval=0.2)
        covariance = pm.math.stack([pm.math.stack([1.0, r]), pm.math.stack([r, 1.0])])
        pm.MvNormal("y", np.zeros(2), cov=covariance, observed=[0.1, 0.2])
    density = model.log_density()
    assert np.isfinite(density([0.5])[0])
    assert density([1.5])[0] == -np.inf


def test_debug_prints_each_term_and_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        pm.Normal("y", pm.math.log(mu), 1, observed=[1.0, 2.0])
    model.debug()
    printed = capsys.readouterr().out
    assert "mu" in printed
    assert "-0.918939" in printed
    assert "`y` has log density -inf" in printed
    assert "of `mu` = 0" in printed


def test_variables_of_single_precision() -> None:
    zero, one = np.float32(0), np.float32(1)
    with pm.Model() as model:
        x = pm.Normal("x", zero, one, shape=2)
        s = pm.HalfNormal("s", one)
        t = pm.Deterministic("t", x * s)
        pm.Normal("y", t, s, observed=np.array([1.0, 2.0], "float32"))
    density = model.log_density()
    values = density.expand(np.array([[0.5, -0.5, 0.0]]))
    assert {name: value.dtype.name for name, value in values.items()} == dict.fromkeys("xst", "float32")
    expected = sum(stats.norm.logpdf(v) for v in (0.5, -0.5, 0.5, 2.5)) + stats.halfnorm.logpdf(1.0)
    assert density([0.5, -0.5, 0.0])[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("rows", [1, 2])
def test_parameters_may_be_data_of_one_row_beside_values_of_as_many(rows: int) -> None:
    values = np.arange(1.0, 1.0 + 2 * rows).reshape(rows, 2)
    with pm.Model() as model:
        exposure = pm.Data("exposure", np.full((rows, 2), 2.0))
        rate = pm.HalfNormal("rate")
        pm.CustomDist("y", rate / exposure, logp=lambda v, r: pt.log(r) - r * v, observed=values)
    found = model.compile_logp()({"rate_log__": np.log(0.5)})
    expected = stats.halfnorm.logpdf(0.5) + np.log(0.5) + stats.expon.logpdf(values, scale=4.0).sum()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
