"""When chains jump, and between what: beside whatever tunes them, for every kernel alike; see `tuner.Tuner`.

The normals of regions that are known lead jumps from the beginning. Differences of past points lead more of them
where a number is asked for, or once chains are found to disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from consilience.inference.archive import past_points
from consilience.inference.jumps import JumpCommand
from consilience.inference.kernel import Kernel
from consilience.inference.messages import Command, Matrix, Segment, Window
from consilience.inference.modes.normals import RegionNormals
from consilience.inference.tuner import Reason, Tuner, TuningSetting, Windows, WrappingTuner
from consilience.record import field_names, replace

WINDOW: Final = 50  # draws between two changes of the archive
JUMPS: Final = 4  # by differences, where disagreement turns them on
REASON: Final = "jumps"

Asked = int | Literal["auto"]
Known = Callable[[], RegionNormals | None]
FIELDS: Final = field_names(RegionNormals)


def asked_jumps(kernel: Kernel) -> Asked:
    """Jumps by differences that the kernels of a chain ask for: a number, or "auto"."""
    numbers: list[Asked] = [getattr(part, "jumps", "auto") for part in kernel.parts]
    return max((n for n in numbers if n != "auto"), default="auto")


class Jumping(WrappingTuner):
    """A tuner that lets chains jump, and leaves all else to another one.

    `inner`: the other one.
    `asked`: jumps by differences, or "auto".
    `known`: gives the normals of the regions that are known by now, or None; None: chains do not jump between them.
    `regions`: between whose normals chains jump; None: none were known.
    `count`: jumps by differences now.
    `points`: of earlier windows, for their archive.
    """

    def __init__(self, inner: Tuner, setting: TuningSetting, asked: Asked, known: Known | None) -> None:
        self.inner = inner
        self.chains, self.dimension = setting.chains, setting.dimension
        self.asked = asked
        self.known = known
        self.regions = None if known is None else known()
        self.count = 0 if asked == "auto" else asked
        self.points: Matrix | None = None
        self.told = False  # of the regions
        self.tuning: list[Matrix] = []  # draws of windows

    @property
    def length(self) -> int:
        """See `tuner.Tuner`."""
        return self.inner.length

    @property
    def answers(self) -> frozenset[Reason]:
        """Its own reason as long as chains do not jump by differences, though they may."""
        may = (self.asked == "auto" and not self.count) or self.new_regions() is not None
        return self.inner.answers | ({REASON} if may else set())

    def new_regions(self) -> RegionNormals | None:
        """The normals of regions, where others are known than those that chains jump between."""
        found, before = None if self.known is None else self.known(), self.regions
        if found is None or before is None:
            return found
        same = found.modes.shape == before.modes.shape and np.allclose(found.modes, before.modes, rtol=1e-3, atol=1e-3)
        return None if same else found

    @property
    def interval(self) -> int:
        """Draws between two changes of the archive."""
        return WINDOW if self.count else self.inner.interval

    def next(self) -> Segment:
        """What the chains do next, while tuning: with jumps between regions, which metrics are to be made for."""
        segment = self.inner.next()
        if self.regions is None:
            return segment
        if segment.anew is not None:  # a chain that begins once more has not been told
            segment = replace(segment, anew=JumpCommand(regions=self.regions, kernels=segment.anew))
        if self.told:
            return segment
        own = segment.commands or (None,) * self.chains
        return replace(segment, commands=tuple(JumpCommand(regions=self.regions, kernels=one) for one in own))

    def take(self, windows: Mapping[int, Window]) -> None:
        """Learn from the windows of a segment of tuning; the later half of their draws make the first archive."""
        self.told = True
        if self.count:
            self.tuning.append(np.concatenate([windows[c].draws for c in sorted(windows)]))
        self.inner.take(windows)
        if self.inner.finished and self.tuning:
            late = np.concatenate(self.tuning[len(self.tuning) // 2 :])
            self.points, self.tuning = past_points(late, (), self.dimension), []

    def sample(self) -> tuple[Command, ...]:
        """Commands with which sampling begins."""
        inner = self.inner.sample() or (None,) * self.chains
        if not self.count and self.regions is None:
            return inner
        archive = past_points(self.points, (), self.dimension) if self.count else None
        return tuple(JumpCommand(self.count, archive, self.regions, own) for own in inner)

    def between(self, windows: Windows) -> tuple[Command, ...]:
        """Commands at every `interval` draws of sampling."""
        inner = self.inner.between(windows)
        if not self.count:
            return inner
        archive = past_points(self.points, windows, self.dimension)
        return tuple(JumpCommand(archive=archive, kernels=own) for own in inner or (None,) * self.chains)

    def contradicted(self, windows: Windows) -> Reason | None:
        """What the draws so far say against the way they were made."""
        return self.inner.contradicted(windows)

    def again(self, reason: Reason, windows: Windows) -> None:
        """Begin again: with jumps between other regions or the points of these windows, or as the inner tuner does."""
        if reason != REASON:
            self.inner.again(reason, windows)
            return
        if (found := self.new_regions()) is not None:
            self.regions = found
            return
        chains: Sequence[int] = sorted(windows[-1])
        self.count = JUMPS
        self.points = np.concatenate([some[c].draws for some in windows for c in chains])

    def save(self) -> dict[str, Any]:
        """Its state as numbers and arrays."""
        return {
            "inner": self.inner.save(),
            "count": self.count,
            "points": self.points,
            "tuning": self.tuning,
            "told": self.told,
            "regions": None if self.regions is None else [getattr(self.regions, name) for name in FIELDS],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that was saved."""
        self.inner.load(state["inner"])
        self.count, self.points = state["count"], state["points"]
        self.tuning, self.told = list(state["tuning"]), state["told"]
        self.regions = None if state["regions"] is None else RegionNormals(*state["regions"])
