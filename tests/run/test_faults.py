"""What a run does when something goes wrong: a chain, all chains, a density, a listener, a clock."""

from __future__ import annotations

import gc
import itertools
import math
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from consilience.diagnostics.examination import examine
from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.errors import ConsilienceWarning, InitialPointError, SamplingError
from consilience.inference import NUTS, CompoundStep, Kernel, Metropolis, Slice
from consilience.run import ChainLost, ChainMoved, DrawsMade, Event, Monitored, Progress, RunEnded, RunResult
from tests.inference.targets import Target, correlated_normal, half_space, standard
from tests.run.launching import launch, run_chains
from tests.run.support import EarlyChecks, Watched, WatchedKernel, fingerprint, finish, sleepy
from tests.run.targets import long_tailed, with_switch

NORMAL = correlated_normal(5, 1)
LONG = EarlyChecks(rule=StoppingRule(target_ess=1e9), max_draws=200)


def points(chains: int = 4, dimension: int = 5) -> NDArray[np.float64]:
    return np.random.default_rng(0).uniform(-2.0, 2.0, (chains, dimension))


def faulty(times: int, number: int = 1, after: int = 0, kernel: Kernel | None = None) -> WatchedKernel:
    """A chain raises so many times, in segments that begin when it has made more than `after` transitions."""

    def hook(chain: Watched) -> None:
        if chain.number == number and chain.begun > after and chain.reseeded < times:
            raise ZeroDivisionError("by chance")

    return WatchedKernel(hook, kernel)


@pytest.mark.parametrize("after", [-1, 0, 20, 100, 180])
@pytest.mark.parametrize("pool", [True, False])
def test_a_chain_that_fails_once_begins_again(pool: bool, after: int) -> None:
    """At its beginning, while tuning, while sampling: noted, with all chains in the result, whatever the threads do."""
    options = EarlyChecks(rule=StoppingRule(target_ess=1e9), max_draws=200, pool=pool, tune=None if pool else 60)
    runs = [run_chains(NORMAL, faulty(1, after=after), points(), options, seed=4, cores=cores) for cores in (1, 2, 3)]
    assert runs[0].chains == (0, 1, 2, 3)
    assert runs[0].draws.shape == (4, 200, 5)
    words = "chain 1 failed once and went on from its last state (ZeroDivisionError: by chance)"
    assert (*runs[0].notes, *runs[0].moves) == (words,)
    assert bool(runs[0].notes) == (after >= (100 if pool else 0))  # draws bear no traces of what happened while tuning
    assert len({fingerprint(run) for run in runs}) == 1
    whole = run_chains(NORMAL, NUTS(), points(), options, seed=4)
    assert not np.array_equal(runs[0].draws[1], whole.draws[1])  # other random numbers, lest it fail again
    if not pool:
        np.testing.assert_array_equal(runs[0].draws[[0, 2, 3]], whole.draws[[0, 2, 3]])


@pytest.mark.parametrize("after", [-1, 100, 180])
@pytest.mark.parametrize("cores", [1, 4])
def test_a_chain_that_fails_twice_is_left_out(after: int, cores: int) -> None:
    """While sampling, or where it could not begin and there is no other place; the others go on with their numbers."""
    events: list[Event] = []
    run = run_chains(NORMAL, faulty(2, after=after), points(), LONG, seed=4, cores=cores, listeners=[events.append])
    assert run.chains == (0, 2, 3)
    assert run.draws.shape == (3, 200, 5)
    assert len(run.divergences) == len(run.tuning) == len(run.evaluations) == 3
    assert len((*run.notes, *run.moves)) == 2
    assert run.notes[-1] == "chain 1 was left out (ZeroDivisionError: by chance)"
    lost = [event for event in events if isinstance(event, ChainLost)]
    assert lost == [ChainLost(1, "ZeroDivisionError: by chance")]
    last = [event for event in events if isinstance(event, Progress)][-1]
    assert [chain.phase for chain in last.chains] == ["done", "failed", "done", "done"]
    made = [event for event in events if isinstance(event, DrawsMade)]
    assert sum(event.draws.shape[1] for event in made) == 200
    assert made[-1].draws.shape[0] == 3


