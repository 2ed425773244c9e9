"""Two sets of draws of one posterior, scalar by scalar: how far apart they are, in standard errors of both.

Draws enter; scores of location, spread and both tails leave, with the smallest errors that they would have shown.
Scores are of ranks among all draws, so that heavy tails do no harm: location is the mean of normal scores, in
standard deviations, spread that of folded ones, tails are the shares of draws beyond the 5 and 95 % quantiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from consilience.diagnostics.effective_sample_size import effective_size
from consilience.record import Record

Floats = npt.NDArray[np.float64]
STATISTICS: Final = ("location", "spread", "lower tail", "upper tail")
TAIL: Final = 0.05
LEVEL: Final = 0.001  # probability that one attack finds a difference between draws of one posterior
AGAIN: Final = 3.0  # standard errors by which a second set has to differ too
POWER: Final = float(special.ndtri(0.95))
MATERIAL: Final = 0.1  # of a statistic's own deviation; smaller differences don't matter
MANY: Final = 16  # groups from which on each scalar's own variance between groups is known


class Comparison(Record, eq=False):
    """Differences (statistic, scalar) of the other draws from the claim's.

    `shift`: in standard deviations of the statistic. `error`: its standard error. `critical`: scores (shift / error)
    that are found by chance with the probability `LEVEL` among all of them.
    """

    names: Sequence[str]
    shift: Floats
    error: Floats
    critical: float

    @property
    def score(self) -> Floats:
        """Shifts in standard errors."""
        return np.asarray(self.shift / self.error)

    @property
    def differing(self) -> npt.NDArray[np.bool_]:
        """Where they differ by more than chance and by more than a tenth of a deviation."""
        return np.asarray((np.abs(self.score) > self.critical) & (np.abs(self.shift) > MATERIAL))

    def confirmed(self, second: Comparison) -> npt.NDArray[np.bool_]:
        """Where a second set of draws differs too, in the same direction."""
        same = np.sign(second.shift) == np.sign(self.shift)
        return np.asarray(self.differing & same & (np.abs(second.score) > AGAIN) & (np.abs(second.shift) > MATERIAL))

    @property
    def detectable(self) -> Floats:
        """The shift of each mean, in standard deviations, that would have been found with a probability of 95 %."""
        return np.asarray(np.maximum((self.critical + POWER) * self.error[0], MATERIAL))

    def smallest(self) -> str:
        """The same in words, of the median and the worst scalar."""
        needed = self.detectable
        worst = int(np.argmax(needed))
        typical = f"a mean off by {np.median(needed):.2g} sd"
        return f"{typical} (`{self.names[worst]}`: {needed[worst]:.2g} sd)" if len(needed) > 1 else typical

    def nearest(self) -> str:
        """In words, the largest difference, where it is one by chance."""
        kind, scalar = map(int, np.unravel_index(int(np.argmax(np.abs(self.score))), self.score.shape))
        return (
            f"at most {abs(self.score[kind, scalar]):.1f} standard errors, where {self.critical:.1f} would count "
            f"({STATISTICS[kind]} of `{self.names[scalar]}`)"
        )

    def words(self, where: npt.NDArray[np.bool_], claimed: Floats, other: Floats) -> str:
        """The largest difference among those at `where`, on the scalar's own scale.

        `claimed`, `other`: draws (scalar, group, draw).
        """
        score = np.where(where, np.abs(self.score), 0.0)
        kind, scalar = map(int, np.unravel_index(int(np.argmax(score)), score.shape))
        name, a, b = self.names[scalar], claimed[scalar].ravel(), other[scalar].ravel()
        said = f"`{name}` {self.score[kind, scalar]:+.1f} standard errors off in {STATISTICS[kind]}: "
        match STATISTICS[kind]:
            case "location":
                said += f"mean {b.mean():.3g} where the draws have {a.mean():.3g}, sd {a.std():.3g}"
            case "spread":
                (a0, a1), (b0, b1) = (np.quantile(x, (TAIL, 1.0 - TAIL)) for x in (a, b))
                said += f"90 % lie from {b0:.3g} to {b1:.3g}, of the draws from {a0:.3g} to {a1:.3g}"
            case "lower tail":
                edge = np.quantile(b, TAIL)
                said += f"{TAIL:.0%} lie below {edge:.3g}, of the draws {np.mean(a < edge):.2g}"
            case _:
                edge = np.quantile(b, 1.0 - TAIL)
                said += f"{TAIL:.0%} lie above {edge:.3g}, of the draws {np.mean(a > edge):.2g}"
        others = int(where.any(axis=0).sum()) - 1
        return said + (f"; and {others} more" if others else "")


def compared(names: Sequence[str], claimed: Floats, other: Floats) -> Comparison:
    """Draws (scalar, chain, draw) of a claim against those (scalar, group, draw) of groups that know nothing of
    each other."""
    used = [k for k in range(len(names)) if np.ptp(claimed[k]) > 0.0 or np.ptp(other[k]) > 0.0]
    count, groups = len(used), other.shape[1]
    shift, error = np.empty((4, count)), np.empty((4, count))
    inflation = np.empty((4, count))
    for place, k in enumerate(used):
        ours, theirs = _scores(claimed[k], other[k])
        deviation = np.sqrt([1.0, 1.0, TAIL * (1.0 - TAIL), TAIL * (1.0 - TAIL)])[:, None, None]
        ours, theirs = ours / deviation, theirs / deviation
        shift[:, place] = theirs.mean(axis=(1, 2)) - ours.mean(axis=(1, 2))
        error[:, place] = _own_variance(ours)
        between = theirs.mean(axis=2).var(axis=1, ddof=1)
        inflation[:, place] = between * theirs.shape[2] / np.maximum(theirs.var(axis=(1, 2)), 1.0)
    if groups < MANY:  # few groups tell each variance badly, and all scalars together the usual one
        inflation = np.maximum(inflation, np.maximum(1.0, inflation.mean()))
    error = np.sqrt(error + np.maximum(inflation, 1.0 / other.shape[2]) / (groups * other.shape[2]))
    tests = 2 * shift.size
    critical = stats.t.isf(LEVEL / tests, groups - 1) if groups >= MANY else stats.norm.isf(LEVEL / tests)
    return Comparison([names[k] for k in used], shift, error, float(critical))


def _scores(ours: Floats, theirs: Floats) -> tuple[Floats, Floats]:
    """The four statistics of draws (group, draw), (4, group, draw) of each."""
    pooled = np.concatenate([ours.ravel(), theirs.ravel()])
    total = len(pooled)
    scores = special.ndtri((stats.rankdata(pooled) - 0.375) / (total + 0.25))
    folded = special.ndtri((stats.rankdata(np.abs(scores)) - 0.375) / (total + 0.25))
    edge = special.ndtri(1.0 - TAIL)
    found = np.stack([scores, folded, scores < -edge, scores > edge])
    return found[:, : ours.size].reshape(4, *ours.shape), found[:, ours.size :].reshape(4, *theirs.shape)


def _own_variance(scores: Floats) -> Floats:
    """Variance of the mean of each of (statistic, chain, draw), by effective draws; chains count as two halves."""
    kinds, chains, draws = scores.shape
    half = draws // 2
    halves = scores[:, :, : 2 * half].reshape(kinds, 2 * chains, half)
    with np.errstate(invalid="ignore"):  # of scores that are the same in all draws
        sizes = np.minimum(np.nan_to_num(effective_size(halves), nan=float(chains * draws)), chains * draws)
    # A tail that the draws hardly came to doesn't tell how well it is known.
    sizes[2:] = np.minimum(sizes[2:], sizes[0])
    return np.asarray(np.maximum(halves.var(axis=(1, 2)), 1.0) / np.maximum(sizes, 1.0))
