"""`import pymc_bart` under the stand-in is `pm.bart`."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import consilience.as_pymc
import numpy as np
import pymc as pm
import pymc_bart as pmb
from pymc_bart.split_rules import OneHotSplitRule

X = np.column_stack([np.arange(12.0) % 3, np.arange(12.0)])
with pm.Model() as model:
    mu = pmb.BART("mu", X, X[:, 1], m=3, split_rules=[OneHotSplitRule(), "continuous"])
    pm.Normal("y", mu, 1.0, observed=X[:, 1])
    result = pm.sample(
        10, tune=10, chains=1, step=pmb.PGBART([mu]), random_seed=1, progressbar=False,
        compute_convergence_checks=False,
    )
    print(pmb.get_variable_inclusion(result, X)[0].shape, pmb.BART.__module__)
consilience.as_pymc.undo()
print("pymc_bart" in __import__("sys").modules)
"""


def test_programs_of_pymc_bart_run_unchanged() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["(2,) consilience.distributions.bart", "False"]
