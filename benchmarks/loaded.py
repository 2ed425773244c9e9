"""The same draws and the same status on a busy machine: models run alone, and beside processes that only take time.

`python -m benchmarks.loaded [MODEL ...] [--processes N]`. Models are those of `tests/public_models`. A run is a process
of its own; what is compared is a digest of all draws, their number, the status, its reason, and the evaluations.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.report import Row, show

MODELS = ("t_process", "hsgp", "horseshoe_interactions")
PROCESSES = 8
SEED = 1


def run(name: str) -> dict[str, Any]:
    """What may not depend on the load, and the seconds, which do."""
    import consilience as pm
    import consilience.tensor as pt
    from tests.public_models.table import MODELS as PUBLIC

    model = PUBLIC[name].build(pm, pt, np)
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    result = pm.sample(model=model, random_seed=SEED, progressbar=False)
    seconds = time.perf_counter() - began
    draws = [np.ascontiguousarray(result.posterior[v.name]) for v in model.free_RVs if v.name in result.posterior]
    digest = hashlib.sha256(b"".join(values.tobytes() for values in draws)).hexdigest()
    same = [digest, int(result.posterior.sizes["draw"]), result.status, result.reason]
    return {"same": [*same, int(result.posterior.attrs["gradients"])], "seconds": seconds}


def apart(name: str) -> dict[str, Any]:
    """The same in another process."""
    command = [sys.executable, "-m", "benchmarks.loaded", name, "--one"]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]))


def spin() -> None:
    """Take all the time that a processor gives."""
    while True:
        pass


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--one", action="store_true", help="run the first model here, and print it as JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(options.models[0])))
        return
    quiet = {name: apart(name) for name in options.models}
    load = [multiprocessing.Process(target=spin, daemon=True) for _ in range(options.processes)]
    for process in load:
        process.start()
    try:
        busy = {name: apart(name) for name in options.models}
    finally:
        for process in load:
            process.kill()
    rows = []
    for name in options.models:
        _, draws, status, _, gradients = quiet[name]["same"]
        note = f"{status}, {draws} draws, {gradients:,} evaluations; {quiet[name]['seconds']:.2f} s alone"
        rows.append(
            Row(
                name,
                int(quiet[name]["same"] != busy[name]["same"]),
                "",
                0,
                note=f"{note}, {busy[name]['seconds']:.2f} s busy",
            )
        )
    show(f"Runs that differ beside {options.processes} busy processes", rows)


if __name__ == "__main__":
    main()
