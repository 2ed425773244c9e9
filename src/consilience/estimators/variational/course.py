"""One stochastic ascent from its first step to its end: blocks of steps in machine code, looked at in between.

An approximation, a rule for steps and callbacks in; the approximation where it arrived, and the bounds on the way, out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from consilience.errors import SamplingError
from consilience.estimators.approximations.target import Floats
from consilience.estimators.variational.approximation import Approximation
from consilience.estimators.variational.ascent import preparing
from consilience.estimators.variational.convergence import BLOCK, Arrival
from consilience.estimators.variational.flow import NormalizingFlow
from consilience.estimators.variational.flow_steps import FlowCode, FlowGradient, FlowInputs, FlowPlaces
from consilience.estimators.variational.full_rank import CorrelatedNormals
from consilience.estimators.variational.low_rank import LowRankNormals
from consilience.estimators.variational.mean_field import IndependentNormals
from consilience.estimators.variational.optimizers import NATURAL, Optimizer
from consilience.estimators.variational.particles import ParticleSet
from consilience.estimators.variational.state import (
    FLOW,
    FULL_RANK,
    MEAN_FIELD,
    PARTICLES,
    Ascent,
    AscentFamily,
    Batches,
    Stein,
    StepRule,
    Tally,
)
from consilience.inference.density import open_density
from consilience.inference.vectors import Vectors
from consilience.native.typed_python import address

ENDLESS: Final = 1e50  # means and standard deviations that are taken for infinite
FLOW_BLOCK: Final = 200  # steps of a flow between two looks: its bound rises slowly against the noise
MOST_FAILURES: Final = 200  # steps in a row without a draw of finite density
PLAIN: Final = ("taken", "arrived", "ended", "interrupted", "bound", "bounds", "latest")  # of a course's state
ARRAYS: Final = ("_own", "_before", "memory")
COUNTED: Final = ("rate", "step", "failures")  # by machine code

Callbacks = Sequence[Callable[[Approximation, Sequence[float] | None, int], Any]]


class Course:
    """One ascent: its memory, and how far it has come.

    approx (Approximation): Where it begins; it gets what the ascent ends with.
    stein (bool): Whether draws move along Stein's direction.
    draws (int): Per step; those of particles are the particles.
    most (float): Greatest norm of a gradient, 0: any.
    key (int): Of the random numbers, which depend on it and on the number of the step.
    taken (int): Steps before.
    stop (object): int64[1], not 0 once it is to end.
    """

    def __init__(
        self,
        approx: Approximation,
        stein: bool,
        optimizer: Optimizer,
        draws: int,
        most: float,
        key: int,
        taken: int,
        stop: Any,
    ) -> None:
        target = approx.target
        n, family = target.dimension, approx.family
        draws = len(approx.parameters) // n if family == PARTICLES else draws
        count = len(approx.parameters)
        batches = target.density.batches
        parameters, gradient = approx.parameters.copy(), np.zeros(count)
        normals, points, slopes = (np.zeros(draws * n) for _ in range(3))
        rows = np.zeros(max(1, sum(b.length for b in batches)))
        self.approx, self.optimizer = approx, optimizer
        self.particles, self.flow, self.stein = family == PARTICLES, family == FLOW, stein
        self.block = FLOW_BLOCK if self.flow else BLOCK
        self.rate = optimizer.learning_rate
        if optimizer.rule == NATURAL and family == FULL_RANK:
            self.rate *= draws / (draws + 4.0 * n)  # the noise of the covariance grows with the dimension
        self.taken, self.arrived, self.ended, self.interrupted = 0, False, False, False
        self._stop = stop
        self.bounds: Floats = np.zeros(0)
        self.level = self.bound = -math.inf  # at its end, and of the last block
        self.latest: Floats = parameters.copy()  # after the last block
        self._sums, self._pulls, self._turns = np.zeros(count), np.zeros(2 * n), np.zeros(2)
        self._scales, self._own, self._before = np.ones(n), parameters, np.zeros(n)
        natural = optimizer.rule == NATURAL
        self._rule = Arrival(self._moved, decays=natural or self.flow)
        self.memory = np.zeros(optimizer.memory(count))
        code = preparing().result()
        self.kernel = Stein(
            active=stein, scales=self._scales, bandwidth=1.0, turned=np.zeros(draws * n if stein else 1)
        )
        self.ascent = Ascent(
            density=open_density(target.local, stop, rows),
            dimension=n,
            draws=draws,
            count=count,
            parameters=parameters,
            gradient=gradient,
            normals=normals,
            points=points,
            slopes=slopes,
            logps=np.zeros(draws),
            vector=np.zeros(n),
            rule=StepRule(
                kind=optimizer.rule,
                first=optimizer.first,
                second=optimizer.second,
                epsilon=optimizer.epsilon,
                window=optimizer.window,
                memory=self.memory,
                most=most,
            ),
            rate=self.rate,
            tally=Tally(sums=self._sums, pulls=self._pulls, turns=self._turns, before=self._before),
            batches=Batches(
                rows=rows,
                lengths=np.array([b.length for b in batches] or [0], np.int64),
                data_lengths=np.array([b.data for b in batches] or [0], np.int64),
                count=len(batches),
            ),
            key=key,
            step=taken,
            bounds=np.zeros(self.block),
            failures=0,
        )
        self._call = code.steps
        self._record = own_record(approx, self.ascent, self.kernel)  # which machine code knows by its address only
        self.family = AscentFamily(address(self._record), *code.families[family])  # type: ignore[arg-type]  # takes addresses

    @property
    def parameters(self) -> Floats:
        """Where the ascent is."""
        return np.array(self.ascent.parameters)

    def steps(self, count: int) -> Floats:
        """So many steps; their bounds."""
        ascent = self.ascent
        if self.stein:
            self._measure()
        before = ascent.step
        self._call(address(ascent), address(self.family), address(self.kernel), count)
        made = ascent.step - before
        self.taken += made
        if ascent.failures >= MOST_FAILURES:
            raise SamplingError(
                f"no draw of the approximation had a finite log density and gradient in {ascent.failures} steps in a "
                "row; give a start inside the support with `start=`, a smaller `start_sigma=`, or check the model with "
                "`model.point_logps()`."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            moments = np.array(self.approx.with_parameters(self.parameters).moments())
        off = np.flatnonzero(~(np.abs(moments) < ENDLESS).all(0))
        if len(off):
            raise SamplingError(
                f"the approximation ran off along `{self.approx.target.coordinate(int(off[0]))}` within {self.taken} "
                "steps: the density is improper or has no upper bound there, or the steps are too long. Give it "
                "a proper prior; or give `obj_optimizer` a smaller `learning_rate`, or a `total_grad_norm_constraint`."
            )
        return np.array(ascent.bounds[:made])

    def _measure(self) -> None:
        """Scales and bandwidth of Stein's kernel: of the particles now, the latter by the median of their distances."""
        own = self.parameters.reshape(-1, self.ascent.dimension) if self.particles else None
        if own is None:
            self.approx.parameters = self.parameters
            generator = np.random.Generator(np.random.Philox(key=[self.ascent.key & (2**64 - 1), self.ascent.step]))
            own, _ = self.approx.points(self.ascent.draws, generator)
        scales = np.ones(own.shape[1])
        if self.optimizer.rule == NATURAL:
            scales = np.maximum(own.std(0), 1e-8)
        scaled = own / scales
        squares = (scaled**2).sum(1)
        distances = np.maximum(squares[:, None] + squares - 2.0 * scaled @ scaled.T, 0.0)
        apart = distances[np.triu_indices(len(own), 1)]
        self._scales[:] = scales
        self.kernel.bandwidth = max(float(np.median(apart)) / np.log(len(own) + 1.0), 1e-12)

    def state(self) -> dict[str, Any]:
        """What the next steps depend on, and what was found, between two calls of `climb`; see `go_on_from`."""
        plain = {name: getattr(self, name) for name in PLAIN}
        arrays = {name: np.array(getattr(self, name)) for name in ARRAYS}
        ascent = {name: getattr(self.ascent, name) for name in COUNTED}
        return {**plain, **arrays, **ascent, "rule": self._rule.state()}

    def go_on_from(self, state: Mapping[str, Any]) -> None:
        """Take over where another has come to that began as this one."""
        for name in PLAIN:
            setattr(self, name, state[name])
        for name in ARRAYS:
            getattr(self, name)[:] = state[name]
        for name in COUNTED:
            setattr(self.ascent, name, state[name])
        self._rule.go_on_from(state["rule"])

    def ascend(self, n: int, called: Callbacks, converge: bool, going: Callable[[], bool] = lambda: True) -> None:
        """Up to `n` steps, and fewer where the rule or a callback ends them, or `going`, asked before every block."""
        self.ended |= not self.climb(n, called, converge, going)
        self.arrive(converge)

    def climb(self, n: int, called: Callbacks, converge: bool, going: Callable[[], bool]) -> bool:
        """Steps as long as there are any to take, or until `going` says no; whether they are over."""
        chunk = self.block if not called else math.gcd(self.block, *(int(getattr(c, "every", 1)) for c in called))
        bounds: list[Floats] = [self.bounds]
        block: list[Floats] = []
        try:
            while self.taken < n and not self.arrived and not self.ended:
                if not going() or self._stop[0]:
                    return False
                if not block:
                    self._sums[:] = 0.0
                    self._pulls[:] = self._turns[:] = 0.0
                block.append(self.steps(min(chunk, n - self.taken)))
                bounds.append(block[-1])
                self.latest = self.parameters
                if len(block[-1]):
                    self.bound = float(np.mean(block[-1]))
                if called:
                    self._show(called, np.concatenate(bounds))
                if converge and sum(map(len, block)) >= self.block:
                    whole = np.concatenate(block)
                    pace = self._rule.block(whole, self._sums / len(whole), self._pull(len(whole)), self._turn())
                    self.ascent.rate = self.rate * pace.rate
                    self.arrived = pace.arrived
                    block = []
        except KeyboardInterrupt:
            self.interrupted = self.ended = True
        finally:
            self.bounds = np.concatenate(bounds)
        return True

    def arrive(self, converge: bool) -> None:
        """Give the approximation what the ascent has come to."""
        last = self.bounds[-2 * BLOCK :]
        self.level = float(np.mean(last)) if np.isfinite(last).all() and len(last) else -math.inf
        average = self._rule.average if converge and not self.ended else None
        self.approx.take(self.parameters if average is None else average)

    def _show(self, called: Callbacks, bounds: Floats) -> None:
        self.approx.take(self.parameters)
        try:
            for callback in called:
                callback(self.approx, -bounds, self.taken)  # type: ignore[arg-type]  # an array is a sequence of numbers
        except StopIteration:
            self.ended = True

    def _turn(self) -> float:
        """Mean cosine between the gradients of one step and the next, by the means; 0 where there is none."""
        product, square = self._turns
        known = np.isfinite(product) and np.isfinite(square) and square > 0 and not (self.particles or self.flow)
        return float(product / square) if known else 0.0

    def _pull(self, steps: int) -> Floats:
        """How far the gradient says the optimum is, by coordinate, in standard deviations."""
        pulls = self._pulls / steps
        if self.flow:
            pulls[: self.ascent.dimension] *= self.approx.with_parameters(self.parameters).moments()[1]
        if self.particles:
            pulls[: self.ascent.dimension] *= self.parameters.reshape(-1, self.ascent.dimension).std(0)
        return pulls

    def _moved(self, before: Floats, after: Floats) -> float:
        """Largest distance of means, and of logs of standard deviations, in standard deviations."""
        (a, s), (b, t) = (self.approx.with_parameters(p).moments() for p in (before, after))
        return float(max(np.abs((b - a) / np.maximum(t, 1e-300)).max(), np.abs(np.log(t / s)).max()))


