"""Regions that form a lattice: all of them are found, steps are made in the variables' own units, unfinished searches
certify nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.inference.modes.lattices import SameUnits, candidates
from consilience.model.log_density import model_density
from consilience.model.own_units import OwnUnits
from consilience.record import replace
from consilience.run import Monitored
from consilience.sample.separate_modes import SeparateModes

TIMES = np.arange(24.0)


def sinusoid() -> pm.Model:
    """Of a frequency with four aliases of equal mass: f, 1 - f, 1 + f and 2 - f."""
    with pm.Model() as model:
        f, a = pm.Uniform("f", 0.0, 2.0), pm.Normal("a", 0.0, 1.0, shape=2)
        angle = 2 * np.pi * f * TIMES
        y = np.sin(2 * np.pi * 0.23 * TIMES + 0.5)
        pm.Normal("y", a[0] * pt.sin(angle) + a[1] * pt.cos(angle), 0.5, observed=y)
    return model


def test_all_aliases_of_a_frequency_are_found() -> None:
    """Seeds with which fewer than four had been found."""
    density = model_density(sinusoid())
    for seed in (1, 6, 13):
        found = SeparateModes(density, Monitored(("f", "a[0]", "a[1]")), seed, 1).found
        places = sorted(2.0 / (1.0 + np.exp(-region.mode[0])) for region in found.substantial)
        np.testing.assert_allclose(places, [0.23, 0.77, 1.23, 1.77], atol=0.01)
        assert found.complete
        assert found.unmet <= 0.02


def two_sinusoids() -> pm.Model:
    """Two frequencies below one, with two aliases each, in either order: eight regions among many side lobes."""
    with pm.Model() as model:
        f, a = pm.Uniform("f", 0.0, 1.0, shape=2), pm.Normal("a", 0.0, 1.0, shape=(2, 2))
        angles = 2 * np.pi * f[:, None] * TIMES
        wave = pt.sum(a[:, :1] * pt.sin(angles) + a[:, 1:] * pt.cos(angles), axis=0)
        y = np.sin(2 * np.pi * 0.23 * TIMES + 0.5) + 0.8 * np.sin(2 * np.pi * 0.41 * TIMES + 1.2)
        pm.Normal("y", wave, 0.5, observed=y)
    return model


def test_a_search_goes_on_for_as_many_regions_as_there_are() -> None:
    """A seed with which the budget of two regions met six of eight; 1 s for some 45,000 evaluations."""
    model = two_sinusoids()
    density = model_density(model)
    found = SeparateModes(density, Monitored(tuple(f"x{k}" for k in range(6))), 7, 1).found
    assert len(found.substantial) == 8
    assert found.complete
    assert found.unmet <= 0.02


def flip_flop() -> pm.Model:
    """Rates of absorption and loss that may change places with another volume: 7 % of the mass, along a thin ridge."""
    times = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 9.0])

    def curve(absorbed: Any, lost: Any, volume: Any, exp: Any) -> Any:
        a, k, v = exp(absorbed), exp(lost), exp(volume)
        return 10.0 / v * a / (a - k) * (exp(-k * times) - exp(-a * times))

    y = curve(0.5, -1.2, 0.3, np.exp) + 0.8 * np.random.default_rng(27).normal(size=7)
    with pm.Model() as model:
        absorbed, lost = pm.Normal("absorbed", 0.0, 1.0), pm.Normal("lost", -1.0, 1.0)
        pm.Normal("y", curve(absorbed, lost, pm.Normal("volume", 0.0, 1.0), pt.exp), 0.8, observed=y)
    return model


def test_a_chain_begins_where_exchanged_rates_lead() -> None:
    """No valley divides them, so they are one region, and chains that all began at its peak saw 1 % there."""
    density = model_density(flip_flop())
    search = SeparateModes(density, Monitored(("absorbed", "lost", "volume")), 2, 1)
    assert len(search.found.regions) == 1
    starts = search.spread(np.zeros((4, 3)))
    assert (starts[:-1] == 0.0).all()
    absorbed, lost, _ = starts[-1]
    assert absorbed < lost - 0.5


def test_draws_have_the_shares_of_all_aliases() -> None:
    result = pm.sample(model=sinusoid(), random_seed=1, progressbar=False)
    assert result.status == "converged", result.reason
    place = np.floor(2.0 * result.posterior["f"].to_numpy())
    np.testing.assert_allclose([(place == k).mean() for k in range(4)], 0.25, atol=0.1)


def test_a_search_that_could_not_compare_all_regions_forbids_the_certificate() -> None:
    search = SeparateModes(model_density(sinusoid()), Monitored(("f", "a[0]", "a[1]")), 0, 1)
    regions = search.found.substantial
    rng = np.random.default_rng(0)
    which = rng.integers(len(regions), size=(4, 400))
    normals = rng.standard_normal((4, 400, 3))
    modes, factors = (np.stack([np.asarray(getattr(r, name)) for r in regions]) for name in ("mode", "factor"))
    draws = modes[which] + np.einsum("cdij,cdj->cdi", factors[which], normals)
    assert search.missed(draws) == ""
    search.found = replace(search.found, complete=False)
    assert "not all of them could be compared" in search.missed(draws)


def test_own_units_of_positions_and_back() -> None:
    """Bounded, positive, ordered and on a simplex; what lies outside has no position."""
    with pm.Model() as model:
        pm.Uniform("f", 0.0, 2.0)
        pm.HalfNormal("s", 1.0, shape=2)
        pm.Normal("o", shape=3, transform=pm.distributions.transforms.ordered, initval=[-1.0, 0.0, 1.0])
        pm.Dirichlet("w", np.ones(3))
    density = model_density(model)
    units = OwnUnits(density.layout)
    positions = np.random.default_rng(0).standard_normal((5, density.dimension))
    values = units.values(positions)
    named = density.expand(positions, False)
    np.testing.assert_allclose(values, np.concatenate([named[n].reshape(5, -1) for n in "fsow"], axis=1))
    np.testing.assert_allclose(units.positions(values), positions)
    values[0, 0] = 2.5
    assert np.isnan(units.positions(values)[0, 0])


def test_labels_are_exchanged_in_all_variables_that_have_them() -> None:
    with pm.Model() as model:
        pm.Normal("m", shape=2)
        pm.HalfNormal("s", shape=(2, 2))
        pm.Normal("other")
    units = OwnUnits(model_density(model).layout)
    position = np.arange(7.0)[None]
    np.testing.assert_array_equal(units.exchanged(position, np.random.default_rng(0)), [[1, 0, 4, 5, 2, 3, 6]])


@pytest.mark.parametrize("chart", ["lattice", "period", "logarithm"])
def test_steps_lead_to_the_next_point_of_a_lattice(chart: str) -> None:
    """Of modes at 1 and 2, to 3, in the units in which these are a lattice."""
    made = {"lattice": lambda v: v, "period": lambda v: 1.0 / v, "logarithm": np.log}[chart]
    modes = made(np.array([[1.0], [2.0]]))
    points = candidates(modes, np.zeros((0, 1)), SameUnits(), 200, np.random.default_rng(0))
    assert np.isclose(points, made(np.array([3.0]))).any()
