"""A posterior with a differential equation: its density and gradient beside hand-written C and beside PyMC.

    python -m benchmarks.ode

The C takes Dormand-Prince steps of one length, without an estimate of the error, to the end of every year, and goes
back through them by hand (-O3 -march=native -ffast-math): as many steps as the adaptive solver takes, which also
estimates errors, rejects steps, records and interpolates. The same steps are written as a loop of the tensor language
too. PyMC is measured where the variable PEER_PYTHON names its interpreter: `pm.ode.DifferentialEquation` with SciPy's
LSODA and forward sensitivities, at its own tolerances.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.native import GeneratedDensity, PlainDensity, one_core, race
from benchmarks.problems import Problem
from benchmarks.report import Row, show
from benchmarks.run_time import microseconds
from consilience.ode.runge_kutta import DORMAND_PRINCE
from consilience.ode.state_function import right_hand_side

LIMIT, LIMIT_PEER = 2.0, 50.0
YEARS = 20
MEANS = {"theta": [0.547, 0.0277, 0.8, 0.0241], "sigma": [0.248, 0.251], "z_init": [34.0, 5.94]}
START = np.log(np.concatenate(list(MEANS.values())))

MODEL = """
def equation(z, t, p):
    return [(p[0] - p[1] * z[1]) * z[0], (-p[2] + p[3] * z[0]) * z[1]]

def posterior(pm, np, log, solved, first, seen):
    with pm.Model() as model:
        centre, width = np.array([1, 0.05, 1, 0.05]), np.array([0.5, 0.05, 0.5, 0.05])
        theta = pm.TruncatedNormal("theta", centre, width, lower=0, shape=4)
        sigma = pm.LogNormal("sigma", -1, 1, shape=2)
        z_init = pm.LogNormal("z_init", np.log(10), 1, shape=2)
        pm.LogNormal("first", log(z_init), sigma, observed=first)
        pm.LogNormal("seen", log(solved(z_init, theta)), sigma, observed=seen)
    return model
"""

PYMC = (
    MODEL
    + """
import json, time, sys
import numpy as np
import pymc as pm
from pymc.ode import DifferentialEquation

given = json.loads(sys.argv[1])
of = DifferentialEquation(equation, np.arange(1.0, 21.0), n_states=2, n_theta=4, t0=0)
model = posterior(
    pm, np, pm.math.log, lambda y0, theta: of(y0=y0, theta=theta), np.array(given["first"]), np.array(given["seen"])
)
f = model.logp_dlogp_function(ravel_inputs=True)
f.set_extra_values({})
point = np.array(given["start"])
f(point)
calls, started = 0, time.perf_counter()
while time.perf_counter() - started < 5:
    value = f(point)
    calls += 1
