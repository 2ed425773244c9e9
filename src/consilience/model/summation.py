"""Which variables of a model are summed out before it is sampled, by what that costs: discrete ones, and intervals.

A model and the names of those that stay enter; names leave, and in words why others do not. Sums are in `marginal`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from consilience.analysis.operations import operations
from consilience.elimination.addends import total
from consilience.errors import ConsilienceError
from consilience.ir.side_tables import without_sources
from consilience.lower.specialise import specialise
from consilience.model.marginalization import without_variables
from consilience.model.model import Model
from consilience.model.observation import slot_values
from consilience.model.programs import TERMS, kept
from consilience.model.tails import find_lengths
from consilience.model.terms import terms_of
from consilience.record import Record

# Operations of an evaluation that sums may always take (some milliseconds), how many times those of the model as it is,
# which stand for what its data cost anyway, and how many at most.
AFFORDABLE: Final = 5e6
TIMES: Final = 50.0
MOST: Final = 5e8


class Summability(Record):
    """Which discrete variables of a model are to be summed out of its density, at what cost, and why others are not.

    `summed`: names, in the order of declaration. `operations`: floating-point operations of one log density with these
    summed out, estimated. `refused`: by name, in a sentence, why a variable is not summed out.
    """

    summed: tuple[str, ...]
    operations: float
    refused: Mapping[str, str]


def summable(model: Model, staying: Collection[str] = ()) -> tuple[str, ...]:
    """Names of the discrete variables that are to be summed out of the density, in the order of declaration.

    All of them, if they can be and the density costs no more than is worth it; else as many as can be, the cheapest
    ones first. None where no continuous variable would be left to be moved.

    `staying`: names of variables that are not summed out.
    """
    alone = _jumping(model, alone=True)
    if not any(v.continuous and v.name not in alone for v in model.free):
        return ()
    return summability(model, staying).summed


def summability(model: Model, staying: Collection[str] = ()) -> Summability:
    """Which discrete variables can be summed out together, the cheapest first where not all can; nothing is compiled.

    `staying`: names of variables that are not summed out.

    >>> import consilience as pm
    >>> from consilience.model.summation import summability
    >>> with pm.Model() as model:
    ...     z = pm.Bernoulli("z", 0.3)
    ...     many = pm.Bernoulli("many", 0.5, shape=40)
    ...     y = pm.Normal("y", z + many.sum(), 1.0, observed=[0.5, 20.0])
    >>> found = summability(model)
    >>> found.summed
    ('z',)
    >>> print(found.refused["many"])
    the elements of `many` (shape (40,)) act together on what depends on it, and all their combinations are 2^40; ...
    """
    jumping = _jumping(model)
    names = tuple(v.name for v in model.free if (not v.continuous or v.name in jumping) and v.name not in staying)
    if not names:
        return Summability((), 0.0, {})
    shapes = tuple(value.shape for value in slot_values(model)[1])
    return kept(model.cache, "summable", (names, shapes), lambda: _chosen(model, names))


def _jumping(model: Model, alone: bool = False) -> Collection[str]:
    """Names of continuous variables along which the density jumps; the interval that each is in is summed over.

    `alone`: of those that act by jumps alone.
    """
    if not model.has_steps():
        return ()
    from consilience.model.intervals import jumping, stepwise  # few models need it

    return stepwise(model).keys() if alone else {**stepwise(model), **jumping(model)}.keys()


def _chosen(model: Model, names: Sequence[str]) -> Summability:
    together, reason = cost(model, names)
    limit = AFFORDABLE if together <= AFFORDABLE else min(max(AFFORDABLE, TIMES * cost(model, ())[0]), MOST)
    if together <= limit:
        return Summability(tuple(names), together, {})
    alone = {name: cost(model, [name]) for name in names} if len(names) > 1 else {names[0]: (together, reason)}
    found: list[str] = []
    operations = 0.0
    refused: dict[str, str] = {}
    for name in sorted(alone, key=lambda name: alone[name][0]):
        # What cannot be summed alone may be summed with those that its range depends on.
        own, why = cost(model, [*found, name])
        if own <= limit:
            found.append(name)
            operations = own
        else:
            refused[name] = why or (
                f"with `{name}` summed out one log density takes {own:.2g} operations, more than the {limit:.2g} that "
                f"are worth it; `pm.marginalize` does it nevertheless"
            )
    return Summability(tuple(name for name in names if name in found), operations, refused)


def cost(model: Model, names: Sequence[str], loops: bool = False) -> tuple[float, str]:
    """Operations of the log density with variables summed out; infinite, with the reason, where that cannot be.

    `loops`: whether loops count with all their steps (default False).
    """
    try:
        with without_sources():
            made = without(model, names)
            terms = made.cache[TERMS] = terms_of(made)
            static, _ = specialise([total(terms.all)], slot_values(model)[3])
    except ConsilienceError as error:  # the model as it is says what is wrong with it, if that is not the sum
        return math.inf, str(error).removesuffix(".")
    return operations(static, loops), ""


def without(model: Model, names: Sequence[str], values: Mapping[str, int] | None = None) -> Model:
    """The model with variables summed out, the same one while its data are the same; itself without any.

    `values`: how many to sum at least of variables without end, by name. Raises ModelError where a variable without end
    would take too many values.
    """
    if not names:
        return model
    _, _, versions, _ = slot_values(model)
    least = dict(values or {})
    key = (tuple(names), tuple(least.items()), tuple(versions))
    return kept(model.cache, "summed", key, lambda: _without(model, names, least))


def _without(model: Model, names: Sequence[str], values: Mapping[str, int]) -> Model:
    continuous = {v.name for v in model.free if v.continuous}.intersection(names)
    jumping = [name for name in names if name in continuous and name in _jumping(model)]
    if len(continuous) > len(jumping) and model.data:  # factors of what is integrated need places that are known
        from consilience.model.freezing import freeze_dims_and_data

        model = freeze_dims_and_data(model)
    if jumping:
        from consilience.model.intervals import in_intervals  # few models need it

        model, intervals = in_intervals(model, jumping)
        names = [*names, *intervals]
    made = without_variables(model, names)
    made.summed_values |= values
    find_lengths(made)
    return made
