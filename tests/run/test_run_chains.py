"""Laws of a run: threads do not matter, shorter runs begin longer ones, an interruption loses nothing."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.errors import InitialPointError, SamplingError
from consilience.inference import NUTS, HamiltonianMC, Kernel, Metropolis
from consilience.native.beside import Workshop, hand_over
from consilience.run import DrawsMade, Event, Progress, Restarted, Run, RunEnded, RunResult, RunStarted
from consilience.run.threads.chain_worker import RECENT
from tests.inference.targets import Target, correlated_normal, funnel, standard
from tests.run.launching import launch, run_chains
from tests.run.support import EarlyChecks, fingerprint, finish, sleepy
from tests.run.targets import two_normals

ADAPTIVE = EarlyChecks(rule=StoppingRule(target_ess=300.0))
KERNELS: dict[str, Kernel] = {
    "nuts": NUTS(),
    "hmc": HamiltonianMC(),
    "metropolis": Metropolis(),
}
FUNNEL = Target(funnel, 4, np.zeros(4), np.ones(4))


def fixed(draws: int, tune: int, **others: Any) -> EarlyChecks:
    return EarlyChecks(draws=draws, tune=tune, **others)


def points(chains: int, dimension: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).uniform(-2.0, 2.0, (chains, dimension))


# --- a run begins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fails", [False, True])
def test_chains_begin_when_all_that_is_made_beside_is_made(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    """And the time until then is no part of the run's; what failed is the business of who needs it."""
    workshop, begun, made, seen = Workshop(), threading.Event(), threading.Event(), []

    def make() -> None:
        hand_over()
        assert begun.wait(60.0)
        time.sleep(0.2)
        made.set()
        if fails:
            raise ValueError("nobody asks for this")

    plain = Run._follow

    def begin(self: Run) -> Any:
        seen.append(made.is_set())
        return plain(self)

    monkeypatch.setattr("consilience.run.run.WORKSHOP", workshop)
    monkeypatch.setattr(Run, "_follow", begin)
    workshop.begin("slow", make)
    run = launch(correlated_normal(5, 1), NUTS(), points(4, 5), fixed(20, 20), seed=1)
    begun.set()
    run.start(background=True)
    assert run.wait(60.0).draws.shape == (4, 20, 5)
    assert seen == [True]
    assert run.waited_seconds > 0.1


# --- threads and time have no part in the draws ------------------------------------------------------------------


@pytest.mark.parametrize("options", [fixed(1500, 400, keep_tuning=True), fixed(400, 400, pool=False), ADAPTIVE])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_results_do_not_depend_on_the_number_of_threads(kernel: Kernel, options: EarlyChecks) -> None:
    """1, 2, 3, 4 and 8 threads for 5 chains: every bit is the same."""
    target = correlated_normal(5, 1)
    runs = [run_chains(target, kernel, points(5, 5), options, seed=11, cores=cores) for cores in (1, 2, 3, 4, 8)]
    assert len({fingerprint(run) for run in runs}) == 1
    assert runs[0].draws.shape[0] == 5
    if options.keep_tuning:
        assert runs[0].draws.shape == (5, 1500, 5)
        assert runs[0].warmup_draws.shape == (5, 400, 5)


def two_modes(distance: float = 12.0) -> Target:
    return Target(two_normals, 2, np.zeros(2), np.ones(2), number=distance)


STORIES: dict[str, tuple[Target, Kernel, EarlyChecks]] = {
    "pooled": (correlated_normal(5, 1), NUTS(), ADAPTIVE),
    "retuned": (FUNNEL, NUTS(), EarlyChecks(max_draws=250, rule=StoppingRule(target_ess=50.0))),
    "alone, retuned": (
        FUNNEL,
        NUTS(),
        EarlyChecks(max_draws=250, tune=150, pool=False, rule=StoppingRule(target_ess=50.0)),
    ),
    "jumps": (two_modes(), NUTS(jumps=3), EarlyChecks(max_draws=220)),
    "fixed": (FUNNEL, NUTS(jumps=2), fixed(150, 100, keep_tuning=True)),
}


