"""Minima and roots: solutions are those of SciPy or of formulas, derivatives those of implicit functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DisconnectedInputError, DtypeError, GraphError, NullTypeGradError, ShapeError
from consilience.gradient import pushforward
from consilience.ir import Node, topological
from consilience.ir.region import regions_of
from consilience.ops.python_call import PythonCall

Array = npt.NDArray[Any]
MINIMIZE = ("BFGS", "L-BFGS-B")
MINIMIZE_SCIPY = ("Nelder-Mead", "Powell", "CG", "Newton-CG", "TNC", "COBYLA", "COBYQA", "SLSQP", "trust-constr",
                  "dogleg", "trust-ncg", "trust-exact", "trust-krylov")  # fmt: skip
ROOT = ("hybr", "newton")
ROOT_SCIPY = ("lm", "broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing", "krylov",
              "df-sane")  # fmt: skip
OPEN = ("newton", "secant", "halley")
BRACKETED = ("bisect", "brentq")
BRACKETED_SCIPY = ("brenth", "ridder", "toms748")


def differences(f: Callable[[Array], Array], at: Array, size: float = 1e-5) -> Array:
    """The derivative of a function by every element, by central differences."""
    rows = [(f(at + size * e) - f(at - size * e)) / (2 * size) for e in np.eye(len(at))]
    return np.array(rows)


# Minima of (x - m)' A (x - m) / 2 + sum(log(cosh(x))), which is convex: A has eigenvalues in [1, 10].


@functools.cache
def bowl(method: str) -> pt.Function:
    x, m, A, weights = pt.vectors("x", "m", "weights")[0], pt.vector("m"), pt.matrix("A"), pt.vector("weights")
    gap = x - m
    value = 0.5 * (gap @ (A @ gap)) + pt.log(pt.cosh(x)).sum()
    solution, success = pt.optimize.minimize(value, x, method=method)
    return pt.function([x, m, A, weights], [solution, success, *pt.grad((weights * solution).sum(), [m, A])])


@pytest.mark.parametrize("method", MINIMIZE)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1, 2, 6]))
def test_minima_of_random_convex_functions(method: str, seed: int, size: int) -> None:
    """The gradient vanishes there, and the derivative by m is (A + H)^-1 A."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(size, size)))
    A = (turn * rng.uniform(1, 10, size)) @ turn.T
    m, weights = rng.normal(size=size) * 3, rng.normal(size=size)
    found, success, by_m, by_A = bowl(method)(rng.normal(size=size) * 5, m, A, weights)
    assert success
    np.testing.assert_allclose(A @ (found - m) + np.tanh(found), 0, atol=2e-8 * 10)
    pulled = np.linalg.solve(A + np.diag(1 / np.cosh(found) ** 2), weights)
    np.testing.assert_allclose(by_m, A @ pulled, rtol=1e-6, atol=1e-7)
    symmetric = -0.5 * (np.outer(pulled, found - m) + np.outer(found - m, pulled))
    np.testing.assert_allclose(by_A, symmetric, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", MINIMIZE)
def test_rosenbrock_takes_no_more_evaluations_than_scipy_allows(method: str) -> None:
    """The banana of ten variables is solved within its default number of steps."""
    x = pt.vector("x")
    value = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    f = pt.function([x], pt.optimize.minimize(value, x, method=method))
    found, success = f(np.tile([-1.2, 1.0], 5))
    assert success
    np.testing.assert_allclose(found, optimize.rosen_der(found) * 0 + found)
    np.testing.assert_allclose(optimize.rosen_der(found), 0, atol=1e-6)


# Roots of x + tanh(B x) / 2 - c with |B| < 1, of which there is one.


@functools.cache
def system(method: str) -> pt.Function:
    x, c, B, weights = pt.vector("x"), pt.vector("c"), pt.matrix("B"), pt.vector("weights")
    solution, success = pt.optimize.root(x + 0.5 * pt.tanh(B @ x) - c, x, method=method)
    return pt.function([x, c, B, weights], [solution, success, *pt.grad((weights * solution).sum(), [c, B])])


@pytest.mark.parametrize("method", ROOT)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1, 2, 6]))
def test_roots_of_random_systems(method: str, seed: int, size: int) -> None:
    """The roots that SciPy finds, and the derivatives of implicit functions."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(size, size))
    B /= np.linalg.norm(B, 2) * 1.01
    c, weights = rng.normal(size=size) * 3, rng.normal(size=size)

    def residual(x: Array) -> Array:
        return np.asarray(x + 0.5 * np.tanh(B @ x) - c)

    found, success, by_c, by_B = system(method)(rng.normal(size=size) * 3, c, B, weights)
    assert success
    theirs: Any = optimize.root(residual, c, tol=1e-13)
    np.testing.assert_allclose(found, theirs.x, atol=1e-10)
    slope = 0.5 / np.cosh(B @ found) ** 2
    pulled = np.linalg.solve((np.eye(size) + slope[:, None] * B).T, weights)
    np.testing.assert_allclose(by_c, pulled, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(by_B, -np.outer(pulled * slope, found), rtol=1e-8, atol=1e-9)


# Roots of y^3 + a y - b, which for a > 0 has one real root.


@functools.cache
def cubic(method: str) -> pt.Function:
    y, a, b = pt.scalars("y", "a", "b")
    keywords = None if method in OPEN else {"bracket": (-10.0, 10.0 + 0 * b)}
    solution, success = pt.optimize.root_scalar(y**3 + a * y - b, y, method=method, optimizer_kwargs=keywords)
    return pt.function([y, a, b], [solution, success, *pt.grad(solution, [a, b]), pt.grad(pt.grad(solution, a), a)])


@pytest.mark.parametrize("method", OPEN + BRACKETED + BRACKETED_SCIPY)
@settings(max_examples=30, deadline=None)
@given(a=st.floats(0.5, 5), b=st.floats(-20, 20))
def test_roots_of_random_cubics(method: str, a: float, b: float) -> None:
    """From where Newton's method is known to converge; derivatives are -y / s and 1 / s with s = 3 y^2 + a."""
    found, success, by_a, by_b, twice = cubic(method)(np.sign(b) * 5.0, a, b)
    assert success
    real = np.roots([1, 0, a, -b])
    root = real[np.abs(real.imag) < 1e-9 * (1 + np.abs(real))].real[0]
    assert found == pytest.approx(root, abs=1e-9)
    slope = 3 * found**2 + a
    assert by_a == pytest.approx(-found / slope, rel=1e-9, abs=1e-12)
    assert by_b == pytest.approx(1 / slope, rel=1e-9)
    # d(-y / s)/da, with dy/da = -y / s and ds/da = 6 y dy/da + 1.
    assert twice == pytest.approx(found / slope**2 + found * (1 - 6 * found**2 / slope) / slope**2, rel=1e-8, abs=1e-11)


