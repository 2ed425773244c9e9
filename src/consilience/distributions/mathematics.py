"""The vocabulary in which densities are written: functions of tensors, numbers and arrays.

Each name is a row of the scalar table or an op; nothing here knows of probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from consilience.ir import Node
from consilience.ops.elementwise import TensorLike, apply

PI: Final = math.pi
EULER_GAMMA: Final = 0.5772156649015329
LOG_2: Final = math.log(2.0)
LOG_PI: Final = math.log(math.pi)
LOG_SQRT_2_PI: Final = 0.5 * math.log(2.0 * math.pi)
SQRT_2: Final = math.sqrt(2.0)


def _unary(row: str) -> Callable[[TensorLike], Node]:
    def call(x: TensorLike) -> Node:
        return apply(row, x)

    call.__name__ = call.__qualname__ = row
    return call


def _binary(row: str) -> Callable[[TensorLike, TensorLike], Node]:
    def call(x: TensorLike, y: TensorLike) -> Node:
        return apply(row, x, y)

    call.__name__ = call.__qualname__ = row
    return call


def _ternary(row: str) -> Callable[[TensorLike, TensorLike, TensorLike], Node]:
    def call(x: TensorLike, y: TensorLike, z: TensorLike) -> Node:
        return apply(row, x, y, z)

    call.__name__ = call.__qualname__ = row
    return call


absolute = _unary("abs")
arcsin = _unary("arcsin")
arcsinh = _unary("arcsinh")
arctan = _unary("arctan")
cos = _unary("cos")
digamma = _unary("digamma")
cos = _unary("cos")
erf = _unary("erf")
erfc = _unary("erfc")
erfcx = _unary("erfcx")
erfinv = _unary("erfinv")
exp = _unary("exp")
expm1 = _unary("expm1")
floor = _unary("floor")
gammaln = _unary("gammaln")
i0e = _unary("i0e")
i1e = _unary("i1e")
isfinite = _unary("isfinite")
log = _unary("log")
log1mexp = _unary("log1mexp")
log1p = _unary("log1p")
log1p_square = _unary("log1p_square")
log_ndtr = _unary("log_ndtr")
logit = _unary("logit")
ndtri = _unary("ndtri")
reciprocal = _unary("reciprocal")
round_even = _unary("round")
sigmoid = _unary("sigmoid")
sin = _unary("sin")
sinh = _unary("sinh")
sin = _unary("sin")
softplus = _unary("softplus")
sqrt = _unary("sqrt")
square = _unary("square")
tan = _unary("tan")
tanh = _unary("tanh")
trigamma = _unary("trigamma")
tanh = _unary("tanh")
arctan2 = _binary("arctan2")
equal = _binary("eq")
gammainc = _binary("gammainc")
gammaincc = _binary("gammaincc")
gammainccinv = _binary("gammainccinv")
gammaincinv = _binary("gammaincinv")
greater = _binary("gt")
greater_equal = _binary("ge")
hypot = _binary("hypot")
less = _binary("lt")
less_equal = _binary("le")
log_gammainc = _binary("log_gammainc")
log_gammaincc = _binary("log_gammaincc")
logaddexp = _binary("logaddexp")
logical_and = _binary("logical_and")
logical_or = _binary("logical_or")
maximum = _binary("maximum")
minimum = _binary("minimum")
poisson_quantile = _binary("poisson_quantile")
xlog1py = _binary("xlog1py")
xlogy = _binary("xlogy")
betainc = _ternary("betainc")
betainccinv = _ternary("betainccinv")
betaincinv = _ternary("betaincinv")
binomial_quantile = _ternary("binomial_quantile")
log_betainc_odds = _ternary("log_betainc_odds")
negative_binomial_quantile = _ternary("negative_binomial_quantile")
where = _ternary("where")


def _quaternary(row: str) -> Callable[[TensorLike, TensorLike, TensorLike, TensorLike], Node]:
    def call(x: TensorLike, y: TensorLike, z: TensorLike, w: TensorLike) -> Node:
        return apply(row, x, y, z, w)

    call.__name__ = call.__qualname__ = row
    return call


beta_binomial_quantile = _quaternary("beta_binomial_quantile")
beta_binomial_sum = _quaternary("beta_binomial_sum")


def zero_of(*values: Node) -> Node:
    """0, but NaN where one of the values is NaN or infinite: for formulas of which a part does not depend on them."""
    result = 0.0 * values[0]
    for value in values[1:]:
        result = result + 0.0 * value
    return result


def log_factorial(n: TensorLike) -> Node:
    """log n!"""
    return gammaln(apply("add", n, 1.0))


# From here on the series of the ratio of gammas holds to the last digit.
_FAR: Final = 100.0


def log_half_step_of_gamma(x: Node) -> Node:
    """log(Gamma(x + 1/2) / Gamma(x)) for x > 0, without cancellation of the logarithms of large x."""
    # Tricomi and Erdelyi (1951): what is left out is below 2e-19 at the border.
    large = greater(x, _FAR)
    inverse = reciprocal(where(large, x, _FAR))
    series = 0.5 * log(x) - inverse * (1.0 / 8.0 - square(inverse) * (1.0 / 192.0 - square(inverse) / 640.0))
    near = where(large, _FAR, x)
    return where(large, series, gammaln(near + 0.5) - gammaln(near))
