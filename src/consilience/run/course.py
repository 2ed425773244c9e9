"""The course of a run, the one state machine for all engines: windows of all chains enter, the next segment of work
leaves, or a verdict.

    tuning ── the tuner has finished ──► attempt to sample ── a check, which finds ──► a verdict: the end
       ▲                                   ▲             │                             nothing yet: go on
       │            Restart, without tuning: jumps ──────┤                             nor soon: the end
       └─────────── Restart ─────────────────────────────┤
                    Restart with a successor ────────────┴───► another leg, in other coordinates

Everything is decided here, from the windows alone, so a course that is saved and loaded goes on as it would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.events import Event, Restarted
from consilience.inference.messages import (
    Matrix,
    Segment,
    Window,
    draws_by_chain,
    evaluations_by_chain,
    statistics_by_chain,
    without_draws,
)
from consilience.inference.tuner import Reason, Tuner
from consilience.record import Record, as_plain, replace
from consilience.run import forecast, verdicts
from consilience.run.attempt import Attempt, put_back, saved
from consilience.run.engine import Chains, Engine
from consilience.run.monitor import Monitored
from consilience.run.plan import RunPlan
from consilience.run.remedies import REMEDIES, Remedy, Restart
from consilience.run.remedies.coordinates import Recoordinated, reparametrize_early, rescale_fields, transport_block
from consilience.run.stray_chains import stray_chains
from consilience.run.verdicts import Sight, Verdict

if TYPE_CHECKING:
    from consilience.inference.modes.symmetries import Quotient

COORDINATES: Final = frozenset({"coordinates", "fields", "block"})  # reasons to go on in others
MOST_REQUESTS: Final = 8  # of a run; remedies that ask for more are not heard


class RunCourse:
    """The state of a run.

    `plan`: what is asked of it.
    `chains`: what is to be known of the chains.
    `monitored`: what is watched.
    `other_coordinates`: gives, of draws (chain, draw, coordinate), what may change and evaluations in a transition, a
        leg of the same posterior in other coordinates, or None where these are no better; None: there are no others.
    `tuning_windows`: windows of all tuning, in order; without draws unless they are kept.
    `tuning_evaluations`: evaluations of the log density by the end of tuning, by all chains, draws that were given up
        included.
    `spent_before`: evaluations by the tuners of legs in other coordinates that this one follows.
    `restarts`: reasons for which draws became part of tuning.
    `refusals`: in words, why there were no other coordinates, where draws asked for some.
    `spent`: evaluations and transitions at their price (`forecast.price`), those in other coordinates included.
    `prepared`: of these, those to the first check of every attempt to sample, from where it began to tune.
    `given_up`: evaluations of the log density, by chain, of a leg in other coordinates that this one follows.
    `quotient`: symmetries of the target, once draws are put into its copies at random.
    `folder`: where draws are on the disk rather than in memory, if they are many; None: they never are.
    `successor`: the leg to go on with in other coordinates, once there is one; this one is then at its end.
    `verdict`: once the run has come to its end by itself.
    """

    def __init__(
        self,
        plan: RunPlan,
        chains: Chains,
        tuner: Tuner,
        monitored: Monitored,
        other_coordinates: Callable[[Matrix, Recoordinated, float], Leg | None] | None = None,
    ) -> None:
        self.plan = plan
        self.chains = chains
        self.tuner = tuner
        self.monitored = monitored
        self.other_coordinates = other_coordinates
        self.living = tuple(range(chains.count))
        self.copies: tuple[int, ...] = ()  # no witnesses of their own
        self.strays: tuple[int, ...] = ()  # chains that tuned where the target has no mass, and begin again elsewhere
        self.tuning_windows: list[Mapping[int, Window]] = []
        self.tuning_evaluations = 0
        self.given_up = (0,) * chains.count
        self.spent_before = 0
        self.successor: Leg | None = None
        self.tuned = 0  # transitions of each chain in the first tuning
        self.restarts: list[Reason] = []
        self.refusals: list[str] = []
        self.spent = self.since = self.prepared = 0.0  # since: when this attempt began to tune
        self.priced: dict[str, int] = {}  # evaluations that are counted in them, by chain, and of the tuner
        self.improper = ""  # in words, how the target seems to be improper; then few draws are made
        self.diverged: Sight | None = None  # what the draws showed that were given up for divergences
        self.folder: Path | None = None
        self.quotient: Quotient | None = None
        self._news: list[Event] = []
        self.last_attempt = 0  # restarts before the segment taken in last, and whether it was one of sampling
        self.last_sampled = False
        self.verdict: Verdict | None = None
        self.stage: Tuner | Attempt = tuner

    @property
    def attempt(self) -> Attempt | None:
        """The attempt to sample going on, if it is."""
        return self.stage if isinstance(self.stage, Attempt) else None

    @property
    def fewest(self) -> int:
        """Draws of each chain at the first check, where the run decides."""
        return self.chains.fewest(self.plan.min_draws)

    @property
    def last(self) -> int:
        """Draws of each chain at the end, if nothing ends the run before."""
        if self.plan.draws is not None:
            return self.plan.draws
        most = self.affordable if self.plan.max_draws is None else self.plan.max_draws
        return min(most, verdicts.IMPROPER_DRAWS) if self.improper else most

    @cached_property
    def affordable(self) -> int:
        """Draws of each chain for which there is room as they are first asked for, but no fewer than the first check
        needs: in memory for their statistics, and there or in the folder for their coordinates.
        """
        count, values = self.chains.count, len(self.chains.columns.types)
        draws, there = 8 * count * self.chains.dimension, 8 * count * values
        if self.folder is None:
            return max(self.fewest, forecast.affordable_draws(draws + there))
        return max(self.fewest, min(forecast.affordable_draws(there), forecast.affordable_draws(draws, self.folder)))

    @property
    def tuner_evaluations(self) -> int:
        """Evaluations of the log density by tuners themselves, beside those of the chains."""
        return self.spent_before + self.tuner.spent

    @property
    def rule(self) -> StoppingRule:
        """When draws suffice: as asked for, but R-hat is judged strictly where `unsearched` says something.

        Then the agreement of the chains is all there is against another mode, and none of it is put down to chance.
        """
        return replace(self.plan.rule, strict=True) if self.unsearched else self.plan.rule

    @property
    def unsearched(self) -> str:
        """In words, that separate modes were not looked for, or not to the end; empty if they were."""
        searched = self.monitored.searched
        if searched is None:
            return "separate modes were not looked for"
        return "" if searched() else "the search for separate modes did not come to its end"

    @property
    def limit(self) -> str:
        """In words, what ends the run if nothing ends it before."""
        for name in ("draws", "max_draws"):
            if (given := getattr(self.plan, name)) is not None:
                return f"{name}={given}"
        return forecast.NO_MEMORY

    @property
    def smallest_steps(self) -> bool:
        """Whether chains have tuned for the smallest steps, in the coordinates they have now."""
        changes = [i for i, reason in enumerate(self.restarts) if reason in COORDINATES]
        return "smallest steps" in self.restarts[max(changes, default=0) :]

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What may be done where draws show the need."""
        heard = len(self.restarts) - self.restarts.count("fields") - self.restarts.count("block") < MOST_REQUESTS
        return tuple(REMEDIES[name] for name in REMEDIES if name in self.plan.remedies) if heard else ()

    def next(self) -> Segment | None:
        """What the chains do next; None at the end."""
        if self.verdict is not None or self.successor is not None:
            return None
        segment = self.stage.next()
        return replace(segment, elsewhere=self.strays) if self.strays else segment

    def take(self, windows: Mapping[int, Window], copies: tuple[int, ...] = ()) -> None:
        """Take in the windows of a segment by chain; lost chains are missing. `judge` comes next.

        `copies`: chains that went on from where another was.
        """
        self.copies = copies
        there = set(windows)
        self.living = tuple(c for c in self.living if c in there)
        stage = self.stage
        self.last_attempt, self.last_sampled = len(self.restarts), isinstance(stage, Attempt)
        self._spend(windows)
        stage.take(windows)
        if isinstance(stage, Attempt):
            return
        self.strays = () if self.tuner.finished else stray_chains(windows, self.chains.columns)
        spent = self._note_tuning(windows)
        request = (
            rescale_fields(self, windows)
            or transport_block(self, windows, spent)
            or reparametrize_early(self, windows, spent)
        )
        if request:
            self.begin_again(request)
        elif self.tuner.finished:
            self._see_whether_improper(windows, spent)
            self._sample()

    @property
    def price(self) -> float:
        """Seconds for which an evaluation of one chain counts."""
        return forecast.price(self.chains.work, self.chains.dimension, self.chains.count)

    def _spend(self, windows: Mapping[int, Window]) -> None:
        """Count what windows took, and what the tuner did since the last ones; a transition counts as an evaluation."""
        made = {str(c): count for c, count in evaluations_by_chain(windows).items()} | {"tuner": self.tuner.spent}
        more = sum(max(0, count - self.priced.get(who, 0)) for who, count in made.items())
        self.priced |= made
        self.spent += self.price * (more + sum(own.shape[1] for own in statistics_by_chain(windows, tuple(windows))))

    def _see_whether_improper(self, windows: Mapping[int, Window], spent: int) -> None:
        """Of runs that decide their length, once, by the last window of tuning, which took `spent` evaluations."""
        look, plan = self.monitored.improper, self.plan
        draws = draws_by_chain(windows, tuple(windows))
        if look is None or plan.draws is not None or self.restarts or not len(draws[0]):
            return
        settled = plan.tune is not None or self.tuned < plan.max_tune
        if verdicts.may_be_improper(draws, spent / (len(draws) * len(draws[0])), settled):
            self.improper = look(np.asarray(draws))

    def _note_tuning(self, windows: Mapping[int, Window]) -> int:
        """Keep what has to be kept of windows of tuning; the evaluations that they took."""
        self.tuning_windows.append(windows if self.plan.keep_tuning else without_draws(windows))
        earlier = self.tuning_evaluations
        made = evaluations_by_chain(windows)
        self.tuning_evaluations = sum(count + self.given_up[c] for c, count in made.items())
        if COORDINATES.issuperset(self.restarts):
            self.tuned += next(iter(windows.values())).statistics.shape[1]
        return self.tuning_evaluations - earlier

    def _sample(self, revisited: tuple[Sequence[str], Matrix] | None = None) -> None:
        self.stage = Attempt(self, self.living, revisited)
        if self.plan.draws == 0:
            self.verdict = Verdict("completed")

    def divide_by(self, quotient: Quotient) -> None:
        """From the next attempt to sample on, put draws into copies at random, and watch them in one copy."""
        self.quotient, self.monitored = quotient, self.monitored.folded(quotient)

    def in_copies(self, windows: Mapping[int, Window], seed: int) -> Mapping[int, Window]:
        """Windows of a segment, each draw of sampling in a copy that seed, chain and its number choose.

        The target is the same in all copies, so that draws stay draws of it.
        """
        if self.quotient is None or self.attempt is None:
            return windows
        put, begun = self.quotient.scattered, self.attempt.count
        moved = {c: put(w.draws, seed, c, begun, w.gradients) for c, w in windows.items()}
        return {c: replace(w, draws=moved[c][0], gradients=moved[c][1]) for c, w in windows.items()}

    @property
    def due(self) -> bool:
        """Whether it is time to look at draws."""
        return self.attempt is not None and self.attempt.due

    def judge(self) -> None:
        """Look at the draws if it is time to, and do what follows; again after Stopped was raised."""
        attempt = self.attempt
        if attempt is None or not attempt.due:
            return
        if not attempt.looked:
            self.prepared += self.spent - self.since
        found = attempt.check()
        if attempt.figures is not None:
            self._news.append(attempt.figures)
        if isinstance(found, Restart):
            self.begin_again(found)
        else:
            self.verdict = found

    def note_refusal(self, words: str) -> None:
        """Keep why there were no other coordinates."""
        words = words.removesuffix(".")
        self.refusals += [words] if words not in self.refusals else []

    def told(self) -> list[Event]:
        """What is to be told of what was taken in last."""
        news, self._news = self._news, []
        return news

    def begin_again(self, request: Restart) -> None:
        """What there is becomes tuning; tune or sample again."""
        self.restarts.append(request.reason)
        self._news.append(Restarted(request.said))
        if request.successor is not None:
            self.successor = request.successor
            return
        attempt = self.stage
        assert isinstance(attempt, Attempt)
        for windows in attempt.windows:
            self._note_tuning(windows)
        if request.reason in ("divergences", "smallest steps"):
            self.diverged = attempt.sight(self.diverged)
        self.since = self.spent
        if request.quotient is None:
            self.tuner.again(request.reason, request.windows)
        else:  # chains go on as they are tuned
            self.divide_by(request.quotient)
        self.stage = self.tuner
        if self.chains.at_once and attempt.asked_for_coordinates:
            self.other_coordinates = None
        if self.tuner.finished:
            self._sample(request.revisited)

    def follow(self, other: RunCourse, evaluations: Sequence[int]) -> None:
        """Go on in other coordinates after another leg, whose chains made so many evaluations."""
        self.spent = self.since = other.spent
        self.prepared = other.prepared
        self.restarts, self.refusals = list(other.restarts), list(other.refusals)
        self.given_up = tuple(map(sum, zip(evaluations, other.given_up, strict=True)))
        self.tuning_evaluations = sum(self.given_up)
        self.spent_before = other.tuner_evaluations

    def extend(self, plan: RunPlan) -> None:
        """Ask for more: a course that has ended goes on with other lengths or another rule."""
        attempt = self.stage
        assert isinstance(attempt, Attempt)
        self.plan = plan
        self.__dict__.pop("affordable", None)  # another amount of memory is free now
        self.other_coordinates = None  # the draws there are stay
        self.verdict = None
        attempt.look_again()
        self.judge()

    def ask_for(self, plan: RunPlan) -> None:
        """Go on under another plan from now on, in the middle of the run."""
        self.plan = plan
        if self.attempt is not None:
            self.attempt.forget_the_last_look()  # which may have put the next one far away

    def keep_draws_in(self, folder: Path | None) -> None:
        """Have draws on the disk rather than in memory from the next attempt to sample on, if they are many."""
        self.folder = folder

    SAVED = (
        "living", "copies", "strays", "tuning_evaluations", "given_up", "tuned", "restarts", "refusals", "spent",
        "since", "prepared", "priced", "improper", "spent_before",
    )  # fmt: skip

    def save(self) -> dict[str, Any]:
        """Its state but the windows of sampling, as numbers, strings and arrays in dictionaries and lists."""
        attempt = None if self.attempt is None else self.attempt.save()
        diverged = None if self.diverged is None else as_plain(self.diverged)
        quotient = None if self.quotient is None else self.quotient.save()
        return {
            **saved(self, self.SAVED),
            "quotient": quotient,
            "diverged": diverged,
            "tuner": self.tuner.save(),
            "sampling": attempt,
        }

    def load(
        self,
        state: Mapping[str, Any],
        tuning: list[Mapping[int, Window]],
        windows: Sequence[Mapping[int, Window]],
        verdict: Verdict | None,
    ) -> None:
        """Take over a state that was saved, with the windows of tuning and of sampling it had, and its verdict."""
        self.tuning_windows, self.verdict = tuning, verdict
        put_back(self, self.SAVED, state)
        self.diverged = None if state["diverged"] is None else Sight(**state["diverged"])
        self.tuner.load(state["tuner"])
        if state["quotient"] is not None:
            from consilience.inference.modes.symmetries import Quotient  # few runs have one

            self.divide_by(Quotient.load(state["quotient"]))
        self.stage = self.tuner
        if state["sampling"] is not None:
            self.stage = Attempt.load(state["sampling"], self, windows)


class Leg(Record, eq=False):
    """A part of a run in one set of coordinates.

    `course`: what is to be done and what has come of it. `engine`: the chains. `density`: their target, for whoever
    holds the run; neither of both asks for it.
    """

    course: RunCourse
    engine: Engine
    density: Any = None

    def of(self, density: Any) -> Leg:
        """The same, with its density."""
        return replace(self, density=density)
