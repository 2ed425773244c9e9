"""One model in this process: `python -m benchmarks.hard_posteriors.one TABLE NAME SEED [--by HOW]` prints a row.

`own` is `pm.sample(model=..., random_seed=...)` of the tree that PYTHONPATH names, `plain` the same with no block of
variables integrated out or carried along, `pymc` PyMC's default with nutpie, `inla` our nested Laplace approximation.
Effective draws are counted by the same function, of all elements of all free variables.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.memory import peak, resident

BLOCK = 2_000  # elements whose effective draws are counted at once
RHAT, DIVERGENCES = 1.03, 10  # of recorded runs, up to which they are trusted
SHOWN = 200  # elements of a field whose moments are kept


def table(kind: str) -> Any:
    """Models by name: `hard`, `growing` or `public`."""
    if kind == "hard":
        from benchmarks.hard_posteriors import more_models  # whose rows are added to those of `models`
        from benchmarks.hard_posteriors.models import MODELS

        assert more_models
        return MODELS
    if kind == "growing":
        from benchmarks.hard_posteriors.growing import TABLE

        return TABLE
    from tests.public_models.table import MODELS as PUBLIC

    return PUBLIC


def own(kind: str, name: str, seed: int, plain: bool = False) -> tuple[list[str], Any, dict[str, Any]]:
    """Names of free variables, the result of our tree, and what it says of itself."""
    import consilience as pm
    import consilience.tensor as pt

    chosen = table(kind)[name]
    model = chosen.build(pm, pt, np)
    options = {"integrate": False} if plain else {}
    if plain:
        from consilience.model import transport

        vars(transport)["TOGETHER"] = np.inf  # no block is large enough
    before, begun, work = resident(), time.perf_counter(), time.process_time()
    options |= getattr(chosen, "options", {})
    result = pm.sample(model=model, random_seed=seed, progressbar=False, **options)
    seconds, most = time.perf_counter() - begun, peak()
    attributes = result.posterior.attrs
    restarts = attributes.get("restarts", "[]")
    blocks = {kind: json.loads(attributes.get(kind) or "{}") for kind in ("integrated", "transported")}
    said = {
        "seconds": seconds,
        "cpu": time.process_time() - work,
        "sampling": float(attributes["sampling_time"]),
        "status": str(result.status),
        "reason": str(result.reason),
        "gradients": int(attributes["gradients"]),
        "tuning": int(attributes["gradients_warmup"]),
        "restarts": json.loads(restarts) if isinstance(restarts, str) else list(restarts),
        "blocks": {kind: found for kind, found in blocks.items() if found},
        "before_mb": before,
        "peak_mb": most,
    }
    return [v.name for v in model.free_RVs], result, said


def others(kind: str, name: str, seed: int) -> tuple[list[str], Any, dict[str, Any]]:
    """The same of PyMC; gradients are those of kept draws."""
    import pymc
    import pytensor.tensor as pt

    chosen = table(kind)[name]
    model = chosen.build(pymc, pt, np)
    discrete = any(v.dtype.startswith("int") for v in model.free_RVs)
    before, begun, work = resident(), time.perf_counter(), time.process_time()
    result = pymc.sample(
        model=model, chains=4, random_seed=seed, progressbar=False, compute_convergence_checks=False,
        nuts_sampler="pymc" if discrete else "nutpie", **getattr(chosen, "options", {}),
    )  # fmt: skip
    seconds, cpu = time.perf_counter() - begun, time.process_time() - work
    said = {"seconds": seconds, "cpu": cpu, "status": "", "before_mb": before, "peak_mb": peak()}
    said["versions"] = ", ".join(f"{name} {version(name)}" for name in ("pymc", "nutpie"))
    if "n_steps" in result.sample_stats:
        said["kept_gradients"] = int(result.sample_stats["n_steps"].sum())
    return [v.name for v in model.free_RVs], result, said


def counted(names: list[str], posterior: Any) -> dict[str, Any]:
    """Least bulk effective draws and largest R-hat over elements, and where; draws in all, and their bytes."""
    from consilience.diagnostics import ess_bulk, split_rhat

    least, most, where, size, draws = np.inf, 1.0, "", 0, 0
    for name in names:
        if name not in posterior:
            continue  # summed out
        values = np.asarray(posterior[name].values, float)
        draws, size = values.shape[0] * values.shape[1], size + values.nbytes
        values = values.reshape(*values.shape[:2], -1)
        for start in range(0, values.shape[-1], BLOCK):
            block = values[..., start : start + BLOCK]
            block = block[..., np.ptp(block, axis=(0, 1)) > 0]
            if block.shape[-1]:
                ess = float(np.nanmin(ess_bulk(block)))
                if ess < least:
                    least, where = ess, name
                most = max(most, float(np.nanmax(split_rhat(block))))
    return {"draws": draws, "draws_mb": size / 1e6, "ess": least, "rhat": most, "where": where}


def against_reference(name: str, posterior: Any) -> dict[str, Any]:
    """Largest distance of means from the recorded posterior, in its deviations, beyond four standard errors.

    Nothing where the recorded run did not converge itself.
    """
    from tests.public_models.registry import FOLDER
    from tests.public_models.summaries import elements

    recorded = json.loads((FOLDER / "reference.json").read_text(encoding="utf-8")).get(name, {}).get("posterior")
    if recorded is None or recorded["rhat"] > RHAT or recorded["divergences"] > DIVERGENCES:
        return {}
    worst = 0.0
    for variable, row in recorded["values"].items():
        if variable in posterior:
            mean, sd, se = (np.ravel(row[key]) for key in ("mean", "sd", "se"))
            distance = abs(elements(posterior[variable].values)["mean"] - mean)
            beyond = distance > 4 * se
            worst = max(worst, float(np.max(distance[beyond] / (sd[beyond] + 1e-12), initial=0.0)))
    return {"off": worst}


def some(values: Any) -> Any:
    """At most SHOWN elements, at equal distances."""
    flat = np.asarray(values, float).reshape(*np.shape(values)[:2], -1) if np.ndim(values) > 1 else np.asarray(values)
    return flat[..., np.linspace(0, flat.shape[-1] - 1, min(flat.shape[-1], SHOWN)).astype(int)]


def moments(posterior: Any) -> dict[str, list[list[float]]]:
    """Means and deviations of the scale and of some elements of the field."""
    draws = {"scale": posterior["scale"].values[..., None], "field": some(posterior["field"].values)}
    return {name: [a.mean((0, 1)).tolist(), a.std((0, 1)).tolist()] for name, a in draws.items()}


def laplace(kind: str, name: str, seed: int) -> dict[str, Any]:
    """The row of a nested Laplace approximation: seconds and moments."""
    import consilience as pm
    import consilience.tensor as pt
    from benchmarks.hard_posteriors.growing import LATENT

    model = table(kind)[name].build(pm, pt, np)
    begun = time.perf_counter()
    fit = pm.fit(method="inla", latent=LATENT[name.partition("_")[0]], model=model, random_seed=seed)
    field, scale = fit.marginal("field"), fit.summary()["scale"]
    values = {
        "scale": [[float(scale.sel(metric=what))] for what in ("mean", "sd")],
        "field": [some(field.mean).tolist(), some(field.sd).tolist()],
    }
    return {"seconds": time.perf_counter() - begun, "status": "done", "peak_mb": peak(), "values": values}


def row(kind: str, name: str, seed: int, by: str) -> dict[str, Any]:
    """All figures of one run."""
    if by == "inla":
        return laplace(kind, name, seed)
    names, result, said = others(kind, name, seed) if by == "pymc" else own(kind, name, seed, by == "plain")
    found = said | counted(names, result.posterior)
    if "diverging" in result.sample_stats:
        found["divergences"] = int(np.sum(result.sample_stats["diverging"].values))
    found["ess_per_second"] = found["ess"] / found["seconds"]
    found["ess_per_cpu_second"] = found["ess"] / found["cpu"]
    if "gradients" in found:
        found["gradients_per_ess"] = found["gradients"] / found["ess"]
    if kind == "growing":
        found["values"] = moments(result.posterior)
    return found | (against_reference(name, result.posterior) if kind == "public" else {})


def main() -> None:
    """Print the row as one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hard_posteriors.one", description=__doc__)
    parser.add_argument("table", choices=["hard", "growing", "public"])
    parser.add_argument("name")
    parser.add_argument("seed", type=int)
    parser.add_argument("--by", choices=["own", "plain", "pymc", "inla"], default="own")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(json.dumps(row(given.table, given.name, given.seed, given.by)))


if __name__ == "__main__":
    main()
