"""What holds for the diagnostics of any draws: invariances, bounds, known processes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import rankdata

from consilience import diagnostics
from consilience.diagnostics.autocovariance import fast_length, mean_autocovariance
from consilience.diagnostics.measurement import BLOCKS_FOR_THREADS, NUMBERS_PER_BLOCK
from consilience.diagnostics.rank_normalisation import normal_scores
from consilience.diagnostics.sample import Sample
from consilience.errors import ShapeError

PER_PARAMETER = [
    diagnostics.split_rhat,
    diagnostics.ess_bulk,
    diagnostics.ess_tail,
    diagnostics.ess_mean,
    diagnostics.mcse_mean,
    diagnostics.mcse_sd,
    diagnostics.hdi,
    diagnostics.eti,
]

small_integers = st.integers(min_value=-3, max_value=3)
seeds = st.integers(min_value=0, max_value=2**32 - 1)


@given(st.lists(small_integers, min_size=4, max_size=40))
def test_scores_are_normal_quantiles_of_average_ranks(values: list[int]) -> None:
    """Ties share the average rank; Blom's offset makes ranks probabilities."""
    ascending = np.sort(np.array(values, dtype=np.float64))
    ranks = rankdata(ascending, method="average")
    expected = ndtri((ranks - 3 / 8) / (len(values) + 1 / 4))
    np.testing.assert_allclose(normal_scores(ascending[None])[0], expected, rtol=1e-13, atol=1e-15)


@given(seed=seeds, chains=st.integers(1, 4), draws=st.integers(4, 30), ties=st.booleans())
def test_rank_normalised_diagnostics_see_the_order_only(seed: int, chains: int, draws: int, ties: bool) -> None:
    """A strictly increasing map of the draws does not change the effective sizes of bulk and tails."""
    values = np.random.default_rng(seed).normal(size=(chains, draws))
    values = np.round(values) if ties else values
    for diagnostic in (diagnostics.ess_bulk, diagnostics.ess_tail):
        np.testing.assert_allclose(diagnostic(np.exp(values)), diagnostic(values), rtol=1e-9)


@given(seed=seeds, chains=st.integers(2, 4), draws=st.integers(4, 30), exponent=st.integers(-20, 20))
def test_reflection_and_scale_do_not_change_rhat(seed: int, chains: int, draws: int, exponent: int) -> None:
    """The unit and the direction in which a parameter is measured are of no consequence.

    The scale is a power of two, which multiplies without rounding: the two draws beside the median are
    equally far from it, and rounding would decide which of them has the lower rank.
    """
    values = np.random.default_rng(seed).normal(size=(chains, draws))
    np.testing.assert_allclose(
        diagnostics.split_rhat(-(2.0**exponent) * values), diagnostics.split_rhat(values), rtol=1e-9
    )


