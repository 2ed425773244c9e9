"""Signatures of PyMC's public functions, classes and methods beside ours: what differs has a reason."""

from __future__ import annotations

import fnmatch
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import consilience as pm

TOOL = Path(__file__).resolve().parent.parent / "tools" / "signatures.py"


def tool() -> ModuleType:
    """tools/signatures.py as a module."""
    spec = importlib.util.spec_from_file_location("signatures", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["signatures"] = module
    spec.loader.exec_module(module)
    return module


signatures = tool()


def test_parameters_of_pymc_are_taken_by_name_and_place_or_have_a_reason() -> None:
    """Every parameter of every public callable of PyMC."""
    assert signatures.unexplained() == []


def test_reasons_and_patterns_name_what_is_there() -> None:
    """Rows of the record; reasons are sentences, and none stands twice."""
    record = signatures.json.loads(signatures.RECORD.read_text(encoding="utf-8"))["signatures"]
    names = {f"{module}.{name}".removeprefix("pymc.") for module, rows in record.items() for name in rows}
    assert len(names) > 900
    for table in (signatures.INNER, signatures.REASONS):
        for pattern, reason in signatures.patterns(table):
            assert any(fnmatch.fnmatchcase(name, pattern.partition(":")[0]) for name in names), pattern
            assert len(reason.split()) >= 5, reason


def test_what_a_signature_lacks_is_seen() -> None:
    """The comparison is not blind: a parameter less, one in another place, and a missing method are found."""
    record = signatures.RECORD.read_text(encoding="utf-8")
    for true, false, found in (
        ('"Normal.dist": "(mu=0, sigma=None', '"Normal.dist": "(mu=0, spread=None, sigma=None', "Normal.dist:spread"),
        ('"Normal.logp": "(value, mu, sigma', '"Normal.logp": "(value, sigma, mu', "Normal.logp:sigma in place 2"),
        ('"Model.add_coord":', '"Model.add_axis":', "Model.add_axis:missing"),
    ):
        assert true in record
        assert found in signatures.unexplained_in(signatures.json.loads(record.replace(true, false))["signatures"])


def test_keywords_beside_the_signatures_are_taken() -> None:
    """Those of PyMC's functions and step methods, each tried; what nobody knows is refused."""
    rng = np.random.default_rng(1)
    with pm.Model() as model:
        x, k = pm.Normal("x"), pm.Poisson("k", 3.0)
        pm.Normal("y", x, observed=1.0)
        steps = [
            pm.Slice([x], max_steps=50, model=model, rng=rng, compile_kwargs={}, initial_point=model.initial_point()),
            pm.Metropolis([k], model=model, blocked=True, mode="FAST_RUN"),
        ]
        settings = {"chains": 1, "cores": 1, "progressbar": False, "compute_convergence_checks": False}
        quiet = dict.fromkeys(("progressbar_theme", "mp_ctx", "blas_cores", "trace", "nuts_sampler", "backend"))
        result = pm.sample(20, tune=20, step=steps, random_seed=1, quiet=True, **settings, **quiet)
        for compute in (pm.compute_log_likelihood, pm.compute_log_prior):
            assert compute(idata=result, extend_inferencedata=False, progressbar=False, backend=None) is not None
        predicted = pm.sample_posterior_predictive(
            result, random_seed=1, idata_kwargs=None, backend=None, compile_kwargs=None, progressbar_theme=None
        )
    with pm.Model():
        pm.Normal("x")
        fitted = pm.ADVI(random_seed=1)
        fitted.fit(20, None, None, False, None, backend=None, converge=False, check=False)
        fitted.refine(5, False, None, check=False)
    assert steps[0].iter_limit == 50
    assert predicted.posterior_predictive["y"].shape[:2] == (1, 20)
    with pytest.raises(TypeError, match="unexpected keyword argument 'widths'"):
        pm.Slice(widths=2.0)
    with pytest.raises(TypeError, match=r"a rule for `pm.fit\(obj_optimizer=pm.adam\(learning_rate=…\)\)`"):
        pm.adam(1.0, [2.0])
    assert pm.adam(None, None, 0.1) == pm.adam(learning_rate=0.1)
