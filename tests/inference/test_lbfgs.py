"""Laws of the climb from a starting point to the typical set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.inference import NUTS
from consilience.inference.density import Inputs, Outputs, evaluate, open_density
from consilience.inference.lbfgs import MOST_EVALUATIONS, lbfgs_initialization, new_lbfgs
from consilience.inference.nuts_chain import NutsCommand
from consilience.inference.point import new_point, start
from consilience.inference.streams import chain_key
from consilience.inference.vectors import Vectors
from consilience.native.typed_python import Array, f64, i64, native, record
from tests.inference.targets import Target, correlated, correlated_normal, funnel, half_space, standard, student

Vector = NDArray[np.float64]


@dataclass
class Climb:
    """Where a climb began and ended."""

    begun: float
    logp: float
    position: Vector
    gradient: Vector
    evaluations: int


def climb(target: Any, position: Vector, stop: NDArray[np.int64] | None = None) -> Climb:
    """Evaluations are counted without the start."""
    vectors = Vectors(len(position))
    density = open_density(target, np.zeros(1, np.int64) if stop is None else stop)
    point = new_point(1, position, vectors)
    assert start.compiled(point, density)
    begun = point.logp
    lbfgs_initialization.compiled(new_lbfgs(vectors), density, point)
    return Climb(begun, point.logp, np.array(point.position), np.array(point.gradient), density.evaluations - 1)


def steep(dimension: int, condition: float, seed: int) -> tuple[Target, Vector, Vector]:
    """A centred normal of this condition number in random directions, its axes and their deviations."""
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    variance = np.geomspace(condition**-0.5, condition**0.5, dimension)
    precision = axes / variance @ axes.T
    return Target(correlated, dimension, np.zeros(dimension), np.ones(dimension), precision), axes, np.sqrt(variance)


@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("dimension", [1, 2, 5, 20, 100])
def test_a_climb_from_nearby_ends_in_the_typical_set(dimension: int, condition: float) -> None:
    """From twice the deviations the true decrement, x' P x, ends below that of the outermost draws; in few steps."""
    for seed in range(5):
        target, axes, deviation = steep(dimension, condition, seed)
        begin = 2.0 * axes @ (deviation * np.random.default_rng(seed).standard_normal(dimension))
        end = climb(target, begin)
        assert -2.0 * end.logp < min(5.0 * dimension + 20.0, -2.0 * end.begun + 1e-9)
        assert end.evaluations <= 12


@pytest.mark.parametrize("condition", [1.0, 10.0, 1e2])
@pytest.mark.parametrize("dimension", [1, 2, 5, 20, 100])
def test_a_climb_from_a_thousand_deviations_ends_in_the_typical_set(dimension: int, condition: float) -> None:
    """x' P x falls from a million times the dimension to a few times it."""
    for seed in range(5):
        target, axes, deviation = steep(dimension, condition, seed)
        begin = 1e3 * axes @ (deviation * np.random.default_rng(seed).standard_normal(dimension))
        end = climb(target, begin)
        assert -2.0 * end.logp < 6.0 * dimension + 20.0
        assert end.evaluations <= 50


@pytest.mark.parametrize("dimension", [20, 50, 100])
def test_a_climb_does_not_go_on_to_the_mode(dimension: int) -> None:
    """Where the axes differ it ends as far out as draws do, to a factor: x' P x of the order of the dimension."""
    for seed in range(10):
        target, axes, deviation = steep(dimension, 1e2, seed)
        begin = 1e3 * axes @ (deviation * np.random.default_rng(seed).standard_normal(dimension))
        assert -2.0 * climb(target, begin).logp > 0.1 * dimension


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.integers(1, 30), st.floats(0.0, 12.0), st.floats(-3.0, 6.0), st.integers(0, 2**31),
    st.sampled_from(["normal", "funnel", "student"]),
)  # fmt: skip
def test_a_climb_never_ends_below_its_beginning(
    dimension: int, condition: float, far: float, seed: int, kind: str
) -> None:
    """Whatever the target; the state left is one point with its log density and gradient; evaluations are bounded."""
    rng = np.random.default_rng(seed)
    if kind == "normal":
        target = steep(dimension, 10.0**condition, seed)[0]
    elif kind == "funnel":
        target = Target(funnel, dimension, np.zeros(dimension), np.ones(dimension))
    else:
        target = Target(student, dimension, np.zeros(dimension), np.ones(dimension), number=1.0 + condition)
    begin = rng.standard_normal(dimension) * 10.0**far
    if kind == "funnel":
        begin[0] = 20.0 * rng.uniform(-1.0, 1.0)
    end = climb(target, begin)
    assert end.logp >= end.begun
    assert end.evaluations <= MOST_EVALUATIONS
    assert np.isfinite(end.position).all()
    gradient = np.zeros(dimension)
    density = open_density(target, np.zeros(1, np.int64))
    assert evaluate.compiled(density, end.position, gradient) == end.logp
    np.testing.assert_array_equal(gradient, end.gradient)
    again = climb(target, begin)
    np.testing.assert_array_equal(again.position, end.position)
    assert again.evaluations == end.evaluations