# Minima of exp(y) - a y, at log(a).


@functools.cache
def well(method: str, keyword: str) -> pt.Function:
    y, a = pt.scalars("y", "a")
    keywords = {"": None, "bracket": {"bracket": (-2.0, 0.0)}, "bounds": {"bounds": (-3.0, 1.0)}}[keyword]
    value = pt.exp(y) - a * y
    solution, success = pt.optimize.minimize_scalar(value, y, method=method, optimizer_kwargs=keywords)
    return pt.function([y, a], [solution, success, pt.grad(solution, a)])


@pytest.mark.parametrize(
    ("method", "keyword"),
    [("brent", ""), ("brent", "bracket"), ("golden", ""), ("golden", "bracket"), ("bounded", "bounds")],
)
@settings(max_examples=30, deadline=None)
@given(a=st.floats(0.1, 2.5), start=st.floats(-3, 3))
def test_minima_of_one_variable(method: str, keyword: str, a: float, start: float) -> None:
    """To half the digits, as differences of values allow."""
    found, success, slope = well(method, keyword)(start, a)
    assert success
    assert found == pytest.approx(np.log(a), abs=2e-7)
    assert slope == pytest.approx(1 / a, rel=1e-6)


class TestForms:
    """What enters and leaves."""

    def test_variables_of_several_shapes(self) -> None:
        """Least squares with an intercept: `np.linalg.lstsq`; derivatives by data, against differences."""
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
        level, weights, data = pt.vector("level", shape=(2,)), pt.matrix("weights", shape=(3, 2)), pt.matrix("data")
        value = ((data - level - X @ weights) ** 2).sum()
        (first, second), success = pt.optimize.minimize(
            value, [level, weights], x0=[np.zeros(2), np.ones((3, 2))], method="L-BFGS-B"
        )
        total = (first**2).sum() + (second**3).sum()
        f = pt.function([data], [first, second, success, total, pt.grad(total, data)])
        a, b, done, _, slope = f(y)
        theirs = np.linalg.lstsq(np.column_stack([np.ones(20), X]), y, rcond=None)[0]
        assert done
        np.testing.assert_allclose(np.vstack([a, b]), theirs, atol=1e-8)
        far = differences(lambda v: f(v.reshape(20, 2))[3], y.ravel(), 1e-3).reshape(20, 2)
        np.testing.assert_allclose(slope, far, atol=1e-5)

    @pytest.mark.parametrize("method", ["BFGS", "Nelder-Mead", "TNC"])
    def test_variables_of_lengths_that_are_not_known(self, method: str) -> None:
        v, u, M = pt.vector("v"), pt.scalar("u"), pt.matrix("M")
        value = ((v - u) ** 2).sum() + (u - 1) ** 2 + ((M - v[:, None]) ** 2).sum()
        found, success = pt.optimize.minimize(value, [v, u, M], method=method)
        f = pt.function([v, u, M], [*found, success])
        for size in (1, 2):
            one, two, three, done = f(np.zeros(size), 0.0, np.zeros((size, 1)))
            assert done
            for part, shape in zip((one, two, three), ((size,), (), (size, 1)), strict=True):
                np.testing.assert_allclose(part, np.ones(shape), atol=1e-3)

    def test_equations_in_a_list_and_variables_in_a_tuple(self) -> None:
        u, v, a = pt.scalar("u"), pt.vector("v"), pt.scalar("a")
        equations = [u - v.sum(), v * a - pt.constant([1.0, 2.0])]
        found, success = pt.optimize.root(equations, (u, v), x0=(0.0, np.zeros(2)))
        assert isinstance(found, tuple)
        one, two, done, slope = pt.function([a], [*found, success, pt.grad(found[0], a)])(2.0)
        assert done
        assert one == pytest.approx(1.5)
        assert two.tolist() == pytest.approx([0.5, 1.0])
        assert slope == pytest.approx(-0.75)

    def test_expressions_as_variables(self) -> None:
        """A start that is computed stands for the variable in the objective."""
        a = pt.vector("a")
        start = a * 2
        solution, success = pt.optimize.minimize(((start - a) ** 2).sum(), start)
        value, done = pt.function([a], [solution, success])([1.0, 2.0])
        assert done
        np.testing.assert_allclose(value, [1.0, 2.0], atol=1e-8)

    @pytest.mark.parametrize("size", [0, 1])
    @pytest.mark.parametrize("method", MINIMIZE + ROOT)
    def test_no_variable_and_one(self, size: int, method: str) -> None:
        x, a = pt.vector("x"), pt.scalar("a")
        if method in ROOT:
            solution, success = pt.optimize.root(x**3 - a, x, method=method)
        else:
            solution, success = pt.optimize.minimize((x**4 / 4 - a * x).sum(), x, method=method)
        f = pt.function([x, a], [solution, success, pt.grad(solution.sum(), a)])
        value, done, slope = f(np.ones(size), 8.0)
        assert done
        np.testing.assert_allclose(value, [2.0] * size, atol=1e-8)
        assert slope == pytest.approx(size / 12)

    @pytest.mark.parametrize("method", MINIMIZE + ROOT + OPEN)
    def test_float32(self, method: str) -> None:
        """Results are float32, to about its precision."""
        x, y, a = pt.vector("x", dtype="float32"), pt.scalar("y", dtype="float32"), pt.scalar("a", dtype="float32")
        if method in OPEN:
            solution, success = pt.optimize.root_scalar(y**3 - a, y, method=method)
        elif method in ROOT:
            solution, success = pt.optimize.root(x**3 - a, x, method=method)
        else:
            solution, success = pt.optimize.minimize((x**4 / 4 - a * x).sum(), x, method=method)
        assert solution.dtype == "float32"
        start = np.float32(1.5) if method in OPEN else np.full(2, 1.5, "float32")
        leaf = y if method in OPEN else x
        value, done, slope = pt.function([leaf, a], [solution, success, pt.grad(solution.sum(), a)])(
            start, np.float32(8)
        )
        assert done
        np.testing.assert_allclose(value, 2.0, rtol=1e-4)
        np.testing.assert_allclose(slope, value.size / 12, rtol=1e-4)

    @pytest.mark.parametrize("method", ["BFGS", "hybr", "brentq", "brent"])
    def test_the_reference_agrees(self, method: str) -> None:
        """NumPy's loop and machine code end at the same point."""
        x, y, a = pt.vector("x"), pt.scalar("y"), pt.scalar("a")
        if method == "brentq":
            found = pt.optimize.root_scalar(y**3 - a, y, method=method, optimizer_kwargs={"bracket": (0.0, a)})
        elif method == "brent":
            found = pt.optimize.minimize_scalar(pt.exp(y) - a * y, y)
        elif method == "hybr":
            found = pt.optimize.root(x**3 - a, x)
        else:
            found = pt.optimize.minimize((x**4 / 4 - a * x).sum(), x)
        leaf, start = (y, 1.5) if method in ("brentq", "brent") else (x, np.array([1.5, 3.0]))
        values = [
            pt.function([leaf, a], [*found, pt.grad(found[0].sum(), a)], mode=mode, on_unused_input="ignore")(
                start, 3.0
            )
            for mode in ("FAST_RUN", "reference")
        ]
        for ours, theirs in zip(*values, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-7)


