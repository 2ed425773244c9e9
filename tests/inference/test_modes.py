"""Laws of the search for separate regions, of their masses, and of what is made of them."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.density import Inputs, Outputs
from consilience.inference.messages import Stopped
from consilience.inference.modes.ascent import (
    Ascents,
    Climber,
    ascend_rows,
    new_climber,
    scaled_by,
    whitened_by,
)
from consilience.inference.modes.evaluations import Evaluations
from consilience.inference.modes.region_mass import curvature_at, importance, laplace
from consilience.inference.modes.regions import Regions
from consilience.inference.modes.search import find_regions
from consilience.inference.modes.starting_points import chains_per_region, starting_points
from consilience.inference.modes.visits import distinguishing_coordinates, visits
from consilience.native.typed_python import Array, f64, i64, native
from tests.inference.mixtures import Mixture, affine, isotropic
from tests.inference.targets import (
    Constants,
    PlainTarget,
    Target,
    bimodal,
    correlated_normal,
    flat,
    funnel,
    half_space,
    standard,
    student,
)
from tests.inference.unimodal import UNIMODAL, density_of

Vector = NDArray[np.float64]


@native
def speck(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """A normal density cut off at `number` in every coordinate; elsewhere it fails."""
    total = 0.0
    inside = True
    for i in range(constants.dimension):
        x = inputs.position[i]
        total -= 0.5 * x * x
        outputs.gradient[i] = -x
        inside = inside and abs(x) < constants.number
    outputs.logp[0] = total
    return 0 if inside else 1


@native
def growing(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """exp of the sum of all coordinates: improper."""
    total = 0.0
    for i in range(constants.dimension):
        total += inputs.position[i]
        outputs.gradient[i] = 1.0
    outputs.logp[0] = total
    return 0


def simple(function: Any, dimension: int, number: float = 0.0) -> Target:
    """A target that needs no constants but a number."""
    return Target(function, dimension, np.zeros(dimension), np.ones(dimension), number=number)


def search(target: Any, seed: int = 1, **options: Any) -> Regions:
    """From the origin."""
    return find_regions(target, np.zeros(target.dimension), seed=seed, **options)


def nearest_components(found: Regions, target: Mixture) -> list[int]:
    """Which component of the mixture lies nearest to each substantial region, in order of these."""
    return [
        int(np.argmin(np.linalg.norm(target.modes - region.mode, axis=1)))
        for region in found.regions
        if region.substantial
    ]


# -- ascents -----------------------------------------------------------------------------------------------------------


def ascents(target: Any, climber: Climber, starts: Vector, coordinates: Any) -> tuple[Ascents, Climber]:
    rows, dimension = starts.shape
    batch = Ascents(
        points=starts.copy().reshape(-1),
        logps=np.zeros(rows),
        decrements=np.zeros(rows),
        longest=np.full(rows, 5.0),
        centre=np.zeros(dimension),
        coordinates=coordinates,
        most=60,
        tolerance=1e-6,
    )
    return batch, climber


@pytest.mark.parametrize("dense", [False, True])
def test_plain_python_ascends_as_machine_code_does(dense: bool) -> None:
    """To rounding, which machine code may do once where Python does it twice; with starts inside and outside."""
    stop = np.zeros(1, np.int64)
    generator = np.random.default_rng(3)
    factor = np.tril(generator.standard_normal((4, 4))) + 3.0 * np.eye(4)
    coordinates = whitened_by(factor) if dense else scaled_by(np.array([0.5, 1.0, 2.0, 3.0]))
    starts = 3.0 * generator.standard_normal((5, 4))
    for target in (correlated_normal(4, 2), simple(speck, 4, 1.5), simple(student, 4, 3.0)):
        machine, climber = ascents(target, new_climber(target, stop), starts, coordinates)
        ascend_rows.compiled(climber, machine, 0, 1, 5)
        twin: Any = PlainTarget(target)
        plain, slow = ascents(twin, new_climber(twin, stop), starts, coordinates)
        ascend_rows(slow, plain, 0, 1, 5)
        np.testing.assert_allclose(np.asarray(plain.logps), np.asarray(machine.logps), rtol=0, atol=1e-6)
        np.testing.assert_allclose(np.asarray(plain.points), np.asarray(machine.points), rtol=0, atol=1e-3)


@pytest.mark.parametrize("dimension", [1, 2, 10, 50])
def test_ascents_in_whitened_coordinates_reach_the_mode_of_a_normal_at_once(dimension: int) -> None:
    """In a few evaluations each, from anywhere, whatever its condition."""
    target = correlated_normal(dimension, 5)
    factor = np.asarray(np.linalg.cholesky(np.linalg.inv(np.asarray(target.matrix))), np.float64)
    starts = target.mean + 8.0 * np.random.default_rng(1).standard_normal((20, dimension)) @ factor.T
    with Evaluations(target, 10_000) as evaluations:
        longest = np.full(20, 100.0)
        ends = evaluations.ascend(starts, whitened_by(factor), longest, target.mean, 60, 1e-3)
        assert evaluations.spent < 20 * 12
    assert np.all(-2.0 * ends.logps < 1e-2)


# -- masses ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 5, 40])
def test_both_masses_of_a_normal_are_its_integral(dimension: int) -> None:
    """Laplace's to the error of the differences, importance sampling's to the noise of 400 draws."""
    target = correlated_normal(dimension, 7)
    truth = 0.5 * dimension * np.log(2.0 * np.pi) - 0.5 * np.linalg.slogdet(np.asarray(target.matrix))[1]
    with Evaluations(target, 10_000) as evaluations:
        curvature = curvature_at(evaluations, target.mean)
        assert curvature is not None
        mass = laplace(0.0, curvature)
        sampled = importance(evaluations, target.mean[None], [curvature], np.array([mass]), np.random.default_rng(1))
    assert mass == pytest.approx(truth, abs=1e-5)
    assert sampled[0] == pytest.approx(truth, abs=0.1)


def test_a_point_without_definite_curvature_has_no_laplace_mass() -> None:
    """Flat, and between two modes."""
    for target, point in ((simple(flat, 3), np.zeros(3)), (bimodal(2, 3.0, 0.5), np.zeros(2))):
        with Evaluations(target, 100) as evaluations:
            assert curvature_at(evaluations, point) is None


# -- the search --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNIMODAL)
def test_one_region_is_not_taken_for_several(name: str) -> None:
    """Though it be bent, heavy-tailed, a ring, or have a neck; `benchmarks.modes` asks it a thousand times."""
    target = density_of(name)
    for seed in range(5):
        found = search(target, seed)
        assert sum(region.substantial for region in found.regions) <= 1


MIXTURES = {
    "95/5 at 5": ((0, 5), (0.95, 0.05), (1, 1)),
    "95/5 at 6": ((0, 6), (0.95, 0.05), (1, 1)),
    "95/5 at 8": ((0, 8), (0.95, 0.05), (1, 1)),
    "equal at 10": ((0, 10), (0.5, 0.5), (1, 1)),
    "three at 8": ((0, 8, 16), (0.5, 0.3, 0.2), (1, 1, 1)),
}


@pytest.mark.parametrize("make", [isotropic, affine])
@pytest.mark.parametrize("dimension", [2, 20])
@pytest.mark.parametrize("name", MIXTURES)
def test_every_mode_is_found_with_its_mass(name: str, dimension: int, make: Any) -> None:
    """Modes of comparable width, whatever the scales and rotation of the coordinates; log odds within 0.2."""
    places, weights, deviations = MIXTURES[name]
    for seed in range(3):
        target = make(places, weights, deviations, dimension, seed)
        found = search(target, seed)
        components = nearest_components(found, target)
        assert sorted(components) == list(range(len(weights)))
        shares = np.array([region.share for region in found.regions[: len(weights)]])
        np.testing.assert_allclose(np.log(shares), np.log(target.weights[components]), rtol=0, atol=0.2)
        assert not any(region.uncertain for region in found.regions)
        assert found.complete


def test_a_narrow_heavy_mode_is_found_in_two_dimensions() -> None:
    """70 % of the mass in a fifth of the width, six deviations away."""
    found = [search(isotropic((0, 6), (0.3, 0.7), (1, 0.2), 2, seed), seed) for seed in range(20)]
    assert sum(sum(region.substantial for region in one.regions) == 2 for one in found) >= 18


def same(first: Regions, second: Regions) -> None:
    """Bit for bit."""
    assert (first.gradients, first.ascents, first.statement) == (second.gradients, second.ascents, second.statement)
    for one, other in zip(first.regions, second.regions, strict=True):
        np.testing.assert_array_equal(one.mode, other.mode)
        np.testing.assert_equal((one.laplace, one.importance, one.hits), (other.laplace, other.importance, other.hits))


@pytest.mark.parametrize("target", [bimodal(3, 4.0, 0.3), simple(funnel, 6)], ids=["two modes", "funnel"])
def test_the_result_depends_on_the_seed_alone(target: Target) -> None:
    """Not on the number of threads."""
    alone = search(target, 5)
    for threads in (1, 2, 3, 8):
        same(alone, search(target, 5, threads=threads))
    assert search(target, 6).gradients != alone.gradients


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(1, 12_000), st.integers(0, 100),
    st.sampled_from(["normal", "mixture", "funnel", "flat", "speck", "growing", "student", "half"]),
)  # fmt: skip
def test_no_search_exceeds_its_budget(budget: int, seed: int, kind: str) -> None:
    """Whatever the density; what is told is finite or NaN, and shares sum to 1."""
    target: Any = {
        "normal": standard(5),
        "mixture": bimodal(2, 4.0, 0.2),
        "funnel": simple(funnel, 8),
        "flat": simple(flat, 3),
        "speck": simple(speck, 4, 1e-3),
        "growing": simple(growing, 3),
        "student": simple(student, 5, 1.0),
        "half": simple(half_space, 1, 1.0),
    }[kind]
    position = np.full(target.dimension, 1.0 if kind == "half" else 0.0)
    found = find_regions(target, position, seed=seed, budget=budget)
    assert found.gradients <= budget
    assert found.statement.endswith(".")
    shares = np.array([region.share for region in found.regions])
    if np.isfinite(shares).any():
        assert np.nansum(shares) == pytest.approx(1.0)
    assert found.complete or "not" in found.statement


@pytest.mark.parametrize(
    ("target", "position", "words"),
    [
        (simple(flat, 3), 0.0, "may be flat"),
        (simple(growing, 3), 0.0, "no mass is known"),
        (simple(speck, 20, 1e-2), 1.0, "none of 20 starting points had a finite log density"),
        (standard(100_000), 0.0, "has 100000 coordinates"),
    ],
    ids=["flat", "improper", "nowhere finite", "large"],
)
def test_what_cannot_be_searched_is_said_at_bounded_cost(target: Target, position: float, words: str) -> None:
    """No region counts then, and chains begin where they would have."""
    found = find_regions(target, np.full(target.dimension, position), seed=1)
    assert words in found.statement
    assert found.gradients < 4000
    assert not any(region.substantial for region in found.regions)
    points = np.random.default_rng(1).standard_normal((4, target.dimension))
    np.testing.assert_array_equal(starting_points(target, found, points, seed=1).points, points)
    assert visits(target, found, points, seed=1).unvisited(found) == ()


def test_a_density_that_is_finite_nearly_nowhere_is_searched_where_it_is() -> None:
    """Starting points are pulled to the position that was given."""
    found = search(simple(speck, 3, 1e-2))
    assert len(found.regions) == 1
    assert np.abs(found.regions[0].mode).max() < 1e-2


def test_a_stop_flag_ends_a_search_without_a_result() -> None:
    with pytest.raises(Stopped):
        search(standard(3), stop=np.ones(1, np.int64))


def test_an_interrupt_reaches_the_caller_while_threads_search() -> None:
    """At once, and no thread is left behind."""
    target = correlated_normal(400, 1)
    search(target, budget=1)  # so that everything is compiled
    threads = threading.active_count()
    timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
    # A process that was started in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            search(target, budget=1_000_000, threads=2)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert threading.active_count() == threads


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"position": np.zeros(4)}, "shape \\(3,\\), got \\(4,\\)"),
        ({"scale": 0.0}, "`scale` needs positive"),
        ({"budget": 0}, "at least 1, got 0 and 1"),
        ({"threads": 0}, "at least 1, got 5000 and 0"),
    ],
)
def test_arguments_out_of_range_are_named(options: dict[str, Any], words: str) -> None:
    """With what was needed and what came."""
    with pytest.raises(SamplingError, match=words):
        find_regions(standard(3), options.pop("position", np.zeros(3)), seed=1, **options)


# -- starting points ---------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.floats(0.005, 1.0), min_size=1, max_size=8), st.integers(1, 64))
def test_every_region_has_a_chain_and_more_mass_has_more(weights: list[float], chains: int) -> None:
    """All chains are given away; within one of proportion, but for regions that have the one they are owed."""
    shares = sorted(weights, reverse=True)
    counts = chains_per_region(shares, chains)
    assert sum(counts) == chains
    assert min(counts) >= 1 or chains < len(shares)
    assert counts == sorted(counts, reverse=True)
    assert all(
        count <= max(1, np.ceil(share / sum(shares) * chains)) for share, count in zip(shares, counts, strict=True)
    )


@pytest.mark.parametrize("dimension", [2, 20])
def test_chains_begin_in_every_region_wider_than_its_draws(dimension: int) -> None:
    """Each belongs to the component it was meant for; around a mode they lie about two deviations from it."""
    target = isotropic((0, 12), (0.75, 0.25), (1, 1), dimension, 3)
    found = search(target)
    begun = starting_points(target, found, np.zeros((40, dimension)), seed=2)
    np.testing.assert_array_equal(np.bincount(begun.regions), [30, 10])
    order = nearest_components(found, target)
    distances = np.linalg.norm(begun.points[:, None] - target.modes[order], axis=2)
    np.testing.assert_array_equal(distances.argmin(1), begun.regions)
    typical = np.median(distances.min(1)) / np.sqrt(dimension)
    assert 1.4 < typical < 2.4
    again = starting_points(target, found, np.zeros((40, dimension)), seed=2, threads=2)
    np.testing.assert_array_equal(begun.points, again.points)


def test_all_chains_begin_in_the_one_region_that_counts_among_several() -> None:
    """Draws of another one leave it unvisited, and it is told from the lesser one by where they lie apart."""
    target = isotropic((0, 12), (1e-5, 1.0 - 1e-5), (1, 1), 3, 3)
    found = search(target)
    assert [region.substantial for region in found.regions] == [True, False]
    (heavy,) = nearest_components(found, target)
    begun = starting_points(target, found, np.tile(target.modes[1 - heavy], (8, 1)), seed=2)
    assert (begun.regions == 0).all()
    stuck = visits(target, found, draws_of(target, np.full(1600, 1 - heavy), 1), seed=1)
    assert stuck.unvisited(found) == (found.regions[0],)
    right = visits(target, found, draws_of(target, np.full(1600, heavy), 1), seed=1)
    assert right.unvisited(found) == ()
    apart = np.abs(found.regions[0].mode - found.regions[1].mode)
    assert distinguishing_coordinates(found.regions[0], found) == np.argsort(-apart, kind="stable").tolist()


def test_points_of_another_shape_are_refused() -> None:
    """Starting points and draws alike."""
    target = standard(3)
    found = search(target)
    with pytest.raises(SamplingError, match=r"\(chains, 3\), got \(3,\)"):
        starting_points(target, found, np.zeros(3), seed=1)
    with pytest.raises(SamplingError, match=r"\(..., 3\) and at least one draw, got \(0, 3\)"):
        visits(target, found, np.zeros((0, 3)), seed=1)


# -- visits ------------------------------------------------------------------------------------------------------------


def draws_of(target: Mixture, components: NDArray[np.int64], seed: int) -> Vector:
    """One draw of each of these components of a mixture of unit normals, as four chains."""
    parts = target.record
    n = target.dimension
    mix = np.linalg.inv(np.asarray(parts.unmix).reshape(n, n))
    z = np.random.default_rng(seed).standard_normal((len(components), n))
    return (target.modes[components] + z @ mix.T).reshape(4, -1, n)


@pytest.mark.parametrize("dimension", [2, 20])
@pytest.mark.parametrize("rare", [0.01, 0.05, 0.5])
def test_a_region_without_draws_is_unvisited_and_one_with_its_share_is_not(rare: float, dimension: int) -> None:
    """At eight deviations, with 1600 draws; shares are those of the draws."""
    for seed in range(4):
        target = affine((0, 8), (1 - rare, rare), (1, 1), dimension, seed)
        found = search(target, seed)
        order = nearest_components(found, target)
        components = np.random.default_rng(seed).choice(2, 1600, p=[1 - rare, rare])
        seen = visits(target, found, draws_of(target, components, seed), seed=seed)
        assert seen.unvisited(found) == ()
        share = np.mean(components == order[0])
        assert seen.shares[0] == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / 200))
        stuck = visits(target, found, draws_of(target, np.zeros(1600, np.int64), seed), seed=seed)
        (missed,) = stuck.unvisited(found)
        assert nearest_components(found, target)[found.regions.index(missed)] == 1


def test_a_region_is_told_from_the_others_by_the_coordinates_they_differ_in() -> None:
    """Those in which the modes lie most deviations apart come first."""
    means = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 9.0, 0.0, -5.0]])
    found = search(Mixture(means, (0.6, 0.4), (1, 1)))
    for region in found.regions:
        assert distinguishing_coordinates(region, found) == [1, 3, 0]


def test_visits_of_a_single_region_cost_nothing() -> None:
    """There is nothing that could have been missed."""
    target = standard(3)
    found = search(target)
    seen = visits(target, found, np.zeros((10, 3)), seed=1)
    assert seen.gradients == 0
    assert seen.visited.all()


def test_a_stop_flag_ends_a_look_at_draws_without_a_result() -> None:
    """What was not looked at is not claimed to be seen."""
    target = bimodal(2, 5.0, 0.5)
    found = search(target)
    with pytest.raises(Stopped):
        visits(target, found, np.zeros((10, 2)), seed=1, stop=np.ones(1, np.int64))
