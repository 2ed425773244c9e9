"""Default priors of parameters of state spaces, in units of the data where they have units."""

from __future__ import annotations

from typing import Any

from consilience.distributions import Beta, HalfNormal, Normal, Uniform
from consilience.ir import Node
from consilience.model.model import Deterministic
from consilience.ops.shape import concatenate, expand_dims


def deviation(share: float = 1.0) -> Any:
    """A standard deviation of the size of that of the data, or a share of it."""

    def prior(name: str, scale: float, **given: Any) -> Node:
        return HalfNormal(name, share * scale, **given)

    return prior


def coefficient(sigma: float = 0.5) -> Any:
    """A normal number without a unit."""

    def prior(name: str, scale: float, **given: Any) -> Node:
        return Normal(name, 0.0, sigma, **given)

    return prior


def between(lower: float, upper: float) -> Any:
    """Uniform."""

    def prior(name: str, scale: float, **given: Any) -> Node:
        return Uniform(name, lower, upper, **given)

    return prior


def share(alpha: float, beta: float) -> Any:
    """A number from 0 to 1."""

    def prior(name: str, scale: float, **given: Any) -> Node:
        return Beta(name, alpha, beta, **given)

    return prior


def stationary(sign: float = 1.0) -> Any:
    """Coefficients of a stationary autoregression (of an invertible moving average for sign -1).

    Partial autocorrelations are uniform from -1 to 1 (Barndorff-Nielsen and Schou 1973), in a variable of their own.
    """

    def prior(name: str, scale: float, **given: Any) -> Node:
        partial = Uniform(f"{name}_partial", -1.0, 1.0, **given)
        return Deterministic(name, sign * from_partial(partial), dims=given.get("dims"))

    return prior


def from_partial(partial: Node) -> Node:
    """Coefficients of an autoregression from partial autocorrelations, by the recursion of Durbin and Levinson."""
    count = partial.static_shape[-1]
    assert isinstance(count, int)
    found: Node = partial[:0]
    for k in range(count):
        own = partial[k]
        found = concatenate([found - own * found[::-1], expand_dims(own, 0)], 0) if k else expand_dims(own, 0)
    return found
