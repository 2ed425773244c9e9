"""Nested R-hat is near 1 for short chains that agree, and sees superchains in different places."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from consilience.diagnostics import nested_rhat, split_rhat
from consilience.diagnostics.monitor import ConvergenceMonitor
from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.errors import ShapeError


def remembering(chains: int, count: int, scalars: int) -> npt.NDArray[np.float64]:
    """Draws (chain, draw, scalar) of stationary autoregressive chains with the coefficient 0.8."""
    noise = np.random.default_rng(0).standard_normal((chains, count, scalars))
    draws = noise.copy()
    for k in range(1, count):
        draws[:, k] = 0.8 * draws[:, k - 1] + 0.6 * noise[:, k]
    return draws


def test_short_chains_that_agree_have_a_nested_rhat_near_one() -> None:
    """1024 chains of 10 draws that remember: R-hat of single chains is far above, that of 16 superchains is not."""
    draws = remembering(1024, 10, 3)
    assert (split_rhat(draws) > 1.1).all()
    assert (nested_rhat(draws, 16) < 1.01).all()


def test_as_many_superchains_as_chains_are_the_chains() -> None:
    draws = np.random.default_rng(0).standard_normal((8, 40, 3))
    np.testing.assert_allclose(nested_rhat(draws, 8), split_rhat(draws), rtol=1e-14)


def test_the_formula_of_the_paper() -> None:
    """Root of 1 + B / W of normal scores, of superchain halves: B of their means, W within, chains and draws."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    draws = np.random.default_rng(1).standard_normal((40, 10)) + np.repeat([0.0, 0.1, 0.2, 0.3], 10)[:, None]
    scores = ndtri((rankdata(draws).reshape(draws.shape) - 0.375) / (draws.size + 0.25))
    halves = scores.reshape(4, 10, 2, 5).swapaxes(1, 2).reshape(8, 10, 5)
    chain_means = halves.mean(axis=2)
    size = 50
    inside = (chain_means.var(axis=1) * size + halves.var(axis=2).mean(axis=1) * size) / (size - 1)
    expected = np.sqrt((size - 1) / size + chain_means.mean(axis=1).var(ddof=1) / inside.mean())
    assert nested_rhat(draws[:, :, None], 4)[0] == pytest.approx(expected, rel=1e-12)


def test_superchains_in_different_places_are_seen() -> None:
    draws = np.random.default_rng(0).standard_normal((64, 10))
    draws[:32] += 3.0
    assert nested_rhat(draws, 16) > 1.5


def test_the_monitor_passes_many_short_chains_by_superchains_only() -> None:
    draws = remembering(512, 10, 2)
    for superchains, passes in ((0, False), (16, True)):
        monitor = ConvergenceMonitor(len(draws), 2, superchains)
        monitor.extend(draws)
        assert (monitor.check(StoppingRule(), everything=True) is None) is passes


def test_effective_sizes_are_those_of_single_chains() -> None:
    draws = np.cumsum(np.random.default_rng(0).standard_normal((64, 50, 1)), axis=1)
    plain, nested = ConvergenceMonitor(64, 1), ConvergenceMonitor(64, 1, 16)
    for monitor in (plain, nested):
        monitor.extend(draws)
    np.testing.assert_array_equal(plain.measure().ess_bulk, nested.measure().ess_bulk)


@pytest.mark.parametrize("superchains", [0, 1, 9])
def test_other_numbers_of_superchains_are_refused(superchains: int) -> None:
    with pytest.raises(ShapeError, match="2 superchains"):
        nested_rhat(np.zeros((8, 10)), superchains)