@pytest.mark.parametrize("after", [0, 20])
def test_a_chain_that_fails_twice_while_tuning_goes_on_from_where_another_was(after: int) -> None:
    """With random numbers of its own, whatever the threads do; it is told of, and is no witness of its own."""
    runs, events = [], list[Event]()
    for cores in (1, 4):
        run = run_chains(NORMAL, faulty(2, after=after), points(), LONG, seed=4, cores=cores, listeners=[events.append])
        runs.append(run)
    assert len({fingerprint(run) for run in runs}) == 1
    assert (runs[0].chains, runs[0].notes) == ((0, 1, 2, 3), ())
    assert runs[0].moves[1] == "chain 1 went on from where chain 2 was (ZeroDivisionError: by chance)"
    assert ChainMoved(1, "went on from where chain 2 was (ZeroDivisionError: by chance)") in events
    assert not (runs[0].draws[1] == runs[0].draws[2]).all(axis=1).any()
    assert runs[0].evaluations[1] > 200


def test_two_chains_of_which_one_goes_on_from_the_other_are_one_witness() -> None:
    """Their agreement says no more than that of one chain with itself."""
    run = run_chains(NORMAL, faulty(2, after=0), points(2), EarlyChecks(), seed=4)
    assert run.verdict.status == "converged"
    assert run.verdict.reason.startswith("only one chain was run")


@pytest.mark.parametrize("after", [-1, 0])
@pytest.mark.parametrize("pool", [True, False])
def test_a_chain_that_cannot_begin_where_it_was_put_begins_elsewhere(pool: bool, after: int) -> None:
    """At the first of four other starting points that will do: a witness like any other."""
    if not pool and after > -1:
        pytest.skip("a chain that tunes alone on a schedule begins it once")
    asked: list[tuple[int, int]] = []

    def another(chain: int, time: int) -> NDArray[np.float64]:
        asked.append((chain, time))
        return np.full(5, float(time))

    options = EarlyChecks(rule=StoppingRule(target_ess=1e9), max_draws=200, pool=pool, tune=None if pool else 60)
    runs = []
    for cores in (1, 4):
        kernel = faulty(2, after=after)
        raised = itertools.count()

        def hook(chain: Watched, raised: Any = raised) -> None:
            mine = chain.number == 1 or chain.number > 3
            if mine and chain.begun > after and next(raised) < 3:
                raise ZeroDivisionError("by chance")

        kernel.hook = hook
        running = launch(NORMAL, kernel, points(), options, seed=4, cores=cores, starts=another)
        runs.append(finish(running))
    assert len({fingerprint(run) for run in runs}) == 1
    assert (runs[0].chains, runs[0].notes, len(runs[0].moves)) == ((0, 1, 2, 3), (), 3)
    assert runs[0].moves[-1] == "chain 1 began again at another starting point (ZeroDivisionError: by chance)"
    assert runs[0].verdict.reason.count("left out") == 0
    assert set(asked) >= {(1, 1), (1, 2)}


@pytest.mark.parametrize("after", [-1, 0, 20, 100, 180])
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("elsewhere", [True, False])
@pytest.mark.parametrize(
    "kernels",
    [(NUTS(), Slice()), (Slice(), NUTS()), (Metropolis(), Slice()), (NUTS(), NUTS())],
    ids=lambda kernels: "-".join(type(kernel).__name__ for kernel in kernels),
)
def test_chains_of_compound_steps_begin_again_or_are_left_out_as_others_are(
    kernels: tuple[Kernel, ...], elsewhere: bool, times: int, after: int
) -> None:
    """Whichever step method has the tuner, and wherever it happens."""
    options = EarlyChecks(rule=StoppingRule(target_ess=1e9), max_draws=200, pool=isinstance(kernels[0], NUTS))
    starts = (lambda chain, time: np.full(5, float(time))) if elsewhere else None
    kernel = faulty(times, after=after, kernel=CompoundStep(methods=kernels))
    run = finish(launch(NORMAL, kernel, points(), options, seed=4, starts=starts))
    told = (*run.notes, *run.moves)
    assert told
    assert all(one.startswith("chain 1 ") and "(ZeroDivisionError: by chance)" in one for one in told)
    assert run.chains == (0, 1, 2, 3) if not any("left out" in one for one in told) else (0, 2, 3)
    assert run.draws.shape == (len(run.chains), 200, 5)


