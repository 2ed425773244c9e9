"""Models with the same posterior in other coordinates: a model and names in, a new model out.

Not centred, a variable is a function of its parameters and a standard variable, `theta = mu + sigma * theta_raw`, and
the sampler moves the latter. Centred, it is itself what the sampler moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from consilience.distributions import context
from consilience.distributions.densities import parameter_violation
from consilience.distributions.distribution import Distribution
from consilience.distributions.mathematics import absolute, log, where
from consilience.distributions.positive import HalfCauchy, HalfNormal, LogNormal
from consilience.distributions.random_variable import distribution_of, random_variables
from consilience.distributions.real_line import Cauchy, Laplace, Normal, StudentT
from consilience.errors import ModelError
from consilience.ir import Node, constant, constant_value, substitute, tensor_input, topological
from consilience.ir.side_tables import set_name, without_sources
from consilience.model.conditioning import Rebuilt, named_in
from consilience.model.model import Model
from consilience.model.separability import links
from consilience.model.variables import FreeVariable, ModelVariables
from consilience.ops import Elementwise
from consilience.ops.elementwise import cast
from consilience.ops.reduce import reduce
from consilience.ops.scalar import DRAWS
from consilience.ops.shape import broadcast_to
from consilience.rules import simplify
from consilience.transforms.gradient import gradient

# Families closed under x -> location + scale * x: their parameters of that meaning. Other distributions serve, too, if
# they draw by a function of standard normal numbers, as LogNormal and MvNormal do.
LOCATION_SCALE: Final[dict[type[Distribution], tuple[str | None, str]]] = {
    Normal: ("mu", "sigma"),
    StudentT: ("mu", "sigma"),
    Laplace: ("mu", "b"),
    Cauchy: ("alpha", "beta"),
    HalfNormal: (None, "sigma"),
    HalfCauchy: (None, "beta"),
}

Names = str | Node | Sequence[str | Node]


def noncenter(model: Model, var_names: Names) -> Model:
    """The model with variables written as functions of standard ones: `theta` becomes `mu + sigma * theta_raw`.

    The posterior is the same. Where few data speak for each element of `theta` and `sigma` is estimated, the sampler
    has an easier way in the new coordinates; `pm.recenter` is the way back.

    var_names   free variables, or their names: of the location-scale families Normal, StudentT, Laplace, Cauchy,
                HalfNormal, HalfCauchy, or of distributions that draw by a function of standard normal numbers, such
                as LogNormal (on its log scale) and MvNormal (by its Cholesky factor)
    returns     a new model with the free variable `theta_raw` of `theta`'s shape and dims, and `theta` as a
                deterministic. A starting value given with `theta` is not carried over
    raises      KeyError for unknown names; ModelError for what is no free variable, has a transform of its own, or
                is of another distribution
    """
    names = _listed(model, var_names)
    free = {v.name: v for v in model.free}
    graphs: dict[str, Node] = {}
    raws: dict[str, Node] = {}
    with without_sources():
        for name in names:
            if name not in free:
                raise ModelError(f"`{name}` is not a free variable, so its parametrization cannot be changed.")
            if not free[name].inside:
                raise ModelError(f"`{name}` has a transform of its own; declare it without to change coordinates.")
            found = _standardized(free[name].node)
            if found is None:
                raise ModelError(
                    f"`{name}` ({free[name].node.op!r}) is neither of a location-scale family nor drawn by a function "
                    "of standard normal numbers; write other coordinates by hand."
                )
            raws[name], graphs[name] = found
    rebuilt = Rebuilt(model, graphs, set()).model(as_deterministics=set(names))
    made = {v.name: v for v in rebuilt.free}
    rebuilt.free = [made.get(v.name) or _raw_variable(rebuilt, v.name, raws[v.name]) for v in model.free]
    rebuilt.named = {v.name: v.node for v in rebuilt.free if v.name not in made} | rebuilt.named
    rebuilt.cache.clear()
    return rebuilt


def _raw_variable(made: Model, name: str, raw: Node) -> FreeVariable:
    """The standard variable of a model, as it stands in the model's expressions."""
    full = f"{name}_raw"
    if full in made.named:
        raise ModelError(f"the model has a variable `{full}` already; rename it, for that is the name of the new one.")
    # Its parameters may have been replaced with those of other variables; its key tells it from all others.
    node = next(n for n in random_variables([made.named[name]]) if n.inputs[0] is raw.inputs[0])
    set_name(node, full)
    dims = made.dims_of.get(name)
    if dims is not None and node.ndim == len(dims):
        made.dims_of[full] = dims
    holder = Model(model=None)
    holder.take_free(full, node, context.DEFAULT, None)
    return holder.free[0]


def _standardized(rv: Node) -> tuple[Node, Node] | None:
    """A standard variable, and the variable as a function of it and the parameters; None where there is no such way."""
    bound = distribution_of(rv)
    row = LOCATION_SCALE.get(type(bound))
    if row is not None:
        location, scale = row
        plain = {scale: constant(1.0, rv.dtype)} | ({location: constant(0.0, rv.dtype)} if location else {})
        values = [plain.get(p.name, value) for p, value in zip(bound.parameters, bound.values, strict=True)]
        raw = type(bound).variable(values, rv.static_shape)
        named = bound.by_name()
        result = named[scale] * raw if location is None else named[location] + named[scale] * raw
    else:
        found = _by_normal_numbers(rv, bound)
        if found is None:
            return None
        raw, result = found
    for _, _, valid in parameter_violation(rv):
        if constant_value(valid) is None:
            result = where(valid, result, np.nan)
    return raw, cast(broadcast_to(result, rv.static_shape), rv.dtype)


