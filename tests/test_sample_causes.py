"""What a run in trouble says: the cause, the parameter and what to write; all situations are in `benchmarks.causes`."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
from benchmarks.causes import SITUATIONS, look, right
from consilience.diagnostics import inspect
from consilience.errors import ConvergenceWarning

# Those that take a tenth of a second; the change point stands for jumps.
QUICK = (
    "neals funnel",
    "bound of a uniform known from data",
    "separated classes with cauchy priors",
    "two thresholds",
    "the same value five times",
    "two intercepts",
    "components without an order",
    "loadings without a sign",
    "forty draws",
    "a rate that overflows",
)


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in SITUATIONS])
def test_a_cause_is_named_with_its_parameter(name: str) -> None:
    told, _, advice, _ = look(SITUATIONS[name], 1)
    assert right(SITUATIONS[name], told), told
    assert advice


def test_divergences_across_an_edge_that_data_cut_say_nothing_against_draws() -> None:
    """All steps that diverged left the support. Draws are right; the line that spares them is told all the same."""
    y = np.random.default_rng(1).uniform(0, 10, 50)
    with pm.Model() as model:
        pm.Uniform("y", 0, pm.HalfNormal("theta", 20), observed=y)
    with pytest.warns(ConvergenceWarning, match="has converged, but the data of `y`"):
        result = pm.sample(model=model, random_seed=1, progressbar=False)
    assert result.status == "converged"
    assert "the data of `y` cut off the support of `theta` at 9.807" in result.reason
    assert 'pm.Truncated("theta", pm.HalfNormal.dist(…)' in result.advice
    with pm.Model() as written:
        theta = pm.Truncated("theta", pm.HalfNormal.dist(20), lower=y.max())
        pm.Uniform("y", 0, theta, observed=y)
        well = pm.sample(model=written, random_seed=1, progressbar=False)
    grid = y.max() + np.linspace(0, 5, 100_001)
    density = grid**-50.0 * np.exp(-0.5 * (grid / 20) ** 2)
    mean = (grid * density).sum() / density.sum()
    spread = np.sqrt((grid**2 * density).sum() / density.sum() - mean**2)
    for found in (result, well):
        assert found.status == "converged"
        theta = found.posterior["theta"]
        assert float(theta.mean()) == pytest.approx(mean, abs=0.15 * spread)
        assert float(theta.std()) == pytest.approx(spread, rel=0.2)


def test_cause_and_line_are_in_warning_reason_report_and_findings() -> None:
    with pm.Model() as model:
        v = pm.Normal("v", 0, 3)
        pm.Normal("x", 0, pm.math.exp(v / 2), shape=9)
    with pytest.warns(ConvergenceWarning) as told:
        result = pm.sample(model=model, random_seed=1, progressbar=False, remedies=(), draws=1000)
    message = " ".join(str(one.message) for one in told)
    cause, line = "the chains mix badly in the neck of `v`", "pm.noncenter(model, ['x'])"
    assert cause in result.reason
    assert cause in message
    assert cause in " ".join(result.report().split())
    for words in (message, result.advice, " ".join(result.report().split())):
        assert line in words
    assert any(line in finding.message for finding in inspect(result))


def test_few_draws_are_said_before_what_comes_of_them() -> None:
    with pm.Model() as model:
        pm.Normal("theta", 0, pm.HalfCauchy("tau", 5), shape=8)
    with pytest.warns(ConvergenceWarning):
        result = pm.sample(model=model, draws=40, tune=50, random_seed=1, progressbar=False)
    assert result.reason.startswith("40 draws per chain are too few to judge convergence; ")


def test_good_runs_have_no_advice_and_load_no_search_for_causes() -> None:
    with pm.Model():
        pm.Normal("x")
        result = pm.sample(random_seed=1, progressbar=False)
    assert (result.status, result.advice) == ("converged", "")
