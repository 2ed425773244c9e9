"""Where the standard error of a standard deviation is told, and where the tails are too heavy for one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience import diagnostics
from consilience.diagnostics.tail_index import tail_index

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
LIGHT: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    "Laplace": lambda rng, shape: rng.laplace(size=shape),
    "Poisson": lambda rng, shape: rng.poisson(2, size=shape),
    "truth values": lambda rng, shape: rng.random(shape) < 0.1,
}
HEAVY: dict[str, Draw] = {
    "Student t, 3 degrees": lambda rng, shape: rng.standard_t(3, size=shape),
    "Student t, 2 degrees": lambda rng, shape: rng.standard_t(2, size=shape),
    "Cauchy": lambda rng, shape: rng.standard_cauchy(shape),
    "inverse gamma, 3": lambda rng, shape: 1 / rng.gamma(3, size=shape),
}


@pytest.mark.parametrize("shape", [1.0, 0.5, 0.25, 0.0, -0.5])
def test_the_shape_of_a_generalised_pareto_distribution_is_found(shape: float) -> None:
    """Within three standard errors; one without a mean is taken for one that hardly has it."""
    uniform = np.random.default_rng(1).uniform(size=(200, 20_000))
    values = -np.log(uniform) if shape == 0 else (uniform**-shape - 1) / shape
    found = tail_index(values).mean()
    assert found == pytest.approx(min(shape, 0.85), abs=0.05)


@given(st.integers(0, 2**32 - 1), st.floats(1e-100, 1e100))
def test_the_unit_does_not_matter(seed: int, unit: float) -> None:
    values = np.random.default_rng(seed).pareto(1.5, size=(2, 400))
    np.testing.assert_allclose(tail_index(unit * values), tail_index(values), rtol=1e-9)


@pytest.mark.parametrize("kind", LIGHT)
def test_light_tails_have_a_standard_error(kind: str) -> None:
    """At least 97 of 100 parameters."""
    draws = LIGHT[kind](np.random.default_rng(2), (4, 400, 100))
    assert np.isfinite(diagnostics.mcse_sd(draws)).sum() >= 97


@pytest.mark.parametrize("kind", HEAVY)
def test_heavy_tails_have_none(kind: str) -> None:
    """Of 100 parameters whose squared deviations have no variance, at least 85; the other standard error is told."""
    draws = HEAVY[kind](np.random.default_rng(3), (4, 400, 100))
    assert np.isnan(diagnostics.mcse_sd(draws)).sum() >= 85
    assert np.isfinite(diagnostics.mcse_mean(draws)).all()
    np.testing.assert_allclose(diagnostics.summary(draws)["mcse_sd"], diagnostics.mcse_sd(draws), rtol=1e-9)


def test_few_draws_tell_nothing_of_tails() -> None:
    """Below 278 of them a standard error is told whatever they look like."""
    draws = np.random.default_rng(4).standard_cauchy((1, 277, 20))
    assert np.isfinite(diagnostics.mcse_sd(draws)).all()


def test_a_summary_says_why_an_error_is_missing() -> None:
    """A note below the table, not for parameters whose draws are constant or not finite."""
    rng = np.random.default_rng(5)
    heavy, light = rng.standard_cauchy((4, 400)), rng.normal(size=(4, 400))
    note = "NaN for mcse_sd: the tails are so heavy that the standard deviation is known badly"
    assert note in diagnostics.summary({"x": heavy, "y": light}).to_text()
    assert "<table>" in diagnostics.summary({"x": heavy})._repr_html_()
    assert note in diagnostics.summary({"x": heavy})._repr_html_()
    for others in ({"y": light}, {"y": np.ones((4, 400))}, {"y": np.where(light > 3, np.nan, light)}):
        assert "mcse_sd:" not in diagnostics.summary(others).to_text()


@pytest.mark.parametrize("ci_prob", [0.8, 0.94])
def test_a_summary_says_nothing_of_tails_that_mislead_nobody(ci_prob: float) -> None:
    """Where the interval tells what the deviation does, NaN for its error stands alone."""
    rng = np.random.default_rng(6)
    mild = diagnostics.summary({"x": rng.standard_t(4, size=(4, 400, 50))}, ci_prob=ci_prob)
    assert np.isnan(mild["mcse_sd"]).any()
    assert "mcse_sd:" not in mild.to_text()
    assert "mcse_sd:" in diagnostics.summary({"x": rng.standard_cauchy((4, 400))}, ci_prob=ci_prob).to_text()
    assert "mcse_sd:" in diagnostics.summary({"x": rng.standard_cauchy((4, 400))}, kind="diagnostics").to_text()
