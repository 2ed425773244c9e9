"""`find_MAP` and a Hilbert space Gaussian process: processor time of a whole process beside PyMC's, from one text.

With PyMC's interpreter in the variable PEER_PYTHON. The mode is that of a Poisson regression with 200 groups and 5,000
rows; the process has 5,000 points, 25 basis functions, and is sampled by `pm.sample()` as it is in both.
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.report import Row, show

HEAD = """
import resource, time, warnings
begun = time.perf_counter()
import numpy as np
import {library} as pm
warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
"""
FOOT = """
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(time.perf_counter() - begun, sum(u.ru_utime + u.ru_stime for u in used), float(answer))
"""
CASES = {
    "find_MAP": """
group, x = rng.integers(0, 200, 5000), rng.normal(size=5000)
y = rng.poisson(np.exp(0.5 + 0.3 * x + 0.4 * rng.normal(size=200)[group]))
with pm.Model():
    sigma = pm.HalfNormal("sigma", 1.0)
    level = pm.Normal("level", 0.0, 1.0)
    slope = pm.Normal("slope", 0.0, 1.0)
    z = pm.Normal("z", 0.0, 1.0, shape=200)
    pm.Poisson("y", pm.math.exp(level + slope * x + sigma * z[group]), observed=y)
    found = pm.find_MAP(progressbar=False)
answer = found["slope"]
""",
    "HSGP": """
x = np.sort(rng.uniform(-1, 1, 5000))
y = np.sin(4 * x) + 0.3 * rng.normal(size=5000)
with pm.Model():
    length = pm.LogNormal("length", -0.7, 0.5)
    scale = pm.HalfNormal("scale", 1.0)
    cov = scale**2 * pm.gp.cov.Matern52(1, ls=length)
    gp = pm.gp.HSGP(m=[25], c=1.5, cov_func=cov)
    f = gp.prior("f", X=x[:, None])
    pm.Normal("y", f, pm.HalfNormal("noise", 1.0), observed=y)
    result = pm.sample(random_seed=1, progressbar=False)
answer = result.posterior["noise"].mean()
""",
}


def measured(python: str, library: str, program: str) -> list[float]:
    """Seconds, seconds of processor time, and an estimate that both must share."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    if library == "consilience":
        environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    text = HEAD.format(library=library) + program + FOOT
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=True, env=environment)
    return [float(number) for number in done.stdout.split()[-3:]]


def main() -> None:
    """Print all."""
    rows = []
    peer = os.environ.get("PEER_PYTHON")
    for title, program in CASES.items():
        found = measured(sys.executable, "consilience", program)
        rows += [Row(f"{title}: seconds", found[0], "s"), Row(f"{title}: processor time", found[1], "s")]
        rows.append(Row(f"{title}: estimate", found[2], ""))
        if peer:
            other = measured(peer, "pymc", program)
            rows += [
                Row(f"{title}, PyMC: seconds", other[0], "s"),
                Row(f"{title}, PyMC: processor time", other[1], "s"),
                Row(f"{title}, PyMC: estimate", other[2], ""),
                Row(f"{title}: PyMC's processor time over ours", other[1] / found[1], "", 5.0, at_least=True),
            ]
    if not peer:
        print("\nPyMC is not measured: PEER_PYTHON does not name an interpreter that has it.")
    show("A mode and a Gaussian process, a whole process", rows)


if __name__ == "__main__":
    main()