def own_record(approx: Approximation, ascent: Ascent, stein: Stein) -> Any:
    """The record of a family with memory of its own."""
    n, draws, family = ascent.dimension, ascent.draws, approx.family
    if family == MEAN_FIELD:
        return IndependentNormals(stein)
    if family == FULL_RANK:
        return CorrelatedNormals(stein, factor=np.zeros(n * n), scratch=np.zeros(n))
    if family == PARTICLES:
        return ParticleSet(stein)
    if isinstance(approx, NormalizingFlow):
        return flow_code(approx, ascent, stein)
    rank = ascent.count // n - 2
    return LowRankNormals(
        stein,
        rank=rank,
        factor=np.zeros(max(1, rank * rank)),
        loads=np.zeros(max(1, draws * rank)),
        short=np.zeros(max(1, rank)),
        turned=np.zeros(draws * n),
    )


def flow_code(approx: NormalizingFlow, ascent: Ascent, stein: Stein) -> FlowCode:
    """The machine code of a flow with scratch memory of its own."""
    draws = ascent.draws
    placing, gathering = approx.flow.placing(draws), approx.flow.gathering(draws)
    where = approx.flow.last("scale")
    return FlowCode(
        stein,
        place=placing.entry,  # type: ignore[arg-type]  # a record takes addresses
        gather=gathering.entry,  # type: ignore[arg-type]  # likewise
        place_constants=placing.constants,
        gather_constants=gathering.constants,
        workspace=Vectors(max(1, -(-max(placing.workspace, gathering.workspace) // 8))).vector(),
        inputs=FlowInputs(ascent.parameters, ascent.normals, ascent.slopes, np.zeros(draws)),
        places=FlowPlaces(ascent.points, np.zeros(draws * ascent.dimension)),
        slope=FlowGradient(ascent.gradient),
        scale=-1 if where is None else where.start,
        close=approx.flow.names[-2:] == ("scale", "loc"),
    )