@pytest.mark.parametrize("story", STORIES)
def test_sleeping_threads_change_nothing(story: str) -> None:
    """Chains that sleep at random moments, and run ahead of each other, in every stage of a run."""
    target, kernel, options = STORIES[story]
    start = points(4, target.dimension)
    plain = run_chains(target, kernel, start, options, seed=3, cores=1)
    if "retuned" in story:
        assert "divergences" in plain.restarts
    for number, cores in enumerate((1, 2, 3, 4, 8)):
        restless = run_chains(target, sleepy(number, kernel=kernel), start, options, seed=3, cores=cores)
        assert fingerprint(restless) == fingerprint(plain), cores


def test_pauses_change_nothing() -> None:
    """Pauses at ten moments, each for a while in which no chain moves."""
    target, start = correlated_normal(5, 1), points(4, 5)
    options = EarlyChecks(rule=StoppingRule(target_ess=2000.0), max_draws=3000)
    plain = run_chains(target, NUTS(), start, options, seed=3)
    running = launch(target, sleepy(1, 0.002), start, options, seed=3, cores=2)
    running.start(background=True)
    for _ in range(10):
        time.sleep(0.005)
        running.pause()
        assert running.progress.paused or running.finished
        time.sleep(0.01)
        running.resume()
    assert fingerprint(running.wait()) == fingerprint(plain)


def test_results_do_not_depend_on_listeners_or_repetition() -> None:
    """A slow listener and none; the same seed twice; another seed."""

    def run(seed: int, *listeners: Callable[[Event], None]) -> str:
        target = standard(3)
        return fingerprint(run_chains(target, NUTS(), points(2, 3), seed=seed, listeners=listeners))

    first = run(1)
    assert run(1) == first
    assert run(1, lambda event: time.sleep(0.01)) == first
    assert run(2) != first


def test_a_chain_that_tunes_alone_does_not_depend_on_how_many_there_are() -> None:
    """MarkovChain 1 of 2 is chain 1 of 4."""
    target, start = standard(3), np.arange(12.0).reshape(4, 3) / 10.0
    options = fixed(200, 200, pool=False)
    few = run_chains(target, NUTS(), start[:2], options, seed=5)
    many = run_chains(target, NUTS(), start, options, seed=5)
    np.testing.assert_array_equal(few.draws, many.draws[:2])


# --- one fixed sequence, cut somewhere ---------------------------------------------------------------------------


def check_begins(short: RunResult, long: RunResult) -> None:
    """The first run is the beginning of the second one."""
    count = short.draws.shape[1]
    np.testing.assert_array_equal(short.draws, long.draws[:, :count])
    for name, values in short.statistics.items():
        np.testing.assert_array_equal(values, long.statistics[name][:, :count])


@pytest.mark.parametrize("jumps", [0, 3])
def test_shorter_runs_begin_longer_ones(jumps: int) -> None:
    """Fixed lengths on both sides of checks, and runs that decide themselves."""
    target, start = (two_modes() if jumps else correlated_normal(5, 1)), points(4, 2 if jumps else 5)

    def run(**options: Any) -> RunResult:
        return run_chains(target, NUTS(jumps=jumps), start, EarlyChecks(**options), seed=8)

    longest = run(draws=700)
    runs = [run(draws=n) for n in (1, 49, 50, 70, 99, 100, 101, 120, 126, 311)]
    runs += [run(rule=StoppingRule(target_ess=ess), max_draws=600) for ess in (100.0, 400.0, 1000.0)]
    runs += [run(rule=StoppingRule(target_ess=1e9), max_draws=n) for n in (60, 333)]
    for short in runs:
        assert not short.restarts
        check_begins(short, longest)
    ends = [r.draws.shape[1] for r in runs[10:13]]
    assert ends == sorted(ends)
    if not jumps:
        assert ends[0] < ends[-1]


