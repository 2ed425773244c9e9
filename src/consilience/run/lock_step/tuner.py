"""How chains in lock step are tuned: together, until scales, step size and trajectory length come to rest.

Windows enter, commands for the engine leave; see `inference.tuner.Tuner`. What is learnt in one transition is computed
by the engine (`chees.learnt`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from consilience.inference.messages import Command, Segment, Window, draws_by_chain, statistic
from consilience.inference.tuner import Reason, TuningSetting, Windows
from consilience.record import Record, as_plain, replace
from consilience.run.lock_step.settings import ChEES

Floats = npt.NDArray[np.float64]

WINDOW: Final = 50  # transitions of tuning, after which it may end
FEWEST_WINDOWS: Final = 3
FEWEST_TRANSITIONS: Final = 3000  # of all chains in tuning
STILL: Final = 0.1  # of logarithms and standard deviations, by which windows of settled chains may differ
NOISE: Final = 2.0  # standard errors more


class TuningWindow(Record):
    """What tuning had come to after some transitions.

    `transitions`: of each chain. `step_size`, `length`: step size and trajectory length in units of the scales.
    `acceptance`: mean acceptance probability of the window's transitions.
    """

    transitions: int
    step_size: float
    length: float
    acceptance: float


class ChEESCommand(Record):
    """What the engine is told: to learn, with this harmonic mean of acceptance probabilities, or to stay as it is."""

    target: float | None


class WindowMoments(NamedTuple):
    """Means and deviations of coordinates and log density over all chains, and logarithms of what was learnt."""

    mean: Floats
    deviation: Floats
    learnt: Floats


class ChEESTuner:
    """The state of the tuning of a run: see `tuner.Tuner`."""

    length: ClassVar[int] = 0
    interval: ClassVar[int] = 0
    gradients: ClassVar[int] = 0
    spent: ClassVar[int] = 0

    def __init__(self, kernel: ChEES, setting: TuningSetting) -> None:
        self.kernel = kernel  # after divergences with smaller steps
        self.setting = setting
        self.fixed = setting.lengths.tune
        self.arrived = tuple(range(setting.chains))
        self.answers: frozenset[Reason] = frozenset({"divergences"})
        self.reports: tuple[TuningWindow, ...] = ()
        self.finished = False
        self.started = False
        self.done = 0
        self.moments: WindowMoments | None = None  # of the last window

    @property
    def most(self) -> int:
        """Transitions at most, which are all there are where their number is given."""
        return self.setting.lengths.max_tune if self.setting.lengths.tune is None else self.setting.lengths.tune

    def next(self) -> Segment:
        """See `tuner.Tuner`."""
        commands = () if self.done else (ChEESCommand(self.kernel.harmonic_target),) * self.setting.chains
        return Segment("tuning", min(WINDOW, self.most - self.done), commands, begin=not self.started)

    def take(self, windows: Mapping[int, Window]) -> None:
        """See `tuner.Tuner`."""
        setting, own = self.setting, windows[0]
        count = len(own.draws)
        self.started = True
        self.done += count
        rests = False
        if count:
            size, length = own.step_size, own.snapshot["length"]
            rates = statistic(windows, self.arrived, setting.columns.of("acceptance")).T
            self.reports += (TuningWindow(self.done, size, length, float(rates.mean())),)
            earlier, self.moments = self.moments, self._moments(windows, size, length)
            rests = earlier is not None and self._at_rest(earlier, self.moments)
        fewest = max(setting.lengths.min_tune, FEWEST_WINDOWS * WINDOW, FEWEST_TRANSITIONS // setting.chains)
        self.finished = self.done >= self.most or (setting.lengths.tune is None and self.done >= fewest and rests)

    def _moments(self, windows: Mapping[int, Window], size: float, length: float) -> WindowMoments:
        draws = np.asarray(draws_by_chain(windows, self.arrived)).swapaxes(0, 1)
        levels = statistic(windows, self.arrived, self.setting.columns.of("log density")).T
        values = np.empty((*draws.shape[:2], draws.shape[2] + 1))
        values[..., :-1], values[..., -1] = draws, levels
        return WindowMoments(values.mean(axis=(0, 1)), values.std(axis=(0, 1)), np.log([size, length]))

    def _at_rest(self, before: WindowMoments, after: WindowMoments) -> bool:
        """Whether the moments of two windows are the same but for noise."""
        noise = NOISE * np.sqrt(2.0 / self.setting.chains)  # each chain is worth one draw at least
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.abs(after.mean - before.mean) / np.maximum(before.deviation, after.deviation)
            grown = np.abs(np.log(after.deviation / before.deviation))
        still = (moved < STILL + noise).all() and (grown < STILL + noise).all()
        return bool(still and (np.abs(after.learnt - before.learnt) < STILL).all())

    def sample(self) -> tuple[Command, ...]:
        """See `tuner.Tuner`."""
        return (ChEESCommand(None),) * self.setting.chains

    def between(self, windows: Windows) -> tuple[Command, ...]:
        """See `tuner.Tuner`: nothing."""
        return ()

    def contradicted(self, windows: Windows) -> Reason | None:
        """See `tuner.Tuner`: never."""
        return None

    def again(self, reason: Reason, windows: Windows) -> None:
        """See `tuner.Tuner`: with half the rejections, which takes smaller steps, from where the chains are."""
        self.kernel = replace(self.kernel, target_accept=(1.0 + self.kernel.target_accept) / 2.0)
        self.answers = frozenset()
        self.finished = False
        self.done, self.moments = 0, None

    def save(self) -> dict[str, Any]:
        """See `tuner.Tuner`: what the engine has learnt is its own."""
        return {
            "target_accept": self.kernel.target_accept,
            "answers": sorted(self.answers),
            "reports": [as_plain(report) for report in self.reports],
            "finished": self.finished,
            "started": self.started,
            "done": self.done,
            "moments": None if self.moments is None else list(self.moments),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """See `tuner.Tuner`."""
        self.kernel = replace(self.kernel, target_accept=state["target_accept"])
        self.answers, self.reports = frozenset(state["answers"]), tuple(TuningWindow(**r) for r in state["reports"])
        self.finished, self.started, self.done = state["finished"], state["started"], state["done"]
        self.moments = None if state["moments"] is None else WindowMoments(*state["moments"])
