"""The course of a run: tuning, sampling, and where need be tuning and sampling again, as one state.

Windows of all chains enter, the next round of work leaves. Everything that is decided is decided here, from the
windows alone, so a course that is saved and loaded goes on as it would have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from consilience.record import Record, replace
from consilience.run.events import Event, Restarted
from consilience.run.messages import Round, Window
from consilience.run.monitor import Monitored
from consilience.run.options import FEWEST_TUNE_FOR_TWO, SOLO_TUNE, Options
from consilience.run.pooled_tuning import PooledTuning, TuningPlan
from consilience.run.retuning import CAUTION, Retuning
from consilience.run.sampling import JUMPS, Frozen, Sampling, SamplingPlan, Wish
from consilience.run.solo_tuning import SoloTuning
from consilience.run.stopping import Verdict

RETUNED_ACCEPT = 0.95

Stage = PooledTuning | SoloTuning | Retuning | Sampling

REASONS: dict[Wish, str] = {
    "divergences": f"divergences: tuning again with target_accept {RETUNED_ACCEPT}",
    "metric": "the draws contradict the metric: tuning again with one made of them",
    "jumps": "chains disagree: sampling again with jumps between their regions",
}


class Setting(Record):
    """What a course has to know of the chains.

    chains, dimension   their number and their coordinates
    statistics          names of their statistics, in order
    poolable            whether they take orders
    directions          at most so many directions of the metric pay; None: no bound
    monitored           what is watched
    """

    chains: int
    dimension: int
    statistics: tuple[str, ...]
    poolable: bool
    directions: int | None
    monitored: Monitored


class Course:
    """The state of a run.

    tuning_windows       windows of all tuning, in order; without draws unless they are kept
    tuning_evaluations   evaluations of the log density by the end of the first tuning, by all chains
    restarts             reasons for which draws became part of tuning
    verdict              once the run has come to its end by itself
    """

    def __init__(self, options: Options, setting: Setting) -> None:
        self.options = options
        self.setting = setting
        self.pooled = options.pool and setting.chains > 1 and setting.poolable
        self.living = tuple(range(setting.chains))
        self.tuning_windows: list[dict[int, Window]] = []
        self.tuning_evaluations = 0
        self.tuned = 0  # transitions of each chain in the first tuning
        self.restarts: list[Wish] = []
        self.jumps = 0 if options.jumps == "auto" else options.jumps
        self.metric_report: PooledTuning | None = None
        self.target_accept = options.target_accept
        self.news: list[Event] = []
        self.last_attempt = 0  # restarts before the round taken in last, and whether it was one of sampling
        self.last_sampled = False
        self.verdict: Verdict | None = None
        self.stage: Stage = self._first_stage()
        self._frozen: Frozen | None = None  # what the chains sample with once a retuning is over

    def _first_stage(self) -> Stage:
        options, setting = self.options, self.setting
        if not self.pooled:
            length = options.tune
            if length is None:
                length = SOLO_TUNE if setting.poolable else 1000
            return SoloTuning(length, options.descend and setting.poolable)
        return PooledTuning(
            TuningPlan(
                chains=setting.chains,
                dimension=setting.dimension,
                length=options.tune,
                fewest=min(
                    options.max_tune,
                    max(options.min_tune, FEWEST_TUNE_FOR_TWO) if setting.chains == 2 else options.min_tune,
                ),
                most=options.max_tune,
                target_accept=options.target_accept,
                max_treedepth=options.max_treedepth,
                form=options.metric,
                directions=setting.directions if options.metric == "auto" else None,
                statistics=setting.statistics,
                descend=options.descend,
            )
        )

    @property
    def solo_length(self) -> int:
        """Transitions in which a chain tunes itself on a schedule."""
        return self.stage.length if isinstance(self.stage, SoloTuning) else 0

    @property
    def sampling(self) -> Sampling | None:
        """The attempt to sample going on, if it is."""
        return self.stage if isinstance(self.stage, Sampling) else None

    def next(self) -> Round | None:
        """What the chains do next; None at the end."""
        return None if self.verdict is not None else self.stage.next()

    def take(self, windows: Mapping[int, Window]) -> None:
        """Take in the windows of a round by chain; lost chains are missing."""
        self.living = tuple(c for c in self.living if c in windows)
        stage = self.stage
        self.last_attempt, self.last_sampled = len(self.restarts), isinstance(stage, Sampling)
        stage.take(windows)
        if not isinstance(stage, Sampling):
            self._note_tuning(windows)
        match stage:
            case Sampling():
                self._after_sampling(stage)
            case PooledTuning() if stage.finished:
                self.metric_report = stage
                self._sample(self._frozen_by(stage))
                stage.history.clear()  # has served
            case SoloTuning() if stage.finished:
                steps = {c: w.step_size for c, w in windows.items()} if self.setting.poolable else {}
                self._sample(Frozen({}, steps, self.living))
            case Retuning() if stage.finished:
                assert self._frozen is not None
                old = self._frozen
                self._sample(replace(old, scales={**old.scales, **stage.scales}, steps=stage.steps))
            case _:
                pass

    def _note_tuning(self, windows: Mapping[int, Window]) -> None:
        kept = dict(windows)
        if not self.options.keep_tuning:
            nothing = np.empty((0, self.setting.dimension))
            kept = {c: replace(w, draws=nothing, gradients=None, snapshot={}) for c, w in kept.items()}
        self.tuning_windows.append(kept)
        if not self.restarts:
            self.tuning_evaluations = sum(w.evaluations for w in windows.values())
            self.tuned += next(iter(windows.values())).statistics.shape[1]

    def _frozen_by(self, tuning: PooledTuning) -> Frozen:
        if tuning.scales is None or tuning.step is None:
            return Frozen({}, {}, tuning.arrived)
        points = [kept[c][0] for _, kept in tuning.history for c in sorted(kept)]
        return Frozen(
            dict.fromkeys(self.living, tuning.scales),
            dict.fromkeys(self.living, tuning.step.step),
            tuning.arrived,
            np.concatenate(points) if self.options.jumps else None,
        )

    def _sample(self, frozen: Frozen) -> None:
        self.stage = Sampling(
            self.plan,
            self.setting.monitored,
            self.living,
            self.setting.chains,
            frozen,
            retuned="divergences" in self.restarts,
            metric_checked="metric" in self.restarts,
            jumps=self.jumps,
        )
        if self.options.draws == 0:
            self.verdict = Verdict("completed")

    @property
    def plan(self) -> SamplingPlan:
        """What is asked of sampling."""
        options, setting = self.options, self.setting
        return SamplingPlan(
            length=options.draws,
            fewest=options.min_draws,
            most=options.max_draws,
            rule=options.rule,
            escalate=options.escalate and setting.poolable,
            check_metric=self.pooled and options.tune is None,
            jumps=options.jumps if setting.poolable else 0,
            max_treedepth=options.max_treedepth,
            statistics=setting.statistics,
            form=options.metric,
            directions=setting.directions if options.metric == "auto" else None,
        )

    def _after_sampling(self, stage: Sampling) -> None:
        if stage.check is not None:
            self.news.append(stage.check)
            stage.check = None
        if stage.verdict is not None:
            self.verdict = stage.verdict
        elif stage.wish is not None:
            self._again(stage, stage.wish)

    def _again(self, stage: Sampling, wish: Wish) -> None:
        """What there is becomes tuning; tune or sample again."""
        self.restarts.append(wish)
        self.news.append(Restarted(REASONS[wish]))
        for windows in stage.windows:
            self._note_tuning(windows)
        if wish == "jumps":
            self.jumps = JUMPS
            self._sample(stage.restarted())
            return
        if wish == "divergences":
            self.target_accept = max(RETUNED_ACCEPT, self.options.target_accept)
        groups: Sequence[tuple[int, ...]] = [self.living] if self.pooled else [(c,) for c in self.living]
        retuning = Retuning(
            groups,
            {c: stage.frozen.steps[c] for c in self.living},
            self.target_accept,
            CAUTION if wish == "divergences" else 0.0,
            self.setting.statistics,
            self.setting.chains,
        )
        plan = self.plan
        retuning.learn_metric(stage.points(), plan.form, plan.directions)
        self._frozen = stage.frozen
        self.stage = retuning

    def extend(self, options: Options) -> None:
        """Ask for more: a course that has ended goes on with other lengths or another rule."""
        stage = self.stage
        assert isinstance(stage, Sampling)
        self.options = options
        self.verdict = None
        stage.plan = self.plan
        stage.check_again()
        self._after_sampling(stage)

    def save(self) -> dict[str, Any]:
        """Its state but the windows of sampling, as numbers, strings and arrays in dictionaries and lists."""
        frozen = self._frozen
        kinds: dict[type, Literal["pooled", "solo", "retuning", "sampling"]] = {
            PooledTuning: "pooled",
            SoloTuning: "solo",
            Retuning: "retuning",
            Sampling: "sampling",
        }
        return {
            "living": list(self.living),
            "tuning_evaluations": self.tuning_evaluations,
            "tuned": self.tuned,
            "restarts": list(self.restarts),
            "jumps": self.jumps,
            "target_accept": self.target_accept,
            "stage": kinds[type(self.stage)],
            "state": self.stage.save(),
            "frozen": None if frozen is None else frozen.save(),
            "tuning": None if self.metric_report is None else self.metric_report.save()["reports"],
        }

    def load(self, state: Mapping[str, Any], windows: Sequence[dict[int, Window]]) -> None:
        """Take over a state that was saved, with the windows of sampling it had."""
        self.living = tuple(state["living"])
        self.tuning_evaluations = state["tuning_evaluations"]
        self.tuned = state["tuned"]
        self.restarts = list(state["restarts"])
        self.jumps = state["jumps"]
        self.target_accept = state["target_accept"]
        if state["tuning"] is not None and isinstance(self.stage, PooledTuning):
            self.metric_report = self.stage
            self.metric_report.load({**self.metric_report.save(), "reports": state["tuning"]})
        match state["stage"]:
            case "pooled" | "solo":
                assert not isinstance(self.stage, Retuning | Sampling)
                self.stage.load(state["state"])
            case "retuning":
                self.stage = Retuning.load(state["state"], self.setting.statistics, self.setting.chains)
                self._frozen = Frozen.load(state["frozen"])
            case _:
                self.stage = Sampling.load(
                    state["state"], self.plan, self.setting.monitored, self.setting.chains, windows
                )
