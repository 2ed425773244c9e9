"""The convergence monitor finds what the diagnostics of all draws give, however they came, and follows the rule."""

from __future__ import annotations

import math
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from arviz_stats.base import array_stats
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from consilience import diagnostics
from consilience.diagnostics import measurement
from consilience.diagnostics.autocovariance import mean_autocovariance
from consilience.diagnostics.monitor import FIRST_EXAMINED, GROWTH, ConvergenceMonitor
from consilience.diagnostics.sample import Sample
from consilience.diagnostics.split_rhat import scale_reduction
from consilience.diagnostics.stopping_rule import Failure, Figures, StoppingRule
from consilience.errors import ShapeError

Draws = np.ndarray


def autoregressive(noise: Draws, coefficient: float) -> Draws:
    """First-order autoregression along the draws, driven by `noise`."""
    draws = noise.copy()
    for t in range(1, noise.shape[1]):
        draws[:, t] += coefficient * draws[:, t - 1]
    return draws


def changed(draws: Draws, value: float) -> Draws:
    """The same draws but for one."""
    draws = draws.astype(np.float64)
    draws[-1, -1] = value
    return draws


Make = Callable[[np.random.Generator, tuple[int, int]], Draws]
FINITE: dict[str, Make] = {
    "independent": lambda rng, shape: rng.normal(size=shape),
    "slow": lambda rng, shape: autoregressive(rng.normal(size=shape), 0.9),
    "very slow": lambda rng, shape: autoregressive(rng.normal(size=shape), 0.99),
    "antithetic": lambda rng, shape: autoregressive(rng.normal(size=shape), -0.9),
    "shifted chains": lambda rng, shape: rng.normal(size=shape) + np.arange(shape[0])[:, None],
    "scaled chains": lambda rng, shape: rng.normal(size=shape) * np.arange(1, shape[0] + 1)[:, None],
    "trending": lambda rng, shape: rng.normal(size=shape) + np.linspace(0, 3, shape[1]),
    "counts": lambda rng, shape: rng.poisson(2, size=shape),
    "fair coin": lambda rng, shape: rng.integers(0, 2, size=shape),
    "rare truth values": lambda rng, shape: rng.random(shape) < 0.1,
    "repeated draws": lambda rng, shape: np.repeat(rng.normal(size=shape), 3, axis=1)[:, : shape[1]],
    "heavy tails": lambda rng, shape: rng.standard_cauchy(shape),
    "heaviest tails": lambda rng, shape: np.exp(100 * rng.normal(size=shape)) * rng.choice([-1, 1], size=shape),
    "tiny": lambda rng, shape: 1e-310 * rng.normal(size=shape),
    "huge": lambda rng, shape: 1.7e308 * rng.uniform(-1, 1, size=shape),
    "far from zero": lambda rng, shape: 1e9 + rng.normal(size=shape),
    "crowds apart": lambda rng, shape: rng.choice([0.0, 1e6, -1e-6], size=shape) + 1e-9 * rng.normal(size=shape),
    "zeros of both signs": lambda rng, shape: rng.choice([0.0, -0.0, 1.0], size=shape),
    "chains that do not move": lambda rng, shape: np.repeat(rng.normal(size=shape[0])[:, None], shape[1], axis=1),
}
KINDS: dict[str, Make] = FINITE | {
    "constant": lambda rng, shape: np.full(shape, 3.3),
    "constant but for the end": lambda rng, shape: changed(np.full(shape, 3.3), 4.0),
    "one NaN": lambda rng, shape: changed(rng.normal(size=shape), np.nan),
    "one infinite": lambda rng, shape: changed(rng.normal(size=shape), np.inf),
    "infinite and NaN": lambda rng, shape: changed(changed(rng.normal(size=shape), np.nan).T, -np.inf).T,
    "all infinite": lambda rng, shape: np.full(shape, np.inf),
}
SHAPES = [(4, 1000), (4, 1001), (1, 500), (1, 4), (2, 4), (2, 5), (3, 7), (5, 6), (4, 3), (2, 1), (2, 37), (9, 64)]


