"""What a run decides: its verdicts, when it tunes again, when chains disagree, and that it looks at fixed lengths."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.diagnostics.examination import examine
from consilience.diagnostics.stopping_rule import Failure, StoppingRule
from consilience.errors import SamplingError
from consilience.events import CheckFigures, Event, Restarted
from consilience.inference import NUTS
from consilience.inference.jump_tuner import JUMPS
from consilience.inference.messages import Window
from consilience.run import Run, RunPlan, RunResult, forecast, monitor, verdicts
from consilience.run.attempt import Attempt
from consilience.run.course import RunCourse
from consilience.run.remedies import Restart, jumps
from consilience.run.verdicts import Sight
from tests.inference.targets import Target, correlated, correlated_normal, funnel, standard
from tests.run.launching import launch, run_chains
from tests.run.support import EarlyChecks, finish
from tests.run.targets import two_normals

NORMAL = correlated_normal(5, 1)
FUNNEL = Target(funnel, 4, np.zeros(4), np.ones(4))
JUMPING = NUTS(jumps="auto")
OTHERS = ("coordinates", "metric", "jumps")
SCHEDULE = [100, 126, 158, 196, 246, 306, 382, 478, 598, 746, 932]


def points(dimension: int, chains: int = 4) -> NDArray[np.float64]:
    return np.random.default_rng(0).uniform(-2.0, 2.0, (chains, dimension))


def run(
    target: Target, options: EarlyChecks, start: Any = None, kernel: NUTS | None = None, **others: Any
) -> RunResult:
    start = points(target.dimension) if start is None else start
    return run_chains(target, kernel or NUTS(jumps=0), start, options, seed=3, **others)


# --- a verdict on draws that pass --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("divergences", "draws", "size", "widths", "low_energy", "status"),
    [
        (0, 1600, 400, None, False, "converged"),
        (0, 1600, 400, None, True, "not_converged"),
        (3, 1600, 400, None, False, "converged"),  # accidents, where chains come to all places soon
        (1, 4000, 400, None, False, "converged_with_divergences"),
        (4, 1600, 400, None, False, "not_converged"),
        (1600, 1600, 400, None, False, "not_converged"),
        (0, 1600, 400, 1.05, False, "converged"),  # smaller steps showed nothing new
        (0, 1600, 400, 1.3, False, "converged_with_divergences"),
        (0, 1600, 400, 0.7, False, "converged_with_divergences"),
        (0, 400, 90, 1.2, False, "converged"),  # noise of few draws
        (0, 4000, 400, 1.05, False, "converged_with_divergences"),
        (1, 1600, 400, 1.05, False, "converged"),
        (3, 1600, 400, 1.05, False, "not_converged"),
        (1, 10_000, 400, 1.05, True, "not_converged"),
        (3, 10_000, 400, 1.05, False, "converged_with_divergences"),
        (11, 10_000, 4000, 1.05, False, "not_converged"),
    ],
)
def test_verdicts_on_draws_that_pass(
    divergences: int, draws: int, size: float, widths: float | None, low_energy: bool, status: str
) -> None:
    """Up to 0.2 % before another tuning, up to 0.1 % after it; with a word where they may be signs of a missed tail."""
    errors = np.full(2, 1.0 / np.sqrt(2.0 * size))
    before = None if widths is None else Sight(np.array([1.0, 2.0]), errors, draws, 9)
    now = None if widths is None else Sight(np.array([1.0, 2.0 * widths]), errors, draws, divergences)
    verdict = verdicts.of_passing(divergences, draws, size, 4, low_energy, (), before, now)
    assert verdict.status == status
    assert verdict.divergences == (status != "converged" and not low_energy)
    assert (verdict.reason == "") == (status == "converged")
    if low_energy:
        assert "E-BFMI" in verdict.reason
    elif divergences and status != "converged":
        assert f"{divergences} of {draws} draws" in verdict.reason
    if widths in (0.7, 1.3):
        assert f"9 of {draws} draws had diverged, and with smaller steps a standard deviation changed" in verdict.reason
    if divergences < 3 and (widths is None or abs(np.log(widths)) < 0.1) and not low_energy:
        # What hardly diverges with the smallest steps, and is as wide as before, was no tail.
        smallest = verdicts.of_passing(divergences, draws, size, 4, low_energy, (), before, now, smallest=True)
        assert smallest.status == "converged"


def test_errors_of_widths_are_those_of_autocorrelated_draws() -> None:
    """Their z scores have a standard deviation near 1, whatever the kurtosis."""
    rng = np.random.default_rng(5)
    scores = []
    earlier = Sight(np.ones(2), np.ones(2), 100, 2)
    noise = rng.normal(size=(60, 4, 1000))
    for t in range(1, 1000):
        noise[..., t] = 0.9 * noise[..., t - 1] + np.sqrt(0.19) * noise[..., t]
    for own in noise:
        seen = verdicts.sight(np.stack([own, rng.gamma(1.0, 1.0, size=own.shape)], axis=2), 3, earlier)
        scores.append(np.log(seen.widths) / seen.errors)
    assert (seen.draws, seen.divergences) == (4100, 5)
    assert np.all(np.abs(np.std(scores, axis=0) - 1.1) < 0.35)


def test_a_constant_has_no_width_that_changed() -> None:
    """Nor does it hide what did."""
    draws = np.random.default_rng(1).normal(size=(4, 200, 2)) * [0.0, 1.0]
    before = verdicts.sight(draws, 0)
    assert verdicts.width_change(before, before) == 1.0
    assert verdicts.width_change(before, verdicts.sight(draws * [1.0, 3.0], 0)) == pytest.approx(3.0)
    still = verdicts.sight(draws * [1.0, 0.0], 2)  # such as an indicator that is 0 in all draws
    assert verdicts.width_change(before, still) == verdicts.width_change(still, before) == 1.0


def test_a_rate_of_divergences_is_told_by_enough_draws() -> None:
    """Three of 2,000 may be those of one in a thousand; ten are not."""
    assert not verdicts.surely_too_many(3, 2000)
    assert verdicts.surely_too_many(10, 2000)
    assert not verdicts.surely_too_many(0, 100)


def test_one_chain_is_not_certified_without_a_word() -> None:
    result = run(NORMAL, EarlyChecks(), points(5, 1))
    assert result.verdict.status == "converged"
    assert "only one chain was run" in result.verdict.reason


def test_low_energy_is_that_of_the_worst_chain() -> None:
    noise = np.random.default_rng(0).standard_normal(1000)
    assert not verdicts.energy_is_low([noise, noise])
    assert verdicts.energy_is_low([noise, np.cumsum(noise)])
    assert not verdicts.energy_is_low([noise[:3]])


# --- a monitor that says what the test wants ---------------------------------------------------------------------


def visits(chains: int, draws: int, first: int, persistence: float = 0.0, seed: int = 0) -> NDArray[np.float64]:
    """Draws (chain, draw), autoregressive; the first few of the last chain are from elsewhere."""
    noise = np.random.default_rng(seed).standard_normal((chains, draws))
    for i in range(1, draws):
        noise[:, i] = persistence * noise[:, i - 1] + np.sqrt(1.0 - persistence**2) * noise[:, i]
    noise[-1, :first] += 20.0
    return noise


class Scripted:
    """In place of a convergence monitor: passes, and disagrees, as functions of the number of draws."""

    passes: Callable[[int], bool] = staticmethod(lambda count: False)
    disagrees: Callable[[int], bool] = staticmethod(lambda count: False)
    rhat = 1.0  # of the scalar that fails
    visited_once: Callable[[int], bool] = staticmethod(lambda count: False)
    size = 300.0  # effective draws of the scalar that fails
    checked: list[int]

    def __init__(self, chains: int, scalars: int, superchains: int = 0) -> None:
        self.chains = chains
        self.scalars = scalars
        self.count = 0
        self.nearness = np.full(scalars, np.nan)
        self.levels: list[NDArray[np.float64]] = []

    def extend(self, *groups: Sequence[NDArray[np.float64]]) -> None:
        assert {len(group) for group in groups} == {self.chains}
        self.count += len(groups[0][0])
        self.levels.append(np.stack([own[:, 0] for own in groups[-1]]))

    def check(self, rule: StoppingRule, *, everything: bool) -> Failure | None:
        self.checked.append(self.count)
        return None if self.passes(self.count) else Failure(0, "bulk ess", self.size, 400.0, self.rhat, self.size)

    def disagreeing(self, rhat: float) -> list[int]:
        return [0] if self.disagrees(self.count) else []

    def mixing_alone(self, scalars: Sequence[int], size: float) -> Sequence[int]:
        return scalars

    def draws(self, scalar: int) -> NDArray[np.float64]:
        if scalar == self.scalars - 1:
            return np.concatenate(self.levels, axis=1)
        return visits(self.chains, self.count, int(self.visited_once(self.count)) * self.count // 8)

    def nearest_to_failing(self) -> tuple[int, float, float]:
        return 0, 1.0, self.size

    def worst_states(self, number: int) -> Any:
        return [0], self.measure([0])

    def measure(self, scalars: Sequence[int] | None = None) -> Any:
        class Figures:
            r_hat, ess_bulk, ess_tail = np.ones(1), np.full(1, self.size), np.full(1, self.size)

        return Figures

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a monitor that says what the test wants has no {name!r}")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> type[Scripted]:
    class Fresh(Scripted):
        checked: list[int] = []  # noqa: RUF012  # a class for each test

    monkeypatch.setattr(monitor, "ConvergenceMonitor", Fresh)
    return Fresh


@pytest.mark.parametrize("wanted", SCHEDULE[:6])
def test_a_run_ends_at_the_first_check_that_passes(script: type[Scripted], wanted: int) -> None:
    script.passes = staticmethod(lambda count: count >= wanted)
    result = run(NORMAL, EarlyChecks())
    assert result.draws.shape[1] == wanted
    assert result.verdict == verdicts.Verdict("converged")
    assert script.checked == SCHEDULE[: SCHEDULE.index(wanted) + 1]


def test_the_last_check_is_where_the_run_ends(script: type[Scripted]) -> None:
    result = run(NORMAL, EarlyChecks(max_draws=333))
    assert script.checked == [*SCHEDULE[:6], 333]
    assert result.verdict.status == "not_converged"
    assert result.verdict.worst == "x[0]"
    assert "500 draws per chain would be enough" in result.verdict.reason
    assert "(max_draws=333)" in result.verdict.reason


def test_fixed_lengths_are_looked_at_once(script: type[Scripted]) -> None:
    """They end where they were told to, whatever is found."""
    result = run(NORMAL, EarlyChecks(draws=500))
    assert result.draws.shape[1] == 500
    assert result.restarts == ()
    assert set(script.checked) == {500}


def test_fixed_lengths_need_not_be_checked(script: type[Scripted]) -> None:
    """Then nothing is kept for it, and no verdict is given; runs that end by the rule are checked all the same."""
    unchecked = monitor.Monitored(tuple("abcde"), enabled=False)
    result = run(NORMAL, EarlyChecks(draws=200), monitored=unchecked)
    assert (result.verdict.status, result.draws.shape[1]) == ("completed", 200)
    assert "not checked" in result.verdict.reason
    assert script.checked == []
    assert result.check is None
    run(NORMAL, EarlyChecks(max_draws=126), monitored=unchecked)
    assert script.checked == [100, 126]


def test_disagreement_is_believed_at_the_second_check_in_a_row(script: type[Scripted]) -> None:
    """From 400 draws on, which is the check at 478; one alone is not enough."""
    script.disagrees = staticmethod(lambda count: True)
    assert run(NORMAL, EarlyChecks()).draws.shape[1] == 598
    script.disagrees = staticmethod(lambda count: count not in {598})
    result = run(NORMAL, EarlyChecks())
    assert result.draws.shape[1] == 932
    assert result.verdict.status == "chains_disagree"
    assert result.verdict.worst == "x[0]"
    for c in range(4):
        level = result.statistics["lp"][c].mean()
        assert f"chain {c}: {level:.1f}" in result.verdict.reason


def test_disagreement_at_the_end_is_said_at_once(script: type[Scripted]) -> None:
    script.disagrees = staticmethod(lambda count: True)
    for options in (EarlyChecks(max_draws=450), EarlyChecks(draws=450)):
        result = run(NORMAL, options)
        assert (result.verdict.status, result.draws.shape[1]) == ("chains_disagree", 450)
        assert result.restarts == ()
    assert run(NORMAL, EarlyChecks(draws=399)).verdict.status == "not_converged"


def test_disagreement_turns_jumps_on_once(script: type[Scripted]) -> None:
    """The draws begin anew, with jumps; chains that still disagree are said to."""
    script.disagrees = staticmethod(lambda count: True)
    events: list[Event] = []
    result = run(NORMAL, EarlyChecks(), kernel=JUMPING, listeners=[events.append])
    assert result.restarts == ("jumps",)
    assert result.verdict.status == "chains_disagree"
    assert result.draws.shape[1] == 598
    assert [type(e) for e in events].count(Restarted) == 1
    without = run(NORMAL, EarlyChecks())
    spent = [sum(r.evaluations) for r in (without, result)]
    assert spent[1] > spent[0] + 4 * 598 * JUMPS


def test_figures_of_every_check_are_told(script: type[Scripted]) -> None:
    script.passes = staticmethod(lambda count: count >= 158)
    events: list[Event] = []
    run(NORMAL, EarlyChecks(), listeners=[events.append])
    figures = [event for event in events if isinstance(event, CheckFigures)]
    assert [f.draws for f in figures] == [100, 126, 158]
    assert [f.passed for f in figures] == [False, False, True]
    assert [f.next_check for f in figures[:2]] == [126, 158]
    assert {f.target_ess for f in figures} == {400.0}


@pytest.mark.parametrize("size", [10.0, 0.0])
def test_what_is_far_from_enough_is_not_looked_at_often(script: type[Scripted], size: float) -> None:
    """Not before half of the draws it takes, or twice those there are; from 400 on chains may disagree."""
    script.size = size
    events: list[Event] = []
    run(NORMAL, EarlyChecks(max_draws=1300), listeners=[events.append])
    figures = [event for event in events if isinstance(event, CheckFigures)]
    assert script.checked == [100, 246, 478, 1166, 1300]
    assert [f.next_check for f in figures[:4]] == script.checked[1:]


def test_chains_that_may_disagree_are_looked_at_again_soon(script: type[Scripted]) -> None:
    script.size = 10.0
    script.disagrees = staticmethod(lambda count: count == 478)
    events: list[Event] = []
    run(NORMAL, EarlyChecks(max_draws=1300), listeners=[events.append])
    assert script.checked == [100, 246, 478, 598, 1300]
    assert [event.next_check for event in events if isinstance(event, CheckFigures)][:4] == script.checked[1:]


# --- a region that was visited once ------------------------------------------------------------------------------


def monitored(draws: NDArray[np.float64]) -> monitor.Monitor:
    """A monitor that has seen these draws (chain, draw) of `x`, and independent ones of `y`."""
    found = monitor.Monitor(monitor.Monitored(("x", "y")), range(len(draws)))
    other = np.random.default_rng(1).standard_normal(draws.shape)
    pairs = np.stack([draws, other], axis=2)
    found.extend(pairs, other)
    return found


@given(
    chains=st.integers(2, 8),
    draws=st.integers(1500, 4000),
    share=st.floats(0.03, 0.12),
    persistence=st.floats(0.0, 0.5),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_region_visited_once_fails_at_its_quantiles(
    chains: int, draws: int, share: float, persistence: float, seed: int
) -> None:
    """However small its share of all draws has become; draws that come and go everywhere pass."""
    rule = StoppingRule(target_ess=float(chains * draws // 8))
    once = monitored(visits(chains, draws, int(share * draws), persistence, seed))
    failure = verdicts.poorly_known_quantile(once, {"x", "y"}, rule)
    assert failure is not None
    assert (failure.scalar, failure.criterion, failure.bound) == (0, "quantile ess", 0.5 * rule.target_ess)
    assert failure.value < failure.bound
    assert verdicts.poorly_known_quantile(once, {"y"}, rule) is None
    assert verdicts.poorly_known_quantile(once, {"x"}, StoppingRule(target_ess=None)) is None
    assert (
        verdicts.poorly_known_quantile(monitored(visits(chains, draws, 0, persistence, seed)), {"x", "y"}, rule) is None
    )


@pytest.mark.parametrize(("share", "passes"), [(0.0, True), (0.04, True), (0.06, False), (1.0, False)])
def test_draws_have_to_come_back_to_where_an_attempt_before_was(share: float, passes: bool) -> None:
    """All but one in twenty of what was seen lies among the draws."""
    seen = np.random.default_rng(2).uniform(-1.0, 1.0, (500, 2))
    seen[: round(500 * share), 0] += 20.0
    failure = verdicts.poorly_known_quantile(monitored(visits(4, 1000, 0)), {"x"}, StoppingRule(), seen)
    assert (failure is None) == passes
    if failure is not None:
        assert (failure.scalar, failure.criterion, failure.value) == (0, "quantile ess", 0.0)


def test_jumps_begin_from_where_chains_were_when_they_were_apart(
    script: type[Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later draws have come from one of the places only."""
    given: list[Any] = []
    plain = jumps._from_where_chains_were

    def noted(attempt: Attempt, returns_seldom: bool) -> Restart:
        request = plain(attempt, returns_seldom)
        assert request.revisited is not None
        given.append(request.revisited[0])
        for c, window in attempt.windows[0].items():
            np.testing.assert_array_equal(request.windows[0][c].draws, window.draws)
        return request

    monkeypatch.setattr(jumps, "_from_where_chains_were", noted)
    script.rhat = 1.3
    script.passes = staticmethod(lambda count: count >= 158)
    script.visited_once = staticmethod(lambda count: True)
    run(NORMAL, EarlyChecks(max_draws=333), kernel=JUMPING)
    assert given == [("x[0]",)]


