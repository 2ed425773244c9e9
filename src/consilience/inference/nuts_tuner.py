"""How the chains of NUTS in a run are tuned: together or each by itself, and again where sampling shows the need.

Windows enter, commands leave; see `tuner.Tuner`. What is frozen while sampling is the metric and the step size of each
chain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol

import numpy as np

from consilience.inference import fisher_metric
from consilience.inference.messages import Command, Matrix, Segment, Window
from consilience.inference.metric import Scales
from consilience.inference.metric_change import log_ratios
from consilience.inference.metric_error import error_bound
from consilience.inference.nuts_chain import Averaging, Learning, NutsCommand
from consilience.inference.pooled_tuning import PooledTuning, TuningPlan, WindowReport
from consilience.inference.retuning import CAUTION, Retuning
from consilience.inference.self_tuning import SelfTuning
from consilience.inference.tuner import Reason, TuningSetting, Windows

ALONE_TUNE: Final = 400  # transitions of a chain that tunes by itself
FEWEST_FOR_TWO: Final = 85  # transitions: two chains know less of each other
RETUNED_ACCEPT: Final = {"divergences": 0.95, "smallest steps": 0.99}  # at least, by the reason
GRADIENTS_KEPT: Final = 400  # draws of each chain, whose gradients may be needed for a new metric
MOST_NUMBERS: Final = 1 << 24  # in these
LARGEST_METRIC_ERROR: Final = 1.0  # root mean square of log variances
MANY: Final = 200  # coordinates, beyond which a metric to compare with is learnt
ENOUGH: Final = 200  # from at most so many draws; a bound on the metric's error always is

Stage = PooledTuning | SelfTuning | Retuning


class NutsSettings(Protocol):
    """The settings of `nuts_kernel.NUTS` that tuning goes by."""

    @property
    def target_accept(self) -> float: ...
    @property
    def max_treedepth(self) -> int: ...
    @property
    def metric(self) -> fisher_metric.Form: ...
    @property
    def initialize(self) -> bool: ...


class NutsTuner:
    """The state of the tuning of a run: see `tuner.Tuner`."""

    def __init__(self, kernel: NutsSettings, setting: TuningSetting) -> None:
        self.kernel = kernel
        self.setting = setting
        self.pooled = setting.lengths.pool and setting.chains > 1
        self.living = self.arrived = tuple(range(setting.chains))
        self.target_accept = kernel.target_accept
        self.scales: dict[int, Scales] = {}
        self.steps: dict[int, float] = {}
        self.reviewed = 0  # draws that `contradicted` has seen
        self.restarts: list[Reason] = []
        self.finished = False
        self.reports: tuple[Any, ...] = ()
        self.spent = 0  # see `tuner.Tuner`
        self.stage: Stage = self._first_stage()

    def _first_stage(self) -> Stage:
        kernel, setting = self.kernel, self.setting
        if not self.pooled:
            return SelfTuning(setting, NutsCommand(initialize=kernel.initialize), ALONE_TUNE)
        fewest = max(setting.lengths.min_tune, FEWEST_FOR_TWO) if setting.chains == 2 else setting.lengths.min_tune
        return PooledTuning(
            TuningPlan(
                chains=setting.chains,
                dimension=setting.dimension,
                length=setting.lengths.tune,
                fewest=min(setting.lengths.max_tune, fewest),
                most=setting.lengths.max_tune,
                target_accept=kernel.target_accept,
                max_treedepth=kernel.max_treedepth,
                form=kernel.metric,
                operations=setting.operations,
                columns=setting.columns,
                initialize=kernel.initialize,
                curvature=setting.curvature if kernel.metric == "auto" else None,
            )
        )

    @property
    def length(self) -> int:
        """See `tuner.Tuner`."""
        return self.stage.length if isinstance(self.stage, SelfTuning) else 0

    @property
    def fixed(self) -> int | None:
        """See `tuner.Tuner`."""
        return self.length or self.setting.lengths.tune

    @property
    def answers(self) -> frozenset[Reason]:
        """See `tuner.Tuner`."""
        last = max((list(RETUNED_ACCEPT).index(r) for r in self.restarts if r in RETUNED_ACCEPT), default=-1)
        return frozenset(list(RETUNED_ACCEPT)[last + 1 :])

    @property
    def interval(self) -> int:
        """See `tuner.Tuner`."""
        return 0

    @property
    def gradients(self) -> int:
        """See `tuner.Tuner`."""
        return min(GRADIENTS_KEPT, max(1, MOST_NUMBERS // (self.setting.chains * self.setting.dimension)))

    def next(self) -> Segment:
        """See `tuner.Tuner`."""
        return self.stage.next()

    def take(self, windows: Mapping[int, Window]) -> None:
        """See `tuner.Tuner`."""
        self.living = tuple(c for c in self.living if c in windows)
        stage = self.stage
        stage.take(windows)
        if isinstance(stage, PooledTuning):
            self.spent = stage.spent
        if not stage.finished:
            return
        self.finished = True
        self.reviewed = 0
        match stage:
            case PooledTuning():
                self.reports = tuple(stage.reports)
                self.arrived = stage.arrived
                if stage.scales is not None and stage.step is not None:
                    self.scales = dict.fromkeys(self.living, stage.scales)
                    self.steps = dict.fromkeys(self.living, stage.step.step)
                stage.history.clear()  # has served
            case Retuning():
                self.scales.update(stage.scales)
                self.steps = dict(stage.steps)
            case _:
                self.steps = {c: w.step_size for c, w in windows.items()}

    def sample(self) -> tuple[Command, ...]:
        """See `tuner.Tuner`."""
        return tuple(self._frozen(c) for c in range(self.setting.chains))

    def _frozen(self, chain: int) -> NutsCommand:
        step = self.steps.get(chain)
        return NutsCommand(
            learning=Learning.NOTHING,
            max_treedepth=self.kernel.max_treedepth,
            scales=self.scales.get(chain),
            step=None if step is None else Averaging(step, math.log(step), 0),
        )

    def between(self, windows: Windows) -> tuple[Command, ...]:
        """See `tuner.Tuner`."""
        return ()

    def contradicted(self, windows: Windows) -> Reason | None:
        """See `tuner.Tuner`: "metric" where the draws call for quite another one. Asked twice at most."""
        if not self.pooled or self.setting.lengths.tune is not None or "metric" in self.restarts or not windows:
            return None
        chains = sorted(windows[-1])
        count = sum(len(some[chains[0]].draws) for some in windows)
        due = self.reviewed == 0 or self.reviewed < GRADIENTS_KEPT <= count
        self.reviewed = count
        return "metric" if due and self._metric_is_wrong(windows, chains, count) else None

    def _metric_is_wrong(self, windows: Windows, chains: Sequence[int], count: int) -> bool:
        present = self.scales.get(chains[0])
        if present is None or any(self.scales.get(c) is not present for c in chains):
            return False
        draws, gradients = _together(seen(windows, chains, math.ceil(count * len(chains) / ENOUGH)))
        if not len(draws) or error_bound(draws, gradients, present) <= LARGEST_METRIC_ERROR**2:
            return False
        # In many dimensions the estimate's cost grows with the cube of the draws, and some suffice to contradict.
        if len(present.scale) <= MANY:
            draws, gradients = _together(seen(windows, chains))
        learnt = fisher_metric.estimate(draws, gradients, self.kernel.metric, self.setting.operations, present.whitener)
        if learnt is None:
            return False
        ratios = log_ratios(learnt, present)
        return float(np.sqrt(np.mean((ratios - ratios.mean()) ** 2))) > LARGEST_METRIC_ERROR

    def again(self, reason: Reason, windows: Windows) -> None:
        """See `tuner.Tuner`."""
        self.restarts.append(reason)
        chains = sorted(windows[-1])
        self.living = tuple(chains)
        self.target_accept = max(RETUNED_ACCEPT.get(reason, 0.0), self.target_accept)
        groups: Sequence[tuple[int, ...]] = [self.living] if self.pooled else [(c,) for c in self.living]
        retuning = Retuning(
            groups,
            {c: self.steps.get(c, windows[-1][c].step_size) for c in self.living},  # chains may not have tuned at all
            self.target_accept,
            CAUTION if reason in RETUNED_ACCEPT else 0.0,
            self.setting.columns,
            self.setting.chains,
        )
        retuning.learn_metric(seen(windows, chains), self.kernel.metric, self.setting.operations, self.scales)
        self.stage = retuning
        self.finished = False

    def save(self) -> dict[str, Any]:
        """See `tuner.Tuner`."""
        different = list({id(s): s for s in self.scales.values()}.values())
        stages: dict[type, Literal["pooled", "self", "retuning"]] = {
            PooledTuning: "pooled",
            SelfTuning: "self",
            Retuning: "retuning",
        }
        return {
            "living": list(self.living),
            "arrived": list(self.arrived),
            "target_accept": self.target_accept,
            "scales": [s.save() for s in different],
            "metric": {str(c): [s is d for d in different].index(True) for c, s in self.scales.items()},
            "steps": {str(c): step for c, step in self.steps.items()},
            "reviewed": self.reviewed,
            "restarts": list(self.restarts),
            "finished": self.finished,
            "spent": self.spent,
            "reports": [[r.transitions, r.step_size, r.rank, r.change, list(r.arrived)] for r in self.reports],
            "stage": stages[type(self.stage)],
            "state": self.stage.save(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """See `tuner.Tuner`."""
        different = [Scales.load(parts) for parts in state["scales"]]
        self.living, self.arrived = tuple(state["living"]), tuple(state["arrived"])
        self.target_accept = state["target_accept"]
        self.scales = {int(c): different[which] for c, which in state["metric"].items()}
        self.steps = {int(c): step for c, step in state["steps"].items()}
        self.reviewed = state["reviewed"]
        self.restarts = list(state["restarts"])
        self.finished, self.spent = state["finished"], state.get("spent", 0)
        self.reports = tuple(WindowReport(t, s, r, c, tuple(a)) for t, s, r, c, a in state["reports"])
        if state["stage"] == "retuning":
            self.stage = Retuning.load(state["state"], self.setting.columns, self.setting.chains)
        else:
            assert not isinstance(self.stage, Retuning)
            self.stage.load(state["state"])


def seen(windows: Windows, chains: Sequence[int], every: int = 1) -> dict[int, tuple[Matrix, Matrix]]:
    """Draws and gradients by chain, as far as gradients were kept: all, or one of `every` so many."""
    kept = [some for some in windows if all(some[c].gradients is not None for c in chains)]
    if not kept:  # the first draws were made for a fixed length
        nothing = np.empty((0, windows[0][chains[0]].draws.shape[1]))
        return dict.fromkeys(chains, (nothing, nothing))
    begins = np.cumsum([0, *(len(some[chains[0]].draws) for some in kept[:-1])])
    places = [slice(int(-begin % every), None, every) for begin in begins]
    result = {}
    for c in chains:
        own = [(some[c].draws, some[c].gradients, rows) for some, rows in zip(kept, places, strict=True)]
        result[c] = (
            np.concatenate([draws[rows] for draws, _, rows in own]),
            np.concatenate([gradients[rows] for _, gradients, rows in own if gradients is not None]),
        )
    return result


def _together(points: Mapping[int, tuple[Matrix, Matrix]]) -> tuple[Matrix, Matrix]:
    return np.concatenate([p[0] for p in points.values()]), np.concatenate([p[1] for p in points.values()])
