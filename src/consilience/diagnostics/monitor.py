"""The convergence monitor: the draws of a run while it goes on, and whether they suffice.

When to check, and what follows, is decided elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.diagnostics import superchains as nested
from consilience.diagnostics.compiled.columns import COLUMNS, WIDTH
from consilience.diagnostics.compiled.library import FEWEST_DRAWS, MOST_DRAWS, Pass
from consilience.diagnostics.measurement import of_ranges
from consilience.diagnostics.sample import FloatArray
from consilience.diagnostics.stopping_rule import Failure, Figures, StoppingRule, failure_of, first_missed
from consilience.errors import ShapeError

IndexArray = npt.NDArray[np.int64]
Block = Sequence[npt.NDArray[Any]] | npt.NDArray[Any]
"""Draws of each chain, (draw, scalar), all as many; or an array (chain, draw, scalar)."""

FIRST_EXAMINED = 4  # scalars
GROWTH = 8  # so many times as many are next, if none of them fails
THINNED = 50  # draws of each chain, in which disagreement is sought first
CLEARLY_SMALL = 0.5  # of what the bound on R-hat^2 - 1 allows, in thinned draws


class ConvergenceMonitor:
    """The draws of a run so far, and whether they suffice.

    `chains`, `scalars`: how many of each. `superchains`: how many there are; 0: chains are judged one by one. See
    `superchains.nested_rhat`. `count`: draws per chain so far. `nearness`: float64[scalars]: how near each one was to
    failing when last examined (above 1: it failed), NaN before that. It decides which scalars are examined first.

    Draws are read where they lie: a block of scalars is copied while it is examined, half a MiB per thread. Figures are
    functions of the draws alone, in every bit; so is whether all scalars pass. Which of several failing scalars is
    named depends on what failed before, and on nothing else.

    Raises ShapeError if `chains` is not positive, or `scalars` is negative.
    """

    def __init__(self, chains: int, scalars: int, superchains: int = 0) -> None:
        if chains < 1 or scalars < 0:
            raise ShapeError(
                "a convergence monitor needs at least one chain, and a number of scalars that is not negative; "
                f"{chains} and {scalars} came"
            )
        self.chains = chains
        self.scalars = scalars
        self.superchains = superchains
        self.count = 0
        self.nearness: FloatArray = np.full(scalars, math.nan)
        self._blocks: list[tuple[int, tuple[Block, ...]]] = []  # by their first draws, one for each group of scalars
        self._table: FloatArray = np.full((scalars, WIDTH), math.nan)
        self._examined: IndexArray = np.zeros(scalars, np.int64)  # of how many draws per chain the table tells

    def extend(self, *groups: Block) -> None:
        """Take the next draws, as many of each chain: groups of scalars, side by side in the order of scalars.

        A group holds an array (draw, scalar) of real numbers for each chain, or is an array (chain, draw, scalar). They
        are read where they lie, in any memory layout, so they must stay as they are. Every call needs the same groups.

        Raises ShapeError for other numbers of chains or scalars, or draws that are too many for their positions;
        TypeError for elements that are no real numbers.
        """
        shapes = [
            [group.shape[1:]] * len(group) if isinstance(group, np.ndarray) else [own.shape for own in group]
            for group in groups
        ]
        length = shapes[0][0][0] if shapes and shapes[0] and shapes[0][0] else 0
        fits = all(len(group) == self.chains for group in groups)
        fits = fits and all(len(s) == 2 and s[0] == length and s == own[0] for own in shapes for s in own)
        widths = [own[0][1] for own in shapes] if fits else []
        before = [group[0].shape[1] for group in self._blocks[0][1]] if self._blocks else widths
        if not fits or sum(widths) != self.scalars or widths != before:
            raise ShapeError(
                f"draws need the shape (draw, scalar) for each of {self.chains} chains, with {self.scalars} scalars in "
                f"all groups{f', {before} of them,' if self._blocks else ''}; {shapes} came"
            )
        if (self.count + length) * self.chains > MOST_DRAWS:
            raise ShapeError(
                f"{self.count + length} draws of {self.chains} chains are more than the {MOST_DRAWS} that convergence "
                "can be checked on; thin the draws"
            )
        for own in (own for group in groups for own in group):
            if own.dtype.kind not in "biuf":
                raise TypeError(f"draws need to be real numbers or booleans; their element type is {own.dtype}")
        if length:
            self._blocks.append((self.count, groups))
            self.count += length

    def check(self, rule: StoppingRule, *, everything: bool = False) -> Failure | None:
        """A scalar that fails, or None if all pass.

        Scalars are examined from those nearest to failing to those farthest from it: first 4, then 32, 256 and so on,
        until there is one that fails among them; the one that fails worst is named. With `everything` all are
        examined at once, and the worst of all is named. A scalar passes when

        * its draws are finite and not all equal;
        * its effective sizes, of the bulk and both tails, are at least `target_ess`, if that is asked;
        * its R-hat is not large, see `stopping_rule.rhat_is_large`.

        With one chain its two halves are compared.
        """
        if not self.scalars:
            return None
        if self.count < FEWEST_DRAWS:
            if rule.target_ess is None:
                return Failure(0, "rhat", math.nan, rule.largest_rhat)
            return Failure(0, "bulk ess", math.nan, rule.target_ess)
        order = np.argsort(-np.where(np.isnan(self.nearness), 1.0, self.nearness), kind="stable")
        native = Pass(self.chains, self.count)
        begin, size = 0, self.scalars if everything else FIRST_EXAMINED
        while begin < self.scalars:
            some = np.sort(order[begin : begin + size])
            figures = self._examine(native, some, rule.target_rhat)
            compared = self.superchains or self.chains
            criteria, nearness = first_missed(figures, rule, compared, self.scalars)
            self.nearness[some] = nearness
            if (criteria >= 0).any():
                worst = int(np.argmax(np.where(criteria >= 0, nearness, -np.inf)))
                scalar = int(some[worst])
                return failure_of(figures, worst, int(criteria[worst]), scalar, rule, compared, self.scalars)
            begin, size = begin + size, GROWTH * size
        return None

    def nearest_to_failing(self) -> tuple[int, float, float]:
        """Of the scalars examined in the last check, that in the worst state, its R-hat and smaller effective size."""
        examined = np.where(self._examined == self.count, self.nearness, -np.inf)
        if not self.scalars or not self.count or np.isneginf(examined).all():
            return 0, math.nan, math.nan
        scalar = int(np.argmax(examined))
        figures = Figures.of_table(self._table[[scalar]])
        return scalar, float(figures.r_hat[0]), float(np.fmin(figures.ess_bulk, figures.ess_tail)[0])

    def worst_states(self, number: int) -> tuple[list[int], Figures]:
        """Of the scalars examined in the last check so many in the worst states, the worst first, with figures."""
        examined = np.flatnonzero(self._examined == self.count) if self.count else np.zeros(0, np.int64)
        order = np.argsort(-np.nan_to_num(self.nearness[examined], nan=-np.inf), kind="stable")[:number]
        return examined[order].tolist(), Figures.of_table(self._table[examined[order]])

    def measure(self, scalars: Sequence[int] | npt.NDArray[np.integer[Any]] | None = None) -> Figures:
        """Figures of some scalars, in their sequence, or of all; NaN for draws that are not finite, or below four."""
        wanted = np.arange(self.scalars) if scalars is None else np.array(scalars, np.int64).reshape(-1)
        if len(wanted) and (wanted.min() < 0 or wanted.max() >= self.scalars):
            raise IndexError(f"scalars are numbered 0 to {self.scalars - 1}; {wanted.tolist()[:10]} came")
        if self.count < FEWEST_DRAWS:
            return Figures.of_table(np.full((len(wanted), WIDTH), math.nan))
        distinct, places = np.unique(wanted, return_inverse=True)
        return Figures.of_table(self._by_all_processors(Pass(self.chains, self.count), distinct)[places])

    def disagreeing(self, rhat: float) -> list[int]:
        """Scalars whose R-hat is above `rhat`: chains are in different places, or some are wider than others.

        R-hat of at most 50 evenly spread draws of each chain is looked at first; where R-hat^2 - 1 is below half of
        what `rhat` allows, the scalar is left out. Empty with one chain, or with fewer than four draws.
        """
        if self.chains == 1 or self.count < FEWEST_DRAWS or not self.scalars:
            return []
        some = np.arange(self.scalars)
        if not (self._examined == self.count).all() and self.count > THINNED:
            places = (2 * np.arange(THINNED) + 1) * self.count // (2 * THINNED)
            thinned = Figures.of_table(self._by_all_processors(Pass(self.chains, THINNED), some, places)).r_hat
            some = some[thinned**2 - 1.0 > CLEARLY_SMALL * (rhat**2 - 1.0)]
        known = self._examined[some] == self.count
        found = np.empty(len(some))
        found[known] = self._table[some[known], COLUMNS.index("r_hat")]
        if not known.all():
            found[~known] = self.measure(some[~known]).r_hat
        disagreeing: list[int] = some[found > rhat].tolist()
        return disagreeing

    def mixing_alone(self, scalars: Sequence[int], size: float) -> list[int]:
        """Those of some scalars of which every chain, or superchain, alone is worth `size` draws of the bulk."""
        return [scalar for scalar in scalars if (self.chain_sizes(scalar) >= size).all()]

    def chain_sizes(self, scalar: int) -> FloatArray:
        """Bulk effective size of each chain, or superchain, alone; NaN where draws are not finite or below four."""
        compared = self.superchains or self.chains
        if self.count < FEWEST_DRAWS:
            return np.full(compared, math.nan)
        own = self.chains // compared
        alone = np.ascontiguousarray(self.draws(scalar)[: compared * own].reshape(compared, own, self.count))
        return Figures.of_table(Pass(own, self.count).table(alone, ["ranks"])).ess_bulk

    def draws(self, scalar: int) -> FloatArray:
        """All draws of a scalar so far, (chain, draw)."""
        found: FloatArray = self._gather(np.array([scalar]))[0]
        return found

    def _examine(self, native: Pass, scalars: IndexArray, target_rhat: float) -> Figures:
        """Figures of some scalars in ascending order, which are kept."""
        table = self._by_all_processors(native, scalars, target_rhat=target_rhat)
        self._table[scalars] = table
        self._examined[scalars] = self.count
        return Figures.of_table(table)

    def _gather(self, scalars: IndexArray, places: IndexArray | None = None) -> FloatArray:
        """Draws (scalar, chain, draw) of scalars in ascending order; all draws, or those at `places`."""
        found = np.empty((len(scalars), self.chains, self.count if places is None else len(places)))
        begin = 0
        for number, group in enumerate(self._blocks[0][1] if self._blocks else ()):
            end = begin + group[0].shape[1]
            here = slice(*np.searchsorted(scalars, [begin, end]).tolist())
            own = scalars[here] - begin
            begin = end
            if not len(own):
                continue
            columns, scattered = slice(int(own[0]), int(own[-1]) + 1), own[-1] - own[0] >= len(own)
            own -= own[0]
            for first, groups in self._blocks:
                length = groups[number][0].shape[0]
                target = slice(first, first + length)
                if places is not None:
                    target = slice(*np.searchsorted(places, [first, first + length]).tolist())
                    rows = places[target] - first
                group = groups[number]
                if isinstance(group, np.ndarray):
                    joint = group[:, :, columns]
                    if places is not None:
                        joint = joint.take(rows, axis=1)
                    found[here, :, target] = (joint.take(own, axis=2) if scattered else joint).transpose(2, 0, 1)
                    continue
                for chain, source in enumerate(group):
                    part = source[:, columns]  # a view of neighbours
                    if places is not None:
                        part = part.take(rows, axis=0)
                    found[here, chain, target] = (part.take(own, axis=1) if scattered else part).T
        return found

    def _by_all_processors(
        self, native: Pass, scalars: IndexArray, places: IndexArray | None = None, target_rhat: float = 1.01
    ) -> FloatArray:
        """The table of some scalars in ascending order, of all draws or those at `places`."""

        def of_range(here: range) -> FloatArray:
            draws = self._gather(scalars[here.start : here.stop], places)
            table = native.table(draws, ["ranks"], target_rhat=target_rhat)
            if self.superchains:
                nested.replace(table, draws, self.superchains, target_rhat)
            return table

        return np.concatenate(of_ranges(len(scalars), native.chains * native.draws, of_range))
