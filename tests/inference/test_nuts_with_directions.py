"""Laws of NUTS under a metric with directions: its target stays unchanged, its trees are those of the unit one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from consilience.inference import NUTS
from consilience.inference.fisher_metric import estimate
from consilience.inference.jumps import JumpCommand
from consilience.inference.messages import Rows
from consilience.inference.metric import Scales
from consilience.inference.nuts_chain import Averaging, Learning, NutsCommand
from consilience.inference.streams import chain_key
from tests.inference.metrics import random_scales, scales_of
from tests.inference.region_normals import normals_of
from tests.inference.targets import PlainTarget, Target, correlated, correlated_normal, funnel, standard

Matrix = NDArray[np.float64]
CHAINS = 16
KERNEL = NUTS()
NAMES = KERNEL.columns.names


def steep_normal(dimension: int, condition: float) -> tuple[Target, Matrix]:
    """A normal of this condition number in random directions, and its covariance."""
    vectors, _ = np.linalg.qr(np.random.default_rng(dimension).standard_normal((dimension, dimension)))
    variance = np.geomspace(condition**-0.5, condition**0.5, dimension)
    covariance = vectors * variance @ vectors.T
    mean, deviation = np.arange(float(dimension)), np.sqrt(np.diag(covariance))
    precision = np.asarray(vectors / variance @ vectors.T, np.float64)
    return Target(correlated, dimension, mean, deviation, precision), covariance


def run(target: Target, scales: Scales, step: float, draws: int, chain: int) -> tuple[Matrix, Matrix]:
    """Draws and statistics under a metric and a step size that stay, from the mean on."""
    one = KERNEL.chain(target, target.mean, chain_key(5, chain), 0, np.zeros(1, np.int64))
    one.begin()
    one.apply(NutsCommand(Learning.NOTHING, scales=scales, step=Averaging(step, 0.0, 0)))
    rows = Rows(np.empty((draws, target.dimension)), np.zeros((draws, len(NAMES)), np.int64))
    one.write_to(rows)
    assert one.advance(draws) == draws
    return rows.draws, KERNEL.columns.table(rows.statistics)


def z_scores(samples: Matrix, truth: Matrix | float) -> Matrix:
    """Distance of the mean over chains from the truth, in standard errors estimated between the chains."""
    means = samples.mean(axis=1)
    return np.asarray((means.mean(axis=0) - truth) / (means.std(axis=0, ddof=1) / np.sqrt(len(means))))


def steep_case(form: str) -> tuple[Target, Matrix, Scales]:
    """A normal of six coordinates and condition 1e4, and a metric for it."""
    target, covariance = steep_normal(6, 1e4)
    rng = np.random.default_rng(1)
    if form == "exact":
        return target, covariance, scales_of(covariance)
    points = rng.standard_normal((60, 6)) @ np.linalg.cholesky(covariance).T
    learnt = estimate(points, -points @ target.matrix, "lowrank")
    assert learnt is not None
    if form == "three directions":
        learnt = Scales(learnt.scale, learnt.directions[:3], learnt.eigenvalues[:3])
    return target, covariance, learnt


@pytest.mark.parametrize("form", ["exact", "learnt", "three directions", "wrong"])
def test_correlated_normals_are_sampled_with_their_exact_moments(form: str) -> None:
    """All first and second moments in white coordinates within five standard errors; right metric or wrong."""
    if form == "wrong":
        target = correlated_normal(5, 7)
        covariance, scales = np.linalg.inv(target.matrix), random_scales(3, 5, 3, 0.5)
    else:
        target, covariance, scales = steep_case(form)
    n = target.dimension
    step = {"exact": 0.8, "learnt": 0.7, "three directions": 0.15, "wrong": 0.25}[form]
    draws = np.array([run(target, scales, step, 1500, c)[0][50:] for c in range(CHAINS)])
    white = (draws - target.mean) @ np.linalg.inv(np.linalg.cholesky(covariance)).T
    assert np.abs(z_scores(white, 0.0)).max() < 5.0
    products = np.einsum("cti,ctj->ctij", white, white).reshape(CHAINS, -1, n * n)
    assert np.abs(z_scores(products, np.eye(n).reshape(-1))).max() < 5.0
    np.testing.assert_allclose(products.mean(axis=(0, 1)).reshape(n, n), np.eye(n), atol=0.08)


def test_with_the_exact_metric_any_normal_is_the_standard_normal() -> None:
    """Condition 1e6 in 12 coordinates: acceptance, tree sizes and energies have the means of the standard normal's."""
    target, covariance = steep_normal(12, 1e6)
    unit = Scales(np.ones(12), np.zeros((0, 12)), np.zeros(0))
    here = np.array([run(target, scales_of(covariance), 0.6, 500, c)[1][:, 50:].mean(axis=1) for c in range(CHAINS)])
    there = np.array([run(standard(12), unit, 0.6, 500, c)[1][:, 50:].mean(axis=1) for c in range(CHAINS)])
    for name in ("depth", "n_steps", "mean_tree_accept", "mean_tree_accept_sym", "energy", "lp"):
        one, other = here[:, NAMES.index(name)], there[:, NAMES.index(name)]
        error = np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / CHAINS)
        assert abs(one.mean() - other.mean()) < 5.0 * error + 1e-12, name


