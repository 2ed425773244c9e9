"""Which discrete variables of a model are summed out before it is sampled, by what that costs.

A model and the names of those that stay enter; names leave. Sums themselves are in `marginal`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final

from consilience.errors import ConsilienceError
from consilience.ir.side_tables import without_sources
from consilience.lower.specialise import specialise
from consilience.model.blocks import total
from consilience.model.marginalization import without_variables
from consilience.model.model import Model
from consilience.model.observation import slot_values
from consilience.model.operations import operations
from consilience.model.programs import TERMS, kept
from consilience.model.terms import terms_of

# Operations of an evaluation that sums may always take (some milliseconds), how many times those of the model as it is,
# which stand for what its data cost anyway, and how many at most.
AFFORDABLE: Final = 5e6
TIMES: Final = 50.0
MOST: Final = 5e8


def summable(model: Model, staying: Collection[str] = ()) -> tuple[str, ...]:
    """Names of the discrete variables that are to be summed out of the density, in the order of declaration.

    All of them, if they can be and the density costs no more than is worth it; else as many as can be, the cheapest
    ones first. None where no continuous variable would be left to be moved.

    staying   names of variables that are not summed out
    """
    names = tuple(v.name for v in model.free if not v.continuous and v.name not in staying)
    if not names or not any(v.continuous for v in model.free):
        return ()
    shapes = tuple(value.shape for value in slot_values(model)[1])
    return kept(model.cache, "summable", (names, shapes), lambda: _chosen(model, names))


def _chosen(model: Model, names: Sequence[str]) -> tuple[str, ...]:
    together = cost(model, names)
    limit = AFFORDABLE if together <= AFFORDABLE else min(max(AFFORDABLE, TIMES * cost(model, ())), MOST)
    if together <= limit:
        return tuple(names)
    alone = {name: cost(model, [name]) for name in names} if len(names) > 1 else {}
    found: list[str] = []
    for name in sorted((name for name in alone if alone[name] <= limit), key=alone.__getitem__):
        if cost(model, [*found, name]) <= limit:
            found.append(name)
    return tuple(name for name in names if name in found)


def cost(model: Model, names: Sequence[str]) -> float:
    """Operations of the log density with variables summed out; infinite where that cannot be."""
    made = without(model, names)
    try:
        with without_sources():
            terms = made.cache[TERMS] = terms_of(made)
            static, _ = specialise([total(terms.all)], slot_values(model)[3])
    except ConsilienceError:  # the model as it is says what is wrong with it, if that is not the sum
        return math.inf
    return operations(static)


def without(model: Model, names: Sequence[str]) -> Model:
    """The model with variables summed out, the same one whenever it is asked for; itself without any."""
    return kept(model.cache, "summed", tuple(names), lambda: without_variables(model, names)) if names else model
