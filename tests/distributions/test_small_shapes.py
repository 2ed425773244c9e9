"""Gamma variables of known shape below 1, and their reciprocals, move along coordinates of two exponential tails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats

import consilience as pm
from consilience.ir import Node
from consilience.model import model_density

MADE: dict[str, tuple[Callable[[], Node], stats.rv_continuous]] = {
    "Gamma": (lambda: pm.Gamma("x", 0.3, 2.0), stats.gamma(0.3, scale=0.5)),
    "Gamma by moments": (lambda: pm.Gamma("x", mu=1.0, sigma=3.0), stats.gamma(1 / 9, scale=9.0)),
    "ChiSquared": (lambda: pm.ChiSquared("x", 1.0), stats.chi2(1.0)),
    "InverseGamma": (lambda: pm.InverseGamma("x", 0.4, 3.0), stats.invgamma(0.4, scale=3.0)),
}


@pytest.mark.parametrize("name", MADE)
def test_the_density_of_positions_is_a_density(name: str) -> None:
    """It integrates to 1, and its slope and curvature are bounded: neither side falls faster than exponentially."""
    make, meant = MADE[name]
    with pm.Model() as model:
        make()
    assert model.value_vars[0].name == "x_log__"
    density = model_density(model)

    def at(y: float) -> float:
        return float(density(np.array([y]))[0])

    total = sum(integrate.quad(lambda y: np.exp(at(y)), *ends)[0] for ends in [(-300, -20), (-20, 20), (20, 300)])
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)
    for y in (-100.0, -3.0, 0.4, 5.0, 100.0):
        slope = [density(np.array([v]))[1][0] for v in (y, y + 1e-4)]
        assert abs(slope[0]) < 2.0
        assert abs(slope[1] - slope[0]) / 1e-4 < 1.0
    drawn = pm.sample(chains=2, random_seed=1, progressbar=False, model=model)
    assert not drawn.sample_stats["diverging"].to_numpy().any()
    ranks = meant.cdf(drawn.posterior["x"].to_numpy().ravel())
    assert stats.kstest(ranks[::5], "uniform").pvalue > 1e-4


def test_other_shapes_keep_the_logarithm() -> None:
    """Those above 1, those that are inferred, and those so small that only a logarithm can hold the variable."""
    with pm.Model() as model:
        shape = pm.HalfNormal("shape")
        for name, alpha in {"large": 2.0, "unknown": shape, "tiny": 0.001, "mixed": np.array([0.3, 2.0])}.items():
            pm.Gamma(name, alpha, 1.0)
        pm.Gamma("small", np.array([0.3, 0.9]), 1.0)
    maps = {v.name: v.sampled.name for v in model.free}
    assert maps == dict.fromkeys(["shape", "large", "unknown", "tiny", "mixed"], "log") | {"small": "small_shape"}
