"""A run of chains in lock step: they climb, tune together, and draw until the draws suffice.

A log density of JAX, starting points and options enter; a `Run` leaves, the same as that of chains on threads. What is
computed in one transition, and what is said of the draws, is decided elsewhere.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from consilience.errors import InitialPointError, SamplingError
from consilience.events import ChainProgress, DrawsMade, Listener, Phase, Progress, Restarted, RunEnded, RunStarted
from consilience.inference.dual_averaging import ANCHOR
from consilience.inference.messages import Divergences, Tuning
from consilience.inference.metric import diagonal
from consilience.record import Record, replace
from consilience.run import stopping
from consilience.run.controller import REASONS
from consilience.run.listeners import Listeners
from consilience.run.monitor import Monitored
from consilience.run.options import Options
from consilience.run.result import Run
from consilience.run.stopping import Verdict
from consilience.vectorised.chees import begun, settled
from consilience.vectorised.engine import device_of, on
from consilience.vectorised.judgement import Judgement
from consilience.vectorised.program import CLIMBING_STEPS, LockStepProgram, halton
from consilience.vectorised.settings import COLUMNS, ChEES

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

WINDOW: Final = 50  # transitions of tuning, after which it may end
FEWEST_WINDOWS: Final = 3
FEWEST_TRANSITIONS: Final = 3000  # of all chains in tuning
STILL: Final = 0.1  # of logarithms and standard deviations, by which windows of settled chains may differ
NOISE: Final = 2.0  # standard errors more
PRECISIONS: Final = ("float64", "float32")
TICK: Final = 0.1  # seconds between two reports

program_for = functools.lru_cache(maxsize=8)(LockStepProgram)  # what was compiled lately


class TuningWindow(Record):
    """What tuning had come to after some transitions.

    transitions         of each chain
    step_size, length   step size and trajectory length in units of the scales
    acceptance          mean acceptance probability of the window's transitions
    """

    transitions: int
    step_size: float
    length: float
    acceptance: float


class LockStepRun:
    """A run of chains in lock step, asked for as a `Running`. It works in the thread of `wait`, or in one of its own.

    logp        log density of a position (coordinate,), in JAX
    kernel      how they move
    points      float64 (point, coordinate): neighbouring chains begin at the same one; as many as chains, or fewer
    options     lengths and the rule; `pool` and `window_budget` have no meaning here
    seed        64-bit integer, on which all depends
    monitored   what is watched; all coordinates by default
    device      of JAX, or its name; by default JAX's first
    precision   "float64" or "float32", of positions and densities
    climb       whether starting points are moved uphill first
    reparametrized  gives, of draws (chain, draw, coordinate) that are hard to make, a run of the same target in other
                coordinates, or None; asked once, where the run decides its length
    drawn       draws of each chain so far
    raises      SamplingError for an unknown device or precision
    """

    def __init__(
        self,
        logp: Callable[[Any], Any],
        kernel: ChEES,
        points: Floats,
        options: Options,
        *,
        chains: int,
        seed: int,
        monitored: Monitored | None = None,
        device: Any = None,
        precision: str = "float64",
        climb: bool = True,
        reparametrized: Callable[[Floats], LockStepRun | None] | None = None,
    ) -> None:
        if precision not in PRECISIONS:
            raise SamplingError(f"`precision` must be one of {', '.join(map(repr, PRECISIONS))}, got {precision!r}.")
        self.device, self.precision = device_of(device), precision
        self.kernel, self.options, self.chains, self.seed = kernel, options, chains, seed
        self.dimension = points.shape[1]
        self.monitored = monitored or Monitored(tuple(f"x[{i}]" for i in range(self.dimension)))
        self.reparametrized = reparametrized
        self.listeners = Listeners((), self.stop)
        self.waited_seconds = 0.0
        self.finished = False
        self.drawn = 0
        self._points, self._climb = (
            points[np.minimum(np.arange(chains) // (chains // len(points)), len(points) - 1)],
            climb,
        )
        self._moving = kernel  # after divergences with smaller steps
        self._restarts: list[str] = []
        self._diverged = ""  # in words, the divergences for which chains were tuned again
        self._program = program_for(logp, kernel.max_steps, chains, self.dimension)
        self._judgement = Judgement(self.monitored, chains)
        self._rows: list[dict[str, Array]] = []
        self._warm: list[dict[str, Array]] = []
        self._windows: list[TuningWindow] = []
        self._place: Any = None  # of the chains, on the device
        self._known: Any = None  # of their steps, on the device
        self._first: Floats = self._points  # positions where the draws begin
        self._transitions = 0
        self._steps = 0  # of each chain
        self._tuning_steps = 0
        self._tuned: int | None = None
        self._began = self._told = 0.0
        self._spent = self._tuning_seconds = self._check_seconds = 0.0
        self._stopped = False
        self._going = threading.Event()
        self._going.set()
        self._thread: threading.Thread | None = None
        self._ended: Run | BaseException | None = None

    def start(self, background: bool) -> None:
        """The run begins; in the background at once, else with `wait`."""
        options = self.options
        self._began = time.perf_counter()
        self.listeners.send(
            RunStarted(
                chains=self.chains,
                threads=1,
                dimension=self.dimension,
                tune=options.tune,
                draws=options.draws,
                target_ess=options.rule.target_ess if options.draws is None else None,
                min_draws=self._judgement.next_check(0, options),
                max_draws=options.max_draws,
                max_tune=options.max_tune if options.tune is None else options.tune,
            )
        )
        if background:
            self._thread = threading.Thread(target=self._work, name="consilience-lock-step", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End with the draws there are, after the transitions at work."""
        self._stopped = True
        self._going.set()

    def pause(self) -> None:
        """Let chains rest after the transitions at work; `resume` lets them go on. The time counts."""
        self._going.clear()

    def resume(self) -> None:
        """Go on after a pause."""
        self._going.set()

    def again(self, options: Options, listeners: Iterable[Listener]) -> LockStepRun:
        """The same chains, to go on under other options."""
        self.options, self._ended, self._stopped, self.finished = options, None, False, False
        self.reparametrized = None  # the draws there are stay
        self.listeners, self._thread = Listeners(listeners, self.stop), None
        return self

    def wait(self, timeout: float | None = None) -> Run:
        """The result, once the run is over.

        timeout   seconds to wait at most for a run in the background; then TimeoutError, and the run goes on
        raises    InitialPointError where the density is not finite at a starting point
        """
        if self._thread is None:
            self._work()
        else:
            self._thread.join(timeout)
        if self._ended is None:
            raise TimeoutError(f"the run was not over after {timeout} seconds; it goes on.")
        if isinstance(self._ended, BaseException):
            raise self._ended
        return self._ended

    def so_far(self) -> Run:
        """What all chains have made until now."""
        return self._result(Verdict("interrupted", "the run is going on"))

    @property
    def living(self) -> tuple[int, ...]:
        """Numbers of the chains, of which none is left out."""
        return tuple(range(self.chains))

    def _work(self) -> None:
        try:
            self._ended = self._made()
        except BaseException as failure:  # belongs to whoever waits
            self._ended = failure
        finally:
            self.finished = True

    def _made(self) -> Run:
        before = self._spent
        with on(self.device, self.precision):
            if self._place is None:
                self._begin()
            if self._tuned is None:
                self._tune()
            verdict = self._draw()
        self._spent = before + time.perf_counter() - self._began
        self._tell("done", at_once=True)
        self.listeners.send(RunEnded(verdict.status, verdict.reason, self.drawn, self._spent))
        return self._result(verdict)

    def _begin(self) -> None:
        """Evaluate the starting points, uphill of those given if that is wanted."""
        distinct, back = np.unique(self._points, axis=0, return_inverse=True)
        points = jnp.asarray(distinct, self.precision)
        self._check_start(self._program.at(points), back)
        if self._climb:
            points = self._program.climbed(points)
            self._steps += 2 * CLIMBING_STEPS * len(distinct) // self.chains
        self._place = self._program.at(points[back.reshape(-1)])
        self._check_start(self._place, np.arange(self.chains))

    def _check_start(self, place: Any, back: Array) -> None:
        level, finite = np.asarray(place.level), np.isfinite(np.asarray(place.gradient)).all(axis=1)
        bad = np.flatnonzero(~(np.isfinite(level) & finite)[back.reshape(-1)])
        if len(bad):
            value = level[back.reshape(-1)[bad[0]]]
            what = f"the log density is {value}" if not np.isfinite(value) else "the gradient is not finite"
            raise InitialPointError(
                f"at the starting point of chain {bad[0]} ({len(bad)} of {self.chains} chains in all) {what}; give "
                "starting values with `initvals=`."
            )

    def _advance(self, tuning: bool, count: int) -> dict[str, Array]:
        """Some transitions, at most as many as a stretch has, as rows (chain, transition, …)."""
        program, first = self._program, self._transitions
        jitter = jnp.asarray(halton(first, program.most), self.precision)
        self._place, self._known, rows = program.advanced(
            tuning, self._place, self._known, _key(self.seed), first, jitter, count, self._moving.harmonic_target
        )
        self._transitions += count
        found = {name: np.swapaxes(np.asarray(values)[:count], 0, 1) for name, values in rows.items()}
        for name, kind in (*COLUMNS.types.items(), ("draws", "float64")):
            found[name] = found[name].astype(kind, copy=False)
        found["draws"] = self.monitored.without_turns(found["draws"])
        self._steps += int(found["n_steps"][0].sum())
        return found

    def _over(self) -> bool:
        """Whether the run is to end with what it has."""
        limit = self.options.max_time
        self._going.wait()
        return self._stopped or (limit is not None and time.perf_counter() - self._began > limit)

    def _tune(self) -> None:
        """Tune until scales, step size and trajectory length come to rest, or as long as asked."""
        options = self.options
        if self._known is None:
            variance = self._place.position.var(axis=0)
            self._known = begun(self._place, jnp.where(variance > 1e-10, variance, 1.0))
        else:
            size, length, scale = self._known.stride
            self._known = begun(self._place, scale**2, float(size) / ANCHOR, float(length))
        most = options.max_tune if options.tune is None else options.tune
        fewest = max(options.min_tune, FEWEST_WINDOWS * WINDOW, FEWEST_TRANSITIONS // self.chains)
        done, moments = 0, []
        while done < most and not self._over():
            stretches = []
            end = min(done + WINDOW, most)
            while done < end and not self._over():
                count = min(self._program.most, end - done)
                rows = self._advance(True, count)
                done += count
                stretches.append(rows)
                self._tell("tuning")
            if not stretches:
                break
            if options.keep_tuning:
                self._warm += stretches
            stride = settled(self._known)
            acceptance = float(np.mean([rows["acceptance_rate"].mean() for rows in stretches]))
            self._windows.append(TuningWindow(done, float(stride.size), float(stride.length), acceptance))
            moments.append(_moments(stretches, stride))
            rests = len(moments) > 1 and self._at_rest(*moments[-2:])
            if options.tune is None and done >= fewest and rests:
                break
        self._known = self._known._replace(stride=settled(self._known))
        self._tuned = done if self._tuned is None else self._tuned
        self._tuning_steps = self._steps
        self._first = np.asarray(self._place.position, np.float64)
        self._tuning_seconds = time.perf_counter() - self._began

    def _at_rest(self, before: tuple[Array, Array, Array], after: tuple[Array, Array, Array]) -> bool:
        """Whether two windows' means, standard deviations, and strides are the same but for noise."""
        noise = NOISE * np.sqrt(2.0 / self.chains)  # each chain is worth one draw at least
        (mean, deviation, stride), (other, wider, later) = before, after
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.abs(other - mean) / np.maximum(deviation, wider)
            grown = np.abs(np.log(wider / deviation))
        return bool(
            (moved < STILL + noise).all() and (grown < STILL + noise).all() and (np.abs(later - stride) < STILL).all()
        )

    def _draw(self) -> Verdict:
        """Draw until a verdict; those so far count."""
        judgement, options = self._judgement, self.options
        if options.draws == 0 or (self.drawn and judgement.next_check(self.drawn - 1, options) == self.drawn):
            verdict = (
                Verdict("completed") if options.draws == 0 else judgement.verdict(self.drawn, options, self._diverged)
            )
            if verdict is not None:
                return verdict
        while True:
            end = judgement.next_check(self.drawn, options)
            while self.drawn < end:
                if self._over():
                    return self._ended_early()
                rows = self._advance(False, min(self._program.most, end - self.drawn))
                self._rows.append(rows)
                statistics = {name: rows[name] for name in COLUMNS.types}
                self.listeners.send(DrawsMade(self.drawn, rows["draws"], statistics))
                self.drawn += rows["lp"].shape[1]
                self._tell("sampling")
                began = time.perf_counter()
                judgement.extend(rows)
                self._check_seconds += time.perf_counter() - began
            if options.draws is None and self._diverges() and self._reparametrizes():
                judgement = self._judgement
                continue
            if options.draws is None and options.escalate and not self._diverged and self._diverges():
                self._tune_again()
                judgement = self._judgement
                continue
            began = time.perf_counter()
            verdict = judgement.verdict(self.drawn, options, self._diverged)
            self._check_seconds += time.perf_counter() - began
            if judgement.figures is not None:
                self.listeners.send(judgement.figures)
            if options.draws is None and judgement.is_hard(self.drawn, options) and self._reparametrizes():
                judgement = self._judgement
                continue
            if verdict is not None:
                return verdict

    def _divergent(self) -> int:
        """Divergences of the draws so far."""
        return int(sum(rows["diverging"].sum() for rows in self._rows))

    def _diverges(self) -> bool:
        """Whether more draws diverged than good draws do now and then."""
        return stopping.too_many_divergences(self._divergent(), self.drawn * self.chains)

    def _reparametrizes(self) -> bool:
        """Begin again in other coordinates, where they are known and suit the draws better, which are then given up."""
        reparametrized, self.reparametrized = self.reparametrized, None
        other = None if reparametrized is None else reparametrized(self._joined(list(self._rows))[0])
        if other is None:
            return False
        self._restarts.append("coordinates")
        self.listeners.send(Restarted(REASONS["coordinates"]))
        self.monitored, self._program, self._points = other.monitored, other._program, other._points
        self._warm, self._rows, self.drawn, self._judgement = [], [], 0, other._judgement
        self._place = self._known = self._tuned = None
        self._begin()
        self._tune()
        return True

    def _tune_again(self) -> None:
        """Give the draws up, and tune with half the rejections, which takes smaller steps."""
        size = float(self._known.stride.size)
        draws = self.drawn * self.chains
        self._diverged = (
            f"{self._divergent()} of {draws} draws diverged at step size {size:.2g} before the chains were tuned again"
        )
        self._restarts.append("divergences")
        self.listeners.send(Restarted(REASONS["divergences"]))
        if self.options.keep_tuning:
            self._warm += self._rows
        self._rows, self.drawn, self._judgement = [], 0, Judgement(self.monitored, self.chains)
        self._moving = replace(self._moving, target_accept=(1.0 + self._moving.target_accept) / 2.0)
        self._tune()

    def _ended_early(self) -> Verdict:
        kept = f"the first {self.drawn} draws of each chain are kept" if self.drawn else "no draws had been made"
        if self._stopped:
            return Verdict("interrupted", f"the run was stopped; {kept}")
        return Verdict("not_converged", f"max_time={self.options.max_time} seconds were over; {kept}")

    @property
    def progress(self) -> Progress:
        """Where the chains are."""
        return self._progress("done" if self.finished else "tuning" if self._tuned is None else "sampling")

    def _progress(self, phase: Phase) -> Progress:
        divergences = np.zeros(self.chains, int)
        for rows in self._rows:
            divergences += rows["diverging"].sum(axis=1)
        size = self._windows[-1].step_size if self._windows else float("nan")
        seconds = time.perf_counter() - self._began
        each = seconds / self.chains
        return Progress(
            tuple(
                ChainProgress(c, phase, self._transitions, self.drawn, int(n), size, float("nan"), self._steps, each)
                for c, n in enumerate(divergences)
            ),
            self._judgement.figures,
            seconds,
            not self._going.is_set(),
        )

    def _tell(self, phase: Phase, at_once: bool = False) -> None:
        """Tell listeners where the chains are, some times in a second."""
        now = time.perf_counter()
        if at_once or now - self._told > TICK:
            self._told = now
            self.listeners.send(self._progress(phase))

    def _result(self, verdict: Verdict) -> Run:
        draws, statistics = self._joined(list(self._rows))  # a thread may append to it
        warm, warm_statistics = self._joined(list(self._warm))
        chains = range(self.chains)
        size, scale = float("nan"), np.ones(self.dimension)
        if self._known is not None:
            size, scale = float(self._known.stride.size), np.asarray(self._known.stride.scale, np.float64)
        tuning = Tuning(size, diagonal(scale**2))
        each = self._spent / self.chains
        return Run(
            chains=tuple(chains),
            draws=draws,
            statistics=statistics,
            warmup_draws=warm,
            warmup_statistics=warm_statistics,
            divergences=tuple(self._divergences(c, draws, statistics["diverging"]) for c in chains),
            tuning=(tuning,) * self.chains,
            evaluations=(self._steps,) * self.chains,
            tuning_evaluations=self._tuning_steps * self.chains,
            tuned=self._tuned or 0,
            windows=tuple(self._windows),
            restarts=tuple(self._restarts),
            verdict=verdict,
            check=self._judgement.figures,
            rank=0,
            notes=(),
            constants=self._judgement.monitor.constants,
            chain_seconds=(each,) * self.chains,
            tuning_seconds=self._tuning_seconds,
            check_seconds=self._check_seconds,
            seconds=self._spent,
            interrupted=verdict.status == "interrupted",
            seed=self.seed,
            superchains=self._judgement.superchains,
        )

    def _joined(self, rows: list[dict[str, Array]]) -> tuple[Floats, dict[str, Array]]:
        """Draws (chain, draw, coordinate) and statistics (chain, draw) of all stretches."""
        if not rows:
            empty = {name: np.empty((self.chains, 0), kind) for name, kind in COLUMNS.types.items()}
            return np.empty((self.chains, 0, self.dimension)), empty
        joined = {name: np.concatenate([some[name] for some in rows], axis=1) for name in rows[0]}
        draws = joined.pop("draws")
        return draws, {name: joined[name] for name in COLUMNS.types}

    def _divergences(self, chain: int, draws: Floats, diverging: Array) -> Divergences:
        """Those of one chain: where their trajectories began; where they ended is not kept."""
        transitions = np.flatnonzero(diverging[chain])
        begins = np.concatenate([self._first[chain][None], draws[chain]])[transitions]
        return Divergences(transitions.astype(np.int64), begins, np.full_like(begins, np.nan))


def _key(seed: int) -> Any:
    """A key of JAX's counter-based generator from all 64 bits of the seed."""
    low, high = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    return jax.random.fold_in(jax.random.key(low, impl="threefry2x32"), high)


def _moments(stretches: list[dict[str, Array]], stride: Any) -> tuple[Array, Array, Array]:
    """Means and deviations of the coordinates and the log density, and logarithms of the stride."""
    draws = np.concatenate([np.concatenate([s["draws"], s["lp"][:, :, None]], axis=2) for s in stretches], axis=1)
    return (
        draws.mean(axis=(0, 1)),
        draws.std(axis=(0, 1)),
        np.log([float(stride.size), float(stride.length)]),
    )
