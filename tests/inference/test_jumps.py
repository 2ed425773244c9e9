"""Laws of jumps, by differences of archived points and between the normals of regions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.inference import NUTS
from consilience.inference.density import Density, Inputs, Outputs, open_density
from consilience.inference.hamiltonian import copy
from consilience.inference.jumps import (
    SHORTENING,
    WHOLE_SHARE,
    JumpCommand,
    Jumps,
    JumpScratch,
    jump_around,
    new_jump_scratch,
    new_jumps,
    take_in,
)
from consilience.inference.messages import Rows
from consilience.inference.modes.normals import RegionNormals
from consilience.inference.nuts_chain import Averaging, Learning, NutsCommand
from consilience.inference.point import Point, new_point, start
from consilience.inference.streams import chain_key
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp, log
from consilience.native.typed_python import Array, address, boolean, f64, i64, native, record
from tests.inference.region_normals import normals_of
from tests.inference.targets import Target, bimodal, correlated_normal, flat, half_space, standard

Matrix = NDArray[np.float64]


@native
def jump_from_each(
    jumps: Jumps, scratch: JumpScratch, density: Density, point: Point, points: Array[f64], count: i64
) -> boolean:
    """Jump from every one of the points, each with random numbers of its own, and put the ends in their places."""
    n = point.dimension
    fine = True
    for t in range(count):
        place = points[t * n :]
        copy(place, point.position, n)
        point.transition = t
        fine = fine and start(point, density)
        jump_around(jumps, scratch, density, point)
        copy(point.position, place, n)
    return fine


def moved(target: Target, archive: Matrix, points: Matrix, count: int, seed: int = 1) -> tuple[Matrix, Jumps, Density]:
    """Where `count` jumps from each of the points lead to."""
    vectors = Vectors(target.dimension)
    jumps, density = new_jumps(), open_density(target, np.zeros(1, np.int64))
    point = new_point(chain_key(seed, 0), points[0], vectors)
    jumps.count, jumps.points = count, len(archive)
    jumps.archive = np.append(archive.reshape(-1), 0.0)  # one more number, for an archive without points
    ends = points.reshape(-1).copy()
    assert jump_from_each.compiled(jumps, new_jump_scratch(vectors), density, point, ends, len(points))
    return ends.reshape(points.shape), jumps, density


def draws_of_modes(rng: np.random.Generator, count: int, dimension: int, place: float, weight: float) -> Matrix:
    above = rng.uniform(size=(count, 1)) < weight
    return np.where(above, place, -place) + rng.standard_normal((count, dimension))


def z_scores(values: Matrix, truth: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return np.asarray((values.mean(axis=0) - truth) / (values.std(axis=0) / np.sqrt(len(values))))


@pytest.mark.parametrize("size", [2, 3, 200])
def test_jumps_leave_a_normal_unchanged(size: int) -> None:
    """20,000 exact draws, each jumped from five times: means and all second moments exact, many jumps made."""
    target = correlated_normal(3, 2)
    covariance = np.linalg.inv(target.matrix)
    rng = np.random.default_rng(size)
    factor = np.linalg.cholesky(covariance)
    archive = target.mean + rng.standard_normal((size, 3)) @ factor.T
    points = target.mean + rng.standard_normal((20_000, 3)) @ factor.T
    ends, jumps, density = moved(target, archive, points, 5)
    assert density.evaluations == 6 * len(points)
    assert jumps.accepted > 0.05 * 5 * len(points)
    assert (ends != points).any(axis=1).mean() > 0.1
    white = (ends - target.mean) @ np.linalg.inv(factor).T
    assert np.abs(z_scores(white, 0.0)).max() < 4.5
    products = np.einsum("ti,tj->tij", white, white).reshape(-1, 9)
    assert np.abs(z_scores(products, np.eye(3).reshape(-1))).max() < 4.5


@pytest.mark.parametrize("weight", [0.5, 0.2])
@pytest.mark.parametrize("size", [2, 300])
def test_jumps_leave_two_modes_unchanged_and_go_from_one_to_the_other(weight: float, size: int) -> None:
    """Ten deviations apart: the share of the modes stays, the moments stay, and many change their mode."""
    rng = np.random.default_rng(3)
    archive = draws_of_modes(rng, size, 2, 5.0, 0.5)
    archive[0], archive[1] = np.sign(archive[0]) * [5.0, 5.3], -np.sign(archive[0]) * [4.8, 5.0]  # one of each
    points = draws_of_modes(rng, 20_000, 2, 5.0, weight)
    target = bimodal(2, 5.0, weight)
    ends, _, _ = moved(target, archive, points, 6)
    crossed = (ends[:, 0] > 0.0) != (points[:, 0] > 0.0)
    assert crossed.mean() > 0.1
    assert np.abs(z_scores((ends[:, :1] > 0.0).astype(float), weight)).max() < 4.0
    assert np.abs(z_scores(ends, target.mean)).max() < 4.0
    assert np.abs(z_scores((ends - target.mean) ** 2, target.deviation**2)).max() < 4.0
    within = ends - np.where(ends[:, :1] > 0.0, 5.0, -5.0)
    assert np.abs(z_scores(within, 0.0)).max() < 4.0
    assert np.abs(z_scores(within**2, 1.0)).max() < 4.0


def test_unequal_jumps_bring_wrong_weights_to_the_right_ones() -> None:
    """All begin in one mode: after many jumps the share is that of the target."""
    rng = np.random.default_rng(4)
    archive = draws_of_modes(rng, 100, 1, 5.0, 0.5)
    begin = 5.0 + rng.standard_normal((4000, 1))
    ends, _, _ = moved(bimodal(1, 5.0, 0.3), archive, begin, 120)
    assert abs((ends > 0.0).mean() - 0.3) < 4.0 * np.sqrt(0.21 / len(begin))


@pytest.mark.parametrize("size", [0, 1])
def test_fewer_than_two_points_make_no_jumps(size: int) -> None:
    """There is no difference: nothing is evaluated, nothing moves."""
    points = np.random.default_rng(5).standard_normal((50, 2))
    ends, jumps, density = moved(standard(2), np.ones((size, 2)), points, 4)
    np.testing.assert_array_equal(ends, points)
    assert (jumps.accepted, density.evaluations) == (0, 50)  # the starts


def test_jumps_are_differences_of_two_distinct_points() -> None:
    """Without force every jump is made: all ordered pairs equally often, whole or shortened as they should be."""
    archive = np.array([[0.0], [1.0], [10.0], [100.0]])
    ends, jumps, _ = moved(Target(flat, 1, np.zeros(1), np.ones(1)), archive, np.zeros((24_000, 1)), 1)
    assert jumps.accepted == len(ends)
    differences = {float(a - b) for a in archive[:, 0] for b in archive[:, 0] if a != b}
    factor = SHORTENING / np.sqrt(2.0)
    rounded = np.round(ends[:, 0], 6)
    whole = np.isin(rounded, sorted(differences))
    assert whole.mean() == pytest.approx(WHOLE_SHARE, abs=4.0 * np.sqrt(0.21 / len(ends)))
    shortened = np.isin(rounded, np.round([factor * d for d in sorted(differences)], 6))
    assert (whole | shortened).all()
    for chosen, scale in ((whole, 1.0), (shortened & ~whole, factor)):
        counts = np.array([(np.abs(ends[chosen, 0] - scale * d) < 1e-6).sum() for d in differences])
        expected = chosen.sum() / 12.0
        assert ((counts - expected) ** 2 / expected).sum() < 31.3  # 0.1 % quantile, 11 degrees of freedom


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(1, 20), st.integers(2, 30), st.integers(0, 5), st.integers(0, 2**31))
def test_a_point_jumped_to_comes_with_its_density_and_gradient(
    dimension: int, size: int, count: int, seed: int
) -> None:
    """The state stays one point; rejected jumps leave no trace."""
    rng = np.random.default_rng(seed)
    target = correlated_normal(dimension, seed)
    vectors = Vectors(dimension)
    jumps, density = new_jumps(), open_density(target, np.zeros(1, np.int64))
    jumps.count, jumps.points = count, size
    jumps.archive = (target.mean + 0.3 * rng.standard_normal((size, dimension))).reshape(-1)
    point = new_point(chain_key(seed, 0), target.mean + 0.1, vectors)
    assert start.compiled(point, density)
    for transition in range(5):
        point.transition = transition
        jump_around.compiled(jumps, new_jump_scratch(vectors), density, point)
    centred = np.asarray(point.position) - target.mean
    np.testing.assert_allclose(np.asarray(point.gradient), -target.matrix @ centred, rtol=1e-9, atol=1e-9)
    assert point.logp == pytest.approx(-0.5 * centred @ target.matrix @ centred, rel=1e-9)
    assert density.evaluations == 1 + 5 * count


@pytest.mark.parametrize("failure", [1.0, 2.0, 3.0, 4.0])
def test_no_jump_ends_where_density_or_gradient_is_not_finite(failure: float) -> None:
    """Beyond the border, in whatever way the density fails there."""
    points = np.random.default_rng(6).exponential(size=(2000, 1))
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=failure)
    ends, _, _ = moved(target, np.array([[0.0], [1.0], [2.5]]), points, 5)
    assert (ends > 0.0).all()
    assert abs(z_scores(ends, 1.0)[0]) < 4.0


def run_with_jumps(count: int, archive: Matrix, draws: int, chain: int) -> tuple[Matrix, Any]:
    """Draws of one chain in a target of two modes, begun in one of them."""
    target = bimodal(2, 5.0, 0.3)
    kernel = NUTS()
    one = kernel.chain(target, np.full(2, 5.0), chain_key(9, chain), 0, np.zeros(1, np.int64))
    one.begin()
    one.apply(JumpCommand(count, archive, kernels=NutsCommand(Learning.NOTHING, step=Averaging(0.9, 0.0, 0))))
    rows = Rows(
        np.full((draws, 2), np.nan), np.zeros((draws, len(kernel.columns.types)), np.int64), np.full((draws, 2), np.nan)
    )
    one.write_to(rows)
    assert one.advance(draws) == draws
    return rows.draws, (one, rows, tuple(kernel.columns.types))


def test_chains_that_jump_sample_both_modes() -> None:
    """NUTS alone never crosses; with four jumps a draw the share of the modes is right, within five errors."""
    archive = draws_of_modes(np.random.default_rng(7), 200, 2, 5.0, 0.5)
    alone, _ = run_with_jumps(0, archive, 500, 0)
    assert (alone > 0.0).all()
    shares = np.array([(run_with_jumps(4, archive, 2000, c)[0][500:, 0] > 0.0).mean() for c in range(16)])
    assert abs(shares.mean() - 0.3) < 5.0 * shares.std(ddof=1) / 4.0
    assert shares.std() < 0.1


def test_what_is_recorded_is_the_point_after_the_jumps() -> None:
    """Draw, log density and gradient of a row belong together; every jump costs one evaluation."""
    archive = draws_of_modes(np.random.default_rng(8), 50, 2, 5.0, 0.5)
    draws, (chain, rows, names) = run_with_jumps(3, archive, 300, 0)
    below, above = (-0.5 * ((draws - c) ** 2).sum(axis=1) for c in (-5.0, 5.0))
    share = 0.3 * np.exp(above) / (0.7 * np.exp(below) + 0.3 * np.exp(above))
    table = chain.kernel.columns.table(rows.statistics)
    np.testing.assert_allclose(table[names.index("lp")], np.log(0.7 * np.exp(below) + 0.3 * np.exp(above)))
    np.testing.assert_allclose(rows.gradients, 5.0 * (2.0 * share[:, None] - 1.0) - draws, atol=1e-9)
    begun, _ = run_with_jumps(0, archive, 0, 0)
    assert len(begun) == 0
    searched = chain.evaluations - table[names.index("n_steps")].sum() - 3 * 300
    assert 1 <= searched < 20


@record
class Shapes:
    """Normals of any covariance: heights f64[k] at their modes f64[k, n], whitening matrices f64[k, n, n]."""

    dimension: i64
    components: i64
    modes: Array[f64]
    whitenings: Array[f64]
    heights: Array[f64]


@native
def shapes_logp(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Shapes) -> i64:
    """Log density of their sum; no gradient."""
    n = constants.dimension
    total = 0.0
    for k in range(constants.components):
        square = 0.0
        for i in range(n):
            z = 0.0
            for j in range(n):
                centred = inputs.position[j] - constants.modes[k * n + j]
                z += constants.whitenings[(k * n + i) * n + j] * centred
            square += z * z
        total += exp(constants.heights[k] - 0.5 * square)
    outputs.logp[0] = log(total)
    return 0


class Normals:
    """A mixture of normals of any shape, of which exact draws can be made."""

    workspace = 0

    def __init__(self, modes: Matrix, factors: Matrix, shares: NDArray[np.float64]) -> None:
        self.modes, self.factors, self.shares = modes, factors, shares
        self.dimension = modes.shape[1]
        heights = np.log(shares) - np.log(np.abs(np.diagonal(factors, axis1=1, axis2=2))).sum(1)
        self.data = Shapes(self.dimension, len(modes), modes.ravel(), np.linalg.inv(factors).ravel(), heights)
        self.entry, self.constants = shapes_logp.compiled.address, address(self.data)

    def draws(self, rng: np.random.Generator, count: int) -> tuple[Matrix, NDArray[np.int64]]:
        which = rng.choice(len(self.shares), count, p=self.shares)
        normals = rng.standard_normal((count, self.dimension))
        return self.modes[which] + np.einsum("kij,kj->ki", self.factors[which], normals), which


def factor_of(seed: int, dimension: int, width: float) -> Matrix:
    """A random Cholesky factor, correlations included."""
    raw = np.random.default_rng(seed).standard_normal((dimension, dimension))
    return np.asarray(width * np.linalg.cholesky(raw @ raw.T / dimension + 0.2 * np.eye(dimension)))


def between(target: Any, regions: RegionNormals, points: Matrix, count: int, seed: int = 1) -> tuple[Matrix, Jumps]:
    """Where `count` jumps between regions lead to from each of the points."""
    vectors = Vectors(target.dimension)
    jumps, density = new_jumps(), open_density(target, np.zeros(1, np.int64))
    take_in(jumps, JumpCommand(0, np.zeros((0, target.dimension)), regions))
    jumps.maps.count = count
    point = new_point(chain_key(seed, 0), points[0], vectors)
    ends = points.reshape(-1).copy()
    assert jump_from_each.compiled(jumps, new_jump_scratch(vectors), density, point, ends, len(points))
    return ends.reshape(points.shape), jumps


MIXTURES = {
    "narrow and wide": Normals(np.array([[0.0, 0.0], [6.0, 0.0]]), np.stack([np.eye(2), 0.2 * np.eye(2)]),
                               np.array([0.3, 0.7])),
    "three shapes": Normals(np.array([[0.0, 0.0, 0.0], [7.0, 1.0, 0.0], [-3.0, 8.0, 2.0]]),
                            np.stack([factor_of(1, 3, 1.0), factor_of(2, 3, 0.3), factor_of(3, 3, 1.5)]),
                            np.array([0.5, 0.3, 0.2])),
    "concentric": Normals(np.zeros((2, 4)), np.stack([np.eye(4), 0.1 * np.eye(4)]), np.array([0.6, 0.4])),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("known", ["exactly", "roughly"])
def test_jumps_between_regions_leave_a_mixture_unchanged(name: str, known: str) -> None:
    """Exact draws stay exact draws, whatever the normals are: shares, means and second moments of the whole."""
    target = MIXTURES[name]
    rng = np.random.default_rng(11)
    points, _ = target.draws(rng, 20_000)
    shares = target.shares if known == "exactly" else target.shares[::-1]
    off = 0.0 if known == "exactly" else 0.2
    factors = target.factors * (1.0 if known == "exactly" else 1.3)
    ends, jumps = between(target, normals_of(list(target.modes + off), list(factors), list(shares)), points, 4)
    assert jumps.maps.accepted > (0.5 if known == "exactly" else 0.02) * 4 * len(points)
    mean = target.shares @ target.modes
    covariances = np.einsum("kij,klj->kil", target.factors, target.factors)
    apart = target.modes - mean
    second = np.einsum("k,kij->ij", target.shares, covariances + apart[:, :, None] * apart[:, None, :])
    assert np.abs(z_scores(ends, mean)).max() < 4.5
    centred = ends - mean
    products = np.einsum("ti,tj->tij", centred, centred).reshape(len(ends), -1)
    assert np.abs(z_scores(products, second.reshape(-1))).max() < 4.5


@pytest.mark.parametrize("name", MIXTURES)
def test_jumps_between_regions_bring_wrong_weights_to_the_right_ones(name: str) -> None:
    """All begin in the first region: after some jumps each has its share, with normals of another width."""
    target = MIXTURES[name]
    rng = np.random.default_rng(12)
    normals = rng.standard_normal((4000, target.dimension))
    points = target.modes[0] + normals @ target.factors[0].T
    equal = np.full(len(target.shares), 1.0)
    ends, _ = between(target, normals_of(list(target.modes), list(1.1 * target.factors), list(equal)), points, 30)
    logs = []
    for mode, factor, share in zip(target.modes, target.factors, target.shares, strict=True):
        white = np.linalg.solve(factor, (ends - mode).T)
        logs.append(np.log(share) - np.log(np.diag(factor)).sum() - 0.5 * (white**2).sum(0))
    weights = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    for own, share in zip(weights, target.shares, strict=True):
        assert abs(z_scores(own[:, None], share)[0]) < 4.0


def test_regions_may_differ_in_some_coordinates_and_in_discrete_values() -> None:
    """Two coordinates move, a third has a value for each region, the rest stays; elsewhere nothing is jumped from."""
    maps = RegionNormals(
        places=np.array([3, 1]),
        modes=np.array([[0.0, 0.0], [4.0, -4.0]]),
        factors=np.stack([np.eye(2), np.array([[2.0, 0.0], [1.0, 0.5]])]),
        shares=np.array([0.5, 0.5]),
        whole=np.array([0]),
        values=np.array([[1.0], [2.0]]),
    )
    points = np.tile([1.0, 0.3, 9.0, -0.2], (50, 1))
    ends, jumps = between(Target(flat, 4, np.zeros(4), np.ones(4)), maps, points, 1)
    assert jumps.maps.accepted > 0
    moved = ends[ends[:, 0] == 2.0]
    assert len(moved) == jumps.maps.accepted
    np.testing.assert_allclose(moved, np.tile([2.0, -4.0 - 0.2 + 0.15, 9.0, 4.0 - 0.4], (len(moved), 1)))
    points[:, 0] = 3.0
    ends, jumps = between(Target(flat, 4, np.zeros(4), np.ones(4)), maps, points, 1)
    assert jumps.maps.accepted == 0
    np.testing.assert_array_equal(ends, points)


def test_whole_numbers_jump_by_whole_numbers_as_often_forth_as_back() -> None:
    """A flat density: every jump is made, and leads to a whole number; both signs are as frequent."""
    target = Target(flat, 2, np.zeros(2), np.ones(2))
    vectors = Vectors(2)
    jumps, density = new_jumps(np.array([True, False])), open_density(target, np.zeros(1, np.int64))
    rng = np.random.default_rng(13)
    archive = np.stack([rng.integers(0, 7, 40).astype(float), rng.standard_normal(40)], axis=1)
    take_in(jumps, JumpCommand(1, archive))
    point = new_point(chain_key(3, 0), np.zeros(2), vectors)
    ends = np.zeros(2 * 20_000)
    assert jump_from_each.compiled(jumps, new_jump_scratch(vectors), density, point, ends, 20_000)
    steps = ends.reshape(-1, 2)[:, 0]
    np.testing.assert_array_equal(steps, np.round(steps))
    for size in np.unique(np.abs(steps[steps != 0.0])):
        forth, back = (steps == size).sum(), (steps == -size).sum()
        assert abs(forth - back) < 4.5 * np.sqrt(forth + back)
