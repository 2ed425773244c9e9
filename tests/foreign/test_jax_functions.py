"""Functions of JAX as functions of tensors: the same values and the same derivatives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError, GraphError, MissingRuleError, ShapeError

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
pytest.importorskip("jax.experimental.ode")

V, M = np.array([0.3, -0.7, 1.2, 0.1]), np.arange(12.0).reshape(4, 3) / 7 - 0.6
P, S, PLACES, K = M @ M.T + np.diag([0.5, 1.0, 1.5, 2.0]), 0.4, np.array([2, 0, 3]), 1

FILE = Path(__file__).with_name("jax_expressions.txt")
LINES = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
# What the text of StableHLO says otherwise: keys of other kinds, and factors whose rows come by products.
LINES += [
    "v * jax.random.permutation(jax.random.fold_in(jax.random.key(3), k), 4)",
    'v + jax.random.exponential(jax.random.key(1, impl="rbg"), (4,))',
    "jax.random.gamma(jax.random.key(0), jnp.abs(v))",
    "jax.random.loggamma(jax.random.key(k), 1e-3 * jnp.abs(v), (3, 4))",
    "jax.vmap(jax.random.gamma)(jax.random.split(jax.random.key(1), 4), jnp.abs(v))",
    "jax.random.beta(jax.random.key(0), jnp.abs(v), 2.0)",
    "jax.random.dirichlet(jax.random.key(0), jnp.abs(v))",
    "jax.random.t(jax.random.key(0), jnp.abs(v), (4,))",
    "v * jax.random.poisson(jax.random.key(0), jnp.abs(v))",
    "v * jax.random.binomial(jax.random.key(0), 10, jax.nn.sigmoid(v))",
    "jnp.frexp(v)[0]",
    "jnp.ldexp(v, k + 2)",
    "jnp.abs(jnp.linalg.qr(m)[1])",
    "jnp.abs(jnp.linalg.qr(m + p[:, :3])[0])",
    "jnp.sort(jnp.linalg.eigvals(m[:3] + p[:3, :3]).real)",
    "jax.experimental.ode.odeint(lambda y, t: -s * y, v, jnp.array([0.0, 0.5, 1.0]))",
]


def of(text: str) -> Any:
    return eval(f"lambda v, m, p, s, i, k: {text}", {"jax": jax, "jnp": jnp})


@pytest.mark.parametrize("text", LINES)
def test_values_and_slopes_are_those_of_jax(text: str) -> None:
    function = of(text)
    values = (V, M, P, S, PLACES, K)
    translated = pm.from_jax(function, *values)
    leaves = [pt.tensor(n, shape=np.shape(x), dtype="float64") for n, x in zip("vmps", values, strict=False)]
    out = translated(*leaves, PLACES, K)
    with jax.enable_x64(True):
        wanted = np.asarray(function(*map(jnp.asarray, values)))
        slopes = None
        if wanted.dtype.kind == "f":
            way = np.cos(np.arange(wanted.size)).reshape(wanted.shape)
            slopes_of = jax.grad(lambda *x: jnp.sum(function(*x, PLACES, K) * way), (0, 1, 2, 3))
            slopes = slopes_of(*map(jnp.asarray, values[:4]))
    assert out.dtype == str(wanted.dtype)
    f = pt.function(leaves, out, on_unused_input="ignore")
    np.testing.assert_allclose(f(*values[:4]), wanted, rtol=1e-6 if "float32" in text else 1e-10, atol=1e-12)
    if slopes is None:
        return
    ours = pt.grad(pt.sum(out * way), leaves, disconnected_inputs="ignore")
    found = pt.function(leaves, ours, on_unused_input="ignore")(*values[:4])
    for own, theirs in zip(found, slopes, strict=True):
        np.testing.assert_allclose(own, theirs, rtol=1e-6 if "float32" in text else 1e-8, atol=1e-10)


def test_derivatives_of_the_authors_own_are_taken() -> None:
    """Even where they are not those of the values."""

    @jax.custom_vjp
    def clipped(x: Any) -> Any:
        return x**2

    clipped.defvjp(lambda x: (x**2, x), lambda x, g: (jnp.clip(g, -1, 1) * x,))

    @jax.custom_jvp
    def doubled(x: Any) -> Any:
        return x**3

    doubled.defjvp(lambda primals, tangents: (doubled(primals[0]), 7.0 * tangents[0]))
    x = pt.vector("x", shape=(4,))
    out = pm.from_jax(lambda v: jnp.sum(clipped(v) * 5 + doubled(v)), V)(x)
    np.testing.assert_allclose(out.eval({x: V}), np.sum(5 * V**2 + V**3))
    np.testing.assert_allclose(pt.grad(out, x).eval({x: V}), V + 7.0)


def test_loops_of_unknown_length_have_derivatives() -> None:
    """JAX has none in reverse."""

    def root(a: Any) -> Any:
        return jax.lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-13, lambda x: 0.5 * (x + a / x), a)

    a = pt.scalar("a")
    out = pm.from_jax(root, 2.0)(a)
    assert float(out.eval({a: 2.0})) == pytest.approx(2**0.5)
    assert float(pt.grad(out, a).eval({a: 2.0})) == pytest.approx(0.5 / 2**0.5)


def test_nested_arguments_and_results_keep_their_form() -> None:
    def layers(parameters: Any, x: Any) -> Any:
        for w, b in parameters["hidden"]:
            x = jnp.tanh(x @ w + b)
        return {"out": x @ parameters["last"], "inside": (x,)}

    rng = np.random.default_rng(0)
    own = {
        "hidden": [(rng.normal(size=(3, 5)), np.zeros(5)), (rng.normal(size=(5, 2)), np.ones(2))],
        "last": np.ones(2),
    }
    found = pm.from_jax(layers, own, M)(own, M)
    with jax.enable_x64(True):
        np.testing.assert_allclose(found["out"].eval(), layers(own, M)["out"], rtol=1e-12)
    assert found["inside"][0].static_shape == (4, 2)


def test_a_neural_network_is_a_likelihood() -> None:
    """A model of ours with a mean that JAX wrote; its gradient is that of differences."""
    x = np.linspace(-2, 2, 30)[:, None]
    mean = pm.from_jax(lambda w, b, u: jnp.tanh(x @ w + b) @ u, np.ones((1, 4)), np.ones(4), np.ones(4))
    with pm.Model() as model:
        w, b, u = pm.Normal("w", shape=(1, 4)), pm.Normal("b", shape=4), pm.Normal("u", shape=4)
        pm.Normal("y", mean(w, b, u), 0.1, observed=np.sin(x[:, 0]))
        result = pm.sample(
            draws=20, tune=20, chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
    assert result.posterior["w"].shape == (2, 20, 1, 4)
    point = {k: v + 0.1 for k, v in model.initial_point().items()}
    logp, slope = model.compile_logp(), model.compile_dlogp()(point)
    for k, place in (("w", 0), ("b", 4), ("u", 8)):
        moved = [{**point, k: point[k] + h * np.eye(1, 4).reshape(point[k].shape)} for h in (1e-6, -1e-6)]
        assert (logp(moved[0]) - logp(moved[1])) / 2e-6 == pytest.approx(slope[place], rel=1e-5)


def unknown(v: Any) -> Any:
    """Its primitive is called inside a function."""
    return v * jax.random.normal(jax.random.key(v[0].astype(int), impl="rbg"))


def test_a_function_that_is_called_as_it_is() -> None:
    """Values and first derivatives are JAX's; nested arguments and whole numbers pass."""

    def odd(given: Any, k: Any) -> Any:
        nothing = 0.0 * jax.random.normal(jax.random.key(k[0], impl="rbg"))
        return {"kept": given["v"].at[k].mul(2.0) + nothing, "count": k.sum()}

    k = np.array([1, 3])
    with pytest.raises(MissingRuleError, match=r"`rng_bit_generator`.*Draw beforehand"):
        pm.from_jax(odd, {"v": V}, k)
    v = pt.vector("v", shape=V.shape)
    found = pm.from_jax(odd, {"v": V}, k, opaque=True)({"v": v}, k)
    f = pm.function([v], [found["kept"], found["count"], pt.grad((found["kept"] ** 2).sum(), v)])
    factor = np.where(np.isin(np.arange(4), k), 2.0, 1.0)
    kept, count, slope = f(V)
    np.testing.assert_allclose(kept, V * factor)
    assert count == 4
    np.testing.assert_allclose(slope, 2 * V * factor**2)
    with pm.Model():
        u = pm.Normal("u", shape=4)
        pm.Potential("p", -(pm.from_jax(odd, {"v": V}, k, opaque=True)({"v": u}, k)["kept"] ** 2).sum())
        draws = pm.sample(
            draws=20, tune=20, chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
    assert np.isfinite(draws.posterior["u"]).all()
    with pytest.raises(DtypeError, match="key<fry>"):
        pm.from_jax(jax.random.normal, jax.random.key(0), opaque=True)


def test_mistakes_are_told() -> None:
    with pytest.raises(MissingRuleError, match=r"JAX's primitive `.*` has no translation \(at .*test_jax_functions.py"):
        pm.from_jax(unknown, V)
    f = pm.from_jax(lambda a: a["x"] * 2, {"x": V})
    with pytest.raises(GraphError, match="was translated for arguments of the form"):
        f(V)
    with pytest.raises(ShapeError, match=r"argument \[0\]\['x'\] of `<lambda>` was traced with the shape \(4,\)"):
        f({"x": M})
    with pytest.raises(DtypeError, match="was traced as float64"):
        f({"x": V + 1j})


# What cannot be read: the error, and what it says.
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "printing": (lambda v: (jax.debug.print("{}", v), v)[1], MissingRuleError, "`debug_print`.*test_jax_functions"),
    "effect": (
        lambda v: jax.experimental.io_callback(np.asarray, jax.ShapeDtypeStruct((4,), v.dtype), v),
        MissingRuleError,
        "`io_callback`.*test_jax_functions.*opaque=True",
    ),
    "call": (
        lambda v: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((4,), v.dtype), v),
        MissingRuleError,
        "`pure_callback`.*test_jax_functions.*opaque=True",
    ),
    "within a function of JAX": (
        lambda v: v * jax.random.beta(jax.random.key(v[0].astype(int), impl="rbg"), 2.0, 3.0),
        MissingRuleError,
        r"`rng_bit_generator`.*\(at .*test_jax_functions",
    ),
    "branch": (lambda v: v if v.sum() > 0 else -v, GraphError, "TracerBoolConversionError.*jnp.where"),
    "number of Python": (lambda v: v * float(v.sum()), GraphError, "ConcretizationTypeError.*jnp.where"),
    "mask": (lambda v: v[v > 0], GraphError, "NonConcreteBooleanIndexError.*shapes do not depend on values"),
    "length": (lambda v: jnp.nonzero(v)[0], GraphError, "ConcretizationTypeError.*shapes do not depend on values"),
    "index": (lambda v: list(range(4))[v.astype(int)[0]], GraphError, "TracerIntegerConversionError"),
    "function of NumPy": (np.sin, GraphError, "TracerArrayConversionError.*those of `jnp`"),
    "bfloat16": (lambda v: v.astype(jnp.bfloat16) * 2.0, DtypeError, "test_jax_functions.* has the dtype bfloat16"),
    "mistake": (lambda v: v @ jnp.ones(7), TypeError, r"\(4,\) and \(7,\)"),
    "attribute": (lambda v: v.not_there, AttributeError, "not_there"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_says_why(name: str) -> None:
    function, kind, told = REFUSED[name]
    with pytest.raises(kind, match=told):
        pm.from_jax(function, V)


def test_loops_of_a_batch_end_one_by_one() -> None:
    """JAX moves a batch on until the last condition fails, and keeps those that ended; ours has a derivative, too."""

    def doubled(v: Any) -> Any:
        return jax.vmap(lambda a: jax.lax.while_loop(lambda q: q < 10, lambda q: q * 2 + 1.5, a * a))(v)

    v = pt.vector("v", shape=(4,))
    found = pm.from_jax(doubled, V)(v)
    f = pm.function([v], [found, pt.grad(found.sum(), v)])
    with jax.enable_x64(True):
        wanted, ahead, behind = (np.asarray(doubled(V + step)) for step in (0.0, 1e-6, -1e-6))
    values, slopes = f(V)
    np.testing.assert_allclose(values, wanted, rtol=1e-12)
    np.testing.assert_allclose(slopes, (ahead - behind) / 2e-6, rtol=1e-6)


def test_a_function_is_applied_at_places() -> None:
    """JAX has no derivative of `.at[…].apply`; places that come twice are changed twice."""
    v = pt.vector("v", shape=(4,))
    out = pm.from_jax(lambda v: v.at[jnp.array([0, 2, 2])].apply(jnp.sin), V)(v)
    wanted = V.copy()
    wanted[0], wanted[2] = np.sin(V[0]), np.sin(np.sin(V[2]))
    np.testing.assert_allclose(out.eval({v: V}), wanted, rtol=1e-12)
    slope = np.array([np.cos(V[0]), 1, np.cos(np.sin(V[2])) * np.cos(V[2]), 1])
    np.testing.assert_allclose(pt.grad(out.sum(), v).eval({v: V}), slope, rtol=1e-12)


def test_a_derivative_by_a_shape_keeps_to_it() -> None:
    """Where the other operand depends on the same number; a second one is refused, as it is by JAX."""

    def slope(a: Any) -> Any:
        return jax.grad(jax.scipy.special.gammainc)(a, a * a)

    a = pt.scalar("a")
    out = pm.from_jax(slope, 1.4)(a)
    with jax.enable_x64(True):
        wanted = float(slope(1.4))
    assert float(out.eval({a: 1.4})) == pytest.approx(wanted, rel=1e-9)
    with pytest.raises(MissingRuleError, match="with respect to that shape is not known"):
        pt.grad(out, a)


def test_numbers_that_a_function_with_its_own_derivative_holds_are_given_to_it() -> None:
    def outer(v: Any, s: Any) -> Any:
        @jax.custom_vjp
        def scaled(x: Any) -> Any:
            return x * s

        scaled.defvjp(lambda x: (x * s, None), lambda _, g: (g * 7.0,))
        return scaled(v)

    with pytest.raises(GraphError, match="give that to it as an argument"):
        pm.from_jax(outer, V, 2.0)


def test_the_precision_of_floats_can_be_reduced() -> None:
    v = pt.vector("v", shape=(4,))
    single = pm.from_jax(lambda v: jax.lax.reduce_precision(v, 8, 23), V)(v)
    np.testing.assert_array_equal(single.eval({v: V}), V.astype("float32").astype(float))
    with pytest.raises(MissingRuleError, match="5 bits of exponent and 10"):
        pm.from_jax(lambda v: jax.lax.reduce_precision(v, 5, 10), V)


def test_keys_are_refused_as_arguments() -> None:
    with pytest.raises(DtypeError, match=r"argument \[0\] of `.*` has the dtype key<fry>.*Draw beforehand"):
        pm.from_jax(lambda key, v: v + jax.random.normal(key, (4,)), jax.random.key(0), V)


def test_tracing_is_in_double_precision_where_jax_is_not() -> None:
    """Arrays that JAX made in single precision before keep the values that they have."""
    with jax.enable_x64(False):
        inner = jax.jit(lambda v: jnp.sin(v) + jnp.linspace(0.0, 1.0, 4))
        assert inner(V).dtype == "float32"
        held = jnp.asarray(V) / 3
        found = pm.from_jax(lambda v: inner(v) + held, V)(V)
        single = pm.from_jax(lambda v: 2 * v, held)(np.asarray(held))
    assert (found.dtype, single.dtype) == ("float64", "float32")
    wanted = np.sin(V) + np.linspace(0, 1, 4) + np.asarray(held).astype(float)
    np.testing.assert_allclose(found.eval(), wanted, rtol=1e-12)
