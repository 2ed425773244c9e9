"""The study of certificates: what it calls wrong, the intervals of its rates, and what it keeps of runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.certificates import quotes
from benchmarks.certificates.judgement import contradictions
from benchmarks.certificates.page import figures_of, module
from benchmarks.certificates.study import left_of, pieces
from benchmarks.certificates.summary import Rate, ratios, read, statuses
from benchmarks.certificates.targets import KINDS, TARGETS
from benchmarks.certificates.truths import known

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
    assert target.sample(target.make(), 1003).status in {"not_converged", "chains_disagree"}


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


def test_a_study_that_is_begun_again_makes_the_runs_that_are_missing():
    (work,) = pieces(["a", "b"], range(4))
    done = {("a", 0), ("a", 1), ("b", 3)}
    assert {(piece.target, seed) for piece in left_of(work, done) for seed in piece.seeds} == {
        ("a", 2), ("a", 3), ("b", 0), ("b", 1), ("b", 2),
    }  # fmt: skip
