"""`pm.bart`: what is asked of sums of regression trees once they are fitted, under the names of `pymc_bart`.

A result of `pm.sample` and its model enter; functions at chosen covariates, tables and pictures leave.
"""

from __future__ import annotations

from typing import Any

from consilience.bart.dependence import plot_ice, plot_pdp
from consilience.bart.fitted import plot_convergence, predict
from consilience.bart.importance import (
    compute_variable_importance,
    get_variable_inclusion,
    plot_scatter_submodels,
    plot_variable_importance,
    plot_variable_inclusion,
    vi_to_kulprit,
)
from consilience.distributions.bart import BART, ContinuousSplit, OneHotSplit, SubsetSplit
from consilience.first_use import load_on_use
from consilience.inference import BARTStep

__all__ = [
    "BART",
    "PGBART",
    "BARTStep",
    "ContinuousSplit",
    "ContinuousSplitRule",
    "OneHotSplit",
    "OneHotSplitRule",
    "SubsetSplit",
    "SubsetSplitRule",
    "compute_variable_importance",
    "get_variable_inclusion",
    "plot_convergence",
    "plot_ice",
    "plot_pdp",
    "plot_scatter_submodels",
    "plot_variable_importance",
    "plot_variable_inclusion",
    "predict",
    "vi_to_kulprit",
]  # fmt: skip

ContinuousSplitRule, OneHotSplitRule, SubsetSplitRule = ContinuousSplit, OneHotSplit, SubsetSplit


def PGBART(vars: Any, num_particles: int | None = None, batch: Any = None, **settings: Any) -> BARTStep:
    """Step method for a sum of trees, as `pymc_bart` calls it: `BARTStep`, which has no particles.

    Parameters
    ----------
    vars : object
        The variable to work on, one made by `pm.BART`, or a list with it.
    num_particles, batch : optional
        Without effect: every tree is renewed in each step, by Metropolis moves.
    **settings : Any
        Passed to `BARTStep`.

    Returns
    -------
    BARTStep
        The step method.

    See Also
    --------
    BARTStep : What it does.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.PGBART(["mu"], num_particles=10).vars
    ('mu',)
    """
    del num_particles, batch
    return BARTStep(vars, **settings)


load_on_use(__name__, {}, public=True)
