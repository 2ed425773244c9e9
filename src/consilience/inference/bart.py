"""Sums of regression trees as a step method: trees are renewed one by one, given all others and all other variables.

The log density of the sums at the rows enters, as that of any block. Where it is quadratic in them the leaves are
integrated out exactly; elsewhere a quadratic around a point that was learnt while tuning proposes, and the density
itself decides. Covariates and prior come with the block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.block import Block
from consilience.inference.columns import Role
from consilience.inference.density import Density, evaluate, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Kernel
from consilience.inference.point import Point, start
from consilience.inference.streams import BACKFITTING, purpose_key
from consilience.inference.tree_moves import change, draw_leaves, grow, lift, prune
from consilience.inference.trees import (
    LEAF,
    LEVELS,
    MOST_LEAVES,
    OPTIONS,
    SLOTS,
    UNUSED,
    TreeRows,
    Trees,
    place_rows,
    rounded,
    toss,
    write_trees,
)
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import float_bits, inf, log
from consilience.native.random import random_uniform
from consilience.native.typed_python import Array, boolean, f64, i8, i64, native, record
from consilience.record import Record

PROBES = 8
MOVES = 3
"""Of each tree in one sweep."""


class TreePrior(Record, eq=False):
    """What the sums of trees of a variable are made of: `Block.prior` of a variable that `BARTStep` moves.

    Parameters
    ----------
    codes : ndarray
        Values of the covariates as whole numbers, int8 (column, row); see `trees.TreeRows`.
    kinds, levels, missing : ndarray
        Of each column, int64 (column,).
    cumulative : ndarray
        Cumulated prior probabilities of columns, float64 (column,).
    cuts : ndarray
        Between which values cuts lie, float64 (column, LEVELS).
    trees : int
        Number of trees of one sum.
    ensembles, outputs : int
        Sums with trees of their own, and sums that share the trees of each; the variable has the rows of all.
    alpha, beta : float
        Of the prior of their depth.
    offset : float
        Mean of the sum.
    scale : float
        Standard deviation of a leaf.
    fewest : int
        TreeRows of a leaf.
    quadratic : bool
        Whether the log density is quadratic in each row's sum, and rows do not meet.
    apart : bool
        Whether rows do not meet.
    """

    codes: NDArray[np.int8]
    kinds: NDArray[np.int64]
    levels: NDArray[np.int64]
    missing: NDArray[np.int64]
    cumulative: NDArray[np.float64]
    cuts: NDArray[np.float64]
    trees: int
    ensembles: int
    outputs: int
    alpha: float
    beta: float
    offset: float
    scale: float
    fewest: int = 1
    quadratic: bool = False
    apart: bool = True

    @property
    def words(self) -> int:
        """Room for all trees of one draw when they are written; see `trees.write_trees`."""
        return 1 + self.ensembles * max(20 * self.trees, 400) * (1 + self.outputs) // 2


@record
class BARTInfo:
    """What happened in one sweep over all trees.

    Attributes
    ----------
    changed : i64
        Changes of trees that were accepted.
    leaves : i64
        Number of leaves of all trees.
    accepted : f64
        Share of the trees whose new leaves the density accepted; 1 where it is quadratic in the sums.
    """

    changed: i64
    leaves: i64
    accepted: f64


@record
class BARTState:
    """What a chain remembers: its trees, the point around which the density is approximated, whether it has begun."""

    trees: Trees
    anchor: Array[f64]
    begun: boolean
    tune: i64


@record
class BARTScratch:
    """Covariates, and memory of a sweep.

    Attributes
    ----------
    rows : TreeRows
        Covariates and prior, and memory of a move.
    ready : boolean
        Whether the leaf of each row is known.
    count, ensembles : i64
        Trees of a sum; sums with trees of their own.
    offset : f64
        Mean of the sum.
    quadratic : boolean
        See `TreePrior`.
    probes : i64
        Directions along which gradients tell the curvature: one is enough where rows do not meet.
    position, gradient : Array
        A point looked at and its slopes, f64[dimension].
    kept : Trees
        The tree as it was.
    kept_places : Array
        Its leaves, i8[row].
    curvature, score : Array
        Of all sums, f64[dimension].
    words : Array
        All trees as they are written, i64[words].
    """

    rows: TreeRows
    ready: boolean
    count: i64
    ensembles: i64
    offset: f64
    quadratic: boolean
    probes: i64
    position: Array[f64]
    gradient: Array[f64]
    kept: Trees
    kept_places: Array[i8]
    curvature: Array[f64]
    score: Array[f64]
    words: Array[i64]


@native(rare=True)
def start_bart(point: Point, state: BARTState, scratch: BARTScratch, density: Density, info: BARTInfo) -> boolean:
    """Evaluate the starting point, which is that of the trees."""
    if not state.begun:
        for i in range(point.dimension):
            point.position[i] = scratch.offset
            state.anchor[i] = scratch.offset
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
                rows.used += rows.outputs
            elif column >= 0:
                rows.used += 1
    scratch.ready = True


@native
def sign_of(probe: i64, row: i64) -> f64:
    """1 or -1 at random; 1 for a negative number of the probe."""
    if probe < 0:
        return 1.0
    return 1.0 if random_uniform(probe, row) < 0.5 else -1.0


@native
def approximate(point: Point, state: BARTState, scratch: BARTScratch, density: Density, ensemble: i64) -> boolean:
    """Slope and curvature of the density at the rows of one ensemble; False where there are none.

    Where it is quadratic two gradients tell it: here, and one unit away. Elsewhere it is what a quadratic around the
    anchor says of the place where the chain is. Where rows meet, directions with random signs tell the diagonal of the
    curvature alone; they are the same in every sweep.
    """
    rows = scratch.rows
    size = rows.outputs * rows.rows
    begin = ensemble * size
    step = 1.0 if scratch.quadratic else 1e-3
    width = step if scratch.quadratic else 2.0 * step
    around = point.position if scratch.quadratic else state.anchor
    for k in range(rows.outputs):
        first = begin + k * rows.rows
        copy(point.position, scratch.position, point.dimension)
        if not scratch.quadratic:
            for i in range(begin, begin + size):
                scratch.position[i] = around[i]
        for i in range(first, first + rows.rows):
            scratch.curvature[i] = 0.0
            scratch.score[i] = 0.0
        for probe in range(scratch.probes):
            for i in range(first, first + rows.rows):
                scratch.position[i] = around[i] + step * sign_of(probe if scratch.probes > 1 else -1, i)
            if evaluate(density, scratch.position, scratch.gradient) == -inf:
                return False
            for i in range(first, first + rows.rows):
                scratch.curvature[i] -= sign_of(probe if scratch.probes > 1 else -1, i) * scratch.gradient[i]
                scratch.score[i] += 0.0 if scratch.quadratic else 0.5 * scratch.gradient[i]
            for i in range(first, first + rows.rows):
                scratch.position[i] = around[i] - (
                    0.0 if scratch.quadratic else step * sign_of(probe if scratch.probes > 1 else -1, i)
                )
            if evaluate(density, scratch.position, scratch.gradient) == -inf:
                return False
            for i in range(first, first + rows.rows):
                scratch.curvature[i] += sign_of(probe if scratch.probes > 1 else -1, i) * scratch.gradient[i]
                scratch.score[i] += (1.0 if scratch.quadratic else 0.5) * scratch.gradient[i]
        for i in range(first, first + rows.rows):
            curvature = max(0.0, scratch.curvature[i] / (width * float(scratch.probes)))
            scratch.curvature[i] = curvature
            scratch.score[i] = scratch.score[i] / float(scratch.probes) - curvature * (point.position[i] - around[i])
    rows.curvature = scratch.curvature[begin:]
    rows.score = scratch.score[begin:]
    return True


@native
def keep(trees: Trees, scratch: BARTScratch, tree: i64) -> None:
    """Remember a tree and the leaves of its rows."""
    base = tree * SLOTS
    kept = scratch.kept
    high = trees.high[tree]
    kept.high[0] = high
    for node in range(high):
        kept.variable[node] = trees.variable[base + node]
        kept.cut[node] = trees.cut[base + node]
        kept.aside[node] = trees.aside[base + node]
        kept.parent[node] = trees.parent[base + node]
        kept.left[node] = trees.left[base + node]
    outputs = scratch.rows.outputs
    copy(trees.value[base * outputs :], kept.value, high * outputs)
    n = scratch.rows.rows
    places = scratch.rows.places[tree * n :]
    for i in range(n):
        scratch.kept_places[i] = places[i]


@native
def put_back(trees: Trees, scratch: BARTScratch, tree: i64) -> None:
    """Have a tree as it was remembered."""
    base = tree * SLOTS
    kept = scratch.kept
    for node in range(kept.high[0], trees.high[tree]):
        trees.variable[base + node] = UNUSED
    high = kept.high[0]
    trees.high[tree] = high
    for node in range(high):
        trees.variable[base + node] = kept.variable[node]
        trees.cut[base + node] = kept.cut[node]
        trees.aside[base + node] = kept.aside[node]
        trees.parent[base + node] = kept.parent[node]
        trees.left[base + node] = kept.left[node]
    outputs = scratch.rows.outputs
    copy(kept.value, trees.value[base * outputs :], high * outputs)
    n = scratch.rows.rows
    places = scratch.rows.places[tree * n :]
    for i in range(n):
        places[i] = scratch.kept_places[i]


@native
def renew(
    point: Point, state: BARTState, scratch: BARTScratch, density: Density, info: BARTInfo, tree: i64, ensemble: i64
) -> None:
    """One tree given all others."""
    rows = scratch.rows
    trees = state.trees
    n = rows.rows
    outputs = rows.outputs
    begin = ensemble * outputs * n
    base = tree * SLOTS
    if not scratch.quadratic:
        keep(trees, scratch, tree)
    used = rows.used
    changed = 0
    lift(rows, trees, tree)
    for _ in range(MOVES):
        u = toss(rows)
        if u < 0.15:
            changed += 1 if grow(rows, trees, tree) else 0
        elif u < 0.3:
            changed += 1 if prune(rows, trees, tree) else 0
        else:
            changed += 1 if change(rows, trees, tree, u < 0.6) else 0
    draw_leaves(rows, trees, tree)
    places = rows.places[tree * n :]
    if scratch.quadratic:
        for k in range(outputs):
            own = trees.value[base * outputs + k :]
            score = rows.score[k * n :]
            curvature = rows.curvature[k * n :]
            position = point.position[begin + k * n :]
            for i in range(n):
                new = own[i64(places[i]) * outputs]
                score[i] -= curvature[i] * new
                position[i] += new
        info.changed += changed
        info.accepted += 1.0
        return
    gain = 0.0  # of the quadratic
    for k in range(outputs):
        own = trees.value[base * outputs + k :]
        before = scratch.kept.value[k:]
        score = rows.score[k * n :]
        curvature = rows.curvature[k * n :]
        position = point.position[begin + k * n :]
        was = scratch.kept_places
        for i in range(n):
            old = before[i64(was[i]) * outputs]
            new = own[i64(places[i]) * outputs]
            move = new - old
            gain += move * (score[i] - curvature[i] * (old + 0.5 * move))
            score[i] -= curvature[i] * new
            position[i] += move
    level = evaluate(density, point.position, scratch.gradient)
    if log(toss(rows)) < level - point.logp - gain:
        point.logp = level
        info.changed += changed
        info.accepted += 1.0
        return
    for k in range(outputs):
        for i in range(n):
            old = scratch.kept.value[i64(scratch.kept_places[i]) * outputs + k]
            move = trees.value[(base + i64(places[i])) * outputs + k] - old
            rows.score[k * n + i] += rows.curvature[k * n + i] * move
            point.position[begin + k * n + i] -= move
    put_back(trees, scratch, tree)
    rows.used = used


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
        point.logp = evaluate(density, point.position, point.gradient)
    rows.key = purpose_key(point.key, BACKFITTING)
    rows.transition = point.transition
    rows.block = 0
    info.changed = 0
    info.accepted = 0.0
    for ensemble in range(scratch.ensembles):
        if approximate(point, state, scratch, density, ensemble):
            if scratch.quadratic:  # each tree adds its own part
                size = rows.outputs * rows.rows
                for i in range(ensemble * size, (ensemble + 1) * size):
                    point.position[i] = scratch.offset
            for tree in range(ensemble * scratch.count, (ensemble + 1) * scratch.count):
                renew(point, state, scratch, density, info, tree, ensemble)
    info.accepted /= float(scratch.count * scratch.ensembles)
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
    See NUTS: Moves all other variables in turn with it.
    References: Chipman, George, McCulloch: BART: Bayesian Additive Regression Trees (2010).
    >>> issubclass(pm.BARTStep, pm.Kernel)
    True
    """

    words: int = 0

    Info: ClassVar[type[Any]] = BARTInfo
    start: ClassVar[Any] = start_bart
    step: ClassVar[Any] = step_bart
    roles: ClassVar[Mapping[Role, str]] = {}

    @property
    def written(self) -> tuple[str, int]:
        """Name and length of the trees among the statistics."""
        return f"{self.vars[0].replace('::', '_')}_trees" if self.vars else "trees", self.words

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> BARTState:
        """See `Kernel.state`."""
        prior = self._prior(block)
        count = prior.trees * prior.ensembles
        return BARTState(new_trees(count, prior.outputs), vectors.vector(), False, tune)

    def scratch(self, block: Block, point: Point, state: BARTState, density: Density, vectors: Vectors) -> BARTScratch:
        """See `Kernel.scratch`."""
        prior = self._prior(block)
        columns, n = prior.codes.shape
        width = 1 + 2 * prior.outputs
        most = MOST_LEAVES * width
        rows = TreeRows(
            rows=n,
            columns=columns,
            outputs=prior.outputs,
            codes=prior.codes.reshape(-1),
            kinds=prior.kinds,
            levels=prior.levels,
            missing=prior.missing,
            cumulative=prior.cumulative,
            cuts=prior.cuts.reshape(-1),
            alpha=prior.alpha,
            beta=prior.beta,
            precision=prior.scale**-2,
            fewest=prior.fewest,
            places=np.zeros(prior.trees * prior.ensembles * n, np.int8),
            curvature=vectors.vector(),
            score=vectors.vector(),
            sums=np.zeros(SLOTS * width),
            table=np.zeros(LEVELS * most),
            parts=np.zeros(most * OPTIONS),
            exponents=np.zeros(OPTIONS),
            chances=np.zeros(OPTIONS),
            whole=np.zeros(width),
            start=np.zeros(most),
            number=np.zeros(SLOTS, np.int64),
            lefts=np.zeros(n + 1, np.int8),
            rights=np.zeros(n + 1, np.int8),
            chosen=np.zeros(SLOTS + 1, np.int64),
            members=np.zeros(n + 1, np.int64),
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
        return BARTScratch(
            rows, False, prior.trees, prior.ensembles, float(rounded(prior.offset)), prior.quadratic,
            1 if prior.apart else PROBES, position, gradient, new_trees(1, prior.outputs),
            np.zeros(n, np.int8), curvature, score,
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


def new_trees(count: int, outputs: int) -> Trees:
    """Trees of one leaf."""
    variable = np.full((count, SLOTS), UNUSED, np.int64)
    variable[:, 0] = LEAF
    cut, aside, parent, left = (np.zeros(count * SLOTS, np.int64) for _ in range(4))
    return Trees(
        variable.reshape(-1), cut, aside, parent, left, np.zeros(count * SLOTS * outputs), np.ones(count, np.int64)
    )
