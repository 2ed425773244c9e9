"""Public models of others, unchanged: density, slopes and prior predictive are those that PyMC has."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from tests.public_models.registry import FOLDER
from tests.public_models.summaries import bounded
from tests.public_models.table import MODELS

pytestmark = pytest.mark.filterwarnings("ignore")  # what these models are warned of is not at issue here
REFERENCE = json.loads((FOLDER / "reference.json").read_text(encoding="utf-8"))
DRAWS, RECORDED = 200, 1000
GROUPS = ("prior", "prior_predictive")

# What stops a model today, by name; each is a finding.
PENDING: dict[str, str] = {}
# Where PyMC's density is another one, on purpose.
OTHER_DENSITY: dict[str, str] = {
    "births_periodic": "PyMC's HSGPPeriodic multiplies by spectral densities where their square roots belong",
    "t_process": "PyMC's t process is a rotation of independent t variables, which is no t process",
}
# PyMC leaves constants out of these densities.
UP_TO_A_CONSTANT = {"disease_map", "besag_york_mollie"}
# PyMC's distances are at least 1e-6, which a kernel with a kink at 0 shows; its ODE solver has 5 digits.
ROUNDED = {"gp_additive": 1e-6, "sir_ode": 1e-4}
# Where draws of the prior are not defined, and both libraries draw something.
OTHER_PRIOR: dict[str, str] = {
    **OTHER_DENSITY,
    "inhalers": "cutpoints are not in order before there are data",
    "trolley": "cutpoints are not in order before there are data",
    "ordinal_probit": "thresholds are not in order before there are data",
    "oxford": "precisions underflow to 0, so that rates are not numbers",
}


def models(pending: dict[str, str]) -> list[Any]:
    """Names, with what is known to fail marked."""
    return [
        pytest.param(name, marks=[pytest.mark.xfail(strict=True, reason=pending[name])] if name in pending else [])
        for name in MODELS
    ]


def built(name: str) -> pm.Model:
    """The model, written with this library."""
    model: pm.Model = MODELS[name].build(pm, pt, np)
    return model


@pytest.mark.parametrize("name", models(PENDING))
def test_density_and_slopes_are_pymcs(name: str) -> None:
    if name in OTHER_DENSITY:
        pytest.skip(OTHER_DENSITY[name])
    model = built(name)
    values = [str(v.name) for v in model.value_vars]
    continuous = [str(v.name) for v in model.continuous_value_vars]
    outputs = [model.logp(), model.logp(jacobian=False)]
    if continuous:
        outputs.append(model.dlogp())
    together = model.compile_fn(outputs)
    constant: float | None = None if name in UP_TO_A_CONSTANT else 0.0
    close = ROUNDED.get(name, 1e-8)
    for row in REFERENCE[name]["density"]:
        point = {n: np.asarray(x) for n, x in row["at"].items()}
        assert set(point) == set(values)
        found = together(point)
        if constant is None:
            constant = float(found[0]) - row["logp"]
        assert float(found[0]) - constant == pytest.approx(row["logp"], rel=close, abs=1e-8)
        assert float(found[1]) - constant == pytest.approx(row["logp_without_jacobian"], rel=close, abs=1e-8)
        if continuous:
            ends = np.cumsum([np.size(point[n]) for n in continuous])
            for n, slopes in zip(continuous, np.split(found[2], ends[:-1]), strict=True):
                wanted = np.asarray(row["slopes"][n])
                assert np.allclose(slopes, wanted, rtol=close, atol=close * max(1.0, abs(wanted).max())), n


@pytest.mark.parametrize("name", models(PENDING))
def test_prior_predictive_is_pymcs(name: str) -> None:
    """Means of bounded functions of the draws within five standard errors."""
    recorded = REFERENCE[name]["prior"]
    if name in OTHER_PRIOR:
        pytest.skip(OTHER_PRIOR[name])
    if isinstance(recorded, str):
        pytest.skip(f"PyMC does not draw it: {recorded}")
    drawn = pm.sample_prior_predictive(DRAWS, model=built(name), random_seed=1)
    values = {k: v.values for group in GROUPS if group in drawn.children for k, v in drawn[group].data_vars.items()}
    assert set(recorded) - set(values) == set()
    for variable, row in recorded.items():
        if not row:
            continue  # PyMC's draws overflow
        centre, width, *rest = row
        means, deviations = np.array(rest[:2]), np.array(rest[2:])
        error = deviations * np.sqrt(1 / DRAWS + 1 / RECORDED) + 1e-6
        z = (bounded(values[variable], centre, width).mean(0) - means) / error
        assert np.all(abs(z) < 5), f"{variable}: {z}"


def test_every_model_says_where_it_is_from_and_is_recorded() -> None:
    assert all(m.source and m.data for m in MODELS.values())
    assert set(REFERENCE) == set(MODELS)
    assert len(MODELS) >= 120
