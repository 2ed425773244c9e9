"""Draws of a claim in the coordinates of the same model written otherwise: variables freed of what they depend on.

A claim in; a model, and the draws as positions of its density, out.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.distributions.random_variable import distribution_of
from consilience.estimators.refutation.claim import Claim, Floats
from consilience.ir import topological
from consilience.model.centredness import CENTRED, FEW, centredness
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.model.reparametrization import LOCATION_SCALE, noncenter
from consilience.record import Record

MOST_DRAWS: Final = 2000  # to find coordinates from
CLOSE: Final = 1e-6  # relative, of values that were carried over and back


class RewrittenDraws(Record, eq=False):
    """A model, its density, and draws as positions of it (chain, draw, dimension); in words, which they are."""

    model: Model
    density: ModelDensity
    positions: Floats
    told: str


def own_coordinates(claim: Claim) -> RewrittenDraws:
    """Those of the claim's model."""
    return RewrittenDraws(claim.model, claim.density, claim.positions, "by small steps")


def rounder_coordinates(claim: Claim) -> RewrittenDraws | None:
    """Variables whose location or scale depends on others, as far from centred as the draws ask for; None: no need."""
    model = claim.model
    random = {v.node for v in model.free}
    names = []
    for v in model.free:
        bound = distribution_of(v.node)
        if v.inside and bound.title in (*LOCATION_SCALE, "LogNormal"):
            named = bound.by_name()
            location, scale = LOCATION_SCALE.get(bound.title, ("mu", "sigma"))
            parents = [named[scale], *([named[location]] if location else [])]
            if not random.isdisjoint(topological(parents)):
                names.append(v.name)
    if not names:
        return None
    chains, count = claim.positions.shape[:2]
    flat = {name: a.reshape(-1, *a.shape[2:]) for name, a in claim.values.items()}
    some = {name: a[:: -(-len(a) // MOST_DRAWS)][None] for name, a in flat.items()}
    found = centredness(some, names, model)
    # half of what suits the draws there are, as in `less_centred`: those there are not lie in necks
    chosen = {name: 0.5 * c for name, c in found.items() if np.mean(c < CENTRED) >= FEW}
    if not chosen:
        return None
    other = noncenter(model, chosen)
    density = model_density(other)
    positions = _carried(density, flat, list(chosen))
    if positions is None:
        return None
    listed = ", ".join(f"`{name}`" for name in chosen)
    return RewrittenDraws(other, density, positions.reshape(chains, count, -1), f"with {listed} less centred")


def _carried(density: ModelDensity, values: dict[str, npt.NDArray[Any]], names: list[str]) -> Floats | None:
    """Positions (draw, dimension) at which variables that are functions of raw ones have these values.

    `names`: of these variables, in the order of the model.

    Each is affine in its raw variable, or its logarithm is, so that its values at 1 and 2 tell the raw one; those
    before it are known by then. None where the values do not come out again.
    """
    raws = [v.name for v in density.model.free if v.name not in values]
    known = {v.name: values[v.name] for v in density.model.free if v.name in values}
    known |= {raw: np.ones(values[name].shape) for name, raw in zip(names, raws, strict=True)}

    def at(name: str, raw: str, tried: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return density.expand(density.unconstrained(known | {raw: tried}), [name])[name]

    for name, raw in zip(names, raws, strict=True):
        wanted = values[name]
        ends = at(name, raw, known[raw]), at(name, raw, 2.0 * known[raw])
        for scaled in (np.asarray, np.log):
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high = (scaled(end) for end in ends)
                candidate = 1.0 + (scaled(wanted) - low) / (high - low)
            if np.isfinite(candidate).all() and np.allclose(
                at(name, raw, candidate), wanted, rtol=CLOSE, atol=CLOSE * float(np.std(wanted))
            ):
                known[raw] = candidate
                break
        else:
            return None
    return density.unconstrained(known)
