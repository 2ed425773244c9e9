"""Every diagnostic equals the published implementation, for draws of all shapes and kinds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arviz_stats.base import array_stats

from consilience import diagnostics

SHAPES = [(4, 1000), (4, 1001), (1, 500), (2, 4), (2, 5), (3, 7), (1, 4), (4, 3), (2, 37), (8, 100)]


def autoregressive(noise: np.ndarray, coefficient: float) -> np.ndarray:
    """First-order autoregression along the draws, driven by `noise`."""
    draws = noise.copy()
    for t in range(1, noise.shape[1]):
        draws[:, t] += coefficient * draws[:, t - 1]
    return draws


def with_value(draws: np.ndarray, value: float) -> np.ndarray:
    """The same draws but for one."""
    changed = draws.copy()
    changed[0, 1] = value
    return changed


KINDS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "independent": lambda rng, shape: rng.normal(size=shape),
    "correlated": lambda rng, shape: autoregressive(rng.normal(size=shape), 0.9),
    "antithetic": lambda rng, shape: autoregressive(rng.normal(size=shape), -0.8),
    "very antithetic": lambda rng, shape: autoregressive(0.01 * rng.normal(size=shape), -0.999),
    "shifted chains": lambda rng, shape: rng.normal(size=shape) + np.arange(shape[0])[:, None],
    "scaled chains": lambda rng, shape: rng.normal(size=shape) * np.arange(1, shape[0] + 1)[:, None],
    "trending": lambda rng, shape: rng.normal(size=shape) + np.linspace(0, 3, shape[1]),
    "constant": lambda rng, shape: np.full(shape, 3.25),  # of which sums are exact
    "one NaN": lambda rng, shape: with_value(rng.normal(size=shape), np.nan),
    "all NaN": lambda rng, shape: np.full(shape, np.nan),
    "one infinite": lambda rng, shape: with_value(rng.normal(size=shape), np.inf),
    "counts": lambda rng, shape: rng.poisson(2, size=shape),
    "rare truth values": lambda rng, shape: rng.random(shape) < 0.1,
    "repeated draws": lambda rng, shape: np.repeat(rng.normal(size=shape), 3, axis=1)[:, : shape[1]],
    "heavy tails": lambda rng, shape: rng.standard_cauchy(shape),
    "tiny": lambda rng, shape: 1e-200 * rng.normal(size=shape),
    "far from zero": lambda rng, shape: 1e9 + rng.normal(size=shape),
}


def error_of_deviation(draws: np.ndarray) -> Any:
    """The published formula; versions of the other implementation differ in whose effective size they take."""
    squares = (draws - draws.mean()) ** 2
    variance = squares.mean()
    effective = array_stats.ess(squares, method="mean")
    return np.sqrt(((squares**2).mean() - variance**2) / effective / variance / 4)


DIAGNOSTICS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], Any]]] = {
    "split_rhat": (diagnostics.split_rhat, lambda x: array_stats.rhat(x, method="rank")),
    "ess_bulk": (diagnostics.ess_bulk, lambda x: array_stats.ess(x, method="bulk")),
    "ess_tail": (diagnostics.ess_tail, lambda x: array_stats.ess(x, method="tail", prob=(0.05, 0.95))),
    "ess_mean": (diagnostics.ess_mean, lambda x: array_stats.ess(x, method="mean")),
    "ess_quantile": (
        lambda x: diagnostics.ess_quantile(x, 0.3),
        lambda x: array_stats.ess(x, method="quantile", prob=0.3),
    ),
    "mcse_mean": (diagnostics.mcse_mean, lambda x: array_stats.mcse(x, method="mean")),
    "mcse_sd": (diagnostics.mcse_sd, error_of_deviation),
    "mcse_quantile": (
        lambda x: diagnostics.mcse_quantile(x, 0.3),
        lambda x: array_stats.mcse(x, method="quantile", prob=0.3),
    ),
}


def published(diagnostic: Callable[[np.ndarray], Any], draws: np.ndarray) -> np.ndarray:
    """Value of the other implementation, which warns where a value is not defined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(diagnostic(draws.astype(np.float64)))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_diagnostic_equals_published_one(kind: str, shape: tuple[int, int]) -> None:
    """R-hat, effective sizes and standard errors agree to 1e-9, and so does where they are not defined.

    The published R-hat is not defined for one chain, and its standard error of a standard deviation is a number also
    where the variance of squared deviations is infinite.
    """
    draws = KINDS[kind](np.random.default_rng([*shape, len(kind)]), shape)
    for name, (own, other) in DIAGNOSTICS.items():
        found, expected = own(draws), published(other, draws)
        if name == "split_rhat" and shape[0] == 1:
            assert np.isnan(expected)
        elif name == "mcse_sd" and kind == "heavy tails" and draws.size > 300:
            assert np.isnan(found)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=0, err_msg=name)


