"""Sums of regression trees as a step method: trees are renewed one by one, given all others and all other variables.

The log density of the sums at the rows enters, as that of any block. Where it is quadratic in them the leaves are
integrated out exactly; elsewhere a quadratic around a point that was learnt while tuning proposes, and the density
itself decides. Covariates and prior come with the block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from consilience.errors import SamplingError
from consilience.inference.backfitting import approximate, beginning, damp, renew
from consilience.inference.bart_state import BARTInfo, BARTScratch, BARTState, TreePrior, new_trees
from consilience.inference.block import Block, Needs
from consilience.inference.columns import Role
from consilience.inference.density import Density, evaluate, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Kernel
from consilience.inference.point import Point, start
from consilience.inference.streams import BACKFITTING, purpose_key
from consilience.inference.tree_probit import means_are_finite
from consilience.inference.tree_scales import draw_precision
from consilience.inference.tree_weights import cumulate, draw_weights
from consilience.inference.trees import (
    LEAF,
    LEVELS,
    MOST_LEAVES,
    OPTIONS,
    SLOTS,
    TreeRows,
    place_rows,
    rounded,
    words_of_leaf,
    write_trees,
)
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import float_bits, sqrt
from consilience.native.typed_python import boolean, native

PROBES = 8
"""Directions along which gradients tell the curvature where rows meet."""


@native(rare=True)
def start_bart(point: Point, state: BARTState, scratch: BARTScratch, density: Density, info: BARTInfo) -> boolean:
    """Evaluate the starting point, which is that of the trees."""
    if not state.begun:
        for i in range(point.dimension):
            point.position[i] = scratch.offset
            state.anchor[i] = scratch.offset
    if scratch.latent:
        return means_are_finite(point, scratch, density)
    return start(point, density)


@native
def settle_rows(point: Point, state: BARTState, scratch: BARTScratch) -> None:
    """Find the leaves of all rows, and count the nodes."""
    rows = scratch.rows
    rows.used = 1
    for tree in range(scratch.count * scratch.ensembles):
        place_rows(rows, state.trees, tree)
        for node in range(state.trees.high[tree]):
            column = state.trees.variable[tree * SLOTS + node]
            if column == LEAF:
                rows.used += words_of_leaf(rows)
            elif column >= 0:
                rows.used += 1
    if scratch.sparse:
        cumulate(rows, state.levels, rows.cumulative)
    scratch.ready = True


@native
def step_bart(point: Point, state: BARTState, scratch: BARTScratch, density: Density, info: BARTInfo) -> boolean:
    """Renew all trees, one after the other."""
    if stopped(density):
        return False
    rows = scratch.rows
    if not scratch.ready:
        settle_rows(point, state, scratch)
    if not state.begun:
        for i in range(point.dimension):
            point.position[i] = scratch.offset
            state.anchor[i] = scratch.offset
        state.begun = True
        if not scratch.latent:
            point.logp = evaluate(density, point.position, point.gradient)
    rows.key = purpose_key(point.key, BACKFITTING)
    rows.transition = point.transition
    rows.block = 0
    rows.precision = state.learnt[1]
    info.changed = 0
    info.accepted = 0.0
    begins = beginning(point, state)
    if begins:
        copy(point.position, state.anchor, point.dimension)
    for ensemble in range(scratch.ensembles):
        if approximate(point, state, scratch, density, ensemble):
            if scratch.quadratic:  # each tree adds its own part
                size = rows.outputs * rows.rows
                for i in range(ensemble * size, (ensemble + 1) * size):
                    point.position[i] = scratch.offset
            for tree in range(ensemble * scratch.count, (ensemble + 1) * scratch.count):
                renew(point, state, scratch, density, info, tree, ensemble)
    count = scratch.count * scratch.ensembles
    if scratch.leaves_learnt:
        state.learnt[1] = draw_precision(rows, state.trees, count, scratch.usual)
    if scratch.sparse and 2 * point.transition >= state.tune:  # the function is found first
        draw_weights(rows, state.trees, count, state.levels, state.learnt)
    info.spread = 1.0 / sqrt(state.learnt[1])
    info.accepted /= float(scratch.count * scratch.ensembles)
    damp(scratch, state.learnt, info.accepted, begins)
    info.leaves = 0
    at = 1
    scratch.words[0] = float_bits(rounded(scratch.offset))
    for ensemble in range(scratch.ensembles):
        at = write_trees(rows, state.trees, ensemble * scratch.count, scratch.count, scratch.words, at)
    for k in range(at, rows.room):
        scratch.words[k] = 0
    for tree in range(scratch.count * scratch.ensembles):
        for node in range(state.trees.high[tree]):
            if state.trees.variable[tree * SLOTS + node] == LEAF:
                info.leaves += 1
    if point.transition < state.tune and not scratch.quadratic:
        share = max(0.02, 2.0 / float(point.transition + 2))
        for i in range(point.dimension):
            state.anchor[i] += share * (point.position[i] - state.anchor[i])
    point.transition += 1
    return True


class BARTStep(Kernel):
    """Metropolis steps with backfitting for sums of regression trees, `pm.BART`; `pm.sample` chooses it.

    vars: The variable to work on, one made by `pm.BART`.
    compiled: A compiled density to use in place of the model's own.
    words (int): Room for the trees of a draw; `pm.sample` finds out.
    latent (bool): True where the data are signs of normals whose means are linear in the trees (probit), which are
        then drawn in turn with the trees; `pm.sample` finds out.
    See NUTS: Moves all other variables in turn with it.
    References: Chipman, George, McCulloch: BART: Bayesian Additive Regression Trees (2010).
    >>> issubclass(pm.BARTStep, pm.Kernel)
    True
    """

    words: int = 0
    latent: bool = False

    Info: ClassVar[type[Any]] = BARTInfo
    start: ClassVar[Any] = start_bart
    step: ClassVar[Any] = step_bart
    roles: ClassVar[Mapping[Role, str]] = {}
    trees: ClassVar[bool] = True

    @property
    def needs(self) -> Needs:  # type: ignore[override]  # which it is depends on the variable
        """Means of latent normals where there are any."""
        return "normals" if self.latent else "gradient"

    @property
    def written(self) -> tuple[str, int]:
        """Name and length of the trees among the statistics."""
        return f"{self.vars[0].replace('::', '_')}_trees" if self.vars else "trees", self.words

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> BARTState:
        """See `Kernel.state`."""
        prior = self._prior(block)
        count = prior.trees * prior.ensembles
        columns = len(prior.cumulative)
        learnt = np.array([float(columns), prior.scale**-2, 1.0])
        levels = np.full(columns, -np.log(columns))
        trees = new_trees(count, prior.outputs, prior.lines > 0)
        return BARTState(trees, vectors.vector(), levels, learnt, False, tune)

    def scratch(self, block: Block, point: Point, state: BARTState, density: Density, vectors: Vectors) -> BARTScratch:
        """See `Kernel.scratch`."""
        prior = self._prior(block)
        columns, n = prior.codes.shape
        width = 1 + 2 * prior.outputs
        most = MOST_LEAVES * width
        every = np.arange(n + 1)
        rows = TreeRows(
            rows=n,
            columns=columns,
            outputs=prior.outputs,
            codes=prior.codes.reshape(-1),
            kinds=prior.kinds,
            levels=prior.levels,
            missing=prior.missing,
            cumulative=prior.cumulative.copy(),
            leaning=prior.cumulative.copy(),
            cuts=prior.cuts.reshape(-1),
            alpha=prior.alpha,
            beta=prior.beta,
            precision=prior.scale**-2,
            lines=prior.lines,
            standard=prior.standard.reshape(-1),
            moments=np.zeros(3 * SLOTS * prior.outputs if prior.lines else 1),
            proposed=np.zeros(columns),
            orders=prior.orders,
            ordered=bool(prior.orders.any()),
            fewest=prior.fewest,
            places=np.zeros(prior.trees * prior.ensembles * n, np.int8),
            curvature=vectors.vector(),
            score=vectors.vector(),
            alike=0.0,
            sums=np.zeros(SLOTS * width),
            table=np.zeros(LEVELS * most),
            parts=np.zeros(most * OPTIONS),
            exponents=np.zeros(OPTIONS),
            chances=np.zeros(OPTIONS),
            whole=np.zeros(width),
            number=np.zeros(SLOTS, np.int64),
            leaves=np.zeros(SLOTS, np.int64),
            middle=0,
            **{name: np.zeros(SLOTS, np.int64) for name in ("kind_at", "begin_at", "bits_at", "aside_at", "child_at")},
            lefts=np.zeros(n + 1, np.int8),
            rights=np.zeros(n + 1, np.int8),
            chosen=np.zeros(SLOTS + 1, np.int64),
            members=every,
            every=every,
            some=np.zeros(n + 1, np.int64),
            count=0,
            low=0,
            high=0,
            mask=0,
            used=0,
            room=prior.words,
            key=0,
            transition=0,
            block=0,
        )
        position, gradient, curvature, score = (vectors.vector() for _ in range(4))
        kept, tried = (new_trees(1, prior.outputs, prior.lines > 0) for _ in range(2))
        return BARTScratch(
            rows, False, prior.trees, prior.ensembles, float(rounded(prior.offset)), prior.scale**-2,
            prior.quadratic or self.latent, self.latent, np.zeros(2 * n * prior.ensembles * prior.outputs), prior.kinks,
            1 if prior.apart else PROBES, position, gradient, prior.sparse, prior.learnt, kept, tried,
            np.zeros(n, np.int8), np.zeros(n if prior.lines else 1, np.int8), curvature, score,
            np.zeros(max(self.words, prior.words), np.int64),
        )  # fmt: skip

    def rekey(self, scratch: BARTScratch, key: int) -> None:
        """The chain has other trees now; see `Kernel.rekey`."""
        scratch.ready = False

    def _prior(self, block: Block) -> TreePrior:
        if not isinstance(block.prior, TreePrior):
            raise SamplingError(
                f"BARTStep moves one variable made by pm.BART; {', '.join(f'`{n}`' for n in block.names)} is none. "
                "Leave `step=` out, and each variable gets a method that fits."
            )
        return block.prior
