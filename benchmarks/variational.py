"""Variational inference of two models: seconds and processor time of a whole process, and how near the answer is.

Mean-field ADVI of a logistic regression of 100,000 rows and 20 columns, and SVGD of a small one. With PyMC's
interpreter in the variable PEER_PYTHON, its as well: its 10,000 and 1,000 steps by default, or as many as PEER_STEPS
says of the first.
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.report import Row, show

PROGRAM = """
import os, resource, time, warnings
begun = time.perf_counter()
import numpy as np
import {library} as pm
warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
rows, columns = {rows}, {columns}
x = rng.normal(size=(rows, columns))
y = (rng.random(rows) < 1 / (1 + np.exp(-x @ rng.normal(0, 0.5, columns)))).astype(int)
with pm.Model() as model:
    b = pm.Normal("b", 0.0, 1.0, shape=columns)
    pm.Bernoulli("y", logit_p=x @ b, observed=y)
    approx = pm.fit({options}, random_seed=1, progressbar=False)
    draws = np.asarray(approx.sample(1000, random_seed=1).posterior["b"])[0]
# The mode and the curvature there, which so many rows leave hardly any difference from the posterior's moments.
mode = np.zeros(columns)
for _ in range(20):
    p = 1 / (1 + np.exp(-x @ mode))
    precision = (x * (p * (1 - p))[:, None]).T @ x + np.eye(columns)
    mode += np.linalg.solve(precision, x.T @ (y - p) - mode)
std = np.sqrt(np.diag(np.linalg.inv(precision)))
shift, spread = np.abs((draws.mean(0) - mode) / std).max(), (draws.std(0) / std).mean()
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(time.perf_counter() - begun, sum(u.ru_utime + u.ru_stime for u in used), len(approx.hist), shift, spread)
"""

STEPS = os.environ.get("PEER_STEPS", "10000")
CASES = {
    "ADVI of 100,000 x 20": ((100_000, 20), "method='advi'", f"{STEPS}, method='advi'"),
    "SVGD of 200 x 3": ((200, 3), "method='svgd'", "1000, method='svgd', inf_kwargs=dict(n_particles=100)"),
}


def measured(python: str, library: str, shape: tuple[int, int], options: str) -> list[float]:
    """Seconds, seconds of processor time, steps, largest error of a mean and mean ratio of deviations."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    if library == "consilience":
        environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    program = PROGRAM.format(library=library, rows=shape[0], columns=shape[1], options=options)
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return [float(number) for number in done.stdout.split()[-5:]]


def described(title: str, found: list[float]) -> list[Row]:
    """Rows of one fit."""
    units = {"seconds": "s", "processor time": "s", "steps": "", "error of a mean": "sd", "ratio of deviations": ""}
    return [Row(f"{title}: {name}", value, unit) for (name, unit), value in zip(units.items(), found, strict=True)]


def main() -> None:
    """Print all."""
    rows = []
    peer = os.environ.get("PEER_PYTHON")
    for title, (shape, own, theirs) in CASES.items():
        found = measured(sys.executable, "consilience", shape, own)
        rows += described(title, found)
        if peer:
            other = measured(peer, "pymc", shape, theirs)
            rows += [
                *described(f"{title}, PyMC", other),
                Row(f"{title}: PyMC's processor time over ours", other[1] / found[1], "", 5.0, at_least=True),
            ]
    if not peer:
        print("\nPyMC is not measured: PEER_PYTHON does not name an interpreter that has it.")
    show("Variational inference, a whole process", rows)


if __name__ == "__main__":
    main()
