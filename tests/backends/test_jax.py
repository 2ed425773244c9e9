"""The JAX backend says what the other backends say, and gives pure functions that JAX transforms."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import function
from consilience.backends import reference
from consilience.errors import DtypeError, GraphError, LinearAlgebraError, OutOfBoundsError, ParameterError
from consilience.ir import Node
from consilience.ops import Cholesky, Elementwise
from consilience.ops.random import Key, draw, fold_in
from tests.backends.agreement import inputs_like, lengths_of, same
from tests.backends.test_conformance import CASES, Case, operands, scale_of, strided
from tests.backends.test_conformance_scalar import ACCURACY, REAL, TABLE, operand
from tests.native.vectormath_cases import CASES as VECTORMATH
from tests.posteriordb.models import MODELS
from tests.posteriordb.test_posteriors import load

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

from consilience.engines.jax import emit as backend  # noqa: E402  (where JAX is there)

ORDER = {"Sort", "ArgSort", "SearchSorted"}
FIRST = {row.op: row for row in reversed(CASES)}
LESS_EXACT = {"betainc": 1e-10}


def agree(row: Case, dtype: str, symbolic: bool) -> None:
    """A row of the conformance suite; XLA takes numbers below 1e-307 for zeros, as they are here where it orders."""
    arrays = operands(row, dtype, 1)
    if row.op.__name__ in ORDER:
        arrays = [np.where(np.abs(a) < 1e-300, 0.0, a).astype(a.dtype) if a.dtype.kind == "f" else a for a in arrays]
    arrays = [strided(a) for a in arrays] if symbolic else arrays
    nodes = inputs_like(arrays, symbolic=symbolic and row.symbolic)
    built = row.build(*nodes)
    outputs = [built] if isinstance(built, Node) else list(built)
    wanted = reference.evaluate(outputs, dict(zip(nodes, arrays, strict=True)))
    found = backend.compile(nodes, outputs, lengths_of(nodes, arrays)).bind()(arrays)
    # In single precision XLA's factor is as far off as its columns are long: elements are differences of squares.
    factor = row.op is Cholesky and dtype == "float32"
    for a, b in zip(found, wanted, strict=True):
        same(
            a,
            b,
            row.rtol if dtype == "float64" else None,
            np.abs(b).max(initial=0.0) if factor else scale_of(row, arrays),
        )


@pytest.mark.parametrize("row", [pytest.param(row, id=op.__name__) for op, row in FIRST.items()])
def test_one_row_of_every_op(row: Case) -> None:
    """The first row of the conformance suite for each op."""
    agree(row, row.dtypes[0], symbolic=False)


@pytest.mark.slow
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("row", "dtype"),
    [pytest.param(row, dtype, id=f"{row.op.__name__} {row.name} {dtype}") for row in CASES for dtype in row.dtypes],
)
def test_op(row: Case, dtype: str, symbolic: bool) -> None:
    """The whole conformance suite, with fixed lengths, and with symbolic ones on strided arrays."""
    agree(row, dtype, symbolic)


@pytest.mark.parametrize("name", sorted(REAL))
def test_function_and_its_slopes(name: str) -> None:
    """Each function of the table, its derivatives where there are some."""
    row = TABLE[name]
    if "float" not in row.accepts or row.result == "choice":
        pytest.skip("of no numbers, or of a choice: conformance suite")
    arrays = [operand(row, i, "float64", (19,), np.random.default_rng(i)) for i in range(row.arity or 2)]
    nodes = inputs_like(arrays)
    out = Node(Elementwise(name), *nodes)
    wanted = reference.evaluate([out], dict(zip(nodes, arrays, strict=True)))[0]
    accuracy = LESS_EXACT.get(name, ACCURACY.get(name))
    same(backend.compile(nodes, [out], {}).bind()(arrays)[0], wanted, accuracy)
    try:
        slopes: Any = function(nodes, pt.grad(out.sum(), nodes))
    except (pm.ConsilienceError, TypeError):  # there are none
        return
    with jax.enable_x64(True):
        found = jax.grad(function(nodes, out.sum()).jax, argnums=tuple(range(len(nodes))))(*arrays)
    for own, theirs in zip(found, slopes(*arrays), strict=True):
        np.testing.assert_allclose(own, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c.name}-{c.unit}") for c in VECTORMATH if c.name in TABLE])
def test_function_over_its_whole_range(case: Any) -> None:
    """Where the vector math library is tested too; XLA takes numbers below 1e-307 for zeros."""
    points = [np.ravel(p).astype(float) for p in case.points]
    points = [p[np.all([(np.abs(x) > 1e-300) | (x == 0) for x in points], axis=0)] for p in points]
    nodes = inputs_like(points)
    out = Node(Elementwise(case.name), *nodes)
    wanted = reference.evaluate([out], dict(zip(nodes, points, strict=True)))[0]
    found = backend.compile(nodes, [out], {}).bind()(points)[0]
    unknown = np.isnan(wanted) | (np.abs(wanted) < 1e-300) & (np.abs(found) < 1e-300)
    zeros = 1e-14 if case.name in ("gammaln", "digamma") else 0.0  # next to theirs
    np.testing.assert_allclose(np.where(unknown, wanted, found), wanted, rtol=3e-10, atol=zeros)


def test_numbers_of_rank_0_reach_numpy_and_come_back() -> None:
    """`ndtri_exp` is computed by NumPy alone."""
    x = pt.scalar("x")
    f: Any = function([x], pt.ndtri_exp(x))
    np.testing.assert_allclose(f.jax(-0.7), f(-0.7))


def test_draws_have_the_same_bits() -> None:
    key = Node(Key(3))
    outputs = [draw("random_uniform", key, (50,)), draw("random_poisson", fold_in(key, 3), (7,), 2.5)]
    for a, b in zip(backend.compile([], outputs, {}).bind()([]), reference.evaluate(outputs, {}), strict=True):
        np.testing.assert_array_equal(a, b)
    normals = [draw("random_normal", key, (50,)), draw("random_exponential", key, (50,))]
    for a, b in zip(backend.compile([], normals, {}).bind()([]), reference.evaluate(normals, {}), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


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
        with pytest.raises(GraphError, match="depends on values, and a fixed one is needed here"):
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


class TestFailures:
    """Called as a backend, it raises what the others raise."""

    def test_an_index_outside(self) -> None:
        x, i = pt.vector("x"), pt.lscalar("i")
        with pytest.raises(OutOfBoundsError, match="out of bounds"):
            function([x, i], x[i], backend="jax")(np.zeros(3), 7)

    def test_a_matrix_that_is_not_positive_definite(self) -> None:
        a = pt.matrix("a")
        with pytest.raises(LinearAlgebraError, match="not positive definite"):
            function([a], pt.linalg.cholesky(a), backend="jax")(-np.eye(3))

    def test_a_parameter_out_of_range(self) -> None:
        s = pt.scalar("s")
        with pytest.raises(ParameterError, match="sigma"):
            function([s], pm.logp(pm.Normal.dist(0.0, s), 1.0), backend="jax")(-1.0)


def test_importing_consilience_does_not_import_jax() -> None:
    code = "import sys, consilience; import consilience.tensor; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
