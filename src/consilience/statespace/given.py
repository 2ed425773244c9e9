"""States and residuals of a series inside a model, as expressions with derivatives: for likelihoods that need them.

In: a variable `pm.LinearGaussianStateSpace` of a model. Out: expressions of its parameters, given its data.
"""

from __future__ import annotations

from typing import Any

from consilience.distributions.random_variable import distribution_of, is_random
from consilience.distributions.state_space import LinearGaussianStateSpace
from consilience.distributions.states import Filtered
from consilience.errors import ModelError
from consilience.ir import Node
from consilience.ir.side_tables import name_of
from consilience.model.model import modelcontext
from consilience.ops.elementwise import as_tensor


def filtered_states(series: Node, data: Any = None) -> Node:
    """Means of the states given the series up to their time.

    series, data (series) : ...
    Returns: Shape (..., times, n), with derivatives by the matrices of the space.
    Raises ModelError: For another variable, and for one without data.
    See smoothed_states: Given the whole series.
    See one_step_residuals: Errors of prediction.
    >>> space = {"T": [[1.0]], "Z": [[1.0]], "H": [[1.0]], "Q": [[1.0]], "P0": [[1.0]]}
    >>> with pm.Model():
    ...     y = pm.LinearGaussianStateSpace("y", **space, observed=[[1.0], [1.0], [4.0]])
    ...     level = pm.statespace.filtered_states(y)
    >>> level.eval().ravel().round(3).tolist()
    [0.5, 0.8, 2.769]
    """
    return _given(series, data).means()


def smoothed_states(series: Node, data: Any = None) -> Node:
    """Means of the states given the whole series, with the errors of `filtered_states`.

    series, data (series) : ...
    Returns: Shape (..., times, n).
    See filtered_states: Given the series up to each time.
    >>> space = {"T": [[1.0]], "Z": [[1.0]], "H": [[1.0]], "Q": [[1.0]], "P0": [[1.0]]}
    >>> with pm.Model():
    ...     y = pm.LinearGaussianStateSpace("y", **space, observed=[[1.0], [1.0], [4.0]])
    ...     level = pm.statespace.smoothed_states(y)
    >>> level.eval().ravel().round(3).tolist()
    [0.846, 1.538, 2.769]
    """
    return _given(series, data).smoothed()


def one_step_residuals(series: Node, data: Any = None) -> Node:
    """Errors of the prediction of each value from those before it, in units of their standard deviations.

    series, data (series) : ...
    Returns: Shape (..., times, p); independent and standard normal if the model is right, NaN for missing values and
        for those that are used up for diffuse states.
    See filtered_states: Means of the states, with the same parameters and errors.
    >>> space = {"T": [[1.0]], "Z": [[1.0]], "H": [[1.0]], "Q": [[1.0]], "P0": [[1.0]]}
    >>> with pm.Model():
    ...     y = pm.LinearGaussianStateSpace("y", **space, observed=[[1.0], [1.0], [4.0]])
    ...     found = pm.statespace.one_step_residuals(y)
    >>> found.eval().ravel().round(3).tolist()
    [0.707, 0.316, 1.985]
    """
    return _given(series, data).residuals()


def _given(series: Node, data: Any) -> Filtered:
    bound = distribution_of(series) if is_random(series) else None
    if not isinstance(bound, LinearGaussianStateSpace):
        raise ModelError(
            f"states are those of a `pm.LinearGaussianStateSpace`, got `{name_of(series) or type(series).__name__}`. "
            "Exponential smoothing with products has them in `sample_conditional_posterior`."
        )
    if data is None:
        owner = modelcontext(None)
        found = [v.data for v in owner.observed if v.node is series]
        if not found:
            raise ModelError(f"`{name_of(series)}` is not observed in this model: give the series, `data=`.")
        return Filtered(bound, found[0])
    return Filtered(bound, as_tensor(data, "float64"))
