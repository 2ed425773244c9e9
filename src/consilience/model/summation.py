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
from consilience.model.programs import kept
from consilience.model.terms import terms_of
from consilience.rewrite.rules import simplify

# Operations of one evaluation that sums may always take (some ten milliseconds), and how many times those of the model
# as it is, which stand for what its data cost anyway.
AFFORDABLE: Final = 5e6
TIMES: Final = 50.0


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
    limit = AFFORDABLE if together <= AFFORDABLE else max(AFFORDABLE, TIMES * cost(model, ()))
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
    try:
        with without_sources():
            terms = terms_of(without_variables(model, names) if names else model)
            _, _, _, lengths = slot_values(model)
            static, _ = specialise(simplify([total(terms.all)]), lengths)
    except ConsilienceError:  # the model as it is says what is wrong with it, if that is not the sum
        return math.inf
    return operations(static)