@pytest.mark.parametrize("after", [-1, 150])
@pytest.mark.parametrize("length", [None, 400])
def test_a_run_that_lost_a_chain_is_never_plainly_converged(after: int, length: int | None) -> None:
    """Nobody knows what the others have not seen, however well they agree."""
    run = run_chains(NORMAL, faulty(2, after=after), points(), EarlyChecks(draws=length), seed=4)
    assert run.verdict.status == "not_converged"
    assert "chain 1 was left out after failing twice" in run.verdict.reason


def test_the_others_do_not_care_when_the_draws_of_a_lost_chain_are_dropped() -> None:
    """Lost while sampling, alone tuned: the others' draws are those of a run without faults."""
    options = EarlyChecks(draws=300, tune=60, pool=False)
    whole = run_chains(NORMAL, NUTS(), points(), options, seed=4)
    run = run_chains(NORMAL, faulty(2, number=0, after=100), points(), options, seed=4)
    assert run.chains == (1, 2, 3)
    np.testing.assert_array_equal(run.draws, whole.draws[1:])


@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize("chains", [1, 4])
def test_all_chains_failing_ends_the_run(chains: int, cores: int) -> None:
    """The last one is named, with its exception as the cause; no thread stays."""

    def hook(chain: Watched) -> None:
        if chain.made > 20:
            raise ZeroDivisionError("by chance")

    message = r"no chain is left; the last to fail was chain \d, with ZeroDivisionError: by chance"
    with pytest.raises(SamplingError, match=message) as caught:
        run_chains(NORMAL, WatchedKernel(hook), points(chains), seed=1, cores=cores)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert not [t for t in threading.enumerate() if t.name.startswith("consilience")]


@pytest.mark.parametrize("after", [30, 120])
def test_a_density_that_is_not_finite_for_ever_after(after: int) -> None:
    """In one chain: it is restarted, then left out. Its proposals may fail for a while before that is believed.

    Whether that happens while it tunes or while it samples depends on how far a chain comes in one call.
    """
    targets: list[Target] = []

    def hook(chain: Watched) -> None:
        if chain.number == 2 and chain.made > after:
            targets[2].mean[0] = 1.0

    class OneEach(WatchedKernel):
        """Every chain has a density of its own."""

        def chain(self, density: Any, *others: Any) -> Watched:
            targets.append(Target(with_switch, 3, np.zeros(3), np.ones(3)))
            return super().chain(targets[-1], *others)

    run = run_chains(standard(3), OneEach(hook), points(4, 3), LONG, seed=4)
    assert run.chains == (0, 1, 3)
    assert run.draws.shape == (3, 200, 3)
    *failed, left = (*run.moves, *run.notes)
    assert any(words.startswith("chain 2 failed once and went on from its last state") for words in failed)
    assert all(words.startswith("chain 2 ") for words in failed)
    assert "chain 2 was left out" in left
    assert "the log density or its gradient was not finite at every one of" in left


def test_a_density_that_is_finite_nowhere_any_more_ends_the_run() -> None:
    target = Target(with_switch, 3, np.zeros(3), np.ones(3))

    def hook(chain: Watched) -> None:
        if chain.made > 60:
            target.mean[0] = 1.0

    with pytest.raises(SamplingError, match=r"no chain is left.*not finite at every one of"):
        run_chains(target, WatchedKernel(hook), points(4, 3), LONG, seed=4)


