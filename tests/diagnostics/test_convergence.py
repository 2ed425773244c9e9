"""What is found wrong with a run, and how the user is told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr

from consilience.diagnostics import Finding, examine, inspect, warn
from consilience.diagnostics.monitor import ConvergenceMonitor
from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.errors import ConsilienceWarning, ConvergenceWarning

RNG = np.random.default_rng(1)
GOOD = RNG.normal(size=(4, 500, 3))
QUIET = {
    "diverging": np.zeros((4, 500), dtype=bool),
    "reached_max_treedepth": np.zeros((4, 500), dtype=bool),
    "energy": RNG.normal(size=(4, 500)),
}


def labelled(draws: np.ndarray) -> xr.Dataset:
    """Draws of theta with the schools' names, and of mu."""
    sample = ("chain", "draw")
    return xr.Dataset(
        {"mu": (sample, GOOD[: len(draws), : draws.shape[1], 0]), "theta": ((*sample, "school"), draws)},
        coords={"school": ["A", "B", "C"]},
    )


def test_a_good_run_has_no_findings() -> None:
    """Independent draws of four chains are beyond reproach, with statistics and without."""
    assert inspect(GOOD, QUIET) == []
    assert inspect({"x": GOOD}) == []


def test_divergences_are_counted_and_located() -> None:
    """One is enough; the chains are named."""
    diverging = QUIET["diverging"].copy()
    diverging[2, 7] = True
    (finding,) = inspect(GOOD, QUIET | {"diverging": diverging})
    assert (finding.kind, finding.level, finding.value) == ("divergences", "warning", 1)
    assert finding.message.startswith("There was 1 divergence after tuning (0.05 % of the draws).")
    assert finding.message.endswith("Increase `target_accept` or reparameterize.")
    assert finding.where == "chain 2"
    diverging[:2, :100] = True
    (finding,) = inspect(GOOD, QUIET | {"diverging": diverging})
    assert finding.message.startswith("There were 201 divergences after tuning (10 % of the draws).")
    assert finding.where == "chains 0, 1 and 2"
    (finding,) = inspect(GOOD, QUIET | {"diverging": np.ones((4, 500), dtype=bool)})
    assert "(100 % of the draws)" in finding.message


@pytest.mark.parametrize(("count", "found"), [(25, False), (26, True)])
def test_full_trees_are_found_above_five_percent_of_a_chain(count: int, found: bool) -> None:
    """The share is that of each chain, not of all."""
    full = QUIET["reached_max_treedepth"].copy()
    full[3, :count] = True
    findings = inspect(GOOD, QUIET | {"reached_max_treedepth": full})
    assert [finding.kind for finding in findings] == ["treedepth"] * found
    if found:
        assert "reached in chain 3 (in up to 5.2 % of the draws)" in findings[0].message
        assert "`max_treedepth`" in findings[0].message


def test_slow_energy_is_found() -> None:
    """A random walk of the energy has a small fraction of missing information."""
    energy = QUIET["energy"].copy()
    energy[1] = np.cumsum(energy[1])
    (finding,) = inspect(GOOD, QUIET | {"energy": energy})
    assert (finding.kind, finding.where) == ("ebfmi", "chain 1")
    assert finding.value < 0.3
    assert "below 0.3 in chain 1" in finding.message


def test_disagreeing_chains_are_found_with_the_worst_parameter() -> None:
    """The parameter has its label; the value is that of the table."""
    draws = GOOD.copy()
    draws[0, :, 1] += 1.5
    draws[0, :, 2] += 0.7
    assert inspect(draws, rule=StoppingRule(target_ess=None, target_rhat=5.0)) == []
    findings = inspect(xr.DataTree.from_dict({"posterior": labelled(draws)}))
    finding = findings[0]
    assert (finding.kind, finding.where) == ("rhat", "theta[B]")
    assert finding.value == examine(draws).r_hat[1]
    assert "larger than 1.01 by more than noise explains for 2 of 4 parameters" in finding.message
    assert f"being {finding.value:.3f} for theta[B]" in finding.message
    assert "https://arxiv.org/abs/1903.08008" in finding.message


@pytest.mark.parametrize("part", ["bulk", "tail"])
def test_few_effective_draws_are_found_in_bulk_and_tails(part: str) -> None:
    """Below one hundred per chain, whichever is the smaller."""
    draws = GOOD.copy()
    if part == "bulk":
        for t in range(1, 500):
            draws[:, t, 2] += 0.9 * draws[:, t - 1, 2]
    else:  # now and then the chain stays in the tail for long
        draws[:, 100:150, 2] = 4 + 0.1 * draws[:, 100:150, 2]
    found = examine(draws)
    assert (found.ess_tail[2] < found.ess_bulk[2]) == (part == "tail")
    findings = [finding for finding in inspect(labelled(draws)) if finding.kind == "ess"]
    (finding,) = findings
    assert finding.where == "theta[C]"
    assert finding.value == pytest.approx(min(found.ess_bulk[2], found.ess_tail[2]), rel=1e-9)
    assert f"the smallest being {finding.value:.0f} in all chains ({part}) for theta[C]" in finding.message
    assert "1 of 4 parameters" in finding.message


