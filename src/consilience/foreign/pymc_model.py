"""PyMC's models: a live model of PyMC 5 or 6 in, a model of ours with the same density out.

Names, dims, coords, data, transforms, initial values, deterministics and potentials come over as they are; graphs are
translated op by op, and what is not known is refused by its name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.distributions import context
from consilience.distributions.random_variable import is_random
from consilience.errors import ConsilienceError, MissingRuleError, ModelError, ShapeError
from consilience.foreign.pymc_distributions import by_density
from consilience.foreign.pymc_transforms import translated
from consilience.foreign.pytensor_graph import Translation
from consilience.ir import constant
from consilience.model import Data, Model


def from_pymc(model: Any) -> Model:
    """A model of ours with the variables and the density of a live model of PyMC.

    model: A `pymc.Model` of PyMC 5 or 6.
    Returns: A `pm.Model` with the same names, dims, coords, data, transforms, initial values, observed values,
        deterministics and potentials. Data can be exchanged as in PyMC (`pm.set_data`), of the same shape. Constants
        that PyTensor keeps in single precision are of double precision here.
    Raises MissingRuleError: For an op, a random variable or a transform without translation, with its name and the
        variable it stands in.
    Raises ModelError: For what is no model of PyMC.
    See from_numpyro: The same for NumPyro.
    >>> import pymc
    >>> import consilience as pm
    >>> with pymc.Model() as model:
    ...     mu = pymc.Normal("mu", 0, 1)
    ...     y = pymc.Normal("y", mu, 1, observed=[1.0, 2.0])
    >>> [v.name for v in pm.from_pymc(model).free_RVs]
    ['mu']
    """
    if not all(hasattr(model, name) for name in ("named_vars", "rvs_to_values", "rvs_to_transforms", "basic_RVs")):
        raise ModelError(f"`from_pymc` takes a `pymc.Model`, got {type(model).__name__}.")
    coords = {name: values for name, values in model.coords.items() if values is not None}
    lengths = {name: int(_value(n)) for name, n in model.dim_lengths.items() if n.owner is None}
    ours = Model(coords=coords, check_bounds=getattr(model, "check_bounds", True))
    for name, length in lengths.items():
        if name not in coords:
            ours.add_coord(name, length=length)
    t = Translation({model.dim_lengths[name]: constant(length) for name, length in lengths.items()})
    with ours:
        for name, theirs in model.named_vars.items():
            dims = model.named_vars_to_dims.get(name)
            try:
                _add(ours, model, t, name, theirs, dims)
                t.named.add(theirs)
            except ConsilienceError as error:
                error.add_note(f"This is about the variable `{name}` of PyMC's model.")
                raise
    return ours


def _add(ours: Model, model: Any, t: Translation, name: str, theirs: Any, dims: Any) -> None:
    """The variable of one name."""
    axes = None if dims is None else tuple(dims)
    if theirs in model.rvs_to_values:
        _add_random(ours, model, t, name, theirs, axes)
    elif theirs in model.data_vars:
        t.values[theirs] = Data(name, theirs.get_value(), dims=axes) if hasattr(theirs, "get_value") else t(theirs)
    elif theirs in model.deterministics:
        t.values[theirs] = ours.add_deterministic(name, t.tensor(theirs), axes)
    elif theirs in model.potentials:
        try:
            t.values[theirs] = ours.add_potential(name, t.tensor(theirs), axes)
        except ShapeError:  # dims of other lengths, which PyMC lets pass; values of potentials are not kept
            t.values[theirs] = ours.add_potential(name, t.tensor(theirs))
    else:
        ours.add_named_variable(t.tensor(theirs), axes)


def _add_random(ours: Model, model: Any, t: Translation, name: str, theirs: Any, axes: Any) -> None:
    value = model.rvs_to_values[theirs]
    observed = theirs in model.observed_RVs
    rv, total_size = theirs, None
    if type(theirs.owner.op).__name__ == "MinibatchRandomVariable":
        rv, *sizes = theirs.owner.inputs
        total_size = [t.length(size) if t(size) is not None else None for size in sizes]
    node = t.tensor(rv)
    if not is_random(node):  # a function of random variables, such as one with its axes in another order
        refusal = MissingRuleError(f"PyMC's variable `{name}` is an expression without translation.")
        node = by_density(t, rv, refusal, node.static_shape)
    if observed:
        ours.register_rv(node, name, observed=_observed(t, value), dims=axes, total_size=total_size)
    else:
        transform = translated(t, model.rvs_to_transforms[theirs], rv)
        initial = model.rvs_to_initial_values.get(theirs)
        base = context.DEFAULT if transform is context.DEFAULT else None
        ours.register_rv(
            node, name, dims=axes, transform=transform, default_transform=base, initval=_initial(t, initial)
        )
    t.values[theirs] = node


def _observed(t: Translation, value: Any) -> Any:
    """Observed values: an array where they are constant, otherwise a tensor of data."""
    if hasattr(value, "data"):
        return np.asarray(value.data)
    return t.tensor(value)


def _initial(t: Translation, given: Any) -> Any:
    return t.tensor(given) if hasattr(given, "owner") else given


def _value(length: Any) -> Any:
    return length.get_value() if hasattr(length, "get_value") else length.data
