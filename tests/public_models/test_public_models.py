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
FACTORS = "the value of a factor of a covariance is called `_cholesky-cov-partial__`, and its order is another one"
PENDING: dict[str, str] = {
    "jaw": "`pm.expand_packed_triangular` is only in `pm.math`",
    "missing_chain": "the initial value of an imputed variable may depend on another imputed one",
    "hsgp": "`HSGP.prior(dims=)`",
    "neural_network": "whole numbers as floats in `pm.Data`",
    "sneezes": "whole numbers as floats in `pm.Data`",
    "missing_multivariate": "single missing elements of a multivariate normal variable",
}
# What has other names, or another order, on the unconstrained line.
VALUES: dict[str, str] = {
    **PENDING,
    **dict.fromkeys(
        [
            "birats", "orange_trees_multivariate", "cafes", "instrument", "gifts", "multivariate_random_walk",
            "vector_autoregression", "radon_group_predictor", "confirmatory_factors", "lkj_covariance", "copula", "tits",
        ],
        FACTORS,
    ),
    "hsgp_two_dimensions": "the order of the basis functions of two dimensions is another one",
}  # fmt: skip
# Where draws of the prior are not defined, and both libraries draw something.
OTHER_PRIOR: dict[str, str] = {
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
        if name in REFERENCE
    ]


def built(name: str) -> pm.Model:
    """The model, written with this library."""
    model: pm.Model = MODELS[name].build(pm, pt, np)
    return model


def own(name: str, known: list[str]) -> str:
    """The same value here."""
    other = name.replace("_interval__", "_logodds__")
    return other if name not in known and other in known else name


@pytest.mark.parametrize("name", models(VALUES))
def test_density_and_slopes_are_pymcs(name: str) -> None:
    model = built(name)
    values = [str(v.name) for v in model.value_vars]
    continuous = [str(v.name) for v in model.continuous_value_vars]
    outputs = [model.logp(), model.logp(jacobian=False)]
    if continuous:
        outputs.append(model.dlogp())
    together = model.compile_fn(outputs)
    for row in REFERENCE[name]["density"]:
        point = {own(n, values): np.asarray(x) for n, x in row["at"].items()}
        assert set(point) == set(values)
        found = together(point)
        assert float(found[0]) == pytest.approx(row["logp"], rel=1e-8, abs=1e-8)
        assert float(found[1]) == pytest.approx(row["logp_without_jacobian"], rel=1e-8, abs=1e-8)
        if continuous:
            recorded = {own(n, values): x for n, x in row["slopes"].items()}
            ends = np.cumsum([np.size(point[n]) for n in continuous])
            for n, slopes in zip(continuous, np.split(found[2], ends[:-1]), strict=True):
                wanted = np.asarray(recorded[n])
                assert np.allclose(slopes, wanted, rtol=1e-8, atol=1e-8 * max(1.0, abs(wanted).max())), n


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
    assert set(REFERENCE) <= set(MODELS)
    assert len(REFERENCE) >= 100