@pytest.mark.parametrize("kind", [1.0, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("kernel", [NUTS(), Metropolis()])
def test_one_start_without_density_is_left_out(kernel: Any, kind: float) -> None:
    """A status, NaN, infinity, a gradient of NaN: the chain is not tried twice, the others go on."""
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=kind)
    if kind == 4.0 and isinstance(kernel, Metropolis):
        pytest.skip("Metropolis asks for no gradient")
    run = run_chains(target, kernel, [[1.0], [2.0], [-1.0]], EarlyChecks(draws=10, tune=40), seed=1)
    assert run.chains == (0, 1)
    assert len(run.notes) == 1
    assert "chain 2 was left out (InitialPointError: " in run.notes[0]


def test_only_starts_without_density() -> None:
    """The last chain's is named."""
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=1.0)
    with pytest.raises(InitialPointError, match=r"chain \d: .*finite log density"):
        run_chains(target, NUTS(), [[-1.0], [-2.0], [-1.0]], EarlyChecks(draws=10, tune=10), seed=1)


def test_a_window_that_takes_too_much_is_given_up() -> None:
    """One chain sits where trajectories are long: it is left out; whether chains ran ahead does not matter."""
    target = standard(2)
    for cores in (1, 2, 4):
        run = run_chains(
            target, sleepy(cores), points(4, 2), EarlyChecks(draws=300, tune=60, window_budget=4000), seed=1
        )
        assert run.notes == ()
    with pytest.raises(SamplingError, match=r"it spent \d+ evaluations .* on one window; `window_budget` is 20"):
        run_chains(target, NUTS(), points(4, 2), EarlyChecks(window_budget=20), seed=1)


def test_a_budget_counts_one_window_however_far_chains_run_ahead() -> None:
    """The largest window fits exactly."""
    probe = run_chains(NORMAL, NUTS(), points(), LONG, seed=4)
    assert probe.notes == ()
    spent = probe.statistics["n_steps"]
    ends = [0, 100, 126, 158, 196, 200]
    largest = max(int(spent[:, a:b].sum(axis=1).max()) for a, b in itertools.pairwise(ends))
    for seed in range(6):
        tight = EarlyChecks(rule=LONG.rule, max_draws=200, window_budget=max(largest, 1200))
        run = run_chains(NORMAL, sleepy(seed, 0.002), points(), tight, seed=4, cores=4)
        assert run.notes == ()
        assert fingerprint(run) == fingerprint(probe)


# --- arrival -----------------------------------------------------------------------------------------------------


FAR = Target(long_tailed, 5, np.zeros(5), np.ones(5))


def test_a_chain_far_away_has_no_vote_until_it_arrives() -> None:
    """Without a climb it starts far out in a long tail: the reports show who had arrived, and it is waited for."""
    start = points()
    options = EarlyChecks(rule=StoppingRule(target_ess=100.0))
    near = run_chains(FAR, NUTS(initialize=False), start, options, seed=2)
    start[3] = 60_000.0
    run = run_chains(FAR, NUTS(initialize=False), start, options, seed=2)
    assert run.chains == (0, 1, 2, 3)
    assert run.windows[0].arrived == (0, 1, 2)
    assert run.windows[-1].arrived == (0, 1, 2, 3)
    assert run.verdict.status == "converged"
    assert run.tuned > near.tuned


def test_a_chain_that_never_arrives_is_said() -> None:
    """Too far for the tuning it is given: the draws are not certified, whatever the rule lets pass."""
    start = points()
    start[3] = 1e7
    options = EarlyChecks(max_tune=60, max_draws=120)
    run = run_chains(FAR, NUTS(initialize=False), start, options, seed=2)
    assert run.tuned == 60
    assert run.windows[-1].arrived == (0, 1, 2)
    assert run.verdict.status in {"chains_disagree", "not_converged"}


# --- listeners ---------------------------------------------------------------------------------------------------


