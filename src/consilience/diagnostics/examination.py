"""Every convergence diagnostic in one pass: draws enter, five numbers per parameter leave.

Sorting, ranks and effective sizes are shared, so this costs little more than one diagnostic alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from consilience.diagnostics import effective_sample_size, standard_error
from consilience.diagnostics.measurement import Measure, measure
from consilience.diagnostics.sample import FloatArray, Sample
from consilience.diagnostics.split_rhat import of_sample as split_rhat_of
from consilience.record import Record


class Examination(Record):
    """Diagnostics of P parameters, each an array (P,); NaN where a diagnostic is not defined.

    r_hat (FloatArray): Rank-normalised split R-hat.
    ess_bulk (FloatArray): Effective sample size of the bulk.
    ess_tail (FloatArray): Effective sample size of the quantiles 5 % and 95 %.
    mcse_mean (FloatArray): Monte Carlo standard error of the mean.
    mcse_sd (FloatArray): Monte Carlo standard error of the standard deviation.
    See examine: Makes one.
    >>> import numpy as np
    >>> from consilience.diagnostics import examine
    >>> found = examine(np.random.default_rng(1).normal(size=(4, 500, 2)))
    >>> found.r_hat.shape, bool((found.r_hat < 1.01).all())
    ((2,), True)
    """

    r_hat: FloatArray
    ess_bulk: FloatArray
    ess_tail: FloatArray
    mcse_mean: FloatArray
    mcse_sd: FloatArray


def errors_of_sample(sample: Sample) -> FloatArray:
    """Standard errors of mean and standard deviation, (parameter, 2)."""
    effective = effective_sample_size.mean_of_sample(sample)
    errors = (
        standard_error.of_mean(sample, effective),
        standard_error.of_deviation(sample),
    )
    return np.stack(errors, axis=1)


DIAGNOSTICS: dict[str, Measure] = {
    "errors": errors_of_sample,
    "ess_bulk": effective_sample_size.bulk_of_sample,
    "ess_tail": effective_sample_size.tail_of_sample,
    "r_hat": split_rhat_of,
}


def examine(draws: npt.ArrayLike) -> Examination:
    """Diagnostics of all elements, in C order, of an array (chain, draw, ...).

    draws : ...
    Returns: An element of each array per element of one draw.
    See examine_all: Several variables.
    See summary: As a table.
    >>> import numpy as np
    >>> from consilience.diagnostics import examine
    >>> found = examine(np.random.default_rng(1).normal(size=(4, 500)))
    >>> bool(found.ess_bulk[0] > 1000)
    True
    """
    return examine_all([np.asarray(draws)])


def examine_all(variables: Sequence[npt.NDArray[np.generic]]) -> Examination:
    """Diagnostics of all elements of several arrays (chain, draw, ...), one variable after the other.

    variables (sequence of ndarray): Draws by name, each of shape (chain, draw, ...).
    Returns: An element of each array per element of a draw of all variables.
    See examine: One variable.
    >>> import numpy as np
    >>> from consilience.diagnostics import examine_all
    >>> rng = np.random.default_rng(1)
    >>> examine_all([rng.normal(size=(4, 500, 2)), rng.normal(size=(4, 500))]).r_hat.shape
    (3,)
    """
    found = measure(variables, DIAGNOSTICS)
    errors = found["errors"]
    return Examination(found["r_hat"], found["ess_bulk"], found["ess_tail"], errors[:, 0].copy(), errors[:, 1].copy())
