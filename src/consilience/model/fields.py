"""Fields whose scale is estimated, in coordinates in which the scale is free to move: x = m + s^(1 - c) z.

A field of n elements tells its own scale to one part in sqrt(2 n), far better than the data do, so that chains which
move the field as it is crawl along the scale. Given z, which has the pattern of precision that x has, they do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from consilience.distributions.densities import density
from consilience.distributions.mathematics import log
from consilience.distributions.random_variable import distribution_of, fresh_key
from consilience.distributions.rescaled import Rescaled
from consilience.ir import Node, constant
from consilience.ir.side_tables import without_sources
from consilience.model.conditioning import Rebuilt
from consilience.model.model import Model
from consilience.model.predictive import predict
from consilience.model.reparametrization import fields, written_by
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to

LARGE: Final = 200  # elements, from which on a field is worth it
KNOWN: Final = 25.0  # directions that data fix, from which on they tell the scale well enough for a fixed middle
SPREAD: Final = 0.5  # of the logarithm of a scale that is told so
SHIFT: Final = 0.1  # squared standard deviations, by the mean of an element, from which on a middle was a wrong one
MOST: Final = 0.4  # of a field's directions that data fix: beyond there is little to win

Chosen: TypeAlias = Mapping[str, tuple[float, Any]]


def rescale(model: Model, chosen: Chosen) -> Model:
    """The same posterior with fields as functions of others, `x = m + s^(1 - c) x_raw`.

    `chosen`: for each field c, from 0 to 1, and m: an array of its shape, or None for the mean of the prior, of fields
    that have one. Returns: a new model, with x as deterministics. Raises ModelError where a name `x_raw` is taken.
    """
    raws = _raws(model, chosen)
    with without_sources():
        graphs = {name: _rescaled(raw).restored(raw) for name, raw in raws.items()}
    return written_by(model, graphs, {name: {"_raw": raw} for name, raw in raws.items()})


def _raws(model: Model, chosen: Chosen) -> dict[str, Node]:
    """The variables `x_raw` of the chosen fields, in terms of the parameters of these."""
    raws = {}
    with without_sources():
        for name, scale in fields(model).items():
            if name in chosen:
                node, (degree, middle) = model.named[name], chosen[name]
                m = distribution_of(node).mean() if middle is None else constant(np.asarray(middle), node.dtype)
                own = Node(node.op, fresh_key(), *node.inputs[1:])
                m = broadcast_to(m, node.static_shape)
                raws[name] = Rescaled.dist(own, m, scale ** (1.0 - degree), shape=node.static_shape)
    return raws


def _rescaled(raw: Node) -> Rescaled:
    bound = distribution_of(raw)
    assert isinstance(bound, Rescaled)
    return bound


def standardized(model: Model, chosen: Chosen, draws: Mapping[str, Any]) -> dict[str, Any]:
    """Values `x_raw` of those chosen fields that are free, of draws (draw, …) of all free variables by name."""
    made = _copy(model)
    with without_sources():
        raws = _raws(made, chosen)
        for name, raw in raws.items():
            made.add_deterministic(f"{name}_raw", _rescaled(raw).quotient(made.named[name]))
    given = {v.name: np.asarray(draws[v.name]) for v in made.free}
    return predict(made, [f"{name}_raw" for name in raws], given, len(next(iter(given.values()))), 0)


def _copy(model: Model) -> Model:
    with without_sources():
        made = Rebuilt(model, {}, set()).model()
    made.name = ""  # of what is added here
    return made


def large(model: Model) -> bool:
    """Whether fields with an estimated scale may be large enough for other coordinates."""
    lengths = [model.named[name].static_shape for name in fields(model)]
    return any(math.prod(n if isinstance(n, int) else LARGE for n in shape) >= LARGE for shape in lengths)


def suited(model: Model, draws: Mapping[str, Any], any_scale: bool = True) -> dict[str, tuple[float, Any]]:
    """For `rescale`, what suits draws: of large fields that may win by other coordinates.

    Around the mean of the draws data fix a share p of a field's n directions, in which its spread does not depend on s,
    while in the others it is in proportion to s. Given z the curvature of the log density along log s is about
    2 n (c^2 (1 - p) + (1 - c)^2 p), least for c = p; 1 - p is the mean of (x - m)' Q (x - m) / n, where Q is the
    precision of the prior. Where data tell the scale well that mean is m. Elsewhere s may become small, and x with it:
    only the mean of the prior serves then, of fields that have one, with half that c, as draws may not have come there.

    `draws`: of all free variables, (chain, draw, …) by name. `any_scale`: whether fields are wanted, too, whose scale
    is not told well. Returns: `c`, and m as nested lists or None, by name.
    """
    flat = {v.name: np.asarray(draws[v.name]).reshape(-1, *np.shape(draws[v.name])[2:]) for v in model.free}
    middles = {name: flat[name].mean(axis=0) for name in fields(model) if flat[name][0].size >= LARGE}
    if not middles:
        return {}
    made, count = _copy(model), len(next(iter(flat.values())))
    with without_sources():
        for name, scale in fields(made).items():
            if name in middles:
                x, m = made.named[name], constant(middles[name], made.named[name].dtype)
                energy = 2.0 * density(x, m) - density(x, x) - density(x, 2.0 * m - x)
                made.add_deterministic(f"energy of {name}", reduce("sum", energy))
                made.add_deterministic(f"scale of {name}", log(scale))
    seen = predict(made, [f"{kind} of {n}" for n in middles for kind in ("energy", "scale")], flat, count, 0)
    found: dict[str, tuple[float, Any]] = {}
    for name, middle in middles.items():
        energy = seen[f"energy of {name}"].mean() * count / (count - 1)
        share = min(max(1.0 - energy / middle.size, 0.0), 1.0)
        scales = seen[f"scale of {name}"]
        known = share * middle.size / scales[0].size >= KNOWN and scales.std(axis=0).max() <= SPREAD
        if share <= MOST and known:
            found[name] = (share, middle.tolist())
        elif share <= MOST and any_scale and distribution_of(model.named[name]).title in ("CAR", "ICAR", "MvNormal"):
            found[name] = (0.5 * share, None)
    return found


def moved(chosen: tuple[float, Any], before: tuple[float, Any], draws: Any) -> bool:
    """Whether a field's draws (draw, …) have another middle than when coordinates were chosen for it before."""
    if chosen[1] is None or before[1] is None:
        return False
    shift = np.asarray(chosen[1]) - np.asarray(before[1])
    return bool((shift**2 / np.maximum(draws.var(axis=0), 1e-300)).mean() > SHIFT)