def test_an_exception_of_a_listener_is_its_own_affair() -> None:
    """Said once, at the end, with the listener's name; the draws are complete, other listeners are served."""
    calls: list[Event] = []
    others: list[Event] = []

    def clumsy(event: Event) -> None:
        calls.append(event)
        raise ValueError("no more")

    with pytest.warns(ConsilienceWarning, match=r"callback .*clumsy raised ValueError: no more.*not called again"):
        run = run_chains(NORMAL, NUTS(), points(), LONG, seed=4, listeners=[clumsy, others.append])
    assert len(calls) == 1
    assert isinstance(others[-1], RunEnded)
    assert fingerprint(run) == fingerprint(run_chains(NORMAL, NUTS(), points(), LONG, seed=4))


@pytest.mark.parametrize("background", [True, False])
def test_keyboard_interrupt_in_a_listener_ends_the_run(background: bool) -> None:
    """With the draws so far."""

    def listen(event: Event) -> None:
        if isinstance(event, DrawsMade):
            raise KeyboardInterrupt

    running = launch(NORMAL, sleepy(1), points(), EarlyChecks(draws=100_000, min_draws=20), seed=4, listeners=[listen])
    running.start(background=background)
    # a fixed run has one segment only between checks that grow: there are draws long before the end
    run = running.wait(60.0)
    assert run.verdict.status == "interrupted"
    assert run.interrupted
    assert "the run was stopped; the first" in run.verdict.reason
    assert 20 <= run.draws.shape[1] < 100_000


def test_a_slow_listener_holds_up_no_chain() -> None:
    """It sleeps through the whole run and gets every event afterwards, in order."""
    ended = threading.Event()
    seen: list[Event] = []

    def hook(chain: Watched) -> None:
        if chain.made >= 200:
            ended.set()

    def slow(event: Event) -> None:
        if isinstance(event, DrawsMade) and not seen:
            assert ended.wait(60.0)  # the chains come to their end while this one does not return
        if isinstance(event, DrawsMade):
            seen.append(event)

    run = run_chains(NORMAL, WatchedKernel(hook), points(), LONG, seed=4, listeners=[slow])
    assert ended.is_set()
    assert sum(event.draws.shape[1] for event in seen) == 200  # type: ignore[union-attr]  # all are DrawsMade
    assert run.draws.shape[1] == 200


# --- clocks and numbers ------------------------------------------------------------------------------------------


def test_no_time_at_all() -> None:
    run = run_chains(NORMAL, NUTS(), points(), EarlyChecks(max_time=0.0), seed=4)
    assert run.verdict.status == "not_converged"
    assert run.verdict.reason == "max_time=0.0 seconds were over; no draws had been made"
    assert run.draws.shape == (4, 0, 5)
    assert not run.interrupted


def test_time_that_is_over_leaves_the_first_draws() -> None:
    options = EarlyChecks(max_time=0.3, rule=StoppingRule(target_ess=1e9), max_draws=10**7)
    run = run_chains(NORMAL, sleepy(2), points(), options, seed=4)
    count = run.draws.shape[1]
    assert "max_time=0.3 seconds were over" in run.verdict.reason
    plain = run_chains(NORMAL, NUTS(), points(), EarlyChecks(draws=max(1, count)), seed=4)
    np.testing.assert_array_equal(run.draws, plain.draws[:, :count])


def test_a_pause_before_chains_begin_is_no_pause_of_the_run() -> None:
    """Else a run might take longer than `max_time` by it."""
    running = launch(NORMAL, NUTS(), points(), EarlyChecks(draws=100), seed=4)
    running.pause()
    running._paused_at = time.perf_counter() - 100.0
    running.start(background=True)
    time.sleep(0.05)
    running.resume()
    assert running.wait(60.0).draws.shape[1] == 100
    assert running.paused_seconds <= running.seconds


def test_a_pause_does_not_count_as_time() -> None:
    """Paused for longer than the run may take."""
    running = launch(NORMAL, NUTS(), points(), EarlyChecks(max_time=5.0, draws=100), seed=4)
    running.pause()
    running.start(background=True)
    time.sleep(0.05)
    running.began -= 100.0  # as if the pause had been that long
    running._paused_at = time.perf_counter() - 100.0
    time.sleep(0.05)
    assert not running.finished
    running.resume()
    assert running.wait(60.0).draws.shape[1] == 100