class TestInsideOtherGraphs:
    """Batches, loops, models."""

    @pytest.mark.parametrize("method", [*MINIMIZE, "newton", "Nelder-Mead"])
    def test_batches_keep_the_implicit_derivative(self, method: str) -> None:
        """Each position is as if alone; derivatives by shared operands are summed."""
        x, b, many = pt.vector("x"), pt.scalar("b"), pt.vector("many")

        def solve(a: Node) -> Any:
            start = np.array([0.5, 0.5])
            if method == "newton":
                return pt.optimize.root(pt.stack([x[0] - a, x[1] - b * x[0] ** 2]), x, method=method, x0=start)
            value = (x[0] - a) ** 2 + (x[1] - b * x[0] ** 2) ** 2
            return pt.optimize.minimize(value, x, method=method, x0=start)

        solution, success = pt.vmap(solve)(many)
        by_many, by_b = pt.grad((solution * pt.constant([1.0, 2.0])).sum(), [many, b])
        value, done, first, second = pt.function([many, b], [solution, success, by_many, by_b])([0.5, 1.0, 2.0], 1.5)
        tolerance = 2e-4 if method == "Nelder-Mead" else 1e-7
        assert done.tolist() == [True] * 3
        np.testing.assert_allclose(value, [[0.5, 0.375], [1.0, 1.5], [2.0, 6.0]], atol=tolerance)
        np.testing.assert_allclose(first, [4.0, 7.0, 13.0], rtol=tolerance)
        assert second == pytest.approx(2 * (0.25 + 1 + 4), rel=tolerance)

    def test_steps_of_loops(self) -> None:
        """An implicit Euler method: z' = -k z^3, every step a root; derivatives pass through all of them."""
        k, z = pt.scalar("k"), pt.scalar("z")

        def step(last: Node) -> Node:
            following, _ = pt.optimize.root_scalar(z - last + 0.1 * k * z**3, z, method="newton", x0=last)
            return following

        path = pt.scan(step, outputs_info=[pt.constant(1.0)], n_steps=5, return_updates=False)
        f = pt.function([k], [path, pt.grad(path[-1], k)])
        expected, slope = [], 0.0
        last = 1.0
        for _ in range(5):
            now = max(r.real for r in np.roots([0.2, 0, 1, -last]) if abs(r.imag) < 1e-12)
            slope = (slope - 0.1 * now**3) / (1 + 0.6 * now**2)
            expected.append(last := now)
        path_values, by_k = f(2.0)
        np.testing.assert_allclose(path_values, expected, rtol=1e-10)
        assert by_k == pytest.approx(slope, rel=1e-9)

    def test_a_steady_state_in_a_model(self) -> None:
        """The posterior of a rate by NUTS is that of quadrature over a grid.

        The state s with s^3 + s = rate is seen with noise.
        """
        seen = np.array([0.9, 1.2, 1.05])
        s = pt.scalar("s")
        with pm.Model():
            rate = pm.Normal("rate", 0.0, 2.0)
            state, success = pt.optimize.root_scalar(s**3 + s - rate, s, method="newton", x0=0.5)
            pm.Deterministic("found", success)
            pm.Normal("y", state, 0.3, observed=seen)
            run = pm.sample(1000, tune=500, chains=2, random_seed=3, progressbar=False)
        grid = np.linspace(-12, 12, 4001)
        states = np.array([max(r.real for r in np.roots([1, 0, 1, -g]) if abs(r.imag) < 1e-9) for g in grid])
        log = -0.5 * (grid / 2) ** 2 - 0.5 * (((seen[:, None] - states) / 0.3) ** 2).sum(0)
        weights = np.exp(log - log.max())
        weights /= weights.sum()
        mean = weights @ grid
        spread = np.sqrt(weights @ (grid - mean) ** 2)
        draws = run.posterior["rate"].values.ravel()
        assert run.posterior["found"].values.all()
        assert draws.mean() == pytest.approx(mean, abs=0.15 * spread)
        assert draws.std() == pytest.approx(spread, rel=0.12)

    def test_a_game_in_a_model_has_a_differentiable_density(self) -> None:
        """Best answers of two firms; the gradient of the log density, against differences."""
        q = pt.vector("q")
        with pm.Model() as model:
            cost = pm.HalfNormal("cost", 1.0, shape=2)
            best = pt.stack([10 - 2 * q[0] - q[1] - cost[0] * q[0], 10 - q[0] - 2 * q[1] - cost[1] * q[1]])
            amounts, _ = pt.optimize.root(best, q, x0=np.ones(2))
            pm.Normal("y", amounts, 0.5, observed=np.array([3.0, 2.5]))
        density, slope = model.compile_logp(), model.compile_dlogp()
        at = np.array([-0.3, 0.4])
        found = differences(lambda v: density({"cost_log__": v}), at)
        np.testing.assert_allclose(slope({"cost_log__": at}), found, rtol=1e-6)


