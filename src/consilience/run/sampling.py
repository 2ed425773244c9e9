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
from consilience.diagnostics.stopping_rule import Failure, StoppingRule
from consilience.events import CheckFigures
from consilience.inference.columns import Columns, Role
from consilience.inference.messages import Command, Matrix, Segment, Window
from consilience.inference.tuner import Tuner
from consilience.record import Record, replace
from consilience.run import stopping
from consilience.run.judging import Judging
from consilience.run.monitor import Monitor, Monitored
from consilience.run.remedies import REMEDIES, Look, Remedy, Restart
from consilience.run.schedule import check_after, look_again_after
from consilience.run.stopping import DISAGREEING_RHAT, FEWEST_DISAGREEING, Verdict

MOST_SEPARATED = 20  # scalars remembered; a chain that left a place left it in all of them, and each takes 5 to 25 ms


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
    remedies        what may be done where draws show the need, in this order
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
    remedies: tuple[Remedy, ...] = REMEDIES
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
        revisited: tuple[Sequence[str], Matrix] | None = None,
        diverged: str = "",
    ) -> None:
        self.plan = plan
        self.monitored = monitored
        self.chains = tuple(chains)
        self.tuner = tuner
        self.revisited = revisited  # see `remedies.Restart`
        self.diverged = diverged  # in words, the divergences for which chains were tuned again
        self.count = 0
        self.started = False
        self.windows: list[dict[int, Window]] = []
        self.monitor = self._new_monitor()
        self.watched = 0  # windows that the monitor was given
        self.separated: set[str] = set(revisited[0]) if revisited else set()  # scalars in which chains were far apart
        self.first_separated = 0  # draws of each chain then
        self.disagreed = False  # at the last check
        self.no_look_before = 0  # draws of each chain; fewer will hardly do, as an earlier check told
        self.check: CheckFigures | None = None
        self.verdict: Verdict | None = None
        self.request: Restart | None = None
        self.asked_to_reparametrize = False

    @property
    def last(self) -> int:
        return self.plan.most if self.plan.length is None else self.plan.length

    def next_check(self, draws: int) -> int:
        """Draws of each chain at the check after so many."""
        return check_after(draws, min(self.plan.fewest, self.last), self.last)

    @property
    def _scheduled(self) -> bool:
        """Whether there is a check at the present length however long the run may become."""
        return check_after(self.count - 1, self.plan.fewest, self.count + 1) == self.count

    def _end_of_round(self, draws: int) -> int:
        check, interval = self.next_check(draws), self.tuner.interval
        return min(check, draws - draws % interval + interval) if interval else check

    def next(self) -> Segment:
        """What the chains do next."""
        end, interval = self._end_of_round(self.count), self.tuner.interval
        commands: tuple[Command, ...] = ()
        if not self.started:
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
        self.started = True
        lost = [c for c in self.chains if c not in windows]
        if lost:
            self._leave_out(lost)
        self.windows.append({c: self._kept(windows[c]) for c in self.chains})
        check = self.next_check(self.count)
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
        """Of all chains."""
        return int(sum(self.column("divergence", c).sum() for c in self.chains))

    @property
    def diverges(self) -> bool:
        """Whether more draws diverged than good draws do now and then."""
        return stopping.too_many_divergences(self.divergences, self.count * len(self.chains))

    @property
    def energy_is_low(self) -> bool:
        """Whether chains move too slowly between energies."""
        energies = [self.column("energy", c) for c in self.chains]
        if self.plan.judging.superchains:
            return stopping.energy_is_low_together(np.stack(energies))
        return stopping.energy_is_low(energies)

    def _check(self) -> None:
        plan, fixed, at_end = self.plan, self.plan.length is not None, self.count >= self.last
        if fixed and not at_end:
            return
        if fixed and not self.monitored.enabled:
            self.verdict = Verdict("completed", "convergence was not checked")
            return
        due = not fixed and (self._scheduled or plan.judging.at_the_end)
        if due and self._begins_again(None):
            return
        if not at_end and self.count < self.no_look_before:
            return
        failure = self._failure(at_end)
        improper = plan.improper or (self._improper() if failure is not None and at_end else "")
        if improper and at_end:
            assert self.check is not None
            self.check = replace(self.check, passed=False)
            self.verdict = Verdict("not_converged", improper, "" if failure is None else self.check.rhat_name)
            return
        look = self._look(failure, at_end)
        if due and self._begins_again(look):
            return
        if failure is None:
            self._judge_passing(look)
        else:
            self._judge_failing(failure, look)

    def _begins_again(self, look: Look | None) -> bool:
        """Whether a remedy asks to begin again; then that is the request."""
        self.request = next(filter(None, (remedy(self, look) for remedy in self.plan.remedies)), None)
        return self.request is not None

    def _failure(self, at_end: bool) -> Failure | None:
        """What does not hold for the draws so far, of which figures are noted."""
        plan, rule = self.plan, self.plan.rule
        self._catch_up()
        failure = self.monitor.check(rule, at_end)
        if failure is None and self.separated:
            seen = self.revisited[1] if self.revisited else None
            failure = stopping.seldom_visited(self.monitor, self.separated, rule, seen)
        name, rhat, size = self.monitor.figures(failure)
        soon = failure is None or failure.criterion == "quantile ess" or at_end or plan.judging.every_check
        self.no_look_before = 0 if soon else self._no_look_before(size)
        self.check = CheckFigures(
            draws=self.count,
            rhat=rhat,
            rhat_name=name,
            ess=size,
            ess_name=name,
            target_ess=rule.target_ess,
            target_rhat=rule.target_rhat,
            next_check=self.next_check(max(self.count, self.no_look_before - 1)),
            passed=failure is None,
        )
        return failure

    def _look(self, failure: Failure | None, at_end: bool) -> Look:
        """What there is to say of the draws."""
        figures = self.check
        assert figures is not None
        if failure is not None:
            scalars = stopping.scalars_apart(self.monitor)
            far = [figures.rhat_name] if figures.rhat > DISAGREEING_RHAT else []
            if self.plan.judging.memory:
                self._note_separated([*far, *(self.monitor.names[s] for s in scalars)])
            return Look(failure, figures.ess, at_end, stopping.disagreement(self.monitor, scalars))
        low_energy = self.energy_is_low
        lost = [c for c in range(self.plan.chains) if c not in self.chains]
        verdict = stopping.of_passing(
            self.divergences, self.count * len(self.chains), len(self.chains), self.diverged, low_energy, lost
        )
        missed = "" if verdict.status == "not_converged" else self._missed()
        if missed:
            self.check = replace(figures, passed=False)
        return Look(failure, figures.ess, at_end, verdict, low_energy, missed)

    def _judge_passing(self, look: Look) -> None:
        self.verdict = look.verdict
        missing = [c for c in self.chains if c not in self.tuner.arrived]
        if look.missed:
            self.verdict = Verdict("not_converged", look.missed) if look.at_end else None
        elif missing:
            self.verdict = Verdict(
                "chains_disagree", f"chains {missing} had not come to where the others are when tuning ended"
            )

    def _judge_failing(self, failure: Failure, look: Look) -> None:
        """Whether chains disagree, as two checks have to find, or it is the end."""
        plan, figures = self.plan, self.check
        assert figures is not None
        if look.verdict is not None and (self.disagreed or look.at_end):
            improper = "" if look.at_end else self._improper()
            self.verdict = Verdict("not_converged", improper, figures.rhat_name) if improper else look.verdict
            return
        self.disagreed = look.verdict is not None
        if self.disagreed:
            self.no_look_before = 0
            self.check = replace(figures, next_check=self.next_check(self.count))
        if look.at_end:
            limit = f"max_draws={plan.most}" if plan.length is None else f"draws={plan.length}"
            self.verdict = stopping.of_failing(self.monitor, failure, plan.rule, self.count, limit)

    def _improper(self) -> str:
        """In words, how the target seems to be improper, by all draws; empty if nothing speaks for it."""
        return "" if self.monitored.improper is None else self.monitored.improper(self.draws())

    def draws(self) -> Matrix:
        """All draws (chain, draw, coordinate)."""
        return np.stack([np.concatenate([some[c].draws for some in self.windows]) for c in self.chains])

    def _missed(self) -> str:
        """In words, what the draws have not come to although it is known; empty if there is nothing."""
        if self.monitored.missed is None:
            return ""
        return self.monitored.missed(self.draws())

    def _note_separated(self, names: Sequence[str]) -> None:
        """Remember scalars in which chains are far from each other, as many as there is time to look at again."""
        if names and not self.separated:
            self.first_separated = self.count
        new = [name for name in dict.fromkeys(names) if name not in self.separated]
        self.separated.update(new[: MOST_SEPARATED - len(self.separated)])

    def _no_look_before(self, size: float) -> int:
        """Draws of each chain before the next look, as a scalar is worth `size` now."""
        target = self.plan.rule.target_ess
        if target is None or not size < target:
            return 0
        until = look_again_after(self.count, size, target)
        # From there on chains may be found to disagree, which is not to be put off.
        return min(until, FEWEST_DISAGREEING) if self.count < FEWEST_DISAGREEING else until

    def check_again(self) -> None:
        """Look at the draws there are, under another plan: the next segment may not be needed.

        Only at a length where a run under that plan would have looked.
        """
        self.verdict = None
        self.disagreed = False
        self.no_look_before = 0
        if self.count and self.next_check(self.count - 1) == self.count:
            self._check()

    def rest(self) -> None:
        """Let go what the windows give back: whoever keeps a result need not keep what watched it come."""
        self._watch_anew(self.monitor.anew())

    def save(self) -> dict[str, Any]:
        """Its state but the windows, as numbers and arrays."""
        return {
            "chains": list(self.chains),
            "count": self.count,
            "begun": self.started,
            "apart": sorted(self.separated),
            "first_apart": self.first_separated,
            "disagreed": self.disagreed,
            "no_look_before": self.no_look_before,
            "asked_to_reparametrize": self.asked_to_reparametrize,
            "nearness": self.monitor.nearness,
            "before": self.diverged,
            "left": None if self.revisited is None else [list(self.revisited[0]), self.revisited[1]],
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
        seen = state["left"]
        known = None if seen is None else (seen[0], seen[1])
        sampling = cls(plan, monitored, state["chains"], tuner, known, state["before"])
        sampling.count = state["count"]
        sampling.started = state["begun"]
        sampling.separated, sampling.first_separated = set(state["apart"]), state["first_apart"]
        sampling.disagreed = state["disagreed"]
        sampling.no_look_before = state["no_look_before"]
        sampling.asked_to_reparametrize = state["asked_to_reparametrize"]
        sampling.windows = [{c: w for c, w in some.items() if c in sampling.chains} for some in windows]
        sampling._watch_anew(sampling._new_monitor(state["nearness"]))
        sampling._catch_up()
        return sampling
