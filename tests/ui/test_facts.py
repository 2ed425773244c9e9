"""What is said about a run, in as much room as there is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ui.facts import BETWEEN, Fact, ending, figures, fit, headline, last_line, line, sentence
from consilience.ui.overview import Overview, Worst
from consilience.ui.words import abridged, cells, clock, crop, duration, plain, ratio, short, size, wrapped
from tests.ui.simulated import FIGURES, TEXTS, UNHURRIED

SAMPLING = Overview(
    stage="sampling",
    chains=4,
    lost=0,
    tuning_steps=187,
    tune=None,
    draws=320,
    total=None,
    next_check=388,
    divergences=3,
    worst=Worst(1.02, "tau", 1.01, 187.9, "theta[C]", 400.0),
    gradient_rate=1_200_000.0,
    step_size=0.4123,
    tree_depth=3.14,
    seconds=3.0,
    remaining=5.0,
    fraction=0.4,
)


def test_lines_say_what_matters() -> None:
    """The words of a run that goes on, in each of its stages."""
    assert line(SAMPLING) == (
        "Sampling 4 chains: 320 draws, check at 388, 3 divergences, R-hat 1.02 tau, ESS 187/400 theta[C], "
        "1.2M gradients/s, step size 0.412, tree depth 3.1, 0:03, 0:05 left"
    )
    fixed = SAMPLING._replace(total=1000, next_check=None, worst=None, divergences=0, chains=1)
    assert line(fixed).startswith("Sampling 1 chain: 320/1000 draws, 0 divergences, 1.2M gradients/s, ")
    tuning = fixed._replace(stage="tuning", draws=0, tune=1000, remaining=None)
    assert line(tuning).startswith("Tuning 1 chain: 187/1000 steps, 1.2M gradients/s, ")
    assert line(tuning).endswith(", 0:03")
    assert line(tuning._replace(tune=None)).startswith("Tuning 1 chain: 187 steps, ")
    assert line(SAMPLING._replace(draws=388)).startswith("Sampling 4 chains: 388 draws, checking, ")
    assert line(SAMPLING._replace(stage="paused")).startswith("Paused: 4 chains: 320 draws, ")
    nothing = SAMPLING._replace(
        stage="starting",
        draws=0,
        tuning_steps=None,
        divergences=0,
        worst=None,
        gradient_rate=math.nan,
        step_size=math.nan,
        tree_depth=math.nan,
        remaining=None,
    )
    assert line(nothing) == "Starting 4 chains: 0:03"


def test_last_lines_say_how_it_ended() -> None:
    """Status, draws, seconds and figures; the reason only where the end is not the one wished for."""
    end = SAMPLING._replace(status="not_converged", reason="theta[C] needs more", lost=1, seconds=2.0)
    assert last_line(end) == (
        "Not converged: 3 × 320 draws in 2.0 s, 3 divergences, R-hat 1.02 tau, ESS 187/400 theta[C], "
        "1 of 4 chains left out, 187 tuning steps, 1.2M gradients/s, step size 0.412, tree depth 3.1 "
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
        text = last_line(end._replace(status=status))
        assert text.startswith(begin)
        assert ("(theta[C] needs more)" in text) == (status not in ("converged", "completed"))


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (
            100,
            "3 divergences · R-hat 1.02 tau · ESS 187/400 theta[C] · 1.2M gradients/s · step size 0.412",
        ),
        (79, "3 divergences · R-hat 1.02 tau · ESS 187/400 theta[C] · 1.2M gradients/s"),
        (59, "3 divergences · R-hat 1.02 tau · ESS 187/400 theta[C]"),
        (49, "3 divergences · R-hat 1.02 tau · ESS 187/400"),
        (39, "3 div. · R-hat 1.02 tau · ESS 187/400"),
        (22, "3 div. · R-hat 1.02"),
        (5, "3 di…"),
    ],
)
def test_what_matters_least_is_left_out_first(room: int, expected: str) -> None:
    """Names and long words make way for the figures that tell whether to trust the draws."""
    assert sentence(figures(SAMPLING), room, BETWEEN) == expected


def test_good_and_bad_news_are_told_apart() -> None:
    """Divergences and lost chains are bad; figures that reach their target are good."""
    tones = [fact.tone for fact in figures(SAMPLING._replace(lost=1))]
    assert tones == ["bad", "", "", "bad", "", "", ""]
    passed = SAMPLING._replace(divergences=0, worst=Worst(1.01, "tau", 1.01, 400.0, "tau", 400.0))
    assert [fact.tone for fact in figures(passed)][:3] == ["good", "good", ""]
    unknown = SAMPLING._replace(divergences=0, worst=Worst(math.nan, "tau", 1.01, math.nan, "", math.nan))
    assert [(fact.forms[0], fact.tone) for fact in figures(unknown)][:2] == [("R-hat ? tau", ""), ("ESS ?", "")]


FACTS = st.lists(
    st.builds(
        lambda forms, vital: Fact(tuple(sorted(forms, key=cells, reverse=True)), vital=vital),
        st.lists(st.text(max_size=20).map(plain), min_size=1, max_size=3),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@UNHURRIED
@given(FACTS, st.integers(0, 100))
def test_facts_fit_in_the_room(facts: list[Fact], room: int) -> None:
    """Never wider; in order; everything is said in full where there is room; the first is always there."""
    chosen = fit(facts, room)
    assert cells(BETWEEN.join(text for text, _ in chosen)) <= room
    assert len(chosen) >= 1
    everything = [fact.forms[0] for fact in facts]
    if cells(BETWEEN.join(everything)) <= room:
        assert [text for text, _ in chosen] == everything
    position = 0
    for text, _ in chosen if len(chosen) > 1 else []:
        while text not in facts[position].forms:
            position += 1
        position += 1


@pytest.mark.parametrize("room", range(1, 140, 3))
def test_headline_and_ending_never_lose_their_first_words(room: int) -> None:
    """What goes on, or how it ended: cut only where not even they have room."""
    for facts, word in ((headline(SAMPLING), "Sampling"), (ending(SAMPLING._replace(status="completed")), "Sampled")):
        text = sentence(facts, room)
        assert cells(text) <= room
        assert text.startswith(crop(word, room))


@UNHURRIED
@given(TEXTS, st.integers(0, 60))
def test_texts_are_cut_to_their_room(text: str, room: int) -> None:
    """By columns, of which wide letters take two; control characters are gone before."""
    line = plain(text)
    assert line.isprintable()
    assert "\n" not in line
    for cut in (crop(line, room), abridged(line, room)):
        assert cells(cut) <= room
        assert cut == line or cells(line) > room
    if room >= 2:
        lines = wrapped(line, room)
        assert all(cells(part) <= room for part in lines)
        assert "".join(lines).replace(" ", "") == line.replace(" ", "")


def test_abridged_names_keep_their_index() -> None:
    """Which element it is stands at the end."""
    assert abridged("county_effect_of_the_floor[Hennepin]", 24) == "county_effe…or[Hennepin]"
    assert [abridged("theta[C]", room) for room in (8, 7, 2, 1, 0)] == ["theta[C]", "the…[C]", "…]", "…", ""]


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
