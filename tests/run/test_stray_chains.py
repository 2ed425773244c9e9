"""Chains that tune where a target has no mass begin again elsewhere; those that may be right stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from consilience.inference import NUTS
from consilience.inference.columns import Columns
from consilience.inference.messages import Divergences, Window
from consilience.record import replace
from consilience.run import ChainMoved, Event
from consilience.run.stray_chains import FEWEST, stray_chains
from tests.inference.targets import Target
from tests.run.launching import launch
from tests.run.support import EarlyChecks, fingerprint, finish
from tests.run.targets import far_below

COLUMNS: Columns = NUTS().columns


def window(level: float, width: float, dimension: int = 3, seed: int = 0, mean: float = 0.0) -> Window:
    """Draws of a normal of this width with its gradients, whose log density is `level` at the highest point."""
    standard = np.random.default_rng(seed).standard_normal((2 * FEWEST, dimension))
    table = np.zeros((len(COLUMNS.types), len(standard)))
    table[COLUMNS.of("log density")] = level - 0.5 * (standard**2).sum(axis=1)
    none = Divergences(np.zeros(0, np.int64), np.zeros((0, dimension)), np.zeros((0, dimension)))
    return Window(mean + width * standard, table, -standard / width, none, 1.0, 0, 0.0, {})


@pytest.mark.parametrize(
    ("levels", "widths", "strays"),
    [
        ([0, 0, 0, -300], [1, 1, 1, 1], (3,)),
        ([0, 0, 0, -300], [1, 1, 1, 1e-6], (3,)),
        ([0, -300, 0, -300], [1, 1, 1, 1], ()),  # who is right is not decided by half
        ([0, 0, 0, -20], [1, 1, 1, 1], ()),  # a chain may have seen little of its region
        ([0, 0, 0, -60], [1, 1, 1, 1e20], ()),  # low and wide: it may hold the mass
        ([300, 0, 0, 0], [1e-40, 1, 1, 1], ()),  # high and narrow: the others may hold it
        ([300, 0, 0, 0], [1e40, 1, 1, 1], ()),
    ],
)
def test_strays_have_no_mass_whatever_they_have_not_seen(levels: Any, widths: Any, strays: Any) -> None:
    windows = {c: window(*pair, seed=c) for c, pair in enumerate(zip(levels, widths, strict=True))}
    assert stray_chains(windows, COLUMNS) == strays


def test_nothing_is_said_of_windows_that_tell_too_little() -> None:
    """Two chains, few transitions, no gradients, a chain that never moved as the one to compare with."""
    far = {0: window(0, 1.0), 1: window(0, 1.0, seed=1), 2: window(-1e6, 1.0, seed=2)}
    assert stray_chains(far, COLUMNS) == (2,)
    assert stray_chains({c: far[c] for c in (0, 2)}, COLUMNS) == ()
    short = replace(far[1], draws=far[1].draws[: FEWEST - 1])
    assert stray_chains({**far, 1: short}, COLUMNS) == ()
    assert stray_chains({**far, 1: replace(far[1], gradients=None)}, COLUMNS) == ()
    still = {c: replace(far[c], draws=np.zeros_like(far[c].draws)) for c in (0, 1)}
    assert stray_chains({**far, **still}, COLUMNS) == ()


def test_a_chain_in_a_place_without_mass_begins_again_and_the_run_is_certified() -> None:
    """Whatever the threads do: one of two normals, the other of which is exp(-400) times as heavy."""
    target = Target(far_below, 2, np.zeros(2), np.ones(2), number=60.0)
    points = np.array([[0.1, 0.2], [0.3, -0.1], [-0.2, 0.5], [60.0, 0.1]])

    def another(chain: int, time: int) -> NDArray[np.float64]:
        return np.array([1.0, -1.0])

    runs, events = [], list[Event]()
    for cores in (1, 3):
        running = launch(
            target, NUTS(), points, EarlyChecks(), seed=1, cores=cores, starts=another, listeners=[events.append]
        )
        runs.append(finish(running))
    assert len({fingerprint(run) for run in runs}) == 1
    assert runs[0].verdict.status == "converged"
    assert runs[0].moves == ("chain 3 began again at another starting point (it tuned where the target has no mass)",)
    assert ChainMoved(3, "began again at another starting point (it tuned where the target has no mass)") in events
    assert abs(runs[0].draws[3]).max() < 10.0
    again = finish(launch(target, NUTS(), points, EarlyChecks(), seed=1))
    assert again.moves == ("chain 3 went on from where chain 0 was (it tuned where the target has no mass)",)
    assert again.verdict.status == "converged"
