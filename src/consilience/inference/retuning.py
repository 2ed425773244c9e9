"""Tuning again between two attempts to sample: the draws so far make a new metric, windows of transitions a step
size, until it is accepted as often as asked for.

Windows of the draws so far enter, commands leave. Chains that tuned alone do so again, each for itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from consilience.inference import fisher_metric
from consilience.inference.columns import Columns
from consilience.inference.messages import Matrix, Segment, Window
from consilience.inference.metric import Scales
from consilience.inference.nuts_chain import Averaging, Learning, NutsCommand
from consilience.inference.pooled_tuning import pooled_step_size

WINDOW = 50  # transitions between two decisions on the step size
MOST_WINDOWS = 6
WINDOWS_AFTER_DIVERGENCES = 3  # at least
NEAR_TARGET = 0.02  # of the acceptance asked for, that a window has to come to
CAUTION = 0.5  # the search begins at the step size times exp(-CAUTION), where divergences were the reason


class Retuning:
    """The state of a tuning between two attempts.

    `groups`: chains that decide together: all of them, or each by itself.
    """

    def __init__(
        self,
        groups: Sequence[tuple[int, ...]],
        steps: Mapping[int, float],
        target_accept: float,
        caution: float,
        columns: Columns,
        chains: int,
    ) -> None:
        self.groups = tuple(groups)
        self.steps = dict(steps)
        self.scales: dict[int, Scales] = {}
        self.target_accept = target_accept
        self.caution = caution
        self.columns = columns
        self.chains = chains
        self.windows = 0
        self.finished = False

    def learn_metric(
        self,
        points: Mapping[int, tuple[Matrix, Matrix]],
        form: fisher_metric.Form,
        operations: float | None,
        present: Mapping[int, Scales],
    ) -> None:
        """A metric from draws and gradients by chain, in the coordinates of the present one; that stays where they
        determine none.
        """
        for group in self.groups:
            if not len(points[group[0]][0]):
                continue
            draws = np.concatenate([points[c][0] for c in group])
            gradients = np.concatenate([points[c][1] for c in group])
            whitener = present[group[0]].whitener if group[0] in present else None
            scales = fisher_metric.estimate(draws, gradients, form, operations, whitener)
            if scales is not None:
                self.scales.update(dict.fromkeys(group, scales))

    def next(self) -> Segment:
        """What the chains do next."""
        commands = []
        for c in range(self.chains):
            if c not in self.steps:  # lost
                commands.append(NutsCommand())
                continue
            step = self.steps[c] * (math.exp(-self.caution) if self.windows == 0 else 1.0)
            commands.append(
                NutsCommand(
                    learning=Learning.STEP,
                    scales=self.scales.get(c) if self.windows == 0 else None,
                    step=Averaging(step, math.log(1.2 * step), 10),
                    target_accept=self.target_accept,
                )
            )
        return Segment("tuning", WINDOW, tuple(commands))

    def take(self, windows: Mapping[int, Window]) -> None:
        """Decide on the step sizes; tuning is over once the last window's acceptance was the one asked for."""
        near = True
        for group in self.groups:
            members = [windows[c] for c in group if c in windows]
            if members:
                step = pooled_step_size(members, self.columns, self.target_accept)
                self.steps.update({c: step for c in group if c in windows})
                place = self.columns.of("acceptance")
                accepted = np.concatenate([w.statistics[place, w.statistics.shape[1] // 2 :] for w in members])
                near = near and float(accepted.mean()) >= self.target_accept - NEAR_TARGET
        self.windows += 1
        least = WINDOWS_AFTER_DIVERGENCES if self.caution else 1
        self.finished = self.windows >= MOST_WINDOWS or (near and self.windows >= least)

    def save(self) -> dict[str, Any]:
        """Its state as numbers and arrays."""
        return {
            "groups": [list(group) for group in self.groups],
            "steps": {str(c): step for c, step in self.steps.items()},
            "scales": {str(c): s.save() for c, s in self.scales.items()},
            "target_accept": self.target_accept,
            "caution": self.caution,
            "windows": self.windows,
        }

    @classmethod
    def load(cls, state: Mapping[str, Any], columns: Columns, chains: int) -> Retuning:
        """The tuning of a state that was saved."""
        retuning = cls(
            [tuple(group) for group in state["groups"]],
            {int(c): step for c, step in state["steps"].items()},
            state["target_accept"],
            state["caution"],
            columns,
            chains,
        )
        retuning.windows = state["windows"]
        learnt = {int(c): Scales.load(parts) for c, parts in state["scales"].items()}
        for group in retuning.groups:  # one metric of all, not one for each
            retuning.scales.update({c: learnt[group[0]] for c in group if c in learnt})
        return retuning
