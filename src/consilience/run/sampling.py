"""Sampling with a frozen kernel until the draws are good enough, or as many as asked for.

The draws are one fixed infinite sequence; checks, at lengths known beforehand, only decide where it is cut.
Windows enter, a verdict or the wish to tune again leaves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.inference import fisher_metric
from consilience.inference.kernel import Averaging, Learning, Orders
from consilience.inference.metric import Scales
from consilience.inference.metric_change import log_ratios
from consilience.inference.metric_error import error_bound
from consilience.record import Record, replace
from consilience.run import stopping
from consilience.run.events import CheckFigures
from consilience.run.messages import Matrix, Round, Window
from consilience.run.monitor import Monitor, Monitored
from consilience.run.schedule import check_after, look_again_after
from consilience.run.stopping import DISAGREEING_RHAT, FEWEST_DISAGREEING, Verdict

GRADIENTS_KEPT = 400  # draws of each chain, whose gradients may be needed for a new metric
LARGEST_METRIC_ERROR = 1.0  # root mean square of log variances
MANY = 200  # coordinates, beyond which a metric to compare with is learnt
ENOUGH = 200  # from at most so many draws; a bound on the metric's error always is
JUMPING_WINDOW = 50  # draws between two changes of the archive
ARCHIVE = 1000  # points at most
JUMPS = 4  # where disagreement turns them on
MOST_APART = 20  # scalars remembered; a chain that left a place left it in all of them, and each takes 5 to 25 ms

Wish = Literal["divergences", "metric", "jumps"]


class SamplingPlan(Record):
    """What is asked of sampling.

    length          draws of each chain, or None to stop by the rule
    fewest, most    draws of each chain where the rule decides: at the first check, and at the end
    rule            what is asked of effective sizes and R-hat
    escalate        whether divergences lead to another tuning
    check_metric    whether the metric may be replaced when the draws contradict it
    jumps           jumps after each transition; "auto": when chains disagree
    max_treedepth   greatest tree depth
    statistics      names of the windows' statistics
    form, directions   as for tuning
    """

    length: int | None
    fewest: int
    most: int
    rule: StoppingRule
    escalate: bool
    check_metric: bool
    jumps: int | Literal["auto"]
    max_treedepth: int
    statistics: tuple[str, ...]
    form: fisher_metric.Form = "auto"
    directions: int | None = None


class Frozen(Record):
    """What chains sample with.

    scales, steps   metric and step size by chain; empty: each chain's own, as it is
    arrived         chains that had arrived at the end of tuning
    points          last tuning draws of all chains, (draw, coordinate): the first archive of jumps
    left            scalars in which chains of the attempt before left places, where `points` are, for good: draws
                    have to come back there
    """

    scales: Mapping[int, Scales]
    steps: Mapping[int, float]
    arrived: tuple[int, ...]
    points: Matrix | None = None
    left: tuple[str, ...] = ()

    def save(self) -> dict[str, Any]:
        """As numbers and arrays; one metric of all chains is stored once."""
        different = list({id(s): s for s in self.scales.values()}.values())
        return {
            "scales": [[s.scale, s.directions, s.eigenvalues] for s in different],
            "metric": {str(c): [s is d for d in different].index(True) for c, s in self.scales.items()},
            "steps": {str(c): step for c, step in self.steps.items()},
            "arrived": list(self.arrived),
            "points": self.points,
            "left": list(self.left),
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Frozen:
        """What was saved."""
        different = [Scales(*parts) for parts in state["scales"]]
        return cls(
            {int(c): different[which] for c, which in state["metric"].items()},
            {int(c): step for c, step in state["steps"].items()},
            tuple(state["arrived"]),
            state["points"],
            tuple(state["left"]),
        )


class Sampling:
    """The state of one attempt: `next` and `take`, until there is a `verdict` or a `wish`."""

    def __init__(
        self,
        plan: SamplingPlan,
        monitored: Monitored,
        chains: Sequence[int],
        total: int,
        frozen: Frozen,
        *,
        retuned: bool,
        metric_checked: bool,
        jumps: int,
    ) -> None:
        self.plan = plan
        self.monitored = monitored
        self.chains = tuple(chains)
        self.total = total
        self.frozen = frozen
        self.retuned = retuned
        self.metric_checked = metric_checked
        self.jumps = jumps
        self.count = 0
        self.begun = False
        self.windows: list[dict[int, Window]] = []
        self.monitor = Monitor(monitored, self.chains)
        self.watched = 0  # windows that the monitor was given
        self.apart: set[str] = set(frozen.left)  # scalars in which a check found chains far from each other
        self.first_apart = 0  # draws of each chain then
        self.seldom = False  # whether draws do not come back to places that they left
        self.disagreed = False
        self.checked = 0
        self.no_look_before = 0  # draws of each chain; fewer will hardly do, as an earlier check told
        self.check: CheckFigures | None = None
        self.verdict: Verdict | None = None
        self.wish: Wish | None = None

    @property
    def last(self) -> int:
        return self.plan.most if self.plan.length is None else self.plan.length

    def _next_check(self, draws: int) -> int:
        return check_after(draws, min(self.plan.fewest, self.last), self.last)

    @property
    def _scheduled(self) -> bool:
        """Whether there is a check at the present length however long the run may become."""
        return check_after(self.count - 1, self.plan.fewest, self.count + 1) == self.count

    def _end_of_round(self, draws: int) -> int:
        check = self._next_check(draws)
        return min(check, draws - draws % JUMPING_WINDOW + JUMPING_WINDOW) if self.jumps else check

    def next(self) -> Round:
        """What the chains do next."""
        end = self._end_of_round(self.count)
        orders: tuple[Orders, ...] = ()
        if not self.begun:
            orders = tuple(self._first_orders(c) for c in range(self.total))
        elif self.jumps and self.count % JUMPING_WINDOW == 0:
            orders = (Orders(archive=self._archive()),) * self.total
        ahead = 0 if self.jumps or end >= self.last else self._end_of_round(end) - end
        return Round("sampling", end - self.count, orders, gradients=self._needs_gradients(), ahead=ahead)

    def _needs_gradients(self) -> bool:
        free = self.plan.length is None and (self.plan.escalate or self.plan.check_metric)
        return free and self.count < GRADIENTS_KEPT and bool(self.frozen.steps)

    def _first_orders(self, chain: int) -> Orders:
        frozen = self.frozen
        step = frozen.steps.get(chain)
        return Orders(
            learning=Learning.NOTHING,
            max_treedepth=self.plan.max_treedepth,
            scales=frozen.scales.get(chain),
            step=None if step is None else Averaging(step, math.log(step), 0),
            jumps=self.jumps,
            archive=self._archive() if self.jumps else None,
        )

    def _archive(self) -> Matrix:
        """Past points of all chains, thinned; how they are divided into windows has no influence."""
        parts = [] if self.frozen.points is None else [self.frozen.points]
        if self.windows:
            by_chain = [np.concatenate([windows[c].draws for windows in self.windows]) for c in self.chains]
            parts.append(np.stack(by_chain, axis=1).reshape(-1, by_chain[0].shape[1]))
        points = np.concatenate(parts)
        return points[:: max(1, math.ceil(len(points) / ARCHIVE))]

    def take(self, windows: Mapping[int, Window]) -> None:
        """Take in the windows of a round, and check if it is time to."""
        self.begun = True
        lost = [c for c in self.chains if c not in windows]
        if lost:
            self._leave_out(lost)
        self.windows.append({c: self._kept(windows[c]) for c in self.chains})
        check = self._next_check(self.count)
        self.count += len(windows[self.chains[0]].draws)
        if self.count >= check:
            self._check()

    def _kept(self, window: Window) -> Window:
        """A window without what is not needed again; whether a chain ran ahead must not show."""
        return replace(window, gradients=window.gradients if self._needs_gradients() else None, snapshot={})

    def _leave_out(self, lost: Sequence[int]) -> None:
        self.chains = tuple(c for c in self.chains if c not in lost)
        self.windows = [{c: w for c, w in windows.items() if c in self.chains} for windows in self.windows]
        self.no_look_before = 0
        self._watch_anew(Monitor(self.monitored, self.chains))

    def _watch_anew(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.watched = 0

    def _catch_up(self) -> None:
        """Give the monitor the windows that it has not seen."""
        lp = self.plan.statistics.index("lp")
        while self.watched < len(self.windows):
            some = self.windows[self.watched]
            draws, levels = {c: w.draws for c, w in some.items()}, {c: w.statistics[lp] for c, w in some.items()}
            self.monitor.extend(draws, levels)
            self.watched += 1
            if self.monitor.surprise:
                self._watch_anew(self.monitor.anew())

    def column(self, name: str, chain: int) -> NDArray[np.float64]:
        """A statistic of one chain's draws so far; empty if the kernel has no such statistic."""
        if name not in self.plan.statistics:
            return np.zeros(0)
        place = self.plan.statistics.index(name)
        return np.concatenate([windows[chain].statistics[place] for windows in self.windows])

    @property
    def divergences(self) -> int:
        return int(sum(self.column("diverging", c).sum() for c in self.chains))

    def _check(self) -> None:
        plan = self.plan
        fixed = plan.length is not None
        if fixed and self.count < self.last:
            return
        if fixed and not self.monitored.enabled:
            self.verdict = Verdict("completed", "convergence was not checked")
            return
        if not fixed and self._scheduled and (wish := self._wishes()):
            self.wish = wish
            return
        due = not fixed and self._scheduled
        if due:
            self.checked = self.count
        at_end = self.count >= self.last
        if not at_end and self.count < self.no_look_before:
            return
        self._catch_up()
        failure = self.monitor.check(plan.rule, at_end)
        if failure is None and self.apart:
            seen = self.frozen.points if self.frozen.left else None
            failure = stopping.seldom_visited(self.monitor, self.apart, plan.rule, seen)
        self.seldom = failure is not None and failure.criterion == "quantile ess"
        draws = self.count * len(self.chains)
        name, rhat, size = self.monitor.figures(failure)
        self.no_look_before = 0 if failure is None or self.seldom or at_end else self._no_look_before(size)
        self.check = CheckFigures(
            draws=self.count,
            rhat=rhat,
            rhat_name=name,
            ess=size,
            ess_name=name,
            target_ess=plan.rule.target_ess,
            target_rhat=plan.rule.target_rhat,
            next_check=self._next_check(max(self.count, self.no_look_before - 1)),
            passed=failure is None,
        )
        if failure is None:
            energies = [self.column("energy", c) for c in self.chains]
            low_energy = stopping.energy_is_low(energies)
            self.verdict = stopping.of_passing(self.divergences, draws, len(self.chains), self.retuned, low_energy)
            missing = [c for c in self.chains if self.frozen.steps and c not in self.frozen.arrived]
            if missing:
                self.verdict = Verdict(
                    "chains_disagree", f"chains {missing} had not come to where the others are when tuning ended"
                )
            return
        scalars = stopping.scalars_apart(self.monitor)
        self._note_apart([*([name] if rhat > DISAGREEING_RHAT else []), *(self.monitor.names[s] for s in scalars)])
        apart = stopping.disagreement(self.monitor, scalars)
        if ((apart is not None and self.disagreed) or self.seldom) and due and plan.jumps == "auto" and not self.jumps:
            self.wish = "jumps"
            return
        if apart is not None and (self.disagreed or at_end):
            self.verdict = apart
            return
        self.disagreed = apart is not None
        if self.disagreed:
            self.no_look_before = 0
            self.check = replace(self.check, next_check=self._next_check(self.count))
        if at_end:
            limit = f"draws={plan.length}" if fixed else f"max_draws={plan.most}"
            self.verdict = stopping.of_failing(self.monitor, failure, plan.rule, self.count, limit)

    def _note_apart(self, names: Sequence[str]) -> None:
        """Remember scalars in which chains are far from each other, as many as there is time to look at again."""
        if names and not self.apart:
            self.first_apart = self.count
        new = [name for name in dict.fromkeys(names) if name not in self.apart]
        self.apart.update(new[: MOST_APART - len(self.apart)])

    def restarted(self) -> Frozen:
        """What another attempt begins with, that jumps between the places where chains have been.

        Of places that were left for good there are ever fewer draws: so those count that chains had made when they
        were first seen to be apart.
        """
        if self.seldom and self.first_apart:
            by_chain = [np.concatenate([windows[c].draws for windows in self.windows]) for c in self.chains]
            early = np.concatenate([draws[: self.first_apart] for draws in by_chain])
            return replace(self.frozen, points=early, left=tuple(sorted(self.apart)))
        points = np.concatenate([w.draws for windows in self.windows for w in windows.values()])
        return replace(self.frozen, points=points, left=())

    def _no_look_before(self, size: float) -> int:
        """Draws of each chain before the next look, as a scalar is worth `size` now."""
        target = self.plan.rule.target_ess
        if target is None or not size < target:
            return 0
        until = look_again_after(self.count, size, target)
        # From there on chains may be found to disagree, which is not to be put off.
        return min(until, FEWEST_DISAGREEING) if self.count < FEWEST_DISAGREEING else until

    def _wishes(self) -> Wish | None:
        """What the draws so far say against the way they were made."""
        plan = self.plan
        if not self.frozen.steps:
            return None
        rate = self.divergences / (self.count * len(self.chains))
        if plan.escalate and not self.retuned and rate > stopping.RETUNE_RATE:
            return "divergences"
        due = self.checked == 0 or (self.checked < GRADIENTS_KEPT <= self.count)
        if plan.check_metric and not self.metric_checked and due and self._metric_is_wrong():
            return "metric"
        return None

    def check_again(self) -> None:
        """Look at the draws there are, under another plan: the next round may not be needed.

        Only at a length where a run under that plan would have looked.
        """
        self.verdict = None
        self.disagreed = False
        self.no_look_before = 0
        if self.count and self._next_check(self.count - 1) == self.count:
            self._check()

    def rest(self) -> None:
        """Let go what the windows give back: whoever keeps a result need not keep what watched it come."""
        self._watch_anew(self.monitor.anew())

    def points(self, every: int = 1) -> dict[int, tuple[Matrix, Matrix]]:
        """Draws and gradients by chain, as far as gradients were kept: all, or one of `every` so many."""
        kept = [windows for windows in self.windows if all(w.gradients is not None for w in windows.values())]
        if not kept:  # the first draws were made for a fixed length
            nothing = np.empty((0, self.windows[0][self.chains[0]].draws.shape[1]))
            return dict.fromkeys(self.chains, (nothing, nothing))
        begins = np.cumsum([0, *(len(windows[self.chains[0]].draws) for windows in kept[:-1])])
        places = [slice(int(-begin % every), None, every) for begin in begins]
        result = {}
        for c in self.chains:
            own = [(windows[c].draws, windows[c].gradients, rows) for windows, rows in zip(kept, places, strict=True)]
            result[c] = (
                np.concatenate([draws[rows] for draws, _, rows in own]),
                np.concatenate([gradients[rows] for _, gradients, rows in own if gradients is not None]),
            )
        return result

    def _together(self, every: int) -> tuple[Matrix, Matrix]:
        points = self.points(every)
        return np.concatenate([points[c][0] for c in self.chains]), np.concatenate([points[c][1] for c in self.chains])

    def _metric_is_wrong(self) -> bool:
        present = self.frozen.scales.get(self.chains[0])
        if present is None or any(self.frozen.scales.get(c) is not present for c in self.chains):
            return False
        draws, gradients = self._together(math.ceil(self.count * len(self.chains) / ENOUGH))
        if not len(draws) or error_bound(draws, gradients, present) <= LARGEST_METRIC_ERROR**2:
            return False
        # In many dimensions the estimate's cost grows with the cube of the draws, and some suffice to contradict.
        if len(present.scale) <= MANY:
            draws, gradients = self._together(1)
        learnt = fisher_metric.estimate(draws, gradients, self.plan.form, self.plan.directions)
        if learnt is None:
            return False
        ratios = log_ratios(learnt, present)
        return float(np.sqrt(np.mean((ratios - ratios.mean()) ** 2))) > LARGEST_METRIC_ERROR

    def save(self) -> dict[str, Any]:
        """Its state but the windows, as numbers and arrays."""
        return {
            "chains": list(self.chains),
            "count": self.count,
            "begun": self.begun,
            "retuned": self.retuned,
            "metric_checked": self.metric_checked,
            "jumps": self.jumps,
            "apart": sorted(self.apart),
            "first_apart": self.first_apart,
            "disagreed": self.disagreed,
            "checked": self.checked,
            "no_look_before": self.no_look_before,
            "nearness": self.monitor.nearness,
            "frozen": self.frozen.save(),
        }

    @classmethod
    def load(
        cls,
        state: Mapping[str, Any],
        plan: SamplingPlan,
        monitored: Monitored,
        total: int,
        windows: Sequence[dict[int, Window]],
    ) -> Sampling:
        """The attempt of a state that was saved, with the windows it had."""
        sampling = cls(
            plan,
            monitored,
            state["chains"],
            total,
            Frozen.load(state["frozen"]),
            retuned=state["retuned"],
            metric_checked=state["metric_checked"],
            jumps=state["jumps"],
        )
        sampling.count = state["count"]
        sampling.begun = state["begun"]
        sampling.apart, sampling.first_apart = set(state["apart"]), state["first_apart"]
        sampling.disagreed = state["disagreed"]
        sampling.checked = state["checked"]
        sampling.no_look_before = state["no_look_before"]
        sampling.windows = [{c: w for c, w in some.items() if c in sampling.chains} for some in windows]
        sampling._watch_anew(Monitor(monitored, sampling.chains, nearness=state["nearness"]))
        sampling._catch_up()
        return sampling
