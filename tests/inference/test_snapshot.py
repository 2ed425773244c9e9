"""Laws of snapshots, of orders, and of other random numbers: what decides how a chain goes on, and nothing else."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference import NUTS, HamiltonianMC, Kernel, Metropolis
from consilience.inference.density import Inputs, Outputs
from consilience.inference.jumps import JumpCommand
from consilience.inference.kernel import MarkovChain
from consilience.inference.messages import Rows
from consilience.inference.nuts_chain import Averaging, Learning, NutsCommand
from consilience.inference.streams import chain_key
from consilience.native.typed_python import Array, f64, i64, native, record
from tests.inference.metrics import random_scales
from tests.inference.region_normals import normals_of
from tests.inference.targets import Target, correlated_normal

TARGET = correlated_normal(5, 3)
REGIONS = normals_of([np.zeros(5), np.ones(5)], [0.5 * np.eye(5), np.eye(5)], [0.3, 0.7])
ARCHIVE = TARGET.mean + np.random.default_rng(1).standard_normal((30, 5))
DIRECTIONS = random_scales(2, 5, 3, 0.3)
STEP = Averaging(0.4, float(np.log(0.8)), 10)


@dataclass(frozen=True)
class Case:
    """A kernel, the length of its tuning, and what it is told: first, and later on."""

    kernel: Kernel
    tune: int = 0
    first: NutsCommand | None = None
    later: NutsCommand | None = None


CASES = {
    "nuts by schedule": Case(NUTS(), 150),
    "nuts without tuning": Case(NUTS()),
    "nuts alone": Case(NUTS(), 0, NutsCommand(Learning.ALONE, max_treedepth=6)),
    "nuts, step only": Case(
        NUTS(), 0, NutsCommand(Learning.STEP, max_treedepth=8, scales=DIRECTIONS, step=STEP, target_accept=0.9),
        NutsCommand(target_accept=0.6, max_treedepth=3),
    ),
    "nuts searching": Case(
        NUTS(), 0, NutsCommand(Learning.STEP, scales=DIRECTIONS, search=0.1),
        NutsCommand(scales=random_scales(4, 5, 5, 0.3), search=3.0),
    ),
    "nuts frozen": Case(NUTS(), 0, NutsCommand(Learning.NOTHING, scales=DIRECTIONS, step=STEP)),
    "nuts jumping": Case(
        NUTS(), 0, JumpCommand(4, ARCHIVE, REGIONS, NutsCommand(Learning.NOTHING, scales=DIRECTIONS, step=STEP)),
        JumpCommand(archive=ARCHIVE[:7]),
    ),
    "nuts from alone to frozen": Case(
        NUTS(), 0, NutsCommand(Learning.ALONE),
        NutsCommand(Learning.NOTHING, scales=random_scales(6, 5, 1, 0.3), step=STEP),
    ),
    "hmc": Case(HamiltonianMC(), 150),
    "hmc without tuning": Case(HamiltonianMC()),
    "metropolis": Case(Metropolis(), 350),
    "metropolis without tuning": Case(Metropolis(scaling=0.5)),
}  # fmt: skip
OF_NUTS = {name: case for name, case in CASES.items() if name.startswith("nuts")}
all_cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def chain_of(case: Case, target: Target = TARGET, seed: int = 1) -> MarkovChain:
    return case.kernel.chain(target, target.mean + 0.1 * seed, chain_key(seed, 0), case.tune, np.zeros(1, np.int64))


def begun(case: Case, seed: int = 1) -> MarkovChain:
    chain = chain_of(case, seed=seed)
    chain.begin()
    if case.first is not None:
        chain.apply(case.first)
    return chain


def written(case: Case, chain: MarkovChain, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draws, then gradients beside them, and statistics of the next transitions."""
    rows = Rows(
        np.full((count, 5), np.nan),
        np.zeros((count, len(case.kernel.columns.types)), np.int64),
        np.full((count, 5), np.nan),
    )
    chain.write_to(rows)
    assert chain.advance(count) == count
    assert rows.gradients is not None
    return np.hstack([rows.draws, rows.gradients]), case.kernel.columns.table(rows.statistics)


