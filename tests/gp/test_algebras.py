"""A process by the algebra that is cheapest: state spaces in place of Cholesky factors, where prices say so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.ir import topological
from consilience.ops import Cholesky

RNG = np.random.default_rng(9)


def factor_times_normals(kind: str, places: Any, z: Any, ls: float, jitter: float, dense: bool) -> Any:
    """f of a latent process for given normals, as a state space or by a dense factor."""
    with pytest.MonkeyPatch.context() as patch, pm.Model() as model:
        if dense:
            patch.setattr("consilience.gp.latent.cheaper", lambda chain, latent: False)
        function = getattr(pm.gp.cov, kind)(1, ls)
        outputs = 1 if z.ndim == 1 else len(z)
        pm.gp.Latent(cov_func=1.3 * function).prior("f", np.asarray(places)[:, None], n_outputs=outputs, jitter=jitter)
    made = model.compile_fn(model.replace_rvs_by_values([model["f"]]), inputs=model.value_vars)
    return made({"f_rotated_": z})[0], model


PLACES = {
    "spread": np.sort(RNG.uniform(0.0, 5.0, 60)),
    "descending": np.sort(RNG.uniform(0.0, 5.0, 60))[::-1],
    "equal and nearly equal": np.repeat(np.linspace(0.0, 5.0, 20), 3) + np.tile([0.0, 0.0, 1e-9], 20),
    "years": 1900.0 + np.arange(60.0),
}


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("kind", ["Matern12", "Matern32", "Matern52", "Exponential"])
def test_latent_values_of_a_state_space_are_those_of_the_cholesky_factor(kind: str, places: str) -> None:
    z = np.random.default_rng(5).normal(size=60)
    for ls, jitter in ((1.0, 1e-6), (1e-3, 1e-6), (1e3, 1e-6), (2.0, 1e-2)):
        chain, model = factor_times_normals(kind, PLACES[places], z, ls, jitter, dense=False)
        dense, _ = factor_times_normals(kind, PLACES[places], z, ls, jitter, dense=True)
        assert not any(isinstance(node.op, Cholesky) for node in topological([model["f"]]))
        # Both lose digits in proportion to the condition, at most n times the variance over the jitter.
        np.testing.assert_allclose(chain, dense, rtol=0.0, atol=16 * np.finfo(float).eps * 60 * 1.3 / jitter)


def test_several_latent_outputs_of_a_state_space_are_those_of_the_factor() -> None:
    z = np.random.default_rng(6).normal(size=(3, 60))
    chain, _ = factor_times_normals("Matern32", PLACES["spread"], z, 0.7, 1e-6, dense=False)
    dense, _ = factor_times_normals("Matern32", PLACES["spread"], z, 0.7, 1e-6, dense=True)
    np.testing.assert_allclose(chain, dense, atol=1e-9)


def test_latent_points_in_no_order_and_those_without_jitter_keep_the_dense_factor() -> None:
    for places, jitter in ((RNG.uniform(0.0, 5.0, 60), 1e-6), (PLACES["spread"], 0.0)):
        _, model = factor_times_normals("Matern12", places, np.zeros(60), 1.0, jitter, dense=False)
        assert any(isinstance(node.op, Cholesky) for node in topological([model["f"]]))


def test_the_price_decides_between_a_state_space_and_a_matrix() -> None:
    """Few states for many points; matrices for few points, and on regular grids for many states."""

    def by_states(x: Any, terms: int) -> bool:
        function = sum(pm.gp.cov.Matern52(1, 1.0 + k) for k in range(terms))
        with pm.Model() as model:
            pm.gp.Marginal(cov_func=function).marginal_likelihood("y", x[:, None], np.zeros(len(x)), sigma=0.3)
        return all(node.static_shape != (len(x), len(x)) for node in topological([model["y"]]) if node.ndim == 2)

    scattered = np.sort(np.random.default_rng(0).uniform(0.0, 9.0, 300))
    assert by_states(scattered, 1)
    assert by_states(scattered, 3)
    assert by_states(np.linspace(0.0, 9.0, 300), 1)
    assert not by_states(np.linspace(0.0, 9.0, 300), 3)
    assert not by_states(scattered[:12], 3)