def test_most_climbs_in_a_funnel_stay_out_of_its_neck() -> None:
    """From uniform(-2, 2): log of the scale within three of its deviations, log density that of draws."""
    target = Target(funnel, 10, np.zeros(10), np.ones(10))
    rng = np.random.default_rng(1)
    ends = [climb(target, rng.uniform(-2.0, 2.0, 10)) for _ in range(300)]
    inside = np.mean([abs(end.position[0]) < 9.0 for end in ends])
    assert inside > 0.85
    # log densities of 5000 draws lie between -58 and 41
    assert np.mean([-58.0 < end.logp < 41.0 for end in ends]) > 0.85


def test_a_climb_does_not_leave_the_support() -> None:
    """The density ends at 0, and fails there in every way."""
    for failure in (1.0, 2.0, 3.0, 4.0):
        target = Target(half_space, 1, np.ones(1), np.ones(1), number=failure)
        end = climb(target, np.array([30.0]))
        assert 0.0 < end.position[0] <= 30.0
        assert np.isfinite(end.gradient).all()


def test_a_point_without_force_is_where_a_climb_ends() -> None:
    """The mode itself: nothing to climb."""
    end = climb(standard(4), np.zeros(4))
    np.testing.assert_array_equal(end.position, np.zeros(4))
    assert end.evaluations == 0


@record
class Fuse:
    """A stop flag and the number of evaluations after which it is set."""

    stop: Array[i64]
    left: i64


@native
def burning(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Fuse) -> i64:
    """Two normals of deviations 1 and 1000; sets the stop flag at some evaluation."""
    x = inputs.position
    outputs.gradient[0] = -x[0]
    outputs.gradient[1] = -1e-6 * x[1]
    outputs.logp[0] = -0.5 * (x[0] * x[0] + 1e-6 * x[1] * x[1])
    constants.left -= 1
    if constants.left == 0:
        constants.stop[0] = 1
    return 0


@pytest.mark.parametrize("evaluations", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("begin", [(1e3, 1e6), (1e-5, 0.0)], ids=["far", "step too long"])
def test_a_stop_ends_the_climb_after_at_most_one_more_evaluation(begin: tuple[float, float], evaluations: int) -> None:
    """Also while a step is being shortened; the state is then a point like any other. Evaluation 1 is the start."""
    fuse: Any = Fuse(np.zeros(1, np.int64), 1000)

    class Stopping:
        dimension, workspace = 2, 0
        entry, constants = burning.compiled.address, fuse.address

    unbroken = climb(Stopping(), np.array(begin), fuse.stop)
    assert unbroken.evaluations >= 8  # else nothing is stopped below
    fuse.left = evaluations
    end = climb(Stopping(), np.array(begin), fuse.stop)
    assert end.evaluations == evaluations - 1
    assert end.logp >= end.begun
    expected = -0.5 * (end.position[0] ** 2 + 1e-6 * end.position[1] ** 2)
    assert end.logp == pytest.approx(expected, rel=1e-14)


def test_chains_begin_with_l_bfgs_only_when_asked_to() -> None:
    """`begin` climbs, from far away to where draws lie; without being asked it stays at its starting point."""
    target = correlated_normal(10, 4)
    begin = 1e3 * np.random.default_rng(5).standard_normal(10)
    places = []
    for asked in (False, True):
        chain = NUTS().chain(target, begin, chain_key(1, 0), 0, np.zeros(1, np.int64))
        chain.begin(NutsCommand(initialize=asked))
        places.append(np.asarray(chain.snapshot()["position"]))
    np.testing.assert_array_equal(places[0], begin)
    centred = places[1] - target.mean
    assert centred @ target.matrix @ centred < 60.0
