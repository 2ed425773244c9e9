"""What a run needs yet: looks at its draws enter; draws to its goal leave, or in words why it ends before.

Where it ends is decided at looks alone, by evaluations of the log density and never by a clock: a seed gives the same
draws, as many of them, and the same status on a busy machine and on a quiet one.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from consilience.diagnostics.stopping_rule import Failure, StoppingRule
from consilience.record import Record
from consilience.run.verdicts import FORECAST_SIZE, LEAST_SHARE, least_needed

PACE, OVERHEAD = 2e-10, 1e-6  # seconds of an operation and of an evaluation besides, of a usual machine: not measured
OF_A_COORDINATE: Final = 20.0  # operations of a step besides
PROCESSORS: Final = 4  # that a usual machine has for the chains
MULTIPLE: Final = 5.0  # of what tuning and the draws of the first checks took, which a run may take if that is more
LONGER: Final = 8.0  # times the draws of an earlier look, over which draws must have become worth more
FAR: Final = 8.0  # times the draws there are, up to which a goal is near
NEAR: Final = 3.0  # times `LONGER`, near a goal
FEWEST: Final = 1600  # draws of all chains, below which a look tells nothing of later ones
NEAR_THE_END: Final = 2.0  # times what it may take, for a run that should end at its next look
MEMORY_SHARE: Final = 0.5  # of the memory, or the disk, that is free as a run begins, for its draws
NO_MEMORY: Final = (
    "more draws would fill more than half of the memory that was free, or, with `store=`, of the disk; `max_draws=` "
    "allows them"
)


def price(work: float | None, dimension: int, chains: int) -> float:
    """Seconds for which one evaluation of one of the chains counts, by its operations; the same on every machine.

    Where these are not known, as many are assumed as steps take besides.
    """
    return seconds(work, dimension) / min(chains, PROCESSORS)


def seconds(work: float | None, dimension: int) -> float:
    """Seconds of a processor for which an evaluation counts."""
    besides = OF_A_COORDINATE * dimension
    return OVERHEAD + PACE * (besides + (besides if work is None else work))


class Need(Record):
    """What a look found missing.

    `kind`: what is missing: "size", "rhat", "quantile", or another word; looks that missed the same are compared.
    `draws`: of each chain, that it saw.
    `times`: how many times as many would do, if they go on to be worth what they were; infinite where nobody can tell.
    `least`: of these, how many times as many it takes at least, as the first is an estimate.
    `known`: whether `times` can be believed.
    """

    kind: str
    draws: int
    times: float = math.inf
    least: float = math.inf
    known: bool = False

    @property
    def wanted(self) -> float:
        """Draws of each chain that should do; NaN where nobody can tell."""
        return self.times * self.draws if self.known else math.nan

    @property
    def at_least(self) -> float:
        """Draws of each chain that it takes at least; where nobody can tell, those there are."""
        return self.draws * max(1.0, self.least) if self.known else self.draws


def need_of(failure: Failure | None, draws: int, rule: StoppingRule) -> Need:
    """What so many draws of each chain miss; of a place that they have not come to, where nothing fails.

    Effective sizes grow as the draws do, and R-hat^2 - 1 falls as they grow.
    """
    if failure is None:
        return Need("place", draws)
    value, bound = failure.value, failure.bound
    match failure.criterion:
        case "bulk ess" | "tail ess" | "quantile ess":
            kind = "quantile" if failure.criterion == "quantile ess" else "size"
            if not value > 0:
                return Need(kind, draws)
            return Need(kind, draws, bound / value, least_needed(1, value, bound), value >= FORECAST_SIZE)
        case "rhat" | "rhat excess":
            largest = bound if failure.criterion == "rhat" else rule.target_rhat
            times = (failure.rhat**2 - 1.0) / (largest**2 - 1.0)
            return Need("rhat", draws, times, LEAST_SHARE * times, times < FAR)
    return Need(failure.criterion, draws)


def never(needs: Sequence[Need], chains: int) -> str:
    """In words, that more draws will hardly do, by the last of some looks and one at far fewer draws; or empty.

    What chains that come to all places are worth grows as their draws do; that of chains that are stuck, or walk on a
    plain, stays what it was. In between lies the square root.
    """
    last = needs[-1]
    lasting = math.isinf(last.times)  # what has no measure is compared with whatever was missing before
    longer = LONGER if last.times > FAR else NEAR * LONGER
    early = [n for n in needs if longer * n.draws <= last.draws and n.draws * chains >= FEWEST]
    early = [n for n in early if lasting or n.kind == last.kind]
    if not early or (not lasting and last.times * math.sqrt(last.draws / early[-1].draws) <= early[-1].times):
        return ""
    return f"hardly better after {last.draws} draws than after {early[-1].draws}, so more draws will hardly help"


def affordable_draws(bytes_per_draw: int, folder: Path | None = None) -> int:
    """Draws for which there is room now, by `MEMORY_SHARE`: in memory, or on the disk of a folder.

    A number beyond all where the system does not tell. A folder that is gone takes none: draws then stay in memory.
    """
    free = _free_memory()
    if folder is not None:
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(folder).free
    return int(MEMORY_SHARE * free / bytes_per_draw)


def _free_memory() -> float:
    """Bytes of memory that can be had without swapping, as Linux tells; elsewhere those of the whole machine."""
    try:
        with open("/proc/meminfo", encoding="utf-8") as lines:
            return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        except (AttributeError, ValueError, OSError):
            return 2.0**62
