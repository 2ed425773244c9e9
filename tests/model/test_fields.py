"""Fields in coordinates in which their scale is free to move: densities, draws and what is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.ir import Node
from consilience.model.fields import rescale, standardized

CHAIN = np.diag(np.ones(11), 1) + np.diag(np.ones(11), -1)
FACTOR = np.array([[1.0, 0.0], [0.5, 0.8]])
TWO = np.array([1.0, 2.0])
STARTS = pm.MvNormal.dist(np.zeros(2), np.eye(2))
START = pm.Normal.dist(0.0, 2.0)

# The field, its scale as a function of s, and its degrees of freedom.
FIELDS: dict[str, tuple[Callable[[Any], Node], Callable[[Any], Any], int]] = {
    "walk": (lambda s: pm.GaussianRandomWalk("x", 0.1, s, init_dist=START, shape=12), lambda s: s, 12),
    "walks": (
        lambda s: pm.GaussianRandomWalk("x", sigma=s * TWO, init_dist=START, shape=(2, 12)),
        lambda s: s * TWO,
        12,
    ),
    "heavy steps": (lambda s: pm.RandomWalk("x", START, pm.StudentT.dist(4, 0, s), shape=12), lambda s: s, 12),
    "vectors": (
        lambda s: pm.MvGaussianRandomWalk("x", np.zeros(2), chol=s * FACTOR, init_dist=STARTS, shape=(6, 2)),
        lambda s: s * np.linalg.norm(FACTOR, axis=1),
        6,
    ),
    "AR": (lambda s: pm.AR("x", [0.2, 0.5], s, constant=True, init_dist=START, shape=12), lambda s: s, 12),
    "CAR": (lambda s: pm.CAR("x", np.zeros(12), CHAIN, 0.9, s), lambda s: s**-0.5, 12),
    "ICAR": (lambda s: pm.ICAR("x", CHAIN, sigma=s, zero_sum_stdev=0.1), lambda s: s, 12),
    "precision": (
        lambda s: pm.MvNormal("x", np.zeros(12), tau=s * (3.0 * np.eye(12) - CHAIN)),
        lambda s: (3 * s) ** -0.5,
        12,
    ),
}


def model_of(kind: str) -> pm.Model:
    with pm.Model() as model:
        x = FIELDS[kind][0](pm.HalfNormal("s", 1.0))
        pm.Normal("y", x, 1.0, observed=np.random.default_rng(1).normal(size=x.static_shape))
    return model


@pytest.mark.parametrize("kind", FIELDS)
def test_densities_differ_by_the_volume_of_the_scale(kind: str) -> None:
    """log |dx / dz| is (1 - c) times the sum of log s over degrees of freedom; slopes are those of differences."""
    model = model_of(kind)
    middle = np.random.default_rng(2).normal(size=model["x"].static_shape)
    chosen = {"x": (0.3, middle.tolist())}
    other = rescale(model, chosen)
    assert [v.name for v in other.free] == ["s", "x_raw"]
    new, old = other.log_density(), model.log_density()
    position = 0.3 * np.random.default_rng(3).normal(size=new.dimension)
    values = new.expand(position[None])
    before = old(old.unconstrained({name: values[name] for name in ("s", "x")})[0])[0]
    volume = 0.7 * FIELDS[kind][2] * np.log(FIELDS[kind][1](values["s"][0])).sum()
    value, slopes = new(position)
    assert value == pytest.approx(before + volume, rel=1e-11)
    differences = [(new(position + h)[0] - new(position - h)[0]) / 2e-6 for h in 1e-6 * np.eye(len(position))]
    np.testing.assert_allclose(slopes, differences, rtol=1e-5, atol=1e-5)
    back = standardized(model, chosen, {name: values[name] for name in ("s", "x")})
    np.testing.assert_allclose(back["x_raw"], values["x_raw"], rtol=1e-10, atol=1e-10)