def _by_normal_numbers(rv: Node, bound: Distribution) -> tuple[Node, Node] | None:
    """As `_standardized`, from how the distribution draws, if that takes one array of standard normal numbers."""
    if bound.bound_support.discrete or not bound.can_draw():
        return None
    key = tensor_input("key", ())
    result = bound.draw(key, rv.static_shape)
    random = [n for n in topological([result]) if isinstance(n.op, Elementwise) and n.op.function in DRAWS]
    noise = [n for n in random if key in topological([n])]
    if len(noise) != 1 or not isinstance(noise[0].op, Elementwise) or noise[0].op.function != "random_normal":
        return None
    raw = Normal.dist(0.0, 1.0, shape=noise[0].static_shape)
    return raw, substitute([result], {noise[0]: raw})[0]


def recenter(model: Model, var_names: Names) -> Model:
    """The model with deterministics of the form `mu + sigma * raw` as free variables: the inverse of `noncenter`.

    var_names   deterministics, or their names: affine in a free variable of their shape, element by element, which is
                Normal, StudentT, Laplace or Cauchy with constant parameters; or the exponential of such with a Normal
    returns     a new model in which `theta` is free, and `raw` the deterministic `(theta - mu) / sigma`
    raises      KeyError for unknown names; ModelError for what is no such deterministic
    """
    names = _listed(model, var_names)
    graphs: dict[str, Node] = {}
    raws = []
    with without_sources():
        for name in names:
            if name not in model.named_deterministics:
                raise ModelError(f"`{name}` is not a deterministic, so there is nothing to center.")
            free, theta, raw = _centred(model, name)
            graphs[name], graphs[free.name] = theta, raw
            raws.append(free.name)
    return Rebuilt(model, graphs, set()).model(as_deterministics=set(raws), as_free=set(names))


def _centred(model: Model, name: str) -> tuple[FreeVariable, Node, Node]:
    """The free variable below a deterministic, the deterministic as a random variable, and the former in its terms."""
    node = model.named[name]
    inner = _unguarded(node)
    exponential = isinstance(inner.op, Elementwise) and inner.op.function == "exp"
    if exponential:
        inner = _unguarded(inner.inputs[0])
    found = []
    for free in model.free:
        affine = _affine(model, inner, free)
        if affine is not None and (not exponential or isinstance(distribution_of(free.node), Normal)):
            found.append((free, *affine))
    # Also a location may be normal; the scale that the model estimates tells which one was meant.
    estimated = [one for one in found if random_variables([one[2]])]
    chosen = estimated if len(found) > 1 else found
    if len(chosen) != 1:
        seen = f"several serve: {', '.join(f'`{one[0].name}`' for one in found)}" if found else "there is none"
        raise ModelError(
            f"`{name}` is no location plus scale times one free variable of its shape with constant parameters "
            f"(Normal, StudentT, Laplace or Cauchy); {seen}."
        )
    free, location, scale = chosen[0]
    bound = distribution_of(free.node)
    names = LOCATION_SCALE[type(bound)]
    own = bound.by_name()
    assert names[0] is not None
    moved = {names[0]: location + scale * own[names[0]], names[1]: absolute(scale) * own[names[1]]}
    values = [moved.get(p.name, value) for p, value in zip(bound.parameters, bound.values, strict=True)]
    theta = (LogNormal if exponential else type(bound)).variable(values, node.static_shape)
    return free, theta, ((log(node) if exponential else node) - location) / scale


def _unguarded(node: Node) -> Node:
    """An expression without conditions outside of which it is NaN."""
    while isinstance(node.op, Elementwise) and node.op.function == "where":
        known = constant_value(node.inputs[2])
        if known is None or not np.isnan(known).all():
            break
        node = node.inputs[1]
    return node


def _affine(model: Model, expression: Node, free: FreeVariable) -> tuple[Node, Node] | None:
    """Location and scale where an expression is `location + scale * variable`, element by element; else None."""
    bound = distribution_of(free.node)
    row = LOCATION_SCALE.get(type(bound))
    shape = free.node.static_shape
    if row is None or row[0] is None or expression.static_shape != shape or not free.inside:
        return None
    if any(constant_value(value) is None for value in bound.values):
        return None
    leaf = tensor_input(free.node.dtype, shape)
    others = {v.node: tensor_input(v.node.dtype, v.node.static_shape) for v in model.variables if v is not free}
    (written,) = substitute([expression], {**others, free.node: leaf})
    linked = links(written, leaf)
    if linked is None or {link.axis for link in linked.values()} != {i for i, n in enumerate(shape) if n != 1}:
        return None
    (scale,) = simplify(gradient(reduce("sum", written), [leaf]))
    if leaf in topological([scale]):
        return None
    (location,) = simplify(substitute([written], {leaf: broadcast_to(constant(0.0, leaf.dtype), shape)}))
    back = {stand_in: node for node, stand_in in others.items()}
    location, scale = substitute([location, scale], back)
    return location, scale


def centred_hierarchies(model: ModelVariables) -> list[str]:
    """Names of free variables whose scale is estimated, too, and that `noncenter` can rewrite."""
    random = {v.node for v in model.free}
    found = []
    for variable in model.free:
        bound = distribution_of(variable.node)
        row = LOCATION_SCALE.get(type(bound))
        named = bound.by_name()
        scales = [named[row[1]]] if row is not None else [v for name, v in named.items() if name != "mu"]
        if variable.inside and not random.isdisjoint(topological(scales)):
            with without_sources():
                if row is not None or _by_normal_numbers(variable.node, bound) is not None:
                    found.append(variable.name)
    return found


def _listed(model: Model, var_names: Names) -> list[str]:
    listed = [var_names] if isinstance(var_names, str | Node) else list(var_names)
    return list(dict.fromkeys(named_in(model, one) for one in listed))
