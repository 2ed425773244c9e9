"""Where divergences lie is told by a parameter only where it sets them apart from the draws."""

from __future__ import annotations

import numpy as np
import pytest

from consilience.diagnostics.divergence_location import describe

DRAWS = np.random.default_rng(1).standard_normal((4000, 3))
NAMES = ["sigma", "mu", "tau"]


def places(sigma: tuple[float, float], count: int = 200) -> np.ndarray:
    """Divergences like draws, but for the quantiles of `sigma` between which they lie."""
    rng = np.random.default_rng(2)
    chosen = DRAWS[rng.integers(len(DRAWS), size=count)].copy()
    chosen[:, 0] = np.quantile(DRAWS[:, 0], rng.uniform(*sigma, size=count))
    return chosen


@pytest.mark.parametrize(
    ("quantiles", "told"),
    [
        ((0.0, 0.02), "They sit where `sigma` is small (nine in ten within its lowest 2 %)."),
        ((0.9, 1.0), "They sit where `sigma` is large (nine in ten within its highest 9 %)."),
        ((0.0, 0.7), "They sit where `sigma` is small (half of them within its lowest 32 %)."),
        ((0.0, 1.0), "They lie where the other draws lie; no single parameter tells where."),
        ((0.0, 0.9), "They lie where the other draws lie; no single parameter tells where."),
    ],
)
def test_a_parameter_is_named_with_the_part_in_which_they_lie(quantiles: tuple[float, float], told: str) -> None:
    """A share of all but all of the draws says nothing, however sure it is."""
    assert describe(NAMES, DRAWS, places(quantiles)) == told


def test_nothing_is_said_without_divergences() -> None:
    assert describe(NAMES, DRAWS, DRAWS[:0]) == ""
