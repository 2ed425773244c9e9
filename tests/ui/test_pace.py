"""How fast a run goes and how much of it is left."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ui import Reporter
from consilience.ui.pace import Pace, draws_wanted, fraction_done, transitions_left
from tests.ui.simulated import CHECKS, FIXED, STARTS, UNHURRIED, Chain, Check, Now, Recorder, Started, chains


def test_rates_are_those_of_late() -> None:
    """Slow tuning is forgotten after three seconds."""
    pace = Pace()
    assert math.isnan(pace.transitions)
    for second in range(1, 11):
        pace.note(float(second), second, 100 * second)
    assert (pace.transitions, pace.gradients) == (1.0, 100.0)
    for second in range(11, 16):
        pace.note(float(second), 10 + 50 * (second - 10), 1000)
    assert (pace.transitions, pace.gradients) == (50.0, 0.0)


def test_time_that_goes_back_or_is_unknown_counts_for_nothing() -> None:
    """Nor does the time of a pause."""
    pace = Pace()
    pace.note(2.0, 20, 200)
    pace.note(1.0, 90, 900)
    pace.note(math.nan, 90, 900)
    assert pace.transitions == 10.0
    pace.forget()
    pace.note(100.0, 20, 200)
    assert math.isnan(pace.transitions)
    pace.note(101.0, 25, 300)
    assert (pace.transitions, pace.gradients) == (5.0, 100.0)


@pytest.mark.parametrize(
    ("run", "check", "expected"),
    [
        (FIXED, None, 500),
        (FIXED, Check(), 500),
        (Started(target_ess=None), None, 4000),
        (Started(), None, None),
        (Started(), Check(draws=200, ess=100.0, next_check=250), 800),
        (Started(), Check(draws=200, ess=390.0, next_check=250), 250),
        (Started(), Check(draws=200, ess=5000.0, next_check=250), 250),
        (Started(), Check(draws=200, ess=400.0, next_check=250, passed=True), 200),
        (Started(), Check(draws=200, ess=1.0, next_check=250), 4000),
        (Started(), Check(draws=200, ess=0.0, next_check=250), 4000),
        (Started(), Check(draws=200, ess=math.nan, next_check=250), None),
        (Started(), Check(draws=200, ess=math.inf, target_ess=math.inf, next_check=250), None),
        (Started(), Check(draws=200, ess=100.0, target_ess=200.0, next_check=250), 400),
    ],
)
def test_draws_wanted_follow_the_effective_size(run: Started, check: Check | None, expected: float | None) -> None:
    """In proportion to target / ess, not before the next check and not beyond the greatest number."""
    assert draws_wanted(run, check) == expected


@UNHURRIED
@given(STARTS, st.none() | CHECKS)
def test_draws_wanted_never_exceed_the_greatest_number(run: Started, check: Check | None) -> None:
    """Whatever a check found."""
    wanted = draws_wanted(run, check)
    if wanted is not None and run.draws is None and not (check and check.passed):
        assert wanted <= run.max_draws


def test_what_is_left_is_that_of_all_chains() -> None:
    """Chains that ended make no more; tuning counts where its length is fixed."""
    assert transitions_left(FIXED, chains("tuning", 400, 0), None) == 4 * 1100
    assert transitions_left(FIXED, chains("waiting", 0, 0), None) == 4 * 1500
    several = (Chain(0, "done", 1500, 500), Chain(1, "sampling", 1200, 200), Chain(2, "failed", 100, 0))
    assert transitions_left(FIXED, several, None) == 300
    assert transitions_left(Started(draws=500), chains("tuning", 400, 0), None) is None
    assert transitions_left(FIXED, chains("tuning", 1100, 0), None, restarted=True) is None
    assert transitions_left(Started(), chains("sampling", 400, 300), Check(draws=200, ess=100.0)) == 4 * 500
    assert transitions_left(Started(), chains("sampling", 400, 900), Check(draws=200, ess=100.0)) == 0


def test_fraction_is_the_share_that_is_over() -> None:
    """Of all transitions where all lengths are fixed, of the draws elsewhere; unknown where the end is."""
    assert fraction_done(FIXED, chains("tuning", 600, 0), 4 * 900.0, restarted=False) == 0.4
    assert fraction_done(Started(), chains("sampling", 700, 300), 4 * 700.0, restarted=False) == 0.3
    assert fraction_done(Started(), chains("tuning", 700, 0), None, restarted=False) is None
    assert fraction_done(FIXED, (), 0.0, restarted=False) == 0.0


def test_time_left_is_shown_and_not_while_paused() -> None:
    """At 40 draws a second of all chains, 4 times 500 draws take 50 seconds."""
    display = Recorder()
    report = Reporter(display)
    report(Started())
    check = Check(draws=200, ess=100.0)
    for second in range(10):
        report(Now(chains("sampling", 310 + 10 * second, 210 + 10 * second), check, float(second)))
    assert display.shown[-1].remaining == pytest.approx(50.0)
    report(Now(chains("sampling", 400, 300), check, 10.0, paused=True))
    assert display.shown[-1].remaining is None
    report(Now(chains("sampling", 400, 300), check, 1000.0))
    report(Now(chains("sampling", 410, 310), check, 1001.0))
    assert display.shown[-1].remaining == pytest.approx(49.0)