def test_chains_that_do_not_move_have_infinite_rhat() -> None:
    """Without variance within the chains the ratio is infinite, whatever rounding would make of it."""
    draws = np.repeat(np.array([0.1, 0.2, 0.3, 0.7])[:, None], 1000, axis=1)
    assert diagnostics.split_rhat(draws) == np.inf
    assert diagnostics.ess_bulk(draws) == pytest.approx(published(DIAGNOSTICS["ess_bulk"][1], draws), rel=1e-9)


@pytest.mark.parametrize("shape", [(4, 1000), (4, 1001), (1, 7), (3, 50)], ids=str)
@pytest.mark.parametrize("kind", ["independent", "counts", "rare truth values", "heavy tails"])
@pytest.mark.parametrize("probability", [0.5, 0.89, 0.94])
def test_interval_equals_published_one(kind: str, shape: tuple[int, int], probability: float) -> None:
    """Highest-density and equal-tailed intervals have the same bounds."""
    draws = KINDS[kind](np.random.default_rng(3), shape)
    numbers = draws.astype(np.float64)
    highest = array_stats.hdi(numbers, probability, axis=(0, 1), method="nearest")
    tails = array_stats.eti(numbers, probability, axis=(0, 1))
    np.testing.assert_allclose(diagnostics.hdi(draws, probability), highest, rtol=1e-12)
    np.testing.assert_allclose(diagnostics.eti(draws, probability), tails, rtol=1e-12)


def test_energy_fraction_equals_published_one() -> None:
    """E-BFMI agrees for energies of independent and of strongly correlated chains."""
    rng = np.random.default_rng(4)
    for coefficient in (0.0, 0.5, 0.99):
        energy = autoregressive(rng.normal(size=(4, 300)), coefficient)
        np.testing.assert_allclose(diagnostics.ebfmi(energy), array_stats.bfmi(energy), rtol=1e-12)


def test_summary_equals_published_one() -> None:
    """All columns of the table agree with the functions of the other implementation."""
    draws = np.random.default_rng(5).gamma(2.0, size=(4, 200, 3))
    table = diagnostics.summary(draws, ci_kind="eti", ci_prob=0.9)
    for place in range(3):
        row, values = table.row(f"x[{place}]"), draws[:, :, place]
        lower, upper = array_stats.eti(values, 0.9, axis=(0, 1))
        expected = {
            "mean": values.mean(),
            "sd": values.std(ddof=1),
            "eti_5%": lower,
            "eti_95%": upper,
            "mcse_mean": published(DIAGNOSTICS["mcse_mean"][1], values),
            "mcse_sd": published(DIAGNOSTICS["mcse_sd"][1], values),
            "ess_bulk": published(DIAGNOSTICS["ess_bulk"][1], values),
            "ess_tail": published(DIAGNOSTICS["ess_tail"][1], values),
            "r_hat": published(DIAGNOSTICS["split_rhat"][1], values),
        }
        assert list(row) == list(expected)
        np.testing.assert_allclose(list(row.values()), list(expected.values()), rtol=1e-9)