# What has no solution: (expression of x or y and b, variable, start), for every method.


def status(solution: Node, success: Node, leaf: Node, b: Node, start: Any) -> tuple[Any, bool, float]:
    f = pt.function(
        [leaf, b], [solution, success, pt.grad(solution.sum(), b, disconnected_inputs="ignore")],
        on_unused_input="ignore",
    )  # fmt: skip
    value, done, slope = f(start, 1.0)
    return value, bool(done), float(slope)


class TestNoSolution:
    """`success` is False, and derivatives are NaN: no silent number."""

    @pytest.mark.parametrize("method", OPEN)
    @pytest.mark.parametrize("case", ["no root", "flat", "not a number", "too few steps"])
    def test_of_an_equation(self, method: str, case: str) -> None:
        y, b = pt.scalars("y", "b")
        equation, start, keywords = {
            "no root": (y**2 + b, 1.3, None),
            "flat": (b + 0 * pt.floor(y), 0.3, None),
            "not a number": (pt.log(y) - b, -1.0, None),
            "too few steps": (y**3 - b - 1, 9.0, {"maxiter": 2}),
        }[case]
        found = pt.optimize.root_scalar(equation, y, method=method, optimizer_kwargs=keywords)
        _, done, slope = status(*found, y, b, start)
        assert not done
        assert np.isnan(slope) or case == "flat"

    @pytest.mark.parametrize("method", BRACKETED + BRACKETED_SCIPY)
    def test_of_a_bracket_without_change_of_sign(self, method: str) -> None:
        """One of its ends is given back."""
        y, b = pt.scalars("y", "b")
        ends = {"bracket": (-1.0, 2.0)}
        value, done, slope = status(
            *pt.optimize.root_scalar(y**2 + b, y, method=method, optimizer_kwargs=ends), y, b, 0.0
        )
        assert value in (-1.0, 2.0)
        assert not done
        assert np.isnan(slope)

    @pytest.mark.parametrize("method", BRACKETED)
    def test_of_a_function_that_is_not_defined_everywhere(self, method: str) -> None:
        y, b = pt.scalars("y", "b")
        ends = {"bracket": (-1.0, 2.0)}
        _, done, slope = status(
            *pt.optimize.root_scalar(pt.log(y) - b, y, method=method, optimizer_kwargs=ends), y, b, 0.0
        )
        assert not done
        assert np.isnan(slope)

    @pytest.mark.parametrize("method", ROOT)
    @pytest.mark.parametrize(
        ("case", "start"),
        [("no root", [1.3, 0.7]), ("singular", [0.7, 0.7]), ("not a number", [-1.0, 1.0]), ("too few", [50.0, 3.0])],
    )
    def test_of_a_system(self, method: str, case: str, start: list[float]) -> None:
        x, b = pt.vector("x"), pt.scalar("b")
        equations = {
            "no root": x**2 + b,
            "singular": pt.stack([x[0] + x[1] - b, x[0] + x[1] - b - 1]),
            "not a number": pt.log(x) - b,
            "too few": x**3 - b,
        }[case]
        options = {"options": {"maxiter": 3}} if case == "too few" else None
        found = pt.optimize.root(equations, x, method=method, optimizer_kwargs=options)
        _, done, slope = status(*found, x, b, np.array(start))
        assert not done
        assert np.isnan(slope)

    @pytest.mark.parametrize("method", MINIMIZE)
    @pytest.mark.parametrize("case", ["linear", "unbounded", "not a number", "too few"])
    def test_of_a_minimum(self, method: str, case: str) -> None:
        x, b = pt.vector("x"), pt.scalar("b")
        value = {
            "linear": -(b * x).sum(),
            "unbounded": -pt.exp(b * x).sum(),
            "not a number": pt.log(x - b).sum(),
            "too few": 100 * (x[1] - x[0] ** 2) ** 2 + (b - x[0]) ** 2,
        }[case]
        options = {"options": {"maxiter": 3}} if case == "too few" else None
        found = pt.optimize.minimize(value, x, method=method, optimizer_kwargs=options)
        point, done, slope = status(*found, x, b, np.array([-1.2, 1.0]))
        assert not done
        assert np.isnan(slope)
        assert np.isfinite(point).all()

    @pytest.mark.parametrize("method", ["brent", "golden"])
    @pytest.mark.parametrize("case", ["unbounded", "not a number", "three points"])
    def test_of_a_minimum_of_one_variable(self, method: str, case: str) -> None:
        y, b = pt.scalars("y", "b")
        value = {"unbounded": -b * y, "not a number": b * pt.log(-(y**2)), "three points": (y - b) ** 2}[case]
        keywords = {"bracket": (2.0, 3.0, 4.0)} if case == "three points" else None
        found = pt.optimize.minimize_scalar(value, y, method=method, optimizer_kwargs=keywords)
        _, done, slope = status(*found, y, b, 0.0)
        assert not done
        assert np.isnan(slope)

    def test_pushforward_is_that_of_the_pullback(self) -> None:
        """Cotangents stay linear, though they are NaN where there is no solution."""
        y, b, way = pt.scalars("y", "b", "way")
        found, _ = pt.optimize.root_scalar(y**2 - b, y, method="newton", x0=1.5)
        f = pt.function([b, way], pushforward(found, b, way))
        assert f(4.0, 3.0) == pytest.approx(0.75)
        assert np.isnan(f(-1.0, 3.0))

    def test_derivatives_at_a_singular_jacobian_are_nan(self) -> None:
        """There the implicit function theorem says nothing, though the root is one."""
        x, b = pt.vector("x"), pt.scalar("b")
        _, done, slope = status(*pt.optimize.root((x - b) ** 3, x), x, b, np.array([1.0]))
        assert done
        assert np.isnan(slope)


