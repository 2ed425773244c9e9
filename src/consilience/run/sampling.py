"""Sampling with a frozen kernel until the draws are good enough, or as many as asked for.

The draws are one fixed infinite sequence; checks, at lengths known beforehand, only decide where it is cut.
Windows enter, a verdict or a restart request leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.diagnostics.sample import FloatArray
from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.events import CheckFigures
from consilience.inference.columns import Columns, Role
from consilience.inference.messages import Command, Matrix, Segment, Window
from consilience.inference.tuner import Reason, Tuner
from consilience.record import Record, replace
from consilience.run import stopping
from consilience.run.judging import Judging
from consilience.run.monitor import Monitor, Monitored
from consilience.run.schedule import MANY, check_after, least_needed, look_again_after
from consilience.run.stopping import DISAGREEING_RHAT, FEWEST_DISAGREEING, Verdict

MOST_APART = 20  # scalars remembered; a chain that left a place left it in all of them, and each takes 5 to 25 ms
FEWEST_BEFORE_JUMPS = 600  # draws of each chain that do not suffice, where separate regions are known


class SamplingPlan(Record):
    """What is asked of sampling.

    length          draws of each chain, or None to stop by the rule
    fewest, most    draws of each chain where the rule decides: at the first check, and at the end
    rule            what is asked of effective sizes and R-hat
    escalate        whether divergences lead to another tuning
    columns         the windows' statistics
    chains          how many began
    reparametrized  gives, of draws (chain, draw, coordinate), a run of the same posterior in other coordinates, or None
                    where these are no better; None: there are no others
    judging         how draws are judged
    longest         transitions of a segment at most; None: no limit
    improper        in words, how the target seems to be improper; empty where nothing speaks for it
    """

    length: int | None
    fewest: int
    most: int
    rule: StoppingRule
    escalate: bool
    columns: Columns
    chains: int
    judging: Judging = Judging()
    longest: int | None = None
    improper: str = ""
    reparametrized: Callable[[Matrix], Any] | None = None


class Sampling:
    """The state of one attempt: `next` and `take`, until there is a `verdict` or a `request` to restart."""

    def __init__(
        self,
        plan: SamplingPlan,
        monitored: Monitored,
        chains: Sequence[int],
        tuner: Tuner,
        left: tuple[Sequence[str], Matrix] | None = None,
        before: str = "",
    ) -> None:
        self.plan = plan
        self.monitored = monitored
        self.chains = tuple(chains)
        self.tuner = tuner
        self.left = left
        self.before = before  # in words, the divergences for which chains were tuned again
        self.count = 0
        self.begun = False
        self.windows: list[dict[int, Window]] = []
        self.monitor = self._new_monitor()
        self.watched = 0  # windows that the monitor was given
        self.apart: set[str] = set(left[0]) if left else set()  # scalars in which chains were found far from each other
        self.first_apart = 0  # draws of each chain then
        self.seldom = False  # whether draws do not come back to places that they left
        self.unvisited = False  # whether chains are to jump to known regions that they hardly came to
        self.disagreed = False
        self.no_look_before = 0  # draws of each chain; fewer will hardly do, as an earlier check told
        self.check: CheckFigures | None = None
        self.verdict: Verdict | None = None
        self.request: Reason | None = None
        self.successor: Any = None  # the run in other coordinates, where that is the request
        self.asked_to_reparametrize = False

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
        check, interval = self._next_check(draws), self.tuner.interval
        return min(check, draws - draws % interval + interval) if interval else check

    def next(self) -> Segment:
        """What the chains do next."""
        end, interval = self._end_of_round(self.count), self.tuner.interval
        commands: tuple[Command, ...] = ()
        if not self.begun:
            commands = self.tuner.sample()
        elif interval and self.count % interval == 0:
            commands = self.tuner.between(self.windows)
        if self.plan.longest is not None:
            end = min(end, self.count + self.plan.longest)
        ahead = 0 if interval or end >= self.last else self._end_of_round(end) - end
        return Segment("sampling", end - self.count, commands, gradients=self._needs_gradients(), ahead=ahead)

    def _needs_gradients(self) -> bool:
        return self.plan.length is None and self.count < self.tuner.gradients

    def take(self, windows: Mapping[int, Window]) -> None:
        """Take in the windows of a segment, and check if it is time to."""
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
        if window.gradients is None and not window.snapshot:
            return window
        return replace(window, gradients=window.gradients if self._needs_gradients() else None, snapshot={})

    def _leave_out(self, lost: Sequence[int]) -> None:
        self.chains = tuple(c for c in self.chains if c not in lost)
        self.windows = [{c: w for c, w in windows.items() if c in self.chains} for windows in self.windows]
        self.no_look_before = 0
        self._watch_anew(self._new_monitor())

    def _new_monitor(self, nearness: FloatArray | None = None) -> Monitor:
        return Monitor(self.monitored, self.chains, (), nearness, self.plan.judging.superchains)

    def _watch_anew(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.watched = 0

    def _catch_up(self) -> None:
        """Give the monitor the windows that it has not seen."""
        lp = self.plan.columns.of("log density")
        while self.watched < len(self.windows):
            some = self.windows[self.watched]
            draws, levels = {c: w.draws for c, w in some.items()}, {c: w.statistics[lp] for c, w in some.items()}
            self.monitor.extend(draws, levels)
            self.watched += 1
            if self.monitor.surprise:
                self._watch_anew(self.monitor.anew())

    def column(self, role: Role, chain: int) -> NDArray[np.float64]:
        """The statistic with a role, of one chain's draws so far; empty if the kernel has none."""
        place = self.plan.columns.place(role)
        if place is None:
            return np.zeros(0)
        return np.concatenate([windows[chain].statistics[place] for windows in self.windows])

    @property
    def divergences(self) -> int:
        return int(sum(self.column("divergence", c).sum() for c in self.chains))

    def _energy_is_low(self) -> bool:
        """Whether chains move too slowly between energies."""
        energies = [self.column("energy", c) for c in self.chains]
        if self.plan.judging.superchains:
            return stopping.energy_is_low_together(np.stack(energies))
        return stopping.energy_is_low(energies)

    def _check(self) -> None:
        plan, judging = self.plan, self.plan.judging
        fixed = plan.length is not None
        if fixed and self.count < self.last:
            return
        if fixed and not self.monitored.enabled:
            self.verdict = Verdict("completed", "convergence was not checked")
            return
        due = not fixed and (self._scheduled or judging.at_the_end)
        if due and (request := self._reason_to_retune()):
            self.request = request
            return
        at_end = self.count >= self.last
        if not at_end and self.count < self.no_look_before:
            return
        self._catch_up()
        failure = self.monitor.check(plan.rule, at_end)
        if failure is None and self.apart:
            seen = self.left[1] if self.left else None
            failure = stopping.seldom_visited(self.monitor, self.apart, plan.rule, seen)
        self.seldom = failure is not None and failure.criterion == "quantile ess"
        draws = self.count * len(self.chains)
        name, rhat, size = self.monitor.figures(failure)
        look = failure is None or self.seldom or at_end or judging.every_check
        self.no_look_before = 0 if look else self._no_look_before(size)
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
        improper = plan.improper or (self._improper() if failure is not None and at_end else "")
        if improper and at_end:
            self.check = replace(self.check, passed=False)
            self.verdict = Verdict("not_converged", improper, "" if failure is None else name)
            return
        if failure is None:
            low_energy = self._energy_is_low()
            if low_energy and due and self._reparametrizes():
                return
            lost = [c for c in range(plan.chains) if c not in self.chains]
            self.verdict = stopping.of_passing(self.divergences, draws, len(self.chains), self.before, low_energy, lost)
            if self.verdict.status != "not_converged" and (missed := self._missed()):
                self.check = replace(self.check, passed=False)
                self.verdict = Verdict("not_converged", missed) if at_end else None
                if due and not at_end and "jumps" in self.tuner.answers and self.monitored.places is not None:
                    self.request, self.unvisited = "jumps", True
                return
            missing = [c for c in self.chains if c not in self.tuner.arrived]
            if missing:
                self.verdict = Verdict(
                    "chains_disagree", f"chains {missing} had not come to where the others are when tuning ended"
                )
            return
        may_begin_again = due and (not at_end or judging.at_the_end)
        if may_begin_again and self._is_hard_to_reach(size) and self._reparametrizes():
            return
        scalars = stopping.scalars_apart(self.monitor)
        if judging.memory:
            self._note_apart([*([name] if rhat > DISAGREEING_RHAT else []), *(self.monitor.names[s] for s in scalars)])
        apart = stopping.disagreement(self.monitor, scalars)
        if due and "jumps" in self.tuner.answers:
            far = (apart is not None and self.disagreed) or self.seldom
            self.unvisited = not far and self.monitored.places is not None and self.count >= FEWEST_BEFORE_JUMPS
            if far or self.unvisited:
                self.request = "jumps"
                return
        if apart is not None and (self.disagreed or at_end):
            improper = "" if at_end else self._improper()
            self.verdict = Verdict("not_converged", improper, name) if improper else apart
            return
        self.disagreed = apart is not None
        if self.disagreed:
            self.no_look_before = 0
            self.check = replace(self.check, next_check=self._next_check(self.count))
        if at_end:
            limit = f"draws={plan.length}" if fixed else f"max_draws={plan.most}"
            self.verdict = stopping.of_failing(self.monitor, failure, plan.rule, self.count, limit)

    def _improper(self) -> str:
        """In words, how the target seems to be improper, by all draws; empty if nothing speaks for it."""
        return "" if self.monitored.improper is None else self.monitored.improper(self._draws())

    def _draws(self) -> Matrix:
        """All draws (chain, draw, coordinate)."""
        return np.stack([np.concatenate([some[c].draws for some in self.windows]) for c in self.chains])

    def _missed(self) -> str:
        """In words, what the draws have not come to although it is known; empty if there is nothing."""
        if self.monitored.missed is None:
            return ""
        return self.monitored.missed(self._draws())

    def _note_apart(self, names: Sequence[str]) -> None:
        """Remember scalars in which chains are far from each other, as many as there is time to look at again."""
        if names and not self.apart:
            self.first_apart = self.count
        new = [name for name in dict.fromkeys(names) if name not in self.apart]
        self.apart.update(new[: MOST_APART - len(self.apart)])

    def to_jump_between(self) -> tuple[list[dict[int, Window]], tuple[Sequence[str], Matrix] | None]:
        """Windows of the places that chains of another attempt are to jump between, and what they left for good.

        Of places that were left for good there are ever fewer draws: so those count that chains had made when they
        were first seen to be apart; draws have to come back there. Of known regions that chains hardly came to
        there are too few: as many points as there are draws are added, of all regions.
        """
        if self.unvisited:
            assert self.monitored.places is not None
            points = self.monitored.places(self.count * len(self.chains))
            parts = {c: points[k :: len(self.chains)] for k, c in enumerate(self.chains)}
            last = {c: replace(self.windows[-1][c], draws=part, gradients=None) for c, part in parts.items()}
            return [*self.windows, last], None
        if not (self.seldom and self.first_apart):
            return self.windows, None
        early = {
            c: np.concatenate([windows[c].draws for windows in self.windows])[: self.first_apart] for c in self.chains
        }
        window = {c: replace(self.windows[-1][c], draws=draws, gradients=None) for c, draws in early.items()}
        return [window], (tuple(sorted(self.apart)), np.concatenate(list(early.values())))

    def _no_look_before(self, size: float) -> int:
        """Draws of each chain before the next look, as a scalar is worth `size` now."""
        target = self.plan.rule.target_ess
        if target is None or not size < target:
            return 0
        until = look_again_after(self.count, size, target)
        # From there on chains may be found to disagree, which is not to be put off.
        return min(until, FEWEST_DISAGREEING) if self.count < FEWEST_DISAGREEING else until

    def _reason_to_retune(self) -> Reason | None:
        """What the draws so far say against the way they were made."""
        many = stopping.too_many_divergences(self.divergences, self.count * len(self.chains))
        if many and self._reparametrizes():
            return "coordinates"
        if self.plan.escalate and "divergences" in self.tuner.answers and many:
            return "divergences"
        return self.tuner.contradicted(self.windows)

    def _is_hard_to_reach(self, size: float) -> bool:
        """Whether many draws are missing, as a scalar is worth `size` now, or chains hardly move between energies.

        Only where there is something to be done about it.
        """
        if self.plan.reparametrized is None or self.asked_to_reparametrize:
            return False
        target, most = self.plan.rule.target_ess, min(self.last, MANY * self._next_check(0))
        far = target is not None and least_needed(self.count, size, target) > most
        return far or self._energy_is_low()

    def _reparametrizes(self) -> bool:
        """Whether there are coordinates that suit the draws better; then the request is to go on in them."""
        if self.plan.reparametrized is None or self.asked_to_reparametrize:
            return False
        self.asked_to_reparametrize = True
        self.successor = self.plan.reparametrized(self._draws())
        if self.successor is not None:
            self.request = "coordinates"
        return self.successor is not None

    def check_again(self) -> None:
        """Look at the draws there are, under another plan: the next segment may not be needed.

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

    def save(self) -> dict[str, Any]:
        """Its state but the windows, as numbers and arrays."""
        return {
            "chains": list(self.chains),
            "count": self.count,
            "begun": self.begun,
            "apart": sorted(self.apart),
            "first_apart": self.first_apart,
            "disagreed": self.disagreed,
            "no_look_before": self.no_look_before,
            "asked_to_reparametrize": self.asked_to_reparametrize,
            "nearness": self.monitor.nearness,
            "before": self.before,
            "left": None if self.left is None else [list(self.left[0]), self.left[1]],
        }

    @classmethod
    def load(
        cls,
        state: Mapping[str, Any],
        plan: SamplingPlan,
        monitored: Monitored,
        tuner: Tuner,
        windows: Sequence[dict[int, Window]],
    ) -> Sampling:
        """The attempt of a state that was saved, with the windows it had."""
        left = state["left"]
        known = None if left is None else (left[0], left[1])
        sampling = cls(plan, monitored, state["chains"], tuner, known, state["before"])
        sampling.count = state["count"]
        sampling.begun = state["begun"]
        sampling.apart, sampling.first_apart = set(state["apart"]), state["first_apart"]
        sampling.disagreed = state["disagreed"]
        sampling.no_look_before = state["no_look_before"]
        sampling.asked_to_reparametrize = state["asked_to_reparametrize"]
        sampling.windows = [{c: w for c, w in some.items() if c in sampling.chains} for some in windows]
        sampling._watch_anew(sampling._new_monitor(state["nearness"]))
        sampling._catch_up()
        return sampling
