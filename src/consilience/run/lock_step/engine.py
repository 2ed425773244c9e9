"""Chains in lock step on one device: a log density of JAX and starting points in, the first leg of a run out.

How long they tune and draw, and what is said of the draws, is decided where it is for chains on threads: in
`run.course`. What is computed in one transition is in `chees`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from consilience.errors import InitialPointError, SamplingError
from consilience.events import ChainProgress, Phase
from consilience.inference.dual_averaging import ANCHOR
from consilience.inference.messages import ChainTuning, Divergences, JointWindows, Segment, Window
from consilience.inference.metric import diagonal
from consilience.inference.modes.normals import RegionNormals
from consilience.inference.tuner import TuningSetting
from consilience.record import replace
from consilience.run.course import Leg, RunCourse
from consilience.run.engine import Chains, Engine, Overseer, superchains_of
from consilience.run.lock_step.chees import ChainStates, Learnt, Stride, initial_tuning, settled
from consilience.run.lock_step.jumps import DeviceNormals, on_device
from consilience.run.lock_step.program import CLIMBING_STEPS, LockStepProgram, halton
from consilience.run.lock_step.settings import COLUMNS, ChEES
from consilience.run.lock_step.tuner import ChEESCommand, ChEESTuner
from consilience.run.monitor import Monitored
from consilience.run.plan import RunPlan
from consilience.run.remedies.coordinates import Recoordinated

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

PRECISIONS: Final = ("float64", "float32")


def new_leg(
    logp: Callable[[Any], Any],
    kernel: ChEES,
    points: Floats,
    plan: RunPlan,
    *,
    chains: int,
    seed: int,
    monitored: Monitored | None = None,
    device: Any = None,
    precision: str = "float64",
    climb: bool = True,
    other_coordinates: Callable[[Floats, Recoordinated, float], Leg | None] | None = None,
    work: float | None = None,
) -> Leg:
    """Course and engine of so many chains, ready to start; `device`, `precision`, `climb` as in `LockStepEngine`.

    `logp`: log density of a position (coordinate,), in JAX.
    `kernel`: how they move.
    `points`: float64 (point, coordinate): neighbouring chains begin at the same one.
    `plan`: lengths and the rule; `pool` and `window_budget` have no meaning here.
    `seed`: 64-bit integer, on which all depends.
    `monitored`: what is watched; all coordinates by default.
    `other_coordinates`, `work`: as in `run.launch.new_leg`.
    Raises SamplingError for an unknown device or precision.
    """
    watched = monitored or Monitored(tuple(f"x[{i}]" for i in range(points.shape[1])))
    engine = LockStepEngine(
        logp,
        kernel.max_steps,
        points,
        chains=chains,
        seed=seed,
        device=device,
        precision=precision,
        climb=climb,
        folded=watched.without_turns,
        regions=watched.present_normals() if "jumps" in plan.remedies else None,
    )
    tuner = ChEESTuner(kernel, TuningSetting(chains, engine.dimension, COLUMNS, plan))
    facts = replace(engine.chains, work=work)
    return Leg(RunCourse(plan, facts, tuner, watched, other_coordinates), engine)


def device_of(name: Any = None) -> Any:
    """A device of JAX by its name, "cpu", "gpu" or "gpu:1"; JAX's first by default, an accelerator where there is one.

    Raises SamplingError: that names the devices there are.
    """
    if isinstance(name, jax.Device):
        return name
    present = list(jax.devices()) + [d for d in jax.devices("cpu") if d.platform != jax.devices()[0].platform]
    if name is None:
        return present[0]
    platform, _, number = str(name).partition(":")
    own = [d for d in present if platform in (d.platform, getattr(d.client, "platform_version", "").split(" ")[0])]
    if not own or (number and not number.isdecimal()) or int(number or 0) >= len(own):
        there = ", ".join(f"{d.platform}:{d.id}" for d in present)
        raise SamplingError(f"`device` is {name!r}, and the devices that JAX finds here are {there}.")
    return own[int(number or 0)]


@contextmanager
def on(device: Any, precision: str) -> Iterator[None]:
    """Arrays are made on the device, in "float64" or "float32", whatever JAX's settings are outside the block."""
    with jax.enable_x64(precision == "float64"), jax.default_device(device):
        yield


program_for = functools.lru_cache(maxsize=8)(LockStepProgram)  # what was compiled lately