class TestEndsAndBounds:
    """Solutions at bounds move with them alone."""

    def test_bounded_minima_of_one_variable(self) -> None:
        y, a, end = pt.scalars("y", "a", "end")
        found, success = pt.optimize.minimize_scalar(
            (y - a) ** 2, y, method="bounded", optimizer_kwargs={"bounds": (0.0, end)}, x0=0.0
        )
        f = pt.function([a, end], [found, success, *pt.grad(found, [a, end])])
        np.testing.assert_allclose(f(1.0, 3.0), [1.0, True, 1.0, 0.0], atol=1e-7)
        np.testing.assert_allclose(f(5.0, 3.0), [3.0, True, 0.0, 1.0], atol=1e-6)
        _, done, by_a, by_end = f(1.0, -3.0)
        assert not done
        assert np.isnan([by_a, by_end]).all()

    def test_bounds_of_scipy(self) -> None:
        x, a = pt.vector("x"), pt.vector("a")
        keywords = {"bounds": [(0, 1), (None, None), (-1, None)]}
        value = ((x - a) ** 2).sum() + x[0] * x[1]
        found, success = pt.optimize.minimize(value, x, method="L-BFGS-B", optimizer_kwargs=keywords, x0=np.zeros(3))
        f = pt.function([a], [found, success, pt.grad(found[1], a)])
        point, done, slope = f(np.array([3.0, 2.0, -4.0]))
        assert done
        np.testing.assert_allclose(point, [1.0, 1.5, -1.0], atol=1e-6)
        np.testing.assert_allclose(slope, [0, 1, 0], atol=1e-9)

    def test_constraints_leave_no_derivative(self) -> None:
        x, a = pt.vector("x"), pt.vector("a")
        keywords = {"constraints": {"type": "eq", "fun": lambda v: v.sum() - 1}}
        found, success = pt.optimize.minimize(
            ((x - a) ** 2).sum(), x, method="SLSQP", optimizer_kwargs=keywords, x0=np.zeros(2)
        )
        point, done = pt.function([a], [found, success])([1.0, 1.0])
        assert done
        np.testing.assert_allclose(point, [0.5, 0.5], atol=1e-7)
        with pytest.raises(NullTypeGradError):
            pt.grad(found.sum(), a)


