"""Powers and affine steps as bijections: functions of one random operand and of operands that are not random."""

from __future__ import annotations

import numpy as np

from consilience.distributions.mathematics import absolute, greater, log, where
from consilience.ir import Node, constant_value
from consilience.logprob.bijections import POSITIVE, Bijection
from consilience.logprob.measure import EVERYWHERE, refusal
from consilience.ops.elementwise import apply, as_tensor


def shift(c: Node) -> Bijection:
    """x + c."""
    return Bijection(lambda x: x + c, lambda y: y - c, lambda x, y: 0.0 * y)


def scaling(c: Node) -> Bijection:
    """c x."""
    return Bijection(lambda x: c * x, lambda y: y / c, lambda x, y: 0.0 * y - log(absolute(c)), _positive(c))


def division(c: Node) -> Bijection:
    """x / c."""
    return Bijection(lambda x: x / c, lambda y: y * c, lambda x, y: 0.0 * y + log(absolute(c)), _positive(c))


def _positive(c: Node) -> bool | Node:
    known = constant_value(c)
    if known is None or (known.size and np.any(known > 0) != np.all(known > 0)):
        return greater(c, 0)
    return bool(np.all(known > 0))


def power(node: Node, exponent: Node, nonnegative: bool) -> Bijection:
    """`x ** exponent`.

    `node`: the power, for messages. `nonnegative`: whether all x are known to be.
    """
    c = as_tensor(exponent)
    known = constant_value(c)
    if known is not None and not np.all(known):
        raise refusal(node, "an exponent is 0, and the power is 1 for all values", "leave it out")

    def forward(x: Node) -> Node:
        return apply("pow", x, c)

    def root(y: Node) -> Node:
        return apply("pow", absolute(y), 1.0 / c)

    def signed_root(y: Node) -> Node:
        size = root(y)
        return where(y < 0, -size, size)

    def log_slope(x: Node, y: Node) -> Node:
        return (1.0 / c - 1.0) * log(absolute(y)) - log(absolute(c))

    rising = _positive(c)
    whole = known is not None and bool(np.all(known == np.floor(known)))
    if nonnegative or not whole:
        if not nonnegative and known is None:
            raise refusal(
                node,
                "the exponent is not known, and the base may be negative",
                "give the exponent as a number, or a base with values >= 0",
            )
        return Bijection(forward, root, log_slope, rising, POSITIVE, POSITIVE)
    assert known is not None
    parity = known % 2
    if np.all(parity == 0):
        return Bijection(forward, root, log_slope, rising, EVERYWHERE, POSITIVE, even=True)
    if np.all(parity == 1) and isinstance(rising, bool):
        return Bijection(forward, signed_root, log_slope, rising, pole=not rising)
    raise refusal(
        node, "even and odd exponents, or positive and negative ones, stand in one step", "take powers one by one"
    )


def exponential(base: Node) -> Bijection:
    """base ** x for base > 0."""
    rate = log(base)
    return Bijection(
        lambda x: apply("pow", base, x),
        lambda y: log(y) / rate,
        lambda x, y: -log(y) - log(absolute(rate)),
        greater(base, 1.0),
        EVERYWHERE,
        POSITIVE,
    )
