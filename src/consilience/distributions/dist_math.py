"""Functions for densities that users write, under the names of `pymc.distributions.dist_math`.

In: tensors, numbers, arrays. Out: expressions. Distributions of the library use `mathematics`.
"""

from __future__ import annotations

import functools
import math

from consilience.distributions import mathematics as fn
from consilience.errors import ParameterError
from consilience.first_use import load_on_use
from consilience.ir import Node, constant
from consilience.ops.elementwise import TensorLike, apply, as_tensor
from consilience.ops.parameter_check import Asserted
from consilience.ops.reduce import reduce

__all__ = [
    "betaln", "binomln", "check_icdf_parameters", "check_icdf_value", "check_parameters", "factln",
    "log_diff_normal_cdf", "log_i0", "logpow", "multigammaln", "normal_lccdf", "normal_lcdf", "rho2sigma",
    "sigma2rho", "std_cdf", "zvalue",
]  # fmt: skip


def check_parameters(
    expr: TensorLike, *conditions: TensorLike, msg: str = "", can_be_replaced_by_ninf: bool = True
) -> Node:
    """A log density where all elements of all conditions hold, and -inf where one does not.

    `msg`: of the AssertionError that is raised in place of -inf if `can_be_replaced_by_ninf` is False, as for values
    that are no log densities.
    """
    value, truth = as_tensor(expr), constant(True)
    for condition in conditions:
        node = as_tensor(condition)
        node = node if node.dtype == "bool" else apply("neq", node, 0)
        truth = fn.logical_and(truth, reduce("all", node) if node.ndim else node)
    if not can_be_replaced_by_ninf:
        return Node(Asserted(msg or "a condition on parameters does not hold."), value, truth)
    return fn.where(truth, value, -math.inf)


check_icdf_parameters = functools.partial(check_parameters, can_be_replaced_by_ninf=False)


def check_icdf_value(expr: TensorLike, value: TensorLike) -> Node:
    """A quantile where the probability `value` is in [0, 1], NaN elsewhere."""
    return fn.where(fn.logical_and(fn.greater_equal(value, 0.0), fn.less_equal(value, 1.0)), expr, math.nan)


def logpow(x: TensorLike, m: TensorLike) -> Node:
    """log(x^m); 0 for m = 0, also where x = 0."""
    safe = fn.where(fn.equal(x, 0.0), 1.0, x)
    at_zero = fn.where(fn.equal(m, 0.0), 0.0, -math.inf)
    return fn.where(fn.equal(x, 0.0), at_zero, as_tensor(m) * fn.log(safe))


def factln(n: TensorLike) -> Node:
    """log n!"""
    return fn.log_factorial(n)


def binomln(n: TensorLike, k: TensorLike) -> Node:
    """The logarithm of "n choose k"."""
    return factln(n) - factln(k) - factln(apply("sub", n, k))


def betaln(x: TensorLike, y: TensorLike) -> Node:
    """The logarithm of the beta function."""
    return apply("betaln", x, y)


def std_cdf(x: TensorLike) -> Node:
    """The distribution function of the standard normal."""
    return fn.exp(fn.log_ndtr(x))


def zvalue(value: TensorLike, mu: TensorLike, sigma: TensorLike) -> Node:
    """(value - mu) / sigma"""
    return (as_tensor(value) - mu) / sigma


def normal_lcdf(mu: TensorLike, sigma: TensorLike, x: TensorLike) -> Node:
    """log P(X <= x) for X normal."""
    return fn.log_ndtr(zvalue(x, mu, sigma))


def normal_lccdf(mu: TensorLike, sigma: TensorLike, x: TensorLike) -> Node:
    """log P(X > x) for X normal."""
    return fn.log_ndtr(-zvalue(x, mu, sigma))


def log_diff_normal_cdf(mu: TensorLike, sigma: TensorLike, x: TensorLike, y: TensorLike) -> Node:
    """log P(y < X <= x) for X normal and y < x, from the tail in which both are."""
    a, b = zvalue(x, mu, sigma), zvalue(y, mu, sigma)
    above = fn.greater(b, 0.0)
    large, small = fn.log_ndtr(fn.where(above, -b, a)), fn.log_ndtr(fn.where(above, -a, b))
    return large + fn.log1mexp(small - large)


def rho2sigma(rho: TensorLike) -> Node:
    """log(1 + exp(rho))"""
    return fn.softplus(rho)


def sigma2rho(sigma: TensorLike) -> Node:
    """The inverse of `rho2sigma`: log(exp(sigma) - 1)."""
    return as_tensor(sigma) + fn.log1mexp(-as_tensor(sigma))


def log_i0(x: TensorLike) -> Node:
    """The logarithm of the modified Bessel function of order 0."""
    return fn.log(fn.i0e(x)) + fn.absolute(x)


def multigammaln(a: TensorLike, p: int) -> Node:
    """The logarithm of the multivariate gamma function of order p >= 1.

    Raises ParameterError where p is no whole number.
    """
    if not isinstance(p, int) or p < 1:
        raise ParameterError(f"the order of `multigammaln` is a whole number >= 1, got {p!r}.")
    terms = [fn.gammaln(apply("sub", a, 0.5 * j)) for j in range(p)]
    return functools.reduce(lambda x, y: x + y, terms) + 0.25 * p * (p - 1) * fn.LOG_PI


load_on_use(__name__, {}, public=True)
