"""Predictive checks: where statistics of the data lie among those of data that the model simulates.

A model, or draws of its posterior, and statistics in; p-values with their Monte-Carlo errors out. Source: A. Gelman,
X.-L. Meng, H. Stern (1996), "Posterior predictive assessment of model fitness via realized discrepancies".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.effective_sample_size import ess_mean
from consilience.errors import ModelError, ShapeError
from consilience.model.model import Model, modelcontext
from consilience.record import Record
from consilience.sample.data import observed_data
from consilience.sample.predictive import sample_posterior_predictive, sample_prior_predictive

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # pandas carries no annotations

Statistic = Callable[[Any], Any]


class PredictiveCheck(Record, eq=False):
    """Statistics of simulated data and of the data.

    Parameters
    ----------
    simulated : dict of str to ndarray
        By name, float64[draws].
    observed : dict of str to float
        By name.
    p_value : dict of str to float
        Share of simulated values above the data's, and half of those equal to it.
    mcse : dict of str to float
        Monte-Carlo standard error of each p-value.
    """

    simulated: dict[str, npt.NDArray[np.float64]]
    observed: dict[str, float]
    p_value: dict[str, float]
    mcse: dict[str, float]

    def summary(self) -> pd.DataFrame:
        """A row for each statistic: the data's value, mean and deviation of the simulated ones, p-value and error."""
        import pandas as pd

        rows = {
            name: {
                "observed": self.observed[name],
                "mean": values.mean(),
                "sd": values.std(),
                "p_value": self.p_value[name],
                "mcse": self.mcse[name],
            }
            for name, values in self.simulated.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index")

    def plot(self) -> Any:
        """Histograms of the simulated statistics, with lines where the data are: a Matplotlib figure."""
        from consilience.estimators.calibration.pictures import values_and_observed

        return values_and_observed(self.simulated, self.observed)


def prior_predictive_check(
    model: Model | None = None,
    statistics: Mapping[str, Statistic] | None = None,
    *,
    var_name: str | None = None,
    draws: int = 1000,
    random_seed: Any = None,
) -> PredictiveCheck:
    """Where statistics of the data lie among those of data drawn from the prior.

    model : ...
    statistics: Functions of one data set -> number, by name; mean, sd, min and max by default.
    var_name : ...
    draws: Number of data sets.
    random_seed : ...
    Returns: Its `summary()` is a table, its `plot()` a picture.
    Raises ModelError: Where it is not clear which variable is meant.
    Raises ShapeError: Where a statistic is no number.
    See posterior_predictive_check: The same with draws of the posterior.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0, 0.5])
    >>> check = pm.prior_predictive_check(model, random_seed=1)
    >>> sorted(check.observed), bool(0.0 < check.p_value["mean"] < 0.5)
    (['max', 'mean', 'min', 'sd'], True)
    """
    owner = modelcontext(model)
    name, data = _observed(owner, var_name)
    tree = sample_prior_predictive(draws, model=owner, random_seed=random_seed)
    return _checked(tree["prior_predictive"][name].values, data, statistics)


def posterior_predictive_check(
    trace: Any,
    statistics: Mapping[str, Statistic] | None = None,
    *,
    model: Model | None = None,
    var_name: str | None = None,
    random_seed: Any = None,
) -> PredictiveCheck:
    """Where statistics of the data lie among those of data drawn from the posterior, one data set for each draw.

    trace (DataTree): Draws, as `pm.sample` gives them.
    statistics: As for `prior_predictive_check`.
    model : ...
    var_name: As for `prior_predictive_check`.
    random_seed : ...
    Returns: Its `summary()` is a table, its `plot()` a picture.
    See prior_predictive_check: The same with draws of the prior.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0, 0.5])
    ...     result = pm.sample(random_seed=1, progressbar=False)
    >>> check = pm.posterior_predictive_check(result, model=model, random_seed=1)
    >>> sorted(check.observed), bool(0.05 < check.p_value["mean"] < 0.95)
    (['max', 'mean', 'min', 'sd'], True)
    """
    owner = modelcontext(model)
    name, data = _observed(owner, var_name)
    tree = sample_posterior_predictive(trace, model=owner, random_seed=random_seed, progressbar=False)
    return _checked(tree["posterior_predictive"][name].values, data, statistics)


def _observed(model: Model, var_name: str | None) -> tuple[str, npt.NDArray[Any]]:
    known = observed_data(model)
    if var_name is None and len(known) != 1:
        raise ModelError(
            f"`var_name` must say which observed variable is meant; there are {', '.join(known) or 'none'}."
        )
    name = next(iter(known)) if var_name is None else var_name
    if name not in known:
        raise ModelError(f"`{name}` is not observed; what is: {', '.join(known) or 'nothing'}.")
    return name, np.asarray(known[name])


def _checked(
    simulated: npt.NDArray[Any], data: npt.NDArray[Any], statistics: Mapping[str, Statistic] | None
) -> PredictiveCheck:
    chosen = statistics or {"mean": np.mean, "sd": np.std, "min": np.min, "max": np.max}
    chains, length = simulated.shape[:2]
    values, known, shares, errors = {}, {}, {}, {}
    for name, function in chosen.items():
        own = np.asarray(function(data), dtype=float)
        if own.ndim:
            raise ShapeError(f"the statistic `{name}` must be one number for a data set, got shape {own.shape}.")
        table = np.array([[float(function(one)) for one in chain] for chain in simulated])
        above = (table > own) + 0.5 * (table == own)
        size = float(ess_mean(above)) if chains > 1 else chains * length
        values[name], known[name], shares[name] = table.ravel(), float(own), float(above.mean())
        errors[name] = float(above.std() / np.sqrt(size if np.isfinite(size) and size > 0 else chains * length))
    return PredictiveCheck(values, known, shares, errors)
