"""Functions of the compiler alone, beside NumPy, SciPy and JAX: the time of the best of them over ours.

    python -m benchmarks.beside_numpy [--only WORDS] [--repeats 15]

All take turns on one thread; medians of the processor's time are compared, so a number below 1 is lost. JAX takes part
where it is installed, on arrays of its own.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special
from threadpoolctl import threadpool_limits

import consilience as pm
import consilience.tensor as pt
from benchmarks.report import Row, show

RNG = np.random.default_rng(0)
SECONDS = 0.01  # of one measurement; shorter calls are repeated
Case = tuple[str, Callable[..., Any], Callable[..., Any], str, list[Any]]


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape)


def definite(n: int) -> Any:
    x = normal(n, n)
    return x @ x.T + n * np.eye(n)


def by_jax(text: str, *arrays: Any) -> Callable[[], Any] | None:
    """`text`, an expression of `jnp`, `jsp` and a, b, c, compiled by JAX in double precision."""
    if not text or find_spec("jax") is None:
        return None
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    names = "abc"[: len(arrays)]
    space = {"jax": jax, "jnp": jax.numpy, "jsp": jax.scipy}
    f = jax.jit(eval(f"lambda {', '.join(names)}: {text}", space))
    held = [jax.numpy.asarray(x) for x in arrays]
    return lambda: jax.block_until_ready(f(*held))


# fmt: off
# ruff: noqa: E501 # a case is a line
def cases() -> Iterator[Case]:
    """What is computed here, by NumPy or SciPy, by JAX (text), and of which arrays."""
    m, million = normal(1000, 1000), normal(1_000_000)
    yield (
        "argmax, axis 1, 1000 x 1000",
        lambda x: pt.argmax(x, axis=1),
        lambda x: np.argmax(x, axis=1),
        "jnp.argmax(a, axis=1)",
        [m],
    )
    yield (
        "argmax, axis 0, 1000 x 1000",
        lambda x: pt.argmax(x, axis=0),
        lambda x: np.argmax(x, axis=0),
        "jnp.argmax(a, axis=0)",
        [m],
    )
    yield "argmin of 1e6", lambda x: pt.argmin(x), np.argmin, "jnp.argmin(a)", [million]
    yield "sort of 1e5", pt.sort, np.sort, "jnp.sort(a)", [normal(100_000)]
    yield (
        "sort, rows of 100",
        lambda x: pt.sort(x, axis=-1),
        lambda x: np.sort(x, axis=-1),
        "jnp.sort(a, axis=-1)",
        [normal(1000, 100)],
    )
    yield "argsort of 1e5", pt.argsort, np.argsort, "jnp.argsort(a)", [normal(100_000)]
    yield "max of 1e6", pt.max, np.max, "jnp.max(a)", [million]
    yield "sum of 1e6", pt.sum, np.sum, "jnp.sum(a)", [million]
    yield (
        "sum, axis 0, 1000 x 1000",
        lambda x: pt.sum(x, axis=0),
        lambda x: np.sum(x, axis=0),
        "jnp.sum(a, axis=0)",
        [m],
    )
    yield (
        "sum, axis 1, 1000 x 1000",
        lambda x: pt.sum(x, axis=1),
        lambda x: np.sum(x, axis=1),
        "jnp.sum(a, axis=1)",
        [m],
    )
    yield (
        "max, axis 0, 1000 x 1000",
        lambda x: pt.max(x, axis=0),
        lambda x: np.max(x, axis=0),
        "jnp.max(a, axis=0)",
        [m],
    )
    yield "1000 products of 5 x 5", lambda x, y: x @ y, np.matmul, "a @ b", [normal(1000, 5, 5), normal(1000, 5, 5)]
    yield "product of 5 x 5", lambda x, y: x @ y, np.matmul, "a @ b", [normal(5, 5), normal(5, 5)]
    yield "product of 50 x 50", lambda x, y: x @ y, np.matmul, "a @ b", [normal(50, 50), normal(50, 50)]
    yield (
        "correlation of 1e4 with 100",
        lambda x, y: pt.signal.convolve1d(x, y[::-1], mode="valid"),
        lambda x, y: np.correlate(x, y, "valid"),
        'jnp.correlate(a, b, "valid")',
        [normal(10_000), normal(100)],
    )
    yield (
        "real FFT of 2^16",
        lambda x: pt.fft.rfft(x[None])[0],
        lambda x: np.fft.rfft(x).view(float).reshape(-1, 2),
        "jnp.fft.rfft(a)",
        [normal(2**16)],
    )
    for n in (50, 200, 1000):
        yield (
            f"Cholesky of {n}",
            pt.linalg.cholesky,
            lambda x: scipy.linalg.cholesky(x, lower=True, check_finite=False),
            "jnp.linalg.cholesky(a)",
            [definite(n)],
        )
    yield (
        "einsum ijk,kl",
        lambda x, y: pt.einsum("ijk,kl->ijl", x, y),
        lambda x, y: np.einsum("ijk,kl->ijl", x, y, optimize=True),
        'jnp.einsum("ijk,kl->ijl", a, b)',
        [normal(30, 40, 50), normal(50, 60)],
    )
    yield (
        "gammainc of 1e4",
        pt.gammainc,
        scipy.special.gammainc,
        "jsp.special.gammainc(a, b)",
        [RNG.gamma(3.0, size=10_000), RNG.gamma(3.0, size=10_000)],
    )

    def loop(x: Any, y: Any) -> Any:
        states, _ = pm.scan(lambda s: pt.tanh(s * y), sequences=[], outputs_info=[x], n_steps=1000)
        return pt.grad(pt.sum(states[-1]), [x, y])

    def loop_by_hand(x: Any, y: Any) -> Any:
        states = [x]
        for _ in range(1000):
            states.append(np.tanh(states[-1] * y))
        slope, of_y = np.ones_like(x), np.zeros_like(y)
        for before, after in zip(states[-2::-1], states[:0:-1], strict=True):
            inner = slope * (1 - after * after)
            of_y += inner * before
            slope = inner * y
        return slope, of_y

    text = "jax.grad(lambda x, y: jnp.sum(jax.lax.scan(lambda s, _: (jnp.tanh(s * y), None), x, None, length=1000)[0]), (0, 1))(a, b)"
    yield "loop of 1,000 steps over ten numbers, slopes", loop, loop_by_hand, text, [normal(10), normal(10)]

    def density(x: Any, mean: Any, k: Any) -> Any:
        value = pm.logp(pm.MvNormal.dist(mean, cov=k), x)
        return [value, *pt.grad(value, [mean])]

    def density_by_hand(x: Any, mean: Any, k: Any) -> Any:
        factor = scipy.linalg.cholesky(k, lower=True, check_finite=False)
        z = scipy.linalg.solve_triangular(factor, x - mean, lower=True, check_finite=False)
        value = -0.5 * z @ z - np.log(np.diag(factor)).sum() - 0.5 * x.size * np.log(2 * np.pi)
        return value, scipy.linalg.solve_triangular(factor, z, lower=True, trans=1, check_finite=False)

    yield "normal density of 1,000, slope", density, density_by_hand, "", [normal(1000), normal(1000), definite(1000)]

    def system(x: Any, y: Any) -> Any:
        value = pt.sum(pt.linalg.solve(x, y) ** 2)
        return [value, *pt.grad(value, [x, y])]

    def system_by_hand(x: Any, y: Any) -> Any:
        lu = scipy.linalg.lu_factor(x, check_finite=False)
        s = scipy.linalg.lu_solve(lu, y, check_finite=False)
        of_y = scipy.linalg.lu_solve(lu, 2 * s, trans=1, check_finite=False)
        return s @ s, -np.outer(of_y, s), of_y

    text = "jax.value_and_grad(lambda x, y: jnp.sum(jnp.linalg.solve(x, y) ** 2), (0, 1))(a, b)"
    yield "solve of 200 with slopes", system, system_by_hand, text, [normal(200, 200), normal(200)]
    yield (
        "two of gammaln(s)[::-1], 1e6",
        lambda s: pt.gammaln(s)[::-1][:2],
        lambda s: scipy.special.gammaln(s[::-1][:2]),
        "jsp.special.gammaln(a)[::-1][:2]",
        [RNG.gamma(3.0, size=1_000_000)],
    )
    yield (
        "three of concatenate([exp(s), gammaln(s)]), 1e6",
        lambda s: pt.concatenate([pt.exp(s), pt.gammaln(s)])[:3],
        lambda s: np.exp(s[:3]),
        "jnp.concatenate([jnp.exp(a), jsp.special.gammaln(a)])[:3]",
        [RNG.gamma(3.0, size=1_000_000)],
    )
    yield "sort(s)[0] of 1e5", lambda s: pt.sort(s)[0], np.min, "jnp.sort(a)[0]", [normal(100_000)]
    yield (
        "sort(s)[500] of 1e5",
        lambda s: pt.sort(s)[500],
        lambda s: np.partition(s, 500)[500],
        "jnp.sort(a)[500]",
        [normal(100_000)],
    )
    yield (
        "sort(s)[-10:] of 1e5",
        lambda s: pt.sort(s)[-10:],
        lambda s: np.sort(np.partition(s, s.size - 10)[-10:]),
        "jnp.sort(a)[-10:]",
        [normal(100_000)],
    )
    yield (
        "inv(m)[0] of 600",
        lambda x: pt.linalg.inv(x)[0],
        lambda x: np.linalg.solve(x.T, np.eye(len(x))[0]),
        "jnp.linalg.inv(a)[0]",
        [normal(600, 600)],
    )
    yield (
        "solve(a, b)[:, 0] of 300",
        lambda x, y: pt.linalg.solve(x, y)[:, 0],
        lambda x, y: np.linalg.solve(x, y[:, 0]),
        "jnp.linalg.solve(a, b)[:, 0]",
        [normal(300, 300), normal(300, 300)],
    )
    yield (
        "one row of a sum over columns, 1e6",
        lambda x: pt.sum(pt.exp(x), axis=1)[3],
        lambda x: np.exp(x[3]).sum(),
        "jnp.sum(jnp.exp(a), axis=1)[3]",
        [m],
    )
    mask = np.zeros(100_000, bool)
    mask[RNG.choice(100_000, 10, replace=False)] = True
    yield (
        "a mask that chooses 10 of 1e5",
        lambda s, k: pt.switch(k, pt.gammaln(s), 0.0),
        lambda s, k: _chosen(s, k),
        "",
        [RNG.gamma(3.0, size=100_000), mask],
    )


def _chosen(s: Any, k: Any) -> Any:
    result = np.zeros_like(s)
    result[k] = scipy.special.gammaln(s[k])
    return result


def time_of(call: Callable[[], Any], repeats: int) -> float:
    began = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - began) / repeats


# fmt: on


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--repeats", type=int, default=15)
    asked = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for name, ours, theirs, text, arrays in cases():
            if asked.only not in name:
                continue
            inputs = [pt.as_tensor(x).type() for x in arrays]
            results = ours(*inputs)
            began = time.process_time()
            compiled = pm.function(inputs, list(results) if isinstance(results, list | tuple) else results)
            expected, found = theirs(*arrays), compiled(*arrays)
            took = time.process_time() - began
            for a, b in zip(_listed(found), _listed(expected), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8, err_msg=name)
            calls = {
                "ours": partial(compiled, *arrays),
                "NumPy": partial(theirs, *arrays),
                "JAX": by_jax(text, *arrays),
            }
            times: dict[str, list[float]] = {}
            runs = {who: call for who, call in calls.items() if call is not None}
            counts = {
                who: max(1, int(SECONDS / max(min(time_of(call, 1) for _ in range(2)), 1e-7)))
                for who, call in runs.items()
            }
            for _ in range(asked.repeats):
                for who, call in runs.items():
                    times.setdefault(who, []).append(time_of(call, counts[who]))
            median = {who: statistics.median(found) for who, found in times.items()}
            best = min(median[who] for who in median if who != "ours")
            note = ", ".join(f"{who} {1e6 * median[who]:.1f}" for who in median) + f" us; compiled in {took:.2f} s"
            rows.append(Row(name, best / median["ours"], "", 0.95, at_least=True, note=note))
            print(rows[-1].what, f"{rows[-1].value:.2f}", note, flush=True)
    here = Path(__file__).parent
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True)
    show(f"time of the best peer over ours, commit {commit.stdout.strip()}", rows)


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


if __name__ == "__main__":
    main()
