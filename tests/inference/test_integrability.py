"""Lines along which densities cannot be integrated: found where there are some, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import SamplingError
from consilience.inference.integrability import endless_direction
from consilience.model.log_density import model_density
from tests.inference.unimodal import UNIMODAL

RNG = np.random.default_rng(0)
PREDICTORS = RNG.normal(size=(20, 2)) @ np.array([[1.0, 0.0, 2.54], [0.0, 1.0, 1.1]])


def unseen() -> None:
    x = pm.Flat("x", shape=3)
    pm.Normal("y", x[:2], 1.0, observed=[0.3, -0.4])


def collinear() -> None:
    beta = pm.Flat("beta", shape=3)
    pm.Normal("y", pt.dot(PREDICTORS, beta), pm.HalfNormal("sigma", 1.0), observed=RNG.normal(size=20))


def intercepts() -> None:
    pm.Poisson("y", pt.exp(pm.Flat("a") + pm.Flat("g", shape=3)), observed=[3, 4, 1])


def separated() -> None:
    beta = pm.Flat("beta", shape=2)
    at = np.linspace(-1.0, 1.0, 10)
    pm.Bernoulli("y", logit_p=beta[0] + beta[1] * at, observed=at > 0.0)


def slow_power() -> None:
    pm.Potential("density", -0.45 * pt.log1p(pm.Flat("x") ** 2))


def half_flat() -> None:
    pm.HalfFlat("x")


def model_of(make: Callable[[], Any]) -> pm.Model:
    with pm.Model() as model:
        make()
    return model


@pytest.mark.parametrize("far", [1.0, 1e6, 1e120])
@pytest.mark.parametrize(
    ("make", "direction"),
    [
        (unseen, (0.0, 0.0, 1.0)),
        (collinear, (1.0, 1.1 / 2.54, -1.0 / 2.54, 0.0)),
        (intercepts, (1.0, -1.0, -1.0, -1.0)),
        (separated, (0.0, 1.0)),
        (slow_power, (1.0,)),
        (half_flat, (1.0,)),
    ],
)
def test_a_line_that_is_followed_for_ever_is_found(
    make: Callable[[], Any], direction: tuple[float, ...], far: float
) -> None:
    """However far chains have fled along it; either way is right where both are endless."""
    if far > 1e100 and make in (collinear, intercepts):
        pytest.skip("sums of such numbers are 0 or not what they were")
    density = model_density(model_of(make))
    line = np.array(direction)
    rng = np.random.default_rng(1)
    around = np.array([0.0, 3.0]) if make is separated else np.zeros(len(line))
    points = around + 0.1 * rng.normal(size=(4, 30, len(line))) + np.abs(rng.normal(size=(4, 30, 1))) * far * line
    found = endless_direction(density, points)
    assert np.abs(found).max() == pytest.approx(1.0)
    np.testing.assert_allclose(found * np.sign(found @ line), line, atol=1e-6)


def vague() -> None:
    a, b = pm.Normal("a", 0.0, 1e6), pm.Normal("b", 0.0, 1e6)
    pm.Normal("y", a + b, 1.0, observed=[0.1, 0.4])
    pm.Gamma("gamma", 0.001, 0.001)
    pm.InverseGamma("inverse", 0.001, 0.001)
    pm.StudentT("student", 0.2, 0.0, 1.0)
    pm.Uniform("uniform", 0.0, 1e6)
    pm.Pareto("pareto", 0.1, 1.0)
    pm.Beta("beta", 0.01, 0.01)
    pm.Dirichlet("simplex", np.full(4, 0.05))
    pm.LogNormal("lognormal", 0.0, 20.0)


def cauchy() -> None:
    pm.Cauchy("x", 0.0, 1.0, shape=3)


def persistent() -> None:
    x = pm.Normal("x", 0.0, 1.0, shape=30)
    own = 0.5 * pt.sum(x[1:] ** 2)
    pm.Potential("rest", own - 0.5 * pt.sum((x[1:] - 0.999 * x[:-1]) ** 2) / (1.0 - 0.999**2))


PROPER = {"vague": vague, "Cauchy": cauchy, "AR(1), 0.999": persistent}


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("name", [*PROPER, *UNIMODAL])
def test_a_proper_density_has_no_such_line(name: str, scale: float) -> None:
    """Vague priors, heavy tails, necks and ridges among them, wherever chains have been."""
    model = model_of(PROPER[name]) if name in PROPER else UNIMODAL[name](0)
    density = model_density(model)
    points = scale * np.random.default_rng(2).normal(size=(4, 40, density.dimension))
    assert not endless_direction(density, points, threads=2).any()


@pytest.mark.parametrize("far", [1e25, 1e101, 1e120])
def test_a_cone_that_chains_fled_along_is_found(far: float) -> None:
    """Where several coordinates are large, the line through the origin's side may lie outside it."""
    rng = np.random.default_rng(3)
    points = far * rng.uniform((-0.1, 1.0), (0.1, 2.0), (4, 30, 2))
    assert endless_direction(model_density(model_of(separated)), points)[1] == 1.0


def test_coordinates_may_be_left_out() -> None:
    """Then no line has a part in them."""
    density = model_density(model_of(unseen))
    points = np.random.default_rng(1).normal(size=(2, 30, 3))
    assert not endless_direction(density, points, np.array([True, True, False])).any()


def test_points_of_another_shape_are_refused() -> None:
    with pytest.raises(SamplingError, match=r"`points` needs shape \(chain, point, 3\)"):
        endless_direction(model_density(model_of(unseen)), np.zeros((2, 30)))


def test_logarithms_are_followed_up_to_the_largest_number() -> None:
    """A shape that only its flat prior bounds; one with a prior is bounded."""
    limits = np.full(2, 700.0)
    for prior, expected in ((pm.HalfFlat, 1.0), (lambda name: pm.HalfCauchy(name, 5.0), 0.0)):
        with pm.Model() as model:
            pm.NegativeBinomial("y", mu=pm.HalfNormal("mu", 10.0), alpha=prior("alpha"), observed=[5, 6, 6, 7, 6])
        points = np.random.default_rng(1).normal([np.log(6.0), 20.0], [0.1, 5.0], (4, 10, 2))
        density = model_density(model)
        assert np.abs(endless_direction(density, points, limits=limits)).max() == expected
