"""The quantile of whole numbers from that of a continuous variable which rounds up to them.

A candidate in, the smallest number whose probability reaches q out. A probability has reached q if it comes within
2**-42 of it relatively, in the smaller tail, or rounds to it: q may itself be a computed probability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from consilience.distributions.mathematics import exp, greater_equal, less_equal, maximum, where
from consilience.ir import Node

if TYPE_CHECKING:
    from consilience.distributions.distribution import Distribution

_NEARLY: Final = 2.0**-42
_HALF_UNIT: Final = 2.0**-54


def corrected(candidate: Node, q: Node, bound: Distribution, least: Node | float) -> Node:
    """The quantile of q, where the candidate is at most 1 off; `least` is the smallest number of the support."""
    start = maximum(candidate, least)
    before = maximum(start - 1.0, least)
    return where(_reached(before, q, bound), before, where(_reached(start, q, bound), start, start + 1.0))


def _reached(k: Node, q: Node, bound: Distribution) -> Node:
    enough = greater_equal(exp(bound.logcdf(k)), q * (1.0 - _NEARLY))
    little = less_equal(exp(bound.logccdf(k)), (1.0 - q) * (1.0 + _NEARLY) + _HALF_UNIT)
    return where(less_equal(q, 0.5), enough, little)
