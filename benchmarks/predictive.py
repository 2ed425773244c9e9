"""Prior and posterior predictive draws of a model of fifty variables: seconds and processor time of a whole process.

`python -m benchmarks.predictive` runs ours; with PyMC's interpreter in the variable PEER_PYTHON, its as well, and their
ratio.
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.report import Row, show

PROGRAM = """
import resource, sys, time
begun = time.perf_counter()
import numpy as np
import xarray
import {library} as pm
rng = np.random.default_rng(1)
groups, n = 8, 200
x, g = rng.normal(size=(n, 4)), rng.integers(0, groups, n)
with pm.Model() as model:
    for k in range(12):
        mu = pm.Normal(f"mu{{k}}", 0, 1)
        sigma = pm.HalfNormal(f"sigma{{k}}", 1)
        a = pm.Normal(f"a{{k}}", mu, sigma, shape=groups)
        pm.Normal(f"y{{k}}", a[g] + x[:, k % 4] * mu, 1.0, observed=rng.normal(size=n))
    rate = pm.Gamma("rate", 2, 1)
    pm.Poisson("count", rate, observed=rng.poisson(2, 50))
    prior = pm.sample_prior_predictive({draws}, random_seed=1)
    posterior = prior["prior"] if isinstance(prior["prior"], xarray.Dataset) else prior["prior"].to_dataset()
    trace = xarray.DataTree.from_dict({{"posterior": posterior}})
    after = pm.sample_posterior_predictive(trace, random_seed=1, progressbar=False)
assert after["posterior_predictive"]["y3"].shape == (1, {draws}, n)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(time.perf_counter() - begun, sum(u.ru_utime + u.ru_stime for u in used))
"""


def measured(python: str, library: str, draws: int) -> tuple[float, float]:
    """Seconds and seconds of processor time of a fresh process."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    if library == "consilience":
        environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    program = PROGRAM.format(library=library, draws=draws)
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True, env=environment)
    seconds, processor = done.stdout.split()[-2:]
    return float(seconds), float(processor)


def main() -> None:
    """Print both."""
    own = min((measured(sys.executable, "consilience", 4000) for _ in range(3)), key=lambda pair: pair[1])
    rows = [Row("seconds", own[0], "s"), Row("processor time", own[1], "s")]
    peer = os.environ.get("PEER_PYTHON")
    if peer:
        theirs = min((measured(peer, "pymc", 4000) for _ in range(2)), key=lambda pair: pair[1])
        rows += [Row("PyMC, seconds", theirs[0], "s"), Row("PyMC, processor time", theirs[1], "s")]
        rows.append(Row("PyMC's processor time over ours", theirs[1] / own[1], "", 10.0, at_least=True))
    else:
        print("\nPyMC is not measured: PEER_PYTHON does not name an interpreter that has it.")
    show("Prior and posterior predictive, 50 variables, 4,000 draws, a whole process", rows)


if __name__ == "__main__":
    main()