def test_constants_and_nan_are_passed_over() -> None:
    """A parameter without diagnostics, such as the diagonal of a correlation, is no diagnosis."""
    draws = np.concatenate([np.ones((4, 500, 1)), np.full((4, 500, 1), np.nan), GOOD], axis=2)
    assert inspect(draws) == []


@pytest.mark.parametrize(("chains", "words"), [(2, "2 chains were run"), (3, "3 chains were run"), (4, "")])
def test_few_chains_are_information_only(chains: int, words: str) -> None:
    """They are told to the caller, but nobody is warned."""
    findings = inspect(GOOD[:chains])
    assert [finding.level for finding in findings] == ["info"] * bool(words)
    assert words in "".join(finding.message for finding in findings)
    warn(findings)


def test_one_chain_is_a_warning() -> None:
    """It cannot tell of another mode; a trend shows in its halves."""
    (finding,) = inspect(GOOD[:1])
    assert (finding.kind, finding.level) == ("chains", "warning")
    assert "Only one chain was run" in finding.message
    kinds = [finding.kind for finding in inspect(GOOD[:1] + np.linspace(0, 1, 500)[:, None])]
    assert "rhat" in kinds


def test_summary_and_monitor_have_one_standard() -> None:
    """R-hat above 1.01 is told where a check of the same draws misses it, and where noise explains it, it is not."""
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(4, 100, 300))
    assert (examine(noise).r_hat > 1.01).sum() > 20
    assert (examine(noise).r_hat < 1.05).all()
    cases = [noise, noise + 0.15 * np.arange(4)[:, None, None], noise[:, :, :1] + 0.2 * np.arange(4)[:, None, None]]
    for draws, large in zip(cases, (False, True, True), strict=True):
        for strict in (False, True):
            rule = StoppingRule(target_ess=None, strict=strict)
            monitor = ConvergenceMonitor(4, draws.shape[2])
            monitor.extend(draws)
            failure = monitor.check(rule, everything=True)
            findings = inspect(draws, rule=rule)
            assert [finding.kind for finding in findings] == ["rhat"] * (large or strict)
            assert (failure is not None) == (large or strict)
            if failure is not None:
                assert findings[0].value == monitor.measure([failure.scalar]).r_hat[0]


def test_few_draws_are_not_judged() -> None:
    """Below one hundred draws the diagnostics say little; divergences still count."""
    diverging = np.ones((4, 99), dtype=bool)
    assert inspect(np.cumsum(GOOD[:, :100], axis=1)) != []
    draws = np.cumsum(GOOD[:, :99], axis=1)
    findings = inspect(draws, {"diverging": diverging})
    assert [(finding.kind, finding.level) for finding in findings] == [
        ("divergences", "warning"),
        ("draws", "info"),
    ]


def test_statistics_of_a_tree_are_its_own() -> None:
    """A tree's group of sampler statistics is looked at, but for arrays with further axes."""
    diverging = np.ones((500, 4), dtype=bool)
    stats = xr.Dataset(
        {
            "diverging": (("draw", "chain"), diverging),
            "energy": (("chain", "draw", "part"), np.ones((4, 500, 2))),
        }
    )
    tree = xr.DataTree.from_dict({"posterior": labelled(GOOD), "sample_stats": stats})
    assert [(finding.kind, finding.value) for finding in inspect(tree)] == [("divergences", 2000)]


def test_statistics_count_without_variables() -> None:
    """A run of which no variable was kept has statistics all the same."""
    findings = inspect({}, QUIET | {"diverging": np.ones((4, 500), dtype=bool)})
    assert [finding.kind for finding in findings] == ["divergences"]
    assert inspect(xr.DataTree.from_dict({"posterior": labelled(GOOD)})) == []


def test_each_warning_is_issued_once_at_the_caller() -> None:
    """Level warning becomes a ConvergenceWarning that points here; information is silent."""
    findings = [
        Finding("rhat", "warning", "first", 1.1),
        Finding("chains", "info", "second", 2),
        Finding("ess", "warning", "third", 10),
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(findings)
    assert [str(item.message) for item in caught] == ["first", "third"]
    assert all(item.category is ConvergenceWarning and item.filename == __file__ for item in caught)
    assert issubclass(ConvergenceWarning, ConsilienceWarning)
