"""How fast a run goes and how much of it is left."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.events import CheckFigures, Progress, Restarted, RunStarted
from consilience.output.display.state import State
from tests.ui.simulated import CHECKS, FIXED, STARTS, UNHURRIED, chain, chains, check, ended, now, started


def state(run: RunStarted, *events: object) -> State:
    """What is known after the events."""
    known = State(run)
    for event in events:
        known.take(event)
    return known


def moments(rows: list[tuple[float, int, int]]) -> list[Progress]:
    """One chain at so many seconds, transitions and gradients."""
    return [now((chain(0, "sampling", done, done, gradients=work),), None, seconds) for seconds, done, work in rows]


def test_rates_are_those_of_late() -> None:
    """Slow tuning is forgotten after three seconds; the rate at the end is that of the whole run."""
    known = state(FIXED)
    assert math.isnan(known.gradient_rate)
    for event in moments([(float(second), second, 100 * second) for second in range(1, 11)]):
        known.take(event)
    assert (known.remaining, known.gradient_rate) == (490.0, 100.0)
    for event in moments([(float(second), 10 + 50 * (second - 10), 1000) for second in range(11, 16)]):
        known.take(event)
    assert (known.remaining, known.gradient_rate) == (240 / 50, 0.0)
    known.take(ended(seconds=100.0))
    assert known.gradient_rate == 10.0


def test_time_that_goes_back_or_is_unknown_counts_for_nothing() -> None:
    """Nor does the time of a pause."""
    known = state(FIXED, *moments([(2.0, 20, 200), (1.0, 90, 900), (math.nan, 90, 900)]))
    assert known.gradient_rate == 100.0
    known.take(now(paused=True))
    known.take(moments([(100.0, 20, 200)])[0])
    assert math.isnan(known.gradient_rate)
    known.take(moments([(101.0, 25, 300)])[0])
    assert known.gradient_rate == 100.0


@pytest.mark.parametrize(
    ("run", "check", "expected"),
    [
        (FIXED, None, 500),
        (FIXED, check(), 500),
        (started(target_ess=None), None, 4000),
        (started(), None, None),
        (started(), check(draws=200, ess=100.0, next_check=250), 800),
        (started(), check(draws=200, ess=390.0, next_check=250), 250),
        (started(), check(draws=200, ess=5000.0, next_check=250), 250),
        (started(), check(draws=200, ess=400.0, next_check=250, passed=True), 200),
        (started(), check(draws=200, ess=1.0, next_check=250), 4000),
        (started(max_draws=None), check(draws=200, ess=1.0, next_check=250), 80_000),
        (started(max_draws=None), None, None),
        (started(), check(draws=200, ess=0.0, next_check=250), None),
        (started(), check(draws=200, ess=math.nan, next_check=250), None),
        (started(), check(draws=200, ess=math.inf, target_ess=math.inf, next_check=250), None),
        (started(), check(draws=200, ess=100.0, target_ess=200.0, next_check=250), 400),
    ],
)
def test_draws_wanted_are_those_that_a_run_forecasts(
    run: RunStarted, check: CheckFigures | None, expected: float | None
) -> None:
    """Not before the next check and not beyond the greatest number."""
    assert state(run, now((), check)).draws_wanted == expected


@UNHURRIED
@given(STARTS, st.none() | CHECKS)
def test_draws_wanted_never_exceed_the_greatest_number(run: RunStarted, check: CheckFigures | None) -> None:
    """Whatever a check found."""
    wanted = state(run, now((), check)).draws_wanted
    if wanted is not None and run.draws is None and not (check and check.passed):
        assert run.max_draws is None or wanted <= run.max_draws


def test_what_is_left_is_that_of_all_chains() -> None:
    """Chains that ended make no more; tuning counts where its length is fixed."""
    assert state(FIXED, now(chains("tuning", 400, 0))).left == 4 * 1100
    assert state(FIXED, now(chains("waiting", 0, 0))).left == 4 * 1500
    several = (chain(0, "done", 1500, 500), chain(1, "sampling", 1200, 200), chain(2, "failed", 100, 0))
    assert state(FIXED, now(several)).left == 300
    assert state(started(draws=500), now(chains("tuning", 400, 0))).left is None
    assert state(FIXED, Restarted("because"), now(chains("tuning", 1100, 0))).left is None
    found = check(draws=200, ess=100.0)
    assert state(started(), now(chains("sampling", 400, 300), found)).left == 4 * 500
    assert state(started(), now(chains("sampling", 400, 900), found)).left == 0


def test_fraction_is_the_share_that_is_over() -> None:
    """Of all transitions where all lengths are fixed, of the draws elsewhere; unknown where the end is."""
    assert state(FIXED, now(chains("tuning", 600, 0))).fraction == 0.4
    found = check(draws=200, ess=80.0)
    assert state(started(), now(chains("sampling", 700, 300), found)).fraction == 0.3
    assert state(started(), now(chains("tuning", 700, 0))).fraction is None
    assert state(FIXED, now()).fraction is None


def test_time_left_is_known_and_not_while_paused() -> None:
    """At 40 draws a second of all chains, 4 times 500 draws take 50 seconds."""
    found = check(draws=200, ess=100.0)
    known = state(started())
    for second in range(10):
        known.take(now(chains("sampling", 310 + 10 * second, 210 + 10 * second), found, float(second)))
    assert known.remaining == pytest.approx(50.0)
    known.take(now(chains("sampling", 400, 300), found, 10.0, paused=True))
    assert known.remaining is None
    known.take(now(chains("sampling", 400, 300), found, 1000.0))
    known.take(now(chains("sampling", 410, 310), found, 1001.0))
    assert known.remaining == pytest.approx(49.0)
