"""The study of certificates: what it calls wrong, the intervals of its rates, and what it keeps of runs."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
from benchmarks.certificates import quotes
from benchmarks.certificates.exact import normalised
from benchmarks.certificates.judgement import contradictions, least_of_regions
from benchmarks.certificates.page import figures_of, module, named
from benchmarks.certificates.study import left_of, pieces
from benchmarks.certificates.summary import Rate, missing, ratios, read, statuses
from benchmarks.certificates.targets import KINDS, TARGETS, aliases
from benchmarks.certificates.truths import known
from benchmarks.rows_of_processes import add, made, of_one_commit, parser_of

EXACT = ["5 % at 8 sd", "one step for two, 1.00", "change of a rate", "switch at 10 sd", "alarm", "thinned counts",
         "banana", "Student-t, 3", "Cauchy", "long right tails", "AR(1), rho 0.9", "sum that is known"]  # fmt: skip


def chains(name: str, seed: int) -> dict[str, np.ndarray]:
    """Independent draws of a target in the shape of a run of four chains."""
    target = TARGETS[name]
    assert target.draw is not None
    draws = target.draw(np.random.default_rng(seed), 40_000)
    return dict(target.measure({k: v[:1600].reshape(4, 400, *v.shape[1:]) for k, v in draws.items()}))


@pytest.mark.parametrize("name", EXACT)
def test_independent_draws_are_not_called_wrong(name):
    truth = known(name)
    assert truth is not None
    assert not contradictions(truth, chains(name, 1))


def test_draws_of_one_of_two_modes_are_called_wrong():
    truth, draws = known("5 % at 8 sd"), chains("5 % at 8 sd", 1)
    assert truth is not None
    in_first = {"x": np.where(draws["mode 2"][..., None], 0.0, draws["x"]), "mode 2": np.zeros_like(draws["mode 2"])}
    assert any("mode 2" in words for words in contradictions(truth, in_first))


def test_draws_that_are_shifted_or_narrow_are_called_wrong():
    truth, draws = known("banana"), chains("banana", 2)
    assert truth is not None
    assert contradictions(truth, draws | {"x": draws["x"] + 4.0})
    assert contradictions(truth, draws | {"x": 0.5 * draws["x"]})


@pytest.mark.parametrize("share", [0.0, 0.3, 0.37, 1.0])
def test_a_region_is_missing_with_less_than_a_third_of_its_mass(share: float):
    truth, draws = known("70/30 at 10 sd"), chains("70/30 at 10 sd", 1)
    assert truth is not None
    inside = draws["mode 2"] & (np.random.default_rng(0).random(draws["mode 2"].shape) < share)
    least = least_of_regions(truth, draws | {"mode 2": inside})
    assert least == pytest.approx(share, abs=0.08)
    assert missing([{"least": least}, {"least": None}, {}]) == (share < 1 / 3)


def test_truths_of_aliases_are_those_of_quadrature():
    """Draws on the grid of frequencies, from which the file was made, beside sums over this grid."""
    grid = 2.0 * (np.arange(aliases.CELLS) + 0.5) / aliases.CELLS
    for name, times in (("four aliases", aliases.EVENLY), ("four aliases, unequal times", aliases.UNEVENLY)):
        truth = known(name)
        assert truth is not None
        shares = normalised(aliases.given_frequency(grid[:, None], times, aliases.clean(times))[0])
        for k in range(4):
            mass = shares[np.floor(2.0 * grid) == k].sum()
            assert truth[f"alias {k}"]["p"] == pytest.approx(mass, abs=4.5 * np.sqrt(mass / 80_000))


def test_every_target_with_a_posterior_has_a_truth():
    assert all((known(name) is None) == (name in KINDS["improper"]) for name in TARGETS)
    assert len(TARGETS) - len(KINDS["improper"]) >= 80
    assert sum(map(len, KINDS.values())) == len(TARGETS)


def test_rates_have_intervals_of_clopper_and_pearson():
    assert Rate(0, 100).interval() == pytest.approx((0.0, 0.03621669))
    assert Rate(5, 50).interval() == pytest.approx((0.03327509, 0.21813537))
    assert Rate(3, 3).interval() == pytest.approx((0.29240177, 1.0))


def test_files_are_merged_by_target_and_seed_and_lines_cut_off_are_left_out(tmp_path: Path):
    row = {"target": "banana", "seed": 0, "status": "converged", "wrong": ["x"], "gradients": 100, "z": []}
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text(json.dumps(row) + "\n" + json.dumps(row | {"seed": 1}) + '\n{"target": "ban')
    second.write_text(json.dumps(row | {"wrong": [], "gradients": 200}) + "\n" + json.dumps(row | {"target": "gone"}))
    rows = read([first, second])
    assert statuses(rows) == {"converged": Rate(1, 2)}
    assert ratios(rows, read([first]), "gradients") == (1.5, 1)


def test_some_runs_of_every_target_come_before_more_of_any():
    rounds = list(pieces(["a", "b"], range(10, 210)))
    done: set[tuple[str, int]] = set()
    for work in rounds:
        done |= {(piece.target, seed) for piece in work for seed in piece.seeds}
        counts = [sum(target == name for target, _ in done) for name in "ab"]
        assert counts[0] == counts[1]
    assert done == {(name, seed) for name in "ab" for seed in range(10, 210)}
    assert [len({s for p in work for s in p.seeds}) for work in rounds] == [5, 15, 30, 50, 100]


def test_every_page_quotes_the_study_that_was_published():
    """The README, the home page, the pages on trust and on what happens in a run, and the study's own."""
    assert not quotes.misquotes(quotes.stored())