class TestSciPysMethods:
    """Methods by their names; the graph says that Python computes them."""

    @pytest.mark.parametrize("method", MINIMIZE_SCIPY)
    def test_minima(self, method: str) -> None:
        x, a = pt.vector("x"), pt.scalar("a")
        found, success = pt.optimize.minimize(((x - a) ** 2).sum() + (x**4).sum(), x, method=method)
        inside = [
            n
            for call in topological([found, success])
            for r in regions_of(call.op).values()
            for n in topological(r.results)
        ]
        assert any(isinstance(node.op, PythonCall) for node in inside)
        f = pt.function([x, a], [found, success, pt.grad(found.sum(), a)])
        value, done, slope = f(np.array([0.3, 1.0]), 3.0)
        assert done
        np.testing.assert_allclose(value, 1 / np.cbrt(1), atol=2e-4 if method != "CG" else 1e-4)
        assert slope == pytest.approx(2 * 2 / 14, rel=1e-3)

    @pytest.mark.parametrize("method", ROOT_SCIPY)
    def test_roots(self, method: str) -> None:
        x, a = pt.vector("x"), pt.scalar("a")
        found, success = pt.optimize.root(a - x - 0.1 * pt.sin(x), x, method=method)
        f = pt.function([x, a], [found, success, pt.grad(found.sum(), a)])
        value, done, slope = f(np.array([0.9, 1.0]), 1.0)
        assert done
        np.testing.assert_allclose(value + 0.1 * np.sin(value), 1.0, atol=1e-4)
        assert slope == pytest.approx((1 / (1 + 0.1 * np.cos(value))).sum(), rel=1e-6)