def extended(
    run_options: EarlyChecks, further: EarlyChecks, target: Target, kernel: Kernel | None = None, **others: Any
) -> tuple[RunResult, RunResult]:
    """A run that goes on under other options, and one that had them from the start."""
    start = points(4, target.dimension)
    kernel = kernel or NUTS()
    running = launch(target, kernel, start, run_options, seed=2, **others)
    finish(running)
    return finish(running.again(further, [])), run_chains(target, kernel, start, further, seed=2)


@pytest.mark.parametrize("jumps", [0, 3])
def test_an_extended_run_is_the_longer_one(jumps: int) -> None:
    """By effective size, by draws, past the first end, and past an end between two checks."""
    target = two_modes() if jumps else correlated_normal(5, 1)

    def options(**given: Any) -> EarlyChecks:
        return EarlyChecks(**given)

    table = [
        (options(rule=StoppingRule(target_ess=100.0)), options(rule=StoppingRule(target_ess=700.0), max_draws=800)),
        (options(draws=130), options(draws=333)),
        (
            options(rule=StoppingRule(target_ess=1e9), max_draws=390),
            options(rule=StoppingRule(target_ess=1300.0), max_draws=900),
        ),
        (
            options(rule=StoppingRule(target_ess=1e9), max_draws=222),
            options(rule=StoppingRule(target_ess=1e9), max_draws=777),
        ),
        (
            options(rule=StoppingRule(target_ess=1e9), max_draws=306),
            options(rule=StoppingRule(target_ess=1e9), max_draws=600),
        ),
    ]
    for first, second in table:
        got, wanted = extended(first, second, target, NUTS(jumps=jumps))
        assert fingerprint(got) == fingerprint(wanted)


def test_an_interrupted_run_can_be_extended() -> None:
    """The segment that was cut short is made anew."""
    target, start = correlated_normal(5, 1), points(4, 5)
    options = EarlyChecks(rule=StoppingRule(target_ess=1e9), max_draws=4000)
    running = launch(target, sleepy(4), start, options, seed=2, cores=2)
    running.listeners.add([lambda event: running.stop() if isinstance(event, DrawsMade) else None])
    running.send = running.listeners.send  # in step with the run
    cut = finish(running)
    assert cut.interrupted
    assert 0 < cut.draws.shape[1] < 4000
    whole = run_chains(target, NUTS(), start, options, seed=2)
    check_begins(cut, whole)
    assert fingerprint(finish(running.again(options, []))) == fingerprint(whole)


def test_a_fixed_run_goes_on_by_the_rule() -> None:
    """Its first draws were made without gradients: the step size is tuned again all the same."""
    running = launch(FUNNEL, NUTS(), points(4, 4), EarlyChecks(draws=200), seed=3)
    first = finish(running)
    assert first.statistics["diverging"].sum() > 2
    second = finish(running.again(EarlyChecks(max_draws=300, rule=StoppingRule(target_ess=50.0)), []))
    assert second.restarts[0] == "divergences"


# --- what a run gives --------------------------------------------------------------------------------------------