class LockStepEngine(Engine):
    """See `run.engine.Engine`.

    `logp`: log density of a position (coordinate,), in JAX.
    `max_steps`: greatest number of leapfrog steps of a trajectory.
    `points`: float64 (point, coordinate): neighbouring chains begin at the same one; as many as chains, or fewer.
    `seed`: 64-bit integer, on which all depends.
    `device`: of JAX, or its name; None: JAX's first.
    `precision`: "float64" or "float32", of positions and densities.
    `climb`: whether starting points are moved uphill first.
    `folded`: gives equal positions one form: angles without whole turns.
    `regions`: between whose normals chains jump; None: they do not.
    Raises SamplingError for an unknown device or precision.
    """

    def __init__(
        self,
        logp: Callable[[Any], Any],
        max_steps: int,
        points: Floats,
        *,
        chains: int,
        seed: int,
        device: Any,
        precision: str,
        climb: bool,
        folded: Callable[[Floats], Floats],
        regions: RegionNormals | None = None,
    ) -> None:
        if precision not in PRECISIONS:
            raise SamplingError(f"`precision` must be one of {', '.join(map(repr, PRECISIONS))}, got {precision!r}.")
        self.device, self.precision = device_of(device), precision
        self.count, self.dimension = chains, points.shape[1]
        self.program = program_for(logp, max_steps, chains, self.dimension)
        super().__init__(
            Chains(
                chains,
                self.dimension,
                COLUMNS,
                longest=self.program.most,
                superchains=superchains_of(chains),
                at_once=True,
            )
        )
        self.points = points[np.minimum(np.arange(chains) // (chains // len(points)), len(points) - 1)]
        self.climb, self.folded = climb, folded
        self._halves = np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32 & 0xFFFFFFFF)
        with on(self.device, precision):
            self._regions = None if regions is None else on_device(regions, precision)
        self._place: Any = None  # of the chains, on the device
        self._learnt: Any = None  # of their steps, on the device
        self._target: float | None = None  # that the steps are learnt for; None: they are not
        self._tuning = ChainTuning(float("nan"), diagonal(np.ones(self.dimension)))
        self._transitions = 0
        self._steps = 0  # of each chain
        self._spent = 0.0

    # --- what may be called from any thread -------------------------------------------------------------------

    @property
    def evaluations(self) -> tuple[int, ...]:
        return (self._steps,) * self.count

    @property
    def seconds(self) -> tuple[float, ...]:
        """See `run.engine.Engine`: all chains share the time."""
        return (self._spent / self.count,) * self.count

    def states(
        self, drawn: int, taken: Mapping[int, Window], divergences: Mapping[int, int], ended: bool
    ) -> tuple[ChainProgress, ...]:
        moving: Phase = "waiting" if self._learnt is None else "sampling" if self._target is None else "tuning"
        phase: Phase = "done" if ended else "stopped" if self.stopping else moving
        size = taken[0].step_size if taken else float("nan")
        done, steps, each = self._transitions, self._steps, self._spent / self.count
        return tuple(
            ChainProgress(c, phase, done, drawn, divergences.get(c, 0), size, float("nan"), steps, each)
            for c in self.living
        )

    def tuning(self, chain: int) -> ChainTuning:
        return self._tuning

    # --- the run's own thread --------------------------------------------------------------------------

    @contextmanager
    def working(self) -> Iterator[None]:
        with on(self.device, self.precision):
            yield

    def advance(self, segment: Segment, overseer: Overseer) -> Mapping[int, Window] | None:
        began, before = time.perf_counter(), self._state
        if segment.begin:
            self._begin()
        if segment.commands:
            self._obey(segment.commands[0])
        start, made, rows = self._place.position, 0, []
        while made < segment.count:
            if self.ends(overseer):
                self._state = before  # a segment that is cut short is made anew by a run that goes on
                return None
            rows.append(self._advanced(min(self.program.most, segment.count - made)))
            made += len(rows[-1]["lp"])
        elapsed = time.perf_counter() - began
        self._spent += elapsed
        return self._windows(rows, start, elapsed / self.count)

    def _begin(self) -> None:
        """Evaluate the starting points, uphill of those given if that is wanted."""
        distinct, back = np.unique(self.points, axis=0, return_inverse=True)
        points = jnp.asarray(distinct, self.precision)
        if self.climb:
            given, points = self.program.climbed(points)
            self._check_start(given, back)
            self._steps += 2 * CLIMBING_STEPS * len(distinct) // self.count
        self._place = self.program.at(points[back.reshape(-1)])
        self._check_start(self._place, np.arange(self.count))

    def _check_start(self, place: Any, back: Array) -> None:
        level, finite = np.asarray(place.level), np.isfinite(np.asarray(place.gradient)).all(axis=1)
        bad = np.flatnonzero(~(np.isfinite(level) & finite)[back.reshape(-1)])
        if len(bad):
            value = level[back.reshape(-1)[bad[0]]]
            what = f"the log density is {value}" if not np.isfinite(value) else "the gradient is not finite"
            raise InitialPointError(
                f"at the starting point of chain {bad[0]} ({len(bad)} of {self.count} chains in all) {what}; give "
                "starting values with `initvals=`."
            )

    def _obey(self, command: ChEESCommand) -> None:
        """Begin to learn, from what is known of the steps, or go on with what was learnt."""
        self._target = command.target
        if command.target is None:
            self._learnt = self._learnt._replace(stride=settled(self._learnt))
        elif self._learnt is None:
            variance = self._place.position.var(axis=0)
            self._learnt = initial_tuning(self._place, jnp.where(variance > 1e-10, variance, 1.0))
        else:
            size, length, scale = self._learnt.stride
            self._learnt = initial_tuning(self._place, scale**2, float(size) / ANCHOR, float(length))
        self._noted()

    def _noted(self) -> tuple[float, float]:
        """Note what there is to go on with; step size and trajectory length of it."""
        stride = self._learnt.stride if self._target is None else settled(self._learnt)
        self._tuning = ChainTuning(float(stride.size), diagonal(np.asarray(stride.scale, np.float64) ** 2))
        return self._tuning.step_size, float(stride.length)

    def _advanced(self, count: int) -> dict[str, Array]:
        """Further transitions of all chains: rows of draws (transition, chain, coordinate) and statistics."""
        program, first = self.program, self._transitions
        jitter = jnp.asarray(halton(first, program.most), self.precision)
        learning, target = self._target is not None, self._target or 0.0
        self._place, self._learnt, rows = program.advanced(
            learning, self._place, self._learnt, self._halves, first, jitter, count, target, self._regions
        )
        self._transitions += count
        found = {name: np.asarray(values)[:count] for name, values in rows.items()}
        self._steps += int(found["n_steps"][:, 0].sum()) + (0 if self._regions is None else count)
        return found

    def _windows(self, rows: Sequence[Mapping[str, Array]], start: Any, seconds: float) -> JointWindows:
        """Rows of all chains, which began at `start`, as their windows."""
        columns = tuple(COLUMNS.types)
        count = sum(len(some["lp"]) for some in rows)
        draws = np.empty((self.count, count, self.dimension))
        table = np.empty((self.count, len(columns), count))
        if rows:
            draws[:] = np.concatenate([some["draws"] for some in rows]).swapaxes(0, 1)
            for place, name in enumerate(columns):
                table[:, place] = np.concatenate([some[name] for some in rows]).T
            draws = self.folded(draws)
        size, length = self._noted()
        snapshot = {} if self._target is None else {"length": length}
        places = {}
        diverging = table[:, columns.index("diverging")] == 1.0
        if diverging.any():
            begins = np.concatenate([self.folded(np.asarray(start, np.float64))[:, None], draws], axis=1)
            for c in np.flatnonzero(diverging.any(axis=1)).tolist():
                places[c] = _divergences(np.flatnonzero(diverging[c]), begins[c])
        return JointWindows(draws, table, places, size, self._steps, seconds, snapshot)

    def follow(self, other: LockStepEngine) -> None:
        """See `run.engine.Engine`: random numbers go on, too."""
        self._transitions, self._spent = other._transitions, other._spent

    @property
    def _state(self) -> tuple[Any, ...]:
        """What further transitions depend on; arrays of the device never change."""
        return self._place, self._learnt, self._target, self._tuning, self._transitions, self._steps

    @_state.setter
    def _state(self, state: tuple[Any, ...]) -> None:
        self._place, self._learnt, self._target, self._tuning, self._transitions, self._steps = state

    def save(self, living: Sequence[int]) -> list[dict[str, Any]]:
        """See `run.engine.Engine`: one state of all chains."""
        points: dict[str, Any] = {"points": self.points}
        snapshot = None
        if self._place is not None:
            parts = {"place": self._place, "learnt": self._learnt, "regions": self._regions}
            snapshot = {name: [np.asarray(leaf) for leaf in jax.tree.leaves(part)] for name, part in parts.items()}
        own = {"transitions": self._transitions, "steps": self._steps, "seconds": self._spent, "target": self._target}
        return [{"chains": self.count, **own, "origin": points, "snapshot": snapshot and {**points, **snapshot}}]

    def load(self, state: list[dict[str, Any]]) -> None:
        """See `run.engine.Engine`."""
        (saved,) = state
        self._transitions, self._steps, self._spent = saved["transitions"], saved["steps"], saved["seconds"]
        self._target, snapshot = saved["target"], saved["snapshot"]
        self.points = (saved["origin"] if snapshot is None else snapshot)["points"]
        with on(self.device, self.precision):
            if snapshot is not None:
                place, learnt, regions = ([jnp.asarray(a) for a in snapshot[n]] for n in ("place", "learnt", "regions"))
                self._place, self._learnt = ChainStates(*place), Learnt(learnt[0], Stride(*learnt[1:4]), *learnt[4:])
                self._regions = DeviceNormals(*regions) if regions else None
        shapes = [self.points.shape] + ([] if snapshot is None else [self._place.position.shape])
        if any(shape != (self.count, self.dimension) for shape in shapes):
            raise ValueError(f"positions have the shapes {shapes}")
        if self._learnt is not None:
            self._noted()


def _divergences(transitions: npt.NDArray[np.int64], begins: Floats) -> Divergences:
    """Those of one chain: where their trajectories began; where they ended is not kept."""
    return Divergences(transitions, begins[transitions], np.full((len(transitions), begins.shape[1]), np.nan))
