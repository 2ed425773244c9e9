"""Processes on regular grids by Toeplitz's algebra: values and slopes of the dense one, within the rounding of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import toeplitz

import consilience as pm
import consilience.tensor as pt
from consilience.errors import LinearAlgebraError
from consilience.planning.choice import plan
from consilience.planning.explore.toeplitz import column_of
from consilience.rewrite.rules import simplify
from tests.rewrite.precise import digits

RNG = np.random.default_rng(4)
N = 120
GRID = np.linspace(-3.0, 7.0, N)
Y = np.sin(GRID) + 0.3 * RNG.normal(size=N)


def covariances(ls: Any) -> dict[str, Any]:
    return {
        "ExpQuad": pm.gp.cov.ExpQuad(1, ls),
        "RatQuad": pm.gp.cov.RatQuad(1, 0.7, ls),
        "Matern52 and a constant": pm.gp.cov.Matern52(1, ls) + pm.gp.cov.Constant(0.3),
        "Periodic times ExpQuad": pm.gp.cov.Periodic(1, 2.0, ls) * pm.gp.cov.ExpQuad(1, 3.0),
    }


def process(kind: str = "ExpQuad", x: Any = GRID) -> pm.Model:
    with pm.Model() as model:
        ls, eta, sigma = pm.Gamma("ls", 2, 1), pm.HalfNormal("eta", 1), pm.HalfNormal("sigma", 1)
        b = pm.Normal("b", 0.0, 1.0)
        gp = pm.gp.Marginal(mean_func=pm.gp.mean.Constant(b), cov_func=eta**2 * covariances(ls)[kind])
        gp.marginal_likelihood("y", x[:, None], Y[: len(x)], sigma=sigma)
    return model


@pytest.mark.parametrize("kind", covariances(1.0))
def test_log_densities_and_slopes_are_those_of_dense_matrices(kind: str) -> None:
    model = process(kind)
    slopes = {
        planned: pm.function(model.value_vars, model.dlogp(), plan=planned, on_unused_input="ignore")
        for planned in (True, False)
    }
    values = {
        planned: pm.function(model.value_vars, model.logp(), plan=planned, on_unused_input="ignore")
        for planned in (True, False)
    }
    for ls, sigma in ((1.0, 0.3), (1e-3, 0.3), (200.0, 0.3), (0.5, 0.01), (3.0, 3.0)):
        point = [np.log(ls), np.log(1.3), np.log(sigma), 0.2]
        assert values[True](*point) == pytest.approx(float(values[False](*point)), rel=1e-9)
        wanted = slopes[False](*point)
        np.testing.assert_allclose(slopes[True](*point), wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())
    assert "system of a Toeplitz matrix: " in str(slopes[True].explain())
    assert "toeplitz" not in str(slopes[False].explain()).partition("what is computed")[2]


@pytest.mark.parametrize("noise", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("ls", [0.05, 1.0, 20.0])
def test_errors_are_in_proportion_to_the_condition_as_those_of_cholesky_factors_are(ls: float, noise: float) -> None:
    """Against 60 digits: log determinant, quadratic form, and their slopes in the noise."""
    n = 24
    x = np.arange(n) / 8.0
    y = RNG.normal(size=n)
    s = pt.dscalar("s")
    K = pt.exp(-0.5 * np.square(np.subtract.outer(x, x)) / ls**2) + s * pt.eye(n)
    logp = pm.logp(pm.MvNormal.dist(np.zeros(n), K), pt.as_tensor(y))
    made = pm.function([s], _forced([logp, pt.grad(logp, s)]))(noise)
    mp = digits()
    with mp.workdps(60):
        whole = mp.matrix(toeplitz(np.exp(-0.5 * np.square(x) / ls**2)).tolist()) + mp.mpf(noise) * mp.eye(n)
        inverse = whole**-1
        solved = inverse * mp.matrix(y.tolist())
        quadratic = mp.fsum(a * b for a, b in zip(solved, y.tolist(), strict=True))
        value = -(mp.log(mp.det(whole)) + quadratic + n * mp.log(2 * mp.pi)) / 2
        trace = mp.fsum(inverse[i, i] for i in range(n))
        squares = mp.fsum(a * a for a in solved)
        sizes = (abs(mp.log(mp.det(whole))) + quadratic, trace + squares)
        condition = np.linalg.cond(toeplitz(np.exp(-0.5 * np.square(x) / ls**2)) + noise * np.eye(n))
        for found, true, size in zip(made, (value, (squares - trace) / 2), sizes, strict=True):
            assert abs(mp.mpf(float(found)) - true) < 16 * np.finfo(float).eps * condition * size


def _forced(outputs: list[Any]) -> list[Any]:
    """In Toeplitz's algebra, whatever it costs."""

    def choice(found: Any) -> dict[int, int]:
        chosen = {}
        for number, members in enumerate(found.members):
            for place, member in enumerate(members):
                if "Toeplitz" in member.rule or "diagonals" in member.rule or "by the solution" in member.rule:
                    chosen[number] = place
        return chosen

    made = plan(simplify(outputs), choice=choice)
    assert "determinant of a Toeplitz matrix" in made.rules
    return list(made.outputs)


