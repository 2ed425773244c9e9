"""Distributions as users call them: `Normal("x", 0, 1)` in a model, `Normal.dist(0, 1)` anywhere.

A declaration (see `law`) and a user's arguments in, a node of op `RandomVariable` out. What a model does with
it is the model's part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from consilience.distributions import context
from consilience.distributions.constraints import Constraint, natural, real
from consilience.distributions.context import DEFAULT
from consilience.distributions.law import Law
from consilience.distributions.parameters import (
    DistributionParameter,
    canonical_values,
    choose,
    derived,
    instead_of,
    named_arguments,
    parameter,
    positional_names,
    signatures,
)
from consilience.distributions.random_variable import RandomVariable
from consilience.distributions.shapes import broadcast, check_holds, text, wanted_shape
from consilience.distributions.transforms import chain, default_transform
from consilience.errors import ModelError, ShapeError
from consilience.ir import FLOATS, Dim, Node, Shape, tensor_input

__all__ = ["Continuous", "Discrete", "Distribution", "DistributionParameter", "derived", "instead_of", "parameter"]

Dims: TypeAlias = str | Sequence[str | None]


class Distribution(Law):
    """Base of all distributions; derive from `Continuous` or `Discrete`."""

    def __new__(  # type: ignore[misc]  # calling a distribution makes a variable, not an instance
        cls,
        name: str,
        *parameters: Any,
        observed: Any = None,
        dims: Dims | None = None,
        shape: Any = None,
        size: Any = None,
        transform: Any = DEFAULT,
        default_transform: Any = DEFAULT,
        initval: Any = None,
        total_size: Any = None,
        **named: Any,
    ) -> Node:
        """A variable of the model whose `with` block this is.

        name                unique in the model
        parameters, named   parameters of the distribution, in PyMC's order and names
        observed            data: the variable is conditioned on them
        dims                names of its axes; their lengths come from the model's coords
        shape, size         its shape, or its shape without the axes of one event
        transform           extra map to unconstrained space (after the default one); None for no map at all
        default_transform   None drops the default map
        initval             starting value, or "support_point" or "prior"
        total_size          size of the full data of which `observed` is a batch
        returns             the node to be used in further expressions
        raises              ModelError outside a model, TypeError for wrong combinations of parameters,
                            ParameterError for constants out of range, ShapeError where shapes do not fit
        """
        if not isinstance(name, str):
            raise TypeError(
                f"{cls.title}: the first argument is the variable's name, got {name!r}; "
                f"use `{cls.title}.dist(...)` for a variable without a name."
            )
        model = context.current(cls.title)
        if isinstance(dims, str):
            dims = (dims,)
        if shape is None and size is None:
            shape = _shape_from(model, cls.title, name, dims, observed)
        node = cls.dist(*parameters, shape=shape, size=size, **named)
        return model.register(
            name,
            node,
            observed=observed,
            dims=dims,
            transform=_transform(node, transform, default_transform),
            initval=initval,
            total_size=total_size,
        )

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model, for `logp`, `draw` and as a component of other distributions."""
        order = positional_names(cls.forms)
        given = named_arguments(cls.title, order, parameters, named)
        signature = choose(cls.title, signatures(cls.forms), given)
        form: type[Distribution] = signature.form
        return form.variable(canonical_values(cls.title, signature, given), shape, size)

    @classmethod
    def variable(cls, values: Sequence[Node], shape: Any = None, size: Any = None, extras: Any = ()) -> Node:
        """A variable of canonical parameters; `shape` and `size` as in `dist`."""
        law = cls.bound(values, extras)
        batch = broadcast(
            [v.static_shape[: v.ndim - rank] for v, rank in zip(values, law.event_ranks(), strict=True)],
            cls.title,
        )
        full = _full_shape(law, batch, shape, size)
        key = tensor_input("key", ())
        return Node(RandomVariable(cls, full, law.result_dtype(), extras), key, *values)

    def result_dtype(self) -> str:
        """Element type of the variable: the parameters' float type, int64 for counts."""
        if self.bound_support.discrete:
            return "int64"
        floats = [v.dtype for v in self.values if v.dtype in FLOATS]
        return "float32" if floats and all(d == "float32" for d in floats) else "float64"


class Continuous(Distribution):
    """Base of distributions with a density."""

    support: ClassVar[Constraint] = real


class Discrete(Distribution):
    """Base of distributions of whole numbers, with a mass function."""

    support: ClassVar[Constraint] = natural


def _full_shape(law: Law, batch: Shape, shape: Any, size: Any) -> Shape:
    event = law.event_shape()
    if shape is None and size is None:
        return (*batch, *event)
    if shape is not None and size is not None:
        raise TypeError(f"{law.title}: give `shape` (with the axes of one event) or `size` (without), not both.")
    if size is not None:
        wanted = wanted_shape(law.title, size, "size")
        check_holds(law.title, wanted, batch, "size")
        return (*wanted, *event)
    full = wanted_shape(law.title, shape, "shape")
    wanted = full[: max(0, len(full) - len(event))]
    ends = full[len(wanted) :]
    fits = len(ends) == len(event) and all(
        a is b or a == b or not isinstance(a, int) or not isinstance(b, int) for a, b in zip(ends, event, strict=True)
    )
    if not fits:
        raise ShapeError(f"{law.title}: the shape {text(full)} must end with the shape of one event, {text(event)}.")
    check_holds(law.title, wanted, batch, "shape")
    return full


def _shape_from(
    model: context.ModelContext, title: str, name: str, dims: Sequence[str | None] | None, observed: Any
) -> Shape | None:
    """Shape from the lengths of dims, where known, else from data."""
    data = _shape_of(observed)
    if dims is None:
        return data
    if any(d is not None and not isinstance(d, str) for d in dims):
        raise TypeError(f"{title} `{name}`: dims are names, got {dims!r}.")
    lengths = tuple(model.lengths_of(dims))
    if data is not None and len(data) != len(lengths):
        raise ShapeError(f"{title} `{name}`: data of shape {text(data)} need {len(data)} dims, got {tuple(dims)}.")
    known: list[Dim] = []
    for axis, length in enumerate(lengths):
        if length is not None:
            known.append(length)
        elif data is not None:
            known.append(data[axis])
        else:
            raise ModelError(
                f"{title} `{name}`: the dim {dims[axis]!r} has no length; add it to the model's coords or give `shape`."
            )
    return tuple(known)


def _shape_of(observed: Any) -> Shape | None:
    if observed is None:
        return None
    try:
        return observed.static_shape if isinstance(observed, Node) else np.shape(observed)
    except ValueError:  # ragged lists; the model refuses them when it reads the values
        return None


def _transform(node: Node, given: Any, default: Any) -> Any:
    """What the model gets: DEFAULT, None, or the transform that the user's arguments mean."""
    if default is DEFAULT and (given is DEFAULT or given is None):
        return given
    base = default_transform(node) if default is DEFAULT else default
    if given is DEFAULT or given is None:
        return base if given is DEFAULT else None
    return given if base is None else chain(base, given)
