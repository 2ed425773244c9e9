"""Fields whose scale is estimated, in coordinates in which the scale is free to move: x = m + s^(1 - c) z.

A field of n elements tells its own scale to one part in sqrt(2 n), far better than the data do, so that chains which
move the field as it is crawl along the scale. Given z, which has the pattern of precision that x has, they do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from consilience.distributions.densities import density
from consilience.distributions.random_variable import distribution_of, fresh_key
from consilience.distributions.rescaled import Rescaled
from consilience.ir import Node, constant
from consilience.ir.side_tables import without_sources
from consilience.model.conditioning import Rebuilt
from consilience.model.model import Model
from consilience.model.predictive import predict
from consilience.model.reparametrization import fields, written_by
from consilience.ops.elementwise import as_tensor
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to

LARGE: Final = 200  # elements, from which on a field is worth it whatever the draws show
FEWEST: Final = 20  # where they show that other coordinates are needed
MOST: Final = 0.7  # of a field's directions that data fix: beyond there is little to win


def rescale(model: Model, chosen: Mapping[str, float]) -> Model:
    """The same posterior with fields as functions of others, `x = m + s^(1 - c) x_raw`.

    m is the mean of a CAR or MvNormal, and 0 else. Series keep their first value, and x_raw tells how far they come
    from it: what that is does not depend on s.

    chosen    for each field c, from 0 to 1
    returns   a new model, with x as deterministics
    raises    ModelError where a name `x_raw` is taken
    """
    raws = _raws(model, chosen)
    with without_sources():
        graphs = {name: distribution_of(raw).restored(raw) for name, raw in raws.items()}  # type: ignore[attr-defined]
    return written_by(model, graphs, {name: {"_raw": raw} for name, raw in raws.items()})


def _raws(model: Model, chosen: Mapping[str, float]) -> dict[str, Node]:
    """The variables `x_raw` of the chosen fields, in terms of the parameters of these."""
    raws = {}
    with without_sources():
        for name, scale in fields(model).items():
            if name in chosen:
                node = model.named[name]
                bound = distribution_of(node)
                mean = bound.by_name()["mu"] if bound.title in ("CAR", "MvNormal") else as_tensor(0.0)
                own = Node(node.op, fresh_key(), *node.inputs[1:])
                raws[name] = Rescaled.dist(
                    own,
                    broadcast_to(mean, node.static_shape),
                    scale ** (1.0 - chosen[name]),
                    bound.title in ("AR", "RandomWalk"),
                    shape=node.static_shape,
                )
    return raws


def standardized(model: Model, chosen: Mapping[str, float], draws: Mapping[str, Any]) -> dict[str, Any]:
    """Values `x_raw` of those chosen fields that are free, of draws (draw, …) of all free variables by name."""
    with without_sources():
        made = Rebuilt(model, {}, set()).model()
        made.name = ""  # of what is added here
        raws = _raws(made, chosen)
        for name, raw in raws.items():
            made.add_deterministic(f"{name}_raw", distribution_of(raw).quotient(made.named[name]))  # type: ignore[attr-defined]
    given = {v.name: np.asarray(draws[v.name]) for v in made.free}
    return predict(made, [f"{name}_raw" for name in raws], given, len(next(iter(given.values()))), 0)


def suited(model: Model, draws: Mapping[str, Any], fewest: int = LARGE) -> dict[str, float]:
    """For `rescale`, what suits draws: c of fields of at least so many elements that may win by other coordinates.

    Around the mean m of the draws data fix a share p of a field's n directions, in which its spread does not depend on
    s, while in the others it is in proportion to s. Given z the curvature of the log density along log s is about
    2 n (c^2 (1 - p) + (1 - c)^2 p), least for c = p; 1 - p is the mean of (x - m)' Q (x - m) / n, where Q is the
    precision of the prior. Half of it is chosen: nearly as good where p is small, and better where the scale becomes
    small, which draws may not have come to.

    draws    of all free variables, (chain, draw, …) by name
    returns  c by name
    """
    middles = {n: np.mean(draws[n], axis=(0, 1)) for n in fields(model)}
    middles = {n: middle for n, middle in middles.items() if middle.size >= fewest}
    if not middles:
        return {}
    with without_sources():
        made = Rebuilt(model, {}, set()).model()
        made.name = ""  # of what is added here
        for name, middle in middles.items():
            x, m = made.named[name], constant(middle, made.named[name].dtype)
            energy = 2.0 * density(x, m) - density(x, x) - density(x, 2.0 * m - x)
            made.add_deterministic(f"energy of {name}", reduce("sum", energy))
    given = {v.name: np.asarray(draws[v.name]) for v in made.free}
    flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in given.items()}
    energies = predict(made, [f"energy of {n}" for n in middles], flat, len(next(iter(flat.values()))), 0)
    shares = {n: 1.0 - energies[f"energy of {n}"].mean() / middle.size for n, middle in middles.items()}
    return {n: 0.5 * max(float(share), 0.0) for n, share in shares.items() if share <= MOST}
