"""Compiled functions inside Numba's code give the numbers of the functions themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import GraphError

numba = pytest.importorskip("numba")

X, A, S, K = pt.vector("x"), pt.matrix("A"), pt.scalar("s"), pt.ivector("k")
x, a, s, k = np.linspace(-1, 1, 4), np.arange(16.0).reshape(4, 4) / 9 + np.eye(4), 0.7, np.array([3, 0, 3], "int32")
CASES: dict[str, tuple[list[Any], Callable[[], Any], list[Any]]] = {
    "elementwise": ([X, S], lambda: pt.exp(X) * S, [x, s]),
    "a number": ([X], lambda: pt.sum(X**2), [x]),
    "several": ([X, A], lambda: [A @ X, pt.sum(A, axis=0), X.mean()], [x, a]),
    "nothing in": ([], lambda: pt.arange(5) * 2.0, []),
    "factorisation": ([A], lambda: pt.linalg.cholesky(A @ A.T), [a]),
    "indices": ([X, K], lambda: X[K], [x, k]),
    "bool": ([X], lambda: X > 0, [x]),
    "complex": ([X], lambda: pt.fft.fft(X), [x]),
    "loop": ([X], lambda: pt.scan(lambda v, t: t * v + 1, X, [pt.constant(0.0)], return_updates=False), [x]),
    "special": ([X], lambda: pt.special.gammaln(X + 3), [x]),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_function(name: str) -> None:
    inputs, make, values = CASES[name]
    f = pt.function(inputs, make())
    wanted, found = f(*values), f.numba(*values)(*values)
    for own, other in zip(*((v if isinstance(v, list | tuple) else [v]) for v in (wanted, found)), strict=True):
        assert np.asarray(own).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(own, other)


def test_code_of_numba_calls_it_on_threads_in_any_layout() -> None:
    f = pt.function([X, A], [A @ X, pt.sum(X)], name="product")
    product = f.numba(x, a)

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]  # Numba has no types
    def sums(matrices: Any, vector: Any) -> Any:
        found = np.empty(len(matrices))
        for i in numba.prange(len(matrices)):
            found[i] = product(vector, matrices[i].T)[0].sum()
        return found

    matrices = np.random.default_rng(0).normal(size=(50, 4, 4))
    fixed = x.copy()
    fixed.flags.writeable = False
    np.testing.assert_allclose(sums(matrices, fixed), (matrices.transpose(0, 2, 1) @ x).sum(1), rtol=1e-13)
    np.testing.assert_array_equal(product(x[::-1], a)[0], f(x[::-1], a)[0])


def test_log_density_and_gradient_of_a_model() -> None:
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("m"), pm.HalfNormal("s"), observed=x)
    names = model.continuous_value_vars
    f = pt.function(names, [model.logp(), *pt.grad(model.logp(), names)])
    found = f.numba(0.3, -0.2)(0.3, -0.2)
    assert found[0] == pytest.approx(float(model.compile_logp()({"m": 0.3, "s_log__": -0.2})))
    np.testing.assert_allclose(found[1:], model.compile_dlogp()({"m": 0.3, "s_log__": -0.2}), rtol=1e-12)


def test_shared_values_are_those_of_the_moment() -> None:
    level = pt.shared(2.0, "level")
    f = pt.function([X], X * level)
    g = f.numba(x)
    level.set_value(5.0)
    np.testing.assert_array_equal(g(x), 2 * x)
    np.testing.assert_array_equal(f.numba(x)(x), 5 * x)


def test_mistakes_are_told() -> None:
    f = pt.function([X, S], X * S, name="scaled")
    g = f.numba(x, s)
    with pytest.raises(ValueError, match=r"`x` must have the shape \(4,\)"):
        g(x[:2], s)
    with pytest.raises(numba.TypingError, match="an array of float64 with 1 axes was needed"):
        g(x.astype("float32"), s)
    with pytest.raises(numba.TypingError, match="with 1 axes was needed"):
        g(a, s)
    with pytest.raises(ArithmeticError, match="an index lies outside"):
        pt.function([X, K], X[K]).numba(x, k)(x, k + 7)
    with pytest.raises(ArithmeticError, match="not positive definite"):
        pt.function([A], pt.linalg.cholesky(A)).numba(a)(-a)
    count = pt.shared(0, "count")
    with pytest.raises(GraphError, match="updates `count`"):
        pt.function([X], X, updates={count: count + 1}).numba(x)
    with pytest.raises(GraphError, match=r"lengths in .* must follow from the shapes of its arguments"):
        pt.function([X], pt.nonzero_values(X)).numba(x)
    with pytest.raises(GraphError, match="which makes no machine code"):
        pt.function([X], X + 1, mode="PY").numba(x)
