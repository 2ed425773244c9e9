"""Runs whose chains are given each other's points, and runs that find the hottest replica without a density."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from consilience.errors import SamplingError
from consilience.inference import NUTS, CompoundStep, DEMetropolis, HamiltonianMC, Kernel, Metropolis, ParallelTempering
from consilience.inference.archive import ARCHIVE, past_points
from consilience.inference.block import block_of
from consilience.inference.messages import Divergences, Window
from consilience.inference.tuner import TuningSetting
from consilience.record import replace
from consilience.run import RunPlan
from tests.inference.targets import Target, correlated_normal, student
from tests.run.launching import launch, run_chains
from tests.run.support import Tape, fingerprint, finish, resumed

NORMAL = correlated_normal(5, 1)
NONE = np.zeros((0, 2))
EMPTY = Window(NONE, NONE, None, Divergences(np.zeros(0, np.int64), NONE, NONE), 0.0, 0, 0.0, {})
OPTIONS = RunPlan(tune=170, draws=230)


def points(chains: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-2.0, 2.0, (chains, 5))


@pytest.mark.parametrize("earlier", [0, 30, 1700])
@pytest.mark.parametrize("cuts", [(), (1,), (50, 51, 300)])
def test_past_points_are_thinned_whatever_windows_they_came_in(earlier: int, cuts: tuple[int, ...]) -> None:
    """One of so many, in the order of transitions, and of chains within; chains that were lost are left out."""
    rng = np.random.default_rng(1)
    draws = rng.standard_normal((3, 401, 2))
    first = rng.standard_normal((earlier, 2))
    pieces = [np.split(own, cuts) for own in draws]
    windows = [{c: replace(EMPTY, draws=pieces[c][w]) for c in range(3)} for w in range(len(cuts) + 1)]
    alive = [0, 1, 2]
    if cuts:
        del windows[-1][1]
        alive.remove(1)
    everything = np.concatenate([first, draws[alive].transpose(1, 0, 2).reshape(-1, 2)])
    got = past_points(first, windows, 2)
    np.testing.assert_array_equal(got, everything[:: -(-len(everything) // ARCHIVE)])
    assert len(past_points(None, (), 2)) == 0


def test_threads_have_no_part_in_the_draws_of_a_population() -> None:
    """One, two or four of them; without each other's points chains would make other draws."""
    runs = [run_chains(NORMAL, DEMetropolis(), points(4), OPTIONS, seed=2, cores=cores) for cores in (1, 2, 4)]
    assert len({fingerprint(run) for run in runs}) == 1
    other = run_chains(NORMAL, DEMetropolis(), points(4)[:3], OPTIONS, seed=2)
    assert not np.array_equal(other.draws, runs[0].draws[:3])


def test_a_population_that_was_cut_off_goes_on_as_it_would_have(tmp_path: Path) -> None:
    """From the checkpoint of every segment, while tuning and sampling."""
    kernel = DEMetropolis(interval=40)
    tape = Tape(tmp_path)
    unbroken = finish(launch(NORMAL, kernel, points(3), OPTIONS, seed=3, cores=2, keep=tape))
    assert len(tape.moments) > 8
    for number, (path, stage) in enumerate(tape.moments):
        got = resumed(path, NORMAL, kernel, points(3), OPTIONS, seed=3, cores=1 + number % 3)
        assert fingerprint(got) == fingerprint(unbroken), (number, stage)


def test_a_population_has_the_moments_of_the_target() -> None:
    """Whitened means and variances, between 24 chains that share their points."""
    run = run_chains(NORMAL, DEMetropolis(), points(24), RunPlan(tune=1000, draws=6000), seed=4)
    means = run.draws.mean(axis=1)
    assert np.all(np.abs(means.mean(axis=0) - NORMAL.mean) < 5.0 * means.std(axis=0, ddof=1) / np.sqrt(24))
    np.testing.assert_allclose(run.draws.var(axis=(0, 1)), NORMAL.deviation**2, rtol=0.05)
    assert 0.1 < run.statistics["accept"].mean() < 0.5


def test_fewer_than_three_chains_are_no_population() -> None:
    with pytest.raises(SamplingError, match="DEMetropolis needs at least 3 chains, got 2"):
        run_chains(NORMAL, DEMetropolis(), points(2), OPTIONS, seed=1)


@pytest.mark.parametrize("other", [NUTS(("x",)), HamiltonianMC(("x",)), DEMetropolis(("x",))])
def test_chains_learn_from_each_other_through_one_step_method_only(other: Kernel) -> None:
    """What would leave a population without its points is refused before anything runs."""
    step = CompoundStep(methods=(other, DEMetropolis(("y",))))
    blocks = (block_of(NORMAL, (), "logp"),) * 2
    with pytest.raises(SamplingError, match=rf"got {type(other).__name__}, DEMetropolis\. Use DEMetropolisZ"):
        step.tuner(TuningSetting(3, 5, DEMetropolis().columns, blocks=blocks))
    assert CompoundStep(methods=(Metropolis(("x",)), step.methods[1])).tuner(
        TuningSetting(3, 5, DEMetropolis().columns, blocks=blocks)
    )


def test_a_hottest_replica_without_density_ends_the_run() -> None:
    """A Student-t density with 3 degrees of freedom to the power 0.1; to the power 0.5 it is one."""
    target = Target(student, 2, np.zeros(2), np.ones(2), number=3.0)
    with pytest.raises(SamplingError, match=r"power 0\.1 seems to be improper.*greater `hottest`"):
        run_chains(target, ParallelTempering(hottest=0.1), np.zeros((2, 2)), RunPlan(tune=600, draws=10), seed=1)
    run = run_chains(target, ParallelTempering(hottest=0.5), np.zeros((2, 2)), RunPlan(tune=600, draws=10), seed=1)
    assert run.statistics["spread"].max() < 1e3
