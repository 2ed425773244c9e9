"""Where particles begin: draws of the prior as positions, drawn again where it has no density.

A model in; positions and the share of draws that have a density out. What a transform excludes (draws in another order
than `ordered` asks for) and parameters without meaning have none; a likelihood that is no number has weight 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from consilience.distributions.drawing import draw
from consilience.errors import ConsilienceError, SamplingError, ShapeError, warn
from consilience.estimators.smc.particles import Floats
from consilience.estimators.smc.population import numbers
from consilience.model.data import in_order_of
from consilience.model.diagnosis import diagnosis
from consilience.model.log_density import ModelDensity
from consilience.model.model import Model
from consilience.record import Record

MOST_TRIED, MOST_IN_VAIN = 200, 20  # draws of the prior for each that is wanted


class PriorDraws(Record, eq=False):
    """Positions of each chain, float64[draws, dimension], and the log of the share of draws that have a density."""

    chains: list[Floats]
    log_share: float = 0.0


def prior_draws(
    model: Model, density: ModelDensity, draws: int, chains: int, start: Mapping[str, Any] | None, seed: int
) -> PriorDraws:
    """Draws of the prior as positions, for each chain.

    `start`: draws on the variables' own scales, (draws, ...) by name, for all chains; drawn if not given. Raises
    SamplingError where the prior cannot be drawn from, or fewer than one in 200 draws has a density. Warns Exception
    where draws had none, or the data no likelihood.
    """
    if start is not None:
        axes = {
            name: (*getattr(value, "dims", (None,))[:1], *model.dims_of.get(name, ())) for name, value in start.items()
        }
        placed = {name: in_order_of(axes[name], value, model.coords) for name, value in start.items()}
        points = density.unconstrained({name: np.asarray(value)[:draws] for name, value in placed.items()})
        if len(points) != draws:
            raise ShapeError(f"`start` needs {draws} draws of the prior, got {len(points)}.")
        return PriorDraws([points] * chains)
    wanted = draws * chains
    kept: list[Floats] = []
    found = tried = 0
    misfit = unlikely = None
    without_weight = 0
    while found < wanted and tried < (MOST_TRIED if found else MOST_IN_VAIN) * wanted:
        points = _drawn(model, density, wanted, seed, tried // wanted)
        seeds = np.arange(wanted) if density.simulated else None
        prior, likelihood = density.tempered(points, seeds)
        fits = np.isfinite(prior)
        last = np.searchsorted(np.cumsum(fits), wanted - found) + 1  # of those that are looked at
        tried += min(int(last), wanted)
        fits[last:] = False
        if misfit is None and not fits[:last].all():
            misfit = points[int(np.argmin(fits[:last]))]
        nothing = fits & np.isneginf(likelihood)
        without_weight += int(nothing.sum())
        if unlikely is None and nothing.any():
            unlikely = points[int(np.argmax(nothing))]
        kept.append(points[fits])
        found += int(fits.sum())
    if found < wanted:
        assert misfit is not None
        raise SamplingError(
            f"{found} of {tried} draws of the prior have a density, and {wanted} are needed: {_why(model, misfit)}. "
            "Give draws that have one: `start=`."
        )
    if misfit is not None:
        warn(
            f"{tried - wanted} of {tried} draws of the prior have no density and were drawn again; the evidence counts "
            f"them. The first: {_why(model, misfit)}."
        )
    if unlikely is not None and not density.simulated and "nan" in (why := _why(model, unlikely)):
        warn(
            f"{without_weight} of {wanted} draws of the prior give the data no likelihood and have weight 0. The "
            f"first: {why}."
        )
    return PriorDraws(np.split(np.concatenate(kept), chains), float(np.log(wanted / tried)))


def _drawn(model: Model, density: ModelDensity, count: int, seed: int, attempt: int) -> Floats:
    try:
        own = int(numbers(seed, 0, -1 - attempt).integers(2**31))
        values = draw([v.node for v in model.free], draws=count, random_seed=own)
    except ConsilienceError as error:
        raise SamplingError(f"the prior cannot be drawn from, and particles begin there: {error}") from error
    return density.unconstrained(dict(zip([v.name for v in model.free], values, strict=True)))


def _why(model: Model, position: Floats) -> str:
    """Which term has no value at a position, in words."""
    return "; ".join(line.strip() for line in diagnosis(model, position)[:2]) or "the log density is not finite there"
