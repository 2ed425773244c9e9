"""Standard variables that a model multiplies by estimated scales, such as z in `beta = mu + tau * lambda * z`.

A model and draws in, how far the product is best centred and the model in such coordinates out. Where data determine an
element of beta but not its scale, z and the scale lie along a hyperbola, whose arms no step size suits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from consilience.distributions.constraints import IntervalConstraint, PositiveVector
from consilience.distributions.mathematics import log
from consilience.distributions.random_variable import distribution_of, is_random
from consilience.ir import Node, constant, constant_value, topological
from consilience.ir.side_tables import without_sources
from consilience.model.centredness import FEW, GRID
from consilience.model.conditioning import Rebuilt
from consilience.model.model import Model
from consilience.model.predictive import predict
from consilience.model.reparametrization import LOCATION_SCALE, noncenter, standard_variables, written_by
from consilience.ops import Elementwise, Index
from consilience.ops.elementwise import as_tensor
from consilience.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, broadcast_to

ENOUGH: Final = 0.2  # of a centredness, from which on an element is worth it
SURE: Final = 0.5  # from which on one element is
POSITIVE: Final = ("exp", "cosh")
SELECTIONS: Final = (Index, BroadcastTo, ExpandDims, Reshape, Squeeze)
OF_POSITIVE: Final = ("sqrt", "square", "mul", "true_div", "add", "pow", "maximum", "minimum", "log1p", "expm1")


def products(model: Model) -> dict[str, tuple[Node | None, Node]]:
    """Location, None for 0, and scale of what standard variables are part of, by their names.

    The variables are symmetric around 0, of constant parameters, and all that depends on them does so by a chain of
    products and quotients with positive numbers, all of their shape, and maybe a sum at its end. Scales are estimated,
    and no part depends on variables that are summed out.
    """
    users: dict[Node, list[Node]] = {}
    for node in topological(list(model.named.values())):
        for part in dict.fromkeys(node.inputs):
            users.setdefault(part, []).append(node)
    random, summed = {v.node for v in model.free}, {v.node for v in model.marginalized}
    found = {}
    for name in standard_variables(model):
        location, scale = _product(model.named[name], users)
        below = set() if scale is None else set(topological([scale] if location is None else [location, scale]))
        if scale is not None and not random.isdisjoint(topological([scale])) and summed.isdisjoint(below):
            found[name] = (location, scale)
    return found


def _product(rv: Node, users: Mapping[Node, list[Node]]) -> tuple[Node | None, Node | None]:
    """Location and scale, None for 0 and 1, of the product that is all that a variable has a part in."""
    scale: Node | None = None
    node = rv
    while len(users.get(node, ())) == 1:
        (user,) = users[node]
        function = user.op.function if isinstance(user.op, Elementwise) else ""
        others = [part for part in user.inputs if part is not node]
        if function not in ("add", "mul", "true_div") or len(others) != 1 or user.static_shape != rv.static_shape:
            break
        (other,) = others
        if function == "add":
            return other, scale
        divided = function == "true_div"
        if not _is_positive(other) or (divided and user.inputs[0] is not node):
            break
        factor = 1.0 / other if divided else other
        scale = factor if scale is None else scale * factor
        node = user
    return None, scale


def _is_positive(node: Node) -> bool:
    """Whether an expression is surely not negative."""
    known = constant_value(node)
    if known is not None:
        return bool(np.all(known > 0))
    if is_random(node):
        support = distribution_of(node).bound_support
        lower = support.lower if isinstance(support, IntervalConstraint) else None
        return isinstance(support, PositiveVector) or (isinstance(lower, int | float) and lower >= 0)
    if isinstance(node.op, Elementwise):
        function = node.op.function
        return function in POSITIVE or (function in OF_POSITIVE and all(map(_is_positive, node.inputs)))
    return isinstance(node.op, SELECTIONS) and _is_positive(node.inputs[0])


def suited(model: Model, draws: Mapping[str, Any]) -> dict[str, Any]:
    """For `rewritten`, how far products are best centred: of those for which that is much for one element in ten.

    As `centredness` has it, which is the best for the draws there are.

    `draws`: of all free variables, (chain, draw, …) by name. Returns: arrays of the variables' shapes, from 0 to 1.
    """
    with without_sources():
        made = Rebuilt(model, {}, set()).model()
        made.name = ""  # of what is added here
        parts = products(made)
        for name, (location, scale) in parts.items():
            shape = made.named[name].static_shape
            made.add_deterministic(
                f"location of {name}", broadcast_to(as_tensor(0.0 if location is None else location), shape)
            )
            made.add_deterministic(f"scale of {name}", broadcast_to(log(scale), shape))
    if not parts:
        return {}
    given = {v.name: np.asarray(draws[v.name]) for v in made.free}
    flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in given.items()}
    wanted = [f"{kind} of {name}" for name in parts for kind in ("location", "scale")]
    values = predict(made, wanted, flat, len(next(iter(flat.values()))), 0)
    chosen = {}
    for name in parts:
        middle, log_scale, own = values[f"location of {name}"], values[f"scale of {name}"], flat[name]
        costs = [
            np.log(np.std(c * middle + np.exp(c * log_scale) * own, axis=0)) - c * np.mean(log_scale, axis=0)
            for c in GRID
        ]
        degree = GRID[np.argmin(costs, axis=0)]
        if np.mean(degree > ENOUGH) >= FEW or (degree > SURE).any():
            chosen[name] = degree
    return chosen


def rewritten(model: Model, centredness: Mapping[str, Any]) -> Model:
    """The same posterior with hierarchies less centred, see `noncenter`, and products more.

    With a location m and a scale s of the product, and a centredness c, z_raw is c m + s^c z.
    """
    with without_sources():
        parts = {name: part for name, part in products(model).items() if name in centredness}
        graphs, raws = {}, {}
        for name, (location, scale) in parts.items():
            node = model.named[name]
            bound = distribution_of(node)
            degree = constant(np.asarray(centredness[name], float), node.dtype)
            moved, power = degree * (0.0 if location is None else location), scale**degree
            own, name_of_scale = LOCATION_SCALE[bound.title]
            plain = {str(own): moved, name_of_scale: power * bound.by_name()[name_of_scale]}
            parameters = [plain.get(p.name, value) for p, value in zip(bound.parameters, bound.values, strict=True)]
            raw = type(bound).variable(parameters, node.static_shape)
            raws[name], graphs[name] = {"_raw": raw}, (raw - moved) / power
    made = written_by(model, graphs, raws) if graphs else model
    rest = {name: degree for name, degree in centredness.items() if name not in parts}
    return noncenter(made, rest) if rest else made
