"""How many values are summed of variables without end: found where chains may begin, looked at again for draws.

A marginalized model and points in; names of variables of which more must be summed, or a model that does, out. Where
too few are summed the density has no value (`marginal`), so no point beyond is ever taken for a wrong one; draws for
which two thirds of the values would not do tell that such points may be near.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts, reference
from consilience.distributions.random_variable import distribution_of
from consilience.elimination.ranges import VALUES, Range, ranges_of
from consilience.errors import ModelError
from consilience.ir import topological
from consilience.ir.side_tables import without_sources
from consilience.lower.specialise import specialise
from consilience.model.conditioning import Rebuilt
from consilience.model.model import Model
from consilience.model.predictive import unsettled
from consilience.model.starting_point import layout_with_data, starting_position
from consilience.model.terms import terms_of

# Of one variable, and elements of all of its values together, at most.
LARGEST: Final = 100_000
ELEMENTS: Final = 4_000_000
PRIOR_DRAWS: Final = 8
FEW: Final = 10_000
RARELY: Final = 0.25
PAIRS: Final = 250_000  # values of one variable times those of one that it depends on, which both are not enough


def short_tails(model: Model, draws: Mapping[str, npt.NDArray[Any]], seed: int = 0) -> list[str]:
    """Marginalized variables without end of which more values should be summed, as draws come near to the last ones.

    `draws`: of all free variables on their own scales, arrays (count, …). `seed`: of the draws of other marginalized
    variables, where sums are one in another. Returns: names; none: at every draw two thirds of the values have all but
    1e-12 of the sum.

    >>> import numpy as np
    >>> import consilience as pm
    >>> from consilience.model.tails import short_tails
    >>> with pm.Model() as model:
    ...     lam = pm.Gamma("lam", 2, 0.2)
    ...     n = pm.Poisson("n", lam)
    ...     y = pm.Binomial("y", n, 0.5, observed=[3, 5])
    >>> summed = pm.marginalize(model, "n")
    >>> short_tails(summed, {"lam": np.array([8.0, 1000.0])})
    ['n']
    """
    if not endless(model):
        return []
    count = len(next(iter(draws.values())))
    return [name for name, short in unsettled(model, draws, count, seed).items() if short.any()]


def lengthen(model: Model, names: Iterable[str]) -> None:
    """Have a model sum half as many values again of marginalized variables without end; its density is the same.

    Raises ModelError where that is more than 100,000 values, or 4,000,000 of all elements.
    """
    for name in names:
        before = model.summed_values.get(name, VALUES)
        values = before + before // 2
        if values > LARGEST or 1.5 * _values(model, name) > ELEMENTS:
            raise ModelError(
                f"`{name}` ({model.named[name].op!r}) has infinitely many values, and {before} of them are not enough "
                "to sum all but 1e-12: its tail is heavy, its mean large, or no value agrees with the data. Look at "
                "the priors of its parameters, or give it an end, as by `pm.Truncated`."
            )
        model.summed_values[name] = values
        model.cache.clear()


def lengthened(model: Model, names: Iterable[str]) -> Model:
    """A model like this one, of which `lengthen` has been asked."""
    made = Rebuilt(model, {}, set()).model()
    lengthen(made, names)
    return made


def sum_at_least(model: Model, values: Mapping[str, int]) -> None:
    """Have a model sum so many values, or more, of those of its marginalized variables that are named."""
    own = {v.name for v in model.marginalized}
    more = {name: n for name, n in values.items() if name in own and n > model.summed_values.get(name, VALUES)}
    if more:
        model.summed_values |= more
        model.cache.clear()


def lengthen_for(model: Model, draws: Mapping[str, npt.NDArray[Any]], seed: int = 0) -> None:
    """Have a model sum as many values as draws need, as `short_tails` has it."""
    while names := short_tails(model, draws, seed):
        lengthen(model, names)


def endless(model: Model) -> list[str]:
    """Names of marginalized variables with infinitely many values."""
    ranges = ranges_of(model.marginalized, model.summed_values)
    known = {v.name: ranges[v.node] for v in model.marginalized}
    return [name for name, own in known.items() if isinstance(own, Range) and own.endless]


def _values(model: Model, name: str) -> int:
    """How many values are summed of all elements of a variable."""
    shape = model.named[name].static_shape
    return model.summed_values.get(name, VALUES) * math.prod(n for n in shape if isinstance(n, int))


def find_lengths(model: Model) -> None:
    """Choose how many values are summed: enough at the starting point, and at draws of the prior while they are few."""
    waiting = endless(model)
    if not waiting:
        return
    drawn = {v.name: "prior" for v in model.free if distribution_of(v.node).can_draw()}
    points: list[Mapping[str, str]] = [{}, *(drawn for _ in range(PRIOR_DRAWS))]
    draws = _own_scales(model, points)
    while waiting:
        short = unsettled(model, draws, len(points), 0, "reference")
        waiting = [
            name for name, far in short.items() if far[0] or (far.mean() > RARELY and _values(model, name) <= FEW)
        ]
        lengthen(model, waiting)
        _check_pairs(model, waiting)


def _check_pairs(model: Model, waiting: list[str]) -> None:
    """Refuse variables without end that grow with one another: the more values one has, the more the other needs.

    Raises ModelError where one depends on another, and tables of both become large before either has enough.
    """
    nodes = {model.named[name]: name for name in waiting}
    for node, name in nodes.items():
        ancestors = [nodes[n] for n in topological(node.inputs) if n in nodes and n is not node]
        large = [other for other in ancestors if _values(model, name) * _values(model, other) > PAIRS]
        if large:
            raise ModelError(
                f"`{name}` and `{large[0]}`, on which it depends, both have infinitely many values, and "
                f"{_values(model, large[0])} of `{large[0]}` are not enough: the greater it is, the more values of "
                f"`{name}` are needed. Give one of them an end, as by `pm.Truncated`."
            )


def _own_scales(model: Model, points: list[Mapping[str, str]]) -> dict[str, npt.NDArray[Any]]:
    """Values of all free variables (points, …) where chains may begin."""
    layout, lengths = layout_with_data(model)
    terms = terms_of(model)
    slots = {slot: contexts.DEFAULT.get(slot) for slot in model.data_slots()}
    with without_sources():
        static, memo = specialise([*terms.constrained, *terms.values, *slots], lengths)
    data = {memo[slot]: value for slot, value in slots.items()}
    found = []
    for number, given in enumerate(points):
        position = starting_position(model, layout, lengths, given, number)
        at = {memo[v]: position[s.slice].reshape(s.shape) for v, s in zip(terms.values, layout.stretches, strict=True)}
        found.append(reference.evaluate(static[: len(layout.stretches)], {**data, **at}))
    return {v.name: np.stack([point[i] for point in found]) for i, v in enumerate(model.free)}
