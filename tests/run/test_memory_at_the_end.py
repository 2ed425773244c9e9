"""What a run keeps once it is over: one copy of the draws, and nothing that its last state gives back."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.inference import NUTS
from consilience.inference.jump_tuner import Jumping
from consilience.run import RunPlan
from consilience.run.threads.chain_worker import LEAST, pages
from tests.inference.targets import correlated_normal
from tests.run.launching import launch
from tests.run.support import WatchedKernel, fingerprint

OPTIONS = RunPlan(rule=StoppingRule(target_ess=200.0))


def test_a_run_that_is_over_has_one_copy_of_its_draws() -> None:
    """The windows are parts of the result; neither monitor nor tuning draws nor rows to write to are left."""
    running = launch(correlated_normal(5, 1), NUTS(), np.zeros((3, 5)), OPTIONS, seed=1)
    running.start(background=False)
    run = running.wait()
    tuner = running.course.tuner
    assert isinstance(tuner, Jumping)
    sampling, report = running.course.attempt, getattr(tuner.inner, "stage", None)
    assert sampling is not None
    assert report is not None
    row = 0
    for windows in sampling.windows:
        for place, c in enumerate(run.chains):
            draws = windows[c].draws
            assert np.shares_memory(draws, run.draws)
            np.testing.assert_array_equal(draws, run.draws[place, row : row + len(draws)])
        row += len(windows[run.chains[0]].draws)
    assert row == run.draws.shape[1]
    assert sampling.monitor._convergence is None
    assert report.reports
    assert not report.history
    assert all(worker.rows is None or worker.rows.draws.size == 0 for worker in running.engine.workers)
    assert running.engine.pool.deliveries.empty()


def test_chains_are_gone_with_the_run_and_come_back_for_more() -> None:
    """Machine memory of the chains ends with the run; what is asked for later is what a longer run gives."""
    kernel = WatchedKernel(lambda chain: None)
    density = correlated_normal(5, 1)
    running = launch(density, kernel, np.zeros((3, 5)), OPTIONS, seed=1)
    running.start(background=False)
    running.wait()
    gone = [weakref.ref(chain) for chain in kernel.chains]
    kernel.chains.clear()
    assert [chain() for chain in gone] == [None] * 3
    assert all(chain.gradients > 0 for chain in running.progress.chains)
    more = RunPlan(rule=StoppingRule(target_ess=600.0))
    further = running.again(more, [])
    further.start(background=False)
    longer = launch(density, NUTS(), np.zeros((3, 5)), more, seed=1)
    longer.start(background=False)
    assert fingerprint(further.wait()) == fingerprint(longer.wait())


@pytest.mark.parametrize("shape", [(3, 2), (0, 7), (LEAST // 8 - 1,), (LEAST // 8,), (1000, 200)])
def test_pages_are_an_array_like_any_other(shape: tuple[int, ...]) -> None:
    """Whatever its size it can be written to, and keeps what was written."""
    array = pages(shape)
    assert array.shape == shape
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    values = np.arange(array.size, dtype=float).reshape(shape)
    array[...] = values
    np.testing.assert_array_equal(array, values)
