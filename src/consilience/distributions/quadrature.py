"""Integrals of positive functions by Gauss and Legendre's rule, on logarithms; of quantiles by the double exponential.

For intervals on which the integrand is analytic and, seen from its greatest value, falls to nothing or hardly at all:
there Gauss and Legendre's rule is exact to rounding. Which intervals those are is the caller's knowledge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.distributions.mathematics import log, sqrt, square
from consilience.ir import Node, constant
from consilience.ops.elementwise import StopGradient
from consilience.ops.reduce import reduce
from consilience.ops.shape import expand_dims

POINTS: Final = 48
# Beyond a fall by exp(-DEPTH) an integrand adds nothing in double precision.
DEPTH: Final = 40.0
_STEP: Final = 0.1
_REACH: Final = 52


def column(node: Node) -> Node:
    """With a last axis of length 1, along which an integrand is spread."""
    return expand_dims(node, -1)


def nodes(lower: Node, upper: Node) -> tuple[Node, Node]:
    """Points between two ends along a new last axis, and the logarithms of their weights."""
    at, weight = np.polynomial.legendre.leggauss(POINTS)
    half = column(0.5 * (upper - lower))
    points = column(lower) + half * constant((1.0 + at).astype(lower.dtype))
    return points, log(half) + constant(np.log(weight).astype(lower.dtype))


def log_integral(log_integrand: Callable[[Node], Node], lower: Node, upper: Node) -> Node:
    """Logarithm of an integral; the integrand takes points along a last axis that the ends do not have."""
    points, log_weights = nodes(lower, upper)
    return reduce("logsumexp", log_integrand(points) + log_weights, -1)


def depth_of_fall(slope: Node, curvature: Node | float) -> Node:
    """The distance over which a logarithm falls by DEPTH."""
    return Node(StopGradient(), 2.0 * DEPTH / (slope + sqrt(square(slope) + 2.0 * DEPTH * curvature)))


def probability_points() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Points p <= 1/2 and weights w such that sum w (f(p) + f(1 - p)) is the integral of f from 0 to 1.

    The double exponential rule (H. Takahasi and M. Mori 1974) with p from 1/2 to 1e-123, for functions that are
    analytic inside and may be infinite at 0 and 1.
    """
    t = np.arange(_REACH + 1) * _STEP
    p = 1.0 / (1.0 + np.exp(math.pi * np.sinh(t)))
    weights = _STEP * math.pi * np.cosh(t) * p * (1.0 - p)
    weights[0] *= 0.5
    return p, weights