def all_kinds(shape: tuple[int, int], kinds: dict[str, Make] = KINDS) -> Draws:
    """Draws (chain, draw, kind)."""
    rng = np.random.default_rng(shape)
    return np.stack([make(rng, shape).astype(np.float64) for make in kinds.values()], axis=2)


def monitored(draws: Draws, ends: list[int] | None = None) -> ConvergenceMonitor:
    """A monitor that has seen the draws in blocks."""
    monitor = ConvergenceMonitor(draws.shape[0], draws.shape[2])
    for begin, end in zip([0, *(ends or [])], [*(ends or []), draws.shape[1]], strict=True):
        monitor.extend(draws[:, begin:end])
    return monitor


def same(one: Figures, other: Figures) -> None:
    """Equal in every bit."""
    for name in ("r_hat", "ess_bulk", "ess_tail"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_figures_equal_the_examination_of_all_draws(shape: tuple[int, int]) -> None:
    """To 1e-9, where draws are finite; others have none."""
    draws = all_kinds(shape)
    found = monitored(draws, [shape[1] // 3]).measure()
    expected = diagnostics.examine(draws)
    finite = np.isfinite(draws).all(axis=(0, 1))
    for name in ("r_hat", "ess_bulk", "ess_tail"):
        wanted = np.where(finite, getattr(expected, name), np.nan)
        np.testing.assert_allclose(getattr(found, name), wanted, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("shape", [(4, 200), (3, 51), (1, 30)], ids=str)
def test_figures_equal_the_published_implementation(shape: tuple[int, int]) -> None:
    """Every kind of draws but those where that one divides rounding errors, or overflows; R-hat of several chains."""
    without = ("chains that do not move", "huge")
    kinds = {name: make for name, make in FINITE.items() if name not in without}
    draws = all_kinds(shape, kinds)
    found = monitored(draws).measure()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, name in enumerate(kinds):
            x = draws[:, :, place]
            expected = (
                array_stats.rhat(x, method="rank"),
                array_stats.ess(x, method="bulk"),
                array_stats.ess(x, method="tail", prob=(0.05, 0.95)),
            )
            got = found.r_hat[place], found.ess_bulk[place], found.ess_tail[place]
            begin = 0 if len(draws) > 1 else 1
            np.testing.assert_allclose(got[begin:], expected[begin:], rtol=1e-9, err_msg=name)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(1, 9),
    st.integers(0, 330),
    st.lists(st.integers(0, 330), max_size=6),
    st.data(),
)
def test_figures_do_not_depend_on_blocks_or_questions(
    chains: int, count: int, cuts: list[int], data: st.DataObject
) -> None:
    """In every bit: empty blocks, single draws, orders merged and made again."""
    draws = all_kinds((chains, count)) if count else np.zeros((chains, 0, len(KINDS)))
    ends = sorted(min(cut, count) for cut in cuts)
    monitor = ConvergenceMonitor(chains, draws.shape[2])
    begin = 0
    for end in [*ends, count]:
        monitor.extend(draws[:, begin:end])
        begin = end
        match data.draw(st.integers(0, 3)):
            case 1:
                monitor.check(StoppingRule())
            case 2:
                monitor.measure(data.draw(st.lists(st.integers(0, len(KINDS) - 1), max_size=5)))
            case 3:
                monitor.chain_sizes(data.draw(st.integers(0, len(KINDS) - 1)))
    assert monitor.count == count
    once = monitored(draws)
    same(monitor.measure(), once.measure())
    same(monitor.measure(), once.measure())
    for scalar in (0, 7, len(KINDS) - 1):
        np.testing.assert_array_equal(monitor.chain_sizes(scalar), once.chain_sizes(scalar))
    assert monitor.disagreeing(1.2) == once.disagreeing(1.2)
    assert (monitor.check(StoppingRule(target_ess=20)) is None) == (once.check(StoppingRule(target_ess=20)) is None)


def test_any_memory_layout_and_number_type_may_come() -> None:
    """Strides of both signs, unaligned bytes, single precision, integers, truth values, an axis that repeats."""
    rng = np.random.default_rng(1)
    plain = rng.integers(0, 2, size=(3, 40, 5)).astype(np.float64)
    packed = np.zeros(plain.shape, dtype=[("label", "i1"), ("draw", "f8")])
    packed["draw"] = plain
    layouts = {
        "columns first": np.asfortranarray(plain),
        "backwards": plain[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1],
        "every other": np.repeat(plain, 2, axis=2)[:, :, ::2],
        "scalars first": plain.transpose(2, 0, 1).copy().transpose(1, 2, 0),
        "unaligned": packed["draw"],
        "single": plain.astype(np.float32),
        "integers": plain.astype(np.int16),
        "truth values": plain.astype(bool),
    }
    expected = monitored(plain).measure()
    for name, draws in layouts.items():
        np.testing.assert_array_equal(np.asarray(draws, np.float64), plain, err_msg=name)
        same(monitored(draws).measure(), expected)
        same(monitored(draws, [13]).measure(), expected)
    repeated = np.broadcast_to(plain[:, :, :1], (3, 40, 5))
    assert len(set(monitored(repeated).measure().ess_bulk.tolist())) == 1


def test_draws_are_read_where_they_lie() -> None:
    """A run's draws are kept by the run; a second copy would double its memory."""
    draws = all_kinds((2, 50), FINITE)
    blocks = monitored(draws, [20])._blocks
    assert [first for first, _ in blocks] == [0, 20]
    for first, (group,) in blocks:
        assert all(np.shares_memory(own, draws[chain, first:]) for chain, own in enumerate(group))


def test_no_more_than_a_block_of_scalars_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examining 26 MB of draws takes 3 MB with two threads, and has the same bits with one and with five."""
    draws = np.random.default_rng(16).normal(size=(4, 200, 4000))
    monitor = monitored(draws, [100])
    found = []
    for processors in (2, 1, 5):
        monkeypatch.setattr(measurement, "usable_processors", lambda processors=processors: processors)
        if processors == 2:
            monitor.measure([0])
            tracemalloc.start()
            found.append(monitor.measure())
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 3e6
        else:
            found.append(monitor.measure())
    same(found[0], found[1])
    same(found[0], found[2])


def test_groups_of_scalars_are_those_of_one_array() -> None:
    """Coordinates, quantities derived from them and the log density need not lie together."""
    draws = all_kinds((3, 70))
    together, apart = monitored(draws), ConvergenceMonitor(3, draws.shape[2])
    for here in (slice(0, 33), slice(33, 70)):
        part = draws[:, here]
        apart.extend(part[:, :, :4], list(part[:, :, 4:5].copy()), part[:, :, 5:5], [own[:, 5:] for own in part])
    same(together.measure(), apart.measure())
    for scalar in (0, 4, 9):
        np.testing.assert_array_equal(apart.draws(scalar), draws[:, :, scalar])


def literal_failures(draws: Draws, rule: StoppingRule) -> dict[int, set[tuple[str, float]]]:
    """Every criterion of the rule that every scalar misses, with the value, by its definition."""
    chains, _, scalars = draws.shape
    failures: dict[int, set[tuple[str, float]]] = {}

    def miss(scalar: int, criterion: str, value: float) -> None:
        failures.setdefault(scalar, set()).add((criterion, float(value)))

    for scalar in range(scalars):
        x = draws[:, :, scalar]
        if not np.isfinite(x).all():
            miss(scalar, "not finite", (~np.isfinite(x)).sum())
            continue
        if (x == x[0, 0]).all():
            miss(scalar, "constant", 0.0)
            continue
        if rule.target_ess is not None:
            bulk, tail = diagnostics.ess_bulk(x), diagnostics.ess_tail(x)
            if not bulk >= rule.target_ess:
                miss(scalar, "bulk ess", bulk)
            if not tail >= rule.target_ess:
                miss(scalar, "tail ess", tail)
        sample = Sample(x[None])
        with np.errstate(all="ignore"):
            for series in (sample.scores, sample.folded_scores):
                half = series.shape[2]
                rhat = scale_reduction(series)[0]
                if math.isnan(rhat) and series is sample.folded_scores:
                    continue
                if not rhat < rule.target_rhat + (0.0 if rule.strict else 0.04):
                    miss(scalar, "rhat", rhat)
                elif rhat > rule.target_rhat and not rule.strict:
                    means = series.mean(axis=2)
                    own = series - means[:, :, None]
                    within = mean_autocovariance(own)[0, 0] * half / (half - 1)
                    ratio = half * means.var(ddof=1) / (within * time_within(own))
                    bound = special.fdtri(2 * chains - 1, 200, 1 - 0.01 / (2 * scalars))
                    if not ratio < bound:
                        miss(scalar, "rhat excess", ratio)
    return failures


def time_within(centred: Draws) -> float:
    """Geyer's autocorrelation time of half chains (1, half chain, draw) whose means are zero."""
    _, halves, half = centred.shape
    covariance = mean_autocovariance(centred)[0]
    correlation = covariance / (covariance[0] * half / (half - 1))
    correlation[0] = 1.0
    total, lowest, k = -1.0, math.inf, 0
    while True:
        pair = correlation[2 * k] + correlation[2 * k + 1]
        if k == max(0, (half - 3) // 2) or not pair > 0:
            break
        lowest = min(lowest, pair)
        total += 2 * lowest
        k += 1
    rest = correlation[2 * k] if correlation[2 * k] > 0 or pair >= 0 else 0.0
    return max(total + rest, 1 / math.log10(halves * half))


def agreeing(rng: np.random.Generator, shape: tuple[int, int], scalars: int) -> Draws:
    """Draws (chain, draw, scalar) of slow chains that all have the same distribution."""
    return np.stack([autoregressive(rng.normal(size=shape), 0.5) for _ in range(scalars)], axis=2)


RULES = [
    StoppingRule(),
    StoppingRule(target_ess=20),
    StoppingRule(target_ess=None),
    StoppingRule(target_ess=20, strict=True),
    StoppingRule(target_ess=None, target_rhat=1.001),
    StoppingRule(target_ess=None, target_rhat=1.05, strict=True),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("shape", [(4, 300), (4, 77), (1, 200), (2, 60)], ids=str)
def test_a_check_follows_the_rule_literally(shape: tuple[int, int], rule: StoppingRule) -> None:
    """It names a scalar that fails, by a criterion it misses, with its value; None only if none fails."""
    rng = np.random.default_rng(3)
    for draws in (
        all_kinds(shape),
        all_kinds(shape, FINITE),
        agreeing(rng, shape, 1),
        agreeing(rng, shape, 8),
        agreeing(rng, shape, 3) + 0.3 * np.arange(shape[0])[:, None, None],
        agreeing(rng, shape, 3) + 0.15 * np.arange(shape[0])[:, None, None],
        np.cbrt(agreeing(rng, shape, 3)) * np.linspace(1, 1.5, shape[0])[:, None, None],
    ):
        failures = literal_failures(draws, rule)
        for monitor in (monitored(draws), monitored(draws, [shape[1] // 2])):
            for _ in range(2):
                found = monitor.check(rule)
                if found is None:
                    assert not failures
                else:
                    near = [
                        criterion
                        for criterion, value in failures[found.scalar]
                        if math.isclose(value, found.value, rel_tol=1e-9)
                    ]
                    assert found.criterion in near
        for scalar in range(draws.shape[2]):
            alone = draws[:, :, scalar : scalar + 1]
            assert (monitored(alone).check(rule) is None) == (not literal_failures(alone, rule))


def test_all_parts_of_the_rule_can_fail() -> None:
    """One scalar for each criterion, with value and bound in their order."""
    rng = np.random.default_rng(4)
    sound = rng.normal(size=(4, 400))
    shift = np.array([0.0, 0.0, 0.3, 0.3])[:, None]
    widths = np.array([1.0, 1.0, 2.25, 2.25])[:, None]
    sized, unsized = StoppingRule(target_ess=300), StoppingRule(target_ess=None)
    cases = {
        "not finite": (sized, changed(sound, np.inf)),
        "constant": (sized, np.full((4, 400), 2.0)),
        "bulk ess": (sized, autoregressive(sound, 0.95)),
        "tail ess": (sized, sound * widths),
        "rhat": (unsized, sound + 3 * shift),
        "rhat excess": (sized, sound + shift),
    }
    for criterion, (rule, draws) in cases.items():
        failure = monitored(draws[:, :, None]).check(rule)
        assert failure is not None, criterion
        assert failure.criterion == criterion, failure
        assert failure.scalar == 0
        below = criterion in ("constant", "bulk ess", "tail ess")
        assert failure.value <= failure.bound if below else failure.value > failure.bound
    assert monitored(sound[:, :, None]).check(StoppingRule(target_ess=300)) is None
    failure = monitored(changed(changed(sound, np.inf), np.nan)[:, :, None]).check(StoppingRule())
    assert isinstance(failure, Failure)
    assert (failure.criterion, failure.value, failure.bound) == ("not finite", 1.0, 0.0)


def test_noise_explains_what_it_can() -> None:
    """R-hat of few draws exceeds 1.01 by chance: the rule lets it, the strict one does not, and none of 300 errs."""
    draws = np.random.default_rng(5).normal(size=(4, 100, 300))
    monitor = monitored(draws)
    assert monitor.measure().r_hat.max() > 1.01
    assert monitor.check(StoppingRule(target_ess=100)) is None
    strict = monitor.check(StoppingRule(target_ess=100, strict=True))
    assert strict is not None
    assert strict.criterion == "rhat"
    assert strict.bound == 1.01


def test_one_chain_is_judged_by_its_halves() -> None:
    """A trend shows as a large R-hat."""
    noise = np.random.default_rng(6).normal(size=(1, 2000, 1))
    assert monitored(noise).check(StoppingRule()) is None
    failure = monitored(noise + np.linspace(0, 1, 2000)[:, None]).check(StoppingRule(target_ess=None))
    assert failure is not None
    assert failure.criterion == "rhat"
    assert monitored(noise).measure().r_hat[0] < 1.01


@pytest.mark.parametrize("count", [0, 1, 3])
def test_too_few_draws_never_pass(count: int) -> None:
    """Nothing is defined with fewer than four."""
    draws = np.random.default_rng(7).normal(size=(4, count, 2))
    monitor = monitored(draws)
    for rule, criterion in ((StoppingRule(), "bulk ess"), (StoppingRule(target_ess=None), "rhat")):
        failure = monitor.check(rule)
        assert failure is not None
        assert failure.criterion == criterion
        assert math.isnan(failure.value)
    assert np.isnan(monitor.measure().ess_bulk).all()
    assert np.isnan(monitor.chain_sizes(1)).all()
    assert monitor.disagreeing(1.2) == []


def test_a_run_without_scalars_passes() -> None:
    """Nothing is asked of nothing."""
    monitor = monitored(np.zeros((4, 10, 0)))
    assert monitor.count == 10
    assert monitor.check(StoppingRule()) is None
    assert len(monitor.measure().r_hat) == 0
    assert monitor.disagreeing(1.2) == []


def examined(monitor: ConvergenceMonitor) -> list[int]:
    """The scalars of which all present draws were examined."""
    return np.flatnonzero(monitor._examined == monitor.count).tolist()


def test_what_failed_is_examined_first_and_little_else_then() -> None:
    """A check goes on with more scalars until one fails, beginning with those that were nearest to failing before."""
    rng = np.random.default_rng(8)
    draws = rng.normal(size=(4, 400, 100))
    draws[:, :, 30] = autoregressive(draws[:, :, 30], 0.97)
    draws[:, :, 60] = autoregressive(draws[:, :, 60], 0.6)
    monitor = monitored(draws[:, :200])
    first = monitor.check(StoppingRule(target_ess=150))
    assert first is not None
    assert first.scalar == 30
    known = list(range(FIRST_EXAMINED * (1 + GROWTH)))
    assert examined(monitor) == known
    assert monitor.nearest_to_failing() == (30, first.rhat, first.ess)
    monitor.extend(draws[:, 200:])
    second = monitor.check(StoppingRule(target_ess=150))
    assert second is not None
    assert second.scalar == 30
    assert examined(monitor) == [30, *range(len(known), len(known) + FIRST_EXAMINED - 1)]  # what is not known is next
    # Now scalar 30 does not fail any more, and all are examined.
    assert monitor.check(StoppingRule(target_ess=second.value / 2, target_rhat=1.5)) is None
    assert examined(monitor) == list(range(100))
    assert monitor.nearest_to_failing()[0] == 30


def test_everything_names_the_worst_of_all() -> None:
    """Whatever was found before: that which is not finite, else what is farthest from its bound."""
    rng = np.random.default_rng(17)
    draws = rng.normal(size=(4, 200, 90))
    draws[:, :, 2] = autoregressive(draws[:, :, 2], 0.9)
    draws[:, :, 80] = autoregressive(draws[:, :, 80], 0.97)
    monitor = monitored(draws)
    rule = StoppingRule(target_ess=300)
    found = [monitor.check(rule, everything=everything) for everything in (False, True)]
    assert [failure.scalar for failure in found if failure is not None] == [2, 80]
    draws[2, 5, 70] = np.nan
    failure = monitored(draws).check(rule, everything=True)
    assert failure is not None
    assert (failure.scalar, failure.criterion) == (70, "not finite")


def test_a_monitor_goes_on_with_what_another_found() -> None:
    """It names the scalar that the other one names next."""
    rng = np.random.default_rng(15)
    draws = rng.normal(size=(4, 400, 30))
    for scalar in (3, 20, 27):
        draws[:, :, scalar] = autoregressive(draws[:, :, scalar], 0.97)
    rule = StoppingRule(target_ess=300)
    unbroken, fresh = monitored(draws[:, :200]), monitored(draws)
    for monitor, wanted in ((unbroken, 3), (fresh, 3)):
        failure = monitor.check(rule)
        assert failure is not None
        assert failure.scalar == wanted
    unbroken.nearness[27] = 100.0
    unbroken.extend(draws[:, 200:])
    resumed = monitored(draws)
    resumed.nearness[:] = unbroken.nearness
    one, other = unbroken.check(rule), resumed.check(rule)
    assert one is not None
    assert one.scalar == 27 or one.scalar == 3
    assert one == other
    np.testing.assert_array_equal(unbroken.nearness, resumed.nearness)


def test_chains_alone_are_worth_what_the_diagnostics_say() -> None:
    """Bulk effective size of each chain as of a run of one chain, for every kind of finite draws."""
    for shape in ((3, 200), (2, 51), (1, 5)):
        draws = all_kinds(shape, FINITE)
        monitor = monitored(draws)
        for scalar in range(draws.shape[2]):
            expected = [diagnostics.ess_bulk(draws[c : c + 1, :, scalar]) for c in range(shape[0])]
            np.testing.assert_allclose(monitor.chain_sizes(scalar), expected, rtol=1e-9)


@pytest.mark.parametrize("count", [30, 64, 65, 401, 1000])
def test_chains_in_different_places_disagree(count: int) -> None:
    """Two places, or two widths, but not one chain that merely is slow, nor agreement."""
    rng = np.random.default_rng(9)
    draws = rng.normal(size=(4, count, 40))
    draws[2:, :, 7] += 3.0
    draws[0, :, 11] *= 8.0
    draws[:, :, 20] = np.linspace(0, 5, count) + 0.01 * draws[:, :, 20]
    draws[0, 1, 30] = np.nan
    expected = [
        scalar
        for scalar in range(40)
        if diagnostics.split_rhat(draws[:, :, scalar]) > 1.2
        and all(diagnostics.ess_bulk(draws[c : c + 1, :, scalar]) >= 5 for c in range(4))
    ]
    assert {7, 11} <= set(expected)
    assert 20 not in expected
    monitor = monitored(draws)
    assert monitor.mixing_alone(monitor.disagreeing(1.2), 5) == expected
    assert monitor.mixing_alone(monitor.disagreeing(1.2), 10 * count) == []
    assert monitored(draws[:1]).disagreeing(1.2) == []


def test_hardly_any_disagreement_is_overlooked() -> None:
    """Of 1,000 scalars whose R-hat is around 1.2, all those above are found by fifty draws of each chain."""
    rng = np.random.default_rng(10)
    draws = rng.normal(size=(4, 400, 1000)) + 0.75 * rng.normal(size=(4, 1, 1000))
    rhat = diagnostics.examine(draws).r_hat
    assert 100 < (rhat > 1.2).sum() < 900
    assert monitored(draws).disagreeing(1.2) == np.flatnonzero(rhat > 1.2).tolist()


def test_figures_come_in_the_sequence_asked_for() -> None:
    """Any scalars, repeated or none."""
    draws = all_kinds((2, 60))
    monitor = monitored(draws)
    whole = monitor.measure()
    some = monitor.measure([5, 2, len(KINDS) - 1, 5])
    np.testing.assert_array_equal(some.ess_bulk, whole.ess_bulk[[5, 2, len(KINDS) - 1, 5]])
    assert len(monitor.measure([]).r_hat) == 0


def test_what_does_not_fit_is_refused() -> None:
    """Shapes, element types and numbers, with what was needed."""
    monitor = ConvergenceMonitor(2, 3)
    for shape in ((2, 3), (3, 5, 3), (2, 5, 4), (2, 5, 3, 1)):
        with pytest.raises(ShapeError, match="2 chains, with 3 scalars"):
            monitor.extend(np.zeros(shape))
    other = monitored(np.zeros((2, 5, 3)))
    with pytest.raises(ShapeError, match=r"in all groups, \[3\] of them"):
        other.extend(np.zeros((2, 5, 2)), np.zeros((2, 5, 1)))
    with pytest.raises(TypeError, match="complex128"):
        monitor.extend(np.zeros((2, 5, 3), complex))
    for scalars in ([3], [-1]):
        with pytest.raises(IndexError, match="0 to 2"):
            monitor.measure(scalars)
    with pytest.raises(ShapeError, match="at least one chain"):
        ConvergenceMonitor(0, 3)
    with pytest.raises(ShapeError, match="2147483647"):
        monitor.extend(np.broadcast_to(0.0, (2, 1 << 31, 3)))


@pytest.mark.parametrize("scalars", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_one_scalar_that_fails_is_found_among_very_many(scalars: int) -> None:
    """Wherever it is, at the first look and where all passed before; a look that finds it again is short."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=60)
    chains = [np.stack([rng.permutation(values) for _ in range(4)]) for _ in range(2)]  # agree in all but order
    apart = chains[1] + 3.0 * np.arange(4)[:, None]
    rule = StoppingRule(target_ess=30.0)
    for place in (0, scalars // 3 + 1, scalars - 1):
        monitor = ConvergenceMonitor(4, scalars)

        def extend(good: Draws, own: Draws, at: int = place, into: ConvergenceMonitor = monitor) -> None:
            sides = [
                [np.broadcast_to(row[:, None], (len(row), width)) for row in good] for width in (at, scalars - at - 1)
            ]
            into.extend(sides[0], [row[:, None] for row in own], sides[1])

        extend(chains[0], chains[0])
        assert monitor.check(rule) is None
        extend(chains[1], apart)
        found = monitor.check(rule)
        assert found is not None
        assert found.scalar == place
        monitor._examined[:] = 0
        again = monitor.check(rule)
        assert again is not None
        assert again.scalar == place
        assert (monitor._examined > 0).sum() == FIRST_EXAMINED
        anew = ConvergenceMonitor(4, scalars)
        extend(chains[0], chains[0], into=anew)
        extend(chains[1], apart, into=anew)
        first = anew.check(rule)
        assert first is not None
        assert first.scalar == place
        assert place in anew.disagreeing(1.2)