def assert_equal(one: Any, other: Any) -> None:
    """Numbers and arrays of a snapshot, to the bit."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_equal(one[name], other[name])
    elif isinstance(one, list):
        for mine, theirs in zip(one, other, strict=True):
            assert_equal(mine, theirs)
    else:
        np.testing.assert_array_equal(one, other)


@all_cases
@pytest.mark.parametrize("made", [0, 1, 7, 100, 149, 150, 233])
def test_a_chain_goes_on_from_a_snapshot_as_it_would_have(case: Case, made: int) -> None:
    """In a chain made alike that never began, after a way through bytes: the same bits, evaluations included."""
    chain = begun(case)
    if made:
        written(case, chain, made)
    taken = chain.snapshot()
    stored = pickle.dumps(taken)
    other = chain_of(case, seed=2)  # another starting point, other random numbers
    other.restore(pickle.loads(stored))
    assert other.evaluations == chain.evaluations
    for orders, count in ((None, 130), (case.later, 60)):
        if orders is not None:
            chain.apply(orders)
            other.apply(orders)
        for one, same in zip(written(case, chain, count), written(case, other, count), strict=True):
            np.testing.assert_array_equal(one, same)
        assert other.evaluations == chain.evaluations
        assert_equal(other.snapshot(), chain.snapshot())
    # what was taken has not moved on with the chain
    assert_equal(taken, pickle.loads(stored))


@all_cases
def test_a_chain_can_go_back_in_time(case: Case) -> None:
    """To its own snapshot, twice, whatever it was told and did meanwhile."""
    chain = begun(case)
    written(case, chain, 20)
    taken = chain.snapshot()
    first = written(case, chain, 40)
    if case.later is not None:
        chain.apply(case.later)
    written(case, chain, 30)
    for _ in range(2):
        chain.restore(taken)
        for one, same in zip(first, written(case, chain, 40), strict=True):
            np.testing.assert_array_equal(one, same)


@all_cases
def test_reading_off_what_was_learnt_changes_nothing(case: Case) -> None:
    """Snapshots, tunings and divergences may be asked for at any time; new rows neither."""
    plain, watched = begun(case), begun(case)
    expected = written(case, plain, 60)
    parts = []
    for _ in range(6):
        parts.append(written(case, watched, 10))
        watched.snapshot()
        watched.tuning()
        watched.divergences()
    np.testing.assert_array_equal(np.concatenate([draws for draws, _ in parts]), expected[0])
    np.testing.assert_array_equal(np.concatenate([statistics for _, statistics in parts], axis=1), expected[1])


@all_cases
def test_reseeded_chains_go_another_way(case: Case) -> None:
    """From the same state: a way per attempt, the same one whenever it is asked for; and it is part of a snapshot."""
    chain = begun(case)
    written(case, chain, 20)
    taken = chain.snapshot()
    ways = []
    for attempt in (None, 0, 1, 2, 2):
        chain.restore(taken)
        if attempt is not None:
            chain.reseed(attempt)
        ways.append((chain.snapshot(), written(case, chain, 40)[0]))
    begin = np.asarray(taken["position"])[0]
    for k, (_, one) in enumerate(ways[:4]):
        for _, other in ways[:k]:
            assert set(np.intersect1d(one[:, 0], other[:, 0]).tolist()) <= {begin}  # where some were rejected
    np.testing.assert_array_equal(ways[3][1], ways[4][1])
    fresh = chain_of(case, seed=3)
    fresh.restore(ways[3][0])
    np.testing.assert_array_equal(written(case, fresh, 40)[0], ways[3][1])


@all_cases
def test_a_reseeded_chain_still_samples_its_target(case: Case) -> None:
    """Its position is unmoved by the new numbers; its draws stay where those of the target lie."""
    chain = begun(case)
    written(case, chain, 200)
    before = np.asarray(chain.snapshot()["position"])
    chain.reseed(1)
    np.testing.assert_array_equal(np.asarray(chain.snapshot()["position"]), before)
    draws = written(case, chain, 400)[0][:, :5] - TARGET.mean
    distance = np.einsum("ti,ij,tj->t", draws, TARGET.matrix, draws)
    assert 1.0 < distance.mean() < 12.0  # of a normal: 5
    assert distance.max() < 60.0


@all_cases
def test_a_snapshot_of_another_model_is_refused(case: Case) -> None:
    """Of another dimension; or one that lacks a field."""
    taken = begun(case).snapshot()
    larger = chain_of(case, correlated_normal(6, 1))
    with pytest.raises(SamplingError, match="another model"):
        larger.restore(taken)
    incomplete = {**taken, "points": [{k: v for k, v in taken["points"][0].items() if k != "logp"}]}
    with pytest.raises(SamplingError, match="`logp`"):
        chain_of(case).restore(incomplete)


@pytest.mark.parametrize("case", OF_NUTS.values(), ids=OF_NUTS.keys())
def test_orders_are_carried_out(case: Case) -> None:
    """What is told is what is read back; what is None stays as it is."""
    chain = begun(case)
    before = chain.snapshot()
    chain.apply(NutsCommand())
    assert_equal(chain.snapshot(), before)
    scales = random_scales(9, 5, 2, 0.2)
    chain.apply(NutsCommand(Learning.NOTHING, None, 4, scales, Averaging(0.25, 0.0, 3)))
    told = chain.tuning()
    assert told.step_size == 0.25
    np.testing.assert_allclose(told.scales.scale, scales.scale, rtol=1e-14)
    np.testing.assert_allclose(told.scales.directions, scales.directions, atol=1e-14)
    np.testing.assert_allclose(told.scales.eigenvalues, scales.eigenvalues, rtol=1e-12)
    np.testing.assert_allclose(told.variance, scales.variance, rtol=1e-12)
    names = tuple(case.kernel.columns.types)
    _, statistics = written(case, chain, 50)
    first = case.first.kernels if isinstance(case.first, JumpCommand) else case.first
    if first is None or first.search is None:  # a search that was asked for still comes first
        assert (statistics[names.index("step_size")] == 0.25).all()
    assert (statistics[names.index("depth")] <= 4).all()


def test_the_step_size_alone_is_learnt_where_that_is_asked_for() -> None:
    """The metric stays as it was told, and acceptance comes to the target."""
    case = Case(NUTS(), 0, NutsCommand(Learning.STEP, scales=DIRECTIONS, search=0.1, target_accept=0.9))
    chain = begun(case)
    _, statistics = written(case, chain, 600)
    names = tuple(case.kernel.columns.types)
    np.testing.assert_allclose(chain.tuning().scales.directions, DIRECTIONS.directions, atol=1e-14)
    symmetric = statistics[names.index("mean_tree_accept_sym")][300:]
    assert symmetric.mean() == pytest.approx(0.9, abs=0.03)
    assert len(np.unique(statistics[names.index("step_size")])) > 500


def test_a_chain_alone_learns_its_own_scales() -> None:
    """Fifteen transitions make a metric of independent normals, from draws and gradients."""
    deviation = np.geomspace(0.1, 10.0, 5)
    target = Target(TARGET.function, 5, np.zeros(5), deviation, np.diag(deviation**-2.0))
    case = Case(NUTS(), 0, NutsCommand(Learning.ALONE, max_treedepth=6))
    chain = chain_of(case, target)
    chain.begin()
    assert case.first is not None
    chain.apply(case.first)
    written(case, chain, 15)
    np.testing.assert_allclose(chain.tuning().variance, deviation**2, rtol=1e-6)
    assert chain.tuning().scales.rank == 0


@record
class Fuse:
    """A stop flag and the number of evaluations after which it is set."""

    stop: Array[i64]
    left: i64


@native
def burning(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Fuse) -> i64:
    """A normal in two coordinates; sets the stop flag at some evaluation."""
    x = inputs.position
    outputs.gradient[0] = -x[0]
    outputs.gradient[1] = -x[1]
    outputs.logp[0] = -0.5 * (x[0] * x[0] + x[1] * x[1])
    constants.left -= 1
    if constants.left == 0:
        constants.stop[0] = 1
    return 0


@pytest.mark.parametrize("kind", ["nuts", "nuts jumping", "nuts alone", "hmc", "metropolis"])
def test_a_chain_stopped_anywhere_ends_there_and_goes_on_from_its_snapshot(kind: str) -> None:
    """At any evaluation, jumps included: no more are made, rows written are those of an unbroken chain."""
    fuse: Any = Fuse(np.zeros(1, np.int64), 10**6)

    class Density:
        dimension, workspace = 2, 0
        entry, constants = burning.compiled.address, fuse.address

    kernels: dict[str, Kernel] = {"hmc": HamiltonianMC(), "metropolis": Metropolis()}
    kernel = kernels.get(kind, NUTS())
    chain = kernel.chain(Density(), np.ones(2), chain_key(1, 0), 8 if kind == "nuts" else 0, fuse.stop)
    chain.begin()
    if kind == "nuts jumping":
        archive = np.random.default_rng(3).standard_normal((10, 2))
        chain.apply(JumpCommand(3, archive, kernels=NutsCommand(Learning.STEP)))
    if kind == "nuts alone":
        chain.apply(NutsCommand(Learning.ALONE))
    taken = chain.snapshot()

    def go() -> tuple[int, Rows, int]:
        chain.restore(taken)
        before = chain.evaluations
        rows = Rows(np.full((10, 2), np.nan), np.zeros((10, len(kernel.columns.types)), np.int64))
        chain.write_to(rows)
        return chain.advance(10), rows, chain.evaluations - before

    made, whole, spent = go()
    assert made == 10
    for evaluation in range(1, spent, max(1, spent // 40)):
        fuse.left = evaluation
        made, rows, used = go()
        fuse.stop[0] = 0
        assert made < 10
        if kind == "nuts" or kind == "nuts alone":  # a step size that is searched is found first
            assert evaluation <= used <= evaluation + 20
        else:
            assert used == evaluation
        np.testing.assert_array_equal(rows.draws[:made], whole.draws[:made])
        np.testing.assert_array_equal(rows.statistics[:made], whole.statistics[:made])
        assert np.isnan(rows.draws[made:]).all()
        fuse.left = 10**6
        again, rows, used = go()
        assert (again, used) == (10, spent)
        np.testing.assert_array_equal(rows.draws, whole.draws)
        np.testing.assert_array_equal(rows.statistics, whole.statistics)
