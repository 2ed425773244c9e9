"""Value variables beside PyMC's: for each of its distributions the same name, and the same map to the line.

The numbers of `values_of_pymc.jsonl` are PyMC 6.4's: for a declaration of `x` the names of the value variables, a point
on the line (`at`), the values there on their own scales (`own`), and log densities with and without Jacobians.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm
from consilience.distributions import transforms

ROWS = [json.loads(line) for line in Path(__file__).with_name("values_of_pymc.jsonl").read_text().splitlines()]
DISTRIBUTIONS = (
    "AR AsymmetricLaplace Bernoulli Beta BetaBinomial Binomial CAR Categorical Cauchy Censored ChiSquared "
    "CustomDist DiracDelta Dirichlet DirichletMultinomial DiscreteUniform DiscreteWeibull EulerMaruyama "
    "ExGaussian Exponential Flat GARCH11 Gamma GaussianRandomWalk Geometric Gumbel HalfCauchy HalfFlat "
    "HalfNormal HalfStudentT HurdleGamma HurdleLogNormal HurdleNegativeBinomial HurdlePoisson HyperGeometric "
    "ICAR Interpolated InverseGamma KroneckerNormal Kumaraswamy LKJCholeskyCov LKJCorr Laplace LogNormal "
    "Logistic LogitNormal Lognormal MatrixNormal Mixture Moyal Multinomial MvGaussianRandomWalk MvNormal "
    "MvStudentT MvStudentTRandomWalk NegativeBinomial Normal NormalMixture OrderedLogistic OrderedMultinomial "
    "OrderedProbit Pareto Poisson PolyaGamma RandomWalk Rice SkewNormal SkewStudentT StickBreakingWeights "
    "StudentT Triangular Truncated TruncatedNormal Uniform VonMises Wald Weibull Wishart ZeroInflatedBinomial "
    "ZeroInflatedNegativeBinomial ZeroInflatedPoisson ZeroSumNormal "
)
# PyMC keeps a map without bounds under the name of an interval; here there is none.
OTHER_NAMES = {"TruncatedNormal without bounds"}
# Densities that PyMC gives up to a constant.
UNNORMALIZED = {"CAR", "ICAR"}


def built(row: dict[str, Any]) -> pm.Model:
    with pm.Model() as model:
        eval(row["declaration"], {"pm": pm, "np": np, "tr": transforms})
    return model


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_value_variables_are_those_of_pymc(row) -> None:
    """Names, shapes, values on their own scales, and log densities, at one point; there and back for samplers."""
    model = built(row)
    names = [v.name for v in model.value_vars]
    assert names == row["values"] or row["name"] in OTHER_NAMES
    if "at" not in row:
        return  # the package that PyMC needs for it was not there
    point = {name: np.asarray(value) for name, value in zip(names, row["at"], strict=True)}
    own = model.compile_fn(model.replace_rvs_by_values(model.free_RVs), inputs=model.value_vars)(point)
    for found, wanted in zip(own, row["own"], strict=True):
        assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)
    if row["name"] not in UNNORMALIZED:
        for jacobian, key in ((True, "logp"), (False, "without_jacobian")):
            wanted = -math.inf if row[key] == -math.inf else row[key]
            assert_allclose(model.compile_logp(jacobian=jacobian)(point), wanted, rtol=1e-6)
    if np.isfinite(row["logp"]) and all(v.continuous for v in model.free):
        layout = pm.model.layout.layout_of(model.free, {})
        there = layout.position(point)
        for name, value in layout.point(there).items():
            assert_allclose(value, point[name], rtol=1e-9, atol=1e-9)


def test_every_distribution_of_pymc_has_a_row() -> None:
    """Abstract classes and what has no density of its own excepted."""
    assert [
        name for name in DISTRIBUTIONS.split() if not any(f"pm.{name}(" in row["declaration"] for row in ROWS)
    ] == []
