"""Laws of a run: threads do not matter, an interruption loses nothing, a failure is told."""

from __future__ import annotations

import _thread
import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from consilience.errors import InitialPointError, SamplingError
from consilience.inference import (
    Divergences,
    HmcKernel,
    Kernel,
    LogDensity,
    MetropolisKernel,
    NutsKernel,
    Rows,
    Tuning,
)
from consilience.run import Event, Progress, Run, RunEnded, RunStarted, run_chains
from tests.inference.targets import Target, correlated_normal, half_space, standard

KERNELS: dict[str, Kernel] = {
    "nuts": NutsKernel(),
    "hmc": HmcKernel(),
    "metropolis": MetropolisKernel(),
}


def fingerprint(run: Run) -> str:
    """A hash of every number of a run that is not a time."""
    digest = hashlib.sha256()
    arrays: list[NDArray[Any]] = [run.draws, run.warmup_draws]
    arrays += [*run.statistics.values(), *run.warmup_statistics.values()]
    arrays += [a for d in run.divergences for a in (d.transitions, d.begins, d.ends)]
    arrays += [t.variance for t in run.tuning] + [np.array([t.step_size for t in run.tuning])]
    arrays.append(np.array(run.evaluations))
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_results_do_not_depend_on_the_number_of_threads(kernel: Kernel) -> None:
    """1, 2, 3, 4 and 8 threads for 5 chains: every bit is the same."""
    target = correlated_normal(5, 1)
    points = np.random.default_rng(0).standard_normal((5, 5))
    runs = {
        cores: run_chains(target, kernel, points, draws=3000, tune=500, seed=11, cores=cores)
        for cores in (1, 2, 3, 4, 8)
    }
    assert len({fingerprint(run) for run in runs.values()}) == 1
    assert runs[1].draws.shape == (5, 3000, 5)
    assert runs[1].warmup_draws.shape == (5, 500, 5)


def test_results_do_not_depend_on_listeners_or_repetition() -> None:
    """A slow listener and none; the same seed twice; another seed."""
    target, points = standard(3), np.zeros((2, 3))

    def run(seed: int, *listeners: Callable[[Event], None]) -> str:
        return fingerprint(
            run_chains(target, NutsKernel(), points, draws=500, tune=200, seed=seed, listeners=listeners)
        )

    first = run(1)
    assert run(1) == first
    assert run(1, lambda event: time.sleep(0.01)) == first
    assert run(2) != first


def test_a_chain_does_not_depend_on_how_many_there_are() -> None:
    """Chain 1 of 2 is chain 1 of 4."""
    target, points = standard(3), np.arange(12.0).reshape(4, 3) / 10.0
    few = run_chains(target, NutsKernel(), points[:2], draws=200, tune=200, seed=5)
    many = run_chains(target, NutsKernel(), points, draws=200, tune=200, seed=5)
    np.testing.assert_array_equal(few.draws, many.draws[:2])


