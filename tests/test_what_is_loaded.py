"""What the usual path loads, by package: counted, because seconds depend on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

EIGHT_SCHOOLS = """
import json, sys
import consilience as pm
with pm.Model():
    mu = pm.Normal("mu", 0, 5)
    tau = pm.HalfNormal("tau", 5)
    z = pm.Normal("z", shape=8)
    pm.Normal("y", mu + tau * z, [15.0, 10, 16, 11, 9, 11, 10, 18], observed=[28.0, 8, -3, 7, -1, 1, 18, 12])
pm.sample
print(json.dumps(sorted(sys.modules)))
"""
MOST = {"consilience": 400, "numpy": 110, "llvmlite": 0, "scipy": 0, "xarray": 0, "pandas": 0, "asyncio": 0}


def test_a_model_and_the_sampler_load_what_they_need() -> None:
    """Neither SciPy nor tables' packages, no rules of ops that the model does not have; a list names what came in."""
    answer = subprocess.run(
        [sys.executable, "-c", EIGHT_SCHOOLS],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    loaded = json.loads(answer.stdout)
    counts = Counter(name.partition(".")[0] for name in loaded)
    told = {
        package: [name for name in loaded if name.partition(".")[0] == package]
        for package, most in MOST.items()
        if counts[package] > most
    }
    assert not told
    families = ("transforms.gradient.fourier", "transforms.vectorize.sparse", "backends.reference.matrix_equations")
    assert not {f"consilience.{name}" for name in families} & {*loaded}