def test_a_target_beyond_reach() -> None:
    """The worst scalar is named, with what it has and about how many draws would do."""
    names = Monitored(("a", "b", "c", "d", "e"))
    options = EarlyChecks(rule=StoppingRule(target_ess=1e6), max_draws=200)
    run = run_chains(NORMAL, NUTS(), points(), options, seed=4, monitored=names)
    assert run.verdict.status == "not_converged"
    assert run.verdict.worst in {"a", "b", "c", "d", "e", "log density"}
    assert f"`{run.verdict.worst}`" in run.verdict.reason
    assert "below the target of 1000000" in run.verdict.reason
    needed = int(run.verdict.reason.split("about ")[1].split()[0])
    assert 100_000 < needed < 2_000_000
    assert run.draws.shape[1] == 200


@pytest.mark.parametrize("target_ess", [2000.0, 5000.0])
def test_the_scalar_that_is_named_is_the_worst(target_ess: float) -> None:
    """Not the first one found to fail, so that the number of draws would do for all."""
    options = EarlyChecks(rule=StoppingRule(target_ess=target_ess), max_draws=400)
    run = run_chains(correlated_normal(30, 1), NUTS(), points(4, 30), options, seed=3)
    sizes = [
        float(np.fmin(found.ess_bulk, found.ess_tail)[0])
        for found in map(examine, (*np.moveaxis(run.draws, 2, 0), run.statistics["lp"]))
    ]
    worst = int(np.argmin(sizes))
    assert run.verdict.worst == [*(f"x[{i}]" for i in range(30)), "log density"][worst]
    assert f"is {sizes[worst]:.0f}, below the target of {target_ess:.0f}" in run.verdict.reason


def test_without_a_target_size_only_agreement_is_asked_for() -> None:
    run = run_chains(NORMAL, NUTS(), points(), EarlyChecks(rule=StoppingRule(target_ess=None)), seed=4)
    assert run.verdict.status == "converged"
    strict = run_chains(NORMAL, NUTS(), points(), EarlyChecks(rule=StoppingRule(None, 1.01, strict=True)), seed=4)
    assert strict.verdict.status == "converged"
    assert strict.draws.shape[1] >= run.draws.shape[1]


@pytest.mark.parametrize("chains", [1, 2, 9])
@pytest.mark.parametrize("dimension", [1, 3])
def test_any_number_of_chains_and_coordinates(chains: int, dimension: int) -> None:
    """Two chains tune longer together; one tunes alone; nine share two threads."""
    run = run_chains(
        standard(dimension), NUTS(), points(chains, dimension), EarlyChecks(max_draws=2000), seed=1, cores=2
    )
    assert run.verdict.status in {"converged", "converged_with_divergences"}, run.verdict
    assert run.draws.shape[0] == chains
    assert run.tuned == {1: 400}.get(chains, run.tuned)
    if chains == 2:
        assert run.tuned >= 85
    if chains == 9:
        assert 50 <= run.tuned < 150


def test_chains_that_do_not_pool_tune_alone() -> None:
    run = run_chains(NORMAL, NUTS(), points(), EarlyChecks(pool=False), seed=1)
    assert run.verdict.status == "converged"
    assert run.windows == ()
    assert run.tuned == 400
    assert len({t.step_size for t in run.tuning}) == 4
    pooled = run_chains(NORMAL, NUTS(), points(), seed=1)
    assert len({t.step_size for t in pooled.tuning}) == 1
    assert pooled.windows[-1].transitions == pooled.tuned


def derived(values: Callable[[NDArray[np.float64]], NDArray[np.float64]], *names: str) -> Monitored:
    return Monitored(("a", "b", "c", "d", "e"), names, values)