def recognised(x: Any) -> bool:
    points = pt.as_tensor(np.asarray(x, dtype=float))
    s = pt.dscalar("s")
    differences = points[:, None] - points[None, :]
    (K,) = simplify([pt.exp(-pt.square(differences) / s) + s * pt.eye(len(np.asarray(x)))])
    return column_of(K) is not None


def test_only_constants_on_a_regular_grid_are_taken_for_one() -> None:
    assert recognised(np.arange(30))
    assert recognised(np.linspace(0.0, 1.0, 1000))
    assert recognised(np.linspace(5.0, 0.1, 200))
    assert not recognised(np.sort(RNG.random(30)))
    assert not recognised(np.arange(30) + 1e-9 * RNG.random(30))
    assert not recognised(np.arange(30) // 2)
    assert not recognised([0.0, 1.0, 2.0, 3.0, 5.0])
    assert not recognised(np.where(np.arange(9) == 4, np.nan, np.arange(9)))
    x, s = pt.dvector("x"), pt.dscalar("s")
    assert column_of(pt.exp(-pt.square(x[:, None] - x[None, :]) / s)) is None
    squares = np.square(np.subtract.outer(GRID, GRID))
    assert column_of(pt.exp(-pt.as_tensor(squares) / s)) is not None
    squares[4, 5] = squares[5, 4] = squares[4, 5] * (1.0 + 1e-9)
    assert column_of(pt.exp(-pt.as_tensor(squares) / s)) is None


def test_functions_that_are_not_symmetric_are_not_taken() -> None:
    steps = pt.as_tensor(np.subtract.outer(np.arange(9.0), np.arange(9.0)))
    s = pt.dscalar("s")
    assert column_of(pt.exp(steps * s)) is None
    assert column_of(steps * s + 1.0) is None
    for odd in (steps * s, pt.sin(steps), steps * pt.exp(-pt.square(steps))):
        found = column_of(odd)
        assert found is not None
        assert found[1] == -1
    for even in (steps * steps * s, pt.cos(steps), pt.sin(steps) * steps):
        found = column_of(even)
        assert found is not None
        assert found[1] == 1


def test_inputs_that_may_be_exchanged_keep_the_dense_algebra() -> None:
    with pm.Model() as model:
        x = pm.Data("x", GRID[:, None])
        ls = pm.Gamma("ls", 2, 1)
        pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, ls)).marginal_likelihood("y", x, Y, sigma=0.3)
    logp = model.compile_logp()
    on_grid = logp({"ls_log__": 0.1})
    other = np.sort(RNG.random(N)) * 5.0
    pm.set_data({"x": other[:, None]}, model=model)
    with pm.Model() as written:
        ls = pm.Gamma("ls", 2, 1)
        pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, ls)).marginal_likelihood("y", other[:, None], Y, sigma=0.3)
    assert logp({"ls_log__": 0.1}) == pytest.approx(float(written.compile_logp()({"ls_log__": 0.1})), rel=1e-12)
    assert logp({"ls_log__": 0.1}) != on_grid


def test_a_matrix_that_is_not_definite_has_no_density() -> None:
    x = np.arange(N) * 1.0
    s = pt.dscalar("s")
    K = 1.0 - s * np.abs(np.subtract.outer(x, x)) + 0.0 * pt.eye(N)
    logp = pm.logp(pm.MvNormal.dist(np.zeros(N), K), pt.as_tensor(Y))
    with pytest.raises(LinearAlgebraError):
        pm.function([s], [logp, pt.grad(logp, s)])(2.0)
