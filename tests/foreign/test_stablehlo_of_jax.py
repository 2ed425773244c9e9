"""Text of StableHLO that JAX prints as functions of tensors: the same values and the same derivatives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

V, M = np.array([0.3, -0.7, 1.2, 0.1]), np.arange(12.0).reshape(4, 3) / 7 - 0.6
P, S, PLACES, K = M @ M.T + np.diag([0.5, 1.0, 1.5, 2.0]), 0.4, np.array([2, 0, 3]), 1

TABLES = ("jax_expressions.txt", "stablehlo_expressions.txt")
LINES = [
    line
    for table in TABLES
    for line in Path(__file__).with_name(table).read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize("text", LINES)
def test_values_and_slopes_are_those_of_jax(text: str) -> None:
    function = eval(f"lambda v, m, p, s, i, k: {text.removeprefix('values: ')}", {"jax": jax, "jnp": jnp})
    values = (V, M, P, S, PLACES, K)
    with jax.enable_x64(True):
        module = jax.jit(function, keep_unused=True).lower(*values).as_text()
        translated = pm.from_stablehlo(module)
        wanted = np.asarray(function(*map(jnp.asarray, values)))
        slopes = None
        if wanted.dtype.kind == "f" and not text.startswith("values: "):
            way = np.cos(np.arange(wanted.size)).reshape(wanted.shape)
            slopes_of = jax.grad(lambda *x: jnp.sum(function(*x, PLACES, K) * way), (0, 1, 2, 3))
            slopes = slopes_of(*map(jnp.asarray, values[:4]))
    leaves = [pt.tensor(n, shape=np.shape(x), dtype="float64") for n, x in zip("vmps", values, strict=False)]
    out = translated(*leaves, PLACES, K)
    assert out.dtype == str(wanted.dtype)
    outputs = [out]
    if slopes is not None:
        outputs += pt.grad(pt.sum(out * way), leaves, disconnected_inputs="ignore")
    value, *found = pt.function(leaves, outputs, on_unused_input="ignore")(*values[:4])
    single = "xf32>" in module or "<f32>" in module
    np.testing.assert_allclose(value, wanted, rtol=1e-6 if single else 1e-10, atol=1e-12)
    for own, theirs in zip(found, slopes or [], strict=True):
        np.testing.assert_allclose(own, theirs, rtol=1e-5 if single else 1e-8, atol=1e-6 if single else 1e-10)
