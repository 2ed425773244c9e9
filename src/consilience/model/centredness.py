"""How far each element of a variable is best centred, seen from draws of its posterior.

Draws in, numbers between 0 (not centred) and 1 (centred) for `noncenter` out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.distributions.mathematics import log
from consilience.distributions.random_variable import distribution_of
from consilience.errors import ModelError
from consilience.ir import Node, topological
from consilience.ir.side_tables import without_sources
from consilience.model.conditioning import Rebuilt, names_in
from consilience.model.model import Model, modelcontext
from consilience.model.predictive import predict
from consilience.model.reparametrization import (
    LOCATION_SCALE,
    centred_hierarchies,
    is_centred_as_a_whole,
    location_and_scale,
)
from consilience.ops.elementwise import as_tensor
from consilience.ops.shape import broadcast_to

# The numbers that are tried.
GRID: Final = np.linspace(0.0, 1.0, 21)
CENTRED: Final = 0.8  # from which on an element may as well be so altogether
FEW: Final = 0.1  # of the elements
# Families that have a scale only.
HALVES: Final = tuple(title for title, (location, _) in LOCATION_SCALE.items() if location is None)


def centredness(
    draws: Mapping[str, Any], var_names: str | Node | Sequence[str | Node] | None = None, model: Model | None = None
) -> dict[str, npt.NDArray[np.float64]]:
    """The centredness of each element with which the posterior is nearest to independent normal variables.

    With it `pm.noncenter(model, pm.centredness(result.posterior, model=model))` has coordinates that suit the data:
    elements for which these say much stay centred, others do not. Of each element the draws of theta_raw, which depends
    on the centredness c, are fitted by one normal distribution (their logarithms, where there is a scale only), and c
    is that of the greatest likelihood on the scale of theta: the least log sd(theta_raw) + (1 - c) mean(log sigma).
    Draws of a short run serve, and give c within a tenth or two.

    draws (mapping): The group `posterior` of a result, or arrays (chain, draw, …) by name; all free variables that the
        location and the scale depend on, two draws or more.
    var_names: Variables of a family of a location and a scale, LogNormal, or MvNormal (the scale of an element is what
        is left of it given those before); by default those whose scale is estimated.
    model: The model of the draws; the one around by default.
    Returns (dict of str to ndarray): For each variable an array of its shape, multiples of 0.05.
    Raises KeyError: For unknown names.
    Raises ModelError: For another distribution, and without draws of what is needed.
    See noncenter: Takes it.

    References
    ----------
    Papaspiliopoulos, Roberts, Sköld (2007), Statistical Science 22, 59.

    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 5)
    ...     tau = pm.HalfNormal("tau", 5)
    ...     theta = pm.Normal("theta", mu, tau, shape=3)
    >>> draws = pm.draw([mu, tau, theta], 200, random_seed=1)
    >>> given = {name: value[np.newaxis] for name, value in zip(["mu", "tau", "theta"], draws)}
    >>> pm.centredness(given, "theta", model)["theta"].shape
    (3,)
    """
    owner = modelcontext(model)
    if var_names is None:
        names = [n for n in centred_hierarchies(owner) if location_and_scale(owner.named[n]) is not None]
    else:
        names = names_in(owner, var_names)
    made = Rebuilt(owner, {}, set()).model()
    made.name = ""  # of what is added here
    with without_sources():
        for name in names:
            node = made.named[name]
            found = location_and_scale(node) if any(node is v.node for v in made.free) else None
            if found is None:
                raise ModelError(f"`{name}` is no free variable with a location and a scale, so it has no centredness.")
            for kind, value in zip(("location", "scale"), found, strict=True):
                wide = broadcast_to(as_tensor(0.0) if value is None else value, node.static_shape)
                made.add_deterministic(f"{kind} of {name}", log(wide) if kind == "scale" else wide)
    given = {v.name: np.asarray(draws[v.name]) for v in made.free if v.name in draws}
    missing = [n for n in names if n not in given]
    if missing:
        raise ModelError(f"the draws hold no `{missing[0]}`; they hold {', '.join(given) or 'none of the variables'}.")
    flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in given.items()}
    count = len(next(iter(flat.values()))) if flat else 0
    if names and count < 2:
        raise ModelError(f"two draws or more are needed, got {count}.")
    wanted = [f"{kind} of {name}" for name in names for kind in ("location", "scale")]
    values = predict(made, wanted, flat, count, 0) if names else {}
    result = {}
    for name in names:
        location, log_scale = values[f"location of {name}"], values[f"scale of {name}"]
        if distribution_of(made.named[name]).title in HALVES:
            costs = [np.log(np.std(np.log(flat[name]) + (c - 1) * log_scale, axis=0)) for c in GRID]
        else:
            own = np.log(flat[name]) if distribution_of(made.named[name]).title == "LogNormal" else flat[name]
            costs = [
                np.log(np.std(c * location + np.exp((c - 1) * log_scale) * (own - location), axis=0))
                + (1 - c) * np.mean(log_scale, axis=0)
                for c in GRID
            ]
        result[name] = GRID[np.argmin(costs, axis=0)]
    return result


def less_centred(model: Model, draws: Mapping[str, Any]) -> dict[str, npt.NDArray[np.float64]]:
    """The centredness for `noncenter` of those variables for which draws ask for other coordinates than they have.

    Variables of a location and a scale that is estimated have half that of `centredness`, where it is much below 1 for
    one element in ten at least. That is the best for the draws there are; where the scale may become small, which these
    have not come to, an element with c > 0 has a neck that 0 has not. Half of it is nearly as good as the better of
    both, measured with groups of 1 to 2,000 rows. Random walks of steps with an estimated scale, and zero-sum arrays,
    have 0. A variable whose location or scale depends on one that is marginalized stays as it is.

    `draws`: as for `centredness`, of all free variables. Returns: arrays of the variables' shapes, or numbers, from 0
    to 0.5; none where the coordinates are good as they are. Raises ModelError where `centredness` does.
    """
    summed = {v.node for v in model.marginalized}
    hierarchies = [n for n in centred_hierarchies(model) if summed.isdisjoint(topological([model.named[n]]))]
    known = [name for name in hierarchies if location_and_scale(model.named[name]) is not None]
    found = centredness(draws, known, model) if known else {}
    chosen = {name: 0.5 * c for name, c in found.items() if np.mean(c < CENTRED) >= FEW}
    return chosen | {name: np.zeros(()) for name in hierarchies if is_centred_as_a_whole(model.named[name])}
