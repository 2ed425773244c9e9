"""Data, deterministics and potentials of a model, as tensors with named dims.

In: arrays and expressions with dims. Out: what the model keeps is plain, what the user gets back has dims.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from consilience import model as plain
from consilience.ir import Node
from consilience.model import Model
from consilience.xtensor.distributions import WithEllipsis
from consilience.xtensor.named import Named, checked_dims
from consilience.xtensor.variable import XTensorVariable, as_xtensor


def Data(
    name: str, value: Any, dims: str | tuple[str, ...] | None = None, model: Model | None = None, **settings: Any
) -> XTensorVariable:
    """Data with dims under a name, exchanged later with `pm.set_data`; settings as in `pm.Data`.

    name : ...
    value (TensorLike): Value at which the function is computed.
    dims: Names of the axes; those of a `DataArray` for None, whose labels then become coords of the model.
    model : ...
    **settings: Keywords of the plain function.
    Returns: The data with their dims.
    Raises TypeError: For axes without names.
    See Deterministic: Keeps an expression.
    >>> with pm.Model(coords={"city": ["Bern", "Rome"]}):
    ...     x = pm.dims.Data("x", np.array([1.0, 2.0]), dims="city")
    >>> x.dims
    ('city',)
    """
    labelled = hasattr(value, "dims") and hasattr(value, "values")
    if labelled and dims is None:
        settings = {"infer_dims_and_coords": True, **settings}
    elif labelled:
        value = value.transpose(*checked_dims(dims or (), f"the data `{name}`"))
    node = plain.Data(name, value, dims=dims, model=model, **settings)
    owner = plain.modelcontext(model)
    found = owner.named_vars_to_dims.get(owner.name_for(name))
    made = as_xtensor(node, None if found is None else [dim for dim in found if dim is not None])
    owner.made_with_dims(name, made)
    return made


def _kept(keep: Callable[..., Node], name: str, value: Any, dims: WithEllipsis, model: Model | None) -> XTensorVariable:
    order = None if dims is None else (dims,) if isinstance(dims, str) else tuple(dims)
    own = None if isinstance(value, Named) or order is None or Ellipsis in order else order
    named = as_xtensor(value) if own is None or hasattr(value, "dims") else as_xtensor(value, own)  # type: ignore[arg-type]  # no `...`
    named = named if order is None else named.transpose(*order)
    made = XTensorVariable(keep(name, named.values, model=model, dims=named.dims or None), named.dims)
    plain.modelcontext(model).made_with_dims(name, made)
    return made


def Deterministic(name: str, value: Any, dims: WithEllipsis = None, model: Model | None = None) -> XTensorVariable:
    """Keep the values of an expression under a name; `dims` gives the order of its dims, with `...` for the rest.

    name : ...
    value (TensorLike): Value at which the function is computed.
    dims: Names of the axes; their lengths come from the model's coords.
    model : ...
    Returns: The expression under its name.
    See Potential: Adds to the density.
    >>> with pm.Model(coords={"city": ["Bern", "Rome"]}):
    ...     x = pm.dims.Normal("x", dims="city")
    ...     double = pm.dims.Deterministic("double", 2 * x)
    >>> double.dims
    ('city',)
    """
    return _kept(plain.Deterministic, name, value, dims, model)


def Potential(name: str, value: Any, dims: WithEllipsis = None, model: Model | None = None) -> XTensorVariable:
    """Add a term to the model's log density; all its elements are summed.

    name : ...
    value (TensorLike): Value at which the function is computed.
    dims: Names of the axes; their lengths come from the model's coords.
    model : ...
    Returns: The term under its name.
    See Deterministic: Keeps an expression.
    >>> with pm.Model(coords={"city": ["Bern", "Rome"]}):
    ...     x = pm.dims.Normal("x", dims="city")
    ...     term = pm.dims.Potential("term", -(x**2))
    >>> term.dims
    ('city',)
    """
    return _kept(plain.Potential, name, value, dims, model)
