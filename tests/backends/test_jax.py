"""The JAX backend gives pure functions that JAX transforms; what they compute is asked by the conformance suite."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import function
from consilience.errors import DtypeError, GraphError
from consilience.ir import Node
from consilience.ops import Elementwise
from tests.backends.agreement import inputs_like
from tests.backends.test_conformance_scalar import FLOATS, TABLE, operand
from tests.posteriordb.models import MODELS
from tests.posteriordb.test_posteriors import load

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


@pytest.mark.parametrize("name", FLOATS)
def test_slopes_of_function(name: str) -> None:
    """What `jax.grad` gives of each function of the table that has derivatives."""
    row = TABLE[name]
    arrays = [operand(row, i, "float64", (19,), np.random.default_rng(i)) for i in range(row.arity or 2)]
    nodes = inputs_like(arrays)
    out = Node(Elementwise(name), *nodes)
    try:
        slopes: Any = function(nodes, pt.grad(out.sum(), nodes))
    except (pm.ConsilienceError, TypeError):  # there are none
        return
    with jax.enable_x64(True):
        found = jax.grad(function(nodes, out.sum()).jax, argnums=tuple(range(len(nodes))))(*arrays)
    for own, theirs in zip(found, slopes(*arrays), strict=True):
        np.testing.assert_allclose(own, theirs, rtol=1e-8, atol=1e-10)


def test_numbers_of_rank_0_reach_numpy_and_come_back() -> None:
    """`ndtri_exp` is computed by NumPy alone."""
    x = pt.scalar("x")
    f: Any = function([x], pt.ndtri_exp(x))
    np.testing.assert_allclose(f.jax(-0.7), f(-0.7))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if i % 4 else []) for i, n in enumerate(sorted(MODELS))]
)
def test_densities_of_reference_posteriors(name: str) -> None:
    """Value and gradient of `density.jax` at two points."""
    build, _ = MODELS[name]
    density = build(pm, pt, load(name)["data_values"]).log_density()
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        both = jax.jit(jax.value_and_grad(density.jax))
        for _ in range(2):
            position = rng.uniform(-1, 1, density.dimension)
            (value, slope), (wanted, wanted_slope) = both(position), density(position)
            np.testing.assert_allclose(value, wanted, rtol=1e-10)
            np.testing.assert_allclose(slope, wanted_slope, rtol=1e-9, atol=1e-9 * np.abs(wanted_slope).max())


@pytest.mark.parametrize("name", ["eight_schools-eight_schools_centered", "gp_pois_regr-gp_regr", "arma-arma11"])
def test_hessians_of_densities(name: str) -> None:
    """`jax.hessian` and `jax.jvp` of the gradient are slopes of this package's gradient."""
    build, _ = MODELS[name]
    density = build(pm, pt, load(name)["data_values"]).log_density()
    position = np.random.default_rng(0).uniform(-0.5, 0.5, density.dimension)
    sides = [[density(position + s * e)[1] for s in (1e-5, -1e-5)] for e in np.eye(density.dimension)]
    wanted = np.array([(right - left) / 2e-5 for right, left in sides])
    with jax.enable_x64(True):
        found = jax.hessian(density.jax)(position)
        along = jax.jvp(jax.grad(density.jax), (position,), (np.ones(density.dimension),))[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-7 * np.abs(wanted).max())
    np.testing.assert_allclose(along, wanted.sum(0), rtol=1e-7, atol=1e-7 * np.abs(wanted).max())


