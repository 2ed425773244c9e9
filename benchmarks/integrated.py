"""What integrating continuous variables out saves: `python -m benchmarks.integrated [MODEL ...] [--limit SECONDS]`.

Each model is sampled as it is by default and with `integrate=False`, each time in a process of its own that is ended
after so many seconds of processors. Printed are gradients, processor seconds, status, the least effective draws of the
scalars among the free variables, and the commit.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.hard_posteriors.one import table

ROOT: Final = Path(__file__).resolve().parents[1]
MODELS: Final = table("hard")


def poisson_gamma() -> Any:
    """Counts of 10,000 groups whose rates follow one Gamma distribution."""
    rng = np.random.default_rng(1)
    y = rng.poisson(rng.gamma(2.0, 0.5, 10_000))
    with pm.Model() as model:
        a, b = pm.Exponential("a", 1.0), pm.Exponential("b", 1.0)
        pm.Poisson("y", pm.Gamma("rate", a, b, shape=10_000), observed=y)
    return model


def plane() -> Any:
    """A Gaussian process through 80 points of a plane, with normal noise."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 5, (80, 2))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1]) + 0.3 * rng.normal(size=80)
    with pm.Model() as model:
        ell, eta, sigma = pm.Gamma("ell", 2, 1), pm.HalfNormal("eta", 3), pm.HalfNormal("sigma", 1)
        f = pm.gp.Latent(cov_func=eta**2 * pm.gp.cov.Matern52(2, ls=ell)).prior("f", X=X)
        pm.Normal("y", f, sigma, observed=y)
    return model


BUILDS: Final[dict[str, Callable[[], Any]]] = {
    "rolling_regression": lambda: MODELS["rolling_regression"].build(pm, pt, np),
    "cox_frailty": lambda: MODELS["cox_frailty"].build(pm, pt, np),
    "poisson_gamma": poisson_gamma,
    "weak_groups": lambda: MODELS["weak_groups"].build(pm, pt, np),
    "gp_regression": lambda: MODELS["gp_regression"].build(pm, pt, np),
    "gp_in_a_plane": plane,
    "structural_equations": lambda: MODELS["structural_equations"].build(pm, pt, np),
    "many_groups": lambda: MODELS["many_groups"].build(pm, pt, np),
}


def measured(name: str, integrate: bool) -> dict[str, Any]:
    """One run, in this process."""
    model = BUILDS[name]()
    options = MODELS[name].options if name in MODELS else {}
    began, spent = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = pm.sample(model=model, integrate=integrate, random_seed=1, progressbar=False, **options)
    wall, processor = time.perf_counter() - began, time.process_time() - spent
    scalars = [v.name for v in model.free_RVs if not v.type.shape]
    least = min(float(pm.ess(result, var_names=[own])[own]) for own in scalars)
    return {
        "status": result.status,
        "integrated": json.loads(result.posterior.attrs["integrated"]),
        "gradients": int(result.posterior.attrs["gradients"]),
        "processor": processor,
        "wall": wall,
        "ess": least,
    }


def in_process(name: str, integrate: bool, limit: int) -> dict[str, Any] | None:
    """The same in a process that is ended at the limit; None where that happened."""
    command = [sys.executable, "-m", "benchmarks.integrated", name, "--one", str(int(integrate))]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
    )  # fmt: skip
    if done.returncode < 0:
        return None
    if done.returncode:
        return {"status": f"failed: {done.stderr.strip().splitlines()[-1][:80]}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=[], metavar="MODEL")
    parser.add_argument("--limit", type=int, default=75)
    parser.add_argument("--one", type=int)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(measured(given.models[0], bool(given.one))))
        return
    commit = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, cwd=ROOT)
    print(f"commit {commit.stdout.strip()}, limit {given.limit} s of processors\n")
    print("| model | integrated | gradients | processor s | wall s | least ESS | gradients/ESS | status |")
    print("|---|---|--:|--:|--:|--:|--:|---|")
    for name in given.models or BUILDS:
        for integrate in (True, False):
            found = in_process(name, integrate, given.limit)
            which = ", ".join(f"{own} ({kind})" for own, kind in (found or {}).get("integrated", {}).items())
            title = f"| {name} | {which or ('nothing' if integrate else 'not asked')} |"
            if found is None:
                print(f"{title} | | | | | ended after {given.limit} s of processors |", flush=True)
            elif "gradients" not in found:
                print(f"{title} | | | | | {found['status']} |", flush=True)
            else:
                each = found["gradients"] / found["ess"]
                print(
                    f"{title} {found['gradients']:,} | {found['processor']:.1f} | {found['wall']:.1f} | "
                    f"{found['ess']:.0f} | {each:.1f} | {found['status']} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
