"""The matrix of second derivatives of a model's log density at a point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.estimators.approximations.target import Variables
from consilience.model.model import Model, modelcontext


def find_hessian(
    point: Mapping[str, Any], vars: Variables = None, model: Model | None = None, negate_output: bool = True
) -> npt.NDArray[np.float64]:
    """Second derivatives of the log density with its Jacobian, on the unconstrained scale.

    point (mapping): Values of the unconstrained variables (`tau_log__`), as `find_MAP` gives them; other names in it
        are left out.
    vars: The variables that rows and columns are of, all by default.
    model : ...
    negate_output: Of the negative log density: the precision of the normal approximation.
    Returns (ndarray): Second derivatives, float64[dimension, dimension]; the variables' elements in their order.
    See find_MAP: The point at which it is wanted.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 2)
    >>> pm.find_hessian({"mu": 0.0}, model=model).tolist()
    [[0.25]]
    """
    owner = modelcontext(model)
    names = {str(v.name) for v in owner.value_vars}
    own = {n: v for n, v in point.items() if n in names}
    found = owner.compile_d2logp(vars, negate_output=negate_output)(own)
    return np.asarray(found, float)
