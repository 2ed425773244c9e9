"""Fields whose scale is estimated, in coordinates in which the scale is free to move: x = m + s^(1 - c) z.

A field of n elements tells its own scale to one part in sqrt(2 n), far better than the data do, so that chains which
move the field as it is crawl along the scale. Given z, which has the pattern of precision that x has, they do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from consilience.distributions.densities import density
from consilience.distributions.mathematics import log
from consilience.distributions.random_variable import fresh_key
from consilience.distributions.rescaled import Rescaled
from consilience.ir import Node, constant
from consilience.ir.side_tables import without_sources
from consilience.model.conditioning import Rebuilt
from consilience.model.model import Model
from consilience.model.predictive import predict
from consilience.model.reparametrization import fields, written_by
from consilience.ops.reduce import reduce
from consilience.ops.reductions import mean

LARGE: Final = 200  # elements, from which on a field is worth it whatever the draws show
FEWEST: Final = 20  # where they show that other coordinates are needed
MOST: Final = 0.7  # of a centredness: beyond there is little to win
WIDE: Final = 0.7  # of the logarithm of a scale: draws that are wider come near a neck, where no fixed middle serves


def rescale(model: Model, chosen: Mapping[str, Any]) -> Model:
    """The same posterior with fields as functions of others, `x = m + s^(1 - c) x_raw`.

    chosen    for each field c, from 0 to 1, and m, an array of its shape; of one that sums to zero so does m
    returns   a new model, with x as deterministics
    raises    ModelError where a name `x_raw` is taken
    """
    scales = fields(model)
    graphs, raws = {}, {}
    with without_sources():
        for name, (degree, middle) in chosen.items():
            node = model.named[name]
            location, scale = constant(np.asarray(middle), node.dtype), scales[name] ** (1.0 - float(degree))
            own = Node(node.op, fresh_key(), *node.inputs[1:])
            raw = Rescaled.dist(own, location, scale, shape=node.static_shape)
            raws[name], graphs[name] = {"_raw": raw}, location + scale * raw
    return written_by(model, graphs, raws)


def standardized(model: Model, chosen: Mapping[str, Any], draws: Mapping[str, Any]) -> dict[str, Any]:
    """Values `x_raw` of those chosen fields that are free, of draws (draw, …) of all free variables by name."""
    with without_sources():
        made = Rebuilt(model, {}, set()).model()
        made.name = ""  # of what is added here
        for name, scale in fields(made).items():
            if name in chosen:
                degree, middle = chosen[name]
                raw = (made.named[name] - np.asarray(middle)) / scale ** (1.0 - degree)
                made.add_deterministic(f"{name}_raw", raw)
    names = [f"{name}_raw" for name in chosen if f"{name}_raw" in made.named_deterministics]
    given = {v.name: np.asarray(draws[v.name]) for v in made.free}
    return predict(made, names, given, len(next(iter(given.values()))), 0)


def suited(model: Model, draws: Mapping[str, Any], fewest: int = LARGE) -> dict[str, tuple[float, Any]]:
    """For `rescale`, what suits draws: of fields of at least so many elements for which other coordinates are better.

    m is the mean of the draws. Around it data fix a share p of a field's n directions, in which its spread does not
    depend on s, while in the others it is in proportion to s. Given z the curvature of the log density along log s is
    2 n (c^2 (1 - p) + (1 - c)^2 p), which is least for c = p; 1 - p is the mean of (x - m)' Q (x - m) / n, where Q is
    the precision of the prior.

    draws    of all free variables, (chain, draw, …) by name
    returns  for each such field c and m, as plain numbers
    """
    with without_sources():
        made = Rebuilt(model, {}, set()).model()
        made.name = ""  # of what is added here
        middles = {}
        for name, scale in fields(made).items():
            middle = np.mean(draws[name], axis=(0, 1))
            if middle.size < fewest:
                continue
            x, m = made.named[name], constant(middle, made.named[name].dtype)
            energy = 2.0 * density(x, m) - density(x, x) - density(x, 2.0 * m - x)
            made.add_deterministic(f"energy of {name}", reduce("sum", energy))
            made.add_deterministic(f"scale of {name}", mean(log(scale)))
            middles[name] = middle
    given = {v.name: np.asarray(draws[v.name]) for v in made.free}
    flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in given.items()}
    wanted = [f"{kind} of {name}" for name in middles for kind in ("energy", "scale")]
    values = predict(made, wanted, flat, len(next(iter(flat.values()))), 0) if wanted else {}
    found = {}
    for name, middle in middles.items():
        degree = float(np.clip(1.0 - values[f"energy of {name}"].mean() / math.prod(middle.shape), 0.0, 1.0))
        if degree <= MOST and values[f"scale of {name}"].std() <= WIDE:
            found[name] = (degree, middle.tolist())
    return found