def test_statistics_have_their_names_and_types() -> None:
    """One array (chain, draw) per name, integers and flags among them."""
    run = run_chains(standard(2), NutsKernel(), np.zeros((3, 2)), draws=50, tune=20, seed=1)
    types = {name: values.dtype for name, values in run.statistics.items()}
    assert types == {name: np.dtype(t) for name, t in NutsKernel().statistics.items()}
    assert all(values.shape == (3, 50) for values in run.statistics.values())
    assert all(values.shape == (3, 20) for values in run.warmup_statistics.values())
    assert run.made == (70, 70, 70)
    assert not run.interrupted
    assert run.draws[0].flags.c_contiguous
    times = zip(run.tuning_seconds, run.chain_seconds, strict=True)
    assert all(0.0 < tuning < total < run.seconds for tuning, total in times)
    np.testing.assert_allclose(run.statistics["lp"], -0.5 * (run.draws**2).sum(axis=2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("draws", "tune"), [(0, 10), (10, 0), (1, 0)])
def test_short_runs(draws: int, tune: int) -> None:
    """Only tuning, no tuning, a single draw."""
    run = run_chains(standard(1), NutsKernel(), np.zeros((2, 1)), draws=draws, tune=tune, seed=1)
    assert run.draws.shape == (2, draws, 1)
    assert run.warmup_draws.shape == (2, tune, 1)


def test_events_tell_the_whole_story() -> None:
    """First RunStarted, then Progress that never goes back, last RunEnded; always in the caller's thread."""
    events: list[Event] = []
    threads: set[int] = set()

    def listen(event: Event) -> None:
        events.append(event)
        threads.add(threading.get_ident())

    run = run_chains(
        standard(50),
        NutsKernel(),
        np.zeros((3, 50)),
        draws=60_000,
        tune=500,
        seed=1,
        cores=2,
        listeners=[listen],
    )
    assert threads == {threading.get_ident()}
    assert events[0] == RunStarted(chains=3, threads=2, tune=500, draws=60_000, dimension=50)
    assert events[-1] == RunEnded(interrupted=False, draws=60_000, seconds=run.seconds)
    progress = [event for event in events if isinstance(event, Progress)]
    assert len(progress) == len(events) - 2
    for chain in range(3):
        own = [event for event in progress if event.chain == chain]
        assert len(own) >= 2
        assert [e.done for e in own] == sorted(e.done for e in own)
        last = own[-1]
        assert (last.phase, last.done, last.gradients) == ("done", 60_500, run.evaluations[chain])
        assert last.step_size == run.tuning[chain].step_size
        assert last.divergences == run.statistics["diverging"][chain].sum()
        assert 1.0 <= last.tree_depth <= 10.0


@pytest.fixture(autouse=True)
def usual_ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def endless() -> Iterator[Callable[..., Run]]:
    """A run that only an interruption ends; fails instead of hanging if it does not."""

    def run(listener: Callable[[Event], None] | None = None, **options: Any) -> Run:
        settings: dict[str, Any] = {"draws": 3_000_000, "tune": 300, "seed": 1, "cores": 2} | options
        listeners = [] if listener is None else [listener]
        return run_chains(standard(2), MetropolisKernel(), np.zeros((4, 2)), listeners=listeners, **settings)

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


def check_prefix(run: Run) -> None:
    """An interrupted run holds the draws an unbroken one begins with."""
    assert run.interrupted
    kept = run.warmup_draws.shape[1] + run.draws.shape[1]
    assert kept == min(run.made)
    assert np.isfinite(run.draws).all()
    if kept:
        short = run_chains(
            standard(2), MetropolisKernel(), np.zeros((4, 2)), draws=max(1, kept - 300), tune=300, seed=1
        )
        together = np.concatenate([short.warmup_draws, short.draws], axis=1)[:, :kept]
        np.testing.assert_array_equal(np.concatenate([run.warmup_draws, run.draws], axis=1), together)


@pytest.mark.skipif(os.name == "nt", reason="signals to oneself work differently there")
def test_ctrl_c_returns_the_draws_made_so_far(endless: Callable[..., Run]) -> None:
    """A real SIGINT while all chains are sampling; all are cut to the shortest."""
    sampling: set[int] = set()

    def listen(event: Event) -> None:
        if isinstance(event, Progress) and event.phase == "sampling":
            sampling.add(event.chain)
            if len(sampling) == 4:
                os.kill(os.getpid(), signal.SIGINT)

    run = endless(listen)
    check_prefix(run)
    assert run.draws.shape[1] > 0
    assert all(v.shape == run.draws.shape[:2] for v in run.statistics.values())


@pytest.mark.skipif(os.name == "nt", reason="signals to oneself work differently there")
def test_ctrl_c_may_come_again_and_again(endless: Callable[..., Run]) -> None:
    """A volley of signals, some of them while the run winds up."""
    interrupt = lambda: os.kill(os.getpid(), signal.SIGINT)  # noqa: E731
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    assert before is signal.default_int_handler
    stopped = threading.Event()
    runs: list[Run] = []

    def listen(event: Event) -> None:
        if isinstance(event, Progress) and not stopped.is_set():
            for _ in range(20):
                interrupt()

    runs.append(endless(listen))
    stopped.set()
    check_prefix(runs[0])


def test_ctrl_c_at_any_early_moment(endless: Callable[..., Run]) -> None:
    """Delays from 0 on: before the first draw, while tuning, while sampling."""
    for delay in np.linspace(0.0, 0.03, 12):
        helper: list[threading.Thread] = []

        def listen(event: Event, delay: float = float(delay), helper: list[threading.Thread] = helper) -> None:
            if isinstance(event, RunStarted):  # from here on the signal is the run's
                helper.append(later(delay, _thread.interrupt_main))

        run = endless(listen)
        helper[0].join()
        check_prefix(run)


def test_keyboard_interrupt_from_a_listener_is_one_too(endless: Callable[..., Run]) -> None:
    """Where the signal cannot be taken over, the exception arrives inside of the run."""

    def listen(event: Event) -> None:
        if isinstance(event, Progress):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        endless(listen)  # the last report raises again, now outside of the run


def test_a_run_outside_of_the_main_thread(endless: Callable[..., Run]) -> None:
    """No signal handler can be set there; nothing else changes."""
    runs: list[Run] = []
    thread = threading.Thread(target=lambda: runs.append(endless(draws=100)))
    thread.start()
    thread.join()
    assert runs[0].draws.shape == (4, 100, 2)


def test_an_exception_of_a_listener_stops_the_run(endless: Callable[..., Run]) -> None:
    """It goes to the caller once no thread works any more."""

    def listen(event: Event) -> None:
        if isinstance(event, Progress):
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        endless(listen)


class BrokenChain:
    """Works for a while, then raises."""

    evaluations = 0

    def __init__(self, broken: bool) -> None:
        self.broken = broken
        self.done = 0

    def begin(self) -> None:
        pass

    def advance(self, count: int) -> int:
        self.done += count
        if self.broken and self.done > 10:
            raise ZeroDivisionError("by chance")
        return count

    def divergences(self) -> Divergences:
        return Divergences(np.zeros(0, np.int64), np.zeros((0, 1)), np.zeros((0, 1)))

    def tuning(self) -> Tuning:
        return Tuning(1.0, np.ones(1))


class BrokenKernel:
    """The second chain is broken."""

    statistics: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.chains = 0

    def chain(
        self,
        density: LogDensity,
        position: NDArray[np.float64],
        key: int,
        tune: int,
        rows: Rows,
        stop: NDArray[np.int64],
    ) -> BrokenChain:
        self.chains += 1
        return BrokenChain(self.chains == 2)


@pytest.mark.parametrize("cores", [1, 4])
def test_a_chain_that_raises_is_named(cores: int) -> None:
    """The others are stopped, and the exception is kept as the cause."""
    with pytest.raises(SamplingError, match=r"chain 1 failed after \d+ of 1000000 .* by chance") as caught:
        run_chains(standard(1), BrokenKernel(), np.zeros((4, 1)), draws=10**6, tune=0, seed=1, cores=cores)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_starting_point_without_density_names_its_chain() -> None:
    """Chain 2 starts where there is none."""
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=1.0)
    with pytest.raises(InitialPointError, match=r"chain 2: .*finite log density"):
        run_chains(target, NutsKernel(), [[1.0], [2.0], [-1.0]], draws=10, tune=10, seed=1)


@pytest.mark.parametrize("points", [np.zeros(2), np.zeros((0, 2)), np.zeros((2, 3))])
def test_starting_points_of_another_shape_are_refused(points: NDArray[np.float64]) -> None:
    """One row per chain, one column per coordinate."""
    with pytest.raises(InitialPointError, match=r"shape \(chains, 2\)"):
        run_chains(standard(2), NutsKernel(), points, draws=10, tune=10, seed=1)


@pytest.mark.parametrize(("draws", "tune"), [(-1, 10), (10, -1), (0, 0)])
def test_lengths_that_make_no_run_are_refused(draws: int, tune: int) -> None:
    """Neither negative nor nothing at all."""
    with pytest.raises(SamplingError, match="not both 0"):
        run_chains(standard(2), NutsKernel(), np.zeros((1, 2)), draws=draws, tune=tune, seed=1)
