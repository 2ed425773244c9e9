"""Nested R-hat: the agreement of groups of chains, superchains, where chains are many and may be short.

Chains of a superchain begin at one point, superchains at different ones. R-hat of single chains is large while each
has made few effective draws, however well all of them together know the posterior; that of superchains, each a chain
of all its draws, is not.

Source: Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari, Gelman (2024), Nested R-hat: assessing the convergence of
Markov chain Monte Carlo when running many short chains, Bayesian Analysis.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.compiled.columns import COLUMNS
from consilience.diagnostics.compiled.library import Pass
from consilience.diagnostics.sample import FloatArray
from consilience.diagnostics.split_rhat import split_rhat
from consilience.errors import ShapeError


def rows_of_superchains(draws: FloatArray, superchains: int) -> FloatArray:
    """Draws (parameter, chain, draw) as (parameter, superchain, draw of one of its chains).

    Neighbours make up a superchain, and chains that are too many to divide evenly are left out. The first draws of all
    chains of a superchain come first, so that halves of the rows are halves in time.
    """
    parameters, chains, count = draws.shape
    own = chains // superchains
    grouped = draws[:, : superchains * own].reshape(parameters, superchains, own, count)
    return np.ascontiguousarray(grouped.swapaxes(2, 3).reshape(parameters, superchains, own * count))


def nested_rhat(draws: npt.ArrayLike, superchains: int) -> FloatArray:
    """Rank-normalised split nested R-hat of an array (chain, draw, *shape); gives an array of `shape`.

    draws : ...
    superchains: Their number, from 2 to that of the chains; neighbouring chains make up one.
    Returns: Of the shape of one draw; about 1 where superchains agree.
    See rhat: Of chains that are not grouped.

    Notes
    -----
    As R-hat the larger of that of draws and of their distances from the median. NaN where it is not defined, see
    `split_rhat`. Raises ShapeError for other numbers of superchains.


    References
    ----------
    Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari, Gelman (2024), Bayesian Analysis, on nested R-hat.

    >>> import numpy as np
    >>> from consilience.diagnostics import nested_rhat
    >>> nested_rhat(np.random.default_rng(1).normal(size=(16, 100)), superchains=4).round(1).item()
    1.0
    """
    array = np.asarray(draws)
    if array.ndim < 2 or not 2 <= superchains <= array.shape[0]:
        raise ShapeError(
            "nested R-hat needs draws (chain, draw, ...) and from 2 superchains to as many as there are chains; "
            f"{superchains} superchains and the shape {array.shape} came"
        )
    flat = array.reshape(*array.shape[:2], -1)
    rows = rows_of_superchains(np.moveaxis(flat, 2, 0), superchains)
    return split_rhat(np.moveaxis(rows, 0, 2)).reshape(array.shape[2:])


def replace(table: FloatArray, draws: FloatArray, superchains: int, target_rhat: float) -> None:
    """Put R-hat and noise ratios of superchains in place of those of single chains.

    `table`: (parameter, column), see `compiled.columns.COLUMNS`, with effective sizes, of draws (parameter, chain,
    draw).

    The noise ratio, see `stopping_rule.rhat_is_large`, takes the autocorrelation time from the effective size of the
    bulk: that along the rows of superchains has no meaning.
    """
    r_hat, noise_ratio = COLUMNS.index("r_hat"), COLUMNS.index("noise_ratio")
    rows = rows_of_superchains(draws, superchains)
    _, _, length = rows.shape
    found = Pass(superchains, length).table(rows, ["ranks"], target_rhat=target_rhat)[:, r_hat]
    half = length // 2
    between = half * (found**2 - 1.0) + 1.0  # variance of the means of halves, times their draws, over that within
    time = draws.shape[1] * draws.shape[2] / table[:, COLUMNS.index("ess_bulk")]
    table[:, r_hat] = found
    table[:, noise_ratio] = np.where(found > target_rhat, between / time, 0.0)
