"""Laws of the search for regions that differ in some of many coordinates, and of when a search of several may end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.modes.common_block import MOST_COORDINATES, common_block, widths_at
from consilience.inference.modes.coverage import PROMISED, poisson_bound, unmet
from consilience.inference.modes.evaluations import Evaluations
from consilience.inference.modes.regions import Regions
from consilience.inference.modes.search import find_regions
from consilience.inference.modes.starting_points import starting_points
from consilience.inference.modes.visits import visits
from tests.inference.mixtures import Mixture
from tests.inference.targets import Target, correlated_normal, standard
from tests.inference.unimodal import density_of

Vector = NDArray[np.float64]
FURTHER = 12_000


def embedded(dimension: int, coupled: int = 0, weights: tuple[float, ...] = (0.7, 0.3)) -> Mixture:
    """Components eight deviations apart along coordinate 2, with as many coordinates beside it.

    coupled   of these, how many are correlated with it
    """
    means = np.zeros((2, dimension))
    means[1, 2] = 8.0
    mix = np.diag(np.logspace(-1.0, 1.0, dimension))
    mix[3 : 3 + coupled, 2] = 0.1
    return Mixture(means, weights, (1.0, 1.0), mix)


def search(target: Any, seed: int = 1, **options: Any) -> Regions:
    return find_regions(target, np.full(target.dimension, 0.1), seed=seed, budget=3000, further=FURTHER, **options)


@pytest.mark.parametrize("dimension", [110, 150])
@pytest.mark.parametrize("coupled", [0, 5])
def test_regions_that_differ_in_few_of_many_coordinates_have_their_masses(dimension: int, coupled: int) -> None:
    """They differ in the coordinates that move with the one they are apart in, and in no other."""
    target = embedded(dimension, coupled)
    found = search(target)
    assert [region.share for region in found.substantial] == pytest.approx([0.7, 0.3], abs=0.02)
    for region in found.substantial:
        np.testing.assert_array_equal(region.block, [2, *range(3, 3 + coupled)])
        mode = target.modes[int(np.argmin(np.linalg.norm(target.modes - region.mode, axis=1)))]
        deviations = np.sqrt(np.diag(np.linalg.inv(np.asarray(target.record.unmix).reshape(dimension, dimension)) ** 2))
        assert np.abs((region.mode - mode) / deviations).max() < 0.05
        factor = region.factor
        assert factor is not None
        np.testing.assert_allclose(np.diag(factor)[6 + coupled :], deviations[6 + coupled :], rtol=1e-3)
    again = search(target, threads=2)
    np.testing.assert_array_equal(again.regions[1].mode, found.regions[1].mode)
    assert again.statement == found.statement


def test_chains_begin_in_either_region_and_keep_the_other_coordinates_they_were_given() -> None:
    target = embedded(120)
    found = search(target)
    given = np.random.default_rng(1).uniform(-2.0, 2.0, (10, 120))
    begun = starting_points(target, found, given, seed=1)
    np.testing.assert_array_equal(np.bincount(begun.regions), [7, 3])
    places = begun.points[:, 2] / 10.0 ** (-1.0 + 2.0 * 2 / 119)
    np.testing.assert_array_equal(places > 4.0, begun.regions == 1)
    np.testing.assert_array_equal(np.delete(begun.points, 2, axis=1), np.delete(given, 2, axis=1))


@pytest.mark.parametrize("coupled", [0, 5])
def test_draws_belong_to_regions_whatever_the_other_coordinates(coupled: int) -> None:
    """Draws of one component leave the other unvisited, and draws of both visit both in proportion."""
    target = embedded(120, coupled)
    found = search(target)
    mix = np.linalg.inv(np.asarray(target.record.unmix).reshape(120, 120))
    rng = np.random.default_rng(2)
    draws = (rng.standard_normal((800, 120)) @ mix.T).reshape(4, 200, 120)
    stuck = visits(target, found, draws, seed=1)
    assert stuck.unvisited(found) == (found.regions[1],)
    moved = np.where(rng.random((4, 200, 1)) < 0.3, draws + target.modes[1], draws)
    seen = visits(target, found, moved, seed=1)
    assert seen.unvisited(found) == ()
    assert seen.shares[1] == pytest.approx(0.3, abs=0.1)
    assert seen.elsewhere == 0.0


def test_many_draws_in_a_region_of_no_mass_are_told() -> None:
    target = embedded(3, weights=(1e-5, 1.0 - 1e-5))
    found = search(target)
    draws = np.random.default_rng(1).standard_normal((4, 200, 3)) * np.logspace(-1.0, 1.0, 3)
    draws[:3] += target.modes[1]
    told = visits(target, found, draws, seed=1).overestimated(found)
    assert told is not None
    assert told[0] is found.regions[1]
    assert told[1] == pytest.approx(0.25, abs=0.1)
    assert visits(target, found, draws[:3], seed=1).overestimated(found) is None


@pytest.mark.parametrize("target", [standard(1000), correlated_normal(150, 1)], ids=["plain", "correlated"])
def test_one_region_of_many_coordinates_costs_little(target: Target) -> None:
    """No Hessian is needed where there is nothing to weigh."""
    found = search(target)
    assert len(found.regions) == 1
    assert not found.several
    assert found.gradients <= 3000


def test_widths_of_a_normal_with_independent_coordinates_are_its_deviations() -> None:
    scales = np.logspace(-3.0, 3.0, 150)
    target = Mixture(np.zeros((1, 150)), (1.0,), (1.0,), np.diag(scales))
    with Evaluations(target, 100) as evaluations:
        found = widths_at(evaluations, np.zeros(150), np.ones(150), np.random.default_rng(1))
        assert evaluations.spent == 12
    np.testing.assert_allclose(found, scales, rtol=1e-3)


def test_modes_of_other_curvature_differ_in_all_coordinates_in_which_it_does() -> None:
    """A component that is twice as wide differs everywhere, and is weighed by Hessians of all coordinates."""
    target = Mixture(np.eye(120)[:2] * 60.0, (0.5, 0.5), (1.0, 2.0))
    with Evaluations(target, 10_000) as evaluations:
        found = common_block(evaluations, target.modes, np.ones(120), np.random.default_rng(1))
        assert found is not None
        assert len(found.places) == 120
        first, second = found.curvatures
        assert first is not None
        assert second is not None
        assert second.log_volume - first.log_volume == pytest.approx(120 * np.log(2.0), rel=1e-3)
    with Evaluations(target, 100) as evaluations:
        assert common_block(evaluations, target.modes, np.ones(120), np.random.default_rng(1)) is None


@pytest.mark.parametrize("dimension", [300, MOST_COORDINATES + 1])
def test_no_search_takes_eigenvectors_of_more_than_a_thousand_coordinates(dimension: int) -> None:
    """However cheap gradients are: the budget counts these alone."""
    target = Mixture(np.eye(dimension)[:2] * 60.0, (0.5, 0.5), (1.0, 2.0))
    with Evaluations(target, 10 * dimension) as evaluations:
        found = common_block(evaluations, target.modes, np.ones(dimension), np.random.default_rng(1))
    assert (0 if found is None else len(found.places)) == (dimension if dimension <= MOST_COORDINATES else 0)


# -- how long a search goes on -----------------------------------------------------------------------------------------


def test_the_bound_on_what_was_not_met_holds() -> None:
    """In 95 % of searches at least, of regions of geometric sizes."""
    sizes = 0.5 ** np.arange(1, 20)
    sizes /= sizes.sum()
    rng = np.random.default_rng(1)
    held = []
    for _ in range(2000):
        hits = rng.multinomial(150, sizes)
        held.append(sizes[hits == 0].sum() <= unmet(hits[hits > 0], int(hits.sum())))
    assert np.mean(held) > 0.95
    assert poisson_bound(0) == pytest.approx(-np.log(0.05))
    assert np.isnan(unmet(np.zeros(0, np.int64), 0))


def test_searches_of_several_regions_go_on_until_another_is_unlikely() -> None:
    """Also from points that come from elsewhere; one of a single region does not."""
    asked: list[int] = []

    def others(count: int) -> Vector:
        asked.append(count)
        return np.random.default_rng(len(asked)).normal(size=(count, 2)) * 5.0

    means = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])
    found = search(Mixture(means, (0.5, 0.3, 0.2), (1.0, 1.0, 1.0)), others=others)
    assert found.unmet <= PROMISED
    assert found.ascents >= 150
    before = len(asked)
    alone = search(Mixture(means[:1], (1.0,), (1.0,)), others=others)
    assert len(alone.regions) == 1
    assert len(asked) == before


def test_points_given_besides_lead_to_regions_that_no_other_leads_to() -> None:
    """A narrow component in eight dimensions is found from one of its draws."""
    means = np.zeros((2, 8))
    means[1] = 20.0
    target = Mixture(means, (0.3, 0.7), (1.0, 0.05))
    assert len(search(target).substantial) == 1
    found = search(target, begins=means[1:] + 0.02)
    assert [region.share for region in found.substantial] == pytest.approx([0.7, 0.3], abs=0.03)
    with pytest.raises(SamplingError, match=r"`begins` needs shape \(points, 8\), got \(8,\)"):
        search(target, begins=means[1])


@pytest.mark.parametrize("name", ["banana", "centred", "funnel", "ridge", "ring"])
def test_more_searching_takes_no_region_for_several(name: str) -> None:
    target = density_of(name)
    for seed in range(3):
        found = find_regions(target, np.zeros(target.dimension), seed=seed, further=FURTHER)
        assert sum(region.substantial for region in found.regions) <= 1


def test_modes_in_a_row_are_found_beyond_those_that_starting_points_lead_to() -> None:
    """Of thirty alike, six units apart, starting points lead to six, and steps between these to all others."""
    places = 6.0 * np.arange(-15, 15)[:, None]
    target = Mixture(places, (1 / 30,) * 30, (0.3,) * 30)
    found = find_regions(target, np.array([0.1]), seed=1, budget=3000, further=24_000)
    assert len(found.substantial) == 30
    assert found.complete
    assert found.unmet <= PROMISED
