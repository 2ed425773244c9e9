"""An attempt to sample: windows of draws enter, the next segment leaves, and of a check a verdict or a restart.

Its draws are those since tuning ended; what follows from a verdict or a restart, `course` does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from consilience.diagnostics.sample import FloatArray
from consilience.diagnostics.stopping_rule import Failure
from consilience.events import CheckFigures
from consilience.inference.columns import Role
from consilience.inference.messages import (
    Command,
    JointWindows,
    Matrix,
    Segment,
    Window,
    draws_by_chain,
    statistic,
)
from consilience.record import as_plain, replace
from consilience.run import forecast, verdicts
from consilience.run.disk_windows import DiskWindows
from consilience.run.monitor import Monitor
from consilience.run.remedies import Look, Remedy, Restart
from consilience.run.verdicts import Sight, Verdict, check_after

if TYPE_CHECKING:
    from consilience.run.course import Leg, RunCourse

MOST_COPIED: Final = 1 << 25  # numbers of draws in a copy of them: 256 MiB
MOST_SEEN: Final = 1 << 23  # where few would do
BLOCK: Final = 64  # coordinates, at least, that are taken together
MOST_TOLD: Final = 8  # scalars, in the figures of a check
MOST_SEPARATED: Final = 20  # scalars remembered; a chain that left a place left it in all of them: 5 to 25 ms each


def saved(owner: object, names: Sequence[str]) -> dict[str, Any]:
    """Attributes by name; sets, which have no order of their own, as lists."""
    values = {name: getattr(owner, name) for name in names}
    return {name: sorted(value) if isinstance(value, set) else value for name, value in values.items()}


def put_back(owner: object, names: Sequence[str], saved: Mapping[str, Any]) -> None:
    """Give an owner attributes as `saved` gave them."""
    for name in names:
        setattr(owner, name, type(getattr(owner, name))(saved[name]))


class Attempt:
    """An attempt to sample with a frozen kernel, until the draws are good enough or as many as asked for.

    The draws are one fixed infinite sequence; checks, at lengths known beforehand, only decide where it is cut.

    `course`: the run it belongs to.
    `chains`: those that take part.
    `revisited`: see `remedies.Restart`.
    `count`: draws of each chain so far.
    `figures`: what the last check found; None where it did not look.
    `looked`: whether there was a check.
    """

    def __init__(
        self, course: RunCourse, chains: Sequence[int], revisited: tuple[Sequence[str], Matrix] | None = None
    ) -> None:
        self.course = course
        self.chains = tuple(chains)
        self.revisited = revisited
        self.count = 0
        self.started = False
        self.due = False  # whether it is time for a check, which has not come to its end
        self.windows: list[Mapping[int, Window]] = []
        many = course.last * course.chains.count * course.chains.dimension > MOST_SEEN
        folder = course.folder if many else None
        self.on_disk = None if folder is None else DiskWindows(folder, course.chains.count, course.chains.dimension)
        self.monitor = self._new_monitor()
        self.watched = 0  # windows that the monitor was given
        self.separated: set[str] = set(revisited[0]) if revisited else set()  # scalars in which chains were far apart
        self.first_separated = 0  # draws of each chain then
        self.disagreed = False  # at the last check
        self.next_look = 0  # draws of each chain; fewer will hardly do, as an earlier check found
        self.figures: CheckFigures | None = None
        self.asked_for_coordinates = False
        self.began = course.spent
        self.looked = False  # whether there was a check
        self.needs: list[forecast.Need] = []  # what looks found missing, where the run decides

    @property
    def last(self) -> int:
        """See `RunCourse.last`."""
        return self.course.last

    def next_check(self, draws: int) -> int:
        """Draws of each chain at the check after so many."""
        return check_after(draws, min(self.course.fewest, self.last), self.last)

    @property
    def _scheduled(self) -> bool:
        """Whether there is a check at the present length however long the run may become."""
        return check_after(self.count - 1, self.course.fewest, self.count + 1) == self.count

    def _end_of_round(self, draws: int) -> int:
        check, interval = self.next_check(draws), self.course.tuner.interval
        return min(check, draws - draws % interval + interval) if interval else check

    def next(self) -> Segment:
        """What the chains do next."""
        tuner, longest = self.course.tuner, self.course.chains.longest
        end, interval = self._end_of_round(self.count), tuner.interval
        commands: tuple[Command, ...] = ()
        if not self.started:
            commands = tuner.sample()
        elif interval and self.count % interval == 0:
            commands = tuner.between(self.windows)
        if longest is not None:
            end = min(end, self.count + longest)
        ahead = 0 if interval or end >= self.last else self._end_of_round(end) - end
        if longest is not None:
            ahead = min(ahead, longest)
        return Segment("sampling", end - self.count, commands, gradients=self._needs_gradients(self.count), ahead=ahead)

    def _needs_gradients(self, begun: int) -> bool:
        """Whether those of a window are needed, before which each chain had made so many draws."""
        return self.course.plan.draws is None and begun < self.course.tuner.gradients

    def take(self, windows: Mapping[int, Window]) -> None:
        """Take in the windows of a segment."""
        self.started = True
        lost = sorted(set(self.chains).difference(windows))
        if lost:
            self._leave_out(lost)
        kept = self._kept(windows, self.count)
        self.windows.append(kept if self.on_disk is None else self.on_disk.take(self.count, kept))
        check = self.next_check(self.count)
        self.count += len(windows[self.chains[0]].draws)
        self.due = self.count >= check

    def _kept(self, windows: Mapping[int, Window], begun: int) -> Mapping[int, Window]:
        """Windows of the chains without what is not needed again; whether a chain ran ahead must not show."""
        if isinstance(windows, JointWindows):
            return windows.with_draws(windows.draws)
        needed, own = self._needs_gradients(begun), {c: windows[c] for c in self.chains}
        return {c: replace(w, gradients=w.gradients if needed else None, snapshot={}) for c, w in own.items()}

    def _leave_out(self, lost: Sequence[int]) -> None:
        self.chains = tuple(c for c in self.chains if c not in lost)
        self.windows = [{c: w for c, w in windows.items() if c in self.chains} for windows in self.windows]
        self.next_look = 0
        self._watch_anew(self._new_monitor())

    def _new_monitor(self, nearness: FloatArray | None = None) -> Monitor:
        return Monitor(self.course.monitored, self.chains, (), nearness, self.course.chains.superchains)

    def _watch_anew(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.watched = 0

    def _catch_up(self) -> None:
        """Give the monitor the windows that it has not seen."""
        lp = self.course.chains.columns.of("log density")
        while self.watched < len(self.windows):
            some = self.windows[self.watched]
            self.monitor.extend(draws_by_chain(some, self.chains), statistic(some, self.chains, lp))
            self.watched += 1
            if self.monitor.outdated:
                self._watch_anew(self.monitor.anew())

    def column(self, role: Role) -> NDArray[np.float64]:
        """The statistic with a role, (chain, draw), of the draws so far; no draws if the kernel has none."""
        place = self.course.chains.columns.place(role)
        if place is None:
            return np.zeros((len(self.chains), 0))
        return np.concatenate([statistic(windows, self.chains, place) for windows in self.windows], axis=1)

    def draws(self, numbers: int = MOST_COPIED) -> Matrix:
        """Draws (chain, draw, coordinate) in a copy: all, or evenly spread ones with at most so many numbers."""
        parts = [draws_by_chain(some, self.chains) for some in self.windows]
        return spread(parts, len(self.chains), self.course.chains.dimension, numbers)[0]

    @property
    def divergences(self) -> int:
        """Of all chains."""
        return int(self.column("divergence").sum())

    def sight(self, before: Sight | None = None) -> Sight:
        """What the draws so far show; `before`: see `verdicts.sight`."""
        width = max(BLOCK, MOST_SEEN // (len(self.chains) * max(1, self.count)))
        found = []
        for begin in range(0, self.course.chains.dimension, width):
            own = slice(begin, begin + width)
            draws = np.empty((len(self.chains), self.count, len(range(self.course.chains.dimension)[own])))
            row = 0
            for some in self.windows:
                rows = slice(row, row + len(some[self.chains[0]].draws))
                for place, part in enumerate(draws_by_chain(some, self.chains)):
                    draws[place, rows] = part[:, own]
                row = rows.stop
            found.append(verdicts.sight(draws, self.divergences, before))
        widths, errors = (np.concatenate([getattr(one, name) for one in found]) for name in ("widths", "errors"))
        return replace(found[0], widths=widths, errors=errors)

    @property
    def diverges(self) -> bool:
        """Whether more draws diverged than good draws do now and then."""
        return verdicts.too_many_divergences(self.divergences, self.count * len(self.chains))

    @property
    def energy_is_low(self) -> bool:
        """Whether chains move too slowly between energies."""
        together = self.course.chains.superchains
        return (verdicts.energy_is_low_together if together else verdicts.energy_is_low)(self.column("energy"))

    def check(self) -> Verdict | Restart | None:
        """Look at the draws: the verdict, what a remedy asks for, or neither yet. Raises Stopped."""
        found = self._check()
        self.due = False
        return found

    def _check(self) -> Verdict | Restart | None:
        self.looked, self.figures = True, None
        course, plan = self.course, self.course.plan
        fixed, at_end = plan.draws is not None, self.count >= self.last
        if fixed and not at_end:
            return None
        if fixed and not course.monitored.enabled:
            return Verdict("completed", "convergence was not checked")
        due = not fixed and (self._scheduled or course.chains.at_once)
        remedies = course.remedies if due else ()
        if request := self._first_request(remedies, None):
            return request
        if not at_end and self.count < self.next_look:
            return None
        failure = self._failure(at_end)
        if at_end and (improper := self._of_improper(failure)):
            return improper
        look = self._look(failure, at_end)
        if request := self._first_request(remedies, look):
            return request
        verdict = self._verdict(failure, look, course.limit)
        if verdict is None and not at_end and (limit := self._hopeless(failure)):
            failure = self._failure(True)
            verdict = self._of_improper(failure) or self._verdict(failure, self._look(failure, True), limit)
        return verdict

    def _of_improper(self, failure: Failure | None) -> Verdict | None:
        """The verdict at the end where the target seems to be improper."""
        improper = self.course.improper or ("" if failure is None else self._improper())
        if not improper:
            return None
        assert self.figures is not None
        self.figures = replace(self.figures, passed=False)
        return Verdict("not_converged", improper, "" if failure is None else self.figures.rhat_name)

    def _verdict(self, failure: Failure | None, look: Look, limit: str) -> Verdict | None:
        return self._of_passing(look) if failure is None else self._of_failing(failure, look, limit)

    def _hopeless(self, failure: Failure | None) -> str:
        """In words, why to end at a look that found something missing, though more draws may be made; or empty."""
        course, plan, figures = self.course, self.course.plan, self.figures
        if plan.draws is not None or plan.max_draws is not None or self.disagreed or course.improper:
            return ""
        assert figures is not None
        self.needs.append(need := forecast.need_of(failure, self.count, course.rule))
        bound, draws = verdicts.most_divergences(course.diverged), self.count * len(self.chains)
        ending = forecast.never(self.needs, len(self.chains))
        if self.count >= forecast.LONGER * course.fewest and verdicts.too_many_divergences(
            self.divergences, draws, bound
        ):
            ending = f"{self.divergences} of {draws} draws diverged, and more draws will not fix that"
        if ending:
            return f"{ending}; `result.extend(…)` continues anyway"
        if plan.max_time is not None:
            return ""
        if need.at_least > course.affordable:
            return forecast.NO_MEMORY
        if plan.patience is None:
            return ""
        per_draw = (course.spent - self.began) / self.count
        allowed = max(plan.patience, forecast.MULTIPLE * course.prepared)
        seconds = (max(need.at_least, figures.next_check) - self.count) * per_draw
        nearly_there = need.wanted <= figures.next_check
        if course.spent + seconds <= allowed * (forecast.NEAR_THE_END if nearly_there else 1.0):
            return ""
        made, left, most = (f"{figure / course.price:,.0f}" for figure in (course.spent, seconds, allowed))
        more = f"about {left} more evaluations" if need.known else f"an unknown number of evaluations after {made}"
        return (
            f"that takes {more} of the log density, and a run of this model stops after {most}; `result.extend(…)` "
            "continues, `max_time=` sets another limit"
        )

    def _first_request(self, remedies: Sequence[Remedy], look: Look | None) -> Restart | None:
        return next((request for remedy in remedies if (request := remedy(self, look))), None)

    def _failure(self, at_end: bool) -> Failure | None:
        """What does not hold for the draws so far, of which figures are noted."""
        rule = self.course.rule
        self._catch_up()
        failure = self.monitor.check(rule, at_end)
        if self.on_disk is not None:
            self.on_disk.rest()
        if failure is None and self.separated:
            seen = self.revisited[1] if self.revisited else None
            failure = verdicts.poorly_known_quantile(self.monitor, self.separated, rule, seen)
        name, rhat, size = self.monitor.figures(failure)
        soon = failure is None or failure.criterion == "quantile ess" or at_end or self.course.chains.at_once
        self.next_look = 0 if soon else verdicts.next_look(self.count, size, rule.target_ess)
        self.figures = CheckFigures(
            draws=self.count,
            rhat=rhat,
            rhat_name=name,
            ess=size,
            ess_name=name,
            target_ess=rule.target_ess,
            target_rhat=rule.target_rhat,
            next_check=self.next_check(max(self.count, self.next_look - 1)),
            passed=failure is None,
            needed=math.nan if failure is None else forecast.need_of(failure, self.count, rule).wanted,
            nearest=self.monitor.nearest(MOST_TOLD),
        )
        return failure

    def _look(self, failure: Failure | None, at_end: bool) -> Look:
        """What there is to say of the draws."""
        course, figures = self.course, self.figures
        assert figures is not None
        if failure is not None:
            scalars = verdicts.separated_scalars(self.monitor)
            far = [figures.rhat_name] if figures.rhat > verdicts.DISAGREEING_RHAT else []
            if not course.chains.at_once:
                self._note_separated([*far, *(self.monitor.names[s] for s in scalars)])
            return Look(failure, figures.ess, at_end, verdicts.disagreement(self.monitor, scalars))
        low_energy = self.energy_is_low
        lost = sorted(set(range(course.chains.count)).difference(self.chains))
        verdict = verdicts.of_passing(
            self.divergences,
            self.count * len(self.chains),
            figures.ess,
            len(set(self.chains).difference(course.copies)),
            low_energy,
            lost,
            course.diverged,
            None if course.diverged is None else self.sight(),
            course.smallest_steps,
        )
        missed = ""
        if course.monitored.missed is not None and verdict.status != "not_converged":
            missed = course.monitored.missed(self.draws(MOST_SEEN), course.quotient)
        if missed:
            self.figures = replace(figures, passed=False)
        return Look(failure, figures.ess, at_end, verdict, low_energy, missed)

    def _of_passing(self, look: Look) -> Verdict | None:
        arrived = set(self.course.tuner.arrived)
        missing = [c for c in self.chains if c not in arrived]
        if look.missed:
            return Verdict("not_converged", look.missed) if look.at_end else None
        if missing:
            reason = f"chains {missing} had not come to where the others are when tuning ended"
            return Verdict("chains_disagree", reason)
        total = self.count * len(self.chains)
        if self._diverges_a_little(look) and not verdicts.surely_too_many(self.divergences, total):
            return None  # more draws tell the rate
        return look.verdict

    def _diverges_a_little(self, look: Look) -> bool:
        """Whether divergences of the smallest steps are all that speaks against draws, and there may be more draws."""
        verdict = look.verdict
        smallest = self.course.smallest_steps and not look.at_end
        return smallest and verdict is not None and verdict.status == "not_converged" and verdict.divergences

    def _of_failing(self, failure: Failure, look: Look, limit: str) -> Verdict | None:
        """Whether chains disagree, as two checks have to find, or it is the end."""
        figures = self.figures
        assert figures is not None
        if look.verdict is not None and (self.disagreed or look.at_end):
            improper = "" if look.at_end else self._improper()
            return Verdict("not_converged", improper, figures.rhat_name) if improper else look.verdict
        self.disagreed = look.verdict is not None
        if self.disagreed:
            self.next_look = 0
            self.figures = replace(figures, next_check=self.next_check(self.count))
        if not look.at_end:
            return None
        return verdicts.of_failing(self.monitor, failure, self.course.rule, self.count, limit, self.course.unsearched)

    def _improper(self) -> str:
        """In words, how the target seems to be improper, by all draws; empty if nothing speaks for it."""
        look = self.course.monitored.improper
        return "" if look is None else look(self.draws(MOST_SEEN))

    def _note_separated(self, names: Sequence[str]) -> None:
        """Remember scalars in which chains are far from each other, as many as there is time to look at again."""
        if names and not self.separated:
            self.first_separated = self.count
        new = [name for name in dict.fromkeys(names) if name not in self.separated]
        self.separated.update(new[: MOST_SEPARATED - len(self.separated)])

    def forget_the_last_look(self) -> None:
        """Let the next check be as the first one."""
        self.disagreed, self.next_look = False, 0
        self.needs.clear()

    def look_again(self) -> None:
        """Be where another plan goes on, as if nothing had been looked at."""
        self.forget_the_last_look()
        # Only at a length where a run under that plan would have looked: the next segment may not be needed.
        self.due = self.count > 0 and self.next_check(self.count - 1) == self.count

    def in_other_coordinates(self) -> Leg | None:
        """The leg that goes on in coordinates that suit these draws better, if there is one; asked once."""
        self.asked_for_coordinates = True
        if self.course.other_coordinates is None or self.course.monitored.present_normals() is not None:
            return None  # separate regions: draws of all of them tell of none
        made = (self.course.spent - self.began) / self.course.price  # a transition counts as an evaluation
        return self.course.other_coordinates(self.draws(), "all", made / (self.count * len(self.chains)))

    def rest(self) -> None:
        """Let go what the windows give back: whoever keeps a result need not keep what watched it come."""
        self._watch_anew(self.monitor.anew())

    SAVED = (
        "chains", "count", "started", "separated", "first_separated", "disagreed", "next_look", "asked_for_coordinates",
        "began", "looked", "due",
    )  # fmt: skip

    def save(self) -> dict[str, Any]:
        """Its state but the windows, as numbers and arrays."""
        seen = None if self.revisited is None else [list(self.revisited[0]), self.revisited[1]]
        needs = [as_plain(need) for need in self.needs]
        figures = None if self.figures is None else as_plain(self.figures)
        more = {"nearness": self.monitor.nearness, "revisited": seen, "needs": needs, "figures": figures}
        return {**saved(self, self.SAVED), **more}

    @classmethod
    def load(cls, state: Mapping[str, Any], course: RunCourse, windows: Sequence[Mapping[int, Window]]) -> Attempt:
        """The attempt of a state that was saved, with the windows it had."""
        seen = state["revisited"]
        made = cls(course, state["chains"], None if seen is None else (seen[0], seen[1]))
        put_back(made, cls.SAVED, state)
        made.needs = [forecast.Need(**need) for need in state["needs"]]
        if (figures := state["figures"]) is not None:
            made.figures = CheckFigures(**{**figures, "nearest": tuple(map(tuple, figures["nearest"]))})
        begun = 0
        for some in windows:  # as they arrived
            made.windows.append(made._kept(some, begun))
            begun += len(some[made.chains[0]].draws)
        made._watch_anew(made._new_monitor(state["nearness"]))
        made._catch_up()
        return made


def spread(
    parts: Sequence[Sequence[Matrix] | Matrix], chains: int, dimension: int, numbers: int
) -> tuple[Matrix, NDArray[np.int64]]:
    """Of parts (draw, coordinate) of each chain evenly spread draws (chain, draw, coordinate), and which these are.

    They are at most so many numbers, and the last draw is one of them.
    """
    lengths = [len(some[0]) for some in parts]
    count = sum(lengths)
    most = max(1, numbers // max(1, chains * dimension))
    places = np.arange(count - 1, -1, -max(1, -(-count // most)))[::-1]  # with the last
    found = np.empty((chains, len(places), dimension))
    begin = 0
    for some, length in zip(parts, lengths, strict=True):
        here = slice(*np.searchsorted(places, [begin, begin + length]).tolist())
        for chain, own in enumerate(some):
            np.take(own, places[here] - begin, axis=0, out=found[chain, here], mode="clip")
        begin += length
    return found, places
