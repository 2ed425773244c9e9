"""Whole processes: a script that writes a model, samples it and shows the result, from its start to its end.

`python -m benchmarks.whole_processes [--peers PYTHON] [--repeats N]`. Three states of a machine: its object cache
empty; used, but for other models; used for the same model. Byte code is there in all, as after any installation.
PYTHON has PyMC with nutpie, and NumPyro, which keep compiled code nowhere or in a cache of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks.fresh import ROOT, environment
from benchmarks.report import Row, show

MODELS = {
    "eight schools": "models.eight_schools()",
    "radon": "models.radon()",
    "logistic, 1,000 x 10": "models.logistic(1000, 10)",
    "Gaussian process, 200 points": "models.gaussian_process(200)",
}
OURS = """
import json, resource, sys
import consilience as pm
from benchmarks import models
with {model}:
    result = pm.sample(random_seed=1, progressbar=False)
str(result)
loaded = {{}}
for name in sys.modules:
    package = name.partition(".")[0]
    loaded[package] = loaded.get(package, 0) + 1
print(json.dumps([result.status, loaded, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""
READ = """
import numpy as np
from benchmarks import problems
"""
DATA = {
    "eight schools": READ + "y, e = problems.EFFECTS, problems.ERRORS",
    "radon": READ
    + """
data = problems.radon_data()
county, floor, y = data["county_idx"] - 1, data["floor_measure"], data["log_radon"]
uranium, counties = data["log_uppm"][np.unique(county, return_index=True)[1]], int(data["J"])
""",
    "logistic, 1,000 x 10": READ + "x, y = problems.logistic_data(1000, 10)",
}
NUTPIE = """
import pymc as pm
with pm.Model():
{model}
    str(pm.sample(nuts_sampler="nutpie", random_seed=1, progressbar=False))
"""
NUMPYRO = """
import jax, numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS
numpyro.set_host_device_count(4)
def model():
{model}
mcmc = MCMC(NUTS(model), num_warmup=1000, num_samples=1000, num_chains=4, progress_bar=False)
mcmc.run(jax.random.PRNGKey(1))
str(mcmc.get_samples())
"""
PEERS = {
    "PyMC with nutpie": (
        NUTPIE,
        {
            "eight schools": """
    mu, tau, z = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5), pm.Normal("z", shape=8)
    pm.Normal("y", mu + tau * z, e, observed=y)
""",
            "radon": """
    intercept, slope, effect = (pm.Normal(name, 0, 5) for name in ("intercept", "uranium_effect", "floor_effect"))
    spread, spread_floor, sigma = (pm.HalfNormal(name, 1) for name in ("sigma_intercept", "sigma_floor", "sigma"))
    z, z_floor = pm.Normal("z_intercept", shape=counties), pm.Normal("z_floor", shape=counties)
    a = pm.Deterministic("county_intercept", intercept + slope * uranium + spread * z)
    b = pm.Deterministic("county_floor", effect + spread_floor * z_floor)
    pm.Normal("log_radon", a[county] + b[county] * floor, sigma, observed=y)
""",
            "logistic, 1,000 x 10": """
    beta = pm.Normal("beta", 0, 2.5, shape=10)
    pm.Bernoulli("y", logit_p=pm.math.dot(x, beta), observed=y)
""",
        },
    ),
    "NumPyro": (
        NUMPYRO,
        {
            "eight schools": """
    mu, tau = numpyro.sample("mu", dist.Normal(0, 5)), numpyro.sample("tau", dist.HalfCauchy(5))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([8]).to_event(1))
    numpyro.sample("y", dist.Normal(mu + tau * z, e).to_event(1), obs=y)
""",
            "radon": """
    names = "intercept", "uranium_effect", "floor_effect"
    intercept, slope, effect = (numpyro.sample(name, dist.Normal(0, 5)) for name in names)
    names = "sigma_intercept", "sigma_floor", "sigma"
    spread, spread_floor, sigma = (numpyro.sample(name, dist.HalfNormal(1)) for name in names)
    by_county = dist.Normal(0, 1).expand([counties]).to_event(1)
    z, z_floor = numpyro.sample("z_intercept", by_county), numpyro.sample("z_floor", by_county)
    a = numpyro.deterministic("county_intercept", intercept + slope * uranium + spread * z)
    b = numpyro.deterministic("county_floor", effect + spread_floor * z_floor)
    numpyro.sample("log_radon", dist.Normal(a[county] + b[county] * floor, sigma).to_event(1), obs=y)
""",
            "logistic, 1,000 x 10": """
    beta = numpyro.sample("beta", dist.Normal(0, 2.5).expand([10]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=x @ beta).to_event(1), obs=y)
""",
        },
    ),
}


def timed(python: str, script: str, cache: str) -> tuple[float, float, str]:
    """Wall seconds, processor seconds and output of one process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [python, "-W", "ignore", "-c", script], cwd=ROOT, env=environment(cache), capture_output=True, text=True
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def row(what: str, runs: list[tuple[float, float, str]], limit: float | None = None) -> Row:
    """Least wall time of some runs, with their processor time and what the last one said of itself."""
    spent = statistics.median(processor for _, processor, _ in runs)
    note = f"processor {spent:.2f} s"
    if runs[-1][2].startswith("["):
        status, loaded, peak = json.loads(runs[-1][2])
        most = ", ".join(f"{name} {count}" for name, count in sorted(loaded.items(), key=lambda one: -one[1])[:5])
        note += f"; {sum(loaded.values())} modules ({most}); {peak:.0f} MiB; {status}"
    return Row(what, min(wall for wall, _, _ in runs), "s", limit, note=note)


def main(repeats: int = 3, peers: str | None = None) -> None:
    """Print the tables."""
    for title, model in MODELS.items():
        script = OURS.format(model=model)
        other = OURS.format(model="models.separate_terms(20)")
        found: dict[str, list[Any]] = {"first": [], "new": [], "same": []}
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as cache:
                found["first"].append(timed(sys.executable, script, cache))
                found["same"].append(timed(sys.executable, script, cache))
            with tempfile.TemporaryDirectory() as cache:
                timed(sys.executable, other, cache)
                found["new"].append(timed(sys.executable, script, cache))
        show(
            f"A process that samples: {title}",
            [
                row("first on a machine", found["first"], 1.2),
                row("a new model on a used machine", found["new"], 0.55),
                row("the same model again", found["same"], 0.40),
            ],
        )
    if peers:
        for title, data in DATA.items():
            with tempfile.TemporaryDirectory() as cache:
                rows = [
                    row(name, [timed(os.path.abspath(peers), data + script.format(model=written[title]), cache)])
                    for name, (script, written) in PEERS.items()
                ]
            show(f"The same of peers: {title}", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="an interpreter with PyMC, nutpie and NumPyro")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    main(given.repeats, given.peers)