def test_a_constant_derived_quantity_is_said_and_blocks_nothing() -> None:
    monitored = derived(lambda x: np.column_stack([np.full(len(x), 3.0), x[:, 0] ** 2]), "k", "a²")
    run = run_chains(NORMAL, NUTS(), points(), seed=4, monitored=monitored)
    assert run.constants == ("k",)
    assert run.verdict.status == "converged"


def test_a_derived_quantity_that_is_not_finite_is_named() -> None:
    monitored = derived(lambda x: np.where(x[:, :1] > 0, np.nan, 1.0), "n")
    run = run_chains(NORMAL, NUTS(), points(), EarlyChecks(max_draws=150), seed=4, monitored=monitored)
    assert run.verdict.status == "not_converged"
    assert (run.verdict.worst, "`n` is not finite" in run.verdict.reason) == ("n", True)


def test_a_derived_quantity_that_varies_late_is_watched_from_then_on() -> None:
    """Rare events: constant in the first draws, but not for ever. It is not called constant."""
    probe = run_chains(NORMAL, NUTS(), points(), EarlyChecks(draws=600), seed=4)
    early, late = probe.draws[:, :100, 0].max(), probe.draws[:, :, 0].max()
    assert late > early  # there is something to see
    bound = 0.5 * (early + late)
    monitored = derived(lambda x: (x[:, :1] > bound).astype(float), "rare")
    options = EarlyChecks(rule=StoppingRule(target_ess=1e9), max_draws=600)
    run = run_chains(NORMAL, NUTS(), points(), options, seed=4, monitored=monitored)
    assert run.constants == ()


def test_an_exception_in_a_derived_quantity_comes_to_the_caller() -> None:
    def values(x: NDArray[np.float64]) -> NDArray[np.float64]:
        raise KeyError("no such thing")

    with pytest.raises(KeyError, match="no such thing"):
        run_chains(NORMAL, NUTS(), points(), seed=4, monitored=derived(values, "k"))
    assert not [t for t in threading.enumerate() if t.name.startswith("consilience")]


def test_ten_thousand_coordinates() -> None:
    run = run_chains(standard(10_000), NUTS(), points(4, 10_000), EarlyChecks(max_draws=100), seed=1)
    assert run.draws.shape == (4, 100, 10_000)
    assert run.verdict.status in {"converged", "not_converged"}


@pytest.mark.slow
def test_a_hundred_thousand_coordinates() -> None:
    run = run_chains(standard(100_000), NUTS(), points(4, 100_000), EarlyChecks(max_draws=60), seed=1)
    assert run.draws.shape == (4, 60, 100_000)


# --- nothing is left behind --------------------------------------------------------------------------------------


def test_runs_leave_no_threads_and_no_memory() -> None:
    """After the first few, twenty more runs leave the same memory in use."""

    def one() -> RunResult:
        return run_chains(standard(20), NUTS(), points(4, 20), EarlyChecks(max_draws=200), seed=1)

    threads = set(threading.enumerate())
    for _ in range(3):
        one()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(20):  # tables of weak references find their size
            one()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            one()
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 200_000  # one run holds more than 600,000 bytes of draws and statistics
    assert set(threading.enumerate()) == threads


def test_a_run_that_failed_leaves_no_threads_either() -> None:
    with warnings.catch_warnings():
        for _ in range(3):
            with pytest.raises(SamplingError):
                run_chains(NORMAL, NUTS(), points(), EarlyChecks(window_budget=1), seed=1)
    assert not [t for t in threading.enumerate() if t.name.startswith("consilience")]


def test_waiting_has_an_end() -> None:
    """`wait` gives up after its time, and the run goes on."""
    release = threading.Event()
    running = launch(NORMAL, WatchedKernel(lambda chain: release.wait(60.0) and None), points(), LONG, seed=4)
    running.start(background=True)
    with pytest.raises(TimeoutError, match=r"not over after 0\.01 seconds; it goes on"):
        running.wait(0.01)
    release.set()
    assert running.wait(60.0).draws.shape[1] == 200
    assert math.isfinite(running.wait().seconds)
