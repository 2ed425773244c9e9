"""Chains that tune together: windows of draws and gradients enter, commands leave, until metric and step size rest.

Each chain begins alone for a few transitions; then, at the end of windows that grow, all draws make one metric
and all transitions one step size. A chain that has not arrived where the others are has no vote and holds up the
end. What is decided depends on the windows alone, taken in the order of the chains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from consilience.inference import fisher_metric
from consilience.inference.columns import Columns
from consilience.inference.messages import Matrix, Segment, Window
from consilience.inference.metric import Scales, diagonal
from consilience.inference.metric_change import log_ratios
from consilience.inference.metric_error import error_bound
from consilience.inference.nuts_chain import Averaging, Learning, NutsCommand
from consilience.inference.step_size_regression import step_size_for
from consilience.record import Record

if TYPE_CHECKING:
    from consilience.inference.curvature import SparseCurvature
    from consilience.inference.whitening import Whitener

ALONE = 15  # transitions each chain makes by itself at first
WINDOW_GROWTH = 1.5
DEPTH_ALONE = 6  # greatest tree depths while tuning: a metric that is not there yet must not cost long trees
DEPTH_TOGETHER = 8
LARGEST_CHANGE = 1.0  # of a log variance, beyond which the step size is searched anew
STEADY_METRIC = 0.5  # root mean square of the log variances' change
STEADY_STEP = 0.3  # standard deviation over chains of the mean log step size
MOST_NUMBERS = 1 << 23  # of draws in a window, and of those kept for the metric: 64 MiB, and as much for gradients
SETTLED_SHARE = 2 / 3  # of a window, whose transitions decide on the step size
LONG_TRAJECTORIES = 24.0  # leapfrog steps of a transition, beyond which the curvature may be worth what it costs
MUCH_WORK = 5e8  # operations of the gradients of so many transitions as a run has, likewise
TRANSITIONS = 1600
MUCH_TOO_LONG = 4.0  # times the fourth root of the dimension: twice the steps of a trajectory among unit normals
NEAR = 0.25  # bound on the error of a diagonal metric, up to which its coordinates are near enough
NEARER = 0.5  # times the bound in the present coordinates, that the one in others has to come to
SOLVES = 14.0  # operations of a leapfrog step for each entry of a factor, where two systems are solved with it
CURVATURE_POINTS = 8


def tuning_window(number: int) -> int:
    """Length of the pooled window of this number, from 0: 15, 22, 33, 50, 75, …"""
    return int(ALONE * WINDOW_GROWTH**number)


def next_tuning_window(number: int, done: int, total: int | None) -> int:
    """Transitions of the next pooled window where `done` have been made, of `total` if that is fixed.

    The last window takes in what would be too short for one of its own.
    """
    length = tuning_window(number)
    if total is None:
        return length
    left = total - done
    return left if left < length + tuning_window(number + 1) else length


class TuningPlan(Record):
    """What is asked of a pooled tuning.

    chains, dimension
    length          transitions of each chain, or None to end when metric and step size rest
    fewest, most    transitions of each chain where the run decides
    target_accept   mean acceptance probability, between 0 and 1
    max_treedepth   greatest tree depth
    form            form of the metric
    operations      of one gradient, if known: see `fisher_metric.estimate`
    columns         the windows' statistics
    initialize         whether chains climb to the typical set first
    curvature       gives that of the log density, where it may be sparse; None: not to be had
    """

    chains: int
    dimension: int
    length: int | None
    fewest: int
    most: int
    target_accept: float
    max_treedepth: int
    form: fisher_metric.Form
    operations: float | None
    columns: Columns
    initialize: bool
    curvature: Callable[[], SparseCurvature] | None = None


class WindowReport(Record):
    """One pooled window, for the record.

    `transitions`: of each chain so far.
    `step_size`: the one decided on.
    `rank`: directions of the metric.
    `change`: root mean square of the log variances' change.
    `arrived`: chains that have arrived.
    """

    transitions: int
    step_size: float
    rank: int
    change: float
    arrived: tuple[int, ...]


class PooledTuning:
    """The state of a pooled tuning: `next` tells what is to do, `take` takes what was done, until `finished`."""

    def __init__(self, plan: TuningPlan) -> None:
        self.plan = plan
        self.done = 0  # transitions of each chain
        self.number = -1  # of the pooled window; -1: alone
        self.searching = False  # whether the last segment looked for step sizes only
        self.scales: Scales | None = None
        self.step: Averaging | None = None
        self.arrived: tuple[int, ...] = ()
        self.threshold = -math.inf  # of the log density, for draws that count
        # first transition, of how many each is kept, and draws, gradients, lp by chain
        self.history: list[tuple[int, int, dict[int, tuple[Matrix, Matrix, Matrix]]]] = []
        self.reports: list[WindowReport] = []
        self.finished = False
        self.spent = 0  # evaluations for curvatures
        self.longest = math.inf  # leapfrog steps that whitened coordinates may take: those before; 0: none are taken

    def next(self) -> Segment:
        """What the chains do next."""
        plan = self.plan
        first = NutsCommand(
            learning=Learning.ALONE,
            initialize=plan.initialize,
            max_treedepth=min(DEPTH_ALONE, plan.max_treedepth),
            target_accept=plan.target_accept,
        )
        if self.number < 0 and not self.searching:
            count = min(ALONE, self.end)
            return Segment("tuning", count, (first,) * plan.chains, begin=True, gradients=True)
        if self.searching:
            assert self.step is not None
            search = NutsCommand(scales=self.scales, search=self.step.step)
            return Segment("tuning", 0, self._for_arrived(search, NutsCommand()), anew=first)
        together = NutsCommand(
            learning=Learning.STEP,
            max_treedepth=min(DEPTH_TOGETHER, plan.max_treedepth),
            scales=self.scales,
            step=self.step,
        )
        alone = NutsCommand(learning=Learning.ALONE, max_treedepth=min(DEPTH_ALONE, plan.max_treedepth))
        count = next_tuning_window(self.number, self.done, plan.length)
        if plan.length is None:
            count = min(count, plan.most - self.done)
        count = min(count, max(ALONE, MOST_NUMBERS // (plan.chains * plan.dimension)))
        return Segment("tuning", count, self._for_arrived(together, alone), gradients=True, anew=first)

    @property
    def end(self) -> int:
        """Transitions of each chain after which tuning ends in any case."""
        return self.plan.most if self.plan.length is None else self.plan.length

    def _for_arrived(self, command: NutsCommand, otherwise: NutsCommand) -> tuple[NutsCommand, ...]:
        return tuple(command if c in self.arrived else otherwise for c in range(self.plan.chains))

    def take(self, windows: Mapping[int, Window]) -> None:
        """Learn from the windows of a segment, by chain; chains that were lost are missing."""
        if self.searching:
            steps = sorted(windows[c].step_size for c in self.arrived if c in windows)
            if steps:  # else all that had arrived were lost meanwhile
                found = _median(steps)
                self.step = Averaging(found, math.log(2.0 * found), 0)
            self.searching = False
            self.number += 1
            return
        count = len(next(iter(windows.values())).draws)
        self._remember(windows)
        self.done += count
        if count == 0:  # no tuning asked for: chains keep the metric and step size they began with
            self.arrived = tuple(windows)
            self.finished = True
            return
        if self.number < 0:
            self._alone(windows)
        else:
            self._together(windows)

    def _remember(self, windows: Mapping[int, Window]) -> None:
        lp = self.plan.columns.of("log density")
        begin = (self.done + len(next(iter(windows.values())).draws)) // 2
        every = max(1, -(-begin * len(windows) * self.plan.dimension // MOST_NUMBERS))
        kept = {c: (w.draws, w.gradients, w.statistics[lp]) for c, w in windows.items() if w.gradients is not None}
        if every > 1:
            kept = {c: (x[::every].copy(), g[::every].copy(), level[::every]) for c, (x, g, level) in kept.items()}
        self.history.append((self.done, every, kept))
        while len(self.history) > 1 and self.history[1][0] <= begin:
            del self.history[0]

    def _alone(self, windows: Mapping[int, Window]) -> None:
        self._see_who_arrived(windows)
        learnt = self._metric(self.done // 2, self._whitener(windows))
        if learnt is None:
            learnt = diagonal(np.ones(self.plan.dimension))
        self.scales = learnt
        start = _median(sorted(windows[c].step_size for c in self.arrived))
        self.step = Averaging(start, math.log(2.0 * start), 0)
        if self.done >= self.end:
            self.finished = True
            return
        self.searching = True

    def _together(self, windows: Mapping[int, Window]) -> None:
        plan = self.plan
        self._see_who_arrived(windows)
        before = self.scales
        assert before is not None
        learnt = self._metric(self.done // 2, self._whitener(windows))
        step = self._step_size(windows)
        other = learnt is not None and learnt.whitener is not before.whitener
        ratios = np.zeros(1) if learnt is None or other else log_ratios(learnt, before)
        change = float(np.sqrt(np.mean((ratios - ratios.mean()) ** 2)))
        largest = float(np.max(np.abs(ratios - _middle(ratios))))
        at_end = self.done >= self.end
        # The last window of a fixed length has tuned the step size to the metric it had.
        if learnt is not None and not (plan.length is not None and at_end):
            self.scales = learnt
        rank = 0 if self.scales is None else self.scales.rank
        self.reports.append(WindowReport(self.done, step, rank, change, self.arrived))
        steady = (
            plan.length is None
            and not other
            and self.done >= plan.fewest
            and change < STEADY_METRIC
            and self._spread_of_steps(windows) < STEADY_STEP
            and len(self.arrived) == len(windows)
        )
        self.step = Averaging(step, math.log(1.2 * step), 10)
        if steady or at_end:
            self.finished = True
        elif other or largest > LARGEST_CHANGE:
            self.searching = True
        else:
            self.number += 1

    def _see_who_arrived(self, windows: Mapping[int, Window]) -> None:
        """Chains whose mean log density over the second half of the window is near enough to the best one's."""
        lp = self.plan.columns.of("log density")
        levels = {c: float(w.statistics[lp, w.statistics.shape[1] // 2 :].mean()) for c, w in windows.items()}
        threshold = max(levels.values()) - (10.0 * math.sqrt(self.plan.dimension / 2.0) + 20.0)
        self.arrived = tuple(c for c, level in levels.items() if level >= threshold)
        self.threshold = threshold

    def _whitener(self, windows: Mapping[int, Window]) -> Whitener | None:
        """What gives the coordinates of the metric from now on: those in which draws and gradients are nearest to
        independent normal ones.

        Where trajectories are long the curvature at the last points gives others, as long as the present ones are not
        near enough. It takes a few tens of gradients, where windows take thousands. Coordinates with which pooled
        windows take more steps than before are given up for good.
        """
        plan, present = self.plan, None if self.scales is None else self.scales.whitener
        if plan.curvature is None or not self.arrived:
            return present
        length = self._mean_steps(windows)
        operations = plan.operations if plan.operations is not None else float(plan.dimension)
        due = length > LONG_TRAJECTORIES and length * operations * TRANSITIONS > MUCH_WORK
        if present is not None and length * self._price(present) > self.longest:
            self.longest = 0.0
        if not self.longest or (present is None and not due):
            return None
        draws, gradients = self._taught(self.done // 2)
        if not len(draws):
            return present
        error = {whitener: self._error(draws, gradients, whitener) for whitener in dict.fromkeys((None, present))}
        # Where trajectories are much longer than among unit normals, draws that seem near have hardly moved.
        unmoved = present is None and length > MUCH_TOO_LONG * plan.dimension**0.25
        if due and (unmoved or error[present] > NEAR):
            plain = fisher_metric.estimate(draws, gradients, "diag")
            each = -(-CURVATURE_POINTS // len(self.arrived))
            late = [windows[c].draws[len(windows[c].draws) // 2 :] for c in self.arrived]
            points = np.concatenate([some[:: -max(1, len(some) // each)][:each] for some in late])
            curvature = plan.curvature()
            before = curvature.spent
            found = None if plain is None else curvature.whitener(points, plain.scale)
            self.spent += curvature.spent - before
            if found is not None:
                error[found] = self._error(draws, gradients, found)
                if unmoved and error[found] * self._price(found) < NEAR:
                    error[present] = math.inf
        best = min(error, key=error.__getitem__)
        dearer = self._price(best) / self._price(present)
        if not (error[best] * dearer < NEARER * error[present] or error[present] == math.inf):
            return present
        if present is None and self.number >= 0:
            self.longest = length
        return best

    def _price(self, whitener: Whitener | None) -> float:
        """Cost of a leapfrog step in these coordinates, relative to one without."""
        operations = self.plan.operations
        return 1.0 if whitener is None or operations is None else 1.0 + SOLVES * len(whitener.entries) / operations

    def _error(self, draws: Matrix, gradients: Matrix, whitener: Whitener | None) -> float:
        """Bound on the error of a diagonal metric in these coordinates, whose estimate may be negative; see
        `metric_error`.
        """
        learnt = fisher_metric.estimate(draws, gradients, "diag", None, whitener)
        return math.inf if learnt is None else max(0.0, error_bound(draws, gradients, learnt))

    def _mean_steps(self, windows: Mapping[int, Window]) -> float:
        """Leapfrog steps of a transition, in the later half of what the arrived chains did."""
        place = self.plan.columns.names.index("n_steps")
        rows = [windows[c].statistics[place] for c in self.arrived if c in windows]
        return float(np.concatenate([row[len(row) // 2 :] for row in rows]).mean())

    def _metric(self, begin: int, whitener: Whitener | None) -> Scales | None:
        """The metric of the arrived chains' transitions from `begin` on."""
        draws, gradients = self._taught(begin)
        return fisher_metric.estimate(draws, gradients, self.plan.form, self.plan.operations, whitener)

    def _taught(self, begin: int) -> tuple[Matrix, Matrix]:
        """Draws and gradients of the arrived chains' transitions from `begin` on."""
        draws, gradients = [], []
        for first, every, kept in self.history:
            for c in self.arrived:
                if c in kept:
                    x, g, lp = kept[c]
                    late = -(-max(0, begin - first) // every)
                    good = lp[late:] >= self.threshold
                    all_good = good.all()
                    draws.append(x[late:] if all_good else x[late:][good])
                    gradients.append(g[late:] if all_good else g[late:][good])
        if not draws:
            return (np.empty((0, self.plan.dimension)),) * 2
        return np.concatenate(draws), np.concatenate(gradients)

    def _step_size(self, windows: Mapping[int, Window]) -> float:
        return pooled_step_size([windows[c] for c in self.arrived], self.plan.columns, self.plan.target_accept)

    def _spread_of_steps(self, windows: Mapping[int, Window]) -> float:
        column = self.plan.columns.of("step size")
        means = [float(np.log(w.statistics[column]).mean()) for w in windows.values()]
        return float(np.std(means))

    def save(self) -> dict[str, Any]:
        """Its state as numbers, strings and arrays, in dictionaries and lists."""
        step = self.step
        return {
            "done": self.done,
            "number": self.number,
            "searching": self.searching,
            "arrived": list(self.arrived),
            "scales": None if self.scales is None else self.scales.save(),
            "longest": self.longest,
            "spent": self.spent,
            "step": None if step is None else [step.step, step.anchor, step.count],
            "history": [[*at, {str(c): list(kept) for c, kept in chains.items()}] for *at, chains in self.history],
            "reports": [[r.transitions, r.step_size, r.rank, r.change, list(r.arrived)] for r in self.reports],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that was saved."""
        self.done, self.number, self.searching = state["done"], state["number"], state["searching"]
        self.arrived = tuple(state["arrived"])
        self.scales = None if state["scales"] is None else Scales.load(state["scales"])
        self.longest, self.spent = state.get("longest", math.inf), state.get("spent", 0)
        self.step = None if state["step"] is None else Averaging(*state["step"])
        self.history = [
            (first, *(every or [1]), {int(c): tuple(kept) for c, kept in chains.items()})
            for first, *every, chains in state["history"]
        ]
        self.reports = [WindowReport(t, s, r, c, tuple(a)) for t, s, r, c, a in state["reports"]]


def pooled_step_size(windows: Sequence[Window], columns: Columns, target: float) -> float:
    """The step size of the acceptance asked for, from the later part of these windows."""
    used, acceptance = columns.of("step size"), columns.of("acceptance")
    begins = [round((1.0 - SETTLED_SHARE) * w.statistics.shape[1]) for w in windows]
    sizes = np.concatenate([w.statistics[used, b:] for w, b in zip(windows, begins, strict=True)])
    accepted = np.concatenate([w.statistics[acceptance, b:] for w, b in zip(windows, begins, strict=True)])
    return step_size_for(target, sizes, accepted)


def _median(values: Sequence[float]) -> float:
    """Geometric median of positive numbers."""
    array: NDArray[np.float64] = np.log(np.asarray(values, dtype=np.float64))
    return float(np.exp(_middle(array)))


def _middle(values: NDArray[np.float64]) -> float:
    """Their median; NumPy's own loads masked arrays."""
    ordered = np.sort(values)
    return float(0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]))