def test_a_page_with_another_figure_is_found_and_named():
    found = quotes.stored()
    other = found._replace(rates={**found.rates, "converged": Rate(1, 10_000)}, improper=Rate(1, 400), commit="abc")
    assert len(quotes.misquotes(other)) == len(quotes.QUOTES)


def test_exchanges_that_lead_to_where_a_density_has_no_bound_end_the_search_without_an_error():
    target = TARGETS["improper: groups with 1/tau"]
    result = target.sample(target.make(), 1003, stop=pm.Stop(max_draws=400))
    assert result.status in ("not_converged", "chains_disagree")


def test_rates_are_those_of_one_commit():
    rows = [
        {"target": name, "seed": seed, "status": "converged", "wrong": [], "version": "1", "commit": "abc"}
        for name in ("banana", "improper: flat")
        for seed in range(2)
    ]
    found = figures_of(rows)
    assert (found.certified, found.improper, found.targets) == (Rate(0, 2), Rate(2, 2), 1)
    made: dict[str, object] = {}
    exec(module(found), made)
    assert (made["COMMIT"], made["RATES"], made["IMPROPER"]) == ("abc", {"converged": (0, 2)}, (2, 2))
    for commit in ("abd", "abc+"):
        with pytest.raises(ValueError, match="a study is of one commit without further changes"):
            figures_of([*rows, {**rows[0], "commit": commit}])


ROWS = [{"work": ["a", k], "commit": "abc", "words": "ü"} for k in range(3)]


@settings(deadline=None)
@given(st.integers(0, 400))
def test_a_file_of_rows_that_was_cut_off_anywhere_keeps_whole_rows_and_takes_others(cut: int):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows"
        for row in ROWS:
            add(file, row)
        whole = file.read_bytes()
        file.write_bytes(whole[:cut])
        there = of_one_commit(file, "abc")
        assert there == ROWS[: len(there)]
        assert len(there) >= whole[:cut].count(b"\n")
        add(file, ROWS[-1])
        assert of_one_commit(file, "abc") == [*there, ROWS[-1]]


def test_rows_of_another_commit_are_not_added_to(tmp_path: Path):
    assert of_one_commit(tmp_path / "none", "abd") == of_one_commit(None, "abd") == []
    add(tmp_path / "rows", ROWS[0])
    with pytest.raises(SystemExit, match="has runs of commit abc, and this is abd"):
        of_one_commit(tmp_path / "rows", "abd")


def test_a_command_that_is_begun_again_makes_the_rows_that_are_missing(tmp_path: Path):
    asked: list[int] = []

    def one(work: tuple[str, int]) -> dict[str, int]:
        asked.append(work[1])
        return {"seed": work[1]}

    given = parser_of("some", "words", ["a"], "runs").parse_args(["--processes", "0", "--out", str(tmp_path / "rows")])
    for runs in (2, 4, 4):
        found = made(one, [("a", k) for k in range(runs)], given)
        assert [row["seed"] for row in found] == list(range(runs))
    assert asked == [0, 1, 2, 3]


def test_wrong_certificates_are_named_and_invisible_modes_counted_apart():
    rows = [
        {"target": name, "seed": seed, "status": "converged", "wrong": ["x"] if wrong else []}
        for name, wrong in (("70 % in sd 0.2, d = 5", True), ("banana", False), ("square", True))
        for seed in range(2)
    ]
    told = named([*rows, {"target": "banana", "seed": 2, "status": "not_converged", "wrong": []}])
    assert 'Wrong certificates: 2 of 2 of "70 % in sd 0.2, d = 5"; 2 of 2 of "square".' in told
    assert "2 of 4 certificates were wrong: 50.00%" in told
    assert "Of 3 runs whose draws are right 2 were certified" in told.replace("\n", " ")


def test_a_study_that_is_begun_again_makes_the_runs_that_are_missing():
    (work,) = pieces(["a", "b"], range(4))
    done = {("a", 0), ("a", 1), ("b", 3)}
    assert {(piece.target, seed) for piece in left_of(work, done) for seed in piece.seeds} == {
        ("a", 2), ("a", 3), ("b", 0), ("b", 1), ("b", 2),
    }  # fmt: skip
