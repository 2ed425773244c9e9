"""What a step method for sums of regression trees remembers, and what it has to know: covariates, prior, memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from consilience.inference.trees import LEAF, SLOTS, UNUSED, TreeRows, Trees
from consilience.native.typed_python import Array, boolean, f64, i8, i64, record
from consilience.record import Record

DAMPING = 2
"""Where `BARTState.learnt` has what curvatures are multiplied by."""


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
        Standard deviation of a leaf, or of its prior where it is learnt.
    orders : ndarray
        1 where the sum rises with a column, -1 where it falls, 0 elsewhere, int64 (column,).
    standard : ndarray
        Covariates with the mean 0 and the spread 1, 0 where they are missing, float64 (column, row), for lines.
    lines : int
        Leaves: constants, lines, or both; see `tree_lines`.
    sparse : bool
        Whether the probabilities of columns are learnt.
    learnt : bool
        Whether the standard deviation of a leaf is.
    fewest : int
        TreeRows of a leaf.
    quadratic : bool
        Whether the log density is quadratic in each row's sum, and rows do not meet.
    apart : bool
        Whether rows do not meet.
    kinks : bool
        Whether the log density bends in kinks, of which second derivatives say nothing.
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
    orders: NDArray[np.int64]
    standard: NDArray[np.float64]
    lines: int = 0
    sparse: bool = False
    learnt: bool = True
    fewest: int = 1
    quadratic: bool = False
    apart: bool = True
    kinks: bool = False

    @property
    def words(self) -> int:
        """Room for all trees of one draw when they are written; see `trees.write_trees`."""
        return 1 + self.ensembles * max(20 * self.trees, 400) * (1 + self.outputs * (2 if self.lines else 1)) // 2


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
        Share of the trees whose new leaves the density, and an order of their values, accepted.
    spread : f64
        Standard deviation of a leaf in the prior.
    """

    changed: i64
    leaves: i64
    accepted: f64
    spread: f64


@record
class BARTState:
    """What a chain remembers.

    Attributes
    ----------
    trees : Trees
        Its trees.
    anchor : Array
        The point around which the density is approximated, f64[dimension].
    levels : Array
        Logarithms of the columns' probabilities, f64[column].
    learnt : Array
        Concentration of the prior of these probabilities, 1 / variance of a leaf, and by how much curvatures are
        multiplied, f64[3].
    begun : boolean
        Whether it has begun.
    tune : i64
        Number of sweeps while tuning.
    """

    trees: Trees
    anchor: Array[f64]
    levels: Array[f64]
    learnt: Array[f64]
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
    usual : f64
        1 / variance of a leaf where it is not learnt.
    quadratic, kinks : boolean
        See `TreePrior`; it is quadratic given latent normals, too.
    latent : boolean
        Whether latent normals are drawn.
    normals : Array
        Their means, and how much they rise with the sum, f64[2, dimension].
    probes : i64
        Directions along which gradients tell the curvature: one is enough where rows do not meet.
    position, gradient : Array
        A point looked at and its slopes, f64[dimension].
    sparse, leaves_learnt : boolean
        Whether probabilities of columns and the spread of leaves are learnt.
    kept, tried : Trees
        The tree as it was, before all moves and before one.
    kept_places, tried_places : Array
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
    usual: f64
    quadratic: boolean
    latent: boolean
    normals: Array[f64]
    kinks: boolean
    probes: i64
    position: Array[f64]
    gradient: Array[f64]
    sparse: boolean
    leaves_learnt: boolean
    kept: Trees
    tried: Trees
    kept_places: Array[i8]
    tried_places: Array[i8]
    curvature: Array[f64]
    score: Array[f64]
    words: Array[i64]


def new_trees(count: int, outputs: int, sloped: bool) -> Trees:
    """Trees of one leaf."""
    variable = np.full((count, SLOTS), UNUSED, np.int64)
    variable[:, 0] = LEAF
    cut, aside, parent, left = (np.zeros(count * SLOTS, np.int64) for _ in range(4))
    value = np.zeros(count * SLOTS * outputs)
    slope = np.zeros(len(value) if sloped else 1)
    return Trees(variable.reshape(-1), cut, aside, parent, left, value, slope, sloped, np.ones(count, np.int64))
