"""`wrap_jax`: functions of JAX called with tensors, settings and trees of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import GraphError

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


def test_tensors_numbers_and_settings_are_arguments() -> None:
    """Tensors become arrays of JAX; what is none arrives as it is."""

    @pm.wrap_jax
    def scaled(x: Any, y: Any, scale: float = 1.0, kind: str = "sum") -> Any:
        assert kind == "product"
        assert scale == 2.0
        return {"first": jnp.multiply(x, y) * scale, "others": [x.sum()]}

    x, y = pt.vector("x", shape=(3,)), np.array([1.0, 2.0, 3.0])
    found = scaled(x, y, scale=2.0, kind="product")
    f = pm.function([x], [found["first"], *found["others"]])
    first, total = f([1.0, 1.0, 2.0])
    np.testing.assert_allclose(first, [2.0, 4.0, 12.0])
    assert total == 4.0
    slope = pm.grad(found["first"].sum(), x)
    np.testing.assert_allclose(slope.eval({x: [0.0, 0.0, 0.0]}), 2.0 * y)


def test_models_are_made_of_wrapped_functions() -> None:
    """A parameter goes through JAX, with the density and slope of the same formula."""
    wrapped = pm.wrap_jax(allow_eval=False)(lambda at: jnp.exp(at["a"]) + at["b"])

    def density(link: Any) -> Any:
        with pm.Model() as model:
            a, b = pm.Normal("a"), pm.Normal("b")
            pm.Normal("y", link({"a": a, "b": b}), observed=[0.5, 1.5])
        point = {"a": 0.3, "b": -0.2}
        return model.compile_logp()(point), model.compile_dlogp()(point)

    for own, other in zip(density(wrapped), density(lambda at: pt.exp(at["a"]) + at["b"]), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12)


def test_a_length_that_nobody_knows_is_named() -> None:
    with pytest.raises(GraphError, match=r"`x`.*known only at a call.*shape="):
        pm.wrap_jax(jnp.sum)(pt.vector("x"))