print(json.dumps([(time.perf_counter() - started) / calls, float(value[0])]))
"""
)


def data() -> tuple[np.ndarray, np.ndarray]:
    """Numbers of a first year and of twenty more, drawn around the solution at START."""
    rng = np.random.default_rng(1)
    states = pm.ode.solve(equation(), MEANS["z_init"], np.arange(YEARS + 1.0), MEANS["theta"]).eval()
    seen = states * np.exp(0.25 * rng.standard_normal(states.shape))
    return seen[0], seen[1:]


Solved = Callable[[Any, Any], Any]


def equation() -> Callable[..., Any]:
    """The right-hand side."""
    scope: dict[str, Any] = {}
    exec(MODEL, scope)
    found: Callable[..., Any] = scope["equation"]
    return found


def density(first: np.ndarray, seen: np.ndarray, solved: Solved) -> GeneratedDensity:
    """The compiled log density."""
    scope: dict[str, Any] = {}
    exec(MODEL, scope)
    return GeneratedDensity(scope["posterior"](pm, np, pt.log, solved, first, seen).log_density())


def adaptive(**settings: Any) -> Solved:
    """`pm.ode.solve` at its usual tolerance."""
    return lambda y0, theta: pm.ode.solve(equation(), y0, np.arange(1.0, YEARS + 1), theta, t0=0, **settings)


def equal_steps(per_year: int) -> Solved:
    """What the C does, as a loop of the tensor language."""

    def solved(y0: Any, theta: Any) -> Any:
        f, h = right_hand_side(equation(), y0, theta), pt.as_tensor(1.0 / per_year)
        states = pt.scan(
            lambda y: DORMAND_PRINCE.advance(f, h, y, h, f.parameters),
            outputs_info=y0,
            n_steps=per_year * YEARS,
            return_updates=False,
        )
        return states[per_year - 1 :: per_year]

    return solved


def steps() -> int:
    """How many steps the adaptive solver takes at START."""
    times = np.arange(YEARS + 1.0)
    return int(pm.ode.solve(equation(), MEANS["z_init"], times, MEANS["theta"], full_output=True).steps.eval())


def beside_c(first: np.ndarray, seen: np.ndarray) -> list[Row]:
    """Ratios to C, and times to compile."""
    per_year = -(-steps() // YEARS)
    fields = (np.log(seen), np.log(first))
    by_hand = PlainDensity(
        Problem("lotka_volterra", "lotka_volterra", {"M": per_year}, fields, 0.0, START, lambda q: 0.0)
    )
    cases: dict[str, tuple[Solved, float | None]] = {
        "the same equal steps": (equal_steps(per_year), LIMIT),
        **{
            f"{method}, {way}": (adaptive(method=method, sensitivity=way), None)
            for method, way in (("rk45", "adjoint"), ("tsit5", "adjoint"), ("rk45", "forward"), ("stiff", "adjoint"))
        },
    }
    rows = []
    for name, (solved, limit) in cases.items():
        started = time.perf_counter()
        ours = density(first, seen, solved)
        compiled = time.perf_counter() - started
        _agree(by_hand, ours, 1e-9 if limit else 2e-2)
        seconds = race([by_hand, ours])
        note = f"{microseconds(seconds[1])}, C {microseconds(seconds[0])} for {per_year * YEARS} steps"
        rows.append(Row(f"{name}, over C", seconds[1] / seconds[0], "", limit, note=note))
        rows.append(Row(f"{name}: model to machine code", compiled, "s"))
    return rows


def _agree(by_hand: PlainDensity, ours: GeneratedDensity, tolerance: float) -> None:
    """Differences of log densities, and gradients, are equal to the accuracy of the solutions."""
    other = START + 0.02
    both: list[Callable[[np.ndarray], tuple[float, np.ndarray]]] = [by_hand, ours]
    (here, slope), (mine, own) = (f(START) for f in both)
    there, mine_there = (f(other)[0] for f in both)
    np.testing.assert_allclose(mine_there - mine, there - here, rtol=tolerance)
    np.testing.assert_allclose(own, slope, rtol=tolerance, atol=0.05 * tolerance * abs(slope).max())


def beside_pymc(first: np.ndarray, seen: np.ndarray, peer: str) -> list[Row]:
    """One call of PyMC's function of the log density and its gradient over one of ours."""
    given = json.dumps({"first": first.tolist(), "seen": seen.tolist(), "start": START.tolist()})
    done = subprocess.run([peer, "-c", PYMC, given], capture_output=True, text=True, check=True, cwd=Path(peer).parent)
    theirs, logp = json.loads(done.stdout.splitlines()[-1])
    ours = density(first, seen, adaptive())
    np.testing.assert_allclose(ours(START)[0], logp, rtol=1e-3)
    (seconds,) = race([ours])
    note = f"{microseconds(seconds)}, PyMC {microseconds(theirs)}"
    return [Row("PyMC's time over ours", theirs / seconds, "", LIMIT_PEER, at_least=True, note=note)]


def main() -> None:
    """Print the tables."""
    one_core()
    first, seen = data()
    rows = beside_c(first, seen)
    peer = os.environ.get("PEER_PYTHON")
    if peer:
        rows += beside_pymc(first, seen, peer)
    show("Lotka-Volterra, 20 years: log density and gradient, time per call as a ratio", rows)
    if not peer:
        print("\nPyMC is not measured: PEER_PYTHON does not name an interpreter that has it.")


if __name__ == "__main__":
    main()
