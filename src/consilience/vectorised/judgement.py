"""Whether the draws of chains in lock step suffice, and what is said of them: by the rule and the words of all runs.

Stretches of draws enter, figures and a verdict leave. Many chains are judged by superchains, few one by one.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.energy import ebfmi
from consilience.events import CheckFigures
from consilience.run import stopping
from consilience.run.monitor import Monitor, Monitored
from consilience.run.options import Options
from consilience.run.schedule import MANY, check_after, least_needed
from consilience.run.stopping import Verdict

SUPERCHAINS: Final = 16
FEWEST_OF_SUPERCHAINS: Final = 4  # chains that a superchain has at least
FEWEST_DRAWS: Final = 16  # of each chain at the first check, where superchains are judged
USUAL_CHAINS: Final = 4  # that `min_draws` is meant for: more chains have as many draws all together at the first check


def superchains_of(chains: int) -> int:
    """How many superchains so many chains make up; 0 for few, which are judged one by one."""
    return SUPERCHAINS if chains >= SUPERCHAINS * FEWEST_OF_SUPERCHAINS else 0


class Judgement:
    """The draws so far, and what is to be said of them.

    figures   of the last check; None before
    """

    def __init__(self, monitored: Monitored, chains: int) -> None:
        self.chains, self.superchains = chains, superchains_of(chains)
        self.monitor = Monitor(monitored, range(chains), superchains=self.superchains)
        self.figures: CheckFigures | None = None
        self._seen: list[dict[str, npt.NDArray[Any]]] = []
        self._apart = False  # whether chains were found to disagree at the last check

    def extend(self, rows: dict[str, npt.NDArray[Any]]) -> None:
        """Take in further draws (chain, draw, coordinate) and statistics (chain, draw), by name."""
        self._seen.append(rows)
        self._watch(rows)
        while self.monitor.surprise:
            self.monitor = self.monitor.anew()
            for seen in self._seen:
                self._watch(seen)

    def _watch(self, rows: dict[str, npt.NDArray[Any]]) -> None:
        self.monitor.extend(dict(enumerate(rows["draws"])), dict(enumerate(rows["lp"])))

    def column(self, name: str) -> npt.NDArray[Any]:
        """A statistic (chain, draw) of all draws."""
        return np.concatenate([rows[name] for rows in self._seen], axis=1)

    def next_check(self, count: int, options: Options) -> int:
        """Draws of each chain at the check after `count`."""
        if options.draws is not None:
            return options.draws
        fewest = options.min_draws
        if self.superchains:
            fewest = max(FEWEST_DRAWS, -(-fewest * USUAL_CHAINS // self.chains))
        return check_after(count, min(fewest, options.max_draws), options.max_draws)

    def verdict(self, count: int, options: Options, before: str = "") -> Verdict | None:
        """What the draws, `count` of each chain, come to; None if more have to be made.

        before   in words, the divergences for which the chains were tuned again; empty if they were not
        """
        fixed = options.draws is not None
        last = options.max_draws if options.draws is None else options.draws
        at_end = count >= last
        if fixed and not at_end:
            return None
        if fixed and not self.monitor.monitored.enabled:
            return Verdict("completed", "convergence was not checked")
        failure = self.monitor.check(options.rule, at_end)
        name, rhat, size = self.monitor.figures(failure)
        self.figures = CheckFigures(
            draws=count,
            rhat=rhat,
            rhat_name=name,
            ess=size,
            ess_name=name,
            target_ess=options.rule.target_ess,
            target_rhat=options.rule.target_rhat,
            next_check=self.next_check(count, options),
            passed=failure is None,
        )
        if failure is None:
            divergences = int(self.column("diverging").sum())
            return stopping.of_passing(divergences, count * self.chains, self.chains, before, self._energy_is_low())
        apart = self._disagreement()
        if apart is not None and (self._apart or at_end):
            return apart
        self._apart = apart is not None
        if not at_end:
            return None
        limit = f"draws={last}" if fixed else f"max_draws={last}"
        return stopping.of_failing(self.monitor, failure, options.rule, count, limit)

    def is_hard(self, count: int, options: Options) -> bool:
        """Whether many draws are missing, or chains hardly move between energies, where the last check failed."""
        target, figures = options.rule.target_ess, self.figures
        if figures is None:
            return False
        most = min(options.max_draws, MANY * self.next_check(0, options))
        far = not figures.passed and target is not None and least_needed(count, figures.ess, target) > most
        return far or self._energy_is_low()

    def _energy_is_low(self) -> bool:
        """Whether chains move too slowly between energies; of many, all together, since each has made few draws."""
        energies = self.column("energy")
        if not self.superchains:
            return stopping.energy_is_low(list(energies))
        within = energies.var(axis=1)
        moving = within > 0.0
        fraction = float((ebfmi(energies[moving]) * within[moving]).sum() / (len(energies) * energies.var()))
        return fraction < stopping.LEAST_EBFMI

    def _disagreement(self) -> Verdict | None:
        """Whether chains, or superchains, each mix well by themselves and are in different places."""
        if not self.superchains:
            return stopping.disagreement(self.monitor, stopping.scalars_apart(self.monitor))
        convergence = self.monitor.convergence
        apart = convergence.mixing_alone(convergence.disagreeing(stopping.DISAGREEING_RHAT), stopping.ALONE_SIZE)
        if not apart:
            return None
        name = self.monitor.names[apart[0]]
        own = self.chains // self.superchains
        means = self.monitor.levels[: own * self.superchains].reshape(self.superchains, -1).mean(axis=1)
        return Verdict(
            "chains_disagree",
            f"the chains of each of {self.superchains} starting points mix among themselves, but those of different "
            f"points sit in different regions of `{name}` (mean log densities from {means.min():.1f} to "
            f"{means.max():.1f}); do not average them. The posterior has several modes, or chains are stuck",
            name,
        )