def test_a_learnt_metric_saves_gradients() -> None:
    """Where the scales alone need trees of hundreds of steps, the directions need some."""
    target, _, scales = steep_case("learnt")
    plain = Scales(scales.scale, np.zeros((0, 6)), np.zeros(0))
    steps = NAMES.index("n_steps")
    with_directions = np.mean([run(target, scales, 0.7, 200, c)[1][steps].mean() for c in range(4)])
    without = np.mean([run(target, plain, 0.02, 200, c)[1][steps].mean() for c in range(4)])
    assert with_directions * 8.0 < without


def test_the_funnel_is_the_same_under_any_metric() -> None:
    """A curved target: shares of log scales between 0 and 2 agree under the unit metric and one with directions."""
    target = Target(funnel, 4, np.zeros(4), np.ones(4))
    metrics = [Scales(np.ones(4), np.zeros((0, 4)), np.zeros(0)), random_scales(2, 4, 3, 0.3)]
    shares = []
    for scales in metrics:
        draws = np.array([run(target, scales, 0.15, 1500, c)[0][100:, 0] for c in range(CHAINS)])
        inside = (draws > 0.0) & (draws < 2.0)
        shares.append(inside.sum(axis=1) / np.maximum((np.abs(draws) < 3.0).sum(axis=1), 1))
    # of Normal(0, 3): P(0 < v < 2) / P(|v| < 3)
    for share in shares:
        assert abs(share.mean() - 0.2475075 / 0.6826895) < 5.0 * share.std(ddof=1) / np.sqrt(CHAINS)


def test_machine_code_and_cpython_agree_with_directions_and_jumps() -> None:
    """The same source: equal trees, equal draws up to the rounding of sums."""
    target = correlated_normal(5, 4)
    archive = target.mean + np.random.default_rng(2).standard_normal((10, 5))
    regions = normals_of([target.mean, target.mean + 1.0], [0.5 * np.eye(5), np.eye(5)], [0.3, 0.7])
    own = NutsCommand(Learning.STEP, scales=random_scales(1, 5, 5, 0.3), search=0.2, max_treedepth=5)
    command = JumpCommand(2, archive, regions, own)
    found = []
    pairs: list[tuple[NUTS, Any]] = [(KERNEL, target), (NUTS(compiled=False), PlainTarget(target))]
    for kernel, density in pairs:
        chain = kernel.chain(density, target.mean + 3.0, chain_key(3, 0), 0, np.zeros(1, np.int64))
        chain.begin(NutsCommand(initialize=True))
        chain.apply(command)
        rows = Rows(np.empty((25, 5)), np.zeros((25, len(NAMES)), np.int64), np.empty((25, 5)))
        chain.write_to(rows)
        chain.advance(25)
        found.append((rows, chain.evaluations))
    (one, evaluations), (other, plain_evaluations) = found
    assert evaluations == plain_evaluations
    np.testing.assert_allclose(one.draws, other.draws, rtol=1e-7, atol=1e-7)
    assert one.gradients is not None
    assert other.gradients is not None
    np.testing.assert_allclose(one.gradients, other.gradients, rtol=1e-6, atol=1e-6)
    for name in ("depth", "n_steps", "index_in_trajectory"):
        np.testing.assert_array_equal(one.statistics[:, NAMES.index(name)], other.statistics[:, NAMES.index(name)])


def test_many_directions_in_many_coordinates() -> None:
    """Three factors in 300 coordinates: the metric of exactly these directions samples them well."""
    rng = np.random.default_rng(8)
    directions, _ = np.linalg.qr(rng.standard_normal((300, 3)))
    eigenvalues = np.array([400.0, 50.0, 0.02])
    precision = np.eye(300) + directions * (1.0 / eigenvalues - 1.0) @ directions.T
    target = Target(correlated, 300, np.zeros(300), np.ones(300), precision)
    scales = Scales(np.ones(300), np.ascontiguousarray(directions.T), eigenvalues)
    draws = np.array([run(target, scales, 0.4, 300, c)[0][50:] for c in range(4)])
    along = draws @ directions / np.sqrt(eigenvalues)
    np.testing.assert_allclose((along**2).mean(axis=(0, 1)), 1.0, atol=0.25)
    across = draws - draws @ directions @ directions.T
    assert (across**2).sum(axis=2).mean() == pytest.approx(297.0, rel=0.03)
