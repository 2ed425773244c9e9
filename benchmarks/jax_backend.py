"""Log densities with their gradients through XLA: `density.jax` beside the same written by hand in JAX, and our own.

Seconds of one call, compiled; the best of several rounds, which take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import consilience as pm
from benchmarks.report import Row, show

ROUNDS, CALLS = 7, 2000
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
RNG = np.random.default_rng(1)
X = RNG.normal(size=(1000, 10))
Y = (RNG.random(1000) < 1 / (1 + np.exp(-X @ RNG.normal(size=10)))).astype(int)


def schools() -> pm.Model:
    """Eight schools, non-centred."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", 0, 1, shape=8)
        pm.Normal("y", mu + tau * theta, ERRORS, observed=EFFECTS)
    return model


def logistic() -> pm.Model:
    """Logistic regression, 1000 x 10."""
    with pm.Model() as model:
        pm.Bernoulli("y", logit_p=X @ pm.Normal("b", 0, 1, shape=10), observed=Y)
    return model


def by_hand(name: str) -> Callable[[Any], Any]:
    """The same log density in JAX, up to constants."""
    import jax
    import jax.numpy as jnp

    def of_schools(q: Any) -> Any:
        mu, log_tau, theta = q[0], q[1], q[2:]
        tau = jnp.exp(log_tau)
        prior = -0.5 * (mu / 5) ** 2 - jnp.log1p((tau / 5) ** 2) + log_tau - 0.5 * jnp.sum(theta**2)
        return prior - 0.5 * jnp.sum(((EFFECTS - mu - tau * theta) / ERRORS) ** 2)

    def of_logistic(q: Any) -> Any:
        eta = X @ q
        return -0.5 * jnp.sum(q**2) + jnp.sum(Y * eta - jax.nn.softplus(eta))

    return of_schools if name == "eight schools" else of_logistic


def main() -> None:
    """Print all."""
    import jax

    jax.config.update("jax_enable_x64", True)
    rows = []
    for name, make in (("eight schools", schools), ("logistic 1000 x 10", logistic)):
        density = make().log_density()
        position = RNG.normal(size=density.dimension) * 0.3
        ways = {
            "by hand in JAX": jax.jit(jax.value_and_grad(by_hand(name))),
            "density.jax": jax.jit(jax.value_and_grad(density.jax)),
            "our machine code": density,
        }
        best = dict.fromkeys(ways, np.inf)
        for _ in range(ROUNDS):
            for way, call in ways.items():
                jax.block_until_ready(call(position))
                began = time.perf_counter()
                for _ in range(CALLS):
                    found = call(position)
                jax.block_until_ready(found)
                best[way] = min(best[way], (time.perf_counter() - began) / CALLS)
        rows += [Row(f"{name}: {way}", seconds * 1e6, "us") for way, seconds in best.items()]
        rows.append(Row(f"{name}: density.jax over JAX by hand", best["density.jax"] / best["by hand in JAX"], "", 1.1))
    show("Log densities and gradients through XLA, one call from Python", rows)


if __name__ == "__main__":
    main()
