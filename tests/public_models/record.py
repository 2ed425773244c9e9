"""What PyMC says of every public model, written to `reference.json`; run in an environment that has PyMC and nutpie.

    OMP_NUM_THREADS=1 python -m tests.public_models.record [--posterior] [--only NAME ...] [--again]

Per model: at three points of PyMC's unconstrained space the log density (with and without Jacobian) and its slopes; of
the prior predictive, centre and spread of each variable; with `--posterior`, means, deviations and standard errors
of the free variables, R-hat, divergences and seconds. What is recorded already is kept unless `--again`.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from contextlib import contextmanager
from typing import Any

import numpy as np

from tests.public_models.registry import FOLDER
from tests.public_models.summaries import elements, summary
from tests.public_models.table import MODELS

REFERENCE = FOLDER / "reference.json"
POINTS, DRAWS = 2, 1000


@contextmanager
def double_precision() -> Any:
    """PyTensor keeps constants in as few bits as they fit, and computes the logarithm of 2.0 in single precision."""
    from pytensor.scalar.basic import autocast_float, autocast_int

    before = autocast_float.dtypes, autocast_int.dtypes
    autocast_float.dtypes, autocast_int.dtypes = ("float64",), ("int64",)
    try:
        yield
    finally:
        autocast_float.dtypes, autocast_int.dtypes = before


def digits(x: Any, count: int = 15) -> Any:
    """Numbers as JSON of few characters."""
    x = np.asarray(x)
    if x.dtype.kind in "iub":
        return x.tolist()
    return np.vectorize(lambda v: float(f"{v:.{count}g}"), otypes=[object])(x).tolist() if x.size else x.tolist()


def positions(model: Any, logp: Any) -> list[dict[str, Any]]:
    """Points near the initial one that have a density; whole numbers stay where they are."""
    start, rng, found = model.initial_point(random_seed=1), np.random.default_rng(8), []
    width = 0.5
    while len(found) < POINTS:
        point = {
            k: np.asarray(v)
            if np.asarray(v).dtype.kind in "iu"
            else np.round(v + width * rng.normal(size=np.shape(v)), 4)
            for k, v in start.items()
        }
        if np.isfinite(float(logp(point))):
            found.append(point)
        else:
            width *= 0.8
        if width < 1e-6:
            raise ValueError("no density near the initial point")
    return found


def stable() -> Any:
    """PyTensor's rewrites for stability without its compilers: functions start in a moment, with all their digits."""
    from pytensor.compile.mode import Mode
    from pytensor.graph.rewriting.db import RewriteDatabaseQuery

    return Mode("py", RewriteDatabaseQuery(include=["fast_run"], exclude=["fusion", "inplace"]))


def density(model: Any) -> list[dict[str, Any]]:
    """Log densities and slopes at points."""
    mode = stable()
    logp = model.compile_logp(mode=mode)
    natural = model.compile_logp(jacobian=False, mode=mode)
    continuous = [v.name for v in model.continuous_value_vars]
    slopes = model.compile_dlogp(mode=mode) if continuous else None
    rows = []
    for point in positions(model, logp):
        row = {
            "at": {n: digits(x) for n, x in point.items()},
            "logp": float(logp(point)),
            "logp_without_jacobian": float(natural(point)),
        }
        if slopes is not None:
            flat = slopes(point)
            ends = np.cumsum([np.size(point[n]) for n in continuous])
            row["slopes"] = {n: digits(x, 11) for n, x in zip(continuous, np.split(flat, ends[:-1]), strict=True)}
        rows.append(row)
    return rows


def prior(model: Any) -> dict[str, Any] | str:
    """Centre and spread of every variable of the prior predictive."""
    import pymc

    try:
        drawn = pymc.sample_prior_predictive(DRAWS, model=model, random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"})
    except (NotImplementedError, ValueError, RuntimeError, IndexError) as error:  # improper priors, odd parameters
        return str(error).splitlines()[0]
    groups = [drawn[g].data_vars for g in ("prior", "prior_predictive") if g in drawn.children]
    return {name: digits(summary(x.values), 6) for group in groups for name, x in group.items()}


def posterior(model: Any) -> dict[str, Any]:
    """Means, deviations and standard errors of what nutpie (or PyMC's compound step) draws."""
    import pymc

    discrete = [v for v in model.free_RVs if v.dtype.startswith("int")]
    begun = time.perf_counter()
    result = pymc.sample(
        model=model, chains=4, cores=1, random_seed=1, progressbar=False, compute_convergence_checks=False,
        nuts_sampler="pymc" if discrete else "nutpie",
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    stats = result["sample_stats"]
    rows = {v.name: elements(result["posterior"][v.name].values) for v in model.free_RVs}
    return {
        "seconds": round(seconds, 2),
        "divergences": int(stats["diverging"].sum()) if "diverging" in stats else 0,
        "rhat": round(max(float(np.nanmax(r["rhat"], initial=1.0)) for r in rows.values()), 3),
        "values": {name: {k: digits(r[k], 5) for k in ("mean", "sd", "se")} for name, r in rows.items()},
    }


def write(found: dict[str, Any]) -> None:
    """One line per model, in the order of their names."""
    lines = (f"{json.dumps(k)}: {json.dumps(found[k], separators=(',', ':'))}" for k in sorted(found))
    beside = REFERENCE.with_suffix(".new")
    beside.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    beside.replace(REFERENCE)


def main() -> None:
    """Record what is missing, model by model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posterior", action="store_true", help="sample too")
    parser.add_argument("--again", action="store_true", help="also what is recorded already")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    import pymc
    import pytensor.tensor as pt

    found = json.loads(REFERENCE.read_text(encoding="utf-8")) if REFERENCE.exists() else {}
    found = {name: row for name, row in found.items() if name in MODELS}
    for name in given.only or MODELS:
        part = "posterior" if given.posterior else "density"
        if part in found.get(name, {}) and not given.again:
            continue
        try:
            with double_precision():
                model = MODELS[name].build(pymc, pt, np)
                made = (
                    {"posterior": posterior(model)}
                    if given.posterior
                    else {"density": density(model), "prior": prior(model)}
                )
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:400]}", flush=True)
            continue
        # Somebody else may have written in between.
        found = {**found, **(json.loads(REFERENCE.read_text(encoding="utf-8")) if REFERENCE.exists() else {})}
        found[name] = {**found.get(name, {}), **made}
        write(found)
        print(name, found[name].get("posterior", {}).get("seconds", ""), flush=True)


if __name__ == "__main__":
    main()
