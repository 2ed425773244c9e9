"""ADVI, SVGD, a mode and a Hilbert space Gaussian process in NumPyro: the models of `variational` and `points`.

Seconds and processor time of a whole process beside ours, with NumPyro's interpreter in the variable NUMPYRO_PYTHON.
Steps and particles are those that PyMC takes by default; chains of the process are four in lock step.
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks import points, variational
from benchmarks.report import Row, show

HEAD = """
import resource, time, warnings
begun = time.perf_counter()
import numpy as np
import jax, numpyro
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoDelta, AutoNormal
warnings.simplefilter("ignore")
numpyro.enable_x64()
key = jax.random.PRNGKey(1)
rng = np.random.default_rng(1)
"""
LOGISTIC = """
x = rng.normal(size=(rows, columns))
y = (rng.random(rows) < 1 / (1 + np.exp(-x @ rng.normal(0, 0.5, columns)))).astype(int)

def model(x, y):
    b = numpyro.sample("b", dist.Normal(0.0, 1.0).expand([columns]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=x @ b), obs=y)

def exact():
    mode = np.zeros(columns)
    for _ in range(20):
        p = 1 / (1 + np.exp(-x @ mode))
        precision = (x * (p * (1 - p))[:, None]).T @ x + np.eye(columns)
        mode += np.linalg.solve(precision, x.T @ (y - p) - mode)
    return mode, np.sqrt(np.diag(np.linalg.inv(precision)))
"""
FOOT = """
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(time.perf_counter() - begun, sum(u.ru_utime + u.ru_stime for u in used), float(answer))
"""
CASES = {
    "ADVI of 100,000 x 20": "rows, columns = 100_000, 20"
    + LOGISTIC
    + """
guide = AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.01), Trace_ELBO())
found = svi.run(key, 10_000, jnp.asarray(x), jnp.asarray(y), progress_bar=False)
mode, std = exact()
answer = np.abs((np.asarray(found.params["b_auto_loc"]) - mode) / std).max()
""",
    "SVGD of 200 x 3": "rows, columns = 200, 3"
    + LOGISTIC
    + """
from numpyro.contrib.einstein import SVGD, RBFKernel
svgd = SVGD(model, numpyro.optim.Adagrad(0.5), RBFKernel(), num_stein_particles=100)
found = svgd.run(key, 1000, jnp.asarray(x), jnp.asarray(y), progress_bar=False)
draws = np.asarray(found.params["b_auto_loc"])
mode, std = exact()
answer = np.abs((draws.mean(0) - mode) / std).max()
""",
    "find_MAP": """
group, x = rng.integers(0, 200, 5000), rng.normal(size=5000)
y = rng.poisson(np.exp(0.5 + 0.3 * x + 0.4 * rng.normal(size=200)[group]))

def model():
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    level = numpyro.sample("level", dist.Normal(0.0, 1.0))
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([200]).to_event(1))
    numpyro.sample("y", dist.Poisson(jnp.exp(level + slope * x + sigma * z[group])), obs=y)

guide = AutoDelta(model)
svi = SVI(model, guide, numpyro.optim.Minimize(), Trace_ELBO())
state, _ = svi.update(svi.init(key))
answer = svi.get_params(state)["slope_auto_loc"]
""",
    "HSGP": """
from numpyro.contrib.hsgp.approximation import hsgp_matern
x = np.sort(rng.uniform(-1, 1, 5000))
y = np.sin(4 * x) + 0.3 * rng.normal(size=5000)

def model():
    length = numpyro.sample("length", dist.LogNormal(-0.7, 0.5))
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    f = hsgp_matern(x, nu=2.5, alpha=scale, length=length, ell=1.5, m=25)
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    numpyro.sample("y", dist.Normal(f, noise), obs=y)

mcmc = MCMC(NUTS(model), num_warmup=1000, num_samples=1000, num_chains=4, chain_method="vectorized", progress_bar=False)
mcmc.run(key)
answer = mcmc.get_samples()["noise"].mean()
""",
}


def measured(python: str, program: str) -> list[float]:
    """Seconds, seconds of processor time, and an error or an estimate."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    done = subprocess.run(
        [python, "-c", HEAD + program + FOOT], capture_output=True, text=True, check=True, env=environment
    )
    return [float(number) for number in done.stdout.split()[-3:]]


def ours(title: str) -> list[float]:
    """The same figures of our process."""
    if title in points.CASES:
        return points.measured(sys.executable, "consilience", points.CASES[title])
    shape, options, _ = variational.CASES[title]
    seconds, used, _, shift, _ = variational.measured(sys.executable, "consilience", shape, options)
    return [seconds, used, shift]


def main() -> None:
    """Print all."""
    peer = os.environ.get("NUMPYRO_PYTHON")
    if not peer:
        print("\nNUMPYRO_PYTHON does not name an interpreter that has NumPyro.")
        return
    rows = []
    for title, program in CASES.items():
        own, other = ours(title), measured(peer, program)
        rows += [
            Row(f"{title}: processor time", own[1], "s"),
            Row(f"{title}: error or estimate", own[2], ""),
            Row(f"{title}, NumPyro: seconds", other[0], "s"),
            Row(f"{title}, NumPyro: processor time", other[1], "s"),
            Row(f"{title}, NumPyro: error or estimate", other[2], ""),
            Row(f"{title}: NumPyro's processor time over ours", other[1] / own[1], "", 5.0, at_least=True),
        ]
    show("Beyond chains in NumPyro, a whole process", rows)


if __name__ == "__main__":
    main()
