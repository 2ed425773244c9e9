"""Sequential Monte Carlo of eight schools: seconds and processor time of a whole process, and how near the answer is.

Four populations of 2,000 particles, with every kernel, and the evidence against that of a grid. With PyMC's interpreter
in the variable PEER_PYTHON, its as well, with the same particles. What bounds the ratio is the import of NumPy and
xarray, in which results come, and which both pay.
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

def main():
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pm.Model():
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.HalfNormal("tau", 5.0)
        theta = pm.Normal("theta", 0.0, 1.0, shape=8)
        pm.Normal("y", mu + tau * theta, sigma, observed=y)
        result = pm.sample_smc(2000, {kernel}, chains=4, cores={cores}, random_seed=1, progressbar=False)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds, used = time.perf_counter() - begun, sum(u.ru_utime + u.ru_stime for u in used)
    # The evidence by a grid over mu and tau, given which the data are independent.
    places = np.linspace(-40.0, 40.0, 801)[:, None]
    scales = np.linspace(0.0025, 40.0, 8000)
    prior = -0.5 * (places / 5) ** 2 - np.log(5 * np.sqrt(2 * np.pi)) - 0.5 * (scales / 5) ** 2
    prior = prior + np.log(2 / (5 * np.sqrt(2 * np.pi)))
    for own, s in zip(y, sigma):
        variance = s**2 + scales**2
        prior = prior - 0.5 * (own - places) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
    exact = np.log(np.exp(prior - prior.max()).sum() * 0.1 * 0.005) + prior.max()
    # PyMC tells it for every stage, in a list for each chain whose last entry counts.
    table = result.sample_stats["log_marginal_likelihood"].values
    found = np.array([float(np.ravel(chain)[-1]) for chain in table])
    print(seconds, used, abs(found.mean() - exact), found.std())

if __name__ == "__main__":
    main()
"""

IMPORTS = """
import resource
import numpy, xarray
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime)
"""

CASES = {"independent": "IMH", "random walk": "MH", "Hamiltonian": "HMC"}


def measured(python: str, library: str, kernel: str, cores: int) -> list[float]:
    """Seconds, seconds of processor time, error of the mean log evidence, and standard deviation over populations."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    if library == "consilience":
        environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    program = PROGRAM.format(library=library, kernel=f"pm.smc.{kernel}", cores=cores)
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return [float(number) for number in done.stdout.split()[-4:]]


def described(title: str, found: list[float]) -> list[Row]:
    """Rows of one run."""
    names = ("seconds", "processor time", "error of the log evidence", "spread over populations")
    units = ("s", "s", "", "")
    return [Row(f"{title}: {name}", value, unit) for name, value, unit in zip(names, found, units, strict=True)]


def main() -> None:
    """Print all."""
    imports = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    rows = [Row("processor time of importing NumPy and xarray", float(imports.stdout), "s")]
    peer = os.environ.get("PEER_PYTHON")
    for title, kernel in CASES.items():
        found = measured(sys.executable, "consilience", kernel, 2)
        rows += described(title, found)
        if peer and kernel != "HMC":
            other = measured(peer, "pymc", kernel, 1)
            rows += [
                *described(f"{title}, PyMC", other),
                Row(f"{title}: PyMC's processor time over ours", other[1] / found[1], "", 5.0, at_least=True),
            ]
    if not peer:
        print("\nPyMC is not measured: PEER_PYTHON does not name an interpreter that has it.")
    show("Sequential Monte Carlo of eight schools, 4 x 2,000 particles, a whole process", rows)


if __name__ == "__main__":
    main()
