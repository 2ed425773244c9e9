"""Laws of the memory that chains write to."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

from consilience.errors import SamplingError
from consilience.inference import NUTS, HamiltonianMC, Kernel, Metropolis
from consilience.inference.jumps import JumpCommand
from consilience.inference.kernel import MarkovChain
from consilience.inference.messages import Rows
from consilience.inference.nuts_chain import Averaging, Learning, NutsCommand
from consilience.inference.streams import chain_key
from tests.inference.metrics import random_scales
from tests.inference.targets import Target, correlated_normal, half_space, standard

KERNELS: dict[str, Kernel] = {"nuts": NUTS(), "hmc": HamiltonianMC(), "metropolis": Metropolis()}
NORMAL = {n: standard(n) for n in (2, 3)}  # a chain knows no more of its density than addresses: they have to last
all_kernels = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def rows_for(kernel: Kernel, count: int, dimension: int, gradients: bool = False) -> Rows:
    """Rows that show what was written."""
    return Rows(
        np.full((count, dimension), np.nan),
        np.zeros((count, len(kernel.columns.types)), np.int64),
        np.full((count, dimension), np.nan) if gradients else None,
    )


def begun(kernel: Kernel, target: Target, tune: int = 0) -> MarkovChain:
    chain = kernel.chain(target, np.maximum(target.mean, 0.1), chain_key(1, 0), tune, np.zeros(1, np.int64))
    chain.begin()
    return chain


@all_kernels
def test_rows_are_filled_in_order_and_nothing_else_is_written(kernel: Kernel) -> None:
    """Every column of every row, as far as transitions were made."""
    chain = begun(kernel, NORMAL[3])
    rows = rows_for(kernel, 10, 3, gradients=True)
    chain.write_to(rows)
    assert rows.gradients is not None
    for done in (1, 4, 10):
        chain.advance(done - int(np.isfinite(rows.draws[:, 0]).sum()))
        for values in (rows.draws, rows.gradients) if kernel.needs == "gradient" else (rows.draws,):
            assert np.isfinite(values[:done]).all()
            assert np.isnan(values[done:]).all()
        assert rows.statistics[:done].any(axis=1).all()
        assert not rows.statistics[done:].any()


@all_kernels
def test_draws_are_the_same_whether_gradients_are_kept_or_not(kernel: Kernel) -> None:
    """And those kept are the gradients at the draws."""
    target = correlated_normal(4, 2)
    kept, plain = rows_for(kernel, 100, 4, gradients=True), rows_for(kernel, 100, 4)
    for rows in (kept, plain):
        chain = begun(kernel, target, 50)
        chain.write_to(rows)
        chain.advance(100)
    np.testing.assert_array_equal(kept.draws, plain.draws)
    np.testing.assert_array_equal(kept.statistics, plain.statistics)
    assert kept.gradients is not None
    if kernel.needs == "gradient":
        np.testing.assert_allclose(kept.gradients, (target.mean - kept.draws) @ target.matrix, rtol=1e-9, atol=1e-9)


@all_kernels
def test_a_chain_makes_no_more_transitions_than_it_has_rows_for(kernel: Kernel) -> None:
    """Before it has any, and beyond the last: nothing is made, and rows given later go on where it was."""
    chain = begun(kernel, NORMAL[2])
    with pytest.raises(SamplingError, match="got 0"):
        chain.advance(1)
    first, second = rows_for(kernel, 5, 2), rows_for(kernel, 5, 2)
    chain.write_to(first)
    chain.advance(3)
    with pytest.raises(SamplingError, match="3 transitions need as many rows to write to, got 2"):
        chain.advance(3)
    chain.advance(2)
    chain.write_to(second)
    chain.advance(5)
    whole = rows_for(kernel, 10, 2)
    unbroken = begun(kernel, NORMAL[2])
    unbroken.write_to(whole)
    unbroken.advance(10)
    np.testing.assert_array_equal(np.concatenate([first.draws, second.draws]), whole.draws)


@all_kernels
def test_no_transitions_need_no_rows(kernel: Kernel) -> None:
    """A window of no length is a window."""
    chain = begun(kernel, NORMAL[2])
    chain.write_to(rows_for(kernel, 0, 2))
    assert chain.advance(0) == 0
    assert len(chain.divergences().transitions) == 0


@all_kernels
def test_rows_of_windows_past_are_let_go(kernel: Kernel) -> None:
    """Once others are given, nothing in the chain holds them; what was read off before stays."""
    chain = begun(kernel, NORMAL[3], 20)
    gone: list[Any] = []
    for _ in range(4):
        rows = rows_for(kernel, 30, 3, gradients=True)
        chain.write_to(rows)
        chain.advance(30)
        gone += [weakref.ref(rows.draws), weakref.ref(rows.statistics), weakref.ref(rows.gradients)]
        divergences = chain.divergences()
        chain.snapshot()
    del rows
    chain.write_to(rows_for(kernel, 1, 3))
    assert all(reference() is None for reference in gone)
    assert divergences.begins.shape == divergences.ends.shape == (len(divergences.transitions), 3)
    chain.advance(1)


def test_archives_and_metrics_of_windows_past_are_let_go() -> None:
    """Commands replace them; the chain goes on with the new ones."""
    kernel = NUTS()
    chain = begun(kernel, NORMAL[3])
    gone = []
    for seed in range(5):
        archive = np.random.default_rng(seed).standard_normal((20, 3))
        scales = random_scales(seed, 3, 2, 0.2)
        told = NutsCommand(Learning.NOTHING, scales=scales, step=Averaging(0.5, 0.0, 0))
        chain.apply(JumpCommand(2, archive, kernels=told))
        chain.write_to(rows_for(kernel, 10, 3))
        chain.advance(10)
        taken = chain.snapshot()
        gone += [
            weakref.ref(archive),
            weakref.ref(taken["states"][0]["warmup.metric.directions"]),
            weakref.ref(taken["states"][0]["warmup.metric.stretches"]),
        ]
        del archive, taken
    chain.apply(JumpCommand(archive=np.zeros((2, 3)), kernels=NutsCommand(scales=random_scales(9, 3, 1, 0.2))))
    assert all(reference() is None for reference in gone)
    chain.write_to(rows_for(kernel, 10, 3))
    assert chain.advance(10) == 10


def test_there_is_room_for_a_divergence_in_every_row() -> None:
    """Steps so long that all transitions diverge: each is recorded with both ends, window by window."""
    kernel = NUTS()
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=1.0)
    chain = begun(kernel, target)
    chain.apply(NutsCommand(Learning.NOTHING, step=Averaging(1e4, 0.0, 0)))
    for count in (40, 7):
        rows = rows_for(kernel, count, 1)
        chain.write_to(rows)
        assert len(chain.divergences().transitions) == 0
        chain.advance(count)
        found = chain.divergences()
        flagged = np.flatnonzero(rows.statistics[:, kernel.columns.of("divergence")])
        np.testing.assert_array_equal(found.transitions, flagged)
        assert len(flagged) > 0.8 * count
        assert (found.begins > 0.0).all()
        assert (found.ends <= 0.0).all()
        assert (rows.draws > 0.0).all()
