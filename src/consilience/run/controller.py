"""The controller of a run: tuning, sampling, and where need be tuning and sampling again, as one state.

Windows of all chains enter, the next segment of work leaves. Everything that is decided is decided here, from the
windows alone, so a controller that is saved and loaded goes on as it would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from consilience.events import Event, Restarted
from consilience.inference.columns import Columns
from consilience.inference.messages import Matrix, Segment, Window
from consilience.inference.tuner import Reason, Tuner
from consilience.record import Record, replace
from consilience.run import stopping
from consilience.run.judging import Judging
from consilience.run.monitor import Monitored
from consilience.run.options import Options
from consilience.run.remedies import REMEDIES, Restart
from consilience.run.sampling import Sampling, SamplingPlan
from consilience.run.stopping import Verdict

MOST_RESTARTS = 8  # of a run; remedies that ask for more are not heard


class Setting(Record, eq=False):
    """What a controller has to know of the chains.

    chains, dimension   their number and their coordinates
    columns             their statistics
    monitored           what is watched
    reparametrized, judging, longest   see `SamplingPlan`
    """

    chains: int
    dimension: int
    columns: Columns
    monitored: Monitored
    reparametrized: Callable[[Matrix], Any] | None = None
    judging: Judging = Judging()
    longest: int | None = None


class RunController:
    """The state of a run.

    tuning_windows       windows of all tuning, in order; without draws unless they are kept
    tuning_evaluations   evaluations of the log density by the end of tuning, by all chains, draws that were given up
                         included
    restarts             reasons for which draws became part of tuning
    given_up             evaluations of the log density, by chain, of a run in other coordinates that this one follows
    successor            the run to go on with in other coordinates, once there is one; this one is then at its end
    verdict              once the run has come to its end by itself
    """

    def __init__(self, options: Options, setting: Setting, tuner: Tuner) -> None:
        self.options = options
        self.setting = setting
        self.tuner = tuner
        self.living = tuple(range(setting.chains))
        self.tuning_windows: list[dict[int, Window]] = []
        self.tuning_evaluations = 0
        self.given_up = (0,) * setting.chains
        self.successor: Any = None
        self.tuned = 0  # transitions of each chain in the first tuning
        self.restarts: list[Reason] = []
        self.improper = ""  # in words, how the target seems to be improper; then few draws are made
        self.diverged = ""  # in words, the divergences for which the chains were tuned again
        self.news: list[Event] = []
        self.last_attempt = 0  # restarts before the segment taken in last, and whether it was one of sampling
        self.last_sampled = False
        self.verdict: Verdict | None = None
        self.stage: Tuner | Sampling = tuner

    @property
    def sampling(self) -> Sampling | None:
        """The attempt to sample going on, if it is."""
        return self.stage if isinstance(self.stage, Sampling) else None

    def next(self) -> Segment | None:
        """What the chains do next; None at the end."""
        return None if self.verdict is not None else self.stage.next()

    def take(self, windows: Mapping[int, Window]) -> None:
        """Take in the windows of a segment by chain; lost chains are missing."""
        self.living = tuple(c for c in self.living if c in windows)
        stage = self.stage
        self.last_attempt, self.last_sampled = len(self.restarts), isinstance(stage, Sampling)
        stage.take(windows)
        if isinstance(stage, Sampling):
            self._after_sampling(stage)
            return
        spent = self._note_tuning(windows)
        if self.tuner.finished:
            self._see_whether_improper(windows, spent)
            self._sample()

    def _see_whether_improper(self, windows: Mapping[int, Window], spent: int) -> None:
        """Of runs that decide their length, once, by the last window of tuning, which took `spent` evaluations."""
        look, options = self.setting.monitored.improper, self.options
        draws = [window.draws for window in windows.values()]
        if look is None or options.draws is not None or self.restarts or not len(draws[0]):
            return
        settled = options.tune is not None or self.tuned < options.max_tune
        if stopping.may_be_improper(draws, spent / (len(draws) * len(draws[0])), settled):
            self.improper = look(np.stack(draws))

    def _note_tuning(self, windows: Mapping[int, Window]) -> int:
        """Keep what has to be kept of windows of tuning; the evaluations that they took."""
        kept = dict(windows)
        if not self.options.keep_tuning:
            nothing = np.empty((0, self.setting.dimension))
            kept = {c: replace(w, draws=nothing, gradients=None, snapshot={}) for c, w in kept.items()}
        self.tuning_windows.append(kept)
        before = self.tuning_evaluations
        self.tuning_evaluations = sum(w.evaluations + self.given_up[c] for c, w in windows.items())
        if self.restarts in ([], ["coordinates"]):
            self.tuned += next(iter(windows.values())).statistics.shape[1]
        return self.tuning_evaluations - before

    def _sample(self, revisited: Any = None) -> None:
        self.stage = Sampling(self.plan, self.setting.monitored, self.living, self.tuner, revisited, self.diverged)
        if self.options.draws == 0:
            self.verdict = Verdict("completed")

    @property
    def plan(self) -> SamplingPlan:
        """What is asked of sampling."""
        options, setting = self.options, self.setting
        return SamplingPlan(
            length=options.draws,
            fewest=setting.judging.fewest(options.min_draws, setting.chains),
            most=min(options.max_draws, stopping.IMPROPER_DRAWS) if self.improper else options.max_draws,
            rule=options.rule,
            escalate=options.escalate,
            columns=setting.columns,
            chains=setting.chains,
            judging=setting.judging,
            longest=setting.longest,
            remedies=REMEDIES if len(self.restarts) < MOST_RESTARTS else (),
            improper=self.improper,
            reparametrized=None if "coordinates" in self.restarts else setting.reparametrized,
        )

    def _after_sampling(self, stage: Sampling) -> None:
        if stage.check is not None:
            self.news.append(stage.check)
            stage.check = None
        if stage.verdict is not None:
            self.verdict = stage.verdict
        elif stage.request is not None:
            self._again(stage, stage.request)

    def _again(self, stage: Sampling, request: Restart) -> None:
        """What there is becomes tuning; tune or sample again."""
        self.restarts.append(request.reason)
        self.news.append(Restarted(request.said))
        if request.successor is not None:
            self.successor = request.successor
            self.verdict = Verdict("interrupted", "the run goes on in other coordinates")
            return
        for windows in stage.windows:
            self._note_tuning(windows)
        self.diverged = request.diverged or self.diverged
        self.tuner.again(request.reason, request.windows)
        self.stage = self.tuner
        if self.tuner.finished:
            self._sample(request.revisited)

    def follow(self, evaluations: Sequence[int]) -> None:
        """Go on in other coordinates after another run, whose chains made so many evaluations."""
        self.restarts.append("coordinates")
        self.given_up = tuple(evaluations)
        self.tuning_evaluations = sum(evaluations)

    def extend(self, options: Options) -> None:
        """Ask for more: a controller that has ended goes on with other lengths or another rule."""
        stage = self.stage
        assert isinstance(stage, Sampling)
        self.options = options
        self.setting = replace(self.setting, reparametrized=None)  # the draws there are stay
        self.verdict = None
        stage.plan = self.plan
        stage.check_again()
        self._after_sampling(stage)

    def save(self) -> dict[str, Any]:
        """Its state but the windows of sampling, as numbers, strings and arrays in dictionaries and lists."""
        return {
            "living": list(self.living),
            "tuning_evaluations": self.tuning_evaluations,
            "given_up": list(self.given_up),
            "tuned": self.tuned,
            "restarts": list(self.restarts),
            "improper": self.improper,
            "diverged": self.diverged,
            "tuner": self.tuner.save(),
            "sampling": None if self.sampling is None else self.sampling.save(),
        }

    def load(self, state: Mapping[str, Any], windows: Sequence[dict[int, Window]]) -> None:
        """Take over a state that was saved, with the windows of sampling it had."""
        self.living = tuple(state["living"])
        self.tuning_evaluations = state["tuning_evaluations"]
        self.given_up = tuple(state["given_up"])
        self.tuned = state["tuned"]
        self.restarts = list(state["restarts"])
        self.improper, self.diverged = state["improper"], state["diverged"]
        self.tuner.load(state["tuner"])
        self.stage = self.tuner
        if state["sampling"] is not None:
            self.stage = Sampling.load(state["sampling"], self.plan, self.setting.monitored, self.tuner, windows)
