"""What is said about a run, in as much room as there is."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.events import ChainLost, Progress, Restarted
from consilience.output.display.facts import BETWEEN, Fact, figures, fit, line
from consilience.output.display.state import State
from consilience.output.display.words import abridged, clock, duration, plain, ratio, short, size
from tests.ui.simulated import FIGURES, TEXTS, UNHURRIED, chain, chains, check, ended, now, started


def sampling(**others: Any) -> Progress:
    """Four chains after three seconds."""
    changes = {"divergences": 1, "step_size": 0.4123, "tree_depth": 3.14, "gradients": 900_000} | others
    return now(chains("sampling", 507, 320, 3, **changes), check(ess=187.9), 3.0)


def known(*events: object, **run: Any) -> State:
    """The state after the events."""
    state = State(started(**run))
    for event in events:
        state.take(event)
    return state


def test_lines_say_what_matters() -> None:
    """The words of a run that goes on, in each of its stages."""
    assert line(known(sampling(), chains=3)) == (
        "Sampling 3 chains: 320 of about 660 draws, 3 divergences, R-hat 1.02 tau, ESS 187/400 theta[C], "
        "900k gradients/s, step size 0.412, tree depth 3.1, 0:03, 0:02 left"
    )
    assert line(known(now(chains("sampling", 400, 100, 1), None, 3.0), chains=1, draws=1000, tune=300)) == (
        "Sampling 1 chain: 100/1000 draws, 0 divergences, step size 0.5, tree depth 3.0, 0:03, 0:07 left"
    )
    tuning = now(chains("tuning", 187, 0, 1, gradients=10), None, 3.0)
    assert line(known(tuning, chains=1, tune=1000)).startswith("Tuning 1 chain: 187/1000 steps, 3 gradients/s, ")
    assert line(known(tuning, chains=1)).startswith("Tuning 1 chain: 187 steps, ")
    assert line(known(tuning, Restarted("why"), chains=1, tune=1000)).startswith("Retuning 1 chain: 187 steps, ")
    assert line(known(tuning, chains=1)).endswith(", tree depth 3.0, 0:03")
    checking = now(chains("sampling", 500, 388), check(), 1.0)
    assert line(known(checking)).startswith("Sampling 4 chains: 388 draws, checking, ")
    paused = now(chains("sampling", 500, 320), check(), 1.0, paused=True)
    assert line(known(paused)).startswith("Paused: 4 chains: 320 of about 663 draws, ")
    assert line(known()) == "Starting 4 chains: 0:00"


def test_last_lines_say_how_it_ended() -> None:
    """Status, draws, seconds and figures; the reason only where the end is not the one wished for."""

    def last(status: str) -> str:
        lost = ChainLost(3, "it raised")
        return line(known(sampling(), lost, ended(status, "theta[C] needs more", 320, 2.0)))

    assert last("not_converged") == (
        "Not converged: 3 × 320 draws in 2.0 s, 3 divergences, R-hat 1.02 tau, ESS 187/400 theta[C], "
        "1 of 4 chains left out, 187 tuning steps, 1.4M gradients/s, step size 0.412, tree depth 3.1 "
        "(theta[C] needs more)"
    )
    for status, begin in {
        "converged": "Converged: 3 × 320 draws",
        "completed": "Sampled: 3 × 320 draws",
        "interrupted": "Interrupted: 3 × 320 draws",
        "chains_disagree": "Chains disagree: 3 × 320 draws",
        "converged_with_divergences": "Converged, with divergences: 3 × 320 draws",
        "out_of_time": "Out of time: 3 × 320 draws",
    }.items():
        text = last(status)
        assert text.startswith(begin)
        assert ("(theta[C] needs more)" in text) == (status not in ("converged", "completed"))


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (
            100,
            "3 divergences · R-hat 1.02 tau · ESS 187/400 theta[C] · 900k gradients/s · step size 0.412",
        ),
        (79, "3 divergences · R-hat 1.02 tau · ESS 187/400 theta[C] · 900k gradients/s"),
        (59, "3 divergences · R-hat 1.02 tau · ESS 187/400 theta[C]"),
        (49, "3 divergences · R-hat 1.02 tau"),
        (5, "3 divergences"),
    ],
)
def test_what_matters_least_is_left_out_first(room: int, expected: str) -> None:
    """The figures that tell whether to trust the draws stay longest."""
    chosen = fit(figures(known(sampling(), chains=3)), room)
    assert BETWEEN.join(fact.text for fact in chosen) == expected


def test_good_and_bad_news_are_told_apart() -> None:
    """Divergences and lost chains are bad; figures that reach their target are good."""
    tones = [fact.tone for fact in figures(known(sampling(), ChainLost(3, "it raised")))]
    assert tones == ["bad", "", "", "bad", "", "", ""]
    passed = now((chain(draws=9),), check(rhat=1.01, ess=400.0))
    assert [fact.tone for fact in figures(known(passed))][:3] == ["good", "good", ""]
    unknown = now((chain(draws=9),), check(rhat=math.nan, ess=math.nan, ess_name="", target_ess=None))
    assert [(fact.text, fact.tone) for fact in figures(known(unknown))][:2] == [("R-hat ? tau", ""), ("ESS ?", "")]


@UNHURRIED
@given(st.lists(st.builds(Fact, st.text(max_size=20)), min_size=1, max_size=8), st.integers(0, 100))
def test_facts_fit_in_the_room(facts: list[Fact], room: int) -> None:
    """The first ones, as many as have room; the very first is always there."""
    chosen = fit(facts, room)
    assert chosen == facts[: len(chosen)]
    assert len(chosen) == 1 or len(BETWEEN.join(fact.text for fact in chosen)) <= room
    if len(chosen) < len(facts):
        assert len(BETWEEN.join(fact.text for fact in facts[: len(chosen) + 1])) > room


@UNHURRIED
@given(TEXTS, st.integers(3, 60))
def test_texts_are_cut_to_their_room(text: str, room: int) -> None:
    """One line of letters that can be seen; control characters are gone."""
    line = plain(text)
    assert line.isprintable()
    cut = abridged(line, room)
    assert len(cut) <= room
    assert cut == line or len(line) > room


def test_abridged_names_keep_their_index() -> None:
    """Which element it is stands at the end."""
    assert abridged("county_effect_of_the_floor[Hennepin]", 24) == "county_effe…or[Hennepin]"
    assert [abridged("theta[C]", room) for room in (8, 7, 3)] == ["theta[C]", "the…[C]", "t…]"]


@UNHURRIED
@given(FIGURES)
def test_every_number_has_words(number: float) -> None:
    """NaN and infinity too; none is long."""
    for words in (duration, clock, short, ratio, size):
        text = words(number)
        assert text.isprintable()
        assert 1 <= len(text) <= 12


def test_figures_are_rounded_against_the_run() -> None:
    """399.9 effective draws are not 400 yet."""
    assert [size(value) for value in (399.9, 400.0, 12_345.0, 2.5e6)] == ["399", "400", "12345", "2.5M"]
    assert [ratio(value) for value in (1.0, 1.018, 12.4, math.nan, math.inf)] == ["1.00", "1.02", "12", "?", "inf"]
