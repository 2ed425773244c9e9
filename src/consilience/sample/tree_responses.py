"""Whether the response that sets the prior of a sum of trees lies on the scale of the sum.

A model enters; sentences leave for sums whose prior keeps away from the data, or leaves the range of a parameter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.distributions.distribution import Distribution
from consilience.distributions.random_variable import distribution_of, random_variables
from consilience.errors import MissingRuleError
from consilience.ir import Node
from consilience.ir.lengths import substitute
from consilience.model.model import Model
from consilience.model.variables import FreeVariable, ObservedVariable
from consilience.ops.shape import full
from consilience.sample.bart import forest_of


def remarks(model: Model) -> Iterator[str]:
    """What is to be said of the responses that the sums of trees of a model were given."""
    for variable in model.free:
        if variable.has_trees:
            for observed in model.observed:
                if variable.node in random_variables([observed.node]):
                    yield from _remark(variable, observed)


def _remark(variable: FreeVariable, observed: ObservedVariable) -> Iterator[str]:
    forest = forest_of(variable)
    spread = forest.scale * math.sqrt(forest.m)
    name = f"`{variable.name}`"
    for end in (forest.offset - 3.0 * spread, forest.offset + 3.0 * spread):
        if (lost := _out_of_range(_with(variable, observed, end))) is not None:
            yield (
                f"{name} may be any real number, such as {end:.3g}, which takes `{lost}` of "
                f"`{observed.name}` out of its range; put a function around {name} that keeps to the range, "
                "such as pm.math.exp or pm.math.sigmoid"
            )
            return
    if spread == 3.0 and forest.offset == 0.0:  # a response of classes, which sets nothing
        return
    levels = [forest.offset + spreads * spread for spreads in (-3.0, -1.0, 0.0, 1.0, 3.0)]
    means = _means(variable, observed, levels)
    values = np.asarray(observed.data.eval(), float)
    values = values[np.isfinite(values)]
    if means is None or not values.size:
        return
    found, reach = float(values.mean()), float(np.ptp(values))
    low, high = min(means[1], means[3]), max(means[1], means[3])
    beyond = max(low - found, found - high, 0.0)
    astray = not values.min() - reach <= means[2] <= values.max() + reach
    flat = high - low < 0.01 * beyond
    if not min(means) <= found <= max(means) or (beyond > 0.0 and (astray or flat)):
        yield (
            f"`Y` of {name} is not on the scale of {name}: it sets a prior of {forest.offset:.3g} ± {spread:.3g}, "
            f"where the mean of `{observed.name}` lies between {low:.3g} and {high:.3g}; the data have {found:.3g}. "
            "Give `Y` as the function should fit it: behind pm.math.exp, for example, np.log(y + 0.5)"
        )


def _out_of_range(own: Distribution) -> str | None:
    """The first parameter, of a distribution or of one that it is made of, that is out of its range."""
    for parameter, value in zip(own.parameters, own.values, strict=True):
        known = _evaluated(parameter.constraint.bind(own.by_name()).admits(value))
        if known is not None and not known.all():
            return parameter.name
    parts = (_out_of_range(distribution_of(part)) for group in own.components for part in group)
    return next(filter(None, parts), None)


def _means(variable: FreeVariable, observed: ObservedVariable, levels: list[float]) -> list[float] | None:
    """Means of the data where a sum has one of these values at all rows; None where it alone does not set them."""
    try:
        if variable.node not in random_variables([distribution_of(observed.node).mean()]):
            return None
        means = [_evaluated(_with(variable, observed, level).mean()) for level in levels]
    except MissingRuleError:
        return None
    return [float(mean.mean()) for mean in means if mean is not None] if means[0] is not None else None


def _with(variable: FreeVariable, observed: ObservedVariable, level: float) -> Distribution:
    """The distribution of the data where a sum has one value at all rows."""
    constant = full(variable.node.static_shape, level, variable.node.dtype)
    (node,) = substitute([observed.node], {variable.node: constant})
    return distribution_of(node)


def _evaluated(wanted: Node) -> npt.NDArray[Any] | None:
    """The value of an expression; None where it depends on other variables."""
    if random_variables([wanted]):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(wanted.eval())
