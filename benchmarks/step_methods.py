"""Step methods: transitions and evaluations of the log density per second, and a Gibbs sweep of 10,000 assignments.

`python -m benchmarks.step_methods` runs ours; with PyMC's interpreter in the variable PEER_PYTHON, its as well.
Measured are the step methods by themselves, tuned, without what a run adds; each time is the shortest of many batches.
PyMC's Metropolis methods evaluate the density at both points of a proposal, which counts as one evaluation.
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
TUNE = 1000
cases = dict(
    Metropolis=(schools, lambda: pm.Metropolis()),
    Slice=(schools, lambda: pm.Slice()),
    DEMetropolisZ=(schools, lambda: pm.DEMetropolisZ()),
    NUTS=(schools, lambda: pm.NUTS()),
    BinaryGibbsMetropolis=(mixture, lambda: [pm.Metropolis([p]), pm.BinaryGibbsMetropolis([z])]),
)
"""
OWN = """
from consilience.inference.kernel import MarkovChain
from consilience.inference.messages import Rows
from consilience.model.log_density import model_density
from consilience.sample.step_methods import DivisibleDensity, assigned
for name, (model, step) in cases.items():
    density = model_density(model)
    kernel = assigned(model, density, step(), pm.NUTS())
    n = density.dimension
    chain = MarkovChain(kernel, DivisibleDensity(density), np.zeros(n), 1, TUNE, np.zeros(1, np.int64))
    chain.begin()
    found = []
    for count in (TUNE, *(2000,) * 40):
        chain.write_to(Rows(np.empty((count, n)), np.empty((count, len(kernel.columns.types)), np.int64)))
        before, begun = chain.evaluations, time.perf_counter()
        chain.advance(count)
        taken = time.perf_counter() - begun
        found.append((taken / count, (chain.evaluations - before) / count))
    seconds, evaluations = min(found[1:])
    print(name, 1.0 / seconds, evaluations / seconds)
"""
PYMC = """
class Counted:
    calls = 0
    def __init__(self, function):
        self.function = function
    def __call__(self, *arguments):
        Counted.calls += 1
        return self.function(*arguments)
for name, (model, step) in cases.items():
    with model:
        own = step()
        point = model.initial_point()
        methods = list(own) if isinstance(own, list) else getattr(own, "methods", [own])
        def moved(count):
            global point
            gradients = 0
            for _ in range(count):
                for method in methods:
                    point, stats = method.step(point)
                    gradients += sum(int(s.get("tree_size", 0)) for s in stats)
            return gradients
        moved(TUNE)
        for method in methods:
            method.stop_tuning()
        found = []
        for _ in range(12):
            begun = time.perf_counter()
            gradients = moved(150)
            found.append(((time.perf_counter() - begun) / 150, gradients / 150))
        seconds, evaluations = min(found)
        for method in methods:
            for attribute in ("logp", "delta_logp"):
                if callable(getattr(method, attribute, None)):
                    setattr(method, attribute, Counted(getattr(method, attribute)))
        Counted.calls = 0
        moved(150)
        print(name, 1.0 / seconds, (evaluations or Counted.calls / 150) / seconds)
"""
SWEPT = 10_000
LEAST_RATIO = 100.0
ON_SCHOOLS = ("Metropolis", "Slice", "DEMetropolisZ")


def rates(python: str, library: str, measure: str) -> dict[str, tuple[float, float]]:
    """Transitions and evaluations per second by step method, in a fresh process."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    if library == "consilience":
        environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    program = PROGRAM.format(library=library) + measure
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True, env=environment)
    lines = (line.split() for line in done.stdout.splitlines())
    return {name: (float(transitions), float(evaluations)) for name, transitions, evaluations in lines}


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
        Row("sweep / log density", swept / evaluated, "", 4.0),
    ]
    own = rates(sys.executable, "consilience", OWN)
    gradients = own["NUTS"][1]
    for name, (transitions, evaluations) in own.items():
        rows.append(Row(f"{name}, transitions", transitions / 1e3, "k/s"))
        rows.append(Row(f"{name}, evaluations", evaluations / 1e3, "k/s"))
        if name in ON_SCHOOLS:
            rows.append(Row(f"{name}, evaluations over NUTS's", evaluations / gradients, ""))
    peer = os.environ.get("PEER_PYTHON")
    if peer:
        for name, (transitions, evaluations) in rates(peer, "pymc", PYMC).items():
            limit = None if name == "NUTS" else LEAST_RATIO
            rows.append(Row(f"{name}, PyMC, transitions", transitions / 1e3, "k/s"))
            rows.append(Row(f"{name}, transitions over PyMC's", own[name][0] / transitions, "", limit, True))
            if name in ON_SCHOOLS or name == "NUTS":
                rows.append(Row(f"{name}, evaluations over PyMC's", own[name][1] / evaluations, "", limit, True))
    else:
        print("\nPyMC is not measured: PEER_PYTHON does not name an interpreter that has it.")
    show("Step methods: one chain of eight schools, and of a mixture with 50 assignments", rows)


if __name__ == "__main__":
    main()
