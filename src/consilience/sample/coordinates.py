"""The coordinates that chains move in: what is asked of them enters, the model of these coordinates leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from consilience.model.fields import rescale
from consilience.model.model import Model
from consilience.record import Record


class ChainCoordinates(Record):
    """How the coordinates that chains move in differ from the model that was written.

    `marginalized`: names of variables that are summed or integrated out while chains move, and drawn again from draws.
    `summed_values`: how many values of such without end are summed, by name, as draws came near to where fewer would
        end.
    `centredness`: of hierarchies that are partially non-centred, as numbers or lists by name; None: there are none.
    `fields`: that move in units of their scale: the centredness and middle of each by name; None: there are none.
    `transported`: a block of variables in coordinates that follow the others, as of `model.transport`; None: there is
        none.
    `heavy`: variables with heavy tails, the middle and width of each by name, as of `model.heavy_tails`; None: there
        are none.
    """

    marginalized: tuple[str, ...] = ()
    summed_values: Mapping[str, int] | None = None
    centredness: Mapping[str, Any] | None = None
    fields: Mapping[str, Any] | None = None
    transported: Mapping[str, Any] | None = None
    heavy: Mapping[str, Any] | None = None

    @property
    def rewritten(self) -> tuple[str, ...]:
        """Names of variables that are functions of others while chains move."""
        return (*self.all_centredness, *(self.transported or {}).get("names", ()))

    @property
    def kinds_of_factors(self) -> dict[str, str]:
        """The factor of the block in coordinates that follow the others, by name of its variables."""
        return dict.fromkeys(self.transported["names"], self.transported["kind"]) if self.transported else {}

    @property
    def all_centredness(self) -> dict[str, Any]:
        """Of hierarchies and of fields, by name."""
        return {**(self.centredness or {}), **{name: degree for name, (degree, _) in (self.fields or {}).items()}}


def rewritten(model: Model, coordinates: ChainCoordinates) -> Model:
    """The model that chains move in: itself, or without what is summed out, or with hierarchies less centred.

    The values at its positions are those of the model that was written.
    """
    made = model
    if coordinates.marginalized:
        from consilience.model.summation import without  # few models need it

        made = without(model, coordinates.marginalized, coordinates.summed_values)
    if coordinates.summed_values and model.marginalized:  # what its user summed out
        from consilience.model.tails import sum_at_least

        sum_at_least(model, coordinates.summed_values)
    if coordinates.transported is not None:
        from consilience.model.transport import transport  # few models need it

        made = transport(made, coordinates.transported)
    if coordinates.fields is not None:
        made = rescale(made, coordinates.fields)
    if coordinates.centredness is not None:
        from consilience.model import scale_mixtures  # few models need it

        made = scale_mixtures.rewritten(made, coordinates.centredness)
    if coordinates.heavy is not None:
        from consilience.model import heavy_tails  # few models need it

        made = heavy_tails.rewritten(made, coordinates.heavy)
    if made is not model:
        made.coordinates = model.coordinates
        derived = [name for name in made.conditional_deterministics if name not in model.conditional_deterministics]
        made.recovers = tuple(dict.fromkeys((*coordinates.marginalized, *derived)))
    return made