class TestBadInput:
    """Errors say what was needed."""

    def test_methods_and_options(self) -> None:
        x, y = pt.vector("x"), pt.scalar("y")
        with pytest.raises(ValueError, match="no method 'steepest'; in machine code: bfgs, l-bfgs-b; called by Python"):
            pt.optimize.minimize((x**2).sum(), x, method="steepest")
        with pytest.raises(ValueError, match="in machine code: hybr, newton"):
            pt.optimize.root(x, x, method="BFGS")
        with pytest.raises(ValueError, match="no option 'step'; it has gtol, maxiter, maxcor, tol"):
            pt.optimize.minimize((x**2).sum(), x, optimizer_kwargs={"options": {"step": 1}})
        with pytest.raises(ValueError, match="method 'brentq' of `root_scalar` needs"):
            pt.optimize.root_scalar(y, y, method="brentq")
        with pytest.raises(ValueError, match="method 'bounded' of `minimize_scalar` needs"):
            pt.optimize.minimize_scalar(y**2, y, method="bounded")
        with pytest.raises(ValueError, match="two or three points, got 1"):
            pt.optimize.minimize_scalar(y**2, y, optimizer_kwargs={"bracket": (1.0,)})

    def test_expressions_and_variables(self) -> None:
        x, y, i = pt.vector("x"), pt.scalar("y"), pt.lscalar("i")
        with pytest.raises(ShapeError, match="`minimize` needs a scalar expression, got `x`"):
            pt.optimize.minimize(x, x)
        with pytest.raises(DisconnectedInputError, match="`minimize` does not depend on `y`"):
            pt.optimize.minimize((x**2).sum(), y)
        with pytest.raises(ShapeError, match="`root_scalar` searches for a scalar, got `x`"):
            pt.optimize.root_scalar(x.sum(), x)
        with pytest.raises(DtypeError, match="searches for floats, got `i`"):
            pt.optimize.root_scalar(i * 1.0, i)
        with pytest.raises(GraphError, match="give the constant as `x0`"):
            pt.optimize.minimize((pt.constant([1.0, 2.0]) ** 2).sum(), pt.constant([1.0, 2.0]))
        with pytest.raises(TypeError, match="searches for variables such as"):
            pt.optimize.minimize((x**2).sum(), [1.0])  # type: ignore[list-item]  # what is refused
        with pytest.raises(ShapeError, match="`x0` of `minimize` must have the shape"):
            pt.optimize.minimize((x**2).sum(), x, x0=1.0)
        short = pt.scalar("short", dtype="float32")
        with pytest.raises(DtypeError, match="one dtype"):
            pt.optimize.root([x, short * 1.0], [x, short])

    def test_what_scipy_cannot_do_is_no_success(self) -> None:
        """An iteration that diverges overflows."""
        x = pt.vector("x")
        _, success = pt.optimize.root(x + 0.1 * pt.sin(x) - 1, x, method="linearmixing")
        assert not pt.function([x], success)(np.array([0.9, 1.0]))

    def test_numbers_of_equations(self) -> None:
        x, z = pt.vector("x"), pt.vector("z", shape=(2,))
        with pytest.raises(ShapeError, match="as many equations as variables, got 3 equations in 2 variables"):
            pt.optimize.root(pt.stack([z[0], z[1], z[0]]), z)
        f = pt.function([x], pt.optimize.root(pt.stack([x[0], x[1], x[0]]), x))
        with pytest.raises(ShapeError, match="as many equations as variables"):
            f(np.ones(2))
