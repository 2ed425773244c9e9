"""1,000 chains of 1,000 draws in lock step, beside NumPyro's vectorised chains and our own threads, on processors.

Eight schools and a logistic regression of 1,000 rows and 10 columns, after 300 transitions of tuning; processor time of
a whole process, compilation included, and effective draws of the slowest parameter for each second of it. JAX and
NumPyro are those of the interpreter in the variable NUMPYRO_PYTHON, which has this package's dependencies, too. The
variable CHAINS takes another number of chains.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.report import Row, show
from consilience.diagnostics import examine

CHAINS = int(os.environ.get("CHAINS", "1000"))

DATA = """
import resource, sys, time, warnings
begun = time.perf_counter()
import numpy as np
warnings.simplefilter("ignore")
y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
rng = np.random.default_rng(1)
rows = rng.normal(size=(1000, 10))
hits = (rng.random(1000) < 1 / (1 + np.exp(-rows @ rng.normal(0, 0.5, 10)))).astype(int)
"""
OURS = """
import consilience as pm
with pm.Model():
    if {schools}:
        mu, tau, z = pm.Normal("mu", 0.0, 5.0), pm.HalfNormal("tau", 5.0), pm.Normal("z", shape=8)
        pm.Normal("y", mu + tau * z, sigma, observed=y)
    else:
        pm.Bernoulli("y", logit_p=rows @ pm.Normal("b", shape=10), observed=hits)
    found = pm.sample(draws=1000, tune=300, chains={chains}, random_seed=1, progressbar=False,
                      compute_convergence_checks=False, {settings}).posterior
draws = [found[name].values for name in found]
"""
NUMPYRO = """
import jax, numpyro
import numpyro.distributions as dist
numpyro.enable_x64()
from numpyro.infer import MCMC, NUTS
def model():
    if {schools}:
        mu, tau = numpyro.sample("mu", dist.Normal(0.0, 5.0)), numpyro.sample("tau", dist.HalfNormal(5.0))
        z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([8]))
        numpyro.sample("y", dist.Normal(mu + tau * z, sigma), obs=y)
    else:
        b = numpyro.sample("b", dist.Normal(0.0, 1.0).expand([10]))
        numpyro.sample("y", dist.Bernoulli(logits=rows @ b), obs=hits)
run = MCMC(NUTS(model), num_warmup=300, num_samples=1000, num_chains={chains}, chain_method="vectorized",
           progress_bar=False)
run.run(jax.random.PRNGKey(1))
draws = [np.asarray(values) for values in run.get_samples(group_by_chain=True).values()]
"""
FOOT = """
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(time.perf_counter() - begun, sum(u.ru_utime + u.ru_stime for u in used))
np.save(sys.argv[1], np.concatenate([part.reshape(*part.shape[:2], -1) for part in draws], axis=2))
"""
ENGINES = {
    "lock step": (OURS, 'backend="jax"'),
    "threads": (OURS, ""),
    "NumPyro vectorised": (NUMPYRO, ""),
}


def measured(program: str, interpreter: str) -> tuple[float, float, float]:
    """Seconds, processor time, and effective draws of the slowest parameter."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draws.npy"
        told = subprocess.run([interpreter, "-c", program, path], capture_output=True, text=True, check=True).stdout
        found = examine(np.load(path))
    seconds, used = map(float, told.split()[-2:])
    return seconds, used, float(np.fmin(found.ess_bulk, found.ess_tail).min())


def main() -> None:
    """Measure all engines on both models."""
    interpreter = os.environ.get("NUMPYRO_PYTHON", sys.executable)
    for title, schools in (("eight schools", True), ("logistic regression, 1,000 x 10", False)):
        rows = []
        for engine, (program, settings) in ENGINES.items():
            body = program.format(schools=schools, chains=CHAINS, settings=settings)
            seconds, used, size = measured(DATA + body + FOOT, interpreter)
            rows += [
                Row(f"{engine}: process", seconds, "s"),
                Row(f"{engine}: processors", used, "CPU s"),
                Row(f"{engine}: effective draws", size / used, "1/CPU s"),
            ]
        show(f"{CHAINS} chains of 1,000 draws: {title}", rows)


if __name__ == "__main__":
    main()