def test_statistics_have_their_names_and_types() -> None:
    """One array (chain, draw) per name, integers and flags among them."""
    run = run_chains(standard(2), NUTS(), np.zeros((3, 2)), fixed(50, 20, keep_tuning=True), seed=1)
    types = {name: values.dtype for name, values in run.statistics.items()}
    assert types == {name: np.dtype(t) for name, t in NUTS().columns.types.items()}
    assert all(values.shape == (3, 50) for values in run.statistics.values())
    assert all(values.shape == (3, 20) for values in run.warmup_statistics.values())
    assert run.tuned == 20
    assert run.chains == (0, 1, 2)
    assert not run.interrupted
    assert run.draws[0].flags.c_contiguous
    assert 0.0 < run.tuning_seconds < sum(run.chain_seconds)
    assert all(0.0 < seconds < run.seconds for seconds in run.chain_seconds)
    assert 0 < run.tuning_evaluations < sum(run.evaluations)
    np.testing.assert_allclose(run.statistics["lp"], -0.5 * (run.draws**2).sum(axis=2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("pool", [True, False])
@pytest.mark.parametrize("chains", [1, 2, 5])
@pytest.mark.parametrize(("draws", "tune"), [(0, 10), (10, 0), (1, 0), (1, 1), (3, 14), (3, 15), (3, 16), (0, 31)])
def test_short_runs(draws: int, tune: int, chains: int, pool: bool) -> None:
    """Only tuning, no tuning, a single draw; tuning that ends within a window."""
    options = fixed(draws, tune, pool=pool, keep_tuning=True)
    run = run_chains(standard(1), NUTS(), points(chains, 1), options, seed=1)
    assert run.draws.shape == (chains, draws, 1)
    assert run.warmup_draws.shape == (chains, tune, 1)
    assert np.isfinite(run.draws).all()
    assert run.verdict.status == ("completed" if draws == 0 else "not_converged")


@pytest.mark.parametrize("max_tune", [1, 5, 14, 15, 16, 40])
def test_tuning_never_takes_longer_than_allowed(max_tune: int) -> None:
    """Limits below the first window, on its end and past it."""
    options = EarlyChecks(max_tune=max_tune, rule=StoppingRule(target_ess=10.0), max_draws=100)
    run = run_chains(correlated_normal(5, 1), NUTS(), points(4, 5), options, seed=1)
    assert run.tuned == max_tune


def test_moments_of_a_known_target_are_found() -> None:
    """A run that says it has converged is right within its own error."""
    target = correlated_normal(5, 1)
    run = run_chains(target, NUTS(), points(4, 5), EarlyChecks(rule=StoppingRule(target_ess=2000.0)), seed=1)
    assert run.verdict.status == "converged"
    np.testing.assert_allclose(run.draws.mean(axis=(0, 1)), target.mean, atol=4.0 * target.deviation.max() / 2000**0.5)
    np.testing.assert_allclose(run.draws.std(axis=(0, 1)), target.deviation, rtol=0.1)


def test_events_tell_the_whole_story(monkeypatch: pytest.MonkeyPatch) -> None:
    """First RunStarted, then Progress that never goes back, last RunEnded; draws once each; in the caller's thread."""
    monkeypatch.setattr("consilience.run.run.TICK", 0.005)  # a quick run is over within the usual one
    events: list[Event] = []
    threads: set[int] = set()

    def listen(event: Event) -> None:
        events.append(event)
        threads.add(threading.get_ident())

    run = run_chains(standard(50), NUTS(), np.zeros((3, 50)), fixed(10_000, 300), seed=1, cores=2, listeners=[listen])
    assert threads == {threading.get_ident()}
    started, ended = events[0], events[-1]
    assert isinstance(started, RunStarted)
    assert (started.chains, started.threads, started.dimension) == (3, 2, 50)
    assert (started.tune, started.draws, started.target_ess) == (300, 10_000, None)
    assert isinstance(ended, RunEnded)
    assert (ended.status, ended.reason, ended.draws) == (run.verdict.status, run.verdict.reason, 10_000)
    progress = [event for event in events if isinstance(event, Progress)]
    assert len(progress) >= 2
    for chain in range(3):
        own = [event.chains[chain] for event in progress]
        assert [e.chain for e in own] == [chain] * len(own)
        assert [e.gradients for e in own] == sorted(e.gradients for e in own)
        last = own[-1]
        assert (last.phase, last.done, last.draws, last.gradients) == ("done", 10_300, 10_000, run.evaluations[chain])
        assert last.step_size == run.tuning[chain].step_size
        assert last.divergences == run.statistics["diverging"][chain].sum()
        assert 1.0 <= last.tree_depth <= 10.0
    made = [event for event in events if isinstance(event, DrawsMade)]
    assert [event.first for event in made] == list(np.cumsum([0] + [e.draws.shape[1] for e in made[:-1]]))
    np.testing.assert_array_equal(np.concatenate([e.draws for e in made], axis=1), run.draws)
    np.testing.assert_array_equal(np.concatenate([e.statistics["lp"] for e in made], axis=1), run.statistics["lp"])


@pytest.mark.parametrize("seed", range(4))
def test_the_last_progress_is_of_the_last_draws(seed: int) -> None:
    """Whatever chains had begun beyond them when the rule ended the run, and had to give up."""
    events: list[Event] = []
    run = run_chains(standard(5), NUTS(), points(4, 5), ADAPTIVE, seed=seed, cores=2, listeners=[events.append])
    last = [event for event in events if isinstance(event, Progress)][-1]
    length = min(RECENT, [event for event in events if isinstance(event, DrawsMade)][-1].draws.shape[1])
    for chain, own in enumerate(last.chains):
        assert own.step_size == run.statistics["step_size"][chain, -1]
        np.testing.assert_allclose(own.tree_depth, run.statistics["depth"][chain, -length:].mean())


def test_draws_that_became_tuning_are_told_to_be_forgotten() -> None:
    """After `Restarted` the draws begin at 0 again; those that follow are the result's."""
    target, _, options = STORIES["retuned"]
    events: list[Event] = []
    run = run_chains(target, NUTS(), points(4, 4), options, seed=3, listeners=[events.append])
    kinds = [type(event) for event in events if isinstance(event, DrawsMade | Restarted)]
    told = [event for event in events if isinstance(event, Restarted)]
    assert kinds.count(Restarted) == len(run.restarts) >= 1
    assert "divergences" in told[0].reason
    after = [e for e in events[events.index(told[-1]) :] if isinstance(e, DrawsMade)]
    assert after[0].first == 0
    np.testing.assert_array_equal(np.concatenate([e.draws for e in after], axis=1), run.draws)


# --- Ctrl-C ------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def usual_ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


ENDLESS = fixed(3_000_000, 300)


@pytest.fixture
def endless() -> Iterator[Callable[..., RunResult]]:
    """A run that only an interruption ends; fails instead of hanging if it does not."""

    def run(listener: Callable[[Event], None] | None = None, options: EarlyChecks = ENDLESS) -> RunResult:
        listeners = [] if listener is None else [listener]
        return run_chains(standard(2), Metropolis(), np.zeros((4, 2)), options, seed=1, cores=2, listeners=listeners)

    yield run
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not [t for t in threading.enumerate() if t.name.startswith("consilience-")]


def later(seconds: float, *actions: Callable[[], Any]) -> threading.Thread:
    """Act from another thread, some time from now."""

    def act() -> None:
        time.sleep(seconds)
        for action in actions:
            action()

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def check_prefix(run: RunResult) -> None:
    """An interrupted run holds the draws an unbroken one begins with."""
    assert run.interrupted
    assert run.verdict.status == "interrupted"
    kept = run.draws.shape[1]
    assert np.isfinite(run.draws).all()
    if kept:
        short = run_chains(standard(2), Metropolis(), np.zeros((4, 2)), fixed(kept, 300), seed=1)
        np.testing.assert_array_equal(run.draws, short.draws)
        assert all(v.shape == run.draws.shape[:2] for v in run.statistics.values())


def sampled(event: Event) -> bool:
    return isinstance(event, Progress) and all(chain.phase == "sampling" for chain in event.chains)


@pytest.mark.skipif(os.name == "nt", reason="signals to oneself work differently there")
def test_ctrl_c_returns_the_draws_made_so_far(endless: Callable[..., RunResult]) -> None:
    """A real SIGINT while all chains are sampling; all are cut to the shortest."""
    run = endless(lambda event: os.kill(os.getpid(), signal.SIGINT) if sampled(event) else None)
    check_prefix(run)
    assert run.draws.shape[1] > 0


@pytest.mark.skipif(os.name == "nt", reason="signals to oneself work differently there")
def test_ctrl_c_may_come_again_and_again(endless: Callable[..., RunResult]) -> None:
    """A volley of signals, some of them while the run winds up and within each other."""
    helpers: list[threading.Thread] = []

    def volley() -> None:
        for _ in range(2000):
            os.kill(os.getpid(), signal.SIGINT)

    def listen(event: Event) -> None:
        if isinstance(event, RunStarted):
            helpers.append(later(0.02, volley))
        if isinstance(event, RunEnded):
            helpers[0].join()

    check_prefix(endless(listen))


def test_ctrl_c_at_any_early_moment(endless: Callable[..., RunResult]) -> None:
    """Delays from 0 on: before the first draw, while tuning, while sampling."""
    for delay in np.linspace(0.0, 0.03, 6):
        helper: list[threading.Thread] = []

        def listen(event: Event, delay: float = float(delay), helper: list[threading.Thread] = helper) -> None:
            if isinstance(event, RunStarted):  # from here on the signal is the run's
                helper.append(later(delay, _thread.interrupt_main))

        run = endless(listen)
        helper[0].join()
        check_prefix(run)


def test_a_stop_among_threads_that_run_ahead_leaves_no_gap() -> None:
    """At twenty moments and more: what is kept are the first draws of the sequence, jumps included."""
    target, start = two_modes(), points(4, 2)
    options, kernel = EarlyChecks(draws=2000, tune=50), NUTS(jumps=2)
    whole = run_chains(target, kernel, start, options, seed=2)
    lengths: set[int] = set()
    for number in range(200):  # a busy machine needs later moments than a quiet one
        running = launch(target, sleepy(number, 0.003, kernel), start, options, seed=2, cores=4)
        running.start(background=True)
        time.sleep(0.003 * number)
        running.stop()
        cut = running.wait()
        check_begins(cut, whole)
        lengths.add(cut.draws.shape[1])
        if number >= 20 and len(lengths) > 3:
            break
    assert len(lengths) > 3


def test_keyboard_interrupt_from_a_listener_is_one_too(endless: Callable[..., RunResult]) -> None:
    """It ends the run, which keeps its draws."""

    def listen(event: Event) -> None:
        if sampled(event):
            raise KeyboardInterrupt

    check_prefix(endless(listen))


def test_a_run_outside_of_the_main_thread(endless: Callable[..., RunResult]) -> None:
    """No signal handler can be set there; nothing else changes."""
    runs: list[RunResult] = []
    thread = threading.Thread(target=lambda: runs.append(endless(options=fixed(100, 300))))
    thread.start()
    thread.join()
    assert runs[0].draws.shape == (4, 100, 2)


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [np.zeros(2), np.zeros((0, 2)), np.zeros((2, 3))])
def test_starting_points_of_another_shape_are_refused(start: NDArray[np.float64]) -> None:
    """One row per chain, one column per coordinate."""
    with pytest.raises(InitialPointError, match=r"shape \(chains, 2\)"):
        run_chains(standard(2), NUTS(), start, fixed(10, 10), seed=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"draws": -1}, "`draws` must be an integer of at least 0, got -1"),
        ({"tune": -1}, "`tune` must be an integer of at least 0, got -1"),
        ({"draws": 0, "tune": 0}, "not both 0"),
        ({"max_tune": 0}, "`max_tune` must be an integer of at least 1, got 0"),
        ({"min_draws": 3}, "`min_draws` must be an integer of at least 4, got 3"),
        ({"max_draws": 3}, "`max_draws` must be an integer of at least 4, got 3"),
        ({"max_time": -1.0}, "`max_time` must be a number of seconds of at least 0, got -1.0"),
        ({"max_time": float("nan")}, "`max_time` must be a number of seconds"),
        ({"rule": StoppingRule(target_ess=0.0)}, "`target_ess` must be positive, got 0.0"),
        ({"rule": StoppingRule(target_ess=float("nan"))}, "`target_ess` must be positive, got nan"),
        ({"rule": StoppingRule(target_rhat=1.0)}, "`target_rhat` must lie between 1 and 2, got 1.0"),
    ],
)
def test_options_that_make_no_run_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SamplingError, match=message):
        EarlyChecks(**given)