def test_no_more_scalars_are_remembered_than_can_be_looked_at(
    script: type[Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that failed is among them, however many others chains are apart in."""
    remembered: list[set[str]] = []
    plain = Attempt._note_separated

    def noted(self: Attempt, names: Sequence[str]) -> None:
        plain(self, names)
        remembered.append(set(self.separated))

    monkeypatch.setattr(Attempt, "_note_separated", noted)
    script.rhat = 1.3
    script.disagreeing = lambda self, rhat: list(range(29, -1, -1))  # type: ignore[method-assign]
    run(standard(30), EarlyChecks(max_draws=500))
    assert remembered[0] == {"x[0]"}  # too early to look at all of them
    assert "x[0]" in remembered[-1]
    assert len(remembered[-1]) == 20


def test_scalars_in_which_chains_were_apart_have_to_be_visited_everywhere(script: type[Scripted]) -> None:
    """An R-hat above 1.2 is remembered; the run ends when what was visited once was visited again."""
    script.passes = staticmethod(lambda count: count >= 158)
    script.visited_once = staticmethod(lambda count: count < 306)
    assert run(NORMAL, EarlyChecks()).draws.shape[1] == 158  # chains were never apart
    script.rhat = 1.3
    events: list[Event] = []
    result = run(NORMAL, EarlyChecks(), listeners=[events.append])
    assert (result.verdict.status, result.draws.shape[1]) == ("converged", 306)
    figures = [event for event in events if isinstance(event, CheckFigures)]
    assert [(f.draws, f.passed) for f in figures[2:]] == [(158, False), (196, False), (246, False), (306, True)]
    assert all(f.ess < 200.0 and f.ess_name == "x[0]" for f in figures[2:5])


def test_what_was_visited_once_is_said_or_leads_to_jumps(script: type[Scripted]) -> None:
    script.rhat = 1.3
    script.passes = staticmethod(lambda count: count >= 158)
    script.visited_once = staticmethod(lambda count: True)
    result = run(NORMAL, EarlyChecks(max_draws=333))
    assert (result.verdict.status, result.verdict.worst) == ("not_converged", "x[0]")
    assert "rarely returned" in result.verdict.reason
    result = run(NORMAL, EarlyChecks(max_draws=333), kernel=JUMPING)
    assert result.restarts == ("jumps",)
    assert result.verdict.status == "not_converged"


# --- tuning again ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pool", [True, False])
def test_divergences_lead_to_one_more_tuning(pool: bool) -> None:
    """With smaller steps; the store begins anew; a funnel is still not certified."""
    result = run(FUNNEL, EarlyChecks(max_draws=400, pool=pool, tune=None if pool else 200))
    assert result.restarts.count("divergences") == 1
    before = run(FUNNEL, EarlyChecks(max_draws=400, pool=pool, tune=None if pool else 200, remedies=OTHERS))
    assert "divergences" not in before.restarts
    assert before.draws.shape[1] == 400
    steps = [np.mean([t.step_size for t in r.tuning]) for r in (before, result)]
    assert steps[1] < 0.8 * steps[0]
    for r in (before, result):
        assert r.verdict.status != "converged"


def test_what_draws_showed_that_were_given_up_is_kept() -> None:
    """Their widths tell whether smaller steps led elsewhere."""
    running = launch(FUNNEL, NUTS(), points(4), EarlyChecks(max_draws=400), seed=3)
    finish(running)
    seen = running.course.diverged
    assert seen is not None
    assert seen.divergences > 2
    assert seen.draws >= 400
    assert seen.widths.shape == (4,)


@pytest.mark.usefixtures("script")
def test_a_metric_that_the_draws_contradict_is_made_anew() -> None:
    """Tuning of two transitions knows little of a posterior with forty scales along directions of no coordinate."""
    rng = np.random.default_rng(1)
    axes, _ = np.linalg.qr(rng.standard_normal((40, 40)))
    variances = np.exp(rng.uniform(-5.0, 5.0, 40))
    deviation = np.sqrt(np.diag(axes * variances @ axes.T))
    target = Target(correlated, 40, np.zeros(40), deviation, (axes / variances) @ axes.T)
    start = rng.standard_normal((4, 40)) * np.sqrt(variances) @ axes.T
    options = EarlyChecks(max_tune=2, max_draws=500)
    result = run(target, options, start, NUTS(initialize=False))
    assert result.restarts.count("metric") == 1
    well = run(target, EarlyChecks(max_draws=500), start)
    assert "metric" not in well.restarts


# --- two modes ---------------------------------------------------------------------------------------------------


def two_modes(distance: float) -> Target:
    return Target(two_normals, 2, np.zeros(2), np.ones(2), number=distance)


APART = np.array([[-8.0, 0.1], [8.0, 0.2], [-8.0, 0.3], [8.0, 0.4]])


def test_chains_in_two_far_modes_disagree() -> None:
    """Never certified; said with the coordinate, and each chain's mean log density."""
    result = run(two_modes(16.0), EarlyChecks(), APART)
    assert result.verdict.status == "chains_disagree"
    assert result.verdict.worst == "x[0]"
    assert "are in different regions of `x[0]`" in result.verdict.reason
    assert result.draws.shape[1] < 1000


def test_jumps_join_two_far_modes() -> None:
    """Both are visited by every chain, and weighted as they should be."""
    result = run(two_modes(16.0), EarlyChecks(), APART, JUMPING)
    assert result.restarts == ("jumps",)
    assert result.verdict.status == "converged", result.verdict
    share = (result.draws[..., 0] > 0).mean(axis=1)
    assert ((share > 0.1) & (share < 0.9)).all()
    assert abs(share.mean() - 0.5) < 0.1


# --- strictness --------------------------------------------------------------------------------------------------


def found_regions(searched: bool | None) -> monitor.Monitored:
    """What is monitored of 30 coordinates where a search came to its end, or did not, or was not made."""
    names = tuple(f"x[{i}]" for i in range(30))
    return monitor.Monitored(names, searched=None if searched is None else lambda: searched)


def test_strictness_asks_for_more() -> None:
    """The draws of a strict run have the R-hat it says, and are not fewer."""
    rules = [StoppingRule(target_ess=100.0, target_rhat=1.005, strict=strict) for strict in (False, True)]
    loose, strict = (run(standard(30), EarlyChecks(rule=rule), monitored=found_regions(True)) for rule in rules)
    assert strict.verdict.status == "converged"
    assert strict.draws.shape[1] >= loose.draws.shape[1]
    worst = [max(examine(r.draws[..., [i]]).r_hat.max() for i in range(30)) for r in (loose, strict)]
    assert worst[1] < 1.005
    assert worst[0] < 1.045


@pytest.mark.parametrize("chains", [2, 4, 8])
def test_a_large_rhat_is_chance_only_where_modes_were_looked_for(chains: int) -> None:
    """Of the same draws: with a search to its end noise may explain it, else it forbids a certificate and is told."""
    rule = StoppingRule(target_ess=None, target_rhat=1.005)
    for draws in (300, 1000, 2400):
        ended = {
            searched: run(
                standard(30),
                EarlyChecks(draws=draws, tune=100, rule=rule),
                points(30, chains),
                monitored=found_regions(searched),
            )
            for searched in (None, False, True)
        }
        worst = max(examine(ended[None].draws[..., [i]]).r_hat.max() for i in range(30))
        levels = examine(np.stack([ended[None].statistics["lp"]], axis=-1)).r_hat.max()
        small = max(worst, levels) < rule.target_rhat
        assert ended[True].verdict.status == "converged"
        for searched, words in ((None, "modes were not looked for"), (False, "did not come to its end")):
            verdict = ended[searched].verdict
            assert (verdict.status == "converged") == small, (draws, worst, verdict)
            assert small or words in verdict.reason


def test_chains_that_did_not_tune_at_all_may_tune_after_divergences() -> None:
    result = run_chains(FUNNEL, NUTS(), points(4), EarlyChecks(tune=0, min_draws=4, max_draws=8), seed=0)
    assert result.restarts == ("divergences",)
    assert result.draws.shape == (4, 8, 4)


# --- going on as long as a forecast says ---------------------------------------------------------------------------


def timed(
    plan: EarlyChecks, per_draw: float, monkeypatch: pytest.MonkeyPatch, seen: list[Event] | None = None
) -> RunResult:
    """A run whose transitions are priced at so many seconds, all chains together."""

    def spend(course: RunCourse, windows: Mapping[int, Window]) -> None:
        course.spent += per_draw * next(iter(windows.values())).statistics.shape[1]

    with monkeypatch.context() as patch:
        patch.setattr(RunCourse, "_spend", spend)
        return run(NORMAL, plan, listeners=[] if seen is None else [seen.append])


def growing(script: type[Scripted], share: float) -> None:
    """Let effective draws be such a share of the draws."""
    script.size = property(lambda self: share * self.count)  # type: ignore[assignment]
    script.passes = staticmethod(lambda count: share * count >= 400.0)


@pytest.mark.parametrize("share", [0.25, 0.02])
def test_a_run_goes_on_as_long_as_its_draws_become_worth_more(script: type[Scripted], share: float) -> None:
    """There is no number of draws at which it ends; what it gives are the first draws of any longer run."""
    growing(script, share)
    result = run(NORMAL, EarlyChecks())
    assert result.verdict.status == "converged"
    assert 400 / share <= result.draws.shape[1] <= 1.3 * 400 / share
    assert run(NORMAL, EarlyChecks(max_draws=100)).verdict.status == "not_converged"
    np.testing.assert_array_equal(result.draws[:, :100], run(NORMAL, EarlyChecks(max_draws=100)).draws)


@pytest.mark.parametrize(("size", "draws"), [(20.0, (3200, 6400)), (300.0, (9600, 16_000))])
def test_a_run_whose_draws_become_worth_no_more_ends(
    script: type[Scripted], size: float, draws: tuple[int, int]
) -> None:
    """After eight times the draws; near its goal after three times as many. The clock has no part in it."""
    script.size = size
    result = run(NORMAL, EarlyChecks(min_draws=400, patience=None))
    assert draws[0] <= result.draws.shape[1] <= draws[1]
    assert "so more draws will hardly help; `result.extend(…)` continues anyway" in result.verdict.reason
    assert run(NORMAL, EarlyChecks(min_draws=400, max_draws=20_000)).draws.shape[1] == 20_000


def test_a_run_ends_at_the_look_that_foretells_too_long_a_time(
    script: type[Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what was spent: a minute, or five times what was spent at the first look; further if it is nearly there."""
    growing(script, 0.05)
    seen: list[Event] = []
    result = timed(EarlyChecks(min_draws=400), 0.01, monkeypatch, seen)
    assert result.verdict.status == "not_converged"
    assert 1600 < result.draws.shape[1] < 6000
    said = r"that takes about [\d,]+ more evaluations of the log density, and a run of this model stops after [\d,]+"
    assert re.search(said, result.verdict.reason)
    np.testing.assert_array_equal(result.draws, run(NORMAL, EarlyChecks(draws=result.draws.shape[1])).draws)
    needed = [event.needed for event in seen if isinstance(event, CheckFigures)]
    np.testing.assert_allclose([n for n in needed if not np.isnan(n)], 8000)
    for free in ({"patience": None}, {"max_time": 1e9}, {"max_draws": 10_000}):
        assert timed(EarlyChecks(min_draws=400, **free), 0.01, monkeypatch).verdict.status == "converged"


def test_no_clock_decides_over_draws_or_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks twenty times as fast and as slow give the same draws, as many of them, the same status and reason.

    The run ends far from its goal by what it may spend, which is priced by evaluations.
    """
    plan = EarlyChecks(min_draws=100, patience=1e-3, rule=StoppingRule(target_ess=50_000.0))
    clocks = {name: getattr(time, name) for name in ("perf_counter", "monotonic", "process_time", "time")}

    def at(rate: float) -> RunResult:
        with monkeypatch.context() as patch:
            for name, clock in clocks.items():
                patch.setattr(time, name, lambda clock=clock: rate * clock())
            patch.setattr(Run, "clock", staticmethod(time.perf_counter))
            return run(NORMAL, plan)

    plain, *others = (at(rate) for rate in (1.0, 20.0, 0.05))
    assert "and a run of this model stops after" in plain.verdict.reason
    for other in others:
        np.testing.assert_array_equal(other.draws, plain.draws)
        assert (other.verdict, other.evaluations) == (plain.verdict, plain.evaluations)


def test_a_run_that_cannot_tell_uses_its_time(script: type[Scripted], monkeypatch: pytest.MonkeyPatch) -> None:
    """Five times what was spent at the first look, where transitions are slow; there it ends, with what it has."""
    growing(script, 0.001)
    result = timed(EarlyChecks(min_draws=400, tune=400), 1.0, monkeypatch)
    assert 2000 < result.draws.shape[1] <= 3600
    assert "an unknown number of evaluations after" in result.verdict.reason


def test_a_run_near_its_goal_goes_on_beyond_its_time(script: type[Scripted], monkeypatch: pytest.MonkeyPatch) -> None:
    script.passes = staticmethod(lambda count: count >= 500)
    script.size = 350.0
    monkeypatch.setattr(forecast, "MULTIPLE", 1.0)
    assert timed(EarlyChecks(min_draws=400, tune=400), 1.0, monkeypatch).verdict.status == "converged"
    script.size = 200.0
    assert timed(EarlyChecks(min_draws=400, tune=400), 1.0, monkeypatch).draws.shape[1] == 400


def test_a_run_that_diverges_too_much_for_any_certificate_ends(
    script: type[Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After eight times the draws of the first check, where nothing else can be done; its reason says so."""
    growing(script, 0.05)
    monkeypatch.setattr(Attempt, "divergences", property(lambda self: self.count // 50))
    result = run(NORMAL, EarlyChecks(min_draws=400, remedies=()))
    assert 3200 <= result.draws.shape[1] <= 6400
    assert re.search(r"\d+ of \d+ draws diverged, and more draws will not fix that", result.verdict.reason)


def test_draws_fill_half_of_the_free_memory_at_most(script: type[Scripted], monkeypatch: pytest.MonkeyPatch) -> None:
    """But for those of the first check, and those that `max_draws` allows."""
    growing(script, 0.1)
    row = 8 * 4 * (5 + len(NUTS().columns.types))
    monkeypatch.setattr(forecast, "_free_memory", lambda: 2.0 * 1000 * row)
    result = run(NORMAL, EarlyChecks(min_draws=400))
    assert result.draws.shape[1] < 1000
    assert "half of the memory that was free" in result.verdict.reason
    assert run(NORMAL, EarlyChecks(max_draws=5000)).verdict.status == "converged"
    monkeypatch.setattr(forecast, "_free_memory", lambda: 0.0)
    assert run(NORMAL, EarlyChecks(min_draws=400)).draws.shape[1] == 400


def test_a_remedy_that_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(SamplingError, match=r"`remedies` may name 'symmetries', 'coordinates', .*, got 'step'"):
        RunPlan(remedies=("jumps", "step"))


def test_remedies_that_are_not_named_are_not_applied() -> None:
    assert run(FUNNEL, EarlyChecks(max_draws=400, remedies=())).restarts == ()