@given(seed=seeds, chains=st.integers(1, 4), draws=st.integers(4, 50), coefficient=st.floats(-0.999, 0.999))
def test_effective_size_is_bounded(seed: int, chains: int, draws: int, coefficient: float) -> None:
    """It is positive and at most draws * log10(draws), which antithetic chains reach."""
    values = np.random.default_rng(seed).normal(size=(chains, draws))
    for t in range(1, draws):
        values[:, t] += coefficient * values[:, t - 1]
    total = chains * (draws // 2) * 2
    for diagnostic in (diagnostics.ess_bulk, diagnostics.ess_tail, diagnostics.ess_mean):
        assert 0 < diagnostic(values) <= total * np.log10(total) * (1 + 1e-12)


@given(seed=seeds, draws=st.integers(4, 20), order=st.permutations(range(4)))
@settings(max_examples=30)
def test_order_of_chains_does_not_matter(seed: int, draws: int, order: list[int]) -> None:
    """Chains are exchangeable."""
    values = np.random.default_rng(seed).normal(size=(4, draws))
    for diagnostic in PER_PARAMETER:
        np.testing.assert_allclose(diagnostic(values[list(order)]), diagnostic(values), rtol=1e-9)


@pytest.mark.parametrize("draws", [999, 1000])
@pytest.mark.parametrize("diagnostic", PER_PARAMETER, ids=lambda diagnostic: diagnostic.__name__)
def test_many_parameters_are_each_examined_alone(diagnostic: object, draws: int) -> None:
    """Blocks of parameters, of any axes, in any memory order, give what each parameter gives by itself."""
    assert callable(diagnostic)
    rng = np.random.default_rng(6)
    values = np.asfortranarray(rng.normal(size=(2, draws, 25, 14)))
    assert values.size > BLOCKS_FOR_THREADS * NUMBERS_PER_BLOCK
    together = diagnostic(values)
    assert together.shape[:2] == (25, 14)
    for i, j in [(0, 0), (0, 13), (4, 9), (12, 7), (24, 0), (24, 13)]:
        np.testing.assert_array_equal(together[i, j], diagnostic(values[:, :, i, j].copy()))


@pytest.mark.parametrize("diagnostic", PER_PARAMETER, ids=lambda diagnostic: diagnostic.__name__)
def test_nan_spoils_its_own_parameter_only(diagnostic: object) -> None:
    """A parameter with a NaN draw has NaN, its neighbours what they had."""
    assert callable(diagnostic)
    values = np.random.default_rng(7).normal(size=(2, 50, 3))
    clean = diagnostic(values)
    values[1, 20, 1] = np.nan
    spoilt = diagnostic(values)
    assert np.isnan(spoilt[1]).all()
    np.testing.assert_array_equal(spoilt[[0, 2]], clean[[0, 2]])


@pytest.mark.parametrize("kind", [np.int32, np.int8, np.bool_, np.float32, np.uint64])
def test_element_type_does_not_matter(kind: type[np.generic]) -> None:
    """Integers, truth values and short floats are examined as the numbers they are."""
    values = np.random.default_rng(8).integers(0, 2, size=(2, 60)).astype(kind)
    for diagnostic in PER_PARAMETER:
        np.testing.assert_array_equal(diagnostic(values), diagnostic(values.astype(np.float64)))


def test_all_diagnostics_at_once_are_those_one_by_one() -> None:
    """Sharing the sorting changes nothing."""
    values = np.random.default_rng(9).normal(size=(4, 101, 2, 3))
    found = diagnostics.examine(values)
    for name in ("split_rhat", "ess_bulk", "ess_tail", "mcse_mean", "mcse_sd"):
        alone = getattr(diagnostics, name)(values)
        np.testing.assert_array_equal(
            getattr(found, name.removeprefix("split_").replace("rhat", "r_hat")), alone.ravel()
        )


@pytest.mark.parametrize("coefficient", [-0.5, 0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregression_is_known(coefficient: float) -> None:
    """For correlation c between neighbours it is draws * (1 - c) / (1 + c)."""
    rng = np.random.default_rng(10)
    values = rng.normal(size=(4, 20_000))
    values[:, 0] /= np.sqrt(1 - coefficient**2)
    for t in range(1, values.shape[1]):
        values[:, t] += coefficient * values[:, t - 1]
    expected = values.size * (1 - coefficient) / (1 + coefficient)
    assert diagnostics.ess_mean(values) == pytest.approx(expected, rel=0.1)
    assert diagnostics.ess_bulk(values) == pytest.approx(expected, rel=0.1)


def test_autocovariance_is_the_sum_of_products() -> None:
    """The transforms give what the definition gives, averaged over chains."""
    values = np.random.default_rng(11).normal(size=(2, 3, 17))
    centred = values - values.mean(axis=2, keepdims=True)
    expected = [(centred[:, :, : 17 - lag] * centred[:, :, lag:]).sum(axis=2).mean(axis=1) / 17 for lag in range(17)]
    np.testing.assert_allclose(mean_autocovariance(values), np.stack(expected, axis=1), atol=1e-14)


@given(st.integers(1, 100_000))
def test_fast_length_has_small_factors_and_is_long_enough(least: int) -> None:
    """Only the primes 2, 3 and 5 divide it, 2 does, and no such number below would do."""

    def smooth(number: int) -> bool:
        for prime in (2, 3, 5):
            while number % prime == 0:
                number //= prime
        return number == 1

    length = fast_length(least)
    assert length >= least
    assert length % 2 == 0
    assert smooth(length)
    assert not any(smooth(number) for number in range(max(2, least + least % 2), length, 2))


@given(seed=seeds, count=st.integers(2, 60), probability=st.floats(0.02, 0.98))
def test_interval_holds_its_share_and_no_interval_of_draws_is_narrower(
    seed: int, count: int, probability: float
) -> None:
    """The highest-density interval is the narrowest between two draws with that share between them."""
    values = np.random.default_rng(seed).gamma(1.5, size=(1, count))
    lower, upper = diagnostics.hdi(values, probability)
    steps = int(np.floor(probability * count))
    inside = int(((values >= lower) & (values <= upper)).sum())
    assert inside == steps + 1
    ascending = np.sort(values[0])
    assert upper - lower == (ascending[steps:] - ascending[: count - steps]).min()


@given(seed=seeds, count=st.integers(1, 60), probability=st.floats(0, 1))
def test_quantile_is_that_of_numpy(seed: int, count: int, probability: float) -> None:
    """Linear interpolation between neighbours, exact at the draws."""
    values = np.random.default_rng(seed).normal(size=(1, 1, count)).round(1)
    assert Sample(values).quantile(probability)[0] == pytest.approx(
        np.quantile(values, probability), rel=1e-14, abs=1e-15
    )


def test_energy_of_independent_draws_has_a_fraction_of_two() -> None:
    """Independent energies change by twice their variance; a random walk by almost nothing."""
    rng = np.random.default_rng(12)
    energy = rng.normal(size=(3, 5000))
    np.testing.assert_allclose(diagnostics.ebfmi(energy), 2.0, rtol=0.05)
    assert (diagnostics.ebfmi(np.cumsum(energy, axis=1)) < 0.05).all()
    assert np.isnan(diagnostics.ebfmi(np.ones((2, 5)))).all()
    assert np.isnan(diagnostics.ebfmi(np.ones((2, 1)))).all()


def test_a_single_draw_has_a_mean_and_an_interval_only() -> None:
    """One draw of one chain is a result too; nothing warns."""
    row = diagnostics.summary(np.full((1, 1), 2.5)).row("x")
    assert {name for name, value in row.items() if value == 2.5} == {"mean", "hdi_3%", "hdi_97%"}
    assert sum(np.isnan(value) for value in row.values()) == len(row) - 3


def test_empty_variable_has_empty_diagnostics() -> None:
    """An axis of length zero is no fault."""
    assert diagnostics.split_rhat(np.empty((4, 100, 0))).shape == (0,)
    assert diagnostics.hdi(np.empty((4, 100, 2, 0))).shape == (2, 0, 2)


@pytest.mark.parametrize("shape", [(), (5,), (0, 5), (5, 0)])
def test_draws_without_chain_and_draw_axes_are_refused(shape: tuple[int, ...]) -> None:
    """The message says which axes are needed."""
    with pytest.raises(ShapeError, match="chain, draw"):
        diagnostics.split_rhat(np.zeros(shape))
    if len(shape) < 2:
        with pytest.raises(ShapeError, match="chain, draw"):
            diagnostics.ebfmi(np.zeros(shape))


def test_draws_that_are_no_real_numbers_are_refused() -> None:
    """Complex numbers and text have no order."""
    for values in (np.zeros((2, 5), dtype=complex), np.full((2, 5), "a")):
        with pytest.raises(TypeError, match="real numbers"):
            diagnostics.ess_bulk(values)


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1, 94, float("nan")])
def test_probability_of_an_interval_is_checked(probability: float) -> None:
    """A percentage is a likely mistake."""
    for interval in (diagnostics.hdi, diagnostics.eti):
        with pytest.raises(ValueError, match="between 0 and 1"):
            interval(np.zeros((2, 5)), probability)
