"""Transitions per second of step methods, and a Gibbs sweep of 10,000 assignments beside one log density.

`python -m benchmarks.step_methods` runs ours; with PyMC's interpreter in the variable PEER_PYTHON, its as well. A rate
is that of further draws of one chain: times of two lengths are subtracted, so that compiling and tuning have no part.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np

from benchmarks.report import Row, show

PROGRAM = """
import sys, time, warnings, logging
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
import numpy as np
import {library} as pm
y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
s = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
with pm.Model() as schools:
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", 0, 1, shape=8)
    pm.Normal("y", mu + tau * theta, s, observed=y)
rng = np.random.default_rng(0)
with pm.Model() as mixture:
    p = pm.Beta("p", 2, 2)
    z = pm.Bernoulli("z", p, shape=50)
    pm.Normal("y", 3.0 * z, 1.0, observed=np.where(rng.random(50) < 0.3, 3.0, 0.0) + rng.normal(size=50))
cases = dict(
    Metropolis=(schools, lambda: pm.Metropolis()),
    Slice=(schools, lambda: pm.Slice()),
    DEMetropolisZ=(schools, lambda: pm.DEMetropolisZ()),
    NUTS=(schools, lambda: pm.NUTS()),
    BinaryGibbsMetropolis=(mixture, lambda: [pm.Metropolis([p]), pm.BinaryGibbsMetropolis([z])]),
)
def seconds(model, step, draws):
    with model:
        begun = time.perf_counter()
        pm.sample(draws, tune=200, chains=1, cores=1, step=step(), random_seed=1, progressbar=False,
                  compute_convergence_checks=False)
        return time.perf_counter() - begun
for name, (model, step) in cases.items():
    seconds(model, step, 50)
    short, long = {few}, {many}
    best = min(seconds(model, step, long) for _ in range(3)) - min(seconds(model, step, short) for _ in range(3))
    print(name, (long - short) / best)
"""
SWEPT = 10_000
LEAST_RATIO = 100.0


def rates(python: str, library: str, few: int, many: int) -> dict[str, float]:
    """Transitions per second by step method, in a fresh process."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    if library == "consilience":
        environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    program = PROGRAM.format(library=library, few=few, many=many)
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return {name: float(rate) for name, rate in (line.split() for line in done.stdout.splitlines())}


def sweep() -> tuple[float, float]:
    """Seconds of a Gibbs sweep of all assignments, and of one log density of the same model."""
    import consilience as pm
    from consilience.inference.density import log_density, open_density
    from consilience.inference.gibbs import step_gibbs
    from consilience.inference.kernel import MarkovChain
    from consilience.model.log_density import model_density
    from consilience.sample.step_methods import DivisibleDensity, assigned

    rng = np.random.default_rng(0)
    truth = rng.random(SWEPT) < 0.3
    with pm.Model() as model:
        p = pm.Beta("p", 2, 2)
        mu = pm.Normal("mu", [0.0, 3.0], 1.0, shape=2)
        z = pm.Bernoulli("z", p, shape=SWEPT)
        pm.Normal("y", mu[z], 1.0, observed=3.0 * truth + rng.normal(size=SWEPT))
    density = DivisibleDensity(model_density(model))
    kernel = assigned(model, density.model, None, pm.NUTS())
    stop = np.zeros(1, np.int64)
    chain = MarkovChain(kernel, density, np.zeros(SWEPT + 3), 1, 0, stop)
    chain.begin()
    part, state, scratch = chain.parts[1], chain.states[1], chain.scratches[1]
    info = kernel.parts[1].Info(0)
    whole = density.block((), "logp").density
    opened, position = open_density(whole, stop), np.asarray(chain.walk.position).copy()
    times = []
    for call in (
        lambda: step_gibbs.compiled(part.point, state, scratch, part.density, info),
        lambda: log_density.compiled(opened, position),
    ):
        call()
        found = []
        for _ in range(200):
            begun = time.perf_counter()
            call()
            found.append(time.perf_counter() - begun)
        times.append(min(found))
    return times[0], times[1]


def main() -> None:
    """Print all rates."""
    swept, evaluated = sweep()
    rows = [
        Row("Gibbs sweep of 10,000", 1e6 * swept, "us"),
        Row("log density of the same", 1e6 * evaluated, "us"),
        Row("sweep / log density", swept / evaluated, ""),
    ]
    own = rates(sys.executable, "consilience", 2000, 42_000)
    rows += [Row(f"{name}, transitions", rate / 1e3, "k/s") for name, rate in own.items()]
    peer = os.environ.get("PEER_PYTHON")
    if peer:
        theirs = rates(peer, "pymc", 200, 2200)
        for name, rate in theirs.items():
            rows.append(Row(f"{name}, PyMC", rate / 1e3, "k/s"))
            rows.append(
                Row(f"{name}, ours over PyMC's", own[name] / rate, "", None if name == "NUTS" else LEAST_RATIO, True)
            )
    else:
        print("\nPyMC is not measured: PEER_PYTHON does not name an interpreter that has it.")
    show("Step methods: one chain of eight schools, and of a mixture with 50 assignments", rows)


if __name__ == "__main__":
    main()
