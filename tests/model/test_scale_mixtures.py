"""Standard variables times estimated scales: which are found, their densities elsewhere, and what draws ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.model.scale_mixtures import products, rewritten, suited

ERRORS = np.array([1.0, 2.0, 0.5])


def model_of(product: Callable[[Any, Any, Any, Any], Any], kind: Any = pm.Normal) -> pm.Model:
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0.0, 3.0, shape=3), pm.HalfCauchy("tau", 1.0)
        local = pm.HalfStudentT("local", 5, shape=3)
        z = kind(
            "z",
            **({"nu": 4} if kind is pm.StudentT else {}),
            mu=0.0,
            shape=3,
            **({"b": 1.0} if kind is pm.Laplace else {"sigma": 2.0}),
        )
        pm.Normal("y", product(mu, tau, local, z), ERRORS, observed=[0.1, -3.0, 9.0])
    return model


FOUND: dict[str, tuple[Callable[[Any, Any, Any, Any], Any], Callable[[Any, Any, Any], Any]]] = {
    "one scale": (lambda mu, tau, local, z: mu + tau * z, lambda mu, tau, local: (mu, tau)),
    "two scales": (lambda mu, tau, local, z: z * tau * local, lambda mu, tau, local: (0.0, tau * local)),
    "a slab": (
        lambda mu, tau, local, z: z * tau * local / pt.sqrt(1.0 + pt.square(tau * local)) + mu,
        lambda mu, tau, local: (mu, tau * local / np.sqrt(1.0 + (tau * local) ** 2)),
    ),
    "a divisor": (lambda mu, tau, local, z: z / tau, lambda mu, tau, local: (0.0, 1.0 / tau)),
    "an exponential": (lambda mu, tau, local, z: mu[0] + pt.exp(mu) * z, lambda mu, tau, local: (mu[0], np.exp(mu))),
}


@pytest.mark.parametrize(
    ("name", "kind"), [*((name, pm.Normal) for name in FOUND), ("a slab", pm.StudentT), ("one scale", pm.Laplace)]
)
def test_a_product_more_centred_has_the_same_posterior(name: str, kind: Any) -> None:
    """The densities differ by the Jacobian of z_raw = c m + s^c z; values of the model's variables come back."""
    product, parts = FOUND[name]
    model = model_of(product, kind)
    degree = np.array([0.0, 0.4, 1.0])
    made = rewritten(model, {"z": degree})
    mu, tau, local, z = np.array([0.3, -1.0, 2.0]), 0.7, np.array([0.5, 1.5, 4.0]), np.array([0.2, -0.8, 1.1])
    location, scale = (np.broadcast_to(one, 3) for one in parts(mu, tau, local))
    others = {"mu": mu, "tau_log__": np.log(tau), "local_log__": np.log(local)}
    before = model.compile_logp()({**others, "z": z})
    after = made.compile_logp()({**others, "z_raw": degree * location + scale**degree * z})
    assert after == pytest.approx(before - np.sum(degree * np.log(scale)))
    assert [v.name for v in made.free] == ["mu", "tau", "local", "z_raw"]
    assert list(made.named_deterministics) == ["z"]


@pytest.mark.parametrize(
    "product",
    [
        lambda mu, tau, local, z: mu + 3.0 * z,  # a constant scale
        lambda mu, tau, local, z: mu * z,  # of either sign
        lambda mu, tau, local, z: tau * z + z,  # two parts
        lambda mu, tau, local, z: tau * z * z,
        lambda mu, tau, local, z: tau / z,
        lambda mu, tau, local, z: tau * pt.exp(z),
        lambda mu, tau, local, z: tau * z[::-1],
    ],
)
def test_what_is_no_product_of_an_estimated_scale_stays(product: Any) -> None:
    """No coordinates are found that may be worse."""
    assert not products(model_of(product))


def test_draws_ask_to_centre_what_data_determine() -> None:
    """By the exact posterior of normal means with half-Cauchy scales: z for what is near 0, the product far from it."""
    values, rng = np.array([0.1, -0.3, 25.0]), np.random.default_rng(1)
    with pm.Model() as model:
        scale, z = pm.HalfCauchy("scale", 1.0, shape=3), pm.Normal("z", 0.0, 1.0, shape=3)
        pm.Normal("y", scale * z, 1.0, observed=values)
    proposals = np.abs(rng.standard_cauchy((200_000, 3)))
    weights = np.exp(-0.5 * values**2 / (1 + proposals**2)) / np.sqrt(1 + proposals**2)
    draws = np.stack([rng.choice(p, 2000, p=w / w.sum()) for p, w in zip(proposals.T, weights.T, strict=True)], axis=1)
    precision = 1 + draws**2
    own = draws * values / precision + rng.normal(size=draws.shape) / np.sqrt(precision)
    chosen = suited(model, {"scale": draws[None], "z": own[None]})["z"]
    assert chosen[2] > 0.8
    assert np.all(chosen[:2] < 0.4)
    assert not suited(model, {"scale": draws[None, :, :1].repeat(3, 2), "z": own[None, :, :1].repeat(3, 2)})


def test_runs_centre_the_products_that_need_it() -> None:
    """Needles: a run that goes on in other coordinates passes; the result has the variables of the model."""
    with pm.Model() as model:
        scale, z = pm.HalfCauchy("scale", 1.0, shape=5), pm.Normal("z", 0.0, 1.0, shape=5)
        pm.Normal("y", scale * z, 1.0, observed=[0.3, -0.5, 1.2, 4.0, 8.0])
    result = pm.sample(model=model, random_seed=2, progressbar=False)
    assert "coordinates" in result.posterior.attrs["restarts"]
    assert set(result.posterior.data_vars) == {"scale", "z"}
    means = (result.posterior["scale"].to_numpy() * result.posterior["z"].to_numpy()).mean((0, 1))
    assert np.all(np.abs(means - [0.12, -0.2, 0.55, 3.3, 7.75]) < 0.25)