class TestPureFunctions:
    """`f.jax` composes with JAX's transformations."""

    def test_it_is_called_as_the_function_is(self) -> None:
        x, s = pt.vector("x"), pt.scalar("s")
        f: Any = function([x, s], [pt.exp(x * s).sum(), x[::-1]])
        for arguments in (((np.arange(3.0), 0.5), {}), ((np.arange(4.0),), {"s": 2.0})):
            for own, wanted in zip(f.jax(*arguments[0], **arguments[1]), f(*arguments[0], **arguments[1]), strict=True):
                np.testing.assert_allclose(own, wanted)
        assert float(function([x], {"a": x.sum()}).jax([1.0, 2.0])["a"]) == 3.0
        with pytest.raises(TypeError, match="has no input `y`"):
            f.jax(np.arange(3.0), y=1.0)
        with pytest.raises(TypeError, match="needs a value for `s`"):
            f.jax(np.arange(3.0))

    def test_jit_vmap_and_grad(self) -> None:
        x = pt.vector("x")
        f: Any = function([x], (x**2).sum() + pt.prod(x)).jax
        rows = np.random.default_rng(1).normal(size=(5, 3))
        with jax.enable_x64(True):
            values = jax.jit(jax.vmap(f))(rows)
            slopes = jax.vmap(jax.grad(f))(rows)
            curvature = jax.jacrev(jax.grad(f))(rows[0])
        np.testing.assert_allclose(values, (rows**2).sum(1) + rows.prod(1))
        np.testing.assert_allclose(slopes, 2 * rows + rows.prod(1)[:, None] / rows)
        np.testing.assert_allclose(curvature[0], [2.0, rows[0, 2], rows[0, 1]])

    def test_derivatives_that_an_author_gave(self) -> None:
        x = pt.vector("x")
        scaled = pm.gradient.grad_scale(x, 3.0)
        with jax.enable_x64(True):
            np.testing.assert_allclose(jax.grad(function([x], (scaled**2).sum()).jax)(np.ones(2)), 6.0)

    def test_an_authors_derivative_is_that_of_both_directions(self) -> None:
        """Its own derivative, too: with f = exp and f' = 3 exp, (f^2)'' is 24 exp^2."""

        @pt.custom_vjp
        def tripled(x: Any) -> Any:
            return pt.exp(x)

        tripled.defvjp(lambda x: (pt.exp(x), x), lambda kept, g: (3.0 * g * pt.exp(kept),))
        x, at = pt.vector("x"), np.array([0.1, 0.2])
        f: Any = function([x], (tripled(x) ** 2).sum()).jax
        with jax.enable_x64(True):
            for slope in (jax.jacfwd(f), jax.jacrev(f)):
                np.testing.assert_allclose(slope(at), 6.0 * np.exp(2.0 * at))
            for curvature in (jax.hessian(f), jax.jacfwd(jax.jacfwd(f)), jax.jacrev(jax.grad(f))):
                np.testing.assert_allclose(np.diag(curvature(at)), 24.0 * np.exp(2.0 * at))

    def test_derivatives_forwards_are_those_backwards(self) -> None:
        x, rows = pt.vector("x"), np.random.default_rng(1).normal(size=(4, 3))
        total, _ = pm.scan.scan(lambda v, s: s + v**3, sequences=[x], outputs_info=[pt.zeros(())])
        for out in (pt.exp(x) * x.sum(), pt.stack([total[-1], pt.prod(x)])):
            f: Any = function([x], out).jax
            with jax.enable_x64(True):
                np.testing.assert_allclose(jax.jacfwd(f)(rows[0]), jax.jacrev(f)(rows[0]))
                along = jax.jit(jax.vmap(lambda a, t: jax.jvp(f, (a,), (t,))[1], (0, None)))(rows, rows[0])  # noqa: B023
                np.testing.assert_allclose(along, jax.vmap(jax.jacrev(f))(rows) @ rows[0])

    def test_where_there_are_none_forwards_an_error_says_so(self) -> None:
        x = pt.vector("x")
        f: Any = function([x], (pm.gradient.grad_clip(x, -0.1, 0.1) ** 2).sum()).jax
        with jax.enable_x64(True), pytest.raises(GraphError, match=r"no derivatives forwards .*jax.jacrev"):
            jax.jacfwd(f)(np.ones(2))
        with jax.enable_x64(True):
            np.testing.assert_allclose(jax.grad(f)(np.ones(2)), 0.1)

    def test_loops_and_branches(self) -> None:
        x = pt.vector("x")
        total, _ = pm.scan.scan(lambda v, s: s + pt.ifelse(v > 0, v**2, -v), sequences=[x], outputs_info=[pt.zeros(())])
        f: Any = function([x], total[-1])
        values = np.array([1.0, -2.0, 3.0])
        with jax.enable_x64(True):
            value, slope = jax.jit(jax.value_and_grad(f.jax))(values)
        np.testing.assert_allclose(value, f(values))
        np.testing.assert_allclose(slope, [2.0, -1.0, 6.0])

    def test_shared_variables_keep_their_values(self) -> None:
        w = pm.shared(np.array([1.0, 2.0]), "w")
        x = pt.vector("x")
        pure = function([x], (x * w).sum()).jax
        w.set_value(np.zeros(2))
        assert float(pure(np.ones(2))) == 3.0
        with pytest.raises(GraphError, match=r"updates `w` .*, which a pure function cannot"):
            _ = function([x], x, updates={w: w + 1.0}).jax

    def test_single_precision_of_jax_is_told(self) -> None:
        x = pt.vector("x")
        pure = function([x], x.sum()).jax
        with pytest.raises(DtypeError, match=r"computes in double precision, which JAX has switched off: .*enable_x64"):
            jax.grad(pure)(np.ones(3))
        assert pure(np.ones(3)).dtype == "float64"

    def test_lengths_that_depend_on_values_are_told(self) -> None:
        x = pt.vector("x")
        with pytest.raises(GraphError, match=r"lengths in .* must follow from the shapes of its arguments"):
            function([x], x[x > 0].sum()).jax(np.ones(3))
        assert function([x], x[x > 0].sum(), backend="jax")([1.0, -1.0, 2.0]) == 3.0

    def test_where_there_is_no_value_there_is_nan(self) -> None:
        a = pt.matrix("a")
        found = function([a], pt.linalg.cholesky(a)).jax(-np.eye(2))
        assert np.isnan(found).all()
        with pm.Model() as model:
            x = pm.Normal("x", shape=2)
            pm.MvNormal(
                "y", np.zeros(2), cov=pt.stack([pt.stack([1.0, x[0]]), pt.stack([x[0], 1.0])]), observed=np.zeros(2)
            )
        density = model.log_density()
        with jax.enable_x64(True):
            assert density.jax(np.array([3.0, 0.0])) == -np.inf


def test_zero_times_infinity_is_nan_for_choices_too() -> None:
    x, y = pt.matrix("x"), pt.vector("y")
    f = function([x, y], [(x > 0) * y, pt.cast(x > 0, "float64") * y, (x > 0) / (y > 1)], backend="jax")
    a, b = np.eye(2), np.array([np.inf, np.nan])
    nan = np.nan
    for found, wanted in zip(f(a, b), ([[np.inf, nan], [nan, nan]],) * 2 + ([[1.0, nan], [0.0, np.inf]],), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_ends_of_special_functions() -> None:
    x = pt.vector("x")
    outputs = [getattr(pt, name)(x) for name in ("expi", "exp1", "i0", "i1", "psi", "tri_gamma")]
    ends = np.array([0.0, np.inf])
    for found, wanted in zip(function([x], outputs, backend="jax")(ends), function([x], outputs)(ends), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_callback_returns_a_number() -> None:
    x = pt.scalar("x")
    f = function([x], pt.jv(1.5, x), backend="jax")
    np.testing.assert_allclose(f(0.7), function([x], pt.jv(1.5, x))(0.7))


def test_importing_consilience_does_not_import_jax() -> None:
    code = "import sys, consilience; import consilience.tensor; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
