"""Reference posteriors sampled with densities that other engines compute: the chains are those of machine code."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.registry import installed
from consilience.model.log_density import model_density
from consilience.sample import compiling
from tests.posteriordb.models import MODELS
from tests.posteriordb.test_posteriors import SETTINGS, compare, load, reproduced

ENGINES = [name for name in installed() if name not in ("llvm", "reference")]
TRANSITIONS = 4


@contextmanager
def densities_by(engine: str) -> Iterator[None]:
    """Inside, `pm.sample` takes its densities from an engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "model_density", functools.partial(model_density, backend=engine))
        yield


def first_transitions(name: str, engine: str, depth: int) -> Any:
    build, settings = MODELS[name]
    kept = {**SETTINGS, **settings, "draws": 4, "tune": TRANSITIONS, "init": "adapt_diag", "max_treedepth": depth}
    with build(pm, pt, load(name)["data_values"]), densities_by(engine):
        return pm.sample(random_seed=1, discard_tuned_samples=False, compute_convergence_checks=False, **kept)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("engine", ENGINES)
def test_first_transitions_are_those_of_machine_code(engine: str, name: str) -> None:
    """Rounding alone sets them apart, which each transition multiplies."""
    depth = 2 if engine == "torch" else 5  # PyTorch walks through loops step by step
    own, wanted = first_transitions(name, engine, depth), first_transitions(name, "llvm", depth)
    assert int(wanted["warmup_sample_stats"]["n_steps"].sum()) > 4 * TRANSITIONS
    for variable, draws in wanted["warmup_posterior"].data_vars.items():
        found = own["warmup_posterior"][variable].to_numpy()
        np.testing.assert_allclose(found, draws.to_numpy(), rtol=1e-6, atol=1e-8, err_msg=str(variable))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "torch"])  # a millisecond a gradient
def test_posterior_is_reproduced(engine: str, name: str) -> None:
    """By the criterion of machine code."""
    build, settings = MODELS[name]
    posterior = load(name)
    with build(pm, pt, posterior["data_values"]), densities_by(engine):
        result = pm.sample(random_seed=1, **{**SETTINGS, **settings})
    assert reproduced(compare(result["posterior"], posterior["reference_summary"]))
