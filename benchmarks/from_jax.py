"""Log densities written for JAX: our machine code after `pm.from_jax` beside XLA's, in compiled loops over positions.

Microseconds of one value and gradient, the best of several rounds that take turns, and seconds from the function to the
first result, translation and compilation together; a cache on disk shortens ours when the densities were there before.
Ours takes one thread, XLA as many as it likes; its loop is `lax.map`, one position after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import consilience as pm
from benchmarks.report import Row, show
from consilience.model.log_density import ModelDensity
from consilience.native.batch import run_batch

ROUNDS = 7
RNG = np.random.default_rng(1)
X, SMALL = RNG.normal(size=(1000, 10)), RNG.normal(size=30)
LABELS = (RNG.random(1000) < 1 / (1 + np.exp(-X @ RNG.normal(size=10)))).astype(int)
EFFECTS, ERRORS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def densities() -> dict[str, tuple[Callable[[Any], Any], int, int]]:
    """Name -> density, dimension, and how many positions one round takes."""
    import jax
    import jax.numpy as jnp
    from jax.scipy import stats

    def schools(q: Any) -> Any:
        tau = jnp.exp(q[1])
        prior = stats.norm.logpdf(q[0], 0, 5) + stats.cauchy.logpdf(tau, 0, 5) + q[1] + stats.norm.logpdf(q[2:]).sum()
        return prior + stats.norm.logpdf(EFFECTS, q[0] + tau * q[2:], ERRORS).sum()

    def logistic(q: Any) -> Any:
        eta = X @ q
        return jnp.sum(LABELS * eta - jax.nn.softplus(eta)) + stats.norm.logpdf(q).sum()

    def mixture(q: Any) -> Any:
        parts = stats.norm.logpdf(X[:, :1], q[:3], jnp.exp(q[3:6])) + jax.nn.log_softmax(q[6:])
        return jax.nn.logsumexp(parts, axis=1).sum() + stats.norm.logpdf(q).sum()

    def hidden_markov(q: Any) -> Any:
        turn = jax.nn.log_softmax(q[:9].reshape(3, 3), axis=1)

        def forward(alpha: Any, y: Any) -> Any:
            return jax.nn.logsumexp(alpha[:, None] + turn, axis=0) + stats.norm.logpdf(y, q[9:]), None

        return jax.nn.logsumexp(jax.lax.scan(forward, jnp.zeros(3), X[:200, 0])[0]) + stats.norm.logpdf(q).sum()

    def process(q: Any) -> Any:
        apart = (SMALL[:, None] - SMALL) / jnp.exp(q[0])
        cov = jnp.exp(q[1] - apart**2 / 2) + (jnp.exp(q[2]) + 1e-6) * jnp.eye(30)
        return stats.multivariate_normal.logpdf(X[:30, 0], jnp.zeros(30), cov) + stats.norm.logpdf(q).sum()

    def epidemic(q: Any) -> Any:
        def day(state: Any, _: Any) -> Any:
            s, i = state
            new = jnp.exp(q[0]) * s * i
            return (s - new, i + new - jnp.exp(q[1]) * i), new

        _, new = jax.lax.scan(day, (0.98, 0.02), None, length=50)
        return stats.norm.logpdf(jnp.log(new), -4.0, 0.5).sum() + stats.norm.logpdf(q).sum()

    return {
        "eight schools": (schools, 10, 4000),
        "logistic 1000 x 10": (logistic, 10, 400),
        "mixture of 3, 1000 rows": (mixture, 9, 100),
        "hidden Markov, 3 states, 200 steps": (hidden_markov, 12, 200),
        "Gaussian process, 30 points": (process, 3, 500),
        "epidemic, 50 days": (epidemic, 2, 2000),
    }


def ours(function: Callable[[Any], Any], dimension: int) -> ModelDensity:
    """The density of a model whose only term it is."""
    with pm.Model() as model:
        q = pm.Flat("q", shape=dimension)
        pm.Potential("density", pm.from_jax(function, np.zeros(dimension))(q))
    return model.log_density()


def looped(density: ModelDensity, positions: Any) -> Callable[[], tuple[Any, Any]]:
    """All values and gradients by one call."""
    count = len(positions)
    value, slope = np.zeros(count), np.zeros(positions.shape)
    scratch = np.zeros(density.workspace + 64, np.uint8)

    def run() -> tuple[Any, Any]:
        run_batch(
            density.entry, density.constants, scratch.ctypes.data + -scratch.ctypes.data % 64, count,
            [(positions.ctypes.data, positions.strides[0])],
            [(value.ctypes.data, 8), (slope.ctypes.data, slope.strides[0])],
        )  # fmt: skip
        return value, slope

    return run


def main() -> None:
    """Print all."""
    import jax

    jax.config.update("jax_enable_x64", True)
    rows = []
    for name, (function, dimension, count) in densities().items():
        positions = RNG.normal(size=(count, dimension)) * 0.2 - (1.0 if dimension == 2 else 0.0)
        began = time.perf_counter()
        jax.block_until_ready(jax.jit(jax.value_and_grad(function))(positions[0]))
        of_jax = time.perf_counter() - began
        began = time.perf_counter()
        density = ours(function, dimension)
        density(positions[0])
        of_ours = time.perf_counter() - began
        mapped = jax.jit(lambda qs, f=function: jax.lax.map(jax.value_and_grad(f), qs))
        ways = {"XLA": lambda m=mapped, p=positions: jax.block_until_ready(m(p)), "ours": looped(density, positions)}
        found = {way: call() for way, call in ways.items()}
        np.testing.assert_allclose(found["ours"][0], found["XLA"][0], rtol=1e-9)
        np.testing.assert_allclose(found["ours"][1], found["XLA"][1], rtol=1e-7, atol=1e-7)
        best = dict.fromkeys(ways, np.inf)
        for _ in range(ROUNDS):
            for way, call in ways.items():
                began = time.perf_counter()
                call()
                best[way] = min(best[way], (time.perf_counter() - began) / count)
        rows += [Row(f"{name}: {way}", seconds * 1e6, "us") for way, seconds in best.items()]
        rows.append(Row(f"{name}: ours over XLA", best["ours"] / best["XLA"], ""))
        rows.append(Row(f"{name}: to the first result, XLA", of_jax, "s"))
        rows.append(Row(f"{name}: to the first result, ours", of_ours, "s"))
    show("Log densities of JAX and their gradients, in compiled loops", rows)


if __name__ == "__main__":
    main()
