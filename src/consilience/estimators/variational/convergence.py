"""When a stochastic ascent has arrived: a rule on blocks of steps.

Bounds and mean parameters of one block after the other in; the size of further steps, and the average of the
parameters once it stays where it is, out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from consilience.estimators.approximations.target import Floats
from consilience.record import Record

BLOCK: Final = 25  # steps
SIGNIFICANT: Final = 2.0  # standard errors by which the bound has to rise for the ascent to be under way
FEWEST: Final = 1  # blocks of the first window
STILL: Final = 0.05  # standard deviations, by which the average may move between two windows
NEAR: Final = 0.1  # standard deviations to the optimum, by the mean gradient of a window
NOISE: Final = 3.0  # standard errors of that mean which are allowed where they are more
BOUNDLESS: Final = 1e100  # of the bound: what ascends so far has no end
BACK: Final = -0.6  # mean cosine between gradients of steps that leap to and fro over the optimum
AHEAD: Final = 0.5  # the same of steps that still lead one way
FASTER: Final = 1.2  # times the size of these
FAR: Final = 0.5  # but no more than this


class Pace(Record):
    """How to go on after one more block.

    `rate`: factor on the learning rate from here on. `arrived`: whether the average counts.
    """

    rate: float
    arrived: bool


class Arrival:
    """First the bound has to stop rising by more than its Monte Carlo error between blocks.

    From then on the steps get shorter and parameters are averaged over windows of doubling length, until two of them
    agree and the mean gradient of the latest says that the optimum is near.

    `moved`: largest distance between parameters, in standard deviations. `average`: of the latest window; None before
    there is one.

    Source of averages in place of last iterates: Dhaka, Catalina, Andersen, Magnusson, Huggins, Vehtari (2020), Robust,
    accurate stochastic optimization for variational inference.
    """

    def __init__(self, moved: Callable[[Floats, Floats], float], decays: bool) -> None:
        self._moved, self._decays = moved, decays
        self._before: tuple[float, float] | None = None
        self._rate = 1.0
        self._begin_again()

    def state(self) -> dict[str, Any]:
        """What the next blocks are judged by; see `go_on_from`."""
        own = {name: value for name, value in vars(self).items() if name not in ("_moved", "_decays")}
        return {**own, "_own": list(self._own)}

    def go_on_from(self, state: Mapping[str, Any]) -> None:
        """Judge as another does that was made like this one."""
        vars(self).update(state)

    def _begin_again(self) -> None:
        self._settled = 0  # blocks since the bound stopped to rise
        self._length = FEWEST  # of the window, in blocks
        self._own: list[Floats] = []
        self._sum: Floats | float = 0.0
        self._last: tuple[Floats, int] | None = None  # sum over the window before, and its length

    @property
    def average(self) -> Floats | None:
        """Mean parameters of this window and the one before; None before the bound has stopped to rise."""
        total, blocks = self._last or (0.0, 0)
        count = blocks + len(self._own)
        return np.asarray((total + self._sum) / count) if count else None

    def block(self, bounds: Floats, mean: Floats, pull: Floats, turn: float) -> Pace:
        """One block more.

        `bounds`: of its steps, float64[steps]. `mean`: its mean parameters. `pull`: how far its mean gradient says the
        optimum is, by coordinate, in standard deviations. `turn`: mean cosine between the gradients of one step and the
        next, by the means.
        """
        if self._decays and turn < BACK:
            self._rate *= 0.5
            self._begin_again()
            self._before = None
            return Pace(self._rate, False)
        finite = bounds[np.abs(bounds) < BOUNDLESS]
        if len(finite) < len(bounds) or len(bounds) < 2:
            self._begin_again()
            self._before = None
            return Pace(self._rate, False)
        now = float(finite.mean()), float(finite.var(ddof=1) / len(finite))
        change = np.inf if self._before is None else now[0] - self._before[0]
        error = np.sqrt(now[1] + (0.0 if self._before is None else self._before[1])) + 1e-10 * abs(now[0])
        self._before = now
        one_way = turn > AHEAD and float(np.abs(pull).max()) > NEAR
        if one_way or change > SIGNIFICANT * error:
            if one_way and self._decays:
                self._rate = min(1.0, FASTER * self._rate)
            self._begin_again()
            return Pace(self._rate, False)
        if change < -SIGNIFICANT * error and self._decays:
            self._rate *= 0.5
        return self._settle(mean, pull)

    def _settle(self, mean: Floats, pull: Floats) -> Pace:
        self._settled += 1
        self._sum = self._sum + mean
        self._own.append(pull)
        if len(self._own) == self._length:
            if self._last is not None:
                before, blocks = self._last
                still = self._moved(before / blocks, np.asarray(self._sum / self._length)) <= STILL
                if still and self._near():
                    return Pace(0.0, True)
            self._last = np.asarray(self._sum), self._length
            self._own, self._sum, self._length = [], 0.0, 2 * self._length
        return Pace(self._rate / np.sqrt(1.0 + self._settled) if self._decays else 1.0, False)

    def _near(self) -> bool:
        """Whether the mean gradient of the window says so, as far as its noise lets it."""
        pulls = np.array(self._own)
        error = pulls.std(0, ddof=1) / np.sqrt(len(pulls))
        allowed = np.clip(NOISE * error, NEAR, FAR)
        return bool((np.abs(pulls.mean(0)) <= allowed).all())
